/* SPDX-License-Identifier: Apache-2.0
 * Group norm and its gradient on the emulated device at sizes that the conformance table does not have: positions of
 * several chunks, groups of one channel to more than a chunk of them, elements of 16 bytes at once and one by one. Bit
 * for bit against the reference, memory beside the results too. */
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
#include "tests/emu/emulated.h"

enum { SPARE = 16 /* elements behind a tensor that nobody may touch */, AXES = 4, TENSORS = 8 };
/* how tensors lie: in order; rows further apart; channels before positions; two axes of positions turned, with a gap;
 * behind an address that is not aligned */
enum { DENSE, GAPS, CHANNELS_FIRST, APART, SHIFTED, WAYS };

typedef struct norm_case {
    size_t n, h, w, c, groups;
} norm_case;

typedef struct tensor {
    rp_view here, there;
    size_t elements; /* with the spare ones */
    char *host;
    void *memory;
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
    for (size_t i = 0; i < t->elements; i++) {
        const float x = number(stream, i);
        const double wide = (double)x * (kind == 2 ? 0x1p-480 : 1);

        if (t->here.dtype == RP_F32)
            memcpy(t->host + i * sizeof x, &x, sizeof x);
        else
            memcpy(t->host + i * sizeof wide, &wide, sizeof wide);
    }
}

static tensor make(rp_dtype dtype, int rank, const size_t *shape, int way, uint64_t stream)
{
    static const int orders[WAYS][AXES] = {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 1, 3}, {0, 1, 2, 3}};
    tensor t = {.here = {.dtype = dtype, .rank = rank}};
    const size_t size = rp_dtype_size(dtype), shift = way == SHIFTED;
    ptrdiff_t next = 1;

    memcpy(t.here.shape, shape, (size_t)rank * sizeof *shape);
    for (int d = rank - 1; d >= 0; d--) {
        const int axis = rank == AXES ? orders[way][d] : d;

        t.here.stride[axis] = next;
        next = next * (ptrdiff_t)shape[axis] + (d == rank - 1 ? (way == GAPS ? 4 : way == APART) : 0);
    }
    t.elements = (size_t)next + shift + SPARE;
    t.host = malloc(t.elements * size);
    assert_non_null(t.host);
    fill(&t, stream);
    OK(rp_device_allocate(device, &t.memory, t.elements * size, &err));
    OK(rp_device_upload(device, t.memory, t.host, t.elements * size, NULL, &err));
    t.there = t.here;
    t.here.data = t.host + shift * size;
    t.there.data = (char *)t.memory + shift * size;
    return t;
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
static void assert_same(const tensor *t, const char *what, size_t which)
{
    const size_t size = rp_dtype_size(t->here.dtype), bytes = t->elements * size;
    char *found = malloc(bytes);

    assert_non_null(found);
    OK(rp_device_read(device, found, t->memory, bytes, NULL, &err));
    for (size_t i = 0; i < t->elements; i++) {
        const double x = value(t->here.dtype, t->host + i * size), y = value(t->here.dtype, found + i * size);

        if (memcmp(t->host + i * size, found + i * size, size) != 0 && (x == x || y == y))
            fail_msg("%s, data %d: output %zu, element %zu of %zu: expected %a, found %a", what, kind, which, i,
                     t->elements, x, y);
    }
    free(found);
}

/* Inputs, then three outputs, here by the reference and there. */
static void same(rp_kernel_id kernel, const tensor *all, size_t n_in, const rp_attr *attr, const char *what)
{
    const rp_kernel_table *ref;
    rp_view here[TENSORS], there[TENSORS];
    const rp_kernel_args args = {here, n_in, here + n_in, 3, attr}, far = {there, n_in, there + n_in, 3, attr};

    for (size_t i = 0; i < n_in + 3; i++)
        here[i] = all[i].here, there[i] = all[i].there;
    OK(rp_kernel_table_get(&ref, "ref", &err));
    ref->kernel[kernel]->run(&args, 0, ref->kernel[kernel]->items(&args));
    OK(rp_device_launch(device, kernel, &far, NULL, &err));
    for (size_t i = 0; i < 3; i++)
        assert_same(&all[n_in + i], what, i);
}

/* Both kernels; operands lie in one way, results in another; mean and var of the gradient are any that have a root. */
static void norm(const norm_case *p, rp_dtype dtype, int way, int way_out)
{
    const size_t x[] = {p->n, p->h, p->w, p->c}, number_shape[] = {p->n, p->groups}, sums[] = {p->n, p->c};
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-3}, {.i = (int64_t)p->groups}};
    tensor g = make(dtype, 4, x, way_out, 1), a = make(dtype, 4, x, way, 2), y = make(dtype, 4, x, way_out, 3);
    tensor gamma = make(dtype, 1, &x[3], way == APART ? SHIFTED : DENSE, 4), beta = make(dtype, 1, &x[3], DENSE, 5);
    tensor mean = make(dtype, 2, number_shape, way, 6), var = make(dtype, 2, number_shape, way, 7);
    tensor q = make(dtype, 2, sums, way_out, 8), r = make(dtype, 2, sums, way, 9);
    tensor *const all[] = {&g, &a, &y, &gamma, &beta, &mean, &var, &q, &r};
    void (*order)(int);
    static int cases;
    char what[96];

    snprintf(what, sizeof what, "%zu of %zu x %zu x %zu in %zu groups, lying %d and %d", p->n, p->h, p->w, p->c,
             p->groups, way, way_out);
    same(RP_K_group_norm, (const tensor[]){a, gamma, beta, y, mean, var}, 3, attr, what);
    same(RP_K_group_norm_grad, (const tensor[]){g, a, gamma, mean, var, y, q, r}, 5, attr, what);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rp_device_release(device, all[i]->memory);
        free(all[i]->host);
    }
    find("rp_emulated_order", &order);
    order(cases / 3 % 3);
    kind = cases++ % 3;
}

static void group_norm_has_the_bits_of_the_reference(void **state)
{
    static const norm_case cases[] = {{2, 3, 5, 8, 2},     {1, 70, 61, 12, 3}, {3, 1, 1, 40, 8},  {9, 2, 3, 64, 8},
                                      {2, 9, 7, 6, 6},     {1, 4, 4, 96, 1},   {2, 1, 2, 140, 2}, {1, 40, 210, 5, 1},
                                      {1, 1, 3, 4100, 1},  {2, 2, 1, 8200, 2}, {0, 2, 2, 8, 2},   {4, 8, 8, 256, 8},
                                      {1, 130, 128, 8, 8}, {5, 3, 3, 7, 1},    {1, 1, 1, 70, 1}};
    static const char *const kernels[] = {"numbers_f32", "apply_f32", "grad_f32",
                                          "numbers_f64", "apply_f64", "grad_f64"};
    unsigned long (*calls)(const char *);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < WAYS; way++) {
            norm(&cases[i], RP_F32, way, way);
            norm(&cases[i], (i + (size_t)way) % 2 ? RP_F32 : RP_F64, way, (way + 1 + (int)i) % WAYS);
        }
    norm(&(norm_case){1, 1, 1, 135000, 1}, RP_F32, DENSE, DENSE); /* more chunks of channels than a warp has threads */
    find("rp_emulated_calls", &calls);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        char name[64];

        snprintf(name, sizeof name, "rp_gpu_group_%s", kernels[i]);
        if (calls(name) == 0)
            fail_msg("%s was not launched", name);
    }
    assert_int_equal(calls("rp_gpu_ref_group_norm") + calls("rp_gpu_ref_group_norm_grad"), 0);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(group_norm_has_the_bits_of_the_reference, open_device, close_device)};

    return cmocka_run_group_tests(tests, enter, NULL);
}
