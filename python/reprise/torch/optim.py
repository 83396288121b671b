# SPDX-License-Identifier: Apache-2.0
"""torch.optim's SGD, Adam, AdamW, RMSprop and Adagrad as operations of a program: coefficients are constants, the rate and what
depends on the number of steps are fed, moments are states. Other optimizers and options are refused by name."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .capture import framework, storage_key
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

    def __post_init__(self) -> None:
        optim = framework("torch.optim")
        kinds = {getattr(optim, k): k for k in CONSTANTS}
        if type(self.torch) not in kinds:
            raise Unsupported(f"the optimizer {type(self.torch).__name__}", remedy="SGD, Adam, AdamW, RMSprop and Adagrad of torch.optim "
                              "are taken, none that is derived from them")
        self.kind = kinds[type(self.torch)]
        if self.torch._optimizer_step_pre_hooks or self.torch._optimizer_step_post_hooks:
            raise Unsupported("the optimizer has hooks on its steps, which the program would not have", remedy="Remove them")
        self.place()
        self.constants()
        self.own = (self.torch.state, [bool(g.get("momentum")) for g in self.torch.param_groups])
        known = [s["step"] for s in self.torch.state.values() if "step" in s]
        steps = {int(s) for s in known}
        if len(steps) > 1:
            raise Unsupported(f"the optimizer's parameters have made different numbers of steps: {sorted(steps)}")
        self.steps = steps.pop() if steps else 0

    def place(self) -> None:
        """Where the parameters are now."""
        self.places = {storage_key(p, ""): (g, p) for g, group in enumerate(self.torch.param_groups) for p in group["params"]}

    def members(self) -> tuple[Any, ...]:
        """Which parameters there are, and which of them are trained: others are another program."""
        return tuple(tuple((id(p), p.requires_grad) for p in g["params"]) for g in self.torch.param_groups)

    def still(self) -> None:
        """Raises Unsupported where what the run goes on from is no longer the optimizer's."""
        state, momenta = self.own
        if self.torch.state is not state:
            raise Unsupported("the optimizer was loaded after compile: the step has moments of its own", remedy="Compile again")
        if [bool(g.get("momentum")) for g in self.torch.param_groups][:len(momenta)] != momenta:
            raise Unsupported("a momentum that becomes 0, or is 0 no longer: PyTorch keeps the moment as it was meanwhile",
                              remedy="Begin with another momentum than 0 and stay above it")

    def count(self, states: frozenset[str]) -> None:
        """A step of these states was made."""
        self.steps += 1
        self.made[states] = self.made.get(states, 0) + 1

    def counts(self, states: frozenset[str]) -> dict[int, int]:
        """Steps made, by group: PyTorch counts those of each parameter, and leaves out what has no gradient."""
        if self.kind not in COUNTING:
            return {}
        found: dict[int, int] = {}
        which: dict[int, str] = {}
        for s in sorted(states):
            t = self.first[s] + sum(n for made, n in self.made.items() if s in made)
            k = self.groups[s]
            if found.setdefault(k, t) != t:
                raise Unsupported(f"{which[k]} and {s}, of one group of the optimizer, have made {found[k]} and {t} steps with a gradient: "
                                  "one rate for the group is none for both", remedy="Give them groups of their own")
            which[k] = s
        return found

    def constants(self) -> tuple[Any, ...]:
        """What programs burn in of each group: another value is another program."""
        found: list[Any] = []
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

    def guards(self) -> list[tuple[dict[str, Any], str, Any]]:
        """Where the constants are."""
        return [(group, key, group.get(key)) for group in self.torch.param_groups
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

    def feeds(self, states: frozenset[str]) -> dict[str, float]:
        """What is fed to the next step of these states, by name."""
        found: dict[str, float] = {}
        counts = self.counts(states)
        for k, group in enumerate(self.torch.param_groups):
            t = counts.get(k, 0) + 1
            lr = float(group["lr"])
            if self.kind in ("Adam", "AdamW"):
                b1, b2 = group["betas"]
                found[f"optim.c1.{k}"], found[f"optim.c2.{k}"] = 1 - b1 ** t, 1 - b2 ** t
            elif self.kind == "Adagrad":
                lr /= 1 + (t - 1) * group["lr_decay"]
            found[f"optim.lr.{k}"] = lr
        return found

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
