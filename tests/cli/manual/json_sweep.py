# SPDX-License-Identifier: Apache-2.0
"""Calls of every command with --json, for those that look at the documents: json_outputs.py here, and the validator of
`./check --peers`. Usage: json_sweep.py REPRISE SOURCE_DIR DIR, which writes each document to DIR as NUMBER.NAME.json."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

# What gives which exit code, in this order; behind ! stands a function or program of the shell, which gives no document.
CALLS = {0: '''
keygen me
keygen next --rotate me.pem
run r.yaml -o a.reprise --key me.pem
run r.yaml --no-record
run s.yaml -o b.reprise --key signer.key --cert signer.pem
run l.yaml -o l.reprise
run trials.yaml -o t.reprise
run all.yaml -o f.reprise
run every.yaml -o every.reprise
run regression.yaml -o reg.reprise
run r.yaml -o w.reprise --withhold salted
run c.yaml -o c.reprise --key me.pem
run other.yaml -o o.reprise
run r.yaml -o n.reprise
retrain a.reprise --csv data.csv -o again.reprise --key me.pem
retrain l.reprise --csv odd.csv -o odd.reprise
retrain l.reprise --csv data.csv -o l2.reprise --key me.pem --attach --statement l2.json
retrain l.reprise --child odd.reprise
retrain every.reprise --csv data.csv -o every2.reprise
verify l2.reprise --trust me.pub.pem
scorecard l.reprise
scorecard l.reprise -o card.json --key me.pem
explain l.reprise --csv data.csv
compare a.reprise l.reprise t.reprise
predict l.reprise --csv data.csv -o q.csv --reasons 2
predict l.reprise --csv odd.csv -o odd-q.csv
predict a.reprise --csv data.csv -o p.csv
predict a.reprise --csv data.csv --compare p.csv
run text.yaml -o text.reprise
continue text.reprise --prompt x --tokens 3 -o continued
data r.yaml
data data.csv
data odd.csv
data one.yaml
verify a.reprise --trust me.pub.pem --rotation next.rotation.json
verify n.reprise --allow-unsigned
verify w.reprise --allow-unsigned
replay a.reprise
replay c.reprise --trust me.pub.pem --attest --key me.pem
replay c.reprise --sample 50% --seed public
replay c.reprise --steps 4:7
replay t.reprise
diff a.reprise a.reprise
inspect a.reprise
inspect a.reprise --programs
inspect w.reprise
inspect l.reprise
inspect a.reprise --member run/recipe.json -o recipe.json
profile r.yaml --trace trace.json
profile c.reprise --steps 0 --skip 0
export a.reprise --tensorboard events
inspect a.reprise --step 1
inspect a.reprise --step 1 --op 3 --npy 3.npy
inspect c.reprise --step 3 --input train_x
validate a.reprise --csv data.csv
validate a.reprise --csv data.csv --attach --key me.pem
validate a.reprise --csv data.csv -o v.json --by kind --groups kind
monitor a.reprise --csv data.csv
report a.reprise -o r.html
golden record g
golden check g
sign n.reprise --key signer.key
cert n.reprise signer.pem
approve a.reprise --role r --decision approve --reason x --key me.pem --trust me.pub.pem
finding a.reprise --id F --severity low --text t --owner o --key me.pem --due 2027-01-01T00:00:00Z
log init l --origin example.com/l --key me.pem
log add l a.reprise --key me.pem
log prove l a.reprise -o proof
log prove l a.reprise
log check a.reprise --proof proof --trust me.pub.pem
log attach a.reprise --proof proof
log verify l --trust me.pub.pem
log list l
log consistency l l/checkpoint --trust me.pub.pem -o consistent
log check l/checkpoint --proof consistent --trust me.pub.pem
log init scores --origin example.com/s --key me.pem
predict a.reprise --csv data.csv -o 1.csv --log scores --key me.pem
predict a.reprise --csv data.csv -o 2.csv --flags --log scores --key me.pem
log verify scores --trust me.pub.pem
log list scores
log prove scores 1.csv -o scored
log check 1.csv --proof scored --trust me.pub.pem
timestamp request a.reprise -o t.tsq
! answer authority t.tsq t.tsr
timestamp attach a.reprise t.tsr --request t.tsq
verify a.reprise --trust me.pub.pem --tsa tsa-root.pem --log-key me.pub.pem
verify b.reprise --ca root.pem
verify a.reprise --policy policy.yaml
report a.reprise -o rp.html --policy policy.yaml --trust me.pub.pem
inspect a.reprise
inventory a.reprise b.reprise
inventory a.reprise c.reprise --trust me.pub.pem --log l
doctor
bench --only sum
help
help run
--version
''', 3: '''
diff a.reprise c.reprise
diff a.reprise again.reprise
diff a.reprise o.reprise
diff l.reprise o.reprise
predict a.reprise --csv data.csv --compare q.csv
! forge a.reprise forged.reprise outputs/predictions.csv 'm[-2] ^= 1'
replay forged.reprise
! forge a.reprise unlike.reprise run/journal.bin 'm[128 + 48] ^= 1'
inspect unlike.reprise --step 1 --op 3
! eval 'reprise golden record changed && cp other.csv changed/data.csv'
golden check changed
''', 4: '''
verify data.csv --allow-unsigned
verify a.reprise --trust next.pub.pem
verify a.reprise --policy hard.yaml
report a.reprise -o rh.html --policy hard.yaml
inventory a.reprise data.csv
''', 2: '''
run
nothing
''', 1: '''
inspect nothing
golden check changed/nothing
'''}


def prepare(work, source):
    rows = ['x,kind,y'] + [f'{i % 17}.{i % 7},{"abc"[i % 3]},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(80)]
    linear = 'reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\n'
    text = linear + 'model: {hidden: [3]}\ntrain: {epochs: 1}\n'
    policy = 'policy: 1\nname: p\ngroups: {us: [me.pub.pem]}\nbuilder: {of: us}\n'
    for folder in ('.', 'g', 'changed'):
        (work / folder).mkdir(exist_ok=True)
        (work / folder / 'data.csv').write_text('\n'.join(rows) + '\n')
        (work / folder / 'r.yaml').write_text(text)
    files = {'s.yaml': text + 'seed: 5\n', 'l.yaml': linear, 'policy.yaml': policy,
             'c.yaml': text.replace('epochs: 1', 'epochs: 3') + 'record: {checkpoint_every: 2}\n',
             'other.yaml': text.replace('data.csv', 'other.csv'),
             'other.csv': '\n'.join(rows).replace('3.3,', '3.4,', 1) + '\n',
             'trials.yaml': text + 'search: {over: {lr: [0.1, 0.2]}}\nchallengers: {seeds: 2}\n',
             'all.yaml': linear.replace('}', ', fold: all, folds: 3}'),
             'every.yaml': linear.replace('}', ', train_on_all: true}'),
             'regression.yaml': 'reprise: 1\ndata: {csv: data.csv, target: x}\ntrain: {task: regression}\n',
             'odd.csv': 'x,kind,y\n' + '\n'.join(f'{i * 900}.5,{"abcd"[i % 4]},{"yes" if i % 2 else "no"}'
                                                for i in range(30)) + '\n,c,no\n1,c,no\n1,c,yes\n',
             'text.yaml': 'reprise: 1\ndata: {text: one.csv, length: 8}\nmodel: {gpt: {layers: 1, width: 4}}\n',
             'one.yaml': 'reprise: 1\ndata: {csv: one.csv, target: y}\n',
             'one.csv': 'x,y\n' + ''.join(f'{i},a\n' for i in range(30)), 'hard.yaml': policy + 'replay: {mode: full, by: us}\n'}
    for name, content in files.items():
        (work / name).write_text(content)
    shell(work, source, None, 'root root; issue signer root "$signer_extensions"; root tsa-root; '
                              'issue authority tsa-root "$tsa_extensions"')


def shell(work, source, reprise, line):
    head = (f'. {source}/tests/cli/pki.sh; reprise() {{ "{reprise}" "$@"; }}; '
            f'forge() {{ "{sys.executable}" "{source}/tests/cli/validate/forge.py" "$@"; }}; ')
    done = subprocess.run(['bash', '-ec', head + line], cwd=work, capture_output=True, text=True)
    assert done.returncode == 0, (line, done.stderr)


def sweep(reprise, source):
    """(the call, exit code expected, exit code found, the document or None, stderr) of each."""
    work = pathlib.Path(tempfile.mkdtemp())
    prepare(work, source)
    for code, lines in CALLS.items():
        for line in lines.strip().split('\n'):
            if line.startswith('! '):
                shell(work, source, reprise, line[2:])
                continue
            done = subprocess.run([reprise, *line.split(), '--json'], capture_output=True, cwd=work, timeout=120)
            try:
                document = json.loads(done.stdout) if done.stdout.count(b'\n') == 1 else None
            except ValueError:
                document = None
            yield line, code, done.returncode, document, done.stderr.decode(errors='replace')
    shutil.rmtree(work)


def name_of(line, document, actions):
    """The document's name in the schemas and in docs/json.md; actions: the names of all commands."""
    words = line.split()
    if document is not None and 'error' in document and list(document)[-1] == 'error' and isinstance(document['error'], dict):
        return 'errors'
    name = max((n for n in actions if words[:len(n.split())] == n.split()), key=len, default='errors')
    return next((f'{name} {option}' for option in ('--member', '--step') if name == 'inspect' and option in words), name)


def names(reprise):
    table = json.loads(subprocess.run([reprise, 'help', '--json'], capture_output=True, check=True).stdout)
    return [c['name'] for c in table['commands'] if not c['actions'] and c['name'] != 'golden'] + [
        'golden record', 'golden check', '--version']


def main():
    reprise, source, folder = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    folder.mkdir(parents=True, exist_ok=True)
    known = names(reprise)
    for number, (line, _, _, document, _) in enumerate(sweep(reprise, source)):
        assert document is not None, line
        name = name_of(line, document, known).replace(' ', '_')
        (folder / f'{number:03}.{name}.json').write_text(json.dumps(document))


if __name__ == '__main__':
    main()
