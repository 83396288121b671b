#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The training of a language model's archive (docs/text.md) made again by PyTorch: the same first weights, the same windows,
the same rates, by torch's own layers and AdamW. Prints both losses at some steps and the largest relative difference: bits
differ, since torch sums in other orders, but a mistake in a layer, a gradient or a rate would show in the first steps.
Usage: language.py ARCHIVE [STEPS]. For recipes with the vocabulary `bytes`, without dropout, with AdamW."""
import json
import math
import os
import struct
import sys
import tarfile

import numpy
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tests', 'second'))
import philox  # noqa: E402


def safetensors(data):
    size, = struct.unpack('<Q', data[:8])
    out = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != '__metadata__':
            begin, end = entry['data_offsets']
            values = numpy.frombuffer(data[8 + size + begin:8 + size + end], dtype='<f4').reshape(entry['shape'])
            out[name] = torch.tensor(values).requires_grad_()
    return out


def forward(w, x, gpt):
    n, t = x.shape
    width, heads = gpt['width'], gpt['heads']
    h = w['tokens'][x] + w['places'][:t]
    for i in range(gpt['layers']):
        def p(name):
            return w['block%d.%s' % (i, name)]
        y = F.layer_norm(h, (width,), p('norm1.gamma'), p('norm1.beta'))
        q, k, v = (y @ p('attention.weight') + p('attention.bias')).split(width, dim=2)
        q, k, v = (z.view(n, t, heads, width // heads).transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, width)
        h = h + (y @ p('project.weight') + p('project.bias'))
        y = F.layer_norm(h, (width,), p('norm2.gamma'), p('norm2.beta'))
        h = h + (F.gelu(y @ p('expand.weight') + p('expand.bias')) @ p('contract.weight') + p('contract.bias'))
    return F.layer_norm(h, (width,), w['norm.gamma'], w['norm.beta']) @ w['tokens'].T


def rate(train, s, total):
    lr, schedule = float(train['optimizer']['lr']), train['schedule']
    warmup = schedule['warmup_steps']
    if s <= warmup:
        return lr * s / warmup
    if schedule['kind'] == 'constant':
        return lr
    low = float(schedule['min_lr'])
    return low + (lr - low) * 0.5 * (1 + math.cos(math.pi * (s - 1 - warmup) / (total - warmup)))


def main():
    with tarfile.open(sys.argv[1]) as tar:
        data = {m.name: tar.extractfile(m).read() for m in tar.getmembers()
                if not m.name.startswith(('checkpoints/', 'weights/final'))}
    recipe, manifest = json.loads(data['run/recipe.json']), json.loads(data['manifest.json'])
    train, gpt, length = recipe['train'], recipe['model']['gpt'], recipe['data']['length']
    text = data['data/raw.txt']
    text = numpy.frombuffer(text[:len(text) - math.floor(len(text) * float(recipe['data']['validation']))], numpy.uint8)
    total = manifest['run']['training_steps']
    steps = min(int(sys.argv[2]) if len(sys.argv) > 2 else 300, total)
    windows = max(1, (len(text) - length) // length)
    batch = min(train['batch'], windows)
    each = windows // batch
    w = safetensors(data['weights/init.safetensors'])
    o = train['optimizer']
    decays = [p for p in w.values() if p.dim() > 1]
    others = [p for p in w.values() if p.dim() < 2]
    adam = torch.optim.AdamW([{'params': decays, 'weight_decay': float(o['weight_decay'])},
                              {'params': others, 'weight_decay': 0.0}], lr=1, betas=(float(o['beta1']), float(o['beta2'])),
                             eps=float(o['eps']))
    torch.set_num_threads(2)
    epoch, worst = None, 0
    for s in range(1, steps + 1):
        if (s - 1) // each != epoch:
            epoch = (s - 1) // each
            order = philox.permutation(windows, recipe['seed'], epoch, 0x53000000)
            most = min(length - 1, len(text) - windows * length - 1)
            offset = philox.words(1, recipe['seed'], epoch, 0x54000000)[0] % (most + 1)
        j = (s - 1) % each
        x = torch.tensor(numpy.stack([text[offset + order[i] * length:][:length + 1] for i in range(j * batch, (j + 1) * batch)])
                         .astype(numpy.int64))
        for group in adam.param_groups:
            group['lr'] = rate(train, s, total)
        loss = F.cross_entropy(forward(w, x[:, :-1], gpt).reshape(-1, w['tokens'].shape[0]), x[:, 1:].reshape(-1))
        adam.zero_grad()
        loss.backward()
        if float(train['clip_norm']) > 0:
            torch.nn.utils.clip_grad_norm_(list(w.values()), float(train['clip_norm']))
        adam.step()
        ours, = struct.unpack('<f', data['run/journal.bin'][128 * s + LOSS:128 * s + LOSS + 4])
        worst = max(worst, abs(ours - loss.item()) / loss.item())
        if s in (1, 2, 5, 10) or s % 50 == 0:
            print('step %4d   reprise %.6f   torch %.6f' % (s, ours, loss.item()), flush=True)
    print('largest relative difference in %d steps: %.2e' % (steps, worst))


LOSS = 112  # where a record of the journal has its loss (audit/FORMAT.md 9)
main()
