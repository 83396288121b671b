#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Models of saved programs on texts: trained, replayed, in shards and in blocks that a batch does not fill, resumed from
# checkpoints, withheld, gone on with; what does not fit the text is refused. Usage: text_programs.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"

head -c 3000 "$source_dir/examples/shakespeare.txt" >short.txt
# A table of what comes next, four windows of eight tokens at a time; the same with dropout; one that sees the answer.
w='[1,"state","w","f32",[256,256]]'
program() { # file, inputs, instructions, output
    printf '{"contract":1,"inputs":[%s],"instructions":[%s],"outputs":[["result","logits",%s]]}' "$2" "$3" "$4" >"$1"
}
program forward.json "[0,\"feed\",\"x\",\"i64\",[4,8]],$w" '["gather",{"axis":0},[1,0],[2]]' 2
w='[0,"state","w","f32",[256,256]]'
printf '{"contract":1,"inputs":[%s],"instructions":[%s],"outputs":[["state","w",1]]}' "$w" \
    '["fill",{"dtype":"f32","shape":[256,256],"value":"0"},[],[1]]' >initial.json
text_recipe() { # name, model, train
    printf '%s\n' 'reprise: 1' 'seed: 3' 'data: {text: short.txt, length: 8}' "model: {$2}" "train: {$3}" \
        'record: {checkpoint_every: 20}' >"$1.yaml"
}
saved='program: forward.json, initial: initial.json'
text_recipe a "$saved" 'steps: 60, batch: 8, shards: 2, optimizer: {lr: 0.05}'
works '^validation  bits per byte [34]\.' "$reprise" run a.yaml -o a.reprise
works '^kind +model of programs' "$reprise" verify a.reprise --allow-unsigned
works '^identical .*every bit' "$reprise" replay a.reprise --isa ref --threads 1
works '^range' "$reprise" replay a.reprise --steps 25:45
works '^written' "$reprise" continue a.reprise --prompt 'the k' --tokens 12 -o more.txt
works '^written' "$reprise" report a.reprise -o a.html
holds "nobody checked that it sees no answers" grep -q 'That it does not look at those tokens, nobody checked' a.html
# As many windows as the program has, and more than a block: the same parameters from the same windows.
text_recipe b "$saved" 'steps: 9, batch: 4, shuffle: false'
text_recipe c "$saved" 'steps: 9, batch: 6, shuffle: false'
works '^validation' "$reprise" run b.yaml -o b.reprise
works '^validation' "$reprise" run c.yaml -o c.reprise
works '^identical' "$reprise" replay c.reprise --isa ref
fails 2 'a program of the model' "$reprise" run a.yaml -o forward.json --force
sed 's/batch: 8/batch: 14/' a.yaml >w.yaml # its last block has 9 windows of 8 tokens
works '^left out' "$reprise" run w.yaml -o w.reprise --withhold kept
works '^identical' "$reprise" replay w.reprise --withheld kept

sed 's/length: 8/length: 5/' a.yaml >n.yaml
fails 2 'x has 8 values, but the data has 5 .data.length.' "$reprise" run n.yaml -o n.reprise
sed 's/length: 8/length: 8, vocabulary: {bpe: 300}/' a.yaml >n.yaml
fails 2 'logits has 256 columns, but the text.s vocabulary has 300' "$reprise" run n.yaml -o n.reprise
program rows.json '[0,"feed","x","f32",[4,8]],[1,"state","w","f32",[8,256]]' '["matmul",{},[0,1],[2]]' 2
text_recipe n 'program: rows.json, initial: initial.json' 'steps: 2'
fails 2 'expected windows of tokens, i64 .windows, length., as feed x' "$reprise" run n.yaml -o n.reprise
program flat.json '[0,"feed","x","i64",[4,8]],[1,"state","w","f32",[256,256]]' \
    '["gather",{"axis":0},[1,0],[2]],["reshape",{"shape":[32,256]},[2],[3]]' 3
text_recipe n 'program: flat.json, initial: initial.json' 'steps: 2'
fails 2 'expected f32 .windows, length, tokens., windows and length as x has them' "$reprise" run n.yaml -o n.reprise
printf '%s\n' 'reprise: 1' 'data: {csv: t.csv, target: y}' 'model: {program: forward.json, initial: initial.json}' \
    'train: {epochs: 1}' >n.yaml
printf 'a,y\n1,0\n2,1\n' >t.csv
fails 2 'expected rows of f32' "$reprise" run n.yaml -o n.reprise
text_recipe n "$saved, gpt: {layers: 1, width: 8}" 'steps: 2'
fails 2 'key model.gpt' "$reprise" run n.yaml -o n.reprise
finish
