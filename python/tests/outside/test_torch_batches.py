# SPDX-License-Identifier: Apache-2.0
"""Batches and answers in the classes of other packages: dataclasses are taken, and of other objects that hold tensors an answer has none."""
import copy
import dataclasses
import enum
import functools
import importlib.util
import os
import sys
import tempfile
import unittest
from typing import Any, NamedTuple

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import reprise.torch as rt
from torch_small import sgd

X, Y = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))


class Stage(str, enum.Enum):
    TRAIN = "train"
    PREDICT = "predict"


@dataclasses.dataclass(slots=True)
class Window:
    past: torch.Tensor
    scale: float = 1.0
    also: torch.Tensor | None = None
    stage: Stage = Stage.PREDICT
    kept: Any = dataclasses.field(default=None, init=False)


@dataclasses.dataclass
class Forecast:
    mean: torch.Tensor
    state: Any = None


@dataclasses.dataclass(frozen=True)
class Halved:
    """What has been made of what it was called with, and what was put there since."""

    past: torch.Tensor
    twice: Any = dataclasses.field(default=None, init=False)
    scale = 1.0

    def __post_init__(self):
        object.__setattr__(self, "past", self.past / 2)

    def with_more(self, **more):
        for k, v in more.items():
            object.__setattr__(self, k, v)
        return self


class Cache:
    def __init__(self, keys):
        self.keys = keys


@dataclasses.dataclass
class Computed:
    """Twice as much as it was given, and times what is gone."""

    past: torch.Tensor
    scale: float = 1.0
    times: dataclasses.InitVar[float] = 1.5

    def __post_init__(self, times):
        self.past, self.scale = self.past * 2, self.scale * times


@dataclasses.dataclass
class Plain:
    past: torch.Tensor


@dataclasses.dataclass(init=False)
class Own:
    past: torch.Tensor
    scale: float

    def __init__(self, past, scale=1.0):
        self.past, self.scale = past + 1, scale + 1


class Of(NamedTuple):
    past: torch.Tensor
    scale: float


class Pair(Of):
    def __new__(cls, past, scale=1.0):
        return super().__new__(cls, past, scale + 1)


class Longer(tuple):
    def __new__(cls, of):
        return super().__new__(cls, [*of, 2.0])


class Listed(list):
    def __init__(self, of):
        super().__init__([*of, X])


class Calls(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, w):
        return self.f(w)


class Forecasts(nn.Module):
    def __init__(self, gives=None):
        super().__init__()
        torch.manual_seed(0)
        self.l, self.gives = nn.Linear(3, 3), gives

    def forward(self, w):
        y = self.l(w.past) * w.scale
        y = y if w.also is None else y + w.also
        y = y * 3 if w.stage is Stage.TRAIN else y
        return Forecast(y, (y.sum(), w.scale)) if self.gives is None else self.gives(y)


def loss(out, target):
    return (out.mean - target).square().mean()


class Dataclasses(unittest.TestCase):
    def test_a_batch_and_an_answer_may_be_dataclasses(self):
        m = Forecasts()
        other = copy.deepcopy(m)
        optimizer = torch.optim.SGD(other.parameters(), 0.1, momentum=0.9)
        step = rt.compile(m, loss, (Window(X), Y), torch.optim.SGD(m.parameters(), 0.1, momentum=0.9))
        with tempfile.TemporaryDirectory() as folder, rt.record(os.path.join(folder, "run.reprise")) as recorded:
            for w in (Window(X), Window(Y, 2.0), Window(X, also=Y), Window(X, stage=Stage.TRAIN), Window(Y)):
                optimizer.zero_grad()
                wanted = loss(other(w), Y)
                wanted.backward()
                optimizer.step()
                self.assertAlmostEqual(float(step(w, Y)), float(wanted.detach()), places=4)
        self.assertEqual(len(recorded.id), 64)
        step.copy_to(m)
        forward = rt.compile_inference(m.eval(), (Window(X),))
        for w in (Window(X), Window(Y, 2.0), Window(X, also=Y)):
            found, wanted = forward(w), m(w)
            self.assertIs(type(found), Forecast)
            torch.testing.assert_close(found.mean, wanted.mean.detach())
            torch.testing.assert_close(found.state[0], wanted.state[0].detach())
            self.assertEqual(found.state[1], w.scale)

    def test_one_has_what_it_had_however_it_was_made(self):
        def of(w):
            y = w.past * getattr(w, "scale", 1.0) + getattr(w, "more", 0.0)
            return y if getattr(w, "kept", None) is None else y * w.kept

        def kept(w, of):
            w.kept = of
            return w
        late, more = Computed(X), Plain(Y)
        late.more = more.more = X * 3
        for first, *others in ((Window(X), kept(Window(X), Y), kept(Window(X), 3.0), Window(Y)), (Computed(X), Computed(Y, 3.0), late),
                               (Plain(X), more, Plain(Y)), (Own(X), Own(Y, 5.0))):
            forward, again = rt.compile_inference(Calls(of), (first,)), rt.compile_inference(Calls(lambda w: w), (first,))
            for w in (first, *others, first):
                torch.testing.assert_close(forward(w), of(w), msg=repr(w))
                found = again(w)
                self.assertIs(type(found), type(w))
                torch.testing.assert_close(of(found), of(w), msg=repr(w))

    def test_an_answers_class_computes_once(self):
        for make in (Computed, Own, lambda y: Computed(y, 3.0)):
            found, wanted = rt.compile_inference(Calls(make), (X,))(Y), make(Y)
            torch.testing.assert_close(vars(found), vars(wanted))

    def test_a_loss_of_a_batch_whose_class_computes(self):
        for make in (Computed, lambda x: Computed(x, 2.0), Own):
            m = Forecasts()
            m.forward = lambda w: (m.l(w.past) * w.scale).square().mean()
            w = make(X)
            wanted = float(m(w).detach())
            self.assertAlmostEqual(float(rt.compile(m, None, (w,), sgd(m))(w)), wanted, places=4)

    def test_lists_and_tuples_of_other_classes(self):
        for forward, *batches in ((lambda w: w.past * w.scale, Pair(X), Pair(Y, 3.0)), (lambda w: w[0] * len(w), Longer([X]), Longer([Y])),
                                  (lambda w: w[-1] * len(w), Listed([X]), Listed([X, Y])), (lambda w: w.values * 2, X.max(0), Y.max(0))):
            answers, again = (rt.compile_inference(Calls(f), (batches[0],)) for f in (forward, lambda w: w))
            for w in batches:
                torch.testing.assert_close(answers(w), forward(w))
                self.assertIs(type(again(w)), type(w))
                torch.testing.assert_close(forward(again(w)), forward(w))
        more = Listed([X])
        more.scale = 2.0
        for f, w in ((lambda w: w[0] * getattr(w, "scale", 1.0), more), (lambda w: more, X)):
            with self.assertRaisesRegex(rt.Unsupported, "a Listed with attributes beside its elements.*dataclass"):
                rt.compile_inference(Calls(f), (w,))

    def test_one_is_given_as_it_is_and_not_made_again(self):
        class Reads(nn.Module):
            def forward(self, w):
                return Halved(w.past * w.scale + (0 if w.twice is None else w.twice)).with_more(twice=w.past * 2, also=w.past.sum())
        m = Reads()
        forward = rt.compile_inference(m, (Halved(X),))
        for w in (Halved(X), Halved(Y), Halved(X).with_more(scale=3.0), Halved(X).with_more(twice=Y), Halved(Y).with_more(twice=2.0)):
            found, wanted = forward(w), m(w)
            for k in ("past", "twice", "also"):
                torch.testing.assert_close(getattr(found, k), getattr(wanted, k))

    def test_another_object_is_no_batch(self):
        with self.assertRaisesRegex(TypeError, "is a Cache: a batch has tensors and numbers"):
            rt.compile_inference(Forecasts(), (Cache(X),))
        with self.assertRaisesRegex(TypeError, "w.also is a Cache: a batch has tensors and numbers"):
            rt.compile_inference(Forecasts(), (Halved(X).with_more(also=Cache(X)),))


class Objects(unittest.TestCase):
    def test_an_answer_that_is_an_object_with_tensors_is_refused(self):
        for gives in (Cache, lambda y: torch.distributions.Normal(y, 1.0), lambda y: {Cache(y): 1}.keys()):
            with self.assertRaisesRegex(rt.Unsupported, "that the model gives holds tensors.*Give its tensors themselves"):
                rt.compile_inference(Forecasts(gives), (Window(X),))

    def test_one_beside_tensors_is_an_error_of_whoever_uses_it(self):
        for gives in (lambda y: {"mean": y, "cache": Cache([y])}, lambda y: Forecast(y, Cache({"of": y}))):
            m = Forecasts(gives)
            found, wanted = (f(Window(X)) for f in (rt.compile_inference(m, (Window(X),)), m))
            mean, cache = (found["mean"], found["cache"]) if isinstance(found, dict) else (found.mean, found.state)
            torch.testing.assert_close(mean, (wanted["mean"] if isinstance(wanted, dict) else wanted.mean).detach())
            self.assertEqual((repr(cache), repr(copy.deepcopy(cache))), ("Withheld(Cache)", "Withheld(Cache)"))
            for use in (lambda: cache.keys, lambda: cache[0], lambda: [*cache], lambda: len(cache), lambda: cache + 1):
                with self.assertRaisesRegex(rt.Unsupported, "a Cache that the model gives holds tensors"):
                    use()

    def test_a_function_that_holds_tensors_is_one(self):
        for gives in (lambda y: (y, lambda: y), lambda y: (y, lambda t=y: t), lambda y: (y, y.add), lambda y: (y, functools.partial(torch.add, y))):
            found = rt.compile_inference(Forecasts(gives), (Window(X),))(Window(X))
            with self.assertRaisesRegex(rt.Unsupported, "that the model gives holds tensors"):
                found[1](X)

    def test_one_without_is_given_as_it_is(self):
        kept = Cache(3)
        found = rt.compile_inference(Forecasts(lambda y: (y, kept, y.shape, y.dtype, loss, len)), (Window(X),))(Window(X))
        self.assertEqual(found[1:], (kept, X.shape, X.dtype, loss, len))


if __name__ == "__main__":
    unittest.main()
