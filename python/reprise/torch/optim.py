# SPDX-License-Identifier: Apache-2.0
"""torch.optim's SGD, Adam, AdamW, RMSprop and Adagrad as operations of a program: coefficients are constants, the rate and what
depends on the number of steps are fed, moments are states. Other optimizers and options are refused by name."""
from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from .capture import storage_key
from .traps import Hooks, framework
from .lower import Lowering, Unsupported

# What a group may say, by optimizer: the constants, and options that must have this value.
CONSTANTS = {"SGD": ("momentum", "nesterov", "weight_decay", "maximize"), "Adam": ("betas", "eps", "weight_decay", "maximize"),
             "AdamW": ("betas", "eps", "weight_decay", "maximize"), "RMSprop": ("alpha", "eps", "momentum", "weight_decay", "maximize"),
             "Adagrad": ("eps", "weight_decay", "maximize", "lr_decay", "initial_accumulator_value")}
MUST: Mapping[str, Any] = {"dampening": 0, "amsgrad": False, "centered": False, "differentiable": False}
IGNORED = {"params", "lr", "foreach", "fused", "capturable", "initial_lr", "decoupled_weight_decay", "max_lr", "min_lr", "max_momentum",
           "base_momentum", "param_names", "swa_lr"}
MOMENTS = {"SGD": ("m",), "Adam": ("m", "v"), "AdamW": ("m", "v"), "RMSprop": ("v", "m"), "Adagrad": ("s",)}
KEPT = {"SGD": {"m": "momentum_buffer"}, "Adam": {"m": "exp_avg", "v": "exp_avg_sq"}, "AdamW": {"m": "exp_avg", "v": "exp_avg_sq"},
        "RMSprop": {"v": "square_avg", "m": "momentum_buffer"}, "Adagrad": {"s": "sum"}}

PARAMETERS = itemgetter("params")
COUNTING = ("Adam", "AdamW", "Adagrad")  # whose updates depend on the number of steps


@dataclass
class Optimizer:
    """A torch optimizer as programs have it. `kind`; `steps` made so far; `places`: group and parameter by its storage."""

    torch: Any
    kind: str = ""
    steps: int = 0
    places: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)  # steps that a state had made before
    made: dict[frozenset[str], int] = field(default_factory=dict)  # steps since, by the states that they updated
    groups: dict[str, int] = field(default_factory=dict)
    momenta: list[bool] = field(default_factory=list)  # which groups have one
    current: frozenset[str] = frozenset()  # the states of the last step, for which `behind` holds
    behind: list[int] = field(default_factory=list)
    hooks: Hooks = field(init=False)

    def __post_init__(self) -> None:
        optim = framework("torch.optim")
        kinds = {getattr(optim, k): k for k in CONSTANTS}
        if type(self.torch) not in kinds:
            raise Unsupported(f"the optimizer {type(self.torch).__name__}", remedy="SGD, Adam, AdamW, RMSprop and Adagrad of torch.optim "
                              "are taken, none that is derived from them")
        self.kind = kinds[type(self.torch)]
        everywhere = framework("torch.optim.optimizer")
        self.hooks = Hooks([*((self.torch, f"_optimizer_step_{k}_hooks") for k in ("pre", "post")),
                            *((everywhere, f"_global_optimizer_{k}_hooks") for k in ("pre", "post"))])
        self.adam, self.own = self.kind in ("Adam", "AdamW"), self.torch.state
        self.place()
        self.constants()
        known = [s["step"] for s in self.torch.state.values() if "step" in s]
        steps = {int(s) for s in known}
        if len(steps) > 1:
            raise Unsupported(f"the optimizer's parameters have made different numbers of steps: {sorted(steps)}")
        self.steps = steps.pop() if steps else 0

    def place(self, own: Sequence[Any] | None = None) -> None:
        """Where the parameters are now. `own`: those of the module and the loss, of which each has to be one. Raises Unsupported."""
        groups = self.torch.param_groups
        if own is not None and not set(self.members()) <= set(map(id, own)):
            raise Unsupported("the optimizer has parameters that are neither the module's nor the loss's: they would be constants",
                              remedy="Make what has them a part of the module, or a loss that is a module")
        momenta = [bool(g.get("momentum")) for g in groups]
        if momenta[:len(self.momenta)] != self.momenta:
            raise Unsupported("a momentum that becomes 0, or is 0 no longer: PyTorch keeps the moment as it was meanwhile",
                              remedy="Begin with another momentum than 0 and stay above it")
        self.momenta = momenta
        self.places = {storage_key(p, ""): (g, p) for g, group in enumerate(groups) for p in group["params"]}
        self.names = [tuple(f"optim.{n}.{k}" for n in ("lr", "c1", "c2")) for k in range(len(groups))]
        self.current = frozenset()

    def members(self) -> list[int]:
        """Which parameters there are, by identity. Raises Unsupported where the moments are no longer what the run goes on from."""
        if self.torch.state is not self.own:
            raise Unsupported("the optimizer was loaded after compile: the step has moments of its own", remedy="Compile again")
        return list(map(id, chain.from_iterable(map(PARAMETERS, self.torch.param_groups))))

    def count(self, states: frozenset[str]) -> None:
        """A step of these states was made."""
        self.steps += 1
        self.made[states] = self.made.get(states, 0) + 1

    def counts(self, states: frozenset[str]) -> None:
        """What a step of these states has to be told: of each group the steps made less `steps`. PyTorch counts those of each parameter,
        and leaves out what has no gradient."""
        found: dict[int, int] = {}
        which: dict[int, str] = {}
        for s in sorted(states) if self.kind in COUNTING else ():
            t = self.first[s] + sum(n for made, n in self.made.items() if s in made)
            k = self.groups[s]
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
                if key not in MUST and key not in IGNORED and key not in CONSTANTS[self.kind]:
                    raise Unsupported(f"{self.kind} with the option {key}={value!r}")
            for key in CONSTANTS[self.kind]:
                value = group.get(key)
                if hasattr(value, "numel") or isinstance(value, tuple) and any(hasattr(v, "numel") for v in value):
                    raise Unsupported(f"{self.kind} with {key} as a tensor", remedy="Give it as a number")
                found.append(value)
            found.append(self.decoupled(group))
        return tuple(found)

    def guards(self) -> list[tuple[Any, str, Any]]:
        """Where the constants are, and hooks."""
        return self.hooks.places() + [(group, key, copy.deepcopy(group.get(key))) for group in self.torch.param_groups
                for key in (*CONSTANTS[self.kind], *MUST, "decoupled_weight_decay") if key in group]

    def parameter(self, tensor: Any) -> tuple[int, Any] | None:
        """Group and the optimizer's own object of a parameter."""
        return self.places.get(storage_key(tensor, ""))

    def decoupled(self, group: Mapping[str, Any]) -> bool:
        return self.kind == "AdamW" or bool(group.get("decoupled_weight_decay", False))

    def moment(self, name: str, state: str, tensor: Any) -> Any:
        """The first value of a moment: what torch's optimizer has, else zeros."""
        group, own = self.places[storage_key(tensor, "")]
        of = self.torch.state.get(own, {})
        kept = of.get(KEPT[self.kind][name])
        if kept is not None:
            return kept.detach().cpu().contiguous().numpy().copy()
        first = self.torch.param_groups[group].get("initial_accumulator_value", 0) if name == "s" else 0
        return np.full(tuple(tensor.shape), first, np.float64 if str(tensor.dtype) == "torch.float64" else np.float32)

    def feeds(self, states: frozenset[str]) -> list[tuple[str, float]]:
        """What is fed to the next step of these states: names and values."""
        found: list[tuple[str, float]] = []
        if states != self.current:
            self.counts(states)
        for group, (lr_name, c1_name, c2_name), behind in zip(self.torch.param_groups, self.names, self.behind):
            t = self.steps + behind + 1
            lr = float(group["lr"])
            if self.adam:
                b1, b2 = group["betas"]
                found.append((c1_name, 1 - b1 ** t))
                found.append((c2_name, 1 - b2 ** t))
            elif self.kind == "Adagrad":
                lr /= 1 + (t - 1) * group["lr_decay"]
            found.append((lr_name, lr))
        return found

    def rates(self) -> list[tuple[Any, int, float, float, float]] | None:
        """What `feeds` computes with, for the door: of each group itself, the steps that it is behind, the betas, and the decay of
        its rate or -1. None where something of it is no plain number."""
        found: list[tuple[Any, int, float, float, float]] = []
        for group, behind in zip(self.torch.param_groups, self.behind):
            numbers = [*(group["betas"] if self.adam else (0.0, 0.0)), group["lr_decay"] if self.kind == "Adagrad" else -1.0]
            if not all(type(v) in (int, float) for v in numbers) or not all(0 <= b < 1 for b in numbers[:2]) or \
                    self.kind == "Adagrad" and numbers[2] < 0:
                return None
            found.append((group, behind, *map(float, numbers)))
        return found

    def rate_feeds(self, names: Collection[str]) -> list[tuple[str, int, int]]:
        """Of these feeds, those of rates and corrections: name, group, and which of the three."""
        return [(n, k, kind) for k, three in enumerate(self.names) for kind, n in enumerate(three) if n in names]

    def append(self, g: Lowering, state: str, tensor: Any, gradient: Any) -> list[str]:
        """Appends the update of a state; gives the names of its moments."""
        k, own = self.places[storage_key(tensor, "")]
        self.groups[state] = k
        self.first.setdefault(state, int(self.torch.state.get(own, {}).get("step", 0)))
        group = self.torch.param_groups[k]
        p, dtype = g.states[state], g.states[state].dtype
        if dtype not in ("f32", "f64"):
            raise Unsupported(f"training the parameter {state}, which is {dtype}", remedy="Keep parameters in float32")
        if group.get("maximize"):
            gradient = g.op("neg", gradient)
        names = [f"optim.{m}.{state}" for m in MOMENTS[self.kind]]
        moments = [g.builder.state(n, p.shape, dtype) for n in names]

        def fed(name: str) -> Any:
            return g.builder.feed(f"optim.{name}.{k}", (), dtype)

        decay = float(group["weight_decay"])
        form: dict[str, Callable[[], Any]] = {
            "SGD": lambda: g.op("sgd", p, *moments, gradient, fed("lr"), momentum=float(group["momentum"]),
                                nesterov=bool(group["nesterov"]), weight_decay=decay),
            "Adam": lambda: g.op("adamw" if self.decoupled(group) else "adam", p, *moments, gradient, fed("lr"), fed("c1"), fed("c2"),
                                 beta1=float(group["betas"][0]), beta2=float(group["betas"][1]), eps=float(group["eps"]),
                                 weight_decay=decay),
            "RMSprop": lambda: g.op("rmsprop", p, *moments, gradient, fed("lr"), alpha=float(group["alpha"]), eps=float(group["eps"]),
                                    momentum=float(group["momentum"]), weight_decay=decay),
            "Adagrad": lambda: g.op("adagrad", p, *moments, gradient, fed("lr"), eps=float(group["eps"]), weight_decay=decay)}
        found = form["Adam" if self.kind == "AdamW" else self.kind]()
        for name, value in zip([state, *names], found):
            g.builder.update(name, value)
        return names
