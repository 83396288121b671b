/* SPDX-License-Identifier: Apache-2.0
 * One run as flat lists: recipe keys, figures, coefficients; and which rows its figures are of. Everything comes from
 * the archive, whose hashes were checked when it was opened; nothing is computed but texts. */
#include "cli/retrain/side_by_side.h"

#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

static rp_status set(rp_json *object, const char *key, rp_json *value, rp_error *err)
{
    return rp_json_object_set_new(object, key, value) ? rp_no_memory(err) : RP_OK;
}

/* ---- the recipe, by dotted keys ---- */

static rp_status flatten(rp_json *out, rp_buffer *path, const rp_json *value, rp_error *err)
{
    const size_t stem = path->size;
    const char *key;
    rp_json *item;
    rp_status status = RP_OK;

    if (!rp_json_is_object(value)) {
        rp_buffer_u8(path, 0);
        status = rp_buffer_status(path, err);
        if (status == RP_OK)
            status = set(out, (const char *)path->data, rp_json_share((rp_json *)value), err);
        path->size = stem;
        return status;
    }
    rp_json_object_foreach ((rp_json *)value, key, item) {
        if (stem)
            rp_buffer_u8(path, '.');
        rp_buffer_text(path, key);
        status = flatten(out, path, item, err);
        path->size = stem;
        if (status != RP_OK)
            return status;
    }
    return RP_OK;
}

static rp_status read_recipe(rp_run_side *side, rp_error *err)
{
    rp_json *recipe = NULL;
    rp_buffer path = {0};
    rp_status status = rp_member_load_json(side->archive, RP_RECIPE_MEMBER, &recipe, err);
    const char *name = rp_json_string_value(rp_json_object_get(recipe, "name"));

    if (status == RP_OK && name && *name) {
        side->name = rp_malloc(strlen(name) + 1);
        status = side->name ? RP_OK : rp_no_memory(err);
        if (status == RP_OK)
            strcpy(side->name, name);
    }
    if (status == RP_OK && recipe)
        status = flatten(side->recipe, &path, recipe, err);
    rp_buffer_free(&path);
    rp_json_free(recipe);
    return status;
}

/* ---- figures ---- */

/* Those keys of `from` that are one number, behind `prefix`. */
static rp_status take_numbers(rp_json *out, const char *prefix, const rp_json *from, rp_error *err)
{
    const char *key;
    rp_json *item;
    rp_status status = RP_OK;

    rp_json_object_foreach ((rp_json *)from, key, item) {
        rp_buffer name = {0};

        if (!rp_json_is_string(item) && !rp_json_is_integer(item))
            continue;
        rp_buffer_text(&name, prefix);
        rp_buffer_text(&name, key);
        rp_buffer_u8(&name, 0);
        status = rp_buffer_status(&name, err);
        if (status == RP_OK)
            status = set(out, (const char *)name.data, rp_json_share(item), err);
        rp_buffer_free(&name);
        if (status != RP_OK)
            return status;
    }
    return RP_OK;
}

/* The confusion at 0.5 has the accuracy's interval. */
static const rp_json *at_half(const rp_json *figures)
{
    rp_json *threshold;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(figures, "thresholds"), i, threshold) {
        const char *rule = rp_json_string_value(rp_json_object_get(threshold, "rule"));

        if (rule && strcmp(rule, "half") == 0)
            return threshold;
    }
    return NULL;
}

static rp_status take_figures(rp_run_side *side, const rp_json *part, rp_error *err)
{
    static const char *const kept[] = {"auc_low", "auc_high", "gini", "ks", "brier", "accuracy_low", "accuracy_high"};
    const rp_json *figures = rp_json_object_get(part, "figures");
    const rp_json *in[] = {rp_json_object_get(figures, "discrimination"), rp_json_object_get(figures, "calibration"),
                           at_half(figures)};
    rp_status status = take_numbers(side->metrics, "", part, err);

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        for (size_t k = 0; k < sizeof in / sizeof *in && status == RP_OK; k++) {
            rp_json *value = rp_json_object_get(in[k], kept[i]);

            if (rp_json_is_string(value))
                status = set(side->metrics, kept[i], rp_json_share(value), err);
        }
    return status == RP_OK ? take_numbers(side->metrics, "trivial.", rp_json_object_get(figures, "trivial"), err)
                           : status;
}

/* What decides of a run with folds, each validated by a model that did not see it: mean, then deviation, figure by
 * figure. The final model's own are those of rows that trained it. */
static rp_status take_folds(rp_run_side *side, const rp_json *variant, rp_error *err)
{
    const rp_json *deviation = rp_json_object_get(variant, "deviation");
    const char *key;
    rp_json *mean;
    rp_status status = RP_OK;

    rp_json_object_foreach (rp_json_object_get(variant, "mean"), key, mean) {
        rp_json *own = rp_json_object_get(deviation, key);
        rp_buffer name = {0};

        rp_buffer_printf(&name, "%s.deviation", key);
        rp_buffer_u8(&name, 0);
        status = rp_buffer_status(&name, err);
        if (status == RP_OK)
            status = set(side->metrics, key, rp_json_share(mean), err);
        if (status == RP_OK && own)
            status = set(side->metrics, (const char *)name.data, rp_json_share(own), err);
        rp_buffer_free(&name);
        if (status != RP_OK)
            return status;
    }
    return RP_OK;
}

/* Of the variant that is the run; NULL: the folds were not validated. */
static const rp_json *folds_of(const rp_json *metrics)
{
    const rp_json *trials = rp_json_object_get(metrics, "trials"), *chosen = rp_json_object_get(trials, "chosen");
    const int64_t at = chosen ? rp_json_integer_value(chosen) : 0;
    const rp_json *variant = rp_json_array_get(rp_json_object_get(trials, "variants"), at < 0 ? SIZE_MAX : (size_t)at);

    return rp_json_object_get(trials, "folds") && rp_json_object_size(rp_json_object_get(variant, "mean")) ? variant
                                                                                                           : NULL;
}

static rp_status take_trials(rp_run_side *side, const rp_json *trials, rp_error *err)
{
    if (!rp_json_is_object(trials))
        return RP_OK;
    side->trials = rp_json_object();
    return side->trials ? take_numbers(side->trials, "", trials, err) : rp_no_memory(err);
}

static rp_status read_metrics(rp_run_side *side, rp_error *err)
{
    rp_json *metrics = NULL;
    rp_status status = rp_member_load_json(side->archive, RP_METRICS_MEMBER, &metrics, err);
    const rp_json *training = rp_json_object_get(metrics, "training");
    const rp_json *part = rp_json_object_get(metrics, "validation"), *folds = part ? NULL : folds_of(metrics);

    if (part || training) {
        const rp_json *judged = part ? part : training, *tokens = rp_json_object_get(judged, "tokens");

        side->part = part ? "validation" : folds ? "folds" : "training";
        side->text = tokens != NULL;
        side->rows = rp_json_integer_value(tokens ? tokens : rp_json_object_get(judged, "rows"));
    }
    if (status == RP_OK && folds)
        status = take_folds(side, folds, err);
    else if (status == RP_OK && side->part)
        status = take_figures(side, part ? part : training, err);
    if (status == RP_OK && (part || folds))
        status = take_numbers(side->metrics, "training.", training, err);
    if (status == RP_OK)
        status = take_trials(side, rp_json_object_get(metrics, "trials"), err);
    rp_json_free(metrics);
    return status;
}

/* ---- coefficients, named as FORMAT 9.7 names their terms ---- */

static void put_text(rp_buffer *out, const rp_json *value, const char *otherwise)
{
    if (rp_json_is_string(value))
        rp_buffer_text(out, rp_json_string_value(value));
    else if (rp_json_is_integer(value))
        rp_buffer_printf(out, "%lld", (long long)rp_json_integer_value(value));
    else
        rp_buffer_text(out, otherwise);
}

static void put_factor(rp_buffer *out, const rp_json *term)
{
    const rp_json *category = rp_json_object_get(term, "category"), *bin = rp_json_object_get(term, "bin");

    if (rp_json_is_true(rp_json_object_get(term, "intercept"))) {
        rp_buffer_text(out, "(intercept)");
        return;
    }
    put_text(out, rp_json_object_get(term, "column"), "?");
    if (category) {
        rp_buffer_text(out, " = ");
        put_text(out, category, "(missing)");
    }
    if (bin) {
        rp_buffer_text(out, " in ");
        put_text(out, rp_json_array_get(bin, 0), "");
        rp_buffer_text(out, "..");
        put_text(out, rp_json_array_get(bin, 1), "");
    }
    if (rp_json_object_get(term, "other"))
        rp_buffer_text(out, " (other)");
    if (rp_json_object_get(term, "indicator"))
        rp_buffer_text(out, " (is missing)");
    if (rp_json_object_get(term, "woe"))
        rp_buffer_text(out, " (weight of evidence)");
}

static rp_status take_terms(rp_run_side *side, const rp_json *output, bool several, rp_error *err)
{
    rp_status status = RP_OK;
    rp_json *term;
    size_t i;

    rp_json_array_foreach (rp_json_object_get(output, "terms"), i, term) {
        rp_json *estimate = rp_json_object_get(term, "estimate"), *times = rp_json_object_get(term, "times");
        rp_buffer name = {0};

        if (several) {
            put_text(&name, rp_json_object_get(output, "class"), "?");
            rp_buffer_text(&name, ": ");
        }
        put_factor(&name, term);
        if (times) {
            rp_buffer_text(&name, " x ");
            put_factor(&name, times);
        }
        rp_buffer_u8(&name, 0);
        status = rp_buffer_status(&name, err);
        if (status == RP_OK)
            status = set(side->coefficients, (const char *)name.data,
                         rp_json_share(estimate ? estimate : rp_json_object_get(term, "standing")), err);
        rp_buffer_free(&name);
        if (status != RP_OK)
            return status;
    }
    return RP_OK;
}

static rp_status read_coefficients(rp_run_side *side, rp_error *err)
{
    rp_json *fit = NULL, *output;
    rp_status status = rp_member_load_json(side->archive, RP_COEFFICIENTS_MEMBER, &fit, err);
    const rp_json *outputs = rp_json_object_get(fit, "outputs");
    size_t i;

    if (status == RP_OK && fit && !(side->coefficients = rp_json_object()))
        status = rp_no_memory(err);
    rp_json_array_foreach (outputs, i, output)
        if (status == RP_OK)
            status = take_terms(side, output, rp_json_array_size(outputs) > 1, err);
    rp_json_free(fit);
    return status;
}

/* ---- rows ---- */

/* Keeps of predictions (FORMAT 9.3) the header, which names the classes, and of each line the first cells: row and
 * truth, of folds also the fold. A quoted cell may hold commas and line feeds. */
static void keep_truths(rp_buffer *text, size_t cells)
{
    size_t kept = 0, cell = 0, line = 0;
    bool quoted = false;

    for (size_t i = 0; i < text->size; i++) {
        const unsigned char c = text->data[i];
        const bool end = !quoted && c == '\n';

        if (c == '"')
            quoted = !quoted;
        else if (!quoted && c == ',')
            cell++;
        if (end || line == 0 || cell < cells)
            text->data[kept++] = c;
        if (end) {
            line++;
            cell = 0;
        }
    }
    text->size = kept;
}

static rp_status read_rows(rp_run_side *side, rp_error *err)
{
    const rp_member *table = rp_archive_find(side->archive, side->text ? RP_TEXT_MEMBER : RP_TABLE_MEMBER);
    const bool folds = side->part && strcmp(side->part, "folds") == 0;
    const rp_member *member = rp_archive_find(side->archive, folds ? RP_OUT_OF_FOLD_MEMBER : RP_PREDICTIONS_MEMBER);
    rp_buffer text = {0};
    rp_status status;

    if (table)
        rp_digest_hex(side->table, &table->digest);
    if (!member)
        return RP_OK;
    status = rp_member_load(side->archive, member, &text, err);
    if (status == RP_OK) {
        keep_truths(&text, folds ? 3 : 2);
        side->judged = (char *)text.data;
        side->judged_size = text.size;
        return RP_OK;
    }
    rp_buffer_free(&text);
    return status;
}

/* The same keys below `data` of both recipes: then one text has the same windows. */
static bool same_windows(const rp_run_side *a, const rp_run_side *b)
{
    const rp_run_side *const side[] = {a, b};
    const char *key;
    rp_json *value;

    for (int i = 0; i < 2; i++)
        rp_json_object_foreach (side[i]->recipe, key, value)
            if (strncmp(key, "data.", 5) == 0 && !rp_json_equal(value, rp_json_object_get(side[1 - i]->recipe, key)))
                return false;
    return true;
}

rp_rows rp_run_side_rows(const rp_run_side *a, const rp_run_side *b)
{
    if (!a->part || !b->part)
        return RP_ROWS_UNKNOWN;
    if (strcmp(a->part, b->part) != 0 || a->rows != b->rows)
        return RP_ROWS_OTHER;
    if (a->text != b->text)
        return RP_ROWS_OTHER;
    if (a->text && a->table[0] && b->table[0])
        return strcmp(a->table, b->table) == 0 && same_windows(a, b) ? RP_ROWS_SAME : RP_ROWS_OTHER;
    if (!a->table[0] || !b->table[0] || !a->judged || !b->judged)
        return RP_ROWS_UNKNOWN;
    return strcmp(a->table, b->table) == 0 && a->judged_size == b->judged_size &&
                   memcmp(a->judged, b->judged, a->judged_size) == 0
               ? RP_ROWS_SAME
               : RP_ROWS_OTHER;
}

const char *rp_rows_unit(const rp_run_side *side)
{
    return side->text ? "tokens" : "rows";
}

const char *rp_rows_word(rp_rows rows)
{
    static const char *const word[] = {"same", "other", "unknown"};

    return word[rows];
}

/* Every table of the one is in the other, the same. */
static bool has_tables(const rp_archive *of, const rp_archive *in)
{
    const rp_member *member, *other;

    for (size_t i = 0; (member = rp_archive_member(of, i)) != NULL; i++) {
        const size_t length = strlen(member->name);

        if (strncmp(member->name, "data/", 5) != 0 || length < 4 || strcmp(member->name + length - 4, ".csv") != 0)
            continue;
        other = rp_archive_find(in, member->name);
        if (!other || memcmp(&member->digest, &other->digest, sizeof member->digest) != 0)
            return false;
    }
    return true;
}

bool rp_run_side_same_inputs(const rp_run_side *a, const rp_run_side *b)
{
    const char *parent = rp_parent_id(a->archive), *other = rp_parent_id(b->archive);

    return a->table[0] && strcmp(a->table, b->table) == 0 && has_tables(a->archive, b->archive) &&
           has_tables(b->archive, a->archive) && rp_json_equal(a->recipe, b->recipe) &&
           (parent && other ? strcmp(parent, other) == 0 : !parent && !other);
}

rp_status rp_run_side_load(rp_run_side *side, const char *path, rp_error *err)
{
    rp_archive *archive = NULL;
    rp_status status = rp_archive_open_confirmed(&archive, path, err);

    *side = (rp_run_side){.path = path};
    return status == RP_OK ? rp_run_side_read(side, path, archive, err) : status;
}

rp_status rp_run_side_read(rp_run_side *side, const char *path, rp_archive *archive, rp_error *err)
{
    rp_status status;

    *side = (rp_run_side){.path = path, .archive = archive, .recipe = rp_json_object(), .metrics = rp_json_object()};
    status = side->recipe && side->metrics ? RP_OK : rp_no_memory(err);
    if (status == RP_OK)
        status = read_recipe(side, err);
    if (status == RP_OK)
        status = read_metrics(side, err);
    if (status == RP_OK)
        status = read_coefficients(side, err);
    return status == RP_OK ? read_rows(side, err) : status;
}

void rp_run_side_free(rp_run_side *side)
{
    rp_archive_close(side->archive);
    rp_free(side->name);
    rp_free(side->judged);
    rp_json_free(side->recipe);
    rp_json_free(side->metrics);
    rp_json_free(side->coefficients);
    rp_json_free(side->trials);
}
