# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 14.12 and FORMAT 15.5 in Python: a model beside the one whose place it takes, on the same rows."""
import math

from distributions import chi_squared_upper, normal_quantile, normal_two_sided
from drift import bin_of
from figures import added, divide, quantile, real
from ieee import NAN, sqrt64


def paired(x, e):
    z = normal_quantile(0.975)
    statistic = divide(x, e) if e else NAN
    return {"difference": real(x), "error": real(e), "low": real(x - z * e), "high": real(x + z * e),
            "statistic": real(statistic), "p": real(normal_two_sided(statistic))}


def midranks(x):
    return [sum(v < a for v in x) + sum(v <= a for v in x) - len(x) for a in x]


def sign(a):
    return (a > 0) - (a < 0)


def of_scores(a, b, edges):
    """Of one score, the parent's and the child's; edges: None where the parent has none."""
    a, b = [x + 0.0 for x in a], [x + 0.0 for x in b]
    n, u, v = len(a), midranks(a), midranks(b)
    C, U, V = sum(x * y for x, y in zip(u, v)), sum(x * x for x in u), sum(y * y for y in v)
    K = A = B = 0
    for i in range(n):
        for j in range(i):
            s, t = sign(a[i] - a[j]), sign(b[i] - b[j])
            K, A, B = K + s * t, A + (s != 0), B + (t != 0)
    d = [y - x for x, y in zip(a, b)]
    out = {"spearman": real(divide(float(C), sqrt64(float(U)) * sqrt64(float(V)))),
           "kendall": real(divide(float(K), sqrt64(float(A)) * sqrt64(float(B)))),
           "mean": real(added(d) / n), "mean_absolute": real(added([abs(x) for x in d]) / n),
           "quantiles": [real(quantile(sorted(d), q)) for q in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)]}
    if edges is None:
        return out | {"edges": None, "migration": None, "moved": None}
    cuts = [float(e) for e in edges]
    bins = [(bin_of(cuts, x), bin_of(cuts, y)) for x, y in zip(a, b)]
    m = [[sum(p == (g, h) for p in bins) for h in range(len(cuts) + 1)] for g in range(len(cuts) + 1)]
    moved = {"same": sum(g == h for g, h in bins), "up": sum(h > g for g, h in bins), "down": sum(h < g for g, h in bins),
             "beyond_next": sum(abs(h - g) > 1 for g, h in bins)}
    return out | {"edges": edges, "migration": m, "moved": moved}


def of_areas(a, b, labels, auc):
    """auc: of the parent and of the child."""
    P, N = sum(labels), len(labels) - sum(labels)
    x = auc[1] - auc[0]
    if P < 2 or N < 2:
        return paired(x, NAN)

    def placements(s):
        yes, no = [v for v, t in zip(s, labels) if t], [v for v, t in zip(s, labels) if not t]
        return [(sum(w < v for w in no) + sum(w <= v for w in no)) / (2 * N) if t else
                (sum(w > v for w in yes) + sum(w >= v for w in yes)) / (2 * P) for v, t in zip(s, labels)]
    d = [(q - p) - x for p, q in zip(placements(a), placements(b))]
    S = added([v * v for v, t in zip(d, labels) if t])
    T = added([v * v for v, t in zip(d, labels) if not t])
    return paired(x, sqrt64((S / (P - 1)) / P + (T / (N - 1)) / N))


def of_losses(a, b):
    d = [y - x for x, y in zip(a, b)]
    x, n = added(d) / len(d), len(d)
    return paired(x, sqrt64((added([(v - x) * (v - x) for v in d]) / (n - 1)) / n) if n > 1 else NAN)


def decisions(a, b, labels, classes):
    """a, b: the classes that each decides; labels: None where there is no outcome."""
    counts = [[sum(p == (g, h) for p in zip(a, b)) for h in range(classes)] for g in range(classes)]
    right = [(x == t, y == t) for x, y, t in zip(a, b, labels) if t is not None]
    c, p = right.count((False, True)), right.count((True, False))
    statistic = divide(float((c - p) * (c - p)), float(c + p))
    return {"counts": counts, "changed": sum(x != y for x, y in zip(a, b)), "both_right": right.count((True, True)),
            "child_alone": c, "parent_alone": p, "neither_right": right.count((False, False)),
            "statistic": real(statistic), "p": real(chi_squared_upper(statistic, 1) if math.isfinite(statistic) else NAN)}


def categories(parent, child):
    """Both schemas' columns."""
    out = []
    for column in child:
        before = next((c for c in parent if c["name"] == column["name"]), None)
        if column["kind"] != "categorical" or before is None or before["kind"] != "categorical":
            continue
        old, new = set(before["categories"]) - {None}, set(column["categories"]) - {None}
        if old != new:
            first = lambda texts: {"count": len(texts), "first": sorted(texts, key=lambda t: t.encode())[:20]}
            out.append({"column": column["name"], "gone": first(old - new), "new": first(new - old)})
    return out
