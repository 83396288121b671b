/* SPDX-License-Identifier: Apache-2.0
 * Training steps of two networks, compiled, with and without a recorder watching; and chains of elementwise operations
 * out of cache against the bandwidth of a copy. bench/steps.sh runs PyTorch's (bench/peers/steps_torch.py) in turn.
 *
 *   build/release/bench/steps gelu|mlp|chain [THREADS]
 *
 * Prints "NAME MODE seconds seconds": median and best of several short rounds; the modes take turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/record/recorder.h"
#include "kernels/limits.h"
#include "core/run/run.h"
#include "rp/rp.h"

enum { ROUNDS = 15, LAYERS_MAX = 3 };
static const double round_seconds = 0.05;

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "steps: %s: %s\n", what, err->text);
    exit(1);
}

/* ---- networks ---- */

typedef struct network {
    const char *name;
    size_t batch, layers, size[LAYERS_MAX + 1];
    bool gelu, decoupled; /* GELU or relu; AdamW or Adam */
} network;

static const network networks[] = {{"gelu", 32, 2, {61, 64, 2}, true, true},
                                   {"mlp", 256, 3, {784, 1024, 1024, 10}, false, false}};

static float *spread(size_t n, float scale)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)((int)(i * 2654435761u >> 7 & 1023) - 512) / 512 * scale;
    return x;
}

static void add(rp_run *run, bool state, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                const void *bytes)
{
    rp_error err = {0};

    if ((state ? rp_run_add_state : rp_run_add_data)(run, name, dtype, rank, shape, bytes, &err) != RP_OK)
        stop(name, &err);
}

/* Weights, biases and Adam's moments of each layer; a batch and its labels as data. */
static void add_tensors(rp_run *run, const network *net)
{
    float *x = spread(net->batch * net->size[0], 1);
    int64_t *labels = malloc(net->batch * sizeof *labels);
    char name[16];

    for (size_t i = 0; labels && i < net->batch; i++)
        labels[i] = (int64_t)(i * 7 % net->size[net->layers]);
    for (size_t l = 0; l < net->layers; l++) {
        float *w = spread(net->size[l] * net->size[l + 1], 0.1f);

        for (int part = 0; part < 6; part++) { /* weight and bias: the value and two moments */
            (void)snprintf(name, sizeof name, "%c%c%zu", "pmv"[part / 2], "wb"[part % 2], l);
            add(run, true, name, RP_F32, part % 2 ? 1 : 2, &net->size[l + (size_t)(part % 2)], part ? NULL : w);
        }
        free(w);
    }
    add(run, false, "x", RP_F32, 2, (size_t[]){net->batch, net->size[0]}, x);
    add(run, false, "labels", RP_I64, 1, &net->batch, labels);
    free(x);
    free(labels);
}

static rp_tensor scalar_feed(rp_graph *g, const char *name)
{
    return rp_graph_input(g, RP_INPUT_FEED, name, &(rp_type){.dtype = RP_F32}, NULL);
}

static void update(rp_graph *g, rp_run *run, const network *net, const char *name, rp_tensor p, rp_tensor grad,
                   const rp_tensor *rate)
{
    char m_name[16], v_name[16];
    rp_tensor m, v;

    (void)snprintf(m_name, sizeof m_name, "m%s", name + 1);
    (void)snprintf(v_name, sizeof v_name, "v%s", name + 1);
    m = rp_graph_state(g, run, m_name);
    v = rp_graph_state(g, run, v_name);
    p = rp_adam(p, &m, &v, grad, rate[0], rate[1], rate[2],
                &(rp_adam_options){0.9, 0.999, 1e-8, net->decoupled ? 0.01 : 0, net->decoupled});
    rp_graph_set(g, RP_OUTPUT_STATE, name, p);
    rp_graph_set(g, RP_OUTPUT_STATE, m_name, m);
    rp_graph_set(g, RP_OUTPUT_STATE, v_name, v);
}

static rp_compiled *compile(rp_run *run, rp_graph *g)
{
    rp_error err = {0};
    rp_program *program = rp_graph_take_program(g, &err);
    rp_compiled *compiled = NULL;

    if (!program || rp_run_compile(&compiled, run, program, &err) != RP_OK)
        stop("compile", &err);
    return compiled;
}

static rp_compiled *training_step(rp_run *run, const network *net)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor w[2 * LAYERS_MAX], grad[2 * LAYERS_MAX], rate[3], x, loss;
    char name[2 * LAYERS_MAX][16];

    x = rp_graph_data(g, run, "x");
    for (size_t i = 0; i < 2 * net->layers; i++) {
        (void)snprintf(name[i], sizeof name[i], "p%c%zu", "wb"[i % 2], i / 2);
        w[i] = rp_graph_state(g, run, name[i]);
    }
    for (size_t i = 0; i < 3; i++)
        rate[i] = scalar_feed(g, (const char *[]){"lr", "c1", "c2"}[i]);
    for (size_t l = 0; l < net->layers; l++) {
        x = rp_linear(x, w[2 * l], w[2 * l + 1]);
        if (l + 1 < net->layers)
            x = net->gelu ? rp_gelu(x) : rp_relu(x);
    }
    loss = rp_cross_entropy(x, rp_graph_data(g, run, "labels"));
    rp_gradients(loss, w, 2 * net->layers, grad);
    for (size_t i = 0; i < 2 * net->layers; i++)
        update(g, run, net, name[i], w[i], grad[i], rate);
    rp_graph_set(g, RP_OUTPUT_RESULT, "loss", loss);
    return compile(run, g);
}

/* ---- chains: every input is read once and every output written once, nothing else has to move ---- */

enum { CHAIN_ROWS = 4096, CHAIN_COLS = 4096, CHAIN_ROUNDS = 41, PAGE = 4096 };

typedef struct chain {
    const char *name;
    size_t streams; /* tensors read or written */
    rp_tensor (*build)(const rp_tensor *in, rp_tensor row);
} chain;

static rp_tensor bias_relu(const rp_tensor *in, rp_tensor row)
{
    return rp_relu(rp_add(in[0], row));
}

static rp_tensor blend(const rp_tensor *in, rp_tensor row)
{
    rp_tensor half = rp_scale(rp_sub(rp_mul(in[0], in[1]), in[2]), 0.5);

    (void)row;
    return rp_maximum(rp_add(half, in[0]), in[1]);
}

static rp_tensor polynomial(const rp_tensor *in, rp_tensor row)
{
    rp_tensor y = rp_add(in[0], row);

    for (int i = 0; i < 4; i++)
        y = rp_add_scalar(rp_mul(y, in[0]), 0.25);
    return rp_abs(y);
}

static const chain chains[] = {{"bias-relu", 2, bias_relu}, {"polynomial", 2, polynomial}, {"blend", 4, blend}};

static rp_compiled *chain_step(rp_run *run, const chain *c)
{
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor in[3], row = rp_graph_data(g, run, "row");

    for (size_t i = 0; i < 3; i++)
        in[i] = rp_graph_data(g, run, (const char *[]){"a", "b", "c"}[i]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", c->build(in, row));
    return compile(run, g);
}

/* ---- measuring ---- */

typedef struct mode {
    const char *name;
    rp_run *run;
    rp_compiled *compiled;
    rp_recorder *recorder;
    size_t count; /* steps a round */
    double time[ROUNDS];
} mode;

static void fill_feed(rp_compiled *compiled, const char *name, float value)
{
    rp_device_tensor feed;
    rp_error err = {0};

    if (rp_compiled_feed(compiled, name, &feed) && rp_device_tensor_write(&feed, &value, &err) != RP_OK)
        stop("feed", &err);
}

/* What a step is to its user: rates are written, the step executed, the loss looked at. */
static void step(mode *m)
{
    static volatile float sink;
    rp_device_tensor result;
    float loss = 0;
    rp_error err = {0};

    fill_feed(m->compiled, "lr", 0.001f);
    fill_feed(m->compiled, "c1", 0.1f);
    fill_feed(m->compiled, "c2", 0.001f);
    if (rp_compiled_step(m->compiled, &err) != RP_OK)
        stop("step", &err);
    if (rp_compiled_result(m->compiled, "loss", &result) && rp_device_tensor_read(&result, &loss, &err) != RP_OK)
        stop("loss", &err);
    sink = loss;
    (void)sink;
}

static double seconds_a_step(mode *m)
{
    rp_error err = {0};
    double start = rp_seconds_now();

    for (size_t i = 0; i < m->count; i++)
        step(m);
    if (m->recorder &&
        rp_recorder_settle(m->recorder, &err) != RP_OK) /* what hashes beside the next step is its time */
        stop("settle", &err);
    return (rp_seconds_now() - start) / (double)m->count;
}

static void measure(mode *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double one;

        m[i].count = 1;
        for (int warm = 0; warm < 4; warm++)
            one = seconds_a_step(&m[i]);
        m[i].count = 1 + (size_t)(round_seconds / one);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < n; i++)
            m[i].time[round] = seconds_a_step(&m[i]);
}

static rp_run *run_new(unsigned threads)
{
    rp_error err = {0};
    rp_run *run;

    if (rp_run_new(&run, &(rp_run_options){.threads = threads}, &err) != RP_OK)
        stop("run", &err);
    return run;
}

static void mode_free(mode *m)
{
    rp_recorder_free(m->recorder);
    rp_compiled_free(m->compiled);
    rp_run_free(m->run);
}

static void run_network(const network *net, unsigned threads)
{
    mode m[2] = {{.name = "recorded"}, {.name = "compiled"}};
    rp_error err = {0};

    for (size_t i = 0; i < 2; i++) {
        m[i].run = run_new(threads);
        add_tensors(m[i].run, net);
        if (i == 0 && rp_recorder_new(&m[i].recorder, m[i].run, &err) != RP_OK)
            stop("recorder", &err);
        m[i].compiled = training_step(m[i].run, net);
    }
    measure(m, 2);
    for (size_t i = 0; i < 2; i++) {
        const double median = rp_median(m[i].time, ROUNDS);

        printf("%s %s %.9f %.9f\n", net->name, m[i].name, median, m[i].time[0]);
        mode_free(&m[i]);
    }
}

/* The limit: a copy of as many bytes as one tensor has, by the same threads. */
typedef struct copy {
    char *to;
    const char *from;
} copy;

static void copy_pages(void *arg, size_t begin, size_t end)
{
    const copy *c = arg;

    memcpy(c->to + begin * PAGE, c->from + begin * PAGE, (end - begin) * PAGE);
}

static double copy_seconds(rp_pool *pool, copy *c, size_t bytes)
{
    double start = rp_seconds_now();

    rp_pool_run(pool, bytes / PAGE, 1, copy_pages, c);
    return rp_seconds_now() - start;
}

static void run_chain(rp_run *run, const chain *ch, copy *c)
{
    const size_t bytes = (size_t)CHAIN_ROWS * CHAIN_COLS * sizeof(float);
    rp_pool *pool = rp_device_pool(rp_run_device(run));
    mode m = {.run = run, .compiled = chain_step(run, ch), .count = 1};
    double took[CHAIN_ROUNDS], copied[CHAIN_ROUNDS], ratio[CHAIN_ROUNDS], best;

    step(&m);
    for (int round = 0; round < CHAIN_ROUNDS; round++) {
        copied[round] = copy_seconds(pool, c, bytes) / 2; /* for each tensor that moves */
        took[round] = seconds_a_step(&m) / (double)ch->streams;
        ratio[round] = copied[round] / took[round];
    }
    (void)rp_median(took, CHAIN_ROUNDS); /* sorts */
    (void)rp_median(copied, CHAIN_ROUNDS);
    best = copied[0] / took[0];
    printf("%-12s %8.2f %8.2f %8.3f %8.3f\n", ch->name, (double)bytes / took[0] * 1e-9,
           (double)bytes / copied[0] * 1e-9, best, rp_median(ratio, CHAIN_ROUNDS));
    rp_compiled_free(m.compiled);
}

static void run_chains(unsigned threads)
{
    const size_t shape[] = {CHAIN_ROWS, CHAIN_COLS}, count = (size_t)CHAIN_ROWS * CHAIN_COLS;
    float *x = spread(count, 1), *to = spread(count, 1);
    rp_run *run = run_new(threads);
    copy c = {(char *)to, (const char *)x};

    for (size_t i = 0; i < 3; i++)
        add(run, false, (const char *[]){"a", "b", "c"}[i], RP_F32, 2, shape, x);
    add(run, false, "row", RP_F32, 1, &shape[1], x);
    printf("%-12s %8s %8s %8s %8s\n", "chain", "GB/s", "copy", "ratio", "median");
    for (size_t k = 0; k < sizeof chains / sizeof *chains; k++)
        run_chain(run, &chains[k], &c);
    free(x);
    free(to);
    rp_run_free(run);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "gelu";
    unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;

    if (strcmp(name, "chain") == 0)
        run_chains(threads);
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (strcmp(name, networks[i].name) == 0)
            run_network(&networks[i], threads);
    return 0;
}
