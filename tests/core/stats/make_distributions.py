#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values of core/stats/distributions.h by mpmath at 60 digits, as tests/core/stats/distributions_table.h holds them.

Usage: make_distributions.py > distributions_table.h, where mpmath is installed. The arguments are the binary64 numbers
that the rows print; a quantile's row has the probability of a given point instead: the test asks for the point back."""
import mpmath as mp

mp.mp.dps = 60


def number(x):
    return mp.mpf(float(x))


def normal_upper(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def gamma_lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def gamma_upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def density_times_fraction(a, b, x, y):
    """The lower tail of the beta distribution by its continued fraction (DLMF 8.17.22), from the bottom up, at 60 digits."""
    front = mp.exp(a * mp.log(x) + b * mp.log(y) - mp.loggamma(a) - mp.loggamma(b) + mp.loggamma(a + b)) / a
    f, levels = mp.mpf(0), 400 + int(40 * mp.sqrt(max(a, b)))
    for k in range(levels, 0, -1):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        f = even / (1 + odd / (1 + f))
    first = -(a + b) * x / (a + 1)
    return front / (1 + first / (1 + f))


def beta_lower(x, y, a, b):
    if x < (a + 1) / (a + b + 2):
        return density_times_fraction(a, b, x, y)
    return 1 - density_times_fraction(b, a, y, x)


def beta_upper(x, y, a, b):
    return beta_lower(y, x, b, a)


def student_two_sided(t, v):
    return beta_lower(v / (v + t * t), t * t / (v + t * t), v / 2, mp.mpf(1) / 2)


def f_upper(x, v, w):
    return beta_lower(w / (v * x + w), v * x / (v * x + w), w / 2, v / 2)


def row(name, args, value):
    if 0 < abs(value) < mp.mpf("1e-290") or value == 0:
        return
    args = ", ".join(float(a).hex() for a in args) + ", 0" * (3 - len(args))
    print(f"ROW({name}, {args}, {mp.nstr(value, 22, strip_zeros=False)})")


def main():
    print("/* SPDX-License-Identifier: Apache-2.0")
    print(" * Made by tests/core/stats/make_distributions.py: function, arguments, value to 22 digits. */")
    for x in ["1e-9", "0.001", "0.1", "0.5", "1", "1.2", "1.959963984540054", "2.5", "3", "5", "8.2", "13", "21", "34", "37.4"]:
        x = number(x)
        row("normal_upper", [x], normal_upper(x))
        row("normal_cdf", [x], 1 - normal_upper(x))
        row("normal_cdf", [-x], normal_upper(x))
        row("normal_two_sided", [-x], 2 * normal_upper(x))
    for x in ["1e-10", "1e-3", "0.1", "0.499", "0.5", "0.7", "0.999999", "1.000001", "1.3", "1.5", "1.99999", "2.00001",
              "2.3", "2.5", "2.6", "3", "4.5", "10", "15.9", "16", "17.25", "100", "1234.5", "1e6", "1e10"]:
        row("log_gamma", [number(x)], mp.loggamma(number(x)))
    for a in ["0.001", "0.3", "0.5", "1", "1.5", "2", "5", "12", "15.5", "40", "123.5", "1000", "12345.5", "200000"]:
        a = number(a)
        for spread in [-8, -4, -2, -1, -0.3, 0, 0.2, 1, 2, 4, 8, 15]:
            x = number(a + spread * mp.sqrt(a))
            if x > 0:
                row("gamma_lower", [a, x], gamma_lower(a, x))
                if a >= 0.3:
                    row("gamma_upper", [a, x], gamma_upper(a, x))
    for a, b in [(0.5, 0.5), (0.5, 100.5), (1, 1), (2, 3), (3.5, 0.5), (0.5, 7), (20.5, 380.5), (12, 12), (1e-3, 5),
                 (100, 100), (1000.5, 99000.5), (50000, 50000), (0.5, 1e6), (250000.5, 0.5)]:
        a, b = number(a), number(b)
        for x in [1e-9, 1e-4, 0.01, 0.05, 0.2, 0.4, 0.49, 0.5, 0.501, 0.6, 0.8, 0.95, 0.999, 0.999999] + [
                float(a / (a + b) + s * mp.sqrt(a * b / (a + b)**3)) for s in (-9, -3, -1, 0, 0.5, 2, 6, 12)]:
            if 0 < x < 1:
                x = number(x)
                row("beta_cdf", [x, a, b], beta_lower(x, 1 - x, a, b))
                if a >= 0.3:
                    row("beta_upper", [x, a, b], beta_upper(x, 1 - x, a, b))
    for v in [1, 2, 3, 4.5, 10, 29, 100, 1000, 123456]:
        for t in [1e-6, 0.1, 0.5, 1, 1.5, 2, 2.7, 5, 10, 40, 1e4]:
            t, w = number(t), number(v)
            p = student_two_sided(t, w)
            row("student_two_sided", [t, w], p)
            row("student_cdf", [t, w], 1 - p / 2)
            row("student_cdf", [-t, w], p / 2)
    for v in [1, 2, 8, 30, 1000]:
        for x in [1e-4, 0.1, 1, 3.84, 10, 50, 300, 1200]:
            x, w = number(x), number(v)
            row("chi_squared_upper", [x, w], gamma_upper(w / 2, x / 2))
            row("chi_squared_cdf", [x, w], gamma_lower(w / 2, x / 2))
    for v, w in [(1, 1), (1, 10), (3, 20), (10, 3), (30, 1000), (500, 500)]:
        for x in [0.01, 0.3, 0.9, 1, 1.5, 4, 20, 200]:
            row("f_upper", [number(x), number(v), number(w)], f_upper(number(x), number(v), number(w)))
            row("f_cdf", [number(x), number(v), number(w)], 1 - f_upper(number(x), number(v), number(w)))


main()
