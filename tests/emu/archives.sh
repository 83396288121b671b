#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recipes make the same archive on the emulated device as on the processor, byte for byte, each in one of the three
# orders; states that are large enough are hashed there. The golden archives replay there, and one made there replays on
# the processor. Usage: archives.sh REPRISE SOURCE_DIR, with RP_EMULATED_LIBRARY naming the device.
set -euo pipefail
reprise=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 made=0

bad() {
    echo "FAIL: $*"
    failed=$((failed + 1))
}

for device in cpu emulated; do # two copies of the recipes, as some start from others' archives
    mkdir -p "$work/$device/examples"
    cp -r "$source/golden" "$work/$device"
    rm "$work/$device/golden"/*.reprise
    cp "$source/examples/loans.csv" "$work/$device/examples"
done
for period in 1 3; do # digests of whole states, and rolling ones
    for device in cpu emulated; do
        { sed 's/hidden: .*/hidden: [300, 300]/; s/batch: .*/batch: 120/' "$source/golden/small.yaml"
          [ $period = 1 ] || echo "record: {state_period: $period}"; } >"$work/$device/golden/large_$period.yaml"
    done
done
for recipe in "$source"/golden/*.yaml "$source"/golden/large_1.yaml "$source"/golden/large_3.yaml \
    "$source"/golden/bits/*.yaml; do
    path=${recipe#"$source"/}
    for device in cpu emulated; do
        (cd "$work/$device/$(dirname "$path")" && RP_EMULATED_ORDER=$((made % 3)) "$reprise" run "$(basename "$path")" \
            -o "$(basename "$path" .yaml).reprise" --device $device) >"$work/log" 2>&1 ||
            { tail -3 "$work/log"; bad "$path on $device"; }
    done
    cmp "$work/cpu/${path%.yaml}.reprise" "$work/emulated/${path%.yaml}.reprise" || bad "$path: the archives differ"
    made=$((made + 1))
done
"$reprise" replay "$work/emulated/golden/small.reprise" >"$work/log" 2>&1 ||
    { tail -3 "$work/log"; bad "an archive of the emulated device on the processor"; }
for period in 1 3; do # what fails was there; the first launch may be the conformance test's, the third is a step's
    if (cd "$work/emulated/golden" && RP_EMULATED_FAIL=rp_gpu_sha256:3:719 "$reprise" run "large_$period.yaml" \
        -o failed.reprise --device emulated) >"$work/log" 2>&1; then
        bad "states with period $period were not hashed on the device"
    fi
    grep -q 'kernel rp_gpu_sha256: device emulated: cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED' "$work/log" ||
        bad "a hash that fails says $(tail -1 "$work/log")"
done
order=0
for archive in small image branch; do
    RP_EMULATED_ORDER=$order "$reprise" replay "$source/golden/$archive.reprise" --device emulated >"$work/log" 2>&1 ||
        { tail -3 "$work/log"; bad "golden $archive on the emulated device"; }
    order=$((order + 1))
done
# Who reads of it is told what computed: on the screen, of a verdict, in the report, for programs.
says() {
    local text=$1
    shift
    "$@" >"$work/log" 2>&1 || { tail -3 "$work/log"; bad "$*"; }
    grep -qF "$text" "$work/log" || bad "expected \"$text\" of $*, found $(cat "$work/log")"
}
chip='emulated-sm80 Emulated driver'
told=$work/told.reprise
(cd "$work" && "$reprise" keygen me >/dev/null)
says "kernels $chip" "$reprise" run "$work/cpu/golden/small.yaml" -o "$told" --device emulated --key "$work/me.pem"
says "kernels $chip" "$reprise" replay "$told" --device emulated --attest --key "$work/me.pem"
says "identical, all 15 steps, kernels $chip" "$reprise" verify "$told" --trust "$work/me.pub.pem"
says "\"device\":\"$chip" "$reprise" verify "$told" --trust "$work/me.pub.pem" --json
says "\"device\":\"$chip" "$reprise" replay "$told" --device emulated --json
says '"device":null' "$reprise" replay "$told" --json
"$reprise" report "$told" -o "$work/told.html" --trust "$work/me.pub.pem" >/dev/null
says ", kernels $chip" cat "$work/told.html"
says ">$chip" cat "$work/told.html"

# Too little memory, and settings that are none, are told with what there is and what there may be.
refused() {
    local text=$1
    shift
    ! env "$@" "$reprise" replay "$told" --device emulated >"$work/log" 2>&1 || bad "$* was taken"
    grep -qF "$text" "$work/log" || bad "expected \"$text\" of $*, found $(cat "$work/log")"
}
refused 'MiB were asked for, and of the device' RP_EMULATED_MEMORY=10000
refused 'cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY' RP_EMULATED_FAIL=cuMemAlloc:2:CUDA_ERROR_OUT_OF_MEMORY
refused 'expected a number from 0 to 2' RP_EMULATED_ORDER=3
for setting in ORDER=x DEVICES=9 MEMORY=4G THREADS=0 FAIL=cuMemAlloc FAIL=cuMalloc:1:2 FAIL=kernel:0:2 \
    FAIL=copy:1:2x; do
    refused "RP_EMULATED_$setting: expected" RP_EMULATED_$setting
done
echo "$made recipes, $failed failures"
[ "$made" -ge 12 ] && [ "$failed" -eq 0 ]
