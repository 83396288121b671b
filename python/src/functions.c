/* SPDX-License-Identifier: Apache-2.0
 * The library's calls that are written in several operations, by a table: what their operands are called, and how they
 * are passed. Each kind of passing is one case of `invoke`. */
#include "binding.h"

typedef void any_call(void);

/* How operands are passed: t a tensor, T tensors and their number, d a real, i an axis, l an integer, b a bool (false
 * where it is not given), R axes and whether they are kept (all, and not), r what becomes of a loss's elements
 * ("mean"). */
typedef struct row {
    const char *name, *how, *names;
    any_call *call;
    const char *doc;
} row;

#define ROW(name, how, names, doc) \
    { \
#name, how, names, (any_call *)rp_##name, doc \
    }
static const row rows[] = {
    ROW(isnan, "t", "x", "Whether each element is a NaN: bool."),
    ROW(isinf, "t", "x", "Whether each element is infinite: bool."),
    ROW(isfinite, "t", "x", "Whether each element is a number: bool."),
    ROW(reciprocal, "t", "x", "1 / x."),
    ROW(square, "t", "x", "x x."),
    ROW(asinh, "t", "x", "The inverse hyperbolic sine."),
    ROW(acosh, "t", "x", "The inverse hyperbolic cosine; NaN below 1."),
    ROW(atanh, "t", "x", "The inverse hyperbolic tangent; NaN beyond 1."),
    ROW(relu6, "t", "x", "x between 0 and 6."),
    ROW(hardsigmoid, "t", "x", "(x + 3) / 6 between 0 and 1."),
    ROW(hardswish, "t", "x", "x hardsigmoid(x)."),
    ROW(mish, "t", "x", "x tanh(softplus(x))."),
    ROW(selu, "t", "x", "The self-normalizing ELU."),
    ROW(softsign, "t", "x", "x / (1 + |x|)."),
    ROW(logsigmoid, "t", "x", "The logarithm of the sigmoid."),
    ROW(tanhshrink, "t", "x", "x - tanh(x)."),
    ROW(gelu_tanh, "t", "x", "The approximation of gelu by a tanh."),
    ROW(count_true, "t", "mask", "How many elements are true: i64 []."),
    ROW(celu, "td", "x, alpha", "x, or alpha (e^(x / alpha) - 1) where x <= 0."),
    ROW(softshrink, "td", "x, limit", "x less what of it lies between -limit and limit."),
    ROW(hardshrink, "td", "x, limit", "x, or 0 where |x| <= limit."),
    ROW(clamp, "tdd", "x, low, high", "x between low and high."),
    ROW(threshold, "tdd", "x, threshold, value", "x, or the value where x <= threshold."),
    ROW(glu, "ti", "x, axis", "The first half of the axis times the sigmoid of the second."),
    ROW(tril, "tl", "x, diagonal", "[.., r, c]: 0 above the diagonal."),
    ROW(triu, "tl", "x, diagonal", "[.., r, c]: 0 below the diagonal."),
    ROW(diagonal, "tl", "x, diagonal", "[.., r, c] to its elements along the diagonal."),
    ROW(floor_divide, "tt", "a, b", "The quotient rounded down."),
    ROW(trunc_divide, "tt", "a, b", "The quotient rounded toward 0."),
    ROW(xlogy, "tt", "x, y", "x log(y), 0 where x is 0."),
    ROW(prelu, "tt", "x, slope", "x, or slope x where x <= 0."),
    ROW(gather_nd, "tt", "x, index", "index [.., r]: places along x's first r axes."),
    ROW(mse, "tt", "prediction, target", "The mean square of the differences: []."),
    ROW(bce_with_logits, "tt", "logits, target", "The mean binary cross entropy: []."),
    ROW(cross_entropy, "tt", "logits, labels", "The mean cross entropy of logits [rows, classes], labels [rows]: []."),
    ROW(embedding, "tt", "table, index", "Rows of the table [v, d] by index [..]: [.., d]."),
    ROW(sum, "tR", "x, axes, keep", "The sum over axes, all by default."),
    ROW(mean, "tR", "x, axes, keep", "The mean over axes."),
    ROW(max, "tR", "x, axes, keep", "The greatest over axes."),
    ROW(min, "tR", "x, axes, keep", "The least over axes."),
    ROW(prod, "tR", "x, axes, keep", "The product over axes."),
    ROW(any, "tR", "x, axes, keep", "Whether some element is not 0, over axes."),
    ROW(all, "tR", "x, axes, keep", "Whether no element is 0, over axes."),
    ROW(count_nonzero, "tR", "x, axes, keep", "How many elements are not 0, over axes: i64."),
    ROW(logsumexp, "tR", "x, axes, keep", "log(sum(exp(x))) over axes, without overflow."),
    ROW(argmax, "tib", "x, axis, keep", "The place of the first maximum along an axis: i64."),
    ROW(argmin, "tib", "x, axis, keep", "The place of the first minimum along an axis: i64."),
    ROW(cumsum, "tib", "x, axis, reverse", "Running sums along an axis."),
    ROW(cumprod, "tib", "x, axis, reverse", "Running products along an axis."),
    ROW(argsort, "tib", "x, axis, descending", "Where the elements of an axis are, in their order: i64."),
    ROW(take_along, "tti", "x, index, axis", "x at the places of index along an axis."),
    ROW(mse_loss, "ttr", "x, target, reduction", "Squares of the differences."),
    ROW(l1_loss, "ttr", "x, target, reduction", "Magnitudes of the differences."),
    ROW(hinge_loss, "ttr", "x, y, reduction", "max(0, 1 - y x)."),
    ROW(soft_margin_loss, "ttr", "x, y, reduction", "log(1 + exp(-y x))."),
    ROW(huber_loss, "ttdr", "x, target, delta, reduction", "Squares up to delta, straight from there on."),
    ROW(smooth_l1_loss, "ttdr", "x, target, beta, reduction", "huber_loss over beta."),
    ROW(hinge_embedding_loss, "ttdr", "x, y, margin, reduction", "x, or max(0, margin - x) where y is -1."),
    ROW(info_nce_loss, "ttdr", "query, key, temperature, reduction", "Row i of the one belongs to row i of the other."),
    ROW(margin_ranking_loss, "tttdr", "a, b, y, margin, reduction", "max(0, margin - y (a - b))."),
    ROW(cosine_embedding_loss, "tttdr", "a, b, y, margin, reduction", "1 - cos, or max(0, cos - margin)."),
    ROW(triplet_margin_loss, "tttdr", "anchor, positive, negative, margin, reduction",
        "max(0, margin + one distance - the other)."),
    ROW(concat, "Ti", "tensors, axis", "One after the other along an axis."),
    ROW(stack, "Ti", "tensors, axis", "One after the other along a new axis."),
};

enum { ARGUMENTS_MAX = 6, ROWS = sizeof rows / sizeof *rows };

typedef struct arguments {
    double d[2];
    int64_t l;
    int i, axis[RP_MAX_RANK], axes;
    bool b;
    rp_reduction r;
    size_t reals;
} arguments;

/* ---- what the caller gave ---- */

static bool name_at(const row *f, size_t i, char out[32])
{
    const char *name = f->names, *end;

    for (; i > 0; i--) {
        name = strstr(name, ", ");
        if (!name)
            return false;
        name += 2;
    }
    end = strstr(name, ", ");
    (void)snprintf(out, 32, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
    return true;
}

/* Into their places, in the order of the names. */
static bool place(const row *f, PyObject *const *args, Py_ssize_t n, PyObject *names, PyObject *at[ARGUMENTS_MAX])
{
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    char name[32];

    for (Py_ssize_t i = 0; i < n; i++) {
        if (i == ARGUMENTS_MAX || !name_at(f, (size_t)i, name)) {
            PyErr_Format(PyExc_TypeError, "%s(%s): too many arguments", f->name, f->names);
            return false;
        }
        at[i] = args[i];
    }
    for (Py_ssize_t k = 0; k < named; k++) {
        PyObject *key = PyTuple_GetItem(names, k);
        size_t i = 0;

        while (name_at(f, i, name) && PyUnicode_CompareWithASCIIString(key, name) != 0)
            i++;
        if (i >= ARGUMENTS_MAX || !name_at(f, i, name) || at[i]) {
            PyErr_Format(PyExc_TypeError, "%s(%s): argument %U is unknown or given twice", f->name, f->names, key);
            return false;
        }
        at[i] = args[n + k];
    }
    return true;
}

static bool read_reduction(PyObject *object, rp_reduction *r)
{
    static const char *const names[] = {"none", "sum", "mean", "batch"};
    static const rp_reduction kinds[] = {RP_REDUCE_NONE, RP_REDUCE_SUM, RP_REDUCE_MEAN, RP_REDUCE_BATCH};

    for (int i = 0; i < 4; i++)
        if (PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
            *r = kinds[i];
            return true;
        }
    PyErr_SetString(PyExc_ValueError, "reduction is 'mean', 'sum', 'none' or 'batch'");
    return false;
}

static bool read_axes(PyObject *object, arguments *a)
{
    int64_t list[RP_MAX_RANK];
    size_t n;

    if (object == Py_None)
        return true;
    if (!list_read(object, list, RP_MAX_RANK, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        a->axis[i] = axis_of(list[i]);
    a->axes = (int)n;
    return true;
}

static bool read_one(const row *f, char how, PyObject *object, arguments *a)
{
    char missing = !object && !strchr("bRrl", how);

    if (missing) {
        PyErr_Format(PyExc_TypeError, "%s(%s): an argument is missing", f->name, f->names);
        return false;
    }
    if (!object)
        return true;
    switch (how) {
    case 'd':
        a->d[a->reals++] = PyFloat_AsDouble(object);
        break;
    case 'i':
        a->i = axis_of(PyLong_AsLongLong(object));
        break;
    case 'l':
        a->l = PyLong_AsLongLong(object);
        break;
    case 'b':
        a->b = PyObject_IsTrue(object) == 1;
        break;
    case 'R':
        return read_axes(object, a);
    case 'r':
        return read_reduction(object, &a->r);
    default:
        break;
    }
    return !PyErr_Occurred();
}

/* ---- calling ---- */

#define IS(text) (strcmp(f->how, text) == 0)
#define AS(...) ((rp_tensor(*)(__VA_ARGS__))f->call)

static rp_tensor invoke(const row *f, const operands *o, const arguments *a)
{
    const rp_tensor *t = o->in;

    return IS("t")       ? AS(rp_tensor)(t[0])
           : IS("td")    ? AS(rp_tensor, double)(t[0], a->d[0])
           : IS("tdd")   ? AS(rp_tensor, double, double)(t[0], a->d[0], a->d[1])
           : IS("ti")    ? AS(rp_tensor, int)(t[0], a->i)
           : IS("tl")    ? AS(rp_tensor, int64_t)(t[0], a->l)
           : IS("tt")    ? AS(rp_tensor, rp_tensor)(t[0], t[1])
           : IS("tti")   ? AS(rp_tensor, rp_tensor, int)(t[0], t[1], a->i)
           : IS("tR")    ? AS(rp_tensor, const int *, int, bool)(t[0], a->axis, a->axes, a->b)
           : IS("tib")   ? AS(rp_tensor, int, bool)(t[0], a->i, a->b)
           : IS("ttr")   ? AS(rp_tensor, rp_tensor, rp_reduction)(t[0], t[1], a->r)
           : IS("ttdr")  ? AS(rp_tensor, rp_tensor, double, rp_reduction)(t[0], t[1], a->d[0], a->r)
           : IS("tttdr") ? AS(rp_tensor, rp_tensor, rp_tensor, double, rp_reduction)(t[0], t[1], t[2], a->d[0], a->r)
                         : AS(const rp_tensor *, size_t, int)(t, o->n, a->i);
}

static PyObject *call_operands(const row *f, PyObject *const *in, size_t n, const arguments *a)
{
    operands o;
    rp_tensor out;
    rp_type type;

    if (!operands_begin(&o, operands_home(in, n), f->name))
        return NULL;
    if (!operands_add_all(&o, in, n)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    out = invoke(f, &o, a);
    (void)type_of(out, &type);
    return operands_result(&o, out, &type);
}

static PyObject *call_list(const row *f, PyObject *sequence, const arguments *a)
{
    PyObject *items = PySequence_Tuple(sequence), *in[OPERANDS_MAX], *made = NULL;
    const Py_ssize_t n = items ? PyTuple_Size(items) : 0;

    if (n == 0 || n > OPERANDS_MAX) {
        if (items)
            PyErr_Format(PyExc_ValueError, "%s: 1 to %d tensors", f->name, OPERANDS_MAX);
    } else {
        for (Py_ssize_t i = 0; i < n; i++)
            in[i] = PyTuple_GetItem(items, i);
        made = call_operands(f, in, (size_t)n, a);
    }
    Py_XDECREF(items);
    return made;
}

static PyObject *call_row(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    const row *f = PyCapsule_GetPointer(self, "reprise.function");
    PyObject *at[ARGUMENTS_MAX + 1] = {NULL}, *in[ARGUMENTS_MAX];
    arguments a = {.r = RP_REDUCE_MEAN};
    size_t n_in = 0, k = 0;

    if (!f || !place(f, args, n, names, at))
        return NULL;
    for (const char *how = f->how; *how; how++, k++) {
        if (!read_one(f, *how, at[k], &a))
            return NULL;
        if (*how == 't')
            in[n_in++] = at[k];
        if (*how == 'R' && !read_one(f, 'b', at[++k], &a)) /* axes, keep */
            return NULL;
    }
    return *f->how == 'T' ? call_list(f, at[0], &a) : call_operands(f, in, n_in, &a);
}

/* "x, low, high" with what may be left out behind it. */
static PyObject *make_function(const row *f)
{
    PyMethodDef *method = calloc(1, sizeof *method);
    PyObject *capsule, *function;
    char *doc = malloc(512), name[32];
    size_t at = 0, k = 0;

    if (!method || !doc) {
        free(method);
        free(doc);
        return PyErr_NoMemory();
    }
    at = (size_t)snprintf(doc, 512, "%s(", f->name);
    for (const char *how = f->how; *how; how++)
        for (int twice = 0; twice < 1 + (*how == 'R'); twice++) {
            const char *left_out = *how == 'r'            ? "='mean'"
                                   : *how == 'l'          ? "=0"
                                   : *how == 'b' || twice ? "=False"
                                   : *how == 'R'          ? "=None"
                                                          : "";

            (void)name_at(f, k, name);
            at += (size_t)snprintf(doc + at, 512 - at, "%s%s%s", k ? ", " : "", name, left_out);
            k++;
        }
    (void)snprintf(doc + at, 512 - at, ")\n--\n\n%s", f->doc);
    *method = (PyMethodDef){f->name, (PyCFunction)(void (*)(void))call_row, METH_FASTCALL | METH_KEYWORDS, doc};
    capsule = PyCapsule_New((void *)f, "reprise.function", NULL);
    function = capsule ? PyCFunction_NewEx(method, capsule, NULL) : NULL;
    Py_XDECREF(capsule);
    return function;
}

PyObject *functions_make(PyObject *module, PyObject *ignored)
{
    PyObject *made = PyDict_New();

    RP_UNUSED(module);
    RP_UNUSED(ignored);
    for (size_t i = 0; made && i < ROWS; i++) {
        PyObject *function = make_function(&rows[i]);

        if (!function || PyDict_SetItemString(made, rows[i].name, function) != 0)
            Py_CLEAR(made);
        Py_XDECREF(function);
    }
    return made;
}
