/* SPDX-License-Identifier: Apache-2.0
 * Lines of a comparison of parent and child. A dash is a figure that is not defined. */
#include "cli/retrain/comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/options.h"
#include "cli/validate/tables.h"

enum { NAME = 48 };

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

static long long count_at(const rp_json *object, const char *key)
{
    return (long long)rp_json_integer_value(at(object, key));
}

/* ---- what changed ---- */

static const char *label_of(char out[NAME], const rp_json *column)
{
    const char *text = rp_json_string_value(column);

    if (text)
        return rp_printable(out, NAME, text, strlen(text));
    (void)snprintf(out, NAME, "column %lld", (long long)rp_json_integer_value(column));
    return out;
}

static void put_texts(rp_session *session, const rp_json *list, int64_t count)
{
    rp_json *item;
    size_t i;
    char quoted[NAME];

    rp_json_array_foreach (list, i, item)
        rp_buffer_printf(&session->out, "%s %s", i ? "," : "", label_of(quoted, item));
    if (count > (int64_t)i)
        rp_buffer_printf(&session->out, " and %lld more", (long long)(count - (int64_t)i));
    rp_buffer_text(&session->out, "\n");
}

static void put_list(rp_session *session, const char *label, const rp_json *changes, const char *key)
{
    const rp_json *list = at(changes, key);

    if (rp_json_array_size(list) == 0)
        return;
    rp_buffer_printf(&session->out, "%s", label);
    put_texts(session, list, 0);
}

void rp_put_retraining_changes(rp_session *session, const rp_json *changes)
{
    static const char *const sides[] = {"new", "gone"};
    rp_json *column;
    size_t i;
    char name[NAME];

    put_list(session, "passed over: columns that the parent did not have:", changes, "columns_new");
    put_list(session, "not there: columns that the parent passed over:", changes, "columns_gone");
    put_list(session, "card: of the parent's rows, so left out:", changes, "card_left_out");
    put_list(session, "recipe: not made again, so without a counterpart in the child:", changes, "recipe_left_out");
    rp_json_array_foreach (at(changes, "categories"), i, column)
        for (size_t k = 0; k < 2; k++) {
            const rp_json *side = at(column, sides[k]);
            const int64_t count = count_at(side, "count");

            if (count == 0)
                continue;
            rp_buffer_printf(&session->out, "%s: %lld %s %s", label_of(name, at(column, "column")), (long long)count,
                             count == 1 ? "category" : "categories", sides[k]);
            if (rp_json_array_size(at(side, "first")) > 0) {
                rp_buffer_u8(&session->out, ':');
                put_texts(session, at(side, "first"), count);
            } else {
                rp_buffer_u8(&session->out, '\n');
            }
        }
}

/* ---- figures of both ---- */

typedef struct figure {
    const char *label, *path[2]; /* path[1] NULL: on the first level */
} figure;

static const rp_json *figure_at(const rp_json *figures, const figure *f)
{
    const rp_json *first = at(figures, f->path[0]);

    return f->path[1] ? at(first, f->path[1]) : first;
}

/* The confusion at one rule. */
static const rp_json *accuracy_at_half(const rp_json *figures)
{
    rp_json *threshold;
    size_t i;

    rp_json_array_foreach (at(figures, "thresholds"), i, threshold) {
        const char *rule = rp_json_string_value(at(threshold, "rule"));

        if (rule && strcmp(rule, "half") == 0)
            return at(threshold, "accuracy");
    }
    return NULL;
}

static void end_line(rp_buffer *out)
{
    while (out->size && out->data[out->size - 1] == ' ')
        out->size--;
    rp_buffer_u8(out, '\n');
}

/* paired: NULL, or what was made of both together. */
static void put_row(rp_session *session, const char *label, const rp_json *parent, const rp_json *child,
                    const rp_json *paired)
{
    char range[80] = "";
    rp_figure_text low = rp_figure_of(at(paired, "low"), 4), high = rp_figure_of(at(paired, "high"), 4);

    if (rp_json_is_string(at(paired, "low")))
        (void)snprintf(range, sizeof range, "%.24s .. %.24s", low.text, high.text);
    rp_buffer_printf(&session->out, "  %-16s %10s %10s %9s  %-18s %s", label,
                     parent || child ? rp_figure_of(parent, 4).text : "",
                     parent || child ? rp_figure_of(child, 4).text : "",
                     paired ? rp_figure_of(at(paired, "difference"), 4).text : "", range,
                     paired ? rp_figure_of(at(paired, "p"), 4).text : "");
    end_line(&session->out);
}

static void put_figures(rp_session *session, const rp_json *predicate)
{
    static const figure two[] = {{"KS", {"discrimination", "ks"}},
                                 {"Brier", {"calibration", "brier"}},
                                 {"log loss", {"calibration", "log_loss"}}};
    static const figure more[] = {{"log loss", {"log_loss", NULL}}, {"macro AUC", {"macro_auc", NULL}}};
    static const figure quantity[] = {
        {"R2", {"r2", NULL}}, {"RMSE", {"rmse", NULL}}, {"MAE", {"mae", NULL}}, {"bias", {"bias", NULL}}};
    const rp_json *parent = at(at(predicate, "figures"), "parent"), *child = at(at(predicate, "figures"), "child");
    const rp_json *difference = at(predicate, "difference");
    const bool binary = at(child, "discrimination") != NULL, classes = binary || at(child, "by_class");
    const figure *list = binary ? two : classes ? more : quantity;
    const size_t n = binary ? RP_COUNT(two) : classes ? RP_COUNT(more) : RP_COUNT(quantity);

    rp_buffer_printf(&session->out, "\n  %-16s %10s %10s %9s  %-18s %s\n", "", "parent", "child", "change", "95 %",
                     "p");
    if (binary)
        put_row(session, "AUC", at(at(parent, "discrimination"), "auc"), at(at(child, "discrimination"), "auc"),
                at(difference, "auc"));
    if (binary)
        put_row(session, "accuracy", accuracy_at_half(parent), accuracy_at_half(child), NULL);
    else if (classes)
        put_row(session, "accuracy", at(parent, "accuracy"), at(child, "accuracy"), NULL);
    for (size_t i = 0; i < n; i++)
        put_row(session, list[i].label, figure_at(parent, &list[i]), figure_at(child, &list[i]), NULL);
    put_row(session, "squared error", NULL, NULL, at(difference, "loss"));
}

/* ---- scores and decisions ---- */

enum { BANDS_SHOWN = 11 }; /* in 80 columns */

static void put_migration(rp_session *session, const rp_json *score)
{
    const rp_json *moved = at(score, "moved");
    const size_t bands = rp_json_array_size(at(score, "migration"));
    rp_buffer *out = &session->out;
    rp_json *row, *cell;
    size_t i, k;

    if (!rp_json_is_array(at(score, "migration")))
        return;
    rp_buffer_printf(out, "  bands of the parent's training: %lld stay, %lld up, %lld down, %lld beyond next\n",
                     count_at(moved, "same"), count_at(moved, "up"), count_at(moved, "down"),
                     count_at(moved, "beyond_next"));
    if (bands > BANDS_SHOWN) {
        rp_buffer_printf(out, "  from band to band: a table of %zu, which --json has\n", bands);
        return;
    }
    rp_buffer_printf(out, "  %-9s", "from\\to");
    for (i = 0; i < bands; i++)
        rp_buffer_printf(out, " %5zu", i + 1);
    rp_buffer_u8(out, '\n');
    rp_json_array_foreach (at(score, "migration"), i, row) {
        rp_buffer_printf(out, "  %-9zu", i + 1);
        rp_json_array_foreach (row, k, cell)
            rp_buffer_printf(out, " %5lld", (long long)rp_json_integer_value(cell));
        rp_buffer_u8(out, '\n');
    }
}

static void put_scores(rp_session *session, const rp_json *predicate)
{
    const rp_json *list = at(predicate, "scores"), *classes = at(predicate, "classes");
    rp_buffer *out = &session->out;
    rp_json *score;
    size_t i;
    char name[NAME] = "";

    rp_json_array_foreach (list, i, score) {
        const rp_json *q = at(score, "quantiles");

        if (rp_json_array_size(list) > 1)
            (void)label_of(name, rp_json_array_get(classes, i));
        rp_buffer_printf(out, "\nscore%s%.30s\n", *name ? " of " : "", name);
        rp_buffer_printf(out, "  rank correlation: Spearman %s, Kendall %s\n",
                         rp_figure_of(at(score, "spearman"), 4).text, rp_figure_of(at(score, "kendall"), 4).text);
        rp_buffer_printf(out, "  child less parent: mean %s, 90 %% %s .. %s, all %s .. %s\n",
                         rp_figure_of(at(score, "mean"), 4).text, rp_figure_of(rp_json_array_get(q, 1), 4).text,
                         rp_figure_of(rp_json_array_get(q, 5), 4).text, rp_figure_of(rp_json_array_get(q, 0), 4).text,
                         rp_figure_of(rp_json_array_get(q, 6), 4).text);
        put_migration(session, score);
    }
}

static void put_decisions(rp_session *session, const rp_json *predicate)
{
    const rp_json *d = at(predicate, "decisions");
    const char *threshold = rp_json_string_value(at(at(predicate, "options"), "threshold"));
    const long long rows = count_at(at(predicate, "data"), "rows");
    char share[RP_NUMBER_TEXT];

    if (!rp_json_is_object(d))
        return;
    rp_buffer_printf(&session->out, "\ndecisions%s%.20s\n  %lld of %lld change (%s %%)\n",
                     rp_json_array_size(at(predicate, "classes")) == 2 ? " at " : "",
                     rp_json_array_size(at(predicate, "classes")) == 2 ? (threshold ? threshold : "0.5") : "",
                     count_at(d, "changed"), rows,
                     rp_fixed(share, rows ? 100 * (double)count_at(d, "changed") / (double)rows : 0, 1));
    rp_buffer_printf(&session->out, "  right: both %lld, child alone %lld, parent alone %lld, neither %lld; p %s\n",
                     count_at(d, "both_right"), count_at(d, "child_alone"), count_at(d, "parent_alone"),
                     count_at(d, "neither_right"), rp_figure_of(at(d, "p"), 4).text);
}

static void put_head(rp_session *session, const rp_json *predicate)
{
    const rp_json *data = at(predicate, "data"), *predecessor = at(predicate, "predecessor");
    const rp_json *differs = at(predecessor, "recipe_differs");
    const char *id = rp_json_string_value(at(predecessor, "archive_id"));
    const char *part = rp_json_string_value(at(at(predicate, "options"), "part"));

    rp_put_line(session, "parent", "%s%s", id ? id : "-",
                rp_json_is_true(at(predecessor, "named")) ? "" : ", which the child does not name as its predecessor");
    rp_put_line(session, "judged on", "%lld rows%s%s%s", count_at(data, "rows"), part ? " of the child, its " : "",
                part ? part : "", part ? " part" : " of a file");
    if (rp_json_is_true(at(data, "unfiltered")))
        rp_put_line(session, "where", "not applied: rows that the child's recipe leaves out are judged too");
    if (rp_json_is_integer(at(data, "seen_by_parent")) && rp_json_is_integer(at(data, "seen")))
        rp_put_line(session, "seen", "%lld equal a training row of the parent, %lld one of the child",
                    count_at(data, "seen_by_parent"), count_at(data, "seen"));
    else if (rp_json_is_integer(at(data, "seen")))
        rp_put_line(session, "seen",
                    "not known: not all rows that trained the parent are at hand: --parent-withheld DIR; --parent "
                    "ARCHIVE of what it started from");
    else
        rp_put_line(session, "seen",
                    "not known: not all rows that trained the two models are at hand: --withheld, "
                    "--parent-withheld DIR; --parent ARCHIVE of what the parent started from");
    if (count_at(data, "chose") > 0)
        rp_put_line(
            session, "chosen",
            "by %lld of these rows early stopping or a search took the child's model: they flatter it; judge on "
            "others (--part test, --rows)",
            count_at(data, "chose"));
    if (count_at(data, "seen_by_parent") > 0 || count_at(data, "seen") > 0)
        rp_put_line(session, "flattered", "%s, by rows like those it was trained on",
                    count_at(data, "seen") == 0             ? "the parent"
                    : count_at(data, "seen_by_parent") == 0 ? "the child"
                                                            : "both");
    if (rp_json_array_size(differs)) {
        rp_buffer_text(&session->out, "recipe      not the parent's in:");
        put_texts(session, differs, 0);
    }
}

void rp_put_retraining(rp_session *session, const rp_json *predicate)
{
    put_head(session, predicate);
    put_figures(session, predicate);
    put_scores(session, predicate);
    put_decisions(session, predicate);
    if (!rp_json_is_object(at(predicate, "drift")))
        return;
    rp_buffer_text(&session->out, "\ndrift, the child's training rows against the parent's\n");
    rp_put_drifts(session, at(predicate, "drift"));
}
