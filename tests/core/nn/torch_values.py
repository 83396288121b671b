#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes torch_values.h: what layers of torch.nn give in binary64 for the numbers of test_nn_torch.c, and the gradients of
sum(y sin(i)) by x and by each parameter, each as two products with sin(0.7 i + j). Usage: torch_values.py > torch_values.h"""
import math

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
N, T, C = 2, 5, 4


def numbers(name, count):
    """The C side's: FNV-1a of the name, then a linear congruential generator, in -1/2 .. 1/2."""
    seed, out = 2166136261, []
    for c in name.encode():
        seed = (seed ^ c) * 16777619 & 0xFFFFFFFF
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append((seed >> 23) / 512 - 0.5)
    return torch.tensor(out)


def products(value):
    flat = value.detach().reshape(-1)
    i = torch.arange(len(flat))
    return [float((flat * torch.sin(0.7 * i + j)).sum()) for j in range(2)]


def first(x):
    """Channels first."""
    return x.movedim(-1, 1)


def last(x):
    return x.movedim(1, -1)


LENGTHS = torch.tensor([T - 2 * i for i in range(N)])
ABSENT = torch.arange(T)[None, :] >= LENGTHS[:, None]


def packed(module, x, *start):
    rows = nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True)
    y, state = module(rows, *start)
    return nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=T)[0], state


def with_last(y, *states):
    return torch.cat([y.reshape(-1)] + [s.reshape(-1) for s in states])


class Grouped(nn.Module):
    """Two heads of q on one of k and v, each 2 wide."""

    def __init__(self):
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.zeros(8, C))
        self.in_proj_bias = nn.Parameter(torch.zeros(8))
        self.out_proj = nn.Linear(C, C)

    def forward(self, x):
        a = nn.functional.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = (t.reshape(N, T, -1, 2).transpose(1, 2) for t in (a[..., :4], a[..., 4:6], a[..., 6:]))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out_proj(y.transpose(1, 2).reshape(N, T, C))


def seen(x, width):
    """What is seen is made of x: the layer's x turned in time, the first `width` channels."""
    return x.flip(1)[..., :width]


def causal():
    return nn.Transformer.generate_square_subsequent_mask(T)


ROWS = [
    ("conv1d", nn.Conv1d(C, 6, 3, padding=2, dilation=2, groups=2), (N, T, C), lambda m, x: last(m(first(x)))),
    ("conv3d", nn.Conv3d(C, 2, (2, 3, 3), padding=1, stride=(1, 2, 1)), (N, 3, 4, 3, C), lambda m, x: last(m(first(x)))),
    ("conv1d_transpose", nn.ConvTranspose1d(C, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (N, T, C),
     lambda m, x: last(m(first(x)))),
    ("conv2d_transpose", nn.ConvTranspose2d(C, 6, 4, stride=2, padding=1, groups=2), (N, 3, 2, C), lambda m, x: last(m(first(x)))),
    ("conv3d_transpose", nn.ConvTranspose3d(C, 2, 3, stride=2, padding=1, output_padding=(1, 0, 1), bias=False), (N, 2, 3, 2, C),
     lambda m, x: last(m(first(x)))),
    ("group_norm", nn.GroupNorm(2, C), (N, 3, 2, C), lambda m, x: last(m(first(x)))),
    ("instance_norm", nn.InstanceNorm1d(C, affine=True), (N, T, C), lambda m, x: last(m(first(x)))),
    ("rms_norm", nn.RMSNorm(C, eps=1e-6), (N, T, C), lambda m, x: m(x)),
    ("embedding_bag", nn.EmbeddingBag(7, C, mode="mean"), (N, T, C), lambda m, x: m((torch.arange(N * 3) * 5 % 7).reshape(N, 3)) + x[:, 0]),
    ("self_attention", nn.MultiheadAttention(C, 2, batch_first=True), (N, T, C),
     lambda m, x: m(x, x, x, key_padding_mask=ABSENT, need_weights=False)[0]),
    ("grouped_attention", Grouped(), (N, T, C), lambda m, x: m(x)),
    ("cross_attention", nn.MultiheadAttention(C, 2, batch_first=True), (N, T, C),
     lambda m, x: m(x, seen(x, C), seen(x, C), attn_mask=causal(), need_weights=False)[0]),
    ("cross_attention_apart", nn.MultiheadAttention(C, 2, kdim=3, vdim=3, batch_first=True), (N, T, C),
     lambda m, x: m(x, seen(x, 3), seen(x, 3), key_padding_mask=ABSENT, need_weights=False)[0]),
    ("transformer", nn.TransformerEncoderLayer(C, 2, 6, dropout=0.0, batch_first=True), (N, T, C),
     lambda m, x: m(x, src_mask=causal(), is_causal=True)),
    ("decoder", nn.TransformerDecoderLayer(C, 2, 6, dropout=0.0, activation="gelu", batch_first=True, norm_first=True), (N, T, C),
     lambda m, x: m(x, seen(x, C), tgt_mask=causal(), tgt_is_causal=True)),
    ("lstm", nn.LSTM(C, 3, num_layers=2, bidirectional=True, batch_first=True), (N, T, C),
     lambda m, x: (lambda y, s: with_last(y, *s))(*packed(m, x))),
    ("gru", nn.GRU(C, 3, bidirectional=True, bias=False, batch_first=True), (N, T, C),
     lambda m, x: (lambda y, h: with_last(y, h))(*packed(m, x))),
    ("relu", nn.RNN(C, 3, num_layers=2, nonlinearity="relu", batch_first=True), (N, T, C),
     lambda m, x: (lambda y, h: with_last(y, h))(*m(x, torch.full((2, N, 3), 0.25)))),
    ("lstm_from", nn.LSTM(C, 3, batch_first=True), (N, T, C),
     lambda m, x: (lambda y, s: with_last(y, *s))(*m(x, (torch.full((1, N, 3), 0.25), torch.full((1, N, 3), -0.5))))),
]


def row(name, module, shape, call):
    module.train()
    with torch.no_grad():
        for key, parameter in module.named_parameters():
            parameter.copy_(numbers(key, parameter.numel()).reshape(parameter.shape))
    x = numbers("x", math.prod(shape)).reshape(shape).requires_grad_()
    y = call(module, x)
    flat = y.reshape(-1)
    (flat * torch.sin(torch.arange(len(flat)).double())).sum().backward()
    print(f'    {{"{name}",\n     {{{", ".join(map(str, shape))}}},\n     {{')
    values = [("y", y), ("x", x.grad)] + [(key, p.grad) for key, p in module.named_parameters()]
    for key, value in values:
        a, b = products(value)
        print(f'         {{"{key}", {a:.9g}, {b:.9g}}},')
    print("     }},")


print("/* SPDX-License-Identifier: Apache-2.0")
print(" * Written by tests/core/nn/torch_values.py with PyTorch " + torch.__version__.split("+")[0] + ": see there. */")
print("static const torch_row torch_rows[] = {")
for entry in ROWS:
    row(*entry)
print("};")
