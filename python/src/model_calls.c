/* SPDX-License-Identifier: Apache-2.0
 * What is asked of a model from outside of its function: fields, parameters, steps, files. */
#include "model.h"

#include <unistd.h>

#define CALL(m, status, call, name) \
    do { \
        PyThreadState *thread; \
        rp_error err = {0}; \
\
        if (!model_enter(m, &thread)) \
            return NULL; \
        (status) = (call); \
        model_leave(m, thread); \
        if ((status) != RP_OK) \
            return model_fail(m, &err, status, name); \
    } while (0)

/* ---- data ---- */

static PyObject *array(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    const char *name;
    PyObject *object;
    elements e;
    rp_status status;
    rp_error err = {0};
    PyThreadState *thread;

    if (!PyArg_ParseTuple(args, "sO:array", &name, &object) || !elements_read(&e, object, NULL))
        return NULL;
    if (!model_enter(m, &thread)) {
        elements_free(&e);
        return NULL;
    }
    status = rp_nn_array(m->nn, name, e.type.dtype, e.type.rank, e.type.shape, e.bytes, &err);
    model_leave(m, thread);
    elements_free(&e);
    if (status != RP_OK)
        return model_fail(m, &err, status, "array");
    m->fields++;
    Py_RETURN_NONE;
}

static PyObject *text(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "path", "length", "stride", "width", NULL};
    model_object *m = (model_object *)self;
    const char *name;
    PyObject *path;
    Py_ssize_t length, stride = 0;
    rp_nn_tokens tokens = {.width = 1};
    rp_status status;
    rp_error err = {0};
    PyThreadState *thread;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO&n|nI:text", names, &name, PyUnicode_FSConverter, &path, &length,
                                     &stride, &tokens.width))
        return NULL;
    tokens.path = PyBytes_AsString(path);
    tokens.length = (size_t)length;
    tokens.stride = (size_t)stride;
    if (!model_enter(m, &thread)) {
        Py_DECREF(path);
        return NULL;
    }
    status = rp_nn_text(m->nn, name, &tokens, &err);
    model_leave(m, thread);
    Py_DECREF(path);
    if (status != RP_OK)
        return model_fail(m, &err, status, "text");
    m->fields++;
    Py_RETURN_NONE;
}

static PyObject *initialise(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    const char *pattern;
    PyObject *object;
    rp_nn_init init;
    rp_status status;

    if (!PyArg_ParseTuple(args, "sO:initialise", &pattern, &object) || !init_read(object, &init))
        return NULL;
    CALL(m, status, rp_nn_initialise(m->nn, pattern, init, &err), "initialise");
    Py_RETURN_NONE;
}

static PyObject *group(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    const char *pattern;
    double lr, weight_decay = 0;
    rp_status status;

    if (!PyArg_ParseTuple(args, "sd|d:group", &pattern, &lr, &weight_decay))
        return NULL;
    CALL(m, status, rp_nn_add_group(m->nn, pattern, lr, weight_decay, &err), "group");
    Py_RETURN_NONE;
}

/* ---- parameters ---- */

static PyObject *build(PyObject *self, PyObject *ignored)
{
    model_object *m = (model_object *)self;
    rp_status status;

    RP_UNUSED(ignored);
    CALL(m, status, rp_nn_build(m->nn, &err), "build");
    Py_RETURN_NONE;
}

static bool find(model_object *m, const char *name, rp_nn_parameter_info *info)
{
    for (size_t i = 0; rp_nn_parameter_at(m->nn, i, info); i++)
        if (strcmp(info->name, name) == 0)
            return true;
    PyErr_Format(PyExc_KeyError, "there is no parameter %s", name);
    return false;
}

static rp_type parameter_type(const rp_nn_parameter_info *info)
{
    rp_type type = {.dtype = RP_F32, .rank = info->rank};

    memcpy(type.shape, info->shape, (size_t)info->rank * sizeof *type.shape);
    return type;
}

static PyObject *parameters(PyObject *self, PyObject *ignored)
{
    model_object *m = (model_object *)self;
    PyObject *dict, *shape;
    rp_nn_parameter_info info;

    Py_XDECREF(build(self, ignored));
    dict = PyErr_Occurred() ? NULL : PyDict_New();
    for (size_t i = 0; dict && rp_nn_parameter_at(m->nn, i, &info); i++) {
        const rp_type type = parameter_type(&info);

        shape = shape_tuple(&type);
        if (!shape || PyDict_SetItemString(dict, info.name, shape) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(shape);
    }
    return dict;
}

static PyObject *read_parameter(PyObject *self, PyObject *args)
{
    model_object *m = (model_object *)self;
    const char *name;
    rp_nn_parameter_info info;
    rp_type type;
    rp_status status;
    rp_error err = {0};
    PyThreadState *thread;
    void *bytes;

    if (!PyArg_ParseTuple(args, "s:read", &name) || !find(m, name, &info))
        return NULL;
    type = parameter_type(&info);
    bytes = malloc(type_bytes(&type) + 1);
    if (!bytes)
        return PyErr_NoMemory();
    if (!model_enter(m, &thread)) {
        free(bytes);
        return NULL;
    }
    status = rp_nn_read(m->nn, name, bytes, type_bytes(&type), &err);
    model_leave(m, thread);
    if (status == RP_OK)
        return tensor_of_value(&type, bytes);
    free(bytes);
    return model_fail(m, &err, status, "read");
}

static PyObject *write_parameter(PyObject *self, PyObject *args)
{
    static const rp_dtype f32 = RP_F32;
    model_object *m = (model_object *)self;
    const char *name;
    PyObject *object;
    rp_nn_parameter_info info;
    rp_type type;
    elements e;
    rp_status status = RP_ESHAPE;
    rp_error err = {0};
    PyThreadState *thread;

    if (!PyArg_ParseTuple(args, "sO:write", &name, &object) || !find(m, name, &info) ||
        !elements_read(&e, object, &f32))
        return NULL;
    type = parameter_type(&info);
    if (!types_equal(&type, &e.type)) {
        PyErr_Format(PyExc_ValueError, "%s has another shape than what is written", name);
    } else if (model_enter(m, &thread)) {
        status = rp_nn_write(m->nn, name, e.bytes, type_bytes(&type), &err);
        model_leave(m, thread);
        if (status != RP_OK)
            model_fail(m, &err, status, "write");
    }
    elements_free(&e);
    return status == RP_OK ? Py_NewRef(Py_None) : NULL;
}

/* ---- steps ---- */

static PyObject *train_step(PyObject *self, PyObject *ignored)
{
    model_object *m = (model_object *)self;
    float loss;
    rp_status status;

    RP_UNUSED(ignored);
    CALL(m, status, rp_nn_train_step(m->nn, &loss, &err), "train_step");
    return PyFloat_FromDouble((double)loss);
}

static PyObject *train_epoch(PyObject *self, PyObject *ignored)
{
    model_object *m = (model_object *)self;
    float loss;
    rp_status status;

    RP_UNUSED(ignored);
    CALL(m, status, rp_nn_train_epoch(m->nn, &loss, &err), "train_epoch");
    return PyFloat_FromDouble((double)loss);
}

static PyObject *evaluate(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"first", "rows", "function", NULL};
    model_object *m = (model_object *)self;
    Py_ssize_t first, rows;
    PyObject *function = Py_None;
    forward_ref *f = NULL;
    double mean;
    rp_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nn|O:evaluate", names, &first, &rows, &function) ||
        (function != Py_None && !(f = model_reference(m, function))))
        return NULL;
    CALL(m, status, rp_nn_evaluate(m->nn, f ? model_forward : NULL, f, (size_t)first, (size_t)rows, &mean, &err),
         "evaluate");
    return PyFloat_FromDouble(mean);
}

typedef struct output {
    rp_type type;
    void *bytes;
} output;

static bool output_make(output *o, PyObject *shape, PyObject *dtype, Py_ssize_t rows)
{
    if (!type_read(shape, dtype, &o->type))
        return false;
    if (rows >= 0 && o->type.rank < RP_MAX_RANK) { /* in front of a row's shape */
        memmove(o->type.shape + 1, o->type.shape, (size_t)o->type.rank++ * sizeof *o->type.shape);
        o->type.shape[0] = (size_t)rows;
    }
    o->bytes = malloc(type_bytes(&o->type) + 1);
    if (!o->bytes)
        PyErr_NoMemory();
    return o->bytes != NULL;
}

static PyObject *predict(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "shape", "first", "rows", "dtype", NULL};
    model_object *m = (model_object *)self;
    Py_ssize_t first, rows;
    PyObject *function, *shape, *dtype = NULL;
    forward_ref *f;
    output out;
    rp_status status;
    rp_error err = {0};
    PyThreadState *thread;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOnn|O:predict", names, &function, &shape, &first, &rows, &dtype) ||
        !(f = model_reference(m, function)) || !output_make(&out, shape, dtype, rows))
        return NULL;
    if (!model_enter(m, &thread)) {
        free(out.bytes);
        return NULL;
    }
    status =
        rp_nn_predict(m->nn, model_forward, f, (size_t)first, (size_t)rows, out.bytes, type_bytes(&out.type), &err);
    model_leave(m, thread);
    if (status == RP_OK)
        return tensor_of_value(&out.type, out.bytes);
    free(out.bytes);
    return model_fail(m, &err, status, "predict");
}

enum { INPUTS_MAX = 16 };

static PyObject *apply_to(model_object *m, forward_ref *f, const elements *e, size_t n, output *out)
{
    static const char *const names[INPUTS_MAX] = {"in0", "in1", "in2",  "in3",  "in4",  "in5",  "in6",  "in7",
                                                  "in8", "in9", "in10", "in11", "in12", "in13", "in14", "in15"};
    rp_nn_input in[INPUTS_MAX];
    rp_error err = {0};
    rp_status status;
    PyThreadState *thread;

    for (size_t i = 0; i < n; i++) {
        in[i] = (rp_nn_input){.name = names[i], .dtype = e[i].type.dtype, .rank = e[i].type.rank, .bytes = e[i].bytes};
        memcpy(in[i].shape, e[i].type.shape, sizeof in[i].shape);
    }
    if (!model_enter(m, &thread))
        return NULL;
    m->inputs = n;
    status = rp_nn_apply(m->nn, model_forward, f, in, n, out->bytes, type_bytes(&out->type), &err);
    m->inputs = 0;
    model_leave(m, thread);
    if (status != RP_OK)
        return model_fail(m, &err, status, "apply");
    Py_RETURN_NONE;
}

static PyObject *apply(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "inputs", "shape", "dtype", NULL};
    model_object *m = (model_object *)self;
    PyObject *function, *inputs, *shape, *dtype = NULL, *items, *done = NULL;
    elements e[INPUTS_MAX];
    size_t n = 0, wanted;
    forward_ref *f;
    output out;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:apply", names, &function, &inputs, &shape, &dtype) ||
        !(f = model_reference(m, function)) || !(items = PySequence_Tuple(inputs)))
        return NULL;
    wanted = (size_t)PyTuple_Size(items);
    if (wanted == 0 || wanted > INPUTS_MAX)
        PyErr_Format(PyExc_ValueError, "apply: 1 to %d inputs", INPUTS_MAX);
    while (!PyErr_Occurred() && n < wanted && elements_read(&e[n], PyTuple_GetItem(items, (Py_ssize_t)n), NULL))
        n++;
    if (!PyErr_Occurred() && output_make(&out, shape, dtype, -1)) {
        done = apply_to(m, f, e, n, &out);
        if (done)
            replace(&done, tensor_of_value(&out.type, out.bytes));
        else
            free(out.bytes);
    }
    for (size_t i = 0; i < n; i++)
        elements_free(&e[i]);
    Py_DECREF(items);
    return done;
}

/* ---- files ---- */

static PyObject *record(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"resume", "checkpoint_every", "state_period", "parent", "parent_checkpoint", "withhold",
                            NULL};
    model_object *m = (model_object *)self;
    unsigned long long every = 0, period = 0, checkpoint = 0;
    rp_nn_recording r = {0};
    rp_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|zKKzKz:record", names, &r.resume, &every, &period, &r.parent,
                                     &checkpoint, &r.withhold))
        return NULL;
    r.checkpoint_every = every;
    r.state_period = period;
    r.parent_checkpoint = checkpoint;
    CALL(m, status, rp_nn_record(m->nn, &r, &err), "record");
    Py_RETURN_NONE;
}

static rp_status write_archive(rp_nn *nn, const char *path, const char *key_path, const char *passphrase, char *id,
                               rp_error *err)
{
    rp_key *key = NULL;
    rp_status status = key_path ? rp_key_load_private(&key, key_path, passphrase, err) : RP_OK;

    if (status == RP_OK)
        status = rp_nn_archive(nn, path, key, id, err);
    rp_key_free(key);
    return status;
}

static PyObject *archive(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "key", "passphrase", NULL};
    model_object *m = (model_object *)self;
    const char *path, *key = NULL, *passphrase = NULL;
    char id[RP_DIGEST_HEX];
    rp_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|zz:archive", names, &path, &key, &passphrase))
        return NULL;
    CALL(m, status, write_archive(m->nn, path, key, passphrase, id, &err), "archive");
    return PyUnicode_FromString(id);
}

static PyObject *load(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "torch", "partial", "prefix", NULL};
    model_object *m = (model_object *)self;
    const char *path, *prefix = NULL;
    int torch = 0, partial = 0;
    rp_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|ppz:load", names, &path, &torch, &partial, &prefix))
        return NULL;
    CALL(m, status, rp_nn_load(m->nn, path, &(rp_nn_load_options){torch, partial, prefix}, &err), "load");
    Py_RETURN_NONE;
}

static PyObject *save(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "force", "torch", NULL};
    model_object *m = (model_object *)self;
    const char *path;
    int force = 0, torch = 0;
    rp_status status;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|pp:save", names, &path, &force, &torch))
        return NULL;
    if (!force && access(path, F_OK) == 0) { /* the library would keep this error, and the model do nothing more */
        rp_error err = {0};

        (void)rp_fail(&err, RP_EEXIST, "%s: already exists: choose another name, or force=True", path);
        return raise_error(&err, RP_EEXIST, "save", -1);
    }
    CALL(m, status, rp_nn_save(m->nn, path, &(rp_nn_save_options){.force = force, .torch = torch}, &err), "save");
    Py_RETURN_NONE;
}

static PyObject *steps(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromUnsignedLongLong(rp_nn_steps(((model_object *)self)->nn));
}

static PyObject *steps_per_epoch(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyLong_FromUnsignedLongLong(rp_nn_steps_per_epoch(((model_object *)self)->nn));
}

static PyObject *training(PyObject *self, void *ignored)
{
    RP_UNUSED(ignored);
    return PyBool_FromLong(rp_nn_training(((model_object *)self)->nn));
}

#define KEYS METH_VARARGS | METH_KEYWORDS
#define WITH_KEYS(function) (PyCFunction)(void (*)(void))(function)

PyMethodDef model_methods[] = {
    {"array", array, METH_VARARGS, "array($self, name, rows, /)\n--\n\nA field: rows along the first axis."},
    {"text", WITH_KEYS(text), KEYS,
     "text($self, name, path, length, stride=0, width=1)\n--\n\nA field of tokens in a file."},
    {"initialise", initialise, METH_VARARGS,
     "initialise($self, pattern, values, /)\n--\n\nParameters of that name begin so; * stands for any characters."},
    {"group", group, METH_VARARGS,
     "group($self, pattern, lr, weight_decay=0.0, /)\n--\n\nParameters of that name have their own rate; 0: frozen."},
    {"build", build, METH_NOARGS, "build($self)\n--\n\nCalls the model once, so that its parameters are known."},
    {"parameters", parameters, METH_NOARGS,
     "parameters($self)\n--\n\nThe shape of each parameter and buffer, by name."},
    {"read", read_parameter, METH_VARARGS, "read($self, name, /)\n--\n\nThe values of a parameter."},
    {"write", write_parameter, METH_VARARGS,
     "write($self, name, values, /)\n--\n\nWhat a parameter begins with; before the first step."},
    {"train_step", train_step, METH_NOARGS, "train_step($self)\n--\n\nThe next training step: its batch's loss."},
    {"train_epoch", train_epoch, METH_NOARGS, "train_epoch($self)\n--\n\nSteps to the end of an epoch: the last loss."},
    {"evaluate", WITH_KEYS(evaluate), KEYS,
     "evaluate($self, first, rows, function=None)\n--\n\nThe mean over rows of what the function, or the "
     "model, gives."},
    {"predict", WITH_KEYS(predict), KEYS,
     "predict($self, function, shape, first, rows, dtype='f32')\n--\n\nWhat a function gives for rows: [rows, "
     "*shape]."},
    {"apply", WITH_KEYS(apply), KEYS,
     "apply($self, function, inputs, shape, dtype='f32')\n--\n\nWhat a function gives for inputs of the caller's."},
    {"record", WITH_KEYS(record), KEYS,
     "record($self, resume=None, checkpoint_every=0, state_period=0, parent=None, parent_checkpoint=0, withhold=None)\n"
     "--\n\nFrom here on every step is recorded; resume: the archive behind which the training goes on."},
    {"archive", WITH_KEYS(archive), KEYS,
     "archive($self, path, key=None, passphrase=None)\n--\n\nWrites the archive of the steps so far; returns its id."},
    {"load", WITH_KEYS(load), KEYS,
     "load($self, path, torch=False, partial=False, prefix=None)\n--\n\nParameters by name from safetensors "
     "or an archive."},
    {"save", WITH_KEYS(save), KEYS,
     "save($self, path, force=False, torch=False)\n--\n\nAll parameters as safetensors."},
    {0},
};

PyGetSetDef model_getset[] = {
    {"steps", steps, NULL, "Training steps made.", NULL},
    {"steps_per_epoch", steps_per_epoch, NULL, "Training steps of an epoch.", NULL},
    {"training", training, NULL, "Inside the function: whether the step trains.", NULL},
    {0},
};
