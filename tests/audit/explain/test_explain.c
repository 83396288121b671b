/* SPDX-License-Identifier: Apache-2.0
 * Importance and effect of columns: what a model does not use changes nothing, a plane's curves are its slopes, and a
 * statement is made again to the byte everywhere. */
#include "tests/audit/table_jobs.h"

#include "base/json.h"
#include "rp/explain.h"
#include "rp/policy.h"
#include "rp/retraining.h"
#include "rp/validation.h"

static char rows[4096];

/* y = 1 + 2x - 3z; kind tells nothing; one row has no outcome. */
static void train_plane(void)
{
    rp_buffer csv = {0};

    rp_buffer_text(&csv, "x,z,kind,y\n");
    for (int i = 0; i < 40; i++)
        rp_buffer_printf(&csv, "%d,%d,%s,%d\n", i % 13, i % 4, i % 2 ? "odd" : "even", 1 + 2 * (i % 13) - 3 * (i % 4));
    rp_buffer_u8(&csv, 0);
    write_text("plane.csv", (const char *)csv.data);
    (void)snprintf(rows, sizeof rows, "%s5,1,odd,\n", (const char *)csv.data);
    rp_buffer_free(&csv);
    write_text("plane.yaml", "reprise: 1\ndata: {csv: plane.csv, target: y, train_on_all: true}\n"
                             "train: {task: regression, solver: exact, l2: 0}\n");
    train("plane.yaml", "plane.reprise", NULL, NULL);
}

static char *explain(const char *name, const rp_explain_options *options, const rp_job_options *job, size_t *length)
{
    rp_archive *archive = open_archive(name);
    char *statement = NULL;
    rp_error err = {0};

    if (rp_explain(archive, rows, strlen(rows), "rows", options, job, &statement, length, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_archive_close(archive);
    return statement;
}

static rp_json *predicate_of(const char *statement, size_t length)
{
    rp_json *json = NULL, *out;

    assert_int_equal(rp_json_parse(&json, statement, length, true, "statement", NULL), RP_OK);
    out = rp_json_deep_copy(rp_json_object_get(json, "predicate"));
    rp_json_free(json);
    return out;
}

static double number(const rp_json *value)
{
    assert_non_null(rp_json_string_value(value));
    return strtod(rp_json_string_value(value), NULL);
}

static void assert_near(double found, double expected, double bound)
{
    if (!(found - expected <= bound && expected - found <= bound))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

static const rp_json *column_at(const rp_json *predicate, size_t i)
{
    return rp_json_array_get(rp_json_object_get(predicate, "columns"), i);
}

static void a_plane_s_curves_are_its_slopes(void **state)
{
    const rp_explain_options options = {.seed = 1, .grid = 4, .curves = 3};
    size_t length;
    char *statement;
    rp_json *p;

    (void)state;
    train_plane();
    statement = explain("plane.reprise", &options, NULL, &length);
    p = predicate_of(statement, length);
    assert_int_equal(rp_json_integer_value(rp_json_object_get(rp_json_object_get(p, "data"), "without_outcome")), 1);
    for (size_t c = 0; c < 2; c++) {
        const rp_json *column = column_at(p, c), *grid = rp_json_object_get(column, "grid");
        const rp_json *mean = rp_json_object_get(column, "dependence"), *curves = rp_json_object_get(column, "curves");
        const size_t n = rp_json_array_size(grid);
        const double slope = c == 0 ? 2 : -3;

        assert_int_equal(n, c == 0 ? 5 : 4); /* quarters of x; z has four values */
        assert_int_equal(rp_json_array_size(curves), 3);
        for (size_t i = 1; i < n; i++) {
            const double step = slope * (number(rp_json_array_get(grid, i)) - number(rp_json_array_get(grid, 0)));

            assert_near(number(rp_json_array_get(mean, i)) - number(rp_json_array_get(mean, 0)), step, 1e-4);
            for (size_t k = 0; k < 3; k++) {
                const rp_json *curve = rp_json_array_get(curves, k);

                assert_near(number(rp_json_array_get(curve, i)) - number(rp_json_array_get(curve, 0)), step, 1e-4);
            }
        }
    }
    assert_near(number(rp_json_array_get(rp_json_object_get(column_at(p, 0), "grid"), 1)), 2.75, 0); /* 9.75 of 39 */
    assert_near(number(rp_json_array_get(rp_json_object_get(column_at(p, 0), "grid"), 3)), 9, 0);
    /* rows 0, 13 and 26 of 40: the first of each third; row 13 has z = 1 */
    assert_int_equal(rp_json_integer_value(rp_json_array_get(rp_json_object_get(p, "curve_rows"), 1)), 13);
    assert_near(number(rp_json_array_get(rp_json_array_get(rp_json_object_get(column_at(p, 0), "curves"), 1), 0)),
                1 + 2 * number(rp_json_array_get(rp_json_object_get(column_at(p, 0), "grid"), 0)) - 3, 1e-4);
    rp_json_free(p);
    rp_text_free(statement);
}

static void a_column_that_tells_nothing_has_no_importance(void **state)
{
    const rp_explain_options options = {.seed = 1, .metric = "rmse", .repeats = 4};
    size_t length;
    char *statement;
    rp_json *p;

    (void)state;
    train_plane();
    statement = explain("plane.reprise", &options, NULL, &length);
    p = predicate_of(statement, length);
    assert_near(number(rp_json_object_get(p, "value")), 0, 1e-4);
    for (size_t c = 0; c < 3; c++) {
        const rp_json *importance = rp_json_object_get(column_at(p, c), "importance");
        const rp_json *repeats = rp_json_object_get(importance, "repeats");
        double sum = 0;

        assert_int_equal(rp_json_array_size(repeats), 4);
        for (size_t r = 0; r < 4; r++)
            sum += number(rp_json_array_get(repeats, r));
        assert_near(number(rp_json_object_get(importance, "mean")), sum / 4, 1e-9);
        if (c < 2) /* a permuted x of deviation 3.7 moves the score by some 2 * 3.7 * sqrt(2) */
            assert_true(sum / 4 > 2);
        else
            assert_near(sum / 4, 0, 1e-4);
    }
    rp_json_free(p);
    rp_text_free(statement);
}

static void a_statement_is_made_again_everywhere_and_a_changed_one_is_not(void **state)
{
    const rp_explain_options options = {.seed = 7, .repeats = 2, .grid = 3, .curves = 2, .favourable = "no"};
    static const rp_job_options ref = {.level = "ref", .threads = 1}, best = {.threads = 3};
    rp_archive *archive;
    char *a, *b, *at;
    size_t length, again;
    rp_error err = {0};
    rp_buffer table = {0};

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    assert_int_equal(rp_file_read(in_folder("table.csv"), sizeof rows - 1, &table, &err), RP_OK);
    memcpy(rows, table.data, table.size);
    rows[table.size] = '\0';
    rp_buffer_free(&table);
    a = explain("a.reprise", &options, &ref, &length);
    b = explain("a.reprise", &options, &best, &again);
    assert_int_equal(length, again);
    assert_memory_equal(a, b, length);
    archive = open_archive("a.reprise");
    assert_int_equal(rp_explain_check(archive, rows, strlen(rows), "rows", a, length, &best, &err), RP_OK);
    at = strstr(a, "\"seed\":7");
    at[strlen("\"seed\":")] = '8';
    assert_int_equal(rp_explain_check(archive, rows, strlen(rows), "rows", a, length, &best, &err), RP_EBITS);
    rows[strlen(rows) - 1] = ' ';
    assert_int_equal(rp_explain_check(archive, rows, strlen(rows), "rows", b, length, &best, &err), RP_EHASH);
    assert_int_equal(rp_scorecard_check(archive, b, length, NULL, &err), RP_ESIGN);
    rp_archive_close(archive);
    rp_text_free(a);
    rp_text_free(b);
}

static void refused(const rp_explain_options *options, const char *csv, const rp_job_options *job, rp_status status,
                    const char *text)
{
    rp_archive *archive = open_archive("plane.reprise");
    char *statement;
    size_t length;
    rp_error err = {0};

    assert_int_equal(rp_explain(archive, csv, strlen(csv), "rows", options, job, &statement, &length, &err), status);
    assert_null(statement);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, err.text);
    rp_archive_close(archive);
}

/* y is 1 for a, 2 for b, 5 for the rare c and d, which are pooled, and 7 where kind is missing. */
static void pooled_categories_have_a_point(void **state)
{
    static const char *const kind[] = {"a", "a", "a", "a", "b", "b", "b", "b", "c", "d", "", ""};
    static const int y[] = {1, 1, 1, 1, 2, 2, 2, 2, 5, 5, 7, 7};
    static const double expected[] = {1, 2, 5, 7};
    const rp_json *column;
    rp_buffer csv = {0};
    size_t length;
    char *statement;
    rp_json *p;

    (void)state;
    rp_buffer_text(&csv, "kind,y\n");
    for (int i = 0; i < 36; i++)
        rp_buffer_printf(&csv, "%s,%d\n", kind[i % 12], y[i % 12]);
    rp_buffer_u8(&csv, 0);
    write_text("pooled.csv", (const char *)csv.data);
    (void)snprintf(rows, sizeof rows, "%s", (const char *)csv.data);
    rp_buffer_free(&csv);
    write_text("pooled.yaml",
               "reprise: 1\ndata: {csv: pooled.csv, target: y, train_on_all: true, missing_categorical: category, "
               "columns: {kind: {rare: 0.15}}}\n"
               "train: {task: regression, solver: exact, l2: 0}\n");
    train("pooled.yaml", "pooled.reprise", NULL, NULL);
    statement = explain("pooled.reprise", NULL, NULL, &length);
    p = predicate_of(statement, length);
    assert_string_equal(rp_json_string_value(rp_json_object_get(p, "score")), "value");
    column = column_at(p, 0);
    assert_int_equal(rp_json_array_size(rp_json_object_get(column, "grid")), 4);
    assert_true(rp_json_is_true(rp_json_object_get(rp_json_array_get(rp_json_object_get(column, "grid"), 2), "other")));
    assert_true(rp_json_is_null(rp_json_array_get(rp_json_object_get(column, "grid"), 3)));
    for (size_t i = 0; i < 4; i++)
        assert_near(number(rp_json_array_get(rp_json_object_get(column, "dependence"), i)), expected[i], 1e-9);
    rp_json_free(p);
    rp_text_free(statement);
}

/* 24 columns, 51 points, 50 curves: more than a statement may hold. */
static void a_statement_that_is_too_long_says_how_to_shorten_it(void **state)
{
    const rp_explain_options options = {.seed = 1, .grid = 50, .curves = 50, .repeats = 1};
    rp_archive *archive;
    rp_buffer csv = {0};
    rp_error err = {0};
    char *statement;
    size_t length;

    (void)state;
    for (int c = 0; c < 24; c++)
        rp_buffer_printf(&csv, "c%d,", c);
    rp_buffer_text(&csv, "y\n");
    for (int i = 0; i < 60; i++) {
        for (int c = 0; c < 24; c++)
            rp_buffer_printf(&csv, "%d.%d,", i * (c + 7) % 61, c);
        rp_buffer_printf(&csv, "%d\n", i * i % 17);
    }
    rp_buffer_u8(&csv, 0);
    write_text("wide.csv", (const char *)csv.data);
    write_text("wide.yaml", "reprise: 1\ndata: {csv: wide.csv, target: y, train_on_all: true}\n"
                            "train: {task: regression, solver: exact, l2: 1}\n");
    train("wide.yaml", "wide.reprise", NULL, NULL);
    archive = open_archive("wide.reprise");
    assert_int_equal(rp_explain(archive, csv.data, csv.size - 1, "rows", &options, NULL, &statement, &length, &err),
                     RP_EARG);
    assert_non_null(strstr(err.text, "fewer curves (--curves), or a coarser grid (--grid)"));
    rp_archive_close(archive);
    rp_buffer_free(&csv);
}

static void begins(const rp_error *err, const char *text)
{
    if (strncmp(err->text, text, strlen(text)) != 0)
        fail_msg("expected \"%s\" before all else of \"%s\"", text, err->text);
}

/* where: NULL. */
static void what_has_no_name_is_called_by_its_kind(void **state)
{
    static const char torn[] = "a,b\n1,x\"y\n";
    const rp_retraining_options given = {.csv = torn, .size = sizeof torn - 1};
    rp_archive *archive, *other;
    rp_policy *policy;
    char *text;
    size_t length;
    rp_error err = {0};

    (void)state;
    train_plane();
    archive = open_archive("plane.reprise");
    assert_int_equal(rp_predict(archive, torn, sizeof torn - 1, NULL, NULL, &text, &length, &err), RP_EDATA);
    begins(&err, "table:");
    assert_int_equal(rp_explain(archive, torn, sizeof torn - 1, NULL, NULL, NULL, &text, &length, &err), RP_EDATA);
    begins(&err, "table:");
    assert_int_equal(rp_retraining_compare(archive, archive, &given, NULL, &text, &length, &err), RP_EDATA);
    begins(&err, "table:");
    rp_archive_close(archive);
    assert_int_equal(rp_archive_open_memory(&other, torn, sizeof torn - 1, NULL, &err), RP_EFORMAT);
    begins(&err, "archive: ");
    assert_int_equal(rp_verify_memory(torn, sizeof torn - 1, NULL, NULL, 0, NULL, NULL, &other, &err), RP_EFORMAT);
    begins(&err, "archive: ");
    assert_int_not_equal(rp_policy_from_text(&policy, torn, sizeof torn - 1, NULL, NULL, &err), RP_OK);
    begins(&err, "policy");
    assert_int_not_equal(rp_validation_open(torn, sizeof torn - 1, NULL, NULL, 0, &text, &length, &err), RP_OK);
    begins(&err, "statement");
}

static void what_cannot_be_explained_is_told(void **state)
{
    (void)state;
    train_plane();
    refused(&(rp_explain_options){.metric = "auc"}, rows, NULL, RP_EARG, "expected r2, rmse or mae");
    refused(&(rp_explain_options){.repeats = 101}, rows, NULL, RP_EARG, "at most 100 repeats");
    refused(NULL, "x,z,kind\n1,2,odd\n", NULL, RP_EDATA, "expected rows with an outcome");
    refused(&(rp_explain_options){.repeats = 100}, rows, &(rp_job_options){.max_work = 20000}, RP_EUNSUPPORTED,
            "scores of changed rows");
}

/* A statement with the predicate, about the archive: what whoever holds a key can sign. */
static rp_status attach(const char *name, const rp_key *key, const char *type, const char *columns)
{
    static const char rest[] =
        "\"contract\":1,\"curve_rows\":[0,1],\"data\":{\"bytes\":1,\"rows\":7,\"seen\":null,"
        "\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\","
        "\"without_outcome\":0},\"favourable\":\"<b>\",\"metric\":\"<i>\","
        "\"options\":{\"part\":null,\"repeats\":-3},\"score\":\"probability\",\"scored\":1,\"value\":\"1e999\"}";
    rp_archive *archive = open_archive(name);
    rp_buffer text = {0};
    rp_error err = {0};
    rp_status status;

    rp_buffer_printf(&text, "{\"_type\":\"https://in-toto.io/Statement/v1\",\"predicate\":{\"columns\":%s,%s,", columns,
                     rest);
    rp_buffer_printf(&text,
                     "\"predicateType\":\"https://reprise.invalid/%s/v1\",\"subject\":[{\"digest\":{\"sha256\":\"%s\"},"
                     "\"name\":\"manifest.json\"}]}",
                     type, rp_archive_id(archive));
    status = rp_validation_attach(in_folder(name), rp_archive_id(archive), (const char *)text.data, text.size, key,
                                  NULL, &err);
    rp_archive_close(archive);
    rp_buffer_free(&text);
    return status;
}

/* Whatever a trusted key has signed as columns, the report is made of it; what it cannot draw it leaves out. */
/* An explanation is no judgement of the rows: who gives parents all the same gets the statement that FORMAT 15.4 has.
 */
static void a_parent_s_rows_are_not_looked_at(void **state)
{
    static const char net[] = "reprise: 1\ndata: {csv: plane.csv, target: y, train_on_all: true}\n"
                              "model: {hidden: [2]}\ntrain: {task: regression, epochs: 1}\n";
    const rp_explain_options options = {.seed = 1, .grid = 2, .curves = 1};
    rp_archive *parent;
    char text[400], *statement;
    size_t length;

    (void)state;
    train_plane();
    write_text("before.yaml", net);
    train("before.yaml", "before.reprise", NULL, NULL);
    (void)snprintf(text, sizeof text, "%sparent: {archive: %s, mode: retrain}\n", net, in_folder("before.reprise"));
    write_text("after.yaml", text);
    train("after.yaml", "after.reprise", NULL, NULL);
    parent = open_archive("before.reprise");
    statement = explain("after.reprise", &options,
                        &(rp_job_options){.parents = (const rp_archive *const[]){parent}, .n_parents = 1}, &length);
    assert_non_null(strstr(statement, "\"seen\":null"));
    rp_text_free(statement);
    rp_archive_close(parent);
}

static void a_report_draws_what_it_can_of_any_columns(void **state)
{
    static const char *const columns[] = {
        "[]",
        "[1,null,\"x\",[],{}]",
        "[{\"curves\":[[\"1\",\"2\",\"3\"]],\"dependence\":[\"0.5\",\"0.25\",\"nan\",\"1\"],"
        "\"grid\":[\"</text>&<\",null,3,[]],\"importance\":{\"deviation\":\"1e308\",\"mean\":\""
        "1e308\"},\"kind\":\"categorical\",\"name\":\"</svg><script>\"},{\"curves\":[],\"depen"
        "dence\":[\"0.5\",\"inf\",\"0.1\",\"0.75\",\"0.2\"],\"grid\":[\"1\",\"1\",\"0\",\"2\","
        "\"1e300\",null],\"importance\":{\"deviation\":\"0\",\"mean\":\"-1e-300\"},\"kind\":\""
        "numeric\",\"name\":\"n\"}]",
    };
    rp_key *key;
    rp_error err = {0};

    (void)state;
    train_plane();
    assert_int_equal(rp_key_generate(&key, &err), RP_OK);
    assert_int_equal(attach("plane.reprise", key, "scorecard", "[]"), RP_EARG);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        rp_archive *archive = NULL;
        rp_verification *verified = NULL;
        const rp_key *trusted = key;
        char *html = NULL;
        size_t length;
        char id[RP_DIGEST_HEX];

        train("plane.yaml", "plane.reprise", NULL, id);
        assert_int_equal(rp_archive_endorse(in_folder("plane.reprise"), id, key, NULL, &err), RP_OK);
        assert_int_equal(attach("plane.reprise", key, "explanation", columns[i]), RP_OK);
        if (rp_verify(in_folder("plane.reprise"), &trusted, 1, NULL, &verified, &archive, &err) != RP_OK)
            fail_msg("%s", err.text);
        assert_int_equal(rp_report(archive, verified, NULL, &html, &length, &err), RP_OK);
        assert_non_null(strstr(html, "What moves the score"));
        assert_non_null(strstr(html, "7 rows"));
        assert_null(strstr(html, "<script"));
        assert_null(strstr(html, "<i>"));
        assert_null(strstr(html, "nan"));
        assert_int_equal(strstr(html, "effect-0-0-t") != NULL, i == 2);
        assert_int_equal(strstr(html, "at 2.000") != NULL, i == 2); /* of the second column the points in order */
        rp_text_free(html);
        rp_verification_free(verified);
        rp_archive_close(archive);
    }
    rp_key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_s_curves_are_its_slopes),
        cmocka_unit_test(a_column_that_tells_nothing_has_no_importance),
        cmocka_unit_test(a_statement_is_made_again_everywhere_and_a_changed_one_is_not),
        cmocka_unit_test(pooled_categories_have_a_point),
        cmocka_unit_test(a_statement_that_is_too_long_says_how_to_shorten_it),
        cmocka_unit_test(what_has_no_name_is_called_by_its_kind),
        cmocka_unit_test(what_cannot_be_explained_is_told),
        cmocka_unit_test(a_parent_s_rows_are_not_looked_at),
        cmocka_unit_test(a_report_draws_what_it_can_of_any_columns),
    };

    (void)forge;
    return cmocka_run_group_tests(tests, setup, teardown);
}
