# SPDX-License-Identifier: Apache-2.0
"""Where bits differ, --json says it field by field, and as the line on stderr does: archives with a changed member or
record under replay, and goldens. Usage: differences.py REPRISE SOURCE_DIR"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

reprise, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
work = pathlib.Path(tempfile.mkdtemp())
failures, checks = [], 0
FIELDS = ['expected', 'found', 'member', 'step', 'value']


def check(held, what):
    global checks
    checks += 1
    if not held:
        failures.append(what)


def call(*words):
    done = subprocess.run([reprise, *words, '--json'], cwd=work, capture_output=True, text=True, timeout=120)
    return done.returncode, json.loads(done.stdout), done.stderr


def forge(member, program, source_name='a.reprise'):
    subprocess.run([sys.executable, source / 'tests/cli/validate/forge.py', work / source_name, work / 'forged.reprise',
                    member, program], check=True)


def replayed(member, program, wanted, *options, source_name='a.reprise'):
    """The difference that a replay tells; wanted: its member, step and value, and expected or found where it is fixed."""
    forge(member, program, source_name)
    code, out, err = call('replay', 'forged.reprise', *options)
    d = out.get('error', {}).get('difference')
    check(code == 3 and d and sorted(d) == FIELDS, f'{member}: exit {code}: {out}')
    if not d:
        return
    for key, value in wanted.items():
        check(d[key] == value, f'{member}: {key}: expected {value!r}, found {d[key]!r}: {err}')
    for key in FIELDS:
        text = d[key] if key != 'step' or d[key] is None else f'step {d[key]}' if not d['member'] else f'record {d[key]}'
        check(d[key] is None or text in err or text == 'present', f'{member}: {key} is {d[key]!r}, but stderr says {err}')
    check(d['expected'] != d['found'], f'{member}: nothing differs: {d}')


def goldens():
    (work / 'g').mkdir()
    for name in ('r.yaml', 'data.csv'):
        shutil.copy(work / name, work / 'g')
    check(call('golden', 'record', 'g')[0] == 0, 'golden record')
    code, out, _ = call('golden', 'check', 'g')
    check(code == 0 and out['goldens'][0]['difference'] is None and out['goldens'][0]['diff'] is None, f'golden: {out}')
    # one cell of the table: the recipe run again differs at a step, and diff knows the element
    (work / 'g/data.csv').write_text((work / 'data.csv').read_text().replace('\n3.3,', '\n3.4,', 1))
    code, out, err = call('golden', 'check', 'g')
    one = out['goldens'][0]
    value = one['diff'] and one['diff']['value']
    check(code == 3 and one['status'] == 'RP_EBITS' and one['difference'] is None, f'golden: exit {code}: {one}')
    check(value and one['diff']['step'] == 1 and f'element [{",".join(map(str, value["element"]))}]' in one['message']
          and value['a']['value'] in one['message'] and value['b']['value'] in one['message'], f'golden: {one}')
    # its archive changed, so that it does not replay
    shutil.copy(work / 'data.csv', work / 'g')
    forge('outputs/predictions.csv', 'm[-2] ^= 1')
    shutil.move(work / 'forged.reprise', work / 'g/r.reprise')
    index = json.loads((work / 'g/golden.json').read_text())
    (row,) = index['goldens'].values() if isinstance(index['goldens'], dict) else index['goldens']
    row['archive_id'] = call('inspect', 'g/r.reprise')[1]['archive_id']
    import hashlib
    row['sha256'] = hashlib.sha256((work / 'g/r.reprise').read_bytes()).hexdigest()
    (work / 'g/golden.json').write_text(json.dumps(index))
    code, out, _ = call('golden', 'check', 'g')
    d = out['goldens'][0]['difference']
    check(code == 3 and d and d['member'] == 'outputs/predictions.csv' and d['value'] == 'SHA-256'
          and d['expected'] in out['goldens'][0]['message'], f'golden: {out}')


def cells():
    """An element of the prepared data is told as the cells it was made of: by line, whatever was skipped and left out."""
    head = ['# of May', 'id,age,kind,day,y']
    rows = [f'{i},{20 + i % 37},{"abc"[i % 3]},2024-0{1 + i % 9}-1{i % 9},{"yes" if i * 7 % 17 > 8 else "no"}'
            for i in range(60)]
    recipe = ('reprise: 1\ndata: {csv: %s.csv, target: y, positive: "yes", skip_lines: 1, stratify: false, columns: {id: ignore, day: date},\n'
              '  where: [{column: kind, is: "!=", value: b}]}\nmodel: {hidden: [3]}\ntrain: {epochs: 2}\n')
    # (row, column, its text there, what stands there before): ages of a row that trains and one that validates, a day
    cases = {'first': [], 'age': [(3, 1, '41', '23')], 'other': [(9, 1, '77', '29')], 'target': [(33, 4, 'no', 'yes')]}
    for name, changes in cases.items():
        changed = [row.split(',') for row in rows]
        for row, column, text, _ in changes:
            changed[row][column] = text
        (work / f'{name}.csv').write_text('\n'.join(head + [','.join(row) for row in changed]) + '\n')
        (work / f'{name}.yaml').write_text(recipe % name)
        check(call('run', f'{name}.yaml', '-o', f'{name}.reprise')[0] == 0, f'run {name}')
    for name, changes in cases.items():
        for row, column, text, before in changes:
            code, out, _ = call('diff', 'first.reprise', f'{name}.reprise')
            cell = (out['difference']['value'] or {}).get('cell')
            line = row + 3
            names = ['id', 'age', 'kind', 'day', 'y']
            if name == 'other':  # it trains, so that mean and deviation move: the first element is of another row, the same cells
                check(code == 3 and cell and cell['name'] == 'age' and cell['a'] == cell['b'] and rows[cell['a']['line'] - 3]
                      .split(',')[1] == cell['a']['cell'], f'{name}: {out["difference"]}')
                continue
            check(code == 3 and cell == {'a': {'cell': before, 'line': line}, 'b': {'cell': text, 'line': line},
                                         'column': column, 'name': names[column]}, f'{name}: {out["difference"]}')
            check(any(f'column "{names[column]}": A line {line}: "{before}", B line {line}: "{text}"' in t for t in out['text']),
                  f'{name}: {out["text"]}')


def main():
    rows = ['x,kind,y'] + [f'{i % 17}.{i % 7},{"abc"[i % 3]},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(80)]
    (work / 'data.csv').write_text('\n'.join(rows) + '\n')
    text = ('reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\nmodel: {hidden: [3]}\n'
            'train: {epochs: 2}\nrecord: {checkpoint_every: 2}\n')
    (work / 'r.yaml').write_text(text)
    (work / 's.yaml').write_text(text + 'search: {over: {lr: [0.1, 0.2]}}\n')
    call('keygen', 'me')
    for name in ('r', 's'):
        done = call('run', f'{name}.yaml', '-o', f'{"a" if name == "r" else name}.reprise')
        check(done[0] == 0, done)
    record = 'at = 2 * 128 + '
    replayed('run/journal.bin', record + '112\nm[at] ^= 1', {'member': None, 'step': 2, 'value': 'loss'})
    replayed('run/journal.bin', record + '16\nm[at] ^= 1', {'step': 2, 'value': 'digest of the feeds'})
    replayed('run/journal.bin', record + '80\nm[at] ^= 1', {'step': 2, 'value': 'digest of the state'})
    replayed('outputs/predictions.csv', 'm[-2] ^= 1', {'member': 'outputs/predictions.csv', 'step': None, 'value': 'SHA-256'})
    replayed('outputs/reference.json', 'm = None',
             {'member': 'outputs/reference.json', 'value': None, 'expected': None, 'found': 'present'})
    replayed('checkpoints/000000000004.safetensors', 'm[-1] ^= 1', {'value': 'digest of the states', 'step': 3},
             '--steps', '4:5')
    replayed('outputs/trials.json', 'm["variants"][0]["trials"][0]["steps"] += 1',
             {'member': 'outputs/trials.json', 'step': None}, source_name='s.reprise')
    forge('outputs/predictions.csv', 'm[-2] ^= 1')
    code, out, err = call('replay', 'forged.reprise', '--attest', '--key', 'me.pem')
    check(code == 3 and 'attested in' in err and out['error']['difference']['value'] == 'SHA-256', f'attested: {out}')
    # what is no difference of bits has none
    code, out, _ = call('replay', 'nothing')
    check(code == 1 and out['error']['difference'] is None, f'no archive: {out}')
    goldens()
    cells()
    shutil.rmtree(work)
    for failure in failures[:20]:
        print('FAIL:', failure)
    print(f'{checks} checks, {len(failures)} failures')
    sys.exit(bool(failures))


main()
