/* SPDX-License-Identifier: Apache-2.0
 * Options of models, as reprise/nn.py writes them: dicts of optimizers, schedules and batches, tuples of initial
 * values. */
#include "model.h"

static bool number_in(PyObject *dict, const char *key, double *out)
{
    PyObject *value = PyDict_GetItemString(dict, key);

    if (value)
        *out = PyFloat_AsDouble(value);
    return !PyErr_Occurred();
}

static bool count_in(PyObject *dict, const char *key, uint64_t *out)
{
    PyObject *value = PyDict_GetItemString(dict, key);

    if (value)
        *out = PyLong_AsUnsignedLongLong(value);
    return !PyErr_Occurred();
}

static int which(PyObject *dict, const char *key, const char *const *names, int n)
{
    PyObject *value = PyDict_GetItemString(dict, key);

    for (int i = 0; value && i < n; i++)
        if (PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, names[i]) == 0)
            return i;
    return -1;
}

static bool schedule_read(PyObject *dict, rp_nn_schedule *s)
{
    static const char *const curves[] = {"flat", "steps", "cosine", "linear"};
    const int curve = which(dict, "curve", curves, 4);

    if (curve >= 0)
        s->curve = (rp_nn_curve)curve;
    return count_in(dict, "warmup", &s->warmup) && count_in(dict, "total", &s->total) &&
           count_in(dict, "every", &s->every) && number_in(dict, "gamma", &s->gamma) && number_in(dict, "low", &s->low);
}

/* A dict that reprise.nn made. */
bool optimizer_read(PyObject *dict, rp_nn_optimizer *o)
{
    static const char *const rules[] = {"sgd", "adam", "adamw", "rmsprop", "lion", "adagrad", "lamb"};
    static rp_nn_optimizer (*const make[])(double) = {NULL,       rp_nn_adam,    rp_nn_adamw, rp_nn_rmsprop,
                                                      rp_nn_lion, rp_nn_adagrad, rp_nn_lamb};
    const int rule = which(dict, "rule", rules, 7);
    double lr = 0.001;
    PyObject *nesterov = PyDict_GetItemString(dict, "nesterov");

    if (rule < 0) {
        PyErr_SetString(PyExc_ValueError, "an optimizer is what reprise.nn.sgd, adam, adamw, .. return");
        return false;
    }
    if (!number_in(dict, "lr", &lr))
        return false;
    *o = make[rule] ? make[rule](lr) : rp_nn_sgd(lr, 0);
    o->nesterov = nesterov && PyObject_IsTrue(nesterov) == 1;
    return number_in(dict, "weight_decay", &o->weight_decay) && number_in(dict, "momentum", &o->momentum) &&
           number_in(dict, "beta1", &o->beta1) && number_in(dict, "beta2", &o->beta2) &&
           number_in(dict, "eps", &o->eps) && number_in(dict, "alpha", &o->alpha) &&
           number_in(dict, "clip_value", &o->clip_value) && number_in(dict, "clip_norm", &o->clip_norm) &&
           schedule_read(dict, &o->schedule);
}

bool batches_read(PyObject *dict, rp_nn_batches *b)
{
    uint64_t batch = 0, first = 0, rows = 0;
    PyObject *in_order = PyDict_GetItemString(dict, "in_order"), *drop_last = PyDict_GetItemString(dict, "drop_last");

    if (!count_in(dict, "batch", &batch) || !count_in(dict, "first", &first) || !count_in(dict, "rows", &rows))
        return false;
    *b = (rp_nn_batches){.batch = (size_t)batch,
                         .first = (size_t)first,
                         .rows = (size_t)rows,
                         .in_order = in_order && PyObject_IsTrue(in_order) == 1,
                         .drop_last = drop_last && PyObject_IsTrue(drop_last) == 1};
    return true;
}

bool init_read(PyObject *object, rp_nn_init *init)
{
    static const char *const kinds[] = {"constant",        "uniform",        "normal",
                                        "truncated",       "xavier_uniform", "xavier_normal",
                                        "kaiming_uniform", "kaiming_normal", "orthogonal"};
    const char *kind;
    double a = 0, b = 0;

    if (!PyTuple_Check(object) || !PyArg_ParseTuple(object, "s|dd", &kind, &a, &b)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "initial values are what reprise.nn.normal, constant, .. return, found %R",
                     object);
        return false;
    }
    for (int i = 0; i < 9; i++)
        if (strcmp(kind, kinds[i]) == 0) {
            *init = (rp_nn_init){(rp_nn_init_kind)i, a, b};
            return true;
        }
    PyErr_Format(PyExc_ValueError, "'%s' are no initial values", kind);
    return false;
}
