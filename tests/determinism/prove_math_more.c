/* SPDX-License-Identifier: Apache-2.0
 * Checks the further binary32 functions on all 2^32 inputs, through the kernels of every level.
 *   prove_math_more [NAME ...] [--level LEVEL ...] [--threads N] [--range FIRST COUNT]
 * A result is settled where the binary64 function, allowed an error of 2^-40 (thousands of times its stated bound),
 * rounds to it from both sides; every other input goes to MPFR. The bound itself is checked against MPFR at every
 * 1021st input: this is the premise, sampled where prove_math.c proves. Exit 1 when any result is wrong. */
#include <mpfr.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "determinism/fpenv.h"
#include "determinism/math.h"
#include "determinism/math_more_f32_inline.h"
#include "kernels/kernel.h"
#include "tests/determinism/oracle.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

enum { BLOCK = 1 << 13, SAMPLE = 1021, LEVELS = 8 };

typedef struct function {
    const char *name;
    rp_kernel_id id;
    oracle_function *exact;
    void (*fill)(double *y, const float *x);
    double
        slack; /* of the reduced argument, far above its error: slack (1 + y^2) is that of sin, cos and tan at most */
} function;

typedef struct tally {
    uint64_t inputs, direct, sampled, wrong;
} tally;

typedef struct job {
    const function *f;
    const rp_kernel_table *table[LEVELS];
    size_t levels;
    uint64_t first, end; /* the encodings, multiples of BLOCK */
    atomic_uint_fast64_t next;
    pthread_mutex_t lock;
    tally total;
} job;

#define FILL(name) \
    CLONES static void fill_##name(double *y, const float *x) \
    { \
        for (int i = 0; i < BLOCK; i++) \
            y[i] = rp_##name##_f64_inline((double)x[i]); \
    }
FILL(expm1)
FILL(exp2)
FILL(log2)
FILL(log10)
FILL(sinh)
FILL(cosh)
FILL(asin)
FILL(acos)
FILL(atan)
FILL(erfc)
FILL(erf_inv)
FILL(rsqrt)
FILL(cbrt)

/* The values that rp_sin_f32_inline and its kin round; rp_sin_f64_inline would not vectorise. */
#define FILL_TURNED(name, even, odd, sign) \
    CLONES static void fill_##name(double *y, const float *x) \
    { \
        for (int i = 0; i < BLOCK; i++) { \
            rp_narrow_quarter q = rp_narrow_quarter_of(x[i]); \
            double z = rp_select_f64((q.n & 1) != 0, odd, even); \
            uint64_t turned = rp_bits_f64(z) ^ (uint64_t)(sign) << 63; \
\
            y[i] = rp_abs_f32(x[i]) < (float)HUGE_VAL ? rp_from_bits_f64(turned) : (double)NAN; \
        } \
    }
FILL_TURNED(sin, q.s, q.c, (q.n >> 1 & 1) ^ rp_bits_f32(x[i]) >> 31)
FILL_TURNED(cos, q.c, q.s, (q.n + 1) >> 1 & 1)
FILL_TURNED(tan, q.s / q.c, q.c / q.s, (q.n & 1) ^ rp_bits_f32(x[i]) >> 31)

#define F(name) \
    { \
#name, RP_K_##name, mpfr_##name, fill_##name, 0.0 \
    }
#define G(name) \
    { \
#name, RP_K_##name, mpfr_##name, fill_##name, 0x1p-54 \
    }
static const function functions[] = {
    F(expm1), F(exp2),
    F(log2),  F(log10),
    G(sin),   G(cos),
    G(tan),   F(sinh),
    F(cosh),  F(asin),
    F(acos),  F(atan),
    F(erfc),  {"rsqrt", RP_K_rsqrt, oracle_rsqrt, fill_rsqrt, 0.0},
    F(cbrt),  {"erf_inv", RP_K_erf_inv, oracle_erf_inv, fill_erf_inv, 0.0},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static void report(job *j, tally *t, const char *what, uint32_t x, uint32_t found, uint32_t expected)
{
    if (t->wrong++ >= 1000)
        return;
    pthread_mutex_lock(&j->lock);
    printf("%s %s: input 0x%08X found 0x%08X expected 0x%08X\n", j->f->name, what, x, found, expected);
    pthread_mutex_unlock(&j->lock);
}

/* Whether the binary64 value is within 2^-48 of the true one: the premise of the check with a margin of 2^8. */
static bool core_holds(const function *f, float x, double core)
{
    mpfr_t in, out;
    bool holds = true;

    mpfr_init2(in, 24);
    mpfr_init2(out, 100);
    mpfr_set_flt(in, x, MPFR_RNDN);
    f->exact(out, in, MPFR_RNDN);
    if (mpfr_nan_p(out) || core != core)
        holds = mpfr_nan_p(out) && core != core;
    else if (mpfr_get_d(out, MPFR_RNDN) != core && rp_abs_f64(core) > 0x1p-1000 && rp_abs_f64(core) < 0x1p1000) {
        mpfr_sub_d(in, out, core, MPFR_RNDN);
        mpfr_div(in, in, out, MPFR_RNDN);
        holds = rp_abs_f64(mpfr_get_d(in, MPFR_RNDN)) <
                0x1p-48 + f->slack * 0x1p-5 * (rp_abs_f64(core) + 1.0 / rp_abs_f64(core));
    }
    mpfr_clear(in);
    mpfr_clear(out);
    return holds;
}

/* The results that the binary64 values settle, and 1 in doubtful for the rest. */
CLONES static void settle(unsigned char *doubtful, float *expected, const double *core, double slack)
{
    for (int i = 0; i < BLOCK; i++) {
        double margin = rp_abs_f64(core[i]) * 0x1p-40 + slack * (1.0 + core[i] * core[i]);
        float a = (float)(core[i] - margin), b = (float)(core[i] + margin);

        expected[i] = core[i] != core[i]               ? rp_from_bits_f32(0x7FC00000u)
                      : rp_abs_f64(core[i]) < HUGE_VAL ? a
                                                       : (float)core[i];
        doubtful[i] = !(a == b) & (core[i] == core[i]) & (rp_abs_f64(core[i]) < HUGE_VAL);
    }
}

static void run_kernel(const rp_kernel *kernel, float *x, float *y)
{
    rp_view in = {.data = x, .dtype = RP_F32, .rank = 1, .shape = {BLOCK}, .stride = {1}}, out = in;
    static const rp_attr attr[RP_MAX_ATTR];
    rp_kernel_args args = {&in, 1, &out, 1, attr};

    out.data = y;
    kernel->run(&args, 0, BLOCK);
}

typedef struct block {
    float x[BLOCK], y[BLOCK], expected[BLOCK];
    double core[BLOCK];
    unsigned char doubtful[BLOCK];
} block;

static void check_block(job *j, tally *t, block *b, uint32_t first)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        b->x[i] = rp_from_bits_f32(first + i);
    j->f->fill(b->core, b->x);
    settle(b->doubtful, b->expected, b->core, j->f->slack);
    for (uint32_t i = 0; i < BLOCK; i++)
        if (b->doubtful[i]) {
            b->expected[i] = rp_from_bits_f32(oracle_f32(j->f->exact, first + i));
            t->direct++;
        }
    for (uint32_t i = first / BLOCK % SAMPLE; i < BLOCK; i += SAMPLE) {
        t->sampled++;
        if (!core_holds(j->f, b->x[i], b->core[i]))
            report(j, t, "binary64 outside its bound", first + i, 0, 0);
    }
    for (size_t l = 0; l < j->levels; l++) {
        run_kernel(j->table[l]->kernel[j->f->id], b->x, b->y);
        if (memcmp(b->y, b->expected, sizeof b->y) == 0)
            continue;
        for (uint32_t i = 0; i < BLOCK; i++)
            if (rp_bits_f32(b->y[i]) != rp_bits_f32(b->expected[i]))
                report(j, t, j->table[l]->level, first + i, rp_bits_f32(b->y[i]), rp_bits_f32(b->expected[i]));
    }
    t->inputs += BLOCK;
}

static void *work(void *arg)
{
    job *j = arg;
    block *b = malloc(sizeof *b);
    tally t = {0};

    if (!b || rp_fpenv_worker(NULL) != RP_OK) {
        free(b);
        return NULL; /* the inputs then do not add up, which main reports */
    }
    for (;;) {
        uint64_t first = atomic_fetch_add(&j->next, BLOCK);

        if (first >= j->end)
            break;
        check_block(j, &t, b, (uint32_t)first);
    }
    pthread_mutex_lock(&j->lock);
    j->total.inputs += t.inputs;
    j->total.direct += t.direct;
    j->total.sampled += t.sampled;
    j->total.wrong += t.wrong;
    pthread_mutex_unlock(&j->lock);
    free(b);
    mpfr_free_cache();
    return NULL;
}

static bool prove(job *j, unsigned threads)
{
    pthread_t id[64];
    unsigned started = 0;
    struct timespec a, b;

    memset(&j->total, 0, sizeof j->total);
    atomic_store(&j->next, j->first);
    clock_gettime(CLOCK_MONOTONIC, &a);
    while (started + 1 < threads && pthread_create(&id[started], NULL, work, j) == 0)
        started++;
    work(j);
    while (started > 0)
        pthread_join(id[--started], NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%-6s inputs %llu, levels %zu, by MPFR directly %llu, binary64 sampled %llu, wrong %llu, %lld s\n",
           j->f->name, (unsigned long long)j->total.inputs, j->levels, (unsigned long long)j->total.direct,
           (unsigned long long)j->total.sampled, (unsigned long long)j->total.wrong, (long long)(b.tv_sec - a.tv_sec));
    fflush(stdout);
    return j->total.wrong == 0 && j->total.inputs == j->end - j->first;
}

int main(int argc, char **argv)
{
    static job j = {.lock = PTHREAD_MUTEX_INITIALIZER, .end = (uint64_t)1 << 32};
    bool chosen[FUNCTIONS] = {false}, any = false, right = true;
    const char *const *names;
    size_t levels = rp_kernel_levels(&names);
    unsigned threads = 1;

    for (int i = 1; i < argc; i++) {
        bool known = false;

        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
            threads = (unsigned)strtoul(argv[++i], NULL, 10);
            continue;
        }
        if (strcmp(argv[i], "--range") == 0 && i + 2 < argc) {
            j.first = strtoull(argv[++i], NULL, 0) / BLOCK * BLOCK;
            j.end = j.first + strtoull(argv[++i], NULL, 0) / BLOCK * BLOCK;
            known = j.first < j.end && j.end <= (uint64_t)1 << 32;
        }
        if (strcmp(argv[i], "--level") == 0 && i + 1 < argc && j.levels < LEVELS) {
            known = rp_kernel_table_get(&j.table[j.levels++], argv[++i], NULL) == RP_OK;
        }
        for (int f = 0; f < FUNCTIONS; f++)
            if (strcmp(argv[i], functions[f].name) == 0)
                chosen[f] = any = known = true;
        if (!known || threads < 1 || threads > 64) {
            fputs("usage: prove_math_more [NAME ...] [--level LEVEL ...] [--threads N] [--range FIRST COUNT]\n",
                  stderr);
            return 2;
        }
    }
    for (size_t l = 0; j.levels == 0 && l < levels && l < LEVELS; l++)
        if (rp_kernel_table_get(&j.table[l], names[l], NULL) != RP_OK)
            return 2;
    if (j.levels == 0)
        j.levels = levels;
    for (int f = 0; f < FUNCTIONS; f++)
        if (chosen[f] || !any) {
            j.f = &functions[f];
            right &= prove(&j, threads);
        }
    return right ? 0 : 1;
}
