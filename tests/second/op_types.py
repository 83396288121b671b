# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 3, 4, 7, 8 and FORMAT 9.4 in Python: of each operation its attributes and the types of its results
(`infer`), and which are refused. A type is (dtype, shape).

What the second implementation does not have is Unknown: images, pools, batch norm and most functions of section 5."""
import itertools
import math

from ieee import BITS, INTEGERS, REALS, rounded

MOST = 1.7976931348623157e308  # of what is finite

ANY = ("f32", "f64", "i32", "i64", "bool")
ALL = ANY + ("bf16", "f16", "i8", "u8", "i16", "u32")
NUMBERS = REALS + INTEGERS
ORDERED = REALS + BITS


class Refused(Exception):
    """There is no such program, or the step has an error."""


class Unknown(Exception):
    """In the contract, but not in this implementation."""


def need(condition, text):
    if not condition:
        raise Refused(text)


def count(shape):
    return math.prod(shape)


def check_type(shape):
    need(len(shape) <= 8, "rank above 8")
    need(math.prod(max(1, n) for n in shape) <= 1 << 40, "more than 2^40 elements")


def broadcast(shapes):
    rank = max(len(s) for s in shapes)
    out = []
    for axis in range(rank):
        lengths = {s[axis - rank + len(s)] for s in shapes if axis - rank + len(s) >= 0} - {1}
        need(len(lengths) <= 1, "shapes do not broadcast")
        out.append(lengths.pop() if lengths else 1)
    return tuple(out)

# Elementwise operations: the types of their operands.
UNARY = dict.fromkeys(("sqrt", "relu", "gelu", "silu", "exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf"), REALS)
UNARY.update(neg=NUMBERS, abs=NUMBERS, sign=NUMBERS)
UNARY.update(dict.fromkeys(("floor", "ceil", "round", "trunc"), REALS))
BINARY = {name: ORDERED for name in ("add", "sub", "mul", "maximum", "minimum", "fmod", "remainder")}
BINARY.update(dict.fromkeys(("div_trunc", "div_floor", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",
                             "shift_right"), BITS))
BINARY.update((name, REALS) for name in ("div", "bce_logits", "relu_grad", "gelu_grad", "tanh_grad", "sigmoid_grad"))
COMPARE = {name: ORDERED for name in ("lt", "le", "gt", "ge")}
COMPARE.update(eq=ORDERED + ("bool",), ne=ORDERED + ("bool",), logical_and=("bool",), logical_or=("bool",), logical_xor=("bool",))

# name: ((kind of each attribute by name, ascending), number of operands or None for one or more)
FORMS = {
    "where": ({}, 3),
    "logical_not": ({}, 1),
    "cast": ({"dtype": "dtype"}, 1),
    "pow_int": ({"exponent": "integer"}, 1),
    "dropout": ({"rate": "real", "stream": "integer"}, 2),
    "reshape": ({"shape": "list"}, 1),
    "transpose": ({"permutation": "list"}, 1),
    "broadcast_to": ({"shape": "list"}, 1),
    "slice": ({"begin": "list", "end": "list"}, 1),
    "stop_gradient": ({}, 1),
    "fill": ({"dtype": "dtype", "shape": "list", "value": "real"}, 0),
    "iota": ({"dtype": "dtype", "n": "integer"}, 0),
    "concat": ({"axis": "integer"}, None),
    "pad": ({"after": "list", "before": "list"}, 1),
    "gather": ({"axis": "integer"}, 2),
    "scatter_add": ({"axis": "integer", "size": "integer"}, 2),
    "one_hot": ({"depth": "integer", "dtype": "dtype"}, 1),
    "slice_step": ({"begin": "list", "size": "list", "step": "list"}, 1),
    "take_along": ({"axis": "integer"}, 2),
    "scatter_along": ({"axis": "integer", "mode": "integer"}, 3),
    "sort": ({"descending": "bool"}, 1),
    "topk": ({"k": "integer", "largest": "bool"}, 1),
    "searchsorted": ({"right": "bool"}, 2),
    "sum": ({"axes": "list"}, 1),
    "mean": ({"axes": "list"}, 1),
    "prod": ({"axes": "list"}, 1),
    "max": ({"axes": "list"}, 1),
    "min": ({"axes": "list"}, 1),
    "argmax": ({"axis": "integer"}, 1),
    "softmax": ({}, 1),
    "softmax_grad": ({}, 2),
    "cross_entropy": ({}, 2),
    "layer_norm": ({"eps": "real"}, 3),
    "layer_norm_grad": ({"eps": "real"}, 3),
    "layer_norm_backward": ({"eps": "real"}, 3),
    "rms_norm": ({"eps": "real"}, 2),
    "rms_norm_grad": ({"eps": "real"}, 3),
    "matmul": ({}, 2),
    "cholesky": ({"tolerance": "real"}, 1),
    "triangular_solve": ({"transposed": "bool", "upper": "bool"}, 2),
    "uniform": ({"dtype": "dtype", "high": "real", "low": "real", "shape": "list", "stream": "integer"}, 1),
    "normal": ({"deviation": "real", "dtype": "dtype", "mean": "real", "shape": "list", "stream": "integer"}, 1),
    "lion": ({"beta1": "real", "beta2": "real", "weight_decay": "real"}, 4),
    "adagrad": ({"eps": "real", "weight_decay": "real"}, 4),
    "sgd": ({"momentum": "real", "nesterov": "bool", "weight_decay": "real"}, 4),
    "adamw": ({"beta1": "real", "beta2": "real", "eps": "real", "weight_decay": "real"}, 7),
}
for _name in UNARY:
    FORMS[_name] = ({}, 1)
for _name in itertools.chain(BINARY, COMPARE):
    FORMS[_name] = ({}, 2)


def same(types, allowed):
    dtype = types[0][0]
    need(dtype in allowed and all(t[0] == dtype for t in types), "types of operands")
    return dtype


def axis_of(axis, rank):
    need(0 <= axis < rank, "axis outside the rank")
    return axis


def axes_of(axes, rank):
    need(all(0 <= a < rank for a in axes) and list(axes) == sorted(set(axes)), "axes")
    return axes


def rng_of(kind):
    need(kind[0] == "i64" and kind[1] in ((2,), (3,)), "rng is i64 [2] or [3]")


def stream_of(stream):
    need(0 <= stream < 1 << 32, "stream")


def infer(op, at, types):
    """[type of each result]; at: attributes as read."""
    if op not in FORMS:
        raise Unknown(op)
    found = infer_known(op, at, types)
    for _, shape in found:
        check_type(shape)
    return found


def infer_known(op, at, types):
    shapes = [t[1] for t in types]
    if op in UNARY:
        need(types[0][0] in UNARY[op], "type")
        return [types[0]]
    if op in BINARY:
        need(not op.endswith("_grad") or types[0] == types[1], "types of a derivative")
        return [(same(types, BINARY[op]), broadcast(shapes))]
    if op in COMPARE:
        same(types, COMPARE[op])
        return [("bool", broadcast(shapes))]
    return INFER[op](at, types, shapes)


def infer_where(at, types, shapes):
    need(types[0][0] == "bool", "condition")
    return [(same(types[1:], ALL), broadcast(shapes))]


def infer_dropout(at, types, shapes):
    need(types[0][0] in REALS, "type")
    rng_of(types[1])
    stream_of(at["stream"])
    need(0 <= at["rate"] < 1, "rate")
    return [types[0]]


def infer_reshape(at, types, shapes):
    shape = tuple(at["shape"])
    need(all(n >= 0 for n in shape) and count(shape) == count(shapes[0]), "reshape")
    return [(types[0][0], shape)]


def infer_transpose(at, types, shapes):
    p = at["permutation"]
    need(sorted(p) == list(range(len(shapes[0]))), "permutation")
    return [(types[0][0], tuple(shapes[0][i] for i in p))]


def infer_broadcast_to(at, types, shapes):
    shape = tuple(at["shape"])
    need(all(n >= 0 for n in shape) and len(shape) >= len(shapes[0]) and broadcast([shapes[0], shape]) == shape,
         "broadcast_to")
    return [(types[0][0], shape)]


def infer_slice(at, types, shapes):
    begin, end, shape = at["begin"], at["end"], shapes[0]
    need(len(begin) == len(end) == len(shape), "slice's rank")
    need(all(0 <= b <= e <= n for b, e, n in zip(begin, end, shape)), "slice's bounds")
    return [(types[0][0], tuple(e - b for b, e in zip(begin, end)))]


def infer_fill(at, types, shapes):
    need(all(n >= 0 for n in at["shape"]), "shape")
    return [(at["dtype"], tuple(at["shape"]))]


def infer_iota(at, types, shapes):
    need(at["n"] >= 0 and at["dtype"] in ORDERED, "iota")
    return [(at["dtype"], (at["n"],))]


def infer_concat(at, types, shapes):
    dtype = same(types, ALL)
    axis = axis_of(at["axis"], len(shapes[0]))
    rest = [s[:axis] + s[axis + 1 :] for s in shapes]
    need(all(len(s) == len(shapes[0]) for s in shapes) and all(r == rest[0] for r in rest), "concat's shapes")
    return [(dtype, shapes[0][:axis] + (sum(s[axis] for s in shapes),) + shapes[0][axis + 1 :])]


def infer_pad(at, types, shapes):
    before, after, shape = at["before"], at["after"], shapes[0]
    need(len(before) == len(after) == len(shape) and all(n >= 0 for n in itertools.chain(before, after)), "pad")
    return [(types[0][0], tuple(b + n + a for b, n, a in zip(before, shape, after)))]


def infer_gather(at, types, shapes):
    need(types[1][0] in INTEGERS, "index")
    axis = axis_of(at["axis"], len(shapes[0]))
    return [(types[0][0], shapes[0][:axis] + shapes[1] + shapes[0][axis + 1 :])]


def infer_scatter_add(at, types, shapes):
    need(types[1][0] in INTEGERS and types[0][0] in REALS, "types of scatter_add")
    axis, rank = at["axis"], len(shapes[1])
    need(0 <= axis <= len(shapes[0]) - rank and at["size"] >= 0, "scatter_add")
    need(shapes[0][axis : axis + rank] == shapes[1], "scatter_add's indices")
    return [(types[0][0], shapes[0][:axis] + (at["size"],) + shapes[0][axis + rank :])]


def infer_one_hot(at, types, shapes):
    need(types[0][0] in INTEGERS and at["dtype"] in REALS and at["depth"] >= 0, "one_hot")
    return [(at["dtype"], shapes[0] + (at["depth"],))]


def infer_slice_step(at, types, shapes):
    begin, size, step, shape = at["begin"], at["size"], at["step"], shapes[0]
    need(len(begin) == len(size) == len(step) == len(shape), "slice_step's rank")
    for b, m, s, n in zip(begin, size, step, shape):
        need(s != 0 and 0 <= m <= n, "slice_step")
        need(m == 0 or (0 <= b < n and 0 <= b + (m - 1) * s < n), "slice_step's places")
    return [(types[0][0], tuple(size))]


def along(at, types, shapes):
    axis = axis_of(at["axis"], len(shapes[0]))
    need(types[1][0] in INTEGERS and len(shapes[0]) == len(shapes[1]), "index")
    need(all(i == axis or a == b for i, (a, b) in enumerate(zip(*shapes[:2]))), "index along an axis")


def infer_take_along(at, types, shapes):
    along(at, types, shapes)
    return [(types[0][0], shapes[1])]


def infer_scatter_along(at, types, shapes):
    along(at, types, shapes)
    need(types[2] == (types[0][0], shapes[1]) and 0 <= at["mode"] <= 4, "scatter_along")
    need(at["mode"] == 0 or types[0][0] in NUMBERS, "scatter_along of numbers")
    return [types[0]]


def infer_sort(at, types, shapes):
    need(types[0][0] in NUMBERS and shapes[0] != (), "sort")
    return [types[0], ("i64", shapes[0])]


def infer_topk(at, types, shapes):
    need(types[0][0] in NUMBERS and shapes[0] != () and 0 <= at["k"] <= shapes[0][-1], "topk")
    shape = shapes[0][:-1] + (at["k"],)
    return [(types[0][0], shape), ("i64", shape)]


def infer_searchsorted(at, types, shapes):
    line, x = shapes
    need(types[0][0] in NUMBERS and types[0][0] == types[1][0] and line != (), "searchsorted")
    need(len(line) == 1 or (len(line) == len(x) and line[:-1] == x[:-1]), "searchsorted's lines")
    return [("i64", x)]


def reduced(shape, axes):
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def infer_reduction(allowed, empty):
    def infer_one(at, types, shapes):
        need(types[0][0] in allowed, "type")
        out = reduced(shapes[0], axes_of(at["axes"], len(shapes[0])))
        need(empty or count(out) == 0 or count(shapes[0]) > 0, "a maximum of no elements")
        return [(types[0][0], out)]

    return infer_one


def infer_argmax(at, types, shapes):
    axis = axis_of(at["axis"], len(shapes[0]))
    need(types[0][0] in NUMBERS and shapes[0][axis] > 0, "argmax")
    return [("i64", reduced(shapes[0], (axis,)))]


def rows(types):
    need(types[0][0] in REALS and types[0][1] and types[0][1][-1] > 0, "rows")


def infer_softmax(at, types, shapes):
    rows(types)
    return [types[0]]


def infer_cross_entropy(at, types, shapes):
    rows(types)
    need(types[1] == ("i64", shapes[0][:-1]), "labels")
    return [(types[0][0], shapes[0][:-1])]


def infer_softmax_grad(at, types, shapes):
    need(types[0] == types[1] and types[0][0] in REALS and shapes[0] != (), "types")
    return [types[0]]


def infer_layer_norm(at, types, shapes):
    rows(types)
    need(same(types, REALS) and shapes[1] == shapes[2] == shapes[0][-1:] and 0 <= at["eps"] < 1e30, "layer_norm")
    return [types[0]]


def infer_layer_norm_grad(at, types, shapes):
    rows(types)
    need(same(types, REALS) and shapes[0] == shapes[1] and shapes[2] == shapes[0][-1:], "layer_norm_grad")
    need(0 <= at["eps"] < 1e30, "layer_norm_grad")
    return [types[0]]


def infer_rms_norm(at, types, shapes):
    rows(types)
    need(same(types, REALS) and shapes[1] == shapes[0][-1:] and 0 <= at["eps"] < 1e30, "rms_norm")
    return [types[0]]


def infer_lanes(results):
    """dx, then the lanes of 7.5 for each sum over the rows."""
    def infer(at, types, shapes):
        found = infer_layer_norm_grad(at, types, shapes)
        n, count = shapes[0][-1], math.prod(shapes[0][:-1])
        return found + [(types[0][0], (max(1, -(-count // 4096)), min(count, 64), n))] * (results - 1)

    return infer


def infer_matmul(at, types, shapes):
    found = {t[0] for t in types}
    need(found <= {"f32", "bf16"} or found == {"f64"}, "types of operands")
    dtype = "f64" if found == {"f64"} else "f32"
    a, b = shapes
    need(len(a) >= 2 and len(b) >= 2 and a[-1] == b[-2], "matmul")
    return [(dtype, broadcast([a[:-2], b[:-2]]) + (a[-2], b[-1]))]


def infer_cholesky(at, types, shapes):
    dtype = same(types, REALS)
    need(len(shapes[0]) == 2 and shapes[0][0] == shapes[0][1], "cholesky")
    need(0 <= rounded(at["tolerance"], dtype) < 1, "cholesky")
    return [types[0]]


def infer_triangular_solve(at, types, shapes):
    same(types, REALS)
    a, b = shapes
    need(len(a) == len(b) == 2 and a[0] == a[1] == b[0], "triangular_solve")
    return [types[1]]


def infer_random(at, types, shapes):
    rng_of(types[0])
    stream_of(at["stream"])
    need(at["dtype"] in REALS and all(n >= 0 for n in at["shape"]), "random")
    if "low" in at:
        need(at["low"] <= at["high"] and math.isfinite(at["high"] - at["low"]), "uniform")
    else:
        need(math.isfinite(at["mean"]) and 0 <= at["deviation"] < math.inf, "normal")
    return [(at["dtype"], tuple(at["shape"]))]


def infer_optimizer(tensors):
    def infer_one(at, types, shapes):
        dtype = same(types, REALS)
        need(all(s == shapes[0] for s in shapes[:tensors]) and all(s == () for s in shapes[tensors:]), "optimizer")
        for name, value in at.items():
            if name != "nesterov":
                need(0 <= rounded(value, dtype) <= (1 if name.startswith("beta") else MOST), name)
        return [(dtype, shapes[0])] * (tensors - 1)

    return infer_one


INFER = {
    "where": infer_where,
    "logical_not": lambda at, types, shapes: [("bool", shapes[0])] if types[0][0] == "bool" else need(False, "type"),
    "cast": lambda at, types, shapes: [(at["dtype"], shapes[0])],
    "pow_int": lambda at, types, shapes: [types[0]] if types[0][0] in REALS else need(False, "type"),
    "dropout": infer_dropout,
    "reshape": infer_reshape,
    "transpose": infer_transpose,
    "broadcast_to": infer_broadcast_to,
    "slice": infer_slice,
    "stop_gradient": lambda at, types, shapes: [types[0]],
    "fill": infer_fill,
    "iota": infer_iota,
    "concat": infer_concat,
    "pad": infer_pad,
    "gather": infer_gather,
    "scatter_add": infer_scatter_add,
    "one_hot": infer_one_hot,
    "slice_step": infer_slice_step,
    "take_along": infer_take_along,
    "scatter_along": infer_scatter_along,
    "sort": infer_sort,
    "topk": infer_topk,
    "searchsorted": infer_searchsorted,
    "sum": infer_reduction(NUMBERS, True),
    "prod": infer_reduction(NUMBERS, True),
    "mean": infer_reduction(REALS, True),
    "max": infer_reduction(NUMBERS, False),
    "min": infer_reduction(NUMBERS, False),
    "argmax": infer_argmax,
    "softmax": infer_softmax,
    "softmax_grad": infer_softmax_grad,
    "cross_entropy": infer_cross_entropy,
    "layer_norm": infer_layer_norm,
    "layer_norm_grad": infer_layer_norm_grad,
    "layer_norm_backward": infer_lanes(3),
    "rms_norm": infer_rms_norm,
    "rms_norm_grad": infer_lanes(2),
    "matmul": infer_matmul,
    "cholesky": infer_cholesky,
    "triangular_solve": infer_triangular_solve,
    "uniform": infer_random,
    "normal": infer_random,
    "sgd": infer_optimizer(3),
    "lion": infer_optimizer(3),
    "adagrad": infer_optimizer(3),
    "adamw": infer_optimizer(4),
}
