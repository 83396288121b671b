#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs at the limits of what archives may hold: whatever is written can be read by every command, and what could not be
# is refused before the first step. Usage: tests/cli/cli_limits.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

holds "a key" "$reprise" keygen me

# ---- as many classes as there may be: two matrices of a million numbers ----
awk 'BEGIN { print "x,c"; for (i = 0; i < 2000; i++) printf "%d,k%d\n", i * 7 % 97, i % 1000 }' >classes.csv
printf '%s\n' 'reprise: 1' 'data: {csv: classes.csv, target: c, folds: 2}' 'model: {hidden: []}' \
    'train: {epochs: 1, batch: 500}' >classes.yaml
works '^training +accuracy ' "$reprise" run classes.yaml -o classes.reprise --key me.pem
works '^training +accuracy ' "$reprise" replay classes.reprise --attest --key me.pem
works '^training +accuracy ' "$reprise" inspect classes.reprise
works '^written' "$reprise" report classes.reprise -o classes.html --trust me.pub.pem
holds "the report shows the metrics" bash -c '! grep -q "metrics cannot be shown" classes.html'

# ---- rows that the recipe leaves out are in no figure, and the report says how many ----
{ echo x,z,y; for i in $(seq 60); do echo "$((i % 7)),$((i % 3)),$((i % 2))"; done; } >left.csv
printf 'reprise: 1\ndata: {csv: left.csv, target: y, where: [{column: z, is: "!=", value: 0}]}\n' >left.yaml
works 'left out' "$reprise" run left.yaml -o left.reprise
works '^written' "$reprise" report left.reprise -o left.html
holds "the first page tells rows left out" grep -q '; 20 rows left out</small>' left.html
holds "and by which key" grep -q "20 of 60 (33.3.*%) of the file.*s rows by the recipe.*s data.where" left.html

# ---- more members than a manifest parsed at once has room for ----
mkdir g
printf '%s\n' x,y 1,a 2,b 3,a 4,b >g/few.csv
printf '%s\n' 'reprise: 1' 'data: {csv: few.csv, target: y, folds: 2}' 'model: {hidden: []}' \
    'train: {epochs: 36000, batch: 2}' \
    'record: {checkpoint_every: 1}' >g/many.yaml
works '^recorded ' "$reprise" golden record g
works '^run +recipe, 3600[0-9] steps' "$reprise" inspect g/many.reprise
works '"kind":"recipe"' "$reprise" inspect g/many.reprise --json
works '"state_period"|"steps"' "$reprise" inspect g/many.reprise --member manifest.json

# ---- a recipe that is longer with all its defaults than an archive has room for ----
awk 'BEGIN {
    n = 4095; tail = sprintf("%0236d", 0)
    for (i = 0; i < n; i++) printf "c%04d%s,", i, tail
    print "y"
    for (r = 0; r < 8; r++) { for (i = 0; i < n; i++) printf "%d,", (i * 7 + r) % 5; print r % 2 }
    printf "reprise: 1\ndata:\n csv: wide.csv\n target: y\n folds: 2\n columns: {" >"wide.yaml"
    for (i = 0; i < n; i++) printf "%sc%04d%s: numeric", i ? "," : "", i, tail >"wide.yaml"
    printf "}\ntrain: {epochs: 1000000, batch: 2}\n" >"wide.yaml"
}' >wide.csv
fails 2 'run/recipe.json: would take 1[0-9]+ bytes, archives have room for 1048576' "$reprise" run wide.yaml \
    -o wide.reprise

# ---- a name that no file can have: told before the training, which would take hours ----
rows 200 >data.csv
recipe slow.yaml data.csv 1000000
fails 1 'File name too long' "$reprise" run slow.yaml -o "$(printf 'x%.0s' $(seq 240)).reprise"
fails 1 'cannot write here|cannot open|o such file' "$reprise" run slow.yaml -o nowhere/out.reprise
finish
