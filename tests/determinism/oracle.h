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
