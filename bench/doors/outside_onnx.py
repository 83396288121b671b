#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX models of other packages, imported and computed beside onnxruntime: torchvision, timm and transformers with random
weights by both exporters of torch, and scikit-learn's estimators by skl2onnx.

    REPRISE_COMMAND=build/release/cli/reprise python bench/doors/outside_onnx.py [--only torchvision,timm,transformers,sklearn,boxes]
        [--names resnet18,..] [--train]

A model passes where every result is within 1e-5 of its greatest element; it is refused by name, or wrong, which is the exit
status 1. What an exporter or onnxruntime itself does not take is counted apart. With --train each model of torch that passes is
also trained: a recorded step down the gradient of the mean square of its results, which has to lower it by what the gradient
says (within a fifth), and is replayed by the command. Packages that are not installed are passed over; onnxruntime is needed."""
from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import importlib
import importlib.util
import io
import logging
import operator
import os
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import numpy as np

import reprise
from reprise import onnx as door

warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
BOUND = 1e-5
FOUND: collections.Counter[str] = collections.Counter()


def far(ours: Any, theirs: Any) -> float:
    """The greatest distance over the greatest element; infinite where shapes, integers or what is not finite differ."""
    if isinstance(theirs, list):  # ZipMap's maps are a matrix here
        theirs = np.array([[row[k] for k in row] for row in theirs])
    a, e = np.asarray(ours), np.asarray(theirs)
    if a.shape != e.shape or not (np.isfinite(a) == np.isfinite(e)).all():
        return float("inf")
    if e.dtype.kind != "f":
        return 0.0 if (a == e).all() else float("inf")
    kept = np.isfinite(e)
    return float(np.abs(a[kept].astype(np.float64) - e[kept]).max() / max(np.abs(e[kept]).max(), 1e-30)) if kept.any() else 0.0


def say(name: str, kind: str, words: str = "") -> None:
    FOUND[kind] += 1
    print(f"{name}: {kind} {words}".rstrip()[:300], flush=True)


def beside(name: str, text: bytes, inputs: list[Any], train: bool) -> None:
    """One model, by onnxruntime and here; inputs are in the model's order."""
    onnx, runtime = importlib.import_module("onnx"), importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL, 4
    options.intra_op_num_threads = 1
    feeds = dict(zip([i.name for i in onnx.load_from_string(text).graph.input], map(np.asarray, inputs)))
    try:
        session = runtime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
        feeds = {i.name: feeds[i.name] for i in session.get_inputs()}
        theirs = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    except Exception as e:
        return say(name, "not by onnxruntime", str(e).splitlines()[0])
    try:
        made = door.load(text, shapes={f"{n}.{i}": d for n, a in feeds.items() for i, d in enumerate(a.shape)})
        ours = made.compile(threads=1)(**feeds)
    except door.Unsupported as e:
        return say(name, "refused", str(e))
    worst = max(far(ours[n], theirs[n]) for n in theirs)
    if not worst <= BOUND:
        return say(name, "WRONG", f"{worst:.1e}")
    say(name, "passed", f"{worst:.1e}, {len(made.program)} instructions")
    if train and made.weights and any(np.any(y) for y in ours.values()):
        trained(name, text, feeds)


def trained(name: str, text: bytes, feeds: dict[str, Any]) -> None:
    b = reprise.Builder()
    kinds = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "bool"}
    try:
        net = door.into(b, text, {n: b.feed(n, a.shape, kinds[a.dtype.name]) for n, a in feeds.items()})
        rate = b.feed("rate", (), "f32")
        loss = functools.reduce(operator.add, [(y * y).mean() for y in net.outputs.values() if y.dtype == "f32"])
        weights = {n: w for n, w in net.weights.items() if w.dtype == "f32"}
        slopes = b.gradients([loss], list(weights.values()), zeros=True)
        for (own, w), g in zip(weights.items(), slopes):
            b.update(own, w - g * rate)
        b.result("loss", loss)
        b.result("square", functools.reduce(operator.add, [(g * g).sum() for g in slopes]))
        program = b.finish()
    except reprise.Error as e:
        return say(f"{name} trained", "refused", str(e))
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "run.reprise")
        with reprise.record(kept) as run:
            for own, a in net.first.items():
                run.add_state(own, a)
            for own, a in net.data.items():
                run.add_data(own, a)
            step = run.compile(program)
            found = step(**feeds, rate=np.float32(0))
            first, square = float(np.asarray(found["loss"])), float(np.asarray(found["square"]))
            size = np.float32(2e-3 * first / max(square, 1e-30))
            step(**feeds, rate=size)
            fallen = (first - float(np.asarray(step(**feeds, rate=np.float32(0))["loss"]))) / (float(size) * square)
        done = subprocess.run([os.environ.get("REPRISE_COMMAND", "reprise"), "replay", kept], capture_output=True, text=True)
    good = done.returncode == 0 and abs(fallen - 1) < 0.2
    say(f"{name} trained", "passed" if good else "WRONG", f"the loss fell by {fallen:.3f} of what the gradient says; {done.stderr.strip()}")


# ---- models of torch ----

def flat(y: Any) -> list[Any]:
    torch = importlib.import_module("torch")
    if isinstance(y, torch.Tensor):
        return [y]
    values = y.to_tuple() if hasattr(y, "to_tuple") else y.values() if isinstance(y, dict) else y if isinstance(y, (list, tuple)) else []
    return [t for v in values for t in flat(v)]


@contextlib.contextmanager
def quiet() -> Any:
    """The exporter of traces prints graphs that it cannot write past Python's own output."""
    sys.stdout.flush()
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


def of_torch(name: str, model: Any, inputs: list[Any], names: tuple[str, ...] = (), train: bool = False, **more: Any) -> None:
    torch = importlib.import_module("torch")

    class Whole(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *x: Any) -> Any:
            return tuple(flat(self.model(**dict(zip(names, x)), **more) if names else self.model(*x)))

    whole = Whole()
    for m in whole.modules():  # with statistics of a batch, so that nothing fades on the way through
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.momentum = 0.5
    with torch.no_grad(), contextlib.suppress(ValueError):  # of a single value a norm has none
        whole.train()(*inputs)
    whole.eval()
    for p in whole.parameters():
        p.requires_grad_(False)
    for kind in ("dynamo", "traced"):
        with tempfile.TemporaryDirectory() as folder, quiet():
            path, options = os.path.join(folder, "m.onnx"), {"external_data": False} if kind == "dynamo" else {"opset_version": 17}
            try:
                torch.onnx.export(whole, tuple(inputs), path, dynamo=kind == "dynamo", verbose=False, **options)
                with open(path, "rb") as f:
                    text = f.read()
            except Exception as e:
                text, why = b"", f"{type(e).__name__}: {str(e).splitlines()[0]}"
        if text:
            beside(f"{name} {kind}", text, [x.numpy() for x in inputs], train and kind == "dynamo")
        else:
            say(f"{name} {kind}", "not exported", why)


TORCHVISION = """resnet18 mobilenet_v2 mobilenet_v3_small shufflenet_v2_x0_5 squeezenet1_1 mnasnet0_5 regnet_y_400mf regnet_x_400mf efficientnet_b0
efficientnet_v2_s densenet121 googlenet inception_v3 convnext_tiny swin_t swin_v2_t vit_b_32 maxvit_t alexnet vgg11_bn deeplabv3_mobilenet_v3_large
lraspp_mobilenet_v3_large fcn_resnet50 r3d_18 mc3_18""".split()


def torchvision(names: list[str], train: bool) -> None:
    torch, vision = importlib.import_module("torch"), importlib.import_module("torchvision")
    for name in [n for n in TORCHVISION if not names or n in names]:
        options: dict[str, Any] = {"weights": None}
        if name in ("googlenet", "inception_v3"):
            options.update(init_weights=True, aux_logits=False)
        if name.startswith(("deeplab", "lraspp", "fcn")):
            options["weights_backbone"] = None
        if name == "vit_b_32":
            options["image_size"] = 64
        shape = {"inception_v3": (2, 3, 96, 96), "maxvit_t": (1, 3, 224, 224), "alexnet": (2, 3, 80, 80), "r3d_18": (1, 3, 8, 32, 32),
                 "mc3_18": (1, 3, 8, 32, 32)}.get(name, (2, 3, 64, 64))
        torch.manual_seed(0)
        of_torch(f"torchvision {name}", vision.models.get_model(name, **options), [torch.randn(*shape)], train=train)


def boxes(names: list[str], train: bool) -> None:
    """A small detector by each way in which torchvision chooses boxes, and regions that are looked at afterwards. What is chosen is no
    smooth function of the weights, so nothing is trained."""
    torch, ops = importlib.import_module("torch"), importlib.import_module("torchvision.ops")

    class Detector(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, how: str) -> None:
            super().__init__()
            self.how = how
            self.net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, 2, 1), torch.nn.SiLU())
            self.head = torch.nn.Conv2d(16, 9, 3, 2, 1)

        def forward(self, image: Any) -> Any:
            seen = self.net(image)
            y = self.head(seen).flatten(2)[0].T
            middle, size = y[:, :2] * 20 + 32, y[:, 2:4].exp() * 8
            box, (score, kind) = torch.cat([middle - size / 2, middle + size / 2], 1), y[:, 4:].sigmoid().max(1)
            if "mask" in self.how:
                kept = score > 0.6
                box, score, kind = box[kept], score[kept], kind[kept]
            chosen = ops.batched_nms(box, score, kind, 0.4) if "classes" in self.how else ops.nms(box, score, 0.4)
            found = box[chosen], score[chosen], kind[chosen]
            if "regions" not in self.how:
                return found
            rows = torch.cat([torch.zeros_like(found[0][:, :1]), found[0]], 1)
            return (*found, ops.roi_align(seen, rows, (3, 3), 0.5, 2).relu())

    for how in ("nms", "classes", "mask", "mask classes", "regions", "mask classes regions"):
        if not names or how in names:
            torch.manual_seed(0)
            of_torch(f"boxes {how}", Detector(how), [torch.randn(1, 3, 64, 64)])


def timm(names: list[str], train: bool) -> None:
    """Its own test models, one of each larger family, and others by their names."""
    torch, package = importlib.import_module("torch"), importlib.import_module("timm")
    for name in names or [n for n in package.list_models() if n.startswith("test_")]:
        torch.manual_seed(0)
        model = package.create_model(name, pretrained=False)
        size = model.default_cfg["input_size"]
        of_torch(f"timm {name}", model, [torch.randn(2, *size)], train=train)


def transformers(names: list[str], train: bool) -> None:
    torch, tf = importlib.import_module("torch"), importlib.import_module("transformers")
    tf.logging.set_verbosity_error()
    deep = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    words = {**deep, "vocab_size": 97, "max_position_embeddings": 32}
    seen = {**deep, "image_size": 32, "patch_size": 8}
    torch.manual_seed(1)
    ids, mask = torch.randint(3, 97, (2, 12)), torch.ones(2, 12, dtype=torch.int64)
    mask[0, -3:] = 0
    image, text, read = torch.randn(2, 3, 32, 32), ("input_ids",), ("input_ids", "attention_mask")
    both = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64, "d_model": 32, "vocab_size": 97}
    told, pixels = (*read, "decoder_input_ids"), ("pixel_values",)
    models: dict[str, tuple[str, dict[str, Any], tuple[str, ...], list[Any]]] = {
        "GPT2LMHeadModel": ("GPT2Config", {"vocab_size": 97, "n_positions": 32, "n_embd": 32, "n_layer": 2, "n_head": 4}, read, [ids, mask]),
        "BertForSequenceClassification": ("BertConfig", words, read, [ids, mask]),
        "RobertaForMaskedLM": ("RobertaConfig", words, read, [ids, mask]),
        "AlbertModel": ("AlbertConfig", {**words, "embedding_size": 16}, read, [ids, mask]),
        "DebertaV2Model": ("DebertaV2Config", {**words, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
                           read, [ids, mask]),
        "LlamaForCausalLM": ("LlamaConfig", {**words, "num_key_value_heads": 2}, read, [ids, mask]),
        "MistralForCausalLM": ("MistralConfig", {**words, "num_key_value_heads": 2, "sliding_window": 8}, text, [ids]),
        "Qwen3ForCausalLM": ("Qwen3Config", {**words, "num_key_value_heads": 2, "head_dim": 8}, text, [ids]),
        "Gemma2ForCausalLM": ("Gemma2Config", {**words, "num_key_value_heads": 2, "head_dim": 8}, text, [ids]),
        "GPTNeoXForCausalLM": ("GPTNeoXConfig", words, text, [ids]),
        "BloomForCausalLM": ("BloomConfig", {"vocab_size": 97, "hidden_size": 32, "n_layer": 2, "n_head": 4}, read, [ids, mask]),
        "MambaForCausalLM": ("MambaConfig", {"vocab_size": 97, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 2}, text, [ids]),
        "T5ForConditionalGeneration": ("T5Config", {"vocab_size": 97, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
                                                    "decoder_start_token_id": 0}, told, [ids, mask, ids[:, :5]]),
        "BartForConditionalGeneration": ("BartConfig", {**both, "max_position_embeddings": 32}, told, [ids, mask, ids[:, :5]]),
        "WhisperForConditionalGeneration": (
            "WhisperConfig", {**both, "num_mel_bins": 8, "max_source_positions": 12, "max_target_positions": 16, "pad_token_id": 0,
                              "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3},
            ("input_features", "decoder_input_ids"), [torch.randn(2, 8, 24), ids[:, :5]]),
        "ViTForImageClassification": ("ViTConfig", seen, pixels, [image]),
        "BeitForImageClassification": ("BeitConfig", {**seen, "use_relative_position_bias": True}, pixels, [image]),
        "Dinov2Model": ("Dinov2Config", {k: v for k, v in seen.items() if k != "intermediate_size"}, pixels, [image]),
        "SwinForImageClassification": ("SwinConfig", {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2],
                                                      "num_heads": [2, 4], "window_size": 4}, pixels, [image]),
        "MobileViTForImageClassification": ("MobileViTConfig", {"image_size": 64, "hidden_sizes": [16, 24, 32], "neck_hidden_sizes":
                                            [8, 8, 16, 24, 32, 40, 64]}, pixels, [torch.randn(2, 3, 64, 64)]),
        "SegformerForSemanticSegmentation": ("SegformerConfig", {"hidden_sizes": [8, 16, 24, 32], "depths": [1] * 4, "num_attention_heads":
                                             [1, 2, 2, 4], "decoder_hidden_size": 16}, pixels, [torch.randn(1, 3, 64, 64)]),
        "Wav2Vec2ForCTC": ("Wav2Vec2Config", {**deep, "vocab_size": 97, "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel":
                           (10, 3, 3), "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2},
                           ("input_values",), [torch.randn(2, 800)])}
    for name, (config, options, inputs, values) in models.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        model = getattr(tf, name)(getattr(tf, config)(**options))
        more = {"use_cache": False} if "CausalLM" in name or "Generation" in name or "LMHead" in name else {}
        of_torch(f"transformers {name}", model, values, inputs, train, **more)


# ---- scikit-learn ----

def estimators() -> list[tuple[Any, str]]:
    """Estimators as they are made, and the table that each is fitted to."""
    def get(module: str) -> Any:
        return importlib.import_module(f"sklearn.{module}")
    linear, before, trees, vectors, bayes = (get(m) for m in ("linear_model", "preprocessing", "ensemble", "svm", "naive_bayes"))
    tree, parts, chosen, filled = get("tree"), get("decomposition"), get("feature_selection"), get("impute")
    joined, net = get("pipeline").make_pipeline, get("neural_network")
    return [
        *[(e, "numbers") for e in (
            linear.LinearRegression(), linear.Lasso(), linear.PoissonRegressor(), linear.HuberRegressor(), vectors.LinearSVR(),
            vectors.SVR(), vectors.SVR(kernel="poly", C=100), vectors.NuSVR(C=100), net.MLPRegressor(max_iter=20),
            tree.DecisionTreeRegressor(), trees.RandomForestRegressor(5), trees.ExtraTreesRegressor(5),
            trees.GradientBoostingRegressor(n_estimators=20), trees.HistGradientBoostingRegressor(max_iter=10),
            trees.StackingRegressor([("a", linear.Ridge()), ("b", linear.Lasso())]), get("cross_decomposition").PLSRegression(2),
            joined(before.PolynomialFeatures(2), before.StandardScaler(), linear.Ridge()))],
        (linear.Ridge(), "two targets"), (trees.RandomForestRegressor(5), "two targets"),
        *[(e, table) for table in ("two classes", "three classes") for e in (
            linear.LogisticRegression(max_iter=5000), linear.SGDClassifier(loss="log_loss"), linear.RidgeClassifier(), vectors.LinearSVC(),
            net.MLPClassifier(max_iter=20), bayes.GaussianNB(), get("discriminant_analysis").LinearDiscriminantAnalysis(),
            get("discriminant_analysis").QuadraticDiscriminantAnalysis(), tree.DecisionTreeClassifier(max_depth=4),
            trees.RandomForestClassifier(7, max_depth=5), trees.GradientBoostingClassifier(n_estimators=10),
            trees.AdaBoostClassifier(n_estimators=5), get("neighbors").KNeighborsClassifier(),
            get("calibration").CalibratedClassifierCV(linear.LogisticRegression(max_iter=5000), cv=2),
            trees.BaggingClassifier(linear.LogisticRegression(max_iter=500), 3), vectors.SVC(), vectors.SVC(probability=True, random_state=0),
            joined(before.StandardScaler(), linear.LogisticRegression()))],
        *[(e, "flowers") for e in (
            before.StandardScaler(), before.MinMaxScaler(), before.MaxAbsScaler(), before.RobustScaler(), before.Normalizer(),
            before.Normalizer("l1"), before.Normalizer("max"), before.Binarizer(threshold=1.0), before.PolynomialFeatures(2),
            before.PowerTransformer(), before.QuantileTransformer(n_quantiles=20), parts.PCA(2), parts.TruncatedSVD(2),
            chosen.VarianceThreshold(0.3), get("cluster").KMeans(3))],
        *[(e, "holes") for e in (filled.SimpleImputer(), filled.SimpleImputer(strategy="constant", fill_value=-1.0), filled.KNNImputer())],
        *[(e, "categories") for e in (before.OneHotEncoder(), before.OneHotEncoder(handle_unknown="ignore"), before.OrdinalEncoder())]]


def sklearn(names: list[str], train: bool) -> None:
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris  # type: ignore
    convert = importlib.import_module("skl2onnx").to_onnx
    (flowers, kinds), (people, grown), (cells, ill) = (f(return_X_y=True) for f in (load_iris, load_diabetes, load_breast_cancer))
    holes = flowers.copy()
    holes[::7, 1] = np.nan
    tables = {"numbers": (people, grown), "two targets": (people, np.c_[grown, -grown]), "two classes": (cells, ill),
              "three classes": (flowers, kinds), "flowers": (flowers, None), "holes": (holes, None),
              "categories": (np.random.default_rng(0).integers(0, 3, (150, 2)), None)}
    for estimator, table in estimators():
        name = f"sklearn {type(estimator).__name__} {table}"
        if names and type(estimator).__name__ not in names:
            continue
        x, y = tables[table]
        x = x if x.dtype.kind == "i" else x.astype(np.float32)
        try:
            estimator.fit(x, y) if y is not None else estimator.fit(x)
            model = convert(estimator, x[:1])
        except Exception as e:
            say(name, "not exported", f"{type(e).__name__}: {str(e).splitlines()[0]}")
            continue
        beside(name, model.SerializeToString(), [x[:20]], False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="sklearn,timm,transformers,torchvision,boxes")
    parser.add_argument("--names", default="", help="of models or estimators (default: all)")
    parser.add_argument("--train", action="store_true")
    given = parser.parse_args()
    groups = {"torchvision": torchvision, "timm": timm, "transformers": transformers, "sklearn": sklearn, "boxes": boxes}
    needed = {"torchvision": ("torchvision", "onnxscript"), "timm": ("timm", "onnxscript"), "transformers": ("transformers", "onnxscript"),
              "sklearn": ("skl2onnx",), "boxes": ("torchvision", "onnxscript")}
    for name in given.only.split(","):
        missing = [p for p in ("onnxruntime", *needed[name]) if importlib.util.find_spec(p) is None]
        if missing:
            print(f"{name}: passed over, {', '.join(missing)} is not installed")
            continue
        groups[name]([n for n in given.names.split(",") if n], given.train)
    print(", ".join(f"{FOUND[k]} {k}" for k in ("passed", "refused", "WRONG", "not exported", "not by onnxruntime")))
    return 1 if FOUND["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
