# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 11.2 to 11.4 in Python: the calls that append instructions, the sweep, and the rules of the operations
that this implementation has. Regions are in region_gradients."""
import math

import region_gradients
from op_types import Refused
from region_types import REGIONS

FLOATS = ("f32", "f64", "bf16", "f16")


def gradient_type(kind):
    return ("f32" if kind[0] in ("bf16", "f16") else kind[0]), kind[1]


class Builder:
    """Appends to a body by the names of 11.2."""

    def __init__(self, body):
        self.body = body

    def kind(self, v):
        return self.body.types[v]

    def shape(self, v):
        return self.body.types[v][1]

    def put(self, op, *ins, **at):
        return self.body.append(op, at, ins)[0]

    def fill(self, value, dtype, shape=()):
        return self.put("fill", dtype=dtype, shape=list(shape), value=float(value))

    def like(self, value, v):
        dtype, shape = gradient_type(self.kind(v))
        return self.fill(value, dtype, shape)

    def add_scalar(self, x, c):
        f = self.fill(c, self.kind(x)[0])
        return self.put("add", x, f)

    def scale(self, x, c):
        f = self.fill(c, self.kind(x)[0])
        return self.put("mul", x, f)

    def zero(self, g):
        return self.fill(0.0, self.kind(g)[0])

    def reshape(self, x, shape):
        return self.put("reshape", x, shape=list(shape))

    def copy(self, x):
        return self.reshape(x, self.shape(x))

    def back(self, v, x):
        have, want = self.shape(v), self.shape(x)
        lead = len(have) - len(want)
        axes = list(range(lead)) + [i + lead for i, n in enumerate(want) if n == 1 and have[i + lead] != 1]
        if axes:
            v = self.put("sum", v, axes=axes)
        return self.reshape(v, want) if lead else v

    def transposed(self, x):
        p = list(range(len(self.shape(x))))
        p[-2:] = [p[-1], p[-2]]
        return self.put("transpose", x, permutation=p)

    def rowsum(self, v):
        return self.put("sum", v, axes=[len(self.shape(v)) - 1])

    def mean_of_rows(self, v):
        return self.put("mean", v, axes=[len(self.shape(v)) - 1])


class Context:
    """What a rule looks at: g the gradients of the results (None where absent), reach of the operands."""

    def __init__(self, b, instruction, g, reach):
        self.b, self.i, self.at = b, instruction, instruction.at
        self.gradients, self.g, self.y = g, g[0], instruction.outs[0]
        self.x = instruction.ins[0] if instruction.ins else None
        self.reach = reach

    def operand(self, n):
        return self.i.ins[n]


def unary(formula):
    return lambda c: [formula(c.b, c.g, c.x, c.y)]


def rule_expm1(b, g, x, y):
    return b.put("mul", g, b.add_scalar(y, 1))


def rule_log1p(b, g, x, y):
    return b.put("div", g, b.add_scalar(x, 1))


def rule_erf(b, g, x, y):
    e = b.put("exp", b.put("neg", b.put("mul", x, x)))
    return b.put("mul", g, b.scale(e, 1.1283791670955126))


def rule_rsqrt(b, g, x, y):
    return b.put("mul", g, b.put("div", b.scale(y, -0.5), x))


def rule_silu(b, g, x, y):
    s = b.put("sigmoid", x)
    m = b.put("mul", y, b.add_scalar(b.put("neg", s), 1))
    return b.put("mul", g, b.put("add", s, m))


def rule_abs(b, g, x, y):
    return b.put("mul", g, b.put("sign", x))


def rule_add(c):
    return [c.b.back(c.g, v) if r else None for v, r in zip(c.i.ins, c.reach)]


def rule_sub(c):
    a = c.b.back(c.g, c.x) if c.reach[0] else None
    return [a, c.b.back(c.b.put("neg", c.g), c.operand(1)) if c.reach[1] else None]


def rule_mul(c):
    a, b = c.i.ins
    first = c.b.back(c.b.put("mul", c.g, b), a) if c.reach[0] else None
    return [first, c.b.back(c.b.put("mul", c.g, a), b) if c.reach[1] else None]


def rule_div(c):
    a, b = c.i.ins
    first = c.b.back(c.b.put("div", c.g, b), a) if c.reach[0] else None
    if not c.reach[1]:
        return [first, None]
    u = c.b.put("div", c.b.put("mul", c.g, c.y), b)
    return [first, c.b.back(c.b.put("neg", u), b)]


def chosen(c, condition, a, b, reach):
    zero = c.b.zero(c.g)
    first = c.b.back(c.b.put("where", condition, c.g, zero), a) if reach[0] else None
    return [first, c.b.back(c.b.put("where", condition, zero, c.g), b) if reach[1] else None]


def rule_rest(whole):
    def rule(c):
        a, b = c.i.ins
        first = c.b.back(c.g, a) if c.reach[0] else None
        if not c.reach[1]:
            return [first, None]
        m = c.b.put("mul", c.g, c.b.put(whole, c.b.put("div", a, b)))
        return [first, c.b.back(c.b.put("neg", m), b)]

    return rule


def rule_extreme(comparison):
    def rule(c):
        a, b = c.i.ins
        return chosen(c, c.b.put(comparison, a, b), a, b, c.reach)

    return rule


def rule_where(c):
    return [None] + chosen(c, *c.i.ins, c.reach[1:])


def rule_bce_logits(c):
    x, t = c.i.ins
    first = second = None
    if c.reach[0]:
        s = c.b.put("sigmoid", x)
        d = c.b.put("sub", s, t)
        first = c.b.back(c.b.put("mul", c.g, d), x)
    if c.reach[1]:
        m = c.b.put("mul", c.g, x)
        second = c.b.back(c.b.put("neg", m), t)
    return [first, second]


def rule_cast(c):
    source, target = c.b.kind(c.x)[0], c.at["dtype"]
    if source not in FLOATS or target not in FLOATS:
        return [None]
    wanted = gradient_type((source, ()))[0]
    have = c.b.kind(c.g)[0]
    if source not in ("f32", "f64") or target not in ("f32", "f64"):
        return [c.g if have == wanted else c.b.put("cast", c.g, dtype=wanted)]
    return [c.b.put("cast", c.g, dtype=source)]


def rule_pow_int(c):
    n = c.at["exponent"]
    if n == 0:
        return [None]
    p = c.b.put("pow_int", c.x, exponent=n - 1 if n > -(1 << 63) else n)
    q = c.b.scale(p, n)
    return [c.b.put("mul", c.g, q)]


def rule_transpose(c):
    p = c.at["permutation"]
    return [c.b.put("transpose", c.g, permutation=[p.index(i) for i in range(len(p))])]


def rule_slice(c):
    after = [n - e for n, e in zip(c.b.shape(c.x), c.at["end"])]
    return [c.b.put("pad", c.g, after=after, before=list(c.at["begin"]))]


def rule_pad(c):
    end = [b + n for b, n in zip(c.at["before"], c.b.shape(c.x))]
    return [c.b.put("slice", c.g, begin=list(c.at["before"]), end=end)]


def rule_concat(c):
    axis, at, found = c.at["axis"], 0, []
    for v, r in zip(c.i.ins, c.reach):
        shape = c.b.shape(v)
        if r:
            begin, end = [0] * len(shape), list(shape)
            begin[axis], end[axis] = at, at + shape[axis]
            found.append(c.b.put("slice", c.g, begin=begin, end=end))
        else:
            found.append(None)
        at += shape[axis]
    return found


def rule_gather(c):
    if not c.reach[0]:
        return [None, None]
    axis = c.at["axis"]
    return [c.b.put("scatter_add", c.g, c.operand(1), axis=axis, size=c.b.shape(c.x)[axis]), None]


def rule_scatter_add(c):
    return [c.b.put("gather", c.g, c.operand(1), axis=c.at["axis"]) if c.reach[0] else None, None]


def rule_mean(c):
    shape = c.b.shape(c.x)
    n = c.b.fill(math.prod(shape[a] for a in c.at["axes"]), c.b.kind(c.g)[0])
    d = c.b.put("div", c.g, n)
    return [c.b.put("broadcast_to", d, shape=list(shape))]


def rule_prod(c):
    b, axes = c.b, c.at["axes"]
    if not axes:
        return [c.g]
    dtype = b.kind(c.x)[0]
    one, zero = b.fill(1.0, dtype), b.fill(0.0, dtype)
    z = b.put("eq", c.x, zero)
    v = b.put("where", z, one, c.x)
    p = b.put("prod", v, axes=axes)
    o = b.put("eq", b.put("sum", b.put("cast", z, dtype=dtype), axes=axes), one)
    q = b.put("where", o, b.put("mul", c.g, p), zero)
    return [b.put("where", z, q, b.put("div", b.put("mul", c.g, c.y), v))]


def rule_max(c):
    m = c.b.put("cast", c.b.put("eq", c.x, c.y), dtype=c.b.kind(c.g)[0])
    if not c.at["axes"]:
        return [c.g]
    q = c.b.put("div", c.g, c.b.put("sum", m, axes=c.at["axes"]))
    return [c.b.put("mul", m, q)]


def rule_layer_norm(c):
    x, gamma, beta = c.i.ins
    if not (c.reach[1] or c.reach[2]):
        return [c.b.put("layer_norm_grad", c.g, x, gamma, eps=c.at["eps"]), None, None]
    dx, q, p = c.b.body.append("layer_norm_backward", c.at, [c.g, x, gamma])
    return [dx if c.reach[0] else None, folded(c.b, q) if c.reach[1] else None,
            folded(c.b, p) if c.reach[2] else None]


def rule_rms_norm(c):
    x, gamma = c.i.ins
    dx, q = c.b.body.append("rms_norm_grad", c.at, [c.g, x, gamma])
    return [dx if c.reach[0] else None, folded(c.b, q) if c.reach[1] else None]


def folded(b, lanes):
    s = b.put("sum", b.put("sum", lanes, axes=[1]), axes=[0])
    return b.put("reshape", s, shape=list(b.shape(lanes)[-1:]))


def rule_matmul(c):
    a, b = c.i.ins
    first = second = None
    if c.reach[0]:
        t = c.b.transposed(b)
        first = c.b.back(c.b.put("matmul", c.g, t), a)
    if c.reach[1]:
        t = c.b.transposed(a)
        second = c.b.back(c.b.put("matmul", t, c.g), b)
    return [first, second]


def second_of(op, factor):
    """tanh_grad and sigmoid_grad."""
    def rule(c):
        g, y = c.i.ins
        first = c.b.put(op, c.g, y) if c.reach[0] else None
        if not c.reach[1]:
            return [first, None]
        t = factor(c.b, y)
        return [first, c.b.put("mul", c.b.put("mul", c.g, g), t)]

    return rule


def rule_gelu_grad(c):
    g, x = c.i.ins
    first = c.b.put("gelu_grad", c.g, x) if c.reach[0] else None
    if not c.reach[1]:
        return [first, None]
    q = c.b.put("mul", x, x)
    phi = c.b.scale(c.b.put("exp", c.b.scale(q, -0.5)), 0.3989422804014327)
    t = c.b.add_scalar(c.b.put("neg", q), 2)
    p = c.b.put("mul", phi, t)
    return [first, c.b.put("mul", c.b.put("mul", c.g, g), p)]


def rule_softmax_grad(c):
    g, y = c.i.ins
    b, h = c.b, c.g
    first = b.put("softmax_grad", h, y) if c.reach[0] else None
    if not c.reach[1]:
        return [first, None]
    l = b.put("mul", h, b.put("sub", g, b.rowsum(b.put("mul", g, y))))
    r = b.put("mul", g, b.rowsum(b.put("mul", h, y)))
    return [first, b.put("sub", l, r)]


def lanes_of(b, v, lanes):
    """lanes(v) of 11.4."""
    k, width, n = b.shape(lanes)
    count = math.prod(b.shape(v)[:-1])
    turns = 64 if k > 1 else -(-count // width) if width else 0
    v = b.put("reshape", v, shape=[count, n])
    v = b.put("pad", v, before=[0, 0], after=[k * turns * width - count, 0])
    v = b.put("reshape", v, shape=[k, turns, width, n])
    return b.put("reshape", b.put("sum", v, axes=[1]), shape=[k, width, n])


def rule_layer_norm_grad(c):
    """E of 11.4."""
    start = len(c.b.body.instructions)
    y, _ = slope(c)
    return through(c, start, [y], [c.g])


def seeded(c, start, ys):
    """Through an expansion, seeded where an output has a gradient."""
    pairs = [(y, g) for y, g in zip(ys, c.gradients) if g is not None]
    return through(c, start, [y for y, _ in pairs], [g for _, g in pairs])


def rule_layer_norm_backward(c):
    """L of 11.4."""
    start = len(c.b.body.instructions)
    g, (_, q, _) = c.i.ins[0], c.i.outs
    dx, z = slope(c)
    first = lanes_of(c.b, c.b.put("mul", g, z), q)
    return seeded(c, start, [dx, first, lanes_of(c.b, g, q)])


def rule_rms_norm_grad(c):
    """M of 11.4."""
    b, (g, x, gamma) = c.b, c.i.ins
    start = len(b.body.instructions)
    t = b.put("mul", g, gamma)
    v = b.mean_of_rows(b.put("mul", x, x))
    s = b.put("sqrt", b.add_scalar(v, c.at["eps"]))
    z = b.put("div", x, s)
    m = b.put("mul", z, b.mean_of_rows(b.put("mul", t, z)))
    dx = b.put("div", b.put("sub", t, m), s)
    return seeded(c, start, [dx, lanes_of(b, b.put("mul", g, z), c.i.outs[1])])


def slope(c):
    b, (g, x, gamma) = c.b, c.i.ins
    t = b.put("mul", g, gamma)
    d = b.put("sub", x, b.mean_of_rows(x))
    v = b.mean_of_rows(b.put("mul", d, d))
    s = b.put("sqrt", b.add_scalar(v, c.at["eps"]))
    z = b.put("div", d, s)
    l = b.put("sub", t, b.mean_of_rows(t))
    m = b.mean_of_rows(b.put("mul", t, z))
    return b.put("div", b.put("sub", l, b.put("mul", z, m)), s), z


def through(c, start, ys, seeds):
    wrt = list(dict.fromkeys(v for v, r in zip(c.i.ins, c.reach) if r))
    have = sweep(c.b.body, ys, seeds, wrt, start=start)
    found, seen = [], set()
    for v in c.i.ins:
        found.append(have.get(v) if v in wrt and v not in seen else None)
        seen.add(v)
    return found


RULES = {
    "neg": unary(lambda b, g, x, y: b.put("neg", g)),
    "exp": unary(lambda b, g, x, y: b.put("mul", g, y)),
    "expm1": unary(rule_expm1),
    "log": unary(lambda b, g, x, y: b.put("div", g, x)),
    "log1p": unary(rule_log1p),
    "sqrt": unary(lambda b, g, x, y: b.put("div", g, b.scale(y, 2))),
    "tanh": unary(lambda b, g, x, y: b.put("tanh_grad", g, y)),
    "sigmoid": unary(lambda b, g, x, y: b.put("sigmoid_grad", g, y)),
    "relu": unary(lambda b, g, x, y: b.put("relu_grad", g, x)),
    "gelu": unary(lambda b, g, x, y: b.put("gelu_grad", g, x)),
    "silu": unary(rule_silu),
    "erf": unary(rule_erf),
    "rsqrt": unary(rule_rsqrt),
    "abs": unary(rule_abs),
    "sign": lambda c: [None],
    "floor": lambda c: [None],
    "ceil": lambda c: [None],
    "round": lambda c: [None],
    "trunc": lambda c: [None],
    "pow_int": rule_pow_int,
    "cast": rule_cast,
    "add": rule_add,
    "sub": rule_sub,
    "mul": rule_mul,
    "div": rule_div,
    "fmod": rule_rest("trunc"),
    "remainder": rule_rest("floor"),
    "maximum": rule_extreme("ge"),
    "minimum": rule_extreme("le"),
    "where": rule_where,
    "bce_logits": rule_bce_logits,
    "dropout": lambda c: [c.b.body.append("dropout", c.at, [c.g, c.operand(1)])[0] if c.reach[0] else None, None],
    "reshape": unary(lambda b, g, x, y: b.reshape(g, b.shape(x))),
    "transpose": rule_transpose,
    "broadcast_to": unary(lambda b, g, x, y: b.back(g, x)),
    "slice": rule_slice,
    "pad": rule_pad,
    "concat": rule_concat,
    "gather": rule_gather,
    "scatter_add": rule_scatter_add,
    "sum": unary(lambda b, g, x, y: b.put("broadcast_to", g, shape=list(b.shape(x)))),
    "prod": rule_prod,
    "mean": rule_mean,
    "max": rule_max,
    "min": rule_max,
    "softmax": unary(lambda b, g, x, y: b.put("softmax_grad", g, y)),
    "layer_norm": rule_layer_norm,
    "rms_norm": rule_rms_norm,
    "matmul": rule_matmul,
    "relu_grad": lambda c: [c.b.put("relu_grad", c.g, c.operand(1)) if c.reach[0] else None, None],
    "gelu_grad": rule_gelu_grad,
    "tanh_grad": second_of("tanh_grad", lambda b, y: b.scale(y, -2)),
    "sigmoid_grad": second_of("sigmoid_grad", lambda b, y: b.add_scalar(b.scale(y, -2), 1)),
    "softmax_grad": rule_softmax_grad,
    "layer_norm_grad": rule_layer_norm_grad,
    "layer_norm_backward": rule_layer_norm_backward,
    "rms_norm_grad": rule_rms_norm_grad,
}


def reaches(body, start, wrt):
    """The set of values that reach, of instructions from start on (11.3.1 and 11.7)."""
    found = set(wrt)
    for i in body.instructions[start:]:
        operands = [v in found for v in i.ins]
        if not any(operands):
            continue
        if i.op in REGIONS:
            found.update(v for v, r in zip(i.outs, region_gradients.reaching(body, i, operands)) if r)
        elif i.op in RULES:
            found.update(i.outs)
    return found


def contribute(b, gradient, v, c):
    gradient[v] = c if v not in gradient else b.put("add", gradient[v], c)


def sweep(body, ys, seeds, wrt, start=0, begin=None):
    """11.3 over the instructions from `start` on; begin: gradients that values start with. The gradients of values."""
    b, gradient = Builder(body), dict(begin or {})
    end = len(body.instructions)
    reach = reaches(body, start, wrt)
    for y, seed in zip(ys, seeds):
        contribute(b, gradient, y, seed)
    for i in reversed(body.instructions[start:end]):
        operands = [v in reach for v in i.ins]
        if not any(o in gradient and o in reach for o in i.outs) or not any(operands):
            continue
        if i.op in REGIONS:
            region_gradients.visit(b, i, gradient, reach)
        elif i.op in RULES:
            g = [gradient.get(o) for o in i.outs]
            given = RULES[i.op](Context(b, i, g, operands))
            for v, r, c in zip(i.ins, operands, given):
                if r and c is not None:
                    contribute(b, gradient, v, c)
    return gradient


def vjp(body, ys, seeds, wrt, zeros=False):
    gradient = sweep(body, ys, seeds, wrt)
    b = Builder(body)
    if not zeros and any(w not in gradient for w in wrt):
        raise Refused("a gradient of something unconnected")
    return [gradient[w] if w in gradient else b.like(0.0, w) for w in wrt]


def gradients(body, y, wrt, zeros=False):
    seed = Builder(body).like(1.0, y)
    return vjp(body, [y], [seed], wrt, zeros)


VIEWS = ("reshape", "transpose", "broadcast_to", "slice", "slice_step", "stop_gradient")


def output(p, kind, name, x):
    """11.2: a value made an output by a call; an input or a view is copied first."""
    b, maker = Builder(p), {o: i for i in p.instructions for o in i.outs}
    i = maker.get(x)
    copied = i and i.op == "reshape" and not p.types[x][1] and i.ins[0] in maker and maker[i.ins[0]].op == "concat"
    if not (i and i.op not in VIEWS) and not (copied and len(maker[i.ins[0]].ins) == 1):
        if p.types[x][1]:
            x = b.put("concat", x, axis=0)
        else:
            x = b.reshape(b.put("concat", b.reshape(x, [1]), axis=0), [])
    for at, (k, n, _) in enumerate(p.outputs):
        if (k, n) == (kind, name):
            p.outputs[at] = (kind, name, x)
            return
    p.outputs.append((kind, name, x))
