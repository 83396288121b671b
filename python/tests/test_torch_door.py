# SPDX-License-Identifier: Apache-2.0
"""The short way of a compiled step: it has the bits of the long way, is taken where nothing changed, and sees whatever has changed.
Without a guard each of these would go on with what was, in silence."""
import collections
import contextlib
import copy
import gc
import importlib.util
import os
import sys
import tempfile
import threading
import unittest
import weakref

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
from torch_small import X, Line, batch, mlp, sgd

SHORT = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
SCALE = 1.0


def pixels():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(48, 3))


def bits(step):
    return {n: np.array(v).tobytes() for n, v in step.state.items()}


def made(make=mlp, optimizer=sgd, loss=F.cross_entropy, given=None, **options):
    """A step, and one that always takes the long way, of modules alike: (step, module, optimizer) of each."""
    found = []
    for k in range(2):
        m = make()
        o = optimizer(m)
        step = rt.compile(m, loss, given or batch(), o, check=False, **options)
        if k:
            step._teach = lambda *a: None
        found.append((step, m, o))
    return found


@contextlib.contextmanager
def short(test, step):
    """Inside all steps have to take the short way."""
    if not SHORT:  # a PyTorch without the table of calls: all is the long way
        yield
        return

    def long(*a):
        test.fail("a step took the long way")
    step._long = long
    try:
        yield
    finally:
        del step._long


class Bits(unittest.TestCase):
    def alike(self, optimizer, change=lambda o, k: None, **options):
        (a, _, o), (b, _, p) = made(optimizer=optimizer, **options)
        a(*batch()), b(*batch())
        for k in range(12):
            change(o, k), change(p, k)
            with short(self, a):
                found = a(*batch())
            self.assertEqual(float(found), float(b(*batch())))
        self.assertEqual(bits(a), bits(b))
        self.assertEqual((a.optimizer.steps, a.optimizer.made), (b.optimizer.steps, b.optimizer.made))

    def test_of_each_optimizer_and_of_rates_that_change(self):
        def groups(m):
            return [{"params": m[0].parameters(), "weight_decay": 0.1}, {"params": m[3].parameters(), "lr": 0.05}]

        def rate(o, k):
            o.param_groups[0]["lr"] = 0.1 / (k + 1)
        for make in (lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.9), lambda m: torch.optim.Adam(groups(m), 0.01),
                     lambda m: torch.optim.AdamW(m.parameters(), 0.01, betas=(0.7, 0.97)),
                     lambda m: torch.optim.RMSprop(m.parameters(), 0.01), lambda m: torch.optim.Adagrad(groups(m), 0.1, lr_decay=0.1)):
            self.alike(make)
            self.alike(make, rate)

    def test_of_dropout(self):
        self.alike(sgd, make=lambda: mlp(0.5))

    def test_of_binary64(self):
        (a, _, _), (b, _, _) = made(lambda: mlp().double(), lambda m: torch.optim.Adam(m.parameters(), 0.1),
                                    given=(batch()[0].double(), batch()[1]))
        x, y = batch()[0].double(), batch()[1]
        a(x, y), b(x, y)
        for _ in range(3):
            with short(self, a):
                a(x, y)
            b(x, y)
        self.assertEqual(bits(a), bits(b))

    def test_of_a_schedule(self):
        (a, _, o), (b, _, p) = made(optimizer=lambda m: torch.optim.Adam(m.parameters(), 0.1))
        s, q = (torch.optim.lr_scheduler.ExponentialLR(k, 0.5) for k in (o, p))
        for _ in range(5):
            a(*batch()), b(*batch())
            s.step(), q.step()
        with short(self, a):
            a(*batch())
        b(*batch())
        self.assertEqual(bits(a), bits(b))

    def test_of_a_rate_that_each_way_had_once(self):
        (a, _, o), (b, _, p) = made()
        x, y = batch()
        wide = torch.cat([x, x], 1)[:, :4]  # not contiguous
        for lr, given in ((0.1, x), (0.1, x), (0.2, x), (0.1, wide), (0.2, x), (0.2, wide)):
            o.param_groups[0]["lr"] = p.param_groups[0]["lr"] = lr
            a(given, y), b(given, y)
        self.assertEqual(bits(a), bits(b))

    def test_of_two_shapes_in_turn(self):
        (a, _, _), (b, _, _) = made(optimizer=lambda m: torch.optim.Adam(m.parameters(), 0.1))
        for rows in (5, 2, 5, 2):
            a(*batch(rows)), b(*batch(rows))
        for rows in (2, 5, 5, 2):
            with short(self, a):
                a(*batch(rows))
            b(*batch(rows))
        self.assertEqual(bits(a), bits(b))
        self.assertEqual(a.programs, 2)


class Feeds(unittest.TestCase):
    def both(self, *given, make=mlp, first=None, loss=F.cross_entropy):
        """One step of a batch after steps of another, by both ways."""
        (a, _, _), (b, _, _) = made(make, given=first, loss=loss)
        for step in (a, b):
            for _ in range(2):
                step(*(first or batch()))
        with short(self, a):
            a(*(first or batch()))
        b(*(first or batch()))
        self.assertEqual(float(a(*given)), float(b(*given)))
        self.assertEqual(bits(a), bits(b))
        return a

    def test_elements_in_another_order_are_read_in_theirs(self):
        x, y = batch(4)
        self.both(x.t(), y, first=(x, y))
        self.both(torch.stack([x, -x], 2)[:, :, 1], y, first=(x, y))
        self.both(x[:1].expand(4, 4), y, first=(x, y))
        images = torch.randn(2, 3, 4, 4)
        self.both(images.to(memory_format=torch.channels_last), y[:2], first=(images, y[:2]),
                  make=pixels)

    def test_a_part_of_a_tensor_begins_where_it_begins(self):
        x, y = batch(9)
        self.both(x[4:], y[4:])

    def test_another_type_is_another_program(self):
        a = self.both(X.double(), make=lambda: Line(lambda m, x: (m.w * x).sum()), first=(X,), loss=None)
        self.assertEqual(a.programs, 2)
        a = self.both(X.to(torch.int32), make=lambda: Line(lambda m, x: (m.w * x).sum()), first=(X,), loss=None)
        self.assertEqual(a.programs, 2)

    def test_another_shape_of_as_many_elements_is_another_program(self):
        f = lambda m, x: (m.w * x.sum(0)).sum()
        a = self.both(torch.arange(6.0).view(2, 3), make=lambda: Line(lambda m, x: (m.w * x[0]).sum()),
                      first=(torch.arange(6.0).view(1, 6)[:, :3].clone(),), loss=None)
        self.assertEqual(a.programs, 2)
        a = self.both(torch.arange(12.0).view(4, 3), make=lambda: Line(f), first=(torch.arange(12.0).view(2, 2, 3).sum(1),), loss=None)
        self.assertEqual(a.programs, 2)

    def test_batches_with_gradients_are_read(self):
        x, y = batch()
        self.both(x.clone().requires_grad_(), y)
        self.both(nn.Parameter(x.clone()), y)
        self.both((x.clone().requires_grad_() * 2), y)

    def test_arrays_lists_and_numbers_are_the_long_ways(self):
        x, y = batch()
        self.both(x.numpy(), y.numpy())
        (a, _, _), (b, _, _) = made(Two, given=(X, 2.0), loss=None)
        for k in (2.0, 2.0, 3.0):
            self.assertEqual(float(a(X, k)), float(b(X, k)))

    def test_what_is_the_negative_of_its_memory_is_not_read_as_it_lies(self):
        (a, _, _), (b, _, _) = made()
        x, y = batch()
        for step in (a, b):
            step(x, y), step(x, y)
        for given in ((torch._neg_view(x), y), (x, torch._neg_view(-y))):
            self.assertEqual(float(a(*given)), float(b(*(t.resolve_neg() for t in given))))
        self.assertEqual(bits(a), bits(b))

    def test_a_batch_may_change_and_go_when_the_step_is_made(self):
        (a, _, _), (b, _, _) = made()
        y = batch()[1]
        kept = []
        for k in range(6):
            x = torch.full((5, 4), float(k))
            kept.append((a(x, y), float(b(torch.full((5, 4), float(k)), y))))
            x.fill_(float("nan"))
            del x
            gc.collect()
        self.assertEqual([float(found) for found, _ in kept], [expected for _, expected in kept])
        self.assertEqual(bits(a), bits(b))

    def test_too_few_and_too_many_are_refused(self):
        (a, _, _), _ = made()
        x, y = batch()
        a(x, y), a(x, y)
        before = bits(a)
        for given in ((x,), (x, y, y), (y, x), ()):
            with self.assertRaises(Exception):
                a(*given)
        with self.assertRaisesRegex(TypeError, "by position, or by name"):
            a(x, y, target=y)
        self.assertEqual(bits(a), before)
        a(x, y)  # what was refused was exported first, for which PyTorch registers hooks
        with short(self, a):
            a(x, y), a(*(x, y), **{})


class Two(nn.Module):
    """What a forward may burn in: an attribute, a list, settings, a buffer, a variable of its module and one of a closure."""

    def __init__(self):
        super().__init__()
        self.v, self.w = nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("t", torch.tensor(1.0))
        self.k, self.both, self.inner = [1.0, [2.0]], True, {"a": 1.0}

    def forward(self, a, k=1.0):
        y = (self.v * a).sum() * self.k[0] * self.t * self.k[1][0] * self.inner["a"] * k
        y = y * 2 if self.training else y
        return (y + (self.w * a).sum() if self.both else y) * SCALE


class Changes(unittest.TestCase):
    """After steps by the short way each change is seen by the next."""

    def seen(self, change, optimizer=sgd, loss=lambda y, k: y * k.sum(), undo=lambda: None):
        found = []
        for step, m, o in made(Two, optimizer, loss=loss, given=(X, X)):
            undo()
            for _ in range(3):
                step(X, X)
            if not found:
                with short(self, step):
                    step(X, X)
            else:
                step(X, X)
            change(m, o)
            losses = [float(step(X, X)) for _ in range(3)]
            found.append((losses, bits(step), step.programs))
        self.assertEqual(found[0], found[1])
        return found[0]

    def test_numbers_of_modules(self):
        for change in (lambda m, o: setattr(m, "both", False), lambda m, o: m.k.__setitem__(0, 3.0), lambda m, o: m.k[1].append(3.0),
                       lambda m, o: m.k[1].__setitem__(0, 5.0), lambda m, o: m.inner.__setitem__("a", 2.0),
                       lambda m, o: setattr(m, "k", [4.0, [2.0]]), lambda m, o: setattr(m, "k", (1.0, [2.0])),
                       lambda m, o: m.inner.__setitem__("a", 1), lambda m, o: m.k.__setitem__(0, True)):
            self.assertEqual(self.seen(change)[2], 2)

    def test_alike_is_the_same_program(self):
        for change in (lambda m, o: setattr(m, "k", [1.0, [2.0]]), lambda m, o: setattr(m, "inner", {"a": float("1")}),
                       lambda m, o: setattr(m, "unheard", object())):
            self.assertEqual(self.seen(change)[2], 1)

    def test_a_hook_that_comes_while_a_step_is_made(self):
        found = []
        for step, m, _ in made():
            def count(states, step=step, m=m):  # of the first step, which is the long way's, which learns
                del step.optimizer.count
                step.optimizer.count(states)
                m[0].register_forward_hook(lambda m, i, o: 2 * o)  # as of another thread
            step.optimizer.count = count
            found.append([float(step(*batch())) for _ in range(4)])
        self.assertEqual(found[0], found[1])
        self.assertEqual(step.programs, 2)

    def test_training_and_evaluation(self):
        self.assertEqual(self.seen(lambda m, o: m.eval())[2], 2)
        (a, m, _), (b, n, _) = made(lambda: mlp(0.5))
        for k in range(8):
            m.train(k % 3 != 0), n.train(k % 3 != 0)
            self.assertEqual(float(a(*batch())), float(b(*batch())))
        self.assertEqual(a.programs, 2)

    def test_variables_of_a_module_and_of_a_closure(self):
        factor = 1.0

        def loss(y, k):
            return y * factor * k.sum()

        def changed(m, o):
            nonlocal factor
            factor = 3.0

        def undone():
            nonlocal factor
            factor = 1.0
        self.assertEqual(self.seen(changed, loss=loss, undo=undone)[2], 2)

        def scaled(m, o):
            global SCALE
            SCALE = 3.0

        def unscaled():
            global SCALE
            SCALE = 1.0
        try:
            self.assertEqual(self.seen(scaled, undo=unscaled)[2], 2)
        finally:
            unscaled()

    def test_what_is_frozen_or_free_again(self):
        losses, states, programs = self.seen(lambda m, o: m.w.requires_grad_(False))
        self.assertEqual(programs, 2)

    def test_constants_of_the_optimizer(self):
        make = lambda m: torch.optim.AdamW(m.parameters(), 0.01)
        for change in (lambda m, o: o.param_groups[0].__setitem__("weight_decay", 0.5),
                       lambda m, o: o.param_groups[0].__setitem__("betas", (0.5, 0.5)),
                       lambda m, o: o.param_groups[0].__setitem__("eps", 1.0)):
            self.assertEqual(self.seen(change, make)[2], 2)
        for lr in (0.5, 1, torch.tensor(0.25), np.float64(0.125), True):
            self.assertEqual(self.seen(lambda m, o: o.param_groups[0].__setitem__("lr", lr), make)[2], 1)

    def test_a_group_that_fails_when_it_is_asked_for_its_rate(self):
        class Key:
            def __hash__(self):
                return hash("lr")

            def __eq__(self, other):
                raise ValueError("a key")
        (a, _, o), _ = made()
        a(*batch()), a(*batch())
        del o.param_groups[0]["lr"]
        o.param_groups[0][Key()] = 1
        a._long = lambda args, kwargs: "the long way"
        self.assertEqual(a(*batch()), "the long way")

    def test_tensors_of_the_module(self):
        def data(m, o):
            m.v = nn.Parameter(m.v.detach().clone())

        def buffer(m, o):
            m.t = m.t.clone()

        def filled(m, o):
            m.t.fill_(3.0)

        def loaded(m, o):
            m.load_state_dict(m.state_dict())

        def clamped(m, o):
            with torch.no_grad():
                m.v.clamp_(max=0.5)
        for change in (data, buffer, filled, loaded, clamped):
            for step, m, o in made(Two, loss=lambda y, k: y * k.sum(), given=(X, X))[:1]:
                for _ in range(3):
                    step(X, X)
                before = bits(step)
                change(m, o)
                for _ in range(2):
                    with self.assertRaisesRegex(rt.Unsupported, "of the module changed"):
                        step(X, X)
                self.assertEqual(bits(step), before)
                if change is data:  # which the optimizer does not have
                    continue
                step.load()
                step(X, X), step(X, X)
                with short(self, step):
                    step(X, X)

    def test_what_the_optimizer_has(self):
        def added(m, o):
            o.add_param_group({"params": [m.w]})

        def put(m, o):
            o.param_groups[0]["params"].append(m.w)

        def loaded(m, o):
            o.load_state_dict(o.state_dict())

        def emptied(m, o):
            o.state = type(o.state)(dict)

        def without(m, o):
            o.param_groups[0]["momentum"] = 0.0
        for change, why in ((added, "began without"), (put, "began without"), (loaded, "was loaded"), (emptied, "was loaded"),
                            (without, "momentum that becomes 0")):
            m = Two()
            o = torch.optim.SGD([m.v], 0.1, momentum=0.9)
            step = rt.compile(m, lambda y, k: y * k.sum(), (X, X), o, check=False)
            for _ in range(3):
                step(X, X)
            change(m, o)
            with self.assertRaisesRegex(rt.Unsupported, why):
                step(X, X)

    def test_steps_that_leave_parameters_out_are_counted(self):
        groups = lambda m: torch.optim.Adam([{"params": [m.v]}, {"params": [m.w]}], 0.1)
        (a, m, _), (b, n, _) = made(Two, groups, loss=lambda y, k: y * k.sum(), given=(X, X))
        for k in range(16):
            m.both = n.both = k % 8 < 5
            given = (X, X)
            if k % 4 == 3:  # by another way
                given = (torch.stack([X, X], 1)[:, 0], X)
            self.assertEqual(float(a(*given)), float(b(*given)))
        self.assertEqual(bits(a), bits(b))

    def test_steps_of_other_shapes_that_leave_parameters_out_are_counted(self):
        class Sometimes(Two):
            def forward(self, a):
                return (self.v * a).sum() + ((self.w * a).sum() if a.shape[0] > 1 else 0.0)
        groups = lambda m: torch.optim.Adam([{"params": [m.v]}, {"params": [m.w]}], 0.1)
        one, two = X[None], torch.stack([X, -2 * X])
        (a, _, _), (b, _, _) = made(Sometimes, groups, loss=None, given=(two,))
        for given in (two, two, two, one, one, one, two, one, two, two, one, one):
            self.assertEqual(float(a(given)), float(b(given)))
        self.assertEqual(bits(a), bits(b))
        self.assertEqual(a.optimizer.made, b.optimizer.made)

    def test_a_schedule_that_asks_whether_steps_were_made(self):
        m = mlp()
        o = sgd(m)
        step = rt.compile(m, F.cross_entropy, batch(), o)
        for _ in range(3):
            step(*batch())
        o._opt_called = False
        step(*batch())
        self.assertTrue(o._opt_called)


class Callers(unittest.TestCase):
    def test_threads_take_turns(self):
        (a, _, _), (b, _, _) = made(optimizer=lambda m: torch.optim.Adam(m.parameters(), 0.01))
        x, y = batch(64)
        for _ in range(2):
            a(x, y), b(x, y)
        failed = []

        def steps():
            try:
                for _ in range(50):
                    a(x, y)
            except Exception as e:  # pylint: disable=broad-except
                failed.append(e)
        threads = [threading.Thread(target=steps) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for _ in range(200):
            b(x, y)
        self.assertEqual(failed, [])
        self.assertEqual(a.optimizer.steps, 202)
        self.assertEqual(bits(a), bits(b))

    def test_a_step_that_fails_is_none(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.e = nn.Embedding(3, 4)

            def forward(self, i):
                return self.e(i)
        good, bad = (torch.tensor([0, 2]), torch.ones(2, 4)), (torch.tensor([0, 7]), torch.ones(2, 4))
        (a, _, _), (b, _, _) = made(Net, lambda m: torch.optim.Adam(m.parameters(), 0.1), lambda v, y: (v * y).sum(), good)
        for _ in range(3):
            a(*good), b(*good)
        for _ in range(2):
            with short(self, a), self.assertRaises(reprise.DataError) as caught:
                a(*bad)
            self.assertRegex("".join(caught.exception.__notes__), r"test_torch_door.py:\d+")
            with short(self, a):
                self.assertEqual(float(a(*good)), float(b(*good)))
        self.assertEqual(bits(a), bits(b))
        self.assertEqual(a.optimizer.steps, 5)

    def test_records_begin_and_end_between_steps(self):
        (a, _, _), (b, _, _) = made(lambda: mlp(0.5), lambda m: torch.optim.Adam(m.parameters(), 0.01))
        x, y = batch()
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for k, step in enumerate((a, b)):
                losses = [float(step(x, y)) for _ in range(3)]
                path = os.path.join(folder, f"{k}.reprise")
                with rt.record(path, seed=7, origin=False) as recorded:
                    losses += [float(step(x, y)) for _ in range(4)]
                    if not k:
                        with short(self, step):
                            losses.append(float(step(x, y)))
                    else:
                        losses.append(float(step(x, y)))
                losses += [float(step(x, y)) for _ in range(3)]
                found.append((losses, recorded.id, bits(step)))
                with reprise.open(path) as archive:
                    self.assertEqual(len(archive.steps), 5)
        self.assertEqual(found[0], found[1])

    def test_what_was_copied_or_loaded_is_gone_on_from(self):
        (a, m, _), (b, n, _) = made()
        for step, own in ((a, m), (b, n)):
            for _ in range(3):
                step(*batch())
            step.load()  # of a module that is as it was
            for _ in range(3):
                step(*batch())
            step.copy_to(own)
            for _ in range(3):
                step(*batch())
            step.load()
            for _ in range(3):
                step(*batch())
        self.assertEqual(bits(a), bits(b))

    def test_program_is_that_of_the_last_step(self):
        (a, _, _), _ = made()
        for rows in (5, 2, 5, 2, 5):
            a(*batch(rows))
            self.assertEqual({i[1]: tuple(i[2]) for i in a.program.inputs}["input"], (rows, 4))

    def test_a_step_that_its_module_has_goes_with_it(self):
        m = mlp()
        step = rt.compile(m, F.cross_entropy, batch(), sgd(m))
        step(*batch()), step(*batch())
        m.step = [step]
        gone = weakref.ref(step)
        del m, step
        gc.collect()
        self.assertIsNone(gone())


class Doors(unittest.TestCase):
    """The object itself."""

    def watch(self, d, places):
        return d._short_watch([(torch.Tensor, "is_neg")], places, [], {}, "steps", "turn", 1, {}, None)

    def test_misuse_is_an_error(self):
        d = reprise._core.StepBase()
        self.assertFalse(d._short_stands())
        for call in (lambda: self.watch(d, [(1, 2)]), lambda: d._short_watch([(torch.Tensor, None)], [], [3], {}, "n", "t", 1, {}, None),
                     lambda: d._short_watch([3], [], [], {}, "n", "t", 1, {}, None),
                     lambda: d._short_add((X,), ("x",), [], None, "loss", None, True)):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(AttributeError):  # there is no long way
            d(X)
        with self.assertRaises(RuntimeError):
            d._release()
        d._hold(), d._hold()
        d._release(), d._release()
        self.assertFalse(d._short_stands())

    def test_places_are_compared_by_kind_and_bits(self):
        d = reprise._core.StepBase()
        big, nan = 1 << 80, float("nan")
        for was, alike, others in ((1, int("1"), (1.0, True, 2)), (0.0, float("0"), (-0.0, 0, False)), (nan, -(-nan), (0.0,)),
                                   ("a", "".join(["a"]), ("b", b"a")), ([1, [2]], [1, [2]], ([1, [2.0]], [1], (1, [2]))),
                                   ({"a": 1, "b": 2}, dict(a=1, b=2), ({"b": 2, "a": 1}, {"a": 1}, {"a": 1, "b": 3})),
                                   ((1, "x"), tuple([1, "x"]), ((1, "y"), [1, "x"])), (big, big, (1 << 81, int(str(big)))),
                                   (None, None, (0,))):
            space = {"n": copy.deepcopy(was)}
            self.assertTrue(self.watch(d, [(space, "n", was)]), was)
            space["n"] = alike
            self.assertTrue(d._short_stands(), alike)
            for other in others:
                space["n"] = other
                self.assertFalse(d._short_stands(), (was, other))
            del space["n"]
            self.assertFalse(d._short_stands())
        deep = []
        for _ in range(100):
            deep = [deep]
        self.assertFalse(self.watch(d, [({"n": copy.deepcopy(deep)}, "n", deep)]))  # it may give up

    def test_a_dict_may_grow_and_has_no_fewer_items_than_a_number_says(self):
        d = reprise._core.StepBase()
        for space in ({}, collections.defaultdict(dict), collections.OrderedDict()):
            numbers = {"filled": 1}
            self.assertFalse(self.watch(d, [((space, numbers), "filled")]))
            space["a"] = 1
            self.assertTrue(self.watch(d, [((space, numbers), "filled")]))
            space["b"] = 2
            self.assertTrue(d._short_stands())
            numbers["filled"] = 2  # the number is the one that is there now
            self.assertTrue(d._short_stands())
            del space["a"]
            self.assertFalse(d._short_stands())
            numbers["filled"] = 0
            space.clear()
            self.assertTrue(d._short_stands())
            for other in (1 << 80, "0", 0.0, None):
                numbers["filled"] = other
                self.assertFalse(d._short_stands(), other)
            numbers.clear()
            self.assertFalse(d._short_stands())
        for wrong in ((space,), (space, []), ([], numbers)):
            with self.assertRaises(TypeError):
                self.watch(d, [(wrong, "filled")])

    def test_attributes_of_an_object_that_became_another_kind(self):
        class Kind(nn.Parameter):
            _version = 7
        d, w = reprise._core.StepBase(), nn.Parameter(X.clone())
        self.assertTrue(self.watch(d, [(w, "_version", 0), (w, "requires_grad", True)]))
        w.__class__ = Kind
        self.assertFalse(d._short_stands())

    def test_what_c_answers_is_what_python_would(self):
        class Liar:
            __class__ = property(lambda self: self.said)

        class Other:
            pass

        class Stranger(Other):
            def __getattribute__(self, name):
                return Liar if name == "__class__" else object.__getattribute__(self, name)
        d, liar, x = reprise._core.StepBase(), Liar(), Other()
        liar.said = Liar
        self.assertTrue(self.watch(d, [(liar, "__class__", Liar), (x, "__class__", Other), (Stranger(), "__class__", Liar)]))
        liar.said = int  # a class that code of Python's makes up is asked for
        self.assertFalse(d._short_stands())
        liar.said = Liar
        self.assertTrue(d._short_stands())
        x.__class__ = Stranger
        self.assertFalse(d._short_stands())
        self.assertFalse(self.watch(d, [(Other(), "__class__", Stranger)]))
        self.assertTrue(self.watch(d, [(torch.get_default_dtype, None, torch.float32)]))
        torch.set_default_dtype(torch.float64)
        try:
            self.assertFalse(d._short_stands())
        finally:
            torch.set_default_dtype(torch.float32)
        self.assertTrue(d._short_stands())
        w = nn.Parameter(X.clone())
        self.assertTrue(self.watch(d, [(w, "_version", w._version), (w, "requires_grad", True)]))
        w.requires_grad_(False)
        self.assertFalse(d._short_stands())
        w.requires_grad_(True)
        self.assertTrue(d._short_stands())
        with torch.no_grad():
            w.add_(1)
        self.assertFalse(d._short_stands())

    def test_names_that_move_in_their_dict_are_found(self):
        d = reprise._core.StepBase()
        space = {"a": 1, "b": 2, "c": 3}
        self.assertTrue(self.watch(d, [(space, "b", 2), (space, "c", 3)]))
        space["b"] = space.pop("b")
        self.assertTrue(d._short_stands())
        del space["a"]
        self.assertTrue(d._short_stands())
        space["".join(["b"])] = 4
        self.assertFalse(d._short_stands())
        space["b"] = 2
        self.assertTrue(d._short_stands())
        space.clear()
        self.assertFalse(d._short_stands())
        space.update(b=2, c=3)
        self.assertTrue(d._short_stands())

    def test_names_that_are_to_be_nowhere_and_what_functions_give(self):
        d, space, values = reprise._core.StepBase(), {"a": None}, [1]
        self.assertFalse(self.watch(d, [(space, "a")]))
        self.assertTrue(self.watch(d, [(space, "b"), (lambda: values[0], None, 1)]))
        space["b"] = None
        self.assertFalse(d._short_stands())
        del space["b"]
        self.assertTrue(d._short_stands())
        values[0] = 2
        self.assertFalse(d._short_stands())
        values.clear()  # an error is another value
        self.assertFalse(d._short_stands())
        with self.assertRaises(TypeError):
            self.watch(d, [(values, "b")])

    def test_what_a_look_calls_finds_the_door_busy(self):
        d, found = reprise._core.StepBase(), []

        def called():
            for call in (d._short_clear, lambda: self.watch(d, [])):
                try:
                    call()
                    found.append("done")
                except RuntimeError as e:
                    found.append(str(e))
            return 1
        places = [(called, None, 1), ({"a": 1}, "a", 1)]
        self.assertTrue(self.watch(d, places))
        self.assertTrue(d._short_stands())
        self.assertEqual(found, ["a step is under way"] * 4)
        d._short_clear()

    def test_attributes_that_fail_are_another(self):
        class Odd:
            @property
            def n(self):
                raise KeyError("n")
        d = reprise._core.StepBase()
        self.assertFalse(self.watch(d, [(Odd(), "n", 1)]))


if __name__ == "__main__":
    unittest.main()
