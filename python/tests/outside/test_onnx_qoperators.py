# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's operators of bytes (QuantFormat.QOperator) beside their written formulas and, where it is installed, beside onnxruntime."""
from __future__ import annotations

import importlib.util
import sys
import unittest

import numpy as np

if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

import onnx
from onnx import helper, numpy_helper

import reprise.onnx as ro

PEER = importlib.util.find_spec("onnxruntime") is not None
if PEER:
    import onnxruntime

BYTES = {"u8": np.uint8, "i8": np.int8}


def model_of(kind, names, constants, given, outputs=("y",), domain="com.microsoft", **attributes):
    """One operator, whose inputs are `given` and initializers."""
    node = helper.make_node(kind, list(names), list(outputs), domain=domain, **attributes)
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=n) for n in outputs],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    for v in model.graph.output:
        v.type.tensor_type.elem_type = 0
    return model


def peers(model, given, dtype):
    for v in model.graph.output:
        v.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)[0]


class Operators(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(3)

    def weights(self, w):
        """These with whether onnxruntime is asked of them. Of all of i8 its sums of two products saturate at 16 bits on processors without
        VNNI (its documentation has reduce_range for that), where it is another value than the formula's: it is asked of 7 bits."""
        return ((w, False), (w // 2, True)) if w.dtype == np.int8 else ((w, True),)

    def bytes_of(self, shape, kind="u8"):
        info = np.iinfo(BYTES[kind])
        return self.rng.integers(info.min, info.max + 1, shape).astype(BYTES[kind])

    def quantised(self, y, scale, zero, kind):
        info = np.iinfo(BYTES[kind])
        return np.clip(np.rint(np.asarray(y, np.float64) / np.float64(scale)) + float(zero), info.min, info.max).astype(BYTES[kind])

    def same(self, kind, names, constants, given, want=None, ties=0, peer=True, **attributes):
        """Of a few elements of a peer's the last step may be another where what is scaled is as near to one as to the next. peer=False: beside
        the formula alone."""
        dtype = np.float32 if want is not None and want.dtype == np.float32 else next(a for a in given.values() if a.dtype != bool).dtype
        model = model_of(kind, names, constants, given, **attributes)
        for v in model.graph.output:
            v.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        found = np.asarray(ro.load(model).compile(threads=1)(**given)["y"])
        for other in ([want] if want is not None else []) + ([peers(model, given, dtype)] if PEER and peer else []):
            self.assertEqual((found.shape, found.dtype), (other.shape, other.dtype), kind)
            if dtype == np.float32:
                np.testing.assert_allclose(found, other, rtol=1e-6)
                continue
            apart = np.abs(found.astype(np.int64) - other.astype(np.int64))
            self.assertLessEqual(int(apart.max()), 1 if ties else 0, kind)
            self.assertLessEqual(int((apart > 0).sum()), ties, f"{kind}: {int((apart > 0).sum())} of {apart.size}")
        return found

    def scales(self, kind, n):
        zero = {"u8": (117, 3, 201), "i8": (-11, 3, 40)}[kind]
        return {f"{c}{s}": np.array(v, np.float32 if s == "s" else BYTES[kind])
                for c, scale, z in list(zip("xyz", (0.0217, 0.0133, 0.0419), zero))[:n] for s, v in (("s", scale), ("z", z))}

    def test_of_one_operand(self):
        for kind in ("u8", "i8"):
            c, x = self.scales(kind, 2), self.bytes_of((3, 5, 8, 8), kind)
            real = (x.astype(np.float32) - np.float32(c["xz"])) * c["xs"]
            names = ("x", "xs", "xz", "ys", "yz")
            self.same("QLinearSigmoid", names, c, {"x": x}, self.quantised(1 / (1 + np.exp(-real)), c["ys"], c["yz"], kind))
            for alpha in (0.2, None):
                self.same("QLinearLeakyRelu", names, c, {"x": x}, self.quantised(np.where(real < 0, real * np.float32(alpha or 0.01), real), c["ys"],
                                                                              c["yz"], kind), ties=3, **({"alpha": alpha} if alpha else {}))
            self.same("QLinearGlobalAveragePool", names, c, {"x": x}, self.quantised(real.mean((2, 3), keepdims=True, dtype=np.float64), c["ys"],
                                                                                  c["yz"], kind))
            self.same("QLinearAveragePool", names, c, {"x": x}, ties=4, kernel_shape=[2, 2], strides=[2, 2])
            self.same("QLinearAveragePool", names, c, {"x": x}, ties=4, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
            self.same("QLinearAveragePool", names, c, {"x": x}, ties=4, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
            self.same("QLinearAveragePool", names, c, {"x": x}, ties=4, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, count_include_pad=1)
            for opset, axis in ((13, -1), (13, 1), (11, 2)):
                self.same("QLinearSoftmax", names, {**c, "ys": np.float32(1 / 256)}, {"x": x}, ties=40, axis=axis, opset=opset)

    def test_of_two_operands(self):
        for kind in ("u8", "i8"):
            c, a, b = self.scales(kind, 3), self.bytes_of((2, 3, 50), kind), self.bytes_of((3, 1), kind)
            names = ("a", "xs", "xz", "b", "ys", "yz", "zs", "zz")
            real = [(v.astype(np.float64) - float(c[f"{n}z"])) * np.float64(c[f"{n}s"]) for v, n in ((a, "x"), (b, "y"))]
            self.same("QLinearAdd", names, c, {"a": a, "b": b}, self.quantised(real[0] + real[1], c["zs"], c["zz"], kind), ties=1)
            self.same("QLinearMul", names, c, {"a": a, "b": b}, self.quantised(real[0] * real[1], c["zs"], c["zz"], kind), ties=1)
            joined = self.same("QLinearConcat", ("zs", "zz", "a", "xs", "xz", "a2", "ys", "yz"), c, {"a": a, "a2": a[::-1].copy()}, axis=2,
                               want=self.quantised(np.concatenate([real[0], (a[::-1].astype(np.float64) - float(c["yz"])) *
                                                                   np.float64(c["ys"])], 2), c["zs"], c["zz"], kind), ties=1)
            self.assertEqual(joined.shape, (2, 3, 100))

    def test_zero_points_are_added_before_a_tie_is_rounded(self):
        """1.5 by a zero point of 1 is 2.5, which is rounded to 2: rounded first it would be 3."""
        c = {"xs": np.float32(0.5), "xz": np.uint8(0), "ys": np.float32(1), "yz": np.uint8(0), "zs": np.float32(1), "zz": np.uint8(1)}
        found = self.same("QLinearAdd", ("a", "xs", "xz", "b", "ys", "yz", "zs", "zz"), c, {"a": np.array([3, 1], np.uint8),
                                                                                        "b": np.array([0, 0], np.uint8)})
        self.assertEqual(found.tolist(), [2, 2])

    def test_products_of_matrices_with_a_bias(self):
        for kind, other, many, turned in (("u8", "i8", False, 0), ("u8", "i8", True, 1), ("i8", "i8", True, 0), ("u8", "u8", False, 1)):
            c, a, b = self.scales(kind, 1), self.bytes_of((4, 9), kind), self.bytes_of((7, 9) if turned else (9, 7), other)
            c.update(bs=self.rng.uniform(0.01, 0.02, 7).astype(np.float32) if many else np.float32(0.017), zs=np.float32(0.31), zz=BYTES[kind](9),
                     bz=np.zeros(7, BYTES[other]) if many else BYTES[other](5), c=self.rng.integers(-3000, 3000, 7).astype(np.int32))
            share = np.float32(c["xs"]) * c["bs"]
            names = ("a", "xs", "xz", "b", "bs", "bz", "c")
            for b, peer in self.weights(b):
                c["b"], w = b, (b.T if turned else b).astype(np.float64) - float(np.ravel(c["bz"])[0])
                sums = (a.astype(np.float64) - float(c["xz"])) @ w + c["c"]
                self.same("QGemm", names, c, {"a": a}, (sums * share).astype(np.float32), peer=peer, transB=turned)
                self.same("QGemm", (*names, "zs", "zz"), c, {"a": a}, self.quantised(sums * (share / c["zs"]), 1, c["zz"], kind), peer=peer,
                          transB=turned)

    def test_the_standards_operators(self):
        x, w = self.bytes_of((1, 4, 7, 6)), self.bytes_of((6, 2, 3, 3), "i8")
        c = {**self.scales("u8", 2), "ws": self.rng.uniform(0.01, 0.02, 6).astype(np.float32), "wz": np.zeros(6, np.int8),
             "b": self.rng.integers(-900, 900, 6).astype(np.int32)}
        padded = np.pad(x.astype(np.int64) - int(c["xz"]), ((0, 0), (0, 0), (1, 1), (1, 1)))
        for weights, peer in self.weights(w):
            sums = np.array([[[[(padded[0, o // 3 * 2:o // 3 * 2 + 2, i:i + 3, j:j + 3] * weights[o]).sum() + int(c["b"][o]) for j in range(6)]
                               for i in range(0, 7, 2)] for o in range(6)]])
            share = (c["xs"] * c["ws"] / np.float32(0.4)).reshape(1, 6, 1, 1)
            self.same("QLinearConv", ("x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"), {**c, "w": weights, "ys": np.float32(0.4)}, {"x": x},
                      self.quantised(sums * share, 1, c["yz"], "u8"), ties=1, peer=peer, domain="", group=2, pads=[1, 1, 1, 1], strides=[2, 1])
        m = self.bytes_of((6, 5))
        self.same("QLinearMatMul", ("x", "xs", "xz", "m", "ys", "yz", "zs", "zz"), {**self.scales("u8", 3), "m": m, "zs": np.float32(0.5)},
                  {"x": x}, ties=1, domain="")
        model = model_of("ConvInteger", ("x", "w", "xz", "wz"), {"w": w.view(np.uint8), "xz": c["xz"], "wz": np.uint8(7)}, {"x": x}, domain="",
                         group=2)
        model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
        found = np.asarray(ro.load(model).compile(threads=1)(x=x)["y"])
        wide, by = x.astype(np.int64) - int(c["xz"]), w.view(np.uint8).astype(np.int64) - 7
        want = np.array([[[[(wide[0, o // 3 * 2:o // 3 * 2 + 2, i:i + 3, j:j + 3] * by[o]).sum() for j in range(4)] for i in range(5)]
                          for o in range(6)]])
        np.testing.assert_array_equal(found, want)

    def test_what_has_no_such_form_is_refused(self):
        c, x = self.scales("u8", 3), self.bytes_of((2, 3, 4, 4))
        names = ("x", "xs", "xz", "ys", "yz")
        for kind, inputs, constants, attributes, text in (
                ("QLinearAveragePool", names, c, {"kernel_shape": [2, 2], "channels_last": 1}, "channels_last"),
                ("QLinearAveragePool", names, c, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1}, "ceil_mode"),
                ("QLinearGlobalAveragePool", names, c, {"channels_last": 1}, "channels_last"),
                ("QLinearSigmoid", names, {**c, "xs": np.ones(3, np.float32)}, {}, "expected one number"),
                ("QLinearSigmoid", names, {**c, "xz": np.int8(1)}, {}, "a zero point of i8 of u8"),
                ("QLinearSoftmax", names, c, {}, "of opset 0"), ("QLinearConcat", names, c, {"axis": 0}, "inputs|one number"),
                ("QLinearReduceMean", names, c, {"axes": [2]}, "QuantFormat.QDQ"),
                ("QLinearAdd", ("x", "xs", "xz", "b", "ys", "yz", "zs", "zz"), {**c, "b": np.ones(4, np.int8), "yz": np.int8(0)}, {}, "of u8 and i8")):
            with self.assertRaisesRegex(ro.Unsupported, text, msg=kind):
                ro.load(model_of(kind, inputs, constants, {"x": x}, **attributes))


if __name__ == "__main__":
    unittest.main()
