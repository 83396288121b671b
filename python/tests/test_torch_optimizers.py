# SPDX-License-Identifier: Apache-2.0
"""Optimizers of torch.optim as programs, beside PyTorch in binary64: their options, their moments in checkpoints both ways, gradients
that are clipped, and steps of several batches."""
import copy
import importlib.util
import inspect
import io
import math
import os
import re
import sys
import tempfile
import unittest

import numpy as np

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import reprise
import reprise.torch as rt
from test_torch_door import short
from torch_small import X, Line, mlp

O = torch.optim
OPTIMIZERS = {
    "SGD": lambda p: O.SGD(p, 0.1),
    "SGD with a dampening": lambda p: O.SGD(p, 0.1, momentum=0.9, dampening=0.3, weight_decay=0.01),
    "SGD that maximizes": lambda p: O.SGD(p, 0.1, momentum=0.9, nesterov=True, maximize=True),
    "Adam": lambda p: O.Adam(p, 0.05, betas=(0.8, 0.95), weight_decay=0.1),
    "Adam, decoupled": lambda p: O.Adam(p, 0.05, weight_decay=0.1, decoupled_weight_decay=True),
    "Adam with amsgrad": lambda p: O.Adam(p, 0.05, amsgrad=True, weight_decay=0.1),
    "AdamW with amsgrad": lambda p: O.AdamW(p, 0.05, amsgrad=True, maximize=True),
    "RMSprop": lambda p: O.RMSprop(p, 0.01),
    "RMSprop, centered": lambda p: O.RMSprop(p, 0.01, centered=True),
    "RMSprop, centered, with a momentum": lambda p: O.RMSprop(p, 0.01, centered=True, momentum=0.5, weight_decay=0.1),
    "Adagrad": lambda p: O.Adagrad(p, 0.1, lr_decay=0.1, initial_accumulator_value=0.1),
    "NAdam": lambda p: O.NAdam(p, 0.02),
    "NAdam, decoupled": lambda p: O.NAdam(p, 0.02, weight_decay=0.1, decoupled_weight_decay=True, momentum_decay=0.01),
    "RAdam": lambda p: O.RAdam(p, 0.02),
    "RAdam, decoupled": lambda p: O.RAdam(p, 0.02, betas=(0.8, 0.9), weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
    "Adamax": lambda p: O.Adamax(p, 0.02, weight_decay=0.1),
    "Adadelta": lambda p: O.Adadelta(p, 1.0, weight_decay=0.1),
    "ASGD": lambda p: O.ASGD(p, 0.05, t0=3, lambd=0.01, weight_decay=0.1),
    "Rprop": lambda p: O.Rprop(p, 0.01),
}
if hasattr(O, "Adafactor"):
    OPTIMIZERS["Adafactor"] = lambda p: O.Adafactor(p, 0.1, weight_decay=0.1)
if hasattr(O, "Muon"):
    OPTIMIZERS["Muon"] = lambda p: O.Muon([q for q in p if q.dim() == 2], 0.02)
    OPTIMIZERS["Muon as AdamW"] = lambda p: O.Muon([q for q in p if q.dim() == 2], 0.02, nesterov=False,
                                                   adjust_lr_fn="match_rms_adamw")


def document():
    """The table of docs/python-torch.md: of a class its options taken, without effect, and what stands in the column of refusals."""
    source = os.environ.get("REPRISE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    with open(os.path.join(source, "docs", "python-torch.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$", f.read().split("## Optimizers and schedules")[1].split("\n## ")[0], re.M)
    return {name: [re.findall(r"`(\w+)`", cell) for cell in cells[:2]] + [cells[2].strip()] for name, *cells in rows}


# Of each option another value than its default.
OTHER = {"lr": 0.02, "momentum": 0.8, "weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-4, "alpha": 0.9, "lr_decay": 0.1,
         "initial_accumulator_value": 0.2, "momentum_decay": 0.01, "rho": 0.8, "lambd": 0.01, "t0": 2.0, "etas": (0.4, 1.3),
         "step_sizes": (1e-5, 10.0), "beta2_decay": -0.7, "d": 1.3, "ns_coefficients": (3.0, -4.0, 2.0), "ns_steps": 4,
         "adjust_lr_fn": "match_rms_adamw", "dampening": 0.2}


class Table(unittest.TestCase):
    def of(self, name, **options):
        if name == "Adafactor" and "eps" in options:
            options["eps"] = (1e-5, 0.01)
        return lambda p: getattr(O, name)([q for q in p if q.dim() == 2] if name == "Muon" else p, **options)

    def test_each_class_and_option_has_a_place_in_the_table(self):
        table, found = document(), {n: c for n, c in vars(O).items() if isinstance(c, type) and n != "Optimizer"}
        self.assertLessEqual(set(found), set(table))
        for name, c in found.items():
            taken, ignored, refused = table[name]
            options = [n for n in inspect.signature(c).parameters if n != "params"]
            if taken:
                said = [*taken, *ignored, *re.findall(r"`(\w+)`", refused)]
                self.assertEqual((name, sorted(said)), (name, sorted(set(said))))
                self.assertLessEqual(set(options), set(said), name)

    def test_what_is_taken_is_pytorchs_and_what_is_refused_is_refused(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        for name, (taken, ignored, refused) in document().items():
            if not hasattr(O, name):
                continue
            m = model()
            if not taken:
                with self.assertRaisesRegex(rt.Unsupported, name):
                    rt.compile(m, F.cross_entropy, given(0), self.of(name)(m.parameters()))
                continue
            own = inspect.signature(getattr(O, name)).parameters
            each = {n: OTHER.get(n, True) for n in taken if n in own}
            sets = [{n: v for n, v in each.items() if n != "nesterov"}]
            if "nesterov" in each:
                sets.append({n: v for n, v in each.items() if n != "dampening"})
            for options in sets:
                m, n = model(), model()
                step, o = rt.compile(m, F.cross_entropy, given(0), self.of(name, **options)(m.parameters())), self.of(name, **options)(n.parameters())
                for k in range(3):
                    step(*given(k))
                eager(n, o, range(3))
                self.assertLess(worst(step, n), 1e-3 if name == "Muon" else 1e-12, (name, options))
            for ignore in (i for i in ignored if i in own):
                rt.compile(m := model(), F.cross_entropy, given(0), self.of(name, **{ignore: True})(m.parameters()), check=False)
            for refuse in (r for r in re.findall(r"`(\w+)`", refused) if r in own):
                with self.assertRaisesRegex(rt.Unsupported, f"{name} with {refuse}"):
                    rt.compile(m := model(), F.cross_entropy, given(0), self.of(name, **{refuse: True})(m.parameters()), check=False)

    def test_each_schedule_is_pytorchs(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        s = O.lr_scheduler
        schedules = {
            "LambdaLR": lambda o: s.LambdaLR(o, lambda k: 0.9 ** k), "MultiplicativeLR": lambda o: s.MultiplicativeLR(o, lambda k: 0.9),
            "StepLR": lambda o: s.StepLR(o, 2), "MultiStepLR": lambda o: s.MultiStepLR(o, [1, 3]), "ConstantLR": lambda o: s.ConstantLR(o, 0.5, 2),
            "LinearLR": lambda o: s.LinearLR(o, 0.1, total_iters=3), "ExponentialLR": lambda o: s.ExponentialLR(o, 0.9),
            "PolynomialLR": lambda o: s.PolynomialLR(o, 4), "CosineAnnealingLR": lambda o: s.CosineAnnealingLR(o, 4),
            "CosineAnnealingWarmRestarts": lambda o: s.CosineAnnealingWarmRestarts(o, 2), "CyclicLR": lambda o: s.CyclicLR(o, 0.01, 0.1, step_size_up=3),
            "SequentialLR": lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2]),
            "ChainedScheduler": lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
            "OneCycleLR": lambda o: s.OneCycleLR(o, 0.1, total_steps=80), "SWALR": lambda o: O.swa_utils.SWALR(o, 0.05, 3)}
        known = {n for n, c in vars(s).items() if isinstance(c, type) and issubclass(c, s.LRScheduler) and n[0] != "_"} - {"LRScheduler"}
        self.assertLessEqual(known, {*schedules, "ReduceLROnPlateau"})
        for name, schedule in schedules.items():
            for kind in (self.of("AdamW", lr=0.05), self.of("SGD", lr=0.05, momentum=0.9)):
                m, n = model(), model()
                o, p = kind(m.parameters()), kind(n.parameters())
                a, b = schedule(o), schedule(p)
                step = rt.compile(m, F.cross_entropy, given(0), o, check=False)
                for k in range(70 if name == "OneCycleLR" else 5):
                    step(*given(k))
                    a.step()
                eager(n, p, range(70 if name == "OneCycleLR" else 5), b)
                self.assertLess(worst(step, n), 1e-12, name)
                self.assertEqual(step.programs, 1, name)

    def test_a_momentum_that_moves_is_pytorchs(self):
        """By hand, and of each optimizer that has one; by CyclicLR with a gradient that is clipped, and in a checkpoint."""
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)

        def move(o, k):
            for g in o.param_groups:
                g.update({"betas": (0.5 + 0.1 * (k % 4), g["betas"][1])} if "betas" in g else {"momentum": 0.5 + 0.1 * (k % 4)})
        for name, options in (("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adam", {}),
                              ("SGD", {"momentum": 0.9, "dampening": 0.5, "maximize": True}), ("AdamW", {"amsgrad": True}), ("AdamW", {}),
                              ("RMSprop", {"momentum": 0.5}), ("RMSprop", {"momentum": 0.5, "centered": True}), ("NAdam", {}), ("RAdam", {}), ("Adamax", {})):
            m, n = model(), model()
            o, p = (self.of(name, lr=0.02, **options)(k.parameters()) for k in (m, n))
            step = rt.compile(m, F.cross_entropy, given(0), o, check=False)
            for k in range(6):
                step(*given(k))
                eager(n, p, [k])
                move(o, k), move(p, k)
            self.assertLess(worst(step, n), 1e-12, (name, options))
            self.assertEqual(step.programs, 2)
        with self.assertRaisesRegex(rt.Unsupported, "another second beta"):
            o.param_groups[0]["betas"] = (0.5, 0.5)
            step(*given(0))

    def test_a_momentum_that_moves_to_another_kind_of_number(self):
        for name, options, last in (("SGD", {"momentum": 0.9}, -0.5), ("RMSprop", {"momentum": 0.9}, -0.5), ("Adam", {}, torch.tensor(0.5))):
            m, n = model(), model()
            o, p = (self.of(name, lr=0.02, **options)(k.parameters()) for k in (m, n))
            step = rt.compile(m, F.cross_entropy, given(0), o, check=False)

            def move(b):
                for g in (*o.param_groups, *p.param_groups):
                    g.update({"betas": (b, g["betas"][1])} if "betas" in g else {"momentum": b})
            for k, b in enumerate((np.float64(0.6), np.float32(0.7), 0.8)):
                move(b)
                step(*given(k))
                eager(n, p, [k])
            self.assertLess(worst(step, n), 1e-5, name)
            with self.assertRaisesRegex(rt.Unsupported, "no number" if "betas" in o.param_groups[0] else "or less"):
                move(last)
                step(*given(0))

    def test_records_with_a_momentum_that_moves_replay(self):
        m = model()
        o = O.AdamW(m.parameters(), 0.01)
        schedule = O.lr_scheduler.OneCycleLR(o, 0.1, total_steps=20)
        step = rt.compile(m, F.cross_entropy, given(0), o)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.reprise")
            with rt.record(path, seed=1):
                for k in range(4):
                    step(*given(k)), schedule.step()
            self.assertTrue(reprise.replay(path))


class Scaled(nn.Module):
    """With parameters of two, one and no axes."""

    def __init__(self):
        super().__init__()
        self.first, self.last, self.scale = nn.Linear(4, 8), nn.Linear(8, 3), nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)) * self.scale)


def model():
    torch.manual_seed(0)
    return Scaled()


def given(k):
    torch.manual_seed(1 + k)
    return torch.randn(5, 4), torch.randint(0, 3, (5,))


def eager(m, o, steps, schedule=None, every=1, clip=lambda p: None):
    """Steps of PyTorch's own, of the batches of these numbers."""
    for k in steps:
        if k % every == 0:
            o.zero_grad()
        (F.cross_entropy(m(given(k)[0]), given(k)[1]) / every).backward()
        if k % every == every - 1:
            clip(m.parameters())
            o.step()
        if schedule:
            schedule.step()


def worst(step, m):
    """How far a step's parameters are from a module's, relative to the largest of each."""
    return max(float((torch.from_numpy(np.array(step.state[n])) - p.detach()).abs().max() / p.detach().abs().max())
               for n, p in m.named_parameters())


def compiled(m, o, k=0, **options):
    """Without the comparison of first gradients, which is not what is tested here."""
    return rt.compile(m, F.cross_entropy, given(k), o, check=False, **options)


def bits(step):
    return {n: np.array(v).tobytes() for n, v in step.state.items()}


def kept(o):
    """A checkpoint's, by way of a file."""
    file = io.BytesIO()
    torch.save(o.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


class Binary64(unittest.TestCase):
    def setUp(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)


class Updates(Binary64):
    def test_each_is_pytorchs_in_binary64_with_rates_that_change(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                m, n = model(), model()
                o, p = make(list(m.parameters())), make(list(n.parameters()))
                step = compiled(m, o)
                schedules = [O.lr_scheduler.StepLR(k, 2, 0.7) for k in (o, p)]
                eager(n, p, range(9), schedules[1])
                for k in range(9):
                    step(*given(k))
                    schedules[0].step()
                self.assertLess(worst(step, n), 1e-14)
                self.assertEqual(step.programs, 1)

    def test_each_is_pytorchs_in_binary32(self):
        torch.set_default_dtype(torch.float32)
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                m, n = model(), model()
                step = compiled(m, make(list(m.parameters())))
                eager(n, make(list(n.parameters())), range(7))
                for k in range(7):
                    step(*given(k))
                self.assertLess(worst(step, n), 5e-6)

    def test_each_takes_the_short_way(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                steps = []
                for way in range(2):
                    m = model()
                    step = compiled(m, make(list(m.parameters())))
                    if way:
                        step._teach = lambda *a: None
                    step(*given(0)), step(*given(1))
                    with short(self, step) if not way else tempfile.TemporaryDirectory():
                        [step(*given(k)) for k in range(4)]
                    steps.append(step)
                self.assertEqual(bits(steps[0]), bits(steps[1]))

    def test_parameters_without_a_gradient_have_their_own_count(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.v, self.w, self.both = nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor([2.0, 1.0])), True

            def forward(self, x):
                return (self.v * x).sum() ** 2 + ((self.w * x).sum() ** 2 if self.both else 0)
        x = torch.tensor([0.5, -1.0])
        for kind in (O.NAdam, O.RAdam, O.Adamax, O.ASGD, O.Rprop):
            m, n = Two(), Two()
            o, p = (kind([{"params": [k.v]}, {"params": [k.w]}], lr=0.1) for k in (m, n))
            step = rt.compile(m, example=(x,), optimizer=o)
            for both in (False, True, True, False, True):
                m.both = n.both = both
                step(x)
                p.zero_grad()
                n(x).backward()
                p.step()
            self.assertLess(worst(step, n), 1e-14, kind)

    def test_a_rate_that_changes_before_the_first_step_is_where_it_begins(self):
        for make in (lambda p: O.Rprop(p, 0.01), lambda p: O.ASGD(p, 0.01)):
            m, n = model(), model()
            o, p = make(m.parameters()), make(n.parameters())
            step = compiled(m, o)
            o.param_groups[0]["lr"] = p.param_groups[0]["lr"] = 0.03
            eager(n, p, range(3))
            [step(*given(k)) for k in range(3)]
            self.assertLess(worst(step, n), 1e-14)

    def test_a_record_of_an_update_in_single_operations_replays(self):
        with tempfile.TemporaryDirectory() as folder:
            m = model()
            path = os.path.join(folder, "a.reprise")
            step = compiled(m, O.RAdam(m.parameters(), 0.02), clip_norm=0.5, accumulate=2)
            with rt.record(path):
                [step(*given(k)) for k in range(5)]
            self.assertTrue(reprise.replay(path))


class Checkpoints(Binary64):
    def test_a_run_that_resumes_is_one_that_was_not_interrupted(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                m, n, through = model(), model(), model()
                q = make(list(through.parameters()))
                whole = compiled(through, q)
                [whole(*given(k)) for k in range(6)]
                step = compiled(m, o := make(list(m.parameters())))
                [step(*given(k)) for k in range(3)]
                step.copy_to(m)
                weights, moments = copy.deepcopy(m.state_dict()), kept(o)
                r = make(list(n.parameters()))
                n.load_state_dict(weights)
                r.load_state_dict(moments)
                again = compiled(n, r, k=3)
                [again(*given(k)) for k in range(3, 6)]
                self.assertEqual(bits(again), bits(whole))
                self.assertEqual(again.optimizer.steps_of("last.weight"), whole.optimizer.steps_of("last.weight")
                                 if whole.optimizer.of.tells else again.optimizer.steps_of("last.weight"))

    def test_pytorch_goes_on_from_our_moments_and_has_the_same_ones(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                m, n = model(), model()
                o, p = make(list(m.parameters())), make(list(n.parameters()))
                step = compiled(m, o)
                [step(*given(k)) for k in range(4)]
                eager(n, p, range(4))
                mine, theirs = o.state_dict(), p.state_dict()
                self.assertEqual(mine["param_groups"], theirs["param_groups"])
                self.assertEqual(mine["state"].keys(), theirs["state"].keys())
                for k, state in theirs["state"].items():
                    state = {a: b for a, b in state.items() if b is not None}
                    self.assertEqual(mine["state"][k].keys(), state.keys(), k)
                    for moment, t in state.items():
                        torch.testing.assert_close(mine["state"][k][moment], t, rtol=1e-12, atol=1e-15, msg=moment)
                        self.assertEqual(mine["state"][k][moment].shape, t.shape)
                step.copy_to(m)
                eager(m, o, range(4, 7))
                eager(n, p, range(4, 7))
                for a, b in zip(m.parameters(), n.parameters()):
                    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)

    def test_we_go_on_from_pytorchs_moments(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                m, n = model(), model()
                o, p = make(list(m.parameters())), make(list(n.parameters()))
                eager(m, o, range(4))
                eager(n, p, range(7))
                step = compiled(m, o)
                [step(*given(k)) for k in range(4, 7)]
                self.assertLess(worst(step, n), 1e-14)

    def test_draws_go_on_with_a_pair_as_the_seed(self):
        m, n = mlp(0.5), mlp(0.5)
        whole = compiled(n, O.Adam(n.parameters(), 0.1), seed=5)
        [whole(*given(k)) for k in range(4)]
        step = compiled(m, o := O.Adam(m.parameters(), 0.1), seed=5)
        [step(*given(k)) for k in range(2)]
        step.copy_to(m)
        o.state_dict()
        again = compiled(m, o, seed=np.array(step.state["rng"]))
        [again(*given(k)) for k in range(2, 4)]
        self.assertEqual(bits(again), bits(whole))

    def test_moments_that_were_read_stay_what_they_were(self):
        m = model()
        o = O.Adam(m.parameters(), 0.1)
        step = compiled(m, o)
        self.assertEqual(o.state_dict()["state"], {})  # as PyTorch's before a step
        step(*given(0))
        one = o.state_dict()
        was = copy.deepcopy(one)
        [step(*given(k)) for k in range(3)]
        self.assertEqual([float(s["step"]) for s in (one["state"][0], o.state_dict()["state"][0])], [1.0, 4.0])
        self.assertTrue(torch.equal(one["state"][0]["exp_avg"], was["state"][0]["exp_avg"]))

    def test_a_step_goes_on_after_its_moments_were_read_by_the_short_way(self):
        m = model()
        o = O.Adam(m.parameters(), 0.1)
        step = compiled(m, o)
        step(*given(0)), step(*given(1))
        o.state_dict()
        with short(self, step):
            step(*given(2))

    def test_an_optimizer_that_is_loaded_later_is_taken_by_load(self):
        m, n = model(), model()
        o, p = O.AdamW(m.parameters(), 0.05), O.AdamW(n.parameters(), 0.05)
        step = compiled(m, o)
        step(*given(0))
        eager(n, p, range(4))
        m.load_state_dict(n.state_dict())
        o.load_state_dict(copy.deepcopy(p.state_dict()))
        self.assertEqual(float(o.state_dict()["state"][0]["step"]), 4.0)  # what was loaded, and not the step's
        with self.assertRaisesRegex(rt.Unsupported, r"loaded after compile.*step.load\(\) takes"):
            step(*given(4))
        step.load()
        [step(*given(k)) for k in range(4, 7)]
        eager(n, p, range(4, 7))
        self.assertLess(worst(step, n), 1e-14)
        self.assertEqual(float(o.state_dict()["state"][0]["step"]), 7.0)

    def test_moments_that_are_gone_are_an_error_until_they_are_loaded(self):
        m, n = model(), model()
        o, p = O.Adam(m.parameters(), 0.05), O.Adam(n.parameters(), 0.05)
        step = compiled(m, o)
        [step(*given(k)) for k in range(3)]
        step.copy_to(m)
        step(*given(3))
        eager(n, p, range(4))
        o.state.clear(), p.state.clear()
        for _ in range(2):
            with self.assertRaisesRegex(rt.Unsupported, r"lost moments after compile.*step.load\(\) takes"):
                step(*given(4))
        m.load_state_dict({k: v.detach() for k, v in zip(m.state_dict(), n.state_dict().values())})
        step.load()
        [step(*given(k)) for k in range(4, 7)]
        eager(n, p, range(4, 7))
        self.assertLess(worst(step, n), 1e-14)

    def test_a_parameter_that_goes_over_into_another_group(self):
        m, n = model(), model()
        o, p = (O.SGD([{"params": list(q.parameters())[:3], "lr": 0.1}, {"params": list(q.parameters())[3:], "lr": 0.5}]) for q in (m, n))
        step = compiled(m, o)
        [step(*given(k)) for k in range(3)]
        eager(n, p, range(3))
        for k in (o, p):  # the order of all parameters is what it was
            k.param_groups[1]["params"].insert(0, k.param_groups[0]["params"].pop())
        [step(*given(k)) for k in range(3, 6)]
        eager(n, p, range(3, 6))
        self.assertLess(worst(step, n), 1e-14)

    def test_parameters_of_two_types_have_groups_of_their_own(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = (nn.Parameter(torch.ones(3, dtype=d)) for d in (torch.float32, torch.float64))

            def forward(self, x):
                return (self.a * x).sum().double() + (self.b * x).square().sum()
        x = torch.ones(3, dtype=torch.float32)
        for kind in (torch.optim.SGD, torch.optim.Adam):
            m, eager = Two(), Two()
            with self.assertRaisesRegex(rt.Unsupported, "several types in group 0 of the optimizer"):
                rt.compile(m, None, (x,), kind(m.parameters(), 0.1))
            step = rt.compile(m, None, (x,), kind([{"params": [m.a]}, {"params": [m.b]}], 0.1))
            o = kind([{"params": [eager.a]}, {"params": [eager.b]}], 0.1)
            for _ in range(3):
                loss = eager(x)
                self.assertAlmostEqual(float(step(x)), float(loss.detach()), delta=1e-6)
                o.zero_grad()
                loss.backward()
                o.step()

    def test_what_is_refused_is_refused_again(self):
        def hook(*_):
            pass
        m = model()
        o = O.Adam(m.parameters(), 0.05)
        step, hooks, group = compiled(m, o), [], o.param_groups[0]
        step(*given(0)), step(*given(1))
        before = bits(step)
        for bad, good in ((lambda: group.update(differentiable=True), lambda: group.update(differentiable=False)),
                          (lambda: group.update(eps=torch.tensor(1.0)), lambda: group.update(eps=1e-8)),
                          (lambda: hooks.append(o.register_step_post_hook(hook)), lambda: hooks.pop().remove())):
            bad()
            for _ in range(3):
                with self.assertRaises(rt.Unsupported):
                    step(*given(2))
            self.assertEqual(bits(step), before)
            good()
        step(*given(2))
        self.assertNotEqual(bits(step), before)

    def test_pytorch_and_steps_by_turns(self):
        m, n = model(), model()
        o, p = O.Adam(m.parameters(), 0.05), O.Adam(n.parameters(), 0.05)
        step = compiled(m, o)
        eager(m, o, range(2))
        step.load()  # before it has made a step
        [step(*given(k)) for k in range(2, 4)]
        step.copy_to(m)
        eager(m, o, range(4, 6))
        self.assertEqual(float(o.state_dict()["state"][0]["step"]), 6.0)  # PyTorch's own, which the step's must not replace
        step.load()
        [step(*given(k)) for k in range(6, 8)]
        eager(n, p, range(8))
        self.assertLess(worst(step, n), 1e-14)
        mine, theirs = o.state_dict()["state"], p.state_dict()["state"]
        for k in theirs:
            for moment in theirs[k]:
                torch.testing.assert_close(mine[k][moment], theirs[k][moment], rtol=1e-12, atol=1e-15)

    def test_what_made_no_step_has_no_moments(self):
        m = Line(lambda m, x: (m.w * x).sum() ** 2 + ((m.v * x).sum() ** 2 if m.k else 0)).double()
        m.v = nn.Parameter(torch.tensor([1.0, 0.5, 0.25]))
        o = O.Adam([{"params": [m.w]}, {"params": [m.v]}], 0.1)
        step = rt.compile(m, example=(X.double(),), optimizer=o, check=False)
        m.k = 0
        step(X.double())
        self.assertEqual(list(o.state_dict()["state"]), [0])

    def test_two_steps_of_one_optimizer(self):
        m = model()
        o = O.Adam(m.parameters(), 0.1)
        first, second = compiled(m, o), compiled(m, o)
        first(*given(0)), second(*given(1))
        found = o.state_dict()["state"][0]["exp_avg"].numpy().tobytes()
        name = "optim.m." + next(n for n, _ in m.named_parameters())
        self.assertEqual(found, np.array(second.state[name]).tobytes())
        self.assertNotEqual(found, np.array(first.state[name]).tobytes())

    def test_parameters_with_other_counts_resume(self):
        m = Line(lambda m, x: (m.w * x).sum() ** 2 + ((m.v * x).sum() ** 2 if m.k else 0))
        m.v = nn.Parameter(torch.tensor([1.0, 0.5, 0.25]))
        groups = lambda m: O.Adam([{"params": [m.w]}, {"params": [m.v]}], 0.1)
        n, x = copy.deepcopy(m), X.double()
        m.double(), n.double()
        o, p = groups(m), groups(n)

        def steps(k, flags):
            for m.k in flags:
                k(x)

        def theirs(flags):
            for n.k in flags:
                p.zero_grad()
                n(x).backward()
                p.step()
        step = rt.compile(m, example=(x,), optimizer=o)
        steps(step, (1, 0, 0))
        step.copy_to(m)
        fresh = groups(m)
        fresh.load_state_dict(kept(o))
        self.assertEqual([float(s["step"]) for s in fresh.state.values()], [3.0, 1.0])
        m.k = 1
        again = rt.compile(m, example=(x,), optimizer=fresh)
        steps(again, (1, 1))
        theirs((1, 0, 0, 1, 1))
        self.assertLess(worst(again, n), 1e-14)

    def test_an_optimizer_has_one_hook(self):
        m = model()
        o = O.Adam(m.parameters(), 0.1)
        [compiled(m, o) for _ in range(3)]
        self.assertEqual(len(o._optimizer_state_dict_pre_hooks), 1)


class Clipping(Binary64):
    def beside(self, clip, make=lambda p: O.SGD(p, 0.5, momentum=0.9), **options):
        m, n = model(), model()
        step = compiled(m, make(m.parameters()), **options)
        eager(n, make(n.parameters()), range(6), clip=clip)
        [step(*given(k)) for k in range(6)]
        self.assertLess(worst(step, n), 1e-13, options)
        free = compiled(f := model(), make(f.parameters()))
        [free(*given(k)) for k in range(6)]
        return worst(free, n)

    def test_norms_are_pytorchs(self):
        for kind in (2.0, 1.0, 3.0, math.inf):
            far = self.beside(lambda p: clip_grad_norm_(p, 0.2, kind), clip_norm=0.2, norm_type=kind)
            self.assertGreater(far, 1e-3, "nothing was clipped")
        self.assertLess(self.beside(lambda p: clip_grad_norm_(p, 1e6), clip_norm=1e6), 1e-13)

    def test_values_are_pytorchs(self):
        self.assertGreater(self.beside(lambda p: clip_grad_value_(p, 0.02), clip_value=0.02), 1e-3)

    def test_gradients_without_end(self):
        for clip, options in ((lambda p: clip_grad_norm_(p, 0.5), {"clip_norm": 0.5}), (lambda p: clip_grad_value_(p, 0.5), {"clip_value": 0.5})):
            for bad in (math.inf, math.nan):
                m, x = Line(lambda m, x: (m.w * x).sum()).double(), torch.tensor([bad, 1.0, -2.0])
                n = copy.deepcopy(m)
                step = rt.compile(m, example=(x,), optimizer=O.SGD(m.parameters(), 0.1), check=False, **options)
                step(x)
                n(x).backward()
                clip(n.parameters())
                O.SGD(n.parameters(), 0.1).step()
                np.testing.assert_array_equal(np.array(step.state["w"]), n.w.detach().numpy())

    def test_what_is_no_clipping_is_refused(self):
        m = model()
        for options, why in (({"clip_norm": -1.0}, "0 or more"), ({"clip_norm": "1"}, "a number"), ({"clip_value": math.nan}, "0 or more"),
                             ({"clip_norm": 1.0, "clip_value": 1.0}, "not both"), ({"clip_norm": 1.0, "norm_type": 0}, "norm_type is 0"),
                             ({"accumulate": 0}, "1 or more"), ({"accumulate": 1.5}, "1 or more")):
            with self.assertRaisesRegex((TypeError, ValueError), why):
                compiled(m, O.SGD(m.parameters(), 0.1), **options)

    def test_pytorchs_clipping_of_a_steps_parameters_is_an_error(self):
        m = model()
        step = compiled(m, O.SGD(m.parameters(), 0.1))
        step(*given(0))
        for call in (lambda: clip_grad_norm_(m.parameters(), 1.0), lambda: clip_grad_value_(m.scale, 1.0),
                     lambda: nn.utils.clip_grad_norm_(parameters=m.parameters(), max_norm=1.0)):
            with self.assertRaisesRegex(rt.Unsupported, "of parameters that a compiled step trains.*clip_norm="):
                call()
        n = model()  # another's are PyTorch's own
        self.assertEqual(float(clip_grad_norm_(n.parameters(), 1.0)), 0.0)
        F.cross_entropy(m(given(0)[0]), given(0)[1]).backward()  # and so are the step's own, where they have gradients
        self.assertGreater(float(clip_grad_norm_(m.parameters(), 1e-3)), 1e-3)
        self.assertLess(float(clip_grad_norm_(m.parameters(), 1.0)), 1.1e-3)


class Batches(Binary64):
    def test_a_step_of_several_batches_is_pytorchs(self):
        for make in (lambda p: O.SGD(p, 0.5, momentum=0.9), lambda p: O.AdamW(p, 0.05), lambda p: O.RAdam(p, 0.05)):
            for every in (2, 3):
                m, n = model(), model()
                step = compiled(m, make(m.parameters()), accumulate=every, clip_norm=0.3)
                eager(n, make(n.parameters()), range(9), every=every, clip=lambda p: clip_grad_norm_(p, 0.3))
                losses = [float(step(*given(k))) for k in range(9)]
                self.assertLess(worst(step, n), 1e-13)
                self.assertEqual(step.optimizer.steps, 9 // every)
                self.assertAlmostEqual(losses[0], float(F.cross_entropy(model()(given(0)[0]), given(0)[1])), places=12)
                self.assertEqual(step.programs, 2)

    def test_the_short_way_takes_them(self):
        steps = []
        for way in range(2):
            m = model()
            step = compiled(m, O.Adam(m.parameters(), 0.05), accumulate=3)
            if way:
                step._teach = lambda *a: None
            [step(*given(k)) for k in range(6)]
            with short(self, step) if not way else tempfile.TemporaryDirectory():
                [step(*given(k)) for k in range(8)]
            steps.append(step)
        self.assertEqual(bits(steps[0]), bits(steps[1]))
        self.assertEqual((steps[0].optimizer.turn, steps[0].optimizer.steps, steps[0].optimizer.made),
                         (steps[1].optimizer.turn, steps[1].optimizer.steps, steps[1].optimizer.made))
        self.assertEqual((steps[0].optimizer.turn, steps[0].optimizer.steps), (2, 4))

    def test_batch_norm_and_dropout_move_with_each_batch(self):
        torch.manual_seed(0)
        m = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
        n = copy.deepcopy(m)
        step = compiled(m, O.SGD(m.parameters(), 0.1), accumulate=2)
        eager(n, O.SGD(n.parameters(), 0.1), range(5), every=2)
        [step(*given(k)) for k in range(5)]
        self.assertLess(worst(step, n), 1e-12)
        torch.testing.assert_close(torch.from_numpy(np.array(step.state["1.running_mean"])), n[1].running_mean)
        self.assertEqual(int(np.array(step.state["1.num_batches_tracked"])), 5)
        drops = rt.compile(d := mlp(0.5), F.cross_entropy, given(0), O.SGD(d.parameters(), 0.1), accumulate=2)
        [drops(*given(0)) for _ in range(3)]
        self.assertEqual(np.array(drops.state["rng"]).tolist(), [0, 3])

    def test_other_shapes_and_a_record_in_the_middle(self):
        m, n = model(), model()
        small = lambda k: tuple(t[:3] for t in given(k))
        step = compiled(m, O.SGD(m.parameters(), 0.1), accumulate=2)
        o = O.SGD(n.parameters(), 0.1)
        batches = [given(0), small(1), small(2), given(3), given(4), small(5)]
        for k, (x, y) in enumerate(batches):
            (F.cross_entropy(n(x), y) / 2).backward()
            if k % 2:
                o.step()
                o.zero_grad()
        [step(*b) for b in batches[:3]]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.reprise")
            with rt.record(path):
                [step(*b) for b in batches[3:]]
            self.assertTrue(reprise.replay(path))
        self.assertLess(worst(step, n), 1e-13)

    def test_other_parameters_in_the_middle_of_a_step_are_refused(self):
        m = model()
        step = compiled(m, O.SGD(m.parameters(), 0.1), accumulate=2)
        step(*given(0))
        m.scale.requires_grad_(False)
        with self.assertRaisesRegex(rt.Unsupported, "gradients of other parameters than those before"):
            step(*given(1))
        m.scale.requires_grad_(True)
        step(*given(1))
        m.scale.requires_grad_(False)
        was = float(np.array(step.state["scale"]))
        [step(*given(k)) for k in range(2)]
        self.assertEqual(float(np.array(step.state["scale"])), was)


if __name__ == "__main__":
    unittest.main()
