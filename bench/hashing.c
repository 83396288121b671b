/* SPDX-License-Identifier: Apache-2.0
 * What a Merkle leaf's size costs: the root over as many bytes with leaves of 1 MiB, 16 KiB (FORMAT.md 3) and 4 KiB
 * (FORMAT.md 10), interleaved, by one thread. Times are the processor's, ratios those within a round, to 1 MiB.
 * Usage: hashing [MIB] [ROUNDS]: 96 and 31. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/digest/digest.h"

enum { MIB = 1 << 20, SIZES = 3, ROUNDS_MAX = 999 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double root(const unsigned char *bytes, size_t size, size_t leaf)
{
    const double start = now();
    rp_digest digest;

    if (rp_merkle_records(&digest, bytes, leaf, size / leaf, NULL) != RP_OK)
        exit(1);
    return now() - start;
}

int main(int argc, char **argv)
{
    static const size_t leaf[SIZES] = {MIB, 1 << 14, 1 << 12};
    static double ratio[SIZES][ROUNDS_MAX];
    const size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 96, rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 31;
    unsigned char *bytes = mib > 0 && mib < 4096 && rounds > 0 && rounds < ROUNDS_MAX ? malloc(mib * MIB) : NULL;
    double best = 1e30;

    if (bytes == NULL)
        return 2;
    for (size_t i = 0; i < mib * MIB; i++)
        bytes[i] = (unsigned char)(i * i >> 7);
    for (size_t r = 0; r < rounds; r++) {
        double seconds[SIZES];

        for (size_t k = 0; k < SIZES; k++)
            seconds[(r + k) % SIZES] = root(bytes, mib * MIB, leaf[(r + k) % SIZES]);
        for (size_t k = 0; k < SIZES; k++)
            ratio[k][r] = seconds[k] / seconds[0];
        best = seconds[0] < best ? seconds[0] : best;
    }
    printf("%zu MiB, leaves of 1 MiB: %.1f ms at best\n", mib, best * 1e3);
    for (size_t k = 1; k < SIZES; k++) {
        qsort(ratio[k], rounds, sizeof **ratio, by_value);
        printf("leaves of %zu KiB: %.4f of that (median; quartiles %.4f, %.4f)\n", leaf[k] >> 10, ratio[k][rounds / 2],
               ratio[k][rounds / 4], ratio[k][3 * rounds / 4]);
    }
    free(bytes);
    return 0;
}
