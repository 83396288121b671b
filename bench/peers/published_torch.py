# SPDX-License-Identifier: Apache-2.0
"""Models of their published size (bench/published) beside PyTorch eager, one thread: rows are drawn here, our side
writes its initial weights, PyTorch begins with the same; losses, seconds and memory of each step, each side in a process
of its own. Usage: published_torch.py BUILD [MODEL..]"""
import json
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

WIDTH, HEADS, LAYERS, SIDE = 768, 12, 12, 224
MODELS = {'resnet50': (2, 0, 3), 'vit': (2, 0, 3), 'gpt2': (1, 256, 2), 'bert': (2, 128, 2)}  # rows, tokens, steps


def draw(folder, name):
    rows, tokens, _ = MODELS[name]
    rng = np.random.default_rng(1)
    if tokens == 0:
        rng.standard_normal((rows, SIDE, SIDE, 3)).astype('f4').tofile(folder / f'{name}.x')
        rng.integers(0, 1000, rows).astype('i4').tofile(folder / f'{name}.y')
    elif name == 'gpt2':
        rng.integers(0, 50257, (rows, tokens + 1)).astype('i4').tofile(folder / f'{name}.x')
    else:
        rng.integers(0, 30522, (rows, tokens)).astype('i4').tofile(folder / f'{name}.x')
        hidden = rng.random((rows, tokens)) < 0.15
        np.where(hidden, rng.integers(0, 30522, (rows, tokens)), -100).astype('i4').tofile(folder / f'{name}.y')


def models():
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.h = nn.ModuleList([nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0., F.gelu, batch_first=True,
                                                               norm_first=True) for _ in range(LAYERS)])
            self.ln_f = nn.LayerNorm(WIDTH)

        def run(self, x, causal):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]) if causal else None
            for block in self.h:
                x = block(x, src_mask=mask, is_causal=causal)
            return self.ln_f(x)

    class GPT(Blocks):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(50257, WIDTH), nn.Embedding(1024, WIDTH)

        def forward(self, x, _):
            h = self.run(self.wte(x[:, :-1]) + self.wpe.weight[:x.shape[1] - 1], True)
            return F.cross_entropy(h.reshape(-1, WIDTH) @ self.wte.weight.T, x[:, 1:].reshape(-1))

    class BERT(Blocks):
        def __init__(self):
            super().__init__()
            self.tok, self.pos, self.ln = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH), nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, 30522)

        def forward(self, x, y):
            h = self.run(self.ln(self.tok(x) + self.pos.weight[:x.shape[1]]), False)
            return F.cross_entropy(self.head(h.reshape(-1, WIDTH)), y.reshape(-1))

    class ViT(Blocks):
        def __init__(self):
            super().__init__()
            self.patch, self.head = nn.Conv2d(3, WIDTH, 16, 16), nn.Linear(WIDTH, 1000)
            self.cls, self.pos = nn.Parameter(torch.zeros(1, 1, WIDTH)), nn.Parameter(torch.zeros(1, 197, WIDTH))

        def forward(self, x, y):
            h = self.patch(x.permute(0, 3, 1, 2).contiguous()).flatten(2).transpose(1, 2)
            h = torch.cat([self.cls.expand(x.shape[0], 1, WIDTH), h], 1) + self.pos
            return F.cross_entropy(self.head(self.run(h, False)[:, 0]), y)

    class Bottleneck(nn.Module):
        def __init__(self, into, width, stride, first):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(into, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
            self.downsample = nn.Sequential(nn.Conv2d(into, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width)) if first else nn.Identity()

        def forward(self, x):
            y = F.relu(self.bn1(self.conv1(x)))
            y = F.relu(self.bn2(self.conv2(y)))
            return F.relu(self.bn3(self.conv3(y)) + self.downsample(x))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1, into = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), 64
            for stage, count in enumerate((3, 4, 6, 3)):
                width, blocks = 64 << stage, []
                for i in range(count):
                    blocks.append(Bottleneck(into, width, 2 if stage and not i else 1, not i))
                    into = 4 * width
                setattr(self, f'layer{stage + 1}', nn.Sequential(*blocks))
            self.fc = nn.Linear(2048, 1000)

        def forward(self, x, y):
            x = x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
            x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
            for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
                x = stage(x)
            return F.cross_entropy(self.fc(x.mean((2, 3))), y)

    return {'resnet50': ResNet, 'gpt2': GPT, 'bert': BERT, 'vit': ViT}


def take_weights(model, path):
    import torch
    file = np.memmap(path, 'u1', 'r')
    size = struct.unpack('<Q', bytes(file[:8]))[0]
    header = json.loads(bytes(file[8:8 + size]))
    own = model.state_dict()
    left = {n for n in own if 'num_batches' not in n}
    with torch.no_grad():
        for name, v in header.items():
            if name != '__metadata__':
                begin, end = v['data_offsets']
                values = np.frombuffer(file[8 + size + begin:8 + size + end], 'f4').reshape(v['shape'])
                own[name].copy_(torch.from_numpy(values.copy()))
                left.discard(name)
    assert not left, f'PyTorch has weights that the file lacks: {sorted(left)}'


def worker(name, folder):
    import torch
    torch.set_num_threads(1)
    rows, tokens, steps = MODELS[name]
    model = models()[name]()
    if name == 'resnet50':
        model = model.to(memory_format=torch.channels_last)
    take_weights(model, folder / f'{name}.safetensors')
    x = torch.tensor(np.fromfile(folder / f'{name}.x', 'f4' if tokens == 0 else 'i4'))
    x = x.reshape(rows, SIDE, SIDE, 3) if tokens == 0 else x.reshape(rows, -1).long()
    y = torch.tensor(np.fromfile(folder / f'{name}.y', 'i4')).long() if name != 'gpt2' else None
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=.01)
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = model(x, y)
        loss.backward()
        optimizer.step()
        print(f'loss {loss.item():.8g}  {time.perf_counter() - begin:.3f} s  '
              f'{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB', flush=True)


def last(output):
    words = [line.split() for line in output.splitlines() if line.startswith('loss')]
    return float(words[0][1]), float(words[-1][2]), int(words[-1][4])


def main():
    build, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(MODELS)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            rows, tokens, steps = MODELS[name]
            draw(pathlib.Path(folder), name)
            ours = last(subprocess.run([build / 'bench/published', name, str(rows), str(tokens), folder, str(steps)],
                                       check=True, capture_output=True, text=True).stdout)
            theirs = last(subprocess.run([sys.executable, __file__, '--worker', name, folder], check=True,
                                         capture_output=True, text=True).stdout)
            print(f'{name}: first loss {ours[0]:.7g}, PyTorch {theirs[0]:.7g}; a step {ours[1]:.3f} s, {theirs[1]:.3f}, '
                  f'ratio {ours[1] / theirs[1]:.2f}; memory {ours[2]} MiB, {theirs[2]}, ratio {ours[2] / theirs[2]:.2f}',
                  flush=True)


if __name__ == '__main__':
    worker(sys.argv[2], pathlib.Path(sys.argv[3])) if sys.argv[1] == '--worker' else main()
