/* SPDX-License-Identifier: Apache-2.0
 * A transformer block in training (tokens, causal attention of two heads, layer norms, GELU, dropout, cross-entropy,
 * AdamW), eager: its archive from the emulated device is the processor's, byte for byte, in each of the three orders,
 * and each replays on the other. Two runs at once in one process, on two devices, do not disturb each other. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/record/recorder.h"
#include "base/file.h"
#include "rp/program.h"
#include "rp/rp.h"

enum { TOKENS = 9, VOCABULARY = 13, WIDTH = 16, HEADS = 2, BATCH = 3, STEPS = 4, STATES = 10 };

#define OK(call) \
    do { \
        rp_error err = {0}; \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

static char folder[] = "/tmp/rp_models_XXXXXX";

static const struct {
    const char *name;
    int rank;
    size_t shape[2];
} state[STATES] = {{"embedding", 2, {VOCABULARY, WIDTH}},
                   {"position", 2, {TOKENS, WIDTH}},
                   {"qkv", 2, {WIDTH, 3 * WIDTH}},
                   {"qkv_bias", 1, {3 * WIDTH}},
                   {"gamma", 1, {WIDTH}},
                   {"beta", 1, {WIDTH}},
                   {"up", 2, {WIDTH, 4 * WIDTH}},
                   {"up_bias", 1, {4 * WIDTH}},
                   {"down", 2, {4 * WIDTH, WIDTH}},
                   {"down_bias", 1, {WIDTH}}};

static size_t count_of(size_t i)
{
    return state[i].shape[0] * (state[i].rank == 2 ? state[i].shape[1] : 1);
}

static rp_run *new_run(const char *device)
{
    const rp_run_options options = {.threads = 1, .device = device};
    rp_run *run;

    OK(rp_run_new(&run, &options, &err));
    for (size_t i = 0; i < STATES; i++) {
        float *x = calloc(count_of(i), sizeof *x);
        char name[64];

        assert_non_null(x);
        for (size_t k = 0; k < 3; k++) { /* the parameter, then its two moments */
            for (size_t j = 0; j < count_of(i) && k < 2; j++)
                x[j] = k ? 0 : strcmp(state[i].name, "gamma") == 0 ? 1 : (float)(j * 37 % 101) / 202.0f - 0.25f;
            (void)snprintf(name, sizeof name, "%s%s", state[i].name, k == 0 ? "" : k == 1 ? ".m" : ".v");
            OK(rp_run_add_state(run, name, RP_F32, state[i].rank, state[i].shape, x, &err));
        }
        free(x);
    }
    return run;
}

/* [batch, tokens, width] -> [batch, heads, tokens, width / heads], of the part-th third of the columns. */
static rp_tensor head_of(rp_tensor qkv, size_t part)
{
    const size_t begin[] = {0, 0, part * WIDTH}, end[] = {BATCH, TOKENS, (part + 1) * WIDTH},
                 shape[] = {BATCH, TOKENS, HEADS, WIDTH / HEADS};
    rp_tensor one = rp_slice(qkv, begin, end);

    one = rp_reshape(one, 4, shape);
    return rp_transpose(one, (const int[]){0, 2, 1, 3});
}

static rp_tensor attention(rp_graph *graph, rp_tensor x, rp_tensor w, rp_tensor b)
{
    const size_t shape[] = {BATCH, TOKENS, WIDTH}, row[] = {1, TOKENS}, column[] = {TOKENS, 1};
    rp_tensor qkv = rp_linear(x, w, b), q = head_of(qkv, 0), k = head_of(qkv, 1), v = head_of(qkv, 2);
    rp_tensor at = rp_iota(graph, RP_I32, TOKENS), from = rp_reshape(at, 2, row), to = rp_reshape(at, 2, column);
    rp_tensor score, seen, low;

    k = rp_transpose(k, NULL);
    score = rp_matmul(q, k);
    score = rp_scale(score, 0.35355339059327373);
    seen = rp_le(from, to);
    low = rp_fill(graph, RP_F32, 0, NULL, -1e30);
    score = rp_where(seen, score, low);
    score = rp_softmax(score);
    score = rp_matmul(score, v);
    score = rp_transpose(score, (const int[]){0, 2, 1, 3});
    return rp_add(x, rp_reshape(score, 3, shape));
}

static bool mixed; /* gradients are in mixed precision, and so are the linear layers' operands */

static rp_tensor linear(rp_tensor x, rp_tensor w, rp_tensor b)
{
    return rp_linear(mixed ? rp_cast(x, RP_BF16) : x, w, b);
}

static rp_tensor loss_of(rp_run *run, rp_graph *graph, const rp_tensor *p, rp_tensor tokens, rp_tensor next)
{
    const size_t rows[] = {BATCH * TOKENS, VOCABULARY}, flat[] = {BATCH * TOKENS};
    rp_tensor x = rp_embedding(p[0], tokens), h, logits, transposed;

    (void)run;
    x = rp_add(x, p[1]);
    x = attention(graph, x, p[2], p[3]);
    h = rp_layer_norm(x, p[4], p[5], 1e-5);
    h = rp_gelu(linear(h, p[6], p[7]));
    x = rp_add(x, linear(h, p[8], p[9]));
    transposed = rp_transpose(p[0], NULL);
    logits = rp_matmul(x, transposed);
    logits = rp_reshape(logits, 2, rows);
    next = rp_reshape(next, 1, flat);
    return rp_mean(rp_cross_entropy(logits, next), NULL, 0, false);
}

static void update(rp_run *run, size_t i, rp_tensor p, rp_tensor g, const rp_tensor *rate)
{
    char m_name[64], v_name[64];
    rp_tensor m, v, next;

    (void)snprintf(m_name, sizeof m_name, "%s.m", state[i].name);
    (void)snprintf(v_name, sizeof v_name, "%s.v", state[i].name);
    m = rp_state(run, m_name);
    v = rp_state(run, v_name);
    next = rp_adam(p, &m, &v, g, rate[0], rate[1], rate[2], &(rp_adam_options){0.9, 0.99, 1e-8, 0.01, true});
    rp_set_state(run, state[i].name, next);
    rp_set_state(run, m_name, m);
    rp_set_state(run, v_name, v);
}

static void one_step(rp_run *run, uint64_t step)
{
    const size_t shape[] = {BATCH, TOKENS};
    const float rates[3] = {0.01f, step == 0 ? 0.1f : 0.25f, step == 0 ? 0.01f : 0.03f};
    static const char *const rate_name[] = {"lr", "c1", "c2"};
    int64_t token[BATCH * TOKENS], next[BATCH * TOKENS];
    rp_tensor p[STATES], grad[STATES], rate[3], x, y, loss;

    for (size_t i = 0; i < BATCH * TOKENS; i++) {
        token[i] = (int64_t)((step * 5 + i * 7 + i / TOKENS) % VOCABULARY);
        next[i] = (int64_t)((step * 5 + (i + 1) * 7 + i / TOKENS) % VOCABULARY);
    }
    OK(rp_step_begin(run, &err));
    x = rp_feed(run, "tokens", RP_I64, 2, shape, token);
    y = rp_feed(run, "next", RP_I64, 2, shape, next);
    for (size_t i = 0; i < 3; i++)
        rate[i] = rp_feed(run, rate_name[i], RP_F32, 0, NULL, &rates[i]);
    for (size_t i = 0; i < STATES; i++)
        p[i] = rp_state(run, state[i].name);
    loss = loss_of(run, rp_step_graph(run), p, x, y);
    (mixed ? rp_gradients_mixed : rp_gradients)(loss, p, STATES, grad);
    (void)rp_clip_by_norm(grad, STATES, 1.0);
    for (size_t i = 0; i < STATES; i++)
        update(run, i, p[i], grad[i], rate);
    rp_result(run, "loss", loss);
    OK(rp_step_end(run, &err));
}

static void path_of(char out[128], const char *name)
{
    (void)snprintf(out, 128, "%s/%s", folder, name);
}

static void train(const char *device, const char *name)
{
    char path[128];
    rp_run *run = new_run(device);
    rp_recorder *recorder;

    path_of(path, name);
    OK(rp_recorder_new(&recorder, run, &err));
    for (uint64_t step = 0; step < STEPS; step++)
        one_step(run, step);
    OK(rp_recorder_save(recorder, path, NULL, true, NULL, &err));
    rp_recorder_free(recorder);
    rp_run_free(run);
}

static void same(const char *a_name, const char *b_name)
{
    char path[2][128];
    rp_buffer a = {0}, b = {0};

    path_of(path[0], a_name);
    path_of(path[1], b_name);
    OK(rp_file_read(path[0], SIZE_MAX / 2, &a, &err));
    OK(rp_file_read(path[1], SIZE_MAX / 2, &b, &err));
    if (a.size == 0 || a.size != b.size || memcmp(a.data, b.data, a.size) != 0)
        fail_msg("%s and %s differ", a_name, b_name);
    rp_buffer_free(&a);
    rp_buffer_free(&b);
}

static void replay(const char *name, const char *device)
{
    const rp_job_options options = {.threads = 1, .device = device};
    char path[128];
    rp_archive *archive;
    rp_job *job;

    path_of(path, name);
    OK(rp_archive_open(&archive, path, &err));
    OK(rp_replay(archive, &options, &job, &err));
    rp_job_free(job);
    rp_archive_close(archive);
}

static void a_transformer_block_is_the_processors_in_every_order(void **unused)
{
    static const char *const orders[] = {"0", "1", "2"};

    (void)unused;
    train("cpu", "cpu");
    for (size_t i = 0; i < 3; i++) {
        (void)setenv("RP_EMULATED_ORDER", orders[i], 1);
        train("emulated", orders[i]);
        same("cpu", orders[i]);
        replay("cpu", "emulated");
    }
    replay("1", "cpu");
}

static void mixed_precision_is_the_processors(void **unused)
{
    (void)unused;
    (void)setenv("RP_EMULATED_ORDER", "2", 1);
    mixed = true;
    train("cpu", "cpu-mixed");
    train("emulated", "mixed");
    mixed = false;
    same("cpu-mixed", "mixed");
    replay("cpu-mixed", "emulated");
}

static void *train_beside(void *device)
{
    train(device, device);
    return NULL;
}

static void two_devices_at_once_do_not_disturb_each_other(void **unused)
{
    char names[2][16] = {"emulated:0", "emulated:1"};
    pthread_t thread[2];

    (void)unused;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, train_beside, names[i]), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    same("cpu", names[0]);
    same("cpu", names[1]);
}

static int prepare(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int leave(void **unused)
{
    char command[96];

    (void)unused;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transformer_block_is_the_processors_in_every_order),
        cmocka_unit_test(mixed_precision_is_the_processors),
        cmocka_unit_test(two_devices_at_once_do_not_disturb_each_other),
    };

    return cmocka_run_group_tests(tests, prepare, leave);
}
