/* SPDX-License-Identifier: Apache-2.0
 * What a compiled step of a framework knows of the batches that programs were made for: which types their tensors have,
 * which feeds they are, and the rates that are told beside them. */
#ifndef PYTHON_DOOR_H
#define PYTHON_DOOR_H

#include "exchange.h"
#include "run_object.h"

enum { LEAVES_MAX = 64, RATES_MAX = 64 };

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
    fed result;
    rp_type result_type;
    bool updates; /* of the last batch of an optimizer's step, else of one before it */
    PyObject *compiled, *built;
} entry;

typedef struct look {
    rp_type type[LEAVES_MAX];
    const void *bytes[LEAVES_MAX];
    size_t n;
} look;

/* `kind` is the type of leaves, `is_neg` its method, `lr` a name. All is another's. */
typedef struct batches {
    PyTypeObject *kind;
    const dl_exchange *exchange;
    PyObject *is_neg, *lr;
    group *groups;
    size_t n_groups;
    entry *entries;
} batches;

/* Of a list of (dict, behind, beta1, beta2, decay), which the caller keeps. False with an exception. */
bool groups_read(batches *b, PyObject *list);
const dl_exchange *exchange_of(PyObject *kind); /* NULL without an exception: the type has none */
/* Of a batch's leaves, the names of their feeds or None, and (feed, group, kind) of each rate. NULL: this batch, or
 * this program, is not for the short way; or with an exception. */
entry *entry_new(const batches *b, const rp_program *p, PyObject *leaves, PyObject *feeds, PyObject *rates,
                 const char *result);
/* Where the leaves lie. False without an exception: one is of another kind. */
bool look_at_all(const batches *b, PyObject *leaves, look *l);
entry *entry_of(const batches *b, const look *l, bool updates); /* NULL: none */
/* The rates of a step after so many; the numbers lie in `store`. False, perhaps with an exception: not for here. */
bool tell_rates(const batches *b, const entry *e, long long steps, fed *feeds, double *store);

#endif
