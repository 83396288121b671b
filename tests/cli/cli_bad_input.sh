#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bad input: each gives one line on stderr, the exit code of the design, and touches no file. Usage:
# tests/cli/cli_bad_input.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

rows 120 >data.csv
recipe small.yaml
"$reprise" keygen me >"$log/out"
"$reprise" run small.yaml -o a.reprise --key me.pem >"$log/out"
"$reprise" run small.yaml -o b.reprise >"$log/out"

run() { # CODE PATTERN RECIPE
    fails "$1" "$2" "$reprise" run "$3" -o out.reprise
}

with_data() { # CODE PATTERN: the CSV is on stdin
    cat >bad.csv
    recipe bad.yaml bad.csv
    run "$1" "$2" bad.yaml
}

with_recipe() { # CODE PATTERN SED_SCRIPT
    sed "$3" small.yaml >bad.yaml
    run "$1" "$2" bad.yaml
}

# ---- usage ----
fails 2 'no command' "$reprise"
fails 2 'unknown command rum: did you mean run' "$reprise" rum
fails 2 'unknown command veryfi: did you mean verify' "$reprise" help veryfi
fails 2 'unknown option --thread: did you mean --threads' "$reprise" replay a.reprise --thread 3
fails 2 'no work has "quicksort" in its name' "$reprise" bench --only quicksort
fails 2 'unknown option --jsn: did you mean --json' "$reprise" doctor --jsn
fails 2 'unknown option -x' "$reprise" run small.yaml -x
fails 2 'RECIPE.yaml is missing' "$reprise" run -o out.reprise
fails 2 'B is missing' "$reprise" diff a.reprise
fails 2 'DIR is missing' "$reprise" golden check
fails 2 'record or check, found chck: did you mean check' "$reprise" golden chck .
fails 2 'NAME is missing' "$reprise" keygen
fails 2 '--csv FILE is missing' "$reprise" predict a.reprise -o p.csv
fails 2 '--out FILE is missing' "$reprise" run small.yaml
fails 2 'unexpected operand extra' "$reprise" inspect a.reprise extra
fails 2 '--out needs a value' "$reprise" run small.yaml --out
fails 2 '--force takes no value' "$reprise" run small.yaml --force=yes -o out.reprise
fails 2 '--key is given twice' "$reprise" run small.yaml --key me.pem --key me.pem -o out.reprise
for threads in 0 -1 1.5 two 99999999999999999999 ''; do
    fails 2 'threads: expected a whole number' "$reprise" replay a.reprise "--threads=$threads"
done
fails 2 'writes no archive' "$reprise" run small.yaml --no-record -o out.reprise
fails 2 'belongs to a key' "$reprise" run small.yaml --passphrase-file me.pem -o out.reprise
fails 2 'belongs to --member' "$reprise" inspect a.reprise -o out
fails 2 'give -o FILE' sh -c "'$reprise' inspect a.reprise --member manifest.json --json >/dev/null"
fails '[25]' 'avx3' "$reprise" replay a.reprise --isa avx3

# ---- files ----
mkdir folder
run 1 'nothing.yaml: cannot open' nothing.yaml
run 1 'folder: is a directory' folder
sed 's/data.csv/nothing.csv/' small.yaml >bad.yaml
run 1 'nothing.csv: cannot open' bad.yaml
sed 's/data.csv/folder/' small.yaml >bad.yaml
run 1 'folder: is a directory' bad.yaml
fails 2 'a.reprise: already exists.*--force' "$reprise" run small.yaml -o a.reprise
fails 2 'folder: (is a directory|already exists)' "$reprise" run small.yaml -o folder
fails 2 'folder: is a directory' "$reprise" run small.yaml -o folder --force
fails 1 'nowhere' "$reprise" run small.yaml -o nowhere/out.reprise
fails 2 'me.pem: already exists' "$reprise" keygen me
fails 1 'nowhere' "$reprise" keygen nowhere/me
fails 1 'nothing: cannot open' "$reprise" verify nothing --allow-unsigned
fails 1 'folder: is (a directory|not a regular file)' "$reprise" replay folder
fails 1 'nothing: cannot open' "$reprise" diff a.reprise nothing
fails 1 'nothing: cannot open' "$reprise" golden check nothing
fails 2 'no recipe' "$reprise" golden record folder
fails 1 'nothing.csv: cannot open' "$reprise" predict a.reprise --csv nothing.csv -o p.csv
fails 2 'is the file of --csv: choose another' "$reprise" predict a.reprise --csv data.csv -o data.csv

# what would never end, or differ the next time, is no input: opening it does not wait for a writer either
mkfifo pipe
sed 's/data.csv/pipe/' small.yaml >bad.yaml
run 1 'pipe: is not a regular file' bad.yaml
run 1 'pipe: is not a regular file' pipe
fails 1 'pipe: is not a regular file' "$reprise" run small.yaml -o out.reprise --key pipe
fails 1 'pipe: is not a regular file' "$reprise" verify a.reprise --trust pipe
fails 1 'pipe: is not a regular file' "$reprise" keygen new --passphrase-file pipe
fails 1 'pipe: is not a regular file' "$reprise" predict a.reprise --csv pipe -o p.csv
fails 1 '/dev/zero: is not a regular file' "$reprise" predict a.reprise --csv /dev/zero -o p.csv

# ---- data ----
with_data 1 'bad.csv: .*(empty|no )' </dev/null
with_data 1 'bad.csv' <<<'id,x,kind,y'
sed '7s/,[^,]*$//' data.csv | with_data 1 'bad.csv:7:?.*(3 cells|cells)'
sed '7s/$/,more/' data.csv | with_data 1 'bad.csv:7:?.*cells'
sed '7s/$/"/' data.csv | with_data 1 'bad.csv:7'
for cell in inf -Infinity 1e999; do
    awk -F, -v OFS=, -v c="$cell" 'NR == 9 { $2 = c } 1' data.csv >cell.csv
    with_data 1 'bad.csv:9.*' <cell.csv
done
awk -F, -v OFS=, 'NR == 9 { $2 = "much" } 1' data.csv >bad.csv
recipe bad.yaml bad.csv
sed -i 's/columns: .*/columns: {id: ignore, x: numeric}/' bad.yaml
run 1 'bad.csv:9.*x.*much' bad.yaml
sed 's/,no$/,yes/' data.csv | with_data 1 'class'
printf 'id,x,kind,y\n1,2,a,yes\0\n' | with_data 1 'bad.csv:2'
printf 'id,x,kind,y\n1,2,\377,yes\n' | with_data 1 'bad.csv:2.*UTF-8'
head -2 data.csv | with_data '[12]' 'bad.' # one row: too little for folds, classes and a batch

# ---- recipes ----
with_recipe 2 'bad.yaml:11.*epoch.*did you mean epochs|epoch.*epochs' 's/epochs:/epoch:/'
with_recipe 2 'optimiser.*optimizer' 's/  epochs: 2/  epochs: 2\n  optimiser: {kind: sgd}/'
with_recipe 2 'epochs.*(integer|number)' 's/epochs: 2/epochs: many/'
with_recipe 2 'hidden' 's/hidden: \[4\]/hidden: wide/'
with_recipe 2 'csv' 's/csv: data.csv/csv: [data.csv]/'
for size in 0 -5 9223372036854775808 1e3 1.5; do
    with_recipe 2 'batch' "s/batch: 16/batch: $size/"
    with_recipe 2 'epochs' "s/epochs: 2/epochs: $size/"
    with_recipe 2 'hidden' "s/hidden: \[4\]/hidden: [$size]/"
done
with_recipe 2 'batch' 's/batch: 16/batch: 99999999999999999999999999/'
with_recipe 2 'seed.*twice' 's/^seed: 3/seed: 3\nseed: 4/'
with_recipe 2 'target' 's/target: y/target: z/'
with_recipe 2 'reprise' 's/^reprise: 1/reprise: 99/'
with_recipe 2 'bad.yaml' 's/^reprise: 1/reprise: 1\nx: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]/'
with_recipe 2 'bad.yaml' '2s/.*/\tname: tab/'
with_recipe 2 'bad.yaml' 's/^seed: 3/seed: \&a 3/'
head -c 200000 /dev/zero | tr '\0' '[' >bad.yaml
run 2 'bad.yaml' bad.yaml
: >bad.yaml
run 2 'bad.yaml' bad.yaml
head -c 4096 "$reprise" >bad.yaml
run 2 'bad.yaml' bad.yaml
head -c 2000000 /dev/zero | tr '\0' '#' >bad.yaml
run '[12]' 'bad.yaml' bad.yaml

# ---- keys ----
openssl genrsa -out rsa.pem 2048 2>"$log/err"
openssl rsa -in rsa.pem -pubout -out rsa.pub.pem 2>"$log/err"
openssl ecparam -name secp256k1 -genkey -noout -out koblitz.pem
echo 'a phrase' >phrase.txt
echo 'another' >wrong.txt
: >empty.txt
"$reprise" keygen locked --passphrase-file phrase.txt >"$log/out"
sign() { fails "$1" "$2" "$reprise" run small.yaml -o out.reprise --key "${@:3}"; }
sign 2 'rsa.pem: a key of type RSA, expected ECDSA P-256' rsa.pem
sign 2 'koblitz.pem: .*secp256k1.*expected' koblitz.pem
sign 2 'me.pub.pem: found PUBLIC KEY' me.pub.pem
sign 2 'data.csv: found no PEM' data.csv
sign 1 'nothing.pem: cannot open' nothing.pem
sign 2 'locked.pem: .*encrypted.*--passphrase-file' locked.pem
sign 2 'locked.pem: .*passphrase' locked.pem --passphrase-file wrong.txt
sign 2 'empty.txt: expected a passphrase' locked.pem --passphrase-file empty.txt
sign 1 'nothing.txt: cannot open' locked.pem --passphrase-file nothing.txt
fails 2 'empty.txt: expected a passphrase' "$reprise" keygen new --passphrase-file empty.txt
fails 2 'rsa.pub.pem: a key of type RSA' "$reprise" verify a.reprise --trust rsa.pub.pem
fails 2 'me.pem: found .*PRIVATE KEY' "$reprise" verify a.reprise --trust me.pem

# ---- archives ----
broken() { # CODE PATTERN FILE: refused by everything that opens archives
    fails "$1" "$2" "$reprise" verify "$3" --trust me.pub.pem
    fails "$1" "$2" "$reprise" verify "$3" --allow-unsigned
    fails "$1" "$2" "$reprise" replay "$3"
    fails "$1" "$2" "$reprise" inspect "$3"
    fails "$1" "$2" "$reprise" diff a.reprise "$3"
    fails "$1" "$2" "$reprise" predict "$3" --csv data.csv -o p.csv
}
size=$(stat -c %s b.reprise)
: >x.reprise
broken 4 'x.reprise: ' x.reprise
for length in 1 511 512 1024 $((size / 2)) $((size - 512)) $((size - 1)); do
    head -c "$length" b.reprise >x.reprise
    fails 4 'x.reprise: ' "$reprise" verify x.reprise --allow-unsigned
done
broken 4 'x.reprise: ' x.reprise
{ cat b.reprise; printf x; } >x.reprise
broken 4 'x.reprise: ' x.reprise
{ cat b.reprise; head -c 512 /dev/zero; } >x.reprise
broken 4 'x.reprise: ' x.reprise
cat b.reprise b.reprise >x.reprise
broken 4 'x.reprise: ' x.reprise
broken 4 'data.csv: ' data.csv
sed 's/^0,[^,]*/0,7777/' b.reprise | head -c "$size" >x.reprise
broken 4 'x.reprise: ' x.reprise

# members two and three change places
blocks() { echo $((1 + ($1 + 511) / 512)); }
read -r first second third <<<"$("$reprise" inspect b.reprise | awk '/^ +[0-9]+  /{ printf "%s ", $1 }' |
    cut -d' ' -f1-3)"
n1=$(blocks "$first") n2=$(blocks "$second") n3=$(blocks "$third")
part() { dd if=b.reprise bs=512 skip="$1" ${2:+count="$2"} 2>"$log/err"; }
{ part 0 "$n1"; part $((n1 + n2)) "$n3"; part "$n1" "$n2"; part $((n1 + n2 + n3)); } >x.reprise
checks=$((checks + 1))
[ "$(stat -c %s x.reprise)" -eq "$size" ] || bad "the reordered archive has another size"
broken 4 'x.reprise: ' x.reprise

# a newer contract or format: well formed, but not for this build
sed '0,/"contract":1/s//"contract":2/' b.reprise >x.reprise
broken 5 'contract.*2' x.reprise
sed '0,/"format":1/s//"format":2/' b.reprise >x.reprise
broken 5 'format.*2' x.reprise
# manifests with duplicate keys, and huge numbers
sed '0,/"contract":1,"format":1/s//"format":1,"format":1  /' b.reprise >x.reprise
broken 4 'x.reprise: .*manifest' x.reprise
sed '0,/"size":[1-9]/s//"size":e/' b.reprise >x.reprise
broken 4 'x.reprise: .*manifest' x.reprise
for bad in "$source_dir"/tests/fuzz/corpus/archive/bad-*.reprise; do
    fails '[45]' '^reprise: ' "$reprise" inspect "$bad"
done

# ---- where nothing can be written ----
for command in "run small.yaml -o full.reprise" "verify a.reprise --trust me.pub.pem" "replay a.reprise" doctor help \
    "inspect a.reprise" "inspect a.reprise --member data/raw.csv" "diff a.reprise b.reprise" "run --help" --version; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    "$reprise" $command >/dev/full 2>"$log/err"
    code=$?
    { [ $code -eq 1 ] && [ "$(wc -l <"$log/err")" -eq 1 ]; } || bad "full stdout: exit $code: $command"
    checks=$((checks + 1))
    rm -f full.reprise
    # shellcheck disable=SC2086
    "$reprise" $command >&- 2>"$log/err"
    code=$?
    { [ $code -eq 1 ] && [ "$(wc -l <"$log/err")" -eq 1 ]; } || bad "closed stdout: exit $code: $command"
    rm -f full.reprise
done
# a limit on file size acts as a full disk, root or not
rows 3000 >large.csv
recipe large.yaml large.csv
mkdir l
cp large.csv l
recipe l/large.yaml large.csv
fails 1 'large.reprise|File too large' bash -c \
    "trap '' XFSZ; ulimit -f 32; exec '$reprise' run large.yaml -o large.reprise"
fails 1 'File too large' bash -c "trap '' XFSZ; ulimit -f 1; exec '$reprise' predict a.reprise --csv large.csv -o p.csv"
fails 1 'File too large' bash -c \
    "trap '' XFSZ; ulimit -f 1; exec '$reprise' inspect b.reprise --member data/raw.csv -o raw"
fails 1 'File too large' bash -c "trap '' XFSZ; ulimit -f 32; exec '$reprise' golden record l"
mkdir disk
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k none disk 2>"$log/err"; then
    unmount=$work/disk
    fails 1 'No space left' "$reprise" run large.yaml -o disk/large.reprise
    head -c 100000 /dev/zero >disk/fill 2>"$log/err"
    fails 1 'No space left' "$reprise" predict a.reprise --csv large.csv -o disk/p.csv
    fails 1 'No space left' "$reprise" keygen disk/me
    fails 1 'No space left' "$reprise" inspect a.reprise --member data/raw.csv -o disk/raw
    umount disk && unmount=
else
    skip "no small tmpfs can be mounted: the full disk is only a file size limit"
fi

# ---- empty files where keys and certificates belong, outputs that are no files, text that turns ----
: >empty.pem
for option in trust ca tsa; do
    fails 2 'empty.pem: empty, expected' "$reprise" verify a.reprise --allow-unsigned --$option empty.pem
done
fails 2 'empty.pem: empty, expected' "$reprise" sign a.reprise --key empty.pem
mkfifo out.pipe
fails 2 'out.pipe: is not a regular file' "$reprise" report a.reprise -o out.pipe --force
holds "the pipe is there still" test -p out.pipe
rm out.pipe
# a private key whose public half is another's: what it signs nobody could verify
openssl ecparam -name prime256v1 -genkey -noout -out one.key && openssl ecparam -name prime256v1 -genkey -noout \
    -out two.key
python3 - <<'PY' 2>"$log/err" && {
import re, subprocess
def der(path):
    command = ['openssl', 'ec', '-in', path, '-outform', 'DER']
    return bytearray(subprocess.run(command, capture_output=True, check=True).stdout)
one, two = der('one.key'), der('two.key')
one[-65:] = two[-65:]
open('mixed.der', 'wb').write(one)
subprocess.run(['openssl', 'asn1parse', '-inform', 'DER', '-in', 'mixed.der'], check=True, capture_output=True)
import base64
text = base64.b64encode(bytes(one)).decode()
lines = ['-----BEGIN EC PRIVATE KEY-----'] + re.findall('.{1,64}', text) + ['-----END EC PRIVATE KEY-----', '']
open('mixed.pem', 'w').write('\n'.join(lines))
PY
    fails 2 'private half does not belong to its public half' "$reprise" sign a.reprise --key mixed.pem
}
sed 's/^name:.*/name: "safe \\u202Eeslaf\\u202C"/' small.yaml >turned.yaml
"$reprise" run turned.yaml -o turned.reprise >/dev/null
works '^run +recipe: safe \?eslaf\?' "$reprise" inspect turned.reprise

# ---- where permission is missing ----
user="env"
[ "$(id -u)" -ne 0 ] || user="setpriv --reuid 65534 --regid 65534 --clear-groups"
chmod 755 "$scratch" "$work"
# shellcheck disable=SC2086
if $user test -x "$reprise" 2>"$log/err"; then
    cp data.csv secret.csv
    recipe secret.yaml secret.csv
    cp a.reprise secret.reprise
    chmod 000 secret.csv secret.reprise
    mkdir open closed
    chmod 777 open
    chmod 555 closed
    # shellcheck disable=SC2086
    {
        fails 1 'secret.csv: cannot open: Permission' $user "$reprise" run secret.yaml -o open/out.reprise
        fails 1 'secret.reprise: cannot open: Permission' $user "$reprise" replay secret.reprise
        fails 1 'closed.*Permission' $user "$reprise" run small.yaml -o closed/out.reprise
        fails 1 'closed/.*Permission' $user "$reprise" keygen closed/me
        fails 1 'me.pem: cannot open: Permission' $user "$reprise" run small.yaml -o open/out.reprise --key me.pem
    }
    if [ "$(id -u)" -eq 0 ]; then
        # in a folder like /tmp nobody replaces files of others: whichever of a pair that is, the pair stays
        mkdir sticky
        chmod 1777 sticky
        for half in pem pub.pem; do
            cp me.pem sticky/me.pem
            cp me.pub.pem sticky/me.pub.pem
            chown 65534 sticky/me.pem sticky/me.pub.pem
            chown 0 "sticky/me.$half"
            # shellcheck disable=SC2086
            fails 1 "sticky/me.$half: cannot replace it" $user "$reprise" keygen sticky/me --force
        done
    fi
else
    skip "no other user can run the program: permissions are not tested"
fi

finish
