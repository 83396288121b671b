#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A model from saved programs with the trainer around it: run, replay on other kernels, predict, validate, report, early
# stopping, shards, a regression; it begins as the run that keys of a recipe describe; wrong programs are refused with
# file and reason. Usage: programs.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"

cp "$source_dir/examples/residual.yaml" .
head -400 "$source_dir/examples/loans.csv" >loans.csv
mkdir residual
holds "the example saves its programs" "$build/examples/residual" residual
holds "as they lie beside it" diff -r residual "$source_dir/examples/residual"
works '^validation +accuracy' "$reprise" run residual.yaml -o a.reprise
works '^kind +model of programs: its first states' "$reprise" verify a.reprise --allow-unsigned
works '^identical' "$reprise" replay a.reprise --isa ref --threads 1
cp a.reprise decided.reprise
"$reprise" keygen me >/dev/null
works '^kind +model of programs: its first states' "$reprise" approve decided.reprise --role risk --decision approve \
    --reason tried --key me.pem --allow-unsigned
works '"program":' "$reprise" inspect a.reprise --member run/recipe.json
works '^written' "$reprise" report a.reprise -o a.html
holds "whose weights these may be" grep -q 'which can hold weights that were trained elsewhere' a.html
holds "what a replay shows of them" grep -q 'A model of saved programs' a.html
holds "what its figures are computed by" \
    grep -q 'First weights: <code>model.initial</code>, of [0-9]* operations.<' a.html
holds "that nobody held it against the trained one" grep -q 'but for what is random, nobody checked' a.html
holds "the report lists the states" grep -q 'All [0-9]*</th>' a.html
holds "and says which program its figures are by" grep -q 'Of the final model, by model.evaluate' a.html
# An archive's resolved form may be longer than a recipe that people write.
works '^written' "$reprise" inspect a.reprise --member run/recipe.json -o resolved.json
mkdir -p data && cp loans.csv data/raw.csv
head -c 1200000 /dev/zero | tr '\0' ' ' >>resolved.json
works '^archive' "$reprise" run resolved.json -o again.reprise
holds "it is the same archive" cmp a.reprise again.reprise
(cat residual.yaml && head -c 1200000 /dev/zero | tr '\0' '#') >long.yaml
fails '[12]' 'larger than the limit of 1048576 bytes' "$reprise" run long.yaml -o n.reprise
works '^written' "$reprise" predict a.reprise --csv loans.csv -o p.csv
works '^model' "$reprise" validate a.reprise --csv loans.csv -o v.json

# Other numbers of rows than the program was written for, in shards, with the best epoch kept.
sed 's/epochs: 3, batch: 40/epochs: 4, batch: 48, shards: 3, patience: 2/' residual.yaml >shards.yaml
echo 'record: {checkpoint_every: 10}' >>shards.yaml
works '^archive' "$reprise" run shards.yaml -o b.reprise
works '^identical' "$reprise" replay b.reprise --threads 3
works '^range' "$reprise" replay b.reprise --steps 10:19

# What is written by keys and by programs: the same layers, first values of one and the same bits of losses.
python3 - <<'PY'
import json
def state(i, name, shape): return [i, 'state', name, 'f32', shape]
names = [('layer0.weight', [2, 4]), ('layer0.bias', [4]), ('layer1.weight', [4, 1]), ('layer1.bias', [1])]
def forward(rows):
    states = [state(i + 1, *n) for i, n in enumerate(names)]
    return {'contract': 1, 'inputs': [[0, 'feed', 'x', 'f32', [rows, 2]]] + states,
            'instructions': [['matmul', {}, [0, 1], [5]], ['add', {}, [5, 2], [6]], ['tanh', {}, [6], [7]],
                             ['matmul', {}, [7, 3], [8]], ['add', {}, [8, 4], [9]]],
            'outputs': [['result', 'logits', 9]]}
bounds = ['0.7071067811865475', '0.7071067811865475', '0.5', '0.5']
states = [state(2 + 2 * i, *n) for i, n in enumerate(names)]
draws = [['uniform', {'dtype': 'f32', 'high': b, 'low': '-' + b, 'shape': n[1], 'stream': i}, [0], [1 + 2 * i]]
         for i, (n, b) in enumerate(zip(names, bounds))]
initial = {'contract': 1, 'inputs': [[0, 'feed', 'rng', 'i64', [2]]] + states, 'instructions': draws,
           'outputs': [['state', n[0], 1 + 2 * i] for i, n in enumerate(names)]}
def save(name, program):
    with open(name, 'w') as f:
        f.write(json.dumps(program, sort_keys=True, separators=(',', ':')))
for rows in (1, 7, 16):
    save('rows%d.json' % rows, forward(rows))
save('first.json', initial)
save('wide.json', dict(forward(4), inputs=[[0, 'feed', 'x', 'f32', [4, 3]]] + forward(4)['inputs'][1:]))
save('named.json', dict(forward(4), outputs=[['result', 'scores', 9]]))
save('fixed.json', {'contract': 1, 'inputs': [state(i, *n) for i, n in enumerate(names)],
                    'instructions': [['fill', {'dtype': 'f32', 'shape': n[1], 'value': '0.25'}, [], [4 + i]]
                                     for i, n in enumerate(names)],
                    'outputs': [['state', n[0], 4 + i] for i, n in enumerate(names)]})
save('two.json', dict(forward(4), outputs=[['result', 'hidden', 7], ['result', 'logits', 9]]))
PY
awk 'function draw() { s = (s * 1103515245 + 12345) % 2147483648; return int(s / 65536) % 100 }
    BEGIN { s = 7; print "u,v,y"
            for (i = 0; i < 90; i++) { u = draw(); v = draw(); print u "," v "," (u * 3 - v) / 10 } }
' >small.csv
by() { # file, model
    printf '%s\n' 'reprise: 1' 'seed: 9' 'data: {csv: small.csv, target: y}' "model: $2" \
        'train: {task: regression, epochs: 3, batch: 20, shards: 2, optimizer: {kind: sgd, lr: 0.05}}' >"$1.yaml"
}
by keys '{hidden: [4], activation: tanh}'
works '^archive' "$reprise" run keys.yaml -o keys.reprise
for rows in 1 7 16; do
    by rows "{program: rows$rows.json, initial: first.json}"
    works '^archive' "$reprise" run rows.yaml -o rows.reprise --force
    works '^identical' "$reprise" replay rows.reprise --isa ref
    holds "a program of $rows rows begins as keys do" python3 - <<'PY'
import tarfile
def member(path, name):
    with tarfile.open(path) as tar:
        return tar.extractfile(name).read()
a, b = (member(p, 'weights/init.safetensors') for p in ('keys.reprise', 'rows.reprise'))
assert a == b, 'first weights'
a, b = (member(p, 'run/journal.bin') for p in ('keys.reprise', 'rows.reprise'))
assert a[128 + 112:128 + 120] == b[128 + 112:128 + 120], 'loss of the first step'
PY
done

# Rows that fill up the last block have slopes where the rows have: shares of a row's sum, which zeros have none of.
python3 - <<'PY'
import json
def weight(at): return [at, 'state', 'w', 'f32', [2, 1]]
programs = {'shares.json': {'contract': 1, 'inputs': [[0, 'feed', 'x', 'f32', [16, 2]], weight(1)],
                            'instructions': [['sum', {'axes': [1]}, [0], [2]],
                                             ['div', {}, [0, 2], [3]], ['matmul', {}, [3, 1], [4]]],
                            'outputs': [['result', 'logits', 4]]},
            'even.json': {'contract': 1, 'inputs': [weight(0)],
                          'instructions': [['fill', {'dtype': 'f32', 'shape': [2, 1], 'value': '0.25'}, [], [1]]],
                          'outputs': [['state', 'w', 1]]}}
for name, program in programs.items():
    with open(name, 'w') as f:
        f.write(json.dumps(program, sort_keys=True, separators=(',', ':')))
PY
awk 'BEGIN { print "u,v,y"
             for (i = 1; i <= 90; i++) { u = i * 37 % 89 + 1; v = i * 53 % 97 + 1; print u "," v "," u / (u + v) } }
' >mixture.csv
printf '%s\n' 'reprise: 1' 'seed: 9' 'data: {csv: mixture.csv, target: y, standardize: false}' \
    'model: {program: shares.json, initial: even.json}' \
    'train: {task: regression, epochs: 40, batch: 20, shards: 2, optimizer: {lr: 0.05}}' >shares.yaml
works '^validation .*R2 0[.]99' "$reprise" run shares.yaml -o shares.reprise
works '^identical' "$reprise" replay shares.reprise --isa ref

by wrong '{program: wide.json, initial: first.json}'
fails 2 'a row of its feed x has 3 values, but the data has 2 features|matmul' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: named.json, initial: first.json}'
fails 2 'model.program: expected the result logits' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: rows7.json, evaluate: rows7.json, initial: first.json}'
fails 2 'model.evaluate: only where model.program has a feed rng' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: two.json, initial: first.json}'
fails 2 'model.program: expected logits as its only output, found also hidden' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: rows7.json, initial: fixed.json}'
works '^archive' "$reprise" run wrong.yaml -o fixed.reprise
echo 'challengers: {seeds: 3}' >>wrong.yaml
fails 2 'challengers.seeds: model.initial has no feed rng' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: rows7.json}'
fails 2 'model.initial: required with model.program' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: rows7.json, initial: rows7.json}'
fails 2 'model.initial: expected rng as its only feed, found x' "$reprise" run wrong.yaml -o n.reprise
mkdir beyond
sed 's/"stream":0/"stream":4096/' residual/forward.json >beyond/forward.json
cp residual/evaluate.json residual/initial.json beyond
sed 's#residual/#beyond/#' residual.yaml >beyond.yaml
fails 2 'model.program: dropout draws from stream 4096, expected 0 to 4095' "$reprise" run beyond.yaml -o n.reprise
by wrong '{program: rows7.json, initial: first.json, hidden: [3]}'
fails 2 'model.hidden: unknown key' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: none.json, initial: first.json}'
fails 1 'none.json' "$reprise" run wrong.yaml -o n.reprise
by wrong '{program: small.csv, initial: first.json}'
fails 2 'small.csv' "$reprise" run wrong.yaml -o n.reprise
sed 's/tanh/tamh/' rows7.json >typo.json
by wrong '{program: typo.json, initial: first.json}'
fails '[25]' 'model.program.*tamh' "$reprise" run wrong.yaml -o n.reprise
finish
