#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A language model from a recipe on a text: run, verify, replay whole and in part on other kernels and threads, kill and
# resume, withhold, go on with a text; what is for tables says so; a changed byte is found. Usage: text.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"

cp "$source_dir/examples/shakespeare.txt" "$source_dir/examples/shakespeare.yaml" .
head -c 6000 shakespeare.txt >short.txt
text_recipe() { # name, more lines
    {
        printf '%s\n' 'reprise: 1' 'seed: 3' 'data: {text: short.txt, length: 16, vocabulary: {bpe: 280}}' \
            'model: {gpt: {layers: 1, width: 16, heads: 2, dropout: 0.1}}'
        printf '%s\n' "${@:2}"
    } >"$1.yaml"
}
text_recipe r 'train: {steps: 40, batch: 8, shards: 2, optimizer: {lr: 0.01}}' 'record: {checkpoint_every: 5}'

works '^validation  bits per byte [0-9.]+, perplexity of a token' "$reprise" run r.yaml -o r.reprise
works '^contents +[0-9]+ members' "$reprise" verify r.reprise --allow-unsigned
works '^identical .*every bit' "$reprise" replay r.reprise --isa ref --threads 1
works '^identical' "$reprise" replay r.reprise --threads 3
works '^range +steps 20 to 39' "$reprise" replay r.reprise --steps 20:39
# Checkpoints end with the training: the evaluations behind it change no state.
works '^range +steps 40 to 44' "$reprise" replay r.reprise --steps 43:44
works '^sample' "$reprise" replay r.reprise --sample 100% --seed 'all of it' --parallel 2
works '^written' "$reprise" inspect r.reprise --member checkpoints/000000000040.safetensors -o checkpoint
fails 2 'no member' "$reprise" inspect r.reprise --member checkpoints/000000000045.safetensors -o checkpoint
works 'recipe on a text, 49 steps' "$reprise" inspect r.reprise
works '"tokens":280' "$reprise" inspect r.reprise --member data/vocabulary.json
works '"kind":"text"' "$reprise" inspect r.reprise --json
works '^written' "$reprise" report r.reprise -o r.html
holds "its report says what of the end is not known" grep -q 'whether they repeat it was not examined' r.html
holds "an independent reading of the contract has vocabulary, tokens and figures" \
    python3 "$source_dir/tests/second/text.py" r.reprise

# The same run, killed and resumed: the same file.
"$reprise" run r.yaml -o k.reprise --save-every 0.001 >"$log/out" 2>"$log/err" &
pid=$!
for ((i = 0; i < 2000; i++)); do
    [ -d k.reprise.resume ] && [ -n "$(ls k.reprise.resume)" ] && break
    sleep 0.005
done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
if [ -e k.reprise ]; then
    skip "the run was through before it could be killed"
else
    works '^archive' "$reprise" run r.yaml -o k.reprise --resume
fi
holds "a killed and resumed run is the same archive" cmp r.reprise k.reprise

works '^written' "$reprise" continue r.reprise --prompt 'First Citizen:' --tokens 40 -o a.txt
works '^written' "$reprise" continue r.reprise --prompt 'First Citizen:' --tokens 40 -o b.txt --isa ref --threads 1
holds "the likeliest text is the same on other kernels" cmp a.txt b.txt
works '^written' "$reprise" continue r.reprise --prompt 'First Citizen:' --tokens 40 --seed 1 -o c.txt
works '^written' "$reprise" continue r.reprise --prompt-file c.txt --tokens 4 --seed 1 --temperature 0.5 -o d.txt
works '^First Citizen:' "$reprise" continue r.reprise --prompt 'First Citizen:' --tokens 3
holds "another seed is another text" sh -c '! cmp -s a.txt c.txt'
fails 2 'give the text to go on with' "$reprise" continue r.reprise
fails 2 'temperature: expected a number' "$reprise" continue r.reprise --prompt a --seed 1 --temperature -1
fails 2 'give --seed N too' "$reprise" continue r.reprise --prompt a --temperature 1
fails 2 'expected an integer from 1|--tokens' "$reprise" continue r.reprise --prompt a --tokens 0
fails 5 'expected at most 1000 in all' "$reprise" continue r.reprise --prompt a --max-work 1000

# What is for tables.
rows 50 >data.csv
recipe t.yaml data.csv 2
works '^archive' "$reprise" run t.yaml -o t.reprise
fails 5 'reprise continue goes on with a text' "$reprise" predict r.reprise --csv data.csv -o p.csv
fails 5 'text|recipe' "$reprise" validate r.reprise --csv data.csv
fails 5 'no run on a text' "$reprise" continue t.reprise --prompt a
fails 5 'has no rows' "$reprise" retrain r.reprise --csv data.csv -o n.reprise
fails 5 'has no columns to tell of' "$reprise" data r.yaml

# What looks at any archive.
sed 's/seed: 3/seed: 4/' r.yaml >other.yaml
works '^archive' "$reprise" run other.yaml -o other.reprise
gives 3 'step +0 is the first' "$reprise" diff r.reprise other.reprise
gives 3 'metrics +of A: validation part, [0-9]+ tokens' "$reprise" diff r.reprise other.reprise
gives 3 'metrics +are of the same windows of the same text' "$reprise" diff r.reprise other.reprise
sed 's/length: 16/length: 15/' other.yaml >shorter.yaml
works '^archive' "$reprise" run shorter.yaml -o shorter.reprise
gives 3 'metrics +are not of the same windows of one text' "$reprise" diff r.reprise shorter.reprise
works 'figures of the validation part, [0-9]+ tokens' "$reprise" compare r.reprise other.reprise
fails 2 'two inputs of that name: give state:tokens or feed:tokens' "$reprise" inspect r.reprise --step 1 --input tokens
works 'input feed tokens, i64\[8,17\]' "$reprise" inspect r.reprise --step 1 --input feed:tokens
works 'input state tokens, f32\[280,16\]' "$reprise" inspect r.reprise --step 1 --input state:tokens
fails 2 'has no input data:tokens' "$reprise" inspect r.reprise --step 1 --input data:tokens
works 'slice +f32\[[0-9,]*\] of .* {"begin":\[0,' "$reprise" inspect r.reprise --step 1
works '"attributes":{"begin":\[0,' "$reprise" inspect r.reprise --step 1 --json
works 'input feed lr' "$reprise" inspect r.reprise --step 1 --input lr
works '^value' "$reprise" inspect r.reprise --step 48 --input feed:tokens
works 'same|equal|identical' "$reprise" diff r.reprise r.reprise
works 'r.reprise' "$reprise" inventory r.reprise
fails '[125]' '^reprise: ' "$reprise" explain r.reprise --csv data.csv
fails '[125]' '^reprise: ' "$reprise" scorecard r.reprise
fails '[125]' '^reprise: ' "$reprise" monitor r.reprise --csv data.csv
holds "a key is made" "$reprise" keygen me
works '^signed' "$reprise" run r.yaml -o signed.reprise --key me.pem
for kind in text recipe; do
    printf '%s\n' 'policy: 1' 'groups: {a: [me.pub.pem]}' 'builder: {of: a}' "kind: $kind" >$kind.yaml
done
works '^verified' "$reprise" verify signed.reprise --policy text.yaml
gives 4 'it is of kind text' "$reprise" verify signed.reprise --policy recipe.yaml

# Mistakes in a recipe.
text_recipe wrong 'train: {steps: 4, epochs: 1}'
fails 2 'train.epochs: applies only without steps' "$reprise" run wrong.yaml -o n.reprise
text_recipe wrong 'search: {over: {lr: [1]}}'
fails 2 'search: applies only to a recipe on a table' "$reprise" run wrong.yaml -o n.reprise
text_recipe wrong 'train: {task: regression}'
fails 2 'train.task: unknown key' "$reprise" run wrong.yaml -o n.reprise
sed 's/heads: 2/heads: 3/' r.yaml >wrong.yaml
fails 2 '3 heads do not divide the width 16' "$reprise" run wrong.yaml -o n.reprise
sed 's/length: 16/length: 1000/' r.yaml >wrong.yaml
fails '[12]' 'smaller data.length' "$reprise" run wrong.yaml -o n.reprise
sed 's/width: 16/width: 65536/; s/layers: 1/layers: 64/; s/heads: 2/heads: 4/' r.yaml >wrong.yaml
fails 2 'parameters in all, expected at most 2\^31' "$reprise" run wrong.yaml -o n.reprise
sed 's/{bpe: 280}/{bpe: 200}/' r.yaml >wrong.yaml
fails 2 'data.vocabulary.bpe: expected an integer from 257 to 65536' "$reprise" run wrong.yaml -o n.reprise
printf '%s\n' 'reprise: 1' 'data: {text: short.txt}' >wrong.yaml
fails 2 'model.gpt: required with data.text' "$reprise" run wrong.yaml -o n.reprise

# A text that stays at home; a byte of one that does not.
sed 's/length: 16/length: 2/; s/batch: 8/batch: 2/' r.yaml >guessed.yaml
attempt "$reprise" run guessed.yaml -o n.reprise --withhold never
holds "blocks that can be guessed are not withheld" grep -q 'has 4, which whoever has the archive can guess' "$log/err"
holds "and nothing is left behind" test ! -e never -a ! -e n.reprise
head -c 301 short.txt >tiny.txt
sed 's/short.txt/tiny.txt/; s/length: 16/length: 2, validation: 0.01/; s/batch: 8/batch: 32/; s/{bpe: 280}/bytes/' \
    r.yaml >guessed.yaml
attempt "$reprise" run guessed.yaml -o n.reprise --withhold never
holds "nor are last blocks that can be guessed" grep -q 'last block of a part that is evaluated has [0-9]* tokens' \
    "$log/err"
holds "and nothing is left behind then" test ! -e never -a ! -e n.reprise
works '^left out' "$reprise" run r.yaml -o w.reprise --withhold home
works '^contents' "$reprise" verify w.reprise --allow-unsigned
works '^identical' "$reprise" replay w.reprise --withheld home
fails 2 'was left out' "$reprise" replay w.reprise
holds "nothing of the text is in it" sh -c '! grep -qa "Before we proceed" w.reprise'
python3 - <<'PY'
b = bytearray(open('r.reprise', 'rb').read())
b[b.index(b'Before we proceed')] ^= 1
open('x.reprise', 'wb').write(b)
PY
fails 4 'data/raw.txt' "$reprise" verify x.reprise --allow-unsigned

# Kind and recipe are two members, which somebody may have written apart.
other_kind() { # from, to, kind
    python3 - "$@" <<'PY'
import json, sys
raw, members = open(sys.argv[1], 'rb').read(), []
while raw[0]:
    size = int(raw[124:135], 8)
    members.append([raw[:512], raw[512:512 + size]])
    raw = raw[512 + (size + 511) // 512 * 512:]
others = {'text': ('data/raw.csv', 'data/quality', 'data/schema', 'outputs/reference', 'outputs/predictions'),
          'recipe': ('data/raw.txt', 'data/vocabulary')}[sys.argv[3]]
members = [m for m in members if not m[0].decode('latin-1').startswith(others)]
manifest = json.loads(members[0][1])
manifest['kind'] = sys.argv[3]
manifest['members'] = [m for m in manifest['members'] if not m['path'].startswith(others)]
members[0][1] = json.dumps(manifest, sort_keys=True, separators=(',', ':')).encode()
header = bytearray(members[0][0])
header[124:135] = b'%011o' % len(members[0][1])
header[148:156] = b' ' * 8
header[148:155] = b'%06o\0' % sum(header)
members[0][0] = bytes(header)
with open(sys.argv[2], 'wb') as out:
    for header, body in members:
        out.write(header + body + bytes(-len(body) % 512))
    out.write(bytes(1024))
PY
}
other_kind r.reprise table.reprise recipe
other_kind t.reprise texts.reprise text
for archive in table texts; do
    fails 4 'data.text: a run of kind "text" has it, and no other' "$reprise" verify $archive.reprise --allow-unsigned
    fails 4 'data.text: a run of kind "text" has it, and no other' "$reprise" replay $archive.reprise
    works '^written' "$reprise" report $archive.reprise -o $archive.html
    holds "the report of $archive says so" grep -q 'data.text: a run of kind' $archive.html
done

# The resolved recipe is the same run.
works '^written' "$reprise" inspect r.reprise --member run/recipe.json -o resolved.json
mkdir -p data && cp short.txt data/raw.txt
works '^archive' "$reprise" run resolved.json -o again.reprise
holds "the resolved recipe gives the same archive" cmp r.reprise again.reprise

works '^archive' "$reprise" run shakespeare.yaml -o example.reprise
finish
