# SPDX-License-Identifier: Apache-2.0
"""Three more models of rp/nn.h beside torch.nn: a residual network as torchvision's, an encoder and decoder as T5's, a tagger
with an LSTM in both directions. The same weights by the names of the state dict, the same batches, AdamW at 0.003; the loss
before the first step, and the largest difference along 100 steps. Usage: nn_more.py NN_MORE"""
import json
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
from torch import nn

STEPS, ROWS, SIDE, WORDS, TIMES, WIDTH, HEADS, TAGS, BATCH = 100, 256, 16, 24, 12, 32, 4, 5, 16
torch.set_num_threads(1)


class Basic(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters)
        self.conv2, self.bn2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters)
        self.downsample = None
        if stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.pool = nn.Conv2d(3, 8, 5, padding=2, bias=False), nn.BatchNorm2d(8), nn.MaxPool2d(3, 2, 1)
        self.layer1, self.layer2 = nn.Sequential(Basic(8, 8, 1), Basic(8, 8, 1)), nn.Sequential(Basic(8, 16, 2), Basic(16, 16, 1))
        self.fc = nn.Linear(16, 3)

    def forward(self, image, label):
        x = self.pool(torch.relu(self.bn1(self.conv1(image))))
        return nn.functional.cross_entropy(self.fc(self.layer2(self.layer1(x)).mean((2, 3))), label)


class Heads(nn.Module):
    """Scores without a scale, with a bias of distances."""

    def __init__(self):
        super().__init__()
        self.in_proj_weight = nn.Parameter(torch.zeros(3 * WIDTH, WIDTH))
        self.out_proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, seen, bias):
        q, k, v = (nn.functional.linear(t, w).unflatten(2, (HEADS, -1)).transpose(1, 2)
                   for t, w in zip((x, seen, seen), self.in_proj_weight.chunk(3)))
        scores = q @ k.transpose(2, 3)
        weights = (scores if bias is None else scores + bias).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.self_attn, self.norm1 = Heads(), nn.RMSNorm(WIDTH, 1e-6)
        self.linear1, self.linear2 = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.norm2 = nn.RMSNorm(WIDTH, 1e-6)
        if decoder:
            self.multihead_attn, self.norm3 = Heads(), nn.RMSNorm(WIDTH, 1e-6)

    def forward(self, x, bias, seen=None):
        y = self.norm1(x)
        x = x + self.self_attn(y, y, bias)
        if seen is None:
            return x + self.linear2(torch.relu(self.linear1(self.norm2(x))))
        x = x + self.multihead_attn(self.norm2(x), seen, None)
        return x + self.linear2(torch.relu(self.linear1(self.norm3(x))))


class T5(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared, self.near, self.before = nn.Embedding(WORDS, WIDTH), nn.Embedding(17, HEADS), nn.Embedding(17, HEADS)
        self.encoder0, self.encoder1, self.decoder0, self.decoder1 = Block(False), Block(False), Block(True), Block(True)
        self.encoder_norm, self.decoder_norm = nn.RMSNorm(WIDTH, 1e-6), nn.RMSNorm(WIDTH, 1e-6)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, source, target):
        i = torch.arange(TIMES)
        distance = (i[None, :] - i[:, None]).clamp(-8, 8) + 8
        near, before = self.near(distance).permute(2, 0, 1), self.before(distance).permute(2, 0, 1)
        before = before + torch.full((TIMES, TIMES), -torch.inf).triu(1)
        x = self.encoder_norm(self.encoder1(self.encoder0(self.shared(source), near), near))
        y = self.decoder1(self.decoder0(self.shared(target[:, :-1]), before, x), before, x)
        return nn.functional.cross_entropy(self.head(self.decoder_norm(y)).flatten(0, 1), target[:, 1:].flatten())


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.tag = nn.Embedding(WORDS, WIDTH), nn.Linear(2 * WIDTH, TAGS)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, word, tag, length):
        x = nn.utils.rnn.pack_padded_sequence(self.words(word), length, batch_first=True, enforce_sorted=False)
        x = nn.utils.rnn.pad_packed_sequence(self.lstm(x)[0], batch_first=True, total_length=TIMES)[0]
        return nn.functional.cross_entropy(self.tag(x).flatten(0, 1), tag.flatten(), ignore_index=-1)


def load(model, path):
    """Everything of the state dict but batch norm's counters, which are nothing's."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header, state = json.loads(data[8 : 8 + length]), {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        state[name] = torch.from_numpy(np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).copy())
    missing, unknown = model.load_state_dict(state, strict=False)
    if unknown or any(not name.endswith("num_batches_tracked") for name in missing):
        sys.exit(f"nn_more: names differ: {unknown}, {missing}")


def fields(kind, path):
    data = np.fromfile(path, "<i4")

    def take(*shape):
        nonlocal data
        count = int(np.prod(shape))
        part, data = data[:count].copy(), data[count:]
        return part.reshape(shape)

    if kind == "resnet":
        image = torch.from_numpy(take(ROWS, SIDE, SIDE, 3).view("<f4")).permute(0, 3, 1, 2).contiguous()
        return image, torch.from_numpy(take(ROWS)).long()
    if kind == "t5":
        return [torch.from_numpy(take(ROWS, n)).long() for n in (TIMES, TIMES + 1)]
    return [torch.from_numpy(take(*shape)).long() for shape in ((ROWS, TIMES), (ROWS, TIMES), (ROWS,))]


def main():
    for kind, model in (("resnet", ResNet()), ("t5", T5()), ("tagger", Tagger())):
        with tempfile.TemporaryDirectory() as work:
            done = subprocess.run([sys.argv[1], kind, f"{work}/w", f"{work}/d"], capture_output=True, text=True, check=True)
            load(model, f"{work}/w")
            data = fields(kind, f"{work}/d")
        ours, theirs = [float(line) for line in done.stdout.split()], []
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
        begun = time.perf_counter()
        for step in range(STEPS):
            at = step * BATCH % ROWS
            loss = model(*(field[at : at + BATCH] for field in data))
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
