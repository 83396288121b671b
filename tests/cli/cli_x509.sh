#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Certificates of signers, with authorities made by `openssl`: what counts, when it is judged, what was revoked, and
# that nothing weaker is taken. Usage: tests/cli/cli_x509.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli/pki.sh
. "$source_dir/tests/cli/pki.sh"
command -v openssl >/dev/null || { echo "SKIP: no openssl command"; exit 77; }

ca_extensions='basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,keyCertSign,cRLSign'
always='20250101000000Z 20450101000000Z'
rows 60 >data.csv
recipe small.yaml
root top
root other
root tsaroot
issue tsa tsaroot "$tsa_extensions"
issue middle top "$ca_extensions"
issue alice middle "$signer_extensions"
cat alice.pem middle.pem >alice.chain.pem
openssl ec -in alice.key -pubout -out alice.pub.pem 2>/dev/null
"$reprise" run small.yaml -o plain.reprise --key alice.key >/dev/null || bad "run"

# signed NAME: NAME.reprise is signed by NAME.key, with the certificates of NAME.pem (or of the file given)
signed() {
    if ! "$reprise" run small.yaml -o "$1.reprise" --key "$1.key" --cert "${2:-$1.pem}" --force >/dev/null \
        2>"$log/err"; then
        : >"$log/out"
        bad "run by $1"
    fi
}
# dated NAME: NAME.reprise with a timestamp
dated() {
    rm -f "$1.tsq"
    "$reprise" timestamp request "$1.reprise" -o "$1.tsq" >/dev/null
    answer tsa "$1.tsq" "$1.tsr"
    "$reprise" timestamp attach "$1.reprise" "$1.tsr" --request "$1.tsq" >/dev/null || bad "date $1"
}
crl() { # CA FILE [OPTIONS]
    openssl ca -config "$1.cnf" -cert "$1.pem" -keyfile "$1.key" -gencrl -out "$2" "${@:3}" 2>/dev/null
}

# ---- the way it should be ----
works '^usage: reprise cert ARCHIVE' "$reprise" cert --help
fails 2 'whose signature counts' "$reprise" verify plain.reprise
"$reprise" keygen k >/dev/null
fails 4 'not among the 0 trusted' "$reprise" verify plain.reprise --ca top.pem
fails 4 'not among the 1 trusted' "$reprise" verify plain.reprise --ca top.pem --trust k.pub.pem
cp plain.reprise a.reprise
works '^attached +a.reprise: signatures/[0-9a-f]{16}.x509.pem' "$reprise" cert a.reprise alice.chain.pem
fails 2 'give --force' "$reprise" cert a.reprise alice.chain.pem
works '"member":"signatures/' "$reprise" cert a.reprise alice.chain.pem --force --json
signed alice alice.chain.pem
holds "at signing and later: the same members" bash -c 'diff <(tar tf a.reprise) <(tar tf alice.reprise)'
works '^certificate +CN=alice,O=Tests under CN=top,O=Tests, good at .*\(now\), for signatures/run.dsse.json; '\
'revocation not checked' \
    "$reprise" verify a.reprise --ca top.pem
works '^signed' "$reprise" verify a.reprise --ca other.pem --ca top.pem
works '"accepted":true,"anchor":"CN=top,O=Tests","judged_at":"20.*,"judged_by":"now"' "$reprise" verify a.reprise \
    --ca top.pem --json
works '^verified' "$reprise" verify a.reprise --trust alice.pub.pem
works '^verified' "$reprise" verify a.reprise --trust alice.pub.pem --ca other.pem
fails 4 'certificate is not accepted at 20.*unable to get' "$reprise" verify a.reprise --ca other.pem
crl top top.crl
fails 2 'not a root' "$reprise" verify a.reprise --ca middle.pem
fails 2 'found X509 CRL, expected CERTIFICATE' "$reprise" verify a.reprise --ca top.crl
"$reprise" keygen stranger >/dev/null
fails 2 'the first certificate is of key' "$reprise" run small.yaml -o x.reprise --key stranger.pem \
    --cert alice.chain.pem
fails 2 'cert belongs to a key' "$reprise" run small.yaml -o x.reprise --cert alice.chain.pem
for kind in 'ec -pkeyopt ec_paramgen_curve:P-384' 'ec -pkeyopt ec_paramgen_curve:P-521' ed25519; do
    name=good$((checks))
    # shellcheck disable=SC2086
    issue $name top "$signer_extensions" $always $kind
    signed $name
    works "^certificate +CN=$name" "$reprise" verify $name.reprise --ca top.pem
done
# an authority that is limited to other purposes certifies no signer
for purpose in serverAuth codeSigning anyExtendedKeyUsage serverAuth,1.3.6.1.5.5.7.3.36; do
    name=limited$((checks))
    issue between$name top "$ca_extensions
extendedKeyUsage = $purpose"
    issue $name between$name "$signer_extensions"
    cat $name.pem between$name.pem >$name.chain.pem
    signed $name $name.chain.pem
    if [ $purpose = serverAuth ]; then
        fails 4 'an authority whose extended key usage leaves out codeSigning' "$reprise" verify $name.reprise \
            --ca top.pem
    else
        works "^certificate +CN=$name" "$reprise" verify $name.reprise --ca top.pem
    fi
done
# a countersignature brings its certificate along, and each counts for itself
issue bob other "$signer_extensions"
cp a.reprise two.reprise
works '^endorsed' "$reprise" sign two.reprise --key bob.key --cert bob.pem
works '^certificate +CN=bob,O=Tests under CN=other' "$reprise" verify two.reprise --ca top.pem --ca other.pem
works '^refused +certificate of CN=bob' "$reprise" verify two.reprise --ca top.pem
works '^refused +certificate of CN=alice' "$reprise" verify two.reprise --ca other.pem
works '^approved' "$reprise" approve two.reprise --role risk --decision approve --reason fine --key bob.key \
    --cert bob.pem --trust alice.pub.pem

# ---- when ----
works 'the time given' "$reprise" verify a.reprise --ca top.pem --at 2040-01-01T00:00:00Z
fails 4 'certificate has expired' "$reprise" verify a.reprise --ca top.pem --at 2046-01-01T00:00:00Z
fails 4 'not yet valid' "$reprise" verify a.reprise --ca top.pem --at 2024-12-31T23:59:59Z
fails 2 'not a time, expected UTC' "$reprise" verify a.reprise --ca top.pem --at 2040-01-01
dated a
works 'good at 20.*\(when it was dated\)' "$reprise" verify a.reprise --ca top.pem --tsa tsaroot.pem
# expired since
works 'when it was dated' "$reprise" verify a.reprise --ca top.pem --tsa tsaroot.pem --at 2046-01-01T00:00:00Z
# nobody to believe the date
fails 4 'certificate has expired' "$reprise" verify a.reprise --ca top.pem --at 2046-01-01T00:00:00Z
issue old top "$signer_extensions" 20240101000000Z 20240201000000Z
signed old
dated old
# expired when it was dated
fails 4 'certificate has expired' "$reprise" verify old.reprise --ca top.pem --tsa tsaroot.pem
fails 4 'certificate has expired' "$reprise" verify old.reprise --ca top.pem --tsa tsaroot.pem --at 2024-01-15T00:00:00Z
issue future top "$signer_extensions" 20440101000000Z 20450101000000Z
signed future
fails 4 'not yet valid' "$reprise" verify future.reprise --ca top.pem

# ---- revocation ----
crl middle middle.crl
crl other other.crl
cat top.crl middle.crl >both.crl
works '^certificate .*signatures/run.dsse.json$' "$reprise" verify alice.reprise --ca top.pem --crl top.crl \
    --crl middle.crl --require-crl
works '^certificate .*signatures/run.dsse.json$' "$reprise" verify alice.reprise --ca top.pem --crl both.crl \
    --require-crl
works 'revocation not checked' "$reprise" verify alice.reprise --ca top.pem --crl middle.crl
fails 4 'CN=middle,O=Tests: no revocation list' "$reprise" verify alice.reprise --ca top.pem --crl middle.crl \
    --require-crl
fails 4 'CN=alice,O=Tests: no revocation list' "$reprise" verify alice.reprise --ca top.pem --crl other.crl \
    --require-crl
crl middle stale.crl -crl_lastupdate 20250101000000Z -crl_nextupdate 20250201000000Z
fails 4 'the revocation list is stale' "$reprise" verify alice.reprise --ca top.pem --crl stale.crl
crl middle late.crl -crl_lastupdate 20460101000000Z -crl_nextupdate 20470101000000Z
fails 4 'issued after the certificate.s end' "$reprise" verify alice.reprise --ca top.pem --crl late.crl
sleep 1
openssl ca -config middle.cnf -cert middle.pem -keyfile middle.key -revoke alice.pem -crl_reason keyCompromise \
    2>/dev/null
crl middle revoked.crl
fails 4 'CN=alice,O=Tests: revoked on 20.*, and it is judged at' "$reprise" verify alice.reprise --ca top.pem \
    --crl revoked.crl
works 'revoked on 20.*, after this' "$reprise" verify a.reprise --ca top.pem --tsa tsaroot.pem --crl revoked.crl
holds "dated before it was revoked" grep -q 'when it was dated' "$log/out"
sleep 1
dated alice
# dated afterwards
fails 4 'revoked on 20' "$reprise" verify alice.reprise --ca top.pem --tsa tsaroot.pem --crl revoked.crl
openssl ca -config middle.cnf -cert middle.pem -keyfile middle.key -gencrl -out backdated.crl 2>/dev/null
# an invalidity date before the timestamp counts, whatever the date of the revocation
sed -i 's/,keyCompromise/,keyTime,20250601000000Z/' middle.db
crl middle invalid.crl
fails 4 'revoked on 2025-06-01T00:00:00Z' "$reprise" verify a.reprise --ca top.pem --tsa tsaroot.pem --crl invalid.crl
# an authority in between whose key is lost: nothing it signed is believed, whenever
openssl ca -config top.cnf -cert top.pem -keyfile top.key -revoke middle.pem -crl_reason CACompromise 2>/dev/null
crl top lost.crl
fails 4 'CN=middle,O=Tests: revoked on .* leaves nothing of before' "$reprise" verify a.reprise --ca top.pem \
    --tsa tsaroot.pem --crl lost.crl

# ---- downgrades: keys ----
for kind in 'ec -pkeyopt ec_paramgen_curve:P-224' 'ec -pkeyopt ec_paramgen_curve:secp256k1' \
    'ec -pkeyopt ec_paramgen_curve:brainpoolP256r1' 'ec -pkeyopt ec_paramgen_curve:prime192v1' \
    'ec -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit' 'rsa -pkeyopt rsa_keygen_bits:2048' \
    'rsa -pkeyopt rsa_keygen_bits:3072' ed448; do
    name=weak$((checks))
    # shellcheck disable=SC2086
    issue $name top "$signer_extensions" $always $kind
    [ -s $name.pem ] || { bad "no certificate for $kind"; continue; }
    cp plain.reprise w.reprise
    fails 2 'a certificate of a' "$reprise" cert w.reprise $name.pem
    # shellcheck disable=SC2086
    root weakroot $kind
    [ -s weakroot.pem ] || { bad "no root for $kind"; continue; }
    fails 2 'certificate of CN=weakroot,O=Tests: a' "$reprise" verify plain.reprise --ca weakroot.pem
done
root edroot ed25519
fails 2 'only a signer.s own key' "$reprise" verify plain.reprise --ca edroot.pem
# shellcheck disable=SC2086
{
    issue rsamiddle top "$ca_extensions" $always rsa -pkeyopt rsa_keygen_bits:3072
    issue k1middle top "$ca_extensions" $always ec -pkeyopt ec_paramgen_curve:secp256k1
    issue edmiddle top "$ca_extensions" $always ed25519
}
for by in rsamiddle k1middle edmiddle; do
    if [ $by = edmiddle ]; then digest=null issue under$by $by "$signer_extensions"; else issue under$by $by \
        "$signer_extensions"; fi
    cat under$by.pem $by.pem >under$by.chain.pem
    signed under$by under$by.chain.pem
    fails 4 "certificate of CN=(under)?$by,O=Tests: a (key|signature|n RSA|n Ed)|an (RSA|Ed25519) key|CA "\
"(key|md|signature)" \
        "$reprise" verify under$by.reprise --ca top.pem
done

# ---- downgrades: hashes ----
for hash in sha1 md5 sha224; do
    digest=$hash issue $hash top "$signer_extensions"
    [ -s $hash.pem ] || { skip "this OpenSSL makes no certificates with $hash"; continue; }
    signed $hash
    fails 4 'certificate is not accepted' "$reprise" verify $hash.reprise --ca top.pem
done
digest=-sha1 root sha1root
fails 2 'a signature other than ECDSA with SHA-256' "$reprise" verify plain.reprise --ca sha1root.pem
sed 's/default_md = sha256/default_md = sha1/' middle.cnf >sha1.cnf
openssl ca -config sha1.cnf -cert middle.pem -keyfile middle.key -gencrl -md sha1 -out sha1.crl 2>/dev/null
fails 2 'a revocation list with a signature other than' "$reprise" verify a.reprise --ca top.pem --crl sha1.crl

# ---- other purposes ----
purpose() { # NAME EXTENSIONS PATTERN
    issue "$1" top "$2"
    signed "$1"
    fails 4 "$3" "$reprise" verify "$1.reprise" --ca top.pem
}
purpose server "$signer_extensions
extendedKeyUsage = serverAuth" 'extended key usage is neither'
purpose stamp "$tsa_extensions" 'extended key usage is neither'
purpose any "$signer_extensions
extendedKeyUsage = anyExtendedKeyUsage" 'extended key usage is neither'
purpose encrypts 'basicConstraints = critical,CA:FALSE
keyUsage = critical,keyAgreement' 'key usage is not digitalSignature'
purpose unsaid 'basicConstraints = critical,CA:FALSE' 'key usage is not digitalSignature'
purpose authority "$ca_extensions" 'is an authority|key usage'
purpose unknown "$signer_extensions
1.2.3.4.5 = critical,ASN1:NULL" 'unhandled critical extension'
issue code top "$signer_extensions
extendedKeyUsage = critical,codeSigning"
signed code
works '^certificate' "$reprise" verify code.reprise --ca top.pem
issue mallory alice "$signer_extensions" # alice is no authority
cat mallory.pem alice.pem middle.pem >mallory.chain.pem
signed mallory mallory.chain.pem
fails 4 'invalid CA certificate|path length|key usage' "$reprise" verify mallory.reprise --ca top.pem
issue deep middle "$ca_extensions" # middle may have no authorities below it
issue eve deep "$signer_extensions"
cat eve.pem deep.pem middle.pem >eve.chain.pem
signed eve eve.chain.pem
fails 4 'path length' "$reprise" verify eve.reprise --ca top.pem

# ---- shapes ----
cp plain.reprise s.reprise
cat alice.pem alice.pem middle.pem >twice.pem
fails 2 'a certificate is there twice' "$reprise" cert s.reprise twice.pem
cat middle.pem alice.pem >backwards.pem
fails 2 'not in order' "$reprise" cert s.reprise backwards.pem
cat alice.pem top.pem >gap.pem
fails 2 'not in order' "$reprise" cert s.reprise gap.pem
head -5 alice.pem >short.pem
fails 2 'a broken PEM block' "$reprise" cert s.reprise short.pem
fails 2 'found EC PRIVATE KEY|found PRIVATE KEY' "$reprise" cert s.reprise alice.key
{ openssl x509 -in alice.pem -outform DER; printf x; } | { echo '-----BEGIN CERTIFICATE-----'; base64 \
    -w 64; echo '-----END CERTIFICATE-----'; } >extra.pem
fails 2 'something follows the value' "$reprise" cert s.reprise extra.pem
fails 2 'found no PEM block' "$reprise" cert s.reprise data.csv
{ echo 'text in front'; cat alice.chain.pem; } >text.pem
works '^attached' "$reprise" cert s.reprise text.pem
works '^certificate' "$reprise" verify s.reprise --ca top.pem # a file may have text between; the member has not
# one byte of the certificates in the archive
at=$(grep -abo 'BEGIN CERTIFICATE' s.reprise | head -1 | cut -d: -f1)
for shift in 60 300 700; do
    cp s.reprise t.reprise
    printf '\x41\x42' | dd of=t.reprise bs=1 seek=$((at + shift)) conv=notrunc 2>/dev/null
    fails 4 'x509.pem|certificate is not accepted' "$reprise" verify t.reprise --ca top.pem
done

# ---- private keys ----
printf 'right horse\n' >secret && printf 'wrong horse\n' >wrong
openssl pkcs8 -topk8 -in alice.key -v2 aes-256-cbc -passout file:secret -out locked.pem 2>/dev/null
fails 2 'encrypted and no passphrase was given: give --passphrase-file' "$reprise" run small.yaml -o x.reprise \
    --key locked.pem
fails 2 'wrong passphrase' "$reprise" run small.yaml -o x.reprise --key locked.pem --passphrase-file wrong
works '^signed' "$reprise" run small.yaml -o x.reprise --key locked.pem --passphrase-file secret --cert alice.chain.pem

finish
