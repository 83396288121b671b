# SPDX-License-Identifier: Apache-2.0
"""Training steps of jax code: `compile`, and `record` that makes archives of them."""
from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._core import Error, StepBase
from ..recording import record as recording
from .capture import capture
from .graph import NAMES, Graph, Unsupported
from .lowering import MOST_ITERATIONS
from .program import Parts, training
from .complexes import apart, is_complex
from .wide import in_binary32
from .trees import Tree, alone, given, host, is_real, is_trained, jax, like, paired, taken, tree, variables

TOLERANCE = {"f64": 1e-9, "f32": 2e-3, "bf16": 0.1, "f16": 0.05}
PROBES, NUDGE, FACTOR = 4, 16, 8.0  # of a comparison that does not agree: how often, by how many last places, how far beyond
MOST_EXCUSED = 0.5  # of a parameter's largest: a sign or a factor that was lost is farther
NEAR = 2.0  # of losses of narrow types: how far beyond jax's own distance from the gradients in binary32
_recordings: list[record] = []


class GradientsDiffer(Error, ArithmeticError):
    """The first step's gradients, or its loss, are not jax's within the tolerance. check: as of Step.check."""

    def __init__(self, check: dict[str, Any], tolerance: float) -> None:
        what = (f"the gradient of {check['leaf']} differs from jax.grad by {check['share']:.3g} of its own largest"
                if not check["share"] <= tolerance else f"the loss is {check['loss']!r}, jax has {check['loss_jax']!r}")
        super().__init__(f"{what}, the tolerance is {tolerance:g}. If the loss is ill conditioned, compare in binary64 "
                         "(jax.config.update('jax_enable_x64', True)) or give a tolerance; else please report it")
        self.check, self._tolerance = check, tolerance

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.check, self._tolerance)


@dataclass
class Compiled:
    """The program of one shape of batch."""

    program: Any
    parts: Parts
    data: dict[str, np.ndarray[Any, Any]]
    auxiliary: Callable[[dict[str, Any]], Any]
    late: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)  # constants that are fed, as the run had begun
    compiled: Any = None
    taken: bool = False  # by the short way


class record(recording):
    """As reprise.record, and steps of reprise.jax that are called inside are recorded:

        with rj.record("run.reprise", key="me.pem"):
            for batch in batches:
                loss = step(*batch)

    What a step began with is what it has when it is first called inside. origin: the archive also holds `origin.json`, the
    versions of jax and its libraries, the digest of the captured loss and the comparison of gradients, as a state that no
    step changes; without it an archive's id depends on the program and what goes through it alone."""

    def __init__(self, path: Any, *, origin: bool = True, **options: Any) -> None:
        super().__init__(path, **options)
        self.origin, self.step = origin, None

    step: Any

    def take(self, step: Any) -> None:
        if self.step is not None and self.step is not step:
            raise Unsupported("a record has one compiled step: open a record for each, or make one loss of both")
        self.step = step

    def __enter__(self) -> Any:
        _recordings.append(self)
        return super().__enter__()

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        _recordings.remove(self)
        return bool(super().__exit__(kind, value, trace))


def kept_by(before: list[tuple[str, Any, Any]], out: Any) -> None:
    """Raises Unsupported for a variable of nnx that the loss wrote into and whose new value it does not give back: jax forgets it with the
    trace, so that a dropout would have one mask in all steps and a batch norm its first statistics."""
    given_back = {id(x) for x in jax().tree_util.tree_leaves(out)}
    for where, variable, old in before:
        new = variable.get_raw_value()
        if new is not old and id(new) not in given_back:
            raise Unsupported(f"the loss writes into the {type(variable).__name__} at {where} and does not give it back, so that "
                              "each step would begin with the first value again: `graph, params, rest = nnx.split(model, nnx.Param, ...)`, "
                              "`state=rest`, and in the loss `nnx.merge(graph, params, rest, copy=True)`, whose `nnx.state(model, nnx.Not("
                              "nnx.Param))` is returned beside the value")


class Step(StepBase):
    """A training step: step(*batch) makes one and returns the loss, or (loss, auxiliary values) with has_aux. A batch of arrays
    like one that came before is taken as it lies and the step is one call of C; threads that call it take turns.

    check       the comparison of the first gradients with jax.grad: difference (the largest, relative to the largest
                gradient), leaf (where it is largest relative to its own), share, loss and loss_jax; jit: the share where
                jax.jit alone differs, and the rest is of jax without it. None without a comparison
    program     the program of the last batch's shapes; graph: the loss as captured"""

    def __init__(self, loss: Any, params: Any, batch: Any, optimizer: Any, *, state: Any, has_aux: bool, check: bool,
                 tolerance: float | None, while_limit: int, run: Any, options: dict[str, Any]) -> None:
        self._loss, self._optimizer, self._has_state, self._has_aux = loss, optimizer, state is not None, has_aux
        self._iterations, self._options, self._run = while_limit, options, run
        self._own = run is not None
        self._params: Tree = tree("params", params, is_trained)
        self._trained = alone(params, is_trained)
        if not self._params.leaves:
            raise ValueError("params has no array of floats to train")
        self._state: Tree = tree("state", state)
        first = optimizer.init(self._trained(list(self._params.leaves))) if optimizer is not None else None
        self._opt: Tree = tree("opt", first)
        self._values = {n: np.array(v) if v is x else v for t in (self._params, self._opt, self._state)
                        for n, x, v in zip(t.names, t.leaves, map(given, t.leaves))}  # an array of numpy may be written into later
        self._compiled: dict[Any, Compiled] = {}
        self._taught = False  # whether the short way stands
        self._plain: dict[Any, Compiled] = {}
        self._names: dict[int, list[str]] = {}
        self.check: dict[str, Any] | None = None
        self._last = self._for(self._batch(batch))
        if check:
            self._compare(self._batch(batch), tolerance)

    # ---- building ----

    def _batch(self, batch: Any) -> Tree:
        return tree("batch", batch if isinstance(batch, tuple) else (batch,))

    def _flat(self, batch: Tree, form: dict[str, Any]) -> Callable[..., list[Any]]:
        """The loss as a function of flat arrays: parameters, states, batch. It gives the loss, the new states and the
        auxiliary values, whose form is left in `form`, beside the loss's type."""
        p, s = len(self._params.leaves), len(self._state.leaves)

        def flat(*leaves: Any) -> list[Any]:
            params = self._params.build(list(leaves[:p]))
            args = (self._state.build(list(leaves[p:p + s])),) if self._has_state else ()
            fed = batch.build(list(leaves[p + s:]))
            parts = {"params": params, "state": args[0] if args else None, "batch": fed}
            before = [(name + where, x, x.get_raw_value()) for name, part in parts.items() for where, x in variables(part)]
            out = self._loss(params, *args, *fed)
            kept_by(before, out)
            value, new, aux = self._parts(out)
            if getattr(value, "shape", None) != () or not is_real(value):
                raise TypeError(f"the loss is one float, found {value}")
            left = tree("state", new)
            if left.names != self._state.names:
                raise TypeError(f"the loss returns a state of {left.names}, and gets one of {self._state.names}")
            more = tree("aux", aux)
            form["names"], form["build"], form["dtype"] = more.names, more.build, value.dtype
            form["pairs"] = {n for n, x in zip(more.names, more.leaves) if is_complex(x)}
            return [value, *left.leaves, *more.leaves]
        return flat

    def _parts(self, out: Any) -> tuple[Any, Any, Any]:
        if self._has_state and self._has_aux:
            value, (new, aux) = out
            return value, new, aux
        if self._has_state:
            return out[0], out[1], None
        return (out[0], None, out[1]) if self._has_aux else (out, None, None)

    def _for(self, batch: Tree) -> Compiled:
        """The program for a batch's shapes and what in it is no array, made where they are new."""
        key = batch.key
        if key not in self._compiled:
            self._compiled[key] = self._build(batch)
        return self._compiled[key]

    def _build(self, batch: Tree) -> Compiled:
        form: dict[str, Any] = {}
        graph = capture(self._flat(batch, form), *self._params.leaves, *self._state.leaves, *batch.leaves)
        parts = Parts(graph, self._params.named, self._state.named, batch.named, self._update(form["dtype"]), self._opt.named, form["names"])
        has = self._has(self._run) if self._bound else None
        program, data = training(parts, iterations=self._iterations, bound=has)
        late = {n: a for n, a in data.items() if has is not None and n not in has}
        data = {n: a for n, a in data.items() if n not in late}

        def auxiliary(found: dict[str, Any]) -> Any:
            return form["build"]([paired(taken(found[n])) if n in form["pairs"] else jax().numpy.asarray(taken(found[n])) for n in form["names"]])
        return Compiled(program, parts, data, auxiliary, late)

    def _update(self, dtype: Any) -> Graph | None:
        """The optimizer's own code, captured as the loss is. One that looks at the loss, of type `dtype`, has it as its last input."""
        if self._optimizer is None:
            return None
        p, optimizer = len(self._params.leaves), self._optimizer

        def flat(*leaves: Any) -> list[Any]:
            own = self._trained(list(leaves[:p]))
            slopes = self._trained([g.conj() if is_complex(g) else g for g in leaves[p:2 * p]])  # as jax has those of complex numbers
            state = self._opt.build(list(leaves[2 * p:2 * p + len(self._opt.leaves)]))
            if hasattr(optimizer, "apply"):  # which gives the parameters, not what is added to them
                moved, new = optimizer.apply(slopes, state, own)
            else:
                looks = {"value": leaves[-1], "grad": slopes} if len(leaves) > 2 * p + len(self._opt.leaves) else {}
                moves, new = optimizer.update(slopes, state, own, **looks)
                moved = jax().tree_util.tree_map(lambda a, u: jax().numpy.asarray(a + u, a.dtype), own, moves)
            left = tree("opt", new)
            if left.names != self._opt.names:
                raise Unsupported("an optimizer whose state changes its form")
            return [*jax().tree_util.tree_leaves(moved), *left.leaves]
        given = [*self._params.leaves, *self._params.leaves, *self._opt.leaves]
        try:
            return capture(flat, *given)
        except TypeError as e:
            if hasattr(optimizer, "apply") or "argument" not in str(e):
                raise
        try:
            return capture(flat, *given, jax().numpy.zeros((), dtype))
        except TypeError as e:
            raise Unsupported("an optimizer whose update needs more than gradients, state, params and the loss, as one that searches along a "
                              f"line does; take one that does not: {e}") from e

    def _compare(self, batch: Tree, tolerance: float | None) -> None:
        """The gradients at the first batch beside jax.grad's."""
        parts = self._last.parts
        program, data = training(parts, gradients=True, iterations=self._iterations)
        made = Compiled(program, parts, data, self._last.auxiliary)
        run = importlib.import_module("reprise").Run(**self._options)
        self._bind(run, made, self._values)
        found = made.compiled(**{n: given(x) for n, x in zip(batch.names, batch.leaves)})
        fixed = [*self._state.leaves, *batch.leaves]
        flat = self._flat(batch, {})
        theirs = jax().value_and_grad(lambda own: flat(*own, *fixed)[0])
        ours = [np.asarray(taken(found[f"grad.{n}"]), np.float64) for n in self._params.names]
        dtypes = {d for g in parts.loss.graphs() for e in g.equations for d, _ in e.outputs} & set(TOLERANCE)
        if tolerance is None:
            tolerance = max((TOLERANCE[d] for d in dtypes), default=0.0)

        def at(f: Any, params: list[Any]) -> tuple[float, list[Any]]:
            value, grads = f(params)
            return float(value), [np.asarray(apart(g.conj() if is_complex(g) else g)).astype(np.float64) for g in grads]

        def beside(value: float, grads: list[Any]) -> dict[str, Any]:
            return compared(self._params.names, ours, grads) | {"loss": float(found["loss"]), "loss_jax": value}
        jitted, own = jax().jit(theirs), list(self._params.leaves)
        first = at(jitted, own)
        self.check = beside(*first)
        if agree(self.check, tolerance):
            return
        if dtypes <= {"f32", "f64"} and self._moves(lambda p: at(jitted, p), ours, first, tolerance):
            return
        with jax().disable_jit():  # what XLA makes of a whole function may be another than its operations one by one
            single = beside(*at(theirs, own))
        if not agree(single, tolerance):
            if dtypes & {"f16", "bf16"} and self._beside_wide(lambda own: flat(*own, *fixed)[0], at, ours, first, tolerance):
                return
            raise GradientsDiffer(self.check, tolerance)
        warnings.warn(f"jax.jit has another gradient of {self.check['leaf']} than jax without it, by {self.check['share']:.3g} of its "
                      "largest; the program has that of jax without it", stacklevel=4)
        self.check = single | {"jit": self.check["share"]}

    def _beside_wide(self, f: Callable[[list[Any]], Any], at: Callable[..., Any], ours: list[Any], first: tuple[float, list[Any]],
                     tolerance: float) -> bool:
        """Whether the program is as near to jax's gradients of the same loss computed in binary32 as the tolerance says, or, where jax's
        of the narrower types are no nearer (by NEAR), as those: as of a gradient that is 0 but for rounding, a bias before a batch norm."""
        check, (value, grads), own = self.check, first, list(self._params.leaves)
        assert check is not None
        wide = in_binary32(f, own)
        exact, slopes = at(jax().jit(jax().value_and_grad(lambda leaves: wide(*leaves)[0])), own)
        away, jaxs = shares(ours, slopes), shares(grads, slopes)
        bound = max(tolerance, NEAR * abs(value - exact) / max(abs(exact), 1.0))
        if not all(a <= excused(b, tolerance) for a, b in zip(away, jaxs)) or not agree(check | {"share": 0.0, "loss_jax": exact}, bound):
            return False
        self.check = compared(self._params.names, ours, slopes) | {"loss": check["loss"], "loss_jax": exact, "narrow": check["share"]}
        if not agree(self.check, tolerance):
            n = int(np.argmax(away))
            warnings.warn(f"rounding in the narrow types of the loss decides about the gradient of {self._params.names[n]}: beside the same loss in "
                          f"binary32 the program's is {away[n]:.3g} of its largest apart, and jax's own {jaxs[n]:.3g}", stacklevel=5)
        return True

    def _moves(self, f: Callable[[list[Any]], tuple[float, list[Any]]], ours: list[Any], first: tuple[float, list[Any]],
               tolerance: float) -> bool:
        """Whether jax's own gradient of each parameter that differs moves about as far when parameters move by some units in their last
        place: then rounding decides about it, in jax as here, and that is a warning, not an error."""
        check, (value, grads) = self.check, first
        assert check is not None
        away, moved, of_loss = shares(ours, grads), [0.0] * len(ours), 0.0
        for turn in range(PROBES):
            signs = np.random.default_rng(turn)
            there = [x * (1 + NUDGE * np.finfo(x.dtype).eps * signs.choice([-1, 1], x.shape)).astype(x.dtype)
                     for x in map(np.asarray, self._params.leaves)]
            other, slopes = f(there)
            moved = [max(a, b) for a, b in zip(moved, shares(slopes, grads))]
            of_loss = max(of_loss, abs(other - value))
            if not np.isfinite(of_loss) or not all(map(np.isfinite, moved)):
                return False
            if all(a <= max(tolerance, FACTOR * m) for a, m in zip(away, moved)) and agree(
                    check | {"share": 0.0}, max(tolerance, FACTOR * of_loss / max(abs(value), 1.0))):
                at = int(np.argmax(away))
                self.check = check | {"moved": moved[at]}
                warnings.warn(f"the loss is ill conditioned at the example: the gradient of {self._params.names[at]} differs from jax.grad by "
                              f"{away[at]:.3g} of its largest, and jax's own moves by {moved[at]:.3g} when parameters move by {NUDGE} units "
                              "in their last place. In binary64, or with a larger batch, the comparison says more", stacklevel=5)
                return True
        return False

    # ---- running ----

    def _has(self, run: Any) -> set[str]:
        """Names of the data that steps have added to a run."""
        if run is not self._data[0]:
            self._data = run, set()
        return self._data[1]

    def _bind(self, run: Any, made: Compiled, values: dict[str, Any]) -> None:
        have = set(run.states)
        for name in (n for kind, n, *_ in made.program.inputs if kind == "state"):
            if name not in have:
                run.add_state(name, values[name])
        begins = run is not self._data[0]
        known = self._has(run)
        for c in (made, *self._compiled.values()) if begins else (made,):  # none can be added later
            for name, array in c.data.items():
                if name not in known:
                    run.add_data(name, array)
                    known.add(name)
        made.compiled = run.compile(made.program)

    def _ready(self, made: Compiled) -> None:
        """Binds to the run that is being recorded, or to one of its own, with the values that the step has now."""
        wanted = _recordings[-1].run if _recordings and not self._own else self._run
        if wanted is None or not _recordings and not self._own and isinstance(wanted, recording_run()):
            wanted = importlib.import_module("reprise").Run(**self._options)
        if wanted is not self._run or not self._bound:
            if _recordings and not self._own:
                _recordings[-1].take(self)  # it may refuse: then nothing has changed
            self._forget()
            if self._run is not None and self._bound:
                self._values = {n: self._run.get_state(n) for n in self._values}
            self._run, self._bound = wanted, True
            for c in self._compiled.values():
                c.compiled = None
            if _recordings and not self._own and _recordings[-1].origin:
                self._say_origin(wanted, made)
        if made.compiled is None:
            self._bind(self._run, made, self._values)

    framework = "jax"  # of which the archive says that the model was one; Keras writes its own name
    _bound = False
    _data: tuple[Any, set[str]] = (None, set())

    def _say_origin(self, run: Any, made: Compiled) -> None:
        """What the archive says of where its program comes from: a state, as data that no program reads is in no archive."""
        names = ("jax", "jaxlib", "flax", "optax", "equinox", "keras")
        versions = {}
        metadata = importlib.import_module("importlib.metadata")
        for n in names:
            try:
                versions[n] = metadata.version(n)
            except metadata.PackageNotFoundError:
                continue
        text = json.dumps({"framework": self.framework, "graph": made.parts.loss.digest(), "versions": versions, "gradients": self.check},
                          sort_keys=True, separators=(",", ":"))
        run.add_state("origin.json", np.frombuffer(text.encode(), np.uint8))

    def _forget(self) -> None:
        self._short_clear()
        self._taught = False
        for c in self._compiled.values():
            c.taken = False

    def _teach(self, batch: tuple[Any, ...], made: Compiled) -> None:
        """Shows the short way what this step was: arrays of numpy and of jax that are the program's feeds as they are."""
        if not self._short_stands() or not self._taught:
            self._forget()
            kinds: list[tuple[type, str | None]] = [(np.ndarray, None), (type(jax().numpy.zeros(())), "weak_type")]
            self._taught = self._short_watch(kinds, [(globals(), "_recordings", list(_recordings))])
        if self._taught and not made.taken and len(batch) == len(made.parts.batch):
            names = tuple(n for n, _ in made.parts.batch)
            made.taken = self._short_add(batch, names, [], made.compiled, "loss", made, True, True)

    def _note(self, e: Exception) -> None:
        """What the error of an instruction that is there to fail (regions.fail_if) is of."""
        if "gather: index 1 at position 0 is out of range, expected 0 to 0" in str(e):
            e.add_note("in the loss: a while loop that is not done by while_limit, or a derivative that is infinite or no number where its "
                       "function is finite (a custom_jvp's or custom_vjp's own, xlogy at 0, lgamma at a pole): where() chooses other "
                       "operands there")

    def _long(self, batch: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A step of any batch: what the short way leaves to Python, and then learns."""
        if named:
            raise TypeError(f"a batch is given by position, found {', '.join(named)}")
        plain = all(type(x) is np.ndarray for x in batch)  # as in most loops: names and types are looked up, not made again
        key = tuple((x.shape, x.dtype) for x in batch) if plain else None
        made = self._plain.get(key) if key is not None else None
        if made is None:
            own = self._batch(batch)
            made = self._for(own)
            feeds = {n: given(x) for n, x in zip(own.names, own.leaves)}
            if key is not None and all(host(x) is x and x.dtype.name != "bfloat16" for x in batch):
                self._plain[key] = made
                self._names[len(batch)] = own.names
        else:
            feeds = dict(zip(self._names[len(batch)], batch))
        self._last = made
        self._ready(made)
        try:
            found = made.compiled(**feeds, **made.late)
        except importlib.import_module("reprise").Error as e:
            self._note(e)
            raise
        loss = float(found["loss"])
        if self._has_aux:
            return loss, made.auxiliary(found)
        self._teach(batch, made)
        return loss

    def assign(self, values: dict[str, Any]) -> None:
        """Gives states, by their names, other values from outside: a step of its own, whose feeds are the values, so that a
        record that is open holds it and its replay has them too."""
        self._hold()
        try:
            self._assign(values)
        finally:
            self._release()

    def _assign(self, values: dict[str, Any]) -> None:
        self._ready(self._last)
        builder = importlib.import_module("reprise").Builder()
        feeds = {}
        for n, (name, x) in enumerate(sorted(values.items())):
            array = given(x)
            own, kind = f"value.{n}", array.dtype if isinstance(array.dtype, str) else NAMES[array.dtype.name]
            builder.state(name, array.shape, kind)
            builder.update(name, builder.feed(own, array.shape, kind))
            feeds[own] = array
        self._run.compile(builder.finish())(**feeds)

    @property
    def program(self) -> Any:
        return self._last.program

    @property
    def graph(self) -> Graph:
        found: Graph = self._last.parts.loss
        return found

    def _now(self, t: Tree) -> Any:
        self._hold()  # they are those of one step
        try:
            known = set(self._run.states) if self._bound else set()
            arrays = [taken(self._run.get_state(n)) if n in known else settled(self._values[n]) for n in t.names]
        finally:
            self._release()
        return t.build(like(t.leaves, arrays))

    def params(self) -> Any:
        """The parameters as they are now, in the form in which they were given."""
        return self._now(self._params)

    def state(self) -> Any:
        """The states of the loss as they are now."""
        return self._now(self._state)

    def opt_state(self) -> Any:
        """The optimizer's state as it is now."""
        return self._now(self._opt)


def agree(check: dict[str, Any], tolerance: float) -> bool:
    a, b = check["loss"], check["loss_jax"]
    same = a == b or np.isnan(a) and np.isnan(b) or abs(a - b) <= tolerance * max(abs(a), abs(b), 1.0) < np.inf
    return bool(check["share"] <= tolerance and same)


def settled(value: Any) -> Any:
    """A state before any step, or after its run: an array or a tensor."""
    return value if isinstance(value, np.ndarray) else taken(value)


def recording_run() -> Any:
    return importlib.import_module("reprise.recording")._Recorded


def size_of(theirs: list[Any]) -> float:
    return max((float(np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=0)) for b in theirs), default=0.0)


def distance(a: Any, b: Any) -> float:
    """A NaN is equal to a NaN and to nothing else."""
    with np.errstate(invalid="ignore"):
        away = np.where((a == b) | np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
    return float(np.max(np.where(np.isnan(away), np.inf, away), initial=0))


def shares(ours: list[Any], theirs: list[Any]) -> list[float]:
    """How far each parameter's gradient is from theirs, relative to its own largest, or to a thousandth of the largest of all where that
    is more."""
    least, found = 1e-3 * size_of(theirs), []
    for a, b in zip(ours, theirs):
        far, own = distance(a, b), max(size_of([b]), least)
        found.append(0.0 if far == 0 else far / own if own else np.inf)
    return found


def excused(jaxs: float, tolerance: float) -> float:
    """The share that a program's gradient may be apart where jax's own is so far; what overflowed excuses nothing, nor noise all."""
    return max(tolerance, min(NEAR * jaxs, MOST_EXCUSED)) if np.isfinite(jaxs) else tolerance


def compared(names: list[str], ours: list[Any], theirs: list[Any]) -> dict[str, Any]:
    """difference: the largest anywhere, relative to the largest gradient; share: the largest of a parameter's, and its leaf."""
    top, far = size_of(theirs), max(map(distance, ours, theirs), default=0.0)
    found = shares(ours, theirs)
    at = int(np.argmax(found)) if found else -1
    return {"difference": 0.0 if far == 0 else far / top if top else np.inf, "share": found[at] if found else -1.0,
            "leaf": names[at] if found else ""}


def compile(loss: Any, params: Any, batch: Any, optimizer: Any = None, *, state: Any = None, has_aux: bool = False,
            check: bool = True, tolerance: float | None = None, while_limit: int = MOST_ITERATIONS, run: Any = None,
            **options: Any) -> Step:
    """A training step of a loss that is jax code.

    loss        loss(params, *batch) -> one float; with a state loss(params, state, *batch) -> (float, new state); with
                has_aux (float, auxiliary values), with both (float, (new state, auxiliary values))
    params      a pytree; its arrays of floats are trained, all else in it is part of the program
    batch       an example, whose values count for nothing but the comparison: a tuple is the loss's arguments, all else one
    optimizer   of optax, or what has its init and update; None: only the loss is computed
    state       a pytree that goes from step to step: statistics, random keys
    check       the gradients are compared with jax.grad at the example; a difference beyond the tolerance is an error
    run         a reprise.Run to use; else one of its own, or that of reprise.jax.record
    options     of reprise.Run

    Raises Unsupported, which names the primitive and the line, where something has no translation."""
    return Step(loss, params, batch, optimizer, state=state, has_aux=has_aux, check=check, tolerance=tolerance,
                while_limit=while_limit, run=run, options=options)
