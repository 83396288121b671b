#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of `reprise validate` beside scikit-learn's and scipy's of what `reprise predict` writes for the same rows, on the tables and
targets of outside.py: greatest relative difference of each, and how many models it is of. Usage: outside_figures.py REPRISE FOLDER_OF_CSV.
Ends with 1 where one is beyond 1e-9."""
import collections
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import pandas
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from scipy import stats
from sklearn import metrics

import outside

warnings.filterwarnings("ignore")


def judged(reprise, frame, target, regression):
    """The statement's predicate and the predictions; None where the table is refused."""
    frame.to_csv("table.csv", index=False)
    with open("recipe.yaml", "w", encoding="utf-8") as recipe:
        recipe.write("reprise: 1\ndata: {csv: table.csv, target: %s}\ntrain: {task: %s}\n"
                     % (json.dumps(target, ensure_ascii=False), "regression" if regression else "classification"))
    if subprocess.run([reprise, "run", "recipe.yaml", "-o", "x.reprise", "--force"], capture_output=True).returncode:
        return None, None
    subprocess.run([reprise, "validate", "x.reprise", "--csv", "table.csv", "-o", "v.json", "--force"], check=True, capture_output=True)
    rows = subprocess.run([reprise, "predict", "x.reprise", "--csv", "table.csv", "-o", "-"], check=True, capture_output=True, text=True).stdout
    with open("v.json", encoding="utf-8") as statement:
        return json.load(statement)["predicate"], pandas.read_csv(io.StringIO(rows))


def quantity(figures, y, score):
    return {"r2": (figures["r2"], metrics.r2_score(y, score)), "mae": (figures["mae"], metrics.mean_absolute_error(y, score))}


def two_classes(figures, y, score):
    ranked, calibrated = figures["discrimination"], figures["calibration"]
    low = numpy.clip(numpy.where(y == 1, score, 1 - score), 1e-15, 1)
    return {"auc": (ranked["auc"], metrics.roc_auc_score(y, score)),
            "ks": (ranked["ks"], stats.ks_2samp(score[y == 1], score[y == 0]).statistic),
            "brier": (calibrated["brier"], metrics.brier_score_loss(y, score)), "log loss": (calibrated["log_loss"], -numpy.log(low).mean())}


def more_classes(figures, y, scores):
    own = scores[numpy.arange(len(y)), y]
    return {"accuracy": (figures["accuracy"], (scores.argmax(1) == y).mean()),
            "log loss of classes": (figures["log_loss"], -numpy.log(numpy.clip(own, 1e-15, 1)).mean())}


def main(reprise, folder):
    worst, count = collections.defaultdict(float), collections.Counter()
    for name, frame, target in outside.tables(folder):
        y = frame[target]
        regression = is_numeric_dtype(y) and not is_bool_dtype(y) and y.nunique() > 10
        if not regression and y.nunique() > 20:
            continue
        said, rows = judged(reprise, frame, target, regression)
        if said is None:
            continue
        scores = rows[[column for column in rows.columns if column.startswith("p_")]].values
        if regression:
            both = quantity(said["figures"], y.values.astype(float), rows.iloc[:, -1].values)
        else:
            label = numpy.array([said["classes"].index(str(cell)) for cell in y])
            both = two_classes(said["figures"], label, rows.iloc[:, -1].values) if len(said["classes"]) == 2 else \
                more_classes(said["figures"], label, scores)
        for figure, (ours, theirs) in both.items():
            count[figure] += 1
            difference = abs(float(ours) - theirs) / max(abs(theirs), 1e-3)
            worst[figure] = max(worst[figure], difference)
            if difference > 1e-9:
                print(name, target, figure, ours, theirs)
    for figure, most in worst.items():
        print("%-20s %4d models, greatest relative difference %.0e" % (figure, count[figure], most))
    return max(worst.values()) > 1e-9


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        command, tables_at = str(pathlib.Path(sys.argv[1]).resolve()), str(pathlib.Path(sys.argv[2]).resolve())
        os.chdir(place)
        sys.exit(main(command, tables_at))
