/* SPDX-License-Identifier: Apache-2.0
 * The model of a recipe: convolution layers on an image, if it has them, and a multi-layer perceptron (no layer at all:
 * linear or logistic regression); its parameters, its loss and its scores. */
#ifndef CORE_TRAIN_MODEL_H
#define CORE_TRAIN_MODEL_H

#include "core/recipe/recipe.h"
#include "core/run/run.h"

typedef struct rp_parameter {
    char name[RP_NAME_MAX];
    int rank;
    size_t shape[4];
    double bound;     /* initialised uniformly in [-bound, bound); or */
    double deviation; /* normally about 0; both 0: constant */
    double constant;
} rp_parameter;

/* What the recipe leaves to be worked out of a convolution layer: the shapes [height, width, channels] before it, after
 * the convolution and after the pool, and the padding {top, left, bottom, right}. */
typedef struct rp_conv_shape {
    int64_t in[3], z[3], out[3], padding[4];
} rp_conv_shape;

/* As many as the largest model of a text has; a table's has at most four a layer. */
enum { RP_GPT_BLOCK = 12, RP_MAX_PARAMETERS = RP_GPT_BLOCK * RP_GPT_LAYERS + 4 };

typedef struct rp_model {
    const rp_recipe *recipe;
    size_t features, outputs;
    rp_loss loss;   /* resolved, never auto */
    rp_dtype dtype; /* of parameters, features and targets: binary64 where the recipe fits exactly */
    bool weighted;  /* rows count differently in the loss */
    rp_conv_shape conv[RP_MAX_CONV];
    rp_parameter parameter[RP_MAX_PARAMETERS];
    size_t n_parameters;
} rp_model;

/* classes: 0 for a regression. Borrows recipe. Errors: RP_EARG when the features are no such image, a window does not
 * fit, groups do not divide, or there are more than 2^31 parameters: a recipe of a few lines must not claim all memory.
 */
rp_status rp_model_init(rp_model *model, const rp_recipe *recipe, size_t features, size_t classes, rp_error *err);
/* Errors: RP_EARG: the parameters are too many. */
rp_status rp_model_check_size(const rp_model *model, rp_error *err);
/* The parameters as inputs of a graph for a run that has them as states, in order. */
void rp_model_weights(const rp_model *model, const rp_run *run, rp_graph *graph, rp_tensor *weight);
/* Whether training draws random numbers: it then has a feed rng. */
bool rp_model_random(const rp_model *model);
/* Streams of dropout that each part of a batch of `rows` has for itself. */
int64_t rp_model_streams(const rp_model *model, size_t rows);
/* Logits [rows, outputs] of x [rows, features]. weight: the model's parameters in order. rng without a graph: no
 * dropout; part keeps the dropout streams of a step's parts apart. */
rp_tensor rp_model_forward(const rp_model *model, const rp_tensor *weight, rp_tensor x, rp_tensor rng, int64_t part);
/* The loss of each row, of the target's shape: f32 [rows, 1], or i64 labels [rows] for cross entropy. weight, of a
 * weighted model: of that shape and the model's type, by which they are multiplied; else without a graph. */
rp_tensor rp_model_row_losses(const rp_model *model, rp_tensor logits, rp_tensor target, rp_tensor weight);
/* The sum of rows' losses divided by count. */
rp_tensor rp_model_loss(rp_tensor row_losses, double count);
/* What is reported, in binary32: probabilities (bce: of the positive class, [rows, 1]; cross entropy: [rows, classes])
 * or values. */
rp_tensor rp_model_scores(const rp_model *model, rp_tensor logits);

#endif
