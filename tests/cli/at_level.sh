#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a command with RP_ISA set; exit 77 (skipped) where this host does not have the level.
# Usage: at_level.sh REPRISE LEVEL COMMAND...
reprise=$1
level=$2
shift 2
if ! RP_ISA=$level "$reprise" doctor >/dev/null 2>&1; then
    echo "skipped: this host has no kernel level $level"
    exit 77
fi
RP_ISA=$level exec "$@"
