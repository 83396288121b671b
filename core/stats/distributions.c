/* SPDX-License-Identifier: Apache-2.0
 * Distributions from their incomplete functions, and one rule for every quantile: the least binary64 number at which
 * the tail is small enough (or the middle large enough), found by halving the order of the encodings (CONTRACT 13). */
#include "core/stats/distributions.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/stats/incomplete.h"
#include "determinism/bits.h"
#include "determinism/math.h"

static double not_a_number(void)
{
    return rp_from_bits_f64(0x7FF8000000000000u);
}

static double magnitude(double x)
{
    return rp_from_bits_f64(rp_bits_f64(x) & 0x7FFFFFFFFFFFFFFFu);
}

/* ---- quantiles ---- */

typedef struct distribution distribution;
typedef double function_of(double x, const distribution *d);
struct distribution {
    function_of *lower, *upper; /* of symmetric ones: lower is P(0 < X <= x) */
    double a, b;
    double last; /* the greatest value there is, 1 or infinity */
};

/* The least x of 0 .. last, in the order of encodings, where f(x) >= p (rising) or f(x) <= p; last if there is none. */
static double least(const distribution *d, function_of *f, bool rising, double p)
{
    uint64_t none = 0, some = rp_bits_f64(d->last);

    if (rising ? f(0, d) >= p : f(0, d) <= p)
        return 0;
    while (some - none > 1) {
        const uint64_t middle = none + (some - none) / 2;
        const double at = f(rp_from_bits_f64(middle), d);

        if (rising ? at >= p : at <= p)
            some = middle;
        else
            none = middle;
    }
    return rp_from_bits_f64(some);
}

/* Of values from 0 on: by the lower tail up to one half, else by the upper one. */
static double quantile(const distribution *d, double p)
{
    if (!(p >= 0 && p <= 1))
        return not_a_number();
    if (p == 1)
        return d->last;
    return p <= 0.5 ? least(d, d->lower, true, p) : least(d, d->upper, false, 1 - p);
}

/* Of distributions symmetric about 0: the middle near the median, the tail elsewhere. */
static double symmetric_quantile(const distribution *d, double p)
{
    const double middle = magnitude(p - 0.5);
    double x;

    if (!(p >= 0 && p <= 1))
        return not_a_number();
    if (p == 0 || p == 1)
        x = d->last;
    else if (middle <= 0.25)
        x = least(d, d->lower, true, middle);
    else
        x = least(d, d->upper, false, p < 0.5 ? p : 1 - p);
    return p < 0.5 ? -x : x;
}

/* ---- normal ---- */

/* erfc(x / sqrt(2)), x >= 0: what the rounded quotient lacks comes back by the derivative. */
static double two_tails(double x)
{
    const double h = x * 0x1.6a09e667f3bcdp-1;
    const double rest = rp_fma_f64(x, 0x1.6a09e667f3bcdp-1, -h) + x * -0x1.bdd3413b26456p-55;

    if (x > 40)
        return x == x ? 0 : x;
    return rp_erfc_f64(h) - (rest * 0x1.20dd750429b6dp+0) * rp_exp_f64(-(h * h));
}

double rp_normal_two_sided(double x)
{
    return x == x ? two_tails(magnitude(x)) : not_a_number();
}

double rp_normal_upper(double x)
{
    if (x != x)
        return not_a_number();
    return x >= 0 ? 0.5 * two_tails(x) : 1 - 0.5 * two_tails(-x);
}

double rp_normal_cdf(double x)
{
    return rp_normal_upper(-x);
}

static double normal_middle(double x, const distribution *d)
{
    (void)d;
    return 0.5 * rp_erf_f64(x * 0x1.6a09e667f3bcdp-1);
}

static double normal_tail(double x, const distribution *d)
{
    (void)d;
    return 0.5 * two_tails(x);
}

double rp_normal_quantile(double p)
{
    return symmetric_quantile(&(distribution){normal_middle, normal_tail, 0, 0, rp_from_bits_f64(0x7FF0000000000000u)},
                              p);
}

/* ---- gamma and chi-squared ---- */

static bool in_gamma(double a, double x)
{
    return rp_is_shape(a) && x >= 0;
}

double rp_gamma_lower(double a, double x)
{
    return in_gamma(a, x) ? rp_gamma_tails(a, x).lower : not_a_number();
}

double rp_gamma_upper(double a, double x)
{
    return in_gamma(a, x) ? rp_gamma_tails(a, x).upper : not_a_number();
}

double rp_chi_squared_cdf(double x, double v)
{
    return rp_gamma_lower(0.5 * v, 0.5 * x);
}

double rp_chi_squared_upper(double x, double v)
{
    return rp_gamma_upper(0.5 * v, 0.5 * x);
}

static double chi_squared_lower_of(double x, const distribution *d)
{
    return rp_chi_squared_cdf(x, d->a);
}

static double chi_squared_upper_of(double x, const distribution *d)
{
    return rp_chi_squared_upper(x, d->a);
}

double rp_chi_squared_quantile(double p, double v)
{
    if (!rp_is_shape(0.5 * v))
        return not_a_number();
    return quantile(
        &(distribution){chi_squared_lower_of, chi_squared_upper_of, v, 0, rp_from_bits_f64(0x7FF0000000000000u)}, p);
}

/* ---- beta ---- */

static rp_tails beta_tails(double x, double a, double b)
{
    const rp_tails none = {not_a_number(), not_a_number()};

    if (!rp_is_shape(a) || !rp_is_shape(b) || !(x >= 0 && x <= 1))
        return none;
    return rp_beta_tails(a, b, x, 1 - x);
}

double rp_beta_cdf(double x, double a, double b)
{
    return beta_tails(x, a, b).lower;
}

double rp_beta_upper(double x, double a, double b)
{
    return beta_tails(x, a, b).upper;
}

static double beta_lower_of(double x, const distribution *d)
{
    return beta_tails(x, d->a, d->b).lower;
}

static double beta_upper_of(double x, const distribution *d)
{
    return beta_tails(x, d->a, d->b).upper;
}

double rp_beta_quantile(double p, double a, double b)
{
    if (!rp_is_shape(a) || !rp_is_shape(b))
        return not_a_number();
    return quantile(&(distribution){beta_lower_of, beta_upper_of, a, b, 1}, p);
}

/* ---- Student's t ---- */

/* P(T^2 > t^2) and P(T^2 <= t^2): of v / (v + t^2), beta of shapes v/2 and 1/2. From 2^500 on t^2 would overflow. */
static rp_tails student_tails(double t, double v)
{
    const double a = magnitude(t), q = a < 0x1p500 ? a * a : 0x1p1000;

    return rp_beta_tails(0.5 * v, 0.5, v / (v + q), q / (v + q));
}

double rp_student_two_sided(double t, double v)
{
    return rp_is_shape(0.5 * v) && t == t ? student_tails(t, v).lower : not_a_number();
}

double rp_student_cdf(double t, double v)
{
    if (!rp_is_shape(0.5 * v) || t != t)
        return not_a_number();
    return t < 0 ? 0.5 * student_tails(t, v).lower : 1 - 0.5 * student_tails(t, v).lower;
}

static double student_middle(double t, const distribution *d)
{
    return 0.5 * student_tails(t, d->a).upper;
}

static double student_tail(double t, const distribution *d)
{
    return 0.5 * student_tails(t, d->a).lower;
}

double rp_student_quantile(double p, double v)
{
    if (!rp_is_shape(0.5 * v))
        return not_a_number();
    return symmetric_quantile(
        &(distribution){student_middle, student_tail, v, 0, rp_from_bits_f64(0x7FF0000000000000u)}, p);
}

/* ---- F ---- */

static rp_tails f_tails(double x, double v, double w)
{
    const rp_tails none = {not_a_number(), not_a_number()};
    double vx;

    if (!rp_is_shape(0.5 * v) || !rp_is_shape(0.5 * w) || !(x >= 0))
        return none;
    vx = v * (x < 0x1p900 ? x : 0x1p900);
    return rp_beta_tails(0.5 * v, 0.5 * w, vx / (vx + w), w / (vx + w));
}

double rp_f_cdf(double x, double v, double w)
{
    return f_tails(x, v, w).lower;
}

double rp_f_upper(double x, double v, double w)
{
    return f_tails(x, v, w).upper;
}

static double f_lower_of(double x, const distribution *d)
{
    return f_tails(x, d->a, d->b).lower;
}

static double f_upper_of(double x, const distribution *d)
{
    return f_tails(x, d->a, d->b).upper;
}

double rp_f_quantile(double p, double v, double w)
{
    if (!rp_is_shape(0.5 * v) || !rp_is_shape(0.5 * w))
        return not_a_number();
    return quantile(&(distribution){f_lower_of, f_upper_of, v, w, rp_from_bits_f64(0x7FF0000000000000u)}, p);
}
