/* SPDX-License-Identifier: Apache-2.0
 * The profile of a table (CONTRACT 9.9): each column's figures, equal rows, and the findings, as one JSON value. */
#include "core/data/profile/profile.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/data/profile/private.h"
#include "core/data/profile/quality.h"
#include "core/recipe/recipe_names.h"
#include "core/stats/ranking.h"
#include "core/recipe/decimal_json.h"

static rp_column_kind infer(const rp_column_view *v)
{
    return v->numeric ? RP_COL_NUMERIC : v->numbers > 0 ? RP_COL_AUTO : RP_COL_CATEGORICAL;
}

static bool is_date(const rp_table *table, size_t col)
{
    return table->column[col].date != NULL && table->column[col].part == RP_DATE_PARTS;
}

static bool is_part(const rp_table *table, size_t col)
{
    return table->column[col].date != NULL && table->column[col].part < RP_DATE_PARTS;
}

static bool is_declared(const rp_cells *cells, size_t col)
{
    const rp_recipe *recipe = cells->recipe;

    for (size_t i = 0; i < recipe->data.n_columns; i++) {
        const rp_column_ref *ref = &recipe->data.columns[i].column;

        if (recipe->data.columns[i].kind != RP_COL_AUTO &&
            (ref->name == NULL ? ref->index == (int64_t)col
                               : cells->table->names != NULL && strcmp(cells->table->names[col], ref->name) == 0))
            return true;
    }
    return false;
}

static const char *why(const rp_cells *cells, const rp_column_view *v, bool target, const char *role)
{
    if (target)
        return "data.target";
    if (role != NULL && !is_declared(cells, v->col))
        return role;
    if (is_declared(cells, v->col) || is_part(cells->table, v->col))
        return "data.columns";
    if (v->distinct == 0)
        return "no values";
    return v->numeric ? "numbers" : v->numbers > 0 ? "text and numbers" : "text";
}

/* Of a date the second that the quantile lies in. */
static void put_numbers(builder *b, const rp_column_view *v, bool whole_date)
{
    rp_json *list = rp_json_array();

    put(b, "quantiles", list);
    for (size_t i = 0; i < RP_QUANTILES && !b->failed; i++) {
        const double x = rp_sorted_quantile(v->sorted, v->numbers, rp_quantile_at[i]);
        char date[RP_MOMENT_SIZE];

        append(b, list, whole_date ? rp_json_string(rp_date_print(date, (int64_t)x)) : rp_json_decimal(x));
    }
}

/* The first cells that differ, in the order of the file. */
static void put_examples(builder *b, const rp_column_view *v, const rp_table *table)
{
    uint32_t shown[RP_EXAMPLES];
    char text[RP_TEXT_SHOWN];
    rp_json *list = rp_json_array();
    size_t n = 0;

    put(b, "examples", list);
    for (size_t row = 0; row < table->rows && n < RP_EXAMPLES && n < v->distinct && !b->failed; row++) {
        bool known = v->group[row] == v->distinct; /* missing */

        for (size_t k = 0; k < n && !known; k++)
            known = shown[k] == v->group[row];
        if (known)
            continue;
        shown[n++] = v->group[row];
        if (is_part(table, v->col)) /* the cell is the date's */
            rp_print_f64(text, v->value[row]);
        else
            rp_table_text(table, row, v->col, text, sizeof text);
        append(b, list, rp_cell_json(text));
    }
}

static rp_status put_column(rp_json *columns, const rp_cells *cells, const rp_column_view *v, rp_column_kind kind,
                            bool target, const char *role)
{
    const rp_table *table = cells->table;
    builder b = {.object = rp_json_object()};

    put(&b, "name", table->names != NULL ? rp_json_string(table->names[v->col]) : rp_json_null());
    put(&b, "kind", rp_json_string(target ? "target" : kind == RP_COL_AUTO ? "mixed" : rp_column_kind_names[kind]));
    put(&b, "why", rp_json_string(why(cells, v, target, role)));
    put(&b, "missing", rp_json_integer((int64_t)v->missing));
    put(&b, "distinct", rp_json_integer((int64_t)v->distinct));
    if (v->numeric)
        put_numbers(&b, v, is_date(table, v->col));
    if (v->numeric && !is_date(table, v->col)) {
        const double skew = rp_quality_skew(v->sorted, (double *)(void *)v->scratch, v->numbers);

        put(&b, "outliers", rp_json_integer((int64_t)rp_quality_outliers(v->sorted, v->numbers)));
        put(&b, "skew", skew - skew == 0 ? rp_json_decimal(skew) : rp_json_null());
    }
    put_examples(&b, v, table);
    append(&b, columns, b.object);
    return b.failed ? rp_no_memory(cells->err) : RP_OK;
}

/* A profile on the way. */
typedef struct profiler {
    const rp_cells *cells;
    const rp_column_kind *kind;
    size_t target_col;
    rp_column_view target;
    bool *use;         /* [cols]: neither ignored nor the target */
    const char **role; /* [cols]: the key that gives a column another part than that of a feature, else NULL */
    rp_json *profile;
    rp_json **part; /* [cols]: columns and findings of one column each; NULL: memory ran out */
} profiler;

static rp_column_kind kind_of(const profiler *p, const rp_column_view *v)
{
    const rp_recipe *recipe = p->cells->recipe;

    if (p->kind != NULL)
        return p->kind[v->col];
    for (size_t i = 0; i < recipe->data.n_columns; i++) {
        const rp_column_rule *rule = &recipe->data.columns[i];

        if (rule->kind != RP_COL_AUTO &&
            (rule->column.name == NULL
                 ? rule->column.index == (int64_t)v->col
                 : p->cells->table->names != NULL && strcmp(p->cells->table->names[v->col], rule->column.name) == 0))
            return rule->kind;
    }
    if (p->role[v->col] != NULL)
        return RP_COL_IGNORE;
    return is_part(p->cells->table, v->col) ? RP_COL_NUMERIC : infer(v);
}

/* Where no run is being prepared, nothing has been refused yet: what would be is one finding a column. */
static rp_status find_refusal(const profiler *p, const rp_column_view *v, rp_json *part)
{
    rp_error refusal = {0};
    rp_warnings seen = {0};
    rp_cells cells = *p->cells;
    rp_status status;

    cells.err = &refusal;
    cells.warnings = &seen;
    status = v->numeric ? rp_inspect_numbers(&cells, v->col) : rp_inspect_texts(&cells, v->col);
    if (status == RP_EDATA)
        status = rp_profile_add(part, p->cells,
                                &(rp_finding){"refused", false, v->col, SIZE_MAX, SIZE_MAX, NULL, refusal.text});
    else if (status == RP_OK)
        status = rp_profile_add_warnings(part, &seen, p->cells->err);
    rp_warnings_clear(&seen);
    return status == RP_ENOMEM ? rp_no_memory(p->cells->err) : status;
}

static rp_status profile_column(const profiler *p, size_t col, const rp_column_view *v, rp_json *part)
{
    bool target = col == p->target_col;
    rp_beside beside = {p->cells, v, p->target_col != SIZE_MAX ? &p->target : NULL, RP_COL_IGNORE, part};
    rp_status status;

    beside.kind = target ? RP_COL_IGNORE : kind_of(p, v);
    p->use[col] = beside.kind != RP_COL_IGNORE;
    status = put_column(rp_json_object_get(part, "columns"), p->cells, v, beside.kind, target, p->role[col]);
    if (status == RP_OK && target)
        return rp_find_in_target(&beside);
    if (status == RP_OK && p->kind == NULL && p->use[col] && !is_declared(p->cells, col) &&
        p->cells->table->column[col].date == NULL)
        status = find_refusal(p, v, part);
    return status == RP_OK && p->use[col] ? rp_find_in_column(&beside) : status;
}

/* Columns are looked at by threads, each with a view of its own. The only error is want of memory. */
static void profile_columns(void *arg, size_t begin, size_t end)
{
    const profiler *p = arg;
    rp_column_view view;

    if (rp_view_new(&view, p->cells->table->rows, NULL) != RP_OK)
        return;
    for (size_t col = begin; col < end; col++) {
        bool target = col == p->target_col;
        rp_status status = target ? RP_OK : rp_view_read(&view, p->cells, col);

        p->part[col] = rp_json_pack("{s:[], s:[]}", "columns", "findings");
        if (status == RP_OK && p->part[col] != NULL)
            status = profile_column(p, col, target ? &p->target : &view, p->part[col]);
        if (status != RP_OK) {
            rp_json_free(p->part[col]);
            p->part[col] = NULL;
        }
    }
    rp_view_free(&view);
}

static int move_all(rp_json *to, const rp_json *from)
{
    rp_json *value;
    size_t i;
    int failed = 0;

    rp_json_array_foreach (from, i, value)
        failed |= rp_json_array_append(to, value);
    return failed;
}

static rp_status join_parts(profiler *p)
{
    rp_json *columns = rp_json_object_get(p->profile, "columns"),
            *findings = rp_json_object_get(p->profile, "findings");
    int failed = 0;

    for (size_t col = 0; col < p->cells->table->cols; col++) {
        failed |= p->part[col] == NULL || move_all(columns, rp_json_object_get(p->part[col], "columns")) != 0 ||
                  move_all(findings, rp_json_object_get(p->part[col], "findings")) != 0;
        rp_json_free(p->part[col]);
        p->part[col] = NULL;
    }
    return failed ? rp_no_memory(p->cells->err) : RP_OK;
}

/* Rows that repeat an earlier one, and rows beside which the same cells have another target. */
static rp_status count_repeats(profiler *p)
{
    size_t rows = p->cells->table->rows, duplicates = 0, conflicts = 0;
    const uint32_t *target = p->target_col != SIZE_MAX ? p->target.group : NULL;
    size_t *torn = p->target.scratch; /* 1 for the first row of a group of several targets */
    uint32_t *first = rp_reallocarray(NULL, rows, sizeof *first);
    builder b = {.object = p->profile};
    rp_status status = first != NULL ? rp_equal_rows(first, p->cells, p->use) : rp_no_memory(p->cells->err);

    for (size_t row = 0; status == RP_OK && target != NULL && row < rows; row++)
        torn[row] = 0;
    for (size_t row = 0; status == RP_OK && target != NULL && row < rows; row++)
        torn[first[row]] |= target[row] != target[first[row]];
    for (size_t row = 0; status == RP_OK && target != NULL && row < rows; row++)
        conflicts += torn[first[row]];
    if (status == RP_OK && target != NULL) {
        p->use[p->target_col] = true;
        status = rp_equal_rows(first, p->cells, p->use);
    }
    for (size_t row = 0; status == RP_OK && row < rows; row++)
        duplicates += first[row] != row;
    rp_free(first);
    put(&b, "duplicates", rp_json_integer((int64_t)duplicates));
    put(&b, "conflicts", rp_json_integer((int64_t)conflicts));
    if (status != RP_OK || b.failed)
        return status != RP_OK ? status : rp_no_memory(p->cells->err);
    if (duplicates > 0)
        status = rp_profile_add(p->profile, p->cells,
                                &(rp_finding){"duplicates", true, SIZE_MAX, SIZE_MAX, duplicates, NULL, NULL});
    if (status == RP_OK && conflicts > 0)
        status = rp_profile_add(p->profile, p->cells,
                                &(rp_finding){"conflicts", true, SIZE_MAX, SIZE_MAX, conflicts, NULL, NULL});
    return status;
}

static rp_status make(profiler *p)
{
    const rp_table *table = p->cells->table;
    rp_status status = RP_OK;

    p->use = rp_calloc(table->cols, sizeof *p->use);
    p->part = rp_calloc(table->cols, sizeof *p->part);
    p->profile = rp_json_pack("{s:I, s:[], s:[]}", "rows", (int64_t)table->rows, "columns", "findings");
    p->role = rp_calloc(table->cols, sizeof *p->role);
    if (p->use == NULL || p->part == NULL || p->role == NULL || p->profile == NULL)
        return rp_no_memory(p->cells->err);
    status = rp_columns_roles(p->cells, p->role);
    if (status == RP_OK)
        status = rp_find_delimiter(p->profile, p->cells);
    if (status == RP_OK)
        status = rp_find_header(p->profile, p->cells);
    if (status == RP_OK && p->target_col != SIZE_MAX) {
        status = rp_view_new(&p->target, table->rows, p->cells->err);
        if (status == RP_OK)
            status = rp_view_read(&p->target, p->cells, p->target_col);
    }
    if (status != RP_OK)
        return status;
    rp_pool_run(p->cells->pool, table->cols, 1, profile_columns, p);
    status = join_parts(p);
    return status == RP_OK ? count_repeats(p) : status;
}

rp_status rp_profile_table(rp_json **out, const rp_cells *cells, const rp_column_kind *kind, size_t target)
{
    profiler p = {.cells = cells, .kind = kind, .target_col = target};
    rp_status status = make(&p);

    rp_view_free(&p.target);
    rp_free(p.use);
    rp_free(p.role);
    rp_free(p.part);
    *out = p.profile;
    if (status != RP_OK) {
        rp_json_free(p.profile);
        *out = NULL;
    }
    return status;
}

rp_status rp_profile_load(rp_table *table, const rp_recipe *recipe, size_t target, rp_error *err)
{
    rp_store *store = rp_calloc(table->cols, sizeof *store);
    rp_status status;

    if (store == NULL)
        return rp_no_memory(err);
    for (size_t col = 0; col < table->cols; col++)
        store[col] = col == target && !recipe->train.regression ? RP_STORE_TEXTS : RP_STORE_AUTO;
    status = rp_table_load(table, store, recipe, &(rp_table_options){.pool = NULL}, err);
    rp_free(store);
    return status;
}
