# SPDX-License-Identifier: Apache-2.0
"""The networks of bench/models in PyTorch, and their weights from the file that it writes. `answer` is what a network says
of the data, `forward` the loss of that."""
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def read(path):
    """Tensors of a safetensors file by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    types = {"F32": np.float32, "I64": np.int64}
    return {name: torch.from_numpy(np.frombuffer(data[slice(*t["data_offsets"])], types[t["dtype"]]).reshape(t["shape"]).copy())
            for name, t in header.items() if name != "__metadata__"}


class Net(nn.Module):
    def loss(self, y, d):
        return F.cross_entropy(y.flatten(0, -2), d["labels"])

    def forward(self, d):
        return self.loss(self.answer(d), d)


class Mlp(Net):
    def __init__(self):
        super().__init__()
        self.l0, self.l1, self.l2 = nn.Linear(784, 1024), nn.Linear(1024, 1024), nn.Linear(1024, 10)

    def answer(self, d):
        return self.l2(F.relu(self.l1(F.relu(self.l0(d["x"])))))


class Dlrm(Net):
    def __init__(self):
        super().__init__()
        self.bottom0, self.bottom1 = nn.Linear(13, 128), nn.Linear(128, 32)
        for i in range(8):
            setattr(self, "table%d" % i, nn.Parameter(torch.empty(1000, 32)))
        self.top0, self.top1, self.top2 = nn.Linear(113, 256), nn.Linear(256, 128), nn.Linear(128, 1)

    def loss(self, y, d):
        return F.binary_cross_entropy_with_logits(y, d["target"])

    def answer(self, d):
        x = F.relu(self.bottom1(F.relu(self.bottom0(d["x"]))))
        features = torch.stack([x] + [F.embedding(d["index%d" % i], getattr(self, "table%d" % i)) for i in range(8)], 1)
        products = torch.bmm(features, features.transpose(1, 2)).flatten(1)
        x = F.relu(self.top1(F.relu(self.top0(torch.cat([products, x], 1)))))
        return self.top2(x)


class Layer(nn.Module):
    """A transformer's, norm first or last."""

    def __init__(self, width, heads, first, causal):
        super().__init__()
        self.heads, self.first, self.causal = heads, first, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        n, tokens, width = x.shape
        q, k, v = (y.reshape(n, tokens, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.projection(y.transpose(1, 2).reshape(n, tokens, width))

    def forward(self, x):
        if self.first:
            x = x + self.attention(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x))))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Transformer(Net):
    def __init__(self, width, heads, first=True, causal=False):
        super().__init__()
        for i in range(4):
            setattr(self, "layer%d" % i, Layer(width, heads, first, causal))
        self.norm = nn.LayerNorm(width)

    def layers(self, x):
        for i in range(4):
            x = getattr(self, "layer%d" % i)(x)
        return x


class Words(Transformer):
    def __init__(self, tokens, **options):
        super().__init__(256, 4, **options)
        self.words, self.places = nn.Parameter(torch.empty(1024, 256)), nn.Parameter(torch.empty(tokens, 256))
        self.head, self.tokens = nn.Linear(256, 1024), tokens

    def embedded(self, d):
        return F.embedding(d["tokens"].view(-1, self.tokens), self.words) + self.places


class Gpt(Words):
    def __init__(self):
        super().__init__(256, causal=True)

    def answer(self, d):
        return self.head(self.norm(self.layers(self.embedded(d))))


class Bert(Words):
    def __init__(self):
        super().__init__(128, first=False)
        self.transform, self.norm2 = nn.Linear(256, 256), nn.LayerNorm(256)

    def answer(self, d):
        return self.head(self.norm2(F.gelu(self.transform(self.layers(self.norm(self.embedded(d)))))))


class Vit(Transformer):
    def __init__(self):
        super().__init__(192, 3)
        self.patch, self.head = nn.Conv2d(3, 192, 8, 8), nn.Linear(192, 10)
        self.first, self.places = nn.Parameter(torch.empty(1, 192)), nn.Parameter(torch.empty(65, 192))

    def answer(self, d):
        x = self.patch(d["x"]).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), 1, 192), x], 1) + self.places
        return self.head(self.norm(self.layers(x)[:, 0]))


class Lstm(Net):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.head = nn.Parameter(torch.empty(256, 256)), nn.LSTM(256, 256, 2), nn.Linear(256, 256)

    def answer(self, d):
        return self.head(self.lstm(F.embedding(d["tokens"].view(64, -1), self.words))[0])


class Block(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        if stride != 1:
            self.beside, self.norm3 = nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + (self.norm3(self.beside(x)) if hasattr(self, "beside") else x))


class ResNet(Net):
    def __init__(self):
        super().__init__()
        self.stem, self.norm, self.head = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.Linear(512, 10)
        before = 64
        for i in range(8):
            setattr(self, "block%d" % i, Block(before, 64 << i // 2, 2 if i % 2 == 0 and i else 1))
            before = 64 << i // 2

    def answer(self, d):
        x = F.max_pool2d(F.relu(self.norm(self.stem(d["x"]))), 3, 2, 1)
        for i in range(8):
            x = getattr(self, "block%d" % i)(x)
        return self.head(x.mean((2, 3)))


class Pair(nn.Module):
    def __init__(self, before, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, 1, 1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)

    def forward(self, x):
        return F.silu(self.norm2(self.conv2(F.silu(self.norm1(self.conv1(x))))))


class UNet(Net):
    def __init__(self):
        super().__init__()
        self.down0, self.down1, self.down2 = Pair(3, 32), Pair(32, 64), Pair(64, 128)
        self.up1, self.up0, self.head = Pair(192, 64), Pair(96, 32), nn.Conv2d(32, 3, 1, bias=False)

    def loss(self, y, d):
        return F.mse_loss(y, d["target"])

    def answer(self, d):
        a = self.down0(d["x"])
        b = self.down1(F.max_pool2d(a, 2))
        x = self.down2(F.max_pool2d(b, 2))
        x = self.up1(torch.cat([F.interpolate(x, scale_factor=2), b], 1))
        x = self.up0(torch.cat([F.interpolate(x, scale_factor=2), a], 1))
        return self.head(x)


NETWORKS = {"mlp": Mlp, "resnet": ResNet, "gpt": Gpt, "lstm": Lstm, "unet": UNet, "bert": Bert, "vit": Vit, "dlrm": Dlrm}
LSTM = {"in.weight": "weight_ih", "in.bias": "bias_ih", "own.weight": "weight_hh", "own.bias": "bias_hh"}


def load(model, tensors):
    """Our weights lie with their outputs last, images with their channels last."""
    theirs = dict(model.named_parameters())
    linear = {n + ".weight" for n, m in model.named_modules() if isinstance(m, nn.Linear)}
    for name, x in tensors.items():
        layer = name.split(".", 1)
        if name in theirs:
            if name in linear:
                x = x.t()
            elif x.dim() == 4:
                x = x.permute(3, 2, 0, 1)
        elif layer[-1] in LSTM:
            x, name = x.t() if x.dim() == 2 else x, "lstm.%s_l%s" % (LSTM[layer[1]], layer[0][-1])
        else:
            continue
        with torch.no_grad():
            theirs.pop(name).copy_(x)
    if theirs:
        sys.exit("models: not in the file: %s" % ", ".join(theirs))


def loaded(name, path, last=False):
    """A network with the file's weights, and its data; last: images with their channels last."""
    tensors = read(path)
    model = NETWORKS[name]()
    load(model, tensors)
    data = {n[5:]: x.permute(0, 3, 1, 2).contiguous() if x.dim() == 4 else x for n, x in tensors.items() if n.startswith("data.")}
    if last:
        model = model.to(memory_format=torch.channels_last)
        data = {n: x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for n, x in data.items()}
    return model, data
