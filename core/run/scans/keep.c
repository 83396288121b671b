/* SPDX-License-Identifier: Apache-2.0
 * What a gradient need not compute again. Its function d begins with the instructions of the function f of a scan whose
 * history it reads: that is found by comparing, so a text that was written by others is served too. f then stores what
 * the rest of d reads, as further stacked outputs, and d takes it as rows and executes the rest alone. Values are the
 * same wherever they come from, so no bit depends on this. */
#include "core/run/scans/scans.h"

#include <string.h>

#include "base/memory.h"

/* ---- does d begin with f? ---- */

static bool same_attrs(const rp_instr *a, const rp_instr *b)
{
    for (int i = 0; i < RP_MAX_ATTR && a->op->attr[i].kind != RP_ATTR_NONE; i++)
        if (!rp_plan_same_attr(a->op->attr[i].kind, &a->attr[i], &b->attr[i]))
            return false;
    return true;
}

static bool same_region(const rp_region *a, const rp_region *b)
{
    return a->n_functions == b->n_functions && a->carried == b->carried && a->sliced == b->sliced &&
           a->times == b->times && a->history == b->history && a->reverse == b->reverse && a->first == b->first &&
           a->n_cuts == b->n_cuts && a->n_combine == b->n_combine &&
           memcmp(a->function, b->function, a->n_functions * sizeof(rp_function *)) == 0 &&
           (!a->n_cuts || memcmp(a->cuts, b->cuts, a->n_cuts * sizeof *a->cuts) == 0) &&
           (!a->n_combine || memcmp(a->combine, b->combine, a->n_combine) == 0);
}

static bool same_operation(const rp_instr *a, const rp_instr *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->n_out != b->n_out)
        return false;
    return a->region ? same_region(a->region, b->region) : same_attrs(a, b);
}

/* map: of each value of f, which it is in d; the parameters are there. */
static bool begins_with(const rp_program *d, const rp_program *f, uint32_t *map)
{
    if (d->n_instrs < f->n_instrs)
        return false;
    for (size_t k = 0; k < f->n_instrs; k++) {
        const rp_instr *a = &f->instr[k], *b = &d->instr[k];

        if (!same_operation(a, b))
            return false;
        for (size_t i = 0; i < a->n_in; i++)
            if (map[a->in[i]] != b->in[i])
                return false;
        for (int i = 0; i < a->n_out; i++)
            map[a->out[i]] = b->out[i];
    }
    return true;
}

/* Where the parameters of scan f's function are among those of the scan that is looked at: what f carries comes in
 * there as rows of its history. */
static bool map_parameters(const scans *s, size_t f, uint32_t *map)
{
    const rp_instr *instr = instr_of(s, f);
    const rp_region *r = instr->region;
    const size_t outs = rp_function_outs(r->function[0]);

    map[0] = 0;
    for (size_t i = 0; i < instr->n_in; i++) {
        const uint32_t x = i < r->carried ? s->p->instr[s->scan[f].history].out[outs + i] : instr->in[i];

        map[1 + i] = i < r->carried + r->sliced ? s->sliced[s->same[x]] : s->shared[s->same[x]];
        if (map[1 + i] == NO_SCAN)
            return false;
    }
    return true;
}

static void note_parameters(scans *s, const rp_instr *instr)
{
    for (size_t i = instr->n_in; i-- > instr->region->carried;)
        (i < instr->region->carried + instr->region->sliced ? s->sliced : s->shared)[s->same[instr->in[i]]] =
            (uint32_t)(1 + i);
}

static void forget_parameters(scans *s, const rp_instr *instr)
{
    for (size_t i = instr->region->carried; i < instr->n_in; i++)
        s->sliced[s->same[instr->in[i]]] = s->shared[s->same[instr->in[i]]] = NO_SCAN;
}

/* The first scan whose history scan d reads, and that does not read another's itself; NO_SCAN. */
static uint32_t read_by(const scans *s, const rp_instr *d)
{
    for (size_t i = d->region->carried; i < d->region->carried + d->region->sliced; i++) {
        const uint32_t x = s->same[d->in[i]], maker = s->p->maker[x];
        const uint32_t at = maker == RP_NO_INSTR ? NO_SCAN : s->of[maker];
        const rp_instr *from = at == NO_SCAN ? NULL : &s->p->instr[maker];

        if (from && x >= from->out[0] + rp_function_outs(from->region->function[0]) &&
            s->scan[s->scan[at].leader].forward == NO_SCAN && from->region->times == d->region->times)
            return s->scan[at].leader;
    }
    return NO_SCAN;
}

/* ---- what is stored ---- */

enum { UNUSED, READ, MADE };

/* What costs nothing to make again is not stored: views and constants. */
static bool is_made_again(const rp_instr *instr)
{
    return instr->op->alias || (instr->n_in == 0 && !instr->region);
}

/* What the rest of d, without its first n instructions, needs: READ, MADE by one of these that stays. */
static void find_needed(const rp_program *d, size_t n, unsigned char *needed)
{
    for (size_t i = 0; i < d->n_outputs; i++)
        needed[d->output[i].value] = READ;
    for (size_t k = d->n_instrs; k-- > 0;) {
        const rp_instr *instr = &d->instr[k];

        if (k < n && (!needed[instr->out[0]] || !is_made_again(instr)))
            continue;
        if (k < n)
            needed[instr->out[0]] = MADE;
        for (size_t i = 0; i < instr->n_in; i++)
            needed[instr->in[i]] = READ;
    }
}

/* Notes what scan f has to store for d; false: it is too much, or has no form. */
static bool choose(scans *s, size_t f, const rp_program *d, const uint32_t *map, const unsigned char *needed)
{
    const rp_region *r = instr_of(s, f)->region;
    const rp_program *body = r->function[0]->body;
    scan *of = &s->scan[f];
    size_t room = s->room;

    for (size_t i = 0; i < d->n_outputs; i++)
        if (d->output[i].value < d->instr[body->n_instrs - 1].out[0] + (uint32_t)d->instr[body->n_instrs - 1].n_out)
            return false; /* the rest would return a parameter */
    for (size_t v = body->n_inputs; v < body->n_values; v++) {
        const size_t bytes = rp_type_bytes(&body->value[v]);

        if (needed[map[v]] != READ || of->kept[v] != NO_SCAN)
            continue;
        if (body->value[v].rank == RP_MAX_RANK || (bytes && r->times > room / bytes))
            return false;
        room -= (size_t)r->times * bytes;
    }
    s->room = room;
    for (size_t v = body->n_inputs; v < body->n_values; v++)
        if (needed[map[v]] == READ && of->kept[v] == NO_SCAN)
            of->kept[v] = (uint32_t)of->n_stored++;
    return true;
}

/* ---- the functions that are executed ---- */

/* f, with what is stored as further outputs: views of it, as outputs are distinct. */
static rp_status make_forward(scan *of, const rp_function *f, rp_error *err)
{
    rp_program *body = rp_program_copy(f->body);
    uint32_t *value = rp_reallocarray(NULL, of->n_stored, sizeof *value), out;
    rp_status status = body && value ? RP_OK : rp_no_memory(err);

    for (uint32_t v = 0; v < f->body->n_values && status == RP_OK; v++)
        if (of->kept[v] != NO_SCAN)
            value[of->kept[v]] = v;
    for (size_t n = 0; n < of->n_stored && status == RP_OK; n++) {
        const rp_type *type = &body->value[value[n]];
        rp_attr attr[RP_MAX_ATTR] = {{0}};

        RP_AT(attr, reshape, shape).n = type->rank;
        for (int i = 0; i < type->rank; i++)
            RP_AT(attr, reshape, shape).list[i] = (int64_t)type->shape[i];
        status = rp_program_add_instr(body, rp_op_get(RP_OP_reshape), attr, &value[n], 1, &out, err);
        if (status == RP_OK)
            status = rp_program_add_return(body, out, err);
    }
    rp_free(value);
    if (status != RP_OK) {
        rp_program_free(body);
        return status;
    }
    status = rp_function_new(&of->function, body, err);
    if (status == RP_OK && f->number) {
        of->function->number = rp_calloc(body->n_instrs, sizeof *of->function->number); /* copies cannot fail */
        if (!of->function->number)
            return rp_no_memory(err);
        memcpy(of->function->number, f->number, f->body->n_instrs * sizeof *f->number);
    }
    return status;
}

rp_status rp_plan_copy_instr(rp_program *to, const rp_instr *instr, uint32_t *value, rp_error *err)
{
    const size_t n = instr->n_in + (size_t)instr->n_out;
    uint32_t few[16], *in = n <= 16 ? few : rp_reallocarray(NULL, n, sizeof *in), *out;
    rp_status status;

    if (!in)
        return rp_no_memory(err);
    out = in + instr->n_in;
    for (size_t i = 0; i < instr->n_in; i++)
        in[i] = value[instr->in[i]];
    status = rp_program_add_like(to, instr, in, out, err);
    for (int i = 0; i < instr->n_out && status == RP_OK; i++)
        value[instr->out[i]] = out[i];
    if (in != few)
        rp_free(in);
    return status;
}

/* d's function without the first n instructions, those that stay aside. */
typedef struct rest {
    const rp_region *r;
    const rp_program *d;
    size_t n;
    const scan *of;              /* stores what it reads */
    const rp_program *f;         /* whose values these are */
    const uint32_t *map;         /* of each value of f: which it is in d */
    const unsigned char *needed; /* of each value of d */
    rp_program *to;
    const uint32_t *called; /* what errors call d's instructions; NULL: their places */
    uint32_t *value, *number;
} rest;

static rp_status write_parameters(rest *w, rp_error *err)
{
    const size_t rows = 1 + w->r->carried + w->r->sliced;
    rp_status status = RP_OK;
    uint32_t v = 0, made;

    for (; v < rows && status == RP_OK; v++)
        status = rp_program_add_parameter(w->to, &w->d->value[v], &w->value[v], err);
    for (size_t n = 0; n < w->of->n_stored && status == RP_OK; n++) {
        const rp_program *f = w->of->function->body; /* its last outputs are these */

        status =
            rp_program_add_parameter(w->to, &f->value[f->output[f->n_outputs - w->of->n_stored + n].value], &made, err);
    }
    for (uint32_t x = 0; x < w->f->n_values; x++)
        if (w->of->kept[x] != NO_SCAN)
            w->value[w->map[x]] = (uint32_t)rows + w->of->kept[x];
    for (; v < w->d->n_inputs && status == RP_OK; v++)
        status = rp_program_add_parameter(w->to, &w->d->value[v], &w->value[v], err);
    return status;
}

static rp_status write_rest(rest *w, rp_error *err)
{
    rp_status status = write_parameters(w, err);

    for (size_t k = 0; k < w->d->n_instrs && status == RP_OK; k++) {
        const rp_instr *instr = &w->d->instr[k];

        if (k < w->n && w->needed[instr->out[0]] != MADE)
            continue;
        w->number[w->to->n_instrs] = w->called ? w->called[k] : (uint32_t)k;
        status = rp_plan_copy_instr(w->to, instr, w->value, err);
    }
    for (size_t i = 0; i < w->d->n_outputs && status == RP_OK; i++)
        status = rp_program_add_return(w->to, w->value[w->d->output[i].value], err);
    return status;
}

/* Takes map and needed as they were when it was chosen. */
static rp_status make_backward(const scans *s, scan *d, const uint32_t *map, const unsigned char *needed, rp_error *err)
{
    const scan *of = &s->scan[d->forward];
    const rp_region *r = s->p->instr[d->instr].region;
    const rp_program *f = s->p->instr[of->instr].region->function[0]->body;
    rest w = {.r = r, .d = r->function[0]->body, .n = f->n_instrs, .of = of, .f = f, .map = map, .needed = needed};
    rp_status status;

    w.called = r->function[0]->number;

    w.to = rp_program_new();
    w.value = rp_reallocarray(NULL, w.d->n_values, sizeof *w.value);
    w.number = rp_reallocarray(NULL, w.d->n_instrs, sizeof *w.number);
    status = w.to && w.value && w.number ? write_rest(&w, err) : rp_no_memory(err);
    rp_free(w.value);
    if (status != RP_OK) {
        rp_program_free(w.to);
        rp_free(w.number);
        return status;
    }
    status = rp_function_new(&d->function, w.to, err);
    if (status == RP_OK)
        d->function->number = w.number;
    else
        rp_free(w.number);
    return status;
}

/* ---- all scans ---- */

typedef struct match {
    uint32_t *map;         /* of each value of f: which it is in d */
    unsigned char *needed; /* of each value of d */
} match;

static rp_status match_new(match *m, const scans *s, size_t f, size_t d, rp_error *err)
{
    m->map = rp_reallocarray(NULL, instr_of(s, f)->region->function[0]->body->n_values, sizeof *m->map);
    m->needed = rp_calloc(instr_of(s, d)->region->function[0]->body->n_values, 1);
    return m->map && m->needed ? RP_OK : rp_no_memory(err);
}

static void match_free(match *m)
{
    rp_free(m->map);
    rp_free(m->needed);
}

static rp_status hold_kept(scan *of, const rp_program *f, rp_error *err)
{
    if (of->kept)
        return RP_OK;
    of->kept = rp_reallocarray(NULL, f->n_values, sizeof *of->kept);
    for (size_t v = 0; of->kept && v < f->n_values; v++)
        of->kept[v] = NO_SCAN;
    return of->kept ? RP_OK : rp_no_memory(err);
}

/* Fills m; whether d begins with f. */
static bool matches(scans *s, size_t f, size_t d, match *m)
{
    const rp_instr *instr = instr_of(s, d);
    const rp_program *of = instr_of(s, f)->region->function[0]->body, *body = instr->region->function[0]->body;
    bool fits;

    note_parameters(s, instr);
    fits = of->n_instrs && map_parameters(s, f, m->map) && begins_with(body, of, m->map);
    forget_parameters(s, instr);
    if (fits)
        find_needed(body, of->n_instrs, m->needed);
    return fits;
}

/* Whether the pair goes by segments: nothing else reads the history, and d goes the other way. */
static bool goes_by_segments(const scans *s, size_t f, size_t d)
{
    const rp_instr *from = instr_of(s, f), *to = instr_of(s, d);
    const size_t outs = rp_function_outs(from->region->function[0]), rows = to->region->carried + to->region->sliced;
    const uint32_t *history = s->p->instr[s->scan[f].history].out + outs;

    if (!s->every || from->region->times < s->every || from->region->reverse == to->region->reverse ||
        s->scan[f].n_stored || s->scan[d].history != NO_SCAN)
        return false;
    for (size_t c = 0; c < from->region->carried; c++)
        for (size_t i = 0; i < to->n_in; i++)
            if (s->reader[s->same[history[c]]] == SEVERAL ||
                (s->same[to->in[i]] == s->same[history[c]] && (i < to->region->carried || i >= rows)))
                return false;
    return true;
}

static rp_status look_at(scans *s, size_t d, rp_error *err)
{
    const uint32_t f = read_by(s, instr_of(s, d));
    match m = {0};
    rp_status status;

    if (f == NO_SCAN || s->scan[f].partner != NO_SCAN || instr_of(s, d)->region->times == 0)
        return RP_OK;
    status = match_new(&m, s, f, d, err);
    if (status == RP_OK)
        status = hold_kept(&s->scan[f], instr_of(s, f)->region->function[0]->body, err);
    if (status == RP_OK && matches(s, f, d, &m)) {
        if (goes_by_segments(s, f, d)) {
            s->scan[f].partner = (uint32_t)d;
            s->scan[d].partner = s->scan[d].forward = f;
        } else if (choose(s, f, instr_of(s, d)->region->function[0]->body, m.map, m.needed)) {
            s->scan[d].forward = f;
        }
        s->changes = s->changes || s->scan[d].forward != NO_SCAN;
    }
    match_free(&m);
    return status;
}

/* What f stores is known when all that read it were looked at. */
static rp_status make_functions(scans *s, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < s->n && status == RP_OK; i++) {
        scan *f = &s->scan[i];

        if (!f->n_stored)
            continue;
        f->stored = rp_reallocarray(NULL, f->n_stored, sizeof *f->stored);
        status = f->stored ? make_forward(f, instr_of(s, i)->region->function[0], err) : rp_no_memory(err);
    }
    for (size_t i = 0; i < s->n && status == RP_OK; i++) {
        match m = {0};

        if (s->scan[i].forward == NO_SCAN || !s->scan[s->scan[i].forward].function)
            continue;
        status = match_new(&m, s, s->scan[i].forward, i, err);
        if (status == RP_OK && matches(s, s->scan[i].forward, i, &m))
            status = make_backward(s, &s->scan[i], m.map, m.needed, err);
        match_free(&m);
    }
    return status;
}

rp_status rp_scans_keep(scans *s, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < s->n && (s->room || s->every) && status == RP_OK; i++)
        if (s->scan[i].leader == i)
            status = look_at(s, i, err);
    return status == RP_OK ? make_functions(s, err) : status;
}
