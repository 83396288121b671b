# SPDX-License-Identifier: Apache-2.0
"""Compiled steps have parameters of their own, which PyTorch's module gets by copy_to. What would use old ones in silence is looked
for here: another step that reads what this one trains (a GAN's two optimizers), averages of weights, and who saves a module before
copy_to."""
from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any

from .capture import storage_key
from .clipping import STEPS
from .lower import Unsupported
from .traps import framework


def trained(step: Any) -> set[Any]:
    """Where the parameters lie that a step's optimizer trains."""
    return {storage_key(p, "") for p in step._own} & set(step.optimizer.places)


def took(step: Any) -> tuple[int, int]:
    """How far a step is: steps of the optimizer, and batches of the next one."""
    return step.optimizer.steps, step.optimizer.turn


class Beside:
    """Of a step the others that train parameters which it has and does not train: `seen` how far each was when this one took the
    module's values. `copied`: how far the step itself was when its module had its values."""

    def __init__(self, step: Any) -> None:
        self.copied = took(step)
        self.seen: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()
        self.meet(step)

    def meet(self, step: Any) -> None:
        mine = {storage_key(p, "") for p in step._own}
        for other in list(STEPS):
            if other is not step and hasattr(other, "beside"):
                ours, others = trained(step), trained(other)
                theirs = {storage_key(p, "") for p in other._own}
                if (others - ours) & mine:
                    self.seen[other] = took(other)
                if (ours - others) & theirs:
                    other.beside.seen[step] = took(step)
                    other._forget()

    def places(self) -> list[tuple[Any, str, int]]:
        """For the short way: where it stands how far they are."""
        return [(vars(other.optimizer), name, n) for other, at in self.seen.items() for name, n in zip(("steps", "turn"), at)]

    def stand(self) -> None:
        """Raises Unsupported where one of them went on."""
        for other, at in self.seen.items():
            if took(other) != at:
                raise Unsupported(f"another compiled step (of {type(other.module).__name__}) trained parameters that this one reads, which "
                                  "it would not see: its states are its own", remedy="One step of both losses, whose optimizer has a "
                                  "group of parameters for each, trains both; or other.copy_to(other.module), then step.load()")

    def load(self) -> None:
        """The module's values are taken, which have to be those of the others."""
        for other in self.seen:
            if took(other) != other.beside.copied:
                raise Unsupported(f"another compiled step (of {type(other.module).__name__}) made steps that the module does not have",
                                  remedy="other.copy_to(other.module) before step.load()")
            self.seen[other] = took(other)


def ahead_of(tensors: Any) -> Any:
    """A living step that trains one of these and made steps that they do not have; None without."""
    for step in list(STEPS):
        if hasattr(step, "beside") and step.optimizer.steps != step.beside.copied[0]:
            mine = {id(p) for p in step._own}
            if any(id(t) in mine for t in tensors):
                return step
    return None


def warn_of_old(module: Any, what: str, level: int = 3) -> None:
    """Of who reads a module's values that steps have left behind."""
    if ahead_of(module.parameters(recurse=True)) is not None:
        warnings.warn(f"{what} of a module that a compiled step trains: it has the values from before the last steps. "
                      "step.copy_to(module) writes them", RuntimeWarning, stacklevel=level)


class Saving:
    """A module's hook on state_dict, which is no part of copies and files of the module."""

    def __call__(self, module: Any, prefix: str, keep_vars: bool) -> None:
        if not prefix:
            warn_of_old(module, "state_dict()", 5)

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        return functools.partial, (getattr,)  # what does nothing, and needs nothing of this package


def look_after(module: Any) -> None:
    """state_dict() of a module, or of one of its parts, warns from now on; averages of its weights are an error where they are old."""
    for m in module.modules():
        if not any(isinstance(h, Saving) for h in m._state_dict_pre_hooks.values()):
            m.register_state_dict_pre_hook(SAVING)
    averaged = framework("torch.optim.swa_utils").AveragedModel
    if not hasattr(averaged.update_parameters, "reprise"):
        averaged.update_parameters = averaging(averaged.update_parameters)


def averaging(was: Any) -> Any:
    def update_parameters(self: Any, model: Any) -> Any:
        if ahead_of(model.parameters()) is not None:
            raise Unsupported("update_parameters of a module that a compiled step trains: it has the values from before the last steps",
                              remedy="step.copy_to(module) before it")
        return was(self, model)
    update_parameters.reprise = True  # type: ignore[attr-defined]
    return update_parameters


SAVING = Saving()
