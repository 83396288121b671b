#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the C++ file that makes a file of kernels, as source, a module of the emulated device. The kernels are those that
nvcc found in it, with their threads and whether these wait for each other. Usage: source_table.py FILE.ptx FILE.cu ROOT OUT"""
import os
import re
import sys

import ptx2c


def main():
    module = ptx2c.Module(sys.argv[1], "source")
    rows = []
    for name, writer in sorted(module.writers.items()):
        if writer.function.entry:
            meets = any(module.writers[n].meets for n in module.reached(name))
            rows.append(f"    KERNEL({name}, {writer.function.threads}, {str(meets).lower()}) \\")
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
