/* SPDX-License-Identifier: Apache-2.0
 * The door of the Python package that a run says it came through: rp_archive_door, and the report's words. Given a
 * file's name, the program writes such a run there and tests nothing (tests/cli/cli_test.sh). */
#include <inttypes.h>
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

/* A text may hold anything of the run inside of its values: names of checks and parameters, lists of graphs. */
static void only_the_text_s_own_keys_count(void **state)
{
    (void)state;
    expect("origin.json", RP_U8,
           "{\"checks\":{\"framework\":\"jax\",\"version\":\"9\"},\"framework\":\"torch\",\"version\":\"2.15\"}",
           "PyTorch", "2.15");
    expect("origin.json", RP_U8, "{\"a\":[[{\"framework\":\"jax\"}],\"}]{\\\"\"],\"framework\":\"torch\"}", "PyTorch",
           "");
    expect("origin.json", RP_U8, "{\"checks\":{\"framework\":\"torch\"}}", "", "");
    expect("origin.json", RP_U8, "[{\"framework\":\"torch\"}]", "", "");
    expect("origin.json", RP_U8, "{\"a\":{\"version\":\"9\"},\"framework\":\"torch\"}", "PyTorch", "");
    expect("origin.json", RP_U8,
           "{\"framework\":\"jax\",\"jax\":\"9\",\"versions\":{\"a\":{\"jax\":\"8\"},\"jax\":\"0.10.2\"}}", "JAX",
           "0.10.2");
    expect("origin.json", RP_U8, "{\"framework\":\"keras\",\"versions\":\"keras\"}", "Keras", "");
    expect("origin.json", RP_U8, "{}{\"framework\":\"torch\"}", "", "");
    expect("origin.json", RP_U8, "{\"a\":\"\\", "", "");
    expect("origin.json", RP_U8, "}{\"framework\":\"torch\"}", "", "");
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

/* A run whose first states are a file of these bytes, its hashes right. */
static void expect_of_file(const char *header, uint64_t length, const char *data, const char *door)
{
    rp_json *made = rp_json_pack("{s:i}", "steps", 1);
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_buffer file = {0}, bytes = {0};
    unsigned char size[8];
    rp_door found;

    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)(length >> 8 * i);
    rp_buffer_append(&file, size, sizeof size);
    rp_buffer_text(&file, header);
    rp_buffer_text(&file, data);
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    assert_ok(rp_archive_writer_add(writer, RP_INIT_MEMBER, file.data, file.size, &err));
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, made, &err));
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "file", &err));
    assert_ok(rp_archive_door(archive, &found, &err));
    if (strcmp(found.name, door) != 0)
        fail_msg("%s, %" PRIu64 " bytes of header: \"%s\"", header, length, found.name);
    rp_archive_close(archive);
    rp_archive_writer_free(writer);
    rp_buffer_free(&file);
    rp_buffer_free(&bytes);
    rp_json_free(made);
}

/* Of a text of so many bytes, in a file's header; begin and end: where it says that they are. */
static void expect_of_places(const char *begin, const char *end, const char *door)
{
    char header[256];

    (void)snprintf(header, sizeof header,
                   "{\"origin.json\":{\"dtype\":\"U8\",\"shape\":[21],\"data_offsets\":[%s,%s]}}", begin, end);
    expect_of_file(header, strlen(header), "{\"framework\":\"torch\"}", door);
}

static void a_forged_file_names_none(void **state)
{
    static const char whole[] = "{\"origin.json\":{\"dtype\":\"U8\",\"shape\":[21],\"data_offsets\":[0,21]}}";
    static const char *const headers[] = {"[]",
                                          "{\"origin.json\":7}",
                                          "{\"origin.json\":{\"dtype\":\"U8\"}}",
                                          "{\"origin.json\":{\"dtype\":\"U8\",\"data_offsets\":{}}}",
                                          "{\"origin.json\":{\"dtype\":\"U8\",\"data_offsets\":[0]}}",
                                          "{\"origin.json\":{\"dtype\":8,\"data_offsets\":[0,21]}}",
                                          "{\"origin.json\":{\"data_offsets\":[0,21]}}",
                                          "{\"origin.json\":"};
    static const uint64_t lengths[] = {0, sizeof whole, 1 << 20, UINT64_C(1) << 40, UINT64_MAX, UINT64_MAX - 7};

    (void)state;
    expect_of_places("0", "21", "PyTorch");
    expect_of_places("0", "22", "");
    expect_of_places("0", "20", "PyTorch"); /* the words are there, whole */
    expect_of_places("1", "0", "");
    expect_of_places("5", "5", "");
    expect_of_places("-1", "21", "");
    expect_of_places("0", "1048577", "");
    expect_of_places("9223372036854775807", "9223372036854775807", "");
    expect_of_places("-9223372036854775807", "9223372036854775807", "");
    expect_of_places("0", "9223372036854775808", "");
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        expect_of_file(headers[i], strlen(headers[i]), "{\"framework\":\"torch\"}", "");
    expect_of_file(whole, sizeof whole - 1, "{\"framework\":\"torch\"}", "PyTorch");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        expect_of_file(whole, lengths[i], "{\"framework\":\"torch\"}", "");
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
        cmocka_unit_test(only_the_text_s_own_keys_count),
        cmocka_unit_test(what_has_another_form_names_none),
        cmocka_unit_test(a_forged_file_names_none),
        cmocka_unit_test(there_is_no_door_without_an_archive),
        cmocka_unit_test(a_report_names_it),
    };

    if (argc > 1) {
        run(argv[1], "origin.json", RP_U8, TORCH);
        return 0;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
