# SPDX-License-Identifier: Apache-2.0
"""Runs every comparison with a peer that docs/benchmarks*.md tells of and prints one table. A ratio is the peer's time
over ours: above 1, Reprise is faster. Both sides of a pair run on this machine, in turn or one after the other.

    python3 bench/peers/table.py BUILD_FOLDER [ROUNDS]      # 3 rounds

The Python that runs it has the packages of requirements.txt; scripts/peers.sh sees to all that is needed."""
import hashlib
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
BUILD = Path(sys.argv[1]).resolve()
PEERS = SOURCE / "bench" / "peers"
ROUNDS = sys.argv[2] if len(sys.argv) > 2 else "3"
rows = []


def run(*command, **variables):
    """What a command prints. OpenBLAS chooses its own kernels: variables that hold it back are left out."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "RP_"))}
    environment.update(variables)
    print("  " + " ".join(str(part) for part in command), file=sys.stderr, flush=True)
    done = subprocess.run([str(part) for part in command], cwd=SOURCE, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("peers: %s ended with %d\n%s" % (command[0], done.returncode, done.stderr[-2000:]))
    return done.stdout


def bench(name, *arguments):
    return run(BUILD / "bench" / name, *arguments)


def row(what, peer, ratio, command):
    rows.append((what, peer, ratio if isinstance(ratio, str) else "%.2f" % ratio, command))


def mean(values):
    """The geometric mean; none must be missing."""
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values))


def found(pattern, text):
    match = re.search(pattern, text)
    if not match:
        sys.exit("peers: '%s' is not in\n%s" % (pattern, text[-1000:]))
    return match.groups()


def products():
    for name, extra in (("binary32", []), ("binary64", ["--f64"])):
        command = ["--rounds", ROUNDS, "--threads", "1"] + extra
        text = bench("gemm", *command)
        openblas, least = found(r"mean: ([\d.]+) x OpenBLAS.*least ratio to the better ([\d.]+)", text)
        core, onednn = found(r"OpenBLAS core (\w+); oneDNN ([\d.]+)", text)
        row("matrix products, " + name, "OpenBLAS, core " + core, float(openblas), "gemm " + " ".join(command))
        if not extra:
            row("matrix products, " + name, "oneDNN " + onednn, float(found(r"([\d.]+) x oneDNN", text)[0]), "the same")
        row("the worst of them, to the better peer", "", float(least), "the same")


def convolutions():
    command = ["--threads", "1", "--rounds", ROUNDS, "--block", "2"]
    text = bench("conv", *command)
    version = "oneDNN " + found(r"oneDNN ([\d.]+)", text)[0]
    for kind, name in (("forward", "forward"), ("grad_input", "input gradient"), ("grad_weight", "weight gradient")):
        row("convolution, 23 layers, " + name, version + ", direct",
            float(found("geometric mean, %s: ([\\d.]+) x" % kind, text)[0]), "conv " + " ".join(command))
    command = ["--rounds", ROUNDS, "--block", "2"]
    layers = re.findall(r"^ *\d+ at \d+ +[\d.]+ +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+)", bench("winograd", *command), re.M)
    row("minimal filtering, 4 layers", version + ", Winograd", mean(float(peer) / float(own) for own, peer in layers),
        "winograd " + " ".join(command))


def functions():
    text = bench("functions", "11")
    ratios = re.findall(r"^\w+(?: +[\d.]+){4} +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.M)
    own = re.findall(r"^\w+(?: +[\d.]+){3} +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+$", text, re.M)
    if ratios:
        row("%d functions, binary32, correctly rounded" % len(ratios), "SLEEF, 1 ulp",
            mean(1 / float(ratio) for _, _, ratio in ratios), "functions 11")
        row("the same", "C library", mean(float(peer[0]) / float(mine) for peer, mine in zip(ratios, own)), "the same")


def verifying():
    text = bench("verify", "512", "16")
    row("verifying 512 MiB, 16 members", " ".join(run("openssl", "version").split()[:2]) + ", SHA-256 on 2 threads",
        float(found(r"ratio of verify to OpenSSL ([\d.]+)", text)[0]), "verify 512 16")


def steps():
    import torch
    own = {}
    for network, label in (("gelu", "61-64-2 GELU, batch 32, AdamW"), ("mlp", "784-1024-1024-10, batch 256, Adam")):
        best = {}
        for _ in range(int(ROUNDS)):
            for side, text in (("own", bench("steps", network, "1")),
                               ("torch", run(sys.executable, PEERS / "steps_torch.py", network, "1", "eager-loop",
                                             "eager-foreach", "eager-fused"))):
                for mode, least in re.findall(r"^\w+ (\S+) [\d.]+ ([\d.]+)$", text, re.M):
                    best.setdefault((side, mode), []).append(float(least))
        median = {key: statistics.median(times) for key, times in best.items()}
        fastest = min(v for (side, _), v in median.items() if side == "torch")
        for mode in ("compiled", "recorded"):
            row("training step, %s%s" % (label, ", recorded" if mode == "recorded" else ""),
                "PyTorch %s, its fastest eager" % torch.__version__, fastest / median["own", mode],
                "steps.sh, one thread")


def networks():
    import torch
    with tempfile.TemporaryDirectory() as folder:
        found_at = Path(folder) / "ratios"
        run(sys.executable, PEERS / "models_torch.py", BUILD, "--rounds", ROUNDS, "--ratios", found_at)
        lines = [line.split("|") for line in found_at.read_text().splitlines()]
    for threads in ("1", "2"):
        of = [(name, 1 / float(ratio)) for name, count, ratio in lines if count == threads]
        row("training steps, threads: %s; %s" % (threads, ", ".join("%s %.2f" % pair for pair in of)),
            "PyTorch %s, its fastest eager" % torch.__version__, mean(ratio for _, ratio in of), "models_torch.py")


def reductions():
    import numpy
    import torch
    own = {}
    for line in bench("bandwidth", "--threads", "1", "--rounds", "5", "--mib", "4").splitlines():
        match = re.match(r"(\w+, (?:rows|columns)) +1024 1 +([\d.]+)", line)
        if match:
            own[match.group(1)] = float(match.group(2)) * 1e-6
    times = {}
    for line in run(sys.executable, PEERS / "reductions.py").splitlines():
        name, side, took = line.split("|")
        times[side, name] = float(took)
    for side, version in (("numpy", numpy.__version__), ("torch", torch.__version__)):
        for axis in ("rows", "columns"):
            names = [n for (s, n) in times if s == side and n.endswith(axis) and n in own]
            text = ", ".join("%s %.2f" % (n.split(",")[0], times[side, n] / own[n]) for n in names)
            row("reductions over %s of 1,024 x 1,024: %s" % (axis, text),
                "%s %s" % ({"numpy": "NumPy", "torch": "PyTorch"}[side], version),
                mean(times[side, n] / own[n] for n in names), "bandwidth --mib 4, reductions.py")


def norms():
    import torch
    ratios = {}
    for line in run(sys.executable, PEERS / "norms_torch.py", BUILD, "7", "1").splitlines():
        name, what, _, _, _, ratio = line.split("|")
        ratios.setdefault((name.split()[0], what), []).append(1 / float(ratio))
    for (kind, what), both in ratios.items():
        row("%s norm, %s%s" % (kind, what, ", %d shapes" % len(both) if len(both) > 1 else ""),
            "PyTorch " + torch.__version__, mean(both), "norms_torch.py, one thread")


def attention():
    """Medians of rounds in which both sides take turns."""
    import torch
    for threads in ("1", "2"):
        times = {}
        for _ in range(int(ROUNDS)):
            for side, text in (("own", bench("attention", "--threads", threads)),
                               ("torch", run(sys.executable, PEERS / "attention_torch.py", threads))):
                for name, took in re.findall(r"^(.* (?:forward|both)) ([\d.]+)", text, re.M):
                    times.setdefault((side, name), []).append(float(took))
        for name in [n for side, n in times if side == "own"]:
            row("attention, %s, %s thread%s" % (name.replace("both", "forward and gradient"), threads, "s" * (threads > "1")),
                "PyTorch %s, scaled_dot_product_attention" % torch.__version__,
                statistics.median(times["torch", name]) / statistics.median(times["own", name]),
                "attention --threads " + threads)


def bits():
    """How many different results the same training has over threads and instruction sets."""
    import torch
    weights = set()
    archives = set()
    for threads in ("1", "2", "3"):
        for peer_level, level in (("default", ""), ("avx2", "avx2")):
            variables = {"ATEN_CPU_CAPABILITY": peer_level} if peer_level != "default" else {}
            weights.add(run(sys.executable, PEERS / "bits_torch.py", threads, **variables))
            with tempfile.TemporaryDirectory() as folder:
                archive = Path(folder) / "loans.reprise"
                run(BUILD / "cli" / "reprise", "run", SOURCE / "examples" / "loans.yaml", "-o", archive, "--threads",
                    threads, **({"RP_ISA": level} if level else {}))
                archives.add(hashlib.sha256(archive.read_bytes()).hexdigest())
    row("different results of one training over threads 1, 2, 3 and AVX2 forced or not",
        "PyTorch %s, deterministic algorithms: %d" % (torch.__version__, len(weights)), "ours: %d" % len(archives),
        "bits_torch.py; reprise run examples/loans.yaml")
    if len(archives) != 1:
        sys.exit("peers: archives differ between threads or instruction sets")


for part in (products, convolutions, functions, verifying, steps, networks, attention, reductions, norms, bits):
    part()
print("| what | peer | peer's time over ours | command |\n|---|---|---|---|")
for entry in rows:
    print("| %s | %s | %s | `%s` |" % entry)
