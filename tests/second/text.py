#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run on a text says of it, made again from the contract's words (17.1, 17.2, 17.6) and nothing of the library: the
vocabulary by byte pairs, the tokens of both parts and their digests, how many of them were judged, and figures that agree with
each other. Usage: text.py ARCHIVE"""
import collections
import hashlib
import json
import math
import struct
import sys
import tarfile


def piece(text, at):
    """Where the piece that begins at `at` ends."""
    def kind(i):
        c = text[i]
        if c == 32 or 9 <= c <= 13:
            return 'space'
        if chr(c).isascii() and chr(c).isalpha() or c >= 128:
            return 'letter'
        return 'digit' if 48 <= c <= 57 else 'other'

    limit = min(len(text), at + 256)
    first = at + 1 if text[at] == 32 and at + 1 < limit and kind(at + 1) != 'space' else at
    end = first + 1
    while end < limit and kind(end) == kind(first):
        end += 1
    if kind(first) == 'space' and end - at > 1 and end < len(text) and text[end - 1] == 32 and kind(end) != 'space':
        end -= 1
    return end


def pieces(text):
    at = 0
    while at < len(text):
        end = piece(text, at)
        yield text[at:end]
        at = end


def joined(tokens, pair, new):
    out, i = [], 0
    while i < len(tokens):
        if tuple(tokens[i:i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def learn(text, wanted):
    words = {w: list(w) for w in set(pieces(text))}
    times = collections.Counter(pieces(text))
    merges = []
    while 256 + len(merges) < wanted:
        count = collections.Counter()
        for w, tokens in words.items():
            for pair in zip(tokens, tokens[1:]):
                count[pair] += times[w]
        best = min(count, key=lambda p: (-count[p], p), default=None)
        if best is None or count[best] < 2:
            break
        for w in words:
            words[w] = joined(words[w], best, 256 + len(merges))
        merges.append(best)
    return merges


def encode(text, merges):
    out = []
    for w in pieces(text) if merges else [text]:
        tokens = list(w)
        for i, pair in enumerate(merges):
            tokens = joined(tokens, pair, 256 + i)
        out += tokens
    return out


def close(a, b):
    assert abs(float(a) - float(b)) <= 1e-12 * abs(float(b)), (a, b)


def figures(said, tokens, length, windows, size):
    told = [t for i in range(windows) for t in tokens[i * length + 1:(i + 1) * length + 1]]
    assert said['tokens'] == len(told) == windows * length
    assert said['bytes'] == sum(size[t] for t in told)
    close(said['perplexity'], math.exp(float(said['loss'])))
    close(said['bits_per_byte'], float(said['loss']) * said['tokens'] / math.log(2) / said['bytes'])
    hits = float(said['accuracy']) * said['tokens']
    assert abs(hits - round(hits)) < 1e-6


def main():
    with tarfile.open(sys.argv[1]) as tar:
        data = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}
    recipe = json.loads(data['run/recipe.json'])
    text, length = data['data/raw.txt'], recipe['data']['length']
    held = math.floor(len(text) * float(recipe['data']['validation']))
    parts = {'training': text[:len(text) - held]}
    if held:
        parts['validation'] = text[len(text) - held:]
    wanted = recipe['data']['vocabulary']
    merges = learn(parts['training'], 256 if wanted == 'bytes' else wanted['bpe'])
    vocabulary = {'merges': [list(m) for m in merges], 'tokens': 256 + len(merges)}
    assert json.loads(data['data/vocabulary.json']) == vocabulary
    size = [1] * 256
    for a, b in merges:
        size.append(size[a] + size[b])
    tokens = {name: encode(part, merges) for name, part in parts.items()}
    prepared = {name: {'bytes': len(parts[name]), 'tokens': len(t),
                       'digest': hashlib.sha256(struct.pack('<%dH' % len(t), *t)).hexdigest()} for name, t in tokens.items()}
    assert json.loads(data['data/prepared.json']) == prepared, prepared
    metrics = json.loads(data['outputs/metrics.json'])
    windows = {name: (len(t) - 1) // length for name, t in tokens.items()}
    if held:
        windows['training'] = min(windows.values())
    for name, t in tokens.items():
        figures(metrics[name], t, length, windows[name], size)
    print('%d tokens, %d pairs' % (sum(map(len, tokens.values())), len(merges)))


main()
