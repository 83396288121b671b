# SPDX-License-Identifier: Apache-2.0
"""JSON values held against those that the texts give: how many, and which differ."""
import sys

count, wrong = 0, []


def same(found, made, where):
    """found: the program's; made: the text's. Types are compared too, and keys that only one of them has differ."""
    global count
    if isinstance(found, dict) and isinstance(made, dict):
        for key in sorted(set(found) | set(made)):
            if key not in found or key not in made:
                wrong.append("%s.%s: only the %s has it" % (where, key, "text" if key in made else "program"))
            else:
                same(found[key], made[key], "%s.%s" % (where, key))
    elif isinstance(found, list) and isinstance(made, list) and len(found) == len(made):
        for i, (a, b) in enumerate(zip(found, made)):
            same(a, b, "%s[%d]" % (where, i))
    else:
        count += 1
        if type(found) is not type(made) or found != made:
            wrong.append("%s: %r, by the text %r" % (where, found, made))


def finish(what, least):
    """Exits 1 where something differs, or fewer values than that were compared."""
    for line in wrong[:40]:
        print(line)
    print("%d values of %s held against the text's, %d differ" % (count, what, len(wrong)))
    sys.exit(bool(wrong) or count < least)
