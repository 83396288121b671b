/* SPDX-License-Identifier: Apache-2.0
 * A training recipe: YAML as the user wrote it, resolved to a struct and to canonical JSON in which every default is
 * written out. The JSON alone (from an archive) gives the same struct back. Untrusted input: every mistake is one
 * clear error that names the key, the line, what was expected and, for an unknown key, the nearest known one. */
#ifndef CORE_RECIPE_RECIPE_H
#define CORE_RECIPE_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "core/recipe/date.h"
#include "core/recipe/recipe_program.h"
#include "rp/error.h"

typedef enum rp_activation { RP_ACT_RELU, RP_ACT_GELU, RP_ACT_TANH, RP_ACT_SIGMOID } rp_activation;
/* The last two are of exact fits' families, and no words of a recipe. */
typedef enum rp_loss {
    RP_LOSS_AUTO,
    RP_LOSS_BCE,
    RP_LOSS_CROSS_ENTROPY,
    RP_LOSS_MSE,
    RP_LOSS_POISSON,
    RP_LOSS_GAMMA
} rp_loss;
typedef enum rp_optimizer_kind {
    RP_OPT_SGD,
    RP_OPT_ADAM,
    RP_OPT_ADAMW,
    RP_OPT_RMSPROP,
    RP_OPT_LION,
    RP_OPT_ADAGRAD
} rp_optimizer_kind;
typedef enum rp_schedule_kind { RP_SCHED_CONSTANT, RP_SCHED_STEP, RP_SCHED_COSINE } rp_schedule_kind;
typedef enum rp_family { RP_FAMILY_GAUSSIAN, RP_FAMILY_POISSON, RP_FAMILY_GAMMA, RP_FAMILY_BINOMIAL } rp_family;
typedef enum rp_column_kind {
    RP_COL_AUTO,
    RP_COL_NUMERIC,
    RP_COL_CATEGORICAL,
    RP_COL_IGNORE,
    RP_COL_DATE
} rp_column_kind;
enum { RP_COLUMN_KINDS = 5 };
/* The last two: a number of the recipe's own, and what data.missing_numeric and missing_categorical say. */
typedef enum rp_missing_rule {
    RP_MISSING_ERROR,
    RP_MISSING_MEAN,
    RP_MISSING_MEDIAN,
    RP_MISSING_CATEGORY,
    RP_MISSING_CONSTANT,
    RP_MISSING_DEFAULT
} rp_missing_rule;
typedef enum rp_binning { RP_BINS_NONE, RP_BINS_QUANTILE, RP_BINS_EDGES, RP_BINS_MONOTONIC } rp_binning;
typedef enum rp_padding { RP_PADDING_SAME, RP_PADDING_VALID } rp_padding;
typedef enum rp_pooling { RP_POOL_NONE, RP_POOL_MAX, RP_POOL_AVG } rp_pooling;

/* A column is named by its header or by its 0-based index (name NULL). */
typedef struct rp_column_ref {
    char *name;
    int64_t index;
    bool given; /* of a column that a recipe may leave out */
} rp_column_ref;

/* What is done to a column's cells before they are features (CONTRACT 9.5, 9.6); zeroed but for missing: nothing. */
typedef struct rp_treatment {
    rp_missing_rule missing; /* missing: error|mean|median|category, or a number */
    double constant;
    bool indicator; /* indicator: a feature more, 1 where the cell is missing */
    bool capped;
    double cap[2]; /* cap: [low, high], quantiles that the numbers are held between */
    bool log;      /* log: sign(x) log1p(|x|) */
    rp_binning binning;
    int64_t bins; /* bins: so many by quantiles, 2 to 100; or a list of edges; or monotonic */
    double *edge;
    size_t n_edges;
    bool woe;    /* woe: one feature, the weight of evidence of the bin or category */
    double rare; /* rare: categories of a lesser share are one; 0: none are */
} rp_treatment;

typedef struct rp_column_pair {
    rp_column_ref column[2];
} rp_column_pair;

typedef struct rp_column_rule {
    rp_column_ref column;
    rp_column_kind kind;
    bool treated;           /* the treatment does something */
    rp_treatment treatment; /* of a date: of each of its parts that no rule of its own names */
    rp_date_rule date;      /* of a date; format is NULL else */
} rp_column_rule;

typedef enum rp_encoding { RP_ENC_UTF8, RP_ENC_LATIN1, RP_ENC_WINDOWS1252, RP_ENC_UTF16 } rp_encoding;
typedef enum rp_relation {
    RP_IS_EQUAL,
    RP_IS_OTHER,
    RP_IS_LESS,
    RP_IS_AT_MOST,
    RP_IS_MORE,
    RP_IS_AT_LEAST,
    RP_IS_PRESENT
} rp_relation;

/* A row is kept where each condition holds. */
typedef struct rp_row_rule {
    rp_column_ref column;
    rp_relation is;
    char *value;  /* NULL with present */
    bool numeric; /* derived: value is a number */
    double number;
    bool dated; /* derived: value is a date as 2024-03-31 */
    int64_t seconds;
} rp_row_rule;

typedef struct rp_texts {
    char **text;
    size_t count;
} rp_texts;

/* How the cells of a table are written. Keys of data: that stand in the JSON only where they differ from the default.
 */
typedef struct rp_reading {
    bool strip;               /* strip: [false] spaces around a cell are no part of it */
    char decimal;             /* decimal: ["."] "." or "," */
    char *thousands;          /* thousands: [null] what divides groups of three digits */
    rp_texts prefix;          /* prefix: [[]] what may stand before a number, as "$" */
    rp_texts suffix;          /* suffix: [[]] what may stand behind one, as "%" */
    bool dressed;             /* derived: whether decimal, thousands, prefix or suffix is not the default */
    rp_encoding encoding;     /* encoding: [utf-8] utf-8|latin-1|windows-1252|utf-16 */
    char comment;             /* comment: [null] what begins a line that is passed over; 0: nothing */
    int64_t skip_lines;       /* skip_lines: [0] lines before the table */
    bool drop_missing_target; /* missing_target: [error] error|drop */
    rp_row_rule *where;       /* where: [[]] list of {column, is, value}; rows that break one are left out */
    size_t n_where;
} rp_reading;

typedef struct rp_class_weight {
    char *name;
    double weight;
} rp_class_weight;

enum { RP_CARD_KEYS = 14, RP_CARD_DAYS = 12 }; /* from RP_CARD_DAYS on the texts are days */
extern const char *const rp_card_names[RP_CARD_KEYS];

enum { RP_MAX_HIDDEN = 16, RP_MAX_CONV = 16, RP_SLICES_MAX = 16 };
enum { RP_RECIPE_BYTES = 256, RP_GPT_LAYERS = 64 }; /* tokens of the vocabulary `bytes` */
/* The columns of a table that arrays are written as: the target's, and what the features' begin with. */
typedef enum rp_array_type {
    RP_ARRAY_BOOL,
    RP_ARRAY_U8,
    RP_ARRAY_I8,
    RP_ARRAY_U16,
    RP_ARRAY_I16,
    RP_ARRAY_U32,
    RP_ARRAY_I32,
    RP_ARRAY_U64,
    RP_ARRAY_I64,
    RP_ARRAY_F32,
    RP_ARRAY_F64,
    RP_ARRAY_F16,
    RP_ARRAY_BF16,
    RP_ARRAY_TYPES
} rp_array_type;
extern const char *const rp_array_type_names[RP_ARRAY_TYPES]; /* as a resolved recipe has them */
enum { RP_ARRAY_RANK = 8 };
#define RP_ARRAYS_TARGET "y"
#define RP_ARRAYS_FEATURE "x"

enum { RP_ALL_FOLDS = -1, RP_TRIALS_MAX = 1000, RP_SEARCH_KEYS = 14, RP_SEARCH_VALUES = 256, RP_SEEDS_MAX = 100 };
typedef enum rp_search_type {
    RP_SEARCH_REAL,
    RP_SEARCH_INT,
    RP_SEARCH_TEXT,
    RP_SEARCH_BOOL,
    RP_SEARCH_WIDTHS
} rp_search_type;

/* A key that a search may choose: its name in search.over, and where it stands in the resolved recipe. */
typedef struct rp_search_key {
    const char *name, *section, *inner; /* section.inner.name, inner NULL: section.name */
    rp_search_type type;
} rp_search_key;
extern const rp_search_key rp_search_keys[RP_SEARCH_KEYS]; /* ascending by name */
const rp_search_key *rp_search_key_find(const char *name); /* NULL: none */

/* What one key is tried with: a list of values as the resolved recipe writes them, or an interval to draw from. */
typedef struct rp_search_axis {
    const rp_search_key *key;
    rp_json *value;   /* a list of at least one; NULL: an interval */
    double low, high; /* of a type INT both are integers */
    bool log;         /* drawn evenly in its logarithm */
} rp_search_axis;

/* The figures of the validation part that trials are judged by, and whether more is better. */
typedef enum rp_judge { RP_BY_LOSS, RP_BY_ACCURACY, RP_BY_AUC, RP_BY_MSE, RP_BY_MAE, RP_BY_R2, RP_JUDGES } rp_judge;
extern const char *const rp_judge_names[RP_JUDGES];

/* A convolution layer. Pairs are {height, width}; the YAML takes one integer for both. */
typedef struct rp_conv_layer {
    int64_t filters;     /* filters: output channels (required) */
    int64_t kernel[2];   /* kernel: [3] */
    int64_t stride[2];   /* stride: [1] */
    int64_t dilation[2]; /* dilation: [1] */
    bool winograd;  /* algorithm: [direct] direct|winograd: conv2d or conv2d_winograd; the JSON has it for winograd only
                     */
    int64_t groups; /* groups: [1] divides the channels before and after */
    rp_padding padding;   /* padding: [same] same: ceil(input / stride) positions; valid: none */
    rp_pooling pool;      /* pool: [none] none|max|avg, after the activation */
    int64_t pool_size[2]; /* pool_size: [2] window and stride; with a pool only */
} rp_conv_layer;

/* Keys of the YAML are the member names, nested as commented; defaults in brackets. A key that does not apply (momentum
 * with adamw, dropout without hidden layers, folds with train_on_all ...) is refused, and absent from the JSON. */
typedef struct rp_recipe {
    int64_t reprise;       /* reprise: 1 (recipe version, required) */
    char *name;            /* name: [""] free text */
    uint64_t seed;         /* seed: [0] 0 .. 2^53-1 */
    bool pinned;           /* profile: [portable] portable|pinned; the JSON has it for pinned only, and with it */
    struct {               /* pinned: */
        int compute;       /*   compute: f32|f64|tf32|bf16 (required): an rp_pinned_compute */
        int64_t workspace; /*   workspace: [33554432] bytes, 1 .. 2^30 */
    } library;
    struct {                     /* data: */
        char *csv;               /*   csv: path relative to the recipe file (required) */
        char *test_csv;          /*   test_csv: [absent] another table, whose rows are the test part; instead of test */
        bool header;             /*   header: [true] */
        char delimiter;          /*   delimiter: [","] one printable byte or "\t" */
        rp_column_ref target;    /*   target: name or index (required) */
        rp_column_ref weight;    /*   weight: [absent] a column of numbers: how much each row counts in the loss */
        rp_column_ref offset;    /*   offset: [absent] a column of numbers that is added to the predictor of an exact
                                        fit as it is; or */
        bool exposure;           /*   exposure: [absent] one whose logarithm is (families poisson and gamma) */
        char *positive;          /*   positive: [null] the positive class of a two-class target; null: the last */
        rp_column_rule *columns; /*   columns: [{}] mapping name-or-index -> auto|numeric|categorical|ignore; in the
                                        JSON a list of {column, kind}, indices first, ascending */
        size_t n_columns;
        rp_column_ref denominator;   /*   denominator: [absent] of family binomial, and required there: the column of
                                            trials, of which the target counts the successes */
        rp_column_pair *interaction; /*   interactions: [absent] pairs of columns whose features are multiplied */
        size_t n_interactions;
        rp_reading reading; /*   decimal, thousands, strip, prefix, suffix, encoding, comment, ... */
        char **missing;     /*   missing: [19 words of pandas and "?"] cell texts that mean "no value" */
        size_t n_missing;
        bool missing_first[256];             /* derived: what they begin with; [0] for the empty one */
        rp_missing_rule missing_numeric;     /* missing_numeric: [mean] error|mean (mean of the training part) */
        rp_missing_rule missing_categorical; /* missing_categorical: [category] error|category */
        bool standardize_target; /*   standardize_target: [true] the target of a regression too, for the training
                                        alone: scores and metrics are given back in its units */
        bool standardize;        /*   standardize: [true] numeric columns to mean 0, deviation 1 of the training part */
        int64_t folds, fold;     /*   folds: [5] >= 2, fold: [0] which one validates, or all: RP_ALL_FOLDS, each in a
                                        trial, and the run itself has no validation part; or: */
        bool stratify;           /*   stratify: [true] folds keep class shares (classification only) */
        rp_column_ref group;     /*   group: [absent] rows of one text of this column stay in one part; or */
        rp_column_ref time;      /*   time: [absent] the last of `folds` blocks of time validates; fold is absent; or */
        rp_column_ref split;     /*   split: [absent] a column of train, validation, test; instead of folds and test */
        double test;             /*   test: [0] share of the rows, to 0.9, that no step sees */
        bool train_on_all;       /*   train_on_all: [false] no validation part; folds and fold must be absent */
    } data;
    struct {               /* data: of a recipe on a text, which has none of the keys above */
        char *path;        /*   text: path relative to the recipe file (required); NULL: the recipe is on a table */
        int64_t tokens;    /*   vocabulary: [bytes] bytes: 256, or {bpe: 257 .. 65536}: at most so many */
        int64_t length;    /*   length: [64] tokens of a window, 1 .. 65536 */
        double validation; /*   validation: [0.1] the share at the text's end that validates, to 0.9; 0: none */
    } text;
    struct {            /* data: of a recipe on arrays, whose table has the columns x.. and y (CONTRACT 9.1a); of the
                           keys above it has those of the split, positive and what is standardised */
        char *path;     /*   arrays: path of an .npy or .safetensors file, relative to the recipe; NULL: no arrays, or
                             a resolved recipe, which has instead {features, target}, each {dtype, name, sha256,
                             shape}, of the files as they were */
        char *features; /*   features: [x] of a .safetensors file the tensor's name; NULL: not given */
        char *target;   /*   target: of a .safetensors file a tensor's name, else the path of another .npy file */
        bool known;     /*   derived: the JSON says what the files were, of images too */
    } arrays;
    struct {          /* data: of a recipe on images, whose table has the same columns */
        char *path;   /*   images: path of a folder, relative to the recipe; NULL: no images, or a resolved recipe,
                           which has instead {channels, count, height, labels, sha256, width} */
        char *labels; /*   labels: path of a CSV file with the columns file and label (required) */
    } images;
    struct {             /* model: gpt: with data.text, which has none of the keys below */
        int64_t layers;  /*   layers: blocks, 1 .. 64 (required) */
        int64_t width;   /*   width: (required) a multiple of heads */
        int64_t heads;   /*   heads: [1] */
        int64_t context; /*   context: [data.length] at least that: tokens that the model can look at */
        double dropout;  /*   dropout: [0] 0 <= p <= 0.99, behind the sum of tables and of each half of a block */
    } gpt;
    struct {                  /* model: of programs (CONTRACT 12.1a), which has no other keys */
        char *path[RP_ROLES]; /*   program: initial: (required) evaluate: [absent] paths relative to the recipe file; in
                                        the JSON the programs themselves. NULL: not given, or a program */
        bool named;           /*   derived: the model is programs */
        rp_model_program *of; /*   NULL: not read yet, or the model is no program */
    } program;
    struct {              /* model: */
        int64_t image[3]; /* image: [height, width, channels] of the features, in this order; with conv */
        rp_conv_layer conv[RP_MAX_CONV]; /* conv: list of convolution layers, before the hidden ones */
        size_t n_conv;
        int64_t hidden[RP_MAX_HIDDEN]; /* hidden: [[]] widths; none gives logistic or linear regression */
        size_t n_hidden;
        rp_activation activation; /*   activation: [relu] relu|gelu|tanh|sigmoid */
        double dropout;           /*   dropout: [0] 0 <= p <= 0.99, after each hidden layer's activation */
        bool layer_norm;          /*   layer_norm: [false] before each activation, over the last axis */
    } model;
    struct {                /* train: */
        bool exact;         /*   solver: exact|gradient; exact is the default of a model without layers whose recipe has
                                        no parent and none of the keys below from epochs on. In the JSON only exact
                                        is written, with task, family (of a regression), l1, l2 and class_weights */
        rp_family family;   /*   family: [gaussian] gaussian|poisson|gamma, exact regressions */
        double l1, l2;      /*   l1: [0] l2: [1] exact only: the penalty l1 |w| + l2/2 w^2 beside the sum of losses */
        int64_t steps;      /*   steps: [absent] with data.text, instead of epochs: so many steps; 0: absent */
        int64_t epochs;     /*   epochs: [auto; 1 with data.text] RP_EPOCHS_BY_ROWS until the table is read */
        int64_t patience;   /*   patience: [absent] 1 .. epochs: training ends after so many epochs without a smaller
                                        validation loss, and the weights of the smallest are kept; 0: absent */
        int64_t batch;      /*   batch: [32] rows a step */
        bool drop_last;     /*   drop_last: [false] drop a last, smaller batch */
        int64_t shards;     /*   shards: [1] each batch is cut in so many shards; batch % shards must be 0 */
        int64_t accumulate; /*   accumulate: [1] micro-batches a step, in order; batch % (shards*accumulate) = 0 */
        bool shuffle;       /*   shuffle: [true] */
        rp_loss loss;       /*   loss: [auto] auto|bce|cross_entropy|mse; auto: bce for two classes,
                                        cross_entropy for more (resolved by the data: stays auto in the
                                        JSON), mse for a regression, where it is the only one */
        bool regression;    /*   task: [classification] classification|regression */
        double clip_norm;   /*   clip_norm: [0] 0: no clipping */
        bool mixed;         /*   precision: [f32] f32|mixed: CONTRACT 11.8. The JSON has it where it is mixed */
        bool balanced;      /*   class_weights: [absent] balanced, or a mapping class -> weight above 0 (1 where it
                                        names none); of a classification */
        rp_class_weight *class_weight; /* ascending by bytes */
        size_t n_class_weights;
        struct {                    /*   optimizer: mapping */
            rp_optimizer_kind kind; /*     kind: [adamw] sgd|adam|adamw|rmsprop|lion|adagrad */
            double lr;              /*     lr: [0.001; lion 0.0001, adagrad 0.01; without epochs 0.003 of
                                            adam, adamw] > 0 */
            double weight_decay;    /*     weight_decay: [0.01 for adamw, else 0] */
            bool decay_all;         /*     decay: [weights] weights: biases and norms have none; all. The JSON has it
                                            for weights only, and above 0 */
            double momentum;        /*     momentum: [0] sgd, rmsprop only */
            bool nesterov;          /*     nesterov: [false] sgd only, needs momentum > 0 */
            double beta1, beta2;    /*     beta1: [0.9] beta2: [0.999; lion 0.99] adam, adamw, lion only */
            double alpha;           /*     alpha: [0.99] rmsprop only */
            double eps;             /*     eps: [1e-8; adagrad 1e-10] not sgd, lion */
        } optimizer;
        struct {                   /*   schedule: mapping */
            rp_schedule_kind kind; /*     kind: [constant; without epochs cosine] constant|step|cosine */
            int64_t warmup_steps;  /*     warmup_steps: [0] linear from lr/warmup to lr */
            int64_t step_every;    /*     step_every: steps between drops (required for step, only there) */
            double gamma;          /*     gamma: [0.1] step only */
            double min_lr;         /*     min_lr: [0] cosine only */
        } schedule;
    } train;
    struct {                      /* record: absent from the JSON when nothing in it differs from the default */
        int64_t state_period;     /*   state_period: [1] 1: every step commits to the whole state; 2 .. 65536: to every
                                        so many-th part of it (audit/FORMAT.md 10) */
        int64_t checkpoint_every; /*   checkpoint_every: [0] the archive keeps all states after every so many steps
                                        (audit/FORMAT.md 11); 0: none */
    } record;
    struct {                  /* search: absent from the JSON when nothing is searched */
        rp_search_axis *over; /*   over: mapping of names of rp_search_keys to a list of values, or with random to
                                    {low, high, log}; ascending by name */
        size_t n_over;
        bool random;    /*   kind: [grid] grid|random */
        int64_t trials; /*   trials: 1 .. 1,000; random: how many are drawn; of a grid derived */
        rp_judge by;    /*   by: [loss] loss|accuracy|auc|mse|mae|r2 */
    } search;
    struct {           /* challengers: absent from the JSON without any */
        bool linear;   /*   linear: [false] the exact logistic or linear regression on the same rows */
        int64_t seeds; /*   seeds: [0] so many other seeds of the same recipe, 2 .. 100 */
    } challengers;
    struct {                 /* validation: by what the run's own figures are cut; absent from the JSON unless given */
        bool given;          /*   derived */
        rp_texts by, groups; /*   by: [[]] groups: [[]] columns, COLUMN or COLUMN:K, which need not be features */
        char *favourable;    /*   favourable: [null] the class that it is good to get; null: the last */
        bool has_threshold;  /*   derived */
        double threshold;    /*   threshold: [null] 0 .. 1: of selection, and of one more confusion matrix */
    } validation;
    char *card[RP_CARD_KEYS]; /* card: mapping of rp_card_names to texts, all optional; absent from the JSON without
                                 any. Nothing is computed from it. NULL: not given */
    struct {                  /* parent: absent from the JSON when the run starts from fresh weights */
        char *archive;        /*   archive: path of the parent's archive relative to the recipe file (required); in the
                                          JSON its archive id. NULL: there is no parent */
        int64_t checkpoint;   /*   weights: [final] final, or the steps of one of its checkpoints; final is 0 here */
        bool retrain;         /*   mode: [continue] continue: its parameters, its moments, its count of updates;
                                          retrain: its parameters alone */
        int64_t updates;      /*   JSON only, with continue: updates that made the starting states */
    } parent;
    char *weights;     /* weights: [absent] path of a .safetensors file relative to the recipe file, whose tensors are
                          the first weights; in the JSON the SHA-256 of its bytes. NULL: not given */
    char *predecessor; /* predecessor: [absent] the id of the archive that the run is to take the place of. Nothing is
                          computed from it. NULL: not given */
    uint64_t memory; /* memory: [absent] bytes that the run may take, with a unit or none; 0: not given. What computes,
                        not what is computed, as the number of threads is: never in the JSON */
    bool resolved;   /* read from its resolved form: paths are an archive's members */
    rp_json *json;   /* the resolved recipe; reals are strings (base/json.h), keys that do not apply are absent */
} rp_recipe;

/* Without epochs in a recipe they follow from the training rows (CONTRACT 12.2), and lie between these. */
enum { RP_EPOCHS_BY_ROWS = 0, RP_EPOCHS_LEAST = 10, RP_EPOCHS_MOST = 100 };

/* Whether rows count differently in the loss. */
static inline bool rp_recipe_weighs(const rp_recipe *recipe)
{
    return recipe->data.weight.given || recipe->data.denominator.given || recipe->train.balanced ||
           recipe->train.n_class_weights > 0;
}

/* Whether the first weights are given, by a parent or by a file, instead of drawn; and whether they alone are, without
 * the moments and updates of who made them. */
static inline bool rp_recipe_starts(const rp_recipe *recipe)
{
    return recipe->parent.archive != NULL || recipe->weights != NULL;
}
static inline bool rp_recipe_starts_anew(const rp_recipe *recipe)
{
    return recipe->parent.retrain || recipe->weights != NULL;
}

/* Under which of its two keys data.offset was given. */
static inline const char *rp_recipe_offset_key(const rp_recipe *recipe)
{
    return recipe->data.exposure ? "data.exposure" : "data.offset";
}

/* Whether anything is tried before the run (core/trials/trials.h). */
static inline bool rp_recipe_tries(const rp_recipe *recipe)
{
    return recipe->data.fold == RP_ALL_FOLDS || recipe->search.n_over > 0 || recipe->challengers.linear ||
           recipe->challengers.seeds > 0;
}

/* Writes the epochs that follow from the table. Errors: RP_ENOMEM. */
rp_status rp_recipe_set_epochs(rp_recipe *recipe, int64_t epochs, rp_error *err);

/* Of a recipe in YAML whose model is programs: their texts, by role, NULL where it names none; shared. They are a part
 * of the resolved recipe from then on. Errors: RP_EFORMAT, RP_EUNSUPPORTED, RP_ENOMEM. */
rp_status rp_recipe_set_programs(rp_recipe *recipe, rp_json *const *text, const char *where, rp_error *err);

/* Of a recipe on arrays, once their table has been written: what they were; shared. features and target are then names,
 * or NULL. Errors: RP_EFORMAT, RP_ENOMEM. */
rp_status rp_recipe_set_arrays(rp_recipe *recipe, rp_json *origin, const char *where, rp_error *err);

/* The same of a recipe on images. */
rp_status rp_recipe_set_images(rp_recipe *recipe, rp_json *origin, const char *where, rp_error *err);

/* Says in the resolved recipe which archive the parent's path led to, and how many updates its states have seen.
 * Errors: RP_ENOMEM. */
rp_status rp_recipe_set_parent(rp_recipe *recipe, const char *archive_id, uint64_t updates, rp_error *err);

/* Says in the resolved recipe the digest of the file of weights. Errors: RP_ENOMEM. */
rp_status rp_recipe_set_weights(rp_recipe *recipe, const char *sha256, rp_error *err);

/* Parses YAML text of at most 1 MiB (anchors and aliases, tags, several documents, duplicate keys and nesting over 16
 * are refused). where names the file in errors. Errors: RP_EARG, RP_ENOMEM. */
rp_status rp_recipe_from_yaml(rp_recipe **out, const char *text, size_t length, const char *where, rp_error *err);
/* The resolved form back; refuses what rp_recipe_from_yaml would not have produced. Errors: RP_EFORMAT;
 * RP_EUNSUPPORTED for a newer recipe version. */
rp_status rp_recipe_from_json(rp_recipe **out, const rp_json *json, const char *where, rp_error *err);
/* Whether data.missing has the word by itself. */
bool rp_recipe_usual_missing(const char *word);
void rp_recipe_free(rp_recipe *recipe);

#endif
