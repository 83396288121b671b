/* SPDX-License-Identifier: Apache-2.0
 * reprise.nn.Model: rp/nn.h with a model that is a function of Python. The library calls it when a program is needed;
 * steps then run without Python. */
#include "model.h"

static home *no_graph(void)
{
    PyErr_SetString(PyExc_RuntimeError, "layers are called inside the model's function");
    return NULL;
}

bool model_operands(PyObject *self, operands *o, const char *layer)
{
    home *h = ((model_object *)self)->graph;

    return operands_begin(o, h ? h : no_graph(), layer);
}

/* Some errors are the model's and not the graph's. */
PyObject *model_result(PyObject *self, operands *o, rp_tensor out)
{
    rp_type type;
    rp_error err;
    rp_status status = RP_OK;
    PyObject *made;

    (void)type_of(out, &type);
    if (!out.graph)
        status = rp_nn_status(((model_object *)self)->nn, &err);
    made = operands_result(o, out, &type);
    if (made && status != RP_OK) {
        Py_DECREF(made);
        return raise_error(&err, status, o->call, -1);
    }
    return made;
}

/* ---- the function ---- */

static PyObject *batch_tuple(model_object *m, home *h, const rp_tensor *batch)
{
    const size_t n = m->inputs ? m->inputs : m->fields;
    PyObject *args = PyTuple_New((Py_ssize_t)n + 1);

    if (args)
        (void)PyTuple_SetItem(args, 0, Py_NewRef((PyObject *)m));
    for (size_t i = 0; args && i < n; i++) {
        rp_type type;
        PyObject *x = type_of(batch[i], &type) ? tensor_new(h, batch[i], &type) : PyErr_NoMemory();

        if (!x || PyTuple_SetItem(args, (Py_ssize_t)i + 1, x) != 0)
            Py_CLEAR(args);
    }
    return args;
}

static rp_tensor call_function(forward_ref *f, home *h, const rp_tensor *batch)
{
    PyObject *args = batch_tuple(f->model, h, batch), *out = args ? PyObject_Call(f->function, args, NULL) : NULL;
    rp_tensor handle = {0};

    Py_XDECREF(args);
    if (out && is_tensor(out) && ((tensor_object *)out)->home == h)
        handle = ((tensor_object *)out)->handle;
    else if (out)
        PyErr_Format(PyExc_TypeError, "a model's function returns a tensor that it made, found %R", out);
    Py_XDECREF(out);
    return handle;
}

rp_tensor model_forward(rp_nn *nn, const rp_tensor *batch, void *self)
{
    forward_ref *f = self;
    model_object *m = f->model;
    const PyGILState_STATE state = PyGILState_Ensure();
    home *h = home_new(HOME_MODEL, NULL, rp_nn_graph(nn)), *before = m->graph;
    rp_tensor out = {0};

    if (h) {
        h->model = m->eager ? nn : NULL;
        m->graph = h;
        if (home_push(h)) {
            out = call_function(f, h, batch);
            home_pop(h);
        }
        m->graph = before;
        h->graph = NULL;
        home_forget(h);
        home_drop(h);
    }
    if (PyErr_Occurred() && !m->error[0])
        PyErr_Fetch(&m->error[0], &m->error[1], &m->error[2]);
    PyErr_Clear();
    PyGILState_Release(state);
    return out;
}

forward_ref *model_reference(model_object *m, PyObject *function)
{
    forward_ref *f = m->functions;

    while (f && f->function != function)
        f = f->next;
    if (f)
        return f;
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "expected a function of (nn, *batch), found %R", function);
        return NULL;
    }
    f = malloc(sizeof *f);
    if (!f)
        return (forward_ref *)PyErr_NoMemory();
    *f = (forward_ref){m, Py_NewRef(function), m->functions};
    m->functions = f;
    return f;
}

/* ---- one thread at a time, none of them with the GIL ---- */

bool model_enter(model_object *m, PyThreadState **thread)
{
    if (m->user == PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "the model is at work: its function calls layers and operations alone");
        return false;
    }
    *thread = PyEval_SaveThread();
    (void)pthread_mutex_lock(&m->lock);
    m->user = PyThread_get_thread_ident();
    return true;
}

void model_leave(model_object *m, PyThreadState *thread)
{
    m->user = 0;
    (void)pthread_mutex_unlock(&m->lock);
    PyEval_RestoreThread(thread);
}

/* An exception of the function comes out as it is. */
PyObject *model_fail(model_object *m, const rp_error *err, rp_status status, const char *call)
{
    if (!m->error[0])
        return raise_error(err, status, call, -1);
    PyErr_Restore(m->error[0], m->error[1], m->error[2]);
    m->error[0] = m->error[1] = m->error[2] = NULL;
    return NULL;
}

/* ---- the object ---- */

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "optimizer", "batches", "seed",   "eager", "mixed",
                            "threads",  "level",     "device",  "memory", NULL};
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    rp_nn_options options = {.model = model_forward};
    PyObject *function, *optimizer = NULL, *batches = NULL;
    unsigned long long seed = 0, memory = 0;
    int eager = 0, mixed = 0;
    rp_error err;
    rp_status status;
    model_object *m;
    PyThreadState *thread;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O!O!KppIzzK:Model", names, &function, &PyDict_Type, &optimizer,
                                     &PyDict_Type, &batches, &seed, &eager, &mixed, &options.run.threads,
                                     &options.run.level, &options.run.device, &memory) ||
        (optimizer && !optimizer_read(optimizer, &options.optimizer)) ||
        (batches && !batches_read(batches, &options.batches)))
        return NULL;
    m = (model_object *)alloc(type, 0);
    if (!m)
        return NULL;
    (void)pthread_mutex_init(&m->lock, NULL);
    options.self = model_reference(m, function);
    if (!options.self) {
        Py_DECREF((PyObject *)m);
        return NULL;
    }
    options.seed = seed;
    options.eager = m->eager = eager;
    options.mixed = mixed;
    options.run.memory = memory;
    thread = PyEval_SaveThread();
    status = rp_nn_new(&m->nn, &options, &err);
    PyEval_RestoreThread(thread);
    if (status == RP_OK)
        return (PyObject *)m;
    Py_DECREF((PyObject *)m);
    return raise_error(&err, status, "Model", -1);
}

static int model_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    for (forward_ref *f = ((model_object *)self)->functions; f; f = f->next)
        Py_VISIT(f->function);
    return 0;
}

static void model_dealloc(PyObject *self)
{
    model_object *m = (model_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    PyThreadState *thread;

    PyObject_GC_UnTrack(self);
    thread = PyEval_SaveThread();
    rp_nn_free(m->nn);
    PyEval_RestoreThread(thread);
    while (m->functions) {
        forward_ref *f = m->functions;

        m->functions = f->next;
        Py_DECREF(f->function);
        free(f);
    }
    for (int i = 0; i < 3; i++)
        Py_XDECREF(m->error[i]);
    (void)pthread_mutex_destroy(&m->lock);
    release(self);
    Py_DECREF(type);
}

/* A cycle goes through what a function closes over; the library must not call a function that has gone. */
static int model_clear(PyObject *self)
{
    for (forward_ref *f = ((model_object *)self)->functions; f; f = f->next)
        replace(&f->function, Py_NewRef(Py_None));
    return 0;
}

bool model_setup(PyObject *module)
{
    static PyMethodDef all[64];
    size_t n = 0;
    PyType_Slot slots[] = {
        {Py_tp_new, model_new},
        {Py_tp_dealloc, model_dealloc},
        {Py_tp_traverse, model_traverse},
        {Py_tp_clear, model_clear},
        {Py_tp_methods, all},
        {Py_tp_getset, model_getset},
        {Py_tp_doc,
         "Model(function, optimizer=nn.adam(0.001), batches={}, seed=0, eager=False, mixed=False, threads=0, "
         "level=None, device=None, memory=0)\n--\n\nA model: function(nn, *batch) returns the loss of a batch, "
         "of layers that it calls on nn."},
        {0, NULL},
    };

    for (const PyMethodDef *m = model_methods; m->ml_name; m++)
        all[n++] = *m;
    for (const PyMethodDef *m = layer_methods; m->ml_name; m++)
        all[n++] = *m;
    return add_type(module, &(PyType_Spec){.name = "reprise.core.ModelBase",
                                           .basicsize = sizeof(model_object),
                                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                                           .slots = slots}) != NULL;
}
