# SPDX-License-Identifier: Apache-2.0
"""Reads PTX text as nvcc writes it: module variables, functions and entries, and in them registers, labels, scopes and
instructions. It knows the form only; what an instruction means, and whether it is allowed, is ptx2c.py's business."""
import dataclasses
import re


class Bad(Exception):
    """PTX that is not understood or not allowed; the text says what."""


@dataclasses.dataclass
class Variable:
    name: str
    space: str  # global, const, shared, local, param
    align: int
    size: int  # in bytes; 0: given at launch
    words: list = dataclasses.field(default_factory=list)
    word_type: str = "b8"


@dataclasses.dataclass
class Instruction:
    op: str
    operands: list
    guard: str = ""  # "p1" or "!p1"


@dataclasses.dataclass
class Function:
    name: str
    entry: bool
    params: list  # of Variable
    result: Variable | None
    threads: int = 0  # .maxntid, 0: none
    body: list = dataclasses.field(default_factory=list)  # ("label", name), ("open",), ("close",), Instruction, Variable, ("targets", name, labels)
    registers: dict = dataclasses.field(default_factory=dict)  # prefix -> type; a whole name without a number too
    counts: dict = dataclasses.field(default_factory=dict)  # prefix -> how many, None: a single register


def size_of(kind):
    return 1 if kind == "pred" else int(kind[1:]) // 8


BRACKET = re.compile(r"[{[(]")


def split_operands(text):
    """At the commas that stand in no bracket."""
    if not BRACKET.search(text):
        parts = [part.strip() for part in text.split(",")]
        return parts if parts[-1] else parts[:-1]
    parts, depth, part = [], 0, ""
    for char in text:
        depth += char in "{[("
        depth -= char in "}])"
        if char == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += char
    if part.strip():
        parts.append(part.strip())
    return parts


VARIABLE = re.compile(
    r"\s*(?:\.visible\s+|\.extern\s+|\.weak\s+)*\.(global|const|shared|local|param)\s+(?:\.attribute\([^)]*\)\s*)?"
    r"(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)\s*(\[\s*\d*\s*\])?\s*(?:=\s*(.*))?\s*$", re.S)


def variable(text):
    found = VARIABLE.match(text)
    if not found:
        raise Bad(f"a declaration that is not understood: {text.strip()[:80]}")
    space, align, kind, name, array, words = found.groups()
    count = 1 if array is None else int(array.strip("[] ") or 0)
    values = []
    if words is not None:
        values = [w.strip() for w in words.strip().strip("{}").split(",") if w.strip()]
        for word in values:
            if not re.match(r"-?\d+$|0[xX][0-9a-fA-F]+$|0f[0-9a-fA-F]{8}$|0d[0-9a-fA-F]{16}$", word):
                raise Bad(f"{name}: an initial value that is not a number: {word}")
    return Variable(name, space, int(align or size_of(kind)), count * size_of(kind), values, kind)


def registers(function, text):
    """.reg .b32 %r<9>; or .reg .b64 %SP;"""
    kind, names = re.match(r"\.reg\s+\.(\w+)\s+(.*)$", text, re.S).groups()
    for name in split_operands(names):
        many = re.match(r"%?(\w+)<(\d+)>$", name)
        prefix = many.group(1) if many else name.lstrip("%")
        function.registers[prefix] = kind
        function.counts[prefix] = int(many.group(2)) if many else None


DECLARED = re.compile(r"\.(local|shared|param)\b")
GUARD = re.compile(r"@(!?)%(\w+)\s+")


def statement(function, text):
    if text.startswith(".reg"):
        registers(function, text)
    elif DECLARED.match(text):
        function.body.append(variable(text))
    elif text.startswith((".pragma", ".loc", ".file")):
        return
    else:
        guard = GUARD.match(text)
        if guard:
            text = text[guard.end():]
        op, *rest = text.split(None, 1)
        function.body.append(Instruction(op, split_operands("".join(rest)), "".join(guard.groups()) if guard else ""))


SPACE = re.compile(r"\s*")
TARGETS = re.compile(r"([\w$]+)\s*:\s*\.branchtargets\s+([^;]*);")
LABEL = re.compile(r"([\w$]+)\s*:(?!:)")


def read_body(function, text):
    at = 0
    while True:
        at = SPACE.match(text, at).end()
        if at == len(text):
            return
        if text[at] in "{}":
            function.body.append(("open",) if text[at] == "{" else ("close",))
            at += 1
            continue
        targets = TARGETS.match(text, at)
        if targets:
            function.body.append(("targets", targets.group(1), split_operands(targets.group(2))))
            at = targets.end()
            continue
        label = LABEL.match(text, at)
        if label:
            function.body.append(("label", label.group(1)))
            at = label.end()
            continue
        end = text.index(";", at)
        statement(function, text[at:end].strip())
        at = end + 1


HEAD = re.compile(r"\s*(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(entry|func)\b\s*(?:\.noreturn\s*)?(\([^)]*\))?\s*([\w$]+)\s*"
                  r"(?:\(([^)]*)\))?", re.S)


BRACE = re.compile(r"[{}]")


def closing(text, at):
    """Where the brace that opens at `at` closes."""
    depth = 0
    for brace in BRACE.finditer(text, at):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.start()
    raise Bad("a brace that does not close")


def read_function(text, at, take):
    """The function that begins there, whose body `take` reads, and where it ends."""
    kind, result, name, params = HEAD.match(text, at).groups()
    end = HEAD.match(text, at).end()
    brace, semicolon = text.find("{", end), text.find(";", end)
    if brace < 0 or 0 <= semicolon < brace:  # declared before it is defined
        return None, semicolon + 1
    function = Function(name, kind == "entry", [variable(p) for p in split_operands(params or "")],
                        variable(result.strip("()")) if result and result.strip("() \t\n") else None)
    threads = re.search(r"\.(?:maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", text[end:brace])
    if threads:
        function.threads = 1
        for n in threads.groups():
            function.threads *= int(n or 1)
    close = closing(text, brace)
    take(function, text[brace + 1:close])
    return function, close + 1


def read(path, take=read_body):
    """(variables, functions) of a file."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"//[^\n]*", "", file.read())
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    variables, functions, at = [], [], 0
    if not re.search(r"\.address_size\s+64", text):
        raise Bad("not PTX of 64-bit addresses")
    while True:
        at = SPACE.match(text, at).end()
        if at == len(text):
            return variables, functions
        directive = re.compile(r"\.(version|target|address_size|file|pragma)\b[^\n]*\n").match(text, at)
        section = re.compile(r"\.section\s+\S+\s*\{").match(text, at)
        if directive:
            at = directive.end()
        elif section:  # debugging information
            at = closing(text, section.end() - 1) + 1
        elif HEAD.match(text, at):
            function, at = read_function(text, at, take)
            if function:
                functions.append(function)
        else:
            end = text.find(";", at)
            if end < 0:
                raise Bad(f"not understood: {text[at:at + 60]!r}")
            variables.append(variable(text[at:end]))
            at = end + 1
