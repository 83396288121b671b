#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Policies that ask for certificates and timestamps, with authorities made by `openssl`: who counts by which
# certificate, for which clause, at what time; and that nothing taken away, moved or dated anew makes a policy met.
# Usage: tests/cli/cli_policy.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli/pki.sh
. "$source_dir/tests/cli/pki.sh"
command -v openssl >/dev/null || { echo "SKIP: no openssl command"; exit 77; }

rows 60 >data.csv
recipe small.yaml
root firm
root other
root dates
root elsewhere
issue tsa dates "$tsa_extensions"
issue tsb elsewhere "$tsa_extensions"
person() { # NAME UNIT [FROM UNTIL]: a certificate by firm
    subject="/O=Tests/OU=$2/CN=${as:-$1}" issue "$1" firm "$signer_extensions" "${@:3}"
}
person alice Development
person vera Validation
person victor Validation
as=vera person vera2 Validation   # another key of the same person
person alice2 Validation          # who built, in two departments
as=alice person alice3 Development
subject=/O=Tests/OU=Development/CN=mallory issue mallory other "$signer_extensions"
crl() { openssl ca -config "$1.cnf" -cert "$1.pem" -keyfile "$1.key" -gencrl -out "$2" "${@:3}" 2>/dev/null; }
crl firm firm.crl
crl dates dates.crl
crl elsewhere elsewhere.crl
"$reprise" keygen plain >/dev/null
openssl ec -in alice.key -pubout -out alice.pub.pem 2>/dev/null

policy() { # FILE, clauses...
    local file=$1
    shift
    {
        printf 'policy: 1\nname: Test\ngroups:\n  developers: {ca: firm.pem, crl: firm.crl, subject: {OU: '\
'Development}}\n'
        printf '  validators: {ca: [firm.pem], crl: firm.crl, subject: {O: Tests, OU: [Audit, Validation]}}\n'
        printf '  strangers: {ca: other.pem, revocation: optional}\n  keys: [plain.pub.pem]\n'
        printf '  authorities: {tsa: dates.pem, crl: dates.crl}\n  lenient: {tsa: [elsewhere.pem], revocation: '\
'optional}\n'
        printf '%s\n' "$@"
    } >"$file"
}
unmet() { # PATTERN, ARCHIVE, POLICY, [arguments]
    local pattern=$1 archive=$2 file=$3
    shift 3
    gives 4 "^unmet +$pattern" "$reprise" verify "$archive" --policy "$file" "$@"
}
met() { works '^verified' "$reprise" verify "$1" --policy "$2" "${@:3}"; }
last() { tar tf "$1" | grep "signatures/$2-.*json" | while read -r m; do grep -qx "$m" seen 2>/dev/null ||
    echo "$m"; done | tail -1; }
# dated ARCHIVE STATEMENT [TSA]
dated() {
    rm -f d.tsq
    "$reprise" timestamp request "$1" --statement "$2" -o d.tsq >/dev/null || bad "request for $2"
    answer "${3:-tsa}" d.tsq d.tsr
    "$reprise" timestamp attach "$1" d.tsr --request d.tsq >/dev/null || bad "attach to $2"
}
new_statement() { # ARCHIVE KIND COMMAND...: what the command added, in $added
    tar tf "$1" >seen
    "${@:3}" >"$log/out" 2>"$log/err" || bad "${*:3}"
    added=$(last "$1" "$2")
}
without() { # ARCHIVE MEMBER OUT: the archive as it would be without a member
    python3 - "$@" <<'PY'
import sys
b, out = open(sys.argv[1], "rb").read(), b""
at = 0
while b[at]:
    name, size = b[at:at + 100].rstrip(b"\0").decode(), int(b[at + 124:at + 135], 8)
    end = at + 512 + (size + 511) // 512 * 512
    if name != sys.argv[2]: out += b[at:end]
    at = end
open(sys.argv[3], "wb").write(out + b[at:])
PY
}

# ---- certificates ----
run_by() { "$reprise" run small.yaml -o "$2" --key "$1.key" --cert "$1.pem" --force >/dev/null 2>"$log/err" ||
    bad "run by $1"; }
run_by alice a.reprise
member=$(tar tf a.reprise | grep x509)
policy b.yaml 'builder: {of: developers}'
met a.reprise b.yaml
holds "who made it is told" grep -Eq \
    '^met +builder: made by a key of developers: key [0-9a-f]{16} \(CN=alice,OU=Development,O=Tests\) signed$' \
    "$log/out"
works '"certified":true,"clause":"builder","dated":false' "$reprise" verify a.reprise --policy b.yaml --json
policy w.yaml 'builder: {of: validators}'
unmet 'builder: .*alice.*does not count: its subject has not the OU that the group asks for' a.reprise w.yaml
# trusted by the verifier, not by the policy
unmet 'builder: .*its subject has not the OU' a.reprise w.yaml --ca firm.pem
policy s.yaml 'builder: {of: strangers}'
unmet 'builder: .*does not count: certificate of .*unable to get' a.reprise s.yaml
unmet 'builder: .*does not count: certificate of .*unable to get' a.reprise s.yaml --ca firm.pem
fails 2 'whose signature counts' "$reprise" verify a.reprise
policy k.yaml 'builder: {of: keys}'
unmet 'builder: .*signed and is not trusted' a.reprise k.yaml
run_by mallory m.reprise
unmet 'builder: .*CN=mallory.*unable to get' m.reprise b.yaml
met m.reprise s.yaml
holds "that revocation was not checked is told" grep -q 'revocation not checked' "$log/out"
# a certificate of the policy makes no statement count that its clause is not about
new_statement a.reprise approval "$reprise" approve a.reprise --role risk --decision approve --reason x --key vera.key \
    --cert vera.pem --trust alice.pub.pem
works '^not counted +signatures/approval-' "$reprise" verify a.reprise --policy b.yaml
# stripped certificates
"$reprise" run small.yaml -o bare.reprise --key alice.key >/dev/null
unmet 'builder: .*no certificate of it in the archive' bare.reprise b.yaml
# whose revocation is not known does not count
sed 's/, crl: firm.crl//' b.yaml >nolist.yaml
unmet 'builder: .*CN=alice,OU=Development,O=Tests: no revocation list' a.reprise nolist.yaml
met a.reprise nolist.yaml --crl firm.crl
crl firm stale.crl -crl_lastupdate 20250101000000Z -crl_nextupdate 20250201000000Z
sed 's/firm.crl/stale.crl/' b.yaml >stale.yaml
unmet 'builder: .*the revocation list is stale' a.reprise stale.yaml
# --at
unmet 'builder: .*certificate has expired' a.reprise nolist.yaml --at 2046-01-01T00:00:00Z --crl firm.crl

# ---- one person, many certificates ----
approve() { "$reprise" approve "$1" --role "${3:-risk}" --decision "${4:-approve}" --reason x --key "$2.key" \
    --cert "$2.pem" --trust alice.pub.pem; }
policy two.yaml 'builder: {of: developers}' 'approvals: {of: validators, count: 2}'
unmet 'approvals\[0\]: approved by 2 of validators: key [0-9a-f]{16} \(CN=vera,OU=Validation,O=Tests\) approved$' \
    a.reprise two.yaml
new_statement a.reprise approval approve a.reprise vera2
unmet 'approvals\[0\]: .*CN=vera.* approved, .*CN=vera.* has the subject of one who counts already' a.reprise two.yaml
new_statement a.reprise approval approve a.reprise alice
unmet 'approvals\[0\]: .*CN=alice.*does not count: its subject' a.reprise two.yaml
cp a.reprise c.reprise
new_statement a.reprise approval approve a.reprise victor
met a.reprise two.yaml
new_statement a.reprise approval approve a.reprise victor risk reject
unmet 'approvals\[0\]: .*CN=victor.* rejected' a.reprise two.yaml
policy ind.yaml 'builder: {of: developers}' 'approvals: {of: developers, independent: true}'
unmet 'approvals\[0\]: .*CN=alice.* made the run itself' c.reprise ind.yaml
new_statement c.reprise approval approve c.reprise alice3
# by another key
unmet 'approvals\[0\]: .*CN=alice.* made the run itself, .*CN=alice.* made the run itself' c.reprise ind.yaml

# ---- timestamps: of the run ----
run_by alice t.reprise
policy t.yaml 'builder: {of: developers, timestamp: authorities}'
unmet 'builder: .*dated by one of authorities: .*CN=alice.* is not dated as asked: no timestamp' t.reprise t.yaml
cp t.reprise t2.reprise
dated t.reprise signatures/run.dsse.json
met t.reprise t.yaml
holds "by whom is told" grep -Eq '^met +builder: .*\(dated 20[0-9-]+T[0-9:]+Z by CN=tsa,O=Tests\)' "$log/out"
dated t2.reprise signatures/run.dsse.json tsb
unmet 'builder: .*is not dated as asked: certificate of CN=tsb' t2.reprise t.yaml
unmet 'builder: .*is not dated as asked: certificate of CN=tsb' t2.reprise t.yaml --tsa elsewhere.pem
sed 's/timestamp: authorities/timestamp: lenient/' t.yaml >l.yaml
met t2.reprise l.yaml
unmet 'builder: .*is not dated as asked: certificate of CN=tsa' t.reprise l.yaml
sed 's/, crl: dates.crl//' t.yaml >tnolist.yaml
unmet 'builder: .*is not dated as asked: .*no revocation list' t.reprise tnolist.yaml
met t.reprise tnolist.yaml --crl dates.crl
if command -v python3 >/dev/null; then
    without t.reprise signatures/run.dsse.tsr stripped.reprise
    unmet 'builder: .*is not dated as asked: no timestamp' stripped.reprise t.yaml
    without t.reprise "$member" nocert.reprise
    unmet 'builder: .*no certificate of it in the archive' nocert.reprise t.yaml
fi
policy t3.yaml 'builder: {of: developers, timestamp: authorities, not_before: 2026-01-01T00:00:00Z, not_after: '\
'2026-01-02T00:00:00Z}'
unmet 'builder: .*not before 2026-01-01T00:00:00Z not after 2026-01-02T00:00:00Z: .*is dated 20.*, after '\
'2026-01-02T00:00:00Z' t.reprise t3.yaml
policy t4.yaml 'builder: {of: developers, timestamp: authorities, not_before: 2090-01-01T00:00:00Z}'
unmet 'builder: .*is dated 20.*, before 2090-01-01T00:00:00Z' t.reprise t4.yaml
policy t5.yaml 'builder: {of: developers, timestamp: authorities, not_before: 2020-01-01T00:00:00Z, not_after: '\
'2090-01-02T00:00:00Z}'
met t.reprise t5.yaml

# ---- the chain is judged when the statement was dated by the clause's own authority ----
met t.reprise t.yaml --at 2046-01-01T00:00:00Z       # the certificate expired since
sed 's/crl: firm.crl, //; s/, crl: firm.crl//' b.yaml >undated.yaml
unmet 'builder: .*certificate has expired' t.reprise undated.yaml --at 2046-01-01T00:00:00Z --crl firm.crl
policy late.yaml 'builder: {of: developers, timestamp: authorities}'
sleep 1
openssl ca -config firm.cnf -cert firm.pem -keyfile firm.key -revoke alice.pem -crl_reason keyCompromise 2>/dev/null
crl firm firm2.crl
met t.reprise t.yaml --crl firm2.crl                 # revoked since: dated before
holds "it is told" grep -q 'revoked on 20.*, after this' "$log/out"
# nobody can tell when it was signed
unmet 'builder: .*revoked on 20.*, and it is judged at' a.reprise b.yaml --crl firm2.crl
sleep 1
cp stripped.reprise late.reprise 2>/dev/null || run_by alice late.reprise
dated late.reprise signatures/run.dsse.json
unmet 'builder: .*revoked on 20.*, and it is judged at' late.reprise t.yaml --crl firm2.crl # dated after that

# ---- timestamps: of verdicts and decisions, each its own ----
policy r.yaml 'builder: {of: developers}' 'replay: {mode: full, by: validators, count: 2, timestamp: authorities}'
attest() { "$reprise" replay "$1" --attest --key "$2.key" --cert "$2.pem"; }
new_statement t.reprise verdict attest t.reprise vera
one=$added
unmet 'replay\[0\]: .*by 2 of validators, dated by one of authorities: .*CN=vera.* is not dated as asked: no '\
'timestamp' t.reprise r.yaml
dated t.reprise "$one"
unmet 'replay\[0\]: .*CN=vera.*found every bit the same \(dated 20[^)]*\)$' t.reprise r.yaml
new_statement t.reprise verdict attest t.reprise victor
two=$added
unmet 'replay\[0\]: .*CN=victor.* is not dated as asked: no timestamp' t.reprise r.yaml
cp t.reprise moved.reprise
tar -xOf t.reprise "${one%.json}.tsr" >one.tsr
holds "a timestamp of another statement goes to that one alone" bash -c \
    '"$1" timestamp attach moved.reprise one.tsr --force | grep -q "$2"' - "$reprise" "${one%.json}.tsr"
if command -v python3 >/dev/null; then # by force, under the other's name
    python3 - t.reprise moved.reprise "${one%.json}.tsr" "${two%.json}.tsr" <<'PY'
import sys
b, parts, at = open(sys.argv[1], "rb").read(), [], 0
def named(h, name):
    h = bytearray(h); h[0:100] = name.encode().ljust(100, b"\0"); h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h); return bytes(h)
while b[at]:
    name, size = b[at:at + 100].rstrip(b"\0").decode(), int(b[at + 124:at + 135], 8)
    end = at + 512 + (size + 511) // 512 * 512
    parts.append((name, b[at:end])); at = end
body = dict(parts)[sys.argv[3]]
signatures = [p for p in parts if p[0].startswith("signatures/")]
signatures += [(sys.argv[4], named(body[:512], sys.argv[4]) + body[512:])]
parts = [p for p in parts if not p[0].startswith("signatures/")] + sorted(signatures)
open(sys.argv[2], "wb").write(b"".join(p[1] for p in parts) + b[at:])
PY
    fails 4 'timestamp: it dates other bytes than the statement beside it' "$reprise" verify moved.reprise \
        --policy r.yaml
fi
dated t.reprise "$two"
met t.reprise r.yaml

# ---- the latest decision, by both clocks ----
policy d.yaml 'builder: {of: developers}' 'approvals: {of: validators, timestamp: authorities, rejections: superseded}'
met_d() { met "$1" d.yaml; }
new_statement t.reprise approval approve t.reprise vera risk approve
yes=$added
sleep 1
new_statement t.reprise approval approve t.reprise vera risk reject
no=$added
unmet 'approvals\[0\]: .*rejected' t.reprise d.yaml
dated t.reprise "$no"
sleep 1
dated t.reprise "$yes" # an approval from before the rejection, dated anew
unmet 'approvals\[0\]: .*rejected' t.reprise d.yaml
sleep 1
new_statement t.reprise approval approve t.reprise vera risk approve
unmet 'approvals\[0\]: .*rejected' t.reprise d.yaml
dated t.reprise "$added"
met_d t.reprise
if command -v python3 >/dev/null; then
    without t.reprise "${no%.json}.tsr" undated.reprise # nobody can tell any more that it was before
    unmet 'approvals\[0\]: .*rejected' undated.reprise d.yaml
fi

# ---- what the model is ----
policy model.yaml 'builder: {of: developers}' 'kind: recipe' 'conformant: true' \
    'metrics: [{of: rows, at_least: 12}, {of: accuracy, gap: 1}]' 'recipe: {key: model.hidden, equals: [4]}' \
    'columns: {not_used: [id]}'
met a.reprise model.yaml
holds "columns are told" grep -q '^met *columns: takes in none of the columns id: it takes in x, kind$' "$log/out"
policy model2.yaml 'builder: {of: developers}' 'columns: {not_used: [id, x]}'
unmet 'columns: .*it takes in x, kind' a.reprise model2.yaml
policy model3.yaml 'builder: {of: developers}' 'metrics: {of: rows, at_least: 13}'
unmet 'metrics\[0\]: rows of validation at least 13: validation has 12' a.reprise model3.yaml
# ---- findings ----
cp a.reprise found.reprise
note() { "$reprise" finding found.reprise --id MRM-1 --severity "$1" --text 'no out-of-time test' --owner credit \
    --key "$2.key" --cert "$2.pem" --trust alice.pub.pem "${@:3}"; }
policy find.yaml 'builder: {of: developers}' 'findings: {of: validators, open: low}'
met found.reprise find.yaml
new_statement found.reprise finding note high vera --due 2090-01-01T00:00:00Z
unmet 'findings\[0\]: no finding by validators .*: high MRM-1 \(credit\) is open' found.reprise find.yaml
holds "it is told" grep -q '^finding *MRM-1, high, owner credit, due 2090-01-01T00:00:00Z: by key' "$log/out"
works '"finding":\{"due":"2090-01-01T00:00:00Z","id":"MRM-1"' "$reprise" verify found.reprise --ca firm.pem --json
sleep 1
new_statement found.reprise finding note high victor --close # another's
unmet 'findings\[0\]: .*high MRM-1' found.reprise find.yaml
gives 4 'f.html' "$reprise" report found.reprise -o f.html --policy find.yaml
holds "the report tells it" grep -q '<strong>Finding open</strong>: .*MRM-1.*, high, owner .*credit' f.html
new_statement found.reprise finding note high vera --close
met found.reprise find.yaml
fails 2 'severity: expected low, medium' "$reprise" finding found.reprise --id x --severity grave --text x --owner x \
    --key vera.key
# ---- policies that make no sense ----
says() { # PATTERN CLAUSE
    policy bad.yaml "$2"
    fails 2 "$1" "$reprise" verify a.reprise --policy bad.yaml
}
says 'builder.of: authorities is not a group of signers' 'builder: {of: authorities}'
says 'builder.timestamp: keys is not a group of timestamp authorities' 'builder: {of: keys, timestamp: keys}'
sed 's/firm.pem/middle.pem/' b.yaml >gone.yaml
fails 1 'gone.yaml:4: key groups.developers.ca: ./middle.pem: cannot open' "$reprise" verify a.reprise \
    --policy gone.yaml
sed 's/firm.pem/alice.pem/' b.yaml >leaf.yaml
fails 2 'leaf.yaml:4: key groups.developers.ca: ./alice.pem: .*not a root' "$reprise" verify a.reprise \
    --policy leaf.yaml

# ---- a policy that holds its roots itself, in a report ----
{
    printf 'policy: 1\ngroups:\n  developers:\n    revocation: optional\n    ca: |\n'
    sed 's/^/      /' firm.pem
    printf 'builder: {of: developers}\n'
} >inside.yaml
met a.reprise inside.yaml
works 'r.html' "$reprise" report a.reprise -o r.html --policy inside.yaml
holds "the report tells whose certificate" grep -q 'CN=alice,OU=Development,O=Tests' r.html

finish
