#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# A document's sh blocks, run in order in one folder that has the examples, print what the text blocks behind them show,
# to the byte; $repo is the source. Usage: doc_sessions.py DOCUMENT SOURCE_DIR BUILD_DIR [--write], which puts what they
# print into the text blocks.
import os
import re
import shutil
import subprocess
import sys
import tempfile

document, source, build = sys.argv[1:4]
text = open(document, encoding="utf-8").read()
blocks = list(re.finditer(r"^```(sh|text)\n(.*?)^```$", text, re.M | re.S))
failed, ran, pieces, end = 0, 0, [], 0

with tempfile.TemporaryDirectory() as folder:
    for name in os.listdir(os.path.join(source, "examples")):
        if name.endswith((".csv", ".txt", ".yaml")):
            shutil.copy(os.path.join(source, "examples", name), folder)
    path = os.path.join(build, "cli") + ":" + os.environ["PATH"]
    for i, block in enumerate(blocks):
        if block[1] != "sh":
            continue
        done = subprocess.run(["sh", "-c", block[2]], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "PATH": path, "repo": os.path.realpath(source),
                                   "PYTHONDONTWRITEBYTECODE": "1"})
        ran += 1
        shown = blocks[i + 1] if i + 1 < len(blocks) and blocks[i + 1][1] == "text" else None
        if done.returncode not in (0, 3) or done.stderr:
            print(f"{block[2]}exit code {done.returncode}, stderr: {done.stderr}")
            failed += 1
        if shown and done.stdout != shown[2]:
            print(f"{block[2]}--- the document has\n{shown[2]}--- it prints\n{done.stdout}")
            failed += 1
        if shown:
            pieces += [text[end:shown.start(2)], done.stdout]
            end = shown.end(2)

if sys.argv[4:] == ["--write"]:
    open(document, "w", encoding="utf-8").write("".join(pieces) + text[end:])
elif failed or ran == 0:
    sys.exit(f"{document}: {failed} of {ran} blocks are not what they were")
