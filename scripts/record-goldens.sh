#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records the golden archives again, and the run that audit/FORMAT.md 14 shows. Usage: scripts/record-goldens.sh REASON.
# golden/README.md says when that is right.
set -eu
[ $# -eq 1 ] || { echo "usage: scripts/record-goldens.sh REASON" >&2; exit 2; }
cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
cmake --build build/release --target reprise_cli branch >/dev/null
rm -f golden/branch.reprise
build/release/examples/branch golden/branch.reprise
build/release/cli/reprise golden record golden --force --reason "$1"
scripts/worked-run.py build/release/cli/reprise --record
