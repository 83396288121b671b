# SPDX-License-Identifier: Apache-2.0
"""Which documents of the repository are pages of the site, in which order, and under which names.

A pattern with * takes what is there and not named elsewhere: a new door's page, decision or table of benchmarks needs no line
here. Any other document of docs/ must have one: the build says so."""
from __future__ import annotations

import fnmatch
from pathlib import Path

HOME = "docs/index.md"
C_REFERENCE = "c/"  # made from include/rp/*.h by c_headers.py
PYTHON_REFERENCE = "py/"  # made from python/reprise by python_package.py
DECISIONS = "decisions/"  # a list of docs/decisions
MADE = (C_REFERENCE, PYTHON_REFERENCE, DECISIONS)
TITLES = {"README.md": "Tour of the command", "docs/start/command.md": "The command", "docs/start/python.md": "Python",
          "docs/start/c.md": "C", "docs/start/onnx.md": "ONNX", "docs/start/scikit-learn.md": "scikit-learn",
          "docs/python-torch.md": "PyTorch", "docs/python-jax.md": "JAX", "docs/python-keras.md": "Keras", "docs/auditors.md": "Checking without trusting us"}
SECTIONS: list[tuple[str, list[str]]] = [
    ("Five minutes", ["docs/start/command.md", "docs/start/python.md", "docs/start/c.md", "docs/start/onnx.md",
                      "docs/start/scikit-learn.md", "docs/python-torch.md", "docs/python-jax.md", "docs/python-keras.md",
                      "docs/gallery.md"]),
    ("For auditors", ["docs/auditors.md", "docs/verifier.md", "docs/replay.md", "docs/diff.md", "docs/inside.md", "docs/hostile.md",
                      "docs/log.md", "docs/keys.md", "docs/report.md", "COMPLIANCE.md", "SECURITY.md", "docs/math-proof.md"]),
    ("A model of a table", ["README.md", "docs/data.md", "docs/arrays.md", "docs/exact-models.md", "docs/scorecard.md",
                            "docs/validation.md", "docs/predict.md", "docs/explain.md", "docs/retrain.md", "docs/resume.md",
                            "docs/inventory.md"]),
    ("Programs and networks", ["docs/api.md", "docs/nn.md", "docs/text.md", "docs/python.md", "docs/python-command.md",
                               "docs/python-*.md", "docs/gpu.md", "docs/benchmarks-gpu.md", "docs/pinned.md"]),
    ("Reference", ["determinism/CONTRACT.md", "audit/FORMAT.md", "docs/json.md", "docs/policy.md", "docs/recipe.md",
                   "docs/coverage.md", C_REFERENCE, PYTHON_REFERENCE]),
    ("The project", ["docs/architecture.md", "docs/benchmarks.md", "docs/benchmarks-*.md", DECISIONS, "golden/README.md",
                     "CHANGELOG.md"]),
]
NAMES = {HOME: "index", "README.md": "tour", "determinism/CONTRACT.md": "contract", "audit/FORMAT.md": "format",
         "golden/README.md": "goldens", "COMPLIANCE.md": "compliance", "SECURITY.md": "security", "CHANGELOG.md": "changelog"}


def name_of(path: str) -> str:
    """A document's name on the site, without suffix: docs/start/c.md is start/c."""
    return NAMES.get(path) or path.removeprefix("docs/").removesuffix(".md")


def decisions(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.glob("docs/decisions/*.md"))


def pages(root: Path) -> list[tuple[str, list[str]]]:
    """Sections and their documents as they are in the checkout; ValueError where a document of docs/ is in none."""
    named = {path for _, paths in SECTIONS for path in paths if "*" not in path}
    found: list[tuple[str, list[str]]] = []
    for title, paths in SECTIONS:
        section: list[str] = []
        for path in paths:
            if "*" in path:
                section += sorted(f for f in (str(p.relative_to(root)) for p in root.glob(path)) if f not in named)
            elif path in MADE or (root / path).is_file():
                section.append(path)
            elif not fnmatch.fnmatch(path, "docs/python-*.md"):
                raise ValueError(f"docs/site/sections.py names {path}, which does not exist")
        found.append((title, section))
    taken = {path for _, section in found for path in section} | {HOME} | set(decisions(root))
    for path in sorted(str(p.relative_to(root)) for p in (root / "docs").rglob("*.md")):
        if path not in taken:
            raise ValueError(f"{path} is in no section of docs/site/sections.py")
    return found
