/* SPDX-License-Identifier: Apache-2.0
 * The examples of CONTRACT 5 and 6.4 as the text has them: every call of its tables is made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "determinism/bits.h"
#include "determinism/decimal.h"
#include "determinism/math.h"
#include "determinism/philox.h"
#include "tests/determinism/contract_text.h"

enum { CALLS = 68 }; /* in all tables of section 5: one that is not understood must not be passed over */

#define ONE(name) \
    { \
#name, rp_##name##_f64, NULL, rp_##name##_f32 \
    }
#define ALONE(name) \
    { \
#name, rp_##name##_f64, NULL, NULL \
    }
#define TWO(name) \
    { \
#name, NULL, rp_##name##_f64, NULL \
    }

static const struct {
    const char *name;
    double (*one)(double);
    double (*two)(double, double);
    float (*narrow)(float);
} functions[] = {ONE(exp),     ONE(expm1), ONE(exp2),  ONE(log),     ONE(log1p),   ONE(log2),   ONE(log10),
                 ONE(sin),     ONE(cos),   ONE(tan),   ONE(tanh),    ONE(sinh),    ONE(cosh),   ONE(asin),
                 ONE(acos),    ONE(atan),  ONE(erf),   ONE(sigmoid), ONE(erfc),    ONE(cbrt),   ONE(rsqrt),
                 ONE(erf_inv), TWO(atan2), TWO(hypot), TWO(pow),     ALONE(sinpi), ALONE(cospi)};

/* Reads a number that ends at close: a decimal, or the bits of a binary32. */
static const char *argument(const char *at, double *out)
{
    const size_t length = strcspn(at, ",)");

    if (strncmp(at, "0x", 2) == 0)
        *out = rp_from_bits_f32((uint32_t)strtoul(at, NULL, 16));
    else if (!rp_parse_f64(out, at, length))
        fail_msg("\"%.*s\" is no number", (int)length, at);
    return at + length;
}

/* at: behind "| `" of a row; whether it is a call with bits behind it, which then are right. */
static bool check_call(const char *at)
{
    const size_t name = strcspn(at, "(`\n");
    const char *bits = strstr(at, "` | `0x"), *close = strchr(at, '`');
    double x, y = 0;
    size_t digits;
    uint64_t expected, found;

    if (at[name] != '(' || bits == NULL || bits != close)
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strlen(functions[i].name) != name || memcmp(functions[i].name, at, name) != 0)
            continue;
        at = argument(at + name + 1, &x);
        if (*at == ',')
            at = argument(at + 2, &y);
        assert_memory_equal(at, ")`", 2);
        bits += strlen("` | `0x");
        digits = strspn(bits, "0123456789ABCDEF");
        contract_words(bits, 1, digits, &expected);
        found = digits == 8        ? rp_bits_f32(functions[i].narrow((float)x))
                : functions[i].one ? rp_bits_f64(functions[i].one(x))
                                   : rp_bits_f64(functions[i].two(x, y));
        if (found != expected)
            fail_msg("%s(%.17g, %.17g): the text has %llx, found %llx", functions[i].name, x, y,
                     (unsigned long long)expected, (unsigned long long)found);
        return true;
    }
    return false;
}

static void every_call_of_section_5_has_the_bits_of_the_text(void **state)
{
    char *text = contract_text();
    const char *from = strstr(text, "\n## 5 "), *end = strstr(text, "\n## 6 ");
    size_t calls = 0;

    (void)state;
    assert_true(from != NULL && end != NULL);
    for (const char *at = from; (at = strstr(at, "| `")) != NULL && at < end;)
        calls += check_call(at += strlen("| `"));
    assert_int_equal(calls, CALLS);
    free(text);
}

static void normal_numbers_have_the_bits_of_the_text(void **state)
{
    char *text = contract_text();
    uint64_t bits[4], narrow;

    (void)state;
    contract_words(contract_at(text, "### 6.4", "u1 = 2525225941911917 * 2^-53, and z = "), 1, 16, bits);
    contract_words(contract_at(text, "### 6.4", "(0, 1) "), 1, 8, &narrow);
    contract_words(contract_at(text, "### 6.4", "Blocks 1 to 3: z = "), 3, 16, bits + 1);
    for (uint64_t i = 0; i < 4; i++) {
        const double z = rp_normal_f64(rp_random_block(42, 3, 1, i));

        assert_int_equal(rp_bits_f64(z), bits[i]);
        if (i == 0)
            assert_int_equal(rp_bits_f32((float)z), narrow);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_section_5_has_the_bits_of_the_text),
        cmocka_unit_test(normal_numbers_have_the_bits_of_the_text),
    };

    return cmocka_run_group_tests_name("contract text", tests, NULL, NULL);
}
