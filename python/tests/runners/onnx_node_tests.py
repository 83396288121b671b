# SPDX-License-Identifier: Apache-2.0
"""The official node tests by the official runner: how many pass, how many are refused and by what name, and that none has
a wrong value. Usage: onnx_node_tests.py [least share that passes]."""
import collections
import hashlib
import os
import pickle
import re
import sys
import unittest
import warnings

import numpy as np
import onnx.backend.base
import onnx.backend.test
import onnx.backend.test.case.base
import onnx.reference.ops.op_pool_common as pooling

from reprise import onnx as importer

refused = collections.Counter()


class Prepared(onnx.backend.base.BackendRep):
    def __init__(self, model):
        self.model = model

    def run(self, inputs, **kwargs):
        names = [i.name for i in self.model.graph.input if i.name not in {t.name for t in self.model.graph.initializer}]
        given = dict(zip(names, inputs))
        if any(not isinstance(a, (np.ndarray, np.generic)) for a in given.values()):
            refuse("an input that is no tensor")
        try:
            found = specialised(self.model, {k: np.asarray(a) for k, a in given.items()})
        except importer.Unsupported as e:
            refuse(str(e))
        return [found[o.name] for o in self.model.graph.output]


def specialised(model, given):
    """Values that decide a shape become constants, at most small ones: what decides no shape is computed by the program."""
    constants = {}
    shapes = {f"{k}.{i}": n for k, a in given.items() for i, n in enumerate(a.shape)}
    while True:
        try:
            loaded = importer.load(model, shapes=shapes, constants=constants)
            break
        except importer.NeedsConstant as e:
            new = {n for n in e.names if n not in constants}
            if not new or any(given[n].size > 64 for n in new):
                raise
            constants.update({n: given[n] for n in new})
    if not loaded.inputs and given and loaded.folds:
        raise importer.Unsupported("nothing would be left to compute")
    return loaded.compile(threads=1)(**{k: a for k, a in given.items() if k not in constants})


def refuse(why):
    refused[re.sub(r"[0-9]+", "N", why)[:110]] += 1
    raise unittest.SkipTest(why)


class Backend(onnx.backend.base.Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        return Prepared(model)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"


def quickly():
    """The collection of the official tests makes their expected values, half of its time in the reference's pools, which go
    window by window: where REPRISE_CACHE names a folder, what they gave is kept there under a digest of what they were
    given and of their own code. Sources of examples, which only a document needs, are not read."""
    onnx.backend.test.case.base.process_snippet = lambda op, name, export: (name, "")
    folder, official = os.environ.get("REPRISE_CACHE"), pooling.pool
    if not folder or hasattr(official, "kept"):
        return
    with open(pooling.__file__, "rb") as f:
        code = hashlib.sha256(f.read() + f"{onnx.__version__} {np.__version__}".encode()).digest()

    def pool(*given, **more):
        parts = [(a.dtype.str, a.shape, a.tobytes()) if isinstance(a, np.ndarray) else repr(a) for a in (*given, *sorted(more.items()))]
        path = os.path.join(folder, hashlib.sha256(code + pickle.dumps(parts)).hexdigest() + ".npy")
        if os.path.exists(path):
            return np.load(path)
        found = official(*given, **more)
        os.makedirs(folder, exist_ok=True)
        np.save(f"{path}.{os.getpid()}.npy", found)
        os.replace(f"{path}.{os.getpid()}.npy", path)
        return found

    pool.kept = True
    pooling.pool = pool


def run(pattern="", verbosity=0):
    """(tests, passed, refused by name, wrong)"""
    warnings.simplefilter("ignore")
    quickly()
    runner = onnx.backend.test.BackendTest(Backend, __name__)
    case = runner.test_cases["OnnxBackendNodeModelTest"]
    names = [n for n in dir(case) if n.startswith("test_") and n.endswith("_cpu") and re.search(pattern, n)]
    suite = unittest.TestSuite(case(n) for n in names)
    result = unittest.TextTestRunner(verbosity=verbosity, stream=sys.stdout).run(suite)
    wrong = result.failures + result.errors
    return len(names), len(names) - len(result.skipped) - len(wrong), len(result.skipped), wrong


if __name__ == "__main__":
    tests, passed, skipped, wrong = run(sys.argv[2] if len(sys.argv) > 2 else "", 0)
    for why, count in refused.most_common(60):
        print(f"{count:5d} {why}")
    print(f"{tests} node tests: {passed} pass ({100 * passed / tests:.1f} %), {skipped} refused by name, {len(wrong)} wrong")
    sys.exit(len(wrong) > 0 or passed < float(sys.argv[1] if len(sys.argv) > 1 else 0) * tests)
