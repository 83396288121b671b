#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Statements and policies as people use them: run, replay by another, two approvals, a policy that is met; then each
# clause unmet in turn, and what is said. Usage: tests/cli/cli_statements.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

rows 60 >data.csv
recipe small.yaml
hex='[0-9a-f]{64}'
for name in builder validator risk legal board stranger log; do "$reprise" keygen $name >/dev/null ||
    bad "keygen $name"; done
id() { "$reprise" inspect "$1" --json | grep -oE '"archive_id":"[0-9a-f]+"' | cut -d'"' -f4; }
members() { tar tf "$1" | grep -c "$2"; }
policy() { # FILE, clauses...
    local file=$1
    shift
    {
        printf 'policy: 1\nname: Test\ngroups:\n  builders: [builder.pub.pem]\n  validators: [validator.pub.pem]\n'
        printf '  committee: [risk.pub.pem, legal.pub.pem, board.pub.pem]\n  logs: [log.pub.pem]\nbuilder: {of: '\
'builders}\n'
        printf '%s\n' "$@"
    } >"$file"
}
policy p.yaml 'replay: {at_least: 0.2, by: validators, independent: true}' 'approvals: {of: committee, count: 2}'

# ---- the whole story ----
"$reprise" run small.yaml -o a.reprise --key builder.pem >/dev/null || bad run
before=$(id a.reprise)
works '^identical +a.reprise' "$reprise" replay a.reprise --trust builder.pub.pem --threads 2 --attest \
    --key validator.pem
holds "the verdict is told" grep -Eq '^attested +signatures/verdict-[0-9a-f]{16}-[0-9a-f]{16}\.dsse\.json$' "$log/out"
works '^approved +a.reprise by key' "$reprise" approve a.reprise --role risk --decision approve --reason 'validated' \
    --key risk.pem \
    --trust builder.pub.pem
works '"member":"signatures/approval-' "$reprise" approve a.reprise --role legal --decision approve \
    --reason 'reviewed; no findings' \
    --key legal.pem --trust builder.pub.pem --json
works '^verified +a.reprise$' "$reprise" verify a.reprise --policy p.yaml
holds "every clause is told" test "$(grep -c '^met ' "$log/out")" -eq 3
holds "the policy is named with its digest" grep -Eq "^policy +Test: 3 of 3 clauses met \(SHA-256 $(sha256sum p.yaml |
    cut -c1-64)\)" "$log/out"
works '"met":true,"name":"Test","unmet":0' "$reprise" verify a.reprise --policy p.yaml --json
holds "JSON has the verdict" \
    grep -q '"verdict":{"conforms":true,"device":null,"difference":null,"first":0,.*"mode":"full"' "$log/out"
holds "JSON has the decision" grep -q '"approval":{"decision":"approve","reason":"validated","role":"risk"}' "$log/out"
holds "the id is what it was" test "$(id a.reprise)" = "$before"
works '^identical' "$reprise" replay a.reprise
# others' statements do no harm
works '^not counted +signatures/verdict-' "$reprise" verify a.reprise --trust builder.pub.pem
works '^replayed +by key .*: identical, all [0-9]+ steps' "$reprise" verify a.reprise --trust builder.pub.pem \
    --trust validator.pub.pem

# ---- what is told is told whole; what cannot be added is told before ----
cp a.reprise long.reprise
reason="approved: $(printf 'x%.0s' {1..1900}) but only for tests"
"$reprise" approve long.reprise --role risk --decision approve --reason "$reason" --key risk.pem \
    --trust builder.pub.pem >/dev/null
works 'x but only for tests$' "$reprise" verify long.reprise --trust builder.pub.pem --trust risk.pub.pem
ln -s a.reprise link.reprise
fails 2 'link.reprise: is a symbolic link: give the archive itself' "$reprise" replay link.reprise --attest \
    --key validator.pem
rm link.reprise long.reprise

# ---- one key has one id ----
openssl ecparam -name prime256v1 -genkey -param_enc explicit -noout -out written-out.pem
openssl ec -in written-out.pem -pubout -param_enc explicit -out written-out.pub.pem 2>/dev/null
openssl ec -in written-out.pem -param_enc named_curve -out named.pem 2>/dev/null
fails 2 "written-out.pub.pem: an EC key with its curve's parameters written out" "$reprise" verify a.reprise \
    --trust written-out.pub.pem
fails 2 "written-out.pem: an EC key with its curve's parameters written out" "$reprise" sign a.reprise \
    --key written-out.pem
cp a.reprise named.reprise
works '^signed|^endorsed' "$reprise" sign named.reprise --key named.pem --trust builder.pub.pem
rm named.reprise

# ---- inspect lists what they claim, and says that it is no more than that ----
works '^unchecked +provenance by key [0-9a-f]{64}: signatures/run\.dsse\.json$' "$reprise" inspect a.reprise
holds "inspect lists every one" test "$(grep -c '^unchecked ' "$log/out")" -eq "$(members a.reprise '^signatures/')"
holds "inspect lists approvals" grep -Eq "^unchecked +approval by key $hex: signatures/approval-" "$log/out"
works '\{"checked":false,"key_id":"[0-9a-f]{64}","kind":"verdict","member":"signatures/verdict-' "$reprise" inspect \
    a.reprise --json
sed 's/"payload":/"paylaod":/' a.reprise >claims.reprise
works '^unchecked +unreadable: signatures/' "$reprise" inspect claims.reprise
rm claims.reprise

# ---- each clause unmet in turn ----
unmet() { # PATTERN, ARCHIVE, [arguments]: exit 4, that clause is told on stdout and the count on stderr
    local pattern=$1 archive=$2
    shift 2
    gives 4 "^unmet +$pattern" "$reprise" verify "$archive" --policy p.yaml "$@"
    holds "stderr says so" grep -Eq '^reprise: .*: [0-9]+ of [0-9]+ clauses of the policy Test are not met$' "$log/err"
}
"$reprise" run small.yaml -o b.reprise --key builder.pem >/dev/null
cp b.reprise bare.reprise
unmet 'replay\[0\]: .*: no verdict by any of them' b.reprise
holds "all unmet clauses are told" test "$(grep -c '^unmet ' "$log/out")" -eq 2
"$reprise" replay b.reprise --attest --key builder.pem >/dev/null
unmet 'replay\[0\]: .*: no verdict by any of them' b.reprise # the builder is not among the validators
"$reprise" replay b.reprise --attest --key validator.pem >/dev/null
"$reprise" approve b.reprise --role risk --decision approve --reason x --key risk.pem --trust builder.pub.pem >/dev/null
unmet 'approvals\[0\]: approved by 2 of committee: key [0-9a-f]{16} approved$' b.reprise
"$reprise" approve b.reprise --role risk2 --decision approve --reason x --key risk.pem --trust builder.pub.pem \
    >/dev/null
unmet 'approvals\[0\]: ' b.reprise # one person in two roles is one person
"$reprise" approve b.reprise --role x --decision approve --reason x --key stranger.pem --trust builder.pub.pem \
    >/dev/null
unmet 'approvals\[0\]: ' b.reprise
"$reprise" approve b.reprise --role legal --decision approve --reason x --key legal.pem --trust builder.pub.pem \
    >/dev/null
works '^verified' "$reprise" verify b.reprise --policy p.yaml
works '^rejected +b.reprise' "$reprise" approve b.reprise --role board --decision reject --reason 'no' --key board.pem \
    --trust builder.pub.pem
unmet 'approvals\[0\]: .*rejected' b.reprise
works '^rejected +as board by key .*: no$' "$reprise" verify b.reprise --trust builder.pub.pem --trust board.pub.pem
policy q.yaml 'approvals: {of: committee, count: 2, rejections: ignore}'
works '^verified' "$reprise" verify b.reprise --policy q.yaml
"$reprise" run small.yaml -o c.reprise --key stranger.pem >/dev/null
unmet 'builder: .*: key [0-9a-f]{16} signed and is not trusted' c.reprise
unmet 'builder: .*: key [0-9a-f]{16} signed and is not of that group' c.reprise --trust stranger.pub.pem
"$reprise" run small.yaml -o d.reprise >/dev/null
unmet 'builder: .*: the archive has no provenance' d.reprise
policy l.yaml 'log: {of: logs}'
gives 4 "^unmet +log\[0\]: .*: no log's proof in the archive" "$reprise" verify a.reprise --policy l.yaml
"$reprise" log init l --origin example.com/l --key log.pem >/dev/null &&
    "$reprise" log add l a.reprise --key log.pem >/dev/null &&
    "$reprise" log prove l a.reprise -o a.proof >/dev/null && "$reprise" log attach a.reprise --proof a.proof >/dev/null
works '^met +log\[0\]' "$reprise" verify a.reprise --policy l.yaml
policy isa.yaml 'replay: {mode: full, by: validators, isa: [ref]}'
gives 4 '^unmet +replay\[0\]: .*replayed with other kernels|^verified' "$reprise" verify a.reprise --policy isa.yaml
works '^attested' "$reprise" replay a.reprise --isa ref --attest --key validator.pem
works '^met +replay\[0\]' "$reprise" verify a.reprise --policy isa.yaml

# ---- a verdict "differs" is given, added, and fails the policy ----
# An honest signature on a run that does not give these bits: weights of another run under this one's recipe.
sed 's/^seed:.*/seed: 9/' small.yaml >other.yaml
"$reprise" run other.yaml -o other.reprise --key builder.pem >/dev/null
python3 - <<'PY' 2>/dev/null || skip "no python3 to forge an archive with"
import hashlib, io, json, tarfile
def members(path): return [(m.name, tarfile.open(path).extractfile(m.name).read()) for m in tarfile.open(path)]
a, b = members("bare.reprise"), dict(members("other.reprise"))
out = [(n, b[n] if n == "weights/final.safetensors" else d) for n, d in a if not n.startswith("signatures/")]
m = json.loads(out[0][1])
for e in m["members"]:
    d = dict(out)[e["path"]]; e["sha256"] = hashlib.sha256(d).hexdigest(); e["size"] = len(d)
out[0] = ("manifest.json", json.dumps(m, sort_keys=True, separators=(",", ":")).encode())
def header(name, size):
    h = bytearray(512); h[0:len(name)] = name.encode()
    h[100:108] = b"000644 \0"; h[108:116] = h[116:124] = b"000000 \0"; h[124:136] = b"%011o " % size
    h[136:148] = b"00000000000 "
    h[148:156] = b" " * 8; h[156] = 48; h[257:265] = b"ustar\00000"; h[329:337] = h[337:345] = b"000000 \0"
    h[148:156] = b"%06o\0 " % sum(h); return bytes(h)
with open("forged.reprise", "wb") as f:
    for n, d in out: f.write(header(n, len(d)) + d + b"\0" * (-len(d) % 512))
    f.write(b"\0" * 1024)
PY
if [ -e forged.reprise ]; then
    works '^endorsed' "$reprise" sign forged.reprise --key builder.pem
    attempt "$reprise" replay forged.reprise --trust builder.pub.pem --attest --key validator.pem
    holds "a forged archive differs: exit 3" test "$code" -eq 3
    holds "and the verdict is added" grep -Eq 'weights/final.safetensors: .*; attested in signatures/verdict-' \
        "$log/err"
    works '^differs +replayed by key .*weights/final.safetensors' "$reprise" verify forged.reprise \
        --trust builder.pub.pem --trust validator.pub.pem
    sed 's/^builder:.*/builder: {of: builders, endorsement: true}/' p.yaml >e.yaml
    gives 4 '^unmet +replay\[0\]: .*found that bits differ' "$reprise" verify forged.reprise --policy e.yaml
    holds "an endorsement does for this builder" grep -Eq '^met +builder: ' "$log/out"
fi

# ---- signing later ----
fails 4 'nobody has signed this run' "$reprise" verify d.reprise --trust builder.pub.pem
works '^endorsed +d.reprise by key' "$reprise" sign d.reprise --key builder.pem
works '^endorsed +by key' "$reprise" verify d.reprise --trust builder.pub.pem
holds "it brings the bundle for public verifiers" test "$(members d.reprise 'signatures/model.sigstore.json')" -eq 1
works '"signed":true' "$reprise" verify d.reprise --trust builder.pub.pem --json
works '^endorsed' "$reprise" sign bare.reprise --key legal.pem --trust builder.pub.pem # countersigned
works '^verified' "$reprise" verify bare.reprise --trust legal.pub.pem
fails 4 'not among the 1 trusted' "$reprise" verify bare.reprise --trust board.pub.pem
fails 4 'not among the 1 trusted' "$reprise" sign bare.reprise --key legal.pem --trust stranger.pub.pem

# ---- refusals ----
fails 2 'whose archive is it' "$reprise" approve a.reprise --role r --decision approve --reason x --key risk.pem
fails 4 'not among the 1 trusted' "$reprise" approve a.reprise --role r --decision approve --reason x --key risk.pem \
    --trust stranger.pub.pem
fails 2 'expected approve, reject or abstain' "$reprise" approve a.reprise --role r --decision yes --reason x \
    --key risk.pem --trust builder.pub.pem
fails 2 'role of an approval' "$reprise" approve a.reprise --role '' --decision approve --reason x --key risk.pem \
    --trust builder.pub.pem
fails 2 'reason of an approval' "$reprise" approve a.reprise --role r --decision approve --reason "$(printf 'a\nb')" \
    --key risk.pem --trust builder.pub.pem
fails 2 'at most 2000' "$reprise" approve a.reprise --role r --decision approve --reason "$(printf '%2001d' 0)" \
    --key risk.pem --trust builder.pub.pem
fails 2 'must be UTF-8' "$reprise" approve a.reprise --role r --decision approve --reason "$(printf '\377')" \
    --key risk.pem --trust builder.pub.pem
fails 2 '--attest needs --key' "$reprise" replay a.reprise --attest
fails 2 'only with --attest' "$reprise" replay a.reprise --key risk.pem
fails [12] 'expected a private key' "$reprise" replay a.reprise --attest --key risk.pub.pem
fails [12] 'expected a private key' "$reprise" sign a.reprise --key risk.pub.pem
fails 2 '--key KEY.pem is missing' "$reprise" sign a.reprise
ln -s a.reprise link.reprise
fails 2 'symbolic link' "$reprise" sign link.reprise --key risk.pem
fails 1 'none.yaml: cannot open' "$reprise" verify a.reprise --policy none.yaml
policy bad.yaml 'aprovals: {of: committee}'
fails 2 'bad.yaml:9: key aprovals: unknown key; did you mean "approvals"' "$reprise" verify a.reprise --policy bad.yaml
policy gone.yaml 'log: {of: logs}' && sed -i 's/log.pub.pem/absent.pub.pem/' gone.yaml
fails 1 'gone.yaml:7: key groups.logs: ./absent.pub.pem: cannot open' "$reprise" verify a.reprise --policy gone.yaml
cp a.reprise damaged.reprise
printf X | dd of=damaged.reprise bs=1 seek=4000 conv=notrunc 2>/dev/null
fails 4 'damaged.reprise' "$reprise" verify damaged.reprise --policy p.yaml # damage is an error, not an unmet clause

# ---- the report ----
works '^written' "$reprise" report a.reprise -o a.html --policy p.yaml
holds "the report says that the policy is met" grep -q 'the policy is met: all of 3 clauses' a.html
holds "and who replayed" grep -q 'Replay: every bit the same; all ' a.html
gives 4 '^unmet +approvals' "$reprise" report b.reprise -o b.html --policy p.yaml
holds "a report of an unmet policy is written and says so" grep -q 'The policy is not met: 1 of 3 clauses are open' \
    b.html
for command in sign approve; do
    works "^usage: reprise $command ARCHIVE" "$reprise" $command --help
    holds "help of $command has an example" grep -q '^example:' "$log/out"
done
finish
