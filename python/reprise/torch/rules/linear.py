# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's products of matrices, attention, distances."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arithmetic import computable, dtype_of
from .forms import INTEGER, axis_of, elementwise, number, op, pair, promoted, room, wanted
from .reductions import norm_of
from .shapes import repeat_heads
from ..graph import Meta, Node
from ..lower import Lowering, Value, lowers

Tensor = Any


def product(g: Lowering, a: Tensor, b: Tensor) -> Tensor:
    """PyTorch's matmul: vectors are rows and columns that go again, batches broadcast. Nothing to add up is 0. Integers
    are multiplied and added."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    a = g.reshape(a, [1, *a.shape]) if row else a
    b = g.reshape(b, [*b.shape, 1]) if column else b
    batch = list(np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])))
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    if 0 in (*batch, m, k, n):
        y = g.fill(0, a.dtype, [*batch, m, n])
    elif a.dtype in INTEGER:
        wide = g.op("mul", g.reshape(a, [*a.shape, 1]), g.reshape(b, [*b.shape[:-2], 1, k, n]))
        y = g.reshape(g.op("sum", wide, axes=[len(wide.shape) - 2]), [*batch, m, n])
    else:
        y = g.op("matmul", a, b)
    return g.reshape(y, [*batch, *([] if row else [m]), *([] if column else [n])])


@lowers("aten.matmul.default", "aten.mm.default", "aten.bmm.default", "aten.mv.default", "aten.dot.default", "aten.vdot.default",
        "aten.linalg_matmul.default")
def matmul(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    computable(g, a.dtype)
    return product(g, a.tensor, b.tensor)


@lowers("aten.linear.default")
def linear(g: Lowering, node: Node, x: Any, weight: Any, bias: Any = None) -> Any:
    """x [.., in], weight [out, in], bias [out]: [.., out]. Rows of several axes are one matrix, as in rp_linear: the gradient of
    the weight is one product."""
    computable(g, x.dtype)
    w = g.swap(weight.tensor) if weight.rank > 1 else weight.tensor
    if x.rank > 2 and weight.rank == 2:
        rows = math.prod(x.shape[:-1])
        y = g.reshape(product(g, g.reshape(x.tensor, [rows, x.shape[-1]]), w), [*x.shape[:-1], weight.shape[0]])
    else:
        y = product(g, x.tensor, w)
    return y if bias is None else g.op("add", y, bias.tensor)


@lowers("aten.bilinear.default")
def bilinear(g: Lowering, node: Node, a: Any, b: Any, weight: Any, bias: Any = None) -> Any:
    """a [.., i], b [.., j], weight [out, i, j]."""
    rows = math.prod(a.shape[:-1])
    out, i, j = weight.shape
    left = product(g, g.reshape(a.tensor, [rows, i]), g.reshape(g.transpose(weight.tensor, [1, 0, 2]), [i, out * j]))
    y = product(g, g.reshape(left, [rows, out, j]), g.reshape(b.tensor, [rows, j, 1]))
    y = g.reshape(y, [*a.shape[:-1], out])
    return y if bias is None else g.op("add", y, bias.tensor)


@lowers("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default", "aten.addbmm.default", "aten.addr.default")
def addmm(g: Lowering, node: Node, x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta x + alpha a b; with beta 0 x counts for nothing, also where it is not finite."""
    m, name = g.meta(node), node.op.split(".")[1]
    computable(g, m.dtype)
    a, b = number(g, a, m.dtype), number(g, b, m.dtype)
    if name == "addr":
        t = g.op("mul", g.reshape(a.tensor, [a.size, 1]), g.reshape(b.tensor, [1, b.size]))
    else:
        t = product(g, a.tensor, b.tensor)
    if name == "addbmm":
        t = g.reshape(g.op("sum", t, axes=[0]), t.shape[1:])
    y = g.value(t) if alpha == 1 else op(g, "mul", g.value(t), alpha)
    if beta == 0:
        return y
    x = number(g, x, m.dtype)
    y = elementwise(g, "add", x if beta == 1 else op(g, "mul", x, beta), y)
    return g.broadcast(y.tensor, m.shape)


@lowers("aten.outer.default", "aten.ger.default", "aten.inner.default")
def outer(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    dtype = computable(g, dtype_of(g, node))
    a, b = number(g, a, dtype), number(g, b, dtype)
    if "inner" in node.op:
        if not (a.rank and b.rank):
            return elementwise(g, "mul", a, b)
        left, right = g.reshape(a.tensor, [a.size // a.shape[-1], a.shape[-1]]), g.reshape(b.tensor, [b.size // b.shape[-1], b.shape[-1]])
        return g.reshape(product(g, left, g.swap(right)), g.meta(node).shape)
    return g.op("mul", g.reshape(a.tensor, [a.size, 1]), g.reshape(b.tensor, [1, b.size]))


@lowers("aten.einsum.default")
def einsum(g: Lowering, node: Node, equation: str, operands: Any, *, path: Any = None) -> Any:
    """From the left to the right, two at a time: each pair is a product of matrices whose batch both have and the rest needs,
    whose sum is over what nobody needs any more."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    wide = max((o.rank - len(t.replace("...", "")) for t, o in zip(terms, operands) if "..." in t), default=0)
    dots = "".join(chr(0x2460 + i) for i in range(wide))
    terms = [t.replace("...", dots[wide - (o.rank - len(t.replace("...", ""))):] if "..." in t else "") for t, o in zip(terms, operands)]
    letters = "".join(terms)
    if not arrow:
        right = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    right = right.replace("...", dots)
    flags = all(o.dtype == "bool" for o in operands)  # products of them are flags, sums of one are counts; PyTorch has no sums of products
    counts = flags and dtype_of(g, node) == "i64"
    if flags:
        operands = [number(g, o, "f64" if counts else "f32") for o in operands]
    done, name = diagonals(g, operands[0].tensor, terms[0])
    for k in range(1, len(terms)):
        other, theirs = diagonals(g, operands[k].tensor, terms[k])
        done, other = alike(g, done, other)
        done, name = contracted(g, done, name, other, theirs, set(right).union(*terms[k + 1:]))
    gone = [i for i, c in enumerate(name) if c not in right]
    done = g.op("sum", done, axes=gone) if gone else done
    done = g.reshape(done, [n for i, n in enumerate(done.shape) if i not in gone])
    name = "".join(c for c in name if c in right)
    done = g.transpose(done, [name.index(c) for c in right])
    if counts:
        return g.cast(done, "i64")
    return g.op("ne", done, g.fill(0, "f32")) if flags else done


def alike(g: Lowering, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both of PyTorch's result type: where nothing is summed einsum multiplies element by element, and takes different ones."""
    x, y = g.value(a), g.value(b)
    if x.dtype == y.dtype:
        return a, b
    x, y = pair(g, x, y, promoted(x, y))
    return x.tensor, y.tensor


def diagonals(g: Lowering, t: Tensor, term: str) -> tuple[Tensor, str]:
    """Two axes of one name: zeros off their diagonal, then the sum along the second."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            i = term.index(c)
            j, n = term.index(c, i + 1), t.shape[i]
            room(g, n, n)
            eye = np.eye(n, dtype=np.bool_).reshape([n if k in (i, j) else 1 for k in range(len(term))])
            t = g.op("sum", g.op("where", g.constant(eye), t, g.fill(0, t.dtype)), axes=[j])
            t, term = g.reshape(t, [d for k, d in enumerate(t.shape) if k != j]), term[:j] + term[j + 1:]
    return t, term


def contracted(g: Lowering, a: Tensor, an: str, b: Tensor, bn: str, wanted: set[str]) -> tuple[Tensor, str]:
    """The product of two named tensors, summed over what both have and nobody wants; lengths of 1 stretch."""
    both = [c for c in an if c in bn]
    batch = [c for c in both if c in wanted]
    over = [c for c in both if c not in wanted]
    mine, theirs = [c for c in an if c not in bn], [c for c in bn if c not in an]
    length = {c: max(x.shape[n.index(c)] for x, n in ((a, an), (b, bn)) if c in n) for c in dict.fromkeys(an + bn)}

    def form(t: Tensor, name: str, groups: Sequence[list[str]]) -> Tensor:
        order = [c for group in groups for c in group]
        t = g.transpose(t, [name.index(c) for c in order])
        t = g.broadcast(t, [length[c] for c in order])
        return g.reshape(t, [math.prod(length[c] for c in group) for group in groups])

    y = product(g, form(a, an, [batch, mine, over]), form(b, bn, [batch, over, theirs]))
    name = batch + mine + theirs
    return g.reshape(y, [length[c] for c in name]), "".join(name)


# ---- attention ----

@lowers("aten.scaled_dot_product_attention.default")
def attention(g: Lowering, node: Node, q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
              *, scale: Any = None, enable_gqa: bool = False) -> Any:
    """q [.., h, m, d], k [.., h', n, d], v [.., h', n, e]: [.., h, m, e]. A row of which nothing may be seen is 0, as in
    PyTorch."""
    computable(g, q.dtype)
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    m = g.meta(node, 0)
    lead = list(np.broadcast_shapes(q.shape[:-3], k.shape[:-3], v.shape[:-3])) if q.rank > 3 else []
    plain = factor > 0 and q.rank >= 3 and 0 not in (*q.shape, *k.shape, *v.shape) and (not is_causal or q.shape[-2] <= k.shape[-2]) \
        and (q.shape[-3] == k.shape[-3] == v.shape[-3] or enable_gqa) and [*q.shape[:-3]] == [*k.shape[:-3]] == [*v.shape[:-3]] == lead
    if attn_mask is not None and attn_mask.dtype == "bool" and not full_rows(attn_mask):
        return masked(g, m, q, k, v, attn_mask, dropout_p, factor, enable_gqa)
    if not plain:
        return written(g, m, q, k, v, attn_mask, dropout_p, is_causal, factor, enable_gqa)
    operands = [q.tensor, k.tensor, v.tensor]
    if attn_mask is not None:
        mask = attn_mask if attn_mask.dtype == "bool" else number(g, attn_mask, q.dtype)
        operands.append(mask.tensor)
    stream = 0
    if dropout_p:
        operands.append(g.rng())
        stream = g.next_stream()
    return g.op("attention", *operands, scale=factor, causal=bool(is_causal), window=0, rate=float(dropout_p), stream=stream)


@lowers("aten._scaled_dot_product_flash_attention_for_cpu.default", "aten._scaled_dot_product_attention_math.default")
def attention_kernel(g: Lowering, node: Node, q: Any, k: Any, v: Any, *args: Any, attn_mask: Any = None, scale: Any = None) -> Any:
    """What autograd takes attention apart to: the same, and for its backward the logarithm of each row's sum."""
    if "_math" in node.op:
        raise g.refuse("attention in single steps", "Export with torch.export, which keeps scaled_dot_product_attention")
    dropout, causal = [*args, *[0.0, False][len(args):]][:2]
    y = attention(g, node, q, k, v, attn_mask, dropout, causal, scale=scale)
    if not wanted(g, node, 1):
        return [y, None]
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    s = scores(g, q, q.tensor, k.tensor, attn_mask, causal, factor)
    m = g.meta(node, 1)
    return [y, g.cast(g.reshape(g.op("logsumexp", s.tensor, axes=[s.rank - 1]), m.shape), m.dtype)]


@lowers("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
def attention_kernel_backward(g: Lowering, node: Node, grad: Any, q: Any, k: Any, v: Any, out: Any, logs: Any, dropout: float, causal: bool,
                              *, attn_mask: Any = None, scale: Any = None) -> Any:
    if dropout:
        raise g.refuse("a dropout whose draws the forward made")
    leaves = [g.value(g.op("stop_gradient", x.tensor)) for x in (q, k, v)]
    y = attention(g, Node(node.name, node.op, meta=Meta(grad.dtype, grad.shape), where=node.where), *leaves, attn_mask, 0.0, causal,
                  scale=scale)
    return list(g.builder.gradients([y], [x.tensor for x in leaves], seeds=[grad.tensor], zeros=True))


def full_rows(mask: Value) -> bool:
    """Whether it is known that each query sees a key."""
    return mask.known is not None and bool(np.asarray(mask.known).any(axis=-1).all())


def masked(g: Lowering, m: Any, q: Value, k: Value, v: Value, mask: Value, rate: float, factor: float, gqa: bool) -> Any:
    """Of a mask that may leave rows without a key: these see all, and their result is 0."""
    seen = g.cast(g.op("sum", g.cast(mask.tensor, "i64"), axes=[mask.rank - 1]), "bool")
    opened = g.op("logical_or", mask.tensor, g.op("logical_not", seen))
    y = written(g, m, q, k, v, g.value(opened), rate, False, factor, gqa) if q.rank < 3 or 0 in (*q.shape, *k.shape) or rate else None
    if y is None:
        same = q.shape[:-3] == k.shape[:-3] == v.shape[:-3] and (q.shape[-3] == k.shape[-3] == v.shape[-3] or gqa) and factor > 0
        y = g.op("attention", q.tensor, k.tensor, v.tensor, opened, scale=factor, causal=False, window=0, rate=0.0, stream=0) if same else \
            written(g, m, q, k, v, g.value(opened), rate, False, factor, gqa)
    return g.op("where", seen, y, g.fill(0, q.dtype))


def written(g: Lowering, m: Any, q: Value, k: Value, v: Value, mask: Any, rate: float, causal: bool, factor: float, gqa: bool) -> Tensor:
    """The same in products and a softmax."""
    if 0 in m.shape or k.shape[-2] == 0:
        return g.fill(0, q.dtype, m.shape)
    kt, vt = k.tensor, v.tensor
    if gqa and q.shape[-3] != k.shape[-3]:
        kt, vt = repeat_heads(g, kt, q.shape[-3]), repeat_heads(g, vt, q.shape[-3])
    w = g.op("softmax", scores(g, q, q.tensor, kt, mask, causal, factor).tensor)
    if rate:
        w = g.op("dropout", w, g.rng(), rate=float(rate), stream=g.next_stream())
    return product(g, w, vt)


def scores(g: Lowering, q: Value, qt: Tensor, kt: Tensor, mask: Any, causal: bool, factor: float) -> Value:
    """factor q k' with the mask."""
    s = op(g, "mul", g.value(product(g, qt, g.swap(kt))), factor)
    if causal:
        rows, columns = qt.shape[-2], kt.shape[-2]
        room(g, rows, columns)
        mask = g.value(g.constant(np.tril(np.ones((rows, columns), np.bool_))))
    if mask is not None and mask.dtype == "bool":
        return elementwise(g, "where", mask, s, g.fill(-math.inf, q.dtype))
    return s if mask is None else elementwise(g, "add", s, number(g, mask, q.dtype))


# ---- distances ----

@lowers("aten._cdist_forward.default", "aten.cdist.default", "aten._pdist_forward.default", "aten.pdist.default",
        "aten.pairwise_distance.default")
def distance(g: Lowering, node: Node, a: Any, *args: Any) -> Any:
    """The norms of differences. Where a norm is 0 so is its gradient."""
    name = node.op.split(".")[1]
    if "pdist" in name:
        n, p = a.shape[0], float(args[0]) if args else 2.0
        i, j = np.triu_indices(n, 1)
        if not len(i):
            return g.fill(0, a.dtype, [0])
        t = [g.op("gather", a.tensor, g.constant(k.astype(np.int64)), axis=0) for k in (i, j)]
        return norm_of(g, g.value(g.op("sub", *t)), p, [1], False)
    b = args[0]
    if name == "pairwise_distance":
        given = [*args[1:], *[2.0, 1e-6, False][len(args) - 1:]]
        p, eps, keep = given[0], given[1], given[2]
        dtype = computable(g, dtype_of(g, node))
        d = op(g, "add", elementwise(g, "sub", number(g, a, dtype), number(g, b, dtype)), eps)
        return norm_of(g, d, float(p), [d.rank - 1], bool(keep))
    p = float(args[1]) if len(args) > 1 else 2.0
    if 0 in (*a.shape, *b.shape):
        return g.fill(0, a.dtype, g.meta(node).shape)
    left, right = g.reshape(a.tensor, [*a.shape[:-1], 1, a.shape[-1]]), g.reshape(b.tensor, [*b.shape[:-2], 1, *b.shape[-2:]])
    d = g.value(g.op("sub", left, right))
    return norm_of(g, d, p, [d.rank - 1], False)


@lowers("aten.dist.default")
def dist(g: Lowering, node: Node, a: Any, b: Any, p: Any = 2) -> Any:
    """The norm of all differences together."""
    dtype = computable(g, dtype_of(g, node))
    d = elementwise(g, "sub", number(g, a, dtype), number(g, b, dtype))
    d = g.value(g.reshape(d.tensor, [d.size]))
    return norm_of(g, d, float(p), [0], False)


@lowers("aten.cosine_similarity.default")
def cosine_similarity(g: Lowering, node: Node, a: Any, b: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The inner product of both over their norms, each at least eps."""
    dtype = computable(g, dtype_of(g, node))
    shape = np.broadcast_shapes(a.shape, b.shape)
    axis = dim % len(shape)
    parts = []
    for x in (a, b):
        x = g.value(g.broadcast(number(g, x, dtype).tensor, shape))
        n = norm_of(g, x, 2.0, [axis], True)
        parts.append(elementwise(g, "div", x, elementwise(g, "where", op(g, "lt", n, eps), g.fill(eps, dtype), n)))
    y = g.op("sum", elementwise(g, "mul", *parts).tensor, axes=[axis])
    return g.reshape(y, [n for k, n in enumerate(shape) if k != axis])


@lowers("aten.linalg_cross.default")
def cross(g: Lowering, node: Node, a: Any, b: Any, *, dim: int = -1) -> Any:
    """Of vectors of three elements, which lie along an axis: each element is a product of the two others, less the turned one."""
    dtype = computable(g, dtype_of(g, node))
    shape = g.meta(node).shape
    x, y = (g.broadcast(number(g, v, dtype).tensor, shape) for v in (a, b))
    axis = axis_of(dim, len(shape))
    u, v = ([g.slice(t, axis, k, k + 1) for k in range(3)] for t in (x, y))
    return g.op("concat", *[g.op("sub", g.op("mul", u[(k + 1) % 3], v[(k + 2) % 3]), g.op("mul", u[(k + 2) % 3], v[(k + 1) % 3]))
                            for k in range(3)], axis=axis)
