#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets (clang: libFuzzer, address and undefined-behaviour sanitizers) and runs each, turn by turn,
# until it has used so much CPU time.
# Usage: scripts/fuzz.sh [TARGET ...] [--cpu-seconds N] [--out FOLDER] [--jobs J] [--merge]
#   TARGET         archive, manifest, ... (tests/fuzz/fuzz_TARGET.c); all of them by default
#   --cpu-seconds  of each target, 1200 by default; what earlier runs with the same FOLDER used is counted in
#   --merge        afterwards replaces tests/fuzz/corpus/TARGET/fuzz-* by the smallest set of what was found that keeps
#                  the coverage; seeds with names of their own stay. Findings go to FOLDER/TARGET/findings.
# Prints a table: target, executions, CPU seconds, coverage (edges), inputs kept, findings. Exit 1 when there is a
# finding.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=1200 out=${TMPDIR:-/tmp}/reprise-fuzz jobs=$(nproc) merge= turn=60 targets=()
while [ $# -gt 0 ]; do
    case $1 in
        --cpu-seconds) limit=$2; shift ;;
        --out) out=$2; shift ;;
        --jobs) jobs=$2; shift ;;
        --merge) merge=yes ;;
        --*) echo "fuzz: unknown option $1" >&2; exit 2 ;;
        *) targets+=("$1") ;;
    esac
    shift
done
[ ${#targets[@]} -gt 0 ] || for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c); name=${name#fuzz_}
    [ "$name" = main ] || targets+=("$name")
done
mkdir -p "$out"
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 RP_ISA=sse2

cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang "-DCMAKE_C_FLAGS_DEBUG=-O1 -g" \
    -DRP_CUDA=OFF -DRP_SANITIZE=fuzzer-no-link,address,undefined -DRP_FUZZ=ON >"$out/build.log" 2>&1 &&
    cmake --build build/fuzz -j "$jobs" --target "${targets[@]/#/fuzz_}" >>"$out/build.log" 2>&1 ||
    { tail -30 "$out/build.log" >&2; exit 1; }

count() { cat "$out/$1/$2" 2>/dev/null || echo 0; } # of a target: seconds, executions or coverage so far
findings() { find "$out/$1/findings" -type f 2>/dev/null | wc -l; }

# One turn of a target: so many seconds by the clock, of which it may get fewer of the CPU.
run() {
    local name=$1 dir=$out/$1 options=(-max_total_time=$turn -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
        -verbosity=1) used
    mkdir -p "$dir/corpus" "$dir/findings"
    [ ! -f "tests/fuzz/fuzz.dict/$name" ] || options+=("-dict=tests/fuzz/fuzz.dict/$name")
    case $name in archive | program) options+=(-max_len=65536) ;; report) options+=(-max_len=16384) ;; \
        *) options+=(-max_len=8192) ;; esac
    TIMEFORMAT='%U %S'
    used=$( { time "build/fuzz/tests/fuzz_$name" "${options[@]}" "-artifact_prefix=$dir/findings/" "$dir/corpus" \
        "tests/fuzz/corpus/$name" >"$dir/log" 2>&1 || true; } 2>&1 | awk '{ print int($1 + $2 + 1) }')
    echo $(($(count "$name" seconds) + used)) >"$dir/seconds"
    echo $(($(count "$name" executions) + $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/log" | tail -1 |
        grep . || echo 0))) >"$dir/executions"
    grep -o 'cov: [0-9]*' "$dir/log" | tail -1 | cut -d' ' -f2 >"$dir/coverage" || true
}

# The target that has had least, of those that are not done and not running; nothing when there is none.
next() {
    for name in "${targets[@]}"; do
        [ "$(count "$name" seconds)" -ge "$limit" ] || [ -e "$out/$name/running" ] ||
            echo "$(count "$name" seconds) $name"
    done | sort -n | head -1 | cut -d' ' -f2
}

worker() {
    local name
    while :; do
        name=$( exec 9>"$out/lock"; flock 9; n=$(next); [ -z "$n" ] ||
            { mkdir -p "$out/$n"; : >"$out/$n/running"; }; echo "$n")
        if [ -z "$name" ]; then return; fi
        run "$name" || true
        rm -f "$out/$name/running"
    done
}

rm -f "$out"/*/running # of a run that was killed
trap 'kill $(jobs -p) 2>/dev/null; rm -f "$out"/*/running; exit 130' INT TERM
for ((i = 0; i < jobs; i++)); do worker & done
wait

if [ -n "$merge" ]; then
    for name in "${targets[@]}"; do
        small=$out/$name/small own=$out/$name/own
        rm -rf "$small" "$own" && mkdir -p "$small" "$own"
        find "tests/fuzz/corpus/$name" -type f ! -name 'fuzz-*' -exec cp {} "$own" \;
        cp "$own"/* "$small" 2>/dev/null || true # first, so that they are the ones that are kept
        "build/fuzz/tests/fuzz_$name" -merge=1 -timeout=60 "$small" "$out/$name/corpus" "tests/fuzz/corpus/$name" \
            >"$out/$name/merge.log" 2>&1 || true
        rm -f "tests/fuzz/corpus/$name"/fuzz-*
        bytes=0
        for file in $(ls -Sr "$small"); do # the smallest first, at most 256 KiB a target
            ! cmp -s "$small/$file" "$own/$file" || continue
            bytes=$((bytes + $(stat -c %s "$small/$file")))
            [ $bytes -le 262144 ] || break
            cp "$small/$file" "tests/fuzz/corpus/$name/fuzz-${file:0:16}"
        done
    done
fi

bad=0
printf '%-12s %12s %8s %9s %7s %9s\n' target executions cpu-s coverage inputs findings
for name in "${targets[@]}"; do
    printf '%-12s %12s %8s %9s %7s %9s\n' "$name" "$(count "$name" executions)" "$(count "$name" seconds)" \
        "$(count "$name" coverage)" \
        "$(find "$out/$name/corpus" -type f | wc -l)" "$(findings "$name")"
    [ "$(findings "$name")" -eq 0 ] || bad=1
done
exit $bad
