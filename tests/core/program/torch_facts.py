#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints torch_facts.def: values and gradients of losses and activations as PyTorch has them in binary64, of operands that
test_losses.c makes likewise. python3 torch_facts.py > torch_facts.def, with PyTorch of bench/peers/requirements.txt."""
import textwrap

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def operand(seed, n=12, shape=(4, 3), scale=1.0):
    return torch.tensor([(((29 * k * k + (37 + 5 * seed) * k + 11 * seed) % 64) / 32 - 0.97) * scale for k in range(n)]).reshape(shape)


A, B, D = operand(1), operand(2), operand(3)
P = torch.sigmoid(operand(4))
SIGNS = torch.where(operand(5) > 0, 1.0, -1.0)
ROW_SIGNS = torch.tensor([1.0, -1.0, -1.0, 1.0])
LABELS, IGNORED = torch.tensor([0, 2, 1, 2]), torch.tensor([0, -100, 1, 2])
WEIGHT = torch.tensor([0.5, 2.0, 0.75])
COUNTS = torch.tensor([k % 5 for k in range(12)], dtype=torch.float64).reshape(4, 3)
WIDE = operand(6, 16, (4, 4), 4.0)


def gaussian(x, full, reduction):
    return F.gaussian_nll_loss(x, B, D * D, full=full, eps=0.01, reduction=reduction)


def info_nce(x):
    logits = F.normalize(x, dim=1) @ F.normalize(B, dim=1).T / 0.5
    return F.cross_entropy(logits, torch.arange(4))


CASES = {
    "mse_sum": (A, lambda x: F.mse_loss(x, B, reduction="sum")),
    "l1_mean": (A, lambda x: F.l1_loss(x, B)),
    "huber": (A, lambda x: F.huber_loss(x, B, delta=0.4)),
    "smooth_l1": (A, lambda x: F.smooth_l1_loss(x, B, beta=0.4)),
    "bce": (P, lambda x: F.binary_cross_entropy(x, torch.sigmoid(B))),
    "bce_positive": (A, lambda x: F.binary_cross_entropy_with_logits(x, torch.sigmoid(B), pos_weight=WEIGHT)),
    "kl_batch": (A, lambda x: F.kl_div(F.log_softmax(x, 1), F.softmax(B, 1), reduction="batchmean")),
    "kl_log": (A, lambda x: F.kl_div(F.log_softmax(x, 1), F.log_softmax(B, 1), reduction="sum", log_target=True)),
    "poisson_log": (A, lambda x: F.poisson_nll_loss(x, COUNTS, full=True)),
    "poisson": (P, lambda x: F.poisson_nll_loss(x, COUNTS, log_input=False, eps=1e-8)),
    "gaussian": (A, lambda x: gaussian(x, False, "mean")),
    "gaussian_full": (A, lambda x: gaussian(x, True, "none")),
    "soft_margin": (A, lambda x: F.soft_margin_loss(x, SIGNS)),
    "hinge_embedding": (A, lambda x: F.hinge_embedding_loss(x, SIGNS, margin=0.7)),
    "margin_ranking": (A, lambda x: F.margin_ranking_loss(x, B, SIGNS, margin=0.3)),
    "cosine_similarity": (A, lambda x: F.cosine_similarity(x, B, dim=1)),
    "cosine_embedding": (A, lambda x: F.cosine_embedding_loss(x, B, ROW_SIGNS, margin=0.1)),
    "triplet": (A, lambda x: F.triplet_margin_loss(x, B, D, margin=0.5)),
    "info_nce": (A, info_nce),
    "nll": (A, lambda x: F.nll_loss(F.log_softmax(x, 1), LABELS, weight=WEIGHT)),
    "entropy": (A, lambda x: F.cross_entropy(x, LABELS)),
    "entropy_weighted": (A, lambda x: F.cross_entropy(x, LABELS, weight=WEIGHT)),
    "entropy_ignored": (A, lambda x: F.cross_entropy(x, IGNORED)),
    "entropy_smooth": (A, lambda x: F.cross_entropy(x, LABELS, label_smoothing=0.1)),
    "entropy_all": (A, lambda x: F.cross_entropy(x, IGNORED, weight=WEIGHT, label_smoothing=0.1)),
    "entropy_rows": (A, lambda x: F.cross_entropy(x, IGNORED, weight=WEIGHT, label_smoothing=0.1, reduction="none")),
    "clamp": (A, lambda x: x.clamp(-0.3, 0.5)),
    "xlogy": (COUNTS, lambda x: torch.xlogy(x, P)),
    "asinh": (WIDE, torch.asinh),
    "acosh": (WIDE * WIDE + 1.25, torch.acosh),
    "atanh": (A, lambda x: torch.atanh(x * 0.9)),
    "hardsigmoid": (WIDE, lambda x: F.relu6(x + 3) / 6),  # the gradient of its own has a factor rounded to binary32
    "hardswish": (WIDE, F.hardswish),
    "mish": (WIDE, F.mish),
    "selu": (WIDE, F.selu),
    "celu": (WIDE, lambda x: F.celu(x, 0.75)),
    "softsign": (WIDE, F.softsign),
    "logsigmoid": (WIDE, F.logsigmoid),
    "tanhshrink": (WIDE, F.tanhshrink),
    "softshrink": (WIDE, lambda x: F.softshrink(x, 0.6)),
    "hardshrink": (WIDE, lambda x: F.hardshrink(x, 0.6)),
    "threshold": (WIDE, lambda x: F.threshold(x, 0.2, -1.5)),
    "prelu": (WIDE, lambda x: F.prelu(x, torch.tensor([0.25]))),
    "gelu_tanh": (WIDE, lambda x: F.gelu(x, approximate="tanh")),
    "glu": (WIDE, lambda x: F.glu(x, 1)),
    "std": (WIDE, lambda x: x.std(1)),
    "norm_1": (WIDE, lambda x: torch.linalg.vector_norm(x, 1, 1)),
    "norm_3": (WIDE, lambda x: torch.linalg.vector_norm(x, 3, 1)),
    "norm_most": (WIDE, lambda x: torch.linalg.vector_norm(x, float("inf"), 1)),
    "prod": (WIDE, lambda x: x.prod(1)),
    "cumprod": (WIDE, lambda x: x.cumprod(1)),
    "fmod": (WIDE, lambda x: torch.fmod(x, torch.tensor([0.7, -0.7, 1.3, -0.3]))),
    "remainder": (WIDE, lambda x: torch.remainder(x, torch.tensor([0.7, -0.7, 1.3, -0.3]))),
}


def written(word, tensor):
    text = "%s(%s)" % (word, ", ".join("%r" % float(v) for v in tensor.detach().reshape(-1)))
    return "\n".join(textwrap.wrap(text, 112, initial_indent="     ", subsequent_indent="         "))


print("""/* SPDX-License-Identifier: Apache-2.0
 * Losses and activations as PyTorch %s has them, in binary64: FACT(name, VALUES(of its elements),
 * GRADIENT(of their sum by the operand)). Made by torch_facts.py. */""" % torch.__version__.split("+")[0])
for name, (x, f) in CASES.items():
    x = x.clone().requires_grad_()
    y = f(x)
    y.sum().backward()
    print("FACT(%s,\n%s,\n%s)" % (name, written("VALUES", y), written("GRADIENT", x.grad)))
