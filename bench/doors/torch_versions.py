# SPDX-License-Identifier: Apache-2.0
"""The captured graphs of four models as fixtures, and whether the installed PyTorch gives the same programs.
Usage: torch_versions.py [--write FOLDER]. Without --write it captures each model with the PyTorch there is and compares the bytes
of its programs with the digests in python/tests/fixtures/torch; exit 1 where one differs. With it the fixtures are made anew."""
from __future__ import annotations

import hashlib
import json
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from reprise.torch.check import eager
from reprise.torch.graph import array_json
from reprise.torch.training import Batch, build, captured_step, names_of

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "python", "tests", "fixtures", "torch")


class Block(nn.Module):
    def __init__(self, width, heads, drop):
        super().__init__()
        self.heads, self.rate = heads, drop
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in self.qkv(self.first(x)).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.rate if self.training else 0.0)
        x = x + self.drop(self.out(y.transpose(1, 2).contiguous().view(b, t, c)))
        return x + self.drop(self.down(F.gelu(self.up(self.second(x)), approximate="tanh")))


class GPT(nn.Module):
    """Tied weights and dropout everywhere."""

    def __init__(self, tokens=17, width=16, layers=2, heads=2, length=8, drop=0.1):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads, drop) for _ in range(layers)])
        self.norm, self.head, self.drop = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False), nn.Dropout(drop)
        self.head.weight = self.tokens.weight

    def forward(self, i):
        x = self.drop(self.tokens(i) + self.places(torch.arange(i.shape[1])))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.c2, self.b2 = nn.Conv2d(8, 8, 3, padding=1, groups=4), nn.BatchNorm2d(8)
        self.pool, self.mean, self.last = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Linear(8, 5)

    def forward(self, x):
        x = self.pool(F.relu(self.b1(self.c1(x)), inplace=True))
        y = self.b2(self.c2(x))
        y += x
        return self.last(torch.flatten(self.mean(F.relu(y)), 1))


class LSTM(nn.Module):
    def __init__(self, tokens=11, width=6, hidden=8):
        super().__init__()
        self.embed, self.last = nn.Embedding(tokens, width), nn.Linear(hidden, tokens)
        self.lstm = nn.LSTM(width, hidden, 2, batch_first=True, dropout=0.1)

    def forward(self, i):
        return self.last(self.lstm(self.embed(i))[0])


def rows(logits, y):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))


def models():
    """name -> (module, loss, batch), with weights and inputs from NumPy's generator, which is the same everywhere."""
    r = np.random.default_rng(14)
    real = lambda *s: torch.from_numpy(r.standard_normal(s).astype(np.float32))
    whole = lambda n, *s: torch.from_numpy(r.integers(0, n, s))
    made = {"mlp": (nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)),
                    F.cross_entropy, (real(8, 6), whole(4, 8))),
            "gpt": (GPT(), rows, (whole(17, 2, 8), whole(17, 2, 8))),
            "cnn": (CNN(), F.cross_entropy, (real(4, 3, 8, 8), whole(5, 4))),
            "lstm": (LSTM(), rows, (whole(11, 3, 5), whole(11, 3, 5)))}
    with torch.no_grad():
        for module, _, _ in made.values():
            for p in module.parameters():
                p.copy_(torch.from_numpy((r.standard_normal(tuple(p.shape)) * 0.3).astype(np.float32)))
    return made


def digests(captured):
    """SHA-256 of the bytes of the training program and of the one that is compared with PyTorch."""
    return [hashlib.sha256(build(captured, None, plain=plain).program.text).hexdigest() for plain in (False, True)]


def fixture(name, module, loss, values):
    batch = Batch.of(values, names_of(module, loss))
    captured = captured_step(module, loss, batch)
    value, gradients = eager(module, loss, batch)
    states = {s: t.data_ptr() for s, t in captured.tensors.items()}
    return {"model": name, "torch": torch.__version__, "graph": json.loads(captured.graph.text(lines=False)), "programs": digests(captured),
            "states": {s: array_json(t.detach().numpy()) for s, t in captured.tensors.items()},
            "feeds": {n: array_json(t.numpy()) for n, t in zip(batch.tensor_paths(), batch.tensors())}, "loss": value,
            "gradients": {s: array_json(gradients[p].astype(np.float32)) for s, p in states.items() if p in gradients}}


def main():
    torch.set_num_threads(1)
    folder = sys.argv[2] if sys.argv[1:2] == ["--write"] else None
    differ = 0
    for name, (module, loss, values) in models().items():
        if folder:
            with open(os.path.join(folder, f"{name}.json"), "w", encoding="ascii") as f:
                json.dump(fixture(name, module, loss, values), f, separators=(",", ":"), sort_keys=True)
                f.write("\n")
            continue
        with open(os.path.join(FOLDER, f"{name}.json"), encoding="ascii") as f:
            expected = json.load(f)
        captured = captured_step(module, loss, Batch.of(values, names_of(module, loss)))
        same = digests(captured) == expected["programs"]
        differ += not same
        graph = json.loads(captured.graph.text(lines=False)) == expected["graph"]
        print(f"{name:5s} torch {torch.__version__} beside {expected['torch']}: {'the same bytes' if same else 'ANOTHER PROGRAM'}, "
              f"{len(captured.graph.nodes)} nodes, graph {'same' if graph else 'differs'}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
