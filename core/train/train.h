/* SPDX-License-Identifier: Apache-2.0
 * Training by a recipe, step by step (CONTRACT 12). Step 0 initialises, steps 1 .. n train, the last one or two
 * evaluate the training and the validation part; of a text several do, in blocks of windows. Everything is a pure
 * function of (recipe, bytes of the table or text). Unless something else is said, calls are for tables. */
#ifndef CORE_TRAIN_TRAIN_H
#define CORE_TRAIN_TRAIN_H

#include "core/data/dataset.h"
#include "core/text/corpus.h"
#include "core/train/model.h"

typedef struct rp_trainer rp_trainer;

/* A table's text; where names it in errors. leave (NULL: not) is called while the table is read, when the bytes so far,
 * `done` of them, are not looked at for a while: whoever has them elsewhere may give their memory back. */
typedef struct rp_source_text {
    const void *bytes;
    size_t size;
    const char *where;
    void (*leave)(void *self, size_t done, size_t size);
    void *self;
} rp_source_text;

/* recipe and the text's bytes are borrowed, and epochs that the recipe leaves to the table are written into it. */
rp_status rp_trainer_new(rp_trainer **out, rp_recipe *recipe, const rp_source_text *text, const rp_run_options *options,
                         rp_error *err);
/* Another trainer of the same recipe on the same data, before its first step: `from` lends it the prepared data and
 * must outlive it. Runs of the two may go on in two threads. */
rp_status rp_trainer_clone(rp_trainer **out, const rp_trainer *from, const rp_run_options *options, rp_error *err);
/* Rows for several trainers, one after the other: *data is NULL, or what an earlier one had prepared of the table by
 * the recipe `prepare`. */
typedef struct rp_trial_rows {
    const rp_recipe *prepare;
    const rp_source_text *text;
    rp_dataset **data;
} rp_trial_rows;
/* A trainer of a recipe whose rows these are: prepared now if they were not, and the caller's to free behind it, also
 * on failure. */
rp_status rp_trainer_try(rp_trainer **out, const rp_recipe *recipe, const rp_trial_rows *rows,
                         const rp_run_options *options, rp_error *err);
/* Of a recipe with a parent: who hands over, when step 0 is made, the states that it takes instead of drawing weights:
 * every parameter and, unless the recipe retrains, every moment, piece by piece through rp_trainer_put. self is
 * borrowed until the trainer is freed. */
typedef struct rp_start_source {
    rp_status (*give)(void *self, rp_trainer *trainer, rp_error *err);
    void *self;
} rp_start_source;
rp_status rp_trainer_start_from(rp_trainer *trainer, const rp_start_source *from, rp_error *err);
/* Elements first to first + count - 1 of a state to start from, in host form, copied. Errors: RP_EDATA: there is none
 * of that name and type. */
rp_status rp_trainer_put(rp_trainer *trainer, const char *name, const rp_type *type, size_t first, const void *elements,
                         size_t count, rp_error *err);
/* How many states that is: the first so many of the run's. */
size_t rp_trainer_start_count(const rp_trainer *trainer);
void rp_trainer_free(rp_trainer *trainer);
rp_run *rp_trainer_run(const rp_trainer *trainer); /* to observe; data are train_x, train_y, valid_x, valid_y */
const rp_dataset *rp_trainer_dataset(const rp_trainer *trainer); /* NULL: the recipe is on a text */
const rp_corpus *rp_trainer_text(const rp_trainer *trainer);     /* NULL: it is on a table */
const rp_model *rp_trainer_model(const rp_trainer *trainer);
/* Of an archive's run, before step 0: how many training steps it says it has. Early stopping is held against it, so
 * that all who read the archive agree on the number of steps. Errors: RP_EFORMAT. */
rp_status rp_trainer_expect_training(rp_trainer *trainer, uint64_t steps, rp_error *err);
/* Steps in all, and training steps among them: with early stopping the most that there can be, until it ends. */
uint64_t rp_trainer_total(const rp_trainer *trainer);
uint64_t rp_trainer_training_steps(const rp_trainer *trainer);
/* Epochs of these training steps; the number of the first step that evaluates. */
uint64_t rp_trainer_epochs(const rp_trainer *trainer);
uint64_t rp_trainer_evaluates_from(const rp_trainer *trainer);
/* The next step. Errors: those of the run and its observers; RP_EDATA when the loss is no longer finite. */
rp_status rp_trainer_step(rp_trainer *trainer, rp_error *err);
/* Goes on as after `step` steps (at most the total): every state of the run is given. Whatever else a
 * step needs is a function of its number; the scores of an evaluation that was made by then are computed again,
 * unobserved. Errors: RP_EARG, RP_EDATA (the states do not fit), those of a step. */
rp_status rp_trainer_restore(rp_trainer *trainer, uint64_t step, const rp_value_source *from, rp_error *err);
/* What a step computes; step is below the total. */
const rp_program *rp_trainer_program(const rp_trainer *trainer, uint64_t step);
bool rp_trainer_done(const rp_trainer *trainer);
/* Loss of the last training step; NaN when none was made since restoring. */
float rp_trainer_loss(const rp_trainer *trainer);
/* After the evaluations: scores [rows, outputs], of a regression in the target's units, to be freed, and loss of the
 * validation or the training part. */
rp_status rp_trainer_scores(const rp_trainer *trainer, bool validation, float *loss, double **scores, rp_error *err);
/* After the evaluations: rows, loss, and accuracy and area, or errors and R2, of the validation part alone, as
 * outputs/metrics.json has them; new reference. */
rp_status rp_trainer_brief(const rp_trainer *trainer, rp_json **out, rp_error *err);
/* Of a text, when done: outputs/metrics.json; new reference. */
rp_status rp_trainer_language_metrics(const rp_trainer *trainer, rp_json **out, rp_error *err);
/* Tokens of the smallest block that is evaluated; SIZE_MAX where none is, as on a table. */
size_t rp_trainer_least_block(const rp_trainer *trainer);
/* When done: outputs/reference.json (canonical JSON; new reference), what the training rows and their scores were like,
 * which later rows, and the metrics, are held against. */
rp_status rp_trainer_reference(const rp_trainer *trainer, rp_json **out, rp_error *err);
/* When done: outputs/metrics.json (canonical JSON; new reference). */
rp_status rp_trainer_metrics(const rp_trainer *trainer, const rp_json *reference, rp_json **out, rp_error *err);
/* Who takes a text piece by piece, so that it is nowhere whole: takes what the buffer has, and empties it. */
typedef struct rp_text_drain {
    rp_status (*take)(void *self, rp_buffer *text, rp_error *err);
    void *self;
} rp_text_drain;
/* When done: outputs/predictions.csv of the validation part (of the training part when there is no other). What no
 * drain has taken is left in out; drain may be NULL. */
rp_status rp_trainer_predictions(const rp_trainer *trainer, rp_buffer *out, const rp_text_drain *drain, rp_error *err);
/* Further cells of each line of predictions, each begun by rp_predictions_cell: behind the row's number, and at the
 * end. row RP_HEADER: of the header. */
enum { RP_HEADER = -1 };
typedef struct rp_predictions_beside {
    rp_status (*put)(void *self, rp_buffer *out, int64_t row, bool at_end, rp_error *err);
    void *self;
} rp_predictions_beside;
/* A comma and the text, quoted where it must be. */
void rp_predictions_cell(rp_buffer *out, const char *text);
/* Rows that were predicted: their scores, numbers and answers. */
typedef struct rp_predicted_rows {
    const rp_model *model;
    const rp_schema *schema;
    const double *scores; /* [rows, outputs] */
    size_t rows;
    const int64_t *row;                  /* NULL: numbered from 0 */
    const int64_t *truth;                /* labels: one more column; NULL */
    const double *target;                /* likewise of a regression; NULL */
    const rp_predictions_beside *beside; /* NULL */
} rp_predicted_rows;

/* As CSV: header, then row number, predicted class or value, and probabilities. */
rp_status rp_predictions_write(rp_buffer *out, const rp_predicted_rows *rows, rp_error *err);

#endif
