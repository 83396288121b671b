/* SPDX-License-Identifier: Apache-2.0
 * What a run's object holds, for compiled programs and recorders. */
#ifndef PYTHON_RUN_OBJECT_H
#define PYTHON_RUN_OBJECT_H

#include "binding.h"

typedef struct named_type {
    char *name;
    rp_type type;
} named_type;

typedef struct run_object {
    PyObject_HEAD home *home;
    named_type *state;
    size_t n_states;
} run_object;

PyObject *run_compile(PyObject *run, PyObject *program);
bool compiled_setup(PyObject *module);
bool recorder_setup(PyObject *module);

#endif
