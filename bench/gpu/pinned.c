/* SPDX-License-Identifier: Apache-2.0
 * A small pinned run of the C API whose products are all of one kind, recorded: two layers' forward products, and the
 * gradient of the second by a turned operand; one shape is a batch. No recipe makes bfloat16 operands, so that this is
 * how scripts/gpu-report.sh has them; binary64 and the others are here too, for the same products of each.
 *
 *   build/release/bench/pinned DEVICE f32|f64|tf32|bf16 OUT.reprise
 *
 * Prints how many shapes the library multiplied, and the archive's id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/run/run.h"
#include "kernels/device.h"
#include "rp/rp.h"

enum { BATCH = 3, ROWS = 96, IN = 520, OUT = 80, STEPS = 6 };

static rp_error err;

static void need(rp_status status)
{
    if (status == RP_OK)
        return;
    fprintf(stderr, "pinned: %s\n", err.text);
    exit((int)status);
}

/* Numbers in -0.5 .. 0.5, of 16 bits. */
static void fill(float *x, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((int32_t)(((uint32_t)i + seed) * 2654435761u >> 8 & 0xFFFFu) - 0x8000) * 0x1p-16f;
}

/* x w of operands that the kind multiplies; the product as binary32 again. */
static rp_tensor product(rp_tensor x, rp_tensor w, rp_dtype of)
{
    const rp_tensor y = of == RP_F32 ? rp_matmul(x, w) : rp_matmul(rp_cast(x, of), rp_cast(w, of));

    return of == RP_F64 ? rp_cast(y, RP_F32) : y;
}

static void step(rp_run *run, const float *x_here, rp_dtype of)
{
    need(rp_step_begin(run, &err));
    const rp_tensor x = rp_feed(run, "x", RP_F32, 3, (size_t[]){BATCH, ROWS, IN}, x_here);
    const rp_tensor first = rp_state(run, "first"), second = rp_state(run, "second");
    const rp_tensor hidden = rp_relu(product(x, first, of));
    const rp_tensor flat = rp_reshape(hidden, 2, (size_t[]){BATCH * ROWS, OUT}), y = product(flat, second, of);
    const rp_tensor gradient = product(rp_transpose(flat, NULL), y, of); /* of sum(y y) / 2 by the second */

    rp_result(run, "loss", rp_mean(rp_mul(y, y), NULL, 0, false));
    rp_set_state(run, "second", rp_sub(second, rp_scale(gradient, 0x1p-18)));
    need(rp_step_end(run, &err));
}

int main(int argc, char **argv)
{
    static float x[BATCH * ROWS * IN + STEPS], first[IN * OUT], second[OUT * OUT];
    char id[RP_DIGEST_HEX];
    rp_recorder *recorder;
    rp_run *run;

    if (argc != 4) {
        fprintf(stderr, "usage: pinned DEVICE f32|f64|tf32|bf16 OUT.reprise\n");
        return 2;
    }
    const rp_dtype of = strcmp(argv[2], "f64") == 0 ? RP_F64 : strcmp(argv[2], "bf16") == 0 ? RP_BF16 : RP_F32;

    fill(x, sizeof x / sizeof *x, 1);
    fill(first, sizeof first / sizeof *first, 5000);
    fill(second, sizeof second / sizeof *second, 90000);
    need(rp_run_new(&run, &(rp_run_options){.threads = 1, .device = argv[1], .pinned = argv[2]}, &err));
    need(rp_run_add_state(run, "first", RP_F32, 2, (size_t[]){IN, OUT}, first, &err));
    need(rp_run_add_state(run, "second", RP_F32, 2, (size_t[]){OUT, OUT}, second, &err));
    need(rp_recorder_new(&recorder, run, &err));
    for (int s = 0; s < STEPS; s++)
        step(run, x + s, of);
    printf("%zu shapes by the library\n", rp_device_pinned(rp_run_device(run))->products);
    need(rp_recorder_save(recorder, argv[3], NULL, true, id, &err));
    printf("%s\n", id);
    rp_recorder_free(recorder);
    rp_run_free(run);
    return 0;
}
