# SPDX-License-Identifier: Apache-2.0
"""An optimizer of torch.optim as programs have it: coefficients are constants, the rate and what depends on the number of steps are
fed, moments are states, which are taken from PyTorch's optimizer and written back into it. The updates are in updates.py. Other
optimizers and options are refused by name."""
from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from .capture import storage_key
from .traps import Hooks, framework
from .lower import Lowering, Unsupported
from .updates import KINDS, Kind, Term, Update, shape_of

MUST: Mapping[str, Any] = {"differentiable": False}
IGNORED = {"params", "lr", "foreach", "fused", "capturable", "initial_lr", "decoupled_weight_decay", "max_lr", "min_lr", "max_momentum",
           "base_momentum", "param_names", "swa_lr"}
REFUSED = {"LBFGS": "it evaluates the loss several times a step, as often as a line search asks for; take another optimizer, or minimize "
                    "with PyTorch and compile_inference",
           "SparseAdam": "gradients of programs are dense; take Adam, and Embedding(sparse=False)"}

MOVES = ("momentum", "betas")
WHOLE = ("Adafactor", "Muon")  # whose update of an element depends on others
PARAMETERS = itemgetter("params")
GIVEN: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # by optimizer its hook on state_dict


@dataclass
class Optimizer:
    """A torch optimizer as programs have it. `kind`; `steps` made so far; `places`: group and parameter by its storage; `every`: how
    many batches a step has, of which `turn` went by already."""

    torch: Any
    every: int = 1
    turn: int = 0
    kind: str = ""
    steps: int = 0
    places: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)  # steps that a state had made before
    made: dict[frozenset[str], int] = field(default_factory=dict)  # steps since, by the states that they updated
    written: dict[frozenset[str], int] = field(default_factory=dict)  # which of them torch's optimizer knows of
    groups: dict[str, int] = field(default_factory=dict)
    moments: dict[str, dict[str, str]] = field(default_factory=dict)  # of a state: of each moment the state that it is
    owns: dict[str, Any] = field(default_factory=dict)  # of a state the optimizer's own parameter
    momenta: list[bool] = field(default_factory=list)  # which groups have one
    current: frozenset[str] = frozenset()  # the states of the last step, for which `behind` holds
    behind: list[int] = field(default_factory=list)
    filled: int = 0  # how many parameters had moments in PyTorch's optimizer
    moving: set[int] = field(default_factory=set)  # groups whose momentum a schedule moves: it is fed, and not burned in
    began: list[Any] = field(default_factory=list)  # of each group momentum and betas when it was first seen
    hooks: Hooks = field(init=False)

    def __post_init__(self) -> None:
        optim = framework("torch.optim")
        kinds = {getattr(optim, k, None): k for k in KINDS}
        if type(self.torch) not in kinds:
            name = type(self.torch).__name__
            raise Unsupported(f"the optimizer {name}" + (f": {REFUSED[name]}" if name in REFUSED else ""), remedy="Of torch.optim "
                              f"{', '.join(KINDS)} are taken, none that is derived from them")
        self.kind = kinds[type(self.torch)]
        self.of: Kind = KINDS[self.kind]
        everywhere = framework("torch.optim.optimizer")
        self.hooks = Hooks([*((self.torch, f"_optimizer_step_{k}_hooks") for k in ("pre", "post")),
                            *((everywhere, f"_global_optimizer_{k}_hooks") for k in ("pre", "post"))])
        self.adam = self.kind in ("Adam", "AdamW")
        self.take()
        self.place()
        self.constants()

    def take(self) -> None:
        """Goes on from what PyTorch's optimizer has now."""
        self.own, self.filled = self.torch.state, sum(map(bool, self.torch.state.values()))
        self.steps = max(map(self.before, self.own.values()), default=0)
        self.made.clear()
        self.written = {}
        self.first = {s: self.before(self.own.get(p, {})) for s, p in self.owns.items()}
        self.current = frozenset()

    def loaded(self) -> bool:
        return self.torch.state is not self.own or self.emptied()

    def emptied(self) -> bool:
        """Whether moments that were there are gone, as state.clear() begins anew with none."""
        return len(self.own) < self.filled

    def kept(self) -> tuple[Any, ...]:
        """For the short way: that they are not."""
        return ((self.own, vars(self)), "filled") if isinstance(self.own, dict) else (self.emptied, None, False)

    def ahead(self) -> bool:
        """Whether steps were made that PyTorch's optimizer does not know of. Else it has what there is, or made some itself since."""
        return not self.loaded() and self.made != self.written

    def before(self, of: Mapping[str, Any]) -> int:
        """How many steps a parameter made, by what the optimizer keeps of it."""
        return int(of["step"]) if "step" in of else int(of.get("momentum_buffer") is not None)

    def steps_of(self, state: str) -> int:
        """How many steps a state has made: PyTorch leaves out what has no gradient."""
        return self.first[state] + sum(n for made, n in self.made.items() if state in made)

    def place(self, own: Sequence[Any] | None = None) -> None:
        """Where the parameters are now. `own`: those of the module and the loss, of which each has to be one. Raises Unsupported."""
        groups = self.torch.param_groups
        if own is not None and not set(chain.from_iterable(self.members())) <= set(map(id, own)):
            raise Unsupported("the optimizer has parameters that are neither the module's nor the loss's: they would be constants",
                              remedy="Make what has them a part of the module, or a loss that is a module")
        momenta = [bool(g.get("momentum")) for g in groups]
        if momenta[:len(self.momenta)] != self.momenta:
            raise Unsupported("a momentum that becomes 0, or is 0 no longer: PyTorch keeps the moment as it was meanwhile",
                              remedy="Begin with another momentum than 0 and stay above it")
        self.momenta = momenta
        now = [(first_moment(g), rest_of(g)) for g in groups]
        self.began += now[len(self.began):]
        self.moving |= {k for k, (g, (b, rest), (was, other)) in enumerate(zip(groups, now, self.began)) if rest == other and b is not None and
                        (b != was or "base_momentum" in g)}
        self.places = {storage_key(p, ""): (g, p) for g, group in enumerate(groups) for p in group["params"]}
        self.names = [tuple(f"optim.{n}.{k}" for n in ("lr", "c1", "c2", "t")) for k in range(len(groups))]
        self.current = frozenset()

    def moved_momenta(self) -> list[tuple[str, float]]:
        """What is fed of groups whose momentum moves."""
        found: list[tuple[str, float]] = []
        for k in sorted(self.moving):
            group = self.torch.param_groups[k]
            now = first_moment(group)
            if now is None:
                raise Unsupported(f"{self.kind} whose momentum moves, to what is no number of Python or NumPy", remedy="Take its item()")
            if rest_of(group) != self.began[k][1] or not now > 0 and "betas" not in group:
                raise Unsupported(f"{self.kind} whose momentum moves, with another second beta or a momentum of 0 or less",
                                  remedy="Keep the second one, and the momentum above 0")
            found.append((f"optim.b1.{k}", float(now)))
        return found

    def members(self) -> list[tuple[int, ...]]:
        """Which parameters the groups have, by identity. Raises Unsupported where the moments are no longer what the run goes on from."""
        if self.loaded():
            what = "was loaded" if self.torch.state is not self.own else "has lost moments"
            raise Unsupported(f"the optimizer {what} after compile: the step has moments of its own",
                              remedy="step.load() takes the optimizer's moments, and the module's values")
        return [tuple(map(id, params)) for params in map(PARAMETERS, self.torch.param_groups)]

    def count(self, states: frozenset[str]) -> None:
        """A batch of a step of these states went by, and with its last one the step was made."""
        if not self.last:
            self.turn += 1
            return
        self.turn = 0
        self.steps += 1
        self.made[states] = self.made.get(states, 0) + 1

    @property
    def last(self) -> bool:
        """Whether the next batch is the last one of a step."""
        return self.turn + 1 >= self.every

    def counts(self, states: frozenset[str]) -> None:
        """What a step of these states has to be told: of each group the steps made less `steps`. PyTorch counts those of each parameter,
        and leaves out what has no gradient."""
        found: dict[int, int] = {}
        which: dict[int, str] = {}
        for s in sorted(states):
            t, k = self.steps_of(s), self.groups[s]
            if not self.of.counts(self.torch.param_groups[k]):
                continue
            if found.setdefault(k, t) != t:
                raise Unsupported(f"{which[k]} and {s}, of one group of the optimizer, have made {found[k]} and {t} steps with a gradient: "
                                  "one rate for the group is none for both", remedy="Give them groups of their own")
            which[k] = s
        self.behind = [found.get(k, self.steps) - self.steps for k in range(len(self.names))]
        self.current = states

    def constants(self) -> tuple[Any, ...]:
        """What programs burn in of each group: another value is another program."""
        found: list[Any] = []
        if any(self.hooks.get("")):
            raise Unsupported("the optimizer has hooks on its steps, which the program would not have", remedy="Remove them")
        for group in self.torch.param_groups:
            for key, value in group.items():
                if key in MUST and value != MUST[key]:
                    raise Unsupported(f"{self.kind} with {key}={value!r}", remedy=f"Only {key}={MUST[key]!r} is taken")
                if key not in MUST and key not in IGNORED and key not in self.of.constants:
                    raise Unsupported(f"{self.kind} with the option {key}={value!r}")
            for key in self.of.constants:
                value = group.get(key)
                if hasattr(value, "numel") or isinstance(value, tuple) and any(hasattr(v, "numel") for v in value):
                    raise Unsupported(f"{self.kind} with {key} as a tensor", remedy="Give it as a number")
                found.append(value)
            found.append(self.decoupled(group))
        return tuple(found)

    def guards(self) -> list[tuple[Any, str, Any]]:
        """Where the constants are, and hooks."""
        return self.hooks.places() + [(group, key, copy.deepcopy(group.get(key))) for k, group in enumerate(self.torch.param_groups)
                for key in (*self.of.constants, *MUST, "decoupled_weight_decay") if key in group and not
                (key in MOVES and k in self.moving)]

    def parameter(self, tensor: Any) -> tuple[int, Any] | None:
        """Group and the optimizer's own object of a parameter."""
        return self.places.get(storage_key(tensor, ""))

    def decoupled(self, group: Mapping[str, Any]) -> bool:
        return self.kind == "AdamW" or bool(group.get("decoupled_weight_decay", False))

    def moment(self, name: str, state: str) -> Any:
        """The first value of a moment: what torch's optimizer has, else where it begins."""
        own = self.owns[state]
        group = self.torch.param_groups[self.groups[state]]
        kept = self.torch.state.get(own, {}).get(self.of.kept(group, own.dim())[name])
        if own.is_complex():  # its moments have pairs
            own = framework().view_as_real(own.detach())
            kept = framework().view_as_real(kept) if kept is not None and kept.is_complex() else kept
        shape, dtype = shape_of(self.of, name, tuple(own.shape)), np.float64 if str(own.dtype) == "torch.float64" else np.float32
        if kept is not None:
            return kept.detach().cpu().contiguous().numpy().astype(dtype).reshape(shape)
        begins = group["initial_accumulator_value"] if self.kind == "Adagrad" else self.of.first.get(name, 0)
        return np.full(shape, begins, dtype)

    def write(self, value: Callable[[str], Any]) -> None:
        """Writes moments and counts into torch's optimizer, as if it had made the steps: where it is behind, of parameters that have made
        some. What it had before stays as it was, so that what was read of it goes on to be of its time."""
        torch = framework()
        if not self.ahead():
            return
        self.written = dict(self.made)
        for state, moments in self.moments.items():
            own = self.owns[state]
            if self.steps_of(state) == self.first[state]:
                continue
            names = self.of.kept(self.torch.param_groups[self.groups[state]], own.dim())
            found = {names[m]: torch.from_numpy(np.array(value(n))).to(own.device) for m, n in moments.items() if names[m]}
            if own.is_complex():
                single = {names[m] for m in self.of.scalars}
                found = {m: v if m in single else torch.view_as_complex(v) for m, v in found.items()}
            if self.of.tells:
                wide = torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32
                found["step"] = torch.tensor(float(self.steps_of(state)), dtype=wide)
            if found:
                self.own[own] = {**self.own.get(own, {}), **found}
        self.filled = sum(map(bool, self.own.values()))

    def feeds(self, states: frozenset[str]) -> list[tuple[str, float]]:
        """What is fed to the next step of these states: names and values."""
        found: list[tuple[str, float]] = []
        if states != self.current:
            self.counts(states)
        for group, (lr_name, c1_name, c2_name, t_name), behind in zip(self.torch.param_groups, self.names, self.behind):
            t = self.steps + behind + 1
            lr = float(group["lr"])
            if self.adam:
                b1, b2 = group["betas"]
                found.append((c1_name, 1 - b1 ** t))
                found.append((c2_name, 1 - b2 ** t))
            elif self.kind == "Adagrad":
                lr /= 1 + (t - 1) * group["lr_decay"]
            found += [(lr_name, lr), (t_name, float(t))]
        return found + self.moved_momenta() if self.moving else found

    def rates(self) -> list[tuple[Any, int, float, float, float]] | None:
        """What `feeds` computes with, for the door: of each group itself, the steps that it is behind, the betas, and the decay of
        its rate or -1. None where something of it is no plain number."""
        found: list[tuple[Any, int, float, float, float]] = []
        if self.moving:
            return None
        for group, behind in zip(self.torch.param_groups, self.behind):
            numbers = [*(group["betas"] if self.adam else (0.0, 0.0)), group["lr_decay"] if self.kind == "Adagrad" else -1.0]
            if not all(type(v) in (int, float) for v in numbers) or not all(0 <= b < 1 for b in numbers[:2]) or \
                    self.kind == "Adagrad" and numbers[2] < 0:
                return None
            found.append((group, behind, *map(float, numbers)))
        return found

    def rate_feeds(self, names: Collection[str]) -> list[tuple[str, int, int]]:
        """Of these feeds, those of rates and corrections: name, group, and which of the four."""
        return [(n, k, kind) for k, four in enumerate(self.names) for kind, n in enumerate(four) if n in names]

    def append(self, g: Lowering, state: str, tensor: Any, gradient: Any) -> dict[str, str]:
        """Appends the update of a state; gives the names of its moments by what they are."""
        k, own = self.places[storage_key(tensor, "")]
        self.groups[state], self.owns[state] = k, own
        self.first.setdefault(state, self.before(self.torch.state.get(own, {})))
        group = self.torch.param_groups[k]
        p = g.states[state]
        if p.dtype not in ("f32", "f64"):
            raise Unsupported(f"training the parameter {state}, which is {p.dtype}", remedy="Keep parameters in float32")
        if own.is_complex() and self.kind in WHOLE:
            raise Unsupported(f"{self.kind} of the parameter {state}, which has complex elements", remedy="Take Adam, or another optimizer "
                              "that has each element apart")
        if group.get("maximize"):
            gradient = g.op("neg", gradient)
        names = {m: f"optim.{m}.{state}" for m in self.of.kept(group, len(p.shape))}
        moments = {m: g.builder.state(n, shape_of(self.of, m, tuple(p.shape)), p.dtype) for m, n in names.items()}
        found = self.of.update(Update(g, group, k, Term(g, p), Term(g, gradient), {m: Term(g, t) for m, t in moments.items()},
                                      k in self.moving))
        for m, name in (("p", state), *names.items()):
            g.builder.update(name, found[m].tensor)
        self.moments[state] = names
        return names


def first_moment(group: Mapping[str, Any]) -> Any:
    """What schedules move: the momentum, or the first beta. None where there is none, or no plain number."""
    found = group["betas"][0] if "betas" in group else group.get("momentum")
    return found if isinstance(found, (int, float, np.floating)) and not isinstance(found, bool) else None


def rest_of(group: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(map(repr, group["betas"][1:])) if "betas" in group else ()


def own_moments(step: Any) -> None:
    """From now on the optimizer's state_dict() has the moments of this step, and of none that was compiled with it before."""
    optimizer, own = step.optimizer.torch, weakref.ref(step)

    def give(_: Any) -> None:
        found = own()
        if found is not None:
            found.write_moments()
    if optimizer in GIVEN:
        GIVEN.pop(optimizer).remove()
    GIVEN[optimizer] = optimizer.register_state_dict_pre_hook(give)
