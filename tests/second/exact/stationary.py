# SPDX-License-Identifier: Apache-2.0
"""That a fit is the fit, without its program: the slope of what CONTRACT 12.8 minimises is 0 at the coefficients, and the
covariance is the inverse of its expected second derivatives, both in plain Python."""
import math


def inverse(a):
    """By Gauss and Jordan, the largest pivot of a column first."""
    n = len(a)
    m = [list(row) + [float(i == j) for j in range(n)] for i, row in enumerate(a)]
    for c in range(n):
        p = max(range(c, n), key=lambda r: abs(m[r][c]))
        m[c], m[p] = m[p], m[c]
        pivot = m[c][c]
        m[c] = [v / pivot for v in m[c]]
        for r in range(n):
            if r != c and m[r][c]:
                by = m[r][c]
                m[r] = [v - by * w for v, w in zip(m[r], m[c])]
    return [row[n:] for row in m]


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def row_of(loss, y, z):
    """(residuals, expected second derivatives) by output of one row."""
    if loss == "mse":
        return [y - z[0]], [[1.0]]
    if loss == "bce":
        m = sigmoid(z[0])
        return [y - m], [[m * (1 - m)]]
    if loss == "poisson":
        m = math.exp(z[0])
        return [y - m], [[m]]
    if loss == "gamma":
        return [y * math.exp(-z[0]) - 1], [[1.0]]
    top = max(z)
    e = [math.exp(v - top) for v in z]
    m = [v / sum(e) for v in e]
    return ([float(y == k) - p for k, p in enumerate(m)],
            [[p * ((k == j) - q) for j, q in enumerate(m)] for k, p in enumerate(m)])


def wrong(fit):
    """Texts; fit: of coefficients.py."""
    K, w, U, out = fit.K, fit.w, fit.K * fit.w, []
    free = [i for i, s in enumerate(fit.standing) if s in ("estimated", "zero")]
    slope, size = [0.0] * U, [1e-6] * U
    second = [[0.0] * U for _ in range(U)]
    for r, (x, y) in enumerate(zip(fit.table.x, fit.table.y)):
        x, v = [1.0] + x, fit.v[r] if fit.v else 1.0
        z = [sum(b * a for b, a in zip(fit.beta[k], x)) for k in range(K)]
        e, h = row_of(fit.loss, y, z)
        for i in free:
            k, j = divmod(i, w)
            slope[i] += v * e[k] * x[j]
            size[i] += abs(v * e[k] * x[j])
            for n in free if fit.plain else ():
                second[i][n] += v * h[k][n // w] * x[j] * x[n % w]
    for i in free:
        k, j = divmod(i, w)
        b = fit.beta[k][j]
        rest = slope[i] - (fit.l2 * b if j else 0.0)
        if fit.l1 and j:  # where b is 0 any slope up to l1 is right
            rest = rest - math.copysign(fit.l1, b) if b else max(0.0, abs(rest) - fit.l1)
        if abs(rest) > 1e-6 * size[i]:
            out.append("the slope of output %d, term %d is %g of %g" % (k, j, rest, size[i]))
    if fit.plain:
        made = inverse([[second[i][n] for n in free] for i in free])
        for a, i in enumerate(free):
            for b, n in enumerate(free):
                found = fit.results["covariance"][i * U + n]
                if abs(found - made[a][b]) > 1e-6 * math.sqrt(made[a][a] * made[b][b]):
                    out.append("covariance of unknowns %d and %d: %g, here %g" % (i, n, found, made[a][b]))
    return len(free) + (len(free) ** 2 if fit.plain else 0), out
