#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signing with a key on a PKCS#11 token, which SoftHSM2 plays: the private key stays there, wrong PINs and names are
# said, nothing asks at the terminal. Usage: tests/cli/cli_pkcs11.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli/pki.sh
. "$source_dir/tests/cli/pki.sh"
module=$(ls /usr/lib/softhsm/libsofthsm2.so /usr/lib/*/softhsm/libsofthsm2.so 2>/dev/null | head -1)
engine=$(openssl version -e 2>/dev/null | cut -d'"' -f2)/pkcs11.so
for needed in softhsm2-util pkcs11-tool; do
    command -v $needed >/dev/null || { echo "SKIP: no $needed (Debian: softhsm2, opensc)"; exit 77; }
done
[ -n "$module" ] || { echo "SKIP: no SoftHSM2 module"; exit 77; }
[ -e "$engine" ] || { echo "SKIP: no OpenSSL engine pkcs11 (Debian: libengine-pkcs11-openssl)"; exit 77; }

mkdir "$scratch/tokens"
printf 'directories.tokendir = %s\nobjectstore.backend = file\nlog.level = ERROR\n' "$scratch/tokens" \
    >"$scratch/hsm.conf"
export SOFTHSM2_CONF=$scratch/hsm.conf PKCS11_MODULE_PATH=$module
# the engine leaves tables of its own behind when it is unloaded
export ASAN_OPTIONS=detect_leaks=0
softhsm2-util --init-token --free --label firm --so-pin 12345678 --pin 4321 >/dev/null 2>&1 || bad "token"
make_key() { pkcs11-tool --module "$module" -l --pin 4321 --keypairgen --key-type "$1" --label "$2" --id "$3" \
    >/dev/null 2>&1; }
make_key EC:prime256v1 me 01
make_key EC:secp384r1 strong 02
make_key EC:secp256k1 coin 03
make_key rsa:2048 old 04
echo 4321 >pin
echo 9999 >wrong
rows 60 >data.csv
recipe small.yaml
me='pkcs11:token=firm;object=me'

works '^public +me.pub.pem' "$reprise" keygen me --token "$me" --passphrase-file pin
holds "no private key is written" test ! -e me.pem
pkcs11-tool --module "$module" --read-object --type pubkey --label me -o point.der >/dev/null 2>&1
holds "the public key is the token's" bash -c \
    'openssl pkey -pubin -inform DER -in point.der -pubout 2>/dev/null | cmp - me.pub.pem'
works '^signed +by key [0-9a-f]{64} \(ECDSA P-256\)' "$reprise" run small.yaml -o a.reprise --key "$me" \
    --passphrase-file pin
works '^signed' "$reprise" verify a.reprise --trust me.pub.pem
works '^endorsed' "$reprise" sign a.reprise --key 'pkcs11:token=firm;object=strong' --passphrase-file pin \
    --trust me.pub.pem
works 'ECDSA P-384' "$reprise" keygen strong --token 'pkcs11:token=firm;id=%02' --passphrase-file pin
works '^endorsed +by key [0-9a-f]{64} .ECDSA P-384' "$reprise" verify a.reprise --trust me.pub.pem \
    --trust strong.pub.pem

fails 2 'wants a PIN and none was given: give --passphrase-file' "$reprise" run small.yaml -o x.reprise --key "$me"
fails 2 'no private key of this name on a token that opens with this PIN' "$reprise" run small.yaml -o x.reprise \
    --key "$me" \
    --passphrase-file wrong
fails 2 'no private key of this name' "$reprise" run small.yaml -o x.reprise --key 'pkcs11:token=firm;object=none' \
    --passphrase-file pin
fails 2 'no private key of this name' "$reprise" run small.yaml -o x.reprise --key 'pkcs11:token=none;object=me' \
    --passphrase-file pin
fails 2 'a PIN does not belong into the URI' "$reprise" run small.yaml -o x.reprise --key "$me?pin-value=4321" \
    --passphrase-file pin
fails 2 'an EC key on curve secp256k1' "$reprise" run small.yaml -o x.reprise --key 'pkcs11:token=firm;object=coin' \
    --passphrase-file pin
fails 2 'a key of type RSA' "$reprise" run small.yaml -o x.reprise --key 'pkcs11:token=firm;object=old' \
    --passphrase-file pin
PKCS11_MODULE_PATH=/none.so fails 1 'PKCS11_MODULE_PATH names, cannot be opened' "$reprise" run small.yaml \
    -o x.reprise --key "$me" --passphrase-file pin
OPENSSL_ENGINES=/none fails 5 'engine pkcs11 is not installed' "$reprise" run small.yaml -o x.reprise --key "$me" \
    --passphrase-file pin

# a certificate for a key that is nowhere else
root top
openssl x509 -new -force_pubkey me.pub.pem -subj /O=Tests/CN=token -CA top.pem -CAkey top.key -days 300 -out token.pem \
    -extfile <(printf '%s\nsubjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n' "$signer_extensions") \
    2>/dev/null ||
    bad "certificate for the token"
works '^signed' "$reprise" run small.yaml -o c.reprise --key "$me" --passphrase-file pin --cert token.pem
works '^certificate +CN=token,O=Tests under CN=top' "$reprise" verify c.reprise --ca top.pem

finish
