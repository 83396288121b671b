# SPDX-License-Identifier: Apache-2.0
"""docs/json.md says what --json gives: outputs of every command against its tables, both ways.
Usage: json_outputs.py REPRISE SOURCE_DIR"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

reprise, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
work = pathlib.Path(tempfile.mkdtemp())
failures, seen = [], set()
TYPES = {'text': str, 'integer': int, 'number': (int, float), 'boolean': bool, 'object': dict, 'array': list,
         'null': type(None)}


def tables():
    known = {}
    for section in (source / 'docs/json.md').read_text().split('\n## ')[1:]:
        title, body = section.split('\n', 1)
        rows = dict(re.findall(r'^\| `(\w+)` \| ([a-z ()]+) \|', body, re.M))
        for name in re.findall(r'`reprise ([^`]+)`', title) or [title]:
            known[name] = rows
    return known


def fits(value, kind):
    kinds = kind.replace('(optional)', '').strip().split(' or ')
    return any(isinstance(value, TYPES[k]) and (k == 'boolean' or not isinstance(value, bool)) for k in kinds)


def hold(known, name, output, where):
    rows = known.get(name)
    if rows is None:
        failures.append(f'docs/json.md has no section of {name}')
        return
    seen.add(name)
    if list(output)[:1] != ['schema'] or output['schema'] != 1:
        failures.append(f'{where}: the first key is not "schema": 1: {list(output)[:3]}')
    for key, value in output.items():
        if key != 'schema' and key not in rows:
            failures.append(f'{where}: key {key} is not in docs/json.md')
        elif key != 'schema' and not fits(value, rows[key]):
            failures.append(f'{where}: {key}: expected {rows[key]}, found {type(value).__name__}')
    for key, kind in rows.items():
        if key not in output and '(optional)' not in kind:
            failures.append(f'{where}: lacks {key}, which docs/json.md promises')


def main():
    known = tables()
    rows = ['x,kind,y'] + [f'{i % 17}.{i % 7},{"abc"[i % 3]},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(80)]
    (work / 'g').mkdir()
    text = 'reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\nmodel: {hidden: [3]}\ntrain: {epochs: 1}\n'
    for folder in (work, work / 'g'):
        (folder / 'data.csv').write_text('\n'.join(rows) + '\n')
        (folder / 'r.yaml').write_text(text)
    (work / 's.yaml').write_text(text + 'seed: 5\n')
    (work / 'l.yaml').write_text('reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\n')
    sign = '--key me.pem'
    calls = ['keygen me', f'run r.yaml -o a.reprise {sign}', 'run r.yaml --no-record', 'run s.yaml -o b.reprise',
             'run l.yaml -o l.reprise', 'scorecard l.reprise', 'explain l.reprise --csv data.csv',
             'compare a.reprise l.reprise', f'retrain a.reprise --csv data.csv -o again.reprise {sign}',
             'predict l.reprise --csv data.csv -o q.csv --reasons 2',
             'data r.yaml', 'data data.csv', 'verify a.reprise --trust me.pub.pem', 'verify b.reprise --allow-unsigned',
             'replay a.reprise', 'diff a.reprise a.reprise', 'diff a.reprise b.reprise', 'inspect a.reprise',
             'inspect a.reprise --programs',
             'inspect a.reprise --member run/recipe.json -o recipe.json', 'predict a.reprise --csv data.csv -o p.csv',
             'predict a.reprise --csv data.csv --compare p.csv', 'validate a.reprise --csv data.csv',
             'monitor a.reprise --csv data.csv', 'report a.reprise -o r.html', 'inventory a.reprise b.reprise',
             'golden record g', 'golden check g', f'sign b.reprise {sign}',
             f'approve a.reprise --role r --decision approve --reason x {sign} --trust me.pub.pem',
             f'finding a.reprise --id F --severity low --text t --owner o {sign} --due 2027-01-01T00:00:00Z',
             f'log init l --origin example.com/l {sign}', f'log add l a.reprise {sign}',
             'log prove l a.reprise -o proof', 'log check a.reprise --proof proof --trust me.pub.pem',
             'log attach a.reprise --proof proof', 'log verify l --trust me.pub.pem', 'log list l',
             'log consistency l l/checkpoint --trust me.pub.pem -o consistent',
             'log check l/checkpoint --proof consistent --trust me.pub.pem',
             'timestamp request a.reprise -o t.tsq', 'doctor', 'bench --only sum', 'help', 'help run', '--version']
    commands = json.loads(subprocess.run([reprise, 'help', '--json'], capture_output=True, check=True).stdout)['commands']
    names = [c['name'] for c in commands if not c['actions']]
    for line in calls:
        words = line.split()
        name = max((n for n in (*names, 'golden record', 'golden check', '--version')
                    if words[:len(n.split())] == n.split()), key=len)
        name += ' --member' if '--member' in words else ''
        done = subprocess.run([reprise, *words, '--json'], capture_output=True, cwd=work, timeout=120)
        if done.returncode not in (0, 3) or done.stdout.count(b'\n') != 1:
            failures.append(f'{line}: exit {done.returncode}: {done.stderr[:200]}')
            continue
        hold(known, name, json.loads(done.stdout), line)
    for line, code in (('verify data.csv --allow-unsigned', 4), ('run', 2), ('nothing', 2), ('inspect nothing', 1)):
        done = subprocess.run([reprise, *line.split(), '--json'], capture_output=True, cwd=work)
        output = json.loads(done.stdout)
        hold(known, 'errors', output, line)
        if (done.returncode, output['error']['exit']) != (code, code):
            failures.append(f'{line}: exit {done.returncode}, {output}')
    # who adds a command adds its table; these need what a test without a network or a certificate has not
    unseen = {'cert', 'timestamp attach', 'golden'}
    for name in names:
        if name not in seen | unseen or (name not in known and name != 'golden'):
            failures.append(f'{name}: not called here, or not in docs/json.md')
    shutil.rmtree(work)
    for failure in failures[:30]:
        print('FAIL:', failure)
    print(f'{len(calls)} outputs of {len(seen)} commands, {len(failures)} failures')
    sys.exit(bool(failures))


main()
