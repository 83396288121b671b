# SPDX-License-Identifier: Apache-2.0
"""Loading and preparing a table of 10^6 rows and 30 columns: bench/tables beside pandas' C reader, scikit-learn's scaler and encoder, in
turn, each in a process of its own. Usage: tables.py BUILD [ROUNDS]. Needs numpy, pandas and scikit-learn."""
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time

RECIPE = "reprise: 1\ndata: {csv: table.csv, target: y}\ntrain: {solver: gradient, batch: 4096}\n"


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


def peer(path):
    import pandas
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    begin = time.time()
    table = pandas.read_csv(path)
    table.pop("y")
    numbers = table.select_dtypes("number").columns
    rest = [name for name in table.columns if name not in set(numbers)]
    ColumnTransformer(
        [("n", StandardScaler(), numbers), ("c", OneHotEncoder(handle_unknown="ignore"), rest)]
    ).fit_transform(table)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"prepare {time.time() - begin:.3f} s, {used.ru_maxrss / 1024:.1f} MiB at most")


def run(*words):
    text = subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout
    return sum(float(x) for x in re.findall(r"(?:file|prepare) +([0-9.]+) s", text)), float(
        re.search(r"([0-9.]+) MiB at most", text).group(1)
    )


def run_self(*words):
    subprocess.run([sys.executable, __file__, *map(str, words)], check=True)


def main():
    build, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    recipe, table = build / "table.yaml", build / "table.csv"
    if not table.exists():
        run_self("write", table)  # a process's peak of memory counts what it was forked from
    recipe.write_text(RECIPE)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(run(build / "bench/tables", recipe, 2))
        theirs.append(run(sys.executable, __file__, "peer", table))
    middle = [[statistics.median(side) for side in zip(*both)] for both in (ours, theirs)]
    size = table.stat().st_size / 2**20
    print(f"{size:.0f} MiB: {middle[0][0]:.2f} s, {middle[0][1]:.0f} MiB; pandas and scikit-learn {middle[1][0]:.2f} s, "
          f"{middle[1][1]:.0f} MiB; {middle[0][0] / middle[1][0]:.2f} of their time, {middle[0][1] / size:.2f} of the file")


if sys.argv[1] == "peer":
    peer(sys.argv[2])
elif sys.argv[1] == "write":
    write_table(sys.argv[2])
else:
    main()
