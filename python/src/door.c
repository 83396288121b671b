/* SPDX-License-Identifier: Apache-2.0
 * reprise.StepBase: what a framework's compiled step does at each call, without Python: it looks whether all that a
 * program burned in is still there, takes a batch as it lies in memory, tells the rates, makes the step and reads the
 * loss.
 *
 * It is never the only judge. What it is not certain of it leaves alone: the call then takes the long way, the method
 * _long of what is derived from it, which knows what to do of a number that changed, a batch of another form, or an
 * error. So a look may only err towards "something is different". Threads take turns, one whole call after the other.
 */
#include "door.h"
#include "places.h"

/* The objects to which the parts point are held by `kept`, a list, and `last` by itself. */
typedef struct door_object {
    PyObject_HEAD batches of;
    PyObject *kept, *last;
    place *places;
    size_t n_places;
    PyObject *count, *made, *states; /* the optimizer's attributes, or NULL: nothing is counted; its dict of steps by
                                      * states, and the states */
    PyObject *steps, *turn;          /* names of counts: of steps, and of the batches of the next one that went by */
    long long every;                 /* batches of a step */
    bool busy;
    PyThread_type_lock lock; /* of calls; `owner` may take it again, and counts */
    unsigned long owner;
    unsigned depth;
} door_object;

static void forget(door_object *d)
{
    while (d->of.entries) {
        entry *e = d->of.entries;

        d->of.entries = e->next;
        free(e);
    }
    free(d->places);
    free(d->of.groups);
    d->places = NULL;
    d->of.groups = NULL;
    d->n_places = d->of.n_groups = d->of.n_kinds = 0;
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

/* What a list has now: it may change. */
static bool keep_all(door_object *d, PyObject *list)
{
    PyObject *all = PyList_AsTuple(list);
    const bool done = all && keep(d, all);

    Py_XDECREF(all);
    return done;
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

/* Of a table's leaves the method is looked up once: they are of that very type. */
static bool find_method(door_object *d, leaf_kind *k)
{
    PyObject *found;
    bool done;

    if (!k->exchange || !k->apart)
        return true;
    found = PyObject_GetAttr((PyObject *)k->type, k->apart);
    done = found && keep(d, found);
    k->apart = found;
    k->is_apart = done ? method_of(found) : NULL;
    Py_XDECREF(found);
    return done;
}

/* kinds: (type, name of what is false of plain ones, or None) of each. */
static bool read_kinds(door_object *d, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);

    if (n > KINDS_MAX) {
        PyErr_Format(PyExc_ValueError, "%zd kinds of leaves, at most %d", n, (int)KINDS_MAX);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        leaf_kind *k = &d->of.kind[i];
        PyObject *type, *apart, *of = tuple_at(list, i);

        if (!of || !PyArg_ParseTuple(of, "O!O", &PyType_Type, &type, &apart))
            return false;
        *k = (leaf_kind){(PyTypeObject *)type, exchange_of(type), apart == Py_None ? NULL : apart, NULL};
        if (!find_method(d, k))
            return false;
        d->of.n_kinds++;
    }
    return true;
}

static PyObject *watch(PyObject *self, PyObject *args)
{
    door_object *d = (door_object *)self;
    PyObject *kinds, *places, *groups = NULL, *count = NULL, *steps = NULL, *turn = NULL, *made = NULL, *states = NULL;
    long long every = 1;

    if (!PyArg_ParseTuple(args, "O!O!|O!O!UULO!O:_short_watch", &PyList_Type, &kinds, &PyList_Type, &places,
                          &PyList_Type, &groups, &PyDict_Type, &count, &steps, &turn, &every, &PyDict_Type, &made,
                          &states) ||
        !may_change(d))
        return NULL;
    if (groups && !states) {
        PyErr_SetString(PyExc_TypeError, "groups without what counts their steps");
        return NULL;
    }
    forget(d);
    d->kept = Py_BuildValue("[ONN]", args, PyList_AsTuple(kinds), PyList_AsTuple(places)); /* lists may change */
    if (!d->kept || !read_kinds(d, kinds) || !(d->places = places_read(places, d->kept, &d->n_places)) ||
        (groups && (!keep_all(d, groups) || !groups_read(&d->of, groups)))) {
        forget(d);
        return NULL;
    }
    d->count = count;
    d->steps = steps;
    d->turn = turn;
    d->every = every;
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

static PyObject *add(PyObject *self, PyObject *args)
{
    door_object *d = (door_object *)self;
    PyObject *leaves, *feeds, *rates, *compiled, *result, *built;
    const rp_program *p;
    entry *e;
    int updates = 1, number = 0;

    if (!PyArg_ParseTuple(args, "O!O!O!OOO|pp:_short_add", &PyTuple_Type, &leaves, &PyTuple_Type, &feeds, &PyList_Type,
                          &rates, &compiled, &result, &built, &updates, &number) ||
        !(p = compiled_program(compiled)) || !may_change(d))
        return NULL;
    if (!d->kept)
        return Py_NewRef(Py_False);
    e = entry_new(&d->of, p, leaves, feeds, rates, result, number);
    if (!e || !keep(d, compiled) || !keep(d, built)) {
        free(e);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    }
    e->updates = updates;
    e->compiled = compiled;
    e->built = built;
    e->next = d->of.entries;
    d->of.entries = e;
    return Py_NewRef(Py_True);
}

/* ---- a call ---- */

static bool number_of(const door_object *d, PyObject *name, long long *number)
{
    PyObject *now = PyDict_GetItemWithError(d->count, name);

    *number = now ? PyLong_AsLongLong(now) : -1;
    if (*number < 0)
        PyErr_Clear();
    return *number >= 0;
}

static bool set_number(PyObject *dict, PyObject *key, long long number)
{
    PyObject *value = PyLong_FromLongLong(number);
    const bool done = value && PyDict_SetItem(dict, key, value) == 0;

    Py_XDECREF(value);
    return done;
}

/* How far the optimizer is: steps, and batches of the next one. */
typedef struct progress {
    long long steps, turn;
    bool updates; /* the next batch is the last one of a step */
} progress;

static bool progress_of(const door_object *d, progress *at)
{
    *at = (progress){.updates = true};
    if (!d->count)
        return true;
    if (!number_of(d, d->steps, &at->steps) || (d->every > 1 && !number_of(d, d->turn, &at->turn)))
        return false;
    at->updates = at->turn + 1 >= d->every;
    return true;
}

/* One step more, by all and of these states; or a batch more of the next. */
static bool count_step(const door_object *d, const progress *at)
{
    PyObject *made = d->count ? PyDict_GetItemWithError(d->made, d->states) : NULL;
    const long long before = made ? PyLong_AsLongLong(made) : 0;

    if (!d->count)
        return true;
    if (d->every > 1 && (PyErr_Occurred() || !set_number(d->count, d->turn, at->updates ? 0 : at->turn + 1)))
        return false;
    if (!at->updates)
        return true;
    return !PyErr_Occurred() && set_number(d->count, d->steps, at->steps + 1) &&
           set_number(d->made, d->states, before + 1);
}

static PyObject *as_number(const rp_type *type, void *bytes)
{
    const double value = type->dtype == RP_F64 ? *(double *)bytes : (double)*(float *)bytes;

    free(bytes);
    return PyFloat_FromDouble(value);
}

/* The results as they are given; takes the bytes of each, of which none stays in `bytes`. */
static PyObject *as_results(const entry *e, void **bytes)
{
    PyObject *found = e->several ? PyTuple_New((Py_ssize_t)e->n_results) : NULL;

    for (size_t i = 0; i < e->n_results; i++) {
        void *own = bytes[i];
        PyObject *one = NULL;

        bytes[i] = NULL;
        if (!e->several)
            return e->number ? as_number(e->result_type, own) : tensor_of_value(e->result_type, own);
        if (found)
            one = tensor_of_value(&e->result_type[i], own);
        else
            free(own);
        if (found && (!one || PyTuple_SetItem(found, (Py_ssize_t)i, one) != 0))
            Py_CLEAR(found);
    }
    return found;
}

/* Of what is large at the place where a result can be made. */
static void *room_for(size_t size)
{
    enum { SMALL = 4096, ALIGNMENT = 64 };
    void *made = NULL;

    if (size < SMALL)
        return malloc(size + !size);
    return posix_memalign(&made, ALIGNMENT, size) == 0 ? made : NULL;
}

/* With what was found certain. `last` is the program's before it runs: who catches an error wants to know of which. */
static PyObject *make_step(door_object *d, const entry *e, const fed *feeds, const progress *at)
{
    void *bytes[RESULTS_MAX] = {NULL};
    fed results[RESULTS_MAX];
    PyObject *found = NULL;
    bool room = true;

    for (size_t i = 0; i < e->n_results; i++) {
        room &= (bytes[i] = room_for(e->result[i].size)) != NULL;
        results[i] = e->result[i];
        results[i].bytes = bytes[i];
    }
    if (!room)
        PyErr_NoMemory();
    else if (d->last != e->built)
        replace(&d->last, Py_NewRef(e->built));
    if (room && compiled_once(e->compiled, feeds, e->n_fed + e->n_rates, results, e->n_results) && count_step(d, at))
        found = as_results(e, bytes);
    for (size_t i = 0; i < e->n_results; i++)
        free(bytes[i]);
    return found;
}

static PyObject *pass_looked(door_object *d, const look *l)
{
    fed feeds[LEAVES_MAX + RATES_MAX];
    double store[RATES_MAX];
    progress at;
    entry *e;

    if (!progress_of(d, &at) || !(e = entry_of(&d->of, l, at.updates)))
        return Py_NewRef(Py_None);
    memcpy(feeds, e->feeds, (e->n_fed + e->n_rates) * sizeof *feeds);
    for (size_t i = 0; i < l->n; i++)
        if (e->feed[i] != SIZE_MAX)
            feeds[e->feed[i]].bytes = (void *)(uintptr_t)l->leaf[i].bytes; /* which is only read */
    if (!tell_rates(&d->of, e, at.steps, feeds + e->n_fed, store)) {
        PyErr_Clear(); /* of what a group's keys do when they are compared */
        return Py_NewRef(Py_None);
    }
    return make_step(d, e, feeds, &at);
}

static PyObject *pass(door_object *d, PyObject *leaves)
{
    PyObject *found;
    look l;

    if (!d->of.entries || !all_stand(d))
        return Py_NewRef(Py_None);
    found = look_at_all(&d->of, leaves, &l) ? pass_looked(d, &l) : Py_NewRef(Py_None);
    look_away(&l);
    return found;
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
    d->of.lr = PyUnicode_InternFromString("lr");
    d->lock = PyThread_allocate_lock();
    if (d->of.lr && d->lock)
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
    Py_XDECREF(d->of.lr);
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
     "_short_watch($self, kinds, places, groups=.., count=.., steps=.., turn=.., every=.., made=.., states=.., /)"
     "\n--\n\n"
     "Forgets all there was. From now on leaves are of these kinds, (type, name of what is false of plain ones, or "
     "None), and each (dict or object, name, what is there) is looked at, (dict, name) that is not there, what "
     "(function, None, value) gives, and that of ((dict, numbers), name) the dict has no fewer items than the dict of "
     "numbers says by the name. Without groups nothing is counted. Whether all is there."},
    {"_short_stands", stands, METH_NOARGS,
     "_short_stands($self)\n--\n\nWhether something is watched, and all of it is as it was."},
    {"_short_add", add, METH_VARARGS,
     "_short_add($self, leaves, feeds, rates, compiled, result, built, updates=True, number=False, /)\n--\n\n"
     "Batches like this one are for this program, where they are the last ones of a step, or where they are not. "
     "Its result is given as a tensor or as a number. Whether they can be."},
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
