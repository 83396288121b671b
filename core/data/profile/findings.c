/* SPDX-License-Identifier: Apache-2.0
 * What of a column or a target deserves a word (CONTRACT 9.9): constants, ids, leaks, tasks that look like the other.
 * The rules are coarse on purpose: a finding stops nothing, and says what it saw. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/profile/private.h"
#include "determinism/decimal.h"
#include "determinism/sum.h"

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

/* ---- a column that gives the target away ---- */

/* Whether rows of one group have one target: *many is set where groups have two rows or more on average. */
static bool determines_by_group(const rp_beside *b, size_t rows)
{
    const rp_column_view *v = b->view, *t = b->target;
    size_t *first = v->scratch;

    if (v->groups < 2 || 2 * v->groups > rows)
        return false;
    memset(first, 0xFF, v->groups * sizeof *first);
    for (size_t row = 0; row < rows; row++) {
        if (first[v->group[row]] == SIZE_MAX)
            first[v->group[row]] = row;
        else if (t->group[first[v->group[row]]] != t->group[row])
            return false;
    }
    return true;
}

/* Whether the cell is missing in all rows of one of two targets, and there in all of the other. */
static bool known_with_one(const rp_beside *b, size_t rows)
{
    const rp_column_view *v = b->view, *t = b->target;
    size_t missing_in[2] = {0}, rows_of[2] = {0};

    if (t->groups != 2 || v->missing == 0)
        return false;
    for (size_t row = 0; row < rows; row++) {
        rows_of[t->group[row]]++;
        missing_in[t->group[row]] += v->group[row] == v->groups - 1;
    }
    return (missing_in[0] == rows_of[0] && missing_in[1] == 0) || (missing_in[1] == rows_of[1] && missing_in[0] == 0);
}

/* Whether along the sorted numbers each class is one piece, without a missing cell and without a number of two classes.
 */
static bool separates(const rp_beside *b, size_t rows)
{
    const rp_column_view *v = b->view, *t = b->target;
    size_t *class_of = v->scratch, pieces = 1;

    if (!v->numeric || v->missing > 0)
        return false;
    memset(class_of, 0xFF, v->groups * sizeof *class_of);
    for (size_t row = 0; row < rows; row++) {
        if (class_of[v->group[row]] != SIZE_MAX && class_of[v->group[row]] != t->group[row])
            return false;
        class_of[v->group[row]] = t->group[row];
    }
    for (size_t i = 1; i < v->groups; i++)
        pieces += class_of[i] != class_of[i - 1];
    return pieces == t->groups;
}

/* The squared correlation is 1 but for rounding. */
static rp_status is_linear(const rp_beside *b, size_t rows, bool *out)
{
    const rp_column_view *v = b->view, *t = b->target;
    double *x = rp_reallocarray(NULL, rows, 3 * sizeof *x), *y, *product, mean[2], sum[3];
    size_t n = 0;

    *out = false;
    if (x == NULL)
        return rp_no_memory(b->cells->err);
    y = x + rows;
    product = y + rows;
    for (size_t row = 0; row < rows; row++)
        if (v->value[row] == v->value[row] && t->value[row] == t->value[row]) {
            x[n] = v->value[row];
            y[n++] = t->value[row];
        }
    mean[0] = rp_sum_f64(x, n, 1) / (double)(int64_t)n;
    mean[1] = rp_sum_f64(y, n, 1) / (double)(int64_t)n;
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++)
            product[i] = (k == 1 ? y[i] - mean[1] : x[i] - mean[0]) * (k == 0 ? x[i] - mean[0] : y[i] - mean[1]);
        sum[k] = rp_sum_f64(product, n, 1);
    }
    *out = n >= FEW_ROWS && sum[0] > 0 && sum[1] > 0 && sum[2] / sum[0] * (sum[2] / sum[1]) >= 1 - 1e-9;
    rp_free(x);
    return RP_OK;
}

static rp_status find_leak(const rp_beside *b)
{
    size_t rows = b->cells->table->rows;
    bool regression = b->cells->recipe->train.regression, found;
    rp_status status;

    if (b->target == NULL || rows < FEW_ROWS || b->target->groups < 2)
        return RP_OK;
    found = determines_by_group(b, rows) || known_with_one(b, rows) || (!regression && separates(b, rows));
    if (!found && regression && b->view->numeric && b->target->numeric) {
        status = is_linear(b, rows, &found);
        if (status != RP_OK)
            return status;
    }
    return found ? add(b, "determines_target", false, SIZE_MAX, SIZE_MAX) : RP_OK;
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
        status = find_leak(b);
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
