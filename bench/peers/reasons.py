# SPDX-License-Identifier: Apache-2.0
"""Reasons beside shap on the same model: contributions of linear models relative to all training rows and to the cut-off
population (LinearExplainer), products of columns (ExactExplainer), integrated gradients beside numpy's own,
scorecards beside scorecardpy, importance and partial dependence beside scikit-learn. Usage:
reasons.py REPRISE; exit 1 where a difference is above 1e-9 of the largest value, of binary32 networks 1e-5."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import shap
from sklearn.linear_model import LogisticRegression

BOUND, NETWORK = 1e-9, 1e-5
worst = {}


def compare(what, ours, theirs, bound=BOUND):
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape and ours.size, (what, ours.shape, theirs.shape)
    difference = float(np.max(np.abs(ours - theirs)) / max(np.max(np.abs(theirs)), 1e-300))
    worst[what] = (max(worst.get(what, (0, bound))[0], difference), bound)


class Folder:
    def __init__(self, path, reprise):
        self.path, self.reprise = path, reprise

    def call(self, *args):
        done = subprocess.run([self.reprise, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.path)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def train(self, name, d, recipe):
        d.to_csv(f"{self.path}/{name}.csv", index=False)
        with open(f"{self.path}/{name}.yaml", "w") as out:
            out.write(recipe.replace("TABLE", name + ".csv"))
        self.call("run", name + ".yaml", "-o", name + ".reprise", "--force")

    def member(self, name, member):
        return json.loads(self.call("inspect", name + ".reprise", "--member", member))

    def reasons(self, name, rows, *options):
        rows.to_csv(f"{self.path}/rows.csv", index=False)
        self.call("predict", name + ".reprise", "--csv", "rows.csv", "-o", "out.csv", "--force", "--contributions",
                  *options)
        return pd.read_csv(f"{self.path}/out.csv")


def table(n, target):
    rng = np.random.default_rng(11)
    d = pd.DataFrame({"age": rng.normal(45, 12, n).round(1), "income": np.exp(rng.normal(8, 1, n)).round(2),
                      "job": rng.choice(list("abcd"), n), "region": rng.choice(["n", "s", "e"], n)})
    d.loc[rng.random(n) < 0.08, "income"] = np.nan
    z = 0.04 * (d["age"] - 45) + (d["job"] == "b") - 0.5 * (d["region"] == "s") + 0.0001 * d["income"].fillna(3000)
    if target == "class":
        d["y"] = np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "good", "bad")
    elif target == "classes":
        d["y"] = np.where(z + rng.normal(size=n) < 0, "low", np.where(z + rng.normal(size=n) < 1, "mid", "top"))
    else:
        d["y"] = 50 + 7 * z + rng.normal(size=n)
    return d


def encode(schema, d, pairs=()):
    """CONTRACT 9.6 in numpy: standardised numbers, a column a category; the column of each feature."""
    parts, owner = {}, []
    for c in schema["columns"]:
        if c["kind"] == "numeric":
            mean, deviation = float(c["mean"]), float(c["deviation"])
            parts[c["name"]] = ((d[c["name"]].fillna(mean).to_numpy() - mean) / deviation)[:, None]
        elif c["kind"] == "categorical":
            parts[c["name"]] = np.stack([d[c["name"]].isna() if k is None else d[c["name"]] == k
                                         for k in c["categories"]], 1).astype(float)
    x = np.concatenate(list(parts.values()) + [(parts[a][:, :, None] * parts[b][:, None, :]).reshape(len(d), -1)
                                               for a, b in pairs], 1)
    for name, part in parts.items():
        owner += [name] * part.shape[1]
    return x, owner, list(parts)


def coefficients(fit, output=0):
    terms = fit["outputs"][output]["terms"]
    return np.array([float(t["encoded"]) for t in terms[1:]])


def by_column(values, owner, names):
    return np.stack([values[:, [o == n for o in owner]].sum(1) for n in names], 1)


def ours_of(out, names):
    return out[["c_" + n for n in names]].to_numpy()


def linear(folder):
    d = table(600, "class")
    rows = d.sample(40, random_state=3).drop(columns="y").reset_index(drop=True)
    recipe = ("reprise: 1\ndata: {csv: TABLE, target: y, positive: good, train_on_all: true}\n"
              "train: {solver: exact, l2: 0.5}\n")
    folder.train("linear", d, recipe)
    schema, fit = folder.member("linear", "data/schema.json"), folder.member("linear", "outputs/coefficients.json")
    x, owner, names = encode(schema, d)
    new = encode(schema, rows)[0]
    b = coefficients(fit)
    out = folder.reasons("linear", rows, "--reasons", "4")
    theirs = by_column(shap.LinearExplainer((b, 0.0), shap.maskers.Independent(x, len(x))).shap_values(new), owner, names)
    compare("Shapley, all rows", ours_of(out, names), theirs)
    compare("adds up", out["gap"] + 1, np.ones(len(out)))
    for i, row in enumerate(theirs):  # the reason codes are the lowest, in order
        expected = [names[k] for k in np.argsort(row, kind="stable") if row[k] < 0][:4]
        found = [out.at[i, f"reason_{k}"] for k in range(1, 5) if isinstance(out.at[i, f"reason_{k}"], str)]
        assert found == expected, (i, found, expected)
    score = folder.reasons("linear", d.drop(columns="y"))["p_good"].to_numpy()
    for cutoff in (0.5, 0.7):
        passing = np.sort(score[score >= cutoff])
        last = passing[min(len(passing), max(30, -(-len(passing) // 10))) - 1]
        near = x[(score >= cutoff) & (score <= last)]
        out = folder.reasons("linear", rows, "--reference", "cutoff", "--cutoff", str(cutoff))
        theirs = shap.LinearExplainer((b, 0.0), shap.maskers.Independent(near, len(near))).shap_values(new)
        compare("Shapley, cut-off", ours_of(out, names), by_column(theirs, owner, names))
    out = folder.reasons("linear", rows, "--favourable", "bad")
    theirs = shap.LinearExplainer((-b, 0.0), shap.maskers.Independent(x, len(x))).shap_values(new)
    compare("Shapley, other class", ours_of(out, names), by_column(theirs, owner, names))


def more_classes_and_quantities(folder):
    for target in ("classes", "value"):
        d = table(500, target)
        task = "regression" if target == "value" else "classification"
        rows = d.sample(30, random_state=4).drop(columns="y").reset_index(drop=True)
        folder.train(target, d, f"reprise: 1\ndata: {{csv: TABLE, target: y, train_on_all: true}}\n"
                                f"train: {{task: {task}, solver: exact, l2: 1}}\n")
        schema, fit = folder.member(target, "data/schema.json"), folder.member(target, "outputs/coefficients.json")
        x, owner, names = encode(schema, d)
        new = encode(schema, rows)[0]
        masker = shap.maskers.Independent(x, len(x))
        values = [shap.LinearExplainer((coefficients(fit, k), 0.0), masker).shap_values(new)
                  for k in range(len(fit["outputs"]))]
        for k in range(len(values)):
            others = [v for i, v in enumerate(values) if i != k]
            theirs = values[k] - (np.mean(others, 0) if others else 0)
            options = ("--favourable", schema["classes"][k]) if others else ()
            compare("Shapley, " + target, ours_of(folder.reasons(target, rows, *options), names),
                    by_column(theirs, owner, names))


def products(folder):
    d = table(40, "value")
    d.loc[d["income"].isna(), "income"] = 1000.0
    rows = d.iloc[:3].drop(columns="y").reset_index(drop=True)
    pairs = [("age", "job"), ("income", "age")]
    folder.train("products", d, "reprise: 1\ndata: {csv: TABLE, target: y, train_on_all: true, "
                                "interactions: [[age, job], [income, age]]}\ntrain: {task: regression, solver: exact, l2: 2}\n")
    schema, fit = folder.member("products", "data/schema.json"), folder.member("products", "outputs/coefficients.json")
    b, names = coefficients(fit), encode(schema, d)[2]
    codes = {n: sorted(d[n].unique()) for n in ("job", "region")}

    def model(z):
        frame = pd.DataFrame({n: z[:, i] for i, n in enumerate(names)})
        for n, words in codes.items():
            frame[n] = [words[int(v)] for v in frame[n]]
        return encode(schema, frame, pairs)[0] @ b

    def numbers(frame):
        return np.stack([frame[n].map(codes[n].index) if n in codes else frame[n] for n in names], 1).astype(float)

    masker = shap.maskers.Independent(numbers(d), len(d))
    theirs = shap.explainers.ExactExplainer(model, masker)(numbers(rows), silent=True).values
    compare("Shapley, products", ours_of(folder.reasons("products", rows), names), theirs)


def network(folder):
    d = table(400, "class")
    d["income"] = np.log(d["income"].fillna(3000))
    rows = d.sample(25, random_state=5).drop(columns="y").reset_index(drop=True)
    folder.train("network", d, "reprise: 1\nseed: 5\ndata: {csv: TABLE, target: y, positive: good, train_on_all: true}\n"
                               "model: {hidden: [6], activation: tanh}\ntrain: {epochs: 30}\n")
    schema = folder.member("network", "data/schema.json")
    x, owner, names = encode(schema, d)
    new = encode(schema, rows)[0]
    folder.call("inspect", "network.reprise", "--member", "weights/final.safetensors", "-o", "w.safetensors", "--force")
    with open(folder.path + "/w.safetensors", "rb") as f:
        head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        body = f.read()
    w = {k: np.frombuffer(body[slice(*v["data_offsets"])], "<f4").reshape(v["shape"]).astype(float)
         for k, v in head.items() if k != "__metadata__"}
    base = x.mean(0)
    total, steps = np.zeros_like(new), 64
    for k in range(steps):
        h = np.tanh((base + (k + 0.5) / steps * (new - base)) @ w["layer0.weight"] + w["layer0.bias"])
        total += (w["layer1.weight"][:, 0] * (1 - h * h)) @ w["layer0.weight"].T
    theirs = by_column((new - base) * (total / steps), owner, names)
    out = folder.reasons("network", rows)
    compare("integrated gradients", ours_of(out, names), theirs, NETWORK)
    compare("completeness", out["gap"] + 1, np.ones(len(out)), 1e-3)


def scorecard(folder):
    """scorecardpy's table of the same bins and weights of evidence, and the sum of a row's points."""
    from scorecardpy.scorecard import scorecard as table_of

    rng = np.random.default_rng(12)
    d = table(900, "class")
    d.loc[rng.random(len(d)) < 0.1, "job"] = np.nan
    columns = {"age": "{bins: monotonic, woe: true}", "income": "{bins: 5, woe: true}", "job": "{woe: true}",
               "region": "{woe: true}"}
    folder.train("card", d, "reprise: 1\ndata: {csv: TABLE, target: y, positive: bad, train_on_all: true, columns: {"
                 + ", ".join(f"{k}: {v}" for k, v in columns.items()) + "}}\ntrain: {solver: exact, l2: 0}\n")
    schema, fit = folder.member("card", "data/schema.json"), folder.member("card", "outputs/coefficients.json")
    rows = d.drop(columns="y").head(60).copy()
    rows.loc[3, "region"] = "elsewhere"
    rows.loc[4, "income"] = np.nan
    for points, odds, double in ((600, 19, 50), (500, 50, 20)):
        scale = f"{points}:{odds}:{double}"
        folder.call("scorecard", "card.reprise", "--points", scale, "--favourable", "good", "-o", "card.json", "--force")
        with open(folder.path + "/card.json") as f:
            card = json.load(f)["predicate"]
        bins, model = {}, LogisticRegression()
        terms = fit["outputs"][0]["terms"]
        model.intercept_, model.coef_ = [float(terms[0]["estimate"])], [coefficients(fit)]
        for c in schema["columns"]:
            if c["name"] in columns:
                bins[c["name"]] = pd.DataFrame({"variable": c["name"], "bin": [str(k) for k in range(len(c["woe"]))],
                                                "woe": np.array(c["woe"], float)})
        theirs = table_of(bins, model, [n + "_woe" for n in columns], points0=points, odds0=1 / odds, pdo=double)
        compare("base points", card["base"]["points"], theirs["basepoints"]["points"].iloc[0])
        total = np.full(len(rows), float(card["base"]["points"]))
        for c in card["columns"]:
            parts = c["parts"]
            known = [p for p in parts if "from" in p or "category" in p]
            expected = theirs[c["column"]]["points"].to_numpy()
            compare("points of " + c["kind"], [p["points"] for p in known], expected[:len(known)])
            missing = next(p["points"] for p in parts if p.get("missing"))
            if len(expected) > len(known):
                compare("points of missing", missing, expected[len(known)])
            for i, value in enumerate(rows[c["column"]]):
                if pd.isna(value):
                    total[i] += missing
                elif c["kind"] == "bins":
                    total[i] += next(p["points"] for p in known if (p["from"] is None or value >= float(p["from"]))
                                     and (p["to"] is None or value < float(p["to"])))
                else:
                    total[i] += next((p["points"] for p in parts if p.get("category") == value or p.get("unknown")))
        out = folder.reasons("card", rows, "--points", scale, "--favourable", "good")
        compare("points of rows", out["points"], total)


def importance(folder):
    """Permutations by contract 6.6 and 14.11, figures by scikit-learn; partial dependence and curves by scikit-learn."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.inspection import partial_dependence
    from sklearn.metrics import log_loss, r2_score, roc_auc_score

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/second"))
    from philox import permutation

    for target in ("class", "value"):
        d = table(300, target)
        d["income"] = d["income"].fillna(2500.0)
        name = "why_" + target
        task = "regression" if target == "value" else "classification"
        folder.train(name, d, "reprise: 1\ndata: {csv: TABLE, target: y, train_on_all: true, interactions: [[age, job]]}\n"
                              f"train: {{task: {task}, solver: exact, l2: 1}}\n")
        schema, fit = folder.member(name, "data/schema.json"), folder.member(name, "outputs/coefficients.json")
        b = coefficients(fit)
        features, _, names = encode(schema, d, [("age", "job")])
        out = folder.reasons(name, d.drop(columns="y"))  # the encoded intercept follows from a row's margin
        constant = float(out["margin"].iloc[0] - features[0] @ b)

        def model(frame):
            z = encode(schema, frame, [("age", "job")])[0] @ b + constant
            return 1 / (1 + np.exp(-z)) if target == "class" else z

        class Classifier(ClassifierMixin, BaseEstimator):
            classes_ = np.array([0, 1])

            def fit(self, *_):
                return self

            def __sklearn_is_fitted__(self):
                return True

            def predict_proba(self, frame):
                return np.stack([1 - model(frame), model(frame)], 1)

        class Regressor(RegressorMixin, BaseEstimator):
            def fit(self, *_):
                return self

            def __sklearn_is_fitted__(self):
                return True

            def predict(self, frame):
                return model(frame)

        truth = (d["y"] == "good").to_numpy() if target == "class" else d["y"].to_numpy()
        for metric, figure in ((("auc", roc_auc_score), ("log_loss", lambda t, p: -log_loss(t, p))) if target == "class"
                               else (("r2", r2_score),)):
            folder.call("explain", name + ".reprise", "--csv", name + ".csv", "--metric", metric, "--repeats", "3",
                        "--seed", "9", "-o", "why.json", "--force")
            with open(folder.path + "/why.json") as f:
                said = json.load(f)["predicate"]
            base = figure(truth, model(d))
            for c in said["columns"]:
                falls = []
                for r in range(3):
                    order = permutation(len(d), 9, r, 0x50000000 + c["column"])
                    falls.append(base - figure(truth, model(d.assign(**{c["name"]: d[c["name"]].to_numpy()[order]}))))
                compare("importance, " + metric, [float(v) for v in c["importance"]["repeats"]], falls)
                compare("its mean, deviation", [float(c["importance"][k]) for k in ("mean", "deviation")],
                        [np.mean(falls), np.std(falls)])
        for c in said["columns"]:
            grid = np.array(c["grid"], float) if c["kind"] == "numeric" else np.array(c["grid"], object)
            if c["kind"] == "numeric":
                compare("grid", grid, np.unique(np.quantile(d[c["name"]], np.arange(11) / 10)))
            theirs = partial_dependence(Classifier() if target == "class" else Regressor(), d.drop(columns="y"), [c["name"]],
                                        kind="both", method="brute", custom_values={c["name"]: grid},
                                        **({"response_method": "predict_proba"} if target == "class" else {}))
            compare("partial dependence", np.array(c["dependence"], float), theirs["average"][0])
            compare("curves", np.array(c["curves"], float), theirs["individual"][0][said["curve_rows"]])


def main(reprise):
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path, reprise)
        for part in (linear, more_classes_and_quantities, products, network, scorecard, importance):
            part(folder)
    for what, (difference, bound) in worst.items():
        print(f"{what:28s} {difference:.1e}  at most {bound:.0e}")
    return int(any(not d <= bound for d, bound in worst.values()))


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
