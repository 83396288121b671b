# SPDX-License-Identifier: Apache-2.0
"""Steps that share parameters, and who reads a module whose steps it does not have: each case was silently another run before."""
import copy
import importlib.util
import pickle
import sys
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

import reprise.torch as rt
from torch_small import batch, mlp, sgd


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
