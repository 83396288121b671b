/* SPDX-License-Identifier: Apache-2.0
 * Coefficients on a terminal, as statistics programs print them: without a penalty with errors and tests, else the
 * estimates. The table may be anybody's: what is not of its form is passed over. */
#include "cli/coefficients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/print.h"

enum { FIELDS = 9, NAME_TEXT = 44, FIELD_TEXT = 16, DIGITS = 5, POWER_MOST = 9999 };

typedef struct line {
    char name[NAME_TEXT], field[FIELDS][FIELD_TEXT];
} line;

typedef struct layout {
    const char *key[FIELDS], *head[FIELDS];
    size_t fields, width[FIELDS], name;
} layout;

/* ---- numbers ---- */

/* The digits of a decimal, and the power of ten of the first; false: it is no decimal. */
static bool take_digits(const char *decimal, char digits[RP_NUMBER_TEXT], size_t *n, long *power)
{
    bool point = false, digit = false;

    *n = 0;
    *power = -1;
    for (; *decimal && *decimal != 'e' && *decimal != 'E'; decimal++) {
        if (*decimal == '.' && !point) {
            point = true;
            continue;
        }
        if (*decimal < '0' || *decimal > '9' || *n + 1 >= RP_NUMBER_TEXT)
            return false;
        digit = true;
        if (*n > 0 || *decimal != '0') {
            digits[(*n)++] = *decimal;
            *power += !point;
        } else if (point) {
            (*power)--;
        }
    }
    if (!digit)
        return false;
    if (*decimal) {
        char *end;
        const long exponent = strtol(decimal + 1, &end, 10);

        if (!strchr("+-0123456789", decimal[1]) || end == decimal + 1 || *end || exponent < -POWER_MOST ||
            exponent > POWER_MOST)
            return false;
        *power += exponent;
    }
    return true;
}

/* Rounds to DIGITS digits. */
static void round_digits(char *digits, size_t *n, long *power)
{
    size_t i = DIGITS;
    bool up = *n > DIGITS && digits[DIGITS] >= '5';

    *n = *n < DIGITS ? *n : DIGITS;
    while (up && i > 0) {
        i--;
        up = digits[i] == '9';
        digits[i] = up ? '0' : (char)(digits[i] + 1);
    }
    if (up) { /* 9.99995 */
        digits[0] = '1';
        *n = 1;
        (*power)++;
    }
    while (*n > 1 && digits[*n - 1] == '0')
        (*n)--;
}

static void put_number(char out[FIELD_TEXT], const char *decimal)
{
    const char *sign = decimal && *decimal == '-' ? "-" : "";
    char digits[RP_NUMBER_TEXT] = "", plain[FIELD_TEXT - 1] = "0";
    size_t n = 0, at = 0;
    long power = 0;

    out[0] = '\0';
    if (!decimal)
        return;
    if (!take_digits(decimal + (*sign != '\0'), digits, &n, &power)) {
        (void)rp_printable(out, FIELD_TEXT, decimal, strlen(decimal));
        return;
    }
    if (n > 0)
        round_digits(digits, &n, &power);
    if (n > 0 && (power < -4 || power > 7)) {
        (void)snprintf(out, FIELD_TEXT, "%s%c%s%.*se%ld", sign, digits[0], n > 1 ? "." : "", (int)(n - 1), digits + 1,
                       power);
        return;
    }
    if (n > 0) {
        if (power < 0)
            plain[at++] = '0';
        for (long p = power < 0 ? -1 : power; p >= 0 || (long)n > power - p; p--) {
            if (p == -1)
                plain[at++] = '.';
            plain[at++] = p > power || power - p >= (long)n ? '0' : digits[power - p];
        }
        plain[at] = '\0';
    }
    (void)snprintf(out, FIELD_TEXT, "%s%s", sign, plain);
}

/* ---- names ---- */

static void append(char out[NAME_TEXT], const char *text)
{
    const size_t used = strlen(out);

    (void)rp_printable(out + used, NAME_TEXT - used, text, strlen(text));
}

static const char *edge(const rp_json *edge, const char *otherwise)
{
    return rp_json_is_string(edge) ? rp_json_string_value(edge) : otherwise;
}

static void put_part(char out[NAME_TEXT], const rp_json *term)
{
    const rp_json *column = rp_json_object_get(term, "column"), *category = rp_json_object_get(term, "category");
    const rp_json *bin = rp_json_object_get(term, "bin");
    char number[24];

    (void)snprintf(number, sizeof number, "%lld", (long long)rp_json_integer_value(column));
    append(out, rp_json_is_string(column) ? rp_json_string_value(column) : number);
    if (bin) {
        append(out, " [");
        append(out, edge(rp_json_array_get(bin, 0), ".."));
        append(out, ", ");
        append(out, edge(rp_json_array_get(bin, 1), ".."));
        append(out, ")");
    }
    if (rp_json_object_get(term, "indicator"))
        append(out, " missing");
    if (rp_json_object_get(term, "woe"))
        append(out, " woe");
    if (rp_json_object_get(term, "other"))
        append(out, " rare");
    if (category) {
        append(out, " = ");
        append(out, edge(category, "missing"));
    }
}

static void put_name(char out[NAME_TEXT], const rp_json *term)
{
    const char *standing = rp_json_string_value(rp_json_object_get(term, "standing"));
    const rp_json *times = rp_json_object_get(term, "times");

    out[0] = '\0';
    if (!rp_json_object_get(term, "column"))
        append(out, "intercept");
    else
        put_part(out, term);
    if (times) {
        append(out, " * ");
        put_part(out, times);
    }
    if (!standing || strcmp(standing, "estimated") == 0)
        return;
    append(out, strcmp(standing, "left_out") == 0 ? " (left out)"
                : strcmp(standing, "zero") == 0   ? " (0 by l1)"
                                                  : " (");
    if (strcmp(standing, "left_out") != 0 && strcmp(standing, "zero") != 0) {
        append(out, standing);
        append(out, ")");
    }
}

/* ---- the table ---- */

static layout lay_out(const rp_json *table)
{
    const char *family = rp_json_string_value(rp_json_object_get(table, "family"));
    const bool tests = rp_json_object_get(table, "dispersion") != NULL;
    const bool t = family && strcmp(family, "gaussian") == 0; /* CONTRACT 12.9 */
    const bool odds = family && strstr(family, "nomial"), ratio = family && !odds && strcmp(family, "gaussian") != 0;
    layout l = {.key = {"estimate", "encoded"}, .head = {"estimate", "as encoded"}, .fields = 2};

    if (tests)
        l = (layout){
            .key = {"estimate", "error", "statistic", "p", "low", "high", "inflation", odds ? "odds" : "ratio"},
            .head = {"estimate", "std. error", t ? "t" : "z", "p", "95 % from", "to", "VIF",
                     odds ? "odds ratio" : "rate ratio"},
            .fields = odds || ratio ? 8 : 7};
    return l;
}

static void fill(line *to, const layout *l, const rp_json *term)
{
    put_name(to->name, term);
    for (size_t k = 0; k < l->fields; k++)
        put_number(to->field[k], rp_json_string_value(rp_json_object_get(term, l->key[k])));
}

static void measure(layout *l, const rp_json *terms, size_t shown)
{
    line one;

    l->name = strlen("coefficient");
    for (size_t k = 0; k < l->fields; k++)
        l->width[k] = strlen(l->head[k]);
    for (size_t i = 0; i < shown; i++) {
        fill(&one, l, rp_json_array_get(terms, i));
        l->name = rp_characters(one.name) > l->name ? rp_characters(one.name) : l->name;
        for (size_t k = 0; k < l->fields; k++)
            l->width[k] = strlen(one.field[k]) > l->width[k] ? strlen(one.field[k]) : l->width[k];
    }
}

static void put_spaces(rp_buffer *out, size_t n)
{
    while (n-- > 0)
        rp_buffer_u8(out, ' ');
}

/* Behind it the line is blank. */
static size_t last_field(const line *one, const layout *l)
{
    size_t n = l->fields;

    while (n > 0 && one->field[n - 1][0] == '\0')
        n--;
    return n;
}

static void put_terms(rp_buffer *out, layout *l, const rp_json *terms, size_t shown)
{
    line one;

    measure(l, terms, shown);
    rp_buffer_text(out, "coefficient");
    put_spaces(out, l->name - strlen("coefficient"));
    for (size_t k = 0; k < l->fields; k++) {
        put_spaces(out, 2 + l->width[k] - strlen(l->head[k]));
        rp_buffer_text(out, l->head[k]);
    }
    rp_buffer_u8(out, '\n');
    for (size_t i = 0; i < shown; i++) {
        fill(&one, l, rp_json_array_get(terms, i));
        rp_put_plain_line(out, one.name);
        put_spaces(out, l->name - rp_characters(one.name));
        for (size_t k = 0; k < last_field(&one, l); k++) {
            put_spaces(out, 2 + l->width[k] - strlen(one.field[k]));
            rp_buffer_text(out, one.field[k]);
        }
        rp_buffer_u8(out, '\n');
    }
}

size_t rp_put_coefficients(rp_buffer *out, const rp_json *table, size_t most)
{
    const rp_json *outputs = rp_json_object_get(table, "outputs");
    layout l = lay_out(table);
    size_t left = 0;

    for (size_t i = 0; i < rp_json_array_size(outputs); i++) {
        const rp_json *output = rp_json_array_get(outputs, i), *terms = rp_json_object_get(output, "terms");
        const char *class = rp_json_string_value(rp_json_object_get(output, "class"));
        const size_t n = rp_json_array_size(terms), shown = n < most ? n : most;

        left += n - shown;
        most -= most == SIZE_MAX ? 0 : shown;
        if (shown == 0)
            continue;
        if (class) {
            rp_buffer_text(out, "class ");
            rp_put_plain_line(out, class);
            rp_buffer_u8(out, '\n');
        }
        put_terms(out, &l, terms, shown);
    }
    return left;
}

void rp_put_fit_figures(rp_buffer *out, const rp_json *table)
{
    static const char *const figures[][2] = {
        {"log_likelihood", "log likelihood"}, {"deviance", "deviance"}, {"dispersion", "dispersion"},
        {"pearson_dispersion", "by Pearson"}, {"aic", "AIC"},           {"bic", "BIC"},
        {"mcfadden", "McFadden's R squared"}, {"r2", "R squared"},      {"condition", "condition number"}};
    bool any = false;

    for (size_t i = 0; rp_json_object_get(table, "dispersion") && i < sizeof figures / sizeof *figures; i++) {
        const char *text = rp_json_string_value(rp_json_object_get(table, figures[i][0]));
        char number[FIELD_TEXT];

        if (!text)
            continue;
        put_number(number, text);
        rp_buffer_printf(out, "%s%s %s", any ? ", " : "", figures[i][1], number);
        any = true;
    }
    if (any)
        rp_buffer_u8(out, '\n');
}
