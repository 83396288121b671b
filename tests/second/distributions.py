# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 13 in Python, and erfc of 5.12: what the figures of section 14 take of distributions."""
import math
import re
import struct

from elementary import C, CONTRACT, clamp, erf64, exp64, log1p64, log64, nearest, odd, pairs, power2, reduce
from ieee import INF, NAN, bits64, from_bits64, fma64, sqrt64

hexadecimal = float.fromhex
TWO_PI = hexadecimal("0x1.921fb54442d18p+2")
HALF_ROOT = hexadecimal("0x1.6a09e667f3bcdp-1")


def text_tables():
    """c of 13.1 and K of 5.12, from columns that stand side by side."""
    text = CONTRACT.read_text()
    section = text[text.index("### 13.1 "):text.index("### 13.2 ")]
    c = {int(k): hexadecimal(x) for k, x in re.findall(r"\| (\d+) \| `([^`]+)` ", section)}
    section = text[text.index("### 5.12 "):text.index("### 5.13 ")]
    k = {int(i): hexadecimal(x) for i, x in re.findall(r"\| (\d+) \| `([^`]+)` ", section)}
    return [c[i] for i in range(28)], [k[i] for i in range(22)]


SERIES, K = text_tables()


def erfc64(x):
    a = abs(x)
    if a < 0.5:
        z = a * a
        y = 1.0 - (a + a * odd(C["S"], 13, z, z * z))
    else:
        a = clamp(a, 0.5, 28.0)
        h = from_bits64(bits64(a) & 0xFFFFFFFFF8000000)
        d = (a - h) * (a + h)
        t = (a - 3.0) / (a + 3.0)
        k, r, q = reduce(-(h * h))
        e = 1.0 + (r + q)
        g = nearest(k * 0.5)
        p = pairs(K, 22, t, t * t)
        e = e + e * (d * (d * (0.5 - d * hexadecimal("0x1.5555555555555p-3")) - 1.0))
        y = ((e * (p / (1.0 + 2.0 * a))) * power2(g)) * power2(k - g)
    return 2.0 - y if x < 0 else y


def series(z):
    s = SERIES[27]
    for k in range(26, -1, -1):
        s = s * z + SERIES[k]
    return s * z


def stirling(a):
    back = 0.0
    while a < 16:
        back = back + ((a + 0.5) * log1p64(1.0 / a) - 1.0)
        a = a + 1.0
    r = 1.0 / a
    s = r * r
    tail = 1 / 1680 * -1 + s * (1 / 1188 + s * (-691 / 360360))
    return back + r * (1 / 12 + s * (-1 / 360 + s * (1 / 1260 + s * tail)))


def log_gamma(x):
    if not x > 0:
        return NAN
    if x < 0.5:
        return (series(x) - log1p64(x)) - log64(x)
    if x < 1.5:
        return series(x - 1.0) - log1p64(x - 1.0)
    if x <= 2.5:
        return series(x - 2.0)
    return ((x - 0.5) * (log64(x) - 1.0) - 0.5) + (hexadecimal("0x1.d67f1c864beb5p-1") + stirling(x))


def deviance(a, m, d):
    if not abs(d) < 0.3 * (a + m):
        return a * log64(a / m) - d
    v = d / (a + m)
    w = v * v
    total = d * v
    t = (2.0 * a) * v
    for j in range(1, 1000):
        t = t * w
        following = total + t / (2.0 * j + 1.0)
        if following == total:
            break
        total = following
    return total


def fraction(b0, level):
    c, d, f = 2.0**1000, 1.0 / b0, 1.0 / b0
    for k in range(1, 10**7 + 1):
        a, b = level(float(k))
        d = a * d + b or 2.0**-1000
        c = b + a / c or 2.0**-1000
        d = 1.0 / d
        step = d * c
        f = f * step
        if 1 - 2.0**-51 <= step <= 1 + 2.0**-51:
            break
    return f


def gamma_tails(a, x):
    if x == 0 or x == INF:
        return (0.0, 1.0) if x == 0 else (1.0, 0.0)
    p = exp64(-(stirling(a) + deviance(a, x, a - x))) / sqrt64(TWO_PI * a)
    if x < a + 1:
        total = t = 1.0
        for k in range(1, 10**7 + 1):
            t = t * (x / (a + k))
            if total + t == total:
                break
            total = total + t
        return p * total, 1.0 - p * total
    b0 = (x - a) + 1.0
    upper = (p * a) * fraction(b0, lambda k: (k * (a - k), b0 + 2.0 * k))
    return 1.0 - upper, upper


def beta(a, b, x, y):
    if x == 0 or y == 0:
        return (0.0, 1.0) if x == 0 else (1.0, 0.0)
    n = a + b
    if x <= y:
        d = (a - n * x) - fma64(n, x, -(n * x))
    else:
        d = -((b - n * y) - fma64(n, y, -(n * y)))
    spread = deviance(a, n * x, d) + deviance(b, n * y, -d)
    p = exp64(((stirling(n) - stirling(a)) - stirling(b)) - spread) * sqrt64((a * b) / (TWO_PI * n))

    def tail(a, b, x, y, d):
        def level(k):
            e, w = a + (2.0 * k - 1.0), (k * (b - k)) * x
            return (
                (((a + (k - 1.0)) / e) * (((a + b) + (k - 1.0)) / e)) * (w * x),
                (k + w / e) + ((a + k) * ((d + 1.0) + k * (1.0 + y))) / (e + 2.0),
            )

        return p * fraction((a * (d + 1.0)) / (a + 1.0), level)

    if x < (a + 1.0) / ((a + b) + 2.0):
        lower = tail(a, b, x, y, d)
        return lower, 1.0 - lower
    upper = tail(b, a, y, x, -d)
    return 1.0 - upper, upper


def two(x):
    if x > 40:
        return 0.0
    h = x * HALF_ROOT
    g = fma64(x, HALF_ROOT, -h) + x * -hexadecimal("0x1.bdd3413b26456p-55")
    return erfc64(h) - (g * hexadecimal("0x1.20dd750429b6dp+0")) * exp64(-(h * h))


def normal_two_sided(x):
    return two(abs(x)) if x == x else NAN


def chi_squared_upper(x, v):
    return gamma_tails(0.5 * v, 0.5 * x)[1] if x >= 0 and 0.5 * v >= 2.0**-30 else NAN


def beta_cdf(x, a, b):
    return beta(a, b, x, 1.0 - x)[0] if 0 <= x <= 1 else NAN


def least(holds, greatest):
    if holds(0.0):
        return 0.0
    low, high = 0, bits64(greatest)
    while high - low > 1:
        middle = low + (high - low) // 2
        if holds(from_bits64(middle)):
            high = middle
        else:
            low = middle
    return from_bits64(high)


def beta_quantile(p, a, b):
    if p == 1:
        return 1.0
    if p <= 0.5:
        return least(lambda x: beta(a, b, x, 1.0 - x)[0] >= p, 1.0)
    return least(lambda x: beta(a, b, x, 1.0 - x)[1] <= 1.0 - p, 1.0)


def normal_quantile(p):
    m = abs(p - 0.5)
    if p in (0, 1):
        x = INF
    elif m <= 0.25:
        x = least(lambda x: 0.5 * erf64(x * HALF_ROOT) >= m, INF)
    else:
        t = p if p < 0.5 else 1.0 - p
        x = least(lambda x: 0.5 * two(x) <= t, INF)
    return -x if p < 0.5 else x
