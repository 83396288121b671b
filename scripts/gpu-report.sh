#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a GPU does with Reprise, as one signed file to send back: doctor and every kernel's conformance, goldens,
# products beside cuBLAS in its pedantic mode, tensors of up to 2^32 elements, convolution and networks' steps beside
# PyTorch where it is installed, archives held against the CPU's, hashing, compute-sanitizer. A part that fails is told,
# and the rest goes on. Usage:
#   scripts/gpu-report.sh [--device cuda[:N]|emulated] [--reduced] [--key KEY.pem] [--build FOLDER] [OUT]
# Makes OUT.json (a DSSE envelope; scripts/gpu-report.py verify OUT.json KEY.pub.pem) and OUT.html, OUT being gpu-report
# where it is not given. Without --key a key is made beside them. The emulated device is reduced always. Exit 1 when a
# part failed.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
named() { # a file by its name where the script was called
    case $1 in /*) echo "$1" ;; *) echo "$here/$1" ;; esac
}
device=cuda reduced= key= build=build/release out=$here/gpu-report
while [ $# -gt 0 ]; do
    case $1 in --device | --key | --build)
        [ $# -ge 2 ] || { echo "gpu-report: $1 needs a value (see --help)" >&2; exit 2; } ;;
    esac
    case $1 in
    --device) device=$2; shift 2 ;;
    --reduced) reduced=reduced; shift ;;
    --key) key=$(named "$2"); shift 2 ;;
    --build) build=$(named "$2"); shift 2 ;;
    -h | --help) sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "gpu-report: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) out=$(named "$1"); shift ;;
    esac
done
case $device in emulated*) reduced=reduced ;; esac
reprise=$build/cli/reprise
for needed in "$reprise" "$build/bench/gpu" "$build/bench/large" "$build/bench/hashing" \
    "$build/bench/pinned"; do
    [ -x "$needed" ] || { echo "gpu-report: $needed is not there: cmake --build $build" >&2; exit 2; }
done
[ -d "$(dirname "$out")" ] || { echo "gpu-report: $(dirname "$out"): no such folder" >&2; exit 2; }
[ -z "$key" ] || openssl pkey -in "$key" -noout 2>/dev/null ||
    { echo "gpu-report: $key: expected a private key in PEM, as reprise keygen writes it" >&2; exit 2; }
if [ -z "$key" ]; then
    [ -e "$out-key.pem" ] || "$reprise" keygen "$out-key" >/dev/null
    key=$out-key.pem
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# part NAME COMMAND...: its output, time and exit status become a part of the report. 77: skipped, the output says why.
part() {
    local name=$1 status=0 begin
    shift
    begin=$(date +%s.%N)
    set +e # not "|| status=$?": errors would be ignored inside
    (set -e; "$@") >"$work/$name.out" 2>"$work/$name.err"
    status=$?
    set -e
    printf '%s\t%s\t%s\t%s\n' "$name" "$status" "$(echo "$(date +%s.%N) $begin" | awk '{print $1 - $2}')" "$*" \
        >>"$work/parts.tsv"
    case $status in
    0) echo "gpu-report: $name" >&2 ;;
    77) echo "gpu-report: $name: skipped: $(tail -n 1 "$work/$name.out")" >&2 ;;
    *) echo "gpu-report: $name: FAILED ($status): $(tail -n 1 "$work/$name.err")" >&2 ;;
    esac
}

# Runs a recipe here and there: the archives are the same bytes but for who signed, which nobody did.
same_archive() {
    local recipe=$1 name data
    name=$(basename "$recipe" .yaml)
    data=$(dirname "$recipe")/$(sed -n 's/^ *csv: *\([^ #]*\).*/\1/p' "$recipe")
    [ -e "$data" ] || { echo "the recipe's data are not here: $data"; exit 77; }
    "$reprise" run "$recipe" -o "$work/$name-cpu.reprise" --json >"$work/$name-cpu.json"
    "$reprise" run "$recipe" -o "$work/$name-gpu.reprise" --device "$device" --json >"$work/$name-gpu.json"
    cmp "$work/$name-cpu.reprise" "$work/$name-gpu.reprise"
    "$reprise" replay "$work/$name-cpu.reprise" --device "$device" >/dev/null
    echo "$name: equal archives, and the CPU's replays on the device"
}

peers() {
    "${PYTHON:-python3}" -c 'import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)' 2>/dev/null ||
        { echo "no PyTorch with CUDA is installed"; exit 77; }
    "${PYTHON:-python3}" bench/peers/gpu_torch.py
}

steps() {
    "${PYTHON:-python3}" -B bench/gpu/steps.py "$build" --device "$device"
}

# What the tests of the emulated device hold of it, held of the chip.
tests() {
    local chip=$build/tests/emu/libreprise-chip.so
    [ -e "$chip" ] || { echo "the tests are not built"; exit 77; }
    for test in conformance tiles attention group_norm chains plans models sequences hashing functions; do
        echo "emulated_$test"
        RP_EMULATED_LIBRARY=$chip "$build/tests/emu/emulated_$test"
    done
    for test in test_device test_far_memory test_far_runs; do
        echo "$test"
        RP_EMULATED_LIBRARY=$chip RP_FAR_DEVICE=emulated "$build/tests/$test"
    done
}

# pinned_twice WHAT COMMAND...: the command, called with an archive's name behind it, makes the same archive twice, and
# one that replays here, to the bit; not on a CPU.
pinned_twice() {
    local what=$1 status=0 name
    shift
    for name in a b; do
        rm -f "$work/$name.reprise"
        "$@" "$work/$name.reprise" >/dev/null
    done
    cmp "$work/a.reprise" "$work/b.reprise"
    "$reprise" replay "$work/a.reprise" --device "$device" >/dev/null
    "$reprise" replay "$work/a.reprise" --device cpu >"$work/refused" 2>&1 || status=$?
    [ "$status" = 5 ]
    grep -q 'is not attempted here' "$work/refused"
    echo "$what: two runs are one archive, which replays here, and is refused on a CPU"
}
pinned_recipe() { # RECIPE COMPUTE
    { cat "$1"; printf 'profile: pinned\npinned: {compute: %s}\n' "$2"; } >"$work/pinned.yaml"
    pinned_twice "$2, $(basename "$1")" "$reprise" run "$work/pinned.yaml" --device "$device" -o
}

# The pinned profile: recipes whose products are binary32, an exact fit's, which are binary64, and runs of the C API,
# which alone have bfloat16 operands.
pinned() {
    local compute
    grep -q '"pinned":{' "$work/doctor.out" || { echo "cuBLASLt is not here"; exit 77; } # the doctor's part found it
    cp golden/small.csv "$work"
    for compute in f32 $([ -n "$reduced" ] || echo tf32); do
        pinned_recipe golden/small.yaml "$compute"
    done
    printf '%s\n' 'reprise: 1' 'seed: 1' 'data: {csv: small.csv, target: default, positive: "yes"}' \
        'train: {solver: exact}' >"$work/exact.yaml"
    pinned_recipe "$work/exact.yaml" f64
    for compute in $([ -n "$reduced" ] || echo f32 tf32 f64) bf16; do
        pinned_twice "$compute, C API" "$build/bench/pinned" "$device" "$compute"
    done
}

sanitizer() {
    local tool
    tool=$(command -v compute-sanitizer) || { echo "compute-sanitizer is not installed"; exit 77; }
    for check in memcheck racecheck initcheck synccheck; do
        "$tool" --tool "$check" --error-exitcode 1 "$build/bench/gpu" "$device" reduced
        "$tool" --tool "$check" --error-exitcode 1 "$build/bench/hashing" 1 1 "$device"
    done
}

driver() {
    local tool
    tool=$(command -v nvidia-smi) || { echo "nvidia-smi is not installed"; exit 77; }
    "$tool" --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,memory.total,ecc.mode.current --format=csv
}

part driver driver
part doctor "$reprise" doctor --device "$device" --json
part goldens "$reprise" golden check golden --device "$device"
part kernels "$build/bench/gpu" "$device" $reduced
part large "$build/bench/large" "$device" $reduced
part loans same_archive examples/loans.yaml
part pinned pinned
if [ -z "$reduced" ]; then
    part tests tests
    part digits same_archive examples/digits.yaml
    part images same_archive examples/digits_cnn.yaml
    part bench "$reprise" bench --device "$device" --json
    part steps steps
fi
part hashing "$build/bench/hashing" $([ -n "$reduced" ] && echo 1 3 || echo 96 31) "$device"
part peers peers
part sanitizer sanitizer
python3 scripts/gpu-report.py make "$work" "$device" "${reduced:-full}" "$key" "$out"
