#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What programs cost, before they run: reprise inspect --programs, and what reprise replay refuses. Digests, uses and
# sizes of functions are found a second time, from the texts alone, by Python. Usage: cli_prices.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh" "$1"

hex="[0-9a-f]{64}"
cp "$source_dir/golden/small.reprise" a.reprise
works '^program +run/programs/0000.json: [0-9]+ instructions, [0-9]+ states, X [0-9]+, W [0-9]+, M [0-9]+$' \
    "$reprise" inspect a.reprise --programs
holds "a line for each program" test "$(grep -c '^program ' "$log/out")" -eq 5
holds "and one for each function" grep -Eq "^function +$hex: [0-9]+ instructions, 3 uses, X " "$log/out"
works '^archive' "$reprise" inspect a.reprise
holds "nothing is priced unasked" test "$(grep -c '^program ' "$log/out")" -eq 0
fails 2 'exclude each other' "$reprise" inspect a.reprise --programs --member run/recipe.json
works '"programs":\[\{"executed":[0-9]+,"functions":\[\],"instructions":' "$reprise" inspect a.reprise --programs --json

# ---- replay ----
fails 5 'a.reprise: step 0: run/recipe.json: takes 1182 .* nothing was executed; allow more with --max-work' \
    "$reprise" replay a.reprise --max-work 1181
fails 5 'step 1: run/recipe.json: needs 46656 bytes of memory .* allow more with --max-memory' \
    "$reprise" replay a.reprise --max-memory 46655
works '^identical' "$reprise" replay a.reprise --max-work 10000000 --max-memory 46656
for number in 0 '' x -1 1e9 1000000000000000000000; do
    fails 2 '--max-work: expected a number' "$reprise" replay a.reprise "--max-work=$number"
    fails 2 '--max-memory: expected a number' "$reprise" replay a.reprise "--max-memory=$number"
done

if command -v python3 >/dev/null; then
    cat >again.py <<'END'
import hashlib, json, sys
said = json.load(open('said.json'))['programs']
functions = 0
for program in said:
    text = json.load(open('p/' + program['member'].split('/')[-1]))
    names, uses = [], {}

    def renamed(body):  # callees by digest, and counted
        for row in body['instructions']:
            for key in ('function', 'functions', 'body', 'predicate'):
                if key in row[1]:
                    given = row[1][key]
                    row[1][key] = [names[i] for i in given] if key == 'functions' else names[given]
                    for name in row[1][key] if key == 'functions' else [row[1][key]]:
                        uses[name] = uses.get(name, 0) + 1
        return body

    sizes = []
    for f in text.get('functions', []):
        canonical = json.dumps(renamed(f), separators=(',', ':'), sort_keys=True)
        names.append(hashlib.sha256(canonical.encode()).hexdigest())
        sizes.append(len(f['instructions']))
    renamed(text)
    expected = [(name, uses[name], size) for name, size in zip(names, sizes)]
    found = [(f['digest'], f['uses'], f['instructions']) for f in program['functions']]
    states = {row[2] for row in text['inputs'] if row[1] == 'state'}
    states |= {row[1] for row in text['outputs'] if row[0] == 'state'}
    if found != expected or program['instructions'] != len(text['instructions']) or program['states'] != len(states):
        sys.exit(f"{program['member']}: expected {expected}, {len(states)} states, found {program}")
    functions += len(expected)
sys.exit(0 if functions else 'no program has a function')
END
    for archive in small image; do
        cp "$source_dir/golden/$archive.reprise" b.reprise
        mkdir -p p
        "$reprise" inspect b.reprise --programs --json >said.json
        for member in $(grep -oE 'run/programs/[0-9]{4}' said.json | sort -u); do
            "$reprise" inspect b.reprise --member "$member.json" >"p/${member##*/}.json"
        done
        holds "$archive: the texts say the same" python3 again.py
    done
else
    skip 'python3 is not installed: digests are not found a second time'
fi

finish
