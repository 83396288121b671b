#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# TensorFlow SavedModels beside TensorFlow: installs it and its converter to ONNX as packages.txt pins them into
# build/peers-tensorflow (1.6 GB), and the package with the static library that is built already, then runs the test.
# Usage: bench/doors/tensorflow/run.sh [BUILD_DIR], build/release unless given. Some 5 minutes.
set -euo pipefail
cd "$(dirname "$0")/../../.."
build=$(realpath "${1:-build/release}")
source=$PWD
python=$source/build/peers-tensorflow/bin/python
if ! cmp -s bench/doors/tensorflow/packages.txt build/peers-tensorflow/installed.txt; then
    rm -rf build/peers-tensorflow
    "${PYTHON:-python3}" -m venv build/peers-tensorflow
    "$python" -m pip install --quiet --require-hashes -r bench/doors/tensorflow/packages.txt
    cp bench/doors/tensorflow/packages.txt build/peers-tensorflow/installed.txt
fi
"$python" -m pip install --quiet --no-build-isolation --no-deps --force-reinstall . -C build.targets=reprise_python \
    -C "cmake.define.RP_PYTHON_LIBRARY=$build/libreprise.a" -C build-dir=build/peers-tensorflow/wheel
"$python" -m pip list 2>/dev/null | grep -E '^(keras|numpy|onnx|protobuf|tensorflow_cpu|tf2onnx) '
export PYTHONDONTWRITEBYTECODE=1 REPRISE_COMMAND=$build/cli/reprise
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
"$python" "$source/bench/doors/tensorflow/test_savedmodel.py" 2>&1 | tee log | grep -E '^(Ran|OK|FAILED)' || true
grep -q '^OK' log || { cat log; exit 1; }
