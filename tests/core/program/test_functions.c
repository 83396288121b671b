/* SPDX-License-Identifier: Apache-2.0
 * Functions and regions as text: one program has one text however it was built, every other spelling is refused, and
 * what a text would cost is known before anything of it runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/program/graph.h"
#include "core/program/function.h"
#include "rp/program.h"
#include "tests/house/sanitized.h"

/* ---- reading texts ---- */

static rp_status read_text(const char *text, rp_program **p, rp_error *err)
{
    return rp_program_parse(p, text, strlen(text), "p.json", err);
}

static void assert_accepted(const char *text)
{
    rp_program *p, *copy;
    rp_buffer again = {0};
    rp_error err = {0};

    if (read_text(text, &p, &err) != RP_OK)
        fail_msg("%s\n%s", err.text, text);
    copy = rp_program_copy(p);
    assert_non_null(copy);
    rp_program_free(p); /* functions live as long as someone holds them */
    assert_int_equal(rp_program_write(copy, &again, NULL), RP_OK);
    assert_int_equal(again.size, strlen(text));
    assert_memory_equal(again.data, text, again.size);
    rp_buffer_free(&again);
    rp_program_free(copy);
}

static void assert_refused(const char *text, const char *why)
{
    rp_program *p;
    rp_error err = {0};

    if (read_text(text, &p, &err) == RP_OK)
        fail_msg("accepted, expected %s:\n%s", why, text);
    if (!strstr(err.text, why))
        fail_msg("refused with '%s', expected '%s':\n%s", err.text, why, text);
}

#define NEG "{\"instructions\":[[\"neg\",{},[0],[1]]],\"outputs\":[1],\"parameters\":[[\"f32\",[2]]]}"
#define EXP "{\"instructions\":[[\"exp\",{},[0],[1]]],\"outputs\":[1],\"parameters\":[[\"f32\",[2]]]}"
#define CALL(f, in, out) "[\"call\",{\"function\":" #f "},[" #in "],[" #out "]]"
#define INPUT "[[0,\"feed\",\"x\",\"f32\",[2]]]"
#define PROGRAM(functions, instructions, y) \
    "{\"contract\":1,\"functions\":[" functions "],\"inputs\":" INPUT ",\"instructions\":[" instructions \
    "],\"outputs\":[[\"result\",\"y\"," #y "]]}"

static void functions_have_one_text(void **state)
{
    (void)state;
    assert_accepted(PROGRAM(NEG, CALL(0, 0, 1), 1));
    assert_accepted(PROGRAM(NEG "," EXP, CALL(0, 0, 1) "," CALL(1, 1, 2) "," CALL(0, 2, 3), 3));
    assert_accepted("{\"contract\":1,\"inputs\":" INPUT ",\"instructions\":[[\"neg\",{},[0],[1]]],\"outputs\":"
                    "[[\"result\",\"y\",1]]}");
}

static void other_spellings_are_refused(void **state)
{
    static const char *const place = "is not where the walk", *const key = "attribute function";

    (void)state;
    assert_refused(PROGRAM(EXP "," NEG, CALL(1, 0, 1) "," CALL(0, 1, 2), 2), place); /* reordered */
    assert_refused(PROGRAM(NEG "," NEG, CALL(0, 0, 1) "," CALL(1, 1, 2), 2), place); /* duplicate */
    assert_refused(PROGRAM(NEG "," EXP, CALL(0, 0, 1), 1), place);                   /* unused */
    assert_refused(PROGRAM("{\"instructions\":[" CALL(1, 0, 1) "],\"outputs\":[1],\"parameters\":[[\"f32\",[2]]]}," NEG,
                           CALL(0, 0, 1), 1),
                   key); /* forward */
    assert_refused(PROGRAM("{\"instructions\":[" CALL(0, 0, 1) "],\"outputs\":[1],\"parameters\":[[\"f32\",[2]]]}",
                           CALL(0, 0, 1), 1),
                   key); /* itself */
    assert_refused(PROGRAM("", "[\"neg\",{},[0],[1]]", 1), "the key is left out");
    assert_refused(PROGRAM(NEG, CALL(1, 0, 1), 1), key);
    assert_refused(PROGRAM(NEG, CALL(-1, 0, 1), 1), key);
    assert_refused(PROGRAM(NEG, CALL("0", 0, 1), 1), key);
    assert_refused(PROGRAM(NEG, CALL(0, 0, 2), 1), "numbering");
}

static void functions_are_closed(void **state)
{
#define BODY(instructions, outputs, parameters) \
    PROGRAM("{\"instructions\":[" instructions "],\"outputs\":[" outputs "],\"parameters\":[" parameters "]}", \
            CALL(0, 0, 1), 1)
#define VEC "[\"f32\",[2]]"
    (void)state;
    assert_accepted(BODY("[\"neg\",{},[0],[1]]", "1", VEC));
    assert_refused(BODY("[\"neg\",{},[0],[1]]", "0", VEC), "is parameter 0");
    assert_refused(BODY("[\"neg\",{},[0],[1]]", "1,1", VEC), "which is an output already");
    assert_refused(BODY("[\"neg\",{},[0],[1]]", "", VEC), "no output");
    assert_refused(BODY("[\"neg\",{},[0],[1]]", "2", VEC), "output 0 is malformed");
    assert_refused(BODY("[\"neg\",{},[1],[2]]", "2", VEC), "not a value");
    assert_refused(BODY("[\"neg\",{},[0],[1]]", "1", "[\"f32\",[3]]"), "found f32[2], expected f32[3]");
    assert_refused(BODY("[\"neg\",{},[0],[2]]", "2", VEC "," VEC), "found 1 operands, expected 2");
    assert_refused(BODY("[\"neg\",{},[0],[1]]", "1", "[\"f32\",[2],1]"), "parameter 0 is malformed");
    assert_refused(BODY("[\"nag\",{},[0],[1]]", "1", VEC), "unknown operation");
}

/* ---- regions' rules ---- */

#define STEP /* index, carried [2], row [2] -> carried, stacked */ \
    "{\"instructions\":[[\"add\",{},[1,2],[3]],[\"neg\",{},[3],[4]]],\"outputs\":[3,4],\"parameters\":[[\"i64\"," \
    "[]]," VEC "," VEC "]}"
#define SCAN(attributes, outs) \
    "{\"contract\":1,\"functions\":[" STEP "],\"inputs\":[[0,\"feed\",\"h\",\"f32\",[2]],[1,\"feed\",\"x\",\"f32\"," \
    "[5,2]]],\"instructions\":[[\"scan\",{" attributes "},[0,1],[" outs "]]],\"outputs\":[[\"result\",\"y\",2]]}"
#define ATTRS(carried, history, sliced, times) \
    "\"carried\":" #carried ",\"function\":0,\"history\":" #history ",\"reverse\":false,\"sliced\":" #sliced \
    ",\"times\":" #times

static void scans_are_checked(void **state)
{
    (void)state;
    assert_accepted(SCAN(ATTRS(1, false, 1, 5), "2,3"));
    assert_accepted(SCAN(ATTRS(1, true, 1, 5), "2,3,4"));
    assert_refused(SCAN(ATTRS(1, true, 1, 5), "2,3"), "numbering");
    assert_refused(SCAN(ATTRS(1, false, 1, 4), "2,3"), "found f32[5,2], expected f32[4,2]");
    assert_refused(SCAN(ATTRS(1, false, 1, 1099511627777), "2,3"), "attribute times");
    assert_refused(SCAN(ATTRS(1, false, 1, -1), "2,3"), "attribute times");
    assert_refused(SCAN(ATTRS(3, false, 0, 5), "2,3"), "carries 3");
    assert_refused(SCAN(ATTRS(1, false, 2, 5), "2,3"), "slices 2");
    assert_refused(SCAN(ATTRS(1, 0, 1, 5), "2,3"), "attribute history");
    assert_refused(SCAN("\"carried\":1," ATTRS(1, false, 1, 5), "2,3"), "");
    assert_refused(SCAN("\"also\":1," ATTRS(1, false, 1, 5), "2,3"), "has 6 attributes, found 7");
}

#define SHARD(n) /* index, rows [n,2] -> sum [1,2], rows */ \
    "{\"instructions\":[[\"sum\",{\"axes\":[0]},[1],[2]],[\"neg\",{},[1],[3]]],\"outputs\":[2,3],\"parameters\":[[" \
    "\"i64\",[]],[\"f32\",[" #n ",2]]]}"
#define MAP(functions, combine, cuts, first, numbers) \
    "{\"contract\":1,\"functions\":[" functions "],\"inputs\":[[0,\"feed\",\"x\",\"f32\",[6,2]]],\"instructions\":[[" \
    "\"map\",{\"combine\":[" combine "],\"cuts\":[" cuts "],\"first\":" #first ",\"functions\":[" numbers \
    "],\"sliced\":1},[0],[1,2]]],\"outputs\":[[\"result\",\"y\",1]]}"
#define TREE "\"tree\",\"concat\""

static void maps_are_checked(void **state)
{
    (void)state;
    assert_accepted(MAP(SHARD(3), TREE, "0,3,6", 0, "0"));
    assert_accepted(MAP(SHARD(2) "," SHARD(3), TREE, "1,1,3,6", 9, "0,1"));
    assert_refused(MAP(SHARD(3) "," SHARD(2), TREE, "1,3,6", 0, "0,1"), "ascending");
    assert_refused(MAP(SHARD(3), TREE, "0,3,5", 0, "0"), "no function for the 2 rows of shard 1");
    assert_refused(MAP(SHARD(2) "," SHARD(3), TREE, "0,3,6", 0, "0,1"), "for 2 rows, which no shard has");
    assert_refused(MAP(SHARD(3), TREE, "0,3,9", 0, "0"), "no function for the 6 rows");
    assert_refused(MAP(SHARD(3), TREE, "3,6,9", 0, "0"), "fewer rows than the last cut, 9");
    assert_refused(MAP(SHARD(3), TREE, "3,0,3", 0, "0"), "cut 1 descends");
    assert_refused(MAP(SHARD(3), TREE, "0,3,-1", 0, "0"), "attribute cuts");
    assert_refused(MAP(SHARD(3), TREE, "4,4", 0, "0"), "all shards are empty");
    assert_refused(MAP(SHARD(3), TREE, "4", 0, "0"), "1 cuts");
    assert_refused(MAP(SHARD(3), "\"tree\",\"mean\"", "0,3,6", 0, "0"), "attribute combine");
    assert_refused(MAP(SHARD(3), "\"concat\",\"concat\"", "0,3,6", 0, "0"), "found f32[1,2], expected f32[3,2]");
    assert_refused(MAP(SHARD(3), TREE, "0,3,6", 1099511627777, "0"), "attribute first");
    assert_refused(MAP(STEP, TREE, "0,2,4", 0, "0"), "map: found 1 operands, expected 2");
}

static void branches_and_loops_are_checked(void **state)
{
#define COND(functions, selector, numbers) \
    "{\"contract\":1,\"functions\":[" functions "],\"inputs\":[[0,\"feed\",\"s\"," selector \
    "],[1,\"feed\",\"x\",\"f32\",[2]]],\"instructions\":[[\"cond\",{\"functions\":[" numbers \
    "]},[0,1],[2]]],\"outputs\":[[\"result\",\"y\",2]]}"
#define LESS "{\"instructions\":[[\"lt\",{},[0,0],[2]]],\"outputs\":[2],\"parameters\":[[\"i64\",[]]," VEC "]}"
#define MORE "{\"instructions\":[[\"neg\",{},[1],[2]]],\"outputs\":[2],\"parameters\":[[\"i64\",[]]," VEC "]}"
#define WHILE(functions, body, carried, limit, predicate) \
    "{\"contract\":1,\"functions\":[" functions "],\"inputs\":" INPUT ",\"instructions\":[[\"while\",{\"body\":" #body \
    ",\"carried\":" #carried ",\"limit\":" #limit ",\"predicate\":" #predicate \
    "},[0],[1,2]]],\"outputs\":[[\"result\",\"y\",2]]}"
    (void)state;
    assert_accepted(COND(NEG "," EXP, "\"bool\",[]", "0,1"));
    assert_accepted(COND(NEG "," EXP, "\"i64\",[]", "0,1,0"));
    assert_refused(COND(NEG, "\"bool\",[]", "0"), "for a selector of bool");
    assert_refused(COND(NEG "," EXP, "\"f32\",[]", "0,1"), "no selector");
    assert_refused(COND(NEG "," EXP, "\"i64\",[1]", "0,1"), "no selector");
    assert_refused(COND(NEG "," SHARD(3), "\"i64\",[]", "0,1"), "found 2 operands, expected 3");
    assert_accepted(WHILE(MORE "," LESS, 0, 1, 7, 1));
    assert_refused(WHILE(LESS "," MORE, 0, 1, 7, 1), "carried output 0");
    assert_refused(WHILE(NEG "," LESS, 0, 1, 7, 1), "while: the index, parameter 0: found f32[2], expected i64[]");
    assert_refused(WHILE(MORE, 0, 1, 7, 0), "output of the predicate");
    assert_refused(WHILE(MORE "," LESS, 0, 2, 7, 1), "carries 2");
    assert_refused(WHILE(MORE "," LESS, 0, 1, 1099511627777, 1), "attribute limit");
}

/* ---- the order of building ---- */

static rp_function *unary(rp_tensor (*op)(rp_tensor), const rp_function *inner)
{
    rp_graph *g;
    rp_function *f;
    const rp_type type = {.dtype = RP_F32, .rank = 1, .shape = {2}};
    rp_tensor x;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    x = rp_function_parameter(g, &type);
    if (inner)
        rp_call(g, inner, &x, 1, &x);
    rp_function_return(g, op(x));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

/* x -> exp(neg(x)), exp(exp(x)); functions made in either order, shared or made again. */
static rp_buffer built(bool late, bool again)
{
    rp_function *a = late ? NULL : unary(rp_neg, NULL), *b = unary(rp_exp, NULL), *first, *second, *twin;
    const rp_type type = {.dtype = RP_F32, .rank = 1, .shape = {2}};
    rp_graph *g;
    rp_program *p;
    rp_tensor x, y;
    rp_buffer text = {0};

    if (late)
        a = unary(rp_neg, NULL);
    twin = again ? unary(rp_exp, NULL) : rp_function_hold(b);
    second = late ? unary(rp_exp, b) : NULL;
    first = unary(rp_exp, a);
    if (!late)
        second = unary(rp_exp, twin);
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &type);
    rp_call(g, first, &x, 1, &y);
    rp_call(g, twin, &y, 1, &y);
    rp_call(g, second, &y, 1, &y);
    rp_graph_result(g, "y", y);
    assert_int_equal(rp_graph_finish(g, &p, NULL), RP_OK);
    assert_int_equal(rp_program_write(p, &text, NULL), RP_OK);
    rp_function_free(a);
    rp_function_free(b);
    rp_function_free(first);
    rp_function_free(second);
    rp_function_free(twin);
    rp_program_free(p);
    return text;
}

static void the_order_of_building_does_not_show(void **state)
{
    rp_buffer plain = built(false, false);

    (void)state;
    for (int i = 1; i < 4; i++) {
        rp_buffer text = built(i & 1, i & 2);

        assert_int_equal(text.size, plain.size);
        assert_memory_equal(text.data, plain.data, plain.size);
        rp_buffer_free(&text);
    }
    rp_buffer_free(&plain);
}

/* ---- hostile texts ---- */

/* Functions 0 .. n - 1, each of which executes the one before `width` times; then the program calls the last. */
static rp_buffer nested(int n, int width, const char *scan)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, "{\"contract\":1,\"functions\":[");
    for (int i = 0; i < n; i++) {
        rp_buffer_text(&text, i ? ",{\"instructions\":[" : "{\"instructions\":[");
        if (i == 0)
            rp_buffer_text(&text, "[\"neg\",{},[1],[2]]");
        for (int k = 0; k < width && i > 0; k++) {
            if (k)
                rp_buffer_text(&text, ",");
            if (scan)
                rp_buffer_printf(&text,
                                 "[\"scan\",{\"carried\":1,\"function\":%d,\"history\":false,\"reverse\":false,"
                                 "\"sliced\":0,\"times\":%s},[%d],[%d]]",
                                 i - 1, scan, 1 + k, 2 + k);
            else
                rp_buffer_printf(&text, "[\"call\",{\"function\":%d},[0,%d],[%d]]", i - 1, 1 + k, 2 + k);
        }
        rp_buffer_printf(&text, "],\"outputs\":[%d],\"parameters\":[[\"i64\",[]],[\"f32\",[2]]]}", i ? 1 + width : 2);
    }
    rp_buffer_printf(&text,
                     "],\"inputs\":[[0,\"feed\",\"i\",\"i64\",[]],[1,\"feed\",\"x\",\"f32\",[2]]],\"instructions\":[["
                     "\"call\",{\"function\":%d},[0,1],[2]]],\"outputs\":[[\"result\",\"y\",2]]}",
                     n - 1);
    rp_buffer_u8(&text, 0);
    return text;
}

/* A map of n shards of one row each over x, which has `rows` of them. */
static rp_buffer sharded(int n, int rows)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, "{\"contract\":1,\"functions\":[" SHARD(1) "],\"inputs\":[[0,\"feed\",\"x\",\"f32\",[");
    rp_buffer_printf(&text, "%d,2]]],\"instructions\":[[\"map\",{\"combine\":[" TREE "],\"cuts\":[0", rows);
    for (int i = 1; i <= n; i++)
        rp_buffer_printf(&text, ",%d", i);
    rp_buffer_text(&text, "],\"first\":0,\"functions\":[0],\"sliced\":1},[0],[1,2]]],"
                          "\"outputs\":[[\"result\",\"y\",1]]}");
    rp_buffer_u8(&text, 0);
    return text;
}

static size_t allocated, most_allocated;

static void *counted(void *self, size_t bytes)
{
    size_t *block = malloc(bytes + 16);

    (void)self;
    if (!block)
        return NULL;
    *block = bytes;
    allocated += bytes;
    if (allocated > most_allocated)
        most_allocated = allocated;
    return block + 2;
}

static void uncounted(void *self, void *block)
{
    size_t *at = block;

    (void)self;
    if (!at)
        return;
    allocated -= at[-2];
    free(at - 2);
}

static void *recounted(void *self, void *block, size_t bytes)
{
    void *bigger = counted(self, bytes);

    if (bigger && block) {
        size_t before = ((size_t *)block)[-2];

        memcpy(bigger, block, before < bytes ? before : bytes);
        uncounted(self, block);
    }
    return bigger;
}

static const rp_allocator counting = {counted, recounted, uncounted, NULL};

static void assert_refused_at_once(rp_buffer text, const char *why)
{
    struct timespec begin, end;
    double ms;

    most_allocated = allocated;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    assert_refused((const char *)text.data, why);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    if (ms > 10)
        fail_msg("%s: took %.1f ms", why, ms);
    assert_true(most_allocated < (size_t)64 << 20);
    rp_buffer_free(&text);
}

static void hostile_texts_are_refused_at_once(void **state)
{
    rp_buffer fine = nested(32, 1, NULL);

    (void)state;
    assert_accepted((const char *)fine.data);
    rp_buffer_free(&fine);
    assert_refused_at_once(nested(33, 1, NULL), "33 deep");
    assert_refused_at_once(nested(32, 1, "1099511627776"), "more than 2^40");
    assert_refused_at_once(nested(32, 40, "1099511627776"), "more than 2^40"); /* saturates */
    assert_refused_at_once(nested(32, 8, NULL), "more than 2^40");             /* wide sharing */
    assert_refused_at_once(nested(3, 200, "1099511627776"), "more than 2^40");
    if (SANITIZED) /* the limits are megabytes of text, which take several times as long */
        return;
    fine = sharded(65536, 65536);
    assert_accepted((const char *)fine.data);
    rp_buffer_free(&fine);
    assert_refused_at_once(sharded(65536, 65535), "fewer rows than the last cut, 65536");
    assert_refused_at_once(sharded(65537, 65537), "attribute cuts");
    assert_refused_at_once(nested(4097, 1, NULL), "functions: expected 1 to 4096");
}

/* ---- prices ---- */

static void prices_are_of_the_text(void **state)
{
    rp_buffer text = nested(3, 2, "10");
    rp_program *p;
    rp_price price;

    (void)state;
    assert_int_equal(read_text((const char *)text.data, &p, NULL), RP_OK);
    price = rp_program_price(p);
    /* f0: 1; f1: 2 (1 + 10 * 1); f2: 2 (1 + 10 * 22); program: 1 + 442 */
    assert_int_equal(price.executed, 443);
    /* a body: 16 (1 + 2 + 1) + 2 = 66; f0: 66 + 16 3 + 4 = 118; f1: 66 + 2 (16 (3 + 1) + 4 + 10 118) = 2562;
     * f2: 66 + 2 (68 + 10 2562) = 51442; the program's call: 16 (4 + 1), reads 1 + 2, makes 2 */
    assert_int_equal(price.work, 66 + 85 + 51442);
    /* values of program, f2, f1, f0: 3, 4, 4, 3 of 64 bytes */
    assert_int_equal(price.memory, 14 * 64);
    rp_program_free(p);
    rp_buffer_free(&text);
    assert_int_equal(read_text(MAP(SHARD(2) "," SHARD(3), TREE, "1,1,3,6", 9, "0,1"), &p, NULL), RP_OK);
    price = rp_program_price(p);
    assert_int_equal(price.executed, 1 + 2 + 2);
    /* shards: 16 (1 + 2 + 2) and outputs 6, 8; sum 48 + 6, 48 + 8; neg 48 + 8, 48 + 12; one add of the tree 3 * 2;
     * the map: 16 (1 + 1 + 2 + 2 functions + 4 cuts), reads 12, makes 2 + 10; the program: 16 (1 + 1 + 1) + 2 */
    assert_int_equal(price.work, 196 + 204 + 6 + 160 + 24 + 50);
    /* three values, two partial sums, four values of a shard */
    assert_int_equal(price.memory, (3 + 2 + 4) * 64);
    rp_program_free(p);
}

/* The program of audit/FORMAT.md 9, whose prices stand there. */
static void prices_are_those_of_the_format(void **state)
{
    static const char text[] =
        "{\"contract\":1,\"functions\":[{\"instructions\":[[\"add\",{},[1,2],[3]],[\"neg\",{},[3],[4]]],\"outputs\":[3,"
        "4],\"parameters\":[[\"i64\",[]],[\"f32\",[2]],[\"f32\",[2]]]}],\"inputs\":[[0,\"feed\",\"h\",\"f32\",[2]],[1,"
        "\"feed\",\"x\",\"f32\",[5,2]]],\"instructions\":[[\"scan\",{\"carried\":1,\"function\":0,\"history\":true,"
        "\"reverse\":false,\"sliced\":1,\"times\":5},[0,1],[2,3,4]]],\"outputs\":[[\"result\",\"last\",2]]}";
    rp_program *p;
    rp_region_info region;
    rp_price price, f;

    (void)state;
    assert_int_equal(read_text(text, &p, NULL), RP_OK);
    price = rp_program_price(p);
    assert_true(rp_program_region(p, 0, &region));
    f = rp_program_price(rp_function_body(region.function[0]));
    assert_int_equal(f.executed, 2);
    assert_int_equal(f.work, 222);
    assert_int_equal(f.memory, 320);
    assert_int_equal(price.executed, 11);
    assert_int_equal(price.work, 1322);
    assert_int_equal(price.memory, 640);
    rp_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_have_one_text),
        cmocka_unit_test(other_spellings_are_refused),
        cmocka_unit_test(functions_are_closed),
        cmocka_unit_test(scans_are_checked),
        cmocka_unit_test(maps_are_checked),
        cmocka_unit_test(branches_and_loops_are_checked),
        cmocka_unit_test(the_order_of_building_does_not_show),
        cmocka_unit_test(hostile_texts_are_refused_at_once),
        cmocka_unit_test(prices_are_of_the_text),
        cmocka_unit_test(prices_are_those_of_the_format),
    };
    int failed;

    rp_set_allocator(&counting);
    failed = cmocka_run_group_tests_name("functions", tests, NULL, NULL);
    return failed || allocated; /* everything was given back */
}
