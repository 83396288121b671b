#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reprise export --tensorboard, read back by a reader of event files that is written here from their description alone:
TFRecords with both checksums, Event protobufs, scalars. Every loss is the journal's, the metrics are those of the archive, and
the bytes are the same each time. Usage: events.py REPRISE SOURCE_DIR"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

reprise, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
failures = []


def check(truth, what):
    if not truth:
        failures.append(str(what)[:300])


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, = struct.unpack_from('<Q', data, at)
        check(struct.unpack_from('<I', data, at + 8)[0] == masked(data[at:at + 8]), f'checksum of a length at {at}')
        body = data[at + 12:at + 12 + length]
        check(len(body) == length and struct.unpack_from('<I', data, at + 12 + length)[0] == masked(body), f'checksum at {at}')
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def events(data):
    """(step, wall time, version or None, {tag: value}) of each record."""
    for body in records(data):
        event = dict(fields(body))
        scalars = {}
        for number, value in fields(event.get(5, b'')):
            check(number == 1, f'summary: field {number}')
            inner = dict(fields(value))
            scalars[inner[1].decode()], = struct.unpack('<f', inner[2])
        yield event.get(2, 0), struct.unpack('<d', event[1])[0], event.get(3), scalars


def run(work, *words, code=0):
    done = subprocess.run([reprise, *words], cwd=work, capture_output=True, text=True, timeout=120)
    check(done.returncode == code, (words, done.returncode, done.stderr))
    return done


def main():
    check(crc32c(b'123456789') == 0xE3069283, 'the check value of CRC-32C')
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        rows = [f'{i % 17}.{i % 7},{"abc"[i % 3]},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(80)]
        (work / 'data.csv').write_text('x,kind,y\n' + '\n'.join(rows) + '\n')
        (work / 'r.yaml').write_text('reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\nmodel: {hidden: [3]}\n'
                                     'train: {epochs: 4, optimizer: {lr: 0.5}, schedule: {kind: cosine, warmup_steps: 2}}\n')
        run(work, 'run', 'r.yaml', '-o', 'a.reprise')
        run(work, 'export', 'a.reprise', '--tensorboard', 'events')
        refused = run(work, 'export', 'a.reprise', '--tensorboard', 'events', code=2)
        check('already exists' in refused.stderr, refused.stderr)
        run(work, 'export', 'a.reprise', '--tensorboard', 'again')
        run(work, 'export', 'nothing', '--tensorboard', 'other', code=1)
        check(not (work / 'other').exists(), 'a folder for nothing')
        written, = (work / 'events').iterdir()
        again, = (work / 'again').iterdir()
        check('tfevents' in written.name and written.name == again.name, written)
        check(written.read_bytes() == again.read_bytes(), 'the bytes differ from time to time')

        found = list(events(written.read_bytes()))
        check(found[0][2] == b'brain.Event:2' and found[0][3] == {}, found[0])
        check(all(wall == 0 for _, wall, _, _ in found), 'wall times')
        loss = {step: s['loss'] for step, _, _, s in found if 'loss' in s}
        rate = {step: s['lr'] for step, _, _, s in found if 'lr' in s}
        about = json.loads(run(work, 'inspect', 'a.reprise', '--json').stdout)
        steps = about['run']['training_steps']
        check(sorted(loss) == sorted(rate) == list(range(1, steps + 1)), (sorted(loss), steps))
        run(work, 'inspect', 'a.reprise', '--member', 'run/journal.bin', '-o', 'journal')
        journal = (work / 'journal').read_bytes()
        for step in loss:
            recorded, = struct.unpack_from('<f', journal, 128 * step + 112)
            check(loss[step] == recorded, (step, loss[step], recorded))
        check(abs(rate[1] - 0.25) < 1e-6 and abs(rate[2] - 0.5) < 1e-6 and rate[steps] < rate[3], rate)
        metrics = {tag: v for step, _, _, s in found for tag, v in s.items() if '/' in tag and step == steps}
        for part in ('training', 'validation'):
            for key, value in about['metrics'][part].items():
                if isinstance(value, (int, float)):
                    check(abs(metrics.get(f'{part}/{key}', 1e9) - value) <= 1e-6 * abs(value), (part, key, value))
        check(len(metrics) >= 8, metrics)
    for failure in failures[:20]:
        print('FAIL:', failure)
    print(f'{len(failures)} failures')
    sys.exit(bool(failures))


main()
