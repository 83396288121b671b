# SPDX-License-Identifier: Apache-2.0
"""docs/output.schema.json as another reader has it: jsonschema holds it against its draft, and every document of the
tests' sweep against it; documents that are changed are refused. Usage: schemas.py REPRISE"""
import copy
import importlib.metadata
import json
import pathlib
import sys

import jsonschema

source = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(source / 'tests/cli/manual'))
import json_sweep  # noqa: E402


def main():
    reprise = pathlib.Path(sys.argv[1]).resolve()
    schema = json.loads((source / 'docs/output.schema.json').read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    names, wrong, calls, changed = json_sweep.names(reprise), 0, 0, 0
    for line, _, _, document, _ in json_sweep.sweep(reprise, source):
        anchor = json_sweep.name_of(line, document, names).replace(' --', '-').replace('--', '').replace(' ', '-')
        validator = jsonschema.Draft202012Validator({**schema, '$ref': f'#{anchor}'})
        calls += 1
        for error in validator.iter_errors(document):
            wrong += 1
            print(f'FAIL: {line}: {error.json_path}: {error.message}')
        for key in list(document):  # each key of another type
            other = copy.deepcopy(document)
            other[key] = {'unheard': 'of'} if not isinstance(document[key], dict) else [1.5]
            if key in ('metrics', 'recipe') and document[key] is None:
                continue
            changed += 1
            if validator.is_valid(other):
                wrong += 1
                print(f'FAIL: {line}: {key} may be anything')
    print(f'jsonschema {importlib.metadata.version("jsonschema")}: {calls} documents, {changed} changed ones refused, {wrong} failures')
    sys.exit(bool(wrong))


main()
