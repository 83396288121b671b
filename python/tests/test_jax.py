# SPDX-License-Identifier: Apache-2.0
"""The JAX door without jax: captured losses and optimizers become the programs that they were when they were captured, byte
for byte, and have the losses, gradients, states and parameters that jax computed. Fixtures: fixtures/jax_fixtures.py.

With jax, also what needs it: derivatives of one's own, records, refusals."""
import base64
import gzip
import hashlib
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import reprise as rp
from reprise.jax.graph import Unsupported, from_json, to_json
from reprise.jax.program import Parts, lower, training

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "jax")
HAVE = all(importlib.util.find_spec(n) is not None for n in ("jax", "optax", "flax"))
COMMAND = os.environ.get("REPRISE_COMMAND", "reprise")


def fixture(name):
    with gzip.open(os.path.join(FOLDER, name), "rb") as f:
        return json.loads(f.read())


def array(packed):
    dtype, shape, text = packed
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


def named(value):
    return [(n, (d, tuple(s))) for n, (d, s) in value]


def parts_of(f):
    return Parts(from_json(f["loss"]), named(f["params"]), named(f["state"]), named(f["batch"]), from_json(f["update"]),
                 named(f["opt"]))


def bound(f, program, data, run=None):
    run = run or rp.Run(threads=1)
    for kind, name, *_ in program.inputs:
        if kind == "state":
            run.add_state(name, array(f["first"][name]))
    for name, a in data.items():
        run.add_data(name, a)
    return run, run.compile(program)


class Fixtures(unittest.TestCase):
    def near(self, a, b, bound, what):
        top = max(float(np.abs(b).max(initial=0)), 1e-3)
        self.assertLessEqual(float(np.abs(a.astype(float) - b).max(initial=0)) / top, bound, what)

    def test_programs_are_the_same_bytes(self):
        names = sorted(os.listdir(FOLDER))
        self.assertEqual(len(names), 5)
        for name in names:
            f = fixture(name)
            program, _ = training(parts_of(f))
            self.assertEqual(hashlib.sha256(program.text).hexdigest(), f["program"], name)

    def test_gradients_are_those_of_jax(self):
        for name in sorted(os.listdir(FOLDER)):
            f = fixture(name)
            run, step = bound(f, *training(parts_of(f), gradients=True))
            found = step(**{n: array(a) for n, a in f["feeds"].items()})
            self.assertAlmostEqual(float(found["loss"]), float.fromhex(f["losses"][0]), 5, name)
            top = max(float(np.abs(array(a)).max()) for a in f["gradients"].values())
            for n, a in f["gradients"].items():
                away = float(np.abs(found[f"grad.{n}"].numpy() - array(a)).max())
                self.assertLessEqual(away, 3e-6 * top, f"{name} {n}")

    def test_steps_are_those_of_jax_and_its_optimizers(self):
        for name in sorted(os.listdir(FOLDER)):
            f = fixture(name)
            run, step = bound(f, *training(parts_of(f)))
            feeds = {n: array(a) for n, a in f["feeds"].items()}
            for loss in f["losses"]:
                self.near(np.array(float(step(**feeds)["loss"])), np.array(float.fromhex(loss)), 2e-3 if "transformer" in name
                          else 1e-4, name)
            for n, a in f["last"].items():
                if array(a).dtype.kind != "f":  # the random key
                    np.testing.assert_array_equal(run.get_state(n).numpy(), array(a), n)
                elif "transformer" not in name:  # whose optimizer steps by the sign of a gradient that may be next to nothing
                    self.near(run.get_state(n).numpy(), array(a), 2e-4, f"{name} {n}")

    def test_the_text_of_a_graph_reads_back(self):
        f = fixture("recurrent.json.gz")
        g = from_json(f["loss"])
        self.assertEqual(to_json(from_json(to_json(g))), to_json(g))
        self.assertIn("scan", g.counts())

    def test_hostile_text_is_an_error(self):
        deep = []
        for _ in range(5000):
            deep = [deep]
        for text in ({}, {"inputs": [["f32", [2]]], "equations": [["add", {}, [0, 5], [["f32", [2]]]]], "outputs": [1]},
                     {"inputs": [["f99", []]], "equations": [], "outputs": []},
                     {"inputs": [["f32", [-1]]], "equations": [], "outputs": []},
                     {"inputs": [], "equations": [["x", {"v": deep}, [], []]], "outputs": []},
                     {"inputs": [], "equations": [], "outputs": [["f32", {"real": "0x1p99999"}]]}):
            with self.assertRaises(ValueError):
                from_json(text)

    def test_a_scatter_of_a_function_of_what_is_there_is_refused(self):
        ten = {"inputs": [["f32", []], ["f32", []]], "equations": [["mul", {}, [0, ["f32", {"real": "0x1.4p+3"}]], [["f32", []]]]],
               "outputs": [2]}
        spec = {"dict": {"update_window_dims": [], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0]}}
        g = from_json({"inputs": [["f32", [6]], ["i32", [2, 1]], ["f32", [2]]], "outputs": [3], "equations": [
            ["scatter", {"dimension_numbers": spec, "update_jaxpr": {"graph": ten}}, [0, 1, 2], [["f32", [6]]], "model.py:3"]]})
        b = rp.Builder()
        feeds = [b.feed("x", (6,), "f32"), b.feed("i", (2, 1), "i32"), b.feed("u", (2,), "f32")]
        self.assertTrue(issubclass(Unsupported, (rp.UnsupportedError, NotImplementedError)))
        with self.assertRaisesRegex(rp.Error, "apply.*model.py:3"):
            lower(g, b, feeds)
        g.equations[0].params.pop("update_jaxpr")
        self.assertEqual(tuple(lower(g, b, feeds)[0][0].shape), (6,))

    def test_no_gradient_passes_a_while_loop_in_silence(self):
        """A loop that multiplies by a parameter: jax has no gradient of it; of the count it has one, which is 0."""
        asked = {"inputs": [["i32", []], ["f32", []]], "equations": [["lt", {}, [0, ["i32", 3]], [["bool", []]]]], "outputs": [2]}
        body = {"inputs": [["f32", []], ["i32", []], ["f32", []]], "outputs": [3, 4], "equations": [
            ["add", {}, [1, ["i32", 1]], [["i32", []]]], ["mul", {}, [2, 0], [["f32", []]]]]}

        def loss(*rest):
            return Parts(from_json({"inputs": [["f32", []]], "outputs": [3], "equations": [
                ["while", {"cond_jaxpr": {"graph": asked}, "body_jaxpr": {"graph": body}, "cond_nconsts": 0, "body_nconsts": 1},
                 [0, ["i32", 0], ["f32", {"real": "0x1p+0"}]], [["i32", []], ["f32", []]]], *rest]}), [("p", ("f32", ()))])
        with self.assertRaisesRegex(Unsupported, "while: a gradient through it"):
            training(loss(["mul", {}, [0, 2], [["f32", []]]]), gradients=True)
        training(loss(["convert_element_type", {}, [1], [["f32", []]]]), gradients=True)

    def test_no_gradient_goes_to_a_place_that_was_not_asked_for(self):
        """Plain indexing, of which nothing is promised outside: the nearest place's value, as on jax's processors, and no gradient."""
        rows = {"dict": {"offset_dims": [1], "collapsed_slice_dims": [0], "start_index_map": [0]}}
        single = {"dict": {"offset_dims": [], "collapsed_slice_dims": [0, 1], "start_index_map": [0, 1]}}
        for spec, index, sizes, made, value, slope in (
                (rows, np.int32([[1], [7], [-5]]), [1, 2], [3, 2], [[3, 4], [5, 6], [1, 2]], [[0, 0], [1, 1], [0, 0]]),
                (single, np.int32([[0, 1], [3, 0], [2, -1]]), [1, 1], [3], [2, 5, 5], [[0, 1], [0, 0], [0, 0]])):
            g = from_json({"inputs": [["f32", [3, 2]], ["i32", list(index.shape)]], "outputs": [3, 2], "equations": [
                ["gather", {"dimension_numbers": spec, "mode": "PROMISE_IN_BOUNDS", "slice_sizes": sizes}, [0, 1], [["f32", made]]],
                ["reduce_sum", {"axes": list(range(len(made)))}, [2], [["f32", []]]]]})
            parts = Parts(g, [("p", ("f32", (3, 2)))], batch=[("i", ("i32", index.shape))])
            program, data = training(parts, gradients=True)
            run = rp.Run(threads=1)
            run.add_state("p", np.arange(1, 7, dtype=np.float32).reshape(3, 2))
            np.testing.assert_array_equal(run.compile(program)(i=index)["grad.p"].numpy(), np.float32(slope))
            b = rp.Builder()
            _, found = lower(g, b, [b.feed("p", (3, 2), "f32"), b.feed("i", index.shape, "i32")])[0]
            b.result("found", found)
            step = rp.Run(threads=1).compile(b.finish())
            np.testing.assert_array_equal(step(p=np.arange(1, 7, dtype=np.float32).reshape(3, 2), i=index)["found"].numpy(),
                                          np.float32(value))

    def test_an_unknown_primitive_is_refused_by_name_and_line(self):
        g = from_json({"inputs": [["f32", []]], "equations": [["bessel_i0e", {}, [0], [["f32", []]], "model.py:7"]], "outputs": [1]})
        with self.assertRaises(Unsupported) as caught:
            training(Parts(g, [("p", ("f32", ()))]))
        self.assertIn("bessel_i0e", str(caught.exception))
        self.assertIn("model.py:7", str(caught.exception))

    def test_a_record_is_replayed_by_the_command(self):
        f = fixture("mlp.json.gz")
        program, data = training(parts_of(f))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mlp.reprise")
            recording = rp.record(path)
            with recording as run:
                for kind, name, *_ in program.inputs:
                    if kind == "state":
                        run.add_state(name, array(f["first"][name]))
                for name, a in data.items():
                    run.add_data(name, a)
                step = run.compile(program)
                for _ in range(3):
                    step(**{n: array(a) for n, a in f["feeds"].items()})
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("identical", done.stdout)


@unittest.skipUnless(HAVE, "jax, flax and optax are not installed")
class WithJax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        import jax.numpy as jnp
        import optax
        import reprise.jax as rj
        cls.jax, cls.jnp, cls.optax, cls.rj = jax, jnp, optax, rj

    def test_another_derivative_is_an_error_of_the_comparison(self):
        jnp, rj = self.jnp, self.rj
        from reprise.jax import regions
        from reprise.jax.lowering import HANDLERS

        @self.jax.custom_jvp
        def seven(x):
            return jnp.sin(x)
        seven.defjvp(lambda p, t: (seven(p[0]), 7 * jnp.cos(p[0]) * t[0]))
        w = np.ones(3, np.float32)
        self.assertLess(rj.compile(lambda w, x: seven(w * x).sum(), w, (w,)).check["share"], 1e-6)
        right = HANDLERS["custom_derivative"]
        HANDLERS["custom_derivative"] = lambda n: n.g.run(n.params["function"], n.inputs)  # the fault
        try:
            with self.assertRaises(rj.GradientsDiffer):
                rj.compile(lambda w, x: seven(w * x).sum(), w, (w,))
        finally:
            HANDLERS["custom_derivative"] = right
        self.assertIs(regions.custom_derivative, right)

    def test_a_rule_that_is_not_linear_is_refused(self):
        rj, jnp = self.rj, self.jnp

        @self.jax.custom_vjp
        def clipped(x):
            return x
        clipped.defvjp(lambda x: (x, None), lambda r, g: (jnp.clip(g, -1, 1),))
        with self.assertRaisesRegex(rj.Unsupported, "custom_derivative.*transposed"):
            rj.compile(lambda w: (clipped(w) ** 2).sum(), np.ones(3, np.float32), ())

    def test_random_numbers_are_those_of_jax(self):
        jax, rj = self.jax, self.rj

        def f(key, seed):
            a, b = jax.random.split(key)
            return (jax.random.bits(a, (3, 5)), jax.random.uniform(b, (7,)), jax.random.key_data(jax.random.fold_in(b, seed)),
                    jax.random.bernoulli(a, 0.3, (4,)), jax.random.randint(a, (5,), 0, 10), jax.random.permutation(b, 9))
        given = jax.random.key(3), np.int32(4)
        for a, b in zip(rj.function(f, *given)(*given), f(*given)):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))

    def test_a_recorded_step_is_replayed_and_gives_its_parameters_back(self):
        rj, jnp = self.rj, self.jnp
        step = rj.compile(lambda p, x: ((x @ p["w"] + p["b"]) ** 2).mean(), {"w": np.ones((3, 2), np.float32),
                          "b": np.zeros(2, np.float32)}, (np.ones((4, 3), np.float32),), self.optax.adam(0.1))
        first = step(np.ones((4, 3), np.float32))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.reprise")
            with rj.record(path):
                for _ in range(3):
                    step(np.ones((4, 3), np.float32))
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"kind +JAX door \({self.jax.__version__}\) run, by its own word")
            with open(path, "rb") as f:
                self.assertIn(b'"framework":"jax"', f.read())  # origin.json
        self.assertLess(step(np.ones((2, 3), np.float32)), first)  # another shape of batch, another program
        self.assertEqual(int(step.opt_state()[0].count), 5)
        self.assertEqual(step.params()["w"].shape, (3, 2))
        self.assertEqual(jnp.asarray(step.params()["b"]).dtype, jnp.float32)

    def test_a_second_step_in_a_record_is_refused_each_time_and_goes_on_after_it(self):
        rj, x = self.rj, np.ones((4, 3), np.float32)

        def made():
            return rj.compile(lambda p, x: ((x @ p) ** 2).mean(), np.ones(3, np.float32), (x,), self.optax.adam(0.1))
        first, second, alone = made(), made(), made()
        self.assertEqual(second(x), alone(x))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.reprise")
            with rj.record(path):
                first(x)
                for _ in range(2):
                    with self.assertRaisesRegex(rj.Unsupported, "one compiled step"):
                        second(x)
                first(x)
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([second(x) for _ in range(2)], [alone(x) for _ in range(2)])
        np.testing.assert_array_equal(np.asarray(second.params()), np.asarray(alone.params()))

    def test_batches_like_those_before_go_the_short_way_with_the_same_bits(self):
        rj, jnp = self.rj, self.jnp
        x, y = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), np.int32([0, 1, 1, 0])

        def made():
            return rj.compile(lambda p, x, y: ((x @ p["w"])[jnp.arange(x.shape[0]), y] ** 2).mean(),
                              {"w": np.ones((3, 2), np.float32)}, (x, y), self.optax.adam(0.1), threads=1)
        step, other = made(), made()
        other._teach = lambda *ignored: None  # it never learns
        asked, long_ = [], step._long
        step._long = lambda *args: asked.append(1) or long_(*args)
        for batch, long in (((x, y), 1), ((x, y), 0), ((x[::-1], y), 1), ((jnp.asarray(x), jnp.asarray(y)), 0), ((x, jnp.asarray(y)), 0),
                            ((x.astype(np.float64), y), 1), ((x[:2], y[:2]), 1), ((x[:2], y[:2]), 0), ((x, y), 0),
                            ((x.T.copy().T, y), 1), ((x.view(np.recarray), y), 1)):
            asked.clear()
            a, b = step(*batch), other(*batch)
            self.assertEqual((a.hex(), len(asked)), (b.hex(), long), [type(v) for v in batch])
        with tempfile.TemporaryDirectory() as folder:
            with rj.record(os.path.join(folder, "x.reprise")):
                asked.clear()
                found = [step(x, y) for _ in range(3)]
                self.assertEqual(len(asked), 1)
            self.assertEqual(found, [other(x, y) for _ in range(3)])
        self.assertEqual(step(x, y).hex(), other(x, y).hex())
        for a, b in zip(self.jax.tree.leaves((step.params(), step.opt_state())), self.jax.tree.leaves((other.params(), other.opt_state()))):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        with self.assertRaises(TypeError):
            step(x=x, y=y)

    def test_shapes_come_in_any_order_and_leave_no_trace_in_archives(self):
        rj = self.rj

        def made(rows):
            x = np.ones((rows, 3), np.float32)
            return rj.compile(lambda p, x: ((x @ p * (np.arange(x.shape[0]) + 0.5).astype(np.float32)) ** 2).mean(),
                              np.ones(3, np.float32), (x,), self.optax.adam(0.1))
        four, two = made(4), made(2)
        with tempfile.TemporaryDirectory() as folder:
            for n, step in enumerate((four, two)):
                with rj.record(os.path.join(folder, f"{n}.reprise"), origin=False):
                    step(np.ones((2, 3), np.float32))
            both = [open(os.path.join(folder, f"{n}.reprise"), "rb") for n in (0, 1)]
            self.assertEqual(*(f.read() for f in both))
            [f.close() for f in both]
            for rows in (2, 4, 5, 2):
                self.assertEqual(four(np.ones((rows, 3), np.float32)), two(np.ones((rows, 3), np.float32)))
            path = os.path.join(folder, "x.reprise")
            with rj.record(path):
                for rows in (2, 4, 5):
                    four(np.ones((rows, 3), np.float32))
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_parameters_are_those_that_compile_was_given(self):
        rj, own, x = self.rj, np.ones(3, np.float32), np.ones((4, 3), np.float32)
        step = rj.compile(lambda p, x: ((x @ p) ** 2).mean(), own, (x,), self.optax.sgd(0.1))
        own[:] = 5
        self.assertEqual(step(x), 9.0)
        with self.assertRaisesRegex(TypeError, "masked array"):
            step(np.ma.array(x, mask=x > 0))

    def test_numbers_of_python_are_another_batch_than_arrays(self):
        """jax promotes them in another way: so an array that comes of one does not go the short way of a plain one."""
        jnp, rj = self.jnp, self.rj
        step = rj.compile(lambda p, s: (p.astype(jnp.bfloat16) * s).astype(jnp.float32).sum(), np.float32([1]), (jnp.float32(1.01),),
                          check=False)
        strong, weak = jnp.float32(1.01), jnp.asarray(1.01)
        self.assertTrue(weak.weak_type)
        self.assertEqual([step(strong), step(strong), step(weak), step(strong)],
                         [float(np.float32(1.01)), float(np.float32(1.01)), 1.0078125, float(np.float32(1.01))])

    def test_a_gradient_that_is_wrong_in_jit_alone_is_told(self):
        rj, jax = self.rj, self.jax
        original = jax.jit

        def wrong(f, *args, **more):
            made = original(f, *args, **more)
            return lambda *a: (made(*a)[0], [2 * g for g in made(*a)[1]]) if isinstance(made(*a), tuple) else made(*a)
        jax.jit = wrong
        try:
            with self.assertWarnsRegex(UserWarning, "jax.jit has another gradient of params"):
                step = rj.compile(lambda p: (p ** 2).sum(), np.ones(3, np.float32), ())
        finally:
            jax.jit = original
        self.assertEqual((step.check["share"], step.check["jit"]), (0.0, 0.5))

    def test_what_is_solved_and_looped_is_replayed_by_the_command(self):
        jax, jnp, rj = self.jax, self.jnp, self.rj
        a = np.float32([[4, 1, 0], [1, 5, 2], [0, 2, 6]])

        def loss(p, i):
            m = p["m"] @ p["m"].T + jnp.eye(3)
            many = jax.vmap(lambda q: jax.lax.while_loop(lambda c: c < 9, lambda c: 2 * c, q))(jnp.arange(1, 4))
            norm = jax.vmap(lambda q: q - jax.lax.pmean(q, "b"), axis_name="b")(p["m"])
            return (jnp.linalg.solve(m, p["m"]).sum() + jnp.linalg.slogdet(m)[1] + jnp.linalg.cholesky(m).sum() + (norm ** 2).sum() +
                    jax.scipy.special.gammaln(jnp.abs(p["m"]) + 1).sum() + p["m"][i].sum() * many[0])
        step = rj.compile(loss, {"m": a}, (np.int32([0, 7]),), self.optax.adam(0.01))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.reprise")
            with rj.record(path):
                for _ in range(3):
                    step(np.int32([0, 7]))
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("identical", done.stdout)

    def test_a_loop_that_is_not_done_is_an_error(self):
        jax, rj = self.jax, self.rj

        def f(n):
            return jax.lax.while_loop(lambda c: c < n, lambda c: c + 1, 0)
        g = rj.function(f, np.int32(3), while_limit=10)
        self.assertEqual(int(g(np.int32(7))), 7)
        with self.assertRaises(rp.Error):
            g(np.int32(11))


if __name__ == "__main__":
    unittest.main()
