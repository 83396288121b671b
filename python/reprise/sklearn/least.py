# SPDX-License-Identifier: Apache-2.0
"""Least squares whose columns are nearly, but not wholly, explained by each other: powers of one column, as PolynomialFeatures makes
them, above all.

The normal equations square what sets such columns apart: below 3e-6 of a column it is lost in their rounding, and the factor leaves
the column out. Here those columns are looked at once more in the data themselves, and what they have of their own is kept by an
orthogonal basis: Cholesky's QR thrice of the columns that the factor kept (Fukaya et al. 2020), Gram and Schmidt's with a second and
a third turn for the others."""
from __future__ import annotations

from typing import Any

import numpy as np

from .base import append, solve, total

OWN = 1e-11  # of a column's length: what is less of it beside the others is rounding


def some(a: Any, columns: Any) -> Any:
    """Columns of a, in ascending order."""
    ends = np.flatnonzero(np.diff(columns) > 1) + 1
    parts = [append("slice", a, begin=[0, int(run[0])], end=[a.shape[0], int(run[-1]) + 1]) for run in np.split(columns, ends)]
    return append("concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def lengths(a: Any) -> Any:
    return np.sqrt(np.array(total(a * a, 0).numpy()).reshape(-1))


def left_out(gram: Any, tolerance: float) -> Any:
    """The columns that Cholesky's factor of a matrix leaves out."""
    return np.flatnonzero(np.isinf(np.diagonal(np.array(append("cholesky", gram, tolerance=tolerance).numpy()))))


def with_own(a: Any, y: Any, gram: Any, out: Any) -> Any | None:
    """Coefficients [columns, targets] of |a b - y| least, where the factor of gram = a' a leaves `out` out; None where each of these is
    explained by the others to rounding, so that 0 is its coefficient."""
    kept = np.setdiff1d(np.arange(a.shape[1]), out)
    if not len(kept):
        return None
    known, others = some(a, kept), some(a, out)
    inner = some(append("transpose", some(gram, kept), permutation=[1, 0]), kept)
    size, rest = lengths(others), others
    for _ in range(2):
        rest = rest - known @ solve(inner, known.T @ rest)
    if not (lengths(rest) > OWN * size).any():
        return None
    basis, upper = known, None
    for _ in range(3):
        factor = append("cholesky", basis.T @ basis, tolerance=0.0)
        if np.isinf(np.array(factor.numpy())).any():
            return None
        basis = append("triangular_solve", factor, basis.T, transposed=False, upper=False).T
        upper = factor.T if upper is None else factor.T @ upper
    order = list(kept)
    for i, column in enumerate(out):
        v, share = some(others, np.array([i])), None
        for _ in range(3):
            c = basis.T @ v
            v, share = v - basis @ c, c if share is None else share + c
        own = lengths(v)[0]
        if not own > OWN * size[i]:
            continue
        norm = append("reshape", (v * v).sum(), shape=[1, 1]).sqrt()
        basis = append("concat", basis, v / norm, axis=1)
        below = append("fill", value=0.0, shape=[1, len(order)], dtype="f64")
        upper = append("concat", append("concat", upper, share, axis=1), append("concat", below, norm, axis=1), axis=0)
        order.append(column)
    found = append("triangular_solve", upper, basis.T @ y, transposed=False, upper=True)
    zero = append("fill", value=0.0, shape=[1, y.shape[1]], dtype="f64")
    at = {int(c): append("slice", found, begin=[i, 0], end=[i + 1, y.shape[1]]) for i, c in enumerate(order)}
    return append("concat", *[at.get(c, zero) for c in range(a.shape[1])], axis=0)
