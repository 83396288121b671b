/* SPDX-License-Identifier: Apache-2.0
 * What a column's treatments learn from the training rows (CONTRACT 9.5a): caps, the value of missing cells, edges of
 * bins, categories that are too rare, weights of evidence. Written into the column's schema; encoding reads only that.
 */
#include "core/data/treat/treat.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/stats/drift.h"
#include "core/stats/ranking.h"
#include "core/recipe/decimal_json.h"
#include "determinism/math.h"
#include "determinism/sum.h"

enum { FINE_BINS = 20, NO_GROUP = -1 };

typedef struct treating {
    const rp_learning *from;
    const rp_treatment *t;
    size_t col;
    rp_json *out;
    rp_schema_column so_far; /* the steps before, to apply them */
    double *value;           /* [train_rows]: present numbers, treated */
    double *sorted;
    int64_t *row;   /* [n]: which training row each is of */
    int64_t *group; /* [train_rows]: bin or category of each training row */
    size_t n;
    bool failed;
} treating;

static void put(treating *w, const char *key, rp_json *value)
{
    if (rp_json_object_set_new(w->out, key, value) != 0)
        w->failed = true;
}

static void put_reals(treating *w, const char *key, const double *value, size_t n)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < n; i++)
        if (rp_json_array_append_new(list, rp_json_decimal(value[i])) != 0)
            w->failed = true;
    put(w, key, list);
}

static rp_status refuse(const treating *w, const char *what)
{
    const rp_cells *cells = w->from->cells;
    char label[RP_LABEL_SIZE];

    return rp_fail(cells->err, RP_EARG, "%s: key data.columns: %s: %s", cells->where,
                   rp_column_label(label, sizeof label, cells->table, w->col), what);
}

/* ---- weights of evidence ---- */

/* Rows of each group of the first and of the positive class. */
static int64_t *count_groups(const treating *w, size_t groups)
{
    int64_t *count = rp_calloc(groups, 2 * sizeof *count);

    for (size_t i = 0; count != NULL && i < w->from->train_rows; i++)
        if (w->group[i] != NO_GROUP)
            count[2 * w->group[i] + (w->from->target->label[w->from->train_row[i]] != 0)]++;
    return count;
}

/* ln of the groups' shares of the positive over those of the other rows, a count of 0 taken as one half and a total of
 * 0 as 1, 0 where a group has no rows; and what the
 * groups tell of the class in all. */
static double weigh(const int64_t *count, size_t groups, double *woe, double *part)
{
    double total[2] = {0, 0};

    for (size_t k = 0; k < 2 * groups; k++)
        total[k % 2] += (double)count[k];
    for (int k = 0; k < 2; k++)
        total[k] = total[k] > 0 ? total[k] : 1;
    for (size_t i = 0; i < groups; i++) {
        double share[2];

        for (int k = 0; k < 2; k++)
            share[k] = (count[2 * i + (size_t)k] ? (double)count[2 * i + (size_t)k] : 0.5) / total[k];
        woe[i] = count[2 * i] + count[2 * i + 1] > 0 ? rp_log_f64(share[1] / share[0]) : 0;
        part[i] = (share[1] - share[0]) * woe[i];
    }
    return rp_sum_f64(part, groups, 1);
}

static rp_status put_evidence(treating *w, size_t groups)
{
    int64_t *count = count_groups(w, groups);
    double *woe = rp_reallocarray(NULL, groups, 2 * sizeof *woe);
    rp_json *counts = rp_json_array();

    if (count == NULL || woe == NULL) {
        rp_free(count);
        rp_free(woe);
        rp_json_free(counts);
        return rp_no_memory(w->from->cells->err);
    }
    put(w, "iv", rp_json_decimal(weigh(count, groups, woe, woe + groups)));
    put_reals(w, "woe", woe, groups);
    for (size_t i = 0; i < groups; i++)
        if (rp_json_array_append_new(counts, rp_json_pack("[I, I]", count[2 * i], count[2 * i + 1])) != 0)
            w->failed = true;
    put(w, "counts", counts);
    rp_free(count);
    rp_free(woe);
    return RP_OK;
}

static rp_status check_evidence(const treating *w)
{
    return w->t->woe && w->from->target->classes != 2 ? refuse(w, "woe expects a target of two classes") : RP_OK;
}

/* ---- bins ---- */

/* A run of fine bins: its rows of both classes, and where it ends. */
typedef struct block {
    int64_t count[2];
    size_t last;
} block;

/* Pools neighbours until the share of class `of` strictly rises. Counts are below 2^31, so products are exact. */
static size_t pool(const int64_t *fine, size_t bins, int of, block *out)
{
    size_t n = 0;

    for (size_t i = 0; i < bins; i++) {
        out[n++] = (block){{fine[2 * i], fine[2 * i + 1]}, i};
        while (n > 1) {
            block *a = &out[n - 2], *b = &out[n - 1];

            if (a->count[of] * (b->count[0] + b->count[1]) < b->count[of] * (a->count[0] + a->count[1]))
                break;
            a->count[0] += b->count[0];
            a->count[1] += b->count[1];
            a->last = b->last;
            n--;
        }
    }
    return n;
}

static double information(const block *b, size_t n)
{
    int64_t count[2 * FINE_BINS] = {0};
    double work[2 * FINE_BINS];

    for (size_t i = 0; i < n; i++) {
        count[2 * i] = b[i].count[0];
        count[2 * i + 1] = b[i].count[1];
    }
    return weigh(count, n, work, work + n);
}

/* Rising or falling, whichever tells more of the class; rising where both tell the same. */
static rp_status monotonic_edges(treating *w, double *edge, size_t *n_edges)
{
    double fine[FINE_BINS];
    size_t bins = rp_quantile_edges(fine, w->sorted, w->n, FINE_BINS) + 1, n[2];
    int64_t count[2 * FINE_BINS] = {0};
    block rising[FINE_BINS], falling[FINE_BINS];
    const block *best;
    int of;

    if (w->from->target->classes != 2)
        return refuse(w, "monotonic bins expect a target of two classes");
    for (size_t i = 0; i < w->n; i++) {
        size_t bin = rp_bin_of(fine, bins - 1, w->value[i]);

        count[2 * bin + (w->from->target->label[w->from->train_row[w->row[i]]] != 0)]++;
    }
    n[0] = pool(count, bins, 1, rising);
    n[1] = pool(count, bins, 0, falling);
    of = information(rising, n[0]) >= information(falling, n[1]) ? 0 : 1;
    best = of == 0 ? rising : falling;
    *n_edges = 0;
    for (size_t i = 0; i + 1 < n[of]; i++)
        edge[(*n_edges)++] = fine[best[i].last];
    return RP_OK;
}

static rp_status fit_bins(treating *w, rp_missing_rule rule)
{
    double edge[RP_BINS_MAX];
    size_t n = w->t->n_edges;
    bool missing_bin = rule == RP_MISSING_CATEGORY && w->n < w->from->train_rows;
    rp_status status = RP_OK;

    if (w->t->binning == RP_BINS_EDGES)
        memcpy(edge, w->t->edge, n * sizeof *edge);
    else if (w->t->binning == RP_BINS_QUANTILE)
        n = rp_quantile_edges(edge, w->sorted, w->n, (size_t)w->t->bins);
    else
        status = monotonic_edges(w, edge, &n);
    if (status != RP_OK)
        return status;
    put_reals(w, "edges", edge, n);
    put(w, "missing_bin", rp_json_boolean(missing_bin));
    if (!w->t->woe)
        return RP_OK;
    for (size_t i = 0; i < w->from->train_rows; i++)
        w->group[i] = missing_bin ? (int64_t)n + 1 : NO_GROUP;
    if (rule != RP_MISSING_CATEGORY)
        for (size_t i = 0; i < w->from->train_rows; i++)
            w->group[i] = (int64_t)rp_bin_of(edge, n, w->so_far.missing);
    for (size_t i = 0; i < w->n; i++)
        w->group[w->row[i]] = (int64_t)rp_bin_of(edge, n, w->value[i]);
    return put_evidence(w, n + 1 + missing_bin);
}

/* ---- numbers ---- */

static rp_status read_numbers(treating *w)
{
    const rp_learning *from = w->from;

    rp_table_numbers_of(from->cells->table, w->col, from->train_row, from->train_rows, w->value);
    for (size_t i = 0; i < from->train_rows; i++) {
        if (w->value[i] != w->value[i])
            continue;
        w->row[w->n] = (int64_t)i;
        w->value[w->n++] = w->value[i];
    }
    memcpy(w->sorted, w->value, w->n * sizeof *w->sorted);
    rp_sort_f64(w->sorted, w->n);
    return w->n > 0 ? RP_OK : refuse(w, "the training rows hold only missing values; set kind: ignore");
}

/* Caps and logarithm keep the order, so what was sorted stays so. */
static void apply_steps(treating *w)
{
    if (w->t->capped) {
        for (int k = 0; k < 2; k++)
            w->so_far.cap[k] = rp_sorted_quantile(w->sorted, w->n, w->t->cap[k]);
        w->so_far.capped = true;
        put_reals(w, "cap", w->so_far.cap, 2);
    }
    if (w->t->log)
        put(w, "log", rp_json_boolean(true));
    w->so_far.log = w->t->log;
    for (size_t i = 0; i < w->n; i++) {
        w->value[i] = rp_treat_number(&w->so_far, w->value[i]);
        w->sorted[i] = rp_treat_number(&w->so_far, w->sorted[i]);
    }
}

static rp_status check_number_keys(const treating *w)
{
    if (w->t->rare > 0)
        return refuse(w, "rare expects a categorical column, found a numeric one");
    if (w->t->woe && w->t->binning == RP_BINS_NONE)
        return refuse(w, "woe of numbers expects bins, e.g. bins: monotonic");
    if (w->t->missing == RP_MISSING_CATEGORY && w->t->binning == RP_BINS_NONE)
        return refuse(w, "missing: category of numbers expects bins; or indicator: true");
    return check_evidence(w);
}

static rp_missing_rule missing_rule(const treating *w)
{
    rp_missing_rule rule = w->from->cells->recipe->data.missing_numeric;

    if (w->t->missing != RP_MISSING_DEFAULT)
        return w->t->missing;
    return w->t->binning != RP_BINS_NONE && rule != RP_MISSING_ERROR ? RP_MISSING_CATEGORY : rule;
}

static rp_status fit_number(treating *w)
{
    const rp_cells *cells = w->from->cells;
    bool binned = w->t->binning != RP_BINS_NONE;
    double mean, deviation;
    rp_missing_rule rule = missing_rule(w);
    rp_status status = check_number_keys(w);

    if (status == RP_OK)
        status = read_numbers(w);
    if (status != RP_OK)
        return status;
    apply_steps(w);
    memcpy(w->from->scratch, w->value, w->n * sizeof *w->value);
    rp_moments(w->from->scratch, w->n, &mean, &deviation);
    if (mean - mean != 0 || deviation - deviation != 0)
        return refuse(w, "the numbers are too large to average in binary64; rescale them");
    w->so_far.missing = rule == RP_MISSING_MEDIAN     ? rp_sorted_quantile(w->sorted, w->n, 0.5)
                        : rule == RP_MISSING_CONSTANT ? rp_treat_number(&w->so_far, w->t->constant)
                                                      : mean;
    if (w->t->indicator)
        put(w, "indicator", rp_json_boolean(true));
    if (rule == RP_MISSING_MEDIAN || rule == RP_MISSING_CONSTANT || (binned && rule == RP_MISSING_MEAN))
        put(w, "missing", rp_json_decimal(w->so_far.missing));
    if (binned)
        return fit_bins(w, rule);
    put(w, "mean", rp_json_decimal(mean));
    if (cells->recipe->data.standardize)
        put(w, "deviation", rp_json_decimal(deviation));
    return RP_OK;
}

/* ---- categories ---- */

/* A word of the column and its training rows. */
typedef struct tallied {
    const char *text;
    uint32_t code;
    int64_t rows, group;
} tallied;

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const tallied *)a)->text, ((const tallied *)b)->text);
}

static rp_status check_category_keys(const treating *w)
{
    const rp_treatment *t = w->t;

    if (t->capped || t->log || t->binning != RP_BINS_NONE || t->indicator)
        return refuse(w, "cap, log, bins and indicator expect a numeric column, found a categorical one");
    if (t->missing == RP_MISSING_MEAN || t->missing == RP_MISSING_MEDIAN || t->missing == RP_MISSING_CONSTANT)
        return refuse(w, "a missing category is an error or a category of its own");
    return check_evidence(w);
}

/* Of words in order: categories, rare ones pooled. Each word gets its group, INT64_MAX where it is pooled. */
static rp_status take_categories(treating *w, tallied *word, size_t n, rp_json *list, size_t *kept, bool *other)
{
    double least = w->t->rare * (double)(int64_t)w->from->train_rows;

    for (size_t i = 0; i < n && !w->failed; i++) {
        bool rare = (double)word[i].rows < least;

        if (word[i].rows == 0)
            continue;
        if (!rare && *kept == RP_CATEGORIES_MAX)
            return refuse(w, "expected at most 4096 categories, found more; rare: 0.001 pools those of few rows");
        word[i].group = rare ? INT64_MAX : (int64_t)*kept;
        *other = *other || rare;
        *kept += !rare;
        if (!rare && rp_json_array_append_new(list, rp_json_string(word[i].text)) != 0)
            w->failed = true;
    }
    return RP_OK;
}

/* The column's words with their training rows, ordered; code [train_rows]. */
static void tally(const treating *w, tallied *word, uint32_t *code, bool *missing)
{
    const rp_dictionary *words = &w->from->cells->table->column[w->col].words;

    for (size_t i = 0; i < words->count; i++)
        word[i] = (tallied){words->word[i].at, (uint32_t)i, 0, NO_GROUP};
    rp_table_codes_of(w->from->cells->table, w->col, w->from->train_row, w->from->train_rows, code);
    for (size_t i = 0; i < w->from->train_rows; i++)
        if (code[i] == (uint32_t)RP_NO_CODE)
            *missing = true;
        else
            word[code[i]].rows++;
    qsort(word, words->count, sizeof *word, compare_texts);
}

static rp_status group_rows(treating *w, const tallied *word, const uint32_t *code, size_t kept, bool missing)
{
    size_t words = w->from->cells->table->column[w->col].words.count;
    int64_t *group_of = rp_reallocarray(NULL, words, sizeof *group_of);

    if (group_of == NULL)
        return rp_no_memory(w->from->cells->err);
    for (size_t i = 0; i < words; i++)
        group_of[word[i].code] = word[i].group == INT64_MAX ? (int64_t)(kept + missing) : word[i].group;
    for (size_t i = 0; i < w->from->train_rows; i++)
        w->group[i] = code[i] == (uint32_t)RP_NO_CODE ? (int64_t)kept : group_of[code[i]];
    rp_free(group_of);
    return RP_OK;
}

static rp_status fit_words(treating *w, tallied *word, uint32_t *code, rp_json *list)
{
    size_t words = w->from->cells->table->column[w->col].words.count, kept = 0;
    bool missing = false, other = false;
    rp_status status;

    tally(w, word, code, &missing);
    status = take_categories(w, word, words, list, &kept, &other);
    if (status != RP_OK)
        return status;
    if (missing && rp_json_array_append_new(list, rp_json_null()) != 0)
        w->failed = true;
    if (other)
        put(w, "other", rp_json_boolean(true));
    if (!w->t->woe)
        return RP_OK;
    status = group_rows(w, word, code, kept, missing);
    return status == RP_OK ? put_evidence(w, kept + missing + other) : status;
}

static rp_status fit_category(treating *w)
{
    const rp_learning *from = w->from;
    size_t words = from->cells->table->column[w->col].words.count;
    tallied *word = rp_reallocarray(NULL, words, sizeof *word);
    uint32_t *code = rp_reallocarray(NULL, from->train_rows, sizeof *code);
    rp_json *list = rp_json_array();
    rp_status status = word != NULL && code != NULL ? check_category_keys(w) : rp_no_memory(from->cells->err);

    put(w, "categories", list);
    put(w, "unseen", rp_json_integer(0));
    if (status == RP_OK)
        status = fit_words(w, word, code, list);
    rp_free(word);
    rp_free(code);
    return status;
}

rp_status rp_treat_fit(rp_json *out, const rp_learning *from, size_t col, rp_column_kind kind, const rp_treatment *t)
{
    treating w = {.from = from, .t = t, .col = col, .out = out};
    rp_status status = RP_OK;

    w.value = rp_reallocarray(NULL, from->train_rows, sizeof *w.value);
    w.sorted = rp_reallocarray(NULL, from->train_rows, sizeof *w.sorted);
    w.row = rp_reallocarray(NULL, from->train_rows, sizeof *w.row);
    w.group = rp_reallocarray(NULL, from->train_rows, sizeof *w.group);
    if (w.value == NULL || w.sorted == NULL || w.row == NULL || w.group == NULL)
        status = rp_no_memory(from->cells->err);
    if (status == RP_OK)
        status = kind == RP_COL_NUMERIC ? fit_number(&w) : fit_category(&w);
    if (status == RP_OK && w.failed)
        status = rp_no_memory(from->cells->err);
    rp_free(w.value);
    rp_free(w.sorted);
    rp_free(w.row);
    rp_free(w.group);
    return status;
}
