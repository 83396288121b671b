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
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from reprise import command_calls as calls
import reprise
from reprise.sklearn import GLM, LinearRegression, LogisticRegression, MLPClassifier, MLPRegressor, Ridge


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
        for given in (None, "balanced"):
            self.checked(LogisticRegression(class_weight=given))

    def test_glm(self):
        for estimator in (GLM(), GLM("poisson"), GLM("gamma", alpha=0.1)):
            self.checked(estimator)

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

    def test_classes_weigh_what_scikit_learn_lets_them(self):
        x, y = make_classification(300, 6, n_informative=4, n_redundant=0, n_classes=3, weights=[0.1, 0.2, 0.7], random_state=4)
        w = np.random.default_rng(2).uniform(0.5, 2, 300)
        names = np.array(["low", "mid", "top"])
        for classes, given in ((2, "balanced"), (3, "balanced"), (3, {0: 3.0, 2: 0.25}), (2, {}), (3, {"top": 0.5, "low": 4.0})):
            target = np.minimum(y, classes - 1)
            target = names[target] if isinstance(given, dict) and "top" in given else target
            for weight in (None, w):
                with self.subTest(classes=classes, given=given, weighted=weight is not None):
                    theirs = sklearn.linear_model.LogisticRegression(C=0.7, tol=1e-12, max_iter=5000, class_weight=given)
                    theirs.fit(x, target, weight)
                    ours = LogisticRegression(C=0.7, class_weight=given).fit(x, target, weight)
                    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
                    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-5)
        plain = LogisticRegression().fit(x, y)
        self.assertGreater(np.abs(LogisticRegression(class_weight="balanced").fit(x, y).coef_ - plain.coef_).max(), 1e-2)
        self.assertEqual(LogisticRegression(class_weight={}).fit(x, y).coef_.tolist(), plain.coef_.tolist())
        for given in ("even", 2.0, {0: -1.0}, {0: 0.0}, {7: 1.0}, {1: np.nan}):
            with self.assertRaisesRegex(ValueError, "class"):
                LogisticRegression(class_weight=given).fit(x, y)

    def test_fits_that_did_not_end_say_so(self):
        x, y = make_classification(200, 4, random_state=1)
        apart, classes = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
        many = np.array([0, 0, 1, 1, 2, 2])
        net = MLPClassifier(hidden_layer_sizes=(4,), max_iter=3, random_state=0)
        for fit in (lambda: LogisticRegression(max_iter=2).fit(x, y), lambda: LogisticRegression(C=np.inf).fit(apart, classes),
                    lambda: LogisticRegression(C=1e12).fit(apart, classes), lambda: LogisticRegression(C=np.inf).fit(apart, many),
                    lambda: net.fit(x, y)):
            with self.assertWarns(ConvergenceWarning) as caught:
                fit()
            self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for C in (1.0, np.inf):
                LogisticRegression(C=C).fit(x, y), LogisticRegression(C=C).fit(x, np.arange(200) % 3)
            MLPClassifier(hidden_layer_sizes=(4,), max_iter=500, tol=0.1, random_state=0).fit(x, y)

    def test_one_penalty_for_all_targets(self):
        with self.assertRaisesRegex(ValueError, "alpha is one number"):
            Ridge(alpha=[1.0, 2.0]).fit(np.eye(4), np.eye(4))

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

    def test_fits_of_a_search_do_not_replace_each_other_and_say_what_stayed_outside(self):
        x, y = make_classification(60, 4, random_state=1)
        with tempfile.TemporaryDirectory() as folder:
            fits = [Ridge(a, archive=os.path.join(folder, "{id}.reprise")).fit(x, y) for a in (1.0, 2.0, 1.0)]
            self.assertEqual(fits[0].archive_, fits[2].archive_)
            self.assertEqual(sorted(os.listdir(folder)), sorted({os.path.basename(f.archive_) for f in fits}))
            self.assertEqual(len(os.listdir(folder)), 2)
            with reprise.open(fits[1].archive_) as a:
                self.assertEqual(a.id, fits[1].archive_id_)
                said = bytes(a.tensors("data/tensors")["note"]).decode()
            self.assertIn('"alpha":2.0', said)
            self.assertIn("not in this archive and are not replayed", said)

    def test_a_pickle_of_another_version_is_refused(self):
        x, y = make_classification(60, 4, random_state=1)
        fit = Ridge().fit(x, y)
        self.assertEqual(pickle.loads(pickle.dumps(fit)).coef_.tolist(), fit.coef_.tolist())
        for version in (0, None):
            state = dict(fit.__getstate__(), _reprise_pickle=version)
            with self.assertRaisesRegex(ValueError, "a pickle of Ridge of version"):
                Ridge().__setstate__(state)

    def test_the_blocks_of_the_documentation_do_what_they_say(self):
        text = (Path(__file__).resolve().parents[3] / "docs" / "python-sklearn.md").read_text()
        names, before = {}, os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for block in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M):
                exec(compile(block, "python-sklearn.md", "exec"), names)
                for line, said in re.findall(r"^(.*?)\s+# -> (.*)$", block, re.M):
                    self.assertEqual(repr(eval(line, names)), said, line)
            os.chdir(before)


class GeneralisedLinear(unittest.TestCase):
    """Against equations that the best fit has to meet, and scikit-learn's own."""

    def rows(self, n=240):
        random = np.random.default_rng(5)
        x = random.normal(size=(n, 3)) * [1, 10, 0.01] + [0, 100, 3]
        eta = (x - [0, 100, 3]) @ [0.3, -0.02, 10.0] + 0.4
        return x, eta, random

    def test_the_slope_of_the_likelihood_is_zero_for_every_family_and_link(self):
        x, eta, random = self.rows()
        mu, e, w = np.exp(eta), random.uniform(0.5, 2, len(x)), random.uniform(0.5, 2, len(x))
        count, amount = random.poisson(mu).astype(float), random.gamma(3, mu / 3)
        for family, link, y, variance, slope in (
                ("normal", None, amount, lambda m: 1 + 0 * m, lambda m: 1 + 0 * m),
                ("normal", "log", amount, lambda m: 1 + 0 * m, lambda m: m),
                ("poisson", None, count, lambda m: m, lambda m: m),
                ("poisson", "sqrt", count, lambda m: m, lambda m: 2 * np.sqrt(m)),
                ("gamma", None, amount, lambda m: m ** 2, lambda m: m),
                ("gamma", "inverse", amount, lambda m: m ** 2, lambda m: -m ** 2),
                ("inverse gaussian", "inverse squared", amount, lambda m: m ** 3, lambda m: -m ** 3 / 2),
                ("tweedie", None, count, lambda m: m ** 1.5, lambda m: m),
                ("binomial", None, (count > 1) * 1.0, lambda m: m * (1 - m), lambda m: m * (1 - m))):
            with self.subTest(family=family, link=link):
                fit = GLM(family, link).fit(x, y, sample_weight=w)
                m = fit.predict(x)
                pull = w * (y - m) / variance(m) * slope(m)
                design = np.c_[x - x.mean(0), np.ones(len(x))]
                scale = np.abs(design).T @ np.abs(pull)
                self.assertLess(np.max(np.abs(design.T @ pull) / scale), 1e-9)
                gram = design.T @ (design * (w * slope(m) ** 2 / variance(m))[:, None])
                errors = np.sqrt(np.diag(np.linalg.inv(gram)) * fit.dispersion_)
                np.testing.assert_allclose(fit.standard_errors_, errors[:3], rtol=1e-9)
        shifted = GLM("poisson").fit(x, count, exposure=e)
        again = GLM("poisson").fit(x, count, offset=np.log(e))
        np.testing.assert_allclose(shifted.coef_, again.coef_, rtol=1e-9)
        self.assertAlmostEqual(float(shifted.predict(x, exposure=e).sum()), count.sum(), places=7)
        self.assertGreater(shifted.null_deviance_, shifted.deviance_)

    def test_it_is_what_scikit_learn_finds(self):
        x, eta, random = self.rows()
        x = (x - x.mean(0)) / x.std(0)
        y = random.gamma(3, np.exp(eta) / 3)
        theirs = sklearn.linear_model.GammaRegressor(alpha=0.1, tol=1e-10, max_iter=10000).fit(x, y)
        ours = GLM("gamma", alpha=0.1).fit(x, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        self.assertAlmostEqual(ours.score(x, y), theirs.score(x, y), places=8)
        self.assertFalse(hasattr(ours, "standard_errors_"))

    def test_a_column_that_others_explain_has_no_error(self):
        x, eta, random = self.rows()
        x = np.c_[x, x[:, 0] * 2, np.full(len(x), 7.0)]
        y = random.poisson(np.exp(eta)).astype(float)
        fit, plain = GLM("poisson").fit(x, y), GLM("poisson").fit(x[:, :3], y)
        self.assertEqual(fit.coef_[3:].tolist(), [0.0, 0.0])
        self.assertTrue(np.isnan(fit.standard_errors_[3:]).all())
        self.assertEqual(fit.df_resid_, plain.df_resid_)
        np.testing.assert_allclose(fit.standard_errors_[:3], plain.standard_errors_, rtol=1e-9)

    def test_targets_offsets_and_links_that_do_not_fit_are_refused(self):
        x, eta, random = self.rows(20)
        y = np.exp(eta)
        for estimator, target, how, said in (
                (GLM("poisson"), -y, {}, "takes targets from 0"), (GLM("gamma"), y * 0, {}, "above 0"),
                (GLM("binomial"), y + 1, {}, "from 0 to 1"), (GLM("poisson", "logit"), y, {}, "between 0 and 1"),
                (GLM("poison"), y, {}, "family 'poison'"), (GLM("tweedie", power=0.5), y, {}, "power is 0.5"),
                (GLM("gamma", "inverse"), y, {"exposure": y}, "link 'log'"), (GLM("poisson"), y, {"exposure": -y}, "above 0"),
                (GLM("poisson"), y, {"exposure": y, "offset": y}, "one of the two"), (GLM("poisson"), y * 0, {}, "no finite estimate"),
                (GLM("poisson"), y, {"offset": y[:3]}, "each of the 20 rows")):
            with self.assertRaisesRegex(ValueError, said):
                estimator.fit(x, target, **how)
        apart = (x[:, 0] > 0) * 1.0
        with self.assertWarnsRegex(UserWarning, "did not end"):
            GLM("binomial").fit(x, apart)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            GLM("binomial", alpha=1e-9).fit(x * 100, apart)  # a penalty keeps them finite, however near 1 a probability is

    def test_infinite_estimates_are_told_where_the_weights_run_out_first(self):
        side = np.arange(60) >= 30
        for family, y in (("poisson", np.where(side, 3.0, 0.0)), ("binomial", np.where(side, np.arange(60) % 2, 0.0))):
            with self.assertWarnsRegex(UserWarning, "estimates are infinite"):
                GLM(family).fit(side[:, None] * 1.0, y)

    def test_columns_of_no_squares_offsets_left_out_and_links_set_later(self):
        x, eta, random = self.rows(20)
        y = random.poisson(np.exp(eta)).astype(float)
        for unit in (1e-200, 1e200):
            with self.assertRaisesRegex(ValueError, "column 1 has"):
                GLM("poisson").fit(np.c_[x[:, 0], x[:, 1] * unit], y)
        fit = GLM("poisson").fit(x, y, exposure=y + 1)
        with self.assertRaisesRegex(ValueError, "fitted with an offset"):
            fit.predict(x)
        plain = GLM("poisson").fit(x, y)
        means, share = plain.predict(x), plain.score(x, y)
        plain.set_params(link="identity", family="normal")
        self.assertEqual((plain.predict(x).tolist(), plain.score(x, y)), (means.tolist(), share))
        with self.assertRaisesRegex(ValueError, "not negative"):
            plain.score(x, y, sample_weight=-np.ones(20))
        self.assertEqual(plain.score(x, y[:, None]), share)
        for target, said in ((y[:19], "inconsistent"), (y + np.nan, "finite")):
            with self.assertRaisesRegex(ValueError, said):
                plain.score(x, target)
        normal = GLM().fit(x, y)
        self.assertEqual(normal.score(x, np.ones(20)), 0.0)  # a fold of one value

    def test_the_archive_has_the_loop_and_a_warm_start(self):
        x, eta, random = self.rows(40)
        y = random.poisson(np.exp(eta)).astype(float)
        with tempfile.TemporaryDirectory() as folder:
            fit = GLM("poisson", archive=os.path.join(folder, "a"), warm_start=True).fit(x, y)
            with reprise.open(fit.archive_) as a:
                self.assertEqual(a.programs[1].counts()["while"], 1)
            self.assertTrue(calls.replay(fit.archive_, threads=1).identical)
            cold, steps = fit.coef_, fit.n_iter_
            fit.fit(x, y)
            self.assertLess(fit.n_iter_, steps)
            np.testing.assert_allclose(fit.coef_, cold, rtol=1e-9)
            self.assertTrue(calls.replay(fit.archive_, threads=1).identical)


if __name__ == "__main__":
    unittest.main()
