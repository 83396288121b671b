/* SPDX-License-Identifier: Apache-2.0
 * What the files of the extension share: tensors and the homes they live in, conversions, errors.
 *
 * Locks. Python objects, the list of a home's tensors among them, are guarded by the interpreter lock (GIL); a home's
 * graph and run by its own, which is only waited for without the GIL (home_enter). So no call computes under the GIL,
 * and no thread waits for a lock whose holder waits for the GIL. */
#ifndef PYTHON_BINDING_H
#define PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>

#include "rp/rp.h"

#define RP_UNUSED(x) (void)(x)

/* Puts a new reference in the place of an old one. */
static inline void replace(PyObject **place, PyObject *with)
{
    PyObject *before = *place;

    *place = with;
    Py_XDECREF(before);
}

/* ---- homes (home.c) ---- */

typedef enum home_kind {
    HOME_EAGER, /* a thread's own run, whose step is renewed when it has become long */
    HOME_RUN,   /* a run of the user's: steps are the user's */
    HOME_GRAPH, /* a symbolic graph */
    HOME_MODEL  /* the graph in which a model's function is called: borrowed */
} home_kind;

typedef struct tensor_object tensor_object;

/* Where tensors live. */
typedef struct home {
    atomic_uint users;
    home_kind kind;
    pthread_mutex_t lock;
    unsigned born; /* in which process, as counted by forks */
    bool busy;     /* a thread is inside */
    bool broken;   /* its graph's error could not be taken back */
    rp_run *run;
    rp_nn *model;    /* of HOME_MODEL, in eager steps, whose values it tells; else NULL */
    rp_graph *graph; /* NULL: no step is open, the graph is finished */
    uint32_t epoch;  /* of handles that are alive; 0: not asked */
    size_t length;   /* of the graph, when it was last left */
    unsigned traces; /* gradients to come: nothing goes, the step stays */
    unsigned fed;    /* values that came into the step */
    size_t kept;     /* bytes that stay until the step ends: what came in, what was read */
    size_t limit;    /* of kept, before it ends */
    tensor_object *first;
    rp_tensor *gone; /* handles whose tensors went while the lock was held, or a trace is open */
    size_t n_gone, cap_gone;
} home;

home *home_new(home_kind kind, rp_run *run, rp_graph *graph); /* NULL with an exception */
void home_hold(home *h);
void home_drop(home *h); /* the last one frees run and graph; no GIL is needed. NULL is fine */
/* The calling thread's: that of the innermost `with`, else its own eager one. Borrowed; NULL with an exception. */
home *home_current(void);
home *home_eager(void);
bool home_push(home *h);
void home_pop(home *h);
/* False with an exception: no step is open, or another thread was inside when the process forked. */
bool home_ready(home *h);

typedef struct home_visit {
    PyThreadState *thread;
    rp_tensor gone[16];
    unsigned n_gone;
} home_visit;
/* Between the two the caller has the home and not the GIL. */
void home_enter(home *h, home_visit *visit);
void home_leave(home *h, home_visit *visit);
/* The tensors that live here become values, or, of a run's step that is over, nothing. */
void home_forget(home *h);
/* Begins a new step where this one has become long. False with an exception. */
bool home_renew(home *h);
/* After an error: takes back what was appended behind `before`, so that the graph goes on. Inside the home. */
void home_mend(home *h, size_t before);
extern unsigned home_threads; /* of eager homes to come */
void home_setup(void);

/* ---- tensors (tensor.c) ---- */

/* home and handle: a value of an open graph. bytes: what it is, known to the host. One of the two, or both; neither:
 * its step is over and nobody read it. */
struct tensor_object {
    PyObject_HEAD home *home;
    rp_tensor handle;
    tensor_object *next, **back;
    void *bytes;
    rp_type type;
};
extern PyTypeObject *tensor_type;

static inline bool is_tensor(PyObject *x)
{
    return Py_TYPE(x) == tensor_type;
}

/* Tensors of one call. A model is differentiated by all of its parameters at once; the largest have hundreds. */
enum { OPERANDS_MAX = 2048 };

PyObject *tensor_new(home *h, rp_tensor handle, const rp_type *type);
PyObject *tensor_of_value(const rp_type *type, void *bytes); /* takes bytes, also on failure */
void tensor_attach(tensor_object *t, home *h, rp_tensor handle);
void tensor_detach(tensor_object *t);
/* Its elements, in row-major order, as long as it lives. NULL with an exception. */
const void *tensor_bytes(tensor_object *t);
bool type_of(rp_tensor x, rp_type *type);
size_t type_count(const rp_type *type);
size_t type_bytes(const rp_type *type);
bool types_equal(const rp_type *a, const rp_type *b);
void type_text(const rp_type *type, char *out, size_t size); /* size >= 192 */
/* memcpy, which lets other threads of Python go on where it takes long: what is copied is held by the caller. */
void copy_bytes(void *to, const void *from, size_t size);

/* What the operands of one call are in its home. */
typedef struct operands {
    home *home;
    const char *call;
    rp_tensor in[OPERANDS_MAX];
    size_t n;
    PyObject *kept[OPERANDS_MAX]; /* tensors made on the way */
    size_t n_kept;
    size_t before; /* the graph's length when the call began */
    rp_error err;
    rp_status status;
    home_visit visit;
} operands;

/* The home that a call with these operands belongs to; objects that are no tensors do not count. NULL with an
 * exception. */
home *operands_home(PyObject *const *object, size_t n);
bool operands_begin(operands *o, home *h, const char *call);
/* One more operand: a tensor, or what becomes one: a number, then of the dtype of `like` (which may be NULL), an array,
 * a list. False with an exception. */
bool operands_add(operands *o, PyObject *object, const rp_type *like);
bool operands_add_all(operands *o, PyObject *const *object, size_t n);
/* Takes the home; between the two calls only the library is called. */
void operands_enter(operands *o);
/* Leaves it. False with the graph's error as an exception, which the graph has then forgotten. */
bool operands_leave(operands *o);
void operands_end(operands *o);
/* Leaves and ends, and makes a tensor of the result. */
PyObject *operands_result(operands *o, rp_tensor out, const rp_type *type);
PyObject *operands_results(operands *o, const rp_tensor *out, size_t n); /* a tuple */
/* The same in one go of a call of one or two tensors. */
typedef rp_tensor call1(rp_tensor);
typedef rp_tensor call2(rp_tensor, rp_tensor);

bool tensor_setup(PyObject *module);
extern PyType_Slot arithmetic_slots[];
PyObject *tensor_subscript(PyObject *self, PyObject *key);
Py_ssize_t tensor_length(PyObject *self);
extern PyMethodDef tensor_methods[];
extern void (*const tensor_release_buffer)(PyObject *, Py_buffer *);
extern PyObject *(*const tensor_rows)(PyObject *);
int tensor_buffer(PyObject *self, Py_buffer *view, int flags);
PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *tensor_dlpack_device(PyObject *self, PyObject *ignored);
PyObject *from_dlpack(PyObject *capsule); /* a tensor; NULL with an exception */

/* ---- conversions (convert.c) ---- */

bool dtype_read(PyObject *object, rp_dtype *dtype);
PyObject *dtype_text(rp_dtype dtype);
const char *dtype_format(rp_dtype dtype);               /* of struct; NULL: there is none */
bool buffer_type(const Py_buffer *view, rp_type *type); /* false without an exception: no tensor has it */
bool shape_read(PyObject *object, int *rank, size_t shape[RP_MAX_RANK]);
PyObject *shape_tuple(const rp_type *type);
bool type_read(PyObject *shape, PyObject *dtype, rp_type *type);
bool list_read(PyObject *object, int64_t *list, size_t room, size_t *n);
/* A number of Python as an axis: one that no tensor has stays one that no tensor has. */
static inline int axis_of(long long number)
{
    return number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : (int)number;
}
/* A number of Python as an element. Errors: a number that the dtype does not have. */
bool number_read(PyObject *object, rp_dtype dtype, double *real);
bool is_number(PyObject *object);
/* Elements of an array, or whatever numpy makes one of, in row-major order. */
typedef struct elements {
    rp_type type;
    const void *bytes;
    void *copy;
    Py_buffer view;
    bool viewed;
    PyObject *kept;
} elements;
bool elements_read(elements *e, PyObject *object, const rp_dtype *wanted);
void elements_free(elements *e);

/* ---- errors (error.c) ---- */

/* Raises the exception of a status and returns NULL. operation may be NULL, step -1. */
PyObject *raise_error(const rp_error *err, rp_status status, const char *operation, int64_t step);
bool error_setup(PyObject *module);
extern PyObject *error_base;

/* ---- the rest of the module ---- */

/* Appends one operation by name. attributes: a dict or NULL. */
PyObject *append_operation(home *h, const char *op, PyObject *attributes, PyObject *const *in, size_t n);
PyObject *operations_make(PyObject *module, PyObject *ignored);
PyObject *operations_list(PyObject *module, PyObject *ignored);
PyObject *functions_make(PyObject *module, PyObject *ignored);
PyObject *several_call(PyObject *module, PyObject *args);
/* Notes where the caller's Python stands, for errors of a program that runs later. */
void note_site(const char *call);

bool graph_setup(PyObject *module);
bool program_setup(PyObject *module);
bool run_setup(PyObject *module);
bool gradient_setup(PyObject *module);
bool model_setup(PyObject *module);

PyObject *program_wrap(rp_program *program);
extern PyTypeObject *program_type, *function_type, *run_type;
rp_program *program_of(PyObject *self);
rp_function *function_of(PyObject *self); /* NULL with an exception */
PyObject *function_wrap(rp_function *function);
home *run_home(PyObject *run);
PyObject *regions_scan(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *regions_call(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *regions_cond(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *regions_while(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *regions_map(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gradients_in(home *h, PyObject *const *y, size_t n_y, PyObject *const *seed, PyObject *const *wrt, size_t n,
                       bool zeros, bool mixed);

/* Adds a heap type under its name; NULL with an exception. */
PyTypeObject *add_type(PyObject *module, PyType_Spec *spec);

#endif
