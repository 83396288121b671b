/* SPDX-License-Identifier: Apache-2.0
 * Reasons of rows: values known beforehand, the rows they are relative to, order, and the same bits everywhere. */
#include "tests/audit/table_jobs.h"

#include "rp/predict.h"

enum { LINE = 512 };

/* 1 + 2x - 3z exactly, x = 0 .. 39, z of four values of mean 1.5. */
static void write_plane(const char *name)
{
    rp_buffer csv = {0};

    rp_buffer_text(&csv, "x,z,kind,y\n");
    for (int i = 0; i < 40; i++)
        rp_buffer_printf(&csv, "%d,%d,same,%d\n", i, i % 4, 1 + 2 * i - 3 * (i % 4));
    rp_buffer_u8(&csv, 0);
    write_text(name, (const char *)csv.data);
    rp_buffer_free(&csv);
}

static rp_prediction *predict(const char *name, const char *rows, const rp_predict_options *options,
                              const rp_job_options *job)
{
    rp_archive *archive = open_archive(name);
    rp_prediction *p = NULL;
    rp_error err = {0};

    if (rp_predict_rows(archive, rows, strlen(rows), "rows", options, job, &p, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_archive_close(archive);
    return p;
}

/* Line n, from 0 the header, of the predictions. */
static void line_of(char out[LINE], const rp_prediction *p, int n)
{
    const char *at = p->text, *end;

    while (n-- > 0)
        at = strchr(at, '\n') + 1;
    end = strchr(at, '\n');
    assert_true(end - at < LINE);
    memcpy(out, at, (size_t)(end - at));
    out[end - at] = '\0';
}

/* Cell number n of a line without quotes. */
static void nth(char out[LINE], const char *line, int n)
{
    while (n-- > 0)
        line = strchr(line, ',') + 1;
    (void)snprintf(out, LINE, "%.*s", (int)strcspn(line, ","), line);
}

static void cell_of(char out[LINE], const rp_prediction *p, int row, const char *name)
{
    char header[LINE], line[LINE];
    int columns = 1;

    line_of(header, p, 0);
    line_of(line, p, row + 1);
    for (const char *at = header; *at; at++)
        columns += *at == ',';
    for (int i = 0; i < columns; i++) {
        nth(out, header, i);
        if (strcmp(out, name) == 0) {
            nth(out, line, i);
            return;
        }
    }
    fail_msg("no column %s", name);
}

static double number_of(const rp_prediction *p, int row, const char *name)
{
    char text[LINE];

    cell_of(text, p, row, name);
    assert_true(*text);
    return strtod(text, NULL);
}

static void assert_near(double found, double expected, double bound)
{
    if (!(found - expected <= bound && expected - found <= bound))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

static void train_plane(void)
{
    write_plane("plane.csv");
    write_text("plane.yaml", "reprise: 1\ndata: {csv: plane.csv, target: y, train_on_all: true}\n"
                             "train: {task: regression, solver: exact, l2: 0}\n");
    train("plane.yaml", "plane.reprise", NULL, NULL);
}

/* Means of x and z: 19.5 and 1.5. */
static void a_plane_has_its_slopes_times_the_distance_from_the_mean(void **state)
{
    const rp_predict_options options = {.reasons = 3, .contributions = true};
    rp_prediction *p;
    char text[LINE];

    (void)state;
    train_plane();
    p = predict("plane.reprise", "x,z,kind\n10,3,same\n30,0,same\n20,3,same\n", &options, NULL);
    assert_string_equal(p->method, "shapley");
    assert_int_equal(p->reference_rows, 40);
    assert_near(strtod(p->reference_margin, NULL), 1 + 2 * 19.5 - 3 * 1.5, 1e-9);
    assert_near(number_of(p, 0, "c_x"), 2 * (10 - 19.5), 1e-9);
    assert_near(number_of(p, 0, "c_z"), -3 * (3 - 1.5), 1e-9);
    assert_near(number_of(p, 0, "margin"), 1 + 20 - 9, 1e-9);
    assert_near(number_of(p, 0, "gap"), 0, 1e-12);
    cell_of(text, p, 0, "reason_1");
    assert_string_equal(text, "x");
    cell_of(text, p, 0, "reason_2");
    assert_string_equal(text, "z");
    cell_of(text, p, 0, "reason_3"); /* a column of one value adds nothing */
    assert_string_equal(text, "");
    cell_of(text, p, 1, "reason_1"); /* nothing speaks against this one */
    assert_string_equal(text, "");
    cell_of(text, p, 2, "reason_1");
    assert_string_equal(text, "z");
    assert_near(number_of(p, 2, "contribution_1"), -4.5, 1e-9);
    rp_prediction_free(p);
}

static double product(double x, double z)
{
    return 1 + 2 * x - 3 * z + 0.5 * x * z;
}

/* Shapley values of two columns by their definition: over all reference rows, both orders in which they may come. */
static void a_product_is_shared_as_the_game_of_its_columns_has_it(void **state)
{
    const rp_predict_options options = {.contributions = true};
    const double x = 7, z = 3;
    double of_x = 0, of_z = 0;
    rp_buffer csv = {0};
    rp_prediction *p;

    (void)state;
    rp_buffer_text(&csv, "x,z,y\n");
    for (int i = 0; i < 40; i++) {
        const double a = i % 13, b = i % 4;

        rp_buffer_printf(&csv, "%d,%d,%.1f\n", i % 13, i % 4, product(a, b));
        of_x += 0.5 * (product(x, b) - product(a, b) + product(x, z) - product(a, z)) / 40;
        of_z += 0.5 * (product(a, z) - product(a, b) + product(x, z) - product(x, b)) / 40;
    }
    rp_buffer_u8(&csv, 0);
    write_text("product.csv", (const char *)csv.data);
    rp_buffer_free(&csv);
    write_text("product.yaml", "reprise: 1\ndata: {csv: product.csv, target: y, train_on_all: true, "
                               "interactions: [[x, z]], standardize: false}\n"
                               "train: {task: regression, solver: exact, l2: 0}\n");
    train("product.yaml", "product.reprise", NULL, NULL);
    p = predict("product.reprise", "x,z\n7,3\n", &options, NULL);
    assert_near(number_of(p, 0, "c_x"), of_x, 1e-9);
    assert_near(number_of(p, 0, "c_z"), of_z, 1e-9);
    assert_near(number_of(p, 0, "margin"), product(x, z), 1e-9);
    rp_prediction_free(p);
}

/* Of the rows that reach 5 the 30 lowest, and ties with the last, are the reference. */
static void a_cut_off_has_the_rows_just_above_it(void **state)
{
    const rp_predict_options options = {
        .contributions = true, .cutoff_reference = true, .cutoff = "5", .favourable = "high"};
    rp_prediction *p;
    double value[40], sum = 0, last;
    int n = 0, rows = 0;

    (void)state;
    train_plane();
    for (int i = 0; i < 40; i++)
        if (1 + 2 * i - 3 * (i % 4) > 4.5)
            value[n++] = 1 + 2 * i - 3 * (i % 4);
    for (int i = 1; i < n; i++) /* sorted */
        for (int j = i; j > 0 && value[j] < value[j - 1]; j--) {
            const double swap = value[j];

            value[j] = value[j - 1];
            value[j - 1] = swap;
        }
    last = value[n < 30 ? n - 1 : 29];
    for (int i = 0; i < 40; i++) {
        const double y = 1 + 2 * i - 3 * (i % 4);

        if (y > 4.5 && y <= last + 0.01) {
            sum += i;
            rows++;
        }
    }
    p = predict("plane.reprise", "x,z,kind\n10,3,same\n", &options, NULL);
    assert_int_equal(p->reference_rows, rows);
    assert_near(number_of(p, 0, "c_x"), 2 * (10 - sum / rows), 1e-9);
    assert_near(strtod(p->reference_to, NULL), last, 1e-5);
    rp_prediction_free(p);
}

static void what_is_favourable_turns_the_sign(void **state)
{
    const rp_predict_options high = {.reasons = 1, .contributions = true};
    const rp_predict_options low = {.reasons = 1, .contributions = true, .favourable = "low"};
    static const char rows[] = "x,z,kind\n10,3,same\n30,0,same\n";
    rp_prediction *a, *b;

    (void)state;
    train_plane();
    a = predict("plane.reprise", rows, &high, NULL);
    b = predict("plane.reprise", rows, &low, NULL);
    assert_string_equal(b->favourable, "low");
    for (int i = 0; i < 2; i++) {
        assert_near(number_of(b, i, "c_x"), -number_of(a, i, "c_x"), 0);
        assert_near(number_of(b, i, "margin"), -number_of(a, i, "margin"), 0);
    }
    rp_prediction_free(a);
    rp_prediction_free(b);
}

static const char new_rows[] = "x,colour\n1.5,red\n,blue\n-3,green\n9.2,violet\n";

/* Columns of a network add up to its margin but for the steps' error, which falls with their number. */
static void integrated_gradients_add_up_and_more_steps_add_up_better(void **state)
{
    rp_predict_options options = {.reasons = 2, .contributions = true, .steps = 4};
    rp_prediction *few, *many;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    few = predict("a.reprise", new_rows, &options, NULL);
    options.steps = 256;
    many = predict("a.reprise", new_rows, &options, NULL);
    assert_string_equal(many->method, "integrated gradients");
    for (int i = 0; i < 4; i++) {
        const double start = strtod(many->reference_margin, NULL);

        assert_near(number_of(many, i, "margin") - start,
                    number_of(many, i, "c_x") + number_of(many, i, "c_colour") + number_of(many, i, "gap"), 1e-12);
        assert_near(number_of(many, i, "gap"), 0, 1e-4);
        for (int k = 1; k <= 2; k++) { /* no rounding is given as a reason */
            char name[32], text[LINE];

            (void)snprintf(name, sizeof name, "contribution_%d", k);
            cell_of(text, many, i, name);
            assert_true(!*text || strtod(text, NULL) < -1e-7);
        }
    }
    assert_true(strtod(many->largest_gap, NULL) < strtod(few->largest_gap, NULL));
    rp_prediction_free(few);
    rp_prediction_free(many);
}

/* The rows are given many times over, so that there are several blocks, whose rows have the bits of the first. */
static void reasons_have_the_same_bits_at_every_level_and_in_every_block(void **state)
{
    const rp_predict_options options = {.reasons = 2, .contributions = true, .steps = 3};
    static const rp_job_options ref = {.level = "ref", .threads = 1}, best = {.threads = 3};
    rp_buffer rows = {0};
    rp_prediction *a, *b;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    rp_buffer_text(&rows, new_rows);
    for (int i = 1; i < 300; i++)
        rp_buffer_text(&rows, strchr(new_rows, '\n') + 1);
    rp_buffer_u8(&rows, 0);
    a = predict("a.reprise", (const char *)rows.data, &options, &ref);
    b = predict("a.reprise", (const char *)rows.data, &options, &best);
    assert_int_equal(a->rows, 1200);
    assert_int_equal(a->length, b->length);
    assert_memory_equal(a->text, b->text, a->length);
    for (int i = 0; i < 4; i++) {
        char first[LINE], later[LINE];

        line_of(first, a, 1 + i);
        line_of(later, a, 1 + 1196 + i);
        assert_string_equal(strchr(first, ','), strchr(later, ','));
    }
    rp_prediction_free(a);
    rp_prediction_free(b);
    rp_buffer_free(&rows);
}

static void refused(const rp_predict_options *options, rp_status status, const char *text)
{
    rp_archive *archive = open_archive("plane.reprise");
    static const char rows[] = "x,z,kind\n10,3,same\n";
    rp_prediction *p = NULL;
    rp_error err = {0};

    assert_int_equal(rp_predict_rows(archive, rows, strlen(rows), "rows", options, NULL, &p, &err), status);
    assert_null(p);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\" in \"%s\"", text, err.text);
    rp_archive_close(archive);
}

static void what_cannot_be_explained_is_told(void **state)
{
    static const char *const margin[] = {"margin"};

    (void)state;
    train_plane();
    refused(&(rp_predict_options){.reasons = 1, .cutoff_reference = true}, RP_EARG, "no cut-off of its own");
    refused(&(rp_predict_options){.reasons = 1, .cutoff_reference = true, .cutoff = "much"}, RP_EARG, "a decimal");
    refused(&(rp_predict_options){.reasons = 1, .cutoff_reference = true, .cutoff = "1e9"}, RP_EDATA,
            "no training row");
    refused(&(rp_predict_options){.reasons = 1, .cutoff = "3"}, RP_EARG, "belongs to the reference");
    refused(&(rp_predict_options){.reasons = 1, .favourable = "good"}, RP_EARG, "expected high or low");
    refused(&(rp_predict_options){.reasons = 65}, RP_EARG, "expected 1 to 64");
    refused(&(rp_predict_options){.reasons = 1, .steps = 5000}, RP_EARG, "expected 1 to 4096");
    refused(&(rp_predict_options){.reasons = 1, .id = margin, .n_id = 1}, RP_EARG, "no column");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plane_has_its_slopes_times_the_distance_from_the_mean),
        cmocka_unit_test(a_product_is_shared_as_the_game_of_its_columns_has_it),
        cmocka_unit_test(a_cut_off_has_the_rows_just_above_it),
        cmocka_unit_test(what_is_favourable_turns_the_sign),
        cmocka_unit_test(integrated_gradients_add_up_and_more_steps_add_up_better),
        cmocka_unit_test(reasons_have_the_same_bits_at_every_level_and_in_every_block),
        cmocka_unit_test(what_cannot_be_explained_is_told),
    };

    (void)forge;
    return cmocka_run_group_tests(tests, setup, teardown);
}
