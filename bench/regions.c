/* SPDX-License-Identifier: Apache-2.0
 * Regions beside what they stand for: an LSTM as a scan and as its steps one after another, forward and with gradients
 * and update; gradients of a network over 512 shards of 4 rows as a map, and shard by shard with the tree of CONTRACT
 * 12.3: of 2 layers, which plans write out, and of 16, which are too many instructions for that.
 *
 *   build/release/bench/regions [middle]
 *
 * Both sides take turns on one thread; times are the process's, ratios the median over rounds. Memory is what
 * rp_compiled_memory tells. Results and states are compared at the end, bit for bit. Small: hidden 32, batch 8, 1,024
 * steps and 64. Middle: hidden 256, batch 32, 64 steps and 256. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rp/program.h"
#include "rp/rp.h"

enum { PARAMETERS = 3, ROUNDS = 9, SHARDS = 512, SHARD_ROWS = 4, WIDTH = 32, LAYERS_MAX = 16 };

typedef struct model {
    size_t hidden, batch, times;
    bool train, unrolled;
} model;

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "regions: %s: %s\n", what, err->text);
    exit(1);
}

static rp_type f32(int rank, size_t a, size_t b, size_t c)
{
    return (rp_type){.dtype = RP_F32, .rank = rank, .shape = {a, b, c}};
}

static rp_type parameter_type(const model *m, size_t i)
{
    return i < 2 ? f32(2, m->hidden, 4 * m->hidden, 0) : f32(1, 4 * m->hidden, 0, 0);
}

/* ---- the programs ---- */

/* Columns [k n, (k + 1) n) of four. */
static rp_tensor gate(rp_tensor z, const model *m, size_t k)
{
    return rp_slice(z, (size_t[]){0, k * m->hidden}, (size_t[]){m->batch, (k + 1) * m->hidden});
}

/* h, c from h, c, a row x and w, u, b. */
static void cell(const model *m, rp_tensor *h, rp_tensor *c, rp_tensor x, const rp_tensor *p)
{
    rp_tensor z = rp_matmul(x, p[0]), r = rp_matmul(*h, p[1]), in, forget, out, kept;

    z = rp_add(z, r);
    z = rp_add(z, p[2]);
    in = rp_sigmoid(gate(z, m, 0));
    forget = rp_sigmoid(gate(z, m, 1));
    out = rp_sigmoid(gate(z, m, 2));
    z = rp_tanh(gate(z, m, 3));
    in = rp_mul(in, z);
    kept = rp_mul(forget, *c);
    *c = rp_add(kept, in);
    z = rp_tanh(*c);
    *h = rp_mul(out, z);
}

static rp_function *cell_function(const model *m)
{
    const rp_type index = {.dtype = RP_I64}, row = f32(2, m->batch, m->hidden, 0);
    rp_tensor h, c, x, p[PARAMETERS];
    rp_function *f;
    rp_graph *g;
    rp_error err = {0};

    if (rp_graph_symbolic(&g, &err) != RP_OK)
        stop("cell", &err);
    (void)rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &row);
    c = rp_function_parameter(g, &row);
    x = rp_function_parameter(g, &row);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const rp_type type = parameter_type(m, i);

        p[i] = rp_function_parameter(g, &type);
    }
    cell(m, &h, &c, x, p);
    rp_function_return(g, h);
    rp_function_return(g, c);
    rp_function_return(g, h);
    if (rp_function_finish(g, &f, &err) != RP_OK)
        stop("cell", &err);
    return f;
}

static rp_tensor scanned(rp_graph *g, const model *m, const rp_tensor *start, rp_tensor x, const rp_tensor *p)
{
    rp_function *f = cell_function(m);
    rp_tensor out[3];

    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = start,
                               .n_carried = 2,
                               .sliced = &x,
                               .n_sliced = 1,
                               .shared = p,
                               .n_shared = PARAMETERS,
                               .times = m->times},
            out);
    rp_function_free(f);
    return out[2];
}

static rp_tensor unrolled(const model *m, const rp_tensor *start, rp_tensor x, const rp_tensor *p)
{
    rp_tensor *row = malloc(m->times * sizeof *row), h = start[0], c = start[1], all;

    for (size_t t = 0; t < m->times; t++) {
        rp_tensor at = rp_slice(x, (size_t[]){t, 0, 0}, (size_t[]){t + 1, m->batch, m->hidden});

        at = rp_reshape(at, 2, (size_t[]){m->batch, m->hidden});
        cell(m, &h, &c, at, p);
        row[t] = rp_reshape(h, 3, (size_t[]){1, m->batch, m->hidden});
    }
    all = rp_concat(row, m->times, 0);
    free(row);
    return all;
}

/* The loss is half the mean square of all h; with training the parameters take a step against its gradient. */
static rp_program *program_of(const model *m)
{
    static const char *const name[PARAMETERS] = {"w", "u", "b"};
    const rp_type rows = f32(3, m->times, m->batch, m->hidden), first = f32(2, m->batch, m->hidden, 0);
    rp_tensor p[PARAMETERS], grad[PARAMETERS], x, start[2], y, loss;
    rp_program *program;
    rp_graph *g;
    rp_error err = {0};

    if (rp_graph_symbolic(&g, &err) != RP_OK)
        stop("program", &err);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const rp_type type = parameter_type(m, i);

        p[i] = rp_graph_declare(g, RP_INPUT_STATE, name[i], &type);
    }
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
    start[0] = rp_graph_declare(g, RP_INPUT_FEED, "h", &first);
    start[1] = rp_graph_declare(g, RP_INPUT_FEED, "c", &first);
    y = m->unrolled ? unrolled(m, start, x, p) : scanned(g, m, start, x, p);
    loss = rp_mul(y, y);
    loss = rp_mean(loss, NULL, 0, false);
    rp_graph_result(g, "loss", loss);
    if (m->train)
        rp_gradients(loss, p, PARAMETERS, grad);
    for (size_t i = 0; i < PARAMETERS && m->train; i++) {
        rp_tensor step = rp_scale(grad[i], 0.5);

        rp_graph_update(g, name[i], rp_sub(p[i], step));
    }
    if (rp_graph_finish(g, &program, &err) != RP_OK)
        stop("program", &err);
    return program;
}

/* ---- shards ---- */

/* Gradients of the mean square of the last layer, by layer. */
static void network_gradients(size_t layers, rp_tensor x, const rp_tensor *w, rp_tensor *grad)
{
    rp_tensor loss;

    for (size_t l = 0; l < layers; l++)
        x = rp_tanh(rp_matmul(x, w[l]));
    loss = rp_mul(x, x);
    loss = rp_mean(loss, NULL, 0, false);
    rp_gradients(loss, w, layers, grad);
}

static rp_function *network_function(size_t layers)
{
    const rp_type index = {.dtype = RP_I64}, rows = f32(2, SHARD_ROWS, WIDTH, 0), weight = f32(2, WIDTH, WIDTH, 0);
    rp_tensor x, w[LAYERS_MAX], grad[LAYERS_MAX];
    rp_function *f;
    rp_graph *g;
    rp_error err = {0};

    if (rp_graph_symbolic(&g, &err) != RP_OK)
        stop("network", &err);
    (void)rp_function_parameter(g, &index);
    x = rp_function_parameter(g, &rows);
    for (size_t l = 0; l < layers; l++)
        w[l] = rp_function_parameter(g, &weight);
    network_gradients(layers, x, w, grad);
    for (size_t l = 0; l < layers; l++)
        rp_function_return(g, grad[l]);
    if (rp_function_finish(g, &f, &err) != RP_OK)
        stop("network", &err);
    return f;
}

static void mapped(rp_graph *g, size_t layers, rp_tensor x, const rp_tensor *w, rp_tensor *sum)
{
    rp_function *f = network_function(layers);
    rp_combine combine[LAYERS_MAX];
    uint64_t cuts[SHARDS + 1];

    for (uint64_t s = 0; s <= SHARDS; s++)
        cuts[s] = SHARD_ROWS * s;
    for (size_t l = 0; l < layers; l++)
        combine[l] = RP_COMBINE_TREE;
    rp_map(g,
           &(rp_map_options){.function = (const rp_function *const *)&f,
                             .n_function = 1,
                             .sliced = &x,
                             .n_sliced = 1,
                             .shared = w,
                             .n_shared = layers,
                             .cuts = cuts,
                             .n_cuts = SHARDS + 1,
                             .combine = combine,
                             .n_combine = layers},
           sum);
    rp_function_free(f);
}

/* SHARDS is a power of two: the tree is even. */
static void shard_by_shard(size_t layers, rp_tensor x, const rp_tensor *w, rp_tensor *sum)
{
    rp_tensor part[LAYERS_MAX][SHARDS], grad[LAYERS_MAX];

    for (size_t s = 0; s < SHARDS; s++) {
        rp_tensor rows = rp_slice(x, (size_t[]){SHARD_ROWS * s, 0}, (size_t[]){SHARD_ROWS * (s + 1), WIDTH});

        network_gradients(layers, rows, w, grad);
        for (size_t l = 0; l < layers; l++)
            part[l][s] = grad[l];
    }
    for (size_t l = 0; l < layers; l++) {
        for (size_t n = SHARDS / 2; n > 0; n /= 2)
            for (size_t s = 0; s < n; s++)
                part[l][s] = rp_add(part[l][2 * s], part[l][2 * s + 1]);
        sum[l] = part[l][0];
    }
}

static rp_program *program_of_shards(size_t layers, bool unrolled)
{
    const rp_type rows = f32(2, SHARDS * SHARD_ROWS, WIDTH, 0), weight = f32(2, WIDTH, WIDTH, 0);
    rp_tensor w[LAYERS_MAX], x, sum[LAYERS_MAX];
    char name[16];
    rp_program *program;
    rp_graph *g;
    rp_error err = {0};

    if (rp_graph_symbolic(&g, &err) != RP_OK)
        stop("program", &err);
    x = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows);
    for (size_t l = 0; l < layers; l++) {
        (void)snprintf(name, sizeof name, "w%zu", l);
        w[l] = rp_graph_declare(g, RP_INPUT_STATE, name, &weight);
    }
    if (unrolled)
        shard_by_shard(layers, x, w, sum);
    else
        mapped(g, layers, x, w, sum);
    for (size_t l = 0; l < layers; l++) {
        (void)snprintf(name, sizeof name, "w%zu", l);
        rp_graph_update(g, name, rp_sub(w[l], sum[l]));
    }
    if (rp_graph_finish(g, &program, &err) != RP_OK)
        stop("program", &err);
    return program;
}

/* ---- running ---- */

typedef struct side {
    rp_run *run;
    rp_compiled *step;
    double seconds;
    size_t memory;
} side;

static float *values(size_t n, unsigned seed)
{
    float *v = malloc(n * sizeof *v);

    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = ((float)(seed >> 8) / 8388608.0f - 1.0f) * 0.125f;
    }
    return v;
}

static void feed(rp_compiled *c, const char *name, size_t n, unsigned seed)
{
    float *v = values(n, seed);
    rp_error err = {0};

    if (rp_compiled_write(c, name, v, n * sizeof *v, &err) != RP_OK)
        stop(name, &err);
    free(v);
}

static side side_of(const model *m)
{
    static const char *const name[PARAMETERS] = {"w", "u", "b"};
    rp_program *program = program_of(m);
    side s = {0};
    rp_error err = {0};

    if (rp_run_new(&s.run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        stop("run", &err);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const rp_type type = parameter_type(m, i);
        float *v = values(type.shape[0] * (type.rank > 1 ? type.shape[1] : 1), (unsigned)i + 1);

        if (rp_run_add_state(s.run, name[i], RP_F32, type.rank, type.shape, v, &err) != RP_OK)
            stop(name[i], &err);
        free(v);
    }
    if (rp_compile(&s.step, s.run, program, &err) != RP_OK)
        stop("compile", &err);
    s.memory = rp_compiled_memory(s.step);
    rp_program_free(program);
    feed(s.step, "x", m->times * m->batch * m->hidden, 7);
    feed(s.step, "h", m->batch * m->hidden, 8);
    feed(s.step, "c", m->batch * m->hidden, 9);
    return s;
}

static side side_of_shards(size_t layers, bool unrolled)
{
    rp_program *program = program_of_shards(layers, unrolled);
    char name[16];
    side s = {0};
    rp_error err = {0};

    if (rp_run_new(&s.run, &(rp_run_options){.threads = 1}, &err) != RP_OK)
        stop("run", &err);
    for (size_t l = 0; l < layers; l++) {
        float *v = values((size_t)WIDTH * WIDTH, (unsigned)l + 1);

        (void)snprintf(name, sizeof name, "w%zu", l);
        if (rp_run_add_state(s.run, name, RP_F32, 2, (size_t[]){WIDTH, WIDTH}, v, &err) != RP_OK)
            stop(name, &err);
        free(v);
    }
    if (rp_compile(&s.step, s.run, program, &err) != RP_OK)
        stop("compile", &err);
    s.memory = rp_compiled_memory(s.step);
    rp_program_free(program);
    feed(s.step, "x", (size_t)SHARDS * SHARD_ROWS * WIDTH, 7);
    return s;
}

static void side_free(side *s)
{
    rp_compiled_free(s->step);
    rp_run_free(s->run);
}

static double seconds_of(side *s)
{
    rp_error err = {0};
    const clock_t from = clock();

    if (rp_compiled_step(s->step, &err) != RP_OK)
        stop("step", &err);
    return (double)(clock() - from) / CLOCKS_PER_SEC;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void check_state(const side *a, const side *b, const char *name, size_t bytes)
{
    void *one = malloc(bytes), *other = malloc(bytes);
    rp_error err = {0};

    if (rp_run_get_state(a->run, name, one, bytes, &err) != RP_OK ||
        rp_run_get_state(b->run, name, other, bytes, &err) != RP_OK)
        stop(name, &err);
    if (memcmp(one, other, bytes) != 0)
        printf("  STATE %s DIFFERS\n", name);
    free(one);
    free(other);
}

static void check_same(const side *a, const side *b, const model *m)
{
    static const char *const name[PARAMETERS] = {"w", "u", "b"};
    rp_error err = {0};
    float loss[2];

    if (rp_compiled_read(a->step, "loss", &loss[0], sizeof *loss, &err) != RP_OK ||
        rp_compiled_read(b->step, "loss", &loss[1], sizeof *loss, &err) != RP_OK)
        stop("loss", &err);
    if (memcmp(&loss[0], &loss[1], sizeof *loss) != 0)
        printf("  LOSS DIFFERS: %a and %a\n", (double)loss[0], (double)loss[1]);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const rp_type type = parameter_type(m, i);

        check_state(a, b, name[i], type.shape[0] * (type.rank > 1 ? type.shape[1] : 1) * sizeof(float));
    }
}

/* Times both, prints what `what` says of them. */
static void take_turns(side *regions, side *flat, const char *what)
{
    double ratio[ROUNDS], seconds[ROUNDS];

    (void)seconds_of(regions);
    (void)seconds_of(flat);
    for (size_t i = 0; i < ROUNDS; i++) {
        seconds[i] = seconds_of(regions);
        ratio[i] = seconds[i] / seconds_of(flat);
    }
    qsort(ratio, ROUNDS, sizeof *ratio, by_size);
    qsort(seconds, ROUNDS, sizeof *seconds, by_size);
    printf("%s: %9.3f ms, %.3f of the unrolled one; %8.2f MiB, it %8.2f\n", what, 1e3 * seconds[ROUNDS / 2],
           ratio[ROUNDS / 2], (double)regions->memory / 1048576, (double)flat->memory / 1048576);
}

static void compare(size_t hidden, size_t batch, size_t times, bool train)
{
    model m = {.hidden = hidden, .batch = batch, .times = times, .train = train};
    side scan = side_of(&m), flat;
    char what[80];

    m.unrolled = true;
    flat = side_of(&m);
    (void)snprintf(what, sizeof what, "hidden %3zu, batch %2zu, %4zu steps, %s", hidden, batch, times,
                   train ? "training" : "forward ");
    take_turns(&scan, &flat, what);
    check_same(&scan, &flat, &m);
    side_free(&scan);
    side_free(&flat);
    (void)fflush(stdout);
}

static void compare_shards(size_t layers)
{
    side map = side_of_shards(layers, false), flat = side_of_shards(layers, true);
    char what[80];

    (void)snprintf(what, sizeof what, "512 shards, %2zu layers                 ", layers);
    take_turns(&map, &flat, what);
    for (size_t l = 0; l < layers; l++) {
        char name[16];

        (void)snprintf(name, sizeof name, "w%zu", l);
        check_state(&map, &flat, name, (size_t)WIDTH * WIDTH * sizeof(float));
    }
    side_free(&map);
    side_free(&flat);
}

int main(int argc, char **argv)
{
    for (int train = 0; train < 2; train++) {
        compare(32, 8, 64, train);
        compare(32, 8, 1024, train);
    }
    compare_shards(2);
    compare_shards(16);
    for (int train = 0; train < 2 && argc > 1 && strcmp(argv[1], "middle") == 0; train++) {
        compare(256, 32, 64, train);
        compare(256, 32, 256, train);
    }
    return 0;
}
