#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A build whose kernels fail their conformance vectors (nonconforming.c) signs nothing, checks no golden and replays
# nothing unless told otherwise, and what it signs then says so and meets no policy. Usage: cli_conformance.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
source "$(dirname "$0")/cli_lib.sh" "$1"
wrong=$build/tests/reprise_nonconforming

rows 60 >data.csv
recipe a.yaml
"$reprise" keygen me >/dev/null
"$reprise" keygen val >/dev/null
printf '%s\n' 'policy: 1' 'groups: {b: [me.pub.pem], v: [val.pub.pem]}' 'builder: {of: b}' \
    'replay: {mode: full, by: v}' 'conformant: true' >p.yaml
refused='do not conform on this host: .*matmul f32.*--allow-nonconforming'
fails 5 "$refused" "$wrong" run a.yaml -o w.reprise --key me.pem
holds 'nothing was written' test ! -e w.reprise
works '^archive' "$wrong" run a.yaml -o unsigned.reprise
works '^archive' "$wrong" run a.yaml -o w.reprise --key me.pem --allow-nonconforming
works 'does not say that its kernels conformed' "$reprise" verify w.reprise --trust me.pub.pem
works '"conforms":false,"device":null,"key_id"' "$reprise" verify w.reprise --trust me.pub.pem --json
gives 4 '^unmet +conformant: .*does not say so' "$reprise" verify w.reprise --policy p.yaml
works '^archive' "$reprise" run a.yaml -o a.reprise --key me.pem
gives 4 '^met +conformant: .*says so' "$reprise" verify a.reprise --policy p.yaml
fails 5 "$refused" "$wrong" replay a.reprise --attest --key val.pem
fails 5 "$refused" "$wrong" replay a.reprise
works '^attested' "$wrong" replay a.reprise --attest --key val.pem --allow-nonconforming
gives 4 '^unmet +replay\[0\]: .*kernels that do not conform' "$reprise" verify a.reprise --policy p.yaml
works '^attested' "$reprise" replay a.reprise --attest --key val.pem
works '^verified' "$reprise" verify a.reprise --policy p.yaml
mkdir goldens
cp a.yaml data.csv goldens
works . "$reprise" golden record goldens
fails 5 "$refused" "$wrong" golden check goldens
works '^same bits' "$wrong" golden check goldens --allow-nonconforming
works '^same bits' "$reprise" golden check goldens
finish
