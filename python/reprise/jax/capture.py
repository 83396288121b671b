# SPDX-License-Identifier: Apache-2.0
"""jaxprs as graphs (graph.py): this file alone knows jax's own structures.

Random keys become their words, and what is done with them jax's own definition of it on words; complex numbers become their two
parts, and what is done with them what complexes.py says. A function with a derivative of its own becomes an equation
`custom_derivative` of two graphs: the function, and its derivative as a linear map."""
from __future__ import annotations

import enum
import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import complexes
from .graph import NAMES, Equation, Graph, Literal, Operand, Type, Unsupported

RANDOM = ("random_seed", "random_bits", "random_split", "random_fold_in")
SAME = ("random_wrap", "random_unwrap", "random_clone")
INNER = ("jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_lin", "core_closed_call")
CUSTOM = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
REGIONS: dict[str, tuple[str, ...]] = {"scan": ("num_consts", "num_carry"), "while": ("cond_nconsts", "body_nconsts"), "cond": ()}
EXTREMES = {"cummax": "max", "cummin": "min"}
LARGEST = 1 << 28  # bytes of one constant


def jax() -> Any:
    return importlib.import_module("jax")


def is_key(aval: Any) -> bool:
    return hasattr(aval.dtype, "_impl")


def type_of(aval: Any, primitive: str = "", at: str = "") -> Type:
    """Element type and shape; a random key is words of u32."""
    if not hasattr(aval, "dtype"):
        raise Unsupported(f"a value of type {aval}", primitive, at)
    if is_key(aval):
        return "u32", (*aval.shape, *aval.dtype._impl.key_shape)
    name = str(aval.dtype)
    if aval.dtype == jax().dtypes.float0:
        return "bool", tuple(aval.shape)
    if name not in NAMES:
        raise Unsupported(f"elements of type {name}: programs have {', '.join(sorted(NAMES))}", primitive, at)
    return NAMES[name], tuple(int(n) for n in aval.shape)


def types_of(avals: Sequence[Any], primitive: str = "", at: str = "") -> list[Type]:
    """Of the values; of a complex one there are two, its parts."""
    return [t for a in avals for t in [type_of(part_of(a), primitive, at)] * (2 if complexes.is_complex(a) else 1)]


def part_of(aval: Any) -> Any:
    kind = complexes.PARTS.get(str(getattr(aval, "dtype", "")))
    return aval if kind is None else jax().ShapeDtypeStruct(aval.shape, kind)


def line_of(eqn: Any) -> str:
    """The user's line of an equation, its file's name without folders."""
    util = importlib.import_module("jax._src.source_info_util")
    try:
        frame = util.user_frame(getattr(eqn.source_info, "traceback", eqn.source_info))
    except (AttributeError, TypeError):
        return ""
    path = "" if frame is None else frame.file_name.replace(chr(92), "/")
    if frame is None or "/reprise/jax/" in path:  # a function of jax's own that was given as it is
        return ""
    return f"{path.rsplit('/', 1)[-1]}:{frame.start_line}"


def plain(v: Any) -> Any:
    """A parameter as plain values; functions, meshes and the like are None, which no translation takes."""
    if isinstance(v, enum.Enum):
        return v.name
    if isinstance(v, (bool, int, float, str, np.ndarray)) or v is None:
        return v
    if isinstance(v, (np.integer, np.floating, np.bool_)):
        return v.item()
    if isinstance(v, np.dtype) or isinstance(v, type) and issubclass(v, np.generic):
        return NAMES.get(str(np.dtype(v)), str(np.dtype(v)))
    if hasattr(v, "_fields"):
        return {k: plain(getattr(v, k)) for k in v._fields}
    if isinstance(v, (tuple, list)):
        return [plain(x) for x in v]
    fields = getattr(type(v), "__dataclass_fields__", None)
    return None if fields is None else {k: plain(getattr(v, k, None)) for k in fields}


class Capture:
    """One jaxpr with its constants, whose equations become one graph."""

    def __init__(self, consts: Sequence[Any], jaxpr: Any, inside: bool = False) -> None:
        self.inside = inside  # of a derivative, where functions are but values
        self.g = Graph(types_of([v.aval for v in jaxpr.invars]))
        self.names: dict[Any, Sequence[Operand]] = {}  # one number, or those of both parts
        self.name(jaxpr.invars, range(len(self.g.inputs)))
        self.count = len(self.g.inputs)
        for v, x in zip(jaxpr.constvars, consts):
            self.names[v] = self.constant(x)
        for eqn in jaxpr.eqns:
            self.equation(eqn)
        self.g.outputs = self.operands(jaxpr.outvars)

    def name(self, vars_: Sequence[Any], made: Sequence[Operand]) -> None:
        left = iter(made)
        for v in vars_:
            self.names[v] = [next(left) for _ in range(2 if complexes.is_complex(v.aval) else 1)]

    def append(self, primitive: str, params: dict[str, Any], inputs: Sequence[Operand], outputs: Sequence[Type],
               at: str = "") -> list[int]:
        self.g.equations.append(Equation(primitive, params, list(inputs), list(outputs), at))
        self.count += len(outputs)
        return list(range(self.count - len(outputs), self.count))

    def constant(self, x: Any) -> list[Operand]:
        if hasattr(x, "dtype") and hasattr(x.dtype, "_impl"):
            x = jax().random.key_data(x)
        array = np.asarray(x)
        return [self.real(a) for a in ((array.real, array.imag) if complexes.is_complex(array) else (array,))]

    def real(self, array: np.ndarray[Any, Any]) -> Operand:
        if array.dtype == jax().dtypes.float0:
            array = np.zeros(array.shape, np.bool_)
        if str(array.dtype) not in NAMES:
            raise Unsupported(f"a constant with elements of type {array.dtype}")
        dtype = NAMES[str(array.dtype)]
        if not array.shape:
            return Literal(dtype, array.astype(np.float64).item() if dtype == "bf16" else array.item())
        if array.nbytes > LARGEST:
            raise Unsupported(f"a constant of {array.nbytes} bytes: make it a parameter or part of the batch")
        wide = array.astype(np.float32) if dtype == "bf16" else array
        return self.append("constant", {"value": wide}, [], [(dtype, array.shape)])[0]

    def operands(self, vars_: Sequence[Any]) -> list[Operand]:
        return [o for v in vars_ for o in (self.names[v] if not hasattr(v, "val") else self.constant(
            v.val if is_key(v.aval) else np.asarray(v.val).astype(v.aval.dtype)))]

    def equation(self, eqn: Any) -> None:
        name, at = eqn.primitive.name, line_of(eqn)
        inputs = self.operands(eqn.invars)
        outputs = types_of([v.aval for v in eqn.outvars], name, at)
        both = any(complexes.is_complex(v.aval) for v in (*eqn.invars, *eqn.outvars)) or name == "fft"
        if name in SAME:
            made: Sequence[Operand] = inputs
        elif name in RANDOM:
            made = self.append("jit", {"jaxpr": self.random(eqn)}, inputs, outputs, at)
        elif name in CUSTOM and self.inside:
            made = self.append("jit", {"jaxpr": graph(primal(eqn), True)}, inputs, outputs, at)
        elif name in CUSTOM and both:
            raise Unsupported("a derivative of one's own of complex numbers: of their real and imaginary parts it is taken", name, at)
        elif both and name not in INNER and name not in REGIONS:
            made = self.append("jit", {"jaxpr": self.parts(eqn, name, at)}, inputs, outputs, at)
        elif name in CUSTOM:
            made = self.append("custom_derivative", self.derivative(eqn, name, at), inputs, outputs, at)
        else:
            params = self.params(eqn, name, at)
            if name in EXTREMES:  # where a gradient passes: equal elements share it as jax's own derivative, that of a tree, has it
                how, lax = eqn.params, jax().lax
                params["jaxpr"] = graph(jax().make_jaxpr(lambda x: lax.associative_scan(
                    getattr(lax, EXTREMES[name]), x, how["reverse"], how["axis"]))(eqn.invars[0].aval), self.inside)
            if both and name in REGIONS:
                self.counted(eqn, name, params)
            made = self.append("jit" if name in INNER else name, params, inputs, outputs, at)
        self.name(eqn.outvars, made)

    def counted(self, eqn: Any, name: str, params: dict[str, Any]) -> None:
        """Numbers of operands, which are more where some are complex."""
        at = 0
        for key in REGIONS[name]:
            own = eqn.invars[at:at + int(params[key])]
            at += len(own)
            params[key] = sum(2 if complexes.is_complex(v.aval) else 1 for v in own)

    def parts(self, eqn: Any, name: str, at: str) -> Graph:
        """What an equation does with complex numbers, on their parts."""
        if name not in complexes.RULES:
            raise Unsupported("of complex numbers; of their real and imaginary parts it is taken", name, at)
        given = [jax().ShapeDtypeStruct(part_of(v.aval).shape, part_of(v.aval).dtype) for v in eqn.invars
                 for _ in range(2 if complexes.is_complex(v.aval) else 1)]
        try:
            return graph(jax().make_jaxpr(complexes.of_parts(eqn))(*given), self.inside)
        except Unsupported as e:
            raise Unsupported(e.what, name, at) from None

    def params(self, eqn: Any, name: str, at: str) -> dict[str, Any]:
        params: dict[str, Any] = {}
        if name == "custom_linear_solve":  # its derivative needs the map and the solver, not the transposed ones
            own = eqn.params["jaxprs"]
            return {"const_lengths": [int(k) for k in eqn.params["const_lengths"]], "matvec": graph(own.matvec, self.inside),
                    "solve": graph(own.solve, self.inside)}
        for k, v in eqn.params.items():
            if is_jaxpr(v):
                params["jaxpr" if name in INNER else k] = graph(v, self.inside)
            elif isinstance(v, (tuple, list)) and v and all(is_jaxpr(x) for x in v):
                params[k] = [graph(x, self.inside) for x in v]
            elif name not in INNER:
                found = plain(v)
                if found is not None:
                    params[k] = found
        if any(is_key(v.aval) for v in (*eqn.invars, *eqn.outvars) if hasattr(v.aval, "dtype")) and not holds_graph(params):
            with_words(eqn, name, at, params)
        return params

    def random(self, eqn: Any) -> Graph:
        """What jax does with keys, on their words."""
        p, aval = eqn.params, eqn.invars[0].aval
        own = p["impl"] if eqn.primitive.name == "random_seed" else aval.dtype._impl
        if own.name != "threefry2x32":
            raise Unsupported(f"random keys of {own.name}: threefry2x32 is what programs compute", eqn.primitive.name, line_of(eqn))
        f: Callable[..., Any] = {"random_seed": own.seed, "random_fold_in": own.fold_in,
                                 "random_bits": lambda k: own.random_bits(k, p["bit_width"], tuple(p["shape"])),
                                 "random_split": lambda k: own.split(k, tuple(p["shape"]))}[eqn.primitive.name]
        for _ in aval.shape:
            f = jax().vmap(f)
        words = [jax().ShapeDtypeStruct(type_of(v.aval)[1], np.uint32 if is_key(v.aval) else v.aval.dtype) for v in eqn.invars]
        return graph(jax().make_jaxpr(f)(*words))

    def derivative(self, eqn: Any, name: str, at: str) -> dict[str, Any]:
        """The function, and its own derivative as a graph of (operands, their tangents) that gives the outputs' tangents:
        the rule itself, or, of a rule for the way back, that one transposed."""
        j = jax()
        closed = one_equation(eqn)
        f = importlib.import_module("jax.extend.core").jaxpr_as_fun(closed)
        avals = [v.aval for v in eqn.invars]
        real = [i for i, a in enumerate(avals) if hasattr(a, "dtype") and not is_key(a) and np.issubdtype(a.dtype, np.inexact)
                or str(getattr(a, "dtype", "")) == "bfloat16"]
        given = [j.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]

        def of_reals(values: Sequence[Any], reals: Sequence[Any]) -> Any:
            full = list(values)
            for i, x in zip(real, reals):
                full[i] = x
            return f(*full)

        def tangents(values: Sequence[Any], dots: Sequence[Any]) -> Any:
            at_values = [values[i] for i in real]
            if name == "custom_jvp_call":
                return j.jvp(lambda *r: of_reals(values, r), at_values, list(dots))[1]
            out, back = j.vjp(lambda *r: of_reals(values, r), *at_values)
            return j.linear_transpose(lambda *c: back(list(c)), *out)(tuple(dots))
        found: dict[str, Any] = {"name": function_name(eqn), "function": graph(primal(eqn), True), "reals": real}
        try:
            if name != "custom_jvp_call" and not vanishes(lambda v: j.vjp(lambda *r: of_reals(v, r), *[v[i] for i in real]), given):
                raise ValueError("it adds to the cotangent what does not come from it")
            found["derivative"] = graph(j.make_jaxpr(tangents)(given, [given[i] for i in real]), True)
        except Unsupported:
            raise
        except Exception as e:  # whatever the user's rule or its transposition raises: refused where its gradient is needed
            why = f": {e}" if type(e) is ValueError and str(e).startswith("it adds") else ""
            found["refused"] = f"its own derivative is no linear map that can be transposed ({type(e).__name__}{why})"
        return found


def vanishes(vjp: Callable[[list[Any]], Any], given: Sequence[Any]) -> bool:
    """Whether a way back gives 0 for a cotangent of 0, tried at random operands: jax's transposition takes `ct + x` or
    `where(mask, ct, 1)` for linear, and leaves out what is added."""
    numpy, random = jax().numpy, np.random.default_rng(0)
    for _ in range(3):
        values = [numpy.asarray(random.standard_normal(a.shape) if numpy.issubdtype(a.dtype, numpy.floating) else
                                random.integers(0, 2, a.shape), a.dtype) for a in given]
        out, back = vjp(values)
        slopes = back(jax().tree_util.tree_map(
            lambda y: numpy.zeros_like(y) if numpy.issubdtype(y.dtype, numpy.floating) else np.zeros(y.shape, jax().dtypes.float0), out))
        if any(bool(numpy.any((s != 0) & (s == s))) for s in slopes):
            return False
    return True


def is_jaxpr(v: Any) -> bool:
    return hasattr(v, "eqns") and hasattr(v, "outvars") or hasattr(v, "jaxpr") and hasattr(v, "consts")


def holds_graph(params: dict[str, Any]) -> bool:
    return any(isinstance(x, Graph) for v in params.values() for x in (v if isinstance(v, list) else [v]))


def primal(eqn: Any) -> Any:
    """What a function with a derivative of its own computes."""
    return eqn.params.get("call_jaxpr") or eqn.params.get("fun_jaxpr")


def function_name(eqn: Any) -> str:
    debug = getattr(getattr(primal(eqn), "jaxpr", None), "debug_info", None)
    return str(eqn.params.get("name") or getattr(debug, "func_name", ""))


def one_equation(eqn: Any) -> Any:
    """A closed jaxpr of this equation alone."""
    core = importlib.import_module("jax.extend.core")
    ins, outs = ([core.Var(v.aval) for v in vs] for vs in (eqn.invars, eqn.outvars))
    alone = eqn.replace(invars=ins, outvars=outs)
    with warnings.catch_warnings():  # of a jaxpr without names for errors to print
        warnings.simplefilter("ignore", DeprecationWarning)
        return core.ClosedJaxpr(core.Jaxpr([], ins, outs, [alone], eqn.effects), [])


def with_words(eqn: Any, name: str, at: str, params: dict[str, Any]) -> None:
    """Parameters of what moves keys about, for their words: an axis of 2 at the end."""
    if name == "slice":
        params["start_indices"], params["limit_indices"] = [*params["start_indices"], 0], [*params["limit_indices"], 2]
        if params.get("strides"):
            params["strides"] = [*params["strides"], 1]
    elif name == "reshape":
        params["new_sizes"] = [*params["new_sizes"], 2]
    elif name == "broadcast_in_dim":
        params["shape"] = [*params["shape"], 2]
        params["broadcast_dimensions"] = [*params["broadcast_dimensions"], len(params["shape"]) - 1]
    elif name == "transpose":
        params["permutation"] = [*params["permutation"], len(params["permutation"])]
    elif name in ("dynamic_slice", "gather"):
        params["slice_sizes"] = [*params["slice_sizes"], 2]
        params["words"] = True
    elif name not in ("squeeze", "concatenate", "copy", "stop_gradient", "copy_p", "optimization_barrier", "select_n", "rev",
                      "expand_dims"):
        raise Unsupported("of random keys: draw before the step, and feed it as a part of the batch", name, at)


def graph(closed: Any, inside: bool = False) -> Graph:
    """A jaxpr, closed or without constants, as a graph of what its outputs need."""
    jaxpr, consts = (closed.jaxpr, closed.consts) if hasattr(closed, "jaxpr") else (closed, [])
    dce = importlib.import_module("jax._src.interpreters.partial_eval").dce_jaxpr
    return Capture(consts, dce(jaxpr, [True] * len(jaxpr.outvars), True)[0], inside).g


def capture(f: Callable[..., Any], *args: Any) -> Graph:
    """The graph of f of flat arguments: arrays, or shapes with types. Those that are complex, and results that are, are arrays of pairs
    [.., 2] there."""
    pairs = [complexes.is_complex(x) for x in args]

    def flat(*own: Any) -> Any:
        made = f(*(complexes.joined(x) if two else x for x, two in zip(own, pairs)))
        return jax().tree_util.tree_map(complexes.apart, made)
    return graph(jax().make_jaxpr(flat)(*(complexes.apart(x) if two else x for x, two in zip(args, pairs))))
