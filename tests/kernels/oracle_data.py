# SPDX-License-Identifier: Apache-2.0
# A second implementation of contract sections 4, 6.6 and 9, written from their text alone, for the loans recipe. It
# prints the FNV-1a digests that tests/core/data/test_dataset.c holds:  python3 tests/kernels/oracle_data.py
import csv, math, os, struct

here = os.path.dirname(os.path.abspath(__file__))
M32 = 2**32 - 1
SEED, FOLDS, FOLD, POSITIVE, MISSING = 2026, 5, 0, "yes", {"", "NA"}


def philox(c, k):
    (c0, c1, c2, c3), (k0, k1) = c, k
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & M32, (p0 >> 32) ^ c3 ^ k1, p0 & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c0, c1, c2, c3


def permutation(n, seed, step, stream):
    words = (w for b in range(2**40) for w in philox((b & M32, step, b >> 32 << 16, stream), (seed & M32, seed >> 32)))
    p = list(range(n))
    for i in range(n - 1, 0, -1):
        s = i + 1
        m = next(words) * s
        while m % 2**32 < 2**32 % s:
            m = next(words) * s
        p[i], p[m >> 32] = p[m >> 32], p[i]
    return p


def contract_sum(x):
    sums = []
    for at in range(0, len(x), 4096):
        lane = [0.0] * 64
        for i, v in enumerate(x[at:at + 4096]):
            lane[i % 64] += v
        for width in (32, 16, 8, 4, 2, 1):
            for l in range(width):
                lane[l] += lane[l + width]
        sums.append(lane[0])
    return sums[0] if len(sums) == 1 else contract_sum(sums)


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def encoder(cells, train):
    """For a column: a function from cell to features, learnt from the training rows."""
    if all(number(c) is not None for c in cells if c not in MISSING):
        x = [float(cells[r]) for r in train if cells[r] not in MISSING]
        mean = contract_sum(x) / len(x)
        deviation = math.sqrt(contract_sum([(v - mean) * (v - mean) for v in x]) / len(x))
        return lambda c: [((mean if c in MISSING else float(c)) - mean) / (deviation or 1.0)]
    known = sorted({cells[r] for r in train} - MISSING, key=str.encode)
    known += [None] if any(cells[r] in MISSING for r in train) else []
    return lambda c: [float(k == (None if c in MISSING else c)) for k in known]


def fnv1a(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 % 2**64
    return h


rows = list(csv.reader(open(os.path.join(here, "..", "examples", "loans.csv"), newline="")))
names, rows = rows[0], rows[1:]
target = names.index("default")
classes = sorted({r[target] for r in rows}, key=lambda c: c == POSITIVE)
fold, dealt = {}, 0
for g, name in enumerate(classes):
    group = [i for i, r in enumerate(rows) if r[target] == name]
    for j, p in enumerate(permutation(len(group), SEED, g, 0x53504C54)):
        fold[group[p]] = (dealt + j) % FOLDS
    dealt += len(group)
train = [i for i in range(len(rows)) if fold[i] != FOLD]
valid = [i for i in range(len(rows)) if fold[i] == FOLD]
used = [c for c in range(len(names)) if names[c] not in ("loan_id", "default")]
encoders = {c: encoder([r[c] for r in rows], train) for c in used}
for part in (train, valid):
    features = [v for i in part for c in used for v in encoders[c](rows[i][c])]
    print(len(part), "%016x" % fnv1a(struct.pack("<%df" % len(features), *features)))
