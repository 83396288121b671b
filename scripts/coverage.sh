#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Line and branch coverage of a layer by the tests, with gcc's own gcov: a row a file, and the sum. Exit 1 under 95 % of
# lines or 85 % of branches. Usage: scripts/coverage.sh [LAYER] [--tests REGEX] [--jobs J] [--missed FILE]
#   LAYER     audit by default; only it is compiled for counting, without optimisation (build/coverage)
#   --tests   the tests of ctest to run; by default all quick ones but, for audit, the programs that know only layers
#             below it
#   --missed  lists the lines and branches that nothing reached
set -euo pipefail
cd "$(dirname "$0")/.."
layer=audit jobs=$(nproc) tests=. missed=/dev/null
while [ $# -gt 0 ]; do
    case $1 in
        --tests) tests=$2; shift ;;
        --jobs) jobs=$2; shift ;;
        --missed) missed=$2; shift ;;
        --*) echo "coverage: unknown option $1" >&2; exit 2 ;;
        *) layer=$1 ;;
    esac
    shift
done
log=build/coverage.log
mkdir -p build
skipped='^$'
if [ "$layer" = audit ] && [ "$tests" = . ]; then # test programs that include nothing of it, by name or by a sample
    includes='"(audit/|rp/(rp|archive|audit|log|policy|statement|trust)\.h'
    includes+='|tests/[a-z/]*(small_job|sweep|archive_sample|log_sample)\.h)'
    skipped=$(grep -LE "$includes" $(find tests -name "test_*.c") | sed 's|.*/\(.*\)\.c$|\1|' | paste -sd '|')
    skipped="^($skipped)(_[a-z0-9]+)?\$"
fi
# All but the layer is built as it is released: a compiler cache has it already, and the tests of kernels take their
# usual time.
cmake -S . -B build/coverage -G Ninja -DRP_CUDA=OFF -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc \
    -DRP_COVERAGE="$layer" >$log 2>&1
targets=all
if [ "$tests" != . ]; then # of the tests that are chosen, and what the scripts among them run
    mapfile -t targets < <(ctest --test-dir build/coverage -N -R "$tests" -LE slow |
        sed -n 's/.*Test *#[0-9]*: //p' | sed 's/_corpus$//' |
        while read -r name; do [ -z "$(find tests -name "$name.c")" ] || echo "$name"; done)
    targets+=(reprise_cli)
fi
cmake --build build/coverage -j "$jobs" --target "${targets[@]}" >>$log 2>&1 || { tail -30 $log >&2; exit 2; }
find build/coverage -name '*.gcda' -delete
ctest --test-dir build/coverage -j "$jobs" -R "$tests" -E "$skipped" -LE slow >>$log 2>&1 ||
    echo "coverage: some tests failed, see $log (install and cli_bad_input do, at what gcov exports and prints)" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
objects=$PWD/build/coverage/$layer/CMakeFiles/rp_$layer.dir
(cd "$work" && find "$objects" -name '*.gcda' -exec gcov --json-format --branch-probabilities \
    --object-directory "$objects" {} + >/dev/null 2>&1) || true
python3 - "$work" "$PWD/$layer/" "$missed" <<'PY'
import glob, gzip, json, os, sys
work, layer, missed = sys.argv[1:]
line, branch = {}, {}
for path in glob.glob(work + '/*.gcov.json.gz'):
    data = json.load(gzip.open(path))
    for file in data['files']:
        name = os.path.normpath(os.path.join(data['current_working_directory'], file['file']))
        if not name.startswith(layer):
            continue
        name = name[len(layer):]
        for l in file['lines']:
            key = (name, l['line_number'])
            line[key] = line.get(key, 0) + l['count']
            for i, b in enumerate(l['branches']):
                branch[key + (i,)] = branch.get(key + (i,), 0) + b['count']
for path in sorted(glob.glob(layer + '**/*.c', recursive=True)): # a file that no test ran counts too
    if not any(k[0] == os.path.relpath(path, layer) for k in line):
        print('coverage: no counts of', os.path.basename(path), file=sys.stderr)
def share(counts, name=None):
    mine = [c > 0 for k, c in counts.items() if name in (None, k[0])]
    return sum(mine), len(mine)
def text(done, all_):
    return f'{done:6d} / {all_:5d} {100 * done / all_ if all_ else 100:6.1f} %'
print(f'{"file":28s} {"lines":>25s} {"branches":>25s}')
for name in sorted({k[0] for k in line}):
    print(f'{name:28s} {text(*share(line, name)):>25s} {text(*share(branch, name)):>25s}')
lines, branches = share(line), share(branch)
print(f'{"all of it":28s} {text(*lines):>25s} {text(*branches):>25s}')
with open(missed, 'w') as out:
    for key in sorted(line):
        if not line[key]:
            print(f'{key[0]}:{key[1]}: line', file=out)
    for key in sorted(branch):
        if not branch[key] and line[key[:2]]:
            print(f'{key[0]}:{key[1]}: branch {key[2]}', file=out)
sys.exit(lines[0] < 0.95 * lines[1] or branches[0] < 0.85 * branches[1])
PY
