/* SPDX-License-Identifier: Apache-2.0
 * Places of Python's where something was, and whether it still is there: a step's look at what its program burned in.
 */
#ifndef PYTHON_PLACES_H
#define PYTHON_PLACES_H

#include "binding.h"

/* A name in a dict, or an attribute of another object, and what was there. An attribute that a type has of C is asked
 * for at its getter, as long as the object is of that type. A name without a value (NULL) is to be in no dict;
 * without a name, None, `where` is called. Where it is counted, `value` is a dict, which by the name has a number: a
 * dict is to have no fewer items. */
typedef struct place {
    PyObject *where, *name, *value, *getter;
    PyTypeObject *type;
    bool item, counted;
    Py_ssize_t at; /* where in the dict the name was last: it needs no search while it is still there */
} place;

/* Of a list of tuples (dict or object, name, what is there; or dict, name; or (dict, dict of numbers), name), which the
 * caller keeps; what is found beside it goes into the list `kept`. NULL with an exception. */
place *places_read(PyObject *list, PyObject *kept, size_t *n);
/* Whether all have what they had: the same object, or one of the same plain type and bits. May say no of what is alike.
 */
bool places_stand(const place *places, size_t n);
PyObject *tuple_at(PyObject *list, Py_ssize_t i); /* a list's element; NULL with an exception: it is no tuple */

#endif
