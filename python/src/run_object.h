/* SPDX-License-Identifier: Apache-2.0
 * What a run's object holds, for compiled programs, recorders and doors. */
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

/* Elements as they lie, of a feed or a result. */
typedef rp_lent fed;

PyObject *run_compile(PyObject *run, PyObject *program);
const rp_program *compiled_program(PyObject *self); /* borrowed; NULL with an exception: it is no Compiled */
/* One step in one visit of the run: feeds in, results out. The elements of the feeds stay the caller's. False with
 * an exception. */
bool compiled_once(PyObject *self, const fed *feeds, size_t n, const fed *results, size_t count);
bool door_setup(PyObject *module);
bool compiled_setup(PyObject *module);
bool recorder_setup(PyObject *module);

#endif
