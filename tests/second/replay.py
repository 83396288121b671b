# SPDX-License-Identifier: Apache-2.0
"""A recipe's archive replayed by the second implementation: its tensors from the table, its feeds from the recipe,
each step executed, every record of the journal and the weights made again.

Usage: replay.py ARCHIVE. Exit 0: all as in the archive."""
import json
import sys

import archive
import execute
import program
import recipe
from ieee import stored


def typed(p, outputs, kind):
    types = {(k, n): p.types[v] for k, n, v in p.outputs}
    return {n: (*types[k, n], values) for (k, n), values in outputs.items() if k == kind}


def step(p, feeds, data, states):
    """(feeds, results) as named lists; states become the new ones."""
    values, fed = {}, {}
    for v, kind, name in p.inputs:
        dtype, shape = p.types[v]
        if kind == "feed":
            fed[name] = dtype, shape, feeds[name]
            values[kind, name] = feeds[name]
        elif kind == "data":
            assert data[name][:2] == (dtype, shape)
            values[kind, name] = data[name][2]
        else:
            zero = 0.0 if dtype in ("f32", "f64") else 0
            values[kind, name] = states.setdefault(name, (dtype, shape, [zero] * execute.count(shape)))[2]
    outputs = execute.run(p, values)
    states.update(typed(p, outputs, "state"))
    return fed, typed(p, outputs, "result")


def all_states(programs):
    """Every state of the run, as it is before step 0: zeros."""
    states = {}
    for p in programs:
        for v, kind, name in p.inputs:
            if kind == "state":
                states[name] = (*p.types[v], [0.0] * execute.count(p.types[v][1]))
    return states


def replay(path):
    """Texts that tell what differs."""
    found, wrong = archive.members(path), []
    plan = json.loads(found["run/recipe.json"])
    table = recipe.Table(plan, found["data/raw.csv"])
    for name, said in json.loads(found["data/prepared.json"]).items():
        if archive.tensor_digest(*table.parts[name]).hex() != said["digest"]:
            wrong.append("data/prepared.json: %s" % name)
    steps = recipe.Steps(plan, len(table.train))
    names = sorted(n for n in found if n.startswith("run/programs/"))
    programs = [program.read(found[n].decode()) for n in names]
    states = all_states(programs)
    records = archive.records(found["run/journal.bin"])
    for s, (number, *expected) in enumerate(records):
        fed, results = step(programs[number], steps.feeds(s), table.parts, states)
        kind, loss = archive.loss_record(results)
        made = [kind, archive.list_digest(fed), archive.list_digest(results), archive.list_digest(states), loss]
        for what, ours, theirs in zip(("loss type", "feeds", "results", "states", "loss"), made, expected):
            if ours != theirs:
                wrong.append("step %d: %s" % (s, what))
        member = {0: "weights/init.safetensors", len(records) - 1: "weights/final.safetensors"}.get(s)
        for name, data in archive.tensors(found[member]).items() if member else ():
            if stored(states[name][2], states[name][0]) != data:
                wrong.append("%s: %s" % (member, name))
    return len(records), wrong


def main():
    steps, wrong = replay(sys.argv[1])
    for text in wrong:
        print(text)
    print("%d steps, %d differ" % (steps, len(wrong)))
    return wrong != []


if __name__ == "__main__":
    sys.exit(main())
