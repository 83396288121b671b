/* SPDX-License-Identifier: Apache-2.0
 * reprise.Compiled: a program bound to a run. A call writes the feeds, makes one step and reads the results, all in one
 * visit of the run. */
#include "run_object.h"

typedef struct compiled_object {
    PyObject_HEAD PyObject *run, *program;
    rp_compiled *compiled;
} compiled_object;

static PyTypeObject *compiled_type;

static home *home_of(PyObject *self)
{
    return ((run_object *)((compiled_object *)self)->run)->home;
}

static const rp_program *program_in(PyObject *self)
{
    return program_of(((compiled_object *)self)->program);
}

PyObject *run_compile(PyObject *run, PyObject *program)
{
    compiled_object *made;
    home *h = run_home(run);
    home_visit visit;
    rp_compiled *compiled = NULL;
    rp_error err;
    rp_status status;

    if (!h || Py_TYPE(program) != program_type) {
        PyErr_Format(PyExc_TypeError, "compile: expected a reprise.Program, found %R", program);
        return NULL;
    }
    home_enter(h, &visit);
    status = rp_compile(&compiled, h->run, program_of(program), &err);
    home_leave(h, &visit);
    if (status != RP_OK)
        return raise_error(&err, status, "compile", -1);
    made = PyObject_New(compiled_object, compiled_type);
    if (!made) {
        rp_compiled_free(compiled);
        return NULL;
    }
    made->run = Py_NewRef(run);
    made->program = Py_NewRef(program);
    made->compiled = compiled;
    return (PyObject *)made;
}

static void dealloc(PyObject *self)
{
    compiled_object *c = (compiled_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    home *h = home_of(self);
    home_visit visit;

    home_hold(h);
    home_enter(h, &visit);
    rp_compiled_free(c->compiled);
    home_leave(h, &visit);
    home_drop(h);
    Py_DECREF(c->run);
    Py_DECREF(c->program);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- feeds ---- */

static bool feed_named(PyObject *self, const char *name, rp_input_info *info)
{
    for (size_t i = 0; rp_program_input(program_in(self), i, info); i++)
        if (info->kind == RP_INPUT_FEED && strcmp(info->name, name) == 0)
            return true;
    PyErr_Format(PyExc_TypeError, "the program has no feed %s", name);
    return false;
}

/* Lists and numbers take the feed's dtype; an array or a tensor has to have it. */
static bool read_feed(PyObject *self, const char *name, PyObject *object, elements *e)
{
    const bool own = is_number(object) || PyList_Check(object) || PyTuple_Check(object);
    rp_input_info info;
    char wanted[192], found[192];

    if (!feed_named(self, name, &info) || !elements_read(e, object, own ? &info.type.dtype : NULL))
        return false;
    if (types_equal(&e->type, &info.type))
        return true;
    type_text(&info.type, wanted, sizeof wanted);
    type_text(&e->type, found, sizeof found);
    elements_free(e);
    PyErr_Format(PyExc_ValueError, "feed %s is %s, and was given %s", name, wanted, found);
    return false;
}

static PyObject *write_feed(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *object;
    elements e;
    home *h = home_of(self);
    home_visit visit;
    rp_error err;
    rp_status status;

    if (!PyArg_ParseTuple(args, "sO:write", &name, &object) || !read_feed(self, name, object, &e))
        return NULL;
    home_enter(h, &visit);
    status = rp_compiled_write(((compiled_object *)self)->compiled, name, e.bytes, type_bytes(&e.type), &err);
    home_leave(h, &visit);
    elements_free(&e);
    return status == RP_OK ? Py_NewRef(Py_None) : raise_error(&err, status, name, -1);
}

/* ---- steps ---- */

/* "instruction 3, gather: ..": the operation at which a step failed, where its error names it. */
static PyObject *raise_step(const rp_error *err, rp_status status, uint64_t step)
{
    char operation[64];
    unsigned long instruction;
    rp_op_info info;
    const bool named = sscanf(err->text, "instruction %lu, %63[a-z0-9_]", &instruction, operation) == 2 &&
                       rp_op_named(operation, &info);

    return raise_error(err, status, named ? operation : NULL, (int64_t)step);
}

static PyObject *step(PyObject *self, PyObject *ignored)
{
    home *h = home_of(self);
    home_visit visit;
    rp_error err;
    rp_status status;
    uint64_t number;

    RP_UNUSED(ignored);
    home_enter(h, &visit);
    number = rp_run_steps(h->run);
    status = rp_compiled_step(((compiled_object *)self)->compiled, &err);
    home_leave(h, &visit);
    return status == RP_OK ? Py_NewRef(Py_None) : raise_step(&err, status, number);
}

static PyObject *read_result(PyObject *self, const rp_output_info *info)
{
    const size_t size = type_bytes(&info->type);
    void *bytes = malloc(size ? size : 1);
    home *h = home_of(self);
    home_visit visit;
    rp_error err;
    rp_status status;

    if (!bytes)
        return PyErr_NoMemory();
    home_enter(h, &visit);
    status = rp_compiled_read(((compiled_object *)self)->compiled, info->name, bytes, size, &err);
    home_leave(h, &visit);
    if (status == RP_OK)
        return tensor_of_value(&info->type, bytes);
    free(bytes);
    return raise_error(&err, status, info->name, -1);
}

static PyObject *read_named(PyObject *self, PyObject *args)
{
    const char *name;
    rp_output_info info;

    if (!PyArg_ParseTuple(args, "s:read", &name))
        return NULL;
    for (size_t i = 0; rp_program_output(program_in(self), i, &info); i++)
        if (info.kind == RP_OUTPUT_RESULT && strcmp(info.name, name) == 0)
            return read_result(self, &info);
    PyErr_Format(PyExc_KeyError, "the program has no result %s", name);
    return NULL;
}

static PyObject *all_results(PyObject *self)
{
    PyObject *results = PyDict_New();
    rp_output_info info;

    for (size_t i = 0; results && rp_program_output(program_in(self), i, &info); i++) {
        PyObject *made = info.kind == RP_OUTPUT_RESULT ? read_result(self, &info) : Py_NewRef(Py_None);

        if (!made || (made != Py_None && PyDict_SetItemString(results, info.name, made) != 0))
            Py_CLEAR(results);
        Py_XDECREF(made);
    }
    return results;
}

typedef struct given {
    const char *name;
    elements e;
} given;

static rp_status write_and_step(compiled_object *c, home *h, given *feeds, size_t n, uint64_t *number, rp_error *err)
{
    home_visit visit;
    rp_status status = RP_OK;

    home_enter(h, &visit);
    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = rp_compiled_write(c->compiled, feeds[i].name, feeds[i].e.bytes, type_bytes(&feeds[i].e.type), err);
    *number = rp_run_steps(h->run);
    if (status == RP_OK)
        status = rp_compiled_step(c->compiled, err);
    home_leave(h, &visit);
    return status;
}

bool compiled_once(PyObject *self, const fed *feeds, size_t n, const fed *results, size_t count)
{
    home *h = home_of(self);
    home_visit visit;
    rp_error err;
    rp_status status;
    uint64_t number;

    home_enter(h, &visit);
    number = rp_run_steps(h->run);
    status = rp_compiled_call(((compiled_object *)self)->compiled, feeds, n, results, count, &err);
    home_leave(h, &visit);
    if (status != RP_OK)
        raise_step(&err, status, number);
    return status == RP_OK;
}

const rp_program *compiled_program(PyObject *self)
{
    if (Py_TYPE(self) == compiled_type)
        return program_in(self);
    PyErr_Format(PyExc_TypeError, "expected a reprise.Compiled, found %R", self);
    return NULL;
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const size_t most = kwargs ? (size_t)PyDict_Size(kwargs) : 0;
    given *feeds = calloc(most + 1, sizeof *feeds);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    size_t n = 0;
    uint64_t number = 0;
    rp_error err;
    rp_status status = RP_EARG;
    bool done = feeds != NULL;

    if (!feeds)
        return PyErr_NoMemory();
    if (PyTuple_Size(args) > 0) {
        PyErr_SetString(PyExc_TypeError, "feeds are given by name");
        done = false;
    }
    while (done && n < most && PyDict_Next(kwargs, &at, &key, &value)) {
        feeds[n].name = PyUnicode_AsUTF8AndSize(key, NULL);
        done = feeds[n].name && read_feed(self, feeds[n].name, value, &feeds[n].e);
        n += done;
    }
    if (done)
        status = write_and_step((compiled_object *)self, home_of(self), feeds, n, &number, &err);
    for (size_t i = 0; i < n; i++)
        elements_free(&feeds[i].e);
    free(feeds);
    if (!done)
        return NULL;
    return status == RP_OK ? all_results(self) : raise_step(&err, status, number);
}

static PyObject *memory(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromSize_t(rp_compiled_memory(((compiled_object *)self)->compiled));
}

static PyObject *program(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return Py_NewRef(((compiled_object *)self)->program);
}

static PyMethodDef methods[] = {
    {"write", write_feed, METH_VARARGS, "write($self, feed, elements, /)\n--\n\nFills a feed for the steps to come."},
    {"step", step, METH_NOARGS, "step($self)\n--\n\nOne step."},
    {"read", read_named, METH_VARARGS, "read($self, result, /)\n--\n\nA result of the last step."},
    {0},
};

static PyGetSetDef getset[] = {
    {"memory", memory, NULL, "Bytes that steps need beside states, data and program.", NULL},
    {"program", program, NULL, "The program.", NULL},
    {0},
};

bool compiled_setup(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_dealloc, dealloc},
        {Py_tp_call, call},
        {Py_tp_methods, methods},
        {Py_tp_getset, getset},
        {Py_tp_doc,
         "A program bound to a run (Run.compile). Called with feeds by name it makes one step and returns a dict "
         "of the results."},
        {0, NULL},
    };

    compiled_type = add_type(module, &(PyType_Spec){.name = "reprise.Compiled",
                                                    .basicsize = sizeof(compiled_object),
                                                    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                                    .slots = slots});
    return compiled_type != NULL;
}
