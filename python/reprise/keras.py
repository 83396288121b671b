# SPDX-License-Identifier: Apache-2.0
"""Keras 3 models by its jax backend: `compile(model, batch)` makes a step of the door for JAX (reprise.jax).

The model's stateless call, the loss and the optimizer's stateless apply are captured; statistics of batch norm and seeds of
random layers are states. What is trained is Keras's own definition of the model, of the loss and of the optimizer."""
from __future__ import annotations

import importlib
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from . import jax as door
from .jax import GradientsDiffer, Unsupported, record

__all__ = ["GradientsDiffer", "Trainer", "Unsupported", "compile", "record"]
VALUE = operator.attrgetter("_value")  # of a variable the array that it has; another one each time it is assigned
TRAINS = operator.attrgetter("trainable")


class Optimizer:
    """A Keras optimizer as reprise.jax takes one; `apply` gives the new parameters themselves."""

    def __init__(self, keras: Any, optimizer: Any, names: list[str]) -> None:
        self.keras, self.optimizer, self.names = keras, optimizer, names
        self.keys: list[str] = []  # of its variables: their paths, which some optimizers give to more than one
        for v in optimizer.variables:
            self.keys.append(v.path if v.path not in self.keys else f"{v.path}.{len(self.keys)}")

    def init(self, params: dict[str, Any]) -> dict[str, Any]:
        return {k: v.value for k, v in zip(self.keys, self.optimizer.variables)}

    def apply(self, grads: dict[str, Any], state: dict[str, Any], params: dict[str, Any]) -> tuple[Any, Any]:
        own = [state[k] for k in self.keys]
        slopes = [grads[n] for n in self.names]
        with self.keras.StatelessScope(state_mapping=list(zip(self.optimizer.variables, own))):
            factor = self.optimizer.scale_loss(np.float32(1))  # by which Keras has the loss multiplied, and divides gradients
        if not isinstance(factor, np.floating) or factor != 1:
            slopes = [g * self.keras.ops.cast(factor, g.dtype) for g in slopes]
        new, left = self.optimizer.stateless_apply(own, slopes, [params[n] for n in self.names])
        return dict(zip(self.names, new)), dict(zip(self.keys, left))


class Trainer:
    """Training steps of a Keras model: trainer(x, y) makes one and returns the loss.

    step        the reprise.jax.Step: its check, program and graph
    history     what the last fit told the callbacks at each epoch's end, by name"""

    def __init__(self, model: Any, batch: tuple[Any, ...], loss: Any, optimizer: Any, options: dict[str, Any]) -> None:
        keras = importlib.import_module("keras")
        if keras.backend.backend() != "jax":
            raise RuntimeError(f"Keras runs on {keras.backend.backend()}: set KERAS_BACKEND=jax before it is imported; the model "
                               "may be saved there with model.save and loaded again on jax")
        self.keras, self.model = keras, model
        self.history: dict[str, list[float]] = {}
        if type(model).train_step is not keras.Model.train_step:
            raise ValueError("the model has a train_step of its own, which would not be called: write its loss for reprise.jax")
        if not model.built:
            model(batch[0])
        self.loss: Callable[..., Any] = loss_of(keras, model, loss)
        self.optimizer: Any = keras.optimizers.get(wanted(optimizer, getattr(model, "optimizer", None), "optimizer"))
        if not self.optimizer.built:
            self.optimizer.build(model.trainable_variables)
        unique(v.path for v in model.variables)
        self.calls = {"training": True} if "training" in inspect.signature(model.call).parameters else {}
        self.trained: list[str] = [v.path for v in model.trainable_variables]
        self.kept: list[str] = [v.path for v in model.non_trainable_variables]
        if getattr(self.loss, "several", False):  # which makes variables when it is first called: not while it is captured
            self.loss(batch[1], model(batch[0]), *batch[2:])
        self.rule = Optimizer(keras, self.optimizer, self.trained)
        params = {v.path: v.value for v in model.trainable_variables}
        state = {v.path: v.value for v in model.non_trainable_variables}
        self.variables: list[Any] = [*model.trainable_variables, *model.non_trainable_variables, *self.optimizer.variables]
        self.flags = list(map(TRAINS, self.variables[:len(params) + len(state)]))
        self.own = [(model, n) for n, x in (("optimizer", optimizer), ("loss", loss)) if x is None] + [(self.inner, "_learning_rate")]
        self.were = [getattr(owner, n, None) for owner, n in self.own]
        self.step = door.compile(self.value, params, tuple(batch), self.rule, state=state, **options)
        self.step.framework = "keras"
        self.remember()

    def value(self, params: dict[str, Any], state: dict[str, Any], x: Any, y: Any, weights: Any = None) -> tuple[Any, dict[str, Any]]:
        """The loss, with the layers' own losses, and the new states."""
        out, left, own = self.model.stateless_call([params[n] for n in self.trained], [state[n] for n in self.kept], x,
                                                   return_losses=True, **self.calls)
        total = self.loss(y, out, weights)
        for more in own:
            total = total + more
        return total, dict(zip(self.kept, left))

    @property
    def inner(self) -> Any:
        """The optimizer that updates, where the model's scales the loss for it."""
        return getattr(self.optimizer, "inner_optimizer", self.optimizer)

    def __call__(self, x: Any, y: Any, sample_weight: Any = None) -> float:
        self.look()
        self.behind = True
        return float(self.step(x, y) if sample_weight is None else self.step(x, y, sample_weight))

    def fit(self, x: Any, y: Any = None, *, batch_size: int = 32, epochs: int = 1, shuffle: int | None = None,
            report: Callable[[int, float], None] | None = None, sample_weight: Any = None,
            class_weight: Mapping[int, float] | None = None, validation_data: Any = None, validation_split: float = 0.0,
            callbacks: Any = None, steps_per_epoch: int | None = None) -> list[float]:
        """Steps over the rows of x and y in batches; the last may be smaller. x and y may be lists or dicts of arrays, as the
        model has them; or x gives batches (x, y) or (x, y, weights): a keras.utils.PyDataset, or what may be gone over once
        an epoch. Returns the mean loss of each epoch's rows.

        shuffle     a seed by which the rows are put in another order in each epoch; None: as they are
        callbacks   of Keras: the model has the present variables when they are called, and what they change of it, of the
                    learning rate too, is a step of its own. Their logs have the loss and, with validation data, what
                    model.evaluate gives of them. `history` keeps the logs"""
        keras = self.keras
        if validation_split:
            if y is None or validation_data is not None:
                raise ValueError("validation_split is a part of the rows of x and y, without validation_data")
            count = rows_of(x)
            at = int(math.floor(count * (1 - validation_split)))
            if not 0 < at < count:
                raise ValueError(f"validation_split {validation_split} of {count} rows leaves none to train or to validate")
            given = [x, y] if sample_weight is None else [x, y, sample_weight]
            validation_data = tuple(leaves(lambda a: a[at:], part) for part in given)
            x, y, *left = [leaves(lambda a: a[:at], part) for part in given]
            sample_weight = left[0] if left else None
        if class_weight is not None:
            if sample_weight is not None or y is None:
                raise ValueError("class_weight is taken with x and y that are arrays and without sample_weight")
            sample_weight = weights_of(class_weight, y)
        batches = Rows(x, y, sample_weight, batch_size, shuffle) if y is not None else Batches(x, steps_per_epoch)
        self.look()
        told = Callbacks(self, callbacks, validation_data is not None, epochs) if callbacks is not None else None
        means: list[float] = []
        self.history = {}
        if told:
            told.begin()
        for epoch in range(epochs):
            if told:
                told.call("on_epoch_begin", epoch)
            total, count = 0.0, 0
            for number, batch in enumerate(batches):
                if told:
                    told.call("on_train_batch_begin", number)
                rows = rows_of(batch[0])
                loss = self(*batch)
                total, count = total + loss * rows, count + rows
                if told:
                    told.call("on_train_batch_end", number, {"loss": loss})
                    if self.model.stop_training:
                        break
            if not count:
                raise ValueError(f"epoch {epoch} has no batch: what gives batches has to begin again with each epoch, or "
                                 "steps_per_epoch says how many are one")
            means.append(total / count)
            logs = {"loss": means[-1]}
            if validation_data is not None:
                self.copy_to()
                vx, vy, *vw = validation_data if isinstance(validation_data, (tuple, list)) else (validation_data, None)
                found = self.model.evaluate(vx, vy, batch_size=batch_size, sample_weight=vw[0] if vw else None, verbose=0,
                                            return_dict=True)
                logs.update({f"val_{k}": float(v) for k, v in found.items()})
            for k, v in logs.items():
                self.history.setdefault(k, []).append(v)
            if report is not None:
                report(epoch, means[-1])
            if told:
                told.call("on_epoch_end", epoch, logs)
                if self.model.stop_training:
                    break
        if getattr(self.inner, "use_ema", False):
            self.copy_to()  # as Keras's fit ends: the averages become the parameters
            self.optimizer.finalize_variable_values(self.model.trainable_variables)
            self.look()
        if told:
            told.call("on_train_end", logs)
        return means

    # ---- the model's variables and the run's states ----

    def remember(self) -> None:
        """The variables have what the run has. `known` is their bits, as Keras's own functions give arrays away that go into them;
        `behind` whether steps were made since."""
        self.seen: list[Any] = list(map(VALUE, self.variables))
        self.known = list(map(bits, self.seen))
        self.behind = False

    def look(self, stale: bool = False) -> None:
        """Gives the run what of the model or the optimizer was changed since they were looked at, in one step that a record holds as
        others. What was changed in a model that has not what the steps made is an error, or, with `stale`, left out. Raises
        ValueError."""
        again = "compile it here again too, after trainer.copy_to()"
        if not stale and (any(getattr(owner, n, None) is not was for (owner, n), was in zip(self.own, self.were)) or
                          len(self.rule.keys) != len(self.optimizer.variables)):
            raise ValueError(f"the model was compiled again, or its optimizer has another schedule: {again}")
        if not stale and list(map(TRAINS, self.variables[:len(self.flags)])) != self.flags:
            raise ValueError(f"other variables of the model are trainable now than when it was compiled: {again}")
        values = list(map(VALUE, self.variables))
        if all(map(operator.is_, values, self.seen)):
            return
        step, named, present = self.step, {}, {}
        for prefix, tree, now in (("p", step._params, step.params), ("s", step._state, step.state), ("o", step._opt, step.opt_state)):
            named.update({f"{prefix}{path}": name for path, name in (tree.build(list(tree.names)) or {}).items()})
            present.update({f"{prefix}{path}": array for path, array in (now() or {}).items()} if self.behind else {})
        keys = [*(f"p{n}" for n in self.trained), *(f"s{n}" for n in self.kept), *(f"o{k}" for k in self.rule.keys)]
        changed = {k: (i, new) for i, (k, old, new) in enumerate(zip(keys, self.seen, values))
                   if new is not old and bits(new) != self.known[i]}
        lost = [k for k, (i, _) in changed.items() if self.behind and bits(present[k]) != self.known[i]]
        if lost and not stale:
            raise ValueError(f"{lost[0][1:]} was changed in a model that has not what the steps made of it: trainer.copy_to() before it "
                             "is changed, or now, which undoes the change")
        given = {k: new for k, (_, new) in changed.items() if k not in lost}
        if given:
            step.assign({named[k]: np.asarray(new) for k, new in given.items()})
        for k in given:
            self.known[changed[k][0]] = bits(given[k])
        self.seen = values

    def copy_to(self, model: Any = None) -> Any:
        """Puts the parameters, statistics and seeds into the model, or into another of the same variables in the same order."""
        model = self.model if model is None else model
        if model is self.model:
            self.look(stale=True)
        values = {**self.step.params(), **self.step.state()}
        own = [values[n] for n in (*self.trained, *self.kept)]
        variables = self.variables[:len(own)] if model is self.model else [*model.trainable_variables, *model.non_trainable_variables]
        if [tuple(v.shape) for v in variables] != [a.shape for a in own]:
            raise ValueError("the model's variables are not those that were trained")
        for v, a in zip(variables, own):
            v.assign(a)
        if model is self.model:
            state = self.step.opt_state()
            for k, v in zip(self.rule.keys, self.variables[len(own):]):
                v.assign(state[k])
            self.remember()
        return model


class Rows:
    """The rows of arrays in batches, in another order each time with a seed."""

    def __init__(self, x: Any, y: Any, weights: Any, size: int, seed: int | None) -> None:
        self.parts = [leaves(np.asarray, part) for part in ([x, y] if weights is None else [x, y, weights])]
        self.size, self.rng, self.count = size, None if seed is None else np.random.default_rng(seed), rows_of(x)
        if not self.count:
            raise ValueError("no rows")

        def counted(a: Any) -> Any:
            if len(a) != self.count:
                raise ValueError(f"{self.count} rows of x and {len(a)} of another array")
            return a
        for part in self.parts:
            leaves(counted, part)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        order = np.arange(self.count) if self.rng is None else self.rng.permutation(self.count)
        for at in range(0, self.count, self.size):
            rows = order[at:at + self.size]
            yield tuple(leaves(lambda a: a[rows], part) for part in self.parts)


class Batches:
    """Batches as an iterable, a generator or a keras.utils.PyDataset gives them."""

    def __init__(self, source: Any, steps: int | None) -> None:
        self.source, self.steps = source, steps
        self.indexed = hasattr(source, "__getitem__") and hasattr(source, "on_epoch_end")
        if steps is None and iter_is_self(source):
            raise ValueError("a generator does not begin again: steps_per_epoch says how many of its batches are an epoch")
        self.going: Any = iter(source) if not self.indexed and steps is not None else None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if self.indexed:
            batches: Any = (self.source[i] for i in range(self.steps or len(self.source)))
        elif self.going is not None:  # goes on where the last epoch ended
            batches = itertools.islice(self.going, self.steps)
        else:
            batches = iter(self.source)
        for batch in batches:
            if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
                raise ValueError(f"a batch is (x, y) or (x, y, weights), found {type(batch).__name__}")
            yield tuple(leaves(np.asarray, part) for part in batch if part is not None)
        if self.indexed:
            self.source.on_epoch_end()


class Callbacks:
    """Keras's callbacks, for which the model is what it would be in Keras's own fit."""

    def __init__(self, trainer: Trainer, given: Any, validates: bool, epochs: int) -> None:
        keras = trainer.keras
        self.trainer, own = trainer, list(given) if isinstance(given, (list, tuple)) else [given]
        if getattr(trainer.model, "optimizer", None) is not trainer.optimizer:
            raise ValueError("callbacks look at the model's optimizer: compile the model with the one that trains it")
        for c in own:
            monitor = getattr(c, "monitor", None)
            if isinstance(monitor, str) and monitor != "loss" and not (validates and monitor.startswith("val_")):
                raise ValueError(f"{type(c).__name__} monitors {monitor!r}: there is 'loss' and, with validation data, what begins with "
                                 "'val_'; metrics of the training batches are not computed")
        blank = keras.callbacks.Callback
        names = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
        self.each = any(getattr(type(c), n) is not getattr(blank, n) for c in own for n in names
                        if not (isinstance(c, keras.callbacks.ModelCheckpoint) and c.save_freq == "epoch"))
        self.list = keras.callbacks.CallbackList(own, add_history=False, add_progbar=False, model=trainer.model, epochs=epochs,
                                                 verbose=0)

    def begin(self) -> None:
        self.trainer.model.stop_training = False
        self.call("on_train_begin")

    def call(self, what: str, *args: Any) -> None:
        if "batch" in what and not self.each:
            return
        self.trainer.copy_to()
        getattr(self.list, what)(*args)
        self.trainer.look()


def bits(x: Any) -> bytes:
    return np.asarray(x).tobytes()


def leaves(f: Callable[[Any], Any], tree: Any) -> Any:
    """Applies f to the arrays of lists, tuples and dicts. A list of plain numbers is an array."""
    if isinstance(tree, dict):
        return {k: leaves(f, v) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)) and tree and all(hasattr(v, "shape") or isinstance(v, (dict, list, tuple)) for v in tree) \
            and any(hasattr(v, "shape") and len(v.shape) or isinstance(v, dict) for v in tree):
        return type(tree)(leaves(f, v) for v in tree)
    return f(np.asarray(tree) if isinstance(tree, (list, tuple)) else tree)


def rows_of(tree: Any) -> int:
    """The rows of the first array."""
    found: list[int] = []
    leaves(lambda a: found.append(len(a)), tree)
    return found[0]


def iter_is_self(source: Any) -> bool:
    return hasattr(source, "__next__")


def weights_of(classes: Mapping[int, float], y: Any) -> Any:
    """Weights of rows by their class, as Keras makes them: 1 where none is given."""
    y = np.asarray(y)
    if y.ndim > 1:
        y = np.argmax(y, -1) if y.shape[-1] != 1 else y[..., 0]
    y = np.rint(y).astype(np.int64)
    found = np.ones(y.shape, np.float32)
    for k, w in classes.items():
        found[y == k] = w
    return found


def loss_of(keras: Any, model: Any, given: Any) -> Callable[..., Any]:
    """A loss of targets, outputs and weights of rows, as `fit` of Keras takes it: of a name or a function the mean over the
    rows. A model that was compiled with several losses, or with weights of them, has Keras's own sum of them."""
    own = type(model).compute_loss is not keras.Model.compute_loss
    if given is None and own:
        raise ValueError("the model has a compute_loss of its own, which would not be called: give loss=, or write it for reprise.jax")
    chosen = wanted(given, getattr(model, "loss", None), "loss")
    compiled = getattr(getattr(model, "_compile_config", None), "config", None) or {}
    weighs = compiled.get("loss_weights") is not None
    named = isinstance(chosen, str) and chosen.lower() in ("crossentropy", "ce", "accuracy", "acc")
    if given is None and (weighs or named or isinstance(chosen, (list, tuple, dict)) or len(getattr(model, "outputs", None) or [0]) > 1):
        def several(y: Any, out: Any, weights: Any = None) -> Any:
            with keras.StatelessScope():  # in which the means that it keeps for its reports are left
                found = model._compile_loss(y, out, weights)
            if found is None:
                raise ValueError("the model was compiled with no loss of any output")
            return found
        several.several = True  # type: ignore[attr-defined]
        return several
    if named or isinstance(chosen, (list, tuple, dict)):
        raise ValueError(f"loss {chosen!r} is another one for each form of targets or output: name one, or compile the model with it")
    found: Callable[..., Any] = keras.losses.get(chosen)
    kind: type = keras.losses.Loss
    if not isinstance(found, kind):
        inner = found

        class Mean(kind):  # type: ignore[misc]
            def call(self, y_true: Any, y_pred: Any) -> Any:
                return inner(*same_rank(keras, y_true, y_pred))
        found = Mean()

    def one(y: Any, out: Any, weights: Any) -> Any:
        if not hasattr(out, "dtype"):
            raise ValueError(f"the model gives a {type(out).__name__} of outputs: compile it with its losses, or write the loss of all "
                             "for reprise.jax")
        value = found(y, out, sample_weight=weights)
        if getattr(value, "shape", ()) != ():
            raise ValueError("the loss is not reduced to one number: give it a reduction other than 'none'")
        return value
    return one


def same_rank(keras: Any, y: Any, out: Any) -> tuple[Any, Any]:
    """Targets and outputs as Keras gives them to a function: [n] beside [n, 1] would be spread over [n, n] by most."""
    for a, b, turned in ((y, out, False), (out, y, True)):
        if len(a.shape) == len(b.shape) + 1 and a.shape[-1] == 1:
            a, b = (a, keras.ops.expand_dims(b, -1)) if len(b.shape) == 1 else (keras.ops.squeeze(a, -1), b)
            return (b, a) if turned else (a, b)
    return y, out


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


def compile(model: Any, batch: tuple[Any, ...], *, loss: Any = None, optimizer: Any = None, **options: Any) -> Trainer:
    """A trainer of a Keras model on the jax backend.

    batch       (x, y) or (x, y, weights of rows), an example of shapes and types
    loss        of Keras, by name or object; without it the one that the model was compiled with. Likewise the optimizer
    options     of reprise.jax.compile: check, tolerance, run, threads ..

    Raises Unsupported with the primitive's name where something has no translation."""
    return Trainer(model, batch, loss, optimizer, options)
