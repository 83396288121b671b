#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The conformance vectors on other processors: compiles base, determinism and kernels for 64-bit RISC-V and big-endian
# s390x and runs check_vectors under user-mode emulation. Usage: cross_vectors.sh SOURCE_DIR BUILD_DIR. Exit 77
# (skipped) where no compiler or emulator is to be had.
set -euo pipefail
source=$1
build=$2/cross_vectors
mkdir -p "$build"

sources=()
for file in "$source"/base/*.c "$source"/determinism/*.c "$source"/kernels/*.c "$source"/kernels/conformance/*.c \
    "$source"/kernels/ref/*.c "$source"/kernels/ref/*/*.c "$source"/kernels/cpu/matmul/matmul_plan.c \
    "$source"/kernels/cpu/matmul/matmul_scratch.c "$source"/tests/kernels/check_vectors.c; do
    case $file in */pins.c) ;; *) sources+=("$file") ;; esac
done

ran=0
for machine in riscv64 s390x; do
    compiler=$machine-linux-gnu-gcc
    if ! command -v "$compiler" >/dev/null || ! command -v "qemu-$machine-static" >/dev/null; then
        echo "skipped: no $compiler or no qemu-$machine-static"
        continue
    fi
    out=$build/$machine
    mkdir -p "$out"
    flags=
    # ISO C on this machine would evaluate float in double (an old float_t); the guard of fpenv.c refuses that.
    [ $machine = s390x ] && flags=-fexcess-precision=fast
    # Compiled again when anything that these sources may include has changed.
    if [ ! -e "$out/check_vectors" ] || find "$source"/{base,determinism,kernels,include,tests/kernels} "$0" -type f \
        -newer "$out/check_vectors" | grep -q .; then
        rm -f "$out/check_vectors" "$out"/*.o
        printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I{} sh -c '"$0" -c $4 -std=c11 -O2 -ffp-contract=off \
            -ffunction-sections -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -DRP_BUILDING \
            -I"$1" -I"$1/include" "$2" -o "$3/$(echo "$2" | cksum | tr -d " ").o"' "$compiler" "$source" {} "$out" \
            "$flags"
        "$compiler" -static -Wl,--gc-sections "$out"/*.o -o "$out/check_vectors" -lpthread -lm
    fi
    echo "$machine:"
    "qemu-$machine-static" "$out/check_vectors"
    ran=1
done
[ $ran = 1 ] || exit 77
echo "the vectors conform"
