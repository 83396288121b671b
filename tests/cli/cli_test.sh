#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line: what each subcommand prints, writes and returns. Usage: tests/cli/cli_test.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

rows 120 >data.csv
recipe small.yaml
hex='[0-9a-f]{64}'

# ---- help and version ----
for command in data run verify replay diff inspect predict report golden keygen doctor bench log; do
    works "^usage: reprise $command" "$reprise" $command --help
    holds "help of $command has an example" grep -q '^example:' "$log/out"
    cp "$log/out" "$log/direct"
    works "^usage: reprise $command" "$reprise" help $command
    holds "help $command is $command --help" cmp "$log/direct" "$log/out"
    works "  $command " "$reprise" help
done
works '^reprise [0-9]+\.[0-9]+\.[0-9]+ ' "$reprise" --version
works '^\{"schema":1,"format":1,"version":"' "$reprise" --version --json
works '^reprise-verify [0-9]+\.[0-9]+\.[0-9]+ ' "$build/cli/reprise-verify" --version

# ---- what a table holds ----
works '^x +numeric +numbers +0 +' "$reprise" data small.yaml
holds "a recipe's declared column is told as such" grep -Eq '^id +ignore +data.columns' "$log/out"
works '^warning +"id" .line 2: "[0-9]+". is a whole number of its own' "$reprise" data data.csv
works '"code":"identifier","column":0' "$reprise" data data.csv --json
printf 'a;y\n1;u\n2;v\n3;u\n4;v\n' >semicolons.csv
works '^warning +there is one column only.*";"' "$reprise" data semicolons.csv
printf 'reprise: 1\ndata: {csv: semicolons.csv, target: y}\n' >semicolons.yaml
works '^refused +a run of this recipe ends with: .*data.delimiter' "$reprise" data semicolons.yaml
printf 'reprise: 1\ndata: {csv: semicolons.csv, target: y, delimiter: ";", folds: 2}\n' >semicolons.yaml
echo 'train: {solver: gradient}' >>semicolons.yaml
works '^note +the 2 training rows are fewer than train.batch' "$reprise" run semicolons.yaml -o few.reprise
works '^identical' "$reprise" replay few.reprise
works '^written' "$reprise" report few.reprise -o few.html
holds "the report tells what the table holds" grep -q 'What the table holds' few.html
fails 1 'nothing.csv' "$reprise" data nothing.csv
rm -f semicolons.* few.*

# ---- who may read what is written ----
(umask 077 && "$reprise" keygen private >"$log/out" && "$reprise" run small.yaml -o private-mode.reprise >"$log/out")
holds "the umask holds for archives" test "$(stat -c %a private-mode.reprise)" = 600
holds "and for public keys" test "$(stat -c %a private.pub.pem)" = 600
works '^archive' "$reprise" run small.yaml -o private-mode.reprise --force
holds "a file that is replaced is not opened to others" test "$(stat -c %a private-mode.reprise)" = 600
works '^archive' "$reprise" run small.yaml -o open-mode.reprise
holds "without a umask of one's own, others may read" test "$(stat -c %a open-mode.reprise)" = 644
chmod 664 open-mode.reprise
works '^signed|^endorse' "$reprise" sign open-mode.reprise --key private.pem
holds "adding a statement leaves the mode" test "$(stat -c %a open-mode.reprise)" = 664
works '^written' "$reprise" report open-mode.reprise -o signed-later.html --trust private.pub.pem
holds "its report tells the key in the commands" grep -q '^<pre>reprise verify run.reprise --trust signer.pub.pem' \
    signed-later.html
rm -f private.pem private.pub.pem signed-later.html

# ---- keygen ----
works "^key +$hex \(ECDSA P-256\)" "$reprise" keygen me
holds "the private key is private" test "$(stat -c %a me.pem)" = 600
holds "openssl reads the private key" openssl pkey -in me.pem -noout
holds "openssl reads the public key" openssl pkey -pubin -in me.pub.pem -noout
printf 'open sesame\r\nsecond line\n' >phrase.txt
works '"encrypted":true' "$reprise" keygen other --passphrase-file phrase.txt --json
holds "the passphrase is the first line" openssl pkey -in other.pem -passin 'pass:open sesame' -noout
cp me.pem old.pem
works "^key" "$reprise" keygen me --force
holds "--force makes another key" test "$(cksum <old.pem)" != "$(cksum <me.pem)"
mkdir blocked.pub.pem
fails 2 'blocked.pub.pem: already exists' "$reprise" keygen blocked
cp me.pem blocked.pem
fails 2 'blocked.pub.pem: is a directory' "$reprise" keygen blocked --force # and blocked.pem is as it was
rm blocked.pem
holds "--force leaves nothing beside the pair" test -z "$(find . -name 'me.new-*' -o -name 'blocked.*' -type f)"

# ---- run ----
works "^archive +$hex" "$reprise" run small.yaml -o a.reprise --key me.pem
holds "what was needed is told" grep -Eq '^memory +[1-9][0-9]*\.[0-9] KiB for weights, table and steps' "$log/out"
holds "validation metrics are printed" grep -Eq '^validation +accuracy [01]\.[0-9]{4}, AUC [01]\.[0-9]{4}, loss ' \
    "$log/out"
holds "the cost of recording is printed" grep -Eq '^time .* recording .*%\)' "$log/out"
holds "the signer is printed" grep -Eq "^signed +by key $hex" "$log/out"
works '^unsigned ' "$reprise" run small.yaml --out=b.reprise --threads 1 --isa ref
works '^unsigned ' "$reprise" run small.yaml -oc.reprise --threads=7
holds "threads and levels change no byte" cmp b.reprise c.reprise
works "\"archive_id\":\"$hex\".*\"metrics\":\{.*\"validation\":\{\"accuracy\":[01][.0-9]*,.*\"signed\":true,"\
"\"steps\":[0-9]+" \
    "$reprise" run small.yaml -o json.reprise --key other.pem --passphrase-file phrase.txt --json
holds "one line of JSON" test "$(wc -l <"$log/out")" -eq 1
if command -v jq >/dev/null; then
    holds "jq reads it" jq \
        -e '.metrics.validation.auc > 0.5 and .seconds >= .recording_seconds and .path == "json.reprise"' \
        "$log/out"
else
    skip "no jq: JSON is only matched, not parsed"
fi
works '"archive_id":null.*"recording_seconds":0\.000000' "$reprise" run small.yaml --no-record --json
works "^archive" "$reprise" run small.yaml -o b.reprise --force
holds "--force makes the same bytes again" cmp b.reprise c.reprise
holds "no colours and no bar away from a terminal" test -z "$(grep -c $'\033' "$log/out" "$log/err" | grep -v ':0')"

# ---- verify ----
works "^verified +a.reprise" "$reprise" verify a.reprise --trust me.pub.pem
works '"statements":\[\{"conforms":true,"device":null,"key_id":' \
    "$reprise" verify a.reprise --trust other.pub.pem --trust me.pub.pem --json
works '^unsigned +accepted' "$reprise" verify b.reprise --allow-unsigned
api=$source_dir/golden/branch.reprise
holds "verify prints what each statement states" sh -c "'$reprise' verify a.reprise --trust me.pub.pem |
    grep -Eq '^signed +by key $hex .*, signatures/[^:]*: slsa.dev/provenance/v1\$'"
works '"archive_id":.*"kind":"recipe",' "$reprise" verify a.reprise --trust me.pub.pem --json
works '"kind":"api",' "$reprise" verify "$api" --allow-unsigned --json
fails 4 'nobody has signed' "$reprise" verify b.reprise --trust me.pub.pem
fails 4 'key' "$reprise" verify a.reprise --trust other.pub.pem
fails 2 'give --trust PUB.pem' "$reprise" verify a.reprise

# ---- replay ----
mkdir alone
mv data.csv data.away
cp a.reprise alone
for threads in 1 2 3 7; do
    works '^identical +alone/a.reprise: [0-9]+ steps' "$reprise" replay alone/a.reprise --threads $threads
done
works '"identical":true,"kind":"recipe","level":"ref"' "$reprise" replay alone/a.reprise --isa ref --json
works '^signed +by key .*: slsa.dev/provenance/v1$' "$reprise" replay a.reprise --trust me.pub.pem
works '^kind +C API run: initial state, data and feeds are as given, and what is computed, ' "$reprise" replay "$api"
works '"kind":"api",' "$reprise" replay "$api" --json
"$build/tests/test_door" door.reprise # a run that says it came through a door of Python
of_door='PyTorch door \(2\.15\.0\+cpu\)'
works "^kind +$of_door run, by its own word: initial state, data and feeds are as given" "$reprise" replay door.reprise
works "^kind +$of_door run, by its own word: " "$reprise" verify door.reprise --allow-unsigned
works "^run +$of_door by its own word, 1 steps" "$reprise" inspect door.reprise
rm door.reprise
fails 4 'key' "$reprise" replay a.reprise --trust other.pub.pem
mv data.away data.csv

# An honest-looking archive with other bits: one digit of a metric, and the manifest's hash of it, changed.
"$reprise" inspect b.reprise --member outputs/metrics.json >metrics.json
sed '0,/"accuracy":"0\.\([0-9]*\)[0-8]"/s//"accuracy":"0.\19"/' metrics.json >forged.json
old=$(sha256sum <metrics.json | cut -c1-64)
new=$(sha256sum <forged.json | cut -c1-64)
sed -e "s/$old/$new/" -e '/"confusion"/{0,/"accuracy":"0\.\([0-9]*\)[0-8]"/s//"accuracy":"0.\19"/}' b.reprise \
    >forged.reprise
holds "the forgery has the same size" test "$(stat -c %s b.reprise)" = "$(stat -c %s forged.reprise)"
holds "the forgery is another archive" test "$old" != "$new"
works '^verified' "$reprise" verify forged.reprise --allow-unsigned
fails 3 'forged.reprise: outputs/metrics.json: .*recomputed' "$reprise" replay forged.reprise
gives 3 '^.*"RP_EBITS","message":"forged.*,"exit":3,"difference":\{"expected":.*\},"host":null\}\}$' \
    "$reprise" replay forged.reprise --json

# ---- a term of an exact fit that is left out is named, not its column alone ----
printf 'a,y\n1,2\n2,3\n3,5\n4,4\n5,7\n6,6\n' >left.csv
printf '%s\n' 'reprise: 1' 'data: {csv: left.csv, target: y, train_on_all: true, columns: {a: {indicator: true}}}' \
    'train: {task: regression, l2: 0}' >left.yaml
works '^fit .*; left out: a is missing, a sum' "$reprise" run left.yaml -o left.reprise

# ---- inputs left out ----
works '^left out ' "$reprise" run small.yaml -o private.reprise --key me.pem --withhold home
holds "the salt is private" test "$(stat -c %a home/salt)" = 600
works '^left out +6 members' "$reprise" verify private.reprise --trust me.pub.pem
works '^    left out  data/raw.csv' "$reprise" inspect private.reprise
fails 2 'data/raw.csv: was left out of this archive: give --withheld' "$reprise" replay private.reprise
works '^identical' "$reprise" replay private.reprise --withheld home --trust me.pub.pem
works '^identical' "$reprise" diff private.reprise private.reprise --withheld home
works '^written' "$reprise" report private.reprise -o private.html
holds "the report says what was left out" grep -q 'Left out of the archive.*data/raw.csv' private.html
for words in 'what its features are was left out of the archive' 'were left out of the archive with the data' \
    'reprise replay run.reprise --trust signer.pub.pem --withheld FOLDER'; do
    holds "and: $words" grep -q -- "$words" private.html
done
sed 's/1/2/' home/data/raw.csv >changed.csv
cp -r home changed && mv changed.csv changed/data/raw.csv
fails 4 'changed/data/raw.csv: not the data/raw.csv that was left out' "$reprise" replay private.reprise \
    --withheld changed
recipe child.yaml
printf 'parent: {archive: private.reprise}\n' >>child.yaml
fails 2 'private.reprise: was made without its data, .*parent.weights.*parent.mode: retrain' "$reprise" run child.yaml \
    -o child.reprise
fails 2 'nothing was left out' "$reprise" replay a.reprise --withheld home

# ---- a quantity taken for classes ----
(echo x,y; for i in $(seq 60); do echo "$i,$((i % 30)).5"; done) >quantity.csv
printf 'reprise: 1\ndata: {csv: quantity.csv, target: y, folds: 2}\ntrain: {epochs: 1, batch: 8}\n' >quantity.yaml
works '^warning +30 classes, all of them numbers: .*task: regression' "$reprise" run quantity.yaml -o quantity.reprise
sed -i 's/folds: 2/folds: 3/' quantity.yaml
fails 2 'folds: class "0.5" has 2 rows.*numbers: .*task: regression' "$reprise" run quantity.yaml -o no.reprise
works '^archive' "$reprise" run small.yaml -o noted.reprise
holds "names are not noted" test "$(grep -c 'all of them numbers' "$log/out")" = 0

# ---- diff ----
works '^identical' "$reprise" diff a.reprise b.reprise
sed 's/seed: 3/seed: 4/' small.yaml >seed.yaml
works '^archive' "$reprise" run seed.yaml -o d.reprise
gives 3 '^step +0 is the first that differs' "$reprise" diff a.reprise d.reprise
holds "diff names the recipe key" grep -q '^recipe  *seed: A 3, B 4' "$log/out"
holds "diff is silent on stderr" test ! -s "$log/err"
gives 3 '"same":false,"steps_recomputed":2,"text":\["A ' "$reprise" diff a.reprise d.reprise --json

# Values of a recipe may hold what a terminal obeys, here DEL and U+009B (the last is a letter), and keys too once
# forged.
sed $'1s/kind/k\x7f\xc2\x9b\xc3\x9b/' data.csv >escape.csv
recipe escape.yaml escape.csv
sed -i 's/columns: .*/columns: {id: ignore, "k\\x7f\\u009b\\u00db": categorical}/' escape.yaml
works '^archive' "$reprise" run escape.yaml -o escape.reprise
gives 3 $'^recipe .*"k\\?\\?\xc3\x9b"' "$reprise" diff a.reprise escape.reprise
forge_key() { sed -e 's/"seed":3,//' -e 's/{"data":{"columns"/{"\\u001bd":3,"data":{"columns"/' \
    -e 's/"Small test"/"Small t"/'; }
"$reprise" inspect b.reprise --member run/recipe.json >key.json
old=$(sha256sum <key.json | cut -c1-64)
new=$(forge_key <key.json | sha256sum | cut -c1-64)
sed "s/$old/$new/" b.reprise | forge_key >key.reprise
gives 3 '^recipe +\?d: A \(absent\), B 3' "$reprise" diff b.reprise key.reprise
holds "diff prints no control character" test -z "$(tr -d '[:print:]\n' <"$log/out")"
# a message quotes the name of a file
fails 1 $'no\\?\\?\xc3\x9bthing: cannot open' "$reprise" replay $'no\x1b\xc2\x9b\xc3\x9bthing'

# ---- inspect ----
works '^run +recipe: Small test, [0-9]+ steps' "$reprise" inspect a.reprise
works "\"members\":\[\{\"name\":\"manifest.json\",\"sha256\":\"$hex\"" "$reprise" inspect a.reprise --json
works '^\{"contract":1,' "$reprise" inspect a.reprise --member manifest.json
holds "the manifest's hash is the archive id" \
    sh -c "'$reprise' inspect a.reprise | grep -q \"\$(sha256sum <'$log/out' | cut -c1-64)\"" 2>/dev/null
"$reprise" inspect a.reprise --member data/raw.csv | cmp -s - data.csv
holds "a member comes out byte for byte" test $? -eq 0
works '^written +raw.csv' "$reprise" inspect a.reprise --member data/raw.csv -o raw.csv
holds "and into a file" cmp raw.csv data.csv
fails 2 'did you mean data/raw.csv' "$reprise" inspect a.reprise --member data/raww.csv

# ---- report ----
works '^signature +not checked: give --trust PUB.pem$' "$reprise" report a.reprise -o a.html
works '^signed +by key .*: slsa.dev/provenance/v1$' "$reprise" report a.reprise -o trusted.html --trust me.pub.pem
holds "the report says that nothing was checked" grep -q 'Signature not checked\.' a.html
holds "the report says that the key is trusted" grep -q 'Verified: signed by a trusted key' trusted.html
works '"verified":true' "$reprise" report a.reprise -o again.html --trust me.pub.pem --json
holds "reports have the same bytes" cmp trusted.html again.html
fails 2 'a.html: already exists' "$reprise" report a.reprise -o a.html
works '^written ' "$reprise" report b.reprise -o a.html --force
holds "an unsigned archive says so" grep -q 'nobody vouches for this archive' a.html
fails 4 'not among the 1 trusted' "$reprise" report a.reprise -o no.html --trust other.pub.pem
fails 4 'nobody has signed' "$reprise" report b.reprise -o no.html --trust me.pub.pem

# ---- predict ----
cut -d, -f1-3 data.csv >new.csv
works '^written +pred.csv: 120 rows' "$reprise" predict a.reprise --csv new.csv -o pred.csv
holds "a header and one line a row" test "$(wc -l <pred.csv)" -eq 121
works '"rows":120' "$reprise" predict b.reprise --csv data.csv -o pred2.csv --threads 3 --isa ref --json
holds "predictions have the same bytes" cmp pred.csv pred2.csv
works '^signature +not checked: give --trust PUB.pem$' "$reprise" predict a.reprise --csv new.csv -o pred.csv --force
works '^signed +by key .*: slsa.dev/provenance/v1$' "$reprise" predict a.reprise --csv new.csv -o pred.csv --force \
    --trust other.pub.pem --trust me.pub.pem
works '"verified":true' "$reprise" predict a.reprise --csv new.csv -o pred.csv --force --trust me.pub.pem --json
rm pred.csv
fails 4 'key' "$reprise" predict a.reprise --csv new.csv -o pred.csv --trust other.pub.pem
awk -F, 'NR > 1 { $2 = "much" } { print $1 "," $2 "," $3 }' new.csv >words.csv
fails 1 'expected a number, found "much"; correct the cell: the column was numeric in training' \
    "$reprise" predict a.reprise --csv words.csv -o pred.csv
printf 'id,x,kind\nA-1,5.0,a\n"B,2",500,zz\nC3,,b\n' >odd.csv
attempt "$reprise" predict a.reprise --csv odd.csv -o - --id id --flags
holds "ids, and what training had nothing like, stand beside predictions" \
    grep -Eqx '1,"B,2",(yes|no),0\.[0-9]+,outside:x;unseen:kind' "$log/out"
holds "a missing cell where training had none is told" grep -Eqx '2,C3,.*,missing:x' "$log/out"
holds "nothing is told of a row like those of training" grep -Eqx '0,A-1,.*,' "$log/out"
holds "stderr counts them" grep -q '^reprise: 2 of 3 rows have cells that training had nothing like: 1' "$log/err"
cp "$log/out" odd.out
attempt "$reprise" predict a.reprise --csv odd.csv -o - --id id --flags --isa ref --threads 3
holds "with the same bytes at every level" cmp odd.out "$log/out"
works '"warnings":\{"rows":2,"unseen":1,"rare_or_new":0,"outside":1,"missing":1\}' \
    "$reprise" predict a.reprise --csv odd.csv \
    -o odd.pred --id id --json
awk 'BEGIN { print "id,x,y"; for (i = 0; i < 40; i++) print "n" i "," i % 7 "," (i % 7 > 2 ? "p" : "q") }' >remarks.csv
printf 'reprise: 1\ndata: {csv: remarks.csv, target: y, comment: "#", columns: {id: ignore}}\n' >remarks.yaml
works '^archive' "$reprise" run remarks.yaml -o remarks.reprise
printf '%s\n' 'reprise: 1' 'train: {class_weights: {p: 5}}' 'data: {csv: remarks.csv, target: y, comment: "#",' \
    '  weight: x, columns: {id: ignore, x: numeric}}' >weighed.yaml
works '^archive' "$reprise" run weighed.yaml -o weighed.reprise
works '^written' "$reprise" report weighed.reprise -o weighed.html
holds "the report says what rows count by" grep -q \
    'its rows count by the column <bdi>x</bdi>; its rows count by class: <bdi>p</bdi> 5.000' weighed.html
holds "and of an exact fit no seed" grep -q 'There is none: an exact fit, which starts at 0' weighed.html
printf 'id,x\nA,1\n# a word between\nB,2\n#\nC,3\n' >said.csv
attempt "$reprise" predict remarks.reprise --csv said.csv -o - --id id
holds "ids keep step with their rows behind comments" \
    test "$(cut -d, -f1,2 "$log/out" | tr '\n' ' ')" = "row,id 0,A 1,B 2,C "
attempt "$reprise" predict a.reprise --csv odd.csv -o - --id id --reasons 2 --reference cutoff --cutoff 0.3
holds "reasons have names and contributions" grep -Eqx \
    'row,id,predicted,p_yes,reason_1,contribution_1,reason_2,contribution_2,margin,gap' "$log/out"
cp "$log/out" odd.out
attempt "$reprise" predict a.reprise --csv odd.csv -o - --id id --reasons 2 --reference cutoff --cutoff 0.3 --isa ref
holds "with the same bytes at every level" cmp odd.out "$log/out"
works '"method":"(shapley|integrated gradients)","favourable":"yes","reference":"all","reference_rows":[0-9]+' \
    "$reprise" predict a.reprise --csv odd.csv -o odd.reasons --id id --contributions --json
fails 2 'expected a whole number from 1 to 64' "$reprise" predict a.reprise --csv odd.csv -o no.csv --reasons 0
fails 2 'say what reasons are' "$reprise" predict a.reprise --csv odd.csv -o no.csv --cutoff 0.3
printf '%s\n' 'reprise: 1' 'data: {csv: remarks.csv, target: y, comment: "#", columns: {id: ignore, x: {bins: 3}}}' \
    >card.yaml
works "^archive" "$reprise" run card.yaml -o card.reprise --key me.pem
works '^base +-?[0-9]+ points' "$reprise" scorecard card.reprise --favourable p -o card.json --key me.pem
works '^checked +card.json: made again' "$reprise" scorecard card.reprise --check card.json --trust me.pub.pem
fails 2 'leave out other options' "$reprise" scorecard card.reprise --check card.json --points 1:1:1
works '^  x +0\.[0-9]+ ' "$reprise" explain card.reprise --csv remarks.csv --repeats 2 -o why.json --key me.pem
works '^score +the probability of "q"' "$reprise" explain card.reprise --csv remarks.csv --repeats 1
works '"score":"probability"' "$reprise" explain card.reprise --csv remarks.csv --repeats 1 --favourable p --json
printf '%s\n' 'reprise: 1' 'data: {csv: remarks.csv, target: y, comment: "#",' \
    'columns: {id: ignore, x: {cap: [0.1, 0.9], log: true}}}' >number.yaml
works "^archive" "$reprise" run number.yaml -o number.reprise
works '^  factor x -?[0-9]+\.[0-9]{12,} x \(log1p\(number within [0-9.]+ and [0-9.]+\) - [0-9.]{12,}\) / [0-9.]{12,}' \
    "$reprise" scorecard number.reprise
awk 'BEGIN { print "kind,y"; for (i = 0; i < 40; i++) print (i % 3 ? "other" : "a category whose text is longer than" \
    " the column of the table and whole") "," (i % 7 > 2 ? "p" : "q") }' >long.csv
printf '%s\n' 'reprise: 1' 'data: {csv: long.csv, target: y}' >long_text.yaml
works "^archive" "$reprise" run long_text.yaml -o long_text.reprise
works '^  a category whose text is longer than the column of the table and whole +-?[0-9]+ ' \
    "$reprise" scorecard long_text.reprise
works '^  a category whose text is longer than the column of the table and whole +0\.[0-9]+$' \
    "$reprise" explain long_text.reprise --csv long.csv --repeats 1
works '^checked +why.json: made again' "$reprise" explain card.reprise --csv remarks.csv --check why.json --isa ref
fails 2 'expected auc, log_loss or brier' "$reprise" explain card.reprise --csv remarks.csv --metric r2
fails 2 'whole number from 1 to 100' "$reprise" explain card.reprise --csv remarks.csv --repeats none
fails 5 'hidden layers' "$reprise" scorecard a.reprise
fails 2 'has no column nobody for an id' "$reprise" predict a.reprise --csv odd.csv -o no.csv --id nobody
gives 2 'both want stdout' "$reprise" predict a.reprise --csv odd.csv -o - --json
works '^the model +odd.pred: 3 of 3 rows, 2 columns, 0 of 6 cells differ' \
    "$reprise" predict a.reprise --csv odd.csv --compare odd.pred --id id
(head -1 odd.pred && tail -n +2 odd.pred | sort -r) >turned.csv
works '^the model ' "$reprise" predict a.reprise --csv odd.csv --compare turned.csv --id id
fails 1 'turned.csv:2: expected row 0' "$reprise" predict a.reprise --csv odd.csv --compare turned.csv
awk -F, -v OFS=, '/^2,/ { $NF = "0.9999" } { print }' odd.pred >changed.csv
gives 3 '^first +row 2 \(changed.csv:4\), column p_yes: expected 0\.[0-9]+, found 0.9999$' \
    "$reprise" predict a.reprise --csv odd.csv --compare changed.csv
gives 0 '^the model ' "$reprise" predict a.reprise --csv odd.csv --compare changed.csv --tolerance 1
head -3 odd.pred >short.csv
gives 3 '^rows +expected 3, found 2' "$reprise" predict a.reprise --csv odd.csv --compare short.csv
cp odd.pred same.csv
fails 2 'is the file of --compare' "$reprise" predict a.reprise --csv odd.csv --compare same.csv -o ./same.csv --force
fails 2 'is the file of --csv' "$reprise" predict a.reprise --csv odd.csv -o odd.csv --force
# nor does any other output, forced or not
fails 2 'is the file of the archive' "$reprise" predict a.reprise --csv odd.csv -o a.reprise --force
fails 2 'is the file of the archive' "$reprise" report a.reprise -o ./a.reprise --force
fails 2 'is the file of the archive' "$reprise" validate a.reprise --csv odd.csv -o a.reprise --force
fails 2 'is the file of --csv' "$reprise" monitor a.reprise --csv odd.csv -o odd.csv --force
fails 2 'is the file of the archive' "$reprise" explain a.reprise --csv odd.csv -o a.reprise --force
fails 2 'is the file of the archive' "$reprise" inspect a.reprise --member manifest.json -o a.reprise --force
fails 2 'is the file of the parent' "$reprise" retrain a.reprise --csv odd.csv -o a.reprise --force
fails 2 'is the file of the table' "$reprise" retrain a.reprise --csv odd.csv -o odd.csv --force
printf 'reprise: 1\ndata: {csv: odd.csv, target: %s}\n' "$(head -1 odd.csv | tr -d '\r' | sed 's/.*,//')" >odd.yaml
fails 2 'is the file of the table' "$reprise" run odd.yaml -o odd.csv --force
fails 2 'is the file of the recipe' "$reprise" run odd.yaml -o odd.yaml --force
for taken in odd.csv:table odd.yaml:recipe; do
    fails 2 "is the file of the ${taken#*:}" "$reprise" data odd.yaml --parts "${taken%:*}" --force
done
cp odd.csv tested.csv
sed 's/csv: odd.csv/csv: odd.csv, test_csv: tested.csv/; $ a parent: {archive: a.reprise}' odd.yaml >child.yaml
fails 2 'is the file of data.test_csv' "$reprise" run child.yaml -o tested.csv --force
fails 2 'is the file of data.test_csv' "$reprise" data child.yaml --parts tested.csv --force
fails 2 'is the file of the parent' "$reprise" run child.yaml -o a.reprise --force
fails 2 'is the file of --csv' "$reprise" retrain a.reprise --csv odd.csv -o b.reprise --statement odd.csv --force
cp a.reprise parent.reprise
fails 2 'is the file of --parent' "$reprise" validate a.reprise --csv odd.csv --parent parent.reprise \
    -o parent.reprise --force
cmp odd.csv tested.csv
cmp a.reprise parent.reprise
cmp odd.pred same.csv
# every column that was made is compared, and what is not is named
asked="--flags --reasons 2 --contributions"
# shellcheck disable=SC2086
"$reprise" predict a.reprise --csv odd.csv $asked -o made.csv >/dev/null
columns=$(head -1 made.csv | tr ',' '\n' | wc -l)
# shellcheck disable=SC2086
works "^the model +made.csv: 3 of 3 rows, $((columns - 1)) columns, 0 of" \
    "$reprise" predict a.reprise --csv odd.csv $asked --compare made.csv
for column in $(seq 2 "$columns"); do
    awk -F, -v OFS=, -v c="$column" 'NR == 3 { $c = "x" $c } { print }' made.csv >changed.csv
    # shellcheck disable=SC2086
    gives 3 "^different +changed.csv: 3 of 3 rows, $((columns - 1)) columns, 1 of" \
        "$reprise" predict a.reprise --csv odd.csv $asked --compare changed.csv
done
works '^passed +only in made.csv, so not compared: warnings, reason_1, ' \
    "$reprise" predict a.reprise --csv odd.csv --compare made.csv
# shellcheck disable=SC2086
works '^lacking +not in same.csv, so not compared: warnings, reason_1, ' \
    "$reprise" predict a.reprise --csv odd.csv $asked --compare same.csv
rm -f odd.* turned.csv changed.csv short.csv made.csv same.csv
fails 4 'nobody has signed' "$reprise" predict b.reprise --csv new.csv -o pred.csv --trust me.pub.pem

# ---- golden ----
mkdir g
cp data.csv g
recipe g/one.yaml
recipe g/two.yaml data.csv 3
cp a.reprise g/stored.reprise
fails 1 'golden.json: not found' "$reprise" golden check g
cp g/two.yaml "$(printf 'g/m\377.yaml')"
fails 2 'must be UTF-8' "$reprise" golden record g
rm "$(printf 'g/m\377.yaml')"
works '^recorded .* two' "$reprise" golden record g
cp -r g g.before
works '^unchanged .* two' "$reprise" golden record g
holds "recording again changes nothing" diff -r g g.before
works '^same bits +two' "$reprise" golden check g --junit ok.xml
holds "three test cases, none failed" grep -q '<testsuites tests="3" failures="0" errors="0"' ok.xml
sed -i 's/seed: 3/seed: 5/' g/two.yaml
gives 3 '^DIFFERS +two +two.yaml' "$reprise" golden check g --junit 'bad.xml' --threads 2
holds "the message names the step" grep -Eq \
    '^reprise: golden check: 1 of 3 failed: two.yaml: .*step [0-9]+ is the first' "$log/err"
holds "one line on stderr" test "$(wc -l <"$log/err")" -eq 1
holds "JUnit has the failure" grep -q '<failure type="RP_EBITS" message="two.yaml' bad.xml
if command -v xmllint >/dev/null; then
    holds "JUnit is well-formed" xmllint --noout ok.xml bad.xml
fi
gives 3 '"failed":1,.*"status":"RP_EBITS"' "$reprise" golden check g --json
fails 2 'differs from the recorded golden' "$reprise" golden record g
fails 2 'say why with --reason' "$reprise" golden record g --force
works '^replaced .* two' "$reprise" golden record g --force --reason 'seed 5 is meant'
holds "the reason is kept" grep -q '"reason":"seed 5 is meant","recipe":"two.yaml"' g/golden.json
holds "the others are untouched" cmp g/one.reprise g.before/one.reprise
works '^same bits +stored' "$reprise" golden check g
cp g/stored.reprise g/golden.json .
cp forged.reprise g/stored.reprise
gives 4 '^FAILED +stored .*archive id: golden.json' "$reprise" golden check g
id_of() { "$reprise" inspect "$1" | sed -n 's/^archive  *//p'; }
sed -e "s/$(id_of stored.reprise)\",\(\"[^}]*\"recipe\":null\)/$(id_of forged.reprise)\",\1/" \
    -e "s/$(sha256sum <stored.reprise | cut -c1-64)/$(sha256sum <forged.reprise | cut -c1-64)/" golden.json \
    >g/golden.json
gives 3 '^DIFFERS +stored .*replay: outputs/metrics.json.*recomputed' "$reprise" golden check g
cp stored.reprise golden.json g
cp forged.reprise 'g/<&>.reprise'
gives 1 'has no row in golden.json' "$reprise" golden check g --junit bad.xml
holds "JUnit escapes" grep -q 'name="&lt;&amp;&gt;"' bad.xml
fails 3 'recomputed' "$reprise" golden record g
rm 'g/<&>.reprise' g/stored.reprise
gives 1 '^FAILED +stored' "$reprise" golden check g
fails 2 'stored.reprise: in golden.json, but' "$reprise" golden record g

# ---- doctor ----
works '^healthy' "$reprise" doctor
cp "$log/out" "$log/healthy" # asked once a form: sanitized, all vectors on all levels take seconds
works '^device +cpu: cpu-' cat "$log/healthy"
works '"healthy":true,"host":\{' "$reprise" doctor --json
cp "$log/out" "$log/healthy.json"
works '"devices":\{"cpu":"cpu-[a-z0-9]+","cuda":"[^"]+","emulated":"[^"]+"\}' cat "$log/healthy.json"

# ---- more than there is ----
sed 's/hidden: .*/hidden: [65536, 20000]/' small.yaml >large.yaml
narrow="ulimit -v 3000000; exec '$reprise'"
if bash -c "$narrow --version" >"$log/out" 2>&1; then
    fails 1 'out of memory: .* [0-9]+ MiB' bash -c "$narrow run large.yaml -o large.reprise --threads 1"
else
    skip "limited memory: sanitizers want more addresses"
fi

# ---- devices ----
works '^unsigned ' "$reprise" run small.yaml -o device.reprise --device cpu
holds "a device changes no byte" cmp device.reprise b.reprise
for command in "run small.yaml -o gpu.reprise" "replay b.reprise" "golden check g" \
    "predict b.reprise --csv data.csv -o gpu.csv" "diff b.reprise a.reprise" "bench --only exp"; do
    # shellcheck disable=SC2086 # words
    fails 5 "--device: expected one of this build.s .cpu, cuda, emulated., found gpu" "$reprise" $command --device gpu
    works 'cpu' "$reprise" ${command%% *} --help
done
if ! grep -q '^device  *cuda: cuda-sm' "$log/healthy"; then
    fails 5 "device cuda: this (host has no NVIDIA driver|build has no kernels)" "$reprise" run small.yaml \
        -o gpu.reprise --device cuda
    fails 5 "device cuda: this" "$reprise" doctor --device cuda:1
fi
fails 5 "emulated" env RP_EMULATED_LIBRARY="$log/none.so" "$reprise" run small.yaml -o gpu.reprise --device emulated
holds "nothing is left of what no device did" test ! -e gpu.reprise -a ! -e gpu.csv

# ---- bench ----
works '^exp f32 4096 .* ns each' "$reprise" bench --only "exp f32" --threads 1
works '"device":null,"level":"ref","works":\[\{.*"limit":"fma","nanoseconds":.*"work":"matmul f32 32' \
    "$reprise" bench --only "32 x 64" --isa ref --json
works '^kernels  *ref$' "$reprise" bench --only "32 x 64" --isa ref

# ---- interruption: exit 130; nothing is left, or what --resume needs ----
recipe long.yaml data.csv 1000000
for signal in INT TERM HUP; do
    snapshot >"$log/before"
    timeout --preserve-status -s $signal 1 "$reprise" run long.yaml -o long.reprise --save-every 0 >"$log/out" \
        2>"$log/err"
    code=$?
    snapshot >"$log/after"
    checks=$((checks + 1))
    if [ $code -ne 130 ] || ! unchanged || [ "$(wc -l <"$log/err")" -ne 1 ]; then
        bad "SIG$signal: exit $code, expected 130, one line and no file left"
    fi
    for seconds in 1 4 16; do # a busy machine may not come to the first step in one
        timeout --preserve-status -s $signal $seconds "$reprise" run long.yaml -o long.reprise >"$log/out" 2>"$log/err"
        code=$?
        ! grep -q "resume goes on" "$log/err" || break
    done
    checks=$((checks + 1))
    if [ $code -ne 130 ] || [ -e long.reprise ] || ! grep -q '^reprise: interrupted at step .*: --resume goes on' \
        "$log/err"; then
        bad "SIG$signal: exit $code, expected 130, one line that tells of --resume, and no archive"
    fi
    fails 2 'long.reprise.resume: a run was interrupted after step [0-9]+: add --resume .*, or --force' \
        "$reprise" run long.yaml -o long.reprise
    fails 2 'belongs to another recipe' "$reprise" run small.yaml -o long.reprise --resume
    sed 's/1000000/2/' long.yaml >short.yaml
    works '^archive' "$reprise" run short.yaml -o long.reprise --force
    holds "--force drops what was left" test ! -e long.reprise.resume
    rm long.reprise
done
# The same signal twice at once, as timeout(1) and service managers send it, is one.
"$reprise" run long.yaml -o long.reprise --save-every 0.01 >"$log/out" 2>"$log/err" &
until [ -e long.reprise.resume/spool ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -TERM $! && kill -TERM $!
wait $!
code=$?
holds "a doubled signal leaves a point too" grep -q '^reprise: interrupted at step .*: --resume goes on' "$log/err"
holds "and the exit code is 130" test $code -eq 130
rm -rf long.reprise.resume
fails 2 'expected seconds from 0 to 1000000, found x' "$reprise" run small.yaml -o s.reprise --save-every x
fails 2 'leave out --resume' "$reprise" run small.yaml --no-record --resume
works '"resumed_at":0,"resumes":0,"saved_points":0,' "$reprise" run small.yaml -o s.reprise --resume --json

# While no step runs nobody would ask: the process ends at once. The data of one step takes long to prepare. A run that
# had begun its steps when the signal came says so (or is through), and is sent it earlier, in the end as soon as it is
# seen to have handlers.
rows 400000 >huge.csv
recipe huge.yaml huge.csv 1
sed -i 's/batch: 16/batch: 320000/' huge.yaml
catches() { # pid: whether it handles SIGTERM, number 15, and is no longer the shell, which does until it is replaced
    local mask
    [ "$(readlink "/proc/$1/exe")" != "$(readlink /proc/$$/exe)" ] || return 1
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
    (((0x${mask:-0} >> 14) & 1))
}
for signal in INT TERM HUP; do
    for seconds in 0.2 0.1 0.05 0.02 0.01 0 0 0 0 0; do
        snapshot >"$log/before"
        "$reprise" run huge.yaml -o huge.reprise >"$log/out" 2>"$log/err" &
        pid=$!
        until catches $pid || ! kill -0 $pid 2>/dev/null; do :; done
        sleep $seconds
        kill -$signal $pid 2>/dev/null
        code=0
        wait $pid || code=$?
        snapshot >"$log/after"
        [ $code -eq 0 ] || grep -q 'interrupted at step' "$log/err" || break
        rm -rf huge.reprise huge.reprise.resume
    done
    checks=$((checks + 1))
    if [ $code -ne 130 ] || ! unchanged ||
        [ "$(cat "$log/err")" != "reprise: interrupted" ]; then
        bad "SIG$signal before the first step: exit $code, expected 130 at once and no file left"
    fi
done
rm huge.csv

# ---- a terminal ----
if command -v script >/dev/null; then
    holds "a bar on a terminal" \
        sh -c "TERM=xterm script -qec \"'$reprise' run small.yaml -o t1.reprise\" /dev/null | grep -q 'training  "\
".*loss'"
    holds "no colours with NO_COLOR" \
        sh -c "! NO_COLOR=1 TERM=xterm script -qec \"'$reprise' run small.yaml -o t2.reprise\" /dev/null | grep -q "\
"'\[3[0-9]m'"
else
    skip "no script(1): the progress bar is not seen"
fi

finish
