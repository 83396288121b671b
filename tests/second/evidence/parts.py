# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 14.5 and 14.7, FORMAT 15.1 in Python: figures of more classes and of quantities, parts and groups."""
import figures
from distributions import normal_quantile, normal_two_sided
from drift import bin_of
from elementary import exp64, log64
from figures import added, clip, divide, edges_of, jeffreys, quantile, real
from ieee import NAN, real_text, sqrt64

SMALL = 30


def of_classes(scores, labels, classes, n):
    """scores: of each row those of all n classes; classes: the training rows of each."""
    rows = len(labels)
    predicted = [max(range(n), key=lambda c: (row[c], -c)) for row in scores]
    by_class, areas = [], []
    for c in range(n):
        right = sum(p == c == t for p, t in zip(predicted, labels))
        one = figures.ranking([row[c] for row in scores], [t == c for t in labels])
        said = {"rows": labels.count(c), "predicted": predicted.count(c),
                "precision": real(divide(right, predicted.count(c))), "recall": real(divide(right, labels.count(c)))}
        keys = ("auc", "auc_error", "auc_low", "auc_high")
        both = 0 < labels.count(c) < rows
        area = figures.discrimination(one) if both else dict.fromkeys(keys)
        by_class.append(said | {k: area[k] for k in keys})
        areas += [float(area["auc"])] if both else []
    mean = 0.0
    for area in areas:
        mean = mean + area
    shares = [k / sum(classes) for k in classes]
    most = classes.index(max(classes))
    return {"rows": rows, "accuracy": real(divide(sum(p == t for p, t in zip(predicted, labels)), rows)),
            "log_loss": real(added([-log64(clip(row[t])) for row, t in zip(scores, labels)]) / rows),
            "macro_auc": real(divide(mean, len(areas))), "by_class": by_class,
            "trivial": {"accuracy": real(labels.count(most) / rows),
                        "log_loss": real(added([-log64(clip(shares[t])) for t in labels]) / rows)}}


def mean_deviance(family, p, t):
    """CONTRACT 14.5, of both families."""
    each = [(b - a) / a - log64(divide(b, a)) if family == "gamma" else a if b == 0 else b * log64(divide(b, a)) - (b - a)
            for a, b in zip(p, t)]
    return 2 * (added(each) / len(t))


def of_quantity(p, t, u, said, family=None):
    """u: what the trivial model predicts for each row; said: what it says of that."""
    said = dict(said)
    more = {}
    if family in ("poisson", "gamma"):
        more = {"actual_expected": real(divide(added(t) / len(t), added(p) / len(t))),
                "mean_deviance": real(mean_deviance(family, p, t))}
        said["mean_deviance"] = real(mean_deviance(family, u, t))
    n = len(t)
    mean = added(t) / n
    off = added([(a - b) * (a - b) for a, b in zip(p, t)])
    trivial = added([(a - b) * (a - b) for a, b in zip(u, t)])
    spread = added([(b - mean) * (b - mean) for b in t])
    residuals = sorted(b - a for a, b in zip(p, t))
    return more | {"rows": n, "rmse": real(sqrt64(off / n)), "mae": real(added([abs(a - b) for a, b in zip(p, t)]) / n),
            "r2": real(1 - divide(off, spread)), "bias": real(added([a - b for a, b in zip(p, t)]) / n),
            "skill": real(1 - divide(off, trivial)), "mean": real(mean), "mean_prediction": real(added(p) / n),
            "residual_quantiles": [real(quantile(residuals, q)) for q in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)],
            "trivial": said | {"rmse": real(sqrt64(trivial / n)), "r2": real(1 - divide(trivial, spread)),
                               "mae": real(added([abs(a - b) for a, b in zip(u, t)]) / n)}}


def cut(cells, number, by, names):
    """[(its description, its rows)] of FORMAT 15.1; cells: None for a missing one."""
    column, bins = (by, None) if by in names else by.rsplit(":", 1)
    there = [c for c in cells if c is not None]
    numbers = [number(c) for c in there]
    missing = [({"value": None}, [r for r, c in enumerate(cells) if c is None])] if len(there) < len(cells) else []
    if bins is None and all(x is not None for x in numbers) and len({x + 0.0 for x in numbers}) > 12:
        bins = 4
    if bins is not None:
        edges = edges_of(sorted(x + 0.0 for x in numbers), int(bins))
        ends = [None] + [real_text(e) for e in edges] + [None]
        found = [[] for _ in range(len(edges) + 1)]
        for r, c in enumerate(cells):
            if c is not None:
                found[bin_of(edges, number(c))].append(r)
        return [({"from": ends[k], "to": ends[k + 1]}, rows) for k, rows in enumerate(found)] + missing
    values = sorted(set(there), key=lambda c: c.encode())
    return [({"value": v}, [r for r, c in enumerate(cells) if c == v]) for v in values] + missing


def selection(groups):
    """groups: (rows, selected, favourable, favourable_selected) of those that have outcomes. Their objects, a summary."""
    rate = [s / n for n, s, f, fs in groups]
    large = [g for g in range(len(groups)) if groups[g][0] >= SMALL]
    among = large or range(len(groups))
    reference = max(among, key=lambda g: (rate[g], -g))
    n0, s0 = groups[reference][:2]
    z, said = normal_quantile(0.975), []
    for g, (n, s, f, fs) in enumerate(groups):
        low, high = jeffreys(s, n)
        ratio, ratio_low, ratio_high = rate[g] / rate[reference] if s0 else NAN, NAN, NAN
        if g != reference and 0 < s < n and 0 < s0 < n0:
            e = sqrt64((1 / s - 1 / n) + (1 / s0 - 1 / n0))
            ratio_low, ratio_high = ratio * exp64(-(z * e)), ratio * exp64(z * e)
        q, p = (s + s0) / (n + n0), 1.0
        if rate[g] != rate[reference]:
            p = normal_two_sided((rate[g] - rate[reference]) / sqrt64((q * (1 - q)) * (1 / n + 1 / n0)))
        said.append({"rows": n, "selected": s, "favourable": f, "favourable_selected": fs, "small": n < SMALL,
                     "rate": real(rate[g]), "rate_low": real(low), "rate_high": real(high), "ratio": real(ratio),
                     "ratio_low": real(ratio_low), "ratio_high": real(ratio_high), "p": real(p),
                     "true_positive_rate": real(divide(fs, f)), "false_positive_rate": real(divide(s - fs, n - f))})
    summary = {"reference": reference, "ratio": None, "difference": None, "opportunity": None, "odds": None}
    if len(large) < 2:
        return said, summary

    def apart(values):
        values = [v for v in values if v == v]
        return max(values) - min(values) if values else NAN
    rates = [rate[g] for g in large]
    true = apart([divide(groups[g][3], groups[g][2]) for g in large])
    false = apart([divide(groups[g][1] - groups[g][3], groups[g][0] - groups[g][2]) for g in large])
    odds = max([v for v in (true, false) if v == v], default=NAN)
    return said, summary | {"ratio": real(min(rates) / rate[reference] if s0 else NAN),
                            "difference": real(apart(rates)), "opportunity": real(true), "odds": real(odds)}
