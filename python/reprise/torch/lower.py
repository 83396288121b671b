# SPDX-License-Identifier: Apache-2.0
"""A captured graph becomes a program: `Lowering` walks it and calls, for each operation, the rule that is registered for
it with `@lowers`. Images may be held channels last (`Value.last`), so that between convolution, norm, activation and sum
nothing is transposed. Reprise computes nothing in silence in another way: an operation without a rule is refused by name."""
from __future__ import annotations

import contextvars
import hashlib
import importlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .._core import UnsupportedError
from .graph import CHECKED, COMPLEX, FLOATS, GRADIENT, NUMPY, PARTS, DType, Graph, Input, Meta, Node, Ref, Sub, map_refs, places, refs

Array = Any
Tensor = Any
MOST_APPENDED = 1 << 18


TOLD: contextvars.ContextVar[list[Exception] | None] = contextvars.ContextVar("TOLD", default=None)  # what a forward may swallow


class Unsupported(UnsupportedError):
    """What cannot become a program: operation, source line of the model and a remedy."""

    operation: str

    def __init__(self, what: str, node: Node | None = None, remedy: str = "") -> None:
        where = f"{node.where}: " if node is not None and node.where else ""
        if node is not None and not where and node.module:  # of layers of PyTorch alone no line is the model's
            where = f"in module {node.module.removeprefix('module.')}: "
        op = f"{node.op}: " if node is not None else ""
        super().__init__(f"{where}{op}{what}" + (f". {remedy}" if remedy else ""))
        self.what, self.remedy = what, remedy
        self.operation, self.where = (node.op, node.where) if node is not None else ("", "")
        if (told := TOLD.get()) is not None:
            told.append(self)


class Value:
    """A value of the model: `tensor` of the program in PyTorch's order of axes, made from `last`, its channels-last form
    ([n, c, h, w] as [n, h, w, c]), when somebody asks for it; or `known`, a constant that becomes a tensor when it is used."""

    def __init__(self, g: Lowering, dtype: str, shape: Sequence[int], tensor: Tensor = None, last: Tensor = None,
                 known: Array = None) -> None:
        self.g, self.dtype, self.shape = g, dtype, tuple(shape)
        self._tensor, self._last, self.known = tensor, last, known

    def __repr__(self) -> str:
        return f"Value({self.dtype}{list(self.shape)}{', channels last' if self.channels_last else ''})"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def real(self) -> bool:
        return self.dtype in FLOATS

    @property
    def channels_last(self) -> bool:
        """It is there in channels-last form, and in no other."""
        return self._last is not None and self._tensor is None

    @property
    def tensor(self) -> Tensor:
        if self._tensor is None:
            if self._last is not None:
                r = self.rank
                self._tensor = self.g.op("transpose", self._last, permutation=[0, r - 1, *range(1, r - 1)])
            else:
                self._tensor = self.g.constant(self.known)
        return self._tensor

    @property
    def last(self) -> Tensor:
        """Channels last: of [n, c, ..] the tensor [n, .., c]."""
        if self._last is None:
            r = self.rank
            self._last = self.g.op("transpose", self.tensor, permutation=[0, *range(2, r), 1])
        return self._last


class Complex(Value):
    """A value of complex elements: two of real ones, which the rules of `lowers_complex` work on. To all others it has no tensor."""

    def __init__(self, g: Lowering, re: Value, im: Value) -> None:
        super().__init__(g, next(c for c, real in PARTS.items() if real == re.dtype), re.shape)
        self.re, self.im = re, im

    @property
    def tensor(self) -> Tensor:
        raise self.g.refuse("complex elements", "Write it in operations of torch.view_as_real, or of the real and the imaginary part")

    last = tensor


class Number(Value):
    """A number of Python that the values of tensors decide: checks look at it, and nothing else."""


Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
COMPLEX_RULES: dict[str, Rule] = {}  # of operations that have complex operands, or a complex value
REMEDIES: dict[str, str] = {}
NUMBERS: set[str] = set()  # operations that take a Number
LIMITS: dict[str, int] = {}  # how many gradients of the forward's own may be taken of an operation, whose rule has no derivative beyond


def lowers(*names: str) -> Callable[[Rule], Rule]:
    """Registers `rule(g, node, *args, **kwargs)` for operations. Operands come as in PyTorch's schema: tensors as Value,
    numbers, None, lists, element types as their names ("f32"), graphs of branches as Graph. It returns a Value, a tensor of
    the program, or a list of them and None for an operation with several values."""
    return registering(RULES, names)


def lowers_complex(*names: str) -> Callable[[Rule], Rule]:
    """As `lowers`, for operations that have complex operands (Complex, and Python's numbers) or give complex values."""
    return registering(COMPLEX_RULES, names)


def registering(rules: dict[str, Rule], names: tuple[str, ...]) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for n in names:
            if n in rules:
                raise ValueError(f"{n} has a rule: {rules[n].__module__}.{rules[n].__name__}")
            rules[n] = rule
        return rule
    return register


def has_rule(op: str) -> bool:
    return op in RULES or op in COMPLEX_RULES


class Lowering:
    """Appends a graph to a Builder. `states`: name -> tensor of each state that is used; `data`: first values of the
    program's data by name; `feeds`: names of the user's inputs in order, those that are used."""

    def __init__(self, graph: Graph, builder: Any = None) -> None:
        self.graph = graph
        self.twice = any(n.op == GRADIENT for n in graph.walk())  # the forward has gradients of its own, and the step's go through them
        self.builder = builder if builder is not None else importlib.import_module("reprise").Builder()
        self.states: dict[str, Tensor] = {}
        self.data: dict[str, Array] = {}
        self.known_data: Mapping[str, Any] | None = None  # the data of a run that has begun: all other constants are fed
        self.fed: dict[str, Array] = {}
        self.feeds: list[str] = []
        self.later = 1  # how many gradients are taken of all that the graph computes: a step's own
        self.node: Node | None = None
        self.env: dict[str, Any] = {}
        self.lines: dict[int, str] = {}  # the line of the model by the number of the instruction
        self.used: set[tuple[str, int | None]] = set()
        self.stream = self.appended = 0
        self.rng_tensor: Tensor = None
        self.shared: dict[Any, Any] = {}  # what an optimizer's updates have in common
        self._fills: dict[Any, Tensor] = {}
        self._constants: dict[Any, Tensor] = {}

    # ---- what rules call ----

    def op(self, name: str, *operands: Tensor, **attributes: Any) -> Any:
        """One operation of the program on tensors (not Values)."""
        self.appended += 1
        if self.appended > MOST_APPENDED:
            raise self.refuse(f"more than {MOST_APPENDED} operations in all")
        if self.node is not None and self.node.where:
            self.lines[self.builder.length] = self.node.where
        return self.builder.append(name, attributes, list(operands))

    def refuse(self, what: str, remedy: str = "") -> Unsupported:
        """To be raised: the operation in hand cannot be lowered."""
        return Unsupported(what, self.node, remedy)

    def meta(self, node: Node, i: int | None = None) -> Meta:
        """Element type and shape of the node's value, or of its i-th."""
        m = node.meta
        found = m[i or 0] if isinstance(m, list) else m
        if not isinstance(found, Meta):
            raise self.refuse("has no tensor as its value")
        return found

    def tensor(self, x: Any, dtype: str = "f32") -> Tensor:
        """The tensor of a Value; a number becomes a constant of that dtype."""
        if isinstance(x, Value):
            return x.tensor
        return self.fill(x, dtype) if isinstance(x, (bool, int, float)) else x

    def value(self, tensor: Tensor, dtype: str | None = None) -> Value:
        return Value(self, dtype or tensor.dtype, tensor.shape, tensor)

    def value_last(self, last: Tensor) -> Value:
        """A value of its channels-last tensor."""
        s = last.shape
        return Value(self, last.dtype, (s[0], s[-1], *s[1:-1]), last=last)

    def fill(self, value: float, dtype: str, shape: Sequence[int] = ()) -> Tensor:
        """A constant; equal ones are one."""
        key = (math.copysign(1.0, value), float(value) if value == value else "nan", dtype, tuple(shape))
        if key not in self._fills:
            if dtype in ("i64", "u64") and abs(int(value)) > 1 << 53:
                return self.constant(np.full(tuple(shape), value, NUMPY[dtype]))
            self._fills[key] = self.op("fill", value=float(value), shape=list(shape), dtype=dtype)
        return self._fills[key]

    def constant(self, array: Array) -> Tensor:
        """A known array: a fill where all elements are one, else data of the program."""
        array = np.asarray(array)
        kind = next((n for n, t in NUMPY.items() if array.dtype == t), None)
        if kind is None:
            raise self.refuse(f"a constant of {array.dtype}")
        small = array.size and (kind[0] in "fb" or abs(int(array.flat[0])) <= 1 << 53)  # what a fill has exactly
        if small and kind not in ("f16", "u16") and array.flat[0] == array.flat[0] and \
                array.tobytes() == array.flat[0].tobytes() * array.size:
            return self.fill(array.flat[0].item(), kind, array.shape)
        key = self.identity(array)
        if key not in self._constants:
            name = f"constant.{hashlib.sha256(repr(key[:2]).encode() + key[2]).hexdigest()[:16]}"  # of all programs of a run
            self._constants[key] = self.constant_of(kind, name, array)
        return self._constants[key]

    def identity(self, array: Array) -> tuple[str, tuple[int, ...], bytes]:
        """What makes two constants one."""
        return next(n for n, t in NUMPY.items() if array.dtype == t), array.shape, array.tobytes()

    def constant_of(self, kind: str, name: str, array: Array) -> Tensor:
        """Data of the program; of a run that has begun without it, a feed."""
        has = self.known_data is None or name in self.known_data
        (self.data if has else self.fed)[name] = array
        return (self.builder.data if has else self.builder.feed)(name, array.shape, kind)

    def cast(self, t: Tensor, dtype: str) -> Tensor:
        return t if t.dtype == dtype else self.op("cast", t, dtype=dtype)

    def reshape(self, t: Tensor, shape: Sequence[int]) -> Tensor:
        return t if tuple(t.shape) == tuple(shape) else self.op("reshape", t, shape=list(shape))

    def transpose(self, t: Tensor, permutation: Sequence[int]) -> Tensor:
        p = list(permutation)
        return t if p == list(range(len(p))) else self.op("transpose", t, permutation=p)

    def swap(self, t: Tensor) -> Tensor:
        """The last two axes exchanged."""
        r = len(t.shape)
        return self.transpose(t, [*range(r - 2), r - 1, r - 2])

    def broadcast(self, t: Tensor, shape: Sequence[int]) -> Tensor:
        return t if tuple(t.shape) == tuple(shape) else self.op("broadcast_to", t, shape=list(shape))

    def slice(self, t: Tensor, axis: int, begin: int, end: int) -> Tensor:
        """Elements begin .. end of an axis."""
        if begin == 0 and end == t.shape[axis]:
            return t
        first, behind = [0] * len(t.shape), list(t.shape)
        first[axis], behind[axis] = begin, end
        return self.op("slice", t, begin=first, end=behind)

    def reduce(self, name: str, t: Tensor, axes: Sequence[int], keep: bool, **attributes: Any) -> Tensor:
        """A reduction over axes (all where there are none given), which stay as 1 with keep."""
        r = len(t.shape)
        over = sorted(a % r for a in axes) if axes else list(range(r))
        if not over:
            return t
        y = self.op(name, t, axes=over, **attributes)
        kept = [1 if i in over else n for i, n in enumerate(t.shape)]
        return self.reshape(y, kept if keep else [n for i, n in enumerate(t.shape) if i not in over])

    def rng(self) -> Tensor:
        """What operations that draw take: {seed, step}, a state that each step moves on."""
        if self.rng_tensor is None:
            self.rng_tensor = self.builder.state("rng", (2,), "i64")
        return self.rng_tensor

    def next_stream(self) -> int:
        """A number of its own for each place that draws, in the order of their appearance."""
        self.stream += 1
        return self.stream - 1

    # ---- walking ----

    def run(self) -> dict[str, Any]:
        """Lowers the graph; gives each output's Value by "kind name"."""
        used = set(refs([o.value for o in self.graph.outputs] + [[n.args, n.kwargs] for n in live(self.graph)]))
        for i in self.graph.inputs:
            self.env[i.name] = self.input(i, i.name in used)
        self.nodes(self.graph, self.env)
        return {f"{o.kind} {o.name}": self.resolve(o.value, self.env, self.graph) for o in self.graph.outputs}

    def input(self, i: Input, used: bool) -> Value:
        """An input that nothing uses is none of the program's."""
        if not used:
            return Value(self, i.meta.dtype, i.meta.shape)
        if i.kind == "user":
            name = i.feed or i.name
            self.feeds.append(name)
            return self.pairs(self.builder.feed(name, *elements(i.meta)), i.meta)
        if i.state not in self.states:
            self.states[i.state] = self.builder.state(i.state, *elements(i.meta))
        return self.pairs(self.states[i.state], i.meta)

    def pairs(self, t: Tensor, m: Meta) -> Value:
        """What lies in memory as `t`: complex elements as pairs along a last axis."""
        if m.dtype not in PARTS:
            return self.value(t)
        return Complex(self, *(self.value(self.reshape(self.slice(t, len(m.shape), k, k + 1), m.shape)) for k in (0, 1)))

    def in_memory(self, v: Value) -> Tensor:
        """A value's tensor; of complex elements that of the pairs."""
        if not isinstance(v, Complex):
            return v.tensor
        return self.op("concat", *(self.reshape(x.tensor, [*v.shape, 1]) for x in (v.re, v.im)), axis=v.rank)

    def nodes(self, graph: Graph, env: dict[str, Any]) -> None:
        needed = live(graph)
        self.used = set(places([[n.args, n.kwargs] for n in needed] + [o.value for o in graph.outputs]))
        by = {p for n in needed if n.op == GRADIENT for p in places(n.args[2])}
        for name, _ in by:
            if name not in env and name in graph.constants:
                env[name] = self.resolve(Ref(name), env, graph)
            if name in env:
                env[name] = self.leaves(name, env[name], by)
        for n in needed:
            self.node = n
            if not has_rule(n.op):
                raise self.refuse("no rule for this operation", REMEDIES.get(n.op, "Write it in operations that have one, or keep it "
                                                                             "outside of what is compiled"))
            if empty(n):
                env[n.name] = self.checked(n, [self.nothing(m) for m in metas_of(n) if m] if isinstance(n.meta, list)
                                           else self.nothing(self.meta(n)))
                continue
            args = [self.resolve(a, env, graph) for a in n.args]
            kwargs = {k: self.resolve(a, env, graph) for k, a in n.kwargs.items()}
            if n.op not in NUMBERS and any_number(args, kwargs):
                raise self.refuse("of a number of Python that the values decide", "Leave out item(): a tensor of one element does as well")
            rule = (COMPLEX_RULES if of_complex(n, args, kwargs) else RULES).get(n.op)
            if rule is None:
                raise self.refuse("no rule for this operation of complex elements" if n.op in RULES else "no rule for this operation of real "
                                  "elements", "Write it in operations of torch.view_as_real, or of the real and the imaginary part")
            try:
                found = rule(self, n, *args, **kwargs)
            except Unsupported:
                raise
            except (TypeError, ValueError, NotImplementedError, IndexError) as e:
                raise self.refuse(f"{type(e).__name__}: {e}") from e
            env[n.name] = self.leaves(n.name, self.checked(n, found), by)

    def leaves(self, name: str, found: Any, by: Collection[tuple[str, int | None]]) -> Any:
        """A node's values; those that a gradient is taken by are tensors of their own, which no alias of them and no other form of
        their axes stands beside."""
        if isinstance(found, list):
            return [self.leaf(v) if (name, k) in by else v for k, v in enumerate(found)]
        return self.leaf(found) if (name, None) in by else found

    def nothing(self, m: Meta) -> Value:
        """A tensor without elements."""
        v = self.value(self.fill(0, PARTS.get(m.dtype, m.dtype), m.shape))
        return Complex(self, v, v) if m.dtype in PARTS else v

    def leaf(self, v: Value) -> Value:
        if isinstance(v, Complex):
            return Complex(self, self.leaf(v.re), self.leaf(v.im))
        return self.value(self.op("reshape", v.tensor, shape=list(v.shape)), v.dtype)

    def wants(self, node: Node, i: int) -> bool:
        """Whether anything uses the i-th value of a node that has several."""
        return (node.name, i) in self.used or (node.name, None) in self.used

    def checked(self, n: Node, found: Any) -> Any:
        """The rule's values, each of the type that the graph says it has; of one that nothing uses that is not asked (older exporters
        have wrong ones of the last states of recurrent layers)."""
        if isinstance(found, (list, tuple)):
            metas = n.meta if isinstance(n.meta, list) else [n.meta] * len(found)
            return [None if v is None else self.one(v, m if self.wants(n, k) else None) for k, (v, m) in enumerate(zip(found, metas))]
        return None if found is None else self.one(found, n.meta[0] if isinstance(n.meta, list) else n.meta)

    def one(self, v: Any, m: Meta | None) -> Value:
        value = v if isinstance(v, Value) else self.value(v)
        if m is not None and (value.dtype != m.dtype or value.shape != m.shape):
            raise self.refuse(f"the rule's value is {value.dtype}{list(value.shape)}, expected {m.dtype}{list(m.shape)}")
        return value

    def known(self, a: Array) -> Value:
        return Value(self, next(n for n, t in NUMPY.items() if a.dtype == t), a.shape, known=a)

    def resolve(self, x: Any, env: Mapping[str, Any], graph: Graph) -> Any:
        def of(e: Any) -> Any:
            if isinstance(e, Ref):
                if e.name not in env and e.name in graph.constants:
                    a = graph.constants[e.name]
                    if a.dtype.kind == "c":
                        real = NUMPY[PARTS[next(n for n, t in COMPLEX.items() if a.dtype == t)]]
                        return Complex(self, *(self.known(np.ascontiguousarray(x, real)) for x in (a.real, a.imag)))
                    return self.known(a)
                v = env[e.name]
                if e.index is not None:
                    v = v[e.index]
                    if v is None:
                        raise self.refuse(f"value {e.index} of {e.name} is used, which has no rule")
                return v
            if isinstance(e, Sub):
                return graph.graphs[e.index]
            return e.name if isinstance(e, DType) else e
        return map_refs(of, x)


def elements(m: Meta) -> tuple[tuple[int, ...], str]:
    """Shape and element type of what lies in memory: complex elements are pairs."""
    return ((*m.shape, 2), PARTS[m.dtype]) if m.dtype in PARTS else (m.shape, m.dtype)


def of_complex(n: Node, *operands: Any) -> bool:
    found = [isinstance(m, Meta) and m.dtype in PARTS for m in metas_of(n)]
    map_refs(lambda e: found.append(isinstance(e, (Complex, complex))), operands)
    return any(found)


def any_number(*operands: Any) -> bool:
    found: list[bool] = []
    map_refs(lambda e: found.append(isinstance(e, Number)), operands)
    return any(found)


def live(graph: Graph) -> list[Node]:
    """The nodes that the outputs need, and checks, in order: the others, of what a model computes and drops, are none of the program's."""
    wanted = set(refs([o.value for o in graph.outputs]))
    kept: list[Node] = []
    for n in reversed(graph.nodes):
        if n.name in wanted or n.op in CHECKED:
            wanted.update(refs([n.args, n.kwargs]))
            kept.append(n)
    return kept[::-1]


def metas_of(n: Node) -> list[Meta | None]:
    return n.meta if isinstance(n.meta, list) else [n.meta]


def empty(n: Node) -> bool:
    """Whether all of the node's values are tensors without elements, which need no computing."""
    found = metas_of(n)
    return bool(found) and all(isinstance(m, Meta) and m.size == 0 for m in found)
