# SPDX-License-Identifier: Apache-2.0
"""Packed sequences: recurrent layers over padded ones, beside PyTorch's in binary64."""
import importlib.util
import os
import sys
import unittest

import numpy as np

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import reprise
import reprise.torch as rt
import test_torch_substitutes as substitutes
from torch_small import sgd

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
REFUSED = r"test_torch_packed.py:\d+: PackedSequence.{}: .*shape that the lengths decide.*pad_packed_sequence"


class Packed(nn.Module):
    """What `use` makes of a packed layer's output, of its last states and of the lengths."""

    def __init__(self, kind, use, first=True, sort=False, given=False, **form):
        super().__init__()
        self.layer = LAYERS[kind](4, 5, batch_first=first, **form)
        self.use, self.first, self.sort = use, first, sort
        ways = (2 if form.get("bidirectional") else 1) * form.get("num_layers", 1)
        self.state = nn.Parameter(torch.randn(ways, 3, 5)) if given else None

    def forward(self, x, lengths):
        p = pack_padded_sequence(x, lengths, batch_first=self.first, enforce_sorted=self.sort)
        h = self.state
        h = h if h is None or not isinstance(self.layer, nn.LSTM) else (h, h * 2)
        out, last = self.layer(p, h)
        return self.use(self, out, last)


def last(m, out, h):
    return torch.cat([t.transpose(0, 1).flatten(1) for t in (h if isinstance(h, tuple) else (h,))], 1)


def padded(m, out, h, **how):
    y, lengths = pad_packed_sequence(out, batch_first=m.first, **how)
    return y * lengths.to(y).reshape((-1, 1, 1) if m.first else (1, -1, 1))


def summed(v, t):
    return (v * torch.linspace(0.5, 1.5, v.numel()).reshape(v.shape)).sum() + 0 * t.sum()


class Layers(substitutes.Beside):
    def batch(self, first=True, times=6, lengths=(2, 6, 3)):
        x = torch.randn(3, times, 4)
        return x if first else x.transpose(0, 1).contiguous(), torch.tensor(lengths), torch.zeros(1)

    def test_last_states(self):
        for kind in LAYERS:
            for form in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False}):
                self.same(Packed(kind, last, **form), summed, self.batch(), steps=3)

    def test_outputs(self):
        for kind in LAYERS:
            for first in (True, False):
                self.same(Packed(kind, padded, first, bidirectional=True), summed, self.batch(first), steps=2)
        self.same(Packed("rnn", padded, nonlinearity="relu"), summed, self.batch())
        self.same(Packed("gru", lambda m, o, h: padded(m, o, h, padding_value=2.0)), summed, self.batch())

    def test_first_states_and_sorted_lengths(self):
        for kind in LAYERS:
            self.same(Packed(kind, last, given=True, bidirectional=True), summed, self.batch(), steps=2)
        self.same(Packed("lstm", last, sort=True), summed, self.batch(lengths=(6, 3, 3)))

    def test_a_total_length(self):
        for total in (4, 6, 9):
            m = Packed("lstm", lambda m, o, h: padded(m, o, h, total_length=total))
            self.same(m, summed, self.batch(lengths=(2, 4, 3)))

    def test_other_lengths_are_the_same_program(self):
        m = Packed("lstm", padded)
        step = rt.compile(m, summed, self.batch(), sgd(m, 0.0))
        for lengths in ((6, 1, 1), (4, 5, 6)):
            b = self.batch(lengths=lengths)
            self.assertAlmostEqual(float(step(*b)), float(summed(m(*b[:2]), b[2]).detach()), places=12)
        self.assertEqual(step.programs, 1)

    def test_a_stack_of_layers_and_packs_of_lists(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.GRU(4, 5, bidirectional=True), nn.LSTM(10, 3)

            def forward(self, x):
                p = pack_sequence([x[:2, 0], x[:6, 1], x[:4, 2]], enforce_sorted=False)
                return pad_packed_sequence(self.b(self.a(p)[0])[0])[0]
        self.same(Two(), summed, (self.batch(False)[0], torch.zeros(1)))

    def test_dropout_between_layers_draws(self):
        m = Packed("lstm", last, num_layers=2, dropout=0.5)
        step = rt.compile(m, summed, self.batch(), sgd(m, 0.0))
        b = self.batch()
        self.assertNotEqual(float(step(*b)), float(step(*b)))

    def test_a_record_is_replayed(self):
        import subprocess
        import tempfile
        m = Packed("lstm", padded, bidirectional=True)
        step = rt.compile(m, summed, self.batch(), sgd(m))
        with tempfile.TemporaryDirectory() as d:
            with rt.record(d + "/x.reprise"):
                for _ in range(3):
                    step(*self.batch())
            command = os.environ.get("REPRISE_COMMAND")
            if command:
                self.assertEqual(subprocess.run([command, "replay", d + "/x.reprise"], capture_output=True).returncode, 0)


class Else(substitutes.Beside):
    batch = Layers.batch

    def test_where_pytorch_raises_or_ends_sooner_is_an_error_of_the_step(self):
        m = Packed("lstm", last)
        step = rt.compile(m, summed, self.batch(), sgd(m, 0.0))
        for lengths in ((0, 6, 3), (2, 7, 3)):
            with self.assertRaises(RuntimeError):
                m(*self.batch(lengths=lengths)[:2])
            with self.assertRaises(reprise.Error) as caught:
                step(*self.batch(lengths=lengths))
            self.assertRegex(caught.exception.__notes__[0], r"in the model at .*test_torch_packed.py:\d+")
        for use, good, bad in ((padded, (2, 6, 3), (2, 5, 3)),
                               (lambda m, o, h: padded(m, o, h, total_length=4), (2, 4, 3), (2, 5, 3))):
            m = Packed("lstm", use)
            step = rt.compile(m, summed, self.batch(lengths=good), sgd(m, 0.0))
            with self.assertRaises(reprise.Error):
                step(*self.batch(lengths=bad))
        m = Packed("lstm", padded)
        with self.assertRaises(reprise.Error):
            rt.compile(m, summed, self.batch(lengths=(2, 5, 3)), sgd(m))

    def test_what_has_the_packed_shape_is_refused(self):
        for use, part in ((lambda m, o, h: o.data.mean(), "data"), (lambda m, o, h: F.relu(o.data), "data"),
                          (lambda m, o, h: o[0] * 2, "data"), (lambda m, o, h: o.batch_sizes.size(0) * h[0], "batch_sizes"),
                          (lambda m, o, h: o.batch_sizes[0] * h[0], "batch_sizes"),
                          (lambda m, o, h: pad_packed_sequence(PackedSequence(F.relu(o.data), o.batch_sizes))[0], "data")):
            m = Packed("lstm", use)
            with self.assertRaisesRegex(rt.Unsupported, REFUSED.format(part)):
                rt.compile(m, summed, self.batch(), sgd(m))
        m = Packed("gru", lambda m, o, h: o)
        with self.assertRaisesRegex(rt.Unsupported, "PackedSequence.data"):
            rt.compile_inference(m, self.batch()[:2])

    def test_projections_are_refused(self):
        m = Packed("lstm", last, proj_size=2)
        with self.assertRaisesRegex(rt.Unsupported, r"test_torch_packed.py:\d+: LSTM: .*proj_size"):
            rt.compile(m, summed, self.batch(), sgd(m))

    def test_pytorchs_functions_are_its_own_again(self):
        before = nn.LSTM.forward, nn.utils.rnn._packed_sequence_init, torch._VF._pad_packed_sequence
        rt.compile_inference(Packed("lstm", last), self.batch()[:2])
        self.assertEqual(before, (nn.LSTM.forward, nn.utils.rnn._packed_sequence_init, torch._VF._pad_packed_sequence))
        x, lengths, _ = self.batch()
        y, n = pad_packed_sequence(pack_padded_sequence(x, lengths, True, False), True)
        np.testing.assert_array_equal(n.numpy(), lengths.numpy())

    def test_inference(self):
        m = Packed("gru", last)
        forward = rt.compile_inference(m, self.batch()[:2])
        b = self.batch(lengths=(1, 2, 2))[:2]
        torch.testing.assert_close(torch.from_numpy(forward(*b).numpy()), m(*b).detach())


if __name__ == "__main__":
    unittest.main()
