/* SPDX-License-Identifier: Apache-2.0
 * Random programs on memory that is lent at random (rp_compiled_call): results and states are
 * those of writing, stepping and reading, at every level and number of threads, and nothing past them is looked at. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <sys/mman.h>
#include <unistd.h>

#include "core/run/run_private.h"
#include "rp/program.h"
#include "tests/core/run/plan_steps.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/random_chain.h"

enum { PROGRAMS = SANITIZED ? 24 : 60, STEPS = 5, MOST = 400, ALIGNED = 64 };

static const unsigned thread_counts[] = {1, 2, 3, 7};

typedef struct one {
    rp_run *run;
    rp_compiled *c;
} one;

static one one_new(const rp_program *p, const char *level, unsigned threads, const store *s)
{
    const rp_run_options options = {.threads = threads, .level = level};
    rp_error err = {0};
    one o;

    if (rp_run_new(&o.run, &options, &err) != RP_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < p->n_inputs; i++) {
        const rp_input *in = &p->input[i];
        const rp_type *t = &p->value[in->value];

        if (in->kind != RP_INPUT_FEED)
            assert_int_equal((in->kind == RP_INPUT_STATE ? rp_run_add_state : rp_run_add_data)(
                                 o.run, in->name, t->dtype, t->rank, t->shape, s->memory[i], &err),
                             RP_OK);
    }
    if (rp_compile(&o.c, o.run, p, &err) != RP_OK)
        fail_msg("%s", err.text);
    return o;
}

static void one_free(one *o)
{
    rp_compiled_free(o->c);
    rp_run_free(o->run);
}

/* Memory for `size` bytes, at times (apart) where no kernel may use it. Behind what kernels may use is a page that
 * nobody may read or write, if the size is one that ends where it may begin. */
typedef struct place {
    char *block, *at;
    size_t bytes;
} place;

static place place_new(size_t size, bool apart)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + 4 + page - 1) / page * page;
    place p = {.bytes = whole + page};

    p.block = mmap(NULL, p.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p.block != MAP_FAILED);
    assert_int_equal(mprotect(p.block + whole, page, PROT_NONE), 0);
    p.at = p.block + (apart ? 4 : (whole - size) / ALIGNED * ALIGNED);
    return p;
}

static void place_free(place *p)
{
    munmap(p->block, p->bytes);
}

static void spoil(const rp_program *p, store *s, random_program *r)
{
    for (size_t i = 0; i < s->n; i++) {
        const rp_type *t = &p->value[p->input[i].value];
        const uint32_t bits[] = {0x7FC12345, 0x7F800000, 0xFF800000, 0x80000000, 0x00000001, 0x7FC00000};

        if (p->input[i].kind == RP_INPUT_FEED && t->dtype == RP_F32 && t->rank == 2 && draw(r, 3) == 0)
            for (size_t k = 0; k < 4; k++)
                memcpy((float *)s->memory[i] + draw(r, rp_type_count(t)), &bits[draw(r, COUNT(bits))], 4);
    }
}

static void compare(const rp_program *p, const char *level, unsigned threads, uint64_t seed)
{
    store s = store_new(p);
    one plain = one_new(p, level, threads, &s), lent = one_new(p, level, threads, &s);
    random_program r = {.seed = seed + 77};
    rp_error err = {0};
    char what[128];

    for (size_t step = 0; step < STEPS; step++) {
        rp_lent feed[MOST], result[MOST];
        place of[2 * MOST];
        size_t n = 0, m = 0, n_of = 0;
        const bool older = draw(&r, 5) == 0;

        snprintf(what, sizeof what, "seed %d, step %zu, %s, %u threads", (int)seed, step, level, threads);
        next_feeds(p, &s, step);
        spoil(p, &s, &r);
        for (size_t i = 0; i < p->n_inputs; i++)
            if (p->input[i].kind == RP_INPUT_FEED) {
                const size_t size = rp_type_bytes(&p->value[p->input[i].value]);

                of[n_of] = place_new(size, draw(&r, 4) == 0);
                memcpy(of[n_of].at, s.memory[i], size);
                feed[n++] = (rp_lent){p->input[i].name, of[n_of++].at, size};
                assert_int_equal(rp_compiled_write(plain.c, p->input[i].name, s.memory[i], size, &err), RP_OK);
            }
        for (size_t o = 0; o < p->n_outputs; o++)
            if (p->output[o].kind == RP_OUTPUT_RESULT && draw(&r, 6)) {
                const size_t size = rp_type_bytes(&p->value[p->output[o].value]);

                of[n_of] = place_new(size, draw(&r, 4) == 0);
                result[m++] = (rp_lent){p->output[o].name, of[n_of++].at, size};
            }
        if (rp_compiled_step(plain.c, &err) != RP_OK)
            fail_msg("%s: %s", what, err.text);
        if (older) {
            for (size_t i = 0; i < n; i++)
                assert_int_equal(rp_compiled_write(lent.c, feed[i].name, feed[i].bytes, feed[i].size, &err), RP_OK);
            assert_int_equal(rp_compiled_step(lent.c, &err), RP_OK);
            for (size_t i = 0; i < m; i++)
                assert_int_equal(rp_compiled_read(lent.c, result[i].name, result[i].bytes, result[i].size, &err),
                                 RP_OK);
        } else if (rp_compiled_call(lent.c, feed, n, result, m, &err) != RP_OK)
            fail_msg("%s: %s", what, err.text);
        for (size_t i = 0, k = 0; i < p->n_inputs; i++)
            if (p->input[i].kind == RP_INPUT_FEED) {
                assert_memory_equal(feed[k].bytes, s.memory[i], feed[k].size);
                k++;
            }
        for (size_t i = 0; i < m; i++) {
            char *expected = malloc(result[i].size + 1);

            assert_int_equal(rp_compiled_read(plain.c, result[i].name, expected, result[i].size, &err), RP_OK);
            if (memcmp(expected, result[i].bytes, result[i].size) != 0) {
                rp_buffer text = text_of(p);

                fail_msg("%s: result %s differs\n%.*s", what, result[i].name, (int)text.size, (const char *)text.data);
            }
            free(expected);
        }
        for (size_t i = 0; i < n_of; i++)
            place_free(&of[i]);
        for (size_t i = 0; i < p->n_inputs; i++)
            if (p->input[i].kind == RP_INPUT_STATE) {
                const size_t size = rp_type_bytes(&p->value[p->input[i].value]);
                char *a = malloc(size + 1), *b = malloc(size + 1);

                assert_int_equal(rp_run_get_state(plain.run, p->input[i].name, a, size, &err), RP_OK);
                assert_int_equal(rp_run_get_state(lent.run, p->input[i].name, b, size, &err), RP_OK);
                if (memcmp(a, b, size) != 0)
                    fail_msg("%s: state %s differs", what, p->input[i].name);
                free(a);
                free(b);
            }
    }
    one_free(&plain);
    one_free(&lent);
    store_free(&s);
}

static void lent_memory_has_the_bits_of_copies(void **state)
{
    static const size_t shape[][2] = {{16, 513}, {90, 101}, {128, 128}, {48, 177}, {3, 3001}, {8208, 1}};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    const uint64_t from = getenv("FROM") ? strtoull(getenv("FROM"), NULL, 10) : 0;
    const uint64_t programs = getenv("PROGRAMS") ? strtoull(getenv("PROGRAMS"), NULL, 10) : PROGRAMS;

    (void)state;
    for (uint64_t seed = from; seed < from + programs; seed++) {
        const size_t *s = shape[seed / 2 % COUNT(shape)];
        rp_program *p = seed % 2 ? random_program_new(seed, s[0], s[1]) : random_chain_new(seed, s[0], s[1]);

        for (size_t l = 0; l < levels; l++)
            if (l == seed % levels || l + 1 == levels)
                compare(p, level[l], thread_counts[(seed / 3 + l) % COUNT(thread_counts)], seed);
        rp_program_free(p);
    }
}

/* ---- memory that is several things at once ---- */

enum { SIDE = 128, AREA = SIDE * SIDE, WAYS = 7 };

/* "y" needs elements of x from everywhere, so that a result written early would be seen. */
static rp_program *turning(void)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &(rp_type){RP_F32, 2, {SIDE, SIDE}}, NULL);
    rp_program *p;

    rp_graph_set(g, RP_OUTPUT_RESULT, "a", rp_tanh(x));
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_matmul(rp_transpose(x, NULL), x));
    p = rp_graph_take_program(g, NULL);
    assert_non_null(p);
    return p;
}

/* What the results are asked for, at which offsets of one memory that begins with the feed. */
static const struct {
    const char *name[3];
    size_t at[3];
} ways[WAYS] = {
    {{"a", "y"}, {0, AREA}},                       /* over the feed */
    {{"a", "y"}, {AREA / 2, 2 * AREA}},            /* over half of it */
    {{"y", "a"}, {0, AREA / 2}},                   /* over it and each other */
    {{"a", "y"}, {AREA, AREA + AREA / 2}},         /* over half of each other */
    {{"a", "y", "a"}, {AREA, 2 * AREA, 3 * AREA}}, /* twice */
    {{"a", "y", "a"}, {AREA, 2 * AREA, 3 * AREA + 1}},
    {{"a", "a", "y"}, {AREA + 1, 2 * AREA + 16, 3 * AREA + 16}},
};

static void memory_may_be_several_things_at_once(void **state)
{
    const size_t size = AREA * sizeof(float), all = 5 * size;
    rp_program *p = turning();
    store s = store_new(p);
    one o = one_new(p, NULL, 2, &s);
    place a = place_new(all, false), b = place_new(all, false);
    rp_error err = {0};

    (void)state;
    for (int w = 0; w < WAYS; w++) {
        rp_lent result[3];
        size_t n = 0;

        memcpy(a.at, s.memory[0], size);
        memcpy(b.at, s.memory[0], size);
        assert_int_equal(rp_compiled_write(o.c, "x", a.at, size, &err), RP_OK);
        assert_int_equal(rp_compiled_step(o.c, &err), RP_OK);
        for (; n < 3 && ways[w].name[n]; n++) {
            assert_int_equal(rp_compiled_read(o.c, ways[w].name[n], a.at + ways[w].at[n] * sizeof(float), size, &err),
                             RP_OK);
            result[n] = (rp_lent){ways[w].name[n], b.at + ways[w].at[n] * sizeof(float), size};
        }
        if (rp_compiled_call(o.c, &(rp_lent){"x", b.at, size}, 1, result, n, &err) != RP_OK)
            fail_msg("way %d: %s", w, err.text);
        if (memcmp(a.at, b.at, all) != 0)
            fail_msg("way %d differs", w);
    }
    place_free(&a);
    place_free(&b);
    one_free(&o);
    store_free(&s);
    rp_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lent_memory_has_the_bits_of_copies),
        cmocka_unit_test(memory_may_be_several_things_at_once),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("memory that is lent", tests, NULL, NULL);
}
