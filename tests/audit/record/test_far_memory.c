/* SPDX-License-Identifier: Apache-2.0
 * Every kind of recipe's job, and what is done with archives, on a device whose memory the host cannot touch
 * (far_jobs.h). */
#include "tests/audit/record/far_jobs.h"

#define DATA "reprise: 1\nseed: 3\ndata: {csv: table.csv, target: y, folds: 4, fold: 1}\n"
#define SMALL_MODEL "model: {hidden: [5], activation: gelu, dropout: 0.2, layer_norm: true}\n"

static const struct {
    const char *name, *text;
} recipes[] = {
    {"parts", DATA SMALL_MODEL "train: {epochs: 3, batch: 16, shards: 2, accumulate: 2, clip_norm: 0.5}\n"},
    {"other", DATA SMALL_MODEL "train: {epochs: 3, batch: 16, shards: 2, accumulate: 2, clip_norm: 0.25}\n"},
    {"checkpoints", DATA SMALL_MODEL "train: {epochs: 4, batch: 7, optimizer: {kind: rmsprop, lr: 0.01}}\n"
                                     "record: {checkpoint_every: 3}\n"},
    {"rolling", DATA "model: {hidden: [90, 40]}\ntrain: {epochs: 3, batch: 9, clip_norm: 0.5}\n"
                     "record: {checkpoint_every: 4, state_period: 3}\n"},
    {"rolling_other", DATA "model: {hidden: [90, 40]}\ntrain: {epochs: 3, batch: 9, clip_norm: 0.001}\n"
                           "record: {checkpoint_every: 4, state_period: 3}\n"},
    /* 0.8 MiB of states: hashed beside the next step */
    {"large", DATA "model: {hidden: [256, 256]}\ntrain: {epochs: 2, batch: 20, optimizer: {kind: adam}}\n"},
    {"regression",
     "reprise: 1\nseed: 4\ndata: {csv: table.csv, target: x, folds: 4}\nmodel: {hidden: [4]}\n"
     "train: {task: regression, epochs: 2, batch: 16, optimizer: {kind: sgd, lr: 0.01, momentum: 0.9}}\n"},
};

/* 60 rows: x informative, colour categorical. */
static void put_table(void)
{
    rp_buffer csv = {0};

    rp_buffer_text(&csv, "x,colour,y\n");
    for (int i = 0; i < 60; i++)
        rp_buffer_printf(&csv, "%s%d.%d,%s,%s\n", i % 7 ? "" : "-", i % 11, i % 5, i % 3 ? "red" : "blue",
                         (i % 11) * 2 + i % 3 > 11 ? "yes" : "no");
    rp_buffer_u8(&csv, 0);
    put_file("table.csv", (const char *)csv.data);
    rp_buffer_free(&csv);
}

static void train_as(const char *recipe, const char *archive, const rp_job_options *options)
{
    rp_job *job = NULL;

    OK(rp_train_recipe(recipe, archive, NULL, true, options, &job, &err));
    rp_job_free(job);
}

static void train(const char *name, const char *device)
{
    char recipe[64];
    const rp_job_options options = options_of(device);

    (void)snprintf(recipe, sizeof recipe, "%s.yaml", name);
    train_as(path_of(recipe, ""), path_of(name, device), &options);
}

static void recipes_are_recorded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        on_both(recipes[i].name, train);
}

static void train_image(const char *name, const char *device)
{
    const rp_job_options options = options_of(device);

    train_as(RP_SOURCE_DIR "/golden/image.yaml", path_of(name, device), &options);
}

static void a_recipe_of_images_is_recorded(void **state)
{
    (void)state;
    on_both("image", train_image);
}

static bool stop_at_five(void *self, const rp_progress *progress)
{
    (void)self;
    return progress->step != 5;
}

static void train_interrupted(const char *name, const char *device)
{
    rp_job_options options = options_of(device);
    rp_job *job = NULL;

    options.save_every = 1e-9;
    options.progress = stop_at_five;
    assert_int_equal(
        rp_train_recipe(path_of("checkpoints.yaml", ""), path_of(name, device), NULL, true, &options, &job, &err),
        RP_ECANCELED);
    options.progress = NULL;
    options.resume = true;
    OK(rp_train_recipe(path_of("checkpoints.yaml", ""), path_of(name, device), NULL, true, &options, &job, &err));
    assert_int_equal(job->resumed_at, 5);
    rp_job_free(job);
}

static void an_interrupted_run_goes_on(void **state)
{
    (void)state;
    on_both("interrupted", train_interrupted);
}

static void train_withheld(const char *name, const char *device)
{
    rp_job_options options = options_of(device);
    char home[200];

    (void)snprintf(home, sizeof home, "%s/home.%s", folder, device);
    options.withhold = home;
    train_as(path_of("parts.yaml", ""), path_of(name, device), &options);
}

/* Two salts are two archives: that they replay is what can be compared. */
static void withheld_data_come_back_for_a_replay(void **state)
{
    const rp_job_options options = options_of(devices[1]);
    rp_archive *archive;
    rp_job *job;

    (void)state;
    train_withheld("withheld", devices[1]);
    archive = archive_of(path_of("withheld", devices[1]));
    OK(rp_archive_disclose(archive, path_of("home", devices[1]), &err));
    OK(rp_replay(archive, &options, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
    no_touch("withheld");
}

/* ---- what is done with archives ---- */

static void archives_of_the_cpu_replay(void **state)
{
    const rp_replay_choice range = {.mode = RP_REPLAY_RANGE, .first = 4, .last = 9},
                           sample = {.mode = RP_REPLAY_SAMPLE, .share = 500000, .seed = "seed", .parallel = 2};

    (void)state;
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        replay(path_of(recipes[i].name, "cpu"), NULL);
    replay(RP_SOURCE_DIR "/golden/branch.reprise", NULL);
    replay(path_of("checkpoints", "cpu"), &range);
    replay(path_of("checkpoints", "cpu"), &sample);
    replay(path_of("rolling", "cpu"), &sample);
}

static void compare(const char *a_name, const char *b_name, const char *says)
{
    char *text[2];
    bool same;

    for (int i = 0; i < 2; i++) {
        const rp_job_options options = options_of(devices[i]);
        rp_archive *a = archive_of(path_of(a_name, "cpu")), *b = archive_of(path_of(b_name, "cpu"));

        OK(rp_diff(a, b, &options, &same, &text[i], &err));
        assert_false(same);
        rp_archive_close(a);
        rp_archive_close(b);
    }
    no_touch("diff");
    same_text("diff", text[0], strlen(text[0]), text[1], strlen(text[1]));
    if (!strstr(text[1], says))
        fail_msg("expected %s in\n%s", says, text[1]);
    rp_text_free(text[0]);
    rp_text_free(text[1]);
}

static void diff_names_the_same_element(void **state)
{
    (void)state;
    compare("parts", "other", "element ");
    compare("rolling", "rolling_other", "element ");
}

static void predict(const char *name, const char *device)
{
    static const char rows[] = "x,colour\n1.5,red\n-2,blue\n";
    const rp_job_options options = options_of(device);
    rp_archive *archive = archive_of(path_of("parts", "cpu"));
    char *text;
    size_t length;

    OK(rp_predict(archive, rows, sizeof rows - 1, "rows", &options, &text, &length, &err));
    OK(rp_file_save(path_of(name, device), text, length, true, 0644, &err));
    rp_text_free(text);
    rp_archive_close(archive);
}

static void predictions_are_the_same(void **state)
{
    (void)state;
    on_both("predictions", predict);
}

static void train_child(const char *name, const char *device)
{
    const rp_job_options options = options_of(device);
    rp_archive *parent, *child;

    train_as(path_of("child.yaml", ""), path_of(name, device), &options);
    parent = archive_of(path_of("parts", "cpu"));
    child = archive_of(path_of(name, device));
    OK(rp_check_parent(child, parent, &err));
    rp_archive_close(parent);
    rp_archive_close(child);
}

static void a_child_starts_from_its_parent(void **state)
{
    (void)state;
    put_file("child.yaml", DATA SMALL_MODEL
             "train: {epochs: 1, batch: 16, shards: 2, accumulate: 2, clip_norm: 0.5}\nparent: {archive: parts.cpu}\n");
    on_both("child", train_child);
}

static void reports_are_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_archive *archive = archive_of(path_of("parts", devices[i]));
        char *text;
        size_t length;

        OK(rp_report(archive, NULL, NULL, &text, &length, &err));
        OK(rp_file_save(path_of("report", devices[i]), text, length, true, 0644, &err));
        rp_text_free(text);
        rp_archive_close(archive);
    }
    no_touch("report");
    same_files("report");
}

static int setup(void **state)
{
    (void)state;
    if (far_setup() != 0)
        return -1;
    put_table();
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "%s.yaml", recipes[i].name);
        put_file(name, recipes[i].text);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_are_recorded),       cmocka_unit_test(a_recipe_of_images_is_recorded),
        cmocka_unit_test(an_interrupted_run_goes_on), cmocka_unit_test(withheld_data_come_back_for_a_replay),
        cmocka_unit_test(archives_of_the_cpu_replay), cmocka_unit_test(diff_names_the_same_element),
        cmocka_unit_test(predictions_are_the_same),   cmocka_unit_test(a_child_starts_from_its_parent),
        cmocka_unit_test(reports_are_the_same),
    };

    return cmocka_run_group_tests(tests, setup, far_teardown);
}
