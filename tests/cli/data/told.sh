#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is told of a table, and of a model made of it. Usage: told.sh BUILD_DIR
. "$(dirname "$0")/../cli_lib.sh"

# of NAME DATA TRAIN: the recipe NAME.yaml
of() { printf 'reprise: 1\ndata: {%s}\ntrain: {%s}\n' "$2" "$3" >"$1.yaml"; }
# run NAME PATTERN: the archive NAME.reprise; stdout matches
run() { works "$2" "$reprise" run "$1.yaml" -o "$1.reprise" --force; }
silent() { # PATTERN: the last command did not say it
    checks=$((checks + 1))
    ! grep -Eq -- "$1" "$log/out" || bad "did not expect '$1'"
}

# ---- worse than the trivial model ----

# twelve columns of noise, which a fit without a penalty learns by heart
awk 'BEGIN {
    s = 3
    print "x0,x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,quantity,two,three"
    for (r = 0; r < 40; r++) {
        line = ""
        for (c = 0; c < 14; c++) { s = (s * 16807) % 2147483647; if (c < 13) line = line s % 1000 "," }
        print line (s % 10 < 6 ? "a" : "b") "," substr("aaaabc", int(s / 16) % 6 + 1, 1)
    }
}' >noise.csv
of quantity 'csv: noise.csv, target: quantity, columns: {two: ignore, three: ignore}' 'task: regression, l2: 0'
run quantity '^trivial +worse on the validation rows than predicting the mean \(RMSE [0-9.]+, there [0-9.]+\)$'
of two 'csv: noise.csv, target: two, columns: {quantity: ignore, three: ignore}' 'l2: 0.01'
run two 'than predicting the share of positives \(Brier [0-9.]+, there [0-9.]+\)'
works '"worse_than_trivial": ?\["brier"' "$reprise" run two.yaml --no-record --json
of three 'csv: noise.csv, target: three, columns: {quantity: ignore, two: ignore}' 'l2: 0.01'
run three 'than predicting the shares of the classes \(log loss [0-9.]+, there [0-9.]+\)'
silent 'AUC'
# weights that are no rows, and parts of a time split that are far from what was asked for: by run and by data
awk 'BEGIN { print "x,w,t,y"
    for (r = 0; r < 40; r++) print r "," 60 + r % 3 "," (r < 20 ? 1 : 2) "," r * 5 % 7 }' >w.csv
of weights 'csv: w.csv, target: y, weight: w, columns: {t: ignore}' 'task: regression'
run weights '^warning +the weights of the [0-9]+ training rows have the mean 6[01]'
works 'have the mean 6[01]' "$reprise" data weights.yaml
works '"code": ?"mean_weight"' "$reprise" data weights.yaml --json
of times 'csv: w.csv, target: y, time: t, columns: {w: ignore}' 'task: regression'
run times '^warning +the validation part has 20 of 40 rows'
works 'the validation part has 20 of 40 rows' "$reprise" data times.yaml
silent 'have the mean'
# a model that is better says nothing
awk 'BEGIN { print "x,y"; for (r = 0; r < 40; r++) print r "," 2 * r + r * 7 % 3 }' >line.csv
of line 'csv: line.csv, target: y' 'task: regression'
run line '^validation +MSE'
silent 'trivial'
works '"worse_than_trivial": ?\[\]' "$reprise" run line.yaml --no-record --json

# ---- too good: two columns whose product is the target ----

awk 'BEGIN { print "a,b,y"; for (r = 0; r < 200; r++) {
    a = r * 7 % 31; b = r * 11 % 37; print a "," b "," a * b
} }' >product.csv
of product 'csv: product.csv, target: y, interactions: [[a, b]]' 'task: regression, l2: 0'
run product '^perfect +on the validation rows'
works '"perfect": ?true' "$reprise" run product.yaml --no-record --json
of product 'csv: product.csv, target: y' 'task: regression, l2: 0'
run product '^validation'
silent 'perfect'

# ---- rows that a filter takes away ----

# of 40 rows 16 by a condition, and of the others 4 without a target
awk 'BEGIN { print "x,y"; for (r = 0; r < 40; r++) print r "," (r >= 36 ? "" : 3 * r + r % 5) }' >some.csv
of some 'csv: some.csv, target: y, missing_target: drop, where: [{column: x, is: ">=", value: 16}]' 'task: regression'
run some '^archive'
told='^rows +20 of 40 used: 50\.0 % are in no figure, 16 left out by data\.where, 4 for want of a target'
json='"rows": ?\{"hidden": ?0, ?"left_out": ?16, ?"missing_target": ?4, ?"rows": ?40, ?"used": ?20\}'
for command in 'verify --allow-unsigned' replay inspect; do
    # shellcheck disable=SC2086
    works "$told" "$reprise" $command some.reprise
    # shellcheck disable=SC2086
    works "$json" "$reprise" $command some.reprise --json
done
works "$told.*; counted again$" "$reprise" replay some.reprise
works "$told" "$build/cli/reprise-verify" verify some.reprise --allow-unsigned
works . "$reprise" report some.reprise -o some.html
holds "the report gives the share" grep -q '16 of 40 (40.0.*%) of the file' some.html
works . "$reprise" run some.yaml -o some.reprise --force --withhold salted
works '^rows +the recipe leaves some out, and nothing here says' "$reprise" verify some.reprise --allow-unsigned
works '"rows": ?null' "$reprise" inspect some.reprise --json
works '^verified' "$reprise" verify line.reprise --allow-unsigned
silent '^rows'

# ---- columns that the recipe gives another part ----

awk 'BEGIN { print "year,x,who,y"
    for (i = 0; i < 300; i++) print 1990 + i % 30 "," i * 7 % 11 "," i % 40 "," i % 30 }' >years.csv
for key in time:year:numeric group:who:categorical; do
    IFS=: read -r key column kind <<<"$key"
    of part "csv: years.csv, target: y, $key: $column" 'task: regression'
    for command in run data; do
        [ $command = run ] && extra="-o part.reprise --force" || extra=
        # shellcheck disable=SC2086
        works "^warning +column \"$column\" is no feature, since data.$key names it; data.columns .*, $kind, makes" \
            "$reprise" $command part.yaml $extra
    done
    works "^$column +ignore +data.$key " "$reprise" data part.yaml
    works . "$reprise" report part.reprise -o part.html --force
    holds "the report says so too" grep -q "column &quot;$column&quot; is no feature, since data.$key" part.html
    works '"code": ?"set_aside"' "$reprise" data part.yaml --json
    of part "csv: years.csv, target: y, $key: $column, columns: {$column: $kind}" 'task: regression'
    works "^$column +$kind +data.columns " "$reprise" data part.yaml
    silent 'is no feature'
done

# ---- predictions that no number is ----

awk 'BEGIN { print "x,n,y"
    for (i = 0; i < 100; i++) print i % 7 "," 1 + i % 5 "," i % 7 * (1 + i % 5) + i % 3 }' >seen.csv
of seen 'csv: seen.csv, target: y, exposure: n' 'task: regression, family: poisson'
run seen '^archive'
printf 'x,n\n1,2\n6,1e308\n' >far.csv
fails 1 'far.csv:3: the prediction is beyond binary64: .*, its offset or exposure too' \
    "$reprise" predict seen.reprise --csv far.csv -o far.pred
printf 'x,n\n1,2\n6,1e300\n' >far.csv
works '^written +far.pred: 2 rows' "$reprise" predict seen.reprise --csv far.csv -o far.pred

awk 'BEGIN { print "x,o,y"; for (i = 0; i < 100; i++) print i % 7 "," i % 5 / 4 "," (i * 7 % 9 < 4 ? "no" : "yes") }' \
    >card.csv
of card 'csv: card.csv, target: y, offset: o' 'task: classification'
run card '^archive'
works '"column":"o",.*"parts":\[\]' "$reprise" scorecard card.reprise --json
works '^base ' "$reprise" scorecard card.reprise

# ---- weights of evidence that the fit turns round ----

# two columns that say the same, but for some rows where b alone is wrong
awk 'BEGIN { print "a,b,y"; for (r = 0; r < 400; r++) {
    a = r % 5; b = r % 7 < 2 ? (a + 1) % 5 : a
    print a "," b "," (r * 37 % 100 < 10 + 18 * a - (b != a ? 9 : 0) ? "yes" : "no")
} }' >both.csv
of both 'csv: both.csv, target: y, columns: {a: {bins: 5, woe: true}, b: {bins: 5, woe: true}}' 'l2: 0'
run both '^opposed +b: negative coefficients of weights of evidence'
works '^opposed +b: ' "$reprise" inspect both.reprise
of both 'csv: both.csv, target: y, columns: {a: {bins: 5, woe: true}, b: ignore}' 'l2: 0'
run both '^fit'
silent 'opposed'

# ---- categories that were pooled, or are new ----

awk 'BEGIN {
    print "k,y"
    for (r = 0; r < 60; r++)
        print (r % 20 == 7 ? "rare" r : substr("ab", r % 2 + 1, 1)) "," (r * 7 % 5 < 2 ? "yes" : "no")
}' >pool.csv
of pool 'csv: pool.csv, target: y, columns: {k: {kind: categorical, rare: 0.1}}, train_on_all: true' ''
run pool '^archive'
printf 'k\na\nrare7\nnever\n' >new.csv
works '^note +column "k": 3 of 5 categories of the training rows, 3 of 60 rows, are rare and .*: "rare27" \(1\), ' \
    "$reprise" data pool.yaml
attempt "$reprise" predict pool.reprise --csv new.csv --flags -o -
checks=$((checks + 2))
[ "$(grep -c 'rare_or_new:k' "$log/out")" = 2 ] || bad "two of three rows are rare or new"
grep -q '0 unseen categories.*2 categories pooled as rare or new' "$log/err" || bad "the remark does not count them"

# ---- what would have gone by in silence ----

# a flag that is rarely 1: tenths and percentiles are all 0; drift of it, and of a constant, has bins nevertheless
awk 'BEGIN { print "flag,same,x,y"; for (r = 0; r < 300; r++)
    print (r % 16 == 3) ",7," r * 37 % 101 "," (r * 53 % 97 < 30 + 40 * (r % 16 == 3) ? "yes" : "no") }' >rare.csv
awk -F, -v OFS=, 'NR > 1 { $1 = 1; $2 = 8 } { print }' rare.csv >other.csv
of rare 'csv: rare.csv, target: y, columns: {flag: {bins: 10}}' 'task: classification'
run rare '^warning +column "flag": with the recipe.s bins it has one value and tells nothing'
works '^warning +column "flag": with the recipe.s bins it has one value' "$reprise" data rare.yaml
of rare 'csv: rare.csv, target: y, columns: {flag: {cap: [0.01, 0.9]}}' 'task: classification'
run rare '^warning +column "flag": with the recipe.s cap it has one value'
of rare 'csv: rare.csv, target: y, columns: {flag: {bins: [1]}}' 'task: classification'
run rare '^fit'
silent 'it has one value'
of rare 'csv: rare.csv, target: y' 'task: classification'
run rare '^fit'
works '^ *flag +[1-9][0-9.]* ' "$reprise" monitor rare.reprise --csv other.csv
works '^ *same +[1-9][0-9.]* ' "$reprise" monitor rare.reprise --csv other.csv

# more digits than binary64 holds; a column that is missing with one of two answers; words behind numbers; a tab
awk 'BEGIN { print "account,paid,kind,step,y"; for (r = 0; r < 60; r++)
    print "9007199254" (740992 + 7 * r) r "," (r % 2 ? r : "") "," r % 5 " kg," r % 3 ". Step," (r % 2 ? "yes" : "no")
}' >odd.csv
of odd 'csv: odd.csv, target: y' 'task: classification'
works '"account" holds whole numbers beyond 9007199254740992, up to 18 digits' "$reprise" data odd.yaml
works '"paid" gives the target away by itself' "$reprise" data odd.yaml
run odd 'column "kind", line 2: "0 kg" is a number with a word behind it'
silent '^warning.*[.] Step'
tr , '\t' <odd.csv >odd.tsv
works 'holds 4 times "\\t": is that the file' "$reprise" data odd.tsv

# ---- rows that became comments, or stand in front of the table ----

awk 'BEGIN { print "# made by hand, in one line\n#x,z\nx,z,y"
    for (i = 0; i < 90; i++) print (i % 9 ? "" : "#") i % 7 "," i % 5 "," (i * 7 % 9 < 4 ? "\"no\"" : "yes") }' \
    >made.csv
of made 'csv: made.csv, target: y, comment: "#"' 'task: classification'
run made '^warning +10 lines have as many cells as a row, and are passed over by data.comment or data.skip_lines'
works '"code": ?"hidden_rows"' "$reprise" data made.yaml --json
works '^hidden +10 lines of the table .*as recorded' "$reprise" verify made.reprise --allow-unsigned
works '"rows":\{"hidden":10,' "$reprise" inspect made.reprise --json
works '^hidden +10 lines of the table .*counted again' "$reprise" replay made.reprise
works 'written' "$reprise" report made.reprise -o made.html
holds 'the report tells lines that look like rows' grep -q '>10 lines that have as many cells as a row' made.html
of made 'csv: made.csv, target: "y", comment: "#", skip_lines: 4' 'task: classification'
sed -i 's/"y", comment/2, header: false, comment/' made.yaml
run made '^warning +11 lines have as many cells as a row'
grep -v '^#[0-9]' made.csv >clean.csv
of clean 'csv: clean.csv, target: y, comment: "#"' 'task: classification'
run clean '^archive'
silent 'cells as a row'
works '^verified' "$reprise" verify clean.reprise --allow-unsigned
silent '^hidden'
# a byte order mark belongs to no line
{ printf '\357\273\277#9,9,no\n'; tail -n +3 made.csv; } >marked.csv
of marked 'csv: marked.csv, target: y, comment: "#"' 'task: classification'
run marked '^warning +11 lines have as many cells as a row'
{ printf '\357\273\277"1",2,no\n'; tail -n +3 made.csv; } >marked.csv
of marked 'csv: marked.csv, target: y, comment: "#", skip_lines: 1' 'task: classification'
run marked '^warning +11 lines have as many cells as a row'
# lines that are no rows by themselves are passed over once, not once for each of them
awk 'BEGIN { for (i = 0; i < 1500000; i++) print "#\"" }' | cat - clean.csv >open.csv
of open 'csv: open.csv, target: y, comment: "#"' 'task: classification'
works 'open.yaml: 80 rows' timeout 60 "$reprise" data open.yaml
silent 'cells as a row'

# spellings of one category; numbers whose squares are 0; a table divided by blanks
awk 'BEGIN { print "own,small,y"; for (r = 0; r < 60; r++)
    print (r == 7 ? "YES" : r % 2 ? "Yes" : "No") "," r % 7 "e-300," (r * 7 % 5 < 2 ? "a" : "b") }' >slips.csv
of slips 'csv: slips.csv, target: y' 'task: classification'
for command in 'run slips.yaml -o slips.reprise --force' 'data slips.yaml'; do
    # shellcheck disable=SC2086
    works '"own", line 9: the category "YES" differs from "Yes" of line 3 only in spelling, as 1 of 3' \
        "$reprise" $command
    holds "numbers whose deviation is 0" \
        grep -Eq '^warning .*"small", line [0-9]+: "[0-6]e-300" .*the deviation is 0' "$log/out"
done
of slips 'csv: slips.csv, target: y, standardize: false' 'task: classification, epochs: 1'
works '"small", line [0-9]+: "[0-6]e-300" .*in binary32 all of them are 0' "$reprise" data slips.yaml
sed 's/e-300//' slips.csv >plain.csv
of plain 'csv: plain.csv, target: y, standardize: false' 'task: classification, epochs: 1'
works '^small' "$reprise" data plain.yaml
silent 'differs from the numbers'
tr , ' ' <slips.csv >blanks.csv
of blanks 'csv: blanks.csv, target: y' 'task: classification'
fails 2 'it has "own small y" alone: is data.delimiter " ", or do lines' "$reprise" run blanks.yaml -o blanks.reprise
of blanks 'csv: blanks.csv, target: y, delimiter: " "' 'task: classification'
run blanks '^fit'

# coefficients behind the figures, the rest where the archive is shown; where time divides, and which rows are where
awk 'BEGIN { printf "t,y"; for (c = 0; c < 15; c++) printf ",x%d", c; print ""
    for (r = 0; r < 100; r++) { printf "%d,%d", 2000 + r / 4, r % 13 + r / 10
        for (c = 0; c < 15; c++) printf ",%d", r * (c + 3) % (c + 17); print "" } }' >wide.csv
of wide 'csv: wide.csv, target: y, time: t, where: [{column: x0, is: "<", value: 16}]' 'task: regression, l2: 0'
run wide '^coefficient +estimate +std. error +t +p +95 % from +to +VIF$'
holds "twelve terms and what is left" grep -Eq '^terms +4 more: reprise inspect wide.reprise --coefficients$' "$log/out"
holds "the last of them" grep -Eq '^x10 +-?[0-9]' "$log/out"
silent '^x11 '
holds "figures of the fit" \
    grep -Eq '^criteria +log likelihood -[0-9.]+, deviance [0-9.]+, dispersion .* AIC .* BIC .*, R s' "$log/out"
terms() { sed -n '/^coefficient /,/^x10 /p; /^criteria /p' "$1"; }
terms "$log/out" >recorded
works '^terms +4 more: of a recorded run reprise inspect --coefficients shows all$' \
    "$reprise" run wide.yaml --no-record
holds "the same terms and criteria where nothing is recorded" diff recorded <(terms "$log/out")
works '^terms +in at-home/outputs/coefficients.json, ' "$reprise" run wide.yaml -o left.reprise --withhold at-home
silent '^coefficient '
silent '"2020"' # the cell at which the rows are divided
holds "the division is told all the same" grep -Eq '^note +"t" divides the rows by time: .* line [0-9]+$' "$log/out"
fails 2 'left.reprise: outputs/coefficients.json was left out of this archive.*report --withheld' \
    "$reprise" inspect left.reprise --coefficients
works '^written' "$reprise" report left.reprise -o left.html
holds "the report says where they are" grep -q 'Left out of the archive with the data, since it names' left.html
holds "and has no table of them" test "$(grep -c 'Variance inflation' left.html)" = 0
works '^written' "$reprise" report left.reprise -o given.html --withheld at-home
holds "which it has where the folder is given" grep -q 'Variance inflation' given.html
works '^x14 +-?[0-9]' "$reprise" inspect wide.reprise --coefficients
# in the report: days among the quantiles, a class that is the reference, bins, and rows that chose twice
awk 'BEGIN { print "day,a,y"; for (r = 0; r < 90; r++)
    printf "20%02d-03-%02d,%d,%s\n", 10 + r % 9, 1 + r % 28, r * 7 % 23,
        substr("abc", r * r % 7 % 3 + 1, 1) }' >days.csv
of days 'csv: days.csv, target: y, columns: {day: {kind: date, parts: [year]}, a: {bins: [10]}}' 'l2: 0'
run days '^fit'
works '^written' "$reprise" report days.reprise -o days.html
holds "quantiles of dates" grep -q '<td class="n"><bdi>2010-03-0[0-9]</bdi></td>' days.html
holds "no date is called no number" test "$(grep -c 'not a number' days.html)" = 0
holds "the reference" grep -q '^<p>The reference: all of its coefficients are 0' days.html
for words in '<bdi>a</bdi> below 10.00 (reference)' '<bdi>a</bdi> from 10.00<' 'Odds ratio' \
    'area under the ROC curve, mean over classes, 0'; do
    holds "and: $words" grep -q "$words" days.html
done
of twice 'csv: days.csv, target: y, columns: {day: ignore}' 'epochs: 2, patience: 1'
printf 'model: {hidden: [2]}\nsearch: {over: {lr: [0.1, 0.2]}}\n' >>twice.yaml
run twice '^trials'
works '^written' "$reprise" report twice.reprise -o twice.html
holds "both choices" grep -q 'but that chose its settings and the epoch whose weights it has' twice.html
forge() {
    python3 "$source_dir/tests/cli/validate/forge.py" wide.reprise forged.reprise outputs/coefficients.json "$1"
}
forge 't = m["outputs"][0]["terms"]; t[1]["estimate"] = "1e99999999999999999999"; t[2]["estimate"] = "\x1b[31m9" * 9
t[3]["estimate"] = "-0.000099999999"; t[4]["estimate"] = 7; t[5]["column"] = "\x1b]0;x\x07"; t[6] = []
t[7]["p"] = "." * 99
t[8]["estimate"] = "123456.5"; t[9]["estimate"] = "1234567890"; t[10]["estimate"] = "9.99999"; t[0]["estimate"] = "0"'
works '^intercept +0 ' "$reprise" inspect forged.reprise --coefficients
holds "nothing that a terminal would obey" test "$(tr -d '[:print:]\n' <"$log/out" | wc -c)" = 0
for line in 'x0 +1e9999' 'x2 +-0[.]0001 ' 'x7 +123460 ' 'x8 +1[.]2346e9 ' 'x9 +10 '; do
    holds "$line" grep -Eq "^$line" "$log/out"
done
forge 't = m["outputs"][0]["terms"]
for k, text in enumerate(("1.2.3", "e5", ".", "-", "1e 5", "1.5e+02")): t[k + 1]["estimate"] = text'
works '^x0 +1[.]2[.]3 ' "$reprise" inspect forged.reprise --coefficients
for line in 'x1 +e5 ' 'x2 +[.] ' 'x3 +- ' 'x4 +1e 5 ' 'x5 +150 '; do
    holds "$line" grep -Eq "^$line" "$log/out"
done
forge 'm = {"outputs": 3, "dispersion": [], "family": {}}'
works . "$reprise" inspect forged.reprise --coefficients
works '^note +column "t": [0-9]+ training rows to "2019", [0-9]+ validation rows from "2020" on$' \
    "$reprise" data wide.yaml
holds "and in the run" grep -q 'validation rows from "2020" on' <("$reprise" run wide.yaml --no-record)
works '^written +parts.csv$' "$reprise" data wide.yaml --parts parts.csv
"$reprise" inspect wide.reprise --member outputs/predictions.csv | cut -d, -f1 | tail -n +2 >judged
holds "the rows of the validation part" diff <(awk -F, '$3 == "validation" { print $1 }' parts.csv) judged
holds "lines of the file" diff <(awk -F, 'NR > 1 && $3 == "left_out" { print $2 }' parts.csv) \
    <(awk -F, 'NR > 1 && $3 >= 16 { print NR }' wide.csv)
awk 'NR == 4 { print "# one\n# two" } { print }' wide.csv >noted.csv
sed 's/wide.csv/noted.csv/; s/target: y/target: y, comment: "#"/' wide.yaml >noted.yaml
works '^written' "$reprise" data noted.yaml --parts noted.parts
holds "lines behind comments" diff <(awk -F, -v OFS=, 'NR > 3 { $2 += 2 } { print }' parts.csv) noted.parts
# rows and lines in one walk
awk 'BEGIN { print "x,y"; for (r = 0; r < 400000; r++) print r % 101 "," (r * 7 % 5 < 2 ? "a" : "b") }' >long.csv
of long 'csv: long.csv, target: y' 'task: classification'
works '^written' timeout 60 "$reprise" data long.yaml --parts long.parts
holds "the last line" grep -Eq '^399999,400001,' long.parts
fails 2 'already exists' "$reprise" data wide.yaml --parts parts.csv
sed 's/wide.csv/"-"/' wide.yaml >piped.yaml
fails 2 'standard input is read once' bash -c "exec '$reprise' data piped.yaml --parts other.csv <wide.csv"
works '^x0 +numeric' bash -c "exec '$reprise' data piped.yaml <wide.csv"
fails 2 'parts are a recipe' "$reprise" data wide.csv --parts other.csv
of wide 'csv: wide.csv, target: y' 'task: regression'
run wide '^coefficient +estimate +as encoded$'

# the resolved recipe makes the archive again: unpacked as it lies there, or beside the table
mkdir -p unpacked
tar xf wide.reprise -C unpacked
works . "$reprise" run unpacked/run/recipe.json -o again.reprise
holds "the same archive" cmp wide.reprise again.reprise
works '^t +numeric' "$reprise" data unpacked/run/recipe.json
sed 's/"regression"/"regress"/' unpacked/run/recipe.json >unpacked/run/changed.json
fails 2 'train.task: .*"regress".*best written anew in YAML' "$reprise" run unpacked/run/changed.json -o no.reprise

# errors that say what to do
fails 2 'favourable: expected "no" or "yes", found "No"' "$reprise" validate rare.reprise --csv rare.csv \
    --groups flag --favourable No
sed '2s/[a-z]*$/Yes/' rare.csv >typed.csv
fails 1 'a class of the training data, letter for letter: "no" or "yes", found "Yes"' \
    "$reprise" validate rare.reprise --csv typed.csv
finish
