/* SPDX-License-Identifier: Apache-2.0
 * A training step's program as C steps it: what bench/doors/torch_speed.py sets a door to the same program beside.
 *
 *   build/release/bench/door_program FOLDER THREADS BETA1 BETA2
 *
 * FOLDER has program.json and the elements of each input, by its number: 0.bin, 1.bin ... . Each line "N" of the input
 * is answered, after one step that is not counted, by N steps: the processor's seconds of one, and the last loss as a
 * hex float. A step writes all feeds (optim.c1.K and optim.c2.K, the corrections of Adam's moments, are computed), is
 * made, and its loss is read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rp/program.h"
#include "rp/run.h"

enum { INPUTS_MAX = 4096 };

typedef struct feed {
    const char *name;
    void *bytes;
    size_t size;
    rp_dtype dtype;
    double beta; /* 0: the same at each step */
} feed;

static feed feeds[INPUTS_MAX];
static size_t n_feeds;

static void stop(const char *what, const rp_error *err)
{
    (void)fprintf(stderr, "%s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static void *whole(const char *folder, const char *name, size_t *size)
{
    char path[4096];
    FILE *file;
    void *bytes;
    long length = 0;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        stop(path, NULL);
    *size = (size_t)length;
    bytes = malloc(*size ? *size : 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        stop(path, NULL);
    (void)fclose(file);
    return bytes;
}

static void add_input(rp_run *run, const rp_input_info *in, void *bytes, size_t size, const double beta[2])
{
    const rp_type *t = &in->type;
    rp_error err = {0};
    rp_status status = RP_OK;

    if (in->kind == RP_INPUT_STATE)
        status = rp_run_add_state(run, in->name, t->dtype, t->rank, t->shape, bytes, &err);
    else if (in->kind == RP_INPUT_DATA)
        status = rp_run_add_data(run, in->name, t->dtype, t->rank, t->shape, bytes, &err);
    if (status != RP_OK)
        stop(in->name, &err);
    if (in->kind != RP_INPUT_FEED) {
        free(bytes);
        return;
    }
    feeds[n_feeds] = (feed){in->name, bytes, size, t->dtype, 0};
    if (strncmp(in->name, "optim.c", 7) == 0)
        feeds[n_feeds].beta = beta[in->name[7] == '2'];
    n_feeds++;
}

static float step(rp_compiled *compiled, double t)
{
    rp_error err = {0};
    float loss = 0;

    for (size_t i = 0; i < n_feeds; i++) {
        feed *f = &feeds[i];

        if (f->beta != 0 && f->dtype == RP_F32)
            memcpy(f->bytes, &(float){(float)(1 - pow(f->beta, t))}, sizeof(float));
        if (rp_compiled_write(compiled, f->name, f->bytes, f->size, &err) != RP_OK)
            stop(f->name, &err);
    }
    if (rp_compiled_step(compiled, &err) != RP_OK ||
        rp_compiled_read(compiled, "loss", &loss, sizeof loss, &err) != RP_OK)
        stop("step", &err);
    return loss;
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    const double beta[2] = {argc > 3 ? atof(argv[3]) : 0, argc > 4 ? atof(argv[4]) : 0};
    rp_run_options options = {.threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1};
    rp_error err = {0};
    rp_program *program;
    rp_compiled *compiled;
    rp_run *run;
    rp_input_info in;
    size_t size, steps = 0;
    char *text, line[64];

    if (argc < 2)
        stop("door_program FOLDER THREADS BETA1 BETA2", NULL);
    text = whole(argv[1], "program.json", &size);
    if (rp_program_read(&program, text, size, "program.json", &err) != RP_OK ||
        rp_run_new(&run, &options, &err) != RP_OK)
        stop("program.json", &err);
    for (size_t i = 0; rp_program_input(program, i, &in) && i < INPUTS_MAX; i++) {
        char name[32];
        void *bytes;

        (void)snprintf(name, sizeof name, "%zu.bin", i);
        bytes = whole(argv[1], name, &size);
        add_input(run, &in, bytes, size, beta);
    }
    if (rp_compile(&compiled, run, program, &err) != RP_OK)
        stop("compile", &err);
    while (fgets(line, sizeof line, stdin)) {
        const unsigned long n = strtoul(line, NULL, 10);
        float loss = step(compiled, (double)++steps);
        const double begin = now();

        for (unsigned long i = 0; i < n; i++)
            loss = step(compiled, (double)++steps);
        (void)printf("%.9g %a\n", (now() - begin) / (double)(n ? n : 1), (double)loss);
        (void)fflush(stdout);
    }
    rp_compiled_free(compiled);
    rp_run_free(run);
    rp_program_free(program);
    free(text);
    for (size_t i = 0; i < n_feeds; i++)
        free(feeds[i].bytes);
    return 0;
}
