# SPDX-License-Identifier: Apache-2.0
"""An archive as a model of MLflow: the flavours `reprise` and `python_function`, whose only data is the archive itself.

`save_model`, `log_model` and `load_model` are what MLflow's other flavours have; `log_run` puts a recipe's keys, figures
and losses into a run. A loaded model scores rows by `reprise predict`, which checks every byte it reads against the manifest
and, with REPRISE_TRUST set or `trust`, the signature first."""
from __future__ import annotations

import importlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from .archive import Archive
from .command import PathLike
from .command_calls import predict, verify
from .tensorboard import flat

FLAVOR_NAME = "reprise"
DATA = "model.reprise"
PARAMS_MOST = 500  # characters of a parameter's value that every server takes
LOSSES_MOST = 1000


def module(name: str) -> Any:
    return importlib.import_module(name)


# ---- models ----

def save_model(archive: PathLike, path: PathLike, *, mlflow_model: Any = None, signature: Any = None, input_example: Any = None,
               metadata: Mapping[str, Any] | None = None, trust: PathLike | None = None) -> Any:
    """Saves an archive of a recipe as a folder of MLflow: a copy of it, and what MLflow asks to load it.

    signature: MLflow's; without one the columns of the recipe as strings and doubles that may be missing
    trust: a public key: the archive must be signed by it; without one its hashes alone are checked.
    Errors: CommandError, ArchiveError for one that does not verify; ValueError for one of another kind or a folder that is there."""
    models, found = module("mlflow.models"), os.fspath(path)
    check(archive, trust)
    if os.path.exists(found) and os.listdir(found):
        raise ValueError(f"{found} exists and is not empty")
    with Archive(archive) as opened:
        if opened.kind != "recipe":
            raise ValueError(f"{os.fspath(archive)} is of kind {opened.kind!r}: a recipe's archive prepares and scores rows, others do not")
        model = models.Model() if mlflow_model is None else mlflow_model
        model.signature = columns_of(opened) if signature is None else signature
        about = {"archive": DATA, "archive_id": opened.id, "reprise_version": module("reprise").__version__}
    os.makedirs(found, exist_ok=True)
    shutil.copyfile(archive, os.path.join(found, DATA))
    if input_example is not None:
        module("mlflow.models.utils")._save_example(model, input_example, found)
    if metadata is not None:
        model.metadata = dict(metadata)
    model.add_flavor(FLAVOR_NAME, **about)
    module("mlflow.pyfunc").add_to_model(model, loader_module="reprise.mlflow", data=DATA,
                                         python_env="python_env.yaml", conda_env=None)
    requirements(found, about["reprise_version"])
    model.save(os.path.join(found, module("mlflow.models.model").MLMODEL_FILE_NAME))
    return model


def check(archive: PathLike, trust: PathLike | None) -> None:
    """Its signature where a key is trusted, else that every byte is the manifest's."""
    if trust is not None or os.environ.get("REPRISE_TRUST"):
        verify(archive, trust=trust)
        return
    with Archive(archive) as opened:
        for name in opened:
            opened.view(name).release()


def requirements(folder: str, version: str) -> None:
    """The files from which MLflow makes an environment. This package is not among what they ask an index for, where another
    project has its name: an environment gets its wheel from whoever makes it."""
    needed = [f"# and the wheel of Reprise {version} (scripts/wheel.sh), which is in no package index: reprise there is another project",
              f"mlflow=={module('mlflow').__version__}", "pandas"]
    with open(os.path.join(folder, "requirements.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(needed) + "\n")
    with open(os.path.join(folder, "python_env.yaml"), "w", encoding="utf-8") as f:
        f.write("python: '3.11'\nbuild_dependencies: [pip]\ndependencies: [-r requirements.txt]\n")


def log_model(archive: PathLike, name: str | None = None, *, registered_model_name: str | None = None, signature: Any = None,
              input_example: Any = None, metadata: Mapping[str, Any] | None = None, trust: PathLike | None = None, **options: Any) -> Any:
    """Saves an archive as a model of the active run, or of a new one. Other options are those of MLflow's `Model.log`."""
    return module("mlflow.models").Model.log(
        artifact_path=None, name=name, flavor=module(__name__), archive=archive, registered_model_name=registered_model_name,
        signature=signature, input_example=input_example, metadata=metadata, trust=trust, **options)


def load_model(model_uri: str, dst_path: PathLike | None = None, *, trust: PathLike | None = None) -> Archive:
    """The archive of a model, opened. Its id is that which was saved; with trust its signature is verified.
    Errors: ValueError for another archive in its place; CommandError, ArchiveError where it does not verify."""
    local = module("mlflow.artifacts").download_artifacts(artifact_uri=model_uri, dst_path=dst_path)
    about = module("mlflow.models").Model.load(local).flavors.get(FLAVOR_NAME)
    if about is None:
        raise ValueError(f"{model_uri} has no flavour {FLAVOR_NAME!r}")
    path = os.path.join(local, os.path.basename(str(about["archive"])))
    check(path, trust)
    return the_saved(path, about, model_uri)


def the_saved(path: str, about: Mapping[str, Any], model: str) -> Archive:
    """The archive, opened; ValueError where it is another one than the model says."""
    archive = Archive(path)
    if archive.id != about["archive_id"]:
        found = archive.id
        archive.close()
        raise ValueError(f"{model}: the model says archive {about['archive_id']}, and this one is {found}")
    return archive


class Scorer:
    """What MLflow's pyfunc calls."""

    def __init__(self, path: str) -> None:
        self.path = path

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Scores rows: a frame with the recipe's columns, the target's not needed; gives `predicted` and scores, without the
        column `row`. params: threshold of `reprise predict` is none of them; any other is refused."""
        if params:
            raise ValueError(f"no parameters are taken, found {sorted(params)}")
        with tempfile.TemporaryDirectory(prefix="reprise-") as folder:
            out = os.path.join(folder, "scores.csv")
            predict(self.path, csv=model_input, out=out)
            return module("pandas").read_csv(out, float_precision="round_trip").drop(columns="row", errors="ignore")


def _load_pyfunc(path: str) -> Scorer:
    """MLflow's own name of it; the archive is the one that the model beside it was saved with."""
    folder = os.path.dirname(os.path.abspath(path))
    the_saved(path, module("mlflow.models").Model.load(folder).flavors[FLAVOR_NAME], folder).close()
    return Scorer(path)


def columns_of(archive: Archive) -> Any:
    """The signature by the recipe's schema: numbers are doubles, categories and dates strings; none is required."""
    types = module("mlflow.types")
    roles = {c["name"]: c["kind"] for c in archive.json("data/schema.json")["columns"]}
    columns = [types.ColSpec("double" if kind == "numeric" else "string", name, required=False)
               for name, kind in roles.items() if kind in ("numeric", "categorical", "date")]
    return module("mlflow.models").ModelSignature(inputs=types.Schema(columns))


# ---- runs ----

def log_run(archive: PathLike, *, artifact: bool = True, losses: bool = True) -> str:
    """Puts an archive into the active run of MLflow, or a new one: the recipe's keys as parameters, the figures of its parts as
    metrics, the loss of steps (of more than 1,000 evenly chosen ones), the archive as an artifact, its id as a tag.
    Gives the run's id."""
    mlflow = module("mlflow")
    active = mlflow.active_run()
    run = active or mlflow.start_run()
    try:
        with Archive(archive) as opened:
            mlflow.set_tags({"reprise.archive_id": opened.id, "reprise.kind": opened.kind})
            mlflow.log_params(dict(parameters(opened.recipe or {})))
            figures = {k: v for part, f in (opened.metrics or {}).items() if isinstance(f, Mapping) for k, v in flat(f, part)}
            if figures:
                mlflow.log_metrics(figures)
            if losses:
                log_losses(mlflow, run.info.run_id, opened)
        if artifact:
            mlflow.log_artifact(os.fspath(archive))
        return str(run.info.run_id)
    finally:
        if active is None:
            mlflow.end_run()


def log_losses(mlflow: Any, run_id: str, archive: Archive) -> None:
    metric = module("mlflow.entities").Metric
    found = [s for s in archive.steps if s.loss is not None]
    every = max(1, -(-len(found) // LOSSES_MOST))
    found = [s for i, s in enumerate(found) if i % every == 0 or i == len(found) - 1]
    if found:
        mlflow.MlflowClient().log_batch(run_id, metrics=[metric("loss", s.loss, 0, s.step) for s in found])


def parameters(value: Mapping[str, Any], name: str = "") -> Any:
    """The recipe's keys by their paths, as texts."""
    for key, inner in value.items():
        path = f"{name}.{key}" if name else key
        if isinstance(inner, Mapping):
            yield from parameters(inner, path)
        else:
            text = str(inner)
            yield path, text if len(text) <= PARAMS_MOST else text[:PARAMS_MOST - 4] + " ..."
