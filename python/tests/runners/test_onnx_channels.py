# SPDX-License-Identifier: Apache-2.0
"""Convolutional ONNX models keep their images channels last between convolutions: no step turns one around, the values are those
of the standard's order and of onnxruntime. Weights of bytes are kept as they are multiplied."""
import importlib.util
import json
import os
import sys
import unittest
from unittest import mock

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from reprise import onnx as importer
from reprise.onnx import channels
from test_onnx_samples import by_onnxruntime

TEXT = """<ir_version: 8, opset_import: ["": 15]>
net (float[1,3,8,8] x, float[4,3,3,3] a, float[4,4,1,1] b, float[3,8,3,3] c, float[4,1,1] slope, float[1,4,1,1] shift, float[4] gamma,
     float[4] beta, float[4] mean, float[4] spread, float[4,4,2,2] up) => (float[1,3,16,16] y)
<float[4] scales = {1, 1, 2, 2}, float low = {0}, float high = {1}>
{
  f = Conv<pads = [1, 1, 1, 1], strides = [2, 2]> (x, a)
  g = PRelu (f, slope)
  m = GlobalAveragePool (g)
  k = Conv (m, b)
  h = HardSigmoid<alpha = 0.2> (k)
  s = Mul (g, h)
  t = Add (g, s)
  u = Clip (t, low, high)
  big = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (u, , scales)
  two = ConvTranspose<strides = [2, 2]> (t, up)
  n = BatchNormalization (two, gamma, beta, mean, spread)
  moved = Add (n, shift)
  r = Relu (moved)
  both = Concat<axis = 1> (big, r)
  w = Resize<mode = "linear"> (both, , scales)
  q = Sigmoid (w)
  y = Conv<pads = [1, 1, 1, 1]> (q, c)
}"""


def network():
    proto, random = parser.parse_model(TEXT), np.random.default_rng(1)
    given = {i.name: random.uniform(0.2, 1, [d.dim_value for d in i.type.tensor_type.shape.dim]).astype(np.float32) for i in proto.graph.input}
    for i in list(proto.graph.input)[1:]:
        proto.graph.initializer.append(numpy_helper.from_array(given[i.name], i.name))
        proto.graph.input.remove(i)
    return proto, given["x"]


def turned(program):
    """What of the data is brought into the order of channels first, by the operation that made it and the one that reads it; what
    nothing reads is not computed."""
    steps = json.loads(program.text)["instructions"]
    maker = {out: kind for kind, _, _, outs in steps for out in outs}
    readers = {}
    for kind, _, operands, _ in steps:
        for operand in operands:
            readers.setdefault(operand, []).append(kind)
    return sorted((maker[operands[0]], reader) for kind, how, operands, (out,) in steps
                  if kind == "transpose" and how["permutation"] == channels.FIRST for reader in readers.get(out, []))


class Channels(unittest.TestCase):
    def test_images_lie_channels_last_from_the_first_convolution_to_the_last(self):
        proto, x = network()
        found = importer.load(proto)
        one = found.compile(threads=1)(x=x)["y"]
        for name, wanted in (("the reference", {"y": ReferenceEvaluator(proto).run(None, {"x": x})[0]}),
                             ("onnxruntime", by_onnxruntime(proto, {"x": x}))):
            if wanted is not None:
                np.testing.assert_allclose(one, wanted["y"], rtol=2e-6, err_msg=name)
        with mock.patch.object(channels, "ELEMENTWISE", frozenset()):
            plain = importer.load(proto)
        self.assertEqual(plain.compile(threads=1)(x=x)["y"].tobytes(), one.tobytes())
        # the result, what gates the channels, and the mean of places, in whose order the axes play no part
        self.assertEqual(turned(found.program), [("conv2d", "concat"), ("conv2d", "mul"), ("where", "mean")])
        self.assertEqual(len(turned(plain.program)), 7)

    def test_weights_of_bytes_are_kept_less_their_zero_points(self):
        proto = parser.parse_model("""<ir_version: 8, opset_import: ["": 15]>
            net (uint8[2,5] x, uint8 zero) => (int32[2,3] y)
            <int8[5,3] w = {-128, 127, 3, 4, -5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, int8[3] each = {-128, 0, 7}>
            { y = MatMulInteger (x, w, zero, each) }""")
        x, zero = np.random.default_rng(2).integers(0, 256, (2, 5)).astype(np.uint8), np.uint8(200)
        found = importer.load(proto)
        self.assertEqual([kind for kind, *_ in json.loads(found.program.text)["instructions"]].count("sub"), 1)  # of x alone
        wanted = ReferenceEvaluator(proto).run(None, {"x": x, "zero": zero})[0]
        np.testing.assert_array_equal(found.compile(threads=1)(x=x, zero=zero)["y"], wanted)
    def test_long_sums_of_bytes_are_exact(self):
        for k in (257, 258, 259, 1024, 33000):
            proto = parser.parse_model(f"""<ir_version: 8, opset_import: ["": 15]>
                net (uint8[3,{k}] x, uint8[{k},2] w) => (int32[3,2] y) {{ y = MatMulInteger (x, w) }}""")
            x, w = np.full((3, k), 255, np.uint8), np.full((k, 2), 255, np.uint8)
            x[1], w[::3, 1] = np.arange(k) % 251, 254
            found = importer.load(proto).compile(threads=1)(x=x, w=w)["y"]
            np.testing.assert_array_equal(found, x.astype(np.int64) @ w.astype(np.int64), err_msg=str(k))


if __name__ == "__main__":
    unittest.main()
