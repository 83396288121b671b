# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as programs: steps beside PyTorch's own, optimizers, records that the command replays, forwards, layers."""
import copy
import importlib.util
import json
import os
import pickle
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import reprise
import reprise.torch as rt
from torch_small import X, Line, batch, eager_gradient, gradient, mlp, sgd


class Steps(unittest.TestCase):
    def beside(self, optimizer, schedule=None, steps=4):
        """The same steps by PyTorch and by the program."""
        m, n = mlp(), mlp()
        x, y = batch()
        o, p = optimizer(m), optimizer(n)
        s, q = (schedule(o), schedule(p)) if schedule else (None, None)
        step = rt.compile(m, F.cross_entropy, (x, y), o)
        for _ in range(steps):
            p.zero_grad()
            expected = F.cross_entropy(n(x), y)
            expected.backward()
            p.step()
            self.assertAlmostEqual(float(step(x, y)), float(expected.detach()), delta=2e-6)
            if schedule:
                s.step(), q.step()
        step.copy_to(m)
        for a, b in zip(m.parameters(), n.parameters()):
            self.assertLess(float((a - b).detach().abs().max()), 3e-6)
        return step

    def test_sgd(self):
        self.beside(lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=0.01))

    def test_adam_and_a_schedule(self):
        step = self.beside(lambda m: torch.optim.Adam(m.parameters(), 0.01, betas=(0.8, 0.99), weight_decay=0.1),
                           lambda o: torch.optim.lr_scheduler.StepLR(o, 2, 0.1))
        self.assertEqual(step.programs, 1)

    def test_adamw_in_groups(self):
        self.beside(lambda m: torch.optim.AdamW([{"params": m[0].parameters(), "weight_decay": 0.0},
                                                 {"params": m[3].parameters(), "lr": 0.05, "betas": (0.5, 0.9)}], 0.01))

    def test_rmsprop(self):
        self.beside(lambda m: torch.optim.RMSprop(m.parameters(), 0.01, alpha=0.9, momentum=0.5, weight_decay=0.01))

    def test_adagrad(self):
        self.beside(lambda m: torch.optim.Adagrad(m.parameters(), 0.1, lr_decay=0.1, initial_accumulator_value=0.1))

    def test_an_optimizer_that_made_steps_goes_on(self):
        m = mlp()
        x, y = batch()
        o = torch.optim.Adam(m.parameters(), 0.01)
        for _ in range(3):
            o.zero_grad()
            F.cross_entropy(m(x), y).backward()
            o.step()
        step = rt.compile(m, F.cross_entropy, (x, y), o)
        step(x, y)
        o.zero_grad()
        F.cross_entropy(m(x), y).backward()
        o.step()
        for name, p in m.named_parameters():
            self.assertLess(np.abs(np.array(step.state[name]) - p.detach().numpy()).max(), 1e-6)

    def test_what_the_program_would_not_do_is_refused_by_name(self):
        m = mlp()
        for make, name in ((torch.optim.LBFGS, "LBFGS: it evaluates the loss several times"),
                           (lambda p: torch.optim.SparseAdam(list(p)), "SparseAdam: gradients of programs are dense"),
                           (lambda p: torch.optim.Adam(p, differentiable=True, foreach=False), "differentiable")):
            with self.assertRaisesRegex(rt.Unsupported, name):
                rt.compile(m, F.cross_entropy, batch(), make(m.parameters()))

        class Mine(torch.optim.SGD):
            pass
        with self.assertRaisesRegex(rt.Unsupported, "Mine"):
            rt.compile(m, F.cross_entropy, batch(), Mine(m.parameters(), 0.1))
        o = sgd(m)
        o.register_step_post_hook(lambda *a: None)
        with self.assertRaisesRegex(rt.Unsupported, "hooks"):
            rt.compile(m, F.cross_entropy, batch(), o)

    def test_an_error_of_a_step_names_the_models_line_and_leaves_the_states(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.e = nn.Embedding(3, 4)

            def forward(self, i):
                return self.e(i)
        m = Net()
        step = rt.compile(m, lambda v, y: (v * y).sum(), (torch.tensor([0, 2]), torch.ones(2, 4)), sgd(m))
        with self.assertRaises(reprise.DataError) as caught:
            step(torch.tensor([0, 7]), torch.ones(2, 4))
        self.assertRegex("".join(caught.exception.__notes__), r"test_torch.py:\d+")
        self.assertEqual(np.array(step.state["e.weight"]).tolist(), m.e.weight.tolist())
        step(torch.tensor([0, 1]), torch.ones(2, 4))

    def test_another_shape_is_another_program_of_the_same_states(self):
        m = mlp()
        step = rt.compile(m, F.cross_entropy, batch(), sgd(m))
        step(*batch())
        n = mlp()
        step.copy_to(n)
        self.assertAlmostEqual(float(step(*batch(2))), float(F.cross_entropy(n(batch(2)[0]), batch(2)[1]).detach()), delta=1e-6)
        self.assertEqual(step.programs, 2)

    def test_tied_weights_are_one_state(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False)
                self.b.weight = self.a.weight

            def forward(self, i):
                return self.b(self.a(i))
        torch.manual_seed(0)
        m = Tied()
        i, y = torch.tensor([1, 3, 5]), torch.tensor([2, 4, 6])
        step = rt.compile(m, F.cross_entropy, (i, y), sgd(m))
        self.assertEqual([n for n in step.state if not n.startswith("optim.")], ["a.weight"])
        step(i, y)
        n = Tied()
        step.copy_to(n)
        self.assertIs(n.a.weight, n.b.weight)
        self.assertEqual(n.a.weight.detach().numpy().tobytes(), np.array(step.state["a.weight"]).tobytes())

    def test_parameters_and_batches_may_have_names_that_programs_have_not(self):
        long = "a_part_of_a_model_with_a_long_name"

        class Parts(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.parts = nn.ModuleDict({"user id": nn.Linear(4, 3), "user_id": nn.Linear(4, 3), "größe": nn.Linear(4, 3)})
                self.words = nn.ParameterDict({"in": torch.ones(3), "class": torch.ones(3)})
                self.deep = nn.ModuleDict({long: nn.ModuleDict({f"{long}_{k}": nn.ModuleDict({long: nn.Linear(3, 1)}) for k in "ab"})})

            def forward(self, values):
                y = sum(f(x) for f, x in zip(self.parts.values(), values.values())).tanh() * self.words["in"] * self.words["class"]
                return (self.deep[long][long + "_a"][long](y) - 2 * self.deep[long][long + "_b"][long](y)).square().mean()
        m = Parts()
        n, values = copy.deepcopy(m), {"user id": torch.randn(5, 4), "user_id": torch.randn(5, 4), "größe" * 30: torch.randn(5, 4)}
        o, p = (torch.optim.AdamW(k.parameters(), 1e-2, amsgrad=True) for k in (m, n))
        step = rt.compile(m, None, (values,), o)
        for _ in range(3):
            p.zero_grad()
            expected = n(values)
            expected.backward()
            p.step()
            self.assertAlmostEqual(float(step(values)), float(expected.detach()), delta=1e-5)
        step.copy_to(m)
        for name, t in n.state_dict().items():
            torch.testing.assert_close(m.state_dict()[name], t, rtol=1e-4, atol=1e-5)
        self.assertEqual(sum(name.endswith(long + ".bias") for name in step.state), 8)  # with three moments each: none is another's

    def test_a_module_that_has_its_own_loss_and_batches_by_name(self):
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(4, 3)

            def forward(self, x, labels=None):
                return {"loss": F.cross_entropy(self.l(x), labels)}
        m = Own()
        x, y = batch()
        step = rt.compile(m, example={"x": x, "labels": y}, optimizer=sgd(m))
        self.assertAlmostEqual(float(step(x=x, labels=y)), float(m(x, y)["loss"].detach()), delta=1e-6)
        self.assertEqual([i[1] for i in step.program.inputs if i[0] == "feed"], ["x", "labels", "optim.lr.0"])


class Records(unittest.TestCase):
    def test_a_record_is_verified_and_replayed_by_the_command(self):
        m = mlp(drop=0.5)
        x, y = batch()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.reprise")
            o = torch.optim.AdamW(m.parameters(), 0.01)
            step = rt.compile(m, F.cross_entropy, (x, y), o)
            first = float(step(x, y))
            with rt.record(path, seed=7) as recorded:
                losses = [float(step(x, y)) for _ in range(4)] + [float(step(x[:2], y[:2]))]
            self.assertEqual(len(set(losses + [first])), 6)
            self.assertEqual(len(recorded.id), 64)
            self.assertTrue(reprise.replay(path))
            self.assertTrue(reprise.verify(path, allow_unsigned=True))
            origin = step.origin
            self.assertEqual(origin["version"], torch.__version__)
            self.assertLess(origin["gradients"]["difference"], 1e-5)
            with reprise.open(path) as archive:
                self.assertEqual(json.loads(bytes(archive.tensors("weights/init")["origin.json"])), origin)
                self.assertEqual(json.loads(bytes(archive.tensors("weights/final")["origin.json"])), origin)
            again = os.path.join(folder, "again.reprise")
            with self.assertRaises(ZeroDivisionError), rt.record(again):
                step(x, y)
                1 / 0
            self.assertFalse(os.path.exists(again))
            after = float(step(x, y))
            self.assertTrue(np.isfinite(after))

    def test_two_records_of_one_seed_have_the_same_bits(self):
        ids = []
        x, y = batch()
        with tempfile.TemporaryDirectory() as folder:
            for k in range(2):
                m = mlp(drop=0.5)
                step = rt.compile(m, F.cross_entropy, (x, y), sgd(m), threads=k + 1)
                with rt.record(os.path.join(folder, f"{k}.reprise"), seed=3, threads=k + 1, origin=k == 2) as r:
                    step(x, y)
                    step(x, y)
                ids.append(r.id)
        self.assertEqual(ids[0], ids[1])

    def test_a_block_without_steps_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(rt.Unsupported, "nothing was recorded"):
            with rt.record(os.path.join(folder, "x.reprise")):
                pass


class Forwards(unittest.TestCase):
    def test_a_module_is_a_recipes_model_that_the_command_trains_and_replays(self):
        rng = np.random.default_rng(1)
        rows = rng.standard_normal((200, 4)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "table.csv"), "w", encoding="ascii") as f:
                f.write("a,b,c,d,y\n")
                f.writelines(",".join(f"{v:.4f}" for v in r) + (",yes\n" if r[0] > r[1] else ",no\n") for r in rows)
            torch.manual_seed(0)
            m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
            made = rt.program(m, torch.zeros(20, 4))
            self.assertEqual([i[0] for i in made.program.instructions].count("dropout"), 1)
            self.assertEqual([i[0] for i in made.evaluate.instructions].count("dropout"), 0)
            self.assertTrue(all(q.training for q in m.modules()))
            made.save(os.path.join(folder, "net"))
            recipe = os.path.join(folder, "recipe.yaml")
            with open(recipe, "w", encoding="ascii") as f:
                f.write('reprise: 1\nseed: 1\ndata: {csv: table.csv, target: y, positive: "yes"}\n' + made.recipe("net") +
                        "train: {epochs: 2, batch: 20, optimizer: {lr: 0.01}}\n")
            archive = os.path.join(folder, "run.reprise")
            reprise.run(recipe, out=archive)
            self.assertTrue(reprise.replay(archive))

    def test_recipes_models_without_batch_norm_alone(self):
        with self.assertRaisesRegex(rt.Unsupported, "running_mean"):
            rt.program(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)), torch.randn(20, 4))

    def test_what_weights_alone_make_is_made_once_and_has_the_bits(self):
        torch.manual_seed(3)
        m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 5)).eval()
        x = torch.randn(2, 3, 6, 6)
        f = rt.compile_inference(m, x)
        first, rest = f.program.split()
        self.assertGreaterEqual([i[0] for i in first.instructions].count("transpose"), 2)
        run = reprise.Run()
        for kind, name, *_ in f.program.inputs:
            if kind == "state":
                run.add_state(name, m.state_dict()[name].numpy())
        whole = run.compile(f.program)(**{n: x.numpy() for kind, n, *_ in f.program.inputs if kind == "feed"})["out.0"]
        for _ in range(3):
            self.assertEqual(f(x).detach().numpy().tobytes(), np.array(whole).tobytes())

    def test_copies_and_pickles_are_of_the_copied_module(self):
        torch.manual_seed(4)
        m, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).eval(), torch.randn(5, 4)
        f = rt.compile_inference(m, x)
        one, two, three = copy.deepcopy(f), pickle.loads(pickle.dumps(f)), copy.copy(f)
        both = copy.deepcopy({"net": m, "f": f})
        self.assertIs(both["f"].module, both["net"])
        before = f(x)
        with torch.no_grad():
            m[0].weight.zero_()
        for g in (one, two, both["f"]):
            self.assertTrue(torch.equal(g(x), before))
        self.assertTrue(torch.equal(three(x), f(x)) and not torch.equal(f(x), before))
        with self.assertRaisesRegex(TypeError, "example"):
            rt.compile_inference(m, None)

    def test_answers_of_several_results_take_the_short_way_too(self):
        class Several(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.lstm, self.k = nn.Linear(4, 3), nn.LSTM(3, 5), 2.0

            def forward(self, x):
                y = self.layer(x) * self.k
                out, (h, c) = self.lstm(y)
                return {"y": y, "states": [h, (c, 7)], "most": y.argmax(-1), "none": x[:0], "out": out.sum()}
        torch.manual_seed(4)
        m = Several().eval()
        f = rt.compile_inference(m, torch.randn(6, 4))
        long = rt.compile_inference(m, torch.randn(6, 4))
        long._teach = lambda *a: None
        answers = []
        f._answer, answer = lambda *a: answers.append(a) or answer(*a), f._answer

        def same(x):
            found, expected = f(x), long(x)
            self.assertEqual([*found], [*expected])
            flat = lambda r: [r["y"], r["states"][0], r["states"][1][0], r["most"], r["none"], r["out"]]
            for a, b, e in zip(flat(found), flat(expected), flat(m(x))):
                self.assertEqual((a.dtype, a.shape, a.numpy().tobytes()), (b.dtype, b.shape, b.numpy().tobytes()))
                torch.testing.assert_close(a, e.detach(), rtol=1e-5, atol=1e-6)
            self.assertEqual(found["states"][1][1], 7)
        for k in range(12):
            same(torch.randn(2 + 4 * (k % 2), 4))
            if k == 5:
                self.assertTrue(answers)
                answers.clear()
        self.assertEqual(answers, [])
        kept = f(torch.ones(6, 4))["y"].clone()
        first = f(torch.ones(6, 4))["y"]
        f(torch.zeros(6, 4))
        self.assertTrue(torch.equal(first, kept))  # each answer's memory is its own
        m.k = 3.0
        same(torch.randn(6, 4))
        with torch.no_grad():
            m.layer.weight.add_(1)
        same(torch.randn(6, 4))

    def test_what_is_refused_is_an_error_of_the_library(self):
        m, batch_ = mlp(), batch()
        step = rt.compile(m, F.cross_entropy, batch_, sgd(m))
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(reprise.Error, "copy_to") as caught:
                copied(step)
            self.assertEqual((caught.exception.code, caught.exception.exit_code), ("RP_EUNSUPPORTED", 5))
        self.assertTrue(issubclass(rt.Unsupported, (reprise.UnsupportedError, NotImplementedError)))
        self.assertTrue(issubclass(rt.GradientMismatch, reprise.Error) and issubclass(rt.GradientMismatch, ArithmeticError))
        error = pickle.loads(pickle.dumps(rt.GradientMismatch("w", 1.0, 0.5, 2.0, 4.0)))
        self.assertEqual((error.parameter, error.found, error.code), ("w", 4.0, None))

    def test_answers_see_another_class_and_steps_of_fused_optimizers(self):
        class Other(nn.Linear):
            def forward(self, x):
                return super().forward(x) * 3
        torch.manual_seed(4)
        m, x = nn.Sequential(nn.Linear(4, 3), nn.Tanh()).eval(), torch.randn(5, 4)
        f = rt.compile_inference(m, x)
        optimizers = [kind(m.parameters(), 0.1, fused=True) for kind in (torch.optim.SGD, torch.optim.AdamW)]
        for k in range(3):
            for _ in range(3):
                torch.testing.assert_close(f(x), m(x).detach())
            if k < 2:
                m(x).sum().backward()
                optimizers[k].step()
            else:
                m[0].__class__ = Other
        torch.testing.assert_close(f(x), m(x).detach())

    def test_threads_compile_and_answer_at_once(self):
        torch.manual_seed(4)
        models = [nn.Linear(4, 3).eval(), nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()]
        whole = rt.compile_inference(models[0], torch.ones(2, 4))
        setattribute, errors = torch.Tensor.__setattr__, []
        inputs = [torch.randn(rows, 4) for rows in range(1, 6)]
        expected = [[m(x).detach() for x in inputs] for m in models]  # before: PyTorch's export of a thread is in the way of others' modules

        def answers(k):
            try:
                own = rt.compile_inference(models[k % 2], inputs[0])
                for n, x in enumerate(inputs):
                    for found, which in ((own(x), k % 2), (whole(x), 0), (whole(input=x), 0), (whole(inputs[1]), None)):
                        assert torch.allclose(found, expected[0][1] if which is None else expected[which][n], atol=1e-5)
                    whole.load()
            except Exception as e:
                errors.append(e)
        threads = [threading.Thread(target=answers, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertIs(torch.Tensor.__setattr__, setattribute)

    def test_answers_of_the_short_way_see_what_changes(self):
        torch.manual_seed(4)
        m, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2), nn.Dropout(0.5)).eval(), torch.randn(5, 4)
        f = rt.compile_inference(m, x)

        def same(x, short=True):
            for _ in range(3):
                self.assertEqual(f(x).numpy().tobytes(), rt.compile_inference(m, x)(x).numpy().tobytes())
            f(x)  # the other one's look at the module made this one's another
            self.assertEqual(f._short._short_stands(), short)

        same(x)
        with torch.no_grad():
            m[0].weight.mul_(2)
        self.assertFalse(f._short._short_stands())
        same(x)
        m[2].bias = nn.Parameter(torch.ones(2))
        same(x)
        m[1] = nn.Tanh()
        same(x)
        same(x[:2])
        same(x)
        same(x.clone().requires_grad_())
        m[1].register_forward_hook(lambda module, args, y: y * 3)
        same(x, False)  # whose function is looked at by Python
        m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()})
        same(x, False)
        self.assertEqual(f(input=x).numpy().tobytes(), f(x).numpy().tobytes())
        with self.assertRaises(Exception):
            f(x.double())
        m.train()
        self.assertGreater(len({f(x).numpy().tobytes() for _ in range(4)}), 1)  # drops
        m.eval()
        same(x, False)
        two = rt.compile_inference(nn.Linear(4, 1), x)
        with self.assertRaises(Exception):
            two(torch.randn(5, 3))

    def test_inference_gives_the_modules_form(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = nn.Linear(4, 3)

            def forward(self, x, scale=1.0):
                y = self.l(x) * scale
                return {"y": y, "parts": (y.exp(), 2)}
        m = Net().eval()
        x = torch.randn(5, 4)
        found, expected = rt.compile_inference(m, x)(x), m(x)
        self.assertEqual(list(found), ["y", "parts"])
        self.assertEqual(found["parts"][1], 2)
        torch.testing.assert_close(found["parts"][0], expected["parts"][0].detach())
        with self.assertRaisesRegex(rt.Unsupported, "changes buffers"):
            rt.compile_inference(nn.BatchNorm1d(4), x)

    def test_the_report_names_what_is_refused(self):
        class Odd(nn.Module):
            def forward(self, x):
                return torch.geqrf(x)[0]
        self.assertTrue(rt.report(nn.Linear(3, 3), torch.randn(3, 3)))
        found = rt.report(Odd(), torch.randn(3, 3))
        self.assertFalse(found)
        self.assertIn("test_torch.py:", str(found))
        self.assertIn("geqrf", str(found))


class Doors(unittest.TestCase):
    """One model by several doors is one program, and has one result, bit for bit."""

    def test_a_step_has_the_bytes_of_the_same_step_written_by_hand(self):
        torch.manual_seed(0)
        m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        loss = lambda p, y: ((p - y) * (p - y)).mean()
        step = rt.compile(m, loss, (torch.randn(5, 4), torch.randn(5, 3)), torch.optim.SGD(m.parameters(), 0.1, momentum=0.9))
        b = reprise.Builder()
        names = ("0.weight", "0.bias", "2.weight", "2.bias")
        w, c, v, d = (b.state(n, s) for n, s in zip(names, ((8, 4), (8,), (3, 8), (3,))))
        x, y = (b.feed(i[1], i[2], i[3]) for i in step.program.inputs if i[0] == "feed" and not i[1].startswith("optim."))
        h = (x @ w.transpose(1, 0) + c).relu()
        p = h @ v.transpose(1, 0) + d
        left, right = p - y, p - y
        loss = (left * right).mean()
        gradients = b.gradients(loss, [w, c, v, d])
        b.result("loss", loss)
        for name, p, g in zip(names, (w, c, v, d), gradients):
            moment, lr = b.state(f"optim.m.{name}", p.shape), b.feed("optim.lr.0")
            new = b.append("sgd", {"momentum": 0.9, "nesterov": False, "weight_decay": 0.0}, [p, moment, g, lr])
            b.update(name, new[0])
            b.update(f"optim.m.{name}", new[1])
        self.assertEqual(b.finish().text, step.program.text)

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "onnx is not installed")
    def test_onnx_has_the_same_instructions_and_bits(self):
        from onnx import helper, numpy_helper
        import reprise.onnx
        torch.manual_seed(0)
        m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
        x = batch()[0]
        ours = rt.compile_inference(m, x)
        nodes = [helper.make_node("Gemm", ["x", "0.weight", "0.bias"], ["a"], transB=1), helper.make_node("Relu", ["a"], ["b"]),
                 helper.make_node("Gemm", ["b", "2.weight", "2.bias"], ["y"], transB=1)]
        info = lambda n, s: [helper.make_tensor_value_info(n, 1, s)]
        weights = [numpy_helper.from_array(v.numpy(), k) for k, v in m.state_dict().items()]
        graph = helper.make_graph(nodes, "g", info("x", [5, 4]), info("y", [5, 3]), weights)
        other = reprise.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
        self.assertEqual(other.compile()(x=x.numpy())["y"].tobytes(), ours(x).numpy().tobytes())
        self.assertEqual([i[:2] for i in other.program.instructions], [i[:2] for i in ours.program.instructions])


class Layers(unittest.TestCase):
    def test_recurrent_layers(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.LSTM(3, 4, 2, dropout=0.5, bidirectional=True, batch_first=True)
                self.b, self.c = nn.GRU(8, 4), nn.RNN(4, 4, nonlinearity="relu", bias=False)

            def forward(self, x):
                y, (h, c) = self.a(x)
                y, g = self.b(y)
                y, _ = self.c(y)
                return (y * y).sum() + (h * c).sum() + g.sum()
        torch.manual_seed(0)
        m = Net()
        step = rt.compile(m, example=(torch.randn(2, 5, 3),), optimizer=sgd(m))
        self.assertLess(step.origin["gradients"]["difference"], 1e-5)

    def test_loops(self):
        from torch._higher_order_ops.scan import scan
        from torch._higher_order_ops.while_loop import while_loop

        def f(m, x):
            last, rows = scan(lambda c, e: (c * m.w + e, c.sin()), torch.zeros(3), x.expand(4, 3) * 1.0, dim=0)
            return (last * rows).sum()
        m = Line(f)
        np.testing.assert_allclose(gradient(m, X), eager_gradient(m, X), rtol=1e-5)

        def g(m, x):
            n, z = while_loop(lambda i, z: i < int(m.k), lambda i, z: (i + 1, z * 0.5), (torch.tensor(0), x))
            return (m.w * z).sum() + n
        m = Line(g)
        m.k = 5
        np.testing.assert_allclose(gradient(m, X), eager_gradient(m, X), rtol=1e-5)
        m.k = 1 << 17
        step = rt.compile(m, example=(X,), optimizer=sgd(m), check=False)
        with self.assertRaisesRegex(reprise.Error, "out of range"):  # it would end at the limit, without an error
            step(X)


# ---- steps beside others of one model, and old values: each case was silently another run before ----

class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.make, self.judge = nn.Linear(3, 4), nn.Linear(4, 1)


class Judging(nn.Module):
    def __init__(self, pair):
        super().__init__()
        self.pair = pair

    def forward(self, x, z):
        return F.softplus(-self.pair.judge(x)).mean() + F.softplus(self.pair.judge(self.pair.make(z).detach())).mean()


class Making(nn.Module):
    def __init__(self, pair):
        super().__init__()
        self.pair = pair

    def forward(self, z):
        return F.softplus(-self.pair.judge(self.pair.make(z))).mean()


class Together(nn.Module):
    """Both losses, each with a gradient for its own parameters alone."""

    def __init__(self, pair):
        super().__init__()
        self.pair = pair

    def forward(self, x, z):
        judge = self.pair.judge
        made = self.pair.make(z)
        judging = F.softplus(-judge(x)).mean() + F.softplus(judge(made.detach())).mean()
        still = {n: p.detach() for n, p in judge.named_parameters()}
        return judging + F.softplus(-torch.func.functional_call(judge, still, (made,))).mean()


def adam(*modules):
    return torch.optim.Adam([{"params": list(m.parameters()), "lr": 0.1 / (k + 1)} for k, m in enumerate(modules)])


def draws():
    return torch.randn(5, 4), torch.randn(5, 3)


class Two(unittest.TestCase):
    def setUp(self):
        self.pair = Pair()
        self.eager = copy.deepcopy(self.pair)
        x, z = draws()
        self.judging = rt.compile(Judging(self.pair), None, (x, z), adam(self.pair.judge))
        self.making = rt.compile(Making(self.pair), None, (z,), adam(self.pair.make))

    def test_a_step_of_what_another_one_trained_since_is_an_error(self):
        x, z = draws()
        self.making(z)  # what it was: taught to the short way
        self.making(z)
        with self.assertRaisesRegex(rt.Unsupported, r"another compiled step \(of Making\) trained parameters"):
            self.judging(x, z)

    def test_it_is_seen_by_the_short_way_too(self):
        self.pair = Pair()
        x, z = draws()
        judging = rt.compile(Judging(self.pair), None, (x, z), adam(self.pair.judge))
        for _ in range(3):
            judging(x, z)
        judging.copy_to(judging.module)
        making = rt.compile(Making(self.pair), None, (z,), adam(self.pair.make))
        judging(x, z)
        judging.copy_to(judging.module)
        making.load()
        making(z)
        with self.assertRaisesRegex(rt.Unsupported, "another compiled step"):
            judging(x, z)

    def test_load_wants_what_the_other_one_made(self):
        x, z = draws()
        self.judging(x, z)
        with self.assertRaisesRegex(rt.Unsupported, "made steps that the module does not have"):
            self.making.load()
        self.judging.copy_to(self.judging.module)
        self.making.load()
        self.making(z)

    def test_in_turns_by_copy_to_and_load_they_are_those_of_pytorch(self):
        own = adam(self.eager.judge), adam(self.eager.make)
        for _ in range(3):
            x, z = draws()
            found = float(self.judging(x, z))
            self.judging.copy_to(self.judging.module)
            self.making.load()
            found += float(self.making(z))
            self.making.copy_to(self.making.module)
            self.judging.load()
            for net, optimizer, given in ((Judging(self.eager), own[0], (x, z)), (Making(self.eager), own[1], (z,))):
                loss = net(*given)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                found -= float(loss)
            self.assertLess(abs(found), 1e-5)

    def test_one_step_trains_both(self):
        x, z = draws()
        step = rt.compile(Together(self.pair), None, (x, z), adam(self.pair.judge, self.pair.make))
        optimizer = adam(self.eager.judge, self.eager.make)
        for _ in range(4):
            x, z = draws()
            loss = Together(self.eager)(x, z)
            self.assertAlmostEqual(float(step(x, z)), float(loss), places=5)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        step.copy_to(step.module)
        for a, b in zip(self.pair.parameters(), self.eager.parameters()):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-5)

    def test_two_that_train_the_same_are_apart(self):
        m = mlp()
        a, b = (rt.compile(m, F.cross_entropy, batch(), sgd(m)) for _ in range(2))
        for _ in range(3):
            self.assertEqual(float(a(*batch())), float(b(*batch())))


class Old(unittest.TestCase):
    """Values of a module from before the last steps."""

    def setUp(self):
        self.m = mlp()
        self.step = rt.compile(self.m, F.cross_entropy, batch(), sgd(self.m))

    def warned(self, call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            call()
        return [w for w in found if "before the last steps" in str(w.message)]

    def test_state_dict_warns_until_copy_to(self):
        self.assertEqual(self.warned(self.m.state_dict), [])
        self.step(*batch())
        found = self.warned(self.m.state_dict)
        self.assertEqual([(w.category, w.filename) for w in found], [(RuntimeWarning, __file__)])
        self.assertEqual(len(self.warned(self.m[0].state_dict)), 1)
        self.assertEqual(self.warned(copy.deepcopy(self.m).state_dict), [])
        self.step.copy_to(self.m)
        self.assertEqual(self.warned(self.m.state_dict), [])

    def test_a_step_of_another_shape_does_not(self):
        self.step(*batch())
        self.assertEqual(self.warned(lambda: self.step(*batch(7))), [])

    def test_so_does_compile_inference(self):
        self.step(*batch())
        self.assertEqual(len(self.warned(lambda: rt.compile_inference(self.m, batch()[0]))), 1)
        self.step.copy_to(self.m)
        self.assertEqual(self.warned(lambda: rt.compile_inference(self.m, batch()[0])), [])

    def test_a_module_is_still_copied_and_pickled(self):
        self.step(*batch())
        there = pickle.loads(pickle.dumps(self.m))
        self.assertEqual(self.warned(there.state_dict), [])
        self.assertNotIn(b"reprise", pickle.dumps(self.m))

    def test_averages_are_refused_until_copy_to(self):
        averaged = torch.optim.swa_utils.AveragedModel(self.m)
        averaged.update_parameters(self.m)
        self.step(*batch())
        with self.assertRaisesRegex(rt.Unsupported, "update_parameters of a module"):
            averaged.update_parameters(self.m)
        self.step.copy_to(self.m)
        averaged.update_parameters(self.m)
        torch.testing.assert_close(averaged.module[0].weight.detach(), (self.m[0].weight + mlp()[0].weight).detach() / 2)


if __name__ == "__main__":
    unittest.main()
