# SPDX-License-Identifier: Apache-2.0
"""The command `reprise` as functions: keyword arguments are its options, results are dataclasses, errors CommandError.

Written by scripts/python-commands.py from `reprise help --json` and docs/json.md."""
from __future__ import annotations

from collections.abc import Sequence

from .command import Document, PathLike, Table, Value, call, inputs, word
from .command_results import (Approve, Bench, Cert, Compare, Continue, Data, Diff, Doctor, Explain, Export, Finding,
                              GoldenCheck, GoldenRecord, Inspect, InspectMember, InspectStep, Inventory, Keygen, LogAdd,
                              LogAttach, LogCheck, LogConsistency, LogInit, LogList, LogProve, LogVerify, Monitor,
                              Predict, Profile, Replay, Report, Retrain, Run, Scorecard, Sign, TimestampAttach,
                              TimestampRequest, Validate, Verify)

__all__ = ["approve", "bench", "cert", "compare", "continue_", "data", "diff", "doctor", "explain", "export", "finding",
           "golden", "inspect", "inspect_member", "inspect_step", "inventory", "keygen", "log", "monitor", "predict",
           "profile", "replay", "report", "retrain", "run", "scorecard", "sign", "timestamp", "validate", "verify"]


def data(recipe_or_table: Document | Table, *, parts: PathLike | None = None, force: bool = False) -> Data:
    """Shows what a table holds and how it would be read: a line a column, then what deserves a word before a
    model learns from it. Of a recipe also whether a run would be refused, and why. Nothing is trained.
    - is a table on standard input; gzip and zstd are unpacked.

        parts: write which part each row of the recipe's table is in: row,line,part
        force: replace FILE if it exists"""
    with inputs() as given:
        return call(Data, ["data"], [given.recipe_or_table(recipe_or_table)], {
            "parts": parts, "force": force})


def run(recipe: Document, *, out: PathLike | None = None, key: PathLike | None = None,
        passphrase_file: PathLike | None = None, cert: PathLike | None = None, threads: Value | None = None,
        isa: Value | None = None, device: Value | None = None, memory: Value | None = None,
        allow_nonconforming: bool = False, withhold: PathLike | None = None, force: bool = False, resume: bool = False,
        save_every: Value | None = None, no_record: bool = False, progress: bool | None = None) -> Run:
    """Trains by the recipe and writes one archive that holds everything needed to replay the run.
    The same recipe and data give the same archive id on every host. A run that is interrupted or killed
    leaves its points in OUT.reprise.resume: --resume goes on from the last one, and the archive is the same.

        out: the archive to write (required unless --no-record)
        key: sign with this private key (PEM); without it the archive is unsigned
        passphrase_file: the key's passphrase is the first line of FILE
        cert: the key's certificate, then its issuers': goes into the archive
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit
        memory: what the run may take, such as 512MiB: values are computed again where a step would take more; never
            changes a bit
        allow_nonconforming: go on where the kernels fail their own conformance vectors; what is signed says so
        withhold: leave the data out of the archive, bound by salted digests, into this folder
        force: replace the archive if it exists, and drop what an interrupted run left; never a file of --withhold
        resume: go on with an interrupted run, if there is one
        save_every: how often to make a point to resume from (default: 60; 0: never)
        no_record: only train, to measure what recording costs
        progress: a bar by tqdm; by default where tqdm is there and stderr is a terminal or a notebook"""
    with inputs() as given:
        return call(Run, ["run"], [given.document(recipe)], {
            "out": out, "key": key, "passphrase-file": passphrase_file, "cert": cert, "threads": threads, "isa": isa,
            "device": device, "memory": memory, "allow-nonconforming": allow_nonconforming, "withhold": withhold,
            "force": force, "resume": resume, "save-every": save_every, "no-record": no_record}, progress)


def retrain(parent_archive: PathLike, *, csv: Table | None = None, out: PathLike | None = None,
            child: PathLike | None = None, warm_start: bool = False, rows: Table | None = None,
            part: Value | None = None, threshold: Value | None = None, statement: PathLike | None = None,
            attach: bool = False, check: PathLike | None = None, trust: PathLike | Sequence[PathLike] | None = None,
            parent: PathLike | Sequence[PathLike] | None = None, withheld: PathLike | None = None,
            parent_withheld: PathLike | Sequence[PathLike] | None = None, max_work: Value | None = None,
            max_memory: Value | None = None, key: PathLike | None = None, passphrase_file: PathLike | None = None,
            cert: PathLike | None = None, threads: Value | None = None, isa: Value | None = None,
            device: Value | None = None, memory: Value | None = None, allow_nonconforming: bool = False,
            withhold: PathLike | None = None, force: bool = False, resume: bool = False,
            save_every: Value | None = None, progress: bool | None = None) -> Retrain:
    """Trains the parent's recipe again on new rows: its columns, their kinds and its classes are kept, all that
    is learnt from rows is learnt from the new ones. Categories that are new or gone are listed; a column or
    a class that is gone, and a number that became text, are errors. The child names the parent as its
    predecessor. Then both are judged on the same rows: figures of both, who is better, scores that move,
    decisions that change, and the drift between both trainings.

        csv: the new rows, with the columns of the parent's table
        out: the child's archive to write
        child: instead: only hold this archive against the parent
        warm_start: start from the parent's weights (default: afresh, as it did)
        rows: judge both on these rows with outcomes (default: --part validation)
        part: judge both on the child's own rows: validation or test
        threshold: decisions, and one more confusion, at this score
        statement: write the comparison here: canonical JSON
        attach: add the comparison to the child, signed and dated now
        check: make this comparison again and compare every byte
        trust: verify the parent's signature first, that of --child, and that of --check FILE (default:
            REPRISE_TRUST)
        parent: PARENT started from this archive: count rows that trained it too; then its own parent's
        withheld: the folder with the data that was left out of the archive, and its salt
        parent_withheld: the same of PARENT, also to train again; repeated, of each --parent that left something
            out, in their order
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        key: sign with this private key (PEM); without it the archive is unsigned
        passphrase_file: the key's passphrase is the first line of FILE
        cert: the key's certificate, then its issuers': goes into the archive
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit
        memory: what the run may take, such as 512MiB: values are computed again where a step would take more; never
            changes a bit
        allow_nonconforming: go on where the kernels fail their own conformance vectors; what is signed says so
        withhold: leave the data out of the archive, bound by salted digests, into this folder
        force: replace the archive if it exists, and drop what an interrupted run left; never a file of --withhold
        resume: go on with an interrupted run, if there is one
        save_every: how often to make a point to resume from (default: 60; 0: never)
        progress: a bar by tqdm; by default where tqdm is there and stderr is a terminal or a notebook"""
    with inputs() as given:
        return call(Retrain, ["retrain"], [word(parent_archive)], {
            "csv": given.tables(csv, parent_archive), "out": out, "child": child, "warm-start": warm_start,
            "rows": given.tables(rows, parent_archive), "part": part, "threshold": threshold, "statement": statement,
            "attach": attach, "check": check, "trust": trust, "parent": parent, "withheld": withheld,
            "parent-withheld": parent_withheld, "max-work": max_work, "max-memory": max_memory, "key": key,
            "passphrase-file": passphrase_file, "cert": cert, "threads": threads, "isa": isa, "device": device,
            "memory": memory, "allow-nonconforming": allow_nonconforming, "withhold": withhold, "force": force,
            "resume": resume, "save-every": save_every}, progress)


def verify(archive: PathLike, *, trust: PathLike | Sequence[PathLike] | None = None, allow_unsigned: bool = False,
           log_key: PathLike | Sequence[PathLike] | None = None, ca: PathLike | Sequence[PathLike] | None = None,
           tsa: PathLike | Sequence[PathLike] | None = None, tsa_rsa: bool = False,
           crl: PathLike | Sequence[PathLike] | None = None, require_crl: bool = False,
           rotation: PathLike | Sequence[PathLike] | None = None, at: Value | None = None,
           policy: Document | None = None, parent: PathLike | Sequence[PathLike] | None = None) -> Verify:
    """Checks that the archive was signed by a trusted key and that not a bit of it has changed since.
    It does not compute anything again: that is reprise replay. With --policy also that the archive carries the
    replays
    and approvals that the policy asks for; every clause that is not met is told, and the exit code is 4.
    reprise-verify is a program with this command, inspect and help, which computes nothing and needs little.

        trust: a public key whose signature counts (default: REPRISE_TRUST)
        allow_unsigned: accept an archive without signature on its hashes alone
        log_key: a log's public key: the archive must carry a proof by that log
        ca: an authority's root: keys with its certificates in the archive count too
        tsa: a timestamp authority's root: the run's signature must be dated by one
        tsa_rsa: accept timestamps by RSA of at least 3072 bits too
        crl: a revocation list of an authority
        require_crl: refuse certificates that no revocation list covers
        rotation: a hand-over by a trusted key to its successor (reprise keygen --rotate)
        at: judge undated signatures as of 2026-11-21T15:04:05Z (UTC) instead of now
        policy: what must be there, and whose keys count: docs/policy.md
        parent: the run started from this archive: check its id and its states; then its own parent's"""
    with inputs() as given:
        return call(Verify, ["verify"], [word(archive)], {
            "trust": trust, "allow-unsigned": allow_unsigned, "log-key": log_key, "ca": ca, "tsa": tsa,
            "tsa-rsa": tsa_rsa, "crl": crl, "require-crl": require_crl, "rotation": rotation, "at": at,
            "policy": given.documents(policy), "parent": parent})


def replay(archive: PathLike, *, trust: PathLike | Sequence[PathLike] | None = None, withheld: PathLike | None = None,
           threads: Value | None = None, isa: Value | None = None, device: Value | None = None,
           memory: Value | None = None, allow_nonconforming: bool = False,
           parent: PathLike | Sequence[PathLike] | None = None, steps: Value | None = None, sample: Value | None = None,
           seed: Value | None = None, parallel: Value | None = None, max_work: Value | None = None,
           max_memory: Value | None = None, attest: bool = False, key: PathLike | None = None,
           cert: PathLike | None = None, passphrase_file: PathLike | None = None,
           progress: bool | None = None) -> Replay:
    """Computes the whole run again, data preparation included, from the archive and nothing else, and
    compares every step and every member. Of a C API run, initial state,
    data and feeds are taken as given. Exit 3 and the first difference where bits differ. With --attest the
    verdict, whichever it is, is signed and added to the archive. Where a run started from another's weights,
    --parent gives its archive, which is replayed too (repeat it for the parent's own parent). A run with
    checkpoints can be replayed in part: --steps takes a range, --sample draws segments by a seed that nobody
    could know before (docs/replay.md).

        trust: verify the signature with this public key first (default: REPRISE_TRUST)
        withheld: the folder with the data that was left out of the archive, and its salt
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit
        memory: what the run may take, such as 512MiB: values are computed again where a step would take more; never
            changes a bit
        allow_nonconforming: go on where the kernels fail their own conformance vectors; what is signed says so
        parent: the run started from this archive: check it, and replay it too; then its own parent's
        steps: replay only steps A to B, from the checkpoint before A
        sample: replay a share of the segments between checkpoints: 0.05 or 5%
        seed: with --sample: the auditor's words that draw them (default: from this host's random source)
        parallel: replay P segments at a time, each on --threads of its own
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        attest: sign a verdict on the replay and add it to ARCHIVE
        key: with --attest: your private key (default: REPRISE_KEY)
        cert: the key's certificate, then its issuers': goes into the archive
        passphrase_file: first line: the passphrase of KEY.pem
        progress: a bar by tqdm; by default where tqdm is there and stderr is a terminal or a notebook"""
    with inputs() as given:
        return call(Replay, ["replay"], [word(archive)], {
            "trust": trust, "withheld": withheld, "threads": threads, "isa": isa, "device": device, "memory": memory,
            "allow-nonconforming": allow_nonconforming, "parent": parent, "steps": steps, "sample": sample,
            "seed": seed, "parallel": parallel, "max-work": max_work, "max-memory": max_memory, "attest": attest,
            "key": key, "cert": cert, "passphrase-file": passphrase_file}, progress)


def diff(a: PathLike, b: PathLike, *, withheld: PathLike | Sequence[PathLike] | None = None,
         max_work: Value | None = None, max_memory: Value | None = None, threads: Value | None = None,
         isa: Value | Sequence[Value] | None = None, device: Value | Sequence[Value] | None = None) -> Diff:
    """Compares two archives: recipe keys and members that differ, then the first step, how its programs
    differ, and the first value and element whose bits differ, inside an iteration, shard or branch where
    it is there, with both values and their distance, and the metrics of both (docs/diff.md). With two
    levels one archive is computed at both and compared with itself.
    Exit 0 when they have the same id and nothing differs, 3 otherwise, 5 for what costs more than it may.
    Signatures are not looked at.

        withheld: the folder with the data that was left out; given twice: of A, of B
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); given twice: of A, of B
        device: where kernels run (default: cpu); given twice: of A, of B"""
    with inputs() as given:
        return call(Diff, ["diff"], [word(a), word(b)], {
            "withheld": withheld, "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa,
            "device": device})


def compare(*archives: PathLike) -> Compare:
    """Puts 2 to 16 runs side by side: recipe keys that differ, digests of the tables, figures with their
    intervals, coefficients, trials; and says of each whether it is judged on the same rows as the first:
    figures of other rows cannot be held against each other. Nothing is computed, and signatures are not
    looked at (reprise verify). Where the bits of two runs part, reprise diff says."""
    with inputs() as given:
        return call(Compare, ["compare"], [*map(word, archives)], {
            })


def inspect(archive: PathLike, *, programs: bool = False, coefficients: bool = False, withheld: PathLike | None = None,
            max_work: Value | None = None, max_memory: Value | None = None, threads: Value | None = None,
            isa: Value | None = None, device: Value | None = None) -> Inspect:
    """Shows the archive's id, versions, recipe, metrics and members. Every hash of the manifest is checked;
    who signed is not: what signatures say of themselves is listed as unchecked, and reprise verify checks it.
    Of programs and functions X is the number of instructions that are executed, W of operations on elements,
    M of bytes of values; reprise replay has --max-work and --max-memory for W and M (docs/replay.md).
    With --step it lists the program of that step; with --op or --input too the run is computed to there, each
    step compared with the journal, and the tensor shown: type, statistics, histogram, first elements, digest
    (docs/inside.md). Exit 3 where the step has other bits here than recorded.

        programs: also list what each program and its functions cost before they run
        coefficients: also show an exact fit's table of coefficients
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Inspect, ["inspect"], [word(archive)], {
            "programs": programs, "coefficients": coefficients, "withheld": withheld, "max-work": max_work,
            "max-memory": max_memory, "threads": threads, "isa": isa, "device": device})


def inspect_member(archive: PathLike, *, member: Value, out: PathLike, force: bool = False,
                   withheld: PathLike | None = None, max_work: Value | None = None, max_memory: Value | None = None,
                   threads: Value | None = None, isa: Value | None = None,
                   device: Value | None = None) -> InspectMember:
    """Shows the archive's id, versions, recipe, metrics and members. Every hash of the manifest is checked;
    who signed is not: what signatures say of themselves is listed as unchecked, and reprise verify checks it.
    Of programs and functions X is the number of instructions that are executed, W of operations on elements,
    M of bytes of values; reprise replay has --max-work and --max-memory for W and M (docs/replay.md).
    With --step it lists the program of that step; with --op or --input too the run is computed to there, each
    step compared with the journal, and the tensor shown: type, statistics, histogram, first elements, digest
    (docs/inside.md). Exit 3 where the step has other bits here than recorded.

        member: write this member's bytes to stdout, or to the file of --out
        out: where --member goes
        force: replace FILE if it exists
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(InspectMember, ["inspect"], [word(archive)], {
            "member": member, "out": out, "force": force, "withheld": withheld, "max-work": max_work,
            "max-memory": max_memory, "threads": threads, "isa": isa, "device": device})


def inspect_step(archive: PathLike, *, step: Value, force: bool = False, op: Value | None = None,
                 output: Value | None = None, input: Value | None = None, npy: PathLike | None = None,
                 withheld: PathLike | None = None, max_work: Value | None = None, max_memory: Value | None = None,
                 threads: Value | None = None, isa: Value | None = None, device: Value | None = None) -> InspectStep:
    """Shows the archive's id, versions, recipe, metrics and members. Every hash of the manifest is checked;
    who signed is not: what signatures say of themselves is listed as unchecked, and reprise verify checks it.
    Of programs and functions X is the number of instructions that are executed, W of operations on elements,
    M of bytes of values; reprise replay has --max-work and --max-memory for W and M (docs/replay.md).
    With --step it lists the program of that step; with --op or --input too the run is computed to there, each
    step compared with the journal, and the tensor shown: type, statistics, histogram, first elements, digest
    (docs/inside.md). Exit 3 where the step has other bits here than recorded.

        force: replace FILE if it exists
        step: list the program of step N (the first is 0), or show a tensor
        op: with --step: show what it computed; in regions as diff writes places: 12/37/5
        output: which of its values, where it has several (default: 0)
        input: with --step: show this state (before the step), data or feed
        npy: write the tensor to this file too, for NumPy
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(InspectStep, ["inspect"], [word(archive)], {
            "step": step, "force": force, "op": op, "output": output, "input": input, "npy": npy, "withheld": withheld,
            "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa, "device": device})


def profile(recipe_or_archive: Document, *, steps: Value | None = None, skip: Value | None = None,
            rows: Value | None = None, trace: PathLike | None = None, force: bool = False,
            trust: PathLike | Sequence[PathLike] | None = None, withheld: PathLike | None = None,
            max_work: Value | None = None, max_memory: Value | None = None, threads: Value | None = None,
            isa: Value | None = None, device: Value | None = None) -> Profile:
    """Makes steps of a recipe's run, recorded as reprise run records them but without a file, or replays an
    archive's, and tells of every operation time, bytes and arithmetic beside what this host can do at most,
    measured in the same minute; what is no operation has rows of its own, so all rows together are the wall
    time (docs/inside.md). No bit changes by it. Of an archive every step is compared: exit 3 where one differs.

        steps: time N steps (default: 100; 0: all)
        skip: make N steps before the clock begins (default: 2)
        rows: show the N longest of each table (default: 20; 0: all)
        trace: write a trace for chrome://tracing and Perfetto
        force: replace FILE.json if it exists
        trust: of an archive: verify the signature with this public key first (default: REPRISE_TRUST)
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Profile, ["profile"], [given.document(recipe_or_archive)], {
            "steps": steps, "skip": skip, "rows": rows, "trace": trace, "force": force, "trust": trust,
            "withheld": withheld, "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa,
            "device": device})


def predict(archive: PathLike, *, csv: Table, out: PathLike | None = None, id: Value | Sequence[Value] | None = None,
            flags: bool = False, reasons: Value | None = None, points: Value | None = None, contributions: bool = False,
            reference: PathLike | None = None, cutoff: Value | None = None, favourable: Value | None = None,
            steps: Value | None = None, compare: Table | None = None, tolerance: Value | None = None,
            trust: PathLike | Sequence[PathLike] | None = None, log: PathLike | None = None,
            key: PathLike | None = None, passphrase_file: PathLike | None = None, force: bool = False,
            withheld: PathLike | None = None, max_work: Value | None = None, max_memory: Value | None = None,
            threads: Value | None = None, isa: Value | None = None, device: Value | None = None) -> Predict:
    """Prepares the rows as the archive's run prepared its data and writes one line of predictions a row.
    The target column may be missing.

        csv: the rows to score, with the columns of the training data
        out: the CSV of predictions to write; - for stdout
        id: columns of the rows to write beside the predictions
        flags: add a column of warnings: what training had nothing like
        reasons: add the N columns that speak most against what is favourable
        points: add the points of the scorecard with this scale, as 600:19:50
        contributions: add what every column contributes
        reference: reasons are relative to all training rows (all), or to those at and just above the cut-off
            (cutoff)
        cutoff: that cut-off (default: 0.5 of a class's score)
        favourable: what it is good to get (default: the positive class); of a regression high or low
        steps: of a network's integrated gradients (default: 64)
        compare: say whether these predictions are the model's, and where they first differ
        tolerance: numbers that far apart are the same to --compare (default: 0)
        trust: verify the signature with this public key first (default: REPRISE_TRUST)
        log: append to this log of predictions (docs/log.md) before they are written
        key: the log's private key
        passphrase_file: first line: the passphrase of KEY.pem
        force: replace the CSV if it exists
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Predict, ["predict"], [word(archive)], {
            "csv": given.tables(csv, archive), "out": out, "id": id, "flags": flags, "reasons": reasons,
            "points": points, "contributions": contributions, "reference": reference, "cutoff": cutoff,
            "favourable": favourable, "steps": steps, "compare": given.tables(compare), "tolerance": tolerance,
            "trust": trust, "log": log, "key": key, "passphrase-file": passphrase_file, "force": force,
            "withheld": withheld, "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa,
            "device": device})


def continue_(archive: PathLike, *, prompt: Value | None = None, prompt_file: PathLike | None = None,
              out: PathLike | None = None, tokens: Value | None = None, seed: Value | None = None,
              temperature: Value | None = None, trust: PathLike | Sequence[PathLike] | None = None, force: bool = False,
              withheld: PathLike | None = None, max_work: Value | None = None, max_memory: Value | None = None,
              threads: Value | None = None, isa: Value | None = None, device: Value | None = None) -> Continue:
    """Goes on with a text by the model of a run on a text (data.text of its recipe), and writes the text and what
    comes behind it. The same archive, text and options give the same bytes on every host.

        prompt: what to go on with
        prompt_file: the same from a file
        out: the file to write instead of stdout
        tokens: how many tokens more (default: 200)
        seed: draw each token, by this seed (default: the likeliest is taken)
        temperature: with --seed: below 1 nearer to the likeliest (default: 1)
        trust: verify the signature with this public key first (default: REPRISE_TRUST)
        force: replace the file if it exists
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Continue, ["continue"], [word(archive)], {
            "prompt": prompt, "prompt-file": prompt_file, "out": out, "tokens": tokens, "seed": seed,
            "temperature": temperature, "trust": trust, "force": force, "withheld": withheld, "max-work": max_work,
            "max-memory": max_memory, "threads": threads, "isa": isa, "device": device})


def validate(archive: PathLike, *, csv: Table | None = None, part: Value | None = None,
             by: Value | Sequence[Value] | None = None, groups: Value | Sequence[Value] | None = None,
             favourable: Value | None = None, threshold: Value | None = None,
             parent: PathLike | Sequence[PathLike] | None = None,
             parent_withheld: PathLike | Sequence[PathLike] | None = None, attach: bool = False,
             out: PathLike | None = None, check: PathLike | None = None, key: PathLike | None = None,
             passphrase_file: PathLike | None = None, trust: PathLike | Sequence[PathLike] | None = None,
             force: bool = False, withheld: PathLike | None = None, max_work: Value | None = None,
             max_memory: Value | None = None, threads: Value | None = None, isa: Value | None = None,
             device: Value | None = None) -> Validate:
    """Says what the archive's model is worth on rows with outcomes: discrimination with intervals,
    calibration, confusion, residuals, beside the trivial model; by slice and by group.
    The statement is bound to archive and rows, and --check makes it again to the byte.

        csv: rows with outcomes, with the columns of the training data
        part: instead: the archive's own rows: those that no step has seen (test), or those of all folds, each
            scored by the trial that was not trained on it (folds)
        by: figures by slice: values, or K parts of numbers
        groups: the same with rates of selection; need be no feature
        favourable: what it is good to get (default: the positive class)
        threshold: one more confusion, and selection, at this score
        parent: the run started from this archive: count rows that trained it too; then its own parent's
        parent_withheld: what a --parent left out (written by --withhold DIR); one a parent that did, in their order
        attach: add the statement to ARCHIVE, signed by KEY.pem and dated now
        out: write the statement here: canonical JSON
        check: make this statement again and compare every byte
        key: sign it with this key (default: REPRISE_KEY)
        passphrase_file: first line: the passphrase of KEY.pem
        trust: verify the archive's signature first, and that of --check FILE (default: REPRISE_TRUST)
        force: replace FILE if it exists
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Validate, ["validate"], [word(archive)], {
            "csv": given.tables(csv, archive), "part": part, "by": by, "groups": groups, "favourable": favourable,
            "threshold": threshold, "parent": parent, "parent-withheld": parent_withheld, "attach": attach, "out": out,
            "check": check, "key": key, "passphrase-file": passphrase_file, "trust": trust, "force": force,
            "withheld": withheld, "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa,
            "device": device})


def monitor(archive: PathLike, *, csv: Table, period: Value | None = None, previous: PathLike | None = None,
            attach: bool = False, out: PathLike | None = None, check: PathLike | None = None,
            key: PathLike | None = None, passphrase_file: PathLike | None = None,
            trust: PathLike | Sequence[PathLike] | None = None, force: bool = False, withheld: PathLike | None = None,
            max_work: Value | None = None, max_memory: Value | None = None, threads: Value | None = None,
            isa: Value | None = None, device: Value | None = None) -> Monitor:
    """Says how far new rows are from those the model was trained on: scores and every feature by edges
    frozen at training, new values, values out of range; figures where outcomes are there.

        csv: new rows, with the columns of the training data
        period: what to call this period
        previous: the statement of the period before, which this one names; with --attach or --trust signed
        attach: add the statement to ARCHIVE, signed by KEY.pem and dated now
        out: write the statement here: canonical JSON
        check: make this statement again and compare every byte
        key: sign it with this key (default: REPRISE_KEY)
        passphrase_file: first line: the passphrase of KEY.pem
        trust: verify the archive's signature first, and that of --check FILE (default: REPRISE_TRUST)
        force: replace FILE if it exists
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Monitor, ["monitor"], [word(archive)], {
            "csv": given.tables(csv, archive), "period": period, "previous": previous, "attach": attach, "out": out,
            "check": check, "key": key, "passphrase-file": passphrase_file, "trust": trust, "force": force,
            "withheld": withheld, "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa,
            "device": device})


def explain(archive: PathLike, *, csv: Table | None = None, part: Value | None = None, metric: Value | None = None,
            favourable: Value | None = None, repeats: Value | None = None, seed: Value | None = None,
            grid: Value | None = None, curves: Value | None = None, attach: bool = False, out: PathLike | None = None,
            check: PathLike | None = None, key: PathLike | None = None, passphrase_file: PathLike | None = None,
            trust: PathLike | Sequence[PathLike] | None = None, force: bool = False, withheld: PathLike | None = None,
            max_work: Value | None = None, max_memory: Value | None = None, threads: Value | None = None,
            isa: Value | None = None, device: Value | None = None) -> Explain:
    """Says which columns the archive's model needs on rows with outcomes, by permuting one at a
    time, and how its score moves with each of them: partial dependence and single rows'
    curves. The statement is bound to archive and rows, and --check makes it again.

        csv: rows with outcomes, with the columns of the training data
        part: instead: the archive's own rows that no step has seen
        metric: what falls: auc, log_loss, brier; log_loss, accuracy, macro_auc of more classes; r2, rmse, mae
        favourable: whose score is looked at (default: the positive class)
        repeats: permutations a column (default: 5)
        seed: of the permutations (default: 1)
        grid: parts of a number's quantiles (default: 10)
        curves: rows whose own curves are told (default: 5)
        attach: add the statement to ARCHIVE, signed by KEY.pem and dated now
        out: write the statement here: canonical JSON
        check: make this statement again and compare every byte
        key: sign it with this key (default: REPRISE_KEY)
        passphrase_file: first line: the passphrase of KEY.pem
        trust: verify the archive's signature first, and that of --check FILE (default: REPRISE_TRUST)
        force: replace FILE if it exists
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Explain, ["explain"], [word(archive)], {
            "csv": given.tables(csv, archive), "part": part, "metric": metric, "favourable": favourable,
            "repeats": repeats, "seed": seed, "grid": grid, "curves": curves, "attach": attach, "out": out,
            "check": check, "key": key, "passphrase-file": passphrase_file, "trust": trust, "force": force,
            "withheld": withheld, "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa,
            "device": device})


def scorecard(archive: PathLike, *, points: Value | None = None, favourable: Value | None = None,
              out: PathLike | None = None, check: PathLike | None = None, key: PathLike | None = None,
              passphrase_file: PathLike | None = None, trust: PathLike | Sequence[PathLike] | None = None,
              force: bool = False, withheld: PathLike | None = None, max_work: Value | None = None,
              max_memory: Value | None = None, threads: Value | None = None, isa: Value | None = None,
              device: Value | None = None) -> Scorecard:
    """Shows a model of two classes without layers as a table of points, whose sums are what
    predict --points gives a row. Missing and unknown values have their points too.

        points: P points at odds O of the favourable class, D more double them (default: 600:19:50)
        favourable: what it is good to get (default: the positive class)
        out: write the statement here: canonical JSON
        check: make this statement again and compare every byte
        key: sign it with this key (default: REPRISE_KEY)
        passphrase_file: first line: the passphrase of KEY.pem
        trust: verify the archive's signature first, and that of --check FILE (default: REPRISE_TRUST)
        force: replace FILE if it exists
        withheld: the folder with the data that was left out of the archive, and its salt
        max_work: refuse what takes more operations on elements than N (default: 2^56) before it starts
        max_memory: refuse a program that needs more memory before it starts (default: none is refused)
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Scorecard, ["scorecard"], [word(archive)], {
            "points": points, "favourable": favourable, "out": out, "check": check, "key": key,
            "passphrase-file": passphrase_file, "trust": trust, "force": force, "withheld": withheld,
            "max-work": max_work, "max-memory": max_memory, "threads": threads, "isa": isa, "device": device})


def report(archive: PathLike, *, out: PathLike, trust: PathLike | Sequence[PathLike] | None = None,
           withheld: PathLike | None = None, parent: PathLike | Sequence[PathLike] | None = None,
           policy: Document | None = None, dossier: Value | None = None, force: bool = False) -> Report:
    """Writes one HTML page: what model for what use, how good, stable and fair, verified, replayed and decided by
        whom;
    then figures, plots, data, model, training, statements and digests.
    It needs no network and no scripts, and prints on A4. The same archive, keys and policy give the same bytes.
    Where the policy is not met the page is written, says so first, and the exit code is 4.

        out: the HTML file to write
        trust: verify the signature with this public key first (default: REPRISE_TRUST)
        withheld: the folder with the data that was left out of the archive, and its salt
        parent: the run started from this archive: check its id and its states; then its own parent's
        policy: hold the archive against this policy and report every clause
        dossier: tell the evidence in the order of annex-iv, art31 or sr26-2
        force: replace FILE if it exists"""
    with inputs() as given:
        return call(Report, ["report"], [word(archive)], {
            "out": out, "trust": trust, "withheld": withheld, "parent": parent, "policy": given.documents(policy),
            "dossier": dossier, "force": force})


def export(archive: PathLike, *, tensorboard: PathLike, force: bool = False,
           trust: PathLike | Sequence[PathLike] | None = None) -> Export:
    """Writes an archive's scalars as a TensorBoard event file: the loss of every training step, the learning rate
    of a recipe's run, metrics at the last step. Nothing is computed. Its name and bytes follow from the
    archive alone: wall times are 0 (docs/inside.md). The folder is made if it is not there.

        tensorboard: write an event file for TensorBoard into this folder
        force: replace the file if it exists
        trust: verify the signature with this public key first (default: REPRISE_TRUST)"""
    with inputs() as given:
        return call(Export, ["export"], [word(archive)], {
            "tensorboard": tensorboard, "force": force, "trust": trust})


def inventory(*paths: PathLike, log: PathLike | None = None, log_key: PathLike | None = None,
              trust: PathLike | Sequence[PathLike] | None = None, csv: bool = False) -> Inventory:
    """Lists archives, and the *.reprise of folders, as a register: id, name, what the recipe's card says, main metric,
    verified, replayed, decision, open findings, last validation and monitoring, parent, predecessor.
    Without --trust statements count for nothing.
    An archive that cannot be read is a row with its error, and the exit code is 4.

        log: the folder of a log of runs: also list what it has and was not given
        log_key: the log must be signed by this key
        trust: verify signatures with this public key (default: REPRISE_TRUST)
        csv: a table for spreadsheets"""
    with inputs() as given:
        return call(Inventory, ["inventory"], [*map(word, paths)], {
            "log": log, "log-key": log_key, "trust": trust, "csv": csv})


def sign(archive: PathLike, *, key: PathLike | None = None, passphrase_file: PathLike | None = None,
         cert: PathLike | None = None, trust: PathLike | Sequence[PathLike] | None = None) -> Sign:
    """Adds your endorsement: you vouch for the archive as it is, whoever made it. An archive that nobody has signed is
        then
    a signed one; how and where it was made stays unsaid, as that can be stated only while it is being made
    (reprise run --key). Every hash is checked first, with --trust also the signature that is there.

        key: your private key (default: REPRISE_KEY)
        passphrase_file: first line: the passphrase of KEY.pem
        cert: the key's certificate, then its issuers': goes into the archive
        trust: verify the signature that is there with this public key first (default: REPRISE_TRUST)"""
    with inputs() as given:
        return call(Sign, ["sign"], [word(archive)], {
            "key": key, "passphrase-file": passphrase_file, "cert": cert, "trust": trust})


def approve(archive: PathLike, *, role: Value, decision: Value, reason: Value, key: PathLike | None = None,
            passphrase_file: PathLike | None = None, cert: PathLike | None = None,
            trust: PathLike | Sequence[PathLike] | None = None, allow_unsigned: bool = False) -> Approve:
    """Verifies the archive, then adds your signed decision about it. A decision cannot be taken back, only followed by
    another. What decisions an archive needs, a policy says: reprise verify --policy.

        role: in which role you decide, e.g. model-risk
        decision: approve, reject or abstain
        reason: why, in one line
        key: your private key (default: REPRISE_KEY)
        passphrase_file: first line: the passphrase of KEY.pem
        cert: the key's certificate, then its issuers': goes into the archive
        trust: a public key whose signature on the archive counts (default: REPRISE_TRUST)
        allow_unsigned: decide about an archive that nobody vouches for"""
    with inputs() as given:
        return call(Approve, ["approve"], [word(archive)], {
            "role": role, "decision": decision, "reason": reason, "key": key, "passphrase-file": passphrase_file,
            "cert": cert, "trust": trust, "allow-unsigned": allow_unsigned})


def finding(archive: PathLike, *, id: Value, severity: Value, text: Value, owner: Value, due: Value | None = None,
            close: bool = False, key: PathLike | None = None, passphrase_file: PathLike | None = None,
            cert: PathLike | None = None, trust: PathLike | Sequence[PathLike] | None = None) -> Finding:
    """Adds your signed finding about the model to its archive, or says that it is settled (--close). It stands
    until the same key closes it under the same id. What may be open, a policy says: findings.

        id: what the finding is called, e.g. MRM-2026-17
        severity: low, medium, high or critical
        text: what was found, or how it was settled, in one line
        owner: who has to settle it
        due: until when, as 2027-03-31T00:00:00Z
        close: the finding of this id is settled: only who opened it closes it
        key: your private key (default: REPRISE_KEY)
        passphrase_file: first line: the passphrase of KEY.pem
        cert: the key's certificate, then its issuers': goes into the archive
        trust: verify the signature that is there with this public key first (default: REPRISE_TRUST)"""
    with inputs() as given:
        return call(Finding, ["finding"], [word(archive)], {
            "id": id, "severity": severity, "text": text, "owner": owner, "due": due, "close": close, "key": key,
            "passphrase-file": passphrase_file, "cert": cert, "trust": trust})


def cert(archive: PathLike, chain: PathLike, *, force: bool = False) -> Cert:
    """Puts the certificates of a signer's key into the archive: the key's own first, each one issued by the next. Then
    reprise verify --ca ROOT.pem needs no public key of the signer. The archive's id does not change.
    Signing commands do the same at once: --cert CHAIN.pem.

        force: replace older certificates of the same key"""
    with inputs() as given:
        return call(Cert, ["cert"], [word(archive), word(chain)], {
            "force": force})


def keygen(name: PathLike, *, passphrase_file: PathLike | None = None, token: Value | None = None,
           rotate: PathLike | None = None, rotate_passphrase_file: PathLike | None = None, from_: Value | None = None,
           force: bool = False) -> Keygen:
    """Makes an ECDSA P-256 key pair: NAME.pem signs and stays secret (mode 0600), NAME.pub.pem goes to those
    who verify.

        passphrase_file: encrypt the private key; the passphrase is the first line of FILE
        token: no new key: only write NAME.pub.pem of the key on a PKCS#11 token, pkcs11:...; its PIN is the
            passphrase
        rotate: the old key hands over to the new one: write NAME.rotation.json too
        rotate_passphrase_file: first line: the passphrase of OLD.pem
        from_: with --rotate: from when, as 2026-11-21T15:04:05Z in UTC (default: now)
        force: replace keys of this name, which are then lost"""
    with inputs() as given:
        return call(Keygen, ["keygen"], [word(name)], {
            "passphrase-file": passphrase_file, "token": token, "rotate": rotate,
            "rotate-passphrase-file": rotate_passphrase_file, "from": from_, "force": force})


def doctor(*, device: Value | None = None) -> Doctor:
    """Checks the floating-point environment, the versions built against and loaded, and every kernel level of
    this CPU against the conformance vectors, and lists the devices that --device takes. Given one, runs every
    kernel there beside this CPU's reference. Exit 5 when this host, or the device, does not keep the contract,
    or is not here.

        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Doctor, ["doctor"], [], {
            "device": device})


def bench(*, only: Value | None = None, threads: Value | None = None, isa: Value | None = None,
          device: Value | None = None) -> Bench:
    """Times the kernels and measures in the same minute what this host can do at most: fused multiply-adds in
    registers (fma) and bytes read and copied outside the caches (memory). Times are medians of at least 7.

        only: only works with TEXT in their name, e.g. matmul
        threads: use N threads (default: every CPU); never changes a bit
        isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
        device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
            changes a bit"""
    with inputs() as given:
        return call(Bench, ["bench"], [], {
            "only": only, "threads": threads, "isa": isa, "device": device})


class log:
    """The actions of `reprise log`."""

    @staticmethod
    def init(folder: PathLike, *, origin: Value, key: PathLike, passphrase_file: PathLike | None = None) -> LogInit:
        """Begins a log: a folder that holds the ids of archives and a signed checkpoint. NAME is the log's name in the
            world,
        such as example.com/credit-models; it cannot be changed later, and neither can the key.

            origin: the log's name, e.g. example.com/models
            key: the log's private key
            passphrase_file: first line: the passphrase of KEY.pem"""
        with inputs() as given:
            return call(LogInit, ["log", "init"], [word(folder)], {
                "origin": origin, "key": key, "passphrase-file": passphrase_file})

    @staticmethod
    def add(folder: PathLike, archive: PathLike, *, key: PathLike, passphrase_file: PathLike | None = None,
            trust: PathLike | Sequence[PathLike] | None = None) -> LogAdd:
        """Checks the archive, appends its id to the log and signs a new checkpoint. With --trust the archive's
        signature is
        checked too. An archive that is in the log already is not added again.

            key: the log's private key
            passphrase_file: first line: the passphrase of KEY.pem
            trust: a public key whose signature on the archive counts"""
        with inputs() as given:
            return call(LogAdd, ["log", "add"], [word(folder), word(archive)], {
                "key": key, "passphrase-file": passphrase_file, "trust": trust})

    @staticmethod
    def prove(folder: PathLike, what: PathLike, *, trust: PathLike | Sequence[PathLike] | None = None,
              output: PathLike | None = None, force: bool = False) -> LogProve:
        """Writes the proof that an archive, or a CSV of predictions, is in the log, as the log is now. Who has the
        proof, the file and the log's public key can check it without the log: reprise log check.

            trust: the log's public key
            output: write the proof to FILE
            force: replace FILE"""
        with inputs() as given:
            return call(LogProve, ["log", "prove"], [word(folder), word(what)], {
                "trust": trust, "output": output, "force": force})

    @staticmethod
    def consistency(folder: PathLike, old_checkpoint: PathLike, *, trust: PathLike | Sequence[PathLike],
                    output: PathLike | None = None, force: bool = False) -> LogConsistency:
        """Writes the proof that the log still begins with all that it held when OLD_CHECKPOINT was signed: nothing was
        dropped,
        changed or put in between since. Exit 4 where that is not so.

            trust: the log's public key
            output: write the proof to FILE
            force: replace FILE"""
        with inputs() as given:
            return call(LogConsistency, ["log", "consistency"], [word(folder), word(old_checkpoint)], {
                "trust": trust, "output": output, "force": force})

    @staticmethod
    def check(what: PathLike, *, proof: PathLike, trust: PathLike | Sequence[PathLike]) -> LogCheck:
        """Checks a proof without the log: that an archive, an id or a CSV of predictions is in it, or that
        it still begins with what OLD_CHECKPOINT
        covers, and that the log's key signed. What it is of, the proof says.

            proof: the proof, from reprise log prove or consistency
            trust: the log's public key"""
        with inputs() as given:
            return call(LogCheck, ["log", "check"], [word(what)], {
                "proof": proof, "trust": trust})

    @staticmethod
    def attach(archive: PathLike, *, proof: PathLike, force: bool = False) -> LogAttach:
        """Puts a proof into the archive it is about, in signatures/, so that reprise verify finds it. Nothing else of
        the
        archive changes, its id included. --force replaces an older proof by the same log.

            proof: the proof, from reprise log prove or consistency
            force: replace what is there"""
        with inputs() as given:
            return call(LogAttach, ["log", "attach"], [word(archive)], {
                "proof": proof, "force": force})

    @staticmethod
    def verify(folder: PathLike, *, trust: PathLike | Sequence[PathLike]) -> LogVerify:
        """Computes the whole log again and compares it with its signed checkpoint. Whether entries were dropped before
        that was
        signed only an older checkpoint can tell: reprise log consistency.

            trust: the log's public key"""
        with inputs() as given:
            return call(LogVerify, ["log", "verify"], [word(folder)], {
                "trust": trust})

    @staticmethod
    def list(folder: PathLike, *, trust: PathLike | Sequence[PathLike] | None = None) -> LogList:
        """Lists the ids in the log, the first one first; of a log of predictions its records.

            trust: the log's public key"""
        with inputs() as given:
            return call(LogList, ["log", "list"], [word(folder)], {
                "trust": trust})


class timestamp:
    """The actions of `reprise timestamp`."""

    @staticmethod
    def request(archive: PathLike, *, output: PathLike, statement: Value | None = None, hash: Value | None = None,
                force: bool = False) -> TimestampRequest:
        """Writes a request (RFC 3161) to date a statement of the archive: its digest and a random number, nothing
        else.
        Any tool can send it to an authority.

            output: the request to write
            statement: date this statement (default: signatures/run.dsse.json)
            hash: sha256 (default), sha384 or sha512
            force: replace FILE"""
        with inputs() as given:
            return call(TimestampRequest, ["timestamp", "request"], [word(archive)], {
                "output": output, "statement": statement, "hash": hash, "force": force})

    @staticmethod
    def attach(archive: PathLike, response: PathLike, *, request: PathLike | None = None,
               force: bool = False) -> TimestampAttach:
        """Puts an authority's response into the archive beside the statement that it dates, as
        signatures/NAME.dsse.tsr.
        Nothing else of the archive changes, its id included.

            request: the request that was sent: the response must answer it
            force: replace an older timestamp of the same statement"""
        with inputs() as given:
            return call(TimestampAttach, ["timestamp", "attach"], [word(archive), word(response)], {
                "request": request, "force": force})


class golden:
    """The actions of `reprise golden`."""

    @staticmethod
    def record(folder: PathLike, *, force: bool = False, reason: Value | None = None,
               progress: bool | None = None) -> GoldenRecord:
        """record runs every recipe of DIR (*.yaml) and writes its archive beside it, and golden.json with ids and
        hashes of all archives of DIR, those without a recipe included. check runs and replays all of them and
        compares every byte: exit 3 and the first differing step where one differs.

            force: record: replace goldens that differ; needs --reason
            reason: record: why; kept in golden.json
            progress: a bar by tqdm; by default where tqdm is there and stderr is a terminal or a notebook"""
        with inputs() as given:
            return call(GoldenRecord, ["golden", "record"], [word(folder)], {
                "force": force, "reason": reason}, progress)

    @staticmethod
    def check(folder: PathLike, *, junit: PathLike | None = None, threads: Value | None = None,
              isa: Value | None = None, device: Value | None = None, allow_nonconforming: bool = False,
              progress: bool | None = None) -> GoldenCheck:
        """record runs every recipe of DIR (*.yaml) and writes its archive beside it, and golden.json with ids and
        hashes of all archives of DIR, those without a recipe included. check runs and replays all of them and
        compares every byte: exit 3 and the first differing step where one differs.

            junit: check: also write the verdicts as JUnit XML (replaces FILE)
            threads: use N threads (default: every CPU); never changes a bit
            isa: kernels: ref, sse2, avx2, avx512, neon (default: the best); never changes a bit
            device: where kernels run: cpu (the default), cuda or cuda:N, or one that reprise doctor lists; never
                changes a bit
            allow_nonconforming: go on where the kernels fail their own conformance vectors; what is signed says so
            progress: a bar by tqdm; by default where tqdm is there and stderr is a terminal or a notebook"""
        with inputs() as given:
            return call(GoldenCheck, ["golden", "check"], [word(folder)], {
                "junit": junit, "threads": threads, "isa": isa, "device": device,
                "allow-nonconforming": allow_nonconforming}, progress)
