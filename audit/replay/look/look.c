/* SPDX-License-Identifier: Apache-2.0
 * Looking inside a recorded run: the run is computed up to the step, from the nearest checkpoint, as diff computes one
 * side; a recorder that compares watches it; the step itself is then executed once more (walk.c). */
#include "audit/replay/look/look.h"

#include <inttypes.h>
#include <string.h>

#include "audit/record/job_options.h"
#include "audit/replay/diff_private.h"
#include "audit/replay/diff_walk_private.h"
#include "audit/replay/look/walk.h"
#include "audit/replay/replay_part.h"
#include "base/handle.h"
#include "base/memory.h"

typedef struct looking {
    const rp_look *look;
    const rp_job_options *options;
    side *side;
    rp_place place;
    rp_error difference; /* of the step from its record; status RP_OK: none */
    rp_function_names names;
    rp_looked *out;
    rp_buffer text;
    rp_json *all, *json; /* json: of the value; it becomes a part of all */
} looking;

/* ---- before anything is computed ---- */

static const rp_input_kind kinds[] = {RP_INPUT_STATE, RP_INPUT_DATA, RP_INPUT_FEED};
static const char *const kind_names[] = {"state", "data", "feed"}; /* of kinds, and by kind */

/* NAME, or state:NAME, data:NAME, feed:NAME where inputs of two kinds have the same name. */
static rp_status find_input(const rp_input **out, const rp_program *program, const char *name, rp_error *err)
{
    const rp_input *found[sizeof kinds / sizeof *kinds];
    size_t n = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        found[n] = rp_program_find_input(program, kinds[i], name);
        n += found[n] != NULL;
    }
    if (n > 1)
        return rp_fail(err, RP_EARG, "the step's program has two inputs of that name: give %s:%.95s or %s:%.95s",
                       kind_names[found[0]->kind], name, kind_names[found[1]->kind], name);
    *out = n ? found[0] : NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !*out; i++) {
        const size_t length = strlen(kind_names[i]);

        if (strncmp(name, kind_names[i], length) == 0 && name[length] == ':')
            *out = rp_program_find_input(program, kinds[i], name + length + 1);
    }
    return *out ? RP_OK
                : rp_fail(err, RP_EARG, "the step's program has no input %.95s: a listing without --op names them",
                          name);
}

/* Of the program of the record, and of the one that was computed. */
static rp_status find(const looking *l, const rp_program *program, rp_error *err)
{
    const rp_instr *instr;
    const rp_program *body;
    const rp_input *input;
    rp_status status;

    if (l->look->input)
        return find_input(&input, program, l->look->input, err);
    if (!l->look->op)
        return RP_OK;
    status = rp_place_find(&instr, &body, &l->place, program, err);
    if (status == RP_OK && l->look->output >= (size_t)instr->n_out)
        status = rp_fail(err, RP_EARG, "operation %s, %s: has no output %zu, expected 0 to %d", l->look->op,
                         instr->op->name, l->look->output, instr->n_out - 1);
    return status;
}

static rp_status check(looking *l, rp_program **program, rp_record *record, rp_error *err)
{
    const uint64_t records = rp_journal_records(l->side->journal);
    rp_status status;

    *program = NULL;
    if (l->look->step >= records)
        return rp_fail(err, RP_EARG, "step %" PRIu64 ": the run has the steps 0 to %" PRIu64, l->look->step,
                       records ? records - 1 : 0);
    status = l->look->op ? rp_place_read(&l->place, l->look->op, err) : RP_OK;
    if (status == RP_OK)
        status = rp_journal_record(l->side->journal, l->look->step, record, err);
    if (status == RP_OK)
        status = rp_diff_recorded_program(program, l->side, err);
    return status == RP_OK ? find(l, *program, err) : status;
}

/* ---- to the step ---- */

/* Whether the caller wants to go on is asked after each step. */
static rp_status watch_progress(void *self, const rp_step_event *event, rp_error *err)
{
    const looking *l = self;
    const rp_job_options *o = l->options;

    if (!o || !o->progress ||
        o->progress(o->self, &(rp_progress){.step = event->step + 1,
                                            .steps = l->look->step + 1,
                                            .loss = rp_driver_loss(l->side->driver)}))
        return RP_OK;
    return rp_fail(err, RP_ECANCELED, "interrupted at step %" PRIu64, event->step);
}

/* The side's own observer comes first, so that a step which the recorder refuses was kept. */
static rp_status watch(side *s, rp_error *err)
{
    rp_status status = rp_diff_watch(s, err);

    if (status == RP_OK)
        status = rp_run_observe(rp_driver_run(s->driver), (rp_observer){watch_progress, s->looker}, err);
    return status == RP_OK ? rp_part_watch(&s->recorder, s->driver, s->archive, err) : status;
}

/* What differs at the step itself is shown; what differs before it leads to another run's step. */
static rp_status go(looking *l, rp_error *err)
{
    rp_budget budget = {.sides = 2};
    rp_status status;

    l->side->opened = watch;
    l->side->looker = l;
    status = rp_diff_open(l->side, &budget, l->options, err);
    if (status != RP_OK)
        return status;
    status = rp_diff_go_to_step(l->side, &l->difference);
    if (status == RP_OK || (status == RP_EBITS && l->side->program))
        return RP_OK;
    if (err)
        *err = l->difference;
    return status;
}

/* ---- what is there ---- */

static rp_look_teller teller(looking *l)
{
    return (rp_look_teller){&l->text, l->json, l->side->program, &l->names};
}

static rp_status take(void *self, rp_device *device, const rp_type *type, const rp_view *view, rp_error *err)
{
    looking *l = self;
    const rp_look_teller t = teller(l);
    rp_shown shown;
    rp_status status = rp_walk_show(&shown, device, view, err);

    if (status == RP_OK)
        status = rp_look_tell_tensor(&t, type, shown.mapping.bytes, err);
    if (status == RP_OK && l->look->npy)
        status = rp_look_npy(l->out, type, shown.mapping.bytes, err);
    rp_walk_hide(&shown, device);
    return status;
}

static rp_status show_input(looking *l, rp_device *device, rp_error *err)
{
    const rp_program *p = l->side->program;
    const rp_input *input;
    const rp_type *type;
    rp_view view;
    char words[192];
    rp_status status = find_input(&input, p, l->look->input, err);

    if (status != RP_OK)
        return status;
    type = &p->value[input->value];
    rp_type_text(type, words, sizeof words);
    rp_buffer_printf(&l->text, "value     input %s %s, %s\n", kind_names[input->kind], input->name, words);
    if (rp_json_object_set_new(l->json, "input", rp_json_string(input->name)) != 0 ||
        rp_json_object_set_new(l->json, "kind", rp_json_string(kind_names[input->kind])) != 0)
        return rp_no_memory(err);
    view = rp_view_of(type, l->side->input[input - p->input]);
    return take(l, device, type, &view, err);
}

static rp_status show_op(looking *l, rp_device *device, rp_error *err)
{
    const rp_look_taker to = {take, l};
    rp_look_teller t;
    rp_status status = rp_function_names_of(&l->names, l->side->program, err);

    if (status != RP_OK)
        return status;
    t = teller(l);
    status = rp_look_tell_place(&t, &l->place, l->look->output, err);
    if (status == RP_OK)
        status = rp_look_walk(device, l->side->program, l->side->input, &l->place, l->look->output, &to, err);
    rp_function_names_free(&l->names);
    return status;
}

static rp_status show(looking *l, rp_error *err)
{
    rp_device *device = rp_run_device(rp_driver_run(l->side->driver));
    rp_status status = find(l, l->side->program, err);

    if (status == RP_OK)
        status = (l->look->input ? show_input : show_op)(l, device, err);
    l->out->same = l->difference.status == RP_OK;
    if (status == RP_OK && l->out->same)
        rp_buffer_text(&l->text, "journal   the same: program, feeds, results, state\n");
    else if (status == RP_OK)
        rp_buffer_printf(&l->text, "journal   differs, so this is not the recorded run's tensor: %s\n",
                         l->difference.text);
    return status;
}

/* ---- the whole ---- */

static rp_status head(looking *l, const rp_record *record, rp_error *err)
{
    char name[RP_MEMBER_NAME];

    (void)rp_program_name(name, record->program);
    rp_buffer_printf(&l->text, "step      %" PRIu64 " of %" PRIu64 ", program %s\n", l->look->step,
                     rp_journal_records(l->side->journal), name);
    l->json = rp_json_object();
    l->all = rp_json_pack("{s:s, s:n, s:n}", "program", name, "listing", "value");
    return l->json && l->all ? RP_OK : rp_no_memory(err);
}

static rp_status list(looking *l, const rp_program *program, rp_error *err)
{
    rp_json *bodies = NULL;
    rp_status status = rp_look_list(&l->text, l->look->json ? &bodies : NULL, program, err);

    l->out->same = true;
    if (status == RP_OK && bodies && rp_json_object_set_new(l->all, "listing", bodies) != 0)
        status = rp_no_memory(err);
    return status;
}

static rp_status finish(looking *l, rp_error *err)
{
    rp_buffer json = {0};
    rp_status status;

    if (rp_json_object_set_new(l->all, "difference",
                               l->difference.status == RP_OK ? rp_json_null() : rp_json_string(l->difference.text)) !=
        0)
        return rp_no_memory(err);
    if ((l->look->op || l->look->input) && rp_json_object_set(l->all, "value", l->json) != 0)
        return rp_no_memory(err);
    status = rp_json_write(l->all, &json, err);
    status = rp_buffer_finish(&json, status, &l->out->json, err);
    l->out->steps_recomputed = l->side->steps_recomputed;
    return rp_buffer_finish(&l->text, status, &l->out->text, err);
}

static rp_status look(looking *l, rp_error *err)
{
    rp_program *recorded;
    rp_record record;
    rp_status status = rp_journal_open(&l->side->journal, l->side->archive, err);

    if (status != RP_OK)
        return status;
    status = check(l, &recorded, &record, err);
    if (status == RP_OK)
        status = head(l, &record, err);
    if (status == RP_OK && !l->look->op && !l->look->input)
        status = list(l, recorded, err);
    else if (status == RP_OK)
        status = go(l, err);
    if (status == RP_OK && (l->look->op || l->look->input))
        status = show(l, err);
    rp_program_free(recorded);
    return status == RP_OK ? finish(l, err) : status;
}

rp_status rp_look_inside(const rp_archive *archive, const rp_look *what, const rp_job_options *options, rp_looked **out,
                         rp_error *err)
{
    *out = NULL;
    if (!archive || !what)
        return rp_no_handle(err, __func__, archive ? "look" : "archive");
    if (what->op && what->input)
        return rp_fail(err, RP_EARG, "an operation and an input exclude each other");

    side s = {.label = "", .archive = archive, .options = rp_job_run_options(options), .step = what->step};
    looking l = {.look = what, .options = options, .side = &s};
    rp_status status;

    *out = l.out = rp_calloc(1, sizeof **out);
    status = *out ? look(&l, err) : rp_no_memory(err);
    rp_diff_side_free(&s);
    rp_buffer_free(&l.text);
    rp_json_free(l.json);
    rp_json_free(l.all);
    if (status != RP_OK) {
        rp_looked_free(*out);
        *out = NULL;
    }
    return status;
}

void rp_looked_free(rp_looked *looked)
{
    if (!looked)
        return;
    rp_free(looked->text);
    rp_free(looked->json);
    rp_free(looked->npy);
    rp_free(looked);
}
