# SPDX-License-Identifier: Apache-2.0
"""The extension is loaded so that it calls its own libraries. A package that was imported before may have given the process
symbols of the same names, as TensorFlow does with those of another cryptographic library: signing then called that one, and
the process ended."""
import ctypes
import importlib
import os
import sys


def load() -> None:
    """Imports reprise._core. Only where OpenSSL's names are taken already, as sanitizers do not bear the other way."""
    deep = getattr(os, "RTLD_DEEPBIND", 0)
    taken = bool(deep) and hasattr(ctypes.CDLL(None), "EVP_DigestSign")
    before = sys.getdlopenflags() if taken else 0
    try:
        if taken:
            sys.setdlopenflags(before | deep)
        importlib.import_module("reprise._core")
    finally:
        if taken:
            sys.setdlopenflags(before)
