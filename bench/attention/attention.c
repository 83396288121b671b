/* SPDX-License-Identifier: Apache-2.0
 * Attention and its gradient in binary32, of full and causal rows, as compiled steps: what
 * bench/peers/attention_torch.py runs in PyTorch; with --written the same in products, masks and softmax instead.
 *
 *   build/release/bench/attention [--threads 1] [--rounds 7] [--written]
 *
 * Prints "BATCH x HEADS x TOKENS x WIDTH full|causal forward|both seconds bytes": the median, both being forward and
 * gradient, and the memory of the compiled step. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/run/run.h"
#include "determinism/philox.h"
#include "kernels/limits.h"
#include "rp/rp.h"

enum { ROUNDS_MAX = 99 };

typedef struct shape {
    size_t batch, heads, tokens, width;
} shape;

static const shape shapes[] = {{1, 8, 2048, 64}, {8, 8, 512, 64}};

static void stop(const rp_error *err)
{
    fprintf(stderr, "attention: %s\n", err->text);
    exit(1);
}

/* q, k, v, the gradient that arrives, and the mask of the composition: data of the run. */
static void add_data(rp_run *run, const shape *s)
{
    const size_t of[4] = {s->batch, s->heads, s->tokens, s->width}, square[2] = {s->tokens, s->tokens};
    const size_t n = s->batch * s->heads * s->tokens * s->width;
    float *x = malloc(n * sizeof *x), *mask = malloc(s->tokens * s->tokens * sizeof *mask);
    char name[2] = "q";
    rp_error err = {0};

    if (!x || !mask)
        stop(&(rp_error){.text = "out of memory"});
    for (uint32_t i = 0; i < 4; i++) {
        name[0] = "qkvg"[i];
        for (size_t j = 0; j < n; j++)
            x[j] = 4 * (rp_uniform_f32(rp_random_u32(1, 0, i, j)) - 0.5f);
        if (rp_run_add_data(run, name, RP_F32, 4, of, x, &err) != RP_OK)
            stop(&err);
    }
    for (size_t i = 0; i < s->tokens * s->tokens; i++)
        mask[i] = i % s->tokens > i / s->tokens ? -1e9f : 0;
    if (rp_run_add_data(run, "mask", RP_F32, 2, square, mask, &err) != RP_OK)
        stop(&err);
    free(x);
    free(mask);
}

static rp_tensor input(rp_graph *g, const char *name, const shape *s, bool square)
{
    rp_type type = {RP_F32, 4, {s->batch, s->heads, s->tokens, s->width}};

    if (square)
        type = (rp_type){RP_F32, 2, {s->tokens, s->tokens}};
    return rp_graph_input(g, RP_INPUT_DATA, name, &type, NULL);
}

static rp_tensor written_out(rp_graph *g, const shape *s, const rp_tensor *in, bool causal)
{
    rp_tensor z = rp_matmul(in[0], rp_transpose(in[1], NULL));

    z = rp_scale(z, 0.125);
    if (causal)
        z = rp_add(z, input(g, "mask", s, true));
    return rp_matmul(rp_softmax(z), in[2]);
}

/* A step that reports one element of each result: all of it is computed, little is copied. */
static rp_program *program_of(const shape *s, bool causal, bool both, bool written)
{
    rp_graph *g = rp_graph_new(NULL);
    const size_t zero[4] = {0}, one[4] = {1, 1, 1, 1};
    rp_tensor in[4], out[4];
    char name[2] = "q";
    rp_error err = {0};

    for (int i = 0; i < 4; i++) {
        name[0] = "qkvg"[i];
        in[i] = input(g, name, s, false);
    }
    out[0] = written ? written_out(g, s, in, causal)
                     : rp_attention(in[0], in[1], in[2], &(rp_attention_options){.causal = causal});
    if (both)
        rp_vjp(out, &in[3], 1, in, 3, out + 1);
    for (int i = 0; i < (both ? 4 : 1); i++) {
        name[0] = (char)('0' + i);
        rp_graph_set(g, RP_OUTPUT_RESULT, name, rp_slice(out[i], zero, one));
    }
    if (rp_graph_status(g, &err) != RP_OK)
        stop(&err);
    return rp_graph_take_program(g, &err);
}

/* Seconds of a step; *memory: bytes of the compiled one. */
static double time_of(rp_run *run, rp_program *program, size_t rounds, size_t *memory)
{
    rp_compiled *compiled = NULL;
    rp_error err = {0};
    double times[ROUNDS_MAX];

    if (!program || rp_compile(&compiled, run, program, &err) != RP_OK)
        stop(&err);
    for (size_t i = 0; i <= rounds; i++) { /* the first is not counted */
        const double begin = rp_seconds_now();

        if (rp_compiled_step(compiled, &err) != RP_OK)
            stop(&err);
        times[i > 0 ? i - 1 : 0] = rp_seconds_now() - begin;
    }
    *memory = rp_compiled_memory(compiled);
    rp_compiled_free(compiled);
    rp_program_free(program);
    return rp_median(times, rounds);
}

static void measure(const shape *s, unsigned threads, size_t rounds, bool written)
{
    rp_run *run = NULL;
    rp_error err = {0};

    if (rp_run_new(&run, &(rp_run_options){.threads = threads}, &err) != RP_OK)
        stop(&err);
    add_data(run, s);
    for (int causal = 0; causal < 2; causal++)
        for (int both = 0; both < 2; both++) {
            size_t memory;
            const double seconds = time_of(run, program_of(s, causal, both, written), rounds, &memory);

            printf("%zu x %zu x %zu x %zu %s %s %.6f %zu\n", s->batch, s->heads, s->tokens, s->width,
                   causal ? "causal" : "full", both ? "both" : "forward", seconds, memory);
            (void)fflush(stdout);
        }
    rp_run_free(run);
}

int main(int argc, char **argv)
{
    unsigned threads = 1;
    size_t rounds = 7;
    bool written = false;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--written") == 0)
            written = true;
        else if (i + 1 < argc && strcmp(argv[i], "--threads") == 0)
            threads = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0)
            rounds = (size_t)strtoul(argv[++i], NULL, 10);
        else
            return fprintf(stderr, "usage: attention [--threads N] [--rounds N] [--written]\n"), 2;
    rounds = rounds < 1 ? 1 : rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        measure(&shapes[i], threads, rounds, written);
    return 0;
}
