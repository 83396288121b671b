/* SPDX-License-Identifier: Apache-2.0
 * What diff says of two archives: recipe keys, members, the step, how its programs differ, the first value and element,
 * in lines and as JSON; and of one archive that is computed in two ways. */
#include "tests/audit/table_jobs.h"

#include "base/json.h"
#include "tests/audit/replay/wrong_device.h"

#include "tests/audit/replay/nested_regions.h" /* has an err */

static char *diff(const char *a, const char *b, bool *same)
{
    rp_archive *x = open_archive(a), *y = open_archive(b);
    char *text = NULL;

    OK(rp_diff(x, y, NULL, same, &text, &err));
    rp_archive_close(x);
    rp_archive_close(y);
    return text;
}

/* The recipe of a.yaml with one text in another's place, trained as NAME.reprise. */
static void train_with(const char *name, const char *from, const char *to)
{
    char file[64];
    rp_buffer yaml = {0}, made = {0};
    const char *at;

    assert_int_equal(rp_file_read(in_folder("a.yaml"), 4096, &yaml, NULL), RP_OK);
    rp_buffer_u8(&yaml, 0);
    at = strstr((const char *)yaml.data, from);
    assert_non_null(at);
    rp_buffer_append(&made, yaml.data, (size_t)(at - (const char *)yaml.data));
    rp_buffer_text(&made, to);
    rp_buffer_text(&made, at + strlen(from));
    rp_buffer_u8(&made, 0);
    (void)snprintf(file, sizeof file, "%s.yaml", name);
    write_text(file, (const char *)made.data);
    rp_buffer_free(&yaml);
    rp_buffer_free(&made);
    train(file, (snprintf(file + 32, 32, "%s.reprise", name), file + 32), NULL, NULL);
}

static void says(const char *text, const char *expected)
{
    if (!strstr(text, expected))
        fail_msg("expected \"%s\" in:\n%s", expected, text);
}

static void diff_names_recipe_key_step_instruction_and_element(void **state)
{
    bool same;
    char *text;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    /* the same run but for the learning rate: the first difference is the feed lr of step 1 */
    write_recipe("b.yaml", ", optimizer: {kind: adamw, lr: 0.002}", 3);
    train("b.yaml", "b.reprise", NULL, NULL);
    text = diff("a.reprise", "b.reprise", &same);
    assert_false(same);
    assert_non_null(strstr(text, "train.optimizer.lr: A \"0.001\", B \"0.002\""));
    assert_non_null(strstr(text, "step      1 is the first that differs (its feeds); 1 record is equal"));
    assert_non_null(strstr(text, "input feed lr, f32[]"));
    assert_non_null(strstr(
        text,
        "element   []: A 0x3a83126f (0.001), B 0x3b03126f (0.002), 8388608 units in the last place of f32 apart"));
    rp_text_free(text);
    /* another clipping limit: same feeds, so an instruction must be named */
    train_with("c", "clip_norm: 0.5", "clip_norm: 0.4");
    text = diff("a.reprise", "c.reprise", &same);
    assert_non_null(strstr(text, "train.clip_norm: A \"0.5\", B \"0.4\""));
    assert_non_null(strstr(text, "is the first that differs"));
    assert_non_null(strstr(text, ", fill, value: A \"0.5\", B \"0.4\""));
    assert_non_null(strstr(text, " fill, output 0, f32[]"));
    assert_non_null(strstr(text, "element   []: A 0x3f000000 (0.5), B 0x3ecccccd (0.4)"));
    rp_text_free(text);
}

static void diff_of_equal_archives_says_identical(void **state)
{
    bool same;
    char *text;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    train("a.yaml", "b.reprise", NULL, NULL);
    text = diff("a.reprise", "b.reprise", &same);
    assert_true(same);
    assert_non_null(strstr(text, "identical"));
    rp_text_free(text);
}

static void diff_names_members_of_one_side_only(void **state)
{
    rp_archive *archive;
    rp_archive_writer *writer = NULL;
    rp_file_writer *file = NULL;
    rp_buffer body = {0};
    rp_job *job = NULL;
    bool same;
    char *text;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    archive = open_archive("a.reprise");
    assert_int_equal(rp_archive_writer_new(&writer, NULL, NULL), RP_OK);
    for (size_t i = 1; i < rp_archive_member_count(archive); i++) {
        const rp_member *m = rp_archive_member(archive, i);

        assert_int_equal(rp_archive_read_member(archive, m->name, SIZE_MAX / 2, &body, NULL), RP_OK);
        assert_int_equal(rp_archive_writer_add(writer, m->name, body.data, body.size, NULL), RP_OK);
    }
    assert_int_equal(rp_archive_writer_add(writer, "outputs/extra.csv", "x\n", 2, NULL), RP_OK);
    assert_int_equal(rp_archive_writer_finish(writer, RP_RUN_RECIPE, rp_archive_manifest(archive)->run, NULL), RP_OK);
    assert_int_equal(rp_file_create(&file, in_folder("extra.reprise"), true, 0644, NULL), RP_OK);
    assert_int_equal(rp_archive_writer_save(writer, file, NULL), RP_OK);
    assert_int_equal(rp_file_commit(file, NULL), RP_OK);
    rp_archive_writer_free(writer);
    rp_archive_close(archive);
    rp_buffer_free(&body);
    text = diff("a.reprise", "extra.reprise", &same);
    assert_non_null(strstr(text, "member    outputs/extra.csv only in B"));
    rp_text_free(text);
    text = diff("extra.reprise", "a.reprise", &same);
    assert_non_null(strstr(text, "member    outputs/extra.csv only in A"));
    rp_text_free(text);
    archive = open_archive("extra.reprise");
    assert_int_equal(rp_replay(archive, NULL, &job, &err), RP_EBITS);
    assert_non_null(strstr(err.text, "outputs/extra.csv: in the archive, but not made by the replay"));
    rp_archive_close(archive);
}

static void diff_tells_which_archive_does_not_replay(void **state)
{
    bool same;
    char *text;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    forge("a.reprise", "forged.reprise", "run/journal.bin", 4 * RP_RECORD_SIZE + 80, 1);
    text = diff("a.reprise", "forged.reprise", &same);
    assert_non_null(strstr(text, "step      4 is the first that differs (its state)"));
    assert_non_null(strstr(text, "both compute the same bits here"));
    assert_non_null(strstr(text, "replay    B: this host computes other bits for step 4"));
    assert_null(strstr(text, "replay    A:"));
    rp_text_free(text);
}

/* ---- tables ---- */

/* The table of a.yaml with one text in another's place. */
static void table_says(const char *from, const char *to, const char *line)
{
    rp_buffer csv = {0}, made = {0};
    const char *at;
    char *text;
    bool same;

    assert_int_equal(rp_file_read(in_folder("table.csv"), 1 << 20, &csv, NULL), RP_OK);
    rp_buffer_u8(&csv, 0);
    at = strstr((const char *)csv.data, from);
    assert_non_null(at);
    rp_buffer_append(&made, csv.data, (size_t)(at - (const char *)csv.data));
    rp_buffer_text(&made, to);
    rp_buffer_text(&made, at + strlen(from));
    rp_buffer_u8(&made, 0);
    write_text("other.csv", (const char *)made.data);
    rp_buffer_free(&csv);
    rp_buffer_free(&made);
    train_with("other", "csv: table.csv", "csv: other.csv");
    text = diff("a.reprise", "other.reprise", &same);
    says(text, line);
    rp_text_free(text);
}

static void the_first_cell_that_differs_is_named(void **state)
{
    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    table_says("5.0,red", "5.5,red", "table     line 7, column \"x\": A \"5.0\", B \"5.5\"; 1 of 183 cells differs\n");
    table_says("5.0,red,yes", "5.0,\"r\ne,\"\"d\",no",
               "table     line 7, column \"colour\": A \"red\", B \"r\\ne,\\\"d\"; 2 of 183 cells differ\n");
    table_says("5.0,red,yes\n", "", "table     A has 61 rows, B 60\n");
    table_says(",green,no\n", "", "table     A has 61 rows, B 60, of which the first are the same\n");
    table_says("x,colour,y", "z,colour,y", "table     column 0: A \"x\", B \"z\"\n");
    table_says("5.0,red,yes\n", "\"5.0\",red,yes\n",
               "table     all cells are the same: the files differ in how they are written\n");
}

/* ---- programs ---- */

/* Of programs that do not compute the same thing nothing is computed. */
static void programs_that_are_not_alike_are_told_apart(void **state)
{
    static const struct {
        const char *from, *to, *line;
    } cases[] = {
        {"hidden: [5]", "hidden: [7]", "program   instruction 0, uniform, shape[1]: A 5, B 7\n"},
        {"hidden: [5]", "hidden: [5, 5]", "program   instruction 4, uniform, shape[1]: A 1, B 5\n"},
        {"activation: gelu", "activation: tanh", ", operation: A \"gelu\", B \"tanh\"\n"},
        {"dropout: 0.2, ", "", "is another input: A feed rng i64[2], B feed lr f32[]\n"},
        {"shards: 2", "shards: 4", "program   instruction "},
        {", clip_norm: 0.5", "", " instructions before are the same, then A has instruction "},
    };

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_archive *a, *b;
        rp_comparison *found;

        train_with("other", cases[i].from, cases[i].to);
        a = open_archive("a.reprise");
        b = open_archive("other.reprise");
        OK(rp_compare(a, b, NULL, &found, &err));
        says(found->text, cases[i].line);
        says(found->text, "value     not compared: ");
        assert_null(strstr(found->text, "element "));
        assert_int_equal(found->steps_recomputed, 0);
        rp_comparison_free(found);
        rp_archive_close(a);
        rp_archive_close(b);
    }
}

/* ---- one archive, computed in two ways ---- */

static void record_nested(const char *name, const float *x)
{
    static const rp_combine combine[] = {RP_COMBINE_TREE, RP_COMBINE_CONCAT};
    const size_t shape[] = {SHARDS, TIMES, WIDTH}, row[] = {WIDTH};
    rp_recorder *recorder;
    rp_run *run;

    OK(rp_run_new(&run, NULL, &err));
    OK(rp_run_add_data(run, "x", RP_F32, 3, shape, x, &err));
    OK(rp_run_add_state(run, "total", RP_F32, 1, row, NULL, &err));
    OK(rp_recorder_new(&recorder, run, &err));
    for (int i = 0; i < 3; i++) {
        rp_tensor out[2];

        OK(rp_step_begin(run, &err));
        if (i == 1)
            map_of_scans(rp_step_graph(run), rp_data(run, "x"), combine, 0, out);
        else
            out[0] = rp_state(run, "total");
        rp_set_state(run, "total", rp_add_scalar(out[0], i));
        OK(rp_step_end(run, &err));
    }
    OK(rp_recorder_save(recorder, in_folder(name), NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
}

static rp_comparison *compare_with(const char *name, const rp_job_options *options)
{
    rp_archive *archive = open_archive(name);
    rp_comparison *found;

    OK(rp_compare(archive, archive, options, &found, &err));
    rp_archive_close(archive);
    return found;
}

static const char *text_at(const rp_json *of, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(of, key));

    return text ? text : "(none)";
}

static int64_t number_at(const rp_json *of, const char *key)
{
    assert_true(rp_json_is_integer(rp_json_object_get(of, key)));
    return rp_json_integer_value(rp_json_object_get(of, key));
}

/* The same in JSON as in words. */
static void nested_json(const char *text)
{
    const rp_json *value, *made, *frames, *map, *scan;
    rp_json *json;

    OK(rp_json_parse(&json, text, strlen(text), true, "json", &err));
    assert_int_equal(number_at(json, "step"), 1);
    assert_true(rp_json_is_null(rp_json_object_get(json, "record")));
    assert_true(rp_json_is_null(rp_json_object_get(json, "program")));
    value = rp_json_object_get(json, "value");
    assert_string_equal(text_at(value, "dtype"), "f32");
    assert_string_equal(text_at(value, "units_apart"), "1048576");
    assert_int_equal(rp_json_integer_value(rp_json_array_get(rp_json_object_get(value, "element"), 0)), 2);
    assert_int_equal(rp_json_array_size(rp_json_object_get(value, "shape")), 1);
    assert_string_equal(text_at(rp_json_object_get(value, "a"), "bits"), "0x449c4000");
    assert_string_equal(text_at(rp_json_object_get(value, "a"), "value"), "1250");
    assert_string_equal(text_at(rp_json_object_get(value, "b"), "bits"), "0x448c4000");
    made = rp_json_object_get(value, "made_by");
    assert_string_equal(text_at(made, "place"), "0/3/2/37/0");
    assert_string_equal(text_at(made, "operation"), "cumsum");
    assert_int_equal(number_at(made, "instruction"), 0);
    assert_int_equal(number_at(made, "output"), 0);
    assert_true(rp_json_is_false(rp_json_object_get(made, "gathered")));
    frames = rp_json_object_get(made, "frames");
    assert_int_equal(rp_json_array_size(frames), 2);
    map = rp_json_array_get(frames, 0);
    scan = rp_json_array_get(frames, 1);
    assert_string_equal(text_at(map, "kind"), "map");
    assert_int_equal(number_at(map, "instruction"), 0);
    assert_int_equal(number_at(map, "number"), 3);
    assert_int_equal(number_at(rp_json_object_get(map, "function_a"), "number"), 1);
    assert_string_equal(text_at(scan, "kind"), "scan");
    assert_int_equal(number_at(scan, "instruction"), 2);
    assert_int_equal(number_at(scan, "number"), 37);
    assert_int_equal(number_at(rp_json_object_get(scan, "function_a"), "number"), 0);
    assert_int_equal(strlen(text_at(rp_json_object_get(scan, "function_b"), "sha256")), 64);
    rp_json_free(json);
}

static void a_wrong_kernel_is_found_in_iteration_37_of_shard_3(void **state)
{
    float *x = unmarked();
    rp_comparison *found;

    (void)state;
    x[(2 * TIMES + 37) * WIDTH] = MARK; /* shard 1 is empty */
    record_nested("nested.reprise", x);
    wrong.kernel = RP_K_cumsum;
    found = compare_with("nested.reprise", &(rp_job_options){.threads = 1, .level = "ref", .other_device = "wrong"});
    assert_false(found->same);
    says(found->text, "identical: same archive id\nlevels    A is computed at ref on cpu, B at ref on wrong\n"
                      "step      1 is the first that differs between the two\n"
                      "value     0/3/2/37/0 cumsum in f0#");
    says(found->text, ", output 0, f32[3]\nplace     instruction 0 of f0#");
    says(found->text, ", in iteration 37 of scan 2 in shard 3 of map 0\n"
                      "element   [2]: A 0x449c4000 (1250), B 0x448c4000 (1122), "
                      "1048576 units in the last place of f32 apart\n"
                      "replay    B: this host computes other bits for step 1 than its journal records\n");
    nested_json(found->json);
    rp_comparison_free(found);
}

static void levels_of_this_host_have_the_same_bits(void **state)
{
    const char *const *levels;
    const size_t n = rp_kernel_levels(&levels);
    rp_comparison *found;

    (void)state;
    record_nested("nested.reprise", unmarked());
    for (size_t i = 0; i < n; i++) {
        found = compare_with("nested.reprise", &(rp_job_options){.level = "ref", .other_level = levels[i]});
        assert_true(found->same);
        assert_string_equal(found->json, "null");
        says(found->text, "levels    both compute the same bits in all 3 steps\n");
        assert_int_equal(found->steps_recomputed, 6);
        rp_comparison_free(found);
    }
    found = compare_with("nested.reprise", &(rp_job_options){.level = "ref"});
    assert_int_equal(found->steps_recomputed, 0);
    rp_comparison_free(found);
}

static int setup_devices(void **state)
{
    return rp_device_register("wrong", wrong_open, &err) == RP_OK ? setup(state) : -1;
}

/* The first states are equal, but of another optimizer there are others. */
static void states_of_one_side_only_are_named(void **state)
{
    char *text;
    bool same;

    (void)state;
    train("a.yaml", "a.reprise", NULL, NULL);
    train_with("other", "clip_norm: 0.5", "clip_norm: 0.5, optimizer: {kind: sgd}");
    text = diff("a.reprise", "other.reprise", &same);
    says(text, "step      0 is the first that differs (its state)");
    says(text, " is a state of A only\nvalue     both compute the same bits in what they have in common\n");
    rp_text_free(text);
    text = diff("other.reprise", "a.reprise", &same);
    says(text, " is a state of B only\nvalue     both compute the same bits in what they have in common\n");
    rp_text_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diff_names_recipe_key_step_instruction_and_element),
        cmocka_unit_test(diff_of_equal_archives_says_identical),
        cmocka_unit_test(diff_names_members_of_one_side_only),
        cmocka_unit_test(diff_tells_which_archive_does_not_replay),
        cmocka_unit_test(a_wrong_kernel_is_found_in_iteration_37_of_shard_3),
        cmocka_unit_test(levels_of_this_host_have_the_same_bits),
        cmocka_unit_test(the_first_cell_that_differs_is_named),
        cmocka_unit_test(states_of_one_side_only_are_named),
        cmocka_unit_test(programs_that_are_not_alike_are_told_apart),
    };

    return cmocka_run_group_tests(tests, setup_devices, teardown);
}
