#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The pinned profile through the command, with the stand-in library on the emulated device: what is recorded, where it
# is refused, what an edited archive comes to, and every call of the library failing once. Usage: pinned.sh REPRISE
# REPRISE_VERIFY SOURCE_DIR OTHER_LIBRARY OLD_LIBRARY, with RP_EMULATED_LIBRARY naming the device.
set -euo pipefail
reprise=$1 verify=$2 source=$3 other=$4 old=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0 done=0
unset CUBLAS_WORKSPACE_CONFIG RP_CUBLASLT_LIBRARY

# expect CODE TEXT COMMAND...: the exit code, and a piece of what is said
expect() {
    local code=$1 text=$2 got=0
    shift 2
    "$@" >log 2>&1 || got=$?
    done=$((done + 1))
    if [ "$got" != "$code" ] || ! grep -qF -- "$text" log; then
        echo "FAIL: expected $code and \"$text\", found $got: $*"
        tail -5 log
        failed=$((failed + 1))
    fi
}
differ() { # FILE FILE: their final weights
    "$reprise" inspect "$1" --member weights/final.safetensors -o a.bin --force >log
    "$reprise" inspect "$2" --member weights/final.safetensors -o b.bin --force >log
    ! cmp -s a.bin b.bin
}
edited() { # EDIT [FILE]: pinned.reprise or that one, edited
    rm -f edited.reprise
    python3 -B "$source/tests/emu/pinned/edit_archive.py" "${2:-pinned.reprise}" edited.reprise "$1"
}

head -120 "$source/examples/loans.csv" | cut -d, -f2-13 >mine.csv
recipe() { # PROFILE-LINES
    printf '%s\n' 'reprise: 1' 'seed: 1' 'data: {csv: mine.csv, target: default, positive: "yes"}' \
        'model: {hidden: [6]}' 'train: {epochs: 2, batch: 16, optimizer: {lr: 0.01}}' \
        'record: {checkpoint_every: 5}' "$@"
}
recipe >portable.yaml
recipe 'profile: pinned' 'pinned: {compute: f32}' >pinned.yaml
recipe 'profile: pinned' 'pinned: {compute: tf32, workspace: 1024}' >tf32.yaml
# The short test of the device is most of what a small run takes there: the first run has it, and the last error.
emulated='--device emulated --allow-nonconforming'
run="$reprise run pinned.yaml $emulated"

# what it makes
expect 0 '' "$reprise" run portable.yaml -o portable.reprise
expect 0 '' "$reprise" run pinned.yaml --device emulated -o pinned.reprise
to='stand-in 130000 on Emulated (4 multiprocessors)'
expect 0 "pinned      to $to: replayed there alone" \
    env RP_EMULATED_ORDER=1 $run -o again.reprise --threads 3 --isa ref
cmp pinned.reprise again.reprise || { echo "FAIL: threads or levels changed a pinned run"; failed=$((failed + 1)); }
expect 0 "\"pinned_to\":\"$to\"" "$reprise" run tf32.yaml $emulated -o tf32.reprise --json
differ portable.reprise pinned.reprise || { echo "FAIL: the library computed nothing"; failed=$((failed + 1)); }
differ tf32.reprise pinned.reprise || { echo "FAIL: tf32 is f32"; failed=$((failed + 1)); }
expect 0 'f32 products by stand-in 130000' "$reprise" inspect pinned.reprise
expect 0 '"profile":"pinned"' "$reprise" inspect pinned.reprise --json
expect 0 '' "$verify" verify pinned.reprise --allow-unsigned
expect 0 'to stand-in 130000 on Emulated (4 multiprocessors): replayed there alone' \
    "$reprise" verify pinned.reprise --allow-unsigned
expect 0 '"pinned_to":"stand-in 130000 on Emulated (4 multiprocessors)"' \
    "$reprise" verify pinned.reprise --allow-unsigned --json
expect 0 '' "$reprise" report pinned.reprise -o report.html
expect 0 'profile pinned' cat report.html
expect 0 'stand-in 130000 on Emulated (4 multiprocessors)' cat report.html
expect 0 '' "$reprise" predict pinned.reprise --csv mine.csv -o scores.csv
expect 0 'AUC' "$reprise" validate pinned.reprise --csv mine.csv
expect 5 'no drift is told from it' "$reprise" monitor pinned.reprise --csv mine.csv
expect 5 'names it as parent' "$reprise" retrain pinned.reprise --csv mine.csv -o none.reprise --device emulated
printf '%s\n' 'reprise: 1' 'data: {csv: mine.csv, target: default, positive: "yes"}' 'model: {hidden: [6]}' \
    'train: {epochs: 1, batch: 16}' 'parent: {archive: pinned.reprise}' >child.yaml
expect 5 'is not attempted here' "$reprise" run child.yaml -o none.reprise
expect 0 '' "$reprise" run child.yaml -o child.reprise $emulated

# where it is repeated, and where not
replay="$reprise replay pinned.reprise"
expect 0 "pinned      to $to: replayed there alone" $replay $emulated
expect 0 "\"pinned_to\":\"$to\"" $replay $emulated --steps 6:9 --json
expect 0 '' $replay $emulated --sample 50% --parallel 2
expect 5 'pinned to Emulated (4 multiprocessors) and stand-in 130000' $replay
expect 5 'device cpu has no library' $replay --steps 6:9
expect 5 '  what                  recorded         here' $replay
expect 5 '  chip.name             Emulated         none' $replay
expect 5 '  library.version       130000           none' $replay
row='{"here":"none","recorded":"stand-in","what":"library.name"}'
expect 5 "$row" $replay --json
expect 5 '"host":null' $replay $emulated --max-work 1 --json
expect 5 '  library.version  130000           130001' env RP_CUBLASLT_LIBRARY="$other" $replay $emulated
expect 5 '"host":[{"here":"' env RP_CUBLASLT_LIBRARY="$other" $replay $emulated --json
expect 5 '{"here":"130001","recorded":"130000","what":"library.version"}]' \
    env RP_CUBLASLT_LIBRARY="$other" $replay $emulated --json
expect 5 '  profile  stand-in 130000 on Emulated (4 multiprocessors)  ' \
    env RP_CUBLASLT_LIBRARY=/none $replay $emulated
expect 5 '  chip.name             Emulated         none' "$reprise" diff pinned.reprise tf32.reprise
expect 5 'library.version: recorded 130000, here 130001' env RP_CUBLASLT_LIBRARY="$other" $replay $emulated
expect 5 'library.sha256: recorded' env RP_CUBLASLT_LIBRARY="$other" $replay $emulated --steps 6:9
expect 5 'CUBLAS_WORKSPACE_CONFIG: expected printable ASCII' env CUBLAS_WORKSPACE_CONFIG=$'bad\nvalue' \
    "$reprise" run pinned.yaml -o other.reprise $emulated
expect 5 'CUBLAS_WORKSPACE_CONFIG: recorded not set, here :16:8' \
    env CUBLAS_WORKSPACE_CONFIG=:16:8 $replay $emulated
for variable in CUBLAS_EMULATE_SINGLE_PRECISION CUBLAS_EMULATE_DOUBLE_PRECISION CUBLAS_EMULATION_STRATEGY \
    CUBLASLT_HEURISTICS_LUT_FILE NVIDIA_TF32_OVERRIDE; do
    expect 5 "$variable=1, which changes" env $variable=1 $run -o none.reprise
done
expect 3 '' "$reprise" diff pinned.reprise tf32.reprise --device emulated
expect 5 'is not attempted here' "$reprise" diff pinned.reprise tf32.reprise
expect 5 'has no library of matrix products' "$reprise" run pinned.yaml -o none.reprise
expect 5 'cuBLASLt is not here' env RP_CUBLASLT_LIBRARY=/none $run -o none.reprise
expect 5 'is cuBLASLt 120800: expected 13' env RP_CUBLASLT_LIBRARY="$old" $run -o none.reprise
expect 5 'lacks cublasLtCreate' env RP_CUBLASLT_LIBRARY="$RP_EMULATED_LIBRARY" $run -o none.reprise
expect 5 'keeps no resume points' $run -o none.reprise --resume
expect 5 'leave out --save-every' $run -o none.reprise --save-every 0.2
mkdir -m 700 none.reprise.resume && touch none.reprise.resume/point-000000000004
expect 2 'another run was interrupted there' $run -o none.reprise
expect 2 'add --resume to go on with it' "$reprise" run portable.yaml -o none.reprise --save-every 0
rm -r none.reprise.resume
recipe 'profile: pinned' 'pinned: {compute: bf16}' >bf16.yaml
expect 2 'pinned.compute: bf16: no matrix product' "$reprise" run bf16.yaml -o none.reprise $emulated
exact() { # COMPUTE
    recipe 'profile: pinned' "pinned: {compute: $1}" | sed '/^model/d; /^record/d; s/^train.*/train: {solver: exact}/'
}
exact f32 >exact32.yaml
exact f64 >exact64.yaml
expect 2 'those of an exact fit are f64' "$reprise" run exact32.yaml -o none.reprise $emulated
expect 0 '' "$reprise" run exact64.yaml -o exact64.reprise $emulated
expect 0 '"algorithm":' "$reprise" inspect exact64.reprise --member manifest.json
mkdir goldens && cp pinned.yaml mine.csv goldens
expect 0 '' "$reprise" golden record goldens --device emulated
expect 0 '' "$reprise" golden check goldens --device emulated
expect 5 'has no library' "$reprise" golden check goldens
rm -r goldens/*.reprise goldens/golden.json
expect 5 'goldens/pinned.yaml: profile pinned: device cpu has no library' "$reprise" golden record goldens

# which device an error, and which a figure, is of
expect 1 'the test of device emulated before anything is computed there: ' \
    env RP_PROVE=1 RP_EMULATED_FAIL=kernel:1:719 "$reprise" run portable.yaml -o none.reprise --device emulated
expect 0 '"device":"emulated-' "$reprise" bench --only 'matmul f32 32' --device emulated --json
expect 0 "of this CPU's fma" "$reprise" bench --only 'matmul f32 32' --device emulated

# policies
"$reprise" keygen me >/dev/null
expect 0 '' $run -o signed.reprise --key me.pem
printf '%s\n' 'policy: 1' 'groups: {builders: [me.pub.pem]}' 'builder: {of: builders}' >default.yaml
(cat default.yaml && echo 'profile: pinned') >taken.yaml
expect 4 'it is pinned' "$verify" verify signed.reprise --policy default.yaml
expect 0 'it is pinned to stand-in 130000 on Emulated' "$verify" verify signed.reprise --policy taken.yaml
(cat taken.yaml && echo 'conformant: true') >conformant.yaml
expect 0 'says so' "$verify" verify signed.reprise --policy conformant.yaml
expect 0 '' $run -o unsigned.reprise
for file in signed unsigned; do
    "$reprise" inspect $file.reprise --member manifest.json -o $file.json --force >log
done
cmp signed.json unsigned.json || { echo "FAIL: signing changed what a run is"; failed=$((failed + 1)); }

# who wants it to pass for another
edited portable
expect 4 'run.pinned: the profile is portable' "$reprise" verify edited.reprise --allow-unsigned
edited no_identity
expect 4 'the profile is pinned' "$reprise" verify edited.reprise --allow-unsigned
for edit in more negative short doubled; do
    edited $edit
    expect 4 'run.pinned' "$verify" verify edited.reprise --allow-unsigned
done
again="$reprise replay edited.reprise $emulated"
edited portable_whole
expect 4 'profile: pinned, but the manifest' $again
expect 4 'profile: pinned, but the manifest' "$verify" verify edited.reprise --allow-unsigned
edited portable_recipe
expect 3 '' $again
expect 3 '' "$reprise" replay edited.reprise
for edit in compute recipe_compute recipe_workspace; do
    edited $edit
    expect 4 "compute or workspace is not the recipe's" $again
    expect 4 "compute or workspace is not the recipe's" "$verify" verify edited.reprise --allow-unsigned
done
edited chip
expect 5 'chip.name: recorded another chip' $again
edited hostile
expect 5 'none that this library proposes' $again
expect 5 'none that this library proposes' $again --steps 6:9
edited second_choice
expect 3 '' $again
edited fewer
expect 3 'not among the recorded products' $again
edited added
expect 3 'manifest.json' $again

# a portable run behind a pinned one says so, and so does the one behind that
sed 's/^train.*/train: {epochs: 1, batch: 16, optimizer: {lr: 1e-12}}/; s/archive: pinned.reprise/&, mode: retrain/' \
    child.yaml >washed.yaml
sed 's/pinned.reprise/washed.reprise/' washed.yaml >again.yaml
expect 0 '' "$reprise" run washed.yaml -o washed.reprise
expect 0 '' "$reprise" run washed.yaml -o child.signed.reprise --key me.pem
expect 0 '' "$reprise" run again.yaml -o twice.reprise
for file in washed twice; do
    expect 0 "what it started from is, to $to (archive " "$verify" verify $file.reprise --allow-unsigned
    expect 0 "what it started from is, to $to (archive " "$reprise" inspect $file.reprise
    expect 0 "\"parent\":{\"archive_id\":" "$reprise" verify $file.reprise --allow-unsigned --json
    expect 0 "\"pinned_to\":\"$to\",\"replayed\":0}" "$reprise" verify $file.reprise --allow-unsigned --json
    expect 0 '' "$reprise" replay $file.reprise
done
expect 0 "what it started from is, to $to" "$reprise" verify washed.reprise --allow-unsigned --parent pinned.reprise
expect 0 '' "$reprise" verify twice.reprise --allow-unsigned --parent washed.reprise
expect 0 "pinned_to         $to" "$reprise" inventory pinned.reprise
expect 0 "parent_pinned_to  $to" "$reprise" inventory twice.reprise
expect 0 '' "$reprise" report washed.reprise --parent pinned.reprise -o washed.html
expect 0 '<strong>pinned</strong>: made again by' cat washed.html
edited line washed.reprise
expect 0 'unknown from this archive alone' "$verify" verify edited.reprise --allow-unsigned
expect 0 'unknown from this archive alone' "$reprise" inspect edited.reprise
expect 4 "recorded nothing, the parent's archive says $to" \
    "$reprise" verify edited.reprise --allow-unsigned --parent pinned.reprise
expect 4 "recorded nothing, the parent's archive says $to" \
    "$reprise" replay edited.reprise --parent pinned.reprise
(cat default.yaml && echo 'parent: any') >any.yaml
expect 4 "which is pinned to $to" "$verify" verify child.signed.reprise --policy any.yaml
(cat any.yaml && echo 'profile: portable') >portable_policy.yaml
expect 4 "which is pinned to $to" \
    "$reprise" verify child.signed.reprise --policy portable_policy.yaml --parent pinned.reprise
(cat any.yaml && echo 'profile: pinned') >line.yaml
expect 0 "which is pinned to $to" "$verify" verify child.signed.reprise --policy line.yaml

# what a policy asks of the library, and of what computed
digest=$(sha256sum "$(dirname "$RP_EMULATED_LIBRARY")/libreprise-standin-cublaslt.so" | cut -d' ' -f1)
(cat line.yaml && echo "library: {name: stand-in, version: 130000, sha256: [$digest], chip: Emulated}") >library.yaml
for file in signed child.signed; do
    expect 0 "SHA-256 $digest, on Emulated" "$verify" verify $file.reprise --policy library.yaml
done
sed 's/sha256: \[../sha256: [00/' library.yaml >other_library.yaml
expect 4 'another sha256' "$verify" verify signed.reprise --policy other_library.yaml
sed 's/sha256/sha265/' library.yaml >misspelt.yaml
expect 2 'library.sha265: unknown key' "$verify" verify signed.reprise --policy misspelt.yaml
(cat line.yaml && echo 'emulated: none') >real.yaml
expect 4 'is pinned to the driver emulated and the library stand-in' \
    "$verify" verify child.signed.reprise --policy real.yaml
expect 4 'made it on an emulated device' "$verify" verify signed.reprise --policy real.yaml
expect 0 'made on emulated-' "$verify" verify signed.reprise --trust me.pub.pem
expect 0 '' "$reprise" run portable.yaml -o here.reprise --key me.pem
expect 0 'none of them says one' "$verify" verify here.reprise --policy real.yaml
expect 0 '' "$reprise" replay here.reprise $emulated --attest --key me.pem
expect 4 'replayed it on one' "$verify" verify here.reprise --policy real.yaml

# the library fails
expect 1 'profile pinned, device emulated: cublasLtCreate' env RP_STANDIN_FAIL=cublasLtCreate:1:13 $run -o none.reprise
for call in cublasLtMatmulDescCreate cublasLtMatrixLayoutCreate cublasLtMatrixLayoutSetAttribute \
    cublasLtMatmulPreferenceCreate cublasLtMatmulPreferenceSetAttribute cublasLtMatmulAlgoGetHeuristic \
    cublasLtMatmulAlgoCheck cublasLtMatmul; do
    expect 1 "$call: CUBLAS_STATUS of the stand-in (13)" env RP_STANDIN_FAIL=$call:1:13 $run -o none.reprise
done
expect 1 'cublasLtMatmul: CUBLAS_STATUS of the stand-in (13)' \
    env RP_STANDIN_FAIL=cublasLtMatmul:9:13 $run -o none.reprise
expect 5 "CUBLAS_EMULATION_STRATEGY=1, which changes" env CUBLAS_EMULATION_STRATEGY=1 $replay $emulated
expect 5 'cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED' \
    env RP_STANDIN_FAIL=cublasLtMatmulAlgoGetHeuristic:1:15 $run -o none.reprise
[ ! -e none.reprise ] || { echo "FAIL: an archive of a failed run"; failed=$((failed + 1)); }
echo "$done calls, $failed failures"
[ "$done" -ge 60 ] && [ "$failed" -eq 0 ]
