/* SPDX-License-Identifier: Apache-2.0
 * One program over a whole context. Nothing behind a token is seen by it, so a shorter text is filled up with zeros and
 * the row of its last token is read. */
#include "core/train/language/next.h"

#include "base/memory.h"
#include "core/train/language/forward.h"
#include "determinism/fpenv.h"
#include "determinism/philox.h"

enum { STREAM_CONTINUE = 0x43000000 };

struct rp_next {
    const rp_model *model;
    rp_compiled *compiled;
    int64_t *token; /* [context] */
    float *weight;  /* [tokens] */
};

void rp_next_free(rp_next *s)
{
    if (!s)
        return;
    rp_compiled_free(s->compiled);
    rp_free(s->token);
    rp_free(s->weight);
    rp_free(s);
}

static rp_status compile(rp_next *s, rp_run *run, rp_error *err)
{
    const rp_type tokens = {.dtype = RP_I64, .rank = 2, .shape = {1, rp_language_context(s->model->recipe)}};
    const rp_type place = {.dtype = RP_I64, .rank = 1, .shape = {1}};
    rp_tensor weight[RP_MAX_PARAMETERS], x, at, heat, logits;
    rp_graph *g = rp_graph_new(NULL);

    if (!g)
        return rp_no_memory(err);
    rp_model_weights(s->model, run, g, weight);
    x = rp_graph_input(g, RP_INPUT_FEED, "tokens", &tokens, NULL);
    at = rp_graph_input(g, RP_INPUT_FEED, "last", &place, NULL);
    heat = rp_graph_input(g, RP_INPUT_FEED, "temperature", &(rp_type){.dtype = RP_F32}, NULL);
    logits = rp_language_forward(s->model, weight, x, rp_no_tensor());
    logits = rp_gather(logits, at, 0);
    rp_graph_set(g, RP_OUTPUT_RESULT, "likeliest", rp_argmax(logits, -1, false));
    logits = rp_div(logits, heat);
    rp_graph_set(g, RP_OUTPUT_RESULT, "p", rp_softmax(logits));
    return rp_run_compile_graph(&s->compiled, run, g, err);
}

rp_status rp_next_new(rp_next **out, const rp_model *model, rp_run *run, rp_error *err)
{
    rp_next *s = rp_calloc(1, sizeof *s);
    rp_fpenv saved;
    rp_status status;

    *out = NULL;
    if (!s)
        return rp_no_memory(err);
    s->model = model;
    s->token = rp_calloc(rp_language_context(model->recipe), sizeof *s->token);
    s->weight = rp_calloc(model->outputs, sizeof *s->weight);
    status = s->token && s->weight ? rp_fpenv_enter(&saved, NULL, err) : rp_no_memory(err);
    if (status == RP_OK) {
        status = compile(s, run, err);
        rp_fpenv_leave(&saved);
    }
    if (status != RP_OK)
        rp_next_free(s);
    else
        *out = s;
    return status;
}

rp_price rp_next_price(const rp_next *s)
{
    return rp_program_price(rp_compiled_program(s->compiled));
}

/* In binary64, in the order of the tokens. */
static double total_of(const rp_next *s)
{
    double total = 0;

    for (size_t k = 0; k < s->model->outputs; k++)
        total += (double)s->weight[k];
    return total;
}

/* The first token with which the sum of all before it and its own is above a share of the whole. */
static uint16_t draw(const rp_next *s, const rp_choice *c, double total)
{
    const double u = rp_uniform_f64(rp_random_u32(c->seed, c->index, STREAM_CONTINUE, 0),
                                    rp_random_u32(c->seed, c->index, STREAM_CONTINUE, 1));
    double sum = 0;
    size_t i = 0;

    for (; i + 1 < s->model->outputs; i++) {
        sum += (double)s->weight[i];
        if (sum > u * total)
            break;
    }
    return (uint16_t)i;
}

static rp_status write_feed(const rp_next *s, const char *name, const void *bytes, rp_error *err)
{
    rp_device_tensor feed;

    (void)rp_compiled_feed(s->compiled, name, &feed);
    return rp_device_tensor_write(&feed, bytes, err);
}

static rp_status read_result(const rp_next *s, const char *name, void *out, rp_error *err)
{
    rp_device_tensor result;

    (void)rp_compiled_result(s->compiled, name, &result);
    return rp_device_tensor_read(&result, out, err);
}

static rp_status execute(rp_next *s, int64_t last, const rp_choice *c, uint16_t *out, rp_error *err)
{
    const float heat = c->drawn ? c->temperature : 1;
    double total = 0;
    int64_t likeliest = 0;
    rp_status status = write_feed(s, "tokens", s->token, err);

    if (status == RP_OK)
        status = write_feed(s, "last", &last, err);
    if (status == RP_OK)
        status = write_feed(s, "temperature", &heat, err);
    if (status == RP_OK)
        status = rp_compiled_step(s->compiled, err);
    if (status == RP_OK)
        status = read_result(s, "likeliest", &likeliest, err);
    if (status == RP_OK)
        status = read_result(s, "p", s->weight, err);
    if (status != RP_OK)
        return status;
    total = total_of(s);
    if (!(total > 0))
        return rp_fail(err, RP_EFORMAT,
                       "what the model gives are no numbers: it learnt none, or its training diverged");
    *out = c->drawn ? draw(s, c, total) : (uint16_t)likeliest;
    return RP_OK;
}

rp_status rp_next_token(rp_next *s, const uint16_t *token, size_t n, const rp_choice *choice, uint16_t *out,
                        rp_error *err)
{
    const size_t context = rp_language_context(s->model->recipe), seen = n < context ? n : context;
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status != RP_OK)
        return status;
    for (size_t i = 0; i < context; i++)
        s->token[i] = i < seen ? token[n - seen + i] : 0;
    status = execute(s, (int64_t)seen - 1, choice, out, err);
    rp_fpenv_leave(&saved);
    return status;
}
