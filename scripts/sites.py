#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the ends of the headers whose calls build programs: each call is followed by a note of where the caller stands
(rp_site in rp/tensor.h). Usage: scripts/sites.py [check]; check only says which header is not as it would be written."""
import os, re, sys

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'include', 'rp')
begin = '/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */\n'
bad = False
for header in ['tensor', 'composite', 'loss', 'optimizer', 'image', 'indexing', 'run', 'program', 'nn']:
    path = os.path.join(root, header + '.h')
    old = open(path).read()
    body = re.split(re.escape(begin), old)[0]
    if body == old:
        body = old.rstrip()[:-len('#endif')]
    text = re.sub(r'/\*.*?\*/', ' ', body, flags=re.S)
    new = body + begin + '#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)\n'
    for result, name in re.findall(r'RP_API (rp_tensor|void) (rp_\w+)\(', text):
        if re.search(r'_(free|discard|release|site|sited)$', name):
            continue
        macro = 'RP_SITED' if result == 'rp_tensor' else 'RP_SITE'
        new += '#define %s(...) %s(%s, __VA_ARGS__)\n' % (name, macro, name)
    new += '#endif\n\n#endif\n'
    if sys.argv[1:] != ['check']:
        open(path, 'w').write(new)
    elif old != new:
        print('include/rp/%s.h: its end is not what it declares: scripts/sites.py' % header)
        bad = True
sys.exit(bad)
