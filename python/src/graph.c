/* SPDX-License-Identifier: Apache-2.0
 * reprise.Builder: a symbolic graph, which becomes a program or a function of a region. Its tensors have no values;
 * operators and operations append to it. */
#include "binding.h"

typedef struct graph_object {
    PyObject_HEAD home *home;
} graph_object;

typedef struct function_object {
    PyObject_HEAD rp_function *function;
} function_object;

PyTypeObject *function_type;

/* ---- functions ---- */

PyObject *function_wrap(rp_function *function)
{
    function_object *made = PyObject_New(function_object, function_type);

    if (made)
        made->function = function;
    else
        rp_function_free(function);
    return (PyObject *)made;
}

rp_function *function_of(PyObject *self)
{
    if (Py_TYPE(self) == function_type)
        return ((function_object *)self)->function;
    PyErr_Format(PyExc_TypeError, "expected a reprise.Function, found %R", self);
    return NULL;
}

static void function_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    rp_function_free(((function_object *)self)->function);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- the builder ---- */

static home *home_of(PyObject *self)
{
    return ((graph_object *)self)->home;
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    graph_object *self;
    rp_graph *graph;
    rp_error err;
    rp_status status;

    if (!PyArg_ParseTuple(args, ":Builder") || (kwargs && PyDict_Size(kwargs) > 0)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "Builder() takes no arguments");
        return NULL;
    }
    self = (graph_object *)alloc(type, 0);
    if (!self)
        return NULL;
    status = rp_graph_symbolic(&graph, &err);
    if (status != RP_OK) {
        Py_DECREF((PyObject *)self);
        return raise_error(&err, status, NULL, -1);
    }
    self->home = home_new(HOME_GRAPH, NULL, graph);
    if (!self->home) {
        rp_graph_discard(graph);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void graph_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    home_drop(home_of(self));
    release(self);
    Py_DECREF(type);
}

static PyObject *declare(PyObject *self, PyObject *args, PyObject *kwargs, rp_input_kind kind)
{
    static char *names[] = {"name", "shape", "dtype", NULL};
    const char *name;
    PyObject *shape = NULL, *dtype = NULL;
    rp_type type;
    operands o;
    rp_tensor out;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|OO", names, &name, &shape, &dtype))
        return NULL;
    type = (rp_type){.dtype = RP_F32};
    if ((shape && !type_read(shape, dtype, &type)) || !operands_begin(&o, home_of(self), name))
        return NULL;
    operands_enter(&o);
    out = rp_graph_declare(o.home->graph, kind, name, &type);
    return operands_result(&o, out, &type);
}

static PyObject *state(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return declare(self, args, kwargs, RP_INPUT_STATE);
}

static PyObject *data(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return declare(self, args, kwargs, RP_INPUT_DATA);
}

static PyObject *feed(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return declare(self, args, kwargs, RP_INPUT_FEED);
}

static PyObject *parameter(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape", "dtype", NULL};
    PyObject *shape = NULL, *dtype = NULL;
    rp_type type = {.dtype = RP_F32};
    operands o;
    rp_tensor out;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", names, &shape, &dtype) ||
        (shape && !type_read(shape, dtype, &type)) || !operands_begin(&o, home_of(self), "parameter"))
        return NULL;
    operands_enter(&o);
    out = rp_function_parameter(o.home->graph, &type);
    return operands_result(&o, out, &type);
}

/* A sequence's items as a new tuple; NULL with an exception. */
static PyObject *items_of(PyObject *sequence, const char *what)
{
    PyObject *items = is_tensor(sequence) ? PyTuple_Pack(1, sequence) : PySequence_Tuple(sequence);

    if (items && PyTuple_Size(items) > OPERANDS_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: at most %d", what, OPERANDS_MAX);
        Py_CLEAR(items);
    }
    return items;
}

static size_t spread(PyObject *items, PyObject *out[OPERANDS_MAX])
{
    const Py_ssize_t n = items ? PyTuple_Size(items) : 0;

    for (Py_ssize_t i = 0; i < n; i++)
        out[i] = PyTuple_GetItem(items, i);
    return (size_t)n;
}

static PyObject *append(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"op", "attributes", "inputs", NULL};
    const char *op;
    PyObject *attributes = NULL, *inputs = NULL, *items = NULL, *in[OPERANDS_MAX], *made;
    size_t n;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|OO:append", names, &op, &attributes, &inputs))
        return NULL;
    if (inputs && !(items = items_of(inputs, op)))
        return NULL;
    n = spread(items, in);
    made = append_operation(home_of(self), op, attributes, in, n);
    Py_XDECREF(items);
    return made;
}

/* update, result, returns: a value that leaves the graph. */
static PyObject *leaves(PyObject *self, const char *name, PyObject *value, int kind)
{
    operands o;
    bool done;

    if (!operands_begin(&o, home_of(self), kind == RP_OUTPUT_VALUE ? "returns" : name))
        return NULL;
    if (!operands_add(&o, value, NULL)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    if (kind == RP_OUTPUT_STATE)
        rp_graph_update(o.home->graph, name, o.in[0]);
    else if (kind == RP_OUTPUT_RESULT)
        rp_graph_result(o.home->graph, name, o.in[0]);
    else
        rp_function_return(o.home->graph, o.in[0]);
    done = operands_leave(&o);
    operands_end(&o);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *update(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *value;

    return PyArg_ParseTuple(args, "sO:update", &name, &value) ? leaves(self, name, value, RP_OUTPUT_STATE) : NULL;
}

static PyObject *result(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *value;

    return PyArg_ParseTuple(args, "sO:result", &name, &value) ? leaves(self, name, value, RP_OUTPUT_RESULT) : NULL;
}

static PyObject *returns(PyObject *self, PyObject *value)
{
    return leaves(self, "", value, RP_OUTPUT_VALUE);
}

static PyObject *gradients(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"y", "wrt", "seeds", "zeros", "mixed", NULL};
    PyObject *y, *wrt, *seeds = Py_None, *all[3] = {NULL}, *at[3][OPERANDS_MAX], *made = NULL;
    int zeros = 0, mixed = 0;
    size_t n[3];

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|Opp:gradients", names, &y, &wrt, &seeds, &zeros, &mixed))
        return NULL;
    all[0] = items_of(y, "y");
    all[1] = all[0] ? items_of(wrt, "wrt") : NULL;
    all[2] = !all[1] ? NULL : seeds == Py_None ? PyTuple_New(0) : items_of(seeds, "seeds");
    for (int i = 0; i < 3; i++)
        n[i] = spread(all[i], at[i]);
    if (all[2] && seeds != Py_None && n[2] != n[0])
        PyErr_SetString(PyExc_ValueError, "gradients: a seed for each y");
    else if (all[2])
        made = gradients_in(home_of(self), at[0], n[0], seeds == Py_None ? NULL : at[2], at[1], n[1], zeros, mixed);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(all[i]);
    return made;
}

/* The graph is the library's to free from here on. */
static rp_graph *take(PyObject *self)
{
    home *h = home_of(self);
    rp_graph *graph = h->graph;

    if (!home_ready(h))
        return NULL;
    h->graph = NULL;
    home_forget(h);
    return graph;
}

static PyObject *finish(PyObject *self, PyObject *ignored)
{
    rp_graph *graph = take(self);
    rp_program *program;
    rp_error err;
    rp_status status;

    RP_UNUSED(ignored);
    if (!graph)
        return NULL;
    status = rp_graph_finish(graph, &program, &err);
    return status == RP_OK ? program_wrap(program) : raise_error(&err, status, NULL, -1);
}

static PyObject *finish_function(PyObject *self, PyObject *ignored)
{
    rp_graph *graph = take(self);
    rp_function *function;
    rp_error err;
    rp_status status;

    RP_UNUSED(ignored);
    if (!graph)
        return NULL;
    status = rp_function_finish(graph, &function, &err);
    return status == RP_OK ? function_wrap(function) : raise_error(&err, status, NULL, -1);
}

static PyObject *enter(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(ignored);
    return home_push(home_of(self)) ? Py_NewRef(self) : NULL;
}

static PyObject *leave(PyObject *self, PyObject *args)
{
    RP_UNUSED(args);
    home_pop(home_of(self));
    Py_RETURN_NONE;
}

static PyObject *length(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromSize_t(rp_graph_length(home_of(self)->graph));
}

#define KEYS METH_VARARGS | METH_KEYWORDS
#define WITH_KEYS(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"state", WITH_KEYS(state), KEYS,
     "state($self, name, shape=(), dtype='f32')\n--\n\nAn input that a run holds from step to step."},
    {"data", WITH_KEYS(data), KEYS, "data($self, name, shape=(), dtype='f32')\n--\n\nAn input that a run holds once."},
    {"feed", WITH_KEYS(feed), KEYS,
     "feed($self, name, shape=(), dtype='f32')\n--\n\nAn input that is given anew to each step."},
    {"parameter", WITH_KEYS(parameter), KEYS,
     "parameter($self, shape=(), dtype='f32')\n--\n\nThe next parameter of a function; before its first operation."},
    {"append", WITH_KEYS(append), KEYS,
     "append($self, op, attributes=None, inputs=())\n--\n\nAppends one operation by its name: its one result, "
     "or a tuple "
     "of them."},
    {"update", update, METH_VARARGS,
     "update($self, state, value, /)\n--\n\nThe new value of a state, when the step ends."},
    {"result", result, METH_VARARGS,
     "result($self, name, value, /)\n--\n\nA result of each step; 'loss' goes to the "
     "journal too."},
    {"returns", returns, METH_O, "returns($self, value, /)\n--\n\nThe next value of a function."},
    {"gradients", WITH_KEYS(gradients), KEYS,
     "gradients($self, y, wrt, seeds=None, zeros=False, mixed=False)\n--\n\nAppends the gradients of y, one "
     "element, or "
     "with seeds of several y, with respect to tensors: a tuple. zeros: where there is none."},
    {"call", WITH_KEYS(regions_call), KEYS,
     "call($self, function, args)\n--\n\nA function's results for these operands."},
    {"scan", WITH_KEYS(regions_scan), KEYS,
     "scan($self, function, times, carried=(), sliced=(), shared=(), reverse=False, history=False)\n--\n\n"
     "function(index i64 [], carried, rows, shared) -> carried, stacked; so many times: the last carried, and what was "
     "stacked [times, ..]."},
    {"map", WITH_KEYS(regions_map), KEYS,
     "map($self, functions, cuts, combine, sliced=(), shared=(), first=0)\n--\n\nfunction(index, slices, "
     "shared) for each "
     "shard; combine: 'tree', 'stack' or 'concat' of each output."},
    {"cond", WITH_KEYS(regions_cond), KEYS,
     "cond($self, selector, functions, args=())\n--\n\nfunctions[selector](args); only that one runs."},
    {"while_", WITH_KEYS(regions_while), KEYS,
     "while_($self, body, predicate, limit, carried=(), shared=())\n--\n\nWhile predicate(index, carried, shared): the "
     "count, and the carried."},
    {"finish", finish, METH_NOARGS, "finish($self)\n--\n\nThe program; the builder takes nothing more."},
    {"finish_function", finish_function, METH_NOARGS, "finish_function($self)\n--\n\nThe function, for regions."},
    {"__enter__", enter, METH_NOARGS, "__enter__($self)\n--\n\nOperations without a tensor belong to it inside."},
    {"__exit__", leave, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef getset[] = {
    {"length", length, NULL, "Instructions so far.", NULL},
    {0},
};

bool graph_setup(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_new, graph_new},
        {Py_tp_dealloc, graph_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, getset},
        {Py_tp_doc, "Builder()\n--\n\nBuilds a program: inputs, operations by name or by operators, new states and "
                    "results; finish() gives the program."},
        {0, NULL},
    };
    PyType_Slot function_slots[] = {
        {Py_tp_dealloc, function_dealloc},
        {Py_tp_doc, "A function that regions execute (Builder.finish_function)."},
        {0, NULL},
    };

    function_type = add_type(module, &(PyType_Spec){.name = "reprise.Function",
                                                    .basicsize = sizeof(function_object),
                                                    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                                    .slots = function_slots});
    return function_type && add_type(module, &(PyType_Spec){.name = "reprise.Builder",
                                                            .basicsize = sizeof(graph_object),
                                                            .flags = Py_TPFLAGS_DEFAULT,
                                                            .slots = slots});
}
