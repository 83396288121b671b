/* SPDX-License-Identifier: Apache-2.0
 * Softmax and log-softmax of one row with their gradients, and the cross-entropy built on the same terms
 * (CONTRACT 7). Views of a row: at[0] the output, then the inputs in order. */
#include "kernels/ref/functions/formula.inc.h"
#include "kernels/ref/lanes.inc.h"

#define AT(v, i) (((T *)row->at[v])[(ptrdiff_t)(i)*row->step[v]])

static T FN(row_max)(const rp_row *row, int x)
{
    T best = (T)-__builtin_inf();

    for (size_t i = 0; i < row->n; i++)
        best = FN(maximum)(best, AT(x, i));
    return best;
}

/* The sum of exp(x_i - m). */
static T FN(row_exp_sum)(const rp_row *row, int x, T m)
{
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        FN(lanes_add)(&lanes, FN(rp_exp)(AT(x, i) - m));
    return FN(lanes_total)(&lanes);
}

/* y_i = exp(x_i - m) / s */
static void FN(softmax_row)(const rp_row *row)
{
    const T m = FN(row_max)(row, 1), s = FN(row_exp_sum)(row, 1, m);

    for (size_t i = 0; i < row->n; i++)
        AT(0, i) = FN(rp_exp)(AT(1, i) - m) / s;
}

/* dx_i = (g_i - d) y_i, d the sum of g_i y_i */
static void FN(softmax_grad_row)(const rp_row *row)
{
    FN(lanes) lanes;
    T d;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        FN(lanes_add)(&lanes, AT(1, i) * AT(2, i));
    d = FN(lanes_total)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        AT(0, i) = (AT(1, i) - d) * AT(2, i);
}

/* y_i = (x_i - m) - log s */
static void FN(log_softmax_row)(const rp_row *row)
{
    const T m = FN(row_max)(row, 1), log_s = FN(rp_log)(FN(row_exp_sum)(row, 1, m));

    for (size_t i = 0; i < row->n; i++)
        AT(0, i) = (AT(1, i) - m) - log_s;
}

/* dx_i = g_i - exp(y_i) s, s the sum of g_i */
static void FN(log_softmax_grad_row)(const rp_row *row)
{
    FN(lanes) lanes;
    T s;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        FN(lanes_add)(&lanes, AT(1, i));
    s = FN(lanes_total)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        AT(0, i) = AT(1, i) - FN(rp_exp)(AT(2, i)) * s;
}

/* log s - (x_label - m) */
static void FN(cross_entropy_row)(const rp_row *row)
{
    const T m = FN(row_max)(row, 1), log_s = FN(rp_log)(FN(row_exp_sum)(row, 1, m));

    AT(0, 0) = log_s - (AT(1, label_of(row, 2)) - m);
}

/* The same, and in at[3] the logsumexp of the row, which takes x from m where that is finite. */
static void FN(cross_entropy_both_row)(const rp_row *row)
{
    const T m = FN(row_max)(row, 1), log_s = FN(rp_log)(FN(row_exp_sum)(row, 1, m));

    AT(3, 0) = m - m == 0 ? m + log_s : (T)0 + FN(rp_log)(FN(row_exp_sum)(row, 1, (T)0));
    AT(0, 0) = log_s - (AT(1, label_of(row, 2)) - m);
}

/* dx_i = g (exp(x_i - m) / s - [i = label]) */
static void FN(cross_entropy_grad_row)(const rp_row *row)
{
    const T m = FN(row_max)(row, 2), s = FN(row_exp_sum)(row, 2, m), g = AT(1, 0);
    const size_t label = label_of(row, 3);

    for (size_t i = 0; i < row->n; i++) {
        const T p = FN(rp_exp)(AT(2, i) - m) / s;

        AT(0, i) = g * (i == label ? p - (T)1 : p);
    }
}

#undef AT
