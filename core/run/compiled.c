/* SPDX-License-Identifier: Apache-2.0
 * Compiled steps: a program bound to a run's slots through a plan, executed any number of times. */
#include <stdatomic.h>

#include "base/memory.h"
#include "base/handle.h"
#include "core/run/look/print.h"
#include "core/run/run_private.h"

enum { GIVEN = 1, LENT };

struct rp_compiled {
    uint64_t serial; /* from 1, never reused in a process, unlike addresses */
    rp_run *run;
    rp_program *program;
    rp_program *planned; /* with what is to be printed; NULL: nothing is, and the plan is that of `program` */
    rp_plan *plan;
    bool *fed;             /* of each input that is a feed: somebody has had it to write to */
    size_t fed_all;        /* the inputs before it are no feeds, or fed */
    bool stepped, lacking; /* lacking: kernels of the device */
    size_t *slot;          /* of each input that is a state: its number among the run's */
    unsigned char *given;  /* of each output: LENT while it is made in a caller's memory, then GIVEN: there alone */
    size_t n_given;        /* how many are either */
    size_t *written;       /* the states that the present step writes to, in order */
    size_t n_written;
};

void rp_compiled_free(rp_compiled *c)
{
    if (!c)
        return;
    if (c->plan)
        c->run->own -= rp_plan_own_bytes(c->plan);
    rp_plan_free(c->plan);
    rp_program_free(c->program);
    rp_program_free(c->planned);
    rp_free(c->fed);
    rp_free(c->given);
    rp_free(c->slot);
    rp_free(c->written);
    rp_free(c);
}

/* What scans may store so that the run's limit is kept: nothing that is stored is part of the price. */
static size_t may_store(const rp_run *run, const rp_program *program)
{
    uint64_t memory, spare;

    if (!run->max_memory)
        return RP_PLAN_STORED_MAX;
    memory = rp_program_price(program).memory;
    spare = run->max_memory > memory ? run->max_memory - memory : 0;
    return spare < RP_PLAN_STORED_MAX ? (size_t)spare : RP_PLAN_STORED_MAX;
}

rp_status rp_run_look_at(rp_run *run, const rp_program *program, rp_error *err)
{
    const rp_status status = rp_products_look(&run->pinned, run->device, program, err);

    return status == RP_OK ? rp_lacks_look(&run->lacks, run->device, program, err) : status;
}

bool rp_run_multiplies_pinned(const rp_run *run)
{
    return run->pinned;
}

rp_status rp_run_can_execute(const rp_run *run, rp_error *err)
{
    return rp_lacks_refuse(&run->lacks, run->device, err);
}

/* What it lacks is told when a step is asked for, with that of all others that are compiled by then. */
static rp_status look_at(rp_compiled *c, rp_error *err)
{
    rp_lacks alone = {0};
    rp_status status = rp_lacks_look(&alone, c->run->device, c->program, err);

    c->lacking = alone.text[0] != '\0';
    return status == RP_OK ? rp_run_look_at(c->run, c->program, err) : status;
}

/* What the run's budget leaves for a program's own memory and its part of the arena; 0: there is no budget. */
static rp_status find_left(const rp_run *run, size_t *left, rp_error *err)
{
    const uint64_t held = rp_run_memory(run) - run->arena.bytes;

    *left = 0;
    if (!run->memory)
        return RP_OK;
    if (held >= run->memory)
        return rp_fail(err, RP_ENOMEM,
                       "states, data, and feeds and results of other steps take %llu bytes, and the budget is "
                       "%llu",
                       (unsigned long long)held, (unsigned long long)run->memory);
    *left = run->memory - held < SIZE_MAX ? (size_t)(run->memory - held) : SIZE_MAX;
    return RP_OK;
}

/* The arena is as large as the largest of all programs needs it, and may have been too large before this one came. */
static rp_status check_budget(const rp_run *run, rp_error *err)
{
    const uint64_t held = rp_run_memory(run);

    return !run->memory || held <= run->memory
               ? RP_OK
               : rp_fail(err, RP_ENOMEM,
                         "all steps together take %llu bytes with states and data, and the budget is %llu: "
                         "what this program takes came after another had all that was left",
                         (unsigned long long)held, (unsigned long long)run->memory);
}

static rp_status compile(rp_compiled **out, rp_run *run, rp_program *program, bool start, rp_error *err)
{
    static atomic_uint_fast64_t serial;
    rp_compiled *c = rp_calloc(1, sizeof *c);
    void **memory = rp_calloc(program->n_inputs, sizeof *memory);
    rp_plan_options options = {.arena = &run->arena,
                               .passes = RP_PASSES,
                               .stored = may_store(run, program),
                               .start = start,
                               .writes = &run->writes};
    rp_status status = RP_OK;

    *out = NULL;
    if (!c || !memory) {
        rp_free(c);
        rp_free(memory);
        rp_program_free(program);
        return rp_no_memory(err);
    }
    *c = (rp_compiled){.serial = atomic_fetch_add(&serial, 1) + 1, .run = run, .program = program};
    c->fed = rp_calloc(program->n_inputs, sizeof *c->fed);
    c->given = rp_calloc(program->n_outputs, sizeof *c->given);
    c->slot = rp_calloc(program->n_inputs, sizeof *c->slot);
    c->written = rp_calloc(program->n_inputs, sizeof *c->written);
    if (!c->fed || !c->given || !c->slot || !c->written)
        status = rp_no_memory(err);
    for (size_t i = 0; i < program->n_inputs && status == RP_OK; i++) {
        const rp_input *in = &program->input[i];
        const rp_device_tensor *slot;

        if (in->kind == RP_INPUT_FEED)
            continue;
        slot = rp_slots_find(in->kind == RP_INPUT_STATE ? &run->states : &run->data, in->name);
        if (!slot || !rp_type_equal(&slot->type, &program->value[in->value]))
            status =
                rp_fail(err, RP_EFORMAT, "program: input %s is not in the run with that shape and dtype", in->name);
        else
            memory[i] = slot->memory;
        if (status == RP_OK && in->kind == RP_INPUT_STATE)
            c->slot[i] = (size_t)(slot - run->states.tensor);
    }
    if (status == RP_OK)
        status = look_at(c, err);
    if (status == RP_OK && program->n_prints)
        status = rp_print_program(&c->planned, program, err);
    if (status == RP_OK)
        status = find_left(run, &options.memory, err);
    if (status == RP_OK)
        status = rp_plan_new_with(&c->plan, c->planned ? c->planned : program, run->device, memory, &options, err);
    if (status == RP_OK) {
        run->own += rp_plan_own_bytes(c->plan);
        status = check_budget(run, err);
    }
    if (status == RP_ENOMEM)
        status = rp_fail_at(err, status, "memory of the compiled program");
    rp_free(memory);
    if (status != RP_OK)
        rp_compiled_free(c);
    else
        *out = c;
    return status;
}

rp_status rp_run_compile(rp_compiled **out, rp_run *run, rp_program *program, rp_error *err)
{
    return compile(out, run, program, false, err);
}

size_t rp_compiled_own_bytes(const rp_compiled *c)
{
    return rp_plan_own_bytes(c->plan);
}

static rp_status compile_graph(rp_compiled **out, rp_run *run, rp_graph *graph, bool start, rp_error *err)
{
    rp_error why = {.status = RP_ENOMEM};
    rp_program *program = rp_graph_take_program(graph, &why);

    *out = NULL;
    if (program)
        return compile(out, run, program, start, err);
    if (err)
        *err = why;
    return why.status;
}

rp_status rp_run_compile_graph(rp_compiled **out, rp_run *run, rp_graph *graph, rp_error *err)
{
    return compile_graph(out, run, graph, false, err);
}

rp_status rp_run_compile_start(rp_compiled **out, rp_run *run, rp_graph *graph, rp_error *err)
{
    return compile_graph(out, run, graph, true, err);
}

const rp_program *rp_compiled_program(const rp_compiled *c)
{
    return c->program;
}

bool rp_compiled_feed(const rp_compiled *c, const char *name, rp_device_tensor *out)
{
    const rp_input *feed = rp_program_find_input(c->program, RP_INPUT_FEED, name);

    if (feed) {
        size_t input = (size_t)(feed - c->program->input);

        c->fed[input] = true;
        *out = (rp_device_tensor){feed->name, c->program->value[feed->value], c->run->device,
                                  rp_plan_feed(c->plan, input)};
    }
    return feed != NULL;
}

bool rp_compiled_result(const rp_compiled *c, const char *name, rp_device_tensor *out)
{
    const rp_output *result = rp_program_find_output(c->program, RP_OUTPUT_RESULT, name);

    if (result)
        *out = (rp_device_tensor){result->name, c->program->value[result->value], c->run->device,
                                  rp_plan_output(c->plan, (size_t)(result - c->program->output))};
    return result != NULL;
}

static void *compiled_memory(const void *arg, size_t index, bool output)
{
    const rp_compiled *c = arg;

    return output ? rp_plan_output(c->plan, index) : rp_plan_feed(c->plan, index);
}

/* The first feed that nobody has written to; NULL when there is none. */
static const char *unfed(rp_compiled *c)
{
    const rp_program *p = c->program;

    while (c->fed_all < p->n_inputs && (p->input[c->fed_all].kind != RP_INPUT_FEED || c->fed[c->fed_all]))
        c->fed_all++;
    return c->fed_all < p->n_inputs ? p->input[c->fed_all].name : NULL;
}

static rp_status settle(void *self, size_t input, rp_error *err)
{
    rp_compiled *c = self;

    c->written[c->n_written++] = c->slot[input];
    return rp_run_settle(c->run, c->slot[input], err);
}

/* An error tells its step, as those of eager steps do. */
static rp_status run_plan(rp_compiled *c, rp_error *err)
{
    rp_error found = {0};
    const rp_status status = rp_plan_run_settling(c->plan, settle, c, &found);

    return status == RP_OK ? status
                           : rp_fail(err, status, "%s (step %llu)", found.text, (unsigned long long)c->run->steps);
}

/* What the caller wants to see lies behind the program's own outputs. */
static rp_status show_prints(const rp_compiled *c, rp_error *err)
{
    const rp_program *p = c->program;
    rp_status status = RP_OK;

    for (size_t i = 0; i < p->n_prints && status == RP_OK; i++) {
        const rp_device_tensor tensor = {p->print[i].name, p->value[p->print[i].value], c->run->device,
                                         rp_plan_output(c->plan, p->n_outputs + i)};

        status = rp_print_tensor(&c->run->graph->print_to, &tensor, err);
    }
    return status;
}

static rp_status make_step(rp_compiled *c, rp_error *err)
{
    rp_status status;

    if (c->run->in_step)
        return rp_fail(err, RP_EARG, "an eager step is in progress");
    if (c->run->given_up)
        return rp_run_given_up(err);
    if (unfed(c))
        return rp_fail(err, RP_EARG, "feed %s was never written: rp_compiled_write", unfed(c));
    if (!c->run->stepped || c->lacking) {
        status = rp_run_can_execute(c->run, err);
        if (status != RP_OK)
            return status;
    }
    c->run->stepped = true;
    c->n_written = 0;
    rp_profile_step_begins(c->run->profile, c->serial, c->run->steps);
    rp_plan_set_watch(c->plan, rp_profile_watch(c->run->profile));
    status = run_plan(c, err);
    c->run->given_up = c->run->given_up || (status != RP_OK && rp_plan_mixed(c->plan));
    if (status == RP_OK && c->planned) {
        status = show_prints(c, err);
        c->run->given_up = c->run->given_up || status != RP_OK; /* the states are new, and no record leads to them */
    }
    if (status == RP_OK)
        status = rp_run_tell(
            c->run,
            &(rp_step_event){
                .program = c->program, .compiled = c->serial, .written = c->written, .n_written = c->n_written},
            compiled_memory, c, err);
    rp_profile_step_ends(c->run->profile);
    if (status == RP_OK)
        c->run->steps++;
    c->stepped = c->stepped || status == RP_OK;
    return status;
}

/* A step is made: of results with a caller alone there are those that were lent for it. Before, and after a step that
 * was not made, those of the one before: older ones in their place would be silent. */
static void forget_given(rp_compiled *c)
{
    size_t left = c->n_given;

    for (size_t o = 0; left; o++) {
        left -= c->given[o] != 0;
        c->n_given -= c->given[o] == GIVEN;
        c->given[o] = c->given[o] == LENT ? LENT : 0;
    }
}

rp_status rp_compiled_step(rp_compiled *c, rp_error *err)
{
    rp_status status;

    if (!c)
        return rp_no_handle(err, __func__, "compiled");
    status = make_step(c, err);
    if (status == RP_OK)
        forget_given(c);
    return status;
}

/* ---- rp/program.h ---- */

/* What a program wants of a run, in words that name both sides. */
static rp_status check_inputs(const rp_run *run, const rp_program *p, rp_error *err)
{
    for (size_t i = 0; i < p->n_inputs; i++) {
        const rp_input *in = &p->input[i];
        const char *kind = in->kind == RP_INPUT_STATE ? "state" : "data";
        const rp_device_tensor *slot;
        char wanted[192], found[192];

        if (in->kind == RP_INPUT_FEED)
            continue;
        slot = rp_slots_find(in->kind == RP_INPUT_STATE ? &run->states : &run->data, in->name);
        rp_type_text(&p->value[in->value], wanted, sizeof wanted);
        if (!slot)
            return rp_fail(err, RP_EARG, "the run has no %s %s, which the program takes as %s", kind, in->name, wanted);
        rp_type_text(&slot->type, found, sizeof found);
        if (!rp_type_equal(&slot->type, &p->value[in->value]))
            return rp_fail(err, RP_EARG, "%s %s is %s in the run, and %s in the program", kind, in->name, found,
                           wanted);
    }
    return RP_OK;
}

rp_status rp_compile(rp_compiled **out, rp_run *run, const rp_program *program, rp_error *err)
{
    if (!run || !program) {
        *out = NULL;
        return rp_no_handle(err, __func__, run ? "program" : "run");
    }

    rp_status status = check_inputs(run, program, err);
    rp_program *copy;

    *out = NULL;
    if (status != RP_OK)
        return status;
    copy = rp_program_copy(program);
    return copy ? rp_run_compile(out, run, copy, err) : rp_no_memory(err);
}

size_t rp_compiled_memory(const rp_compiled *c)
{
    if (!c)
        return 0;
    return rp_plan_own_bytes(c->plan) + rp_plan_arena_bytes(c->plan);
}

static rp_status check_size(const rp_device_tensor *tensor, const char *kind, size_t size, rp_error *err)
{
    char type[192]; /* written for the message alone: feeds come with each step */

    if (size == rp_type_bytes(&tensor->type))
        return RP_OK;
    rp_type_text(&tensor->type, type, sizeof type);
    return rp_fail(err, RP_EARG, "%s %s is %s: expected exactly %zu bytes, found %zu", kind, tensor->name, type,
                   rp_type_bytes(&tensor->type), size);
}

rp_status rp_compiled_write(rp_compiled *c, const char *name, const void *bytes, size_t size, rp_error *err)
{
    if (!c)
        return rp_no_handle(err, __func__, "compiled");

    const rp_input *feed = rp_program_find_input(c->program, RP_INPUT_FEED, name);
    rp_device_tensor tensor;
    rp_status status;

    if (!feed)
        return rp_fail(err, RP_EARG, "the program has no feed %.96s", name);
    tensor = (rp_device_tensor){.name = feed->name, .type = c->program->value[feed->value]};
    status = check_size(&tensor, "feed", size, err); /* before the feed counts as written */
    if (status != RP_OK)
        return status;
    (void)rp_compiled_feed(c, name, &tensor);
    return rp_slot_write(&tensor, bytes, err);
}

rp_status rp_compiled_read(const rp_compiled *c, const char *name, void *bytes, size_t size, rp_error *err)
{
    rp_device_tensor tensor;
    rp_status status;

    if (!c)
        return rp_no_handle(err, __func__, "compiled");
    if (!rp_compiled_result(c, name, &tensor))
        return rp_fail(err, RP_EARG, "the program has no result %.96s", name);
    if (!c->stepped)
        return rp_fail(err, RP_EARG, "result %.96s: no step was made yet", name);
    if (c->n_given && c->given[rp_program_find_output(c->program, RP_OUTPUT_RESULT, name) - c->program->output])
        return rp_fail(err, RP_EARG, "result %.96s of the last step is where rp_compiled_call was told to make it",
                       name);
    status = check_size(&tensor, "result", size, err);
    return status == RP_OK ? rp_slot_read(&tensor, bytes, err) : status;
}

/* ---- a step on the caller's memory ---- */

/* Below this many bytes a copy costs less than what follows the memory. */
enum { LENT_LEAST = 32768, LENT_ALIGNMENT = 64 };

static bool is_lendable(const rp_compiled *c, bool output, size_t i, const rp_lent *l)
{
    return l->size >= LENT_LEAST && l->bytes != NULL && (uintptr_t)l->bytes % LENT_ALIGNMENT == 0 &&
           c->run->n_observers == 0 && rp_plan_may_lend(c->plan, output, i);
}

static rp_status take_feed(rp_compiled *c, const rp_lent *l, rp_error *err)
{
    const rp_input *feed = rp_program_find_input(c->program, RP_INPUT_FEED, l->name);
    const size_t i = feed ? (size_t)(feed - c->program->input) : 0;
    const rp_type *type = feed ? &c->program->value[feed->value] : NULL;

    if (feed && rp_plan_may_lend(c->plan, false, i))
        rp_plan_lend(c->plan, false, i, NULL); /* a name may come twice */
    if (!feed || l->size != rp_type_bytes(type) || !is_lendable(c, false, i, l) || !rp_is_canonical(l->bytes, type))
        return rp_compiled_write(c, l->name, l->bytes, l->size, err);
    rp_plan_lend(c->plan, false, i, l->bytes);
    c->fed[i] = true;
    return RP_OK;
}

static bool overlap(const rp_lent *a, const rp_lent *b)
{
    const uintptr_t at = (uintptr_t)a->bytes, other = (uintptr_t)b->bytes;

    return at < other + b->size && other < at + a->size;
}

/* Whether kernels may write to the memory of result i of `result` while they run: nobody else was given some of it. */
static bool is_apart(const rp_lent *result, size_t n, size_t i, const rp_lent *feed, size_t n_feeds)
{
    for (size_t k = 0; k < n; k++)
        if (k != i && overlap(&result[k], &result[i]))
            return false;
    for (size_t k = 0; k < n_feeds; k++)
        if (overlap(&feed[k], &result[i]))
            return false;
    return true;
}

/* Where a result is to be made, or (later) copied to. */
static void put_result(rp_compiled *c, const rp_lent *l)
{
    const rp_output *result = rp_program_find_output(c->program, RP_OUTPUT_RESULT, l->name);
    const size_t o = result ? (size_t)(result - c->program->output) : 0;

    if (!result || l->size != rp_type_bytes(&c->program->value[result->value]) || c->given[o] == LENT ||
        !is_lendable(c, true, o, l))
        return;
    rp_plan_lend(c->plan, true, o, l->bytes);
    c->n_given += c->given[o] == 0;
    c->given[o] = LENT;
}

/* Where a result is now, which may have been asked for twice. */
static rp_status read_anywhere(rp_compiled *c, const rp_lent *l, rp_error *err)
{
    const rp_output *out = rp_program_find_output(c->program, RP_OUTPUT_RESULT, l->name);
    rp_device_tensor tensor;
    rp_status status;

    if (!out || c->given[out - c->program->output] != LENT)
        return rp_compiled_read(c, l->name, l->bytes, l->size, err);
    (void)rp_compiled_result(c, l->name, &tensor);
    status = check_size(&tensor, "result", l->size, err);
    if (status != RP_OK)
        return status;
    if (tensor.memory == l->bytes)
        rp_canonicalise(l->bytes, &tensor.type);
    return tensor.memory == l->bytes ? RP_OK : rp_slot_read(&tensor, l->bytes, err);
}

/* Of feeds that were lent nothing is kept, and results that were are where the caller has them. */
static void take_back(rp_compiled *c, const rp_lent *feed, size_t n_feeds)
{
    for (size_t i = 0; i < n_feeds; i++) {
        const rp_input *in = rp_program_find_input(c->program, RP_INPUT_FEED, feed[i].name);
        const size_t at = in ? (size_t)(in - c->program->input) : 0;

        if (!in || !rp_plan_may_lend(c->plan, false, at) || rp_plan_feed(c->plan, at) != feed[i].bytes)
            continue;
        rp_plan_lend(c->plan, false, at, NULL);
        c->fed[at] = false;
        c->fed_all = 0;
    }
    for (size_t o = 0; o < c->program->n_outputs && c->n_given; o++)
        if (c->given[o] == LENT) {
            rp_plan_lend(c->plan, true, o, NULL);
            c->given[o] = GIVEN;
        }
}

rp_status rp_compiled_call(rp_compiled *c, const rp_lent *feed, size_t n_feeds, const rp_lent *result, size_t n_results,
                           rp_error *err)
{
    rp_status status = RP_OK;

    if (!c)
        return rp_no_handle(err, __func__, "compiled");
    for (size_t i = 0; i < n_feeds && status == RP_OK; i++)
        status = take_feed(c, &feed[i], err);
    for (size_t i = 0; i < n_results && status == RP_OK; i++)
        if (is_apart(result, n_results, i, feed, n_feeds))
            put_result(c, &result[i]);
    if (status == RP_OK)
        status = make_step(c, err);
    if (status == RP_OK)
        forget_given(c);
    for (size_t i = 0; i < n_results && status == RP_OK; i++)
        status = read_anywhere(c, &result[i], err);
    take_back(c, feed, n_feeds);
    return status;
}
