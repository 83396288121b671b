# SPDX-License-Identifier: Apache-2.0
"""What is exported: a program with the values of its states and data, which of its values are given from outside, and which
are asked for. Archives, imported models and models of layers are brought to that form here."""
from __future__ import annotations

import hashlib
import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...archive import Archive
from ...program_text import Program
from ..graph import Unsupported
from .writer import numpy_type

PARTS = ("train_", "valid_", "test_")


@dataclass
class Source:
    """`weights`: states and data by (kind, name); `given`: values from outside by number, with their names; `results`: by the
    model's name the number of a value. `notes` goes into the model's metadata."""

    program: Program
    types: list[tuple[tuple[int, ...], str]]
    digest: str
    weights: dict[tuple[str, str], Any]
    given: dict[int, str]
    results: dict[str, int]
    notes: dict[str, str] = field(default_factory=dict)


def source(what: Any, *, program: int | None, outputs: Sequence[str] | None, weights: Mapping[str, Any] | None,
           inputs: Sequence[str]) -> Source:
    """Of an archive or its path, an import, a model of layers, or a program beside its `weights`."""
    if isinstance(what, (str, os.PathLike)) and not isinstance(what, Archive):
        what = Archive(what)
    if isinstance(what, Archive):
        return of_archive(what, program, outputs, inputs)
    if hasattr(what, "program") and hasattr(what, "outputs") and hasattr(what, "weights"):  # an import
        found = of_program(what.program, {**what.weights, **what.data}, inputs)
        results = {name: found.results[own] for name, (own, _, _) in what.outputs.items()}
        names = {own: name for name, (own, _, _) in what.inputs.items()}
        found.given = {v: names.get(n, n) for v, n in found.given.items()}
        found.results = chosen(results, outputs)
        uneven = sorted(what.counts.keys() & found.results.keys())
        if uneven:
            raise Unsupported(f"the output {uneven[0]}, whose length its elements decide: a program has room for the most and counts them")
        return found
    if isinstance(what, importlib.import_module("reprise._core").ModelBase):
        with tempfile.TemporaryDirectory() as folder:  # what its last step computed, as its archive has it
            path = os.path.join(folder, "model.reprise")
            what.archive(path)
            return of_archive(Archive(path), program, outputs, inputs)
    found = of_program(what, weights or {}, inputs)
    found.results = chosen(found.results, outputs)
    return found


def parsed(text: bytes) -> tuple[Program, list[tuple[tuple[int, ...], str]]]:
    read = importlib.import_module("reprise").Program.read(text)
    return Program.from_text(text), [(tuple(shape), dtype) for shape, dtype in read.values]


def of_program(what: Any, weights: Mapping[str, Any], inputs: Sequence[str]) -> Source:
    text = what if isinstance(what, bytes) else what.text
    program, types = parsed(text)
    have: dict[tuple[str, str], Any] = {}
    given = {}
    for i in program.inputs:
        if i.kind == "feed" or i.name in inputs:
            given[i.value] = i.name
        elif i.name in weights:
            have[i.kind, i.name] = elements(np.asarray(weights[i.name]), i)
    results = {o.name: o.value for o in program.outputs if o.kind == "result"}
    return Source(program, types, hashlib.sha256(text).hexdigest(), have, given, results, dropped(program))


def dropped(program: Program) -> dict[str, str]:
    names = [o.name for o in program.outputs if o.kind == "state"]
    return {"reprise.dropped": " ".join(names)} if names else {}


def elements(array: Any, i: Any) -> Any:
    """The elements of a state or data in NumPy's type of it."""
    kind = np.dtype(numpy_type(i.dtype))
    if i.dtype == "bf16" and array.dtype == np.uint16:
        array = array.view(kind)
    if array.dtype != kind or array.shape != i.shape:
        raise ValueError(f"{i.kind} {i.name} is {array.dtype}{list(array.shape)}, the program has {i.dtype}{list(i.shape)}")
    return array


def chosen(results: dict[str, int], outputs: Sequence[str] | None) -> dict[str, int]:
    if outputs is None:
        return results
    wrong = [n for n in outputs if n not in results]
    if wrong:
        raise ValueError(f"no result {wrong[0]}: there are {', '.join(results) or 'none'}")
    return {n: results[n] for n in outputs}


# ---- archives ----

def of_archive(archive: Archive, number: int | None, outputs: Sequence[str] | None, inputs: Sequence[str]) -> Source:
    programs = [n for n in archive.members if n.startswith("run/programs/")]
    if number is not None and not 0 <= number < len(programs):
        raise IndexError(f"no program {number}: the archive has {', '.join(map(str, range(len(programs)))) or 'none'}")
    member = programs[number] if number is not None else pick(archive, programs)
    text = archive.read(member)
    program, types = parsed(text)
    weights = stored(archive, program)
    found = Source(program, types, hashlib.sha256(text).hexdigest(), weights, {}, {}, dropped(program))
    found.results = {o.name: o.value for o in program.outputs if o.kind == "result"}
    found.notes.update({"reprise.archive": archive.id, "reprise.member": member})
    if archive.kind == "recipe":
        if outputs is None and "scores" in found.results:
            outputs = ["scores"]
        found.notes["reprise.prepared"] = ("the input x is the prepared table: the archive's run/recipe.json and data/schema.json "
                                           "say how, `reprise predict` does it")
    if archive.kind == "text" and outputs is None:
        logits(found)
    else:
        found.results = chosen(found.results, outputs)
    for i in program.inputs:
        if i.kind == "feed" or i.name in inputs:
            found.given[i.value] = i.name
        elif i.kind == "data" and i.name.startswith(PARTS) and archive.kind == "recipe":
            found.given[i.value] = i.name.split("_", 1)[1]
    fed_rows(found)
    return found


def pick(archive: Archive, programs: Sequence[str]) -> str:
    """The last program that changes no state and gives a result: an evaluation or a prediction."""
    fits, steps = [], []
    for number, name in enumerate(programs):
        p = Program.from_json(archive.json(name), name)
        if p.outputs and all(o.kind == "result" for o in p.outputs):
            fits.append(name)
        elif results := [o.name for o in p.outputs if o.kind == "result"]:
            steps.append(f"{number} ({', '.join(results)})")
    if not fits:
        raise Unsupported("every program of the archive updates states, as where only training was recorded: an evaluation or prediction "
                          "that is made before the archive is written is there for an export. Or choose one by program= (--program), "
                          f"without its updates: {'; '.join(steps) or 'none has a result'}")
    return fits[-1]


def stored(archive: Archive, program: Program) -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], Any] = {}
    for kind, stem in (("state", "weights/final"), ("data", "data/tensors")):
        if stem in archive.sets:
            tensors = archive.tensors(stem)
            for i in program.inputs:
                if i.kind == kind and i.name in tensors:
                    found[kind, i.name] = elements(tensors[i.name], i)
    return found


def logits(found: Source) -> None:
    """A text's evaluation reports losses; what a model of texts is for is what its loss is of."""
    at = next((i for i in found.program.instructions if i.op == "cross_entropy"), None)
    if at is not None:
        found.results = {"logits": at.inputs[0]}


def fed_rows(found: Source) -> None:
    """Data that a step takes rows of, by numbers that it is fed, is an input of such rows: the numbers are the recorded
    run's own affair."""
    p = found.program
    feeds = {i.value for i in p.inputs if i.kind == "feed"}
    data = {i.value: i.name for i in p.inputs if i.kind == "data"}
    uses: dict[int, list[Any]] = {}
    for i in p.instructions:
        for v in i.inputs:
            uses.setdefault(v, []).append(i)
    ends = {o.value for o in p.outputs}
    for row in feeds - ends:
        readers = uses.get(row, [])
        if readers and all(i.op == "gather" and int(i.attributes["axis"]) == 0 and i.inputs[1] == row and i.inputs[0] in data
                           for i in readers) and len({i.inputs[0] for i in readers}) == len(readers):
            for i in readers:
                found.given[i.outputs[0]] = data[i.inputs[0]]
