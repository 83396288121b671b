#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same bits on another architecture: builds library and command for 64-bit Arm (what computes no bit at -O1, which
# takes half as long), runs the credit recipe (the loans where the data folder is absent) and the conformance vectors
# under user-mode emulation, and compares every byte of the archive with the native one. Usage: cross_aarch64.sh REPRISE
# SOURCE_DIR BUILD_DIR. Exit 77 (skipped) where the compiler, the emulator or the Arm packages are not to be had.
set -euo pipefail
reprise=$1
source=$2
build=$3/aarch64
sysroot=$build/sysroot
skip() { echo "skipped: $*"; exit 77; }
command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc"
command -v qemu-aarch64-static >/dev/null || skip "no qemu-aarch64-static"
mkdir -p "$build"

# Libraries and what they need, unpacked but not installed. The package lists live in a folder of their own, so that
# this host's architecture settings are left alone.
if [ ! -e "$sysroot/complete" ]; then
    apt="$build/apt"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$sysroot"
    touch "$apt/status"
    options="-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State=$apt
             -o Dir::State::Lists=$apt/lists -o Dir::State::status=$apt/status -o Dir::Cache=$apt
             -o Debug::NoLocking=1 -o APT::Sandbox::User=root"
    # shellcheck disable=SC2086
    apt-get $options update >"$build/apt.log" 2>&1 || skip "package lists are not reachable"
    # shellcheck disable=SC2086
    apt-get $options install -y --download-only --no-install-recommends libssl-dev libarchive-dev libyaml-dev \
        >>"$build/apt.log" 2>&1 || skip "the Arm packages are not reachable (see $build/apt.log)"
    for package in "$apt"/archives/*.deb; do
        dpkg-deb -x "$package" "$sysroot"
    done
    touch "$sysroot/complete"
fi

# Release but for what debuggers want.
CFLAGS="-O3 -DNDEBUG" cmake -S "$source" -B "$build/bare" -G Ninja -DCMAKE_BUILD_TYPE=None -DRP_BUILD_TESTS=OFF \
    -DRP_SYSROOT="$sysroot" -DRP_PLAIN_FLAGS="-O1 -w" \
    -DCMAKE_TOOLCHAIN_FILE="$source/cmake/aarch64.cmake" >"$build/cmake.log" 2>&1 || { cat "$build/cmake.log"; exit 1; }
cmake --build "$build/bare" --target reprise_cli >"$build/build.log" 2>&1 || { tail -40 "$build/build.log"; exit 1; }

loader=$(dirname "$(find "$sysroot" -name ld-linux-aarch64.so.1 | head -1)")
arm() { qemu-aarch64-static -L "$sysroot" -E LD_LIBRARY_PATH="$loader:$sysroot/usr/lib/aarch64-linux-gnu" \
    "$build/bare/cli/reprise" "$@"; }
arm doctor # every level; of the replays the first proves its own again, which is most of their time

recipe=$source/examples/german_credit.yaml
[ -f "$source/../shared/data/german_credit.csv" ] || { recipe=$source/examples/loans.yaml; echo \
    "no credit data: using the loans"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$reprise" run "$recipe" -o "$work/native.reprise" --threads 2
arm run "$recipe" -o "$work/arm.reprise" --threads 2
cmp "$work/native.reprise" "$work/arm.reprise"
arm replay "$source/golden/small.reprise"
arm replay "$source/golden/branch.reprise" --allow-nonconforming
arm replay "$source/golden/image.reprise" --allow-nonconforming
echo "identical on aarch64 and on $(uname -m)"
