/* SPDX-License-Identifier: Apache-2.0
 * The elementary functions on the emulated device against the processor's, which have been proven: all of 2^22 inputs
 * spread over every binary32 number and as many of binary64. With names and "all": every binary32 number. Usage:
 * emulated_functions [NAME... all] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "kernels/device.h"

enum { BLOCK = 1 << 20 };

static const rp_kernel_id one[] = {RP_K_exp,  RP_K_log,   RP_K_log1p, RP_K_sqrt, RP_K_tanh,  RP_K_sigmoid,
                                   RP_K_erf,  RP_K_expm1, RP_K_exp2,  RP_K_log2, RP_K_log10, RP_K_sin,
                                   RP_K_cos,  RP_K_tan,   RP_K_sinh,  RP_K_cosh, RP_K_asin,  RP_K_acos,
                                   RP_K_atan, RP_K_erfc,  RP_K_rsqrt, RP_K_cbrt};
static const rp_kernel_id two[] = {RP_K_pow, RP_K_atan2, RP_K_hypot};

static rp_device *cpu, *emulated;
static rp_error err;

static void must(rp_status status)
{
    if (status != RP_OK) {
        fprintf(stderr, "emulated_functions: %s\n", err.text);
        exit(1);
    }
}

typedef struct buffers {
    void *in[2], *out;
} buffers;

static rp_view row(void *data, rp_dtype dtype, size_t n)
{
    return (rp_view){.data = data, .dtype = dtype, .rank = 1, .shape = {n}, .stride = {1}};
}

static void launch(rp_device *d, rp_kernel_id id, size_t n_in, const buffers *b, rp_dtype dtype, size_t n)
{
    const rp_view in[2] = {row(b->in[0], dtype, n), row(b->in[1], dtype, n)}, out = row(b->out, dtype, n);
    static const rp_attr none[RP_MAX_ATTR];
    const rp_kernel_args args = {in, n_in, &out, 1, none};

    must(rp_device_launch(d, id, &args, NULL, &err));
}

/* One block on both devices. Returns how many results differ, NaNs canonical. */
static size_t compare(rp_kernel_id id, size_t n_in, const buffers *host, const buffers *far, void *found,
                      rp_dtype dtype, size_t n)
{
    const size_t size = rp_dtype_size(dtype);
    size_t differ = 0;

    for (size_t i = 0; i < n_in; i++)
        must(rp_device_upload(emulated, far->in[i], host->in[i], n * size, NULL, &err));
    launch(emulated, id, n_in, far, dtype, n);
    launch(cpu, id, n_in, host, dtype, n);
    must(rp_device_read(emulated, found, far->out, n * size, NULL, &err));
    must(rp_device_synchronize(cpu, NULL, &err));
    rp_to_stored(found, found, dtype, n);
    rp_to_stored(host->out, host->out, dtype, n);
    if (memcmp(found, host->out, n * size) == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        differ += memcmp((char *)found + i * size, (char *)host->out + i * size, size) != 0;
    return differ;
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x7FB5D329728EA185);
    x = (x ^ x >> 27) * UINT64_C(0x81DADEF4BC2DD44D);
    return x ^ x >> 33;
}

/* The i-th input: all words of 32 bits in turn, or every 1024-th of them and what lies between by chance. Of binary64:
 * each second one near where functions change, any bits else. */
static void fill(void *out, rp_dtype dtype, uint64_t first, size_t n, bool all, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = first + i, chance = all ? 0 : mixed(at * 4 + seed);

        if (dtype == RP_F32) {
            const uint32_t u = all ? (uint32_t)at : (uint32_t)(at << 10) | (uint32_t)(chance & 1023);

            memcpy((char *)out + 4 * i, &u, 4);
        } else {
            const double small = ((double)(int64_t)chance) * 0x1p-56;
            const uint64_t any = chance;

            memcpy((char *)out + 8 * i, at % 2 ? (const void *)&small : (const void *)&any, 8);
        }
    }
}

static size_t check(rp_kernel_id id, size_t n_in, rp_dtype dtype, bool all)
{
    const uint64_t total = all ? UINT64_C(1) << 32 : UINT64_C(1) << 22;
    const size_t size = rp_dtype_size(dtype);
    buffers host = {{0}, 0}, far = {{0}, 0};
    void *found = rp_malloc(BLOCK * size);
    size_t differ = 0;

    for (size_t i = 0; i < 3; i++) {
        void **h = i < 2 ? &host.in[i] : &host.out, **f = i < 2 ? &far.in[i] : &far.out;

        *h = rp_malloc(BLOCK * size);
        must(rp_device_allocate(emulated, f, BLOCK * size, &err));
        if (*h == NULL || found == NULL)
            exit(1);
    }
    for (uint64_t first = 0; first < total; first += BLOCK) {
        fill(host.in[0], dtype, first, BLOCK, all, 0);
        if (n_in == 2)
            fill(host.in[1], dtype, mixed(first) >> (all ? 32 : 34), BLOCK, all, 1);
        differ += compare(id, n_in, &host, &far, found, dtype, BLOCK);
    }
    printf("%s %s: %zu of %llu differ\n", rp_kernel_name(id), rp_dtype_name(dtype), differ, (unsigned long long)total);
    for (size_t i = 0; i < 3; i++) {
        rp_free(i < 2 ? host.in[i] : host.out);
        rp_device_release(emulated, i < 2 ? far.in[i] : far.out);
    }
    rp_free(found);
    return differ;
}

static bool named(int argc, char **argv, rp_kernel_id id)
{
    bool found = argc < 2;

    for (int i = 1; i < argc; i++)
        found |= strcmp(argv[i], rp_kernel_name(id)) == 0;
    return found;
}

int main(int argc, char **argv)
{
    const bool all = argc > 1 && strcmp(argv[argc - 1], "all") == 0;
    rp_fpenv saved;
    size_t differ = 0;

    must(rp_fpenv_enter(&saved, NULL, &err));
    must(rp_device_open(&cpu, "cpu", NULL, 1, &err));
    must(rp_device_open(&emulated, "emulated", NULL, 1, &err));
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (named(argc, argv, one[i]))
            differ += check(one[i], 1, RP_F32, all) + (all ? 0 : check(one[i], 1, RP_F64, false));
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (named(argc, argv, two[i]))
            differ += check(two[i], 2, RP_F32, all) + (all ? 0 : check(two[i], 2, RP_F64, false));
    rp_device_free(emulated);
    rp_device_free(cpu);
    return differ != 0;
}
