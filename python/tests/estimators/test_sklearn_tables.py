# SPDX-License-Identifier: Apache-2.0
"""The estimators where others would put them: tables that scikit-learn ships, beside its own estimators in searches,
calibration, boosting and pipelines; networks whose rows weigh something; what a table says that holds texts."""
import builtins
import importlib.util
import os
import pickle
import sys
import tempfile
import unittest
import warnings
from fractions import Fraction
from unittest import mock

import numpy as np

if importlib.util.find_spec("sklearn") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: scikit-learn is not installed"))
    raise unittest.SkipTest("scikit-learn is not installed")

import scipy.sparse
import sklearn.linear_model
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris, load_linnerud, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from reprise import command_calls as calls
from reprise.sklearn import GLM, LinearRegression, LogisticRegression, MLPClassifier, MLPRegressor, Ridge, base, networks


def both(ours, theirs):
    return [make_pipeline(StandardScaler(), m) for m in (ours, theirs)]


def exactly(x, y, alpha):
    """What least squares with an intercept and the penalty predict of their own rows, in fractions."""
    rows, targets = [[Fraction(v) for v in r] for r in x.tolist()], [Fraction(v) for v in y.tolist()]
    n, p = x.shape
    means = [sum(r[j] for r in rows) / n for j in range(p)]
    middle = sum(targets) / n
    away = [[r[j] - means[j] for j in range(p)] for r in rows]
    system = [[sum(r[i] * r[j] for r in away) + (Fraction(alpha) if i == j else 0) for j in range(p)] +
              [sum(r[i] * (t - middle) for r, t in zip(away, targets))] for i in range(p)]
    for i in range(p):
        system[i] = [v / system[i][i] for v in system[i]]
        for k in range(p):
            if k != i:
                system[k] = [v - system[k][i] * u for v, u in zip(system[k], system[i])]
    return np.array([float(middle + sum(a * row[-1] for a, row in zip(r, system))) for r in away])


class Tables(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def test_scores_of_searches_and_calibration_are_scikit_learns(self):
        exact = {"tol": 1e-10, "max_iter": 10000}
        for load in (load_iris, load_wine):
            x, y = load(return_X_y=True)
            ours, theirs = both(LogisticRegression(), sklearn.linear_model.LogisticRegression(**exact))
            np.testing.assert_allclose(cross_val_score(ours, x, y, cv=3), cross_val_score(theirs, x, y, cv=3), atol=1e-12)
        x, y = load_breast_cancer(return_X_y=True)
        x = x[:, :8]
        ours, theirs = both(LogisticRegression(), sklearn.linear_model.LogisticRegression(**exact))
        grid = {"logisticregression__C": [0.1, 10.0], "logisticregression__class_weight": [None, "balanced"]}
        a, b = (GridSearchCV(m, grid, cv=3, scoring="roc_auc").fit(x, y) for m in (ours, theirs))
        self.assertEqual(a.best_params_, b.best_params_)
        np.testing.assert_allclose(a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"], atol=1e-9)
        for method in ("sigmoid", "isotonic"):
            a, b = (CalibratedClassifierCV(m, method=method, cv=3).fit(x, y).predict_proba(x) for m in (ours, theirs))
            np.testing.assert_allclose(a, b, atol=1e-5)
        x, y = load_linnerud(return_X_y=True)
        a, b = (m.fit(x, y).predict(x) for m in (Ridge(), sklearn.linear_model.Ridge()))
        np.testing.assert_allclose(a, b, rtol=1e-11)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_tables_with_categories_go_through_a_pipeline_and_are_named_without_one(self):
        import pandas
        rng = np.random.default_rng(1)
        table = pandas.DataFrame({"age": rng.normal(40, 9, 90), "town": pandas.Categorical(rng.choice(list("abc"), 90)),
                                  "own": rng.choice(["yes", "no"], 90)})
        y = pandas.Series(np.where(rng.normal(size=90) + (table.town == "a") > 0.5, "good", "bad"), dtype="category")
        names = ["town", "own"]
        ours, theirs = (make_pipeline(ColumnTransformer([("n", StandardScaler(), ["age"]), ("c", OneHotEncoder(sparse_output=False), names)]), m)
                        for m in (LogisticRegression(), sklearn.linear_model.LogisticRegression(tol=1e-12, max_iter=10000)))
        np.testing.assert_allclose(ours.fit(table, y).predict_proba(table), theirs.fit(table, y).predict_proba(table), atol=1e-6)
        self.assertEqual(pickle.loads(pickle.dumps(ours)).predict_proba(table).tobytes(), ours.predict_proba(table).tobytes())
        for column in names:
            with self.assertRaisesRegex(ValueError, f"could not convert string to float.*'{column}'.*OneHotEncoder"):
                Ridge().fit(table[["age", column]], rng.normal(size=90))
        fit = Ridge().fit(table[["age"]], rng.normal(size=90))
        with self.assertRaisesRegex(ValueError, "column 'age'"):
            fit.predict(table[["age"]].astype(object).replace(table.age[0], "old"))

    def test_sparse_rows_have_the_bits_of_dense_ones(self):
        rng = np.random.default_rng(3)
        x = scipy.sparse.random(60, 9, 0.3, "csr", np.float64, rng)
        y, names = x @ rng.normal(size=9) + rng.normal(size=60), rng.integers(0, 3, 60)
        how = {"hidden_layer_sizes": (5,), "max_iter": 3, "random_state": 1, "batch_size": 16}
        for model, target in ((Ridge(), y), (LinearRegression(), y), (LogisticRegression(), names), (GLM("poisson", alpha=0.1), names),
                              (MLPClassifier(**how), names), (MLPRegressor(**how), y)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                wanted = clone(model).fit(x.toarray(), target)
                for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
                    found = clone(model).fit(kind(x), target)
                    with mock.patch.object(base, "PART", 8 * 9 * 7):  # of which a prediction takes seven rows at a time
                        self.assertEqual(found.predict(kind(x)).tobytes(), wanted.predict(x.toarray()).tobytes(), type(model).__name__)
        pipe = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(names[:, None], names)
        self.assertEqual(pipe.score(names[:, None], names), 1.0)
        with self.assertRaisesRegex(ValueError, "1000000 rows and 1000000 columns.*7450.6 GiB of at most 2.0.*SelectKBest"):
            Ridge().fit(scipy.sparse.csr_matrix((10**6, 10**6)), np.zeros(10**6))

    def test_powers_of_a_column_keep_what_is_their_own(self):
        """Beside the exact least squares in fractions, where the normal equations in binary64 leave powers out."""
        x = np.random.default_rng(4).uniform(0, 1, (30, 1))
        y = np.cos(5 * x[:, 0])
        powers = PolynomialFeatures(13, include_bias=False).fit_transform(x)
        for model, alpha in ((LinearRegression(), 0.0), (Ridge(1e-14), 1e-14)):
            exact = exactly(powers, y, alpha)
            with tempfile.TemporaryDirectory() as folder:
                model.set_params(archive=f"{folder}/fit.reprise").fit(powers, y)
                self.assertTrue(calls.replay(f"{folder}/fit.reprise", threads=2).identical)
            self.assertFalse((model.coef_ == 0).any())
            np.testing.assert_allclose(model.predict(powers), exact, atol=1e-7)
        rng = np.random.default_rng(5)
        a = rng.normal(size=(40, 3))  # what the others explain to rounding is still left out, in whatever place it is
        for columns in ([a[:, 0], a[:, 1], a[:, 0] - a[:, 1]], [a[:, 0], a[:, 0] * 1e-3, a[:, 1]], [a[:, 0], a[:, 0] * 0 + 3, a[:, 1]]):
            fit = LinearRegression().fit(np.column_stack(columns), a[:, 2])
            self.assertEqual((fit.coef_ == 0).sum(), 1)

    def test_rows_of_a_network_weigh_what_their_copies_do(self):
        x, y = load_iris(return_X_y=True)
        x, w = StandardScaler().fit_transform(x), np.random.default_rng(2).integers(0, 4, 150)
        how = {"hidden_layer_sizes": (5,), "max_iter": 30, "batch_size": 1000, "random_state": 1, "learning_rate_init": 0.01}
        for kind, names in ((MLPClassifier, y), (MLPClassifier, np.minimum(y, 1)), (MLPRegressor, x[:, 0] + y)):
            weighed, copied = kind(**how).fit(x, names, w), kind(**how).fit(x.repeat(w, 0), names.repeat(w))
            for a, b in zip(weighed.coefs_, copied.coefs_):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(weighed.loss_curve_, copied.loss_curve_, rtol=1e-9)
            self.assertGreater(max(np.abs(a - b).max() for a, b in zip(weighed.coefs_, kind(**how).fit(x, names).coefs_)), 1e-4)
            small = dict(how, batch_size=7)
            plain, ones = kind(**small).fit(x, names), kind(**small).fit(x, names, np.ones(150))
            self.assertEqual(pickle.dumps(plain.coefs_), pickle.dumps(ones.coefs_))
        self.assertEqual(MLPClassifier(**how).fit(x, y, (y != 1).astype(float)).classes_.tolist(), [0, 2])
        for bad in (np.zeros(150), -np.ones(150), np.ones(3)):
            with self.assertRaises(ValueError):
                MLPClassifier(**how).fit(x, y, bad)
        for bad in (np.full(150, 5e-324), np.full(150, 1e308)):
            with self.assertRaisesRegex(ValueError, "no numbers any more"), np.errstate(all="ignore"):
                MLPClassifier(**how).fit(x, y, bad)
        boosted = AdaBoostClassifier(MLPClassifier(**how), n_estimators=2, random_state=0).fit(x, y)
        self.assertGreater(boosted.score(x, y), 0.6)

    def test_a_weighed_network_is_recorded_and_has_logarithms(self):
        x, y = load_wine(return_X_y=True)
        x, w = StandardScaler().fit_transform(x), np.random.default_rng(3).uniform(0.1, 2, 178)
        for classes in (2, 3):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "net.reprise")
                how = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 1}
                net = MLPClassifier(**how, archive=path).fit(x, np.minimum(y, classes - 1), w)
                self.assertTrue(calls.replay(path, threads=1).identical)
                self.assertEqual(pickle.dumps(MLPClassifier(**how).fit(x, np.minimum(y, classes - 1), w).coefs_), pickle.dumps(net.coefs_))
            np.testing.assert_allclose(net.predict_log_proba(x), np.log(net.predict_proba(x)), rtol=1e-9, atol=1e-12)
        found = cross_val_predict(MLPClassifier(**how), x, y, cv=3, method="predict_log_proba")
        self.assertEqual(found.shape, (178, 3))

    def test_losses_are_added_in_their_order_whatever_pythons_sum_does(self):
        x, y = load_iris(return_X_y=True)
        net = MLPClassifier(hidden_layer_sizes=(4,), max_iter=4, batch_size=11, random_state=0)
        before = net.fit(x, y).loss_curve_

        def sum_of_python_from_3_12_on(values, start=0):
            values = list(values)
            return float("nan") if values and isinstance(values[0], float) else builtins.sum(values, start)
        networks.sum = sum_of_python_from_3_12_on
        self.addCleanup(delattr, networks, "sum")
        self.assertEqual(net.fit(x, y).loss_curve_, before)
        self.assertEqual(networks.added([1e16, 1.0, 1.0]), 1e16)


if __name__ == "__main__":
    unittest.main()
