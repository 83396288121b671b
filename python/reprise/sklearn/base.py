# SPDX-License-Identifier: Apache-2.0
"""What the estimators share: checks of what they are given, a fit as a recorded step, pickles with a version.

A recorded fit holds what the estimator was given, and a note in words of what made it: what came before the estimator
(a pipeline's other steps, the drawing of initial weights and of the order of rows) is outside, and the note says so."""
from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse  # type: ignore
from sklearn.base import BaseEstimator  # type: ignore
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data  # type: ignore

Array = Any
Job = Callable[[dict[str, Any]], dict[str, Any]]
PICKLE = 1  # of the attributes that a pickle holds: counted up when they change their meaning
SINGULAR = 1e-11  # a pivot less than this share of its column is one that the others explain
MOST = 1 << 31  # bytes of a sparse matrix written out, for a fit
PART = 1 << 26  # and of rows of one at a time, for predictions


def reprise() -> Any:
    return importlib.import_module("reprise")


def append(name: str, *operands: Any, **attributes: Any) -> Any:
    return getattr(reprise().ops, name)(*operands, **attributes)


def number(value: float) -> Any:
    """A value of rank 0 in the graph that is open."""
    return append("fill", value=value, shape=[], dtype="f64")


def computed(estimator: Recorded, job: Job, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """What a job makes of its feeds, as arrays; with an archive as one recorded step of a run."""
    if estimator.archive is None:
        tensors = {n: reprise().Tensor(a) for n, a in feeds.items()}
        return {n: np.array(t.numpy()) for n, t in job(tensors).items()}
    with estimator.recorded() as run:
        estimator.say(run)
        with run.step():
            made = job({n: run.feed(n, a) for n, a in feeds.items()})
            found = {n: np.array(t.numpy()) for n, t in made.items()}
            for n, t in made.items():
                run.result(n, t)
    return found


def solve(a: Any, b: Any) -> Any:
    """x of a x = b, a symmetric and positive; of columns that others explain x is 0."""
    factor = append("cholesky", a, tolerance=SINGULAR)
    y = append("triangular_solve", factor, b, transposed=False, upper=False)
    return append("triangular_solve", factor, y, transposed=True, upper=False)


def total(t: Any, axis: int) -> Any:
    return append("sum", t, axes=[axis])


@contextmanager
def naming(x: Any) -> Iterator[None]:
    """Of a table whose elements are not all numbers the error names the column, where scikit-learn's has the element alone."""
    try:
        yield
    except ValueError as e:
        if not str(e).startswith("could not convert") or not hasattr(x, "columns"):
            raise
        for name in x.columns:
            try:
                np.asarray(x[name], np.float64)
            except (ValueError, TypeError):
                raise ValueError(f"{e} in the column {name!r}: it holds no numbers. Encode it before, as a OneHotEncoder in a "
                                 "ColumnTransformer does") from None
        raise


def dense(x: Any, most: int = MOST) -> Array:
    """A matrix with its zeros. Errors: ValueError where a sparse one would take more than `most` bytes."""
    if not issparse(x):
        return np.ascontiguousarray(x)
    size = 8 * x.shape[0] * x.shape[1]
    if size > most:
        raise ValueError(f"a sparse matrix of {x.shape[0]} rows and {x.shape[1]} columns is written out with its zeros, which would take "
                         f"{size / 2**30:.1f} GiB of at most {most / 2**30:.1f}: choose columns before (SelectKBest, TruncatedSVD, max_features), or "
                         "fit on fewer rows")
    return np.ascontiguousarray(x.toarray())


class Recorded(BaseEstimator):  # type: ignore[misc]
    """What all estimators have: the parameters `archive` and `key` of a recorded fit, and pickles of a known version.

    archive: the file to write, or with `{id}` in its name one for each fit: the first 16 digits of the archive's id take
    its place, so that fits of a search do not replace each other. `archive_` is the file, `archive_id_` the id."""

    archive: Any
    key: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @contextmanager
    def recorded(self) -> Iterator[Any]:
        """A run whose archive is written when the block ends; `note` is among its data."""
        path = os.fspath(self.archive)
        several = "{id}" in path
        now = path.replace("{id}", f"new-{os.getpid()}-{os.urandom(6).hex()}")
        recording = reprise().record(now, key=self.key, force=True)
        with recording as run:
            run.add_data("note", np.frombuffer(self.note().encode(), np.uint8).copy())
            yield run
        self.archive_id_ = recording.id
        self.archive_ = path.replace("{id}", recording.id[:16])
        if several:
            os.replace(now, self.archive_)

    def say(self, run: Any) -> None:
        """The note's own step, the first one, without which the archive would leave the text out. After the states."""
        with run.step():
            run.result("note", run.data("note"))

    def note(self) -> str:
        """What the archive says of the fit in words: canonical JSON. The names of columns are those that fit was given."""
        names = getattr(self, "feature_names_in_", None)
        return json.dumps({
            "estimator": type(self).__name__,
            "columns": None if names is None else [str(n) for n in names],
            "parameters": {k: v if isinstance(v, (bool, int, float, str, type(None))) else repr(v)
                           for k, v in sorted(self.get_params(deep=False).items()) if k not in ("archive", "key")},
            "prepared elsewhere": "x and y are what fit was given. Steps before it (a pipeline's), the choice of rows and random "
                                  "draws made by the caller are not in this archive and are not replayed."},
            sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_reprise_pickle": PICKLE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        found = dict(state)
        version = found.pop("_reprise_pickle", None)
        if version != PICKLE:
            raise ValueError(f"a pickle of {type(self).__name__} of version {version}: this package reads {PICKLE}. Load it with the "
                             "package that wrote it, or fit again")
        super().__setstate__(found)

    def checked(self, x: Any, y: Any, weight: Any, **how: Any) -> tuple[Array, Array, Array]:
        with naming(x):
            x, y = validate_data(self, x, y, dtype=np.float64, order="C", accept_sparse="csr", **how)
        w = _check_sample_weight(weight, x, dtype=np.float64, ensure_non_negative=True)
        return dense(x), y, np.ascontiguousarray(w)[:, None]

    def by_rows(self, x: Any, f: Callable[[Array], Array]) -> Array:
        """What f makes of the rows; of a sparse matrix of some of them at a time, which changes none of its bits."""
        check_is_fitted(self)
        with naming(x):
            x = validate_data(self, x, dtype=np.float64, order="C", accept_sparse="csr", reset=False)
        if not issparse(x):
            return f(np.ascontiguousarray(x))
        step = max(1, PART // (8 * max(x.shape[1], 1)))
        return np.concatenate([f(dense(x[at:at + step])) for at in range(0, x.shape[0], step)])

    def scores(self, x: Any, coef: Array, intercept: Array) -> Array:
        """x coef' + intercept: of a row the same bits whatever rows are beside it."""
        t = reprise().Tensor
        turned, added = t(np.ascontiguousarray(coef.T)), t(np.asarray(intercept))
        return self.by_rows(x, lambda rows: np.array((t(rows) @ turned + added).numpy()))


def eye(a: Any) -> Any:
    """Where a square matrix has its diagonal."""
    n = a.shape[0]
    index = append("iota", n=n, dtype="i64")
    return append("eq", append("reshape", index, shape=[n, 1]), append("reshape", index, shape=[1, n]))
