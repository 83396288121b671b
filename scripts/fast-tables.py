#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes kernels/cpu/functions/fast_tables.h (needs mpmath):  scripts/fast-tables.py > kernels/cpu/functions/fast_tables.h

With --report it also tells, on standard error, how near the polynomials come. Nothing here bears on a result's bits:
the tables decide how often a result is uncertain, and tests/determinism/prove_math.c shows whether the error bounds hold."""
import math
import struct
import sys

from mpmath import cos, erf, floor, log, lu_solve, matrix, mp, mpf, pi, sin, sqrt, tanh

mp.prec = 160
HEAD = """/* SPDX-License-Identifier: Apache-2.0
 * Tables and coefficients of fast_f32.h, written by scripts/fast-tables.py. A constant and its _low are a sum of two
 * binary32. None of them bears on a result's bits: they decide only how often a result is near enough to a midpoint to
 * need the exact way. */
#ifndef KERNELS_CPU_FUNCTIONS_FAST_TABLES_H
#define KERNELS_CPU_FUNCTIONS_FAST_TABLES_H

#include "kernels/cpu/functions/fast_vec.h"
"""


def single(v):
    return struct.unpack('f', struct.pack('f', float(v)))[0]


def bits(v):
    return struct.unpack('I', struct.pack('f', float(v)))[0]


def from_bits(u):
    return struct.unpack('f', struct.pack('I', u))[0]


def literal(v):
    mantissa, exponent = single(v).hex().split('p')
    return (mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa) + 'p' + exponent + 'f'


def table(name, values, comment=None):
    if comment:
        print('/* %s */' % comment)
    print('static const _Alignas(64) float %s[%d] = {' % (name, len(values)))
    rows(values, '   ', '')
    print('};')


def together(name, columns, width, comment=None, apart=None):
    """Columns that are looked up at the same place: by columns, of which a permutation of 16 lanes sees all, or by rows;
    apart: as many of them as the former needs."""
    if comment:
        print('/* %s */' % comment)
    print('#if FAST_LANES == 16\nstatic const _Alignas(64) float %s[%d][32] = {' % (name, apart or len(columns)))
    for values in columns[:apart]:
        rows(values, '    {', '},')
    print('};\n#else\nstatic const _Alignas(64) float %s[32][%d] = {' % (name, width))
    for j in range(32):
        rows([c[j] for c in columns] + [0] * (width - len(columns)), '    {', '},')
    print('};\n#endif')


def rows(values, opening, closing):
    line = opening
    for v in values:
        word = ' ' * (not line.endswith('{')) + literal(v) + ','
        if len(line) + len(word) > 120:
            print(line)
            line, word = '    ', word.strip()
        line += word
    print(line + closing)


def report(text):
    if '--report' in sys.argv:
        sys.stderr.write(text + '\n')


def exp_tables():
    exact = [mpf(2) ** (mpf(j) / 16) for j in range(16)]
    near = [single(v) for v in exact]
    table('exp_power', [from_bits(bits(v) - (j << 19)) for j, v in enumerate(near)],
          '2^(j/16) rounded, less j in the bits above the 19th')
    table('exp_rest', [v / mpf(r) - 1 for v, r in zip(exact, near)], 'what the rounding left, relative')


def log_tables():
    """32 segments of [0.71, 1.42); number 18 is about 1, and has c = 1."""
    first = bits(1.0) - (1 << 17) - (18 << 18)
    over = []
    for i in range(32):
        a, b = (mpf(from_bits(first + (j << 18))) for j in (i, i + 1))
        grid = 64 if b > 1 else 32
        over.append(mpf(1) if a < 1 < b else floor(grid * 2 / (a + b) + mpf(1) / 2) / grid)
    for name, base in (('log', mpf(1)), ('log2', 1 / log(2)), ('log10', 1 / log(10))):
        exact = [-log(r) * base for r in over]
        high = [floor(v * 2 ** 16 + mpf(1) / 2) / 2 ** 16 for v in exact]
        together(name + '_segment', [over, high, [v - h for v, h in zip(exact, high)]], 4,
                 '1/c for segments of m about 1, so few bits that m/c - 1 is exact, and log c to the base e, 2 or 10: '
                 'a multiple\n * of 2^-16 and the rest' if name == 'log' else None)


def sin_tables():
    """The whole circle in steps of pi/16."""
    exact = [sin(j * pi / 16) if j % 16 else mpf(0) for j in range(32)]
    both = [exact, [v - single(v) for v in exact]]
    together('sin_turn', both + [c[8:] + c[:8] for c in both], 4,
             'sin(j pi/16) rounded, and what that left; in rows cos(j pi/16) too', 2)


def place(low, high, f, slope):
    """A node where f and its slope are almost binary32 numbers: about the middle of the segment, or else anywhere."""
    middle, half = (low + high) / 2, (high - low) / 2
    best = (1, middle)
    for part in (1 / 6, 0.9):
        first, last = bits(middle - half * part), bits(middle + half * part)
        for u in range(first, last + 1, 1 + (last - first) // 400000):
            n = from_bits(u)
            y = f(n)
            off = abs(y - single(y)) / y
            if off >= best[0]:
                continue
            s = slope(n)
            off += abs(s - single(s)) * half / y
            if off < best[0]:
                best = (off, n)
        if best[0] < 2 ** -35:
            break
    return best[1]


def polynomial(f, node, low, high):
    """c2 to c6 of f(node + h) = c0 + c1 h + c2 h^2 + ..., c0 and c1 being the values and slopes there."""
    c0, c1 = f(mpf(node)), mp.diff(f, node)
    c0, c1 = (mpf(single(c0)), mpf(single(c1))) if node else (mpf(0), c1)
    at = [(high + low) / 2 - node + (high - low) / 2 * cos(pi * (2 * i + 1) / 40) for i in range(20)]
    f_at = [f(node + h) for h in at]
    weight = [1 if node else 1 / h for h in at]
    fixed = [c0, c1]
    while len(fixed) < 7:  # least squares for the rest, of which the first is then rounded
        rest = 7 - len(fixed)
        a, b = matrix(20, rest), matrix(20, 1)
        for i, h in enumerate(at):
            b[i] = (f_at[i] - sum(c * h ** n for n, c in enumerate(fixed))) * weight[i]
            for j in range(rest):
                a[i, j] = h ** (len(fixed) + j) * weight[i]
        fixed.append(mpf(single(lu_solve(a, b)[0])))
    return fixed


def interval_tables(name, offset, shift, f, fast, slope):
    """Segments of x >= 0 by the bits of x + offset from `shift` up: 32 follow one another from x = 0."""
    first = bits(offset) >> shift
    nodes, columns = [None] * 32, [[None] * 32 for _ in range(7)]
    low_slope = mp.diff(f, 0)
    print('#define %s_SLOPE_LOW %s' % (name.upper(), literal(low_slope - mpf(single(low_slope)))))
    for j in range(32):
        low, high = (from_bits((first + j + k) << shift) - offset for k in (0, 1))
        node = place(low, high, fast, slope) if j else 0.0
        c = polynomial(f, node, low, high)
        worst = 0
        for q in range(41):
            h = low + (high - low) * mpf(q) / 40 - node
            if node + h > 0:
                value = sum(c[n] * h ** n for n in range(7))
                worst = max(worst, abs(value / f(node + h) - 1))
        report('%s %d [%g, %g) node %.9g: error 2^%.1f' % (name, j, low, high, node, float(log(worst, 2))))
        nodes[(first + j) % 32] = node
        for n in range(7):
            columns[n][(first + j) % 32] = c[n]
    together(name + '_near', [nodes] + columns, 8, '%s near the nodes, by powers of what x is beyond them' % name)


def main():
    print(HEAD)
    exp_tables()
    log_tables()
    sin_tables()
    interval_tables('tanh', 0.75, 20, tanh, math.tanh, lambda x: 1 - math.tanh(x) ** 2)
    interval_tables('erf', 1.9375, 19, erf, math.erf, lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x))
    print('\n#endif')


main()
