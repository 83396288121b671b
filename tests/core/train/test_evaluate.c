/* SPDX-License-Identifier: Apache-2.0
 * Evaluation by blocks of rows: the losses and scores of the whole table in one piece, to the bit, for every kind of
 * layer and loss, and in memory that only results take more of when there are more rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "core/program/function.h"
#include "core/train/evaluate.h"
#include "determinism/bits.h"
#include "determinism/philox.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- models, their weights and rows ---- */

static const struct model_case {
    const char *name, *yaml;
    size_t features, classes;
} models[] = {
    {"linear regression", "train: {task: regression, solver: gradient}", 5, 0},
    {"regression", "model: {hidden: [24, 8], activation: tanh}\ntrain: {task: regression}", 7, 0},
    {"logistic regression", "train: {solver: gradient}", 9, 2},
    {"two classes, layer norm, dropout", "model: {hidden: [33, 17], activation: gelu, layer_norm: true, dropout: 0.5}",
     6, 2},
    {"classes", "model: {hidden: [40]}", 20, 10},
    {"convolutions",
     "model: {image: [6, 6, 2], conv: [{filters: 4, kernel: 3, padding: same, pool: max}, {filters: 6, kernel: 2, "
     "pool: avg, pool_size: 2}], layer_norm: true, hidden: [8]}",
     72, 3},
    {"minimal filtering",
     "model: {image: [8, 8, 2], conv: [{filters: 4, kernel: 3, padding: same, algorithm: winograd}], hidden: [8]}", 128,
     3},
};

typedef struct rows_case {
    rp_recipe *recipe;
    rp_model model;
    rp_run *run;
    float *x;
    void *y;
    size_t rows;
} rows_case;

static void must(rp_status status, const rp_error *err)
{
    if (status != RP_OK)
        fail_msg("%s", err->text);
}

static void draw(float *out, size_t n, uint32_t stream)
{
    for (size_t i = 0; i < n; i++)
        out[i] = rp_uniform_f32(rp_random_u32(11, 3, stream, i)) - 0.5f;
}

/* A run with drawn weights, and drawn rows as its data x and y. */
static rows_case make(const struct model_case *m, size_t rows, const char *level, unsigned threads)
{
    rows_case c = {.rows = rows};
    const rp_run_options options = {.threads = threads, .level = level};
    const size_t shape[2] = {rows, m->features}, column[2] = {rows, 1};
    const bool labels = m->classes > 2;
    char yaml[600];
    rp_error err = {0};

    snprintf(yaml, sizeof yaml, "reprise: 1\ndata: {csv: a, target: y}\n%s\n", m->yaml);
    must(rp_recipe_from_yaml(&c.recipe, yaml, strlen(yaml), "r.yaml", &err), &err);
    must(rp_model_init(&c.model, c.recipe, m->features, m->classes, &err), &err);
    must(rp_run_new(&c.run, &options, &err), &err);
    for (size_t i = 0; i < c.model.n_parameters; i++) {
        const rp_parameter *p = &c.model.parameter[i];
        size_t n = 1;
        float *w;

        for (int d = 0; d < p->rank; d++)
            n *= p->shape[d];
        w = rp_malloc(n * sizeof *w);
        draw(w, n, (uint32_t)i);
        must(rp_run_add_state(c.run, p->name, RP_F32, p->rank, p->shape, w, &err), &err);
        rp_free(w);
    }
    c.x = rp_malloc(rows * m->features * sizeof *c.x);
    c.y = rp_malloc(rows * sizeof(int64_t));
    draw(c.x, rows * m->features, 1000);
    for (size_t i = 0; i < rows; i++)
        if (labels)
            ((int64_t *)c.y)[i] = (int64_t)(i * 7 % m->classes);
        else
            ((float *)c.y)[i] = (float)(i * 7 % 2);
    must(rp_run_add_data(c.run, "x", RP_F32, 2, shape, c.x, &err), &err);
    must(labels ? rp_run_add_data(c.run, "y", RP_I64, 1, shape, c.y, &err)
                : rp_run_add_data(c.run, "y", RP_F32, 2, column, c.y, &err),
         &err);
    return c;
}

static void unmake(rows_case *c)
{
    rp_free(c->x);
    rp_free(c->y);
    rp_run_free(c->run);
    rp_recipe_free(c->recipe);
}

static size_t score_bytes(const rows_case *c)
{
    return c->rows * c->model.outputs * sizeof(double);
}

static rp_compiled *compiled(rows_case *c)
{
    const rp_part part = {"x", "y", NULL, c->rows, 0};
    rp_graph *g = rp_graph_new(NULL);
    rp_compiled *out;
    rp_program *p;
    rp_error err = {0};

    must(rp_evaluation(&c->model, c->run, g, &part, &err), &err);
    p = rp_graph_take_program(g, &err);
    if (!p)
        fail_msg("%s", err.text);
    must(rp_run_compile(&out, c->run, p, &err), &err);
    return out;
}

/* The same from all rows at once, on the tape. */
static void whole(rows_case *c, float *loss, double *scores)
{
    rp_tensor weight[RP_MAX_PARAMETERS], logits, losses;
    rp_error err = {0};

    must(rp_step_begin(c->run, &err), &err);
    for (size_t i = 0; i < c->model.n_parameters; i++)
        weight[i] = rp_state(c->run, c->model.parameter[i].name);
    logits = rp_model_forward(&c->model, weight, rp_data(c->run, "x"), rp_no_tensor(), 0);
    losses = rp_model_row_losses(&c->model, logits, rp_data(c->run, "y"), rp_no_tensor());
    must(rp_read(c->run, rp_model_loss(losses, c->rows), loss, sizeof *loss, &err), &err);
    must(rp_read(c->run, rp_model_scores(&c->model, logits), scores, score_bytes(c) / 2, &err), &err);
    rp_widen(scores, c->rows * c->model.outputs);
    must(rp_step_end(c->run, &err), &err);
}

static void assert_same(const rows_case *c, const char *name, const double *expected, const double *found)
{
    for (size_t i = 0; i < c->rows * c->model.outputs; i++)
        if (memcmp(&expected[i], &found[i], sizeof *found) != 0)
            fail_msg("%s, %zu rows: score %zu: expected %a, found %a", name, c->rows, i, expected[i], found[i]);
}

static void assert_blocks_are_the_whole(const struct model_case *m, size_t rows, const char *level, unsigned threads)
{
    rows_case c = make(m, rows, level, threads);
    float loss, one;
    double *expected = rp_malloc(score_bytes(&c)), *found = rp_malloc(score_bytes(&c));
    rp_compiled *evaluation = compiled(&c);
    rp_scorer *scorer;
    rp_error err = {0};

    whole(&c, &one, expected);
    must(rp_compiled_step(evaluation, &err), &err);
    must(rp_compiled_read(evaluation, "loss", &loss, sizeof loss, &err), &err);
    must(rp_evaluation_scores(evaluation, found, &err), &err);
    if (memcmp(&loss, &one, sizeof loss) != 0)
        fail_msg("%s, %zu rows: loss: expected %a, found %a", m->name, rows, (double)one, (double)loss);
    assert_same(&c, m->name, expected, found);
    memset(found, 0, score_bytes(&c));
    must(rp_scorer_new(&scorer, &c.model, c.run, &err), &err);
    for (size_t first = 0; first < rows; first += RP_BLOCK_ROWS)
        must(rp_scorer_score(scorer, c.x + first * m->features,
                             rows - first < RP_BLOCK_ROWS ? rows - first : RP_BLOCK_ROWS,
                             found + first * c.model.outputs, &err),
             &err);
    assert_same(&c, m->name, expected, found);
    for (size_t rest = 1; rest < 4 && rest <= rows; rest++) { /* other lengths in turn */
        must(rp_scorer_score(scorer, c.x, rest, found, &err), &err);
        assert_memory_equal(found, expected, rest * c.model.outputs * sizeof *found);
        memset(found, 0, score_bytes(&c));
    }
    rp_scorer_free(scorer);
    rp_compiled_free(evaluation);
    rp_free(expected);
    rp_free(found);
    unmake(&c);
}

/* No rows left over, one, and some; more than a chunk of the sum. */
static void blocks_have_the_bits_of_the_whole(void **state)
{
    static const size_t rows[] = {1, 1024, 1025, 2048, 2600, 5000};

    (void)state;
    for (size_t k = 0; k < COUNT(models); k++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            assert_blocks_are_the_whole(&models[k], rows[i], NULL, 1 + i % 3);
            if (i == 2)
                assert_blocks_are_the_whole(&models[k], rows[i], "ref", 2);
        }
}

/* ---- the program ---- */

/* One block is no region; two functions at most, however many blocks there are. */
static void the_text_grows_by_a_cut_a_block(void **state)
{
    static const struct {
        size_t rows, cuts, functions;
    } cases[] = {{1024, 0, 0}, {1025, 3, 2}, {2048, 3, 1}, {100000, 99, 2}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rows_case c = make(&models[0], cases[i].rows, NULL, 1);
        rp_compiled *evaluation = compiled(&c);
        const rp_program *p = rp_compiled_program(evaluation);
        const rp_region *map = NULL;

        for (size_t k = 0; k < p->n_instrs; k++)
            map = p->instr[k].region ? p->instr[k].region : map;
        assert_int_equal(map != NULL, cases[i].cuts > 0);
        if (map) {
            assert_int_equal(map->n_cuts, cases[i].cuts);
            assert_int_equal(map->n_functions, cases[i].functions);
            assert_int_equal(map->cuts[map->n_cuts - 1], cases[i].rows);
            assert_int_equal(map->cuts[1], RP_BLOCK_ROWS);
        }
        rp_compiled_free(evaluation);
        unmake(&c);
    }
}

/* ---- memory ---- */

static size_t held, most;

static void *counted(void *self, size_t bytes)
{
    size_t *block = malloc(bytes + 16);

    (void)self;
    if (!block)
        return NULL;
    *block = bytes;
    held += bytes;
    most = held > most ? held : most;
    return block + 2;
}

static void uncounted(void *self, void *block)
{
    size_t *whole_block = (size_t *)block - 2;

    (void)self;
    held -= *whole_block;
    free(whole_block);
}

static void *recounted(void *self, void *block, size_t bytes)
{
    void *bigger = counted(self, bytes);

    if (bigger && block) {
        const size_t old = *((size_t *)block - 2);

        memcpy(bigger, block, old < bytes ? old : bytes);
        uncounted(self, block);
    }
    return bigger;
}

/* The most that an evaluation, and scoring block by block, hold beside the run. */
static void peaks(const struct model_case *m, size_t rows, size_t *evaluation, size_t *scoring)
{
    rows_case c = make(m, rows, NULL, 1);
    double *scores = rp_malloc(RP_BLOCK_ROWS * c.model.outputs * sizeof *scores);
    rp_compiled *e;
    rp_scorer *s;
    rp_error err = {0};
    size_t before = held;

    most = held;
    must(rp_scorer_new(&s, &c.model, c.run, &err), &err);
    for (size_t first = 0; first < rows; first += RP_BLOCK_ROWS)
        must(rp_scorer_score(s, c.x + first * m->features, RP_BLOCK_ROWS, scores, &err), &err);
    *scoring = most - before;
    rp_scorer_free(s);
    before = most = held;
    e = compiled(&c);
    must(rp_compiled_step(e, &err), &err);
    *evaluation = most - before;
    rp_compiled_free(e);
    rp_free(scores);
    unmake(&c);
}

/* 256 blocks beside 16, far more than write-out has room for: a row costs its scores and its loss, and half a number
 * of the text and the plan. */
static void memory_grows_by_results_alone(void **state)
{
    const rp_allocator hooks = {counted, recounted, uncounted, NULL};
    const size_t few = 16 * RP_BLOCK_ROWS, many = 256 * RP_BLOCK_ROWS;

    (void)state;
    rp_set_allocator(&hooks);
    for (size_t k = 1; k < COUNT(models); k++) {
        size_t evaluation[2], scoring[2], row = (models[k].classes > 2 ? models[k].classes + 1 : 2) * sizeof(float);

        if (models[k].features > 20) /* images take long */
            continue;
        peaks(&models[k], few, &evaluation[0], &scoring[0]);
        peaks(&models[k], many, &evaluation[1], &scoring[1]);
        print_message("%s: %zu and %zu bytes for %zu rows, %zu and %zu for %zu\n", models[k].name, evaluation[0],
                      scoring[0], few, evaluation[1], scoring[1], many);
        if (evaluation[1] > evaluation[0] + (many - few) * (row + 1))
            fail_msg("%s: %zu bytes for %zu rows, %zu for %zu", models[k].name, evaluation[0], few, evaluation[1],
                     many);
        assert_int_equal(scoring[0], scoring[1]);
    }
    rp_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_the_bits_of_the_whole),
        cmocka_unit_test(the_text_grows_by_a_cut_a_block),
        cmocka_unit_test(memory_grows_by_results_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
