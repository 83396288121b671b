# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 9.5a and 9.6 in Python: what treated columns learn, and the features of a row."""
import math

from elementary import log1p64, log64
from ieee import sqrt64, total
from op_types import need


def quantile(x, q):
    h = (len(x) - 1) * q
    i = math.floor(h)
    return x[-1] if i + 1 >= len(x) else x[i] + (h - i) * (x[i + 1] - x[i])


def quantile_edges(x, parts):
    edges = []
    for k in range(1, parts):
        at = quantile(x, k / parts)
        if at > (edges[-1] if edges else x[0]):
            edges.append(at)
    return edges


def bin_of(edges, v):
    return sum(e <= v for e in edges)


def moments(x):
    if all(v == x[0] for v in x):
        return x[0], 0.0
    mean = total(x, "f64") / len(x)
    return mean, sqrt64(total([(v - mean) * (v - mean) for v in x], "f64") / len(x))


def evidence(counts):
    """Weights and information value of [first, positive] rows of each group."""
    sums = [sum(c[k] for c in counts) or 1 for k in (0, 1)]
    shares = [[(c[k] or 0.5) / sums[k] for k in (0, 1)] for c in counts]
    woe = [log64(s[1] / s[0]) if c != [0, 0] else 0.0 for s, c in zip(shares, counts)]
    return woe, total([(s[1] - s[0]) * w for s, w in zip(shares, woe)], "f64")


def pooled(fine, of):
    """Blocks of [first, positive, last fine bin]."""
    blocks = []
    for i, c in enumerate(fine):
        blocks.append([c[0], c[1], i])
        while len(blocks) > 1:
            a, b = blocks[-2:]
            if a[of] * (b[0] + b[1]) < b[of] * (a[0] + a[1]):
                break
            blocks[-2:] = [[a[0] + b[0], a[1] + b[1], b[2]]]
    return blocks


def monotonic_edges(values, labels):
    fine = quantile_edges(sorted(values), 20)
    counts = [[0, 0] for _ in range(len(fine) + 1)]
    for v, label in zip(values, labels):
        counts[bin_of(fine, v)][label] += 1
    rising, falling = pooled(counts, 1), pooled(counts, 0)
    told = [evidence([b[:2] for b in blocks])[1] for blocks in (rising, falling)]
    best = rising if told[0] >= told[1] else falling
    return [fine[b[2]] for b in best[:-1]]


def one_of(groups, woe, rounded):
    """Features of a group, None for none; rounded: to their format."""
    if woe:
        return lambda g: [0.0 if g is None else rounded(woe[g])]
    return lambda g: [float(g == k) for k in range(groups)]


def weights(rule, groups, count, labels):
    if not rule.get("woe"):
        return None
    counts = [[0, 0] for _ in range(count)]
    for g, label in zip(groups, labels):
        if g is not None:
            counts[g][label] += 1
    return evidence(counts)[0]


def numeric(rule, default, learnt, labels, rounded):
    """learnt: numbers, None where they are missing. Gives a function of such a cell."""
    x = [v for v in learnt if v is not None]
    cap = [quantile(sorted(x), float(q)) for q in rule["cap"]] if "cap" in rule else None

    def step(v):
        if cap:
            v = cap[0] if v < cap[0] else cap[1] if v > cap[1] else v
        if rule.get("log"):
            v = -log1p64(-v) if v < 0 else log1p64(v)
        return v

    x = [step(v) for v in x]
    mean, deviation = moments(x)
    missing = rule.get("missing", "category" if "bins" in rule else default)
    need(missing != "error", "missing cells")
    if missing == "mean":
        value = mean
    elif missing == "median":
        value = quantile(sorted(x), 0.5)
    else:
        value = None if missing == "category" else step(float(missing))
    mark = lambda v: [float(v is None)] if rule.get("indicator") else []
    if "bins" not in rule:
        divisor = deviation or 1.0
        return lambda v: [rounded(((value if v is None else step(v)) - mean) / divisor)] + mark(v)
    bins = rule["bins"]
    if isinstance(bins, list):
        edges = [float(e) for e in bins]
    elif bins == "monotonic":
        edges = monotonic_edges(x, [l for v, l in zip(learnt, labels) if v is not None])
    else:
        edges = quantile_edges(sorted(x), bins)
    own = value is None and len(x) < len(learnt)
    count = len(edges) + 1 + own

    def group(v):
        if v is not None:
            return bin_of(edges, step(v))
        return bin_of(edges, value) if value is not None else len(edges) + 1 if own else None

    features = one_of(count, weights(rule, [group(v) for v in learnt], count, labels), rounded)
    return lambda v: features(group(v)) + mark(v)


def categorical(rule, learnt, labels, rounded):
    """learnt: texts, None where they are missing."""
    texts = sorted({t for t in learnt if t is not None}, key=lambda t: t.encode())
    least = float(rule.get("rare", "0")) * len(learnt)
    found = [t for t in texts if not learnt.count(t) < least]
    other = len(found) < len(texts)
    found += [None] * (None in learnt)
    count = len(found) + other

    def group(t):
        return found.index(t) if t in found else len(found) if other and t is not None else None

    features = one_of(count, weights(rule, [group(t) for t in learnt], count, labels), rounded)
    return lambda t: features(group(t))
