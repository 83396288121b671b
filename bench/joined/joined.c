/* SPDX-License-Identifier: Apache-2.0
 * Norms, softmax, reductions, convolutions and products with chains next to them: what the passes that put both into
 * one call make of their time and memory.
 *
 *   build/release/bench/joined [THREADS [ROUNDS [rows|convolutions|weights]]]
 *
 * For each case and shape the processor's milliseconds of a step without and with the pass, the least of all rounds,
 * and the median of the rounds' ratios, in which the two take turns; and bytes of the arena, without and with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/program/graph.h"
#include "core/run/plan.h"
#include "rp/image.h"
#include "rp/rp.h"

enum { CASES = 14, ROUNDS_MOST = 99 };
static const double round_seconds = 0.02;

typedef struct operands {
    rp_tensor x, y, row, beta;
} operands;

static rp_tensor last(rp_tensor (*reduce)(rp_tensor, const int *, int, bool), rp_tensor x)
{
    return reduce(x, (const int[]){-1}, 1, false);
}

/* *keep: another result. */
static rp_tensor made(size_t which, const operands *o, rp_tensor *keep)
{
    rp_tensor d;

    switch (which) {
    case 0:
        return rp_layer_norm(rp_add(o->x, o->y), o->row, o->beta, 1e-5);
    case 1:
        return rp_layer_norm(*keep = rp_add(o->x, o->y), o->row, o->beta, 1e-5);
    case 2:
        return rp_rms_norm(rp_add(rp_mul(o->x, o->row), o->y), o->row, 1e-5);
    case 3:
        return rp_softmax(rp_add(rp_scale(o->x, 0.125), o->y));
    case 4:
        return rp_log_softmax(rp_scale(o->x, 0.125));
    case 5:
        d = rp_sub(o->x, o->y);
        return last(rp_mean, rp_mul(d, d));
    case 6:
        return last(rp_sum, rp_abs(rp_sub(o->x, o->y)));
    case 7:
        return last(rp_max, rp_gelu(o->x));
    case 8:
        return rp_relu(rp_layer_norm(o->x, o->row, o->beta, 1e-5));
    case 9:
        return rp_cast(rp_layer_norm(o->x, o->row, o->beta, 1e-5), RP_BF16);
    case 10:
        return rp_add(rp_layer_norm(o->x, o->row, o->beta, 1e-5), o->y);
    case 11:
        return rp_mul(rp_softmax(o->x), o->y);
    case 12:
        return rp_gelu(rp_rms_norm(rp_add(o->x, o->y), o->row, 1e-5));
    default:
        return rp_mul(rp_softmax(rp_add(rp_scale(o->x, 0.125), o->y)), o->y);
    }
}

static const char *const names[CASES] = {
    "layer norm of x + y",          "the same, x + y kept",        "RMS norm of x row + y", "softmax of x/8 + y",
    "log softmax of x/8",           "means of (x - y)^2",          "sums of |x - y|",       "maxima of gelu(x)",
    "relu of a layer norm",         "bf16 of a layer norm",        "layer norm + y",        "softmax times y",
    "gelu of an RMS norm of x + y", "softmax of x/8 + y, times y",
};

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void stop(const char *what, const rp_error *err)
{
    fprintf(stderr, "joined: %s: %s\n", what, err->text);
    exit(1);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double step_of(rp_plan *plan, size_t times)
{
    const double begin = seconds();
    rp_error err = {0};

    for (size_t i = 0; i < times; i++)
        if (rp_plan_run(plan, &err) != RP_OK)
            stop("step", &err);
    return (seconds() - begin) / (double)times;
}

static rp_program *program_of(size_t which, size_t rows, size_t n)
{
    rp_graph *g = rp_graph_new(NULL);
    const rp_type big = {RP_F32, 2, {rows, n}}, vector = {RP_F32, 1, {n}};
    const operands o = {rp_graph_input(g, RP_INPUT_DATA, "x", &big, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "y", &big, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "row", &vector, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "beta", &vector, NULL)};
    rp_tensor keep = o.x, y = made(which, &o, &keep);
    rp_error err = {0};
    rp_program *p;

    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    if (which == 1)
        rp_graph_set(g, RP_OUTPUT_RESULT, "keep", keep);
    if (!(p = rp_graph_take_program(g, &err)))
        stop(names[which], &err);
    return p;
}

/* A convolution with what follows it in networks; ReLU last. */
typedef struct convolution {
    const char *name;
    size_t images, size, channels, filters, taps, groups;
    bool adds; /* a residual before the ReLU */
} convolution;

static const convolution convolutions[] = {
    {"3x3 64 -> 64", 1, 56, 64, 64, 3, 1, false},          {"the same of 8 images", 8, 56, 64, 64, 3, 1, false},
    {"3x3 64 -> 64, residual", 1, 56, 64, 64, 3, 1, true}, {"3x3 64 -> 64", 1, 28, 64, 64, 3, 1, false},
    {"3x3 128 -> 128", 1, 28, 128, 128, 3, 1, false},      {"3x3 32 -> 32", 1, 64, 32, 32, 3, 1, false},
    {"1x1 64 -> 256", 1, 56, 64, 256, 1, 1, false},        {"depthwise 3x3 of 128", 1, 56, 128, 128, 3, 128, false},
    {"depthwise 3x3 of 96", 1, 112, 96, 96, 3, 96, false}, {"3x3 3 -> 64", 1, 112, 3, 64, 3, 1, false},
    {"7x7 3 -> 64", 1, 112, 3, 64, 7, 1, false},
};

static rp_program *program_of_convolution(const convolution *v)
{
    rp_graph *g = rp_graph_new(NULL);
    const size_t pad = v->taps / 2;
    const rp_placement place = {.padding = {pad, pad, pad, pad}};
    const rp_type image = {RP_F32, 4, {v->images, v->size, v->size, v->channels}},
                  weight = {RP_F32, 4, {v->taps, v->taps, v->channels / v->groups, v->filters}},
                  bias = {RP_F32, 1, {v->filters}}, result = {RP_F32, 4, {v->images, v->size, v->size, v->filters}};
    rp_tensor y = rp_conv2d(rp_graph_input(g, RP_INPUT_DATA, "x", &image, NULL),
                            rp_graph_input(g, RP_INPUT_DATA, "weight", &weight, NULL),
                            rp_graph_input(g, RP_INPUT_DATA, "bias", &bias, NULL), v->groups, &place);
    rp_error err = {0};
    rp_program *p;

    if (v->adds)
        y = rp_add(y, rp_graph_input(g, RP_INPUT_DATA, "residual", &result, NULL));
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_relu(y));
    if (!(p = rp_graph_take_program(g, &err)))
        stop(v->name, &err);
    return p;
}

/* A product of rows by weights that are stored otherwise. */
typedef struct weights {
    const char *name;
    rp_dtype dtype;
    size_t k, n;
    bool turned;  /* the weight is [n, k] */
    bool goes_on; /* with a bias and GELU */
} weights;

static const weights stored[] = {
    {"i8 times a scale a column", RP_I8, 1024, 1024, false, false},
    {"the same turned", RP_I8, 1024, 1024, true, false},
    {"turned, bias and GELU", RP_I8, 768, 3072, true, true},
    {"i8 times a scale a column", RP_I8, 4096, 4096, false, false},
    {"the same turned", RP_I8, 4096, 4096, true, false},
    {"f16 widened, turned", RP_F16, 4096, 4096, true, false},
    {"f16 widened", RP_F16, 1024, 1024, false, false},
    {"f32 times a mask", RP_F32, 1024, 1024, false, false},
    {"f32 times a mask, turned", RP_F32, 4096, 4096, true, false},
    {"i8 times a scale a column", RP_I8, 512, 512, false, false},
    {"the same turned", RP_I8, 512, 512, true, false},
};
static const size_t rows_of_weights[] = {1, 4, 16, 64, 128};

static rp_program *program_of_weights(const weights *w, size_t rows)
{
    rp_graph *g = rp_graph_new(NULL);
    const rp_type x = {RP_F32, 2, {rows, w->k}}, row = {RP_F32, 1, {w->n}}, column = {RP_F32, 2, {w->n, 1}};
    const rp_type weight = {w->dtype, 2, {w->turned ? w->n : w->k, w->turned ? w->k : w->n}};
    rp_tensor wide = rp_graph_input(g, RP_INPUT_DATA, "weight", &weight, NULL), y;
    rp_error err = {0};
    rp_program *p;

    if (w->dtype != RP_F32)
        wide = rp_cast(wide, RP_F32);
    if (w->dtype == RP_I8)
        wide = rp_mul(wide, rp_graph_input(g, RP_INPUT_DATA, "scale", w->turned ? &column : &row, NULL));
    if (w->dtype == RP_F32)
        wide = rp_mul(wide, rp_graph_input(g, RP_INPUT_DATA, "mask", &weight, NULL));
    y = rp_matmul(rp_graph_input(g, RP_INPUT_DATA, "x", &x, NULL),
                  w->turned ? rp_transpose(wide, (const int[]){1, 0}) : wide);
    if (w->goes_on)
        y = rp_gelu(rp_add(y, rp_graph_input(g, RP_INPUT_DATA, "bias", &row, NULL)));
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    if (!(p = rp_graph_take_program(g, &err)))
        stop(w->name, &err);
    return p;
}

/* The program is freed. */
static void measure(rp_program *p, unsigned pass, const char *name, const char *shape, rp_device *device, size_t rounds)
{
    void *memory[4] = {0};
    double least[2] = {1e9, 1e9}, ratio[ROUNDS_MOST];
    rp_plan *plan[2];
    rp_error err = {0};
    size_t times;

    for (size_t i = 0; i < p->n_inputs; i++) {
        const size_t count = rp_type_count(&p->value[p->input[i].value]);
        float *x = aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64);
        const rp_dtype dtype = p->value[p->input[i].value].dtype;

        for (size_t k = 0; x && k < count; k++)
            if (dtype == RP_I8)
                ((int8_t *)x)[k] = (int8_t)((k * 2654435761u + i) % 255 - 127);
            else if (dtype == RP_F16) /* 0.5 to 2 and their negatives */
                ((uint16_t *)x)[k] = (uint16_t)(0x3800 + (k * 2654435761u + i) % 2048 + (k % 2 << 15));
            else
                x[k] = (float)((k * 2654435761u + i) % 2001) / 1000 - 1;
        memory[i] = x;
    }
    for (size_t i = 0; i < 2; i++)
        if (rp_plan_new_in(&plan[i], p, device, memory, NULL, i ? RP_PASSES : RP_PASSES & ~pass, &err) != RP_OK)
            stop(name, &err);
    (void)step_of(plan[0], 1);
    (void)step_of(plan[1], 1);
    times = 1 + (size_t)(round_seconds / step_of(plan[0], 1));
    for (size_t r = 0; r < rounds; r++) {
        double took[2];

        for (size_t i = 0; i < 2; i++) {
            const size_t at = (i + r) % 2;

            took[at] = step_of(plan[at], times);
            least[at] = took[at] < least[at] ? took[at] : least[at];
        }
        ratio[r] = took[1] / took[0];
    }
    qsort(ratio, rounds, sizeof *ratio, by_size);
    printf("%-30s %-14s %8.3f %8.3f ms  %.2f  calls %zu %zu  arena %9zu %9zu\n", name, shape, least[0] * 1e3,
           least[1] * 1e3, ratio[rounds / 2], rp_plan_launches(plan[0]), rp_plan_launches(plan[1]),
           rp_plan_arena_bytes(plan[0]), rp_plan_arena_bytes(plan[1]));
    (void)fflush(stdout);
    for (size_t i = 0; i < 2; i++)
        rp_plan_free(plan[i]);
    for (size_t i = 0; i < p->n_inputs; i++)
        free(memory[i]);
    rp_program_free(p);
}

static void measure_rows(rp_device *device, size_t rounds)
{
    static const size_t shapes[][2] = {{1024, 256}, {1024, 1024}, {8192, 256}, {8192, 1024}, {256, 32000}};
    char shape[48];

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t which = 0; which < CASES; which++) {
            (void)snprintf(shape, sizeof shape, "%zu x %zu", shapes[s][0], shapes[s][1]);
            measure(program_of(which, shapes[s][0], shapes[s][1]), RP_PASS_ROWS, names[which], shape, device, rounds);
        }
}

static void measure_convolutions(rp_device *device, size_t rounds)
{
    char shape[48];

    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) {
        const convolution *v = &convolutions[i];

        (void)snprintf(shape, sizeof shape, "%zu x %zu", v->size, v->size);
        measure(program_of_convolution(v), RP_PASS_EPILOGUES, v->name, shape, device, rounds);
    }
}

static void measure_weights(rp_device *device, size_t rounds)
{
    char shape[48];

    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++)
        for (size_t r = 0; r < sizeof rows_of_weights / sizeof *rows_of_weights; r++) {
            (void)snprintf(shape, sizeof shape, "%zu %zu %zu", rows_of_weights[r], stored[i].k, stored[i].n);
            measure(program_of_weights(&stored[i], rows_of_weights[r]), RP_PASS_PROLOGUES, stored[i].name, shape,
                    device, rounds);
        }
}

int main(int argc, char **argv)
{
    const size_t threads = argc > 1 ? (size_t)atoi(argv[1]) : 1, asked = argc > 2 ? (size_t)atoi(argv[2]) : 11;
    const size_t rounds = asked < 1 ? 1 : asked > ROUNDS_MOST ? ROUNDS_MOST : asked;
    const char *only = argc > 3 ? argv[3] : "";
    rp_device *device;
    rp_error err = {0};

    if (rp_device_cpu_new(&device, NULL, (unsigned)threads, &err) != RP_OK)
        stop("device", &err);
    if (!*only || strcmp(only, "rows") == 0)
        measure_rows(device, rounds);
    if (!*only || strcmp(only, "convolutions") == 0)
        measure_convolutions(device, rounds);
    if (!*only || strcmp(only, "weights") == 0)
        measure_weights(device, rounds);
    rp_device_free(device);
    return 0;
}
