/* SPDX-License-Identifier: Apache-2.0
 * reprise.StepBase: what a framework's compiled step does at each call, without Python: it looks whether all that a
 * program burned in is still there, takes a batch as it lies in memory, tells the rates, makes the step and reads the
 * loss.
 *
 * It is never the only judge. What it is not certain of it leaves alone: the call then takes the long way, the method
 * _long of what is derived from it, which knows what to do of a number that changed, a batch of another form, or an
 * error. So a look may only err towards "something is different". Threads take turns, one whole call after the other.
 */
#include <math.h>

#include "exchange.h"
#include "places.h"
#include "run_object.h"

enum { LEAVES_MAX = 64, RATES_MAX = 64 };

/* A group of an optimizer. `behind`: its steps less the optimizer's. */
typedef struct group {
    PyObject *own;
    long long behind;
    double beta1, beta2, decay;
} group;

typedef enum rate_kind { RATE_LR, RATE_C1, RATE_C2, RATE_KINDS } rate_kind;

typedef struct rate {
    size_t group;
    rate_kind kind;
    bool wide; /* f64, else f32 */
} rate;

typedef struct entry {
    struct entry *next;
    rp_type type[LEAVES_MAX];
    size_t feed[LEAVES_MAX]; /* of each leaf its place among the feeds, or SIZE_MAX: nothing reads it */
    size_t n_leaves, n_rates;
    rate rate[RATES_MAX];
    fed feeds[LEAVES_MAX + RATES_MAX]; /* those of leaves, then the rates */
    size_t n_fed;                      /* of leaves */
    fed result;
    rp_type result_type;
    PyObject *compiled, *built;
} entry;

/* The objects to which the parts point are held by `kept`, a list, and `last` by itself. */
typedef struct door_object {
    PyObject_HEAD PyTypeObject *kind; /* of leaves */
    const dl_exchange *exchange;
    PyObject *is_neg, *lr, *kept, *last; /* of the first two the names */
    place *places;
    size_t n_places;
    group *groups;
    size_t n_groups;
    PyObject *count, *made, *states; /* the optimizer's attributes; its dict of steps by states, and the states */
    PyObject *steps;                 /* the name of the count */
    entry *entries;
    bool busy;
    PyThread_type_lock lock; /* of calls; `owner` may take it again, and counts */
    unsigned long owner;
    unsigned depth;
} door_object;

static void forget(door_object *d)
{
    while (d->entries) {
        entry *e = d->entries;

        d->entries = e->next;
        free(e);
    }
    free(d->places);
    free(d->groups);
    d->places = NULL;
    d->groups = NULL;
    d->n_places = d->n_groups = 0;
    d->count = d->made = d->states = NULL;
    Py_CLEAR(d->kept);
}

/* Nothing may go while a call is under way: of one thread inside another's, or of what a look calls. */
static bool may_change(const door_object *d)
{
    if (!d->busy)
        return true;
    PyErr_SetString(PyExc_RuntimeError, "a step is under way");
    return false;
}

static bool keep(door_object *d, PyObject *object)
{
    return PyList_Append(d->kept, object) == 0;
}

/* ---- what was burned in ---- */

/* It may call Python's code, which may come back: it finds the door busy, and leaves the places alone. */
static bool all_stand(door_object *d)
{
    const bool busy = d->busy;
    bool stand;

    d->busy = true;
    stand = d->kept && places_stand(d->places, d->n_places);
    d->busy = busy;
    return stand;
}

static bool read_groups(door_object *d, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);

    d->groups = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *d->groups);
    if (!d->groups) {
        if (n >= 0)
            PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        group *g = &d->groups[i];
        PyObject *of = tuple_at(list, i);

        if (!of || !PyArg_ParseTuple(of, "O!Lddd", &PyDict_Type, &g->own, &g->behind, &g->beta1, &g->beta2, &g->decay))
            return false;
        d->n_groups++;
    }
    return true;
}

static const dl_exchange *exchange_of(PyObject *kind)
{
    PyObject *capsule = PyObject_GetAttrString(kind, "__dlpack_c_exchange_api__");
    const dl_exchange *exchange = capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api")
                                      ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
                                      : NULL;

    PyErr_Clear();
    Py_XDECREF(capsule);
    while (exchange && exchange->version.major != 1)
        exchange = exchange->previous;
    return exchange && exchange->look ? exchange : NULL;
}

static PyObject *watch(PyObject *self, PyObject *args)
{
    door_object *d = (door_object *)self;
    PyObject *kind, *places, *groups, *count, *steps, *made, *states;

    if (!PyArg_ParseTuple(args, "O!O!O!O!UO!O:_short_watch", &PyType_Type, &kind, &PyList_Type, &places, &PyList_Type,
                          &groups, &PyDict_Type, &count, &steps, &PyDict_Type, &made, &states) ||
        !may_change(d))
        return NULL;
    forget(d);
    d->kind = (PyTypeObject *)kind;
    d->exchange = exchange_of(kind);
    d->kept = Py_BuildValue("[ONN]", args, PyList_AsTuple(places), PyList_AsTuple(groups)); /* lists may change */
    if (!d->kept || !(d->places = places_read(places, d->kept, &d->n_places)) || !read_groups(d, groups)) {
        forget(d);
        return NULL;
    }
    d->count = count;
    d->steps = steps;
    d->made = made;
    d->states = states;
    return PyBool_FromLong(all_stand(d));
}

static PyObject *stands(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(ignored);
    return PyBool_FromLong(all_stand((door_object *)self));
}

static PyObject *clear(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(ignored);
    if (!may_change((door_object *)self))
        return NULL;
    forget((door_object *)self);
    return Py_NewRef(Py_None);
}

/* ---- batches ---- */

static bool contiguous(const dl_tensor *t)
{
    int64_t wanted = 1;

    for (int k = t->ndim - 1; t->strides && k >= 0; k--) {
        if (t->shape[k] != 1 && t->strides[k] != wanted)
            return false;
        wanted *= t->shape[k];
    }
    return true;
}

/* PyTorch may keep numbers as the negative of what lies in memory, which DLPack does not tell. */
static bool negative(const door_object *d, PyObject *leaf)
{
    PyObject *is = PyObject_CallMethodObjArgs(leaf, d->is_neg, NULL);
    const bool found = is != Py_False;

    Py_XDECREF(is);
    return found;
}

/* What a leaf is, where it lies in this processor's memory, row-major. False, without an exception, of all else. */
static bool look_at(const door_object *d, PyObject *leaf, rp_type *type, const void **bytes)
{
    dl_tensor t = {0};
    bool done = Py_TYPE(leaf) == d->kind && d->exchange && d->exchange->look(leaf, &t) == 0 &&
                t.device.type == DL_CPU && exchange_type(&t, type) && contiguous(&t) &&
                (t.data || type_count(type) == 0);

    if (done && (t.dtype.code == DL_FLOAT || t.dtype.code == DL_BFLOAT || t.dtype.code == DL_INT))
        done = !negative(d, leaf);
    if (!done)
        PyErr_Clear();
    *bytes = (const char *)t.data + t.byte_offset;
    return done;
}

static bool input_named(const rp_program *p, PyObject *name, const rp_type *type, fed *feed)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    rp_input_info info;

    for (size_t i = 0; text && rp_program_input(p, i, &info); i++)
        if (info.kind == RP_INPUT_FEED && strcmp(info.name, text) == 0) {
            *feed = (fed){.name = info.name, .size = type_bytes(type)};
            return types_equal(&info.type, type);
        }
    return false;
}

/* feeds: of each leaf its feed's name, or None. False: this batch, or this program, is not for here. */
static bool take_leaves(const door_object *d, entry *e, const rp_program *p, PyObject *leaves, PyObject *feeds)
{
    const Py_ssize_t n = PyTuple_Size(leaves);

    if (n > LEAVES_MAX || PyTuple_Size(feeds) != n)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        const void *bytes;
        PyObject *name = PyTuple_GetItem(feeds, i);

        if (!look_at(d, PyTuple_GetItem(leaves, i), &e->type[i], &bytes))
            return false;
        e->feed[i] = name == Py_None ? SIZE_MAX : e->n_fed;
        if (name != Py_None && !input_named(p, name, &e->type[i], &e->feeds[e->n_fed++]))
            return false;
        e->n_leaves++;
    }
    return true;
}

/* rates: (feed, group, kind) of each, the kind 0 of a rate, 1 and 2 of the corrections of both moments. */
static bool take_rates(const door_object *d, entry *e, const rp_program *p, PyObject *rates)
{
    const Py_ssize_t n = PyList_Size(rates);

    if (n > RATES_MAX)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        rate *r = &e->rate[e->n_rates];
        PyObject *name, *three = tuple_at(rates, i);
        unsigned kind, of;

        if (!three || !PyArg_ParseTuple(three, "UII", &name, &of, &kind) || of >= d->n_groups || kind >= RATE_KINDS)
            return false;
        *r = (rate){.group = of, .kind = (rate_kind)kind};
        if (!input_named(p, name, &(rp_type){.dtype = RP_F32}, &e->feeds[e->n_fed + e->n_rates])) {
            r->wide = true;
            if (!input_named(p, name, &(rp_type){.dtype = RP_F64}, &e->feeds[e->n_fed + e->n_rates]))
                return false;
        }
        e->n_rates++;
    }
    return true;
}

static bool take_result(entry *e, const rp_program *p, const char *name)
{
    rp_output_info info;

    for (size_t i = 0; rp_program_output(p, i, &info); i++)
        if (info.kind == RP_OUTPUT_RESULT && strcmp(info.name, name) == 0) {
            e->result = (fed){.name = info.name, .size = type_bytes(&info.type)};
            e->result_type = info.type;
            return true;
        }
    return false;
}

/* All feeds of the program come with each call: none keeps what another way wrote. */
static bool complete(const entry *e, const rp_program *p)
{
    rp_input_info info;
    size_t feeds = 0;

    for (size_t i = 0; rp_program_input(p, i, &info); i++)
        feeds += info.kind == RP_INPUT_FEED;
    return feeds == e->n_fed + e->n_rates;
}

static PyObject *add(PyObject *self, PyObject *args)
{
    door_object *d = (door_object *)self;
    PyObject *leaves, *feeds, *rates, *compiled, *built;
    const rp_program *p;
    const char *result;
    entry *e;

    if (!PyArg_ParseTuple(args, "O!O!O!OsO:_short_add", &PyTuple_Type, &leaves, &PyTuple_Type, &feeds, &PyList_Type,
                          &rates, &compiled, &result, &built) ||
        !(p = compiled_program(compiled)) || !may_change(d))
        return NULL;
    if (!d->kept)
        return Py_NewRef(Py_False);
    e = calloc(1, sizeof *e);
    if (!e)
        return PyErr_NoMemory();
    if (!take_leaves(d, e, p, leaves, feeds) || !take_rates(d, e, p, rates) || !take_result(e, p, result) ||
        !complete(e, p) || !keep(d, compiled) || !keep(d, built)) {
        free(e);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    }
    e->compiled = compiled;
    e->built = built;
    e->next = d->entries;
    d->entries = e;
    return Py_NewRef(Py_True);
}

/* ---- a call ---- */

typedef struct look {
    rp_type type[LEAVES_MAX];
    const void *bytes[LEAVES_MAX];
    size_t n;
} look;

static bool look_at_all(const door_object *d, PyObject *leaves, look *l)
{
    const Py_ssize_t n = PyTuple_Size(leaves);

    if (n > LEAVES_MAX)
        return false;
    for (l->n = 0; l->n < (size_t)n; l->n++)
        if (!look_at(d, PyTuple_GetItem(leaves, (Py_ssize_t)l->n), &l->type[l->n], &l->bytes[l->n]))
            return false;
    return true;
}

static entry *entry_of(const door_object *d, const look *l)
{
    for (entry *e = d->entries; e; e = e->next) {
        size_t alike = 0;

        while (alike < e->n_leaves && alike < l->n && types_equal(&e->type[alike], &l->type[alike]))
            alike++;
        if (alike == e->n_leaves && alike == l->n)
            return e;
    }
    return NULL;
}

/* The formulas are those of Python's floats, whose powers are the C library's too. */
static bool rate_now(const door_object *d, const rate *r, long long steps, double *value)
{
    const group *g = &d->groups[r->group];
    const double t = (double)(steps + g->behind + 1);
    PyObject *lr;

    if (r->kind != RATE_LR) {
        *value = 1 - pow(r->kind == RATE_C1 ? g->beta1 : g->beta2, t);
        return true;
    }
    lr = PyDict_GetItemWithError(g->own, d->lr);
    if (!lr || Py_TYPE(lr) != &PyFloat_Type)
        return false;
    *value = PyFloat_AsDouble(lr);
    if (g->decay >= 0)
        *value /= 1 + (t - 1) * g->decay;
    return true;
}

static bool tell_rates(const door_object *d, const entry *e, long long steps, fed *feeds, double *store)
{
    for (size_t i = 0; i < e->n_rates; i++) {
        double value;

        if (!rate_now(d, &e->rate[i], steps, &value))
            return false;
        if (e->rate[i].wide)
            memcpy(&store[i], &value, sizeof value);
        else
            memcpy(&store[i], &(float){(float)value}, sizeof(float));
        feeds[i].bytes = &store[i];
    }
    return true;
}

static bool steps_made(const door_object *d, long long *steps)
{
    PyObject *now = PyDict_GetItemWithError(d->count, d->steps);

    *steps = now ? PyLong_AsLongLong(now) : -1;
    if (*steps < 0)
        PyErr_Clear();
    return *steps >= 0;
}

static bool set_number(PyObject *dict, PyObject *key, long long number)
{
    PyObject *value = PyLong_FromLongLong(number);
    const bool done = value && PyDict_SetItem(dict, key, value) == 0;

    Py_XDECREF(value);
    return done;
}

/* One step more, by all and of these states. */
static bool count_step(const door_object *d, long long steps)
{
    PyObject *made = PyDict_GetItemWithError(d->made, d->states);
    const long long before = made ? PyLong_AsLongLong(made) : 0;

    return !PyErr_Occurred() && set_number(d->count, d->steps, steps + 1) && set_number(d->made, d->states, before + 1);
}

/* With what was found certain. `last` is the program's before it runs: who catches an error wants to know of which. */
static PyObject *make_step(door_object *d, const entry *e, const fed *feeds, long long steps)
{
    void *bytes = malloc(e->result.size);

    if (!bytes)
        return PyErr_NoMemory();
    if (d->last != e->built)
        replace(&d->last, Py_NewRef(e->built));
    if (!compiled_once(e->compiled, feeds, e->n_fed + e->n_rates, &e->result, bytes) || !count_step(d, steps)) {
        free(bytes);
        return NULL;
    }
    return tensor_of_value(&e->result_type, bytes);
}

static PyObject *pass(door_object *d, PyObject *leaves)
{
    look l;
    fed feeds[LEAVES_MAX + RATES_MAX];
    double store[RATES_MAX];
    long long steps;
    entry *e;

    if (!d->entries || !all_stand(d) || !look_at_all(d, leaves, &l) || !(e = entry_of(d, &l)) || !steps_made(d, &steps))
        return Py_NewRef(Py_None);
    memcpy(feeds, e->feeds, (e->n_fed + e->n_rates) * sizeof *feeds);
    for (size_t i = 0; i < l.n; i++)
        if (e->feed[i] != SIZE_MAX)
            feeds[e->feed[i]].bytes = l.bytes[i];
    if (!tell_rates(d, e, steps, feeds + e->n_fed, store)) {
        PyErr_Clear(); /* of what a group's keys do when they are compared */
        return Py_NewRef(Py_None);
    }
    return make_step(d, e, feeds, steps);
}

static PyObject *short_way(door_object *d, PyObject *leaves)
{
    PyObject *found;

    if (d->busy)
        return Py_NewRef(Py_None);
    d->busy = true;
    found = pass(d, leaves);
    d->busy = false;
    return found;
}

/* ---- turns ---- */

static void hold(door_object *d)
{
    const unsigned long me = PyThread_get_thread_ident();

    if (d->depth && d->owner == me) {
        d->depth++;
        return;
    }
    if (!PyThread_acquire_lock(d->lock, NOWAIT_LOCK)) {
        PyThreadState *thread = PyEval_SaveThread();

        (void)PyThread_acquire_lock(d->lock, WAIT_LOCK);
        PyEval_RestoreThread(thread);
    }
    d->owner = me;
    d->depth = 1;
}

static void release(door_object *d)
{
    if (--d->depth == 0)
        PyThread_release_lock(d->lock);
}

static PyObject *method_hold(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(ignored);
    hold((door_object *)self);
    return Py_NewRef(Py_None);
}

static PyObject *method_release(PyObject *self, PyObject *ignored)
{
    door_object *d = (door_object *)self;

    RP_UNUSED(ignored);
    if (d->depth == 0 || d->owner != PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError, "this thread does not hold it");
        return NULL;
    }
    release(d);
    return Py_NewRef(Py_None);
}

/* An error of a step goes by _note, which may add to what it says. */
static void note(PyObject *self)
{
    PyObject *type, *value, *trace, *done;

    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    done = PyObject_CallMethod(self, "_note", "O", value);
    Py_XDECREF(done);
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

static PyObject *long_way(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *named = kwargs ? Py_NewRef(kwargs) : PyDict_New(), *found;

    if (!named)
        return NULL;
    found = PyObject_CallMethod(self, "_long", "OO", args, named);
    Py_DECREF(named);
    return found;
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    door_object *d = (door_object *)self;
    PyObject *found;

    hold(d);
    found = kwargs && PyDict_Size(kwargs) > 0 ? Py_NewRef(Py_None) : short_way(d, args);
    if (!found) {
        note(self);
    } else if (found == Py_None) {
        Py_DECREF(found);
        found = long_way(self, args, kwargs);
    }
    release(d);
    return found;
}

/* ---- the object ---- */

static PyObject *door_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    door_object *d = (door_object *)alloc(type, 0);

    RP_UNUSED(args);
    RP_UNUSED(kwargs);
    if (!d)
        return NULL;
    d->last = Py_NewRef(Py_None);
    d->is_neg = PyUnicode_InternFromString("is_neg");
    d->lr = PyUnicode_InternFromString("lr");
    d->lock = PyThread_allocate_lock();
    if (d->is_neg && d->lr && d->lock)
        return (PyObject *)d;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    Py_DECREF((PyObject *)d);
    return NULL;
}

static int door_traverse(PyObject *self, visitproc visit, void *arg)
{
    door_object *d = (door_object *)self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(d->kept);
    Py_VISIT(d->last);
    return 0;
}

static int door_clear(PyObject *self)
{
    door_object *d = (door_object *)self;

    forget(d);
    Py_CLEAR(d->last);
    return 0;
}

static void door_dealloc(PyObject *self)
{
    door_object *d = (door_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);

    PyObject_GC_UnTrack(self);
    (void)door_clear(self);
    Py_XDECREF(d->is_neg);
    Py_XDECREF(d->lr);
    if (d->lock)
        PyThread_free_lock(d->lock);
    give_back(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *last(PyObject *self, void *ignored)
{
    door_object *d = (door_object *)self;

    RP_UNUSED(ignored);
    return Py_NewRef(d->last ? d->last : Py_None);
}

static int set_last(PyObject *self, PyObject *value, void *ignored)
{
    RP_UNUSED(ignored);
    replace(&((door_object *)self)->last, Py_NewRef(value ? value : Py_None));
    return 0;
}

static PyMethodDef methods[] = {
    {"_short_watch", watch, METH_VARARGS,
     "_short_watch($self, kind, places, groups, count, name, made, states, /)\n--\n\nForgets all there was. From now "
     "on leaves are of that kind, and each (dict or object, name, what is there) is looked at, "
     "(dict, name) that is not there, and what (function, None, value) gives. Whether all is there."},
    {"_short_stands", stands, METH_NOARGS,
     "_short_stands($self)\n--\n\nWhether something is watched, and all of it is as it was."},
    {"_short_add", add, METH_VARARGS,
     "_short_add($self, leaves, feeds, rates, compiled, result, built, /)\n--\n\nBatches like this one are for this "
     "program. Whether they can be."},
    {"_short_clear", clear, METH_NOARGS, "_short_clear($self)\n--\n\nForgets what is watched, and all programs."},
    {"_hold", method_hold, METH_NOARGS, "_hold($self)\n--\n\nNo other thread makes a step until _release."},
    {"_release", method_release, METH_NOARGS, NULL},
    {0},
};

static PyGetSetDef getset[] = {
    {"_last", last, set_last, "What the program of the last step was added with.", NULL},
    {0},
};

bool door_setup(PyObject *module)
{
    PyType_Slot slots[] = {
        {Py_tp_new, door_new},
        {Py_tp_dealloc, door_dealloc},
        {Py_tp_traverse, door_traverse},
        {Py_tp_clear, door_clear},
        {Py_tp_call, call},
        {Py_tp_methods, methods},
        {Py_tp_getset, getset},
        {Py_tp_doc,
         "What compiled steps of a framework have in common: a call is one step, by the short way or by _long."},
        {0, NULL},
    };

    return add_type(module, &(PyType_Spec){.name = "reprise.StepBase",
                                           .basicsize = sizeof(door_object),
                                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
                                           .slots = slots}) != NULL;
}
