/* SPDX-License-Identifier: Apache-2.0
 * The run beside the trivial model (CONTRACT 14): a figure is worse, or it is not; how much worse is for the reader. */
#include "cli/validate/trivial.h"

#include <stdlib.h>
#include <string.h>

/* A figure that both have: of the model inside `in` of its figures, or beside them; of the trivial model by its name.
 */
typedef struct figure {
    const char *name, *label, *in, *than;
    bool beside, more; /* more: is better */
} figure;

static const figure list[] = {
    {"brier", "Brier", "calibration", "predicting the share of positives", false, false},
    {"log_loss", "log loss", NULL, "predicting the shares of the classes", false, false},
    {"accuracy", "accuracy", NULL, "predicting the most frequent class", true, true},
    {"rmse", "RMSE", NULL, "predicting the mean", false, false},
};
enum { FIGURES = sizeof list / sizeof *list };

static const rp_json *at(const rp_json *object, const char *key)
{
    return key ? rp_json_object_get(object, key) : object;
}

/* The part that was not trained on, where there is one. */
static const rp_json *main_part(const rp_json *metrics, const char **name)
{
    const rp_json *part = at(metrics, "validation");

    *name = part ? "validation" : "training";
    return part ? part : at(metrics, "training");
}

/* Decimals of metrics.json: strtod rounds as they were written, in the C locale. */
static bool is_worse(const figure *f, const rp_json *part, const char **ours, const char **theirs)
{
    const rp_json *figures = at(part, "figures");
    double x, y;

    *ours = rp_json_string_value(at(f->beside ? part : at(figures, f->in), f->name));
    *theirs = rp_json_string_value(at(at(figures, "trivial"), f->name));
    if (!*ours || !*theirs)
        return false;
    x = strtod(*ours, NULL);
    y = strtod(*theirs, NULL);
    return f->more ? x < y : x > y;
}

/* Beside an offset the trivial model has one rate for all exposures, or one number above all offsets. */
static const char *than(const figure *f, const rp_json *part)
{
    const rp_json *trivial = at(at(part, "figures"), "trivial");

    if (at(trivial, "rmse") == NULL)
        return f->than;
    return at(trivial, "rate")           ? "one rate for all exposures"
           : at(trivial, "above_offset") ? "the offset and one number for all"
                                         : f->than;
}

void rp_put_trivial_line(rp_session *session, const rp_json *metrics)
{
    char a[RP_NUMBER_TEXT], b[RP_NUMBER_TEXT];
    const char *name, *ours, *theirs;
    const rp_json *part = main_part(metrics, &name);
    rp_buffer line = {0};

    for (size_t i = 0; i < FIGURES; i++)
        if (is_worse(&list[i], part, &ours, &theirs))
            rp_buffer_printf(&line, "%s%s (%s %s, there %s)", line.size ? ", and than " : "", than(&list[i], part),
                             list[i].label, rp_rounded(a, ours, 4), rp_rounded(b, theirs, 4));
    rp_buffer_u8(&line, 0);
    if (line.size > 1)
        rp_put_verdict(session, false, "trivial", "worse on the %s rows than %s", name, (const char *)line.data);
    rp_buffer_free(&line);
}

void rp_put_trivial_json(rp_buffer *out, const char *key, const rp_json *metrics)
{
    const char *name, *ours, *theirs;
    const rp_json *part = main_part(metrics, &name);

    rp_put_open(out, key, '[');
    for (size_t i = 0; i < FIGURES; i++)
        if (is_worse(&list[i], part, &ours, &theirs))
            rp_put_text(out, NULL, list[i].name);
    rp_put_close(out, ']');
}

bool rp_metrics_perfect(const rp_json *metrics)
{
    enum { LEAST_ROWS = 20 };
    const char *name, *accuracy, *r2;
    const rp_json *part = main_part(metrics, &name);

    accuracy = rp_json_string_value(at(part, "accuracy"));
    r2 = rp_json_string_value(at(part, "r2"));
    return rp_json_integer_value(at(part, "rows")) >= LEAST_ROWS &&
           ((accuracy && strcmp(accuracy, "1") == 0) || (r2 && strtod(r2, NULL) >= 0.9999));
}

void rp_put_perfect_line(rp_session *session, const rp_json *metrics)
{
    const char *name;

    (void)main_part(metrics, &name);
    if (rp_metrics_perfect(metrics))
        rp_put_verdict(session, false, "perfect",
                       "on the %s rows, which real outcomes hardly ever are: is a column, or some together, known only "
                       "when the target is?",
                       name);
}
