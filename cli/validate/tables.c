/* SPDX-License-Identifier: Apache-2.0
 * Lines of figures. A dash is a figure that is not defined. */
#include "cli/validate/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/options.h"

enum { NAME = 22, ROW = 200 };

static const rp_json *at(const rp_json *object, const char *key)
{
    return rp_json_object_get(object, key);
}

static long long count_at(const rp_json *object, const char *key)
{
    return (long long)rp_json_integer_value(at(object, key));
}

typedef rp_figure_text number;

/* A figure with so many decimals. */
static number real(const rp_json *value, size_t decimals)
{
    const char *text = rp_json_string_value(value);
    const char *exponent = text ? strchr(text, 'e') : NULL;
    number out, mantissa;

    if (!text) {
        memcpy(out.text, "-", 2);
    } else if (exponent) {
        (void)snprintf(out.text, sizeof out.text, "%.*s", (int)(exponent - text), text);
        (void)rp_rounded(mantissa.text, out.text, 1);
        (void)snprintf(out.text, sizeof out.text, "%.20s%.10s", mantissa.text, exponent);
    } else if (strlen(text) > 12 || strchr(text, '.')) {
        (void)rp_rounded(out.text, text, decimals);
    } else {
        (void)snprintf(out.text, sizeof out.text, "%s", text);
    }
    return out;
}

rp_figure_text rp_figure_of(const rp_json *value, size_t decimals)
{
    return real(value, decimals);
}

static number four(const rp_json *object, const char *key)
{
    return real(at(object, key), 4);
}

/* A probability of error: 0.00005 is 5.0e-5, never 0.000. */
static number p_of(const rp_json *object, size_t decimals)
{
    const char *text = rp_json_string_value(at(object, "p")), *digit = text ? strpbrk(text, "123456789") : NULL;
    number out = real(at(object, "p"), decimals), mantissa;
    char whole[ROW];

    if (!digit || strpbrk(out.text, "123456789") != NULL || strchr(text, '.') == NULL)
        return out;
    (void)snprintf(whole, sizeof whole, "%c.%.30s", *digit, digit[1] ? digit + 1 : "0");
    (void)rp_rounded(mantissa.text, whole, 1);
    (void)snprintf(out.text, sizeof out.text, "%.10se-%d", mantissa.text, (int)(digit - strchr(text, '.')));
    return out;
}

/* "0.7561 .. 0.8238", or nothing */
static void interval(char out[ROW], const rp_json *object, const char *low, const char *high)
{
    if (rp_json_is_string(at(object, low)))
        (void)snprintf(out, ROW, "%s .. %s", four(object, low).text, four(object, high).text);
    else
        (void)snprintf(out, ROW, "-");
}

/* Ends a line, without blanks before the end. */
static void end_line(rp_buffer *out)
{
    while (out->size && out->data[out->size - 1] == ' ')
        out->size--;
    rp_buffer_u8(out, '\n');
}

static void put(rp_session *session, const char *name, const char *value, const char *range, const char *trivial)
{
    rp_buffer_printf(&session->out, "  %-21s %9s   %-20s %s", name, value, range, trivial);
    end_line(&session->out);
}

/* Which rows the fall is from, for those that trained the model flatter it. */
static void put_development(rp_session *session, const rp_json *development)
{
    const char *part = rp_json_string_value(at(development, "part"));
    char text[ROW];

    if (!rp_json_is_object(development))
        return;
    (void)snprintf(text, sizeof text, "fall since, p %s", p_of(development, 4).text);
    put(session,
        part && strcmp(part, "training") == 0 ? "AUC in training"
        : part && strcmp(part, "folds") == 0  ? "AUC out of fold"
                                              : "AUC in validation",
        four(development, "auc").text, text, "");
    if (count_at(development, "without_score") > 0) {
        (void)snprintf(text, sizeof text, "  of %lld rows: %lld of folds that failed have no score",
                       count_at(development, "rows"), count_at(development, "without_score"));
        rp_buffer_printf(&session->out, "%s\n", text);
    }
}

static void put_two_classes(rp_session *session, const rp_json *f, const rp_json *development)
{
    const rp_json *d = at(f, "discrimination"), *c = at(f, "calibration"), *trivial = at(f, "trivial");
    const rp_json *hl = at(c, "hosmer_lemeshow"), *z = at(c, "spiegelhalter");
    char text[ROW];

    put(session, "", "value", "95 %", "trivial model");
    interval(text, d, "auc_low", "auc_high");
    put(session, "AUC", four(d, "auc").text, text, "0.5");
    put_development(session, development);
    put(session, "Gini", four(d, "gini").text, "", "0");
    (void)snprintf(text, sizeof text, "at score %s", four(d, "ks_score").text);
    put(session, "KS", four(d, "ks").text, text, "0");
    put(session, "Somers' D", four(d, "somers_d").text, "", "0");
    put(session, "Brier", four(c, "brier").text, "", four(trivial, "brier").text);
    put(session, "log loss", four(c, "log_loss").text, "", four(trivial, "log_loss").text);
    interval(text, c, "rate_low", "rate_high");
    put(session, "share of positives", four(c, "rate").text, text, four(trivial, "rate").text);
    (void)snprintf(text, sizeof text, "Jeffreys p %s", four(c, "jeffreys_p").text);
    put(session, "mean score", four(c, "mean_score").text, text, "");
    (void)snprintf(text, sizeof text, "p %s", p_of(hl, 4).text);
    put(session, "Hosmer-Lemeshow", four(hl, "statistic").text, text, "");
    (void)snprintf(text, sizeof text, "p %s", p_of(z, 4).text);
    put(session, "Spiegelhalter z", four(z, "statistic").text, text, "");
}

static void put_thresholds(rp_session *session, const rp_json *f)
{
    rp_buffer *out = &session->out;
    rp_json *t;
    size_t i;

    rp_buffer_printf(out, "\n  %-15s %7s %6s %6s %6s %6s %8s %8s %7s\n", "threshold", "", "tp", "fp", "tn", "fn",
                     "accuracy", "precis.", "recall");
    rp_json_array_foreach (at(f, "thresholds"), i, t)
        rp_buffer_printf(out, "  %-15s %7s %6lld %6lld %6lld %6lld %8s %8s %7s\n", rp_json_string_value(at(t, "rule")),
                         four(t, "threshold").text, count_at(t, "true_positives"), count_at(t, "false_positives"),
                         count_at(t, "true_negatives"), count_at(t, "false_negatives"), four(t, "accuracy").text,
                         four(t, "precision").text, four(t, "recall").text);
    rp_buffer_printf(out, "  always the class most frequent in training: accuracy %s\n",
                     four(at(f, "trivial"), "accuracy").text);
}

static void put_bands(rp_session *session, const rp_json *f)
{
    const rp_json *cap = at(at(f, "discrimination"), "cap");
    rp_buffer *out = &session->out;
    rp_json *b, *point;
    size_t i;

    rp_buffer_printf(out, "\n  %-19s %7s %7s %7s %-17s %8s\n", "band of scores", "rows", "mean", "rate", "95 %",
                     "Jeffreys");
    rp_json_array_foreach (at(at(f, "calibration"), "bands"), i, b) {
        char scores[ROW], rate[ROW];

        interval(scores, b, "lowest", "highest");
        interval(rate, b, "rate_low", "rate_high");
        rp_buffer_printf(out, "  %-19s %7lld %7s %7s %-17s %8s\n", scores, count_at(b, "rows"),
                         four(b, "mean_score").text, four(b, "rate").text, rate, four(b, "jeffreys_p").text);
    }
    rp_buffer_printf(out, "\n  %s", "captured by the top");
    rp_json_array_foreach (cap, i, point)
        if (i < 5)
            rp_buffer_printf(out, "  %zu0 %% %s", i + 1, real(at(point, "captured"), 2).text);
    rp_buffer_text(out, "\n");
}

static void put_more_classes(rp_session *session, const rp_json *f, const rp_json *classes)
{
    const rp_json *trivial = at(f, "trivial");
    rp_json *c;
    size_t i;

    put(session, "", "value", "", "trivial model");
    put(session, "accuracy", four(f, "accuracy").text, "", four(trivial, "accuracy").text);
    put(session, "log loss", four(f, "log_loss").text, "", four(trivial, "log_loss").text);
    put(session, "macro AUC", four(f, "macro_auc").text, "", "0.5");
    rp_buffer_printf(&session->out, "\n  %-12s %7s %9s %9s %7s %7s  %s\n", "class", "rows", "predicted", "precision",
                     "recall", "AUC", "95 %");
    rp_json_array_foreach (at(f, "by_class"), i, c) {
        const char *name = rp_json_string_value(rp_json_array_get(classes, i));
        char text[ROW], quoted[NAME];

        interval(text, c, "auc_low", "auc_high");
        rp_buffer_printf(&session->out, "  %-12.12s %7lld %9lld %9s %7s %7s  %s\n",
                         rp_printable(quoted, sizeof quoted, name ? name : "", name ? strlen(name) : 0),
                         count_at(c, "rows"), count_at(c, "predicted"), four(c, "precision").text,
                         four(c, "recall").text, four(c, "auc").text, text);
    }
}

static void put_quantity(rp_session *session, const rp_json *f)
{
    static const char *const shares[] = {"least", "5 %", "25 %", "median", "75 %", "95 %", "most"};
    const rp_json *trivial = at(f, "trivial");
    rp_json *q;
    size_t i;

    put(session, "", "value", "", "trivial model");
    put(session, "R2", four(f, "r2").text, "", four(trivial, "r2").text);
    put(session, "RMSE", four(f, "rmse").text, "", four(trivial, "rmse").text);
    put(session, "MAE", four(f, "mae").text, "", four(trivial, "mae").text);
    put(session, "bias", four(f, "bias").text, "", "");
    if (at(f, "mean_deviance")) {
        put(session, "actual / expected", four(f, "actual_expected").text, "", "");
        put(session, "mean deviance", four(f, "mean_deviance").text, "", four(trivial, "mean_deviance").text);
    }
    put(session, "mean of outcomes", four(f, "mean").text, "",
        rp_json_object_get(trivial, "prediction") ? four(trivial, "prediction").text : "");
    put(session, "mean prediction", four(f, "mean_prediction").text, "", "");
    rp_buffer_text(&session->out, "\n  outcome less prediction\n");
    rp_json_array_foreach (at(f, "residual_quantiles"), i, q)
        put(session, i < RP_COUNT(shares) ? shares[i] : "", real(q, 4).text, "", "");
}

static void put_figures(rp_session *session, const rp_json *predicate)
{
    const rp_json *f = at(predicate, "figures"), *classes = at(predicate, "classes");

    if (at(f, "discrimination")) {
        put_two_classes(session, f, at(predicate, "development"));
        put_thresholds(session, f);
        if (at(at(f, "calibration"), "bands"))
            put_bands(session, f);
    } else if (at(f, "by_class")) {
        put_more_classes(session, f, classes);
    } else {
        put_quantity(session, f);
    }
}

/* What a part is called: its value, its bounds, or missing. */
static void part_name(char out[ROW], const rp_json *part)
{
    const char *value = rp_json_string_value(at(part, "value"));
    char quoted[NAME];

    if (value)
        (void)snprintf(out, ROW, "%s", rp_printable(quoted, sizeof quoted, value, strlen(value)));
    else if (at(part, "value"))
        (void)snprintf(out, ROW, "(missing)");
    else if (rp_json_is_null(at(part, "from")))
        (void)snprintf(out, ROW, "below %s", four(part, "to").text);
    else if (rp_json_is_null(at(part, "to")))
        (void)snprintf(out, ROW, "from %s", four(part, "from").text);
    else
        (void)snprintf(out, ROW, "%s to %s", four(part, "from").text, four(part, "to").text);
}

static void put_part(rp_session *session, const rp_json *part)
{
    const rp_json *f = at(part, "figures"), *d = at(f, "discrimination"), *c = at(f, "calibration");
    rp_buffer *out = &session->out;
    char name[ROW], range[ROW];

    part_name(name, part);
    if (!rp_json_is_object(f)) {
        rp_buffer_printf(out, "  %-20.20s %7d  no row with an outcome\n", name, 0);
    } else if (d) {
        interval(range, d, "auc_low", "auc_high");
        rp_buffer_printf(out, "  %-20.20s %7lld %7s  %-16s %7s %7s %7s\n", name, count_at(f, "rows"),
                         four(d, "auc").text, range, four(c, "mean_score").text, four(c, "rate").text,
                         four(c, "jeffreys_p").text);
    } else if (at(f, "by_class")) {
        rp_buffer_printf(out, "  %-20.20s %7lld %8s %8s %9s\n", name, count_at(f, "rows"), four(f, "accuracy").text,
                         four(f, "log_loss").text, four(f, "macro_auc").text);
    } else {
        rp_buffer_printf(out, "  %-20.20s %7lld %10s %10s %10s %10s\n", name, count_at(f, "rows"), four(f, "r2").text,
                         four(f, "rmse").text, four(f, "mae").text, four(f, "bias").text);
    }
}

static void put_slices(rp_session *session, const rp_json *list, const rp_json *figures)
{
    rp_json *cut, *part;
    size_t i, k;

    rp_json_array_foreach (list, i, cut) {
        char quoted[64];
        const char *by = rp_json_string_value(at(cut, "by"));

        rp_buffer_printf(&session->out, "\nby %s\n",
                         rp_printable(quoted, sizeof quoted, by ? by : "", by ? strlen(by) : 0));
        if (at(figures, "discrimination"))
            rp_buffer_printf(&session->out, "  %-20s %7s %7s  %-16s %7s %7s %7s\n", "", "rows", "AUC", "95 %", "mean",
                             "rate", "Jeffr.");
        else if (at(figures, "by_class"))
            rp_buffer_printf(&session->out, "  %-20s %7s %8s %8s %9s\n", "", "rows", "accuracy", "log loss",
                             "macro AUC");
        else
            rp_buffer_printf(&session->out, "  %-20s %7s %10s %10s %10s %10s\n", "", "rows", "R2", "RMSE", "MAE",
                             "bias");
        rp_json_array_foreach (at(cut, "parts"), k, part)
            put_part(session, part);
    }
}

/* Of two classes what selects: the one that was given, else 0.5. */
static void put_threshold(rp_buffer *out, const rp_json *figures)
{
    rp_json *t;
    size_t i;

    rp_json_array_foreach (at(figures, "thresholds"), i, t) {
        const char *rule = rp_json_string_value(at(t, "rule"));

        if (rule && strcmp(rule, "given") == 0) {
            rp_buffer_printf(out, ", at the threshold that was given, %s", four(t, "threshold").text);
            return;
        }
    }
    if (at(figures, "thresholds"))
        rp_buffer_text(out, ", at threshold 0.5");
}

static void put_selection(rp_session *session, const rp_json *cut, const rp_json *figures)
{
    const rp_json *summary = at(cut, "summary");
    const char *favourable = rp_json_string_value(at(cut, "favourable"));
    rp_buffer *out = &session->out;
    char quoted[40];
    rp_json *part;
    size_t k;

    if (!summary)
        return;
    rp_buffer_printf(
        out, "\n  selected: predicted \"%s\"",
        rp_printable(quoted, sizeof quoted, favourable ? favourable : "", favourable ? strlen(favourable) : 0));
    put_threshold(out, figures);
    rp_buffer_text(out, "\n");
    rp_buffer_printf(out, "  %-12s %7s %8s %7s %7s  %-16s %7s\n", "", "rows", "selected", "rate", "ratio", "95 %", "p");
    rp_json_array_foreach (at(cut, "parts"), k, part) {
        const rp_json *s = at(part, "selection");
        char name[ROW], range[ROW];

        if (!s)
            continue;
        part_name(name, part);
        interval(range, s, "ratio_low", "ratio_high");
        rp_buffer_printf(out, "  %-12.12s %7lld %8lld %7s %7s  %-16s %7s%s\n", name, count_at(s, "rows"),
                         count_at(s, "selected"), four(s, "rate").text, four(s, "ratio").text, range, p_of(s, 3).text,
                         rp_json_is_true(at(s, "small")) ? " few" : "");
    }
    rp_buffer_printf(out,
                     "  lowest to highest rate: ratio %s, difference %s\n  difference of odds %s, of opportunity %s\n",
                     four(summary, "ratio").text, four(summary, "difference").text, four(summary, "odds").text,
                     four(summary, "opportunity").text);
    rp_buffer_text(out, "  A screening: read the counts and intervals, not the ratio alone.\n");
}

static void put_left_out(rp_session *session, const rp_json *count)
{
    if (rp_json_is_integer(count))
        rp_put_line(session, "where", "not applied: rows that the recipe leaves out are judged too, %lld of these",
                    (long long)rp_json_integer_value(count));
    else
        rp_put_line(session, "where",
                    "not applied: rows that the recipe leaves out are judged too; how many is not known, as these rows "
                    "lack a column of it, or have cells that it cannot be held against");
}

/* way: what the command takes where it is not known what trained the model. */
static void put_data(rp_session *session, const rp_json *predicate, const char *way)
{
    const rp_json *data = at(predicate, "data");
    const char *digest = rp_json_string_value(at(data, "sha256"));

    rp_put_line(session, "rows", "%lld, of which %lld without an outcome", count_at(data, "rows"),
                count_at(data, "without_outcome"));
    if (at(data, "without_score"))
        rp_put_line(session, "scored", "out of fold: by trials that were not trained on the row, not by the model");
    if (count_at(data, "without_score"))
        rp_put_line(session, "failed", "folds of %lld rows, which have no score and are not judged",
                    count_at(data, "without_score"));
    if (rp_json_is_true(at(data, "unfiltered")))
        put_left_out(session, at(data, "left_out"));
    if (count_at(data, "hidden"))
        rp_put_verdict(
            session, false, "hidden", "%lld %s: by data.comment, data.skip_lines or quotes they are read as none",
            count_at(data, "hidden"), count_at(data, "hidden") == 1 ? "line may be a row" : "lines may be rows");
    if (count_at(data, "seen"))
        rp_put_line(session, "seen", "%lld are in every feature what a training row %sis: they flatter",
                    count_at(data, "seen"), at(data, "without_score") ? "of their trial " : "");
    else if (rp_json_is_null(at(data, "seen")))
        rp_put_verdict(session, false, "seen",
                       "not known: rows that trained the model are not all at hand, or of other features: %s", way);
    if (count_at(data, "chose"))
        rp_put_line(session, "chosen", "by %lld more, which said when to stop or which settings to take: they flatter",
                    count_at(data, "chose"));
    if (count_at(data, "called_missing"))
        rp_put_verdict(session, false, "missing",
                       "%lld rows have an outcome that the recipe's data.missing calls missing: no figure has them",
                       count_at(data, "called_missing"));
    if (count_at(data, "own") && !rp_json_is_string(at(at(predicate, "options"), "part")))
        rp_put_line(session, "own", "%lld more are in every feature what a row of the run's own table is",
                    count_at(data, "own"));
    rp_put_line(session, "sha256", "%s", digest ? digest : "-");
}

void rp_put_validation(rp_session *session, const rp_json *predicate)
{
    const rp_json *figures = at(predicate, "figures");
    rp_json *cut;
    size_t i;

    put_data(session, predicate,
             "--withheld DIR; of a run that started from another --parent PARENT.reprise, with --parent-withheld DIR "
             "where that left its table out");
    rp_buffer_text(&session->out, "\n");
    put_figures(session, predicate);
    put_slices(session, at(predicate, "slices"), figures);
    rp_json_array_foreach (at(predicate, "groups"), i, cut) {
        rp_json *one = rp_json_pack("[O]", cut);

        put_slices(session, one, figures);
        put_selection(session, cut, figures);
        rp_json_free(one);
    }
}

/* ---- monitoring ---- */

/* The customary bounds of 0.10 and 0.25, as a word. */
static const char *psi_word(const rp_json *value)
{
    const char *text = rp_json_string_value(value);
    const double psi = text ? strtod(text, NULL) : 0;

    return psi >= 0.25 ? "shifted" : psi >= 0.1 ? "moved" : "";
}

static void put_drift(rp_session *session, const char *name, const rp_json *d)
{
    number distance = four(d, "wasserstein");

    if (strlen(distance.text) > 10)
        distance = real(at(d, "wasserstein"), 0);
    rp_buffer_printf(&session->out, "  %-20.20s %8s %8s %8s %8s %10s %s", name, four(d, "psi").text,
                     four(d, "jensen_shannon").text, four(d, "cramers_v").text, four(d, "ks").text, distance.text,
                     psi_word(at(d, "psi")));
    end_line(&session->out);
    if (count_at(d, "below") || count_at(d, "above"))
        rp_buffer_printf(&session->out, "    outside the range of training: %lld below, %lld above\n",
                         count_at(d, "below"), count_at(d, "above"));
}

static void put_new_values(rp_session *session, const rp_json *d)
{
    rp_json *value;
    size_t i;

    if (rp_json_array_size(at(d, "new_values")) == 0)
        return;
    rp_buffer_text(&session->out, "    values that training did not know:");
    rp_json_array_foreach (at(d, "new_values"), i, value) {
        char quoted[24];
        const char *text = rp_json_string_value(value);

        rp_buffer_printf(&session->out, "%s %s", i ? "," : "", rp_printable(quoted, sizeof quoted, text, strlen(text)));
    }
    rp_buffer_text(&session->out, "\n");
}

void rp_put_drifts(rp_session *session, const rp_json *drift)
{
    rp_json *d;
    size_t i;

    rp_buffer_printf(&session->out, "\n  %-20s %8s %8s %8s %8s %10s\n", "", "PSI", "JS", "V", "KS", "Wasserst.");
    rp_json_array_foreach (at(drift, "scores"), i, d) {
        char name[32];

        (void)snprintf(name, sizeof name, "score %zu", i);
        put_drift(session, i || rp_json_array_size(at(drift, "scores")) > 1 ? name : "score", d);
    }
    rp_json_array_foreach (at(drift, "columns"), i, d) {
        const char *text = rp_json_string_value(at(d, "name"));
        char name[32];

        if (text)
            (void)rp_printable(name, sizeof name, text, strlen(text));
        else
            (void)snprintf(name, sizeof name, "column %lld", count_at(d, "column"));
        put_drift(session, name, d);
        put_new_values(session, d);
    }
    if (!rp_json_is_true(at(drift, "samples")))
        rp_buffer_text(&session->out, "  KS and Wasserstein need the training rows, which the archive does not hold\n");
}

void rp_put_monitoring(rp_session *session, const rp_json *predicate)
{
    rp_put_line(session, "period", "%lld%s", count_at(predicate, "number"),
                rp_json_is_null(at(predicate, "previous")) ? ", the first" : "");
    put_data(session, predicate, "--withheld DIR");
    rp_put_drifts(session, predicate);
    if (rp_json_is_object(at(predicate, "figures"))) {
        rp_buffer_text(&session->out, "\noutcomes\n");
        put_figures(session, predicate);
    }
}
