/* SPDX-License-Identifier: Apache-2.0
 * reprise compare: runs side by side, and whether their figures are of the same rows. It reads archives and computes
 * nothing; that they differ is a result, not an error. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/print.h"
#include "cli/retrain/side_by_side.h"

enum { RUNS_MAX = 16, CELL = 16, NAME = 30 };

typedef struct request {
    const char *path[RUNS_MAX];
    size_t runs;
} request;

typedef struct table {
    rp_run_side run[RUNS_MAX];
    size_t runs;
} table;

/* One list of every run: which of its objects. */
typedef rp_json *list_of(const rp_run_side *side);

static rp_json *recipe_of(const rp_run_side *side)
{
    return side->recipe;
}

static rp_json *metrics_of(const rp_run_side *side)
{
    return side->metrics;
}

static rp_json *coefficients_of(const rp_run_side *side)
{
    return side->coefficients;
}

static rp_json *trials_of(const rp_run_side *side)
{
    return side->trials;
}

static bool all_equal(const table *t, list_of *list, const char *key)
{
    const rp_json *first = rp_json_object_get(list(&t->run[0]), key);

    for (size_t i = 1; i < t->runs; i++) {
        const rp_json *other = rp_json_object_get(list(&t->run[i]), key);

        if (!first != !other || (first && !rp_json_equal(first, other)))
            return false;
    }
    return true;
}

/* Calls put for every key that some run has, once; differing: only where the runs are not alike. */
static void each_key(rp_session *session, const table *t, list_of *list, bool differing,
                     void (*put)(rp_session *, const table *, list_of *, const char *))
{
    const char *key;
    rp_json *item;

    for (size_t i = 0; i < t->runs; i++) {
        rp_json_object_foreach (list(&t->run[i]), key, item) {
            bool told = false;

            (void)item;
            for (size_t k = 0; k < i && !told; k++)
                told = rp_json_object_get(list(&t->run[k]), key) != NULL;
            if (!told && !(differing && all_equal(t, list, key)))
                put(session, t, list, key);
        }
    }
}

/* ---- for people ---- */

static void put_cell(rp_buffer *out, const char *text, size_t length, size_t width)
{
    char shown[64];

    rp_printable(shown, width + 1, text, length);
    rp_buffer_printf(out, " %*s", (int)width, shown);
}

/* Rounded where rounding leaves digits: a small one is shown as it is, cut at the cell's end. */
static bool rounds(const char *text)
{
    return strlen(text) < 32 && strchr(text, '.') && strspn(text, "-0123456789.") == strlen(text) &&
           strncmp(text + (*text == '-'), "0.000", 5) != 0;
}

static void put_value(rp_buffer *out, const rp_json *value, bool figure)
{
    const char *text = rp_json_string_value(value);
    rp_buffer whole = {0};
    char number[RP_NUMBER_TEXT];

    if (!value) {
        put_cell(out, "-", 1, CELL);
    } else if (text && figure && rounds(text)) {
        rp_rounded(number, text, 6);
        put_cell(out, number, strlen(number), CELL);
    } else if (text) {
        put_cell(out, text, strlen(text), CELL);
    } else {
        (void)rp_json_write(value, &whole, NULL);
        put_cell(out, whole.data ? (const char *)whole.data : "", whole.size, CELL);
    }
    rp_buffer_free(&whole);
}

static void put_row(rp_session *session, const table *t, list_of *list, const char *key)
{
    char shown[NAME + 1];

    rp_printable(shown, sizeof shown, key, strlen(key));
    rp_buffer_printf(&session->out, "  %-*s", NAME, shown);
    for (size_t i = 0; i < t->runs; i++) {
        const rp_json *value = rp_json_object_get(list(&t->run[i]), key);

        if (list == trials_of && value && strcmp(key, "chosen") == 0) /* people count variants from 1 */
            rp_buffer_printf(&session->out, " %*lld", CELL, (long long)rp_json_integer_value(value) + 1);
        else
            put_value(&session->out, value, list != recipe_of);
    }
    rp_buffer_u8(&session->out, '\n');
}

static void put_list(rp_session *session, const table *t, const char *title, list_of *list, bool differing)
{
    size_t before;

    rp_buffer_printf(&session->out, "\n%-*s", NAME + 2, title);
    for (size_t i = 0; i < t->runs; i++)
        rp_buffer_printf(&session->out, " %*c", CELL, (int)('A' + i));
    rp_buffer_u8(&session->out, '\n');
    before = session->out.size;
    each_key(session, t, list, differing, put_row);
    if (session->out.size == before)
        rp_buffer_text(&session->out, "  the same in all\n");
}

static void put_rows(rp_session *session, const table *t)
{
    bool comparable = true;

    for (size_t i = 1; i < t->runs; i++) {
        const rp_rows rows = rp_run_side_rows(&t->run[0], &t->run[i]);
        static const char *const text[] = {
            "judged on the same rows as A, with the same outcomes",
            "judged on OTHER rows than A: its figures cannot be held against A's",
            "not known whether it is judged on A's rows: table or predictions are not in both archives",
        };

        rp_buffer_printf(&session->out, "rows        %c: %s\n", (int)('A' + i), text[rows]);
        comparable = comparable && rows == RP_ROWS_SAME;
    }
    if (!comparable)
        rp_buffer_text(&session->out, "            score all on one file: reprise validate ARCHIVE --csv ROWS.csv\n");
}

static bool any(const table *t, list_of *list)
{
    for (size_t i = 0; i < t->runs; i++)
        if (list(&t->run[i]))
            return true;
    return false;
}

static void put_head(rp_session *session, const rp_run_side *side, char label)
{
    rp_buffer *out = &session->out;
    char shown[80];

    rp_buffer_printf(out, "%c           %s  ", label, rp_archive_id(side->archive));
    rp_put_plain_line(out, side->path);
    rp_buffer_printf(out, "\n            %s",
                     side->name ? rp_printable(shown, sizeof shown, side->name, strlen(side->name)) : "without a name");
    if (side->part && strcmp(side->part, "folds") == 0)
        rp_buffer_printf(out, "; figures are means over folds, each by a model that did not see it, %lld rows",
                         (long long)side->rows);
    else if (side->part)
        rp_buffer_printf(out, "; figures of the %s part, %lld %s%s", side->part, (long long)side->rows,
                         rp_rows_unit(side), strcmp(side->part, "training") == 0 ? ", WHICH TRAINED IT" : "");
    rp_buffer_printf(out, "\n            table %s\n", side->table[0] ? side->table : "not in the archive");
    if (rp_parent_id(side->archive))
        rp_buffer_printf(out, "            parent %s\n", rp_parent_id(side->archive));
}

static void put_text(rp_session *session, const table *t)
{
    for (size_t i = 0; i < t->runs; i++)
        put_head(session, &t->run[i], (char)('A' + i));
    put_rows(session, t);
    put_list(session, t, "recipe, where it differs", recipe_of, true);
    put_list(session, t, "figures", metrics_of, false);
    if (any(t, coefficients_of))
        put_list(session, t, "coefficients", coefficients_of, false);
    if (any(t, trials_of))
        put_list(session, t, "trials", trials_of, false);
}

/* ---- for programs ---- */

static void put_item(rp_session *session, const table *t, list_of *list, const char *key)
{
    rp_put_open(&session->out, NULL, '{');
    rp_put_text(&session->out, "key", key);
    rp_put_open(&session->out, "values", '[');
    for (size_t i = 0; i < t->runs; i++) {
        const rp_json *value = rp_json_object_get(list(&t->run[i]), key);

        if (value)
            rp_put_json(&session->out, NULL, value);
        else
            rp_put_text(&session->out, NULL, NULL);
    }
    rp_put_close(&session->out, ']');
    rp_put_close(&session->out, '}');
}

static void put_array(rp_session *session, const table *t, const char *name, list_of *list, bool differing)
{
    rp_put_open(&session->out, name, '[');
    each_key(session, t, list, differing, put_item);
    rp_put_close(&session->out, ']');
}

static void put_json(rp_session *session, const table *t)
{
    rp_buffer *out = &session->out;

    rp_put_open(out, NULL, '{');
    put_array(session, t, "coefficients", coefficients_of, false);
    put_array(session, t, "figures", metrics_of, false);
    put_array(session, t, "recipe", recipe_of, true);
    rp_put_open(out, "runs", '[');
    for (size_t i = 0; i < t->runs; i++) {
        const rp_run_side *side = &t->run[i];

        rp_put_open(out, NULL, '{');
        rp_put_text(out, "archive_id", rp_archive_id(side->archive));
        rp_put_text(out, "name", side->name);
        rp_put_text(out, "parent", rp_parent_id(side->archive));
        rp_put_text(out, "part", side->part);
        rp_put_text(out, "path", side->path);
        rp_put_integer(out, "rows", (uint64_t)side->rows);
        rp_put_text(out, "rows_of_first", rp_rows_word(rp_run_side_rows(&t->run[0], side)));
        rp_put_text(out, "table_sha256", side->table[0] ? side->table : NULL);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    put_array(session, t, "trials", trials_of, false);
    rp_put_close(out, '}');
}

/* ---- the command line: operands as many as there are, in front of the options ---- */

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    const rp_usage usage = {
        "compare A B ... [--json]",
        "Puts 2 to 16 runs side by side: recipe keys that differ, digests of the tables, figures with their\n"
        "intervals, coefficients, trials; and says of each whether it is judged on the same rows as the first:\n"
        "figures of other rows cannot be held against each other. Nothing is computed, and signatures are not\n"
        "looked at (reprise verify). Where the bits of two runs part, reprise diff says.",
        "  reprise compare champion.reprise challenger.reprise",
        NULL,
        0,
        NULL,
        0};
    int first = 1;
    rp_status status = RP_OK;

    while (first < argc && argv[first][0] != '-' && status == RP_OK) {
        if (r->runs == RUNS_MAX)
            status = rp_fail(err, RP_EARG, "compare: at most %d archives at once", (int)RUNS_MAX);
        else
            r->path[r->runs++] = argv[first++];
    }
    argv[first - 1] = argv[0];
    if (status == RP_OK)
        status = rp_options_parse(session, &usage, argc - first + 1, argv + first - 1, NULL, err);
    if (status == RP_OK && !session->helped && r->runs < 2)
        status = rp_fail(err, RP_EARG,
                         "compare: expected at least two archives, in front of options, found %zu; see reprise compare "
                         "--help",
                         r->runs);
    return status;
}

rp_status rp_command_compare(rp_session *session, int argc, char **argv, rp_error *err)
{
    request r = {.runs = 0};
    table t = {.runs = 0};
    rp_status status = parse(session, argc, argv, &r, err);

    if (session->helped)
        return status;
    while (status == RP_OK && t.runs < r.runs) {
        status = rp_run_side_load(&t.run[t.runs], r.path[t.runs], err);
        t.runs++;
    }
    if (status == RP_OK && session->json)
        put_json(session, &t);
    else if (status == RP_OK)
        put_text(session, &t);
    for (size_t i = 0; i < t.runs; i++)
        rp_run_side_free(&t.run[i]);
    return status;
}
