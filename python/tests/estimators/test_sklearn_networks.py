# SPDX-License-Identifier: Apache-2.0
"""Networks beside scikit-learn's own, which are given the same draws: where they stop, what they keep, fits in parts; and
what each estimator's parameters are beside scikit-learn's."""
import importlib.util
import inspect
import os
import pickle
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import numpy as np

if importlib.util.find_spec("sklearn") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: scikit-learn is not installed"))
    raise unittest.SkipTest("scikit-learn is not installed")

import sklearn.linear_model
import sklearn.neural_network
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from sklearn.neural_network import _multilayer_perceptron as peer

import reprise
from reprise import command_calls as calls
from reprise.sklearn import GLM, LinearRegression, LogisticRegression, MLPClassifier, MLPRegressor, Ridge

PAIRS = {MLPClassifier: sklearn.neural_network.MLPClassifier, MLPRegressor: sklearn.neural_network.MLPRegressor,
         Ridge: sklearn.linear_model.Ridge, LinearRegression: sklearn.linear_model.LinearRegression,
         LogisticRegression: sklearn.linear_model.LogisticRegression, GLM: sklearn.linear_model.TweedieRegressor}


def draws():
    """scikit-learn's networks with the first weights and orders of ours (biases of 0, orders that do not build on each other), and
    Adam's epsilon beside the corrected moment, as its paper's algorithm has it."""
    def first(self, fan_in, fan_out, dtype):
        return self._random_state.uniform(-1, 1, (fan_in, fan_out)) * np.sqrt(6.0 / (fan_in + fan_out)), np.zeros(fan_out)

    def updates(self, grads):
        self.t += 1
        self.ms = [self.beta_1 * m + (1 - self.beta_1) * g for m, g in zip(self.ms, grads)]
        self.vs = [self.beta_2 * v + (1 - self.beta_2) * (g ** 2) for v, g in zip(self.vs, grads)]
        return [-self.learning_rate_init * (m / (1 - self.beta_1 ** self.t)) / (np.sqrt(v / (1 - self.beta_2 ** self.t)) + self.epsilon)
                for m, v in zip(self.ms, self.vs)]
    return mock.patch.object(peer.BaseMultilayerPerceptron, "_init_coef", first), mock.patch.object(
        peer, "shuffle", lambda index, random_state: random_state.permutation(len(index))), mock.patch.object(
        peer.AdamOptimizer, "_get_updates", updates)


def tables():
    for classes in (2, 3):
        x, y = make_classification(150, 6, n_informative=4, n_redundant=0, n_classes=classes, random_state=classes)
        yield MLPClassifier, x, np.array(["low", "mid", "top"])[y]
    for targets in (1, 2):
        x, y = make_regression(150, 4, n_targets=targets, random_state=1)
        yield MLPRegressor, x, y / 50


class Networks(unittest.TestCase):
    def setUp(self):
        for patch in draws():
            patch.start()
            self.addCleanup(patch.stop)
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def alike(self, ours, theirs, x):
        self.assertEqual((ours.n_iter_, ours.t_), (theirs.n_iter_, theirs.t_))
        np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-9)
        for a, b in zip([*ours.coefs_, *ours.intercepts_], [*theirs.coefs_, *theirs.intercepts_]):
            np.testing.assert_allclose(a, b, atol=1e-8)
        a, b = ours.predict(x), theirs.predict(x)
        self.assertEqual(a.shape, b.shape)
        self.assertTrue((a == b).all() if a.dtype.kind == "U" else np.allclose(a, b, atol=1e-7))

    def test_they_stop_where_scikit_learns_do(self):
        stopped = 0
        for kind, x, y in tables():
            for more in ({}, {"early_stopping": True}, {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 2},
                         {"n_iter_no_change": 1, "tol": 0.03}, {"n_iter_no_change": np.inf, "early_stopping": True},
                         {"tol": 0.0, "early_stopping": True, "batch_size": 40}):
                with self.subTest(kind=kind.__name__, outputs=y.ndim, more=more):
                    given = dict(hidden_layer_sizes=(8, 5), max_iter=40, learning_rate_init=0.02, random_state=3, tol=1e-3)
                    ours, theirs = (k(**{**given, **more}).fit(x, y) for k in (kind, PAIRS[kind]))
                    self.alike(ours, theirs, x)
                    stopped += ours.n_iter_ < 40
                    if "early_stopping" not in more:
                        self.assertIsNone(ours.validation_scores_)
                        self.assertAlmostEqual(ours.best_loss_, theirs.best_loss_, places=6)
                        continue
                    self.assertIsNone(ours.best_loss_)
                    np.testing.assert_allclose(ours.validation_scores_, theirs.validation_scores_, atol=1e-9)
                    self.assertAlmostEqual(ours.best_validation_score_, theirs.best_validation_score_, places=5)
        self.assertGreater(stopped, 8)  # else nothing here would tell one rule of stopping from another

    def test_weights_of_rows_count_in_the_score(self):
        x, y = make_classification(200, 6, n_informative=4, flip_y=0.3, random_state=5)
        w = np.random.default_rng(2).uniform(0.1, 3, 200)
        for kind, target in ((MLPClassifier, y), (MLPRegressor, x[:, 0] + y)):
            given = dict(hidden_layer_sizes=(8,), max_iter=30, learning_rate_init=0.02, random_state=3, early_stopping=True)
            ours, theirs = (k(**given).fit(x, target, w) for k in (kind, PAIRS[kind]))
            self.assertEqual(ours.n_iter_, theirs.n_iter_)
            np.testing.assert_allclose(ours.validation_scores_, theirs.validation_scores_, atol=1e-6)

    def test_a_score_of_targets_that_are_all_one(self):
        x = np.random.default_rng(1).normal(size=(40, 3))
        for y in (np.full(40, 2.5), np.zeros(40)):
            given = dict(hidden_layer_sizes=(4,), max_iter=3, random_state=0, early_stopping=True)
            ours, theirs = (k(**given).fit(x, y) for k in (MLPRegressor, PAIRS[MLPRegressor]))
            self.assertEqual(ours.validation_scores_, theirs.validation_scores_)

    def test_parts_are_learnt_as_scikit_learn_does(self):
        for kind, x, y in tables():
            with self.subTest(kind=kind.__name__, outputs=y.ndim):
                given = dict(hidden_layer_sizes=(8,), learning_rate_init=0.02, random_state=3, batch_size=20, max_iter=5)
                ours, theirs = kind(**given), PAIRS[kind](**given)
                for k, part in enumerate(np.array_split(np.arange(150), 4)):
                    more = {"classes": np.unique(y)} if k == 0 and kind is MLPClassifier else {}
                    for e in (ours, theirs):
                        e.partial_fit(x[part], y[part], **more)
                    if k == 1:  # what goes on is in a pickle too
                        ours = pickle.loads(pickle.dumps(ours))
                self.alike(ours, theirs, x)
                self.assertEqual(len(ours.loss_curve_), 4)
                for e in (ours, theirs):
                    e.fit(x, y).partial_fit(x, y)  # on from a fit, with its moments
                self.alike(ours, theirs, x)

    def test_parts_that_do_not_fit_are_refused(self):
        x, y = make_classification(40, 4, random_state=1)
        with self.assertRaisesRegex(ValueError, "classes must be passed on the first call"):
            MLPClassifier().partial_fit(x, y)
        net = MLPClassifier(hidden_layer_sizes=(3,), random_state=0).partial_fit(x, y, classes=[0, 1])
        kept = pickle.dumps(net)
        with self.assertRaisesRegex(ValueError, "not the same as on last call"):
            net.partial_fit(x, y, classes=[0, 2])
        with self.assertRaisesRegex(ValueError, r"classes \[2\] that are not among \[0 1\]"):
            net.partial_fit(x, y * 2)
        with self.assertRaisesRegex(ValueError, "3 features"):
            net.partial_fit(x[:, :3], y)
        with self.assertRaisesRegex(ValueError, "early_stopping: partial_fit"):
            net.set_params(early_stopping=True).partial_fit(x, y)
        with self.assertRaisesRegex(ValueError, "cannot be trained on"):
            net.set_params(early_stopping=False, hidden_layer_sizes=(4,)).partial_fit(x, y)
        net.set_params(hidden_layer_sizes=(3,))
        self.assertEqual(pickle.dumps(net), kept)
        regression = MLPRegressor(hidden_layer_sizes=(3,), random_state=0).partial_fit(x, x[:, 0])
        with self.assertRaisesRegex(ValueError, "cannot be trained on"):
            regression.partial_fit(x, x[:, :2])

    def test_an_archive_ends_with_the_weights_that_are_kept(self):
        x, y = make_classification(150, 6, flip_y=0.2, random_state=5)
        with tempfile.TemporaryDirectory() as folder:
            net = MLPClassifier(hidden_layer_sizes=(6,), early_stopping=True, learning_rate_init=0.05, random_state=0, n_iter_no_change=4,
                                archive=os.path.join(folder, "a.reprise")).fit(x, y)
            self.assertLess(np.argmax(net.validation_scores_) + 1, net.n_iter_)  # the last weights are not the best ones
            for n, part in ((1, x[:50]), (2, x[50:])):
                if n == 2:
                    net = pickle.loads(pickle.dumps(net)).set_params(early_stopping=False)
                    net.partial_fit(part, y[50:])
                with reprise.open(net.archive_) as a:
                    final = a.tensors("weights/final")
                    for i, (w, b) in enumerate(zip(net.coefs_, net.intercepts_)):
                        self.assertEqual(np.array(final[f"layer{i}.weight"]).tobytes(), w.tobytes())
                        self.assertEqual(np.array(final[f"layer{i}.bias"]).tobytes(), b.tobytes())
                self.assertTrue(calls.replay(net.archive_, threads=1).identical)


class Parameters(unittest.TestCase):
    def test_one_of_scikit_learn_is_taken_or_refused_by_its_name(self):
        for ours, theirs in PAIRS.items():
            own = set(inspect.signature(ours).parameters)
            for name in inspect.signature(theirs).parameters:
                with self.subTest(estimator=ours.__name__, parameter=name):
                    if name in own:
                        continue
                    with self.assertRaisesRegex(TypeError, f"'{name}'"):
                        ours(**{name: 1})
                    with self.assertRaisesRegex(ValueError, f"'{name}'"):
                        ours().set_params(**{name: 1})

    def test_each_of_a_networks_parameters_does_something(self):
        def made(fit):
            return fit.n_iter_, [w.tobytes() for w in fit.coefs_]
        x, y = make_classification(120, 5, flip_y=0.2, random_state=5)
        given = dict(hidden_layer_sizes=(4,), max_iter=30, learning_rate_init=0.05, random_state=0, early_stopping=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = made(MLPClassifier(**given).fit(x, y))
            for more in ({"hidden_layer_sizes": 5}, {"alpha": 1.0}, {"batch_size": 10}, {"learning_rate_init": 0.01}, {"max_iter": 2},
                         {"tol": 0.2, "n_iter_no_change": 1}, {"n_iter_no_change": 1}, {"random_state": 1}, {"early_stopping": False},
                         {"validation_fraction": 0.4}):
                self.assertNotEqual(made(MLPClassifier(**{**given, **more}).fit(x, y)), plain, more)

    def test_numbers_of_any_kind_are_what_they_are(self):
        x, y = make_regression(20, 3, random_state=1)
        fit = lambda number: MLPRegressor(hidden_layer_sizes=(2,), max_iter=2, alpha=number(0.5), learning_rate_init=number(0.25), tol=number(0),
                                          random_state=0).fit(x, y).coefs_[0].tobytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual({fit(number) for number in (np.float16, np.float32, np.float64)}, {fit(float)})

    def test_values_that_mean_nothing_are_refused_by_the_parameters_name(self):
        x, y = make_classification(30, 4, random_state=1)
        for name, values in {"hidden_layer_sizes": [(0,), (3, 2.5), -1, True], "alpha": [-1.0, np.nan, "tanh", None],
                             "batch_size": [0, -3, 2.5, "all", None], "learning_rate_init": [0, -1e-3, np.inf], "max_iter": [0, 1.5, True],
                             "tol": [-1e-4, np.nan, None], "n_iter_no_change": [0, 2.5, np.nan], "early_stopping": [1, "yes", None],
                             "validation_fraction": [0.0, 1.0, -0.1, 5]}.items():
            for value in values:
                for estimator in (MLPClassifier, MLPRegressor):
                    with self.subTest(name=name, value=value), self.assertRaisesRegex(ValueError, f"^{name} is "):
                        estimator(**{name: value}).fit(x, y)
        with self.assertRaisesRegex(ValueError, "fewer than two"):
            MLPRegressor(early_stopping=True, validation_fraction=0.01).fit(x, y)
        with self.assertWarnsRegex(UserWarning, "batch_size 90 is more") as caught:
            MLPRegressor(batch_size=90, hidden_layer_sizes=(2,), max_iter=200, tol=1.0).fit(x, y)
        self.assertEqual(caught.filename, __file__)
        with self.assertWarns(ConvergenceWarning) as caught:
            MLPClassifier(early_stopping=True, hidden_layer_sizes=(2,), max_iter=2).fit(x, y)
        self.assertEqual(caught.filename, __file__)

    def test_one_column_of_targets_gives_the_shapes_that_scikit_learn_gives(self):
        x = np.random.default_rng(0).normal(size=(30, 3))
        for ours, theirs in PAIRS.items():
            y = (x[:, :1] > 0).astype(int) if ours in (MLPClassifier, LogisticRegression) else np.abs(x[:, :1])
            more = {"max_iter": 300, "tol": 0.1} if ours in (MLPClassifier, MLPRegressor) else {}
            for target in (y, y[:, 0]):
                said = []
                for kind in (ours, theirs):
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        fit = kind(**more).fit(x, target)
                    warned = any(issubclass(w.category, DataConversionWarning) for w in caught)
                    said.append((fit.predict(x).shape, np.shape(getattr(fit, "coef_", 0)), np.shape(getattr(fit, "intercept_", 0)), warned))
                self.assertEqual(said[0], said[1], (ours.__name__, target.shape))


if __name__ == "__main__":
    unittest.main()
