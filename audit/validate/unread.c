/* SPDX-License-Identifier: Apache-2.0
 * What of a table enters no figure, or would enter none by the recipe: rows that its conditions leave out, outcomes
 * that it calls missing, lines that it takes for no rows. Whoever judges few of the rows that there are is to say so.
 */
#include "audit/validate/judged.h"
#include "base/memory.h"
#include "core/data/table.h"

/* The table once more, as it would be with the recipe's conditions: a row with an outcome that has none then is left
 * out. Where a condition is on a column that is not there, or of another sort, nobody knows which. */
static rp_status count_left_out(rp_judged *j, const rp_judged_table *table, rp_error *err)
{
    const rp_scoring *s = j->scoring;
    int64_t *label = j->label ? rp_calloc(j->rows + 1, sizeof *label) : NULL, kept = 0;
    double *value = j->value ? rp_calloc(j->rows + 1, sizeof *value) : NULL;
    bool *known = rp_calloc(j->rows + 1, sizeof *known);
    rp_written *texts = NULL;
    rp_error ignored = {0};
    size_t left_out = 0;
    rp_status status = known && (label || value) ? RP_OK : RP_ENOMEM;

    j->left_out[0] = j->left_out[1] = -1;
    if (status == RP_OK)
        status = rp_written_open(&texts, s->schema, s->recipe, table->csv, table->size, table->where, &ignored);
    if (status == RP_OK)
        status = rp_written_load_kept(texts, rp_scoring_pool(s), &left_out, &ignored);
    if (status == RP_OK)
        status = rp_written_outcomes(texts, NULL, 0, label, value, known, &ignored);
    for (size_t i = 0; i < j->rows && status == RP_OK; i++)
        kept += known[i];
    if (status == RP_OK) {
        j->left_out[0] = (int64_t)left_out;
        j->left_out[1] = (int64_t)j->outcomes - kept;
    }
    rp_written_free(texts);
    rp_free(label);
    rp_free(value);
    rp_free(known);
    return status == RP_ENOMEM ? rp_no_memory(err) : RP_OK;
}

/* The table once more, with no words for a missing cell but the usual ones: an outcome that is there then is one that
 * the recipe does not want to see. */
static rp_status count_called_missing(rp_judged *j, const rp_judged_table *table, rp_error *err)
{
    const rp_scoring *s = j->scoring;
    rp_recipe plain = *s->recipe;
    rp_written *all = NULL;
    rp_status status;

    plain.data.n_missing = 0;
    plain.data.missing = rp_reallocarray(NULL, s->recipe->data.n_missing + 1, sizeof *plain.data.missing);
    if (!plain.data.missing)
        return rp_no_memory(err);
    for (size_t i = 0; i < s->recipe->data.n_missing; i++)
        if (rp_recipe_usual_missing(s->recipe->data.missing[i]))
            plain.data.missing[plain.data.n_missing++] = s->recipe->data.missing[i];
    if (plain.data.n_missing < s->recipe->data.n_missing) {
        status = rp_written_open(&all, s->schema, &plain, table->csv, table->size, table->where, err);
        if (status == RP_OK)
            status = rp_written_load(all, rp_scoring_pool(s), err);
        if (status == RP_OK)
            j->called_missing = rp_written_called_missing(all, j->texts);
    } else {
        status = RP_OK;
    }
    rp_written_free(all);
    rp_free(plain.data.missing);
    return status;
}

rp_status rp_judged_count_unread(rp_judged *j, const rp_judged_table *table, rp_error *err)
{
    const bool own = table->of != RP_JUDGED_GIVEN;
    const rp_table *read = rp_rows_table(j->scoring->rows);
    const rp_reading *rules = &j->scoring->recipe->data.reading;
    rp_status status = RP_OK;

    j->unfiltered = !own && rules->n_where > 0;
    j->hidden = rp_csv_maybe_rows(&read->csv, rules->skip_lines, read->own_cols);
    if (j->unfiltered)
        status = count_left_out(j, table, err);
    if (status == RP_OK && !own)
        status = count_called_missing(j, table, err);
    return status;
}

int rp_judged_put_rules(rp_json *data, const rp_judged *j, bool known)
{
    const int64_t left_out = j->left_out[known];

    return (known ? rp_json_object_set_new(data, "called_missing", rp_json_integer((int64_t)j->called_missing)) : 0) |
           rp_json_object_set_new(data, "hidden", rp_json_integer((int64_t)j->hidden)) |
           rp_json_object_set_new(data, "left_out", left_out < 0 ? rp_json_null() : rp_json_integer(left_out)) |
           rp_json_object_set_new(data, "unfiltered", rp_json_boolean(j->unfiltered));
}
