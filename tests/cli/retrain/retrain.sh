#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise retrain: on its own table a parent gives the same weights; columns, kinds and classes are kept, what changed
# is listed, what cannot be kept is refused. Usage: retrain.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../../.." && pwd)
reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
# expect CODE WORDS COMMAND...: exits so, and says the words
expect() {
    local code=$1 words=$2 got=0
    shift 2
    "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "$*: exit $got, expected $code: $(cat err)"
    grep -qF -- "$words" err out || fail "$*: expected \"$words\", found: $(cat err out)"
}
member() { "$reprise" inspect "$1.reprise" --member "$2"; }
again() { expect "$1" "$2" "$reprise" retrain "${4:-p}.reprise" --csv "$3" -o c.reprise --force; }

loans=$source/examples/loans.csv
{ head -1 "$loans"; sed -n 2,1501p "$loans"; } >old.csv
{ head -1 "$loans"; sed -n 2001,3500p "$loans"; } >new.csv
sed 's/loans.csv/old.csv/; s/epochs: 12/epochs: 2/' "$source/examples/loans.yaml" >p.yaml
cat >>p.yaml <<'Y'
card: {purpose: loans, data_period: "2024", version: "1", valid_until: 2027-01-01}
Y
"$reprise" run p.yaml -o p.reprise >/dev/null 2>&1

# a missing category where the parent's recipe takes none: the key is the parent's, and the way out is said
fill() { awk -F, -v OFS=, 'NR > 1 { if ($5 ~ /^(NA)?$/) $5 = "own"; if ($12 == "") $12 = "east" } { print }' "$1"; }
fill old.csv >full.csv
sed 's/^data:/data:\n  missing_categorical: error/; s/old.csv/full.csv/' p.yaml >strict.yaml
"$reprise" run strict.yaml -o strict.reprise >/dev/null 2>err || fail "$(cat err)"
awk -F, -v OFS=, 'NR == 7 { $12 = "" } { print }' full.csv >gap.csv
strict=$("$reprise" inspect strict.reprise --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["archive_id"])')
way="a retraining has its parent's keys: mend the rows, or reprise run a recipe of your own that sets the key, with"
again 1 "$way predecessor: $strict" gap.csv strict
awk 'NR == 7 { sub(/,[^,]*$/, "") } { print }' full.csv >data.tsv # a file of a key's looks advises nothing
"$reprise" retrain strict.reprise --csv data.tsv -o short.reprise >/dev/null 2>err && fail "a short row is taken"
grep -q 'data.tsv:7: expected 13 cells' err || fail "a short row: $(cat err)"
! grep -q "a retraining has" err || fail "a file's name is taken for a key: $(cat err)"
sed "s/_categorical: error/_categorical: category/; s/full.csv/gap.csv/; s/^reprise: 1/&\npredecessor: $strict/" \
    strict.yaml >mended.yaml
"$reprise" run mended.yaml -o mended.reprise >/dev/null 2>err || fail "the way out: $(cat err)"
fill new.csv >rows.csv
expect 1 "takes none" "$reprise" retrain strict.reprise --child mended.reprise
expect 0 "judged on   1500 rows" "$reprise" retrain strict.reprise --child mended.reprise --rows rows.csv \
    --statement mended.json
expect 0 "every byte the same" "$reprise" retrain strict.reprise --child mended.reprise --rows rows.csv \
    --check mended.json
grep -q '"drift":null,' mended.json || fail "how far rows are that the parent cannot read"

# the same table: the same weights and predictions, and an archive of its own
expect 0 "card: of the parent's rows, so left out: data_period, valid_until, version" \
    "$reprise" retrain p.reprise --csv old.csv -o same.reprise
for name in weights/final.safetensors outputs/predictions.csv outputs/metrics.json; do
    cmp <(member p $name) <(member same $name) || fail "$name differs on the parent's own table"
done
id=$("$reprise" inspect p.reprise --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["archive_id"])')
member same run/recipe.json | grep -qF "\"predecessor\":\"$id\"" || fail "the child does not name the parent"
expect 0 "identical" "$reprise" replay same.reprise

# new rows: equal to a run by a recipe that says the same, with every kind written out
again 0 archive new.csv
expect 0 "identical" "$reprise" replay c.reprise
numeric="age income employment_years amount term_months rate_percent late_payments utilisation_percent"
{
    sed "s/old.csv/new.csv/; /^card/d; s/^seed/predecessor: $id\nseed/; /^ *loan_id/q" p.yaml
    printf '    %s: numeric\n' $numeric
    printf '    %s: categorical\n' home purpose region
    sed '1,/^ *loan_id/d; s/^card.*/card: {purpose: loans}/' p.yaml
} >by_hand.yaml
"$reprise" run by_hand.yaml -o by_hand.reprise >/dev/null 2>err || fail "$(cat err)"
cmp c.reprise by_hand.reprise || fail "not what the same recipe gives by hand"

# columns in another order, further ones, new and gone categories, an ignored column that is gone
python3 - <<'P'
import csv
rows = list(csv.DictReader(open("new.csv")))
def write(name, rows, columns):
    out = csv.DictWriter(open(name, "w", newline=""), columns)
    out.writeheader()
    out.writerows([{k: r[k] for k in columns} for r in rows])
columns = list(rows[0])
write("gone.csv", rows, [c for c in columns if c != "age"])
write("target.csv", rows, [c for c in columns if c != "default"])
write("noid.csv", rows, [c for c in columns if c != "loan_id"])
text = [dict(r) for r in rows]
text[5]["age"] = "forty"
write("text.csv", text, columns)
text = [dict(r) for r in rows]
text[7]["default"] = "maybe"
write("class.csv", text, columns)
write("one.csv", [r for r in rows if r["default"] == "no"], columns)
for i, r in enumerate(rows):
    r.update(extra=str(i), zed="q", purpose="boat" if r["purpose"] == "car" else r["purpose"])
    r["region"] = "mars" if i < 300 else r["region"]
write("changed.csv", rows, ["zed"] + columns[::-1] + ["extra"])
P
again 0 "passed over: columns that the parent did not have: zed, extra" changed.csv
for words in "region: 1 category new: mars" "purpose: 1 category new: boat" "purpose: 1 category gone: car"; do
    grep -qxF "$words" out || fail "not told: $words"
done
"$reprise" retrain p.reprise --csv changed.csv -o left.reprise --withhold at-home >out 2>&1 ||
    fail "withheld: $(cat out)"
grep -qxF "region: 1 category new" out || fail "withheld: categories are not counted"
! grep -Eq 'categor(y|ies) (new|gone):' out || fail "withheld: a category is told"
member c run/recipe.json | grep -qF '{"column":"extra","kind":"ignore"}' || fail "the new column is not ignored"
again 0 "not there: columns that the parent passed over: loan_id" noid.csv
again 1 'expected a column "age" in the header' gone.csv
again 1 'expected a column "default" in the header' target.csv
again 1 'text.csv:7: column "age": expected a number, found "forty"' text.csv
again 1 'found 3 in target column' class.csv
again 1 'found only "no"' one.csv
[ ! -e x.reprise ] || fail "an archive of what was refused"
expect 2 "kernel level" "$reprise" retrain p.reprise --csv new.csv -o x.reprise --isa nonsense
expect 1 "cannot" "$reprise" retrain p.reprise --csv nothing.csv -o x.reprise
expect 2 "--csv" "$reprise" retrain p.reprise -o x.reprise

# three classes against two; a class that is gone
awk 'BEGIN { print "x,k,y"; for (i = 0; i < 300; i++)
    print i % 17 "," (i * 7) % 4 "," substr("abc", i * 5 % 3 + 1, 1) }' >three.csv
cat >three.yaml <<'Y'
reprise: 1
data: {csv: three.csv, target: 2, columns: {1: categorical}, where: [{column: 0, is: "<", value: 16}]}
Y
"$reprise" run three.yaml -o three.reprise >/dev/null 2>&1
sed 's/c$/d/' three.csv >four.csv
again 1 'class "d" is none of the parent' four.csv three
grep -v 'c$' three.csv >two.csv
again 1 'class "c" of the parent is not among the new rows' two.csv three
# columns by number are the parent's, wherever they stand now
awk -F, -v OFS=, '{ print $3, $1, $2 }' three.csv >turned.csv
again 0 archive turned.csv three
cp c.reprise turned.reprise
again 0 archive three.csv three
cmp <(member turned outputs/metrics.json) <(member c outputs/metrics.json) ||
    fail "the order of columns changes the model"
tail -n +2 three.csv >headless.csv
sed 's/three.csv/headless.csv, header: false/' three.yaml >headless.yaml
"$reprise" run headless.yaml -o headless.reprise >/dev/null 2>&1
again 0 archive headless.csv headless
sed 's/$/,1/' headless.csv >wide.csv
again 1 "expected 3 cells, as the parent's table has, found 4" wide.csv headless

# a search is not made again: its choice is the recipe; all folds become one
printf 'reprise: 1\ndata: {csv: three.csv, target: y, fold: all}\nsearch: {over: {l2: [0.1, 1, 10]}}\n' >search.yaml
"$reprise" run search.yaml -o search.reprise >/dev/null 2>&1
again 0 archive three.csv search
python3 - <(member search run/recipe.json) <(member c run/recipe.json) <<'P' || fail "the search's choice is not kept"
import json, sys
was, now = (json.load(open(name)) for name in sys.argv[1:3])
assert "search" in was and "search" not in now and was["data"]["fold"] == "all" and now["data"]["fold"] == 0
assert was["train"] == now["train"]
P
expect 2 "starts from no weights" "$reprise" retrain search.reprise --csv three.csv -o x.reprise --warm-start

# dates keep their format and parts; a child of a child
awk 'BEGIN { print "d,x,y"; for (i = 0; i < 200; i++)
    printf "%02d.%02d.2024,%d,%d\n", i % 28 + 1, i % 12 + 1, i * 7 % 11, i * 5 % 13 }' >dates.csv
cat >dates.yaml <<'Y'
reprise: 1
data:
  csv: dates.csv
  target: y
  columns: {d: {kind: date, format: "%d.%m.%Y", parts: [days, month]}, d.month: categorical}
train: {task: regression}
Y
"$reprise" run dates.yaml -o dates.reprise >/dev/null 2>&1
again 0 archive dates.csv dates
mv c.reprise first.reprise
again 0 archive dates.csv first
cmp <(member dates weights/final.safetensors) <(member c weights/final.safetensors) || fail "dates"

# from the parent's weights
expect 0 archive "$reprise" retrain p.reprise --csv new.csv -o warm.reprise --warm-start
expect 0 "started from its states" "$reprise" verify warm.reprise --allow-unsigned --parent p.reprise
expect 0 "identical" "$reprise" replay warm.reprise
# the rows that trained the parent trained this one too, and no other child; what trained a parent's parent nobody knows
seen() { # CHILD: how many of the parent's first rows trained each
    "$reprise" retrain "${2:-p}.reprise" --child "$1.reprise" --rows early.csv --statement seen.json --force >/dev/null
    python3 -c 'import json
d = json.load(open("seen.json"))["predicate"]["data"]
print(d["seen_by_parent"], d["seen"])'
}
head -301 old.csv >early.csv
expect 0 archive "$reprise" retrain p.reprise --csv new.csv -o cold.reprise
[ "$(seen cold | cut -d' ' -f2)" = 0 ] || fail "seen by a child that took no weights: $(seen cold)"
[ "$(seen warm)" = "$(seen warm | cut -d' ' -f1) $(seen cold | cut -d' ' -f1)" ] || fail "seen by a child: $(seen warm)"
[ "$(seen warm | cut -d' ' -f2)" -gt 200 ] || fail "seen by a child: $(seen warm)"
expect 0 archive "$reprise" retrain warm.reprise --csv new.csv -o warmer.reprise --warm-start
[ "$(seen warmer warm)" = "None None" ] || fail "seen by a child's child: $(seen warmer warm)"
expect 0 "not known" "$reprise" retrain warm.reprise --child warmer.reprise --rows early.csv
# with a key it is signed; a predecessor in a recipe is an id
"$reprise" keygen me >/dev/null
expect 0 "signed" "$reprise" retrain p.reprise --csv new.csv -o c.reprise --force --key me.pem
expect 0 "verified" "$reprise" verify c.reprise --trust me.pub.pem
sed "s/^seed/predecessor: p.reprise\nseed/" p.yaml >bad.yaml
expect 2 "archive id of 64 hex digits" "$reprise" run bad.yaml -o x.reprise
[ ! -e x.reprise ] || fail "an archive of what was refused"
echo "retrain: all as expected"
