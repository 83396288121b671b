/* SPDX-License-Identifier: Apache-2.0
 * Reading a program takes time and memory in proportion to its text, whatever the text: shapes that name much with few
 * bytes, of about a megabyte each. RP_TIMES=1 prints nanoseconds a byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/program/program_text.h"

/* Nanoseconds of processor time a byte; measured are 4 to 110. Elsewhere than in optimized builds only the limits are
 * tested. */
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { BOUND = 1000 };
#else
enum { BOUND = 100000 };
#endif

static void put_list(rp_buffer *out, size_t n, size_t first, size_t step)
{
    rp_buffer_u8(out, '[');
    for (size_t i = 0; i < n; i++)
        rp_buffer_printf(out, i ? ",%zu" : "%zu", first + i * step);
    rp_buffer_u8(out, ']');
}

/* Function k: its constant times its first parameter, of `params` scalars. */
static void put_function(rp_buffer *out, size_t k, size_t params)
{
    rp_buffer_printf(
        out,
        "{\"instructions\":[[\"fill\",{\"dtype\":\"f32\",\"shape\":[],\"value\":\"%zu\"},[],[%zu]],[\"mul\","
        "{},[0,%zu],[%zu]]],\"outputs\":[%zu],\"parameters\":[",
        k, params, params, params + 1, params + 1);
    for (size_t i = 0; i < params; i++)
        rp_buffer_text(out, i ? ",[\"f32\",[]]" : "[\"f32\",[]]");
    rp_buffer_text(out, "]}");
}

static void put_end(rp_buffer *out)
{
    rp_buffer_text(out, "],\"outputs\":[[\"result\",\"y\",2]]}");
}

/* n functions of so many parameters, each a branch of each of so many conds. */
static rp_buffer many_branches(size_t n, size_t params, size_t conds)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, "{\"contract\":1,\"functions\":[");
    for (size_t k = 0; k < n; k++) {
        if (k)
            rp_buffer_u8(&text, ',');
        put_function(&text, k, params);
    }
    rp_buffer_text(&text,
                   "],\"inputs\":[[0,\"feed\",\"s\",\"i64\",[]],[1,\"feed\",\"x\",\"f32\",[]]],\"instructions\":[");
    for (size_t c = 0; c < conds; c++) {
        rp_buffer_text(&text, c ? ",[\"cond\",{\"functions\":" : "[\"cond\",{\"functions\":");
        put_list(&text, n, 0, 1);
        rp_buffer_text(&text, "},[0");
        for (size_t i = 0; i < params; i++)
            rp_buffer_text(&text, ",1");
        rp_buffer_printf(&text, "],[%zu]]", 2 + c);
    }
    put_end(&text);
    return text;
}

/* n functions, one for each length of a shard, all in each of so many maps, which share `params` operands. */
static rp_buffer many_lengths(size_t n, size_t params, size_t maps)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, "{\"contract\":1,\"functions\":[");
    for (size_t k = 1; k <= n; k++) {
        rp_buffer_printf(&text,
                         "%s{\"instructions\":[[\"sum\",{\"axes\":[0]},[1],[%zu]]],\"outputs\":[%zu],\"parameters\":[",
                         k > 1 ? "," : "", params + 2, params + 2);
        rp_buffer_printf(&text, "[\"i64\",[]],[\"f32\",[%zu]]", k);
        for (size_t i = 0; i < params; i++)
            rp_buffer_text(&text, ",[\"f32\",[]]");
        rp_buffer_text(&text, "]}");
    }
    rp_buffer_printf(&text,
                     "],\"inputs\":[[0,\"feed\",\"x\",\"f32\",[%zu]],[1,\"feed\",\"w\",\"f32\",[]]],\"instructions\":[",
                     n * (n + 1) / 2);
    for (size_t m = 0; m < maps; m++) {
        rp_buffer_text(&text, m ? ",[\"map\",{\"combine\":[\"tree\"],\"cuts\":[0"
                                : "[\"map\",{\"combine\":[\"tree\"],\"cuts\":[0");
        for (size_t k = 1; k <= n; k++)
            rp_buffer_printf(&text, ",%zu", k * (k + 1) / 2);
        rp_buffer_text(&text, "],\"first\":0,\"functions\":");
        put_list(&text, n, 0, 1);
        rp_buffer_text(&text, ",\"sliced\":1},[0");
        for (size_t i = 0; i < params; i++)
            rp_buffer_text(&text, ",1");
        rp_buffer_printf(&text, "],[%zu]]", 2 + m);
    }
    put_end(&text);
    return text;
}

/* Maps of many shards over nothing. */
static rp_buffer many_cuts(size_t shards, size_t maps)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, "{\"contract\":1,\"functions\":[{\"instructions\":[[\"neg\",{},[1],[2]]],\"outputs\":[2],"
                          "\"parameters\":[[\"i64\",[]],[\"f32\",[]]]}],\"inputs\":[[0,\"feed\",\"x\",\"f32\",[]]],"
                          "\"instructions\":[");
    for (size_t m = 0; m < maps; m++) {
        rp_buffer_text(&text, m ? ",[\"map\",{\"combine\":[\"tree\"],\"cuts\":"
                                : "[\"map\",{\"combine\":[\"tree\"],\"cuts\":");
        put_list(&text, shards + 1, 0, 1);
        rp_buffer_printf(&text, ",\"first\":0,\"functions\":[0],\"sliced\":0},[0],[%zu]]", 1 + m);
    }
    put_end(&text);
    return text;
}

/* A function of many outputs, called often. */
static rp_buffer many_outputs(size_t outputs, size_t calls)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, "{\"contract\":1,\"functions\":[{\"instructions\":[");
    for (size_t i = 0; i < outputs; i++)
        rp_buffer_printf(&text, "%s[\"neg\",{},[%zu],[%zu]]", i ? "," : "", i, i + 1);
    rp_buffer_text(&text, "],\"outputs\":");
    put_list(&text, outputs, 1, 1);
    rp_buffer_text(&text,
                   ",\"parameters\":[[\"f32\",[]]]}],\"inputs\":[[0,\"feed\",\"x\",\"f32\",[]]],\"instructions\":[");
    for (size_t c = 0; c < calls; c++) {
        rp_buffer_text(&text, c ? ",[\"call\",{\"function\":0},[0]," : "[\"call\",{\"function\":0},[0],");
        put_list(&text, outputs, 1 + c * outputs, 1);
        rp_buffer_u8(&text, ']');
    }
    put_end(&text);
    return text;
}

/* States that exchange their values, and operands without end. */
static rp_buffer many_states(size_t n)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, "{\"contract\":1,\"inputs\":[");
    for (size_t i = 0; i < n; i++)
        rp_buffer_printf(&text, "%s[%zu,\"state\",\"s%zu\",\"f32\",[1]]", i ? "," : "", i, i);
    rp_buffer_text(&text, "],\"instructions\":[[\"concat\",{\"axis\":0},");
    put_list(&text, n, 0, 1);
    rp_buffer_printf(&text, ",[%zu]]],\"outputs\":[", n);
    for (size_t i = 0; i < n; i++)
        rp_buffer_printf(&text, "%s[\"state\",\"s%zu\",%zu]", i ? "," : "", i, n - 1 - i);
    rp_buffer_text(&text, "]}");
    return text;
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(rp_buffer text, const char *what)
{
    double best = 1e9, begin, took;

    for (int again = 0; again < 3 && (again == 0 || best * 1e9 > BOUND * (double)text.size); again++) {
        rp_program *p;
        rp_error err;

        begin = seconds();
        if (rp_program_parse(&p, text.data, text.size, what, &err) != RP_OK)
            fail_msg("%s", err.text);
        (void)rp_program_price(p);
        took = seconds() - begin;
        best = took < best ? took : best;
        rp_program_free(p);
    }
    if (getenv("RP_TIMES"))
        print_message("%-14s %8zu bytes %6.1f ns a byte\n", what, text.size, best * 1e9 / (double)text.size);
    if (best * 1e9 > BOUND * (double)text.size)
        fail_msg("%s: %zu bytes took %.2f s", what, text.size, best);
    rp_buffer_free(&text);
}

static void reading_takes_time_in_proportion_to_the_text(void **state)
{
    (void)state;
    check(many_branches(700, 2, 300), "branches");
    check(many_branches(256, 100, 600), "parameters");
    check(many_lengths(256, 100, 300), "lengths");
    check(many_cuts(60000, 3), "cuts");
    check(many_outputs(20000, 8), "outputs");
    check(many_states(30000), "states");
}

/* What would take more is refused as soon as it is met. */
static void functions_named_too_often_are_refused(void **state)
{
    rp_buffer text[2] = {many_branches(256, 254, 300), many_lengths(256, 254, 300)};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_program *p;
        rp_error err;

        assert_int_equal(rp_program_parse(&p, text[i].data, text[i].size, "text", &err), RP_EFORMAT);
        if (!strstr(err.text, "with it, regions have more than 16777216 operands and values"))
            fail_msg("%s", err.text);
        rp_buffer_free(&text[i]);
    }
}

/* One limit on tensors, whatever their type and wherever they come from. */
static void tensors_have_at_most_so_many_elements(void **state)
{
    static const struct {
        const char *length;
        bool fine;
    } tried[] = {{"1099511627776", true},    {"1099511627777", false},    {"1099511627776,0", true},
                 {"1099511627777,0", false}, {"1048576,0,1048576", true}, {"1048576,0,1048577", false}};
    static const char *const dtypes[] = {"f64", "bool"};

    (void)state;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        for (int k = 0; k < 4; k++) {
            rp_buffer text = {0};
            rp_program *p;
            rp_status status;

            rp_buffer_text(&text, "{\"contract\":1,\"inputs\":[");
            if (k < 2)
                rp_buffer_printf(&text, "[0,\"feed\",\"x\",\"%s\",[%s]]],\"instructions\":[],\"outputs\":[]}",
                                 dtypes[k], tried[i].length);
            else
                rp_buffer_printf(
                    &text,
                    "],\"instructions\":[[\"fill\",{\"dtype\":\"%s\",\"shape\":[%s],\"value\":\"0\"},[],[0]]],"
                    "\"outputs\":[]}",
                    dtypes[k - 2], tried[i].length);
            status = rp_program_parse(&p, text.data, text.size, "text", NULL);
            if (status != (tried[i].fine ? RP_OK : RP_EFORMAT))
                fail_msg("%.*s", (int)text.size, (const char *)text.data);
            rp_program_free(p);
            rp_buffer_free(&text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_takes_time_in_proportion_to_the_text),
        cmocka_unit_test(functions_named_too_often_are_refused),
        cmocka_unit_test(tensors_have_at_most_so_many_elements),
    };

    return cmocka_run_group_tests_name("time of reading programs", tests, NULL, NULL);
}
