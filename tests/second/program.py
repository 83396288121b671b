# SPDX-License-Identifier: Apache-2.0
"""FORMAT 9 in Python: a program's text read strictly and written again, its functions in their one order, their
digests.

In memory a region holds functions, not numbers; numbers are found when a text is written, so order and merging by
bytes are the walk of FORMAT 9 and nothing else."""
import hashlib
import json
import re

import op_types
from ieee import WIDTH, read_real, real_text
from op_types import Refused, Unknown, need
from prices import prices, program_prices
from region_types import LIMIT, REGIONS, functions_of, region_types


class Instruction:
    def __init__(self, op, at, ins, outs):
        self.op, self.at, self.ins, self.outs = op, at, ins, outs


class Body:
    """What functions and programs have in common: values with types, instructions."""

    def __init__(self):
        self.types, self.instructions = [], []

    def append(self, op, at, ins):
        """Appends an instruction; its results."""
        types = [self.types[i] for i in ins]
        found = region_types(op, at, types) if op in REGIONS else op_types.infer(op, at, types)
        need(len(self.types) + len(found) <= 1 << 24, "more than 2^24 values")
        outs = list(range(len(self.types), len(self.types) + len(found)))
        self.types += found
        self.instructions.append(Instruction(op, at, list(ins), outs))
        return outs


class Function(Body):
    """Parameters are its first values."""

    def __init__(self, parameters):
        super().__init__()
        self.types = list(parameters)
        self.parameters, self.outputs = len(parameters), []

    def result_types(self):
        return [self.types[o] for o in self.outputs]

    def finish(self, outputs):
        need(len(set(outputs)) == len(outputs), "an output twice")
        need(all(o >= self.parameters for o in outputs), "a parameter as output")
        self.outputs = list(outputs)
        self.depth = 1 + max((f.depth for f in executed(self)), default=0)
        need(self.depth <= 32, "calls deeper than 32")
        self.digest = hashlib.sha256(text_of(function_json(self, lambda f: f.digest)).encode()).hexdigest()
        self.prices = prices(self, self.parameters, self.outputs)
        need(self.prices[0] <= LIMIT, "X above 2^40")
        return self


class Program(Body):
    def __init__(self):
        super().__init__()
        self.inputs, self.outputs = [], []  # (value, kind, name), (kind, name, value)

    def add_input(self, kind, name, dtype, shape):
        self.inputs.append((len(self.types), kind, name))
        self.types.append((dtype, tuple(shape)))
        return len(self.types) - 1


def executed(body):
    return [f for i in body.instructions for f in functions_of(i)]


def text_of(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def whole(n):
    return n if abs(n) <= (1 << 53) - 1 else str(n)


def instruction_json(i, name):
    kinds = REGIONS.get(i.op) or op_types.FORMS[i.op][0]
    at = {}
    for key, kind in kinds.items():
        v = i.at[key]
        at[key] = (name(v) if kind == "function" else [name(f) for f in v] if kind == "functions" else
                   real_text(v) if kind == "real" else whole(v) if kind == "integer" else
                   [whole(n) for n in v] if kind == "list" else v)
    return [i.op, at, i.ins, i.outs]


def type_json(kind):
    return [kind[0], list(kind[1])]


def function_json(f, name):
    return {"instructions": [instruction_json(i, name) for i in f.instructions], "outputs": f.outputs,
            "parameters": [type_json(t) for t in f.types[: f.parameters]]}


def ordered(program):
    """The functions in their one order, and the number of each by its digest."""
    found, number = [], {}

    def walk(body):
        for i in body.instructions:
            for f in functions_of(i):
                if f.digest not in number:
                    walk(f)
                    number[f.digest] = len(found)
                    found.append(f)

    walk(program)
    return found, number


def write(program):
    functions, number = ordered(program)
    name = lambda f: number[f.digest]
    whole_text = {"contract": 1,
                  "inputs": [[v, kind, n, *type_json(program.types[v])] for v, kind, n in program.inputs],
                  "instructions": [instruction_json(i, name) for i in program.instructions],
                  "outputs": [[kind, n, v] for kind, n, v in program.outputs]}
    if functions:
        need(len(functions) <= 4096, "more than 4,096 functions")
        whole_text["functions"] = [function_json(f, name) for f in functions]
    return text_of(whole_text)


def is_integer(v):
    return isinstance(v, int) and not isinstance(v, bool)


def read_integer(v):
    if is_integer(v):
        return v
    need(isinstance(v, str) and v.lstrip("-").isdigit() and abs(int(v)) > (1 << 53) - 1 and str(int(v)) == v
         and -(1 << 63) <= int(v) < 1 << 63, "integer")
    return int(v)


def read_attribute(kind, v, functions):
    if kind == "integer":
        return read_integer(v)
    if kind == "bool":
        need(isinstance(v, bool), "bool")
        return v
    if kind == "real":
        x = read_real(v) if isinstance(v, str) else None
        need(x is not None, "real")
        return x
    if kind == "dtype":
        need(isinstance(v, str) and v in WIDTH, "dtype")
        return v
    if kind == "function":
        need(is_integer(v) and 0 <= v < len(functions), "a function of no or a later number")
        return functions[v]
    need(isinstance(v, list), "list")
    if kind == "modes":
        need(all(m in ("tree", "stack", "concat") for m in v), "combine")
        return v
    if kind == "functions":
        return [read_attribute("function", n, functions) for n in v]
    return [read_integer(n) for n in v]


def read_instruction(body, entry, functions):
    need(isinstance(entry, list) and len(entry) == 4, "an instruction")
    op, at, ins, outs = entry
    need([type(v) for v in entry] == [str, dict, list, list], "an instruction")
    if op in REGIONS:
        kinds, operands = REGIONS[op], len(ins)
    elif op in op_types.FORMS:
        kinds, operands = op_types.FORMS[op]
        operands = max(1, len(ins)) if operands is None else operands
    else:
        raise Unknown(op)
    need(set(at) == set(kinds), "attributes of %s" % op)
    need(len(ins) == operands and all(is_integer(v) and 0 <= v < len(body.types) for v in ins), "operands of %s" % op)
    found = {key: read_attribute(kind, at[key], functions) for key, kind in kinds.items()}
    need(body.append(op, found, ins) == outs, "results of %s" % op)


def read_type(dtype, shape):
    need(isinstance(dtype, str) and dtype in WIDTH and isinstance(shape, list)
         and all(is_integer(n) and n >= 0 for n in shape), "type")
    op_types.check_type(shape)
    return dtype, tuple(shape)


def read_function(entry, functions):
    need(isinstance(entry, dict) and set(entry) == {"instructions", "outputs", "parameters"}, "keys of a function")
    need(all(isinstance(v, list) for v in entry.values()), "a function")
    need(all(isinstance(p, list) and len(p) == 2 for p in entry["parameters"]), "parameters")
    f = Function([read_type(*p) for p in entry["parameters"]])
    for instruction in entry["instructions"]:
        read_instruction(f, instruction, functions)
    need(all(is_integer(o) and 0 <= o < len(f.types) for o in entry["outputs"]), "outputs of a function")
    return f.finish(entry["outputs"])


def is_name(name):
    return isinstance(name, str) and re.fullmatch("[A-Za-z0-9._-]{1,95}", name) is not None


KEYS = {"contract", "functions", "inputs", "instructions", "outputs"}


def read_program(entry):
    need(isinstance(entry, dict) and set(entry) | {"functions"} == KEYS, "keys of a program")
    need(entry["contract"] == 1, "contract")
    need(all(isinstance(v, list) for k, v in entry.items() if k != "contract"), "lists")
    need(entry.get("functions", [1]) != [] and len(entry.get("functions", [])) <= 4096, "number of functions")
    functions, p = [], Program()
    for f in entry.get("functions", []):
        functions.append(read_function(f, functions))
    inputs = list(entry["inputs"])
    need(all(isinstance(i, list) and len(i) == 5 for i in inputs), "inputs")

    def take_inputs():
        while inputs and inputs[0][0] == len(p.types):
            _, kind, name, dtype, shape = inputs.pop(0)
            need(kind in ("state", "data", "feed") and is_name(name), "an input")
            need((kind, name) not in [i[1:] for i in p.inputs], "an input twice")
            p.add_input(kind, name, *read_type(dtype, shape))

    take_inputs()
    for instruction in entry["instructions"]:
        read_instruction(p, instruction, functions)
        take_inputs()
    need(not inputs, "an input of another number")
    for output in entry["outputs"]:
        need(isinstance(output, list) and len(output) == 3, "an output")
        kind, name, value = output
        need(kind in ("state", "result") and is_name(name), "an output")
        need(is_integer(value) and 0 <= value < len(p.types), "an output's value")
        need((kind, name) not in [o[:2] for o in p.outputs], "an output twice")
        need(kind == "result" or ("state", name, p.types[value]) in [(k, n, p.types[v]) for v, k, n in p.inputs],
             "an output of no state")
        p.outputs.append((kind, name, value))
    total = len(p.types) + sum(len(f.types) for f in functions)
    need(total <= 1 << 24, "more than 2^24 values")
    p.prices = program_prices(p)
    need(p.prices[0] <= LIMIT, "X above 2^40")
    return p


def unique(members):
    found = dict(members)
    need(len(found) == len(members), "a key twice")
    return found


def parsed(text):
    try:
        return json.loads(text, object_pairs_hook=unique, parse_float=lambda _: need(False, "a real as a number"),
                          parse_constant=lambda _: need(False, "no JSON"))
    except (ValueError, RecursionError) as error:
        raise Refused(str(error)) from error


def read(text):
    p = read_program(parsed(text))
    need(write(p) == text, "not the one text of this program")  # spelling, and the order of functions
    return p
