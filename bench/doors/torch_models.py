#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchvision's models with random weights, in binary64: inference and the gradients of one training step against torch.

    PYTHONPATH=python python bench/doors/torch_models.py [--only resnet18,..] [--results FILE]

Each model is traced in evaluation, as torch.compile's back end has it, and exported in training, as `reprise.torch.compile` has
it, lowered to a program, and executed. `inference` is the greatest distance
of its results over the greatest result; `gradient` the greatest over all parameters of the greatest distance over the greatest
element of torch's gradient, of parameters (half of them at least) whose gradient is above 1e-6 of the model's greatest (what lies below is the
rounding error of a sum that is 0, such as that of a bias before a batch norm). Dropout and stochastic depth are off, as each
draws numbers of its own. The bar is 1e-4; the exit status is 1 where a model misses it. FILE is appended to, and what it has
is not computed again."""
from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
import torch
import torchvision
from torch.fx.experimental.proxy_tensor import make_fx

import reprise as rp
from reprise.torch.capture import Captured, Reader, capture
from reprise.torch.lower import Lowering

warnings.filterwarnings("ignore")
BOUND, LEAST, SIZE = 1e-4, 0.5, 64
SIZES = {"inception_v3": 96, "googlenet": 64, "alexnet": 80, "maxvit_t": 224}
OPTIONS: dict[str, dict[str, Any]] = {"inception_v3": {"init_weights": False, "aux_logits": False}, "googlenet": {"init_weights": False}}


def made(name: str) -> Any:
    options = dict(OPTIONS.get(name, {}), weights=None, num_classes=10)
    if name.startswith("vit_"):
        options["image_size"] = 32 * (int(name.split("_")[2]) == 32) + SIZE * (int(name.split("_")[2]) != 32) if "14" not in name else 56
    if any(s in name for s in ("deeplab", "fcn", "lraspp")):
        options["weights_backbone"] = None
    model = torchvision.models.get_model(name, **options)
    for m in model.modules():
        if isinstance(m, torch.nn.Dropout):
            m.p = 0.0
        if type(m).__name__ == "StochasticDepth":
            m.p = 0.0
        if type(m).__name__ == "MultiheadAttention":
            m.dropout = 0.0
        if isinstance(getattr(m, "dropout", None), float):
            m.dropout = 0.0
        if isinstance(getattr(m, "attention_dropout", None), float):
            m.attention_dropout = 0.0
    for p in model.parameters():  # a head of zeros (vision transformers') would hide whatever comes before it
        if p.dim() > 1 and not p.any():
            torch.nn.init.normal_(p, 0.0, 0.02)
    return model.double()


def image(name: str) -> torch.Tensor:
    n = SIZES.get(name, SIZE)
    if name.startswith("vit_"):
        n = 32 if "_32" in name else 56 if "_14" in name else SIZE
    return torch.randn(2, 3, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


class Forward(torch.nn.Module):
    """The model's results as a tuple."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> Any:
        y = self.model(x)
        if isinstance(y, torch.Tensor):
            return (y,)
        values = y.values() if isinstance(y, dict) else y
        return tuple(v for v in values if v is not None)


class Loss(Forward):
    """A sum of squares of all results, each with weights of its own."""

    def forward(self, x: torch.Tensor) -> Any:
        loss = 0
        for y in super().forward(x):
            w = torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape)
            loss = loss + (y * y * 0.5 + y * w).mean()
        return loss


class Program:
    """A captured module, its program and its states."""

    def __init__(self, module: Any, x: torch.Tensor, gradients: bool) -> None:
        self.given: dict[str, torch.Tensor] = {}
        self.captured = capture(module, (x,)) if gradients else self.traced(module, x)
        self.g = Lowering(self.captured.graph)
        out = self.g.run()
        self.results = [out[k] for k in out if k.startswith("result")]
        for k, v in enumerate(self.results):
            self.g.builder.result(f"r{k}", v.tensor)
        self.trained: list[str] = []
        if gradients:
            self.trained = sorted({i.state for i in self.captured.graph.inputs if i.trained and i.state in self.g.states})
            slopes = self.g.builder.gradients([self.results[0].tensor], [self.g.states[n] for n in self.trained], zeros=True)
            for k, s in enumerate(slopes):
                self.g.builder.result(f"g{k}", s)

    def traced(self, module: Any, x: torch.Tensor) -> Captured:
        """As torch.compile's back end has it: parameters and buffers are operands, and nothing is kept that autograd takes apart."""
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        names = list(tensors)

        def f(*values: torch.Tensor) -> Any:
            return torch.func.functional_call(module, dict(zip(names, values[:-1])), (values[-1],))

        operands = [*(t.detach() for t in tensors.values()), x]
        with torch.no_grad():
            gm = make_fx(torch.func.functionalize(f, remove="mutations_and_views"), tracing_mode="fake")(*operands)
        graph = Reader().body(gm)
        self.given = dict(zip([i.name for i in graph.inputs], operands))
        return Captured(graph)

    def run(self, x: torch.Tensor) -> dict[str, Any]:
        run = rp.Run(threads=1)
        for name in self.g.states:
            run.add_state(name, self.captured.tensors[name].detach().contiguous().numpy())
        if self.g.rng_tensor is not None:
            run.add_state("rng", np.array([1, 0], np.int64))
        for name, array in self.g.data.items():
            run.add_data(name, array)
        program = self.g.builder.finish()
        step = run.compile(program)
        self.length = len(program)
        return step(**{n: self.given.get(n, x).contiguous().numpy() for n in self.g.feeds})


def distance(a: Any, b: torch.Tensor) -> float:
    e = b.detach().numpy()
    top = max(float(np.abs(e).max()), 1e-300) if e.size else 1.0
    return float(np.abs(np.array(a) - e).max() / top) if e.size else 0.0


def measured(name: str) -> str:
    torch.manual_seed(0)
    model, x = made(name), image(name)
    began = time.time()
    for m in model.modules():  # with statistics of the batch, so that nothing fades on the way through
        if isinstance(m, torch.nn.BatchNorm2d):
            m.momentum = 0.5
    model.train()
    with torch.no_grad():
        model(x)
    model.eval()
    with torch.no_grad():
        expected = Forward(model)(x)
    p = Program(Forward(model), x, False)
    found = p.run(x)
    inference = max(distance(found[f"r{k}"], y) for k, y in enumerate(expected))
    if not np.isfinite(np.array(found["r0"])).all() or not np.array(found["r0"]).any():
        return "FAILED inference is not finite, or 0"
    del p, found  # a model of 600 million parameters has its weights often enough in memory
    model.train()
    buffers = {k: b.clone() for k, b in model.named_buffers()}
    loss = Loss(model)
    loss(x).backward()
    for k, b in model.named_buffers():
        b.data.copy_(buffers[k])
    slopes = {k: v.grad for k, v in loss.named_parameters() if v.grad is not None}
    t = Program(loss, x, True)
    found = t.run(x)
    greatest = max(float(v.abs().max()) for v in slopes.values())
    worst, where, compared = 0.0, "", 0
    for k, n in enumerate(t.trained):
        e = slopes.get(n)
        if e is None or float(e.abs().max()) <= 1e-6 * greatest:
            continue
        d, compared = distance(found[f"g{k}"], e), compared + 1
        if not d <= worst:
            worst, where = d, n
    state = "passed" if inference <= BOUND and worst <= BOUND and compared >= LEAST * len(t.trained) else "MISSED"
    return (f"{state} inference {inference:.1e} gradient {worst:.1e} ({where}) parameters {compared} of {len(t.trained)} instructions {t.length} "
            f"seconds {time.time() - began:.0f}")


def size(name: str) -> int:
    """Its parameters, so that the small ones come first."""
    return min(int(w.meta["num_params"]) for w in torchvision.models.get_model_weights(name))


def ordered(names: list[str]) -> list[str]:
    """One of each family, the small ones first, then the others."""
    names = sorted(names, key=size)
    families: dict[str, str] = {}
    for n in names:
        families.setdefault(torchvision.models.get_model_builder(n).__module__, n)
    return [n for n in names if n in families.values()] + [n for n in names if n not in families.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--results", default="")
    parser.add_argument("--part", default="0/1", help="K/N: of N parts the K-th, for several processes")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = [n for m in (torchvision.models, torchvision.models.segmentation) for n in torchvision.models.list_models(module=m)]
    names = [n for n in names if n in arguments.only.split(",")] if arguments.only else ordered(names)
    part, parts = map(int, arguments.part.split("/"))
    names = names[part::parts]
    known: dict[str, str] = {}
    if arguments.results and os.path.exists(arguments.results):
        with open(arguments.results, encoding="utf-8") as f:
            known = dict(line.rstrip("\n").split(": ", 1) for line in f if ": " in line)
    for name in names:
        if name not in known:
            try:
                known[name] = measured(name)
            except Exception as e:
                known[name] = f"REFUSED {type(e).__name__}: {str(e).splitlines()[0][:300]}"
            if arguments.results:
                with open(arguments.results, "a", encoding="utf-8") as f:
                    f.write(f"{name}: {known[name]}\n")
        print(f"{name}: {known[name]}", flush=True)
    good = sum(known[n].startswith("passed") for n in names)
    print(f"{good} of {len(names)} models within {BOUND}; torch {torch.__version__}, torchvision {torchvision.__version__}")
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
