#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Explanations in the archive: attached, listed, drawn in the report with rows, score and signer, made again, and
# refused where they are another archive's. Usage: explained.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"

head -601 "$source_dir/examples/loans.csv" >loans.csv
for who in builder validator; do "$reprise" keygen $who >/dev/null; done
printf '%s\n' 'reprise: 1' 'name: explained' 'seed: 3' 'data: {csv: loans.csv, target: default, test: 0.3,' \
    '  columns: {loan_id: ignore}}' 'train: {task: classification}' >a.yaml
"$reprise" run a.yaml -o a.reprise --key builder.pem >/dev/null 2>&1
sed 's/seed: 3/seed: 4/' a.yaml >b.yaml
"$reprise" run b.yaml -o b.reprise --key builder.pem >/dev/null 2>&1
trust=(--trust builder.pub.pem --trust validator.pub.pem)
page() { # FILE, TRUST...
    local file=$1
    shift
    "$reprise" report "$file" -o page.html --force "$@" >/dev/null && cat page.html
}
says() { # WORDS: of the page
    checks=$((checks + 1))
    grep -q "$1" page.html || bad "the report does not say: $1"
}
says_not() {
    checks=$((checks + 1))
    ! grep -q "$1" page.html || bad "the report says: $1"
}

fails 2 'either --csv FILE or --part test' "$reprise" explain a.reprise
fails 2 'either --csv FILE or --part test' "$reprise" explain a.reprise --csv loans.csv --part test
fails 2 'expected test' "$reprise" explain a.reprise --part all
fails 2 'give --key' "$reprise" explain a.reprise --part test --attach
page a.reprise "${trust[@]}" >/dev/null
says_not 'What moves the score'
works '^attached +signatures/explanation-' "$reprise" explain a.reprise --part test --repeats 2 --grid 4 --curves 3 \
    --attach --key validator.pem
works '^explained +179 rows of the test part: by key' "$reprise" verify a.reprise "${trust[@]}"
works '"kind":"explanation"' "$reprise" verify a.reprise "${trust[@]}" --json
works '^unchecked +explanation by key' "$reprise" inspect a.reprise
page a.reprise "${trust[@]}" >/dev/null
says 'What moves the score'
says 'not what causes what'
says 'Explanation on the run&#39;s test part: 179 rows'
says 'The mean score of <bdi>yes</bdi>'
says 'and of 3 single rows each its own'
signer=$("$reprise" verify a.reprise "${trust[@]}" | sed -n 's/^explained.*by key \([0-9a-f]\{16\}\).*/\1/p')
says "by key <span class=\"hash\">$signer<"
holds "a plot for each of 11 columns" [ "$(grep -c '<desc id="effect-0-' page.html)" = 11 ]
holds "three lines a row beside the mean" [ "$(grep -c 'polyline class="one"' page.html)" = 24 ]
# the register has the last validation and monitoring, by whom and what they found
"$reprise" validate a.reprise --part test --attach --key validator.pem -o v.json >/dev/null
"$reprise" monitor a.reprise --csv loans.csv --period may --attach --key validator.pem -o m.json >/dev/null
"$reprise" inventory a.reprise "${trust[@]}" --json >register
cat >look.py <<'PY'
import base64, json, sys
row = json.load(open("register"))["archives"][0]
def payload(path):
    return json.loads(base64.b64decode(json.load(open(path))["payload"]))["predicate"]
v, m = payload("v.json"), payload("m.json")
assert row["validated_value"] == v["figures"]["discrimination"]["auc"], row
assert row["validated_rows"] == "179 of the test part", row
assert row["monitored_psi"] == m["scores"][0]["psi"] and row["monitored_period"] == "may", row
assert row["monitored_value"] == m["figures"]["discrimination"]["auc"] != row["validated_value"], row
assert row["validated_by"].startswith(sys.argv[1]) and row["validated"] <= row["monitored"], row
PY
holds "the register's figures" python3 look.py "$signer"
"$reprise" inventory a.reprise --json >register
holds "nothing of it without a key" grep -q '"validated":null.*"monitored":null' register
# another's word is no explanation, and without keys nothing is believed
page a.reprise --trust builder.pub.pem >/dev/null
says_not 'What moves the score'
page a.reprise >/dev/null
says_not 'What moves the score'

# made again, from the archive alone; not on other rows, not of another archive
member=$(tar tf a.reprise | grep signatures/explanation)
"$reprise" inspect a.reprise --member "$member" >attached.json
works 'every byte the same' "$reprise" explain a.reprise --check attached.json --trust validator.pub.pem \
    --trust builder.pub.pem --isa ref
fails 2 'leave out --csv' "$reprise" explain a.reprise --check attached.json --csv loans.csv
fails 4 'is about archive' "$reprise" explain b.reprise --check attached.json
works 'every byte the same' "$reprise" explain a.reprise --check attached.json
# put beside another archive by hand: the subject is not this one
python3 - a.reprise b.reprise "$member" moved.reprise <<'PY'
import sys
def entries(path):
    data, at, out = open(path, "rb").read(), 0, []
    while data[at]:
        name, size = data[at:at + 100].rstrip(b"\0").decode(), int(data[at + 124:at + 135], 8)
        end = at + 512 + -(-size // 512) * 512
        out.append((name, data[at:end]))
        at = end
    return out, data[at:]
source, _ = entries(sys.argv[1])
target, tail = entries(sys.argv[2])
member = [e for e in source if e[0] == sys.argv[3]]
plain = [e for e in target if not e[0].startswith("signatures/")]
signed = sorted([e for e in target if e[0].startswith("signatures/")] + member)
open(sys.argv[4], "wb").write(b"".join(b for _, b in plain + signed) + tail)
PY
fails 4 'explanation-.*archive' "$reprise" verify moved.reprise "${trust[@]}"

# the test part is the same rows as a file of them: every figure, curve and point
awk -F, -v OFS=, 'NR == 1 { print $0, "part"; next } { print $0, (NR % 5 ? NR % 7 ? "train" : "valid" : "test") }' \
    loans.csv >parts.csv
grep -E ',(test|part)$' parts.csv >test.csv
printf '%s\n' 'reprise: 1' 'seed: 3' 'data: {csv: parts.csv, target: default, split: part,' \
    '  columns: {loan_id: ignore}}' 'train: {task: classification}' >s.yaml
"$reprise" run s.yaml -o s.reprise >/dev/null 2>err || bad "a split column: $(cat err)"
for rows in "--part test" "--csv test.csv"; do
    # shellcheck disable=SC2086
    "$reprise" explain s.reprise $rows --repeats 2 --curves 4 -o "${rows##* }.json" --force >/dev/null
done
cat >look.py <<'PY'
import json
a, b = (json.load(open(f))["predicate"] for f in ("test.json", "test.csv.json"))
assert a["columns"] == b["columns"] and a["value"] == b["value"]
assert a["data"]["rows"] == b["data"]["rows"] == 120, a["data"]
assert a["curve_rows"] != b["curve_rows"] and a["data"]["seen"] == b["data"]["seen"] == 0
PY
holds "the part's figures are its rows'" python3 look.py

# an older one by another key is shown too, the newest first; one on rows that trained says so
works '^attached' "$reprise" explain a.reprise --csv loans.csv --metric brier --repeats 2 --favourable no --attach \
    --key builder.pem
page a.reprise "${trust[@]}" >/dev/null
says 'The mean score of <bdi>no</bdi>'
says 'of them equal a training row in every feature'
says 'The Brier score is'
holds "two sections of plots" [ "$(grep -c '<desc id="effect-1-' page.html)" = 11 ]

# dossiers have what is attached under the heading that asks for it, and what was tried; without a trusted key neither
while IFS='|' read -r name heading words; do
    page a.reprise "${trust[@]}" --dossier "$name" >/dev/null
    sed -n "/<h3>$heading/,/Left to the firm/p" page.html >heading.html
    holds "$name, $heading: $words" grep -q "$words" heading.html
    page a.reprise --dossier "$name" >/dev/null
    sed -n '/id="dossier"/,/id="metrics"/p' page.html >dossier.html
    holds "$name without a key" [ "$(grep -c 'Monitoring 1, <bdi>\|Explanation on the run' dossier.html)" = 0 ]
done <<'T'
art31|ECB guide, 43 and 62|Explanation on the run&#39;s test part
art31|ECB guide, 4<|Nothing was tried by this recipe
sr26-2|V: monitoring|Monitoring 1, <bdi>may</bdi>
sr26-2|IV: testing|Validation on the run&#39;s test part
sr26-2|VI: governance|Findings by trusted keys: 0, of which 0 open
annex-iv|Annex IV, 9|Monitoring 1, <bdi>may</bdi>
T

# of many monitorings the last are listed, whatever their names in the archive are
cp b.reprise chain.reprise
previous=()
for number in 1 2 3 4 5 6 7 8; do
    "$reprise" monitor chain.reprise --csv loans.csv --period "p$number" "${previous[@]}" -o "p$number.json" --attach \
        --key validator.pem >/dev/null
    previous=(--previous "p$number.json")
done
page chain.reprise "${trust[@]}" --dossier sr26-2 >/dev/null
sed -n '/<h3>V: monitoring/,/Left to the firm/p' page.html >heading.html
listed=$(grep -o 'Monitoring [0-9]*, <bdi>' heading.html | tr -dc '0-9\n' | tr '\n' ' ')
holds "the last six of eight, the newest last: $listed" [ "$listed" = '3 4 5 6 7 8 ' ]
holds "and that they are the last" grep -q 'The last 6 of 8 statements' heading.html
# a recipe that tried something never says that nothing was, whatever became of its metrics
{ cat a.yaml; echo 'search: {over: {l2: [0, 1]}}'; } >tried.yaml
"$reprise" run tried.yaml -o tried.reprise --key builder.pem >/dev/null 2>&1
python3 "$source_dir/tests/cli/validate/forge.py" tried.reprise forged.reprise outputs/metrics.json 'del m["trials"]'
page tried.reprise --dossier art31 >/dev/null
says 'whole trainings before this one, every one recorded'
page forged.reprise --dossier art31 >/dev/null
says_not 'Nothing was tried by this recipe'
says '<strong>Not known</strong>: the recipe tries something before the run'

# labels of an axis of large numbers stand apart, and inside the drawing: else a reader sees other numbers
awk -F, -v OFS=, 'NR > 1 { $1 = NR * 7919 % 397 * 1000000007 } { print $1, $3, $5 }' loans.csv >large.csv
printf '%s\n' 'reprise: 1' "data: {csv: large.csv, target: $(head -1 large.csv | cut -d, -f1)}" \
    'model: {hidden: [3]}' 'train: {task: regression, epochs: 2}' >large.yaml
"$reprise" run large.yaml -o large.reprise --key builder.pem >/dev/null 2>&1
page large.reprise "${trust[@]}" >/dev/null
cat >look.py <<'PY'
import re
charts = 0
chart = re.compile(r'<svg class="chart" viewBox="0 0 (\d+) \d+"(.*?)</svg>', re.S)
tick = re.compile(r'<text x="([0-9.]+)" y="[0-9.]+" class="middle">(.*?)</text>')
for width, body in chart.findall(open("page.html").read()):
    ticks = [(float(x), 6.5 * len(text)) for x, text in tick.findall(body)]
    charts += max((wide for _, wide in ticks), default=0) > 80
    for (a, wide), (b, other) in zip(ticks, ticks[1:]):
        assert b - a > (wide + other) / 2, ticks
    assert all(x - wide / 2 > -3 and x + wide / 2 < int(width) + 3 for x, wide in ticks), ticks
assert charts, "no axis of large numbers"
PY
holds "labels stand apart" python3 look.py

# a column in bins is steps: it goes up or down where one place has two values; another one is not
printf '%s\n' 'reprise: 1' 'seed: 3' 'data: {csv: loans.csv, target: default,' \
    '  columns: {loan_id: ignore, age: {bins: 4}}}' 'train: {task: classification}' >steps.yaml
"$reprise" run steps.yaml -o steps.reprise --key builder.pem >/dev/null 2>&1
"$reprise" explain steps.reprise --csv loans.csv --repeats 2 --attach --key builder.pem >/dev/null
page steps.reprise "${trust[@]}" >/dev/null
cat >look.py <<'PY'
import re
steps = {}
for figure in open("page.html").read().split("<figure>"):
    name = re.search(r'<title id="effect-[^"]*">(\w+)</title>', figure)
    line = re.search(r'<polyline class="mean" points="([^"]*)"', figure)
    if name and line:
        at = [point.split(",") for point in line[1].split()]
        steps[name[1]] = sum(a[0] == b[0] and a[1] != b[1] for a, b in zip(at, at[1:]))
assert steps["age"] == 3 and steps["income"] == 0, steps
PY
holds "bins are steps" python3 look.py
finish
