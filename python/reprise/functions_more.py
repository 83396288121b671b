# SPDX-License-Identifier: Apache-2.0
"""The library's calls with optional operands, lists or several results. Arguments are those of PyTorch's calls of the same name
where it has one; images are channels last. Tensors are what operations take: tensors, arrays, numbers."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

from . import _core
from ._core import Tensor

Axes = Union[int, Sequence[int], None]
Pair = Union[int, Sequence[int]]
REDUCTIONS = ("mean", "sum", "none", "batch")
SCATTERS = ("set", "add", "multiply", "max", "min")
MOST_AXES = 8
PADS = ("constant", "reflect", "edge", "circular")

__all__ = ["adaptive_avg_pool2d", "adaptive_max_pool2d", "aminmax", "avg_pool2d", "bce_loss", "bce_with_logits_loss", "bincount",
           "bitwise_not", "chunk", "cosine_similarity", "count_unique", "cross_entropy_loss", "einsum", "embedding_bag", "fft", "flip",
           "gaussian_nll_loss", "histogram", "index_put", "kl_div_loss", "masked_select", "max_pool2d", "meshgrid", "nll_loss",
           "nonzero", "norm", "pad", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "repeat_interleave", "resize2d", "roll",
           "scatter_along", "scatter_nd", "split", "std", "tensordot", "tile", "unique", "var"]


def one(name: str, tensors: Sequence[Any], integers: Sequence[int] = (), a: float = 0.0, b: float = 0.0, text: str = "") -> Tensor:
    found: Tensor = _core.several(name, tuple(tensors), tuple(map(int, integers)), a, b, text)
    return found


def many(name: str, tensors: Sequence[Any], integers: Sequence[int] = ()) -> tuple[Tensor, ...]:
    found = _core.several(name, tuple(tensors), tuple(map(int, integers)), 0.0, 0.0, "")
    return found if isinstance(found, tuple) else (found,)


def axes_of(axes: Axes) -> list[int]:
    """None is all axes, which the library says by none."""
    found = [] if axes is None else [axes] if isinstance(axes, int) else list(axes)
    if len(found) > MOST_AXES:
        raise ValueError(f"{len(found)} axes, a tensor has at most {MOST_AXES}")
    return found


def choice(value: str, names: Sequence[str], what: str) -> int:
    if value not in names:
        raise ValueError(f"{what} is {value!r}: it is one of {', '.join(names)}")
    return list(names).index(value)


def pair(value: Pair, what: str) -> list[int]:
    found = [value, value] if isinstance(value, int) else list(value)
    if len(found) != 2 or any(v < 0 for v in found):
        raise ValueError(f"{what} is {value!r}: one number from 0, or one for height and one for width")
    return found


def natural(value: int, what: str) -> int:
    if value < 0:
        raise ValueError(f"{what} is {value}: it has to be 0 or more")
    return int(value)


# ---- over axes ----

def std(x: Any, axes: Axes = None, correction: int = 1, keep: bool = False) -> Tensor:
    """The deviation over axes, all by default: the root of the squares' sum over n - correction."""
    return one("std", [x], [correction, keep, *axes_of(axes)])


def var(x: Any, axes: Axes = None, correction: int = 1, keep: bool = False) -> Tensor:
    """The variance over axes, all by default."""
    return one("var", [x], [correction, keep, *axes_of(axes)])


def norm(x: Any, p: float = 2.0, axes: Axes = None, keep: bool = False) -> Tensor:
    """(sum |x|^p)^(1/p) over axes; p infinite: the greatest |x|, or the least; 0: how many are not 0."""
    return one("norm", [x], [keep, *axes_of(axes)], p)


def aminmax(x: Any, axes: Axes = None, keep: bool = False) -> tuple[Tensor, Tensor]:
    """The least and the greatest over axes."""
    least, most = many("aminmax", [x], [keep, *axes_of(axes)])
    return least, most


def cosine_similarity(a: Any, b: Any, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """The inner product along the axis over the norms, each at least eps."""
    return one("cosine_similarity", [a, b], [axis], eps)


def bitwise_not(x: Any) -> Tensor:
    """Of integers."""
    return one("bitwise_not", [x])


def fft(re: Any, im: Any = None, inverse: bool = False) -> tuple[Tensor, Tensor]:
    """The discrete Fourier transform along the last axis, whose length has no prime factor above 256: real and imaginary parts."""
    real, imaginary = many("fft", [re] if im is None else [re, im], [inverse])
    return real, imaginary


# ---- products ----

def einsum(equation: str, *tensors: Any) -> Tensor:
    """"bij,bjk->bik": a letter an axis; what is not behind the arrow is summed."""
    return one("einsum", tensors, text=equation)


def tensordot(a: Any, b: Any, axes_a: Sequence[int], axes_b: Sequence[int]) -> Tensor:
    """The axes of a and of b are multiplied and summed: [a's others.., b's others..]."""
    if len(axes_a) != len(axes_b):
        raise ValueError(f"tensordot: {len(axes_a)} axes of a and {len(axes_b)} of b")
    return one("tensordot", [a, b], [*axes_a, *axes_b])


# ---- as many as there are: a program is static, so that there n is told; eagerly it is read ----

def number_of(n: int | None, count: Callable[[], Tensor]) -> int:
    return int(count().item()) if n is None else natural(n, "n")


def true_ones(mask: Any) -> Tensor:
    found: Tensor = _core.functions()["count_true"](mask)
    return found


def nonzero(mask: Any, n: int | None = None) -> Tensor:
    """The places [n, rank], i64, of the true elements of a bool mask. n must be their number; None reads it first."""
    return one("nonzero", [mask], [number_of(n, lambda: true_ones(mask))])


def masked_select(x: Any, mask: Any, n: int | None = None) -> Tensor:
    """The elements of x [n] where a mask of its shape is true. n as for nonzero."""
    return one("masked_select", [x, mask], [number_of(n, lambda: true_ones(mask))])


def count_unique(x: Any) -> Tensor:
    """How many different elements: i64 []."""
    return one("count_unique", [x])


def unique(x: Any, n: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The different elements [n], ascending; where each of x is among them, of x's shape; how often each is there [n].
    n must be their number; None reads it first."""
    values, inverse, counts = many("unique", [x], [number_of(n, lambda: count_unique(x))])
    return values, inverse, counts


# ---- rearranging ----

def flip(x: Any, axes: Axes) -> Tensor:
    """Axes turned round."""
    return one("flip", [x], axes_of(axes))


def roll(x: Any, shift: int, axis: int) -> Tensor:
    """Element i goes to i + shift, round the end."""
    return one("roll", [x], [shift, axis])


def split(x: Any, sizes: Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis, whose sizes add up to it."""
    return many("split", [x], [axis, *(natural(s, "a size") for s in sizes)])


def chunk(x: Any, n: int, axis: int = 0) -> tuple[Tensor, ...]:
    """n parts along an axis, the first ones longer by one."""
    return many("chunk", [x], [axis, n])


def tile(x: Any, times: Sequence[int]) -> Tensor:
    """The whole one after the other: a number for each axis."""
    return one("tile", [x], [natural(t, "times") for t in times])


def repeat_interleave(x: Any, times: int, axis: int) -> Tensor:
    """Each element so often."""
    return one("repeat_interleave", [x], [natural(times, "times"), axis])


def meshgrid(*tensors: Any) -> tuple[Tensor, ...]:
    """n tensors of rank 1 to n of rank n; the i-th varies along axis i."""
    return many("meshgrid", tensors)


def pad(x: Any, before: Sequence[int], after: Sequence[int], mode: str = "constant", value: float = 0.0) -> Tensor:
    """Elements before and behind each axis: value, or "reflect", "edge", "circular"."""
    return one("pad", [x], [choice(mode, PADS, "mode"), *(natural(v, "before") for v in before),
                            *(natural(v, "after") for v in after)], value)


# ---- indices ----

def scatter_along(x: Any, index: Any, source: Any, axis: int, how: str = "set") -> Tensor:
    """x, in which source [.., j, ..] is set, added .. at [.., index[.., j, ..], ..]."""
    return one("scatter_along", [x, index, source], [axis, choice(how, SCATTERS, "how")])


def index_put(x: Any, index: Any, source: Any, axis: int = 0, how: str = "set") -> Tensor:
    """x, in which what gather(.., index, axis) would take is set, added .. from source."""
    return one("index_put", [x, index, source], [axis, choice(how, SCATTERS, "how")])


def scatter_nd(x: Any, index: Any, source: Any, how: str = "set") -> Tensor:
    """x, in which source is set, added .. at the places index [.., r] along its first r axes."""
    return one("scatter_nd", [x, index, source], [choice(how, SCATTERS, "how")])


def embedding_bag(table: Any, index: Any, how: str = "mean") -> Tensor:
    """Rows of table [v, d] by index [b, l], reduced over each bag: [b, d]; how: "sum", "mean" or "max"."""
    return one("embedding_bag", [table, index], [choice(how, ("sum", "mean", "max"), "how")])


def bincount(index: Any, n: int, weights: Any = None) -> Tensor:
    """How often each of 0 .. n - 1 is in index, i64, or the sum of their weights."""
    return one("bincount", [index] if weights is None else [index, weights], [natural(n, "n")])


def histogram(x: Any, n: int, low: float, high: float) -> Tensor:
    """How many elements lie in each of n equal parts of low .. high: i64 [n]."""
    return one("histogram", [x], [natural(n, "n")], low, high)


# ---- images [n, h, w, c] ----

def windows(window: Pair, stride: Pair | None, padding: Pair | Sequence[int], dilation: Pair) -> list[int]:
    """padding: one number, one for height and one for width, or top, left, bottom, right."""
    around = [padding] * 2 if isinstance(padding, int) else list(padding)
    around = around * 2 if len(around) == 2 else around
    if len(around) != 4 or any(p < 0 for p in around):
        raise ValueError(f"padding is {padding!r}: one, two or four numbers from 0")
    return [*pair(window, "window"), *pair(0 if stride is None else stride, "stride"), *around, *pair(dilation, "dilation")]


def max_pool2d(x: Any, window: Pair, stride: Pair | None = None, padding: Pair = 0, dilation: Pair = 1) -> Tensor:
    """The greatest in windows, which lie side by side without a stride. Padding is no element."""
    return one("max_pool2d", [x], windows(window, stride, padding, dilation))


def avg_pool2d(x: Any, window: Pair, stride: Pair | None = None, padding: Pair = 0) -> Tensor:
    """The average of the elements that exist in windows: PyTorch's with count_include_pad=False."""
    return one("avg_pool2d", [x], windows(window, stride, padding, 1))


def adaptive_max_pool2d(x: Any, size: Pair) -> Tensor:
    """[n, h, w, c] to [n, *size, c]."""
    return one("adaptive_max_pool2d", [x], pair(size, "size"))


def adaptive_avg_pool2d(x: Any, size: Pair) -> Tensor:
    """[n, h, w, c] to [n, *size, c]."""
    return one("adaptive_avg_pool2d", [x], pair(size, "size"))


def pixel_shuffle(x: Any, factor: int) -> Tensor:
    """[n, h, w, c f f] to [n, h f, w f, c]."""
    return one("pixel_shuffle", [x], [natural(factor, "factor")])


def pixel_unshuffle(x: Any, factor: int) -> Tensor:
    """[n, h f, w f, c] to [n, h, w, c f f]."""
    return one("pixel_unshuffle", [x], [natural(factor, "factor")])


def resize2d(x: Any, size: Pair, mode: str = "linear", coordinates: str = "half_pixels", rounding: str = "down") -> Tensor:
    """Images to another size; mode: "nearest" (by `rounding`: "down", "up", "half_down", "half_up"), "linear", "cubic";
    coordinates: "half_pixels", "corners", "asymmetric"."""
    return one("resize2d", [x], [*pair(size, "size"), choice(mode, ("nearest", "linear", "cubic"), "mode"),
                                     choice(coordinates, ("half_pixels", "corners", "asymmetric"), "coordinates"),
                                     choice(rounding, ("down", "up", "half_down", "half_up"), "rounding")])


# ---- losses ----

def reduced(reduction: str) -> int:
    return choice(reduction, REDUCTIONS, "reduction")


def cross_entropy_loss(logits: Any, labels: Any, weight: Any = None, ignore_index: int | None = None, smoothing: float = 0.0,
                       reduction: str = "mean") -> Tensor:
    """logits [rows, classes], labels [rows], weight [classes]; rows with the label ignore_index count for nothing."""
    return one("cross_entropy_loss", [logits, labels] if weight is None else [logits, labels, weight],
                   [reduced(reduction), ignore_index is not None, ignore_index or 0], smoothing)


def nll_loss(log_p: Any, labels: Any, weight: Any = None, ignore_index: int | None = None, reduction: str = "mean") -> Tensor:
    """Of log probabilities [rows, classes]."""
    return one("nll_loss", [log_p, labels] if weight is None else [log_p, labels, weight],
                   [reduced(reduction), ignore_index is not None, ignore_index or 0])


def bce_with_logits_loss(logits: Any, target: Any, positive_weight: Any = None, reduction: str = "mean") -> Tensor:
    """The binary cross entropy of logits; positive_weight: what a positive counts."""
    return one("bce_with_logits_loss", [logits, target] if positive_weight is None else [logits, target, positive_weight],
                   [reduced(reduction)])


def bce_loss(p: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The binary cross entropy of probabilities."""
    return one("bce_loss", [p, target], [reduced(reduction)])


def kl_div_loss(log_p: Any, target: Any, log_target: bool = False, reduction: str = "mean") -> Tensor:
    """target (log(target) - log_p), 0 where the target is 0; log_target: the target is a logarithm too."""
    return one("kl_div_loss", [log_p, target], [reduced(reduction), log_target])


def poisson_nll_loss(x: Any, target: Any, log_input: bool = True, full: bool = False, eps: float = 1e-8,
                     reduction: str = "mean") -> Tensor:
    """exp(x) - target x of log rates, else x - target log(x + eps); full: with Stirling's term."""
    return one("poisson_nll_loss", [x, target], [reduced(reduction), log_input, full], eps)


def gaussian_nll_loss(x: Any, target: Any, variance: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log(variance) + (x - target)^2 / variance) / 2, the variance at least eps."""
    return one("gaussian_nll_loss", [x, target, variance], [reduced(reduction), full], eps)
