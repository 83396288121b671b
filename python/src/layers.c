/* SPDX-License-Identifier: Apache-2.0
 * The layers of rp/nn.h, as methods of a model, inside its function. */
#include "model.h"

static rp_nn *nn_of(PyObject *self)
{
    return ((model_object *)self)->nn;
}

/* A layer of one operand: ready to be called. */
static bool begin(PyObject *self, operands *o, const char *layer, PyObject *x)
{
    if (!model_operands(self, o, layer))
        return false;
    if (operands_add(o, x, NULL)) {
        operands_enter(o);
        return true;
    }
    operands_end(o);
    return false;
}

/* ---- name, x, width ---- */

typedef rp_tensor layer_of_width(rp_nn *, const char *, rp_tensor, size_t);

static PyObject *of_width(PyObject *self, PyObject *args, const char *layer, layer_of_width *call)
{
    const char *name;
    PyObject *x;
    Py_ssize_t width;
    operands o;

    if (!PyArg_ParseTuple(args, "sOn", &name, &x, &width) || !begin(self, &o, layer, x))
        return NULL;
    return model_result(self, &o, call(nn_of(self), name, o.in[0], (size_t)width));
}

static PyObject *linear(PyObject *self, PyObject *args)
{
    return of_width(self, args, "linear", rp_nn_linear);
}

static PyObject *project(PyObject *self, PyObject *args)
{
    return of_width(self, args, "project", rp_nn_project);
}

static PyObject *mlp(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *x, *list;
    int64_t width[64];
    size_t widths[64], n;
    operands o;

    if (!PyArg_ParseTuple(args, "sOO:mlp", &name, &x, &list) || !list_read(list, width, 64, &n) ||
        !begin(self, &o, "mlp", x))
        return NULL;
    for (size_t i = 0; i < n; i++)
        widths[i] = (size_t)width[i];
    return model_result(self, &o, rp_nn_mlp(nn_of(self), name, o.in[0], widths, n));
}

static PyObject *embedding(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *x;
    Py_ssize_t rows, width;
    operands o;

    if (!PyArg_ParseTuple(args, "sOnn:embedding", &name, &x, &rows, &width) || !begin(self, &o, "embedding", x))
        return NULL;
    return model_result(self, &o, rp_nn_embedding(nn_of(self), name, o.in[0], (size_t)rows, (size_t)width));
}

/* ---- norms, dropout ---- */

static PyObject *layer_norm(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *x;
    operands o;

    if (!PyArg_ParseTuple(args, "sO:layer_norm", &name, &x) || !begin(self, &o, "layer_norm", x))
        return NULL;
    return model_result(self, &o, rp_nn_layer_norm(nn_of(self), name, o.in[0]));
}

static PyObject *batch_norm(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *x;
    operands o;

    if (!PyArg_ParseTuple(args, "sO:batch_norm", &name, &x) || !begin(self, &o, "batch_norm", x))
        return NULL;
    return model_result(self, &o, rp_nn_batch_norm(nn_of(self), name, o.in[0]));
}

static PyObject *dropout(PyObject *self, PyObject *args)
{
    PyObject *x;
    double rate;
    operands o;

    if (!PyArg_ParseTuple(args, "Od:dropout", &x, &rate) || !begin(self, &o, "dropout", x))
        return NULL;
    return model_result(self, &o, rp_nn_dropout(nn_of(self), o.in[0], rate));
}

/* ---- convolutions ---- */

/* One length for all axes, or one an axis. */
static bool lengths(PyObject *object, size_t *to, size_t n)
{
    int64_t list[4];
    size_t found;

    if (!object)
        return true;
    if (!list_read(object, list, n, &found))
        return false;
    for (size_t i = 0; i < n; i++)
        to[i] = i < found ? (size_t)list[i] : found == 1 ? (size_t)list[0] : 0;
    if (found == 1 || found == n)
        return true;
    PyErr_Format(PyExc_ValueError, "expected one length or %zu, found %R", n, object);
    return false;
}

typedef rp_tensor convolution(rp_nn *, const char *, rp_tensor, size_t, const rp_nn_conv *);

static PyObject *convolve(PyObject *self, PyObject *args, PyObject *kwargs, const char *layer, convolution *call)
{
    static char *names[] = {"name",     "x",      "filters", "kernel", "stride", "padding",
                            "dilation", "groups", "valid",   "bias",   NULL};
    const char *name;
    PyObject *x, *kernel = NULL, *stride = NULL, *padding = NULL, *dilation = NULL;
    Py_ssize_t filters, groups = 0;
    int valid = 0, bias = 1;
    rp_nn_conv options = {0};
    operands o;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOn|OOOOnpp", names, &name, &x, &filters, &kernel, &stride,
                                     &padding, &dilation, &groups, &valid, &bias) ||
        !lengths(kernel, options.kernel, 2) || !lengths(stride, options.place.stride, 2) ||
        !lengths(padding, options.place.padding, 4) || !lengths(dilation, options.place.dilation, 2))
        return NULL;
    options.groups = (size_t)groups;
    options.valid = valid;
    options.no_bias = !bias;
    if (!begin(self, &o, layer, x))
        return NULL;
    return model_result(self, &o, call(nn_of(self), name, o.in[0], (size_t)filters, &options));
}

static PyObject *conv2d(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return convolve(self, args, kwargs, "conv2d", rp_nn_conv2d);
}

static PyObject *conv1d(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return convolve(self, args, kwargs, "conv1d", rp_nn_conv1d);
}

/* ---- recurrences ---- */

typedef rp_tensor recurrence(rp_nn *, const char *, rp_tensor, size_t, rp_tensor *);

static PyObject *recur(PyObject *self, PyObject *args, const char *layer, recurrence *call)
{
    const char *name;
    PyObject *x;
    Py_ssize_t hidden;
    operands o;
    rp_tensor out[2] = {{0}};

    if (!PyArg_ParseTuple(args, "sOn", &name, &x, &hidden) || !begin(self, &o, layer, x))
        return NULL;
    out[0] = call(nn_of(self), name, o.in[0], (size_t)hidden, &out[1]);
    return operands_results(&o, out, 2);
}

static PyObject *lstm(PyObject *self, PyObject *args)
{
    return recur(self, args, "lstm", rp_nn_lstm);
}

static PyObject *gru(PyObject *self, PyObject *args)
{
    return recur(self, args, "gru", rp_nn_gru);
}

static PyObject *rnn(PyObject *self, PyObject *args)
{
    return recur(self, args, "rnn", rp_nn_rnn);
}

/* ---- attention ---- */

typedef rp_tensor attending(rp_nn *, const char *, rp_tensor, size_t, const rp_nn_attention *);

static PyObject *attend(PyObject *self, PyObject *args, PyObject *kwargs, const char *layer, attending *call)
{
    static char *names[] = {"name", "x", "heads", "causal", "mask", "dropout", "hidden", "residual_dropout", NULL};
    const char *name;
    PyObject *x, *mask = Py_None;
    Py_ssize_t heads, hidden = 0;
    int causal = 0;
    rp_nn_attention options = {0};
    operands o;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sOn|pOdnd", names, &name, &x, &heads, &causal, &mask,
                                     &options.dropout, &hidden, &options.residual_dropout) ||
        !model_operands(self, &o, layer))
        return NULL;
    if (!operands_add(&o, x, NULL) || (mask != Py_None && !operands_add(&o, mask, NULL))) {
        operands_end(&o);
        return NULL;
    }
    options.causal = causal;
    options.hidden = (size_t)hidden;
    if (mask != Py_None)
        options.mask = o.in[1];
    operands_enter(&o);
    return model_result(self, &o, call(nn_of(self), name, o.in[0], (size_t)heads, &options));
}

static PyObject *self_attention(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return attend(self, args, kwargs, "self_attention", rp_nn_self_attention);
}

static PyObject *transformer(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return attend(self, args, kwargs, "transformer", rp_nn_transformer);
}

/* ---- parameters of one's own ---- */

typedef rp_tensor naming(rp_nn *, const char *, int, const size_t *, rp_nn_init);

static PyObject *name_one(PyObject *self, PyObject *args, const char *what, naming *call)
{
    const char *name;
    PyObject *shape, *init = NULL;
    rp_type type;
    rp_nn_init values = {0};
    operands o;

    if (!PyArg_ParseTuple(args, "sO|O", &name, &shape, &init) || !type_read(shape, NULL, &type) ||
        (init && !init_read(init, &values)) || !model_operands(self, &o, what))
        return NULL;
    operands_enter(&o);
    return model_result(self, &o, call(nn_of(self), name, type.rank, type.shape, values));
}

static PyObject *parameter(PyObject *self, PyObject *args)
{
    return name_one(self, args, "parameter", rp_nn_parameter);
}

static PyObject *buffer(PyObject *self, PyObject *args)
{
    return name_one(self, args, "buffer", rp_nn_buffer);
}

static PyObject *update(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *value;
    operands o;
    bool done;

    if (!PyArg_ParseTuple(args, "sO:update", &name, &value) || !begin(self, &o, "update", value))
        return NULL;
    rp_nn_update(nn_of(self), name, o.in[0]);
    done = operands_leave(&o);
    operands_end(&o);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *scope(PyObject *self, PyObject *args)
{
    const char *name;
    operands o;
    bool done;

    if (!PyArg_ParseTuple(args, "s:enter_scope", &name) || !model_operands(self, &o, "scope"))
        return NULL;
    operands_enter(&o);
    rp_nn_scope(nn_of(self), "%s", name);
    done = operands_leave(&o);
    operands_end(&o);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *leave(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(ignored);
    if (((model_object *)self)->graph)
        rp_nn_leave(nn_of(self));
    Py_RETURN_NONE;
}

static PyObject *rng(PyObject *self, PyObject *ignored)
{
    operands o;

    RP_UNUSED(ignored);
    if (!model_operands(self, &o, "rng"))
        return NULL;
    operands_enter(&o);
    return model_result(self, &o, rp_nn_rng(nn_of(self)));
}

static PyObject *stream(PyObject *self, PyObject *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromLongLong(rp_nn_stream(nn_of(self)));
}

#define KEYS METH_VARARGS | METH_KEYWORDS
#define WITH_KEYS(function) (PyCFunction)(void (*)(void))(function)

PyMethodDef layer_methods[] = {
    {"linear", linear, METH_VARARGS, "linear($self, name, x, out, /)\n--\n\nx [.., in] -> [.., out]: weight, bias."},
    {"project", project, METH_VARARGS,
     "project($self, name, x, out, /)\n--\n\nx [.., in] -> [.., out], "
     "without a bias."},
    {"mlp", mlp, METH_VARARGS,
     "mlp($self, name, x, widths, /)\n--\n\nLinear layers of these widths, ReLU "
     "between them."},
    {"embedding", embedding, METH_VARARGS,
     "embedding($self, name, index, rows, width, /)\n--\n\nindex [..] below rows -> [.., width]."},
    {"layer_norm", layer_norm, METH_VARARGS, "layer_norm($self, name, x, /)\n--\n\nAlong the last axis, eps 1e-5."},
    {"batch_norm", batch_norm, METH_VARARGS,
     "batch_norm($self, name, x, /)\n--\n\nOver all axes but the last; running statistics take the batch's "
     "place outside of "
     "training."},
    {"dropout", dropout, METH_VARARGS, "dropout($self, x, rate, /)\n--\n\nx itself where the step trains nothing."},
    {"conv2d", WITH_KEYS(conv2d), KEYS,
     "conv2d($self, name, x, filters, kernel=3, stride=1, padding=0, dilation=1, groups=1, valid=False, bias=True)\n"
     "--\n\nx [n, h, w, c] -> [n, oh, ow, filters]; padded to the same size but where padding or valid say otherwise."},
    {"conv1d", WITH_KEYS(conv1d), KEYS,
     "conv1d($self, name, x, filters, kernel=3, stride=1, padding=0, dilation=1, groups=1, valid=False, bias=True)\n"
     "--\n\nx [n, w, c] -> [n, ow, filters]."},
    {"lstm", lstm, METH_VARARGS,
     "lstm($self, name, x, hidden, /)\n--\n\nx [n, times, in] -> ([n, times, hidden], the last [n, hidden])."},
    {"gru", gru, METH_VARARGS, "gru($self, name, x, hidden, /)\n--\n\nAs lstm, with the gates of a GRU."},
    {"rnn", rnn, METH_VARARGS, "rnn($self, name, x, hidden, /)\n--\n\nAs lstm, a tanh alone."},
    {"self_attention", WITH_KEYS(self_attention), KEYS,
     "self_attention($self, name, x, heads, causal=False, mask=None, dropout=0.0, hidden=0, "
     "residual_dropout=0.0)\n--\n\n"
     "x [n, times, width] -> the same."},
    {"transformer", WITH_KEYS(transformer), KEYS,
     "transformer($self, name, x, heads, causal=False, mask=None, dropout=0.0, hidden=0, residual_dropout=0.0)\n--\n\n"
     "A block, norms first: x [n, times, width] -> the same."},
    {"parameter", parameter, METH_VARARGS,
     "parameter($self, name, shape, values=('constant', 0), /)\n--\n\nA parameter, which the optimizer changes."},
    {"buffer", buffer, METH_VARARGS,
     "buffer($self, name, shape, values=('constant', 0), /)\n--\n\nWhat the "
     "model changes."},
    {"update", update, METH_VARARGS, "update($self, name, value, /)\n--\n\nA buffer's new value, in training steps."},
    {"enter_scope", scope, METH_VARARGS, NULL},
    {"leave_scope", leave, METH_NOARGS, NULL},
    {"rng", rng, METH_NOARGS, "rng($self)\n--\n\nThe step's generator, for ops.uniform and its like."},
    {"stream", stream, METH_NOARGS, "stream($self)\n--\n\nA stream that no other draw of the step has."},
    {0},
};
