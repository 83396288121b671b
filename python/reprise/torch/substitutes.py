# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch that look at values while they run, which an exported graph cannot have, or of whose operations there is no
plain form: while a model is exported they are others, written in operations, with PyTorch's values and gradients. The comparison of
first gradients runs PyTorch's own. What has no such form is refused by its name, with a way out."""
from __future__ import annotations

import contextlib
import inspect
import math
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .alike import equal
from .assigned import registering
from .checks import trusted
from .constants import factored
from .derivatives import functions
from .graph import Node
from .lower import Unsupported
from .names import by_whatever_name
from .packed import packing
from .refusals import refused
from .squares import lstsq
from .traps import framework, line_here

MOST_PLACES = 1024  # of CTC, each of which is some twenty operations


def gaussian_nll_loss(input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    """PyTorch looks whether a variance is below 0, and raises: here the loss is NaN then. The bound `eps` has no gradient."""
    torch = framework()
    if isinstance(var, float):
        var = torch.full_like(input, var)
    elif var.shape != input.shape and input.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    elif var.shape != input.shape and not (input.dim() == var.dim() and all(v in (1, n) for v, n in zip(var.shape, input.shape))):
        raise ValueError("var is of incorrect size")
    bounded = var + (var.clamp(min=eps) - var).detach()
    bounded = torch.where(var < 0, math.nan, bounded)
    loss = 0.5 * (torch.log(bounded) + (input - target) ** 2 / bounded)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return {"mean": torch.mean, "sum": torch.sum, "none": lambda t: t}[reduction](loss)


def detect_is_causal_mask(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """PyTorch looks whether a mask is the causal one, and then leaves it out and says so: here the mask is what it is."""
    return is_causal is True


def averaging(original: Callable[..., Any]) -> Callable[..., Any]:
    """_BatchNorm.forward: without a momentum, running values are the means of all batches, whose number PyTorch takes as a number."""
    def forward(self: Any, input: Any) -> Any:
        torch = framework()
        if self.momentum is not None or not self.training or self.running_mean is None or self.num_batches_tracked is None:
            return original(self, input)
        self._check_input_dim(input)
        axes = [0, *range(2, input.dim())]
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            weight = 1.0 / self.num_batches_tracked.to(self.running_mean.dtype)
            x = input.detach()
            for kept, now in ((self.running_mean, x.mean(axes)), (self.running_var, x.var(axes, unbiased=True))):
                kept.copy_(kept * (1 - weight) + now.to(kept.dtype) * weight)
        return torch.nn.functional.batch_norm(input, None, None, self.weight, self.bias, True, 0.0, self.eps)
    return forward


def lengths_of(torch: Any, lengths: Any, n: int) -> Any:
    """As a tensor: numbers of Python are constants."""
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.tensor(list(lengths) if not isinstance(lengths, int) else [lengths])
    return lengths.to(torch.int64).reshape(n)


def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
             zero_infinity: bool = False) -> Any:
    """Of all paths through the labels with blanks between them the sum, place by place. PyTorch's gradient is by the values before
    log_softmax, of which exp(log_probs) is a part: it is added as what is 0 and has that gradient."""
    torch = framework()
    one = log_probs.dim() == 2
    if one:
        log_probs = log_probs.unsqueeze(1)
    places, n, _ = log_probs.shape
    if places > MOST_PLACES:
        raise refused("ctc_loss", f"of {places} places", f"At most {MOST_PLACES} are taken")
    if targets.dim() == 1 and not one:
        raise refused("ctc_loss", "of targets in one row", "Give them as [batch, longest], filled up with any label")
    targets = targets.reshape(n, -1).to(torch.int64)
    took, labels = lengths_of(torch, input_lengths, n), lengths_of(torch, target_lengths, n)
    nothing = -1e30  # no path: finite, so that its gradient is 0 and not NaN
    low = log_probs.new_full((), nothing)
    width = 2 * targets.shape[1] + 1
    blanks = torch.full_like(targets, blank)
    row = torch.cat([torch.stack([blanks, targets], 2).reshape(n, -1), blanks.new_full((n, 1), blank)], 1)
    skips = torch.zeros_like(row, dtype=torch.bool)
    if width > 2:
        skips = torch.cat([skips[:, :2], (row[:, 2:] != blank) & (row[:, 2:] != row[:, :-2])], 1)
    said = log_probs.gather(2, row.unsqueeze(0).expand(places, n, width)).clamp(min=nothing)
    at = torch.arange(width)
    alpha = torch.where(at < 2, said[0], low)
    for t in range(1, places):
        one_on = torch.cat([low.expand(n, 1), alpha[:, :-1]], 1)
        two_on = torch.where(skips, torch.cat([low.expand(n, 2), alpha[:, :-2]], 1)[:, :width], low)
        ahead = torch.logsumexp(torch.stack([alpha, one_on, two_on]), 0) + said[t]
        alpha = torch.where((t < took).unsqueeze(1), ahead.clamp(min=nothing), alpha)
    last = alpha.gather(1, (2 * labels).unsqueeze(1)).squeeze(1)
    before = alpha.gather(1, (2 * labels - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
    found = -torch.logsumexp(torch.stack([last, torch.where(labels > 0, before, low)]), 0)
    possible = found < -nothing / 2
    whole = torch.where((torch.arange(places).unsqueeze(1) < took).unsqueeze(2), log_probs.exp(), 0.0).sum((0, 2))
    found = torch.where(possible, found + (whole - whole.detach()), 0.0 if zero_infinity else math.inf)
    if reduction == 1:
        return (found / labels.clamp(min=1).to(found.dtype)).mean()
    return found.sum() if reduction == 2 else found.reshape(()) if one else found


def multilabel_margin_loss(input: Any, target: Any, reduction: int = 1) -> Any:
    """torch._C._nn.multilabel_margin_loss: of each row the classes before its first -1 are right, and each is to be above each wrong
    one by 1. A class that is given twice counts twice."""
    torch = framework()
    x, t = torch.atleast_2d(input), torch.atleast_2d(target)
    classes = x.shape[1]
    given = (t < 0).cumsum(1) == 0
    labels = torch.where(t == -1, 0, t)  # below it there is none, and gather refuses it
    right = ((labels.unsqueeze(2) == torch.arange(classes)) & given.unsqueeze(2)).any(1)
    above = (1 - x.gather(1, labels)).unsqueeze(2) + x.unsqueeze(1)
    counts = given.unsqueeze(2) & ~right.unsqueeze(1)
    found = torch.where(counts & (above > 0), above, 0.0)  # a NaN is not above: it counts for nothing, as in PyTorch
    found = found.sum((1, 2)) / classes
    return found.mean() if reduction == 1 else found.sum() if reduction == 2 else found if input.dim() == 2 else found.reshape(())


def symmetric(self: Any, value: Any) -> Any:
    """torch.distributions asks of a matrix first whether it is symmetric, by an `if`: here all is asked at once."""
    return framework().isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


def positive_definite(self: Any, value: Any) -> Any:
    """The factor of what is not positive definite is NaN here."""
    factor = framework().linalg.cholesky_ex(value.detach()).L
    return symmetric(self, value) & (factor == factor).all(-1).all(-1)


def covariance(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """torch.cov looks at what it divides by. Rows are variables."""
    if fweights is not None or aweights is not None:
        raise refused("torch.cov", "with weights of the observations", "Write it as a product of matrices")
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    x = input.reshape(1, -1) if input.dim() < 2 else input
    x = x - x.mean(1, keepdim=True)
    return (x @ x.mT / max(x.shape[1] - correction, 0)).squeeze()


def correlations(input: Any) -> Any:
    found = covariance(input)
    if found.dim() == 0:
        return found / found
    long = found.diagonal().sqrt()
    return (found / long.unsqueeze(1) / long.unsqueeze(0)).clamp(-1, 1)


def inverted(original: Callable[..., Any]) -> Callable[..., Any]:
    """torch.istft, whose form in other operations has no odd n_fft."""
    def istft(input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None, center: bool = True,
              normalized: bool = False, onesided: bool | None = None, length: int | None = None, return_complex: bool = False) -> Any:
        torch = framework()
        if n_fft % 2 == 0 or input.dim() not in (2, 3) or not input.is_complex():
            return original(input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)
        x = input if input.dim() == 3 else input.unsqueeze(0)
        win_length = n_fft if win_length is None else win_length
        hop = win_length // 4 if hop_length is None else hop_length
        onesided = x.shape[1] != n_fft if onesided is None else onesided
        if x.shape[1] != (n_fft // 2 + 1 if onesided else n_fft) or not 0 < hop <= win_length <= n_fft:
            raise RuntimeError(f"istft of {tuple(input.shape)}: n_fft {n_fft}, hop_length {hop}, win_length {win_length}, onesided {onesided}")
        kind = x.real.dtype
        window = torch.ones(win_length, dtype=kind) if window is None else window
        left = (n_fft - win_length) // 2
        window = torch.nn.functional.pad(window, (left, n_fft - win_length - left))
        norm = "ortho" if normalized else "backward"
        if return_complex:
            frames = torch.fft.ifft(x, dim=1, norm=norm)
        else:
            frames = torch.fft.irfft(x[:, :n_fft // 2 + 1], n=n_fft, dim=1, norm=norm)
        frames = frames * window.unsqueeze(1)
        count = frames.shape[2]
        whole = n_fft + hop * (count - 1)

        def added(of: Any) -> Any:
            return torch.nn.functional.fold(of, (1, whole), (1, n_fft), stride=(1, hop)).reshape(of.shape[0], whole)
        y = torch.complex(added(frames.real), added(frames.imag)) if frames.is_complex() else added(frames)
        over = added((window * window).reshape(1, n_fft, 1).expand(1, n_fft, count))
        begin = n_fft // 2 if center else 0
        end = begin + length if length is not None else whole - n_fft // 2 if center else whole
        y, over = y[:, begin:end], over[:, begin:end]
        if over.detach().abs().min() < 1e-11:
            raise RuntimeError("istft: window overlap add min: 1")
        y = torch.nn.functional.pad(y / over, (0, max(end - whole, 0)))
        return y if input.dim() == 3 else y.squeeze(0)
    return istft


def data_of(self: Any) -> Any:
    """Tensor.data passes the tracer by: of what it traces it is detach(), which is the same memory."""
    torch, tracing = framework(), framework("torch.fx.experimental.proxy_tensor")
    mode = tracing.get_proxy_mode()
    if mode is not None and tracing.get_proxy_slot(self, mode.tracer, None) is not None:
        return self.detach()
    return torch._C.TensorBase.data.__get__(self)


def set_data(self: Any, value: Any) -> None:
    """Nothing that is traced shows such a change."""
    if framework("torch.fx.experimental.proxy_tensor").get_proxy_mode() is not None:
        raise refused("Tensor.data", "is assigned in a forward", "Write into it in place: t.copy_(value)")
    framework()._C.TensorBase.data.__set__(self, value)


class Asked(threading.local):
    """What models have asked of gradients since this was cleared, by the thread that exports them, and the line that did first."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}


ASKED = Asked()


def telling(name: str) -> property:
    """An attribute of tensors that tells when a model asks for it: also in a file of another package, and by getattr()."""
    was = getattr(framework()._C.TensorBase, name)

    def get(self: Any) -> Any:
        frame: Any = sys._getframe(1)
        if name not in ASKED.names and not trusted(frame.f_code.co_filename):
            if of_function(frame):
                ASKED.names["needs_input_grad"] = ""
            else:
                ASKED.names[name] = line_here()
        return was.__get__(self)

    return property(get, was.__set__)


def no_gradients() -> property:
    """Tensor.grad: what is exported has none, a model in training has those of its last step."""
    was = framework()._C.TensorBase.grad

    def get(self: Any) -> Any:
        if not trusted(sys._getframe(1).f_code.co_filename):
            raise refused("Tensor.grad", "is read by a forward", "Give what it decides to the model, as an argument or an attribute")
        return was.__get__(self)

    return property(get, was.__set__, was.__delete__)


MODE: dict[str, str] = {}  # is_grad_enabled: the line of the forward that asked, under EXPORTS


def mode_asked(name: str, line: str) -> Unsupported:
    asked = f"torch.{name}()" if name.endswith("_enabled") else f"Tensor.{name}"
    return Unsupported(f"{asked} is asked by a forward whose answers are compiled, and decides them", Node("", asked, where=line),
                       "Let an attribute of the model decide, such as self.training, or an argument")


def mode(name: str, known: Callable[[bool], bool]) -> tuple[Any, str, Any]:
    """torch.is_grad_enabled and is_inference_mode_enabled: how answers will be asked for is not known while a model is exported, but
    inside of a region of the forward's own. Steps are made with gradients. Of the first it is noted in MODE that a forward asks."""
    torch = framework()
    was = getattr(torch, name)

    def call() -> bool:
        found: bool = was()
        if not known(found) and answering(sys._getframe(1)):
            if name != "is_grad_enabled":
                raise mode_asked(name, line_here())
            MODE.setdefault(name, line_here())
        return found
    return torch, name, call


def of_function(frame: Any) -> bool:
    """Whether an autograd.Function's forward asks, which is told what it is with gradients, in every mode."""
    own = __file__.replace("substitutes", "custom")
    while frame is not None and frame.f_code.co_filename != own:
        frame = frame.f_back
    return frame is not None


def answering(frame: Any) -> bool:
    """Whether a model's own line asks, in a forward whose answers are compiled."""
    own, asks = __file__.replace("substitutes", "inference"), not trusted(frame.f_code.co_filename)
    while asks and frame is not None:
        if frame.f_code.co_filename == own and frame.f_code.co_name == "forward":
            return True
        frame = frame.f_back
    return False


def of_inference(was: Callable[..., bool]) -> Callable[..., bool]:
    """In the place of Tensor.is_inference: of what a forward makes it is as answers are asked for."""
    def call(self: Any) -> bool:
        if answering(sys._getframe(1)):
            raise mode_asked("is_inference", line_here())
        return was(self)
    return call


@contextlib.contextmanager
def substituted() -> Iterator[None]:
    """While a model is exported."""
    torch = framework()
    norm = framework("torch.nn.modules.batchnorm")._BatchNorm
    constraints = framework("torch.distributions.constraints")
    framework("torch.overrides").get_default_nowrap_functions()  # kept from now on: of PyTorch's own attributes, not of those below
    places: list[tuple[Any, str, Any]] = [
        (torch.nn.functional, "gaussian_nll_loss", gaussian_nll_loss), (torch, "ctc_loss", ctc_loss),
        (framework("torch.nn.modules.transformer"), "_detect_is_causal_mask", detect_is_causal_mask),
        (torch._C._nn, "multilabel_margin_loss", multilabel_margin_loss), (torch.linalg, "lstsq", lstsq),
        (torch.linalg, "cholesky_ex", factored(torch.linalg.cholesky_ex)),
        (torch, "equal", equal(torch.equal)), (torch.Tensor, "equal", equal(torch.Tensor.equal)),
        (constraints._Symmetric, "check", symmetric), (constraints._PositiveDefinite, "check", positive_definite),
        (torch, "istft", inverted(torch.istft)), (torch.Tensor, "istft", inverted(torch.Tensor.istft)),
        (torch, "cov", covariance), (torch.Tensor, "cov", covariance), (torch, "corrcoef", correlations), (torch.Tensor, "corrcoef", correlations),
        (norm, "forward", averaging(norm.forward)), (torch.Tensor, "data", property(data_of, set_data)),
        *((torch.Tensor, n, telling(n)) for n in ("requires_grad", "is_leaf", "grad_fn")),
        *((owner, "is_inference", of_inference(owner.is_inference)) for owner in (torch, torch.Tensor)),
        (torch.Tensor, "grad", no_gradients()), mode("is_grad_enabled", lambda on: not on), mode("is_inference_mode_enabled", lambda on: on),
        (torch.nn.Module, "register_buffer", registering(torch.nn.Module.register_buffer)), *packing(), *functions()]
    kept = [(owner, name, vars(owner).get(name)) for owner, name, _ in places]
    inner = {(id(owner), name) for owner, name, _ in functions()}  # PyTorch's own functions call these, and some of ours the first of them
    plain = [(was, other) for (owner, name, was), (*_, other) in zip(kept, places)
             if inspect.ismodule(owner) and inspect.isroutine(was) and (id(owner), name) not in inner]
    for owner, name, other in places:
        if hasattr(owner, name):
            setattr(owner, name, other)
    try:
        with by_whatever_name([was for was, _ in plain], [other for _, other in plain]):
            yield
    finally:
        for owner, name, was in kept:
            if was is not None:
                setattr(owner, name, was)
            elif name in vars(owner):
                delattr(owner, name)
