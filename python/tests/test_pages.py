# SPDX-License-Identifier: Apache-2.0
"""The python blocks of docs/start/*.md and of those docs/python-*.md that test_documents.py does not run work, each page's in order;
a page whose packages are not installed is skipped, and says which."""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("REPRISE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")).resolve()
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)


def pages():
    """The documents that are run here, in order."""
    elsewhere = Path(__file__).with_name("test_documents.py").read_text(encoding="utf-8")
    found = [*sorted(SOURCE.glob("docs/start/*.md")), *sorted(SOURCE.glob("docs/python-*.md"))]
    return [p for p in found if str(p.relative_to(SOURCE)) not in elsewhere and BLOCK.search(p.read_text(encoding="utf-8"))]


def program(page):
    """A program of the page's blocks, which holds every `# -> value` against the line's value."""
    lines = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        lines.append(f"exec(compile({block!r}, {page.name!r}, 'exec'), names)")
        for line, said in re.findall(r"^(.*?)\s+# -> (.*)$", block, re.M):
            lines.append(f"assert repr(eval({line!r}, names)) == {said!r}, ({line!r}, repr(eval({line!r}, names)))")
    return "names = {'__name__': 'document'}\n" + "\n".join(lines)


def missing(text):
    """Packages that the blocks import and that are not installed."""
    names = re.findall(r"^\s*(?:import|from) (\w+)", "\n".join(BLOCK.findall(text)), re.M)
    return sorted({n for n in names if importlib.util.find_spec(n) is None})


class Pages(unittest.TestCase):
    def test_pages(self):
        found = pages()
        self.assertGreaterEqual(len(found), 3)
        for page in found:
            with self.subTest(page=page.name):
                if absent := missing(page.read_text(encoding="utf-8")):
                    print(f"{page.name}: skipped, not installed: {', '.join(absent)}", file=sys.stderr)
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    done = subprocess.run([sys.executable, "-c", program(page)], cwd=folder, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
