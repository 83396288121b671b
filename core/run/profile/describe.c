/* SPDX-License-Identifier: Apache-2.0
 * What a row of a profile is: the operations of a call, the bytes that it has to move and the arithmetic it has to do
 * at least, how much of the arena is alive meanwhile, and where it comes from. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "core/run/profile/profile.h"

void rp_profile_row_free(rp_profile_row *row)
{
    rp_free(row->operations);
    rp_free(row->place);
    rp_free(row->type);
    rp_free(row->source);
}

/* NULL: memory ran out. */
static char *taken(rp_buffer *text)
{
    char *out;

    return rp_buffer_finish(text, RP_OK, &out, NULL) == RP_OK ? out : NULL;
}

/* ---- where it comes from ---- */

/* The value that this one is a view of. */
static uint32_t viewed(const rp_program *p, uint32_t value)
{
    while (p->maker[value] != RP_NO_INSTR && p->instr[p->maker[value]].op->alias)
        value = p->instr[p->maker[value]].in[0];
    return value;
}

/* The states, data and feeds that it reads, itself or through views. */
static bool put_inputs(rp_buffer *out, const rp_program *p, const rp_instr *instr)
{
    enum { SHOWN = 3 };
    size_t n = 0;

    for (size_t i = 0; i < instr->n_in && n < SHOWN; i++) {
        const rp_input *input = rp_program_input_of(p, viewed(p, instr->in[i]));

        if (!input || !input->name[0])
            continue;
        rp_buffer_printf(out, "%s%s", n ? ", " : "", input->name);
        n++;
    }
    return n > 0;
}

static const char *file_of(const rp_instr *instr)
{
    const char *file = rp_mark_file(instr->mark), *slash = strrchr(file, '/');

    return slash ? slash + 1 : file;
}

/* Of the operations [first, end) of a call each line of code once, in their order: "model.c:12, 15, layers.c:7".
 * Whether there are any. */
static bool put_lines(rp_buffer *out, const rp_plan *plan, size_t first, size_t end)
{
    const char *file = NULL;

    for (size_t k = first; k < end; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);
        bool known = !instr->mark;

        for (size_t i = first; i < k && !known; i++)
            known = rp_plan_at(plan, i)->mark && rp_mark_line(rp_plan_at(plan, i)->mark) == rp_mark_line(instr->mark) &&
                    strcmp(file_of(rp_plan_at(plan, i)), file_of(instr)) == 0;
        if (known)
            continue;
        rp_buffer_text(out, file ? ", " : "");
        if (!file || strcmp(file, file_of(instr)) != 0)
            rp_buffer_printf(out, "%s:", file_of(instr));
        rp_buffer_printf(out, "%d", rp_mark_line(instr->mark));
        file = file_of(instr);
    }
    return file;
}

/* A program that was read has no lines of code; names say most of a layer. What reads none is told by what its first
 * operand was made from. */
static void put_source(rp_buffer *out, const rp_program *p, const rp_instr *instr)
{
    enum { FAR = 32 };
    rp_buffer names = {0};

    if (instr->mark) {
        rp_buffer_printf(out, "%s:%d", file_of(instr), rp_mark_line(instr->mark));
        return;
    }

    for (size_t n = 0; n < FAR && instr->n_in > 0; n++) {
        uint32_t from;

        if (put_inputs(&names, p, instr)) {
            rp_buffer_text(out, n ? "behind " : "");
            rp_buffer_append(out, names.data, names.size);
            break;
        }
        from = p->maker[viewed(p, instr->in[0])];
        if (from == RP_NO_INSTR)
            break;
        instr = &p->instr[from];
    }
    out->failed = out->failed || names.failed;
    rp_buffer_free(&names);
}

/* ---- bytes and arithmetic ---- */

/* Of an operand of which the operation may need a part only, no more than it makes. */
static void add_operand(rp_profile_row *row, const rp_program *p, const rp_instr *instr, size_t i, double made)
{
    const double bytes = (double)rp_type_bytes(&p->value[instr->in[i]]);
    const bool part = instr->op->flags & RP_OP_INDEXED || instr->op->alias;

    for (size_t k = 0; k < i; k++)
        if (instr->in[k] == instr->in[i])
            return;
    row->bytes += part && bytes > made ? made : bytes;
}

static void add_instr(rp_profile_row *row, const rp_program *p, const rp_instr *instr)
{
    double made = 0;

    for (int i = 0; i < instr->n_out; i++) {
        made += (double)rp_type_bytes(&p->value[instr->out[i]]);
        row->wide = row->wide || p->value[instr->out[i]].dtype == RP_F64;
    }
    row->arithmetic += (double)rp_instr_arithmetic(p, instr);
    if (instr->region)
        return; /* what it moves is told by what it executes */
    row->written += made;
    row->bytes += made;
    for (size_t i = 0; i < instr->n_in; i++)
        add_operand(row, p, instr, i, made);
}

static bool made_at(const rp_plan *plan, size_t first, size_t end, uint32_t value)
{
    for (size_t k = first; k < end; k++)
        for (int i = 0; i < rp_plan_at(plan, k)->n_out; i++)
            if ((uint32_t)rp_plan_at(plan, k)->out[i] == value)
                return true;
    return false;
}

/* What is only in the chain's scratch costs nothing; an operand of several steps is read once. */
static void add_chain(rp_profile_row *row, const rp_plan *plan, size_t first, size_t end)
{
    const rp_program *p = plan->program;
    uint32_t seen[RP_CHAIN_VIEWS];
    size_t n = 0;

    for (size_t k = first; k < end; k++) {
        const rp_instr *instr = rp_plan_at(plan, k);

        row->arithmetic += (double)rp_instr_arithmetic(p, instr);
        for (int i = 0; i < instr->n_out; i++) {
            const double bytes = (double)rp_type_bytes(&p->value[instr->out[i]]);

            row->wide = row->wide || p->value[instr->out[i]].dtype == RP_F64;
            if (plan->block[instr->out[i]].place == PLACE_SCRATCH || plan->block[instr->out[i]].place == PLACE_LOOSE)
                continue;
            row->bytes += bytes;
            row->written += bytes;
        }
        for (size_t i = 0; i < instr->n_in; i++) {
            const uint32_t root = plan->root[instr->in[i]];
            bool known = made_at(plan, first, end, root);

            for (size_t s = 0; s < n; s++)
                known = known || seen[s] == root;
            if (!known && n < RP_CHAIN_VIEWS) {
                seen[n++] = root;
                row->bytes += (double)rp_type_bytes(&p->value[root]);
            }
        }
    }
}

/* ---- calls of a plan ---- */

static void put_place(rp_buffer *out, const rp_profile_entry *e, const rp_plan *plan, size_t first, size_t end)
{
    rp_buffer_printf(out, "%" PRIu64, e->serial);
    for (size_t i = 0; plan->function && i < plan->top->bodies.n; i++)
        if (plan->top->bodies.plan[i] == plan)
            rp_buffer_printf(out, "/f%zu", i);
    for (size_t k = first; k < end; k++) {
        const size_t at = (size_t)(rp_plan_at(plan, k) - plan->program->instr);
        const uint32_t number = plan->number ? plan->number[at] : (uint32_t)at;

        rp_buffer_text(out, k == first ? ":" : "+");
        if (number == UINT32_MAX) /* a copy of a result or new state, which the text has none of */
            rp_buffer_text(out, "end");
        else
            rp_buffer_printf(out, "%" PRIu32, number);
    }
}

static void put_type(rp_buffer *out, const rp_type *type)
{
    char text[192];

    rp_type_text(type, text, sizeof text);
    rp_buffer_text(out, text);
}

/* Where a scan's frames only add a product, all are one launch, of which its own row tells: the rows that are
 * multiplied are read once, and so is the sum, which is written once. */
static void add_all_frames(rp_profile_row *row, const rp_plan *plan, const rp_instr *scan, const region_call *c)
{
    const rp_plan *body = c->body[0];

    for (size_t i = 0; i < body->order.n; i++)
        row->arithmetic += (double)c->region->times * (double)rp_instr_arithmetic(body->program, rp_plan_at(body, i));
    row->written = (double)rp_type_bytes(&plan->program->value[scan->out[0]]);
    row->wide = plan->program->value[scan->out[0]].dtype == RP_F64;
    row->bytes = 2 * row->written;
    for (size_t i = 0; i < (c->rows[0] == c->rows[1] ? 1 : 2); i++)
        row->bytes += (double)rp_type_bytes(&plan->program->value[scan->in[c->rows[i]]]);
}

/* The call of the positions [first, end). */
static bool describe_call(rp_profile_row *row, const rp_profile_entry *e, const rp_plan *plan, const call *c,
                          size_t first, size_t end)
{
    const rp_instr *last = rp_plan_at(plan, end - 1);
    rp_buffer operations = {0}, place = {0}, type = {0}, source = {0};

    for (size_t k = first; k < end; k++)
        rp_buffer_printf(&operations, "%s%s", k == first ? "" : "+", rp_plan_at(plan, k)->op->name);
    put_place(&place, e, plan, first, end);
    put_type(&type, &plan->program->value[last->out[0]]);
    if (!put_lines(&source, plan, first, end))
        put_source(&source, plan->program, rp_plan_at(plan, first));
    if (end - first == 1) {
        add_instr(row, plan->program, last);
        if (c->region && c->region->rows[0])
            add_all_frames(row, plan, last, c->region);
    } else
        add_chain(row, plan, first, end);
    row->operations = taken(&operations);
    row->place = taken(&place);
    row->type = taken(&type);
    row->source = taken(&source);
    return row->operations && row->place && row->type && row->source;
}

/* The copy of a new state, or of a body's output, that was made elsewhere. */
static bool describe_copy(rp_profile_row *row, const rp_profile_entry *e, const rp_view *to)
{
    rp_type made = {.dtype = to->dtype, .rank = to->rank};
    rp_buffer operations = {0}, place = {0}, type = {0}, source = {0};

    for (int i = 0; i < to->rank; i++)
        made.shape[i] = to->shape[i];
    rp_buffer_text(&operations, "copy");
    rp_buffer_printf(&place, "%" PRIu64 ":end", e->serial);
    put_type(&type, &made);
    row->written = (double)rp_type_bytes(&made);
    row->bytes = 2 * row->written;
    row->operations = taken(&operations);
    row->place = taken(&place);
    row->type = taken(&type);
    row->source = taken(&source);
    return row->operations && row->place && row->type && row->source;
}

/* Bytes of the arena that are alive at each position: every block begins and ends once. NULL: memory ran out. */
static uint64_t *alive(const rp_plan *plan)
{
    uint64_t *at = rp_calloc(plan->order.n + 2, sizeof *at), sum = 0;

    for (size_t i = 0; at && i < plan->n_blocks; i++) {
        const block *b = &plan->block[i];

        const size_t bytes = rp_block_taken(b);

        if (bytes == 0 || b->first > b->last || b->first > plan->order.n)
            continue;
        at[b->first] += bytes;
        at[(b->last < plan->order.n ? b->last : plan->order.n) + 1] -= bytes; /* wraps, and so does the sum */
    }
    for (size_t k = 0; at && k < plan->order.n + 2; k++)
        at[k] = sum += at[k];
    return at;
}

bool rp_profile_describe_plan(rp_profile_entry *e, const rp_plan *plan)
{
    uint64_t *at = alive(plan);
    bool fine = at != NULL;
    size_t k = 0;

    e->row = rp_calloc(plan->n_calls, sizeof *e->row);
    e->n = e->cap = e->row ? plan->n_calls : 0;
    for (size_t i = 0; i < e->n && fine; i++) {
        const size_t first = k;

        if (first >= plan->order.n) {
            fine = describe_copy(&e->row[i], e, &plan->call[i].out[0]);
            continue;
        }
        k = rp_plan_chain_end(plan, first);
        k += plan->call[i].before ? 1 : 0;
        if (plan->call[i].chain && plan->call[i].op) /* a product or rows, with the chain behind it */
            k = rp_plan_chain_end(plan, k);
        /* a product that the next call makes is told of there */
        fine = describe_call(&e->row[i], e, plan, &plan->call[i], plan->call[i].onto ? first - 1 : first, k);
        if (i + 1 < e->n && plan->call[i + 1].onto)
            e->row[i].arithmetic = e->row[i].bytes = e->row[i].written = 0;
        for (size_t n = first; n < k; n++)
            e->row[i].memory = at[n] > e->row[i].memory ? at[n] : e->row[i].memory;
    }
    rp_free(at);
    return fine && e->row;
}

/* ---- instructions of eager steps ---- */

bool rp_profile_describe_place(rp_profile_row *row, const rp_program *p, const rp_instr *instr)
{
    rp_buffer source = {0};
    char *text;

    if (row->placed || !instr->mark)
        return true;
    put_source(&source, p, instr);
    text = taken(&source);
    if (!text)
        return false;
    rp_free(row->source);
    row->source = text;
    return row->placed = true;
}

/* The type as rp_type_text has it, but for the lengths that calls do not share. */
static void put_made(rp_buffer *out, const rp_type *made)
{
    rp_buffer_printf(out, "%s[", rp_dtype_name(made->dtype));
    for (int i = 0; i < made->rank; i++)
        if (made->shape[i] == SIZE_MAX)
            rp_buffer_text(out, i ? ",?" : "?");
        else
            rp_buffer_printf(out, "%s%zu", i ? "," : "", made->shape[i]);
    rp_buffer_u8(out, ']');
}

bool rp_profile_add_call(rp_profile_row *row, const rp_program *p, const rp_instr *instr)
{
    const rp_type *made = &p->value[instr->out[0]];
    bool differs = false;
    rp_buffer type = {0};
    char *text;

    add_instr(row, p, instr);
    for (int i = 0; i < made->rank; i++)
        if (row->made.shape[i] != SIZE_MAX && row->made.shape[i] != made->shape[i]) {
            row->made.shape[i] = SIZE_MAX;
            differs = true;
        }
    if (!differs)
        return true;
    put_made(&type, &row->made);
    text = taken(&type);
    if (!text)
        return false;
    rp_free(row->type);
    row->type = text;
    return true;
}

bool rp_profile_describe_instr(rp_profile_row *row, const rp_graph *graph, const rp_instr *instr)
{
    const rp_program *p = graph->program;
    rp_buffer operations = {0}, place = {0}, type = {0}, source = {0};

    rp_buffer_text(&operations, instr->op->name);
    rp_buffer_printf(&place, "eager:%zu", (size_t)(instr - p->instr));
    put_type(&type, &p->value[instr->out[0]]);
    put_source(&source, p, instr);
    row->eager = true;
    row->made = p->value[instr->out[0]];
    row->operations = taken(&operations);
    row->place = taken(&place);
    row->type = taken(&type);
    row->source = taken(&source);
    return row->operations && row->place && row->type && row->source;
}
