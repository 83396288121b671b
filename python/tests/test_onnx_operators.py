# SPDX-License-Identifier: Apache-2.0
"""Operators that models which packages carry are made of: branches without types, products of 8-bit integers, onnxruntime's
quantised LSTM, grids, batch norm in training; each beside the reference or its own definition, and hostile forms of each."""
import importlib.util
import itertools
import math
import os
import sys
import tempfile
import time
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import reprise
from reprise import onnx as importer
from reprise.onnx import images

F32, HUGE = TensorProto.FLOAT, 1 << 40


def one(kind, inputs, outputs=("y",), known=(), opset=21, domain="", to=F32, **attributes):
    """A model of one operator: inputs {name: array}, "" for one that is left out; those of `known` are its constants."""
    named = [n for n in inputs if inputs[n] is not None]
    types = {n: helper.np_dtype_to_tensor_dtype(inputs[n].dtype) for n in named}
    graph = helper.make_graph(
        [helper.make_node(kind, [n if inputs[n] is not None else "" for n in inputs], list(outputs), domain=domain, **attributes)], "g",
        [helper.make_tensor_value_info(n, types[n], inputs[n].shape) for n in named if n not in known],
        [helper.make_tensor_value_info(n, to, None) for n in outputs],
        [numpy_helper.from_array(inputs[n], n) for n in named if n in known])
    for o in graph.output:  # of an unknown rank, which the reference does not mind
        o.type.tensor_type.shape.SetInParent()
    imports = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def computed(proto, inputs):
    loaded = importer.load(proto)
    return loaded.compile(threads=1)(**{n: inputs[n] for n in loaded.inputs})


def made_by(proto, kind):
    """(shape, type) of what the program's operations of a kind make."""
    program = importer.load(proto).program
    return [program.values[outs[0]] for name, _, _, outs in program.instructions if name == kind]


def lstm_of_bytes(random, sides=2, size=3, units=4, steps=5, per_column=False):
    """Inputs of DynamicQuantizeLSTM."""
    scales = (sides, 4 * units) if per_column else (sides,)
    byte = lambda *s: random.integers(-128, 128, s).astype(np.int8)
    scale = lambda: random.uniform(0.002, 0.01, scales).astype(np.float32)
    return {"x": random.normal(size=(steps, 1, size)).astype(np.float32), "w": byte(sides, size, 4 * units),
            "r": byte(sides, units, 4 * units), "b": random.normal(size=(sides, 8 * units)).astype(np.float32), "l": None,
            "h": random.normal(size=(sides, 1, units)).astype(np.float32), "c": random.normal(size=(sides, 1, units)).astype(np.float32),
            "p": None, "ws": scale(), "wz": np.zeros(scales, np.int8), "rs": scale(), "rz": np.zeros(scales, np.int8)}


def examples():
    """Models that the fuzzer changes, of a domain that has no official tests."""
    given = lstm_of_bytes(np.random.default_rng(2))
    return [one("DynamicQuantizeLSTM", given, ("y", "h1"), known=("w", "r", "b", "ws", "wz", "rs", "rz"), domain="com.microsoft",
                hidden_size=4, direction="bidirectional")]


def quantised(x):
    """DynamicQuantizeLinear, less the zero point."""
    low, high = min(0, x.min()), max(0, x.max())
    scale = np.float32(1) if low == high else (np.float32(high) - np.float32(low)) / np.float32(255)
    zero = np.rint(np.clip(-np.float32(low) / scale, 0, 255))
    return np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.int64) - int(zero), scale


def lstm(a, units):
    """What DynamicQuantizeLSTM is: one row, both directions."""
    sigmoid = lambda v: 1 / (1 + np.exp(-v.astype(np.float64)))
    q, scale = quantised(a["x"])
    outs, ends = [], []
    for side in range(len(a["w"])):
        w, r = (a[k][side].astype(np.int64) - a[f"{k}z"][side] for k in "wr")
        bias = a["b"][side][:4 * units] + a["b"][side][4 * units:]
        h, c, found = a["h"][side], a["c"][side], []
        for t in (range(len(q)) if side == 0 else reversed(range(len(q)))):
            qh, sh = quantised(h)
            s = (q[t] @ w) * (a["ws"][side] * scale) + (qh @ r) * (a["rs"][side] * sh) + bias
            i, o, f, g = (s[:, k * units:(k + 1) * units] for k in range(4))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = (sigmoid(o) * np.tanh(c)).astype(np.float32)
            found.append(h)
        outs.append(np.stack(found if side == 0 else found[::-1]))
        ends.append(h)
    return np.stack(outs, 1), np.stack(ends)


class Operators(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(4)

    def floats(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def refused(self, proto, said):
        begin = time.perf_counter()
        with self.assertRaisesRegex(importer.Unsupported, said):
            importer.load(proto)
        self.assertLess(time.perf_counter() - begin, 10)

    def test_branches_whose_outputs_have_no_type_are_taken(self):
        bare = lambda nodes, out: onnx.GraphProto(name="b", node=nodes, output=[onnx.ValueInfoProto(name=out)])
        node = helper.make_node
        proto = one("If", {"t": np.array(True)}, known=("t",), then_branch=bare([node("Neg", ["x"], ["o"])], "o"),
                    else_branch=bare([node("Abs", ["x"], ["o"])], "o"))
        proto.graph.input.append(helper.make_tensor_value_info("x", F32, [2]))
        np.testing.assert_array_equal(computed(proto, {"x": np.float32([1, -2])})["y"], [-1, 2])
        for branch in proto.graph.node[0].attribute:  # a text is no value of a program
            del branch.g.node[:]
            branch.g.node.append(node("Constant", [], ["o"], value_string="a"))
        self.refused(proto, "a constant of value_string|texts")
        for branch in proto.graph.node[0].attribute:
            branch.g.output[0].type.sequence_type.elem_type.tensor_type.elem_type = F32
            branch.g.node[0].CopyFrom(node("Neg", ["x"], ["o"]))
        self.refused(proto, "If: a value that is no tensor|not valid")

    def test_products_of_bytes_are_exact_and_round_before_the_zero_point(self):
        half = {"a": np.uint8([[3, 1], [255, 0]]), "as": np.float32(1), "az": np.uint8(0), "b": np.int8([[1], [2]]), "bs": np.float32([1]),
                "bz": np.int8([0]), "ys": np.float32(2), "yz": np.uint8(1)}
        y = computed(one("QLinearMatMul", half, to=TensorProto.UINT8), half)["y"]
        np.testing.assert_array_equal(y[:, 0], [2 + 1, 128 + 1])  # 2.5 and 127.5, to even
        a, b = self.random.integers(0, 256, (4, 300)).astype(np.uint8), self.random.integers(-128, 128, (300, 5)).astype(np.int8)
        given = {"a": a, "as": self.random.uniform(0.01, 0.02, 4).astype(np.float32), "az": np.uint8([0, 7, 128, 255]), "b": b,
                 "bs": self.random.uniform(0.01, 0.02, 5).astype(np.float32), "bz": np.int8([0, 1, -128, 127, 5]),
                 "ys": np.float32(0.9), "yz": np.int8(-3)}
        sums = (a.astype(int) - given["az"][:, None]) @ (b.astype(int) - given["bz"])
        share = given["as"][:, None] * given["bs"] / given["ys"]
        wanted = np.clip(np.rint(sums * share.astype(np.float64)) - 3, -128, 127)
        np.testing.assert_array_equal(computed(one("QLinearMatMul", given, to=TensorProto.INT8), given)["y"], wanted)
        self.refused(one("QLinearMatMul", {**given, "ys": np.float32([1, 2])}, to=TensorProto.INT8), "several scales")
        self.refused(one("QLinearMatMul", {**given, "a": a.astype(np.int32)}, to=TensorProto.INT8), "QLinearMatMul|not valid")

    def test_convolutions_of_bytes_have_a_scale_a_channel_and_pad_with_the_zero_point(self):
        x, w = self.random.integers(0, 256, (1, 3, 6, 5)).astype(np.uint8), self.random.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)
        given = {"x": x, "xs": np.float32(0.02), "xz": np.uint8(100), "w": w, "ws": self.random.uniform(0.01, 0.03, 4).astype(np.float32),
                 "wz": np.int8([0, 1, 2, -3]), "ys": np.float32(0.7), "yz": np.uint8(60), "b": self.random.integers(-900, 900, 4).astype(np.int32)}
        found = computed(one("QLinearConv", given, to=TensorProto.UINT8, pads=[1, 1, 1, 1], strides=[2, 1]), given)["y"]
        padded = np.pad(x.astype(int) - 100, ((0, 0), (0, 0), (1, 1), (1, 1)))
        rows = range(0, padded.shape[2] - 2, 2)
        sums = np.array([[[(padded[0, :, i:i + 3, j:j + 3] * (w[k].astype(int) - given["wz"][k])).sum() + given["b"][k]
                           for j in range(5)] for i in rows] for k in range(4)])
        share = (given["xs"] * given["ws"] / given["ys"]).astype(np.float64)[:, None, None]
        np.testing.assert_array_equal(found[0], np.clip(np.rint(sums * share) + 60, 0, 255))
        self.refused(one("QLinearConv", {**given, "xs": np.float32([1, 2, 3])}, to=TensorProto.UINT8), "several scales")

    def test_the_quantised_lstm_is_what_onnxruntime_says_it_is(self):
        for per_column in (False, True):
            given = lstm_of_bytes(self.random, per_column=per_column)
            proto = one("DynamicQuantizeLSTM", given, ("y", "h1"), domain="com.microsoft", hidden_size=4, direction="bidirectional",
                        known=[k for k in given if k not in "xhc"])
            found, (outs, ends) = computed(proto, given), lstm(given, 4)
            np.testing.assert_allclose(found["y"], outs, rtol=0, atol=1e-6)
            np.testing.assert_allclose(found["h1"], ends, rtol=0, atol=1e-6)
        rows = {**given, "x": np.zeros((5, 2, 3), np.float32), "h": None, "c": None}
        self.refused(one("DynamicQuantizeLSTM", rows, domain="com.microsoft", direction="bidirectional"), "batch of 1")
        for name, array in (("ws", np.float32([1])), ("r", given["r"][:, :2]), ("w", given["w"][:, :, :3]), ("wz", np.zeros((2, 3), np.int8)),
                            ("w", given["w"].astype(np.float32))):
            with self.subTest(name=name, shape=array.shape):
                self.refused(one("DynamicQuantizeLSTM", {**given, name: array}, domain="com.microsoft", hidden_size=4,
                                 direction="bidirectional"), "DynamicQuantizeLSTM")
        self.refused(one("DynamicQuantizeLSTM", given, domain="com.microsoft", hidden_size=HUGE, direction="bidirectional"), "weights")
        self.refused(one("FusedMatMul", {"x": given["x"], "h": given["h"]}, domain="com.microsoft"), "operators of the domain")

    def test_sums_of_bytes_are_binary32_where_known_weights_leave_them_exact(self):
        low = np.array([[127] * 600, [-128] * 600], np.int8).T  # 255 times 600 such weights is beyond 2^24, 255 times 514 of -128 is not
        rng = self.random
        for weights, zero, kinds in ((low[:514], 0, ["f32"]), (low[:515], 0, ["f32"] * 2), (low, 0, ["f32"] * 2), (low, -128, ["f32"] * 3),
                                     (rng.integers(-30, 30, (4000, 3)).astype(np.int8), 0, ["f32"]),
                                     (rng.integers(-128, 128, (2000, 3)).astype(np.int8), 0, ["f32"])):
            for rows in (3, 6):
                a = np.full((rows, len(weights)), 255, np.uint8)
                a[1:] = rng.integers(0, 256, a[1:].shape)
                given = {"a": a, "b": weights, "az": np.uint8(0), "bz": np.int8(zero)}
                proto = one("MatMulInteger", given, known=("b", "az", "bz"), to=TensorProto.INT32)
                with self.subTest(weights=weights.shape, zero=zero, rows=rows):
                    self.assertEqual([t for _, t in made_by(proto, "matmul")], kinds)
                    wanted = a.astype(np.int64) @ (weights.astype(np.int64) - zero)
                    np.testing.assert_array_equal(computed(proto, given)["y"], wanted)
        for filters, kind in ((low.T[:, :450].reshape(2, 50, 3, 3), "f32"), (low.T[:, :594].reshape(2, 66, 3, 3), "f64")):
            x = np.full((1, filters.shape[1], 5, 4), 255, np.uint8)
            given = {"x": x, "w": filters, "xz": np.uint8(0), "wz": np.int8(0)}
            proto = one("ConvInteger", given, known=("w", "xz", "wz"), to=TensorProto.INT32)
            self.assertEqual([t for _, t in made_by(proto, "conv2d")], [kind])
            wanted = np.broadcast_to((filters.astype(np.int64).sum((1, 2, 3)) * 255)[None, :, None, None], (1, 2, 3, 2))
            np.testing.assert_array_equal(computed(proto, given)["y"], wanted)

    def test_quantised_images_lie_channels_last_between_convolutions(self):
        node, weight = helper.make_node, self.random.integers(-128, 128, (8, 8, 3, 3)).astype(np.int8)
        nodes, at = [], "x"
        for i in range(3):
            nodes += [node("DynamicQuantizeLinear", [at], [f"q{i}", f"s{i}", f"z{i}"]),
                      node("ConvInteger", [f"q{i}", "w", f"z{i}"], [f"c{i}"], pads=[1, 1, 1, 1]),
                      node("Cast", [f"c{i}"], [f"f{i}"], to=F32), node("Mul", [f"f{i}", f"s{i}"], [f"m{i}"]),
                      node("GlobalAveragePool", [f"m{i}"], [f"p{i}"]), node("Squeeze", [f"p{i}", "axes"], [f"v{i}"]),
                      node("Unsqueeze", [f"v{i}", "axes"], [f"u{i}"]), node("Add", [f"m{i}", f"u{i}"], [f"a{i}"]),
                      node("Relu", [f"a{i}"], [f"y{i}"])]
            at = f"y{i}"
        image = [1, 8, 6, 5]
        proto = helper.make_model(helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", F32, image)], [helper.make_tensor_value_info(at, F32, image)],
            [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.array([2, 3]), "axes")]),
            opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        x = self.floats(*image)
        wanted, = ReferenceEvaluator(proto).run(None, {"x": x})
        np.testing.assert_allclose(computed(proto, {"x": x})[at], wanted, rtol=1e-5, atol=1e-4 * np.abs(wanted).max())
        turned = [shape for shape, _ in made_by(proto, "transpose") if shape == (1, 6, 5, 8)]
        self.assertEqual(len(turned), 1)  # the first; what turns them back is a view that nothing reads, but for the last

    def test_products_with_the_inputs_of_all_steps_are_one(self):
        for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            given = {"x": self.floats(7, 2, 3), "w": self.floats(2, gates * 4, 3), "r": self.floats(2, gates * 4, 4)}
            more = {"linear_before_reset": 1} if kind == "GRU" else {}
            proto = one(kind, given, ("y", "h"), known=("w", "r"), hidden_size=4, direction="bidirectional", **more)
            self.assertEqual(len(made_by(proto, "matmul")), 2 * (7 + 1))
        quantised_lstm = lstm_of_bytes(self.random, steps=7)
        proto = one("DynamicQuantizeLSTM", quantised_lstm, ("y", "h1"), domain="com.microsoft", hidden_size=4, direction="bidirectional",
                    known=[k for k in quantised_lstm if k not in "xhc"])
        self.assertEqual([t for _, t in made_by(proto, "matmul")], ["f32"] * 2 * (7 + 1))
        self.assertFalse([shape for shape, _ in made_by(proto, "sub") if shape in ((3, 16), (4, 16))])  # weights are known

    def test_scales_that_are_quotients_of_lengths_are_known(self):
        text = """<ir_version: 10, opset_import: ["" : 21]> agraph (float[1, 1, 4, 5] x) => (float[1, 1, a, b] y) {
            wanted = Constant<value_floats: floats = [1.0, 1.0, 8.0, 10.4]>() none = Constant<value_floats: floats = []>()
            low = Constant<value_float: float = 1.0>() high = Constant<value_float: float = 9.0>()
            z = Shape(x) n = Cast<to: int = 1>(z) r = Reciprocal(n) s = Mul(wanted, r) t = Clip(s, low, high) u = Round(t)
            y = Resize<mode: string = "nearest">(x, none, u) }"""
        proto, x = onnx.parser.parse_model(text), self.floats(1, 1, 4, 5)
        np.testing.assert_array_equal(computed(proto, {"x": x})["y"], x.repeat(2, 2).repeat(2, 3))

    def test_rows_of_shorter_sequences_are_those_of_the_rows_alone(self):
        lengths = np.int32([5, 2, 1, 4])
        for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            for direction, known, sides in (("forward", ("l",), 1), ("reverse", (), 1), ("bidirectional", (), 2), ("bidirectional", ("l",), 2)):
                given = {"x": self.floats(5, 4, 3), "w": self.floats(sides, gates * 4, 3), "r": self.floats(sides, gates * 4, 4), "b": None,
                         "l": lengths, "h": self.floats(sides, 4, 4), **({"c": self.floats(sides, 4, 4)} if kind == "LSTM" else {})}
                outs = ("y", "yh", "yc")[:3 if kind == "LSTM" else 2]
                found = computed(one(kind, given, outs, known=("w", "r", *known), hidden_size=4, direction=direction), given)
                for row, length in enumerate(lengths):
                    alone = {**given, "l": None, "x": given["x"][:length, row:row + 1],
                             **{k: given[k][:, row:row + 1] for k in "hc" if k in given}}
                    wanted = computed(one(kind, alone, outs, known=("w", "r"), hidden_size=4, direction=direction), alone)
                    with self.subTest(kind=kind, direction=direction, known=known, length=length):
                        np.testing.assert_array_equal(found["y"][:length, :, row], wanted["y"][:, :, 0])
                        self.assertFalse(found["y"][length:, :, row].any())
                        for end in outs[1:]:
                            np.testing.assert_array_equal(found[end][:, row], wanted[end][:, 0])
                for wrong in ([5, 0, 1, 4], [6, 2, 1, 4]):
                    bad = {**given, "l": np.int32(wrong)}
                    self.refused(one(kind, bad, outs, known=("w", "r", "l"), hidden_size=4, direction=direction), "beyond 1 to 5")
                    with self.assertRaises(reprise.Error):
                        computed(one(kind, bad, outs, known=("w", "r"), hidden_size=4, direction=direction), bad)
        self.refused(one("RNN", {**given, "l": np.int32([5, 2])}, outs, hidden_size=4, direction=direction), "sequence_lens|not valid")

    def test_grids_look_where_the_reference_looks(self):
        for axes in (2, 3):
            x = self.floats(2, 3, *(3, 4, 2)[:axes])
            for mode, padding, corners in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1)):
                for far in (1.2, 30):
                    grid = self.random.uniform(-far, far, (2, *(3, 2, 2)[:axes], axes)).astype(np.float32)
                    proto = one("GridSample", {"x": x, "g": grid}, mode=mode, padding_mode=padding, align_corners=corners)
                    if mode == "cubic" and (axes == 3 or padding == "border"):
                        self.refused(proto, "mode cubic")
                        continue
                    wanted = ReferenceEvaluator(proto).run(None, {"x": x, "g": grid})[0]
                    np.testing.assert_allclose(computed(proto, {"x": x, "g": grid})["y"], wanted, rtol=0, atol=2e-5 * far)

    def test_grids_that_are_no_numbers_read_nothing_else_and_hostile_ones_are_refused(self):
        x, far = self.floats(1, 1, 3, 3), np.float32([np.nan, np.inf, -np.inf, 3e38])
        grid = np.stack([np.repeat(far, 4), np.tile(far, 4)], -1).reshape(1, 4, 4, 2)
        for mode, padding in itertools.product(("linear", "nearest"), ("zeros", "border", "reflection")):
            y = computed(one("GridSample", {"x": x, "g": grid}, mode=mode, padding_mode=padding), {"x": x, "g": grid})["y"]
            self.assertEqual(y.shape, (1, 1, 4, 4))
            if padding == "zeros":
                self.assertTrue((y[0, 0, 1:, 1:] == 0).all())
        for bad, said in (({"g": self.floats(2, 4, 4, 2)}, "a grid"), ({"g": self.floats(1, 4, 4, 3)}, "a grid"),
                          ({"x": x.astype(np.float16)}, "f16"), ({"g": self.floats(1, 0, 4, 2)}, "none")):
            with self.subTest(said=said):
                self.refused(one("GridSample", {"x": x, "g": grid, **bad}), said)
        self.refused(one("GridSample", {"x": x, "g": grid}, padding_mode="wrap"), "padding_mode wrap")
        wide = one("GridSample", {"x": x, "g": grid})
        wide.graph.input[1].type.tensor_type.shape.dim[1].dim_value = wide.graph.input[1].type.tensor_type.shape.dim[2].dim_value = HUGE
        self.refused(wide, "of shape")

    def test_a_grid_has_gradients(self):
        x, grid = self.floats(1, 2, 4, 5), self.random.uniform(-0.9, 0.9, (1, 2, 3, 2)).astype(np.float32)
        b = reprise.Builder()
        inputs = {"x": b.state("x", x.shape, "f32"), "g": b.state("g", grid.shape, "f32")}
        y = importer.into(b, one("GridSample", {"x": x, "g": grid}), inputs).outputs["y"]
        loss = (y * y).sum()
        for name, d in zip(inputs, b.gradients(loss, list(inputs.values()))):
            b.result(f"d{name}", d)
        b.result("loss", loss)
        program = b.finish()

        def run(**arrays):
            r = reprise.Run()
            for name, a in {"x": x, "g": grid, **arrays}.items():
                r.add_state(name, a)
            return {n: np.array(t) for n, t in r.compile(program)().items()}

        here, step = run(), np.float32(1e-2)
        for name, a in (("x", x), ("g", grid)):
            way = here[f"d{name}"] / np.abs(here[f"d{name}"]).max()
            rise = float(run(**{name: a + step * way})["loss"] - run(**{name: a - step * way})["loss"]) / (2 * step)
            self.assertAlmostEqual(rise / float((here[f"d{name}"] * way).sum()), 1, delta=0.05)

    def test_determinants_are_those_of_elimination_and_have_the_inverse_as_slope(self):
        for kind, rtol in ((np.float32, 1e-5), (np.float64, 1e-12)):
            to = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            for shape in ((1, 1), (2, 2), (7, 7), (3, 5, 5), (2, 1, 4, 4)):
                x = self.random.normal(size=shape).astype(kind)
                found = computed(one("Det", {"x": x}, to=to), {"x": x})["y"]
                self.assertEqual(found.dtype, kind)
                np.testing.assert_allclose(found, np.linalg.det(x.astype(np.float64)), rtol=rtol, atol=rtol)
            x = np.array([[[0, 2], [3, 1]], [[1, 2], [2, 4]], [[0, 0], [0, 0]]], kind)  # to be exchanged, of rank one, of none
            np.testing.assert_array_equal(computed(one("Det", {"x": x}, to=to), {"x": x})["y"], [-6, 0, 0])
        narrow = self.floats(3, 3).astype(np.float16)
        found = computed(one("Det", {"x": narrow}, to=TensorProto.FLOAT16), {"x": narrow})["y"]
        np.testing.assert_allclose(found.astype(float), np.linalg.det(narrow.astype(float)), rtol=2e-3)
        none = np.zeros((2, 0, 0), np.float32)
        np.testing.assert_array_equal(computed(one("Det", {"x": none}), {"x": none})["y"], [1, 1])
        self.refused(one("Det", {"x": self.floats(2, 3)}), "Det")
        self.refused(one("Det", {"x": np.ones((2, 2), np.int64)}, to=TensorProto.INT64), "i64")

        x, b = self.floats(4, 4), reprise.Builder()
        a = b.feed("x", (4, 4))
        b.result("d", b.gradients(importer.into(b, one("Det", {"x": x}), {"x": a}).outputs["y"], [a])[0])
        slope = np.array(reprise.Run(threads=1).compile(b.finish())(x=x)["d"])
        wide = x.astype(np.float64)
        np.testing.assert_allclose(slope, np.linalg.det(wide) * np.linalg.inv(wide).T, rtol=1e-4, atol=1e-5)

    def test_weights_of_mels_are_the_references(self):
        for bins, length, rate, low, high in ((8, 16, 8192, 0.0, 4096.0), (80, 400, 16000, 0.0, 8000.0), (128, 400, 16000, 20.0, 7600.0),
                                              (5, 33, 100, 3.0, 50.0), (40, 20, 8000, 0.0, 4000.0)):
            given = {"b": np.int64(bins), "n": np.int64(length), "r": np.int32(rate), "l": np.float32(low), "h": np.float32(high)}
            proto = one("MelWeightMatrix", given, known=given, output_datatype=TensorProto.DOUBLE, to=TensorProto.DOUBLE)
            proto.graph.input.append(helper.make_tensor_value_info("x", TensorProto.DOUBLE, [2, length // 2 + 1]))
            proto.graph.node.append(helper.make_node("MatMul", ["x", "y"], ["z"]))
            proto.graph.output[0].name = "z"
            x = self.random.normal(size=(2, length // 2 + 1))
            np.testing.assert_allclose(computed(proto, {"x": x})["z"], ReferenceEvaluator(proto).run(None, {"x": x})[0], rtol=1e-12, atol=1e-12)
        for key, value in (("b", -1), ("n", 0), ("b", 1 << 40), ("n", 1 << 40), ("r", 0), ("h", 9e9), ("l", float("nan"))):
            bad = {**given, key: np.array(value, given[key].dtype if abs(value) < 1 << 31 or value != value else np.int64)}
            self.refused(one("MelWeightMatrix", bad, known=bad), "MelWeightMatrix")

    def test_spectra_are_the_references_and_have_tables_of_every_host(self):
        x, window = self.floats(2, 40, 1), self.floats(16)
        for kind, inputs, how in (("DFT", {"x": x, "l": None, "a": np.array(1)}, {}), ("DFT", {"x": x, "l": np.array(13), "a": np.array(1)}, {}),
                                  ("DFT", {"x": x, "l": np.array(64), "a": np.array(-2)}, {"onesided": 1}),
                                  ("DFT", {"x": self.floats(2, 7, 3, 2), "l": np.array(9), "a": np.array(1)}, {}),
                                  ("DFT", {"x": self.floats(2, 7, 3, 2), "l": np.array(12), "a": np.array(1)}, {"onesided": 1, "inverse": 1}),
                                  ("DFT", {"x": self.floats(2, 7, 3, 2), "l": np.array(13), "a": np.array(1)}, {"onesided": 1, "inverse": 1}),
                                  ("STFT", {"x": x, "s": np.array(7), "w": window, "l": np.array(16)}, {}),
                                  ("STFT", {"x": x, "s": np.array(5), "w": window}, {"onesided": 0}),
                                  ("STFT", {"x": x, "s": np.array(3), "w": None, "l": np.array(9)}, {}),
                                  ("DFT", {"x": self.floats(1, 5000, 1), "l": None, "a": np.array(1)}, {"onesided": 1}),
                                  ("DFT", {"x": x, "l": np.array(257), "a": np.array(1)}, {})):  # whose table the library makes
            with self.subTest(kind=kind, how=how, shape=inputs["x"].shape):
                proto = one(kind, inputs, known=[k for k in inputs if k in "las"], **how)
                wanted = ReferenceEvaluator(proto).run(None, {k: a for k, a in inputs.items() if a is not None and k in "xw"})[0]
                np.testing.assert_allclose(computed(proto, inputs)["y"], wanted, rtol=0, atol=2e-6 * np.abs(wanted).max())
        old = np.cos, np.sin
        try:
            np.cos = np.sin = None
            importer.load(proto)
        finally:
            np.cos, np.sin = old
        frames = {"x": x, "s": np.array(7), "w": window, "l": np.array(16)}
        for change, said in (({"s": np.array(0)}, "frames of"), ({"l": np.array(HUGE)}, "frames of"), ({"l": np.array(-3)}, "frames of"),
                             ({"w": window[:5]}, "window"), ({"x": self.floats(2, 40, 2)}, "real numbers"), ({"s": np.array(-(1 << 62))}, "frames")):
            self.refused(one("STFT", {**frames, **change}, known=("s", "l")), said)
        for length, axis, how, said in ((HUGE, 1, {}, "elements"), (-1, 1, {}, "dft_length"), (4, 2, {}, "axis 2"), (4, 1, {"inverse": 1}, "inverse"),
                                        (4, HUGE, {}, "axis")):
            self.refused(one("DFT", {"x": x, "l": np.array(length), "a": np.array(axis)}, known=("l", "a"), **how), said)
        for length in (9, 6):
            self.refused(one("DFT", {"x": self.floats(2, 7, 2), "l": np.array(length), "a": np.array(1)}, known=("l", "a"), onesided=1,
                             inverse=1), "7 frequencies")

    def test_blocks_are_added_where_they_overlap(self):
        for size, block, how, blocks in (([5, 6], [2, 3], {}, 16), ([5, 6], [2, 3], {"strides": [2, 1], "pads": [1, 0, 0, 1]}, 15),
                                         ([7, 7], [2, 2], {"dilations": [2, 3]}, 20), ([9], [3], {"strides": [2]}, 4)):
            given = {"x": self.floats(2, 3 * math.prod(block), blocks), "s": np.array(size), "b": np.array(block)}
            proto = one("Col2Im", given, known=("s", "b"), **how)
            wanted = ReferenceEvaluator(proto).run(None, {"x": given["x"]})[0]
            np.testing.assert_allclose(computed(proto, given)["y"], wanted, rtol=1e-5, atol=1e-6)
        for change, how, said in (({"s": np.array([HUGE, 6])}, {}, "blocks, expected"), ({"b": np.array([HUGE, HUGE])}, {}, "columns"),
                                  ({"b": np.array([0, 3])}, {}, "columns"), ({}, {"strides": [0, 1]}, "strides"), ({}, {"strides": [1]}, "strides"),
                                  ({"s": np.array([5])}, {}, "columns"), ({}, {"pads": [-1, 0, 0, 0]}, "pads"), ({}, {"dilations": [HUGE, 1]}, "expected")):
            given = {"x": self.floats(2, 18, 16), "s": np.array([5, 6]), "b": np.array([2, 3]), **change}
            self.refused(one("Col2Im", given, known=("s", "b"), **how), said)

    def test_bits_of_floats_are_those_of_integers(self):
        for x, to, kind in ((np.float32([1, -0.0, 1e-40, np.inf]), TensorProto.INT32, np.int32), (np.float64([1, -5.5, 1e300]), TensorProto.INT64, np.int64)):
            proto = one("BitCast", {"x": x}, opset=26, to=to)
            proto.graph.node[0].attribute.append(helper.make_attribute("to", to))
            y = computed(proto, {"x": x})["y"]
            self.assertEqual((y.dtype, y.tobytes()), (np.dtype(kind), x.tobytes()))
        back = one("BitCast", {"x": np.int32([-5])}, opset=26)
        back.graph.node[0].attribute.append(helper.make_attribute("to", F32))
        self.refused(back, "the bits of i32 as FLOAT")

    def test_weights_of_a_resize_are_those_of_every_python(self):
        x = self.floats(1, 1, 9, 7)
        given = {"x": x, "r": None, "s": np.float32([1, 1, 0.37, 0.61])}
        proto = one("Resize", given, known=("s",), mode="cubic", antialias=1, exclude_outside=1)
        before = {k: a.tobytes() for k, a in importer.load(proto).data.items()}
        self.assertTrue(before)
        images.sum = lambda values: 2 * math.fsum(values)  # not taken, whatever it is
        self.addCleanup(images.__dict__.pop, "sum", None)
        self.assertEqual({k: a.tobytes() for k, a in importer.load(proto).data.items()}, before)

    def test_batch_norm_in_training_has_the_statistics_of_the_batch(self):
        given = {"x": self.floats(5, 3, 4) + 2, "s": self.floats(3), "b": self.floats(3), "m": self.floats(3), "v": np.abs(self.floats(3))}
        proto = one("BatchNormalization", given, ("y", "m1", "v1"), training_mode=1, momentum=0.7)
        found = computed(proto, given)
        for name, wanted in zip(found, ReferenceEvaluator(proto).run(None, given)):
            np.testing.assert_allclose(found[name], wanted, rtol=2e-6, atol=2e-6)
        self.assertEqual(list(computed(one("BatchNormalization", given, training_mode=1), given)), ["y"])
        self.refused(one("BatchNormalization", given, ("y", "m1", "v1"), opset=9), "training_mode of opset 9|not valid")
        self.refused(one("BatchNormalization", {**given, "x": self.floats(5, 2, 4)}, ("y", "m1", "v1"), training_mode=1),
                     "BatchNormalization")
        for name in "sbmv":
            for shape in ((1,), (2, 3)):
                self.refused(one("BatchNormalization", {**given, name: self.floats(*shape)}, ("y", "m1", "v1"), training_mode=1),
                             "BatchNormalization|not valid")

    def test_pools_of_narrow_floats_and_bytes(self):
        """Of half precision as converters write it, rounded once; greatest bytes are bytes."""
        x = np.random.default_rng(5).normal(size=(2, 3, 6, 7)).astype(np.float16)
        for kind, more in (("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1, "pads": [1, 0, 1, 0]})):
            found = computed(one(kind, {"x": x}, to=TensorProto.FLOAT16, opset=22, kernel_shape=[2, 3], **more), {"x": x})["y"]
            wide = computed(one(kind, {"x": x.astype(np.float32)}, opset=22, kernel_shape=[2, 3], **more), {"x": x.astype(np.float32)})["y"]
            self.assertEqual(found.dtype, np.float16)
            np.testing.assert_array_equal(found, wide.astype(np.float16))
        for dtype, to in ((np.int8, TensorProto.INT8), (np.uint8, TensorProto.UINT8)):
            b = (x * 60).astype(np.int64).astype(dtype)
            found = computed(one("MaxPool", {"x": b}, to=to, kernel_shape=[2, 2], strides=[2, 1]), {"x": b})["y"]
            view = np.lib.stride_tricks.sliding_window_view(b, (2, 2), (2, 3))[:, :, ::2]
            self.assertEqual(found.dtype, dtype)
            np.testing.assert_array_equal(found, view.max((4, 5)))

    def test_scales_of_onnxruntimes_own_domain_are_the_standards(self):
        """Its tool writes 4 and 16 bits so for versions before 21; and what else is of that domain is refused with a way out."""
        x, scale, zero = np.float32([[0.4, -3.1, 900], [1.25, 0.75, -900]]), np.float32(0.5), np.array(3, np.uint16)
        given = {"x": x, "s": scale, "z": zero}
        found = [computed(one("QuantizeLinear", given, domain=domain, opset=21, to=TensorProto.UINT16), given)["y"]
                 for domain in ("com.microsoft", "")]
        np.testing.assert_array_equal(*found)
        self.assertEqual(found[0].ravel().tolist(), [4, 0, 1803, 5, 5, 0])
        given = {"x": found[0], "s": scale, "z": zero}
        found = [computed(one("DequantizeLinear", given, domain=domain, opset=21), given)["y"] for domain in ("com.microsoft", "")]
        np.testing.assert_array_equal(*found)
        self.refused(one("QLinearReduceMean", {"x": x}, domain="com.microsoft"), "QLinearReduceMean: .*quant_format=QuantFormat.QDQ")

    def test_outputs_need_no_shape(self):
        """As skl2onnx writes a Gaussian process's deviations, and onnxruntime takes them."""
        x = np.float32([1, -2])
        proto = one("Abs", {"x": x})
        proto.graph.output[0].type.tensor_type.ClearField("shape")
        before = proto.SerializeToString()
        np.testing.assert_array_equal(computed(proto, {"x": x})["y"], [1, 2])
        np.testing.assert_array_equal(computed(before, {"x": x})["y"], [1, 2])
        self.assertEqual(proto.SerializeToString(), before)
        proto.graph.node[0].op_type = "Nothing"
        with self.assertRaisesRegex(importer.Unsupported, "not valid"):
            importer.load(proto)
        self.assertFalse(proto.graph.output[0].type.tensor_type.HasField("shape"))

    def test_outputs_need_no_shape_where_weights_lie_beside_the_file(self):
        x, w = np.float32([[1, -2]]), np.float32([[1, 2], [3, 4]])
        proto = one("MatMul", {"x": x, "w": w}, known=("w",))
        proto.graph.output[0].type.tensor_type.ClearField("shape")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            onnx.save(proto, path, save_as_external_data=True, location="w.bin", size_threshold=0)
            self.assertTrue(os.path.exists(os.path.join(folder, "w.bin")))
            loaded = importer.load(path)
            np.testing.assert_array_equal(loaded.compile(threads=1)(x=x)["y"], x @ w)
            os.rename(os.path.join(folder, "w.bin"), os.path.join(folder, "v.bin"))
            self.refused(path, "no file w.bin")

    def test_lists_that_do_not_fit_the_axes_are_refused(self):
        """One stride of two axes was that of the second alone."""
        byte = lambda *s: self.random.integers(0, 256, s).astype(np.uint8)
        scale, zero = np.array(0.1, np.float32), np.array(3, np.uint8)
        floats = {"x": self.floats(1, 2, 6, 6), "w": self.floats(2, 2, 3, 3)}
        packed = {"x": byte(1, 2, 6, 6), "a": scale, "b": zero, "w": byte(2, 2, 3, 3), "c": scale, "d": zero, "e": scale, "f": zero}
        for kind, given in (("Conv", floats), ("ConvTranspose", floats), ("QLinearConv", packed)):
            to = TensorProto.UINT8 if given is packed else F32
            for name, values in (("strides", [2]), ("dilations", [2]), ("pads", [1, 1]), ("strides", [1, 1, 1]), ("kernel_shape", [2, 2]),
                                 ("kernel_shape", [3])):
                self.refused(one(kind, given, to=to, **{name: values}), f"{name}|not valid")
        self.refused(one("MaxPool", {"x": floats["x"]}, kernel_shape=[2, 2], strides=[2]), "strides|not valid")

    def test_parts_of_a_recurrent_layer_that_do_not_fit_are_refused(self):
        """What was too long was cut, a direction that is none was forward."""
        given = {"x": self.floats(3, 2, 4), "w": self.floats(1, 20, 4), "r": self.floats(1, 20, 5), "b": self.floats(1, 40), "l": None,
                 "h": self.floats(1, 2, 5), "c": self.floats(1, 2, 5), "p": self.floats(1, 15)}
        computed(one("LSTM", given, hidden_size=5), given)
        for name, shape in (("b", (1, 48)), ("b", (2, 40)), ("h", (2, 2, 5)), ("c", (1, 1, 5)), ("p", (1, 20)), ("w", (2, 20, 4)),
                            ("w", (1, 24, 4)), ("r", (1, 24, 5))):
            self.refused(one("LSTM", {**given, name: self.floats(*shape)}, hidden_size=5), "input|weights|not valid")
        self.refused(one("LSTM", {**given, "w": self.floats(1, 24, 4), "r": self.floats(1, 24, 5)}, hidden_size=5), "weights|not valid")
        self.refused(one("LSTM", given, hidden_size=5, direction="both"), "direction|not valid")
        self.refused(one("LSTM", given, hidden_size=5, activations=["Sigmoid", "Tanh", "Tanh"] * 2), "activations")

    def test_a_branch_is_of_one_condition(self):
        bare = lambda kind: onnx.GraphProto(name="b", node=[helper.make_node(kind, ["x"], ["o"])], output=[onnx.ValueInfoProto(name="o")])
        for condition in (np.array([True, False]), np.array([], bool)):
            proto = one("If", {"t": condition}, known=("t",), then_branch=bare("Neg"), else_branch=bare("Abs"))
            proto.graph.input.append(helper.make_tensor_value_info("x", F32, [2]))
            self.refused(proto, "If: .*condition|not valid")


if __name__ == "__main__":
    unittest.main()
