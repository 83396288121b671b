/* SPDX-License-Identifier: Apache-2.0
 * Plots of the scores: ROC, CAP, calibration, scores by class, residuals, drift of the score. Their points come from
 * outputs/predictions.csv and outputs/reference.json; the figures beside them are the archive's. */
#include <string.h>

#include "audit/report/report.h"
#include "base/memory.h"
#include "core/stats/discrimination.h"
#include "core/stats/drift.h"

enum { BINS = 20, EDGES_MAX = 64 };

typedef struct points {
    double *x, *y;
    size_t n;
} points;

static bool points_new(points *p, size_t n)
{
    p->n = 0;
    p->x = rp_reallocarray(NULL, n, sizeof *p->x);
    p->y = rp_reallocarray(NULL, n, sizeof *p->y);
    return p->x && p->y;
}

static void points_free(points *p)
{
    rp_free(p->x);
    rp_free(p->y);
}

static void add(points *p, double x, double y)
{
    p->x[p->n] = x;
    p->y[p->n++] = y;
}

static const double ends[] = {0, 1};

/* ---- two classes ---- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* From the highest score down: what share of the others, or of all rows (CAP), holds what share of the positives. */
static bool cumulate(points *p, const rp_ranking *ranking, bool cap)
{
    uint64_t positives = 0, negatives = 0, rows = ranking->positives + ranking->negatives;

    if (!points_new(p, ranking->n + 1))
        return false;
    add(p, 0, 0);
    for (size_t i = ranking->n; i-- > 0;) {
        positives += ranking->tied[i].positives;
        negatives += ranking->tied[i].negatives;
        add(p, cap ? share(positives + negatives, rows) : share(negatives, ranking->negatives),
            share(positives, ranking->positives));
    }
    return true;
}

static void draw_roc(rp_report_view *r, const rp_ranking *ranking, const rp_json *figures)
{
    const rp_json *found = rp_json_object_get(figures, "discrimination");
    points p = {0};
    rp_buffer desc = {0};

    if (cumulate(&p, ranking, false)) {
        const rp_chart_line line[] = {
            {.x = ends, .y = ends, .n = 2, .style = "rest", .label = "no order"},
            {.x = p.x, .y = p.y, .n = p.n, .style = "mean", .label = "model"},
        };
        const rp_chart chart = {.id = "roc",
                                .title = "ROC",
                                .x_label = "share of the others above a score",
                                .y_label = "share of the positives above it",
                                .line = line,
                                .lines = 2,
                                .unit_x = true,
                                .unit_y = true};

        rp_buffer_text(&desc, "Area ");
        rp_html_real(&desc, rp_json_object_get(found, "auc"));
        rp_buffer_text(&desc, ", 95\xC2\xA0%: ");
        rp_html_real(&desc, rp_json_object_get(found, "auc_low"));
        rp_buffer_text(&desc, " to ");
        rp_html_real(&desc, rp_json_object_get(found, "auc_high"));
        rp_buffer_text(&desc, "; one half is no order at all.");
        rp_svg_chart(r->out, &chart, &desc);
    } else {
        r->out->failed = true;
    }
    rp_buffer_free(&desc);
    points_free(&p);
}

static void draw_cap(rp_report_view *r, const rp_ranking *ranking, const rp_json *figures)
{
    double base = share(ranking->positives, ranking->positives + ranking->negatives);
    const double best_x[] = {0, base, 1}, best_y[] = {0, 1, 1};
    points p = {0};
    rp_buffer desc = {0};

    if (cumulate(&p, ranking, true)) {
        const rp_chart_line line[] = {
            {.x = ends, .y = ends, .n = 2, .style = "rest", .label = "no order"},
            {.x = best_x, .y = best_y, .n = 3, .style = "alt", .label = "perfect"},
            {.x = p.x, .y = p.y, .n = p.n, .style = "mean", .label = "model"},
        };
        const rp_chart chart = {.id = "cap",
                                .title = "CAP",
                                .x_label = "share of all rows, highest scores first",
                                .y_label = "share of the positives among them",
                                .line = line,
                                .lines = 3,
                                .unit_x = true,
                                .unit_y = true};

        rp_buffer_text(&desc, "Accuracy ratio (Gini) ");
        rp_html_real(&desc, rp_json_object_get(rp_json_object_get(figures, "discrimination"), "gini"));
        rp_buffer_text(&desc, ".");
        rp_svg_chart(r->out, &chart, &desc);
    } else {
        r->out->failed = true;
    }
    rp_buffer_free(&desc);
    points_free(&p);
}

static void draw_calibration(rp_report_view *r, const rp_json *figures)
{
    const rp_json *bands = rp_json_object_get(rp_json_object_get(figures, "calibration"), "bands");
    double x[EDGES_MAX], y[EDGES_MAX], low[EDGES_MAX], high[EDGES_MAX];
    size_t n = 0, all = rp_json_array_size(bands);
    rp_buffer desc = {0};

    for (size_t i = 0; i < all && n < EDGES_MAX; i++) {
        const rp_json *band = rp_json_array_get(bands, i);

        if (!rp_report_real(rp_json_object_get(band, "mean_score"), &x[n]) ||
            !rp_report_real(rp_json_object_get(band, "rate"), &y[n]) ||
            !rp_report_real(rp_json_object_get(band, "rate_low"), &low[n]) ||
            !rp_report_real(rp_json_object_get(band, "rate_high"), &high[n]))
            continue;
        n++;
    }
    if (n) {
        const rp_chart_line line[] = {
            {.x = ends, .y = ends, .n = 2, .style = "rest", .label = "as scored"},
            {.x = x,
             .y = y,
             .n = n,
             .style = "mean",
             .label = "observed, 95 %",
             .dots = true,
             .low = low,
             .high = high},
        };
        const rp_chart chart = {.id = "calibration",
                                .title = "Calibration",
                                .x_label = "mean score of a band",
                                .y_label = "observed rate of the positives",
                                .line = line,
                                .lines = 2,
                                .unit_x = true,
                                .unit_y = true};

        rp_buffer_text(&desc, "Bands of equal size by score; bars are Jeffreys intervals. On the diagonal scores are "
                              "the probabilities they say.");
        rp_svg_chart(r->out, &chart, &desc);
    }
    rp_buffer_free(&desc);
}

/* ---- histograms ---- */

static size_t bin_of(double v, double low, double high, size_t bins)
{
    double at = (v - low) / (high - low) * (double)bins;

    return !(at > 0) ? 0 : at >= (double)bins ? bins - 1 : (size_t)at;
}

/* Shares of the rows of each kind whose value is in each of BINS equal bins. kind NULL: all are of the first. */
static void fill(double share_of[2][BINS], double edge[BINS + 1], const double *value, const bool *kind, size_t rows,
                 double low, double high)
{
    size_t n[2] = {0, 0};

    memset(share_of, 0, 2 * sizeof *share_of);
    for (size_t i = 0; i <= BINS; i++)
        edge[i] = low + (high - low) * ((double)i / BINS);
    for (size_t i = 0; i < rows; i++) {
        size_t k = kind && kind[i];

        share_of[k][bin_of(value[i], low, high, BINS)]++;
        n[k]++;
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; n[k] && i < BINS; i++)
            share_of[k][i] /= (double)n[k];
}

static void draw_scores(rp_report_view *r, bool two)
{
    double of[2][BINS], edge[BINS + 1];
    rp_chart_bars bar[] = {
        {.edge = edge, .height = of[0], .n = BINS, .style = "light", .label = two ? "others" : "wrong"},
        {.edge = edge, .height = of[1], .n = BINS, .style = "dark", .label = two ? "positives" : "right"}};
    const rp_chart chart = {.id = "scores",
                            .title = two ? "Scores by class" : "Scores of the predicted class",
                            .x_label = "score",
                            .y_label = "share of the rows of a kind",
                            .bar = bar,
                            .bars = 2,
                            .unit_x = true};
    rp_buffer desc = {0};

    fill(of, edge, r->scores.score, r->scores.positive, r->scores.rows, 0, 1);
    rp_buffer_text(&desc, two ? "Each class adds up to one; the further apart, the better they are told."
                              : "Rows predicted right and wrong, each adding up to one.");
    rp_svg_chart(r->out, &chart, &desc);
    rp_buffer_free(&desc);
}

/* ---- a quantity ---- */

static void range_of(const double *v, size_t n, double *low, double *high)
{
    *low = *high = n ? v[0] : 0;
    for (size_t i = 1; i < n; i++) {
        *low = v[i] < *low ? v[i] : *low;
        *high = v[i] > *high ? v[i] : *high;
    }
}

static void draw_predicted(rp_report_view *r)
{
    const rp_report_scores *s = &r->scores;
    double at[2], low, high;
    rp_buffer desc = {0};

    range_of(s->truth, s->rows, &at[0], &at[1]);
    range_of(s->score, s->rows, &low, &high);
    at[0] = low < at[0] ? low : at[0];
    at[1] = high > at[1] ? high : at[1];
    {
        const rp_chart_line line[] = {
            {.x = at, .y = at, .n = 2, .style = "rest", .label = "as predicted"},
            {.x = s->score, .y = s->truth, .n = s->rows, .style = "mean", .label = "a row", .scatter = true},
        };
        const rp_chart chart = {.id = "predicted",
                                .title = "Truth by prediction",
                                .x_label = "prediction",
                                .y_label = "truth",
                                .line = line,
                                .lines = 2};

        if (s->rows > 500)
            rp_buffer_text(&desc, "Every so many-th row, at most 500. ");
        rp_buffer_text(&desc, "On the line a prediction is the truth.");
        rp_svg_chart(r->out, &chart, &desc);
    }
    rp_buffer_free(&desc);
}

static void draw_residuals(rp_report_view *r)
{
    const rp_report_scores *s = &r->scores;
    double of[2][BINS], edge[BINS + 1], low, high;
    double *residual = rp_reallocarray(NULL, s->rows, sizeof *residual);
    const rp_chart_bars bar = {.edge = edge, .height = of[0], .n = BINS, .style = "dark"};
    const rp_chart chart = {.id = "residuals",
                            .title = "Residuals",
                            .x_label = "truth less prediction",
                            .y_label = "share of the rows",
                            .bar = &bar,
                            .bars = 1};
    rp_buffer desc = {0};

    if (!residual) {
        r->out->failed = true;
        return;
    }
    for (size_t i = 0; i < s->rows; i++)
        residual[i] = s->truth[i] - s->score[i];
    range_of(residual, s->rows, &low, &high);
    if (high > low) {
        fill(of, edge, residual, NULL, s->rows, low, high);
        rp_buffer_text(&desc, "Right of zero the model predicts too little.");
        rp_svg_chart(r->out, &chart, &desc);
    }
    rp_buffer_free(&desc);
    rp_free(residual);
}

/* ---- drift of the score ---- */

static size_t read_reals(const rp_json *list, double *out, size_t most)
{
    size_t n = rp_json_array_size(list);

    if (n > most)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (!rp_report_real(rp_json_array_get(list, i), &out[i]) || (i && !(out[i] > out[i - 1])))
            return 0;
    return n;
}

bool rp_report_score_drift(const rp_report_view *r, rp_report_drift *out)
{
    const rp_json *score = rp_json_array_get(rp_json_object_get(r->reference, "scores"), 0);
    const rp_json *counts = rp_json_object_get(score, "counts");
    const bool held = rp_json_is_object(rp_json_object_get(r->metrics, "validation"));
    rp_binned_drift drift;

    memset(out, 0, sizeof *out);
    out->edges = read_reals(rp_json_object_get(score, "edges"), out->edge, RP_REPORT_BINS - 1);
    if (!held || !r->scores.rows || rp_json_array_size(counts) != out->edges + 1 || out->edges == 0 ||
        rp_json_array_size(rp_json_object_get(r->reference, "scores")) != 1)
        return false;
    for (size_t i = 0; i <= out->edges; i++) {
        int64_t n = rp_json_integer_value(rp_json_array_get(counts, i));

        if (n < 0)
            return false;
        out->expected[i] = (uint64_t)n;
    }
    for (size_t i = 0; i < r->scores.rows; i++)
        out->found[rp_bin_of(out->edge, out->edges, r->scores.score[i])]++;
    rp_drift_of_bins(&drift, out->expected, out->found, out->edges + 1);
    out->psi = drift.psi;
    return out->psi - out->psi == 0;
}

static void draw_drift(rp_report_view *r)
{
    rp_report_drift drift;
    double edge[RP_REPORT_BINS + 1], of[2][RP_REPORT_BINS];
    const rp_chart_bars bar[] = {{.edge = edge, .height = of[0], .style = "light", .label = "training"},
                                 {.edge = edge, .height = of[1], .style = "dark", .label = "validation"}};
    rp_chart_bars shown[2] = {bar[0], bar[1]};
    const rp_chart chart = {.id = "drift",
                            .title = "Score bands, training and validation",
                            .x_label = "band of scores, cut by the training rows&#39;",
                            .y_label = "share of the rows",
                            .bar = shown,
                            .bars = 2,
                            .whole_x = true};
    uint64_t rows[2] = {0, 0};
    rp_buffer desc = {0};

    if (!rp_report_score_drift(r, &drift))
        return;
    for (size_t i = 0; i <= drift.edges; i++) {
        rows[0] += drift.expected[i];
        rows[1] += drift.found[i];
    }
    for (size_t i = 0; i <= drift.edges; i++) {
        edge[i] = (double)i;
        of[0][i] = share(drift.expected[i], rows[0]);
        of[1][i] = share(drift.found[i], rows[1]);
    }
    edge[drift.edges + 1] = (double)(drift.edges + 1);
    shown[0].n = shown[1].n = drift.edges + 1;
    rp_buffer_text(&desc, "Population stability index ");
    rp_html_number(&desc, drift.psi);
    rp_buffer_text(&desc, " (CONTRACT 14.6; custom calls less than 0.1 stable, more than 0.25 a shift).");
    rp_svg_chart(r->out, &chart, &desc);
    rp_buffer_free(&desc);
}

/* ---- all of them ---- */

static void draw_two(rp_report_view *r, const rp_json *figures)
{
    rp_ranking *ranking = NULL;
    rp_error ignored = {0};

    if (rp_ranking_new(&ranking, r->scores.score, r->scores.positive, r->scores.rows, &ignored) == RP_ENOMEM)
        r->out->failed = true;
    if (ranking && ranking->positives && ranking->negatives) {
        draw_roc(r, ranking, figures);
        draw_cap(r, ranking, figures);
    }
    rp_ranking_free(ranking);
    draw_calibration(r, figures);
    draw_scores(r, true);
}

void rp_report_plots(rp_report_view *r, const rp_json *figures)
{
    size_t classes = rp_json_array_size(rp_json_object_get(r->metrics, "classes"));

    rp_html_problem(r->out, "The scores", &r->problem.scores);
    if (r->scores.rows == 0) {
        if (r->problem.scores.status == RP_OK)
            rp_buffer_printf(r->out,
                             "<p class=\"note\">There are no plots: scores of single rows "
                             "(<code>" RP_PREDICTIONS_MEMBER "</code>) %s.</p>\n",
                             rp_report_withheld(r, RP_PREDICTIONS_MEMBER) ? "were left out of the archive with the data"
                                                                          : "are not in the archive");
        return;
    }
    if (!rp_json_is_object(rp_json_object_get(r->metrics, "validation")))
        rp_buffer_text(r->out, "<p class=\"note\">Plots, thresholds, tests and bands are of the rows that "
                               "<strong>trained</strong> the model, which flatters.</p>\n");
    rp_buffer_text(r->out, "<div class=\"pair\">\n");
    if (classes == 2) {
        draw_two(r, figures);
    } else if (classes) {
        draw_scores(r, false);
    } else {
        draw_predicted(r);
        draw_residuals(r);
    }
    draw_drift(r);
    rp_buffer_text(r->out, "</div>\n");
}
