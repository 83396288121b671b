/* SPDX-License-Identifier: Apache-2.0
 * The batches of a compiled step: tensors as they lie in a framework's memory, which program is for batches like one,
 * and the numbers that an optimizer tells at a step. What is not certain is left to the long way: a look gives false
 * then, and sets no exception. */
#include "door.h"

#include <math.h>

#include "places.h"

const dl_exchange *exchange_of(PyObject *kind)
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

bool groups_read(batches *b, PyObject *list)
{
    const Py_ssize_t n = PyList_Size(list);

    b->groups = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *b->groups);
    if (!b->groups) {
        if (n >= 0)
            PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        group *g = &b->groups[i];
        PyObject *of = tuple_at(list, i);

        if (!of || !PyArg_ParseTuple(of, "O!Lddd", &PyDict_Type, &g->own, &g->behind, &g->beta1, &g->beta2, &g->decay))
            return false;
        b->n_groups++;
    }
    return true;
}

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

/* PyTorch may keep numbers as the negative of what lies in memory, which DLPack does not tell; JAX promotes arrays that
 * come of a number of Python in another way. */
static bool stands_apart(const leaf_kind *k, PyObject *leaf)
{
    PyObject *is = !k->apart     ? Py_NewRef(Py_False)
                   : k->is_apart ? k->is_apart(leaf, NULL)
                   : k->exchange ? PyObject_CallFunctionObjArgs(k->apart, leaf, NULL)
                                 : PyObject_GetAttr(leaf, k->apart);
    const bool found = is != Py_False;

    Py_XDECREF(is);
    return found;
}

static bool look_by_table(const leaf_kind *k, PyObject *leaf, seen *s)
{
    dl_tensor t = {0};

    if (k->exchange->look(leaf, &t) != 0 || t.device.type != DL_CPU || !exchange_type(&t, &s->type) ||
        !contiguous(&t) || (!t.data && type_count(&s->type) != 0))
        return false;
    s->bytes = (const char *)t.data + t.byte_offset;
    return (t.dtype.code != DL_FLOAT && t.dtype.code != DL_BFLOAT && t.dtype.code != DL_INT) || !stands_apart(k, leaf);
}

static bool look_by_buffer(const leaf_kind *k, PyObject *leaf, seen *s)
{
    if (stands_apart(k, leaf) || PyObject_GetBuffer(leaf, &s->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0)
        return false;
    s->held = true;
    s->bytes = s->view.buf;
    return buffer_type(&s->view, &s->type);
}

static void let_go(seen *s)
{
    if (s->held)
        PyBuffer_Release(&s->view);
    s->held = false;
}

/* What a leaf is, where it lies in this processor's memory, row-major, until let_go. False, without an exception, of
 * all else. */
static bool look_at(const batches *b, PyObject *leaf, seen *s)
{
    size_t at = 0;
    bool done;

    s->held = false;
    while (at < b->n_kinds && b->kind[at].type != Py_TYPE(leaf))
        at++;
    if (at == b->n_kinds)
        return false;
    done = b->kind[at].exchange ? look_by_table(&b->kind[at], leaf, s) : look_by_buffer(&b->kind[at], leaf, s);
    if (!done) {
        let_go(s);
        PyErr_Clear();
    }
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
static bool take_leaves(const batches *b, entry *e, const rp_program *p, PyObject *leaves, PyObject *feeds)
{
    const Py_ssize_t n = PyTuple_Size(leaves);

    if (n > LEAVES_MAX || PyTuple_Size(feeds) != n)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        seen s;
        PyObject *name = PyTuple_GetItem(feeds, i);

        if (!look_at(b, PyTuple_GetItem(leaves, i), &s))
            return false;
        e->type[i] = s.type;
        let_go(&s);
        e->feed[i] = name == Py_None ? SIZE_MAX : e->n_fed;
        if (name != Py_None && !input_named(p, name, &e->type[i], &e->feeds[e->n_fed++]))
            return false;
        e->n_leaves++;
    }
    return true;
}

/* rates: (feed, group, kind) of each. */
static bool take_rates(const batches *b, entry *e, const rp_program *p, PyObject *rates)
{
    const Py_ssize_t n = PyList_Size(rates);

    if (n > RATES_MAX)
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        rate *r = &e->rate[e->n_rates];
        PyObject *name, *three = tuple_at(rates, i);
        unsigned kind, of;

        if (!three || !PyArg_ParseTuple(three, "UII", &name, &of, &kind) || of >= b->n_groups || kind >= RATE_KINDS)
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

static bool take_result(entry *e, const rp_program *p, PyObject *name)
{
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    rp_output_info info;

    for (size_t i = 0; text && e->n_results < RESULTS_MAX && rp_program_output(p, i, &info); i++)
        if (info.kind == RP_OUTPUT_RESULT && strcmp(info.name, text) == 0) {
            e->result[e->n_results] = (fed){.name = info.name, .size = type_bytes(&info.type)};
            e->result_type[e->n_results++] = info.type;
            return true;
        }
    return false;
}

static bool take_results(entry *e, const rp_program *p, PyObject *results, bool number)
{
    const rp_type *first = e->result_type;

    e->number = number;
    e->several = PyTuple_Check(results);
    if (!e->several)
        return take_result(e, p, results) &&
               (!number || (type_count(first) == 1 && (first->dtype == RP_F32 || first->dtype == RP_F64)));
    for (Py_ssize_t i = 0; i < PyTuple_Size(results); i++)
        if (!take_result(e, p, PyTuple_GetItem(results, i)))
            return false;
    return !number;
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

entry *entry_new(const batches *b, const rp_program *p, PyObject *leaves, PyObject *feeds, PyObject *rates,
                 PyObject *results, bool number)
{
    entry *e = calloc(1, sizeof *e);

    if (!e)
        return (entry *)PyErr_NoMemory();
    if (take_leaves(b, e, p, leaves, feeds) && take_rates(b, e, p, rates) && take_results(e, p, results, number) &&
        complete(e, p))
        return e;
    free(e);
    return NULL;
}

bool look_at_all(const batches *b, PyObject *leaves, look *l)
{
    const Py_ssize_t n = PyTuple_Size(leaves);

    l->n = 0;
    if (n > LEAVES_MAX)
        return false;
    for (; l->n < (size_t)n; l->n++)
        if (!look_at(b, PyTuple_GetItem(leaves, (Py_ssize_t)l->n), &l->leaf[l->n]))
            return false;
    return true;
}

void look_away(look *l)
{
    while (l->n > 0)
        let_go(&l->leaf[--l->n]);
}

entry *entry_of(const batches *b, const look *l, bool updates)
{
    for (entry *e = b->entries; e; e = e->next) {
        size_t alike = 0;

        while (alike < e->n_leaves && alike < l->n && types_equal(&e->type[alike], &l->leaf[alike].type))
            alike++;
        if (alike == e->n_leaves && alike == l->n && e->updates == updates)
            return e;
    }
    return NULL;
}

/* The formulas are those of Python's floats, whose powers are the C library's too. */
static bool rate_now(const batches *b, const rate *r, long long steps, double *value)
{
    const group *g = &b->groups[r->group];
    const double t = (double)(steps + g->behind + 1);
    PyObject *lr;

    if (r->kind == RATE_STEP) {
        *value = t;
        return true;
    }
    if (r->kind != RATE_LR) {
        *value = 1 - pow(r->kind == RATE_C1 ? g->beta1 : g->beta2, t);
        return true;
    }
    lr = PyDict_GetItemWithError(g->own, b->lr);
    if (!lr || Py_TYPE(lr) != &PyFloat_Type)
        return false;
    *value = PyFloat_AsDouble(lr);
    if (g->decay >= 0)
        *value /= 1 + (t - 1) * g->decay;
    return true;
}

bool tell_rates(const batches *b, const entry *e, long long steps, fed *feeds, double *store)
{
    for (size_t i = 0; i < e->n_rates; i++) {
        double value;

        if (!rate_now(b, &e->rate[i], steps, &value))
            return false;
        if (e->rate[i].wide)
            memcpy(&store[i], &value, sizeof value);
        else
            memcpy(&store[i], &(float){(float)value}, sizeof(float));
        feeds[i].bytes = &store[i];
    }
    return true;
}
