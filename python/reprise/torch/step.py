# SPDX-License-Identifier: Apache-2.0
"""`compile`: a module, a loss and an optimizer become a step that enters C once."""
from __future__ import annotations

import contextlib
import importlib
import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from .._core import StepBase
from .traps import framework
from .beside import Beside, look_after, took
from .check import any_complex, as_array, check, zeros_of
from .clipping import Clip, guard
from .lower import Unsupported
from .optim import Optimizer, own_moments
from .recording import OPEN, record
from .refusals import CHECKS, advise
from .guards import Guards, Held, asks, burned_in, structure_of, tensors_of
from .substitutes import ASKED
from .training import Batch, Built, build, captured_step, names_of

MOST_PROGRAMS = 64
MOST_LOOKS = 16  # in vain, one after the other: then the short way is taught no more
VERSION = operator.attrgetter("_version")  # PyTorch counts a tensor's changes in place
TRAINED = operator.attrgetter("requires_grad")


@dataclass
class Ready:
    """A program that is bound to the run: `places`: feed, which leaf of the batch, how its elements are got; `hyper`: the feeds of
    the optimizer with their types; `updates`: of the last batch of a step; `taken`: whether the short way knows it."""

    compiled: Any
    places: list[tuple[str, int, Callable[[Any], Any]]]
    hyper: dict[str, Callable[[float], Any]]
    built: Built
    states: frozenset[str]
    updates: bool = True
    taken: bool = False


class Step(StepBase):
    """A compiled training step: `loss = step(x, y)`. Made by `compile`. A call is forward, gradients and the optimizer's update. A
    batch of another shape is another program, built when it first comes. It gives the loss as a tensor of one element; float(loss)
    is its value. Threads that call it take turns.

    state      the values of parameters, buffers and moments by name, as tensors
    program    the program of the last step's shapes; `programs` counts them
    origin     what the archive says of where the program came from: versions, the graph's digest, the check of gradients
    copy_to    writes the parameters and buffers into a module, bit for bit; of its own module the optimizer's moments too"""

    def __init__(self, module: Any, loss: Callable[..., Any] | None, example: Any, optimizer: Any, *, check_gradients: bool,
                 bound: float, seed: Any, clip: Clip, every: int, options: Mapping[str, Any]) -> None:
        self.module, self.loss, self.clip = module, loss, clip
        self.optimizer = Optimizer(optimizer, every)
        self.names = names_of(module, loss)
        self._asks = asks("requires_grad", module, loss)
        self.options = dict(options)
        self.built: dict[Any, Built] = {}
        self._ready: dict[Any, Ready] = {}
        self._run: Any = None
        self._recording: record | None = None
        self._kind = framework().Tensor  # of what the short way takes, which knows no program yet
        self._taught: frozenset[str] | None = None  # the states of the steps that it knows
        self._blind = 0
        self._own: list[Any] = [p for r in self._roots() for p in r.parameters()]
        self._trained: list[bool] = []
        self._guards, self._held = Guards([]), Held([], [])
        self._members: list[tuple[int, ...]] = []
        self._generations: dict[Any, tuple[int, Guards]] = {}  # with what has their objects live: identities stay theirs
        self._generation = 0
        self._seen: list[tuple[str, Any]] = []
        self._tensors: list[Any] = []
        self._versions: list[int] = []
        self._zeros: list[str] = []  # the states whose gradient PyTorch has as 0, and no program has
        self._states: set[str] = set()  # all names of the states that the run has
        self._keys: list[Any] | None = list(example) if isinstance(example, dict) else None
        self._moved()
        self.origin: dict[str, Any] = {}
        batch = self.batch(example)
        first = self._build(batch, None, True)
        self._states = {name for names in first.captured.names.values() for name in names}
        self.origin = self._origin(first, batch, check_gradients, bound)
        if self._zeros:  # the program is another one with them
            self.built.clear()
            first = self._build(batch, None, True)
        self._values: dict[str, Any] = {s: as_array(t).copy() for s, t in first.captured.tensors.items()}
        for state, names in first.moments.items():
            self._values.update({name: self.optimizer.moment(m, state) for m, name in names.items()})
        for state, name in first.sums.items():
            self._values[name] = np.zeros_like(self._values[state])
        self._summed = frozenset(first.sums)  # the states of the batches since the last update
        if first.draws:
            self._values["rng"] = np.array([seed, 0] if np.ndim(seed) == 0 else seed, np.int64).reshape(2)
        self._first = first.captured
        self._names, self._kinds = first.captured.names, {s: t.dtype for s, t in first.captured.tensors.items()}
        self._look()
        self.optimizer.counts(frozenset(first.trained))  # refuses what one rate is none for, before there is a step
        own_moments(self)
        guard(self)
        self.beside = Beside(self)
        for root in self._roots():
            look_after(root)

    def __reduce__(self) -> tuple[Any, ...]:
        raise Unsupported("a compiled step has a run, a module and an optimizer that are its own, and is not copied or pickled",
                          remedy="step.copy_to(module), then copy or save module and optimizer (their state_dict() has all moments), and "
                                 "compile those again")

    # ---- a step ----

    def batch(self, batch: Any) -> Batch:
        if isinstance(batch, dict) and self._keys is not None and set(batch) == set(self._keys):
            batch = {k: batch[k] for k in self._keys}  # names in another order are the same batch
        return Batch.of(batch, self.names, self._asks)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other thread makes a step meanwhile."""
        self._hold()
        try:
            yield
        finally:
            self._release()

    def _note(self, e: Exception) -> None:
        """Where in the model the instruction comes from at which the last program stopped."""
        at = re.match(r"instruction (\d+)", str(e)) if isinstance(e, importlib.import_module("reprise").Error) else None
        if at and self._last is not None and int(at[1]) in self._last.lines:
            e.add_note(f"in the model at {self._last.lines[int(at[1])]}")
        if at:
            advise(e)

    def _long(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A step of any batch after anything: what the short way leaves to Python, and then learns."""
        if self._guards.changed() or list(map(TRAINED, self._own)) != self._trained or self.optimizer.members() != self._members:
            self._moved()
        if list(map(VERSION, self._tensors)) != self._versions or not self._held.stand():
            self._changed()
        self.beside.stand()
        if args and kwargs:
            raise TypeError("a batch is given by position, or by name, as the example was")
        batch: Batch | None = None
        leaves: Any = args
        try:  # tensors alone, by position: as Batch.of has it, without its cost
            key: Any = (tuple([(t.shape, t.dtype) for t in args]), self._generation, self.optimizer.last)
            found = self._ready.get(key) if args and not self._asks else None
        except AttributeError:
            found = None
        if found is None:
            batch = self.batch(args if args else kwargs)
            key, leaves = (batch.key, self._generation, self.optimizer.last), batch.leaves
            found = self._ready.get(key)
        wanted = OPEN[-1] if OPEN else None
        if found is None or self._recording is not wanted:
            found = self._prepare(batch or self.batch(args), key, wanted)
        if self.optimizer.turn and found.states != self._summed:
            raise Unsupported("a batch has gradients of other parameters than those before it of the same step",
                              remedy="Freeze, thaw and leave out between steps, not between their batches")
        self._summed = found.states
        try:
            feeds = {name: array_of(leaves[k]) for name, k, array_of in found.places}
        except (RuntimeError, TypeError):  # of another device, or with a gradient of its own
            feeds = {name: as_array(leaves[k]) for name, k, _ in found.places}
        for name, value in self.optimizer.feeds(found.states):
            if name in found.hyper:
                feeds[name] = found.hyper[name](value)
        self._last = found.built
        try:
            loss = found.compiled(**feeds)["loss"]
        except importlib.import_module("reprise").Error as e:
            self._note(e)
            raise
        self.optimizer.count(found.states)
        self.optimizer.torch._opt_called = True  # schedulers ask whether a step came before theirs
        if self._taught != found.states:
            self._forget()  # steps of the states that it knows are no longer those of all
        if args and len(leaves) == len(args) and not any_complex(args) and not self._asks:
            self._teach(args, found)
        return loss

    def _teach(self, leaves: tuple[Any, ...], found: Ready) -> None:
        """Shows the short way what this step was, so that the next like it is its own. What was looked at before the step is what it
        goes on from: a change since then is one for the next step to see."""
        if not self._short_stands():
            self._forget()
            rates = self.optimizer.rates()
            if rates is None or self._blind >= MOST_LOOKS or self.optimizer.members() != self._members or \
                    self._recording is not (OPEN[-1] if OPEN else None):
                return
            watched = self._watched()
            if self._guards.changed():  # after the count of hooks, which came while the step was made
                return
            if not self._short_watch([(self._kind, "is_neg")], watched, rates, vars(self.optimizer), "steps", "turn",
                                     self.optimizer.every, self.optimizer.made, found.states):
                self._blind += 1  # there is something that it cannot compare
                self._forget()
                return
            self._taught, self._blind = found.states, 0
        if not found.taken:
            feeds: list[str | None] = [None] * len(leaves)
            for name, k, _ in found.places:
                feeds[k] = name
            found.taken = self._short_add(leaves, tuple(feeds), self.optimizer.rate_feeds(found.hyper), found.compiled, "loss",
                                         found.built, found.updates)

    def _watched(self) -> list[tuple[Any, ...]]:
        """All that a step looks at before it is made, as it is now."""
        own = vars(self.optimizer.torch)
        found = [*self._guards.places(), *self._held.places(), *zip(self._tensors, repeat("_version"), self._versions),
                *zip(self._own, repeat("requires_grad"), self._trained), (own, "state", self.optimizer.own), (own, "_opt_called", True),
                *self.beside.places(), self.optimizer.kept(), (own, "param_groups", list(own["param_groups"])),
                *((g, "params", list(g["params"])) for g in own["param_groups"]), (globals(), "OPEN", list(OPEN))]
        alike = [tuple(v if type(v) is int else id(v) for v in place[2:]) for place in found]
        return [*{(id(place[0]), place[1], a): place for place, a in zip(found, alike)}.values()]  # the count of hooks is there twice

    def _forget(self) -> None:
        """What the short way was taught holds no longer."""
        self._short_clear()
        self._taught = None
        for ready in self._ready.values():
            ready.taken = False

    def _changed(self) -> None:
        names = {id(t): n for n, t in self._seen}
        changed = [t for t, v in zip(self._tensors, self._versions) if t._version != v]
        found = [*(names[id(t)] for t in changed), *self._held.moved()]
        raise Unsupported(f"{', '.join(found[:4])} of the module changed since it was compiled, which the step would not see: its states "
                          "are its own", remedy="step.load() takes the module's values; "
                                                 "step.copy_to(module) writes the step's into it")

    def _look(self) -> None:
        """Remembers the tensors of the module, and those that programs have taken values of, as they are now."""
        self._seen, self._tensors, self._versions = [], [], []
        self._watch(self._named().items())
        for b in self.built.values():
            self._watch(b.captured.constants.items())
        self._hold_on()

    def _hold_on(self) -> None:
        """Looks from now on where the tensors are that programs have taken values of."""
        self._held = Held(tensors_of(self.module, self.loss), self._tensors, structure_of(self.module, self.loss))

    def _watch(self, found: Iterable[tuple[str, Any]]) -> None:
        self._forget()
        for name, t in found:
            if not any(t is o for o in self._tensors):
                self._seen.append((name, t))
                self._tensors.append(t)
                self._versions.append(t._version)

    def _named(self) -> dict[str, Any]:
        """The parameters and buffers by name, as programs call them."""
        return {("loss." if r is self.loss else "") + n: t for r in reversed(self._roots())
                for n, t in (*r.named_parameters(remove_duplicate=False), *r.named_buffers(remove_duplicate=False))}

    def _roots(self) -> list[Any]:
        return [r for r in (self.module, self.loss) if hasattr(r, "named_parameters")]

    def load(self) -> None:
        """Takes the parameters and buffers that the module has now, and of an optimizer that was loaded (load_state_dict), or that has
        the moments of all steps (copy_to, state_dict) and may have made more, moments and the number of steps; else these stay. What
        was a constant is captured anew. Not inside a record."""
        with self._alone():
            self._load()

    def _load(self) -> None:
        if self._recording is not None:
            raise Unsupported("loading inside a record", remedy="Load before it: the record then begins with what was loaded")
        self.beside.load()
        if self._run is not None:
            self._leave()
        if not self.optimizer.ahead():
            self.optimizer.take()
            for state, names in self.optimizer.moments.items():
                self._values.update({name: self.optimizer.moment(m, state) for m, name in names.items()})
        now = self._named()
        self._values.update({s: as_array(now.get(self._names[s][0], t)).copy() for s, t in self._first.tensors.items()})
        self.built.clear()
        self._own = [p for r in self._roots() for p in r.parameters()]
        self._moved()
        self._look()
        self.beside.copied = took(self)

    def _moved(self) -> None:
        """A number of Python that programs burn in has changed: the programs of the new ones are others."""
        self._forget()
        self.optimizer.place(self._own)
        found = Guards(burned_in(self.module, self.loss) + self.optimizer.guards())
        self.optimizer.constants()  # refuses what programs would not do: the next step then finds the change again
        self._guards, self._trained, self._members = found, list(map(TRAINED, self._own)), self.optimizer.members()
        values = (self._guards.key, tuple(self._trained), tuple(self._members))
        self._generation = self._generations.setdefault(values, (len(self._generations), self._guards))[0]

    # ---- programs ----

    def _build(self, batch: Batch, known: Mapping[str, Any] | None, last: bool | None = None) -> Built:
        last = self.optimizer.last if last is None else last
        key = (batch.key, self._generation, last)
        if len(self.built) >= MOST_PROGRAMS:
            raise Unsupported(f"{MOST_PROGRAMS} programs were made already: each batch has another shape, or a number of Python "
                              "changes at each step", remedy="Pad batches to few shapes; make what changes a tensor of the batch; "
                              "OneCycleLR with cycle_momentum=False")
        other = self.built.get((*key[:2], not last))  # of the same batch as another one of a step
        ASKED.names.clear()
        captured = other.captured if other is not None else captured_step(self.module, self.loss, batch, self._states)
        self._asks = self._asks or bool(ASKED.names)  # a key without what was asked for is not found again
        zeros = zeros_of(self.module, self.loss, batch, captured, self._zeros) if self._zeros else []
        built = build(captured, self.optimizer, known, clip=self.clip, last=last, zeros=zeros)
        self._watch(built.captured.constants.items())
        self._hold_on()
        self.built[key] = built
        self._last = built
        return built

    def _prepare(self, batch: Batch, key: Any, wanted: record | None) -> Any:
        if self._run is None or self._recording is not wanted:
            if key not in self.built:  # before the run has begun: so its constants are data
                self._build(batch, None)
            self._begin(wanted)
        if key not in self.built:
            self._build(batch, self._run_data)
        if key not in self._ready:
            self._compile(key, batch)
        return self._ready[key]

    def _compile(self, key: Any, batch: Batch) -> None:
        built = self.built[key]
        missing = [i[1] for i in built.program.inputs if i[0] == "state" and i[1] not in self._values]
        if missing:
            raise Unsupported(f"this batch's program has states that the run began without: {', '.join(missing)}",
                              remedy="Compile with an example that uses all parameters")
        lost = [n for n in built.data if n not in self._run_data]
        if lost:  # built before this run had begun with other data
            built = self.built[key] = build(built.captured, self.optimizer, self._run_data, clip=self.clip, last=key[2], zeros=built.trained)
        compiled = self._run.compile(built.program)
        for name, array in built.fed.items():
            compiled.write(name, array)
        torch = framework()
        at = [k for k, x in enumerate(batch.leaves) if isinstance(x, torch.Tensor)]
        places: list[tuple[str, int, Callable[[Any], Any]]] = [
            (n, k, as_array if batch.leaves[k].dtype is torch.bfloat16 or batch.leaves[k].is_complex() else torch.Tensor.numpy)
            for n, k in zip(built.feeds, at) if n is not None]
        real: dict[str, Callable[[float], Any]] = {"f32": np.float32, "f64": np.float64}
        hyper = {i[1]: real[i[3]] for i in built.program.inputs if i[0] == "feed" and i[1] in built.hyper}
        self._ready[key] = Ready(compiled, places, hyper, built, frozenset(built.trained), key[2])

    def _begin(self, wanted: record | None) -> None:
        """A run with the values there are now, recorded where wanted."""
        reprise = importlib.import_module("reprise")
        if self._run is not None:
            self._values = {n: np.array(self._run.get_state(n)) for n in self._values}
        if wanted is None:
            self._run = reprise.Run(**self.options)
        else:
            wanted.take(self)
            self._run = wanted.inner.run
            if wanted.seed is not None and "rng" in self._values:
                self._values["rng"] = np.array([wanted.seed, 0], np.int64)
        self._run_data: dict[str, Any] = {}
        for built in self.built.values():
            self._run_data.update(built.data)
        for name, value in self._values.items():
            self._run.add_state(name, value)
        for name, array in self._run_data.items():
            self._run.add_data(name, array)
        if wanted is not None and wanted.origin:
            text = json.dumps(self.origin, sort_keys=True, separators=(",", ":")).encode()
            self._run.add_state("origin.json", np.frombuffer(text, np.uint8))  # data that no program reads is in no archive
        self._forget()
        self._ready = {}
        self._recording = wanted

    def _leave(self) -> None:
        """The run's recording ends: what comes next begins another run, with the values there are."""
        self._values = {n: np.array(self._run.get_state(n)) for n in self._values}
        self._forget()
        self._run, self._recording, self._ready = None, None, {}

    def _origin(self, first: Built, batch: Batch, check_gradients: bool, bound: float) -> dict[str, Any]:
        torch = framework()
        found: dict[str, Any] = {"difference": None, "why": "not compared: check=False"}
        if check_gradients:
            found, self._zeros = check(self.module, self.loss, batch, first.captured, bound)
        checks = {str(n.args[1]): CHECKS[n.args[1]] for n in first.captured.graph.nodes if n.op.startswith("reprise.check")}
        return {**({"checks": checks} if checks else {}), "framework": "torch", "version": str(torch.__version__),
                "exporter": "torch.export, run_decompositions({})", "graph": first.captured.graph.digest(),
                "optimizer": self.optimizer.kind, "gradients": found}

    # ---- what there is ----

    @property
    def program(self) -> Any:
        return self._last.program if self._last is not None else None

    @property
    def programs(self) -> int:
        return len(self.built)

    @property
    def state(self) -> dict[str, Any]:
        tensor = importlib.import_module("reprise").Tensor
        with self._alone():  # the run may be another's to begin
            return {n: self._run.get_state(n) if self._run is not None else tensor(v) for n, v in self._values.items()}

    def copy_to(self, module: Any) -> None:
        """Writes parameters and buffers into a module, or into what has the same names; every bit is the state's. Raises KeyError
        where a name is missing, ValueError where a shape or type is another."""
        torch = framework()
        own = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
        with self._alone(), torch.no_grad():
            values = self.state
            for state, names in self._names.items():
                for name in names:
                    if name not in own and name.startswith("loss."):
                        continue
                    t, v = own[name], values[state]
                    kind = t.dtype
                    t = torch.view_as_real(t) if t.is_complex() else t
                    if tuple(t.shape) != tuple(v.shape) or kind != self._kinds[state]:
                        raise ValueError(f"{name} is {kind}{list(t.shape)}, the state {v.dtype}{list(v.shape)}")
                    t.copy_(torch.utils.dlpack.from_dlpack(v) if v.dtype == "bf16" else torch.from_numpy(np.array(v)))
            if module is self.module:
                self.write_moments()
                self.beside.copied = took(self)
            self._look()

    def write_moments(self) -> None:
        """Gives PyTorch's optimizer the moments that the steps made, where it was not loaded since."""
        with self._alone():
            self.optimizer.write(lambda name: np.array(self._run.get_state(name) if self._run is not None else self._values[name]))


def compile(module: Any, loss: Callable[..., Any] | None = None, example: Any = None, optimizer: Any = None, *, check: bool = True,
            strict: bool = True, bound: float = 1e-3, seed: Any = 0, clip_norm: float | None = None, norm_type: float = 2.0,
            clip_value: float | None = None, accumulate: int = 1, **options: Any) -> Step:
    """A training step of a module.

    loss       loss(module(x, ..), target); None: the module's own value, or its `loss`, is the loss
    example    a batch: (x, .., target), or a dict of what the module takes
    optimizer  one of torch.optim (LBFGS and SparseAdam apart), with its parameter groups; rates are read at each step, and its
               state_dict() has the moments of the steps made
    check      the first gradients are compared with PyTorch's, at most `bound` apart relative to each tensor's largest
    strict     always: what cannot be a program is refused. To try a model of which parts run in PyTorch, torch.compile(module,
               backend="reprise")
    seed       of dropout and of other draws; a pair, as state["rng"] is, goes on after as many batches as the second says
    clip_norm  the gradients' norm of order norm_type is at most this, as torch.nn.utils.clip_grad_norm_ has it of all parameters
               that the optimizer trains
    clip_value each element of a gradient is between -clip_value and clip_value, as clip_grad_value_ has it
    accumulate so many batches are one step of the optimizer: a call takes one of them, and adds the gradients of its loss divided
               by this; the last one clips and updates
    options    threads, level, device, memory of the run

    The module is captured in the mode in which it is (train or eval) and is not changed: step.copy_to(module) writes what was
    trained. Raises Unsupported, with operation, source line and remedy, and GradientMismatch."""
    if not strict:
        raise TypeError('compile is strict; torch.compile(module, backend="reprise") tries')
    if example is None or optimizer is None:
        raise TypeError("compile(module, loss, example, optimizer): an example batch and an optimizer of torch.optim")
    if isinstance(accumulate, bool) or not isinstance(accumulate, int) or accumulate < 1:
        raise ValueError(f"accumulate is a number of batches, 1 or more, not {accumulate!r}")
    return Step(module, loss, example, optimizer, check_gradients=check, bound=bound, seed=seed,
                clip=Clip(clip_norm, norm_type, clip_value), every=accumulate, options=options)
