# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 14.6 and 14.8 in Python: what counts and samples say of a change, and the fall of an area."""
import math

from distributions import chi_squared_upper, normal_two_sided
from elementary import exp64, log64
from figures import divide, real
from ieee import NAN, sqrt64

PI = float.fromhex("0x1.921fb54442d18p+1")
ROOT = float.fromhex("0x1.40d931ff62706p+1")


def bin_of(edges, v):
    return sum(e <= v for e in edges)


def of_counts(a, b):
    A, B = sum(a), sum(b)
    used = [(x, y) for x, y in zip(a, b) if x + y]
    psi = d = chi = 0.0
    for x, y in used:
        e, f = divide(x, A), divide(y, B)
        h = (e + f) / 2
        d = d + ((e * log64(e / h) if e else 0.0) + (f * log64(f / h) if f else 0.0))
        e, f = e or 0.0001, f or 0.0001
        psi = psi + (f - e) * log64(f / e)
        c = x + y
        v = lambda n, w: (n - w) * (n - w) / w
        chi = chi + (v(x, divide(float(A) * c, float(A + B))) + v(y, divide(float(B) * c, float(A + B))))
    freedom = len(used) - 1
    p = chi_squared_upper(chi, freedom) if freedom > 0 else NAN
    return {"psi": real(psi), "jensen_shannon": real(sqrt64(d / 2) if d > 0 else 0.0),
            "chi_squared": {"statistic": real(chi), "freedom": freedom, "p": real(p)},
            "cramers_v": real(sqrt64(divide(chi, A + B)))}


def ks_p(ks, n, m):
    x = sqrt64((float(n) * m) / (n + m)) * ks
    if not x > 0:
        return 1.0
    c = 0.0
    if x < 1.18:
        for k in (4, 3, 2, 1):
            t = (2 * k - 1) * PI
            c = c + exp64(-(t * t) / (8 * (x * x)))
        return 1 - (ROOT / x) * c
    for k in (4, 3, 2, 1):
        t = exp64(-2 * ((k * x) * (k * x)))
        c = c - t if k % 2 == 0 else c + t
    return 2 * c


def of_samples(x, y):
    """ks, its p and the distance of ascending samples."""
    if not x or not y:
        return {"ks": None, "ks_p": None, "wasserstein": None}
    i = j = 0
    d = most = apart = 0.0
    before = None
    for v in sorted(set(x) | set(y)):
        if before is not None:
            apart = apart + d * (v - before)
        while i < len(x) and x[i] <= v:
            i += 1
        while j < len(y) and y[j] <= v:
            j += 1
        d = abs(i / len(x) - j / len(y))
        most, before = max(most, d), v
    return {"ks": real(most), "ks_p": real(ks_p(most, len(x), len(y))), "wasserstein": real(apart)}


def normal_upper(x):
    return 0.5 * normal_two_sided(x) if x >= 0 else 1 - 0.5 * normal_two_sided(x)


def development(run, figures, part):
    """run: the figures of the rows that the run was judged by."""
    auc, error = (figures["discrimination"][k] for k in ("auc", "auc_error"))
    rows, run = run["rows"], run["discrimination"]
    if run["auc"] is None or auc is None or error is None or float(error) == 0:
        return None
    statistic = (float(run["auc"]) - float(auc)) / float(error)
    return {"auc": run["auc"], "auc_error": run["auc_error"], "part": part, "rows": rows,
            "statistic": real(statistic), "p": real(normal_upper(statistic))}
