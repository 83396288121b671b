/* SPDX-License-Identifier: Apache-2.0
 * Tuned kernels on the emulated device at sizes that the conformance table does not have: every tile of the matrix
 * product and of convolution, with ragged sides, rests of k and chunks of their own; sums of several levels; long rows.
 * Bit for bit against the reference, memory beside the results too; and each kernel that is meant has been launched. */
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
#include "kernels/walk.h"
#include "tests/emu/emulated.h"
#include "tests/house/sanitized.h"

enum { SPARE = 16 /* elements behind a tensor that nobody may touch */, INPUTS = 3 };

static rp_error err;
static rp_device *device;
static int kind; /* of data, going round */

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

/* A function of the emulated driver's own; ISO C has no conversion from an object's pointer. */
static void find(const char *name, void *function)
{
    void *library = dlopen(getenv("RP_EMULATED_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);

    assert_non_null(library);
    *(void **)function = dlsym(library, name);
    assert_non_null(*(void **)function);
    (void)dlclose(library); /* it stays */
}

/* Kinds of data take turns, and so do orders: in the first asynchronous copies are as late as they may be. */
static void next_case(void)
{
    static int cases;
    void (*order)(int);

    find("rp_emulated_order", &order);
    order(cases / 3 % 3);
    kind = cases++ % 3;
}

/* That each of the kernels has been launched: that sizes reach the tile which they are meant for. */
static void tiles_ran(const char *prefix, const char *const *kernels, size_t n)
{
    unsigned long (*calls)(const char *);

    find("rp_emulated_calls", &calls);
    for (size_t i = 0; i < n; i++) {
        char name[64];

        snprintf(name, sizeof name, "%s%s", prefix, kernels[i]);
        if (calls(name) == 0)
            fail_msg("%s was not launched", name);
    }
}

/* Numbers of a kind: about 0.5 in size; some infinite, NaN or zero; products that underflow. */
static float number(uint64_t at)
{
    const uint32_t u = rp_random_u32(11, (uint64_t)kind, 5, at);

    if (kind == 1 && u % 997 < 5)
        return rp_from_bits_f32(((const uint32_t[]){0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x80000000u, 0})[u % 997]);
    if (kind == 2)
        return rp_from_bits_f32((u & 0x807FFFFFu) | (45u + (u >> 24) % 14) << 23);
    return rp_uniform_f32(u) - 0.5f;
}

typedef struct tensor {
    rp_view view;
    size_t elements; /* with the spare ones */
    char *host;
    void *there;
} tensor;

/* A tensor of a shape, row-major or, of rank 2 and 3, its last two axes turned; its rows `gap` further apart; `shift`
 * elements behind an aligned address. */
static tensor make(rp_dtype dtype, int rank, const size_t *shape, bool turned, size_t gap, size_t shift)
{
    tensor t = {.view = {.dtype = dtype, .rank = rank}};
    const size_t size = rp_dtype_size(dtype);
    ptrdiff_t next = 1;

    memcpy(t.view.shape, shape, (size_t)rank * sizeof *shape);
    for (int d = rank - 1; d >= 0; d--) {
        const int axis = turned && d >= rank - 2 ? 2 * rank - 3 - d : d;

        t.view.stride[axis] = next;
        next *= (ptrdiff_t)(shape[axis] + (d == rank - 1 ? gap : 0));
    }
    t.elements = (size_t)next + shift + SPARE;
    t.host = malloc(t.elements * size);
    assert_non_null(t.host);
    for (size_t i = 0; i < t.elements; i++) {
        const float x = number(i + (uint64_t)rank * 1000000);
        const double wide = (double)x * (kind == 2 ? 0x1p-480 : 1);
        const uint16_t half = rp_bf16_of_f32(x);

        memcpy(t.host + i * size,
               dtype == RP_F32   ? (const void *)&x
               : dtype == RP_F64 ? (const void *)&wide
                                 : &half,
               size);
    }
    OK(rp_device_allocate(device, &t.there, t.elements * size, &err));
    OK(rp_device_upload(device, t.there, t.host, t.elements * size, NULL, &err));
    t.view.data = t.host + shift * size;
    return t;
}

static rp_view away(const tensor *t)
{
    rp_view view = t->view;

    view.data = (char *)t->there + ((char *)t->view.data - t->host);
    return view;
}

static void drop(tensor *t)
{
    rp_device_release(device, t->there);
    free(t->host);
}

/* Runs the kernel here and there; out has the same bytes, but for which NaN. Here by the reference for one kind of data
 * of three, else by the processor's best level, whose bits are the reference's: the reference takes as long as all the
 * rest. Sanitizers, which look at memory, have no part by it. */
static void same(rp_kernel_id kernel, tensor *in, size_t n_in, tensor *out, const rp_attr *attr, const char *what)
{
    const size_t size = rp_dtype_size(out->view.dtype), bytes = out->elements * size;
    const rp_view to = away(out);
    rp_view here[INPUTS], there[INPUTS];
    const rp_kernel_args args = {here, n_in, &out->view, 1, attr}, far = {there, n_in, &to, 1, attr};
    const rp_kernel_table *ref;
    char *found = malloc(bytes);

    assert_non_null(found);
    for (size_t n = 0; n < n_in; n++)
        here[n] = in[n].view, there[n] = away(&in[n]);
    OK(rp_kernel_table_get(&ref, SANITIZED || kind ? NULL : "ref", &err));
    ref->kernel[kernel]->run(&args, 0, ref->kernel[kernel]->items(&args));
    OK(rp_device_launch(device, kernel, &far, NULL, &err));
    OK(rp_device_read(device, found, out->there, bytes, NULL, &err));
    for (size_t i = 0; i < out->elements; i++) {
        const char *a = out->host + i * size, *b = found + i * size;
        double x, y;

        if (memcmp(a, b, size) == 0)
            continue;
        if (out->view.dtype == RP_F32)
            x = (double)*(const float *)(const void *)a, y = (double)*(const float *)(const void *)b;
        else
            x = *(const double *)(const void *)a, y = *(const double *)(const void *)b;
        if (x == x || y == y)
            fail_msg("%s, data %d: element %zu of %zu: expected %a, found %a", what, kind, i, out->elements, x, y);
    }
    free(found);
}

static void product(rp_dtype a, rp_dtype b, size_t batch, size_t m, size_t n, size_t k, int a_way, int b_way)
{
    const rp_dtype result = a == RP_F64 ? RP_F64 : RP_F32;
    tensor in[2] = {make(a, 3, (const size_t[]){batch, m, k}, a_way % 2 == 1, a_way / 2 % 2, a_way / 4),
                    make(b, 3, (const size_t[]){batch, k, n}, b_way % 2 == 1, b_way / 2 % 2, b_way / 4)};
    tensor out = make(result, 3, (const size_t[]){batch, m, n}, b_way == 3, a_way == 2, 0);
    char what[96];

    snprintf(what, sizeof what, "matmul of types %d and %d, %zu of %zu x %zu x %zu, operands lie %d, %d", (int)a,
             (int)b, batch, m, n, k, a_way, b_way);
    same(RP_K_matmul, in, 2, &out, NULL, what);
    drop(&in[0]), drop(&in[1]), drop(&out);
    next_case();
}

static void matmul(rp_dtype dtype, size_t batch, size_t m, size_t n, size_t k, int a_way, int b_way)
{
    product(dtype, dtype, batch, m, n, k, a_way, b_way);
}

/* The device has four multiprocessors: so many tiles make a size large. */
static void matrix_products_have_the_bits_of_the_reference_in_every_tile(void **state)
{
    static const char *const kernels[] = {"f32_large_kk",  "f32_large_kw",  "f32_large_wk",  "f32_large_ww",
                                          "f32_middle_kk", "f32_middle_kw", "f32_middle_wk", "f32_middle_ww",
                                          "f32_small_ss",  "f32_small_sw",  "f32_thin_ss",   "f32_thin_sw",
                                          "bf16_small_ss", "bf16_thin_ss",  "f64_middle_ss", "f64_middle_sw",
                                          "pack_f32",      "pack_bf16",     "join_f32",      "join_f64"};
    static const size_t sizes[][4] = {{1, 132, 1024, 77}, {4, 128, 256, 513}, {1, 260, 520, 64}, {2, 130, 128, 530},
                                      {4, 252, 124, 96},  {1, 65, 70, 40},    {3, 33, 65, 17},   {1, 7, 300, 1025},
                                      {1, 300, 3, 1540},  {2, 40, 36, 1030},  {1, 1, 1, 513},    {1, 20, 24, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int way = 0; way < 6; way++) {
            const size_t *s = sizes[i];

            if (SANITIZED && i != 4 && way % 3 != (int)i % 3) /* an operand turned and one not; where they are laid */
                continue;                                     /* out anew, which depends on both, all */
            matmul(RP_F32, s[0], s[1], s[2], s[3], way, (way * 5 + (int)i) % 6);
            if (way % 3 == (int)i % 3) {
                matmul(RP_F64, s[0], s[1] / 2 + 1, s[2] / 2 + 1, s[3], way, (way + 1) % 6);
                matmul(RP_BF16, s[0], s[1], s[2], s[3], way, (way + 3) % 6);
                product(way % 2 ? RP_BF16 : RP_F32, way % 2 ? RP_F32 : RP_BF16, s[0], s[1], s[2], s[3], (way + 2) % 6,
                        way);
            }
        }
    matmul(RP_F64, 1, 70, 128, 40, 0, 0); /* wide */
    matmul(RP_F32, 1, 64, 64, 600, 0, 0);
    matmul(RP_F32, 1, 128, 1024, 64, 1, 1);
    matmul(RP_F32, 1, 128, 1024, 64, 1, 0);
    matmul(RP_F32, 1, 128, 1024, 64, 0, 0);
    matmul(RP_F32, 1, 1024, 128, 64, 1, 1);
    matmul(RP_F32, 1, 1024, 128, 64, 1, 0);
    matmul(RP_F32, 1, 1024, 128, 64, 0, 0);
    matmul(RP_F32, 1, 128, 256, 2060, 1, 0); /* chunks of the large tile apart, of the middle one */
    matmul(RP_F32, 1, 128, 128, 2060, 1, 0);
    matmul(RP_F32, 1, 8, 128, 64, 0, 0);
    matmul(RP_F32, 1, 132, 1024, 511, 2, 3); /* lines that begin at 16 bytes and do not end there */
    matmul(RP_F32, 1, 1028, 132, 519, 2, 3);
    matmul(RP_F32, 1, 260, 70, 71, 2, 3);
    tiles_ran("rp_gpu_matmul_", kernels, sizeof kernels / sizeof *kernels);
}

typedef struct conv_case {
    size_t n, h, w, c, k, r, s;
    int64_t stride_h, stride_w, padding, dilation, groups;
} conv_case;

static size_t outputs(size_t in, size_t taps, int64_t stride, const conv_case *p)
{
    return (size_t)(((int64_t)in + 2 * p->padding - p->dilation * (int64_t)(taps - 1) - 1) / stride) + 1;
}

static void convolve(rp_kernel_id kernel, const conv_case *p)
{
    const size_t x[] = {p->n, p->h, p->w, p->c}, weight[] = {p->r, p->s, p->c / (size_t)p->groups, p->k};
    const size_t y[] = {p->n, outputs(p->h, p->r, p->stride_h, p), outputs(p->w, p->s, p->stride_w, p), p->k};
    const size_t *const shapes[3][3] = {{x, weight, y}, {y, weight, x}, {x, y, weight}};
    const int which = kernel == RP_K_conv2d || kernel == RP_K_conv2d_winograd ? 0
                      : kernel == RP_K_conv2d_grad_input                      ? 1
                                                                              : 2;
    rp_attr attr[RP_MAX_ATTR] = {{.n = 2, .list = {p->stride_h, p->stride_w}},
                                 {.n = 4, .list = {p->padding, p->padding, p->padding, p->padding}},
                                 {.n = 2, .list = {p->dilation, p->dilation}},
                                 {.i = p->groups}};
    tensor in[2] = {make(RP_F32, 4, shapes[which][0], false, 0, 0), make(RP_F32, 4, shapes[which][1], false, 0, 0)};
    tensor out = make(RP_F32, 4, shapes[which][2], false, 0, 0);
    char what[128];

    snprintf(what, sizeof what, "convolution %d of %zu x %zu x %zu x %zu by %zu x %zu to %zu", which, p->n, p->h, p->w,
             p->c, p->r, p->s, p->k);
    same(kernel, in, 2, &out, attr, what);
    drop(&in[0]), drop(&in[1]), drop(&out);
    next_case();
}

static void convolutions_have_the_bits_of_the_reference_in_every_tile(void **state)
{
    static const char *const kernels[] = {"tile_128_s",  "tile_128_w",  "tile_64_s",    "tile_64_w",
                                          "tile_64_e",   "tile_64_k",   "weight_128_s", "weight_128_w",
                                          "weight_64_s", "weight_64_w", "weight_128_e", "weight_64_e"};
    static const conv_case cases[] = {
        {2, 9, 11, 20, 20, 3, 3, 1, 1, 1, 1, 1},   {1, 10, 9, 72, 64, 3, 3, 1, 1, 1, 1, 1},
        {2, 8, 8, 68, 130, 3, 3, 2, 2, 1, 1, 1},   {1, 15, 13, 18, 24, 7, 7, 2, 2, 3, 1, 1},
        {1, 6, 20, 40, 18, 1, 3, 1, 1, 1, 2, 1},   {3, 7, 7, 20, 24, 1, 1, 1, 1, 0, 1, 1},
        {2, 6, 7, 34, 38, 2, 2, 1, 1, 0, 1, 2},    {1, 9, 9, 20, 68, 3, 3, 1, 1, 0, 1, 1},
        {1, 4, 5, 600, 20, 3, 3, 1, 1, 1, 1, 1},   {2, 17, 17, 18, 132, 3, 2, 1, 2, 2, 1, 1},
        {1, 6, 6, 130, 70, 3, 3, 1, 1, 1, 1, 1},   {35, 4, 5, 20, 24, 3, 3, 1, 1, 1, 1, 1},
        {1, 6, 6, 600, 68, 3, 3, 1, 1, 1, 1, 1},   {1, 10, 10, 24, 560, 2, 2, 3, 3, 0, 1, 1},
        {2, 4, 4, 640, 40, 3, 3, 1, 1, 1, 1, 2},   {1, 30, 34, 126, 18, 1, 3, 1, 1, 1, 1, 1},
        {1, 28, 34, 18, 128, 1, 3, 1, 1, 1, 1, 1}, {2, 13, 14, 32, 36, 3, 3, 1, 1, 1, 1, 1},
        {1, 25, 30, 64, 72, 3, 3, 2, 2, 1, 1, 1},  {3, 9, 7, 28, 40, 5, 3, 1, 1, 4, 1, 1},
        {1, 3, 40, 32, 20, 5, 3, 9, 1, 1, 1, 1},   {1, 6, 8, 128, 128, 2, 4, 1, 1, 1, 1, 1},
        {1, 6, 8, 126, 128, 2, 4, 1, 1, 1, 1, 1},  {4, 20, 20, 64, 64, 3, 3, 1, 1, 1, 1, 1},
        {1, 9, 7, 18, 32, 3, 3, 1, 1, 1, 1, 1},    {2, 9, 9, 96, 52, 3, 3, 2, 2, 1, 1, 2},
        {3, 14, 14, 64, 132, 3, 3, 1, 1, 1, 1, 1}, {1, 30, 35, 128, 24, 3, 3, 1, 1, 2, 2, 2},
        {1, 5, 4, 64, 20, 5, 9, 1, 1, 4, 1, 1},    {1, 1, 520, 160, 68, 1, 1, 1, 1, 0, 1, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        convolve(RP_K_conv2d, &cases[i]);
        convolve(RP_K_conv2d_grad_input, &cases[i]);
        convolve(RP_K_conv2d_grad_weight, &cases[i]);
    }
    convolve(RP_K_conv2d_winograd, &(conv_case){2, 9, 11, 5, 20, 3, 3, 1, 1, 1, 1, 1});
    tiles_ran("rp_gpu_conv_", kernels, sizeof kernels / sizeof *kernels);
}

/* Sums of nothing are zero, and the transform of the channels, which divides by their number, is not launched. */
static void minimal_filtering_of_no_channels_gives_zeros(void **state)
{
    const rp_attr attr[RP_MAX_ATTR] = {
        {.n = 2, .list = {1, 1}}, {.n = 4, .list = {1, 1, 1, 1}}, {.n = 2, .list = {1, 1}}, {.i = 1}};
    tensor x = make(RP_F32, 4, (const size_t[]){2, 9, 11, 0}, false, 0, 0);
    tensor weight = make(RP_F32, 4, (const size_t[]){3, 3, 0, 20}, false, 0, 0);
    tensor y = make(RP_F32, 4, (const size_t[]){2, 9, 11, 20}, false, 0, 0);
    const rp_view in[2] = {away(&x), away(&weight)}, out = away(&y);
    unsigned long (*calls)(const char *), before;
    float *found = malloc(y.elements * sizeof *found);

    (void)state;
    assert_non_null(found);
    find("rp_emulated_calls", &calls);
    before = calls("rp_gpu_winograd_input_f32");
    OK(rp_device_launch(device, RP_K_conv2d_winograd, &(rp_kernel_args){in, 2, &out, 1, attr}, NULL, &err));
    OK(rp_device_read(device, found, y.there, y.elements * sizeof *found, NULL, &err));
    assert_int_equal(calls("rp_gpu_winograd_input_f32"), before);
    for (size_t i = 0; i < y.elements - SPARE; i++)
        assert_true(found[i] == 0);
    free(found);
    drop(&x), drop(&weight), drop(&y);
}

static void reduce(rp_kernel_id kernel, rp_dtype dtype, size_t rows, size_t cols, int axis)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = axis, .n = 1, .list = {axis}}};
    tensor in[2] = {make(dtype, 2, (const size_t[]){rows, cols}, false, 0, 0)};
    tensor out = make(kernel == RP_K_argmax ? RP_F64 : dtype, 2,
                      (const size_t[]){axis == 0 ? 1 : rows, axis == 1 ? 1 : cols}, false, 0, 0);
    char what[64];

    in[1] = in[0];
    out.view.dtype = kernel == RP_K_argmax ? RP_I64 : dtype;
    snprintf(what, sizeof what, "%s of %zu x %zu over %d", rp_kernel_name(kernel), rows, cols, axis);
    same(kernel, in, 2, &out, attr, what);
    drop(&in[0]), drop(&out);
    next_case();
}

/* Rows of two axes that do not lie behind one another: no one distance lies between elements of a sum. */
static void reduce_apart(rp_kernel_id kernel, size_t n, size_t rows, size_t cols)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.n = 2, .list = {0, 1}}};
    tensor in[2] = {make(RP_F32, 3, (const size_t[]){n, rows + 1, cols}, false, 0, 0)};
    tensor out = make(RP_F32, 3, (const size_t[]){1, 1, cols}, false, 0, 0);
    char what[64];

    in[0].view.shape[1] = rows;
    in[1] = in[0];
    snprintf(what, sizeof what, "%s of %zu times %zu x %zu", rp_kernel_name(kernel), n, rows, cols);
    same(kernel, in, 2, &out, attr, what);
    drop(&in[0]), drop(&out);
    next_case();
}

/* Each way of sharing columns: one thread each, 16 or 64; with rests of rows and columns. */
static void sums_across_have_the_bits_of_the_reference(void **state)
{
    static const size_t rows[] = {4, 8, 15, 65, 1000, 5000};
    static const char *const kernels[] = {"across_sum_f32",    "across_prod_f32", "across_min_f32",
                                          "across_square_f32", "across_exp_f32",  "across_sum_f64"};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t few = 5 + i, many = 4099 / rows[i] + 259;

        reduce(RP_K_sum, RP_F32, rows[i], few, 0);
        reduce(RP_K_sum, RP_F32, rows[i], many, 0);
        reduce(RP_K_sum, RP_F32, rows[i], 4 * few, 0);
        reduce(RP_K_mean, RP_F64, rows[i], many, 0);
        reduce(RP_K_prod, RP_F32, rows[i], few, 0);
        reduce(RP_K_min, RP_F32, rows[i], many, 0);
        reduce(RP_K_var, RP_F32, rows[i], many, 0);
        reduce(RP_K_logsumexp, RP_F32, rows[i], few, 0);
        reduce_apart(RP_K_sum, 3, rows[i], few);
        reduce_apart(RP_K_var, rows[i], 7, few);
    }
    tiles_ran("rp_gpu_", kernels, sizeof kernels / sizeof *kernels);
}

static void sums_of_several_levels_have_the_bits_of_the_reference(void **state)
{
    static const char *const kernels[] = {"along_sum_f32",    "across_sum_f32", "along_max_f32",    "across_argmax_f32",
                                          "along_argmax_f32", "along_exp_f32",  "across_square_f64"};

    (void)state;
    for (int i = 0; i < (SANITIZED ? 1 : 3); i++) {
        reduce(RP_K_sum, RP_F32, 1, 70001, 1);
        reduce(RP_K_sum, RP_F64, 5, 1000, 1);
        reduce(RP_K_sum, RP_F32, 8200, 33, 0);
        reduce(RP_K_mean, RP_F64, 3, 12289, 1);
        reduce(RP_K_max, RP_F32, 2, 4097, 1);
        reduce(RP_K_argmax, RP_F32, 2, 9001, 1);
        reduce(RP_K_argmax, RP_F32, 4100, 300, 0);
        reduce(RP_K_var, RP_F64, 4103, 40, 0);
        reduce(RP_K_logsumexp, RP_F32, 1, 8193, 1);
        next_case(); /* each has another kind of data the next time */
    }
    tiles_ran("rp_gpu_", kernels, sizeof kernels / sizeof *kernels);
}

/* n rows, or with last = 1 columns, of `items` elements to places of an axis; most go to few of them. */
static void scatter(rp_dtype dtype, size_t size, size_t n, size_t items, int last, bool turned)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.i = last}, {.i = (int64_t)size}};
    tensor in[2] = {make(dtype, 2, (const size_t[]){last ? items : n, last ? n : items}, turned, 0, 1),
                    make(RP_F32, 1, (const size_t[]){n}, false, 0, 0)};
    tensor out = make(dtype, 2, (const size_t[]){last ? items : size, last ? size : items}, false, 0, 1);
    int32_t *index = (int32_t *)(void *)in[1].host;
    char what[96];

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = rp_random_u32(12, (uint64_t)kind, 5, i);

        index[i] = (int32_t)(u % 3 == 0 ? u / 3 % size : u / 3 % 2 * (size - 1));
    }
    in[1].view.dtype = RP_I32;
    OK(rp_device_upload(device, in[1].there, index, n * sizeof *index, NULL, &err));
    snprintf(what, sizeof what, "scatter_add of %zu times %zu to %zu places of axis %d", n, items, size, last);
    same(RP_K_scatter_add, in, 2, &out, attr, what);
    drop(&in[0]), drop(&in[1]), drop(&out);
    next_case();
}

/* Ranges of one place, of several and of 32, with a rest; several tiles of the index; either axis. */
static void scattered_sums_have_the_order_of_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        scatter(RP_F32, 3, 2500, 140, 0, false);
        scatter(RP_F32, 5, 1025, 1, 0, false);
        scatter(RP_F32, 1000, 700, 131, 0, i == 1);
        scatter(RP_F64, 70, 1030, 300, 0, false);
        scatter(RP_F32, 45, 33, 1300, 1, i == 1);
        scatter(RP_F64, 17, 64, 700, 1, false);
    }
}

static void copy(rp_dtype dtype, size_t n, size_t rows, size_t cols, int ways)
{
    const size_t shape[] = {n, rows, cols};
    tensor in[2] = {make(dtype, 3, shape, ways & 1, ways >> 2 & 3, ways >> 4 & 1)};
    tensor out = make(dtype, 3, shape, ways >> 1 & 1, ways >> 5 & 3, 0);
    char what[64];

    in[1] = in[0];
    snprintf(what, sizeof what, "copy of %zu times %zu x %zu, way %d", n, rows, cols, ways);
    same(RP_K_copy, in, 2, &out, NULL, what);
    drop(&in[0]), drop(&out);
    next_case();
}

/* In elements of 16, 8 and 4 bytes, in tiles from either side with rests, with gaps and at addresses of every kind.
 * Sanitizers see each way once, the types taking turns. */
static void copies_have_all_bytes(void **state)
{
    static const rp_dtype types[] = {RP_F32, RP_F64, RP_BF16};
    static const char *const kernels[] = {"copy_16_bytes", "copy_i64",     "copy_i32",    "copy_f32",
                                          "transpose_16",  "transpose_32", "transpose_64"};

    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int ways = 0; ways < 128; ways++) {
            if (SANITIZED && (size_t)ways % 3 != t)
                continue;
            copy(types[t], 2, 17 + (size_t)ways % 5 * 24, 64 + (size_t)ways % 3 * 8 + (ways > 90), ways);
            if (ways % 4 == 1 || ways % 4 == 2)
                copy(types[t], 1, 130, 16 + (size_t)ways, ways);
        }
    tiles_ran("rp_gpu_", kernels, sizeof kernels / sizeof *kernels);
}

static void put_labels(tensor *t, size_t classes)
{
    int32_t *label = (int32_t *)(void *)t->view.data;

    t->view.dtype = RP_I32;
    for (size_t i = 0; i < t->view.shape[0]; i++)
        label[i] = (int32_t)((i + 1) * 1000 % classes);
    OK(rp_device_upload(device, t->there, t->host, t->elements * sizeof *label, NULL, &err));
}

/* Operands of a kernel of rows: r, a row; v, one row for all; s, one element a row; k, a label a row. The first lies
 * across, or behind an address that is not aligned. */
static void row_kernel(rp_kernel_id kernel, rp_dtype dtype, size_t rows, size_t cols, const char *operands, bool across)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 1e-3}};
    const size_t n_in = strlen(operands) - 1, shape[2] = {rows, cols};
    tensor in[INPUTS], out = make(dtype, operands[0] == 'r' ? 2 : 1, shape, false, 2, 0);
    char what[64];

    for (size_t n = 0; n < n_in; n++) {
        const char lies = operands[n + 1];

        in[n] = lies == 'r'   ? make(dtype, 2, shape, n == 0 && across, 1, n == 0 ? 1 : 0)
                : lies == 'v' ? make(dtype, 1, shape + 1, false, 0, 0)
                              : make(lies == 'k' ? RP_F32 : dtype, 1, shape, false, 0, 0);
        if (lies == 'k')
            put_labels(&in[n], cols);
    }
    snprintf(what, sizeof what, "%s of %zu x %zu", rp_kernel_name(kernel), rows, cols);
    same(kernel, in, n_in, &out, attr, what);
    for (size_t n = 0; n < n_in; n++)
        drop(&in[n]);
    drop(&out);
    next_case();
}

/* Rows of a part of a batch, of whole batches, of a cache for one warp, of several chunks and pieces. */
static void rows_have_the_bits_of_the_reference(void **state)
{
    static const size_t lengths[] = {1, 31, 256, 1000, 2049, 4096, 4097, 9473};
    static const struct {
        rp_kernel_id kernel;
        const char *operands;
    } kernels[] = {{RP_K_softmax, "rr"},           {RP_K_log_softmax, "rr"},          {RP_K_softmax_grad, "rrr"},
                   {RP_K_cross_entropy, "srk"},    {RP_K_cross_entropy_grad, "rsrk"}, {RP_K_layer_norm, "rrvv"},
                   {RP_K_log_softmax_grad, "rrr"}, {RP_K_layer_norm_grad, "rrrv"},    {RP_K_rms_norm, "rrv"}};

    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            row_kernel(kernels[k].kernel, (i + k) % 3 == 1 ? RP_F64 : RP_F32, lengths[i] < 4096 ? 9 : 2, lengths[i],
                       kernels[k].operands, i % 2);
    row_kernel(RP_K_softmax_grad, RP_F32, 2, 20001, "rrr", false);
    row_kernel(RP_K_log_softmax_grad, RP_F32, 1, 12288, "rrr", false);
}

static void order(rp_kernel_id kernel, rp_dtype dtype, size_t n, size_t k, bool first)
{
    const size_t size = rp_dtype_size(dtype), count = 2 * k;
    tensor x = make(dtype, 2, (const size_t[]){2, n}, true, 0, 1),
           y = make(dtype, 2, (const size_t[]){2, k}, false, 0, 0);
    int64_t *place = malloc(count * sizeof *place), *found = malloc(count * sizeof *found);
    const rp_view here = x.view, there = away(&x);
    rp_view out[2] = {y.view, {place, RP_I64, 2, {2, k}, {(ptrdiff_t)k, 1}}}, far[2] = {away(&y), out[1]};
    const rp_attr attr[RP_MAX_ATTR] = {{.i = kernel == RP_K_sort ? first : (int64_t)k}, {.i = first}};
    const rp_kernel_args args = {&here, 1, out, 2, attr}, on_device = {&there, 1, far, 2, attr};
    unsigned char a[8], b[8], *values = malloc(count * size);
    const rp_kernel_table *ref;
    void *memory;

    assert_true(place && found && values);
    OK(rp_device_allocate(device, &memory, count * sizeof *place, &err));
    far[1].data = memory;
    OK(rp_kernel_table_get(&ref, "ref", &err));
    ref->kernel[kernel]->run(&args, 0, ref->kernel[kernel]->items(&args));
    OK(rp_device_launch(device, kernel, &on_device, NULL, &err));
    OK(rp_device_read(device, found, memory, count * sizeof *place, NULL, &err));
    OK(rp_device_read(device, values, far[0].data, count * size, NULL, &err));
    for (size_t i = 0; i < count; i++) {
        rp_to_stored(a, (const char *)out[0].data + i * size, dtype, 1);
        rp_to_stored(b, values + i * size, dtype, 1);
        if (place[i] != found[i] || memcmp(a, b, size) != 0)
            fail_msg("%s of 2 x %zu, data %d: element %zu has place %lld, expected %lld", rp_kernel_name(kernel), n,
                     kind, i, (long long)found[i], (long long)place[i]);
    }
    rp_device_release(device, memory);
    free(place), free(found), free(values);
    drop(&x), drop(&y);
    next_case();
}

static void lines_in_order_have_the_places_of_the_reference(void **state)
{
    static const char *const kernels[] = {"near_f32", "far_f32", "near_f64", "far_f64"};

    (void)state;
    order(RP_K_sort, RP_F32, 1024, 1024, false);
    order(RP_K_sort, RP_F32, 5000, 5000, true);
    order(RP_K_sort, RP_F64, 2049, 2049, false);
    order(RP_K_topk, RP_F32, 4097, 33, true);
    order(RP_K_topk, RP_F64, 3000, 2999, false);
    tiles_ran("rp_gpu_sort_", kernels, sizeof kernels / sizeof *kernels);
}

/* Two lines, and their transforms beside the reference's. */
static void transform(rp_dtype dtype, size_t n, bool inverse, bool transposed)
{
    const size_t size = rp_dtype_size(dtype), count = 2 * n, shape[2] = {2, n};
    tensor x = make(dtype, 2, shape, true, 0, 1), y = make(dtype, 2, shape, false, 0, 2);
    tensor u = make(dtype, 2, shape, false, 0, 0), v = make(dtype, 2, shape, false, 0, 0);
    const rp_view here[2] = {x.view, y.view}, there[2] = {away(&x), away(&y)};
    const rp_view out[2] = {u.view, v.view}, far[2] = {away(&u), away(&v)};
    const rp_attr attr[RP_MAX_ATTR] = {{.i = inverse}, {.i = transposed}};
    const rp_kernel_args args = {here, 2, out, 2, attr}, on_device = {there, 2, far, 2, attr};
    unsigned char a[8], b[8], *values = malloc(count * size);
    const rp_kernel_table *ref;

    assert_non_null(values);
    OK(rp_kernel_table_get(&ref, "ref", &err));
    ref->kernel[RP_K_fft]->run(&args, 0, 2);
    OK(rp_device_launch(device, RP_K_fft, &on_device, NULL, &err));
    for (int k = 0; k < 2; k++) {
        OK(rp_device_read(device, values, far[k].data, count * size, NULL, &err));
        for (size_t i = 0; i < count; i++) {
            rp_to_stored(a, (const char *)out[k].data + i * size, dtype, 1);
            rp_to_stored(b, values + i * size, dtype, 1);
            if (memcmp(a, b, size) != 0)
                fail_msg("fft of 2 x %zu, data %d, inverse %d, transposed %d: element %zu of output %d differs", n,
                         kind, inverse, transposed, i, k);
        }
    }
    free(values);
    drop(&x), drop(&y), drop(&u), drop(&v);
    next_case();
}

static void fourier_transforms_have_the_bits_of_the_reference(void **state)
{
    static const char *const kernels[] = {"turns_f32", "places_f32", "near_f32", "far_f32", "stage_f32", "ends_f32",
                                          "turns_f64", "places_f64", "near_f64", "far_f64", "stage_f64", "ends_f64"};

    (void)state;
    for (int option = 0; option < 4; option++) {
        transform(RP_F32, 64, option % 2, option / 2);
        transform(RP_F32, 1024, option % 2, option / 2);
        transform(RP_F32, 4096, option % 2, option / 2);
        transform(RP_F64, 2048, option % 2, option / 2);
        transform(RP_F32, 210, option % 2, option / 2);
        transform(RP_F64, 54, option % 2, option / 2);
        transform(RP_F64, 2 * 11, option % 2, option / 2);
    }
    tiles_ran("rp_gpu_fourier_", kernels, sizeof kernels / sizeof *kernels);
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
    const struct CMUnitTest tests[] = {TEST(matrix_products_have_the_bits_of_the_reference_in_every_tile),
                                       TEST(convolutions_have_the_bits_of_the_reference_in_every_tile),
                                       TEST(minimal_filtering_of_no_channels_gives_zeros),
                                       TEST(sums_of_several_levels_have_the_bits_of_the_reference),
                                       TEST(rows_have_the_bits_of_the_reference),
                                       TEST(sums_across_have_the_bits_of_the_reference),
                                       TEST(scattered_sums_have_the_order_of_the_reference),
                                       TEST(copies_have_all_bytes),
                                       TEST(lines_in_order_have_the_places_of_the_reference),
                                       TEST(fourier_transforms_have_the_bits_of_the_reference)};

    return cmocka_run_group_tests(tests, enter, NULL);
}
