#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs killed at random moments (SIGKILL, now and then SIGINT) and resumed until they are through, over recipes with
# whole and rolling digests, checkpoints, convolutions, large states and a parent: every archive is the file that an
# uninterrupted run makes, and at no time is there one under the final name that is not. Usage: tests/cli/kill_resume.sh
# BUILD_DIR [KILLS] [SEED]; ctest has few kills, `tests/cli/kill_resume.sh build/release 200` is the whole of it. In
# memory where that can be had: what a kill leaves is the same, and fsync does not decide where most kills hit.
[ -w /dev/shm ] && export TMPDIR=${TMPDIR:-/dev/shm}
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/cli_lib.sh"

kills=${2:-10}
RANDOM=${3:-1}
rows 400 >data.csv
recipe whole.yaml data.csv 12
recipe rolling.yaml data.csv 12 'record: {state_period: 3, checkpoint_every: 40}'
sed -i 's/hidden: .*/hidden: [48, 48]\n  dropout: 0.2/' rolling.yaml
recipe every.yaml data.csv 3 'record: {checkpoint_every: 1}'
cp "$source_dir/golden/image.csv" .
sed 's/epochs: [0-9]*/epochs: 12/' "$source_dir/golden/image.yaml" >image.yaml
echo 'record: {checkpoint_every: 30}' >>image.yaml
recipe large.yaml data.csv 2 # states large enough to be hashed beside the next step
sed -i 's/hidden: .*/hidden: [256, 192]/' large.yaml
recipe child.yaml data.csv 60
printf 'parent: {archive: whole.right, mode: continue}\n' >>child.yaml
all='whole rolling every image large child'

# Milliseconds that the whole run takes while it makes a point at every chance.
declare -A took
for name in $all; do
    holds "$name runs through" "$reprise" run $name.yaml -o $name.right --save-every 0
    start=${EPOCHREALTIME/./}
    works '^saved ' "$reprise" run $name.yaml -o again.reprise --save-every 0.001
    took[$name]=$(((${EPOCHREALTIME/./} - start) / 1000 + 1))
    holds "$name: points change no byte" cmp $name.right again.reprise
    holds "$name: points are gone" test ! -e again.reprise.resume
    rm -f again.reprise
done

shell=$(readlink /proc/$$/exe)
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# That an interrupt leaves a point and a run goes on from it is sure, whatever the random signals hit. The run is long,
# the signal comes when its first step is done, which the size of its spool shows, and what came too soon or too late
# for that is made again.
recipe long.yaml data.csv 3000
holds "the long run runs through" "$reprise" run long.yaml -o long.right --save-every 0
stepping() { # pid: whether something is in its spool, which has no name
    local file
    for file in /proc/"$1"/fd/*; do
        [[ $(readlink "$file" 2>/dev/null) == *deleted* ]] && [ "$(stat -L -c %s "$file" 2>/dev/null ||
            echo 0)" -gt 0 ] &&
            return 0
    done
    return 1
}
for ((tries = 0; tries < 20; tries++)); do
    rm -rf out.reprise out.reprise.resume
    "$reprise" run long.yaml -o out.reprise --save-every 1000 >"$log/out" 2>"$log/err" &
    pid=$!
    until stepping $pid || ! kill -0 $pid 2>/dev/null; do :; done
    kill -INT $pid 2>/dev/null
    code=0
    wait $pid 2>/dev/null || code=$?
    ! grep -q 'goes on from there' "$log/err" || break
done
holds "an interrupted run says that it can go on" grep -q \
    'interrupted at step [0-9]* of [0-9]*: --resume goes on from there' "$log/err"
holds "an interrupt leaves a point" bash -c "ls out.reprise.resume/point-*[0-9]"
works '^resumed +after step [1-9]' "$reprise" run long.yaml -o out.reprise --resume
holds "the resumed run's archive is the same" cmp long.right out.reprise
rm -rf out.reprise out.reprise.resume

killed=0 stopped=0 resumed=0 through=0
# On until enough were killed and one was resumed at its end, for which a quick or busy machine may want more turns.
for ((turn = 0; failures == 0 && (killed < kills || (resumed == 0 && turn < 40)); turn++)); do
    for name in $all; do
        tries=0
        while :; do
            signal=KILL
            [ $((RANDOM % 8)) -ne 0 ] || signal=INT
            "$reprise" run $name.yaml -o out.reprise --resume --save-every 0.001 --threads $((RANDOM % 2 + 1)) \
                >"$log/out" 2>"$log/err" &
            pid=$!
            # Before that it is this shell, which must not take the signal.
            until [ "$(readlink /proc/$pid/exe 2>/dev/null)" != "$shell" ]; do :; done
            # The first half of the tries anywhere in the run; then with more time, so that it comes to an end.
            pause $((RANDOM * (took[$name] * (6 + tries) / 10) / 32768))
            kill -$signal $pid 2>/dev/null
            code=0
            wait $pid 2>/dev/null || code=$?
            tries=$((tries + 1))
            if [ -e out.reprise ]; then
                checks=$((checks + 1))
                cmp -s $name.right out.reprise || bad "$name: another file under the final name after $tries tries"
            fi
            case $code in
            0) break ;;
            137) killed=$((killed + 1)) ;;
            130)
                stopped=$((stopped + 1))
                if grep -q 'goes on from there' "$log/err" && [ ! -e out.reprise.resume/spool ]; then
                    bad "$name: interrupted, and no point"
                fi
                ;;
            2)
                # killed when the archive had its name and the points were being removed: the name is taken
                { [ -e out.reprise ] && grep -q 'already exists' "$log/err"; } || bad "$name: exit 2 after $tries tries"
                break
                ;;
            *) bad "$name: exit $code after $tries tries"; break ;;
            esac
            if [ -e out.reprise ] && [ ! -e out.reprise.resume ]; then
                break # killed when all was done
            fi
            [ $tries -lt 200 ] || { bad "$name: never comes to an end"; break; }
        done
        grep -q '^resumed ' "$log/out" && resumed=$((resumed + 1))
        through=$((through + 1))
        holds "$name: the archive verifies" "$reprise" verify out.reprise --allow-unsigned
        holds "$name: resume points are gone" test ! -e out.reprise.resume
        rm -rf out.reprise out.reprise.resume out.reprise.tmp-*
    done
done
holds "some runs were resumed at their end" test $resumed -gt 0
echo "$killed times killed, $stopped times interrupted, $through runs came through, $resumed of them resumed at "\
"their end"
finish
