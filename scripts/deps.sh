#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing on Debian 12. Usage: scripts/deps.sh [build|python|check|peers]; python adds what
# `pip install .` needs, check what only the tests need, peers what Reprise is compared with. `./check` has check in
# three parts: check-first, what gcc compiles with; check-rest, the packages of all else, meanwhile; check-gpu.
set -eu

packages="build-essential cmake ninja-build pkg-config libssl-dev libarchive-dev libjansson-dev libyaml-dev
    libpng-dev libjpeg62-turbo-dev
    libcmocka-dev libmpfr-dev"
if [ "${1:-build}" = check-first ]; then
    packages="$packages python3 python3-venv lld"
fi
if [ "${1:-build}" = check ] || [ "${1:-build}" = check-rest ]; then
    packages="$packages git python3 python3-dev python3-venv jq libxml2-utils openssl locales
        clang lld clang-format libclang-rt-14-dev libomp-14-dev valgrind
        gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
        gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static
        softhsm2 opensc libengine-pkcs11-openssl"
fi

if [ "${1:-build}" = python ]; then
    packages="$packages python3 python3-dev python3-venv"
fi

if [ "${1:-build}" = peers ]; then
    packages="$packages python3 python3-dev python3-venv libdnnl-dev libopenblas-dev libsleef-dev openssl"
fi

# The compiler of GPU kernels and the readers of their machine code, where no CUDA toolkit of its version has them: for
# the tests; other builds do without.
gpu_compiler() {
    case $1 in check | check-gpu) ;; *) return 0 ;; esac
    [ "$(uname -m)" = x86_64 ] || return 0
    nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
    if ! "$nvcc" --version 2>/dev/null | grep -q 'V13\.0\.88' || ! [ -x "$(dirname "$nvcc")/cuobjdump" ] ||
        ! [ -x "$(dirname "$nvcc")/nvdisasm" ]; then
        "$(dirname "$0")/cuda-toolchain.sh"
    fi
}

if [ "${1:-build}" = check-gpu ]; then
    gpu_compiler check-gpu
    exit 0
fi
missing=
for package in $packages; do
    if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then
        missing="$missing $package"
    fi
done
[ -n "$missing" ] || { gpu_compiler "${1:-build}"; exit 0; }

if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps: run as root: apt-get install$missing" >&2
        exit 1
    fi
    sudo="sudo"
fi
echo "deps: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
${sudo:-} apt-get update -qq
# shellcheck disable=SC2086
${sudo:-} apt-get install -y -qq --no-install-recommends $missing >/dev/null
gpu_compiler "${1:-build}"
