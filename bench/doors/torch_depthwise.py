# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose channels do not mix, or mix in narrow groups, and networks made of them: training steps of `reprise.torch`
beside PyTorch eager, in turn, one thread, seconds of the process.

    python bench/doors/torch_depthwise.py [ROUNDS [layers|NETWORK..]]      # 9 rounds; layers, then torchvision's networks

A layer's step is its forward pass and both gradients, of images in planes as PyTorch has them; `last`: of images with channels last on
PyTorch's side (ours has them so inside). A network's step has AdamW, PyTorch's fused. Prints "NAME|own ms|peer ms|ratio", the ratio being the
median over the rounds of our time to PyTorch's: below 1, Reprise is faster."""
import copy
import statistics
import sys
import time
import warnings

import reprise.torch as rt
import torch
from torch import nn

# batch, side, channels, groups, taps, stride, dilation
LAYERS = [(1, 112, 32, 32, 3, 1, 1), (1, 112, 32, 32, 3, 2, 1), (4, 56, 64, 64, 3, 1, 1), (4, 24, 144, 144, 3, 1, 1),
          (4, 24, 144, 144, 3, 2, 1), (16, 14, 512, 512, 3, 1, 1), (4, 7, 1024, 1024, 3, 1, 1), (4, 12, 240, 240, 5, 1, 1),
          (4, 12, 96, 96, 5, 2, 1), (4, 28, 128, 128, 3, 1, 2), (1, 56, 96, 96, 7, 1, 1), (1, 16, 768, 768, 7, 1, 1),
          (4, 28, 128, 128, 9, 1, 1), (4, 24, 96, 12, 3, 1, 1), (4, 24, 128, 32, 3, 1, 1)]
NETWORKS = {"mobilenet_v2": (4, 96), "mobilenet_v3_small": (4, 96), "efficientnet_b0": (4, 96), "mnasnet1_0": (4, 96),
            "shufflenet_v2_x1_0": (4, 96), "convnext_tiny": (2, 64), "regnet_y_400mf": (4, 96), "resnext50_32x4d": (2, 96)}
ROUND = 0.05


class Layer(nn.Module):
    def __init__(self, channels, groups, taps, stride, dilation):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, taps, stride, dilation * (taps - 1) // 2, dilation, groups, bias=False)
        self.scale = nn.Parameter(torch.ones(channels, 1, 1))  # so that the gradient of x is asked for

    def forward(self, x):
        return self.conv(x * self.scale).square().mean()


def seconds(call):
    start, n = time.process_time(), 0
    while n == 0 or time.process_time() - start < ROUND:
        call()
        n += 1
    return (time.process_time() - start) / n


def show(name, rounds, own, peer):
    own(), peer()
    pairs = [(seconds(own), seconds(peer)) for _ in range(rounds)]
    print(f"{name}|{min(a for a, _ in pairs) * 1e3:.3f}|{min(b for _, b in pairs) * 1e3:.3f}|"
          f"{statistics.median(a / b for a, b in pairs):.2f}", flush=True)


def layer(rounds, batch, side, channels, groups, taps, stride, dilation):
    model, x = Layer(channels, groups, taps, stride, dilation), torch.randn(batch, channels, side, side)
    theirs = copy.deepcopy(model)
    step = rt.compile(model, None, (x,), torch.optim.SGD(model.parameters(), 1e-3), threads=1, check=False)
    name = f"{taps}x{taps}/{stride} {channels} of {groups} groups at {side}, batch {batch}, dilation {dilation}"
    for place, suffix in ((torch.contiguous_format, ""), (torch.channels_last, ", last")):
        image, theirs = x.contiguous(memory_format=place), theirs.to(memory_format=place)

        def eager(image=image, theirs=theirs):
            theirs.zero_grad()
            theirs(image).backward()
        show(name + suffix, rounds, lambda: step(x), eager)


def network(rounds, name):
    import torchvision
    batch, side = NETWORKS[name]
    model = torchvision.models.get_model(name, weights=None, num_classes=10)
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    theirs, x, t = copy.deepcopy(model), torch.randn(batch, 3, side, side), torch.randint(0, 10, (batch,))
    step = rt.compile(model, nn.functional.cross_entropy, (x, t), torch.optim.AdamW(model.parameters(), 1e-3), threads=1,
                      check=False)
    optimizer = torch.optim.AdamW(theirs.parameters(), 1e-3, fused=True)

    def eager():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(theirs(x), t).backward()
        optimizer.step()
    show(name, rounds, lambda: step(x, t), eager)


def main():
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rounds, names = int(sys.argv[1]) if len(sys.argv) > 1 else 9, sys.argv[2:] or ["layers", *NETWORKS]
    for name in names:
        if name == "layers":
            for shape in LAYERS:
                layer(rounds, *shape)
        else:
            network(rounds, name)


main()
