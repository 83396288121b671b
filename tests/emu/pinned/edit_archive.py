#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edits an unsigned archive as somebody would who wants it to pass for another: what is changed is bound again, so that only
what the texts say of one another can give it away. Usage: edit_archive.py IN OUT EDIT, one of the names below."""
import hashlib
import json
import pathlib
import sys


def members(data):
    at = 0
    while data[at] != 0:
        header = data[at : at + 512]
        size = int(header[124:135], 8)
        yield header[:100].rstrip(b'\0').decode(), header, data[at + 512 : at + 512 + size]
        at += 512 + (size + 511) // 512 * 512


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode()


def packed(header, body):
    header = header[:124] + b'%011o ' % len(body) + header[136:148] + b' ' * 8 + header[156:]
    header = header[:148] + b'%06o\0 ' % sum(header) + header[156:]
    return header + body + bytes(-len(body) % 512)


def portable(manifest, recipe):
    manifest['profile'] = 'portable'


def portable_whole(manifest, recipe):
    portable(manifest, recipe)
    del manifest['run']['pinned']


def portable_recipe(manifest, recipe):
    portable_whole(manifest, recipe)
    del recipe['profile'], recipe['pinned']


def no_identity(manifest, recipe):
    del manifest['run']['pinned']


def compute(manifest, recipe):
    manifest['run']['pinned']['compute'] = 'tf32'


def recipe_compute(manifest, recipe):
    recipe['pinned']['compute'] = 'tf32'


def recipe_workspace(manifest, recipe):
    recipe['pinned']['workspace'] += 1


def chip(manifest, recipe):
    manifest['run']['pinned']['chip']['name'] = 'another chip'


def more(manifest, recipe):
    manifest['run']['pinned']['more'] = 1


def negative(manifest, recipe):
    manifest['run']['pinned']['chip']['multiprocessors'] = -1


def hostile(manifest, recipe):
    for product in manifest['run']['pinned']['products']:
        product['algorithm'] = 'ff' * 36


def short(manifest, recipe):
    manifest['run']['pinned']['products'][0]['algorithm'] = 'ff' * 35


def second_choice(manifest, recipe):
    """What the stand-in proposes too, and did not propose first: its sums go another way."""
    for product in manifest['run']['pinned']['products']:
        number = int(product['algorithm'][:8], 16)
        product['algorithm'] = f"{number + 1:08x}" + product['algorithm'][8:]


def fewer(manifest, recipe):
    manifest['run']['pinned']['products'].pop()


def added(manifest, recipe):
    last = dict(manifest['run']['pinned']['products'][-1])
    last['n'] += 1
    manifest['run']['pinned']['products'].append(last)


def doubled(manifest, recipe):
    manifest['run']['pinned']['products'].append(manifest['run']['pinned']['products'][-1])


def line(manifest, recipe):
    """Of a child: that what it started from was pinned."""
    del manifest['run']['parent']['pinned']


def main():
    parts = list(members(pathlib.Path(sys.argv[1]).read_bytes()))
    bodies = {name: body for name, _, body in parts}
    manifest, recipe = json.loads(bodies['manifest.json']), json.loads(bodies['run/recipe.json'])
    globals()[sys.argv[3]](manifest, recipe)
    bodies['run/recipe.json'] = canonical(recipe)
    for row in manifest['members']:
        if row['path'] == 'run/recipe.json':
            row['size'] = len(bodies['run/recipe.json'])
            row['sha256'] = hashlib.sha256(bodies['run/recipe.json']).hexdigest()
    bodies['manifest.json'] = canonical(manifest)
    whole = b''.join(packed(header, bodies[name]) for name, header, _ in parts)
    pathlib.Path(sys.argv[2]).write_bytes(whole + bytes(1024))


if __name__ == '__main__':
    main()
