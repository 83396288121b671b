#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Training steps beside PyTorch's: runs bench/steps and bench/peers/steps_torch.py in turn and prints, for each network
# and number of threads, the median of the rounds' best times (microseconds) and the ratio to PyTorch's fastest mode.
#
#   bench/steps.sh [BUILD_FOLDER [ROUNDS]]
#
# PYTHON names a Python that has torch, MODES its modes (all when empty); NETWORKS and THREADS choose what is run.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
rounds=${2:-7}
python=${PYTHON:-python3}
modes=${MODES-eager-fused compile-fused}
times=$(mktemp)
trap 'rm -f "$times"' EXIT

for network in ${NETWORKS:-gelu mlp}; do
    for threads in ${THREADS:-1 2}; do
        for round in $(seq "$rounds"); do
            "$build/bench/steps" $network "$threads" | sed "s/^/$threads reprise /" >>"$times"
            "$python" bench/peers/steps_torch.py $network "$threads" $modes 2>/dev/null |
                sed "s/^/$threads torch /" >>"$times"
        done
    done
done
# fields: threads, side, network, mode, median, best
sort -k1,4 -k6,6g "$times" | awk '
    { key = $3 " " $1 " " $2 " " $4; n[key]++; time[key, n[key]] = $6; if (n[key] == 1) order[++keys] = key }
    END {
        for (k = 1; k <= keys; k++) {
            key = order[k]; split(key, f, " "); m = n[key]; at = f[1] " " f[2]
            median[key] = m % 2 ? time[key, (m + 1) / 2] : (time[key, m / 2] + time[key, m / 2 + 1]) / 2
            if (f[3] == "torch" && f[4] ~ /^eager/ && (!(at in eager) || median[key] < eager[at]))
                eager[at] = median[key]
            if (f[3] == "torch" && (!(at in peer) || median[key] < peer[at])) peer[at] = median[key]
        }
        printf "%-8s %7s  %-8s %-14s %10s  %16s %16s\n", "network", "threads", "", "mode", "us",
            "x fastest eager", "x fastest"
        for (k = 1; k <= keys; k++) {
            split(order[k], f, " "); at = f[1] " " f[2]
            printf "%-8s %7s  %-8s %-14s %10.1f", f[1], f[2], f[3], f[4], median[order[k]] * 1e6
            if (f[3] == "reprise" && (at in peer))
                printf "  %16.2f %16.2f", eager[at] / median[order[k]], peer[at] / median[order[k]]
            printf "\n"
        }
    }'
