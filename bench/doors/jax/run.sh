#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The doors for JAX and Keras beside jax, flax, optax, equinox and Keras: installs them as packages.txt pins them into
# build/peers-jax, and the package with the static library that the command is made of, then runs the tests that need
# them, twelve models and jax's samples of its primitives.
# Usage: bench/doors/jax/run.sh [REPRISE], the command, build/release/cli/reprise unless given; where door_program is
# built beside it, steps are timed beside the program from C too. Some 15 minutes.
set -euo pipefail
cd "$(dirname "$0")/../../.."
REPRISE_COMMAND=$(realpath "${1:-build/release/cli/reprise}")
REPRISE_SOURCE=$PWD
export REPRISE_COMMAND REPRISE_SOURCE JAX_PLATFORMS=cpu PYTHONDONTWRITEBYTECODE=1
python=build/peers-jax/bin/python
if ! cmp -s bench/doors/jax/packages.txt build/peers-jax/installed.txt; then
    rm -rf build/peers-jax
    "${PYTHON:-python3}" -m venv build/peers-jax
    "$python" -m pip install --quiet --require-hashes -r bench/doors/jax/packages.txt
    cp bench/doors/jax/packages.txt build/peers-jax/installed.txt
fi
library=$(dirname "$REPRISE_COMMAND")/../libreprise.a
"$python" -m pip install --quiet --no-deps --force-reinstall . -C build.targets=reprise_python \
    -C "cmake.define.RP_PYTHON_LIBRARY=$library" -C build-dir=build/peers-jax/wheel
python=$(realpath -s "$python")
cd build # so that the installed package is the one that counts
for test in jax jax_values keras; do
    "$python" "$REPRISE_SOURCE/python/tests/test_$test.py"
done
"$python" "$REPRISE_SOURCE/python/tests/test_documents.py" Documents.test_python_jax Documents.test_python_keras
"$python" "$REPRISE_SOURCE/bench/doors/jax/models.py"
"$python" "$REPRISE_SOURCE/bench/doors/jax/primitives.py" --every 7
program=$(dirname "$REPRISE_COMMAND")/../bench/door_program
[ ! -x "$program" ] || "$python" -W ignore "$REPRISE_SOURCE/bench/doors/jax_speed.py" --program "$program"
