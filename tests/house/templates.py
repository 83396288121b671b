#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A template of kernels/cpu/conv and matmul can be read alone: its first comment names its parameters and what comes
before it, and with nothing else it compiles. Without its parameters it stops with an error that says so, and every
macro that it defines ends with it, so none reaches the next file unseen.

Usage: templates.py SOURCE_DIR COMPILER"""
import platform
import re
import subprocess
import sys
from pathlib import Path

source, compiler = Path(sys.argv[1]), sys.argv[2]
VECTORS = {"x86_64": ["-mavx2", "-mfma"], "amd64": ["-mavx2", "-mfma"]}.get(platform.machine().lower(), [])


def compiles(text, flags):
    """What the compiler says against it; empty where it takes it."""
    done = subprocess.run([compiler, "-std=c11", "-fsyntax-only", "-I", str(source), "-I", str(source / "include"), "-x", "c", "-"] + flags,
                          input=text, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


def faults(path):
    text = path.read_text(encoding="utf-8")
    head = text[:text.index("*/")].replace("\n *", " ")
    if "Parameters" not in head or "Before it: " not in head:
        yield "its first comment does not say 'Parameters' and 'Before it: '"
        return
    before = re.findall(r"\w+\.inc\.h", head[head.index("Before it: "):].split(", for")[0].split(" Gives ")[0])
    include = "".join('#include "%s"\n' % (path.parent / name).relative_to(source) for name in before + [path.name])
    own = "#define SOURCE T\n#define OF(x) (x)\n" if "SOURCE" in head else ""
    for name, flags in (("f32", VECTORS), ("f64", VECTORS if "with vectors" in head else [])):
        said = compiles('#include "kernels/type_%s.h"\n%s%s' % (name, own, include), flags)
        if said:
            yield "alone for %s %s: %s" % (name, " ".join(flags),
                                           next((line for line in said.splitlines() if "error" in line), said))
    alone = '#include "%s"\n' % path.relative_to(source)
    if "a template: include one of" not in compiles(alone, VECTORS + ["-E"]):
        yield "without its parameters no error says that they are missing"
    for macro in sorted(set(re.findall(r"^#define (\w+)", text, re.M))):
        if text.rfind("#undef %s\n" % macro) < text.rfind("#define %s" % macro):
            yield "%s does not end with it" % macro


found = sorted(p for room in ("conv", "matmul") for p in (source / "kernels/cpu" / room).glob("*.inc.h"))
failed = ["%s: %s" % (path.relative_to(source), fault) for path in found for fault in faults(path)]
print("\n".join(failed) if failed else "%d templates, each alone" % len(found))
sys.exit(bool(failed) or not found)
