# SPDX-License-Identifier: Apache-2.0
"""Programs as ONNX models: every operation, whole models, and what comes back by an import, beside our own values;
by onnxruntime where it is installed, else by the official reference."""
import contextlib
import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import onnx
from onnx.reference import ReferenceEvaluator

import reprise as rp
from reprise import ops
from reprise import onnx as door
from reprise.onnx import export, operations

SOURCE = os.environ.get("REPRISE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
RUNTIME = importlib.util.find_spec("onnxruntime") is not None
BAR = 1e-5  # of the largest value of the tensor
NO_KERNEL = set()  # what onnxruntime has no kernel for, so that the reference was asked


def answers(path, feeds):
    """What the file gives: by onnxruntime, or by the reference where that lacks a kernel or is not there."""
    if RUNTIME:
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
        try:
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            return dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented as e:
            NO_KERNEL.add(re.sub(r".*implementation for ([A-Za-z]+)\(.*", r"\1", str(e), flags=re.S))
    with np.errstate(all="ignore"):
        session = ReferenceEvaluator(path)
        return dict(zip(session.output_names, session.run(None, feeds)))


def ours(program, weights, feeds):
    run = rp.Run(threads=1)
    for kind, name, _, dtype, _ in program.inputs:
        if kind == "state":
            run.add_state(name, weights[name])
        elif kind == "data":
            run.add_data(name, weights[name])
    return {n: np.array(t.cast("f32") if t.dtype == "bf16" else t) for n, t in run.compile(program)(**feeds).items()}


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def near(self, found, wanted, words=""):
        found, wanted = np.asarray(found), np.asarray(wanted)
        self.assertEqual((found.shape, found.dtype), (wanted.shape, wanted.dtype), words)
        if wanted.dtype.kind != "f":
            return np.testing.assert_array_equal(found, wanted, err_msg=words)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted), err_msg=words)
        np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted), err_msg=words)
        finite = np.isfinite(wanted)
        most = np.abs(wanted[finite]).max(initial=0)
        self.assertLessEqual(np.abs(found[finite] - wanted[finite]).max(initial=0), BAR * most, words)

    def exported(self, program, weights, feeds, words="", **more):
        """Exports, runs and compares; the file's report."""
        path = os.path.join(self.folder, "m.onnx")
        report = door.save(program, path, weights=weights, force=True, **more)
        found, wanted = answers(path, feeds), ours(program, weights, feeds)
        self.assertEqual(sorted(found), sorted(wanted))
        for name in wanted:
            self.near(found[name], wanted[name], f"{words} {name}")
        return report

    def back(self, program, weights, feeds, bits):
        """The import of the export: the same values, the same bits where asked."""
        found = door.load(os.path.join(self.folder, "m.onnx"), shapes={"batch": next(iter(feeds.values())).shape[0]})
        again, wanted = found.compile(threads=1)(**feeds), ours(program, weights, feeds)
        for name in wanted:
            if bits:
                self.assertEqual(again[name].tobytes(), wanted[name].tobytes(), name)
            else:
                self.near(again[name], wanted[name], name)
        return found


SPECIAL = {"f32": [0, -0.0, 1, -1, 0.5, -2.5, 1e-4, -3e-3, 20, -30, np.inf, -np.inf, np.nan],
           "i32": [0, 1, -1, 7, -7, 2**31 - 1, -2**31, 3], "u32": [0, 1, 5, 31, 32, 2**32 - 1, 40], "bool": [True, False]}
INSIDE = {"log": 1, "log2": 1, "log10": 1, "sqrt": 1, "rsqrt": 1, "log1p": 0, "asin": 2, "acos": 2, "pow": 1}
ATTRIBUTES = {"softplus": {"beta": 2.0, "threshold": 3.0}, "leaky_relu": {"negative_slope": 0.1}, "elu": {"alpha": 0.75},
              "hardtanh": {"min_val": -0.5, "max_val": 0.75}, "pow_int": {"exponent": 3}}
IMAGE = {"stride": [2, 1], "padding": [1, 0, 1, 2], "dilation": [1, 2]}
PLAIN = {"stride": [1, 1], "padding": [1, 1, 1, 1], "dilation": [1, 1]}


def drawn(rng, dtype, shape=(3, 9)):
    if dtype in ("f32", "f64"):
        return rng.normal(size=shape).astype(dtype.replace("f32", "float32").replace("f64", "float64"))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0 if dtype == "u32" else -9, 9, shape).astype({"i32": np.int32, "i64": np.int64, "u32": np.uint32}[dtype])


def elementwise(op, dtypes, operands):
    """(attributes, arrays) for operations on elements, with the numbers that are special."""
    rng = np.random.default_rng(1)
    for dtype in dtypes:
        if dtype == "f64" or op.startswith("shift") and dtype != "u32":
            continue
        arrays = [drawn(rng, dtype, (60,)) for _ in range(operands)]
        if dtype == "f32" and op in INSIDE:
            arrays[0] = np.abs(arrays[0]) if INSIDE[op] == 1 else np.tanh(arrays[0]) * np.float32(0.99)
        elif dtype in SPECIAL:
            some = np.array(SPECIAL[dtype], arrays[0].dtype)
            if op in ("sin", "cos", "tan", "remainder", "fmod", "div") and dtype == "f32":
                some = some[np.isfinite(some)]
            pairs = np.stack(np.meshgrid(some, some)).reshape(2, -1)
            arrays = [np.concatenate([a, p]) for a, p in zip(arrays, pairs)] if operands < 3 else arrays
        yield ATTRIBUTES.get(op, {}), arrays


def specimens():
    """For each operation that is exported (attributes, operands): arrays."""
    rng = np.random.default_rng(2)
    f = lambda *s: rng.normal(size=s).astype(np.float32)
    n = lambda high, *s: rng.integers(0, high, s)
    x, image = f(2, 3, 4), f(2, 6, 7, 4)
    norm = [f(4), f(4), f(4), np.abs(f(4)) + 1]
    return {
        "where": [({}, [drawn(rng, "bool", (3, 4)), f(3, 4), f(1, 4)])],
        "cast": [({"dtype": d}, [a]) for d in ("f32", "f64", "i32", "i64", "bool", "f16", "i8", "u8", "i16", "u32")
                 for a in (np.array(SPECIAL["f32"] + [3e9, -3e9, 300, 1e30, 2**31], np.float32), np.array([0, 5, -7, 1000, 70000]))],
        "bitcast": [({"dtype": "i32"}, [f(5)]), ({"dtype": "f32"}, [n(1 << 30, 5).astype(np.int32)])],
        "reshape": [({"shape": [4, 6]}, [x])], "transpose": [({"permutation": [2, 0, 1]}, [x])],
        "broadcast_to": [({"shape": [5, 2, 3, 4]}, [x]), ({"shape": [3, 4]}, [f(1)])],
        "slice": [({"begin": [0, 1, 0], "end": [2, 3, 0]}, [x]), ({"begin": [0, 1, 2], "end": [1, 3, 4]}, [x])],
        "slice_step": [({"begin": [0, 2, 3], "size": [2, 3, 2], "step": [1, -1, -2]}, [x]),
                       ({"begin": [0, 0, 1], "size": [1, 0, 3], "step": [1, 1, 1]}, [x])],
        "stop_gradient": [({}, [x])], "fill": [({"value": v, "shape": [2, 3], "dtype": d}, [])
                                               for v, d in ((0.1, "f32"), (-3, "i64"), (1, "bool"), (np.inf, "f64"), (7, "u8"))],
        "iota": [({"n": 7, "dtype": "i32"}, []), ({"n": 70000, "dtype": "f32"}, [])],
        "concat": [({"axis": 1}, [x, f(2, 1, 4), x])], "pad": [({"before": [1, 0, 2], "after": [0, 3, 0]}, [x]),
                                                              ({"before": [1], "after": [1]}, [np.array([True])])],
        "gather": [({"axis": 1}, [x, n(3, 2, 2)]), ({"axis": 0}, [x, n(2, 5).astype(np.int32)])],
        "scatter_add": [({"axis": 1, "size": 6}, [f(2, 5, 3), n(6, 5)]), ({"axis": 0, "size": 4}, [f(2, 5, 3), n(4, 2, 5)])],
        "one_hot": [({"depth": 5, "dtype": "f32"}, [n(5, 2, 3)])],
        "take_along": [({"axis": 1}, [x, n(3, 2, 5, 4)])],
        "scatter_along": [({"axis": 1, "mode": m}, [x, np.argsort(f(2, 3, 4), 1)[:, :2], f(2, 2, 4)]) for m in range(5)],
        "sort": [({"descending": d}, [x]) for d in (True, False)], "topk": [({"k": 2, "largest": d}, [x]) for d in (True, False)],
        "fft": [({"inverse": i, "transposed": t}, [f(2, 3, 8), f(2, 3, 8)]) for i in (False, True) for t in (False, True)],
        "searchsorted": [({"right": r}, [np.sort(n(9, 6)).astype(np.float32), n(9, 5).astype(np.float32)]) for r in (True, False)],
        **{op: [({"axes": a}, [x]) for a in ([0], [1, 2], [])] for op in ("sum", "mean", "max", "min", "prod", "logsumexp")},
        "var": [({"axes": [0, 2], "correction": c}, [x]) for c in (0, 1)],
        "argmax": [({"axis": 1}, [n(3, 4, 9).astype(np.float32)])], "argmin": [({"axis": 0}, [n(3, 4, 9)])],
        **{op: [({"axis": 1, "reverse": r}, [x]) for r in (True, False)] for op in ("cumsum", "cumprod")},
        "softmax": [({}, [x])], "log_softmax": [({}, [x])], "softmax_grad": [({}, [x, f(2, 3, 4)])],
        "log_softmax_grad": [({}, [x, -np.abs(f(2, 3, 4))])],
        "layer_norm": [({"eps": 1e-5}, [x, f(4), f(4)])], "rms_norm": [({"eps": 1e-5}, [x, f(4)])],
        "cross_entropy": [({}, [f(6, 5), n(5, 6)])], "cross_entropy_grad": [({}, [f(6), f(6, 5), n(5, 6)])],
        "matmul": [({}, [f(2, 3, 4), f(4, 5)]), ({}, [f(1, 3, 4), f(7, 4, 2)])],
        "attention": [({"scale": 0.5, "causal": c, "window": w, "rate": 0.0, "stream": 0},
                       [f(2, 4, 5, 6), f(2, h, 5, 6), f(2, h, 5, 3), *m])
                      for c, w, h, m in ((True, 0, 4, []), (False, 2, 2, []), (False, 0, 4, [f(5, 5)]),
                                         (True, 0, 1, [drawn(rng, "bool", (4, 5, 5)) | np.eye(5, dtype=bool)]))],
        "conv2d": [({**IMAGE, "groups": 2}, [image, f(3, 2, 2, 6)]), ({**PLAIN, "groups": 1}, [image, f(3, 3, 4, 5)])],
        "conv2d_winograd": [({**PLAIN, "groups": 1}, [image, f(3, 3, 4, 5)])],
        "conv2d_grad_input": [({**PLAIN, "stride": [2, 2], "groups": 1, "size": [6, 8]}, [f(2, 3, 4, 5), f(3, 3, 2, 5)])],
        "max_pool": [({**PLAIN, "window": [3, 2]}, [image])], "avg_pool": [({**PLAIN, "stride": [2, 1], "window": [3, 2]}, [image])],
        "resize": [({"axis": a, "size": s, "mode": m, "coordinates": c, "rounding": r}, [image]) for a, s, m, c, r in
                   ((1, 9, 1, 0, 0), (2, 3, 1, 1, 0), (2, 14, 0, 2, 0), (1, 12, 0, 0, 2), (1, 11, 2, 0, 0))]
        + [({"axis": 1, "size": 7, "mode": 1, "coordinates": 0, "rounding": 0}, [f(2, 4, 3)])],
        "batch_norm": [({"eps": 1e-5}, [v, *norm]) for v in (image, f(3, 4), f(2, 3, 4))],
        "batch_norm_train": [({"eps": 1e-5}, [image, *norm[:2]])], "group_norm": [({"eps": 1e-5, "groups": 2}, [image, *norm[:2]])],
    }


class Operations(Case):
    def test_every_operation_of_the_contract_is_one_of_three(self):
        table = {row[0] for row in rp.core._core.operation_table()} | {"call", "scan", "map", "cond", "while"}
        self.assertEqual(set(operations()), table)

    def test_each_exported_operation_has_our_values(self):
        rows = {row[0]: row for row in rp.core._core.operation_table()}
        known, tried = specimens(), 0
        for op, (how, _) in operations().items():
            if how == "refused" or op not in rows:
                continue
            row = rows[op]
            for attributes, arrays in known.get(op) or elementwise(op, row[4], row[5]):
                with self.subTest(op=op, attributes=attributes, types=[str(a.dtype) for a in arrays]):
                    b = rp.Builder()
                    x = [b.feed(f"x{i}", a.shape, str(rp.Tensor(a).dtype)) for i, a in enumerate(arrays)]
                    y = b.append(op, attributes, x)
                    for i, t in enumerate(y if isinstance(y, (tuple, list)) else [y]):
                        b.result(f"y{i}", t)
                    self.exported(b.finish(), {}, {f"x{i}": a for i, a in enumerate(arrays)}, op)
                    tried += 1
        print(f"{tried} programs of one operation; no kernel in onnxruntime: {', '.join(sorted(NO_KERNEL)) or 'none'}", file=sys.stderr)

    def test_an_axis_that_constants_alone_have_is_there(self):
        b = rp.Builder()
        x = b.feed("x", (4, 1))
        b.result("y", x + b.append("fill", {"value": 2.0, "shape": [3, 4, 5], "dtype": "f32"}, []))
        program, path = b.finish(), os.path.join(self.folder, "m.onnx")
        door.save(program, path)
        feeds = {"x": np.float32([[1], [2], [3], [4]])}
        self.near(answers(path, feeds)["y"], ours(program, {}, feeds)["y"])

    def test_ends_of_the_range_and_what_is_no_number(self):
        """log1p of what is large, and where a NaN is sorted in."""
        nan, f = np.nan, lambda *values: np.array(values, np.float32)
        for op, how, arrays in (("log1p", {}, [f(3e38, 1e30, np.inf, 0, 1e-9)]),
                                ("searchsorted", {"right": False}, [f(1, 2, 3), f(nan, 2, 5, 0)]),
                                ("searchsorted", {"right": True}, [f(1, 2, nan), f(nan, 2, 5, 0)]),
                                ("searchsorted", {"right": False}, [f(1, nan, nan), f(nan, 2, 5, 0)])):
            b = rp.Builder()
            b.result("y", b.append(op, how, [b.feed(f"x{i}", a.shape, "f32") for i, a in enumerate(arrays)]))
            self.exported(b.finish(), {}, {f"x{i}": a for i, a in enumerate(arrays)}, op, rows="fixed")

    def test_a_norms_weights_that_are_given_are_no_rows(self):
        b = rp.Builder()
        x, gamma = b.feed("x", (4, 4)), b.feed("gamma", (4,))
        b.result("y", b.append("rms_norm", {"eps": 1e-5}, [x, gamma]))
        with self.assertRaisesRegex(door.Unsupported, "the number of rows is fixed"):
            door.save(b.finish(), os.path.join(self.folder, "m.onnx"), rows="any")

    def test_a_mean_of_nothing_is_refused(self):
        b = rp.Builder()
        b.result("y", b.append("mean", {"axes": [0]}, [b.feed("x", (0, 2), "f32")]))
        with self.assertRaisesRegex(door.Unsupported, "of no elements"):
            door.save(b.finish(), os.path.join(self.folder, "m.onnx"), rows="fixed")

    def test_what_is_refused_is_refused_by_name_and_place(self):
        b = rp.Builder()
        x = b.feed("x", (4, 4)) + 1.0
        b.result("y", b.append("cholesky", {"tolerance": 0.0}, [x]))
        with self.assertRaisesRegex(door.Unsupported, "cholesky: instruction 2: ") as caught:
            door.save(b.finish(), os.path.join(self.folder, "m.onnx"))
        self.assertEqual(caught.exception.operator, "cholesky")
        self.assertEqual(os.listdir(self.folder), [])

    def test_an_operation_without_a_translation_is_refused_by_name(self):
        b = rp.Builder()
        b.result("y", b.append("erfc", {}, [b.feed("x", (4,))]))
        with mock.patch.dict(export.REFUSED):
            del export.REFUSED["erfc"]
            self.assertEqual(operations()["erfc"], ("refused", "no translation is written"))
            with self.assertRaisesRegex(door.Unsupported, "erfc: .*no translation is written"):
                door.save(b.finish(), os.path.join(self.folder, "m.onnx"))


def perceptron(b, x):
    x = b.append("relu", {}, [x @ b.state("w", (8, 16)) + b.state("b", (16,))])
    return b.append("softmax", {}, [x @ b.state("w2", (16, 3))])


def weights_of(program, seed=3):
    rng = np.random.default_rng(seed)
    return {name: (np.abs(rng.normal(size=shape)) * 0.3 + 0.1).astype(np.float32) if "var" in name else
            (rng.normal(size=shape) * 0.3).astype(np.float32) for kind, name, shape, _, _ in program.inputs if kind != "feed"}


def picture(b, x):
    """Convolutions with and without a bias, norm, pools, a skip, a concatenation, one mean of the image."""
    def conv(x, name, k, size, bias, **how):
        y = b.append("conv2d", {**PLAIN, "groups": 1, **how}, [x, b.state(f"{name}.weight", (size, size, x.shape[3], k))])
        return y + b.state(f"{name}.bias", (k,)) if bias else y
    h = conv(x, "conv1", 8, 3, True).relu()
    h = b.append("batch_norm", {"eps": 1e-5}, [h, *(b.state(f"bn.{n}", (8,)) for n in ("weight", "bias", "mean", "var"))])
    h = b.append("max_pool", {**PLAIN, "stride": [2, 2], "window": [3, 3]}, [h])
    skip = h
    h = conv(h, "conv2", 8, 3, False)
    h = (h + skip).relu() * b.state("scale", (8,))
    h = b.append("concat", {"axis": 3}, [h, skip])
    h = conv(h, "conv3", 6, 1, True, padding=[0, 0, 0, 0])
    h = b.append("mean", {"axes": [1, 2]}, [h])
    h = b.append("reshape", {"shape": [x.shape[0], 6]}, [h])
    return h @ b.state("fc", (6, 5))


def block(b, x, causal=True):
    """[n, t, 16]: attention of two heads and a layer behind it."""
    n, t, d = x.shape
    norm = lambda x, name: b.append("layer_norm", {"eps": 1e-5}, [x, b.state(f"{name}.weight", (d,)), b.state(f"{name}.bias", (d,))])
    h = b.append("reshape", {"shape": [n * t, d]}, [norm(x, "ln1")]) @ b.state("qkv", (d, 3 * d))
    parts = [b.append("slice", {"begin": [0, i * d], "end": [n * t, i * d + d]}, [h]) for i in range(3)]
    heads = [b.append("transpose", {"permutation": [0, 2, 1, 3]}, [b.append("reshape", {"shape": [n, t, 2, d // 2]}, [p])]) for p in parts]
    y = b.append("attention", {"scale": 0.35, "causal": causal, "window": 0, "rate": 0.0, "stream": 0}, heads)
    y = b.append("reshape", {"shape": [n, t, d]}, [b.append("transpose", {"permutation": [0, 2, 1, 3]}, [y])])
    x = x + y
    return x + ops.gelu(norm(x, "ln2") @ b.state("up", (d, 32))) @ b.state("down", (32, d))


def program_of(make, shape, dtype="f32"):
    b = rp.Builder()
    b.result("y", make(b, b.feed("x", shape, dtype)))
    return b.finish()


class Models(Case):
    def both(self, make, shape, bits, dtype="f32", high=0):
        """One program at two numbers of rows: the file of the one has the values of the other too."""
        rng = np.random.default_rng(7)
        draw = lambda n: rng.integers(0, high, (n, *shape)) if high else rng.normal(size=(n, *shape)).astype(np.float32)
        program = program_of(make, (4, *shape), dtype)
        weights, x = weights_of(program), draw(4)
        report = self.exported(program, weights, {"x": x})
        self.back(program, weights, {"x": x}, bits)
        self.assertEqual(report.fixed, "")
        more = draw(7)
        found = answers(report.path, {"x": more})
        self.near(found["y"], ours(program_of(make, (7, *shape), dtype), weights, {"x": more})["y"])
        return report, onnx.load(report.path)

    def test_a_perceptron_comes_back_with_its_bits(self):
        report, proto = self.both(perceptron, (8,), True)
        self.assertEqual([n.op_type for n in proto.graph.node], ["MatMul", "Add", "Relu", "MatMul", "Softmax", "Identity"])
        self.assertEqual([t.name for t in proto.graph.initializer], ["w", "b", "w2"])
        self.assertEqual(report.metadata["reprise.contract"], "1")
        self.assertEqual(len(report.metadata["reprise.program"]), 64)

    def test_images_are_turned_around_once_and_come_back_with_their_bits(self):
        _, proto = self.both(picture, (8, 8, 3), True)
        kinds = [n.op_type for n in proto.graph.node]
        self.assertEqual(kinds.count("Transpose"), 1, kinds)
        self.assertEqual([len(n.input) for n in proto.graph.node if n.op_type == "Conv"], [3, 2, 3])
        shapes = {t.name: tuple(t.dims) for t in proto.graph.initializer}
        self.assertEqual(shapes["conv1.weight"], (8, 3, 3, 3))

    def test_an_imported_network_goes_out_as_it_came(self):
        from test_onnx import picture as network
        x = np.random.default_rng(2).normal(size=(2, 3, 8, 8)).astype(np.float32)
        found = door.load(network(), shapes={"batch": 2})
        report = door.save(found, os.path.join(self.folder, "m.onnx"))
        proto = onnx.load(report.path)
        self.assertEqual([n.op_type for n in proto.graph.node], ["Conv", "BatchNormalization", "Relu", "MaxPool", "Reshape", "Transpose",
                                                                 "MatMul", "Add", "Softmax", "Identity"])
        kept = {t.name: onnx.numpy_helper.to_array(t) for t in proto.graph.initializer}
        for t in network().graph.initializer[:8]:
            np.testing.assert_array_equal(kept[t.name], onnx.numpy_helper.to_array(t))
        self.near(answers(report.path, {"x": x})["y"], found.compile(threads=1)(x=x)["y"])

    def test_a_convolution_that_others_read_keeps_its_bias_apart(self):
        def twice(b, x):
            h = b.append("conv2d", {**PLAIN, "groups": 1}, [x, b.state("w", (3, 3, 3, 4))])
            return (h + b.state("bias", (4,))) * h
        _, proto = self.both(twice, (6, 5, 3), True)
        self.assertEqual([len(n.input) for n in proto.graph.node if n.op_type == "Conv"], [2])

    def test_one_number_for_all_channels_is_no_bias(self):
        def added(b, x):
            return b.append("conv2d", {**PLAIN, "groups": 1}, [x, b.state("w", (3, 3, 3, 4))]) + b.state("shift", (1,))
        _, proto = self.both(added, (6, 5, 3), True)
        self.assertEqual([len(n.input) for n in proto.graph.node if n.op_type == "Conv"], [2])

    def test_functions_that_call_each_other_twice_are_not_written_out_without_end(self):
        b, f = rp.Builder(), None
        for _ in range(30):  # 2^30 instructions, of 30 functions
            inner = rp.Builder()
            x = inner.parameter((3,), "f32")
            inner.returns(inner.call(f, inner.call(f, [x]))[0] if f else x + 1.0)
            f = inner.finish_function()
        b.result("y", b.call(f, [b.feed("x", (3,))])[0])
        with mock.patch("reprise.onnx.export.MOST", 1000), self.assertRaisesRegex(door.Unsupported, "written out"):
            door.save(b.finish(), os.path.join(self.folder, "m.onnx"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_block_of_a_transformer_over_tokens(self):
        def tokens(b, x):
            h = b.append("gather", {"axis": 0}, [b.state("table", (50, 16)), x]) + b.state("places", (5, 16))
            return block(b, h)
        self.both(tokens, (5,), False, "i64", 50)

    def test_a_class_token_stands_before_every_row(self):
        def patches(b, x):
            first = b.append("broadcast_to", {"shape": [x.shape[0], 1, 16]}, [b.state("cls", (1, 1, 16))])
            h = block(b, b.append("concat", {"axis": 1}, [first, x]), False)
            return b.append("slice", {"begin": [0, 0, 0], "end": [x.shape[0], 1, 16]}, [h])
        self.both(patches, (5, 16), False)

    def test_rows_that_see_each_other_stay_as_many(self):
        for make in (lambda b, x: x - x.mean(), lambda b, x: x - b.append("mean", {"axes": [0]}, [x]),
                     lambda b, x: x * b.state("each", (4, 1)), lambda b, x: x @ b.state("w", (3, 3)) @ x.T):
            program = program_of(make, (4, 3))
            x = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
            report = self.exported(program, weights_of(program), {"x": x})
            self.assertIn("instruction", report.fixed)
            self.assertEqual(report.inputs["x"], ("f32", (4, 3)))
            with self.assertRaisesRegex(door.Unsupported, "rows is fixed"):
                door.save(program, os.path.join(self.folder, "n.onnx"), weights=weights_of(program), rows="any")
        one = program_of(lambda b, x: b.append("broadcast_to", {"shape": [5, 3]}, [x]), (1, 3))  # one row that becomes five
        self.assertIn("broadcast_to", self.exported(one, {}, {"x": np.float32([[1, 2, 3]])}).fixed)

    def test_regions(self):
        with rp.Builder() as f:
            i, h, x, w = f.parameter((), "i64"), f.parameter((2, 3)), f.parameter((2, 3)), f.parameter((3, 3))
            h2 = (h @ w + x).tanh()
            f.returns(h2)
            f.returns(h2 * f.append("cast", {"dtype": "f32"}, [i]))
            body = f.finish_function()
        with rp.Builder() as f:
            i, c, w = f.parameter((), "i64"), f.parameter((2, 3)), f.parameter((3, 3))
            f.returns(c @ w)
            again = f.finish_function()
        with rp.Builder() as f:
            i, c, w = f.parameter((), "i64"), f.parameter((2, 3)), f.parameter((3, 3))
            f.returns(f.append("reshape", {"shape": []}, [f.append("max", {"axes": [0, 1]}, [ops.abs(c)])]) > 0.01)
            going = f.finish_function()
        sides = []
        for scale in (2.0, -3.0):
            with rp.Builder() as f:
                f.returns(f.parameter((2, 3)) * scale)
                sides.append(f.finish_function())
        with rp.Builder() as f:
            i, part = f.parameter((), "i64"), f.parameter((2, 2, 3))
            f.returns(part.sum())
            f.returns(part.exp())
            f.returns(part * f.append("cast", {"dtype": "f32"}, [i]))
            shard = f.finish_function()
        rng = np.random.default_rng(4)
        feeds = {"x": rng.normal(size=(6, 2, 3)).astype(np.float32), "c": np.array(False)}
        for reverse in (False, True)[:1 + RUNTIME]:  # the reference has no reversed Scan
            for taken in (False, True):
                b = rp.Builder()
                x, w, c = b.feed("x", (6, 2, 3)), b.state("w", (3, 3)), b.feed("c", (), "bool")
                results = [*b.scan(body, 6, [x[0]], [x], [w], reverse=reverse, history=True), *b.cond(c, sides, [x[1]]),
                           *b.while_(again, going, 20, [x[2]], [w]), *b.call(sides[0], [x[3]]),
                           *b.map([shard], [0, 2, 4, 6], ["tree", "concat", "stack"], [x], first=5)]
                for k, r in enumerate(results):
                    b.result(f"r{k}", r)
                self.exported(b.finish(), {"w": (rng.normal(size=(3, 3)) * 0.4).astype(np.float32)}, {**feeds, "c": np.array(taken)})

    def test_bf16_narrow_integers_and_names_that_are_taken(self):
        b = rp.Builder()
        x = b.feed("x", (2, 4))
        w = b.append("cast", {"dtype": "bf16"}, [b.state("x", (4, 4))])
        b.result("y", b.append("matmul", {}, [b.append("cast", {"dtype": "bf16"}, [x]), w]))
        b.result("constant_0", b.append("cast", {"dtype": "i8"}, [x * 100.0]))
        program = b.finish()
        weights = {"x": np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)}
        report = self.exported(program, weights, {"x": np.float32([[1, -2, 0.3, 4]] * 2)})
        self.assertEqual(json.loads(report.metadata["reprise.names"]), {"x.2": "x"})

    def test_large_weights_lie_beside_the_file(self):
        program = program_of(lambda b, x: x @ b.state("w", (8, 500)) @ b.state("v", (500, 2)), (4, 8))
        weights, x = weights_of(program), np.ones((4, 8), np.float32)
        for _ in range(2):
            self.exported(program, weights, {"x": x}, external=300)
        beside = os.path.join(self.folder, "m.onnx.data")
        self.assertEqual(os.path.getsize(beside), sum(a.nbytes for a in weights.values()))
        names = ("m.onnx", "m.onnx.data")
        before = [Path(self.folder, n).read_bytes() for n in names]
        with mock.patch("onnx.checker.check_model", side_effect=RuntimeError("no disk")), self.assertRaises(RuntimeError):
            self.exported(program, {n: a + 1 for n, a in weights.items()}, {"x": x}, external=300)
        self.assertEqual(before, [Path(self.folder, n).read_bytes() for n in names])
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(names))
        path = os.path.join(self.folder, "m.onnx")
        found = door.load(path, shapes={"batch": 4})  # mapped, from this folder alone
        np.testing.assert_array_equal(found.weights["w"], weights["w"])
        self.assertEqual(found.compile(threads=1)(x=x)["y"].tobytes(), ours(program, weights, {"x": x})["y"].tobytes())
        with open(path, "rb") as f:
            text = f.read()
        with self.assertRaisesRegex(door.Unsupported, "outside the file|should be stored"):
            door.load(text, shapes={"batch": 4})
        for place, more in (("../m.onnx.data", {}), ("/etc/passwd", {}), ("none", {}), ("link", {}), ("m.onnx.data", {"offset": "16000"}),
                            ("m.onnx.data", {"length": "4"}), ("m.onnx.data", {"offset": "-1"}), ("m.onnx.data", {"offset": "x"}),
                            (".", {})):
            proto = onnx.load_model_from_string(text)
            tensor = next(t for t in proto.graph.initializer if t.name == "w")
            kept = {e.key: e.value for e in tensor.external_data}
            del tensor.external_data[:]
            for key, value in {**kept, "location": place, **more}.items():
                tensor.external_data.add(key=key, value=value)
            os.makedirs(os.path.join(self.folder, "in"), exist_ok=True)
            inner = os.path.join(self.folder, "in", "h.onnx")
            with open(inner, "wb") as f:
                f.write(proto.SerializeToString())
            shutil.copy(beside, os.path.join(self.folder, "in"))
            with contextlib.suppress(FileExistsError):
                os.symlink(beside, os.path.join(self.folder, "in", "link"))
            with self.subTest(place=place, **more), self.assertRaises(door.Unsupported):
                door.load(inner, shapes={"batch": 4})

    def test_the_same_program_gives_the_same_bytes_in_every_opset(self):
        program = program_of(picture, (2, 8, 8, 3))
        weights, x = weights_of(program), np.random.default_rng(1).normal(size=(2, 8, 8, 3)).astype(np.float32)
        for opset in (20, 21, 23, 26):
            self.exported(program, weights, {"x": x}, opset=opset)
            with open(os.path.join(self.folder, "m.onnx"), "rb") as f:
                text = f.read()
            door.save(program, os.path.join(self.folder, "m.onnx"), weights=weights, opset=opset, force=True)
            with open(os.path.join(self.folder, "m.onnx"), "rb") as f:
                self.assertEqual(f.read(), text)


if __name__ == "__main__":
    unittest.main()
