/* SPDX-License-Identifier: Apache-2.0
 * Scorecards: a row's points are the sum of the table's, whatever its cells are; the table is made again to the byte.
 */
#include "tests/audit/table_jobs.h"

#include "base/json.h"
#include "rp/explain.h"
#include "rp/predict.h"
#include "rp/validation.h"

static void train_card(const char *columns, const char *model)
{
    char text[600];

    (void)snprintf(
        text, sizeof text,
        "reprise: 1\ndata: {csv: table.csv, target: y, positive: \"no\", train_on_all: true, columns: {%s}}\n%s",
        columns, model);
    write_text("card.yaml", text);
    train("card.yaml", "card.reprise", NULL, NULL);
}

static rp_json *card_of(const rp_scorecard_options *options, char **statement, size_t *length)
{
    rp_archive *archive = open_archive("card.reprise");
    rp_json *json = NULL;
    rp_error err = {0};

    if (rp_scorecard(archive, options, NULL, statement, length, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_json_parse(&json, *statement, *length, true, "card", &err), RP_OK);
    rp_archive_close(archive);
    return json;
}

/* The points of the one part of a column with this key, and of bins that has this number. */
static int64_t part_points(const rp_json *predicate, size_t column, const char *key, const char *value, double number)
{
    const rp_json *parts =
        rp_json_object_get(rp_json_array_get(rp_json_object_get(predicate, "columns"), column), "parts");
    rp_json *part;
    size_t i;

    rp_json_array_foreach (parts, i, part) {
        const char *text = rp_json_string_value(rp_json_object_get(part, key));
        const char *from = rp_json_string_value(rp_json_object_get(part, "from"));
        const char *to = rp_json_string_value(rp_json_object_get(part, "to"));
        const bool in_bin = rp_json_object_get(part, "from") && (!from || strtod(from, NULL) <= number) &&
                            (!to || number < strtod(to, NULL));

        if (key ? (value ? text && strcmp(text, value) == 0 : rp_json_is_true(rp_json_object_get(part, key))) : in_bin)
            return rp_json_integer_value(rp_json_object_get(part, "points"));
    }
    fail_msg("no part %s", key ? key : "of that number");
    return 0;
}

static void points_of_rows(int64_t *out, size_t n, const char *rows, const char *scale)
{
    const rp_predict_options options = {.points = scale, .favourable = "yes"};
    rp_archive *archive = open_archive("card.reprise");
    rp_prediction *p = NULL;
    rp_error err = {0};
    const char *at;

    if (rp_predict_rows(archive, rows, strlen(rows), "rows", &options, NULL, &p, &err) != RP_OK)
        fail_msg("%s", err.text);
    at = strchr(p->text, '\n');
    assert_memory_equal(at - strlen(",points"), ",points", strlen(",points"));
    for (size_t i = 0; i < n; i++) {
        at = strchr(at + 1, '\n');
        const char *cell = at;

        while (cell[-1] != ',')
            cell--;
        out[i] = strtoll(cell, NULL, 10);
    }
    rp_prediction_free(p);
    rp_archive_close(archive);
}

static const char new_rows[] = "x,colour\n1.5,red\n,blue\n-30,\n90,violet\n";

static void bins_categories_missing_and_unknown_add_up(const char *scale)
{
    const rp_scorecard_options options = {.scale = scale, .favourable = "yes"};
    char *statement;
    size_t length;
    rp_json *json = card_of(&options, &statement, &length);
    const rp_json *p = rp_json_object_get(json, "predicate");
    const int64_t base = rp_json_integer_value(rp_json_object_get(rp_json_object_get(p, "base"), "points"));
    int64_t found[4];

    points_of_rows(found, 4, new_rows, scale);
    assert_int_equal(found[0], base + part_points(p, 0, NULL, NULL, 1.5) + part_points(p, 1, "category", "red", 0));
    assert_int_equal(found[1], base + part_points(p, 0, "missing", NULL, 0) + part_points(p, 1, "category", "blue", 0));
    assert_int_equal(found[2], base + part_points(p, 0, NULL, NULL, -30) + part_points(p, 1, "missing", NULL, 0));
    assert_int_equal(found[3], base + part_points(p, 0, NULL, NULL, 90) + part_points(p, 1, "unknown", NULL, 0));
    rp_json_free(json);
    rp_text_free(statement);
}

static void the_table_s_points_are_the_rows_of_every_kind_of_cell(void **state)
{
    static const char *const columns[] = {"x: {bins: 4, woe: true}, colour: {woe: true}",
                                          "x: {bins: 4}, colour: {rare: 0.1}", "x: {bins: monotonic, indicator: true}",
                                          "x: {bins: [0, 2.5, 6], missing: median}, colour: {rare: 0.1, woe: true}"};

    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            train_card(columns[i], narrow ? "train: {solver: gradient, epochs: 20}\n" : "");
            bins_categories_missing_and_unknown_add_up("600:19:50");
            bins_categories_missing_and_unknown_add_up("1000:1:500.5");
        }
}

/* Double the odds, 50 points more: the sum before rounding is offset + factor * log odds of the score. */
static void points_follow_the_odds(void **state)
{
    const rp_predict_options options = {.points = "600:19:50", .favourable = "yes", .contributions = true};
    rp_archive *archive;
    rp_prediction *p = NULL;
    double margin, expected;
    const char *line;
    rp_error err = {0};

    (void)state;
    train_card("", "");
    archive = open_archive("card.reprise");
    if (rp_predict_rows(archive, new_rows, strlen(new_rows), "rows", &options, NULL, &p, &err) != RP_OK)
        fail_msg("%s", err.text);
    line = strchr(p->text, '\n') + 1; /* row,predicted,p_no,points,c_x,c_colour,margin,gap */
    for (int i = 0; i < 3; i++)
        line = strchr(line, ',') + 1;
    margin = 0;
    {
        const char *at = line;

        for (int i = 0; i < 3; i++)
            at = strchr(at, ',') + 1;
        margin = strtod(at, NULL);
    }
    expected = 600 - 72.13475204444817 * 2.9444389791664403 + 72.13475204444817 * margin;      /* 50 / ln 2, ln 19 */
    assert_true(strtod(line, NULL) - expected <= 1.5 && expected - strtod(line, NULL) <= 1.5); /* three roundings */
    rp_prediction_free(p);
    rp_archive_close(archive);
}

static void a_card_is_made_again_to_the_byte_and_a_changed_one_is_not(void **state)
{
    const rp_scorecard_options options = {.scale = "500:50:20", .favourable = "yes"};
    rp_archive *archive;
    char *statement, *at;
    size_t length;
    rp_error err = {0};

    (void)state;
    train_card("x: {bins: 4, woe: true}", "");
    rp_json_free(card_of(&options, &statement, &length));
    archive = open_archive("card.reprise");
    assert_int_equal(rp_scorecard_check(archive, statement, length, NULL, &err), RP_OK);
    assert_int_equal(rp_scorecard_check(archive, statement, length, &(rp_job_options){.level = "ref"}, &err), RP_OK);
    at = strstr(statement, "\"points\":");
    at[strlen("\"points\":")] = at[strlen("\"points\":")] == '1' ? '2' : '1';
    assert_int_equal(rp_scorecard_check(archive, statement, length, NULL, &err), RP_EBITS);
    assert_non_null(strstr(err.text, "points"));
    rp_text_free(statement);
    rp_archive_close(archive);
}

static void refused(const rp_scorecard_options *options, rp_status status, const char *text)
{
    rp_archive *archive = open_archive("card.reprise");
    char *statement;
    size_t length;
    rp_error err = {0};

    assert_int_equal(rp_scorecard(archive, options, NULL, &statement, &length, &err), status);
    assert_null(statement);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, err.text);
    rp_archive_close(archive);
}

static void models_without_a_card_are_told(void **state)
{
    (void)state;
    train_card("", "");
    refused(&(rp_scorecard_options){.scale = "600:19"}, RP_EARG, "expected POINTS:ODDS:DOUBLE");
    refused(&(rp_scorecard_options){.scale = "600:19:50:1"}, RP_EARG, "expected POINTS:ODDS:DOUBLE");
    refused(&(rp_scorecard_options){.scale = "600:0:50"}, RP_EARG, "expected POINTS:ODDS:DOUBLE");
    refused(&(rp_scorecard_options){.favourable = "maybe"}, RP_EARG, "favourable: expected ");
    train_card("", "model: {hidden: [3]}\ntrain: {epochs: 1}\n");
    refused(NULL, RP_EUNSUPPORTED, "hidden layers");
}

/* The nearest whole number of 10^300 is none that anybody could add. */
static void a_number_far_out_has_no_points(void **state)
{
    const rp_predict_options options = {.points = "600:19:50"};
    const char *rows = "x,colour\n1.5,red\n1e300,blue\n";
    rp_archive *archive;
    rp_prediction *p = NULL;
    rp_error err = {0};

    (void)state;
    train_card("", "");
    archive = open_archive("card.reprise");
    assert_int_equal(rp_predict_rows(archive, rows, strlen(rows), "rows", &options, NULL, &p, &err), RP_EDATA);
    assert_non_null(strstr(err.text, "data row 1: a number so far out"));
    rp_archive_close(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_s_points_are_the_rows_of_every_kind_of_cell),
        cmocka_unit_test(points_follow_the_odds),
        cmocka_unit_test(a_card_is_made_again_to_the_byte_and_a_changed_one_is_not),
        cmocka_unit_test(models_without_a_card_are_told),
        cmocka_unit_test(a_number_far_out_has_no_points),
    };

    (void)forge;
    return cmocka_run_group_tests(tests, setup, teardown);
}
