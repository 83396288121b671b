#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the pinned compiler for GPU kernels (nvcc 13.0.88) and the readers of machine code that the tests use, from
# wheels checked by SHA-256, into DIR (build/cuda by default): 107 MB to fetch, 260 MB there. Usage:
# scripts/cuda-toolchain.sh [DIR]. A build finds it there; a CUDA toolkit of the same version serves as well
# (CUDA_HOME). Nothing else needs it: without a compiler the build leaves GPU kernels out (-DRP_CUDA=OFF).
set -euo pipefail
cd "$(dirname "$0")/.."
into=${1:-build/cuda}
[ "$(uname -m)" = x86_64 ] || { echo "cuda-toolchain: wheels are pinned for x86_64 only" >&2; exit 5; }
complete() { # FOLDER: all of its programs are there and run
    "$1/bin/nvcc" --version 2>/dev/null | grep -q 'V13\.0\.88' &&
        "$1/bin/cuobjdump" --version >/dev/null 2>&1 && "$1/bin/nvdisasm" --version >/dev/null 2>&1
}
if complete "$into"; then
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/wheels.txt" <<'WHEELS'
nvidia-cuda-nvcc==13.0.88 --hash=sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03
nvidia-nvvm==13.0.88 --hash=sha256:c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0
nvidia-cuda-crt==13.0.88 --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4
nvidia-cuda-runtime==13.0.96 --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548
nvidia-cuda-cuobjdump==13.5.37 --hash=sha256:38780fee50863252a0b8926357faa91615ca1c8346490563f33a06100cd73f58
nvidia-cuda-nvdisasm==13.5.37 --hash=sha256:d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca
WHEELS
python3 -m venv "$work/venv"
"$work/venv/bin/pip" --quiet install --no-deps --only-binary :all: --require-hashes --target "$work/tree" \
    -r "$work/wheels.txt"
mkdir -p "$(dirname "$into")" "$work/cuda"
cp -r "$work"/tree/nvidia/cu13/. "$work/cuda/"
find "$work/cuda/bin" "$work/cuda/nvvm/bin" -type f -exec chmod +x {} +
complete "$work/cuda" || { echo "cuda-toolchain: nvcc, cuobjdump or nvdisasm does not run" >&2; exit 1; }
rm -rf "$into"
mv "$work/cuda" "$into"
echo "cuda-toolchain: nvcc 13.0.88 in $into" >&2
