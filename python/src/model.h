/* SPDX-License-Identifier: Apache-2.0
 * What a model's object holds, for its layers. */
#ifndef PYTHON_MODEL_H
#define PYTHON_MODEL_H

#include "binding.h"

/* A function of Python that models call: its address is what a compiled step is found by, so it stays. */
typedef struct forward_ref {
    struct model_object *model;
    PyObject *function;
    struct forward_ref *next;
} forward_ref;

typedef struct model_object {
    PyObject_HEAD rp_nn *nn;
    pthread_mutex_t lock;
    forward_ref *functions;
    size_t fields;
    bool eager;
    size_t inputs;      /* of rp_nn_apply, while it runs; 0: a batch is of the fields */
    home *graph;        /* while a function is called */
    unsigned long user; /* the thread inside; 0: none */
    PyObject *error[3]; /* an exception of a function */
} model_object;

/* Inside a function of the model: ready for a layer. False with an exception. */
bool model_operands(PyObject *self, operands *o, const char *layer);
PyObject *model_result(PyObject *self, operands *o, rp_tensor out);
/* One thread at a time, none of them with the GIL. False with an exception: the caller is inside already. */
bool model_enter(model_object *m, PyThreadState **thread);
void model_leave(model_object *m, PyThreadState *thread);
/* Raises what went wrong, and returns NULL: an exception of the function as it is. */
PyObject *model_fail(model_object *m, const rp_error *err, rp_status status, const char *call);
/* What the library calls, and is told of a function of Python by. */
rp_tensor model_forward(rp_nn *nn, const rp_tensor *batch, void *self);
forward_ref *model_reference(model_object *m, PyObject *function);
extern PyMethodDef model_methods[];
extern PyGetSetDef model_getset[];
bool optimizer_read(PyObject *dict, rp_nn_optimizer *o);
bool batches_read(PyObject *dict, rp_nn_batches *b);
bool init_read(PyObject *object, rp_nn_init *init);
extern PyMethodDef layer_methods[];

#endif
