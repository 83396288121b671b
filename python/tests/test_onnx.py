# SPDX-License-Identifier: Apache-2.0
"""ONNX models as programs: the official node tests, whole models beside the official reference, training, files that lie."""
import contextlib
import importlib.util
import io
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "runners")]
if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

import onnx
import onnx_node_tests
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import reprise
from reprise import onnx as importer
from reprise.__main__ import main
from reprise.onnx import graph
from reprise.onnx.graph import HANDLERS, NARROW, carried, returned

BAR = 0.85


def model(nodes, inputs, outputs, weights=(), opset=21, **more):
    """A checked model; inputs and outputs: {name: (type, shape)}."""
    info = lambda of: [helper.make_tensor_value_info(n, t, s) for n, (t, s) in of.items()]
    graph = helper.make_graph(nodes, "g", info(inputs), info(outputs), [numpy_helper.from_array(a, n) for n, a in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, **more)


def picture():
    """A network for images with most of what such have."""
    rng = np.random.default_rng(1)
    w = lambda *s: rng.normal(size=s).astype(np.float32) * 0.3
    weights = [("conv.w", w(4, 3, 3, 3)), ("conv.b", w(4)), ("gamma", w(4)), ("beta", w(4)), ("mean", w(4)),
               ("var", np.abs(w(4)) + 1), ("fc.w", w(5, 4 * 4 * 4)), ("fc.b", w(5)), ("shape", np.array([0, -1]))]
    nodes = [helper.make_node("Conv", ["x", "conv.w", "conv.b"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["a", "gamma", "beta", "mean", "var"], ["b"]),
             helper.make_node("Relu", ["b"], ["c"]),
             helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Reshape", ["d", "shape"], ["e"]),
             helper.make_node("Gemm", ["e", "fc.w", "fc.b"], ["f"], transB=1), helper.make_node("Softmax", ["f"], ["y"])]
    return model(nodes, {"x": (TensorProto.FLOAT, ["batch", 3, 8, 8])}, {"y": (TensorProto.FLOAT, ["batch", 5])}, weights)


class NodeTests(unittest.TestCase):
    def test_the_official_runner_finds_no_wrong_value_and_enough_pass(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            tests, passed, refused, wrong = onnx_node_tests.run()
        self.assertEqual([str(case) for case, _ in wrong], [], said.getvalue()[-3000:])
        self.assertEqual(passed + refused, tests)
        self.assertGreaterEqual(passed, BAR * tests)
        print(f"{tests} node tests of onnx {onnx.__version__}: {passed} pass, {refused} refused by name, none wrong",
              file=sys.stderr)

    def test_the_runner_sees_a_wrong_value(self):
        right = HANDLERS["Relu"]
        self.addCleanup(HANDLERS.update, {"Relu": right})
        HANDLERS["Relu"] = lambda n: n.value(0)
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(len(onnx_node_tests.run("^test_relu_cpu")[3]), 1)


class Models(unittest.TestCase):
    def test_a_side_that_is_a_square_root_is_a_length(self):
        """As exporters find the sides of a square of patches; of no square it is no length."""
        for patches, good in ((16, True), (15, False)):
            square = model([helper.make_node("Pow", ["n", "half"], ["r"]), helper.make_node("Cast", ["r"], ["i"], to=TensorProto.INT64),
                            helper.make_node("Unsqueeze", ["i", "zero"], ["u"]), helper.make_node("Concat", ["u", "u"], ["s"], axis=0),
                            helper.make_node("Reshape", ["x", "s"], ["y"])],
                           {"x": (TensorProto.FLOAT, [patches])}, {"y": (TensorProto.FLOAT, [None, None])},
                           [("n", np.array(patches, np.float32)), ("half", np.array(0.5, np.float32)), ("zero", np.array([0]))])
            if good:
                self.assertEqual(importer.load(square).outputs["y"][2], (4, 4))
            else:
                with self.assertRaisesRegex(importer.Unsupported, "shape"):
                    importer.load(square)

    def test_an_output_shape_takes_the_larger_half_in_front(self):
        """By the standard's text; its node tests have no odd number of places to take away."""
        w = np.array([[[1, 2, 3]]], np.float32)
        transposed = model([helper.make_node("ConvTranspose", ["x", "w"], ["y"], output_shape=[2])],
                           {"x": (TensorProto.FLOAT, [1, 1, 1])}, {"y": (TensorProto.FLOAT, [1, 1, 2])}, [("w", w)])
        y = importer.load(transposed).compile()(x=np.ones((1, 1, 1), np.float32))["y"]
        np.testing.assert_array_equal(y, [[[2, 3]]])

    def test_one_model_is_one_program_in_every_process(self):
        script = "import sys; from reprise import onnx; print(onnx.load(sys.stdin.buffer.read()).program.text)"
        proto = model([helper.make_node("Einsum", ["x"], ["y"], equation="iijj->ij")], {"x": (TensorProto.FLOAT, [2, 2, 3, 3])},
                      {"y": (TensorProto.FLOAT, [2, 3])})
        texts = {subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, input=proto.SerializeToString(),
                                env={**os.environ, "PYTHONHASHSEED": str(seed)}).stdout for seed in (1, 2, 3)}
        self.assertEqual(len(texts), 1)

    def test_a_model_has_the_values_of_the_reference(self):
        x = np.random.default_rng(2).normal(size=(2, 3, 8, 8)).astype(np.float32)
        found = importer.load(picture(), shapes={"batch": 2})
        y = found.compile()(x=x)["y"]
        np.testing.assert_allclose(y, ReferenceEvaluator(picture()).run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)
        self.assertIn("conv.w", found.weights)
        self.assertEqual(found.inputs["x"], ("x", "f32", (2, 3, 8, 8)))
        self.assertEqual(found.program.text, importer.load(picture(), shapes={"batch": 2}).program.text)

    def test_weights_that_decide_a_shape_are_known_and_volumes_are_convolved(self):
        rng = np.random.default_rng(6)
        w = rng.normal(size=(4, 1, 2, 3, 3)).astype(np.float32)
        nodes = [helper.make_node("Conv", ["x", "w"], ["a"], group=2, strides=[2, 1, 1], pads=[1, 1, 1, 0, 1, 1]),
                 helper.make_node("Squeeze", ["a", "axes"], ["b"]),
                 helper.make_node("Resize", ["b", "", "scales"], ["y"], mode="linear")]
        proto = model(nodes, {"x": (TensorProto.FLOAT, [1, 2, 3, 4, 4])}, {"y": (TensorProto.FLOAT, list("abcd"))},
                      [("w", w), ("axes", np.array([0])), ("scales", np.float32([1, 1, 2, 2]))])
        x = rng.normal(size=(1, 2, 3, 4, 4)).astype(np.float32)
        found = importer.load(proto)
        wanted = ReferenceEvaluator(proto).run(None, {"x": x})[0]
        np.testing.assert_allclose(found.compile()(x=x)["y"], wanted, rtol=1e-4, atol=1e-5)
        self.assertEqual(list(found.weights), ["w"])

    def test_the_command_line_writes_program_and_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            source, out = os.path.join(folder, "m.onnx"), [os.path.join(folder, n) for n in ("p.json", "w.safetensors")]
            onnx.save(picture(), source)
            with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as errors:
                self.assertEqual(main(["import", source, "-o", *out]), 5)
                self.assertIn("batch", errors.getvalue())
                self.assertEqual(main(["import", source, "-o", *out, "--shape", "batch=2"]), 0)
                self.assertEqual(main(["import", source, "-o", *out, "--shape", "batch=2"]), 2)
            self.assertIn("input x: feed x f32[2, 3, 8, 8]", said.getvalue())
            text = Path(out[0]).read_bytes()
            self.assertEqual(reprise.Program.read(text).text, importer.load(picture(), shapes={"batch": 2}).program.text)
            from reprise.archive import safetensors
            found = safetensors(memoryview(Path(out[1]).read_bytes()), out[1])
            wanted = {t.name: numpy_helper.to_array(t) for t in picture().graph.initializer}
            np.testing.assert_array_equal(found["conv.w"], wanted["conv.w"])

    def test_a_model_is_trained_by_its_gradients(self):
        b = reprise.Builder()
        x, k = b.feed("x", (4, 3, 8, 8)), b.feed("k", (4,), "i64")
        net = importer.into(b, picture(), {"x": x})
        score = b.append("log", {}, [net.outputs["y"]])
        hot = b.append("one_hot", {"depth": 5, "dtype": "f32"}, [k])
        loss = -(score * hot).sum() / 4.0
        names = [n for n in net.weights if n not in ("mean", "var")]
        for name, g in zip(names, b.gradients(loss, [net.weights[n] for n in names])):
            b.update(name, net.weights[name] - g * 0.1)
        b.result("loss", loss)
        run = reprise.Run(threads=1)
        for name, a in net.first.items():
            run.add_state(name, a)
        for name, a in net.data.items():
            run.add_data(name, a)
        step = run.compile(b.finish())
        feeds = {"x": np.random.default_rng(3).normal(size=(4, 3, 8, 8)).astype(np.float32), "k": np.array([0, 1, 2, 3])}
        losses = [float(np.asarray(step(**feeds)["loss"])) for _ in range(30)]
        self.assertLess(losses[-1], 0.5 * losses[0])

    def test_weights_in_operators_are_trained_where_that_is_asked_for(self):
        w = np.float32([[2, 1], [3, -1]])
        nodes = [helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(w)),
                 helper.make_node("Constant", [], ["axes"], value=numpy_helper.from_array(np.array([0]))),
                 helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Unsqueeze", ["a", "axes"], ["y"])]
        proto = model(nodes, {"x": (TensorProto.FLOAT, [3, 2])}, {"y": (TensorProto.FLOAT, [1, 3, 2])})
        x = np.float32([[1, 2], [3, 4], [5, 6]])
        for asked in (False, True):
            b = reprise.Builder()
            net = importer.into(b, proto, {"x": b.feed("x", (3, 2))}, operators_as_weights=asked)
            self.assertEqual(list(net.weights), ["w"] if asked else [])
            b.result("y", net.outputs["y"])
            if asked:
                b.result("g", b.gradients(net.outputs["y"].sum(), [net.weights["w"]])[0])
            run = reprise.Run(threads=1)
            for name, a in net.first.items():
                run.add_state(name, a)
            for name, a in net.data.items():
                run.add_data(name, a)
            found = run.compile(b.finish())(x=x)
            np.testing.assert_array_equal(found["y"], [x @ w])
            if asked:
                np.testing.assert_array_equal(found["g"], np.repeat(x.sum(0)[:, None], 2, 1))

    def test_narrow_floats_round_as_their_own_libraries_do(self):
        import ml_dtypes
        rng = np.random.default_rng(4)
        x = (rng.normal(size=6000) * 2.0 ** rng.integers(-30, 20, 6000)).astype(np.float32)
        x = np.concatenate([x, np.float32([0, -0.0, np.inf, -np.inf, 65519.9, 65520, 2 ** -25, 448, 464, 465, 1e38])])
        for dtype, kind in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f8e4m3fn", ml_dtypes.float8_e4m3fn),
                            ("f8e5m2", ml_dtypes.float8_e5m2), ("f8e4m3fnuz", ml_dtypes.float8_e4m3fnuz),
                            ("f8e5m2fnuz", ml_dtypes.float8_e5m2fnuz)):
            for wide in ("f32", "f64"):
                b = reprise.Builder()
                from reprise.onnx.graph import Graph
                b.result("y", Graph(b).rounded(b.feed("x", x.shape, wide), dtype))
                step = reprise.Run(threads=1).compile(b.finish())
                found = np.asarray(step(x=x.astype(np.float32 if wide == "f32" else np.float64))["y"])
                with np.errstate(over="ignore"):
                    wanted = x.astype(kind).astype(np.float32)
                np.testing.assert_array_equal(found, wanted, err_msg=f"{dtype} from {wide}")
                self.assertTrue((np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all(), dtype)

    def test_carried_arrays_come_back(self):
        for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.uint64, np.float16):
            a = np.array([0, 1, 100, np.iinfo(kind).max if kind != np.float16 else 65504], kind)
            back = returned(carried(a), importer.type_of(a))
            self.assertEqual(back.dtype, a.dtype)
            np.testing.assert_array_equal(back, a)
        self.assertGreaterEqual(len(NARROW), 6)


def answer(kind, *arrays, rank=1, to=None, weights=(), opset=21, fixed=(), **attributes):
    """One operator of these inputs, of which those of the numbers `fixed` are known at import."""
    names = [f"x{i}" for i in range(len(arrays))]
    types = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in arrays]
    given = {n: (t, a.shape) for i, (n, t, a) in enumerate(zip(names, types, arrays)) if i not in fixed}
    proto = model([helper.make_node(kind, [*names, *(n for n, _ in weights)], ["y"], **attributes)], given,
                  {"y": (types[0] if to is None else to, [f"d{i}" for i in range(rank)])},
                  [*weights, *((names[i], arrays[i]) for i in fixed)], opset)
    call = importer.load(proto).compile(threads=1)
    return call(**{n: a for i, (n, a) in enumerate(zip(names, arrays)) if i not in fixed})["y"]


class Values(unittest.TestCase):
    """Forms that the official node tests do not have."""

    def same(self, found, wanted):
        np.testing.assert_array_equal(found, wanted)

    def test_indices_outside_an_axis_are_no_other_element(self):
        x, row = np.arange(20, dtype=np.float32).reshape(4, 5), np.float32([9])
        self.same(answer("GatherND", x, np.array([[3, 4], [-1, -5], [0, 0]])), [19, 15, 0])
        self.same(answer("ScatterND", x, np.array([[1, -1]]), row, rank=2)[1], [5, 6, 7, 8, 9])
        for index in ([0, 7], [0, -6], [4, 0], [-5, 0]):
            at = np.array([index])
            with self.assertRaises(importer.Unsupported):
                answer("GatherND", x, at, fixed=[1])
            with self.assertRaises(importer.Unsupported):
                answer("ScatterND", x, at, row, rank=2, fixed=[1])
            with self.assertRaises(reprise.Error):
                answer("GatherND", x, at)
            with self.assertRaises(reprise.Error):
                answer("ScatterND", x, at, row, rank=2)
        with self.assertRaises(reprise.Error):
            answer("GatherND", x.reshape(2, 2, 5), np.array([[[0]], [[-3]]]), rank=3, batch_dims=1)

    def test_u64_beyond_the_half(self):
        x = np.array([[1, (1 << 63) + 1, 5]], np.uint64)
        self.same(answer("ArgMax", x, to=TensorProto.INT64, axis=1, keepdims=0), [1])
        self.same(answer("ArgMin", x, to=TensorProto.INT64, axis=1, keepdims=0), [0])
        self.same(answer("ReduceL1", x, np.array([1]), fixed=[1], keepdims=0), np.array([(1 << 63) + 7], np.uint64))
        self.same(answer("PRelu", x, np.array([3], np.uint64), rank=2), x)

    def test_far_arguments_and_negative_exponents(self):
        far = [-np.inf, -1e20, -5e3, -4000.0, 0.5, 4095.0, 4097.0, 1e20, 3e38, np.inf]
        for kind, ends in ((np.float32, far), (np.float64, [*far, 1e200, 3e8, -2e8])):
            x, rtol = np.array(ends, kind), 4 * np.finfo(kind).eps
            np.testing.assert_allclose(answer("Asinh", x), np.arcsinh(x.astype(np.longdouble)).astype(kind), rtol=rtol)
            x = x[x >= 1]
            np.testing.assert_allclose(answer("Acosh", x), np.arccosh(x.astype(np.longdouble)).astype(kind), rtol=rtol)
        self.assertTrue(np.isnan(answer("Asinh", np.float32([np.nan]))).all())
        x, e = np.int32([3, 5, 1, -1, -1, 0, 2, -2]), np.int32([-1, -2, -7, -3, -2, -1, 3, 3])
        self.same(answer("Pow", x, e), [0, 0, 1, -1, 1, 0, 8, -8])

    def test_asinh_has_a_slope_everywhere(self):
        b = reprise.Builder()
        x = b.feed("x", (4,))
        proto = model([helper.make_node("Asinh", ["x"], ["y"])], {"x": (TensorProto.FLOAT, [4])}, {"y": (TensorProto.FLOAT, [4])})
        b.result("g", b.gradients(importer.into(b, proto, {"x": x}).outputs["y"].sum(), [x])[0])
        at = np.float32([0, 1, -1e4, 1e20])
        found = np.asarray(reprise.Run(threads=1).compile(b.finish())(x=at)["g"])
        np.testing.assert_allclose(found[1:], 1 / np.hypot(at[1:], 1), rtol=1e-6)
        self.assertTrue(np.isfinite(found[0]))

    def test_forms_of_versions_are_those_of_the_version(self):
        x = np.float32([[[[1, 2, 3, 4], [5, 6, 7, 8]]]])
        self.same(answer("Resize", x, np.float32([1, 1, 0.6, 0.6]), rank=4, opset=10, fixed=[1], mode="nearest"), [[[[1, 3]]]])
        self.same(answer("Resize", x, np.float32([1, 1, 1, 1.5]), rank=4, opset=10, fixed=[1])[0, 0, 0], [1, 1, 2, 3, 3, 4])
        ends = np.float32([np.inf, -np.inf, 2])
        most = np.finfo(np.float32).max
        self.same(answer("Clip", ends, opset=10), [most, -most, 2])
        self.same(answer("Clip", ends, opset=10, max=1.0), [1, -most, 1])
        self.same(answer("Clip", ends, opset=13), ends)
        one = lambda v: np.array([v])
        self.same(answer("Slice", np.float32([1, 2, 3]), one(-10), one(-100), one(0), one(-1), fixed=[1, 2, 3, 4]), [1])
        self.same(answer("Slice", np.float32([1, 2, 3]), one(10), one(-100), one(0), one(-1), fixed=[1, 2, 3, 4]), [3, 2, 1])
        with self.assertRaises(importer.Unsupported):
            answer("DequantizeLinear", np.uint8([1]), np.float32(0.5), to=TensorProto.FLOAT16, opset=23,
                   output_dtype=TensorProto.FLOAT16)

    def test_a_weight_of_one_element_is_trained_too(self):
        weights = [("w", np.float32([[2], [3]])), ("b", np.float32([1]))]
        proto = model([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], {"x": (TensorProto.FLOAT, [1, 2])},
                      {"y": (TensorProto.FLOAT, [1, 1])}, weights)
        found = importer.load(proto)
        self.assertEqual(sorted(found.weights), ["b", "w"])
        self.same(found.compile()(x=np.float32([[1, 1]]))["y"], [[6]])

    def test_what_comes_of_a_weight_of_one_element_is_trained_too(self):
        nodes = [helper.make_node("Unsqueeze", ["s", "axes"], ["a"]), helper.make_node("Add", ["a", "one"], ["t"]),
                 helper.make_node("Mul", ["x", "t"], ["y"])]
        weights = [("s", np.float32([2])), ("one", np.float32(1)), ("axes", np.array([0]))]
        proto = model(nodes, {"x": (TensorProto.FLOAT, [1, 3])}, {"y": (TensorProto.FLOAT, [1, 3])}, weights)
        found = importer.load(proto)
        self.assertEqual(list(found.weights), ["s"])
        found.weights["s"][:] = 5
        self.same(found.compile()(x=np.float32([[1, 2, 3]]))["y"], [[6, 12, 18]])
        scaled = [helper.make_node("Mul", ["s", "s"], ["t"]), helper.make_node("Concat", ["o", "o", "t", "s"], ["scales"], axis=0),
                  helper.make_node("Resize", ["x", "", "scales"], ["y"])]  # which decide a shape as ever
        weights = [("s", np.float32([2])), ("o", np.float32([1]))]
        found = importer.load(model(scaled, {"x": (TensorProto.FLOAT, [1, 1, 2, 2])}, {"y": (TensorProto.FLOAT, list("abcd"))}, weights))
        self.assertEqual(found.outputs["y"][2], (1, 1, 8, 4))

    def test_what_a_weight_of_one_element_decides_follows_it(self):
        f, one = (TensorProto.FLOAT, [3]), np.ones(1, np.float32)
        nodes = [helper.make_node("Greater", ["w", "zero"], ["above"]), helper.make_node("Neg", ["x"], ["minus"]),
                 helper.make_node("Where", ["above", "x", "minus"], ["a"]), helper.make_node("Cast", ["w"], ["n"], to=TensorProto.INT64),
                 helper.make_node("Expand", ["a", "n"], ["b"]), helper.make_node("Cast", ["n"], ["c"], to=TensorProto.FLOAT),
                 helper.make_node("Add", ["b", "c"], ["y"])]
        found = importer.load(model(nodes, {"x": f}, {"y": f}, [("w", one), ("zero", 0 * one)]))
        x = np.arange(3, dtype=np.float32)
        self.assertEqual(list(found.compile()(x=x)["y"]), [1, 2, 3])
        found.weights["w"] = -2 * one
        self.assertEqual(list(found.compile()(x=x)["y"]), [-2, -3, -4])

    def test_a_loop_is_written_out_where_its_end_is_known(self):
        rng = np.random.default_rng(8)
        table, x = rng.normal(size=(7, 4)).astype(np.float32), rng.normal(size=(7, 4)).astype(np.float32)
        for count, least, wanted in ((7, -1, 7), (3, -1, 3), (7, 2, 3), (None, 4, 5)):
            proto = looped(table, count, least)
            found = importer.load(proto)
            y = found.compile()(x=x)
            theirs = dict(zip(("total", "rows"), ReferenceEvaluator(proto).run(None, {"x": x})))
            self.assertEqual(found.outputs["rows"][2], (wanted, 4))
            for name in y:
                np.testing.assert_allclose(y[name], theirs[name], rtol=1e-6, atol=1e-6)
        with self.assertRaisesRegex(importer.Unsupported, "Loop: no iteration"):
            importer.load(looped(table, 0, -1))
        with self.assertRaisesRegex(importer.Unsupported, "Loop: more than 1024"):
            importer.load(looped(np.zeros((2000, 1), np.float32), 2000, -1))
        with self.assertRaisesRegex(importer.NeedsConstant, "Loop: the values of x decide"):
            importer.load(looped(table, 7, -1, by_value=True))

    def test_shapes_of_old_versions_are_computed_too(self):
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
                 helper.make_node("Unsqueeze", ["n"], ["rows"], axes=[0]),
                 helper.make_node("Concat", ["rows", "four"], ["shape"], axis=0), helper.make_node("Expand", ["one", "shape"], ["y"])]
        proto = model(nodes, {"x": (TensorProto.FLOAT, [3, 2])}, {"y": (TensorProto.FLOAT, ["a", "b"])},
                      [("zero", np.array(0)), ("four", np.array([4])), ("one", np.float32(1))], opset=11)
        found = importer.load(proto)
        self.assertEqual(found.outputs["y"][2], (3, 4))

    def test_more_axes_than_four_are_repeated(self):
        x = np.arange(48, dtype=np.float32).reshape(1, 2, 3, 4, 2)
        proto = model([helper.make_node("Tile", ["x", "n"], ["y"])], {"x": (TensorProto.FLOAT, x.shape)},
                      {"y": (TensorProto.FLOAT, list("abcde"))}, [("n", np.array([2, 1, 2, 1, 3]))])
        self.same(importer.load(proto).compile()(x=x)["y"], np.tile(x, (2, 1, 2, 1, 3)))
        short = model([helper.make_node("Tile", ["x", "n"], ["y"])], {"x": (TensorProto.FLOAT, x.shape)},
                      {"y": (TensorProto.FLOAT, list("abcde"))}, [("n", np.array([2, 1]))])
        with self.assertRaisesRegex(importer.Unsupported, "Tile: 2 repeats of 5 axes"):
            importer.load(short)

    def test_a_domain_that_no_operator_is_of_is_no_matter(self):
        proto = model([helper.make_node("Neg", ["x"], ["y"])], {"x": (TensorProto.FLOAT, [2])}, {"y": (TensorProto.FLOAT, [2])})
        proto.opset_import.extend([helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("com.example", 1)])
        self.same(importer.load(proto).compile()(x=np.float32([1, 2]))["y"], [-1, -2])
        proto.graph.node[0].domain, proto.graph.node[0].op_type = "com.example", "Other"
        with self.assertRaisesRegex(importer.Unsupported, "Other: operators of the domain com.example"):
            importer.load(proto)

    def test_forms_that_are_refused_are_refused_by_name(self):
        with self.assertRaisesRegex(importer.Unsupported, "Unsqueeze: axes"):
            answer("Unsqueeze", np.float32([1]), np.array([0, 0]), rank=3, fixed=[1])
        with self.assertRaisesRegex(importer.Unsupported, "Unsqueeze: axes"):
            answer("Unsqueeze", np.float32([1]), np.array([5]), rank=2, fixed=[1])
        scalar = model([helper.make_node("ConstantOfShape", ["n"], ["c"], value=numpy_helper.from_array(np.float32([7]))),
                        helper.make_node("Add", ["x", "c"], ["y"])], {"x": (TensorProto.FLOAT, [1])},
                       {"y": (TensorProto.FLOAT, [1])}, [("n", np.zeros(0, np.int64))])
        self.same(importer.load(scalar).compile()(x=np.float32([1]))["y"], [8])
        with self.assertRaisesRegex(importer.Unsupported, "iterations"):
            importer.load(scanned(0))

    def test_equal_constants_are_kept_once(self):
        found = importer.load(scanned(50))
        self.assertEqual([a.size for a in found.data.values()], [1000])
        self.same(found.compile()(x=np.ones((50, 1000), np.float32))["y"], 50 + 50 * np.arange(1000))


def looped(table, count, least, by_value=False):
    """total, rows: sums of x's and table's rows so far, while the row's number is not `least` or the count is reached."""
    value = helper.make_tensor_value_info
    node = helper.make_node
    ends = [node("ReduceSum", ["t"], ["r"], keepdims=0), node("Greater", ["r", "zero"], ["more"])] if by_value else [
        node("Equal", ["i", "least"], ["last"]), node("Not", ["last"], ["more"])]
    body = helper.make_graph(
        [helper.make_node("Gather", ["x", "i"], ["a"]), helper.make_node("Gather", ["table", "i"], ["b"]),
         helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Add", ["s", "c"], ["t"]), *ends,
         helper.make_node("Identity", ["t"], ["row"])], "body",
        [value("i", TensorProto.INT64, []), value("going", TensorProto.BOOL, []), value("s", TensorProto.FLOAT, [table.shape[1]])],
        [value("more", TensorProto.BOOL, []), value("t", TensorProto.FLOAT, [table.shape[1]]), value("row", TensorProto.FLOAT, [table.shape[1]])])
    weights = [("table", table), ("start", np.zeros(table.shape[1], np.float32)), ("least", np.array(least)), ("zero", np.float32(0)),
               ("count", np.array(count or 0)), ("true", np.array(True))]
    whole = node("Loop", ["" if count is None else "count", "true", "start"], ["total", "rows"], body=body)
    return model([whole], {"x": (TensorProto.FLOAT, list(table.shape))},
                 {"total": (TensorProto.FLOAT, [table.shape[1]]), "rows": (TensorProto.FLOAT, ["n", table.shape[1]])}, weights)


STUB = """#!{python}
import json, shutil, sys
import numpy as np
given = json.loads(sys.argv[3])
model, values, text = {files!r}
if not model:
    sys.exit(text)
shutil.copy(model, given["out"])
if given["values"]:
    np.savez(given["values"], **np.load(values))
"""


class SavedModels(unittest.TestCase):
    """What becomes of a converter's answers; test_savedmodel.py has the converter itself."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "saved")
        os.mkdir(self.path)
        Path(self.path, "saved_model.pb").write_bytes(b"")

    def answered(self, proto=None, values=None, text=""):
        """A Python that answers so, whatever it is asked."""
        files = [os.path.join(self.folder.name, n) for n in ("m.onnx", "v.npz")] if proto is not None else ["", ""]
        if proto is not None:
            Path(files[0]).write_bytes(proto.SerializeToString())
            np.savez(files[1], **values)
        stub = Path(self.folder.name, "python")
        stub.write_text(STUB.format(python=sys.executable, files=[*files, text]))
        stub.chmod(0o755)
        return str(stub)

    def negative(self, kind="Neg", **more):
        return model([helper.make_node(kind, ["x"], ["y"], **more)], {"x": (TensorProto.FLOAT, ["n", 2])}, {"y": (TensorProto.FLOAT, ["n", 2])})

    def test_values_are_tensorflows_or_it_is_said(self):
        x = np.float32([[1, -2], [3, np.inf]])
        good = self.answered(self.negative(), {"x.x": x, "y.y": -x})
        out = os.path.join(self.folder.name, "kept.onnx")
        made = importer.convert(self.path, out, converter=good)
        self.assertEqual(made, Path(out).read_bytes())
        self.same(importer.load(made, shapes={"n": 2}).compile()(x=x)["y"], -x)
        os.environ["REPRISE_TENSORFLOW"] = good
        self.addCleanup(os.environ.pop, "REPRISE_TENSORFLOW")
        self.same(importer.load(self.path, shapes={"n": 2}).compile()(x=x)["y"], -x)
        b = reprise.Builder()
        self.assertEqual(importer.into(b, self.path, {"x": b.feed("x", (3, 2))}).outputs["y"].shape, (3, 2))
        off = np.float32([[-1, 2.001], [-3, -np.inf]])
        with self.assertRaisesRegex(importer.ValuesDiffer, "output y differs from TensorFlow's by 0.001"):
            importer.convert(self.path, converter=self.answered(self.negative(), {"x.x": x, "y.y": off}))
        self.assertTrue(importer.convert(self.path, converter=self.answered(self.negative(), {"x.x": x, "y.y": off}), check=False))
        with self.assertRaisesRegex(importer.ValuesDiffer, "TensorFlow has z"):
            importer.convert(self.path, converter=self.answered(self.negative(), {"x.x": x, "y.z": -x}))

    def test_operators_of_tensorflow_are_taken_or_named(self):
        x = np.float32([[1, 9], [-3, 0.25]])
        own = self.negative("Erfc", domain="ai.onnx.converters.tensorflow")
        own.opset_import.append(helper.make_opsetid("ai.onnx.converters.tensorflow", 1))
        wanted = np.vectorize(math.erfc)(x.astype(np.float64)).astype(np.float32)
        y = importer.load(own, shapes={"n": 2}).compile()(x=x)["y"]
        np.testing.assert_allclose(y, wanted, rtol=1e-6)
        with self.assertRaisesRegex(importer.Unsupported, "TensorFlow's StatefulPartitionedCall, which the converter has no translation"):
            importer.convert(self.path, converter=self.answered(self.negative("StatefulPartitionedCall"), {"x.x": x, "y.y": x}))

    def test_without_a_converter_it_says_what_to_install(self):
        with self.assertRaisesRegex(FileNotFoundError, "saved_model.pb"):
            importer.convert(self.folder.name)
        with self.assertRaisesRegex(ModuleNotFoundError, "pip install tf2onnx tensorflow"):
            importer.convert(self.path, converter=self.answered(text="ModuleNotFoundError: No module named 'tf2onnx'"))
        with self.assertRaisesRegex(importer.Unsupported, "the converter failed: ValueError: no such signature"):
            importer.convert(self.path, converter=self.answered(text="line\nValueError: no such signature"))
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(main(["import", self.path, "-o", "p.json", "w.safetensors", "--converter",
                                   self.answered(text="No module named 'tensorflow'")]), 1)
        self.assertIn("pip install tf2onnx tensorflow", errors.getvalue())

    def same(self, a, b):
        np.testing.assert_array_equal(a, b)


def scanned(length):
    """y = the sum of x's rows, each with a constant of the body added."""
    info = lambda n, s: helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
    table = numpy_helper.from_array(np.arange(1000, dtype=np.float32), "table")
    body = helper.make_graph([helper.make_node("Add", ["r", "table"], ["q"]), helper.make_node("Add", ["s", "q"], ["t"])], "b",
                             [info("s", [1000]), info("r", [1000])], [info("t", [1000])], [table])
    nodes = [helper.make_node("Scan", ["zero", "x"], ["y"], body=body, num_scan_inputs=1)]
    zero = helper.make_node("ConstantOfShape", ["n"], ["zero"])
    return model([zero, *nodes], {"x": (TensorProto.FLOAT, [length, 1000])}, {"y": (TensorProto.FLOAT, [1000])},
                 [("n", np.array([1000]))])


class Refused(unittest.TestCase):
    def refused(self, proto, words, **more):
        with self.assertRaises(importer.Unsupported) as caught:
            importer.load(proto, **more)
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def test_what_has_no_translation_is_named(self):
        f = (TensorProto.FLOAT, [3])
        e = self.refused(model([helper.make_node("ImageDecoder", ["x"], ["y"])], {"x": (TensorProto.UINT8, [9])},
                               {"y": (TensorProto.UINT8, [1, 1, 3])}), "ImageDecoder")
        self.assertEqual(e.operator, "ImageDecoder")
        self.refused(model([helper.make_node("Identity", ["x"], ["y"])], {"x": (TensorProto.STRING, [3])},
                           {"y": (TensorProto.STRING, [3])}), "STRING")
        self.refused(picture(), "batch")
        reshaped = model([helper.make_node("Reshape", ["x", "s"], ["y"])], {"x": f, "s": (TensorProto.INT64, [2])},
                         {"y": (TensorProto.FLOAT, ["a", "b"])})
        with self.assertRaises(importer.NeedsConstant) as caught:
            importer.load(reshaped)
        self.assertEqual(caught.exception.names, {"s"})
        found = importer.load(reshaped, constants={"s": np.array([3, 1])})
        self.assertEqual(found.outputs["y"][2], (3, 1))
        self.refused(reshaped, "elements as", constants={"s": np.array([7, 7])})

    def test_files_that_lie_are_refused_in_little_memory(self):
        text = picture().SerializeToString()
        for cut in (0, 1, 10, len(text) // 2, len(text) - 1):
            with self.assertRaises((importer.Unsupported, ValueError)):
                importer.load(text[:cut], shapes={"batch": 1})
        rng = np.random.default_rng(5)
        for _ in range(60):
            data = bytearray(text)
            for at in rng.integers(0, len(data), 4):
                data[at] = rng.integers(0, 256)
            with contextlib.suppress(importer.Unsupported, ValueError):
                importer.load(bytes(data), shapes={"batch": 1})
        big = np.array([1 << 20, 1 << 19])
        for nodes in ([helper.make_node("Expand", ["one", "n"], ["a"]), helper.make_node("Trilu", ["a"], ["y"])],
                      [helper.make_node("ConstantOfShape", ["n"], ["a"]), helper.make_node("Trilu", ["a"], ["y"])]):
            self.refused(model(nodes, {"x": (TensorProto.FLOAT, [1])}, {"y": (TensorProto.FLOAT, ["a", "b"])},
                               [("n", big), ("one", np.float32(1))]), "elements")

    def test_constants_that_operators_make_are_counted(self):
        self.addCleanup(setattr, graph, "MOST_HELD", graph.MOST_HELD)
        graph.MOST_HELD = 1 << 20
        value = lambda n, kind, shape: helper.make_tensor_value_info(n, kind, shape)
        body = helper.make_graph([helper.make_node("Add", ["i", "n"], ["end"]), helper.make_node("Range", ["i", "end", "one"], ["r"])],
                                 "b", [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, [])],
                                 [value("c", TensorProto.BOOL, []), value("r", TensorProto.INT64, [50000])])

        def made(count):
            return model([helper.make_node("ConstantOfShape", ["n"], [f"y{k}"], value=helper.make_tensor("v", TensorProto.INT64, [1], [k]))
                          for k in range(count)], {"x": (TensorProto.FLOAT, [1])}, {"y0": (TensorProto.INT64, [50000])}, [("n", np.array([50000]))])

        def repeated(times):
            return model([helper.make_node("Loop", ["times", "true"], ["y"], body=body)], {"x": (TensorProto.FLOAT, [1])},
                         {"y": (TensorProto.INT64, [times, 50000])}, [("n", np.array(50000)), ("one", np.array(1)), ("true", np.array(True)),
                                                                      ("times", np.array(times))])

        for few, many in ((made(2), made(3)), (repeated(1), repeated(3))):  # 400,000 bytes each, and as many again as data
            self.assertEqual(list(importer.load(few).outputs)[0][0], "y")
            self.refused(many, "constants of more than")

    def test_inputs_of_more_axes_than_programs_have_are_refused_by_name(self):
        deep = (TensorProto.FLOAT, [1] * 10)
        self.refused(model([helper.make_node("Relu", ["x"], ["y"])], {"x": deep}, {"y": deep}), "x of shape")
        long = (TensorProto.FLOAT, [1 << 50])
        self.refused(model([helper.make_node("Relu", ["x"], ["y"])], {"x": long}, {"y": long}), "x of shape")
        self.refused(model([helper.make_node("Identity", ["w"], ["y"])], {"x": (TensorProto.FLOAT, [1])}, {"y": deep},
                           [("w", np.ones([1] * 10, np.float32))]), "w of shape")

    def test_iterations_without_operators_are_counted_and_cost_little(self):
        value, inner = helper.make_tensor_value_info, None
        for k in range(3):
            nodes = [] if inner is None else [helper.make_node("Loop", ["n", "true", f"s{k}"], [f"t{k}"], body=inner)]
            inner = helper.make_graph(nodes, f"b{k}", [value(f"i{k}", TensorProto.INT64, []), value(f"c{k}", TensorProto.BOOL, []),
                                                      value(f"s{k}", TensorProto.FLOAT, [1])],
                                      [value(f"c{k}", TensorProto.BOOL, []), value(f"t{k}" if nodes else f"s{k}", TensorProto.FLOAT, [1])])
        wide = [helper.make_node("Identity", ["x"], [f"v{i}"]) for i in range(60000)]  # each copied for each of 2^17 iterations: a minute
        proto = model([*wide, helper.make_node("Loop", ["n", "true", "x"], ["y"], body=inner)], {"x": (TensorProto.FLOAT, [1])},
                      {"y": (TensorProto.FLOAT, [1])}, [("n", np.array(100)), ("true", np.array(True))])
        began = time.process_time()
        self.refused(proto, "iterations")
        self.assertLess(time.process_time() - began, 30)

    def test_nested_loops_are_not_written_out_without_end(self):
        inner = None
        for _ in range(4):
            body = [helper.make_node("Identity", ["s"], ["t"]) if inner is None else
                    helper.make_node("Scan", ["s", "w"], ["t"], body=inner, num_scan_inputs=1),
                    helper.make_node("Identity", ["r"], ["q"])]
            info = lambda n, s: helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
            inner = helper.make_graph(body[:1], "b", [info("s", [1]), info("r", [1])], [info("t", [1])])
        node = helper.make_node("Scan", ["x", "w"], ["y"], body=inner, num_scan_inputs=1)
        self.addCleanup(setattr, importer, "MOST_NODES", importer.MOST_NODES)
        importer.MOST_NODES = 3000
        self.refused(model([node], {"x": (TensorProto.FLOAT, [1]), "w": (TensorProto.FLOAT, [1000, 1])},
                           {"y": (TensorProto.FLOAT, [1])}), "more than")


if __name__ == "__main__":
    unittest.main()
