# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as programs: steps beside PyTorch's own, optimizers, records that the command replays, and each trap of export,
with what would go wrong without its guard."""
import copy
import importlib.util
import json
import os
import random
import sys
import tempfile
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

import reprise
import reprise.torch as rt
from reprise.torch.capture import capture

torch.set_num_threads(1)
warnings.simplefilter("ignore")


def mlp(drop=0.0):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(drop), nn.Linear(8, 3))


def batch(rows=5):
    torch.manual_seed(1)
    return torch.randn(rows, 4), torch.randint(0, 3, (rows,))


def sgd(m, lr=0.1):
    return torch.optim.SGD(m.parameters(), lr)


class Line(nn.Module):
    """A weight of three elements; forward(x) is what `f` says."""

    def __init__(self, f):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
        self.register_buffer("seen", torch.zeros(3))
        self.f, self.k = f, 1

    def forward(self, x):
        return self.f(self, x)


def gradient(module, x):
    """Of w by the program, without the comparison with PyTorch: one step of SGD with a rate of 1."""
    step = rt.compile(module, example=(x,), optimizer=sgd(module, 1.0), check=False)
    step(x)
    return module.w.detach().numpy() - np.array(step.state["w"])


def eager_gradient(module, x):
    own = copy.deepcopy(module)
    return torch.autograd.grad(own(x), own.w)[0].numpy()


X = torch.tensor([1.0, 2.0, 3.0])
SCALE = 1.0


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
        for make, name in ((lambda p: torch.optim.NAdam(p), "NAdam"), (lambda p: torch.optim.Adam(p, amsgrad=True), "amsgrad"),
                           (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, dampening=0.5), "dampening"),
                           (lambda p: torch.optim.RMSprop(p, centered=True), "centered")):
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


class Traps(unittest.TestCase):
    """Without its guard each of these would give another gradient, or another value, without an error."""

    def same_gradient(self, f):
        m = Line(f)
        expected = eager_gradient(m, X)
        np.testing.assert_allclose(gradient(m, X), expected, rtol=1e-5, atol=1e-6)
        return expected

    def test_no_grad_regions_are_kept(self):
        def f(m, x):
            with torch.no_grad():
                k = (m.w * x).exp()
                m.seen.mul_(0.5).add_(k)
            return (m.w * k).sum() + (m.seen * m.w).sum()
        expected = self.same_gradient(f)
        everything = torch.autograd.grad((lambda w: (w * (w * X).exp()).sum())(w := Line(f).w), w)[0]
        self.assertGreater(float((everything - torch.from_numpy(expected)).abs().max()), 0.1)

    def test_grad_enabled_again_inside_no_grad_is_kept(self):
        def f(m, x):
            with torch.no_grad():
                a = m.w.exp()
                with torch.enable_grad():
                    b = m.w.sin()
                c = m.w.cos()
            return (a * b * c).sum()
        self.same_gradient(f)

    def test_detach_is_kept(self):
        self.same_gradient(lambda m, x: (m.w * m.w.detach() * x).sum())

    def test_functions_with_a_backward_of_their_own_are_refused(self):
        class Straight(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.round()

            @staticmethod
            def backward(ctx, g):
                return g
        with self.assertRaisesRegex(rt.Unsupported, r"test_torch.py:\d+.*Function.apply of Straight"):
            rt.compile(m := Line(lambda m, x: Straight.apply(m.w * x).sum()), example=(X,), optimizer=sgd(m), check=False)
        self.assertEqual(float(Straight.apply(torch.tensor(1.2))), 1.0)  # as it was
        self.same_gradient(lambda m, x: ((m.w * x) + ((m.w * x).round() - m.w * x).detach()).sum())  # the remedy

    def test_changes_in_place_without_gradient_are_refused(self):
        def f(m, x):
            y = m.w * x
            with torch.no_grad():
                y.clamp_(max=0.1)
            return (y * y + m.w).sum()
        with self.assertRaisesRegex(rt.Unsupported, r"test_torch.py:\d+: aten.clamp_.default: changes in place"):
            rt.compile(m := Line(f), example=(X,), optimizer=sgd(m), check=False)

        def g(m, x):
            with torch.no_grad():
                m.w.clamp_(max=0.1)
            return (m.w * x).sum()
        with self.assertRaisesRegex(rt.Unsupported, "the forward changes module.w in place|in-place"):
            rt.compile(m := Line(g), example=(X,), optimizer=sgd(m), check=False)

    def test_autocast_is_refused(self):
        def f(m, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return (m.w * x).sum()
        with self.assertRaisesRegex(rt.Unsupported, "autocast"):
            rt.compile(m := Line(f), example=(X,), optimizer=sgd(m), check=False)

    def test_embeddings_that_are_padding_have_no_gradient(self):
        m = nn.Embedding(4, 3, padding_idx=0)
        step = rt.compile(m, lambda y, k: (y * y).sum(), (torch.tensor([0, 1, 0]), X), sgd(m, 1.0))
        before = m.weight.detach().numpy().copy()
        step(torch.tensor([0, 1, 0]), X)
        self.assertEqual(np.array(step.state["weight"])[0].tolist(), before[0].tolist())

    def test_hooks_are_refused(self):
        def f(m, x):
            y = m.w * x
            y.register_hook(lambda g: 2 * g)
            return y.sum()
        with self.assertRaisesRegex(rt.Unsupported, r"test_torch.py:\d+.*register_hook"):
            rt.compile(m := Line(f), example=(X,), optimizer=sgd(m), check=False)
        plain = lambda m, x: (m.w * x).sum()
        m = Line(plain)
        handle = m.w.register_hook(lambda g: 2 * g)
        with self.assertRaisesRegex(rt.Unsupported, "the parameter .*w has a hook"):
            rt.compile(m, example=(X,), optimizer=sgd(m), check=False)
        handle.remove()
        m.register_full_backward_hook(lambda m, i, o: None)
        with self.assertRaisesRegex(rt.Unsupported, "backward hook"):
            rt.compile(m, example=(X,), optimizer=sgd(m), check=False)

    def test_gradients_are_compared_with_pytorch(self):
        from reprise.torch import check
        m = Line(lambda m, x: (m.w * m.w.detach() * x).sum())
        rule = rt.lower.RULES["aten.detach.default"]
        rt.lower.RULES["aten.detach.default"] = lambda g, node, x: x  # a door that forgets where gradients end
        try:
            with self.assertRaisesRegex(check.GradientMismatch, "gradient of w .*PyTorch has .*, the program"):
                rt.compile(m, example=(X,), optimizer=sgd(m))
        finally:
            rt.lower.RULES["aten.detach.default"] = rule
        step = rt.compile(m, example=(X,), optimizer=sgd(m))
        self.assertLess(step.origin["gradients"]["difference"], 1e-6)

    def test_dropout_is_left_out_of_the_comparison_on_both_sides(self):
        m = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 3))
        one = batch()
        before = torch.random.get_rng_state()
        step = rt.compile(m, F.cross_entropy, one, sgd(m))
        self.assertLess(step.origin["gradients"]["difference"], 1e-5)
        self.assertTrue(torch.equal(before, torch.random.get_rng_state()))
        m = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5, batch_first=True)
        step = rt.compile(m, lambda y, k: (y ** 3).sum(), (torch.randn(2, 3, 4), X), sgd(m))
        self.assertLess(step.origin["gradients"]["difference"], 1e-4)
        m = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5), nn.Linear(6, 3))
        step = rt.compile(m, F.cross_entropy, one, sgd(m))
        self.assertNotEqual(float(step(*batch())), float(step(*batch())))

    def test_numbers_of_python_are_guarded(self):
        m = Line(lambda m, x: (m.w * x).sum() * m.k)
        step = rt.compile(m, example=(X,), optimizer=sgd(m, 0.0))
        one = float(step(X))
        m.k = 3
        self.assertEqual(float(step(X)), 3 * one)
        m.k = 1
        self.assertEqual(float(step(X)), one)
        self.assertEqual(step.programs, 2)
        m.k = 1.0  # equal, and another number all the same: of integers it makes floats
        self.assertEqual(float(step(X)), one)
        self.assertEqual(step.programs, 3)
        strided = torch.stack([X, X], 1)[:, 0]
        self.assertFalse(strided.is_contiguous())
        self.assertEqual(float(step(strided)), one)
        self.assertEqual(float(step(X.clone().requires_grad_())), one)
        with_number = nn.Linear(3, 1)

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.l = with_number

            def forward(self, x, factor):
                return self.l(x).sum() * factor
        m = Scaled()
        step = rt.compile(m, example=(X, 2.0), optimizer=sgd(m, 0.0))
        self.assertAlmostEqual(float(step(X, 4.0)), 2 * float(step(X, 2.0)), places=5)
        m = mlp(drop=0.9)
        step = rt.compile(m, F.cross_entropy, batch(), sgd(m, 0.0))
        m.eval()
        self.assertEqual(float(step(*batch())), float(step(*batch())))  # without dropout, by another program

    def test_numbers_of_functions_and_lists_are_guarded(self):
        class Weighed(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))
                self.parts = [1.0, 2.0]

            def forward(self, x):
                return (self.w * x).sum() * self.parts[0] * SCALE
        factor = 1.0
        m = Weighed()
        step = rt.compile(m, lambda v, y: v * y.sum() * factor, (X, X), sgd(m, 0.0))
        one = float(step(X, X))
        factor = 2.0  # of the loss's closure
        self.assertEqual(float(step(X, X)), 2 * one)
        m.parts[0] = 4.0
        self.assertEqual(float(step(X, X)), 8 * one)
        try:
            globals()["SCALE"] = 0.5
            self.assertEqual(float(step(X, X)), 4 * one)
        finally:
            globals()["SCALE"] = 1.0
        self.assertEqual(float(step(X, X)), 8 * one)
        self.assertEqual(step.programs, 4)

    def test_a_forward_that_changes_its_own_numbers_is_refused(self):
        def f(m, x):
            m.k += 1
            return (m.w * x).sum() * m.k
        with self.assertRaisesRegex(rt.Unsupported, "changes k from 1 to 2"):
            rt.compile(m := Line(f), example=(X,), optimizer=sgd(m))

    def test_random_numbers_that_are_not_pytorchs_are_refused(self):
        for draw in (random.random, np.random.rand):
            with self.subTest(draw), self.assertRaisesRegex(rt.Unsupported, "draws from random"):
                rt.compile(m := Line(lambda m, x: (m.w * x).sum() * float(draw())), example=(X,), optimizer=sgd(m))

    def test_buffers_that_the_forward_changes_are_states(self):
        def f(m, x):
            m.seen += x
            return (m.w * m.seen).sum()
        m = Line(f)
        step = rt.compile(m, example=(X,), optimizer=sgd(m, 0.0))
        self.assertEqual(float(m.seen.sum()), 0)  # compiling left the module as it was
        step(X)
        step(X)
        self.assertEqual(np.array(step.state["seen"]).tolist(), [2.0, 4.0, 6.0])

    def test_masks_that_no_input_comes_into_are_data(self):
        def f(m, x):
            mask = torch.arange(3)[None, :] <= torch.arange(3)[:, None]
            return torch.where(mask, m.w * x, 0.0).sum()
        captured = capture(Line(f), (X,))
        self.assertFalse([n.op for n in captured.graph.nodes if "arange" in n.op or "le." in n.op])
        self.assertEqual([a.tolist() for a in captured.graph.constants.values() if a.dtype == bool],
                         [[[True, False, False], [True, True, False], [True, True, True]]])
        self.same_gradient(f)

    def test_each_place_that_draws_has_a_stream_of_its_own(self):
        m = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 3))
        step = rt.compile(m, F.cross_entropy, batch(), sgd(m))
        streams = [i[1]["stream"] for i in step.program.instructions if i[0] == "dropout"]
        self.assertEqual(len(set(streams)), 2)

    def test_control_flow_by_values_is_refused_and_cond_is_a_region(self):
        with self.assertRaisesRegex(rt.Unsupported, "export"):
            rt.compile(m := Line(lambda m, x: (m.w * x).sum() if x.sum() > 0 else m.w.sum()), example=(X,), optimizer=sgd(m))
        f = lambda m, x: torch.cond(x.sum() > 0, lambda a: a * m.w, lambda a: a * a * m.w, (x,)).sum()
        for x in (X, -X):
            m = Line(f)
            np.testing.assert_allclose(gradient(m, x), eager_gradient(m, x), rtol=1e-5)

    def test_an_operation_without_a_rule_is_named_with_its_line(self):
        with self.assertRaisesRegex(rt.Unsupported, r"test_torch.py:\d+: aten.\w*geqrf\w*"):
            rt.compile(m := Line(lambda m, x: torch.geqrf(torch.outer(m.w, x))[0].sum()), example=(X,), optimizer=sgd(m))

    def test_parameters_that_overlap_are_refused(self):
        class Turned(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Parameter(torch.randn(3, 4))
                self.b = nn.Parameter(self.a.detach().t())  # the same memory

            def forward(self, x):
                return (x @ self.a @ self.b).sum()
        with self.assertRaisesRegex(rt.Unsupported, "b and a have elements in common"):
            rt.compile(m := Turned(), example=(X,), optimizer=sgd(m))
        flat = torch.randn(8)
        m = Line(lambda m, x: (m.w[:3] * x).sum() + m.v.sum())
        m.w, m.v = nn.Parameter(flat[:4]), nn.Parameter(flat[4:])  # one memory, but no element in common
        rt.compile(m, example=(X,), optimizer=sgd(m))

    def test_a_module_that_changes_behind_the_step_is_an_error(self):
        m = Line(lambda m, x: (m.w * x).sum() + m.seen.sum())
        o = sgd(m)
        step = rt.compile(m, example=(X,), optimizer=o)
        one = float(step(X))
        with torch.no_grad():
            m.w.mul_(2)
        with self.assertRaisesRegex(rt.Unsupported, "w of the module changed"):
            step(X)
        step.load()
        self.assertEqual(float(step(X)), float(m(X).detach()))
        m.seen.add_(1)  # a constant of the program
        with self.assertRaisesRegex(rt.Unsupported, "seen of the module changed"):
            step(X)
        step.copy_to(m)
        self.assertNotEqual(float(step(X)), one)

    def test_what_is_frozen_later_is_not_trained(self):
        m = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3))
        o = torch.optim.SGD(m.parameters(), 0.1, weight_decay=0.1)
        step = rt.compile(m, F.cross_entropy, batch(), o)
        step(*batch())
        m[0].requires_grad_(False)
        before = {n: np.array(v) for n, v in step.state.items()}
        step(*batch())
        after = {n: np.array(v) for n, v in step.state.items()}
        self.assertEqual(before["0.weight"].tolist(), after["0.weight"].tolist())
        self.assertNotEqual(before["1.weight"].tolist(), after["1.weight"].tolist())
        m[0].requires_grad_(True)
        step(*batch())
        self.assertEqual(step.programs, 2)
        o.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})
        with self.assertRaisesRegex(rt.Unsupported, "group was added"):
            step(*batch())

    def test_programs_without_end_are_refused(self):
        from reprise.torch import step as steps
        m = Line(lambda m, x: (m.w * x).sum() * m.k)
        step = rt.compile(m, example=(X,), optimizer=sgd(m, 0.0))
        most, steps.MOST_PROGRAMS = steps.MOST_PROGRAMS, 2
        try:
            m.k = 2
            step(X)
            m.k = 3
            with self.assertRaisesRegex(rt.Unsupported, "2 programs"):
                step(X)
        finally:
            steps.MOST_PROGRAMS = most


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


if __name__ == "__main__":
    unittest.main()
