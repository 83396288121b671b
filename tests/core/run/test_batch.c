/* SPDX-License-Identifier: Apache-2.0
 * A row's result does not depend on the rows beside it: a network of every kind of layer, on a batch and on the batch
 * split anywhere, at every level and several numbers of threads. (Eager, so the programs differ; the bits must not.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernel.h"
#include "rp/image.h"
#include "rp/rp.h"

enum { ROWS = 23, SIDE = 6, CHANNELS = 3, WIDTH = SIDE * SIDE * CHANNELS, CLASSES = 5, FILTERS = 8 };

static rp_tensor noise(rp_run *run, int64_t stream, int rank, const size_t *shape)
{
    const int64_t seed[2] = {11, 0};
    char name[24];
    rp_tensor rng;

    snprintf(name, sizeof name, "rng%d", (int)stream);
    rng = rp_feed(run, name, RP_I64, 1, (size_t[]){2}, seed);
    return rp_uniform(rng, stream, RP_F32, rank, shape, -0.5, 0.5);
}

/* Convolution, layer norm, functions, pools, matrix products (k over a chunk of 512 too), softmax. */
static rp_tensor network(rp_run *run, rp_tensor x, size_t rows)
{
    const size_t pooled = 3 * 3 * FILTERS;
    rp_tensor w0 = noise(run, 1, 4, (size_t[]){3, 3, CHANNELS, FILTERS}), b0 = noise(run, 2, 1, (size_t[]){FILTERS});
    rp_tensor w1 = noise(run, 3, 2, (size_t[]){pooled, 600}), b1 = noise(run, 4, 1, (size_t[]){600});
    rp_tensor w2 = noise(run, 5, 2, (size_t[]){600, CLASSES}), b2 = noise(run, 6, 1, (size_t[]){CLASSES});
    rp_placement place = {{1, 1}, {1, 1, 1, 1}, {1, 1}};
    rp_tensor y = rp_reshape(x, 4, (size_t[]){rows, SIDE, SIDE, CHANNELS});

    y = rp_gelu(rp_conv2d(y, w0, b0, 1, &place));
    y = rp_layer_norm(y, b0, b0, 1e-5);
    y = rp_max_pool2d(y, 2, 2, NULL);
    y = rp_reshape(y, 2, (size_t[]){rows, pooled});
    y = rp_tanh(rp_linear(y, w1, b1));
    return rp_softmax(rp_linear(y, w2, b2));
}

static void forward(const char *level, unsigned threads, const float *x, size_t rows, float *y)
{
    rp_run *run = NULL;
    rp_error err = {0};
    rp_tensor in;

    if (rp_run_new(&run, &(rp_run_options){.threads = threads, .level = level}, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_step_begin(run, &err), RP_OK);
    in = rp_feed(run, "x", RP_F32, 2, (size_t[]){rows, WIDTH}, x);
    if (rp_read(run, network(run, in, rows), y, rows * CLASSES * sizeof *y, &err) != RP_OK ||
        rp_step_end(run, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_run_free(run);
}

static void a_batch_split_anywhere_has_the_same_rows(void **state)
{
    static const unsigned threads[] = {1, 3};
    static float x[ROWS * WIDTH], whole[ROWS * CLASSES], parts[ROWS * CLASSES];
    const char *const *levels;
    size_t n_levels = rp_kernel_levels(&levels);

    (void)state;
    for (size_t i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)((int)(i * 2654435761u >> 16) % 2001 - 1000) / 512.0f;
    forward("ref", 1, x, ROWS, whole);
    for (size_t l = 0; l < n_levels; l++)
        for (size_t t = 0; t < 2; t++)
            for (size_t cut = 1; cut < ROWS; cut += l == 0 ? 7 : 1) {
                forward(levels[l], threads[t], x, cut, parts);
                forward(levels[l], threads[t], x + cut * WIDTH, ROWS - cut, parts + cut * CLASSES);
                if (memcmp(parts, whole, sizeof whole) != 0)
                    fail_msg("level %s, %u threads: split at row %zu the bits differ", levels[l], threads[t], cut);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_split_anywhere_has_the_same_rows),
    };

    return cmocka_run_group_tests_name("batches", tests, NULL, NULL);
}
