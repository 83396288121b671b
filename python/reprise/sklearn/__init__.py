# SPDX-License-Identifier: Apache-2.0
"""Estimators for scikit-learn whose fits are computed in binary64 by Reprise: LinearRegression, Ridge, LogisticRegression,
GLM, MLPClassifier, MLPRegressor. The same data give the same bits on every host, at any number of threads.

With `archive=PATH` a fit is recorded: `reprise replay PATH` makes it again. What came before the estimator (a pipeline's
other steps, the drawing of initial weights and of the order of rows) is outside: the archive holds its results as feeds,
and says so."""
from __future__ import annotations

from .glm import GLM
from .linear import LinearRegression, LogisticRegression, Ridge
from .networks import MLPClassifier, MLPRegressor

__all__ = ["GLM", "LinearRegression", "LogisticRegression", "MLPClassifier", "MLPRegressor", "Ridge"]
