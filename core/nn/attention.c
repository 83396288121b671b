/* SPDX-License-Identifier: Apache-2.0
 * Attention over several heads and the block of a transformer (CONTRACT 16.4). */
#include "core/nn/nn_private.h"

typedef struct heads {
    size_t n, times, width, heads, each;
} heads;

/* q, k and v [n, heads, times, each] */
static rp_tensor attend(rp_nn *nn, rp_tensor q, rp_tensor k, rp_tensor v, const rp_nn_attention *o)
{
    rp_attention_options a = {.causal = o->causal, .mask = o->mask};

    if (o->dropout != 0 && rp_nn_training(nn)) {
        a.rate = o->dropout;
        a.rng = rp_nn_rng(nn);
        a.stream = rp_nn_stream(nn);
    }
    return rp_attention(q, k, v, &a);
}

/* The part-th third of [n, times, 3 width], by heads: [n, heads, times, each]. */
static rp_tensor split(const heads *h, rp_tensor all, size_t part)
{
    rp_tensor x = rp_slice(all, (size_t[]){0, 0, part * h->width}, (size_t[]){h->n, h->times, (part + 1) * h->width});

    x = rp_reshape(x, 4, (size_t[]){h->n, h->times, h->heads, h->each});
    return rp_transpose(x, (int[]){0, 2, 1, 3});
}

static bool describe(rp_nn *nn, const char *name, rp_tensor x, size_t count, heads *h)
{
    const rp_type *type;

    if (!nn || !nn->graph)
        return false;
    rp_graph_at_work(nn->graph);
    if (!x.graph)
        rp_nn_fail(nn, RP_EARG, "%s%.40s: x is no tensor", nn->scope, name);
    if (!rp_tensor_ok(x))
        return false;
    type = rp_tensor_type(x);
    if (type->rank != 3 || count == 0 || type->shape[2] == 0 || type->shape[2] % count) {
        char found[192];

        rp_type_text(type, found, sizeof found);
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: expected x [n, times, width] whose width %zu heads divide, found %s",
                   nn->scope, name, count, found);
        return false;
    }
    *h = (heads){type->shape[0], type->shape[1], type->shape[2], count, type->shape[2] / count};
    return true;
}

static rp_tensor project_in(rp_nn *nn, const heads *h, rp_tensor x)
{
    const size_t width = 3 * h->width;
    rp_tensor weight =
        rp_nn_weight(nn, "in_proj_weight", 2, (size_t[]){h->width, width}, rp_nn_xavier_uniform(1), NN_TURNED);
    rp_tensor bias = rp_nn_parameter(nn, "in_proj_bias", 1, &width, rp_nn_constant(0));

    return rp_nn_apply_linear(nn, x, weight, bias);
}

rp_tensor rp_nn_self_attention(rp_nn *nn, const char *name, rp_tensor x, size_t count, const rp_nn_attention *options)
{
    const rp_nn_attention o = options ? *options : (rp_nn_attention){0};
    rp_tensor all, q, k, v;
    heads h;

    if (!describe(nn, name, x, count, &h))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    all = project_in(nn, &h, x);
    q = split(&h, all, 0);
    k = split(&h, all, 1);
    v = split(&h, all, 2);
    x = rp_transpose(attend(nn, q, k, v, &o), (int[]){0, 2, 1, 3});
    x = rp_reshape(x, 3, (size_t[]){h.n, h.times, h.width});
    x = rp_nn_linear(nn, "out_proj", x, h.width);
    rp_nn_leave(nn);
    return x;
}

rp_tensor rp_nn_transformer(rp_nn *nn, const char *name, rp_tensor x, size_t count, const rp_nn_attention *options)
{
    const rp_nn_attention o = options ? *options : (rp_nn_attention){0};
    rp_tensor y;
    heads h;

    if (!describe(nn, name, x, count, &h))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    y = rp_nn_self_attention(nn, "self_attn", rp_nn_layer_norm(nn, "norm1", x), count, &o);
    x = rp_add(x, rp_nn_dropout(nn, y, o.residual_dropout));
    y = rp_nn_linear(nn, "linear1", rp_nn_layer_norm(nn, "norm2", x), o.hidden ? o.hidden : 4 * h.width);
    y = rp_nn_linear(nn, "linear2", rp_gelu(y), h.width);
    x = rp_add(x, rp_nn_dropout(nn, y, o.residual_dropout));
    rp_nn_leave(nn);
    return x;
}
