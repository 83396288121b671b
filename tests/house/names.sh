#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every test, file and link that COMPLIANCE.md cites exists. Usage: names.sh SOURCE_DIR
set -euo pipefail
cd "$1"
failed=0
# `name, name` (test_area): each name is a test of that file or of another one
for name in $(grep -o '`[a-z0-9_]*`' COMPLIANCE.md | tr -d '`' | grep -E '^[a-z0-9]+(_[a-z0-9]+){3,}$' | sort -u); do
    grep -rqw "$name" tests core audit kernels determinism include ||
        { echo "COMPLIANCE.md cites $name, which does not exist"; failed=1; }
done
for path in $(grep -ohE '`(base|determinism|kernels|core|audit|cli|tests|golden|examples|docs)/[A-Za-z0-9_./-]+`' \
    COMPLIANCE.md README.md | tr -d '`' | sort -u); do
    [ -e "$path" ] || { echo "cited path $path does not exist"; failed=1; }
done
for file in README.md COMPLIANCE.md CHANGELOG.md SECURITY.md docs/*.md; do
    for link in $(grep -oE '\]\([^)#]+' "$file" | cut -c3- | grep -v '^http' || true); do
        [ -e "$(dirname "$file")/$link" ] || { echo "$file links to $link, which does not exist"; failed=1; }
    done
done
[ $failed -eq 0 ] && echo "all cited names exist"
exit $failed
