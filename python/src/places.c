/* SPDX-License-Identifier: Apache-2.0
 * Whether what was in certain places of Python's still is there. The look errs towards "something is different": it
 * compares objects, plain numbers and texts, and lists, tuples and dicts of them, and knows nothing of what else may be
 * equal. */
#include "places.h"

enum { DEPTH_MAX = 16 };

static bool same(PyObject *a, PyObject *b, int depth);

/* Most often it is the object itself, which needs no call. */
static inline bool same_part(PyObject *a, PyObject *b, int depth)
{
    return a == b || same(a, b, depth);
}

static bool same_list(PyObject *a, PyObject *b, int depth)
{
    const Py_ssize_t n = PyList_Size(a);

    if (n != PyList_Size(b))
        return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!same_part(PyList_GetItem(a, i), PyList_GetItem(b, i), depth))
            return false;
    return true;
}

static bool same_tuple(PyObject *a, PyObject *b, int depth)
{
    const Py_ssize_t n = PyTuple_Size(a);

    if (n != PyTuple_Size(b))
        return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!same_part(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i), depth))
            return false;
    return true;
}

/* The order counts: a forward may walk through it. */
static bool same_dict(PyObject *a, PyObject *b, int depth)
{
    PyObject *key[2], *value[2];
    Py_ssize_t at[2] = {0};

    if (PyDict_Size(a) != PyDict_Size(b))
        return false;
    while (PyDict_Next(a, &at[0], &key[0], &value[0]))
        if (!PyDict_Next(b, &at[1], &key[1], &value[1]) || !same_part(key[0], key[1], depth) ||
            !same_part(value[0], value[1], depth))
            return false;
    return true;
}

static bool same_float(PyObject *a, PyObject *b)
{
    const double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);

    return memcmp(&x, &y, sizeof x) == 0; /* 0.0 is not -0.0, a NaN is itself */
}

static bool same_integer(PyObject *a, PyObject *b)
{
    int over[2];
    const long long x = PyLong_AsLongLongAndOverflow(a, &over[0]), y = PyLong_AsLongLongAndOverflow(b, &over[1]);

    return x == y && !over[0] && !over[1];
}

/* One object, or of one of the plain types and alike. Calls no code of Python's. */
static bool same(PyObject *a, PyObject *b, int depth)
{
    PyTypeObject *type = Py_TYPE(a);

    if (a == b)
        return true;
    if (type != Py_TYPE(b) || depth >= DEPTH_MAX)
        return false;
    if (type == &PyFloat_Type)
        return same_float(a, b);
    if (type == &PyLong_Type)
        return same_integer(a, b);
    if (type == &PyUnicode_Type)
        return PyUnicode_Compare(a, b) == 0;
    if (type == &PyList_Type)
        return same_list(a, b, depth + 1);
    if (type == &PyTuple_Type)
        return same_tuple(a, b, depth + 1);
    return type == &PyDict_Type && same_dict(a, b, depth + 1);
}

/* A dict has no fewer items than the number says that another one has by a name, which may change with it. */
static bool count_stands(const place *p)
{
    PyObject *number = PyDict_GetItemWithError(p->value, p->name);

    return number && PyLong_Check(number) && PyDict_Size(p->where) >= PyLong_AsSsize_t(number) && !PyErr_Occurred();
}

static PyObject *attribute_now(const place *p, descrgetfunc get)
{
    if (p->getter && Py_TYPE(p->where) == p->type)
        return get(p->getter, p->where, (PyObject *)p->type);
    return p->name == Py_None ? PyObject_CallNoArgs(p->where) : PyObject_GetAttr(p->where, p->name);
}

static bool attribute_stands(const place *p, descrgetfunc get)
{
    PyObject *now = attribute_now(p, get);
    const bool stands = now && same(now, p->value, 0);

    Py_XDECREF(now);
    return stands;
}

static PyObject *item_now(const place *p)
{
    PyObject *key, *value;
    Py_ssize_t at = p->at;

    if (PyDict_Next(p->where, &at, &key, &value) && key == p->name)
        return value;
    return PyDict_GetItemWithError(p->where, p->name);
}

static bool item_stands(const place *p)
{
    PyObject *now = item_now(p);

    if (!now || !p->value)
        return !now && !p->value && !PyErr_Occurred();
    return now == p->value || same(now, p->value, 0);
}

static void find_item(place *p)
{
    PyObject *key, *value;
    Py_ssize_t next = 0;

    do
        p->at = next;
    while (PyDict_Next(p->where, &next, &key, &value) && key != p->name);
}

bool places_stand(const place *places, size_t n)
{
    const descrgetfunc get = (descrgetfunc)PyType_GetSlot(&PyGetSetDescr_Type, Py_tp_descr_get);
    bool stand = true;

    for (size_t i = 0; i < n && stand; i++)
        stand = places[i].item      ? item_stands(&places[i])
                : places[i].counted ? count_stands(&places[i])
                                    : attribute_stands(&places[i], get);
    if (!stand)
        PyErr_Clear();
    return stand;
}

PyObject *tuple_at(PyObject *list, Py_ssize_t i)
{
    PyObject *tuple = PyList_GetItem(list, i);

    if (tuple && PyTuple_Check(tuple))
        return tuple;
    if (tuple)
        PyErr_Format(PyExc_TypeError, "expected a tuple, found %R", tuple);
    return NULL;
}

static bool find_getter(PyObject *kept, place *p)
{
    PyObject *found = PyObject_GetAttr((PyObject *)Py_TYPE(p->where), p->name);
    bool done = true;

    if (found && Py_TYPE(found) == &PyGetSetDescr_Type) {
        p->getter = found;
        p->type = Py_TYPE(p->where);
        done = PyList_Append(kept, found) == 0 && PyList_Append(kept, (PyObject *)p->type) == 0;
    }
    Py_XDECREF(found);
    if (done)
        PyErr_Clear();
    return done;
}

static bool read_count(place *p)
{
    PyObject *both = p->where, *numbers;

    if (!PyArg_ParseTuple(both, "O!O!", &PyDict_Type, &p->where, &PyDict_Type, &numbers))
        return false;
    p->value = numbers;
    p->counted = true;
    return true;
}

static bool read_place(PyObject *of, PyObject *kept, place *p)
{
    if (!of || !PyArg_ParseTuple(of, "OO|O", &p->where, &p->name, &p->value))
        return false;
    if (PyTuple_Check(p->where))
        return read_count(p);
    p->item = PyDict_CheckExact(p->where);
    if (p->item) {
        find_item(p);
        return true;
    }
    if (p->value && p->name == Py_None)
        return true;
    if (p->value)
        return find_getter(kept, p);
    PyErr_SetString(PyExc_TypeError, "an attribute without what it was");
    return false;
}

place *places_read(PyObject *list, PyObject *kept, size_t *n)
{
    const size_t most = (size_t)PyList_Size(list);
    place *places = calloc(most + 1, sizeof *places);

    if (!places)
        return (place *)PyErr_NoMemory();
    for (*n = 0; *n < most; (*n)++)
        if (!read_place(tuple_at(list, (Py_ssize_t)*n), kept, &places[*n])) {
            free(places);
            *n = 0;
            return NULL;
        }
    return places;
}
