# SPDX-License-Identifier: Apache-2.0
"""An archive's curves for TensorBoard: losses of steps, figures of the parts, histograms of weights, as an event file.

Written by the package `tensorboard` itself (no torch, no TensorFlow). Losses are drawn as TensorBoard holds them, in
binary32; the exact ones are the journal's. The times of events are those of writing: an archive knows none."""
from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .archive import Archive, Tensors

BINS = 30


def write(archive: str | os.PathLike[str] | Archive, folder: str | os.PathLike[str], *, histograms: bool = True) -> str:
    """Writes one event file into a folder, for `tensorboard --logdir`. Gives its path.

    Tags: `loss` of every step that has one; `training/accuracy` and all other numbers of the metrics' parts at the last
    step; `archive` a text with id, kind and steps; with histograms `weights/NAME` at the first step, checkpoints and last.
    Errors: ImportError without tensorboard; ArchiveError for what is no archive. Nothing is verified: `reprise.verify`."""
    files = importlib.import_module("tensorboard.summary.writer.event_file_writer")
    events = importlib.import_module("tensorboard.compat.proto.event_pb2")
    opened = archive if isinstance(archive, Archive) else Archive(archive)
    now = time.time()
    try:
        writer = files.EventFileWriter(os.fspath(folder))
        try:
            for step, value in sorted(values(opened, histograms), key=lambda e: e[0]):
                writer.add_event(events.Event(wall_time=now, step=step, summary=value))
        finally:
            writer.close()
        return newest(folder)
    finally:
        if opened is not archive:
            opened.close()


def newest(folder: str | os.PathLike[str]) -> str:
    """The event file that was written last."""
    found = [e for e in os.scandir(folder) if "tfevents" in e.name]
    return max(found, key=lambda e: (e.stat().st_mtime_ns, e.name)).path


def values(archive: Archive, histograms: bool) -> Iterator[tuple[int, Any]]:
    """(step, summary) of all tags."""
    pb = importlib.import_module("tensorboard.compat.proto.summary_pb2")
    steps = archive.steps
    last = steps[-1].step if steps else 0
    yield last, pb.Summary(value=[text(pb, "archive", f"{archive.kind} archive {archive.id}, {len(steps)} steps")])
    for s in steps:
        if s.loss is not None:
            yield s.step, pb.Summary(value=[pb.Summary.Value(tag="loss", simple_value=s.loss)])
    for part, figures in (archive.metrics or {}).items():
        for name, number in flat(figures, part) if isinstance(figures, Mapping) else ():
            yield last, pb.Summary(value=[pb.Summary.Value(tag=name, simple_value=number)])
    if histograms:
        for step, tensors in weights(archive, last):
            for name in tensors:
                found = histogram(pb, tensors.float32(name) if name in tensors.bf16 else tensors[name])
                if found is not None:
                    yield step, pb.Summary(value=[pb.Summary.Value(tag=f"weights/{name}", histo=found)])


def text(pb: Any, tag: str, content: str) -> Any:
    """What the plugin of texts shows."""
    tensor = importlib.import_module("tensorboard.util.tensor_util").make_tensor_proto(content)
    kind = importlib.import_module("tensorboard.plugins.text.metadata")
    return pb.Summary.Value(tag=tag, tensor=tensor, metadata=kind.create_summary_metadata(display_name=tag, description=""))


def flat(figures: Mapping[str, Any], name: str) -> Iterator[tuple[str, float]]:
    """The numbers of nested objects by their path; lists (bands, confusions) are no curves."""
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{name}/{key}")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield f"{name}/{key}", float(value)


def weights(archive: Archive, last: int) -> Iterator[tuple[int, Tensors]]:
    """Sets of states by the step after which they stand: the first, checkpoints, the last."""
    for stem in archive.sets:
        name = stem.rpartition("/")[2]
        if stem == "weights/init":
            yield 0, archive.tensors(stem)
        elif stem == "weights/final":
            yield last, archive.tensors(stem)
        elif stem.startswith("checkpoints/") and name.isdigit():
            yield int(name), archive.tensors(stem)


def histogram(pb: Any, a: np.ndarray[Any, Any]) -> Any:
    """Counts of a tensor's finite elements in equal bins; None where there is none, or of booleans."""
    if a.dtype == np.bool_:
        return None
    x = a.astype(np.float64).reshape(-1)
    x = x[np.isfinite(x)]
    if not x.size:
        return None
    counts, edges = np.histogram(x, bins=BINS) if x.min() < x.max() else (np.array([x.size]), np.array([x[0], x[0]]))
    return pb.HistogramProto(min=x.min(), max=x.max(), num=x.size, sum=x.sum(), sum_squares=(x * x).sum(),
                             bucket_limit=edges[1:].tolist(), bucket=counts.tolist())
