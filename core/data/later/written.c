/* SPDX-License-Identifier: Apache-2.0
 * Columns as texts: a table of which only what is wanted is loaded. */
#include "core/data/later/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/schema.h"
#include "core/data/table.h"

struct rp_written {
    const rp_schema *schema;
    const rp_recipe *recipe;
    const char *where;
    rp_table *table;
    rp_store *store; /* [cols] */
    size_t target;   /* cols: none */
    size_t trials;   /* of a target that counts successes; cols: none */
};

static size_t find_name(const rp_written *t, const char *name)
{
    size_t col = 0;

    while (col < t->table->cols && strcmp(t->table->names[col], name) != 0)
        col++;
    return col;
}

/* The target's column; as many as there are columns when the table has none. */
static size_t find_target(const rp_written *t)
{
    for (size_t i = 0; i < t->schema->n_columns; i++) {
        if (!t->schema->columns[i].target)
            continue;
        if (t->table->names && t->schema->columns[i].name)
            return find_name(t, t->schema->columns[i].name);
        return t->table->cols == rp_schema_own(t->schema) ? i : t->table->cols;
    }
    return t->table->cols;
}

/* In training; NULL: it had none. The recipe and the schema may be anybody's. */
static const char *name_of_trials(const rp_written *t)
{
    const rp_column_ref *ref = &t->recipe->data.denominator;

    if (ref->name || !ref->given)
        return ref->name;
    return (size_t)ref->index < t->schema->n_columns ? t->schema->columns[ref->index].name : NULL;
}

/* The column of trials, where the recipe names one and the table has it. */
static size_t find_trials(const rp_written *t)
{
    const rp_column_ref *ref = &t->recipe->data.denominator;
    const char *name = name_of_trials(t);

    if (!ref->given || t->target >= t->table->cols)
        return t->table->cols;
    if (!t->table->names)
        return ref->name ? t->table->cols : (size_t)ref->index;
    return name ? find_name(t, name) : t->table->cols;
}

rp_status rp_written_open(rp_written **out, const rp_schema *schema, const rp_recipe *recipe, const void *csv,
                          size_t size, const char *where, rp_error *err)
{
    rp_written *t = rp_calloc(1, sizeof *t);
    rp_status status;

    *out = NULL;
    if (!t)
        return rp_no_memory(err);
    *t = (rp_written){.schema = schema, .recipe = recipe, .where = where};
    status = rp_table_open(&t->table, csv, size, recipe, where, err);
    if (status == RP_OK && (t->store = rp_calloc(t->table->cols, sizeof *t->store)) == NULL)
        status = rp_no_memory(err);
    if (status == RP_OK) {
        t->target = find_target(t);
        if (t->target < t->table->cols)
            t->store[t->target] = RP_STORE_TEXTS;
        t->trials = find_trials(t);
        if (t->trials < t->table->cols)
            t->store[t->trials] = RP_STORE_TEXTS;
        *out = t;
        return RP_OK;
    }
    rp_written_free(t);
    return status;
}

void rp_written_free(rp_written *t)
{
    if (!t)
        return;
    rp_table_free(t->table);
    rp_free(t->store);
    rp_free(t);
}

static rp_status fail_column(const rp_written *t, const char *name, rp_error *err)
{
    char quoted[64], list[400] = "";
    size_t used = 0;

    for (size_t i = 0; t->table->names && i < t->table->cols && used + 80 < sizeof list; i++) {
        char one[64];

        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", i ? ", " : "",
                                 rp_printable(one, sizeof one, t->table->names[i], strlen(t->table->names[i])));
    }
    return rp_fail(err, RP_EARG, "%s: expected a column \"%s\", found %s%s", t->where,
                   rp_printable(quoted, sizeof quoted, name, strlen(name)),
                   t->table->names ? "only " : "no header: give a number from 0", list);
}

rp_status rp_written_want(rp_written *t, const char *name, size_t *col, rp_error *err)
{
    char *end = "";

    if (t->table->names)
        *col = find_name(t, name);
    else
        *col = name[0] >= '0' && name[0] <= '9' ? strtoul(name, &end, 10) : t->table->cols;
    if (*col >= t->table->cols || *end)
        return fail_column(t, name, err);
    t->store[*col] = RP_STORE_TEXTS;
    return RP_OK;
}

rp_status rp_written_load(rp_written *t, rp_pool *pool, rp_error *err)
{
    return rp_table_load(t->table, t->store, t->recipe, &(rp_table_options){.pool = pool}, err);
}

/* The parts of dates stand behind the table's columns: what was none of those is none of these. */
static rp_status derive(rp_written *t, const rp_cells *cells, rp_error *err)
{
    const size_t before = t->table->cols;
    rp_status status = rp_dates_declare(cells, t->table);
    rp_store *grown = status == RP_OK ? rp_reallocarray(t->store, t->table->cols + 1, sizeof *grown) : NULL;

    if (!grown)
        return status == RP_OK ? rp_no_memory(err) : status;
    t->store = grown;
    for (size_t i = before; i < t->table->cols; i++)
        t->store[i] = RP_STORE_NONE;
    t->target = t->target < before ? t->target : t->table->cols;
    t->trials = t->trials < before ? t->trials : t->table->cols;
    return RP_OK;
}

rp_status rp_written_load_kept(rp_written *t, rp_pool *pool, size_t *left_out, rp_error *err)
{
    const rp_cells cells = {.table = t->table, .recipe = t->recipe, .where = t->where, .err = err, .recorded = true};
    rp_filter *filter = NULL;
    rp_status status = derive(t, &cells, err);

    if (status == RP_OK)
        status = rp_filter_conditions(&filter, &cells);
    if (status == RP_OK)
        status = rp_table_load(t->table, t->store, t->recipe, &(rp_table_options){.pool = pool, .filter = filter}, err);
    *left_out = t->table->dropped[0];
    rp_filter_free(filter);
    return status;
}

/* Whether the cells that make the outcomes of n rows are there. */
static void mark_present(bool present[RP_BLOCK], const rp_written *t, size_t first, size_t n)
{
    const size_t col[] = {t->target, t->trials};
    uint32_t code[RP_BLOCK];

    memset(present, 1, n * sizeof *present);
    for (size_t k = 0; k < sizeof col / sizeof *col; k++) {
        if (col[k] >= t->table->cols)
            continue;
        rp_table_codes(t->table, col[k], first, n, code);
        for (size_t i = 0; i < n; i++)
            present[i] = present[i] && code[i] != (uint32_t)RP_NO_CODE;
    }
}

size_t rp_written_called_missing(const rp_written *all, const rp_written *t)
{
    bool written[RP_BLOCK], taken[RP_BLOCK];
    size_t out = 0;

    if (all->target >= all->table->cols || all->table->rows != t->table->rows)
        return 0;
    for (size_t first = 0; first < t->table->rows; first += RP_BLOCK) {
        const size_t n = t->table->rows - first < RP_BLOCK ? t->table->rows - first : RP_BLOCK;

        mark_present(written, all, first, n);
        mark_present(taken, t, first, n);
        for (size_t i = 0; i < n; i++)
            out += written[i] && !taken[i];
    }
    return out;
}

size_t rp_written_rows(const rp_written *t)
{
    return t->table->rows;
}

void rp_written_column(const rp_written *t, size_t col, const char **out)
{
    const rp_dictionary *words = &t->table->column[col].words;
    uint32_t code[RP_BLOCK];

    for (size_t first = 0; first < t->table->rows; first += RP_BLOCK) {
        const size_t n = t->table->rows - first < RP_BLOCK ? t->table->rows - first : RP_BLOCK;

        rp_table_codes(t->table, col, first, n, code);
        for (size_t i = 0; i < n; i++)
            out[first + i] = code[i] == (uint32_t)RP_NO_CODE ? NULL : words->word[code[i]].at;
    }
}

bool rp_written_number(const rp_written *t, const char *text, double *out)
{
    rp_dress dress;
    int places;

    return rp_number_f64(&t->recipe->data.reading, text, strlen(text), out, &places, &dress) && *out - *out == 0;
}

/* ---- outcomes ---- */

typedef struct outcome {
    int64_t label;
    double value;
} outcome;

static rp_status fail_outcome(const rp_written *t, const rp_word *word, const char *expected, rp_error *err)
{
    char quoted[64];

    return rp_fail(err, RP_EDATA, "%s:%zu: target: expected %s, found \"%s\"", t->where,
                   rp_table_line(t->table, word->first), expected,
                   rp_printable(quoted, sizeof quoted, word->at, word->length));
}

/* In the model's format, and finite in binary32 in any case (CONTRACT 9.3). */
static bool read_value(const rp_written *t, const rp_word *word, double *out)
{
    float narrow;

    if (!rp_number_f32(&t->recipe->data.reading, word->at, word->length, &narrow) || narrow - narrow != 0)
        return false;
    *out = (double)narrow;
    return !t->recipe->train.exact || rp_written_number(t, word->at, out);
}

static rp_status read_word(const rp_written *t, const rp_word *word, outcome *out, rp_error *err)
{
    char classes[RP_CLASSES_SIZE], expected[RP_CLASSES_SIZE + 80];

    if (!t->schema->classes)
        return read_value(t, word, &out->value) ? RP_OK : fail_outcome(t, word, "a finite binary32 number", err);
    for (size_t k = 0; k < t->schema->classes; k++)
        if (strcmp(word->at, t->schema->class_name[k]) == 0) {
            out->label = (int64_t)k;
            return RP_OK;
        }
    (void)snprintf(expected, sizeof expected, "a class of the training data, letter for letter: %s",
                   rp_schema_classes(classes, t->schema));
    return fail_outcome(t, word, expected, err);
}

/* The words that stand in one of the rows. */
static bool *mark_words(const rp_written *t, const int64_t *row, size_t n)
{
    bool *used = rp_calloc(t->table->column[t->target].words.count + 1, sizeof *used);
    uint32_t code[RP_BLOCK];

    for (size_t first = 0; first < n && used; first += RP_BLOCK) {
        const size_t part = n - first < RP_BLOCK ? n - first : RP_BLOCK;

        rp_table_codes_of(t->table, t->target, row + first, part, code);
        for (size_t i = 0; i < part; i++)
            if (code[i] != (uint32_t)RP_NO_CODE)
                used[code[i]] = true;
    }
    return used;
}

static void spread(const rp_written *t, const outcome *of, int64_t *label, double *value, bool *known)
{
    uint32_t code[RP_BLOCK];

    for (size_t first = 0; first < t->table->rows; first += RP_BLOCK) {
        const size_t n = t->table->rows - first < RP_BLOCK ? t->table->rows - first : RP_BLOCK;

        rp_table_codes(t->table, t->target, first, n, code);
        for (size_t i = 0; i < n; i++) {
            known[first + i] = code[i] != (uint32_t)RP_NO_CODE;
            if (known[first + i] && label)
                label[first + i] = of[code[i]].label;
            else if (known[first + i])
                value[first + i] = of[code[i]].value;
        }
    }
}

/* Rows that were not asked for are without an outcome, whatever words stand in them. */
static void keep_listed(bool *known, size_t rows, const int64_t *row, size_t n)
{
    for (size_t i = 0, next = 0; i < rows; i++)
        if (next < n && (size_t)row[next] == i)
            next++;
        else
            known[i] = false;
}

/* A cell of counts; missing: not known. */
static rp_status read_count(const rp_written *t, size_t col, size_t row, const char *text, double most, double *out,
                            rp_error *err)
{
    char quoted[64], label[RP_LABEL_SIZE];

    *out = -1;
    if (text == NULL)
        return RP_OK;
    if (rp_written_number(t, text, out) && *out >= 0 && *out <= most && *out == __builtin_floor(*out))
        return RP_OK;
    return rp_fail(err, RP_EDATA, "%s:%zu: %s %s: expected a whole number from 0 to %s%.0f, found \"%s\"", t->where,
                   rp_table_line(t->table, row), col == t->target ? "target" : "denominator",
                   rp_column_label(label, sizeof label, t->table, col), col == t->target ? "the row's trials, " : "",
                   most, rp_printable(quoted, sizeof quoted, text, strlen(text)));
}

/* Proportions of the rows that have trials. */
static rp_status read_counts(const rp_written *t, const int64_t *row, size_t n, double *value, bool *known,
                             rp_error *err)
{
    const size_t rows = t->table->rows;
    const char **successes = rp_reallocarray(NULL, rows + 1, sizeof *successes);
    const char **trials = rp_reallocarray(NULL, rows + 1, sizeof *trials);
    rp_status status = successes && trials ? RP_OK : rp_no_memory(err);

    if (status == RP_OK) {
        rp_written_column(t, t->target, successes);
        rp_written_column(t, t->trials, trials);
    }
    for (size_t i = 0; i < (row ? n : rows) && status == RP_OK; i++) {
        const size_t at = row ? (size_t)row[i] : i;
        double of, count = -1;

        if (successes[at] == NULL)
            continue;
        status = read_count(t, t->trials, at, trials[at], RP_TRIALS_MAX, &of, err);
        if (status == RP_OK && of > 0)
            status = read_count(t, t->target, at, successes[at], of, &count, err);
        if (status != RP_OK || count < 0)
            continue;
        known[at] = true;
        value[at] = count / of;
    }
    rp_free(successes);
    rp_free(trials);
    return status;
}

static rp_status fail_no_trials(const rp_written *t, rp_error *err)
{
    const char *name = name_of_trials(t);
    char quoted[64];

    return rp_fail(err, RP_EDATA,
                   "%s:1: expected the column \"%s\" in the header, the trials of the target that is there, found none",
                   t->where, name ? rp_printable(quoted, sizeof quoted, name, strlen(name)) : "");
}

/* Each distinct text once: they come in the order of their first rows, so the first that is wrong is the first line. */
rp_status rp_written_outcomes(const rp_written *t, const int64_t *row, size_t n, int64_t *label, double *value,
                              bool *known, rp_error *err)
{
    const rp_dictionary *words;
    bool *used = NULL;
    outcome *of;
    rp_status status = RP_OK;

    memset(known, 0, t->table->rows * sizeof *known);
    if (row && n > 0 && (row[0] < 0 || (uint64_t)row[n - 1] >= t->table->rows))
        return rp_fail(err, RP_EDATA, "%s: row %lld is asked for, the table has %zu", t->where, (long long)row[n - 1],
                       t->table->rows);
    if (t->target >= t->table->cols)
        return RP_OK;
    if (t->recipe->data.denominator.given)
        return t->trials < t->table->cols ? read_counts(t, row, n, value, known, err) : fail_no_trials(t, err);
    words = &t->table->column[t->target].words;
    of = rp_calloc(words->count + 1, sizeof *of);
    if (row)
        used = mark_words(t, row, n);
    if (!of || (row && !used))
        status = rp_no_memory(err);
    for (size_t i = 0; i < words->count && status == RP_OK; i++)
        if (!used || used[i])
            status = read_word(t, &words->word[i], &of[i], err);
    if (status == RP_OK)
        spread(t, of, label, value, known);
    if (status == RP_OK && row)
        keep_listed(known, t->table->rows, row, n);
    rp_free(used);
    rp_free(of);
    return status;
}
