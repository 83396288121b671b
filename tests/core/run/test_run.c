/* SPDX-License-Identifier: Apache-2.0
 * Runs: eager steps and what they record, states, failing steps, observers, compiled steps of the same program, and an
 * application that changes the floating-point environment between calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cmocka.h>

#include "core/run/run_private.h"
#include "determinism/bits.h"
#include "rp/rp.h"
#include "tests/core/run/cpu_memory.h"

static const size_t two[] = {2};

static rp_run *run_new(void)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = 2}, &err) != RP_OK)
        fail_msg("%s", err.text);
    return run;
}

static rp_run *run_with_w(void)
{
    rp_run *run = run_new();

    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, two, (float[]){1, 2}, NULL), RP_OK);
    assert_int_equal(rp_run_add_data(run, "d", RP_F32, 1, two, (float[]){10, 20}, NULL), RP_OK);
    return run;
}

static void assert_state(rp_run *run, const char *name, float a, float b)
{
    float found[2], expected[2] = {a, b};

    assert_int_equal(rp_run_get_state(run, name, found, sizeof found, NULL), RP_OK);
    if (memcmp(found, expected, sizeof found) != 0)
        fail_msg("%s: expected %a %a, found %a %a", name, (double)a, (double)b, (double)found[0], (double)found[1]);
}

static void begin(rp_run *run)
{
    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
}

static void end(rp_run *run)
{
    rp_error err = {0};

    if (rp_step_end(run, &err) != RP_OK)
        fail_msg("%s", err.text);
}

static void assert_end(rp_run *run, rp_status expected, const char *fragment)
{
    rp_error err = {0};
    rp_status status = rp_step_end(run, &err);

    if (status != expected || !strstr(err.text, fragment))
        fail_msg("expected %s with \"%s\", found %s: %s", rp_status_name(expected), fragment, rp_status_name(status),
                 err.text);
}

/* ---- eager steps ---- */

static void a_step_computes_and_takes_effect_at_its_end(void **state)
{
    rp_run *run = run_with_w();
    float x[2];
    rp_tensor w;

    (void)state;
    begin(run);
    w = rp_state(run, "w");
    rp_set_state(run, "w", rp_add(w, rp_data(run, "d")));
    assert_int_equal(rp_read(run, rp_state(run, "w"), x, sizeof x, NULL), RP_OK); /* still the old value */
    assert_true(x[0] == 1 && x[1] == 2);
    assert_int_equal(rp_run_get_state(run, "w", x, sizeof x, NULL), RP_EARG); /* not inside a step */
    end(run);
    assert_state(run, "w", 11, 22);
    assert_int_equal(rp_run_steps(run), 1);
    begin(run); /* a state set twice has the last value, an untouched one keeps its own */
    rp_set_state(run, "w", rp_neg(rp_state(run, "w")));
    rp_set_state(run, "w", rp_feed(run, "x", RP_F32, 1, two, (float[]){5, 6}));
    end(run);
    assert_state(run, "w", 5, 6);
    begin(run);
    end(run);
    assert_state(run, "w", 5, 6);
    assert_int_equal(rp_run_steps(run), 3);
    rp_run_free(run);
}

static void a_state_can_become_an_input_or_a_view(void **state)
{
    rp_run *run = run_with_w();

    (void)state;
    assert_int_equal(rp_run_add_state(run, "s", RP_F32, 0, NULL, (float[]){7}, NULL), RP_OK);
    assert_int_equal(rp_run_add_state(run, "m", RP_F32, 2, (size_t[]){2, 2}, NULL, NULL), RP_OK);
    begin(run);
    rp_set_state(run, "w", rp_data(run, "d"));
    rp_set_state(run, "s", rp_reshape(rp_slice(rp_state(run, "w"), (size_t[]){1}, two), 0, NULL));
    rp_set_state(run, "m", rp_transpose(rp_broadcast_to(rp_state(run, "w"), 2, (size_t[]){2, 2}), NULL));
    end(run);
    assert_state(run, "w", 10, 20);
    {
        float s, m[4];

        assert_int_equal(rp_run_get_state(run, "s", &s, sizeof s, NULL), RP_OK);
        assert_int_equal(rp_run_get_state(run, "m", m, sizeof m, NULL), RP_OK);
        assert_true(s == 2);
        assert_memory_equal(m, ((float[]){1, 1, 2, 2}), sizeof m);
    }
    rp_run_free(run);
}

static void a_failing_step_leaves_the_state_alone(void **state)
{
    rp_run *run = run_with_w();

    (void)state;
    begin(run);
    rp_set_state(run, "w", rp_neg(rp_state(run, "w")));
    rp_matmul(rp_state(run, "w"), rp_state(run, "w"));
    assert_end(run, RP_ESHAPE, "matmul");
    assert_state(run, "w", 1, 2);
    assert_int_equal(rp_run_steps(run), 0);
    begin(run); /* and the next step is a fresh one */
    rp_set_state(run, "w", rp_neg(rp_state(run, "w")));
    end(run);
    assert_state(run, "w", -1, -2);
    assert_int_equal(rp_run_steps(run), 1);
    rp_run_free(run);
}

static void misuse_of_a_run_is_refused(void **state)
{
    rp_run *run = run_with_w();
    rp_error err = {0};
    float x[2];

    (void)state;
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, two, NULL, &err), RP_EARG);
    assert_non_null(strstr(err.text, "twice"));
    assert_int_equal(rp_run_add_state(run, "a b", RP_F32, 1, two, NULL, NULL), RP_EARG);
    assert_int_equal(rp_run_add_state(run, "", RP_F32, 1, two, NULL, NULL), RP_EARG);
    assert_int_equal(rp_run_add_state(run, "x", (rp_dtype)99, 1, two, NULL, NULL), RP_EARG);
    assert_int_equal(rp_run_add_state(run, "x", RP_F32, 9, (size_t[9]){0}, NULL, NULL), RP_EARG);
    assert_int_equal(rp_run_add_data(run, "x", RP_F32, 2, (size_t[]){SIZE_MAX / 2, 4}, NULL, NULL), RP_EARG);
    assert_int_equal(rp_run_get_state(run, "v", x, sizeof x, NULL), RP_EARG);
    assert_int_equal(rp_run_get_state(run, "w", x, 4, &err), RP_EARG);
    assert_non_null(strstr(err.text, "8 bytes"));
    assert_int_equal(rp_step_end(run, NULL), RP_EARG);
    assert_null(rp_state(run, "w").graph); /* no step */
    rp_set_state(run, "w", (rp_tensor){0});
    rp_result(run, "r", (rp_tensor){0});
    begin(run);
    assert_int_equal(rp_step_begin(run, &err), RP_EARG);
    assert_int_equal(rp_run_add_data(run, "late", RP_F32, 1, two, NULL, &err), RP_EARG);
    assert_null(rp_state(run, "v").graph);
    assert_end(run, RP_EARG, "no state v");
    begin(run);
    rp_set_state(run, "w", rp_sum(rp_state(run, "w"), NULL, 0, false));
    assert_end(run, RP_ESHAPE, "another shape");
    begin(run);
    rp_set_state(run, "v", rp_state(run, "w"));
    assert_end(run, RP_EARG, "no state v");
    begin(run);
    assert_int_equal(rp_read(run, rp_state(run, "w"), x, 4, &err), RP_EARG);
    assert_end(run, RP_EARG, "exactly 8 bytes");
    begin(run);
    rp_feed(run, "x", RP_F32, 1, two, x);
    rp_feed(run, "x", RP_F32, 1, two, x);
    assert_end(run, RP_EARG, "twice");
    begin(run); /* a recorded read cannot be replaced */
    rp_result(run, "read.0", rp_state(run, "w"));
    assert_end(run, RP_EARG, "rp_read");
    rp_run_free(run);
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.level = "mmx"}, &err), RP_EARG);
    assert_null(run);
    rp_run_free(run);
}

/* ---- observers ---- */

typedef struct seen {
    int calls;
    rp_status answer;
    char names[256]; /* feeds, results, states with their first element */
    uint64_t step;
    size_t instrs;
    bool compiled;
} seen;

static void note(seen *s, char kind, const rp_device_tensor *named, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(s->names);

        snprintf(s->names + used, sizeof s->names - used, "%c:%s=%d ", kind, named[i].name,
                 (int)((const float *)named[i].memory)[0]);
    }
}

static rp_status on_step(void *self, const rp_step_event *event, rp_error *err)
{
    seen *s = self;

    s->calls++;
    s->step = event->step;
    s->compiled = event->compiled != 0;
    s->instrs = event->program->n_instrs;
    s->names[0] = '\0';
    note(s, 'f', event->feed, event->n_feeds);
    note(s, 'r', event->result, event->n_results);
    note(s, 's', event->state, event->n_states);
    return s->answer == RP_OK ? RP_OK : rp_fail(err, s->answer, "observer");
}

static void observers_see_feeds_results_and_new_states(void **state)
{
    rp_run *run = run_with_w();
    seen s = {0}, more = {0};
    float x[2];

    (void)state;
    assert_int_equal(rp_run_observe(run, (rp_observer){on_step, &s}, NULL), RP_OK);
    assert_int_equal(rp_run_observe(run, (rp_observer){on_step, &more}, NULL), RP_OK);
    begin(run);
    rp_tensor f = rp_feed(run, "f", RP_F32, 1, two, (float[]){3, 4}), sum = rp_add(rp_state(run, "w"), f);
    rp_set_state(run, "w", sum);
    assert_int_equal(rp_read(run, f, x, sizeof x, NULL), RP_OK);
    assert_int_equal(rp_read(run, sum, x, sizeof x, NULL), RP_OK);
    rp_result(run, "loss", rp_neg(sum));
    end(run);
    assert_string_equal(s.names, "f:f=3 r:read.0=3 r:read.1=4 r:loss=-4 s:w=4 ");
    assert_string_equal(more.names, s.names);
    assert_int_equal(s.step, 0);
    assert_false(s.compiled);
    begin(run);
    rp_exp(rp_data(run, "f"));
    assert_end(run, RP_EARG, "no data f");
    assert_int_equal(s.calls, 1); /* a failed step is none */
    rp_run_unobserve(run, &more);
    begin(run);
    end(run);
    assert_int_equal(s.calls, 2);
    assert_int_equal(s.step, 1);
    assert_int_equal(more.calls, 1);
    s.answer = RP_EIO;
    begin(run);
    assert_end(run, RP_EIO, "observer");
    assert_int_equal(rp_run_steps(run), 2);
    rp_run_free(run);
}

static void every_branch_taken_is_a_program_of_its_own(void **state)
{
    rp_run *run = run_with_w();
    seen s = {0};
    size_t instrs[4];

    (void)state;
    assert_int_equal(rp_run_observe(run, (rp_observer){on_step, &s}, NULL), RP_OK);
    for (int i = 0; i < 4; i++) {
        float mean;
        rp_tensor w;

        begin(run);
        w = rp_state(run, "w");
        assert_int_equal(rp_read(run, rp_mean(w, NULL, 0, false), &mean, sizeof mean, NULL), RP_OK);
        w = rp_scale(w, 2);
        rp_set_state(run, "w", mean > 3 ? rp_neg(w) : w);
        end(run);
        instrs[i] = s.instrs;
    }
    /* means 1.5, 3, 6, -12 */
    assert_int_equal(instrs[0], instrs[1]);
    assert_int_equal(instrs[2], instrs[0] + 1);
    assert_int_equal(instrs[3], instrs[0]);
    assert_state(run, "w", -16, -32);
    rp_run_free(run);
}

/* ---- compiled steps ---- */

static rp_compiled *compile(rp_run *run)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_type type = {RP_F32, 1, {2}}, index_type = {RP_I64, 1, {2}};
    rp_tensor f = rp_graph_input(g, RP_INPUT_FEED, "f", &type, NULL), w = rp_graph_state(g, run, "w");
    rp_tensor i = rp_graph_input(g, RP_INPUT_FEED, "i", &index_type, NULL);
    rp_program *program;
    rp_compiled *compiled = NULL;

    rp_graph_set(g, RP_OUTPUT_RESULT, "r", rp_gather(f, i, 0));
    rp_graph_set(g, RP_OUTPUT_STATE, "w", rp_add(w, f));
    program = rp_graph_take_program(g, NULL);
    assert_non_null(program);
    assert_int_equal(rp_run_compile(&compiled, run, program, NULL), RP_OK);
    return compiled;
}

static void compiled_steps_count_and_are_observed_like_eager_ones(void **state)
{
    rp_run *run = run_with_w();
    rp_compiled *c = compile(run);
    seen s = {0};
    rp_error err = {0};

    (void)state;
    assert_int_equal(rp_run_observe(run, (rp_observer){on_step, &s}, NULL), RP_OK);
    memcpy(feed_memory(c, "f"), (float[]){3, 5}, 8);
    memcpy(feed_memory(c, "i"), (int64_t[]){1, 0}, 16);
    assert_null(feed_memory(c, "w"));
    assert_null(result_memory(c, "w"));
    assert_int_equal(rp_compiled_step(c, NULL), RP_OK);
    assert_string_equal(s.names, "f:f=3 f:i=0 r:r=5 s:w=4 ");
    assert_true(s.compiled);
    assert_memory_equal(result_memory(c, "r"), ((float[]){5, 3}), 8);
    assert_state(run, "w", 4, 7);
    ((int64_t *)feed_memory(c, "i"))[0] = 2;
    assert_int_equal(rp_compiled_step(c, &err), RP_EDATA);
    assert_non_null(strstr(err.text, "index 2"));
    assert_int_equal(rp_run_steps(run), 1);
    begin(run);
    assert_int_equal(rp_compiled_step(c, &err), RP_EARG);
    end(run);
    assert_int_equal(rp_run_steps(run), 2);
    rp_compiled_free(c);
    rp_compiled_free(NULL);
    rp_run_free(run);
}

static void a_graph_in_error_gives_no_program(void **state)
{
    rp_run *run = run_with_w();
    rp_graph *g = rp_graph_new(NULL);
    rp_error err = {0};

    (void)state;
    rp_graph_set(g, RP_OUTPUT_STATE, "w", rp_matmul(rp_graph_state(g, run, "w"), rp_graph_state(g, run, "w")));
    assert_null(rp_graph_take_program(g, &err));
    assert_int_equal(err.status, RP_ESHAPE);
    rp_run_free(run);
}

/* ---- bits ---- */

static void nans_are_read_out_as_the_one_nan(void **state)
{
    rp_run *run = run_new();
    float bad = rp_from_bits_f32(0xFFC12345u), found;
    double wide;

    (void)state;
    assert_int_equal(rp_run_add_state(run, "n", RP_F32, 0, NULL, &bad, NULL), RP_OK);
    assert_int_equal(rp_run_get_state(run, "n", &found, sizeof found, NULL), RP_OK);
    assert_int_equal(rp_bits_f32(found), 0x7FC00000);
    begin(run);
    assert_int_equal(rp_read(run, rp_neg(rp_state(run, "n")), &found, sizeof found, NULL), RP_OK);
    assert_int_equal(rp_bits_f32(found), 0x7FC00000);
    assert_int_equal(rp_read(run, rp_cast(rp_state(run, "n"), RP_F64), &wide, sizeof wide, NULL), RP_OK);
    assert_true(rp_bits_f64(wide) == 0x7FF8000000000000u);
    end(run);
    rp_run_free(run);
}

/* Wherever it is among many: stretches that have none are only read. */
static void one_nan_among_many_is_read_out_as_the_one_nan(void **state)
{
    enum { MANY = 2500 };
    static const size_t places[] = {0, 2047, 2048}; /* one a stretch, at its ends */
    rp_run *run = run_new();
    static float x[MANY], found[MANY];
    static double wide[MANY];

    (void)state;
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        x[places[p]] = rp_from_bits_f32(0xFFC12345u);
    assert_int_equal(rp_run_add_state(run, "x", RP_F32, 1, (const size_t[]){MANY}, x, NULL), RP_OK);
    begin(run);
    assert_int_equal(rp_read(run, rp_neg(rp_state(run, "x")), found, sizeof found, NULL), RP_OK);
    assert_int_equal(rp_read(run, rp_cast(rp_state(run, "x"), RP_F64), wide, sizeof wide, NULL), RP_OK);
    end(run);
    for (size_t i = 0, p = 0; i < MANY; i++) {
        const bool nan = i == places[p];

        assert_int_equal(rp_bits_f32(found[i]), nan ? 0x7FC00000u : 0x80000000u);
        assert_true(rp_bits_f64(wide[i]) == (nan ? 0x7FF8000000000000u : 0));
        p += nan && p + 1 < sizeof places / sizeof *places;
    }
    rp_run_free(run);
}

/* Flushing, and rounding down: switched on by the application before every call of a step. */
static void spoil(void)
{
#if defined(__x86_64__)
    _mm_setcsr(0x1F80u | 0x8040u | 0x2000u);
#endif
}

static void mend(void)
{
#if defined(__x86_64__)
    _mm_setcsr(0x1F80u);
#endif
}

/* Whether spoiling does anything here: other processors are left alone, and an emulator may ignore the control bits. */
static bool can_spoil(void)
{
    volatile float tiny = 0x1p-126f, product;

    spoil();
    product = tiny * 0.5f;
    mend();
    return product == 0;
}

static void subnormal_work(rp_run *run, rp_compiled *c, bool spoilt, float out[4])
{
    static const float tiny[2] = {0x1.8p-140f, 0x1.000002p-126f};
    rp_tensor w;

    if (spoilt)
        spoil();
    begin(run);
    w = rp_feed(run, "t", RP_F32, 1, two, tiny);
    w = rp_scale(w, 0.3);
    if (spoilt)
        spoil();
    rp_set_state(run, "w", w);
    end(run);
    if (spoilt)
        spoil();
    memcpy(feed_memory(c, "f"), tiny, sizeof tiny);
    memset(feed_memory(c, "i"), 0, 16);
    assert_int_equal(rp_compiled_step(c, NULL), RP_OK);
    if (spoilt) {
#if defined(__x86_64__)
        assert_int_equal(_mm_getcsr() & 0xFFC0u, 0x1F80u | 0x8040u | 0x2000u); /* given back as it was */
#endif
    }
    mend();
    assert_int_equal(rp_run_get_state(run, "w", out, 8, NULL), RP_OK);
    memcpy(out + 2, result_memory(c, "r"), 8);
}

static void a_changed_floating_point_environment_changes_no_bit(void **state)
{
    rp_run *plain, *spoilt;
    rp_compiled *a, *b;
    float expected[4], found[4];

    (void)state;
    if (!can_spoil())
        skip();
    plain = run_with_w();
    a = compile(plain);
    spoil();
    spoilt = run_with_w();
    mend();
    assert_true(rp_run_fpenv_repaired(spoilt));
    assert_false(rp_run_fpenv_repaired(plain));
    b = compile(spoilt);
    subnormal_work(plain, a, false, expected);
    subnormal_work(spoilt, b, true, found);
    assert_memory_equal(found, expected, sizeof found);
    assert_true(expected[0] != 0 && expected[0] < 0x1p-126f);
    rp_compiled_free(a);
    rp_compiled_free(b);
    rp_run_free(plain);
    rp_run_free(spoilt);
}

/* ---- NaNs on the way in and out (CONTRACT 2.3) ---- */

enum { LOOKED = 2 * 1024 + 70 };

static void put_odd_nan(void *x, rp_dtype dtype, size_t i)
{
    const uint32_t narrow = 0xFFC12345;
    const uint64_t wide = UINT64_C(0xFFF8000000012345);

    if (dtype == RP_F32)
        memcpy((float *)x + i, &narrow, sizeof narrow);
    else
        memcpy((double *)x + i, &wide, sizeof wide);
}

static bool has_canonical_nan(const void *x, rp_dtype dtype, size_t i)
{
    const uint32_t narrow = 0x7FC00000;
    const uint64_t wide = UINT64_C(0x7FF8000000000000);

    return dtype == RP_F32 ? memcmp((const float *)x + i, &narrow, sizeof narrow) == 0
                           : memcmp((const double *)x + i, &wide, sizeof wide) == 0;
}

/* Vectors, blocks and what is left of them: all are looked at, and nothing else is changed. */
static void a_nan_is_found_wherever_it_is(void **state)
{
    static const size_t counts[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 70, 1023, 1024, 1025, 1024 + 33, LOOKED};
    static double x[LOOKED], kept[LOOKED];

    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (int wide = 0; wide < 2; wide++) {
            const rp_type type = {wide ? RP_F64 : RP_F32, 1, {counts[c]}};
            const size_t size = rp_dtype_size(type.dtype), n = counts[c];

            for (size_t i = 0; i < n; i++) {
                memset(x, 0, sizeof x);
                assert_true(rp_is_canonical(x, &type));
                put_odd_nan(x, type.dtype, i);
                memcpy(kept, x, sizeof x);
                assert_false(rp_is_canonical(x, &type));
                rp_canonicalise(x, &type);
                if (!has_canonical_nan(x, type.dtype, i))
                    fail_msg("%s: element %zu of %zu", rp_dtype_name(type.dtype), i, n);
                assert_memory_equal(x, kept, i * size);
                assert_memory_equal((char *)x + (i + 1) * size, (char *)kept + (i + 1) * size,
                                    sizeof x - (i + 1) * size);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nan_is_found_wherever_it_is),
        cmocka_unit_test(a_step_computes_and_takes_effect_at_its_end),
        cmocka_unit_test(a_state_can_become_an_input_or_a_view),
        cmocka_unit_test(a_failing_step_leaves_the_state_alone),
        cmocka_unit_test(misuse_of_a_run_is_refused),
        cmocka_unit_test(observers_see_feeds_results_and_new_states),
        cmocka_unit_test(every_branch_taken_is_a_program_of_its_own),
        cmocka_unit_test(compiled_steps_count_and_are_observed_like_eager_ones),
        cmocka_unit_test(a_graph_in_error_gives_no_program),
        cmocka_unit_test(nans_are_read_out_as_the_one_nan),
        cmocka_unit_test(one_nan_among_many_is_read_out_as_the_one_nan),
        cmocka_unit_test(a_changed_floating_point_environment_changes_no_bit),
    };

    return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
