/* SPDX-License-Identifier: Apache-2.0
 * Kernels of a device on tensors of more than 2^31 and 2^32 elements, where an index of 32 bits would come round: each
 * family of launches, windows of the results held bit for bit against this CPU's kernels (windows.c), or the
 * whole where that is a number or a row. Part of scripts/gpu-report.sh. Wants 62 GiB of the device and 32 of the host.
 *
 *   build/release/bench/large DEVICE [reduced]
 *
 * Prints a line a case, fields apart by tabs: "large", work, seconds, bytes a second, "B/s", "-", "equal", "DIFFERENT",
 * "FAILED" or, of one that was skipped, "-". Exit 1 when anything differs or failed. reduced: the same at counts for
 * which the emulated device takes seconds. */
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "determinism/fpenv.h"
#include "kernels/limits.h"

enum { SECONDS = 60 }; /* after which no case begins */

large l;
size_t half, full, more, side;
float *a, *o, *positive, *third, *host;
uint16_t *narrow;
bool *truth;
int64_t *rng;

static bool take(void *memory, size_t bytes)
{
    return rp_device_allocate(l.device, (void **)memory, bytes, &l.err) == RP_OK;
}

static bool take_all(void)
{
    const int64_t state[2] = {(int64_t)0x9E3779B97F4A7C15, ((int64_t)1 << 33) + 5};
    const size_t all = side * side + 4 * more, some = half + 8 * more;

    return take(&a, all * 4) && take(&o, all * 4) && take(&positive, some * 4) && take(&third, some * 4) &&
           take(&narrow, all * 2) && take(&truth, all) && take(&rng, sizeof state) &&
           rp_device_upload(l.device, rng, state, sizeof state, NULL, &l.err) == RP_OK;
}

static bool open_all(const char *name, bool reduced)
{
    static rp_fpenv saved;
    const int bits = reduced ? 8 : 16;

    half = (size_t)1 << (2 * bits - 1), full = 2 * half;
    side = ((size_t)1 << bits) + 1, more = reduced ? 99 : 4099;
    l.half = half;
    l.ends = rp_seconds_now() + SECONDS;
    if (rp_fpenv_enter(&saved, NULL, &l.err) != RP_OK || rp_device_open(&l.device, name, NULL, 1, &l.err) != RP_OK ||
        rp_device_cpu_new(&l.cpu, NULL, reduced ? 2 : 16, &l.err) != RP_OK ||
        rp_kernel_table_get(&l.table, NULL, &l.err) != RP_OK)
        return false;
    fprintf(stderr, "large: %s, beside %s\n", rp_device_identity(l.device), rp_device_identity(l.cpu));
    return true;
}

int main(int argc, char **argv)
{
    const bool reduced = argc > 2 && strcmp(argv[2], "reduced") == 0;

    if (argc < 2 || (argc > 2 && !reduced)) {
        fprintf(stderr, "usage: large DEVICE [reduced]\n");
        return 2;
    }
    if (!open_all(argv[1], reduced)) {
        fprintf(stderr, "large: %s: %s\n", argv[1], l.err.text);
        return 2;
    }
    if (!take_all()) {
        printf("%s\n", l.err.text);
        return 77; /* skipped, as parts of scripts/gpu-report.sh are */
    }
    large_randoms();
    large_elementwise();
    large_adamw();
    large_chain();
    large_moves();
    large_takes();
    large_gathers();
    large_rows();
    large_products();
    large_convolutions();
    large_images();
    large_digests();
    large_copies();
    if (host != NULL)
        large_wholes();
    for (void **memory = (void *[]){a, o, positive, third, narrow, truth, rng, NULL}; *memory != NULL; memory++)
        rp_device_release(l.device, *memory);
    rp_device_free(l.device);
    rp_device_free(l.cpu);
    return l.different || l.lost;
}
