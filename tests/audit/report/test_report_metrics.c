/* SPDX-License-Identifier: Apache-2.0
 * What a report makes of metrics: matrices, the most frequent mistakes where there are too many classes for one, and
 * nothing of what is no matrix of counts. */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>
#include <stdlib.h>

#include "audit/report/report.h"
#include "rp/rp.h"

static rp_error err;

/* The report of an archive that holds only these metrics, and predictions unless NULL. */
static char *report_scored(const char *metrics, const char *predictions)
{
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_buffer bytes = {0};
    rp_json *run = rp_json_pack("{s:i}", "steps", 0);
    char *html = NULL;
    size_t length;

    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    assert_ok(rp_archive_writer_add(writer, "outputs/metrics.json", metrics, strlen(metrics), &err));
    assert_ok(rp_archive_writer_add(writer, "run/recipe.json", "{}", 2, &err));
    if (predictions)
        assert_ok(rp_archive_writer_add(writer, "outputs/predictions.csv", predictions, strlen(predictions), &err));
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_RECIPE, run, &err));
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "metrics", &err));
    assert_ok(rp_report(archive, NULL, NULL, &html, &length, &err));
    rp_archive_close(archive);
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
    rp_json_free(run);
    return html;
}

static char *report(const char *metrics)
{
    return report_scored(metrics, NULL);
}

static void expect(const char *metrics, const char *has, const char *has_not)
{
    char *html = report(metrics);

    if (has && !strstr(html, has))
        fail_msg("%.80s: the report does not have: %s", metrics, has);
    if (has_not && strstr(html, has_not))
        fail_msg("%.80s: the report has: %s", metrics, has_not);
    rp_text_free(html);
}

/* A matrix of n classes k00, k01, ...: by_chance counts right, and the given ones beside the diagonal. */
static char *metrics_of(size_t n, const unsigned (*cell)[3], size_t cells)
{
    char *text = malloc(64 * n + 24 * n * n + 400), *at = text;

    assert_non_null(text);
    at += sprintf(at, "{\"classes\":[");
    for (size_t i = 0; i < n; i++)
        at += sprintf(at, "%s\"k%02zu\"", i ? "," : "", i);
    at += sprintf(at, "],\"training\":{\"accuracy\":\"0.5\",\"confusion\":[");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            unsigned count = i == k ? 7 : 0;

            for (size_t c = 0; c < cells; c++)
                count = cell[c][0] == i && cell[c][1] == k ? cell[c][2] : count;
            at += sprintf(at, "%s%u%s", k ? "," : i ? ",[" : "[", count, k + 1 == n ? "]" : "");
        }
    (void)sprintf(at, "],\"rows\":99}}");
    return text;
}

/* By falling count, then by class; the twelfth is the last. */
static void many_classes_are_told_by_their_most_frequent_mistakes(void **state)
{
    static const unsigned cell[][3] = {{3, 5, 40}, {2, 9, 50}, {5, 3, 40}, {0, 1, 1}, {0, 2, 1},
                                       {0, 3, 1},  {0, 4, 1},  {0, 5, 1},  {0, 6, 1}, {0, 7, 1},
                                       {0, 8, 1},  {0, 9, 1},  {0, 10, 1}, {0, 11, 1}};
    char *metrics = metrics_of(17, cell, sizeof cell / sizeof *cell), *html = report(metrics);
    const char *table = strstr(html, "the most frequent mistakes among 17 classes"), *at = table, *end;
    static const char *const order[] = {"k02", "k09", "50",  "k03", "k05", "40", "k05",
                                        "k03", "40",  "k00", "k01", "k00", "k09"};

    (void)state;
    assert_non_null(table);
    end = strstr(table, "</table>");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        if (at == NULL || at > end)
            fail_msg("%s is not in its place", order[i]);
        at += strlen(order[i]);
    }
    assert_true(strstr(at, "k10") == NULL || strstr(at, "k10") > end); /* the thirteenth */
    assert_null(strstr(html, "class=\"matrix\""));
    rp_text_free(html);
    free(metrics);
    metrics = metrics_of(17, NULL, 0);
    expect(metrics, "<td colspan=\"3\">none</td>", NULL);
    free(metrics);
}

static void a_table_by_class_ends_at_fifty(void **state)
{
    char *metrics = metrics_of(51, NULL, 0), *html = report(metrics);
    const char *table = strstr(html, "By class");

    (void)state;
    assert_non_null(table);
    assert_non_null(strstr(table, "k49"));
    assert_null(strstr(table, "k50"));
    assert_non_null(strstr(table, "51"));
    rp_text_free(html);
    free(metrics);
}

static void cells_are_shaded_by_their_share_of_the_row(void **state)
{
    static const unsigned cell[][3] = {{0, 0, 100}, {0, 1, 9}, {0, 2, 40}, {1, 0, 0}, {1, 1, 0},
                                       {1, 2, 0},   {2, 0, 1}, {2, 1, 1},  {2, 2, 98}};
    char *metrics = metrics_of(3, cell, sizeof cell / sizeof *cell);

    (void)state;
    expect(metrics, "<td class=\"q3 hit\">100</td>", NULL); /* 100 of 149 */
    expect(metrics, "<td class=\"q1\">9</td>", NULL);
    expect(metrics, "<td class=\"q2\">40</td>", NULL);
    expect(metrics, "<td class=\"q4 hit\">98</td>", NULL);
    expect(metrics, "<td class=\"q0 hit\">0</td>", NULL); /* of a row without any */
    expect(metrics, "No part of the data was kept for validation", NULL);
    free(metrics);
}

static void what_is_no_matrix_of_counts_is_not_shown(void **state)
{
    static const char *const matrices[] = {
        "[[1]]", "[[1,0],[0,1],[0,0]]", "[[1,0],[0]]", "[[1,0],[0,-1]]", "[1,2]", "{}", "\"no\"", "[[1,0,0],[0,1,0]]",
    };
    static const char *const classes[] = {"[\"a\",7]", "[\"a\"]", "{}", "[[],\"b\"]"};
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        (void)snprintf(text, sizeof text, "{\"classes\":[\"a\",\"b\"],\"training\":{\"confusion\":%s}}", matrices[i]);
        expect(text, "None was recorded", "By class");
    }
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        (void)snprintf(text, sizeof text, "{\"classes\":%s,\"training\":{\"confusion\":[[1,0],[0,1]]}}", classes[i]);
        expect(text, "None was recorded", "By class");
    }
    expect("{\"classes\":[\"a\",\"b\"],\"training\":{\"confusion\":[[1,0],[0,1]]}}", "By class", "None was recorded");
}

/* Both parts side by side while there is room; one that is no matrix does not spoil the other. */
static void both_parts_have_their_matrices(void **state)
{
    (void)state;
    expect(
        "{\"classes\":[\"a\",\"b\"],\"training\":{\"confusion\":[[1,0],[0,1]]},\"validation\":{\"confusion\":[[2,0],[0,"
        "2]]}}",
        "Training rows", NULL);
    expect(
        "{\"classes\":[\"a\",\"b\"],\"training\":{\"confusion\":[[1,0],[0]]},\"validation\":{\"confusion\":[[2,0],[0,"
        "2]]}}",
        "<td class=\"q4 hit\">2</td>", "Training rows");
    expect("{\"training\":{\"mse\":\"0.25\",\"r2\":\"0.5\"},\"validation\":7}", "Mean squared error", "#Validation");
    expect("{\"validation\":{\"mse\":\"0.25\"}}", "The archive records no metrics", "Mean squared error");
    expect("[1]", "Metrics", "Mean squared error");
    expect("{\"training\":{\"mae\":\"0.125\"},\"validation\":{}}", "0.1250", NULL);
    expect("{\"training\":{},\"validation\":{\"mae\":\"0.125\"}}", "0.1250", "Accuracy");
}

#define TWO \
    "{\"classes\":[\"no\",\"a,b\"],\"training\":{\"accuracy\":\"0.5\",\"figures\":{\"discrimination\":{\"auc\":" \
    "\"0.75\",\"auc_high\":\"0.875\",\"auc_low\":\"0.5\"},\"trivial\":{\"accuracy\":\"0.5\"}},\"rows\":4}}"

static void expect_scored(const char *metrics, const char *predictions, const char *has, const char *has_not)
{
    char *html = report_scored(metrics, predictions);

    if (has && !strstr(html, has))
        fail_msg("%.60s: the report does not have: %s", metrics, has);
    if (has_not && strstr(html, has_not))
        fail_msg("%.60s: the report has: %s", metrics, has_not);
    rp_text_free(html);
}

/* Four rows, one pair of them in the wrong order: the curve goes (0,0) (0,1/2) (1/2,1/2) (1/2,1) (1,1). */
static void plots_have_the_points_of_the_scores(void **state)
{
    static const char scored[] = "row,truth,predicted,\"p_a,b\"\n0,no,no,0.25\n1,\"a,b\",no,0.5\n2,no,\"a,b\",0.75\n"
                                 "3,\"a,b\",\"a,b\",1\n";
    static const char curve[] =
        "<polyline class=\"mean\" points=\"32.4,214.0 32.4,129.0 189.1,129.0 189.1,44.0 345.8,44.0\"/>";

    (void)state;
    expect_scored(TWO, scored, curve, "The scores cannot be shown");
    expect_scored(TWO, scored, "Area 0.7500, 95\xC2\xA0%: 0.5000 to 0.8750", NULL);
    expect_scored(TWO, scored, "No better than a model without inputs", NULL);
    expect_scored("{\"training\":{\"figures\":{},\"r2\":\"0.5\"}}", "row,truth,predicted\n0,1,2\n1,2,2.5\n",
                  "predicted-t", "The scores cannot be shown");
    expect_scored(TWO, NULL, "There are no plots", "roc-t");
}

static void scores_that_make_no_sense_are_not_drawn(void **state)
{
    static const char *const bad[] = {
        "",
        "row,truth\n",
        "row,truth,predicted,p_b",
        "row,truth,predicted,p_b\n0,no,no\n",
        "row,truth,predicted,p_b\n0,no,no,0.5,1\n",
        "row,truth,predicted,p_b\n0,no,maybe,0.5\n",
        "row,truth,predicted,p_b\n0,no,no,nan\n",
        "row,truth,predicted,p_b\n0,no,no,\n",
        "row,truth,predicted,p_b\n0,\"no\"x,no,1\n",
        "row,truth,predicted,p_b\n0,\"no,no,1\n",
        "row,truth,predicted,p_a,p_b,p_c\n0,no,no,1,0,0\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_scored(TWO, bad[i], "The scores cannot be shown", "roc-t");
}

/* A label is measured before it is placed: with all its digits it begins right of the drawing's edge. */
static void labels_of_large_losses_are_not_cut(void **state)
{
    static const double x[] = {1, 2}, y[] = {123456789012.0, 523456789012.0}, near[] = {1.0000012, 1.0000519};
    const rp_chart_line line = {.x = x, .y = y, .n = 2, .style = "mean"},
                        close = {.x = x, .y = near, .n = 2, .style = "mean"};
    rp_chart chart = {.id = "c", .title = "t", .x_label = "x", .y_label = "y", .line = &line, .lines = 1};
    rp_buffer out = {0}, desc = {0};
    const char *label;

    (void)state;
    rp_svg_chart(&out, &chart, &desc);
    rp_buffer_u8(&out, 0);
    label = strstr((char *)out.data, ">600,000,000,000</text>");
    assert_non_null(label);
    while (strncmp(label, "<text x=\"", 9) != 0)
        label--;
    assert_true(atof(label + 9) > 6.8 * (double)strlen("600,000,000,000"));
    out.size = 0;
    chart.line = &close;
    rp_svg_chart(&out, &chart, &desc);
    rp_buffer_u8(&out, 0);
    assert_non_null(strstr((char *)out.data, ">1.00002</text>"));
    rp_buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_classes_are_told_by_their_most_frequent_mistakes),
        cmocka_unit_test(a_table_by_class_ends_at_fifty),
        cmocka_unit_test(cells_are_shaded_by_their_share_of_the_row),
        cmocka_unit_test(what_is_no_matrix_of_counts_is_not_shown),
        cmocka_unit_test(both_parts_have_their_matrices),
        cmocka_unit_test(plots_have_the_points_of_the_scores),
        cmocka_unit_test(scores_that_make_no_sense_are_not_drawn),
        cmocka_unit_test(labels_of_large_losses_are_not_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
