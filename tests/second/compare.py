# SPDX-License-Identifier: Apache-2.0
"""The second implementation beside the library: what second_cases prints is made again here, from the texts alone
(determinism/CONTRACT.md, audit/FORMAT.md), and must be the same to the bit: programs, prices, values, gradients.

Usage: compare.py SECOND_CASES REPRISE SOURCE SEEDS CHANGES: random programs of each kind, changed texts; two archives.
Exit 0: all the same."""
import collections
import fractions
import itertools
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

import archive
import execute
import gradients
import mutants
import op_types
import op_values
import program
import random_bodies
import replay
from ieee import fma32, loaded, stored
from op_types import Refused, Unknown


class Differs(Exception):
    pass


def same(found, expected, what):
    if found != expected:
        raise Differs("%s: the second implementation has\n  %s\nthe library\n  %s" % (what, found, expected))


def cases(command, asked=None):
    """(name, [(word, rest)..]) of each case."""
    with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stdout:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "case":
                name, lines = rest, []
            elif word == "end":
                yield name, lines
            else:
                lines.append((word, rest))
        if process.wait() != 0:
            raise Differs("%s ended with %d" % (" ".join(command), process.returncode))


def numbers(text):
    return [int(n) for n in text.split()]


def given(p, lines):
    """Values of the inputs by (kind, name), of the outputs as hexadecimal."""
    types = {(kind, name): p.types[v] for v, kind, name in p.inputs}
    values, outputs = {}, {}
    for word, rest in lines:
        if word in ("given", "gives"):
            kind, name, data = rest.split(" ")
            if word == "given":
                values[kind, name] = loaded(bytes.fromhex(data), types[kind, name][0])
            else:
                outputs[kind, name] = data
    return values, outputs


def derived(lines):
    """The text that the lines' sweeps make of the program `before`."""
    p = program.read(dict(lines)["before"])
    made = {}
    for word, rest in lines:
        if word == "declare":
            kind, name, dtype, *shape = rest.split(" ")
            p.add_input(kind, name, dtype, [int(n) for n in shape])
        elif word in ("of", "seeds", "by"):
            made[word] = numbers(rest)
        elif word == "makes":
            grads = gradients.vjp(p, made["of"], made["seeds"], made["by"], zeros=True)
            same(grads, numbers(rest), "numbers of gradients")
        elif word == "result":
            name, k = rest.split(" ")
            gradients.output(p, "result", name, grads[int(k)])
    return program.write(p)


def check_region(name, lines, counts):
    words = dict(lines)
    if "before" in words:
        same(derived(lines), words["text"], "%s: derived text" % name)
        counts["derived texts"] += 1
    p = program.read(words["text"])
    same(p.prices, tuple(numbers(words["price"])), "%s: X W M" % name)
    values, outputs = given(p, lines)
    found = execute.run(p, values)
    types = {(kind, n): p.types[v] for kind, n, v in p.outputs}
    for key, expected in outputs.items():
        same(stored(found[key], types[key][0]).hex(), expected, "%s: %s %s" % (name, *key))
        counts["values"] += 1
    counts["programs"] += 1


def known_type(op, ins, types):
    """Of what is not known here but elementwise with one operand: its operand's."""
    one = ("sin", "cos", "exp2", "log2", "log10", "tan", "sinh", "cosh", "asin", "acos", "atan", "erfc", "rsqrt",
           "cbrt", "softplus", "leaky_relu", "elu", "hardtanh", "cumsum", "cumprod")
    return types.get(ins[0]) if op in one else None


def check_random(tool, seeds, counts):
    """Programs that were made here; the library makes them again call by call, differentiates and executes them."""
    made, wrong = [], []
    for seed in range(seeds):
        p, of, seeds_, by = random_bodies.Maker(seed).program()
        text = program.write(p)
        for k, grad in enumerate(gradients.vjp(p, of, seeds_, by, zeros=True)):
            gradients.output(p, "result", "g%d" % k, grad)
        made.append((text, of, by, seeds_, program.write(p)))
    with tempfile.TemporaryFile("w+") as asked:
        for text, *lists, _ in made:
            asked.write("\n".join([text] + [" ".join(map(str, numbers_)) for numbers_ in lists]) + "\n")
        asked.seek(0)
        for (name, lines), (*_, derived_text) in zip(cases([tool, "derive"], asked), made):
            try:
                same(derived_text, dict(lines).get("text", dict(lines).get("error")), "%s: derived text" % name)
                counts["derived texts"] += 1
                check_region(name, lines, counts)
            except (Differs, Refused, Unknown) as error:
                wrong.append("%s: %s: %s" % (name, type(error).__name__, error))
    return wrong


def check_flat(name, lines, counts):
    """Each instruction by itself, on the library's operands; of operations that are not known here nothing is asked."""
    words = dict(lines)
    entry = program.parsed(words["text"])
    outputs = {rest.split(" ")[1]: rest.split(" ")[2] for word, rest in lines if word == "gives"}
    given_as = {rest.split(" ")[1]: rest.split(" ")[2] for word, rest in lines if word == "given"}
    types, values = {}, {}
    for value, _, name_, dtype, shape in entry["inputs"]:
        types[value], values[value] = (dtype, tuple(shape)), loaded(bytes.fromhex(given_as[name_]), dtype)
    for op, at, ins, outs in entry["instructions"]:
        if op not in op_types.FORMS or any(v not in types for v in ins):
            counts["instructions not known"] += 1
            results = known_type(op, ins, types)
            for v in outs if results else []:
                types[v], values[v] = results, loaded(bytes.fromhex(outputs["v%d" % v]), results[0])
            continue
        kinds = op_types.FORMS[op][0]
        at = {key: program.read_attribute(kind, at[key], []) for key, kind in kinds.items()}
        operands = [types[v] for v in ins]
        results = op_types.infer(op, at, operands)
        found = op_values.compute(op, at, operands, [values[v] for v in ins], results)
        for v, x, kind in zip(outs, found, results):
            types[v], values[v] = kind, x
            if "v%d" % v in outputs:
                same(stored(x, kind[0]).hex(), outputs["v%d" % v], "%s: %s of %s" % (name, op, [operands, at]))
        counts["instructions"] += 1


def check_texts(tool, seeds, count, counts):
    texts = []
    for kind, order in (("call", 1), ("scan", 1), ("map", 1), ("cond", 1), ("while", 0)):
        for _, lines in cases([tool, kind, "0", str(seeds), str(order)]):
            texts.append(dict(lines)["text"])
    return mutants.compare(tool, list(mutants.all_of(texts, count, seed=1)), counts)


def check_archive(reprise, path):
    """Replays it, and compares prices and functions' digests with what `reprise inspect --programs` says."""
    steps, wrong = replay.replay(path)
    out = subprocess.run([reprise, "inspect", path, "--programs"], stdout=subprocess.PIPE, text=True, check=True).stdout
    said, found = [line for line in out.split("\n") if line.startswith(("program ", "function "))], []
    for name, data in sorted(archive.members(path).items()):
        if name.startswith("run/programs/"):
            p = program.read(data.decode())
            for what, body in [(name, p)] + [(f.digest, f) for f in program.ordered(p)[0]]:
                found.append((what, "X %d, W %d, M %d" % body.prices))
    for line, (what, price) in itertools.zip_longest(said, found, fillvalue=("", "")):
        if what not in line or not line.endswith(price):
            wrong.append("inspect says '%s', here it is %s, %s" % (line, what, price))
    print("%s: %d steps" % (path, steps))
    return wrong


def recorded(reprise, source, folder):
    """The golden archive, and one of 64 shards, one that ends early, two of treated columns, by gradients and fitted
    exactly, and one of dates, run here."""
    yield os.path.join(source, "golden", "small.reprise")
    for name in ("shards", "stopping", "treated", "treated_exact", "dates"):
        made = os.path.join(folder, name + ".reprise")
        recipe = os.path.join(source, "golden", "bits", name + ".yaml")
        subprocess.run([reprise, "run", recipe, "-o", made], stdout=subprocess.DEVNULL, check=True)
        yield made


def check_cases(tool, seeds, counts):
    wrong = []
    kinds = [("flat", 0)] + [(k, o) for k in ("call", "scan", "map", "cond") for o in (0, 1, 2)] + [("while", 0)]
    for kind, order in kinds:
        for name, lines in cases([tool, kind, "0", str(seeds), str(order)]):
            name = "%s, order %d" % (name, order)
            try:
                (check_flat if kind == "flat" else check_region)(name, lines, counts)
            except (Differs, Refused, Unknown) as error:
                wrong.append("%s: %s: %s" % (name, type(error).__name__, error))
    return wrong


def check_fma(count):
    """fma in binary32 where rounding twice would be wrong: the product lies halfway, the summand says to which side."""
    draw, wrong = random.Random(7), []
    for _ in range(count):
        a, b = (2 * draw.randrange(1 << n - 2, 1 << n - 1) + 1 for n in (12, 13))
        c = math.copysign(math.ldexp(1.0, -draw.randrange(20, 60)), draw.random() - 0.5)
        exact = fractions.Fraction(a * b) + fractions.Fraction(c)
        found = fma32(float(a), float(b), c)
        if any(abs(fractions.Fraction(n) - exact) < abs(fractions.Fraction(found) - exact) for n in neighbours(found)):
            wrong.append("fma of %d, %d and %s" % (a, b, c.hex()))
    return wrong


def neighbours(x):
    """The binary32 numbers beside x."""
    bits = struct.unpack("<i", struct.pack("<f", x))[0]
    return [struct.unpack("<f", struct.pack("<i", bits + n))[0] for n in (-1, 1)]


def main():
    tool, reprise, source, seeds, changes = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
    counts = collections.Counter()
    wrong = check_fma(2000) + check_cases(tool, seeds, counts) + check_random(tool, 10 * seeds, counts)
    wrong += check_texts(tool, max(2, seeds // 10), changes, counts)
    with tempfile.TemporaryDirectory() as folder:
        for path in recorded(reprise, source, folder):
            wrong += check_archive(reprise, path)
    for text in wrong:
        print(text)
    print(", ".join("%d %s" % (n, what) for what, n in counts.items()))
    print("%d differ" % len(wrong))
    return wrong != []


if __name__ == "__main__":
    sys.exit(main())
