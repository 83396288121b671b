# SPDX-License-Identifier: Apache-2.0
"""Images looked at where boxes or offsets say, and pools with the places of their greatest elements, beside the standard's
reference and onnxruntime."""
import importlib.util
import os
import sys
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

from onnx import TensorProto, parser, shape_inference
from onnx.reference import ReferenceEvaluator

import reprise
from reprise import onnx as importer
from test_onnx_operators import computed, one


def by_onnxruntime(proto, given):
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, {i.name: given[i.name] for i in session.get_inputs()})))


def examples():
    """Models that the fuzzer changes."""
    found = [one(*given, **more) for given, more in (aligned(np.random.default_rng(1), "avg"), deformed(np.random.default_rng(2), 2, 2, True))] + [
        one("MaxPool", {"x": np.zeros((1, 2, 4, 5), np.float32)}, ("y", "i"), kernel_shape=[2, 2], pads=[1, 0, 0, 1])]
    for proto in found:
        for o in proto.graph.output:
            o.ClearField("type")
    return [shape_inference.infer_shapes(proto) for proto in found]


def aligned(random, mode, half="half_pixel", ratio=2):
    boxes = random.uniform(-3, 12, (5, 4)).astype(np.float32)
    boxes[0] = [0, 0, 7, 6]
    boxes[1] = [3, 3, 3, 3]
    given = {"x": random.normal(size=(2, 3, 7, 8)).astype(np.float32), "b": boxes, "i": random.integers(0, 2, 5)}
    return ("RoiAlign", given), dict(output_height=3, output_width=2, sampling_ratio=ratio, spatial_scale=0.75, mode=mode,
                                     coordinate_transformation_mode=half)


def deformed(random, groups, parts, masked, kernel=(2, 3), stride=(1, 2), pads=(1, 0, 1, 2), dilations=(1, 2)):
    size = [(d + pads[a] + pads[a + 2] - (kernel[a] - 1) * dilations[a] - 1) // stride[a] + 1 for a, d in enumerate((5, 7))]
    given = {"x": random.normal(size=(2, 4, 5, 7)), "w": random.normal(size=(6, 4 // groups, *kernel)),
             "o": random.normal(size=(2, parts * kernel[0] * kernel[1] * 2, *size)) * 1.5, "b": random.normal(size=6),
             "m": random.random((2, parts * kernel[0] * kernel[1], *size)) if masked else None}
    given = {n: a if a is None else a.astype(np.float32) for n, a in given.items()}
    return ("DeformConv", given), dict(group=groups, offset_group=parts, kernel_shape=kernel, strides=stride, pads=pads, dilations=dilations,
                                       opset=22)


class Samples(unittest.TestCase):
    def test_boxes_of_an_image_are_the_references_and_onnxruntimes(self):
        random = np.random.default_rng(4)
        for mode in ("avg", "max"):
            for half in ("half_pixel", "output_half_pixel"):
                for ratio in (1, 2, 3):
                    (kind, given), more = aligned(random, mode, half, ratio)
                    proto = one(kind, given, **more)
                    expected = ReferenceEvaluator(proto).run(None, given)[0]
                    found = computed(proto, given)["y"]
                    np.testing.assert_allclose(found, expected, atol=3e-6, err_msg=f"{mode} {half} {ratio}")
                    theirs = by_onnxruntime(proto, given)
                    if theirs is not None:
                        np.testing.assert_allclose(found, theirs["y"], atol=3e-6)
        (kind, given), more = aligned(random, "avg")
        old = one(kind, given, opset=10, **{k: v for k, v in more.items() if k[:5] != "coord"})
        new = one(kind, given, **dict(more, coordinate_transformation_mode="output_half_pixel"))
        self.assertEqual(computed(old, given)["y"].tobytes(), computed(new, given)["y"].tobytes())
        given["i"] = given["i"] + 5
        with self.assertRaisesRegex(reprise.Error, "out of range"):
            computed(new, given)

    def test_boxes_that_are_kept_are_looked_at(self):
        random = np.random.default_rng(5)
        proto = parser.parse_model("""<ir_version: 10, opset_import: ["" : 22]> agraph (float[2, 3, 7, 8] x, float[6, 4] b, int64[6] i, float[6] s)
            => (float[n, 3, 2, 2] y) {
            zero = Constant<value_float: float = 0.0>()
            m = Greater(s, zero)
            first = Constant<value_ints: ints = [0]>()
            p = NonZero(m)
            k = Squeeze(p, first)
            c = Gather(b, k)
            j = Gather(i, k)
            r = RoiAlign<output_height: int = 2, output_width: int = 2, sampling_ratio: int = 2>(x, c, j)
            y = Relu(r)
        }""")
        made, reference = importer.load(proto).compile(threads=1), ReferenceEvaluator(proto)
        for s in (random.normal(size=6), np.ones(6), -np.ones(6)):
            given = {"x": random.normal(size=(2, 3, 7, 8)).astype(np.float32), "b": random.uniform(0, 7, (6, 4)).astype(np.float32),
                     "i": np.array([0, 1, 1, 0, 1, 1]), "s": s.astype(np.float32)}
            expected, found = reference.run(None, given)[0], made(**given)["y"]
            self.assertEqual(found.shape, expected.shape)
            np.testing.assert_allclose(found, expected, atol=3e-6)

    def test_taps_where_offsets_say_are_the_references(self):
        random = np.random.default_rng(6)
        for groups, parts, masked in ((1, 1, True), (2, 1, False), (1, 2, True), (2, 4, True), (2, 2, False)):
            (kind, given), more = deformed(random, groups, parts, masked)
            proto = one(kind, given, **more)
            expected = ReferenceEvaluator(proto).run(None, {n: a for n, a in given.items() if a is not None})[0]
            np.testing.assert_allclose(computed(proto, given)["y"], expected, atol=2e-5, err_msg=f"{groups} {parts} {masked}")
            still = one(kind, {**given, "o": given["o"] * 0, "m": None}, **more)
            plain = one("Conv", {n: given[n] for n in "xwb"}, **{k: v for k, v in more.items() if k != "offset_group"})
            np.testing.assert_allclose(computed(still, {**given, "o": given["o"] * 0})["y"], computed(plain, given)["y"], atol=2e-5)

    def test_gradients_reach_the_image_the_boxes_and_the_offsets(self):
        for given, more in (aligned(np.random.default_rng(7), "avg"), deformed(np.random.default_rng(8), 1, 1, True)):
            kind, arrays = given
            arrays = {n: a for n, a in arrays.items() if a is not None}
            b = reprise.Builder()
            feeds = {n: b.feed(n, a.shape, "i64" if a.dtype == np.int64 else "f32") for n, a in arrays.items()}
            net = importer.into(b, one(kind, given[1], **more), feeds)
            y = net.outputs["y"]
            names = [n for n, a in arrays.items() if a.dtype != np.int64]
            loss = (y * y).sum()
            b.result("loss", loss)
            for n, g in zip(names, b.gradients(loss, [feeds[n] for n in names])):
                b.result(n, g)
            run = reprise.Run()
            for n, a in net.data.items():
                run.add_data(n, a)
            step = run.compile(b.finish())
            found = {n: np.array(t.numpy()) for n, t in step(**arrays).items()}
            for n in names:
                move = np.random.default_rng(1).normal(size=arrays[n].shape).astype(np.float32) * np.float32(2e-4)
                up, down = (float(np.array(step(**{**arrays, n: arrays[n] + s * move})["loss"].numpy())) for s in (1, -1))
                said = float((found[n].astype(np.float64) * move).sum() * 2)
                self.assertAlmostEqual((up - down) / said, 1, delta=0.1, msg=f"{kind} {n}")

    def test_hostile_forms_are_refused_by_name(self):
        (kind, given), more = aligned(np.random.default_rng(1), "avg")
        for arrays, how in (({"b": given["b"][:, :3]}, {}), ({"i": given["i"][:4]}, {}), ({"x": given["x"][0]}, {}), ({}, {"mode": "min"}),
                            ({}, {"sampling_ratio": 0}), ({}, {"sampling_ratio": -1}), ({}, {"output_height": 0}), ({}, {"output_width": 1 << 40}),
                            ({}, {"sampling_ratio": 1 << 30}), ({}, {"coordinate_transformation_mode": "x"}),
                            ({"x": given["x"].astype(np.float64)}, {})):
            with self.subTest(arrays=list(arrays), how=how), self.assertRaises(importer.Unsupported) as caught:
                importer.load(one(kind, {**given, **arrays}, **{**more, **how}))
            self.assertEqual(caught.exception.operator, kind)
        (kind, given), more = deformed(np.random.default_rng(1), 2, 2, True)
        for arrays, how in (({"o": given["o"][:, :4]}, {}), ({"m": given["m"][:1]}, {}), ({}, {"group": 3}), ({}, {"offset_group": 0}),
                            ({}, {"offset_group": 3}), ({}, {"strides": [0, 1]}), ({}, {"kernel_shape": [3, 3]}), ({}, {"group": -2}),
                            ({"x": given["x"][..., 0]}, {}), ({}, {"dilations": [1 << 40, 1]})):
            with self.subTest(arrays=list(arrays), how=how), self.assertRaises(importer.Unsupported) as caught:
                importer.load(one(kind, {**given, **arrays}, **{**more, **how}))
            self.assertEqual(caught.exception.operator, kind)


class Pools(unittest.TestCase):
    def test_places_of_the_greatest_elements_are_onnxruntimes(self):
        random = np.random.default_rng(9)
        for shape, more in (((2, 3, 9), dict(kernel_shape=[3], strides=[2], pads=[1, 1])),
                            ((2, 3, 6, 7), dict(kernel_shape=[2, 3], strides=[1, 2], pads=[1, 1, 0, 2])),
                            ((1, 2, 6, 7), dict(kernel_shape=[3, 2], dilations=[2, 3], ceil_mode=1, strides=[2, 2])),
                            ((2, 2, 5, 6), dict(kernel_shape=[3, 3], auto_pad="SAME_UPPER", storage_order=1)),
                            ((1, 2, 4, 5, 3), dict(kernel_shape=[2, 2, 2], pads=[0, 1, 0, 1, 0, 1]))):
            for x in (random.normal(size=shape), random.integers(-2, 2, shape), -np.ones(shape)):
                given = {"x": x.astype(np.float32)}
                proto = one("MaxPool", given, ("y", "i"), **more)
                proto.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
                for o in proto.graph.output:
                    o.type.tensor_type.ClearField("shape")
                theirs = by_onnxruntime(proto, given)
                for o in proto.graph.output:
                    o.type.tensor_type.shape.SetInParent()
                found = computed(proto, given)
                flat = given["x"].reshape(-1)
                if not more.get("storage_order"):
                    np.testing.assert_array_equal(flat[found["i"]], found["y"])
                if theirs is not None:
                    np.testing.assert_array_equal(found["y"], theirs["y"])
                    np.testing.assert_array_equal(found["i"], theirs["i"], f"{shape} {more}")

    def test_padding_is_no_place_where_all_elements_are_infinitely_small(self):
        for shape, more, places in (((1, 2, 4), dict(kernel_shape=[3], pads=[1, 1]), [[0, 0, 1, 2], [4, 4, 5, 6]]),
                                    ((1, 1, 2, 3), dict(kernel_shape=[2, 2], pads=[1, 1, 0, 0]), [[0, 0, 1], [0, 0, 1]]),
                                    ((1, 1, 2, 3), dict(kernel_shape=[2, 2], pads=[1, 1, 0, 0], storage_order=1), [[0, 0, 2], [0, 0, 2]])):
            x = np.full(shape, -np.inf, np.float32)
            found = computed(one("MaxPool", {"x": x}, ("y", "i"), **more), {"x": x})
            self.assertEqual(found["i"].reshape(np.shape(places)).tolist(), places)
            self.assertTrue((found["y"] == -np.inf).all())

    def test_elements_go_back_to_where_they_were(self):
        x = np.random.default_rng(3).normal(size=(2, 3, 4, 6)).astype(np.float32)
        found = computed(one("MaxPool", {"x": x}, ("y", "i"), kernel_shape=[2, 2], strides=[2, 2]), {"x": x})
        given = {"y": found["y"], "i": found["i"]}
        proto = one("MaxUnpool", given, ("z",), kernel_shape=[2, 2], strides=[2, 2])
        back = computed(proto, given)["z"]
        self.assertEqual(back.tobytes(), ReferenceEvaluator(proto).run(None, given)[0].tobytes())
        self.assertEqual(back.tobytes(), np.where(np.isin(np.arange(x.size).reshape(x.shape), found["i"]), x, 0).astype(np.float32).tobytes())
        with self.assertRaisesRegex(reprise.Error, "out of range"):
            computed(proto, {**given, "i": given["i"] + x.size})

    def test_hostile_forms_are_refused_by_name(self):
        x = np.zeros((1, 1, 4, 4), np.float32)
        for more in (dict(kernel_shape=[2, 2], storage_order=2), dict(kernel_shape=[2, 2], pads=[5, 0, 0, 0])):
            with self.subTest(more=more), self.assertRaises(importer.Unsupported):
                importer.load(one("MaxPool", {"x": x}, ("y", "i"), **more))
        given = {"x": x, "i": np.zeros(x.shape, np.int64)}
        for arrays, more in (({}, dict(kernel_shape=[2])), ({}, dict(kernel_shape=[2, 2], strides=[1 << 40, 1])),
                             ({}, dict(kernel_shape=[2, 2], pads=[9, 9, 9, 9])), ({"i": given["i"][..., :2]}, dict(kernel_shape=[2, 2])),
                             ({"n": np.array([1, 1, 2, 2])}, dict(kernel_shape=[2, 2])), ({"n": np.array([1, 1, 1 << 40, 9])}, dict(kernel_shape=[2, 2]))):
            with self.subTest(more=more, arrays=list(arrays)), self.assertRaises(importer.Unsupported) as caught:
                importer.load(one("MaxUnpool", {**given, **arrays}, ("z",), known=("n",), **more))
            self.assertEqual(caught.exception.operator, "MaxUnpool")


if __name__ == "__main__":
    unittest.main()
