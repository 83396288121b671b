# SPDX-License-Identifier: Apache-2.0
"""Exit codes: what was given may be as hostile as it likes, the code is 1 (cannot be read, wrong data), 4 (not what it
says) or 5 (of a version that this build does not know), and never 2, which is for a wrong call; a hostile recipe is the
call itself and may be 2. One line on stderr, nothing else. Every command that takes a file gets the fuzzers' corpus and
files made here. Usage: exits.py REPRISE SOURCE_DIR [EVERY]; EVERY 3 takes each third file: a sanitized command is slow to
start, and the fuzz targets read the whole corpus under sanitizers."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

reprise, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
corpus = source / 'tests/fuzz/corpus'
work = pathlib.Path(tempfile.mkdtemp())
failures, checks = [], 0


def call(*words):
    return subprocess.run([str(reprise), *map(str, words)], capture_output=True, timeout=120, cwd=work)


def refused(allowed, *words):
    """Refused with one of these codes, or accepted: a corpus also holds what is in order."""
    global checks
    checks += 1
    done = call(*words)
    if b'what is not signed is not dated' in done.stderr:
        allowed = {2}  # of an archive in order, that has no signature to date
    if done.returncode not in allowed:
        failures.append(f'exit {done.returncode}, expected one of {sorted(allowed)}: {words}: {done.stderr[:300]}')
    elif done.returncode not in (0, 3) and (done.stderr.count(b'\n') != 1 or not done.stderr.startswith(b'reprise: ')):
        failures.append(f'not one line on stderr: {words}: {done.stderr[:300]}')
    return done.returncode


def prepare():
    rows = ['x,kind,y'] + [f'{i % 17}.{i % 7},{"abc"[i % 3]},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(80)]
    (work / 'data.csv').write_text('\n'.join(rows) + '\n')
    (work / 'r.yaml').write_text('reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\nmodel: {hidden: [3]}\n'
                                 'train: {epochs: 1}\n')
    (work / 'c.yaml').write_text((work / 'r.yaml').read_text() + 'parent: {archive: a.reprise, mode: retrain}\n')
    for words in (('keygen', 'me'), ('run', 'r.yaml', '-o', 'a.reprise', '--key', 'me.pem'),
                  ('run', 'c.yaml', '-o', 'child.reprise', '--key', 'me.pem'),
                  ('log', 'init', 'l', '--origin', 'example.com/l', '--key', 'me.pem'),
                  ('log', 'add', 'l', 'a.reprise', '--key', 'me.pem'),
                  ('log', 'prove', 'l', 'a.reprise', '-o', 'proof'),
                  ('timestamp', 'request', 'a.reprise', '-o', 'q.tsq'),
                  ('validate', 'a.reprise', '--csv', 'data.csv', '-o', 'v.json')):
        done = call(*words)
        assert done.returncode == 0, (words, done.stderr)


def hostile():
    """Files that are nothing, or nearly something."""
    whole = (work / 'a.reprise').read_bytes()
    folder = work / 'hostile'
    folder.mkdir()
    for name, content in (('empty', b''), ('zeros', bytes(4096)), ('text', b'hello\n'), ('binary', bytes(range(256)) * 8),
                          ('deep', b'[' * 100000), ('json', b'{"a": 1}'), ('long', b'x' * 300000),
                          ('cut', whole[:len(whole) // 2]), ('flip', whole[:700] + b'!' + whole[701:]),
                          ('pem', b'-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')):
        (folder / name).write_bytes(content)
    return sorted(folder.iterdir())


def of_kind(kind, most=40):
    files = sorted(p for p in (corpus / kind).iterdir() if p.is_file())
    return files[::max(1, len(files) // most)][::every]


def archives(path):
    """Every command that opens an archive; it is copied, as some would add to it."""
    taken = work / 'taken.reprise'
    row = ('--csv', 'data.csv')
    shutil.copy(path, taken)
    for words in (('verify', taken, '--allow-unsigned'), ('verify', taken, '--trust', 'me.pub.pem'), ('inspect', taken),
                  ('inspect', taken, '--programs'), ('inspect', taken, '--member', 'manifest.json'), ('replay', taken),
                  ('diff', 'a.reprise', taken), ('diff', taken, 'a.reprise'),
                  ('report', taken, '-o', 'out.html', '--force'), ('predict', taken, *row, '-o', '-'),
                  ('predict', taken, *row, '-o', '-', '--reasons', '2', '--steps', '1'), ('scorecard', taken),
                  ('explain', taken, *row, '--repeats', '1', '--grid', '1'), ('compare', 'a.reprise', taken),
                  ('compare', taken, 'a.reprise'), ('inventory', taken),
                  ('retrain', taken, *row, '-o', 'out.reprise', '--force'), ('retrain', 'a.reprise', '--child', taken),
                  ('retrain', taken, '--child', 'a.reprise'), ('validate', taken, '--part', 'test'),
                  ('validate', 'child.reprise', *row, '--parent', taken),
                  ('verify', 'child.reprise', '--allow-unsigned', '--parent', taken),
                  ('replay', 'child.reprise', '--parent', taken),
                  ('report', 'child.reprise', '-o', 'out.html', '--force', '--parent', taken),
                  ('validate', taken, *row, '-o', 'out.json', '--force'),
                  ('monitor', taken, *row, '-o', 'out.json', '--force'),
                  ('sign', taken, '--key', 'me.pem'), ('cert', taken, 'me.pub.pem'),
                  ('approve', taken, '--role', 'r', '--decision', 'approve', '--reason', 'x', '--key', 'me.pem',
                   '--allow-unsigned'),
                  ('log', 'attach', taken, '--proof', 'proof', '--force'), ('log', 'prove', 'l', taken),
                  ('log', 'add', 'l', taken, '--key', 'me.pem'),
                  ('timestamp', 'request', taken, '-o', 'out.tsq', '--force')):
        # a certificate file that holds a public key is a wrong call, whatever the archive is
        refused({0, 1, 3, 4, 5} | ({2} if words[0] == 'cert' else set()), *words)


def unwritable():
    """Where an output cannot be written, the error names it: every command with -o, and what else makes a file or folder."""
    calls = {'run': 'run r.yaml -o @', 'retrain': 'retrain a.reprise --csv data.csv -o @',
             'predict': 'predict a.reprise --csv data.csv -o @', 'report': 'report a.reprise -o @',
             'validate': 'validate a.reprise --csv data.csv -o @', 'monitor': 'monitor a.reprise --csv data.csv -o @',
             'explain': 'explain a.reprise --csv data.csv --repeats 1 --grid 1 -o @', 'scorecard': 'scorecard l.reprise -o @',
             'continue': f'continue {source}/golden/text.reprise --prompt x --tokens 1 -o @',
             'inspect': 'inspect a.reprise --member manifest.json -o @', 'log prove': 'log prove l a.reprise -o @',
             'log consistency': 'log consistency l l/checkpoint --trust me.pub.pem -o @',
             'timestamp request': 'timestamp request a.reprise -o @', 'a': 'golden check goldens --junit @',
             'b': 'run r.yaml -o new.reprise --withhold @', 'c': 'keygen @', 'd': 'help --share @',
             'e': 'log init @ --origin example.com/x --key me.pem'}
    global checks
    table = json.loads(call('help', '--json').stdout)['commands']
    there = {c['name'] for c in table if any(o['letter'] == 'o' for o in c['options'])}
    if there - calls.keys():
        failures.append(f'unwritable outputs of {sorted(there - calls.keys())} are not tried')
    (work / 'goldens').mkdir()
    for name in ('r.yaml', 'data.csv'):
        shutil.copy(work / name, work / 'goldens')
    call('golden', 'record', 'goldens')
    (work / 'l.yaml').write_text('reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\n')
    call('run', 'l.yaml', '-o', 'l.reprise')
    (work / 'folder').mkdir()
    for name, line in calls.items():
        for path in ('nowhere/x', 'data.csv/x', 'folder', 'x' * 300):
            if path == 'folder' and name in 'bcde' or path == 'nowhere/x' and name == 'd':
                continue  # which they may make, or lies beside their files
            checks += 1
            done = call(*[w.replace('@', path) for w in line.split()])
            if done.returncode not in (1, 2) or path.encode() not in done.stderr or done.stderr.count(b'\n') != 1:
                failures.append(f'{line}, {path[:20]}: exit {done.returncode}: {done.stderr[:300]}')


def main():
    prepare()
    unwritable()
    made = hostile()
    for path in made + of_kind('archive', 12):
        archives(path)
    # what else comes from others: tables, statements, proofs, responses
    for path in made + of_kind('csv'):
        shutil.copy(path, work / 'rows.csv')
        refused({0, 1, 4}, 'data', 'rows.csv')
        refused({0, 1, 4}, 'retrain', 'a.reprise', '--child', 'a.reprise', '--rows', 'rows.csv')
        refused({0, 1, 4}, 'predict', 'a.reprise', '--csv', 'rows.csv', '-o', '-')
        refused({0, 1, 4}, 'monitor', 'a.reprise', '--csv', 'rows.csv')
        refused({0, 1, 4}, 'validate', 'a.reprise', '--csv', 'rows.csv')
        refused({0, 1, 4}, 'retrain', 'a.reprise', '--csv', 'rows.csv', '-o', 'out.reprise', '--force')
        refused({0, 1, 4}, 'explain', 'a.reprise', '--csv', 'rows.csv', '--repeats', '1', '--grid', '1')
        refused({0, 1, 4}, 'predict', 'a.reprise', '--csv', 'rows.csv', '-o', '-', '--contributions', '--steps', '1')
        refused({0, 1, 3, 4}, 'predict', 'a.reprise', '--csv', 'data.csv', '--compare', 'rows.csv')
    for path in made + of_kind('validation') + of_kind('dsse'):
        shutil.copy(path, work / 'statement')
        refused({0, 1, 3, 4, 5}, 'validate', 'a.reprise', '--csv', 'data.csv', '--check', 'statement')
        refused({0, 1, 3, 4, 5}, 'monitor', 'a.reprise', '--csv', 'data.csv', '--previous', 'statement')
        refused({0, 1, 3, 4, 5}, 'retrain', 'a.reprise', '--child', 'a.reprise', '--check', 'statement')
        refused({0, 1, 3, 4, 5}, 'scorecard', 'a.reprise', '--check', 'statement')
        refused({0, 1, 3, 4, 5}, 'explain', 'a.reprise', '--csv', 'data.csv', '--check', 'statement')
    for path in made + of_kind('log'):
        shutil.copy(path, work / 'other')
        refused({1, 4}, 'log', 'check', 'a.reprise', '--proof', 'other', '--trust', 'me.pub.pem')
        refused({1, 4}, 'log', 'attach', 'a.reprise', '--proof', 'other')
        refused({0, 1, 4}, 'log', 'consistency', 'l', 'other', '--trust', 'me.pub.pem')
        shutil.copytree(work / 'l', work / 'l2')
        shutil.copy(path, work / 'l2/checkpoint')
        refused({0, 1, 4}, 'log', 'verify', 'l2', '--trust', 'me.pub.pem')
        shutil.rmtree(work / 'l2')
    for path in made + of_kind('timestamp'):
        shutil.copy(path, work / 'other')
        refused({1, 4}, 'timestamp', 'attach', 'a.reprise', 'other', '--request', 'q.tsq')
    for path in made + of_kind('recipe', 20):
        shutil.copy(path, work / 'other.yaml')
        refused({0, 1, 2, 4, 5}, 'run', 'other.yaml', '-o', 'out.reprise', '--force')
        refused({0, 1, 2, 4, 5}, 'data', 'other.yaml')
    # a folder of goldens is a wrong one, whatever lies in it: what cannot be checked is 1, what was changed 4
    golden = work / 'golden'
    for path in made:
        golden.mkdir()
        shutil.copy(work / 'a.reprise', golden / 'a.reprise')
        shutil.copy(path, golden / 'golden.json')
        refused({1, 4}, 'golden', 'check', 'golden')
        (golden / 'golden.json').unlink()
        assert call('golden', 'record', 'golden').returncode == 0
        shutil.copy(path, golden / 'a.reprise')
        xml = work / 'out.xml'
        code = refused({1, 4}, 'golden', 'check', 'golden', '--junit', xml)
        text = xml.read_text() if xml.exists() else ''
        if (text.count('<failure ') + text.count('<error ')) != 1 or 'tests="1"' not in text:
            failures.append(f'golden check of {path.name}, exit {code}: JUnit: {text}')
        shutil.rmtree(golden)
    # a check that cannot begin leaves no silence, and no file of last time
    (work / 'nothing').mkdir()
    xml.write_text('<testsuites tests="1" failures="0" errors="0"/>')
    code = refused({1}, 'golden', 'check', 'nothing', '--junit', xml)
    if 'tests="1" failures="0" errors="1"' not in xml.read_text() or 'golden.json: not found' not in xml.read_text():
        failures.append(f'golden check of nothing, exit {code}: JUnit: {xml.read_text()}')
    # what differs is a failure, what cannot be checked an error
    call('golden', 'record', 'nothing')
    golden.mkdir()
    shutil.copy(work / 'r.yaml', golden / 'r.yaml')
    shutil.copy(work / 'data.csv', golden / 'data.csv')
    assert call('golden', 'record', 'golden').returncode == 0
    (golden / 'data.csv').write_text((work / 'data.csv').read_text().replace('1.1,', '1.2,', 1))
    for change, code, element in ((lambda: None, 3, 'failure type="RP_EBITS"'),
                                  ((golden / 'data.csv').unlink, 1, 'error type="RP_EIO"')):
        change()
        found = refused({code}, 'golden', 'check', 'golden', '--junit', xml)
        if f'<{element}' not in xml.read_text():
            failures.append(f'golden check, exit {found}: expected {element}: {xml.read_text()}')
    # an error is JSON too where JSON was asked for
    done = call('verify', made[0], '--allow-unsigned', '--json')
    if json.loads(done.stdout)['error']['exit'] != done.returncode:
        failures.append(f'--json: {done.stdout}')
    shutil.rmtree(work)
    for failure in failures[:30]:
        print('FAIL:', failure)
    print(f'{checks} calls, {len(failures)} failures')
    sys.exit(bool(failures))


main()
