# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 12.9 in Python: the table of coefficients from the results of the training program."""
import functools
import math

from distributions import beta, least, log_gamma, normal_quantile, normal_two_sided
from elementary import exp64, log1p64, log64, sigmoid64
from figures import divide, real
from ieee import INF, NAN, sqrt64, total

TWO_PI = float.fromhex("0x1.921fb54442d18p+2")
FAMILIES = {"mse": ("gaussian", "identity"), "bce": ("binomial", "logit"), "cross_entropy": ("multinomial", "logit"),
            "poisson": ("poisson", "log"), "gamma": ("gamma", "log")}


def student_two_sided(t, v):
    q = 2.0**1000 if abs(t) >= 2.0**500 else t * t
    return beta(0.5 * v, 0.5, v / (v + q), q / (v + q))[0] if t == t else NAN


@functools.lru_cache(maxsize=None)
def student_quantile(v):
    return least(lambda x: 0.5 * student_two_sided(x, v) <= 1.0 - 0.975, INF)


def added(x):
    return total(x, "f64")


class Fit:
    """results: of the training program, by name; loss: its kind."""

    def __init__(self, table, results, loss, l1, l2):
        self.table, self.loss, self.plain = table, loss, l1 == l2 == 0
        self.l1, self.l2, self.results = l1, l2, results
        p = len(table.features)
        self.w, self.K = p + 1, len(results["coefficients"]) // (p + 1)
        self.beta = [results["coefficients"][k * self.w : (k + 1) * self.w] for k in range(self.K)]
        self.d = [1.0] + [f.divisor for f in table.features]
        self.r = [0.0] + [f.mean / f.divisor for f in table.features]
        self.v = table.weights
        self.rows = sum(v > 0 for v in self.v) if self.v else len(table.y)
        self.W = table.total_weight()
        self.standing = [self.stand(k, j) for k in range(self.K) for j in range(self.w)]
        self.q = self.standing.count("estimated")

    def feature(self, j):
        return self.table.features[j - 1] if j else None

    def stand(self, k, j):
        f, U = self.feature(j), self.K * self.w
        if f is not None and f.kind == "offset":
            return "offset"
        masked = self.K > 1 and k == 0 and (j == 0 or self.plain)
        masked |= self.plain and f is not None and f.first
        if masked:
            return "reference"
        if self.l1 > 0:
            return "zero" if self.beta[k][j] == 0 else "estimated"
        at = k * self.w + j
        return "estimated" if math.isfinite(self.results["factor"][at * U + at]) else "left_out"

    def multiples(self, j):
        """u of 12.9: {i: u[i]} of those that are not 0."""
        f = self.feature(j)
        products = [(i, self.feature(i).factors) for i in range(1, self.w) if self.feature(i).kind == "product"]
        u = {}

        def less(i, by):
            u[i] = u.get(i, 0.0) - by
        if j == 0:
            u = {0: 1.0} | {i: -self.r[i] for i in range(1, self.w) if self.feature(i).kind != "product"}
            u |= {i: self.r[a] * self.r[b] for i, (a, b) in products}
        else:
            u[j] = 1.0 / self.d[j]
            for i, factors in products if f.kind != "product" else ():
                for n in (0, 1):
                    if factors[n] == j:
                        less(i, self.r[factors[1 - n]] / self.d[j])
        for m in range(1, self.w) if self.plain else ():
            if not self.feature(m).first or (j and (f.kind != "category" or f.column != self.feature(m).column)):
                continue
            for i, factors in products:
                for n in (0, 1):
                    if factors[n] == m:
                        less(i, self.r[factors[1 - n]] if j == 0 else -self.r[factors[1 - n]])
        return {i: u[i] for i in sorted(u) if u[i] != 0}

    def estimate(self, k, j, u):
        if j and list(u) == [j]:
            return self.beta[k][j] / self.d[j]
        out = 0.0
        for i in u:
            out = out + self.beta[k][i] * u[i]
        return out

    def variance(self, k, j, u):
        U, C = self.K * self.w, self.results["covariance"]
        c = lambda a, b: C[(k * self.w + a) * U + k * self.w + b]
        if list(u) == [j]:
            return c(j, j) / (self.d[j] * self.d[j])
        known = [i for i in u if self.standing[k * self.w + i] == "estimated"]
        out = 0.0
        for i in known:
            r = 0.0
            for n in known:
                r = r + c(i, n) * u[n]
            out = out + u[i] * r
        return out

    def term(self, k, j, dispersion):
        f, standing, u = self.feature(j), self.standing[k * self.w + j], self.multiples(j)
        said = {"intercept": True} if j == 0 else dict(f.name)
        said |= {"standing": standing, "estimate": real(self.estimate(k, j, u))}
        if j:
            said["encoded"] = real(self.beta[k][j])
        ratio = None
        if j and self.loss != "mse" and standing == "estimated":
            ratio = "odds" if self.loss in ("bce", "cross_entropy") else "ratio"
            said[ratio] = real(exp64(self.estimate(k, j, u)))
        if not self.plain or standing != "estimated":
            return said
        estimate, error = self.estimate(k, j, u), sqrt64(dispersion * self.variance(k, j, u))
        statistic = divide(estimate, error)
        free = float(self.rows - self.q)
        gauss = self.loss == "mse"
        p = student_two_sided(statistic, free) if gauss else normal_two_sided(statistic)
        reach = (student_quantile(free) if gauss else normal_quantile(0.975)) * error
        said |= {"error": real(error), "statistic": real(statistic), "p": real(p), "low": real(estimate - reach),
                 "high": real(estimate + reach)}
        if ratio:
            said |= {ratio + "_low": real(exp64(estimate - reach)), ratio + "_high": real(exp64(estimate + reach))}
        if j:
            G, D = self.results["gram"], self.results["gram_inverse"]
            g0 = G[j] * G[j] / G[0]
            said["inflation"] = real(D[j] * (G[j * self.w + j] - g0))
        return said

    # ---- figures of the fit ----

    def sum(self, values):
        """Of each row's v * value."""
        return added([v * x for v, x in zip(self.v, values)] if self.v else values)

    def offsets(self):
        at = next((i for i, f in enumerate(self.table.features) if f.kind == "offset"), None)
        return None if at is None else [row[at] for row in self.table.x]

    def gaussian(self):
        y, o, V = self.table.y, self.offsets(), self.results["deviation"][0]
        a = self.sum(y) / self.W if o is None else (self.sum(y) - self.sum(o)) / self.W
        left = y if o is None else [b - c for b, c in zip(y, o)]
        S, n = self.sum([(b - a) * (b - a) for b in left]), float(self.rows)
        L = lambda s: -(0.5 * n) * (log64(TWO_PI * (s / n)) + 1)
        g = added([log64(v) if v > 0 else 0.0 for v in self.v]) if self.v else 0.0
        more = 0.5 * g
        return L(V) + more if self.v else L(V), L(S) + more if self.v else L(S), V, S, real(1 - V / S)

    def classes(self):
        V, null = self.results["deviation"][0], 0.0
        o = self.offsets()
        if o is not None:
            null = -self.with_offset(o)
        else:
            for c in range(max(2, self.K)):
                m = self.sum([float(y == c) for y in self.table.y])
                null = null + m * log64(m / self.W)
        return -V, null, 2 * V, -2 * null

    def with_offset(self, o):
        """The sum of v * g at the constant model's intercept, by Newton's method and halves."""
        y = self.table.y
        s = self.sum(y) / self.W
        e = log64(s / (1 - s))
        low, high = e - max(o), e - min(o)
        b = 0.5 * (low + high)
        for _ in range(100):
            f = self.sum([t - sigmoid64(x + b) for t, x in zip(y, o)])
            h = self.sum([sigmoid64(x + b) * sigmoid64(-(x + b)) for x in o])
            low, high = (b, high) if f > 0 else (low, b)
            c = b + divide(f, h)
            if not low <= c <= high:
                c = 0.5 * (low + high)
            before, b = b, c
            if f == 0 or c == before or (c - before) * (c - before) * h <= 1e-20 * self.W:
                break
        out = []
        for t, x in zip(y, o):
            z = x + b
            u = -z if t == 1 and not self.table.trials else z
            g = u + log1p64(exp64(-u)) if u > 0 else log1p64(exp64(u))
            out.append(g - t * z if self.table.trials else g)
        return self.sum(out)

    def poisson(self):
        y, o, V = self.table.y, self.offsets(), self.results["deviation"][0]
        H = self.sum([log_gamma(t + 1) for t in y])
        E = self.sum([t * log64(t) if t else 0.0 for t in y])
        Y = self.sum(y)
        N = Y - Y * log64(Y / self.W)
        if o is not None:
            N = Y - (Y * log64(Y / self.sum([exp64(x) for x in o])) + self.sum([t * x for t, x in zip(y, o)]))
        return -V - H, -N - H, 2 * (V + (E - Y)), 2 * (N + (E - Y))

    def gamma(self, dispersion):
        y, o, V, n = self.table.y, self.offsets(), self.results["deviation"][0], float(self.rows)
        F, m, a = self.sum([log64(t) for t in y]), self.sum(y) / self.W, 1 / dispersion
        if self.v:
            g = []
            for t, v in zip(y, self.v):
                b = v / dispersion
                inner = b * log64(b) - log_gamma(b) if b >= 2.0**-1000 else log64(v) - log64(dispersion) if v else 0.0
                g.append(inner - log64(t) if v else 0.0)
            likelihood = added(g) + a * (F - V)
        else:
            likelihood = n * (a * log64(a) - log_gamma(a)) + (a - 1) * F - a * V
        null = 2 * (self.W * log64(m) - F)
        if o is not None:
            R, O = self.sum([t * exp64(-x) for t, x in zip(y, o)]), self.sum(o)
            null = 2 * ((self.W * log64(R / self.W) + O) - F)
        return likelihood, NAN, 2 * ((V - F) - self.W), null

    def counts(self):
        y, t, V, o = self.table.y, self.table.trials, self.results["deviation"][0], self.offsets()
        k = [float(round(a * b)) for a, b in zip(y, t)]
        E = self.sum([(a * log64(a) if a else 0.0) + ((1 - a) * log64(1 - a) if 1 - a else 0.0) for a in y])
        B = self.sum([(log_gamma(n + 1) - log_gamma(m + 1) - log_gamma(n - m + 1)) / n for m, n in zip(k, t)])
        Y = self.sum(y)
        if o is None:
            N = Y * log64(Y / self.W) + (self.W - Y) * log64((self.W - Y) / self.W)
        else:
            N = -self.with_offset(o)
        return B - V, B + N, 2 * (V + E), 2 * (E - N)

    def condition(self):
        G, w = self.results["gram"], self.w
        last = (self.K - 1) * w
        kept = [j for j in range(w) if self.standing[last + j] == "estimated"]
        a = [[G[i * w + j] / (sqrt64(G[i * w + i]) * sqrt64(G[j * w + j])) for j in kept] for i in kept]
        n = len(kept)
        for _ in range(60):
            turned = False
            for p in range(n):
                for q in range(p + 1, n):
                    o = a[p][q]
                    if o == 0 or o * o <= 2.0**-104 * (a[p][p] * a[q][q]):
                        continue
                    turned = True
                    h = (a[q][q] - a[p][p]) / (2 * o)
                    t = 1 / (abs(h) + sqrt64(h * h + 1))
                    t = -t if h < 0 else t
                    c = 1 / sqrt64(t * t + 1)
                    s = t * c
                    for k in range(n):
                        x, y = a[k][p], a[k][q]
                        a[k][p], a[k][q] = c * x - s * y, s * x + c * y
                    for k in range(n):
                        x, y = a[p][k], a[q][k]
                        a[p][k], a[q][k] = c * x - s * y, s * x + c * y
            if not turned:
                break
        values = [a[i][i] for i in range(n)]
        return sqrt64(max(values) / min(values)) if min(values) > 0 else INF

    def json(self):
        n, counted = float(self.rows), self.table.trials is not None
        family, link = ("binomial", "logit") if counted else FAMILIES[self.loss]
        free = n - self.q
        pearson = self.results.get("pearson", [NAN])[0]
        dispersion = {"mse": self.results["deviation"][0] / free, "gamma": pearson / free}.get(self.loss, 1.0)
        r2 = None
        if self.loss == "mse":
            ll, null, deviance, null_deviance, r2 = self.gaussian()
        elif counted:
            ll, null, deviance, null_deviance = self.counts()
        elif self.loss == "poisson":
            ll, null, deviance, null_deviance = self.poisson()
        elif self.loss == "gamma":
            ll, null, deviance, null_deviance = self.gamma(dispersion)
        else:
            ll, null, deviance, null_deviance = self.classes()
        said = {"family": family, "link": link, "l1": real(self.l1), "l2": real(self.l2), "rows": self.rows,
                "estimated": self.q, "iterations": int(self.results["iterations"][0]),
                "decrement": real(self.results["decrement"][0]), "limit": real(self.results["limit"][0]),
                "log_likelihood": real(ll), "null_log_likelihood": real(null), "deviance": real(deviance),
                "null_deviance": real(null_deviance)}
        if "sweeps" in self.results:
            said["sweeps"] = int(self.results["sweeps"][0])
        if self.v:
            said["weights"] = real(self.W)
        if self.table.offset:
            said["offset"] = "exposure" if "exposure" in self.table.recipe["data"] else "offset"
        said |= {"r2": r2} if self.loss == "mse" else {"mcfadden": real(1 - divide(ll, null))}
        if self.plain:
            said |= {"dispersion": real(dispersion), "aic": real(-2 * ll + 2 * self.q), "condition": real(self.condition()),
                     "bic": real(-2 * ll + log64(n) * self.q)}
            if "pearson" in self.results:
                said["pearson"] = real(pearson)
            if self.loss == "poisson" or counted:
                said["pearson_dispersion"] = real(pearson / free)
        outputs = []
        for k in range(self.K):
            one = {"terms": [self.term(k, j, dispersion) for j in range(self.w)]}
            if self.table.classes:
                one["class"] = self.table.classes[k if self.K > 1 else 1]
            outputs.append(one)
        return said | {"outputs": outputs}
