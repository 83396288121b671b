# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms of lines: by the program's own operation, and of a length with a prime factor above 256, which that has no
stage for, by three transforms of a longer one (Bluestein 1970). Tables are made by the library's own functions in binary64, so that
they are the same on every host.

`g` appends operations: the Lowering of a door, or what has its `op`, `reshape`, `transpose`, `slice`, `fill`, `constant`, `refuse`."""
from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

Tensor = Any
Pair = tuple[Tensor, Tensor]
PRIME = 256  # as RP_FOURIER_PRIME of kernels/fourier/factors.h
MOST_TABLE = 1 << 24  # elements of a constant
SHORTEST_PIECE, MOST_PIECES = 16, 16  # of a frame that is put together: elements; how many
TYPES = {"f32": np.float32, "f64": np.float64, "float32": np.float32, "float64": np.float64}


def numbers(t: Tensor) -> Any:
    """The type of numpy of its elements."""
    return TYPES[str(t.dtype)]


def move(g: Any, t: Tensor, axis: int, to: int) -> Tensor:
    """An axis in another place, the others in their order."""
    order = [i for i in range(len(t.shape)) if i != axis]
    order.insert(to, axis)
    return g.transpose(t, order)


def turns(count: Any, length: int) -> tuple[Any, Any]:
    """cos and sin of 2 pi k / length, for each k of an array."""
    r = importlib.import_module("reprise")
    angles = r.Tensor(np.asarray(count % length, np.float64) * (2 * math.pi / length))
    return np.array(r.ops.cos(angles).numpy()), np.array(r.ops.sin(angles).numpy())


def waves(rows: int, columns: int, length: int) -> tuple[Any, Any]:
    """cos and sin of 2 pi r c / length, as arrays [rows, columns]."""
    return turns(np.arange(rows, dtype=np.int64)[:, None] * np.arange(columns, dtype=np.int64), length)


def rows_of(g: Any, t: Tensor) -> Tensor:
    return g.reshape(t, [math.prod(t.shape[:-1]), t.shape[-1]])


def without(n: int, primes: range) -> int:
    """n divided by all its factors that are among these."""
    for p in primes:
        while n % p == 0:
            n //= p
    return n


def first(g: Any, t: Tensor, count: int) -> Tensor:
    """Of the last axis. Of whole lines a part is a view that any further reshape but one of that axis takes as it is."""
    return t if t.shape[-1] == count else g.slice(t, len(t.shape) - 1, 0, count)


def transformed(g: Any, re: Tensor, im: Tensor | None) -> Pair:
    """Of lines [L, n] the sums of (re + i im) exp(-2 pi i j k / n) over j, for each k."""
    n = re.shape[1]
    if im is None:
        im = g.fill(0, re.dtype, re.shape)
    if n == 1:
        return re, im
    return g.op("fft", re, im, inverse=False, transposed=False) if without(n, range(2, PRIME + 1)) == 1 else by_longer(g, re, im)


def times(g: Any, re: Tensor, im: Tensor, by: tuple[Any, Any]) -> Pair:
    """The product with the elements of a table, for each line."""
    c, d = (g.constant(t.astype(numbers(re))) for t in by)
    return (g.op("sub", g.op("mul", re, c), g.op("mul", im, d)), g.op("add", g.op("mul", re, d), g.op("mul", im, c)))


def by_longer(g: Any, re: Tensor, im: Tensor) -> Pair:
    """2 j k = j^2 + k^2 - (k - j)^2: turned by j^2, convolved with turns by j^2 the other way, and turned by k^2."""
    lines, n = re.shape
    if n > MOST_TABLE // 4:
        raise g.refuse(f"a transform of the length {n}, which has a prime factor above {PRIME}", "Pad what is transformed to another length")
    longer = next(m for m in range(-(-(2 * n - 1) // 16) * 16, 4 * n + 64, 16) if without(m, range(2, 8)) == 1)
    j = np.arange(n, dtype=np.int64)
    c, s = turns(j * j, 2 * n)
    b_re, b_im = np.zeros(longer), np.zeros(longer)
    b_re[:n], b_im[:n] = c, s
    b_re[longer - n + 1:], b_im[longer - n + 1:] = c[:0:-1], s[:0:-1]
    r = importlib.import_module("reprise")
    b_re, b_im = (np.array(t.numpy()) / longer for t in r.ops.fft(r.Tensor(b_re), r.Tensor(b_im), inverse=False, transposed=False))
    rest = g.fill(0, re.dtype, [lines, longer - n])
    u, v = (g.op("concat", t, rest, axis=1) for t in times(g, re, im, (c, -s)))
    u, v = g.op("fft", u, v, inverse=False, transposed=False)
    u, v = times(g, u, v, (b_re, b_im))
    v, u = g.op("fft", v, u, inverse=False, transposed=False)  # of exchanged parts the one that goes back, with parts exchanged
    return times(g, first(g, u, n), first(g, v, n), (c, -s))


def mirrored(g: Any, t: Tensor, n: int, imaginary: bool) -> Tensor:
    """Of n / 2 + 1 frequencies all n. Imaginary parts that no real lines have count for nothing, and change their sign."""
    count = (n - 1) // 2
    back = [g.op("slice_step", t, begin=[0, count], size=[t.shape[0], count], step=[1, -1])] if count else []
    if not imaginary:
        return g.op("concat", t, *back, axis=1) if back else t
    none = g.fill(0, t.dtype, [t.shape[0], 1])
    parts = [none, *([g.slice(t, 1, 1, count + 1)] if count else []), *([none] if n % 2 == 0 else []), *(g.op("neg", b) for b in back)]
    return parts[0] if len(parts) == 1 else g.op("concat", *parts, axis=1)


def divides(n: int) -> bool:
    """Whether lines of this length are transformed back by the operation itself, which divides by n at its end."""
    return n > 1 and without(n, range(2, PRIME + 1)) == 1


def returned(g: Any, re: Tensor, im: Tensor, n: int, divided: bool = False) -> Tensor:
    """Of the frequencies [L, n / 2 + 1] of real lines these, n times as large, or, of a length that divides, as they are."""
    re, im = mirrored(g, re, n, False), mirrored(g, im, n, True)
    if divided:
        return g.op("fft", re, im, inverse=True, transposed=False)[0]
    return transformed(g, im, re)[1]  # of exchanged parts the transform is the one that goes back, with parts exchanged


def along(g: Any, parts: list[Tensor], axis: int, f: Any, bins: int | None = None) -> list[Tensor]:
    """f on lines along an axis; of what it gives the first `bins`: n / 2 + 1 of real lines, of which the others are the mirror."""
    rank = len(parts[0].shape)
    turned = [move(g, t, axis, rank - 1) for t in parts]
    found = f(*(rows_of(g, t) for t in turned))
    found = [g.reshape(t, [*turned[0].shape[:-1], t.shape[1]]) for t in found]
    found = [t if bins is None else first(g, t, bins) for t in found]
    return [move(g, t, rank - 1, axis) for t in found]


def frames(g: Any, t: Tensor, length: int, step: int, count: int) -> Tensor:
    """Of signals [L, samples] frames [L, count, length], `step` apart: put together of pieces that are in each of them whole, or, where
    such pieces are short, element by element."""
    piece = math.gcd(length, step)
    if piece < SHORTEST_PIECE or length > MOST_PIECES * piece:
        places = np.arange(count, dtype=np.int64)[:, None] * step + np.arange(length, dtype=np.int64)
        return g.reshape(g.op("gather", t, g.constant(places.reshape(-1)), axis=1), [t.shape[0], count, length])
    whole = (count - 1) * step + length
    t = g.reshape(first(g, t, whole), [t.shape[0], whole // piece, piece])
    pieces = [g.op("slice_step", t, begin=[0, i, 0], size=[t.shape[0], count, piece], step=[1, step // piece, 1]) for i in range(length // piece)]
    return pieces[0] if len(pieces) == 1 else g.op("concat", *pieces, axis=2)
