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

/* What has no answer of C, or has it no longer. */
static PyObject *asked(const place *p)
{
    return p->name == Py_None ? PyObject_CallNoArgs(p->where) : PyObject_GetAttr(p->where, p->name);
}

static bool answer_stands(const place *p)
{
    PyObject *now = p->kind == PLACE_CALL                                     ? p->call(p->self, NULL)
                    : p->kind == PLACE_GETTER && Py_TYPE(p->where) == p->type ? p->get(p->where, p->closure)
                                                                              : asked(p);
    const bool stands = now && same_part(now, p->value, 0);

    Py_XDECREF(now);
    return stands;
}

static bool item_stands(const place *p)
{
    PyObject *key, *now;
    Py_ssize_t at = p->at;

    if (!PyDict_Next(p->where, &at, &key, &now) || key != p->name)
        now = PyDict_GetItemWithError(p->where, p->name);
    return now && same_part(now, p->value, 0);
}

static bool is_nowhere(const place *p)
{
    return !PyDict_GetItemWithError(p->where, p->name) && !PyErr_Occurred();
}

static void find_item(place *p)
{
    PyObject *key, *value;
    Py_ssize_t next = 0;

    do
        p->at = next;
    while (PyDict_Next(p->where, &next, &key, &value) && key != p->name);
}

static bool place_stands(const place *p)
{
    switch (p->kind) {
    case PLACE_ITEM:
        return item_stands(p);
    case PLACE_NOWHERE:
        return is_nowhere(p);
    case PLACE_COUNT:
        return count_stands(p);
    case PLACE_CLASS:
        return (PyObject *)Py_TYPE(p->where) == p->value;
    default:
        return answer_stands(p);
    }
}

bool places_stand(const place *places, size_t n)
{
    size_t i = 0;

    while (i < n && place_stands(&places[i]))
        i++;
    if (i < n)
        PyErr_Clear();
    return i == n;
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

/* The type that a descriptor is of; borrowed, NULL without an exception. */
static PyTypeObject *owner_of(PyObject *descriptor)
{
    PyObject *owner = PyObject_GetAttrString(descriptor, "__objclass__");

    PyErr_Clear();
    Py_XDECREF(owner); /* which the descriptor holds */
    return owner && PyType_Check(owner) ? (PyTypeObject *)owner : NULL;
}

static bool named(PyObject *descriptor, const char *text)
{
    PyObject *name = PyObject_GetAttrString(descriptor, "__name__");
    const bool same_name = name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, text) == 0;

    PyErr_Clear();
    Py_XDECREF(name);
    return same_name;
}

PyCFunction method_of(PyObject *method)
{
    PyTypeObject *owner = Py_TYPE(method) == &PyMethodDescr_Type ? owner_of(method) : NULL;
    const PyMethodDef *def = owner ? PyType_GetSlot(owner, Py_tp_methods) : NULL;

    while (def && def->ml_name && !named(method, def->ml_name))
        def++;
    return def && def->ml_name && def->ml_flags == METH_NOARGS ? def->ml_meth : NULL;
}

static bool find_getter(PyObject *kept, place *p)
{
    PyObject *found = PyObject_GetAttr((PyObject *)Py_TYPE(p->where), p->name);
    PyTypeObject *owner = found && Py_TYPE(found) == &PyGetSetDescr_Type ? owner_of(found) : NULL;
    const PyGetSetDef *def = owner ? PyType_GetSlot(owner, Py_tp_getset) : NULL;
    bool done = true;

    while (def && def->name && !named(found, def->name))
        def++;
    if (def && def->name && def->get) {
        p->kind = PLACE_GETTER;
        p->get = def->get;
        p->closure = def->closure;
        p->type = Py_TYPE(p->where);
        done = PyList_Append(kept, found) == 0 && PyList_Append(kept, (PyObject *)p->type) == 0;
    }
    Py_XDECREF(found);
    if (done)
        PyErr_Clear();
    return done;
}

static void find_call(place *p)
{
    if (Py_TYPE(p->where) == &PyCFunction_Type && PyCFunction_GetFlags(p->where) == METH_NOARGS) {
        p->kind = PLACE_CALL;
        p->call = PyCFunction_GetFunction(p->where);
        p->self = PyCFunction_GetSelf(p->where);
    }
}

/* Whether one of these types but `object` has a name of its own; also where that is not certain. */
static bool has_own(PyTypeObject *type, const char *name)
{
    PyObject *order = PyObject_GetAttrString((PyObject *)type, "__mro__");
    const Py_ssize_t n = order && PyTuple_Check(order) ? PyTuple_Size(order) : 0;
    bool own = n == 0;

    for (Py_ssize_t i = 0; i < n && !own; i++) {
        PyObject *of = PyTuple_GetItem(order, i), *key = PyUnicode_FromString(name);
        PyObject *space = of == (PyObject *)&PyBaseObject_Type ? NULL : PyObject_GetAttrString(of, "__dict__");

        own = of != (PyObject *)&PyBaseObject_Type && (!space || !key || PySequence_Contains(space, key) != 0);
        Py_XDECREF(space);
        Py_XDECREF(key);
    }
    PyErr_Clear();
    Py_XDECREF(order);
    return own;
}

/* `__class__`, which says what the object is of where no class says otherwise. */
static bool is_class(const place *p)
{
    PyTypeObject *type = Py_TYPE(p->where);

    return p->value == (PyObject *)type && PyUnicode_Check(p->name) &&
           PyUnicode_CompareWithASCIIString(p->name, "__class__") == 0 && !has_own(type, "__class__") &&
           !has_own(type, "__getattribute__");
}

static bool read_count(place *p)
{
    PyObject *both = p->where, *numbers;

    if (!PyArg_ParseTuple(both, "O!O!", &PyDict_Type, &p->where, &PyDict_Type, &numbers))
        return false;
    p->value = numbers;
    p->kind = PLACE_COUNT;
    return true;
}

static bool read_place(PyObject *of, PyObject *kept, place *p)
{
    if (!of || !PyArg_ParseTuple(of, "OO|O", &p->where, &p->name, &p->value))
        return false;
    if (PyTuple_Check(p->where))
        return read_count(p);
    p->kind = !PyDict_CheckExact(p->where) ? PLACE_ASKED : p->value ? PLACE_ITEM : PLACE_NOWHERE;
    if (p->kind != PLACE_ASKED) {
        find_item(p);
        return true;
    }
    if (!p->value) {
        PyErr_SetString(PyExc_TypeError, "an attribute without what it was");
        return false;
    }
    if (p->name == Py_None)
        find_call(p);
    else if (is_class(p))
        p->kind = PLACE_CLASS;
    else
        return find_getter(kept, p);
    return true;
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
