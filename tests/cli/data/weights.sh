#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Weights of a file as a run's first ones: of this model and another tool, recorded by digest, replayed from the archive
# alone, told by verify, report and policy; what does not fit is refused. Usage: weights.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"

holds "the data are made" python3 "$source_dir/tests/cli/data/make_arrays.py" .
recipe() { # name, model, train, more lines
    printf '%s\n' 'reprise: 1' 'seed: 5' 'data: {arrays: x32.npy, target: y.npy}' "model: {$2}" "train: {$3}" \
        "${@:4}" >"$1.yaml"
}
recipe a 'hidden: [8]' 'epochs: 20, batch: 16, optimizer: {lr: 0.01}'
recipe b 'hidden: [8]' 'epochs: 1, batch: 16, optimizer: {lr: 0.000001}' 'weights: given.safetensors'
works '^validation' "$reprise" run a.yaml -o a.reprise
"$reprise" inspect a.reprise --member weights/final.safetensors -o given.safetensors >/dev/null
"$reprise" inspect a.reprise --member outputs/metrics.json -o a.json >/dev/null
digest=$(sha256sum given.safetensors | cut -c1-64)
works '^validation' "$reprise" run b.yaml -o b.reprise
"$reprise" inspect b.reprise --member outputs/metrics.json -o b.json >/dev/null
accuracy() { sed 's/.*"validation":{"accuracy":"\([^"]*\)".*/\1/' "$1"; }
holds "it goes on where the weights were" test "$(accuracy a.json)" = "$(accuracy b.json)"
works "\"weights\":\"$digest\"" "$reprise" inspect b.reprise --member run/recipe.json
"$reprise" inspect b.reprise --member weights/start.safetensors -o start.safetensors >/dev/null
holds "the archive has them" cmp start.safetensors given.safetensors
works "^weights +its first ones are those of a file with the SHA-256 $digest" \
    "$reprise" verify b.reprise --allow-unsigned
mv given.safetensors elsewhere
works '^identical .*every bit' "$reprise" replay b.reprise --isa ref --threads 1
works '^range' "$reprise" replay b.reprise --steps 2:4
fails '[12]' 'given.safetensors: cannot open' "$reprise" run b.yaml -o n.reprise
mv elsewhere given.safetensors
works '^written' "$reprise" report b.reprise -o b.html
holds "the report says whose weights these may be" grep -q 'which may have been trained elsewhere' b.html
"$reprise" keygen me >/dev/null
printf '%s\n' 'policy: 1' 'groups: {b: [me.pub.pem]}' 'builder: {of: b}' 'parent: none' >none.yaml
works '^archive' "$reprise" run a.yaml -o as.reprise --key me.pem
works '^archive' "$reprise" run b.yaml -o bs.reprise --key me.pem
works '^met +parent: ' "$reprise" verify as.reprise --policy none.yaml
gives 4 '^unmet +parent: .*but its first states are the weights of a file' \
    "$reprise" verify bs.reprise --policy none.yaml
works '^archive' "$reprise" retrain b.reprise --csv all.csv -o child.reprise
holds "a child has none of its own" \
    sh -c '! "$0" inspect child.reprise --member run/recipe.json | grep -q "\"weights\":"' "$reprise"
works '^left out' "$reprise" run b.yaml -o w.reprise --withhold kept
works '^identical' "$reprise" replay w.reprise --withheld kept

# Of another tool, for a model that is a program; and with early stopping.
recipe p 'program: forward.json, initial: initial.json' 'epochs: 3, patience: 2' 'weights: w.safetensors'
works '^validation' "$reprise" run p.yaml -o p.reprise
works '^identical' "$reprise" replay p.reprise

recipe n 'hidden: [9]' 'epochs: 1' 'weights: given.safetensors'
fails 1 'key weights: layer0.weight f32\[16,9\] of this recipe' "$reprise" run n.yaml -o n.reprise
recipe n 'hidden: [8, 8]' 'epochs: 1' 'weights: given.safetensors'
fails 1 'key weights: layer[12].[a-z]+ ' "$reprise" run n.yaml -o n.reprise
recipe n 'hidden: [8]' 'epochs: 1' 'weights: all.csv'
fails 1 'key weights: .*all.csv' "$reprise" run n.yaml -o n.reprise
recipe n 'hidden: [8]' 'epochs: 1' 'weights: given.safetensors' 'challengers: {seeds: 2}'
fails 2 'key weights' "$reprise" run n.yaml -o n.reprise
recipe n 'hidden: [8]' 'epochs: 1' 'weights: given.safetensors' 'parent: {archive: a.reprise}'
fails 2 'key weights: the run starts from its parent' "$reprise" run n.yaml -o n.reprise
recipe n '' 'solver: exact' 'weights: given.safetensors'
fails 2 'key weights: what is fitted exactly' "$reprise" run n.yaml -o n.reprise
fails 2 'is the file of weights' "$reprise" run b.yaml -o given.safetensors --force
"$reprise" inspect b.reprise --member run/recipe.json -o resolved.json >/dev/null
mkdir -p data && "$reprise" inspect b.reprise --member data/raw.csv -o data/raw.csv >/dev/null
fails 2 'names the file by its digest alone' "$reprise" run resolved.json -o n.reprise
finish
