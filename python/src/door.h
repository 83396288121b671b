/* SPDX-License-Identifier: Apache-2.0
 * What a compiled step of a framework knows of the batches that programs were made for: which types their tensors have,
 * which feeds they are, and the rates that are told beside them. */
#ifndef PYTHON_DOOR_H
#define PYTHON_DOOR_H

#include "exchange.h"
#include "run_object.h"

enum { LEAVES_MAX = 64, RATES_MAX = 64, KINDS_MAX = 4, RESULTS_MAX = 32 };

/* A type of leaves: a table of calls shows them, or, where there is none, the protocol of buffers. `apart` is what is
 * false of those that are no more than what lies in memory: an attribute's name, or, of a table's, a method. */
typedef struct leaf_kind {
    PyTypeObject *type;
    const dl_exchange *exchange;
    PyObject *apart;      /* may be NULL */
    PyCFunction is_apart; /* what C does for the method; may be NULL */
} leaf_kind;

/* A group of an optimizer. `behind`: its steps less the optimizer's. */
typedef struct group {
    PyObject *own;
    long long behind;
    double beta1, beta2, decay;
} group;

/* What is told of a group: its rate, the corrections of both moments, which step this is. */
typedef enum rate_kind { RATE_LR, RATE_C1, RATE_C2, RATE_STEP, RATE_KINDS } rate_kind;

typedef struct rate {
    size_t group;
    rate_kind kind;
    bool wide; /* f64, else f32 */
} rate;

typedef struct entry {
    struct entry *next;
    rp_type type[LEAVES_MAX];
    size_t feed[LEAVES_MAX]; /* of each leaf its place among the feeds, or SIZE_MAX: nothing reads it */
    size_t n_leaves, n_rates;
    rate rate[RATES_MAX];
    fed feeds[LEAVES_MAX + RATES_MAX]; /* those of leaves, then the rates */
    size_t n_fed;                      /* of leaves */
    fed result[RESULTS_MAX];
    rp_type result_type[RESULTS_MAX];
    size_t n_results;
    bool several; /* results are given as a tuple */
    bool number;  /* the result is given as a number of Python */
    bool updates; /* of the last batch of an optimizer's step, else of one before it */
    PyObject *compiled, *built;
} entry;

/* A leaf as it lies; `view` is held where it came of a buffer. */
typedef struct seen {
    rp_type type;
    const void *bytes;
    bool held;
    Py_buffer view;
} seen;

typedef struct look {
    seen leaf[LEAVES_MAX];
    size_t n;
} look;

/* `kind` are the types of leaves, `lr` is a name. All is another's. */
typedef struct batches {
    leaf_kind kind[KINDS_MAX];
    size_t n_kinds;
    PyObject *lr;
    group *groups;
    size_t n_groups;
    entry *entries;
} batches;

/* Of a list of (dict, behind, beta1, beta2, decay), which the caller keeps. False with an exception. */
bool groups_read(batches *b, PyObject *list);
const dl_exchange *exchange_of(PyObject *kind); /* NULL without an exception: the type has none */
/* Of a batch's leaves, the names of their feeds or None, (feed, group, kind) of each rate, and the name of the result,
 * or a tuple of names. NULL: this batch, or this program, is not for the short way; or with an exception. */
entry *entry_new(const batches *b, const rp_program *p, PyObject *leaves, PyObject *feeds, PyObject *rates,
                 PyObject *results, bool number);
/* Where the leaves lie, until look_away, which is called in any case. False without an exception: one is of another
 * kind. */
bool look_at_all(const batches *b, PyObject *leaves, look *l);
void look_away(look *l);
entry *entry_of(const batches *b, const look *l, bool updates); /* NULL: none */
/* The rates of a step after so many; the numbers lie in `store`. False, perhaps with an exception: not for here. */
bool tell_rates(const batches *b, const entry *e, long long steps, fed *feeds, double *store);

#endif
