# SPDX-License-Identifier: Apache-2.0
"""Operators of ai.onnx.ml beside the official reference, what is refused of them, and outputs that are left out."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import reprise
from reprise import onnx as importer

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64, "int32": TensorProto.INT32}
NAN = float("nan")


def model(nodes, x, outputs, weights=()):
    """outputs: {name: element type}; labels have one axis, categories three."""
    axes = 3 if nodes[0].op_type == "OneHotEncoder" else 2
    made = [helper.make_tensor_value_info(n, t, [None] * (1 if n == "label" else axes)) for n, t in outputs.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TYPES[x.dtype.name], list(x.shape))], made,
                              [numpy_helper.from_array(a, n) for n, a in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 4)], ir_version=8)


def one(kind, x, to=TensorProto.FLOAT, **attributes):
    return model([helper.make_node(kind, ["x"], ["y"], domain="ai.onnx.ml", **attributes)], x, {"y": to})


def two(kind, x, **attributes):
    """A classifier: labels and scores."""
    return model([helper.make_node(kind, ["x"], ["label", "p"], domain="ai.onnx.ml", **attributes)], x,
                 {"label": TensorProto.INT64, "p": TensorProto.FLOAT})


def grown(random, depth, columns, trees, leaf):
    """Whole trees with the modes of both converters; `leaf` gives a leaf's (target, weight) pairs."""
    nodes, votes = [], []
    for t in range(trees):
        count = 2 ** (depth + 1) - 1
        for i in range(count):
            inner = 2 * i + 2 < count
            nodes.append((t, i, int(random.integers(columns)) if inner else 0, float(random.normal()) if inner else 0.0,
                          ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT")[t % 3] if inner else "LEAF",
                          2 * i + 1 if inner else 0, 2 * i + 2 if inner else 0, int(random.integers(2))))
            votes += [] if inner else [(t, i, k, float(np.float32(w))) for k, w in leaf()]
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")
    return {f"nodes_{n}": [row[i] for row in nodes] for i, n in enumerate(names)}, votes


def target(votes, prefix):
    """Leaves' weights as attributes."""
    return {f"{prefix}_{n}": [v[i] for v in votes] for i, n in enumerate(("treeids", "nodeids", "ids", "weights"))}


def machine(random, kind="RBF", each=(2, 1, 3), columns=3, **more):
    """Attributes of a SVMClassifier."""
    count, classes = sum(each), len(each)
    return {"kernel_type": kind, "kernel_params": [0.5, 0.25, 2.0], "vectors_per_class": list(each),
            "support_vectors": random.normal(size=count * columns).tolist(), "coefficients": random.normal(size=count * (classes - 1)).tolist(),
            "rho": random.normal(size=classes * (classes - 1) // 2).tolist(), "classlabels_ints": [3, 5, 9, 11][:classes], **more}


def forest(x, leaves=4, **more):
    """A TreeEnsemble of two trees, of every mode, of the form that version 5 has."""
    array = lambda name, a: helper.make_tensor(name, TYPES[x.dtype.name], [len(a)], a)
    kept = {"n_targets": 2, "aggregate_function": 1, "tree_roots": [0, 3], "nodes_featureids": [0, 1, 2, 2, 1, 0],
            "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [6], [0, 1, 2, 3, 4, 5]),
            "nodes_splits": array("s", [0.1, -0.2, 0.3, 0.0, 0.5, 0.25]), "nodes_truenodeids": [1, 0, 2, 4, 1, 0],
            "nodes_falsenodeids": [2, 1, 3, 5, 2, 3], "nodes_trueleafs": [0, 1, 1, 0, 1, 1], "nodes_falseleafs": [0, 1, 1, 0, 1, 1],
            "nodes_missing_value_tracks_true": [1, 0, 1, 0, 1, 0], "leaf_targetids": [0, 1, 1, 0][:leaves],
            "leaf_weights": array("w", [1.5, -2.25, 3.125, 0.5][:leaves]), **more}
    proto = one("TreeEnsemble", x, TYPES[x.dtype.name], **kept)
    proto.opset_import[1].version = 5
    return proto


def examples():
    """Models that the fuzzer changes."""
    random, x = np.random.default_rng(3), np.zeros((2, 3), np.float32)
    numbers = np.zeros((2, 1), np.int64)
    nodes, votes = grown(random, 2, 3, 3, lambda: [(k, random.normal()) for k in range(3)])
    single, scores = grown(random, 2, 3, 3, lambda: [(0, random.normal())])
    return [one("Scaler", x, offset=[1.0], scale=[2.0, 3.0, 4.0]), one("Normalizer", x, norm="L2"), one("Binarizer", x, threshold=0.2),
            one("Imputer", x, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=NAN),
            one("OneHotEncoder", numbers, cats_int64s=[0, 1, 2], zeros=1),
            one("LabelEncoder", numbers, TensorProto.INT64, keys_int64s=[0, 1], values_int64s=[5, 6], default_int64=7),
            model([helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["y"], domain="ai.onnx.ml")], x, {"y": TensorProto.FLOAT},
                  [("i", np.array([2, 0]))]),
            one("LinearRegressor", x, coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], intercepts=[0.5, 1.0], targets=2, post_transform="NONE"),
            two("LinearClassifier", x, coefficients=random.normal(size=9).tolist(), intercepts=[0.1, 0.2, 0.3],
                classlabels_ints=[0, 1, 2], post_transform="SOFTMAX"),
            one("SVMRegressor", x, kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0], n_supports=2, rho=[0.5],
                support_vectors=random.normal(size=6).tolist(), coefficients=[1.0, -1.0]),
            one("TreeEnsembleRegressor", x, n_targets=3, aggregate_function="SUM", **nodes, **target(votes, "target")),
            two("TreeEnsembleClassifier", x, classlabels_int64s=[4, 5, 6], post_transform="SOFTMAX", **nodes, **target(votes, "class")),
            two("TreeEnsembleClassifier", x, classlabels_int64s=[0, 1], post_transform="LOGISTIC", **single, **target(scores, "class")),
            two("SVMClassifier", x, **machine(random)), forest(x),
            two("SVMClassifier", x, **machine(random), prob_a=[-1.0, -2.0, -0.5], prob_b=[0.1, 0.0, 0.2])]


def libsvm(values, k):
    """Probabilities of k classes of those of each two, 1 / (1 + exp(value)), as libsvm's multiclass_probability has it."""
    r = np.zeros((k, k))
    for value, (i, j) in zip(values, [(i, j) for i in range(k) for j in range(i + 1, k)]):
        r[i, j] = np.clip(1 / (1 + np.exp(value)), 1e-7, 1 - 1e-7)
        r[j, i] = 1 - r[i, j]
    q = -r.T * r
    np.fill_diagonal(q, (r ** 2).sum(0))
    p = np.full(k, 1 / k)
    for _ in range(max(100, k)):
        qp = q @ p
        pqp = p @ qp
        if np.abs(qp - pqp).max() < 0.005 / k:
            break
        for t in range(k):
            move = (pqp - qp[t]) / q[t, t]
            p[t] += move
            pqp = (pqp + move * (move * q[t, t] + 2 * qp[t])) / (1 + move) ** 2
            p, qp = p / (1 + move), (qp + move * q[t]) / (1 + move)
    return p


class MachineLearning(unittest.TestCase):
    def same(self, proto, x, tolerance=2e-6):
        expected = ReferenceEvaluator(proto).run(None, {"x": x})
        loaded = importer.load(proto)
        found = loaded.compile(threads=1)(x=x)
        for info, e in zip(proto.graph.output, expected):
            e = np.asarray(e)
            self.assertEqual(found[info.name].shape, e.shape)
            if e.dtype.kind == "f":
                top = max(1.0, float(np.nanmax(np.abs(e))))
                np.testing.assert_allclose(found[info.name] / top, e / top, rtol=0, atol=tolerance)
            else:
                np.testing.assert_array_equal(found[info.name], e)
        return loaded

    def refused(self, proto, said, **how):
        with self.assertRaisesRegex(importer.Unsupported, said):
            importer.load(proto, **how)

    def setUp(self):
        self.random = np.random.default_rng(1)
        self.x = self.random.normal(size=(9, 3)).astype(np.float32)

    def test_scalers_encoders_and_what_takes_columns(self):
        x, holes, nothing = self.x, self.x.copy(), self.x.copy()
        holes[::3, 1], nothing[0] = np.nan, 0
        numbers = np.array([[1], [4], [7], [4]], np.int64)
        for proto, given in (
                (one("Scaler", x, offset=[1.0, -2.0, 0.5], scale=[2.0, 0.1, 3.0]), x),
                (one("Scaler", x, offset=[1.0], scale=[2.0]), x),
                (one("Normalizer", x, norm="L1"), x), (one("Normalizer", x, norm="L2"), nothing),
                (one("Normalizer", x, norm="L2"), x),
                (one("Binarizer", x, threshold=0.25), x),
                (one("Imputer", x, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=NAN), holes),
                (one("Imputer", x, imputed_value_floats=[5.0], replaced_value_float=NAN), holes),
                (one("Imputer", numbers, TensorProto.INT64, imputed_value_int64s=[9], replaced_value_int64=4), numbers),
                (one("OneHotEncoder", numbers, cats_int64s=[1, 4]), numbers),
                (one("OneHotEncoder", numbers, cats_int64s=[7, 1, 4], zeros=0), numbers),
                (one("LabelEncoder", numbers, keys_int64s=[4, 1], values_floats=[0.5, -2.0], default_float=3.0), numbers),
                (one("LabelEncoder", numbers, TensorProto.INT64, keys_int64s=[4, 1], values_int64s=[50, 60]), numbers),
                (one("LabelEncoder", x, TensorProto.INT64, keys_floats=[float(x[0, 0])], values_int64s=[1], default_int64=2), x)):
            given = np.ascontiguousarray(given.astype({1: np.float32, 7: np.int64}[proto.graph.input[0].type.tensor_type.elem_type]))
            with self.subTest(kind=proto.graph.node[0].op_type):
                self.same(proto, given)
        for index in (np.array([2, 0], np.int64), np.array([[1]], np.int64)):
            self.same(model([helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["y"], domain="ai.onnx.ml")], x,
                            {"y": TensorProto.FLOAT}, [("i", index)]), x)

    def test_an_unknown_category_is_an_error_of_the_run_where_the_model_says_so(self):
        numbers = np.array([[1], [5]], np.int64)
        strict = importer.load(one("OneHotEncoder", numbers, cats_int64s=[1, 4], zeros=0)).compile(threads=1)
        with self.assertRaises(reprise.Error):
            strict(x=numbers)

    def test_linear_models_are_states_and_are_trained(self):
        x = self.x
        self.same(one("LinearRegressor", x, coefficients=[1.0, -2.0, 0.5, 0.1, 0.2, 0.3], intercepts=[3.0, -1.0], targets=2), x)
        w = self.random.normal(size=9).astype(np.float32).tolist()
        for how in ("NONE", "LOGISTIC", "SOFTMAX"):
            found = self.same(two("LinearClassifier", x, coefficients=w, intercepts=[0.1, 0.2, -0.4], classlabels_ints=[5, 2, 9],
                                  post_transform=how), x)
        self.assertEqual(sorted(found.weights), ["label.coefficients", "label.intercepts"])
        binary = two("LinearClassifier", x, coefficients=w[:3], intercepts=[0.1], classlabels_ints=[0, 1], post_transform="LOGISTIC")
        self.same(binary, x)
        b = reprise.Builder()
        made = importer.into(b, binary, {"x": b.feed("x", x.shape, "f32")}, outputs=["p"])
        loss = b.append("mean", {"axes": [0, 1]}, [b.append("mul", {}, [made.outputs["p"], made.outputs["p"]])])
        slopes = b.gradients([loss], [made.weights[n] for n in sorted(made.weights)])
        for k, s in enumerate(slopes):
            b.result(f"g{k}", s)
        run = reprise.Run(threads=1)
        for name, array in made.first.items():
            run.add_state(name, array)
        for name, array in made.data.items():
            run.add_data(name, array)
        found = run.compile(b.finish())(x=x)
        self.assertGreater(float(np.abs(np.array(found["g0"])).max()), 0)

    def test_support_vectors_of_every_kernel(self):
        s = self.random.normal(size=(4, 3)).astype(np.float32)
        for kind, parameters in (("LINEAR", [0.5, 0.0, 3.0]), ("RBF", [0.3, 0.0, 3.0]), ("POLY", [0.5, 1.0, 2.0]),
                                 ("SIGMOID", [0.2, 0.1, 0.0])):
            with self.subTest(kind=kind):
                self.same(one("SVMRegressor", self.x, kernel_type=kind, kernel_params=parameters, n_supports=4, rho=[0.7],
                              support_vectors=s.reshape(-1).tolist(), coefficients=[1.0, -2.0, 0.5, 0.25]), self.x)

    def test_support_vectors_vote_between_each_two_classes(self):
        for kind in ("LINEAR", "RBF", "POLY", "SIGMOID"):
            for each in ((2, 2), (3, 1, 2), (1, 2, 2, 3)):
                with self.subTest(kind=kind, each=each):
                    self.same(two("SVMClassifier", self.x, **machine(self.random, kind, each)), self.x)
        for bad, said in (({"prob_a": [1.0] * 3, "prob_b": [0.0] * 2}, "probabilities"), ({"prob_a": [1.0] * 3}, "probabilities"), ({"vectors_per_class": [1, 1, 2]}, "supports of"),
                          ({"vectors_per_class": [1 << 40, 1, 2]}, "supports of"), ({"coefficients": [1.0] * 12}, "none of which"),
                          ({"post_transform": "LOGISTIC"}, "LOGISTIC"), ({"rho": [0.0]}, "supports of"),
                          ({"vectors_per_class": [-1, 4, 3]}, "supports of")):
            with self.subTest(said=said, bad=bad):
                self.refused(two("SVMClassifier", self.x, **machine(self.random, **bad)), said)

    def test_probabilities_of_classes_come_of_those_of_each_two(self):
        """Beside libsvm's own rule and onnxruntime, which has it; the reference's sum over a class's others is another one."""
        random, x = np.random.default_rng(8), np.random.default_rng(9).normal(size=(150, 3)).astype(np.float32)
        for each in ((3, 2), (2, 1, 3), (2, 2, 2, 3)):
            k, pairs = len(each), len(each) * (len(each) - 1) // 2
            votes = machine(random, "RBF", each, coefficients=(random.normal(size=sum(each) * (k - 1)) - 0.2).tolist())
            a, b = -random.uniform(0.5, 3, pairs), random.normal(size=pairs) / 2
            proto = two("SVMClassifier", x, **votes, prob_a=a.tolist(), prob_b=b.tolist())
            names = [o.name for o in proto.graph.output]
            found = importer.load(proto).compile(threads=1)(x=x)
            shown = importer.load(two("SVMClassifier", x, **votes)).compile(threads=1)(x=x)
            self.assertEqual(found[names[0]].tolist(), shown[names[0]].tolist())  # the label is that of the votes
            scores = shown[names[1]][:, 1:] if k == 2 else shown[names[1]]  # of two classes the other side comes first
            expected = np.array([libsvm(row * a.astype(np.float32) + b.astype(np.float32), k) for row in scores.astype(np.float64)])
            self.assertLess(np.quantile(np.abs(found[names[1]] - expected).max(1), 0.98), 2e-6)  # one on the bound's edge may go on
            np.testing.assert_allclose(found[names[1]], expected, atol=0.01)
            if importlib.util.find_spec("onnxruntime") is not None:
                import onnxruntime
                theirs = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
                self.assertEqual(found[names[0]].tolist(), theirs[0].tolist())
                self.assertLess(np.quantile(np.abs(found[names[1]] - theirs[1]).max(1), 0.98), 2e-6)
        with self.assertRaisesRegex(importer.Unsupported, "33 classes"):
            each = (1,) * 33
            importer.load(two("SVMClassifier", x, **dict(machine(random, "RBF", each), classlabels_ints=list(range(33))),
                              prob_a=[-1.0] * 528, prob_b=[0.0] * 528))

    def test_ensembles_of_version_5_have_lists_of_leaves(self):
        holes = self.x.copy()
        holes[::3, 1] = holes[1::3, 2] = NAN
        holes[4] = [0.25, 0.5, 0.3]  # where equality decides
        for x in (holes, holes.astype(np.float64)):
            for how in (0, 1):
                self.same(forest(x, aggregate_function=how), x)
        for bad, said in (({"tree_roots": [0, 6]}, "roots"), ({"tree_roots": [-1]}, "roots"), ({"aggregate_function": 2}, "aggregate_function 2"),
                          ({"nodes_truenodeids": [0, 0, 2, 4, 1, 0]}, "in a circle"), ({"nodes_falsenodeids": [2, 1, 4, 5, 2, 3]}, "no leaf"),
                          ({"nodes_falsenodeids": [1 << 40, 1, 3, 5, 2, 3]}, "no leaf"), ({"nodes_featureids": [0, 1, 2, 2, 1, 7]}, "columns"),
                          ({"leaf_targetids": [0, 1, 2, 0]}, "target"), ({"n_targets": 1 << 40}, "targets"), ({"nodes_trueleafs": [2] * 6}, "no leaf"),
                          ({"nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [6], [6] * 6)}, "modes")):
            with self.subTest(said=said, bad=bad):
                self.refused(forest(self.x, **bad), said)

    def test_trees_go_down_by_every_mode_and_missing_values_where_the_node_says(self):
        x = np.repeat(self.x, 4, 0)
        x[::5, 0], x[3::7, 1] = np.nan, np.nan
        nodes, votes = grown(self.random, 4, 3, 6, lambda: [(k, self.random.normal()) for k in range(2)])
        for how in ("SUM", "AVERAGE"):
            self.same(one("TreeEnsembleRegressor", x, n_targets=2, aggregate_function=how, base_values=[0.5, -1.0],
                          **nodes, **target(votes, "target")), x)
        nodes, votes = grown(self.random, 3, 3, 5, lambda: [(k, self.random.uniform(0.1, 1)) for k in range(3)])
        for how in ("NONE", "SOFTMAX", "LOGISTIC"):
            self.same(two("TreeEnsembleClassifier", x, classlabels_int64s=[4, 7, 1], post_transform=how, **nodes,
                          **target(votes, "class")), x)
        nodes, votes = grown(self.random, 3, 3, 5, lambda: [(0, self.random.normal())])
        self.same(two("TreeEnsembleClassifier", x, classlabels_int64s=[0, 1], post_transform="LOGISTIC", base_values=[0.2],
                      **nodes, **target(votes, "class")), x)
        self.refused(two("TreeEnsembleClassifier", x, classlabels_int64s=[0, 1], post_transform="NONE", **nodes, **target(votes, "class")),
                     "readers of the standard differ")
        broken = dict(nodes, nodes_truenodeids=[0 if n else n for n in nodes["nodes_truenodeids"]])
        self.refused(two("TreeEnsembleClassifier", x, classlabels_int64s=[0, 1], post_transform="LOGISTIC", **broken,
                         **target(votes, "class")), "root|circle")
        nodes["nodes_featureids"][0] = 3
        self.refused(two("TreeEnsembleClassifier", x, classlabels_int64s=[0, 1], post_transform="LOGISTIC", **nodes,
                         **target(votes, "class")), "outside of 3 columns")

    def test_what_readers_of_the_standard_read_differently_is_refused(self):
        x, numbers = self.x, np.array([[1]], np.int64)
        line = {"coefficients": [1.0, 2.0, 3.0], "intercepts": [0.0]}
        for proto, said in (
                (one("Normalizer", x, norm="MAX"), "norm MAX"),
                (two("LinearClassifier", x, classlabels_ints=[0, 1], post_transform="SOFTMAX", **line), "one target"),
                (two("LinearClassifier", x, classlabels_ints=[0, 1], post_transform="PROBIT", coefficients=[1.0] * 6,
                     intercepts=[0.0, 1.0]), "PROBIT"),
                (one("LinearRegressor", x, post_transform="LOGISTIC", **line), "LOGISTIC"),
                (one("OneHotEncoder", x, cats_int64s=[1]), "f32"), (one("OneHotEncoder", numbers, cats_int64s=[1, 1]), "twice"),
                (one("LabelEncoder", x, keys_floats=[NAN], values_floats=[1.0]), "NaN"),
                (one("LabelEncoder", numbers, keys_int64s=[1], values_strings=["a"]), "texts"),
                (one("Scaler", x, offset=[1.0, 2.0], scale=[1.0]), "offset of 2"),
                (one("SVMRegressor", x, kernel_type="RBF", n_supports=1, rho=[0.0], one_class=1, support_vectors=[0.0] * 3,
                     coefficients=[1.0]), "one_class"),
                (one("SVMRegressor", x, kernel_type="RBF", n_supports=1, rho=[0.0], support_vectors=[0.0] * 3, coefficients=[1.0]),
                 "kernel_params"),
                (one("CategoryMapper", numbers, cats_int64s=[1], cats_strings=["a"]), "CategoryMapper: operators of the domain")):
            with self.subTest(said=said):
                self.refused(proto, said)

    def test_labels_that_are_texts_are_left_out_by_the_outputs_that_are_named(self):
        node = helper.make_node("LinearClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", coefficients=[1.0, 0, 0, 0, 1.0, 0],
                                intercepts=[0.0, 0.1], classlabels_strings=["no", "yes"], post_transform="SOFTMAX")
        maps = helper.make_node("ZipMap", ["p"], ["map"], domain="ai.onnx.ml", classlabels_strings=["no", "yes"])
        proto = model([node, maps], self.x, {"label": TensorProto.STRING, "p": TensorProto.FLOAT, "map": TensorProto.FLOAT})
        self.refused(proto, r"the output label, which is of texts.*outputs=")
        found = importer.load(proto, outputs=["map", "p"])
        self.assertEqual(list(found.outputs), ["map", "p"])
        z = self.x @ np.array([[1.0, 0], [0, 1], [0, 0]]) + [0.0, 0.1]
        made = found.compile(threads=1)(x=self.x)
        np.testing.assert_allclose(made["p"], np.exp(z) / np.exp(z).sum(1, keepdims=True), rtol=1e-6)
        np.testing.assert_array_equal(made["map"], made["p"])
        with self.assertRaisesRegex(ValueError, "the model has"):
            importer.load(proto, outputs=["q"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with open(path, "wb") as f:
                f.write(proto.SerializeToString())
            files = [os.path.join(folder, n) for n in ("p.json", "w.safetensors")]
            done = subprocess.run([sys.executable, "-m", "reprise", "import", path, "-o", *files, "--output", "p"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("output p: result out.p f32[9, 2]", done.stdout)

    def test_what_leads_to_other_outputs_alone_is_not_looked_at(self):
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node(
            "TfIdfVectorizer", ["a"], ["b"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0],
            ngram_indexes=[0], pool_int64s=[1])]
        proto = model(nodes, self.x, {"a": TensorProto.FLOAT, "b": TensorProto.FLOAT})
        self.refused(proto, "TfIdfVectorizer")
        made = importer.load(proto, outputs=["a"]).compile(threads=1)(x=self.x)
        np.testing.assert_array_equal(made["a"], np.maximum(self.x, 0))


if __name__ == "__main__":
    unittest.main()
