#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a file of rows may not be: the run's own parts as others, rows whose outcomes the recipe calls missing, lines
# that are rows but for a sign, a comma or a quote; what a predecessor's rows chose. Usage: other_rows.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"
forge() { python3 "$source_dir/tests/cli/validate/forge.py" "$@"; }
head -901 "$source_dir/examples/loans.csv" >loans.csv
{ head -1 loans.csv; sed -n '4000,4299p' "$source_dir/examples/loans.csv"; } >new.csv
for who in builder validator; do "$reprise" keygen $who >/dev/null; done
# make_run NAME DATA [SECTION]
make_run() {
    printf '%s\n' 'reprise: 1' "name: $1" 'seed: 3' \
        "data: {csv: loans.csv, target: default, columns: {loan_id: ignore}$2}" \
        'model: {hidden: [4]}' 'train: {task: classification, epochs: 2}' "${3-}" >"$1.yaml"
    "$reprise" run "$1.yaml" -o "$1.reprise" --key builder.pem --force >/dev/null 2>&1
}
judge() { # NAME ROWS: a statement of these rows alone, printed
    cp "$1.reprise" judged.reprise
    "$reprise" validate judged.reprise --csv "$2" --attach --key validator.pem -o judged.json --force >judged.txt
    works 'every byte the same' "$reprise" validate judged.reprise --csv "$2" --check judged.json
}
clause() { # met or unmet WORDS, then a clause
    printf '%s\n' 'policy: 1' 'groups: {b: [builder.pub.pem], v: [validator.pub.pem]}' 'builder: {of: b}' \
        'parent: any' "$2" >p.yaml
    if [ "$1" = met ]; then
        works '^met +validation' "$reprise" verify judged.reprise --policy p.yaml
    else
        gives 4 "^unmet .*$1" "$reprise" verify judged.reprise --policy p.yaml
    fi
}
own_of() { # NAME PART...: the run's own rows of these parts, as a file
    "$reprise" data "$1.yaml" --parts parts.csv --force >/dev/null 2>&1
    python3 - "${@:2}" <<'P'
import csv, sys
lines = open("loans.csv").read().splitlines()
rows = [lines[int(row["row"]) + 1] for row in csv.DictReader(open("parts.csv")) if row["part"] in sys.argv[1:]]
open("own.csv", "w").write("\n".join([lines[0], *rows]) + "\n")
P
}
seen='validation: {by: v, on: rows, seen: 0}'

# ---- the run's own parts, as rows of a file ----
make_run plain ', test: 0.2'
own_of plain validation test
judge plain own.csv
holds "each is told" grep -q "^own  *$(($(wc -l <own.csv) - 1)) more are" judged.txt
clause 'judged rows of the run.s own table, which are no others' "$seen"
clause met 'validation: {by: v, seen: 0}'
clause met 'validation: {by: v, on: rows, seen: 1}'
works '^validated .* of which are the run.s own besides' "$reprise" verify judged.reprise --trust builder.pub.pem \
    --trust validator.pub.pem
judge plain new.csv
clause met "$seen"
cp new.csv oot.csv
make_run tabled ', test_csv: oot.csv'
judge tabled oot.csv
clause 'judged rows of the run.s own table, which are no others' "$seen"

# ---- what chose a predecessor, whose settings a retraining takes on ----
make_run search '' 'search: {over: {lr: [0.01, 0.1]}}'
"$reprise" retrain search.reprise --csv loans.csv -o again.reprise --key builder.pem >/dev/null 2>&1
own_of search validation
judge search own.csv
clause 'judged rows by which the model was chosen' 'validation: {by: v, seen: 0.02}'
judge again own.csv
clause 'by which its predecessor may have been chosen' 'validation: {by: v, seen: 0.02}'
judge again new.csv
clause met 'validation: {by: v, seen: 0.02}'
works '^met .*its predecessor not looked at' "$reprise" verify judged.reprise --policy p.yaml

# ---- outcomes that the recipe calls missing ----
awk -F, -v OFS=, 'NR > 1 && $13 == "yes" && NR % 3 { $13 = "late" } { print }' new.csv >late.csv
late=$(grep -c ',late$' late.csv)
make_run blind ', missing: ["", NA, late], missing_target: drop'
judge blind late.csv
holds "they are told" grep -q "^missing  *$late rows have an outcome that the recipe" judged.txt
clause 'passed over rows whose outcome the recipe calls missing' 'validation: {by: v, left_out: 0}'
clause met 'validation: {by: v, left_out: 0.5}'
sed 's/,late$/,NA/' late.csv >unknown.csv # not known to anybody, in everybody's words
judge blind unknown.csv
clause met 'validation: {by: v, left_out: 0}'

# ---- lines that are read as no rows ----
make_run remarks ', comment: "#"'
hide() { awk -F, -v how="$1" 'NR > 1 && $13 == "yes" && NR % 3 { print "#" $0 how; next } { print }' new.csv; }
for how in "" "," ",,"; do
    hide "$how" >passed.csv
    judge remarks passed.csv
    holds "they are told" grep -q "^hidden  *$(grep -c '^#' passed.csv) lines may be rows" judged.txt
    clause 'lines that may be rows and are read as none' 'validation: {by: v, left_out: 0}'
done
{ echo '# a remark, of no row'; cat new.csv; } >remark.csv
judge remarks remark.csv
holds "a remark is none" [ "$(grep -c '^hidden' judged.txt)" = 0 ]
clause met 'validation: {by: v, left_out: 0}'
awk -F, 'NR == 10 { print "\"" $0; next } NR == 20 { print $0 "\"," substr($0, 8); next } { print }' new.csv >quoted.csv
judge remarks quoted.csv
holds "lines within a cell are told" grep -q '^hidden  *10 lines may be rows' judged.txt
clause 'lines that may be rows and are read as none' 'validation: {by: v, left_out: 0}'

# ---- scores out of fold: of folds that are whole, and probabilities ----
make_run folds ', fold: all, folds: 3'
works '^scored' "$reprise" validate folds.reprise --part folds
forge folds.reprise forged.reprise outputs/out_of_fold.csv 'L=bytes(m).split(b"\n"); m=b"\n".join(L[:200])+b"\n"'
fails 4 'expected all rows of a fold or none' "$reprise" validate forged.reprise --part folds
fails 4 'expected all rows of a fold or none' "$reprise" validate forged.reprise --csv new.csv
forge forged.reprise uncounted.reprise outputs/metrics.json 'del m["training"]["rows"]'
fails 4 'training.rows: expected how many rows' "$reprise" validate uncounted.reprise --csv new.csv
forge folds.reprise forged.reprise outputs/out_of_fold.csv 'm = bytes(m).replace(b",0.", b",-9.")'
fails 4 'scores from 0 to 1' "$reprise" validate forged.reprise --part folds
finish
