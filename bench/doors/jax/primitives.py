# SPDX-License-Identifier: Apache-2.0
"""jax's own samples of its primitives (jax._src.internal_test_util.test_harnesses) through reprise.jax beside jax on the CPU.

    python bench/doors/jax/primitives.py [--every N] [--group WORD] [--show]

Counts samples whose values agree (floats: 1e-5 relative to the largest element of binary32, 1e-12 of binary64, 0.02 of
narrower ones; all else exactly), that are refused by name, and that differ. --every N takes each N-th sample, --group those of groups
whose name has the word."""
from __future__ import annotations

import argparse
import collections
import os
import sys
import warnings
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
warnings.filterwarnings("ignore")

import jax  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
import reprise.jax as rj  # noqa: E402
from jax._src.internal_test_util import test_harnesses  # noqa: E402

BOUND = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 2e-2, "float16": 2e-3}
# What jax leaves open, so that two right answers differ: the order of equal keys; the triangle that is not asked for; and
# which NaN is the greatest, as a program has one NaN.
OPEN = {"sort_multiple_arrays": "isstable_False", "cholesky": "", "top_k_sort_inf_nan": ""}


def words(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(jax.random.key_data(x) if hasattr(x, "dtype") and hasattr(x.dtype, "_impl") else x)


def agrees(a: Any, b: Any) -> bool:
    a, b = words(a), words(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "c":  # a complex number is two, and their greatest is one
        a, b = (np.stack([x.real, x.imag]) for x in (a, b))
    if str(a.dtype) not in BOUND:
        return bool((a == b).all())
    x, y = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(y)
    with np.errstate(invalid="ignore"):
        if not ((x == y) | finite | (np.isnan(x) & np.isnan(y))).all() or not np.isfinite(x[finite]).all():
            return False
    return bool(np.max(np.abs(x - y)[finite], initial=0) <= BOUND[str(a.dtype)] * max(np.max(np.abs(y)[finite], initial=0), 1e-30))


def same_factors(found: list[Any], expected: list[Any]) -> bool:
    """Singular vectors are what they are but for a sign: their lengths and the matrix that they make."""
    def matrix(s: Any, u: Any, v: Any) -> Any:
        k = s.shape[-1]
        return (words(u)[..., :k] * words(s)[..., None, :]) @ words(v)[..., :k, :]

    return len(found) == 3 and all(agrees(abs(words(a)), abs(words(b))) for a, b in zip(found, expected)) and agrees(matrix(*found), matrix(*expected))


def outcome(h: Any) -> tuple[str, str]:
    """'pass', 'refused', 'differs' or 'skipped' (jax itself does not run it), and why."""
    rng = np.random.RandomState(0)
    try:
        args = [jax.numpy.asarray(a) for a in h.dyn_args_maker(rng)]
        expected = jax.jit(h.dyn_fun)(*args)
    except Exception as e:  # what jax does not run is no sample
        return "skipped", f"{type(e).__name__}: {e}"
    try:
        found = rj.function(h.dyn_fun, *args)(*args)
    except NotImplementedError as e:
        return "refused", str(e)
    except Exception as e:
        return "error", f"{type(e).__name__}: {e}"
    pairs = list(zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(expected)))
    good = all(agrees(a, b) for a, b in pairs) or h.group_name == "svd" and same_factors(*(list(x) for x in zip(*pairs)))
    if not good and any(h.fullname.startswith(k) and v in h.fullname for k, v in OPEN.items()):
        return "open", ""
    return ("pass", "") if good else ("differs", "; ".join(f"{words(a).ravel()[:6]} jax {words(b).ravel()[:6]}" for a, b in pairs)[:200])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--group", default="")
    given = parser.parse_args()
    table: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    total: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    samples = [h for h in test_harnesses.all_harnesses if given.group in h.group_name]
    for h in samples[::given.every]:
        what, why = outcome(h)
        table[h.group_name][what] += 1
        total[what] += 1
        if what == "refused":
            reasons[why.split(" (at")[0][:90]] += 1
        if what in ("differs", "error") or given.show and what != "pass":
            print(f"{what}: {h.fullname}: {why[:300]}", flush=True)
    for name in sorted(table):
        print(f"  {name:28}" + "  ".join(f"{k} {v}" for k, v in sorted(table[name].items())))
    for why, count in reasons.most_common(25):
        print(f"  refused {count}: {why}")
    ran = sum(total.values()) - total["skipped"]
    print(f"jax {jax.__version__}: {ran} samples, " + ", ".join(f"{k} {v}" for k, v in sorted(total.items())))
    return 1 if total["differs"] or total["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
