/* SPDX-License-Identifier: Apache-2.0
 * Regions of a builder: call, scan, map, cond, while. Their operands may be many, and go straight into arrays. */
#include "binding.h"

enum { GROUPS = 3, FUNCTIONS_MAX = 64 };

typedef struct region_call {
    home *home;
    const rp_function *function[FUNCTIONS_MAX];
    size_t n_functions;
    rp_tensor *in[GROUPS];
    size_t n[GROUPS];
    PyObject *held; /* the functions, where a sequence gave them */
} region_call;

static home *home_of(PyObject *self)
{
    home *const *h = (home *const *)(void *)((char *)self + sizeof(PyObject));

    return *h;
}

static bool take_group(region_call *r, int group, PyObject *sequence)
{
    const Py_ssize_t n = sequence ? PySequence_Size(sequence) : 0;

    if (n < 0)
        return false;
    r->in[group] = calloc((size_t)n + 1, sizeof *r->in[group]);
    if (!r->in[group]) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const bool fits = item && is_tensor(item) && ((tensor_object *)item)->home == r->home;

        if (fits)
            r->in[group][i] = ((tensor_object *)item)->handle;
        else if (item)
            PyErr_Format(PyExc_TypeError, "operand %zd of a region: expected a tensor of this builder, found %R", i,
                         item);
        Py_XDECREF(item); /* the graph keeps the value */
        if (!fits)
            return false;
    }
    r->n[group] = (size_t)n;
    return true;
}

static bool take_function(region_call *r, PyObject *object)
{
    const rp_function *function = function_of(object);

    if (!function)
        return false;
    if (r->n_functions == FUNCTIONS_MAX) {
        PyErr_Format(PyExc_ValueError, "more than %d functions", FUNCTIONS_MAX);
        return false;
    }
    r->function[r->n_functions++] = function;
    return true;
}

static bool take_functions(region_call *r, PyObject *sequence)
{
    PyObject *items = PySequence_Tuple(sequence);
    bool done = items != NULL;

    for (Py_ssize_t i = 0; done && i < PyTuple_Size(items); i++)
        done = take_function(r, PyTuple_GetItem(items, i));
    r->held = items;
    return done;
}

static bool begin(region_call *r, PyObject *self)
{
    *r = (region_call){.home = home_of(self)};
    return home_ready(r->home);
}

static void end(region_call *r)
{
    for (int i = 0; i < GROUPS; i++)
        free(r->in[i]);
    Py_XDECREF(r->held);
}

static size_t outputs_of(const rp_function *function)
{
    return rp_program_count(rp_function_body(function)).outputs;
}

static PyObject *results(region_call *r, const rp_tensor *out, size_t n, operands *o)
{
    PyObject *made = operands_results(o, out, n);

    end(r);
    return made;
}

/* Room for n outputs, and for as many as functions that do not fit would fill. */
static bool enter(region_call *r, operands *o, const char *name, rp_tensor **out, size_t n)
{
    size_t most = n;

    for (size_t i = 0; i < r->n_functions; i++)
        if (outputs_of(r->function[i]) + r->n[0] + 1 > most)
            most = outputs_of(r->function[i]) + r->n[0] + 1;
    *out = calloc(most + 1, sizeof **out);
    if (!*out) {
        PyErr_NoMemory();
        end(r);
        return false;
    }
    if (!operands_begin(o, r->home, name)) {
        free(*out);
        end(r);
        return false;
    }
    operands_enter(o);
    return true;
}

PyObject *regions_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "args", NULL};
    PyObject *function, *in = NULL, *made;
    region_call r;
    operands o;
    rp_tensor *out;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:call", names, &function, &in) || !begin(&r, self))
        return NULL;
    if (!take_function(&r, function) || !take_group(&r, 0, in)) {
        end(&r);
        return NULL;
    }
    if (!enter(&r, &o, "call", &out, outputs_of(r.function[0])))
        return NULL;
    rp_call(r.home->graph, r.function[0], r.in[0], r.n[0], out);
    made = results(&r, out, outputs_of(r.function[0]), &o);
    free(out);
    return made;
}

PyObject *regions_scan(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "times", "carried", "sliced", "shared", "reverse", "history", NULL};
    PyObject *function, *group[GROUPS] = {NULL}, *made;
    unsigned long long times;
    int reverse = 0, history = 0;
    region_call r;
    operands o;
    rp_tensor *out;
    size_t n;
    bool taken;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OK|OOOpp:scan", names, &function, &times, &group[0], &group[1],
                                     &group[2], &reverse, &history) ||
        !begin(&r, self))
        return NULL;
    taken = take_function(&r, function);
    for (int i = 0; taken && i < GROUPS; i++)
        taken = take_group(&r, i, group[i]);
    if (!taken) {
        end(&r);
        return NULL;
    }
    n = outputs_of(r.function[0]) + (history ? r.n[0] : 0);
    if (!enter(&r, &o, "scan", &out, n))
        return NULL;
    rp_scan(r.home->graph,
            &(rp_scan_options){.function = r.function[0],
                               .carried = r.in[0],
                               .sliced = r.in[1],
                               .shared = r.in[2],
                               .n_carried = r.n[0],
                               .n_sliced = r.n[1],
                               .n_shared = r.n[2],
                               .times = times,
                               .reverse = reverse,
                               .history = history},
            out);
    made = results(&r, out, n, &o);
    free(out);
    return made;
}

PyObject *regions_cond(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"selector", "functions", "args", NULL};
    PyObject *selector, *functions, *in = NULL, *made;
    region_call r;
    operands o;
    rp_tensor *out;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:cond", names, &selector, &functions, &in) || !begin(&r, self))
        return NULL;
    if (!is_tensor(selector) || ((tensor_object *)selector)->home != r.home) {
        PyErr_SetString(PyExc_TypeError, "cond: the selector is a tensor of this builder, i64 [] or bool []");
        return NULL;
    }
    if (!take_functions(&r, functions) || !take_group(&r, 0, in)) {
        end(&r);
        return NULL;
    }
    if (r.n_functions == 0) {
        PyErr_SetString(PyExc_ValueError, "cond: no function");
        end(&r);
        return NULL;
    }
    if (!enter(&r, &o, "cond", &out, outputs_of(r.function[0])))
        return NULL;
    rp_cond(r.home->graph, ((tensor_object *)selector)->handle, r.function, r.n_functions, r.in[0], r.n[0], out);
    made = results(&r, out, outputs_of(r.function[0]), &o);
    free(out);
    return made;
}

PyObject *regions_while(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"body", "predicate", "limit", "carried", "shared", NULL};
    PyObject *body, *predicate, *carried = NULL, *shared = NULL, *made;
    unsigned long long limit;
    region_call r;
    operands o;
    rp_tensor *out;
    size_t n;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOK|OO:while_", names, &body, &predicate, &limit, &carried,
                                     &shared) ||
        !begin(&r, self))
        return NULL;
    if (!take_function(&r, body) || !take_function(&r, predicate) || !take_group(&r, 0, carried) ||
        !take_group(&r, 1, shared)) {
        end(&r);
        return NULL;
    }
    n = 1 + r.n[0];
    if (!enter(&r, &o, "while", &out, n))
        return NULL;
    rp_while(r.home->graph,
             &(rp_while_options){.body = r.function[0],
                                 .predicate = r.function[1],
                                 .carried = r.in[0],
                                 .n_carried = r.n[0],
                                 .shared = r.in[1],
                                 .n_shared = r.n[1],
                                 .limit = limit},
             out);
    made = results(&r, out, n, &o);
    free(out);
    return made;
}

/* ---- map ---- */

static bool read_cuts(PyObject *sequence, uint64_t **cuts, size_t *n)
{
    const Py_ssize_t length = PySequence_Size(sequence);

    *cuts = length < 0 ? NULL : calloc((size_t)length + 1, sizeof **cuts);
    *n = length < 0 ? 0 : (size_t)length;
    if (!*cuts && !PyErr_Occurred())
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; *cuts && i < length; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);

        (*cuts)[i] = item ? PyLong_AsUnsignedLongLong(item) : 0;
        Py_XDECREF(item);
    }
    return *cuts && !PyErr_Occurred();
}

static bool read_combine(PyObject *sequence, rp_combine combine[OPERANDS_MAX], size_t *n)
{
    static const char *const kinds[] = {"tree", "stack", "concat"};
    PyObject *items = PySequence_Tuple(sequence);

    *n = items ? (size_t)PyTuple_Size(items) : 0;
    for (size_t i = 0; items && i < *n && !PyErr_Occurred(); i++) {
        PyObject *item = PyTuple_GetItem(items, (Py_ssize_t)i);
        int kind = PyUnicode_Check(item) ? 0 : 3;

        while (kind < 3 && i < OPERANDS_MAX && PyUnicode_CompareWithASCIIString(item, kinds[kind]) != 0)
            kind++;
        if (kind == 3 || i == OPERANDS_MAX)
            PyErr_Format(PyExc_ValueError, "map: combine is 'tree', 'stack' or 'concat' for each output, at most %d",
                         OPERANDS_MAX);
        else
            combine[i] = (rp_combine)kind;
    }
    Py_XDECREF(items);
    return items && !PyErr_Occurred();
}

PyObject *regions_map(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"functions", "cuts", "combine", "sliced", "shared", "first", NULL};
    PyObject *functions, *cut, *how, *sliced = NULL, *shared = NULL, *made = NULL;
    unsigned long long first = 0;
    uint64_t *cuts = NULL;
    rp_combine combine[OPERANDS_MAX];
    size_t n_cuts, n;
    region_call r;
    operands o;
    rp_tensor *out;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|OOK:map", names, &functions, &cut, &how, &sliced, &shared,
                                     &first) ||
        !begin(&r, self))
        return NULL;
    if (!take_functions(&r, functions) || !take_group(&r, 0, sliced) || !take_group(&r, 1, shared) ||
        !read_cuts(cut, &cuts, &n_cuts) || !read_combine(how, combine, &n)) {
        free(cuts);
        end(&r);
        return NULL;
    }
    if (enter(&r, &o, "map", &out, n)) {
        rp_map(r.home->graph,
               &(rp_map_options){.function = r.function,
                                 .n_function = r.n_functions,
                                 .sliced = r.in[0],
                                 .n_sliced = r.n[0],
                                 .shared = r.in[1],
                                 .n_shared = r.n[1],
                                 .cuts = cuts,
                                 .n_cuts = n_cuts,
                                 .first = first,
                                 .combine = combine,
                                 .n_combine = n},
               out);
        made = results(&r, out, n, &o);
        free(out);
    }
    free(cuts);
    return made;
}
