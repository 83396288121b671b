/* SPDX-License-Identifier: Apache-2.0
 * The module reprise._core. */
#include "binding.h"

PyObject *tensor_set_show(PyObject *module, PyObject *function);

PyTypeObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    const char *dot = strrchr(spec->name, '.');

    if (type && PyModule_AddObjectRef(module, dot ? dot + 1 : spec->name, type) != 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type; /* kept: the module is never unloaded */
}

static PyObject *set_threads(PyObject *module, PyObject *args)
{
    RP_UNUSED(module);
    return PyArg_ParseTuple(args, "I:set_threads", &home_threads) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *dtypes(PyObject *module, PyObject *ignored)
{
    PyObject *list = PyList_New(0);

    RP_UNUSED(module);
    RP_UNUSED(ignored);
    for (int i = 0; list && i < RP_DTYPE_COUNT; i++) {
        PyObject *text = dtype_text((rp_dtype)i);

        if (!text || PyList_Append(list, text) != 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyObject *from_capsule(PyObject *module, PyObject *object)
{
    RP_UNUSED(module);
    return from_dlpack(object);
}

static PyMethodDef methods[] = {
    {"operations", operations_make, METH_NOARGS, "operations()\n--\n\nA function for each operation, by its name."},
    {"operation_table", operations_list, METH_NOARGS,
     "operation_table()\n--\n\n(name, operands, results, attributes, dtypes, inputs, outputs, elementwise, broadcasts, "
     "view, differentiable, index_operand) of each operation."},
    {"functions", functions_make, METH_NOARGS, "functions()\n--\n\nThe library's other calls, by their names."},
    {"several", several_call, METH_VARARGS,
     "several(name, tensors, integers, real, real, text, /)\n--\n\nA call with lists or several results: see "
     "reprise.functions."},
    {"set_show", tensor_set_show, METH_O, NULL},
    {"set_threads", set_threads, METH_VARARGS,
     "set_threads(threads, /)\n--\n\nHow many threads compute what is eager, in threads of Python that have "
     "not begun; 0: "
     "one for each processor. It changes no bit."},
    {"dtypes", dtypes, METH_NOARGS, "dtypes()\n--\n\nThe names of all element types."},
    {"from_dlpack", from_capsule, METH_O, "from_dlpack(x, /)\n--\n\nA tensor of anything with __dlpack__."},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "reprise._core", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (!module)
        return NULL;
    home_setup();
    if (error_setup(module) && tensor_setup(module) && graph_setup(module) && program_setup(module) &&
        run_setup(module) && gradient_setup(module) && model_setup(module))
        return module;
    Py_DECREF(module);
    return NULL;
}
