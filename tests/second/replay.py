# SPDX-License-Identifier: Apache-2.0
"""A recipe's archive replayed by the second implementation: its tensors from the table, its feeds from the recipe,
each step executed, every record of the journal, the weights, and the figures of the scores made again.

Usage: replay.py ARCHIVE. Exit 0: all as in the archive."""
import json
import sys

import archive
import execute
import figures
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


def check_figures(found, table, parts, wrong):
    """outputs/reference.json, and the figures in outputs/metrics.json; parts: the scores of each evaluation."""
    said = figures.reference(table, json.loads(found["data/schema.json"])["columns"], parts[0])
    if said != json.loads(found["outputs/reference.json"]):
        wrong.append("outputs/reference.json")
    rows, name = ((table.valid, "validation") if len(parts) > 1 else (table.train, "training"))
    made = figures.figures(parts[-1], [table.labels[r] for r in rows], said, name == "training")
    theirs = json.loads(found["outputs/metrics.json"])[name]["figures"]
    for key in sorted(made.keys() | theirs.keys()):
        if made.get(key) != theirs.get(key):
            wrong.append("outputs/metrics.json: %s: %s, here %s" % (key, theirs.get(key), made.get(key)))


def replay(path):
    """Texts that tell what differs."""
    found, wrong = archive.members(path), []
    plan = json.loads(found["run/recipe.json"])
    table = recipe.Table(plan, found["data/raw.csv"])
    for name, said in json.loads(found["data/prepared.json"]).items():
        if archive.tensor_digest(*table.parts[name]).hex() != said["digest"]:
            wrong.append("data/prepared.json: %s" % name)
    run = json.loads(found["manifest.json"])["run"]
    steps = recipe.Steps(plan, len(table.train), run["training_steps"])
    names = sorted(n for n in found if n.startswith("run/programs/"))
    programs = [program.read(found[n].decode()) for n in names]
    states, parts = all_states(programs), []
    records = archive.records(found["run/journal.bin"])
    for s, (number, *expected) in enumerate(records):
        fed, results = step(programs[number], steps.feeds(s), table.parts, states)
        if "scores" in results:
            parts.append(results["scores"][2])
        kind, loss = archive.loss_record(results)
        made = [kind, archive.list_digest(fed), archive.list_digest(results), archive.list_digest(states), loss]
        for what, ours, theirs in zip(("loss type", "feeds", "results", "states", "loss"), made, expected):
            if ours != theirs:
                wrong.append("step %d: %s" % (s, what))
        member = {0: "weights/init.safetensors", len(records) - 1: "weights/final.safetensors"}.get(s)
        for name, data in archive.tensors(found[member]).items() if member else ():
            if stored(states[name][2], states[name][0]) != data:
                wrong.append("%s: %s" % (member, name))
    if "patience" in plan["train"] and not steps.ends(states["optim.best.epoch"][2][0]):
        wrong.append("training_steps: not the end that patience gives")
    check_figures(found, table, parts, wrong)
    return len(records), wrong


def main():
    steps, wrong = replay(sys.argv[1])
    for text in wrong:
        print(text)
    print("%d steps, %d differ" % (steps, len(wrong)))
    return wrong != []


if __name__ == "__main__":
    sys.exit(main())
