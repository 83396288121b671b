# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 6 in Python: Philox4x32-10, uniform and normal numbers, permutations."""
from elementary import cospi64, log64
from ieee import sqrt64

WORD = (1 << 32) - 1


def block(number, seed, step, stream):
    k0, k1 = seed & WORD, seed >> 32
    c0, c1 = number & WORD, step & WORD
    c2, c3 = ((number >> 32) << 16) + (step >> 32), stream
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & WORD, (p0 >> 32) ^ c3 ^ k1, p0 & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c0, c1, c2, c3


def words(count, seed, step, stream):
    found = []
    for number in range((count + 3) // 4):
        found.extend(block(number, seed, step, stream))
    return found[:count]


def uniform32(word):
    return (word >> 8) * 2.0**-24


def uniform64(high, low):
    return (high * 2**21 + (low >> 11)) * 2.0**-53


def uniforms(count, dtype, seed, step, stream):
    if dtype == "f32":
        return [uniform32(word) for word in words(count, seed, step, stream)]
    found = words(2 * count, seed, step, stream)
    return [uniform64(found[2 * i], found[2 * i + 1]) for i in range(count)]


def normal(number, seed, step, stream):
    w = block(number, seed, step, stream)
    u1, u2 = 1.0 - uniform64(w[0], w[1]), uniform64(w[2], w[3])
    return sqrt64(-2.0 * log64(u1)) * cospi64(2.0 * u2)


def permutation(count, seed, step, stream):
    def draws():
        number = 0
        while True:
            yield from block(number, seed, step, stream)
            number += 1

    source = draws()

    def below(s):
        while True:
            m = next(source) * s
            if m & WORD >= (1 << 32) % s:
                return m >> 32

    p = list(range(count))
    for i in range(count - 1, 0, -1):
        j = below(i + 1)
        p[i], p[j] = p[j], p[i]
    return p
