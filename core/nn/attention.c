/* SPDX-License-Identifier: Apache-2.0
 * Attention over several heads, to oneself and to another sequence, and the blocks of transformers (CONTRACT 16.4). */
#include "core/nn/nn_private.h"

typedef struct heads {
    size_t n, times, width;        /* of x */
    size_t seen_times, seen_width; /* of what it sees */
    size_t q, kv, each;
} heads;

/* The mask and the keys that are there, as one mask: bool [n, 1, 1, times], and the mask where both are given. */
static rp_tensor mask_of(const heads *h, const rp_nn_attention *o)
{
    rp_tensor keys;

    if (!o->keys.graph)
        return o->mask;
    keys = rp_reshape(o->keys, 4, (size_t[]){h->n, 1, 1, h->seen_times});
    return o->mask.graph ? rp_logical_and(o->mask, keys) : keys;
}

/* q [n, heads, times, each], k and v [n, kv, seen times, each] */
static rp_tensor attend(rp_nn *nn, const heads *h, rp_tensor q, rp_tensor k, rp_tensor v, const rp_nn_attention *o)
{
    rp_attention_options a = {.causal = o->causal, .window = o->window, .scale = o->scale, .mask = mask_of(h, o)};

    if (o->dropout != 0 && rp_nn_training(nn)) {
        a.rate = o->dropout;
        a.rng = rp_nn_rng(nn);
        a.stream = rp_nn_stream(nn);
    }
    return rp_attention(q, k, v, &a);
}

/* Columns begin .. of [n, times, ..], by heads: [n, heads, times, each]. */
static rp_tensor split(const heads *h, rp_tensor all, size_t begin, size_t count)
{
    const size_t *shape, end = begin + count * h->each;
    size_t n, times;
    rp_tensor x;

    if (!rp_tensor_ok(all))
        return rp_no_tensor();
    shape = rp_tensor_type(all)->shape;
    n = shape[0];
    times = shape[1];
    x = begin == 0 && shape[2] == end ? all : rp_slice(all, (size_t[]){0, 0, begin}, (size_t[]){n, times, end});
    x = rp_reshape(x, 4, (size_t[]){n, times, count, h->each});
    return rp_transpose(x, (int[]){0, 2, 1, 3});
}

static bool is_sequence(rp_nn *nn, const char *name, const char *what, rp_tensor x)
{
    char found[192];

    if (!x.graph)
        rp_nn_fail(nn, RP_EARG, "%s%.40s: %s is no tensor", nn->scope, name, what);
    if (!rp_tensor_ok(x))
        return false;
    if (rp_tensor_type(x)->rank == 3)
        return true;
    rp_type_text(rp_tensor_type(x), found, sizeof found);
    rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: expected %s [n, times, width], found %s", nn->scope, name, what, found);
    return false;
}

/* Sizes of heads, which every product has. */
static bool take_heads(rp_nn *nn, const char *name, rp_tensor x, size_t count, const rp_nn_attention *o, heads *h)
{
    h->q = count;
    h->kv = o->kv_heads ? o->kv_heads : count;
    h->each = o->each ? o->each : count ? h->width / count : 0;
    if (count == 0 || h->each == 0 || (!o->each && h->width % count)) {
        char found[192];

        rp_type_text(rp_tensor_type(x), found, sizeof found);
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: expected x [n, times, width] whose width %zu heads divide, found %s",
                   nn->scope, name, count, found);
        return false;
    }
    if (count % h->kv) {
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: kv_heads, %zu, do not divide the %zu heads", nn->scope, name, h->kv, count);
        return false;
    }
    return true;
}

static bool describe(rp_nn *nn, const char *name, rp_tensor x, rp_tensor seen, size_t count, const rp_nn_attention *o,
                     heads *h)
{
    const rp_type *from, *to;

    if (!nn || !nn->graph)
        return false;
    rp_graph_at_work(nn->graph);
    if (!is_sequence(nn, name, "x", x) || !is_sequence(nn, name, "what it sees", seen))
        return false;
    from = rp_tensor_type(x);
    to = rp_tensor_type(seen);
    if (from->shape[0] != to->shape[0]) {
        rp_nn_fail(nn, RP_ESHAPE, "%s%.40s: %zu sequences ask, %zu are seen", nn->scope, name, from->shape[0],
                   to->shape[0]);
        return false;
    }
    *h = (heads){.n = from->shape[0],
                 .times = from->shape[1],
                 .width = from->shape[2],
                 .seen_times = to->shape[1],
                 .seen_width = to->shape[2]};
    return take_heads(nn, name, x, count, o, h);
}

typedef struct projected {
    rp_tensor q, k, v;
} projected;

static rp_tensor turned(rp_nn *nn, const char *name, size_t in, size_t out)
{
    return rp_nn_weight(nn, name, 2, (size_t[]){in, out}, rp_nn_xavier_uniform(1), NN_TURNED);
}

/* One product for all three. */
static projected project_self(rp_nn *nn, const heads *h, rp_tensor x, const rp_nn_attention *o)
{
    const size_t q = h->q * h->each, kv = h->kv * h->each, width = q + 2 * kv;
    rp_tensor weight = turned(nn, "in_proj_weight", h->width, width);
    rp_tensor bias = o->no_bias ? rp_no_tensor() : rp_nn_parameter(nn, "in_proj_bias", 1, &width, rp_nn_constant(0));
    rp_tensor all = rp_nn_apply_linear(nn, x, weight, bias);
    projected p;

    p.q = split(h, all, 0, h->q);
    p.k = split(h, all, q, h->kv);
    p.v = split(h, all, q + kv, h->kv);
    return p;
}

static rp_tensor columns(rp_tensor x, size_t rows, size_t begin, size_t end)
{
    if (!x.graph)
        return x;
    return rows ? rp_slice(x, (size_t[]){0, begin}, (size_t[]){rows, end}) : rp_slice(x, &begin, &end);
}

/* One product of x, one of what it sees: parts of the same weight and bias. */
static projected project_both(rp_nn *nn, const heads *h, rp_tensor x, rp_tensor seen, const rp_nn_attention *o)
{
    const size_t q = h->q * h->each, kv = h->kv * h->each, width = q + 2 * kv;
    rp_tensor weight = turned(nn, "in_proj_weight", h->width, width);
    rp_tensor bias = o->no_bias ? rp_no_tensor() : rp_nn_parameter(nn, "in_proj_bias", 1, &width, rp_nn_constant(0));
    rp_tensor w = columns(weight, h->width, 0, q), b = columns(bias, 0, 0, q);
    projected p;

    p.q = split(h, rp_nn_apply_linear(nn, x, w, b), 0, h->q);
    w = columns(weight, h->width, q, width);
    b = columns(bias, 0, q, width);
    seen = rp_nn_apply_linear(nn, seen, w, b);
    p.k = split(h, seen, 0, h->kv);
    p.v = split(h, seen, kv, h->kv);
    return p;
}

/* Three products, of three weights. */
static projected project_apart(rp_nn *nn, const heads *h, rp_tensor x, rp_tensor seen, const rp_nn_attention *o)
{
    const size_t q = h->q * h->each, kv = h->kv * h->each, width = q + 2 * kv;
    rp_tensor wq = turned(nn, "q_proj_weight", h->width, q), wk = turned(nn, "k_proj_weight", h->seen_width, kv);
    rp_tensor wv = turned(nn, "v_proj_weight", h->seen_width, kv);
    rp_tensor bias = o->no_bias ? rp_no_tensor() : rp_nn_parameter(nn, "in_proj_bias", 1, &width, rp_nn_constant(0));
    rp_tensor b = columns(bias, 0, 0, q);
    projected p;

    p.q = split(h, rp_nn_apply_linear(nn, x, wq, b), 0, h->q);
    b = columns(bias, 0, q, q + kv);
    p.k = split(h, rp_nn_apply_linear(nn, seen, wk, b), 0, h->kv);
    b = columns(bias, 0, q + kv, width);
    p.v = split(h, rp_nn_apply_linear(nn, seen, wv, b), 0, h->kv);
    return p;
}

static rp_tensor linear(rp_nn *nn, const char *name, rp_tensor x, size_t out, bool no_bias)
{
    return no_bias ? rp_nn_project(nn, name, x, out) : rp_nn_linear(nn, name, x, out);
}

/* From heads [n, heads, times, each] to [n, times, width]. */
static rp_tensor project_out(rp_nn *nn, const heads *h, rp_tensor x, const rp_nn_attention *o)
{
    x = rp_transpose(x, (int[]){0, 2, 1, 3});
    x = rp_reshape(x, 3, (size_t[]){h->n, h->times, h->q * h->each});
    return linear(nn, "out_proj", x, h->width, o->no_bias);
}

rp_tensor rp_nn_self_attention(rp_nn *nn, const char *name, rp_tensor x, size_t count, const rp_nn_attention *options)
{
    const rp_nn_attention o = options ? *options : (rp_nn_attention){0};
    projected p;
    heads h;

    if (!describe(nn, name, x, x, count, &o, &h))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    p = project_self(nn, &h, x, &o);
    x = project_out(nn, &h, attend(nn, &h, p.q, p.k, p.v, &o), &o);
    rp_nn_leave(nn);
    return x;
}

rp_tensor rp_nn_cross_attention(rp_nn *nn, const char *name, rp_tensor x, rp_tensor seen, size_t count,
                                const rp_nn_attention *options)
{
    const rp_nn_attention o = options ? *options : (rp_nn_attention){0};
    projected p;
    heads h;

    if (!describe(nn, name, x, seen, count, &o, &h))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    p = h.seen_width == h.width ? project_both(nn, &h, x, seen, &o) : project_apart(nn, &h, x, seen, &o);
    x = project_out(nn, &h, attend(nn, &h, p.q, p.k, p.v, &o), &o);
    rp_nn_leave(nn);
    return x;
}

/* ---- blocks ---- */

typedef struct block {
    rp_nn *nn;
    const rp_nn_attention *o, *cross;
    rp_tensor seen;
    size_t heads, width;
} block;

static rp_tensor to_itself(const block *b, rp_tensor x)
{
    return rp_nn_self_attention(b->nn, "self_attn", x, b->heads, b->o);
}

static rp_tensor to_another(const block *b, rp_tensor x)
{
    return rp_nn_cross_attention(b->nn, "multihead_attn", x, b->seen, b->heads, b->cross);
}

static rp_tensor forward(const block *b, rp_tensor x)
{
    x = linear(b->nn, "linear1", x, b->o->hidden ? b->o->hidden : 4 * b->width, b->o->no_bias);
    x = b->o->relu ? rp_relu(x) : rp_gelu(x);
    x = rp_nn_dropout(b->nn, x, b->o->hidden_dropout);
    return linear(b->nn, "linear2", x, b->width, b->o->no_bias);
}

static rp_tensor normed(const block *b, const char *name, rp_tensor x)
{
    return b->o->rms != 0 ? rp_nn_rms_norm(b->nn, name, x, b->o->rms) : rp_nn_layer_norm(b->nn, name, x);
}

/* What a part gives is added to its x, the norm before the part or behind the sum. */
static rp_tensor added(const block *b, const char *norm, rp_tensor part(const block *, rp_tensor), rp_tensor x)
{
    rp_tensor y = part(b, b->o->norm_last ? x : normed(b, norm, x));

    x = rp_add(x, rp_nn_dropout(b->nn, y, b->o->residual_dropout));
    return b->o->norm_last ? normed(b, norm, x) : x;
}

rp_tensor rp_nn_transformer(rp_nn *nn, const char *name, rp_tensor x, size_t count, const rp_nn_attention *options)
{
    const rp_nn_attention o = options ? *options : (rp_nn_attention){0};
    heads h;

    if (!describe(nn, name, x, x, count, &o, &h))
        return rp_no_tensor();
    rp_nn_scope(nn, "%s", name);
    x = added(&(block){.nn = nn, .o = &o, .heads = count}, "norm1", to_itself, x);
    x = added(&(block){.nn = nn, .o = &o, .width = h.width}, "norm2", forward, x);
    rp_nn_leave(nn);
    return x;
}

rp_tensor rp_nn_decoder(rp_nn *nn, const char *name, rp_tensor x, rp_tensor seen, size_t count,
                        const rp_nn_attention *options, const rp_nn_attention *cross)
{
    const rp_nn_attention o = options ? *options : (rp_nn_attention){0}, none = {0};
    const block b = {nn, &o, cross ? cross : &none, seen, count, 0};
    block last = b;
    heads h;

    if (!describe(nn, name, x, seen, count, &o, &h))
        return rp_no_tensor();
    last.width = h.width;
    rp_nn_scope(nn, "%s", name);
    x = added(&b, "norm1", to_itself, x);
    x = added(&b, "norm2", to_another, x);
    x = added(&last, "norm3", forward, x);
    rp_nn_leave(nn);
    return x;
}
