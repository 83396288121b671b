# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 14 and FORMAT 9.5, 9.6 in Python for two classes: the figures of a part, and the reference of the training rows."""
import collections
import functools
import math

from distributions import (beta_cdf, beta_quantile, chi_squared_upper, normal_quantile, normal_two_sided)
from elementary import log64
from ieee import NAN, real_text, sqrt64, total


def divide(a, b):
    if b == 0:
        return NAN if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def real(x):
    return None if x != x or math.isinf(x) else real_text(x + 0.0)


def added(x):
    return total(x, "f64")


def ranking(scores, positive):
    found = {}
    for s, p in zip(scores, positive):
        found.setdefault(s + 0.0, [0, 0])[0 if p else 1] += 1
    return [(s, *found[s]) for s in sorted(found)]


@functools.lru_cache(maxsize=None)
def jeffreys(k, n):
    low = 0.0 if k == 0 else beta_quantile(0.025, k + 0.5, (n - k) + 0.5)
    return low, 1.0 if k == n else beta_quantile(0.975, k + 0.5, (n - k) + 0.5)


def quantile(x, q):
    h = float(len(x) - 1) * q
    i = math.floor(h)
    return x[-1] if i + 1 >= len(x) else x[i] + (h - i) * (x[i + 1] - x[i])


def youden(r):
    P, N = sum(g[1] for g in r), sum(g[2] for g in r)
    p = n = 0
    best = (-2.0, NAN)
    for s, a, b in r:
        j = (P - p) / P - (N - n) / N
        if j > best[0]:
            best = (j, s)
        p, n = p + a, n + b
    return best[1]


def discrimination(r):
    P, N = sum(g[1] for g in r), sum(g[2] for g in r)
    M, z = P + N, normal_quantile(0.975)
    S = below = 0
    starts = []
    for s, p, n in r:
        starts.append((below, P - sum(g[1] for g in r[: len(starts) + 1])))
        S += p * (2 * below + n)
        below += n
    auc = S / (2 * P * N)
    A = added([p * (((2 * b + n) / (2 * N) - auc) * ((2 * b + n) / (2 * N) - auc)) for (s, p, n), (b, a) in zip(r, starts)])
    B = added([n * (((2 * a + p) / (2 * P) - auc) * ((2 * a + p) / (2 * P) - auc)) for (s, p, n), (b, a) in zip(r, starts)])
    error = sqrt64(divide(A / (P - 1), P) + divide(B / (N - 1), N)) if P > 1 and N > 1 else NAN
    out = {"auc": real(auc), "auc_error": real(error), "gini": real(2 * auc - 1)}
    out["auc_low"] = real(auc - z * error if not auc - z * error <= 0 else 0.0)
    out["auc_high"] = real(auc + z * error if not auc + z * error >= 1 else 1.0)
    U = M * (M - 1) // 2 - sum((p + n) * (p + n - 1) // 2 for s, p, n in r)
    out["somers_d"] = real(divide(float(S - P * N), float(U)))
    out["kendall_tau"] = real(divide(float(S - P * N), sqrt64(float(U)) * sqrt64(float(P * N))))
    ks, at, a, b = -1.0, NAN, 0, 0
    for s, p, n in r:
        a, b = a + n, b + p
        d = abs(a / N - b / P)
        if d > ks:
            ks, at = d, s
    out["ks"], out["ks_score"] = real(ks), real(at)
    out["cap"] = []
    for k in range(1, 11):
        t, rows, found = (M * k) / 10, 0, 0
        for s, p, n in reversed(r):
            if rows + p + n >= t or s == r[0][0]:
                break
            rows, found = rows + p + n, found + p
        captured = (found + p * ((t - rows) / (p + n))) / P
        out["cap"].append({"captured": real(captured), "lift": real((captured * 10) / k), "tenths": k})
    return out


def band(r):
    m, k = sum(p + n for s, p, n in r), sum(p for s, p, n in r)
    mean = added([(p + n) * s for s, p, n in r]) / m
    low, high = jeffreys(k, m)
    said = {"rows": m, "positives": k, "lowest": real(r[0][0]), "highest": real(r[-1][0]), "mean_score": real(mean)}
    said |= {"rate": real(k / m), "rate_low": real(low), "rate_high": real(high)}
    said["jeffreys_p"] = real(beta_cdf(mean, k + 0.5, (m - k) + 0.5))
    return said, (m, k, mean)


def clip(c):
    return 2.0**-52 if c < 2.0**-52 else 1 - 2.0**-52 if c > 1 - 2.0**-52 else c


def trivial(r, classes):
    P, N = sum(g[1] for g in r), sum(g[2] for g in r)
    q = classes[1] / (classes[0] + classes[1])
    c = clip(q)
    brier = (P * ((1 - q) * (1 - q)) + N * (q * q)) / (P + N)
    loss = (P * -log64(c) + N * -log64(1 - c)) / (P + N)
    right = P if classes[1] >= classes[0] else N
    said = {"rate": real(q), "brier": real(brier), "log_loss": real(loss), "accuracy": real(right / (P + N))}
    return said, brier


def calibration(r, fitted, trivial_brier):
    M = sum(p + n for s, p, n in r)
    out, numbers = band(r)
    cut, before = {}, 0
    for g in r:
        cut.setdefault(10 * before // M, []).append(g)
        before += g[1] + g[2]
    bands = [band(cut[b]) for b in sorted(cut)]
    out["bands"] = [b[0] for b in bands]
    brier = added([p * ((1 - s) * (1 - s)) + n * (s * s) for s, p, n in r]) / M
    out["brier"], out["brier_skill"] = real(brier), real(1 - divide(brier, trivial_brier))
    out["log_loss"] = real(added([p * -log64(clip(s)) + n * -log64(1 - clip(s)) for s, p, n in r]) / M)
    error = statistic = 0.0
    for m, k, mean in (b[1] for b in bands):
        error = error + m * abs(k / m - mean)
        e = m * mean
        d = k - e
        if d != 0:
            statistic = statistic + divide(d * d, e * (1 - mean))
    out["error"] = real(error / M)
    freedom = len(bands) if not fitted else max(0, len(bands) - 2)
    out["hosmer_lemeshow"] = {"statistic": real(statistic), "freedom": freedom, "p": real(chi_squared_upper(statistic, freedom))}
    t = lambda s: 1 - 2 * s
    above = added([t(s) * (p * (1 - s) - n * s) for s, p, n in r])
    below = added([(p + n) * ((t(s) * t(s)) * (s * (1 - s))) for s, p, n in r])
    statistic = divide(above, sqrt64(below))
    out["spiegelhalter"] = {"statistic": real(statistic), "p": real(normal_two_sided(statistic))}
    return out


def confusion(r, rule, threshold):
    tp = sum(p for s, p, n in r if s >= threshold)
    fp = sum(n for s, p, n in r if s >= threshold)
    P, N = sum(g[1] for g in r), sum(g[2] for g in r)
    tn, fn = N - fp, P - tp
    low, high = jeffreys(tp + tn, P + N)
    recall, specificity = divide(tp, P), divide(tn, N)
    mcc = divide(float(tp) * tn - float(fp) * fn,
                 sqrt64(float(tp + fp) * (tp + fn)) * sqrt64(float(tn + fp) * (tn + fn)))
    counts = {"true_positives": tp, "false_positives": fp, "true_negatives": tn, "false_negatives": fn}
    reals = {"accuracy": divide(tp + tn, P + N), "accuracy_low": low, "accuracy_high": high, "recall": recall}
    reals |= {"precision": divide(tp, tp + fp), "specificity": specificity, "f1": divide(2 * tp, 2 * tp + fp + fn)}
    reals |= {"balanced_accuracy": (recall + specificity) / 2, "mcc": mcc, "threshold": threshold}
    return counts | {key: real(x) for key, x in reals.items()} | {"rule": rule}


def figures(scores, labels, reference, fitted):
    r = ranking(scores, labels)
    said, brier = trivial(r, reference["classes"])
    thresholds = [confusion(r, "half", 0.5)]
    if reference["threshold"] is not None:
        thresholds.append(confusion(r, "youden_training", float(reference["threshold"])))
    return {
        "rows": len(scores), "positives": sum(labels), "discrimination": discrimination(r),
        "calibration": calibration(r, fitted, brier), "thresholds": thresholds, "trivial": said,
    }


def edges_of(x, cuts):
    """Edges at k / cuts of ascending numbers."""
    edges = []
    for k in range(1, cuts) if x else ():
        at = quantile(x, k / cuts)
        if at > (edges[-1] if edges else x[0]):
            edges.append(at)
    return edges


def reference_edges(x):
    """Of a reference (14.6): heavy numbers have bins of their own, the others are cut at their tenths."""
    heavy = {v for v, m in collections.Counter(x).items() if 10 * (m - 1) >= len(x) - 1}
    edges = set(edges_of([v for v in x if v not in heavy], 10)) | heavy
    return sorted(edges | {math.nextafter(v, math.inf) + 0.0 for v in heavy} - {math.inf})


def numbers(x):
    x = sorted(v + 0.0 for v in x)
    edges = reference_edges(x)
    counts = [0] * (len(edges) + 1)
    for v in x:
        counts[sum(e <= v for e in edges)] += 1
    ends = (real_text(x[0]), real_text(x[-1])) if x else (None, None)
    return {"edges": [real_text(e) for e in edges], "counts": counts, "minimum": ends[0], "maximum": ends[1]}


def reference(table, columns, scores):
    """columns: data/schema.json's; scores: of the training rows, one each."""
    labels = [table.labels[r] for r in table.train]
    said = []
    for c, column in enumerate(columns):
        cells = [table.rows[r][c] for r in table.train]
        there = [t for t in cells if t not in table.missing]
        if column["kind"] == "numeric":
            one = numbers([float(t) for t in there])
        elif column["kind"] == "categorical":
            counts = [there.count(k) for k in column["categories"] if k is not None]
            one = {"counts": counts + [len(there) - sum(counts)]}
        else:
            continue
        said.append(one | {"column": c, "missing": len(cells) - len(there)})
    threshold = youden(ranking(scores, labels))
    return {"columns": said, "rows": len(cells), "classes": [labels.count(0), labels.count(1)],
            "threshold": real(threshold), "scores": [numbers(scores)]}
