/* SPDX-License-Identifier: Apache-2.0
 * reprise.Tensor: a handle in a home, or a value. What a call is given becomes operands of its home here. */
#include "binding.h"

PyTypeObject *tensor_type;
static PyObject *shower; /* reprise's own function that writes arrays */

bool type_of(rp_tensor x, rp_type *type)
{
    *type = (rp_type){0};
    return rp_shape_of(x, &type->dtype, &type->rank, type->shape);
}

/* ---- where it lives ---- */

void tensor_attach(tensor_object *t, home *h, rp_tensor handle)
{
    tensor_detach(t);
    t->home = h;
    t->handle = handle;
    t->next = h->first;
    t->back = &h->first;
    if (t->next)
        t->next->back = &t->next;
    h->first = t;
    home_hold(h);
}

void tensor_detach(tensor_object *t)
{
    home *h = t->home;

    if (!h)
        return;
    *t->back = t->next;
    if (t->next)
        t->next->back = t->back;
    t->home = NULL;
    home_drop(h);
}

static PyObject *allocate(void)
{
    static allocfunc alloc;

    if (!alloc)
        alloc = (allocfunc)PyType_GetSlot(tensor_type, Py_tp_alloc);
    return alloc(tensor_type, 0);
}

PyObject *tensor_new(home *h, rp_tensor handle, const rp_type *type)
{
    tensor_object *t = (tensor_object *)allocate();

    if (!t)
        return NULL;
    t->type.dtype = type->dtype;
    t->type.rank = type->rank;
    memcpy(t->type.shape, type->shape, (size_t)type->rank * sizeof *type->shape);
    tensor_attach(t, h, handle);
    return (PyObject *)t;
}

PyObject *tensor_of_value(const rp_type *type, void *bytes)
{
    tensor_object *t = (tensor_object *)allocate();

    if (!t) {
        free(bytes);
        return NULL;
    }
    t->type = *type;
    t->bytes = bytes;
    return (PyObject *)t;
}

/* Its memory goes at once where nobody is inside, else with the next call. */
static void let_go(home *h, rp_tensor handle)
{
    if (!h->graph || h->kind == HOME_GRAPH)
        return;
    if (!h->traces && pthread_mutex_trylock(&h->lock) == 0) {
        rp_tensor_release(handle);
        (void)pthread_mutex_unlock(&h->lock);
        return;
    }
    if (h->n_gone == h->cap_gone) {
        const size_t wanted = h->cap_gone ? 2 * h->cap_gone : 32;
        rp_tensor *bigger = realloc(h->gone, wanted * sizeof *bigger);

        if (!bigger)
            return; /* it goes with its step */
        h->gone = bigger;
        h->cap_gone = wanted;
    }
    h->gone[h->n_gone++] = handle;
}

static void dealloc(PyObject *self)
{
    static freefunc release;
    tensor_object *t = (tensor_object *)self;
    PyTypeObject *type = Py_TYPE(self);

    if (!release)
        release = (freefunc)PyType_GetSlot(tensor_type, Py_tp_free);
    if (t->home) {
        let_go(t->home, t->handle);
        tensor_detach(t);
    }
    free(t->bytes);
    release(self);
    Py_DECREF(type);
}

/* ---- its value ---- */

static rp_status read_value(home *h, tensor_object *t, void *bytes, size_t size, rp_error *err)
{
    const size_t before = rp_graph_length(h->graph);
    rp_status status;

    if (!h->graph)
        return RP_ECANCELED;
    if (h->model)
        return rp_nn_peek(h->model, t->handle, bytes, size) ? RP_OK : rp_graph_status(h->graph, err);
    if (h->epoch && t->handle.epoch != h->epoch)
        return RP_ECANCELED; /* the step was renewed meanwhile: its value is known in a moment */
    status = rp_read(h->run, t->handle, bytes, size, err);
    if (status != RP_OK)
        home_mend(h, before);
    return status;
}

static bool fetch(tensor_object *t)
{
    const size_t size = type_bytes(&t->type);
    void *bytes = malloc(size ? size : 1);
    home *h = t->home;
    home_visit visit;
    rp_error err;
    rp_status status;

    if (!bytes) {
        PyErr_NoMemory();
        return false;
    }
    home_hold(h);
    home_enter(h, &visit);
    status = read_value(h, t, bytes, size, &err);
    h->kept += size;
    home_leave(h, &visit);
    home_drop(h);
    if (status == RP_OK && !t->bytes)
        t->bytes = bytes;
    else
        free(bytes);
    if (status != RP_OK && status != RP_ECANCELED)
        raise_error(&err, status, "read", -1);
    return status == RP_OK || status == RP_ECANCELED;
}

const void *tensor_bytes(tensor_object *t)
{
    while (!t->bytes) {
        if (!t->home) {
            PyErr_SetString(PyExc_RuntimeError, "the step of this tensor is over, and nobody read it in it: read it "
                                                "inside, or make it a result or a state");
            return NULL;
        }
        if (!home_ready(t->home))
            return NULL;
        if (!t->home->run && !t->home->model) {
            PyErr_SetString(PyExc_RuntimeError, "a tensor of a program that is being built has no value yet (a model's "
                                                "function sees values with eager=True)");
            return NULL;
        }
        if (!fetch(t))
            return NULL;
    }
    return t->bytes;
}

/* ---- operands ---- */

home *operands_home(PyObject *const *object, size_t n)
{
    home *mine = NULL;

    for (size_t i = 0; i < n; i++) {
        home *h = is_tensor(object[i]) ? ((tensor_object *)object[i])->home : NULL;

        if (h && h->kind != HOME_EAGER)
            return h;
        if (h && h == mine)
            continue;
    }
    mine = home_current();
    return mine;
}

bool operands_begin(operands *o, home *h, const char *call)
{
    o->home = h;
    o->call = call;
    o->n = o->n_kept = 0;
    o->status = RP_OK;
    if (!h || !home_renew(h) || !home_ready(h))
        return false;
    home_hold(h);
    return true;
}

void operands_end(operands *o)
{
    for (size_t i = 0; i < o->n_kept; i++)
        Py_DECREF(o->kept[i]);
    home_drop(o->home);
}

static bool no_room(const operands *o)
{
    if (o->n < OPERANDS_MAX)
        return false;
    PyErr_Format(PyExc_ValueError, "%s: more than %d operands", o->call, OPERANDS_MAX);
    return true;
}

static rp_tensor feed(home *h, const rp_type *type, const void *bytes, rp_error *err)
{
    char name[32];
    home_visit visit;
    rp_tensor fed;

    (void)snprintf(name, sizeof name, "in.%u", h->fed++);
    home_enter(h, &visit);
    h->kept += type_bytes(type);
    fed = rp_feed(h->run, name, type->dtype, type->rank, type->shape, bytes);
    if (!fed.graph && rp_graph_status(h->graph, err) != RP_OK)
        home_mend(h, rp_graph_length(h->graph));
    home_leave(h, &visit);
    return fed;
}

static bool add_value(operands *o, const rp_type *type, const void *bytes, tensor_object *owner)
{
    rp_error err = {0};
    rp_tensor fed;

    if (!o->home->run) {
        PyErr_Format(PyExc_TypeError,
                     "%s: a program that is being built takes no values: declare an input, or use "
                     "ops.fill",
                     o->call);
        return false;
    }
    fed = feed(o->home, type, bytes, &err);
    if (!fed.graph) {
        raise_error(&err, err.status, o->call, -1);
        return false;
    }
    if (owner)
        tensor_attach(owner, o->home, fed);
    o->in[o->n++] = fed;
    return true;
}

static bool add_number(operands *o, PyObject *number, const rp_type *like)
{
    const rp_dtype dtype = like ? like->dtype : PyBool_Check(number) ? RP_BOOL : PyLong_Check(number) ? RP_I64 : RP_F32;
    home_visit visit;
    double real;
    rp_tensor made;

    if (!number_read(number, dtype, &real))
        return false;
    home_enter(o->home, &visit);
    made = rp_fill(o->home->graph, dtype, 0, NULL, real);
    home_leave(o->home, &visit);
    o->in[o->n++] = made;
    return true;
}

bool operands_add(operands *o, PyObject *object, const rp_type *like)
{
    tensor_object *t = (tensor_object *)object;
    elements e;
    bool done;

    if (no_room(o))
        return false;
    if (is_tensor(object)) {
        const void *bytes;

        if (t->home == o->home) {
            o->in[o->n++] = t->handle;
            return true;
        }
        if (t->home && !o->home->run) {
            PyErr_Format(PyExc_ValueError, "%s: operand %zu belongs to another graph", o->call, o->n);
            return false;
        }
        bytes = tensor_bytes(t);
        return bytes && add_value(o, &t->type, bytes, t);
    }
    if (is_number(object))
        return add_number(o, object, like);
    if (object == Py_None) {
        PyErr_Format(PyExc_TypeError, "%s: operand %zu is None", o->call, o->n);
        return false;
    }
    if (!elements_read(&e, object, NULL))
        return false;
    done = add_value(o, &e.type, e.bytes, NULL);
    elements_free(&e);
    return done;
}

/* Numbers are of the first tensor's dtype. */
bool operands_add_all(operands *o, PyObject *const *object, size_t n)
{
    const rp_type *like = NULL;

    for (size_t i = 0; i < n && !like; i++)
        if (is_tensor(object[i]))
            like = &((tensor_object *)object[i])->type;
    for (size_t i = 0; i < n; i++)
        if (!operands_add(o, object[i], like))
            return false;
    return true;
}

void operands_enter(operands *o)
{
    home_enter(o->home, &o->visit);
    o->before = rp_graph_length(o->home->graph);
}

bool operands_leave(operands *o)
{
    o->status = rp_graph_status(o->home->graph, &o->err);
    if (o->status != RP_OK)
        home_mend(o->home, o->before);
    home_leave(o->home, &o->visit);
    if (o->status != RP_OK)
        raise_error(&o->err, o->status, o->call, -1);
    return o->status == RP_OK;
}

PyObject *operands_result(operands *o, rp_tensor out, const rp_type *type)
{
    PyObject *made = operands_leave(o) ? tensor_new(o->home, out, type) : NULL;

    if (made && o->home->kind == HOME_GRAPH)
        note_site(o->call);
    operands_end(o);
    return made;
}

PyObject *operands_results(operands *o, const rp_tensor *out, size_t n)
{
    rp_type few[8], *type = n <= 8 ? few : calloc(n, sizeof *type);
    PyObject *tuple = NULL;

    for (size_t i = 0; type && i < n; i++)
        (void)type_of(out[i], &type[i]);
    if (operands_leave(o))
        tuple = type ? PyTuple_New((Py_ssize_t)n) : PyErr_NoMemory();
    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *made = tensor_new(o->home, out[i], &type[i]);

        if (!made || PyTuple_SetItem(tuple, (Py_ssize_t)i, made) != 0)
            Py_CLEAR(tuple);
    }
    if (tuple && o->home->kind == HOME_GRAPH)
        note_site(o->call);
    operands_end(o);
    if (type != few)
        free(type);
    return tuple;
}

/* ---- what a tensor says of itself ---- */

static PyObject *get_shape(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return shape_tuple(&((tensor_object *)self)->type);
}

static PyObject *get_dtype(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return dtype_text(((tensor_object *)self)->type.dtype);
}

static PyObject *get_rank(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromLong(((tensor_object *)self)->type.rank);
}

static PyObject *get_size(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromSize_t(type_count(&((tensor_object *)self)->type));
}

static PyObject *get_symbolic(PyObject *self, void *ignored)
{
    const tensor_object *t = (tensor_object *)self;

    RP_UNUSED(ignored);
    return PyBool_FromLong(!t->bytes && (!t->home || !t->home->run));
}

static PyObject *transposed(PyObject *self, void *ignored)
{
    operands o;
    rp_tensor out;
    rp_type type;

    RP_UNUSED(ignored);
    if (!operands_begin(&o, operands_home(&self, 1), "transpose"))
        return NULL;
    if (!operands_add(&o, self, NULL)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    out = rp_transpose(o.in[0], NULL);
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}

static PyObject *repr(PyObject *self)
{
    const tensor_object *t = (tensor_object *)self;
    char type[192];

    type_text(&t->type, type, sizeof type);
    if (!t->bytes && (!t->home || (!t->home->run && !t->home->model) || !t->home->graph))
        return PyUnicode_FromFormat("Tensor(%s, %s)", type, t->home ? "to be computed" : "of a step that is over");
    if (!shower)
        return PyUnicode_FromFormat("Tensor(%s)", type);
    return PyObject_CallFunctionObjArgs(shower, self, NULL);
}

PyObject *tensor_set_show(PyObject *module, PyObject *function);
PyObject *tensor_set_show(PyObject *module, PyObject *function)
{
    RP_UNUSED(module);
    replace(&shower, Py_NewRef(function));
    Py_RETURN_NONE;
}

Py_ssize_t tensor_length(PyObject *self)
{
    const rp_type *type = &((tensor_object *)self)->type;

    if (type->rank > 0)
        return (Py_ssize_t)type->shape[0];
    PyErr_SetString(PyExc_TypeError, "a tensor of rank 0 has no length");
    return -1;
}

static PyObject *construct(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"elements", "dtype", NULL};
    PyObject *object, *dtype = NULL;
    elements e;
    rp_dtype wanted;
    void *bytes;

    RP_UNUSED(type);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:Tensor", names, &object, &dtype) ||
        (dtype && dtype != Py_None && !dtype_read(dtype, &wanted)) ||
        !elements_read(&e, object, dtype && dtype != Py_None ? &wanted : NULL))
        return NULL;
    bytes = malloc(type_bytes(&e.type) ? type_bytes(&e.type) : 1);
    if (!bytes) {
        elements_free(&e);
        return PyErr_NoMemory();
    }
    copy_bytes(bytes, e.bytes, type_bytes(&e.type));
    object = tensor_of_value(&e.type, bytes);
    elements_free(&e);
    return object;
}

static PyGetSetDef getset[] = {
    {"shape", get_shape, NULL, "The lengths of its axes, a tuple.", NULL},
    {"dtype", get_dtype, NULL, "Its element type: 'f32', 'f64', 'i32', 'i64', 'bool', 'bf16'.", NULL},
    {"ndim", get_rank, NULL, "The number of its axes.", NULL},
    {"size", get_size, NULL, "The number of its elements.", NULL},
    {"symbolic", get_symbolic, NULL, "Whether it has no value, being part of a program that is built.", NULL},
    {"T", transposed, NULL, "Its last two axes exchanged: [.., m, n] -> [.., n, m].", NULL},
    {0},
};

bool tensor_setup(PyObject *module)
{
    PyType_Slot slots[64] = {
        {Py_tp_new, construct},
        {Py_tp_dealloc, dealloc},
        {Py_tp_repr, repr},
        {Py_tp_getset, getset},
        {Py_tp_methods, tensor_methods},
        {Py_bf_getbuffer, tensor_buffer},
        {Py_bf_releasebuffer, (void *)tensor_release_buffer},
        {Py_tp_iter, (void *)tensor_rows},
        {Py_tp_doc, "Tensor(elements, dtype=None)\n--\n\nA tensor: an array, a list or a number by value, or what an "
                    "operation made of others.\n\nFloats of Python and lists of them become f32, integers i64; arrays "
                    "keep their dtype. It is never changed."},
    };
    size_t n = 0;

    while (slots[n].slot)
        n++;
    for (size_t i = 0; arithmetic_slots[i].slot; i++)
        slots[n++] = arithmetic_slots[i];
    tensor_type = add_type(module, &(PyType_Spec){.name = "reprise.Tensor",
                                                  .basicsize = sizeof(tensor_object),
                                                  .flags = Py_TPFLAGS_DEFAULT,
                                                  .slots = slots});
    /* numpy leaves operators with an array on the left to the tensor */
    return tensor_type && PyObject_SetAttrString((PyObject *)tensor_type, "__array_ufunc__", Py_None) == 0;
}
