# SPDX-License-Identifier: Apache-2.0
"""What treatments learn, beside scikit-learn, numpy and scorecardpy on the same rows: caps, values of missing cells, means
and deviations, edges of bins, weights of evidence and information values. Usage: treatments.py REPRISE; exit 1 where a
relative difference is above 1e-9."""
import json
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

warnings.filterwarnings("ignore")
BOUND = 1e-9
RECIPE = """reprise: 1
data:
  csv: table.csv
  target: bad
  positive: "1"
  train_on_all: true
  columns:
    plain: {missing: mean}
    middle: {missing: median}
    capped: {cap: [0.02, 0.97], log: true}
    parts: {bins: 7}
    given: {bins: [-0.5, 0.25, 1], woe: true}
    falling: {bins: monotonic, woe: true}
    job: {woe: true}
"""
worst = {}


def compare(what, ours, theirs):
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, (what, ours, theirs)
    difference = float(np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-300)))
    worst[what] = max(worst.get(what, 0.0), difference)


def table(n=5000):
    rng = np.random.default_rng(7)
    d = pd.DataFrame({name: rng.normal(size=n) for name in ("plain", "middle", "parts", "given", "falling")})
    d["capped"] = np.exp(rng.normal(size=n)) - 0.2
    d["job"] = rng.choice(list("abcde"), n)
    score = d["falling"] - 0.7 * d["given"] + 0.4 * (d["job"] == "b")
    d["bad"] = (rng.random(n) < 1 / (1 + np.exp(1 + score))).astype(int)
    for name in ("plain", "middle"):
        d.loc[rng.random(n) < 0.1, name] = np.nan
    return d


def evidence(name, ours, d, groups):
    """Woe and iv of scorecardpy's formulas over pandas' counts of the same groups."""
    from scorecardpy.info_value import iv_01, woe_01

    counts = d["bad"].groupby(groups).agg([lambda s: (s == 0).sum(), "sum"])
    good, bad = counts.iloc[:, 0], counts.iloc[:, 1]
    compare("counts of " + name, ours["counts"], counts.to_numpy())
    compare("woe of " + name, ours["woe"], woe_01(good, bad))
    compare("iv of " + name, ours["iv"], iv_01(good, bad))


def main(reprise):
    d = table()
    with tempfile.TemporaryDirectory() as folder:
        d.to_csv(folder + "/table.csv", index=False)
        with open(folder + "/r.yaml", "w") as out:
            out.write(RECIPE)
        subprocess.run([reprise, "run", folder + "/r.yaml", "-o", folder + "/r.reprise"], check=True, stdout=subprocess.PIPE)
        text = subprocess.run([reprise, "inspect", folder + "/r.reprise", "--member", "data/schema.json"], check=True,
                              stdout=subprocess.PIPE).stdout
    columns = {c["name"]: c for c in json.loads(text)["columns"]}
    for name in ("plain", "middle"):
        scaler = StandardScaler().fit(d[[name]])
        compare("StandardScaler", [float(columns[name][k]) for k in ("mean", "deviation")], [scaler.mean_[0], scaler.scale_[0]])
    compare("SimpleImputer mean", columns["plain"]["mean"], SimpleImputer().fit(d[["plain"]]).statistics_[0])
    compare("SimpleImputer median", columns["middle"]["missing"],
            SimpleImputer(strategy="median").fit(d[["middle"]]).statistics_[0])
    cap = np.quantile(d["capped"], [0.02, 0.97])
    compare("numpy.quantile", columns["capped"]["cap"], cap)
    held = np.clip(d["capped"], *cap)
    logs = np.where(held < 0, -np.log1p(-np.minimum(held, 0)), np.log1p(np.maximum(held, 0)))
    compare("mean of logs", columns["capped"]["mean"], logs.mean())
    bins = KBinsDiscretizer(7, encode="ordinal", strategy="quantile", quantile_method="linear").fit(d[["parts"]])
    compare("KBinsDiscretizer", columns["parts"]["edges"], bins.bin_edges_[0][1:-1])
    for name in ("given", "falling"):
        evidence(name, columns[name], d, np.digitize(d[name], [float(e) for e in columns[name]["edges"]]))
    evidence("job", columns["job"], d, d["job"])
    rates = d.groupby(np.digitize(d["falling"], [float(e) for e in columns["falling"]["edges"]]))["bad"].mean()
    assert rates.is_monotonic_decreasing or rates.is_monotonic_increasing, rates
    for what, difference in worst.items():
        print("%-22s %.1e" % (what, difference))
    return 0 if max(worst.values()) <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
