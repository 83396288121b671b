# SPDX-License-Identifier: Apache-2.0
"""Operators whose results are as long as there are elements of a kind (boxes that are kept, elements that are not 0, different
ones), and every operator that takes such results on, beside the standard's reference and onnxruntime."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

import onnx
from onnx import TensorProto, helper, numpy_helper, parser, printer, shape_inference
from onnx.reference import ReferenceEvaluator

import reprise
from reprise import onnx as importer
from reprise.onnx import ragged
from test_onnx_operators import one

HEAD = """<ir_version: 10, opset_import: ["" : %d]> agraph (float[6, 4] x, float[6] s) => (float[] y) {
    zero = Constant<value_float: float = 0.0>()
    m = Greater(s, zero)
    p = NonZero(m)
    first = Constant<value_ints: ints = [0]>()
    i = Squeeze(p, first)
    t = Gather(x, i)
"""
# What is made of x [6, 4], t [n, 4], its rows where s is above 0, and of i [n], their places.
UNARY = ["y = %s(t)" % k for k in ragged.UNARY if k not in ("Not", "BitwiseNot", "Cast")]
CASES = [
    *UNARY, "y = BitwiseNot(i)", "c = Greater(t, zero) y = Not(c)", "y = Cast<to: int = 7>(t)",
    *("y = %s(t, t)" % k for k in "Add Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mul Sub Sum".split()),
    *("y = %s(i, i)" % k for k in "BitwiseAnd BitwiseOr BitwiseXor Mod Pow Add Div Max".split()),
    *("c = Greater(t, zero) d = Less(t, zero) y = %s(c, d)" % k for k in "And Or Xor".split()),
    "c = Greater(t, zero) y = Where(c, t, zero)", "a = Constant<value_floats: floats = [1.0, 2.0, 3.0, 4.0]>() y = Add(a, t)",
    "a = Unsqueeze(i, e) b = Cast<to: int = 1>(a) y = Mul(t, b)",
    "a = Constant<value_ints: ints = [7]>() y = Div(a, i)", "y = Transpose(t)", "y = Softmax(t)", "y = LogSoftmax(t)", "y = Hardmax(t)",
    *("y = %s<keepdims: int = %d>(t, e)" % (k, keep) for k in importer.arithmetic.REDUCE for keep in (0, 1)),
    *("y = %s<keepdims: int = 0>(t, first)" % k for k in "ReduceSum ReduceL1 ReduceL2 ReduceSumSquare ReduceProd ReduceMax ReduceMin".split()),
    "y = ReduceSum(t)", "q = Transpose(t) y = ReduceSum<keepdims: int = 0>(q, first)",
    *("y = %s<axis: int = 1, keepdims: int = %d>(t)" % (k, keep) for k in ("ArgMax", "ArgMin") for keep in (0, 1)),
    "q = Transpose(t) y = ArgMax<axis: int = 0, keepdims: int = 0>(q)",
    "k = Constant<value_ints: ints = [2]>() y, j = TopK(t, k)", "k = Constant<value_ints: ints = [2]>() j, y = TopK(t, k)",
    "q = Transpose(t) z = Shape(i) k = Constant<value_ints: ints = [2]>() w = Min(z, k) y, j = TopK(q, w)",
    "z = Shape(i) j, y = TopK<axis: int = 0, largest: int = 0>(t, z)", "z = Shape(i) y, j = TopK<axis: int = 0>(t, z)",
    "o = NonZero(m) h = Squeeze(o, first) v = Gather(x, h) y = Add(t, v)",  # a mask is asked again
    "y, j = Split<axis: int = 1, num_outputs: int = 2>(t)",
    "y = Unsqueeze(t, e)", "y = Unsqueeze(t, first)", "q = Unsqueeze(t, first) y = Squeeze(q, first)",
    "y = Reshape<allowzero: int = 0>(t, r1)", "y = Reshape(t, r2)", "y = Reshape(t, r3)", "y = Reshape(t, r4)", "y = Flatten(t)",
    "q = Reshape(t, r2) y = Flatten<axis: int = 2>(q)", "q = Unsqueeze(t, first) y = Reshape(q, r4)",
    "y = Concat<axis: int = 0>(t, x, t)", "y = Concat<axis: int = 1>(t, t)", "y = Concat<axis: int = 0>(i, i)", "y = Concat<axis: int = 0>(t)",
    "a = Gather(s, i) q = Unsqueeze(a, e) h = Unsqueeze(s, e) b = Concat<axis: int = 0>(t, x, t) c = Concat<axis: int = 0>(q, h, q) y = Add(b, c)",
    "z = Shape(t) h = Reshape(z, lone) y = Expand(zero, h)", "z = Shape(t) y = Expand(z, pair)",
    "b = Constant<value_ints: ints = [1]>() c = Constant<value_ints: ints = [3]>() y = Slice(t, b, c, e)",
    "c = Constant<value_ints: ints = [3]>() y = Slice(t, first, c, first)",
    "b = Constant<value_ints: ints = [2]>() c = Constant<value_ints: ints = [9223372036854775807]>() y = Slice(t, b, c, first)",
    "b = Constant<value_ints: ints = [1]>() c = Constant<value_ints: ints = [3]>() y = Slice(t, b, c, first)",
    "b = Constant<value_ints: ints = [8]>() c = Constant<value_ints: ints = [9]>() y = Slice(t, b, c, first)",
    "y = Shape(t)", "y = Shape<start: int = 1>(t)", "y = Shape<end: int = 1>(t)", "y = Shape<start: int = 2>(t)", "y = Size(t)",
    "y = Gather<axis: int = 1>(t, e)", "q = Transpose(t) y = Gather(q, e)", "a = Gather(s, i) b = Mul(a, a) d = Unsqueeze(b, e) y = Gather(x, i)",
    "q = Transpose(x) y = Gather<axis: int = 1>(q, i)", "q = Add(i, i) h = Constant<value_ints: ints = [2]>() j = Div(q, h) y = Gather(x, j)",
    "h = Constant<value_ints: ints = [-6]>() j = Add(i, h) y = Gather(x, j)",  # from the end
    "y = Gather(x, p)",
    "u = Greater(t, zero) y = NonZero(u)", "a = ReduceMax<keepdims: int = 0>(t, e) u = Greater(a, zero) y = Compress<axis: int = 0>(t, u)",
    "u = Greater(i, first) y = Compress(i, u)", "y = Compress<axis: int = 0>(x, m)", "y = Compress(s, m)",
    "q = Unsqueeze(i, e) y = GatherND(x, q)", "z = Size(i) a = Range(null, z, unit) q = Unsqueeze(a, e) y = GatherND(t, q)",
    "z = Size(i) a = Range(null, z, unit) q = Unsqueeze(a, e) r = Sub(q, e) b = Concat<axis: int = 1>(r, q) h = Mul(b, back) y = GatherND(t, h)",
    "z = Shape(i) y = ConstantOfShape(z)", "z = Shape(t) y = ConstantOfShape<value: tensor = int64[1] {7}>(z)",
    "z = Shape(t) a = Gather(z, null) c = Cast<to: int = 7>(a) b = Unsqueeze(c, first) d = Concat<axis: int = 0>(pair, b) y = ConstantOfShape(d)",
    "z = Shape(t) h = Identity(z) f = Slice(h, first, e) y = Expand(s1, f)", "z = Shape(t) y = Expand(zero, z)", "z = Shape(t) y = Expand(t, z)",
    "z = Shape(t) q = Unsqueeze(t, first) y = Expand(q, z)", "q = Unsqueeze(t, first) y = Expand(q, r7)", "z = Shape(i) y = Expand(i, z)",
    "z = Shape(t) a = Gather(z, first) b = Squeeze(a, first) y = Range(null, b, unit)", "z = Shape(t) q = Relu(t) y = Reshape(q, z)",
    "z = Shape(t) a = Slice(z, e, pair) b = Concat<axis: int = 0>(lone, a) y = Reshape(t, b)",
    "z = Shape<start: int = 1>(t) b = Concat<axis: int = 0>(lone, z) y = Reshape(t, b)",
    "z = Shape<end: int = 1>(t) d = Concat<axis: int = 0>(z, pair, pair) y = Reshape(t, d)", "q = Transpose(p) y = GatherND(x, q)",
    "w = Transpose(x) y = MatMul(t, w)", "q = Unsqueeze(t, first) w = Transpose(x) y = MatMul(q, w)", "w = Gather<axis: int = 1>(x, first)"
    " q = Transpose(w) u = Reshape(t, r3) h = Unsqueeze(u, e) y = MatMul(h, q)", "w = Squeeze(four, first) y = MatMul(t, w)",
    "w = Transpose(x) y = Gemm(t, w, s)", "w = Transpose(x) y = Gemm<alpha: float = 2.0>(t, w)",
    "q = Reshape(t, r5) y = GlobalAveragePool(q)", "q = Reshape(t, r5) y = GlobalMaxPool(q)",
    "q = Reshape(t, r5) y = MaxPool<kernel_shape: ints = [2, 1]>(q)", "q = Reshape(t, r5) y = AveragePool<kernel_shape: ints = [1, 2]>(q)",
    "q = Reshape(t, r5) y = LpPool<kernel_shape: ints = [1, 2]>(q)", "q = Reshape(t, r5) y = Conv(q, kernel)",
    "q = Reshape(t, r5) y = ConvTranspose(q, kernel)",
    "q = Reshape(t, r5) o = Constant<value_floats: floats = [2.0]>() y = InstanceNormalization(q, o, o)"]
KNOWN = """
    e = Constant<value_ints: ints = [1]>()
    null = Constant<value_int: int = 0>()
    unit = Constant<value_int: int = 1>()
    pair = Constant<value_ints: ints = [2]>()
    lone = Constant<value_ints: ints = [-1]>()
    back = Constant<value_ints: ints = [1, 0]>()
    s1 = Constant<value_floats: floats = [2.5]>()
    r7 = Constant<value_ints: ints = [3, 1, 4]>()
    r1 = Constant<value_ints: ints = [0, 2, 2]>()
    r2 = Constant<value_ints: ints = [-1, 2, 2]>()
    r3 = Constant<value_ints: ints = [-1]>()
    r4 = Constant<value_ints: ints = [1, -1, 2]>()
    r5 = Constant<value_ints: ints = [-1, 1, 2, 2]>()
    r6 = Constant<value_ints: ints = [6, 4]>()
    four = Constant<value: tensor = float[1, 4] {0.5, 2.0, -1.0, 3.0}>()
    kernel = Constant<value: tensor = float[1, 1, 2, 1] {0.5, 2.0}>()
"""


def model(body, opset=22):
    if "Swish" in body:
        opset = 24
    proto = parser.parse_model(HEAD % opset + KNOWN + "    " + body.replace(") ", ")\n    ") + "\n}")
    proto.graph.output[0].type.tensor_type.shape.SetInParent()
    return proto


def feeds():
    random = np.random.default_rng(7)
    for s in (random.normal(size=6), -np.ones(6), np.ones(6), np.array([0, 0, 0, 0, 0, 1]), np.array([1, 0, 0, 0, 0, 0])):
        yield {"x": random.normal(size=(6, 4)).astype(np.float32), "s": s.astype(np.float32)}


def examples():
    """Models that the fuzzer changes."""
    random = np.random.default_rng(6)
    boxes, scores = boxes_of(random, 2, 2, 6, 0)
    given = {"b": boxes, "s": scores, "n": np.array([3], np.int64), "o": np.array([0.5], np.float32), "l": np.array([0], np.float32)}
    found = [model(body) for body in CASES[len(UNARY)::4]] + [
        one("NonMaxSuppression", given, known=("n", "o")), *(one("Unique", {"x": boxes[0].round()}, ("y", "i", "v", "c"), sorted=k, axis=0)
                                                             for k in (0, 1))]
    for proto in found:  # with the outputs' own types, without which the fuzzer has no second opinion
        for o in proto.graph.output:
            o.ClearField("type")
    return [shape_inference.infer_shapes(proto) for proto in found]


class Taken(unittest.TestCase):
    def test_every_operator_that_takes_such_values_is_the_references(self):
        seen = set()
        for body in CASES:
            proto = model(body)
            seen |= {node.op_type for node in proto.graph.node[7:]}
            with self.subTest(body=body):
                made = importer.load(proto).compile(threads=1)
            reference = ReferenceEvaluator(proto)
            for given in feeds():
                found = int((given["s"] > 0).sum())
                with self.subTest(body=body, found=found), np.errstate(all="ignore"):
                    try:
                        expected = reference.run(None, given)[0]
                    except (ValueError, TypeError, ZeroDivisionError):  # it does not make everything of nothing
                        self.assertEqual(found, 0)
                        continue
                    y = made(**given)["y"]
                    self.assertEqual(y.shape, np.shape(expected))
                    np.testing.assert_allclose(y, expected, rtol=2e-6, atol=1e-6)
        self.assertEqual(set(ragged.RULES) - seen - {"NonMaxSuppression", "RoiAlign"}, set())  # a rule without a case is not tested

    def test_what_would_take_what_is_not_there_is_refused(self):
        for body in ("y = Add(t, x)", "o = Less(s, zero) q = NonZero(o) j = Squeeze(q, first) u = Gather(x, j) y = Add(t, u)",
                     "y = CumSum(t, first)", "y = Squeeze(t)", "y = Softmax<axis: int = 0>(t)", "y = Expand(first, i)",
                     "y = ReduceMean<keepdims: int = 0>(t, first)", "y = ArgMax<axis: int = 0>(t)", "y = Tile(i, first)",
                     "q = Shape(t) y = Reshape(x, q)", "q = Shape(t) a = Mul(q, q) y = ConstantOfShape(a)",
                     "q = Shape(t) a = Concat<axis: int = 0>(q, q) y = ConstantOfShape(a)", "q = Shape(t) y = Expand(x, q)",
                     "q = Shape(t) o = Less(s, zero) a = NonZero(o) j = Squeeze(a, first) u = Gather(x, j) y = Expand(u, q)", "y = Expand(t, r6)",
                     "q = Size(i) y = Range(unit, q, unit)", "q = Size(i) y = Range(null, q, pair)", "y = GatherND(t, t)", "y = ConstantOfShape(i)",
                     "q = Shape(t) o = Less(s, zero) a = NonZero(o) j = Squeeze(a, first) u = Gather(x, j) y = Reshape(u, q)", "q = Constant<value_ints: ints = [2, -1]>() y = Reshape(t, q)",
                     "q = Constant<value_ints: ints = [6, 4]>() y = Reshape(t, q)", "a = Constant<value_ints: ints = [-2]>() y = Slice(t, first, a, first)",
                     "w = Transpose(t) y = MatMul(x, w)", "w = Transpose(t) y = Gemm(t, w)", "y = Gather(t, i) z = Gather<axis: int = 1>(t, i)",
                     "y = Einsum<equation: string = \"ab->a\">(t)", "y = Concat<axis: int = 1>(t, x)", "y = ScatterND(x, p, t)", "y = OneHot(i, e, x)",
                     "y = Pad(t, i)", "y = Range(i, i, i)"):
            with self.subTest(body=body), self.assertRaises(importer.Unsupported) as caught:
                importer.load(model(body))
            self.assertTrue(caught.exception.operator)

    def test_an_index_beyond_what_is_there_is_an_error_of_the_run(self):
        made = importer.load(model("q = Constant<value_ints: ints = [3]>() y = Gather(t, q)")).compile(threads=1)
        back = importer.load(model("q = Constant<value_ints: ints = [-3]>() y = Gather(t, q)")).compile(threads=1)
        x = np.arange(24, dtype=np.float32).reshape(6, 4)
        for found in range(7):
            s = np.array([k < found for k in range(6)], np.float32)
            for call, least, row in ((made, 4, 3), (back, 3, found - 3)):
                if found >= least:
                    self.assertEqual(call(x=x, s=s)["y"].tolist(), [x[row].tolist()])
                else:
                    with self.assertRaisesRegex(reprise.Error, "out of range"):
                        call(x=x, s=s)

    def test_an_index_beyond_a_shape_is_an_error_of_the_run(self):
        made = importer.load(model("z = Shape(t) q = Constant<value_ints: ints = [3]>() y = Gather(z, q)")).compile(threads=1)
        with self.assertRaisesRegex(reprise.Error, "out of range"):
            made(**next(feeds()))

    def test_more_than_there_are_is_an_error_of_the_run(self):
        made = importer.load(model("k = Constant<value_ints: ints = [2]>() y, j = TopK<axis: int = 0>(t, k)")).compile(threads=1)
        x = np.arange(24, dtype=np.float32).reshape(6, 4)
        for found in range(7):
            s = np.array([k < found for k in range(6)], np.float32)
            if found >= 2:
                self.assertEqual(made(x=x, s=s)["y"].tolist(), [x[found - 1].tolist(), x[found - 2].tolist()])
            else:
                with self.assertRaisesRegex(reprise.Error, "out of range"):
                    made(x=x, s=s)

    def test_of_what_is_no_number_none_that_is_not_there_is_taken(self):
        x = np.arange(24, dtype=np.float32).reshape(6, 4)
        x[[0, 2]] = np.nan
        s = np.array([1, 0, 1, 1, 0, 0], np.float32)
        for largest, places in ((0, [2, 0, 1]), (1, [0, 1, 2])):  # a NaN is the greatest
            made = importer.load(model("z = Shape(i) j, y = TopK<axis: int = 0, largest: int = %d>(t, z)" % largest)).compile(threads=1)
            self.assertEqual(made(x=x, s=s)["y"][:, 0].tolist(), places)

    def test_both_branches_are_there_where_the_values_decide(self):
        info = lambda n: helper.make_tensor_value_info(n, 1, None)
        node = helper.make_node

        def chosen(first, second, more=(), names=("y",)):
            """y of two branches, by whether the sum of s is above 0."""
            proto = model("y = Identity(t)")
            del proto.graph.node[-1]
            branch = lambda given: helper.make_graph([node("Identity", [n], [f"o{k}"]) for k, n in enumerate(given)], "g", [], [
                info(f"o{k}") for k in range(len(given))])
            proto.graph.node.extend([node("ReduceSum", ["s"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["up"]),
                                     node("If", ["up"], list(names), then_branch=branch(first), else_branch=branch(second)), *more])
            return proto
        for first, second, more, names in ((["t"], ["x"], (), "y"), (["x"], ["t"], (), "y"), (["t"], ["t"], (), "y"), (["s"], ["s"], (), "y"),
                                           (["t", "t"], ["x", "x"], [node("Add", ["a", "b"], ["y"])], "ab"),
                                           (["t", "i"], ["t", "i"], [node("Gather", ["a", "first"], ["c"], axis=1), node("Gather", ["x", "b"], ["d"]),
                                                                     node("Add", ["c", "d"], ["y"])], "ab")):
            proto = chosen(first, second, more, names)
            made, reference, seen = importer.load(proto).compile(threads=1), ReferenceEvaluator(proto), set()
            for given in feeds():
                expected, y = reference.run(None, given)[0], made(**given)["y"]
                self.assertEqual((y.shape, y.tobytes()), (expected.shape, expected.tobytes()))
                seen.add(given["s"].sum() > 0)
            self.assertEqual(seen, {True, False})
        for first, second in ((["t"], ["s"]), (["t"], ["i"])):
            with self.assertRaisesRegex(importer.Unsupported, "If: branches that give"):
                importer.load(chosen(first, second))
        proto = chosen(["t"], ["x"])
        proto.graph.input.append(helper.make_tensor_value_info("switch", TensorProto.BOOL, []))
        proto.graph.node[-1].input[0] = "switch"  # of one element: an input that is told
        with self.assertRaises(importer.NeedsConstant):
            importer.load(proto)

    def test_bodies_give_on_what_has_one_length_alone(self):
        then = helper.make_graph([helper.make_node("Identity", ["t"], ["a"])], "g", [], [helper.make_tensor_value_info("a", 1, None)])
        proto = model("y = Identity(t)")
        del proto.graph.node[-1]
        proto.graph.node.append(helper.make_node("If", ["yes"], ["y"], then_branch=then, else_branch=then))
        proto.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
        given = next(feeds())
        self.assertEqual(importer.load(proto).compile(threads=1)(**given)["y"].tolist(), given["x"][given["s"] > 0].tolist())
        body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Identity", ["t"], ["a"])], "g",
                                 [helper.make_tensor_value_info("k", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
                                 [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("a", 1, None)])
        proto.graph.node.pop()
        proto.graph.node.append(helper.make_node("Loop", ["two", ""], ["y"], body=body))
        proto.graph.initializer.append(numpy_helper.from_array(np.array(2), "two"))
        with self.assertRaisesRegex(importer.Unsupported, "whose length its elements decide"):
            importer.load(proto)

    def test_a_program_tells_how_many_there_are(self):
        given = next(feeds())
        proto = model("y = Relu(t)")
        b = reprise.Builder()
        net = importer.into(b, proto, {n: b.feed(n, a.shape, "f32") for n, a in given.items()})
        axis, count = net.counts["y"]
        self.assertEqual((axis, net.outputs["y"].shape), (0, (6, 4)))
        b.result("count", count)
        loaded = importer.load(proto)
        self.assertEqual(loaded.counts, {"y": (0, "out.y.count")})
        self.assertEqual(loaded.outputs["y"][2], (6, 4))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with self.assertRaisesRegex(importer.Unsupported, "the output y, whose length its elements decide"):
                importer.save(loaded, path)
            onnx.save(proto, path)
            done = subprocess.run([sys.executable, "-m", "reprise", "import", path, "-o", path + ".json", path + ".safetensors"],
                                  capture_output=True, text=True)
            self.assertIn("output y: result out.y f32[6, 4], along axis 0 as many as result out.y.count says", done.stdout, done.stderr)


class Chosen(unittest.TestCase):
    def test_different_elements_are_the_references(self):
        random = np.random.default_rng(3)
        for dtype in (np.float32, np.int64, np.int8, np.float64):
            for shape, axis in (((12,), None), ((3, 5), None), ((8, 2), 0), ((2, 9), 1), ((3, 2, 5), -1), ((1,), None), ((1, 3), 0)):
                for ordered in (0, 1):
                    x = random.integers(-2, 3, shape).astype(dtype)
                    if x.dtype.kind == "f":
                        x[x == 2] = -0.0
                        x[x == -2] = np.nan if axis is None else np.inf  # numpy's own rows with a NaN are all different
                    more = {} if axis is None else {"axis": axis}
                    proto = one("Unique", {"x": x}, ("y", "i", "v", "c"), sorted=ordered, **more)
                    found = importer.load(proto).compile(threads=1)(x=x)
                    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
                    inverse = inverse.reshape(-1)
                    if not ordered:
                        rank = np.argsort(first)
                        first, counts, values = first[rank], counts[rank], np.take(values, rank, axis=axis or 0)
                        inverse = np.argsort(rank)[inverse]
                    for name, expected in (("y", values), ("i", first), ("v", inverse), ("c", counts)):
                        np.testing.assert_array_equal(found[name], expected, f"{name} of {x} axis {axis} sorted {ordered}")
                    picked = np.take(x.reshape(-1) if axis is None else x, first, axis=axis or 0)
                    self.assertEqual(found["y"].tobytes(), np.ascontiguousarray(picked).tobytes())  # the sign of a zero is the first one's

    def test_places_of_what_is_not_zero(self):
        random = np.random.default_rng(4)
        for dtype in (np.float32, np.bool_, np.uint8, np.int64):
            for shape in ((7,), (2, 3), (2, 1, 3, 2), (0,), (3, 0)):
                x = (random.normal(size=shape) > 0.3).astype(dtype)
                x = x - x * 0.0 if dtype is np.float32 and x.size else x
                found = importer.load(one("NonZero", {"x": x}, to=TensorProto.INT64)).compile(threads=1)(x=x)["y"]
                np.testing.assert_array_equal(found, np.array(np.nonzero(x)))


def boxes_of(random, images, classes, count, centred):
    a = random.integers(0, 5, (images, count, 2)).astype(np.float32)
    b = random.integers(-1 if centred else 0, 5, (images, count, 2)).astype(np.float32)  # many that touch, of no or a turned-round length
    some = random.random((images, count, 1)) < 0.5
    boxes = np.where(some, np.concatenate([a, b], 2), random.normal(size=(images, count, 4)).astype(np.float32))
    scores = random.integers(-2, 3, (images, classes, count)) / np.float32(4)  # many that are equal
    scores = np.where(scores == -0.25, np.float32(-0.0), scores).astype(np.float32)
    return boxes.astype(np.float32), scores


class Boxes(unittest.TestCase):
    def test_those_that_no_better_one_covers_are_the_references(self):
        random = np.random.default_rng(5)
        sizes = set()
        for k in range(120):
            images, classes, count, centred = random.integers(1, 3), random.integers(1, 4), random.integers(1, 12), int(random.integers(2))
            boxes, scores = boxes_of(random, images, classes, count, centred)
            if k % 5 == 0:
                scores[..., ::3] = -np.inf
            most = np.array([random.integers(0, 9)], np.int64)
            bound = np.array([random.choice([0, 0.2, 0.5, 1])], np.float32)
            least = np.array([random.choice([-1, 0, 0.25])], np.float32) if k % 3 else None
            given = {"b": boxes, "s": scores, "n": most, "o": bound, "l": least}
            fixed = ("n", "o", "l") if k % 2 else ("n", "o")  # a threshold of scores may be computed
            proto = one("NonMaxSuppression", given, known=fixed, to=TensorProto.INT64, center_point_box=centred)
            loaded = importer.load(proto)
            found = loaded.compile(threads=1)(**{n: given[n] for n in loaded.inputs})["y"]
            expected = ReferenceEvaluator(proto).run(None, {n: given[n] for n in loaded.inputs})[0]
            self.assertEqual(found.tolist(), expected.tolist(), (k, given))
            sizes.add(len(found))
        self.assertGreater(len(sizes), 12)

    def test_of_boxes_that_were_kept_before(self):
        proto = parser.parse_model("""<ir_version: 10, opset_import: ["" : 22]> agraph (float[9, 4] b, float[9] s, float[9] u) => (int64[n, 3] y) {
            zero = Constant<value_float: float = 0.0>()
            m = Greater(u, zero)
            first = Constant<value_ints: ints = [0]>()
            both = Constant<value_ints: ints = [0, 1]>()
            p = NonZero(m)
            k = Squeeze(p, first)
            c = Gather(b, k)
            boxes = Unsqueeze(c, first)
            q = Gather(s, k)
            scores = Unsqueeze(q, both)
            most = Constant<value_ints: ints = [4]>()
            bound = Constant<value_floats: floats = [0.3]>()
            z = NonMaxSuppression(boxes, scores, most, bound)
            y = Identity(z)
        }""")
        random = np.random.default_rng(6)
        made, reference, found = importer.load(proto).compile(threads=1), ReferenceEvaluator(proto), set()
        for _ in range(30):
            boxes, scores = boxes_of(random, 1, 1, 9, 0)
            scores[0, 0, ::4] = -np.inf  # as low as what is not there
            given = {"b": boxes[0], "s": scores[0, 0], "u": random.normal(size=9).astype(np.float32) + random.choice([-3, -1, 0]).astype(np.float32)}
            y, expected = made(**given)["y"], reference.run(None, given)[0]
            self.assertEqual(y.tolist(), expected.tolist())
            found.add(len(y))
        self.assertGreater(len(found), 3)
        other = parser.parse_model(printer.to_text(proto).replace("Unsqueeze (q, both)", "Unsqueeze (s, both)"))
        with self.assertRaisesRegex(importer.Unsupported, "decide apart|boxes"):
            importer.load(other)

    def test_a_detector_is_onnxruntimes(self):
        if importlib.util.find_spec("onnxruntime") is None:
            self.skipTest("onnxruntime is not installed")
        import onnxruntime
        proto = parser.parse_model("""<ir_version: 10, opset_import: ["" : 17]>
            agraph (float[1, 3, 8, 8] image, float[1] bar) => (float[n, 4] kept, float[n] how, int64[n] kind, int64[k] count) {
            z = Conv<strides: ints = [2, 2], kernel_shape: ints = [2, 2]>(image, w)
            q = Reshape(z, form)
            split = Constant<value_ints: ints = [4, 3]>()
            box, raw = Split<axis: int = 1>(q, split)
            scores = Sigmoid(raw)
            boxes = Transpose<perm: ints = [0, 2, 1]>(box)
            most = Constant<value_ints: ints = [5]>()
            bound = Constant<value_floats: floats = [0.4]>()
            chosen = NonMaxSuppression<center_point_box: int = 1>(boxes, scores, most, bound, bar)
            two = Constant<value_int: int = 2>()
            one = Constant<value_int: int = 1>()
            which = Gather<axis: int = 1>(chosen, two)
            kind = Gather<axis: int = 1>(chosen, one)
            zeroth = Constant<value_ints: ints = [0]>()
            flat = Squeeze(boxes, zeroth)
            corner = Gather(flat, which)
            half = Constant<value_float: float = 0.5>()
            kept = Mul(corner, half)
            how = GatherND(scores, chosen)
            whole = Shape(chosen)
            count = Slice(whole, zeroth, end)
        }""")
        random = np.random.default_rng(9)
        for name, a in (("w", random.normal(size=(7, 3, 2, 2)).astype(np.float32)), ("form", np.array([1, 7, 16], np.int64)),
                        ("end", np.array([1], np.int64))):
            proto.graph.initializer.append(numpy_helper.from_array(a, name))
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        made = importer.load(proto).compile(threads=1)
        found = set()
        for bar in (0.0, 0.5, 0.9, 0.999, 1.0):
            for k in range(4):
                given = {"image": random.normal(size=(1, 3, 8, 8)).astype(np.float32), "bar": np.array([bar], np.float32)}
                theirs, ours = session.run(None, given), made(**given)
                for o, e in zip(session.get_outputs(), theirs):
                    self.assertEqual(ours[o.name].shape, e.shape)
                    np.testing.assert_allclose(ours[o.name], e, rtol=1e-5, atol=1e-6)
                found.add(len(ours["kept"]))
        self.assertIn(0, found)
        self.assertGreater(len(found), 4)

    def test_hostile_forms_are_refused_by_name(self):
        b, s = np.zeros((1, 3, 4), np.float32), np.zeros((1, 1, 3), np.float32)
        good = {"b": b, "s": s, "n": np.array([2]), "o": np.array([0.5], np.float32), "l": None}
        known = ("n", "o", "l")
        for more, how in (({"b": b[:, :2]}, {}), ({"b": b[..., :3]}, {}), ({"s": s[0]}, {}), ({"o": np.array([1.5], np.float32)}, {}),
                          ({"o": np.array([np.nan], np.float32)}, {}), ({"n": np.array([1, 2])}, {}), ({"l": np.zeros(2, np.float32)}, {}),
                          ({}, {"center_point_box": 2}), ({"s": np.zeros((2, 1, 3), np.float32)}, {}), ({"s": s.astype(np.float64)}, {})):
            with self.subTest(more=more, how=how), self.assertRaises(importer.Unsupported) as caught:
                importer.load(one("NonMaxSuppression", {**good, **more}, known=known, to=TensorProto.INT64, **how))
            self.assertEqual(caught.exception.operator, "NonMaxSuppression")
        with self.assertRaises(importer.NeedsConstant):
            importer.load(one("NonMaxSuppression", good, known=("o",), to=TensorProto.INT64))
        huge = np.zeros((64, 64, 4096), np.float32)
        with self.assertRaisesRegex(importer.Unsupported, "elements"):
            importer.load(one("NonMaxSuppression", {**good, "b": np.zeros((64, 4096, 4), np.float32), "s": huge, "n": np.array([1 << 62])},
                              known=known, to=TensorProto.INT64))


if __name__ == "__main__":
    unittest.main()
