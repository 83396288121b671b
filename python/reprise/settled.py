# SPDX-License-Identifier: Apache-2.0
"""Answers of a program whose weights stay: what it makes of them alone, transposes above all, is computed once and is data of
the program that each answer runs (`Program.split`). The bits are those of the whole."""
from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any


def bound(run: Any, program: Any, states: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
    """The program compiled in a run that is given what it takes of these."""
    for kind, name, *_ in program.inputs:
        if kind == "state":
            run.add_state(name, states[name])
        elif kind == "data":
            run.add_data(name, data[name])
    return run.compile(program)


def compiled(program: Any, states: Mapping[str, Any], data: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """A function of the program's feeds by name that gives its results by name; options are those of Run."""
    Run = importlib.import_module("reprise").Run
    halves = program.split()
    if halves is None:
        return bound(Run(**options), program, states, data)
    made = bound(Run(**options), halves[0], states, data)()
    return bound(Run(**options), halves[1], states, {**data, **made})
