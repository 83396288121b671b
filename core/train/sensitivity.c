/* SPDX-License-Identifier: Apache-2.0
 * The gradient of the margin by the features. Rows are independent, so the gradient of their sum has each row's own. */
#include "core/train/sensitivity.h"

#include "base/memory.h"
#include "determinism/fpenv.h"

struct rp_sensitivity {
    rp_compiled *compiled;
};

static rp_status compile(rp_sensitivity *s, const rp_model *m, rp_run *run, size_t rows, rp_error *err)
{
    const rp_type features = {.dtype = RP_F32, .rank = 2, .shape = {rows, m->features}};
    const rp_type outputs = {.dtype = RP_F32, .rank = 2, .shape = {1, m->outputs}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor weight[RP_MAX_PARAMETERS], x, v, logits, margins, gradient;

    if (!g)
        return rp_no_memory(err);
    x = rp_graph_input(g, RP_INPUT_FEED, "x", &features, NULL);
    v = rp_graph_input(g, RP_INPUT_FEED, "direction", &outputs, NULL);
    rp_model_weights(m, run, g, weight);
    logits = rp_model_forward(m, weight, x, rp_no_tensor(), 0);
    margins = rp_mul(logits, v);
    rp_gradients(rp_sum(margins, NULL, 0, false), &x, 1, &gradient);
    rp_graph_set(g, RP_OUTPUT_RESULT, "logits", logits);
    rp_graph_set(g, RP_OUTPUT_RESULT, "gradient", gradient);
    return rp_run_compile_graph(&s->compiled, run, g, err);
}

rp_status rp_sensitivity_new(rp_sensitivity **out, const rp_model *model, rp_run *run, const float *direction,
                             size_t rows, rp_error *err)
{
    rp_sensitivity *s = rp_calloc(1, sizeof *s);
    rp_device_tensor feed;
    rp_status status = s ? compile(s, model, run, rows, err) : rp_no_memory(err);

    *out = NULL;
    if (status == RP_OK && rp_compiled_feed(s->compiled, "direction", &feed))
        status = rp_device_tensor_write(&feed, direction, err);
    if (status != RP_OK)
        rp_sensitivity_free(s);
    else
        *out = s;
    return status;
}

void rp_sensitivity_free(rp_sensitivity *s)
{
    if (!s)
        return;
    rp_compiled_free(s->compiled);
    rp_free(s);
}

rp_price rp_sensitivity_price(const rp_sensitivity *s)
{
    return rp_program_price(rp_compiled_program(s->compiled));
}

static rp_status execute(rp_sensitivity *s, const float *x, float *logits, float *gradient, rp_error *err)
{
    rp_device_tensor feed, result;
    rp_status status = RP_OK;

    if (rp_compiled_feed(s->compiled, "x", &feed))
        status = rp_device_tensor_write(&feed, x, err);
    if (status == RP_OK)
        status = rp_compiled_step(s->compiled, err);
    if (status == RP_OK && rp_compiled_result(s->compiled, "logits", &result))
        status = rp_device_tensor_read(&result, logits, err);
    if (status == RP_OK && rp_compiled_result(s->compiled, "gradient", &result))
        status = rp_device_tensor_read(&result, gradient, err);
    return status;
}

rp_status rp_sensitivity_of(rp_sensitivity *s, const float *x, float *logits, float *gradient, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status != RP_OK)
        return status;
    status = execute(s, x, logits, gradient, err);
    rp_fpenv_leave(&saved);
    return status;
}
