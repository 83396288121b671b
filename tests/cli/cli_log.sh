#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise log: what each action prints, writes and returns, and what it refuses. Usage: tests/cli/cli_log.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

rows 60 >data.csv
recipe small.yaml
hex='[0-9a-f]{64}'
"$reprise" keygen me >/dev/null && "$reprise" keygen log >/dev/null && "$reprise" keygen other >/dev/null
for seed in 1 2 3; do
    sed "s/^seed:.*/seed: $seed/" small.yaml >s$seed.yaml
    grep -q "^seed: $seed" s$seed.yaml || echo "seed: $seed" >>s$seed.yaml
    "$reprise" run s$seed.yaml -o $seed.reprise --key me.pem >/dev/null || bad "run $seed"
done
id() { "$reprise" inspect "$1" --json | grep -oE '"archive_id":"[0-9a-f]+"' | cut -d'"' -f4; }

# ---- help ----
works '^  consistency +prove that nothing was dropped' "$reprise" log --help
for action in init add prove consistency check attach verify list; do
    works "^usage: reprise log $action" "$reprise" log $action --help
    holds "help of log $action has an example" grep -q '^example:' "$log/out"
done
fails 2 'ACTION is missing' "$reprise" log
fails 2 'did you mean verify' "$reprise" log verfy l
fails 2 'log add: --key KEY.pem is missing' "$reprise" log add l 1.reprise
fails 2 'log init: --origin NAME is missing' "$reprise" log init l --key log.pem
fails 2 'log prove: ARCHIVE, ID or PREDICTIONS is missing' "$reprise" log prove l
fails 2 'log verify: --trust PUB.pem is missing' "$reprise" log verify l
fails 2 'log list: unknown option --key; *see|log list: unknown option --key' "$reprise" log list l --key log.pem

# ---- init ----
fails 2 'is not an origin' "$reprise" log init l --origin 'a b' --key log.pem
fails [12] 'expected a private key' "$reprise" log init l --origin a --key log.pub.pem
works '^log +l, example.com/models: begun, empty' "$reprise" log init l --origin example.com/models --key log.pem
fails 2 'is a log already' "$reprise" log init l --origin example.com/models --key log.pem
works '"origin":"example.com/models","root":"e3b0c442' "$reprise" log verify l --trust log.pub.pem --json
cp l/checkpoint empty.checkpoint

# ---- add ----
works "^added +1.reprise: entry 0" "$reprise" log add l 1.reprise --key log.pem --trust me.pub.pem
cp l/checkpoint one.checkpoint
works '"added":true,"archive_id":"'"$(id 2.reprise)"'","index":1' "$reprise" log add l 2.reprise --key log.pem --json
works '^there +2.reprise: entry 1' "$reprise" log add l 2.reprise --key log.pem
fails 4 'not' "$reprise" log add l 3.reprise --key log.pem --trust other.pub.pem
fails 4 'no trusted key signed' "$reprise" log add l 3.reprise --key other.pem
cp 3.reprise broken.reprise
printf X | dd of=broken.reprise bs=1 seek=4000 conv=notrunc 2>/dev/null
fails 4 'broken.reprise' "$reprise" log add l broken.reprise --key log.pem
fails 1 'none/entries: cannot open' "$reprise" log add none 3.reprise --key log.pem
works '^added' "$reprise" log add l 3.reprise --key log.pem
works "^2 $(id 3.reprise)\$" "$reprise" log list l
works '"entries":\["'"$(id 1.reprise)" "$reprise" log list l --trust log.pub.pem --json

# ---- inclusion ----
works '^written +2.proof' "$reprise" log prove l 2.reprise -o 2.proof --trust log.pub.pem
fails 2 'already exists' "$reprise" log prove l 2.reprise -o 2.proof
works '^index 1$' "$reprise" log prove l "$(id 2.reprise)"
holds "a proof on stdout is the proof" cmp "$log/out" 2.proof
"$reprise" run s1.yaml -o unsigned.reprise >/dev/null
works '^index 0$' "$reprise" log prove l unsigned.reprise # the id does not depend on who signed
fails 4 'is not in this log of 3 entries' "$reprise" log prove l "$(printf '%064d' 5)"
works '^logged +2.reprise: entry 1 of 3' "$reprise" log check 2.reprise --proof 2.proof --trust log.pub.pem
works '"kind":"inclusion".*"verified":true' "$reprise" log check "$(id 2.reprise)" --proof 2.proof --trust log.pub.pem \
    --json
fails 4 'path does not lead' "$reprise" log check 1.reprise --proof 2.proof --trust log.pub.pem
fails 4 'no trusted key signed' "$reprise" log check 2.reprise --proof 2.proof --trust me.pub.pem
fails [14] 'expected' "$reprise" log check 2.reprise --proof data.csv --trust log.pub.pem

# ---- consistency ----
for old in empty one; do
    works "^written" "$reprise" log consistency l $old.checkpoint --trust log.pub.pem -o $old.proof
    works '^consistent +the log of 3 entries begins with' "$reprise" log check $old.checkpoint --proof $old.proof \
        --trust log.pub.pem
done
works '"kind":"consistency","old_size":1' "$reprise" log check one.checkpoint --proof one.proof --trust log.pub.pem \
    --json
fails 4 'begins at 1 entries' "$reprise" log check empty.checkpoint --proof one.proof --trust log.pub.pem
fails 4 'no trusted key signed' "$reprise" log consistency l one.checkpoint --trust me.pub.pem
# a firm that keeps a log beginning without its first run
"$reprise" log init m --origin example.com/models --key log.pem >/dev/null
for seed in 2 3; do "$reprise" log add m $seed.reprise --key log.pem >/dev/null; done
works '^verified' "$reprise" log verify m --trust log.pub.pem
fails 4 'the log was changed' "$reprise" log consistency m one.checkpoint --trust log.pub.pem

# ---- attach and verify ----
cp 2.reprise plain.reprise
fails 4 'path does not lead' "$reprise" log attach 1.reprise --proof 2.proof
fails 4 'does not show that it is in a log' "$reprise" verify 2.reprise --trust me.pub.pem --log-key log.pub.pem
works "^attached +2.reprise: signatures/log-[0-9a-f]{16}.tlog-proof" "$reprise" log attach 2.reprise --proof 2.proof
holds "the id is as it was" test "$(id 2.reprise)" = "$(id plain.reprise)"
fails 2 'give --force' "$reprise" log attach 2.reprise --proof 2.proof
works '^attached' "$reprise" log attach 2.reprise --proof 2.proof --force
works "^logged +entry 1 of 3 in example.com/models, signed by key $hex" "$reprise" verify 2.reprise --trust me.pub.pem \
    --log-key log.pub.pem
works '^unchecked +entry 1 of 3 in example.com/models' "$reprise" verify 2.reprise --trust me.pub.pem
works '"proofs":\[\{"index":1,"key_id":null,"log_size":3' "$reprise" verify 2.reprise --trust me.pub.pem --json
fails 4 'signatures/log-[0-9a-f]*.tlog-proof: not signed by a given log key' "$reprise" verify 2.reprise \
    --trust me.pub.pem --log-key other.pub.pem
works '^identical' "$reprise" replay 2.reprise --trust me.pub.pem
member=$(tar tf 2.reprise | grep tlog-proof)
works '^written' "$reprise" inspect 2.reprise --member "$member" -o taken.proof
holds "tar and inspect give the proof back" cmp taken.proof 2.proof
cp 1.reprise alone.reprise && "$reprise" log prove l 1.reprise -o 1.proof >/dev/null
"$reprise" log attach alone.reprise --proof 1.proof >/dev/null
cp unsigned.reprise u.reprise && "$reprise" log attach u.reprise --proof 1.proof >/dev/null
works '^logged' "$reprise" verify u.reprise --allow-unsigned --log-key log.pub.pem
fails 4 'nobody has signed' "$reprise" verify u.reprise --trust me.pub.pem --log-key log.pub.pem

# ---- damage ----
printf 'abc' >>l/entries
works '^unfinished +3 bytes' "$reprise" log verify l --trust log.pub.pem
works '^there' "$reprise" log add l 1.reprise --key log.pem
sed -i 1d l/entries && truncate -s 130 l/entries
fails 4 'entries were removed' "$reprise" log verify l --trust log.pub.pem
fails 4 'entries were removed' "$reprise" log list l
printf '%064d\nabc' 0 >>l/entries
fails 4 'entries were changed' "$reprise" log verify l --trust log.pub.pem
fails 4 'entries were changed' "$reprise" log add l 1.reprise --key log.pem
: >m/checkpoint
fails [14] 'origin' "$reprise" log verify m --trust log.pub.pem

finish
