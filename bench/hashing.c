/* SPDX-License-Identifier: Apache-2.0
 * What a Merkle leaf's size costs: the root over as many bytes with leaves of 1 MiB, 16 KiB (FORMAT.md 3) and 4 KiB
 * (FORMAT.md 10), interleaved, by one thread. Times are the processor's, ratios those within a round, to 1 MiB.
 * With a device's name also how long it takes over the leaves of as many bytes in its own memory, and how long they
 * take when they are copied and hashed here; their roots are compared, and others are exit 1. Usage: hashing [MIB]
 * [ROUNDS] [DEVICE]: 96 and 31. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/digest/digest.h"
#include "audit/record/staging.h"

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

static double elapsed(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The least time of a hash of the tensor through the staging: there, or with `here`, by copies. */
static double digest_of(rp_digest *out, const rp_tensor_bytes *tensor, rp_staging *staging, bool here, size_t rounds)
{
    rp_fetch fetch = *rp_staging_fetch(staging);
    double best = 1e30;

    if (here)
        fetch.hash = NULL;
    for (size_t r = 0; r < rounds; r++) {
        const double start = elapsed();
        rp_tensors_work *work;

        if (rp_tensors_prepare(&work, tensor, 1, NULL) != RP_OK || rp_staging_begin(staging, NULL) != RP_OK)
            exit(1);
        rp_tensors_set_fetch(work, &fetch);
        if (!rp_tensors_hash(work, NULL) || rp_tensors_finish(out, work, NULL) != RP_OK)
            exit(1);
        rp_tensors_free(work);
        best = elapsed() - start < best ? elapsed() - start : best;
    }
    return best;
}

/* Whether the device's digests are the host's; from few leaves, where it is slower, to all. */
static bool on_device(const char *name, const unsigned char *bytes, size_t most, size_t rounds)
{
    rp_error err = {0};
    rp_device *device = NULL;
    rp_staging *staging = NULL;
    void *there = NULL;
    bool same = true;

    if (rp_device_open(&device, name, NULL, 1, &err) != RP_OK ||
        rp_device_allocate(device, &there, most, &err) != RP_OK ||
        rp_device_upload(device, there, bytes, most, NULL, &err) != RP_OK ||
        rp_staging_new(&staging, device, &err) != RP_OK || staging == NULL) {
        fprintf(stderr, "hashing: device %s: %s\n", name, *err.text ? err.text : "the host reads its memory");
        exit(1);
    }
    for (size_t size = MIB; size <= most && same; size = size < most && 4 * size > most ? most : 4 * size) {
        const rp_tensor_bytes far = {RP_I32, 1, &(size_t){size / 4}, there, true},
                              near = {RP_I32, 1, far.shape, bytes, true};
        rp_digest digest[3];
        const double asked = digest_of(&digest[0], &far, staging, false, rounds),
                     copied = digest_of(&digest[1], &far, staging, true, rounds);

        same = rp_tensors_digest(&digest[2], &near, 1, NULL, NULL) == RP_OK &&
               rp_digest_equal(&digest[0], &digest[2]) && rp_digest_equal(&digest[1], &digest[2]);
        printf("%zu MiB on device %s: %.3f ms hashed there, %.3f ms copied and hashed here; digests %s\n", size / MIB,
               name, asked * 1e3, copied * 1e3, same ? "equal" : "DIFFERENT");
    }
    rp_staging_free(staging);
    rp_device_release(device, there);
    rp_device_free(device);
    return same;
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
    if (argc > 3 && !on_device(argv[3], bytes, mib * MIB, rounds))
        return 1;
    free(bytes);
    return 0;
}
