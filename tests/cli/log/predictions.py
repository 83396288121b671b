# SPDX-License-Identifier: Apache-2.0
"""A log of predictions: what predict --log appends, read here by docs/log.md alone; and that nothing in it can be changed,
cut, swapped or added without its key. Usage: predictions.py REPRISE"""
import base64
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

reprise = pathlib.Path(sys.argv[1]).resolve()
work = pathlib.Path(tempfile.mkdtemp())
failures, checks = [], 0


def check(held, what):
    global checks
    checks += 1
    if not held:
        failures.append(what)


def call(*words):
    done = subprocess.run([reprise, *words], cwd=work, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode(errors='replace')


def gives(code, said, *words):
    found = call(*words)
    check(found[0] == code and said in found[1] + found[2], f'{" ".join(words)}: exit {found[0]}, expected {code} and {said!r}: '
          f'{found[1][-200:]}{found[2]}')
    return found[1]


def predict(out, *options, log='l', key='log.pem', code=0, said='', archive='a.reprise'):
    return gives(code, said, 'predict', archive, '--csv', 'data.csv', '-o', out, '--force', '--log', log, '--key', key,
                 *options)


def sha256(data):
    return hashlib.sha256(data).digest()


def root(leaves):
    """RFC 6962, 2.1."""
    if len(leaves) == 1:
        return leaves[0]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b'\1' + root(leaves[:k]) + root(leaves[k:]))


def follow(leaf, index, size, path):
    """RFC 9162, 2.1.3.2."""
    fn, sn, r = index, size - 1, leaf
    for p in path:
        if fn & 1 or fn == sn:
            r = sha256(b'\1' + p + r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = sha256(b'\1' + r + p)
        fn, sn = fn >> 1, sn >> 1
    return r


def read_by_the_text(count):
    """The folder by docs/log.md, sections 2, 3 and 6."""
    lines = (work / 'l/predictions').read_bytes().split(b'\n')
    entries = (work / 'l/entries').read_text().split('\n')
    head = (work / 'l/checkpoint').read_text().split('\n')
    check(lines[-1] == b'' and entries[-1] == '' and len(lines) == len(entries) == count + 1, f'{len(lines)} lines')
    previous = None
    for i, line in enumerate(lines[:-1]):
        record = json.loads(line)
        check(json.dumps(record, sort_keys=True, separators=(',', ':')).encode() == line, f'record {i}: not canonical')
        check(entries[i] == sha256(line).hex(), f'record {i}: its SHA-256 is not the entry')
        check(record['index'] == i and record['previous'] == previous and record['log'] == 1, f'record {i}: {record}')
        check(sorted(record) == ['archive_id', 'index', 'log', 'predictions', 'previous', 'rows', 'time'], f'{record}')
        previous = entries[i]
    leaves = [sha256(b'\0' + bytes.fromhex(e)) for e in entries[:-1]]
    check(head[1] == str(count) and base64.b64decode(head[2]) == root(leaves) and head[3:5] == ['predictions', ''],
          f'checkpoint: {head[:5]}')
    return [json.loads(line) for line in lines[:-1]]


def what_is_logged():
    gives(0, 'begun, empty', 'log', 'init', 'l', '--origin', 'example.com/scores', '--key', 'log.pem')
    predict('0.csv', said='l: entry 0')
    predict('1.csv', '--flags', said='l: entry 1')
    done = json.loads(predict('2.csv', '--id', 'x', '--json'))
    records = read_by_the_text(3)
    archive = json.loads(call('inspect', 'a.reprise', '--json')[1])['archive_id']
    rows = (work / 'data.csv').read_bytes()
    for i, record in enumerate(records):
        made = (work / f'{i}.csv').read_bytes()
        check(record['archive_id'] == archive and record['rows'] == {'bytes': len(rows), 'sha256': sha256(rows).hex()}
              and record['predictions'] == {'rows': 80, 'sha256': sha256(made).hex()}, f'record {i}: {record}')
        check(abs(time.mktime(time.strptime(record['time'], '%Y-%m-%dT%H:%M:%SZ')) - time.mktime(time.gmtime())) < 600,
              f'record {i}: {record["time"]}')
    check(done['logged']['index'] == 2 and done['logged']['predictions_sha256'] == records[2]['predictions']['sha256'],
          f'--json: {done}')
    gives(0, 'every record of a prediction under its entry', 'log', 'verify', 'l', '--trust', 'log.pub.pem')
    listed = gives(0, records[1]['predictions']['sha256'], 'log', 'list', 'l')
    check(len(listed.splitlines()) == 3, listed)


def proofs():
    gives(0, 'written', 'log', 'prove', 'l', '1.csv', '-o', 'proof')
    gives(0, 'entry 1 of 3', 'log', 'check', '1.csv', '--proof', 'proof', '--trust', 'log.pub.pem')
    gives(4, 'is of predictions with the SHA-256', 'log', 'check', '0.csv', '--proof', 'proof', '--trust', 'log.pub.pem')
    gives(4, 'no trusted key signed', 'log', 'check', '1.csv', '--proof', 'proof', '--trust', 'other.pub.pem')
    gives(4, 'no record is of predictions', 'log', 'prove', 'l', 'data.csv')
    gives(4, 'extra data is of predictions only', 'log', 'attach', 'a.reprise', '--proof', 'proof')
    # by the text alone
    text = (work / 'proof').read_text()
    lines, checkpoint = text.split('\n\n', 1)
    word, extra, index, *path = lines.split('\n')
    record = base64.b64decode(extra.removeprefix('extra '))
    leaf = sha256(b'\0' + sha256(record))
    check(word == 'c2sp.org/tlog-proof@v1' and index == 'index 1' and
          follow(leaf, 1, 3, [base64.b64decode(p) for p in path]) == base64.b64decode(checkpoint.split('\n')[2]),
          'the proof by RFC 9162')
    check(json.loads(record)['predictions']['sha256'] == sha256((work / '1.csv').read_bytes()).hex(), 'its record')
    # any other character of it is refused
    draw = random.Random(7)
    for at in sorted(draw.sample(range(len(text)), 60)):
        other = 'A' if text[at] != 'A' else 'B'
        (work / 'changed').write_text(text[:at] + other + text[at + 1:])
        gives(4, '', 'log', 'check', '1.csv', '--proof', 'changed', '--trust', 'log.pub.pem')
    # another record at its place, with everything else right
    other = base64.b64encode(record.replace(b'"rows":80', b'"rows":81')).decode()
    (work / 'changed').write_text(text.replace(extra, 'extra ' + other))
    gives(4, 'does not show its record', 'log', 'check', '1.csv', '--proof', 'changed', '--trust', 'log.pub.pem')


def tampered(what, change, said, verify=4, add=4):
    """A copy of the log, changed: verify and the next prediction refuse it, and nothing is written."""
    shutil.rmtree(work / 't', ignore_errors=True)
    shutil.copytree(work / 'l', work / 't')
    change(work / 't')
    before = {p.name: p.read_bytes() for p in (work / 't').iterdir()}
    gives(verify, said if verify else '', 'log', 'verify', 't', '--trust', 'log.pub.pem')
    (work / 'never.csv').unlink(missing_ok=True)
    predict('never.csv', log='t', code=add)
    check((work / 'never.csv').exists() == (add == 0), f'{what}: predictions that are not logged were written')
    if add:
        check({p.name: p.read_bytes() for p in (work / 't').iterdir()} == before, f'{what}: the log was touched')


def edit(name, change):
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def lines_of(change):
    return lambda data: b''.join(change(data.splitlines(keepends=True)))


def tampering():
    tampered('every record changed', edit('predictions', lambda d: d.replace(b'"rows":80', b'"rows":79')),
             'record 0 was changed')
    tampered('one record changed', edit('predictions', lines_of(lambda x: [x[0], x[1].replace(b'80', b'81'), x[2]])),
             'record 1 was changed', add=0)  # an add looks at the end alone; verify at all
    tampered('the last record changed', edit('predictions', lines_of(lambda x: [*x[:2], x[2].replace(b'80', b'81')])),
             'record 2 was changed')
    tampered('swapped', edit('predictions', lines_of(lambda x: [x[1], x[0], x[2]])), 'record 0 was changed', add=0)
    tampered('the tail cut', edit('predictions', lines_of(lambda x: x[:2])), 'record 2 is missing')
    tampered('all cut', edit('predictions', lambda d: b''), 'record 0 is missing')
    tampered('a line put in', edit('predictions', lines_of(lambda x: [x[0], x[0], *x[1:]])), 'record 1 was changed', add=0)
    tampered('no newline', edit('predictions', lambda d: d[:-1]), 'record 2 is no line')
    tampered('a long line', edit('predictions', lambda d: b'x' * 5000 + d), 'record 0 is no line', add=0)
    tampered('the file gone', lambda folder: (folder / 'predictions').unlink(), 'its records were removed')
    tampered('the kind changed', edit('checkpoint', lambda d: d.replace(b'\npredictions\n', b'\n')),
             'signature')
    tampered('entries cut', edit('entries', lines_of(lambda x: x[:2])), 'entries were removed')
    tampered('entries swapped', edit('entries', lines_of(lambda x: [x[1], x[0], x[2]])), 'entries were changed')

    def both_swapped(folder):
        for name in ('entries', 'predictions'):
            edit(name, lines_of(lambda x: [x[1], x[0], x[2]]))(folder)
    tampered('both swapped', both_swapped, 'entries were changed')

    def both_cut(folder):
        for name in ('entries', 'predictions'):
            edit(name, lines_of(lambda x: x[:2]))(folder)
    tampered('both cut', both_cut, 'entries were removed')

    # what no checkpoint covers is no entry, and the next add cuts it off
    def unfinished(folder):
        edit('predictions', lambda d: d + d.splitlines(keepends=True)[0] + b'{"arch')(folder)
        edit('entries', lambda d: d + b'abc')(folder)
    tampered('unfinished', unfinished, '', verify=0, add=0)
    gives(0, '4 entries', 'log', 'verify', 't', '--trust', 'log.pub.pem')
    # a copy of the last record is none; many of them nobody's add has left
    tampered('a copy', edit('predictions', lambda d: d + d.splitlines(keepends=True)[-1]), '', verify=0, add=0)
    gives(0, '4 entries', 'log', 'verify', 't', '--trust', 'log.pub.pem')
    edit('predictions', lambda d: d + d.splitlines(keepends=True)[-1] * 20)(work / 't')
    predict('never.csv', log='t', code=4, said='lies more than an add leaves')
    shutil.rmtree(work / 't')
    shutil.copytree(work / 'l', work / 't')
    predict('never.csv', log='t')
    # an older state is right in itself: who kept a newer checkpoint sees it
    shutil.copy(work / 't/checkpoint', work / 'newer')
    gives(4, 'entries were removed', 'log', 'consistency', 'l', 'newer', '--trust', 'log.pub.pem')
    gives(0, '', 'log', 'consistency', 't', 'l/checkpoint', '--trust', 'log.pub.pem')


def refused():
    (work / 'never.csv').unlink(missing_ok=True)
    predict('never.csv', key='other.pem', code=4)
    predict('never.csv', key='log.pub.pem', code=2, said='private key')
    predict('never.csv', log='nothing', code=1)
    gives(0, '', 'log', 'init', 'r', '--origin', 'example.com/runs', '--key', 'log.pem')
    # of a first prediction whose add was killed its record may lie there, and it is a log of runs nevertheless
    (work / 'r/predictions').write_bytes((work / 'l/predictions').read_bytes().splitlines(keepends=True)[0])
    gives(0, '', 'log', 'add', 'r', 'a.reprise', '--key', 'log.pem')
    check(not (work / 'r/predictions').exists(), 'the record of an add that was killed is left')
    gives(0, '', 'log', 'verify', 'r', '--trust', 'log.pub.pem')
    gives(0, '', 'log', 'prove', 'r', 'a.reprise', '-o', 'of-a-run')
    predict('never.csv', log='r', code=2, said='is a log of runs')
    shutil.copy(work / 'l/predictions', work / 'r/predictions')
    gives(4, 'it was put there', 'log', 'verify', 'r', '--trust', 'log.pub.pem')
    (work / 'r/predictions').unlink()
    gives(2, 'is a log of predictions', 'log', 'add', 'l', 'a.reprise', '--key', 'log.pem')
    gives(2, 'give --log LOG and --key', 'predict', 'a.reprise', '--csv', 'data.csv', '-o', 'never.csv', '--log', 'l')
    gives(2, 'give --log LOG and --key', 'predict', 'a.reprise', '--csv', 'data.csv', '-o', 'never.csv', '--key', 'log.pem')
    gives(2, 'that --out FILE writes', 'predict', 'a.reprise', '--csv', 'data.csv', '--compare', '0.csv', '--log', 'l',
          '--key', 'log.pem')
    check(not (work / 'never.csv').exists(), 'predictions that are not logged were written')
    before = {p.name: p.read_bytes() for p in (work / 'l').iterdir()}
    for name in ('predictions', 'entries', 'checkpoint', 'x'):
        predict(f'l/{name}', code=2, said='lies in the folder of the log')
    predict('nowhere/x.csv', code=1, said='nothing was logged')
    (work / 'folder').mkdir()
    predict('folder', code=2, said='is a directory')
    os.mkfifo(work / 'pipe')
    predict('pipe', code=2, said='is not a regular file')
    check({p.name: p.read_bytes() for p in (work / 'l').iterdir()} == before, 'the log was touched')


def together():
    """Processes that append at the same time, and some that are killed while they do."""
    words = [reprise, 'predict', 'a.reprise', '--csv', 'data.csv', '-o', '-', '--log', 'l', '--key', 'log.pem', '--threads', '1']
    running = [subprocess.Popen(words, cwd=work, stdout=subprocess.DEVNULL) for _ in range(12)]
    check(all(p.wait() == 0 for p in running), 'appending at the same time')
    records = read_by_the_text(15)
    draw, killed = random.Random(3), 0
    for _ in range(25):
        process = subprocess.Popen(words, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, 0.02))
        process.kill()
        killed += process.wait() != 0
    gives(0, 'every record', 'log', 'verify', 'l', '--trust', 'log.pub.pem')
    predict('last.csv')
    size = json.loads(call('log', 'list', 'l', '--json')[1])['size']
    check(size > len(records), f'{size} entries')
    read_by_the_text(size)
    print(f'{killed} of 25 killed, {size} entries')


def main():
    rows = ['x,kind,y'] + [f'{i % 17}.{i % 7},{"abc"[i % 3]},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(80)]
    (work / 'data.csv').write_text('\n'.join(rows) + '\n')
    (work / 'r.yaml').write_text('reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\nmodel: {hidden: [3]}\n'
                                 'train: {epochs: 1}\n')
    for words in (('run', 'r.yaml', '-o', 'a.reprise'), ('keygen', 'log'), ('keygen', 'other')):
        gives(0, '', *words)
    what_is_logged()
    proofs()
    tampering()
    refused()
    together()
    shutil.rmtree(work)
    for failure in failures[:20]:
        print('FAIL:', failure)
    print(f'{checks} checks, {len(failures)} failures')
    sys.exit(bool(failures))


main()
