#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/site.sh needs is there, as far as it can be told without Sphinx: every document has a section, every declaration of a
header a place in the C reference, every model of the zoo a plot. Usage: site_sources.py SOURCE_DIR"""
import re
import sys
import tempfile
from pathlib import Path

root = Path(sys.argv[1]).resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "docs/site"))
import c_headers  # noqa: E402
import sections  # noqa: E402

failures = []
try:
    sections.pages(root)
    with tempfile.TemporaryDirectory() as folder:
        headers = c_headers.write(root, Path(folder) / "c")
        text = "".join(p.read_text(encoding="utf-8") for p in Path(folder, "c").glob("*.md"))
    lines = {line for stem in headers for line in (root / f"include/rp/{stem}.h").read_text(encoding="utf-8").split("\n")
             if line.startswith(("RP_API", "typedef", "    RP_"))}
    failures += [f"the C reference lacks: {line}" for line in sorted(lines) if line not in text]
except ValueError as error:
    failures.append(str(error))
guide = (root / "docs/api.md").read_text(encoding="utf-8")
failures += [f"docs/api.md does not name {h}" for h in sorted(f"rp/{p.name}" for p in (root / "include/rp").glob("*.h")) if h not in guide]
gallery = (root / "docs/gallery.md").read_text(encoding="utf-8")
for model in sorted(p.stem for p in (root / "examples/zoo").glob("*.c")):
    if f"(gallery/{model}.png)" not in gallery or not (root / f"docs/gallery/{model}.png").is_file():
        failures.append(f"docs/gallery.md has no plot of examples/zoo/{model}.c: docs/site/gallery.py draws it")
for path in sorted((root / "docs/gallery").iterdir()):
    if path.stat().st_size > 32768 or not re.search(rf"\(gallery/{re.escape(path.name)}\)", gallery):
        failures.append(f"docs/gallery/{path.name}: not in docs/gallery.md, or more than 32 KiB")
if failures:
    sys.exit("\n".join(failures))
print(f"{len(headers)} headers, {len(lines)} lines of declarations, and every model has a plot")
