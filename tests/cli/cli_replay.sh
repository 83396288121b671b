#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise replay of a part and reprise verify --parent as a user has them: ranges, samples, several at a time, what is
# attested, and what is refused. The draw is compared with the Python of docs/replay.md. Usage: cli_replay.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh" "$1"

rows 200 >data.csv
recipe a.yaml data.csv 6 'record: {checkpoint_every: 3}'
works '^archive' "$reprise" run a.yaml -o a.reprise
id=$(sed -n 's/^archive *//p' "$log/out")

# ---- ranges ----
works '^identical +a.reprise: 6 of 63 steps' "$reprise" replay a.reprise --steps 7:11
works '^range +steps 6 to 11; 2 of 21 segments' "$reprise" replay a.reprise --steps 7:11
works '^range +steps 60 to 62; 1 of 21 segments' "$reprise" replay a.reprise --steps 62:62
works '"scope":\{"first":6,"last":7,"mode":"range","seed":null,"segments":0,"segments_total":21,"steps":2,'\
'"steps_total":63\}' \
    "$reprise" replay a.reprise --steps 7:7 --json
works '^range +steps 0 to 62; 21 of 21 segments' "$reprise" replay a.reprise --parallel 4 --threads 1
works '"mode":"full"' "$reprise" replay a.reprise --json
fails 2 'steps 0 to 63: the run has the steps 0 to 62' "$reprise" replay a.reprise --steps 0:63
for bad in 3 3: :3 3:2 a:b 3:4:5 -1:2 1:99999999999999999999 ''; do
    fails 2 'expected FIRST:LAST' "$reprise" replay a.reprise "--steps=$bad"
done

# ---- samples ----
works '^sample +5 of 21 segments, drawn by the seed "audit 17"' "$reprise" replay a.reprise --sample 20% \
    --seed 'audit 17'
works '^catches +one forged segment with a probability of 23.81 %; 1 % of them: 23.81 %' \
    "$reprise" replay a.reprise --sample 0.2 --seed 'audit 17' --parallel 3 --threads 1
works '^sample +21 of 21 .*' "$reprise" replay a.reprise --sample 1 --seed x
works '"drawn":\[[0-9]+\]' "$reprise" replay a.reprise --sample 0.000001 --seed x --json
for bad in 0 0.0 1.1 101% 5%% % . '' 0.0000001 -1 1e-2 5,0; do
    fails 2 'expected a share above 0' "$reprise" replay a.reprise "--sample=$bad" --seed x
done
works 'drawn by the seed "[0-9a-f]{32}"$' "$reprise" replay a.reprise --sample 5%
one=$(grep '^sample' "$log/out")
works '^sample' "$reprise" replay a.reprise --sample 5%
holds 'no seed is drawn twice' test "$one" != "$(grep '^sample' "$log/out")"
fails 2 '--seed is of use only with --sample' "$reprise" replay a.reprise --seed x
fails 2 'exclude each other' "$reprise" replay a.reprise --sample 5% --seed x --steps 1:2
fails 2 'the seed of a sample is 1 to 128' "$reprise" replay a.reprise --sample 5% --seed ' x'

if command -v python3 >/dev/null; then
    sed -n '/^```python$/,/^```$/p' "$source_dir/docs/replay.md" | grep -v '^```' >draw.py
    for seed in 'audit 17' x '"quoted" ~'; do
        drawn=$(python3 draw.py "$seed" "$id" 21 7)
        works "^segments +$drawn\$" "$reprise" replay a.reprise --sample 0.3 --seed "$seed"
    done
else
    skip 'python3 is not installed: the draw of docs/replay.md is not repeated'
fi

# ---- what is attested is what was replayed ----
works . "$reprise" keygen me
works '^attested +signatures/verdict-' "$reprise" replay a.reprise --sample 10% --seed 'words' --attest --key me.pem
member=$(sed -n 's/^attested *//p' "$log/out")
works . "$reprise" inspect a.reprise --member "$member"
payload=$(sed 's/.*"payload":"//; s/".*//' "$log/out" | base64 -d)
holds 'the verdict tells of the sample' grep -q '"mode":"sample","seed":"words","segments":3,"segments_total":21' \
    <<<"$payload"
works '^attested' "$reprise" replay a.reprise --steps 4:4 --attest --key me.pem
member=$(sed -n 's/^attested *//p' "$log/out")
works . "$reprise" inspect a.reprise --member "$member"
payload=$(sed 's/.*"payload":"//; s/".*//' "$log/out" | base64 -d)
holds 'the verdict tells of the range' grep -q '"first":3,"last":4,"mode":"range","seed":null,"segments":0' \
    <<<"$payload"

# ---- a run without checkpoints is one segment ----
recipe plain.yaml data.csv 2
works '^archive' "$reprise" run plain.yaml -o plain.reprise
works '^sample +1 of 1 segments' "$reprise" replay plain.reprise --sample 1% --seed x
works '^range +steps 0 to 4; 0 of 1 segments' "$reprise" replay plain.reprise --steps 3:4
works '0 of 2 segments|0 of 1 segments' "$reprise" replay "$source_dir/golden/branch.reprise" --steps 0:0

# ---- lineage ----
recipe b.yaml data.csv 3 'parent: {archive: a.reprise}'
recipe c.yaml data.csv 3 'parent: {archive: a.reprise, weights: 30, mode: retrain}'
works '^archive' "$reprise" run b.yaml -o b.reprise
works '^archive' "$reprise" run c.yaml -o c.reprise
for child in b c; do
    works "^parent +$id: started from its states" "$reprise" verify $child.reprise --allow-unsigned --parent a.reprise
    works "^parent +$id, not checked here" "$reprise" verify $child.reprise --allow-unsigned
    works "\"parent\":\\{\"archive_id\":\"$id\",\"checked\":true,\"pinned_to\":null,\"replayed\":0\\}" \
        "$reprise" verify $child.reprise --allow-unsigned --parent a.reprise --json
    works "^parent +$id" "$reprise" inspect $child.reprise
    works '^identical' "$reprise" replay $child.reprise --parent a.reprise
    holds 'the parent is replayed too' grep -q "^parent.*are those of a.reprise; 1 run replayed, every bit" "$log/out"
done
works '"parent":null' "$reprise" verify plain.reprise --allow-unsigned --json
fails 4 'parent: recorded archive id .*, found ' "$reprise" verify b.reprise --allow-unsigned --parent plain.reprise
fails 4 'parent: recorded archive id .*, found ' "$reprise" replay b.reprise --parent c.reprise
fails 4 'has no parent' "$reprise" verify a.reprise --allow-unsigned --parent a.reprise
fails 1 'nothing' "$reprise" verify b.reprise --allow-unsigned --parent nothing.reprise
# a line is replayed from its beginning on, or what is behind it is told
recipe e.yaml data.csv 3 'parent: {archive: b.reprise, mode: retrain}'
works '^archive' "$reprise" run e.yaml -o e.reprise
works "^parent .*: 1 run replayed, but the last one started from $id, which was not given" \
    "$reprise" replay e.reprise --parent b.reprise
works '^parent .*: started from .*; 2 runs of the line replayed, every bit' \
    "$reprise" replay e.reprise --parent b.reprise --parent a.reprise
fails 4 'parent: recorded archive id .*, found ' "$reprise" replay e.reprise --parent b.reprise --parent c.reprise
# ---- a model that learnt elsewhere, and hides where ----
recipe g.yaml data.csv 1 'parent: {archive: a.reprise, mode: retrain}'
sed -i '/^train:/a\  optimizer: {kind: sgd, lr: 1e-30}' g.yaml
works '^archive' "$reprise" run g.yaml -o g.reprise --key me.pem
"$reprise" keygen val >/dev/null
policy() { printf 'policy: 1\ngroups: {b: [me.pub.pem], v: [val.pub.pem]}\nbuilder: {of: b}\n%s\n%s\n' \
    'replay: {mode: full, by: v, independent: true}' "$1"; }
policy '' >parents.yaml
works '^attested' "$reprise" replay g.reprise --attest --key val.pem
gives 4 '^unmet +parent: .*did not replay it, it started from archive' "$reprise" verify g.reprise --policy parents.yaml
holds 'the parent stands before all else' grep -q '^parent.*not checked here' <(sed -n 2,4p "$log/out")
policy 'parent: any' >any.yaml
works '^verified' "$reprise" verify g.reprise --policy any.yaml
works '; its parent was not replayed' "$reprise" verify g.reprise --policy any.yaml
works '^attested' "$reprise" replay g.reprise --parent a.reprise --attest --key val.pem
works '^met +parent: .*replayed it too' "$reprise" verify g.reprise --policy parents.yaml
policy 'parent: none' >none.yaml
gives 4 '^unmet +parent: starts from no other' "$reprise" verify g.reprise --policy none.yaml
# and held against the policy itself, by whoever has it
policy 'parent: met' >met.yaml
cp a.reprise p.reprise
gives 4 '^unmet +parent: .*meets this policy itself: .*was not given' "$reprise" verify g.reprise --policy met.yaml
gives 4 '^unmet +parent: .*does not meet this policy' "$reprise" verify g.reprise --policy met.yaml --parent p.reprise
works '^archive' "$reprise" run a.yaml -o p.reprise --key me.pem --force
works '^attested' "$reprise" replay p.reprise --attest --key val.pem
works '^met +parent: .*that archive meets this policy' "$reprise" verify g.reprise --policy met.yaml --parent p.reprise
fails 4 'parent: recorded archive id' "$reprise" verify g.reprise --policy met.yaml --parent plain.reprise
works 'met.html' "$reprise" report g.reprise -o met.html --policy met.yaml --parent p.reprise
gives 4 'unmet.html' "$reprise" report g.reprise -o unmet.html --policy met.yaml
works 'g.html' "$reprise" report g.reprise -o g.html --policy parents.yaml
holds 'the report tells the parent first' grep -q 'Its weights started from another run' g.html
recipe d.yaml data.csv 3 'parent: {archive: gone.reprise}'
fails 1 'gone.reprise' "$reprise" run d.yaml -o d.reprise
recipe d.yaml data.csv 3 'parent: {archive: a.reprise, weights: 31}'
fails 2 'no checkpoint after 31 steps' "$reprise" run d.yaml -o d.reprise
finish
