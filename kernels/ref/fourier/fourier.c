/* SPDX-License-Identifier: Apache-2.0
 * The Fourier transform of lines (CONTRACT 7.16). in: x, y [.., n]; out: u, v [.., n]. An item is a line.
 * FOURIER_OF_TWOS: only of lengths that are powers of two, without what others need on a stack. */
#include "kernels/ref/fourier/fourier.h"
#include "determinism/math.h"
#include "kernels/level.h"

#include "kernels/type_f32.h"
#include "kernels/ref/fourier/fourier_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/fourier/fourier_type.inc.h"
#include "kernels/type_end.h"

static void fft_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    rp_walk walk;

    fourier_walk(&walk, args, begin, end);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            const fourier_line line = fourier_line_at(&walk, i, args);

            if (args->in[0].dtype == RP_F32)
                fourier_f32(&line);
            else
                fourier_f64(&line);
        }
}

/* A few operations for each element in each stage, and in that of a prime as many as half of it. */
static size_t fft_cost(const rp_kernel_args *args)
{
    const size_t n = rp_view_last(&args->in[0]);
    rp_fourier_factors factors;
    size_t each = 1;

    (void)rp_fourier_factor(&factors, n);
    for (int i = 0; i < factors.count; i++)
        each += factors.radix[i] / 2u;
    return 20 + n * each;
}

RP_DEFINE_KERNEL(fft, rp_items_rows, fft_run, fft_cost);
