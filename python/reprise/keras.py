# SPDX-License-Identifier: Apache-2.0
"""Keras 3 models by its jax backend: `compile(model, batch)` makes a step of the door for JAX (reprise.jax).

The model's stateless call, the loss and the optimizer's stateless apply are captured; statistics of batch norm and seeds of
random layers are states. What is trained is Keras's own definition of the model, of the loss and of the optimizer."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import jax as door
from .jax import GradientsDiffer, Unsupported, record

__all__ = ["GradientsDiffer", "Trainer", "Unsupported", "compile", "record"]


class Optimizer:
    """A Keras optimizer as reprise.jax takes one; `apply` gives the new parameters themselves."""

    def __init__(self, optimizer: Any, names: list[str]) -> None:
        self.optimizer, self.names = optimizer, names

    def init(self, params: dict[str, Any]) -> dict[str, Any]:
        return {v.path: v.value for v in self.optimizer.variables}

    def apply(self, grads: dict[str, Any], state: dict[str, Any], params: dict[str, Any]) -> tuple[Any, Any]:
        paths = [v.path for v in self.optimizer.variables]
        new, left = self.optimizer.stateless_apply([state[p] for p in paths], [grads[n] for n in self.names],
                                                   [params[n] for n in self.names])
        return dict(zip(self.names, new)), dict(zip(paths, left))


class Trainer:
    """Training steps of a Keras model: trainer(x, y) makes one and returns the loss.

    step        the reprise.jax.Step: its check, program and graph"""

    def __init__(self, model: Any, batch: tuple[Any, Any], loss: Any, optimizer: Any, options: dict[str, Any]) -> None:
        keras = importlib.import_module("keras")
        if keras.backend.backend() != "jax":
            raise RuntimeError(f"Keras runs on {keras.backend.backend()}: set KERAS_BACKEND=jax before it is imported; the model "
                               "may be saved there with model.save and loaded again on jax")
        self.keras, self.model = keras, model
        if not model.built:
            model(batch[0])
        self.loss: Callable[..., Any] = loss_of(keras, model, loss)
        self.optimizer: Any = keras.optimizers.get(wanted(optimizer, getattr(model, "optimizer", None), "optimizer"))
        if not self.optimizer.built:
            self.optimizer.build(model.trainable_variables)
        unique(v.path for v in (*model.variables, *self.optimizer.variables))
        self.trained: list[str] = [v.path for v in model.trainable_variables]
        self.kept: list[str] = [v.path for v in model.non_trainable_variables]
        params = {v.path: v.value for v in model.trainable_variables}
        state = {v.path: v.value for v in model.non_trainable_variables}
        self.step = door.compile(self.value, params, batch, Optimizer(self.optimizer, self.trained), state=state, **options)

    def value(self, params: dict[str, Any], state: dict[str, Any], x: Any, y: Any) -> tuple[Any, dict[str, Any]]:
        """The loss, with the layers' own losses, and the new states."""
        out, left, own = self.model.stateless_call([params[n] for n in self.trained], [state[n] for n in self.kept], x,
                                                   training=True, return_losses=True)
        if not hasattr(out, "dtype"):
            raise ValueError(f"the model gives a {type(out).__name__} of outputs, and one is taken: write the loss of all for reprise.jax")
        total = self.loss(y, out)
        for more in own:
            total = total + more
        return total, dict(zip(self.kept, left))

    def __call__(self, x: Any, y: Any) -> float:
        return float(self.step(x, y))

    def fit(self, x: Any, y: Any, *, batch_size: int = 32, epochs: int = 1, shuffle: int | None = None,
            report: Callable[[int, float], None] | None = None) -> list[float]:
        """Steps over the rows of x and y in batches; the last may be smaller. shuffle: a seed by which the rows are put in
        another order in each epoch; None: as they are. Returns the mean loss of each epoch's rows."""
        x, y = np.asarray(x), np.asarray(y)
        if len(x) != len(y) or not len(x):
            raise ValueError(f"{len(x)} rows of x and {len(y)} of y")
        rng, means = np.random.default_rng(shuffle), []
        for epoch in range(epochs):
            order = np.arange(len(x)) if shuffle is None else rng.permutation(len(x))
            total = 0.0
            for at in range(0, len(x), batch_size):
                rows = order[at:at + batch_size]
                total += self(x[rows], y[rows]) * len(rows)
            means.append(total / len(x))
            if report is not None:
                report(epoch, means[-1])
        return means

    def copy_to(self, model: Any = None) -> Any:
        """Puts the parameters, statistics and seeds into the model, or into another of the same variables in the same order."""
        model = self.model if model is None else model
        values = {**self.step.params(), **self.step.state()}
        own = [values[n] for n in (*self.trained, *self.kept)]
        variables = [*model.trainable_variables, *model.non_trainable_variables]
        if [tuple(v.shape) for v in variables] != [a.shape for a in own]:
            raise ValueError("the model's variables are not those that were trained")
        for v, a in zip(variables, own):
            v.assign(a)
        if model is self.model:
            state = self.step.opt_state()
            for v in self.optimizer.variables:
                v.assign(state[v.path])
        return model


def loss_of(keras: Any, model: Any, given: Any) -> Callable[..., Any]:
    """A loss as `fit` takes it: of a name or a function the mean over the rows. Weights of losses that the model was compiled
    with are refused."""
    compiled = getattr(getattr(model, "_compile_config", None), "config", {})
    if given is None and compiled.get("loss_weights") is not None:
        raise ValueError(f"the model was compiled with loss_weights {compiled['loss_weights']}, which are not taken: give loss=, a "
                         "function of the targets and the output that has them inside")
    chosen = wanted(given, getattr(model, "loss", None), "loss")
    if isinstance(chosen, str) and chosen.lower() in ("crossentropy", "ce", "accuracy", "acc"):
        raise ValueError(f"loss {chosen!r} is another one for each form of targets: name that one")
    found: Callable[..., Any] = keras.losses.get(chosen)
    kind: type = keras.losses.Loss
    if isinstance(found, kind):
        return found

    class Mean(kind):  # type: ignore[misc]
        def call(self, y_true: Any, y_pred: Any) -> Any:
            return found(y_true, y_pred)
    return Mean()


def wanted(given: Any, compiled: Any, what: str) -> Any:
    found = compiled if given is None else given
    if found is None:
        raise ValueError(f"no {what}: give {what}=, or compile the model with one")
    return found


def unique(paths: Any) -> None:
    seen: set[str] = set()
    for p in paths:
        if p in seen:
            raise ValueError(f"two variables are called {p}: give the layers names of their own")
        seen.add(p)


def compile(model: Any, batch: tuple[Any, Any], *, loss: Any = None, optimizer: Any = None, **options: Any) -> Trainer:
    """A trainer of a Keras model on the jax backend.

    batch       (x, y), an example of shapes and types
    loss        of Keras, by name or object; without it the one that the model was compiled with. Likewise the optimizer
    options     of reprise.jax.compile: check, tolerance, run, threads ..

    Raises Unsupported with the primitive's name where something has no translation."""
    return Trainer(model, batch, loss, optimizer, options)
