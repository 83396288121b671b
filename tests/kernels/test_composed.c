/* SPDX-License-Identifier: Apache-2.0
 * Elementwise operations composed of correctly rounded steps against MPFR, and the examples of their clauses: the facts
 * of tests/core/program/op_facts.def at every level. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"
#include "tests/kernels/kernel_call.h"

enum { SAMPLES = 20000 };

static const rp_attr attributes[RP_K_COUNT][RP_MAX_ATTR] = {
#define MAP1P(name, cost, way, domain, p, p0, ...) [RP_K_##name] = {{.r = p0}},
#define MAP1Q(name, cost, way, domain, p, p0, q, q0, ...) [RP_K_##name] = {{.r = p0}, {.r = q0}},
#include "kernels/operations.def"
};

static void apply(const char *level, rp_kernel_id id, float *y, const float *x, int n)
{
    float copy[SAMPLES];
    rp_view in = view_of(copy, RP_F32, n, -1), out = view_of(y, RP_F32, n, -1);

    memcpy(copy, x, (size_t)n * sizeof *x);
    call_kernel(level, id, &out, 1, &in, 1, attributes[id]);
}

static void operations_have_the_bits_of_their_examples(void **state)
{
    static const struct {
        rp_kernel_id id;
        uint32_t bits[4];
    } examples[] = {
#define EXAMPLE(name, ...) {RP_K_##name, {__VA_ARGS__}},
#include "tests/core/program/op_facts.def"
    };
    const float x[4] = {1, -0.5f, 2, 0.25f};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    (void)state;
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++)
        for (size_t l = 0; l < n_levels; l++) {
            float y[4];

            apply(levels[l], examples[e].id, y, x, 4);
            for (int i = 0; i < 4; i++)
                if (rp_bits_f32(y[i]) != examples[e].bits[i])
                    fail_msg("%s(%g), level %s: expected %08x, found %08x", rp_kernel_name(examples[e].id),
                             (double)x[i], levels[l], examples[e].bits[i], rp_bits_f32(y[i]));
        }
}

/* The distance of found from y in units of binary32's last place at y. */
static double ulps_between(float found, const mpfr_t y)
{
    const float nearest = mpfr_get_flt(y, MPFR_RNDN);
    const int exponent = nearest == 0 ? -149 : __builtin_ilogbf(nearest) - 23;
    mpfr_t apart;
    double ulps;

    mpfr_init2(apart, 200);
    mpfr_sub_d(apart, y, found, MPFR_RNDN);
    mpfr_mul_2si(apart, apart, exponent < -149 ? 149 : -exponent, MPFR_RNDN);
    ulps = __builtin_fabs(mpfr_get_d(apart, MPFR_RNDN));
    mpfr_clear(apart);
    return ulps;
}

typedef void judge(mpfr_t y, mpfr_t t, double p, double q);

#define CLOSE(name, ulps, low, high, ...) \
    static void judge_##name(mpfr_t y, mpfr_t t, double p, double q) \
    { \
        const mpfr_rnd_t n = MPFR_RNDN; \
\
        (void)t, (void)p, (void)q; \
        __VA_ARGS__ \
    }
#include "tests/core/program/op_facts.def"

/* Attributes as the operation rounds them. */
static void check_close(rp_kernel_id id, double ulps, float low, float high, judge *exact)
{
    const float p = (float)attributes[id][0].r, q = (float)attributes[id][1].r;
    static float x[SAMPLES], y[SAMPLES];
    double worst = 0;
    mpfr_t want, t;

    for (uint64_t i = 0; i < SAMPLES; i++)
        x[i] = low + (high - low) * rp_uniform_f32(rp_random_u32(11, id, 0, i));
    apply("ref", id, y, x, SAMPLES);
    mpfr_inits2(200, want, t, (mpfr_ptr)NULL);
    for (int i = 0; i < SAMPLES; i++) {
        double found;

        mpfr_set_d(want, x[i], MPFR_RNDN);
        exact(want, t, p, q);
        found = ulps_between(y[i], want);
        worst = found > worst ? found : worst;
        if (!(found <= ulps))
            fail_msg("%s(%a): found %a, %g ulps from MPFR's, expected at most %g", rp_kernel_name(id), (double)x[i],
                     (double)y[i], found, ulps);
    }
    /* a bound that says nothing would be no test */
    if (worst < ulps / 8)
        fail_msg("%s: %g ulps at most, far below the bound of %g", rp_kernel_name(id), worst, ulps);
    mpfr_clears(want, t, (mpfr_ptr)NULL);
}

static void composed_operations_are_as_close_as_their_steps_allow(void **state)
{
    (void)state;
#define CLOSE(name, ulps, low, high, ...) check_close(RP_K_##name, ulps, low, high, judge_##name);
#include "tests/core/program/op_facts.def"
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    return rp_fpenv_enter(&saved, NULL, NULL) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_have_the_bits_of_their_examples),
        cmocka_unit_test(composed_operations_are_as_close_as_their_steps_allow),
    };

    return cmocka_run_group_tests(tests, enter, NULL);
}
