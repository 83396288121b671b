# SPDX-License-Identifier: Apache-2.0
"""A program's text (audit/FORMAT.md 9) as a graph to look at: operations, values, functions, and a drawing by Graphviz."""
from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .report_html import table_html

MOST_DRAWN = 600


@dataclass(frozen=True)
class Input:
    value: int
    kind: str
    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Output:
    kind: str
    name: str
    value: int


@dataclass(frozen=True)
class Instruction:
    op: str
    attributes: Mapping[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def label(self) -> str:
        """The operation with its attributes."""
        inner = ", ".join(f"{k}={short(v)}" for k, v in self.attributes.items())
        return f"{self.op}({inner})" if inner else self.op


@dataclass(frozen=True)
class Program:
    """A program that was read. `instructions` execute in order; `functions` are what its regions execute."""

    inputs: tuple[Input, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[Output, ...]
    functions: tuple[Program, ...] = ()
    name: str = "program"
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def from_json(value: Any, name: str = "program") -> Program:
        """Of a parsed text; only its form is checked, types and attributes are the library's affair."""
        try:
            found = read(value, name)
        except (KeyError, TypeError, ValueError, IndexError) as e:
            raise ValueError(f"{name}: no text of a program: {e!r}") from None
        return found

    @staticmethod
    def from_text(text: str | bytes, name: str = "program") -> Program:
        return Program.from_json(json.loads(text), name)

    def __len__(self) -> int:
        return len(self.instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __repr__(self) -> str:
        return (f"<Program {self.name}: {len(self.inputs)} inputs, {len(self.instructions)} instructions, "
                f"{len(self.outputs)} outputs, {len(self.functions)} functions>")

    def counts(self) -> dict[str, int]:
        """How often each operation occurs, the most frequent first; functions count once."""
        found: dict[str, int] = {}
        for body in (self, *self.functions):
            for i in body:
                found[i.op] = found.get(i.op, 0) + 1
        return dict(sorted(found.items(), key=lambda e: (-e[1], e[0])))

    def to_dot(self) -> str:
        """The graph in the language of Graphviz: inputs above, an operation a box, a function a cluster."""
        lines = ["digraph program {", '  node [fontname="sans-serif", fontsize=10];', '  edge [fontsize=8];']
        lines += body_lines(self, "p", "  ")
        for k, f in enumerate(self.functions):
            lines += [f"  subgraph cluster_{k} {{", f"    label={quoted(f'function {k}')};", *body_lines(f, f"f{k}_", "    "),
                      "  }"]
        return "\n".join([*lines, "}", ""])

    def svg(self) -> str | None:
        """The drawing by the program `dot` of Graphviz; None where it is not installed or gives none in 20 seconds."""
        dot = shutil.which("dot")
        if dot is None or sum(map(len, (self, *self.functions))) > MOST_DRAWN:
            return None
        try:  # nslimit: of 450 instructions the best places take 12 seconds, these 0.8
            done = subprocess.run([dot, "-Tsvg", "-Gnslimit=2"], input=self.to_dot().encode(), capture_output=True, timeout=20)
        except subprocess.TimeoutExpired:
            return None
        text = done.stdout.decode("utf-8", "replace")
        return text[text.find("<svg"):] if done.returncode == 0 and "<svg" in text else None

    def _repr_svg_(self) -> str | None:
        return self.svg()

    def _repr_html_(self) -> str:
        rows = [(", ".join(f"%{o}" for o in i.outputs), i.label(), ", ".join(f"%{n}" for n in i.inputs)) for i in self]
        head = [(f"%{i.value}", f"{i.kind} {i.name}", f"{i.dtype}{list(i.shape)}") for i in self.inputs]
        return table_html(repr(self), ["makes", "operation", "of"], [*head, *rows])


def short(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


def quoted(text: str) -> str:
    """A string of Graphviz; what it would obey (escapes, ports, HTML) is plain text in it."""
    safe = "".join(c if c.isprintable() else "?" for c in text)
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'


def body_lines(body: Program, prefix: str, indent: str) -> list[str]:
    lines, maker = [], {}
    for i in body.inputs:
        node = maker[i.value] = f"{prefix}in{i.value}"
        lines.append(f"{indent}{node} [shape=ellipse, label={quoted(f'{i.kind} {i.name} {i.dtype}{list(i.shape)}')}];")
    for k, at in enumerate(body.instructions):
        node = f"{prefix}i{k}"
        lines.append(f"{indent}{node} [shape=box, label={quoted(at.label())}];")
        lines += [f"{indent}{maker.get(n, f'{prefix}v{n}')} -> {node};" for n in at.inputs]
        maker.update({o: node for o in at.outputs})
    for k, o in enumerate(body.outputs):
        lines.append(f"{indent}{prefix}out{k} [shape=ellipse, style=dashed, label={quoted(f'{o.kind} {o.name}')}];")
        lines.append(f"{indent}{maker.get(o.value, f'{prefix}v{o.value}')} -> {prefix}out{k};")
    return lines


def read_instructions(entries: Sequence[Any]) -> tuple[Instruction, ...]:
    return tuple(Instruction(str(op), dict(attributes), tuple(map(int, ins)), tuple(map(int, outs)))
                 for op, attributes, ins, outs in entries)


def read(value: Mapping[str, Any], name: str) -> Program:
    functions = []
    for k, f in enumerate(value.get("functions", [])):
        functions.append(Program(
            tuple(Input(n, "parameter", str(n), str(d), tuple(map(int, s))) for n, (d, s) in enumerate(f["parameters"])),
            read_instructions(f["instructions"]), tuple(Output("value", str(n), int(v)) for n, v in enumerate(f["outputs"])),
            name=f"function {k}", document=f))
    return Program(tuple(Input(int(v), str(k), str(n), str(d), tuple(map(int, s))) for v, k, n, d, s in value["inputs"]),
                   read_instructions(value["instructions"]),
                   tuple(Output(str(k), str(n), int(v)) for k, n, v in value["outputs"]), tuple(functions), name, value)
