#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records the golden archives and the ids of the zoo's again, and the run that audit/FORMAT.md 14 shows.
# Usage: scripts/record-goldens.sh REASON.
# golden/README.md says when that is right.
set -eu
[ $# -eq 1 ] || { echo "usage: scripts/record-goldens.sh REASON" >&2; exit 2; }
cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
zoo=$(cd examples/zoo && ls ./*.c | sed 's|./\(.*\)\.c|zoo_\1|')
cmake --build build/release --target reprise_cli branch $zoo >/dev/null
rm -f golden/branch.reprise
build/release/examples/branch golden/branch.reprise
scripts/record-zoo.sh build/release >golden/zoo.txt
build/release/cli/reprise golden record golden --force --reason "$1"
scripts/worked-run.py build/release/cli/reprise --record
