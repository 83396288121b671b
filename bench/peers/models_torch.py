#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks that people train, beside PyTorch, XLA and ONNX Runtime, on the same weights and data (bench/models, which
writes them): training steps (forward, backward, AdamW), or answers to a batch of 1. All sides run in turn in short rounds;
a ratio is the median over the rounds of our time over that of the fastest peer: eager PyTorch with NCHW or channels last,
torch.compile (--compile, needs a C++ compiler), jax.jit (--jax, training), ONNX Runtime (--onnx, answers).

    python3 bench/peers/models_torch.py BUILD_FOLDER [--rounds 7] [--threads 1,2] [--models gpt,lstm] [--compile] [--jax]
        [--recorded] [--processor] [--ratios FILE]
    python3 bench/peers/models_torch.py BUILD_FOLDER --answer [--compile] [--onnx] ...

Prints a table, with losses (of answers: the sums of their elements) of both sides after the same number of steps, and ends
with 1 where those are apart."""
import argparse
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

NETWORKS = ("mlp", "resnet", "gpt", "lstm", "unet", "bert", "vit", "dlrm")
HERE = os.path.dirname(os.path.abspath(__file__))


def training(name, path, mode, device="cpu"):
    """A function that makes a step, and has its loss where the step was made. A mode with "graph" can be captured."""
    import torch
    from networks_torch import loaded

    model, data = loaded(name, path, "last" in mode)
    model, data = model.to(device), {n: x.to(device) for n, x in data.items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True, capturable="graph" in mode)
    loss_of = torch.compile(model) if "compile" in mode else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(data)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def answering(name, path, mode):
    import torch
    from networks_torch import loaded

    model, data = loaded(name, path, "last" in mode)
    model.eval()
    answer = torch.compile(model.answer) if "compile" in mode else model.answer

    def step():
        with torch.inference_mode():
            return answer(data)

    return step


def answer_lines(steps):
    """As bench/models answers: each line "MODE STEPS" by seconds of a step, the processor's seconds, and the last loss."""
    print("ready", flush=True)
    for line in sys.stdin:
        mode, count = line.split()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(int(count)):
            found = steps[mode]()
        found = float(found.sum())
        print("%.9f %.9f %.9g" % ((time.perf_counter() - wall) / int(count), (time.process_time() - cpu) / int(count), found),
              flush=True)


def worker(name, threads, path, modes):
    import torch

    torch.set_num_threads(threads)
    answer_lines({mode: (answering if "answer" in mode else training)(name, path, mode) for mode in modes})


class Side:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.told = self.process.stdout.readline()
        except BaseException:
            self.process.kill()
            raise

    def line(self, mode, steps):
        """Stopped between its turns: ONNX Runtime's workers go on looking for work, on a processor that others measure."""
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write("%s %d\n" % (mode, steps))
        self.process.stdin.flush()
        found = self.process.stdout.readline()
        self.process.send_signal(signal.SIGSTOP)
        return found.strip()

    def ask(self, mode, steps):
        return [float(x) for x in self.line(mode, steps).split()]

    def peak(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        if self.process.wait():
            sys.exit("models: a side ended with %d" % self.process.returncode)


def start(options, name, threads, path):
    """Our modes and the peers', and the side of each."""
    ours = ["answer"] if options.answer else ["compiled", "eager"] + (["recorded", "rolling"] if options.recorded else [])
    what = "torch-answer" if options.answer else "torch"
    torch = [what] + ([what + "-last"] if name in ("resnet", "unet") else [])
    torch += [mode + "-compile" for mode in torch] if options.compile else []
    peers = {os.path.join(HERE, "models_torch.py"): torch}
    if options.jax and not options.answer:
        peers[os.path.join(HERE, "models_jax.py")] = ["jax"]
    if options.onnx and options.answer:
        peers[os.path.join(HERE, "models_onnx.py")] = ["onnxruntime"]
    sides = dict.fromkeys(ours, Side([os.path.join(options.build, "bench", "models"), name, str(threads), path] + ours))
    for script, modes in peers.items():
        sides.update(dict.fromkeys(modes, Side([sys.executable, script, "--worker", name, str(threads), path] + modes)))
    return ours, [mode for modes in peers.values() for mode in modes], sides


def measure(options, name, threads, path):
    """Seconds by mode and round, losses, peaks of memory in MiB, the peers' modes."""
    ours, theirs, sides = start(options, name, threads, path)
    loss = {mode: side.ask(mode, 5)[2] for mode, side in sides.items()}
    count = {mode: max(1, int(options.seconds / side.ask(mode, 1)[0])) for mode, side in sides.items()}
    times = {mode: [] for mode in sides}
    for _ in range(options.rounds):
        for mode, side in sides.items():
            times[mode].append(side.ask(mode, count[mode])[1 if options.processor else 0])
    peak = [sides[ours[0]].peak(), sides[theirs[0]].peak()]
    for side in set(sides.values()):
        side.close()
    return times, loss, peak, theirs


def losses_apart(ours, theirs):
    return not abs(ours - theirs) <= 2e-3 * abs(theirs) + 1e-4


def table_row(options, name, threads, found):
    """Prints it; the ratio to the best peer, and whether losses are apart."""
    middle = statistics.median
    times, loss, peak, theirs = found
    ours = next(iter(times))
    best = min(theirs, key=lambda mode: middle(times[mode]))
    over = lambda a, b: middle(x / y for x, y in zip(times[a], times[b]))
    own = ["%s %.2f" % (mode, over(mode, ours)) for mode in times if mode not in theirs and mode != ours]
    print("| %s | %s | %.2f | %s | **%.2f** (%s) | %s | %.0f, %.0f | %.6g, %.6g |" % (
        name, threads, middle(times[ours]) * 1e3, ", ".join("%s %.2f" % (m, middle(times[m]) * 1e3) for m in theirs),
        over(ours, best), best, ", ".join(own), *peak, loss[ours], loss[best]), flush=True)
    if options.ratios:
        with open(options.ratios, "a") as lines:
            lines.write("%s|%s|%.4f\n" % (name, threads, over(ours, best)))
    return over(ours, best), losses_apart(loss[ours], loss[best])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--models", default=",".join(NETWORKS))
    for flag in ("answer", "compile", "jax", "onnx", "recorded"):
        parser.add_argument("--" + flag, action="store_true")
    parser.add_argument("--processor", action="store_true", help="the processor's seconds, beside other work; of one thread")
    parser.add_argument("--ratios", help="a file for lines NETWORK|THREADS|RATIO")
    options = parser.parse_args()
    apart, ratios = False, {}
    print("| network | threads | ours, ms | peers, ms | ours over the best | over compiled | MiB, ours and PyTorch's | loss, ours "
          "and theirs |\n|---|---|---|---|---|---|---|---|")
    for threads in options.threads.split(","):
        for name in options.models.split(","):
            with tempfile.TemporaryDirectory() as folder:
                found = measure(options, name, int(threads), os.path.join(folder, "first.safetensors"))
            ratio, differ = table_row(options, name, threads, found)
            ratios.setdefault(threads, []).append(ratio)
            apart = apart or differ
    for threads, values in ratios.items():
        print("geometric mean, %s threads: %.2f" % (threads, math.exp(sum(map(math.log, values)) / len(values))))
    return apart


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:])
    else:
        sys.exit(main())
