#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Python package beside the tools that its doors are for: scikit-learn, statsmodels, pandas 3 and 2, polars, Arrow,
# duckdb, MLflow, TensorBoard (bench/doors/tools.txt), installed into build/tools. Prints versions and results.
# Usage: scripts/python-tools.sh [BUILD_DIR], build/release unless given, where libreprise.a and cli/reprise are.
# Ends with 1 where a test or a comparison fails.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
source=$PWD
python=$source/build/tools/bin/python
if ! cat bench/doors/{tools,pandas2}.txt | cmp -s - build/tools/installed.txt; then
    rm -rf build/tools
    "${PYTHON:-python3}" -m venv build/tools
    "$python" -m pip install -q --require-hashes -r bench/doors/tools.txt
    "$python" -m pip install -q --require-hashes --no-deps --target build/tools/pandas2 -r bench/doors/pandas2.txt
    cat bench/doors/{tools,pandas2}.txt >build/tools/installed.txt
fi
"$python" -m pip install -q --no-build-isolation --no-deps --force-reinstall . -C build.targets=reprise_python \
    -C "cmake.define.RP_PYTHON_LIBRARY=$build/libreprise.a" -C build-dir=build/tools/wheel
export PYTHONDONTWRITEBYTECODE=1 REPRISE_COMMAND=$build/cli/reprise REPRISE_SOURCE=$source
shown='adbc[a-z-]*|duckdb|mlflow-skinny|numpy|pandas|polars|pyarrow|scikit-learn|scipy|statsmodels|tensorboard|tqdm'
"$python" -m pip list 2>/dev/null | grep -Ei "^($shown) "
failed=0
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
for test in estimators/test_sklearn estimators/test_sklearn_networks tables/test_typed_tables test_command test_tools \
    test_functions; do
    echo "$test: $("$python" "$source/python/tests/$test.py" 2>&1 | tee log | tail -n 1)"
    grep -q '^OK' log || { cat log; failed=1; }
done
export PYTHONPATH=$source/build/tools/pandas2
echo "test_command with pandas 2: $("$python" "$source/python/tests/test_command.py" 2>&1 | tee log | tail -n 1)"
grep -q '^OK' log || { cat log; failed=1; }
unset PYTHONPATH
"$python" "$source/bench/doors/glm.py" || failed=1
exit $failed
