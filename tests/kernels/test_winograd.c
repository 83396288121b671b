/* SPDX-License-Identifier: Apache-2.0
 * conv2d_winograd (CONTRACT 4.6): its error against direct convolution in binary64, a second implementation from the
 * contract's text, every level and cut against the reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "tests/determinism/contract_text.h"
#include "tests/kernels/kernel_call.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "tests/house/sanitized.h"

static const char *const *levels;
static size_t n_levels;

typedef struct shape {
    int n, h, w, c, k, pad[4];
} shape;

static const shape shapes[] = {
    {2, 8, 8, 3, 5, {1, 1, 1, 1}},     {1, 7, 9, 16, 32, {1, 1, 1, 1}},   {1, 3, 3, 1, 1, {0, 0, 0, 0}},
    {1, 1, 1, 4, 7, {1, 1, 1, 1}},     {2, 5, 13, 17, 33, {2, 0, 1, 2}},  {1, 6, 6, 513, 3, {1, 1, 1, 1}},
    {1, 9, 5, 1030, 40, {0, 2, 2, 0}}, {3, 17, 18, 24, 70, {1, 1, 1, 1}}, {1, 4, 4, 64, 300, {1, 1, 1, 1}},
    {4, 14, 14, 64, 64, {1, 1, 1, 1}}, {1, 70, 66, 8, 8, {2, 2, 2, 2}},   {0, 4, 4, 3, 3, {1, 1, 1, 1}}};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

typedef struct operands {
    rp_attr attr[RP_MAX_ATTR];
    rp_view view[3]; /* x, weight, y */
    size_t count[3];
} operands;

static double drawn(uint64_t seed, uint32_t stream, size_t i)
{
    return (double)rp_uniform_f32(rp_random_u32(seed, 3, stream, i)) - 0.5;
}

static double rare(uint32_t word)
{
    static const double values[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 0x1p-126, -0x1p-149, 0x1p126, -0x1p60};

    return word % 11 == 0 ? (double)NAN : values[word / 64 % 8];
}

static void put(void *data, rp_dtype dtype, size_t i, double value)
{
    if (dtype == RP_F32)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

/* spread > 1: elements lie that far apart. */
static operands make(const shape *p, rp_dtype dtype, bool odd, int spread)
{
    const int oh = p->h + p->pad[0] + p->pad[2] - 2, ow = p->w + p->pad[1] + p->pad[3] - 2;
    const int sizes[3][4] = {{p->n, p->h, p->w, p->c}, {3, 3, p->c, p->k}, {p->n, oh, ow, p->k}};
    operands o = {.attr = {{.n = 2, .list = {1, 1}}, {.n = 4}, {.n = 2, .list = {1, 1}}, {.i = 1}}};

    for (int d = 0; d < 4; d++)
        o.attr[1].list[d] = p->pad[d];
    for (uint32_t i = 0; i < 3; i++) {
        const int *s = sizes[i];
        void *data;

        o.count[i] = (size_t)(s[0] * s[1] * s[2] * s[3]);
        data = calloc(o.count[i] * (size_t)spread + 1, 8);
        assert_non_null(data);
        for (size_t j = 0; j < o.count[i] * (size_t)spread; j++) {
            const uint32_t word = rp_random_u32(i, 4, 0, j);

            put(data, dtype, j, odd && word / 1024 % 64 == 0 ? rare(word) : drawn(42, i + 1, j));
        }
        o.view[i] = view_of(data, dtype, s[0], s[1], s[2], s[3], -1);
        for (int d = 0; d < 4; d++)
            o.view[i].stride[d] *= spread;
    }
    return o;
}

static void drop(operands *o)
{
    for (int i = 0; i < 3; i++)
        free(o->view[i].data);
}

static void call(const char *level, rp_kernel_id id, const operands *o)
{
    call_kernel(level, id, &o->view[2], 1, o->view, 2, o->attr);
}

/* ---- a second implementation, from the contract's text, in binary32 ---- */

static void turn(char kind, const float *v, float *to)
{
    if (kind == 'd') {
        const float p = fmaf(-2.25f, v[2], v[4]), q = fmaf(-2.25f, v[1], v[3]);
        const float t = fmaf(-0.390625f, v[2], v[4]), e = fmaf(-0.390625f, v[1], v[3]);
        const float found[6] = {fmaf(0.87890625f, v[0], fmaf(-2.640625f, v[2], v[4])),
                                fmaf(0.625f, q, p),
                                fmaf(-0.625f, q, p),
                                fmaf(1.5f, e, t),
                                fmaf(-1.5f, e, t),
                                fmaf(0.87890625f, v[1], fmaf(-2.640625f, v[3], v[5]))};

        memcpy(to, found, sizeof found);
    } else if (kind == 'g') {
        const float s = fmaf(0.390625f, v[2], v[0]), t = fmaf(2.25f, v[2], v[0]);
        const float zero = 0x1.234568p+0f, near = -0x1.607668p-1f, far = 0x1.e98802p-4f;
        const float found[6] = {zero * v[0],
                                near * fmaf(0.625f, v[1], s),
                                near * fmaf(-0.625f, v[1], s),
                                far * fmaf(1.5f, v[1], t),
                                far * fmaf(-1.5f, v[1], t),
                                v[2]};

        memcpy(to, found, sizeof found);
    } else {
        const float s = v[1] + v[2], e = v[1] - v[2], p = v[3] + v[4], q = v[3] - v[4];
        const float found[4] = {(v[0] + s) + p, fmaf(1.5f, q, 0.625f * e), fmaf(2.25f, p, 0.390625f * s),
                                fmaf(3.375f, q, 0.244140625f * e) + v[5]};

        memcpy(to, found, sizeof found);
    }
}

/* Columns, then rows; both matrices have rows of 6. */
static void turn_both(char kind, int from, int to, float a[6][6])
{
    float half[6][6], line[6], out[6];

    for (int j = 0; j < from; j++) {
        for (int i = 0; i < from; i++)
            line[i] = a[i][j];
        turn(kind, line, out);
        for (int i = 0; i < to; i++)
            half[i][j] = out[i];
    }
    for (int i = 0; i < to; i++)
        turn(kind, half[i], a[i]);
}

static float element(const rp_view *v, int i, int j, int k, int l)
{
    return ((const float *)v->data)[i * v->stride[0] + j * v->stride[1] + k * v->stride[2] + l * v->stride[3]];
}

/* y[n, h, w, k] by the contract's text. */
static float oracle(const shape *p, const operands *o, int n, int h, int w, int k)
{
    float m[6][6] = {{0}}, chain[6][6] = {{0}};

    for (int c = 0; c < p->c; c++) {
        float d[6][6] = {{0}}, g[6][6] = {{0}};

        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                const int y = h / 4 * 4 + i - p->pad[0], x = w / 4 * 4 + j - p->pad[1];

                d[i][j] = y >= 0 && y < p->h && x >= 0 && x < p->w ? element(&o->view[0], n, y, x, c) : 0;
                if (i < 3 && j < 3)
                    g[i][j] = element(&o->view[1], i, j, c, k);
            }
        turn_both('d', 6, 6, d);
        turn_both('g', 3, 6, g);
        for (int i = 0; i < 36; i++)
            chain[i / 6][i % 6] = fmaf(d[i / 6][i % 6], g[i / 6][i % 6], chain[i / 6][i % 6]);
        if (c % 512 != 511 && c + 1 < p->c)
            continue;
        for (int i = 0; i < 36; i++)
            m[i / 6][i % 6] = c < 512 ? chain[i / 6][i % 6] : m[i / 6][i % 6] + chain[i / 6][i % 6];
        memset(chain, 0, sizeof chain);
    }
    turn_both('m', 6, 4, m);
    return m[h % 4][w % 4];
}

static void assert_words(const char *label, size_t count, const float *found)
{
    char *text = contract_text();
    uint64_t expected[36];

    contract_words(contract_at(text, "### 4.6", label), count, 8, expected);
    for (size_t i = 0; i < count; i++)
        if (rp_bits_f32(found[i]) != expected[i])
            fail_msg("%s[%zu]: the text has %08llx, found %08x", label, i, (unsigned long long)expected[i],
                     rp_bits_f32(found[i]));
    free(text);
}

/* Both transforms as the second implementation has them, and the tile as the kernel does. */
static void the_texts_tile_has_the_bits_of_the_text(void **state)
{
    static const shape tile = {1, 4, 4, 1, 1, {1, 1, 1, 1}};
    operands o = make(&tile, RP_F32, false, 1);
    float d[6][6] = {{0}}, g[6][6] = {{0}};

    (void)state;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            d[i + 1][j + 1] = element(&o.view[0], 0, i, j, 0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            g[i][j] = element(&o.view[1], i, j, 0, 0);
    turn_both('d', 6, 6, d);
    turn_both('g', 3, 6, g);
    assert_words("    U  ", 36, g[0]);
    assert_words("    V  ", 36, d[0]);
    call("ref", RP_K_conv2d_winograd, &o);
    assert_words("    y  ", 16, o.view[2].data);
    drop(&o);
}

static void the_reference_has_the_bits_of_the_contracts_text(void **state)
{
    (void)state;
    for (int n = 0; n < SHAPES; n++) {
        operands o = make(&shapes[n], RP_F32, n % 2 == 1, 1);
        const rp_view *y = &o.view[2];

        call("ref", RP_K_conv2d_winograd, &o);
        for (size_t i = 0; i < o.count[2]; i += 1 + o.count[2] / 1009) {
            const int k = (int)(i % y->shape[3]), w = (int)(i / y->shape[3] % y->shape[2]);
            const int h = (int)(i / y->shape[3] / y->shape[2] % y->shape[1]);
            const float want = oracle(&shapes[n], &o, (int)(i / y->shape[3] / y->shape[2] / y->shape[1]), h, w, k);
            const float found = ((float *)y->data)[i];

            if (rp_bits_f32(rp_canonical_f32(want)) != rp_bits_f32(rp_canonical_f32(found)))
                fail_msg("shape %d, element %zu: expected %a, found %a", n, i, (double)want, (double)found);
        }
        drop(&o);
    }
}

static void compare(const shape *p, rp_dtype dtype, bool odd, int spread)
{
    static const unsigned cuts[] = {1, 2, 3, 7};
    static size_t turn;
    operands o = make(p, dtype, odd, spread);
    const size_t n = o.count[2] * (size_t)spread, size = rp_dtype_size(dtype);
    unsigned char *want = malloc(n * size + 1), *found = malloc(n * size + 1);
    const rp_kernel_args args = {o.view, 2, &o.view[2], 1, o.attr};
    const rp_kernel_table *table;

    assert_true(want != NULL && found != NULL);
    memset(o.view[2].data, 0xA5, n * size); /* what lies between the elements stays */
    call("ref", RP_K_conv2d_winograd, &o);
    rp_to_stored(want, o.view[2].data, dtype, n);
    turn++;
    for (size_t l = 1; l < n_levels; l++)
        for (size_t c = 0; c < 4; c++) {
            size_t items;

            if (FEWER && c != (l + turn + turn / 4) % 4) /* one cut, by turns, as in test_conv.c */
                continue;
            assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
            items = table->kernel[RP_K_conv2d_winograd]->items(&args);
            memset(o.view[2].data, 0xA5, n * size);
            for (unsigned i = cuts[c]; i-- > 0;)
                table->kernel[RP_K_conv2d_winograd]->run(&args, items * i / cuts[c], items * (i + 1) / cuts[c]);
            rp_to_stored(found, o.view[2].data, dtype, n);
            if (memcmp(want, found, n * size) != 0) {
                const size_t at = rp_first_difference(want, found, dtype, n);
                char a[64], b[64];

                rp_describe_element(a, sizeof a, want + at * size, dtype);
                rp_describe_element(b, sizeof b, found + at * size, dtype);
                fail_msg("%d x %d, %d to %d, %s, level %s, %u parts, element %zu: expected %s, found %s", p->h, p->w,
                         p->c, p->k, rp_dtype_name(dtype), levels[l], cuts[c], at, a, b);
            }
        }
    free(want);
    free(found);
    drop(&o);
}

static void every_level_and_cut_has_the_bits_of_the_reference(void **state)
{
    (void)state;
    for (int n = 0; n < SHAPES; n++)
        for (int form = 0; form < 4; form++)
            compare(&shapes[n], form % 2 == 0 ? RP_F32 : RP_F64, form / 2 == 1, n % 5 == 4 ? 2 : 1);
}

static void bits_do_not_depend_on_scratch_memory(void **state)
{
    static const int few[] = {0, 1, 4, 5};
    void *blocks[RP_SCRATCH_BLOCKS];

    (void)state;
    for (size_t left = 0; left < 2; left++) { /* none, and one: then the matrix product has none */
        for (size_t i = left; i < RP_SCRATCH_BLOCKS; i++)
            assert_non_null(blocks[i] = rp_scratch_borrow());
        for (int i = 0; i < 4; i++)
            compare(&shapes[few[i]], i % 2 == 0 ? RP_F32 : RP_F64, false, 1);
        for (size_t i = left; i < RP_SCRATCH_BLOCKS; i++)
            rp_scratch_return(blocks[i]);
    }
}

/* Root mean square of the error relative to that of the result, against conv2d in binary64. */
static double error_of(const shape *p, rp_dtype dtype, rp_kernel_id id)
{
    operands exact = make(p, RP_F64, false, 1), o = make(p, dtype, false, 1);
    double error = 0, size = 0;

    call(NULL, RP_K_conv2d, &exact);
    call(NULL, id, &o);
    for (size_t i = 0; i < o.count[2]; i++) {
        const double want = ((double *)exact.view[2].data)[i];
        const double found = dtype == RP_F32 ? (double)((float *)o.view[2].data)[i] : ((double *)o.view[2].data)[i];

        error += (found - want) * (found - want);
        size += want * want;
    }
    drop(&exact);
    drop(&o);
    return size > 0 ? sqrt(error / size) : 0;
}

/* With margin for other shapes: measured are up to 3e-6 and 6e-15. */
static void the_result_is_a_convolution(void **state)
{
    (void)state;
    for (int n = 0; n < SHAPES; n++) {
        assert_true(error_of(&shapes[n], RP_F32, RP_K_conv2d_winograd) < 5e-6);
        assert_true(error_of(&shapes[n], RP_F64, RP_K_conv2d_winograd) < 1e-14);
    }
}

/* A sum of no terms is +0, and so is every value. What was computed before lies where a kernel that sets nothing would
 * find its sums. */
static void without_channels_every_value_is_plus_zero(void **state)
{
    static const shape some = {1, 6, 6, 3, 5, {1, 1, 1, 1}}, none = {1, 6, 6, 0, 5, {1, 1, 1, 1}};

    (void)state;
    for (size_t l = 0; l < n_levels; l++)
        for (int type = 0; type < 2; type++) {
            const rp_dtype dtype = type == 0 ? RP_F32 : RP_F64;
            const size_t size = rp_dtype_size(dtype);
            operands before = make(&some, dtype, false, 1), o = make(&none, dtype, false, 1);
            const unsigned char *bytes = o.view[2].data;

            memset(o.view[2].data, 0xA5, o.count[2] * size);
            call(levels[l], RP_K_conv2d_winograd, &before);
            call(levels[l], RP_K_conv2d_winograd, &o);
            for (size_t i = 0; i < o.count[2] * size; i++)
                if (bytes[i] != 0)
                    fail_msg("level %s, %s: byte %zu is %02x", levels[l], rp_dtype_name(dtype), i, bytes[i]);
            drop(&before);
            drop(&o);
        }
}

/* An infinite input reaches only the tiles that have it, and padding is multiplied: there it may make NaNs. */
static void an_infinity_stays_in_its_tiles(void **state)
{
    const shape p = {1, 12, 12, 1, 1, {1, 1, 1, 1}};

    (void)state;
    for (size_t l = 0; l < n_levels; l++) {
        operands o = make(&p, RP_F32, false, 1);

        ((float *)o.view[0].data)[0] = HUGE_VALF; /* an input of the first tile alone */
        call(levels[l], RP_K_conv2d_winograd, &o);
        for (int i = 0; i < 144; i++) {
            const float y = ((float *)o.view[2].data)[i];

            if (i / 12 >= 4 || i % 12 >= 4)
                assert_true(isfinite(y));
            else if (i == 0)
                assert_false(isfinite(y));
        }
        drop(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_texts_tile_has_the_bits_of_the_text),
        cmocka_unit_test(the_reference_has_the_bits_of_the_contracts_text),
        cmocka_unit_test(every_level_and_cut_has_the_bits_of_the_reference),
        cmocka_unit_test(bits_do_not_depend_on_scratch_memory),
        cmocka_unit_test(the_result_is_a_convolution),
        cmocka_unit_test(without_channels_every_value_is_plus_zero),
        cmocka_unit_test(an_infinity_stays_in_its_tiles),
    };
    rp_fpenv saved;
    int failed;

    n_levels = rp_kernel_levels(&levels);
    if (rp_fpenv_enter(&saved, NULL, NULL) != RP_OK)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rp_fpenv_leave(&saved);
    return failed;
}
