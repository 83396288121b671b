/* SPDX-License-Identifier: Apache-2.0
 * Programs as text: every operation survives it, one program has one spelling, and the parser refuses what is
 * malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/program/program.h"
#include "determinism/bits.h"
#include "tests/core/run/random_program.h"
#include "tests/core/program/sample_program.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* All members; what lies between them is anything. */
static bool same_attr(const rp_attr *a, const rp_attr *b)
{
    return a->i == b->i && memcmp(&a->r, &b->r, sizeof a->r) == 0 && a->n == b->n &&
           memcmp(a->list, b->list, sizeof a->list) == 0;
}

static void assert_same_program(const rp_program *a, const rp_program *b, const char *what)
{
    rp_buffer ta = text_of(a), tb = text_of(b);

    if (ta.size != tb.size || memcmp(ta.data, tb.data, ta.size) != 0)
        fail_msg("%s:\n%.*s\n%.*s", what, (int)ta.size, (const char *)ta.data, (int)tb.size, (const char *)tb.data);
    assert_int_equal(a->n_values, b->n_values);
    for (size_t v = 0; v < a->n_values; v++)
        assert_true(rp_type_equal(&a->value[v], &b->value[v]));
    for (size_t k = 0; k < a->n_instrs; k++)
        for (size_t i = 0; i < RP_MAX_ATTR && a->instr[k].op->attr[i].kind != RP_ATTR_NONE; i++)
            if (!same_attr(&a->instr[k].attr[i], &b->instr[k].attr[i]))
                fail_msg("%s: attributes of %s", what, a->instr[k].op->name);
    rp_buffer_free(&ta);
    rp_buffer_free(&tb);
}

static void assert_round_trip(rp_program *p)
{
    rp_buffer text = text_of(p);
    rp_program *again, *copy = rp_program_copy(p);
    rp_error err = {0};

    if (rp_program_parse(&again, text.data, text.size, "p.json", &err) != RP_OK)
        fail_msg("%s\n%.*s", err.text, (int)text.size, (const char *)text.data);
    assert_same_program(p, again, "parsed");
    assert_non_null(copy);
    assert_same_program(p, copy, "copied");
    rp_program_free(again);
    rp_program_free(copy);
    rp_buffer_free(&text);
}

static void every_operation_survives_its_text(void **state)
{
    (void)state;
    for (int id = 0; id < RP_OP_COUNT; id++)
        if (!op_has_sample((rp_op_id)id))
            fail_msg("%s has no sample", rp_op_get((rp_op_id)id)->name);
    for (size_t i = 0; i < OP_SAMPLES; i++) {
        rp_program *p = sample_program(&op_samples[i]);

        assert_round_trip(p);
        rp_program_free(p);
    }
    for (uint64_t seed = 0; seed < 100; seed++) {
        rp_program *p = random_program_new(seed, 4, 6);

        assert_round_trip(p);
        rp_program_free(p);
    }
}

static rp_status parse_status(const char *text, rp_error *err)
{
    rp_program *p = (rp_program *)&p;
    rp_status status = rp_program_parse(&p, text, strlen(text), "p.json", err);

    if (status != RP_OK)
        assert_null(p);
    rp_program_free(status == RP_OK ? p : NULL);
    return status;
}

static void odd_attributes_have_one_spelling(void **state)
{
    static const struct {
        const char *op, *attributes;
        rp_status status;
    } c[] = {
        {"dropout", "{\"rate\":\"0.5\",\"stream\":4294967295}", RP_OK},
        {"dropout", "{\"rate\":\"0.50\",\"stream\":0}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"5e-1\",\"stream\":0}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"0,5\",\"stream\":0}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"nan\",\"stream\":0}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"1\",\"stream\":0}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"0.5\",\"stream\":4294967296}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"0.5\",\"stream\":-1}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"0.5\",\"stream\":\"0\"}", RP_EFORMAT},
        {"dropout", "{\"rate\":0,\"stream\":0}", RP_EFORMAT},
        {"dropout", "{\"rate\":\"0.5\"}", RP_EFORMAT},
        {"dropout", "{\"more\":1,\"rate\":\"0.5\",\"stream\":0}", RP_EFORMAT},
    };
    char text[512];
    rp_error err;

    (void)state;
    for (size_t i = 0; i < COUNT(c); i++) {
        snprintf(text, sizeof text,
                 "{\"contract\":1,\"inputs\":[[0,\"feed\",\"x\",\"f32\",[3]],[1,\"feed\",\"rng\",\"i64\",[2]]],"
                 "\"instructions\":[[\"%s\",%s,[0,1],[2]]],\"outputs\":[]}",
                 c[i].op, c[i].attributes);
        if (parse_status(text, &err) != c[i].status)
            fail_msg("%s: expected %s, found %s", c[i].attributes, rp_status_name(c[i].status), err.text);
    }
}

static void integers_and_reals_beyond_json_survive(void **state)
{
    static const double reals[] = {1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0, -0.0, 5e-324, 0.1, 1.7976931348623157e308};
    static const int64_t exponents[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 53, -((int64_t)1 << 53),
                                        ((int64_t)1 << 53) - 1};

    (void)state;
    for (size_t i = 0; i < COUNT(reals); i++) {
        op_sample s = {RP_OP_fill, 0, {{0}}, {{.r = reals[i]}, {.n = 1, .list = {2}}, {.i = RP_F64}}};
        rp_program *p = sample_program(&s), *again;
        rp_buffer text = text_of(p);

        assert_int_equal(rp_program_parse(&again, text.data, text.size, "p", NULL), RP_OK);
        assert_true(rp_canonical_f64(again->instr[0].attr[0].r) == reals[i] || reals[i] != reals[i]);
        assert_int_equal(rp_bits_f64(rp_canonical_f64(again->instr[0].attr[0].r)),
                         rp_bits_f64(rp_canonical_f64(reals[i])));
        rp_program_free(p);
        rp_program_free(again);
        rp_buffer_free(&text);
    }
    for (size_t i = 0; i < COUNT(exponents); i++) {
        op_sample s = {RP_OP_pow_int, 1, {{RP_F64, 1, {2}}}, {{.i = exponents[i]}}};
        rp_program *p = sample_program(&s);

        assert_round_trip(p);
        rp_program_free(p);
    }
}

#define INPUTS "\"inputs\":[[0,\"state\",\"w\",\"f32\",[2]],[2,\"feed\",\"x\",\"f32\",[2]]]"
#define VALID \
    "{\"contract\":1," INPUTS \
    ",\"instructions\":[[\"neg\",{},[0],[1]],[\"add\",{},[1,2],[3]]],\"outputs\":[[\"state\",\"w\",3]]}"

static void malformed_programs_are_refused(void **state)
{
    static const struct {
        const char *from, *to;
        rp_status status;
    } edit[] = {
        {"\"contract\":1", "\"contract\":2", RP_EUNSUPPORTED},
        {"\"contract\":1", "\"contract\":\"1\"", RP_EFORMAT},
        {"\"contract\":1,", "", RP_EFORMAT},
        {"{\"contract\":1", "{\"a\":0,\"contract\":1", RP_EFORMAT},
        {"\"add\"", "\"bad\"", RP_EUNSUPPORTED},
        {"\"add\"", "7", RP_EFORMAT},
        {"\"add\"", "\"logical_and\"", RP_EFORMAT},
        {"\"add\"", "\"matmul\"", RP_EFORMAT},
        {"[1,2],[3]", "[1,3],[3]", RP_EFORMAT},
        {"[1,2],[3]", "[1,-1],[3]", RP_EFORMAT},
        {"[1,2],[3]", "[1,4294967296],[3]", RP_EFORMAT},
        {"[1,2],[3]", "[1,\"2\"],[3]", RP_EFORMAT},
        {"[1,2],[3]", "[1],[3]", RP_EFORMAT},
        {"[1,2],[3]", "[1,2,2],[3]", RP_EFORMAT},
        {"[1,2],[3]", "[],[3]", RP_EFORMAT},
        {"[1,2],[3]", "{},[3]", RP_EFORMAT},
        {"[1,2],[3]", "[1,2],[4]", RP_EFORMAT},
        {"[1,2],[3]", "[1,2],[2]", RP_EFORMAT},
        {"[1,2],[3]", "[1,2],[]", RP_EFORMAT},
        {"[1,2],[3]", "[1,2],[3,4]", RP_EFORMAT},
        {"[0],[1]", "[2],[1]", RP_EFORMAT},
        {"[0],[1]", "[0],[\"1\"]", RP_EFORMAT},
        {"[0],[1]", "[0],[1],[1]", RP_EFORMAT},
        {"{},[0]", "{\"axis\":1},[0]", RP_EFORMAT},
        {"{},[0]", "[],[0]", RP_EFORMAT},
        {"[2,\"feed\"", "[1,\"feed\"", RP_EFORMAT},
        {"[2,\"feed\"", "[4,\"feed\"", RP_EFORMAT},
        {"[2,\"feed\"", "[5,\"feed\"", RP_EFORMAT},
        {"[2,\"feed\"", "[2,\"food\"", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f32\",[3]", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f64\",[2]", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f16\",[2]", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f32\",[-2]", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f32\",[2,4398046511104]", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f32\",[9007199254740991,9007199254740991,9007199254740991]", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f32\",[1,1,1,1,1,1,1,1,2]", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f32\",2", RP_EFORMAT},
        {"\"x\",\"f32\",[2]", "\"x\",\"f32\",[2],0", RP_EFORMAT},
        {"\"x\"", "\"x y\"", RP_EFORMAT},
        {"\"x\"", "\"\"", RP_EFORMAT},
        {"\"x\"", "\"../x\"", RP_EFORMAT},
        {"\"feed\",\"x\"", "\"state\",\"w\"", RP_EFORMAT},
        {"\"w\",3]]", "\"w\",4]]", RP_EFORMAT},
        {"\"w\",3]]", "\"w\",-1]]", RP_EFORMAT},
        {"\"w\",3]]", "\"w\"]]", RP_EFORMAT},
        {"\"w\",3]]", "\"w\",3],[\"state\",\"w\",3]]", RP_EFORMAT},
        {"[[\"state\"", "[[\"data\"", RP_EFORMAT},
        {"}", "} ", RP_EFORMAT},
        {":[", ": [", RP_EFORMAT},
    };
    rp_error err;

    (void)state;
    assert_int_equal(parse_status(VALID, &err), RP_OK);
    for (size_t n = 0; n < strlen(VALID); n++) {
        char *cut = rp_strndup(VALID, n);

        assert_int_equal(parse_status(cut, &err), RP_EFORMAT);
        rp_free(cut);
    }
    for (size_t i = 0; i < COUNT(edit); i++) {
        const char *valid = VALID, *at = strstr(valid, edit[i].from);
        char text[1024];

        for (const char *next = at; next; next = strstr(next + 1, edit[i].from))
            at = next; /* the last one */
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - valid), valid, edit[i].to, at + strlen(edit[i].from));
        if (parse_status(text, &err) != edit[i].status)
            fail_msg("%s -> %s: expected %s, found %s: %s", edit[i].from, edit[i].to, rp_status_name(edit[i].status),
                     rp_status_name(err.status), err.text);
        assert_non_null(strstr(err.text, "p.json"));
    }
}

/* A result of rank 9 once went past the end of a shape. */
static void no_shape_rule_makes_a_rank_over_eight(void **state)
{
    static const char text[] =
        "{\"contract\":1,\"inputs\":[[0,\"feed\",\"g\",\"f32\",[1,1,1,1,1,1,1,1]],[1,\"feed\",\"i\",\"i64\",[]]],"
        "\"instructions\":[[\"scatter_add\",{\"axis\":0,\"size\":2},[0,1],[2]]],\"outputs\":[]}";
    rp_error err;

    (void)state;
    assert_int_equal(parse_status(text, &err), RP_EFORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_survives_its_text),      cmocka_unit_test(odd_attributes_have_one_spelling),
        cmocka_unit_test(integers_and_reals_beyond_json_survive), cmocka_unit_test(malformed_programs_are_refused),
        cmocka_unit_test(no_shape_rule_makes_a_rank_over_eight),
    };

    return cmocka_run_group_tests_name("programs", tests, NULL, NULL);
}
