/* SPDX-License-Identifier: Apache-2.0
 * Places of Python's where something was, and whether it still is there: a step's look at what its program burned in.
 */
#ifndef PYTHON_PLACES_H
#define PYTHON_PLACES_H

#include "binding.h"

/* A name in a dict, or an attribute of another object, and what was there. A name without a value (NULL) is to be in no
 * dict; without a name, None, `where` is called. Where it is counted, `value` is a dict, which by the name has a
 * number: a dict is to have no fewer items. What is asked again at each step is asked of C where C has the answer,
 * without the calls that lead there: an attribute of its getter and a function of its body, as long as the object is of
 * `type`, and a class, which no code of Python's makes up, of the object itself. */
typedef enum place_kind {
    PLACE_ITEM,
    PLACE_NOWHERE,
    PLACE_COUNT,
    PLACE_CLASS,
    PLACE_GETTER,
    PLACE_CALL,
    PLACE_ASKED
} place_kind;

typedef struct place {
    place_kind kind;
    PyObject *where, *name, *value;
    PyTypeObject *type;
    getter get;
    void *closure;
    PyCFunction call;
    PyObject *self; /* of the function */
    Py_ssize_t at;  /* where in the dict the name was last: it needs no search while it is still there */
} place;

/* Of a list of tuples (dict or object, name, what is there; or dict, name; or (dict, dict of numbers), name), which the
 * caller keeps; what is found beside it goes into the list `kept`. NULL with an exception. */
place *places_read(PyObject *list, PyObject *kept, size_t *n);
/* Whether all have what they had: the same object, or one of the same plain type and bits. May say no of what is alike.
 */
bool places_stand(const place *places, size_t n);
PyObject *tuple_at(PyObject *list, Py_ssize_t i); /* a list's element; NULL with an exception: it is no tuple */
/* What C does for a method without arguments that a type has of C; NULL without an exception: it is no such one. */
PyCFunction method_of(PyObject *method);

#endif
