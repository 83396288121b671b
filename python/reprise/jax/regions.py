# SPDX-License-Identifier: Apache-2.0
"""Primitives that hold functions: calls, scan, while, cond, functions with derivatives of their own; and threefry.

The constants of a region's function become operands of the region, as functions see nothing but their parameters."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..solvers import moved
from .graph import FLOATS, Graph, Type, to_json
from .lowering import COMPUTED, Lowering, Node, Value, handles, size


@handles("jit")
def call(n: Node) -> list[Value]:
    return n.g.run(n.need("jaxpr"), n.inputs)


def types(values: Sequence[Value]) -> list[Type]:
    return [(v.dtype, v.shape) for v in values]


def types_of(graph: Graph) -> list[Type]:
    """Of a graph's outputs."""
    all_ = [*graph.inputs, *(t for e in graph.equations for t in e.outputs)]
    return [all_[o] if isinstance(o, int) else (o.dtype, ()) for o in graph.outputs]


def results(n: Node, tensors: Sequence[Any]) -> list[Value]:
    return [Value(d, s, t, active=n.active and d in FLOATS) for (d, s), t in zip(n.e.outputs, tensors)]


@handles("scan")
def scan(n: Node) -> list[Value]:
    g, body = n.g, n.need("jaxpr")
    consts, carried = int(n.need("num_consts")), int(n.need("num_carry"))
    shared, begun, rows = n.inputs[:consts], n.inputs[consts:consts + carried], n.inputs[consts + carried:]
    times = int(n.need("length"))
    if not times and len(n.e.outputs) > carried:
        raise n.refuse("of no iterations that stacks results")
    constants = g.constants([body])
    keys = list(constants)
    one = [(d, s[1:]) for d, s in types(rows)]

    def frame(inner: Lowering, values: list[Value]) -> Sequence[Value]:
        c, x = carried, len(rows)
        return inner.run(body, [*values[c + x:], *values[:c], *values[c:c + x]])
    function = g.function([*types(begun), *one, *types(shared)], keys, n.active, True, frame)
    made = g.builder.scan(function, times, carried=[g.tensor(v) for v in begun], sliced=[g.tensor(v) for v in rows],
                          shared=[*(g.tensor(v) for v in shared), *constants.values()], reverse=bool(n.get("reverse", False)))
    return results(n, made)


def reached(graph: Graph, active: Sequence[bool]) -> list[bool]:
    """Through which outputs of a function a gradient may pass to the inputs that are active."""
    flags = list(active)
    for e in graph.equations:
        own = [isinstance(o, int) and flags[o] for o in e.inputs]
        inner = e.params.get("jaxpr")
        if e.primitive == "jit" and isinstance(inner, Graph):
            flags += reached(inner, own)
        else:
            flags += [any(own) and d in FLOATS and e.primitive != "stop_gradient" for d, _ in e.outputs]
    return [isinstance(o, int) and flags[o] for o in graph.outputs]


@handles("while")
def while_(n: Node) -> list[Value]:
    """Bounded by a limit of iterations; a step whose loop is not done by then is an error."""
    g, asked, body = n.g, n.need("cond_jaxpr"), n.need("body_jaxpr")
    a, b = int(n.need("cond_nconsts")), int(n.need("body_nconsts"))
    shared, begun = n.inputs[:a + b], n.inputs[a + b:]
    constants = g.constants([asked, body])
    keys, all_types = list(constants), [*types(begun), *types(shared)]
    c = len(begun)
    several = len(types_of(asked)[0][1])  # of loops, as vmap has them: until none goes on, those that are done stay

    def ask(inner: Lowering, v: list[Value]) -> list[Value]:
        return inner.run(asked, [*v[c:c + a], *v[:c]])

    def more(inner: Lowering, v: list[Value]) -> list[Value]:
        (asks,) = ask(inner, v)
        any_ = inner.reduce("max", inner.cast(inner.tensor(asks), "i32"), list(range(several)))
        return [asks if not several else Value("bool", (), inner.cast(any_, "bool"))]

    def moved(inner: Lowering, v: list[Value]) -> list[Value]:
        made = inner.run(body, [*v[c + a:], *v[:c]])
        if not several:
            return made
        (asks,) = ask(inner, v)

        def chosen(new: Value, old: Value) -> Value:
            where = inner.reshape(inner.tensor(asks), [*asks.shape, *[1] * (len(new.shape) - several)])
            return Value(new.dtype, new.shape, inner.where(inner.broadcast(where, new.shape), inner.tensor(new), inner.tensor(old)))
        return [chosen(x, y) for x, y in zip(made, v)]
    predicate = g.function(all_types, keys, False, True, more)
    frame = g.function(all_types, keys, False, True, moved)
    operands = [*(g.op("stop_gradient", g.tensor(v)) if v.active else g.tensor(v) for v in shared), *constants.values()]
    start = [g.op("stop_gradient", g.tensor(v)) if v.active else g.tensor(v) for v in begun]
    moving, before = [v.active for v in begun], [False]
    while n.active and moving != before:  # until going round once more reaches nothing else
        before = moving
        moving = [x or y for x, y in zip(moving, reached(body, [*(v.active for v in shared[a:]), *moving]))]
    if any(x and used for x, used in zip(moving, n.used)):
        raise n.refuse("a gradient through it, which jax does not give either; a loop of known length is a scan")
    count, *made = g.builder.while_(frame, predicate, g.iterations, carried=start, shared=operands)
    (left,) = g.builder.call(predicate, [count, *made, *operands])
    fail_if(n, g.cast(left, "i64"))
    return [Value(d, s, t) for (d, s), t in zip(n.e.outputs, made)]


@handles("cond")
def cond(n: Node) -> list[Value]:
    g, branches = n.g, n.need("branches")
    index, args = n.inputs[0], n.inputs[1:]
    last = len(branches) - 1
    if index.known is not None:
        return g.run(branches[min(max(int(index.known), 0), last)], args)
    if not last:
        return g.run(branches[0], args)
    constants = g.constants(branches)
    keys = list(constants)

    def chosen(body: Graph) -> Any:
        return g.function(types(args), keys, n.active, False, lambda inner, v: inner.run(body, v[:len(args)]))
    functions = [chosen(body) for body in branches]
    selector = g.clamp_index(g.cast(g.tensor(index), "i64"), last)
    if not n.e.outputs:
        return []
    return results(n, g.builder.cond(selector, functions, [*(g.tensor(v) for v in args), *constants.values()]))


@handles("platform_index")
def platform_index(n: Node) -> Value:
    """The branch for processors, or the one for all others: what jax on the CPU takes."""
    for i, names in enumerate(n.need("platforms")):
        if names is None or "cpu" in names:
            return Value("i32", (), known=np.asarray(i, np.int32))
    raise n.refuse("code that has no branch for processors")


# ---- derivatives of one's own ----

@handles("custom_derivative")
def custom_derivative(n: Node) -> list[Value]:
    """y = f(s) + L(s) (x - s) with s = stop_gradient(x), L the function's own derivative: the value is f's, the gradient L's.
    Where x is no finite number, which has no distance from itself, the gradient is 0."""
    g, function = n.g, n.need("function")
    reals = [i for i in n.need("reals") if n.inputs[i].active]
    if not reals or not any(d in FLOATS for d, _ in n.e.outputs):
        return [Value(v.dtype, v.shape, v.tensor, v.known) for v in g.run(function, n.inputs)]
    if n.params.get("refused"):
        raise n.refuse(f"{n.params.get('name')}: {n.params['refused']}")
    if is_relu(n):
        return [n.made(g.op("relu", n.computed(0)))]
    stopped = [Value(v.dtype, v.shape, g.op("stop_gradient", g.tensor(v))) if v.active else v for v in n.inputs]
    values = g.run(function, stopped)
    tangents = []
    for i in n.need("reals"):
        v, s = n.inputs[i], stopped[i]
        if not v.active:
            tangents.append(Value(v.dtype, v.shape, g.broadcast(g.fill(0, v.dtype), v.shape)))
            continue
        tangents.append(Value(v.dtype, v.shape, g.cast(moved(g, n.computed(i), g.cast(g.tensor(s), COMPUTED.get(v.dtype, v.dtype))), v.dtype),
                              active=True))
    dots = iter(g.run(n.need("derivative"), [*stopped, *tangents]))
    made = []
    for i, v in enumerate(values):
        dot = next(dots)
        made.append(n.made(joined(n, g.tensor(v), g.tensor(dot)), i) if v.dtype in FLOATS else v)
    return made


def at_rest(g: Lowering, x: Any, v: Value) -> Any:
    """x without its gradient, where v says that it has one."""
    return g.op("stop_gradient", x) if v.active else x


def joined(n: Node, value: Any, dot: Any) -> Any:
    """value + dot, where dot is 0 and has the gradient: as value - (0 - dot), which keeps a value of -0. An infinite derivative
    makes dot a NaN: that is an error of the step, in place of a value that is another than the function's."""
    g, kind = n.g, value.dtype
    wide = COMPUTED.get(kind, kind)
    value, dot = g.cast(value, wide), g.cast(dot, wide)
    spoilt = g.op("logical_and", g.op("ne", dot, dot), g.op("eq", value, value))
    if size(tuple(spoilt.shape)):
        fail_if(n, g.reduce("max", g.cast(spoilt, "i64"), list(range(len(spoilt.shape)))))
    return g.op("sub", value, g.op("sub", g.fill(0, dot.dtype), dot))


def fail_if(n: Node, bad: Any) -> None:
    """An error of the step unless bad, i64 [], is 0: there is one element to gather."""
    n.g.op("gather", n.g.op("iota", n=1, dtype="i64"), bad, axis=0)


ZERO = {"real": "0x0.0p+0"}


def is_relu(n: Node) -> bool:
    """Whether it is jax.nn.relu: max(x, 0), whose derivative is 1 where x > 0, else 0, as the operation's is."""
    derivative, f = n.need("derivative"), n.need("function")
    inner = f.equations[0].params.get("jaxpr") if len(f.equations) == 1 and f.equations[0].primitive == "jit" else f
    if n.params.get("name") != "relu" or n.dtype not in ("f32", "f16", "bf16") or not isinstance(inner, Graph):
        return False
    zero = [n.dtype, ZERO]
    relu = [["gt", {}, [0, zero]], ["broadcast_in_dim", None, [zero]], ["select_n", {}, [2, 3, 1]]]
    known = [[e[0], {} if e[0] != "broadcast_in_dim" else None, e[2]] for e in to_json(derivative, False)["equations"]]
    value = [[e[0], e[2]] for e in to_json(inner, False)["equations"]]
    return known == relu and value == [["max", [0, zero]]]


# ---- random bits ----

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@handles("threefry2x32")
def threefry(n: Node) -> list[Value]:
    """Twenty rounds of Salmon et al. (SC 2011), figure 2, as Random123 has them: add, rotate, xor; a key every four."""
    g = n.g
    k0, k1, x0, x1 = (n.tensor(i) for i in range(4))
    k2 = g.op("bitwise_xor", g.op("bitwise_xor", k0, k1), g.fill(0x1BD11BDA, "u32"))
    keys = (k0, k1, k2)
    x0, x1 = g.op("add", x0, k0), g.op("add", x1, k1)
    for step in range(5):
        for r in ROTATIONS[step % 2]:
            x0 = g.op("add", x0, x1)
            left = g.op("shift_left", x1, g.fill(r, "u32"))
            right = g.op("shift_right", x1, g.fill(32 - r, "u32"))
            x1 = g.op("bitwise_xor", x0, g.op("bitwise_or", left, right))
        x0 = g.op("add", x0, keys[(step + 1) % 3])
        x1 = g.op("add", x1, g.op("add", keys[(step + 2) % 3], g.fill(step + 1, "u32")))
    return [n.made(x0, 0), n.made(x1, 1)]


@handles("iota_2x32_shape")
def counters(n: Node) -> list[Value]:
    """The numbers 0, 1, .. of a shape's elements as two words each."""
    g, total = n.g, 1
    for k in n.shape:
        total *= k
    if total > 1 << 32:
        raise n.refuse(f"of {total} elements")
    low = g.reshape(g.op("iota", n=total, dtype="u32"), n.shape)
    return [Value("u32", n.shape, g.broadcast(g.fill(0, "u32"), n.shape)), Value("u32", n.shape, low)]
