# SPDX-License-Identifier: Apache-2.0
"""Draws docs/gallery: of each model of the zoo its training curve and what it predicts, out of its archive.

Usage: gallery.py SOURCE_DIR BUILD_DIR [NAME ...]; BUILD_DIR has examples/zoo_*, examples/residual and cli/reprise. A model is trained
anew, and its archive must have the id of golden/zoo.txt: what is drawn is what the golden archive holds. Tensors inside of a step are
computed again by `reprise inspect`. Needs numpy, matplotlib (docs/site/gallery.txt) and the package reprise."""
from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image

matplotlib.use("agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.patches import Rectangle  # noqa: E402

from reprise.archive import Archive  # noqa: E402

LETTERS = " ." + "abcdefghijklmnopqrstuvwxyz"
BLUE, ORANGE, GREY = "#2a6f97", "#c8553d", "#8d99a6"
matplotlib.rcParams.update({
    "font.family": "sans-serif", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.titlesize": 9.5, "axes.titlelocation": "left", "figure.facecolor": "white"})
Array = np.ndarray[Any, Any]


class Model:
    """An archive, and the tensors of its last training step, computed again by the command."""

    def __init__(self, command: Path, path: Path) -> None:
        self.command, self.path, self.archive = command, path, Archive(path)
        losses = self.archive.losses
        self.curve = losses[~np.isnan(losses)]
        self.step = int(np.flatnonzero(~np.isnan(losses))[-1])
        self.listing = self.say("--step", str(self.step)).split("\nfunction")[0].split("\n")

    def say(self, *options: str) -> str:
        done = subprocess.run([self.command, "inspect", self.path, *options], capture_output=True, text=True, check=True)
        return done.stdout

    def tensor(self, *place: str) -> Array:
        out = self.path.with_suffix(".npy")
        self.say("--step", str(self.step), *place, "--npy", str(out))
        found: Array = np.load(out)
        out.unlink()
        return found

    def made(self, operation: str, nth: int = 0) -> Array:
        """What the nth instruction of a name made."""
        return self.tensor("--op", self.places(operation)[nth])

    def places(self, operation: str) -> list[str]:
        return [m[1] for line in self.listing if (m := re.match(r"\s*(\d+)  " + operation + r"\s", line))]

    def operands(self, operation: str, nth: int = 0) -> list[Array]:
        """What the nth instruction of a name was given."""
        place = self.places(operation)[nth]
        line = next(x for x in self.listing if re.match(rf"\s*{place}  ", x))
        given = re.split(r" (?:->|\{|executes) ?", line.split(" of ", 1)[1])[0].split(", ")
        return [self.tensor("--input", g.split()[-1]) if " " in g.strip() else self.tensor("--op", g.strip()) for g in given]

    def data(self, name: str) -> Array:
        found: Array = self.archive.tensors("data/tensors")[name]
        return found

    def weight(self, name: str) -> Array:
        found: Array = self.archive.weights[name]
        return found

    def linear(self, name: str, x: Array) -> Array:
        return x @ self.weight(f"{name}.weight") + self.weight(f"{name}.bias")


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def curve(ax: Any, losses: Array, title: str = "loss of each step") -> None:
    """Losses, and their mean over a tenth of the steps."""
    n = max(len(losses) // 10, 1)
    ax.plot(np.arange(1, len(losses) + 1), losses, color=BLUE, lw=0.6, alpha=0.45)
    mean = np.convolve(losses, np.ones(n) / n, "valid")
    ax.plot(np.arange(len(mean)) + 1 + (n - 1) / 2, mean, color=BLUE, lw=1.6)
    if losses.min() > 0 and losses.max() > 8 * losses.min():
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
        ax.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    ax.set_xlabel("step")
    ax.set_title(title)


def bare(ax: Any) -> None:
    """A thin frame and nothing else."""
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_linewidth(0.4)


def images(figure: Any, place: Any, rows: list[tuple[str, Array]], columns: int) -> None:
    """Rows of images with a name each."""
    grid = place.subgridspec(len(rows), columns, wspace=0.08, hspace=0.12)
    for r, (name, pictures) in enumerate(rows):
        low, high = float(pictures.min()), float(pictures.max())
        for c in range(columns):
            ax = figure.add_subplot(grid[r, c])
            ax.imshow(pictures[c], cmap="Greys", vmin=low, vmax=high, interpolation="nearest")
            bare(ax)
            if c == 0:
                ax.set_ylabel(name, rotation=0, ha="right", va="center")


def mlp(m: Model, figure: Any, place: Any) -> None:
    ax = figure.add_subplot(place)
    across = np.linspace(-2, 2, 81)
    grid = np.stack(np.meshgrid(across, across), -1).reshape(-1, 2)
    h = np.maximum(m.linear("hidden.0", grid), 0)
    p = softmax(m.linear("out", np.maximum(m.linear("hidden.1", h), 0)))[:, 1].reshape(81, 81)
    ax.contourf(across, across, p, levels=[0, 0.5, 1], colors=["#f3f1ec", "#bcd5e3"])
    x, label = m.data("x"), m.data("label")
    for k, colour in ((0, ORANGE), (1, BLUE)):
        ax.scatter(*x[label == k][:150].T, s=5, color=colour, lw=0)
    ax.set_aspect("equal")
    ax.set_title("points, and where it says ring")


def anomaly(m: Model, figure: Any, place: Any) -> None:
    ax = figure.add_subplot(place)
    x = m.data("sensors")
    code = m.linear("code", np.tanh(m.linear("encoder", x)))
    score = ((m.linear("out", np.tanh(m.linear("decoder", code))) - x) ** 2).mean(1)
    bins = np.geomspace(score.min(), score.max(), 40)
    ax.hist(score[:512], bins, color=BLUE, label="512 normal rows")
    ax.hist(score[512:], bins, color=ORANGE, label="32 odd rows")
    ax.set_xscale("log")
    ax.set_xlabel("error of giving back")
    ax.legend(frameon=False)
    ax.set_title("scores of rows")


def factorisation(m: Model, figure: Any, place: Any) -> None:
    ax = figure.add_subplot(place)
    user, item, rating = (m.data(n) for n in ("user", "item", "rating"))
    found = (m.weight("user.weight")[user] * m.weight("item.weight")[item]).sum(1) + \
        m.weight("user_mean.weight")[user, 0] + m.weight("item_mean.weight")[item, 0]
    ax.scatter(rating[::2], found[::2], s=6, color=BLUE, lw=0, alpha=0.6)
    ax.plot([1, 5], [1, 5], color=GREY, lw=0.8)
    ax.set_xlabel("rating")
    ax.set_title("rating found, beside the given one")


def vae(m: Model, figure: Any, place: Any) -> None:
    logits, target = m.operands("bce_logits")
    images(figure, place, [("seen", target.reshape(-1, 8, 8)), ("given back", sigmoid(logits).reshape(-1, 8, 8))], 6)


def unet(m: Model, figure: Any, place: Any) -> None:
    logits, target = m.operands("bce_logits")
    rows = [("image", m.made("gather")), ("inside", target), ("found", sigmoid(logits))]
    images(figure, place, [(n, x[..., 0]) for n, x in rows], 4)


def diffusion(m: Model, figure: Any, place: Any) -> None:
    x, t, _ = m.operands("concat")
    clean = m.made("gather").reshape(-1, 6, 6)
    weights = {n: (m.weight(f"{n}.weight"), m.weight(f"{n}.bias")) for n in ("in", "middle", "out")}
    silu: Callable[[Array], Array] = lambda a: a * sigmoid(a)
    h = silu(np.concatenate([x, t, t * t], 1) @ weights["in"][0] + weights["in"][1])
    h = h + silu(h @ weights["middle"][0] + weights["middle"][1])
    said = h @ weights["out"][0] + weights["out"][1]
    back = (x - np.sqrt(t) * said) / np.sqrt(1 - t)
    order = np.argsort(t[:, 0])[8::9][:6]
    images(figure, place, [("image", clean[order]), ("with noise", np.clip(x, -2, 2).reshape(-1, 6, 6)[order]),
                           ("noise taken off", np.clip(back, -1, 1).reshape(-1, 6, 6)[order])], 6)


def letters(figure: Any, place: Any, p: Array, token: Array, title: str, marked: Array | None = None) -> None:
    """How likely each letter was held, at each place of one window; the right one has a frame."""
    ax = figure.add_subplot(place)
    ax.imshow(p.T[:28], cmap="Blues", aspect="auto", vmin=0, vmax=1, interpolation="nearest")
    for i, k in enumerate(token):
        if marked is None or marked[i]:
            ax.add_patch(Rectangle((i - 0.5, k - 0.5), 1, 1, fill=False, ec=ORANGE, lw=1))
    ax.set_xticks(range(len(token)), [LETTERS[k] if k > 0 else "_" for k in token])
    ax.set_yticks(range(0, 28, 3), [LETTERS[k] if k > 0 else "_" for k in range(0, 28, 3)])
    ax.tick_params(length=0)
    ax.set_title(title)


def next_letter(m: Model, figure: Any, place: Any, length: int) -> None:
    logits, token = m.operands("cross_entropy")
    letters(figure, place, softmax(logits[:length]), token[:length], "how likely each next letter was held; framed: the one that came")


def bert(m: Model, figure: Any, place: Any) -> None:
    p, shown, token = np.exp(m.made("log_softmax")[:24]), m.made("where")[0], m.made("gather")[0]
    letters(figure, place, p, token, "how likely each letter was held; framed: those that were hidden", shown != token)


def classes(m: Model, figure: Any, place: Any) -> None:
    logits, label = m.operands("cross_entropy")
    picture, p = m.made("gather")[..., 0], softmax(logits)[:, 1]
    grid = place.subgridspec(2, 6, wspace=0.1, hspace=0.75)
    for i in range(12):
        ax = figure.add_subplot(grid[i // 6, i % 6])
        ax.imshow(picture[i], cmap="Greys", interpolation="nearest")
        bare(ax)
        ax.set_title(f"{'standing' if p[i] > 0.5 else 'lying'}\n{max(p[i], 1 - p[i]):.2f}", fontsize=7.5,
                     loc="center", color="black" if (p[i] > 0.5) == bool(label[i]) else ORANGE, pad=2)


def dlrm(m: Model, figure: Any, place: Any) -> None:
    ax = figure.add_subplot(place)
    logits, clicked = (a.reshape(-1) for a in m.operands("bce_logits"))
    bins = np.linspace(0, 1, 26)
    ax.hist([sigmoid(logits)[clicked == k] for k in (0, 1)], bins, color=[ORANGE, BLUE], label=["no click", "a click"], stacked=True)
    ax.set_xlabel("probability of a click")
    ax.legend(frameon=False)
    ax.set_title("the last batch")


PREDICTIONS: dict[str, tuple[Callable[[Model, Any, Any], None], float]] = {  # and how much wider than the curve
    "mlp": (mlp, 1.0), "anomaly": (anomaly, 1.3), "factorisation": (factorisation, 1.1), "dlrm": (dlrm, 1.3), "vae": (vae, 1.7),
    "unet": (unet, 1.3), "diffusion": (diffusion, 1.7), "resnet": (classes, 1.7), "vit": (classes, 1.7),
    "gpt": (lambda m, f, p: next_letter(m, f, p, 32), 2.0), "lstm": (lambda m, f, p: next_letter(m, f, p, 24), 2.0),
    "bert": (bert, 2.0)}


def saved(figure: Any, path: Path) -> None:
    """The figure as PNG of few colours: 10 to 30 KB, the same bytes each time with the pinned matplotlib."""
    whole = io.BytesIO()
    figure.savefig(whole, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    Image.open(whole).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.name, path.stat().st_size)


def draw(m: Model, name: str, out: Path) -> None:
    predict, width = PREDICTIONS[name]
    figure = plt.figure(figsize=(8.6, 2.5))
    places = figure.add_gridspec(1, 2, width_ratios=[1, width], wspace=0.28 if width < 1.7 else 0.34)
    curve(figure.add_subplot(places[0]), m.curve)
    predict(m, figure, places[1])
    saved(figure, out / f"{name}.png")


def trained(archive: Archive) -> Array:
    """The losses of training steps; a text's run has its evaluation behind them."""
    losses: Array = archive.losses[~np.isnan(archive.losses)]
    return losses[:((archive.recipe or {}).get("train") or {}).get("steps") or len(losses)]


def goldens(source: Path, out: Path) -> None:
    """The curves of the golden archives side by side."""
    names = ["small", "image", "text", "arrays", "branch"]
    figure, axes = plt.subplots(1, len(names), figsize=(9.6, 1.9))
    for name, ax in zip(names, axes, strict=True):
        ax.plot(trained(Archive(source / f"golden/{name}.reprise")), ".-", color=BLUE, lw=1, ms=3)
        ax.set_title(name)
        ax.set_xlabel("step")
    figure.tight_layout(w_pad=0.6)
    saved(figure, out / "goldens.png")


def examples(source: Path, command: Path, work: Path, out: Path) -> None:
    """Recipes of examples/: loans and a text."""
    for name in ("loans", "shakespeare"):
        subprocess.run([command, "run", source / f"examples/{name}.yaml", "-o", work / f"{name}.reprise"], check=True, capture_output=True)
    loans = Archive(work / "loans.reprise")
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.4))
    curve(axes[0], trained(loans), "loans: loss of each step")
    scores = loans.columns("outputs/predictions.csv")
    outcome = np.asarray(scores["truth"]) == "yes"
    p = np.asarray(scores["p_yes"], np.float64)
    axes[1].hist([p[~outcome], p[outcome]], np.linspace(0, 1, 26), color=[BLUE, ORANGE], label=["paid", "defaulted"], stacked=True)
    axes[1].legend(frameon=False)
    axes[1].set_xlabel("probability of default")
    axes[1].set_title("loans: 1,000 rows that validate")
    curve(axes[2], trained(Archive(work / "shakespeare.reprise")), "a text: loss of each step")
    figure.tight_layout(w_pad=1.2)
    saved(figure, out / "examples.png")


def main() -> None:
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    wanted = sys.argv[3:] or [*PREDICTIONS, "goldens", "examples"]
    ids = {name: id for id, name in (line.split() for line in (source / "golden/zoo.txt").read_text().splitlines())}
    if sorted(ids) != sorted(PREDICTIONS):
        sys.exit(f"the gallery has {sorted(PREDICTIONS)}, the zoo {sorted(ids)}")
    out, command = source / "docs/gallery", Path(os.environ.get("REPRISE_COMMAND") or build / "cli/reprise")
    out.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp())
    try:
        for name in wanted:
            if name in PREDICTIONS:
                path = work / f"{name}.reprise"
                subprocess.run([build / f"examples/zoo_{name}", path], check=True, capture_output=True)
                model = Model(command, path)
                if model.archive.id != ids[name]:
                    sys.exit(f"{name}: archive {model.archive.id} is not the one in golden/zoo.txt")
                draw(model, name, out)
            elif name == "goldens":
                goldens(source, out)
            elif name == "examples":
                examples(source, command, work, out)
            else:
                sys.exit(f"no model {name}")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
