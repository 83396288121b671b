#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The documentation as a site of static files in OUT, which is made anew: a browser opens OUT/index.html, and nothing is
# fetched from elsewhere. Warnings are errors. Usage: scripts/site.sh OUT. SITE_PYTHON names a Python that has what
# docs/site/requirements.txt lists; by default an environment in build/site is made, once, from the package index.
# Docstrings are asked of the Python package, whose extension is built where no build of this tree has left it.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] || { echo "usage: scripts/site.sh OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
if [ -n "$(ls -A "$out")" ] && ! [ -e "$out/objects.inv" ]; then
    echo "site: $out has files that are no site" >&2
    exit 1
fi

python=${SITE_PYTHON:-$source/build/site/bin/python}
list=$source/docs/site/requirements.txt
if [ -z "${SITE_PYTHON:-}" ] && ! cmp -s "$list" "$source/build/site/installed.txt"; then
    rm -rf "$source/build/site"
    "${PYTHON:-python3}" -m venv "$source/build/site"
    "$python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$list"
    cp "$list" "$source/build/site/installed.txt"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/package"
cp -r "$source/python/reprise" "$work/package/"
core() { # the package's extension, where a build or `pip install .` of this tree left it; the newest
    ls -t "$source"/build/release/python/_core.abi3.so "$source"/python/reprise/_core.abi3.so \
        "$source"/build/release/python-venv/lib/python3.*/site-packages/reprise/_core.abi3.so 2>/dev/null |
        head -n 1 || true
}
if [ -z "$(core)" ]; then
    (cd "$source" && cmake --preset release -DRP_PYTHON=ON >/dev/null &&
        cmake --build build/release --target reprise_python -j "$(nproc)" >/dev/null)
fi
cp "$(core)" "$work/package/reprise/"
"$python" "$source/python/stubs.py" "$work/package/reprise" "$work/package/reprise/_core.abi3.so"

export PYTHONPATH=$work/package PYTHONDONTWRITEBYTECODE=1 REPRISE_SITE=$source/docs/site REPRISE_PAGES=$work/pages
"$python" "$source/docs/site/stage.py" "$source" "$work/pages"
rm -rf "$out"
"$python" -m sphinx -q -W --keep-going -j auto -d "$work/trees" -c "$source/docs/site" -b html "$work/pages" "$out"
"$python" "$source/docs/site/closed.py" "$out"
