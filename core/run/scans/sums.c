/* SPDX-License-Identifier: Apache-2.0
 * Sums of products that a scan carries and does not read, as the gradient of a recurrent network's matrix: each gets a
 * scan of its own, behind the one that makes what is multiplied, over rows of it. Frames of that one do nothing but add
 * a product, so all of them are one launch that goes through the sum once (core/run/places/over.c). The additions are
 * the same, in the same order. */
#include "core/run/scans/scans.h"

#include <string.h>

#include "base/memory.h"
#include "kernels/onto.h"

enum { VIEWS_MOST = 8 }; /* from a row to a factor: each sum's function has them again */

/* Where a factor of the products comes from. */
typedef struct factor {
    uint32_t value; /* of the function: what the factor is a view of */
    bool output;    /* a row that the function gives; else a row of an operand */
    size_t at;      /* which output or operand */
} factor;

typedef struct sum {
    uint32_t add, product; /* instructions of the function */
    factor factor[2];
    rp_function *function; /* the sum's own scan's */
} sum;

struct rp_scan_sums {
    size_t carried, outs; /* of the function as it was */
    sum *of;              /* of each carried value; add is RP_NO_INSTR where it stays */
    bool *gone;           /* of each instruction of the function */
    uint32_t *more;       /* values that the function gives too */
    size_t n_more;
    rp_function *rest; /* NULL: nothing else is left */
};

void rp_scan_sums_free(struct rp_scan_sums *sums)
{
    if (!sums)
        return;
    for (size_t c = 0; sums->of && c < sums->carried; c++)
        rp_function_release(sums->of[c].function);
    rp_function_release(sums->rest);
    rp_free(sums->of);
    rp_free(sums->gone);
    rp_free(sums->more);
    rp_free(sums);
}

static bool stays(const struct rp_scan_sums *sums, size_t c)
{
    return sums->of[c].add == RP_NO_INSTR;
}

/* ---- which ---- */

/* One scan that is looked at. */
typedef struct look {
    const rp_function *f;
    uint32_t *reader; /* of each value of f's: the instruction that reads it; SEVERAL; NO_SCAN: none */
    size_t *output;   /* of each value: which output it is, or is to be too; SIZE_MAX: none */
    uint64_t times;
    size_t carried, sliced;
    size_t room;
    struct rp_scan_sums *sums;
} look;

static uint32_t *readers_of(const rp_program *p)
{
    uint32_t *reader = rp_reallocarray(NULL, p->n_values, sizeof *reader);

    for (size_t v = 0; reader && v < p->n_values; v++)
        reader[v] = NO_SCAN;
    for (uint32_t k = 0; reader && k < p->n_instrs; k++)
        for (size_t i = 0; i < p->instr[k].n_in; i++) {
            uint32_t *by = &reader[p->instr[k].in[i]];

            *by = *by == NO_SCAN ? k : SEVERAL;
        }
    return reader;
}

/* A product of one chain an element that is added to parameter 1 + c, which nothing else reads, and gives what is
 * carried on, which the function does not read either. */
static bool is_sum(const look *l, size_t c, sum *found)
{
    const rp_program *p = l->f->body;
    const uint32_t param = (uint32_t)(1 + c), out = p->output[c].value;
    const rp_instr *add = p->maker[out] == RP_NO_INSTR ? NULL : &p->instr[p->maker[out]], *product;
    const rp_type *a;

    if (!add || add->region || add->op->role != RP_PLAYS_ADD || add->in[0] != param ||
        l->reader[param] != p->maker[out] || l->reader[out] != NO_SCAN || p->maker[add->in[1]] == RP_NO_INSTR ||
        l->reader[add->in[1]] != p->maker[out] || l->output[add->in[1]] != SIZE_MAX ||
        !rp_type_equal(&p->value[param], &p->value[out]))
        return false;
    product = &p->instr[p->maker[add->in[1]]];
    a = &p->value[product->in[0]];
    found->add = p->maker[out];
    found->product = p->maker[add->in[1]];
    return !product->region && product->op->role == RP_PLAYS_PRODUCT && a->rank == 2 && a->shape[1] > 0 &&
           a->shape[1] <= RP_ONTO_LONGEST && p->value[product->out[0]].rank == 2 &&
           rp_type_equal(&p->value[product->out[0]], &p->value[out]);
}

static bool is_view(const rp_instr *instr)
{
    return instr->op->alias && instr->n_in == 1 && !instr->region;
}

static uint32_t viewed(const rp_program *p, uint32_t v)
{
    for (size_t i = 0; i < VIEWS_MOST && p->maker[v] != RP_NO_INSTR && is_view(&p->instr[p->maker[v]]); i++)
        v = p->instr[p->maker[v]].in[0];
    return v;
}

/* Finds where the factor's rows are, or has the function give them, if there is room. */
static bool find_factor(look *l, uint32_t v, factor *found)
{
    const rp_program *p = l->f->body;
    struct rp_scan_sums *sums = l->sums;
    const size_t params = p->n_inputs;
    size_t bytes;

    v = found->value = viewed(p, v);
    found->output = v >= params;
    if (!found->output) {
        found->at = v - 1;
        return v >= 1 + l->carried && v < 1 + l->carried + l->sliced;
    }
    found->at = l->output[v];
    if (found->at != SIZE_MAX)
        return found->at >= l->carried;
    bytes = rp_type_bytes(&p->value[v]);
    if (p->value[v].rank == RP_MAX_RANK || (bytes && l->times > l->room / bytes))
        return false;
    l->room -= (size_t)l->times * bytes;
    found->at = l->output[v] = sums->outs + sums->n_more;
    sums->more[sums->n_more++] = v;
    return true;
}

/* Has the function give what it gave when it gave n more, and had so much room. */
static void give_back(look *l, size_t n, size_t room)
{
    while (l->sums->n_more > n)
        l->output[l->sums->more[--l->sums->n_more]] = SIZE_MAX;
    l->room = room;
}

/* Whether some sum gets a scan of its own that the scan is not already. */
static bool choose(look *l)
{
    struct rp_scan_sums *sums = l->sums;
    size_t found = 0;

    for (size_t c = 0; c < l->carried; c++) {
        const rp_program *p = l->f->body;
        const size_t room = l->room, n_more = sums->n_more;
        sum s = {0};

        if (is_sum(l, c, &s) && find_factor(l, p->instr[s.product].in[0], &s.factor[0]) &&
            find_factor(l, p->instr[s.product].in[1], &s.factor[1])) {
            sums->of[c] = s;
            sums->gone[s.add] = sums->gone[s.product] = true;
            found++;
        } else {
            sums->of[c].add = RP_NO_INSTR;
            give_back(l, n_more, room);
        }
    }
    return found && sums->outs > 1;
}

/* ---- the functions ---- */

static uint32_t called(const rp_function *f, uint32_t k)
{
    return f->number ? f->number[k] : k;
}

/* The factor as a view of the row that value[its base] is. */
static rp_status write_view(rp_program *to, const rp_function *f, uint32_t v, uint32_t base, uint32_t *value,
                            uint32_t *number, rp_error *err)
{
    const uint32_t maker = f->body->maker[v];
    rp_status status;

    if (v == base)
        return RP_OK;
    status = write_view(to, f, f->body->instr[maker].in[0], base, value, number, err);
    if (status == RP_OK) {
        number[to->n_instrs] = called(f, maker);
        status = rp_plan_copy_instr(to, &f->body->instr[maker], value, err);
    }
    return status;
}

static rp_status write_sum(rp_program *to, const rp_function *f, size_t c, const sum *s, uint32_t *value,
                           uint32_t *number, rp_error *err)
{
    const rp_program *p = f->body;
    const rp_instr *product = &p->instr[s->product], *add = &p->instr[s->add];
    uint32_t in[2], out = 0;
    rp_status status = rp_program_add_parameter(to, &p->value[0], &value[0], err);

    if (status == RP_OK)
        status = rp_program_add_parameter(to, &p->value[1 + c], &value[1 + c], err);
    for (size_t i = 0; i < 2 && status == RP_OK; i++) /* twice, if both are of the same rows: then the second is read */
        status = rp_program_add_parameter(to, &p->value[s->factor[i].value], &value[s->factor[i].value], err);
    for (size_t i = 0; i < 2 && status == RP_OK; i++) {
        status = write_view(to, f, product->in[i], s->factor[i].value, value, number, err);
        in[i] = value[product->in[i]];
    }
    number[to->n_instrs] = called(f, s->product);
    if (status == RP_OK)
        status = rp_program_add_like(to, product, in, &out, err);
    in[0] = value[1 + c];
    in[1] = out;
    number[to->n_instrs] = called(f, s->add);
    if (status == RP_OK)
        status = rp_program_add_like(to, add, in, &out, err);
    return status == RP_OK ? rp_program_add_return(to, out, err) : status;
}

static rp_status write_rest(rp_program *to, const rp_function *f, const struct rp_scan_sums *sums, uint32_t *value,
                            uint32_t *number, rp_error *err)
{
    const rp_program *p = f->body;
    rp_status status = RP_OK;

    for (uint32_t v = 0; v < p->n_inputs && status == RP_OK; v++)
        if (v == 0 || v > sums->carried || stays(sums, v - 1))
            status = rp_program_add_parameter(to, &p->value[v], &value[v], err);
    for (uint32_t k = 0; k < p->n_instrs && status == RP_OK; k++) {
        if (sums->gone[k])
            continue;
        number[to->n_instrs] = called(f, k);
        status = rp_plan_copy_instr(to, &p->instr[k], value, err);
    }
    for (size_t o = 0; o < sums->outs && status == RP_OK; o++)
        if (o >= sums->carried || stays(sums, o))
            status = rp_program_add_return(to, value[p->output[o].value], err);
    for (size_t i = 0; i < sums->n_more && status == RP_OK; i++)
        status = rp_program_add_return(to, value[sums->more[i]], err);
    return status;
}

/* c: which sum the function is of; SIZE_MAX: what is left without them. value: room for one of each value of f. */
static rp_status make(rp_function **out, const rp_function *f, const struct rp_scan_sums *sums, size_t c,
                      uint32_t *value, rp_error *err)
{
    const size_t instrs = c == SIZE_MAX ? f->body->n_instrs : 2 * VIEWS_MOST + 2;
    rp_program *to = rp_program_new();
    uint32_t *number = rp_reallocarray(NULL, instrs, sizeof *number);
    rp_status status = to && number ? RP_OK : rp_no_memory(err);

    if (status == RP_OK)
        status = c == SIZE_MAX ? write_rest(to, f, sums, value, number, err)
                               : write_sum(to, f, c, &sums->of[c], value, number, err);
    if (status == RP_OK)
        status = rp_function_new(out, to, err);
    else
        rp_program_free(to);
    if (status == RP_OK)
        (*out)->number = number;
    else
        rp_free(number);
    return status;
}

static rp_status make_functions(struct rp_scan_sums *sums, const rp_function *f, rp_error *err)
{
    uint32_t *value = rp_reallocarray(NULL, f->body->n_values, sizeof *value);
    rp_status status = value ? RP_OK : rp_no_memory(err);
    size_t left = sums->outs + sums->n_more;

    for (size_t c = 0; c < sums->carried && status == RP_OK; c++)
        if (!stays(sums, c)) {
            status = make(&sums->of[c].function, f, sums, c, value, err);
            left--;
        }
    if (status == RP_OK && left)
        status = make(&sums->rest, f, sums, SIZE_MAX, value, err);
    rp_free(value);
    return status;
}

/* ---- all scans ---- */

static rp_status look_into(look *l, struct rp_scan_sums **out, rp_error *err)
{
    const rp_program *p = l->f->body;
    struct rp_scan_sums *sums = l->sums;

    sums->carried = l->carried;
    sums->outs = p->n_outputs;
    sums->of = rp_calloc(l->carried, sizeof *sums->of);
    sums->gone = rp_calloc(p->n_instrs, sizeof *sums->gone);
    sums->more = rp_reallocarray(NULL, 2 * l->carried, sizeof *sums->more);
    l->output = rp_reallocarray(NULL, p->n_values, sizeof *l->output);
    l->reader = readers_of(p);
    if (!sums->of || !sums->gone || !sums->more || !l->output || !l->reader)
        return rp_no_memory(err);
    for (size_t v = 0; v < p->n_values; v++)
        l->output[v] = SIZE_MAX;
    for (size_t o = 0; o < p->n_outputs; o++)
        l->output[p->output[o].value] = o;
    if (!choose(l))
        return RP_OK;
    *out = sums;
    return make_functions(sums, l->f, err);
}

static rp_status look_at(scans *s, scan *sc, rp_error *err)
{
    const rp_instr *instr = &s->p->instr[sc->instr];
    const rp_region *r = instr->region;
    const rp_function *f = sc->function ? sc->function : r->function[0];
    const size_t shared = instr->n_in - r->carried - r->sliced;
    look l = {.f = f, .times = r->times, .carried = r->carried, .room = s->room};
    rp_status status;

    if (r->times < 2 || r->carried == 0 || sc->history != NO_SCAN || r->history)
        return RP_OK;
    l.sliced = rp_function_params(f) - 1 - r->carried - shared; /* what another scan stored among them */
    l.sums = rp_calloc(1, sizeof *l.sums);
    status = l.sums ? look_into(&l, &sc->sums, err) : rp_no_memory(err);
    if (!sc->sums)
        rp_scan_sums_free(l.sums);
    else
        s->room = l.room;
    s->changes = s->changes || sc->sums;
    rp_free(l.reader);
    rp_free(l.output);
    return status;
}

rp_status rp_scans_sums(scans *s, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < s->n && status == RP_OK; i++)
        if (s->scan[i].leader == i && s->scan[i].partner == NO_SCAN)
            status = look_at(s, &s->scan[i], err);
    return status;
}

/* ---- the program ---- */

/* What is left of the scan. given: of each of the function's outputs, as it was and with what it gives too. */
static rp_status put_rest(const struct rp_scan_sums *sums, rp_program *to, const rp_region *r, const uint32_t *in,
                          size_t n_in, uint32_t *given, rp_error *err)
{
    rp_region rest = *r;
    rp_function *function = sums->rest;
    uint32_t *left = rp_reallocarray(NULL, n_in + sums->outs + sums->n_more, sizeof *left), *out;
    rp_status status = RP_OK;
    size_t n = 0;

    if (!left)
        return rp_no_memory(err);
    out = left + n_in;
    rest.function = &function;
    for (size_t i = 0; i < n_in; i++)
        if (i >= sums->carried || stays(sums, i))
            left[n++] = in[i];
        else
            rest.carried--;
    status = rp_program_add_region(to, &rest, left, n, out, err);
    for (size_t o = 0; o < sums->outs + sums->n_more && status == RP_OK; o++)
        if (o >= sums->carried || stays(sums, o))
            given[o] = *out++;
    rp_free(left);
    return status;
}

rp_status rp_scans_put_sums(const struct rp_scan_sums *sums, rp_program *to, const rp_region *r, const uint32_t *in,
                            size_t n_in, uint32_t *out, rp_error *err)
{
    uint32_t *given = rp_reallocarray(NULL, sums->outs + sums->n_more, sizeof *given);
    rp_status status = given ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && sums->rest)
        status = put_rest(sums, to, r, in, n_in, given, err);
    for (size_t c = 0; c < sums->carried && status == RP_OK; c++) {
        const sum *s = &sums->of[c];
        rp_function *function = s->function;
        const rp_region own = {.kind = RP_SCAN,
                               .function = &function,
                               .n_functions = 1,
                               .carried = 1,
                               .sliced = 2,
                               .times = r->times,
                               .reverse = r->reverse};
        uint32_t operand[3] = {in[c]};

        if (stays(sums, c))
            continue;
        for (size_t i = 0; i < 2; i++)
            operand[1 + i] = s->factor[i].output ? given[s->factor[i].at] : in[s->factor[i].at];
        status = rp_program_add_region(to, &own, operand, 3, &given[c], err);
    }
    for (size_t o = 0; o < sums->outs && status == RP_OK; o++)
        out[o] = given[o];
    rp_free(given);
    return status;
}
