#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A second table as test part: bound into the archive, read by nothing before `validate --part test`, refused where it
# cannot be judged. And rows that the recipe leaves out of the run's own table: whatever stands in them. Usage:
# test_table.sh BUILD_DIR
. "$(dirname "$0")/../cli_lib.sh"

# rows FROM TO: of one function
table() {
    awk -v a="$1" -v b="$2" 'BEGIN {
        print "x,kind,y"
        for (r = a; r < b; r++)
            print r * 7 % 50 "," substr("abc", r % 3 + 1, 1) "," (r * 7 % 50 + r * 13 % 11 > 30 ? "yes" : "no")
    }'
}
as() { printf 'reprise: 1\ndata: {target: y, %s}\n' "$1" >r.yaml; }
of() { as "csv: rows.csv, $1"; }
table 0 80 >rows.csv
table 200 240 | sed 's/^\([0-9]\)/\1.5/' >later.csv

# ---- it is bound, and what is learnt does not depend on it ----

of 'folds: 4' && works . "$reprise" run r.yaml -o alone.reprise
of 'folds: 4, test_csv: later.csv' && works '^archive' "$reprise" run r.yaml -o two.reprise
"$reprise" inspect two.reprise --member data/test.csv | cmp - later.csv || bad "data/test.csv are not the file's bytes"
for member in weights/final.safetensors outputs/metrics.json outputs/predictions.csv data/schema.json \
    run/journal.bin; do
    "$reprise" inspect alone.reprise --member $member >"$log/one"
    "$reprise" inspect two.reprise --member $member | cmp -s - "$log/one" || bad "$member depends on the test table"
done
works '^identical' "$reprise" replay two.reprise
works '"test_table": ?\{"rows":40,"seen":0,"without_outcome":0\}' \
    "$reprise" inspect two.reprise --member data/quality.json
# another test table is another run
sed '2s/,[a-z]*$/,/' later.csv >other.csv
of 'folds: 4, test_csv: other.csv' && works . "$reprise" run r.yaml -o other.reprise
[ "$("$reprise" inspect other.reprise | head -1)" != "$("$reprise" inspect two.reprise | head -1)" ] ||
    bad "another test table has the same id"
works '"without_outcome":1' "$reprise" inspect other.reprise --member data/quality.json

# and is of no later time to monitor
works '^own +40 more are in every feature what a row of' "$reprise" monitor two.reprise --csv later.csv
table 300 340 | sed 's/^\([0-9]\)/\1.25/' >fresh.csv
attempt "$reprise" monitor two.reprise --csv fresh.csv
grep -q '^own' "$log/out" && bad "rows that are no run's own"

# a row that somebody made a comment is told, and stands in the counts
sed '3s/^/#/' later.csv >quiet.csv
of 'folds: 4, comment: "#", test_csv: quiet.csv'
attempt "$reprise" run r.yaml -o quiet.reprise
grep -q '1 line of data.test_csv has as many cells as a row' "$log/out" "$log/err" ||
    bad "a hidden row of the test table"
works '"test_table": ?\{"hidden_rows":1,"rows":39,' "$reprise" inspect quiet.reprise --member data/quality.json
works '^hidden +1 line' "$reprise" validate quiet.reprise --part test

# ---- it is what `validate --part test` judges ----

works '^rows +40,' "$reprise" validate two.reprise --part test -o part.json
works . "$reprise" validate two.reprise --csv later.csv -o rows.json
python3 - <<'P' || bad "the part's figures are not those of its rows"
import base64, json
def of(name):
    d = json.load(open(name))
    d = json.loads(base64.b64decode(d['payload'])) if 'payload' in d else d
    return d.get('predicate', d)
a, b = of('part.json'), of('rows.json')
assert a['figures'] == b['figures'] and a['data'] == b['data'] and a['options'].pop('part') == 'test'
P
works . "$reprise" validate two.reprise --check part.json

# ---- packed, through a pipe, withheld, resumed ----

of 'folds: 4, test_csv: "-"'
gzip -c later.csv | "$reprise" run r.yaml -o packed.reprise >"$log/out" 2>"$log/err"
"$reprise" inspect packed.reprise --member data/test.csv | cmp - later.csv || bad "packed, through a pipe"
of 'folds: 4, test_csv: later.csv'
works . "$reprise" run r.yaml -o less.reprise --withhold home
fails 5 'data/test.csv: is not in this archive' "$reprise" validate less.reprise --part test
works '^identical' "$reprise" replay less.reprise --withheld home

# ---- a run that was stopped goes on with both tables, or not at all ----

of 'test_csv: later.csv' && printf 'model: {hidden: [3]}\ntrain: {epochs: 40}\n' >>r.yaml
works . "$reprise" run r.yaml -o whole.reprise
"$reprise" run r.yaml -o part.reprise --save-every 0.01 >/dev/null 2>&1 &
sleep 0.15; kill -INT $! 2>/dev/null; wait $! 2>/dev/null
if [ -e part.reprise.resume ]; then
    cp later.csv kept.csv && cp other.csv later.csv
    fails '[124]' 'resume' "$reprise" run r.yaml -o part.reprise --resume
    cp kept.csv later.csv
fi
works . "$reprise" run r.yaml -o part.reprise --resume --force
cmp part.reprise whole.reprise || bad "a run that goes on is another archive"

# ---- training rows in it are told ----

{ cat later.csv; sed -n '2,6p' rows.csv; } >leak.csv
of 'train_on_all: true, test_csv: leak.csv'
works '5 of the 45 rows of data.test_csv have in every feature what a training row has, the first in its line 42' \
    "$reprise" data r.yaml
works '5 of the 45 rows of data.test_csv' "$reprise" run r.yaml -o leak.reprise

works . "$reprise" report leak.reprise -o leak.html
holds "the report counts them" grep -q '5 that repeat a training row' leak.html

# ---- what is refused, with file, line and column ----

refuse() { # PATTERN KEYS
    of "$2"
    fails 1 "$1" "$reprise" run r.yaml -o never.reprise
}
cut -d, -f2,3 later.csv >bad.csv
refuse 'bad\.csv:1: expected a column "x"' 'test_csv: bad.csv'
cut -d, -f1,2 later.csv >bad.csv
refuse 'bad\.csv: key data\.test_csv: expected rows with an outcome' 'test_csv: bad.csv'
sed '5s/^[^,]*/many/' later.csv >bad.csv
refuse 'bad\.csv:5: column "x": expected a number, found "many"' 'test_csv: bad.csv'
works 'bad\.csv:5: column .*"x.*": expected a number' "$reprise" data r.yaml
sed '7s/,[a-z]*$/,maybe/' later.csv >bad.csv
refuse 'bad\.csv:7: target: expected a class of the training data.*"no" or "yes", found "maybe"' 'test_csv: bad.csv'
refuse 'cannot read|No such file' 'test_csv: nowhere.csv'
of 'test: 0.2, test_csv: later.csv' && fails 2 'data\.test_csv' "$reprise" run r.yaml -o never.reprise
awk -F, 'NR == 1 { print $0 ",part" }
    NR > 1 { print $0 "," (NR < 60 ? "train" : NR < 70 ? "valid" : "test") }' rows.csv >parts.csv
as 'csv: parts.csv, split: part, test_csv: later.csv, columns: {part: ignore}'
fails 2 'data\.test_csv: the column of data\.split has test rows too' "$reprise" run r.yaml -o never.reprise

# ---- rows that the recipe leaves out may hold anything ----

awk -F, 'NR == 1 { print } NR > 1 { print (NR % 9 ? $0 : "n.a.," $2 ",unknown") }' rows.csv |
    awk -F, '{ print $0 (NR == 1 ? ",state" : $3 == "unknown" ? ",void" : ",good") }' >rows2.csv
as 'csv: rows2.csv, test: 0.2, where: [{column: state, is: "=", value: good}]'
works . "$reprise" run r.yaml -o where.reprise
works '^rows +1[0-9],' "$reprise" validate where.reprise --part test -o where.json
sed 's/$/,good/; 1s/,good/,state/' later.csv >later2.csv
works '^rows +40,' "$reprise" validate where.reprise --csv later2.csv -o where2.json
works . "$reprise" monitor where.reprise --csv later2.csv -o where3.json

finish
