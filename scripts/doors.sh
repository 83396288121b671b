#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Python package's doors with their frameworks: installs the package into a peers' environment, with the static
# library that is built already, then runs the tests that `./check` leaves out and the doors' own comparisons. Part of
# `./check --peers`.
# Usage: scripts/doors.sh PYTHON BUILD_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(realpath -s "$1")
build=$(realpath "$2")
cmake --build "$build" -j "$(nproc)" --target reprise_static reprise_cli door_program >/dev/null
"$python" -m pip install --quiet --require-hashes --no-deps -r bench/doors/build.txt -r bench/doors/onnx.txt
"$python" -m pip install --quiet --no-build-isolation --no-deps --force-reinstall . \
    -C "cmake.define.RP_PYTHON_LIBRARY=$build/libreprise.a" -C build.targets=reprise_python \
    -C "build-dir=$build/python-doors"
export PYTHONDONTWRITEBYTECODE=1 REPRISE_COMMAND=$build/cli/reprise REPRISE_SOURCE=$PWD
for test in python/tests/{,derivatives/,outside/}test_torch*.py python/tests/test_documents.py; do
    printf '%s: ' "$(basename "$test")"
    "$python" -W ignore "$test" >"$build/doors.log" 2>&1 || { cat "$build/doors.log"; exit 1; }
    tail -n 3 "$build/doors.log" | head -n 1
done
"$python" bench/doors/torch_versions.py
"$python" -W ignore bench/doors/torch_operations.py --most 3 --quiet | grep 'core operations'
"$python" -W ignore bench/doors/outside_onnx.py --only sklearn
"$python" -W ignore bench/doors/torch_speed.py --program "$build/bench/door_program"
