/* SPDX-License-Identifier: Apache-2.0
 * Calls of the library with optional operands, lists or several results: a table of what each takes, and one entry from
 * Python, several(name, tensors, integers, reals, text). reprise/functions_more.py has their signatures. */
#include "binding.h"

enum { SEVERAL_MAX = 64 }; /* tensors, integers and results of one call */

typedef struct call {
    const rp_tensor *t; /* n_t of them */
    size_t n_t;
    const int64_t *i;
    size_t n_i;
    double d[2];
    const char *text;
    int rank; /* of the first tensor */
} call;

/* What a call takes: tensors, integers and reals at least and at most; -1 for most: as many as there are. */
typedef struct row {
    const char *name;
    int tensors[2], integers[2], reals;
    size_t (*make)(const call *c, rp_tensor *out); /* the number of results; 0: integers that do not fit */
} row;

/* Integers from `first` on as axes. */
static int axes_from(const call *c, size_t first, int axis[RP_MAX_RANK])
{
    int n = 0;

    for (size_t k = first; k < c->n_i && n < RP_MAX_RANK; k++)
        axis[n++] = axis_of(c->i[k]);
    return n;
}

static void sizes_from(const call *c, size_t first, size_t n, size_t *size)
{
    for (size_t k = 0; k < n; k++)
        size[k] = (size_t)c->i[first + k];
}

#define MAKE(name) static size_t name(const call *c, rp_tensor *out)
#define ONE(name, value) \
    MAKE(name) \
    { \
        out[0] = value; \
        return 1; \
    }
#define T (c->t)
#define I(k) (c->i[k])
#define OPTIONAL(k) (c->n_t > (k) ? T[k] : (rp_tensor){0})

/* ---- over axes: correction or keep first, then the axes ---- */

MAKE(make_std)
{
    int axis[RP_MAX_RANK];
    const int n = axes_from(c, 2, axis);

    out[0] = rp_std(T[0], axis, n, I(0), I(1) != 0);
    return 1;
}

MAKE(make_var)
{
    int axis[RP_MAX_RANK];
    const int n = axes_from(c, 2, axis);

    out[0] = rp_var(T[0], axis, n, I(0), I(1) != 0);
    return 1;
}

MAKE(make_norm)
{
    int axis[RP_MAX_RANK];
    const int n = axes_from(c, 1, axis);

    out[0] = rp_norm(T[0], c->d[0], axis, n, I(0) != 0);
    return 1;
}

MAKE(make_aminmax)
{
    int axis[RP_MAX_RANK];
    const int n = axes_from(c, 1, axis);

    rp_aminmax(T[0], axis, n, I(0) != 0, &out[0], &out[1]);
    return 2;
}

MAKE(make_flip)
{
    int axis[RP_MAX_RANK];
    const int n = axes_from(c, 0, axis);

    out[0] = rp_flip(T[0], axis, n);
    return 1;
}

ONE(make_cosine, rp_cosine_similarity(T[0], T[1], axis_of(I(0)), c->d[0]))
ONE(make_bitwise_not, rp_bitwise_not(T[0]))

MAKE(make_fft)
{
    rp_fft(T[0], OPTIONAL(1), I(0) != 0, &out[0], &out[1]);
    return 2;
}

/* ---- products ---- */

ONE(make_einsum, rp_einsum(c->text, T, c->n_t))

MAKE(make_tensordot)
{
    int a[RP_MAX_RANK], b[RP_MAX_RANK];
    const size_t n = c->n_i / 2;

    if (c->n_i % 2 || n > RP_MAX_RANK)
        return 0;
    for (size_t k = 0; k < n; k++) {
        a[k] = axis_of(I(k));
        b[k] = axis_of(I(n + k));
    }
    out[0] = rp_tensordot(T[0], T[1], a, b, (int)n);
    return 1;
}

/* ---- as many as there are ---- */

ONE(make_nonzero, rp_nonzero(T[0], (size_t)I(0)))
ONE(make_masked_select, rp_masked_select(T[0], T[1], (size_t)I(0)))
ONE(make_count_unique, rp_count_unique(T[0]))

MAKE(make_unique)
{
    out[0] = rp_unique(T[0], (size_t)I(0), &out[1], &out[2]);
    return 3;
}

/* ---- rearranging ---- */

ONE(make_roll, rp_roll(T[0], I(0), axis_of(I(1))))
ONE(make_repeat, rp_repeat_interleave(T[0], (size_t)I(0), axis_of(I(1))))

MAKE(make_split)
{
    size_t size[SEVERAL_MAX];
    const size_t n = c->n_i - 1;

    if (n > SEVERAL_MAX)
        return 0;
    sizes_from(c, 1, n, size);
    rp_split(T[0], size, n, axis_of(I(0)), out);
    return n;
}

MAKE(make_chunk)
{
    if (I(1) < 1 || I(1) > SEVERAL_MAX)
        return 0;
    rp_chunk(T[0], (size_t)I(1), axis_of(I(0)), out);
    return (size_t)I(1);
}

MAKE(make_tile)
{
    size_t times[RP_MAX_RANK];

    if (c->n_i != (size_t)c->rank)
        return 0;
    sizes_from(c, 0, c->n_i, times);
    out[0] = rp_tile(T[0], times);
    return 1;
}

MAKE(make_meshgrid)
{
    rp_meshgrid(T, c->n_t, out);
    return c->n_t;
}

/* The mode, then what stands before each axis, then behind. */
MAKE(make_pad)
{
    size_t before[RP_MAX_RANK], after[RP_MAX_RANK];
    const size_t rank = (size_t)c->rank;

    if (c->n_i != 1 + 2 * rank || I(0) < RP_PAD_CONSTANT || I(0) > RP_PAD_CIRCULAR)
        return 0;
    sizes_from(c, 1, rank, before);
    sizes_from(c, 1 + rank, rank, after);
    out[0] = rp_pad_with(T[0], before, after, (rp_pad_mode)I(0), c->d[0]);
    return 1;
}

/* ---- indices ---- */

#define HOW_FITS(k) (I(k) >= RP_SCATTER_SET && I(k) <= RP_SCATTER_MIN)

MAKE(make_scatter_along)
{
    out[0] = HOW_FITS(1) ? rp_scatter_along(T[0], T[1], T[2], axis_of(I(0)), (rp_scatter)I(1)) : T[0];
    return HOW_FITS(1);
}

MAKE(make_index_put)
{
    out[0] = HOW_FITS(1) ? rp_index_put(T[0], T[1], T[2], axis_of(I(0)), (rp_scatter)I(1)) : T[0];
    return HOW_FITS(1);
}

MAKE(make_scatter_nd)
{
    out[0] = HOW_FITS(0) ? rp_scatter_nd(T[0], T[1], T[2], (rp_scatter)I(0)) : T[0];
    return HOW_FITS(0);
}

MAKE(make_embedding_bag)
{
    const bool fits = I(0) >= RP_BAG_SUM && I(0) <= RP_BAG_MAX;

    out[0] = fits ? rp_embedding_bag(T[0], T[1], (rp_bag)I(0)) : T[0];
    return fits;
}

ONE(make_bincount, rp_bincount(T[0], OPTIONAL(1), (size_t)I(0)))
ONE(make_histogram, rp_histogram(T[0], (size_t)I(0), c->d[0], c->d[1]))

/* ---- images ---- */

/* Window [2], then stride [2], padding [4], dilation [2]. */
static rp_placement placement(const call *c)
{
    rp_placement place = {0};

    sizes_from(c, 2, 2, place.stride);
    sizes_from(c, 4, 4, place.padding);
    sizes_from(c, 8, 2, place.dilation);
    return place;
}

MAKE(make_max_pool2d)
{
    const rp_placement place = placement(c);

    out[0] = rp_max_pool2d(T[0], (size_t)I(0), (size_t)I(1), &place);
    return 1;
}

MAKE(make_avg_pool2d)
{
    const rp_placement place = placement(c);

    out[0] = rp_avg_pool2d(T[0], (size_t)I(0), (size_t)I(1), &place);
    return 1;
}

ONE(make_adaptive_max, rp_adaptive_max_pool2d(T[0], (size_t)I(0), (size_t)I(1)))
ONE(make_adaptive_avg, rp_adaptive_avg_pool2d(T[0], (size_t)I(0), (size_t)I(1)))
ONE(make_shuffle, rp_pixel_shuffle(T[0], (size_t)I(0)))
ONE(make_unshuffle, rp_pixel_unshuffle(T[0], (size_t)I(0)))

/* Height, width, mode, coordinates, rounding. */
MAKE(make_resize2d)
{
    const rp_resizing how = {(rp_resize_mode)I(2), (rp_resize_coordinates)I(3), (rp_resize_rounding)I(4)};

    if (I(2) < 0 || I(2) > RP_RESIZE_CUBIC || I(3) < 0 || I(3) > RP_RESIZE_ASYMMETRIC || I(4) < 0 ||
        I(4) > RP_RESIZE_HALF_UP)
        return 0;
    out[0] = rp_resize2d(T[0], (size_t)I(0), (size_t)I(1), &how);
    return 1;
}

/* ---- losses: the reduction first ---- */

#define REDUCTION ((rp_reduction)I(0))
#define REDUCTION_FITS (I(0) >= RP_REDUCE_MEAN && I(0) <= RP_REDUCE_BATCH)

static rp_class_options class_options(const call *c)
{
    return (rp_class_options){
        .weight = OPTIONAL(2), .ignore = I(1) != 0, .ignore_index = I(2), .smoothing = c->d[0], .reduction = REDUCTION};
}

MAKE(make_cross_entropy)
{
    const rp_class_options options = class_options(c);

    out[0] = rp_cross_entropy_loss(T[0], T[1], &options);
    return REDUCTION_FITS;
}

MAKE(make_nll)
{
    const rp_class_options options = class_options(c);

    out[0] = rp_nll_loss(T[0], T[1], &options);
    return REDUCTION_FITS;
}

ONE(make_bce_logits, rp_bce_with_logits_loss(T[0], T[1], OPTIONAL(2), REDUCTION))
ONE(make_bce, rp_bce_loss(T[0], T[1], REDUCTION))
ONE(make_kl, rp_kl_div_loss(T[0], T[1], I(1) != 0, REDUCTION))
ONE(make_poisson, rp_poisson_nll_loss(T[0], T[1], I(1) != 0, I(2) != 0, c->d[0], REDUCTION))
ONE(make_gaussian, rp_gaussian_nll_loss(T[0], T[1], T[2], I(1) != 0, c->d[0], REDUCTION))

static const row rows[] = {
    {"std", {1, 1}, {2, -1}, 0, make_std},
    {"var", {1, 1}, {2, -1}, 0, make_var},
    {"norm", {1, 1}, {1, -1}, 1, make_norm},
    {"aminmax", {1, 1}, {1, -1}, 0, make_aminmax},
    {"cosine_similarity", {2, 2}, {1, 1}, 1, make_cosine},
    {"bitwise_not", {1, 1}, {0, 0}, 0, make_bitwise_not},
    {"fft", {1, 2}, {1, 1}, 0, make_fft},
    {"einsum", {1, -1}, {0, 0}, 0, make_einsum},
    {"tensordot", {2, 2}, {0, -1}, 0, make_tensordot},
    {"nonzero", {1, 1}, {1, 1}, 0, make_nonzero},
    {"masked_select", {2, 2}, {1, 1}, 0, make_masked_select},
    {"count_unique", {1, 1}, {0, 0}, 0, make_count_unique},
    {"unique", {1, 1}, {1, 1}, 0, make_unique},
    {"flip", {1, 1}, {0, -1}, 0, make_flip},
    {"roll", {1, 1}, {2, 2}, 0, make_roll},
    {"repeat_interleave", {1, 1}, {2, 2}, 0, make_repeat},
    {"split", {1, 1}, {2, -1}, 0, make_split},
    {"chunk", {1, 1}, {2, 2}, 0, make_chunk},
    {"tile", {1, 1}, {0, -1}, 0, make_tile},
    {"meshgrid", {1, -1}, {0, 0}, 0, make_meshgrid},
    {"pad", {1, 1}, {1, -1}, 1, make_pad},
    {"scatter_along", {3, 3}, {2, 2}, 0, make_scatter_along},
    {"index_put", {3, 3}, {2, 2}, 0, make_index_put},
    {"scatter_nd", {3, 3}, {1, 1}, 0, make_scatter_nd},
    {"embedding_bag", {2, 2}, {1, 1}, 0, make_embedding_bag},
    {"bincount", {1, 2}, {1, 1}, 0, make_bincount},
    {"histogram", {1, 1}, {1, 1}, 2, make_histogram},
    {"max_pool2d", {1, 1}, {10, 10}, 0, make_max_pool2d},
    {"avg_pool2d", {1, 1}, {10, 10}, 0, make_avg_pool2d},
    {"adaptive_max_pool2d", {1, 1}, {2, 2}, 0, make_adaptive_max},
    {"adaptive_avg_pool2d", {1, 1}, {2, 2}, 0, make_adaptive_avg},
    {"pixel_shuffle", {1, 1}, {1, 1}, 0, make_shuffle},
    {"pixel_unshuffle", {1, 1}, {1, 1}, 0, make_unshuffle},
    {"resize2d", {1, 1}, {5, 5}, 0, make_resize2d},
    {"cross_entropy_loss", {2, 3}, {3, 3}, 1, make_cross_entropy},
    {"nll_loss", {2, 3}, {3, 3}, 1, make_nll},
    {"bce_with_logits_loss", {2, 3}, {1, 1}, 0, make_bce_logits},
    {"bce_loss", {2, 2}, {1, 1}, 0, make_bce},
    {"kl_div_loss", {2, 2}, {2, 2}, 0, make_kl},
    {"poisson_nll_loss", {2, 2}, {3, 3}, 1, make_poisson},
    {"gaussian_nll_loss", {3, 3}, {2, 2}, 1, make_gaussian},
};

static const row *row_named(const char *name)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (strcmp(rows[k].name, name) == 0)
            return &rows[k];
    return NULL;
}

static bool within(Py_ssize_t n, const int bounds[2])
{
    return n >= bounds[0] && (bounds[1] < 0 || n <= bounds[1]);
}

static PyObject *run_row(const row *f, PyObject *const *in, size_t n, call *c)
{
    operands o;
    rp_tensor out[SEVERAL_MAX] = {{0}};
    rp_type type;
    size_t made;

    if (!operands_begin(&o, operands_home(in, n), f->name))
        return NULL;
    if (!operands_add_all(&o, in, n)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    (void)type_of(o.in[0], &type);
    c->t = o.in;
    c->n_t = o.n;
    c->rank = type.rank;
    made = f->make(c, out);
    if (made == 0) {
        (void)operands_leave(&o);
        operands_end(&o);
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: numbers that do not fit the tensor's axes, or are none of its choices",
                         f->name);
        return NULL;
    }
    if (made > 1)
        return operands_results(&o, out, made);
    (void)type_of(out[0], &type);
    return operands_result(&o, out[0], &type);
}

PyObject *several_call(PyObject *module, PyObject *args)
{
    PyObject *tensors, *integers, *in[SEVERAL_MAX];
    int64_t list[SEVERAL_MAX];
    const char *name;
    call c = {.text = "", .i = list};
    const row *f;
    Py_ssize_t n;

    RP_UNUSED(module);
    if (!PyArg_ParseTuple(args, "sO!Oddz:several", &name, &PyTuple_Type, &tensors, &integers, &c.d[0], &c.d[1],
                          &c.text))
        return NULL;
    f = row_named(name);
    n = PyTuple_Size(tensors);
    if (!f || !within(n, f->tensors) || n > SEVERAL_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: no call of that name and number of tensors (at most %d)", name,
                     SEVERAL_MAX);
        return NULL;
    }
    if (!list_read(integers, list, SEVERAL_MAX, &c.n_i))
        return NULL;
    if (!within((Py_ssize_t)c.n_i, f->integers) || (f->make == make_einsum && !c.text)) {
        PyErr_Format(PyExc_ValueError, "%s: %zd integers", name, (Py_ssize_t)c.n_i);
        return NULL;
    }
    for (Py_ssize_t k = 0; k < n; k++)
        in[k] = PyTuple_GetItem(tensors, k);
    return run_row(f, in, (size_t)n, &c);
}
