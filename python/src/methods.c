/* SPDX-License-Identifier: Apache-2.0
 * Methods of tensors that are no operators: shapes, casts, reductions, values out as numbers, buffers and arrays. */
#include "binding.h"

PyObject *tensor_item(PyObject *self, PyObject *ignored);

/* ---- buffers ---- */

/* Who asks for bytes alone may have asked for memory to write to before: torch.frombuffer then writes all the same. */
static int copied_buffer(tensor_object *t, Py_buffer *view)
{
    const void *bytes = tensor_bytes(t);
    PyObject *copy = bytes ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)type_bytes(&t->type)) : NULL;
    const int result = copy ? PyObject_GetBuffer(copy, view, PyBUF_SIMPLE) : -1;

    Py_XDECREF(copy);
    return result;
}

/* A view of the tensor's own elements, which nobody may write: the tensor lives as long as it. */
int tensor_buffer(PyObject *self, Py_buffer *view, int flags)
{
    tensor_object *t = (tensor_object *)self;
    const char *format = dtype_format(t->type.dtype);
    const void *bytes;
    Py_ssize_t *axes;

    view->obj = NULL;
    if (!format) {
        PyErr_Format(PyExc_BufferError, "numpy has no %s: cast to f32 first", rp_dtype_name(t->type.dtype));
        return -1;
    }
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "a tensor is never written: copy the array");
        return -1;
    }
    if (flags == PyBUF_SIMPLE)
        return copied_buffer(t, view);
    bytes = tensor_bytes(t);
    axes = bytes ? PyMem_Malloc((size_t)(2 * t->type.rank + 1) * sizeof *axes) : NULL;
    if (!axes) {
        if (bytes)
            PyErr_NoMemory();
        return -1;
    }
    view->itemsize = (Py_ssize_t)rp_dtype_size(t->type.dtype);
    view->len = (Py_ssize_t)type_bytes(&t->type);
    for (int i = t->type.rank - 1; i >= 0; i--) {
        axes[i] = (Py_ssize_t)t->type.shape[i];
        axes[t->type.rank + i] = i == t->type.rank - 1 ? view->itemsize : axes[t->type.rank + i + 1] * axes[i + 1];
    }
    view->buf = (void *)bytes;
    view->readonly = 1;
    view->ndim = t->type.rank;
    view->format = flags & PyBUF_FORMAT ? (char *)format : NULL;
    view->shape = flags & PyBUF_ND ? axes : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? axes + t->type.rank : NULL;
    view->suboffsets = NULL;
    view->internal = axes;
    view->obj = Py_NewRef(self);
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    RP_UNUSED(self);
    PyMem_Free(view->internal);
}

void (*const tensor_release_buffer)(PyObject *, Py_buffer *) = release_buffer;

static PyObject *to_numpy(PyObject *self, PyObject *ignored)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *view, *array = NULL;

    RP_UNUSED(ignored);
    view = numpy ? PyMemoryView_FromObject(self) : NULL;
    if (view)
        array = PyObject_CallMethod(numpy, "asarray", "O", view);
    Py_XDECREF(numpy);
    Py_XDECREF(view);
    return array;
}

static PyObject *array(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None, *made, *other = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    made = to_numpy(self, NULL);
    if (made && dtype != Py_None)
        other = PyObject_CallMethod(made, "astype", "O", dtype);
    else if (made && copy == Py_True)
        other = PyObject_CallMethod(made, "copy", NULL);
    else
        return made;
    Py_XDECREF(made);
    return other;
}

static PyObject *to_list(PyObject *self, PyObject *ignored)
{
    PyObject *made = to_numpy(self, NULL), *list = made ? PyObject_CallMethod(made, "tolist", NULL) : NULL;

    RP_UNUSED(ignored);
    Py_XDECREF(made);
    return list;
}

/* ---- one operand ---- */

#define ONE(name) \
    static PyObject *one_##name(PyObject *self, PyObject *ignored) \
    { \
        RP_UNUSED(ignored); \
        return one(self, #name, rp_##name); \
    }

static bool begin_one(operands *o, PyObject *self, const char *name)
{
    if (!operands_begin(o, operands_home(&self, 1), name))
        return false;
    if (!operands_add(o, self, NULL)) {
        operands_end(o);
        return false;
    }
    operands_enter(o);
    return true;
}

static PyObject *end_one(operands *o, rp_tensor out)
{
    rp_type type;

    (void)type_of(out, &type);
    return operands_result(o, out, &type);
}

static PyObject *one(PyObject *self, const char *name, call1 *call)
{
    operands o;

    return begin_one(&o, self, name) ? end_one(&o, call(o.in[0])) : NULL;
}

ONE(exp)
ONE(log)
ONE(sqrt)
ONE(tanh)
ONE(sigmoid)
ONE(relu)
ONE(stop_gradient)

/* ---- shapes ---- */

/* reshape(2, 3), reshape((2, 3)); one length may be -1. */
static bool new_shape(PyObject *args, const rp_type *from, int *rank, size_t shape[RP_MAX_RANK])
{
    int64_t list[RP_MAX_RANK];
    PyObject *first = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    size_t n, open = RP_MAX_RANK, known = 1;

    if (!list_read(first && !PyLong_Check(first) ? first : args, list, RP_MAX_RANK, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (list[i] < -1 || (list[i] == -1 && open != RP_MAX_RANK)) {
            PyErr_SetString(PyExc_ValueError, "reshape: lengths of 0 or more, one of which may be -1");
            return false;
        }
        if (list[i] == -1)
            open = i;
        else if (list[i] && known > SIZE_MAX / (size_t)list[i])
            known = 0;
        else
            known *= (size_t)list[i];
        shape[i] = (size_t)list[i];
    }
    if (open != RP_MAX_RANK)
        shape[open] = known ? type_count(from) / known : 0;
    *rank = (int)n;
    return true;
}

static PyObject *reshape(PyObject *self, PyObject *args)
{
    operands o;
    size_t shape[RP_MAX_RANK];
    int rank;

    if (!new_shape(args, &((tensor_object *)self)->type, &rank, shape))
        return NULL;
    return begin_one(&o, self, "reshape") ? end_one(&o, rp_reshape(o.in[0], rank, shape)) : NULL;
}

static PyObject *broadcast_to(PyObject *self, PyObject *args)
{
    operands o;
    size_t shape[RP_MAX_RANK];
    int rank;

    if (!new_shape(args, &((tensor_object *)self)->type, &rank, shape))
        return NULL;
    return begin_one(&o, self, "broadcast_to") ? end_one(&o, rp_broadcast_to(o.in[0], rank, shape)) : NULL;
}

static PyObject *transpose(PyObject *self, PyObject *args)
{
    operands o;
    int64_t list[RP_MAX_RANK];
    int axes[RP_MAX_RANK];
    size_t n = 0;
    const Py_ssize_t given = PyTuple_Size(args);
    PyObject *first = given == 1 ? PyTuple_GetItem(args, 0) : NULL;

    if (given > 0 && !list_read(first && !PyLong_Check(first) ? first : args, list, RP_MAX_RANK, &n))
        return NULL;
    if (given > 0 && n != (size_t)((tensor_object *)self)->type.rank) {
        PyErr_SetString(PyExc_ValueError, "transpose: every axis once, or none to exchange the last two");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        axes[i] = axis_of(list[i] < 0 ? list[i] + (int64_t)n : list[i]);
    return begin_one(&o, self, "transpose") ? end_one(&o, rp_transpose(o.in[0], given > 0 ? axes : NULL)) : NULL;
}

static PyObject *cast(PyObject *self, PyObject *dtype)
{
    operands o;
    rp_dtype wanted;

    if (!dtype_read(dtype, &wanted))
        return NULL;
    return begin_one(&o, self, "cast") ? end_one(&o, rp_cast(o.in[0], wanted)) : NULL;
}

/* ---- reductions ---- */

typedef rp_tensor reduction(rp_tensor, const int *, int, bool);

static PyObject *reduce(PyObject *self, PyObject *args, PyObject *kwargs, const char *name, reduction *call)
{
    static char *names[] = {"axes", "keep", NULL};
    PyObject *axes = Py_None;
    int64_t list[RP_MAX_RANK];
    int axis[RP_MAX_RANK], keep = 0;
    size_t n = 0;
    operands o;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Op", names, &axes, &keep) ||
        (axes != Py_None && !list_read(axes, list, RP_MAX_RANK, &n)))
        return NULL;
    for (size_t i = 0; i < n; i++)
        axis[i] = axis_of(list[i]);
    return begin_one(&o, self, name) ? end_one(&o, call(o.in[0], axis, (int)n, keep)) : NULL;
}

#define REDUCTION(name) \
    static PyObject *reduce_##name(PyObject *self, PyObject *args, PyObject *kwargs) \
    { \
        return reduce(self, args, kwargs, #name, rp_##name); \
    }
REDUCTION(sum)
REDUCTION(mean)
REDUCTION(max)
REDUCTION(min)
REDUCTION(prod)
REDUCTION(any)
REDUCTION(all)

static PyObject *rows(PyObject *self)
{
    const Py_ssize_t n = tensor_length(self);
    PyObject *list = n < 0 ? NULL : PyList_New(n), *iterator;

    for (Py_ssize_t i = 0; list && i < n; i++) {
        PyObject *at = PyLong_FromSsize_t(i), *row = at ? tensor_subscript(self, at) : NULL;

        Py_XDECREF(at);
        if (!row || PyList_SetItem(list, i, row) != 0)
            Py_CLEAR(list);
    }
    iterator = list ? PyObject_GetIter(list) : NULL;
    Py_XDECREF(list);
    return iterator;
}

PyObject *(*const tensor_rows)(PyObject *) = rows;

#define KEYS METH_VARARGS | METH_KEYWORDS
#define WITH_KEYS(function) (PyCFunction)(void (*)(void))(function)
#define REDUCES(name, what) \
    { \
#name, WITH_KEYS(reduce_##name), KEYS, #name "($self, axes=None, keep=False)\n--\n\n" what \
    }

PyMethodDef tensor_methods[] = {
    {"item", tensor_item, METH_NOARGS, "item($self)\n--\n\nThe one element as a number of Python."},
    {"numpy", to_numpy, METH_NOARGS,
     "numpy($self)\n--\n\nAn array of numpy on the tensor's memory: read-only, no copy."},
    {"tolist", to_list, METH_NOARGS, "tolist($self)\n--\n\nNested lists of numbers."},
    {"__array__", WITH_KEYS(array), KEYS, NULL},
    {"__dlpack__", WITH_KEYS(tensor_dlpack), KEYS, NULL},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, NULL},
    {"exp", one_exp, METH_NOARGS, "exp($self)\n--\n\ne^x."},
    {"log", one_log, METH_NOARGS, "log($self)\n--\n\nThe natural logarithm."},
    {"sqrt", one_sqrt, METH_NOARGS, "sqrt($self)\n--\n\nThe square root."},
    {"tanh", one_tanh, METH_NOARGS, "tanh($self)\n--\n\nThe hyperbolic tangent."},
    {"sigmoid", one_sigmoid, METH_NOARGS, "sigmoid($self)\n--\n\n1 / (1 + e^-x)."},
    {"relu", one_relu, METH_NOARGS, "relu($self)\n--\n\nx, or 0 where x is below."},
    {"stop_gradient", one_stop_gradient, METH_NOARGS,
     "stop_gradient($self)\n--\n\nThe tensor itself, which no gradient passes."},
    {"reshape", reshape, METH_VARARGS,
     "reshape($self, *shape)\n--\n\nThe same elements in another shape; one length "
     "may be -1."},
    {"broadcast_to", broadcast_to, METH_VARARGS, "broadcast_to($self, *shape)\n--\n\nStretched to a shape."},
    {"transpose", transpose, METH_VARARGS,
     "transpose($self, *axes)\n--\n\nAxes in another order; without any, the last "
     "two exchanged."},
    {"cast", cast, METH_O, "cast($self, dtype, /)\n--\n\nThe elements as another dtype."},
    {"astype", cast, METH_O, "astype($self, dtype, /)\n--\n\nAs cast."},
    REDUCES(sum, "The sum over axes, all by default: [..] -> the axes that are left."),
    REDUCES(mean, "The mean over axes."),
    REDUCES(max, "The greatest element over axes."),
    REDUCES(min, "The least element over axes."),
    REDUCES(prod, "The product over axes."),
    REDUCES(any, "Whether some element is not 0, over axes: bool."),
    REDUCES(all, "Whether no element is 0, over axes: bool."),
    {0},
};
