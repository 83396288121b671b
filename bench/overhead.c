/* SPDX-License-Identifier: Apache-2.0
 * The two overheads that recording and flexibility cost: a whole job recorded against the same job not recorded, and a
 * training step executed eagerly against the same program compiled and executed again and again.
 *
 *   build/release/bench/overhead [THREADS]
 *
 * Both sides of a pair run in turn, so that drift hits both alike; the figure is the median over the pairs of their
 * ratio, with the quartiles beside it. The compiled side runs the very program that the eager side built
 * (rp_run_compile), on the same values: their final states are compared bit for bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/run/run.h"
#include "rp/rp.h"

enum { PAIRS = 15 };

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "overhead: %s: %s\n", what, err->text);
    exit(1);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* One row: medians of both sides, and of their ratio with its quartiles. */
static void report(const char *what, double *with, double *without, double scale, const char *unit)
{
    double ratio[PAIRS];

    for (int i = 0; i < PAIRS; i++)
        ratio[i] = with[i] / without[i];
    qsort(ratio, PAIRS, sizeof *ratio, ascending);
    printf("%-34s %9.2f %s %9.2f %s   %6.3f  (%.3f to %.3f)\n", what, median(with, PAIRS) * scale, unit,
           median(without, PAIRS) * scale, unit, ratio[PAIRS / 2], ratio[PAIRS / 4], ratio[PAIRS - 1 - PAIRS / 4]);
}

/* ---- recording ---- */

/* Seconds; *watching: the part of them that went into watching the steps. */
static double run_recipe(const char *recipe, bool record, const char *archive, unsigned threads, double *watching)
{
    rp_job_options options = {.threads = threads, .no_record = !record};
    rp_error err;
    rp_job *job = NULL;
    double start = now();

    if (rp_train_recipe(recipe, record ? archive : NULL, NULL, true, &options, &job, &err) != RP_OK)
        stop(recipe, &err);
    *watching = job->recording_seconds;
    rp_job_free(job);
    return now() - start;
}

static void recording(const char *source, const char *name, unsigned threads)
{
    char recipe[512], archive[] = "/tmp/rp-overhead-XXXXXX";
    double with[PAIRS], without[PAIRS], watching[PAIRS], none;
    rp_error err = {0};
    int fd = mkstemp(archive);

    if (fd < 0) {
        (void)rp_fail(&err, RP_EIO, "cannot make a file in /tmp");
        stop(name, &err);
    }
    (void)snprintf(recipe, sizeof recipe, "%s/examples/%s.yaml", source, name);
    (void)run_recipe(recipe, true, archive, threads, &none);
    for (int i = 0; i < PAIRS; i++) {
        /* who goes first alternates: the second finds warmer caches */
        if (i % 2)
            with[i] = run_recipe(recipe, true, archive, threads, &watching[i]);
        without[i] = run_recipe(recipe, false, NULL, threads, &none);
        if (i % 2 == 0)
            with[i] = run_recipe(recipe, true, archive, threads, &watching[i]);
    }
    (void)close(fd);
    (void)remove(archive);
    report(name, with, without, 1e3, "ms");
    printf("%-34s %9.2f ms of it watching the steps\n", "", median(watching, PAIRS) * 1e3);
}

/* ---- eager and compiled ---- */

enum { BATCH = 32, FEATURES = 61, CLASSES = 2, PARAMETERS = 4, STEPS = 200 };

typedef struct network {
    const char *name;
    size_t hidden;
    bool gelu;
    double dropout;
} network;

static const char *const parameter[PARAMETERS] = {"w1", "b1", "w2", "b2"};

/* What is fed at every step; the values do not matter for the time. */
typedef struct feeds {
    float x[BATCH * FEATURES], lr, c1, c2;
    int64_t labels[BATCH], rng[2];
} feeds;

static void fill_feeds(feeds *f)
{
    *f = (feeds){.lr = 0.003f, .c1 = 0.1f, .c2 = 0.001f, .rng = {7, 1}};
    for (int i = 0; i < BATCH * FEATURES; i++)
        f->x[i] = (float)(i * 37 % 101 - 50) / 50.0f;
    for (int i = 0; i < BATCH; i++)
        f->labels[i] = i % 3 == 0;
}

static void add_states(rp_run *run, const network *net)
{
    const size_t shape[PARAMETERS][2] = {{FEATURES, net->hidden}, {net->hidden}, {net->hidden, CLASSES}, {CLASSES}};
    static const int rank[PARAMETERS] = {2, 1, 2, 1};
    float *initial = calloc(FEATURES * net->hidden, sizeof *initial);
    rp_error err = {0};
    char name[16];

    for (size_t i = 0; initial && i < FEATURES * net->hidden; i++)
        initial[i] = (float)((int)(i * 29 % 61) - 30) / 300.0f;
    for (int i = 0; i < PARAMETERS; i++)
        for (int part = 0; part < 3; part++) { /* the parameter and Adam's two moments */
            (void)snprintf(name, sizeof name, "%s%s", part == 0 ? "" : part == 1 ? "m." : "v.", parameter[i]);
            if (rp_run_add_state(run, name, RP_F32, rank[i], shape[i], part == 0 && rank[i] == 2 ? initial : NULL,
                                 &err) != RP_OK)
                stop(name, &err);
        }
    free(initial);
}

static void eager_step(rp_run *run, const network *net, const feeds *f)
{
    static const size_t x_shape[] = {BATCH, FEATURES}, label_shape[] = {BATCH}, pair[] = {2};
    rp_tensor w[PARAMETERS], grad[PARAMETERS], x, labels, hidden, loss, lr, c1, c2;
    rp_error err = {0};

    if (rp_step_begin(run, &err) != RP_OK)
        stop("step", &err);
    for (int i = 0; i < PARAMETERS; i++)
        w[i] = rp_state(run, parameter[i]);
    x = rp_feed(run, "x", RP_F32, 2, x_shape, f->x);
    labels = rp_feed(run, "labels", RP_I64, 1, label_shape, f->labels);
    lr = rp_feed(run, "lr", RP_F32, 0, NULL, &f->lr);
    c1 = rp_feed(run, "c1", RP_F32, 0, NULL, &f->c1);
    c2 = rp_feed(run, "c2", RP_F32, 0, NULL, &f->c2);
    hidden = rp_linear(x, w[0], w[1]);
    hidden = net->gelu ? rp_gelu(hidden) : rp_relu(hidden);
    if (net->dropout > 0)
        hidden = rp_dropout(hidden, net->dropout, rp_feed(run, "rng", RP_I64, 1, pair, f->rng), 1);
    loss = rp_cross_entropy(rp_linear(hidden, w[2], w[3]), labels);
    rp_gradients(loss, w, PARAMETERS, grad);
    for (int i = 0; i < PARAMETERS; i++) {
        char m_name[16], v_name[16];
        rp_tensor m, v;

        (void)snprintf(m_name, sizeof m_name, "m.%s", parameter[i]);
        (void)snprintf(v_name, sizeof v_name, "v.%s", parameter[i]);
        m = rp_state(run, m_name);
        v = rp_state(run, v_name);
        rp_set_state(run, parameter[i],
                     rp_adam(w[i], &m, &v, grad[i], lr, c1, c2, &(rp_adam_options){0.9, 0.999, 1e-8, 0.5, true}));
        rp_set_state(run, m_name, m);
        rp_set_state(run, v_name, v);
    }
    rp_result(run, "loss", loss);
    if (rp_step_end(run, &err) != RP_OK)
        stop("step", &err);
}

static rp_status keep_program(void *self, const rp_step_event *event, rp_error *err)
{
    rp_program **kept = self;

    *kept = rp_program_copy(event->program);
    return *kept ? RP_OK : rp_fail(err, RP_ENOMEM, "out of memory");
}

static void compiled_step(rp_compiled *compiled, const feeds *f)
{
    const struct {
        const char *name;
        const void *from;
    } feed[] = {{"x", f->x}, {"labels", f->labels}, {"lr", &f->lr}, {"c1", &f->c1}, {"c2", &f->c2}, {"rng", f->rng}};
    rp_error err = {0};

    for (size_t i = 0; i < sizeof feed / sizeof *feed; i++) {
        rp_device_tensor to;

        if (rp_compiled_feed(compiled, feed[i].name, &to) && rp_device_tensor_write(&to, feed[i].from, &err) != RP_OK)
            stop("feed", &err);
    }
    if (rp_compiled_step(compiled, &err) != RP_OK)
        stop("compiled step", &err);
}

static rp_run *new_run(const network *net, unsigned threads)
{
    rp_run_options options = {.threads = threads};
    rp_error err = {0};
    rp_run *run;

    if (rp_run_new(&run, &options, &err) != RP_OK)
        stop("run", &err);
    add_states(run, net);
    return run;
}

static void check_same_bits(const rp_run *a, const rp_run *b)
{
    rp_error err = {0};
    size_t n, m;
    const rp_device_tensor *x = rp_run_states(a, &n), *y = rp_run_states(b, &m);

    for (size_t i = 0; i < n; i++)
        if (n != m || memcmp(x[i].memory, y[i].memory, rp_type_bytes(&x[i].type)) != 0) {
            (void)rp_fail(&err, RP_EBITS, "%s differs between eager and compiled", x[i].name);
            stop("states", &err);
        }
}

static void eager_and_compiled(const network *net, unsigned threads)
{
    rp_run *eager = new_run(net, threads), *other = new_run(net, threads);
    rp_program *program = NULL;
    rp_compiled *compiled = NULL;
    double with[PAIRS], without[PAIRS];
    rp_error err = {0};
    feeds f;

    fill_feeds(&f);
    if (rp_run_observe(eager, (rp_observer){keep_program, &program}, &err) != RP_OK)
        stop("observer", &err);
    eager_step(eager, net, &f);
    rp_run_unobserve(eager, &program);
    if (rp_run_compile(&compiled, other, program, &err) != RP_OK)
        stop("compile", &err);
    compiled_step(compiled, &f);
    for (int i = 0; i < PAIRS; i++) {
        double start = now();

        for (int k = 0; k < STEPS; k++)
            eager_step(eager, net, &f);
        with[i] = (now() - start) / STEPS;
        start = now();
        for (int k = 0; k < STEPS; k++)
            compiled_step(compiled, &f);
        without[i] = (now() - start) / STEPS;
    }
    check_same_bits(eager, other);
    report(net->name, with, without, 1e6, "us");
    rp_compiled_free(compiled);
    rp_run_free(other);
    rp_run_free(eager);
}

int main(int argc, char **argv)
{
    static const char *const recipes[] = {"loans", "german_credit", "german_credit_logistic", "digits"};
    static const network networks[] = {{"credit 61-32-2 relu, dropout 0.3", 32, false, 0.3},
                                       {"61-64-2 gelu", 64, true, 0}};
    const char *source = RP_SOURCE_DIR;
    unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    char data[512];

    (void)snprintf(data, sizeof data, "%s/../shared/data/german_credit.csv", source);
    printf("median of %d pairs, %u threads\n\n", PAIRS, threads);
    printf("%-34s %12s %12s   %6s  %s\n", "whole job, archive written", "recorded", "not", "ratio", "(quartiles)");
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        if (i > 0 && access(data, R_OK) != 0) {
            printf("%-34s skipped: no %s\n", recipes[i], data);
            continue;
        }
        recording(source, recipes[i], threads);
    }
    printf("\n%-34s %12s %12s   %6s  %s\n", "training step, batch 32, AdamW", "eager", "compiled", "ratio",
           "(quartiles)");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        eager_and_compiled(&networks[i], threads);
    return 0;
}
