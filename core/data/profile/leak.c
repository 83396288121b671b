/* SPDX-License-Identifier: Apache-2.0
 * A column that gives the target away by itself, wholly or but for a few rows (CONTRACT 9.9): a copy, or what is known
 * only when the target is. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/profile/private.h"
#include "core/data/schema.h"
#include "determinism/sum.h"

enum { FEW_ROWS = 20, SOME_ROWS = 100, ROWS_A_GROUP = 10, ERRORS_LEFT = 20 };

/* ---- wholly ---- */

/* Whether rows of one group have one target, where groups have two rows or more on average. */
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

/* Cells of two columns in rows where both are present, a chunk of CONTRACT 4 at a time. */
typedef struct pairs {
    const double *from_x, *from_y;
    size_t row, rows;
    double x[RP_CHUNK], y[RP_CHUNK], product[RP_CHUNK];
} pairs;

static size_t next_pairs(pairs *p)
{
    size_t n = 0;

    for (; p->row < p->rows && n < RP_CHUNK; p->row++)
        if (p->from_x[p->row] == p->from_x[p->row] && p->from_y[p->row] == p->from_y[p->row]) {
            p->x[n] = p->from_x[p->row];
            p->y[n++] = p->from_y[p->row];
        }
    return n;
}

/* Chunk sums, which are summed by the same rule again: sum[0] of x, sum[1] of y. Returns how many pairs there are. */
static size_t sum_cells(pairs *p, double *chunk[3], double sum[3])
{
    size_t n = 0, chunks = 0, taken;

    for (p->row = 0; (taken = next_pairs(p)) > 0; n += taken, chunks++) {
        chunk[0][chunks] = rp_sum_f64(p->x, taken, 1);
        chunk[1][chunks] = rp_sum_f64(p->y, taken, 1);
    }
    for (int k = 0; k < 2; k++)
        sum[k] = rp_sum_f64(chunk[k], chunks, 1);
    return n;
}

/* Of products of the differences from the means: x with x, y with y, x with y. */
static void sum_products(pairs *p, const double mean[2], double *chunk[3], double sum[3])
{
    size_t chunks = 0, taken;

    for (p->row = 0; (taken = next_pairs(p)) > 0; chunks++)
        for (int k = 0; k < 3; k++) {
            for (size_t i = 0; i < taken; i++)
                p->product[i] =
                    (k == 1 ? p->y[i] - mean[1] : p->x[i] - mean[0]) * (k == 0 ? p->x[i] - mean[0] : p->y[i] - mean[1]);
            chunk[k][chunks] = rp_sum_f64(p->product, taken, 1);
        }
    for (int k = 0; k < 3; k++)
        sum[k] = rp_sum_f64(chunk[k], chunks, 1);
}

/* Sums of squares from here on have every bit: of smaller ones the products are rounded to multiples of 2^-1074. */
static const double full_squares = 0x1p-969;

/* The squared correlation of the rows where both are present; 0 where there is none. */
static rp_status correlate(const rp_beside *b, size_t rows, double *out)
{
    const size_t chunks = rows / RP_CHUNK + 1;
    pairs *p = rp_malloc(sizeof *p);
    double *memory = rp_reallocarray(NULL, chunks, 3 * sizeof *memory), mean[2], sum[3];
    rp_status status = p && memory ? RP_OK : rp_no_memory(b->cells->err);

    *out = 0;
    if (status == RP_OK) {
        double *chunk[3] = {memory, memory + chunks, memory + 2 * chunks};
        size_t n;

        p->from_x = b->view->value;
        p->from_y = b->target->value;
        p->rows = rows;
        n = sum_cells(p, chunk, sum);
        mean[0] = sum[0] / (double)(int64_t)n;
        mean[1] = sum[1] / (double)(int64_t)n;
        sum_products(p, mean, chunk, sum);
        if (n >= FEW_ROWS && sum[0] >= full_squares && sum[1] >= full_squares)
            *out = sum[2] / sum[0] * (sum[2] / sum[1]);
    }
    rp_free(memory);
    rp_free(p);
    return status;
}

/* ---- but for a few rows ---- */

static size_t largest(const size_t *count, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = count[i] > most ? count[i] : most;
    return most;
}

/* Rows whose target is not the most frequent one of the rows with an equal cell. count [groups * targets]. */
static size_t errors_by_group(const size_t *count, size_t groups, size_t targets, size_t rows)
{
    size_t right = 0;

    for (size_t g = 0; g < groups; g++)
        right += largest(&count[g * targets], targets);
    return rows - right;
}

/* Of two targets the rows that the best cut along the numbers has on the wrong side; missing cells are a side of their
 * own, the last group. */
static size_t errors_by_cut(const size_t *count, size_t groups, size_t distinct, size_t rows)
{
    size_t all[2] = {0}, below[2] = {0}, best = rows, missing = 0;

    for (size_t g = 0; g < distinct; g++)
        for (int k = 0; k < 2; k++)
            all[k] += count[2 * g + (size_t)k];
    for (size_t g = 0; g < distinct; g++) {
        below[0] += count[2 * g];
        below[1] += count[2 * g + 1];
        for (int k = 0; k < 2; k++) {
            const size_t wrong = below[k] + (all[1 - k] - below[1 - k]);

            best = wrong < best ? wrong : best;
        }
    }
    if (groups > distinct)
        missing = count[2 * distinct] < count[2 * distinct + 1] ? count[2 * distinct] : count[2 * distinct + 1];
    return best + missing;
}

/* In a classification: at most a twentieth of the rows that the most frequent class has wrong are wrong by this column
 * alone. *errors: SIZE_MAX where it is not so. */
static rp_status find_errors(const rp_beside *b, size_t rows, size_t *errors)
{
    const rp_column_view *v = b->view, *t = b->target;
    const bool grouped = ROWS_A_GROUP * v->groups <= rows && v->groups <= rows / t->groups,
               cut = v->numeric && t->groups == 2;
    size_t *count, *class_rows, wrong = SIZE_MAX;

    *errors = SIZE_MAX;
    if (rows < SOME_ROWS || t->missing > 0 || v->groups < 2 || !(grouped || cut))
        return RP_OK;
    count = rp_calloc(v->groups + 1, t->groups * sizeof *count);
    if (count == NULL)
        return rp_no_memory(b->cells->err);
    class_rows = &count[v->groups * t->groups];
    for (size_t row = 0; row < rows; row++) {
        count[v->group[row] * t->groups + t->group[row]]++;
        class_rows[t->group[row]]++;
    }
    if (grouped)
        wrong = errors_by_group(count, v->groups, t->groups, rows);
    if (cut) {
        const size_t by_cut = errors_by_cut(count, v->groups, v->distinct, rows);

        wrong = by_cut < wrong ? by_cut : wrong;
    }
    if (ERRORS_LEFT * wrong <= rows - largest(class_rows, t->groups))
        *errors = wrong;
    rp_free(count);
    return RP_OK;
}

/* ---- told ---- */

static rp_status tell(const rp_beside *b, const char *code, size_t count, const char *words)
{
    const rp_finding finding = {.code = code, .column = b->view->col, .row = SIZE_MAX, .count = count, .words = words};

    return rp_profile_add(b->profile, b->cells, &finding);
}

static rp_status find_in_regression(const rp_beside *b, size_t rows)
{
    char words[240], label[RP_LABEL_SIZE];
    double squared;
    rp_status status = correlate(b, rows, &squared);

    if (status != RP_OK || !(squared >= 0.99))
        return status;
    if (squared >= 1 - 1e-9)
        return tell(b, "determines_target", SIZE_MAX, NULL);
    if (rows < SOME_ROWS)
        return RP_OK;
    snprintf(words, sizeof words,
             "%s alone is nearly the target: a line through it leaves less than 1 %% of the variance; a copy of it, or "
             "known only afterwards? data.columns: ignore leaves it out",
             rp_column_label(label, sizeof label, b->cells->table, b->view->col));
    return tell(b, "nearly_determines", SIZE_MAX, words);
}

rp_status rp_find_leak(const rp_beside *b)
{
    const size_t rows = b->cells->table->rows;
    const bool regression = b->cells->recipe->train.regression;
    size_t errors = SIZE_MAX;
    rp_status status;

    if (b->target == NULL || rows < FEW_ROWS || b->target->groups < 2)
        return RP_OK;
    if (determines_by_group(b, rows) || known_with_one(b, rows) || (!regression && separates(b, rows)))
        return tell(b, "determines_target", SIZE_MAX, NULL);
    if (regression)
        return b->view->numeric && b->target->numeric ? find_in_regression(b, rows) : RP_OK;
    status = find_errors(b, rows, &errors);
    if (status != RP_OK || errors == SIZE_MAX)
        return status;
    return errors == 0 ? tell(b, "determines_target", SIZE_MAX, NULL) : tell(b, "nearly_determines", errors, NULL);
}
