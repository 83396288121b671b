# SPDX-License-Identifier: Apache-2.0
"""Progress on terminals of any width, that change it, and on none; and an archive that cannot fit is refused before the
first step. Usage: terminal.py REPRISE [SLOWER]: how many times slower than others this build trains."""
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

reprise = pathlib.Path(sys.argv[1]).resolve()
slower = int(sys.argv[2]) if len(sys.argv) > 2 else 1
work = pathlib.Path(tempfile.mkdtemp())
failures = []


def watched(columns, later=None, environment=None, recipe='long.yaml', trials=False):
    """The lines that a terminal of so many columns is given; later: a width it gets after the first of them."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    process = subprocess.Popen([reprise, 'run', recipe, '--no-record', '--threads', '1'], cwd=work, stderr=slave,
                               stdout=subprocess.DEVNULL, env={**os.environ, 'TERM': 'xterm', **(environment or {})})
    os.close(slave)
    seen = b''
    while select.select([master], [], [], 60)[0]:
        try:
            seen += os.read(master, 65536)
        except OSError:
            break
        if later and b'\r' in seen:
            fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', 24, later, 0, 0))
    os.close(master)
    if process.wait() != 0:
        failures.append(f'{columns} columns: exit {process.returncode}: {seen[-300:]!r}')
    text = re.sub(r'\x1b\[[0-9;]*[mK]', '', seen.decode())
    if trials:
        text = text.split('\n')[0]  # what is told of the run itself stands behind them
    return [line for line in text.split('\n')[-1].split('\r') if line]  # behind what stays above the bar


def progress():
    for columns, needed in ((120, r'training  \[#*\.*\]  \d+/\d+  ETA \d+ s  loss '), (60, r'training .*\d+/\d+  ETA'),
                            (20, r'\d+/\d+'), (12, r'\d'), (3, r'^\d+%?$'), (1, None)):
        lines = watched(columns)
        wide = max((len(line) for line in lines), default=0)
        if not lines and columns > 3:
            failures.append(f'{columns} columns: no bar at all')
        if wide >= max(columns, 1):
            failures.append(f'{columns} columns: a line of {wide}: {max(lines, key=len)!r}')
        if any(lines) if needed is None else lines and not any(re.search(needed, line) for line in lines):
            failures.append(f'{columns} columns: nothing like {needed}: {lines[:3]}')
    lines = watched(100, later=20, recipe='longer.yaml')
    if len(lines) <= 3 or len(lines[-1]) >= 20:
        failures.append(f'after a change to 20 columns: {lines[-1]!r}')
    lines = watched(100, recipe='trials.yaml', trials=True)
    shares = [line.count('#') for line in lines if re.search(r'trial \d/4  ETA \d+ s', line)]
    if not shares or shares != sorted(shares):
        failures.append(f'trials: {lines[:3]}, {shares}')
    for told, most in (('20', 19), ('nonsense', 79), ('', 79)):
        lines = watched(0, environment={'COLUMNS': told})
        if not lines or max(map(len, lines)) > most:
            failures.append(f'COLUMNS={told!r}: {lines[:2]}')
    plain = subprocess.run([reprise, 'run', 'long.yaml', '--no-record'], cwd=work, capture_output=True,
                           env={**os.environ, 'COLUMNS': '20', 'TERM': 'xterm'})
    if plain.returncode != 0 or plain.stderr:
        failures.append(f'no terminal: exit {plain.returncode}, {plain.stderr[:200]!r}')


def reading():
    """A table that comes slowly is told of while it comes; what stands above the bar has a line of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 100, 0, 0))
    process = subprocess.Popen([reprise, 'run', 'piped.yaml', '--no-record'], cwd=work, stdin=subprocess.PIPE, stderr=slave,
                               stdout=subprocess.DEVNULL, env={**os.environ, 'TERM': 'xterm'})
    os.close(slave)
    text = (work / 'data.csv').read_bytes()
    head, rows = text.split(b'\n', 1)
    process.stdin.write(head + b'\n')
    for _ in range(5):
        process.stdin.write(rows * 100)
        process.stdin.flush()
        time.sleep(0.15)
    process.stdin.close()
    seen = b''
    while select.select([master], [], [], 60)[0]:
        try:
            seen += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    if process.wait() != 0 or not re.search(rb'\rreading +\[.*[0-9] [KM]iB\x1b\[K', seen):
        failures.append(f'reading: exit {process.returncode}, {seen[:400]!r}')
    if not re.search(rb'\r\x1b\[K(column|training: )', seen):
        failures.append(f'what stands above the bar does not begin a line: {seen[:800]!r}')


def space():
    """On a file system of 256 KiB: training is not begun, and the figures are there."""
    disk = work / 'disk'
    disk.mkdir()
    if os.getuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=256k', 'none', disk],
                                          capture_output=True).returncode != 0:
        print('SKIP: no small file system can be mounted')
        return
    try:
        done = subprocess.run([reprise, 'run', 'wide.yaml', '-o', 'disk/wide.reprise'], cwd=work, capture_output=True,
                              text=True)
        found = re.search(r'disk/wide.reprise: No space left, so nothing is trained: the archive takes at least (\d+) '
                          r'bytes, and as much while it is put together, but its file system has (\d+) free', done.stderr)
        if done.returncode != 1 or not found or not int(found[1]) * 2 > int(found[2]) >= 200000 or os.listdir(disk):
            failures.append(f'space: exit {done.returncode}: {done.stderr}, {os.listdir(disk)}')
        # the figure is a lower bound: the archive that is made elsewhere has at least as many bytes
        made = subprocess.run([reprise, 'run', 'wide.yaml', '-o', 'wide.reprise'], cwd=work, capture_output=True)
        size = (work / 'wide.reprise').stat().st_size if made.returncode == 0 else 0
        if found and not int(found[1]) <= size <= int(found[1]) * 1.5:
            failures.append(f'space: at least {found[1]} bytes were told, the archive has {size}')
        done = subprocess.run([reprise, 'run', 'small.yaml', '-o', 'disk/small.reprise'], cwd=work, capture_output=True)
        if done.returncode != 0:
            failures.append(f'space: what fits is refused: {done.stderr}')
    finally:
        subprocess.run(['umount', disk], check=True)


def main():
    rows = ['x,z,y'] + [f'{i % 17}.{i % 7},{i % 31},{"yes" if i * 7 % 17 > 8 else "no"}' for i in range(400)]
    (work / 'data.csv').write_text('\n'.join(rows) + '\n')
    head = 'reprise: 1\ndata: {csv: data.csv, target: y, positive: "yes"}\n'
    (work / 'long.yaml').write_text(head + 'model: {hidden: [64, 64]}\ntrain: {epochs: %d, batch: 16}\n' % (60 // slower))
    (work / 'longer.yaml').write_text(head + 'model: {hidden: [64, 64]}\ntrain: {epochs: %d, batch: 16}\n' % (4000 // slower))
    (work / 'trials.yaml').write_text(head + 'model: {hidden: [64]}\ntrain: {epochs: %d, batch: 16}\n'
                                      'search: {over: {lr: [0.001, 0.002, 0.003, 0.004]}}\n' % (400 // slower))
    (work / 'wide.yaml').write_text(head + 'model: {hidden: [128, 128]}\ntrain: {epochs: 2, batch: 100}\n'
                                    'record: {checkpoint_every: 1}\n')
    (work / 'piped.yaml').write_text(head.replace('csv: data.csv', 'csv: "-"') + 'train: {solver: exact}\n')
    (work / 'small.yaml').write_text(head + 'model: {hidden: [2]}\ntrain: {epochs: 1}\n')
    progress()
    reading()
    space()
    shutil.rmtree(work)
    for failure in failures:
        print('FAIL:', failure)
    sys.exit(bool(failures))


main()
