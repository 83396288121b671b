/* SPDX-License-Identifier: Apache-2.0
 * Jacobi's method, row by row (Golub and Van Loan 8.5): each rotation makes one element zero. */
#include "core/train/eigenvalues.h"

enum { SWEEPS = 60 };

/* Makes a[p, q] zero; true if it was not negligible. */
static int rotate(double *a, size_t n, size_t p, size_t q)
{
    const double off = a[p * n + q], theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    const double size = theta < 0 ? -theta : theta, root = 1 / (size + __builtin_sqrt(size * size + 1));
    const double t = theta < 0 ? -root : root, c = 1 / __builtin_sqrt(t * t + 1), s = t * c;

    if (off * off <= 0x1p-104 * (a[p * n + p] * a[q * n + q]) || off == 0)
        return 0;
    for (size_t k = 0; k < n; k++) {
        const double x = a[k * n + p], y = a[k * n + q];

        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = a[p * n + k], y = a[q * n + k];

        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
    return 1;
}

double rp_condition(double *a, size_t n)
{
    int turned = 1;
    double least, most;

    if (n == 0)
        return __builtin_nan("");
    for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
        turned = 0;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                turned |= rotate(a, n, p, q);
    }
    least = most = a[0];
    for (size_t i = 1; i < n; i++) {
        const double x = a[i * (n + 1)];

        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    return least > 0 ? __builtin_sqrt(most / least) : __builtin_inf();
}
