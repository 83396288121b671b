/* SPDX-License-Identifier: Apache-2.0
 * Distribution functions and quantiles in binary64 under the contract (CONTRACT 13): the same bits on every host,
 * within about 1e-13 of the exact value (relative, down to tails of 1e-100; docs/validation.md has what was measured).
 * Pure functions: they need no memory and cannot fail. Whatever is outside a domain below, and a NaN, gives the NaN.
 * Degrees of freedom and shapes are 2^-30 to 2^34. The caller has entered the environment (determinism/fpenv.h). */
#ifndef CORE_STATS_DISTRIBUTIONS_H
#define CORE_STATS_DISTRIBUTIONS_H

/* Standard normal: P(Z <= x), P(Z > x), P(|Z| > |x|). */
double rp_normal_cdf(double x);
double rp_normal_upper(double x);
double rp_normal_two_sided(double x);
/* 0 <= p <= 1; the ends give infinities. */
double rp_normal_quantile(double p);

/* log of the gamma function, x > 0. */
double rp_log_gamma(double x);

/* Regularised incomplete gamma functions: lower P(a, x) and upper Q(a, x), x >= 0. */
double rp_gamma_lower(double a, double x);
double rp_gamma_upper(double a, double x);

/* Beta distribution of shapes a and b: P(X <= x), P(X > x), 0 <= x <= 1. */
double rp_beta_cdf(double x, double a, double b);
double rp_beta_upper(double x, double a, double b);
double rp_beta_quantile(double p, double a, double b);

/* Student's t with v degrees of freedom. */
double rp_student_cdf(double t, double v);
double rp_student_two_sided(double t, double v); /* P(|T| > |t|) */
double rp_student_quantile(double p, double v);

/* Chi-squared with v degrees of freedom, x >= 0. */
double rp_chi_squared_cdf(double x, double v);
double rp_chi_squared_upper(double x, double v);
double rp_chi_squared_quantile(double p, double v);

/* F with v and w degrees of freedom, x >= 0. */
double rp_f_cdf(double x, double v, double w);
double rp_f_upper(double x, double v, double w);
double rp_f_quantile(double p, double v, double w);

#endif
