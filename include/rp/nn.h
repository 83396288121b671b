/* SPDX-License-Identifier: Apache-2.0
 * Models from layers, trained in few lines: named parameters with initialisers, layers, optimizers that keep their own
 * moments, schedules, and batches drawn from the seed. docs/nn.md is the guide, examples/zoo/ has twelve models.
 *
 * A model is a C function that gets a batch and returns a loss. It is called whenever a program of it is needed: once a
 * shape of batch, or at each step when steps are eager; both have the same bits and the same archive. A parameter is
 * there from the first call that names it, with the shape that this call gave it. What a step does is written in
 * CONTRACT 16, to the bit.
 *
 * Errors: the first one of a model is kept, later calls do nothing and return it; so a program may ask once, after the
 * last of several calls. Inside the model's function they are sticky as in rp/tensor.h and name the caller's line.
 * A model belongs to one thread at a time. Numbers are binary32. Files and archives: rp/nn_files.h. */
#ifndef RP_NN_H
#define RP_NN_H

#include "rp/image.h"
#include "rp/indexing.h"
#include "rp/run.h"

typedef struct rp_nn rp_nn;

/* ---- batches ---- */

typedef struct rp_nn_batches {
    size_t batch;   /* rows of a batch; 0: 32. Not more than there are. */
    size_t first;   /* the training rows: from this one on, */
    size_t rows;    /* so many; 0: to the last */
    bool in_order;  /* else each epoch has an order of its own: the permutation of (seed, epoch), CONTRACT 6.6 */
    bool drop_last; /* a last batch that would be shorter */
} rp_nn_batches;

/* ---- optimizers and schedules (CONTRACT 8, 16.3) ---- */

typedef enum rp_nn_rule {
    RP_NN_SGD,
    RP_NN_ADAM,
    RP_NN_ADAMW,
    RP_NN_RMSPROP,
    RP_NN_LION,
    RP_NN_ADAGRAD,
    RP_NN_LAMB,
    RP_NN_MUON
} rp_nn_rule;
typedef enum rp_nn_curve {
    RP_NN_FLAT,
    RP_NN_STEPS,
    RP_NN_COSINE,
    RP_NN_LINEAR,
    RP_NN_EXPONENTIAL, /* times gamma each step */
    RP_NN_ONE_CYCLE,   /* by half a cosine from start to lr in warmup steps, by another to low in step `total` */
    RP_NN_RESTARTS,    /* half a cosine from lr towards low, begun anew every `every` steps */
    RP_NN_INVERSE_ROOT /* lr sqrt(warmup / t) */
} rp_nn_curve;

typedef struct rp_nn_schedule {
    rp_nn_curve curve;
    uint64_t warmup; /* steps in which the rate rises to lr, but ONE_CYCLE's by t / warmup */
    uint64_t total;  /* training steps in all, for COSINE, LINEAR and ONE_CYCLE, which go to low and stay there */
    uint64_t every;  /* STEPS: after so many steps the rate is multiplied by gamma; RESTARTS */
    double gamma, low;
    double start; /* ONE_CYCLE: the first rate; 0: lr / 25 */
} rp_nn_schedule;

typedef struct rp_nn_optimizer {
    rp_nn_rule rule;
    double lr, weight_decay;
    double momentum;          /* SGD, RMSPROP, MUON */
    bool nesterov;            /* SGD, MUON */
    double beta1, beta2, eps; /* ADAM, ADAMW, LAMB; LION has no eps, RMSPROP and ADAGRAD it alone */
    double alpha;             /* RMSPROP */
    double clip_value;        /* each element of a gradient to at most this in magnitude; 0: not */
    double clip_norm;         /* then all gradients together to at most this norm; 0: not */
    rp_nn_schedule schedule;
} rp_nn_optimizer;

/* With PyTorch's defaults; change what should differ. */
RP_API rp_nn_optimizer rp_nn_sgd(double lr, double momentum);
RP_API rp_nn_optimizer rp_nn_adam(double lr);
RP_API rp_nn_optimizer rp_nn_adamw(double lr);
RP_API rp_nn_optimizer rp_nn_rmsprop(double lr);
RP_API rp_nn_optimizer rp_nn_adagrad(double lr);
/* With those of their papers: betas 0.9 and 0.99; 0.9 and 0.999, eps 1e-6, decay 0.01. */
RP_API rp_nn_optimizer rp_nn_lion(double lr);
RP_API rp_nn_optimizer rp_nn_lamb(double lr);
/* For matrices alone (rp_muon), PyTorch's defaults; what has another rank needs another optimizer, what is a table asks
 * for one: rp_nn_add_optimizer. */
RP_API rp_nn_optimizer rp_nn_muon(double lr);

/* The rate of training step t, from 1: what the step is fed, before it is rounded to binary32. A pure function. */
RP_API double rp_nn_rate(const rp_nn_schedule *schedule, double lr, uint64_t t);

/* ---- a model ---- */

/* Returns the loss, one element: for rp_nn_predict and rp_nn_apply any tensor. self is what was given with it: a
 * compiled step is found by the function and the address of self, and not written anew, so what the function reads
 * there must not change; give another self, or options.eager. A tensor lives until the function returns: none is kept
 * for its next call. */
typedef rp_tensor rp_nn_forward(rp_nn *nn, const rp_tensor *batch, void *self);

typedef struct rp_nn_options {
    rp_nn_forward *model;      /* what training steps train */
    void *self;                /* for it; borrowed */
    rp_nn_optimizer optimizer; /* {0}: rp_nn_adam(0.001) */
    rp_nn_batches batches;
    uint64_t seed; /* of initial values, orders of rows, dropout and all other draws */
    bool eager;    /* steps are written anew each time, for models whose C looks at values. Never changes a bit. */
    /* Mixed precision (CONTRACT 11.8, 16.5): linear layers round what they are given to bf16, and what waits for the
     * gradients waits as bf16: half the memory of activations. Parameters, moments, norms, losses and sums are f32.
     * Other bits than without, and as fixed. */
    bool mixed;
    rp_run_options run;
} rp_nn_options;

/* options are copied. The model is freed by rp_nn_free. Errors: RP_EARG (no model; numbers of the optimizer), those of
 * rp_run_new. */
RP_API rp_status rp_nn_new(rp_nn **out, const rp_nn_options *options, rp_error *err);
RP_API void rp_nn_free(rp_nn *nn); /* NULL is fine */
/* RP_OK, or the first error. */
RP_API rp_status rp_nn_status(const rp_nn *nn, rp_error *err);
/* The run that it steps, borrowed: its states, by name, are there from the first step or the recorder on. Steps of your
 * own come after the model's first, which draws its parameters: one before it leaves them at 0. */
RP_API rp_run *rp_nn_run(rp_nn *nn);

/* ---- rows ---- */

/* All fields have the same number of rows, and are added before the first step. A row of a field is what lies behind
 * its first axis; batch[i] of the model's function are a batch's rows of the i-th field that was added. */

/* An array in memory, copied: data of the run, in its archive once. shape[0] is the number of rows, at least 1.
 * Errors: RP_EARG (a name twice; another number of rows), RP_ENOMEM. */
RP_API rp_status rp_nn_array(rp_nn *nn, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                             const void *bytes, rp_error *err);
/* Rows in a file, little-endian, one behind another from the byte `offset` to its end; rank and shape are a row's. The
 * file stays mapped and is not read at once; each batch is a feed, in the archive where it was used. Errors: RP_EIO;
 * RP_EDATA when rows do not end where the file does. */
RP_API rp_status rp_nn_file(rp_nn *nn, const char *name, rp_dtype dtype, int rank, const size_t *shape,
                            const char *path, uint64_t offset, rp_error *err);
/* Tokens one behind another, unsigned and little-endian; row i is those from i * stride on, as i32 [length]. */
typedef struct rp_nn_tokens {
    const char *path;  /* a file, mapped as above; or NULL and */
    const void *bytes; /* tokens in memory, copied */
    size_t size;       /* their bytes */
    unsigned width;    /* bytes of a token: 1, 2 or 4; 0: 1 */
    size_t length;     /* tokens of a row */
    size_t stride;     /* 0: length */
} rp_nn_tokens;
/* Errors: RP_EDATA for fewer tokens than a row has, or a token beyond 2^31 - 1 (when it is met). */
RP_API rp_status rp_nn_text(rp_nn *nn, const char *name, const rp_nn_tokens *tokens, rp_error *err);

/* ---- initial values (CONTRACT 16.1), and groups of parameters ---- */

typedef enum rp_nn_init_kind {
    RP_NN_CONSTANT,
    RP_NN_UNIFORM,
    RP_NN_NORMAL,
    RP_NN_TRUNCATED,
    RP_NN_XAVIER_UNIFORM,
    RP_NN_XAVIER_NORMAL,
    RP_NN_KAIMING_UNIFORM,
    RP_NN_KAIMING_NORMAL,
    RP_NN_ORTHOGONAL
} rp_nn_init_kind;

typedef struct rp_nn_init {
    rp_nn_init_kind kind;
    double a, b;
} rp_nn_init; /* {0}: zeros */

RP_API rp_nn_init rp_nn_constant(double value);
RP_API rp_nn_init rp_nn_uniform(double low, double high);
RP_API rp_nn_init rp_nn_normal(double mean, double deviation);
RP_API rp_nn_init rp_nn_truncated(double mean, double deviation); /* a normal within two deviations */
/* fan in: the product of all axes but the last; fan out: the last, times all axes before the last two. */
RP_API rp_nn_init rp_nn_xavier_uniform(double gain);
RP_API rp_nn_init rp_nn_xavier_normal(double gain);
RP_API rp_nn_init rp_nn_kaiming_uniform(double gain); /* sqrt(2) before a ReLU */
RP_API rp_nn_init rp_nn_kaiming_normal(double gain);
RP_API rp_nn_init rp_nn_orthogonal(double gain); /* of the matrix [all axes but the last, the last] */

/* Parameters whose whole name is `pattern`, in which * stands for any characters, begin so instead of as their layer
 * says; of several the last given counts. Errors: a pattern that no parameter has, when the model is built. */
RP_API rp_status rp_nn_initialise(rp_nn *nn, const char *pattern, rp_nn_init init, rp_error *err);

/* Parameters whose names are so have their own rate, scheduled as the others, and decay; of several groups the last
 * given counts. lr 0: frozen, without gradient. At most 16. Errors: as above. */
RP_API rp_status rp_nn_add_group(rp_nn *nn, const char *pattern, double lr, double weight_decay, rp_error *err);
/* The same with an optimizer of their own, of any rule, with its own schedule; clipping, which is of all gradients
 * together, is the model's optimizer's. lr 0: frozen. It counts among the 16. */
RP_API rp_status rp_nn_add_optimizer(rp_nn *nn, const char *pattern, const rp_nn_optimizer *optimizer, rp_error *err);

/* ---- parameters ---- */

/* Calls the model once, without computing, so that its parameters are known; the first step does so where nobody did.
 * Fields, initial values and groups are fixed from here on. Errors: those of the model. */
RP_API rp_status rp_nn_build(rp_nn *nn, rp_error *err);

typedef struct rp_nn_parameter_info {
    const char *name; /* as long as nn */
    int rank;
    size_t shape[RP_MAX_RANK];
    bool trained; /* false: a buffer, as a running mean, or frozen */
} rp_nn_parameter_info;
/* The number of parameters, and the index-th in the order of their making; 0 and false before rp_nn_build. */
RP_API size_t rp_nn_parameters(const rp_nn *nn);
RP_API bool rp_nn_parameter_at(const rp_nn *nn, size_t index, rp_nn_parameter_info *info);
/* Values of a parameter or buffer, in full; size must be exact. Initial ones before the first step. */
RP_API rp_status rp_nn_read(rp_nn *nn, const char *name, void *bytes, size_t size, rp_error *err);
/* Values it begins with instead of the initialiser's; after rp_nn_build, before the first step and the recorder. */
RP_API rp_status rp_nn_write(rp_nn *nn, const char *name, const void *bytes, size_t size, rp_error *err);

/* Inside the model's function. Names are put behind those of the scopes that are open: "encoder.0." + "weight". */
RP_API void rp_nn_scope(rp_nn *nn, const char *format, ...) RP_PRINTF(2, 3);
RP_API void rp_nn_leave(rp_nn *nn);
RP_API rp_graph *rp_nn_graph(rp_nn *nn); /* for operations without an input tensor, such as rp_fill */
/* True in training steps; dropout and batch norm ask this. */
RP_API bool rp_nn_training(const rp_nn *nn);
/* A parameter, which the optimizer changes; the same name again, in other layers too, is the same parameter. */
RP_API rp_tensor rp_nn_parameter(rp_nn *nn, const char *name, int rank, const size_t *shape, rp_nn_init init);
/* A buffer, which the model changes, in training steps only: calls of rp_nn_buffer behind rp_nn_update see the new
 * value, so that a layer that is called twice in a step moves it twice. */
RP_API rp_tensor rp_nn_buffer(rp_nn *nn, const char *name, int rank, const size_t *shape, rp_nn_init init);
RP_API void rp_nn_update(rp_nn *nn, const char *name, rp_tensor value);
/* The value of x in an eager step (options.eager), recorded as rp_read does, so that C may branch on it. When the model
 * is built it is zeros: that call names all parameters, whichever way it goes. False, and bytes are zeros, after an
 * error; in a compiled step, which has no values, it is one. size must be exact. */
RP_API bool rp_nn_peek(rp_nn *nn, rp_tensor x, void *bytes, size_t size);
/* For rp_dropout, rp_uniform and rp_normal: the step's generator, and a stream that no other draw of the step has. */
RP_API rp_tensor rp_nn_rng(rp_nn *nn);
RP_API int64_t rp_nn_stream(rp_nn *nn);

/* ---- layers ---- */

/* Each makes its parameters under NAME. with the names and the initial values of torch.nn (but attention's
 * out_proj.bias, which begins as a linear layer's), and weights lie as the operations take them: [in, out], [r, s, in,
 * out] (rp_nn_load can turn those of PyTorch). Shapes that do not fit are RP_ESHAPE. What has options takes NULL for
 * none. */

/* x [.., in] -> [.., out]: weight [in, out], bias [out]; rp_nn_project: without a bias. */
RP_API rp_tensor rp_nn_linear(rp_nn *nn, const char *name, rp_tensor x, size_t out);
RP_API rp_tensor rp_nn_project(rp_nn *nn, const char *name, rp_tensor x, size_t out);
/* n linear layers of these widths, ReLU between them: NAME.0, NAME.1, .. */
RP_API rp_tensor rp_nn_mlp(rp_nn *nn, const char *name, rp_tensor x, const size_t *width, size_t n);

typedef struct rp_nn_conv {
    size_t kernel[2]; /* height, width; 0: 3. Of rp_nn_conv1d the width counts. */
    size_t groups;    /* 0: 1 */
    bool valid;       /* no padding; else, where place says none, half of what a kernel covers on each side */
    bool no_bias;
    rp_placement place;
    size_t extra[2]; /* of transposed ones: rows and columns more at the bottom and right, fewer than the stride */
} rp_nn_conv;
typedef struct rp_nn_conv3 { /* the same along depth, height, width */
    size_t kernel[3];
    size_t groups;
    bool valid;
    bool no_bias;
    rp_placement3d place;
    size_t extra[3];
} rp_nn_conv3;
/* x [n, h, w, c] -> [n, oh, ow, filters]; of rp_nn_conv1d x [n, w, c], of rp_nn_conv3d [n, d, h, w, c]. */
RP_API rp_tensor rp_nn_conv2d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options);
RP_API rp_tensor rp_nn_conv1d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv *options);
RP_API rp_tensor rp_nn_conv3d(rp_nn *nn, const char *name, rp_tensor x, size_t filters, const rp_nn_conv3 *options);
/* From small to large: weight [.., filters / groups, c]. With a stride of 2, a kernel of 4 and the padding that nobody
 * asked for the size is doubled. */
RP_API rp_tensor rp_nn_conv2d_transpose(rp_nn *nn, const char *name, rp_tensor x, size_t filters,
                                        const rp_nn_conv *options);
RP_API rp_tensor rp_nn_conv1d_transpose(rp_nn *nn, const char *name, rp_tensor x, size_t filters,
                                        const rp_nn_conv *options);
RP_API rp_tensor rp_nn_conv3d_transpose(rp_nn *nn, const char *name, rp_tensor x, size_t filters,
                                        const rp_nn_conv3 *options);
/* index [..] i32 or i64 below `rows` -> [.., width]: weight [rows, width]. */
RP_API rp_tensor rp_nn_embedding(rp_nn *nn, const char *name, rp_tensor index, size_t rows, size_t width);
/* index [bags, length] -> [bags, width]: the rows of each bag, reduced. */
RP_API rp_tensor rp_nn_embedding_bag(rp_nn *nn, const char *name, rp_tensor index, size_t rows, size_t width,
                                     rp_bag how);
/* Along the last axis, eps 1e-5: weight, bias; rp_nn_rms_norm: weight alone, without the mean. */
RP_API rp_tensor rp_nn_layer_norm(rp_nn *nn, const char *name, rp_tensor x);
RP_API rp_tensor rp_nn_rms_norm(rp_nn *nn, const char *name, rp_tensor x, double eps);
/* x [n, .., c]: over all positions of a sample and a group of neighbouring channels, or of one channel; eps 1e-5:
 * weight, bias. */
RP_API rp_tensor rp_nn_group_norm(rp_nn *nn, const char *name, rp_tensor x, size_t groups);
RP_API rp_tensor rp_nn_instance_norm(rp_nn *nn, const char *name, rp_tensor x);
/* Over all axes but the last, eps 1e-5: weight, bias; running_mean and running_var follow by a tenth in training steps
 * and take the batch's place in others. */
RP_API rp_tensor rp_nn_batch_norm(rp_nn *nn, const char *name, rp_tensor x);
/* x itself where the step trains nothing, or rate is 0. */
RP_API rp_tensor rp_nn_dropout(rp_nn *nn, rp_tensor x, double rate);

/* x [n, times, in] -> [n, times, hidden], a scan from zeros; *last (NULL: not wanted) is the last, [n, hidden]. The
 * gates are PyTorch's: weight_ih_l0 [in, gates hidden], weight_hh_l0, bias_ih_l0, bias_hh_l0. rp_nn_rnn has tanh. */
RP_API rp_tensor rp_nn_lstm(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last);
RP_API rp_tensor rp_nn_gru(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last);
RP_API rp_tensor rp_nn_rnn(rp_nn *nn, const char *name, rp_tensor x, size_t hidden, rp_tensor *last);

typedef enum rp_nn_cell { RP_NN_LSTM, RP_NN_GRU, RP_NN_TANH, RP_NN_RELU } rp_nn_cell;
typedef struct rp_nn_recurrence {
    rp_nn_cell cell;
    size_t layers;  /* each on what the one before gives; 0: 1. At most 32 scans in all */
    bool both;      /* a second scan of each layer from the last time to the first, beside it: *_reverse */
    double dropout; /* between layers */
    bool no_bias;
    rp_tensor lengths;      /* i32 or i64 [n]: so many times of each row are there; behind them the state stays and the
                               result      is 0. graph NULL: all */
    rp_tensor start;        /* h before the first time [layers (2 if both), n, hidden]; graph NULL: zeros */
    rp_tensor start_memory; /* of an LSTM */
    rp_tensor *last, *last_memory; /* the last ones, in the same order; NULL: not wanted */
} rp_nn_recurrence;
/* x [n, times, in] -> [n, times, hidden], of both directions 2 hidden. Parameters are PyTorch's: weight_ih_l0,
 * weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, .., weight_ih_l1, .. options NULL: one LSTM. */
RP_API rp_tensor rp_nn_recurrent(rp_nn *nn, const char *name, rp_tensor x, size_t hidden,
                                 const rp_nn_recurrence *options);

typedef struct rp_nn_attention {
    bool causal;             /* each time sees itself and those before it */
    rp_tensor mask;          /* stretches to [n, heads, times, times of what is seen]: bool, where it may be seen, or
                                f32, added to the scores; graph NULL: none */
    double dropout;          /* of the weights */
    size_t hidden;           /* of transformers: width of the middle layer; 0: 4 times the width */
    double residual_dropout; /* of transformers: of what is added to x */
    double hidden_dropout;   /* of transformers: of the middle layer */
    rp_tensor keys;          /* bool [n, times of what is seen]: which are there, others are padding; with it mask is
                                bool, too. graph NULL: all */
    size_t kv_heads;         /* heads of k and v, each of which serves as many of q in a row; 0: as many as of q */
    size_t window;           /* each time sees those within window - 1 places; 0: all */
    size_t each;             /* width of a head; 0: the width over the heads */
    double scale;            /* of the scores; 0: 1 / sqrt(each) */
    bool no_bias;            /* in no product of the layer, in transformers too */
    bool norm_last;          /* of transformers: norm(x + f(x)), as torch.nn's default, instead of x + f(norm(x)) */
    bool relu;               /* of transformers: in the place of gelu */
    double rms;              /* of transformers: eps of RMS norms in the place of layer norms; 0: layer norms */
} rp_nn_attention;
/* Self-attention of x [n, times, width]: in_proj_weight [width, (heads + 2 kv_heads) each], in_proj_bias, out_proj
 * [heads each, width]. heads divide width unless each is given, kv_heads divide heads. */
RP_API rp_tensor rp_nn_self_attention(rp_nn *nn, const char *name, rp_tensor x, size_t heads,
                                      const rp_nn_attention *options);
/* x asks, seen [n, times of its own, its width] answers: [n, times, width]. Parameters as above; where seen has another
 * width than x q_proj_weight, k_proj_weight, v_proj_weight in the place of in_proj_weight, as torch.nn has them. */
RP_API rp_tensor rp_nn_cross_attention(rp_nn *nn, const char *name, rp_tensor x, rp_tensor seen, size_t heads,
                                       const rp_nn_attention *options);
/* A block, norms first: x + self_attn(norm1(x)), then that + linear2(gelu(linear1(norm2(that)))). */
RP_API rp_tensor rp_nn_transformer(rp_nn *nn, const char *name, rp_tensor x, size_t heads,
                                   const rp_nn_attention *options);
/* A block that sees an encoder's output, too: as above with multihead_attn(norm2(x), seen) between the two, and norm3.
 * cross (NULL: none) is of that attention, its masks and sizes; what transformers have beside it is of `options`. */
RP_API rp_tensor rp_nn_decoder(rp_nn *nn, const char *name, rp_tensor x, rp_tensor seen, size_t heads,
                               const rp_nn_attention *options, const rp_nn_attention *cross);

/* ---- steps ---- */

/* The next training step; *loss (NULL: not wanted) is the batch's loss before it. The first call makes a step more
 * before it, which sets the initial values. Errors: RP_EDATA when the loss is not finite; those of the model. */
RP_API rp_status rp_nn_train_step(rp_nn *nn, float *loss, rp_error *err);
/* Training steps up to the end of an epoch: so many rows as there are to train on. *loss is the last batch's, not a
 * mean: rp_nn_evaluate has that. */
RP_API rp_status rp_nn_train_epoch(rp_nn *nn, float *loss, rp_error *err);
/* Training steps made; after a resumption those before it count. */
RP_API uint64_t rp_nn_steps(rp_nn *nn);
RP_API uint64_t rp_nn_steps_per_epoch(rp_nn *nn); /* 0: not built yet */
/* The mean over rows first .. first + rows - 1 of what forward (NULL: the model) gives in evaluation, batch by batch in
 * order, each times its rows, added in binary64. Each batch is a step of the run. */
RP_API rp_status rp_nn_evaluate(rp_nn *nn, rp_nn_forward *forward, void *self, size_t first, size_t rows, double *mean,
                                rp_error *err);
/* What forward gives for these rows, whose first axis is the batch's: all of it in order. size must be exact. */
RP_API rp_status rp_nn_predict(rp_nn *nn, rp_nn_forward *forward, void *self, size_t first, size_t rows, void *out,
                               size_t size, rp_error *err);

/* A tensor that the caller has instead of a field. */
typedef struct rp_nn_input {
    const char *name;
    rp_dtype dtype;
    int rank;
    size_t shape[RP_MAX_RANK];
    const void *bytes;
} rp_nn_input;
/* What forward gives in evaluation for these inputs, which are its batch. size must be exact. */
RP_API rp_status rp_nn_apply(rp_nn *nn, rp_nn_forward *forward, void *self, const rp_nn_input *input, size_t n,
                             void *out, size_t size, rp_error *err);

/* Calls say where they stand: see rp_site. Written by scripts/sites.py. */
#if !defined(RP_BUILDING) && !defined(RP_NO_SITES)
#define rp_nn_scope(...) RP_SITE(rp_nn_scope, __VA_ARGS__)
#define rp_nn_leave(...) RP_SITE(rp_nn_leave, __VA_ARGS__)
#define rp_nn_parameter(...) RP_SITED(rp_nn_parameter, __VA_ARGS__)
#define rp_nn_buffer(...) RP_SITED(rp_nn_buffer, __VA_ARGS__)
#define rp_nn_update(...) RP_SITE(rp_nn_update, __VA_ARGS__)
#define rp_nn_rng(...) RP_SITED(rp_nn_rng, __VA_ARGS__)
#define rp_nn_linear(...) RP_SITED(rp_nn_linear, __VA_ARGS__)
#define rp_nn_project(...) RP_SITED(rp_nn_project, __VA_ARGS__)
#define rp_nn_mlp(...) RP_SITED(rp_nn_mlp, __VA_ARGS__)
#define rp_nn_conv2d(...) RP_SITED(rp_nn_conv2d, __VA_ARGS__)
#define rp_nn_conv1d(...) RP_SITED(rp_nn_conv1d, __VA_ARGS__)
#define rp_nn_conv3d(...) RP_SITED(rp_nn_conv3d, __VA_ARGS__)
#define rp_nn_conv2d_transpose(...) RP_SITED(rp_nn_conv2d_transpose, __VA_ARGS__)
#define rp_nn_conv1d_transpose(...) RP_SITED(rp_nn_conv1d_transpose, __VA_ARGS__)
#define rp_nn_conv3d_transpose(...) RP_SITED(rp_nn_conv3d_transpose, __VA_ARGS__)
#define rp_nn_embedding(...) RP_SITED(rp_nn_embedding, __VA_ARGS__)
#define rp_nn_embedding_bag(...) RP_SITED(rp_nn_embedding_bag, __VA_ARGS__)
#define rp_nn_layer_norm(...) RP_SITED(rp_nn_layer_norm, __VA_ARGS__)
#define rp_nn_rms_norm(...) RP_SITED(rp_nn_rms_norm, __VA_ARGS__)
#define rp_nn_group_norm(...) RP_SITED(rp_nn_group_norm, __VA_ARGS__)
#define rp_nn_instance_norm(...) RP_SITED(rp_nn_instance_norm, __VA_ARGS__)
#define rp_nn_batch_norm(...) RP_SITED(rp_nn_batch_norm, __VA_ARGS__)
#define rp_nn_dropout(...) RP_SITED(rp_nn_dropout, __VA_ARGS__)
#define rp_nn_lstm(...) RP_SITED(rp_nn_lstm, __VA_ARGS__)
#define rp_nn_gru(...) RP_SITED(rp_nn_gru, __VA_ARGS__)
#define rp_nn_rnn(...) RP_SITED(rp_nn_rnn, __VA_ARGS__)
#define rp_nn_recurrent(...) RP_SITED(rp_nn_recurrent, __VA_ARGS__)
#define rp_nn_self_attention(...) RP_SITED(rp_nn_self_attention, __VA_ARGS__)
#define rp_nn_cross_attention(...) RP_SITED(rp_nn_cross_attention, __VA_ARGS__)
#define rp_nn_transformer(...) RP_SITED(rp_nn_transformer, __VA_ARGS__)
#define rp_nn_decoder(...) RP_SITED(rp_nn_decoder, __VA_ARGS__)
#endif

#endif
