# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 5 in Python: binary64 functions are the sequences of 5.3 to 5.7, with their tables read out of the text;
binary32 ones are rounded correctly from these, or from more digits where a binary64 does not decide."""
import decimal
import math
import pathlib
import re

from ieee import INF, NAN, bits64, div64, f32, from_bits64, rounded

CONTRACT = pathlib.Path(__file__).resolve().parents[2] / "determinism" / "CONTRACT.md"


def tables():
    """{name: coefficients}, of every table whose columns have headings like `E[i]`."""
    found, columns = {}, None
    for line in CONTRACT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            columns = None
        elif cells[0] == "i":
            columns = cells
        elif columns and not cells[0].startswith("---"):
            index = None
            for head, cell in zip(columns, cells):
                if head == "i":
                    index = cell
                elif re.fullmatch(r"[A-Z]\[i\]", head) and cell:
                    found.setdefault(head[0], {})[int(index)] = float.fromhex(cell.strip("`"))
    return {name: [values[i] for i in range(len(values))] for name, values in found.items()}


C = tables()
hexadecimal = float.fromhex
LN2_HIGH, LN2_LOW = hexadecimal("0x1.62e42fefa3800p-1"), hexadecimal("0x1.ef35793c76730p-45")


def nearest(t):
    return (t + 6755399441055744.0) - 6755399441055744.0


def power2(k):
    return math.ldexp(1.0, int(k))


def clamp(x, a, b):
    return a if x < a else b if x > b else x


def pairs(c, n, t, w):
    p = c[n - 2] + c[n - 1] * t
    for i in range(n - 4, -1, -2):
        p = p * w + (c[i] + c[i + 1] * t)
    return p


def odd(c, n, t, w):
    return pairs(c[1:], n - 1, t, w) * t + c[0]


def reduce(x):
    k = nearest(x * hexadecimal("0x1.71547652b82fep+0"))
    high = x - k * LN2_HIGH
    low = k * LN2_LOW
    r = high - low
    c = (high - r) - low
    p = pairs(C["E"], 10, r, r * r)
    return k, r, c + (r * r) * (0.5 + r * p)


def exp64(x):
    if x != x:
        return x
    k, r, q = reduce(clamp(x, -746.0, 710.0))
    h = nearest(k * 0.5)
    return ((1.0 + (r + q)) * power2(h)) * power2(k - h)


def core(x):
    k, r, q = reduce(x)
    m = power2(k)
    a = m - 1.0
    b = m * r
    s = a + b
    t = s - a
    lost = (a - (s - t)) + (b - t)
    return s + (lost + m * q)


def expm1_64(x):
    if x != x or abs(x) < 2.0**-54:
        return x
    return exp64(x) if x > 50 else core(clamp(x, -50.0, 50.0))


def tanh64(x):
    if x != x:
        return x
    a = abs(x)
    if a >= 2.0**-28:
        t = core(2.0 * clamp(a, 0.0, 20.0))
        a = t / (t + 2.0) if a < 0.5 else 1.0 - 2.0 / (t + 2.0)
    return math.copysign(a, x)


def sigmoid64(x):
    if x != x:
        return x
    e = exp64(-abs(x))
    return e / (1.0 + e) if x < 0 else 1.0 / (1.0 + e)


def split(x):
    bits = bits64(x)
    k = (bits >> 52) - 1023
    m = (bits & ((1 << 52) - 1)) | (1023 << 52)
    if m >= 0x3FF6A09E667F3BCD:
        m -= 1 << 52
        k += 1
    return float(k), from_bits64(m) - 1.0


def logcore(k, f, tail):
    s = f / (2.0 + f)
    h = (0.5 * f) * f
    z = s * s
    p = odd(C["L"], 7, z, z * z)
    a = k * LN2_HIGH
    first = a + f
    lost = (a - first) + f
    return first + (lost - (h - (s * (h + p * z) + (k * LN2_LOW + tail))))


def log64(x):
    if x != x or x < 0:
        return NAN
    if x == 0 or x == INF:
        return -INF if x == 0 else INF
    if x < 2.0**-1022:
        k, f = split(x * 2.0**54)
        return logcore(k - 54.0, f, 0.0)
    return logcore(*split(x), 0.0)


def log1p64(x):
    if x != x or x < -1:
        return NAN
    if x == -1 or x == INF:
        return -INF if x == -1 else INF
    if abs(x) < 2.0**-54:
        return x
    u = 1.0 + x
    t = u - 1.0
    lost = (1.0 - (u - t)) + (x - t)
    k, f = split(u)
    return logcore(0.0, x, 0.0) if k == 0 else logcore(k, f, lost / u)


def erf64(x):
    if x != x:
        return x
    a = abs(x)
    if a < 1:
        z = a * a
        return math.copysign(a + a * odd(C["S"], 13, z, z * z), x)
    a = clamp(a, 1.0, 6.0)
    k, r, q = reduce(-(a * a))
    v = a - 3.0
    p = pairs(C["T"], 22, v, v * v)
    return math.copysign(1.0 - ((1.0 + (r + q)) * power2(k)) * p, x)


def cospi64(x):
    """For the normal numbers of 6.4: x is in [0, 2)."""
    a = abs(x) if abs(x) < 2.0**53 else 0.0
    g = (a * 0.5 + 4503599627370496.0) - 4503599627370496.0
    d = a - 2.0 * g
    n = nearest(2.0 * abs(d))
    r = abs(d) - 0.5 * n
    z = r * r
    s = 4.0 * r + r * (odd(C["U"], 7, z, z * z) * z - hexadecimal("0x1.b7812aeef4b9fp-1"))
    c = 1.0 + odd(C["V"], 7, z, z * z) * z
    return (c, -s, -c)[int(n)] + 0.0


def powi(x, n, dtype):
    if n == 0:
        return 1.0
    y = x
    for bit in bin(abs(n))[3:]:
        y = rounded(y * y, dtype)
        if bit == "1":
            y = rounded(y * x, dtype)
    return y if n > 0 else rounded(div64(1.0, y), dtype)


# More digits, for the few binary32 results that a binary64 with an error of some units in its last place leaves open.
WIDE = decimal.Context(prec=80, Emax=10**9, Emin=-(10**9))


def wide_erf(x):
    term, sum_, n = x, x, 0
    while abs(term) > abs(sum_) * decimal.Decimal("1e-70"):
        n += 1
        term = WIDE.divide(WIDE.multiply(WIDE.multiply(term, -x), x), decimal.Decimal(n))
        sum_ = WIDE.add(sum_, WIDE.divide(term, decimal.Decimal(2 * n + 1)))
    pi = decimal.Decimal("3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986")
    return WIDE.divide(WIDE.multiply(sum_, decimal.Decimal(2)), WIDE.sqrt(pi))


def wide(name, x):
    x = decimal.Decimal(x)
    one = decimal.Decimal(1)
    e = WIDE.exp
    if name == "exp":
        return e(x)
    if name == "expm1":
        return WIDE.subtract(e(x), one)
    if name == "log":
        return WIDE.ln(x)
    if name == "log1p":
        return WIDE.ln(WIDE.add(one, x))
    if name == "tanh":
        y = e(WIDE.multiply(x, decimal.Decimal(2)))
        return WIDE.divide(WIDE.subtract(y, one), WIDE.add(y, one))
    if name == "sigmoid":
        return WIDE.divide(one, WIDE.add(one, e(-x)))
    return wide_erf(x)


IN_64 = {"exp": exp64, "expm1": expm1_64, "log": log64, "log1p": log1p64, "tanh": tanh64, "sigmoid": sigmoid64,
         "erf": erf64}
FLAT = {"tanh": 30, "erf": 30, "sigmoid": 200, "exp": 200, "expm1": 200}  # beyond, a binary64 decides


def rounds_to(exact):
    """A decimal that is no tie, rounded to binary32."""
    near = f32(float(exact))
    for step in (INF, -INF):
        value = f32(math.nextafter(float(exact), step))
        if value != near and math.isfinite(value) and math.isfinite(near):
            middle = decimal.Decimal((value + near) / 2)
            return value if (exact > middle) == (value > near) else near
    return near


def function(name, x, dtype):
    y = IN_64[name](x)
    if dtype == "f64":
        return y
    if not math.isfinite(x) or x == 0 or not math.isfinite(y):
        return f32(y)
    slack = abs(y) * 2.0**-49 + 2.0**-1060
    low, high = f32(y - slack), f32(y + slack)
    if low == high:
        return math.copysign(low, y)
    if abs(x) > FLAT.get(name, INF):
        return f32(y)
    if abs(x) < 2.0**-60:
        return tiny(name, x)
    return math.copysign(rounds_to(wide(name, x)), y)


def tiny(name, x):
    """Where the function is its first terms, and these decide: x or 1 or 1/2, and by how little it is off."""
    if name in ("expm1", "log1p", "tanh"):
        return x
    if name == "erf":
        return rounds_to(wide_erf(decimal.Decimal(x)))
    return 1.0 if name == "exp" else 0.5
