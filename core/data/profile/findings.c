/* SPDX-License-Identifier: Apache-2.0
 * What of a column or a target deserves a word (CONTRACT 9.9): constants, ids, leaks, tasks that look like the other.
 * The rules are coarse on purpose: a finding stops nothing, and says what it saw. */
#include <math.h>
#include <string.h>

#include "core/data/profile/private.h"
#include "determinism/decimal.h"

enum { FEW_ROWS = 20, CATEGORIES_MANY = 100, CLASSES_NAMED = 20, SPELLINGS = 200, SPELLINGS_TOLD = 10 };

static rp_status add(const rp_beside *b, const char *code, bool note, size_t row, size_t count)
{
    const rp_table *table = b->cells->table;
    char text[RP_TEXT_SHOWN];
    const rp_finding finding = {.code = code,
                                .note = note,
                                .column = b->view->col,
                                .row = row,
                                .count = count,
                                .text = row != SIZE_MAX ? rp_table_text(table, row, b->view->col, text, sizeof text)
                                                        : NULL};

    return rp_profile_add(b->profile, b->cells, &finding);
}

static bool is_whole(const rp_column_view *view)
{
    for (size_t i = 0; i < view->numbers; i++)
        if (view->sorted[i] != floor(view->sorted[i]))
            return false;
    return true;
}

/* Each number above, or each below, the one in the row before. */
static bool is_monotone(const rp_column_view *view, size_t rows)
{
    bool up = true, down = true;

    for (size_t row = 1; row < rows; row++) {
        up = up && view->value[row] > view->value[row - 1];
        down = down && view->value[row] < view->value[row - 1];
    }
    return up || down;
}

/* In ASCII, whatever the locale. */
static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "id", or ending in it behind what is no letter or before a capital: "row_id", "customerId". */
static bool is_named_id(const char *name)
{
    size_t n = name != NULL ? strlen(name) : 0;
    const char *end = n >= 2 ? name + n - 2 : NULL;

    if (end == NULL || (end[0] != 'i' && end[0] != 'I') || (end[1] != 'd' && end[1] != 'D'))
        return false;
    return n == 2 || !is_letter_or_digit(end[-1]) || (end[0] == 'I' && end[-1] >= 'a' && end[-1] <= 'z');
}

/* Digits of the largest where all are whole and binary64 does not hold each of them; 0: no. Up to 20 digits: what is
 * larger is a quantity. */
static size_t rounded_digits(const rp_column_view *v)
{
    const double low = v->numeric && v->numbers > 0 ? v->sorted[0] : 0,
                 high = v->numeric && v->numbers > 0 ? v->sorted[v->numbers - 1] : 0;
    double most = -low > high ? -low : high;
    size_t digits = 0;

    if (!(most > 0x1p53) || !(most < 1e20) || !is_whole(v))
        return 0;
    for (; most >= 1; most /= 10)
        digits++;
    return digits;
}

static bool is_identifier(const rp_beside *b)
{
    const rp_table *table = b->cells->table;
    const rp_column_view *v = b->view;

    return v->numeric && table->rows >= FEW_ROWS && v->missing == 0 && v->distinct == table->rows && is_whole(v) &&
           (is_monotone(v, table->rows) || is_named_id(table->names != NULL ? table->names[v->col] : NULL));
}

static rp_status find_shape(const rp_beside *b)
{
    const rp_column_view *v = b->view;
    size_t rows = b->cells->table->rows, present = rows - v->missing;

    if (b->kind == RP_COL_AUTO && v->numbers > 0)
        return add(b, "mixed", false, v->numbers < v->odd ? v->first_number : v->first_odd,
                   v->numbers < v->odd ? v->numbers : v->odd);
    if (v->distinct == 0)
        return add(b, "empty", false, SIZE_MAX, SIZE_MAX);
    if (v->groups == 1)
        return add(b, "constant", false, 0, SIZE_MAX);
    if (b->kind == RP_COL_DATE || b->cells->table->column[v->col].date != NULL)
        return RP_OK; /* days that all differ are no ids */
    if (b->kind == RP_COL_NUMERIC && rounded_digits(v) > 0)
        return add(b, "rounded", false, SIZE_MAX, rounded_digits(v));
    if (b->kind == RP_COL_NUMERIC && is_identifier(b))
        return add(b, "identifier", false, 0, SIZE_MAX);
    if (b->kind != RP_COL_NUMERIC && present >= FEW_ROWS && 10 * v->distinct > 9 * present)
        return add(b, "near_unique", false, v->odd > 0 ? v->first_odd : v->first_number, v->distinct);
    if (b->kind != RP_COL_NUMERIC && v->distinct > CATEGORIES_MANY)
        return add(b, "many_categories", true, SIZE_MAX, v->distinct);
    return RP_OK;
}

rp_status rp_find_in_column(const rp_beside *b)
{
    rp_status status = find_shape(b);

    if (status == RP_OK && 2 * b->view->missing > b->cells->table->rows && b->view->distinct > 0)
        status = add(b, "many_missing", true, SIZE_MAX, b->view->missing);
    if (status == RP_OK && b->kind != RP_COL_DATE)
        status = rp_find_leak(b);
    return status == RP_OK ? rp_find_spellings(b) : status;
}

/* ---- the target ---- */

/* Without spaces at either end and without regard to ASCII case. */
static bool same_word(const char *a, const char *b)
{
    size_t n, m;

    a += strspn(a, " \t");
    b += strspn(b, " \t");
    for (n = strlen(a); n > 0 && strchr(" \t", a[n - 1]) != NULL;)
        n--;
    for (m = strlen(b); m > 0 && strchr(" \t", b[m - 1]) != NULL;)
        m--;
    for (size_t i = 0; n == m && i < n; i++) {
        char x = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] + 32) : a[i];
        char y = b[i] >= 'A' && b[i] <= 'Z' ? (char)(b[i] + 32) : b[i];

        if (x != y)
            return false;
    }
    return n == m;
}

static bool same_number(const char *a, const char *b)
{
    double x, y;

    return rp_parse_f64(&x, a, strlen(a)) && rp_parse_f64(&y, b, strlen(b)) && x == y;
}

/* Classes are texts, in the order in which they first come: 1 and 1.0 are two. */
static rp_status find_in_classes(const rp_beside *b)
{
    const rp_dictionary *words = &b->cells->table->column[b->view->col].words;
    const rp_word *word = words->word;
    size_t n = words->count, least = 0, pairs = 0;
    rp_status status = RP_OK;

    if (b->view->numeric && b->view->distinct > CLASSES_NAMED)
        return add(b, "quantity", false, SIZE_MAX, b->view->distinct);
    if (n > SPELLINGS)
        return RP_OK;
    for (size_t i = 1; i < n && status == RP_OK; i++) {
        least = word[i].count < word[least].count ? i : least;
        for (size_t k = 0; k < i && status == RP_OK; k++)
            if (same_word(word[i].at, word[k].at) || same_number(word[i].at, word[k].at)) {
                status =
                    pairs++ < SPELLINGS_TOLD ? add(b, "class_spelling", false, word[i].first, word[i].count) : RP_OK;
                break;
            }
    }
    if (status == RP_OK && pairs > SPELLINGS_TOLD)
        status = add(b, "class_spellings", false, SIZE_MAX, pairs);
    if (status == RP_OK && n > 1 && n <= CLASSES_NAMED && 20 * (size_t)word[least].count < b->cells->table->rows)
        status = add(b, "imbalance", true, word[least].first, word[least].count);
    return status;
}

rp_status rp_find_in_target(const rp_beside *b)
{
    rp_status status = RP_OK;

    if (b->view->missing > 0)
        status = add(b, "target_missing", false, b->view->first_missing, b->view->missing);
    if (status != RP_OK)
        return status;
    if (!b->cells->recipe->train.regression)
        return find_in_classes(b);
    if (b->view->distinct <= 2)
        return add(b, "class", false, SIZE_MAX, b->view->distinct);
    return RP_OK;
}
