#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise inventory: a row an archive, hostile ones with their error, statements counted only with a key; and dossiers.
# Usage: inventory.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../../.." && pwd)
reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { grep -qF -- "$2" "$1" || fail "$1 lacks \"$2\": $(head -c 2000 "$1")"; }
has_not() { ! grep -qF -- "$2" "$1" || fail "$1 has \"$2\""; }

mkdir runs
cp "$source/golden/small.reprise" runs/b.reprise
cp "$source/golden/branch.reprise" runs/c.reprise
head -c 3000 runs/b.reprise >runs/a.reprise
: >runs/not-one.txt
"$reprise" keygen key >/dev/null
id=$("$reprise" inspect runs/b.reprise | sed -n 's/^archive *//p')

code=0
"$reprise" inventory runs --csv >table 2>err || code=$?
[ "$code" = 4 ] || fail "a damaged archive: exit $code"
has err "1 of 3 archives"
[ "$(wc -l <table)" = 4 ] || fail "rows: $(cat table)"
sed -n 2p table >row; has row '"runs/a.reprise","",'; has row 'truncated'
sed -n 3p table >row
has row "\"$id\",\"golden, small\",\"recipe\",\"classification\""
has row '"auc",'
has row '"not checked"'
sed -n 4p table >row; has row '"api"'

# whose place a retrained model takes
printf 'x,y\n' >old.csv
for i in $(seq 60); do echo "$((i * 7 % 23)),$((i * 7 % 23 * 2 + i % 3))" >>old.csv; done
printf 'reprise: 1\ndata: {csv: old.csv, target: y}\ntrain: {task: regression}\n' >old.yaml
"$reprise" run old.yaml -o old.reprise >/dev/null 2>&1
"$reprise" retrain old.reprise --csv old.csv -o new.reprise >/dev/null 2>&1
"$reprise" inventory new.reprise old.reprise --json >table
old=$("$reprise" inspect old.reprise | sed -n 's/^archive *//p')
has table "\"parent\":null,\"predecessor\":\"$old\""
has table '"predecessor":null'

# what a trusted key has signed counts, and nothing without it
"$reprise" sign runs/b.reprise --key key.pem >/dev/null
"$reprise" approve runs/b.reprise --role r --decision approve --reason x --key key.pem --trust key.pub.pem >/dev/null
"$reprise" inventory runs/b.reprise --trust key.pub.pem --csv >table
has table '"yes","no","approved","0"'
"$reprise" approve runs/b.reprise --role r --decision reject --reason y --key key.pem --trust key.pub.pem >/dev/null
"$reprise" inventory runs/b.reprise --trust key.pub.pem --csv >table
has table '"yes","no","rejected","0"'
"$reprise" inventory runs/b.reprise --json >json
has json '"decision":"not checked"'
code=0
"$reprise" inventory runs/c.reprise --trust key.pub.pem >text || code=$?
[ "$code" = 4 ] || fail "an archive that nobody trusted signed: exit $code"
has_not text archive_id

# a log: what it has, given or not
"$reprise" log init log --origin test/log --key key.pem >/dev/null
"$reprise" log add log runs/b.reprise --key key.pem >/dev/null
"$reprise" inventory runs/c.reprise --log log --log-key key.pub.pem --csv >table
has table 'in the log; its archive was not given'
"$reprise" inventory runs/b.reprise --log log --csv >table
has_not table 'not given'
"$reprise" keygen other >/dev/null
! "$reprise" inventory runs/b.reprise --log log --log-key other.pub.pem >/dev/null 2>err || fail "another log's key"

# a spreadsheet computes nothing
cp runs/c.reprise '=1.reprise'
"$reprise" inventory '=1.reprise' --csv >table
has table "\"'=1.reprise\""

# dossiers: every text has its headings, what is left to the firm, and never claims
for text in annex-iv:"Annex IV, 2 (g)" art31:"Art. 31(8)" sr26-2:"VII: vendor models"; do
    "$reprise" report runs/b.reprise -o dossier.html --dossier "${text%%:*}" --force >/dev/null
    has dossier.html "<h3>${text#*:}</h3>"
    has dossier.html "Left to the firm"
    has_not dossier.html " complies"
done
code=0
"$reprise" report runs/b.reprise -o dossier.html --dossier other --force 2>err || code=$?
[ "$code" = 2 ] || fail "another dossier: exit $code"
has err "expected annex-iv, art31 or sr26-2"
