/* SPDX-License-Identifier: Apache-2.0
 * The report: one HTML file about an archive, for people who decide. Private to audit: what its files share. Texts of
 * an archive are hostile and go through rp_html_text, numbers through the functions below, so that neither the locale
 * nor the C library has a say in the bytes. */
#ifndef AUDIT_REPORT_REPORT_H
#define AUDIT_REPORT_REPORT_H

#include "audit/archive/archive.h"
#include "audit/sign/dsse.h"
#include "core/data/dataset.h"
#include "core/train/model.h"
#include "rp/audit.h"

/* What is known of the archive's CSV: read again, as schema and metrics do not count missing values and parts. */
typedef struct rp_report_data {
    rp_buffer csv; /* what the table points into */
    rp_table *table;
    rp_json *profile;        /* core/data/profile/profile.h */
    rp_json *quality;        /* core/data/profile/quality.h */
    uint64_t *missing;       /* [cols] */
    size_t classes;          /* 0 for a regression */
    const char **class_name; /* inside table */
    uint64_t *count;         /* [parts][classes or 1]: rows, in the order of rp_row_part */
} rp_report_data;

/* Single rows of outputs/predictions.csv: those of the validation part, else of the training part. */
typedef struct rp_report_scores {
    size_t rows;
    double *score;  /* two classes: of the positive one; more: of the predicted one; a regression: the prediction */
    double *truth;  /* of a regression */
    bool *positive; /* two classes: is of the positive one; more: was predicted right */
} rp_report_scores;

enum { RP_REPORT_BINS = 32 };

/* Scores in the bands that were frozen at training. */
typedef struct rp_report_drift {
    size_t edges;
    double edge[RP_REPORT_BINS - 1];
    uint64_t expected[RP_REPORT_BINS], found[RP_REPORT_BINS]; /* [edges + 1] */
    double psi;
} rp_report_drift;

/* What was read of the archive before a word is written. A part that is absent or makes no sense is NULL, and problem
 * says why (RP_OK: nothing is wrong, it is absent): a damaged member must not hide the others. */
typedef struct rp_report_view {
    const rp_archive *archive;
    const rp_verification *verified; /* or NULL: signatures were not checked */
    rp_buffer *out;
    rp_recipe *recipe;
    rp_schema *schema;
    rp_model *model;
    rp_json *metrics, *coefficients;
    rp_json *reference; /* outputs/reference.json */
    rp_dossier dossier;
    rp_door door;             /* of a run of the API, by its own word */
    const rp_archive *parent; /* given and checked, or NULL */
    rp_json *parent_metrics;
    rp_report_scores scores;
    rp_report_data data;
    double *loss;      /* [steps]; NaN where a step has none */
    uint32_t *program; /* [steps] */
    size_t steps;
    size_t training_steps; /* steps 1 .. training_steps train; 0 where there is no recipe */
    size_t epochs;         /* of them */
    struct {
        rp_error recipe, schema, model, metrics, coefficients, data, journal, scores;
    } problem;
} rp_report_view;

/* True for what ends the report (memory, I/O, a hash); other errors become part of it. */
bool rp_report_fatal(rp_status status);
rp_status rp_report_read_data(rp_report_view *r, rp_error *err);
/* The table of the quality's dimensions. */
void rp_report_quality(rp_buffer *out, const rp_json *quality);
rp_status rp_report_read_profile(rp_report_view *r, rp_error *err);
void rp_report_data_clear(rp_report_data *data);

rp_status rp_report_read_scores(rp_report_view *r, rp_error *err);
void rp_report_scores_clear(rp_report_scores *scores);
/* Between the training and the validation rows; false: there are no bands, one part only, or several scores a row. */
bool rp_report_score_drift(const rp_report_view *r, rp_report_drift *out);

/* ---- what is asked first ---- */

typedef enum rp_report_question {
    RP_ASK_MODEL,
    RP_ASK_USE,
    RP_ASK_GOOD,
    RP_ASK_TRIVIAL,
    RP_ASK_PARENT,
    RP_ASK_STABLE,
    RP_ASK_FAIR,
    RP_ASK_REPLAYED,
    RP_ASK_DECIDED
} rp_report_question;

/* A sentence or two of HTML, without a full stop. */
void rp_report_answer(rp_report_view *r, rp_report_question question);
void rp_report_questions(rp_report_view *r); /* rows of the first page's table */
void rp_report_unknown(rp_report_view *r);   /* what the archive does not say, before what it says */
/* validation, or training where nothing was kept to validate. */
const rp_json *rp_report_main_part(const rp_json *metrics);
/* Where every fold was validated: their number and, of the variant that is the run, means and deviations by figure; 0
 * where they were not. */
size_t rp_report_folds(const rp_json *metrics, const rp_json **mean, const rp_json **deviation);
const char *rp_report_card(const rp_report_view *r, const char *key); /* a text of the recipe's card, or NULL */
void rp_report_target_name(rp_report_view *r);
void rp_report_trials_name(rp_report_view *r); /* of counts: in what they are counted; else nothing */

/* The sections, in order. Those that read members as they go return what ended the report. */
void rp_report_head(rp_report_view *r);
void rp_report_verdict(rp_report_view *r);
void rp_report_dossier(rp_report_view *r); /* where one was asked for */
void rp_report_data_section(rp_report_view *r);
/* Whether the archive was made without that member, and nobody gave it for this page. */
bool rp_report_withheld(const rp_report_view *r, const char *member);
void rp_report_table(rp_report_view *r); /* within the section on the data */
rp_status rp_report_model_section(rp_report_view *r, rp_error *err);
void rp_report_training_section(rp_report_view *r);
void rp_report_metrics_section(rp_report_view *r);
void rp_report_trials_section(rp_report_view *r); /* where anything was tried */
/* Within the metrics: by slice and group, validations and monitorings by trusted keys; part: the one that is judged. */
void rp_report_slices(rp_report_view *r, const rp_json *part);
/* The drift of every feature as a monitoring or a retraining states it; of_whom begins the sentence on it. */
void rp_report_column_drift(rp_report_view *r, const rp_json *columns, const char *of_whom);
void rp_report_retrainings(rp_report_view *r);          /* where trusted keys have attached comparisons with a parent */
void rp_report_explained_section(rp_report_view *r);    /* where trusted keys have attached explanations */
void rp_report_woe(rp_report_view *r);                  /* within the section on the data */
void rp_report_coefficients_section(rp_report_view *r); /* of an exact fit; else nothing */
void rp_report_figures(rp_report_view *r, const rp_json *figures, const char *rows); /* within it */
void rp_report_plots(rp_report_view *r, const rp_json *figures);                     /* within it */
rp_status rp_report_statements(rp_report_view *r, rp_error *err);                    /* and the policy */
rp_status rp_report_environment(rp_report_view *r, rp_error *err);
void rp_report_how_to_verify(rp_report_view *r);
void rp_report_digests(rp_report_view *r);
void rp_report_columns_appendix(rp_report_view *r);
void rp_report_foot(rp_report_view *r);

/* A statement in signatures/ as a report tells it; nothing in it is to be believed unless checked. */
typedef struct rp_report_statement {
    bool checked;               /* the verification lists it: signed by a trusted key, about this archive */
    rp_json *payload;           /* in-toto; NULL when it cannot be read */
    char key_id[RP_DIGEST_HEX]; /* "" when it cannot be read */
    const char *key_type;       /* NULL unless checked */
} rp_report_statement;
rp_status rp_report_statement_read(const rp_report_view *r, const rp_member *member, rp_report_statement *out,
                                   rp_error *err);
bool rp_report_is_statement(const rp_member *member);

/* What trusted keys have signed, in words. */
void rp_report_verdict_words(rp_buffer *out, const struct rp_verdict *verdict);
void rp_report_approval_words(rp_buffer *out, const struct rp_approval *approval);
/* Whether what was found is settled, and what it is. */
void rp_report_finding_words(rp_buffer *out, const struct rp_stated_finding *finding);
/* How the rows were divided; of a table that could be read. */
void rp_report_split_words(rp_report_view *r);
void rp_report_figures_words(rp_buffer *out, const struct rp_stated_figures *figures);
void rp_report_explanation_words(rp_buffer *out, const struct rp_stated_figures *figures);
/* When and by which key, with the names of the policy's groups that it is in. */
void rp_report_by(const rp_report_view *r, const rp_verified_statement *one);
/* What trusted keys have signed against the archive, before anything else. */
void rp_report_objections(rp_report_view *r);
/* Rows of what was checked; the second only where there are decisions. */
void rp_report_replay_row(rp_report_view *r);
void rp_report_decision_row(rp_report_view *r);
void rp_report_finding_row(rp_report_view *r);
void rp_report_figures_rows(rp_report_view *r);
/* The clauses of the policy that the archive was held against, if it was. */
void rp_report_policy(rp_report_view *r);

/* ---- HTML ---- */

/* Escaped, shortened to 200 characters; controls, characters that reorder or hide text, and what is not UTF-8 become
 * U+FFFD. NULL writes nothing. */
void rp_html_text(rp_buffer *out, const char *text);
void rp_html_long(rp_buffer *out, const char *text); /* shortened to 2,000 */
/* The same inside <bdi>, so that text of the archive cannot reorder what stands beside it. */
void rp_html_name(rp_buffer *out, const char *text);
void rp_html_count(rp_buffer *out, uint64_t n);             /* 12,345 */
void rp_html_fixed(rp_buffer *out, double x, int decimals); /* |x| < 1e12; no separators: coordinates */
void rp_html_number(rp_buffer *out, double x);              /* 4 significant digits, thousands separated */
void rp_html_real(rp_buffer *out, const rp_json *text);     /* a number of canonical JSON: a string; else a dash */
void rp_html_share(rp_buffer *out, uint64_t part, uint64_t whole); /* 12.3 % */
bool rp_report_real(const rp_json *text, double *x);
/* <h2 id="...">; a section is open until the next. */
void rp_html_section(rp_buffer *out, const char *id, const char *title);
/* A table up to <tbody>; style (a CSS class) and caption may be NULL. heads: literals parted by |, # in front of one
 * over numbers, an empty one over no heading. */
void rp_html_table(rp_buffer *out, const char *style, const char *caption, const char *heads);
/* The same in pieces, where headings are texts of the archive: up to <tr>, then cells; the caller ends the head. */
void rp_html_table_begin(rp_buffer *out, const char *style, const char *caption);
void rp_html_heads(rp_buffer *out, const char *heads);
/* "The first 50 of 1,000 classes", where not all are shown. */
void rp_html_note_first(rp_buffer *out, size_t shown, size_t all, const char *what);
/* A row of two cells, the first a header; the caller writes what is between _open and _close. */
void rp_html_row_open(rp_buffer *out, const char *header);
void rp_html_row_close(rp_buffer *out);
void rp_html_row(rp_buffer *out, const char *header, const char *text); /* text escaped */
void rp_html_row_count(rp_buffer *out, const char *header, uint64_t n);
/* "Not shown: the error", when there is one. */
void rp_html_problem(rp_buffer *out, const char *what, const rp_error *problem);

/* ---- SVG ---- */

typedef struct rp_chart_line {
    const double *x, *y; /* ascending x, unless scatter; points that are not finite are left out */
    size_t n;
    const char *style; /* CSS class of the line: differs in shade and in dashes, for print in grey */
    const char *label; /* for the legend; NULL: not in it */
    bool dots;
    bool scatter;             /* dots alone, of at most 500 points: every k-th */
    const double *low, *high; /* [n], an interval a point; or NULL */
    bool band;                /* only the band between low and high */
} rp_chart_line;

/* A histogram, beside the chart's others in each bin. */
typedef struct rp_chart_bars {
    const double *edge;   /* [n + 1] ascending, finite */
    const double *height; /* [n], from 0 up or down */
    size_t n;
    const char *style, *label;
} rp_chart_bars;

typedef struct rp_chart {
    const char *id, *title, *x_label, *y_label; /* HTML */
    const rp_chart_line *line;
    size_t lines;
    const rp_chart_bars *bar;
    size_t bars;
    bool whole_x;        /* ticks are integers */
    bool unit_x, unit_y; /* from 0 to 1 */
    bool small;          /* one of many: without a legend, and with few ticks */
    const double *range; /* of y, {lowest, highest}, so that many have one axis; NULL: that of what is drawn */
} rp_chart;

/* A chart with round ticks; desc is the text for those who cannot see it, in HTML, and its caption. */
void rp_svg_chart(rp_buffer *out, const rp_chart *chart, const rp_buffer *desc);
/* A bar of part / whole, beside the number that says the same. */
void rp_svg_bar(rp_buffer *out, uint64_t part, uint64_t whole);
/* A bar from 0 to mean on an axis from low to high, which hold 0, and mean -+ deviation as a line over it. */
void rp_svg_spread(rp_buffer *out, double low, double high, double mean, double deviation);

#endif
