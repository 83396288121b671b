/* SPDX-License-Identifier: Apache-2.0
 * The data a run was trained on: rows, columns, missing values, classes and folds, counted again from the CSV in the
 * archive. */
#include <string.h>

#include "audit/report/report.h"
#include "base/memory.h"
#include "core/data/schema.h"
#include "determinism/decimal.h"

enum { COLUMNS_INLINE = 30, COLUMNS_MAX = 1000, CLASSES_MAX = 50, PARTS = RP_TESTS + 1 };
static const size_t csv_limit = (size_t)4 << 30;

static size_t target_column(const rp_schema *schema)
{
    size_t at = 0;

    while (at < schema->n_columns && !schema->columns[at].target)
        at++;
    return at;
}

static rp_status count_missing(rp_report_view *r, rp_error *err)
{
    const rp_table *table = r->data.table;

    r->data.missing = rp_calloc(table->cols, sizeof *r->data.missing);
    if (!r->data.missing)
        return rp_no_memory(err);
    for (size_t col = 0; col < table->cols; col++)
        r->data.missing[col] = table->column[col].sort[RP_SORT_MISSING].count;
    return RP_OK;
}

/* Rows by part and class. */
static rp_status count_groups(rp_report_view *r, const rp_target *target, const unsigned char *part, rp_error *err)
{
    rp_report_data *d = &r->data;
    size_t groups = target->classes ? target->classes : 1;

    d->count = rp_calloc(PARTS, groups * sizeof *d->count);
    d->class_name = rp_reallocarray(NULL, groups, sizeof *d->class_name);
    if (!d->count || !d->class_name)
        return rp_no_memory(err);
    d->classes = target->classes;
    for (size_t k = 0; k < target->classes; k++)
        d->class_name[k] = target->class_name[k];
    for (size_t row = 0; row < d->table->rows; row++)
        d->count[part[row] * groups + (target->label ? (size_t)target->label[row] : 0)]++;
    return RP_OK;
}

static rp_status count_classes(rp_report_view *r, rp_error *err)
{
    rp_cells cells = {.recipe = r->recipe, .table = r->data.table, .where = RP_TABLE_MEMBER, .err = err};
    rp_target target = {0};
    unsigned char *part = rp_calloc(r->data.table->rows, 1);
    rp_status status = part ? rp_target_read(&cells, target_column(r->schema), &target) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_split_rows(&cells, &target, part);
    if (status == RP_OK)
        status = count_groups(r, &target, part, err);
    rp_target_clear(&target);
    rp_free(part);
    return status;
}

/* As preparation kept the columns, whose kinds are known now. */
static rp_status load_table(rp_report_view *r, rp_error *err)
{
    const rp_schema *schema = r->schema;
    rp_table *table = r->data.table;
    rp_column_kind *kind = rp_calloc(schema->n_columns, sizeof *kind);
    rp_store *store = rp_calloc(schema->n_columns, sizeof *store);
    const rp_cells cells = {.recipe = r->recipe, .table = table, .where = RP_TABLE_MEMBER, .err = err};
    rp_filter *filter = NULL;
    rp_status status = kind && store ? rp_filter_resolve(&filter, &cells, target_column(schema)) : rp_no_memory(err);

    for (size_t i = 0; i < schema->n_columns && status == RP_OK; i++)
        kind[i] = schema->columns[i].kind;
    if (status == RP_OK) {
        rp_columns_store(r->recipe, kind, schema->n_columns, target_column(schema), store);
        status = rp_columns_store_roles(&cells, store);
    }
    if (status == RP_OK)
        status = rp_table_load(table, store, r->recipe, &(rp_table_options){.filter = filter}, err);
    rp_free(kind);
    rp_free(store);
    rp_filter_free(filter);
    return status;
}

rp_status rp_report_read_data(rp_report_view *r, rp_error *err)
{
    static const char member[] = RP_TABLE_MEMBER;
    rp_buffer *csv = &r->data.csv;
    rp_status status;

    if (!r->recipe || !r->schema || !rp_archive_find(r->archive, member))
        return RP_OK;
    status = rp_archive_read_member(r->archive, member, csv_limit, csv, err);
    if (status == RP_OK)
        status = rp_table_open(&r->data.table, csv->data, csv->size, r->recipe, member, err);
    if (status == RP_OK) {
        const rp_cells cells = {.recipe = r->recipe, .table = r->data.table, .where = member, .err = err};

        status = rp_dates_declare(&cells, r->data.table);
    }
    if (status == RP_OK && r->data.table->cols != r->schema->n_columns)
        status = rp_fail(err, RP_EFORMAT, "%s: %zu columns, but data/schema.json has %zu", member, r->data.table->cols,
                         r->schema->n_columns);
    if (status == RP_OK)
        status = load_table(r, err);
    if (status == RP_OK)
        status = count_missing(r, err);
    if (status == RP_OK)
        status = count_classes(r, err);
    if (status == RP_OK)
        status = rp_report_read_profile(r, err);
    if (status != RP_OK)
        rp_report_data_clear(&r->data);
    return status;
}

void rp_report_data_clear(rp_report_data *data)
{
    rp_table_free(data->table);
    rp_buffer_free(&data->csv);
    rp_json_free(data->profile);
    rp_json_free(data->quality);
    rp_free(data->missing);
    rp_free(data->class_name);
    rp_free(data->count);
    memset(data, 0, sizeof *data);
}

static const char *kind_name(const rp_schema_column *column)
{
    if (column->target)
        return "target";
    if (column->date)
        return "date";
    return column->kind == RP_COL_NUMERIC ? "numeric" : column->kind == RP_COL_CATEGORICAL ? "categorical" : "ignored";
}

static void put_column_name(rp_buffer *out, const rp_schema *schema, size_t col)
{
    if (col < schema->n_columns && schema->columns[col].name)
        rp_html_name(out, schema->columns[col].name);
    else
        rp_buffer_printf(out, "column %zu", col);
}

/* What is done to the cells before they are features, beside standardising. */
static void put_treatment(rp_buffer *out, const rp_schema_column *column)
{
    if (column->capped) {
        rp_buffer_text(out, "held between ");
        rp_html_number(out, column->cap[0]);
        rp_buffer_text(out, " and ");
        rp_html_number(out, column->cap[1]);
        rp_buffer_text(out, "; ");
    }
    if (column->log)
        rp_buffer_text(out, "logarithm; ");
    if (column->imputes) {
        rp_buffer_text(out, "missing becomes ");
        rp_html_number(out, column->missing);
        rp_buffer_text(out, "; ");
    }
    if (column->indicator)
        rp_buffer_text(out, "a feature says whether it is missing; ");
    if (column->woe)
        rp_buffer_text(out, "weight of evidence; ");
}

static void put_bins(rp_buffer *out, const rp_schema_column *column)
{
    rp_buffer_text(out, "bins cut at ");
    for (size_t k = 0; k < column->edges && k < 12; k++) {
        rp_buffer_text(out, k ? ", " : "");
        rp_html_number(out, column->edge[k]);
    }
    if (column->edges > 12)
        rp_buffer_printf(out, " and %zu more", column->edges - 12);
    if (column->missing_bin)
        rp_buffer_text(out, "; <em>missing</em>");
}

void rp_report_target_name(rp_report_view *r)
{
    put_column_name(r->out, r->schema, target_column(r->schema));
}

void rp_report_trials_name(rp_report_view *r)
{
    const rp_column_ref *trials = r->recipe ? &r->recipe->data.denominator : NULL;

    if (!trials || !trials->given)
        return;
    rp_buffer_text(r->out, " in the trials of ");
    if (trials->name)
        rp_html_name(r->out, trials->name);
    else
        rp_buffer_printf(r->out, "%lld", (long long)trials->index);
}

static void put_values(rp_buffer *out, const rp_schema_column *column)
{
    put_treatment(out, column);
    if (column->binned) {
        put_bins(out, column);
    } else if (column->kind == RP_COL_NUMERIC) {
        if (column->offset != RP_OFFSET_NONE)
            rp_buffer_text(out, column->offset == RP_OFFSET_LOG ? "exposure: its logarithm is the offset; "
                                                                : "offset, with the coefficient 1; ");
        rp_buffer_text(out, "mean ");
        rp_html_number(out, column->mean);
        if (column->standardize) {
            rp_buffer_text(out, "; deviation ");
            rp_html_number(out, column->divisor);
        }
    } else if (column->kind == RP_COL_CATEGORICAL) {
        for (size_t k = 0; k < column->categories && k < 12; k++) {
            rp_buffer_text(out, k ? ", " : "");
            rp_html_name(out, column->category[k]);
        }
        if (column->categories > 12)
            rp_buffer_printf(out, " and %zu more", column->categories - 12);
        if (column->null_category)
            rp_buffer_text(out, column->categories ? ", <em>missing</em>" : "<em>missing</em>");
        if (column->other)
            rp_buffer_text(out, ", <em>other</em>");
    }
}

static void put_columns(rp_report_view *r)
{
    const rp_schema *schema = r->schema;
    rp_buffer *out = r->out;

    rp_html_table(out, "columns", "Columns; means, deviations and categories are those of the training rows",
                  "Column|Kind|#Features|#Missing|Values");
    for (size_t i = 0; i < schema->n_columns && i < COLUMNS_MAX; i++) {
        const rp_schema_column *column = &schema->columns[i];

        rp_buffer_text(out, "<tr><th scope=\"row\">");
        put_column_name(out, schema, i);
        rp_buffer_printf(out, "</th><td class=\"w\">%s</td><td class=\"n\">", kind_name(column));
        rp_html_count(out, column->width);
        rp_buffer_text(out, "</td><td class=\"n\">");
        if (r->data.missing)
            rp_html_count(out, r->data.missing[i]);
        else
            rp_buffer_text(out, "\xE2\x80\x93");
        rp_buffer_text(out, "</td><td class=\"text\">");
        put_values(out, column);
        rp_buffer_text(out, "</td></tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_html_note_first(out, COLUMNS_MAX, schema->n_columns, "columns");
}

static uint64_t part_rows(const rp_report_data *d, rp_row_part part)
{
    size_t groups = d->classes ? d->classes : 1;
    uint64_t n = 0;

    for (size_t k = 0; k < groups; k++)
        n += d->count[part * groups + k];
    return n;
}

static void put_class_cells(rp_report_view *r, size_t k, bool validation)
{
    const rp_row_part part = validation ? RP_VALIDATES : RP_TRAINS;
    uint64_t n = r->data.count[part * r->data.classes + k], all = part_rows(&r->data, part);

    rp_buffer_text(r->out, "<td class=\"n\">");
    rp_html_count(r->out, n);
    rp_buffer_text(r->out, "</td><td class=\"n\">");
    rp_html_share(r->out, n, all);
    rp_buffer_text(r->out, "</td>");
    if (!validation) {
        rp_buffer_text(r->out, "<td class=\"bars\">");
        rp_svg_bar(r->out, n, all);
        rp_buffer_text(r->out, "</td>");
    }
}

static void put_classes(rp_report_view *r)
{
    rp_buffer *out = r->out;
    const rp_report_data *d = &r->data;
    bool validation = part_rows(d, RP_VALIDATES) > 0;

    if (!d->classes)
        return;
    rp_buffer_text(out, "<h3>Classes</h3>\n");
    rp_html_table(out, NULL, NULL,
                  validation ? "Class|#Training rows|#Share||#Validation rows|#Share"
                             : "Class|#Training rows|#Share||");
    for (size_t k = 0; k < d->classes && k < CLASSES_MAX; k++) {
        rp_buffer_text(out, "<tr><th scope=\"row\">");
        rp_html_name(out, d->class_name[k]);
        if (d->classes == 2 && k == 1)
            rp_buffer_text(out, " <span class=\"soft\">(positive)</span>");
        rp_buffer_text(out, "</th>");
        put_class_cells(r, k, false);
        if (validation)
            put_class_cells(r, k, true);
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_html_note_first(out, CLASSES_MAX, d->classes, "classes");
}

static void put_parts(rp_report_view *r)
{
    static const char *const names[PARTS] = {"training", "validation", "test"};
    rp_buffer *out = r->out;
    const rp_report_data *d = &r->data;
    size_t groups = d->classes ? d->classes : 1, shown = d->classes == 2 ? 2 : 0;

    if (part_rows(d, RP_TRAINS) == d->table->rows)
        return;
    rp_buffer_text(out, "<h3>Parts</h3>\n");
    rp_html_table_begin(out, "slim", NULL);
    rp_html_heads(out, "Part|#Rows");
    for (size_t k = 0; k < shown; k++) {
        rp_buffer_text(out, "<th scope=\"col\" class=\"n\">Share of ");
        rp_html_name(out, d->class_name[k]);
        rp_buffer_text(out, "</th>");
    }
    rp_buffer_text(out, "</tr></thead>\n<tbody>\n");
    for (size_t p = 0; p < PARTS; p++) {
        const uint64_t rows = part_rows(d, (rp_row_part)p);

        if (rows == 0)
            continue;
        rp_buffer_printf(out, "<tr><th scope=\"row\">%s</th><td class=\"n\">", names[p]);
        rp_html_count(out, rows);
        rp_buffer_text(out, "</td>");
        for (size_t k = 0; k < shown; k++) {
            rp_buffer_text(out, "<td class=\"n\">");
            rp_html_share(out, d->count[p * groups + k], rows);
            rp_buffer_text(out, "</td>");
        }
        rp_buffer_text(out, "</tr>\n");
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

static void put_column_kinds(rp_report_view *r)
{
    size_t numeric = 0, categorical = 0, dates = 0, ignored = 0;

    for (size_t i = 0; i < r->schema->n_columns; i++) {
        const rp_schema_column *column = &r->schema->columns[i];

        numeric += column->kind == RP_COL_NUMERIC;
        categorical += column->kind == RP_COL_CATEGORICAL;
        dates += column->date;
        ignored += column->kind == RP_COL_IGNORE && !column->target && !column->date;
    }
    rp_html_row_open(r->out, "Columns");
    rp_html_count(r->out, r->schema->n_columns);
    rp_buffer_printf(r->out, ": %zu numeric, %zu categorical, ", numeric, categorical);
    if (dates)
        rp_buffer_printf(r->out, "%zu %s, ", dates, dates == 1 ? "date" : "dates");
    rp_buffer_printf(r->out, "%zu ignored, 1 target; ", ignored);
    rp_html_count(r->out, r->schema->features);
    rp_buffer_text(r->out, " features after encoding");
    rp_html_row_close(r->out);
}

static void put_missing(rp_report_view *r)
{
    uint64_t cells = 0;
    size_t others = 0;
    size_t columns = 0;

    for (size_t i = 0; i < r->data.table->cols; i++) {
        cells += r->data.missing[i];
        columns += r->data.missing[i] != 0;
    }
    rp_html_row_open(r->out, "Missing values");
    if (!cells)
        rp_buffer_text(r->out, "none");
    else {
        rp_html_count(r->out, cells);
        rp_buffer_printf(r->out, " %s in %zu %s; numeric: %s, categorical: %s", cells == 1 ? "cell" : "cells", columns,
                         columns == 1 ? "column" : "columns",
                         r->recipe->data.missing_numeric == RP_MISSING_MEAN     ? "the training mean"
                         : r->recipe->data.missing_numeric == RP_MISSING_MEDIAN ? "the training median"
                                                                                : "refused",
                         r->recipe->data.missing_categorical == RP_MISSING_CATEGORY ? "a category of their own"
                                                                                    : "refused");
        for (size_t i = 0; i < r->schema->n_columns; i++)
            others += r->schema->columns[i].binned || r->schema->columns[i].imputes;
        if (others)
            rp_buffer_text(r->out, "; columns with a rule of their own, and those in bins, by that");
    }
    rp_html_row_close(r->out);
}

void rp_report_split_words(rp_report_view *r)
{
    const rp_report_data *d = &r->data;
    const rp_recipe *recipe = r->recipe;
    rp_buffer *out = r->out;

    rp_html_count(out, part_rows(d, RP_TRAINS));
    rp_buffer_text(out, " rows to train");
    if (part_rows(d, RP_VALIDATES) > 0) {
        rp_buffer_text(out, ", ");
        rp_html_count(out, part_rows(d, RP_VALIDATES));
        rp_buffer_text(out, " to validate: ");
        if (recipe->data.split.given)
            rp_buffer_text(out, "as a column says");
        else if (recipe->data.time.given)
            rp_buffer_printf(out, "the latest of %lld blocks of time", (long long)recipe->data.folds);
        else
            rp_buffer_printf(out, "fold %lld of 0 to %lld%s", (long long)recipe->data.fold,
                             (long long)recipe->data.folds - 1,
                             recipe->data.group.given              ? ", groups of rows kept together"
                             : d->classes && recipe->data.stratify ? ", each with the classes' shares"
                                                                   : "");
    } else {
        rp_buffer_text(out, "; no validation part");
    }
    if (part_rows(d, RP_TESTS) > 0) {
        rp_buffer_text(out, "; ");
        rp_html_count(out, part_rows(d, RP_TESTS));
        rp_buffer_text(out, " to test, which no step has read");
    }
    if (recipe->data.test_csv)
        rp_buffer_text(out, "; the rows of " RP_TEST_TABLE_MEMBER " to test, which no step has read");
}

static void put_split(rp_report_view *r)
{
    rp_html_row_open(r->out, "Split");
    rp_report_split_words(r);
    rp_html_row_close(r->out);
}

/* Rows that were in the file and are in no figure. */
static void put_left_out(rp_report_view *r)
{
    static const char *const why[] = {" of the file's rows by the recipe's data.where",
                                      " of the file's rows for want of a target"};
    const uint64_t all = r->data.table->rows + r->data.table->dropped[0] + r->data.table->dropped[1];

    for (size_t k = 0; k < 2; k++) {
        if (r->data.table->dropped[k] == 0)
            continue;
        rp_html_row_open(r->out, "Left out");
        rp_html_count(r->out, r->data.table->dropped[k]);
        rp_buffer_text(r->out, " of ");
        rp_html_count(r->out, all);
        rp_buffer_text(r->out, " (");
        rp_html_share(r->out, r->data.table->dropped[k], all);
        rp_buffer_text(r->out, ")");
        rp_buffer_text(r->out, why[k]);
        rp_html_row_close(r->out);
    }
    if (r->data.table->hidden > 0) {
        rp_html_row_open(r->out, "Passed over");
        rp_html_count(r->out, r->data.table->hidden);
        rp_buffer_text(r->out,
                       " lines that have as many cells as a row, by the recipe's data.comment or data.skip_lines");
        rp_html_row_close(r->out);
    }
}

static void put_facts(rp_report_view *r)
{
    const rp_member *csv = rp_archive_find(r->archive, RP_TABLE_MEMBER);
    rp_buffer *out = r->out;

    rp_buffer_text(out, "<table class=\"facts\">\n<tbody>\n");
    if (csv) {
        rp_html_row_open(out, "File");
        rp_buffer_text(out, RP_TABLE_MEMBER " in the archive, ");
        rp_html_count(out, csv->size);
        rp_buffer_text(out, " bytes");
        rp_html_row_close(out);
    }
    if (r->data.table) {
        rp_html_row_count(out, "Rows", r->data.table->rows);
        put_left_out(r);
    }
    put_column_kinds(r);
    rp_html_row_open(out, "Target");
    put_column_name(out, r->schema, target_column(r->schema));
    rp_report_trials_name(r);
    if (r->schema->classes)
        rp_buffer_printf(out, ", %zu classes", r->schema->classes);
    else
        rp_buffer_text(out, ", a number (regression)");
    rp_html_row_close(out);
    if (r->data.table) {
        put_missing(r);
        put_split(r);
    }
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

/* What a run of the API has: feeds and bound tensors, by size. */
static void put_api_data(rp_report_view *r)
{
    rp_buffer *out = r->out;
    bool any = false;

    rp_buffer_text(out,
                   "<p>A program made this run, so there is no table with a schema. What it computed on is in these "
                   "members:</p>\n<table class=\"facts\">\n<tbody>\n");
    for (size_t i = 0; i < rp_archive_member_count(r->archive); i++) {
        const rp_member *member = rp_archive_member(r->archive, i);
        bool bound = strcmp(member->name, RP_TENSORS_MEMBER) == 0;
        bool feeds = strcmp(member->name, RP_FEEDS_MEMBER) == 0;

        if (!bound && !feeds)
            continue;
        any = true;
        rp_html_row_open(out, bound ? "Bound to the run" : "Fed step by step");
        rp_buffer_printf(out, "%s, ", member->name);
        rp_html_count(out, member->size);
        rp_buffer_text(out, " bytes");
        rp_html_row_close(out);
    }
    if (!any)
        rp_html_row(out, "Data", "none: the programs compute on their own states");
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

bool rp_report_withheld(const rp_report_view *r, const char *member)
{
    for (size_t i = 0; i < rp_archive_withheld_count(r->archive); i++)
        if (strcmp(rp_archive_withheld(r->archive, i), member) == 0)
            return rp_archive_find(r->archive, member) == NULL;
    return false;
}

/* What the archive was made without, by choice. */
static void put_withheld(rp_report_view *r)
{
    size_t n = rp_archive_withheld_count(r->archive);

    if (n == 0)
        return;
    rp_buffer_text(r->out, "<p>Left out of the archive, for it is confidential, and bound by salted digests: ");
    for (size_t i = 0; i < n; i++)
        rp_buffer_printf(r->out, "%s<code>%s</code>%s", i ? ", " : "", rp_archive_withheld(r->archive, i),
                         rp_archive_find(r->archive, rp_archive_withheld(r->archive, i)) ? " (given for this report)"
                                                                                         : "");
    rp_buffer_text(r->out, ". A replay needs the data and their salt, and compares first what it is given.</p>\n");
}

static void put_text_part(rp_report_view *r, const rp_json *prepared, const char *part, const char *label)
{
    const rp_json *of = rp_json_object_get(prepared, part);
    const int64_t bytes = rp_json_integer_value(rp_json_object_get(of, "bytes")),
                  tokens = rp_json_integer_value(rp_json_object_get(of, "tokens"));

    if (!of)
        return;
    rp_html_row_open(r->out, label);
    rp_html_count(r->out, bytes > 0 ? (uint64_t)bytes : 0);
    rp_buffer_text(r->out, " bytes, ");
    rp_html_count(r->out, tokens > 0 ? (uint64_t)tokens : 0);
    rp_buffer_text(r->out, " tokens");
    rp_html_row_close(r->out);
}

/* Of a recipe on a text: what the recipe says of it, and what became of it. */
static void put_text_data(rp_report_view *r)
{
    rp_json *prepared = NULL;
    rp_buffer *out = r->out;

    rp_buffer_text(out,
                   "<p>The run is on a text: there are no rows and columns.</p>\n<table class=\"facts\">\n<tbody>\n");
    rp_html_row_open(out, "Vocabulary");
    if (r->recipe->text.tokens == RP_RECIPE_BYTES)
        rp_buffer_text(out, "the 256 bytes");
    else
        rp_buffer_printf(out, "byte pairs learnt from the training part, at most %lld tokens",
                         (long long)r->recipe->text.tokens);
    rp_html_row_close(out);
    rp_html_row_open(out, "Windows");
    rp_buffer_printf(out, "%lld tokens", (long long)r->recipe->text.length);
    rp_html_row_close(out);
    if (rp_archive_find(r->archive, RP_PREPARED_MEMBER) &&
        rp_archive_read_json(r->archive, RP_PREPARED_MEMBER, &prepared, NULL) == RP_OK) {
        put_text_part(r, prepared, "training", "Training part");
        put_text_part(r, prepared, "validation", "Validation part");
    }
    rp_json_free(prepared);
    rp_buffer_text(out, "</tbody>\n</table>\n");
}

void rp_report_data_section(rp_report_view *r)
{
    rp_html_section(r->out, "data", "Data");
    rp_html_problem(r->out, "The schema", &r->problem.schema);
    rp_html_problem(r->out, "What the CSV holds", &r->problem.data);
    put_withheld(r);
    if (!r->schema) {
        if (rp_archive_manifest(r->archive)->kind == RP_RUN_API)
            put_api_data(r);
        else if (r->recipe && r->recipe->text.path)
            put_text_data(r);
        else if (r->problem.schema.status == RP_OK && rp_archive_withheld_count(r->archive) == 0)
            rp_buffer_text(r->out, "<p>The archive has no schema.</p>\n");
        return;
    }
    put_facts(r);
    if (r->data.table) {
        put_classes(r);
        put_parts(r);
        rp_report_table(r);
    }
    rp_report_woe(r);
    rp_buffer_text(r->out, "<h3>Columns</h3>\n");
    if (r->schema->n_columns <= COLUMNS_INLINE)
        put_columns(r);
    else
        rp_buffer_text(r->out, "<p>One by one at the <a href=\"#columns\">end of this report</a>.</p>\n");
}

void rp_report_columns_appendix(rp_report_view *r)
{
    if (!r->schema || r->schema->n_columns <= COLUMNS_INLINE)
        return;
    rp_html_section(r->out, "columns", "Appendix: columns");
    put_columns(r);
}
