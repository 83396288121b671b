# SPDX-License-Identifier: Apache-2.0
"""What the functions of command_calls.py give: a class for each table of docs/json.md.

Written by scripts/python-commands.py."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .command import Result


@dataclass(frozen=True, kw_only=True)
class Run(Result):
    """What `reprise run --json` gives.

        archive_id: the archive; null with --no-record
        device: what computed, e.g. cuda-sm90 NVIDIA H100 driver 13.0, where that is not the processor: level is
            then what the host computes beside it
        key_id: the key that signed
        level: kernels, e.g. avx2
        memory_bytes: weights, table and steps
        metrics: outputs/metrics.json with its reals as numbers (FORMAT 9)
        path: the file written
        perfect: of at least 20 validation rows (without any: training rows) every class is right, or R2 is at least
            0.9999: look for a leak
        pinned_to: the library and chip that computed its products and repeat it alone (pinned.md); null: the run is
            portable
        recording_seconds: of seconds
        resumed_at: the step after which the run went on; 0: it was not resumed
        resumes: how often it was
        saved_points: resume points made
        saving_seconds: of seconds
        seconds: in all
        table: as data gives it, null of a run on a text; with --withhold without what cells hold: no examples,
            quantiles and quality, and (withheld) for a finding's text
        trials: trials of a search, of folds and challengers
        worse_than_trivial: of brier, log_loss, accuracy, rmse: figures of the validation rows (without any: of the
            training rows) that are worse than the trivial model's"""

    DOCUMENT: ClassVar[str] = "run"
    archive_id: str | None
    device: str | None
    key_id: str | None
    level: str
    memory_bytes: int
    metrics: dict[str, Any] | None
    path: str | None
    perfect: bool
    pinned_to: str | None
    recording_seconds: float
    resumed_at: int
    resumes: int
    saved_points: int
    saving_seconds: float
    seconds: float
    signed: bool
    steps: int
    table: dict[str, Any] | None
    threads: int
    trials: int
    worse_than_trivial: list[Any]


@dataclass(frozen=True, kw_only=True)
class Retrain(Result):
    """What `reprise retrain --json` gives.

        changes: card_left_out, categories, columns_gone, columns_new, recipe_left_out: what the new table has
            otherwise than the parent's (retrain.md)
        checked: --check found every byte the same
        key_id: the key that signed
        member: with --attach
        path: of the statement
        run: the child, with the keys of reprise run; null with --child
        statement: FORMAT 15.5; null where the recipe keeps no rows to judge on
        verified: the parent's signature, by --trust"""

    DOCUMENT: ClassVar[str] = "retrain"
    changes: dict[str, Any]
    checked: bool
    key_id: str | None
    member: str | None
    path: str | None
    run: dict[str, Any] | None
    statement: dict[str, Any] | None
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Data(Result):
    """What `reprise data --json` gives.

        columns: a column each: name, type taken, figures
        conflicts: equal rows with other targets
        duplicates: equal rows
        error: why a run would be refused
        findings: code, text and where
        quality: of a recipe: data/quality.json (FORMAT 9.9)"""

    DOCUMENT: ClassVar[str] = "data"
    columns: list[Any]
    conflicts: int
    duplicates: int
    error: str | None
    findings: list[Any]
    rows: int
    quality: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Verify(Result):
    """What `reprise verify --json` gives.

        bytes: of the file
        kind: a recipe's run or one of the C API
        not_counted: statements whose keys are not trusted
        parent: archive_id, checked, pinned_to (of the nearest pinned run that it started from, by this archive's
            word, which is the parent's where that is checked; null: it names none), replayed
        pinned_to: the library and chip that repeat it alone; null: the run is portable
        policy: met and the clauses
        proofs: of logs
        rows: of the table: rows, used, left_out by data.where, missing_target for want of a target, and hidden:
            lines that look like rows and are comments or skipped; null where data/quality.json is not there or does
            not add up
        standings: findings and approvals as they stand
        statements: those that count; device of a provenance and of a verdict: what computed where that was not the
            processor
        verified: a trusted key vouches for it
        withheld: members that were left out"""

    DOCUMENT: ClassVar[str] = "verify"
    archive_id: str
    bytes: int
    certificates: list[Any]
    kind: str
    members: int
    not_counted: list[Any]
    parent: dict[str, Any] | None
    path: str
    pinned_to: str | None
    policy: dict[str, Any] | None
    proofs: list[Any]
    rows: dict[str, Any] | None
    signed: bool
    standings: list[Any]
    statements: list[Any]
    timestamps: list[Any]
    verified: bool
    withheld: int


@dataclass(frozen=True, kw_only=True)
class Replay(Result):
    """What `reprise replay --json` gives.

        attested: the member with the verdict
        device: as of run
        identical: always true here: a difference is an error with exit code 3
        members: compared
        parent: as of verify
        pinned_to: as of run
        rows: of the table: rows, used, left_out by data.where, missing_target for want of a target, and hidden:
            lines that look like rows and are comments or skipped; null where data/quality.json is not there or does
            not add up
        scope: mode, first, last, segments, seed ..."""

    DOCUMENT: ClassVar[str] = "replay"
    archive_id: str
    attested: str | None
    device: str | None
    identical: bool
    kind: str
    level: str
    members: int
    metrics: dict[str, Any] | None
    parent: dict[str, Any] | None
    path: str
    pinned_to: str | None
    rows: dict[str, Any] | None
    scope: dict[str, Any]
    seconds: float
    steps: int
    threads: int
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Diff(Result):
    """What `reprise diff --json` gives.

        a: archive_id, path
        b: likewise
        difference: the place where they part: step, record, program, value, each null where there is none (diff.md)
        host_suspected: recipe, tables and parent are the same and a step differs: see reprise doctor
        metrics: figures of both: key, and values of A and B, null where there is none
        metrics_rows: whether they are of the same rows: same, other, unknown
        predictions: of both outputs/predictions.csv: rows of A, rows_found in B by their numbers, cells compared,
            cells_differing, rows_differing, largest distance of numbers or null; null where one has none
        text: the lines for people but metrics, metric, scores, score and host, which have keys"""

    DOCUMENT: ClassVar[str] = "diff"
    a: dict[str, Any]
    b: dict[str, Any]
    difference: dict[str, Any] | None
    digests_compared: int
    host_suspected: bool
    metrics: list[Any]
    metrics_rows: str
    predictions: dict[str, Any] | None
    same: bool
    steps_recomputed: int
    text: list[Any]


@dataclass(frozen=True, kw_only=True)
class InspectMember(Result):
    """What `reprise inspect --member --json` gives."""

    DOCUMENT: ClassVar[str] = "inspect --member"
    bytes: int
    member: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Inspect(Result):
    """What `reprise inspect --json` gives.

        members: name, size, sha256
        programs: with --programs
        rows: of the table: rows, used, left_out by data.where, missing_target for want of a target, and hidden:
            lines that look like rows and are comments or skipped; null where data/quality.json is not there or does
            not add up"""

    DOCUMENT: ClassVar[str] = "inspect"
    archive_id: str
    contract: int
    format: int
    kind: str
    members: list[Any]
    metrics: dict[str, Any] | None
    profile: str
    recipe: dict[str, Any] | None
    rows: dict[str, Any] | None
    run: dict[str, Any]
    statements: list[Any]
    withheld: list[Any]
    programs: list[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class InspectStep(Result):
    """What `reprise inspect --step --json` gives.

        difference: how the step, computed here, differs from its record; exit code 3
        listing: without --op and --input: the program, then its functions, each with digest (null of the program)
            and instructions: attributes (those of the operation, as the program has them; of a region none),
            instruction, makes (the states and results), operands, operation, types
        npy: the file written
        program: the member
        same: the step has the bits of its record; true of a listing, for which nothing is computed
        value: of --op function (the digest of the one it is in, or null), operands, operation, output, place; of
            --input input and kind; of both digest, dtype, shape, elements, nan, infinite, zero, and as decimals
            (null where no element is finite) least, most, mean, deviation; histogram, each bin from and count;
            first, the first elements as bits and decimals (inside.md)"""

    DOCUMENT: ClassVar[str] = "inspect --step"
    archive_id: str
    difference: str | None
    listing: list[Any] | None
    npy: str | None
    path: str
    program: str
    same: bool
    step: int
    steps_recomputed: int
    value: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Profile(Result):
    """What `reprise profile --json` gives.

        archive_id: null of a recipe
        profile: seconds of steps, threads, level, device (null: the processor), arena_bytes, held_bytes (states,
            data, feeds and results); limits, null where they are not known: a second's operations (fma, fma64: 0
            where nothing is of binary64) and bytes (read, copy). operations, the longest first: operation, calls,
            seconds, share, bytes and arithmetic of all calls, limit (fma, memory or null) and fraction of it.
            instructions: the same of each, with place, type, source and memory (bytes of the arena alive). beside:
            what, seconds, share (inside.md)
        trace: the file written"""

    DOCUMENT: ClassVar[str] = "profile"
    archive_id: str | None
    path: str
    profile: dict[str, Any]
    trace: str | None


@dataclass(frozen=True, kw_only=True)
class Export(Result):
    """What `reprise export --json` gives.

        path: the file written"""

    DOCUMENT: ClassVar[str] = "export"
    archive_id: str
    bytes: int
    path: str


@dataclass(frozen=True, kw_only=True)
class Predict(Result):
    """What `reprise predict --json` gives.

        comparison: with --compare: same, how many columns were compared, columns_lacking in theirs,
            columns_passed_over and rows_passed_over of theirs, and in first the row, line, column, expected and
            found of the first cell that differs
        hidden: lines of the table that look like rows and are none by the recipe's comment or skip_lines
        logged: with --log: the record that was appended (log.md, section 6), its objects written flat
        reasons: with --reasons or --contributions
        warnings: cells that training had nothing like"""

    DOCUMENT: ClassVar[str] = "predict"
    archive_id: str
    hidden: int
    logged: dict[str, Any] | None
    path: str | None
    reasons: dict[str, Any] | None
    rows: int
    verified: bool
    warnings: dict[str, Any] | None
    comparison: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Continue(Result):
    """What `reprise continue --json` gives.

        bytes: behind the prompt
        tokens: behind the prompt"""

    DOCUMENT: ClassVar[str] = "continue"
    archive_id: str
    bytes: int
    path: str
    prompt_tokens: int
    tokens: int
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Validate(Result):
    """What `reprise validate --json` gives.

        checked: --check found every byte the same
        member: with --attach
        statement: FORMAT 15"""

    DOCUMENT: ClassVar[str] = "validate"
    archive_id: str
    checked: bool
    key_id: str | None
    member: str | None
    path: str | None
    statement: dict[str, Any]
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Monitor(Result):
    """What `reprise monitor --json` gives.

        checked: --check found every byte the same
        member: with --attach
        statement: FORMAT 15"""

    DOCUMENT: ClassVar[str] = "monitor"
    archive_id: str
    checked: bool
    key_id: str | None
    member: str | None
    path: str | None
    statement: dict[str, Any]
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Scorecard(Result):
    """What `reprise scorecard --json` gives.

        checked: --check found every byte the same
        member: of explain, with --attach
        statement: FORMAT 15.3, 15.4"""

    DOCUMENT: ClassVar[str] = "scorecard"
    archive_id: str
    checked: bool
    key_id: str | None
    member: str | None
    path: str | None
    statement: dict[str, Any]
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Explain(Result):
    """What `reprise explain --json` gives.

        checked: --check found every byte the same
        member: of explain, with --attach
        statement: FORMAT 15.3, 15.4"""

    DOCUMENT: ClassVar[str] = "explain"
    archive_id: str
    checked: bool
    key_id: str | None
    member: str | None
    path: str | None
    statement: dict[str, Any]
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Compare(Result):
    """What `reprise compare --json` gives.

        coefficients: of exact fits
        recipe: the keys that differ
        runs: archive_id, name, parent, part (validation, folds: means over all of them, training or null), path,
            rows (of a text its tokens), rows_of_first, table_sha256"""

    DOCUMENT: ClassVar[str] = "compare"
    coefficients: list[Any]
    figures: list[Any]
    recipe: list[Any]
    runs: list[Any]
    trials: list[Any]


@dataclass(frozen=True, kw_only=True)
class Report(Result):
    """What `reprise report --json` gives."""

    DOCUMENT: ClassVar[str] = "report"
    archive_id: str
    bytes: int
    path: str
    policy: dict[str, Any] | None
    verified: bool


@dataclass(frozen=True, kw_only=True)
class Inventory(Result):
    """What `reprise inventory --json` gives.

        archives: a row each (inventory.md)"""

    DOCUMENT: ClassVar[str] = "inventory"
    archives: list[Any]


@dataclass(frozen=True, kw_only=True)
class GoldenRecord(Result):
    """What `reprise golden record --json` gives.

        goldens: archive_id, name, sha256, state"""

    DOCUMENT: ClassVar[str] = "golden record"
    goldens: list[Any]


@dataclass(frozen=True, kw_only=True)
class GoldenCheck(Result):
    """What `reprise golden check --json` gives.

        goldens: archive_id, message (null where all is the same), name, seconds, status: RP_EBITS where bits
            differ; difference, of its replay, as that of errors above; diff, of its recipe run again, as difference
            of reprise diff: step, tensor, element, both values and their distance; both null where there is none"""

    DOCUMENT: ClassVar[str] = "golden check"
    checked: int
    failed: int
    goldens: list[Any]


@dataclass(frozen=True, kw_only=True)
class Sign(Result):
    """What `reprise sign --json` gives.

        member: the statement"""

    DOCUMENT: ClassVar[str] = "sign"
    archive_id: str
    key_id: str
    member: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Approve(Result):
    """What `reprise approve --json` gives.

        member: the statement"""

    DOCUMENT: ClassVar[str] = "approve"
    archive_id: str
    key_id: str
    member: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Finding(Result):
    """What `reprise finding --json` gives.

        member: the statement"""

    DOCUMENT: ClassVar[str] = "finding"
    archive_id: str
    key_id: str
    member: str
    path: str


@dataclass(frozen=True, kw_only=True)
class LogInit(Result):
    """What `reprise log init --json` gives."""

    DOCUMENT: ClassVar[str] = "log init"
    key_id: str
    origin: str
    path: str


@dataclass(frozen=True, kw_only=True)
class LogAdd(Result):
    """What `reprise log add --json` gives.

        added: false: it was there"""

    DOCUMENT: ClassVar[str] = "log add"
    added: bool
    archive_id: str
    index: int
    path: str


@dataclass(frozen=True, kw_only=True)
class LogProve(Result):
    """What `reprise log prove --json` gives."""

    DOCUMENT: ClassVar[str] = "log prove"
    path: str | None
    proof: str


@dataclass(frozen=True, kw_only=True)
class LogConsistency(Result):
    """What `reprise log consistency --json` gives."""

    DOCUMENT: ClassVar[str] = "log consistency"
    path: str | None
    proof: str


@dataclass(frozen=True, kw_only=True)
class LogCheck(Result):
    """What `reprise log check --json` gives.

        archive_id: of a proof that an archive is in the log
        index: likewise
        key_id: likewise
        kind: inclusion, prediction or consistency
        old_size: of a proof of consistency
        prediction: of a proof of predictions: its record, as logged of predict"""

    DOCUMENT: ClassVar[str] = "log check"
    kind: str
    origin: str
    root: str
    size: int
    verified: bool
    archive_id: str | None = None
    index: int | None = None
    key_id: str | None = None
    old_size: int | None = None
    prediction: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class LogAttach(Result):
    """What `reprise log attach --json` gives."""

    DOCUMENT: ClassVar[str] = "log attach"
    archive_id: str
    member: str
    path: str


@dataclass(frozen=True, kw_only=True)
class LogVerify(Result):
    """What `reprise log verify --json` gives.

        kind: a log of runs or of predictions
        unfinished: entries behind the checkpoint"""

    DOCUMENT: ClassVar[str] = "log verify"
    key_id: str
    kind: str
    origin: str
    root: str
    size: int
    unfinished: int
    verified: bool


@dataclass(frozen=True, kw_only=True)
class LogList(Result):
    """What `reprise log list --json` gives.

        predictions: of a log of predictions: its records, as logged of predict"""

    DOCUMENT: ClassVar[str] = "log list"
    entries: list[Any]
    origin: str
    root: str
    size: int
    predictions: list[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Cert(Result):
    """What `reprise cert --json` gives."""

    DOCUMENT: ClassVar[str] = "cert"
    member: str
    path: str


@dataclass(frozen=True, kw_only=True)
class TimestampRequest(Result):
    """What `reprise timestamp request --json` gives."""

    DOCUMENT: ClassVar[str] = "timestamp request"
    archive_id: str
    path: str
    statement: str


@dataclass(frozen=True, kw_only=True)
class TimestampAttach(Result):
    """What `reprise timestamp attach --json` gives."""

    DOCUMENT: ClassVar[str] = "timestamp attach"
    member: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Keygen(Result):
    """What `reprise keygen --json` gives."""

    DOCUMENT: ClassVar[str] = "keygen"
    encrypted: bool
    key_id: str
    key_type: str
    private: str
    public: str
    rotation: str | None


@dataclass(frozen=True, kw_only=True)
class Doctor(Result):
    """What `reprise doctor --json` gives.

        host: beside what a statement has of it: devices, by name what each computes with or why it does not; with
            --device device: its name, identity and conformance, and in pinned the library that profile: pinned
            would take there: file, name, sha256, version, or a text of why there is none"""

    DOCUMENT: ClassVar[str] = "doctor"
    healthy: bool
    host: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Bench(Result):
    """What `reprise bench --json` gives.

        device: as of run; the limits that works are held against are this CPU's in any case
        level: kernels, e.g. avx2"""

    DOCUMENT: ClassVar[str] = "bench"
    device: str | None
    level: str
    works: list[Any]


@dataclass(frozen=True, kw_only=True)
class Help(Result):
    """What `reprise help --json` gives.

        commands: the tables that the commands parse by
        environment: the variables they read"""

    DOCUMENT: ClassVar[str] = "help"
    commands: list[Any]
    environment: list[Any]


@dataclass(frozen=True, kw_only=True)
class Version(Result):
    """What `reprise --version --json` gives.

        format: of archives
        version: of the library"""

    DOCUMENT: ClassVar[str] = "--version"
    format: int
    version: str
