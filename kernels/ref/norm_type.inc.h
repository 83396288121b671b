/* SPDX-License-Identifier: Apache-2.0
 * Layer norm and RMS norm of one row, their gradients with respect to x, and the row's terms of those of gamma and beta
 * (CONTRACT 7.5, 7.10). */
#include "kernels/ref/lanes.inc.h"

#define AT(v, i) (((const T *)row->at[v])[(ptrdiff_t)(i)*row->step[v]])
#define OUT(i) (((T *)row->at[0])[(ptrdiff_t)(i)*row->step[0]])
#define LANE(v, i) (((T *)row->at[v])[(ptrdiff_t)(i)*row->step[v]])

/* mean = sum(x)/n, then r = 1 / sqrt(sum((x - mean)^2)/n + eps) */
static void FN(row_moments)(const rp_row *row, int x, T *mean, T *r)
{
    const T n = (T)row->n, eps = (T)RP_AT(row->args->attr, layer_norm, eps).r;
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        FN(lanes_add)(&lanes, AT(x, i));
    *mean = FN(lanes_total)(&lanes) / n;
    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < row->n; i++) {
        const T d = AT(x, i) - *mean;

        FN(lanes_add)(&lanes, d * d);
    }
    *r = (T)1 / SQRT(FN(lanes_total)(&lanes) / n + eps);
}

/* y_i = ((x_i - mean) r) gamma_i + beta_i */
static void FN(layer_norm_row)(const rp_row *row)
{
    T mean, r;

    FN(row_moments)(row, 1, &mean, &r);
    for (size_t i = 0; i < row->n; i++)
        OUT(i) = ((AT(1, i) - mean) * r) * AT(2, i) + AT(3, i);
}

/* With h_i = g_i gamma_i and z_i = (x_i - mean) r: a = sum(h)/n, b = sum(h z)/n, dx_i = ((h_i - a) - z_i b) r */
static void FN(layer_norm_grad_row)(const rp_row *row)
{
    const T n = (T)row->n;
    FN(lanes) h_sum, hz_sum;
    T mean, r, a, b;

    FN(row_moments)(row, 2, &mean, &r);
    FN(lanes_begin)(&h_sum);
    FN(lanes_begin)(&hz_sum);
    for (size_t i = 0; i < row->n; i++) {
        const T h = AT(1, i) * AT(3, i);

        FN(lanes_add)(&h_sum, h);
        FN(lanes_add)(&hz_sum, h * ((AT(2, i) - mean) * r));
    }
    a = FN(lanes_total)(&h_sum) / n;
    b = FN(lanes_total)(&hz_sum) / n;
    for (size_t i = 0; i < row->n; i++) {
        const T h = AT(1, i) * AT(3, i), z = (AT(2, i) - mean) * r;

        OUT(i) = ((h - a) - z * b) * r;
    }
}

/* And the row's z g and g into the lane that it joins. */
static void FN(layer_norm_backward_row)(const rp_row *row)
{
    T mean, r;

    FN(layer_norm_grad_row)(row);
    FN(row_moments)(row, 2, &mean, &r);
    for (size_t i = 0; i < row->n; i++) {
        LANE(4, i) += AT(1, i) * ((AT(2, i) - mean) * r);
        LANE(5, i) += AT(1, i);
    }
}

/* r = 1 / sqrt(sum(x^2)/n + eps) */
static T FN(row_scale)(const rp_row *row, int x)
{
    const T n = (T)row->n, eps = (T)RP_AT(row->args->attr, rms_norm, eps).r;
    FN(lanes) lanes;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        FN(lanes_add)(&lanes, AT(x, i) * AT(x, i));
    return (T)1 / SQRT(FN(lanes_total)(&lanes) / n + eps);
}

/* y_i = (x_i r) gamma_i */
static void FN(rms_norm_row)(const rp_row *row)
{
    const T r = FN(row_scale)(row, 1);

    for (size_t i = 0; i < row->n; i++)
        OUT(i) = (AT(1, i) * r) * AT(2, i);
}

/* With h_i = g_i gamma_i and z_i = x_i r: b = sum(h z)/n, dx_i = (h_i - z_i b) r; and g z into the row's lane */
static void FN(rms_norm_grad_row)(const rp_row *row)
{
    const T n = (T)row->n, r = FN(row_scale)(row, 2);
    FN(lanes) lanes;
    T b;

    FN(lanes_begin)(&lanes);
    for (size_t i = 0; i < row->n; i++)
        FN(lanes_add)(&lanes, (AT(1, i) * AT(3, i)) * (AT(2, i) * r));
    b = FN(lanes_total)(&lanes) / n;
    for (size_t i = 0; i < row->n; i++) {
        const T z = AT(2, i) * r;

        OUT(i) = (AT(1, i) * AT(3, i) - z * b) * r;
        LANE(4, i) += AT(1, i) * z;
    }
}

#undef AT
#undef OUT
#undef LANE
