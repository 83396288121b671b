# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 3, 4, 7, 8 in Python: the values of operations (`compute`). A value is the list of its elements in row-
major order."""
import math

import elementary
import philox
from ieee import BITS, INTEGERS, NAN, REALS, WHOLE, convert, div64, dot, f32, fma32, fma64, rounded, sqrt64, total, wrap
from op_types import count, need

def strides(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def spread(values, shape, to):
    """values of shape, as elements of the shape that it is broadcast to."""
    if shape == to:
        return values
    if len(values) == 1:
        return values * count(to)
    lead = len(to) - len(shape)
    steps = (0,) * lead + tuple(0 if n == 1 else s for n, s in zip(shape, strides(shape)))
    return pick(values, to, steps, 0)


def pick(values, shape, steps, start):
    """Row-major elements of an array whose axes step by `steps` through values."""
    at = [start]
    for n, step in zip(shape, steps):
        at = [a + i * step for a in at for i in range(n)]
    return [values[a] for a in at]


# -- elementwise -------------------------------------------------------------------------------------------------------


def maximum(a, b):
    if a != a or b != b:
        return NAN
    if a == b == 0 and not isinstance(a, int):
        return a if math.copysign(1.0, a) > 0 else b
    return a if a > b else b


def minimum(a, b):
    if a != a or b != b:
        return NAN
    if a == b == 0 and not isinstance(a, int):
        return a if math.copysign(1.0, a) < 0 else b
    return a if a < b else b


def relu(x):
    return x if x > 0 or x != x else 0.0


def stepwise(dtype):
    """The arithmetic of formulas: every operation rounded to dtype."""
    if dtype == "f32":
        return (lambda a, b: f32(a + b), lambda a, b: f32(a - b), lambda a, b: f32(a * b),
                lambda a, b: f32(div64(a, b)))
    return (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, div64)


def gelu_parts(x, dtype):
    add, _, mul, _ = stepwise(dtype)
    c1 = rounded(0.7071067811865476, dtype)
    return add(1.0, elementary.function("erf", mul(x, c1), dtype))


def gelu(x, dtype):
    _, _, mul, _ = stepwise(dtype)
    return mul(mul(0.5, x), gelu_parts(x, dtype))


def gelu_grad(g, x, dtype):
    add, _, mul, _ = stepwise(dtype)
    cdf = mul(0.5, gelu_parts(x, dtype))
    c2 = rounded(0.3989422804014327, dtype)
    p = mul(elementary.function("exp", mul(-0.5, mul(x, x)), dtype), c2)
    return mul(g, add(cdf, mul(x, p)))


def bce_logits(x, t, dtype):
    add, sub, mul, _ = stepwise(dtype)
    e = elementary.function("exp", -abs(x), dtype)
    return add(sub(relu(x), mul(x, t)), elementary.function("log1p", e, dtype))


def tanh_grad(g, y, dtype):
    _, sub, mul, _ = stepwise(dtype)
    return mul(g, sub(1.0, mul(y, y)))


def sigmoid_grad(g, y, dtype):
    _, sub, mul, _ = stepwise(dtype)
    return mul(g, mul(y, sub(1.0, y)))


def relu_grad(g, x, dtype):
    return NAN if x != x else g if x > 0 else 0.0


def neg(x, dtype):
    return wrap(-x, dtype) if dtype in INTEGERS else -x


def magnitude(x, dtype):
    return wrap(abs(x), dtype) if dtype in INTEGERS else abs(x)


def silu(x, dtype):
    return rounded(x * elementary.function("sigmoid", x, dtype), dtype)


def by_name(name):
    return lambda x, dtype: elementary.function(name, x, dtype)


def sign(x, dtype):
    return x if x != x or x == 0 else type(x)(1 if x > 0 else -1)


def whole(function):
    """A rounding of reals that keeps the sign of zeros."""
    return lambda x, dtype: x if not math.isfinite(x) else math.copysign(abs(float(function(x))), x)


def quotient(a, b):
    """Of integers, without its fraction."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def quotient_below(a, b):
    return 0 if b == 0 else a // b


def fmod(a, b, dtype):
    if dtype in BITS:
        return wrap(a - quotient(a, b) * b, dtype)
    return NAN if a != a or b != b or math.isinf(a) or b == 0 else math.fmod(a, b)


def remainder(a, b, dtype):
    if dtype in BITS:
        return wrap(a - quotient_below(a, b) * b, dtype)
    r = fmod(a, b, dtype)
    return rounded(r + b, dtype) if r != 0 and (r < 0) != (b < 0) else r


def shift(a, b, dtype):
    """By a count from 0 to the type's bits less 1: None for another."""
    return b if 0 <= b < (64 if dtype == "i64" else 32) else None


def shift_left(a, b, dtype):
    by = shift(a, b, dtype)
    return 0 if by is None else wrap(a << by, dtype)


def shift_right(a, b, dtype):
    by = shift(a, b, dtype)
    return a >> (63 if by is None else by)


# The formulas of elements, and the dtype of the operands.
UNARY = {
    "neg": neg,
    "abs": magnitude,
    "sqrt": lambda x, t: rounded(sqrt64(x), t),
    "relu": lambda x, t: relu(x),
    "gelu": gelu,
    "silu": silu,
    "sign": sign,
    "floor": whole(math.floor),
    "ceil": whole(math.ceil),
    "round": whole(round),
    "trunc": whole(math.trunc),
}
for _name in elementary.IN_64:
    UNARY[_name] = by_name(_name)


def arithmetic(real, whole):
    return lambda a, b, t: wrap(whole(a, b), t) if t in BITS else rounded(real(a, b), t)


BINARY = {
    "add": arithmetic(lambda a, b: a + b, lambda a, b: a + b),
    "sub": arithmetic(lambda a, b: a - b, lambda a, b: a - b),
    "mul": arithmetic(lambda a, b: a * b, lambda a, b: a * b),
    "div": lambda a, b, t: rounded(div64(a, b), t),
    "maximum": lambda a, b, t: maximum(a, b),
    "minimum": lambda a, b, t: minimum(a, b),
    "fmod": fmod,
    "remainder": remainder,
    "div_trunc": lambda a, b, t: wrap(quotient(a, b), t),
    "div_floor": lambda a, b, t: wrap(quotient_below(a, b), t),
    "bitwise_and": lambda a, b, t: a & b,
    "bitwise_or": lambda a, b, t: a | b,
    "bitwise_xor": lambda a, b, t: a ^ b,
    "shift_left": shift_left,
    "shift_right": shift_right,
    "bce_logits": bce_logits,
    "relu_grad": relu_grad,
    "gelu_grad": gelu_grad,
    "tanh_grad": tanh_grad,
    "sigmoid_grad": sigmoid_grad,
}
COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_xor": lambda a, b: bool(a) != bool(b),
}

# -- values ------------------------------------------------------------------------------------------------------------


def compute(op, at, types, values, results):
    """[elements of each result]; types and values of the operands, results the types that infer gave."""
    shapes = [t[1] for t in types]
    dtype, shape = results[0]
    if op in UNARY:
        formula, t = UNARY[op], types[0][0]
        return [[formula(x, t) for x in values[0]]]
    if op in BINARY:
        formula, t = BINARY[op], types[0][0]
        a, b = (spread(v, s, shape) for v, s in zip(values, shapes))
        return [[formula(x, y, t) for x, y in zip(a, b)]]
    if op in COMPARE:
        formula = COMPARE[op]
        a, b = (spread(v, s, shape) for v, s in zip(values, shapes))
        return [[int(formula(x, y)) for x, y in zip(a, b)]]
    return COMPUTE[op](at, types, values, results)


def compute_where(at, types, values, results):
    c, a, b = (spread(v, t[1], results[0][1]) for v, t in zip(values, types))
    return [[x if k else y for k, x, y in zip(c, a, b)]]


def generator(rng, stream):
    seed, step = rng[0] % (1 << 64), rng[1] % (1 << 64)
    need(step < 1 << 48, "step of a generator")
    return seed, step, (stream + (rng[2] if len(rng) == 3 else 0)) % (1 << 32)


def compute_dropout(at, types, values, results):
    x, rng = values
    scale = rounded(1.0 / (1.0 - at["rate"]), types[0][0])
    u = philox.uniforms(len(x), "f32", *generator(rng, at["stream"]))
    return [[rounded(a * scale, types[0][0]) if v >= at["rate"] else 0.0 for a, v in zip(x, u)]]


def compute_transpose(at, types, values, results):
    steps = strides(types[0][1])
    return [pick(values[0], results[0][1], [steps[i] for i in at["permutation"]], 0)]


def compute_slice(at, types, values, results):
    steps = strides(types[0][1])
    return [pick(values[0], results[0][1], steps, sum(b * s for b, s in zip(at["begin"], steps)))]


def compute_concat(at, types, values, results):
    axis, out = at["axis"], []
    inner = [count(t[1][axis:]) for t in types]
    for i in range(count(results[0][1][:axis])):
        for v, n in zip(values, inner):
            out.extend(v[i * n : (i + 1) * n])
    return [out]


def compute_pad(at, types, values, results):
    dtype, shape = results[0]
    out = [0.0 if dtype not in WHOLE + ("bool",) else 0] * count(shape)
    steps = strides(shape)
    places = [sum(b * s for b, s in zip(at["before"], steps))]
    for n, step in zip(types[0][1], steps):
        places = [p + i * step for p in places for i in range(n)]
    for place, x in zip(places, values[0]):
        out[place] = x
    return [out]


def compute_gather(at, types, values, results):
    axis, shape = at["axis"], types[0][1]
    n, inner, out = shape[axis], count(shape[axis + 1 :]), []
    need(all(0 <= i < n for i in values[1]), "index outside the axis")
    for outer in range(count(shape[:axis])):
        for i in values[1]:
            at_ = (outer * n + i) * inner
            out.extend(values[0][at_ : at_ + inner])
    return [out]


def compute_scatter_add(at, types, values, results):
    axis, size, (g, index) = at["axis"], at["size"], values
    dtype, shape = results[0]
    need(all(0 <= i < size for i in index), "index outside the axis")
    out, inner = [0.0] * count(shape), count(shape[axis + 1 :])
    for outer in range(count(shape[:axis])):
        for j, i in enumerate(index):
            to, source = (outer * size + i) * inner, (outer * len(index) + j) * inner
            for k in range(inner):
                out[to + k] = rounded(out[to + k] + g[source + k], dtype)
    return [out]


def compute_one_hot(at, types, values, results):
    depth, one, zero = at["depth"], *((1.0, 0.0) if at["dtype"] in REALS else (1, 0))
    return [[one if i == d else zero for i in values[0] for d in range(depth)]]


def compute_slice_step(at, types, values, results):
    steps = strides(types[0][1])
    start = sum(b * s for b, s, n in zip(at["begin"], steps, at["size"]) if n)
    return [pick(values[0], results[0][1], [a * s for a, s in zip(at["step"], steps)], start)]


def lines_of(shape, axis):
    """Of each line along the axis the numbers of its elements."""
    inner = count(shape[axis + 1 :])
    for outer in range(count(shape[:axis])):
        for i in range(inner):
            yield range(outer * shape[axis] * inner + i, (outer + 1) * shape[axis] * inner + i, inner) if inner else ()


def compute_take_along(at, types, values, results):
    (x, index), axis = values, at["axis"]
    n, out = types[0][1][axis], [None] * count(types[1][1])
    need(all(0 <= i < n for i in index), "index outside the axis")
    for of, to in zip(lines_of(types[0][1], axis), lines_of(types[1][1], axis)):
        for t in to:
            out[t] = x[of[index[t]]]
    return [out]


def compute_scatter_along(at, types, values, results):
    (x, index, source), axis, dtype = values, at["axis"], types[0][0]
    n, out = types[0][1][axis], list(x)
    need(all(0 <= i < n for i in index), "index outside the axis")
    mode = [lambda a, s: s, lambda a, s: BINARY["add"](a, s, dtype), lambda a, s: BINARY["mul"](a, s, dtype), maximum,
            minimum][at["mode"]]
    for to, of in zip(lines_of(types[0][1], axis), lines_of(types[1][1], axis)):
        for s in of:
            out[to[index[s]]] = mode(out[to[index[s]]], source[s])
    return [out]


def below(a, b):
    return a < b or (b != b and a == a)


def in_order(x, descending):
    """Places of the elements in order: of equal ones, and among NaNs, the first comes first."""
    numbers_ = sorted((i for i, v in enumerate(x) if v == v), key=lambda i: x[i], reverse=descending)
    nans = [i for i, v in enumerate(x) if v != v]
    return nans + numbers_ if descending else numbers_ + nans


def compute_sort(at, types, values, results):
    descending, k = at.get("descending", at.get("largest")), results[0][1][-1]
    n, y, index = types[0][1][-1], [], []
    for i in range(count(types[0][1][:-1])):
        line = values[0][i * n : (i + 1) * n]
        places = in_order(line, descending)[:k]
        index += places
        y += [line[p] for p in places]
    return [y, index]


def compute_searchsorted(at, types, values, results):
    n, m, out = types[0][1][-1], types[1][1][-1] if types[1][1] else 1, []
    for i, v in enumerate(values[1]):
        line = values[0] if len(types[0][1]) == 1 else values[0][i // m * n : (i // m + 1) * n]
        low, left = 0, n
        while left > 0:
            h = left // 2
            if (not below(v, line[low + h])) if at["right"] else below(line[low + h], v):
                low, left = low + h + 1, left - h - 1
            else:
                left = h
        out.append(low)
    return [out]


def groups(values, shape, axes):
    """The elements of each output of a reduction, in row-major order of the reduced axes."""
    steps = strides(shape)
    kept = [i for i in range(len(shape)) if i not in axes]
    starts = [0]
    for i in kept:
        starts = [a + j * steps[i] for a in starts for j in range(shape[i])]
    inner = [0]
    for i in sorted(axes):
        inner = [a + j * steps[i] for a in inner for j in range(shape[i])]
    return [[values[a + b] for b in inner] for a in starts]


def fold(function, x):
    y = x[0]
    for other in x[1:]:
        y = function(y, other)
    return y


def reduction(formula):
    return lambda at, types, values, results: [
        [formula(x, results[0][0]) for x in groups(values[0], types[0][1], at["axes"])]]


def product(x, dtype):
    """4.1 with a multiplication for each addition, and lanes that begin at 1."""
    if dtype in INTEGERS:
        return wrap(math.prod(x), dtype)
    while len(x) != 1:
        found = []
        for start in range(0, len(x), 4096):
            lane = [1.0] * 64
            for i, v in enumerate(x[start : start + 4096]):
                lane[i % 64] = rounded(lane[i % 64] * v, dtype)
            while len(lane) > 1:
                half = len(lane) // 2
                lane = [rounded(lane[i] * lane[i + half], dtype) for i in range(half)]
            found += lane
        x = found or [1.0]
    return x[0]


def mean(x, dtype):
    return rounded(div64(total(x, dtype), rounded(float(len(x)), dtype)), dtype)


def compute_argmax(at, types, values, results):
    def first(x):
        best = 0
        for i, v in enumerate(x):
            if x[best] == x[best] and (v != v or v > x[best]):
                best = i
        return best

    return [[first(x) for x in groups(values[0], types[0][1], (at["axis"],))]]


def by_rows(formula):
    """formula(rows of the operands of full shape.., dtype) gives a row of the result."""
    def compute_one(at, types, values, results):
        n, out = types[0][1][-1], []
        for i in range(0, len(values[0]), n):
            row = [v[i : i + n] if t[1] == types[0][1] else v for v, t in zip(values, types)]
            out.extend(formula(at, types[0][0], *row))
        return [out]

    return compute_one


def softmax(at, dtype, x):
    _, sub, _, div = stepwise(dtype)
    m = fold(maximum, x)
    e = [elementary.function("exp", sub(v, m), dtype) for v in x]
    s = total(e, dtype)
    return [div(v, s) for v in e]


def softmax_grad(at, dtype, g, y):
    _, sub, mul, _ = stepwise(dtype)
    d = total([mul(a, b) for a, b in zip(g, y)], dtype)
    return [mul(sub(a, d), b) for a, b in zip(g, y)]


def compute_cross_entropy(at, types, values, results):
    dtype, n = types[0][0], types[0][1][-1]
    _, sub, _, _ = stepwise(dtype)
    need(all(0 <= k < n for k in values[1]), "a label outside the row")
    out = []
    for r, k in enumerate(values[1]):
        x = values[0][r * n : (r + 1) * n]
        m = fold(maximum, x)
        s = total([elementary.function("exp", sub(v, m), dtype) for v in x], dtype)
        out.append(sub(elementary.function("log", s, dtype), sub(x[k], m)))
    return [out]


def normed(at, dtype, x):
    """d, r and N of 7.5."""
    add, sub, mul, div = stepwise(dtype)
    n = rounded(float(len(x)), dtype)
    m = div(total(x, dtype), n)
    d = [sub(v, m) for v in x]
    var = div(total([mul(v, v) for v in d], dtype), n)
    return d, div(1.0, rounded(sqrt64(add(var, rounded(at["eps"], dtype))), dtype)), n


def layer_norm(at, dtype, x, gamma, beta):
    add, _, mul, _ = stepwise(dtype)
    d, r, _ = normed(at, dtype, x)
    return [add(mul(mul(v, r), a), b) for v, a, b in zip(d, gamma, beta)]


def layer_norm_grad(at, dtype, g, x, gamma):
    _, sub, mul, div = stepwise(dtype)
    d, r, n = normed(at, dtype, x)
    h = [mul(a, b) for a, b in zip(g, gamma)]
    z = [mul(v, r) for v in d]
    a = div(total(h, dtype), n)
    b = div(total([mul(u, v) for u, v in zip(h, z)], dtype), n)
    return [mul(sub(sub(u, a), mul(v, b)), r) for u, v in zip(h, z)]


def scaled(at, dtype, x):
    """r and N of 7.10."""
    add, _, mul, div = stepwise(dtype)
    n = rounded(float(len(x)), dtype)
    square = div(total([mul(v, v) for v in x], dtype), n)
    return div(1.0, rounded(sqrt64(add(square, rounded(at["eps"], dtype))), dtype)), n


def rms_norm(at, dtype, x, gamma):
    _, _, mul, _ = stepwise(dtype)
    r, _ = scaled(at, dtype, x)
    return [mul(mul(v, r), a) for v, a in zip(x, gamma)]


def rms_norm_grad(at, dtype, g, x, gamma):
    _, sub, mul, div = stepwise(dtype)
    r, n = scaled(at, dtype, x)
    h = [mul(a, b) for a, b in zip(g, gamma)]
    z = [mul(v, r) for v in x]
    b = div(total([mul(u, v) for u, v in zip(h, z)], dtype), n)
    return [mul(sub(u, mul(v, b)), r) for u, v in zip(h, z)]


def with_lanes(dx, z_of, results):
    """dx by rows, then the lanes over the rows of g z and, of three results, g."""
    def compute(at, types, values, out):
        dtype, n = types[0][0], types[0][1][-1]
        add, _, mul, _ = stepwise(dtype)
        g, x, gamma = values
        chunks, width, _ = out[1][1]
        found = [], *([0.0] * (chunks * width * n) for _ in range(results - 1))
        for m in range(len(g) // n):
            row = slice(m * n, (m + 1) * n)
            found[0].extend(dx(at, dtype, g[row], x[row], gamma))
            first = (m // 4096 * width + m % 64) * n
            for i, (u, v) in enumerate(zip(g[row], z_of(at, dtype, x[row]))):
                found[1][first + i] = add(found[1][first + i], mul(u, v))
                if results == 3:
                    found[2][first + i] = add(found[2][first + i], u)
        return list(found)

    return compute


def layer_norm_z(at, dtype, x):
    d, r, _ = normed(at, dtype, x)
    return [stepwise(dtype)[2](v, r) for v in d]


def rms_norm_z(at, dtype, x):
    r, _ = scaled(at, dtype, x)
    return [stepwise(dtype)[2](v, r) for v in x]


def compute_matmul(at, types, values, results):
    dtype, shape = results[0]
    (m, k), n = types[0][1][-2:], types[1][1][-1]
    batch, out = shape[:-2], []
    at_a = spread(list(range(count(types[0][1][:-2]))), types[0][1][:-2], batch)
    at_b = spread(list(range(count(types[1][1][:-2]))), types[1][1][:-2], batch)
    for i, j in zip(at_a, at_b):
        a, b = values[0][i * m * k : (i + 1) * m * k], values[1][j * k * n : (j + 1) * k * n]
        columns = [b[c::n] for c in range(n)]
        out.extend(dot(a[r * k : (r + 1) * k], columns[c], dtype) for r in range(m) for c in range(n))
    return [out]


def compute_cholesky(at, types, values, results):
    dtype, (n, _) = types[0]
    a, l = values[0], [0.0] * (n * n)
    tolerance, fma = rounded(at["tolerance"], dtype), fma32 if dtype == "f32" else fma64
    for j in range(n):
        for i in range(j, n):
            c = a[i * n + j]
            for k in range(j):
                c = fma(-l[i * n + k], l[j * n + k], c)
            if i > j:
                l[i * n + j] = rounded(div64(c, l[j * n + j]), dtype)
            elif c != c:
                l[j * n + j] = NAN
            else:
                l[j * n + j] = rounded(sqrt64(c), dtype) if c > rounded(tolerance * a[j * n + j], dtype) else math.inf
    return [l]


def compute_triangular_solve(at, types, values, results):
    dtype, (n, m) = types[1]
    a, b = values
    of = (lambda i, k: a[k * n + i]) if at["transposed"] else (lambda i, k: a[i * n + k])
    fma = fma32 if dtype == "f32" else fma64
    order = list(range(n)) if at["upper"] == at["transposed"] else list(range(n))[::-1]
    x = [0.0] * (n * m)
    for j in range(m):
        for s, i in enumerate(order):
            c = b[i * m + j]
            for k in order[:s]:
                c = fma(-of(i, k), x[k * m + j], c)
            x[i * m + j] = rounded(div64(c, of(i, i)), dtype)
    return [x]


def compute_uniform(at, types, values, results):
    u = philox.uniforms(count(results[0][1]), at["dtype"], *generator(values[0], at["stream"]))
    return [[rounded(at["low"] + (at["high"] - at["low"]) * v, at["dtype"]) for v in u]]


def compute_normal(at, types, values, results):
    draw = generator(values[0], at["stream"])
    return [[rounded(at["mean"] + at["deviation"] * philox.normal(i, *draw), at["dtype"])
             for i in range(count(results[0][1]))]]


def compute_sgd(at, types, values, results):
    dtype = results[0][0]
    add, sub, mul, _ = stepwise(dtype)
    w, mu = rounded(at["weight_decay"], dtype), rounded(at["momentum"], dtype)
    ps, ms, gs, (lr,) = values
    out_p, out_m = [], []
    for p, m, g in zip(ps, ms, gs):
        if w != 0:
            g = add(g, mul(w, p))
        d = g
        if mu != 0:
            m = add(mul(mu, m), g)
            d = add(g, mul(mu, m)) if at["nesterov"] else m
        out_p.append(sub(p, mul(lr, d)))
        out_m.append(m)
    return [out_p, out_m]


def compute_lion(at, types, values, results):
    dtype = results[0][0]
    add, sub, mul, _ = stepwise(dtype)
    beta1, beta2 = rounded(at["beta1"], dtype), rounded(at["beta2"], dtype)
    rest1, rest2 = rounded(1.0 - at["beta1"], dtype), rounded(1.0 - at["beta2"], dtype)
    w = rounded(at["weight_decay"], dtype)
    ps, ms, gs, (lr,) = values
    out_p, out_m = [], []
    for p, m, g in zip(ps, ms, gs):
        if w != 0:
            p = mul(p, sub(1.0, mul(lr, w)))
        out_p.append(sub(p, mul(lr, sign(add(mul(beta1, m), mul(rest1, g)), dtype))))
        out_m.append(add(mul(beta2, m), mul(rest2, g)))
    return [out_p, out_m]


def compute_adagrad(at, types, values, results):
    dtype = results[0][0]
    add, sub, mul, div = stepwise(dtype)
    eps, w = rounded(at["eps"], dtype), rounded(at["weight_decay"], dtype)
    ps, sums, gs, (lr,) = values
    out_p, out_s = [], []
    for p, s, g in zip(ps, sums, gs):
        if w != 0:
            g = add(g, mul(w, p))
        s = add(s, mul(g, g))
        out_p.append(sub(p, mul(lr, div(g, add(rounded(sqrt64(s), dtype), eps)))))
        out_s.append(s)
    return [out_p, out_s]


def compute_adamw(at, types, values, results):
    dtype = results[0][0]
    add, sub, mul, div = stepwise(dtype)
    beta1, beta2 = rounded(at["beta1"], dtype), rounded(at["beta2"], dtype)
    rest1, rest2 = rounded(1.0 - at["beta1"], dtype), rounded(1.0 - at["beta2"], dtype)
    eps, w = rounded(at["eps"], dtype), rounded(at["weight_decay"], dtype)
    ps, ms, vs, gs, (lr,), (c1,), (c2,) = values
    root = lambda x: rounded(sqrt64(x), dtype)
    out = [], [], []
    for p, m, v, g in zip(ps, ms, vs, gs):
        if w != 0:
            p = mul(p, sub(1.0, mul(lr, w)))
        m = add(mul(beta1, m), mul(rest1, g))
        v = add(mul(beta2, v), mul(mul(rest2, g), g))
        p = sub(p, mul(div(lr, c1), div(m, add(div(root(v), root(c2)), eps))))
        for kept, x in zip(out, (p, m, v)):
            kept.append(x)
    return list(out)


def filled(at, types, values, results):
    return [[convert(at["value"], "f64", at["dtype"])] * count(results[0][1])]


COMPUTE = {
    "where": compute_where,
    "logical_not": lambda at, types, values, results: [[int(not x) for x in values[0]]],
    "cast": lambda at, types, values, results: [[convert(x, types[0][0], at["dtype"]) for x in values[0]]],
    "pow_int": lambda at, types, values, results: [
        [elementary.powi(x, at["exponent"], types[0][0]) for x in values[0]]],
    "dropout": compute_dropout,
    "reshape": lambda at, types, values, results: [values[0]],
    "stop_gradient": lambda at, types, values, results: [values[0]],
    "transpose": compute_transpose,
    "broadcast_to": lambda at, types, values, results: [spread(values[0], types[0][1], results[0][1])],
    "slice": compute_slice,
    "fill": filled,
    "iota": lambda at, types, values, results: [[convert(i, "i64", at["dtype"]) for i in range(at["n"])]],
    "concat": compute_concat,
    "pad": compute_pad,
    "slice_step": compute_slice_step,
    "take_along": compute_take_along,
    "scatter_along": compute_scatter_along,
    "sort": compute_sort,
    "topk": compute_sort,
    "searchsorted": compute_searchsorted,
    "gather": compute_gather,
    "scatter_add": compute_scatter_add,
    "one_hot": compute_one_hot,
    "sum": reduction(lambda x, t: wrap(sum(x), t) if t in INTEGERS else total(x, t)),
    "prod": reduction(product),
    "mean": reduction(mean),
    "max": reduction(lambda x, t: fold(maximum, x)),
    "min": reduction(lambda x, t: fold(minimum, x)),
    "argmax": compute_argmax,
    "softmax": by_rows(softmax),
    "softmax_grad": by_rows(softmax_grad),
    "cross_entropy": compute_cross_entropy,
    "layer_norm": by_rows(layer_norm),
    "layer_norm_grad": by_rows(layer_norm_grad),
    "layer_norm_backward": with_lanes(layer_norm_grad, layer_norm_z, 3),
    "rms_norm": by_rows(rms_norm),
    "rms_norm_grad": with_lanes(rms_norm_grad, rms_norm_z, 2),
    "matmul": compute_matmul,
    "cholesky": compute_cholesky,
    "triangular_solve": compute_triangular_solve,
    "uniform": compute_uniform,
    "normal": compute_normal,
    "sgd": compute_sgd,
    "lion": compute_lion,
    "adagrad": compute_adagrad,
    "adamw": compute_adamw,
}
