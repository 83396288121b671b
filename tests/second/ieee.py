# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 2, 4.1, 4.4 and 9a.3 in Python: binary32 and binary64 with one rounding an operation, sums and products in
the contract's order, conversions, stored bytes, decimals.

Python's float is binary64 with rounding to nearest even. A binary32 is held as the float of the same value: one
binary64 operation + - * / sqrt on two of them, rounded once more, is the rounded binary32 operation, since 53 >= 2 *
24 + 2 (Figueroa, When is double rounding innocuous, 1995). That is not so of fma, which is why it is written out."""
import math
import struct
from array import array

INF = math.inf
NAN = math.nan
WIDTH = {"f32": 4, "f64": 8, "i32": 4, "i64": 8, "bool": 1, "bf16": 2, "f16": 2, "i8": 1, "u8": 1, "i16": 2, "u32": 4}
REALS = ("f32", "f64")
INTEGERS = ("i32", "i64")
BITS = INTEGERS + ("u32",)
UNSIGNED = ("u8", "u32")
WHOLE = BITS + ("i8", "u8", "i16")  # all types of integers


def bits64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from_bits64(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def f32(x):
    """x, a binary64, rounded to binary32."""
    return array("f", (x,))[0]


def bf16(x, exact=None):
    """A real, rounded once to bf16; exact is a rational (an int) where x as a float would have been rounded before."""
    return narrow(x, exact, 8, -126)


def f16(x, exact=None):
    return narrow(x, exact, 11, -14)


def narrow(x, exact, digits, least):
    """Rounded once to so many binary digits, the smallest normal number being 2^least and the largest below 2^(2 - least)."""
    if exact is None:
        if x != x or x in (INF, -INF) or x == 0:
            return x
        exact = x
    sign = -1 if exact < 0 else 1
    top, bottom = abs(exact).as_integer_ratio()
    if top == 0:
        return 0.0
    exponent = top.bit_length() - bottom.bit_length()
    if (top << max(0, -exponent)) < (bottom << max(0, exponent)):
        exponent -= 1
    unit = max(exponent, least) - digits + 1  # the place of the last bit
    top, bottom = top << max(0, -unit), bottom << max(0, unit)
    whole, rest = divmod(top, bottom)
    if 2 * rest > bottom or (2 * rest == bottom and whole & 1):
        whole += 1
    return sign * (INF if exponent >= 2 - least or math.ldexp(whole, unit) >= 2.0 ** (2 - least) else math.ldexp(whole, unit))


def integer_to_f32(n):
    """Rounded once, directly: an i64 not through binary64."""
    low = abs(n)
    drop = low.bit_length() - 24
    if drop > 0:
        rest, low = low & ((1 << drop) - 1), low >> drop
        half = 1 << (drop - 1)
        if rest > half or (rest == half and low & 1):
            low += 1
        low <<= drop
    return float(low if n >= 0 else -low)


def div64(a, b):
    """IEEE division; Python's raises where b is 0."""
    if b == 0:
        if a == 0 or a != a:
            return NAN
        return math.copysign(INF, a) * math.copysign(1.0, b)
    return a / b


def sqrt64(a):
    return NAN if a < 0 else math.sqrt(a) if a == a else NAN


def _odd_one_out(r, s, e):
    """s + e, of which s is the rounded sum and e what that lost, rounded to binary32; r is s rounded. Twice rounded is
    wrong only where s lies halfway between two binary32 numbers."""
    other = 2.0 * s - r
    if r in (INF, -INF):
        return math.copysign(3.4028234663852886e38, s) if abs(s) == 3.4028235677973366e38 and e * s < 0 else r
    if f32(other) != other:
        return r
    return max(r, other) if e > 0 else min(r, other)


def fma32(a, b, c):
    p = a * b  # exact: 48 bits
    s = p + c
    r = f32(s)
    if r != s and s - s == 0:
        back = s - p
        e = (p - (s - back)) + (c - back)
        if e:
            return _odd_one_out(r, s, e)
    return r


def fma64(a, b, c):
    p = a * b
    s = p + c
    if s - s != 0 and not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return s
    if a == 0 or b == 0:
        return s
    (an, ad), (bn, bd), (cn, cd) = a.as_integer_ratio(), b.as_integer_ratio(), c.as_integer_ratio()
    pd = ad * bd
    top, bottom = an * bn * cd + cn * pd, pd * cd
    if top == 0:
        return 0.0 if c != 0 else s
    try:
        return top / bottom  # of two int: rounded once
    except OverflowError:
        return INF if top > 0 else -INF


def total(x, dtype):
    """CONTRACT 4.1."""
    while True:
        sums = []
        for start in range(0, len(x), 4096):
            chunk = x[start : start + 4096]
            lane = [0.0] * 64
            if dtype == "f32":
                for row in range(0, len(chunk), 64):
                    part = chunk[row : row + 64]
                    lane[: len(part)] = array("f", [a + b for a, b in zip(lane, part)])
            else:
                for row in range(0, len(chunk), 64):
                    part = chunk[row : row + 64]
                    lane[: len(part)] = [a + b for a, b in zip(lane, part)]
            width = 32
            while width:
                lane = [lane[i] + lane[i + width] for i in range(width)]
                if dtype == "f32":
                    lane = list(array("f", lane))
                width //= 2
            sums.append(lane[0])
        if not sums:
            return 0.0
        if len(sums) == 1:
            return sums[0]
        x = sums


def dot(a, b, dtype):
    """CONTRACT 4.4: one element of a product."""
    fma = fma32 if dtype == "f32" else fma64
    y = 0.0
    for start in range(0, len(a), 512):
        c = 0.0
        for l in range(start, min(start + 512, len(a))):
            c = fma(a[l], b[l], c)
        y = c if start == 0 else rounded(y + c, dtype)
    return y


def rounded(x, dtype):
    return f32(x) if dtype == "f32" else x


def wrap(n, dtype):
    bits = 8 * WIDTH[dtype]
    n &= (1 << bits) - 1
    return n - (1 << bits) if n >> (bits - 1) and dtype not in UNSIGNED else n


def convert(x, source, target):
    """CONTRACT 2.5."""
    if target == source:
        return x
    if target == "bool":
        return int(x != 0)
    if target in WHOLE:
        if source in WHOLE or source == "bool":
            return wrap(int(x), target)
        bits = 8 * WIDTH[target] - (target not in UNSIGNED)
        low, high = 0 if target in UNSIGNED else -(1 << bits), (1 << bits) - 1
        if x != x:
            return 0
        return low if x <= low else high if x >= high else int(x)
    if target in ("bf16", "f16"):
        half = bf16 if target == "bf16" else f16
        return half(x, exact=x) if source in WHOLE else half(float(x))
    if source in WHOLE:
        return integer_to_f32(x) if target == "f32" else float(x)
    return rounded(float(x), target)


CODE = {"f32": "f", "f64": "d", "f16": "e", "i32": "i", "i64": "q", "i8": "b", "u8": "B", "i16": "h", "u32": "I"}


def stored(values, dtype):
    """Stored bytes: little-endian, one NaN."""
    if dtype == "bool":
        return bytes(1 if v else 0 for v in values)
    if dtype in WHOLE:
        return struct.pack("<%d%s" % (len(values), CODE[dtype]), *values)
    if dtype == "f16":
        return b"".join(b"\0\x7e" if v != v else struct.pack("<e", v) for v in values)
    if dtype == "f64":
        return b"".join(b"\0\0\0\0\0\0\xf8\x7f" if v != v else struct.pack("<d", v) for v in values)
    single = b"".join(b"\0\0\xc0\x7f" if v != v else struct.pack("<f", v) for v in values)
    if dtype == "f32":
        return single
    return b"".join(single[i + 2 : i + 4] for i in range(0, len(single), 4))


def loaded(data, dtype):
    if dtype == "bool":
        return [int(b != 0) for b in data]
    if dtype == "bf16":
        data, dtype = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2)), "f32"
    return list(struct.unpack("<%d%s" % (len(data) // WIDTH[dtype], CODE[dtype]), data))


def real_text(x):
    """CONTRACT 9a.3 of a binary64. Python's repr has the same digits, in other clothes."""
    if x != x:
        return "nan"
    if x in (INF, -INF):
        return "inf" if x > 0 else "-inf"
    sign = "-" if math.copysign(1.0, x) < 0 else ""
    if x == 0:
        return sign + "0"
    mantissa, _, exponent = repr(abs(x)).partition("e")
    whole, _, part = mantissa.partition(".")
    digits = whole + part
    n = len(whole) + int(exponent or 0)
    n -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    k = len(digits)
    if k <= n <= 21:
        return sign + digits + "0" * (n - k)
    if 0 < n <= 21:
        return sign + digits[:n] + "." + digits[n:]
    if -6 < n <= 0:
        return sign + "0." + "0" * -n + digits
    return sign + digits[0] + ("." + digits[1:] if k > 1 else "") + "e" + ("+" if n > 0 else "-") + str(abs(n - 1))


def read_real(text):
    """A real as a program has it; None where it is not the one text of a binary64."""
    try:
        x = float(text)
    except ValueError:
        return None
    return x if real_text(x) == text else None
