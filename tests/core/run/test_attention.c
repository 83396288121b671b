/* SPDX-License-Identifier: Apache-2.0
 * Attention and its gradients have the bits of the same written in products, softmax and masks (CONTRACT 7.13): random
 * shapes, masks, groups of heads and kinds of data, at every level and with several numbers of threads. The composition
 * here is made of public calls, not of the library's own. */
#include <math.h>

#include "determinism/philox.h"
#include "tests/core/program/eager_step.h"

typedef struct attending {
    size_t heads, group, m, n, d, e;
    rp_attention_options o; /* without tensors */
    int mask;               /* 0: none; 1: reals [m, n]; 2: bool [heads, 1, n]; 3: bool [m, n] */
    int data;               /* 0: plain; 1: very small; 2: with infinities and NaNs; 3: hidden values are infinite;
                             * 4 to 6: values or gradients whose products with weights vanish, so that chains are -0 */
    bool apart;             /* q, k and v are [m, heads, d], transposed */
} attending;

enum { OUTPUTS = 4 };
static const char *const names[OUTPUTS] = {"y", "dq", "dk", "dv"};

typedef struct results {
    float *x[OUTPUTS];
    size_t n[OUTPUTS];
} results;

typedef rp_tensor attend(const attending *a, rp_tensor q, rp_tensor k, rp_tensor v, rp_tensor mask, rp_tensor rng);

static rp_tensor by_the_operation(const attending *a, rp_tensor q, rp_tensor k, rp_tensor v, rp_tensor mask,
                                  rp_tensor rng)
{
    rp_attention_options o = a->o;

    o.mask = mask;
    o.rng = rng;
    return rp_attention(q, k, v, &o);
}

static rp_tensor grouped(rp_tensor x, const attending *a, size_t width)
{
    const size_t few = a->heads / a->group;

    if (a->group == 1)
        return x;
    x = rp_reshape(x, SHAPE(few, 1, a->n, width));
    x = rp_broadcast_to(x, SHAPE(few, a->group, a->n, width));
    return rp_reshape(x, SHAPE(a->heads, a->n, width));
}

static rp_tensor written_out(const attending *a, rp_tensor q, rp_tensor k, rp_tensor v, rp_tensor mask, rp_tensor rng)
{
    const double scale = a->o.scale != 0 ? a->o.scale : 1 / sqrt((double)a->d);
    rp_tensor z, i, j, d, none;

    k = grouped(k, a, a->d);
    v = grouped(v, a, a->e);
    z = rp_scale(rp_matmul(q, rp_transpose(k, NULL)), scale);
    none = rp_fill(q.graph, RP_F32, 0, NULL, -INFINITY);
    if (a->mask == 1)
        z = rp_add(z, mask);
    else if (a->mask)
        z = rp_where(mask, z, none);
    i = rp_reshape(rp_iota(q.graph, RP_I32, a->m), SHAPE(a->m, 1));
    j = rp_iota(q.graph, RP_I32, a->n);
    d = rp_sub(i, j);
    if (a->o.causal)
        z = rp_where(rp_ge(d, rp_fill(q.graph, RP_I32, 0, NULL, 0)), z, none);
    if (a->o.window)
        z = rp_where(rp_lt(rp_abs(d), rp_fill(q.graph, RP_I32, 0, NULL, (double)a->o.window)), z, none);
    z = rp_softmax(z);
    if (a->o.rate > 0)
        z = rp_dropout(z, a->o.rate, rng, a->o.stream);
    return rp_matmul(z, v);
}

static float *values(size_t n, const attending *a, uint64_t stream)
{
    static const float strange[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 3e38f, -1e-42f};
    float *x = calloc(n + 1, sizeof *x);

    if ((a->data == 4 && stream == 2) || (a->data > 4 && stream == 3)) {
        /* what comes later is above 0: a chain that takes hidden rows of it ends at +0 */
        for (size_t i = 0; i < n; i++)
            x[i] = (a->data == 5 ? i % 3 == 0 : i < (a->data == 4 ? n / 2 : n / 4 * 3)) ? -0x1p-149f : 0x1p-149f;
        return x;
    }
    if (a->data == 6 && stream == 1)
        return x;
    for (size_t i = 0; i < n; i++) {
        const uint32_t word = rp_random_u32(n, stream, 1, i);

        x[i] = 4 * (rp_uniform_f32(word) - 0.5f);
        if (a->data > 3 && stream < 3)
            x[i] /= 16;
        if (a->data == 1)
            x[i] *= ldexpf(1, -(int)(word % 140));
        if (a->data == 2 && rp_random_u32(n, stream, 2, i) % 97 == 0)
            x[i] = strange[word % 7];
    }
    return x;
}

static rp_tensor feed(rp_run *run, const char *name, const attending *a, size_t heads, size_t rows, size_t width,
                      const float *x)
{
    if (a->apart)
        return rp_transpose(rp_feed(run, name, RP_F32, SHAPE(rows, heads, width), x), (int[]){1, 0, 2});
    return rp_feed(run, name, RP_F32, SHAPE(heads, rows, width), x);
}

static rp_tensor feed_mask(rp_run *run, const attending *a)
{
    const size_t n = (a->mask == 2 ? a->heads : a->m) * a->n;
    rp_tensor mask = {0};
    float *reals;
    unsigned char *bools;

    if (a->mask == 0)
        return mask;
    reals = values(n, a, 9);
    bools = calloc(n + 1, 1);
    for (size_t i = 0; i < n; i++)
        bools[i] = rp_random_u32(n, 3, 3, i) % 3 != 0;
    if (a->mask == 1)
        mask = rp_feed(run, "mask", RP_F32, SHAPE(a->m, a->n), reals);
    else if (a->mask == 2)
        mask = rp_feed(run, "mask", RP_BOOL, SHAPE(a->heads, 1, a->n), bools);
    else
        mask = rp_feed(run, "mask", RP_BOOL, SHAPE(a->m, a->n), bools);
    free(reals);
    free(bools);
    return mask;
}

static results compute(const attending *a, attend *how, const char *level, unsigned threads)
{
    const size_t few = a->heads / a->group;
    const size_t n[OUTPUTS] = {a->heads * a->m * a->e, a->heads * a->m * a->d, few * a->n * a->d, few * a->n * a->e};
    float *q = values(n[1], a, 0), *k = values(n[2], a, 1), *v = values(n[3], a, 2), *g = values(n[0], a, 3);
    results r = {0};
    rp_run *run = NULL;
    rp_error err = {0};
    rp_tensor in[3], out[OUTPUTS], seed, mask, rng;

    if (a->data == 3) /* the last key is seen by the last query alone */
        v[n[3] - 1] = INFINITY;
    if (rp_run_new(&run, &(rp_run_options){.threads = threads, .level = level}, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    in[0] = feed(run, "q", a, a->heads, a->m, a->d, q);
    in[1] = feed(run, "k", a, few, a->n, a->d, k);
    in[2] = feed(run, "v", a, few, a->n, a->e, v);
    seed = feed(run, "g", a, a->heads, a->m, a->e, g);
    rng = rp_feed(run, "rng", RP_I64, SHAPE(2), (int64_t[]){5, 3});
    mask = feed_mask(run, a);
    out[0] = how(a, in[0], in[1], in[2], mask, rng);
    rp_vjp(out, &seed, 1, in, 3, out + 1);
    for (int i = 0; i < OUTPUTS; i++) {
        r.n[i] = n[i];
        r.x[i] = calloc(n[i] + 1, sizeof(float));
        if (rp_read(run, out[i], r.x[i], n[i] * sizeof(float), &err) != RP_OK)
            fail_msg("%s", err.text);
    }
    if (rp_step_end(run, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_run_free(run);
    free(q), free(k), free(v), free(g);
    return r;
}

static void assert_same(const results *want, results *got, const attending *a, const char *level, unsigned threads)
{
    for (int o = 0; o < OUTPUTS; o++) {
        for (size_t i = 0; i < want->n[o]; i++)
            if (rp_bits_f32(want->x[o][i]) != rp_bits_f32(got->x[o][i]))
                fail_msg(
                    "level %s, %u threads, %zu (%zu) heads [%zu, %zu, %zu, %zu] causal %d window %zu mask %d data %d: "
                    "%s[%zu] is %a, written out %a",
                    level, threads, a->heads, a->group, a->m, a->n, a->d, a->e, a->o.causal, a->o.window, a->mask,
                    a->data, names[o], i, (double)got->x[o][i], (double)want->x[o][i]);
        free(got->x[o]);
    }
}

static void compare(const attending *a)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    static unsigned turn;
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);
    const results want = compute(a, written_out, levels[n_levels - 1], 2);

    for (size_t l = 0; l < n_levels; l++) {
        const unsigned of = threads[turn++ % COUNT(threads)];
        results got;

        if (l + 1 < n_levels && a->heads * a->m * a->n > (l == 0 ? 5000 : 300000))
            continue; /* these take their time */
        got = compute(a, by_the_operation, levels[l], of);
        assert_same(&want, &got, a, levels[l], of);
    }
    for (int o = 0; o < OUTPUTS; o++)
        free(want.x[o]);
}

static void random_shapes_have_the_bits_of_the_composition(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 60; seed++) {
        uint32_t w[12];
        attending a;

        for (uint32_t i = 0; i < COUNT(w); i++)
            w[i] = rp_random_u32(77, seed, 0, i);
        a = (attending){.group = 1 + w[0] % 3,
                        .m = 1 + w[1] % (seed % 4 ? 40 : 90),
                        .n = 1 + w[2] % (seed % 3 ? 40 : 200),
                        .d = 1 + w[3] % 40,
                        .e = 1 + w[4] % 70,
                        .o = {.causal = w[5] % 2, .window = w[6] % 3 == 0 ? 1 + w[6] / 4 % 30 : 0},
                        .mask = (int)(w[7] % 5 % 4),
                        .data = (int)(w[8] % 4),
                        .apart = w[9] % 2};
        a.heads = a.group * (1 + w[10] % 2);
        a.o.scale = w[11] % 3 == 0 ? -0.25 : 0;
        a.o.rate = w[11] % 5 == 0 ? 0.25 : 0;
        a.o.stream = (int64_t)seed;
        compare(&a);
    }
}

/* Chunks of products and of sums, more keys than a block of memory holds, more columns than a chunk. */
static void long_shapes_have_the_bits_of_the_composition(void **state)
{
    static const attending shapes[] = {
        {.heads = 3, .group = 1, .m = 65, .n = 65, .d = 64, .e = 64}, /* the last block has one query */
        {.heads = 2, .group = 1, .m = 48, .n = 130, .d = 20, .e = 37, .apart = true, .o = {.causal = true}},
        {.heads = 1, .group = 1, .m = 530, .n = 1030, .d = 16, .e = 8, .o = {.causal = true}},
        {.heads = 2, .group = 2, .m = 1100, .n = 600, .d = 8, .e = 40, .o = {.window = 130}, .data = 1},
        {.heads = 1, .group = 1, .m = 1029, .n = 520, .d = 8, .e = 8, .mask = 2, .data = 2},
        {.heads = 1, .group = 1, .m = 1029, .n = 1029, .d = 8, .e = 8, .o = {.causal = true, .window = 200}, .data = 3},
        {.heads = 1, .group = 1, .m = 200, .n = 300, .d = 4, .e = 4, .o = {.causal = true}, .data = 4},
        {.heads = 1, .group = 1, .m = 300, .n = 300, .d = 4, .e = 4, .o = {.window = 40}, .data = 4},
        {.heads = 1, .group = 1, .m = 200, .n = 200, .d = 4, .e = 4, .o = {.causal = true}, .data = 5},
        {.heads = 1, .group = 1, .m = 300, .n = 300, .d = 4, .e = 4, .o = {.window = 40}, .data = 5},
        {.heads = 1, .group = 1, .m = 300, .n = 300, .d = 4, .e = 4, .o = {.window = 40}, .data = 6},
        {.heads = 1, .group = 1, .m = 5, .n = 20000, .d = 8, .e = 8},
        {.heads = 2, .group = 1, .m = 1000, .n = 520, .d = 600, .e = 600}, /* wide heads, keys in parts */
        {.heads = 1, .group = 1, .m = 5, .n = 20000, .d = 8, .e = 8, .mask = 1, .apart = true, .o = {.rate = 0.5}},
        {.heads = 1, .group = 1, .m = 40, .n = 12000, .d = 8, .e = 8, .o = {.causal = true}},
        {.heads = 1, .group = 1, .m = 33, .n = 70, .d = 520, .e = 513}};

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        compare(&shapes[i]);
}

static void the_contracts_example_holds(void **state)
{
    static const float x[4] = {1, -0.5f, 2, 0.25f}, g[4] = {0.5f, -1, 0.25f, 2};
    static const uint32_t want[2][OUTPUTS][4] = {{{0x3fa5a8d6, 0xbe8f057e, 0x3fc3feac, 0xbdd00ffa},
                                                  {0x3bd4a2dd, 0xbd9f7a26, 0xbd5f2097, 0x3f275870},
                                                  {0xbed1d668, 0xbd8a24a7, 0x3ed1d667, 0x3d8a24a6},
                                                  {0x3ef0afa9, 0x3e6d5c00, 0x3e8f5058, 0x3f44a902}},
                                                 {{0x3f800000, 0xbf000000, 0x3fc3feac, 0xbdd00ffa},
                                                  {0x00000000, 0x00000000, 0xbd5f2097, 0x3f275870},
                                                  {0xbedf2096, 0xbd5f2096, 0x3edf2095, 0x3d5f2095},
                                                  {0x3f1e00aa, 0xbd7faac0, 0x3e07fd57, 0x3f87fd57}}};

    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        const rp_attention_options o = {.scale = 0.5, .causal = causal};
        rp_run *run = step_new();
        rp_tensor in[3], seed, out[OUTPUTS];

        in[0] = put_f32(run, SHAPE(2, 2), x);
        in[1] = put_f32(run, SHAPE(2, 2), g);
        in[2] = put_f32(run, SHAPE(2, 2), x);
        seed = put_f32(run, SHAPE(2, 2), g);
        out[0] = rp_attention(in[0], in[1], in[2], &o);
        rp_vjp(out, &seed, 1, in, 3, out + 1);
        for (int i = 0; i < OUTPUTS; i++)
            assert_values(run, out[i], RP_F32, SHAPE(2, 2), want[causal][i]);
        assert_int_equal(rp_step_end(run, NULL), RP_OK);
        rp_run_free(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_contracts_example_holds),
        cmocka_unit_test(random_shapes_have_the_bits_of_the_composition),
        cmocka_unit_test(long_shapes_have_the_bits_of_the_composition),
    };

    return cmocka_run_group_tests_name("attention", tests, NULL, NULL);
}
