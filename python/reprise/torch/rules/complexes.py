# SPDX-License-Identifier: Apache-2.0
"""Rules for complex elements, which a program has as pairs of real numbers: what moves and adds elements does so with both parts, the
rest is written out. A gradient is that of the two parts, which is PyTorch's."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product as every
from typing import Any

from .arithmetic import angle_of
from .forms import elementwise, number, op
from .linear import product
from .reductions import norm_of
from ..graph import PARTS, Meta, Node, map_refs
from ..lower import RULES, Complex, Lowering, Value, lowers_complex

Part = tuple[Value, Value | None]


def real_meta(m: Any) -> Any:
    if isinstance(m, list):
        return [real_meta(e) for e in m]
    return Meta(PARTS.get(m.dtype, m.dtype), m.shape) if isinstance(m, Meta) else m


def real_node(node: Node) -> Node:
    """The same operation of one part."""
    return Node(node.name, node.op, node.args, node.kwargs, real_meta(node.meta), node.where, node.module)


def real_type(g: Lowering, node: Node) -> str:
    """The type of the parts that the value has."""
    return str(real_meta(g.meta(node)).dtype)


def parts(g: Lowering, x: Any, dtype: str) -> Part:
    """Both parts of an operand in this real type; of what is real there is no second one."""
    if isinstance(x, Complex):
        return number(g, x.re, dtype), number(g, x.im, dtype)
    if isinstance(x, complex):
        return number(g, x.real, dtype), number(g, x.imag, dtype) if x.imag or math.copysign(1, x.imag) < 0 else None
    return number(g, x, dtype), None


def both(g: Lowering, x: Any, dtype: str) -> tuple[Value, Value]:
    re, im = parts(g, x, dtype)
    return re, im if im is not None else g.value(g.fill(0, dtype, re.shape))


def whole(g: Lowering, node: Node, re: Any, im: Any) -> Complex:
    """Of both parts, each of the value's shape."""
    shape = g.meta(node).shape
    made = [x if isinstance(x, Value) else g.value(x) for x in (re, im)]
    return Complex(g, *(x if x.shape == shape else g.value(g.broadcast(x.tensor, shape)) for x in made))


def joined(g: Lowering, re: Any, im: Any) -> Any:
    if isinstance(re, (list, tuple)):
        return [joined(g, a, b) for a, b in zip(re, im)]
    return None if re is None else Complex(g, *(x if isinstance(x, Value) else g.value(x) for x in (re, im)))


# ---- both parts alike ----

MOVES = ("view.default", "reshape.default", "_unsafe_view.default", "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims",
         "flatten.using_ints", "unflatten.int", "view_copy.default", "ravel.default", "atleast_1d.default", "atleast_2d.default",
         "atleast_3d.default", "_reshape_alias.default", "reshape_as.default", "permute.default", "permute_copy.default", "transpose.int",
         "t.default", "numpy_T.default", "mT.default", "swapaxes.default", "swapdims.default", "transpose_copy.int", "movedim.int",
         "movedim.intlist", "moveaxis.int", "moveaxis.intlist", "expand.default", "expand_as.default", "broadcast_to.default",
         "broadcast_tensors.default", "slice.Tensor", "narrow.default", "select.int", "unbind.int", "split.Tensor",
         "split_with_sizes.default", "split.sizes", "chunk.default", "tensor_split.sections", "tensor_split.indices", "hsplit.int",
         "vsplit.int", "dsplit.int", "unsafe_split.Tensor", "unsafe_chunk.default", "cat.default", "concat.default", "concatenate.default",
         "hstack.default", "vstack.default", "dstack.default", "column_stack.default", "stack.default", "flip.default", "fliplr.default",
         "flipud.default", "roll.default", "repeat.default", "tile.default", "repeat_interleave.self_int", "repeat_interleave.self_Tensor",
         "unfold.default", "diagonal.default", "linalg_diagonal.default", "diag.default", "diag_embed.default", "tril.default",
         "triu.default", "as_strided.default", "embedding.default", "index_select.default", "gather.default", "take_along_dim.default",
         "take.default", "index.Tensor", "_unsafe_index.Tensor", "index_put.default", "_unsafe_index_put.default", "select_scatter.default",
         "slice_scatter.default", "diagonal_scatter.default", "scatter.src", "scatter_add.default", "index_add.default",
         "index_copy.default", "sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "cumsum.default", "trace.default",
         "neg.default", "positive.default", "clone.default", "contiguous.default", "alias.default", "lift_fresh_copy.default",
         "lift_fresh.default", "resolve_conj.default", "resolve_neg.default", "view_as.default", "clone_preserve_strides.default",
         "detach.default", "detach_copy.default", "_to_copy.default", "to.dtype", "to.device", "to.other", "to.dtype_layout", "type_as.default",
         "copy.default", "zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "empty_like.default",
         "new_empty.default", "empty_strided.default", "empty_permuted.default", "new_empty_strided.default", "zero.default")


PLACES = ("embedding", "index_select", "gather", "take_along_dim", "take", "index", "_unsafe_index", "index_put", "_unsafe_index_put", "scatter",
          "scatter_add", "index_add", "index_copy", "repeat_interleave")  # whose integers and flags are no elements


@lowers_complex(*(f"aten.{n}" for n in MOVES), "reprise.stop_gradient", "prims.convert_element_type.default")
def alike(g: Lowering, node: Node, *args: Any, **kwargs: Any) -> Any:
    """What is real beside complex elements has 0 as its second part; places and masks are those of both."""
    if "dtype" in kwargs:
        kwargs["dtype"] = PARTS.get(kwargs["dtype"], kwargs["dtype"])
    elements = node.op.split(".")[1] not in PLACES

    def part(k: int) -> Callable[[Any], Any]:
        def of(x: Any) -> Any:
            if isinstance(x, Complex):
                return x.im if k else x.re
            return g.value(g.fill(0, x.dtype, x.shape)) if k and isinstance(x, Value) and (x.real or elements) else x
        return of
    made = real_node(node)
    found = [RULES[node.op](g, made, *map_refs(part(k), args), **map_refs(part(k), kwargs)) for k in (0, 1)]
    one = node.meta[0] if isinstance(node.meta, list) else node.meta
    return joined(g, *found) if isinstance(one, Meta) and one.dtype in PARTS else found[0]  # a cast to real numbers keeps the first part


@lowers_complex("aten.adjoint.default", "aten.mH.default", "aten.matrix_H.default")
def adjoint(g: Lowering, node: Node, x: Any) -> Any:
    re, im = (RULES[node.op](g, real_node(node), v) for v in (x.re, x.im))
    return joined(g, re, g.op("neg", im))


@lowers_complex("aten.full.default", "aten.full_like.default", "aten.fill.Scalar", "aten.fill.Tensor", "aten.ones.default",
                "aten.ones_like.default", "aten.new_ones.default", "aten.scalar_tensor.default", "aten.new_full.default")
def full(g: Lowering, node: Node, *args: Any, **_: Any) -> Any:
    name, dtype = node.op.split(".")[1], real_type(g, node)
    value = 1 if "ones" in name else args[0] if name == "scalar_tensor" else args[2] if name == "new_full" else args[1]
    m = g.meta(node)
    if m.dtype not in PARTS:  # as what is made like complex elements in another type
        return g.broadcast(number(g, value, dtype).tensor, m.shape)
    return whole(g, node, *both(g, value, dtype))


@lowers_complex("aten.constant_pad_nd.default", "aten.pad.default")
def pad(g: Lowering, node: Node, x: Any, pads: Any, *rest: Any) -> Any:
    value = rest[-1] if rest and not isinstance(rest[-1], str) and rest[-1] is not None else 0
    mode: list[Any] = [rest[0] if rest and isinstance(rest[0], str) else "constant"] if node.op == "aten.pad.default" else []
    found = [RULES[node.op](g, real_node(node), v, pads, *mode, fill) for v, fill in
             ((x.re, complex(value).real), (x.im, complex(value).imag))]
    return joined(g, *found)


@lowers_complex("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(g: Lowering, node: Node, condition: Any, a: Any, b: Any) -> Any:
    dtype = real_type(g, node)
    return whole(g, node, *(elementwise(g, "where", number(g, condition, "bool"), *pair) for pair in zip(both(g, a, dtype), both(g, b, dtype))))


@lowers_complex("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(g: Lowering, node: Node, x: Any, mask: Any, value: Any) -> Any:
    return where(g, node, mask, value, x)


# ---- from real numbers, and to them ----

@lowers_complex("aten.complex.default")
def complex_(g: Lowering, node: Node, re: Any, im: Any) -> Any:
    return whole(g, node, re, im)


@lowers_complex("aten.polar.default")
def polar(g: Lowering, node: Node, size: Any, angle: Any) -> Any:
    return whole(g, node, *(elementwise(g, "mul", size, op(g, f, angle)) for f in ("cos", "sin")))


@lowers_complex("aten.view_as_complex.default", "aten.view_as_complex_copy.default")
def view_as_complex(g: Lowering, node: Node, x: Any) -> Any:
    return g.pairs(x.tensor, g.meta(node))


@lowers_complex("aten.view_as_real.default", "aten.view_as_real_copy.default")
def view_as_real(g: Lowering, node: Node, x: Any) -> Any:
    return g.in_memory(x)


@lowers_complex("aten.real.default", "aten.imag.default")
def part_of(g: Lowering, node: Node, x: Any) -> Any:
    return x.re if "real" in node.op else x.im


@lowers_complex("aten._conj.default", "aten.conj.default", "aten.conj_physical.default", "aten._conj_physical.default", "aten._conj_copy.default")
def conj(g: Lowering, node: Node, x: Any) -> Any:
    return Complex(g, x.re, op(g, "neg", x.im))


def is_zero(g: Lowering, x: Complex) -> Value:
    return elementwise(g, "logical_and", op(g, "eq", x.re, 0), op(g, "eq", x.im, 0))


def size_of(g: Lowering, x: Complex) -> Value:
    """The absolute value. At 0 its gradient is 0, which costs five operations where one is taken."""
    if not (g.later or g.twice):
        return elementwise(g, "hypot", x.re, x.im)
    zero, one = is_zero(g, x), g.fill(1, x.re.dtype)
    found = elementwise(g, "hypot", elementwise(g, "where", zero, one, x.re), x.im)
    return elementwise(g, "where", zero, g.fill(0, x.re.dtype), found)


@lowers_complex("aten.abs.default")
def absolute(g: Lowering, node: Node, x: Any) -> Any:
    return size_of(g, x)


@lowers_complex("aten.angle.default")
def angle(g: Lowering, node: Node, x: Any) -> Any:
    return angle_of(g, x.re, x.im)


@lowers_complex("aten.sgn.default")
def sgn(g: Lowering, node: Node, x: Any) -> Any:
    zero, size = is_zero(g, x), size_of(g, x)
    size = elementwise(g, "where", zero, g.fill(1, size.dtype), size)
    return Complex(g, *(elementwise(g, "where", zero, g.fill(0, v.dtype), elementwise(g, "div", v, size)) for v in (x.re, x.im)))


@lowers_complex("aten.isnan.default", "aten.isinf.default", "aten.isfinite.default", "aten.eq.Tensor", "aten.ne.Tensor", "aten.eq.Scalar",
                "aten.ne.Scalar")
def asked(g: Lowering, node: Node, x: Any, *others: Any) -> Any:
    dtype = next(v.re.dtype for v in (x, *others) if isinstance(v, Complex))
    if others:
        dtype = "f64" if any(isinstance(v, Value) and v.dtype in ("c128", "f64") for v in (x, *others)) else dtype
        pairs: Sequence[Any] = list(zip(both(g, x, dtype), both(g, others[0], dtype)))
    else:
        pairs = [(x.re,), (x.im,)]
    name = "logical_and" if any(n in node.op for n in ("isfinite", ".eq")) else "logical_or"
    return elementwise(g, name, *(v if isinstance(v, Value) else g.value(v) for v in (RULES[node.op](g, node, *p) for p in pairs)))


# ---- arithmetic ----

@lowers_complex(*(f"aten.{n}.{o}" for n in ("add", "sub", "subtract", "rsub") for o in ("Tensor", "Scalar")))
def add(g: Lowering, node: Node, a: Any, b: Any, alpha: Any = 1) -> Any:
    dtype = real_type(g, node)
    if "rsub" in node.op:
        a, b = b, a
    if alpha != 1:  # of what is taken away, which is rsub's first operand
        b = times(g, node, b, alpha)
    (ar, ai), (br, bi) = parts(g, a, dtype), parts(g, b, dtype)
    name = "add" if "add" in node.op else "sub"
    if ai is not None and bi is not None:
        im = elementwise(g, name, ai, bi)
    elif bi is not None:
        im = bi if name == "add" else op(g, "neg", bi)
    else:
        im = ai if ai is not None else g.value(g.fill(0, dtype))
    return whole(g, node, elementwise(g, name, ar, br), im)


def times(g: Lowering, node: Node, a: Any, b: Any) -> Complex:
    """A product; what is real multiplies both parts."""
    dtype = real_type(g, node)
    (ar, ai), (br, bi) = parts(g, a, dtype), parts(g, b, dtype)

    def mul(x: Value, y: Value) -> Value:
        return elementwise(g, "mul", x, y)
    re = mul(ar, br)
    if ai is not None and bi is not None:
        found = elementwise(g, "sub", re, mul(ai, bi)), elementwise(g, "add", mul(ar, bi), mul(ai, br))
    else:
        found = re, mul(ar, bi) if bi is not None else mul(ai, br) if ai is not None else g.value(g.fill(0, dtype))
    shape = max((v.shape for v in found), key=len)
    return Complex(g, *(v if v.shape == shape else g.value(g.broadcast(v.tensor, shape)) for v in found))


@lowers_complex(*(f"aten.{n}.{o}" for n in ("mul", "multiply") for o in ("Tensor", "Scalar")))
def multiply(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    found = times(g, node, a, b)
    return whole(g, node, found.re, found.im)


@lowers_complex("aten.square.default")
def square(g: Lowering, node: Node, x: Any) -> Any:
    return times(g, node, x, x)


def quotient(g: Lowering, node: Node, a: Any, b: Any) -> Complex:
    """By what is complex in parts of its larger one, so that no square overflows; of that the gradient knows nothing, as nothing
    depends on it."""
    dtype = real_type(g, node)
    (ar, ai), (br, bi) = both(g, a, dtype), parts(g, b, dtype)

    def mul(x: Value, y: Value) -> Value:
        return elementwise(g, "mul", x, y)
    if bi is None:
        return Complex(g, elementwise(g, "div", ar, br), elementwise(g, "div", ai, br))
    larger = elementwise(g, "stop_gradient", elementwise(g, "maximum", op(g, "abs", br), op(g, "abs", bi)))
    scale = elementwise(g, "where", op(g, "eq", larger, 0), g.fill(1, dtype), larger)
    c, d = elementwise(g, "div", br, scale), elementwise(g, "div", bi, scale)
    below = mul(elementwise(g, "add", mul(c, c), mul(d, d)), scale)
    re = elementwise(g, "add", mul(ar, c), mul(ai, d))
    im = elementwise(g, "sub", mul(ai, c), mul(ar, d))
    return Complex(g, elementwise(g, "div", re, below), elementwise(g, "div", im, below))


@lowers_complex(*(f"aten.{n}.{o}" for n in ("div", "divide", "true_divide") for o in ("Tensor", "Scalar")))
def div(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    found = quotient(g, node, a, b)
    return whole(g, node, found.re, found.im)


@lowers_complex("aten.reciprocal.default")
def reciprocal(g: Lowering, node: Node, x: Any) -> Any:
    return div(g, node, 1, x)


@lowers_complex("aten.pow.Tensor_Scalar")
def power(g: Lowering, node: Node, x: Any, e: Any) -> Any:
    """By squares, as far as the exponent is a whole number; a root by `sqrt`, else by the logarithm."""
    if e == 0.5:
        return sqrt(g, node, x)
    if isinstance(e, complex) or e != int(e) or abs(e) > 1024:
        return exponential(g, times(g, node, logarithm(g, x), e))
    found: Any = None
    n, base = abs(int(e)), x
    while n:
        if n & 1:
            found = base if found is None else times(g, node, found, base)
        n >>= 1
        base = times(g, node, base, base) if n else base
    if found is None:
        return whole(g, node, *both(g, 1, real_type(g, node)))
    return reciprocal(g, node, found) if e < 0 else found


@lowers_complex("aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def power_of(g: Lowering, node: Node, x: Any, e: Any) -> Any:
    dtype = real_type(g, node)
    base = Complex(g, *both(g, x, dtype))
    found = exponential(g, times(g, node, Complex(g, *both(g, e, dtype)), logarithm(g, base)))
    return whole(g, node, found.re, found.im)


# ---- functions ----

def exponential(g: Lowering, x: Complex) -> Complex:
    size = op(g, "exp", x.re)
    return Complex(g, *(elementwise(g, "mul", size, op(g, f, x.im)) for f in ("cos", "sin")))


def logarithm(g: Lowering, x: Complex) -> Complex:
    return Complex(g, op(g, "log", size_of(g, x)), op(g, "atan2", x.im, x.re))


@lowers_complex("aten.exp.default", "aten.log.default")
def exp_log(g: Lowering, node: Node, x: Any) -> Any:
    return exponential(g, x) if ".exp" in node.op else logarithm(g, x)


@lowers_complex("aten.sqrt.default")
def sqrt(g: Lowering, node: Node, x: Any) -> Any:
    """The root whose real part is 0 or more: the larger part is a root of a sum, the other what is left."""
    dtype, zero = x.re.dtype, is_zero(g, x)
    size = elementwise(g, "where", zero, g.fill(1, dtype), size_of(g, x))
    larger = op(g, "sqrt", op(g, "mul", elementwise(g, "add", size, op(g, "abs", x.re)), 0.5))
    other = elementwise(g, "div", x.im, op(g, "mul", larger, 2.0))
    right = op(g, "ge", x.re, 0)
    below = elementwise(g, "where", RULES["aten.signbit.default"](g, node, x.im), op(g, "neg", larger), larger)
    aside = elementwise(g, "where", RULES["aten.signbit.default"](g, node, x.im), op(g, "neg", other), other)  # abs has no gradient at 0
    re = elementwise(g, "where", right, larger, aside)
    im = elementwise(g, "where", right, other, below)
    nothing = g.fill(0, dtype)
    return Complex(g, elementwise(g, "where", zero, nothing, re), elementwise(g, "where", zero, x.im, im))


@lowers_complex("aten.sin.default", "aten.cos.default", "aten.sinh.default", "aten.cosh.default")
def waves(g: Lowering, node: Node, x: Any) -> Any:
    """sinh(a + i b) = sinh a cos b + i cosh a sin b, cosh(a + i b) = cosh a cos b + i sinh a sin b; sin x is -i sinh(i x)."""
    name = node.op.split(".")[1]
    a, b = (x.re, x.im) if name.endswith("h") else (op(g, "neg", x.im), x.re)
    sine, cosine, wave, other = op(g, "sinh", a), op(g, "cosh", a), op(g, "sin", b), op(g, "cos", b)
    first, second = (sine, cosine) if "sin" in name else (cosine, sine)
    re, im = elementwise(g, "mul", first, other), elementwise(g, "mul", second, wave)
    return Complex(g, im, op(g, "neg", re)) if name == "sin" else Complex(g, re, im)


@lowers_complex("aten.tanh.default", "aten.sigmoid.default")
def tanh(g: Lowering, node: Node, x: Any) -> Any:
    """By t = tanh a and tan b: (t + i tan b) / (1 + i t tan b), in sines and cosines, which are finite: of sinh and cosh over cosh a."""
    half = Complex(g, *(op(g, "mul", v, 0.5) for v in (x.re, x.im))) if "sigmoid" in node.op else x
    t, s, c = op(g, "tanh", half.re), op(g, "sin", half.im), op(g, "cos", half.im)
    found = quotient(g, node, Complex(g, elementwise(g, "mul", t, c), s), Complex(g, c, elementwise(g, "mul", t, s)))
    if half is x:
        return found
    return Complex(g, op(g, "add", op(g, "mul", found.re, 0.5), 0.5), op(g, "mul", found.im, 0.5))


# ---- products and norms ----

def linear_in(*places: int) -> Callable[..., Any]:
    """A rule of operations that are linear in each of the operands at these places: the sum over their parts."""
    def rule(g: Lowering, node: Node, *args: Any, **kwargs: Any) -> Any:
        return combined(g, node, [args[k] for k in places], lambda xs: RULES[node.op](
            g, real_node(node), *(xs[places.index(k)] if k in places else a for k, a in enumerate(args)), **kwargs))
    return rule


ALIKE = tuple(f"aten.{name}." for name in ("matmul", "mm", "bmm", "mv", "dot", "linear", "conv1d", "conv2d", "conv3d", "convolution", "addmm",
                                             "baddbmm"))


def combined(g: Lowering, node: Node, operands: Sequence[Any], real: Callable[[list[Value]], Any]) -> Complex:
    """Of a function that is linear in each operand: i for each second part."""
    if node.op.startswith(ALIKE) and not all(isinstance(x, Complex) for x in operands):
        raise g.refuse("a product of complex and of real elements", "PyTorch does not take it either: cast the real operand, w.to(x.dtype)")
    dtype = real_type(g, node)
    split = [parts(g, x, dtype) for x in operands]
    found: list[Any] = [None, None]
    for choice in every(*[range(1 if im is None else 2) for _, im in split]):
        y = real([p[k] for p, k in zip(split, choice)])  # type: ignore[misc]
        y = y if isinstance(y, Value) else g.value(y)
        at, name = sum(choice) % 2, "sub" if sum(choice) % 4 > 1 else "add"
        if found[at] is None:
            found[at] = op(g, "neg", y) if name == "sub" else y
        else:
            found[at] = elementwise(g, name, found[at], y)
    return whole(g, node, *(v if v is not None else g.value(g.fill(0, dtype)) for v in found))


for _name in ("matmul", "mm", "bmm", "mv", "dot", "linalg_matmul", "outer", "ger", "inner"):
    lowers_complex(f"aten.{_name}.default")(linear_in(0, 1))


@lowers_complex("aten.vdot.default", "aten.linalg_vecdot.default")
def vdot(g: Lowering, node: Node, a: Any, b: Any, *, dim: int = -1) -> Any:
    a = conj(g, node, a) if isinstance(a, Complex) else a
    if "vecdot" not in node.op:
        return combined(g, node, [a, b], lambda xs: product(g, xs[0].tensor, xs[1].tensor))
    return combined(g, node, [a, b], lambda xs: g.reduce("sum", elementwise(g, "mul", *xs).tensor, [dim], False))


@lowers_complex("aten.einsum.default")
def einsum(g: Lowering, node: Node, equation: str, operands: Any, *, path: Any = None) -> Any:
    if len(operands) > 5:
        raise g.refuse(f"{len(operands)} complex operands", "At most five at once are taken")
    return combined(g, node, operands, lambda xs: RULES[node.op](g, real_node(node), equation, xs))


def biased(g: Lowering, y: Complex, bias: Any, behind: int) -> Complex:
    """With a bias along the axis that has so many behind it."""
    if bias is None:
        return y
    shape = [bias.size, *[1] * behind]
    return Complex(g, *(elementwise(g, "add", v, g.value(g.reshape(b.tensor, shape))) for v, b in zip((y.re, y.im), both(g, bias, y.re.dtype))))


@lowers_complex("aten.linear.default", *(f"aten.conv{k}d.default" for k in (1, 2, 3)), "aten.convolution.default",
                "aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def weighted(g: Lowering, node: Node, x: Any, weight: Any, bias: Any = None, *rest: Any, **more: Any) -> Any:
    y = combined(g, node, [x, weight], lambda xs: RULES[node.op](g, real_node(node), *xs, None, *rest, **more))
    return biased(g, y, bias, 0 if "linear" in node.op else y.rank - 2)


@lowers_complex("aten.addmm.default", "aten.baddbmm.default")
def addmm(g: Lowering, node: Node, x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    y: Any = combined(g, node, [a, b], lambda xs: product(g, xs[0].tensor, xs[1].tensor))
    y = y if alpha == 1 else times(g, node, y, alpha)
    if beta == 0:
        return y
    x = x if beta == 1 else times(g, node, x, beta)
    return whole(g, node, *(elementwise(g, "add", *p) for p in zip(both(g, x, y.re.dtype), (y.re, y.im))))


@lowers_complex("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar")
def vector_norm(g: Lowering, node: Node, x: Any, order: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    axes = list(range(x.rank)) if dim is None else [int(a) % max(x.rank, 1) for a in (dim if isinstance(dim, (list, tuple)) else [dim])]
    return norm_of(g, size_of(g, x), 2.0 if order is None else float(order), axes, bool(keepdim))


@lowers_complex("aten.l1_loss.default")
def l1_loss(g: Lowering, node: Node, a: Any, b: Any, reduction: int = 1) -> Any:
    dtype = real_type(g, node)
    d = size_of(g, Complex(g, *(elementwise(g, "sub", *p) for p in zip(both(g, a, dtype), both(g, b, dtype)))))
    return d if reduction == 0 else g.reduce("mean" if reduction == 1 else "sum", d.tensor, [], False)


@lowers_complex("aten.is_complex.default")
def is_complex(g: Lowering, node: Node, x: Any) -> Any:
    raise g.refuse("a number of Python that the values decide")
