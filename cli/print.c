/* SPDX-License-Identifier: Apache-2.0
 * Lines and JSON for results. */
#include "cli/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

enum { LABEL_WIDTH = 12 };

static void put_label(rp_buffer *out, const char *label)
{
    rp_buffer_text(out, label);
    for (size_t n = strlen(label); n < LABEL_WIDTH; n++)
        rp_buffer_u8(out, ' ');
}

/* What comes out of files may hold anything; a terminal must not obey it. A terminal of eight bits takes bare bytes 80
 * to 9F for control characters too, so those outside a longer character go as well. */
static void put_filtered(rp_buffer *out, const char *text, bool lines)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t within = 0; /* bytes of a character that are still to come */

    for (; *at; at++) {
        const size_t unseen = lines && *at == '\n' ? 0 : rp_unseen(at);
        bool control = unseen > 0;

        if (unseen > 0) {
            at += unseen - 1;
            within = 0;
        } else if (*at >= 0x80 && *at <= 0xBF) {
            control = within == 0 && *at <= 0x9F;
            within -= within != 0;
        } else {
            within = *at < 0xC2 || *at > 0xF4 ? 0 : *at < 0xE0 ? 1 : *at < 0xF0 ? 2 : 3;
        }
        rp_buffer_u8(out, control ? '?' : *at);
    }
}

void rp_put_plain(rp_buffer *out, const char *text)
{
    put_filtered(out, text, true);
}

void rp_put_plain_line(rp_buffer *out, const char *text)
{
    put_filtered(out, text, false);
}

/* The whole of it, however long: what is cut might be the part that matters. */
static void put_formatted(rp_buffer *out, const char *format, va_list args) RP_PRINTF(2, 0);
static void put_formatted(rp_buffer *out, const char *format, va_list args)
{
    char text[2048], *all = text;
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(text, sizeof text, format, args);
    if (length >= (int)sizeof text) {
        all = rp_malloc((size_t)length + 1);
        if (all)
            (void)vsnprintf(all, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (length < 0 || !all)
        out->failed = true;
    else
        rp_put_plain_line(out, all);
    if (all != text)
        rp_free(all);
    rp_buffer_u8(out, '\n');
}

void rp_put_line(rp_session *session, const char *label, const char *format, ...)
{
    va_list args;

    put_label(&session->out, label);
    va_start(args, format);
    put_formatted(&session->out, format, args);
    va_end(args);
}

void rp_put_verdict(rp_session *session, bool good, const char *label, const char *format, ...)
{
    va_list args;

    if (session->colour)
        rp_buffer_text(&session->out, good ? "\033[32m" : "\033[31m");
    put_label(&session->out, label);
    if (session->colour)
        rp_buffer_text(&session->out, "\033[0m");
    va_start(args, format);
    put_formatted(&session->out, format, args);
    va_end(args);
}

void rp_hidden_words(rp_buffer *out, int64_t n, const char *where, const char *tail)
{
    rp_buffer_printf(out, "%lld %s%s %s as many cells as a row, and %s none by data.comment or data.skip_lines%s",
                     (long long)n, n == 1 ? "line" : "lines", where, n == 1 ? "has" : "have", n == 1 ? "is" : "are",
                     tail);
}

void rp_put_hidden(rp_session *session, int64_t n, const char *where, const char *tail)
{
    rp_buffer words = {0};

    rp_hidden_words(&words, n, where, tail);
    rp_buffer_u8(&words, 0);
    rp_put_verdict(session, false, "hidden", "%s", rp_buffer_status(&words, NULL) == RP_OK ? (char *)words.data : "");
    session->out.failed = session->out.failed || rp_buffer_status(&words, NULL) != RP_OK;
    rp_buffer_free(&words);
}

const char *rp_fixed(char out[RP_NUMBER_TEXT], double value, int decimals)
{
    uint64_t scale = 1, units;

    for (int i = 0; i < decimals; i++)
        scale *= 10;
    if (!(value > -1e9 && value < 1e9))
        return strcpy(out, "-");
    units = (uint64_t)((value < 0 ? -value : value) * (double)scale + 0.5);
    if (decimals)
        (void)snprintf(out, RP_NUMBER_TEXT, "%s%llu.%0*llu", value < 0 && units ? "-" : "",
                       (unsigned long long)(units / scale), decimals, (unsigned long long)(units % scale));
    else
        (void)snprintf(out, RP_NUMBER_TEXT, "%s%llu", value < 0 && units ? "-" : "", (unsigned long long)units);
    return out;
}

size_t rp_characters(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += (*text & 0xC0) != 0x80;
    return n;
}

const char *rp_memory_text(char out[RP_NUMBER_TEXT], uint64_t bytes)
{
    const bool small = bytes < 1 << 20;

    (void)rp_fixed(out, (double)bytes / (small ? 1 << 10 : 1 << 20), 1);
    return strcat(out, small ? " KiB" : " MiB");
}

/* Adds one to the last digit of out[0 .. n-1], carrying; a carry past the front keeps room at out[0]. */
static void round_up(char *out, size_t n)
{
    while (n-- > 0) {
        if (out[n] == '.')
            continue;
        if (out[n] != '9') {
            out[n]++;
            return;
        }
        out[n] = '0';
    }
}

const char *rp_rounded(char out[RP_NUMBER_TEXT], const char *decimal, size_t decimals)
{
    bool negative = *decimal == '-';
    const char *digits = decimal + negative, *point = strchr(digits, '.');
    size_t keep;
    char work[RP_NUMBER_TEXT] = "0"; /* a leading zero takes a last carry */

    if (strlen(decimal) + decimals + 3 > RP_NUMBER_TEXT || strspn(digits, "0123456789.") != strlen(digits) || !point) {
        (void)snprintf(out, RP_NUMBER_TEXT, "%.*s", RP_NUMBER_TEXT - 1, decimal);
        return out;
    }
    keep = (size_t)(point - digits) + (decimals ? decimals + 1 : 0);
    memset(work + 1, '0', keep);
    memcpy(work + 1, digits, strlen(digits) < keep ? strlen(digits) : keep);
    work[1 + keep] = '\0';
    if (strlen(point) > decimals + 1 && point[1 + decimals] >= '5')
        round_up(work, 1 + keep);
    (void)snprintf(out, RP_NUMBER_TEXT, "%s%s", negative ? "-" : "", work + (work[0] == '0'));
    return out;
}

static void put_key(rp_buffer *out, const char *key)
{
    if (out->size && !strchr("{[", out->data[out->size - 1]))
        rp_buffer_u8(out, ',');
    if (key)
        rp_buffer_printf(out, "\"%s\":", key);
}

void rp_put_open(rp_buffer *out, const char *key, char bracket)
{
    put_key(out, key);
    rp_buffer_u8(out, (uint8_t)bracket);
}

void rp_put_close(rp_buffer *out, char bracket)
{
    rp_buffer_u8(out, (uint8_t)bracket);
}

void rp_put_json(rp_buffer *out, const char *key, const rp_json *value)
{
    put_key(out, key);
    if (!value || rp_json_write(value, out, NULL) != RP_OK)
        rp_buffer_text(out, "null");
}

void rp_put_raw(rp_buffer *out, const char *key, const char *json)
{
    put_key(out, key);
    rp_buffer_text(out, json);
}

void rp_put_text(rp_buffer *out, const char *key, const char *text)
{
    rp_json *value = text ? rp_json_string(text) : NULL;
    char plain[RP_ERROR_TEXT];

    if (text && !value)
        value = rp_json_string(rp_printable(plain, sizeof plain, text, strlen(text)));
    rp_put_json(out, key, value);
    rp_json_free(value);
}

static void put_text_if_any(rp_buffer *out, const char *key, const char *text)
{
    rp_put_text(out, key, *text ? text : NULL);
}

void rp_put_difference(rp_buffer *out, const char *key, const rp_difference *d)
{
    if (!d->known) {
        rp_put_json(out, key, NULL);
        return;
    }
    rp_put_open(out, key, '{');
    put_text_if_any(out, "expected", d->expected);
    put_text_if_any(out, "found", d->found);
    put_text_if_any(out, "member", d->member);
    if (d->step < 0)
        rp_put_json(out, "step", NULL);
    else
        rp_put_integer(out, "step", (uint64_t)d->step);
    put_text_if_any(out, "value", d->value);
    rp_put_close(out, '}');
}

void rp_put_host_json(rp_buffer *out, const char *key, const rp_host_table *table)
{
    if (table->count == 0) {
        rp_put_json(out, key, NULL);
        return;
    }
    rp_put_open(out, key, '[');
    for (size_t i = 0; i < table->count; i++) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "here", table->row[i].here);
        rp_put_text(out, "recorded", table->row[i].recorded);
        rp_put_text(out, "what", table->row[i].what);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
}

void rp_put_host_lines(rp_buffer *out, const rp_host_table *table)
{
    static const rp_host_row names = {"what", "recorded", "here"};
    int what = (int)strlen(names.what), recorded = (int)strlen(names.recorded);

    for (size_t i = 0; i < table->count; i++) {
        const int a = (int)strlen(table->row[i].what), b = (int)strlen(table->row[i].recorded);

        what = a > what ? a : what;
        recorded = b > recorded ? b : recorded;
    }
    for (size_t i = 0; table->count > 0 && i <= table->count; i++) {
        const rp_host_row *row = i == 0 ? &names : &table->row[i - 1];
        char line[sizeof *row + 8];

        (void)snprintf(line, sizeof line, "  %-*s  %-*s  %s", what, row->what, recorded, row->recorded, row->here);
        rp_put_plain_line(out, line);
        rp_buffer_u8(out, '\n');
    }
}

void rp_put_integer(rp_buffer *out, const char *key, uint64_t value)
{
    put_key(out, key);
    rp_buffer_printf(out, "%llu", (unsigned long long)value);
}

void rp_put_scope_counts(rp_buffer *out, const rp_replay_scope *scope)
{
    rp_put_integer(out, "segments", scope->segments);
    rp_put_integer(out, "segments_total", scope->segments_total);
    rp_put_integer(out, "steps", scope->steps);
    rp_put_integer(out, "steps_total", scope->steps_total);
    if (scope->trials_total) {
        rp_put_integer(out, "trials", scope->trials);
        rp_put_integer(out, "trials_total", scope->trials_total);
    }
}

void rp_put_bool(rp_buffer *out, const char *key, bool value)
{
    put_key(out, key);
    rp_buffer_text(out, value ? "true" : "false");
}

void rp_put_seconds(rp_buffer *out, const char *key, double value)
{
    char text[RP_NUMBER_TEXT];

    put_key(out, key);
    rp_buffer_text(out, strcmp(rp_fixed(text, value, 6), "-") == 0 ? "null" : text);
}

/* The number grammar of RFC 8259, without leading zeros. */
static bool is_number(const char *c)
{
    size_t n;

    c += *c == '-';
    n = strspn(c, "0123456789");
    if (n == 0 || (n > 1 && *c == '0'))
        return false;
    c += n;
    if (*c == '.') {
        n = strspn(++c, "0123456789");
        if (n == 0)
            return false;
        c += n;
    }
    if (*c == 'e' || *c == 'E') {
        c++;
        c += *c == '-' || *c == '+';
        n = strspn(c, "0123456789");
        if (n == 0)
            return false;
        c += n;
    }
    return *c == '\0';
}

/* One part: {"accuracy": "0.75", ...}. Only values of keys are reals; class names stand in arrays and stay strings. */
static void put_part(rp_buffer *out, const char *key, const rp_json *part)
{
    const char *name;
    rp_json *value;

    rp_put_open(out, key, '{');
    rp_json_object_foreach ((rp_json *)part, name, value) {
        const char *text = rp_json_string_value(value);

        if (text && is_number(text)) {
            put_key(out, name);
            rp_buffer_text(out, text);
        } else if (text && (strcmp(text, "nan") == 0 || strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)) {
            rp_put_json(out, name, NULL); /* which JSON lacks */
        } else {
            rp_put_json(out, name, value);
        }
    }
    rp_put_close(out, '}');
}

void rp_put_metrics(rp_buffer *out, const char *key, const rp_json *metrics)
{
    const char *name;
    rp_json *value;

    rp_put_open(out, key, '{');
    rp_json_object_foreach ((rp_json *)metrics, name, value) {
        if (rp_json_is_object(value))
            put_part(out, name, value);
        else
            rp_put_json(out, name, value);
    }
    rp_put_close(out, '}');
}

/* The first five terms, by their columns. */
static void put_terms(rp_buffer *line, const rp_json *terms)
{
    const size_t n = rp_json_array_size(terms);

    for (size_t i = 0; i < n && i < 5; i++) {
        const rp_json *term = rp_json_array_get(terms, i), *column = rp_json_object_get(term, "column");
        const char *name = rp_json_string_value(column);
        char text[64];

        rp_buffer_text(line, i ? ", " : "");
        if (name)
            rp_buffer_text(line, rp_printable(text, sizeof text, name, strlen(name)));
        else
            rp_buffer_printf(line, column ? "column %lld" : "intercept", (long long)rp_json_integer_value(column));
        if (rp_json_object_get(term, "indicator"))
            rp_buffer_text(line, " is missing");
    }
    if (n > 5)
        rp_buffer_printf(line, " and %zu more", n - 5);
}

/* A scorecard whose points run against what its bins' own rates say is one that nobody can explain. */
static void put_opposed_line(rp_session *session, const rp_json *fit)
{
    const rp_json *opposed = rp_json_object_get(fit, "opposed");
    rp_buffer line = {0};

    if (rp_json_array_size(opposed) == 0)
        return;
    put_terms(&line, opposed);
    rp_buffer_u8(&line, 0);
    rp_put_verdict(session, false, "opposed",
                   "%s: negative coefficients of weights of evidence, so that points run against the bins' own rates; "
                   "leave out a column that goes along with another",
                   (char *)line.data);
    rp_buffer_free(&line);
}

/* An exact fit: how it went, and which columns have no coefficient of their own. */
static void put_fit_line(rp_session *session, const rp_json *fit)
{
    const rp_json *left = rp_json_object_get(fit, "left_out");
    const size_t n = rp_json_array_size(left);
    rp_buffer line = {0};
    char sweeps[64] = "";

    if (!rp_json_is_object(fit))
        return;
    rp_buffer_text(&line, n ? "; left out: " : "");
    put_terms(&line, left);
    if (n > 0)
        rp_buffer_text(&line, n == 1 ? ", a sum of multiples of others" : ", sums of multiples of others");
    rp_buffer_u8(&line, 0);
    if (rp_json_object_get(fit, "sweeps"))
        (void)snprintf(sweeps, sizeof sweeps, " of %lld sweeps",
                       (long long)rp_json_integer_value(rp_json_object_get(fit, "sweeps")));
    rp_put_line(session, "fit", "exact, %lld iterations%s, %lld coefficients%s",
                (long long)rp_json_integer_value(rp_json_object_get(fit, "iterations")), sweeps,
                (long long)rp_json_integer_value(rp_json_object_get(fit, "estimated")), (char *)line.data);
    rp_buffer_free(&line);
    put_opposed_line(session, fit);
}

static const char *const metric_names[][2] = {{"accuracy", "accuracy"}, {"auc", "AUC"}, {"mse", "MSE"},
                                              {"mae", "MAE"},           {"r2", "R2"},   {"loss", "loss"}};

/* The figures of one line, as "accuracy 0.82 +- 0.01, ..."; deviation NULL: none. */
static void put_means(rp_buffer *line, const rp_json *mean, const rp_json *deviation)
{
    for (size_t i = 0; i < sizeof metric_names / sizeof *metric_names; i++) {
        const char *m = rp_json_string_value(rp_json_object_get(mean, metric_names[i][0]));
        const char *d = rp_json_string_value(rp_json_object_get(deviation, metric_names[i][0]));
        char number[RP_NUMBER_TEXT];

        if (m)
            rp_buffer_printf(line, "%s%s %s", line->size ? ", " : "", metric_names[i][1], rp_rounded(number, m, 4));
        if (m && d)
            rp_buffer_printf(line, " +- %s", rp_rounded(number, d, 4));
    }
}

/* The linear challenger, and how far the seeds lie apart. */
static void put_challengers(rp_session *session, const rp_json *trials)
{
    const rp_json *variants = rp_json_object_get(trials, "variants");
    const rp_json *seeds = rp_json_object_get(rp_json_object_get(trials, "spread"), "figures");
    rp_buffer line = {0};

    for (size_t i = 0; i < rp_json_array_size(variants); i++) {
        const rp_json *variant = rp_json_array_get(variants, i);
        const char *kind = rp_json_string_value(rp_json_object_get(variant, "kind"));

        if (!kind || strcmp(kind, "linear") != 0)
            continue;
        put_means(&line, rp_json_object_get(variant, "mean"), rp_json_object_get(variant, "deviation"));
        rp_buffer_u8(&line, 0);
        rp_put_line(session, "linear", "%s (challenger)", (char *)line.data);
        break;
    }
    line.size = 0;
    for (size_t i = 0; i < sizeof metric_names / sizeof *metric_names; i++) {
        const rp_json *one = rp_json_object_get(seeds, metric_names[i][0]);
        const char *m = rp_json_string_value(rp_json_object_get(one, "mean"));
        const char *d = rp_json_string_value(rp_json_object_get(one, "deviation"));
        char mean[RP_NUMBER_TEXT], deviation[RP_NUMBER_TEXT];

        if (m && d)
            rp_buffer_printf(&line, "%s%s %s +- %s", line.size ? ", " : "", metric_names[i][1], rp_rounded(mean, m, 4),
                             rp_rounded(deviation, d, 4));
    }
    rp_buffer_u8(&line, 0);
    if (line.size > 1)
        rp_put_line(session, "seeds", "%s (mean and deviation of other seeds)", (char *)line.data);
    rp_buffer_free(&line);
}

/* What the variant came to that is the run's recipe: its mean over the folds, and the choice. */
static void put_trial_lines(rp_session *session, const rp_json *trials)
{
    const rp_json *chosen = rp_json_object_get(trials, "chosen"), *variants = rp_json_object_get(trials, "variants");
    const rp_json *folds = rp_json_object_get(trials, "folds");
    const int64_t at = rp_json_integer_value(chosen);
    const rp_json *variant = rp_json_array_get(variants, at > 0 ? (size_t)at : 0);
    rp_buffer line = {0};

    if (folds)
        put_means(&line, rp_json_object_get(variant, "mean"), rp_json_object_get(variant, "deviation"));
    rp_buffer_u8(&line, 0);
    if (line.size > 1)
        rp_put_line(session, "folds", "%s (mean and deviation of %lld)", (char *)line.data,
                    (long long)rp_json_integer_value(folds));
    line.size = 0;
    if (chosen && rp_json_write(rp_json_object_get(variant, "set"), &line, NULL) == RP_OK)
        rp_put_line(
            session, "chosen", "variant %lld of %zu by %s: %.*s", (long long)at + 1, rp_json_array_size(variants),
            rp_json_is_string(rp_json_object_get(trials, "by")) ? rp_json_string_value(rp_json_object_get(trials, "by"))
                                                                : "?",
            line.size < 200 ? (int)line.size : 200, (const char *)line.data);
    rp_buffer_free(&line);
    put_challengers(session, trials);
}

/* Of a text: what a language model is judged by. */
static void put_language_line(rp_session *session, const char *name, const rp_json *part)
{
    static const char *const figures[][2] = {{"bits_per_byte", "bits per byte"},
                                             {"perplexity", "perplexity of a token"},
                                             {"loss", "loss"},
                                             {"accuracy", "accuracy"}};
    rp_buffer line = {0};

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const char *text = rp_json_string_value(rp_json_object_get(part, figures[i][0]));
        char number[RP_NUMBER_TEXT];

        if (text)
            rp_buffer_printf(&line, "%s%s %s", line.size ? ", " : "", figures[i][1], rp_rounded(number, text, 4));
    }
    rp_buffer_u8(&line, 0);
    if (!line.failed)
        rp_put_line(session, name, "%s (%lld tokens)", (char *)line.data,
                    (long long)rp_json_integer_value(rp_json_object_get(part, "tokens")));
    rp_buffer_free(&line);
}

void rp_put_metric_lines(rp_session *session, const rp_json *metrics)
{
    static const char *const parts[] = {"training", "validation"};

    put_trial_lines(session, rp_json_object_get(metrics, "trials"));
    put_fit_line(session, rp_json_object_get(metrics, "fit"));
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const rp_json *part = rp_json_object_get(metrics, parts[p]), *rows = rp_json_object_get(part, "rows");
        rp_buffer line = {0};

        if (rp_json_object_get(part, "bits_per_byte")) {
            put_language_line(session, parts[p], part);
            continue;
        }
        for (size_t i = 0; i < sizeof metric_names / sizeof *metric_names; i++) {
            const char *text = rp_json_string_value(rp_json_object_get(part, metric_names[i][0]));
            char number[RP_NUMBER_TEXT];

            if (text)
                rp_buffer_printf(&line, "%s%s %s", line.size ? ", " : "", metric_names[i][1],
                                 rp_rounded(number, text, 4));
        }
        rp_buffer_u8(&line, 0);
        if (line.size > 1)
            rp_put_line(session, parts[p], "%s (%lld rows)", (char *)line.data, (long long)rp_json_integer_value(rows));
        rp_buffer_free(&line);
    }
}
