/* SPDX-License-Identifier: Apache-2.0
 * Gradients of the home's graph, and traces: while one is open nothing goes and the step stays, so that what a gradient
 * will read is still there. reprise/gradient.py makes grad and vjp of both. */
#include "binding.h"

typedef struct trace_object {
    PyObject_HEAD home *home;
} trace_object;

static PyTypeObject *trace_type;

static void append_gradients(operands *o, size_t n_y, bool seeded, size_t n, bool zeros, bool mixed, rp_tensor *grad)
{
    const rp_tensor *y = o->in, *wrt = o->in + n_y, *seed = wrt + n;

    if (mixed)
        (zeros ? rp_gradients_mixed_or_zeros : rp_gradients_mixed)(*y, wrt, n, grad);
    else if (seeded)
        (zeros ? rp_vjp_or_zeros : rp_vjp)(y, seed, n_y, wrt, n, grad);
    else
        (zeros ? rp_gradients_or_zeros : rp_gradients)(*y, wrt, n, grad);
}

PyObject *gradients_in(home *h, PyObject *const *y, size_t n_y, PyObject *const *seed, PyObject *const *wrt, size_t n,
                       bool zeros, bool mixed)
{
    operands o;
    rp_tensor grad[OPERANDS_MAX] = {{0}};
    bool done = true;

    if (n_y == 0 || n == 0 || n_y * (seed ? 2 : 1) + n > OPERANDS_MAX || (!seed && n_y != 1) || (seed && mixed)) {
        PyErr_Format(PyExc_ValueError,
                     "gradients: one y, or several with seeds (and not mixed), and tensors to differentiate by; "
                     "at most %d in all",
                     OPERANDS_MAX);
        return NULL;
    }
    if (!operands_begin(&o, h, "gradients"))
        return NULL;
    for (size_t i = 0; done && i < n_y; i++)
        done = operands_add(&o, y[i], NULL);
    for (size_t i = 0; done && i < n; i++)
        done = operands_add(&o, wrt[i], NULL);
    for (size_t i = 0; done && seed && i < n_y; i++)
        done = operands_add(&o, seed[i], is_tensor(y[i]) ? &((tensor_object *)y[i])->type : NULL);
    if (!done) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    append_gradients(&o, n_y, seed != NULL, n, zeros, mixed, grad);
    return operands_results(&o, grad, n);
}

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    home *h = home_current();
    trace_object *self;

    RP_UNUSED(args);
    RP_UNUSED(kwargs);
    if (!h || !home_renew(h) || !home_ready(h))
        return NULL;
    self = (trace_object *)alloc(type, 0);
    if (!self)
        return NULL;
    self->home = h;
    home_hold(h);
    h->traces++;
    return (PyObject *)self;
}

static PyObject *trace_close(PyObject *self, PyObject *ignored)
{
    trace_object *t = (trace_object *)self;

    RP_UNUSED(ignored);
    if (t->home) {
        t->home->traces--;
        home_drop(t->home);
        t->home = NULL;
    }
    Py_RETURN_NONE;
}

static void trace_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    Py_DECREF(trace_close(self, NULL));
    release(self);
    Py_DECREF(type);
}

/* A tensor of the trace's home: the object itself where it is one. */
static PyObject *trace_place(PyObject *self, PyObject *object)
{
    home *h = ((trace_object *)self)->home;
    operands o;
    rp_type type;
    bool done;

    if (!h) {
        PyErr_SetString(PyExc_ValueError, "the trace is closed");
        return NULL;
    }
    if (!operands_begin(&o, h, "gradient"))
        return NULL;
    done = operands_add(&o, object, NULL);
    if (done && !is_tensor(object)) {
        home_visit visit;

        home_enter(h, &visit);
        done = type_of(o.in[0], &type);
        home_leave(h, &visit);
        object = done ? tensor_new(h, o.in[0], &type) : NULL;
    } else {
        object = done ? Py_NewRef(object) : NULL;
    }
    operands_end(&o);
    return object;
}

static size_t spread(PyObject *items, PyObject *out[OPERANDS_MAX])
{
    const Py_ssize_t n = items ? PyTuple_Size(items) : 0;

    for (Py_ssize_t i = 0; i < n && i < OPERANDS_MAX; i++)
        out[i] = PyTuple_GetItem(items, i);
    return (size_t)n;
}

static PyObject *trace_gradients(PyObject *self, PyObject *args)
{
    PyObject *y, *wrt, *seed, *at[3][OPERANDS_MAX];
    int zeros;
    size_t n[3];

    if (!PyArg_ParseTuple(args, "O!O!Op", &PyTuple_Type, &y, &PyTuple_Type, &wrt, &seed, &zeros))
        return NULL;
    n[0] = spread(y, at[0]);
    n[1] = spread(wrt, at[1]);
    n[2] = seed == Py_None ? 0 : spread(seed, at[2]);
    if (!((trace_object *)self)->home || (seed != Py_None && n[2] != n[0])) {
        PyErr_SetString(PyExc_ValueError, "gradients: a seed for each y, and a trace that is open");
        return NULL;
    }
    return gradients_in(((trace_object *)self)->home, at[0], n[0], seed == Py_None ? NULL : at[2], at[1], n[1], zeros,
                        false);
}

static PyMethodDef methods[] = {
    {"place", trace_place, METH_O, "place($self, x, /)\n--\n\nx as a tensor of the trace."},
    {"gradients", trace_gradients, METH_VARARGS, "gradients($self, y, wrt, seeds, zeros, /)\n--\n\nA tuple."},
    {"close", trace_close, METH_NOARGS, "close($self)\n--\n\nNo gradients are to come."},
    {0},
};

bool gradient_setup(PyObject *module)
{
    PyType_Slot slots[] = {{Py_tp_new, trace_new}, {Py_tp_dealloc, trace_dealloc}, {Py_tp_methods, methods}, {0, NULL}};

    trace_type = add_type(module, &(PyType_Spec){.name = "reprise.core.Trace",
                                                 .basicsize = sizeof(trace_object),
                                                 .flags = Py_TPFLAGS_DEFAULT,
                                                 .slots = slots});
    return trace_type != NULL;
}
