# SPDX-License-Identifier: Apache-2.0
"""The first step's loss and gradients beside PyTorch's own: a gradient that export lost shows here. Dropout is left out on both
sides; where binary32 is too coarse to tell (batch norm of small batches), both compute in binary64."""
from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._core import Error
from .assigned import put_back
from .capture import DRAWS
from .traps import copied, framework
from .lower import Unsupported
from .training import Batch, build, captured_step, loss_of, unflatten

FLOOR = 1e-4  # of the largest gradient: below it an element counts as noise of that size


class GradientMismatch(Error, ArithmeticError):
    """A first gradient, or the loss, is not PyTorch's. `parameter`, `expected`, `found`, `difference`."""

    expected: Any
    found: Any

    def __init__(self, parameter: str, difference: float, bound: float, expected: Any, found: Any) -> None:
        what = "the loss" if parameter == "loss" else f"the {parameter} after a step" if parameter.startswith("buffer ") else \
            f"the gradient of {parameter}"
        why = "The forward, or what PyTorch computes again for gradients (checkpoints), changes it in a way" if "buffer" in what else \
            "What the forward computes has a gradient of its own"
        apart = f"relative difference {difference:.3g}, bound {bound:.3g}; where they differ most PyTorch has {expected:.9g}, the program " \
            f"{found:.9g}. {why} that the exported graph does not show; report() lists the operations"
        if "buffer" in what and difference == math.inf and expected == found:
            apart = "what it computes again for gradients (a checkpoint) writes into it once more, or reads what the forward has written since. " \
                "Write into buffers outside of checkpoints, and give a checkpoint their clone() as an argument"
        super().__init__(f"{what} is not PyTorch's: {apart}")
        self.parameter, self.difference, self.expected, self.found = parameter, difference, expected, found
        self._made = parameter, difference, bound, expected, found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made


def attention_kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """scaled_dot_product_attention without dropout."""
    def call(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("dropout_p", None)
        return function(*(0.0 if k == 4 else a for k, a in enumerate(args)), **kwargs)
    return call


def recurrence_kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """A recurrent layer without dropout, the only float among its operands."""
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*(0.0 if isinstance(a, float) else a for a in args), **kwargs)
    return call


def input_kept(*args: Any, **kwargs: Any) -> Any:
    return args[0] if args else kwargs["input"]


@contextlib.contextmanager
def dropout_off() -> Iterator[None]:
    """PyTorch's dropout keeps everything, attention's and recurrent layers' too; the modules stay in training. Functions are
    replaced where PyTorch's own code looks them up, and caught where a model has them under a name of its own."""
    torch, f, vf = framework(), framework("torch.nn.functional"), framework()._VF
    kept: dict[Any, Callable[..., Any]] = {}
    places: list[tuple[Any, str, Any]] = []
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        places.append((f, name, input_kept))
    places.append((f, "scaled_dot_product_attention", attention_kept(f.scaled_dot_product_attention)))
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        kept[getattr(vf, name)] = recurrence_kept(getattr(vf, name))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    kept.update({was: new for (_, _, was), (_, _, new) in zip(before, places)})
    kept[torch.dropout] = input_kept

    class Off(framework("torch.overrides").TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return kept.get(function, function)(*args, **(kwargs or {}))

    try:
        for owner, name, new in places:
            setattr(owner, name, new)
        with Off():
            yield
    finally:
        for owner, name, was in before:
            setattr(owner, name, was)


def eager(module: Any, loss: Callable[..., Any] | None, batch: Batch) -> tuple[float, dict[str, Any], dict[str, Any], set[str]]:
    """PyTorch's loss, its gradients by parameter, then the buffers by name, as binary64, and which of them are written while gradients are
    computed, or changed by the forward and read again then; buffers and generators are as before."""
    torch = framework()
    roots: list[Any] = [r for r in (module, loss) if hasattr(r, "named_buffers")]
    kept = [(b, b.detach().clone()) for r in roots for _, b in r.named_buffers()]
    places = [(m._buffers, dict(m._buffers)) for r in roots for m in r.modules()]
    parameters = {p.data_ptr(): p for r in roots for p in r.parameters() if p.requires_grad}
    state, first = torch.random.get_rng_state(), written(roots, loss)
    try:
        with dropout_off(), torch.enable_grad():
            value = loss_of(module, loss, unflatten(batch.form, iter(batch.leaves)))
            forward = written(roots, loss)
            changed = {id(b): n for n, (b, count) in forward.items() if n not in first or b is not first[n][0] or count != first[n][1]}
            with reading(changed) as again:
                found = torch.autograd.grad(value.sum(), list(parameters.values()), allow_unused=True)
        last = named_buffers(roots, loss)
        again |= {n for n, (b, count) in written(roots, loss).items() if n not in forward or b is not forward[n][0] or count != forward[n][1]}
        buffers = {n: as_array(wide(b)).copy() for n, b in last.items()}
    finally:
        torch.random.set_rng_state(state)
        for space, were in places:
            put_back(space, were)
        with torch.no_grad():
            for b, was in kept:
                b.copy_(was)
    return float(value.detach().sum()), {k: as_array(wide(g)) for k, g in zip(parameters, found) if g is not None}, buffers, again


@contextlib.contextmanager
def reading(changed: Mapping[int, str]) -> Iterator[set[str]]:
    """Which of these tensors a module is asked for."""
    module, read = framework().nn.Module, set[str]()
    was = module.__getattr__

    def call(self: Any, name: str) -> Any:
        value = was(self, name)
        if id(value) in changed:
            read.add(changed[id(value)])
        return value
    module.__getattr__ = call
    try:
        yield read
    finally:
        module.__getattr__ = was


def written(roots: Sequence[Any], loss: Any) -> dict[str, tuple[Any, int]]:
    """Buffers by name, and how often PyTorch counts that they were written."""
    return {n: (b, 0 if b.is_inference() else b._version) for n, b in named_buffers(roots, loss).items()}


def named_buffers(roots: Sequence[Any], loss: Any) -> dict[str, Any]:
    return {("loss." if r is loss else "") + n: b for r in roots for n, b in r.named_buffers(remove_duplicate=False)}


def ours(module: Any, loss: Callable[..., Any] | None, batch: Batch, captured: Any) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """The program's loss, its gradients and the buffers that it changes, by state."""
    built = build(captured, None, plain=True)
    run = importlib.import_module("reprise").Run(threads=1)
    for name, t in captured.tensors.items():
        run.add_state(name, as_array(t))
    if any(i[:2] == ("state", "rng") for i in built.program.inputs):
        run.add_state("rng", np.zeros(2, np.int64))
    for name, a in built.data.items():
        run.add_data(name, a)
    feeds = {n: as_array(t) for n, t in zip(built.feeds, batch.tensors()) if n is not None}
    found = run.compile(built.program)(**feeds)
    changed = [o.name for o in captured.graph.outputs if o.kind == "buffer"]
    slopes, after = ({s: np.asarray(found[f"{kind}.{s}"].cast("f64")) for s in of} for kind, of in (("grad", built.trained), ("after", changed)))
    return float(found["loss"]), slopes, after


def as_array(t: Any) -> Any:
    """The elements of a tensor, for a feed or a state; complex ones are pairs."""
    t = t.detach()
    if t.is_complex():
        t = framework().view_as_real(t.resolve_conj())
    t = t.resolve_neg()
    if t.device.type != "cpu":
        t = t.cpu()
    if not t.is_contiguous():
        t = t.contiguous()
    return t.numpy() if str(t.dtype) != "torch.bfloat16" else importlib.import_module("reprise").from_dlpack(t)


def any_complex(given: Iterable[Any]) -> bool:
    """Whether a tensor among them has complex elements, which the short way does not take."""
    tensor = framework().Tensor
    return any(isinstance(t, tensor) and t.is_complex() for t in given)


def draws(graph: Any) -> list[str]:
    """The operations that draw random numbers, dropout apart."""
    return sorted({n.op for n in graph.walk() if n.op.startswith("aten.") and "dropout" not in n.op and
                   any(n.op.split(".")[1].startswith(d) for d in DRAWS)})


def compared(module: Any, loss: Callable[..., Any] | None, batch: Batch, captured: Any) -> tuple[str, float, float, float, list[str]]:
    """The largest relative difference: of which parameter or buffer, and both values; and the states that have a gradient of 0 in PyTorch,
    and in the program none."""
    value, expected, after, again = eager(module, loss, batch)
    found_value, found, changed = ours(module, loss, batch, captured)
    worst = ("loss", relative(value, found_value, abs(value)), value, found_value)
    largest = max([float(np.abs(g).max()) for g in expected.values() if g.size] or [0.0])
    by_state = {s: t.data_ptr() for s, t in captured.tensors.items()}
    zeros = zero_states(expected, captured, found)
    for state, pointer in by_state.items():
        if pointer not in expected:
            continue
        e = expected[pointer]
        worst = farther(worst, state, e, found.get(state, np.zeros(e.shape)), FLOOR * largest)
    for state, f in changed.items():
        e = after[captured.names[state][0]]
        worst = farther(worst, f"buffer {state}", e, f, FLOOR if e.dtype.kind in "fc" else None)
        if e.size and captured.names[state][0] in again and worst[1] < math.inf:  # the same now, and not where a later value decides
            worst = (f"buffer {state}", math.inf, float(e.flat[0]), float(f.flat[0]))
    return *worst, zeros


def farther(worst: tuple[str, float, float, float], name: str, e: Any, f: Any, least: float | None) -> tuple[str, float, float, float]:
    """What is farther apart, relative to the largest finite element that is expected or to `least`; None: of integers, which are equal or not."""
    if not e.size:
        return worst
    f = f.reshape(e.shape)
    scale = 0.0 if least is None else max(float(np.abs(e[np.isfinite(e)]).max(initial=0.0)), least)
    with np.errstate(invalid="ignore"):
        d = np.where((e == f) | (np.isnan(e) & np.isnan(f)), 0.0, np.abs(e - f))
    at = int(np.nanargmax(np.where(np.isnan(d), np.inf, d)))
    difference = relative(e.flat[at], f.flat[at], scale)
    return worst if difference <= worst[1] else (name, difference, float(e.flat[at]), float(f.flat[at]))


def zero_states(expected: Mapping[Any, Any], captured: Any, mine: Collection[str]) -> list[str]:
    """A gradient of 0 is another one than none: an optimizer decays what has the former, and goes on with its moments."""
    zeros = []
    for state, t in captured.tensors.items():
        if t.numel() and t.requires_grad and (t.data_ptr() in expected) != (state in mine):
            if state in mine:
                raise absent(state, "PyTorch has none there, the program one")
            zeros.append(state)
    return [s for s in zeros if not np.any(expected[captured.tensors[s].data_ptr()])]


def absent(state: str, why: str) -> Exception:
    return Unsupported(f"the gradient of {state}: {why}, and optimizers leave out what has none",
                       remedy="Freeze the parameter (requires_grad_(False)), or use it where it has a gradient")


def zeros_of(module: Any, loss: Callable[..., Any] | None, batch: Batch, captured: Any, zeros: Sequence[str]) -> list[str]:
    """Of the states those whose gradient PyTorch has, and has as 0 whatever the parameters are. That it is 0 of these alone, as of what
    is multiplied by what begins as 0, would be a gradient that the program lost."""
    torch = framework()
    roots: list[Any] = [module, loss]
    other, other_loss = (copied(x) if isinstance(x, torch.nn.Module) else x for x in roots)
    places = {p.data_ptr(): q for a, b in zip(roots, (other, other_loss)) if isinstance(a, torch.nn.Module)
              for p, q in zip(a.parameters(), b.parameters())}
    own = {s: places[captured.tensors[s].data_ptr()] for s in zeros if captured.tensors[s].data_ptr() in places}
    found = eager(other, other_loss, batch)[1]
    has = [s for s, q in own.items() if q.data_ptr() in found]
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for q in {id(q): q for q in places.values()}.values():
            q = torch.view_as_real(q) if q.is_complex() else q
            if q.is_floating_point():
                q.add_(0.25 * torch.randn(q.shape, generator=draw).to(q))
    try:
        moved = eager(other, other_loss, batch)[1]
    except (RuntimeError, ValueError) as e:
        raise absent(zeros[0], f"PyTorch has a gradient of 0 there, the program none, and of other parameters PyTorch raises {e}") from e
    for s in zeros:
        if s not in own or any(np.any(g.get(own[s].data_ptr(), 0)) for g in (found, moved)):
            raise absent(s, "PyTorch has a gradient of 0 there, which is another one of other parameters, and the program none")
    return has


def relative(a: float, b: float, scale: float) -> float:
    if a == b or a != a and b != b:
        return 0.0
    d = abs(a - b) / scale if scale else math.inf
    return float(d) if d == d else math.inf


def wide(t: Any) -> Any:
    """In binary64, where it has real or complex elements."""
    return t.to(framework().complex128) if t.is_complex() else t.double() if t.is_floating_point() else t


def in_double(x: Any) -> Any:
    """A module of binary64, or a tensor; what else there is stays."""
    torch = framework()
    if isinstance(x, torch.nn.Module):
        return copied(x)._apply(wide)
    return wide(x) if isinstance(x, torch.Tensor) else x


def check(module: Any, loss: Callable[..., Any] | None, batch: Batch, captured: Any,
          bound: float) -> tuple[dict[str, Any], list[str]]:
    """What was compared and how far it was apart: {"difference", "of", "in"}; and the states that have a gradient of 0 (zeros_of). Raises
    GradientMismatch."""
    drawn = draws(captured.graph)
    if drawn:
        return {"difference": None, "why": f"not compared: {', '.join(drawn)} draw other numbers than PyTorch's"}, []
    found, zeros = differences(module, loss, batch, captured, bound)
    return found, zeros_of(module, loss, batch, captured, zeros) if zeros else []


def differences(module: Any, loss: Callable[..., Any] | None, batch: Batch, captured: Any, bound: float) -> tuple[dict[str, Any], list[str]]:
    worst = compared(module, loss, batch, captured)
    if worst[1] <= bound:
        return {"difference": worst[1], "of": worst[0], "in": "f32" if all(str(t.dtype) != "torch.float64" for t in
                                                                              captured.tensors.values()) else "f64"}, worst[4]
    wide, wide_loss = in_double(module), in_double(loss)
    b = Batch([in_double(x) for x in batch.leaves], batch.paths, batch.form, ())
    again = compared(wide, wide_loss, b, captured_step(wide, wide_loss, b))
    if again[1] <= bound * 1e-3:
        return {"difference": again[1], "of": again[0], "in": "f64", "f32": worst[1]}, worst[4]
    raise GradientMismatch(again[0], again[1], bound * 1e-3, again[2], again[3])
