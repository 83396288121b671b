# SPDX-License-Identifier: Apache-2.0
"""Packed sequences (pack_padded_sequence), whose shape their lengths decide: while a model is exported they stay padded, and
recurrent layers keep a sequence's states where it has ended. PyTorch's functions stay as they are, wherever they were imported
to: what they call is another."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .refusals import refused
from .traps import framework

REMEDY = "Of a packed sequence take what pad_packed_sequence gives, and by torch.where(torch.arange(steps)[:, None] < lengths, ..) what counts"


class Inside:
    """What a packed sequence's `data` and `batch_sizes` would be: whoever takes hold of it is refused."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_name":  # what Python and PyTorch ask of any object
            raise AttributeError(name)
        if name == "size" and self._name == "batch_sizes" and in_rnn(sys._getframe(1)):
            return lambda axis: 0  # pad_packed_sequence asks for the longest length: whether one was given is seen by this
        raise self.refusal()

    def refusal(self) -> Exception:
        return refused(f"PackedSequence.{self._name}", "has a shape that the lengths decide", REMEDY)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = [a for a in args if isinstance(a, Inside)]
        raise (found[0] if found else cls("data")).refusal()

    def __getitem__(self, at: Any) -> Any:
        raise self.refusal()

    def __len__(self) -> int:
        raise self.refusal()

    def __mul__(self, other: Any = None) -> Any:
        raise self.refusal()

    __rmul__ = __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __matmul__ = __rmatmul__ = __neg__ = __pow__ = __iter__ = \
        __lt__ = __gt__ = __mul__


def refuse_packed(values: Any) -> None:
    """Among what a module gives: a packed sequence."""
    for v in values:
        if isinstance(v, Inside):
            raise v.refusal()


def in_rnn(frame: Any) -> bool:
    return bool(frame.f_code.co_filename.replace("\\", "/").endswith("/torch/nn/utils/rnn.py"))


@functools.lru_cache(None)
def kind() -> Any:
    """A PackedSequence that is padded: `x` [times, n, ..], `lengths` [n], in its order."""
    base = framework("torch.nn.utils.rnn").PackedSequence

    class Padded(base):  # type: ignore[misc, valid-type]
        x: Any
        lengths: Any

        def __new__(cls, x: Any, lengths: Any, sorted_indices: Any, unsorted_indices: Any) -> Any:
            made = tuple.__new__(cls, (Inside("data"), Inside("batch_sizes"), sorted_indices, unsorted_indices))
            made.x, made.lengths = x, lengths
            return made

        def to(self, *args: Any, **kwargs: Any) -> Any:
            return type(self)(self.x.to(*args, **kwargs), self.lengths, self.sorted_indices, self.unsorted_indices)
    return Padded


@functools.lru_cache(None)
def operation() -> Any:
    """torch.ops.reprise.packed_recurrent, whose rule is in rules/recurrent.py: output [times, n, ..] and the last states."""
    torch = framework()

    def shapes(kind: str, x: Any, lengths: Any, states: Any, params: Any, biased: bool, layers: int, rate: float, train: bool,
               both: bool) -> Any:
        width = states[0].shape[2] * (2 if both else 1)
        return [x.new_empty(*x.shape[:2], width), *(s.new_empty(s.shape) for s in states)]

    library = torch.library.Library("reprise", "FRAGMENT")
    library.define("packed_recurrent(str kind, Tensor x, Tensor lengths, Tensor[] states, Tensor[] params, bool biased, int layers, "
                   "float rate, bool train, bool both) -> Tensor[]")
    torch.library.register_fake("reprise::packed_recurrent", shapes, lib=library)
    return library, torch.ops.reprise.packed_recurrent.default


def pack(x: Any, lengths: Any, batch_first: bool) -> Any:
    """torch._VF._pack_padded_sequence, of which pack_padded_sequence gives the sorted batch. As in PyTorch each length is 1 .. times,
    none is above the one before it, and what is behind a sequence counts for nothing, NaN too."""
    x = x.transpose(0, 1) if batch_first else x
    bad = ((lengths < 1) | (lengths > x.shape[0])).any() | (lengths[1:] > lengths[:-1]).any()
    return ending(x, lengths, 0.0), unless(bad, lengths)


def ending(x: Any, lengths: Any, behind: float) -> Any:
    """[times, n, ..], where each sequence has ended `behind`."""
    torch = framework()
    times, n, *rest = x.shape
    there = (torch.arange(times).unsqueeze(1) < lengths).reshape(times, n, *[1] * len(rest))
    return torch.where(there, x, torch.full((), behind, dtype=x.dtype))


def unless(bad: Any, lengths: Any) -> Any:
    """The lengths; an error of the step where `bad` holds: there is one element to take."""
    return lengths + framework().zeros(1, dtype=lengths.dtype).index_select(0, bad.to(lengths.dtype).reshape(1))


def packed_of(x: Any, lengths: Any, sorted_indices: Any = None, unsorted_indices: Any = None) -> Any:
    """torch.nn.utils.rnn._packed_sequence_init, which pack_padded_sequence ends with."""
    if isinstance(x, Inside):
        raise x.refusal()
    rnn = framework("torch.nn.utils.rnn")
    return kind()(x, lengths, sorted_indices, rnn.invert_permutation(sorted_indices) if unsorted_indices is None else unsorted_indices)


def pad(original: Callable[..., Any]) -> Callable[..., Any]:
    """torch._VF._pad_packed_sequence. PyTorch's result ends with the longest sequence, and here with the longest that there may be:
    where they differ and no total_length was given that is an error of the step."""
    def pad_packed(data: Any, sizes: Any, batch_first: bool, padding: float, total: int) -> Any:
        torch = framework()
        of = caller_of("sequence")
        if not isinstance(of, kind()):
            return original(data, sizes, batch_first, padding, total)
        y, lengths = of.x, of.lengths
        times, longest = y.shape[0], lengths.max()
        lengths = unless(longest > total if total else longest != times, lengths)
        y = ending(y, lengths, padding)
        if total:
            more = y.new_full((max(total - times, 0), *y.shape[1:]), padding)
            y = torch.cat([y, more])[:total]
        return y.transpose(0, 1) if batch_first else y, lengths
    return pad_packed


def caller_of(name: str) -> Any:
    """The variable of the function that calls the one which asks: of pad_packed_sequence its packed sequence."""
    frame: Any = sys._getframe(2)
    return frame.f_locals.get(name) if in_rnn(frame) else None


def layer(original: Callable[..., Any]) -> Callable[..., Any]:
    """The forward of LSTM, GRU and RNN."""
    @functools.wraps(original)
    def forward(self: Any, input: Any, hx: Any = None) -> Any:
        if not isinstance(input, kind()):
            return original(self, input, hx)
        if getattr(self, "proj_size", 0):
            raise refused(self.mode, "of a packed sequence with projections (proj_size)", "A linear layer behind it projects")
        self._update_flat_weights()
        pair, x = self.mode == "LSTM", input.x
        if hx is None:
            zero = x.new_zeros(self.num_layers * (2 if self.bidirectional else 1), x.shape[1], self.hidden_size)
            hx = (zero, zero) if pair else zero
        else:
            hx = self.permute_hidden(hx, input.sorted_indices)
        states = list(hx) if pair else [hx]
        for s in states:
            self.check_hidden_size(s, (self.num_layers * (2 if self.bidirectional else 1), x.shape[1], self.hidden_size))
        name = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}.get(self.mode, self.mode.lower())
        y, *last = operation()[1](name, x, input.lengths, states, self._flat_weights, self.bias, self.num_layers, float(self.dropout),
                                  self.training, self.bidirectional)
        out = kind()(y, input.lengths, input.sorted_indices, input.unsorted_indices)
        return out, self.permute_hidden(tuple(last) if pair else last[0], input.unsorted_indices)
    return forward


def packing() -> list[tuple[Any, str, Any]]:
    """What is another while a model is exported: owner, name, function."""
    torch, rnn, layers = framework(), framework("torch.nn.utils.rnn"), framework("torch.nn.modules.rnn")
    return [(torch._VF, "_pack_padded_sequence", pack), (rnn, "_packed_sequence_init", packed_of),
            (torch._VF, "_pad_packed_sequence", pad(torch._VF._pad_packed_sequence)),
            *((owner, "forward", layer(owner.forward)) for owner in (layers.LSTM, layers.GRU, layers.RNN))]
