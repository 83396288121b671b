/* SPDX-License-Identifier: Apache-2.0
 * The identity of a pinned run in a manifest: its form, that it goes with the profile, and how two of them differ. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "audit/archive/manifest.h"
#include "audit/profile/identity.h"
#include "base/memory.h"
#include "rp/error.h"

#define HEX64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define NAME72 HEX64 "00112233" /* of an algorithm */
#define CHIP "\"chip\":{\"capability\":\"9.0\",\"multiprocessors\":132,\"name\":\"A chip\"},"
#define DRIVER "\"driver\":{\"name\":\"cuda\",\"sha256\":\"" HEX64 "\",\"version\":13000},"
#define LIBRARY "\"library\":{\"name\":\"cublasLt\",\"sha256\":\"" HEX64 "\",\"version\":130100},"
#define PRODUCT(n) "{\"algorithm\":\"" NAME72 "\",\"batch\":1,\"k\":2,\"m\":3,\"n\":" n "}"
#define PINNED(chip, compute, environment, products, workspace) \
    "{" chip "\"compute\":\"" compute "\"," DRIVER "\"environment\":" environment "," LIBRARY \
    "\"products\":[" products "],\"workspace\":" workspace "}"
#define GOOD PINNED(CHIP, "f32", "{}", PRODUCT("4"), "1024")

static rp_error err;

static rp_json *parsed(const char *text)
{
    rp_json *json;

    if (rp_json_parse(&json, text, strlen(text), true, "test", &err) != RP_OK)
        fail_msg("%s", err.text);
    return json;
}

static rp_status checked(const char *text)
{
    rp_json *json = parsed(text);
    const rp_status status = rp_pinned_check(json, &err);

    rp_json_free(json);
    return status;
}

static void a_pinned_run_says_what_it_is_pinned_to(void **state)
{
    static const char *const good[] = {
        GOOD,
        PINNED(CHIP, "bf16", "{\"CUBLAS_WORKSPACE_CONFIG\":\":16:8\"}", "", "1"),
        PINNED(CHIP, "f64", "{}", PRODUCT("4") "," PRODUCT("5"), "1073741824"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (checked(good[i]) != RP_OK)
            fail_msg("%s", err.text);
}

static void and_nothing_else(void **state)
{
    static const struct {
        const char *text, *told;
    } bad[] = {
        {"[]", "expected an object"},
        {"{}", "chip.capability"},
        {PINNED("", "f32", "{}", "", "1"), "chip.capability"},
        {PINNED("\"chip\":{\"capability\":\"9.0\",\"multiprocessors\":0,\"name\":\"A\"},", "f32", "{}", "", "1"),
         "chip.multiprocessors"},
        {PINNED("\"chip\":{\"capability\":\"9.0\",\"more\":1,\"multiprocessors\":1,\"name\":\"A\"},", "f32", "{}", "",
                "1"),
         "other keys"},
        {PINNED("\"chip\":{\"capability\":\"9.0\",\"multiprocessors\":1,\"name\":\"A\\nB\"},", "f32", "{}", "", "1"),
         "chip.name"},
        {PINNED("\"chip\":{\"capability\":\"9.0\",\"multiprocessors\":1,\"name\":\"\"},", "f32", "{}", "", "1"),
         "chip.name"},
        {PINNED("\"a\":1," CHIP, "f32", "{}", "", "1"), "other keys"},
        {PINNED(CHIP, "f16", "{}", "", "1"), "compute"},
        {PINNED(CHIP, "f32", "{}", "", "0"), "workspace"},
        {PINNED(CHIP, "f32", "{}", "", "1073741825"), "workspace"},
        {PINNED(CHIP, "f32", "{\"LD_PRELOAD\":\"a\"}", "", "1"), "environment"},
        {PINNED(CHIP, "f32", "[]", "", "1"), "environment"},
        {PINNED(CHIP, "f32", "{\"CUBLAS_WORKSPACE_CONFIG\":\"\"}", "", "1"), "environment"},
        {PINNED(CHIP, "f32", "{}", PRODUCT("4") "," PRODUCT("4"), "1"), "products[1]: doubled"},
        {PINNED(CHIP, "f32", "{}", PRODUCT("4") "," PRODUCT("3"), "1"), "products[1]: doubled"},
        {PINNED(CHIP, "f32", "{}", PRODUCT("0"), "1"), "products[0].n"},
        {PINNED(CHIP, "f32", "{}", PRODUCT("2147483648"), "1"), "products[0].n"},
        {PINNED(CHIP, "f32", "{}", PRODUCT("\"4\""), "1"), "products[0].n"},
        {PINNED(CHIP, "f32", "{}", "1", "1"), "products[0].batch"},
        {PINNED(CHIP, "f32", "{}", "{\"algorithm\":\"" HEX64 "\",\"batch\":1,\"k\":1,\"m\":1,\"n\":1}", "1"),
         "algorithm"},
        {PINNED(CHIP, "f32", "{}", "{\"algorithm\":\"" NAME72 "\",\"batch\":1,\"k\":1,\"m\":1,\"n\":1,\"o\":1}", "1"),
         "algorithm"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (checked(bad[i].text) != RP_EFORMAT)
            fail_msg("accepted: %s", bad[i].text);
        if (strstr(err.text, bad[i].told) == NULL)
            fail_msg("expected \"%s\", found \"%s\"", bad[i].told, err.text);
    }
}

/* ---- of the runs before ---- */

#define LINE(more) \
    "{\"archive_id\":\"" HEX64 "\"," CHIP DRIVER "\"library\":{\"name\":\"cublasLt\",\"sha256\":\"" HEX64 \
    "\",\"version\":130100}" more "}"

static void a_line_has_the_form_of_what_it_is_taken_from(void **state)
{
    static const struct {
        const char *text, *told;
    } bad[] = {
        {"[]", "run.parent.pinned: expected an object with archive_id"},
        {"{\"archive_id\":\"" HEX64 "\"}", "run.parent.pinned.chip.capability"},
        {LINE(",\"more\":1"), "run.parent.pinned: has other keys"},
        {"{\"archive_id\":\"01\"," CHIP DRIVER "\"library\":{}}", "expected an object with archive_id"},
        {"{\"archive_id\":\"" HEX64 "\"," CHIP DRIVER "\"library\":{}}", "run.parent.pinned.library.name"},
    };
    rp_json *json = parsed(LINE(""));

    (void)state;
    assert_int_equal(rp_pinned_line_check(json, &err), RP_OK);
    rp_json_free(json);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json = parsed(bad[i].text);
        assert_int_equal(rp_pinned_line_check(json, &err), RP_EFORMAT);
        if (strstr(err.text, bad[i].told) == NULL)
            fail_msg("expected \"%s\", found \"%s\"", bad[i].told, err.text);
        rp_json_free(json);
    }
}

/* The nearest pinned run is what counts, and a child's word of it is held against its parent's. */
static void a_line_is_that_of_the_nearest_pinned_run(void **state)
{
    rp_json *none = parsed("{}"), *pinned = parsed("{\"pinned\":" GOOD "}"),
            *child = parsed("{\"parent\":{\"pinned\":" LINE("") "}}"), *line;

    (void)state;
    assert_int_equal(rp_pinned_line(&line, none, HEX64, &err), RP_OK);
    assert_null(line);
    assert_int_equal(rp_pinned_line_confirm(NULL, none, HEX64, &err), RP_OK);
    assert_int_equal(rp_pinned_line(&line, pinned, HEX64, &err), RP_OK);
    assert_int_equal(rp_pinned_line_check(line, &err), RP_OK);
    assert_int_equal(rp_pinned_line_confirm(line, pinned, HEX64, &err), RP_OK);
    assert_int_equal(rp_pinned_line_confirm(NULL, pinned, HEX64, &err), RP_EHASH);
    assert_non_null(strstr(err.text, "recorded nothing, the parent's archive says cublasLt 130100 on A chip"));
    assert_int_equal(rp_pinned_line_confirm(line, none, HEX64, &err), RP_EHASH);
    rp_json_free(line);
    assert_int_equal(rp_pinned_line(&line, child, "another id", &err), RP_OK);
    assert_true(rp_json_equal(line, rp_json_object_get(rp_json_object_get(child, "parent"), "pinned")));
    rp_json_free(line);
    rp_json_free(none);
    rp_json_free(pinned);
    rp_json_free(child);
}

/* ---- with the manifest ---- */

static rp_status manifest(const char *profile, const char *run, bool *pinned)
{
    rp_buffer text = {0};
    rp_manifest *made;
    rp_status status;

    rp_buffer_printf(&text,
                     "{\"contract\":1,\"format\":1,\"kind\":\"api\",\"members\":[],\"profile\":\"%s\",\"run\":{%s}}",
                     profile, run);
    status = rp_manifest_parse(&made, text.data, text.size, &err);
    if (status == RP_OK)
        *pinned = made->pinned;
    rp_manifest_free(made);
    rp_buffer_free(&text);
    return status;
}

static void neither_profile_nor_identity_can_be_dropped(void **state)
{
    bool pinned;

    (void)state;
    assert_int_equal(manifest("portable", "", &pinned), RP_OK);
    assert_false(pinned);
    assert_int_equal(manifest("pinned", "\"pinned\":" GOOD, &pinned), RP_OK);
    assert_true(pinned);
    assert_int_equal(manifest("pinned", "", &pinned), RP_EFORMAT);
    assert_int_equal(manifest("portable", "\"pinned\":" GOOD, &pinned), RP_EFORMAT);
    assert_int_equal(manifest("pinned", "\"pinned\":{}", &pinned), RP_EFORMAT);
    assert_int_equal(manifest("fixed", "", &pinned), RP_EUNSUPPORTED);
    assert_int_equal(manifest("portable", "\"parent\":{\"archive_id\":\"" HEX64 "\",\"pinned\":" LINE("") "}", &pinned),
                     RP_OK);
    assert_false(pinned);
    assert_int_equal(manifest("portable", "\"parent\":{\"archive_id\":\"" HEX64 "\",\"pinned\":{}}", &pinned),
                     RP_EFORMAT);
}

static void a_manifest_is_pinned_where_its_run_is(void **state)
{
    static const char *const runs[] = {"{}", "{\"pinned\":" GOOD "}"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rp_buffer text = {0};
        rp_manifest *made;
        rp_json *run = parsed(runs[i]);

        assert_int_equal(rp_manifest_write(&text, RP_RUN_API, run, NULL, 0, NULL, 0, &err), RP_OK);
        assert_int_equal(rp_manifest_parse(&made, text.data, text.size, &err), RP_OK);
        assert_int_equal(made->pinned, i == 1);
        rp_manifest_free(made);
        rp_json_free(run);
        rp_buffer_free(&text);
    }
}

static void differences_are_told_one_by_one(void **state)
{
    static const struct {
        const char *other, *told;
        size_t count;
    } cases[] = {
        {GOOD, "", 0},
        {PINNED(CHIP, "f32", "{}", "", "1024"), "", 0}, /* products are looked at one by one */
        {PINNED(CHIP, "tf32", "{}", PRODUCT("4"), "1024"), "compute: recorded f32, here tf32", 1},
        {PINNED("\"chip\":{\"capability\":\"9.0\",\"multiprocessors\":114,\"name\":\"Another\"},", "f32",
                "{\"CUBLAS_WORKSPACE_CONFIG\":\":16:8\"}", "", "1024"),
         "chip.multiprocessors: recorded 132, here 114; chip.name: recorded A chip, here Another; "
         "environment.CUBLAS_WORKSPACE_CONFIG: recorded not set, here :16:8",
         3},
    };
    rp_json *recorded = parsed(GOOD);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_buffer text = {0};
        rp_host_table table;
        rp_json *here = parsed(cases[i].other);

        rp_pinned_table(&table, recorded, here);
        assert_int_equal(table.count, cases[i].count);
        rp_pinned_table_words(&text, &table);
        rp_buffer_u8(&text, 0);
        assert_string_equal((const char *)text.data, cases[i].told);
        rp_buffer_free(&text);
        rp_json_free(here);
    }
    rp_json_free(recorded);
}

/* What a CPU has of a pinned run's host is nothing; what the run asks for itself is no difference. */
static void where_there_is_no_library_every_row_says_none(void **state)
{
    static const char *const what[] = {"chip.capability", "chip.multiprocessors", "chip.name",
                                       "driver.name",     "driver.sha256",        "driver.version",
                                       "library.name",    "library.sha256",       "library.version"};
    rp_json *recorded = parsed(GOOD);
    rp_host_table table;

    (void)state;
    rp_pinned_table(&table, recorded, NULL);
    assert_int_equal(table.count, sizeof what / sizeof *what);
    for (size_t i = 0; i < table.count; i++) {
        assert_string_equal(table.row[i].what, what[i]);
        assert_string_equal(table.row[i].here, "none");
        assert_true(table.row[i].recorded[0] != '\0');
    }
    assert_string_equal(table.row[1].recorded, "132");
    assert_string_equal(table.row[2].recorded, "A chip");
    assert_int_equal(strlen(table.row[4].recorded), 15);
    rp_json_free(recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pinned_run_says_what_it_is_pinned_to),
        cmocka_unit_test(and_nothing_else),
        cmocka_unit_test(a_line_has_the_form_of_what_it_is_taken_from),
        cmocka_unit_test(a_line_is_that_of_the_nearest_pinned_run),
        cmocka_unit_test(neither_profile_nor_identity_can_be_dropped),
        cmocka_unit_test(a_manifest_is_pinned_where_its_run_is),
        cmocka_unit_test(differences_are_told_one_by_one),
        cmocka_unit_test(where_there_is_no_library_every_row_says_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
