/* SPDX-License-Identifier: Apache-2.0
 * Steps of a chain as a program for one kernel. */
#include "kernels/gpu/chain/program.h"

#include <string.h>

#include "kernels/chain_plan.h"
#include "kernels/gpu/chain/plan.h"
#include "kernels/walk.h"

/* Sets of kernels. */
enum { NARROW = 1 << RP_GPU_CHAIN_NARROW, WIDE = 1 << RP_GPU_CHAIN_WIDE };

/* ---- codes ---- */

#define DTYPE_f32 RP_F32
#define DTYPE_f64 RP_F64
#define DTYPE_i32 RP_I32
#define DTYPE_i64 RP_I64
#define DTYPE_bool RP_BOOL
#define DTYPE_bf16 RP_BF16

/* Of each kernel and type of its operands, 1 + its step's code; 0: there is none. */
static const uint16_t code_of[RP_K_COUNT * RP_DTYPE_COUNT] = {
#define STEP_cast(from, to, ...)
#define STEP_where(...)
#define STEP_light(name, ...) [RP_K_##name * RP_DTYPE_COUNT + FN(DTYPE)] = 1 + FN(RP_GPU_STEP_##name),
#define STEP_function STEP_light
#define STEP_dropout() STEP_light(dropout, )
#include "kernels/gpu/chain/steps_narrow.inc.h"
#include "kernels/gpu/chain/steps_wide.inc.h"
#undef STEP_cast
#undef STEP_dropout
#undef STEP_light
#undef STEP_function
};

static const uint16_t code_of_cast[RP_DTYPE_COUNT * RP_DTYPE_COUNT] = {
#define STEP_cast(from, to, ...) [DTYPE##from * RP_DTYPE_COUNT + DTYPE##to] = 1 + RP_GPU_STEP_cast##from##to,
#define STEP_light(name, ...)
#define STEP_function(name, ...)
#define STEP_dropout()
#include "kernels/gpu/chain/steps_narrow.inc.h"
#include "kernels/gpu/chain/steps_wide.inc.h"
#undef STEP_cast
#undef STEP_where
#undef STEP_dropout
#undef STEP_light
#undef STEP_function
};

static unsigned code(const rp_chain_step *step, const rp_view *view)
{
    switch (step->kernel) {
    case RP_K_where:
        return 1 + RP_GPU_STEP_where;
    case RP_K_cast:
        return code_of_cast[view[step->in].dtype * RP_DTYPE_COUNT + view[step->out].dtype];
    default:
        return code_of[step->kernel * RP_DTYPE_COUNT + view[step->in].dtype];
    }
}

/* Its operands with an element for each of the output's. */
static size_t elementwise(const rp_chain_step *step)
{
    return step->kernel == RP_K_dropout ? 1 : step->n_in;
}

/* The kernels that know the step. */
static unsigned kernels_of(const rp_chain_step *step, const rp_view *view)
{
    const unsigned known = code(step, view);
    bool wide = rp_dtype_size(view[step->out].dtype) > sizeof(u32);

    if (known == 0 || step->n_out != 1 || elementwise(step) > RP_GPU_STEP_IN)
        return 0;
    for (size_t v = step->in; v < step->in + elementwise(step); v++)
        wide = wide || rp_dtype_size(view[v].dtype) > sizeof(u32);
    return wide ? WIDE : NARROW | WIDE;
}

/* ---- programs ---- */

typedef struct maker {
    rp_gpu_chain *p;
    const rp_gpu_chain_plan *plan;
    size_t first; /* its first step */
    size_t n_views, n_axes;
    size_t busy[RP_GPU_CHAIN_KEPT]; /* the last step that reads what is kept there */
    bool read[RP_CHAIN_STEPS];      /* what the step keeps is read */
} maker;

static uint8_t add_view(maker *m, const rp_view *view)
{
    m->p->view[m->n_views] = (rp_gpu_step_view){view->data, (u32)rp_dtype_size(view->dtype), (uint16_t)m->n_axes, 0};
    return (uint8_t)m->n_views++;
}

/* An operand in memory. false: there is no room for its axes. */
static bool from_memory(maker *m, rp_gpu_step *s, size_t n, const rp_view *view)
{
    rp_gpu_step_view *v;
    rp_walk walk;

    s->at[n] = add_view(m, view);
    s->from[n] = RP_GPU_FROM_WHOLE;
    if (rp_chain_whole(view, m->plan->chain->count))
        return true;
    s->from[n] = RP_GPU_FROM_AXES;
    v = &m->p->view[s->at[n]];
    rp_walk_begin(&walk, &view, 1, 0, m->plan->chain->count); /* merges axes */
    if (walk.rank == 1 && walk.bytes[0][0] == 0)              /* one element */
        return true;
    if (m->n_axes + (size_t)walk.rank > RP_GPU_CHAIN_AXES)
        return false;
    for (int d = 0; d < walk.rank; d++)
        m->p->axis[m->n_axes++] = (rp_gpu_step_axis){walk.shape[d], walk.bytes[0][d]};
    v->axes = (uint16_t)walk.rank;
    return true;
}

/* Operand n of step k is view v of the chain. false: the program cannot have it. */
static bool add_operand(maker *m, rp_gpu_step *s, size_t k, size_t n, size_t v)
{
    const rp_gpu_chain_plan *plan = m->plan;
    const uint8_t made = plan->made[v];
    const bool inside = made != RP_GPU_MADE_BEFORE && plan->by[made] >= m->first;
    const rp_gpu_step *maker_step = inside ? &m->p->step[plan->by[made] - m->first] : NULL;

    if (inside && plan->by[made] + (size_t)1 == k) {
        s->from[n] = RP_GPU_FROM_LAST;
        return true;
    }
    if (inside && maker_step->keep != RP_GPU_NOWHERE) {
        s->from[n] = RP_GPU_FROM_KEPT;
        s->at[n] = maker_step->keep;
        m->read[plan->by[made] - m->first] = true;
        return true;
    }
    if (inside && plan->slot[made] != RP_GPU_NO_SLOT)
        return false;
    return from_memory(m, s, n, &plan->view[v]);
}

/* Where the output of step k waits for those of its readers that do not come next; NOWHERE: there is no room. */
static uint8_t place_to_keep(maker *m, size_t k, size_t out)
{
    if (m->plan->last[out] <= k + 1)
        return RP_GPU_NOWHERE;
    for (uint8_t i = 0; i < RP_GPU_CHAIN_KEPT; i++)
        if (m->busy[i] <= k) {
            m->busy[i] = m->plan->last[out];
            return i;
        }
    return RP_GPU_NOWHERE;
}

/* Dropout's second operand. false: there is no room for its axis. */
static bool add_random_state(maker *m, rp_gpu_step *s, const rp_view *state)
{
    if (m->n_axes == RP_GPU_CHAIN_AXES)
        return false;
    s->at[1] = add_view(m, state);
    m->p->axis[m->n_axes++] = (rp_gpu_step_axis){state->shape[0], state->stride[0] * (i64)sizeof(i64)};
    return true;
}

static void add_attributes(rp_gpu_step *s, const rp_chain_step *step)
{
    const size_t n = step->attr != NULL ? rp_kernel_attributes(step->kernel) : 0;

    for (size_t i = 0; i < n && i < sizeof s->real / sizeof *s->real; i++)
        s->real[i] = step->attr[i].r;
    s->whole = n == 0 ? 0 : step->kernel == RP_K_dropout ? RP_AT(step->attr, dropout, stream).i : step->attr[0].i;
}

/* false: the program is full without the step. */
static bool add_step(maker *m, size_t k)
{
    const rp_chain_step *step = &m->plan->chain->step[k];
    rp_gpu_step *s = &m->p->step[k - m->first];

    *s = (rp_gpu_step){
        .code = (uint16_t)(code(step, m->plan->view) - 1), .n_in = (uint8_t)elementwise(step), .store = RP_GPU_NOWHERE};
    for (size_t n = 0; n < s->n_in; n++)
        if (!add_operand(m, s, k, n, step->in + n))
            return false;
    if (step->kernel == RP_K_dropout && !add_random_state(m, s, &m->plan->view[step->in + 1]))
        return false;
    s->keep = place_to_keep(m, k, step->out);
    add_attributes(s, step);
    return true;
}

/* Now that it is known where the program ends: what is stored, and what need not be kept. */
static void finish(maker *m, size_t end)
{
    m->p->n_kept = 0;
    for (size_t k = m->first; k < end; k++) {
        const size_t out = m->plan->chain->step[k].out;
        rp_gpu_step *s = &m->p->step[k - m->first];

        if (m->plan->slot[out] == RP_GPU_NO_SLOT || m->plan->last[out] >= end)
            s->store = add_view(m, &m->plan->view[out]);
        if (!m->read[k - m->first])
            s->keep = RP_GPU_NOWHERE;
        else if (s->keep >= m->p->n_kept)
            m->p->n_kept = s->keep + 1u;
    }
    m->p->n_steps = (u32)(end - m->first);
}

rp_gpu_chain_kernel rp_gpu_chain_program(rp_gpu_chain *program, const rp_gpu_chain_plan *plan, size_t k, size_t *end)
{
    maker m = {.p = program, .plan = plan, .first = k};
    unsigned kernels = NARROW | WIDE, all = 0;
    int kernel = 0;

    for (; k < plan->chain->n_steps; k++) {
        const unsigned those = kernels & kernels_of(&plan->chain->step[k], plan->view);

        if (those == 0 || !add_step(&m, k))
            break;
        all = kernels = those;
    }
    *end = k > m.first ? k : m.first + 1;
    if (all == 0)
        return RP_GPU_CHAIN_NONE;
    finish(&m, *end);
    while ((all >> kernel & 1) == 0)
        kernel++;
    return (rp_gpu_chain_kernel)kernel;
}
