/* SPDX-License-Identifier: Apache-2.0
 * Attention and its gradient on the emulated device, in workspaces so small that heads and queries are cut into blocks:
 * bit for bit against the reference, memory beside the results too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "kernels/device.h"
#include "kernels/gpu/attention/launch_attention.h"
#include "kernels/gpu/device_gpu.h"
#include "tests/emu/emulated.h"
#include "tests/house/sanitized.h"

enum { SPARE = 16 /* elements behind a tensor that nobody may touch */, AXES = 4 };
enum { DENSE, HEADS_INSIDE, TURNED, RAGGED }; /* how tensors lie */
enum { NO_MASK, WHOLE, OF_KEYS, OF_BATCH, ONE_ROW };

typedef struct attention_case {
    size_t batch, heads, shared, m, n, d, e;
    int mask;
    bool chosen, causal;
    int64_t window;
    double rate;
    int way, blocks; /* blocks: 0 all at once, else of so many KiB */
} attention_case;

typedef struct tensor {
    rp_view here, there;
    size_t elements; /* with the spare ones */
    char *host;
} tensor;

static rp_error err;
static rp_device *device;
static int kind; /* of data, going round */

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static void find(const char *name, void *function)
{
    void *library = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);

    assert_non_null(library);
    *(void **)function = dlsym(library, name);
    assert_non_null(*(void **)function);
    (void)dlclose(library); /* it stays */
}

/* Numbers of a kind: about 1 in size; some infinite, NaN or zero; so small that products underflow. */
static float number(uint64_t stream, uint64_t at)
{
    const uint32_t u = rp_random_u32(7, (uint64_t)kind, (uint32_t)stream, at);

    if (kind == 1 && u % 2999 < 5)
        return rp_from_bits_f32(((const uint32_t[]){0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x80000000u, 0})[u % 2999]);
    if (kind == 2)
        return rp_from_bits_f32((u & 0x807FFFFFu) | (45u + (u >> 24) % 14) << 23);
    return 4 * (rp_uniform_f32(u) - 0.5f);
}

static void fill(tensor *t, uint64_t stream)
{
    const size_t size = rp_dtype_size(t->here.dtype);

    for (size_t i = 0; i < t->elements; i++) {
        const float x = number(stream, i);
        const double wide = (double)x * (kind == 2 ? 0x1p-480 : 1);
        const int64_t word = (int64_t)(i + 3);
        const unsigned char chosen = rp_random_u32(7, 9, (uint32_t)stream, i) % 4 > 0;
        const void *from = t->here.dtype == RP_F32   ? (const void *)&x
                           : t->here.dtype == RP_F64 ? (const void *)&wide
                           : t->here.dtype == RP_I64 ? (const void *)&word
                                                     : &chosen;

        memcpy(t->host + i * size, from, size);
    }
}

static tensor make(rp_dtype dtype, int rank, const size_t *shape, int way, uint64_t stream)
{
    static const int orders[][AXES] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 1, 3, 2}, {1, 0, 2, 3}};
    tensor t = {.here = {.dtype = dtype, .rank = rank}};
    const size_t size = rp_dtype_size(dtype), shift = way == RAGGED;
    ptrdiff_t next = 1;
    void *there;

    memcpy(t.here.shape, shape, (size_t)rank * sizeof *shape);
    for (int d = rank - 1; d >= 0; d--) {
        const int axis = rank == AXES ? orders[way][d] : d;

        t.here.stride[axis] = next;
        next = next * (ptrdiff_t)shape[axis] + (way == RAGGED && d == rank - 1);
    }
    t.elements = (size_t)next + shift + SPARE;
    t.host = malloc(t.elements * size);
    assert_non_null(t.host);
    fill(&t, stream);
    OK(rp_device_allocate(device, &there, t.elements * size, &err));
    OK(rp_device_upload(device, there, t.host, t.elements * size, NULL, &err));
    t.there = t.here;
    t.here.data = t.host + shift * size;
    t.there.data = (char *)there + shift * size;
    return t;
}

static void drop(const tensor *t)
{
    rp_device_release(device, (char *)t->there.data - ((char *)t->here.data - t->host));
    free(t->host);
}

static double value(rp_dtype dtype, const char *at)
{
    float x;
    double wide;

    if (dtype == RP_F32) {
        memcpy(&x, at, sizeof x);
        return (double)x;
    }
    memcpy(&wide, at, sizeof wide);
    return wide;
}

/* The same bytes, but for which NaN. */
static void assert_same(const tensor *t, const attention_case *c, int which)
{
    const size_t size = rp_dtype_size(t->here.dtype), bytes = t->elements * size;
    char *found = malloc(bytes);

    assert_non_null(found);
    OK(rp_device_read(device, found, (char *)t->there.data - ((char *)t->here.data - t->host), bytes, NULL, &err));
    for (size_t i = 0; i < t->elements; i++) {
        const double x = value(t->here.dtype, t->host + i * size), y = value(t->here.dtype, found + i * size);

        if (memcmp(t->host + i * size, found + i * size, size) != 0 && (x == x || y == y))
            fail_msg("output %d of %zu x %zu (%zu) x %zu x %zu, %zu, %zu, mask %d, way %d, %d KiB, data %d: element "
                     "%zu of %zu: expected %a, found %a",
                     which, c->batch, c->heads, c->shared, c->m, c->n, c->d, c->e, c->mask, c->way, c->blocks, kind, i,
                     t->elements, x, y);
    }
    free(found);
}

static size_t operands(const attention_case *c, rp_dtype dtype, bool grad, tensor *in)
{
    const size_t q[AXES] = {c->batch, c->heads, c->m, c->d}, k[AXES] = {c->batch, c->heads / c->shared, c->n, c->d};
    const size_t v[AXES] = {c->batch, c->heads / c->shared, c->n, c->e}, y[AXES] = {c->batch, c->heads, c->m, c->e};
    const size_t masks[][AXES] = {[WHOLE] = {c->batch, c->heads, c->m, c->n},
                                  [OF_KEYS] = {c->n},
                                  [OF_BATCH] = {c->batch, 1, 1, c->n},
                                  [ONE_ROW] = {c->heads, c->m, 1}};
    static const int ranks[] = {0, 4, 1, 4, 3};
    const rp_dtype type = c->chosen ? RP_BOOL : dtype;
    size_t n = 0;

    if (grad)
        in[n++] = make(dtype, AXES, y, c->way, 1);
    in[n++] = make(dtype, AXES, q, c->way, 2);
    in[n++] = make(dtype, AXES, k, c->way, 3);
    in[n++] = make(dtype, AXES, v, (c->way + 1) % 3, 4);
    if (c->mask != NO_MASK)
        in[n++] = make(type, ranks[c->mask], masks[c->mask], DENSE, 5);
    if (c->rate > 0)
        in[n++] = make(RP_I64, 1, (const size_t[]){c->mask == NO_MASK ? 3 : 2}, DENSE, 6);
    return n;
}

static void run(const attention_case *c, rp_dtype dtype, bool grad)
{
    const size_t q[AXES] = {c->batch, c->heads, c->m, c->d}, k[AXES] = {c->batch, c->heads, c->n, c->d};
    const size_t v[AXES] = {c->batch, c->heads, c->n, c->e}, y[AXES] = {c->batch, c->heads, c->m, c->e};
    const rp_kernel_id kernel = grad ? RP_K_attention_grad : RP_K_attention;
    const size_t n_out = grad ? 3 : 1, room = c->blocks > 0 ? (size_t)c->blocks << 10 : (size_t)64 << 20;
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_view here[9], there[9];
    rp_kernel_args args = {here, 0, here + 6, n_out, attr};
    const rp_kernel_table *ref;
    rp_gpu_queue queue;
    tensor in[6], out[3];

    RP_AT(attr, attention, scale).r = 0.3;
    RP_AT(attr, attention, causal).i = c->causal;
    RP_AT(attr, attention, window).i = c->window;
    RP_AT(attr, attention, rate).r = c->rate;
    RP_AT(attr, attention, stream).i = 5;
    args.n_in = operands(c, dtype, grad, in);
    out[0] = make(dtype, AXES, grad ? q : y, c->way, 7);
    out[1] = make(dtype, AXES, k, c->way, 8);
    out[2] = make(dtype, AXES, v, (c->way + 2) % 4, 9);
    for (size_t i = 0; i < args.n_in; i++)
        here[i] = in[i].here, there[i] = in[i].there;
    for (size_t i = 0; i < 3; i++)
        here[6 + i] = out[i].here, there[6 + i] = out[i].there;
    OK(rp_kernel_table_get(&ref, SANITIZED ? NULL : "ref", &err)); /* as in tests/emu/emulated_tiles.c */
    ref->kernel[kernel]->run(&args, 0, ref->kernel[kernel]->items(&args));
    args.in = there, args.out = there + 6;
    queue = rp_gpu_queue_of((rp_gpu_device *)device, NULL, &err);
    assert_true(rp_gpu_attention_within(&queue, kernel, &args, room));
    OK(rp_gpu_queue_end(&queue));
    for (size_t i = 0; i < 3; i++) {
        assert_same(&out[i], c, (int)i);
        drop(&out[i]);
    }
    for (size_t i = 0; i < args.n_in; i++)
        drop(&in[i]);
}

/* Kinds of data take turns, and so do orders of threads. */
static void run_all(const attention_case *cases, size_t n)
{
    static int count;
    void (*order)(int);

    find("rp_emulated_order", &order);
    for (size_t i = 0; i < n; i++)
        for (int which = 0; which < 4; which++) {
            kind = count % 3;
            order(count / 3 % 3);
            count++;
            run(&cases[i], which % 2 ? RP_F64 : RP_F32, which >= 2);
        }
}

static void attention_has_the_bits_of_the_reference_however_heads_are_cut(void **state)
{
    static const attention_case cases[] = {
        {2, 3, 1, 33, 40, 16, 8, NO_MASK, false, true, 0, 0, HEADS_INSIDE, 0},
        {2, 4, 2, 20, 36, 8, 12, OF_BATCH, true, false, 5, 0, DENSE, 8},
        {3, 6, 3, 17, 31, 5, 7, WHOLE, false, true, 9, 0.25, RAGGED, 12},
        {2, 6, 6, 40, 20, 12, 4, WHOLE, true, true, 0, 0.5, TURNED, 20},
        {1, 5, 1, 3, 70, 64, 33, OF_KEYS, false, false, 0, 0.1, HEADS_INSIDE, 3},
        {2, 4, 1, 65, 64, 64, 64, ONE_ROW, false, true, 3, 0, DENSE, 40},
        {4, 2, 1, 1, 9, 3, 1, OF_KEYS, true, false, 2, 0, RAGGED, 1},
    };

    (void)state;
    for (int turn = 0; turn < (SANITIZED ? 1 : 3); turn++) /* sanitizers look at every case, not at all kinds of data */
        run_all(cases, sizeof cases / sizeof *cases);
}

static void attention_has_the_bits_of_the_reference_however_queries_are_cut(void **state)
{
    static const attention_case cases[] = {
        {1, 2, 1, 530, 24, 8, 4, NO_MASK, false, true, 0, 0.25, HEADS_INSIDE, 4},
        {1, 2, 2, 1537, 8, 4, 8, OF_KEYS, true, true, 700, 0, RAGGED, 70},
        {2, 2, 1, 1030, 9, 3, 2, WHOLE, false, false, 9, 0.5, DENSE, 90},
        {1, 1, 1, 2060, 5, 1, 1, NO_MASK, false, false, 0, 0, TURNED, 100},
        {1, 1, 1, 3, 4100, 2, 3, OF_KEYS, false, false, 0, 0.25, DENSE, 20}, /* rows of several chunks */
        {1, 2, 1, 2, 12300, 1, 2, NO_MASK, false, true, 0, 0, DENSE, 0},
        {1, 2, 1, 70, 530, 40, 36, NO_MASK, false, true, 64, 0, DENSE, 0},
        {1, 2, 1, 9, 700, 5, 4, WHOLE, true, false, 0, 0.25, DENSE, 0},
        {2, 2, 2, 12, 515, 3, 6, WHOLE, false, false, 300, 0.5, HEADS_INSIDE, 30},
    };
    unsigned long (*calls)(const char *);

    (void)state;
    run_all(cases, sizeof cases / sizeof *cases);
    if (!SANITIZED)
        run_all(cases, 4);
    find("rp_emulated_calls", &calls);
    assert_true(calls("rp_gpu_attention_join_f32") > 0 && calls("rp_gpu_attention_join_f64") > 0);
}

/* Sums of nothing are zero. */
static void attention_of_empty_tensors_has_the_bits_of_the_reference(void **state)
{
    static const attention_case cases[] = {
        {1, 2, 1, 0, 5, 3, 4, NO_MASK, false, true, 0, 0, DENSE, 0},
        {1, 2, 1, 4, 5, 0, 4, NO_MASK, false, true, 0, 0, DENSE, 0},
        {1, 2, 1, 4, 5, 3, 0, OF_KEYS, true, false, 0, 0.5, DENSE, 0},
        {0, 2, 1, 4, 5, 3, 4, NO_MASK, false, false, 0, 0, DENSE, 0},
        {2, 0, 1, 4, 5, 3, 4, NO_MASK, false, false, 0, 0, DENSE, 1},
        {1, 2, 1, 600, 5, 0, 4, NO_MASK, false, false, 0, 0, DENSE, 1},
        {1, 2, 1, 600, 5, 3, 0, NO_MASK, false, false, 0, 0, DENSE, 1},
    };

    (void)state;
    run_all(cases, sizeof cases / sizeof *cases);
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    return rp_fpenv_enter(&saved, NULL, &err) == RP_OK ? 0 : -1;
}

static int open_device(void **state)
{
    (void)state;
    return rp_device_open(&device, "emulated", NULL, 1, &err) == RP_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    rp_device_free(device);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)
    const struct CMUnitTest tests[] = {TEST(attention_has_the_bits_of_the_reference_however_heads_are_cut),
                                       TEST(attention_has_the_bits_of_the_reference_however_queries_are_cut),
                                       TEST(attention_of_empty_tensors_has_the_bits_of_the_reference)};

    return cmocka_run_group_tests(tests, enter, NULL);
}
