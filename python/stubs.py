# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs of what is made of tables, reprise/ops.pyi and functions.pyi, from the package that is installed.
Usage: stubs.py FOLDER; a test compares."""
import os
import sys

from reprise import _core

KINDS = {"int": "int", "bool": "bool", "real": "float", "list": "Sequence[int]", "dtype": "Any"}
HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Written by python/stubs.py.\n"


def operations():
    yield HEAD + "from typing import Any, Sequence\n\nfrom ._core import Elements, Tensor\n"
    for name, operands, results, attributes, *_ in _core.operation_table():
        n = len(results.split(", "))
        parts = ["*tensors: Elements"] if ".." in operands else [f"{o}: Elements" for o in operands.split(", ") if o]
        if ".." not in operands:
            parts += ["/"] * bool(parts) + ["*"] * bool(attributes)
        parts += [f"{a}: {KINDS[kind]}" for a, kind in attributes.items()]
        of = "Tensor" if n == 1 else "tuple[" + ", ".join(["Tensor"] * n) + "]"
        yield f"def {name}({', '.join(parts)}) -> {of}: ..."


def functions():
    yield HEAD + "from typing import Any\n\nfrom ._core import Tensor\nfrom .functions_more import *\n"
    for name, function in sorted(_core.functions().items()):
        given = function.__text_signature__[1:-1]
        parts = [p + ": Any" if "=" not in p else p.replace("=", ": Any = ") for p in given.split(", ")]
        yield f"def {name}({', '.join(parts)}) -> Tensor: ..."


def texts():
    return {"ops.pyi": "\n".join(operations()) + "\n", "functions.pyi": "\n".join(functions()) + "\n"}


if __name__ == "__main__":
    for name, text in texts().items():
        with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as f:
            f.write(text)
