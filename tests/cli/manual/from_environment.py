# SPDX-License-Identifier: Apache-2.0
"""REPRISE_KEY and REPRISE_TRUST: used where the call names no key, told when used, and never what makes a check weaker.
Usage: from_environment.py REPRISE REPRISE_VERIFY"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

reprise, verifier = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
work = pathlib.Path(tempfile.mkdtemp())
failures, checks = [], 0
TOLD_TRUST = 'reprise: from the environment: --trust me.pub.pem\n'
TOLD_KEY = 'reprise: from the environment: --key me.pem\n'
TOLD_BOTH = 'reprise: from the environment: --key me.pem, --trust me.pub.pem\n'
ME = {'REPRISE_KEY': 'me.pem', 'REPRISE_TRUST': 'me.pub.pem'}


def check(held, what):
    global checks
    checks += 1
    if not held:
        failures.append(what)


def call(line, environment=None, program=reprise):
    there = {k: v for k, v in os.environ.items() if not k.startswith('REPRISE_')}
    done = subprocess.run([program, *line.split()], cwd=work, capture_output=True, timeout=120,
                          env={**there, **(environment or {})})
    return done.returncode, done.stdout.decode(), done.stderr.decode('utf-8', 'replace')


def gives(line, code, said, environment=None, program=reprise):
    """The exit code, and all that stderr says; of an error a part of it, in one line."""
    found, out, err = call(line, environment, program)
    right = err == said if code in (0, 3) else said in err and err.count('\n') == 1
    check(found == code and right, f'{line}: {environment}: exit {found}, stderr {err!r}, expected {code} and {said!r}')
    return out


def used():
    """Each command that signs or trusts, with nothing but the environment."""
    out = json.loads(gives('run r.yaml -o a.reprise --json', 0, TOLD_KEY, ME))
    check(out['signed'] and out['from_environment'] == {'REPRISE_KEY': 'me.pem'}, f'run: {out}')
    check(list(out)[:2] == ['schema', 'from_environment'], f'run: {list(out)[:3]}')
    for program in (reprise, verifier):
        out = json.loads(gives('verify a.reprise --json', 0, TOLD_TRUST, ME, program))
        check(out['verified'] and out['from_environment'] == {'REPRISE_TRUST': 'me.pub.pem'}, f'verify: {out}')
    out = json.loads(gives('replay a.reprise --json', 0, TOLD_TRUST, ME))
    check(out['verified'] and out['attested'] is None, f'replay: {out}')
    for line, said in (('replay a.reprise --attest', TOLD_BOTH), ('sign a.reprise', TOLD_BOTH),
                       ('approve a.reprise --role r --decision approve --reason x', TOLD_BOTH),
                       ('finding a.reprise --id F --severity low --text t --owner o', TOLD_BOTH),
                       ('validate a.reprise --csv data.csv', TOLD_TRUST),
                       ('validate a.reprise --csv data.csv -o v.json', TOLD_BOTH),
                       ('validate a.reprise --csv data.csv --check v.json', TOLD_TRUST),
                       ('validate a.reprise --csv data.csv --attach', TOLD_BOTH),
                       ('monitor a.reprise --csv data.csv -o m.json', TOLD_BOTH),
                       ('explain a.reprise --csv data.csv --repeats 1 --grid 1', TOLD_TRUST),
                       ('explain a.reprise --csv data.csv --repeats 1 --grid 1 -o e.json', TOLD_BOTH),
                       ('predict a.reprise --csv data.csv -o p.csv', TOLD_TRUST),
                       ('report a.reprise -o r.html', TOLD_TRUST), ('inventory a.reprise', TOLD_TRUST)):
        gives(line, 0, said, ME)
    for statement in ('v.json', 'm.json', 'e.json'):
        check('"payload"' in (work / statement).read_text(), f'{statement} is not signed')
    check('Verified: signed by a trusted key' in (work / 'r.html').read_text(), 'report')


def not_used():
    """Nothing is said, and nothing else happens, where the call says it or there is nothing to sign."""
    out = json.loads(gives('run r.yaml --no-record --json', 0, '', ME))
    check(not out['signed'] and 'from_environment' not in out, f'run --no-record: {out}')
    other = {'REPRISE_KEY': 'other.pem', 'REPRISE_TRUST': 'other.pub.pem'}
    out = json.loads(gives('run r.yaml -o b.reprise --key me.pem --json', 0, '', other))
    check(out['key_id'] == key_id, f'run --key: {out}')
    gives('verify b.reprise --trust me.pub.pem', 0, '', other)
    gives('verify b.reprise', 4, 'from the environment: --trust other.pub.pem', other)
    gives('replay b.reprise', 4, 'from the environment: --trust other.pub.pem', other)
    # a key beside these would let more count, or refuse what the call accepts
    gives('verify u.reprise --allow-unsigned', 0, '', ME)
    gives('verify b.reprise --ca me.pub.pem', 2, 'me.pub.pem', ME)
    check('from the environment' not in call('verify b.reprise --ca me.pub.pem', ME)[2], 'verify --ca')
    (work / 'p.yaml').write_text('policy: 1\nname: p\ngroups: {other: [other.pub.pem]}\nbuilder: {of: other}\n')
    code, out, err = call('verify b.reprise --policy p.yaml', ME)
    check('from the environment' not in err and code == 4, f'policy: {err}')
    code, out, err = call('report b.reprise -o p.html --policy p.yaml', ME)
    check('from the environment' not in err, f'report --policy: {err}')
    gives('approve u.reprise --role r --decision approve --reason x --allow-unsigned', 0, TOLD_KEY, ME)
    # a verdict says what verify alone would: nothing is accepted by the environment that the call would refuse
    gives('verify u.reprise', 4, 'from the environment: --trust me.pub.pem', ME)
    gives('verify u.reprise', 2, 'whose signature counts?')
    # the keys of a log are its own
    for line in ('log init l --origin example.com/l', 'log add l b.reprise'):
        gives(line, 2, '--key KEY.pem is missing', ME)
    gives('log init l --origin example.com/l --key me.pem', 0, '', other)
    gives('log verify l --trust me.pub.pem', 0, '', other)
    gives('log list l', 0, '', other)


def hostile():
    (work / 'folder').mkdir()
    (work / 'empty').write_bytes(b'')
    (work / 'binary').write_bytes(bytes(range(256)) * 40)
    for name, code, said in (('', 2, 'is set and empty: unset it, name a file'), ('folder', 1, 'folder'),
                             ('missing.pem', 1, 'missing.pem'), ('empty', 1, 'empty'), ('binary', 1, 'binary'),
                             ('x' * 100000, 1, 'xxx'), ('a\nb\x1b[31m\u202e', 1, 'a?b'), ('data.csv', 1, 'data.csv')):
        for line, variable in (('run r.yaml -o c.reprise', 'REPRISE_KEY'), ('replay b.reprise', 'REPRISE_TRUST')):
            found, out, err = call(line, {variable: name})
            where = variable if not name else 'from the environment: --'
            check(found in (1, 2, 4) and (code != 2 or found == 2) and said in err and where in err and not out
                  and err.count('\n') == 1 and '\x1b' not in err, f'{variable}={name[:20]!r}: exit {found}: {err!r}')
            check(not (work / 'c.reprise').exists(), f'{variable}={name[:20]!r}: an archive')
    # bytes that are no characters
    done = subprocess.run([reprise, 'replay', 'b.reprise', '--json'], cwd=work, capture_output=True,
                          env={**os.environ, 'REPRISE_TRUST': b'\xff\xfe.pem'})
    out = json.loads(done.stdout)
    check(done.returncode == 1 and out['error']['exit'] == 1 and 'REPRISE_TRUST' in out['from_environment'],
          f'not UTF-8: {done.stdout} {done.stderr}')


def main():
    global key_id
    rows = ['x,kind,y'] + [f'{i % 17}.{i % 7},{"abc"[i % 3]},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(80)]
    (work / 'data.csv').write_text('\n'.join(rows) + '\n')
    (work / 'r.yaml').write_text('reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\nmodel: {hidden: [3]}\n'
                                 'train: {epochs: 1}\n')
    key_id = json.loads(gives('keygen me --json', 0, ''))['key_id']
    gives('keygen other', 0, '')
    gives('run r.yaml -o u.reprise', 0, '')
    used()
    not_used()
    hostile()
    shutil.rmtree(work)
    for failure in failures[:20]:
        print('FAIL:', failure)
    print(f'{checks} checks, {len(failures)} failures')
    sys.exit(bool(failures))


main()
