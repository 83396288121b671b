/* SPDX-License-Identifier: Apache-2.0
 * reprise.Run: states, data, eager steps (`with run.step():`) and compiled programs. What a step is given is copied
 * from where it lies; what it gives is a value. */
#include "binding.h"

#include "run_object.h"

PyTypeObject *run_type;
static PyTypeObject *step_type;

home *run_home(PyObject *run)
{
    if (PyObject_TypeCheck(run, run_type))
        return ((run_object *)run)->home;
    PyErr_Format(PyExc_TypeError, "expected a reprise.Run, found %R", run);
    return NULL;
}

static PyObject *run_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"threads", "level", "device", "memory", "pinned", NULL};
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    rp_run_options options = {0};
    unsigned long long memory = 0;
    rp_run *run = NULL;
    rp_error err;
    rp_status status;
    run_object *self;
    PyThreadState *thread;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|IzzKz:Run", names, &options.threads, &options.level,
                                     &options.device, &memory, &options.pinned))
        return NULL;
    options.memory = memory;
    self = (run_object *)alloc(type, 0);
    if (!self)
        return NULL;
    thread = PyEval_SaveThread();
    status = rp_run_new(&run, &options, &err);
    PyEval_RestoreThread(thread);
    if (status == RP_OK) {
        self->home = home_new(HOME_RUN, run, NULL);
        if (self->home)
            return (PyObject *)self;
        rp_run_free(run);
    } else {
        raise_error(&err, status, NULL, -1);
    }
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void run_dealloc(PyObject *self)
{
    run_object *r = (run_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    for (size_t i = 0; i < r->n_states; i++)
        free(r->state[i].name);
    free(r->state);
    if (r->home) {
        r->home->graph = NULL;
        home_forget(r->home);
    }
    home_drop(r->home);
    release(self);
    Py_DECREF(type);
}

/* ---- states and data ---- */

static bool remember(run_object *r, const char *name, const rp_type *type)
{
    named_type *bigger = realloc(r->state, (r->n_states + 1) * sizeof *bigger);

    if (!bigger) {
        PyErr_NoMemory();
        return false;
    }
    r->state = bigger;
    bigger[r->n_states] = (named_type){strdup(name), *type};
    if (!bigger[r->n_states].name) {
        PyErr_NoMemory();
        return false;
    }
    r->n_states++;
    return true;
}

static PyObject *add(PyObject *self, PyObject *args, PyObject *kwargs, bool state)
{
    static char *names[] = {"name", "elements", "dtype", NULL};
    run_object *r = (run_object *)self;
    const char *name;
    PyObject *object, *dtype = Py_None;
    rp_dtype wanted;
    elements e;
    home_visit visit;
    rp_error err;
    rp_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|O", names, &name, &object, &dtype) ||
        (dtype != Py_None && !dtype_read(dtype, &wanted)) ||
        !elements_read(&e, object, dtype != Py_None ? &wanted : NULL))
        return NULL;
    home_enter(r->home, &visit);
    status = (state ? rp_run_add_state : rp_run_add_data)(r->home->run, name, e.type.dtype, e.type.rank, e.type.shape,
                                                          e.bytes, &err);
    home_leave(r->home, &visit);
    if (status != RP_OK)
        raise_error(&err, status, name, -1);
    else if (state && !remember(r, name, &e.type))
        status = RP_ENOMEM;
    elements_free(&e);
    return status == RP_OK ? Py_NewRef(Py_None) : NULL;
}

static PyObject *add_state(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return add(self, args, kwargs, true);
}

static PyObject *add_data(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return add(self, args, kwargs, false);
}

static PyObject *get_state(PyObject *self, PyObject *args)
{
    run_object *r = (run_object *)self;
    const char *name;
    size_t i = 0, size;
    void *bytes;
    home_visit visit;
    rp_error err;
    rp_status status;

    if (!PyArg_ParseTuple(args, "s:get_state", &name))
        return NULL;
    while (i < r->n_states && strcmp(r->state[i].name, name) != 0)
        i++;
    if (i == r->n_states) {
        PyErr_Format(PyExc_KeyError, "there is no state %s", name);
        return NULL;
    }
    size = type_bytes(&r->state[i].type);
    bytes = malloc(size ? size : 1);
    if (!bytes)
        return PyErr_NoMemory();
    home_enter(r->home, &visit);
    status = rp_run_get_state(r->home->run, name, bytes, size, &err);
    home_leave(r->home, &visit);
    if (status == RP_OK)
        return tensor_of_value(&r->state[i].type, bytes);
    free(bytes);
    return raise_error(&err, status, name, -1);
}

static PyObject *states(PyObject *self, void *ignored)
{
    const run_object *r = (run_object *)self;
    PyObject *list = PyList_New(0);

    RP_UNUSED(ignored);
    for (size_t i = 0; list && i < r->n_states; i++) {
        PyObject *name = PyUnicode_FromString(r->state[i].name);

        if (!name || PyList_Append(list, name) != 0)
            Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *steps(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromUnsignedLongLong(rp_run_steps(((run_object *)self)->home->run));
}

static PyObject *level(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyUnicode_FromString(rp_run_level(((run_object *)self)->home->run));
}

static PyObject *threads(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromUnsignedLong(rp_run_threads(((run_object *)self)->home->run));
}

/* ---- eager steps ---- */

typedef struct step_object {
    PyObject_HEAD PyObject *run;
    bool open;
} step_object;

static PyObject *step(PyObject *self, PyObject *ignored)
{
    step_object *made = PyObject_New(step_object, step_type);

    RP_UNUSED(ignored);
    if (made) {
        made->run = Py_NewRef(self);
        made->open = false;
    }
    return (PyObject *)made;
}

static PyObject *step_enter(PyObject *self, PyObject *ignored)
{
    step_object *s = (step_object *)self;
    home *h = ((run_object *)s->run)->home;
    home_visit visit;
    rp_error err;
    rp_status status;

    RP_UNUSED(ignored);
    if (!home_push(h))
        return NULL;
    home_enter(h, &visit);
    status = rp_step_begin(h->run, &err);
    if (status == RP_OK) {
        h->graph = rp_step_graph(h->run);
        h->fed = 0;
    }
    home_leave(h, &visit);
    if (status == RP_OK) {
        s->open = true;
        return Py_NewRef(s->run);
    }
    home_pop(h);
    return raise_error(&err, status, NULL, -1);
}

/* failed: an exception left the step, which is then no step: the run must not take what it has so far. */
static bool end_step(step_object *s, bool failed)
{
    home *h = ((run_object *)s->run)->home;
    home_visit visit;
    rp_error err;
    rp_status status;
    int64_t number;

    s->open = false;
    home_pop(h);
    home_enter(h, &visit);
    number = (int64_t)rp_run_steps(h->run);
    if (failed)
        rp_set_state(h->run, "", (rp_tensor){0}); /* there is none: the step is abandoned */
    status = rp_step_end(h->run, &err);
    h->graph = NULL;
    home_leave(h, &visit);
    home_forget(h);
    if (failed || status == RP_OK)
        return true;
    raise_error(&err, status, NULL, number);
    return false;
}

static PyObject *step_exit(PyObject *self, PyObject *args)
{
    step_object *s = (step_object *)self;
    PyObject *type = Py_None, *value, *trace;

    if (!PyArg_ParseTuple(args, "OOO:__exit__", &type, &value, &trace))
        return NULL;
    if (s->open && !end_step(s, type != Py_None))
        return NULL;
    Py_RETURN_FALSE;
}

static void step_dealloc(PyObject *self)
{
    step_object *s = (step_object *)self;
    PyTypeObject *type = Py_TYPE(self);

    if (s->open)
        (void)end_step(s, true);
    Py_DECREF(s->run);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- what a step takes and gives ---- */

static PyObject *input(PyObject *self, PyObject *args, rp_tensor (*call)(rp_run *, const char *))
{
    const char *name;
    operands o;
    rp_tensor out;
    rp_type type;

    if (!PyArg_ParseTuple(args, "s", &name) || !operands_begin(&o, ((run_object *)self)->home, name))
        return NULL;
    operands_enter(&o);
    out = call(o.home->run, name);
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}

static PyObject *state(PyObject *self, PyObject *args)
{
    return input(self, args, rp_state);
}

static PyObject *data(PyObject *self, PyObject *args)
{
    return input(self, args, rp_data);
}

static PyObject *feed(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *object;
    elements e;
    operands o;
    rp_tensor out;

    if (!PyArg_ParseTuple(args, "sO:feed", &name, &object) || !elements_read(&e, object, NULL))
        return NULL;
    if (!operands_begin(&o, ((run_object *)self)->home, name)) {
        elements_free(&e);
        return NULL;
    }
    operands_enter(&o);
    out = rp_feed(o.home->run, name, e.type.dtype, e.type.rank, e.type.shape, e.bytes);
    object = operands_result(&o, out, &e.type);
    elements_free(&e);
    return object;
}

static const rp_type *state_type(const run_object *r, const char *name)
{
    for (size_t i = 0; i < r->n_states; i++)
        if (strcmp(r->state[i].name, name) == 0)
            return &r->state[i].type;
    return NULL;
}

/* Of a state that is not there, or has another type, the step goes on without it. */
static bool fits_state(const run_object *r, const char *name, const rp_type *type)
{
    const rp_type *expected = state_type(r, name);
    char wanted[192], found[192];

    if (!expected) {
        PyErr_Format(PyExc_KeyError, "there is no state %s", name);
        return false;
    }
    if (types_equal(expected, type))
        return true;
    type_text(expected, wanted, sizeof wanted);
    type_text(type, found, sizeof found);
    PyErr_Format(PyExc_ValueError, "state %s is %s, and its new value %s", name, wanted, found);
    return false;
}

static PyObject *give(PyObject *self, PyObject *args, bool is_state)
{
    run_object *r = (run_object *)self;
    const char *name;
    PyObject *value;
    operands o;
    bool done;

    if (!PyArg_ParseTuple(args, "sO", &name, &value) ||
        (is_state && is_tensor(value) && !fits_state(r, name, &((tensor_object *)value)->type)) ||
        !operands_begin(&o, r->home, name))
        return NULL;
    if (!operands_add(&o, value, is_state ? state_type(r, name) : NULL)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    (is_state ? rp_set_state : rp_result)(o.home->run, name, o.in[0]);
    done = operands_leave(&o);
    operands_end(&o);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *update(PyObject *self, PyObject *args)
{
    return give(self, args, true);
}

static PyObject *result(PyObject *self, PyObject *args)
{
    return give(self, args, false);
}

#define KEYS METH_VARARGS | METH_KEYWORDS
#define WITH_KEYS(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    {"add_state", WITH_KEYS(add_state), KEYS,
     "add_state($self, name, elements, dtype=None)\n--\n\nA state and its first value; before the first step."},
    {"add_data", WITH_KEYS(add_data), KEYS,
     "add_data($self, name, elements, dtype=None)\n--\n\nData, bound once; before the first step."},
    {"get_state", get_state, METH_VARARGS,
     "get_state($self, name, /)\n--\n\nThe present value of a state; not inside a "
     "step."},
    {"step", step, METH_NOARGS, "step($self)\n--\n\nAn eager step: `with run.step():`. An exception abandons it."},
    {"state", state, METH_VARARGS, "state($self, name, /)\n--\n\nInside a step: a state's value before it."},
    {"data", data, METH_VARARGS, "data($self, name, /)\n--\n\nInside a step: data."},
    {"feed", feed, METH_VARARGS, "feed($self, name, elements, /)\n--\n\nInside a step: input of this step alone."},
    {"update", update, METH_VARARGS,
     "update($self, state, value, /)\n--\n\nThe new value of a state, when the step ends."},
    {"result", result, METH_VARARGS, "result($self, name, value, /)\n--\n\nA result, which is recorded."},
    {"compile", run_compile, METH_O,
     "compile($self, program, /)\n--\n\nA program bound to the run's states and data by "
     "name."},
    {0},
};

static PyMethodDef step_methods[] = {
    {"__enter__", step_enter, METH_NOARGS, NULL},
    {"__exit__", step_exit, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef getset[] = {
    {"states", states, NULL, "Names of the states.", NULL},
    {"steps", steps, NULL, "Steps completed.", NULL},
    {"level", level, NULL, "The kernels' level: 'ref', 'avx2', ..", NULL},
    {"threads", threads, NULL, "How many threads compute.", NULL},
    {0},
};

bool run_setup(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_new, run_new},
        {Py_tp_dealloc, run_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, getset},
        {Py_tp_doc,
         "Run(threads=0, level=None, device=None, memory=0, pinned=None)\n--\n\nA run: named states that change "
         "from step to step, data, and steps. threads 0: one for each processor; none of these changes a bit."},
        {0, NULL},
    };
    PyType_Slot step_slots[] = {{Py_tp_dealloc, step_dealloc}, {Py_tp_methods, step_methods}, {0, NULL}};

    run_type = add_type(module, &(PyType_Spec){.name = "reprise.Run",
                                               .basicsize = sizeof(run_object),
                                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                               .slots = slots});
    step_type = add_type(module, &(PyType_Spec){.name = "reprise.core.Step",
                                                .basicsize = sizeof(step_object),
                                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                                .slots = step_slots});
    return run_type && step_type && compiled_setup(module) && recorder_setup(module) && door_setup(module);
}
