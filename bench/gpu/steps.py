#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps of the networks of bench/models on a GPU, beside PyTorch's on the same from the same weights: forward,
backward, AdamW. Our first steps are held bit for bit against the processor's, and losses against PyTorch's. Sides run in
turn in short rounds; a figure is the median. Part of scripts/gpu-report.sh; exit 77 where PyTorch or its GPU is not here.

    python3 bench/gpu/steps.py BUILD_FOLDER [--device cuda] [--works gpt,gpt:8] [--peers torch,plain,graph,compile]

NAME:TIMES is a network with a batch so many times as large as the processor's. Peers: eager PyTorch with deterministic
algorithms, the same without (plain), the deterministic step captured as a CUDA graph, or compiled (minutes); none uses TF32.
On the emulated device PyTorch computes on the processor: that shows that this runs, and its times say nothing.

Prints lines as bench/gpu/gpu.c does as they come: section, work, seconds, steps a second, unit, the peer's seconds, "equal" or
"DIFFERENT". Of "step" the peer is deterministic PyTorch, of "step recorded" (digests of all states in each step; rolling: of a
sixteenth of them) our own step that is not recorded, of "step beside ..." what it says. Lines of other lengths tell whether
bits are the processor's, as soon as that is known, losses after the same steps, and MiB of the device that are held at most,
ours and PyTorch's. What fails or takes longer than --each seconds is told, and the rest goes on; exit 1."""
import argparse
import contextlib
import os
import signal
import statistics
import sys
import tempfile
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "peers"))

from models_torch import Side, losses_apart, training  # noqa: E402

WORKS = "gpt,resnet,gpt:8,resnet:8,gpt:32,resnet:32,mlp,bert,lstm,vit,unet,dlrm,mlp:16,bert:8,vit:8,unet:8,lstm:8"
OURS = ("compiled", "recorded", "rolling", "cpu")
SAME, LOSS = 2, 5  # steps after which bits, and losses, are compared


class Torch:
    """PyTorch's step of a network in one mode, as a side that is asked for steps."""

    def __init__(self, torch, name, path, mode, device):
        self.torch, self.mode, self.on_gpu = torch, mode, device != "cpu"
        before = torch.cuda.memory_allocated() if self.on_gpu else 0
        if self.on_gpu:
            torch.cuda.reset_peak_memory_stats()
        self.step = training(name, path, mode, device)
        if "graph" in mode:
            self.step = self.captured(self.step)
        self.loss = self.take(LOSS)[1]
        self.peak = torch.cuda.max_memory_allocated() - before if self.on_gpu else 0

    def captured(self, step):
        self.deterministic()
        beside = self.torch.cuda.Stream()
        beside.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(beside):
            for _ in range(3):
                step()
        self.torch.cuda.current_stream().wait_stream(beside)
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            loss = step()

        def replay():
            graph.replay()
            return loss

        replay.step = step  # holds what the graph reads by address: batches, parameters

        return replay

    def deterministic(self):
        self.torch.use_deterministic_algorithms("plain" not in self.mode, warn_only=True)

    def take(self, steps):
        """Seconds of a step, and the last loss."""
        self.deterministic()
        begin = time.perf_counter()
        for _ in range(steps):
            loss = self.step()
        loss = float(loss)
        if self.on_gpu:
            self.torch.cuda.synchronize()
        return (time.perf_counter() - begin) / steps, loss


def prepared(torch):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.utils.deterministic.fill_uninitialized_memory = False  # a help against mistakes, and none here: it costs time
    return torch


def started(torch, options, name, path):
    """PyTorch's sides by mode; one that cannot be is told."""
    sides, device = {}, options.device if options.device.startswith("cuda") else "cpu"
    for peer in options.peers.split(","):
        for mode in [peer] + ([peer + "-last"] if name in ("resnet", "unet") else []):
            try:
                sides[mode] = Torch(torch, name, path, mode, device)
            except TimeoutError:
                raise
            except Exception as error:
                print("steps: %s: %s: %s" % (name, mode, str(error).split("\n")[0]), file=sys.stderr)
    return sides


def timed(takes, options):
    """Median seconds of a step by mode; takes: of so many steps by mode."""
    once = {mode: take(2) for mode, take in takes.items()}
    times = {mode: [] for mode in takes}
    for _ in range(options.rounds):
        for mode, take in takes.items():
            times[mode].append(take(max(2, int(options.seconds / once[mode]))))
    return {mode: statistics.median(values) for mode, values in times.items()}


def best(seconds, peer):
    """The fastest of its layouts, or "-"."""
    return min((s for mode, s in seconds.items() if mode.split("-")[0] == peer), default="-")


def row(section, label, seconds, beside, same):
    print("%s\t%s\t%.9g\t%.6g\tsteps/s\t%s\t%s" % (section, label, seconds, 1 / seconds,
                                                     beside if beside == "-" else "%.9g" % beside, same), flush=True)


def told(label, ours, peers, same, seconds):
    """Prints it; whether it is as it should be."""
    equal = "equal" if same == "equal" else "DIFFERENT"
    row("step", label, seconds["compiled"], best(seconds, "torch"), equal)
    for peer in sorted({mode.split("-")[0] for mode in peers} - {"torch"}):
        row("step beside PyTorch, " + peer, label, seconds["compiled"], best(seconds, peer), equal)
    row("step recorded", label, seconds["recorded"], seconds["compiled"], equal)
    row("step recorded, rolling", label, seconds["rolling"], seconds["compiled"], equal)
    fine = equal == "equal"
    for mode in (m for m in ("torch", "plain") if m in peers):
        apart = losses_apart(ours[2], peers[mode].loss)
        fine = fine and not apart
        print("loss\t%s\t%.7g\t%.7g\t%s %s" % (label, ours[2], peers[mode].loss, mode, "APART" if apart else "close"))
    for mode, side in peers.items():
        print("memory\t%s\t%.1f\t%.1f\t%s" % (label, ours[3] / 2**20, side.peak / 2**20, mode), flush=True)
    return fine


def measured(torch, options, work):
    name, _, times = work.partition(":")
    label, begin = name + (", batch x %s" % times if times else ""), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path, threads = os.path.join(folder, "first.safetensors"), str(len(os.sched_getaffinity(0)))
        side = Side([os.path.join(options.build, "bench", "models"), "--device", options.device, "--batch", times or "1", name,
                     threads, path, *OURS])
        try:
            if not side.told.endswith("instructions\n"):
                sys.exit("bench/models could not begin")
            for mode in OURS:
                if len(side.ask(mode, SAME)) != 4:
                    sys.exit("%s ended in its first steps" % mode)
            same, ours = side.line("same", 1), side.ask("compiled", LOSS - SAME)
            ready = time.perf_counter() - begin
            print("bits\t%s\t%s" % (label, same), flush=True)
            peers = started(torch, options, name, path)
            takes = {mode: lambda steps, mode=mode: side.ask(mode, steps)[0] for mode in OURS[:-1]}
            takes.update({mode: lambda steps, peer=peer: peer.take(steps)[0] for mode, peer in peers.items()})
            fine = told(label, ours, peers, same, timed(takes, options)) and peers.keys() >= set(options.peers.split(","))
            side.close()
        finally:
            side.process.kill()
            side.process.wait(10)  # its memory of the device is free again
    print("steps: %s: %.1f s, of which %.1f for our first steps" % (label, time.perf_counter() - begin, ready), file=sys.stderr)
    return fine


def too_long(*_):
    raise TimeoutError("it takes too long")


def attempt(torch, options, work, seconds):
    """Whether it could be measured in so many seconds, and is right."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return measured(torch, options, work)
    except (Exception, SystemExit) as error:
        print("steps: %s: NOT MEASURED: %s: %s" % (work, type(error).__name__, str(error).split("\n")[0]), file=sys.stderr)
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with contextlib.suppress(RuntimeError):  # a device that failed fails here again
            torch.cuda.empty_cache()


def main():
    begin = time.perf_counter()
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--works", default=WORKS)
    parser.add_argument("--peers", default="torch,plain")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.06, help="of a round of one side")
    parser.add_argument("--each", type=float, default=30, help="seconds for a work")
    parser.add_argument("--limit", type=float, default=100, help="seconds in all: what would begin later is left out")
    options = parser.parse_args()
    try:
        import torch
        import torch.utils.deterministic
    except ImportError as error:
        print("PyTorch is not here: %s" % error)
        return 77
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        print("PyTorch %s has no GPU here" % torch.__version__)
        return 77
    signal.signal(signal.SIGALRM, too_long)
    prepared(torch)
    print("steps: PyTorch %s, here after %.1f s" % (torch.__version__, time.perf_counter() - begin), file=sys.stderr)
    fine = True
    for work in options.works.split(","):
        left = options.limit - (time.perf_counter() - begin)
        if left < 5:
            print("left out\t%s\tno time" % work, flush=True)
        else:
            fine = attempt(torch, options, work, min(left, options.each)) and fine
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
