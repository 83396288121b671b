/* SPDX-License-Identifier: Apache-2.0
 * What tells two runs apart. Digests find the first differing step without computing anything; both runs are then
 * computed up to it, from the nearest checkpoint, and that one step is executed instruction by instruction on both
 * sides. */
#include <stdio.h>
#include <string.h>

#include "audit/replay/diff_private.h"
#include "audit/record/job_options.h"
#include "audit/record/recorder.h"
#include "audit/archive/withheld.h"
#include "base/handle.h"
#include "base/memory.h"
#include "determinism/bits.h"

static rp_device *device_of(const side *s)
{
    return rp_run_device(rp_driver_run(s->driver));
}

static void drop(const side *s, void **copies, size_t n)
{
    for (size_t i = 0; copies && i < n; i++)
        rp_device_release(device_of(s), copies[i]);
    rp_free(copies);
}

static void side_free(side *s)
{
    rp_graph_free(s->trace);
    rp_program_free(s->program);
    drop(s, s->input, s->n_inputs);
    drop(s, s->before, s->n_states);
    rp_driver_free(s->driver);
    rp_buffer_free(&s->journal);
}

/* *out, which may be NULL, becomes a copy of device memory. */
static rp_status copy_to(void **out, rp_device *device, const void *from, const rp_type *type, rp_error *err)
{
    const size_t bytes = rp_type_bytes(type);
    rp_status status = *out ? RP_OK : rp_device_allocate(device, out, bytes ? bytes : 1, err);

    return status == RP_OK ? rp_device_copy(device, *out, from, bytes, NULL, err) : status;
}

static rp_status keep_states(side *s, const rp_device_tensor *state, size_t n, rp_error *err)
{
    rp_status status = RP_OK;

    if (!s->before) {
        s->before = rp_calloc(n, sizeof *s->before);
        if (!s->before)
            return rp_no_memory(err);
        s->n_states = n;
    }
    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = copy_to(&s->before[i], device_of(s), state[i].memory, &state[i].type, err);
    return status;
}

static const void *find(const rp_device_tensor *list, size_t n, void *const *memory, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return memory ? memory[i] : list[i].memory;
    return NULL;
}

/* The step itself: its program and everything it reads, copied. */
static rp_status keep_inputs(side *s, const rp_step_event *event, rp_error *err)
{
    size_t n_data;
    const rp_device_tensor *data = rp_run_data(rp_driver_run(s->driver), &n_data);
    rp_status status = RP_OK;

    s->program = rp_program_copy(event->program);
    s->input = s->program ? rp_calloc(s->program->n_inputs, sizeof *s->input) : NULL;
    if (!s->input)
        return rp_no_memory(err);
    s->n_inputs = s->program->n_inputs;
    for (size_t i = 0; i < s->n_inputs && status == RP_OK; i++) {
        const rp_input *in = &s->program->input[i];
        const void *from = in->kind == RP_INPUT_STATE  ? find(event->state, event->n_states, s->before, in->name)
                           : in->kind == RP_INPUT_DATA ? find(data, n_data, NULL, in->name)
                                                       : find(event->feed, event->n_feeds, NULL, in->name);

        status = from ? copy_to(&s->input[i], device_of(s), from, &s->program->value[in->value], err)
                      : rp_fail(err, RP_EFORMAT, "program: input %s is not in the run", in->name);
    }
    if (status == RP_OK)
        status = rp_device_tensors_digest(&s->states, event->state, event->n_states, NULL, err);
    return status == RP_OK ? rp_device_tensors_digest(&s->results, event->result, event->n_results, NULL, err) : status;
}

static rp_status on_step(void *self, const rp_step_event *event, rp_error *err)
{
    side *s = self;

    if (event->step == s->step)
        return keep_inputs(s, event, err);
    return event->step + 1 == s->step ? keep_states(s, event->state, event->n_states, err) : RP_OK;
}

/* Computes the side up to and including the step, then traces it. */
static rp_status look_inside(side *s, const rp_run_options *options, rp_error *err)
{
    size_t n;
    uint64_t from;
    const rp_device_tensor *state;
    rp_status status = rp_diff_open(s, options, err);

    if (status != RP_OK)
        return status;
    from = rp_run_steps(rp_driver_run(s->driver));
    status = rp_run_observe(rp_driver_run(s->driver), (rp_observer){on_step, s}, err);
    if (status == RP_OK && s->step >= rp_driver_total(s->driver))
        status = rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": has a record of step %llu, but the run ends before it",
                         (unsigned long long)s->step);
    state = rp_run_states(rp_driver_run(s->driver), &n);
    if (status == RP_OK && s->step == from)
        status = keep_states(s, state, n, err);
    for (uint64_t i = from; i <= s->step && status == RP_OK; i++) {
        status = rp_driver_step(s->driver, err);
        s->steps_recomputed++;
    }
    if (status == RP_OK)
        status = rp_graph_trace(&s->trace, s->program, device_of(s), s->input, err);
    return status;
}

/* ---- describing ---- */

/* Whether two members of the name exist and have the same bytes. */
static bool same_member(const side *a, const side *b, const char *name)
{
    const rp_member *x = rp_archive_find(a->archive, name), *y = rp_archive_find(b->archive, name);

    return x && y && rp_digest_equal(&x->digest, &y->digest);
}

/* Members that differ or are in one of the two only; the manifest differs whenever another does, the recipe is compared
 * key by key. other_only: just those that `other` does not have. */
static void compare_members(const side *s, const side *other, bool other_only, rp_buffer *out)
{
    for (size_t i = 1; i < rp_archive_member_count(s->archive); i++) {
        const char *name = rp_archive_member(s->archive, i)->name;

        if (strcmp(name, RP_RECIPE_MEMBER) == 0 || (rp_member_rank_of(name) == RP_RANK_SIGNATURE))
            continue;
        if (!rp_archive_find(other->archive, name))
            rp_buffer_printf(out, "member    %s only in %s\n", name, s->label);
        else if (!other_only && !same_member(s, other, name))
            rp_buffer_printf(out, "member    %s differs\n", name);
    }
}

static void put_value(rp_buffer *out, const rp_json *value)
{
    if (value)
        (void)rp_json_write(value, out, NULL);
    else
        rp_buffer_text(out, "(absent)");
}

/* Recipe keys whose values differ, as dotted paths. */
static void compare_json(const char *path, const rp_json *a, const rp_json *b, rp_buffer *out)
{
    const char *key;
    rp_json *item;
    char deeper[200];

    if (rp_json_is_object(a) && rp_json_is_object(b)) {
        rp_json_object_foreach ((rp_json *)a, key, item) {
            (void)snprintf(deeper, sizeof deeper, "%.150s%s%.40s", path, *path ? "." : "", key);
            compare_json(deeper, item, rp_json_object_get(b, key), out);
        }
        rp_json_object_foreach ((rp_json *)b, key, item) {
            if (!rp_json_object_get(a, key)) {
                (void)snprintf(deeper, sizeof deeper, "%.150s%s%.40s", path, *path ? "." : "", key);
                compare_json(deeper, NULL, item, out);
            }
        }
    } else if (!a || !b || !rp_json_equal(a, b)) {
        rp_buffer_printf(out, "recipe    %s: A ", path);
        put_value(out, a);
        rp_buffer_text(out, ", B ");
        put_value(out, b);
        rp_buffer_u8(out, '\n');
    }
}

static rp_status compare_recipes(const side *a, const side *b, rp_buffer *out, rp_error *err)
{
    rp_json *x = NULL, *y = NULL;
    rp_status status = rp_archive_read_json(a->archive, RP_RECIPE_MEMBER, &x, err);

    if (status == RP_OK)
        status = rp_archive_read_json(b->archive, RP_RECIPE_MEMBER, &y, err);
    if (status == RP_OK)
        compare_json("", x, y, out);
    rp_json_free(x);
    rp_json_free(y);
    return status;
}

/* Which value number produced it, and by what. */
static void describe_value(const rp_program *p, uint32_t value, rp_buffer *out)
{
    char type[192];

    rp_type_text(&p->value[value], type, sizeof type);
    for (size_t i = 0; i < p->n_inputs; i++)
        if (p->input[i].value == value) {
            static const char *const kinds[] = {"state", "data", "feed"};

            rp_buffer_printf(out, "input %s %s, %s", kinds[p->input[i].kind], p->input[i].name, type);
            return;
        }
    for (size_t k = 0; k < p->n_instrs; k++)
        for (int i = 0; i < p->instr[k].n_out; i++)
            if (p->instr[k].out[i] == value)
                rp_buffer_printf(out, "instruction %zu, %s, output %d, %s", k, p->instr[k].op->name, i, type);
}

static void describe_element(const rp_view *a, const rp_view *b, size_t at, rp_buffer *out)
{
    size_t size = rp_dtype_size(a->dtype);
    const char *x = (const char *)a->data + at * size, *y = (const char *)b->data + at * size;
    char left[64], right[64];
    uint64_t ulps = rp_ulps(x, y, a->dtype);

    rp_describe_element(left, sizeof left, x, a->dtype);
    rp_describe_element(right, sizeof right, y, a->dtype);
    rp_buffer_printf(out, "element   %zu: A %s, B %s, ", at, left, right);
    if (ulps == UINT64_MAX)
        rp_buffer_text(out, "one of them NaN\n");
    else
        rp_buffer_printf(out, "%llu %s apart\n", (unsigned long long)ulps,
                         RP_D_REAL & 1u << a->dtype ? "ulps" : "units");
}

/* A value made contiguous on its device, then read. */
static rp_status read_value(const side *s, uint32_t value, void *host, rp_error *err)
{
    const rp_type *type = &s->trace->program->value[value];
    const size_t bytes = rp_type_bytes(type);
    void *memory;
    rp_view to;
    rp_status status = rp_device_allocate(device_of(s), &memory, bytes ? bytes : 1, err);

    if (status != RP_OK)
        return status;
    to = rp_view_of(type, memory);
    status = rp_execute_copy(device_of(s), &s->trace->view[value], &to, err);
    if (status == RP_OK)
        status = rp_device_read(device_of(s), host, memory, bytes, NULL, err);
    rp_device_release(device_of(s), memory);
    return status;
}

/* Contiguous copies with canonical NaNs, so that bytes can be compared. */
static void *settled(side *s, uint32_t value)
{
    const rp_type *type = &s->trace->program->value[value];
    void *memory = rp_calloc(rp_type_bytes(type), 1);
    size_t count = rp_type_count(type);

    if (!memory || read_value(s, value, memory, NULL) != RP_OK) {
        rp_free(memory);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (type->dtype == RP_F32)
            ((float *)memory)[i] = rp_canonical_f32(((float *)memory)[i]);
        else if (type->dtype == RP_F64)
            ((double *)memory)[i] = rp_canonical_f64(((double *)memory)[i]);
        else if (type->dtype == RP_BF16)
            ((uint16_t *)memory)[i] = rp_canonical_bf16(((uint16_t *)memory)[i]);
    }
    return memory;
}

/* True when a difference was found and described. */
static bool compare_value(side *a, side *b, uint32_t value, rp_buffer *out, rp_status *status)
{
    const rp_type *type = &a->trace->program->value[value], *other = &b->trace->program->value[value];
    void *x, *y;
    size_t count = rp_type_count(type), at;

    if (!rp_type_equal(type, other)) {
        rp_buffer_text(out, "value     shapes differ: A ");
        describe_value(a->trace->program, value, out);
        rp_buffer_text(out, "; B ");
        describe_value(b->trace->program, value, out);
        rp_buffer_u8(out, '\n');
        return true;
    }
    x = settled(a, value);
    y = settled(b, value);
    if (!x || !y)
        *status = RP_ENOMEM;
    at = x && y ? rp_first_difference(x, y, type->dtype, count) : count;
    if (at < count) {
        rp_view left = rp_view_of(type, x), right = rp_view_of(type, y);

        rp_buffer_text(out, "value     ");
        describe_value(a->trace->program, value, out);
        rp_buffer_u8(out, '\n');
        describe_element(&left, &right, at, out);
    }
    rp_free(x);
    rp_free(y);
    return at < count || !x || !y;
}

static void note_reproduction(const side *s, rp_buffer *out)
{
    rp_record record;

    const bool whole = rp_driver_state_period(s->driver) == 1;

    if (rp_record_read(&record, s->journal.data + s->step * RP_RECORD_SIZE) &&
        !((!whole || rp_digest_equal(&record.states, &s->states)) && rp_digest_equal(&record.results, &s->results)))
        rp_buffer_printf(out, "replay    %s: this host computes other bits for step %llu than its journal records\n",
                         s->label, (unsigned long long)s->step);
}

static rp_status compare_step(side *a, side *b, const rp_run_options *options, rp_buffer *out, rp_error *err)
{
    rp_status status = look_inside(a, options, err);
    size_t n;
    bool found = false;

    if (status != RP_OK)
        return rp_fail_at(err, status, "recomputing A");
    status = look_inside(b, options, err);
    if (status != RP_OK)
        return rp_fail_at(err, status, "recomputing B");
    n = a->trace->program->n_values < b->trace->program->n_values ? a->trace->program->n_values
                                                                  : b->trace->program->n_values;
    for (size_t v = 0; v < n && !found && status == RP_OK; v++)
        found = compare_value(a, b, (uint32_t)v, out, &status);
    if (status != RP_OK)
        return rp_no_memory(err);
    if (!found && a->trace->program->n_values != b->trace->program->n_values)
        rp_buffer_printf(out, "program   A has %zu values, B %zu; the common ones are equal\n",
                         a->trace->program->n_values, b->trace->program->n_values);
    else if (!found)
        rp_buffer_text(out, "value     both compute the same bits here\n");
    note_reproduction(a, out);
    note_reproduction(b, out);
    return RP_OK;
}

/* Inputs that were left out are bound by salted digests, which two salts make different for the same inputs. Of what
 * was not given back the salt is not known. */
static void compare_salts(side *a, side *b, rp_buffer *out)
{
    const rp_salt *x = rp_archive_salt(a->archive), *y = rp_archive_salt(b->archive);
    bool salted = rp_archive_withheld_count(a->archive) > 0, other = rp_archive_withheld_count(b->archive) > 0;

    if (salted != other)
        rp_buffer_printf(out,
                         "inputs    of %s are bound with a salt, those of %s are not: their digests are not compared\n",
                         salted ? a->label : b->label, salted ? b->label : a->label);
    else if (x && y && memcmp(x->bytes, y->bytes, sizeof x->bytes) != 0)
        rp_buffer_text(out, "inputs    of A and B are bound with different salts: their digests are not compared\n");
    else
        return;
    a->bound_apart = b->bound_apart = true;
}

static rp_status compare(side *a, side *b, const rp_run_options *options, rp_buffer *out, rp_error *err)
{
    rp_status status = RP_OK;
    bool look = false;

    rp_buffer_printf(out, "A         %s\nB         %s\n", rp_archive_id(a->archive), rp_archive_id(b->archive));
    if (strcmp(rp_archive_id(a->archive), rp_archive_id(b->archive)) == 0) {
        rp_buffer_text(out, "identical: same archive id\n");
        return RP_OK;
    }
    if (rp_archive_manifest(a->archive)->kind != rp_archive_manifest(b->archive)->kind) {
        rp_buffer_text(out, "kind      one is a run of a recipe, the other of the C API\n");
        return RP_OK;
    }
    if (rp_archive_manifest(a->archive)->kind == RP_RUN_RECIPE && !same_member(a, b, RP_RECIPE_MEMBER))
        status = compare_recipes(a, b, out, err);
    compare_members(a, b, false, out);
    compare_members(b, a, true, out);
    compare_salts(a, b, out);
    if (status == RP_OK)
        status = rp_archive_read_member(a->archive, RP_JOURNAL_MEMBER, SIZE_MAX / 2, &a->journal, err);
    if (status == RP_OK)
        status = rp_archive_read_member(b->archive, RP_JOURNAL_MEMBER, SIZE_MAX / 2, &b->journal, err);
    if (status == RP_OK)
        status = rp_diff_journals(a, b, options, out, &look, err);
    return status == RP_OK && look ? compare_step(a, b, options, out, err) : status;
}

rp_status rp_diff(const rp_archive *a, const rp_archive *b, const rp_job_options *options, bool *same, char **text,
                  rp_error *err)
{
    if (!a || !b) {
        *text = NULL;
        return rp_no_handle(err, __func__, a ? "b" : "a");
    }
    return rp_diff_counted(a, b, options, same, text, &(rp_diff_work){0}, err);
}

rp_status rp_diff_counted(const rp_archive *a, const rp_archive *b, const rp_job_options *options, bool *same,
                          char **text, rp_diff_work *work, rp_error *err)
{
    if (!a || !b) {
        *text = NULL;
        return rp_no_handle(err, __func__, a ? "b" : "a");
    }

    rp_run_options run = rp_job_run_options(options);
    side left = {.label = "A", .archive = a}, right = {.label = "B", .archive = b};
    rp_buffer out = {0};
    rp_status status = compare(&left, &right, &run, &out, err);

    *text = NULL;
    *same = strcmp(rp_archive_id(a), rp_archive_id(b)) == 0;
    *work = (rp_diff_work){left.digests_compared, left.steps_recomputed + right.steps_recomputed};
    side_free(&left);
    side_free(&right);
    rp_buffer_u8(&out, 0);
    if (status == RP_OK)
        status = rp_buffer_status(&out, err);
    if (status != RP_OK)
        rp_buffer_free(&out);
    else
        *text = (char *)out.data;
    return status;
}
