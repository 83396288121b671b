/* SPDX-License-Identifier: Apache-2.0
 * Log gamma by its series about 1 and 2 and by Stirling's; the incomplete gamma and beta functions as a density by
 * deviances (Loader 2000, "Fast and accurate computation of binomial probabilities"), which keeps its digits where
 * powers and gamma functions are huge, times a power series or a continued fraction (Lentz 1976;
 * DLMF 8.11.4, 8.9.2, 8.17.22). Every constant, order and stopping rule is CONTRACT 13's. */
#include "core/stats/incomplete.h"

#include <stddef.h>
#include <stdint.h>

#include "core/stats/distributions.h"
#include "determinism/bits.h"
#include "determinism/math.h"

static const double two_pi = 0x1.921fb54442d18p+2;
static const double tiny = 0x1p-1000; /* in the place of a zero denominator */
enum { TERMS = 10000000 };

bool rp_is_shape(double a)
{
    return a >= 0x1p-30 && a <= 0x1p34;
}

/* log Gamma(2 + z) for |z| <= 1/2: Taylor's series, coefficients (-1)^k (zeta(k) - 1) / k from k = 2 */
static double log_gamma_series(double z)
{
    static const double c[] = {
        0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa6p-2,  -0x1.13e001a557607p-4,  0x1.51322ac7d8483p-6,
        -0x1.e404fc218f5f2p-8,  0x1.7add6eadb6c30p-9,  -0x1.38ac5c2bf8e08p-10, 0x1.0b36af86396e9p-11,
        -0x1.d3fd4c76d2fc8p-13, 0x1.a127b0f17d65ap-14, -0x1.78de5bd7c81efp-15, 0x1.580dcee66eb02p-16,
        -0x1.3cbc963ce2243p-17, 0x1.2597a39f34aacp-18, -0x1.11b2eb7679541p-19, 0x1.0064cdeb22f0fp-20,
        -0x1.e2600d93cfd2fp-22, 0x1.c76bbb3f07a4dp-23, -0x1.af5a6cbbf8a97p-24, 0x1.99b93c2070b0fp-25,
        -0x1.862c734df3eacp-26, 0x1.7469daccfadcdp-27, -0x1.6434a8447aeadp-28, 0x1.555a877ffd2c3p-29,
        -0x1.47b1679258d0ep-30, 0x1.3b15d2b2fc10cp-31, -0x1.2f69a9fabe3e0p-32, 0x1.24932a337434cp-33};
    double s = c[27];

    for (int k = 26; k >= 0; k--)
        s = s * z + c[k];
    return s * z;
}

/* log Gamma(a + 1) - ((a + 1/2) log a - a + log sqrt(2 pi)): Stirling's series from 16 on, else one more and back. */
static double stirling_error(double a)
{
    double back = 0, r, s;

    for (; a < 16; a = a + 1)
        back = back + ((a + 0.5) * rp_log1p_f64(1 / a) - 1);
    r = 1 / a;
    s = r * r;
    return back +
           r * (1.0 / 12 +
                s * (-1.0 / 360 + s * (1.0 / 1260 + s * (-1.0 / 1680 + s * (1.0 / 1188 + s * (-691.0 / 360360))))));
}

double rp_log_gamma(double x)
{
    if (!(x > 0))
        return rp_from_bits_f64(0x7FF8000000000000u);
    if (x < 0.5)
        return (log_gamma_series(x) - rp_log1p_f64(x)) - rp_log_f64(x);
    if (x < 1.5)
        return log_gamma_series(x - 1) - rp_log1p_f64(x - 1);
    if (x <= 2.5)
        return log_gamma_series(x - 2);
    if (x - x != 0)
        return x;
    return ((x - 0.5) * (rp_log_f64(x) - 1) - 0.5) + (0x1.d67f1c864beb5p-1 + stirling_error(x));
}

/* a log(a / m) + m - a for d = a - m, which the caller may know better than the difference; never negative. */
static double deviance(double a, double m, double d)
{
    const double v = d / (a + m), w = v * v;
    double sum, term;

    if (!(rp_from_bits_f64(rp_bits_f64(d) & 0x7FFFFFFFFFFFFFFFu) < 0.3 * (a + m)))
        return a * rp_log_f64(a / m) - d;
    sum = d * v;
    term = 2 * a * v;
    for (int j = 1; j < 1000; j++) {
        double next;

        term = term * w;
        next = sum + term / (2 * j + 1);
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

/* x^a e^-x / Gamma(a + 1) */
static double gamma_density(double a, double x)
{
    return rp_exp_f64(-(stirling_error(a) + deviance(a, x, a - x))) / __builtin_sqrt(two_pi * a);
}

/* 1 + x/(a+1) + x^2/((a+1)(a+2)) + ... until a term changes nothing */
static double gamma_series(double a, double x)
{
    double sum = 1, term = 1;

    for (int k = 1; k <= TERMS; k++) {
        double next;

        term = term * (x / (a + k));
        next = sum + term;
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

/* One more level of a continued fraction by Lentz's method, f = .. + n / (d + ..). */
typedef struct fraction {
    double c, d, f;
} fraction;

/* Whether the factor was 1 but for two last places: then the fraction has converged. */
static bool deepen(fraction *t, double n, double d)
{
    double step;

    t->d = n * t->d + d;
    if (t->d == 0)
        t->d = tiny;
    t->c = d + n / t->c;
    if (t->c == 0)
        t->c = tiny;
    t->d = 1 / t->d;
    step = t->d * t->c;
    t->f = t->f * step;
    return step >= 1 - 0x1p-51 && step <= 1 + 0x1p-51;
}

/* 1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))) */
static double gamma_fraction(double a, double x)
{
    const double b = (x - a) + 1;
    fraction t = {.c = 1 / tiny, .d = 1 / b, .f = 1 / b};

    for (int k = 1; k <= TERMS; k++)
        if (deepen(&t, k * (a - k), b + 2.0 * k))
            break;
    return t.f;
}

rp_tails rp_gamma_tails(double a, double x)
{
    if (x == 0)
        return (rp_tails){0, 1};
    if (x - x != 0)
        return (rp_tails){1, 0};
    if (x < a + 1) {
        const double p = gamma_density(a, x) * gamma_series(a, x);

        return (rp_tails){p, 1 - p};
    } else {
        const double q = (gamma_density(a, x) * a) * gamma_fraction(a, x);

        return (rp_tails){1 - q, q};
    }
}

/* a - (a + b) x: from the lesser of x and y, with one rounding of the product. */
static double beta_distance(double a, double b, double x, double y)
{
    const double n = a + b, mx = n * x, my = n * y;

    return x <= y ? (a - mx) - rp_fma_f64(n, x, -mx) : -((b - my) - rp_fma_f64(n, y, -my));
}

/* x^a y^b / B(a, b) */
static double beta_density(double a, double b, double x, double y, double d)
{
    const double n = a + b, error = stirling_error(n) - stirling_error(a) - stirling_error(b);
    const double spread = deviance(a, n * x, d) + deviance(b, n * y, -d);

    return rp_exp_f64(error - spread) * __builtin_sqrt((a * b) / (two_pi * n));
}

/* The even part of DLMF 8.17.22 (Didonato and Morris 1992, 9.1), in d and y: near the mean 1 - x and a - (a + b) x
 * are differences whose digits x itself has lost. */
static double beta_fraction(double a, double b, double x, double y, double d)
{
    const double n = a + b, first = (a * (d + 1)) / (a + 1);
    fraction t = {.c = 1 / tiny, .d = 1 / first, .f = 1 / first};

    for (int k = 1; k <= TERMS; k++) {
        const double e = a + (2.0 * k - 1), w = (k * (b - k)) * x;
        const double numerator = (((a + (k - 1)) / e) * ((n + (k - 1)) / e)) * (w * x);

        if (deepen(&t, numerator, k + w / e + ((a + k) * ((d + 1) + k * (1 + y))) / (e + 2)))
            break;
    }
    return t.f;
}

rp_tails rp_beta_tails(double a, double b, double x, double y)
{
    const double d = beta_distance(a, b, x, y);

    if (x == 0)
        return (rp_tails){0, 1};
    if (y == 0)
        return (rp_tails){1, 0};
    if (x < (a + 1) / (a + b + 2)) {
        const double p = beta_density(a, b, x, y, d) * beta_fraction(a, b, x, y, d);

        return (rp_tails){p, 1 - p};
    } else {
        const double q = beta_density(a, b, x, y, d) * beta_fraction(b, a, y, x, -d);

        return (rp_tails){1 - q, q};
    }
}
