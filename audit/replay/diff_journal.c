/* SPDX-License-Identifier: Apache-2.0
 * The first step in which two journals differ: by their records where these commit to whole states, else by computing
 * both runs side by side. */
#include <string.h>

#include "audit/archive/periods.h"
#include "audit/replay/diff_private.h"
#include "audit/digest/record_tree.h"
#include "audit/record/recorder.h"
#include "base/memory.h"

enum { FEEDS_AT = 16, STATES_AT = 80 }; /* of the digests in a record */

/* NULL when nothing that can be compared differs: digests of states under different periods cannot, nor those of feeds
 * that different salts bind. */
static const char *field_that_differs(const rp_record *x, const rp_record *y, bool feeds, bool states)
{
    if (x->program != y->program)
        return "program";
    if (feeds && !rp_digest_equal(&x->feeds, &y->feeds))
        return "feeds";
    if (x->loss != y->loss || x->loss_dtype != y->loss_dtype || !rp_digest_equal(&x->results, &y->results))
        return "results";
    return states ? "state" : NULL;
}

/* Digests that cannot be compared are left out. */
typedef struct chosen {
    size_t records;
    bool feeds, states;
} chosen;

enum { IN_A_WINDOW = RP_WINDOW / RP_RECORD_SIZE };

/* The chosen records of one window, as they are compared. */
static rp_status read_window(unsigned char *out, size_t *records, side *s, size_t window, const chosen *c,
                             rp_error *err)
{
    const size_t first = window * IN_A_WINDOW;
    const unsigned char *bytes;
    rp_status status;

    *records = c->records - first < IN_A_WINDOW ? c->records - first : IN_A_WINDOW;
    status = rp_windowed_at(s->journal, first * RP_RECORD_SIZE, *records * RP_RECORD_SIZE, &bytes, err);
    if (status != RP_OK)
        return status;
    memcpy(out, bytes, *records * RP_RECORD_SIZE);
    for (size_t i = 0; i < *records; i++) {
        if (!c->feeds)
            memset(out + i * RP_RECORD_SIZE + FEEDS_AT, 0, RP_DIGEST_SIZE);
        if (!c->states)
            memset(out + i * RP_RECORD_SIZE + STATES_AT, 0, RP_DIGEST_SIZE);
    }
    return RP_OK;
}

/* The upper part of the tree over the records: its leaves are the roots of windows, which are whole subtrees. */
static rp_status upper_tree(rp_record_tree **out, side *s, const chosen *c, rp_error *err)
{
    const size_t windows = (c->records + IN_A_WINDOW - 1) / IN_A_WINDOW;
    unsigned char *bytes = rp_malloc(RP_WINDOW);
    rp_digest *root = rp_reallocarray(NULL, windows, sizeof *root);
    rp_status status = bytes && root ? RP_OK : rp_no_memory(err);

    for (size_t i = 0, records; i < windows && status == RP_OK; i++) {
        status = read_window(bytes, &records, s, i, c, err);
        if (status == RP_OK)
            status = rp_merkle_records(&root[i], bytes, RP_RECORD_SIZE, records, err);
    }
    if (status == RP_OK)
        status = rp_record_tree_over(out, root, windows, err);
    rp_free(root);
    rp_free(bytes);
    return status;
}

static rp_status lower_tree(rp_record_tree **out, side *s, size_t window, const chosen *c, rp_error *err)
{
    unsigned char *bytes = rp_malloc(RP_WINDOW);
    size_t records;
    rp_status status = bytes ? read_window(bytes, &records, s, window, c, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_record_tree_new(out, bytes, RP_RECORD_SIZE, records, err);
    rp_free(bytes);
    return status;
}

/* In the upper tree, or in a window of it, whose roots then differ and were counted there. */
static rp_status bisect(size_t *at, side *a, side *b, size_t window, const chosen *c, rp_error *err)
{
    rp_record_tree *x = NULL, *y = NULL;
    const bool upper = window == SIZE_MAX;
    rp_status status = upper ? upper_tree(&x, a, c, err) : lower_tree(&x, a, window, c, err);

    if (status == RP_OK)
        status = upper ? upper_tree(&y, b, c, err) : lower_tree(&y, b, window, c, err);
    if (status == RP_OK) {
        *at = rp_record_tree_bisect(x, y, &a->digests_compared);
        a->digests_compared -= !upper;
    }
    rp_record_tree_free(x);
    rp_record_tree_free(y);
    return status;
}

static rp_status name_field(const side *a, const side *b, size_t at, bool states, const char **field, rp_error *err)
{
    rp_record x, y;
    rp_status status = rp_journal_record(a->journal, at, &x, err);

    if (status == RP_OK)
        status = rp_journal_record(b->journal, at, &y, err);
    if (status == RP_OK)
        *field = field_that_differs(&x, &y, !a->bound_apart, states);
    return status;
}

/* The first record that differs and in what; the number of common records when none does. Found by bisection: from the
 * roots of the two trees down, one pair of digests a level. */
static rp_status first_record(side *a, side *b, size_t common, bool states, size_t *at, const char **field,
                              rp_error *err)
{
    const chosen c = {common, !a->bound_apart, states};
    size_t window, within = 0;
    rp_status status;

    *field = NULL;
    *at = common;
    if (common == 0)
        return RP_OK;
    status = bisect(&window, a, b, SIZE_MAX, &c, err);
    if (status != RP_OK || window * IN_A_WINDOW >= common)
        return status;
    status = bisect(&within, a, b, window, &c, err);
    *at = window * IN_A_WINDOW + within;
    return status == RP_OK ? name_field(a, b, *at, states, field, err) : status;
}

/* ---- where to begin computing ---- */

/* Whether the journal's record before a checkpoint is of just the states that it holds. Rolling digests cannot tell. */
static rp_status vouched_for(const side *s, uint64_t steps, bool *out, rp_error *err)
{
    size_t n;
    const rp_device_tensor *state = rp_run_states(rp_driver_run(s->driver), &n);
    rp_record record;
    rp_digest found;
    rp_status status;

    *out = rp_driver_state_period(s->driver) != 1;
    if (*out || rp_journal_record(s->journal, steps - 1, &record, NULL) != RP_OK)
        return RP_OK;
    status = rp_device_tensors_digest(&found, state, n, NULL, err);
    *out = status == RP_OK && rp_digest_equal(&found, &record.states);
    return status;
}

/* Steps first .. end - 1; one that leads to a checkpoint may be computed again to get there. */
static rp_status afford(rp_budget *budget, const side *s, uint64_t first, uint64_t end, const rp_job_options *options,
                        rp_error *err)
{
    const uint64_t total = rp_driver_total(s->driver), from = first ? first - 1 : 0;

    if (!budget)
        return RP_OK;
    return rp_replay_afford(budget, s->driver, from, end < total ? end : total, options, err);
}

/* The step's program is executed once more instruction by instruction, and the frames of a region that differs again.
 */
static rp_status afford_look(rp_budget *budget, const side *s, uint64_t step, const rp_job_options *options,
                             rp_error *err)
{
    rp_status status = RP_OK;

    for (int i = 0; i < 2 && budget && step < rp_driver_total(s->driver) && status == RP_OK; i++)
        status = rp_replay_afford(budget, s->driver, step, step + 1, options, err);
    return status;
}

/* The checkpoint at or before the side's step; 0: none. */
static uint64_t nearest_checkpoint(const side *s)
{
    char member[RP_MEMBER_NAME];
    const uint64_t period = rp_driver_checkpoint_period(s->driver), end = rp_driver_checkpoint_end(s->driver);
    const uint64_t last = s->step < end ? s->step : end - 1, at = period ? last / period * period : 0;

    return at && rp_tensor_set_present(s->archive, rp_checkpoint_name(member, at)) ? at : 0;
}

static rp_status open_driver(side *s, rp_error *err)
{
    rp_status status;

    rp_recorder_free(s->recorder);
    s->recorder = NULL;
    rp_driver_free(s->driver);
    status = rp_driver_from_archive(&s->driver, s->archive, &s->options, err);
    return status == RP_OK && s->opened ? s->opened(s, err) : status;
}

rp_status rp_diff_open(side *s, rp_budget *budget, const rp_job_options *options, rp_error *err)
{
    uint64_t at;
    bool vouched = false;
    rp_status status = open_driver(s, err);

    if (status != RP_OK)
        return status;
    at = s->shared ? s->base : nearest_checkpoint(s);
    status = afford(budget, s, at, s->step + 1, options, err);
    if (status == RP_OK)
        status = afford_look(budget, s, s->step, options, err);
    if (status != RP_OK || at == 0)
        return status;
    status = rp_driver_restore_checkpoint(s->driver, at, s->archive, err);
    if (s->shared)
        return status;
    if (status == RP_OK)
        status = vouched_for(s, at, &vouched, err);
    if (vouched || (status != RP_OK && status != RP_EFORMAT))
        return status;
    /* A checkpoint that is none, or not of what the run computed, leads nowhere. */
    status = open_driver(s, err);
    return status == RP_OK ? afford(budget, s, 0, at, options, err) : status;
}

/* Whether both have the checkpoint (*x, *y), and whether they are then equal: by the digests of all its members. */
static bool equal_checkpoints(const side *a, const side *b, uint64_t at, bool *x, bool *y)
{
    char name[RP_MEMBER_NAME];

    (void)rp_checkpoint_name(name, at);
    *x = rp_tensor_set_present(a->archive, name);
    *y = rp_tensor_set_present(b->archive, name);
    return *x && *y && rp_tensor_set_equal(a->archive, b->archive, name);
}

/* The last checkpoint at or before the step up to which all that both have are equal. */
static uint64_t common_checkpoint(const side *a, const side *b, uint64_t step)
{
    const uint64_t period = rp_driver_checkpoint_period(a->driver), end = rp_driver_checkpoint_end(a->driver);
    uint64_t last = 0;

    for (uint64_t at = period; period && at <= step && at < end; at += period) {
        bool x, y, equal = equal_checkpoints(a, b, at, &x, &y);

        if (!x || (y && !equal))
            break;
        last = y ? at : last;
    }
    return last;
}

static rp_status same_tensor(const rp_device_tensor *x, const rp_device_tensor *y, bool *same, rp_error *err)
{
    rp_host_tensors p = {.n = 0}, q = {.n = 0};
    rp_digest a, b;
    rp_status status;

    *same = strcmp(x->name, y->name) == 0 && rp_type_equal(&x->type, &y->type);
    if (!*same)
        return RP_OK;
    status = rp_host_tensors_map(&p, x, 1, err);
    if (status == RP_OK)
        status = rp_host_tensors_map(&q, y, 1, err);
    if (status == RP_OK && memcmp(p.named[0].data, q.named[0].data, rp_type_bytes(&x->type)) != 0) {
        /* bytes may still differ in NaNs, which are all the same */
        status = rp_named_tensors_digest(&a, p.named, 1, NULL, err);
        if (status == RP_OK)
            status = rp_named_tensors_digest(&b, q.named, 1, NULL, err);
        *same = status == RP_OK && rp_digest_equal(&a, &b);
    }
    rp_host_tensors_unmap(&p);
    rp_host_tensors_unmap(&q);
    return status;
}

static rp_status same_states(const side *a, const side *b, bool *same, rp_error *err)
{
    size_t n, m;
    const rp_device_tensor *x = rp_run_states(rp_driver_run(a->driver), &n),
                           *y = rp_run_states(rp_driver_run(b->driver), &m);
    rp_status status = RP_OK;

    *same = n == m;
    for (size_t i = 0; i < n && *same && status == RP_OK; i++)
        status = same_tensor(&x[i], &y[i], same, err);
    return status;
}

/* Of a search: what the step's results were. */
static rp_status note_results(void *self, const rp_step_event *event, rp_error *err)
{
    side *s = self;

    return rp_device_tensors_digest(&s->results, event->result, event->n_results, NULL, err);
}

static rp_status begin_search(side *s, rp_error *err)
{
    rp_status status = RP_OK;

    if (s->base)
        status = rp_driver_restore_checkpoint(s->driver, s->base, s->archive, err);
    return status == RP_OK ? rp_run_observe(rp_driver_run(s->driver), (rp_observer){note_results, s}, err) : status;
}

static rp_status search_step(side *a, side *b, uint64_t step, bool *same, rp_error *err)
{
    rp_status status;

    if (step >= rp_driver_total(a->driver) || step >= rp_driver_total(b->driver))
        return rp_fail(err, RP_EFORMAT, RP_JOURNAL_MEMBER ": has a record of step %llu, but a run ends before it",
                       (unsigned long long)step);
    status = rp_driver_step(a->driver, err);
    if (status == RP_OK)
        status = rp_driver_step(b->driver, err);
    a->steps_recomputed++;
    b->steps_recomputed++;
    if (status == RP_OK)
        status = same_states(a, b, same, err);
    *same = *same && rp_digest_equal(&a->results, &b->results);
    return status;
}

/* The step of first .. last whose program takes the most work. */
static uint64_t dearest(const side *s, uint64_t first, uint64_t last)
{
    uint64_t found = first, most = 0;
    rp_price price;
    char member[RP_MEMBER_NAME];

    for (uint64_t i = first; i <= last && i < rp_driver_total(s->driver); i++)
        if (rp_driver_price(s->driver, i, &price, member, NULL) == RP_OK && price.work > most) {
            most = price.work;
            found = i;
        }
    return found;
}

/* The search, the way to the step that it finds, which is no longer, and the look into that, whichever it is. */
static rp_status afford_search(const side *a, const side *b, uint64_t step, const rp_job_options *options,
                               rp_error *err)
{
    const side *const s[] = {a, b, a, b};
    rp_budget budget = {.sides = 2};
    rp_status status = RP_OK;

    for (int i = 0; i < 4 && status == RP_OK; i++)
        status = afford(&budget, s[i], a->base, step + 1, options, err);
    for (int i = 0; i < 2 && status == RP_OK; i++)
        status = afford_look(&budget, s[i], dearest(s[i], a->base, step), options, err);
    return status;
}

/* Both runs, whose drivers are open, are computed side by side from a->base on, and their states and results compared
 * after every step. *step is the first that differs, or stays. */
static rp_status search(side *a, side *b, findings *f, uint64_t *step, bool *found, rp_error *err)
{
    rp_status status = afford_search(a, b, *step, f->job, err);

    *found = false;
    a->shared = b->shared = f->searched = true;
    if (status == RP_OK)
        status = begin_search(a, err);
    if (status == RP_OK)
        status = begin_search(b, err);
    for (uint64_t i = a->base; i <= *step && !*found && status == RP_OK; i++) {
        bool same = true;

        status = search_step(a, b, i, &same, err);
        if (status == RP_OK && !same) {
            *found = true;
            *step = i;
        }
    }
    return status;
}

static rp_status open_both(side *a, side *b, rp_error *err)
{
    rp_status status = rp_driver_from_archive(&a->driver, a->archive, &a->options, err);

    return status == RP_OK ? rp_driver_from_archive(&b->driver, b->archive, &b->options, err) : status;
}

static void close_both(side *a, side *b)
{
    rp_driver_free(a->driver);
    rp_driver_free(b->driver);
    a->driver = b->driver = NULL;
}

/* Rolling digests see a difference up to a period late. */
static rp_status locate(side *a, side *b, findings *f, uint64_t *step, bool *found, rp_error *err)
{
    rp_status status = open_both(a, b, err);

    if (status == RP_OK)
        a->base = b->base = common_checkpoint(a, b, *step);
    if (status == RP_OK)
        status = search(a, b, f, step, found, err);
    close_both(a, b);
    return status == RP_OK || status == RP_EUNSUPPORTED ? status : rp_fail_at(err, status, "recomputing both");
}

static void note_step(side *a, side *b, findings *f, uint64_t step, const char *field)
{
    a->step = b->step = f->step = step;
    f->stepped = true;
    f->record = field;
}

static const char *level_of(const side *s)
{
    return rp_run_level(rp_driver_run(s->driver));
}

static const char *device_of(const side *s)
{
    return rp_device_kind(rp_run_device(rp_driver_run(s->driver)));
}

rp_status rp_diff_levels(side *a, side *b, findings *f, bool *look, rp_error *err)
{
    uint64_t step = 0;
    rp_status status = open_both(a, b, err);

    *look = false;
    if (status == RP_OK && rp_driver_total(a->driver) > 0) {
        step = rp_driver_total(a->driver) - 1;
        rp_buffer_printf(&f->text, "levels    A is computed at %s on %s, B at %s on %s\n", level_of(a), device_of(a),
                         level_of(b), device_of(b));
        status = search(a, b, f, &step, look, err);
    }
    close_both(a, b);
    if (status != RP_OK)
        return status == RP_EUNSUPPORTED ? status : rp_fail_at(err, status, "recomputing both");
    if (*look)
        rp_buffer_printf(&f->text, "step      %llu is the first that differs between the two\n",
                         (unsigned long long)step);
    else
        rp_buffer_printf(&f->text, "levels    both compute the same bits in all %llu steps\n",
                         (unsigned long long)step + 1);
    if (*look)
        note_step(a, b, f, step, NULL);
    return RP_OK;
}

static const char *final_state(const side *s)
{
    const char *text = rp_json_string_value(rp_json_object_get(rp_archive_manifest(s->archive)->run, "final_state"));

    return text ? text : "";
}

/* Rolling digests, at least on one side. */
static rp_status compare_rolling(side *a, side *b, uint64_t pa, uint64_t pb, findings *f, bool *look, rp_error *err)
{
    rp_buffer *out = &f->text;
    size_t na = (size_t)rp_journal_records(a->journal), nb = (size_t)rp_journal_records(b->journal),
           common = na < nb ? na : nb, k;
    const char *field;
    uint64_t step;
    bool found = false;
    rp_status status = first_record(a, b, common, pa == pb, &k, &field, err);

    if (status != RP_OK)
        return status;
    rp_buffer_printf(out, "journal   digests of the state: A %s, period %llu; B %s, period %llu\n",
                     pa > 1 ? "rolling" : "whole", (unsigned long long)pa, pb > 1 ? "rolling" : "whole",
                     (unsigned long long)pb);
    if (field)
        rp_buffer_printf(out, "journal   record %zu is the first that differs (its %s)\n", k, field);
    else
        rp_buffer_printf(out, "journal   nothing that can be compared differs in %zu common records (A %zu, B %zu)\n",
                         common, na, nb);
    /* the last common state may differ where no later record looks */
    if (common == 0 || (!field && pa == pb && na == nb && strcmp(final_state(a), final_state(b)) == 0))
        return RP_OK;
    step = field ? k : common - 1;
    status = locate(a, b, f, &step, &found, err);
    if (status != RP_OK)
        return status;
    if (!found && !field) {
        rp_buffer_printf(out, "state     both compute the same states in these steps\n");
        return RP_OK;
    }
    rp_buffer_printf(out, "step      %llu is the first that differs when both are computed again\n",
                     (unsigned long long)step);
    note_step(a, b, f, step, field);
    *look = true;
    return RP_OK;
}

rp_status rp_diff_journals(side *a, side *b, findings *f, bool *look, rp_error *err)
{
    rp_buffer *out = &f->text;
    size_t na = (size_t)rp_journal_records(a->journal), nb = (size_t)rp_journal_records(b->journal),
           common = na < nb ? na : nb, k;
    const char *field;
    uint64_t pa, pb;
    rp_status status = rp_archive_state_period(a->archive, &pa, err);

    *look = false;
    if (status == RP_OK)
        status = rp_archive_state_period(b->archive, &pb, err);
    if (status == RP_OK && (pa > 1 || pb > 1))
        return compare_rolling(a, b, pa, pb, f, look, err);
    if (status == RP_OK)
        status = first_record(a, b, common, true, &k, &field, err);
    if (status != RP_OK)
        return status;
    if (!field && na == nb) {
        rp_buffer_printf(out, "journal   all %zu records are equal%s\n", na,
                         a->bound_apart ? ", digests of inputs aside" : "");
        return RP_OK;
    }
    if (!field) {
        rp_buffer_printf(out, "journal   equal for %zu steps; then %s goes on alone (A %zu records, B %zu)\n", k,
                         k == na ? "B" : "A", na, nb);
        return RP_OK;
    }
    rp_buffer_printf(out, "step      %zu is the first that differs (its %s); %zu %s equal before it\n", k, field, k,
                     k == 1 ? "record is" : "records are");
    note_step(a, b, f, k, field);
    *look = true;
    return RP_OK;
}
