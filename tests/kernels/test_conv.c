/* SPDX-License-Identifier: Apache-2.0
 * Convolution and pooling (CONTRACT 4.5) and batch norm (7.8): the reference against second implementations from the
 * contract's text, every level and cut against the reference, gradients against finite differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernels/conv_oracle.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "determinism/sum.h"
#include "tests/kernels/kernel_call.h"
#include "kernels/chain/epilogue.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "kernels/limits.h"
#include "tests/house/sanitized.h"

enum { CONV, GRAD_INPUT, GRAD_WEIGHT };
static const rp_kernel_id kernels[] = {RP_K_conv2d, RP_K_conv2d_grad_input, RP_K_conv2d_grad_weight};
static const char *const *levels;
static size_t n_levels;

/* Shapes by name of what they are for; every one is run by every kernel. */
static const conv_shape shapes[] = {
    /* n  h   w   c    k    r  s  groups stride  pad           dilation */
    {2, 9, 7, 3, 5, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {1, 5, 5, 64, 33, 1, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {2, 11, 13, 4, 70, 3, 3, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}},
    {1, 12, 10, 3, 32, 7, 7, 1, {2, 2}, {3, 3, 3, 3}, {1, 1}},
    {1, 14, 9, 5, 6, 3, 2, 1, {1, 1}, {2, 1, 2, 1}, {2, 3}},
    {2, 8, 9, 6, 8, 3, 3, 2, {1, 2}, {0, 1, 1, 0}, {1, 1}},
    {2, 7, 10, 37, 37, 3, 3, 37, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {1, 9, 9, 64, 64, 5, 3, 64, {2, 2}, {2, 1, 2, 1}, {1, 1}},
    {1, 6, 6, 4, 12, 3, 3, 4, {1, 1}, {1, 1, 1, 1}, {1, 1}},     /* depthwise with a multiplier */
    {3, 1, 257, 2, 4, 1, 5, 1, {1, 1}, {0, 4, 0, 4}, {1, 2}},    /* a row of samples; many pixels */
    {1, 4, 4, 60, 70, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},    /* two chunks of taps */
    {1, 3, 3, 600, 2, 2, 2, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},    /* a tap longer than a chunk */
    {1, 5, 4, 3, 520, 3, 3, 1, {2, 3}, {1, 1, 1, 1}, {1, 1}},    /* whole chunks without a tap */
    {2, 23, 25, 3, 3, 2, 2, 1, {1, 1}, {0, 0, 1, 1}, {1, 1}},    /* more pixels than a block of rows */
    {1, 5, 6, 2, 3, 3, 3, 1, {4, 5}, {1, 2, 3, 3}, {2, 1}},      /* inputs that no output reads */
    {1, 2, 2, 3, 4, 1, 1, 1, {1, 1}, {2, 2, 2, 2}, {1, 1}},      /* outputs that read nothing */
    {1, 6, 5, 2, 2, 2, 3, 1, {2, 2}, {1, 0, 1, 1}, {4, 2}},      /* dilation and stride share a factor */
    {3, 15, 17, 3, 64, 5, 5, 1, {1, 1}, {2, 2, 2, 2}, {1, 1}},   /* few channels: taps beside one another */
    {1, 4, 4, 2, 64, 3, 3, 1, {5, 5}, {1, 1, 1, 1}, {1, 1}},     /* the same where some taps never exist */
    {1, 5, 5, 70, 250, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},   /* few pixels, many columns: strips */
    {1, 16, 15, 64, 64, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},  /* rows read in place; several blocks of them */
    {1, 7, 6, 96, 96, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},    /* the same under several panels */
    {2, 17, 16, 130, 96, 1, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}}, /* channels and pixels fetched for the next block */
    {1, 6, 6, 40, 600, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},   /* taps of the gradient longer than a chunk */
    {2, 7, 6, 96, 160, 1, 1, 1, {2, 2}, {0, 0, 0, 0}, {1, 1}},   /* inputs that no output reads, in whole panels */
    {1, 5, 5, 2, 3, 7, 7, 1, {1, 1}, {5, 5, 5, 5}, {1, 1}},      /* every pixel has taps of its own */
    {1, 20, 21, 2, 3, 17, 18, 1, {1, 1}, {1, 2, 1, 0}, {1, 1}},  /* a filter about as large as its image */
    {1, 1, 700, 1, 2, 1, 690, 1, {1, 1}, {0, 3, 0, 2}, {1, 1}},  /* ... of one row, in several chunks */
    {1, 640, 1, 1, 2, 310, 1, 1, {3, 1}, {4, 0, 5, 0}, {2, 1}},  /* ... of one column, with steps */
    {2, 4, 12, 60, 80, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},   /* 96 pixels: the most that read the weight in place */
    {1, 97, 1, 180, 64, 3, 1, 1, {1, 1}, {1, 0, 1, 0}, {1, 1}},  /* one more */
    {1, 4, 4, 20, 1024, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},  /* ... of rows a page apart: a tile, or several */
    {1, 12, 1, 20, 1040, 1, 1, 1, {2, 1}, {0, 0, 0, 0}, {1, 1}}, /* ... more columns than are packed at once */
    {0, 4, 4, 2, 3, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}}};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

typedef struct operands {
    rp_attr attr[RP_MAX_ATTR];
    void *data[3]; /* x, weight, y */
    size_t count[3];
    rp_view view[3], in[2], out;
} operands;

static void fill(void *data, rp_dtype dtype, size_t n, uint64_t seed, uint32_t stream)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t word = rp_random_u32(seed, 3, stream, i);

        if (dtype == RP_F32)
            ((float *)data)[i] = rp_uniform_f32(word) - 0.5f;
        else
            ((double *)data)[i] = (double)rp_uniform_f32(word) - 0.5;
    }
}

/* Rare values, where an order or a term too many would show. */
static void sprinkle(void *data, rp_dtype dtype, size_t n, uint64_t seed)
{
    static const double rare[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 0x1p-126, -0x1p-149, 0x1p60, -0x1p60};

    for (size_t i = 0; i < n; i++) {
        const uint32_t word = rp_random_u32(seed, 4, 0, i);
        const double value = word % 11 == 0 ? (double)NAN : rare[word / 64 % 8];

        if (word / 1024 % 8 != 0)
            continue;
        if (dtype == RP_F32)
            ((float *)data)[i] = (float)value;
        else
            ((double *)data)[i] = value;
    }
}

static void set_attr(rp_attr *attr, const conv_shape *p)
{
    memset(attr, 0, RP_MAX_ATTR * sizeof *attr);
    for (int d = 0; d < 2; d++) {
        attr[0].list[d] = p->stride[d];
        attr[2].list[d] = p->dilation[d];
    }
    for (int d = 0; d < 4; d++)
        attr[1].list[d] = p->pad[d];
    attr[0].n = attr[2].n = 2;
    attr[1].n = 4;
    attr[3].i = p->groups;
}

static operands make(const conv_shape *p, rp_dtype dtype, int kind, bool rare)
{
    const int oh = conv_out(p, 0), ow = conv_out(p, 1);
    operands o = {.count = {(size_t)(p->n * p->h * p->w * p->c), (size_t)(p->r * p->s * (p->c / p->groups) * p->k),
                            (size_t)(p->n * oh * ow * p->k)}};

    set_attr(o.attr, p);
    for (uint32_t i = 0; i < 3; i++) {
        o.data[i] = calloc(o.count[i] * rp_dtype_size(dtype) + 1, 1); /* no more: sanitizers look at what is behind */
        assert_non_null(o.data[i]);
        fill(o.data[i], dtype, o.count[i], 42, i + 1);
        if (rare)
            sprinkle(o.data[i], dtype, o.count[i], i);
    }
    o.view[0] = view_of(o.data[0], dtype, p->n, p->h, p->w, p->c, -1);
    o.view[1] = view_of(o.data[1], dtype, p->r, p->s, p->c / p->groups, p->k, -1);
    o.view[2] = view_of(o.data[2], dtype, p->n, oh, ow, p->k, -1);
    o.in[0] = o.view[kind == GRAD_INPUT ? 2 : 0];
    o.in[1] = o.view[kind == GRAD_WEIGHT ? 2 : 1];
    o.out = o.view[kind == CONV ? 2 : kind == GRAD_INPUT ? 0 : 1];
    return o;
}

static int out_of(int kind)
{
    return kind == CONV ? 2 : kind == GRAD_INPUT ? 0 : 1;
}

static void drop(operands *o)
{
    for (int i = 0; i < 3; i++)
        free(o->data[i]);
}

static void call(const char *level, int kind, operands *o)
{
    call_kernel(level, kernels[kind], &o->out, 1, o->in, 2, o->attr);
}

/* The output element at row-major position `at`, by the oracle. */
static float oracle(const conv_shape *p, int kind, const operands *o, size_t at)
{
    const rp_view *out = &o->out;
    int i[4];

    for (int d = 3; d >= 0; d--) {
        i[d] = (int)(at % out->shape[d]);
        at /= out->shape[d];
    }
    if (kind == CONV)
        return oracle_forward(p, o->data[0], o->data[1], i[0], i[1], i[2], i[3]);
    if (kind == GRAD_INPUT)
        return oracle_grad_input(p, o->data[2], o->data[1], i[0], i[1], i[2], i[3]);
    return oracle_grad_weight(p, o->data[0], o->data[2], i[0], i[1], i[2], i[3]);
}

/* The reference runs on every shape below too: sanitizers compute few of these sums a second time. */
static void the_reference_has_the_bits_of_the_contracts_text(void **state)
{
    (void)state;
    for (int n = 0; n < 2 * SHAPES; n += 1 + 6 * SANITIZED)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++) {
            operands o = make(&shapes[n / 2], RP_F32, kind, n % 2 == 1);

            call("ref", kind, &o);
            for (size_t i = 0; i < o.count[out_of(kind)]; i++) {
                const float want = oracle(&shapes[n / 2], kind, &o, i), found = ((float *)o.out.data)[i];

                if (rp_bits_f32(rp_canonical_f32(want)) != rp_bits_f32(rp_canonical_f32(found)))
                    fail_msg("shape %d, kernel %d, element %zu: expected %a, found %a", n / 2, kind, i, (double)want,
                             (double)found);
            }
            drop(&o);
        }
}

/* Orders of axes in memory: channels last, planes, planes whose rows lie apart, and no two pixels beside one another.
 */
static const int orders[][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {1, 3, 0, 2}, {3, 2, 0, 1}};

static void lay(rp_view *v, const int order[4])
{
    ptrdiff_t step = 1;

    for (int d = 3; d >= 0; d--) {
        v->stride[order[d]] = step;
        step *= (ptrdiff_t)v->shape[order[d]];
    }
}

/* The layout is three digits of four: x, y, weight. */
static operands make_laid(const conv_shape *p, rp_dtype dtype, int kind, bool rare, int layout)
{
    operands o = make(p, dtype, kind, rare);

    lay(&o.view[0], orders[layout % 4]);
    lay(&o.view[2], orders[layout / 4 % 4]);
    lay(&o.view[1], orders[layout / 16 == 0 ? 0 : 3]); /* 3: as PyTorch has it */
    o.in[0] = o.view[kind == GRAD_INPUT ? 2 : 0];
    o.in[1] = o.view[kind == GRAD_WEIGHT ? 2 : 1];
    o.out = o.view[out_of(kind)];
    return o;
}

static void compare_laid(const conv_shape *p, rp_dtype dtype, int kind, bool rare, int layout)
{
    static const unsigned cuts[] = {1, 2, 3, 7};
    static size_t turn;
    operands o = make_laid(p, dtype, kind, rare, layout);
    const size_t n = o.count[out_of(kind)], size = rp_dtype_size(dtype);
    unsigned char *want = malloc(n * size + 1), *found = malloc(n * size + 1);
    const rp_kernel_args args = {o.in, 2, &o.out, 1, o.attr};
    const rp_kernel_table *table;

    assert_true(want != NULL && found != NULL);
    turn++;
    call("ref", kind, &o);
    rp_to_stored(want, o.out.data, dtype, n);
    for (size_t l = 1; l < n_levels; l++)
        for (size_t c = 0; c < 4; c++) {
            size_t items;

            if (FEWER && c != (l + turn + turn / 4) % 4) /* one cut, by turns: bits are what other builds are for */
                continue;
            assert_int_equal(rp_kernel_table_get(&table, levels[l], NULL), RP_OK);
            items = table->kernel[kernels[kind]]->items(&args);
            memset(o.out.data, 0xA5, n * size);
            for (unsigned i = cuts[c]; i-- > 0;)
                table->kernel[kernels[kind]]->run(&args, items * i / cuts[c], items * (i + 1) / cuts[c]);
            rp_to_stored(found, o.out.data, dtype, n);
            if (memcmp(want, found, n * size) != 0) {
                const size_t at = rp_first_difference(want, found, dtype, n);
                char a[64], b[64];

                rp_describe_element(a, sizeof a, want + at * size, dtype);
                rp_describe_element(b, sizeof b, found + at * size, dtype);
                fail_msg("%dx%d stride %d, %d channels of %d groups, layout %d, kernel %d %s, level %s, %u parts, "
                         "element %zu: expected %s, found %s",
                         p->r, p->s, p->stride[0], p->c, p->groups, layout, kind, rp_dtype_name(dtype), levels[l],
                         cuts[c], at, a, b);
            }
        }
    free(want);
    free(found);
    drop(&o);
}

static void compare(const conv_shape *p, rp_dtype dtype, int kind, bool rare)
{
    compare_laid(p, dtype, kind, rare, 0);
}

static void every_level_and_cut_has_the_bits_of_the_reference(void **state)
{
    (void)state;
    for (int n = 0; n < SHAPES; n++)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++)
            for (int form = 0; form < (SANITIZED ? 2 : 4); form++)
                compare(&shapes[n], form % 2 == 0 ? RP_F32 : RP_F64, kind, form / 2 == 1);
}

/* Channels that do not mix, or in small groups, by name of what they are for. */
static const conv_shape apart[] = {
    {2, 9, 21, 150, 150, 3, 3, 150, {1, 1}, {1, 1, 1, 1}, {1, 1}},   /* blocks of channels, the last of a few vectors */
    {1, 5, 20, 133, 133, 3, 3, 133, {2, 2}, {1, 1, 1, 1}, {1, 1}},   /* ... of less than one */
    {1, 8, 27, 37, 37, 5, 5, 37, {1, 1}, {2, 2, 2, 2}, {1, 1}},      /* a vector that begins earlier */
    {2, 9, 18, 48, 48, 7, 7, 48, {1, 1}, {3, 3, 3, 3}, {1, 1}},      /* every row at the edge and none */
    {1, 8, 20, 20, 20, 7, 5, 20, {2, 1}, {3, 2, 3, 2}, {1, 1}},      /* other steps down than across */
    {3, 7, 9, 5, 5, 3, 3, 5, {1, 1}, {1, 1, 1, 1}, {1, 1}},          /* fewer channels than a vector */
    {1, 29, 30, 128, 128, 3, 3, 128, {1, 1}, {1, 1, 1, 1}, {1, 1}},  /* more rows than are packed at a time */
    {1, 40, 40, 130, 130, 3, 3, 130, {2, 2}, {1, 0, 1, 1}, {1, 1}},  /* ... with steps */
    {1, 84, 42, 128, 128, 3, 3, 128, {3, 3}, {1, 1, 1, 1}, {1, 1}},  /* ... between which rows meet none of some */
    {1, 12, 30, 33, 33, 3, 5, 33, {1, 1}, {2, 4, 2, 4}, {2, 2}},     /* taps that lie apart */
    {1, 14, 13, 40, 40, 9, 9, 40, {1, 1}, {4, 4, 4, 4}, {1, 1}},     /* nine windows of taps */
    {1, 20, 21, 19, 19, 17, 18, 19, {1, 1}, {1, 2, 1, 0}, {1, 1}},   /* more windows than at a time */
    {1, 1, 400, 17, 17, 1, 170, 17, {1, 1}, {0, 169, 0, 0}, {1, 1}}, /* more parts of a row than are listed */
    {1, 30, 4, 18, 18, 24, 24, 18, {1, 1}, {9, 20, 9, 20}, {1, 1}},  /* more taps than a chunk has terms */
    {1, 5, 6, 70, 70, 3, 3, 70, {4, 5}, {1, 2, 3, 3}, {2, 1}},       /* inputs that no output reads */
    {2, 2, 2, 34, 34, 7, 7, 34, {1, 1}, {3, 3, 3, 3}, {1, 1}},       /* taps that never exist */
    {1, 2, 2, 20, 20, 1, 1, 20, {1, 1}, {2, 2, 2, 2}, {1, 1}},       /* outputs that read nothing */
    {0, 4, 4, 20, 20, 3, 3, 20, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {2, 9, 21, 40, 40, 3, 3, 5, {1, 1}, {1, 1, 1, 1}, {1, 1}},  /* groups of eight: several in a vector of outputs */
    {1, 8, 13, 15, 20, 3, 3, 5, {2, 2}, {1, 1, 1, 1}, {1, 1}},  /* ... of three and four */
    {1, 6, 17, 36, 18, 5, 3, 9, {1, 1}, {2, 4, 2, 4}, {1, 2}},  /* ... of four and two */
    {1, 41, 40, 32, 32, 3, 3, 4, {1, 1}, {1, 1, 1, 1}, {1, 1}}, /* more rows than are packed at a time */
    {1, 11, 10, 32, 32, 9, 9, 4, {1, 1}, {4, 4, 4, 4}, {1, 1}}, /* more terms than a chunk */
    {1, 5, 6, 32, 32, 3, 3, 16, {4, 5}, {1, 2, 3, 3}, {2, 1}},  /* groups of two; inputs that no output reads */
    {1, 2, 2, 24, 24, 1, 1, 6, {1, 1}, {2, 2, 2, 2}, {1, 1}}};  /* outputs that read nothing */

static void channels_that_mix_little_have_the_bits_of_the_reference_however_they_lie(void **state)
{
    static const int layouts[] = {0, 16, 17, 4, 21, 26, 31};

    (void)state;
    for (size_t n = 0; n < sizeof apart / sizeof apart[0]; n++)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++)
            for (size_t i = (n + (size_t)kind) % 2; i < sizeof layouts / sizeof layouts[0]; i += 2 + 2 * SANITIZED)
                compare_laid(&apart[n], (i + n) % 3 == 2 ? RP_F64 : RP_F32, kind, (i + n) / 2 % 2 == 1, layouts[i]);
}

/* More terms than all columns' would fit packed. */
static const conv_shape many_terms = {1, 3, 3, 520, 150, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}};

static void weights_whose_taps_are_neighbours_have_the_bits_of_the_reference(void **state)
{
    (void)state;
    for (int n = 0; n < SHAPES; n++)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++)
            compare_laid(&shapes[n], (n + kind) % 3 == 2 ? RP_F64 : RP_F32, kind, n % 4 == 3,
                         16 + (n % 5 == 4 ? 5 : 0));
    for (int kind = CONV; kind <= GRAD_INPUT; kind++)
        for (int dtype = 0; dtype < (SANITIZED ? 1 : 2); dtype++)
            compare_laid(&many_terms, dtype == 0 ? RP_F32 : RP_F64, kind, false, 16);
}

/* Few channels, and columns that fill no panel: rows of more pixels than are packed at a time among them. */
static const conv_shape few[] = {{2, 12, 30, 1, 40, 5, 5, 1, {1, 1}, {2, 2, 2, 2}, {1, 1}},
                                 {3, 9, 28, 1, 6, 5, 5, 1, {1, 1}, {2, 2, 2, 2}, {1, 1}},
                                 {2, 3, 150, 1, 17, 3, 3, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                                 {2, 3, 300, 1, 64, 1, 8, 1, {1, 2}, {0, 3, 0, 4}, {1, 1}},
                                 {2, 14, 14, 5, 16, 5, 5, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                                 {3, 13, 15, 3, 48, 3, 3, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}}};

static void few_channels_have_the_bits_of_the_reference_in_planes_too(void **state)
{
    static const int layouts[] = {0, 1, 17};

    (void)state;
    for (size_t n = 0; n < sizeof few / sizeof few[0]; n++)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++)
            for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
                compare_laid(&few[n], (n + i) % 3 == 2 ? RP_F64 : RP_F32, kind, i == 1, layouts[i]);
}

static void random_shapes_have_the_bits_of_the_reference(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
#define PICK(i, n) (int)(rp_random_u32(seed, 5, 0, i) % (n))
        const int groups = PICK(0, 3) == 0 ? 1 + PICK(1, 5) : 1;
        const conv_shape p = {PICK(2, 3),
                              PICK(3, 12),
                              PICK(4, 30),
                              groups * (1 + PICK(5, 9)),
                              groups * (1 + PICK(6, 40)),
                              1 + PICK(7, 4),
                              1 + PICK(8, 4),
                              groups,
                              {1 + PICK(9, 3), 1 + PICK(10, 3)},
                              {PICK(11, 3), PICK(12, 3), PICK(13, 3), PICK(14, 3)},
                              {1 + PICK(15, 3), 1 + PICK(16, 3)}};
#undef PICK

        compare_laid(&p, seed % 4 == 3 ? RP_F64 : RP_F32, (int)(seed % 3), seed % 5 == 4, seed % 7 == 0 ? 16 : 0);
    }
}

static void bits_do_not_depend_on_scratch_memory(void **state)
{
    static const int some[] = {2, 4, 10, 16, 21};
    void *blocks[RP_SCRATCH_BLOCKS];

    (void)state;
    for (size_t i = 0; i < RP_SCRATCH_BLOCKS; i++)
        blocks[i] = rp_scratch_borrow();
    assert_null(rp_scratch_borrow());
    for (int i = 0; i < 5; i++)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++)
            compare(&shapes[some[i]], i % 2 == 0 ? RP_F32 : RP_F64, kind, false);
    for (size_t n = 0; n < sizeof apart / sizeof apart[0]; n++)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++)
            compare_laid(&apart[n], n % 2 == 0 ? RP_F32 : RP_F64, kind, false, n % 3 == 0 ? 0 : 21);
    for (size_t i = 0; i < RP_SCRATCH_BLOCKS; i++)
        rp_scratch_return(blocks[i]);
}

/* Rows of two parts of an image, which meet; and whole images. */
static void images_in_planes_are_turned_as_many_rows_at_a_time_as_fit(void **state)
{
    static const conv_shape parts[] = {{1, 520, 400, 6, 16, 3, 1, 1, {1, 1}, {1, 0, 0, 0}, {1, 1}},
                                       {3, 190, 400, 6, 16, 3, 1, 1, {1, 1}, {1, 0, 0, 0}, {1, 1}}};

    (void)state;
    for (size_t i = 0; i < (SANITIZED ? 1 : sizeof parts / sizeof parts[0]); i++) {
        assert_true((size_t)(parts[i].n * parts[i].h * parts[i].w * parts[i].c) > RP_SCRATCH_BYTES / sizeof(float));
        compare_laid(&parts[i], RP_F32, CONV, false, 1);
        compare_laid(&parts[i], RP_F32, GRAD_INPUT, false, 4);
    }
}

/* Of all blocks one is left to borrow, and what lies behind it is another thread's. */
static void images_larger_than_the_scratch_leave_what_lies_behind_it(void **state)
{
    static const conv_shape large = {1, 400, 400, 3, 3, 3, 3, 3, {1, 1}, {1, 1, 1, 1}, {1, 1}};
    unsigned char *blocks[RP_SCRATCH_BLOCKS];

    (void)state;
    for (size_t i = 0; i < RP_SCRATCH_BLOCKS; i++)
        assert_non_null(blocks[i] = rp_scratch_borrow());
    assert_ptr_equal(blocks[0] + RP_SCRATCH_BYTES, blocks[1]);
    memset(blocks[1], 0xA5, RP_SCRATCH_BYTES);
    rp_scratch_return(blocks[0]);
    for (int layout = 0; layout < 32; layout += 31)
        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++)
            compare_laid(&large, RP_F32, kind, false, layout);
    for (size_t i = 0; i < RP_SCRATCH_BYTES; i++)
        assert_int_equal(blocks[1][i], 0xA5);
    for (size_t i = 1; i < RP_SCRATCH_BLOCKS; i++)
        rp_scratch_return(blocks[i]);
}

static void a_pointwise_convolution_is_a_matrix_product(void **state)
{
    const conv_shape p = {2, 5, 7, 530, 21, 1, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}};
    operands o = make(&p, RP_F32, CONV, false);
    float product[70 * 21];
    rp_view in[2] = {view_of(o.data[0], RP_F32, 70, 530, -1), view_of(o.data[1], RP_F32, 530, 21, -1)};
    rp_view out = view_of(product, RP_F32, 70, 21, -1);

    (void)state;
    call("ref", CONV, &o);
    call_kernel("ref", RP_K_matmul, &out, 1, in, 2, NULL);
    assert_memory_equal(product, o.data[2], sizeof product);
    drop(&o);
}

/* Padding is not multiplied: an infinite weight that meets only padding leaves no NaN. */
static void taps_in_the_padding_do_not_exist(void **state)
{
    const conv_shape p = {1, 1, 1, 1, 1, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}};
    float x = -0x1p-100f, weight[9], y = 7;
    const rp_view in[2] = {view_of(&x, RP_F32, 1, 1, 1, 1, -1), view_of(weight, RP_F32, 3, 3, 1, 1, -1)};
    const rp_view out = view_of(&y, RP_F32, 1, 1, 1, 1, -1);
    rp_attr attr[RP_MAX_ATTR];

    (void)state;
    set_attr(attr, &p);
    for (int i = 0; i < 9; i++)
        weight[i] = i == 4 ? 0x1p-100f : HUGE_VALF;
    for (size_t l = 0; l < n_levels; l++) {
        call_kernel(levels[l], RP_K_conv2d, &out, 1, in, 2, attr);
        assert_int_equal(rp_bits_f32(y), 0x80000000); /* the product underflows to -0 and nothing is added to it */
    }
}

/* Two chunks whose sums are both -0, between chunks without a tap: adding any +0 on the way would show. */
static void chunks_without_a_tap_are_left_out(void **state)
{
    enum { DEPTH = 600, COLUMNS = 32 };
    const conv_shape p = {1, 1, 1, DEPTH, COLUMNS, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}};

    (void)state;
    for (size_t l = 0; l < n_levels; l++) {
        operands o = make(&p, RP_F32, CONV, false);

        for (size_t i = 0; i < o.count[0]; i++)
            ((float *)o.data[0])[i] = -0x1p-100f;
        for (size_t i = 0; i < o.count[1]; i++)
            ((float *)o.data[1])[i] = 0x1p-100f;
        call(levels[l], CONV, &o);
        for (size_t i = 0; i < COLUMNS; i++)
            assert_int_equal(rp_bits_f32(((float *)o.data[2])[i]), 0x80000000);
        drop(&o);
    }
}

static double seconds_of(const conv_shape *p, int kind)
{
    operands o = make(p, RP_F32, kind, false);
    const double start = rp_seconds_cpu();

    call(levels[n_levels - 1], kind, &o);
    drop(&o);
    return rp_seconds_cpu() - start;
}

/* Seconds where a look at all taps for each chunk of them takes minutes. */
static void a_large_filter_of_few_outputs_takes_the_time_of_its_terms(void **state)
{
    static const conv_shape column = {1, 1048581, 1, 1, 1, 1048576, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}};
    static const conv_shape row = {1, 1, 1048581, 1, 1, 1, 1048576, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}};
    static const conv_shape plane = {1, 257, 258, 1, 1, 256, 256, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}};

    (void)state;
    if (n_levels == 1)
        skip(); /* the reference looks at all taps, which is what it is for */
    for (int kind = CONV; kind <= GRAD_WEIGHT; kind++) {
        assert_true(kind == GRAD_INPUT || seconds_of(&column, kind) < 3);
        assert_true(kind == GRAD_INPUT || seconds_of(&row, kind) < 3);
        assert_true(seconds_of(&plane, kind) < 3);
    }
}

/* f(v) = sum of out * g by kernel; convolution is linear in each operand, so central differences are exact up to
 * rounding. */
static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void convolution_gradients_agree_with_finite_differences(void **state)
{
    (void)state;
    for (int n = 0; n < SHAPES; n++)
        for (int operand = 0; operand < 2; operand++) {
            const int kind = operand == 0 ? GRAD_INPUT : GRAD_WEIGHT;
            operands f = make(&shapes[n], RP_F64, CONV, false), b = make(&shapes[n], RP_F64, kind, false);
            double *v = f.data[operand], *g = b.data[2];

            call("ref", kind, &b);
            for (size_t i = 0; i < f.count[operand]; i += 1 + f.count[operand] / 23) {
                const double at = v[i], found = ((double *)b.out.data)[i];
                double up, down;

                v[i] = at + 0.5;
                call(levels[n_levels - 1], CONV, &f);
                up = dot(f.data[2], g, f.count[2]);
                v[i] = at - 0.5;
                call(levels[n_levels - 1], CONV, &f);
                down = dot(f.data[2], g, f.count[2]);
                v[i] = at;
                if (!(fabs(up - down - found) < 1e-10))
                    fail_msg("shape %d, operand %d, element %zu: slope %g, gradient %g", n, operand, i, up - down,
                             found);
            }
            drop(&f);
            drop(&b);
        }
}

/* The first values of the examples of CONTRACT 4.5. */
static void the_contracts_convolution_examples_hold(void **state)
{
    static const uint32_t want[3][4] = {{0x3E1446E2, 0xBDBB98EB, 0x3E29CBAC, 0xBECDBEB8},
                                        {0xB9861414, 0x396ADD25, 0xBC14CC54, 0x3D08B2A4},
                                        {0xBDF4FA9A, 0x3DF0A95B, 0x3ABF5FAD, 0xBD5FA335}};
    static const uint32_t deep[9] = {0xBF804514, 0x3FEB12F1, 0x3F79866B, 0xC02B3896, 0xBE2396D8,
                                     0x3F3961AE, 0x3F9428CE, 0x3F3C5BC4, 0x40626FB3};
    const conv_shape p = {1, 3, 3, 2, 1, 3, 3, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}};
    const conv_shape q = {1, 3, 3, 128, 1, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}};

    (void)state;
    for (size_t l = 0; l < n_levels; l++) {
        operands o;

        for (int kind = CONV; kind <= GRAD_WEIGHT; kind++) {
            o = make(&p, RP_F32, kind, false);
            call(levels[l], kind, &o);
            for (size_t i = 0; i < 4; i++)
                assert_int_equal(rp_bits_f32(((float *)o.out.data)[i]), want[kind][i]);
            drop(&o);
        }
        o = make(&q, RP_F32, CONV, false);
        call(levels[l], CONV, &o);
        for (size_t i = 0; i < 9; i++)
            assert_int_equal(rp_bits_f32(((float *)o.out.data)[i]), deep[i]);
        drop(&o);
    }
}

/* ---- what goes on behind a convolution ---- */

/* Of more pixels than are finished at a time. */
static const conv_shape behind[] = {
    {1, 60, 61, 5, 64, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {1, 50, 40, 60, 70, 3, 3, 1, {1, 1}, {1, 1, 1, 1}, {1, 1}},    /* two chunks of taps */
    {2, 150, 140, 3, 4, 2, 3, 1, {1, 1}, {1, 1, 0, 1}, {1, 1}},    /* few channels */
    {1, 61, 60, 64, 64, 3, 3, 64, {1, 1}, {1, 1, 1, 1}, {1, 1}},   /* channels that do not mix */
    {1, 80, 81, 32, 32, 3, 3, 4, {1, 1}, {1, 1, 1, 1}, {1, 1}},    /* several groups in a vector */
    {1, 80, 90, 24, 24, 3, 3, 2, {1, 1}, {1, 1, 1, 1}, {1, 1}},    /* groups one after another */
    {1, 40, 41, 2, 1500, 1, 2, 1, {1, 1}, {0, 0, 0, 1}, {1, 1}},   /* strips of columns */
    {3, 40, 41, 20, 64, 1, 1, 1, {1, 1}, {0, 0, 0, 0}, {1, 1}},    /* a matrix product */
    {1, 101, 120, 16, 20, 3, 3, 1, {2, 2}, {1, 1, 1, 1}, {1, 1}}}; /* with steps */

typedef struct listener {
    const unsigned char *want;
    unsigned char *y, *told;
    size_t size, n, wrong; /* n: elements; wrong: plus one, the first that was told twice or was not finished */
} listener;

/* Whatever is told of is overwritten, as a chain may: who writes or adds to it later is found out. */
static void hear(void *self, size_t first, size_t rows, size_t step, size_t columns)
{
    listener *l = self;

    for (size_t r = 0; r < rows; r++)
        for (size_t i = first + r * step; i < first + r * step + columns; i++) {
            const bool fine =
                i < l->n && l->told[i] == 0 && memcmp(l->y + i * l->size, l->want + i * l->size, l->size) == 0;

            if (!fine && l->wrong == 0)
                l->wrong = i + 1;
            if (i < l->n) {
                l->told[i] = 1;
                memset(l->y + i * l->size, 0xEE, l->size);
            }
        }
}

static void listen(const conv_shape *p, rp_dtype dtype, int kind, int layout)
{
    static const unsigned cuts[] = {1, 2, 3, 7};
    static size_t turn;
    operands o = make_laid(p, dtype, kind, false, layout);
    const size_t n = o.count[out_of(kind)], size = rp_dtype_size(dtype);
    unsigned char *want = malloc(n * size + 1);
    const rp_kernel_args args = {o.in, 2, &o.out, 1, o.attr};
    listener l = {want, o.out.data, malloc(n + 1), size, n, 0};
    const rp_epilogue epilogue = {hear, &l, o.out.data};
    const rp_kernel_table *table;

    assert_true(want != NULL && l.told != NULL);
    call("ref", kind, &o);
    memcpy(want, o.out.data, n * size);
    for (size_t level = 1; level < n_levels; level++) {
        const unsigned parts = cuts[(turn + level) % 4];
        rp_epilogue_run *run;
        size_t items;

        assert_int_equal(rp_kernel_table_get(&table, levels[level], NULL), RP_OK);
        if ((run = rp_epilogue_of(table, kernels[kind])) == NULL)
            continue;
        items = table->kernel[kernels[kind]]->items(&args);
        memset(o.out.data, 0xA5, n * size);
        memset(l.told, 0, n);
        for (unsigned i = parts; i-- > 0;)
            run(&args, items * i / parts, items * (i + 1) / parts, &epilogue);
        for (size_t i = 0; i < n && l.wrong == 0; i++)
            for (size_t b = 0; b < size && l.wrong == 0; b++)
                l.wrong = l.told[i] && l.y[i * size + b] == 0xEE ? 0 : i + 1;
        if (l.wrong != 0)
            fail_msg("%dx%d taps of %dx%d, %d to %d channels, %d groups, layout %d, kernel %d %s, level %s, %u parts: "
                     "element %zu was not told of once, when it was finished, and left alone then",
                     p->r, p->s, p->h, p->w, p->c, p->k, p->groups, layout, kind, rp_dtype_name(dtype), levels[level],
                     parts, l.wrong - 1);
    }
    turn++;
    free(want);
    free(l.told);
    drop(&o);
}

static void each_element_is_told_of_once_when_it_is_finished(void **state)
{
    const struct list {
        const conv_shape *shape;
        size_t n;
    } lists[] = {{shapes, SHAPES},
                 {apart, sizeof apart / sizeof apart[0]},
                 {behind, sizeof behind / sizeof behind[0]},
                 {&many_terms, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (size_t n = 0; n < lists[i].n; n++)
            for (int kind = CONV; kind <= GRAD_INPUT; kind++)
                for (int layout = 0; layout < 3; layout++) {
                    const int side = kind == CONV ? 1 : 4; /* of the operand: the output is contiguous */

                    if ((FEWER || i == 2) && layout != ((int)n + kind) % 3)
                        continue;
                    listen(&lists[i].shape[n], (n + (size_t)layout) % 4 == 3 ? RP_F64 : RP_F32, kind,
                           layout == 0   ? 0
                           : layout == 1 ? side
                                         : 16 + side);
                }
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    n_levels = rp_kernel_levels(&levels);
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_has_the_bits_of_the_contracts_text),
        cmocka_unit_test(every_level_and_cut_has_the_bits_of_the_reference),
        cmocka_unit_test(channels_that_mix_little_have_the_bits_of_the_reference_however_they_lie),
        cmocka_unit_test(weights_whose_taps_are_neighbours_have_the_bits_of_the_reference),
        cmocka_unit_test(few_channels_have_the_bits_of_the_reference_in_planes_too),
        cmocka_unit_test(random_shapes_have_the_bits_of_the_reference),
        cmocka_unit_test(bits_do_not_depend_on_scratch_memory),
        cmocka_unit_test(images_in_planes_are_turned_as_many_rows_at_a_time_as_fit),
        cmocka_unit_test(images_larger_than_the_scratch_leave_what_lies_behind_it),
        cmocka_unit_test(a_pointwise_convolution_is_a_matrix_product),
        cmocka_unit_test(taps_in_the_padding_do_not_exist),
        cmocka_unit_test(chunks_without_a_tap_are_left_out),
        cmocka_unit_test(a_large_filter_of_few_outputs_takes_the_time_of_its_terms),
        cmocka_unit_test(convolution_gradients_agree_with_finite_differences),
        cmocka_unit_test(the_contracts_convolution_examples_hold),
        cmocka_unit_test(each_element_is_told_of_once_when_it_is_finished),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
