#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise timestamp, with authorities run by `openssl ts`: request, response, attach, verify, and what is refused: weak
# hashes, other purposes, other authorities, revoked and stale ones. Usage: tests/cli/cli_timestamp.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli/pki.sh
. "$source_dir/tests/cli/pki.sh"
command -v openssl >/dev/null || { echo "SKIP: no openssl command"; exit 77; }

rows 60 >data.csv
recipe small.yaml
"$reprise" keygen me >/dev/null
"$reprise" run small.yaml -o a.reprise --key me.pem >/dev/null || bad "run"
"$reprise" run small.yaml -o unsigned.reprise >/dev/null
sed 's/^seed:.*/seed: 9/' small.yaml >other.yaml
"$reprise" run other.yaml -o other.reprise --key me.pem >/dev/null
root tsaroot
root elsewhere
issue tsa tsaroot "$tsa_extensions"

# ---- help and usage ----
works '^  request +write the request' "$reprise" timestamp --help
for action in request attach; do
    works "^usage: reprise timestamp $action" "$reprise" timestamp $action --help
    holds "help of timestamp $action has an example" grep -q '^example:' "$log/out"
done
fails 2 'expected request or attach' "$reprise" timestamp send
fails 2 'timestamp request: --output FILE is missing' "$reprise" timestamp request a.reprise
fails 2 'no statement signatures/run.dsse.json: what is not signed' "$reprise" timestamp request unsigned.reprise \
    -o u.tsq
fails 2 'sha1: not a hash for timestamps' "$reprise" timestamp request a.reprise -o u.tsq --hash sha1
fails 2 'md5: not a hash' "$reprise" timestamp request a.reprise -o u.tsq --hash md5

# ---- the way it should be ----
works '^written +a.tsq: asks to date signatures/run.dsse.json' "$reprise" timestamp request a.reprise -o a.tsq
fails 2 'already exists' "$reprise" timestamp request a.reprise -o a.tsq
works '"statement":"signatures/run.dsse.json"' "$reprise" timestamp request a.reprise -o b.tsq --json
holds "two requests differ in their random numbers" bash -c '! cmp -s a.tsq b.tsq'
answer tsa a.tsq a.tsr
cp a.reprise plain.reprise
fails 4 'its nonce is not the request' "$reprise" timestamp attach a.reprise a.tsr --request b.tsq
fails 4 'it dates no statement of other.reprise' "$reprise" timestamp attach other.reprise a.tsr
works '^attached +a.reprise: signatures/run.dsse.tsr' "$reprise" timestamp attach a.reprise a.tsr --request a.tsq
fails 2 'give --force' "$reprise" timestamp attach a.reprise a.tsr
works '"member":"signatures/run.dsse.tsr"' "$reprise" timestamp attach a.reprise a.tsr --force --json
works '^dated +20[0-9-]*T[0-9:]*Z, signatures/run.dsse.json by CN=tsa,O=Tests under CN=tsaroot' \
    "$reprise" verify a.reprise --trust me.pub.pem --tsa tsaroot.pem
works '^unchecked +signatures/run.dsse.tsr says' "$reprise" verify a.reprise --trust me.pub.pem
works '"time":"20[0-9-]*T[0-9:]*Z","trusted":true' "$reprise" verify a.reprise --trust me.pub.pem --tsa elsewhere.pem \
    --tsa tsaroot.pem --json
works '^identical' "$reprise" replay a.reprise --trust me.pub.pem
mkdir x && tar -xf a.reprise -C x
holds "openssl finds the same" openssl ts -verify -data x/signatures/run.dsse.json -in x/signatures/run.dsse.tsr \
    -CAfile tsaroot.pem
for hash in sha384 sha512; do
    cp plain.reprise $hash.reprise
    "$reprise" timestamp request $hash.reprise -o $hash.tsq --hash $hash >/dev/null
    answer tsa $hash.tsq $hash.tsr
    "$reprise" timestamp attach $hash.reprise $hash.tsr >/dev/null
    works '^dated' "$reprise" verify $hash.reprise --trust me.pub.pem --tsa tsaroot.pem
done

# ---- whose it is ----
fails 4 'timestamp not accepted: certificate of' "$reprise" verify a.reprise --trust me.pub.pem --tsa elsewhere.pem
fails 4 'no timestamp of signatures/run.dsse.json' "$reprise" verify plain.reprise --trust me.pub.pem --tsa tsaroot.pem
fails 2 'not a root' "$reprise" verify a.reprise --trust me.pub.pem --tsa tsa.pem
fails 2 'found PRIVATE KEY, expected CERTIFICATE' "$reprise" verify a.reprise --trust me.pub.pem --tsa me.pem
fails [12] 'none.pem' "$reprise" verify a.reprise --trust me.pub.pem --tsa none.pem

# ---- weak ones: a root, a key, a hash at a time ----
# refused NAME PATTERN: a.tsq answered by NAME is not to be attached, or not to be accepted under $by
by=tsaroot
refused() {
    local name=$1 pattern=$2
    answer "$name" a.tsq "$name.tsr"
    cp plain.reprise t.reprise
    if "$reprise" timestamp attach t.reprise "$name.tsr" >"$log/out" 2>"$log/err"; then
        fails 4 "$pattern" "$reprise" verify t.reprise --trust me.pub.pem --tsa $by.pem
    else
        fails 4 "$pattern" "$reprise" timestamp attach t.reprise "$name.tsr"
    fi
}
ess=sha1 answer tsa a.tsq e.tsr
fails 4 'by a SHA-2 digest' "$reprise" timestamp attach plain.reprise e.tsr
for hash in sha1 md5 sha224; do
    tar -xOf plain.reprise signatures/run.dsse.json >statement
    openssl ts -query -data statement -$hash -cert -out $hash.tsq 2>/dev/null
    answer tsa $hash.tsq $hash.tsr
    fails 4 'dates a digest other than SHA-256' "$reprise" timestamp attach plain.reprise $hash.tsr
done
sed 's/signer_digest = sha256/signer_digest = sha1/' answer.cnf >weak.cnf
openssl ts -reply -config weak.cnf -queryfile a.tsq -out weak.tsr 2>/dev/null
fails 4 'its signature is not over SHA-256' "$reprise" timestamp attach plain.reprise weak.tsr
past='20250101000000Z 20450101000000Z'
# shellcheck disable=SC2086
{
    issue p224 tsaroot "$tsa_extensions" $past ec -pkeyopt ec_paramgen_curve:P-224
    issue k256 tsaroot "$tsa_extensions" $past ec -pkeyopt ec_paramgen_curve:secp256k1
    issue brain tsaroot "$tsa_extensions" $past ec -pkeyopt ec_paramgen_curve:brainpoolP256r1
    issue rsa2048 tsaroot "$tsa_extensions" $past rsa -pkeyopt rsa_keygen_bits:2048
    issue rsa3072 tsaroot "$tsa_extensions" $past rsa -pkeyopt rsa_keygen_bits:3072
}
for weak in p224 k256 brain rsa2048; do refused $weak "neither ECDSA on P-256"; done
refused rsa3072 'an RSA key: expected ECDSA'
works '^dated' "$reprise" verify t.reprise --trust me.pub.pem --tsa tsaroot.pem --tsa-rsa
issue soft tsaroot 'basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = timeStamping'
issue both tsaroot 'basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping,codeSigning'
issue code tsaroot 'basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,codeSigning'
# `openssl ts` does not sign with these, so what it signed with the right one is signed again by other means
openssl ts -reply -in a.tsr -token_out -out token.der 2>/dev/null
openssl cms -verify -noverify -inform DER -in token.der -out info.der 2>/dev/null
forge() { # NAME: NAME.tsr says what a.tsr does, signed with NAME's certificate
    openssl cms -sign -binary -nodetach -econtent_type 1.2.840.113549.1.9.16.1.4 -in info.der -signer "$1.pem" \
        -inkey "$1.key" -md sha256 -cades -nosmimecap -outform DER -out forged.der 2>/dev/null
    { printf '0\x82'; printf "\\x$(printf %02x $((($(stat -c %s forged.der) + 5) / 256)))\\x$(printf %02x \
        $((($(stat -c %s forged.der) + 5) % 256)))"; printf '0\x03\x02\x01\x00'; cat forged.der; } >"$1.tsr"
    cp plain.reprise t.reprise
    "$reprise" timestamp attach t.reprise "$1.tsr" --request a.tsq >"$log/out" 2>"$log/err" || bad "attach $1.tsr"
}
forge tsa
works '^dated' "$reprise" verify t.reprise --trust me.pub.pem --tsa tsaroot.pem
for name in soft both code; do
    forge $name
    fails 4 "certificate of CN=$name,O=Tests: unsuitable certificate purpose" \
        "$reprise" verify t.reprise --trust me.pub.pem \
        --tsa tsaroot.pem
done
digest=-sha1 root sha1root
by=sha1root
issue sha1tsa sha1root "$tsa_extensions"
answer sha1tsa a.tsq sha1tsa.tsr
fails 2 'a signature other than ECDSA with SHA-256' "$reprise" verify a.reprise --trust me.pub.pem --tsa sha1root.pem
by=tsaroot
digest=sha1 issue sha1leaf tsaroot "$tsa_extensions"
refused sha1leaf 'signature|too weak|digest'

# ---- time and revocation ----
issue early tsaroot "$tsa_extensions" 20200101000000Z 20210101000000Z
refused early 'certificate has expired'
openssl ca -config tsaroot.cnf -cert tsaroot.pem -keyfile tsaroot.key -gencrl -out good.crl 2>/dev/null
works 'under CN=tsaroot,O=Tests$' "$reprise" verify a.reprise --trust me.pub.pem --tsa tsaroot.pem \
    --crl good.crl --require-crl
fails 4 'no revocation list of its issuer' "$reprise" verify a.reprise --trust me.pub.pem \
    --tsa tsaroot.pem --require-crl
root elsewhere2 && issue x elsewhere2 "$tsa_extensions"
openssl ca -config elsewhere2.cnf -cert elsewhere2.pem -keyfile elsewhere2.key -gencrl -out other.crl 2>/dev/null
fails 4 'no revocation list of its issuer' "$reprise" verify a.reprise --trust me.pub.pem --tsa tsaroot.pem \
    --crl other.crl --require-crl
sed 's/tsaroot.key/other.key/' tsaroot.cnf >forged.cnf
openssl genpkey -quiet -algorithm ec -pkeyopt ec_paramgen_curve:P-256 -out forged.key 2>/dev/null
openssl req -x509 -new -key forged.key -subj "/O=Tests/CN=tsaroot" -days 3650 -out forged.pem 2>/dev/null
openssl ca -config tsaroot.cnf -cert forged.pem -keyfile forged.key -gencrl -out forged.crl 2>/dev/null
fails 4 'with a wrong signature' "$reprise" verify a.reprise --trust me.pub.pem --tsa tsaroot.pem --crl forged.crl
openssl ca -config tsaroot.cnf -cert tsaroot.pem -keyfile tsaroot.key -gencrl -crl_lastupdate 20250101000000Z \
    -crl_nextupdate 20250201000000Z -out stale.crl 2>/dev/null
fails 4 'the revocation list is stale' "$reprise" verify a.reprise --trust me.pub.pem --tsa tsaroot.pem --crl stale.crl
sleep 1
openssl ca -config tsaroot.cnf -cert tsaroot.pem -keyfile tsaroot.key -revoke tsa.pem -crl_reason superseded 2>/dev/null
openssl ca -config tsaroot.cnf -cert tsaroot.pem -keyfile tsaroot.key -gencrl -out superseded.crl 2>/dev/null
works 'certificate of CN=tsa,O=Tests revoked on 20.*, after this' "$reprise" verify a.reprise --trust me.pub.pem \
    --tsa tsaroot.pem \
    --crl superseded.crl
sed -i 's/,superseded/,keyCompromise/' tsaroot.db
openssl ca -config tsaroot.cnf -cert tsaroot.pem -keyfile tsaroot.key -gencrl -out stolen.crl 2>/dev/null
fails 4 'leaves nothing of before to be believed' "$reprise" verify a.reprise --trust me.pub.pem --tsa tsaroot.pem \
    --crl stolen.crl

# ---- damage ----
(cat a.tsr; printf '\0') >trailing.tsr
fails 4 'something follows' "$reprise" timestamp attach plain.reprise trailing.tsr
head -c 300 a.tsr >short.tsr
fails 4 'cut short' "$reprise" timestamp attach plain.reprise short.tsr
fails 4 'timestamp: ' "$reprise" timestamp attach plain.reprise data.csv
head -c 70000 /dev/zero >large.tsr
fails 4 'too large' "$reprise" timestamp attach plain.reprise large.tsr
fails 4 'timestamp: ' "$reprise" timestamp attach plain.reprise a.tsq

finish
