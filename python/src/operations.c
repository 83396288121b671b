/* SPDX-License-Identifier: Apache-2.0
 * Operations by reflection: one function a row of the table, its signature and docstring from the row, all of them one
 * piece of code; and appending by name. */
#include "binding.h"

/* ---- attributes ---- */

typedef struct attributes {
    rp_attribute attribute[RP_OP_ATTRIBUTES];
    int64_t list[RP_OP_ATTRIBUTES][RP_MAX_RANK];
    size_t n;
} attributes;

static const char *const kind_names[] = {"nothing", "an integer", "a bool", "a real", "a list of integers", "a dtype"};

static bool read_one(attributes *a, PyObject *value, rp_attr_kind kind, const char *op, const char *name)
{
    rp_attribute *to = &a->attribute[a->n];
    rp_dtype dtype = RP_F32;
    bool done = true;

    *to = (rp_attribute){.name = name, .kind = kind};
    switch (kind) {
    case RP_ATTR_REAL:
        to->real = PyFloat_AsDouble(value);
        break;
    case RP_ATTR_BOOL:
        to->integer = PyObject_IsTrue(value);
        break;
    case RP_ATTR_LIST:
        to->list = a->list[a->n];
        done = list_read(value, a->list[a->n], RP_MAX_RANK, &to->length);
        break;
    case RP_ATTR_DTYPE:
        done = dtype_read(value, &dtype);
        to->integer = dtype;
        break;
    default: {
        PyObject *whole = PyNumber_Index(value);

        to->integer = whole ? PyLong_AsLongLong(whole) : 0;
        Py_XDECREF(whole);
    }
    }
    if (done && !PyErr_Occurred()) {
        a->n++;
        return true;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s: attribute %s: expected %s, found %R", op, name, kind_names[kind], value);
    return false;
}

/* A name that the row does not have goes to the library as it is, which says so. */
static bool read_named(attributes *a, const rp_op_info *info, const char *name, PyObject *value)
{
    for (int i = 0; i < info->attributes; i++)
        if (strcmp(info->attribute[i].name, name) == 0)
            return read_one(a, value, info->attribute[i].kind, info->name, info->attribute[i].name);
    PyErr_Format(PyExc_TypeError, "%s: no attribute %s; it has %s%s", info->name, name,
                 info->attributes ? info->attribute[0].name : "none", info->attributes > 1 ? ", .." : "");
    return false;
}

static bool read_dict(attributes *a, const rp_op_info *info, PyObject *dict)
{
    Py_ssize_t at = 0;
    PyObject *key, *value;

    if (!dict || dict == Py_None)
        return true;
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "attributes are a dict, found %R", dict);
        return false;
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);

        if (!name || a->n == RP_OP_ATTRIBUTES || !read_named(a, info, name, value)) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "%s: too many attributes", info->name);
            return false;
        }
    }
    return true;
}

/* ---- calls ---- */

/* Notes the frame's place where it is not in this package, and says whether it was. */
static bool note_frame(PyObject *frame, const char *call)
{
    PyObject *code = PyObject_GetAttrString(frame, "f_code"), *file, *line = NULL;
    const char *name = NULL, *inside;
    bool outside = true;

    file = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
    if (file && PyUnicode_Check(file))
        name = PyUnicode_AsUTF8AndSize(file, NULL);
    inside = name ? strstr(name, "/reprise/") : NULL;
    if (inside && !strchr(inside + strlen("/reprise/"), '/'))
        outside = false;
    else if (name)
        line = PyObject_GetAttrString(frame, "f_lineno");
    if (line && PyLong_Check(line))
        rp_site(name, (int)PyLong_AsLong(line), call);
    Py_XDECREF(code);
    Py_XDECREF(file);
    Py_XDECREF(line);
    return outside;
}

void note_site(const char *call)
{
    PyObject *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());

    while (frame && frame != Py_None && !note_frame(frame, call)) {
        PyObject *behind = PyObject_GetAttrString(frame, "f_back");

        Py_DECREF(frame);
        frame = behind;
    }
    Py_XDECREF(frame);
    PyErr_Clear();
}

static PyObject *append(home *h, const rp_op_info *info, const attributes *a, PyObject *const *in, size_t n)
{
    operands o;
    rp_tensor out[3] = {{0}};
    rp_type type;
    const size_t n_out = (size_t)info->outputs;

    if (!operands_begin(&o, h, info->name))
        return NULL;
    if (!operands_add_all(&o, in, n)) {
        operands_end(&o);
        return NULL;
    }
    operands_enter(&o);
    rp_append(h->graph, info->name, a->attribute, a->n, o.in, o.n, out, n_out);
    if (n_out > 1)
        return operands_results(&o, out, n_out);
    (void)type_of(out[0], &type);
    return operands_result(&o, out[0], &type);
}

PyObject *append_operation(home *h, const char *op, PyObject *given, PyObject *const *in, size_t n)
{
    rp_op_info info;
    attributes a = {.n = 0};

    if (!rp_op_named(op, &info)) {
        rp_error err;
        rp_type none;
        const rp_status status = rp_op_infer(op, NULL, 0, NULL, 0, &none, &err);

        return raise_error(&err, status, op, -1);
    }
    return read_dict(&a, &info, given) ? append(h, &info, &a, in, n) : NULL;
}

/* self is a capsule with the row. */
static PyObject *call_row(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    const rp_op_info *info = PyCapsule_GetPointer(self, "reprise.operation");
    const Py_ssize_t named = names ? PyTuple_Size(names) : 0;
    attributes a;
    home *h;

    if (!info)
        return NULL;
    a.n = 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);

        if (!name || a.n == RP_OP_ATTRIBUTES || !read_named(&a, info, name, args[n + i]))
            return NULL;
    }
    h = operands_home(args, (size_t)n);
    return h ? append(h, info, &a, args, (size_t)n) : NULL;
}

/* ---- the table ---- */

static int print_doc(char *out, size_t size, const rp_op_info *info)
{
    static const char *const kinds[] = {"", "int", "bool", "float", "ints", "dtype"};
    const bool many = info->inputs == RP_OP_MANY || strstr(info->operands, "..");
    size_t at = 0;

#define WRITE(...) at += (size_t)snprintf(out ? out + at : NULL, out ? size - at : 0, __VA_ARGS__)
    WRITE("%s(", info->name);
    if (many)
        WRITE("*tensors");
    else
        WRITE("%s%s", info->operands, *info->operands ? ", /" : "");
    for (int i = 0; i < info->attributes; i++)
        WRITE("%s%s%s", i == 0 && !many ? (*info->operands ? ", *, " : "*, ") : ", ", "", info->attribute[i].name);
    WRITE(")\n--\n\n%s(%s) -> %s.", info->name, info->operands, info->results);
    if (info->elementwise)
        WRITE(" Elementwise: results have the shape of the operands%s.", info->broadcasts ? ", broadcast" : "");
    for (int i = 0; i < info->attributes; i++)
        WRITE("%s%s: %s", i ? ", " : "\n\nAttributes: ", info->attribute[i].name, kinds[info->attribute[i].kind]);
    WRITE("\n\nElements:");
    for (int i = 0; i < RP_DTYPE_COUNT; i++)
        if (info->dtypes & 1u << i)
            WRITE(" %s", rp_dtype_name((rp_dtype)i));
    WRITE(".%s", info->differentiable ? "" : " No gradient passes.");
#undef WRITE
    return (int)at;
}

static void free_row(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, "reprise.operation"));
}

/* The method and its texts live as long as the process, as the table does. */
static PyObject *make_row(size_t index)
{
    rp_op_info *info = malloc(sizeof *info);
    PyMethodDef *method = calloc(1, sizeof *method);
    PyObject *capsule, *function;
    char *doc;
    int size;

    if (!info || !method || !rp_op_at(index, info)) {
        free(info);
        free(method);
        return PyErr_NoMemory();
    }
    size = print_doc(NULL, 0, info);
    doc = malloc((size_t)size + 1);
    capsule = doc ? PyCapsule_New(info, "reprise.operation", free_row) : PyErr_NoMemory();
    if (!capsule) {
        free(doc);
        free(info);
        free(method);
        return NULL;
    }
    (void)print_doc(doc, (size_t)size + 1, info);
    *method = (PyMethodDef){info->name, (PyCFunction)(void (*)(void))call_row, METH_FASTCALL | METH_KEYWORDS, doc};
    function = PyCFunction_NewEx(method, capsule, NULL);
    Py_DECREF(capsule);
    return function;
}

PyObject *operations_make(PyObject *module, PyObject *ignored)
{
    static PyObject *made;
    rp_op_info info;

    RP_UNUSED(module);
    RP_UNUSED(ignored);
    if (made)
        return PyDict_Copy(made);
    made = PyDict_New();
    for (size_t i = 0; made && rp_op_at(i, &info); i++) {
        PyObject *function = make_row(i);

        if (!function || PyDict_SetItemString(made, info.name, function) != 0)
            Py_CLEAR(made);
        Py_XDECREF(function);
    }
    return made ? PyDict_Copy(made) : NULL;
}

/* A row as a tuple: name, operands, results, attributes, dtypes, and what it is. */
static PyObject *row_tuple(const rp_op_info *info)
{
    static const char *const kinds[] = {"none", "int", "bool", "real", "list", "dtype"};
    PyObject *attribute = PyDict_New(), *dtypes = PyList_New(0), *row = NULL;
    bool done = attribute && dtypes;

    for (int i = 0; done && i < info->attributes; i++) {
        PyObject *kind = PyUnicode_FromString(kinds[info->attribute[i].kind]);

        done = kind && PyDict_SetItemString(attribute, info->attribute[i].name, kind) == 0;
        Py_XDECREF(kind);
    }
    for (int i = 0; done && i < RP_DTYPE_COUNT; i++) {
        PyObject *text = info->dtypes & 1u << i ? dtype_text((rp_dtype)i) : NULL;

        done = !PyErr_Occurred() && (!text || PyList_Append(dtypes, text) == 0);
        Py_XDECREF(text);
    }
    if (done)
        row = Py_BuildValue("(sssOOiiiiiii)", info->name, info->operands, info->results, attribute, dtypes,
                            info->inputs, info->outputs, info->elementwise, info->broadcasts, info->view,
                            info->differentiable, info->index_operand);
    Py_XDECREF(attribute);
    Py_XDECREF(dtypes);
    return row;
}

PyObject *operations_list(PyObject *module, PyObject *ignored)
{
    PyObject *list = PyList_New(0);
    rp_op_info info;

    RP_UNUSED(module);
    RP_UNUSED(ignored);
    for (size_t i = 0; list && rp_op_at(i, &info); i++) {
        PyObject *row = row_tuple(&info);

        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}
