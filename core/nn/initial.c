/* SPDX-License-Identifier: Apache-2.0
 * Initial values as operations of the first step (CONTRACT 16.1), so that a replay draws them again. */
#include <math.h>

#include "core/nn/nn_private.h"

enum { REDRAWS = 8, REDRAW_STREAMS = 1 << 24 };

rp_nn_init rp_nn_constant(double value)
{
    return (rp_nn_init){RP_NN_CONSTANT, value, 0};
}

rp_nn_init rp_nn_uniform(double low, double high)
{
    return (rp_nn_init){RP_NN_UNIFORM, low, high};
}

rp_nn_init rp_nn_normal(double mean, double deviation)
{
    return (rp_nn_init){RP_NN_NORMAL, mean, deviation};
}

rp_nn_init rp_nn_truncated(double mean, double deviation)
{
    return (rp_nn_init){RP_NN_TRUNCATED, mean, deviation};
}

rp_nn_init rp_nn_xavier_uniform(double gain)
{
    return (rp_nn_init){RP_NN_XAVIER_UNIFORM, gain, 0};
}

rp_nn_init rp_nn_xavier_normal(double gain)
{
    return (rp_nn_init){RP_NN_XAVIER_NORMAL, gain, 0};
}

rp_nn_init rp_nn_kaiming_uniform(double gain)
{
    return (rp_nn_init){RP_NN_KAIMING_UNIFORM, gain, 0};
}

rp_nn_init rp_nn_kaiming_normal(double gain)
{
    return (rp_nn_init){RP_NN_KAIMING_NORMAL, gain, 0};
}

rp_nn_init rp_nn_orthogonal(double gain)
{
    return (rp_nn_init){RP_NN_ORTHOGONAL, gain, 0};
}

/* Of a rank-1 parameter both are its length. */
static void fans(const rp_type *type, double *in, double *out)
{
    const int last = type->rank - 1;
    double taps = 1;

    for (int i = 0; i + 2 <= last; i++)
        taps *= (double)type->shape[i];
    *out = last >= 0 ? taps * (double)type->shape[last] : 1;
    *in = last >= 1 ? taps * (double)type->shape[last - 1] : *out;
    *in = *in > 0 ? *in : 1;
    *out = *out > 0 ? *out : 1;
}

static rp_tensor normal(const rp_type *type, rp_tensor rng, int64_t stream, double mean, double deviation)
{
    return rp_normal(rng, stream, RP_F32, type->rank, type->shape, mean, deviation);
}

static rp_tensor uniform(const rp_type *type, rp_tensor rng, int64_t stream, double low, double high)
{
    return rp_uniform(rng, stream, RP_F32, type->rank, type->shape, low, high);
}

/* The first of eight draws that lies within two deviations; the last one is held to them. */
static rp_tensor truncated(rp_graph *graph, const rp_type *type, rp_tensor rng, int64_t index, rp_nn_init init)
{
    rp_tensor two = rp_fill(graph, RP_F32, 0, NULL, 2);
    rp_tensor z = normal(type, rng, index + (int64_t)(REDRAWS - 1) * REDRAW_STREAMS, 0, 1);

    z = rp_hardtanh(z, -2, 2);
    for (int64_t k = REDRAWS - 2; k >= 0; k--) {
        rp_tensor draw = normal(type, rng, index + k * REDRAW_STREAMS, 0, 1);
        rp_tensor within = rp_le(rp_abs(draw), two);

        z = rp_where(within, draw, z);
    }
    return rp_add_scalar(rp_scale(z, init.b), init.a);
}

/* rows become orthonormal: q = l^-1 a, l the Cholesky factor of a a'. */
static rp_tensor orthonormal_rows(rp_tensor a)
{
    rp_tensor factor = rp_cholesky(rp_matmul(a, rp_transpose(a, NULL)), 0);

    return rp_triangular_solve(factor, a, false, false);
}

/* Twice, since once leaves the square of the condition number in the angles (CholeskyQR2, Yamamoto et al. 2015). */
static rp_tensor orthogonal(const rp_type *type, rp_tensor rng, int64_t stream, double gain)
{
    size_t cols = type->rank > 0 ? type->shape[type->rank - 1] : 1, count = rp_type_count(type);
    size_t rows = cols ? count / cols : 0, few = rows < cols ? rows : cols, many = rows < cols ? cols : rows;
    rp_tensor q = rp_normal(rng, stream, RP_F64, 2, (size_t[]){few, many}, 0, 1);

    q = orthonormal_rows(orthonormal_rows(q));
    if (rows > cols)
        q = rp_transpose(q, NULL);
    q = rp_cast(rp_scale(q, gain), RP_F32);
    return rp_reshape(q, type->rank, type->shape);
}

rp_tensor rp_nn_initial(rp_graph *graph, const nn_parameter *p, rp_tensor rng, int64_t index)
{
    const rp_nn_init init = p->init;
    double in, out, bound;

    fans(&p->type, &in, &out);
    switch (init.kind) {
    case RP_NN_UNIFORM:
        return uniform(&p->type, rng, index, init.a, init.b);
    case RP_NN_NORMAL:
        return normal(&p->type, rng, index, init.a, init.b);
    case RP_NN_TRUNCATED:
        return truncated(graph, &p->type, rng, index, init);
    case RP_NN_XAVIER_UNIFORM:
        bound = init.a * sqrt(6 / (in + out));
        return uniform(&p->type, rng, index, -bound, bound);
    case RP_NN_XAVIER_NORMAL:
        return normal(&p->type, rng, index, 0, init.a * sqrt(2 / (in + out)));
    case RP_NN_KAIMING_UNIFORM:
        bound = init.a * sqrt(3 / in);
        return uniform(&p->type, rng, index, -bound, bound);
    case RP_NN_KAIMING_NORMAL:
        return normal(&p->type, rng, index, 0, init.a / sqrt(in));
    case RP_NN_ORTHOGONAL:
        return orthogonal(&p->type, rng, index, init.a);
    default:
        return rp_fill(graph, RP_F32, p->type.rank, p->type.shape, init.a);
    }
}
