# SPDX-License-Identifier: Apache-2.0
"""What is told about the command line is all of it: every command and option of the tables is in --help, in its manual
page and in the completion of three shells; the pages render without a warning, and the shells really complete.
Usage: manual.py REPRISE REPRISE_VERIFY SOURCE_DIR BUILD_DIR"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

reprise, verifier, source, build = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
work = pathlib.Path(tempfile.mkdtemp())
failures = []
checks = 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        failures.append(what)


def call(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120, **more)
    return done.returncode, done.stdout, done.stderr


def tables(program):
    code, out, err = call(program, 'help', '--json')
    check(code == 0, f'{program.name} help --json: {err}')
    return json.loads(out)


def mentions(text, option):
    return re.search(r'(?<![\w-])--' + re.escape(option) + r'(?![\w-])', text) is not None


def unroff(text):
    return re.sub(r'\\f[BIR]', '', text).replace('\\-', '-').replace('\\(aq', "'").replace('\\e', '\\').replace('\\&', '')


def pages_and_help(table):
    code, _, err = call(reprise, 'help', '--share', work / 'share')
    check(code == 0, f'help --share: {err}')
    folder = work / 'share/man/man1'
    for entry in table['commands']:
        name = entry['name'].split()
        page = unroff((folder / f'reprise-{name[0]}.1').read_text())
        if len(name) == 2:
            page = page[page.index(f'.SH "{entry["name"]}"'):].split('\n.SH ', 1)[0]
        code, told, err = call(reprise, *name, '--help')
        check(code == 0, f'{entry["name"]} --help: {err}')
        check(entry['summary'] in page or len(name) == 2, f'the page of {entry["name"]} has no summary')
        check(entry['synopsis'] in told and entry['synopsis'] in page, f'{entry["name"]}: synopsis')
        check(len(entry['options']) >= 2 and entry['example'], f'{entry["name"]}: no options, or no example')
        for option in entry['options']:
            for where, text in (('help', told), ('manual page', page)):
                check(mentions(text, option['name']) and option['help'] in text,
                      f'{entry["name"]} --{option["name"]} is not in its {where}')
        # an option of the synopsis that the table lacks would be a lie
        for word in re.findall(r'--([a-z-]+)', entry['synopsis']):
            check(word in [o['name'] for o in entry['options']], f'{entry["name"]}: synopsis has --{word}')
    program = unroff((folder / 'reprise.1').read_text())
    listed = call(reprise, 'help')[1]
    for entry in table['commands']:
        if ' ' not in entry['name']:
            check(f'\n.TP\n{entry["name"]}\n' in program, f'reprise(1) lacks {entry["name"]}')
            check(re.search(rf'^  {entry["name"]} ', listed, re.M), f'reprise help lacks {entry["name"]}')
    check(len(list(folder.iterdir())) == 1 + len([e for e in table['commands'] if ' ' not in e['name']]), 'pages')


def rendering():
    for page in sorted((work / 'share/man/man1').iterdir()):
        if shutil.which('groff'):
            code, out, err = call('groff', '-ww', '-man', '-Tutf8', page)
            check(code == 0 and not err and len(out) > 500, f'groff {page.name}: {err}')
        if shutil.which('mandoc'):
            code, out, err = call('mandoc', '-T', 'lint', '-W', 'warning', page)
            check(code == 0 and not out, f'mandoc {page.name}: {out}')
        if shutil.which('man'):
            code, out, err = call('man', '--warnings', '-l', page, env={**os.environ, 'MANWIDTH': '80', 'LC_ALL': 'C'})
            check(code == 0 and not err and 'SYNOPSIS' in out, f'man -l {page.name}: {err}')


def environment(table):
    read = set()
    for layer in ('base', 'determinism', 'kernels', 'core', 'audit', 'cli'):
        for path in (source / layer).rglob('*.[ch]'):
            read |= set(re.findall(r'getenv\("(\w+)"\)', path.read_text()))
    told = {row['name'] for row in table['environment']}
    check(read == told, f'variables read but not told, or told but not read: {sorted(read ^ told)}')
    page = unroff((work / 'share/man/man1/reprise.1').read_text())
    for row in table['environment']:
        check(f'\n.TP\n{row["name"]}\n' in page and row['help'] in page, f'reprise(1) lacks {row["name"]}')


BASH = '''source "$1"; shift
spec=$(complete -p "$1") || exit 9
[[ $spec =~ -F\\ ([^ ]+) ]] || exit 9
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
"${BASH_REMATCH[1]}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" || true
printf '%s\\n' "${COMPREPLY[@]}"
'''


def bash(*words, script):
    code, out, err = call('bash', '--norc', '-uc', BASH, 'bash', script, *words, cwd=work)
    check(code == 0 and not err, f'bash: {words}: {err}')
    return [line for line in out.split('\n') if line]


def completes_in_bash(program, table):
    script = work / f'share/bash-completion/completions/{program.name}'
    name = program.name
    commands = sorted({e['name'].split()[0] for e in table['commands']})
    check(sorted(bash(name, '', script=script)) == sorted(commands + ['--help', '--version']), f'{name}: commands')
    for entry in table['commands']:
        words = [name, *entry['name'].split()]
        wanted = ['--' + o['name'] for o in entry['options']] + ['-' + o['letter'] for o in entry['options'] if o['letter']]
        check(sorted(bash(*words, '-', script=script)) == sorted(set(wanted)), f'bash: options of {entry["name"]}')
        if entry['actions']:
            check(bash(*words, '', script=script) == entry['actions'], f'bash: actions of {entry["name"]}')
    check(bash(name, 'verif', script=script) == ['verify'], f'bash: {name} verif')
    check('table of loans.csv' in bash(name, 'inspect', 'tab', script=script), 'bash: files with spaces')


def typed_in_bash():
    """A terminal, a shell, a key: what was typed is completed on the line."""
    import pty
    import select
    import time
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(PS1='$ ', TERM='dumb', INPUTRC='/dev/null', PATH=f'{reprise.parent}:{os.environ["PATH"]}')
        os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])
    seen = b''

    def until(text):
        nonlocal seen
        end = time.time() + 60
        while text not in seen and time.time() < end and select.select([fd], [], [], 30)[0]:
            try:
                seen += os.read(fd, 4096)
            except OSError:
                break

    # each key when the shell waits for one
    for typed, answer in ((b'', b'$ '), (b'source share/bash-completion/completions/reprise; echo rea""dy\n', b'ready\r\n$ '),
                          (b'reprise hel\t', b'reprise help '), (b'--js\t', b'--json '), (b'\n', b'"commands"')):
        os.write(fd, typed)
        until(answer)
    os.write(fd, b'exit\n')
    os.close(fd)
    os.waitpid(pid, 0)
    check(b'reprise help --json' in seen and b'"commands"' in seen, f'typed in bash: {seen!r}')


def other_shells(program, table):
    fish = work / f'share/fish/vendor_completions.d/{program.name}.fish'
    zsh = work / f'share/zsh/site-functions/_{program.name}'
    texts = {'fish': fish.read_text(), 'zsh': zsh.read_text()}
    for entry in table['commands']:
        part = {'fish': '\n'.join(line for line in texts['fish'].split('\n') if f"'__reprise_at {entry['name']}'" in line),
                'zsh': texts['zsh'].split(f"        '{entry['name']}')", 1)[1].split(';;', 1)[0]}
        for option in entry['options']:
            check(f' -l {option["name"]}' in part['fish'], f'fish: {entry["name"]} --{option["name"]}')
            check(mentions(part['zsh'], option['name']), f'zsh: {entry["name"]} --{option["name"]}')
    if shutil.which('zsh'):
        code, _, err = call('zsh', '-n', zsh)
        check(code == 0 and not err, f'zsh -n: {err}')
    if shutil.which('fish'):
        def asked(line):
            code, out, err = call('fish', '--no-config', '-c', f'source {fish}; complete -C "{line}"', cwd=work)
            check(code == 0 and not err, f'fish: {line}: {err}')
            return [row.split('\t')[0] for row in out.split('\n') if row]
        commands = {e['name'].split()[0] for e in table['commands']}
        check(commands <= set(asked(f'{program.name} ')), f'fish: commands of {program.name}')
        for entry in table['commands']:
            wanted = {'--' + o['name'] for o in entry['options']}
            check(wanted == set(o for o in asked(f'{program.name} {entry["name"]} --') if o.startswith('--')),
                  f'fish: options of {entry["name"]}')


def main():
    os.chdir(work)
    (work / 'table of loans.csv').write_text('x\n')
    table = tables(reprise)
    small = tables(verifier)
    names = [e['name'] for e in table['commands']]
    check({'run', 'log', 'log init', 'timestamp attach', 'golden', 'help'} <= set(names), names)
    check([e['name'] for e in small['commands']] == ['verify', 'inspect', 'help'], small)
    pages_and_help(table)
    code, _, err = call(verifier, 'help', '--share', work / 'share')
    check(code == 0, err)
    rendering()
    environment(table)
    for program, known in ((reprise, table), (verifier, small)):
        completes_in_bash(program, known)
        other_shells(program, known)
    both = work / 'share/bash-completion/completions/reprise'
    for words, wanted in ((('replay', 'a', '--isa', ''), 'ref sse2 avx2 avx512 neon'),
                          (('replay', 'a', '--isa', '=', 'av'), 'avx2 avx512'), (('golden', ''), 'record check'),
                          (('approve', 'a', '--decision', 'r'), 'reject'), (('validate', 'a', '--part', ''), 'test folds'), (('retrain', 'a', '--part', ''), 'validation test'),
                          (('predict', 'a', '--reference', ''), 'all cutoff'), (('run', '--device', ''), 'cpu'),
                          (('report', 'a', '--dossier', 'sr'), 'sr26-2'), (('run', '--threads', ''), ''),
                          (('run', '--withhold', 's'), 'share'), (('log', 'ad'), 'add'), (('nothing', ''), '')):
        check(bash('reprise', *words, script=both) == wanted.split(), f'bash: {words}')
    typed_in_bash()
    code, out, _ = call(reprise, 'help', 'run', '--man')
    check(code == 0 and out == (work / 'share/man/man1/reprise-run.1').read_text(), 'help run --man')
    code, out, _ = call(reprise, 'help', '--completion', 'bash')
    check(code == 0 and out == both.read_text(), 'help --completion bash')
    for words in (['--completion', 'csh'], ['run', '--completion', 'bash'], ['--man', '--share', 'x'], ['run', 'verify']):
        code, out, err = call(reprise, 'help', *words)
        check(code == 2 and not out and len(err.splitlines()) == 1, f'help {words}: {code}')
    # what is installed is what the program says now
    made = build / 'share'
    if made.is_dir():
        ours = {str(p.relative_to(work / 'share')): p.read_bytes() for p in (work / 'share').rglob('*') if p.is_file()}
        there = {str(p.relative_to(made)): p.read_bytes() for p in made.rglob('*') if p.is_file()}
        check(ours == there, f'{made}: differs from what the programs write: {sorted(ours.keys() ^ there.keys())}')
    shutil.rmtree(work)
    for failure in failures[:20]:
        print('FAIL:', failure)
    print(f'{checks} checks, {len(failures)} failures')
    sys.exit(bool(failures))


main()
