# SPDX-License-Identifier: Apache-2.0
"""Random programs with regions in regions, of all types that gradients pass and some that they do not, of operands
given twice and values that nobody uses: more than second_cases makes. A pure function of the seed."""
import random

from op_types import Refused, count
from program import Function, Program

SHAPES = [(), (3,), (2, 3), (1, 3), (2, 1), (2, 2), (3, 2)]
UNARY = ["neg", "exp", "tanh", "sigmoid", "relu", "abs", "silu", "gelu", "sqrt", "expm1", "stop_gradient"]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "matmul", "add", "mul"]
MODES = ["tree", "stack", "concat"]


class Maker:
    def __init__(self, seed):
        self.draw = random.Random(seed)

    def pick(self, body, wanted=lambda kind: True):
        """A value, mostly a late one; None where there is none."""
        found = [v for v, kind in enumerate(body.types) if wanted(kind)]
        if not found:
            return None
        return self.draw.choice(found if self.draw.random() < 0.4 else found[-4:])

    def fill(self, body, dtype, shape):
        value = self.draw.choice([0.5, 1.0, -2.0, 0.0])
        return body.append("fill", {"dtype": dtype, "shape": list(shape), "value": value}, [])[0]

    def operation(self, body):
        draw, x = self.draw, self.pick(body)
        dtype, shape = body.types[x]
        kind = draw.randrange(13)
        rank = len(shape)
        if kind < 3:
            body.append(draw.choice(UNARY), {}, [x])
        elif kind < 7:
            body.append(draw.choice(BINARY), {}, [x, self.pick(body, lambda k: k[0] == dtype)])
        elif kind == 7:
            axes = [a for a in range(rank) if draw.random() < 0.6]
            body.append(draw.choice(["sum", "mean", "max"]), {"axes": axes}, [x])
        elif kind == 8:
            made = [("reshape", {"shape": [1] + list(shape)}), ("reshape", {"shape": [count(shape)]}),
                    ("transpose", {"permutation": list(range(rank))[::-1]}),
                    ("broadcast_to", {"shape": [2] + list(shape)})]
            body.append(*draw.choice(made), [x])
        elif kind == 9:
            made = [("slice", {"begin": [min(1, n) for n in shape], "end": list(shape)}),
                    ("pad", {key: [draw.randrange(2) for _ in shape] for key in ("after", "before")})]
            body.append(*draw.choice(made), [x])
        elif kind == 10:
            body.append("cast", {"dtype": draw.choice(["f32", "f32", "f64", "bf16", "i64"])}, [x])
        elif kind == 11:
            c = body.append("gt", {}, [x, x if draw.random() < 0.2 else self.fill(body, dtype, ())])[0]
            body.append("where", {}, [c, x, self.pick(body, lambda k: k == (dtype, shape))])
        elif rank and shape[0] > 1:
            index = body.append("fill", {"dtype": "i64", "shape": [2], "value": 1.0}, [])[0]
            body.append("gather", {"axis": 0}, [x, index])

    def grow(self, body, instructions, depth):
        for _ in range(instructions):
            try:
                if depth and self.draw.random() < 0.3:
                    self.region(body, depth - 1)
                else:
                    self.operation(body)
            except Refused:
                pass

    def args(self, body, n):
        found = [self.pick(body) for _ in range(n)]
        if n > 1 and self.draw.random() < 0.4:
            found[-1] = found[0]
        return found

    def computed(self, f, kind, taken):
        """A value of f of that type that may be an output; made where there is none."""
        found = [v for v in range(f.parameters, len(f.types)) if f.types[v] == kind and v not in taken]
        if found and self.draw.random() < 0.9:
            return self.draw.choice(found[-3:])
        same = [v for v in range(f.parameters) if f.types[v] == kind]
        if same:
            return f.append("reshape", {"shape": list(kind[1])}, [self.draw.choice(same)])[0]
        return self.fill(f, *kind)

    def function(self, parameters, first, depth, more=2):
        """Outputs of the types in `first`, then up to `more` of any."""
        f = Function(parameters)
        self.grow(f, self.draw.randrange(2, 7), depth)
        outputs = []
        for kind in first:
            outputs.append(self.computed(f, kind, outputs))
        for v in range(f.parameters, len(f.types)):
            if v not in outputs and len(outputs) < len(first) + more and self.draw.random() < 0.4:
                outputs.append(v)
        if not outputs:
            outputs.append(self.fill(f, "f32", (3,)))
        return f.finish(outputs)

    def region(self, body, depth):
        self.draw.choice([self.call, self.scan, self.cond, self.map])(body, depth)

    def call(self, body, depth):
        args = self.args(body, self.draw.randrange(1, 4))
        f = self.function([body.types[v] for v in args], [], depth)
        body.append("call", {"function": f}, args)
        if self.draw.random() < 0.3:
            body.append("call", {"function": f}, args)

    def scan(self, body, depth):
        times = self.draw.choice([0, 1, 2, 3])
        carried, shared = self.args(body, self.draw.randrange(3)), self.args(body, self.draw.randrange(3))
        rows = [body.append("broadcast_to", {"shape": [times] + list(body.types[v][1])}, [v])[0]
                for v in self.args(body, self.draw.randrange(3))]
        rows += rows[:1] if self.draw.random() < 0.3 else []
        first = [body.types[v] for v in carried]
        kinds = [("i64", ())] + first + [(body.types[v][0], body.types[v][1][1:]) for v in rows]
        f = self.function(kinds + [body.types[v] for v in shared], first, depth)
        at = {"carried": len(carried), "function": f, "history": self.draw.random() < 0.4,
              "reverse": self.draw.random() < 0.5, "sliced": len(rows), "times": times}
        body.append("scan", at, carried + rows + shared)

    def cond(self, body, depth):
        args = self.args(body, self.draw.randrange(1, 4))
        kinds = [body.types[v] for v in args]
        f = self.function(kinds, [], depth)
        fs = [f] + [self.function(kinds, f.result_types(), depth, more=0) for _ in range(self.draw.choice([1, 1, 2]))]
        dtype = "bool" if len(fs) == 2 and self.draw.random() < 0.5 else "i64"
        selector = body.append("fill", {"dtype": dtype, "shape": [], "value": float(self.draw.randrange(2))}, [])[0]
        body.append("cond", {"functions": fs}, [selector] + args)

    def map(self, body, depth):
        """Shards of one length, some of them empty."""
        length, first = self.draw.choice([1, 2]), self.draw.choice([0, 0, 3])
        cuts = [self.draw.randrange(2)]
        for _ in range(self.draw.randrange(1, 5)):
            cuts.append(cuts[-1] + self.draw.choice([0, length, length]))
        cuts.append(cuts[-1] + length)
        total = cuts[-1] + self.draw.randrange(2)
        sliced = [body.append("broadcast_to", {"shape": [total] + list(body.types[v][1])}, [v])[0]
                  for v in self.args(body, self.draw.randrange(1, 3))]
        shared = self.args(body, self.draw.randrange(3))
        kinds = [("i64", ())] + [(body.types[v][0], (length,) + body.types[v][1][1:]) for v in sliced]
        f = self.function(kinds + [body.types[v] for v in shared], [], depth, more=3)
        combine = [self.draw.choice(MODES if kind[1][:1] == (length,) else MODES[:2]) for kind in f.result_types()]
        body.append("map", {"combine": combine, "cuts": cuts, "first": first, "functions": [f], "sliced": len(sliced)},
                    sliced + shared)

    def program(self):
        """(program, the values to differentiate, by which values, their seeds): seeds are inputs."""
        p = Program()
        for n in range(self.draw.randrange(2, 5)):
            kind, dtype = self.draw.choice(["feed", "data", "state"]), self.draw.choice(["f32", "f32", "f64", "bf16"])
            p.add_input(kind, "x%d" % n, dtype, self.draw.choice(SHAPES))
        by = list(range(len(p.types)))
        self.grow(p, self.draw.randrange(4, 10), 2)
        found = [v for v in range(len(by), len(p.types)) if p.types[v][0] in ("f32", "f64")]
        found = found or p.append("cast", {"dtype": "f32"}, [by[0]])
        self.draw.shuffle(found)
        of = sorted(found[: self.draw.randrange(1, 4)])
        seeds = [p.add_input("feed", "seed%d" % k, *p.types[v]) for k, v in enumerate(of)]
        return p, of, seeds, by
