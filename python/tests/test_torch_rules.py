# SPDX-License-Identifier: Apache-2.0
"""The lowering rules of reprise.torch on graphs written by hand, without PyTorch: values and gradients where PyTorch's are
not those that come to mind, layouts, refusals."""
import math
import unittest

import numpy as np

import reprise as rp
from reprise.torch.graph import Graph, Input, Meta, Node, Output, Ref
from reprise.torch.lower import RULES, Lowering, Unsupported

F = np.float32
KINDS = {"f": "f32", "i": "i64", "b": "bool"}


def meta(a):
    return Meta(KINDS[np.asarray(a).dtype.kind], np.asarray(a).shape)


class Case:
    """One operation on arrays; strings among the operands stand for them by name."""

    def __init__(self, op, args, out, kwargs=None, constants=(), extra=()):
        self.arrays = {k: np.asarray(a) for k, a in args.items()}
        names = list(args)
        self.graph = Graph([Input(n, "user", meta(a)) for n, a in self.arrays.items() if n not in constants])
        self.graph.constants = {n: self.arrays[n] for n in constants}
        operands = [Ref(n) for n in names] if not extra else [self.operand(e) for e in extra]
        self.graph.nodes = [Node("y", op, operands, {k: self.operand(v) for k, v in (kwargs or {}).items()}, out, "model.py:7")]
        several = isinstance(out, list)
        self.graph.outputs = [Output("result", str(k), Ref("y", k if several else None)) for k in range(len(out) if several else 1)]
        self.wanted = names

    def operand(self, e):
        if isinstance(e, str) and e in self.arrays:
            return Ref(e)
        return [self.operand(x) for x in e] if isinstance(e, list) else e

    def run(self, by=None):
        """The results; with `by` the gradient of the sum of the first by that input."""
        g = Lowering(self.graph)
        out = g.run()
        values = [v for k, v in out.items()]
        shown = 0
        for v in values:
            if v is not None:
                g.builder.result(f"r{shown}", v.tensor)
                shown += 1
        if by:
            t = values[0].tensor
            total = g.op("sum", t, axes=list(range(len(t.shape)))) if t.shape else t
            (slope,) = g.builder.gradients([g.reshape(total, [])], [g.env[by].tensor], zeros=True)
            g.builder.result("gradient", slope)
        run = rp.Run(threads=1)
        for n, a in g.data.items():
            run.add_data(n, a)
        if g.rng_tensor is not None:
            run.add_state("rng", np.array([3, 0], np.int64))
        self.program = g.builder.finish()
        found = run.compile(self.program)(**{n: self.arrays[n].astype(F) if self.arrays[n].dtype.kind == "f" else self.arrays[n]
                                             for n in g.feeds})
        return np.array(found["gradient"]) if by else [np.array(found[f"r{k}"]) for k in range(shown)]


def values(op, out, /, extra=(), kwargs=None, constants=(), **arrays):
    return Case(op, {k: np.asarray(a, F) if np.asarray(a).dtype.kind == "f" else np.asarray(a) for k, a in arrays.items()}, out, kwargs,
                constants, extra)


class Elementwise(unittest.TestCase):
    def test_types_are_those_of_pytorch(self):
        y = values("aten.add.Tensor", Meta("f32", (2,)), a=np.array([1, 2]), b=np.array([0.5, 0.25])).run()[0]
        np.testing.assert_array_equal(y, np.array([1.5, 2.25], F))
        y = values("aten.eq.Scalar", Meta("bool", (2,)), extra=["a", 1.5], a=np.array([1, 2])).run()[0]
        np.testing.assert_array_equal(y, [False, False])
        y = values("aten.mul.Tensor", Meta("bool", (2,)), a=np.array([True, False]), b=np.array([True, True])).run()[0]
        np.testing.assert_array_equal(y, [True, False])

    def test_equal_operands_of_maximum_share_the_gradient(self):
        c = values("aten.maximum.default", Meta("f32", (3,)), a=[1.0, 2.0, 5.0], b=[1.0, 3.0, 4.0])
        np.testing.assert_array_equal(c.run("a"), [0.5, 0, 1])

    def test_clamp_passes_the_gradient_at_its_bounds(self):
        c = values("aten.clamp.default", Meta("f32", (4,)), extra=["a", -1.0, 1.0], a=[-2.0, -1.0, 1.0, math.nan])
        np.testing.assert_array_equal(c.run("a"), [0, 1, 1, 1])
        self.assertTrue(np.isnan(c.run()[0][3]))

    def test_a_quotient_that_is_rounded_down_is_not_one_too_high(self):
        y = values("aten.div.Tensor_mode", Meta("f32", (3,)), kwargs={"rounding_mode": "floor"}, a=[0.3, -7.0, 7.0], b=[0.1, 2.0, -2.0])
        np.testing.assert_array_equal(y.run()[0], np.floor_divide(np.array([0.3, -7, 7], F), np.array([0.1, 2, -2], F)))

    def test_fmax_takes_the_other_one_of_a_nan(self):
        y = values("aten.fmax.default", Meta("f32", (2,)), a=[math.nan, 1.0], b=[2.0, math.nan]).run()[0]
        np.testing.assert_array_equal(y, [2, 1])


class Reductions(unittest.TestCase):
    def test_the_gradient_of_a_maximum_goes_to_its_place_alone(self):
        out = [Meta("f32", ()), Meta("i64", ())]
        np.testing.assert_array_equal(values("aten.max.dim", out, extra=["a", 0], a=[1.0, 3.0, 3.0]).run("a"), [0, 1, 0])
        np.testing.assert_array_equal(values("aten.amax.default", Meta("f32", ()), extra=["a"], a=[1.0, 3.0, 3.0]).run("a"), [0, 0.5, 0.5])

    def test_a_norm_of_zero_has_a_gradient_of_zero(self):
        c = values("aten.linalg_vector_norm.default", Meta("f32", ()), a=[0.0, 0.0])
        np.testing.assert_array_equal(c.run("a"), [0, 0])

    def test_a_deviation_of_zero_has_a_gradient_of_zero(self):
        np.testing.assert_array_equal(values("aten.std.correction", Meta("f32", ()), extra=["a"], a=[2.0, 2.0]).run("a"), [0, 0])

    def test_any_of_nothing_is_false_and_all_of_nothing_true(self):
        empty = np.zeros((0, 2), bool)
        self.assertFalse(values("aten.any.dim", Meta("bool", (2,)), extra=["a", 0], a=empty).run()[0].any())
        self.assertTrue(values("aten.all.dim", Meta("bool", (2,)), extra=["a", 0], a=empty).run()[0].all())


class Indices(unittest.TestCase):
    def test_the_padding_row_of_an_embedding_has_no_gradient(self):
        c = values("aten.embedding.default", Meta("f32", (3, 2)), extra=["w", "i", 1], w=np.ones((3, 2)), i=np.array([1, 2, 1]))
        np.testing.assert_array_equal(c.run("w"), [[0, 0], [0, 0], [1, 1]])

    def test_indices_count_from_the_end_and_stand_where_pytorch_puts_them(self):
        x = np.arange(24, dtype=F).reshape(2, 3, 4)
        i, j = np.array([0, -1]), np.array([[1], [-2]])
        y = values("aten.index.Tensor", Meta("f32", (2, 2, 3)), extra=["x", ["i", None, "j"]], x=x, i=i, j=j).run()[0]
        np.testing.assert_array_equal(y, x[i, :, j])
        y = values("aten.index.Tensor", Meta("f32", (2, 2, 2)), extra=["x", [None, "i", "j"]], x=x, i=i, j=j).run()[0]
        np.testing.assert_array_equal(y, x[:, i, j])

    def test_an_index_outside_its_axis_is_an_error_of_the_step(self):
        with self.assertRaises(rp.Error):
            values("aten.index.Tensor", Meta("f32", (1,)), extra=["x", ["i", "j"]], x=np.ones((2, 2)), i=np.array([0]),
                   j=np.array([5])).run()

    def test_a_source_that_is_larger_than_its_index_is_cut(self):
        x, i, s = np.zeros((3, 3), F), np.array([[0, 2]]), np.arange(1, 10, dtype=F).reshape(3, 3)
        y = values("aten.scatter.src", Meta("f32", (3, 3)), extra=["x", 0, "i", "s"], x=x, i=i, s=s).run()[0]
        np.testing.assert_array_equal(y, [[1, 0, 0], [0, 0, 0], [0, 2, 0]])


class Losses(unittest.TestCase):
    x = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 0.0, 0.0]], F)

    def logs(self):
        e = self.x.astype(np.float64)
        return e - np.log(np.exp(e).sum(1, keepdims=True))

    def test_labels_that_are_ignored_do_not_count(self):
        k = np.array([1, -100, 0])
        c = values("aten.cross_entropy_loss.default", Meta("f32", ()), x=self.x, k=k)
        logs = self.logs()
        self.assertAlmostEqual(float(c.run()[0]), -(logs[0, 1] + logs[2, 0]) / 2, 6)
        np.testing.assert_array_equal(c.run("x")[1], [0, 0, 0])

    def test_weights_and_smoothing(self):
        k, w = np.array([1, 2, 0]), np.array([0.5, 2.0, 1.0], F)
        c = values("aten.cross_entropy_loss.default", Meta("f32", ()), extra=["x", "k", "w", 1, -100, 0.2], x=self.x, k=k, w=w)
        logs, n = self.logs(), np.arange(3)
        own = -logs[n, k] * w[k]
        smooth = -(logs * w).sum(1)
        self.assertAlmostEqual(float(c.run()[0]), (0.8 * own + 0.2 / 3 * smooth).sum() / w[k].sum(), 6)

    def test_labels_of_sequences_and_images_are_rows(self):
        k = np.array([1, -100, 0])
        rows = float(values("aten.cross_entropy_loss.default", Meta("f32", ()), x=self.x, k=k).run()[0])
        for middle in ([3], [1, 3], [1, 1, 3]):  # [1, classes, ..] of labels [1, ..]
            x, labels = self.x.T.reshape([1, 3, *middle]), k.reshape([1, *middle])
            c = values("aten.cross_entropy_loss.default", Meta("f32", ()), x=x, k=labels)
            self.assertEqual(float(c.run()[0]), rows)
            self.assertEqual(np.abs(c.run("x")[..., 1]).max(), 0)
            c = values("aten.cross_entropy_loss.default", Meta("f32", labels.shape), extra=["x", "k", None, 0], x=x, k=labels)
            self.assertEqual(c.run()[0].shape, labels.shape)
        one = values("aten.cross_entropy_loss.default", Meta("f32", ()), x=self.x[0], k=np.array(1))
        self.assertAlmostEqual(float(one.run()[0]), -self.logs()[0, 1], 6)

    def test_the_gradient_of_a_certain_probability_that_was_wrong_is_large(self):
        c = values("aten.binary_cross_entropy.default", Meta("f32", ()), extra=["x", "t", None, 2], x=[0.0, 1.0, 0.25], t=[1.0, 1.0, 1.0])
        np.testing.assert_allclose(c.run("x"), [-1e12, 0, -4], rtol=1e-6)
        self.assertAlmostEqual(float(c.run()[0]), 100 - math.log(0.25), 4)


class Images(unittest.TestCase):
    def test_between_convolution_norm_activation_and_sum_nothing_is_transposed(self):
        g = Graph([Input("x", "user", Meta("f32", (2, 3, 8, 8)))] + [Input(n, "parameter", Meta("f32", s), n, True) for n, s in
                  (("w", (4, 3, 3, 3)), ("v", (4, 4, 3, 3)), ("gamma", (4,)), ("beta", (4,)), ("mean", (4,)), ("var", (4,)))])
        image = Meta("f32", (2, 4, 8, 8))

        def add(name, op, *args):
            g.nodes.append(Node(name, op, list(args), {}, image))
            return Ref(name)

        norm = [Ref(n) for n in ("gamma", "beta", "mean", "var")]
        a = add("a", "aten.conv2d.default", Ref("x"), Ref("w"), None, [1, 1], [1, 1])
        b = add("b", "aten.batch_norm.default", a, *norm, False, 0.1, 1e-5, True)
        c = add("c", "aten.relu.default", b)
        d = add("d", "aten.conv2d.default", c, Ref("v"), None, [1, 1], [1, 1])
        e = add("e", "aten.add.Tensor", d, c)
        e = add("f", "aten.mul.Tensor", e, 2.0)
        g.nodes.append(Node("p", "aten.adaptive_avg_pool2d.default", [e, [1, 1]], {}, Meta("f32", (2, 4, 1, 1))))
        g.nodes.append(Node("q", "aten.flatten.using_ints", [Ref("p"), 1], {}, Meta("f32", (2, 4))))
        g.outputs = [Output("result", "0", Ref("q"))]
        lowered = Lowering(g)
        lowered.builder.result("y", lowered.run()["result 0"].tensor)
        ops = [i[0] for i in lowered.builder.finish().instructions]
        self.assertEqual(ops.count("transpose"), 3)  # of the images that come in and of both weights
        self.assertEqual(ops.index("conv2d") + 1, ops.index("batch_norm"))

    def test_averages_count_padding_where_they_are_asked_to(self):
        x = np.arange(1, 10, dtype=F).reshape(1, 1, 3, 3)
        for counts, first in ((True, (1 + 2 + 4 + 5) / 9), (False, (1 + 2 + 4 + 5) / 4)):
            y = values("aten.avg_pool2d.default", Meta("f32", (1, 1, 2, 2)), extra=["x", [3, 3], [2, 2], [1, 1], False, counts],
                       x=x).run()[0]
            self.assertAlmostEqual(float(y[0, 0, 0, 0]), first, 5)

    def test_places_of_a_pool_are_the_first_greatest(self):
        x = np.array([[[[1.0, 5.0, 5.0, 0.0], [2.0, 5.0, 1.0, 9.0]]]], F)
        out = [Meta("f32", (1, 1, 1, 2)), Meta("i64", (1, 1, 1, 2))]
        y, i = values("aten.max_pool2d_with_indices.default", out, extra=["x", [2, 2]], x=x).run()
        np.testing.assert_array_equal(y.reshape(-1), [5, 9])
        np.testing.assert_array_equal(i.reshape(-1), [1, 7])


class Attention(unittest.TestCase):
    def test_a_query_that_sees_nothing_is_zero(self):
        q = np.random.default_rng(0).standard_normal((1, 1, 2, 4)).astype(F)
        mask = np.array([[True, False], [False, False]])
        c = values("aten.scaled_dot_product_attention.default", Meta("f32", (1, 1, 2, 4)), extra=["q", "q", "q", "m"], q=q, m=mask)
        y = c.run()[0]
        np.testing.assert_allclose(y[0, 0, 0], q[0, 0, 0], rtol=1e-6)
        np.testing.assert_array_equal(y[0, 0, 1], 0)
        self.assertTrue(np.isfinite(c.run("q")).all())

    def test_a_mask_that_is_trained_has_its_gradient(self):
        q = np.random.default_rng(0).standard_normal((1, 1, 2, 4)).astype(F)
        c = values("aten.scaled_dot_product_attention.default", Meta("f32", (1, 1, 2, 4)), extra=["q", "q", "q", "m"], q=q,
                   m=np.zeros((2, 2), F))
        self.assertGreater(float(np.abs(c.run("m")).max()), 1e-3)


class Draws(unittest.TestCase):
    def test_each_place_has_a_stream_of_its_own(self):
        g = Graph([Input("x", "user", Meta("f32", (64,)))])
        g.nodes = [Node(n, "aten.dropout.default", [Ref("x"), 0.5, True], {}, Meta("f32", (64,))) for n in "ab"]
        g.outputs = [Output("result", str(k), Ref(n)) for k, n in enumerate("ab")]
        lowered = Lowering(g)
        out = lowered.run()
        for k in range(2):
            lowered.builder.result(f"r{k}", out[f"result {k}"].tensor)
        run = rp.Run(threads=1)
        run.add_state("rng", np.array([3, 0], np.int64))
        found = run.compile(lowered.builder.finish())(x=np.ones(64, F))
        a, b = (np.array(found[f"r{k}"]) for k in range(2))
        self.assertEqual({0.0, 2.0}, set(a.tolist()) | set(b.tolist()))
        self.assertFalse(np.array_equal(a, b))


class Refusals(unittest.TestCase):
    def test_a_refusal_says_what_where_and_what_to_do(self):
        for op, args in (("aten.nonzero.default", ["a"]), ("aten.linalg_ldl_factor.default", ["a"]), ("aten.multinomial.default", ["a", 2])):
            with self.assertRaises(Unsupported) as caught:
                values(op, Meta("f32", (2,)), extra=args, a=[1.0, 2.0]).run()
            self.assertIn("model.py:7", str(caught.exception))
            self.assertIn(op, str(caught.exception))
            self.assertTrue(caught.exception.remedy)

    def test_the_commonest_operations_have_rules(self):
        for name in ("linear", "conv2d", "layer_norm", "scaled_dot_product_attention", "embedding", "cross_entropy_loss", "gelu"):
            self.assertIn(f"aten.{name}.default", RULES)


if __name__ == "__main__":
    unittest.main()
