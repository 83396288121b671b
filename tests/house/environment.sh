#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that want Python packages, which have set python and venv. environment MARK PACKAGE...: where
# $venv/MARK is not there, makes $venv anew with these. Fails, with $venv.log, where that cannot be. pip: the host's
# where it can install elsewhere, since one of the environment's own takes longer than it is used for. Nothing is
# compiled but what the tests import, at its first import: of all that is installed that is little.
# shellcheck disable=SC2154 # python and venv are the sourcing script's
own=
"$python" -c 'import sys, pip
sys.exit(tuple(int(n) for n in pip.__version__.split(".")[:2]) < (22, 3))' 2>/dev/null || own=1
pip() {
    if [ -n "$own" ]; then "$venv/bin/pip" "$@"; else "$python" -m pip --python "$venv/bin/python" "$@"; fi
}
environment() {
    local mark=$1
    shift
    [ ! -e "$venv/$mark" ] || return 0
    rm -rf "$venv"
    # shellcheck disable=SC2046
    "$python" -m venv $([ -n "$own" ] || echo --without-pip) "$venv" >"$venv.log" 2>&1 &&
        pip install -q --disable-pip-version-check --no-compile "$@" >>"$venv.log" 2>&1 &&
        touch "$venv/$mark"
}
