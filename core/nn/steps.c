/* SPDX-License-Identifier: Apache-2.0
 * Making steps: the model is built by calling its function once without computing, the run gets its states, and each
 * step is a compiled program, made when a step of its kind is first asked for, or an eager one. */
#include <string.h>

#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"
#include "determinism/fpenv.h"

/* ---- building ---- */

/* A first batch's feeds, by type alone: what they hold is not looked at. */
static rp_status discover(rp_nn *nn, rp_error *err)
{
    nn_step step = {.mode = NN_DISCOVER, .forward = nn->forward, .self = nn->self};
    const int64_t *row;
    rp_graph *graph = NULL;
    rp_program *program = NULL;
    size_t count;
    rp_status status = rp_nn_rows_of_step(nn, 1, &row, &count, err);

    if (status == RP_OK)
        status = rp_nn_rows_feed(nn, &step, row, count, err);
    if (status == RP_OK)
        status = rp_graph_symbolic(&graph, err);
    if (status != RP_OK)
        return status;
    rp_nn_trace(nn, graph, &step);
    status = rp_graph_finish(graph, &program, err);
    rp_program_free(program);
    return status;
}

static rp_status build(rp_nn *nn, rp_error *err)
{
    rp_status status;

    if (nn->built)
        return RP_OK;
    status = rp_nn_rows_ready(nn, err);
    if (status == RP_OK)
        status = discover(nn, err);
    if (status == RP_OK)
        status = rp_nn_check_patterns(nn, err);
    nn->built = status == RP_OK;
    return status;
}

rp_status rp_nn_build(rp_nn *nn, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, build(nn, &nn->error), err);
}

rp_status rp_nn_start(rp_nn *nn, rp_error *err)
{
    const int64_t first[2] = {(int64_t)nn->seed, 0};
    rp_status status = build(nn, err);

    if (status != RP_OK || nn->started)
        return status;
    for (size_t i = 0; i < nn->parameters && status == RP_OK; i++) {
        nn_parameter *p = &nn->parameter[i];

        status = rp_run_add_state(nn->run, p->name, RP_F32, p->type.rank, p->type.shape, p->given, err);
        rp_free(p->given);
        p->given = NULL;
    }
    if (status == RP_OK)
        status = rp_run_add_state(nn->run, NN_STEP_STATE, RP_I64, 1, (size_t[]){2}, first, err);
    if (status == RP_OK)
        status = rp_nn_add_moments(nn, err);
    nn->started = status == RP_OK;
    return status;
}

/* ---- compiled steps ---- */

static bool same_feeds(const nn_program *p, const nn_step *step)
{
    if (p->feeds != step->feeds)
        return false;
    for (size_t i = 0; i < p->feeds; i++)
        if (strcmp(p->feed[i].name, step->feed[i].name) != 0 || !rp_type_equal(&p->feed[i].type, &step->feed[i].type))
            return false;
    return true;
}

static nn_program *known(const rp_nn *nn, const nn_step *step)
{
    nn_program *p = nn->program;

    while (p && !(p->mode == step->mode && p->forward == step->forward && p->self == step->self && same_feeds(p, step)))
        p = p->next;
    return p;
}

static void program_free(nn_program *p)
{
    if (!p)
        return;
    rp_compiled_free(p->compiled);
    rp_free(p->feed);
    rp_free(p);
}

void rp_nn_programs_free(rp_nn *nn)
{
    while (nn->program) {
        nn_program *next = nn->program->next;

        program_free(nn->program);
        nn->program = next;
    }
}

static rp_status compile(rp_nn *nn, nn_program *p, const nn_step *step, rp_error *err)
{
    rp_graph *graph;
    rp_status status = rp_graph_symbolic(&graph, err);

    if (status != RP_OK)
        return status;
    rp_nn_trace(nn, graph, step);
    return rp_run_compile_graph(&p->compiled, nn->run, graph, err);
}

static rp_status program_of(rp_nn *nn, const nn_step *step, nn_program **out, rp_error *err)
{
    nn_program *p = known(nn, step);
    rp_status status;

    *out = p;
    if (p)
        return RP_OK;
    p = rp_calloc(1, sizeof *p);
    if (p)
        p->feed = rp_calloc(step->feeds ? step->feeds : 1, sizeof *p->feed);
    if (!p || !p->feed) {
        program_free(p);
        return rp_no_memory(err);
    }
    p->mode = step->mode;
    p->forward = step->forward;
    p->self = step->self;
    memcpy(p->feed, step->feed, step->feeds * sizeof *p->feed);
    p->feeds = step->feeds;
    status = compile(nn, p, step, err);
    if (status != RP_OK) {
        program_free(p);
        return status;
    }
    p->next = nn->program;
    nn->program = *out = p;
    return RP_OK;
}

/* What the program does not read, a field that the model leaves alone, is no feed of it. */
static rp_status write_feeds(rp_compiled *compiled, const nn_step *step, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < step->feeds && status == RP_OK; i++) {
        const nn_feed *f = &step->feed[i];
        rp_device_tensor unused;

        if (rp_compiled_feed(compiled, f->name, &unused))
            status = rp_compiled_write(compiled, f->name, f->bytes, rp_type_bytes(&f->type), err);
    }
    return status;
}

static rp_status execute_compiled(rp_nn *nn, const nn_step *step, const char *result, void *out, size_t size,
                                  rp_error *err)
{
    nn_program *p;
    rp_status status = program_of(nn, step, &p, err);

    if (status == RP_OK)
        status = write_feeds(p->compiled, step, err);
    if (status == RP_OK)
        status = rp_compiled_step(p->compiled, err);
    return status == RP_OK && result ? rp_compiled_read(p->compiled, result, out, size, err) : status;
}

static rp_status execute_eager(rp_nn *nn, const nn_step *step, const char *result, void *out, size_t size,
                               rp_error *err)
{
    rp_status status = rp_step_begin(nn->run, err);

    if (status != RP_OK)
        return status;
    rp_nn_trace(nn, rp_step_graph(nn->run), step);
    status = rp_step_end(nn->run, err);
    return status == RP_OK && result ? rp_step_read_result(nn->run, result, out, size, err) : status;
}

rp_status rp_nn_execute(rp_nn *nn, const nn_step *step, const char *result, void *out, size_t size, rp_error *err)
{
    rp_status status = nn->eager ? execute_eager(nn, step, result, out, size, err)
                                 : execute_compiled(nn, step, result, out, size, err);

    nn->run_steps = rp_run_steps(nn->run);
    return status;
}

/* ---- the first step, and training steps ---- */

/* Other steps than ours mean that the run was restored: its own count of training steps says how far it is. */
static rp_status follow_run(rp_nn *nn, rp_error *err)
{
    int64_t made[2];
    rp_status status;

    if (rp_run_steps(nn->run) == nn->run_steps)
        return RP_OK;
    status = rp_run_get_state(nn->run, NN_STEP_STATE, made, sizeof made, err);
    if (status == RP_OK && (made[0] != (int64_t)nn->seed || made[1] < 0))
        status = rp_fail(err, RP_EDATA, "the run that it goes on from has another seed");
    nn->trained = status == RP_OK ? (uint64_t)made[1] : 0;
    nn->run_steps = rp_run_steps(nn->run);
    return status;
}

static bool all_given(const rp_nn *nn)
{
    for (size_t i = 0; i < nn->parameters; i++)
        if (!nn->parameter[i].was_given)
            return false;
    return true;
}

rp_status rp_nn_begin(rp_nn *nn, rp_error *err)
{
    static const nn_step initial = {.mode = NN_INITIAL};
    rp_status status = rp_nn_start(nn, err);

    if (status == RP_OK)
        status = follow_run(nn, err);
    if (status != RP_OK || nn->run_steps || all_given(nn))
        return status;
    return rp_nn_execute(nn, &initial, NULL, NULL, 0, err);
}

static rp_status train(rp_nn *nn, float *loss, rp_error *err)
{
    nn_step step = {.mode = NN_TRAIN, .forward = nn->forward, .self = nn->self};
    float rate[NN_RATES], found;
    const int64_t *row;
    size_t count;
    rp_status status = rp_nn_begin(nn, err);

    if (status == RP_OK)
        status = rp_nn_rows_of_step(nn, nn->trained + 1, &row, &count, err);
    if (status == RP_OK)
        status = rp_nn_rows_feed(nn, &step, row, count, err);
    if (status != RP_OK)
        return status;
    rp_nn_feed_rates(nn, &step, rate);
    status = rp_nn_execute(nn, &step, "loss", &found, sizeof found, err);
    if (status != RP_OK)
        return status;
    nn->trained++;
    if (loss)
        *loss = found;
    return found - found == 0
               ? RP_OK
               : rp_fail(err, RP_EDATA, "training step %llu: the loss is no longer finite: %s",
                         (unsigned long long)nn->trained,
                         nn->trained == 1 ? "before any update, so look at the rows (a NaN, an infinity) "
                                            "and at the model's logarithms, quotients and roots"
                                          : "lower the optimizer's lr, or set its clip_norm");
}

static rp_status train_in_environment(rp_nn *nn, float *loss, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = rp_fpenv_enter(&saved, NULL, err);

    if (status == RP_OK) {
        status = train(nn, loss, err);
        rp_fpenv_leave(&saved);
    }
    return status;
}

rp_status rp_nn_train_step(rp_nn *nn, float *loss, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, train_in_environment(nn, loss, &nn->error), err);
}

rp_status rp_nn_train_epoch(rp_nn *nn, float *loss, rp_error *err)
{
    rp_status status;

    do
        status = rp_nn_train_step(nn, loss, err);
    while (status == RP_OK && nn->trained % nn->per_epoch != 0);
    return status;
}

uint64_t rp_nn_steps(rp_nn *nn)
{
    if (!nn)
        return 0;
    if (nn->started && nn->status == RP_OK)
        (void)rp_nn_keep(nn, follow_run(nn, &nn->error), NULL);
    return nn->trained;
}

uint64_t rp_nn_steps_per_epoch(rp_nn *nn)
{
    return nn && nn->built ? nn->per_epoch : 0;
}
