# SPDX-License-Identifier: Apache-2.0
"""A table of 10^6 rows and 30 columns, by us and by pandas' C reader and scikit-learn, in turn, each in a process of its own: loading and
preparing it (bench/tables beside StandardScaler and OneHotEncoder), and the whole of a logistic and a linear regression, from the file to
metrics and predictions (`reprise run`, signed, beside imputer, scaler, encoder, LogisticRegression or Ridge). Wall and processor seconds, most
memory. Usage: tables.py BUILD [ROUNDS]. Needs numpy, pandas and scikit-learn."""
import os
import pathlib
import statistics
import subprocess
import sys
import time

DATA = "reprise: 1\ndata: {csv: table.csv, target: %s}\n"
TASKS = {
    "prepare": DATA % "y" + "train: {solver: gradient, batch: 4096}\n",
    "logistic": DATA % "y",
    "linear": DATA % "x0" + "train: {task: regression}\n",
}


def write_table(path):
    import numpy
    import pandas

    rng, n = numpy.random.default_rng(7), 10**6
    table = pandas.DataFrame({f"x{i}": numpy.round(rng.normal(size=n) * 10 ** (i % 4), 4) for i in range(20)})
    table["x3"], table["x9"] = rng.normal(size=n).round(12), (rng.normal(size=n) * 1e6).round(8)
    for i in range(5):
        table[f"k{i}"] = rng.integers(0, 10 ** (i + 1), size=n)
    for i, words in enumerate(("red green blue yellow", "north south east west centre", "A B C", "single married widowed")):
        table[f"c{i}"] = rng.choice(words.split(), size=n)
    for name in ("x1", "x7", "k2", "c1"):
        table.loc[rng.random(n) < 0.03, name] = None
    table["y"] = numpy.where(rng.random(n) < 0.4, "yes", "no")
    table.to_csv(path, index=False)


def features(table, impute):
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = table.select_dtypes("number").columns
    rest = [name for name in table.columns if name not in set(numbers)]
    parts = [StandardScaler(), OneHotEncoder(handle_unknown="ignore")]
    if impute:
        fills = (SimpleImputer(), SimpleImputer(strategy="most_frequent"))
        parts = [make_pipeline(fill, part) for fill, part in zip(fills, parts)]
    return ColumnTransformer([("n", parts[0], numbers), ("c", parts[1], rest)])


def whole(table, target, out):
    """Fit on four of five parts; loss, AUC, accuracy, Brier score or errors of both; predictions as CSV."""
    import pandas
    from sklearn import linear_model, metrics, model_selection
    from sklearn.pipeline import make_pipeline

    if target == "y":
        y, model = table.pop(target) == "yes", linear_model.LogisticRegression(max_iter=1000)
        parts = next(model_selection.StratifiedKFold(5, shuffle=True, random_state=0).split(table, y))
        figures = (metrics.log_loss, metrics.roc_auc_score, lambda t, p: metrics.accuracy_score(t, p > 0.5), metrics.brier_score_loss)
    else:
        y, model = table.pop(target), linear_model.Ridge()
        parts = next(model_selection.KFold(5, shuffle=True, random_state=0).split(table))
        figures = (metrics.mean_squared_error, metrics.mean_absolute_error, metrics.r2_score)
    model = make_pipeline(features(table, True), model).fit(table.iloc[parts[0]], y.iloc[parts[0]])
    for part in parts:
        rows = table.iloc[part]
        scores = model.predict_proba(rows)[:, 1] if target == "y" else model.predict(rows)
        print([float(figure(y.iloc[part], scores)) for figure in figures])
    pandas.DataFrame({"row": parts[1], "truth": y.iloc[parts[1]], "score": scores}).to_csv(out, index=False)


def peer(task, path):
    import pandas
    import sklearn.compose  # what is imported is not counted: it is there once for many tables
    import sklearn.linear_model
    import sklearn.metrics
    import sklearn.model_selection

    begin, used = time.time(), time.process_time()
    table = pandas.read_csv(path)
    if task == "prepare":
        table.pop("y")
        features(table, False).fit_transform(table)
    else:
        whole(table, "y" if task == "logistic" else "x0", path + ".scores")
    print(f"seconds {time.time() - begin:.3f} {time.process_time() - used:.3f}")


def measure(words):
    """Wall and processor seconds of a process, and MiB at most; whoever tells its own is believed."""
    begin = time.time()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {words}")
    told = [line.split()[1:] for line in text.splitlines() if line.startswith("seconds ")]
    figures = [time.time() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]
    return [float(x) for x in told[0]] + figures[len(told[0]):] if told else figures


def ours(build, task):
    recipe, archive = build / f"{task}.yaml", build / f"{task}.reprise"
    recipe.write_text(TASKS[task])
    archive.unlink(missing_ok=True)
    if task == "prepare":
        return measure([build / "bench/tables", recipe, 2])
    key = build / "tables-key"
    if not pathlib.Path(f"{key}.pem").exists():
        subprocess.run([build / "cli/reprise", "keygen", key], check=True, stdout=subprocess.DEVNULL)
    return measure([build / "cli/reprise", "run", recipe, "-o", archive, "--key", f"{key}.pem"])


def main():
    build, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    table = build / "table.csv"
    if not table.exists():  # a process's peak of memory counts what it was forked from
        subprocess.run([sys.executable, __file__, "write", table], check=True)
    size = table.stat().st_size / 2**20
    for task in TASKS:
        sides = ([], [])
        for _ in range(rounds):
            sides[0].append(ours(build, task))
            sides[1].append(measure([sys.executable, __file__, "peer", task, table]))
        a, b = ([statistics.median(figures) for figures in zip(*side)] for side in sides)
        ratios = sorted(x[0] / y[0] for x, y in zip(*sides))
        print(f"{task}, {size:.0f} MiB: {a[0]:.2f} s, {a[1]:.2f} CPU s, {a[2]:.0f} MiB ({a[2] / size:.2f} of the file); pandas and scikit-learn "
              f"{b[0]:.2f} s, {b[1]:.2f} CPU s, {b[2]:.0f} MiB; wall {ratios[0]:.2f} to {ratios[-1]:.2f} of theirs in the same round", flush=True)


if len(sys.argv) > 3 and sys.argv[1] == "peer":
    peer(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "write":
    write_table(sys.argv[2])
else:
    main()
