#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a sampled replay costs beside the run itself: a signed run with 98 checkpoints, then samples of 5 % of its
# segments, verification of hashes and signature included. Run and replays alternate, on one thread; each is a process
# of its own and its time the wall clock's from start to end, and the processor's.
#
#   bench/replay.sh REPRISE [ROUNDS [ROWS [HIDDEN [EVERY [EPOCHS]]]]]
set -eu
reprise=$1 rounds=${2:-3} rows=${3:-10000} hidden=${4:-"256, 256"} every=${5:-97} epochs=${6:-300}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
cd "$folder"
awk -v rows="$rows" 'BEGIN {
    s = 12345
    for (c = 0; c < 20; c++) printf "x%d,", c
    print "y"
    for (r = 0; r < rows; r++) {
        t = 0
        for (c = 0; c < 20; c++) { s = (s * 16807) % 2147483647; v = s % 20000 - 10000; t += c % 3 ? v : -v
            printf "%.3f,", v / 1000 }
        print (t > 0 ? "yes" : "no")
    }
}' > table.csv
cat > recipe.yaml <<RECIPE
reprise: 1
data: {csv: table.csv, target: y}
model: {hidden: [$hidden]}
train: {epochs: $epochs, batch: 256}
record: {checkpoint_every: $every}
RECIPE
"$reprise" keygen key > /dev/null

# prints wall and processor seconds of a command
timed() {
    { /usr/bin/env bash -c 'TIMEFORMAT="%R %U %S"; time "$@" > out.txt' bash "$@"; } 2>&1 |
        awk 'END {print $1, $2 + $3}'
}
: > runs.txt
: > samples.txt
: > verifies.txt
: > ones.txt
for round in $(seq "$rounds"); do
    timed "$reprise" run recipe.yaml --threads 1 -o a.reprise --key key.pem --force >> runs.txt
    for draw in 1 2 3; do
        timed "$reprise" replay a.reprise --threads 1 --trust key.pub.pem --sample 5% --seed "round $round draw $draw" \
            >> samples.txt
        sed -n 's/^sample *//p' out.txt > drawn.txt
    done
    timed "$reprise" replay a.reprise --threads 1 --trust key.pub.pem --steps 0:0 >> ones.txt
    timed "$reprise" verify a.reprise --trust key.pub.pem >> verifies.txt
done
middle() { sort -n | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
wall_run=$(cut -d' ' -f1 runs.txt | middle)
cpu_run=$(cut -d' ' -f2 runs.txt | middle)
wall_sample=$(cut -d' ' -f1 samples.txt | middle)
cpu_sample=$(cut -d' ' -f2 samples.txt | middle)
cpu_one=$(cut -d' ' -f2 ones.txt | middle)
cpu_verify=$(cut -d' ' -f2 verifies.txt | middle)
wall_verify=$(cut -d' ' -f1 verifies.txt | middle)
echo "archive  $(wc -c < a.reprise) bytes, $(tar tf a.reprise |
    grep -c '^checkpoints/') checkpoints; sample: $(cat drawn.txt)"
echo "run      $wall_run s wall, $cpu_run s processor (medians of $rounds)"
echo "verify   $wall_verify s wall, $cpu_verify s processor"
echo "one step $cpu_one s processor: opening, verifying, preparing the data, metrics from the final weights"
echo "sample   $wall_sample s wall, $cpu_sample s processor (medians of $((3 * rounds)))"
awk -v a="$wall_sample" -v b="$wall_run" -v c="$cpu_sample" -v d="$cpu_run" \
    'BEGIN {printf "share    %.1f %% of the run by wall clock, %.1f %% by processor time\n", 100 * a / b, 100 * c / d}'
