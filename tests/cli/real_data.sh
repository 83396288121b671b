#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real data, five folds each: German credit (mean validation AUC at least 0.78, network and logistic regression) and
# digits (mean validation accuracy at least 0.965, with convolutions 0.98). Fold 0 of each is signed, verified and
# replayed at another level and thread count. Usage: real_data.sh REPRISE SOURCE_DIR. Exit 77 (skipped) where the data
# folder is absent.
set -euo pipefail
reprise=$1
source=$2
data=$source/../shared/data
if [ ! -f "$data/german_credit.csv" ] || [ ! -f "$data/digits.csv" ]; then
    echo "skipped: $data is not here"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$reprise" keygen key >/dev/null

metric() { # file, name: the number of that name in the validation part
    tr -d ' \n' <"$1" | sed 's/.*"validation":{//' | grep -o "\"$2\":[0-9.]*" | head -1 | cut -d: -f2
}

folds() { # recipe, metric, bar, level of the replay
    local sum=0 value level=${4:-ref}
    for fold in 0 1 2 3 4; do
        sed -e "s#csv: .*german_credit.csv.*#csv: $data/german_credit.csv#" \
            -e "s#csv: .*digits.csv.*#csv: $data/digits.csv#" \
            -e "s/^  fold: .*/  fold: $fold/" "$source/examples/$1.yaml" >"$1.$fold.yaml"
        "$reprise" run "$1.$fold.yaml" -o "$1.$fold.reprise" --key key.pem --json >"$1.$fold.json"
        value=$(metric "$1.$fold.json" "$2")
        echo "$1 fold $fold: $2 $value"
        sum=$(awk -v a="$sum" -v b="$value" 'BEGIN { print a + b }')
    done
    awk -v name="$1" -v metric="$2" -v sum="$sum" -v bar="$3" 'BEGIN {
        printf "%s: mean %s %.4f, bar %s\n", name, metric, sum / 5, bar; exit !(sum / 5 >= bar) }'
    "$reprise" verify "$1.0.reprise" --trust key.pub.pem
    "$reprise" replay "$1.0.reprise" --threads 3 --isa "$level"
}

folds german_credit auc 0.78
folds german_credit_logistic auc 0.78
folds digits accuracy 0.965
# The reference takes a minute over these; a level with an fma of its own has to do where there is one.
folds digits_cnn accuracy 0.98 "$("$reprise" doctor | sed -n 's/^kernels *\(avx2\|neon\):.*/\1/p' | grep . || echo ref)"
