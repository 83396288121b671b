# SPDX-License-Identifier: Apache-2.0
"""Programs by name, runs, compiled steps, records, wrong use of them."""
import os
import pickle
import shutil
import subprocess
import tempfile
import unittest

import numpy as np

import reprise as rp

COMMAND = os.environ.get("REPRISE_COMMAND") or shutil.which("reprise")


def line(by_name):
    """One step of fitting a line, by operators or by names alone."""
    b = rp.Builder()
    w, x, y = b.state("w", (3,)), b.feed("x", (3,)), b.feed("y", (3,))
    if by_name:
        e = b.append("sub", {}, [b.append("mul", {}, [x, w]), y])
        square = b.append("mul", {}, [e, e])
        loss = b.append("reshape", {"shape": ()}, [b.append("sum", {"axes": [0]}, [square])])
        (g,) = b.gradients(loss, w)
        rate = b.append("fill", {"value": 0.25, "shape": (), "dtype": "f32"})
        new = b.append("sub", {}, [w, b.append("mul", {}, [g, rate])])
    else:
        e = x * w - y
        loss = (e * e).sum()
        (g,) = b.gradients(loss, [w])
        new = w - g * 0.25
    b.update("w", new)
    b.result("loss", loss)
    return b.finish()


class Programs(unittest.TestCase):
    def test_operators_and_names_build_the_same_program(self):
        self.assertEqual(line(True), line(False))
        self.assertEqual(line(True).text, line(False).text)

    def test_a_program_is_its_text(self):
        p = line(False)
        self.assertEqual(rp.Program.read(p.text), p)
        self.assertEqual(rp.Program.read(p.text.decode()), p)
        self.assertEqual(pickle.loads(pickle.dumps(p)), p)
        self.assertEqual(hash(rp.Program.read(p.text)), hash(p))
        self.assertEqual(len(p), len(p.instructions))
        self.assertEqual([i[:4] for i in p.inputs],
                         [("state", "w", (3,), "f32"), ("feed", "x", (3,), "f32"), ("feed", "y", (3,), "f32")])
        self.assertEqual([o[:4] for o in p.outputs], [("state", "w", (3,), "f32"), ("result", "loss", (), "f32")])
        self.assertGreater(p.price["work"], 0)
        self.assertGreater(p.memory()["total"], 0)
        for wrong in (b"", b"{}", p.text[:-1], p.text.replace(b"mul", b"nul")):
            with self.assertRaises(rp.Error):
                rp.Program.read(wrong, "here")

    def test_an_instruction_can_be_rebuilt_from_what_a_program_says(self):
        p = line(False)
        b = rp.Builder()
        made = {}
        for kind, name, shape, dtype, value in p.inputs:
            made[value] = getattr(b, kind)(name, shape, dtype)
        for op, attributes, ins, outs in p.instructions:
            out = b.append(op, attributes, [made[i] for i in ins])
            made.update(zip(outs, out if isinstance(out, tuple) else (out,)))
        for kind, name, _, _, value in p.outputs:
            {"state": b.update, "result": b.result}[kind](name, made[value])
        self.assertEqual(b.finish(), p)

    def test_a_failed_call_leaves_the_builder_as_it_was(self):
        b = rp.Builder()
        w = b.state("w", (3,))
        x = b.feed("x", (3,))
        before = b.length
        wrong = b.append("fill", {"value": 1, "shape": (4,), "dtype": "f32"})
        for call in (lambda: w + wrong, lambda: b.append("no_such", {}, [w]), lambda: b.append("sum", {}, [w]),
                     lambda: b.append("add", {}, [w]), lambda: b.state("w", (4,)), lambda: b.state("bad name"),
                     lambda: b.gradients(w, [x]), lambda: b.gradients(w.sum(), [x]), lambda: b.result("read.1", w)):
            with self.assertRaises((rp.Error, TypeError, ValueError)):
                call()
        self.assertEqual(b.length, before + 3)  # fill, and the sum whose gradient was refused, with its reshape
        with self.assertRaises(TypeError):
            w + np.ones(3, np.float32)
        b.result("y", w + x)
        p = b.finish()
        for call in (lambda: w + x, lambda: b.feed("z"), b.finish):
            with self.assertRaises(RuntimeError):
                call()
        with self.assertRaises(RuntimeError):
            np.asarray(w)
        self.assertEqual(len(p.outputs), 1)

    def test_tensors_of_another_builder_are_refused(self):
        a, b = rp.Builder(), rp.Builder()
        with self.assertRaises(ValueError):
            a.feed("x") + b.feed("x")
        with self.assertRaises(ValueError):
            a.feed("x") + (rp.Tensor(1.0) * 2)

    def test_notebooks_see_tensors_and_programs(self):
        b = rp.Builder()
        x = b.feed("x", (2,))
        self.assertIn("of a program", x._repr_html_())
        b.result("y", x * 2)
        p = b.finish()
        self.assertEqual(p.to_dot().count("shape=box"), 2)  # the number and the product
        self.assertIn("in0 -> ", p.to_dot())
        self.assertIn("feed x", p._repr_html_())
        self.assertIn("bf16", rp.Tensor([1.0, 2.0]).cast("bf16")._repr_html_())
        self.assertIn(">2<", rp.Tensor([1.0, 2.0])._repr_html_())

    def test_regions(self):
        f = rp.Builder()
        f.parameter((), "i64")
        h, x = f.parameter(()), f.parameter(())
        h = h * 0.5 + x
        f.returns(h)
        f.returns(h)
        cell = f.finish_function()
        yes, no = rp.Builder(), rp.Builder()
        yes.returns(yes.parameter() * 2)
        no.returns(no.parameter() * 3)
        yes, no = yes.finish_function(), no.finish_function()
        b = rp.Builder()
        series = b.feed("x", (4,))
        last, rows = b.scan(cell, 4, carried=[b.append("fill", {"value": 0, "shape": (), "dtype": "f32"})],
                            sliced=[series])
        (twice,) = b.cond(b.feed("flag", (), "bool"), [no, yes], [last])
        (called,) = b.call(yes, [last])
        b.result("rows", rows)
        b.result("chosen", twice)
        b.result("called", called)
        with self.assertRaises((rp.Error, TypeError)):
            b.scan(yes, 4, carried=[series])
        p = b.finish()
        c = rp.Run().compile(p)
        out = c(x=[1, 2, 3, 4], flag=True)
        self.assertEqual(out["rows"].tolist(), [1, 2.5, 4.25, 6.125])
        self.assertEqual(float(out["chosen"]), 12.25)
        self.assertEqual(float(c(x=[1, 2, 3, 4], flag=False)["chosen"]), 18.375)
        self.assertEqual(float(out["called"]), 12.25)


class Runs(unittest.TestCase):
    def make(self):
        run = rp.Run(threads=1)
        run.add_state("w", np.zeros(3, np.float32))
        return run

    def test_compiled_steps(self):
        run = self.make()
        c = run.compile(line(False))
        with self.assertRaises(rp.ArgumentError):
            c()  # feeds that were never written
        first = float(c(x=np.ones(3, np.float32), y=[1.0, 2.0, 3.0])["loss"])
        for _ in range(20):
            c.step()
        self.assertLess(float(c.read("loss")), first / 1000)
        np.testing.assert_allclose(np.asarray(run.get_state("w")), [1, 2, 3], atol=1e-3)
        self.assertEqual((run.steps, run.states, run.threads), (21, ["w"], 1))
        self.assertGreater(c.memory, 0)
        for wrong in (dict(z=1), dict(x=np.ones(4, np.float32)), dict(x=np.ones(3)), dict(x="no")):
            with self.assertRaises((TypeError, ValueError)):
                c(**wrong)
        with self.assertRaises(KeyError):
            c.read("no")

    def test_eager_steps_are_the_same_bits(self):
        compiled, eager = self.make(), self.make()
        c = compiled.compile(line(False))
        for i in range(5):
            x, y = np.full(3, i + 1, np.float32) / 8, np.arange(3, dtype=np.float32)
            c(x=x, y=y)
            with eager.step():
                w = eager.state("w")
                e = eager.feed("x", x) * w - eager.feed("y", y)
                (g,) = [rp.grad(lambda v: ((eager.feed("a", x) * v - y) ** 2).sum())(w)] if i < 0 else [None]
                value, g = rp.value_and_grad(lambda v: ((v * x - y) * (v * x - y)).sum())(w)
                eager.update("w", w - g * 0.25)
                self.assertEqual(float(value), float((e * e).sum()))
        self.assertEqual(compiled.get_state("w").tolist(), eager.get_state("w").tolist())

    def test_an_exception_abandons_the_step(self):
        run = self.make()
        with self.assertRaises(ZeroDivisionError):
            with run.step():
                run.update("w", run.state("w") + 1)
                1 // 0
        self.assertEqual((run.steps, run.get_state("w").tolist()), (0, [0, 0, 0]))
        with run.step():
            with self.assertRaises(rp.Error):
                run.state("v")
            with self.assertRaises(KeyError):
                run.update("v", run.state("w"))
            with self.assertRaises(ValueError):
                run.update("w", run.state("w").sum())
            run.update("w", run.state("w") + 1)
        self.assertEqual((run.steps, run.get_state("w").tolist()), (1, [1, 1, 1]))

    def test_tensors_of_a_step_are_dead_after_it_unless_they_were_read(self):
        run = self.make()
        with run.step():
            read, other = run.state("w") + 1, run.state("w") + 2
            float(read.sum())
            read.numpy()
        self.assertEqual(read.tolist(), [1, 1, 1])
        self.assertEqual((read + 1).tolist(), [2, 2, 2])
        with self.assertRaises(RuntimeError):
            other.tolist()
        with self.assertRaises(RuntimeError):
            other + 1
        with self.assertRaises(RuntimeError):
            run.state("w")

    def test_an_error_of_a_step_says_which_and_where_in_python(self):
        b = rp.Builder()
        b.result("y", b.feed("x", (3,))[b.feed("i", (1,), "i64")])
        c = rp.Run().compile(b.finish())
        c(x=[1.0, 2.0, 3.0], i=[2])
        with self.assertRaises(rp.DataError) as caught:
            c(x=[1.0, 2.0, 3.0], i=[7])
        self.assertEqual((caught.exception.code, caught.exception.step), ("RP_EDATA", 1))
        self.assertIn("test_programs.py", str(caught.exception))
        self.assertEqual(caught.exception.operation, "gather")


class Records(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "x.reprise")

    def tearDown(self):
        self.folder.cleanup()

    def record(self, **how):
        with rp.record(self.path, **how) as run:
            run.add_state("w", np.zeros(3, np.float32))
            run.add_data("y", np.array([1, 2, 3], np.float32))
            c = run.compile(line(False))
            c(x=np.ones(3, np.float32), y=[1.0, 2.0, 3.0])
            with run.step():
                w = run.state("w")
                loss, g = rp.value_and_grad(lambda v: ((v - run.data("y")) ** 2).sum())(w)
                if float(loss) > 0:
                    run.update("w", w - g * 0.25)
                run.result("loss", loss)
            del w, loss, g

    def test_the_command_verifies_and_replays(self):
        if not COMMAND:
            self.skipTest("no command")
        subprocess.run([COMMAND, "keygen", "me"], cwd=self.folder.name, check=True, capture_output=True)
        self.record(key=os.path.join(self.folder.name, "me.pem"))
        done = subprocess.run([COMMAND, "replay", self.path, "--trust", os.path.join(self.folder.name, "me.pub.pem")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 steps", done.stdout)

    def test_the_same_run_has_the_same_id_and_none_is_replaced_unasked(self):
        self.record()
        with open(self.path, "rb") as f:
            first = f.read()
        with self.assertRaises(FileExistsError):
            self.record()
        self.record(force=True)
        with open(self.path, "rb") as f:
            self.assertEqual(f.read(), first)

    def test_an_exception_leaves_no_archive(self):
        with self.assertRaises(ZeroDivisionError):
            with rp.record(self.path) as run:
                run.add_state("w", [1.0])
                with run.step():
                    1 // 0
        self.assertEqual(os.listdir(self.folder.name), [])
        with self.assertRaises(rp.Error):
            with rp.record(self.path) as run:
                run.add_state("w", [1.0])
        self.assertEqual(os.listdir(self.folder.name), [])


if __name__ == "__main__":
    unittest.main()
