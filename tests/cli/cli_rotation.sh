#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Keys that hand over to their successors: what counts before and after, chains of hand-overs, and forged ones.
# Usage: tests/cli/cli_rotation.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"
# shellcheck source=tests/cli/pki.sh
. "$source_dir/tests/cli/pki.sh"

rows 60 >data.csv
recipe small.yaml
echo horse >secret
"$reprise" keygen a --passphrase-file secret >/dev/null
"$reprise" keygen stranger >/dev/null
"$reprise" run small.yaml -o a.reprise --key a.pem --passphrase-file secret >/dev/null

fails 2 'encrypted and no passphrase' "$reprise" keygen b --rotate a.pem
fails 2 'of use only with --rotate' "$reprise" keygen b --from 2030-01-01T00:00:00Z
fails 2 'not a time' "$reprise" keygen b --rotate a.pem --rotate-passphrase-file secret --from 2030-01-01
fails 2 'leave out --force' "$reprise" keygen a --rotate a.pem --force
works '^hand-over +b.rotation.json' "$reprise" keygen b --rotate a.pem --rotate-passphrase-file secret \
    --from 2026-01-01T00:00:00Z
fails 2 'already exists' "$reprise" keygen b --rotate a.pem --rotate-passphrase-file secret
works '"rotation":"c.rotation.json"' "$reprise" keygen c --rotate b.pem --from 2026-06-01T00:00:00Z --json
works '^hand-over' "$reprise" keygen late --rotate stranger.pem --from 2090-01-01T00:00:00Z
for key in b c late; do "$reprise" run small.yaml -o $key.reprise --key $key.pem >/dev/null; done

# ---- the successor ----
fails 4 'not among the 1 trusted' "$reprise" verify b.reprise --trust a.pub.pem
works '^succession +successor of key [0-9a-f]{16}... at .*now' "$reprise" verify b.reprise --trust a.pub.pem \
    --rotation b.rotation.json
works '"rotation":true' "$reprise" verify b.reprise --trust a.pub.pem --rotation b.rotation.json --json
fails 4 'only from 2026-01-01T00:00:00Z on' "$reprise" verify b.reprise --trust a.pub.pem --rotation b.rotation.json \
    --at 2025-12-31T23:59:59Z
works '^succession' "$reprise" verify b.reprise --trust a.pub.pem --rotation b.rotation.json --at 2026-01-01T00:00:00Z
fails 4 'only from 2090' "$reprise" verify late.reprise --trust stranger.pub.pem --rotation late.rotation.json
for order in 'b c' 'c b'; do # a chain of two, in whatever order they are given
    # shellcheck disable=SC2046
    works '^succession' "$reprise" verify c.reprise --trust a.pub.pem $(printf -- '--rotation %s.rotation.json ' $order)
done
fails 4 'c.rotation.json: handed over by a key that is not trusted' "$reprise" verify c.reprise --trust a.pub.pem \
    --rotation c.rotation.json
fails 4 'b.rotation.json: handed over by a key that is not trusted' "$reprise" verify b.reprise \
    --trust stranger.pub.pem --rotation b.rotation.json
works '^verified' "$reprise" verify b.reprise --trust b.pub.pem

# ---- the one that handed over ----
works 'nothing shows that this was signed before' "$reprise" verify a.reprise --trust a.pub.pem \
    --rotation b.rotation.json
works '^succession +key .*given' "$reprise" verify a.reprise --trust a.pub.pem --rotation b.rotation.json \
    --at 2025-06-01T00:00:00Z
fails 4 'handed over on 2026-01-01T00:00:00Z: it signs no more' "$reprise" verify a.reprise --trust a.pub.pem \
    --rotation b.rotation.json \
    --at 2026-01-01T00:00:00Z
fails 4 'it signs no more' "$reprise" verify b.reprise --trust a.pub.pem --rotation b.rotation.json \
    --rotation c.rotation.json \
    --at 2026-07-01T00:00:00Z
if command -v openssl >/dev/null; then
    root tsaroot
    issue tsa tsaroot "$tsa_extensions"
    "$reprise" timestamp request a.reprise -o a.tsq >/dev/null
    answer tsa a.tsq a.tsr
    "$reprise" timestamp attach a.reprise a.tsr >/dev/null
    # anyone can have an old statement dated anew: a late date must not spoil it, and shows no more than none
    works 'nothing shows that this was signed before' "$reprise" verify a.reprise --trust a.pub.pem \
        --rotation b.rotation.json --tsa tsaroot.pem
    "$reprise" keygen next --rotate a.pem --rotate-passphrase-file secret --from 2090-01-01T00:00:00Z >/dev/null
    works '^succession +key .*when it was dated' "$reprise" verify a.reprise --trust a.pub.pem \
        --rotation next.rotation.json --tsa tsaroot.pem
fi

# ---- forged and damaged ----
sed 's/"keyid":"[0-9a-f]*"/"keyid":"'"$("$reprise" keygen d --json | grep -o '"key_id":"[0-9a-f]*' |
    cut -d'"' -f4)"'"/' \
    b.rotation.json >forged.json
fails 4 'signature is wrong' "$reprise" verify b.reprise --trust d.pub.pem --rotation forged.json
tar -xOf a.reprise signatures/run.dsse.json >statement.json
fails 4 'not a hand-over' "$reprise" verify a.reprise --trust a.pub.pem --rotation statement.json
head -c 300 b.rotation.json >short.json
fails 4 'short.json' "$reprise" verify b.reprise --trust a.pub.pem --rotation short.json
{ cat b.rotation.json; echo; } >newline.json
fails 4 'newline.json' "$reprise" verify b.reprise --trust a.pub.pem --rotation newline.json
for at in 20 200 400 600; do
    cp b.rotation.json flipped.json
    printf '#' | dd of=flipped.json bs=1 seek=$at conv=notrunc 2>/dev/null
    fails 4 'flipped.json' "$reprise" verify b.reprise --trust a.pub.pem --rotation flipped.json
done

finish
