/* SPDX-License-Identifier: Apache-2.0
 * What is tried before a run: trials are the runs that their settings alone would make, all of them are in the archive,
 * and a replay makes them again and names the one that differs. */
#include "tests/audit/table_jobs.h"

#if defined __x86_64__
#include <xmmintrin.h>
#endif

#include "base/json.h"
#include "core/recipe/recipe.h"
#include "core/trials/trials.h"

static const char folds_recipe[] =
    "reprise: 1\nseed: 5\ndata: {csv: table.csv, target: y, folds: 4, fold: %s, test: 0.2}\n"
    "model: {hidden: [6], dropout: 0.1}\ntrain: {epochs: 3, batch: 16}\n%s";
static const char search_text[] =
    "search: {over: {lr: [0.1, 0.5], hidden: [[6], [3, 2]], dropout: [0, 0.25]}, by: auc}\n"
    "challengers: {linear: true, seeds: 3}\n";

static void recipe_with(const char *name, const char *fold, const char *more)
{
    char text[1200];

    (void)snprintf(text, sizeof text, folds_recipe, fold, more);
    write_text(name, text);
}

static rp_json *member_json(const char *archive_name, const char *member)
{
    rp_archive *archive = open_archive(archive_name);
    rp_json *json = NULL;

    assert_int_equal(rp_archive_read_json(archive, member, &json, NULL), RP_OK);
    rp_archive_close(archive);
    return json;
}

static void member_text(rp_buffer *out, const char *archive_name, const char *member)
{
    rp_archive *archive = open_archive(archive_name);

    assert_int_equal(rp_archive_read_member(archive, member, SIZE_MAX / 2, out, NULL), RP_OK);
    rp_buffer_u8(out, 0);
    rp_archive_close(archive);
}

static rp_status replay(const char *name, const rp_replay_choice *choice, rp_replay_scope *scope, rp_error *err)
{
    rp_archive *archive = open_archive(name);
    rp_job *job = NULL;
    rp_status status = rp_replay(archive, &(rp_job_options){.choice = choice}, &job, err);

    if (status == RP_OK && scope)
        *scope = job->scope;
    rp_job_free(job);
    rp_archive_close(archive);
    return status;
}

/* The variant's object of outputs/trials.json. */
static const rp_json *variant_of(const rp_json *trials, size_t i)
{
    return rp_json_array_get(rp_json_object_get(trials, "variants"), i);
}

static void assert_same_figures(const rp_json *trial, const char *archive)
{
    static const char *const names[] = {"loss", "accuracy", "auc"};
    rp_json *metrics = member_json(archive, "outputs/metrics.json");
    const rp_json *validation = rp_json_object_get(metrics, "validation");

    for (size_t i = 0; i < 3; i++) {
        const rp_json *figure = rp_json_object_get(rp_json_object_get(trial, "figures"), names[i]);

        assert_non_null(figure);
        assert_true(rp_json_equal(figure, rp_json_object_get(validation, names[i])));
    }
    rp_json_free(metrics);
}

/* Every line of the fold's own predictions stands in the whole's, with the fold behind the row. */
static void assert_lines_of(const char *whole, const char *predictions, int fold)
{
    size_t lines = 0;

    for (const char *at = strchr(predictions, '\n') + 1; *at; at = strchr(at, '\n') + 1) {
        char line[256];
        const char *comma = strchr(at, ','), *end = strchr(at, '\n');

        (void)snprintf(line, sizeof line, "\n%.*s,%d%.*s\n", (int)(comma - at), at, fold, (int)(end - comma), comma);
        assert_non_null(strstr(whole, line));
        lines++;
    }
    assert_true(lines > 5);
}

static void a_fold_of_all_is_the_run_of_that_fold(void **state)
{
    rp_json *trials;
    const rp_json *list;
    rp_buffer whole = {0}, own = {0};

    (void)state;
    recipe_with("all.yaml", "all", "");
    train("all.yaml", "all.reprise", NULL, NULL);
    trials = member_json("all.reprise", "outputs/trials.json");
    list = rp_json_object_get(variant_of(trials, 0), "trials");
    assert_int_equal(rp_json_array_size(list), 4);
    member_text(&whole, "all.reprise", "outputs/out_of_fold.csv");
    for (int fold = 0; fold < 4; fold++) {
        const char number[] = {(char)('0' + fold), '\0'};

        recipe_with("one.yaml", number, "");
        train("one.yaml", "one.reprise", NULL, NULL);
        assert_same_figures(rp_json_array_get(list, (size_t)fold), "one.reprise");
        own.size = 0;
        member_text(&own, "one.reprise", "outputs/predictions.csv");
        assert_lines_of((const char *)whole.data, (const char *)own.data, fold);
    }
    assert_int_equal(replay("all.reprise", NULL, NULL, NULL), RP_OK);
    rp_buffer_free(&whole);
    rp_buffer_free(&own);
    rp_json_free(trials);
}

static void the_final_fit_has_all_rows_but_the_test_part(void **state)
{
    rp_json *schema, *prepared;
    const rp_json *split;

    (void)state;
    schema = member_json("all.reprise", "data/schema.json");
    split = rp_json_object_get(schema, "split");
    prepared = member_json("all.reprise", "data/prepared.json");
    assert_int_equal(rp_json_integer_value(rp_json_object_get(split, "valid_rows")), 0);
    assert_true(rp_json_integer_value(rp_json_object_get(split, "test_rows")) > 10);
    assert_int_equal(rp_json_integer_value(rp_json_object_get(split, "train_rows")) +
                         rp_json_integer_value(rp_json_object_get(split, "test_rows")),
                     61);
    assert_null(rp_json_object_get(prepared, "valid_x"));
    rp_json_free(schema);
    rp_json_free(prepared);
}

/* What a plain run of the chosen settings computes. */
static void assert_same_member(const char *a, const char *b, const char *member)
{
    rp_buffer x = {0}, y = {0};

    member_text(&x, a, member);
    member_text(&y, b, member);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    rp_buffer_free(&x);
    rp_buffer_free(&y);
}

/* The greatest area, the first of equals; written apart from the product. */
static size_t best_of(const rp_json *trials, size_t n)
{
    size_t best = 0;
    double most = -1;

    for (size_t i = 0; i < n; i++) {
        const double auc = strtod(
            rp_json_string_value(rp_json_object_get(rp_json_object_get(variant_of(trials, i), "mean"), "auc")), NULL);

        if (auc > most) {
            most = auc;
            best = i;
        }
    }
    return best;
}

static void the_best_of_a_search_is_the_run_and_all_are_told(void **state)
{
    rp_json *trials, *recipe, *metrics;
    const rp_json *set;
    char text[900];
    size_t best;

    (void)state;
    recipe_with("search.yaml", "1", search_text);
    train("search.yaml", "search.reprise", NULL, NULL);
    trials = member_json("search.reprise", "outputs/trials.json");
    recipe = member_json("search.reprise", "run/recipe.json");
    metrics = member_json("search.reprise", "outputs/metrics.json");
    best = best_of(trials, 8);
    assert_int_equal(rp_json_integer_value(rp_json_object_get(trials, "number")), 12);
    assert_int_equal(rp_json_array_size(rp_json_object_get(trials, "variants")), 12);
    assert_int_equal(rp_json_array_size(rp_json_object_get(rp_json_object_get(metrics, "trials"), "variants")), 12);
    assert_int_equal(rp_json_integer_value(rp_json_object_get(trials, "chosen")), best);
    set = rp_json_object_get(variant_of(trials, best), "set");
    assert_true(rp_json_equal(rp_json_object_get(set, "hidden"),
                              rp_json_object_get(rp_json_object_get(recipe, "model"), "hidden")));
    (void)snprintf(text, sizeof text,
                   "reprise: 1\nseed: 5\ndata: {csv: table.csv, target: y, folds: 4, fold: 1, test: 0.2}\n"
                   "model: {hidden: %s, dropout: %s}\ntrain: {epochs: 3, batch: 16, optimizer: {lr: %s}}\n",
                   rp_json_array_size(rp_json_object_get(set, "hidden")) == 1 ? "[6]" : "[3, 2]",
                   rp_json_string_value(rp_json_object_get(set, "dropout")),
                   rp_json_string_value(rp_json_object_get(set, "lr")));
    write_text("plain.yaml", text);
    train("plain.yaml", "plain.reprise", NULL, NULL);
    assert_same_member("search.reprise", "plain.reprise", "weights/final.safetensors");
    assert_same_member("search.reprise", "plain.reprise", "outputs/predictions.csv");
    assert_same_figures(rp_json_array_get(rp_json_object_get(variant_of(trials, best), "trials"), 0), "plain.reprise");
    rp_json_free(trials);
    rp_json_free(recipe);
    rp_json_free(metrics);
}

#if defined __x86_64__
/* Another library may have switched subnormals off, or another rounding on. */
static void the_callers_environment_changes_no_byte(void **state)
{
    const unsigned before = _mm_getcsr();

    (void)state;
    _mm_setcsr(before | 0x8040 | 0x6000); /* to zero, flushed and read as zero */
    train("search.yaml", "search-env.reprise", NULL, NULL);
    _mm_setcsr(before);
    assert_same_member("search.reprise", "search-env.reprise", "outputs/trials.json");
    assert_same_member("search.reprise", "search-env.reprise", "outputs/metrics.json");
    assert_same_member("search.reprise", "search-env.reprise", "outputs/reference.json");
    assert_same_member("search.reprise", "search-env.reprise", "outputs/predictions.csv");
}
#endif

/* The last key of a grid, by name, changes first. */
static void a_grid_is_walked_in_the_order_of_names(void **state)
{
    static const char *const lr[] = {"0.1", "0.5"}, *const dropout[] = {"0", "0.25"};
    rp_json *trials = member_json("search.reprise", "outputs/trials.json");

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const rp_json *set = rp_json_object_get(variant_of(trials, i), "set");

        assert_string_equal(rp_json_string_value(rp_json_object_get(set, "lr")), lr[i % 2]);
        assert_int_equal(rp_json_array_size(rp_json_object_get(set, "hidden")), 1 + i / 2 % 2);
        assert_string_equal(rp_json_string_value(rp_json_object_get(set, "dropout")), dropout[i / 4]);
    }
    rp_json_free(trials);
}

/* Challengers have the run's own rows, whatever their seed. */
static void the_linear_challenger_is_the_exact_fit_of_the_same_rows(void **state)
{
    rp_json *trials = member_json("search.reprise", "outputs/trials.json");
    const rp_json *linear = variant_of(trials, 8), *seed = variant_of(trials, 9);

    (void)state;
    write_text("linear.yaml", "reprise: 1\nseed: 5\ndata: {csv: table.csv, target: y, folds: 4, fold: 1, test: 0.2}\n");
    train("linear.yaml", "linear.reprise", NULL, NULL);
    assert_string_equal(rp_json_string_value(rp_json_object_get(linear, "kind")), "linear");
    assert_same_figures(rp_json_array_get(rp_json_object_get(linear, "trials"), 0), "linear.reprise");
    assert_string_equal(rp_json_string_value(rp_json_object_get(seed, "kind")), "seed");
    assert_int_equal(rp_json_integer_value(rp_json_object_get(rp_json_object_get(seed, "set"), "seed")), 6);
    assert_non_null(rp_json_object_get(rp_json_object_get(rp_json_object_get(trials, "spread"), "scores"), "rows"));
    rp_json_free(trials);
}

static size_t find_in(const char *archive, const char *member, const char *text, size_t skip)
{
    rp_buffer body = {0};
    const char *at;
    size_t found;

    member_text(&body, archive, member);
    at = (const char *)body.data;
    for (size_t i = 0; i <= skip; i++) {
        at = strstr(at + (i > 0), text);
        assert_non_null(at);
    }
    found = (size_t)(at - (const char *)body.data) + strlen(text);
    rp_buffer_free(&body);
    return found;
}

static void a_forged_trial_is_named(void **state)
{
    rp_error err = {0};

    (void)state;
    /* the third trial's accuracy; the last one's states but two; what is chosen */
    forge("search.reprise", "forged.reprise", "outputs/trials.json",
          find_in("search.reprise", "outputs/trials.json", "\"figures\":{\"accuracy\":\"", 2), 1);
    assert_int_equal(replay("forged.reprise", NULL, NULL, &err), RP_EBITS);
    assert_non_null(strstr(err.text, "trial 3 (search"));
    assert_non_null(strstr(err.text, "figures"));
    forge("search.reprise", "forged.reprise", "outputs/trials.json",
          find_in("search.reprise", "outputs/trials.json", "\"states\":\"", 9), 1);
    assert_int_not_equal(replay("forged.reprise", NULL, NULL, &err), RP_OK);
    assert_non_null(strstr(err.text, "trial 10 (seed"));
    forge("search.reprise", "forged.reprise", "outputs/trials.json",
          find_in("search.reprise", "outputs/trials.json", "\"chosen\":", 0), 1);
    assert_int_equal(replay("forged.reprise", NULL, NULL, &err), RP_EBITS);
}

/* The run of settings that the search did not choose, with the search beside it. */
static void another_choice_is_refused(void **state)
{
    rp_error err = {0};

    (void)state;
    forge("search.reprise", "forged.reprise", "run/recipe.json",
          find_in("search.reprise", "run/recipe.json", "\"search\":{\"by\":\"", 0), 'a' ^ 'b');
    assert_int_not_equal(replay("forged.reprise", NULL, NULL, &err), RP_OK);
    forge("search.reprise", "forged.reprise", "run/recipe.json",
          find_in("search.reprise", "run/recipe.json", "\"lr\":\"0.", 0), (unsigned char)('1' ^ '5'));
    assert_int_equal(replay("forged.reprise", NULL, NULL, &err), RP_EBITS);
    assert_non_null(strstr(err.text, "run/recipe.json: its settings are not those"));
}

static void a_part_says_which_trials_it_made(void **state)
{
    const rp_replay_choice range = {.mode = RP_REPLAY_RANGE, .first = 1, .last = 2},
                           sample = {.mode = RP_REPLAY_SAMPLE, .share = 250000, .seed = "drawn later"},
                           parallel = {.mode = RP_REPLAY_FULL, .parallel = 2};
    rp_replay_scope scope;
    rp_error err = {0};
    size_t caught = 0;

    (void)state;
    assert_int_equal(replay("search.reprise", &range, &scope, &err), RP_OK);
    assert_int_equal(scope.trials, 0);
    assert_int_equal(scope.trials_total, 12);
    assert_int_equal(replay("search.reprise", &sample, &scope, &err), RP_OK);
    assert_int_equal(scope.trials, 3);
    assert_int_equal(replay("search.reprise", &parallel, &scope, &err), RP_OK);
    assert_int_equal(scope.trials, 12);
    assert_int_equal(replay("search.reprise", NULL, &scope, &err), RP_OK);
    assert_int_equal(scope.trials, 12);
    for (size_t i = 0; i < 12; i++) { /* a sample of all draws every one */
        forge("search.reprise", "forged.reprise", "outputs/trials.json",
              find_in("search.reprise", "outputs/trials.json", "\"states\":\"", i), 1);
        caught += replay("forged.reprise", &(rp_replay_choice){.mode = RP_REPLAY_SAMPLE, .share = 1000000, .seed = "s"},
                         NULL, &err) != RP_OK;
    }
    assert_int_equal(caught, 12);
}

static void the_report_tells_every_variant(void **state)
{
    rp_archive *archive = open_archive("search.reprise");
    char *html = NULL;
    const char *section;
    size_t length, rows = 0;

    (void)state;
    assert_int_equal(rp_report(archive, NULL, NULL, &html, &length, NULL), RP_OK);
    section = strstr(html, "<h2 id=\"trials-h\">");
    assert_non_null(section);
    for (size_t i = 0; i < 12; i++) {
        char row[40];

        (void)snprintf(row, sizeof row, "<tr><th scope=\"row\" class=\"n\">%zu</th>", i + 1);
        rows += strstr(section, row) != NULL;
    }
    assert_int_equal(rows, 12);
    assert_non_null(strstr(section, "searched, chosen"));
    assert_non_null(strstr(section, "Spread over seeds"));
    assert_non_null(strstr(html, "but that chose its settings"));
    rp_text_free(html);
    rp_archive_close(archive);
    archive = open_archive("plain.reprise");
    assert_int_equal(rp_report(archive, NULL, NULL, &html, &length, NULL), RP_OK);
    assert_null(strstr(html, "but that chose its settings"));
    rp_text_free(html);
    rp_archive_close(archive);
}

static void drawn_settings_are_in_their_intervals(void **state)
{
    rp_json *trials;
    size_t n;
    double least = 1, most = 0;

    (void)state;
    recipe_with("random.yaml", "0",
                "search: {kind: random, trials: 12, over: {lr: {low: 0.0001, high: 0.1, log: true}, "
                "epochs: {low: 1, high: 3}, activation: [relu, tanh]}}\n");
    train("random.yaml", "random.reprise", NULL, NULL);
    trials = member_json("random.reprise", "outputs/trials.json");
    n = rp_json_array_size(rp_json_object_get(trials, "variants"));
    assert_int_equal(n, 12);
    for (size_t i = 0; i < n; i++) {
        const rp_json *set = rp_json_object_get(variant_of(trials, i), "set");
        const double lr = strtod(rp_json_string_value(rp_json_object_get(set, "lr")), NULL);
        const int64_t epochs = rp_json_integer_value(rp_json_object_get(set, "epochs"));

        assert_true(lr >= 0.0001 && lr <= 0.1 && epochs >= 1 && epochs <= 3);
        least = lr < least ? lr : least;
        most = lr > most ? lr : most;
    }
    assert_true(least < 0.001 && most > 0.01);
    rp_json_free(trials);
    assert_int_equal(replay("random.reprise", NULL, NULL, NULL), RP_OK);
}

/* A rate that ends in no number is a result too; if nothing else was tried, there is no run. */
static void a_trial_that_diverges_is_told_and_never_chosen(void **state)
{
    rp_json *trials;
    rp_error err = {0};
    rp_job *job = NULL;

    (void)state;
    recipe_with("far.yaml", "0", "  optimizer: {kind: sgd}\nsearch: {over: {lr: [1000000, 0.1]}}\n");
    write_text("far.yaml", "reprise: 1\ndata: {csv: table.csv, target: y}\nmodel: {hidden: [6, 6, 6]}\n"
                           "train: {epochs: 9, optimizer: {kind: sgd}}\nsearch: {over: {lr: [1000000, 0.1]}}\n");
    train("far.yaml", "far.reprise", NULL, NULL);
    trials = member_json("far.reprise", "outputs/trials.json");
    assert_int_equal(rp_json_integer_value(rp_json_object_get(trials, "chosen")), 1);
    assert_true(rp_json_integer_value(rp_json_object_get(
                    rp_json_array_get(rp_json_object_get(variant_of(trials, 0), "trials"), 0), "failed")) > 0);
    rp_json_free(trials);
    assert_int_equal(replay("far.reprise", NULL, NULL, &err), RP_OK);
    write_text("far.yaml", "reprise: 1\ndata: {csv: table.csv, target: y}\nmodel: {hidden: [6, 6, 6]}\n"
                           "train: {epochs: 9, optimizer: {kind: sgd}}\nsearch: {over: {lr: [1000000, 900000]}}\n");
    assert_int_equal(rp_train_recipe(in_folder("far.yaml"), in_folder("no.reprise"), NULL, true, NULL, &job, &err),
                     RP_EDATA);
    assert_non_null(strstr(err.text, "no trial of 2"));
}

static void folds_of_a_search_judge_by_their_mean(void **state)
{
    rp_json *trials;
    const rp_json *variant;
    double sum = 0, mean;

    (void)state;
    recipe_with("both.yaml", "all", "search: {over: {lr: [0.001, 0.05]}}\nchallengers: {seeds: 2}\n");
    train("both.yaml", "both.reprise", NULL, NULL);
    trials = member_json("both.reprise", "outputs/trials.json");
    assert_int_equal(rp_json_integer_value(rp_json_object_get(trials, "number")), 16);
    variant = variant_of(trials, (size_t)rp_json_integer_value(rp_json_object_get(trials, "chosen")));
    for (size_t f = 0; f < 4; f++) {
        const rp_json *trial = rp_json_array_get(rp_json_object_get(variant, "trials"), f);

        sum += strtod(rp_json_string_value(rp_json_object_get(rp_json_object_get(trial, "figures"), "loss")), NULL);
    }
    mean = strtod(rp_json_string_value(rp_json_object_get(rp_json_object_get(variant, "mean"), "loss")), NULL);
    assert_true(mean == sum / 4);
    assert_int_equal(replay("both.reprise", NULL, NULL, NULL), RP_OK);
    rp_json_free(trials);
}

/* 45 training rows are two steps of 32, 60 of the last fit as well: as many epochs as there may be. With a batch of one
 * 45 steps are an epoch, of which 40 are made. */
static void epochs_follow_from_the_rows(void **state)
{
    static const struct {
        const char *train;
        int64_t epochs, trial_steps;
    } cases[] = {{"", 100, 200}, {"train: {batch: 1}\n", 40, 1840}, {"train: {epochs: 7}\n", 7, 14}};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char text[300];
        rp_json *recipe, *trials;
        const rp_json *trial;

        (void)snprintf(text, sizeof text,
                       "reprise: 1\ndata: {csv: table.csv, target: y, fold: all, folds: 4}\nmodel: {hidden: [3]}\n%s",
                       cases[i].train);
        write_text("rows.yaml", text);
        train("rows.yaml", "rows.reprise", NULL, NULL);
        recipe = member_json("rows.reprise", "run/recipe.json");
        trials = member_json("rows.reprise", "outputs/trials.json");
        trial = rp_json_array_get(rp_json_object_get(variant_of(trials, 0), "trials"), 3);
        assert_int_equal(rp_json_integer_value(rp_json_object_get(rp_json_object_get(recipe, "train"), "epochs")),
                         cases[i].epochs);
        assert_int_equal(rp_json_integer_value(rp_json_object_get(trial, "steps")), cases[i].trial_steps);
        rp_json_free(recipe);
        rp_json_free(trials);
    }
    assert_int_equal(replay("rows.reprise", NULL, NULL, NULL), RP_OK);
}

/* The third trial's steps are too much: it is named, and nothing of it is made. */
static void what_trials_cost_is_known_before_each(void **state)
{
    rp_archive *archive = open_archive("search.reprise");
    rp_error err = {0};
    rp_job *job = NULL;
    uint64_t enough = 1 << 10;

    (void)state;
    assert_int_equal(rp_replay(archive, &(rp_job_options){.max_work = 1}, &job, &err), RP_EUNSUPPORTED);
    while (rp_replay(archive, &(rp_job_options){.max_work = enough}, &job, &err) == RP_EUNSUPPORTED &&
           !strstr(err.text, "trial "))
        enough += enough / 4;
    assert_non_null(strstr(err.text, "trial "));
    assert_non_null(strstr(err.text, " steps: takes"));
    rp_archive_close(archive);
}

static void what_cannot_be_tried_is_said(void **state)
{
    static const struct {
        const char *more, *says;
    } cases[] = {
        {"search: {over: {lr: [0.1], momentum: [0.5]}}\n", "search.over.momentum"},
        {"search: {over: {lr: 0.1}}\n", "a list of numbers"},
        {"search: {over: {lr: [0.1, 0.5, 0.10]}}\n", "a value again"},
        {"search: {over: {lr: {low: 0.1, high: 1}}}\n", "kind: random"},
        {"search: {over: {lt: [0.1]}}\n", "unknown key"},
        {"search: {over: {lr: [0.1]}, by: r2}\n", "accuracy or auc"},
        {"search: {over: {lr: [0.1]}, kind: random}\n", "search.trials"},
        {"search: {over: {batch: [16], epochs: [0]}}\n", "search: trial 1"},
        {"search: {over: {hidden: [[]]}}\n", "1 to 16 layer widths"},
        {"challengers: {seeds: 1}\n", "no spread"},
        {"challengers: {linear: false}\n", "names none"},
    };
    rp_error err;
    rp_job *job = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        recipe_with("bad.yaml", "1", cases[i].more);
        assert_int_not_equal(
            rp_train_recipe(in_folder("bad.yaml"), in_folder("bad.reprise"), NULL, true, NULL, &job, &err), RP_OK);
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
    }
}

static bool no_step(void *self, const rp_progress *now)
{
    (void)now;
    *(bool *)self = true;
    return true;
}

static void slices_that_are_not_there_are_told_before_any_trial(void **state)
{
    bool stepped = false;
    const rp_job_options options = {.progress = no_step, .self = &stepped};
    rp_error err;
    rp_job *job = NULL;

    (void)state;
    recipe_with("sliced.yaml", "1", "challengers: {seeds: 2}\nvalidation: {by: [nowhere]}\n");
    assert_int_equal(
        rp_train_recipe(in_folder("sliced.yaml"), in_folder("sliced.reprise"), NULL, true, &options, &job, &err),
        RP_EARG);
    assert_non_null(strstr(err.text, "nowhere"));
    assert_false(stepped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fold_of_all_is_the_run_of_that_fold),
        cmocka_unit_test(the_final_fit_has_all_rows_but_the_test_part),
        cmocka_unit_test(the_best_of_a_search_is_the_run_and_all_are_told),
#if defined __x86_64__
        cmocka_unit_test(the_callers_environment_changes_no_byte),
#endif
        cmocka_unit_test(a_grid_is_walked_in_the_order_of_names),
        cmocka_unit_test(the_linear_challenger_is_the_exact_fit_of_the_same_rows),
        cmocka_unit_test(a_forged_trial_is_named),
        cmocka_unit_test(another_choice_is_refused),
        cmocka_unit_test(a_part_says_which_trials_it_made),
        cmocka_unit_test(the_report_tells_every_variant),
        cmocka_unit_test(drawn_settings_are_in_their_intervals),
        cmocka_unit_test(a_trial_that_diverges_is_told_and_never_chosen),
        cmocka_unit_test(folds_of_a_search_judge_by_their_mean),
        cmocka_unit_test(epochs_follow_from_the_rows),
        cmocka_unit_test(what_trials_cost_is_known_before_each),
        cmocka_unit_test(what_cannot_be_tried_is_said),
        cmocka_unit_test(slices_that_are_not_there_are_told_before_any_trial),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
