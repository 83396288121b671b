#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs at the limits of what archives may hold: whatever is written can be read by every command, and what could not be is
# refused before the first step. Usage: tests/cli_limits.sh BUILD_DIR
# shellcheck source=tests/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

holds "a key" "$reprise" keygen me

# ---- as many classes as there may be: two matrices of a million numbers ----
awk 'BEGIN { print "x,c"; for (i = 0; i < 2000; i++) printf "%d,k%d\n", i * 7 % 97, i % 1000 }' >classes.csv
printf '%s\n' 'reprise: 1' 'data: {csv: classes.csv, target: c, folds: 2}' 'model: {hidden: []}' 'train: {epochs: 1, batch: 500}' >classes.yaml
works '^training +accuracy ' "$reprise" run classes.yaml -o classes.reprise --key me.pem
works '^training +accuracy ' "$reprise" replay classes.reprise --attest --key me.pem
works '^training +accuracy ' "$reprise" inspect classes.reprise
works '^written' "$reprise" report classes.reprise -o classes.html --trust me.pub.pem
holds "the report shows the metrics" bash -c '! grep -q "metrics cannot be shown" classes.html'
finish
