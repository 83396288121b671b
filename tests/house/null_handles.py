#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls every public function with NULL for each opaque handle, and something harmless for the rest, and again with NULL
for each text, array, structure and function that it reads as well, each call in a process of its own: none may die of
a signal, and one that returns a status and takes a handle must say that it is NULL. Usage: null_handles.py SOURCE_DIR BUILD_DIR CC. The list is made from the headers, so a new function is called."""
import glob, os, re, subprocess, sys

source, build, compiler = sys.argv[1:4]
headers = sorted(glob.glob(os.path.join(source, 'include/rp/*.h')))
text = '\n'.join(open(h).read() for h in headers)
text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)
opaque = {n for n in re.findall(r'typedef struct (\w+) \w+;', text) if not re.search(r'struct %s\s*\{' % n, text)}
structs = set(re.findall(r'typedef struct (\w+)\s*\{', text))
may_be_null = {'rp_train_recipe', 'rp_retrain'}  # their key: then the archive is not signed
by_value = {'rp_digest_hex'}  # takes a digest by its address
calls, bare, statuses = [], [], 0
prototype = r'RP_API\s+([\w\s\*]+?)\b(rp_\w+)\s*\(([^;]*?)\)\s*(?:RP_PRINTF\([^)]*\))?\s*;'
for result, name, parameters in re.findall(prototype, text):
    arguments, nothing, handles = [], [], 0
    for parameter in re.split(r',(?![^(]*\))', parameters):
        kind = re.sub(r'\*\s+\*', '**', re.sub(r'\bconst\b', '', parameter).strip())
        if kind in ('', 'void', '...'):
            continue
        match = re.match(r'(?:struct\s+)?(\w+)\s*(\**)', kind)
        base, stars = match.group(1), match.group(2)
        array = '[' in kind
        if '(' in kind:
            arguments.append('(void *)nothing')
        elif base == 'rp_error':
            arguments.append('&err')
        elif stars == '*' and name.endswith('_free'):
            arguments.append('NULL')
        elif stars == '*' and not array and base in opaque:
            arguments.append('NULL')
            handles += 1
        elif stars == '*' and base == 'char' and 'const' in parameter:
            arguments.append('"none"')
        elif stars or array:
            arguments.append('(void *)spare')
        elif base in structs:
            arguments.append('(%s){0}' % base)
            handles += base == 'rp_tensor'
        else:
            arguments.append('(%s)0' % base if base not in ('unsigned', 'double', 'size_t', 'bool', 'int') else '0')
        read = '(' in kind or (stars or array) and 'const' in parameter.split('**')[0]
        nothing.append('NULL' if read else arguments[-1])
    call = '%s(%s)' % (name, ', '.join(arguments))
    if result.strip() == 'rp_status' and handles and name not in may_be_null:
        statuses += 1
        call = 'if (%s == RP_OK || strstr(err.text, "NULL") == NULL) _exit(7)' % call
    elif result.strip() != 'void':
        call = '(void)' + call
    calls.append((name, call))
    if name not in by_value and nothing != arguments:
        bare.append((name, '(void)%s(%s)' % (name, ', '.join(nothing))))
calls += bare
program = os.path.join(build, 'null_handles.c')
with open(program, 'w') as f:
    f.write('#include <stdio.h>\n#include <string.h>\n#include <sys/wait.h>\n#include <unistd.h>\n')
    f.writelines('#include "rp/%s"\n' % os.path.basename(h) for h in headers)
    f.write('static rp_error err;\nstatic long long spare[8192];\nstatic int nothing()\n{\n    return 0;\n}\n')
    f.write('static void call(int n)\n{\n    switch (n) {\n')
    f.writelines('    case %d: %s; break;\n' % (i, c) for i, (_, c) in enumerate(calls))
    f.write('    }\n}\nstatic const char *const name[] = {%s};\n' % ', '.join('"%s"' % n for n, _ in calls))
    f.write('''int main(void)
{
    int bad = 0;

    for (int i = 0; i < (int)(sizeof name / sizeof *name); i++) {
        int state = 0;
        pid_t child = fork();

        if (child == 0) {
            alarm(20);
            call(i);
            _exit(0);
        }
        waitpid(child, &state, 0);
        if (WIFSIGNALED(state))
            printf("%s: died of signal %d\\n", name[i], WTERMSIG(state));
        else if (WEXITSTATUS(state) != 0)
            printf("%s: %s\\n", name[i], WEXITSTATUS(state) == 7 ? "does not say that the handle is NULL" : "exits");
        bad += state != 0;
    }
    return bad != 0;
}
''')
binary = os.path.join(build, 'null_handles')
subprocess.run([compiler, '-std=c11', '-D_GNU_SOURCE', '-w', '-I' + os.path.join(source, 'include'), program, '-o',
                binary, '-L' + build, '-lreprise', '-Wl,-rpath,' + build], check=True)
os.chdir(build)
print('%d calls, %d of them with a handle and a status, %d with nothing to read' % (len(calls), statuses, len(bare)),
      flush=True)
if len(calls) < 700 or len(bare) < 200:
    sys.exit('too few functions found in the headers')
sys.exit(subprocess.run([binary], stdin=subprocess.DEVNULL).returncode)
