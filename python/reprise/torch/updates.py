# SPDX-License-Identifier: Apache-2.0
"""The updates of torch.optim's optimizers as operations of a program. Each kind of KINDS says what a group may be, which moments it
keeps under which of PyTorch's names, and how parameter and moments become the next ones. Those that have an operation of their own
(sgd, adam, adamw, rmsprop, adagrad) are that; the others are written in single operations, in PyTorch's order. Their numbers of a
step, as rates, are computed in binary64 as PyTorch's are, and then rounded to the parameter's type."""
from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .lower import Lowering, Unsupported

Group = Mapping[str, Any]
Moments = dict[str, str]  # a moment's name in programs: its name in PyTorch


class Term:
    """A tensor of the program with operators, beside numbers and numbers of a step, which take the other's type."""

    def __init__(self, g: Lowering, tensor: Any) -> None:
        self.g, self.tensor = g, tensor

    def op(self, name: str, *others: Any, **attributes: Any) -> Term:
        return Term(self.g, self.g.op(name, self.tensor, *others, **attributes))

    def pair(self, name: str, other: Any, turned: bool = False) -> Term:
        a, b = self.tensor, other.tensor if isinstance(other, Term) else self.g.fill(float(other), self.tensor.dtype)
        if a.dtype != b.dtype:  # one is a number of the step, in binary64
            a, b = self.g.cast(a, "f32"), self.g.cast(b, "f32")
        return Term(self.g, self.g.op(name, *((b, a) if turned else (a, b))))

    def __add__(self, other: Any) -> Term:
        return self.pair("add", other)

    def __sub__(self, other: Any) -> Term:
        return self.pair("sub", other)

    def __rsub__(self, other: Any) -> Term:
        return self.pair("sub", other, True)

    def __mul__(self, other: Any) -> Term:
        return self.pair("mul", other)

    def __truediv__(self, other: Any) -> Term:
        return self.pair("div", other)

    def __rtruediv__(self, other: Any) -> Term:
        return self.pair("div", other, True)

    def __pow__(self, other: Any) -> Term:
        return self.pair("pow", other)

    def __rpow__(self, other: Any) -> Term:
        return self.pair("pow", other, True)

    def most(self, other: Any) -> Term:
        return self.pair("maximum", other)

    def least(self, other: Any) -> Term:
        return self.pair("minimum", other)

    def is_(self, how: str, number: float) -> Term:
        """Whether it is gt, lt or eq a number."""
        return self.pair(how, number)

    def toward(self, other: Term, weight: float | Term) -> Term:
        """lerp: from it to `other`, by a weight."""
        return self + (other - self) * weight

    def mean(self, *axes: int) -> Term:
        return Term(self.g, self.g.reduce("mean", self.tensor, list(axes), True))

    def norm(self) -> Term:
        """The root of the sum of squares of all elements."""
        axes = list(range(len(self.tensor.shape)))
        return Term(self.g, self.g.reduce("sum", (self * self).tensor, axes, False)).op("sqrt") if axes else self.op("abs")

    def rounded(self, dtype: str) -> Term:
        """In its own type what another holds of it."""
        return Term(self.g, self.g.cast(self.g.cast(self.tensor, dtype), self.tensor.dtype))


def choose(condition: Term, yes: Any, no: Any, dtype: str) -> Term:
    """One of two, of that type, by a flag."""
    g = condition.g
    a, b = (g.cast(x.tensor, dtype) if isinstance(x, Term) else g.fill(float(x), dtype) for x in (yes, no))
    return Term(g, g.op("where", condition.tensor, a, b))


@dataclass
class Update:
    """What an update has: its group, the parameter, its gradient and moments. `t`: which step of the parameter this is, from 1; `moving`:
    a schedule moves the momentum, which is fed then."""

    g: Lowering
    group: Group
    k: int
    p: Term
    gradient: Term
    moments: dict[str, Term]
    moving: bool = False

    def fed(self, name: str, dtype: str = "f64") -> Term:
        try:
            return Term(self.g, self.g.builder.feed(f"optim.{name}.{self.k}", (), dtype))
        except importlib.import_module("reprise").Error:  # it is another type's already
            raise Unsupported(f"parameters of several types in group {self.k} of the optimizer",
                              remedy="Give those of each type a group of their own: [{'params': [..]}, {'params': [..]}]") from None

    @property
    def lr(self) -> Term:
        return self.fed("lr")

    @property
    def t(self) -> Term:
        return self.fed("t")

    @property
    def betas(self) -> tuple[Any, float]:
        """The first is a number, or one of the step."""
        b1, b2 = self.group["betas"]
        return self.shared("b1", lambda: self.fed("b1")) if self.moving else float(b1), float(b2)

    @property
    def momentum(self) -> Any:
        return self.shared("b1", lambda: self.fed("b1")) if self.moving else self.own("momentum")

    def own(self, name: str) -> float:
        return float(self.group[name])

    def shared(self, name: str, make: Callable[[], Term]) -> Term:
        """A number of the step, which all parameters of the group have in common."""
        key = ("optim", self.k, name)
        found: Term = self.g.shared[key] if key in self.g.shared else make()
        self.g.shared[key] = found
        return found

    def first(self) -> Term:
        """Whether this is the parameter's first step."""
        return self.shared("first", lambda: self.t.is_("eq", 1.0))

    def wide(self, x: Term) -> Term:
        return Term(self.g, self.g.cast(x.tensor, "f64"))

    def narrow(self, x: Term) -> Term:
        return Term(self.g, self.g.cast(x.tensor, self.p.tensor.dtype))

    def choose(self, condition: Term, yes: Any, no: Any) -> Term:
        return choose(condition, yes, no, self.p.tensor.dtype)

    def decay(self, decoupled: bool) -> tuple[Term, Term]:
        """Parameter and gradient with the weights' decay: of the parameter, or by its gradient."""
        decay = self.own("weight_decay")
        if decay == 0:
            return self.p, self.gradient
        if decoupled:
            return self.p * self.shared("decay", lambda: 1 - self.lr * decay), self.gradient
        return self.p, self.gradient + self.p * decay


Found = dict[str, Term]  # "p" and the moments, as they are next


def averages(u: Update, gradient: Term) -> tuple[Term, Term]:
    """Adam's two moments."""
    b1, b2 = u.betas
    return u.moments["m"].toward(gradient, 1 - b1), u.moments["v"] * b2 + gradient * gradient * (1 - b2)


def amsgrad(u: Update, decoupled: bool) -> Found:
    """In single operations, with the largest of the second moments or without."""
    p, gradient = u.decay(decoupled)
    m, v = averages(u, gradient)
    most = u.moments["x"].most(v) if "x" in u.moments else v
    b1, b2 = u.betas
    size = u.shared("size", lambda: u.lr / (1 - b1 ** u.t))
    root = u.shared("root", lambda: (1 - b2 ** u.t).op("sqrt"))
    return {"p": p - m / (most.op("sqrt") / root + u.own("eps")) * size, "m": m, "v": v, **({"x": most} if "x" in u.moments else {})}


def nadam(u: Update) -> Found:
    p, gradient = u.decay(bool(u.group.get("decoupled_weight_decay")))
    m, v = averages(u, gradient)
    b1, b2 = u.betas
    slow = u.own("momentum_decay")
    mu = u.shared("mu", lambda: (1 - 0.96 ** (u.t * slow) * 0.5) * b1)
    ahead = u.shared("ahead", lambda: (1 - 0.96 ** ((u.t + 1) * slow) * 0.5) * b1)
    product = u.moments["c"] * mu
    wide = u.wide(product)
    root = (v / u.shared("c2", lambda: 1 - b2 ** u.t)).op("sqrt") + u.own("eps")
    now, later = u.lr * (1 - mu) / (1 - wide), u.lr * ahead / (1 - wide * ahead)
    return {"p": p - gradient / root * now - m / root * later, "m": m, "v": v, "c": product}


def radam(u: Update) -> Found:
    p, gradient = u.decay(bool(u.group.get("decoupled_weight_decay")))
    m, v = averages(u, gradient)
    b1, b2 = u.betas
    top = 2 / (1 - b2) - 1
    rho = u.shared("rho", lambda: top - u.t * 2 * b2 ** u.t / (1 - b2 ** u.t))
    far = u.shared("far", lambda: rho.is_("gt", 5.0))

    def size() -> Term:
        squared: Term = (rho - 4) * (rho - 2) * top / (rho * ((top - 4) * (top - 2)))
        rectified = choose(far, squared, 1.0, "f64").op("sqrt") * (1 - b2 ** u.t).op("sqrt")
        whole: Term = u.lr / (1 - b1 ** u.t)
        return whole * choose(far, rectified, 1.0, "f64")
    return {"p": p - m / u.choose(far, v.op("sqrt") + u.own("eps"), 1.0) * u.shared("size", size), "m": m, "v": v}


def adamax(u: Update) -> Found:
    p, gradient = u.decay(False)
    b1, b2 = u.betas
    m = u.moments["m"].toward(gradient, 1 - b1)
    most = (u.moments["u"] * b2).most(gradient.op("abs") + u.own("eps"))
    return {"p": p - m / most * u.shared("size", lambda: u.lr / (1 - b1 ** u.t)), "m": m, "u": most}


def adadelta(u: Update) -> Found:
    p, gradient = u.decay(False)
    rho, eps = u.own("rho"), u.own("eps")
    squares = u.moments["v"] * rho + gradient * gradient * (1 - rho)
    delta = (u.moments["d"] + eps).op("sqrt") / (squares + eps).op("sqrt") * gradient
    return {"p": p - delta * u.lr, "v": squares, "d": u.moments["d"] * rho + delta * delta * (1 - rho)}


def asgd(u: Update) -> Found:
    p, gradient = u.decay(False)
    lambd = u.own("lambd")
    eta = choose(u.first(), u.lr, u.moments["eta"], "f64")  # the rate of the step before, and of the first
    p = p * (1 - eta * lambd) - gradient * eta
    mean, weight = u.moments["a"], u.moments["mu"]
    rate = u.shared("rate", lambda: u.lr / (u.lr * u.t * lambd + 1) ** u.own("alpha"))
    return {"p": p, "a": u.choose(weight.is_("eq", 1.0), p, mean.toward(p, weight)), "eta": u.narrow(rate),
            "mu": u.narrow(u.shared("mu", lambda: 1 / (u.t - u.own("t0")).most(1.0)))}


def rprop(u: Update) -> Found:
    down, up = u.group["etas"]
    low, high = u.group["step_sizes"]
    size = u.choose(u.first(), u.lr, u.moments["s"])
    agree = u.gradient * u.moments["prev"]
    against = agree.is_("lt", 0.0)
    size = (size * u.choose(against, down, u.choose(agree.is_("gt", 0.0), up, 1.0))).most(low).least(high)
    gradient = u.choose(against, 0.0, u.gradient)
    return {"p": u.p - gradient.op("sign") * size, "s": size, "prev": gradient}


def damped(u: Update) -> Found:
    """SGD in single operations, with a dampening or a momentum that moves: the first moment is the gradient as it is."""
    p, gradient = u.decay(False)
    momentum, damp = u.momentum, u.own("dampening")
    m = u.moments["m"] * momentum + gradient * (1 - damp)
    m = u.choose(u.first(), gradient, m) if damp else m  # without one it begins as 0
    return {"p": p - (gradient + m * momentum if u.group["nesterov"] else m) * u.lr, "m": m}


def centered(u: Update) -> Found:
    p, gradient = u.decay(False)
    alpha, momentum = u.own("alpha"), u.momentum
    v = u.moments["v"] * alpha + gradient * gradient * (1 - alpha)
    mean = u.moments["g"].toward(gradient, 1 - alpha) if "g" in u.moments else None
    change = gradient / ((v - mean * mean if mean is not None else v).op("sqrt") + u.own("eps"))
    m = u.moments["m"] * momentum + change if momentum else u.moments["m"]
    return {"p": p - (m if momentum else change) * u.lr, "v": v, **({"g": mean} if mean is not None else {}), "m": m}


def adafactor(u: Update) -> Found:
    dtype, shape = u.p.tensor.dtype, u.p.tensor.shape
    least, small = u.group["eps"]
    least = {"f32": 2.0 ** -23, "f64": 2.0 ** -52}[dtype] if least is None else float(least)
    weight = u.shared("weight", lambda: u.t ** u.own("beta2_decay"))
    rho = u.shared("rho", lambda: u.lr.least(1 / u.t.op("sqrt")))
    root = math.sqrt(u.p.tensor.size)
    alpha = (u.wide(u.p.norm()) / root).most(float(small)) * rho
    p, gradient = u.decay(True)
    squares = gradient * gradient
    if len(shape) > 1:
        row = u.moments["row"].toward(squares.mean(len(shape) - 1), weight)
        column = u.moments["col"].toward(squares.mean(len(shape) - 2), weight)
        kept = {"row": row, "col": column}
        estimate = Term(u.g, u.g.op("matmul", row.tensor, column.tensor)) / row.mean(len(shape) - 2).most(least)
    else:
        estimate = u.moments["v"].toward(squares, weight)
        kept = {"v": estimate}
    update = estimate.most(least * least).op("rsqrt") * gradient
    denom = (u.wide(update.norm()) / (root * u.own("d"))).most(1.0)
    return {"p": p - update * (alpha / denom), **kept}


def turn(t: Term) -> Term:
    return Term(t.g, t.g.transpose(t.tensor, [1, 0]))


def dot(s: Term, t: Term) -> Term:
    return s.op("matmul", t.tensor)


def muon(u: Update) -> Found:
    """Orthogonalized by Newton's and Schulz' iteration, whose values PyTorch holds as bfloat16."""
    momentum, decay = u.momentum, u.own("weight_decay")
    m = u.moments["m"].toward(u.gradient, 1 - momentum)
    update = u.gradient.toward(m, momentum) if u.group["nesterov"] else m
    rows, columns = u.p.tensor.shape
    a, b, c = map(float, u.group["ns_coefficients"])
    x = Term(u.g, u.g.cast(u.g.cast(update.tensor, "bf16"), "f32"))
    x = turn(x) if rows > columns else x
    x = (x / x.norm().rounded("bf16").most(u.own("eps")).rounded("bf16")).rounded("bf16")
    for _ in range(int(u.group["ns_steps"])):
        gram = dot(x, turn(x)).rounded("bf16")
        x = (x * a + dot((gram * b + dot(gram, gram) * c).rounded("bf16"), x)).rounded("bf16")
    x = Term(u.g, u.g.cast((turn(x) if rows > columns else x).tensor, u.p.tensor.dtype))
    return {"p": u.p * (1 - u.lr * decay) - x * (u.lr * ratio(u.group["adjust_lr_fn"], rows, columns)), "m": m}


def ratio(how: str | None, rows: int, columns: int) -> float:
    """What Muon's rate is multiplied by, for a matrix of this shape."""
    if how == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(rows / columns if how == "spectral_unclamped" else max(1, rows / columns))


# ---- those that have an operation ----


def whole(u: Update, name: str, moments: tuple[str, ...], numbers: tuple[str, ...] = ("lr",), **attributes: Any) -> Found:
    fed = [u.fed(n, u.p.tensor.dtype).tensor for n in numbers]
    found = u.g.op(name, u.p.tensor, *(u.moments[m].tensor for m in moments), u.gradient.tensor, *fed,
                   weight_decay=u.own("weight_decay"), **attributes)
    return {n: Term(u.g, t) for n, t in zip(("p", *moments), found)}


def sgd(u: Update) -> Found:
    if u.group["momentum"] and (u.group.get("dampening") or u.moving):
        return damped(u)
    return whole(u, "sgd", ("m",), momentum=u.momentum, nesterov=bool(u.group["nesterov"]))


def adam(u: Update, decoupled: bool) -> Found:
    if u.group.get("amsgrad") or u.moving:
        return amsgrad(u, decoupled)
    b1, b2 = u.betas
    return whole(u, "adamw" if decoupled else "adam", ("m", "v"), ("lr", "c1", "c2"), beta1=b1, beta2=b2, eps=u.own("eps"))


def rmsprop(u: Update) -> Found:
    if u.group.get("centered") or u.moving:
        return centered(u)
    return whole(u, "rmsprop", ("v", "m"), alpha=u.own("alpha"), eps=u.own("eps"), momentum=u.momentum)


def adagrad(u: Update) -> Found:
    return whole(u, "adagrad", ("s",), eps=u.own("eps"))


@dataclass(frozen=True)
class Kind:
    """`constants`: what programs burn in of a group; `kept`: the moments of a parameter of that group and shape, of which `scalars`
    have one element; `counts`: whether an update depends on the number of steps."""

    update: Callable[[Update], Found]
    constants: tuple[str, ...]
    kept: Callable[[Group, int], Moments]
    counts: Callable[[Group], bool] = lambda group: True
    scalars: tuple[str, ...] = ()
    first: Mapping[str, float] = field(default_factory=dict)
    tells: bool = True  # the number of steps is in its state


def kept(**names: str) -> Callable[[Group, int], Moments]:
    return lambda group, rank: dict(names)


def always(group: Group) -> bool:
    return True


def never(group: Group) -> bool:
    return False


def kept_adam(group: Group, rank: int) -> Moments:
    return {"m": "exp_avg", "v": "exp_avg_sq", **({"x": "max_exp_avg_sq"} if group.get("amsgrad") else {})}


def kept_buffer(group: Group, *before: tuple[str, str]) -> Moments:
    """A momentum that is 0 is none of PyTorch's."""
    return {**dict(before), "m": "momentum_buffer" if group["momentum"] else ""}


def kept_rmsprop(group: Group, rank: int) -> Moments:
    return kept_buffer(group, ("v", "square_avg"), *([("g", "grad_avg")] if group.get("centered") else []))


def kept_adafactor(group: Group, rank: int) -> Moments:
    return {"row": "row_var", "col": "col_var"} if rank > 1 else {"v": "variance"}


def shape_of(kind: Kind, moment: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A moment's shape, of a parameter of this one."""
    if moment in kind.scalars:
        return ()
    return {"row": (*shape[:-1], 1), "col": (*shape[:-2], 1, *shape[-1:])}.get(moment, shape)


ADAM = ("betas", "eps", "weight_decay", "maximize", "amsgrad")
KINDS = {
    "SGD": Kind(sgd, ("momentum", "dampening", "nesterov", "weight_decay", "maximize"), lambda group, rank: kept_buffer(group),
                lambda group: bool(group.get("dampening") and group["momentum"]), tells=False),
    "Adam": Kind(lambda u: adam(u, bool(u.group.get("decoupled_weight_decay"))), ADAM, kept_adam),
    "AdamW": Kind(lambda u: adam(u, True), ADAM, kept_adam),
    "RMSprop": Kind(rmsprop, ("alpha", "eps", "momentum", "weight_decay", "maximize", "centered"), kept_rmsprop, never),
    "Adagrad": Kind(adagrad, ("eps", "weight_decay", "maximize", "lr_decay", "initial_accumulator_value"), kept(s="sum")),
    "NAdam": Kind(nadam, ("betas", "eps", "weight_decay", "momentum_decay", "maximize"),
                  kept(m="exp_avg", v="exp_avg_sq", c="mu_product"), scalars=("c",), first={"c": 1.0}),
    "RAdam": Kind(radam, ("betas", "eps", "weight_decay", "maximize"), kept(m="exp_avg", v="exp_avg_sq")),
    "Adamax": Kind(adamax, ("betas", "eps", "weight_decay", "maximize"), kept(m="exp_avg", u="exp_inf")),
    "Adadelta": Kind(adadelta, ("rho", "eps", "weight_decay", "maximize"), kept(v="square_avg", d="acc_delta"), never),
    "ASGD": Kind(asgd, ("lambd", "alpha", "t0", "weight_decay", "maximize"), kept(a="ax", eta="eta", mu="mu"),
                 scalars=("eta", "mu"), first={"mu": 1.0}),
    "Rprop": Kind(rprop, ("etas", "step_sizes", "maximize"), kept(prev="prev", s="step_size")),
    "Adafactor": Kind(adafactor, ("beta2_decay", "eps", "d", "weight_decay", "maximize"), kept_adafactor),
    "Muon": Kind(muon, ("weight_decay", "momentum", "nesterov", "ns_coefficients", "eps", "ns_steps", "adjust_lr_fn"),
                 kept(m="momentum_buffer"), never, tells=False),
}
