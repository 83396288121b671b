/* SPDX-License-Identifier: Apache-2.0
 * The whole matrix of bits: every kernel and element type x every level of this host x threads 1, 2, 3 and 7 and cuts
 * anywhere x random shapes (empty, one element, primes, long) x memory layouts x kinds of data, all against the
 * reference with memcmp. Usage: bit_matrix [SEEDS [FIRST_SEED]]: SEEDS rounds over every kernel and type (1,000 by
 * default: about twenty minutes). test_kernels.c is the reduced form. */
#include <stdlib.h>
#include <time.h>

#include "determinism/fpenv.h"
#include "tests/kernels/specimen_compare.h"

enum { LEVELS = 8, THREADS = 4 };
static const unsigned threads[THREADS] = {1, 2, 3, 7};

typedef struct matrix {
    const char *const *level;
    size_t levels;
    rp_device *device[LEVELS][THREADS];
    const rp_kernel_table *table[LEVELS];
    unsigned long long compared, failed;
} matrix;

/* A small generator for the choices; the data itself comes from Philox by the plan's seed. */
static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u; /* SplitMix64, Steele et al. 2014 */

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static size_t pick_length(uint64_t *state, size_t most)
{
    static const size_t edge[] = {0,  1,  1,   2,   3,   5,   7,   8,   13,  15,  16,  17,   31,   32,   33,   61,  63,
                                  64, 65, 127, 128, 129, 251, 257, 509, 511, 512, 513, 1021, 1025, 4093, 4096, 4099};
    size_t n = next(state) % 3 ? edge[next(state) % (sizeof edge / sizeof *edge)] : next(state) % (most + 1);

    return n > most ? n % (most + 1) : n;
}

/* About 20,000 elements at most: three long axes would only be slow. */
static void pick_shape(uint64_t *state, size_t shape[3])
{
    static const size_t most[] = {4200, 257, 67, 33, 19};
    const unsigned longest = (unsigned)(next(state) % 4);

    for (unsigned d = 0; d < 3; d++)
        shape[d] = pick_length(state, d == longest   ? most[next(state) % 2]
                                      : longest == 3 ? most[3]
                                                     : most[next(state) % 3 + 2] / 4);
}

static rp_specimen_plan pick_plan(uint64_t *state, rp_kernel_id kernel, rp_dtype dtype)
{
    rp_specimen_plan plan = {.kernel = kernel, .dtype = dtype};

    pick_shape(state, plan.shape);
    plan.option = (int)(next(state) % 64);
    plan.layout = (rp_specimen_layout)(next(state) % RP_LAYOUT_COUNT);
    plan.data = (rp_specimen_data)(next(state) % RP_DATA_COUNT);
    plan.seed = next(state) >> 1;
    return plan;
}

static void compare(matrix *m, const outcome *want, const rp_specimen *s, const rp_specimen_plan *plan, size_t level,
                    const char *how)
{
    char text[512];

    m->compared++;
    if (same_outputs(text, sizeof text, want, s, plan, m->level[level], how))
        return;
    m->failed++;
    printf("%s\n", text);
}

/* Items in ranges cut at random places: a batch split anywhere has the same rows. */
static void run_ranges(const rp_kernel *kernel, const rp_kernel_args *args, uint64_t *state)
{
    const size_t items = kernel->items(args);
    size_t at = 0;

    while (at < items) {
        size_t end = at + 1 + next(state) % (items - at);

        kernel->run(args, at, end);
        at = end;
    }
}

static bool check_plan(matrix *m, const rp_specimen_plan *plan, uint64_t *state)
{
    rp_specimen s;
    outcome want;

    if (rp_specimen_make(&s, plan, NULL) != RP_OK)
        return false;
    run_cut(m->table[0]->kernel[plan->kernel], &s.args, 1);
    want = take_outcome(&s);
    for (size_t l = 0; l < m->levels; l++) {
        const rp_kernel *kernel = m->table[l]->kernel[plan->kernel];
        char how[32];

        if (l > 0 && kernel == m->table[0]->kernel[plan->kernel])
            continue;
        erase(&s);
        run_ranges(kernel, &s.args, state);
        compare(m, &want, &s, plan, l, "random ranges");
        for (size_t t = 0; t < THREADS; t++) {
            erase(&s);
            if (rp_device_launch(m->device[l][t], plan->kernel, &s.args, NULL, NULL) != RP_OK)
                return false;
            snprintf(how, sizeof how, "%u threads", threads[t]);
            compare(m, &want, &s, plan, l, how);
        }
    }
    drop_outcome(&want);
    rp_specimen_free(&s);
    return true;
}

static bool open_levels(matrix *m)
{
    rp_error err;

    m->levels = rp_kernel_levels(&m->level);
    for (size_t l = 0; l < m->levels && l < LEVELS; l++) {
        if (rp_kernel_table_get(&m->table[l], m->level[l], &err) != RP_OK)
            return false;
        for (size_t t = 0; t < THREADS; t++)
            if (rp_device_cpu_new(&m->device[l][t], m->level[l], threads[t], &err) != RP_OK)
                return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const unsigned long seeds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000,
                        first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    const time_t start = time(NULL);
    static matrix m;
    rp_fpenv saved;
    bool fine = rp_fpenv_enter(&saved, NULL, NULL) == RP_OK && open_levels(&m);

    for (unsigned long seed = first; seed < first + seeds && fine; seed++)
        for (int id = 0; id < RP_K_COUNT && fine; id++)
            for (int dtype = 0; dtype < RP_DTYPE_COUNT && fine; dtype++) {
                uint64_t state = seed << 32 | (uint64_t)id << 8 | (uint64_t)dtype;
                rp_specimen_plan plan;

                if (!rp_specimen_fits((rp_kernel_id)id, (rp_dtype)dtype))
                    continue;
                plan = pick_plan(&state, (rp_kernel_id)id, (rp_dtype)dtype);
                fine = check_plan(&m, &plan, &state);
            }
    for (size_t l = 0; l < m.levels; l++)
        for (size_t t = 0; t < THREADS; t++)
            rp_device_free(m.device[l][t]);
    rp_fpenv_leave(&saved);
    printf("seeds %lu to %lu: %llu comparisons over %zu levels, %llu differ, %lld s%s\n", first, first + seeds - 1,
           m.compared, m.levels, m.failed, (long long)(time(NULL) - start),
           fine ? "" : "; stopped: out of memory or no such level");
    return fine && m.failed == 0 && m.compared > 0 ? 0 : 1;
}
