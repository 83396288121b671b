#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that a parent of large states takes: a recipe of two layers of WIDTH is run, then once more from its weights
(retrain) and from its last states (continue). Prints each peak, and what it is beyond the run without a parent.
Usage: bench/parent.py REPRISE FOLDER [WIDTH]; 16384 makes 2.1 GB of states, and needs 10 GB in FOLDER."""
import os, resource, subprocess, sys

reprise, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
width = int(sys.argv[3]) if len(sys.argv) > 3 else 16384
table = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'examples', 'loans.csv')
os.chdir(folder)
with open(table) as rows, open('few.csv', 'w') as few:
    few.writelines(next(rows) for _ in range(300))
recipe = ('reprise: 1\nseed: 1\ndata: {csv: few.csv, target: default, columns: {loan_id: ignore}, missing: ["", "NA"]}\n'
          'model: {hidden: [%d, %d]}\ntrain: {epochs: 1, batch: 128, optimizer: {kind: sgd, lr: 0.0001}}\n' % (width, width))
fresh = None
for name, more in (('parent', ''), ('retrain', 'parent: {archive: parent.reprise, mode: retrain}\n'),
                   ('continue', 'parent: {archive: parent.reprise}\n')):
    with open(name + '.yaml', 'w') as f:
        f.write(recipe + more)
    child = os.fork()
    if child == 0:
        done = subprocess.run([reprise, 'run', name + '.yaml', '-o', name + '.reprise', '--force'], stdout=subprocess.DEVNULL)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        with open('peak', 'w') as f:
            f.write(str(peak))
        os._exit(done.returncode)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit('%s: the run failed' % name)
    peak = int(open('peak').read())
    fresh = peak if fresh is None else fresh
    print('%-10s %6d MiB at most, %d beyond a run without a parent' % (name, peak, peak - fresh), flush=True)
