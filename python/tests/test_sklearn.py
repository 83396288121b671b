# SPDX-License-Identifier: Apache-2.0
"""Estimators of scikit-learn: its own checks, its own results, archives of fits."""
import importlib.util
import os
import pickle
import re
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

if importlib.util.find_spec("sklearn") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: scikit-learn is not installed"))
    raise unittest.SkipTest("scikit-learn is not installed")

import sklearn.linear_model
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import check_estimator

from reprise import command_calls as calls
from reprise.sklearn import LinearRegression, LogisticRegression, MLPClassifier, MLPRegressor, Ridge


class Checks(unittest.TestCase):
    def checked(self, estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_estimator(estimator, on_fail=None, on_skip=None)
        failed = [(c["check_name"], str(c["exception"])[:300]) for c in found if c["status"] == "failed"]
        self.assertEqual(failed, [])
        print(f"{type(estimator).__name__}: {sum(c['status'] == 'passed' for c in found)} checks pass", file=sys.stderr)

    def test_linear_regression(self):
        self.checked(LinearRegression())

    def test_ridge(self):
        self.checked(Ridge())

    def test_logistic_regression(self):
        self.checked(LogisticRegression())

    def test_networks(self):
        self.checked(MLPClassifier(hidden_layer_sizes=(10,), max_iter=100, learning_rate_init=0.02, random_state=0))
        self.checked(MLPRegressor(hidden_layer_sizes=(10,), max_iter=100, learning_rate_init=0.02, random_state=0))


class Fits(unittest.TestCase):
    def test_nothing_hangs_on_the_hosts_power_and_logarithm(self):
        x, y = make_classification(60, 4, random_state=2)
        net = MLPClassifier(hidden_layer_sizes=(3,), max_iter=3, batch_size=7, random_state=0)
        rates = []
        kept = net.steps

        def steps(run, *rest):
            compiled = run.compile

            def watched(program):
                step = compiled(program)
                return lambda **feeds: (rates.append(feeds["rate"]), step(**feeds))[1]
            run = type("Watched", (), {"compile": staticmethod(watched), "add_state": run.add_state,
                                       "get_state": run.get_state})()
            return kept(run, *rest)
        net.steps = steps
        net.fit(x, y)
        one, two = np.cumprod(np.full(len(rates), 0.9)), np.cumprod(np.full(len(rates), 0.999))
        np.testing.assert_array_equal(np.array(rates)[:, 1:], np.column_stack([1 - one, 1 - two]))
        for classes in (2, 3):
            x, y = make_classification(80, 5, n_informative=3, n_redundant=0, n_classes=classes, random_state=3)
            fit = LogisticRegression().fit(x, y)
            old, np.log = np.log, None
            try:
                found = fit.predict_log_proba(x)
            finally:
                np.log = old
            np.testing.assert_allclose(found, np.log(fit.predict_proba(x)), rtol=1e-9, atol=1e-12)

    def test_they_are_what_scikit_learn_finds(self):
        x, y = make_classification(300, 6, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
        w = np.random.default_rng(1).uniform(0.5, 2, 300)
        for ours, theirs in ((LinearRegression(), sklearn.linear_model.LinearRegression()),
                             (Ridge(alpha=2.0), sklearn.linear_model.Ridge(alpha=2.0, solver="cholesky"))):
            a, b = ours.fit(x, x[:, 0] * 2 + y, w), theirs.fit(x, x[:, 0] * 2 + y, w)
            np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9)
        for classes in (2, 3):
            t = np.minimum(y, classes - 1)
            theirs = sklearn.linear_model.LogisticRegression(C=0.7, tol=1e-12, max_iter=5000).fit(x, t, w)
            ours = LogisticRegression(C=0.7).fit(x, t, w)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-5)

    def test_a_fit_is_an_archive_that_the_command_replays(self):
        x, y = make_classification(60, 5, random_state=1)
        with tempfile.TemporaryDirectory() as folder:
            for estimator in (Ridge(), LogisticRegression(max_iter=3), MLPClassifier(max_iter=2, random_state=0)):
                path = os.path.join(folder, type(estimator).__name__)
                estimator.set_params(archive=path).fit(x, y)
                plain = type(estimator)(**dict(estimator.get_params(), archive=None)).fit(x, y)
                name = "coefs_" if hasattr(plain, "coefs_") else "coef_"
                self.assertEqual(pickle.dumps(getattr(plain, name)), pickle.dumps(getattr(estimator, name)))
                self.assertTrue(calls.replay(path, threads=1).identical)

    def test_the_blocks_of_the_documentation_do_what_they_say(self):
        text = (Path(__file__).resolve().parents[2] / "docs" / "python-sklearn.md").read_text()
        names, before = {}, os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for block in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M):
                exec(compile(block, "python-sklearn.md", "exec"), names)
                for line, said in re.findall(r"^(.*?)\s+# -> (.*)$", block, re.M):
                    self.assertEqual(repr(eval(line, names)), said, line)
            os.chdir(before)


if __name__ == "__main__":
    unittest.main()
