# SPDX-License-Identifier: Apache-2.0
"""Documents against docs/output.schema.json: the words of JSON Schema (draft 2020-12) that it uses, and no others. Stricter
than the schema: a key that no schema of the object lists is refused, so that none comes without its line there."""
import json
import re

TYPES = {'string': str, 'integer': int, 'number': (int, float), 'boolean': bool, 'object': dict, 'array': list,
         'null': type(None)}
WORDS = {'$anchor', '$ref', 'type', 'required', 'properties', 'additionalProperties', 'items', 'enum', 'const', 'pattern',
         'anyOf', 'allOf'}


class Schemas:
    def __init__(self, path):
        self.defs = json.loads(path.read_text())['$defs']
        self.document = {d['$anchor']: d for d in self.defs.values() if '$anchor' in d}

    def resolved(self, schema):
        """The schema, and those that hold together with it."""
        unknown = set(schema) - WORDS
        assert not unknown, f'the check does not know {unknown}'
        yield schema
        for other in schema.get('allOf', []):
            yield from self.resolved(other)
        if '$ref' in schema:
            yield from self.resolved(self.defs[schema['$ref'].removeprefix('#/$defs/')])

    def first_level(self, name):
        """{key: (type names, required)} of a document, without the head's."""
        found = {}
        for part in self.resolved(self.document[name]):
            for key, schema in part.get('properties', {}).items():
                if part is not self.defs['head']:
                    found[key] = (self.types(schema), key in part.get('required', []))
        return found

    def types(self, schema):
        kinds = set()
        for part in self.resolved(schema):
            kinds |= set([part['type']] if isinstance(part.get('type'), str) else part.get('type', []))
            kinds |= {k for other in part.get('anyOf', []) for k in self.types(other)}
            kinds |= {'null' if v is None else 'string' for v in part.get('enum', [])}
        return kinds

    def check(self, value, schema, where='document'):
        """What is wrong, as lines."""
        parts = list(self.resolved(schema))
        wrong = [line for part in parts for line in self.check_one(value, part, where)]
        if isinstance(value, dict) and not any('anyOf' in part for part in parts):
            known = {key for part in parts for key in part.get('properties', {})}
            if not any('additionalProperties' in part for part in parts):
                wrong += [f'{where}: key {key} is not in docs/output.schema.json' for key in value if key not in known]
        return wrong

    def check_one(self, value, schema, where):
        kinds = schema.get('type', [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(isinstance(value, TYPES[k]) and (k == 'boolean' or not isinstance(value, bool)) for k in kinds):
            return [f'{where}: expected {" or ".join(kinds)}, found {type(value).__name__} {str(value)[:60]}']
        wrong = []
        if 'const' in schema and value != schema['const']:
            wrong.append(f'{where}: expected {schema["const"]}, found {value}')
        if 'enum' in schema and value not in schema['enum']:
            wrong.append(f'{where}: expected one of {schema["enum"]}, found {value}')
        if 'pattern' in schema and isinstance(value, str) and not re.search(schema['pattern'], value):
            wrong.append(f'{where}: {value!r} is not like {schema["pattern"]}')
        if 'anyOf' in schema:
            tried = [self.check(value, other, where) for other in schema['anyOf']]
            wrong += [] if any(not lines for lines in tried) else max(tried, key=len)
        if isinstance(value, dict):
            wrong += [f'{where}: lacks {key}' for key in schema.get('required', []) if key not in value]
            rest = schema.get('additionalProperties', True)
            for key, item in value.items():
                if key in schema.get('properties', {}):
                    wrong += self.check(item, schema['properties'][key], f'{where}.{key}')
                elif rest is not True:
                    wrong += self.check(item, rest, f'{where}.{key}')
        if isinstance(value, list) and 'items' in schema:
            wrong += [line for i, item in enumerate(value) for line in self.check(item, schema['items'], f'{where}[{i}]')]
        return wrong
