# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of lines: of short lengths, and of what is no power of two, products with tables of cosines and sines; of longer
ones the program's own operation, and of products of lengths one after the other. Tables are made by the library's own functions in
binary64, so that they are the same on every host.

`g` appends operations: the Lowering of a door, or what has its `op`, `reshape`, `transpose`, `slice`, `fill`, `constant`, `refuse`."""
from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

Tensor = Any
Pair = tuple[Tensor, Tensor]
DIRECT, OTHERS = 64, 256  # up to this length one product with a table; of what is no power of two, up to the other one
MOST_PRIME = 4096  # a table of more has too many elements
MOST_TABLE = 1 << 24
TYPES = {"f32": np.float32, "f64": np.float64, "float32": np.float32, "float64": np.float64}


def numbers(t: Tensor) -> Any:
    """The type of numpy of its elements."""
    return TYPES[str(t.dtype)]


def product(g: Any, a: Tensor, b: Tensor) -> Tensor:
    """Of matrices, of which either side may have many; nothing to add up is 0."""
    if 0 not in (*a.shape, *b.shape):
        return g.op("matmul", a, b)
    return g.fill(0, a.dtype, [*max(a.shape[:-2], b.shape[:-2], key=len), a.shape[-2], b.shape[-1]])


def move(g: Any, t: Tensor, axis: int, to: int) -> Tensor:
    """An axis in another place, the others in their order."""
    order = [i for i in range(len(t.shape)) if i != axis]
    order.insert(to, axis)
    return g.transpose(t, order)


def waves(rows: int, columns: int, length: int) -> tuple[Any, Any]:
    """cos and sin of 2 pi r c / length, as arrays [rows, columns]."""
    turns = np.arange(rows, dtype=np.int64)[:, None] * np.arange(columns, dtype=np.int64) % length
    r = importlib.import_module("reprise")
    angles = r.Tensor(turns.astype(np.float64) * (2 * math.pi / length))
    return np.array(r.ops.cos(angles).numpy()), np.array(r.ops.sin(angles).numpy())


def rows_of(g: Any, t: Tensor) -> Tensor:
    return g.reshape(t, [math.prod(t.shape[:-1]), t.shape[-1]])


def by_table(g: Any, x: Tensor, y: Tensor | None, of_x: tuple[Any, Any], of_y: tuple[Any, Any] | None) -> Pair:
    """Of lines [L, n] both parts [L, k] by one product: x times its two tables beside each other, and y times those of its own."""
    kind, wide = numbers(x), np.concatenate(of_x, axis=1)
    if y is not None and of_y is not None:
        wide, x = np.concatenate([wide, np.concatenate(of_y, axis=1)]), g.op("concat", x, y, axis=1)
    if wide.size > MOST_TABLE:
        raise g.refuse(f"needs a constant of {wide.size} elements, {MOST_TABLE} are the most")
    found, k = product(g, x, g.constant(wide.astype(kind))), of_x[0].shape[1]
    return g.slice(found, 1, 0, k), g.slice(found, 1, k, 2 * k)


def by_one_table(n: int) -> bool:
    return n <= (OTHERS if n & n - 1 else DIRECT)


def factor_of(n: int) -> int:
    """The divisor a that makes the products of lengths a and n / a least work, or 1. Of a table, columns are computed by sixteens."""
    some = [f for f in range(2, math.isqrt(n) + 1) if n % f == 0]
    return min({*some, *(n // f for f in some)}, key=lambda a: ((a + n // a) * (-(-a // 16) * 16 + 6) / a, a), default=1)


def first(g: Any, t: Tensor, count: int) -> Tensor:
    return t if t.shape[1] == count else g.slice(t, 1, 0, count)


def transformed(g: Any, re: Tensor, im: Tensor | None, bins: int | None = None, no_re: bool = False) -> Pair:
    """Of lines [L, n] the sums of (re + i im) exp(-2 pi i j k / n) over j, for k below `bins`; real parts that nobody asks for may be
    imaginary ones."""
    lines, n = re.shape
    bins = n if bins is None else bins
    zero = g.fill(0, re.dtype, re.shape)
    if n == 1:
        return re, zero if im is None else im
    if n & n - 1 == 0 and not by_one_table(n):
        u, v = g.op("fft", re, zero if im is None else im, inverse=False, transposed=False)
        return first(g, u, bins), first(g, v, bins)
    a = 1 if by_one_table(n) else factor_of(n)
    if a == 1:
        if n > MOST_PRIME:
            raise g.refuse(f"a transform of the length {n}, a prime above {MOST_PRIME}", "Pad what is transformed to another length")
        c, s = waves(n, bins, n)
        return by_table(g, re, im, (c, -s), (s, c))
    # Cooley and Tukey: j = j2 + b j1, k = k1 + a k2; first the a of j1, then turns by j2 k1, then the b of j2
    b = n // a
    u, v = turned_lines(g, *(g.reshape(t, [lines, a, b]) if t is not None else None for t in (re, im)))
    c, s = (g.constant(t.astype(numbers(re))) for t in waves(b, a, n))
    u, v = columns(g, g.op("add", g.op("mul", u, c), g.op("mul", v, s)), g.op("sub", g.op("mul", v, c), g.op("mul", u, s)),
                   -(-bins // a), no_re)
    u, v = (first(g, g.reshape(t, [lines, t.shape[1] * a]), bins) for t in (u, v))
    return u, v


def turned(g: Any, t: Tensor) -> Tensor:
    return g.transpose(t, [0, 2, 1])


def turned_lines(g: Any, re: Tensor, im: Tensor | None) -> Pair:
    """Of [L, a, b] the sums of transformed() along the axis of a, as [L, b, a]. Where a table does it the product reads what lies
    turned, and nothing else is."""
    lines, a, b = re.shape
    if not by_one_table(a):
        x, y = (g.reshape(turned(g, t), [lines * b, a]) if t is not None else None for t in (re, im))
        u, v = transformed(g, x, y)
        return g.reshape(u, [lines, b, a]), g.reshape(v, [lines, b, a])
    c, s = waves(a, a, a)
    table: Any = np.concatenate([c, -s], axis=1) if im is None else np.block([[c, -s], [s, c]])
    x = re if im is None else g.op("concat", re, im, axis=1)
    found = product(g, turned(g, x), g.constant(table.astype(numbers(re))))
    return g.slice(found, 2, 0, a), g.slice(found, 2, a, 2 * a)


def columns(g: Any, re: Tensor, im: Tensor, rows: int, no_re: bool) -> Pair:
    """Of [L, b, a] the first sums of transformed() along the axis of b, by a table in front."""
    lines, b, a = re.shape
    if not by_one_table(b):
        x, y = (g.reshape(turned(g, t), [lines * a, b]) for t in (re, im))
        u, v = transformed(g, x, y, rows, no_re)
        u, v = (turned(g, g.reshape(t, [lines, a, rows])) for t in (u, v))
        return u, v
    c, s = waves(rows, b, b)
    table: Any = np.concatenate([-s, c], axis=1) if no_re else np.block([[c, s], [-s, c]])
    found = product(g, g.constant(table.astype(numbers(re))), g.op("concat", re, im, axis=1))
    return (found, found) if no_re else (g.slice(found, 1, 0, rows), g.slice(found, 1, rows, 2 * rows))


def halved(g: Any, x: Tensor) -> Pair:
    """Of real lines [L, n] the first n / 2 + 1 frequencies; the others are their mirror."""
    n, bins = x.shape[1], x.shape[1] // 2 + 1
    if by_one_table(n):
        c, s = waves(n, bins, n)
        return by_table(g, x, None, (c, -s), None)
    return transformed(g, x, None, bins)


def mirrored(g: Any, t: Tensor, n: int, sign: int) -> Tensor:
    """Of n / 2 + 1 frequencies all n."""
    count = (n - 1) // 2
    if not count:
        return t
    back = g.op("slice_step", t, begin=[0, count], size=[t.shape[0], count], step=[1, -1])
    return g.op("concat", t, back if sign > 0 else g.op("neg", back), axis=1)


def returned(g: Any, re: Tensor, im: Tensor, n: int) -> Tensor:
    """Of the frequencies [L, n / 2 + 1] of real lines these, n times as large. Imaginary parts that no such lines have count for nothing."""
    bins = n // 2 + 1
    if by_one_table(n):
        c, s = waves(bins, n, n)
        share = np.full((bins, 1), 2.0)
        share[0] = 1.0
        s[0] = 0
        if n % 2 == 0:
            share[-1], s[-1] = 1.0, 0
        table: Any = np.concatenate([c * share, -s * share]).astype(numbers(re))
        return product(g, g.op("concat", re, im, axis=1), g.constant(table))
    inside: Any = np.ones(bins, np.bool_)
    inside[0], inside[-1] = False, n % 2 == 1
    im = g.op("where", g.constant(inside), im, g.fill(0, im.dtype))
    # of exchanged parts the transform is the one that goes back, with parts exchanged
    return transformed(g, mirrored(g, im, n, -1), mirrored(g, re, n, 1), no_re=True)[1]


def along(g: Any, parts: list[Tensor], axis: int, f: Any) -> list[Tensor]:
    """f on lines along an axis."""
    rank = len(parts[0].shape)
    turned = [move(g, t, axis, rank - 1) for t in parts]
    found = f(*(rows_of(g, t) for t in turned))
    found = [g.reshape(t, [*turned[0].shape[:-1], t.shape[1]]) for t in found]
    return [move(g, t, rank - 1, axis) for t in found]
