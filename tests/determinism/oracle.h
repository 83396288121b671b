/* SPDX-License-Identifier: Apache-2.0
 * MPFR as the judge of elementary functions, shared by test_math and prove_math. */
#ifndef TESTS_DETERMINISM_ORACLE_H
#define TESTS_DETERMINISM_ORACLE_H

#include <mpfr.h>
#include <stdint.h>
#include <string.h>

typedef int oracle_function(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding);

/* 1 / (1 + exp(-x)), correctly rounded to y's precision (at most 200) for a binary32 or binary64 x; x may be y. */
static inline int oracle_sigmoid(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding)
{
    mpfr_prec_t precision = mpfr_get_prec(y) + 64;
    int inexact = 0;

    if (mpfr_nan_p(x) || mpfr_inf_p(x) || mpfr_zero_p(x)) {
        int negative = mpfr_signbit(x), zero = mpfr_zero_p(x), nan = mpfr_nan_p(x);

        if (nan)
            mpfr_set_nan(y);
        else
            mpfr_set_d(y, zero ? 0.5 : negative ? 0.0 : 1.0, rounding);
        return 0;
    }
    /* Above 1000 the value is 1 - exp(-x), closer to 1 than any rounding here sees; the inexact flag is all that is
     * left of it. Below -1000 it is exp(x) (1 - exp(x) ...): the same for exp(x). */
    if (mpfr_cmp_si(x, 1000) > 0) {
        mpfr_set_ui(y, 1, rounding);
        return 1;
    }
    if (mpfr_cmp_si(x, -1000) < 0)
        return mpfr_exp(y, x, rounding);
    for (;; precision *= 2) {
        mpfr_t t;
        int enough;

        /* Two operations after exp, each within half an ulp: 3 bits are ample. */
        mpfr_init2(t, precision);
        mpfr_neg(t, x, MPFR_RNDN);
        mpfr_exp(t, t, MPFR_RNDN);
        mpfr_add_ui(t, t, 1, MPFR_RNDN);
        mpfr_ui_div(t, 1, t, MPFR_RNDN);
        enough = mpfr_can_round(t, precision - 3, MPFR_RNDN, rounding, mpfr_get_prec(y) + (rounding == MPFR_RNDN));
        if (enough)
            inexact = mpfr_set(y, t, rounding);
        mpfr_clear(t);
        if (enough)
            return inexact;
    }
}

/* 1 / sqrt(x); unlike mpfr_rec_sqrt it keeps the sign of zero. */
static inline int oracle_rsqrt(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding)
{
    if (mpfr_zero_p(x)) {
        mpfr_set_inf(y, mpfr_signbit(x) ? -1 : 1);
        return 0;
    }
    return mpfr_rec_sqrt(y, x, rounding);
}

/* One step of Newton towards erf(t) = a, or where a is near 1 log erfc(t) = log(1 - a), which is nearly a parabola. */
static inline void oracle_erf_inv_step(mpfr_t t, const mpfr_t a, mpfr_t f, mpfr_t slope)
{
    const int near = mpfr_cmp_d(a, 0.5) > 0;

    mpfr_mul(slope, t, t, MPFR_RNDN);
    mpfr_neg(slope, slope, MPFR_RNDN);
    mpfr_exp(slope, slope, MPFR_RNDN);
    mpfr_const_pi(f, MPFR_RNDN);
    mpfr_sqrt(f, f, MPFR_RNDN);
    mpfr_div(slope, slope, f, MPFR_RNDN);
    mpfr_mul_ui(slope, slope, 2, MPFR_RNDN); /* erf' */
    if (!near) {
        mpfr_erf(f, t, MPFR_RNDN);
        mpfr_sub(f, f, a, MPFR_RNDN);
    } else {
        mpfr_t rest;

        mpfr_init2(rest, mpfr_get_prec(f));
        mpfr_erfc(f, t, MPFR_RNDN);
        mpfr_div(slope, slope, f, MPFR_RNDN);
        mpfr_ui_sub(rest, 1, a, MPFR_RNDN);
        mpfr_div(f, rest, f, MPFR_RNDN);
        mpfr_log(f, f, MPFR_RNDN);
        mpfr_clear(rest);
    }
    mpfr_div(f, f, slope, MPFR_RNDN);
    mpfr_sub(t, t, f, MPFR_RNDN);
}

/* The inverse of erf, to y's precision, for a binary32 or binary64 x. Each step doubles the good digits, of which the
 * first guess has three bits at least. */
static inline int oracle_erf_inv(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding)
{
    mpfr_t t, a, f, slope;
    const int negative = mpfr_signbit(x);
    int inexact;

    if (mpfr_nan_p(x) || mpfr_cmpabs_ui(x, 1) >= 0 || mpfr_zero_p(x)) {
        if (mpfr_nan_p(x) || mpfr_cmpabs_ui(x, 1) > 0)
            mpfr_set_nan(y);
        else if (mpfr_zero_p(x))
            mpfr_set(y, x, rounding);
        else
            mpfr_set_inf(y, negative ? -1 : 1);
        return 0;
    }
    mpfr_inits2(mpfr_get_prec(y) + 120, t, a, f, slope, (mpfr_ptr)0);
    mpfr_abs(a, x, MPFR_RNDN);
    if (mpfr_cmp_d(a, 0.5) > 0) {
        mpfr_ui_sub(t, 1, a, MPFR_RNDN);
        mpfr_log(t, t, MPFR_RNDN);
        mpfr_neg(t, t, MPFR_RNDN);
        mpfr_sqrt(t, t, MPFR_RNDN);
        mpfr_mul_d(t, t, 0.875, MPFR_RNDN);
    } else
        mpfr_mul_d(t, a, 0.886226925, MPFR_RNDN);
    for (int step = 0; step < 10; step++)
        oracle_erf_inv_step(t, a, f, slope);
    mpfr_setsign(t, t, negative, MPFR_RNDN);
    inexact = mpfr_set(y, t, rounding);
    mpfr_clears(t, a, f, slope, (mpfr_ptr)0);
    return inexact;
}

/* The bits of f(x) rounded once to binary32, subnormals included; NaN is canonical. */
static inline uint32_t oracle_f32(oracle_function *f, uint32_t x)
{
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_t in, out;
    float value;
    uint32_t bits;
    int inexact;

    memcpy(&value, &x, sizeof value);
    mpfr_init2(in, 24);
    mpfr_init2(out, 24);
    mpfr_set_flt(in, value, MPFR_RNDN);
    inexact = f(out, in, MPFR_RNDN);
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
    inexact = mpfr_check_range(out, inexact, MPFR_RNDN);
    mpfr_subnormalize(out, inexact, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    value = mpfr_get_flt(out, MPFR_RNDN);
    memcpy(&bits, &value, sizeof bits);
    bits = mpfr_nan_p(out) ? 0x7FC00000u : bits;
    mpfr_clear(in);
    mpfr_clear(out);
    return bits;
}

#endif
