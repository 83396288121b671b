# SPDX-License-Identifier: Apache-2.0
"""What --json gives: outputs of every command against docs/output.schema.json, and that against the tables of docs/json.md,
both ways. Usage: json_outputs.py REPRISE SOURCE_DIR"""
import pathlib
import re
import sys

import json_schema
import json_sweep

reprise, source = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
failures, seen, keys_seen = [], set(), {}
TYPES = {'text': 'string', 'integer': 'integer', 'number': 'number', 'boolean': 'boolean', 'object': 'object',
         'array': 'array', 'null': 'null'}


def anchor(name):
    return name.replace(' --', '-').replace('--', '').replace(' ', '-')


def tables():
    """{document: {key: (types, required)}} of docs/json.md."""
    known = {}
    for section in (source / 'docs/json.md').read_text().split('\n## ')[1:]:
        title, body = section.split('\n', 1)
        rows = {}
        for key, kind in re.findall(r'^\| `(\w+)` \| ([a-z ()]+) \|', body, re.M):
            kinds = kind.replace('(optional)', '').strip().split(' or ')
            rows[key] = ({TYPES[k] for k in kinds}, '(optional)' not in kind)
        for name in re.findall(r'`reprise ([^`]+)`', title) or [title]:
            known[anchor(name)] = rows
    return known


def agree(known, schemas):
    for name in sorted(known.keys() | schemas.document.keys()):
        if name not in known or name not in schemas.document:
            failures.append(f'{name}: in docs/json.md or in docs/output.schema.json alone')
            continue
        told, fixed = known[name], schemas.first_level(name)
        for key in sorted(told.keys() | fixed.keys()):
            if told.get(key) != fixed.get(key):
                failures.append(f'{name}: {key}: docs/json.md {told.get(key)}, docs/output.schema.json {fixed.get(key)}')


def hold(schemas, name, document, line):
    if name not in schemas.document:
        failures.append(f'{line}: docs/output.schema.json has no document {name}')
        return
    seen.add(name)
    keys_seen.setdefault(name, set()).update(document)
    if list(document)[:1] != ['schema']:
        failures.append(f'{line}: the first key is not "schema": {list(document)[:3]}')
    failures.extend(f'{line}: {wrong}' for wrong in schemas.check(document, schemas.document[name]))


def refuses(schemas, name, document):
    """The check itself: a key more, a key less, a value of another type, at the first level and below."""
    for change in (lambda d: d.update(unheard_of=1), lambda d: d.pop('archive_id'), lambda d: d.update(steps='5'),
                   lambda d: d['table'].update(unheard_of=1), lambda d: d['table']['columns'][0].pop('why'),
                   lambda d: d['table']['columns'][0].update(missing=None), lambda d: d.update(archive_id='x'),
                   lambda d: d.update(schema=2)):
        import copy
        other = copy.deepcopy(document)
        change(other)
        if not schemas.check(other, schemas.document[name]):
            failures.append(f'the check takes a changed document: {name}')


def main():
    known, schemas = tables(), json_schema.Schemas(source / 'docs/output.schema.json')
    agree(known, schemas)
    names = json_sweep.names(reprise)
    calls = 0
    for line, expected, code, document, stderr in json_sweep.sweep(reprise, source):
        calls += 1
        if code != expected or document is None:
            failures.append(f'{line}: exit {code}, expected {expected}, one line of JSON: {document is not None}: {stderr[:200]}')
            continue
        name = anchor(json_sweep.name_of(line, document, names))
        hold(schemas, name, document, line)
        if name == 'errors' and document['error']['exit'] != code:
            failures.append(f'{line}: exit {code}, {document}')
        if line.startswith('run r.yaml -o a'):
            refuses(schemas, name, document)
    # who adds a command adds a call, its table and its schema
    for name in sorted(schemas.document.keys() | {anchor(n) for n in names}):
        if name not in seen:
            failures.append(f'{name}: not called by json_sweep.py')
    for name, rows in known.items():
        for key in rows:
            if name in seen and key not in keys_seen[name]:
                failures.append(f'{name}: {key}: told in docs/json.md, but no call of json_sweep.py gives it')
    for failure in failures[:40]:
        print('FAIL:', failure)
    print(f'{calls} outputs, {len(seen)} kinds of document, {len(failures)} failures')
    sys.exit(bool(failures))


main()
