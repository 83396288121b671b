#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One archive id and byte-identical unsigned archives over threads 1, 2, 3, 7, every kernel level of the host, gcc and
# clang, -O0 (of clang: the sanitized -O1 where that is built), -O3 and gcc's -O1; the build in BUILD_DIR is one of
# these. What is compiled here is what decides bits and runs: the layers below audit, of their levels the reference and
# the host's best, without the launching of GPUs; the rest of the command is the objects of BUILD_DIR. Recipes: the
# credit network where the data folder is present, the loans, and the golden recipes (all layers, clipping, shards,
# images). Usage: identity.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1
built=$2
build=$built/identity
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

recipes="$source/golden/small.yaml $source/golden/image.yaml $source/examples/loans.yaml"
if [ -f "$source/../shared/data/german_credit.csv" ]; then
    recipes="$source/examples/german_credit.yaml $recipes"
else
    echo "the credit data is not here: only the loans and the golden recipes"
fi

compare() { # label, command...: runs every recipe and compares with the first archive of that recipe
    local label=$1 recipe name id
    shift
    for recipe in $recipes; do
        name=$(basename "$recipe" .yaml)
        "$@" run "$recipe" -o "$work/$name.new" --force ${options:-} >"$work/said"
        id=$(sed -n 's/^archive *//p' "$work/said")
        [ -f "$work/$name.first" ] || cp "$work/$name.new" "$work/$name.first"
        cmp "$work/$name.first" "$work/$name.new" || { echo "$label: $name differs"; exit 1; }
        printf '%-34s %-14s %s\n' "$label" "$name" "${id:0:16}"
    done
}

reprise=$built/cli/reprise
levels=$("$reprise" doctor | sed -n 's/^kernels *\([a-z0-9]*\):.*/\1/p')
best=$(for level in avx512 avx2 sse2 neon ref; do echo "$levels" | grep -x $level || :; done | head -1)
others=$(echo "$levels" | grep -vxE "ref|$best" | paste -sd '|')

# The command out of objects of BUILD_DIR and of a folder that compiles its own of the lower layers.
images=$(for library in libpng libjpeg; do pkg-config --libs $library 2>/dev/null || true; done)
command_of() { # FOLDER COMPILER FLAGS: makes FOLDER/cli/reprise
    local out=$1 objects own
    cmake -S "$source" -B "$out" -G Ninja -DCMAKE_C_COMPILER="$2" -DCMAKE_BUILD_TYPE=None -DRP_CUDA=OFF \
        -DRP_BUILD_TESTS=OFF -DCMAKE_C_FLAGS="$3" >"$work/log" 2>&1 || return
    if ! grep -q '^RP_SANITIZE:[A-Z]*=$' "$built/CMakeCache.txt"; then # whose objects want their sanitizer
        cmake --build "$out" --target reprise_cli >"$work/log" 2>&1
        return
    fi
    own=$(sed "s|^$built/||" "$built/tests/command_objects.txt" | grep -E '^(base|determinism|kernels|core)/' |
        grep -vE "_(${others:-none})\.c\.o$|/gpu/")
    objects=$(sed "s|^$built/||" "$built/tests/command_objects.txt" | grep -vxF "$own" | sed "s|^|$built/|")
    # shellcheck disable=SC2086
    ninja -C "$out" $own >"$work/log" 2>&1 &&
        (cd "$out" && "$2" $own $objects -o cli/reprise $(pkg-config --libs libcrypto libarchive yaml-0.1) $images \
            -lpthread -ldl -lm >"$work/log" 2>&1)
}

# without its folder, which it does not have where the preset was given again
here=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=\(.*\/\)*//p' "$built/CMakeCache.txt")
grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release' "$built/CMakeCache.txt" || here="$here, not -O3"
compare "this build ($here)" "$reprise"
for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null; then
        echo "skipped: no $compiler"
        continue
    fi
    for level in 0 1 3; do
        [ "$level" != 3 ] || [ $compiler != "$here" ] || continue
        [ "$level" != 1 ] || [ $compiler = gcc ] || continue # at which gcc 12.2 once made wrong code of a loop
        out=$build/$compiler-O$level
        label="$compiler -O$level"
        preset=
        if [ "$level" = 0 ] && [ $compiler = clang ] && [ -f "$source/build/sanitize/CMakeCache.txt" ]; then
            preset=sanitize # built already
            label="clang -O1, sanitized"
        elif [ "$level" = 3 ] && [ -f "$source/build/$compiler/CMakeCache.txt" ]; then # that preset: -O3 too
            preset=$compiler
        fi
        if [ -n "$preset" ]; then
            out=$source/build/$preset
            cmake --build "$out" --target reprise_cli >"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }
        else
            command_of "$out" $compiler "-O$level" || { tail -40 "$work/log"; exit 1; }
        fi
        compare "$label" "$out/cli/reprise"
    done
done
for threads in 1 2 3 7; do
    options="--threads $threads" compare "threads $threads" "$reprise"
done
for isa in $(echo "$levels" | grep -vx "$best"); do # which all of the above ran
    options="--isa $isa" compare "kernels $isa" "$reprise"
done
echo "identical everywhere"
