# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs of what is made of tables, ops.pyi and functions.pyi, from the package's extension: the package's
build does, and the site's. Usage: stubs.py FOLDER EXTENSION"""
import importlib.machinery
import importlib.util
import os
import sys

KINDS = {"int": "int", "bool": "bool", "real": "float", "list": "Sequence[int]", "dtype": "Any"}
HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Written by python/stubs.py.\n"


def operations(_core):
    yield HEAD + "from typing import Any, Sequence\n\nfrom ._core import Elements, Tensor\n"
    for name, operands, results, attributes, *_ in _core.operation_table():
        n = len(results.split(", "))
        parts = ["*tensors: Elements"] if ".." in operands else [f"{o}: Elements" for o in operands.split(", ") if o]
        if ".." not in operands:
            parts += ["/"] * bool(parts) + ["*"] * bool(attributes)
        parts += [f"{a}: {KINDS[kind]}" for a, kind in attributes.items()]
        of = "Tensor" if n == 1 else "tuple[" + ", ".join(["Tensor"] * n) + "]"
        yield f"def {name}({', '.join(parts)}) -> {of}: ..."


def functions(_core):
    yield HEAD + "from typing import Any\n\nfrom ._core import Tensor\nfrom .functions_more import *\n"
    for name, function in sorted(_core.functions().items()):
        given = function.__text_signature__[1:-1]
        parts = [p + ": Any" if "=" not in p else p.replace("=", ": Any = ") for p in given.split(", ")]
        yield f"def {name}({', '.join(parts)}) -> Tensor: ..."


def texts(_core):
    return {"ops.pyi": "\n".join(operations(_core)) + "\n", "functions.pyi": "\n".join(functions(_core)) + "\n"}


def extension(path):
    loader = importlib.machinery.ExtensionFileLoader("_core", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_core", loader))
    loader.exec_module(module)
    return module


if __name__ == "__main__":
    for name, text in texts(extension(sys.argv[2])).items():
        with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as f:
            f.write(text)
