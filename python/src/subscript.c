/* SPDX-License-Identifier: Apache-2.0
 * x[...]: integers, slices, None, Ellipsis, and one tensor of places (taken along its axis) or of bools (eagerly: the
 * elements where it is true). */
#include "binding.h"

enum { KEYS = 2 * RP_MAX_RANK, PLACES = KEYS + RP_MAX_RANK };

/* What becomes of x: a slice with steps, a gather, a reshape; each only where it changes something. */
typedef struct plan {
    size_t begin[RP_MAX_RANK], size[RP_MAX_RANK];
    int64_t step[RP_MAX_RANK];
    size_t shape[PLACES]; /* after it; more than RP_MAX_RANK are refused at the end */
    int rank, axis;       /* axes of x that are placed so far */
    bool cut;
    PyObject *index; /* borrowed */
    int along;       /* axis of x which index takes from; -1 */
    int at;          /* where this axis is in shape */
} plan;

static bool one_place(plan *p, const rp_type *x, PyObject *key)
{
    PyObject *whole = PyNumber_Index(key);
    long long place = whole ? PyLong_AsLongLong(whole) : -1;
    const long long length = (long long)x->shape[p->axis];

    Py_XDECREF(whole);
    if (PyErr_Occurred())
        return false;
    if (place < -length || place >= length) {
        PyErr_Format(PyExc_IndexError, "index %lld of axis %d, which has %lld", place, p->axis, length);
        return false;
    }
    p->begin[p->axis] = (size_t)(place < 0 ? place + length : place);
    p->size[p->axis] = 1;
    p->step[p->axis] = 1;
    p->cut = true;
    p->axis++;
    return true;
}

static bool a_slice(plan *p, const rp_type *x, PyObject *key)
{
    Py_ssize_t start, stop, step, size;
    const Py_ssize_t length = (Py_ssize_t)x->shape[p->axis];

    if (PySlice_Unpack(key, &start, &stop, &step) != 0)
        return false;
    size = PySlice_AdjustIndices(length, &start, &stop, step);
    p->begin[p->axis] = size > 0 ? (size_t)start : 0;
    p->size[p->axis] = (size_t)size;
    p->step[p->axis] = size > 0 ? step : 1;
    p->cut = p->cut || size != length || step != 1;
    p->shape[p->rank++] = (size_t)size;
    p->axis++;
    return true;
}

static void whole_axes(plan *p, const rp_type *x, int n)
{
    for (int i = 0; i < n; i++, p->axis++) {
        p->begin[p->axis] = 0;
        p->size[p->axis] = p->shape[p->rank++] = x->shape[p->axis];
        p->step[p->axis] = 1;
    }
}

static bool too_many(const rp_type *x)
{
    PyErr_Format(PyExc_IndexError, "more indices than the %d axes", x->rank);
    return false;
}

static bool one_key(plan *p, const rp_type *x, PyObject *key, int behind)
{
    if (key == Py_None) {
        p->shape[p->rank++] = 1;
        return true;
    }
    if (key == Py_Ellipsis) {
        whole_axes(p, x, x->rank - p->axis - behind);
        return true;
    }
    if (p->axis == x->rank)
        return too_many(x);
    if (PySlice_Check(key))
        return a_slice(p, x, key);
    if (PyBool_Check(key) || (is_tensor(key) && ((tensor_object *)key)->type.dtype == RP_BOOL)) {
        PyErr_SetString(PyExc_IndexError, "a bool index stands alone: x[mask], mask of x's shape");
        return false;
    }
    if (!is_tensor(key) && PyIndex_Check(key))
        return one_place(p, x, key);
    if (p->along >= 0) {
        PyErr_SetString(PyExc_IndexError, "one index that is a tensor; for several use gather_nd");
        return false;
    }
    p->index = key;
    p->along = p->axis;
    p->at = p->rank;
    whole_axes(p, x, 1);
    return true;
}

/* Axes that the keys behind i take. */
static int taken_behind(PyObject *const *key, Py_ssize_t n, Py_ssize_t i)
{
    int taken = 0;

    for (Py_ssize_t k = i + 1; k < n; k++)
        taken += key[k] != Py_None;
    return taken;
}

static bool make_plan(plan *p, const rp_type *x, PyObject *const *key, Py_ssize_t n)
{
    int dots = 0;

    *p = (plan){.along = -1};
    for (Py_ssize_t i = 0; i < n; i++) {
        const int behind = taken_behind(key, n, i);

        dots += key[i] == Py_Ellipsis;
        if (dots > 1 || (key[i] == Py_Ellipsis && behind > x->rank - p->axis))
            return too_many(x);
        if (!one_key(p, x, key[i], behind))
            return false;
    }
    if (x->rank - p->axis + p->rank > RP_MAX_RANK)
        return too_many(x);
    whole_axes(p, x, x->rank - p->axis);
    return true;
}

/* index may have any rank: its axes stand where the axis was. */
static rp_tensor carry_out(const plan *p, const rp_type *x, rp_tensor t, rp_tensor index)
{
    if (p->cut)
        t = rp_slice_step(t, p->begin, p->size, p->step);
    if (p->rank != x->rank || p->cut || p->along >= 0) {
        rp_type now;

        if (type_of(t, &now) &&
            (now.rank != p->rank || memcmp(now.shape, p->shape, (size_t)p->rank * sizeof *p->shape) != 0))
            t = rp_reshape(t, p->rank, p->shape);
    }
    return p->along >= 0 ? rp_gather(t, index, p->at) : t;
}

static PyObject *masked(PyObject *self, PyObject *mask)
{
    PyObject *const both[2] = {self, mask};
    operands o;
    rp_tensor count, out = {0};
    rp_type type;
    int64_t n = 0;

    if (!operands_begin(&o, operands_home(both, 2), "masked_select"))
        return NULL;
    if (!o.home->run) {
        PyErr_SetString(PyExc_TypeError, "x[mask] has as many elements as there are: in a program say how many, with "
                                         "masked_select(x, mask, n)");
        operands_end(&o);
        return NULL;
    }
    if (!operands_add_all(&o, both, 2)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    count = rp_count_true(o.in[1]);
    if (rp_read(o.home->run, count, &n, sizeof n, &o.err) == RP_OK) {
        o.before = rp_graph_length(o.home->graph); /* what was read stays */
        out = rp_masked_select(o.in[0], o.in[1], (size_t)n);
    }
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}

PyObject *tensor_subscript(PyObject *self, PyObject *key)
{
    const rp_type *x = &((tensor_object *)self)->type;
    const bool several = PyTuple_Check(key);
    const Py_ssize_t n = several ? PyTuple_Size(key) : 1;
    PyObject *keys[2 * RP_MAX_RANK + 1], *both[2] = {self, self};
    plan p;
    operands o;
    rp_tensor out;
    rp_type type;

    if (n > 2 * RP_MAX_RANK) {
        (void)too_many(x);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        keys[i] = several ? PyTuple_GetItem(key, i) : key;
    if (n == 1 && is_tensor(keys[0]) && ((tensor_object *)keys[0])->type.dtype == RP_BOOL)
        return masked(self, keys[0]);
    if (!make_plan(&p, x, keys, n))
        return NULL;
    both[1] = p.index ? p.index : self;
    if (!operands_begin(&o, operands_home(both, 2), "index"))
        return NULL;
    if (!operands_add(&o, self, NULL) || (p.index && !operands_add(&o, p.index, NULL))) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    out = carry_out(&p, x, o.in[0], p.index ? o.in[1] : o.in[0]);
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}
