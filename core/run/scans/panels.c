/* SPDX-License-Identifier: Apache-2.0
 * A matrix that every frame of a scan multiplies one row by is read from a cache again and again, a strip of columns
 * at a time, and a strip of rows that lie far apart comes slower than one that lies in one piece: what a processor
 * fetches ahead of it is of other strips. So before the first frame the columns are laid out in panels, [k, n] as
 * [n / width, k, width], and frames multiply their row by a batch of those; so are those of a matrix that is turned
 * first, which would be read across its rows. A few rows past a matrix that no second cache holds go by strips, as wide
 * as registers take, which would be packed in each frame from rows that lie far apart; any other matrix that several
 * rows meet turned is turned once. Every element is the same chain: no bit depends on this. */
#include "core/run/scans/scans.h"

#include "base/memory.h"

enum {
    PANEL_BYTES = 1024,     /* of a row of a panel */
    LEAST_BYTES = 1 << 18,  /* of the matrix: a smaller one may lie in the first cache */
    STRIP_BYTES = 128,      /* of a row of a strip, which several rows meet in registers */
    STRIPS_BYTES = 1 << 21, /* of the matrix: a second cache may hold a smaller one */
    STRIP_ROWS = 32,        /* at most: more hide the time of packing */
    WHOLE_BYTES = 1 << 12,  /* of a matrix that is only turned */
    MOST_BYTES = 1 << 23,   /* what a copy may take */
    LEAST_FRAMES = 32,      /* a copy takes the time that some twenty frames gain */
    MADE_MOST = 5           /* instructions in the place of one */
};

static uint32_t op(rp_program *to, rp_op_id id, const rp_attr *attr, const uint32_t *in, size_t n_in, rp_status *status,
                   rp_error *err)
{
    uint32_t out[RP_MAX_OUT] = {0};

    if (*status == RP_OK)
        *status = rp_program_add_instr(to, rp_op_get(id), attr, in, n_in, out, err);
    return out[0];
}

static uint32_t shaped(rp_program *to, uint32_t x, int rank, const uint64_t *shape, rp_status *status, rp_error *err)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, reshape, shape).n = rank;
    for (int i = 0; i < rank; i++)
        RP_AT(attr, reshape, shape).list[i] = (int64_t)shape[i];
    return op(to, RP_OP_reshape, attr, &x, 1, status, err);
}

static uint32_t permuted(rp_program *to, uint32_t x, const int *order, int rank, rp_status *status, rp_error *err)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, transpose, permutation).n = rank;
    for (int i = 0; i < rank; i++)
        RP_AT(attr, transpose, permutation).list[i] = order[i];
    return op(to, RP_OP_transpose, attr, &x, 1, status, err);
}

static uint32_t sliced(rp_program *to, uint32_t x, const uint64_t *begin, const uint64_t *end, rp_status *status,
                       rp_error *err)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, slice, begin).n = RP_AT(attr, slice, end).n = 2;
    for (int i = 0; i < 2; i++) {
        RP_AT(attr, slice, begin).list[i] = (int64_t)begin[i];
        RP_AT(attr, slice, end).list[i] = (int64_t)end[i];
    }
    return op(to, RP_OP_slice, attr, &x, 1, status, err);
}

/* A matrix with so many zeros behind its rows (axis 1) or columns. */
static uint32_t padded(rp_program *to, uint32_t x, int axis, uint64_t more, rp_status *status, rp_error *err)
{
    rp_attr attr[RP_MAX_ATTR] = {{0}};

    RP_AT(attr, pad, before).n = RP_AT(attr, pad, after).n = 2;
    RP_AT(attr, pad, after).list[axis] = (int64_t)more;
    return op(to, RP_OP_pad, attr, &x, 1, status, err);
}

/* ---- which ---- */

/* How frames read a matrix: as it lies, or turned, as a gradient does; a row by panels of it, several rows by strips,
 * or several rows by all of it, which is turned only. */
enum { PLAIN = 1, TURNED, STRIPS, TURNED_STRIPS, TURNED_WHOLE };

static bool is_turned(unsigned char how)
{
    return how == TURNED || how == TURNED_STRIPS || how == TURNED_WHOLE;
}

static uint64_t width_of(const rp_type *b, unsigned char how)
{
    return (how == STRIPS || how == TURNED_STRIPS ? STRIP_BYTES : PANEL_BYTES) / rp_dtype_size(b->dtype);
}

/* How many rows the instruction multiplies by the value; 0: it does something else. */
static uint64_t rows_by(const rp_program *f, const rp_instr *instr, uint32_t value)
{
    const rp_type *a = instr->op->role == RP_PLAYS_PRODUCT ? &f->value[instr->in[0]] : NULL;

    return a && instr->in[0] != value && instr->in[1] == value && a->rank == 2 && a->dtype == f->value[value].dtype
               ? a->shape[0]
               : 0;
}

/* The only instruction that reads the value and turns it; NULL: there is another. */
static const rp_instr *turns(const rp_program *f, uint32_t value)
{
    const rp_instr *found = NULL;

    for (size_t k = 0; k < f->n_instrs; k++)
        for (size_t i = 0; i < f->instr[k].n_in; i++) {
            if (f->instr[k].in[i] != value)
                continue;
            if (found || f->instr[k].op->role != RP_PLAYS_TRANSPOSE)
                return NULL;
            found = &f->instr[k];
        }
    return found && RP_AT(found->attr, transpose, permutation).list[0] == 1 ? found : NULL;
}

static bool has_size(const rp_type *b)
{
    return b->rank == 2 && (b->dtype == RP_F32 || b->dtype == RP_F64) && rp_type_bytes(b) >= WHOLE_BYTES &&
           rp_type_bytes(b) <= MOST_BYTES;
}

/* How many rows frames multiply by a matrix, if they do nothing else with it; 0: they do. */
static uint64_t rows_of(const rp_program *f, uint32_t value)
{
    uint64_t rows = 0;

    if (rp_program_returns(f, value))
        return 0;
    for (size_t k = 0; k < f->n_instrs; k++)
        for (size_t i = 0; i < f->instr[k].n_in; i++) {
            const uint64_t by = f->instr[k].in[i] == value ? rows_by(f, &f->instr[k], value) : rows;

            if (f->instr[k].in[i] == value && (by == 0 || (rows != 0 && by != rows)))
                return 0;
            rows = by;
        }
    return rows;
}

static unsigned char way_of(const rp_program *f, uint32_t value, bool turned)
{
    const rp_type *b = &f->value[value];
    const uint64_t rows = rows_of(f, value), bytes = rp_type_bytes(b);

    if (rows == 1 && bytes >= LEAST_BYTES && b->shape[1] % width_of(b, PLAIN) == 0 && b->shape[1] > width_of(b, PLAIN))
        return turned ? TURNED : PLAIN;
    if (rows > 1 && rows <= STRIP_ROWS && bytes >= STRIPS_BYTES && b->shape[1] > width_of(b, STRIPS))
        return turned ? TURNED_STRIPS : STRIPS;
    return rows > 1 && turned ? TURNED_WHOLE : 0;
}

/* How a parameter is laid out; 0: as it is. Only for one of that size its readers are looked for: there may be very
 * many small ones. */
static unsigned char laid_out(const rp_program *f, uint32_t value)
{
    const rp_instr *turn;
    unsigned char how;

    if (!has_size(&f->value[value]))
        return 0;
    how = way_of(f, value, false);
    turn = how ? NULL : turns(f, value);
    return turn ? way_of(f, turn->out[0], true) : how;
}

/* ---- the function ---- */

/* The rows by the panels, whose values stand side by side as the product's do; the last of several rows' may have
 * columns that nobody wants. */
static void multiply(rp_program *to, const rp_type *out, const uint32_t *in, uint32_t *made, rp_status *status,
                     rp_error *err)
{
    const uint64_t rows = out->shape[0], panels = to->value[in[1]].shape[0], width = to->value[in[1]].shape[2];
    const uint32_t pair[2] = {shaped(to, in[0], 3, (uint64_t[]){1, rows, to->value[in[0]].shape[1]}, status, err),
                              in[1]};
    uint32_t product = op(to, RP_OP_matmul, NULL, pair, 2, status, err);

    if (rows > 1)
        product = permuted(to, product, (int[]){1, 0, 2}, 3, status, err);
    *made = shaped(to, product, 2, (uint64_t[]){rows, panels * width}, status, err);
    if (panels * width != out->shape[1])
        *made = sliced(to, *made, (uint64_t[]){0, 0}, out->shape, status, err);
}

static rp_status write_parameters(rp_program *to, const rp_program *f, const unsigned char *panels, uint32_t *value,
                                  rp_error *err)
{
    rp_status status = RP_OK;

    for (uint32_t v = 0; v < f->n_inputs && status == RP_OK; v++) {
        const rp_type *b = &f->value[v];
        const uint64_t k = b->shape[is_turned(panels[v])], n = b->shape[!is_turned(panels[v])];
        const uint64_t width = width_of(b, panels[v]);
        rp_type type = *b;

        if (panels[v] == TURNED_WHOLE)
            type = (rp_type){.dtype = b->dtype, .rank = 2, .shape = {k, n}};
        else if (panels[v])
            type = (rp_type){.dtype = b->dtype, .rank = 3, .shape = {(n + width - 1) / width, k, width}};
        status = rp_program_add_parameter(to, &type, &value[v], err);
    }
    return status;
}

/* The parameter that a product's matrix is, or is turned from; else that of the frame's number, which is no matrix. */
static uint32_t matrix_of(const rp_program *f, uint32_t v)
{
    if (v >= f->n_inputs && f->instr[f->maker[v]].op->role == RP_PLAYS_TRANSPOSE)
        v = f->instr[f->maker[v]].in[0];
    return v < f->n_inputs ? v : 0;
}

/* number: room for what errors call MADE_MOST times the instructions. */
static rp_status write_body(rp_program *to, const rp_function *of, const unsigned char *panels, uint32_t *value,
                            uint32_t *number, rp_error *err)
{
    const rp_program *f = of->body;
    rp_status status = write_parameters(to, f, panels, value, err);

    for (size_t k = 0; k < f->n_instrs && status == RP_OK; k++) {
        const rp_instr *instr = &f->instr[k];
        const size_t before = to->n_instrs;

        if (instr->n_in == 1 && instr->in[0] < f->n_inputs && is_turned(panels[instr->in[0]])) {
            value[instr->out[0]] = value[instr->in[0]]; /* the panels are what is turned */
            continue;
        }
        if (instr->op->role == RP_PLAYS_PRODUCT && to->value[value[instr->in[1]]].rank == 3 &&
            panels[matrix_of(f, instr->in[1])])
            multiply(to, &f->value[instr->out[0]], (uint32_t[]){value[instr->in[0]], value[instr->in[1]]},
                     &value[instr->out[0]], &status, err);
        else
            status = rp_plan_copy_instr(to, instr, value, err);
        for (size_t n = before; n < to->n_instrs; n++)
            number[n] = of->number ? of->number[k] : (uint32_t)k;
    }
    for (size_t i = 0; i < f->n_outputs && status == RP_OK; i++)
        status = rp_program_add_return(to, value[f->output[i].value], err);
    return status;
}

static rp_status make_function(rp_function **out, const rp_function *of, const unsigned char *panels, rp_error *err)
{
    rp_program *to = rp_program_new();
    uint32_t *value = rp_reallocarray(NULL, of->body->n_values, sizeof *value);
    uint32_t *number = rp_reallocarray(NULL, MADE_MOST * of->body->n_instrs, sizeof *number);
    rp_status status = to && value && number ? write_body(to, of, panels, value, number, err) : rp_no_memory(err);

    rp_free(value);
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

/* ---- all scans ---- */

static rp_status look_at(scans *s, scan *sc, rp_error *err)
{
    const rp_instr *instr = &s->p->instr[sc->instr];
    const rp_region *r = instr->region;
    const rp_function *f = sc->function ? sc->function : r->function[0];
    const size_t shared = instr->n_in - r->carried - r->sliced;
    rp_function *made;
    rp_status status;
    bool any = false;

    if (r->times < LEAST_FRAMES)
        return RP_OK;
    sc->panels = rp_calloc(f->body->n_inputs, sizeof *sc->panels);
    if (!sc->panels)
        return rp_no_memory(err);
    for (size_t v = f->body->n_inputs - shared; v < f->body->n_inputs; v++)
        any = (sc->panels[v] = laid_out(f->body, (uint32_t)v)) || any;
    status = any ? make_function(&made, f, sc->panels, err) : RP_OK;
    if (any && status == RP_OK) {
        rp_function_release(sc->function);
        sc->function = made;
        s->changes = s->lays = true;
    }
    return status;
}

rp_status rp_scans_panels(scans *s, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < s->n && status == RP_OK; i++)
        if (s->scan[i].leader == i && s->scan[i].partner == NO_SCAN)
            status = look_at(s, &s->scan[i], err);
    return status;
}

/* The columns of a matrix, or the rows of one that is turned, in panels. */
static uint32_t in_panels(rp_program *to, uint32_t x, bool turned, uint64_t width, rp_status *status, rp_error *err)
{
    const uint64_t k = to->value[x].shape[turned], panels = to->value[x].shape[!turned] / width;
    const uint32_t cut =
        shaped(to, x, 3, turned ? (uint64_t[]){panels, width, k} : (uint64_t[]){k, panels, width}, status, err);

    return permuted(to, cut, turned ? (int[]){0, 2, 1} : (int[]){1, 0, 2}, 3, status, err);
}

rp_status rp_scans_lay_panels(rp_program *to, unsigned char how, uint32_t *value, rp_error *err)
{
    const bool turned = is_turned(how);
    const rp_type b = to->value[*value];
    const uint64_t width = width_of(&b, how), n = b.shape[!turned], whole = n - n % width;
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_status status = RP_OK;
    uint64_t begin[2] = {0}, end[2] = {b.shape[0], b.shape[1]};
    uint32_t part[2];

    if (how == TURNED_WHOLE) {
        *value = permuted(to, *value, (int[]){1, 0}, 2, &status, err);
    } else if (whole == n) {
        *value = in_panels(to, *value, turned, width, &status, err);
    } else { /* the last one apart, so that the others are copied once */
        end[!turned] = whole;
        part[0] = in_panels(to, sliced(to, *value, begin, end, &status, err), turned, width, &status, err);
        begin[!turned] = whole;
        end[!turned] = n;
        part[1] = sliced(to, *value, begin, end, &status, err);
        part[1] = padded(to, part[1], !turned, whole + width - n, &status, err);
        part[1] = in_panels(to, part[1], turned, width, &status, err);
        *value = op(to, RP_OP_concat, attr, part, 2, &status, err);
    }
    return status;
}
