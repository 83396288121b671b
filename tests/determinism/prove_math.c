/* SPDX-License-Identifier: Apache-2.0
 * Proves the binary32 elementary functions correctly rounded over all 2^32 inputs, against MPFR.
 *   prove_math [all | exp expm1 log log1p tanh sigmoid erf ...] [--level LEVEL] [--threads N] [--range FIRST COUNT]
 * Exit 1 when any result is wrong; the argument that the fast check is sound stands at each step. */
#include <mpfr.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "determinism/math.h"
#include "determinism/math_f32_inline.h"
#include "determinism/math_inline.h"
#include "kernels/kernel.h"
#include "tests/determinism/oracle.h"

/* The checks as vector code of several widths. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

enum {
    DEGREE = 10,     /* of the Taylor polynomials */
    BLOCK = 1 << 13, /* inputs that share one polynomial, at most */
    SMALL = 16,      /* where a polynomial does not fit even so few, each input goes to MPFR */
    GROUP = 1 << 16, /* tested for being constant before it is cut in blocks */
    CHUNK = 1 << 20, /* what a thread takes at a time */
    PRECISION = 200
};

/* f(c + h) = (high + low) + a[1] t + ... + a[DEGREE] t^DEGREE + rest, t = h * unit, unit a power of two (so that no
 * power leaves the range of binary64). For i >= 1, |a_i| <= bound / radius^i: for the coefficients kept and, being
 * Cauchy's estimate on the disk |t| <= radius, for those left out. */
typedef struct series {
    double high, low, a[DEGREE + 1], bound, radius, unit;
} series;

typedef struct function {
    const char *name;
    oracle_function *exact;
    rp_kernel_id kernel;
    /* a[0 .. DEGREE] as MPFR numbers; bound and radius rounded outwards by their slack. */
    void (*expand)(mpfr_t *a, double c, double *bound, double *radius);
} function;

typedef struct tally {
    uint64_t inputs, constant, direct, wrong;
} tally;

/* One thread's state: nothing is shared but the queue of chunks. */
typedef struct prover {
    const function *f;
    tally count;
    mpfr_t a[DEGREE + 1], c;
    float y[BLOCK];
    unsigned char doubtful[BLOCK];
} prover;

typedef struct job {
    const function *f;
    uint64_t first, end;
    atomic_uint_fast64_t next;
    pthread_mutex_t lock;
    tally total;
} job;

/* The level whose kernels are proven. */
static const rp_kernel_table *table;

static void fill(const function *f, float *y, uint32_t first, size_t count)
{
    static const rp_attr attr[RP_MAX_ATTR];
    float x[BLOCK];
    rp_view in = {.data = x, .dtype = RP_F32, .rank = 1, .shape = {count}, .stride = {1}}, out = in;
    rp_kernel_args args = {&in, 1, &out, 1, attr};

    for (uint32_t i = 0; i < (uint32_t)count; i++)
        x[i] = rp_from_bits_f32(first + i);
    out.data = y;
    table->kernel[f->kernel]->run(&args, 0, count);
}

/* --- Taylor coefficients ---------------------------------------------------------------------------------------- */

/* a_i = exp(c) / i!. With radius 4, 4^i / i! is at most 4^4 / 4! < 11. */
static void expand_exp(mpfr_t *a, double c, double *bound, double *radius)
{
    mpfr_set_d(a[0], c, MPFR_RNDN);
    mpfr_exp(a[0], a[0], MPFR_RNDN);
    for (unsigned i = 1; i <= DEGREE; i++)
        mpfr_div_ui(a[i], a[i - 1], i, MPFR_RNDN);
    *radius = 4.0;
    *bound = 11.0 * mpfr_get_d(a[0], MPFR_RNDU);
}

static void expand_expm1(mpfr_t *a, double c, double *bound, double *radius)
{
    expand_exp(a, c, bound, radius);
    mpfr_set_d(a[0], c, MPFR_RNDN);
    mpfr_expm1(a[0], a[0], MPFR_RNDN);
}

/* log(u + h): a_i = -(-1/u)^i / i, so bound 1 with the radius |u|, here rounded down. a[0] is the caller's. */
static void expand_log_at(mpfr_t *a, mpfr_srcptr u, double *bound, double *radius)
{
    mpfr_t power;

    mpfr_init2(power, PRECISION);
    mpfr_set_si(power, -1, MPFR_RNDN);
    for (unsigned i = 1; i <= DEGREE; i++) {
        mpfr_div(power, power, u, MPFR_RNDN);
        mpfr_neg(power, power, MPFR_RNDN);
        mpfr_div_ui(a[i], power, i, MPFR_RNDN);
    }
    *bound = 1.0;
    *radius = mpfr_get_d(u, MPFR_RNDD);
    mpfr_clear(power);
}

static void expand_log(mpfr_t *a, double c, double *bound, double *radius)
{
    mpfr_t u;

    mpfr_init2(u, PRECISION);
    mpfr_set_d(u, c, MPFR_RNDN);
    mpfr_log(a[0], u, MPFR_RNDN);
    expand_log_at(a, u, bound, radius);
    mpfr_clear(u);
}

static void expand_log1p(mpfr_t *a, double c, double *bound, double *radius)
{
    mpfr_t u;

    mpfr_init2(u, PRECISION);
    mpfr_set_d(u, c, MPFR_RNDN);
    mpfr_log1p(a[0], u, MPFR_RNDN);
    mpfr_add_ui(u, u, 1, MPFR_RNDN);
    expand_log_at(a, u, bound, radius);
    mpfr_clear(u);
}

/* sum of a_j a_(i-j), j = 0 .. i */
static void convolve(mpfr_t sum, mpfr_t *a, int i)
{
    mpfr_t term;

    mpfr_init2(term, PRECISION);
    mpfr_set_zero(sum, 1);
    for (int j = 0; j <= i; j++) {
        mpfr_mul(term, a[j], a[i - j], MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    mpfr_clear(term);
}

/* f' = 1 - f^2. On |Im z| <= 1: |tanh z|^2 = (sinh^2 x + sin^2 y) / (sinh^2 x + cos^2 y) is largest at x = 0, y = 1,
 * where it is tan^2 1 < 1.56^2. */
static void expand_tanh(mpfr_t *a, double c, double *bound, double *radius)
{
    mpfr_set_d(a[0], c, MPFR_RNDN);
    mpfr_tanh(a[0], a[0], MPFR_RNDN);
    for (int i = 0; i < DEGREE; i++) {
        convolve(a[i + 1], a, i);
        mpfr_neg(a[i + 1], a[i + 1], MPFR_RNDN);
        if (i == 0)
            mpfr_add_ui(a[1], a[1], 1, MPFR_RNDN);
        mpfr_div_ui(a[i + 1], a[i + 1], (unsigned)i + 1, MPFR_RNDN);
    }
    *bound = 1.56;
    *radius = 1.0;
}

/* f' = f - f^2. On |Im z| <= 2: |1 + e^z|^2 = 1 + 2 e^x cos y + e^2x >= 1 - cos^2 2 > 0.826, so |f| = |e^z| / |1 + e^z|
 * < 1.11 e^x; the same with -z gives |f| = 1 / |1 + e^-z| < 1.11. On the disk e^x <= e^(c+2). */
static void expand_sigmoid(mpfr_t *a, double c, double *bound, double *radius)
{
    mpfr_t limit;

    mpfr_set_d(a[0], c, MPFR_RNDN);
    oracle_sigmoid(a[0], a[0], MPFR_RNDN);
    for (int i = 0; i < DEGREE; i++) {
        convolve(a[i + 1], a, i);
        mpfr_sub(a[i + 1], a[i], a[i + 1], MPFR_RNDN);
        mpfr_div_ui(a[i + 1], a[i + 1], (unsigned)i + 1, MPFR_RNDN);
    }
    mpfr_init2(limit, 53);
    mpfr_set_d(limit, c < -2.0 ? c + 2.0 : 0.0, MPFR_RNDU);
    mpfr_exp(limit, limit, MPFR_RNDU);
    *bound = 1.11 * mpfr_get_d(limit, MPFR_RNDU);
    *radius = 2.0;
    mpfr_clear(limit);
}

/* g = f' = 2/sqrt(pi) exp(-z^2), g' = -2 z g: (i+1) g_(i+1) = -2 (c g_i + g_(i-1)), f_i = g_(i-1) / i.
 * On the disk of radius 1, |g| <= 2/sqrt(pi) exp(y^2) < 3.1, which bounds g_i and so f_i for i >= 1. */
static void expand_erf(mpfr_t *a, double c, double *bound, double *radius)
{
    mpfr_t g[DEGREE], term;

    for (int i = 0; i < DEGREE; i++)
        mpfr_init2(g[i], PRECISION);
    mpfr_init2(term, PRECISION);
    mpfr_set_d(a[0], c, MPFR_RNDN);
    mpfr_sqr(g[0], a[0], MPFR_RNDN);
    mpfr_neg(g[0], g[0], MPFR_RNDN);
    mpfr_exp(g[0], g[0], MPFR_RNDN);
    mpfr_const_pi(term, MPFR_RNDN);
    mpfr_rec_sqrt(term, term, MPFR_RNDN);
    mpfr_mul(g[0], g[0], term, MPFR_RNDN);
    mpfr_mul_ui(g[0], g[0], 2, MPFR_RNDN);
    for (int i = 0; i + 1 < DEGREE; i++) {
        mpfr_mul_d(g[i + 1], g[i], c, MPFR_RNDN);
        if (i > 0)
            mpfr_add(g[i + 1], g[i + 1], g[i - 1], MPFR_RNDN);
        mpfr_mul_si(g[i + 1], g[i + 1], -2, MPFR_RNDN);
        mpfr_div_ui(g[i + 1], g[i + 1], (unsigned)i + 1, MPFR_RNDN);
    }
    mpfr_erf(a[0], a[0], MPFR_RNDN);
    for (int i = 1; i <= DEGREE; i++)
        mpfr_div_ui(a[i], g[i - 1], (unsigned)i, MPFR_RNDN);
    *bound = 3.1;
    *radius = 1.0;
    for (int i = 0; i < DEGREE; i++)
        mpfr_clear(g[i]);
    mpfr_clear(term);
}

static const function functions[] = {
    {"exp", mpfr_exp, RP_K_exp, expand_exp},     {"expm1", mpfr_expm1, RP_K_expm1, expand_expm1},
    {"log", mpfr_log, RP_K_log, expand_log},     {"log1p", mpfr_log1p, RP_K_log1p, expand_log1p},
    {"tanh", mpfr_tanh, RP_K_tanh, expand_tanh}, {"sigmoid", oracle_sigmoid, RP_K_sigmoid, expand_sigmoid},
    {"erf", mpfr_erf, RP_K_erf, expand_erf},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* --- Checking --------------------------------------------------------------------------------------------------- */

static void report_wrong(prover *p, uint32_t x, uint32_t found, uint32_t expected)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    /* The first thousand are enough to see what is wrong. */
    if (p->count.wrong++ >= 1000)
        return;
    pthread_mutex_lock(&lock);
    printf("%s wrong: input 0x%08X found 0x%08X expected 0x%08X\n", p->f->name, x, found, expected);
    pthread_mutex_unlock(&lock);
}

static void check_directly(prover *p, uint32_t x, float found)
{
    uint32_t expected = oracle_f32(p->f->exact, x);

    p->count.direct++;
    if (rp_bits_f32(found) != expected)
        report_wrong(p, x, rp_bits_f32(found), expected);
}

/* Marks the inputs whose result the interval f(c + h) +- error does not prove: y is right when the true value lies
 * strictly between y's midpoints to its two neighbours. Neighbours come from the encoding: one up is one away from
 * zero. Zeros, the largest finite values, infinities and NaN are always doubtful. Midpoints are exact in binary64. */
CLONES static void find_doubtful(unsigned char *doubtful, const float *y, uint32_t first, size_t count, double c,
                                 const series *s, double error)
{
    for (uint32_t i = 0; i < (uint32_t)count; i++) {
        double h = ((double)rp_from_bits_f32(first + i) - c) * s->unit;
        uint32_t u = rp_bits_f32(y[i]);
        uint32_t magnitude = u & 0x7FFFFFFFu;
        double value = (double)y[i];
        double outer = (value + (double)rp_from_bits_f32(u + 1)) * 0.5;
        double inner = (value + (double)rp_from_bits_f32(u - 1)) * 0.5;
        double t = s->a[DEGREE], from_inner, to_outer, allowed;

        for (int k = DEGREE - 1; k >= 1; k--)
            t = s->a[k] + h * t;
        t = s->low + h * t;
        from_inner = (s->high - inner) + t;
        to_outer = (outer - s->high) - t;
        /* For a negative y "towards zero" is upwards. */
        from_inner = rp_copysign_f64(1.0, value) * from_inner;
        to_outer = rp_copysign_f64(1.0, value) * to_outer;
        /* The two differences from high are rounded: 2^-53 of them, twice, within 2^-51 of the wider. */
        allowed = error + 0x1p-51 * (rp_abs_f64(s->high - inner) + rp_abs_f64(outer - s->high));
        doubtful[i] = !((from_inner > allowed) & (to_outer > allowed) & (magnitude - 1u < 0x7F7FFFFFu - 1u));
    }
}

/* How far high + (low + a1 h + ...) as find_doubtful computes it can be from f(c + h), |h| <= reach:
 *   rest        bound * q^(DEGREE+1) / (1 - q), q = reach / radius
 *   MPFR        each a_i is right to within 2^-100 of |a_i| + bound / radius^i: the recurrences are ten steps long with
 *               200 bits, and no partial sum exceeds (i + 1) bound^2 / radius^i; high + low holds 106 bits of a_0
 *   arithmetic  each a_i rounded to binary64, then Horner's rule of 2 DEGREE + 1 operations, and the final additions:
 * the factors (1 + d), |d| <= 2^-53, on any term number at most 2 DEGREE + 6. 2^-48 covers 32 of them. The factor 1.01
 * covers the rounding of this computation itself. */
static double error_of(const series *s, double reach)
{
    double q = reach / s->radius, sum = 0.0, power = 1.0, rest = s->bound;

    for (int i = 1; i <= DEGREE; i++) {
        power *= reach;
        sum += rp_abs_f64(s->a[i]) * power;
        rest *= q;
    }
    rest = rest * q / (1.0 - q);
    return 1.01 * (rest + 0x1p-100 * (rp_abs_f64(s->high) + 2.0 * s->bound * q) + 0x1p-48 * (sum + rp_abs_f64(s->low)));
}

static void prove_block(prover *p, uint32_t first, size_t count);

/* The block reaches too near a singularity, or its centre lies outside the domain. */
static void prove_unfit(prover *p, uint32_t first, size_t count)
{
    if (count > SMALL) {
        prove_block(p, first, count / 2);
        prove_block(p, first + (uint32_t)(count / 2), count - count / 2);
        return;
    }
    fill(p->f, p->y, first, count);
    for (size_t i = 0; i < count; i++)
        check_directly(p, first + (uint32_t)i, p->y[i]);
}

/* The series at c; false where there is none. */
static bool expand(prover *p, series *s, double c)
{
    int exponent = 0;

    p->f->expand(p->a, c, &s->bound, &s->radius);
    if (!mpfr_number_p(p->a[0]) || !(s->radius > 0.0))
        return false;
    s->radius = frexp(s->radius, &exponent);
    s->unit = ldexp(1.0, -exponent);
    s->high = mpfr_get_d(p->a[0], MPFR_RNDN);
    mpfr_sub_d(p->c, p->a[0], s->high, MPFR_RNDN);
    s->low = mpfr_get_d(p->c, MPFR_RNDN);
    for (int i = 1; i <= DEGREE; i++) {
        mpfr_mul_2si(p->a[i], p->a[i], (long)exponent * i, MPFR_RNDN);
        s->a[i] = mpfr_get_d(p->a[i], MPFR_RNDN);
    }
    return true;
}

static void prove_block(prover *p, uint32_t first, size_t count)
{
    double c = (double)rp_from_bits_f32(first + (uint32_t)(count / 2));
    double reach = rp_abs_f64((double)rp_from_bits_f32(first) - c);
    double last = rp_abs_f64((double)rp_from_bits_f32(first + (uint32_t)count - 1) - c);
    series s;

    if (last > reach)
        reach = last;
    if (!expand(p, &s, c) || reach * s.unit > s.radius * 0x1p-5) {
        prove_unfit(p, first, count);
        return;
    }
    fill(p->f, p->y, first, count);
    find_doubtful(p->doubtful, p->y, first, count, c, &s, error_of(&s, reach * s.unit));
    for (size_t i = 0; i < count; i++)
        if (p->doubtful[i])
            check_directly(p, first + (uint32_t)i, p->y[i]);
}

static void prove_range(prover *p, uint32_t first, size_t count);

/* A range that is not constant: in groups, each tested again, then in blocks. */
static void prove_parts(prover *p, uint32_t first, size_t count)
{
    size_t part = count > GROUP ? GROUP : BLOCK;

    for (size_t done = 0; done < count; done += part) {
        uint32_t from = first + (uint32_t)done;

        part = count - done < part ? count - done : part;
        if (part > BLOCK) {
            prove_range(p, from, part);
            continue;
        }
        p->count.inputs += part;
        prove_block(p, from, part);
    }
}

/* [first, first + count) lies within one sign, without NaN inputs. Each function is monotonic where it is defined, and
 * defined on an interval, so where both ends round to the same bits (NaN for NaN) everything between does too; a zero
 * keeps its sign, as no range holds inputs on both sides of zero. */
static void prove_range(prover *p, uint32_t first, size_t count)
{
    uint32_t low = oracle_f32(p->f->exact, first);
    uint32_t high = oracle_f32(p->f->exact, first + (uint32_t)count - 1);

    if (low != high) {
        prove_parts(p, first, count);
        return;
    }
    p->count.inputs += count;
    p->count.constant += count;
    for (size_t done = 0; done < count;) {
        size_t part = count - done < BLOCK ? count - done : BLOCK;

        fill(p->f, p->y, first + (uint32_t)done, part);
        for (size_t i = 0; i < part; i++)
            if (rp_bits_f32(p->y[i]) != low)
                report_wrong(p, first + (uint32_t)(done + i), rp_bits_f32(p->y[i]), low);
        done += part;
    }
}

/* Cuts a chunk at +-infinity: beyond lie NaN inputs, whose result is the canonical NaN, a constant. */
static void prove_chunk(prover *p, uint64_t first, uint64_t end)
{
    static const uint64_t cuts[] = {0x7F800001u, 0x80000000u, 0xFF800001u};

    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        if (first < cuts[i] && cuts[i] < end) {
            prove_range(p, (uint32_t)first, (size_t)(cuts[i] - first));
            first = cuts[i];
        }
    prove_range(p, (uint32_t)first, (size_t)(end - first));
}

static void *work(void *arg)
{
    job *j = arg;
    prover *p = calloc(1, sizeof *p);

    if (!p)
        return NULL; /* the inputs then do not add up, which main reports */
    p->f = j->f;
    for (int i = 0; i <= DEGREE; i++)
        mpfr_init2(p->a[i], PRECISION);
    mpfr_init2(p->c, PRECISION);
    for (;;) {
        uint64_t first = atomic_fetch_add(&j->next, CHUNK);

        if (first >= j->end)
            break;
        prove_chunk(p, first, j->end - first < CHUNK ? j->end : first + CHUNK);
    }
    pthread_mutex_lock(&j->lock);
    j->total.inputs += p->count.inputs;
    j->total.constant += p->count.constant;
    j->total.direct += p->count.direct;
    j->total.wrong += p->count.wrong;
    pthread_mutex_unlock(&j->lock);
    for (int i = 0; i <= DEGREE; i++)
        mpfr_clear(p->a[i]);
    mpfr_clear(p->c);
    free(p);
    mpfr_free_cache();
    return NULL;
}

static bool prove(const function *f, unsigned threads, uint64_t first, uint64_t count)
{
    job j = {.f = f, .first = first, .end = first + count, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t id[64];
    unsigned started = 0;
    struct timespec a, b;
    bool right;

    atomic_init(&j.next, first);
    clock_gettime(CLOCK_MONOTONIC, &a);
    while (started + 1 < threads && pthread_create(&id[started], NULL, work, &j) == 0)
        started++;
    work(&j);
    while (started > 0)
        pthread_join(id[--started], NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    right = j.total.wrong == 0 && j.total.inputs == count;
    printf("%-8s inputs %llu, by constancy %llu, by MPFR directly %llu, misrounded %llu, %lld s%s\n", f->name,
           (unsigned long long)j.total.inputs, (unsigned long long)j.total.constant, (unsigned long long)j.total.direct,
           (unsigned long long)j.total.wrong, (long long)(b.tv_sec - a.tv_sec),
           j.total.inputs == count ? "" : " INCOMPLETE");
    fflush(stdout);
    return right;
}

static int usage(void)
{
    fputs("usage: prove_math [all | exp expm1 log log1p tanh sigmoid erf ...] [--level LEVEL] [--threads N] [--range "
          "FIRST COUNT]\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    bool chosen[FUNCTIONS] = {false}, any = false, right = true;
    uint64_t first = 0, count = (uint64_t)1 << 32;
    const char *level = NULL;
    unsigned threads = 1;

    for (int i = 1; i < argc; i++) {
        bool known = false;

        if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
            threads = (unsigned)strtoul(argv[++i], NULL, 10);
            continue;
        }
        if (strcmp(argv[i], "--range") == 0 && i + 2 < argc) {
            first = strtoull(argv[++i], NULL, 0);
            count = strtoull(argv[++i], NULL, 0);
            continue;
        }
        if (strcmp(argv[i], "--level") == 0 && i + 1 < argc) {
            level = argv[++i];
            continue;
        }
        for (int f = 0; f < FUNCTIONS; f++)
            if (strcmp(argv[i], "all") == 0 || strcmp(argv[i], functions[f].name) == 0)
                chosen[f] = any = known = true;
        if (!known)
            return usage();
    }
    if (threads < 1 || threads > 64 || count < 1 || count > (uint64_t)1 << 32 || first + count > (uint64_t)1 << 32)
        return usage();
    if (rp_kernel_table_get(&table, level, NULL) != RP_OK)
        return usage();
    printf("level %s\n", table->level);
    for (int f = 0; f < FUNCTIONS; f++)
        if (chosen[f] || !any)
            right &= prove(&functions[f], threads, first, count);
    return right ? 0 : 1;
}
