#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what PyTorch gives in binary64 for the numbers of torch_numbers.h, each tensor as two products with sin(0.7 i + j).
`torch_values.py layers > torch_values.h`: results of layers, and the gradients of sum(y sin(i)) by x and by each parameter.
`torch_values.py optimizers > torch_steps.h`: parameters after some steps of each optimizer, and rates of schedules."""
import math
import sys

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


def layers():
    print("static const torch_row torch_rows[] = {")
    for entry in ROWS:
        row(*entry)
    print("};")


# ---- optimizers: two linear layers, the mean of squares of their result ----

STEPS = 6


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 6), nn.Linear(6, 2)
        with torch.no_grad():
            for key, parameter in self.named_parameters():
                parameter.copy_(numbers(key, parameter.numel()).reshape(parameter.shape))

    def forward(self, x):
        return (self.b(torch.tanh(self.a(x))) ** 2).mean()


def schedule(kind, optimizer):
    if kind == "cycle":
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10, pct_start=0.4, div_factor=4,
                                                   final_div_factor=2.5, cycle_momentum=False)
    if kind == "restarts":
        return torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3, eta_min=0.01)
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)


def optimizers(model):
    """The name, and what is stepped."""
    weights, biases = [model.a.weight, model.b.weight], [model.a.bias, model.b.bias]
    o = torch.optim
    torch.bfloat16 = torch.float64  # in which Muon multiplies, as all else here
    yield "sgd", [o.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=0.01)], None
    yield "adam", [o.Adam(model.parameters(), 0.05)], None
    yield "adamw", [o.AdamW(model.parameters(), 0.05)], None
    yield "rmsprop", [o.RMSprop(model.parameters(), 0.02, momentum=0.5)], None
    yield "adagrad", [o.Adagrad(model.parameters(), 0.1)], None
    yield "groups", [o.AdamW([{"params": weights, "lr": 0.05}, {"params": biases, "lr": 0.02, "weight_decay": 0.1}])], "exponential"
    yield "muon", [o.Muon(weights, 0.1), o.AdamW(biases, 0.05, betas=(0.8, 0.9))], "cycle"
    yield "muon_plain", [o.Muon([model.a.weight], 0.1, momentum=0.8, nesterov=False, weight_decay=0), o.SGD([model.b.weight], 0.1),
                         o.Adagrad(biases, 0.1)], None


def steps():
    print("static const torch_steps torch_optimizers[] = {")
    names = [name for name, _, _ in optimizers(Two())]
    for at, name in enumerate(names):
        model = Two()
        _, stepped, kind = list(optimizers(model))[at]
        schedules = [schedule(kind, stepped[0])] if kind else []
        if name == "muon":
            schedules.append(schedule("restarts", stepped[1]))
        x = numbers("x", 3 * 4).reshape(3, 4)
        for _ in range(STEPS):
            loss = model(x)
            model.zero_grad()
            loss.backward()
            for one in stepped + schedules:
                one.step()
        print(f'    {{"{name}",\n     {{')
        for key, parameter in model.named_parameters():
            a, b = products(parameter)
            print(f'         {{"{key}", {a:.9g}, {b:.9g}}},')
        print("     }},")
    print("};")
    print("static const double torch_rates[3][12] = {")
    for kind in ("exponential", "cycle", "restarts"):
        optimizer = torch.optim.SGD(Two().parameters(), 0.1)
        along, rates = schedule(kind, optimizer), []
        for _ in range(12 if kind != "cycle" else 10):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if len(rates) < 10 or kind != "cycle":
                along.step()
        print("    {" + ", ".join(f"{rate:.17g}" for rate in rates) + "},")
    print("};")


print("/* SPDX-License-Identifier: Apache-2.0")
print(" * Written by tests/core/nn/torch_values.py with PyTorch " + torch.__version__.split("+")[0] + ": see there. */")
layers() if sys.argv[1:] == ["layers"] else steps()
