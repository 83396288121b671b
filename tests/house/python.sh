#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Python package: `pip install .` into a throw-away environment under BUILD_DIR, with the static library that is
# built already, then its tests, and its stubs by mypy --strict. Usage: python.sh REPRISE SOURCE_DIR BUILD_DIR. Exit 77
# (skipped) where there is no Python 3.11 with headers or what it needs cannot be had.
set -euo pipefail
reprise=$(realpath "$1")
source=$(realpath "$2")
build=$(realpath "$3")
venv=$build/python-venv
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }

python=$(command -v python3) || skip "no python3"
"$python" -c 'import sys, sysconfig, os
sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    skip "python3 is older than 3.11 or has no headers (python3-dev)"
. "$source/tests/house/environment.sh"
[ -e "$venv/complete-3" ] || rm -rf "$build/python-compiled"
environment complete-3 numpy 'scikit-build-core>=0.10' mypy onnx onnxruntime scikit-learn ||
    skip "no environment with numpy, mypy, onnx, onnxruntime and others: no network? (see $venv.log)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Only the rest is compiled here: the library is this build's.
export PYTHONPYCACHEPREFIX=$build/python-compiled
pip install -q --disable-pip-version-check --no-compile --no-build-isolation --no-deps --force-reinstall "$source" \
    -C "cmake.define.RP_PYTHON_LIBRARY=$build/libreprise.a" -C build.targets=reprise_python \
    -C cmake.define.RP_WERROR=ON -C "build-dir=$build/python-wheel" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "pip install"; }
cd "$work"
export REPRISE_COMMAND=$reprise REPRISE_SOURCE=$source MYPY_CACHE_DIR=$build/python-mypy \
    REPRISE_CACHE=$build/python-cache
"$venv/bin/reprise" --version >version
[ "$(cat version)" = "$("$reprise" --version)" ] || fail "the environment's command is another"
env -u REPRISE_COMMAND PATH="$venv/bin:$PATH" "$venv/bin/reprise" --version >said 2>&1 &&
    fail "a package without the command has one: $(cat said)"
grep -q 'without the command' said || fail "what is missing is not said: $(cat said)"
for test in "$source"/python/tests/{,derivatives/,estimators/,outside/,runners/,tables/}test_*.py; do
    timeout 400 "$venv/bin/python" -X faulthandler "$test" >log 2>&1 || { cat log; fail "$(basename "$test")"; }
    tail -n 3 log | head -n 1
done
