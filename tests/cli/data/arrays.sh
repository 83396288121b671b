#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recipes on arrays: they train the run of the table that they are written as, from npy and from safetensors, packed
# too, for networks with convolutions and for models that are programs; replay, new rows, parts that are withheld; wrong
# files are refused with file and reason. Usage: arrays.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"

holds "the arrays are made" python3 "$source_dir/tests/cli/data/make_arrays.py" .
array_recipe() { # name, data, model, train
    printf '%s\n' 'reprise: 1' 'seed: 5' "data: {$2}" "model: {$3}" "train: {$4}" >"$1.yaml"
}
net='image: [4, 4, 1], conv: [{filters: 4, kernel: 3, pool: max}], hidden: [8]'
array_recipe npy 'arrays: x.npy, target: y.npy' "$net" 'epochs: 12, batch: 16, optimizer: {lr: 0.01}'
array_recipe tensors 'arrays: all.safetensors, features: pixels, target: label' "$net" \
    'epochs: 12, batch: 16, optimizer: {lr: 0.01}'
array_recipe table 'csv: all.csv, target: y' "$net" 'epochs: 12, batch: 16, optimizer: {lr: 0.01}'
for k in npy tensors table; do
    works '^validation +accuracy 0?\.?[0-9]' "$reprise" run $k.yaml -o $k.reprise
    "$reprise" inspect $k.reprise --member weights/final.safetensors -o $k.weights >/dev/null
    "$reprise" inspect $k.reprise --member data/raw.csv -o $k.csv >/dev/null
done
holds "the table is that of the images" cmp npy.csv all.csv
holds "whichever file they are in" cmp tensors.csv all.csv
holds "and the model is that of the table" cmp npy.weights table.weights
holds "to the bit" cmp tensors.weights table.weights
works '"features":\{"dtype":"u8","name":null,"sha256":"[0-9a-f]{64}","shape":\[120,4,4\]\}' \
    "$reprise" inspect npy.reprise --member run/recipe.json
works '"target":\{"dtype":"i64","name":"label",' "$reprise" inspect tensors.reprise --member run/recipe.json
works '^identical' "$reprise" replay npy.reprise --isa ref --threads 1
works '^identical' "$reprise" replay tensors.reprise --steps 3:9

# An archive's resolved form is run again from the archive's table.
mkdir -p run data
"$reprise" inspect npy.reprise --member run/recipe.json -o run/recipe.json >/dev/null
cp npy.csv data/raw.csv
works '^archive' "$reprise" run run/recipe.json -o again.reprise
holds "it is the same archive" cmp npy.reprise again.reprise
sed 's/"dtype":"u8"/"dtype":"u7"/' run/recipe.json >run/wrong.json
fails '[12]' 'key data.arrays: expected features and target' "$reprise" run run/wrong.json -o n.reprise

# Halves widen exactly: the table is that of the same numbers in binary32.
halves() { # name, data, target
    array_recipe "$1" "$2, target: ${3:-y.npy}" 'hidden: [4]' 'epochs: 1'
    works '^archive' "$reprise" run "$1.yaml" -o "$1.reprise"
    "$reprise" inspect "$1.reprise" --member data/raw.csv -o "$1.csv" >/dev/null
}
halves e32 'arrays: eighths-f32.npy'
halves e16 'arrays: eighths-f16.npy'
halves t16 'arrays: eighths.safetensors, features: f16' label
halves b16 'arrays: eighths.safetensors, features: bf16' label
halves s32 'arrays: small-f32.npy'
halves s16 'arrays: small-f16.npy'
for k in e16 t16 b16; do holds "the table of halves, $k" cmp e32.csv $k.csv; done
holds "of halves that are subnormal" cmp s32.csv s16.csv
works '"features":\{"dtype":"bf16","name":"bf16",' "$reprise" inspect b16.reprise --member run/recipe.json
works '^identical' "$reprise" replay b16.reprise --isa ref
works '^written' "$reprise" predict e16.reprise --csv eighths-f32.npy -o e16.out

# New rows.
works '^written' "$reprise" predict npy.reprise --csv x.npy -o a.csv
works '^written' "$reprise" predict tensors.reprise --csv all.safetensors -o b.csv
works '^written' "$reprise" predict table.reprise --csv all.csv -o c.csv
holds "scores are those of the table" cmp a.csv c.csv
holds "of either file" cmp b.csv c.csv
works '^rows +120, of which 0 without an outcome' "$reprise" validate tensors.reprise --csv all.safetensors
fails 1 'expected rows with an outcome' "$reprise" validate npy.reprise --csv x.npy
fails 1 'the run was trained on a table' "$reprise" predict table.reprise --csv x.npy -o n.csv
fails 1 'expected a column "x.0.0"' "$reprise" predict npy.reprise --csv y.npy -o n.csv
fails 1 'has no tensor "x"; it has 2: "label", "pixels"' "$reprise" predict npy.reprise --csv all.safetensors -o n.csv
works '^archive' "$reprise" retrain tensors.reprise --csv all.safetensors -o child.reprise
holds "a child has no arrays of its own" \
    sh -c '! "$0" inspect child.reprise --member run/recipe.json | grep -q arrays' "$reprise"
works '^x.0.0 +numeric' "$reprise" data npy.yaml
works '^written' "$reprise" report npy.reprise -o a.html

# What they are packed in, withheld, tried, written otherwise.
gzip -k x.npy y.npy
array_recipe packed 'arrays: x.npy.gz, target: y.npy.gz' "$net" 'epochs: 2'
works '^archive' "$reprise" run packed.yaml -o packed.reprise
works '^left out' "$reprise" run npy.yaml -o w.reprise --withhold kept
for file in *.npy; do
    holds "an archive without its data has no digest of $file" \
        sh -c "! grep -q $(sha256sum "$file" | cut -d' ' -f1) w.reprise"
done
works '^identical' "$reprise" replay w.reprise --withheld kept
array_recipe tried 'arrays: x32.npy, target: y.npy, fold: all, folds: 3' 'hidden: [4]' 'epochs: 2'
works '^trials +3' "$reprise" run tried.yaml -o tried.reprise
works '^identical' "$reprise" replay tried.reprise
array_recipe amount 'arrays: x32.npy, target: amount.npy' '' 'task: regression, l2: 0.001'
works '^validation .* R2 (1.0|0.99)' "$reprise" run amount.yaml -o amount.reprise
array_recipe saved 'arrays: x.npy, target: y.npy' 'program: forward.json, initial: initial.json' 'epochs: 8'
works '^validation +accuracy' "$reprise" run saved.yaml -o saved.reprise
works '^identical' "$reprise" replay saved.reprise --isa ref
works '^written' "$reprise" predict saved.reprise --csv x.npy -o p.csv

# What is refused.
refuse() { # pattern, data
    array_recipe bad "$2" 'hidden: [4]' 'epochs: 2'
    fails '[12]' "$1" "$reprise" run bad.yaml -o n.reprise
}
refuse 'key data.target: required: beside an .npy file' 'arrays: x.npy'
refuse 'key data.delimiter' "arrays: x.npy, target: y.npy, delimiter: ';'"
refuse 'key data.features' 'csv: all.csv, target: y, features: x'
refuse 'an .npy file holds one array without a name' 'arrays: x.npy, features: x, target: y.npy'
refuse 'short.npy: 119 rows, but .*x.npy has 120' 'arrays: x.npy, target: short.npy'
refuse 'expected one number a row as the target, found 16' 'arrays: x.npy, target: x32.npy'
refuse 'nan.npy: row 119, column x.3.3: expected a finite number' 'arrays: nan.npy, target: y.npy'
refuse 'inf16.npy: row 119, column x.3.3: expected a finite number' 'arrays: inf16.npy, target: y.npy'
refuse 'expected an .npy or a .safetensors file' 'arrays: all.csv, target: y.npy'
refuse 'expected an .npy file' 'arrays: x.npy, target: all.csv'
refuse 'cannot (open|read)' 'arrays: none.npy, target: y.npy'
fails 2 'data.target' "$reprise" run npy.yaml -o y.npy --force
finish
