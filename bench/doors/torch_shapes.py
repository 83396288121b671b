# SPDX-License-Identifier: Apache-2.0
"""Common networks in many shapes through the PyTorch door beside PyTorch: a training step (forward, gradients, AdamW, which is
fused on PyTorch's side), turn by turn, one thread each, in the processor's time.

    torch_shapes.py [--only TEXT ..] [--seconds S a shape]

Prints the median over the turns of our time over PyTorch's, and ends with 1 where losses are apart or a shape is slower. With
RP_ISA=avx2 and ATEN_CPU_CAPABILITY, MKL_ENABLE_INSTRUCTIONS and ONEDNN_MAX_CPU_ISA of the same both sides do without AVX-512."""
from __future__ import annotations

import argparse
import copy
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

import reprise.torch as rt

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
Made = tuple[Any, Any, tuple[Any, ...], Any]  # module, loss, inputs, target


def dense(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def mlp(batch: int, *widths: int) -> Made:
    return dense(*widths), F.cross_entropy, (torch.randn(batch, widths[0]),), torch.randint(0, widths[-1], (batch,))


def autoencoder(batch: int, *widths: int) -> Made:
    x = torch.randn(batch, widths[0])
    return nn.Sequential(dense(*widths), nn.ReLU(), dense(*widths[::-1])), F.mse_loss, (x,), x


def of_words(y: Any, t: Any) -> Any:
    return F.cross_entropy(y.flatten(0, 1), t.flatten())


class Words(nn.Module):
    """Words, a body over their vectors, words again."""

    def __init__(self, count: int, width: int, body: nn.Module, hidden: int) -> None:
        super().__init__()
        self.words, self.body, self.last = nn.Embedding(count, width), body, nn.Linear(hidden, count)

    def forward(self, x: Any) -> Any:
        y = self.body(self.words(x))
        return self.last(y[0] if isinstance(y, tuple) else y)


def words(batch: int, length: int, count: int, width: int, body: nn.Module, hidden: int) -> Made:
    x = torch.randint(0, count, (batch, length))
    return Words(count, width, body, hidden), of_words, (x,), x


def recurrent(kind: str, batch: int, length: int, width: int, hidden: int, layers: int = 1, both: bool = False, count: int = 100) -> Made:
    body = getattr(nn, kind)(width, hidden, layers, batch_first=True, bidirectional=both)
    return words(batch, length, count, width, body, hidden * (1 + both))


class Series(nn.Module):
    def __init__(self, kind: str, width: int, hidden: int, layers: int) -> None:
        super().__init__()
        self.cells, self.last = getattr(nn, kind)(width, hidden, layers, batch_first=True), nn.Linear(hidden, 1)

    def forward(self, x: Any) -> Any:
        return self.last(self.cells(x)[0][:, -1])


def series(kind: str, batch: int, length: int, width: int, hidden: int, layers: int = 1) -> Made:
    return Series(kind, width, hidden, layers), F.mse_loss, (torch.randn(batch, length, width),), torch.randn(batch, 1)


def encoder(batch: int, length: int, width: int, heads: int, inner: int, count: int, **options: Any) -> Made:
    layer = nn.TransformerEncoderLayer(width, heads, inner, dropout=0.0, batch_first=True, **options)
    return words(batch, length, count, width, nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), width)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.norm, self.all, self.out = heads, nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Any) -> Any:
        q, k, v = self.all(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.inner(x)


def gpt(batch: int, length: int, width: int, heads: int, layers: int, count: int) -> Made:
    return words(batch, length, count, width, nn.Sequential(*(Block(width, heads) for _ in range(layers)), nn.LayerNorm(width)), width)


def images(model: nn.Module, batch: int, size: int, channels: int = 3) -> Made:
    return model, F.cross_entropy, (torch.randn(batch, channels, size, size),), torch.randint(0, 10, (batch,))


def stack(widths: list[int], kernel: int = 3, norm: bool = True, act: Callable[[], nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip([3, *widths], widths):
        layers += [nn.Conv2d(a, b, kernel, padding=kernel // 2, bias=not norm), *([nn.BatchNorm2d(b)] if norm else []), act(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 10))


def digits(channels: int = 1) -> nn.Sequential:
    """PyTorch's own example for MNIST."""
    side = 12 if channels == 1 else 14
    return nn.Sequential(nn.Conv2d(channels, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(64 * side * side, 128), nn.ReLU(), nn.Linear(128, 10))


def lenet(act: Callable[[], nn.Module], pool: Callable[[int], nn.Module], colours: int = 1) -> nn.Sequential:
    """Of 28 x 28 and one colour, or of 32 x 32: PyTorch's tutorial on CIFAR-10."""
    return nn.Sequential(nn.Conv2d(colours, 6, 5, padding=2 if colours == 1 else 0), act(), pool(2), nn.Conv2d(6, 16, 5), act(), pool(2), nn.Flatten(),
                         nn.Linear(400, 120), act(), nn.Linear(120, 84), act(), nn.Linear(84, 10))


def known(name: str) -> nn.Module:
    return __import__("torchvision").models.get_model(name, weights=None, num_classes=10)  # type: ignore[no-any-return]


def signals(batch: int, length: int, channels: int, widths: list[int], kernel: int, stride: int = 1) -> Made:
    layers: list[nn.Module] = []
    for a, b in zip([channels, *widths], widths):
        layers += [nn.Conv1d(a, b, kernel, stride=stride, padding=kernel // 2), nn.BatchNorm1d(b), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(widths[-1], 5))
    return model, F.cross_entropy, (torch.randn(batch, channels, length),), torch.randint(0, 5, (batch,))


class Fields(nn.Module):
    def __init__(self, fields: int, count: int, width: int, numbers: int, hidden: list[int]) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(count, width) for _ in range(fields))
        self.top = dense(fields * width + numbers, *hidden, 1)

    def forward(self, x: Any, c: Any) -> Any:
        return self.top(torch.cat([*(t(c[:, i]) for i, t in enumerate(self.tables)), x], 1)).squeeze(1)


def fields(batch: int, n: int, count: int, width: int, numbers: int, hidden: list[int]) -> Made:
    inputs = (torch.randn(batch, numbers), torch.randint(0, count, (batch, n)))
    return Fields(n, count, width, numbers, hidden), F.binary_cross_entropy_with_logits, inputs, torch.rand(batch).round()


class UNet(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()

        def two(a: int, b: int) -> nn.Sequential:
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(),
                                 nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())
        wide = [width << i for i in range(depth + 1)]
        self.down = nn.ModuleList([two(3, width), *(two(a, 2 * a) for a in wide[:-1])])
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * a, a, 2, 2) for a in wide[:-1])
        self.join, self.last = nn.ModuleList(two(2 * a, a) for a in wide[:-1]), nn.Conv2d(width, 1, 1)

    def forward(self, x: Any) -> Any:
        kept = []
        for i, part in enumerate(self.down):
            x = part(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for i in reversed(range(len(self.up))):
            x = self.join[i](torch.cat([self.up[i](x), kept[i]], 1))
        return self.last(x)


def masks(batch: int, size: int, width: int, depth: int) -> Made:
    return UNet(width, depth), F.binary_cross_entropy_with_logits, (torch.randn(batch, 3, size, size),), torch.rand(batch, 1, size, size).round()


SHAPES: dict[str, Callable[[], Made]] = {
    "perceptron 64-64-10, 1 row": lambda: mlp(1, 64, 64, 10),
    "perceptron 20-64-64-2, 32": lambda: mlp(32, 20, 64, 64, 2),
    "perceptron 1024-1024-1024-1024-10, 64": lambda: mlp(64, 1024, 1024, 1024, 1024, 10),
    "perceptron 30-128-128-2, 4096": lambda: mlp(4096, 30, 128, 128, 2),
    "perceptron 100-1000-500-3, 1024": lambda: mlp(1024, 100, 1000, 500, 3),
    "perceptron 4096-4096-10, 8": lambda: mlp(8, 4096, 4096, 10),
    "perceptron 200-300-77-5, 512": lambda: mlp(512, 200, 300, 77, 5),
    "perceptron 10-50-2, 16384": lambda: mlp(16384, 10, 50, 2),
    "autoencoder 30-16-8, 256": lambda: autoencoder(256, 30, 16, 8),
    "autoencoder 784-256-32, 64": lambda: autoencoder(64, 784, 256, 32),
    "LSTM 512, 1 x 256": lambda: recurrent("LSTM", 1, 256, 128, 512),
    "LSTM 128, 128 x 32": lambda: recurrent("LSTM", 128, 32, 64, 128),
    "LSTM 650, 2 layers, 16 x 35": lambda: recurrent("LSTM", 16, 35, 650, 650, 2, count=2000),
    "LSTM 64, 8 x 500": lambda: recurrent("LSTM", 8, 500, 32, 64),
    "LSTM of series, 50, 64 x 30": lambda: series("LSTM", 64, 30, 5, 50),
    "LSTM of series, 64, 2 layers, 32 x 100": lambda: series("LSTM", 32, 100, 8, 64, 2),
    "GRU of series, 32, 64 x 48": lambda: series("GRU", 64, 48, 12, 32),
    "GRU 256 both ways, 32 x 50": lambda: recurrent("GRU", 32, 50, 128, 256, both=True),
    "RNN of series, 32, 64 x 20": lambda: series("RNN", 64, 20, 3, 32),
    "encoder 64, 32 x 32": lambda: encoder(32, 32, 64, 4, 128, 200),
    "encoder 128, 4 x 512": lambda: encoder(4, 512, 128, 8, 512, 500),
    "encoder 512, GELU, 2 x 128": lambda: encoder(2, 128, 512, 8, 2048, 1000, activation="gelu"),
    "encoder 96, norms first, 8 x 37": lambda: encoder(8, 37, 96, 3, 200, 300, activation="gelu", norm_first=True),
    "encoder 32, 256 x 16": lambda: encoder(256, 16, 32, 2, 64, 50),
    "GPT 256, 1 x 1024": lambda: gpt(1, 1024, 256, 8, 2, 2000),
    "GPT 128, 4 layers, 8 x 64": lambda: gpt(8, 64, 128, 4, 4, 65),
    "GPT 512, 2 x 256": lambda: gpt(2, 256, 512, 8, 2, 5000),
    "GPT 64, one head, 1 x 2048": lambda: gpt(1, 2048, 64, 1, 1, 256),
    "GPT 192, 16 x 128": lambda: gpt(16, 128, 192, 6, 3, 96),
    "digits, PyTorch's example, 64 of 28": lambda: images(digits(), 64, 28, 1),
    "the same of colours, 64 of 32": lambda: images(digits(3), 64, 32),
    "LeNet, tanh, averages, 64 of 28": lambda: images(lenet(nn.Tanh, nn.AvgPool2d), 64, 28, 1),
    "LeNet, ReLU, maxima, 64 of 28": lambda: images(lenet(nn.ReLU, nn.MaxPool2d), 64, 28, 1),
    "PyTorch's tutorial on CIFAR-10, 64 of 32": lambda: images(lenet(nn.ReLU, nn.MaxPool2d, 3), 64, 32),
    "convolutions 32-64-128, 32 of 32": lambda: images(stack([32, 64, 128]), 32, 32),
    "convolutions 64-128, 128 of 32": lambda: images(stack([64, 128]), 128, 32),
    "convolutions 5 x 5, 16-32-64-64, 8 of 128": lambda: images(stack([16, 32, 64, 64], 5), 8, 128),
    "convolutions 7 x 7, 24-48, 4 of 65": lambda: images(stack([24, 48], 7), 4, 65),
    "convolutions without norms, GELU, 16 of 64": lambda: images(stack([32, 64, 96], norm=False, act=nn.GELU), 16, 64),
    "ResNet-18, 1 of 224": lambda: images(known("resnet18"), 1, 224),
    "ResNet-18, 16 of 32": lambda: images(known("resnet18"), 16, 32),
    "ResNet-34, 4 of 64": lambda: images(known("resnet34"), 4, 64),
    "DenseNet-121, 2 of 128": lambda: images(known("densenet121"), 2, 128),
    "signals 32-64-128, 7, stride 2, 32 x 1000": lambda: signals(32, 1000, 1, [32, 64, 128], 7, 2),
    "signals 64 x 4, 5, 16 x 187": lambda: signals(16, 187, 1, [64, 64, 64, 64], 5),
    "signals 64-128, 15, stride 4, 8 x 5000": lambda: signals(8, 5000, 12, [64, 128], 15, 4),
    "signals 40-80, 3, 64 x 64": lambda: signals(64, 64, 20, [40, 80], 3),
    "fields 10 x 1000 x 8, 256": lambda: fields(256, 10, 1000, 8, 13, [128, 64]),
    "fields 26 x 10000 x 16, 2048": lambda: fields(2048, 26, 10000, 16, 13, [256, 128]),
    "fields 4 x 50 x 4, 64": lambda: fields(64, 4, 50, 4, 6, [32]),
    "U-Net 16, 1 of 256": lambda: masks(1, 256, 16, 3),
    "U-Net 32, 8 of 64": lambda: masks(8, 64, 32, 2),
    "U-Net 24, 2 of 96": lambda: masks(2, 96, 24, 4),
}


def compare(make: Callable[[], Made], seconds: float) -> tuple[float, float, float, bool]:
    """Milliseconds of ours and theirs, the median of the ratios, whether losses agree after three steps."""
    torch.manual_seed(0)
    model, loss, inputs, target = make()
    theirs = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=1e-3, fused=True)
    step = rt.compile(model, loss, (*inputs, target), torch.optim.AdamW(model.parameters(), lr=1e-3), threads=1)

    def ours() -> float:
        return float(step(*inputs, target))

    def peer() -> float:
        optimizer.zero_grad()
        value = loss(theirs(*inputs), target)
        value.backward()
        optimizer.step()
        return float(value.detach())

    a, b = [ours() for _ in range(3)][-1], [peer() for _ in range(3)][-1]
    start = time.process_time()
    peer()
    each = max(1, int(0.03 / max(time.process_time() - start, 1e-5)))
    turns: list[tuple[float, float]] = []
    end = time.process_time() + seconds
    while len(turns) < 3 or (time.process_time() < end and len(turns) < 60):
        at = time.process_time()
        for _ in range(each):
            ours()
        middle = time.process_time()
        for _ in range(each):
            peer()
        turns.append(((middle - at) / each, (time.process_time() - middle) / each))
    ms = [1e3 * statistics.median(t[i] for t in turns) for i in range(2)]
    return ms[0], ms[1], statistics.median(x / y for x, y in turns), abs(a - b) <= 1e-3 * max(1.0, abs(b))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    print(f"torch {torch.__version__}, one thread, the processor's time\n")
    print("| network, batch | ours, ms | PyTorch, ms | ratio | losses apart |\n|---|---|---|---|---|")
    ratios, failed = [], False
    for name, make in SHAPES.items():
        if options.only and not any(text in name for text in options.only):
            continue
        ours, theirs, ratio, agree = compare(make, options.seconds)
        print(f"| {name} | {ours:.3g} | {theirs:.3g} | {ratio:.2f} | {'' if agree else 'yes'} |", flush=True)
        ratios.append(ratio)
        failed = failed or ratio > 1 or not agree
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\n{len(ratios)} shapes, geometric mean {mean:.2f}, slower {sum(r > 1 for r in ratios)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
