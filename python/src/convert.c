/* SPDX-License-Identifier: Apache-2.0
 * Between Python's objects and the library's values: dtypes, shapes, numbers, arrays. */
#include "binding.h"

#include <math.h>

/* Other names of dtypes: numpy's, and letters of struct with the size that they have here. */
static const struct {
    const char *name, *numpy, *format;
} dtypes[] = {
    {"f32", "float32", "f"}, {"f64", "float64", "d"},  {"i32", "int32", "i"},   {"i64", "int64", "q"},
    {"bool", "bool", "?"},   {"bf16", "bfloat16", ""}, {"f16", "float16", "e"}, {"i8", "int8", "b"},
    {"u8", "uint8", "B"},    {"i16", "int16", "h"},    {"u16", "uint16", "H"},  {"u32", "uint32", "I"},
    {"u64", "uint64", "Q"},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static bool dtype_named(const char *name, rp_dtype *dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].numpy, name) == 0)
            name = dtypes[i].name;
    for (int i = 0; i < RP_DTYPE_COUNT; i++)
        if (strcmp(rp_dtype_name((rp_dtype)i), name) == 0) {
            *dtype = (rp_dtype)i;
            return true;
        }
    return false;
}

static bool dtype_from_text(PyObject *text, rp_dtype *dtype)
{
    const char *name = PyUnicode_AsUTF8AndSize(text, NULL);

    if (!name)
        return false;
    if (dtype_named(name, dtype))
        return true;
    PyErr_Format(PyExc_ValueError, "'%U' is no dtype of this build: f32, f64, i32, i64, bool, bf16, ..", text);
    return false;
}

bool dtype_read(PyObject *object, rp_dtype *dtype)
{
    PyObject *name;
    bool done;

    if (PyUnicode_Check(object))
        return dtype_from_text(object, dtype);
    if (object == (PyObject *)&PyFloat_Type || object == (PyObject *)&PyLong_Type ||
        object == (PyObject *)&PyBool_Type) {
        *dtype = object == (PyObject *)&PyFloat_Type ? RP_F32 : object == (PyObject *)&PyLong_Type ? RP_I64 : RP_BOOL;
        return true;
    }
    name = PyObject_GetAttrString(object, PyType_Check(object) ? "__name__" : "name"); /* numpy's */
    if (!name) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "expected a dtype, as 'f32' or numpy.float32, found %R", object);
        return false;
    }
    done = PyUnicode_Check(name) && dtype_from_text(name, dtype);
    if (!done && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "expected a dtype, found %R", object);
    Py_DECREF(name);
    return done;
}

PyObject *dtype_text(rp_dtype dtype)
{
    return PyUnicode_InternFromString(rp_dtype_name(dtype));
}

const char *dtype_format(rp_dtype dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, rp_dtype_name(dtype)) == 0)
            return *dtypes[i].format ? dtypes[i].format : NULL;
    return NULL;
}

/* What struct and numpy write into a buffer's format; "l" and "L" are as long as the platform says. */
static bool dtype_of_format(const char *format, Py_ssize_t size, rp_dtype *dtype)
{
    const char *letter = format ? format : "B";
    char own[2] = {0};

    if (*letter == '@' || *letter == '=' || *letter == '<')
        letter++;
    if (!*letter || letter[1])
        return false;
    own[0] = *letter;
    if (*letter == 'l')
        own[0] = size == 8 ? 'q' : 'i';
    if (*letter == 'L')
        own[0] = size == 8 ? 'Q' : 'I';
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].format, own) == 0 && dtype_named(dtypes[i].name, dtype))
            return rp_dtype_size(*dtype) == (size_t)size;
    return false;
}

bool buffer_type(const Py_buffer *view, rp_type *type)
{
    if (view->ndim > RP_MAX_RANK || !dtype_of_format(view->format, view->itemsize, &type->dtype))
        return false;
    type->rank = view->ndim;
    for (int i = 0; i < view->ndim; i++)
        type->shape[i] = (size_t)view->shape[i];
    return true;
}

/* ---- lists and shapes ---- */

bool list_read(PyObject *object, int64_t *list, size_t room, size_t *n)
{
    Py_ssize_t length;

    *n = 0;
    if (PyLong_Check(object)) {
        list[(*n)++] = PyLong_AsLongLong(object);
        return !PyErr_Occurred();
    }
    length = PySequence_Check(object) && !PyUnicode_Check(object) ? PySequence_Size(object) : -1;
    if (length < 0 || (size_t)length > room) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "expected at most %zu integers, found %R", room, object);
        return false;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        PyObject *whole = item ? PyNumber_Index(item) : NULL;

        list[i] = whole ? PyLong_AsLongLong(whole) : 0;
        Py_XDECREF(item);
        Py_XDECREF(whole);
        if (PyErr_Occurred())
            return false;
    }
    *n = (size_t)length;
    return true;
}

bool shape_read(PyObject *object, int *rank, size_t shape[RP_MAX_RANK])
{
    int64_t list[RP_MAX_RANK];
    size_t n;

    if (!list_read(object, list, RP_MAX_RANK, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (list[i] < 0) {
            PyErr_Format(PyExc_ValueError, "a shape has lengths of 0 or more, found %R", object);
            return false;
        }
        shape[i] = (size_t)list[i];
    }
    *rank = (int)n;
    return true;
}

PyObject *shape_tuple(const rp_type *type)
{
    PyObject *tuple = PyTuple_New(type->rank);

    for (int i = 0; tuple && i < type->rank; i++) {
        PyObject *length = PyLong_FromSize_t(type->shape[i]);

        if (!length || PyTuple_SetItem(tuple, i, length) != 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

bool type_read(PyObject *shape, PyObject *dtype, rp_type *type)
{
    *type = (rp_type){.dtype = RP_F32};
    return shape_read(shape, &type->rank, type->shape) && (!dtype || dtype_read(dtype, &type->dtype));
}

size_t type_count(const rp_type *type)
{
    size_t count = 1;

    for (int i = 0; i < type->rank; i++)
        count *= type->shape[i];
    return count;
}

size_t type_bytes(const rp_type *type)
{
    return type_count(type) * rp_dtype_size(type->dtype);
}

bool types_equal(const rp_type *a, const rp_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

void type_text(const rp_type *type, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "%s[", rp_dtype_name(type->dtype));

    for (int i = 0; i < type->rank && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%zu", i ? "," : "", type->shape[i]);
    if (at < size)
        (void)snprintf(out + at, size - at, "]");
}

/* ---- numbers ---- */

bool is_number(PyObject *object)
{
    return PyFloat_Check(object) || PyLong_Check(object);
}

/* Of whole numbers. */
static bool in_range(rp_dtype dtype, double x)
{
    const bool is_unsigned = rp_dtype_name(dtype)[0] == 'u';
    const double above = ldexp(1, 8 * (int)rp_dtype_size(dtype) - !is_unsigned);

    if (dtype == RP_BOOL)
        return x == 0 || x == 1;
    return x < above && x >= (is_unsigned ? 0 : -above);
}

bool number_read(PyObject *object, rp_dtype dtype, double *real)
{
    const bool floats = dtype_format(dtype) == NULL || strchr("fde", dtype_format(dtype)[0]);

    if (PyFloat_Check(object) && !floats) {
        PyErr_Format(PyExc_TypeError, "%R is no %s: nothing is converted in silence, cast the tensor first", object,
                     rp_dtype_name(dtype));
        return false;
    }
    *real = PyFloat_AsDouble(object);
    if (*real == -1 && PyErr_Occurred())
        return false;
    if (PyLong_Check(object) && fabs(*real) > 0x1p53) {
        PyErr_Format(PyExc_ValueError, "%R: constants of integers go up to 2^53", object);
        return false;
    }
    if (!floats && !in_range(dtype, *real)) {
        PyErr_Format(PyExc_OverflowError, "%R is no %s: cast the tensor first", object, rp_dtype_name(dtype));
        return false;
    }
    return true;
}

/* ---- arrays ---- */

void copy_bytes(void *to, const void *from, size_t size)
{
    enum { LONG = 1 << 18 }; /* some ten microseconds, beside which to let the lock go costs nothing */
    PyThreadState *thread = size >= LONG ? PyEval_SaveThread() : NULL;

    if (size)
        memcpy(to, from, size);
    if (thread)
        PyEval_RestoreThread(thread);
}

void elements_free(elements *e)
{
    if (e->viewed)
        PyBuffer_Release(&e->view);
    free(e->copy);
    Py_XDECREF(e->kept);
    *e = (elements){0};
}

static bool from_view(elements *e)
{
    Py_buffer *v = &e->view;

    if (v->ndim > RP_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "an array of %d axes: a tensor has at most %d", v->ndim, RP_MAX_RANK);
        return false;
    }
    if (!buffer_type(v, &e->type)) {
        PyErr_Format(PyExc_TypeError, "elements of format '%s' are of no dtype of this build",
                     v->format ? v->format : "B");
        return false;
    }
    e->bytes = v->buf;
    if (PyBuffer_IsContiguous(v, 'C'))
        return true;
    e->bytes = e->copy = malloc(v->len ? (size_t)v->len : 1);
    if (!e->copy) {
        PyErr_NoMemory();
        return false;
    }
    return PyBuffer_ToContiguous(e->copy, v, v->len, 'C') == 0;
}

/* numpy.asarray(object), of the wanted dtype; floats and integers of Python's own are f32 and i64. */
static PyObject *as_array(PyObject *object, const rp_dtype *wanted)
{
    PyObject *numpy = PyImport_ImportModule("numpy"), *array = NULL, *kind = NULL, *letter = NULL;

    if (numpy)
        array = PyObject_CallMethod(numpy, "asarray", "O", object);
    if (array && !wanted) {
        kind = PyObject_GetAttrString(array, "dtype");
        letter = kind ? PyObject_GetAttrString(kind, "char") : NULL;
        if (letter && PyUnicode_CompareWithASCIIString(letter, "d") == 0) /* a list of Python's floats */
            replace(&array, PyObject_CallMethod(array, "astype", "s", "float32"));
    }
    Py_XDECREF(numpy);
    Py_XDECREF(kind);
    Py_XDECREF(letter);
    return array;
}

static bool cast_to(elements *e, PyObject *object, rp_dtype wanted)
{
    const char *name = rp_dtype_name(wanted);
    PyObject *array = as_array(object, &wanted), *cast;
    elements other = {0};
    bool done;

    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            name = dtypes[i].numpy;
    cast = array ? PyObject_CallMethod(array, "astype", "s", name) : NULL;
    Py_XDECREF(array);
    done = cast && elements_read(&other, cast, NULL);
    Py_XDECREF(cast);
    if (!done)
        return false;
    elements_free(e);
    *e = other;
    return true;
}

static bool of_dlpack(elements *e, PyObject *object)
{
    e->kept = from_dlpack(object);
    if (!e->kept)
        return false;
    e->type = ((tensor_object *)e->kept)->type;
    e->bytes = ((tensor_object *)e->kept)->bytes;
    return true;
}

/* Buffers have no bf16: an array of it that has one refuses it (jax's), and comes by DLPack where it has that. */
static bool of_refused_buffer(elements *e, PyObject *object)
{
    PyObject *type, *value, *trace;

    if (!PyObject_HasAttrString(object, "__dlpack__"))
        return false;
    PyErr_Fetch(&type, &value, &trace);
    if (!of_dlpack(e, object)) {
        PyErr_Restore(type, value, trace); /* what the buffer said */
        return false;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return true;
}

static bool read_any(elements *e, PyObject *object, const rp_dtype *wanted)
{
    PyObject *array;

    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &e->view, PyBUF_FORMAT | PyBUF_STRIDES) != 0)
            return of_refused_buffer(e, object);
        e->viewed = true;
        return from_view(e);
    }
    if (PyObject_HasAttrString(object, "__dlpack__"))
        return of_dlpack(e, object);
    array = as_array(object, wanted);
    if (!array)
        return false;
    if (!PyObject_CheckBuffer(array) || PyObject_GetBuffer(array, &e->view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
        Py_DECREF(array);
        return false;
    }
    Py_DECREF(array);
    e->viewed = true;
    return from_view(e);
}

bool elements_read(elements *e, PyObject *object, const rp_dtype *wanted)
{
    bool done;

    *e = (elements){0};
    if (is_tensor(object)) {
        e->bytes = tensor_bytes((tensor_object *)object);
        e->type = ((tensor_object *)object)->type;
        e->kept = Py_NewRef(object);
        done = e->bytes != NULL;
    } else {
        done = read_any(e, object, wanted);
    }
    if (done && wanted && e->type.dtype != *wanted)
        done = cast_to(e, object, *wanted);
    if (!done)
        elements_free(e);
    return done;
}
