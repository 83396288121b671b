#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program of clang's address sanitizer guards the library's globals, not only its own: the sanitizer is told of
# several thousand. Usage: guarded_globals.sh PROGRAM
count=$(ASAN_OPTIONS=report_globals=2 "$1" --version 2>&1 | grep -c 'Added Global')
echo "$count globals"
[ "$count" -gt 5000 ]
