# SPDX-License-Identifier: Apache-2.0
"""Models of rp/nn.h beside torch.nn: the same weights (read from safetensors and turned), the same batches, AdamW; the
loss before the first step, and the largest difference along 200 steps. Usage: nn_curves.py NN_CURVES"""
import json
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from torch import nn

STEPS, ROWS, IN, VOCABULARY, LENGTH, WIDTH, BATCH = 200, 512, 20, 28, 32, 64, 16
torch.set_num_threads(1)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.ModuleList([nn.Linear(IN, 64), nn.Linear(64, 64), nn.Linear(64, 3)])

    def forward(self, x):
        for layer in self.mlp[:-1]:
            x = torch.relu(layer(x))
        return self.mlp[-1](x)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, token):
        return self.head(self.body(self.tokens(token)))


class GPT(Language):
    def __init__(self):
        super().__init__()
        self.places = nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.block = nn.ModuleList([nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True,
                                                               norm_first=True) for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)

    def body(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        x = x + self.places
        for block in self.block:
            x = block(x, src_mask=mask, is_causal=True)
        return self.norm(x)


class Recurrent(Language):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def body(self, x):
        return self.gru(self.lstm(x)[0])[0]


def load(model, path):
    """Every parameter of the module from the file, matrices the other way round but for tables."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header, names = json.loads(data[8 : 8 + length]), set()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            begin, end = (8 + length + at for at in header[name]["data_offsets"])
            value = torch.from_numpy(np.frombuffer(data[begin:end], "<f4").reshape(header[name]["shape"]).copy())
            parameter.copy_(value.T if value.dim() == 2 and name not in ("tokens.weight", "places") else value)
            names.add(name)
    if names != set(header):
        sys.exit(f"nn_curves: names differ: {names ^ set(header)}")


def batches(kind, path):
    with open(path, "rb") as file:
        data = file.read()
    if kind == "mlp":
        values = torch.from_numpy(np.frombuffer(data, "<f4").copy())
        rows, labels = values[: ROWS * IN].view(ROWS, IN), values[ROWS * IN :].long()
    else:
        tokens = torch.from_numpy(np.frombuffer(data, "u1").astype("i8"))
        windows = tokens.unfold(0, LENGTH + 1, 16)
        rows, labels = windows[:, :-1], windows[:, 1:]
    while True:
        for begin in range(0, len(rows), BATCH):
            yield rows[begin : begin + BATCH], labels[begin : begin + BATCH]


def main():
    for kind, model in (("mlp", Perceptron()), ("gpt", GPT()), ("lstm", Recurrent())):
        with tempfile.TemporaryDirectory() as work:
            done = subprocess.run([sys.argv[1], kind, f"{work}/w", f"{work}/d"], capture_output=True, text=True, check=True)
            load(model, f"{work}/w")
            feed = batches(kind, f"{work}/d")
            ours, theirs = [float(line) for line in done.stdout.split()], []
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
            begun = time.perf_counter()
            for _ in range(STEPS):
                rows, labels = next(feed)
                loss = nn.functional.cross_entropy(model(rows).reshape(labels.numel(), -1), labels.reshape(-1))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                theirs.append(loss.item())
            taken = (time.perf_counter() - begun) / STEPS * 1e6
        apart = [abs(a - b) for a, b in zip(ours, theirs)]
        print(f"{kind}: first loss {ours[0]:.7f} and {theirs[0]:.7f}, apart {apart[0]:.1e}; largest difference in 10 steps {max(apart[:10]):.1e}, "
              f"in 50 {max(apart[:50]):.1e}, in {STEPS} {max(apart):.1e}; last losses {ours[-1]:.5f} and {theirs[-1]:.5f}; "
              f"{done.stderr.split()[0]} us and {taken:.1f} us a step")


main()
