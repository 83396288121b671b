/* SPDX-License-Identifier: Apache-2.0
 * What recording adds to a training step: the same compiled program stepped in three runs in turn, one not recorded,
 * one whose whole state is hashed at every step, one where that happens beside the next step, one with rolling state
 * digests.
 *
 *   build/release/bench/recording [THREADS [PERIOD [small]]]
 *
 * Runs take turns in short rounds, so that drift hits all alike; a figure is the median over the rounds of the ratio to
 * the run that is not recorded, with the quartiles beside it. Rows of a table bound to the run are gathered by number,
 * as a recipe's steps do. The final states are compared bit for bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/record/recorder.h"
#include "core/run/run.h"
#include "rp/rp.h"

enum { LAYERS_MAX = 3, ROUNDS = 31, SIDES = 4, ROWS = 2048 };

typedef struct network {
    const char *name;
    size_t width[LAYERS_MAX + 1], layers, batch;
    int steps; /* a round */
} network;

static double clock_of(clockid_t id)
{
    struct timespec t;

    (void)clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "recording: %s: %s\n", what, err->text);
    exit(1);
}

static void need(rp_status status, const char *what, const rp_error *err)
{
    if (status != RP_OK)
        stop(what, err);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void add_state(rp_run *run, const char *prefix, char kind, size_t layer, int rank, const size_t *shape,
                      float scale)
{
    size_t count = rank == 2 ? shape[0] * shape[1] : shape[0];
    float *initial = calloc(count, sizeof *initial);
    char name[16];
    rp_error err = {0};

    for (size_t i = 0; initial && scale > 0 && i < count; i++)
        initial[i] = (float)((int)(i * 7919 % 2003) - 1001) * scale;
    (void)snprintf(name, sizeof name, "%s%c%zu", prefix, kind, layer);
    need(rp_run_add_state(run, name, RP_F32, rank, shape, initial, &err), name, &err);
    free(initial);
}

static rp_run *new_run(const network *net, unsigned threads)
{
    const rp_run_options options = {.threads = threads};
    const size_t table[] = {ROWS, net->width[0]}, labels[] = {ROWS};
    float *x = calloc(table[0] * table[1], sizeof *x);
    int64_t *y = calloc(ROWS, sizeof *y);
    rp_error err = {0};
    rp_run *run;

    need(rp_run_new(&run, &options, &err), "run", &err);
    for (size_t i = 0; i < net->layers; i++)
        for (int part = 0; part < 3; part++) { /* the parameter and Adam's two moments */
            static const char *const prefix[] = {"", "m.", "v."};

            add_state(run, prefix[part], 'w', i, 2, &net->width[i], part ? 0 : 3e-5f);
            add_state(run, prefix[part], 'b', i, 1, &net->width[i + 1], 0);
        }
    for (size_t i = 0; x && i < table[0] * table[1]; i++)
        x[i] = (float)(i * 37 % 101) / 101.0f;
    for (size_t i = 0; y && i < ROWS; i++)
        y[i] = (int64_t)(i * 31 % net->width[net->layers]);
    need(rp_run_add_data(run, "x", RP_F32, 2, table, x, &err), "x", &err);
    need(rp_run_add_data(run, "y", RP_I64, 1, labels, y, &err), "y", &err);
    free(x);
    free(y);
    return run;
}

static void write_feed(const rp_compiled *compiled, const char *name, const void *from)
{
    rp_device_tensor feed;
    rp_error err = {0};

    (void)rp_compiled_feed(compiled, name, &feed);
    need(rp_device_tensor_write(&feed, from, &err), "feed", &err);
}

static void fill_rows(const network *net, int64_t *rows, unsigned step)
{
    for (size_t i = 0; i < net->batch; i++)
        rows[i] = (int64_t)((i * 7 + step * 13u) % ROWS);
}

/* The program: one eager step, observed. */
static rp_status keep_program(void *self, const rp_step_event *event, rp_error *err)
{
    rp_program **kept = self;

    *kept = rp_program_copy(event->program);
    return *kept ? RP_OK : rp_fail(err, RP_ENOMEM, "out of memory");
}

static void update(rp_run *run, const char *name, rp_tensor w, rp_tensor grad, const rp_tensor *rate)
{
    char m_name[16], v_name[16];
    rp_tensor m, v;

    (void)snprintf(m_name, sizeof m_name, "m.%s", name);
    (void)snprintf(v_name, sizeof v_name, "v.%s", name);
    m = rp_state(run, m_name);
    v = rp_state(run, v_name);
    rp_set_state(run, name,
                 rp_adam(w, &m, &v, grad, rate[0], rate[1], rate[2], &(rp_adam_options){0.9, 0.999, 1e-8, 0, false}));
    rp_set_state(run, m_name, m);
    rp_set_state(run, v_name, v);
}

static void eager_step(rp_run *run, const network *net)
{
    const size_t batch[] = {net->batch};
    const float rate[3] = {1e-4f, 0.1f, 0.001f};
    static const char *const rate_name[] = {"lr", "c1", "c2"};
    char name[2 * LAYERS_MAX][16];
    rp_tensor w[2 * LAYERS_MAX], grad[2 * LAYERS_MAX], fed[3], h, rows, loss;
    int64_t *number = calloc(net->batch, sizeof *number);
    rp_error err = {0};

    need(rp_step_begin(run, &err), "step", &err);
    fill_rows(net, number, 0);
    rows = rp_feed(run, "rows", RP_I64, 1, batch, number);
    for (int i = 0; i < 3; i++)
        fed[i] = rp_feed(run, rate_name[i], RP_F32, 0, NULL, &rate[i]);
    h = rp_gather(rp_data(run, "x"), rows, 0);
    for (size_t i = 0; i < net->layers; i++) {
        for (size_t k = 0; k < 2; k++) {
            (void)snprintf(name[2 * i + k], sizeof name[0], "%c%zu", "wb"[k], i);
            w[2 * i + k] = rp_state(run, name[2 * i + k]);
        }
        h = rp_linear(h, w[2 * i], w[2 * i + 1]);
        if (i + 1 < net->layers)
            h = rp_relu(h);
    }
    loss = rp_cross_entropy(h, rp_gather(rp_data(run, "y"), rows, 0));
    rp_gradients(loss, w, 2 * net->layers, grad);
    for (size_t i = 0; i < 2 * net->layers; i++)
        update(run, name[i], w[i], grad[i], fed);
    rp_result(run, "loss", loss);
    need(rp_step_end(run, &err), "step", &err);
    free(number);
}

static rp_program *program_of(const network *net)
{
    rp_run *run = new_run(net, 1);
    rp_program *program = NULL;
    rp_error err = {0};

    need(rp_run_observe(run, (rp_observer){keep_program, &program}, &err), "observer", &err);
    eager_step(run, net);
    rp_run_free(run);
    return program;
}

typedef struct side {
    rp_run *run;
    rp_recorder *recorder;
    rp_compiled *compiled;
    unsigned steps;
} side;

static void open_side(side *s, const network *net, const rp_program *program, unsigned threads, uint64_t period,
                      unsigned beside)
{
    static const float rate[3] = {1e-4f, 0.1f, 0.001f};
    rp_program *copy = rp_program_copy(program);
    rp_error err = {0};

    *s = (side){.run = new_run(net, threads)};
    if (period > 0)
        need(rp_recorder_new(&s->recorder, s->run, &err), "recorder", &err);
    if (period > 0) {
        need(rp_recorder_set_state_period(s->recorder, period, &err), "period", &err);
        rp_recorder_set_beside(s->recorder, beside);
    }
    need(rp_run_compile(&s->compiled, s->run, copy, &err), "compile", &err);
    write_feed(s->compiled, "lr", &rate[0]);
    write_feed(s->compiled, "c1", &rate[1]);
    write_feed(s->compiled, "c2", &rate[2]);
}

/* Seconds a step of a round: on the clock, of all processors' time, and in the recorder. */
typedef struct cost {
    double wall[ROUNDS], cpu[ROUNDS], watching[ROUNDS];
} cost;

static void steps(side *s, const network *net, cost *c, int round)
{
    double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t watched = s->recorder ? rp_recorder_nanoseconds(s->recorder) : 0;
    int64_t *rows = calloc(net->batch, sizeof *rows);
    rp_error err = {0};

    for (int k = 0; k < net->steps; k++) {
        fill_rows(net, rows, s->steps++);
        write_feed(s->compiled, "rows", rows);
        need(rp_compiled_step(s->compiled, &err), "compiled step", &err);
    }
    free(rows);
    c->wall[round] =
        (clock_of(CLOCK_MONOTONIC) - wall) / net->steps; /* what hides beside a next step is not waited for */
    if (s->recorder)
        need(rp_recorder_settle(s->recorder, &err), "settle", &err);
    c->cpu[round] = (clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / net->steps;
    if (s->recorder)
        c->watching[round] = (double)(rp_recorder_nanoseconds(s->recorder) - watched) * 1e-9 / net->steps;
}

static void check_same_bits(const side *a, const side *b)
{
    rp_error err = {0};
    size_t n, m;
    const rp_device_tensor *x = rp_run_states(a->run, &n), *y = rp_run_states(b->run, &m);

    for (size_t i = 0; i < n; i++)
        if (n != m || memcmp(x[i].memory, y[i].memory, rp_type_bytes(&x[i].type)) != 0) {
            (void)rp_fail(&err, RP_EBITS, "%s differs", x[i].name);
            stop("states", &err);
        }
}

static void ratio_text(char out[40], const double *x, const double *y)
{
    double ratio[ROUNDS];

    for (int i = 0; i < ROUNDS; i++)
        ratio[i] = x[i] / y[i];
    qsort(ratio, ROUNDS, sizeof *ratio, ascending);
    (void)snprintf(out, 40, "%.3f (%.3f to %.3f)", ratio[ROUNDS / 2], ratio[ROUNDS / 4],
                   ratio[ROUNDS - 1 - ROUNDS / 4]);
}

static void measure(const network *net, unsigned threads, uint64_t period)
{
    static const char *const what[SIDES] = {"not recorded", "every step, whole state", "the same, beside", "rolling"};
    rp_program *program = program_of(net);
    static cost c[SIDES];
    side s[SIDES];

    for (int k = 0; k < SIDES; k++) {
        open_side(&s[k], net, program, threads, k == 0 ? 0 : k < SIDES - 1 ? 1 : period, k == 2);
        steps(&s[k], net, &c[k], 0);
    }
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < SIDES; k++)
            steps(&s[(k + i) % SIDES], net, &c[(k + i) % SIDES], i);
    for (int k = 1; k < SIDES; k++)
        check_same_bits(&s[0], &s[k]);
    printf("\n%s\n%-24s %12s %10s  %-22s %-22s %s\n", net->name, "", "median", "least", "ratio, wall",
           "ratio, processor time", "watching, median and least");
    for (int k = SIDES - 1; k >= 0; k--) { /* side 0 last: the others' ratios need its rounds in order */
        char wall[40], cpu[40];

        ratio_text(wall, c[k].wall, c[0].wall);
        ratio_text(cpu, c[k].cpu, c[0].cpu);
        qsort(c[k].wall, ROUNDS, sizeof *c->wall, ascending);
        qsort(c[k].watching, ROUNDS, sizeof *c->watching, ascending);
        printf("%-24s %9.1f us %7.1f us  %-22s %-22s %.1f us %.1f us\n", what[k], c[k].wall[ROUNDS / 2] * 1e6,
               c[k].wall[0] * 1e6, wall, cpu, c[k].watching[ROUNDS / 2] * 1e6, c[k].watching[0] * 1e6);
    }
    for (int k = 0; k < SIDES; k++) {
        rp_compiled_free(s[k].compiled);
        rp_recorder_free(s[k].recorder);
        rp_run_free(s[k].run);
    }
    rp_program_free(program);
}

int main(int argc, char **argv)
{
    static const network networks[] = {{"784-1024-1024-10, batch 256, Adam", {784, 1024, 1024, 10}, 3, 256, 6},
                                       {"61-64-2, batch 32, Adam", {61, 64, 2}, 2, 32, 200}};
    unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    uint64_t period = argc > 2 ? strtoul(argv[2], NULL, 10) : 16;

    printf("median of %d rounds, %u threads, rolling: period %llu\n", ROUNDS, threads, (unsigned long long)period);
    for (size_t i = argc > 3; i < sizeof networks / sizeof *networks; i++) /* any third argument: the small one only */
        measure(&networks[i], threads, period);
    return 0;
}
