# SPDX-License-Identifier: Apache-2.0
"""Checks of values that only raise (`if (ids >= n).any(): raise ..`, `assert`, torch._assert): a program has them, and its step is an
error where PyTorch would raise. What asks for a truth that is not known while a model is exported is looked up in the source: where one
answer does nothing but raise, and nothing on the way swallows that, the forward goes on with the other answer."""
from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import functools
import linecache
import operator
import os
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .graph import Node
from .lower import Unsupported
from .refusals import CHECKS, DECIDED, refused
from .traps import framework, own_file

SILENT = (StopIteration, StopAsyncIteration, GeneratorExit, AttributeError)  # which loops and getattr() take for an answer
CALLED = ("__call__", "__init__", "__post_init__", "__new__", "__torch_function__", "__enter__")  # what else Python calls may take errors so
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ClassDef)
VALUES = ("numpy", "__array__", "data_ptr")  # which raise of what is traced
SIMPLE = (ast.Constant, ast.Name, ast.Attribute, ast.Load, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Subscript)
WRITING = ("next", "setattr", "delattr", "exec", "eval", "print", "input", "open", "backward", "register_hook", "manual_seed", "seed")
HANDLED = tuple(getattr(ast, n) for n in ("Try", "TryStar", "AsyncWith") if hasattr(ast, n))


@dataclass(frozen=True)
class Check:
    """`goes_on`: the truth with which nothing is raised; `text`: the statement. `ahead`: an `and` or `or` whose later parts decide too,
    where the other truth has them asked; `among`: those of which this is the last part."""

    goes_on: bool
    text: str
    ahead: ast.BoolOp | None = None
    among: tuple[ast.BoolOp, ...] = ()


OPEN: dict[tuple[types.FrameType, ast.BoolOp], list[Any]] = {}  # flags of earlier parts with which the last one decides


# ---- the source ----

class Source:
    """A file's text as Python has compiled it: `codes` those of its functions."""

    def __init__(self, text: str, path: str) -> None:
        self.tree = ast.parse(text)
        self.above: dict[ast.AST, ast.AST] = {}
        self.at: dict[tuple[int, int, int, int], list[ast.expr]] = {}
        for n in ast.walk(self.tree):
            self.above.update(dict.fromkeys(ast.iter_child_nodes(n), n))
            if isinstance(n, ast.expr):
                self.at.setdefault((n.lineno, n.end_lineno or 0, n.col_offset, n.end_col_offset or 0), []).append(n)
        self.codes: dict[tuple[str, int], list[types.CodeType]] = {}
        todo = [compile(text, path, "exec", dont_inherit=True)]
        while todo:
            code = todo.pop()
            self.codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
            todo += [c for c in code.co_consts if isinstance(c, types.CodeType)]

    def has(self, code: types.CodeType) -> bool:
        """Whether this is the text that was compiled: files change, and what rewrites asserts compiles another."""
        return any(c.co_code == code.co_code and list(c.co_positions()) == list(code.co_positions()) and c.co_names == code.co_names
                   for c in self.codes.get((code.co_name, code.co_firstlineno), ()))


@functools.lru_cache(256)
def source(path: str, lines: tuple[str, ...]) -> Source | None:
    try:
        return Source("".join(lines), path)
    except (SyntaxError, ValueError, RecursionError):
        return None


def source_of(code: types.CodeType) -> Source | None:
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    found = source(code.co_filename, tuple(lines)) if lines else None
    return found if found is not None and found.has(code) else None


# ---- what a truth decides ----

def decided(frame: types.FrameType, atom: ast.expr | None = None) -> Check | None:
    """What the frame does with the truth that it asks for now; None where that is not a check that only raises and is seen by whoever
    called the model."""
    text = source_of(frame.f_code)
    atom = asked_for(frame, text) if text is not None and atom is None else atom
    if text is None or atom is None:
        return None
    path = [atom]  # from what is asked for up to the statement
    while isinstance(path[-1], ast.expr):
        path.append(text.above[path[-1]])  # type: ignore[arg-type]
    statement, test = path[-1], path[-2]
    if isinstance(statement, ast.Assert) and statement.test is test:
        goes_on = True
    elif isinstance(statement, ast.If) and statement.test is test:
        goes_on = not raises(statement.body, frame)
        if goes_on and not raises(statement.orelse, frame):
            return None
    else:
        return None
    ahead, among = None, list[ast.BoolOp]()
    for above, below in zip(path[-2:0:-1], path[-3::-1]):  # what the whole test is to be decides what its parts are to be
        if isinstance(above, ast.BoolOp):
            if ahead is not None:
                return None  # of `(a or b) and c` no part says what is asked next
            if goes_on is isinstance(above.op, ast.Or):
                if below is above.values[-1]:
                    among.append(above)
                elif repeats(statement, text) or not all(only_looks(v, frame) for v in above.values[above.values.index(below) + 1:]):
                    return None
                else:
                    ahead = above  # what comes behind it decides too
        elif isinstance(above, ast.UnaryOp) and isinstance(above.op, ast.Not):
            goes_on = not goes_on
        elif not (isinstance(above, ast.Call) and below in above.args and truth(above, frame)):
            return None
    if isinstance(atom, ast.Compare) and len(atom.ops) > 1 and not goes_on:
        return None
    return Check(goes_on, " ".join(ast.unparse(statement if isinstance(statement, ast.Assert) else short(statement)).split()), ahead,
                 tuple(among)) if seen(frame) else None


def only_looks(part: ast.expr, frame: types.FrameType) -> bool:
    """Whether what PyTorch asks only at times may be asked at each step: nothing is named, written, drawn or called that is not PyTorch's."""
    for n in ast.walk(part):
        if isinstance(n, ast.Call):
            f = n.func
            owner = resolved(f.value, frame) if isinstance(f, ast.Attribute) else None
            found = resolved(f, frame) if owner is None or isinstance(owner, types.ModuleType) else None
            own = (getattr(found, "__module__", None) or "").partition(".")[0] in ("torch", "builtins", "math") if found is not None else \
                isinstance(f, ast.Attribute) and hasattr(framework().Tensor, f.attr) and (owner is None or isinstance(owner, framework().Tensor))
            name = getattr(f, "attr", getattr(f, "id", "_"))
            if not own or name.endswith("_") or name in WRITING or any(k.arg in (None, "out") for k in n.keywords):
                return False
        elif not isinstance(n, (*SIMPLE, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.keyword, ast.Tuple, ast.List, ast.Slice)):
            return False
    return True


def repeats(statement: ast.AST, text: Source) -> bool:
    """Whether one call of the function may come here again."""
    while not isinstance(statement, SCOPES) and statement in text.above:
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            return True
        statement = text.above[statement]
    return False


def short(statement: Any) -> Any:
    """The statement without what is computed where it does not raise."""
    body, other = statement.body, statement.orelse
    return ast.If(statement.test, body, []) if body and isinstance(body[-1], ast.Raise) else ast.If(
        ast.UnaryOp(ast.Not(), statement.test), other, [])


def truth(call: ast.Call, frame: types.FrameType) -> bool:
    return isinstance(call.func, ast.Name) and len(call.args) == 1 and not call.keywords and resolved(call.func, frame) is bool


def asked_for(frame: types.FrameType, text: Source) -> ast.expr | None:
    """The expression whose truth is asked for now: what was computed last before a jump, or the operand of bool()."""
    found = list(dis.get_instructions(frame.f_code))
    k = next((k for k, i in enumerate(found) if i.offset == frame.f_lasti), 0)
    name, at = found[k].opname, found[k].positions
    if not name.startswith(("CALL", "PRECALL")):
        if not name.startswith(("POP_JUMP", "JUMP_IF", "TO_BOOL")) or k == 0:
            return None
        k -= 1
        while k and found[k].opname in ("COPY", "CACHE", "EXTENDED_ARG", "NOP", "NOT_TAKEN"):
            k -= 1
        at = found[k].positions
    if at is None or at.lineno is None:
        return None
    nodes = text.at.get((at.lineno, at.end_lineno or 0, at.col_offset or 0, at.end_col_offset or 0), [])
    if len(nodes) != 1:
        return None
    if name.startswith(("CALL", "PRECALL")):
        return nodes[0].args[0] if isinstance(nodes[0], ast.Call) and truth(nodes[0], frame) else None
    return nodes[0]


def raises(block: list[ast.stmt], frame: types.FrameType) -> bool:
    """Whether a block does nothing but raise, whatever else it looks at for what it says."""
    for s in block[:-1]:
        names = s.targets if isinstance(s, ast.Assign) else []
        own = bool(names) and all(isinstance(t, ast.Name) and t.id in frame.f_code.co_varnames for t in names)
        text = isinstance(s, ast.Pass) or isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
        if not own and not text and not (isinstance(s, ast.If) and not s.orelse and raises(s.body, frame)):
            return False
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return raises(last.body, frame) and raises(last.orelse, frame)
    if not isinstance(last, ast.Raise) or last.exc is None:
        return False
    kind = resolved(last.exc.func if isinstance(last.exc, ast.Call) else last.exc, frame)
    return isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, SILENT)


def resolved(e: ast.expr, frame: types.FrameType) -> Any:
    """What a name, or an attribute of modules, is now; None of all else."""
    if isinstance(e, ast.Name):
        for space in (frame.f_locals, frame.f_globals, vars(builtins)):
            if e.id in space:
                return space[e.id]
    elif isinstance(e, ast.Attribute) and isinstance(of := resolved(e.value, frame), types.ModuleType):
        return vars(of).get(e.attr)
    return None


# ---- who sees an error ----

def trusted(path: str) -> bool:
    """A file of PyTorch or of this package, where what a model raises goes on to whoever called it."""
    roots = (os.path.dirname(framework().__file__), os.path.dirname(os.path.dirname(__file__)))
    return path.startswith(tuple(os.path.join(r, "") for r in roots))


def seen(frame: types.FrameType | None) -> bool:
    """Whether an error that is raised here reaches whoever called the model, which is the forward that this package exports."""
    own = [os.path.join(os.path.dirname(__file__), n) for n in ("training.py", "inference.py")]
    asking = frame
    while frame is not None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if path in own and name == "forward":
            return True
        if not trusted(path) and not passes(frame, frame is asking):
            return False
        frame = frame.f_back
    return False


def passes(frame: types.FrameType, asking: bool) -> bool:
    """What a later part of an open `and` calls is not called each time: its own checks are not those of each step."""
    code, text = frame.f_code, source_of(frame.f_code)
    name = code.co_name
    if text is None or name.startswith("__") and name.endswith("__") and name not in CALLED:
        return False
    line, _, column, _ = list(code.co_positions())[frame.f_lasti // 2]
    inside = [n for n in text.above if isinstance(n, (ast.expr, ast.stmt)) and line is not None and column is not None and
              (n.lineno, n.col_offset) <= (line, column) < (n.end_lineno or 0, n.end_col_offset or 0)]
    if not inside:
        return False
    n: Any = max(inside, key=lambda n: (n.lineno, n.col_offset, -(n.end_lineno or 0), -(n.end_col_offset or 0)))
    while not isinstance(n, SCOPES) and n in text.above:
        if not asking and (frame, n) in OPEN:
            return False
        if isinstance(n, HANDLED) or isinstance(n, ast.With) and not all(lets_through(i.context_expr, frame) for i in n.items):
            return False
        n = text.above[n]
    return True


def lets_through(e: ast.expr, frame: types.FrameType) -> bool:
    """Whether a context is one of PyTorch's, or of `warnings`: others may swallow."""
    made = resolved(e.func, frame) if isinstance(e, ast.Call) else None
    return (getattr(made, "__module__", None) or "").partition(".")[0] in ("torch", "warnings")


# ---- while a model is exported ----

@functools.lru_cache(None)
def operations() -> tuple[Any, Any, Any]:
    """torch.ops.reprise.check of a flag, and of a number of Python, that says what is wrong: rules/checks.py."""
    torch = framework()
    library = torch.library.Library("reprise", "FRAGMENT")
    for name, kind in (("check", "Tensor bad, int number"), ("check_number", "Scalar found, int number, bool goes_on")):
        library.define(f"{name}({kind}) -> Tensor")
        torch.library.register_fake(f"reprise::{name}", lambda *_: torch.empty((), dtype=torch.bool), lib=library)
    library.impl("check", lambda bad, number: bad.clone(), "CPU")  # of what is made of numbers in the forward, which the exporter computes
    found = torch.ops.reprise.check.default, torch.ops.reprise.check_number.default
    for op in found:
        framework("torch.fx.node").has_side_effect(op)
    return library, *found


def numbered(text: str) -> int:
    """Which element an error of the step asks for: of one statement the same in all programs. 1 and 2 are of refusals.ADVICE."""
    number = 3 + zlib.crc32(text.encode()) % (1 << 24)
    CHECKS[number] = text
    return number


def watched(value: Any, frame: types.FrameType) -> bool | None:
    """Of a tensor, or a number of Python, whose value is not known: the truth that goes on, where the program looks at each step whether
    it is."""
    torch = framework()
    tensor = isinstance(value, torch.Tensor)
    if framework("torch.fx.experimental.proxy_tensor").get_proxy_mode() is None or tensor and (
            value.numel() != 1 or torch._C._functorch.is_functorch_wrapped_tensor(value)):
        return None
    check = decided(frame)
    if check is None:
        return None
    _, of_tensor, of_number = operations()
    if tensor:
        return held(check, value.detach().reshape(()) == 0, frame)
    elif check.ahead is not None or any((frame, b) in OPEN for b in check.among):
        return None
    else:
        of_number(value, numbered(check.text), check.goes_on)  # without a sym_not, which makes of `not v <= 1` a `v > 1`: of NaN another
    return check.goes_on


def held(check: Check, false: Any, frame: types.FrameType) -> bool:
    """Has the program look at a flag that tells whether the condition is false, and those that go with it; gives the answer."""
    torch = framework()
    with torch.no_grad():
        bad = false if check.goes_on else torch.logical_not(false)
        if check.ahead is not None:
            OPEN.setdefault((frame, check.ahead), []).append(bad)
            return not check.goes_on  # so that the next part is asked for
        for flag in (f for b in check.among for f in OPEN.get((frame, b), ())):
            bad = torch.logical_and(bad, flag)
        operations()[1](bad, numbered(check.text))
    return check.goes_on


COMPARED: dict[type, Callable[[Any, Any], Any]] = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
                                                   ast.Eq: operator.eq, ast.NotEq: operator.ne}


def number_compared(value: Any, frame: types.FrameType, kind: type) -> int | float | None:
    """Of `int(t) >= n` and `float(t) >= n` in a check that only raises, where n is a number of Python that nothing happens for: one with
    which it goes on, where the program looks at each step whether that is so."""
    torch, text = framework(), source_of(frame.f_code)
    if text is None or framework("torch.fx.experimental.proxy_tensor").get_proxy_mode() is None or not isinstance(value, torch.Tensor) or \
            value.numel() != 1 or value.is_complex() or torch._C._functorch.is_functorch_wrapped_tensor(value):
        return None
    k = next((i for i in dis.get_instructions(frame.f_code) if i.offset == frame.f_lasti), None)
    at = k.positions if k is not None and k.opname.startswith(("CALL", "PRECALL")) else None
    nodes = text.at.get((at.lineno or 0, at.end_lineno or 0, at.col_offset or 0, at.end_col_offset or 0), []) if at is not None else []
    call = nodes[0] if len(nodes) == 1 else None
    above = text.above.get(call) if call is not None else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) != 1 or call.keywords or \
            resolved(call.func, frame) is not kind or not isinstance(above, ast.Compare) or len(above.ops) != 1:
        return None
    first, compare = call is above.left, COMPARED.get(type(above.ops[0]))
    other = above.comparators[0] if first else above.left
    if compare is None or not all(isinstance(n, SIMPLE) for n in ast.walk(other)):
        return None
    n = eval(compile(ast.Expression(other), frame.f_code.co_filename, "eval"), frame.f_globals, frame.f_locals)  # as it is evaluated there
    check = decided(frame, above) if type(n) in (int, float) and abs(n) < 2 ** 52 else None
    if check is None:
        return None
    ahead = [f for b in (*check.among, check.ahead) if b is not None for f in OPEN.get((frame, b), ())]

    def where_asked(fine: Any, message: str) -> None:
        """Only where the earlier parts have it asked."""
        for flag in ahead:
            fine = torch.logical_or(fine, torch.logical_not(flag))
        asserting(fine, message)
    with torch.no_grad():
        real = value.is_floating_point()
        v = value.detach().reshape(())
        v = v.double() if real or type(n) is float else v.long()
        if type(n) is float and not real:
            where_asked(v.abs() < 2.0 ** 53, "an integer beyond those that float64 has")
        if kind is int and real:
            where_asked(torch.isfinite(v), "int() of what is not finite")
            v = v.trunc()
        truth = compare(v, n) if first else compare(n, v)
    answer = held(check, torch.logical_not(truth), frame)
    return next((c for c in map(kind, (n - 1, n, n + 1)) if (compare(c, n) if first else compare(n, c)) is answer), None)


def unknown(was: Callable[..., Any], *args: Any) -> Any:
    """PyTorch's answer to a question of values that are not known. Where it raises that is told, whatever the forward then does."""
    try:
        return was(*args)
    except Exception:
        refused(f"{type(args[0]).__name__}.{was.__name__}", "asks for values that are not known before the step runs", DECIDED)
        raise


def asserting(condition: Any, message: str = "") -> None:
    """torch._assert_async."""
    framework()
    operations()[1]((condition == 0).reshape(()), numbered(f"torch._assert_async: {message}".rstrip(": ")))


@contextlib.contextmanager
def numbers_watched() -> Iterator[None]:
    """While a model is exported: of what item() gives, too."""
    torch = framework()
    was: Callable[..., bool] = torch.SymBool.__bool__

    shapes, node = framework("torch.fx.experimental.symbolic_shapes").ShapeEnv, framework("torch.fx.experimental.sym_node").SymNode
    made, expected = shapes.create_unbacked_symfloat, node.expect_true
    reals: list[Any] = []

    def real(self: Any) -> Any:
        reals.append(None)
        return made(self)

    def settled(self: Any) -> bool:
        """Whether PyTorch knows an answer; of real numbers it has none of its own, since it takes none for NaN (`v != v` is False) or
        infinite, and none for rounded."""
        found = self.has_hint() or self.maybe_as_bool() is not None
        if found and reals:
            raise refused("item()", "of a real number in a condition that PyTorch answers without the number, as if it were neither NaN nor "
                          "infinite", "Leave out item(), and ask torch.isnan or torch.isfinite")
        return found

    def asked(self: Any) -> bool:
        found = watched(self, sys._getframe(1)) if not settled(self.node) else None
        return unknown(was, self) if found is None else found

    def expecting(self: Any, *args: Any) -> bool:
        if not settled(self) and reals and framework("torch.fx.experimental.proxy_tensor").get_proxy_mode() is not None:
            operations()[2](torch.SymBool(self), numbered("torch._check of item()"), True)  # PyTorch's own assertion is another of NaN
        return bool(expected(self, *args))

    def refusing(name: str) -> Any:
        of = getattr(torch.Tensor, name)
        return lambda self, *args, **kwargs: unknown(functools.wraps(of)(lambda *a: of(*a, **kwargs)), self, *args)
    changes = [(torch.SymBool, "__bool__", asked), (shapes, "create_unbacked_symfloat", real), (node, "expect_true", expecting),
               (torch, "_assert_async", asserting), *((torch.Tensor, n, refusing(n)) for n in VALUES)]
    kept = [(owner, name, vars(owner).get(name)) for owner, name, _ in changes]
    for owner, name, other in changes:
        setattr(owner, name, other)
    OPEN.clear()
    try:
        yield
    except Exception as e:
        at = e.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        if at is not None and any(at.tb_frame is frame for frame, _ in OPEN):
            raise Unsupported("of several parts, of which what is known before the step runs stands behind what tensors decide",
                              Node("", "a check", where=f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}"),
                              "Let what is known stand first: `if self.strict and x.isnan().any(): raise ..`") from e
        raise
    finally:
        OPEN.clear()
        for owner, name, own in kept:
            if own is not None:
                setattr(owner, name, own)
            else:
                delattr(owner, name)
