/* SPDX-License-Identifier: Apache-2.0
 * Inside a model: its parameters, the rows it is trained on, the graph that its function is writing at the moment, and
 * the programs that came of it. Layers
 * (layers.c, convolutions.c, norms.c, recurrent.c, attention.c) see little more of it than rp/nn.h does. */
#ifndef CORE_NN_NN_PRIVATE_H
#define CORE_NN_NN_PRIVATE_H

#include "core/nn/nn.h"

/* NN_RATES: what a step is fed for its optimizers: a rate and two corrections of each. */
enum { NN_GROUPS = 16, NN_FIELDS = 32, NN_RATES = 3 * (NN_GROUPS + 1), NN_FEEDS = NN_FIELDS + NN_RATES + 8 };

/* How a parameter's elements lie in PyTorch, whose order of axes is another. */
typedef enum nn_layout { NN_AS_HERE, NN_TURNED } nn_layout;

typedef struct nn_parameter {
    char name[RP_NAME_MAX];
    rp_type type;
    rp_nn_init init;
    bool buffer;
    nn_layout layout;
    size_t group; /* 0: of the model's optimizer itself; else the number of its group, from 1 */
    bool frozen;  /* its group has no rate */
    float *given; /* initial values by rp_nn_write, until the run has them; NULL: the initialiser's */
    bool was_given;
    rp_tensor tensor; /* in the present trace; graph NULL: not named in it yet */
} nn_parameter;

typedef struct nn_rule {
    char pattern[RP_NAME_MAX];
    rp_nn_init init;
    bool used;
} nn_rule;

typedef struct nn_group {
    char pattern[RP_NAME_MAX];
    rp_nn_optimizer optimizer; /* the model's with another rate and decay; or, */
    bool own;                  /* one of its own: with its own schedule and corrections */
    bool used;
} nn_group;

/* What a batch has of one field. Bound: the run has the data, and a batch gathers from them; else it is fed. */
typedef struct nn_field {
    char name[RP_NAME_MAX];
    rp_type row; /* of one row */
    uint64_t rows;
    bool bound, tokens;
    unsigned width;             /* tokens: bytes of one */
    size_t stride, held;        /* held: tokens in all */
    const unsigned char *bytes; /* mapped, when it is fed */
    void *map;
    size_t map_size;
    unsigned char *batch; /* when it is fed: room for a batch */
} nn_field;

/* A tensor that a step is fed. */
typedef struct nn_feed {
    char name[RP_NAME_MAX];
    rp_type type;
    const void *bytes;
} nn_feed;

typedef enum nn_mode { NN_DISCOVER, NN_TRAIN, NN_LOSS, NN_OUTPUT, NN_INITIAL } nn_mode;

/* A step that is to be made: which function, on what. */
typedef struct nn_step {
    nn_mode mode;
    rp_nn_forward *forward;
    void *self;
    nn_feed feed[NN_FEEDS];
    size_t feeds;
    bool of_fields; /* the batch is of the fields, at `rows`; else it is all the feeds, in order */
} nn_step;

typedef struct nn_program {
    nn_mode mode;
    rp_nn_forward *forward;
    void *self;
    nn_feed *feed; /* without bytes */
    size_t feeds;
    rp_compiled *compiled;
    struct nn_program *next;
} nn_program;

struct rp_nn {
    rp_run *run;
    uint64_t seed;
    bool eager, mixed;
    rp_status status; /* the first error */
    rp_error error;

    rp_nn_forward *forward;
    void *self;
    void *companion;
    void (*release)(void *companion);
    nn_parameter *parameter;
    size_t parameters, room, next; /* next: where the next name is looked for first */
    bool built, started;

    nn_rule *rule;
    size_t rules;
    nn_group group[NN_GROUPS];
    size_t groups;
    rp_nn_optimizer optimizer;

    nn_field field[NN_FIELDS];
    size_t fields;
    rp_nn_batches batches;
    uint64_t training_rows, batch, per_epoch;
    int64_t *order;
    uint64_t epoch; /* that `order` is of; UINT64_MAX: of none */

    /* the present trace */
    rp_graph *graph; /* NULL: none */
    const nn_step *step;
    char scope[RP_NAME_MAX];
    size_t scope_at[16];
    int scopes;
    rp_tensor rng;
    int64_t stream;

    nn_program *program;
    uint64_t trained, run_steps; /* training steps; steps of the run by then: others mean that it was restored */
};

#define NN_STEP_STATE "nn.step"
#define NN_STREAM_DRAWS 0x44000000
#define NN_STREAM_ORDER 0x53000000u

/* A call that comes too late, or before the model is built, is an error in words. */
rp_status rp_nn_check_open(const rp_nn *nn, const char *call, rp_error *err);
/* Whether the name is as the pattern says; * stands for any characters. */
bool rp_nn_matches(const char *pattern, const char *name);

/* ---- parameters.c ---- */
nn_parameter *rp_nn_find(const rp_nn *nn, const char *name); /* by its whole name; NULL when there is none */
/* As rp_nn_parameter, for a weight whose axes PyTorch has in another order. */
rp_tensor rp_nn_weight(rp_nn *nn, const char *name, int rank, const size_t *shape, rp_nn_init init, nn_layout layout);
/* All patterns of rules and groups were met by some parameter. */
rp_status rp_nn_check_patterns(const rp_nn *nn, rp_error *err);

/* ---- initial.c ---- */
/* Appends a parameter's initial values; index: its position. */
rp_tensor rp_nn_initial(rp_graph *graph, const nn_parameter *p, rp_tensor rng, int64_t index);

/* ---- batch_sources.c ---- */
/* Puts a batch of a mapped field into the step's feeds. */
rp_status rp_nn_field_feed(rp_nn *nn, nn_field *f, nn_step *step, const int64_t *row, size_t count, rp_error *err);
void rp_nn_field_free(nn_field *f);

/* ---- rows.c ---- */
rp_status rp_nn_rows_ready(rp_nn *nn, rp_error *err); /* batches are checked against the rows */
uint64_t rp_nn_rows_count(const rp_nn *nn);
/* Puts `count` rows into the step's feeds: row numbers, and of fields that are fed their elements. */
rp_status rp_nn_rows_feed(rp_nn *nn, nn_step *step, const int64_t *row, size_t count, rp_error *err);
/* The rows of training step t, from 1. */
rp_status rp_nn_rows_of_step(rp_nn *nn, uint64_t t, const int64_t **row, size_t *count, rp_error *err);
/* The batch's tensors in the present trace. */
void rp_nn_rows_tensors(rp_nn *nn, rp_tensor *batch);
void rp_nn_rows_free(rp_nn *nn);

/* ---- inputs.c, of the present graph, symbolic or a run's eager step; trace.c, which writes it ---- */
rp_tensor rp_nn_state(rp_nn *nn, const char *name, const rp_type *type);
rp_tensor rp_nn_data(rp_nn *nn, const char *name, const rp_type *type);
rp_tensor rp_nn_feed(rp_nn *nn, const char *name); /* one of the step's feeds */
rp_tensor rp_nn_feed_at(rp_nn *nn, const nn_feed *feed);
void rp_nn_add_feed(nn_step *step, const char *name, const rp_type *type, const void *bytes);
void rp_nn_set_state(rp_nn *nn, const char *name, rp_tensor value);
void rp_nn_result(rp_nn *nn, const char *name, rp_tensor value);
/* Writes the step's program into graph: calls the model's function, and what the mode wants around it. */
void rp_nn_trace(rp_nn *nn, rp_graph *graph, const nn_step *step);
/* An error of the present graph, or of the model where there is none. */
void rp_nn_fail(rp_nn *nn, rp_status status, const char *format, ...) RP_PRINTF(3, 4);

/* ---- layers.c ---- */
/* The type of x, which the layer `name` is about to use and which has `least` axes; false after an error. */
bool rp_nn_type_of(rp_nn *nn, const char *name, rp_tensor x, int least, rp_type *type);
/* As torch.nn begins: uniform within 1 / sqrt(fan in). */
rp_nn_init rp_nn_within(size_t fan_in);
/* x [.., in] weight [in, out] + bias, as one product; in mixed precision of x as bf16. */
rp_tensor rp_nn_apply_linear(const rp_nn *nn, rp_tensor x, rp_tensor weight, rp_tensor bias);

/* ---- optimizer.c ---- */
/* call: the one that was given it. */
rp_status rp_nn_check_optimizer(const rp_nn_optimizer *o, const char *call, rp_error *err);
rp_status rp_nn_add_moments(rp_nn *nn, rp_error *err);              /* their states */
void rp_nn_feed_rates(const rp_nn *nn, nn_step *step, float *room); /* room for NN_RATES */
void rp_nn_append_updates(rp_nn *nn, rp_tensor loss);

/* ---- steps.c ---- */
/* Makes the step; its result of that name goes to out, whose size must be exact. */
rp_status rp_nn_execute(rp_nn *nn, const nn_step *step, const char *result, void *out, size_t size, rp_error *err);
void rp_nn_programs_free(rp_nn *nn);

#endif
