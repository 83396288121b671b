/* SPDX-License-Identifier: Apache-2.0
 * A history of every k-th row. A scan whose history only its gradient reads becomes a scan over segments of k rows,
 * each a scan itself, which keeps what each segment got; the gradient goes over the segments backwards, and in each
 * makes the history of its k rows again before it reads it. Rows that are left over are a shorter segment at their end.
 * All is written as a program, so that memory and time are those of its plan: times / k rows and those of one segment.
 */
#include "core/run/scans/scans.h"

#include <string.h>

#include "base/memory.h"

/* What is written, until something fails. */
typedef struct builder {
    rp_program *to;
    rp_status status;
    rp_error *err;
} builder;

static uint32_t op(builder *b, rp_op_id id, const rp_attr *attr, const uint32_t *in, size_t n_in)
{
    uint32_t out[RP_MAX_OUT] = {0};

    if (b->status == RP_OK)
        b->status = rp_program_add_instr(b->to, rp_op_get(id), attr, in, n_in, out, b->err);
    return out[0];
}

static uint32_t constant(builder *b, uint64_t x)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, fill, value).r = (double)x; /* exact: at most 2^40 */
    RP_AT(attr, fill, dtype).i = RP_I64;
    return op(b, RP_OP_fill, attr, NULL, 0);
}

static uint32_t rows(builder *b, uint32_t x, uint64_t begin, uint64_t end)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    if (b->status != RP_OK)
        return 0;
    RP_AT(attr, slice, begin).n = RP_AT(attr, slice, end).n = b->to->value[x].rank;
    for (int i = 0; i < b->to->value[x].rank; i++)
        RP_AT(attr, slice, end).list[i] = (int64_t)b->to->value[x].shape[i];
    RP_AT(attr, slice, begin).list[0] = (int64_t)begin;
    RP_AT(attr, slice, end).list[0] = (int64_t)end;
    return op(b, RP_OP_slice, attr, &x, 1);
}

/* The first `lead` axes of x become these. */
static uint32_t shaped(builder *b, uint32_t x, int lead, const uint64_t *axes, int n)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    const rp_type *type = &b->to->value[x];

    if (b->status != RP_OK || type->rank - lead + n > RP_MAX_RANK) {
        b->status = b->status == RP_OK ? RP_EUNSUPPORTED : b->status;
        return 0;
    }
    RP_AT(attr, reshape, shape).n = type->rank - lead + n;
    for (int i = 0; i < n; i++)
        RP_AT(attr, reshape, shape).list[i] = (int64_t)axes[i];
    for (int i = lead; i < type->rank; i++)
        RP_AT(attr, reshape, shape).list[n + i - lead] = (int64_t)type->shape[i];
    return op(b, RP_OP_reshape, attr, &x, 1);
}

static void scan_of(builder *b, rp_function *f, const rp_region *like, uint64_t times, bool history, const uint32_t *in,
                    size_t n_in, uint32_t *out)
{
    rp_region r = *like;

    r.function = &f;
    r.times = times;
    r.history = history;
    if (b->status == RP_OK)
        b->status = rp_program_add_region(b->to, &r, in, n_in, out, b->err);
}

/* ---- functions ---- */

static rp_function *finish(builder *b, uint32_t *number)
{
    rp_function *f = NULL;

    if (b->status == RP_OK && !number)
        b->status = RP_ENOMEM;
    if (b->status == RP_OK)
        b->status = rp_function_new(&f, b->to, b->err);
    else
        rp_program_free(b->to);
    if (f)
        f->number = number;
    else
        rp_free(number);
    return f;
}

static builder begin(builder *from)
{
    builder b = {rp_program_new(), from->status, from->err};

    if (b.status == RP_OK && !b.to)
        b.status = RP_ENOMEM;
    return b;
}

static uint32_t parameter(builder *b, const rp_type *type)
{
    uint32_t value = 0;

    if (b->status == RP_OK)
        b->status = rp_program_add_parameter(b->to, type, &value, b->err);
    return value;
}

static const rp_type scalar = {.dtype = RP_I64};

/* f, whose index is what it is given plus a further parameter. */
static rp_function *shifted(builder *from, const rp_program *f)
{
    builder b = begin(from);
    uint32_t *value = rp_reallocarray(NULL, f->n_values, sizeof *value);
    uint32_t *number = rp_reallocarray(NULL, f->n_instrs + 1, sizeof *number);
    rp_function *made;

    if (!value || !number)
        b.status = RP_ENOMEM;
    for (uint32_t v = 0; v < f->n_inputs && b.status == RP_OK; v++)
        value[v] = parameter(&b, &f->value[v]);
    if (b.status == RP_OK) {
        const uint32_t sum[2] = {value[0], parameter(&b, &scalar)};

        value[0] = op(&b, RP_OP_add, NULL, sum, 2);
        number[0] = 0;
    }
    for (uint32_t k = 0; k < f->n_instrs && b.status == RP_OK; k++) {
        number[k + 1] = k;
        b.status = rp_plan_copy_instr(b.to, &f->instr[k], value, b.err);
    }
    for (size_t i = 0; i < f->n_outputs && b.status == RP_OK; i++)
        b.status = rp_program_add_return(b.to, value[f->output[i].value], b.err);
    rp_free(value);
    made = finish(&b, number);
    from->status = b.status;
    return made;
}

/* A pair: the scan f, its gradient d, and how they are cut. */
typedef struct pair {
    const scans *s;
    const rp_instr *f, *d;
    const rp_region *rf, *rd;
    uint64_t k, m, rest;          /* rows of a segment, segments, rows that are left over */
    size_t outs;                  /* of f */
    rp_function *step_f, *step_d; /* shifted */
} pair;

/* Which value that f carries operand i of d is the history of; SIZE_MAX: none. */
static size_t history_of(const pair *p, size_t i)
{
    const rp_instr *h = &p->s->p->instr[p->s->scan[p->s->of[p->f - p->s->p->instr]].history];
    const uint32_t x = p->s->same[p->d->in[i]];

    for (size_t c = 0; c < p->rf->carried; c++)
        if (p->s->same[h->out[p->outs + c]] == x)
            return c;
    return SIZE_MAX;
}

/* Which operand of d operand i of f is: they read the same rows and shared values. */
static size_t operand_of(const pair *p, size_t i)
{
    const size_t first = i < p->rf->carried + p->rf->sliced ? p->rd->carried : p->rd->carried + p->rd->sliced;
    size_t at = first;

    while (p->s->same[p->d->in[at]] != p->s->same[p->f->in[i]])
        at++;
    return at;
}

/* k rows of f from what it carried there, with history, then those of d. in: operands of d as they are here, `start`
 * for the history; out: the values of d. */
static void both(builder *b, const pair *p, uint64_t n, const uint32_t *start, const uint32_t *in, uint32_t base,
                 uint32_t *out)
{
    uint32_t *use = rp_reallocarray(NULL, p->f->n_in + p->d->n_in + 2, sizeof *use);
    uint32_t *made = rp_reallocarray(NULL, p->outs + p->rf->carried, sizeof *made);

    if (!use || !made)
        b->status = RP_ENOMEM;
    for (size_t i = 0; i < p->f->n_in && b->status == RP_OK; i++)
        use[i] = i < p->rf->carried ? start[i] : in[operand_of(p, i)];
    if (b->status == RP_OK) {
        use[p->f->n_in] = base;
        scan_of(b, p->step_f, p->rf, n, true, use, p->f->n_in + 1, made);
    }
    for (size_t i = 0; i < p->d->n_in && b->status == RP_OK; i++) {
        const bool row = i >= p->rd->carried && i < p->rd->carried + p->rd->sliced;
        const size_t c = row ? history_of(p, i) : SIZE_MAX;

        use[i] = c == SIZE_MAX ? in[i] : made[p->outs + c];
    }
    if (b->status == RP_OK) {
        use[p->d->n_in] = base;
        scan_of(b, p->step_d, p->rd, n, false, use, p->d->n_in + 1, out);
    }
    rp_free(use);
    rp_free(made);
}

static rp_type row_type(const rp_type *type, uint64_t n)
{
    rp_type row = *type;

    row.shape[0] = n;
    return row;
}

/* index * k */
static uint32_t base_of(builder *b, uint32_t index, uint64_t k)
{
    const uint32_t product[2] = {index, constant(b, k)};

    return op(b, RP_OP_mul, NULL, product, 2);
}

static void give_back(builder *b, const uint32_t *value, size_t n)
{
    for (size_t i = 0; i < n && b->status == RP_OK; i++)
        b->status = rp_program_add_return(b->to, value[i], b->err);
}

/* Room of the same allocation; NULL when there was none. */
static uint32_t *behind(uint32_t *room, size_t n)
{
    return room ? room + n : NULL;
}

/* A segment of f. */
static rp_function *segment_forward(builder *from, const pair *p)
{
    const rp_program *text = p->s->p;
    builder b = begin(from);
    uint32_t *value = rp_reallocarray(NULL, p->f->n_in + 1 + p->outs, sizeof *value), index, *out;
    rp_function *made;

    if (!value)
        b.status = RP_ENOMEM;
    out = behind(value, p->f->n_in + 1);
    index = parameter(&b, &scalar);
    for (size_t i = 0; i < p->f->n_in && b.status == RP_OK; i++) {
        const bool row = i >= p->rf->carried && i < p->rf->carried + p->rf->sliced;
        const rp_type type = row ? row_type(&text->value[p->f->in[i]], p->k) : text->value[p->f->in[i]];

        value[i] = parameter(&b, &type);
    }
    if (b.status == RP_OK) {
        value[p->f->n_in] = base_of(&b, index, p->k);
        scan_of(&b, p->step_f, p->rf, p->k, false, value, p->f->n_in + 1, out);
        give_back(&b, out, p->outs);
    }
    rp_free(value);
    made = finish(&b, rp_calloc(3, sizeof(uint32_t)));
    from->status = b.status;
    return made;
}

/* A segment of d: what is carried, what f carried at its begin, rows, what is shared. */
static rp_function *segment_backward(builder *from, const pair *p)
{
    const rp_program *text = p->s->p;
    const size_t outs = rp_function_outs(p->rd->function[0]), nc = p->rf->carried;
    builder b = begin(from);
    uint32_t *value = rp_reallocarray(NULL, p->d->n_in + nc + outs, sizeof *value), *start, *out, index;
    rp_function *made;

    if (!value)
        b.status = RP_ENOMEM;
    start = behind(value, p->d->n_in);
    out = behind(start, nc);
    index = parameter(&b, &scalar);
    for (size_t i = 0; i <= p->d->n_in && b.status == RP_OK; i++) {
        const bool row = i >= p->rd->carried && i < p->rd->carried + p->rd->sliced;

        for (size_t c = 0; i == p->rd->carried && c < nc; c++)
            start[c] = parameter(&b, &text->value[p->f->in[c]]);
        if (i == p->d->n_in || (row && history_of(p, i) != SIZE_MAX))
            continue;
        const rp_type type = row ? row_type(&text->value[p->d->in[i]], p->k) : text->value[p->d->in[i]];

        value[i] = parameter(&b, &type);
    }
    if (b.status == RP_OK) {
        both(&b, p, p->k, start, value, base_of(&b, index, p->k), out);
        give_back(&b, out, outs);
    }
    rp_free(value);
    made = finish(&b, rp_calloc(4, sizeof(uint32_t)));
    from->status = b.status;
    return made;
}

/* ---- in place of the scans ---- */

static pair pair_of(const scans *s, size_t f, size_t d, builder *b)
{
    pair p = {.s = s, .f = instr_of(s, f), .d = instr_of(s, d), .k = s->every};

    p.rf = p.f->region;
    p.rd = p.d->region;
    p.m = p.rf->times / p.k;
    p.rest = p.rf->times % p.k;
    p.outs = rp_function_outs(p.rf->function[0]);
    p.step_f = shifted(b, p.rf->function[0]->body);
    p.step_d = shifted(b, p.rd->function[0]->body);
    return p;
}

static void pair_free(pair *p)
{
    rp_function_release(p->step_f);
    rp_function_release(p->step_d);
}

/* Rows of the segments, [m, k, ..] of [times, ..]. */
static uint32_t cut(builder *b, const pair *p, uint32_t x)
{
    return shaped(b, rows(b, x, 0, p->m * p->k), 1, (uint64_t[]){p->m, p->k}, 2);
}

/* [times, ..] of [m, k, ..] and the rows that were left over. */
static uint32_t joined(builder *b, const pair *p, uint32_t main, uint32_t rest)
{
    const rp_attr attr[RP_MAX_ATTR] = {{0}};
    const uint32_t part[2] = {shaped(b, main, 2, (uint64_t[]){p->m * p->k}, 1), rest};

    return p->rest ? op(b, RP_OP_concat, attr, part, 2) : part[0];
}

/* The segments of f: in as its operands, whose first are replaced by what it carries in the end. */
static void run_segments(builder *b, const pair *p, uint32_t *in, uint32_t *main, uint32_t *use)
{
    rp_function *segment = segment_forward(b, p);

    for (size_t i = 0; i < p->f->n_in && b->status == RP_OK; i++)
        use[i] = i >= p->rf->carried && i < p->rf->carried + p->rf->sliced ? cut(b, p, in[i]) : in[i];
    scan_of(b, segment, p->rf, p->m, true, use, p->f->n_in, main);
    memcpy(in, main, p->rf->carried * sizeof *in);
    rp_function_release(segment);
}

static void run_rest(builder *b, const pair *p, uint32_t *in, uint32_t *rest, uint32_t *use, uint32_t *start)
{
    const uint64_t from = p->m * p->k;

    memcpy(start, in, p->rf->carried * sizeof *in);
    for (size_t i = 0; i < p->f->n_in && b->status == RP_OK; i++)
        use[i] = i >= p->rf->carried && i < p->rf->carried + p->rf->sliced ? rows(b, in[i], from, p->rf->times) : in[i];
    use[p->f->n_in] = constant(b, from);
    scan_of(b, p->step_f, p->rf, p->rest, false, use, p->f->n_in + 1, rest);
    memcpy(in, rest, p->rf->carried * sizeof *in);
}

rp_status rp_scans_forward(const scans *s, size_t f, size_t d, rp_program *to, uint32_t *in, uint32_t *out,
                           uint32_t *start, rp_error *err)
{
    builder b = {to, RP_OK, err};
    pair p = pair_of(s, f, d, &b);
    const size_t nc = p.rf->carried, values = p.outs + nc;
    uint32_t *main = rp_calloc(2 * values + p.f->n_in + 1, sizeof *main), *rest = behind(main, values),
             *use = behind(rest, values);

    if (!main)
        b.status = RP_ENOMEM;
    if (b.status == RP_OK && p.rest && p.rf->reverse)
        run_rest(&b, &p, in, rest, use, start + nc);
    if (b.status == RP_OK)
        run_segments(&b, &p, in, main, use);
    if (b.status == RP_OK && p.rest && !p.rf->reverse)
        run_rest(&b, &p, in, rest, use, start + nc);
    for (size_t i = 0; i < nc && b.status == RP_OK; i++) {
        out[i] = in[i];
        start[i] = main[p.outs + i];
    }
    for (size_t i = nc; i < p.outs && b.status == RP_OK; i++)
        out[i] = joined(&b, &p, main[i], rest[i]);
    rp_free(main);
    pair_free(&p);
    return b.status;
}

static void run_segments_back(builder *b, const pair *p, uint32_t *in, const uint32_t *start, uint32_t *main,
                              uint32_t *use)
{
    rp_function *segment = segment_backward(b, p);
    rp_region like = *p->rd;
    size_t n = 0;

    for (size_t i = 0; i <= p->d->n_in && b->status == RP_OK; i++) {
        const bool row = i >= p->rd->carried && i < p->rd->carried + p->rd->sliced;

        for (size_t c = 0; i == p->rd->carried && c < p->rf->carried; c++)
            use[n++] = start[c];
        if (i == p->rd->carried + p->rd->sliced)
            like.sliced = n - p->rd->carried;
        if (i < p->d->n_in && !(row && history_of(p, i) != SIZE_MAX))
            use[n++] = row ? cut(b, p, in[i]) : in[i];
    }
    scan_of(b, segment, &like, p->m, false, use, n, main);
    memcpy(in, main, p->rd->carried * sizeof *in);
    rp_function_release(segment);
}

static void run_rest_back(builder *b, const pair *p, uint32_t *in, const uint32_t *start, uint32_t *rest, uint32_t *use)
{
    const uint64_t from = p->m * p->k;

    for (size_t i = 0; i < p->d->n_in && b->status == RP_OK; i++) {
        const bool row = i >= p->rd->carried && i < p->rd->carried + p->rd->sliced;

        use[i] = row && history_of(p, i) == SIZE_MAX ? rows(b, in[i], from, p->rf->times) : in[i];
    }
    both(b, p, p->rest, start, use, constant(b, from), rest);
    memcpy(in, rest, p->rd->carried * sizeof *in);
}

rp_status rp_scans_backward(const scans *s, size_t f, size_t d, rp_program *to, uint32_t *in, uint32_t *out,
                            const uint32_t *start, rp_error *err)
{
    builder b = {to, RP_OK, err};
    pair p = pair_of(s, f, d, &b);
    const size_t nc = p.rd->carried, outs = rp_function_outs(p.rd->function[0]);
    uint32_t *main = rp_calloc(2 * outs + p.d->n_in + p.rf->carried, sizeof *main), *rest = main ? main + outs : NULL,
             *use = main ? rest + outs : NULL;

    if (!main)
        b.status = RP_ENOMEM;
    if (b.status == RP_OK && p.rest && p.rd->reverse)
        run_rest_back(&b, &p, in, start + p.rf->carried, rest, use);
    if (b.status == RP_OK)
        run_segments_back(&b, &p, in, start, main, use);
    if (b.status == RP_OK && p.rest && !p.rd->reverse)
        run_rest_back(&b, &p, in, start + p.rf->carried, rest, use);
    for (size_t i = 0; i < nc && b.status == RP_OK; i++)
        out[i] = in[i];
    for (size_t i = nc; i < outs && b.status == RP_OK; i++)
        out[i] = joined(&b, &p, main[i], rest[i]);
    rp_free(main);
    pair_free(&p);
    return b.status;
}
