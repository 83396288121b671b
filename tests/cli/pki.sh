# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Authorities made with OpenSSL for the tests of certificates and timestamps. Sourced; works in the current folder.

# root NAME [KEY OPTIONS...]: a self-signed authority NAME.pem with key NAME.key, for certificates and revocation lists.
root() {
    local name=$1
    shift
    [ $# -gt 0 ] || set -- ec -pkeyopt ec_paramgen_curve:P-256
    openssl genpkey -quiet -algorithm "$@" -out "$name.key" 2>/dev/null
    openssl req -x509 -new -key "$name.key" -subj "/O=Tests/CN=$name" -days 10000 "${digest:--sha256}" \
        -out "$name.pem" \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
}

# issue NAME BY EXTENSIONS [FROM UNTIL] [KEY OPTIONS...]: certificate NAME.pem with key NAME.key, signed by BY.
# EXTENSIONS: lines of an OpenSSL configuration. FROM and UNTIL: YYYYMMDDHHMMSSZ. An existing key is used again.
# $subject: another than /O=Tests/CN=NAME.
issue() {
    local name=$1 by=$2 extensions=$3 from=${4:-20250101000000Z} until=${5:-20450101000000Z}
    shift 3
    [ $# -eq 0 ] || shift 2
    [ $# -gt 0 ] || set -- ec -pkeyopt ec_paramgen_curve:P-256
    [ -e "$name.key" ] || openssl genpkey -quiet -algorithm "$@" -out "$name.key" 2>/dev/null
    [ -e "$by.db" ] || { : >"$by.db"; echo 01 >"$by.serial"; }
    cat >"$by.cnf" <<END
[ca]
default_ca = d
[d]
database = $by.db
serial = $by.serial
new_certs_dir = .
default_md = sha256
policy = p
unique_subject = no
default_crl_days = 30
copy_extensions = none
[p]
O = optional
OU = optional
CN = supplied
[x]
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
$extensions
END
    openssl req -new -key "$name.key" -subj "${subject:-/O=Tests/CN=$name}" -out "$name.csr" 2>/dev/null
    openssl ca -batch -config "$by.cnf" -cert "$by.pem" -keyfile "$by.key" -in "$name.csr" -notext -extensions x \
        -startdate "$from" -enddate "$until" -md "${digest:-sha256}" -out "$name.pem" >"$name.log" 2>&1
}

tsa_extensions='basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping'
signer_extensions='basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature'

# answer TSA REQUEST RESPONSE [LINES...]: the authority TSA answers; LINES are added to its configuration.
answer() {
    local tsa=$1 request=$2 response=$3
    shift 3
    [ -e tsa.serial ] || echo 01 >tsa.serial
    cat >answer.cnf <<END
[tsa]
default_tsa = t
[t]
serial = tsa.serial
signer_cert = $tsa.pem
signer_key = $tsa.key
signer_digest = sha256
default_policy = 1.3.6.1.4.1.13762.3
digests = sha1, sha224, sha256, sha384, sha512, md5
accuracy = secs:1
ordering = no
tsa_name = yes
ess_cert_id_alg = ${ess:-sha256}
ess_cert_id_chain = no
$*
END
    openssl ts -reply -config answer.cnf -queryfile "$request" -out "$response" 2>answer.log
}
