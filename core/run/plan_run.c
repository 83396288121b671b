/* SPDX-License-Identifier: Apache-2.0
 * Executing a plan: its calls in order, frames of its regions through the plans of their functions. Nothing waits for
 * the device but the reading of a selector or predicate, and the end. */
#include "core/program/regions/region_run.h"
#include "core/program/composed/dots.h"
#include "core/program/indexing/gathered.h"
#include "core/run/plan_private.h"
#include "determinism/fpenv.h"
#include "kernels/chain/epilogue.h"
#include "kernels/chain/prologue.h"
#include "kernels/chain/rows.h"
#include "kernels/onto.h"

/* Waits for the device. Errors: its own; RP_EDATA for the first index that was out of range. *at: which instruction of
 * all it was, else SIZE_MAX. */
static rp_status wait_for_all(const rp_plan *top, size_t *at, rp_error *err)
{
    rp_status status = rp_device_synchronize(top->device, NULL, err);
    const rp_plan *of = top;
    rp_index_fault fault;

    *at = SIZE_MAX;
    if (!rp_device_fault(top->device, &fault) || status != RP_OK)
        return status;
    *at = fault.where;
    for (size_t i = 0; i < top->bodies.n; i++)
        if (fault.where >= top->bodies.plan[i]->numbered &&
            fault.where - top->bodies.plan[i]->numbered < top->bodies.plan[i]->program->n_instrs)
            of = top->bodies.plan[i];
    fault.where -= of->numbered;
    return rp_execute_fault(of->program, of->number, &fault, err);
}

/* ---- frames ---- */

static rp_status launch_calls(rp_plan *plan, size_t *i, size_t end, rp_error *err);

/* The calls from i on. */
static rp_status launch_function(rp_plan *plan, size_t i, void *arena, const rp_view *param, const rp_view *out,
                                 rp_error *err)
{
    const size_t params = rp_function_params(plan->function), outs = rp_function_outs(plan->function);

    rp_plan_move(plan, BASE_ARENA, arena);
    for (size_t n = 0; n < params; n++)
        rp_plan_move(plan, BASE_PARAMETERS + n, param[n].data);
    for (size_t n = 0; n < outs; n++)
        rp_plan_move(plan, BASE_PARAMETERS + params + n, out[n].data);
    return launch_calls(plan, &i, plan->n_calls, err);
}

static rp_status run_frame(void *self, const rp_region *region, size_t k, const rp_view *param, const rp_view *out,
                           rp_error *err)
{
    region_call *c = self;
    const bool left = c->begun && region->n_functions == 1; /* else another function's frame was in the same memory */

    c->begun = true;
    return launch_function(c->body[k], left ? c->body[k]->constants : 0, (char *)c->scratch + c->frame, param, out,
                           err);
}

/* Whether the region that the function is of was not written out: what its frames execute has their numbers. */
static bool is_still_there(const rp_plan *plan)
{
    const rp_program *now = plan->program, *text = plan->function->body;
    const rp_region *r = now->n_instrs == 1 ? now->instr[0].region : NULL;

    return r && text->instr[0].region && r->kind == text->instr[0].region->kind;
}

rp_status rp_plan_run_function(rp_plan *plan, void *arena, const rp_view *param, const rp_view *out, size_t number,
                               rp_error *err)
{
    rp_status status, settled;
    size_t at;

    if (plan->number && is_still_there(plan))
        plan->number[0] = (uint32_t)number;
    status = launch_function(plan, 0, arena, param, out, err);
    settled = wait_for_all(plan, &at, status == RP_OK ? err : NULL);
    return status == RP_OK ? settled : status;
}

static rp_status wait_for(void *self, rp_error *err)
{
    const region_call *c = self;
    size_t at;

    return wait_for_all(c->plan->top, &at, err);
}

static bool is_kept(const region_call *c, size_t i)
{
    return i < 64 && c->kept >> i & 1;
}

static rp_status run_region(region_call *c, const call *with, rp_error *err)
{
    const size_t at = with->instr - c->plan->numbered, number = c->plan->number ? c->plan->number[at] : at;
    const rp_frames frames = {run_frame, wait_for, c, c->plan->device, number, false, c->over};
    rp_status status = RP_OK;

    c->begun = false;
    for (size_t i = 0; i < with->n_in && c->n_packed && status == RP_OK; i++)
        if (c->packed[i].data != with->in[i].data && !(is_kept(c, i) && c->writes == *c->plan->writes))
            status = rp_execute_copy(c->plan->device, &with->in[i], &c->packed[i], err);
    if (c->kept && status == RP_OK)
        c->writes = *c->plan->writes;
    if (status == RP_OK && c->rows[0])
        return rp_plan_add_all(c, c->packed, with->out, err);
    return status == RP_OK ? rp_region_run(&frames, c->region, c->packed, with->n_in, with->out, c->scratch, err)
                           : status;
}

/* ---- calls ---- */

static const rp_instr *instr_of(const rp_plan *plan, const call *c)
{
    return &plan->program->instr[c->instr - plan->numbered];
}

static rp_status launch_gathered(const rp_plan *plan, const call *c, rp_error *err)
{
    const rp_instr *gather = instr_of(plan, c->gather);

    return rp_gathered_launch(plan->device, gather, instr_of(plan, c), &plan->program->value[gather->out[0]],
                              c->gather->in, c->out, c->in[0].data, err);
}

static rp_status launch_dots(const rp_plan *plan, const call *c, rp_error *err)
{
    rp_dots dots;

    if (rp_dots_of_views(&dots, &c->in[0], &c->in[1], &c->out[0]) && rp_device_launch_dots(plan->device, &dots))
        return RP_OK;
    return rp_fail(err, RP_EUNSUPPORTED, "a sum's products, planned to be made by it, do not lie in order");
}

/* A scan's first frame finds the value elsewhere. */
static rp_status launch_onto(const rp_plan *plan, const call *c, rp_error *err)
{
    const rp_kernel_args args = {c->in, 2, c->out, 1, c->attr};
    rp_status status =
        c->in[2].data == c->out[0].data ? RP_OK : rp_execute_copy(plan->device, &c->in[2], &c->out[0], err);

    if (status != RP_OK || rp_device_launch_onto(plan->device, &args))
        return status;
    return rp_fail(err, RP_EUNSUPPORTED, "a product, planned to be added where it goes, on a device that cannot");
}

static rp_status launch_epilogue(const rp_plan *plan, const call *c, rp_error *err)
{
    const rp_kernel_args args = {c->in, c->n_in, c->out, c->n_out, c->attr};

    if (rp_device_launch_epilogue(plan->device, c->op->kernel, &args, c->chain))
        return RP_OK;
    return rp_fail(err, RP_EUNSUPPORTED, "an operation, planned with a chain behind it, on a device that cannot");
}

static rp_status launch_rows(const rp_plan *plan, const call *c, rp_error *err)
{
    const rp_kernel_args args = {c->in, c->n_in, c->out, c->n_out, c->attr};
    rp_rows_call rows = {c->before, c->chain, c->op->kernel, 0, &args};

    while (rows.operand + 1 < c->n_in && c->in[rows.operand].data != NULL)
        rows.operand++;
    if (rp_device_launch_rows(plan->device, &rows))
        return RP_OK;
    return rp_fail(err, RP_EUNSUPPORTED, "rows, planned with a chain next to them, on a device that cannot");
}

static rp_status launch_prologue(const rp_plan *plan, const call *c, rp_error *err)
{
    const rp_kernel_args args = {c->in, c->n_in, c->out, c->n_out, c->attr};

    if (rp_device_launch_prologue(plan->device, &(rp_prologue_call){c->before, c->chain, &args}))
        return RP_OK;
    return rp_fail(err, RP_EUNSUPPORTED, "a product, planned with a chain in front of it, on a device that cannot");
}

static rp_status launch(const rp_plan *plan, const call *c, rp_error *err)
{
    if (c->region)
        return run_region(c->region, c, err);
    if (c->rows)
        return launch_rows(plan, c, err);
    if (c->before)
        return launch_prologue(plan, c, err);
    if (c->chain && c->op)
        return launch_epilogue(plan, c, err);
    if (c->chain)
        return rp_device_launch_chain(plan->device, c->chain, NULL, err);
    if (c->gather)
        return launch_gathered(plan, c, err);
    if (c->dots)
        return launch_dots(plan, c, err);
    if (c->onto)
        return launch_onto(plan, c, err);
    if (c->looks)
        return rp_execute_check(plan->device, c->op, &(rp_kernel_args){c->in, c->n_in, c->out, c->n_out, c->attr},
                                c->instr, err);
    if (!c->op) /* a scan's row may be that of its history */
        return c->in[0].data == c->out[0].data ? RP_OK : rp_execute_copy(plan->device, &c->in[0], &c->out[0], err);
    return rp_execute(plan->device, c->op, &(rp_kernel_args){c->in, c->n_in, c->out, c->n_out, c->attr}, c->instr, err);
}

/* One call, alone on the device, so that its end is its own. */
static rp_status launch_watched(const rp_plan *plan, size_t i, rp_error *err)
{
    const rp_plan_watch *watch = plan->top->watch;
    rp_status status;

    watch->begin(watch->self, plan, i);
    status = launch(plan, &plan->call[i], err);
    if (status == RP_OK && !rp_device_shares_memory(plan->device))
        status = rp_device_synchronize(plan->device, NULL, err);
    watch->end(watch->self, plan, i);
    return status;
}

/* Launches the calls [*i, end); *i: the one that failed. */
static rp_status launch_calls(rp_plan *plan, size_t *i, size_t end, rp_error *err)
{
    rp_status status = RP_OK;

    while (plan->top->watch && *i < end && status == RP_OK) {
        status = launch_watched(plan, *i, err);
        *i += status == RP_OK;
    }
    while (*i < end && status == RP_OK) {
        status = launch(plan, &plan->call[*i], err);
        *i += status == RP_OK;
    }
    return status;
}

static rp_status launch_some(void *self, size_t *i, size_t end, rp_error *err)
{
    return launch_calls(self, i, end, err);
}

enum { WORTH_REPEATING = 3 /* launches */ };

/* How much a call adds to a sequence; 0: it stands in none. */
static size_t repeated(const call *c)
{
    return c->region ? c->region->launches : 1;
}

/* launch_calls of a program's plan: what stands between regions at which the host has a part as one sequence, on a
 * device that repeats. */
static rp_status launch_parts(rp_plan *plan, size_t *i, size_t end, rp_error *err)
{
    rp_status status = RP_OK;

    if (!rp_device_repeats(plan->device) || plan->watch)
        return launch_calls(plan, i, end, err);
    while (*i < end && status == RP_OK) {
        size_t stop = *i, launches = 0;

        for (size_t n; stop < end && (n = repeated(&plan->call[stop])) && n <= RP_REPEAT_MAX - launches; stop++)
            launches += n;
        if (launches >= WORTH_REPEATING)
            status = rp_repeat_calls(&plan->repeat, plan->device, plan->arena->memory, i, stop, launch_some, plan, err);
        else
            status = launch_calls(plan, i, stop > *i ? stop : stop + 1, err);
    }
    return status;
}

/* The call that a wrong index stopped. One in a body is told before the first write to a state where regions stand on
 * both sides of it, so the last region is as good as the right one. */
static size_t call_of(const rp_plan *plan, size_t at)
{
    size_t i = 0, last = 0;

    for (; i < plan->n_calls && (!plan->call[i].op || plan->call[i].instr != at); i++)
        last = plan->call[i].region ? i : last;
    return at < plan->program->n_instrs ? i : last;
}

/* What is owed before the next call that writes to states. */
static rp_status before_writes(rp_plan *plan, size_t *write, rp_plan_settle *settle, void *arg, rp_error *err)
{
    const size_t next = plan->write[*write].call;
    rp_status status = RP_OK;
    size_t at;

    if (*write == 0 && plan->regions_around)
        status = wait_for_all(plan, &at, err);
    for (; *write < plan->n_writes && plan->write[*write].call == next && status == RP_OK; ++*write)
        status = settle ? settle(arg, plan->write[*write].input, err) : RP_OK;
    return status;
}

rp_status rp_plan_run_settling(rp_plan *plan, rp_plan_settle *settle, void *arg, rp_error *err)
{
    rp_fpenv saved;
    rp_status status = rp_plan_follow_arena(plan, err), settled;
    size_t at = SIZE_MAX, i = 0, write = 0, wrong;

    plan->mixed = false;
    plan->arena->untouched = 0;
    plan->arena->runs++;
    if (status == RP_OK)
        status = rp_fpenv_enter(&saved, NULL, err);
    if (status != RP_OK)
        return status;
    while (i < plan->n_calls && status == RP_OK) {
        status = launch_parts(plan, &i, write < plan->n_writes ? plan->write[write].call : plan->n_calls, err);
        if (status == RP_OK && write < plan->n_writes)
            status = before_writes(plan, &write, settle, arg, err);
    }
    while (write < plan->n_writes && status == RP_OK) /* states that were fed */
        status = before_writes(plan, &write, settle, arg, err);
    wrong = i;
    settled = wait_for_all(plan, &at, status == RP_OK ? err : NULL);
    rp_fpenv_leave(&saved);
    if (status == RP_OK && settled != RP_OK && at != SIZE_MAX)
        wrong = call_of(plan, at);
    status = status == RP_OK ? settled : status;
    plan->mixed = status != RP_OK && plan->n_writes && wrong > plan->write[0].call;
    return status;
}

void rp_plan_set_watch(rp_plan *plan, const rp_plan_watch *watch)
{
    plan->watch = watch;
}

rp_status rp_plan_run(rp_plan *plan, rp_error *err)
{
    return rp_plan_run_settling(plan, NULL, NULL, err);
}

bool rp_plan_mixed(const rp_plan *plan)
{
    return plan->mixed;
}
