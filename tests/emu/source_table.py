#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ file that makes a file of kernels, as source, a module of the emulated device. The kernels are those that
nvcc found in it, with their threads and whether these wait for each other. Usage: source_table.py FILE.ptx FILE.cu ROOT OUT"""
import os
import re
import sys

import ptx
from ptx2c import MEETS

TOGETHER = re.compile(rf"\b(?:{'|'.join(MEETS)}|barrier)\.")
CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([\w$]+)")


def meets(name, bodies):
    """Whether it, or what it calls, waits for other threads. Functions do not call themselves (ptx2c.py)."""
    return bool(TOGETHER.search(bodies[name])) or any(meets(n, bodies) for n in set(CALL.findall(bodies[name])))


def main():
    bodies, rows = {}, []  # read and no more: what is allowed is the translator's business, in the other form's build
    functions = ptx.read(sys.argv[1], lambda function, text: bodies.update({function.name: text}))[1]
    for function in sorted((f for f in functions if f.entry), key=lambda f: f.name):
        waits = str(meets(function.name, bodies)).lower()
        rows.append(f"    KERNEL({function.name}, {function.threads}, {waits}) \\")
    with open(sys.argv[2], encoding="utf-8") as file:
        rooms = dict.fromkeys(re.findall(r"^namespace (\w+)", file.read(), re.M))  # one in another comes behind it
    with open(sys.argv[4], "w", encoding="utf-8") as out:
        out.write('/* Made by tests/emu/source_table.py. */\n#define RP_GPU_HOST "tests/emu/source.h"\n')
        out.write(f'#include "{os.path.relpath(sys.argv[2], sys.argv[3])}"\n\n')
        out.writelines(f"using namespace {room};\n" for room in rooms)
        out.write("#define KERNELS(KERNEL) \\\n" + "\n".join(rows) + "\n\n")
        out.write("KERNELS(EMU_SOURCE_KERNEL)\nstatic const emu_kernel kernels[] = {KERNELS(EMU_SOURCE_ROW)};\n"
                  f"static emu_module module = {{kernels, {len(rows)}, nullptr, 0, nullptr}};\n"
                  "static __attribute__((constructor)) void enter(void)\n{\n    emu_register(&module);\n}\n")


main()
