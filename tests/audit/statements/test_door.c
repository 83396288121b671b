/* SPDX-License-Identifier: Apache-2.0
 * The door of the Python package that a run says it came through: rp_archive_door, and the report's words. Given a
 * file's name, the program writes such a run there and tests nothing (tests/cli/cli_test.sh). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/record/recorder.h"
#include "rp/rp.h"
#include "tests/audit/archive/archive_sample.h"

/* As the package writes it: reals, which the archive's own JSON does not have, and quotes inside of texts. */
#define TORCH \
    "{\"checks\":{\"3\":\"x, \\\"framework\\\":\\\"jax\\\"\"},\"framework\":\"torch\",\"gradients\":{" \
    "\"difference\":1.2e-07},\"version\":\"2.15.0+cpu\"}"

static size_t more; /* states besides, for those of a run whose first states are several parts */
static char folder[] = "/tmp/reprise-test-XXXXXX", path[128];
static rp_error err;

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/run.reprise", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

/* One step of a state "w"; the text, as elements of that type, is the state `name`. */
static void run(const char *to, const char *name, rp_dtype dtype, const char *text)
{
    const size_t length = text ? strlen(text) / rp_dtype_size(dtype) : 0;
    rp_run_options options = {.threads = 1};
    rp_recorder *recorder;
    rp_run *made;

    assert_ok(rp_run_new(&made, &options, &err));
    assert_ok(rp_run_add_state(made, "w", RP_F32, 0, NULL, NULL, &err));
    for (size_t i = 0; i < more; i++) {
        char other[32];

        (void)snprintf(other, sizeof other, "a%05zu", i);
        assert_ok(rp_run_add_state(made, other, RP_F32, 0, NULL, NULL, &err));
    }
    if (text)
        assert_ok(rp_run_add_state(made, name, dtype, 1, &length, text, &err));
    assert_ok(rp_recorder_new(&recorder, made, &err));
    assert_ok(rp_step_begin(made, &err));
    rp_result(made, "loss", rp_add(rp_state(made, "w"), rp_state(made, "w")));
    assert_ok(rp_step_end(made, &err));
    assert_ok(rp_recorder_save(recorder, to, NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(made);
}

static void expect(const char *name, rp_dtype dtype, const char *text, const char *door, const char *version)
{
    rp_archive *archive;
    rp_door found;

    run(path, name, dtype, text);
    assert_ok(rp_archive_open(&archive, path, &err));
    assert_ok(rp_archive_door(archive, &found, &err));
    assert_string_equal(found.name, door);
    assert_string_equal(found.version, version);
    rp_archive_close(archive);
}

static void a_door_is_named_with_its_framework_s_version(void **state)
{
    (void)state;
    expect("origin.json", RP_U8, TORCH, "PyTorch", "2.15.0+cpu");
    expect("origin.json", RP_U8, "{\"framework\":\"jax\",\"versions\":{\"flax\":\"0.12\",\"jax\":\"0.10.2\"}}", "JAX",
           "0.10.2");
    expect("origin.json", RP_U8, "{\"framework\":\"keras\",\"versions\":{\"jax\":\"0.10.2\",\"keras\":\"3.15.1\"}}",
           "Keras", "3.15.1");
    expect("origin.json", RP_U8, "{\"framework\":\"torch\"}", "PyTorch", "");
}

static void it_is_found_in_any_part_of_the_first_states(void **state)
{
    (void)state;
    more = 5000; /* RP_PART_TENSORS and some */
    expect("origin.json", RP_U8, TORCH, "PyTorch", "2.15.0+cpu");
    more = 0;
}

static void what_has_another_form_names_none(void **state)
{
    char deep[4096];

    (void)state;
    expect("origin.json", RP_U8, NULL, "", "");
    expect("origin.txt", RP_U8, TORCH, "", "");
    expect("origin.json", RP_I8, TORCH, "", "");
    expect("origin.json", RP_U8, "{\"framework\":\"other\",\"version\":\"1\"}", "", "");
    expect("origin.json", RP_U8, "{\"framework\":\"torch<b>\",\"version\":\"1\"}", "", "");
    expect("origin.json", RP_U8, "{\"framework\":\"torch", "", "");
    expect("origin.json", RP_U8, "{\"framework\":\"torch\",\"version\":\"<b>\"}", "PyTorch", "");
    (void)snprintf(deep, sizeof deep, "{\"framework\":\"torch\",\"version\":\"%0200d\"}", 1);
    expect("origin.json", RP_U8, deep, "PyTorch", "");
}

static void there_is_no_door_without_an_archive(void **state)
{
    rp_door found;

    (void)state;
    memset(&found, 1, sizeof found);
    assert_int_equal(rp_archive_door(NULL, &found, &err), RP_EARG);
    assert_string_equal(found.name, "");
    assert_string_equal(found.version, "");
}

static void a_report_names_it(void **state)
{
    const char *const words[] = {"A run of the PyTorch door.</strong>",
                                 "Its programs came of a model of PyTorch 2.15.0+cpu, by its own word. ",
                                 "a run of the PyTorch door, which it says it is, has no recipe"};
    rp_archive *archive;
    char *page;
    size_t length;

    (void)state;
    run(path, "origin.json", RP_U8, TORCH);
    assert_ok(rp_archive_open(&archive, path, &err));
    assert_ok(rp_report(archive, NULL, NULL, &page, &length, &err));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_non_null(strstr(page, words[i]));
    assert_null(strstr(page, "C API"));
    rp_text_free(page);
    rp_archive_close(archive);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_door_is_named_with_its_framework_s_version),
        cmocka_unit_test(it_is_found_in_any_part_of_the_first_states),
        cmocka_unit_test(what_has_another_form_names_none),
        cmocka_unit_test(there_is_no_door_without_an_archive),
        cmocka_unit_test(a_report_names_it),
    };

    if (argc > 1) {
        run(argv[1], "origin.json", RP_U8, TORCH);
        return 0;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
