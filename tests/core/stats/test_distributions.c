/* SPDX-License-Identifier: Apache-2.0
 * Distributions against values made with 60 digits, quantiles against the points whose probability they are given, the
 * examples of CONTRACT 13, and what lies outside their domains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/stats/distributions.h"
#include "determinism/bits.h"
#include "determinism/decimal.h"
#include "determinism/fpenv.h"
#include "tests/determinism/contract_text.h"

#define NAMES(X) \
    X(normal_cdf, 1) \
    X(normal_upper, 1) \
    X(normal_two_sided, 1) \
    X(normal_quantile, 1) \
    X(log_gamma, 1) \
    X(gamma_lower, 2) \
    X(gamma_upper, 2) \
    X(beta_cdf, 3) \
    X(beta_upper, 3) \
    X(beta_quantile, 3) \
    X(student_cdf, 2) \
    X(student_two_sided, 2) \
    X(student_quantile, 2) \
    X(chi_squared_cdf, 2) \
    X(chi_squared_upper, 2) \
    X(chi_squared_quantile, 2) \
    X(f_cdf, 3) \
    X(f_upper, 3) \
    X(f_quantile, 3)

#define ARGS_1 (a[0])
#define ARGS_2 (a[0], a[1])
#define ARGS_3 (a[0], a[1], a[2])
#define CALL(name, n) \
    static double call_##name(const double *a) \
    { \
        return rp_##name ARGS_##n; \
    }
NAMES(CALL)

enum { LONGEST = 24 };
static const struct {
    char name[LONGEST];
    int arguments;
    double (*call)(const double *);
} functions[] = {
#define ENTRY(name, n) {#name, n, call_##name},
    NAMES(ENTRY)};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static const struct {
    char name[LONGEST];
    double a[3], value;
} table[] = {
#define ROW(name, x, y, z, value) {#name, {x, y, z}, value},
#include "tests/core/stats/distributions_table.h"
};

static int find(const char *name, size_t length)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0)
            return i;
    return -1;
}

static double distance(double found, double exact)
{
    const double d = (found - exact) / exact;

    return d < 0 ? -d : d;
}

/* Far tails are exponentials of large numbers, whose last place counts: there the bound is wider. */
static double bound(double value)
{
    return value > 0 && value < 1e-100 ? 4e-13 : 1e-13;
}

static void distributions_have_the_tabulated_values(void **state)
{
    double worst[FUNCTIONS] = {0};
    size_t rows[FUNCTIONS] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const int f = find(table[i].name, strlen(table[i].name));
        double d;

        assert_true(f >= 0);
        d = distance(functions[f].call(table[i].a), table[i].value);
        rows[f]++;
        if (d > worst[f])
            worst[f] = d;
        if (!(d <= bound(table[i].value)))
            fail_msg("%s(%.17g, %.17g, %.17g): %.17g, expected %.17g: %.3g", table[i].name, table[i].a[0],
                     table[i].a[1], table[i].a[2], functions[f].call(table[i].a), table[i].value, d);
    }
    for (int f = 0; f < FUNCTIONS; f++)
        if (strstr(functions[f].name, "quantile") == NULL) {
            print_message("%-20s %4zu values, within %.1e\n", functions[f].name, rows[f], worst[f]);
            assert_true(rows[f] >= 10);
        }
}

/* The point is found again as exactly as its probability is known there: where rising the point by a share e moves the
 * probability by less than a share of it, no quantile could know better. */
static void check_quantile(const char *quantile, double p, double a, double b, double point, const char *cdf)
{
    const double args[] = {p, a, b}, near[] = {point * (1 - 1e-9), a, b}, at[] = {point, a, b};
    const int q = find(quantile, strlen(quantile)), f = find(cdf, strlen(cdf));
    const double moved = distance(functions[f].call(near), functions[f].call(at)) / 1e-9;
    const double found = functions[q].call(args), d = distance(found, point);

    if (!(d <= 1e-13 * (1 + 1 / moved)))
        fail_msg("%s(%.17g, %g, %g): %.17g, expected %.17g: %.3g", quantile, p, a, b, found, point, d);
}

static void quantiles_give_back_the_points(void **state)
{
    size_t checked = 0;

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double *a = table[i].a, p = table[i].value;

        if (p > 0.6 || p < 1e-200)
            continue;
        checked++;
        if (strcmp(table[i].name, "normal_cdf") == 0)
            check_quantile("normal_quantile", p, 0, 0, a[0], "normal_cdf");
        else if (strcmp(table[i].name, "student_cdf") == 0)
            check_quantile("student_quantile", p, a[1], 0, a[0], "student_cdf");
        else if (strcmp(table[i].name, "beta_cdf") == 0)
            check_quantile("beta_quantile", p, a[1], a[2], a[0], "beta_cdf");
        else if (strcmp(table[i].name, "chi_squared_cdf") == 0)
            check_quantile("chi_squared_quantile", p, a[1], 0, a[0], "chi_squared_cdf");
        else if (strcmp(table[i].name, "f_cdf") == 0)
            check_quantile("f_quantile", p, a[1], a[2], a[0], "f_cdf");
        else
            checked--;
    }
    assert_true(checked > 100);
    assert_true(distance(rp_normal_quantile(0.975), 1.959963984540054) < 1e-15);
    assert_true(distance(rp_student_quantile(0.975, 10), 2.2281388519862744) < 1e-14);
    assert_true(distance(rp_chi_squared_quantile(0.95, 8), 15.507313055865453) < 1e-14);
}

static bool nothing(double x)
{
    return rp_bits_f64(x) == 0x7FF8000000000000u;
}

static void outside_the_domain_is_the_one_nan(void **state)
{
    const double nan = rp_from_bits_f64(0xFFF8000000000123u), inf = rp_from_bits_f64(0x7FF0000000000000u);

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++)
        for (int i = 0; i < functions[f].arguments; i++) {
            double a[3] = {0.5, 0.5, 0.5};

            a[i] = nan;
            assert_true(nothing(functions[f].call(a)));
        }
    assert_true(nothing(rp_log_gamma(0)) && nothing(rp_log_gamma(-1)) && rp_log_gamma(inf) == inf);
    assert_true(nothing(rp_gamma_lower(0, 1)) && nothing(rp_gamma_lower(1, -1)) && nothing(rp_gamma_upper(0x1p35, 1)));
    assert_true(rp_gamma_lower(1, 0) == 0 && rp_gamma_upper(1, inf) == 0 && rp_gamma_upper(1, 0) == 1);
    assert_true(nothing(rp_beta_cdf(1.1, 1, 1)) && nothing(rp_beta_cdf(0.5, 0, 1)));
    assert_true(nothing(rp_beta_quantile(2, 1, 1)));
    assert_true(rp_beta_cdf(0, 2, 2) == 0 && rp_beta_cdf(1, 2, 2) == 1 && rp_beta_quantile(1, 2, 2) == 1);
    assert_true(rp_normal_cdf(inf) == 1 && rp_normal_cdf(-inf) == 0 && rp_normal_quantile(0) == -inf);
    assert_true(rp_normal_quantile(0.5) == 0 && rp_student_quantile(0.5, 3) == 0);
    assert_true(rp_student_cdf(-inf, 5) < 1e-300 && rp_f_upper(inf, 2, 3) < 1e-300);
    assert_true(nothing(rp_f_upper(1, 0, 3)) && nothing(rp_chi_squared_quantile(0.5, -1)));
}

/* "| `name(a, b)` | `0x...` |": every function has its example */
static void examples_of_the_contract_are_right(void **state)
{
    char *text = contract_text();
    const char *section = strstr(text, "\n### 13.6 "), *end = section ? strstr(section + 1, "\n## ") : NULL;
    bool seen[FUNCTIONS] = {false};

    (void)state;
    assert_non_null(section);
    for (const char *at = section; (at = strstr(at, "| `")) != NULL && (!end || at < end);) {
        const size_t name = strcspn(at += 3, "(`\n");
        const int f = find(at, name);
        double a[3] = {0};
        const char *bits;

        if (f < 0 || at[name] != '(')
            continue;
        at += name + 1;
        for (int i = 0; i < functions[f].arguments; i++) {
            const size_t length = strcspn(at, ",)");

            assert_true(rp_parse_f64(&a[i], at, length));
            at += length + (at[length] == ',' ? 2 : 1);
        }
        bits = strstr(at, "`0x");
        assert_non_null(bits);
        seen[f] = true;
        if (rp_bits_f64(functions[f].call(a)) != strtoull(bits + 3, NULL, 16))
            fail_msg("%s: found %016llx, the contract has %.16s", functions[f].name,
                     (unsigned long long)rp_bits_f64(functions[f].call(a)), bits + 3);
    }
    for (int f = 0; f < FUNCTIONS; f++)
        if (!seen[f])
            fail_msg("section 13 has no example of %s", functions[f].name);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distributions_have_the_tabulated_values),
        cmocka_unit_test(quantiles_give_back_the_points),
        cmocka_unit_test(outside_the_domain_is_the_one_nan),
        cmocka_unit_test(examples_of_the_contract_are_right),
    };
    rp_fpenv saved;
    rp_error err = {0};

    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
