/* SPDX-License-Identifier: Apache-2.0
 * Errors of the library as exceptions: reprise.Error and one class a code, each also the builtin class that Python's
 * own code would raise. They carry code, operation, step, and of a difference of bits its member and both values. */
#include "binding.h"

PyObject *error_base;

static struct {
    rp_status status;
    const char *name;
    PyObject **builtin;
    PyObject *type;
} kinds[] = {
    {RP_ENOMEM, "OutOfMemory", &PyExc_MemoryError, NULL},
    {RP_EIO, "FileError", &PyExc_OSError, NULL},
    {RP_EARG, "ArgumentError", &PyExc_ValueError, NULL},
    {RP_EEXIST, "ExistsError", &PyExc_FileExistsError, NULL},
    {RP_EDATA, "DataError", &PyExc_ValueError, NULL},
    {RP_ESHAPE, "ShapeError", &PyExc_ValueError, NULL},
    {RP_EFORMAT, "FormatError", &PyExc_ValueError, NULL},
    {RP_EHASH, "HashError", NULL, NULL},
    {RP_ESIGN, "SignatureError", NULL, NULL},
    {RP_EBITS, "BitsError", NULL, NULL},
    {RP_EUNSUPPORTED, "UnsupportedError", &PyExc_NotImplementedError, NULL},
    {RP_EFPENV, "EnvironmentError_", NULL, NULL},
    {RP_ECANCELED, "Canceled", NULL, NULL},
};

static PyObject *type_for(rp_status status)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].status == status)
            return kinds[i].type;
    return error_base;
}

/* Steals value, which may be NULL after an error. */
static bool set(PyObject *object, const char *name, PyObject *value)
{
    const bool done = value && PyObject_SetAttrString(object, name, value) == 0;

    Py_XDECREF(value);
    return done;
}

static PyObject *text_or_none(const char *text)
{
    if (!text || !*text)
        return Py_NewRef(Py_None);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *number_or_none(int64_t number)
{
    return number < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(number);
}

PyObject *raise_error(const rp_error *err, rp_status status, const char *operation, int64_t step)
{
    static const rp_error none;
    const rp_difference *d = err ? &err->difference : &none.difference;
    const bool differs = status == RP_EBITS && d->known;
    PyObject *text = text_or_none(err && *err->text ? err->text : rp_status_name(status)), *raised = NULL;
    bool done = false;

    if (text)
        raised = PyObject_CallFunctionObjArgs(type_for(status), text, NULL);
    if (raised)
        done = set(raised, "code", text_or_none(rp_status_name(status))) &&
               set(raised, "exit_code", PyLong_FromLong(rp_exit_code(status))) &&
               set(raised, "operation", text_or_none(operation)) &&
               set(raised, "step", number_or_none(differs && d->step >= 0 ? d->step : step)) &&
               set(raised, "member", text_or_none(differs ? d->member : NULL)) &&
               set(raised, "value", text_or_none(differs ? d->value : NULL)) &&
               set(raised, "expected", text_or_none(differs ? d->expected : NULL)) &&
               set(raised, "found", text_or_none(differs ? d->found : NULL));
    if (done)
        PyErr_SetObject((PyObject *)Py_TYPE(raised), raised);
    Py_XDECREF(text);
    Py_XDECREF(raised);
    return NULL;
}

static PyObject *make_class(const char *name, PyObject *bases, rp_status status)
{
    char full[64];
    PyObject *made;

    (void)snprintf(full, sizeof full, "reprise.%s", name);
    made = PyErr_NewException(full, bases, NULL);
    if (made && !(set(made, "code", text_or_none(rp_status_name(status))) &&
                  set(made, "exit_code", PyLong_FromLong(rp_exit_code(status)))))
        Py_CLEAR(made);
    return made;
}

bool error_setup(PyObject *module)
{
    static const char *const fields[] = {"code",   "exit_code", "operation", "step",
                                         "member", "value",     "expected",  "found"};

    error_base = PyErr_NewExceptionWithDoc(
        "reprise.Error",
        "What the library refused, and why.\n\ncode: RP_ESHAPE and its like; exit_code: what the command would exit "
        "with; operation, step: where it happened; member, value, expected, found: of a difference of bits. Each is "
        "None where there is none.",
        NULL, NULL);
    if (!error_base || PyModule_AddObjectRef(module, "Error", error_base) != 0)
        return false;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (PyObject_SetAttrString(error_base, fields[i], Py_None) != 0)
            return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        PyObject *bases = kinds[i].builtin ? PyTuple_Pack(2, error_base, *kinds[i].builtin) : Py_NewRef(error_base);

        kinds[i].type = bases ? make_class(kinds[i].name, bases, kinds[i].status) : NULL;
        Py_XDECREF(bases);
        if (!kinds[i].type || PyModule_AddObjectRef(module, kinds[i].name, kinds[i].type) != 0)
            return false;
    }
    return true;
}
