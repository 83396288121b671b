# SPDX-License-Identifier: Apache-2.0
"""Models of layers: a function of (nn, *batch) that returns a loss, trained by compiled steps, as docs/nn.md has them in C.
The function runs once for each shape of batch; steps then run without Python, unless eager=True."""
from __future__ import annotations

import contextlib

from . import _core

__all__ = ["Model", "adagrad", "adam", "adamw", "constant", "cosine", "kaiming_normal", "kaiming_uniform", "lamb",
           "linear", "lion", "normal", "orthogonal", "rmsprop", "sgd", "steps", "truncated", "uniform", "xavier_normal",
           "xavier_uniform"]


class Model(_core.ModelBase):
    """Model(function, optimizer=adam(0.001), batches={}, seed=0, eager=False, mixed=False, threads=0, ...).

    function(nn, *batch) returns the loss of a batch: nn is this model, on which it calls layers (nn.linear("first", x,
    64)), and batch are its fields (array, text). batches: batch, first, rows, in_order, drop_last. What the function
    reads from outside must not change, since it is not called at every step."""

    @contextlib.contextmanager
    def scope(self, name):
        """Names inside stand behind this one: "encoder.0." + "weight"."""
        self.enter_scope(name)
        try:
            yield
        finally:
            self.leave_scope()


def _optimizer(rule, lr, options, known):
    wrong = set(options) - set(known) - {"weight_decay", "clip_value", "clip_norm", "schedule"}
    if wrong:
        raise TypeError(f"{rule}: no option {', '.join(sorted(wrong))}")
    schedule = options.pop("schedule", None) or {}
    return {"rule": rule, "lr": lr, **options, **schedule}


def sgd(lr, momentum=0.0, **options):
    """Stochastic gradient descent: momentum, nesterov, weight_decay, clip_value, clip_norm, schedule."""
    return _optimizer("sgd", lr, {"momentum": momentum, **options}, ("momentum", "nesterov"))


def adam(lr, **options):
    """beta1, beta2, eps, weight_decay, clip_value, clip_norm, schedule."""
    return _optimizer("adam", lr, options, ("beta1", "beta2", "eps"))


def adamw(lr, **options):
    """As adam, with decoupled decay, 0.01 where none is given."""
    return _optimizer("adamw", lr, options, ("beta1", "beta2", "eps"))


def rmsprop(lr, **options):
    """alpha, eps, momentum, weight_decay, clip_value, clip_norm, schedule."""
    return _optimizer("rmsprop", lr, options, ("alpha", "eps", "momentum"))


def lion(lr, **options):
    """beta1, beta2, weight_decay, clip_value, clip_norm, schedule."""
    return _optimizer("lion", lr, options, ("beta1", "beta2"))


def adagrad(lr, **options):
    """eps, weight_decay, clip_value, clip_norm, schedule."""
    return _optimizer("adagrad", lr, options, ("eps",))


def lamb(lr, **options):
    """As adam, each parameter's step in proportion to its norm."""
    return _optimizer("lamb", lr, options, ("beta1", "beta2", "eps"))


def cosine(total, warmup=0, low=0.0):
    """A schedule: the rate rises over warmup steps, and falls as a cosine to low at step total."""
    return {"curve": "cosine", "total": total, "warmup": warmup, "low": low}


def linear(total, warmup=0, low=0.0):
    """As cosine, in a line."""
    return {"curve": "linear", "total": total, "warmup": warmup, "low": low}


def steps(every, gamma, warmup=0):
    """The rate is multiplied by gamma after each so many steps."""
    return {"curve": "steps", "every": every, "gamma": gamma, "warmup": warmup}


def constant(value):
    """Initial values: all the same."""
    return ("constant", float(value))


def uniform(low, high):
    """Initial values between low and high."""
    return ("uniform", float(low), float(high))


def normal(mean, deviation):
    """Initial values of a normal distribution."""
    return ("normal", float(mean), float(deviation))


def truncated(mean, deviation):
    """A normal within two deviations."""
    return ("truncated", float(mean), float(deviation))


def xavier_uniform(gain=1.0):
    """Glorot and Bengio's, uniform."""
    return ("xavier_uniform", float(gain))


def xavier_normal(gain=1.0):
    """Glorot and Bengio's, normal."""
    return ("xavier_normal", float(gain))


def kaiming_uniform(gain=1.0):
    """He and others', uniform; gain sqrt(2) before a ReLU."""
    return ("kaiming_uniform", float(gain))


def kaiming_normal(gain=1.0):
    """He and others', normal."""
    return ("kaiming_normal", float(gain))


def orthogonal(gain=1.0):
    """An orthogonal matrix of all axes but the last, and the last."""
    return ("orthogonal", float(gain))
