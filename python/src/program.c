/* SPDX-License-Identifier: Apache-2.0
 * reprise.Program: text and back, what it takes and gives, its instructions, its price. */
#include "binding.h"

typedef struct program_object {
    PyObject_HEAD rp_program *program;
} program_object;

PyTypeObject *program_type;

PyObject *program_wrap(rp_program *program)
{
    program_object *made = PyObject_New(program_object, program_type);

    if (made)
        made->program = program;
    else
        rp_program_free(program);
    return (PyObject *)made;
}

rp_program *program_of(PyObject *self)
{
    return ((program_object *)self)->program;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    rp_program_free(program_of(self));
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *read_text(PyObject *type, PyObject *args)
{
    Py_buffer text;
    const char *where = NULL;
    rp_program *program;
    rp_error err;
    rp_status status;
    PyThreadState *thread;

    RP_UNUSED(type);
    if (!PyArg_ParseTuple(args, "s*|z:read", &text, &where))
        return NULL;
    thread = PyEval_SaveThread();
    status = rp_program_read(&program, text.buf, (size_t)text.len, where, &err);
    PyEval_RestoreThread(thread);
    PyBuffer_Release(&text);
    return status == RP_OK ? program_wrap(program) : raise_error(&err, status, NULL, -1);
}

static PyObject *get_text(PyObject *self, void *ignored)
{
    size_t size;
    rp_error err;
    rp_status status = rp_program_text(program_of(self), NULL, 0, &size, &err);
    PyObject *bytes;

    RP_UNUSED(ignored);
    if (status != RP_OK)
        return raise_error(&err, status, NULL, -1);
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    status = bytes ? rp_program_text(program_of(self), PyBytes_AsString(bytes), size, &size, &err) : RP_OK;
    if (status == RP_OK)
        return bytes;
    Py_XDECREF(bytes);
    return raise_error(&err, status, NULL, -1);
}

/* ---- what it takes and gives ---- */

static PyObject *value_tuple(const char *kind, const char *name, const rp_type *type, uint32_t value)
{
    PyObject *shape = shape_tuple(type);

    return shape ? Py_BuildValue("(ssNsI)", kind, name, shape, rp_dtype_name(type->dtype), value) : NULL;
}

/* Fills a list by a function of the index, which returns NULL without an exception at the end. */
static PyObject *list_of(PyObject *self, PyObject *(*at)(const rp_program *, size_t))
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list; i++) {
        PyObject *item = at(program_of(self), i);

        if (!item && !PyErr_Occurred())
            return list;
        if (!item || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *input_at(const rp_program *program, size_t i)
{
    static const char *const kinds[] = {"state", "data", "feed", "parameter"};
    rp_input_info info;

    return rp_program_input(program, i, &info) ? value_tuple(kinds[info.kind], info.name, &info.type, info.value)
                                               : NULL;
}

static PyObject *output_at(const rp_program *program, size_t i)
{
    static const char *const kinds[] = {"state", "result", "value"};
    rp_output_info info;

    return rp_program_output(program, i, &info) ? value_tuple(kinds[info.kind], info.name, &info.type, info.value)
                                                : NULL;
}

static PyObject *value_at(const rp_program *program, size_t i)
{
    rp_type type;
    PyObject *shape;

    if (!rp_program_value(program, i, &type))
        return NULL;
    shape = shape_tuple(&type);
    return shape ? Py_BuildValue("(Ns)", shape, rp_dtype_name(type.dtype)) : NULL;
}

static PyObject *numbers(const uint32_t *list, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *number = PyLong_FromUnsignedLong(list[i]);

        if (!number || PyTuple_SetItem(tuple, (Py_ssize_t)i, number) != 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *attribute_value(const rp_attribute *a)
{
    PyObject *tuple;

    switch (a->kind) {
    case RP_ATTR_REAL:
        return PyFloat_FromDouble(a->real);
    case RP_ATTR_BOOL:
        return PyBool_FromLong(a->integer != 0);
    case RP_ATTR_DTYPE:
        return PyUnicode_FromString(rp_dtype_name((rp_dtype)a->integer));
    case RP_ATTR_LIST:
        tuple = PyTuple_New((Py_ssize_t)a->length);
        for (size_t i = 0; tuple && i < a->length; i++) {
            PyObject *number = PyLong_FromLongLong(a->list[i]);

            if (!number || PyTuple_SetItem(tuple, (Py_ssize_t)i, number) != 0)
                Py_CLEAR(tuple);
        }
        return tuple;
    default:
        return PyLong_FromLongLong(a->integer);
    }
}

static PyObject *instruction_at(const rp_program *program, size_t i)
{
    rp_instruction_info info;
    PyObject *attributes, *in, *out;

    if (!rp_program_instruction(program, i, &info))
        return NULL;
    attributes = PyDict_New();
    for (size_t k = 0; attributes && k < info.attributes; k++) {
        PyObject *value = attribute_value(&info.attribute[k]);

        if (!value || PyDict_SetItemString(attributes, info.attribute[k].name, value) != 0)
            Py_CLEAR(attributes);
        Py_XDECREF(value);
    }
    in = attributes ? numbers(info.in, info.n_in) : NULL;
    out = in ? numbers(info.out, info.n_out) : NULL;
    if (out)
        return Py_BuildValue("(sNNN)", info.op, attributes, in, out);
    Py_XDECREF(attributes);
    Py_XDECREF(in);
    return NULL;
}

static PyObject *get_inputs(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return list_of(self, input_at);
}

static PyObject *get_outputs(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return list_of(self, output_at);
}

static PyObject *get_values(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return list_of(self, value_at);
}

static PyObject *get_instructions(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return list_of(self, instruction_at);
}

static PyObject *get_price(PyObject *self, void *ignored)
{
    const rp_price price = rp_program_price(program_of(self));

    RP_UNUSED(ignored);
    return Py_BuildValue("{sKsKsK}", "executed", (unsigned long long)price.executed, "work",
                         (unsigned long long)price.work, "memory", (unsigned long long)price.memory);
}

static PyObject *memory(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"memory", "device", NULL};
    unsigned long long limit = 0;
    const char *device = NULL;
    rp_memory_needed needed;
    rp_error err;
    rp_status status;
    PyThreadState *thread;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Kz:memory", names, &limit, &device))
        return NULL;
    thread = PyEval_SaveThread();
    status = rp_program_memory(program_of(self), &(rp_run_options){.memory = limit, .device = device}, &needed, &err);
    PyEval_RestoreThread(thread);
    if (status != RP_OK)
        return raise_error(&err, status, NULL, -1);
    return Py_BuildValue("{sKsKsKsKsKsK}", "states", (unsigned long long)needed.states, "data",
                         (unsigned long long)needed.data, "own", (unsigned long long)needed.own, "values",
                         (unsigned long long)needed.values, "total", (unsigned long long)needed.total, "work_again",
                         (unsigned long long)needed.work_again);
}

static PyObject *split(PyObject *self, PyObject *ignored)
{
    rp_program *first, *rest;
    rp_error err;
    const rp_status status = rp_program_split(program_of(self), &first, &rest, &err);
    PyObject *a, *b;

    RP_UNUSED(ignored);
    if (status != RP_OK)
        return raise_error(&err, status, NULL, -1);
    if (!first)
        return Py_NewRef(Py_None);
    a = program_wrap(first);
    b = program_wrap(rest);
    if (a && b)
        return Py_BuildValue("(NN)", a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return NULL;
}

static PyObject *repr(PyObject *self)
{
    const rp_program_sizes n = rp_program_count(program_of(self));

    return PyUnicode_FromFormat("<reprise.Program of %zu instructions, %zu inputs, %zu outputs>", n.instructions,
                                n.inputs, n.outputs);
}

static Py_ssize_t length(PyObject *self)
{
    return (Py_ssize_t)rp_program_count(program_of(self)).instructions;
}

/* Equal programs are equal texts. */
static PyObject *compare(PyObject *self, PyObject *other, int how)
{
    PyObject *a, *b, *same = NULL;

    if (Py_TYPE(other) != program_type || (how != Py_EQ && how != Py_NE))
        return Py_NewRef(Py_NotImplemented);
    a = get_text(self, NULL);
    b = a ? get_text(other, NULL) : NULL;
    if (b)
        same = PyObject_RichCompare(a, b, how);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return same;
}

static Py_hash_t hash(PyObject *self)
{
    PyObject *text = get_text(self, NULL);
    const Py_hash_t found = text ? PyObject_Hash(text) : -1;

    Py_XDECREF(text);
    return found;
}

static PyObject *reduce(PyObject *self, PyObject *ignored)
{
    PyObject *read = PyObject_GetAttrString((PyObject *)program_type, "read"), *text;

    RP_UNUSED(ignored);
    text = read ? get_text(self, NULL) : NULL;
    if (text)
        return Py_BuildValue("(N(N))", read, text);
    Py_XDECREF(read);
    return NULL;
}

#define WITH_KEYS(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"read", read_text, METH_VARARGS | METH_STATIC,
     "read(text, where=None, /)\n--\n\nThe program of a canonical text, str or bytes, which is not trusted."},
    {"memory", WITH_KEYS(memory), METH_VARARGS | METH_KEYWORDS,
     "memory($self, memory=0, device=None)\n--\n\nBytes that steps take, known before anything is allocated; within "
     "`memory` bytes by computing values again."},
    {"split", split, METH_NOARGS,
     "split($self, /)\n--\n\nTwo programs, or None: what this one makes of data and of states that it does not update, "
     "as results, and the rest, which takes those as data."},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {0},
};

static PyGetSetDef getset[] = {
    {"text", get_text, NULL, "The canonical text, bytes.", NULL},
    {"inputs", get_inputs, NULL, "(kind, name, shape, dtype, value) of each input.", NULL},
    {"outputs", get_outputs, NULL, "(kind, name, shape, dtype, value) of each output.", NULL},
    {"values", get_values, NULL, "(shape, dtype) of each value.", NULL},
    {"instructions", get_instructions, NULL, "(operation, attributes, inputs, outputs) of each, by value numbers.",
     NULL},
    {"price", get_price, NULL, "What a step costs: executed instructions, work on elements, memory in bytes.", NULL},
    {0},
};

bool program_setup(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, dealloc},
        {Py_tp_repr, repr},
        {Py_tp_methods, methods},
        {Py_tp_getset, getset},
        {Py_tp_richcompare, compare},
        {Py_tp_hash, hash},
        {Py_sq_length, length},
        {Py_tp_doc, "A program: typed inputs, instructions in order, named outputs. Made by Builder.finish or "
                    "Program.read; never changed."},
        {0, NULL},
    };

    program_type = add_type(module, &(PyType_Spec){.name = "reprise.Program",
                                                   .basicsize = sizeof(program_object),
                                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                                   .slots = slots});
    return program_type != NULL;
}
