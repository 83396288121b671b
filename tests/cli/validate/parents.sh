#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rows of one archive's table looked for, or judged, under another's recipe: what is a row to the one need be none to
# the other, and a column of the same name need be no feature. Usage: parents.sh BUILD_DIR
# shellcheck disable=SC2016 source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"
loans=$source_dir/examples/loans.csv
for who in builder validator; do "$reprise" keygen $who >/dev/null; done
recipe() { # NAME DATA-KEYS FURTHER
    printf '%s\n' 'reprise: 1' 'seed: 3' "data: {csv: $1.csv, target: default, $2}" 'model: {hidden: [4]}' \
        'train: {task: classification, epochs: 2}' "${3:-}" >"$1.yaml"
}
run() { # NAME
    attempt "$reprise" run "$1.yaml" -o "$1.reprise" --key builder.pem --force
    holds "run $1" [ "$code" = 0 ]
}
seen() { # CHILD ROWS PARENT SEEN: what the validation of these rows counts
    attempt "$reprise" validate "$1.reprise" --csv "$2" --parent "$3.reprise" --json
    holds "$1 on $2: seen is $4" grep -q "\"seen\":$4," "$log/out"
}
retrain='parent: {archive: parent.reprise, mode: retrain}'
id='columns: {loan_id: ignore}'

# lines that are rows to the parent and comments to the child: those that trained the parent
{
    head -1 "$loans" | sed 's/$/,part/'
    sed -n '2,601p' "$loans" | sed 's/^/#/; s/$/,train/'
    sed -n '4000,4599p' "$loans" | awk '{ print $0 "," (NR % 2 ? "test" : "validation") }'
} >parent.csv
{
    head -1 "$loans" | sed 's/$/,part/'
    sed -n '2001,3000p' "$loans" | awk '{ print $0 "," (NR % 5 ? "train" : "validation") }'
} >child.csv
{ head -1 "$loans"; sed -n '2,601p' "$loans"; } >trained.csv
{ head -1 "$loans"; sed -n '4000,4599p' "$loans"; } >fresh.csv
recipe parent "split: part, $id"
recipe child "split: part, comment: \"#\", $id" "$retrain"
run parent
run child
seen child trained.csv parent 600
seen child fresh.csv parent 0
"$reprise" validate child.reprise --csv trained.csv --parent parent.reprise --key validator.pem --attach >/dev/null
printf '%s\n' 'policy: 1' 'groups: {b: [builder.pub.pem], v: [validator.pub.pem]}' 'builder: {of: b}' 'parent: any' \
    'validation: {by: v, on: rows, rows: 500, seen: 0}' >policy.yaml
gives 4 '^unmet .*judged rows that the model was trained on' "$reprise" verify child.reprise --policy policy.yaml
# more rows to the parent than the table has by the child's recipe
sed '602,$d; s/,part$//; s/,train$//' parent.csv >short.csv && mv short.csv parent.csv
recipe parent "$id"
run parent
recipe child "split: part, comment: \"#\", $id" "$retrain"
run child
seen child trained.csv parent '4[0-9][0-9]'
# what the parent's conditions leave out trained nothing, and is numbered as it reads its table
sed 's/^#\(L0*[0-9]*[13579],\)/\1/' parent.csv >mixed.csv
for comment in '' 'comment: "#", '; do
    recipe mixed "${comment}train_on_all: true, where: [{column: age, is: \">\", value: 50}], $id"
    run mixed
    sed 's/parent.reprise/mixed.reprise/' child.yaml >behind.yaml
    run behind
    kept=$(awk -F, -v all="$comment" 'NR > 1 && $2 > 50 && (all == "" || !/^#/)' mixed.csv | wc -l)
    holds "some rows are kept" [ "$kept" -gt 50 ]
    seen behind trained.csv mixed "$kept"
done

# cells that are numbers of another size to the child
pick() { awk -F, -v OFS=, "$1" "$loans"; }
pick 'NR <= 601 { print $2 (NR > 1 ? ".000" : ""), $3, $7, $13 }' >parent.csv
pick 'NR == 1 || NR > 2000 && NR <= 3000 { print $2, $3, $7, $13 }' >child.csv
pick 'NR <= 601 { print $2, $3, $7, $13 }' >trained.csv
recipe parent 'train_on_all: true'
recipe child 'thousands: ".", decimal: ","' "$retrain"
run parent
run child
seen child trained.csv parent 600

# columns of the child's that the parent's table has and its model has not; the same columns in another order
pick 'NR <= 601 { print $2, $3, $7, 1000 + NR, NR, NR, $13 }' | sed '1s/.*/age,income,amount,x,y,z,default/' >parent.csv
pick 'NR == 1 { print "x,y,z,default"; next } NR > 2000 && NR <= 3000 { print $2, $3, $7, $13 }' >child.csv
pick 'NR == 1 { print "x,y,z,default"; next } NR <= 601 { print $2, $3, $7, $13 }' >trained.csv
recipe parent 'train_on_all: true, columns: {x: ignore, y: ignore, z: ignore}'
recipe child 'train_on_all: true' "$retrain"
run parent
run child
seen child trained.csv parent null
sed '1s/.*/x,z,y,a,b,c,default/' parent.csv >turned.csv && mv turned.csv parent.csv
recipe parent 'train_on_all: true, columns: {a: ignore, b: ignore, c: ignore}'
run parent
run child
seen child trained.csv parent null
sed -i '1s/.*/x,y,z,a,b,c,default/' parent.csv
run parent
run child
seen child trained.csv parent 600
# without a header a column is its place
for name in parent child trained; do sed -i 1d $name.csv; done
ignored='columns: {3: ignore, 4: ignore, 5: ignore}'
sed -i "s/target: default, .*/header: false, target: 6, train_on_all: true, $ignored}/" parent.yaml
sed -i 's/target: default, .*/header: false, target: 3, train_on_all: true}/' child.yaml
run parent
run child
seen child trained.csv parent 600

# ---- a run's table under its predecessor's recipe ----
{ head -1 "$loans"; sed -n '2,1001p' "$loans"; } >parent.csv
{ head -1 "$loans"; sed -n '2001,3000p' "$loans" | awk 'NR % 2 { print "#" $0; next } { print }'; } >child.csv
{ head -1 "$loans"; sed -n '3001,3300p' "$loans"; } >rows.csv
recipe parent "comment: \"#\", $id"
recipe child "$id"
run parent
run child
fails 1 'row 0 is in line 2 by the recipe of the run that the table is of, in line 3 by this one' \
    "$reprise" retrain parent.reprise --child child.reprise
attempt "$reprise" retrain parent.reprise --child child.reprise --rows rows.csv --statement rows.json
holds "no drift of rows that are none to the parent" grep -q '"drift":null' rows.json
# as many rows to both, and other ones; the same rows, whatever the recipes say of lines that are not there
sed '1!{ /^#/!s/^/%/ }' child.csv >marked.csv
recipe child "comment: \"%\", $id"
sed -i 's/child.csv/marked.csv/' child.yaml
run child
fails 1 'they do not read the same rows' "$reprise" retrain parent.reprise --child child.reprise
attempt "$reprise" retrain parent.reprise --child child.reprise --rows rows.csv --statement rows.json --force
holds "no drift of rows that are others to the parent" grep -q '"drift":null' rows.json
sed 's/^#//' child.csv >plain.csv
sed -i 's/marked.csv/plain.csv/' child.yaml
run child
works '^judged on' "$reprise" retrain parent.reprise --child child.reprise
# cells of the child's conditions, of which the parent's recipe finds fewer in a row
awk 'BEGIN { print "x,t,a;x;t;b;c;d;e;w"; for (i = 1; i <= 240; i++)
    printf "%d,%d,q;%d;%d;1;1;1;1;k\n", i * i % 17, i % 2, i * i % 17, i % 2 }' >wide.csv
printf '%s\n' 'reprise: 1' 'data: {csv: wide.csv, target: t, columns: {"a;x;t;b;c;d;e;w": ignore}}' \
    'train: {task: classification}' >narrow.yaml
printf '%s\n' 'reprise: 1' 'data: {csv: wide.csv, target: t, delimiter: ";",' \
    '  where: [{column: w, is: "=", value: k}],' \
    '  columns: {"x,t,a": ignore, b: ignore, c: ignore, d: ignore, e: ignore, w: ignore}}' \
    'train: {task: classification}' >wide.yaml
run narrow
run wide
fails 1 'cuts it into 8 columns, this one into 3' "$reprise" retrain narrow.reprise --child wide.reprise
# the part of a date as a target, which no recipe that was run has
awk 'BEGIN { print "day,x,y"; for (i = 0; i < 200; i++) printf "2024-%02d-%02d,%d,%s\n", i % 12 + 1, i % 28 + 1,
    i * i % 17, i % 3 ? "no" : "yes" }' >dated.csv
printf '%s\n' 'reprise: 1' 'data: {csv: dated.csv, target: y, test: 0.2, missing_target: drop,' \
    '  columns: {day: {kind: date, format: "%Y-%m-%d", parts: [month]}}}' 'train: {task: classification}' >dated.yaml
run dated
attempt python3 "$source_dir/tests/cli/validate/forge.py" dated.reprise forged.reprise run/recipe.json \
    'm["data"]["target"] = "day.month"'
holds "forged" [ "$code" = 0 ]
fails 2 'the part of a date is no target' "$reprise" validate forged.reprise --part test
finish
