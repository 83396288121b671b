/* SPDX-License-Identifier: Apache-2.0
 * Coefficients of an exact fit in the units of the table, with what follows from the inverse of the second derivatives
 * where there is no penalty: standard errors, tests, intervals (CONTRACT 12.9). */
#include "core/train/coefficients.h"

#include <string.h>

#include "base/memory.h"
#include "core/data/treat/feature.h"
#include "core/recipe/recipe_names.h"
#include "core/stats/distributions.h"
#include "core/train/eigenvalues.h"
#include "core/train/exact.h"
#include "core/train/exact_check.h"
#include "core/train/figures.h"
#include "core/train/trainer.h"
#include "core/train/units/units.h"
#include "determinism/math.h"
#include "determinism/sum.h"

/* What the fit's results and the table's statistics say. */
typedef struct table {
    const rp_trainer *t;
    size_t width, outputs, unknowns;
    double *beta, *factor, *covariance, *gram, *gram_inverse; /* the last three NULL with a penalty */
    rp_units units;
    double *by;           /* [width]: room for a row of units */
    unsigned char *how;   /* [unknowns]: a standing */
    const double *weight; /* [train_rows]; NULL: 1 */
    double *offset;       /* [train_rows], what is added to each row's predictor; NULL: nothing */
    double rows, total;   /* training rows that count at all, and the sum of their weights */
    double deviation, estimated, dispersion, pearson;
    double quantile;                          /* of 95 % intervals */
    bool gaussian, classes, counts, log_link; /* counts: proportions of trials */
} table;

static void clear(table *c)
{
    rp_free(c->beta);
    rp_free(c->factor);
    rp_free(c->covariance);
    rp_free(c->gram);
    rp_free(c->gram_inverse);
    rp_units_clear(&c->units);
    rp_free(c->by);
    rp_free(c->how);
    rp_free(c->offset);
}

/* A result in memory of its own. */
static rp_status take(const table *c, const char *name, double **out, rp_error *err)
{
    rp_device_tensor result;

    if (!rp_compiled_result(c->t->full, name, &result))
        return rp_fail(err, RP_EARG, "an exact fit has no result %s", name);
    *out = rp_malloc(rp_type_bytes(&result.type));
    return *out ? rp_device_tensor_read(&result, *out, err) : rp_no_memory(err);
}

static bool penalised(const table *c)
{
    return c->t->recipe->train.l1 > 0 || c->t->recipe->train.l2 > 0;
}

/* Odds are what a logit link has, ratios a logarithm. */
static bool has_odds(const table *c)
{
    return c->classes || c->counts;
}

static rp_status take_results(table *c, rp_error *err)
{
    rp_status status = take(c, "coefficients", &c->beta, err);

    if (status == RP_OK && c->t->recipe->train.l1 == 0)
        status = take(c, "factor", &c->factor, err);
    if (status == RP_OK && !penalised(c))
        status = take(c, "covariance", &c->covariance, err);
    if (status == RP_OK && !penalised(c))
        status = take(c, "gram", &c->gram, err);
    if (status == RP_OK && !penalised(c))
        status = take(c, "gram_inverse", &c->gram_inverse, err);
    if (status == RP_OK)
        status = rp_exact_number(c->t->full, "deviation", &c->deviation, err);
    if (status == RP_OK)
        status = rp_units_of(&c->units, c->t->data->schema, !penalised(c), err);
    if (status == RP_OK && !(c->by = rp_reallocarray(NULL, c->width, sizeof *c->by)))
        status = rp_no_memory(err);
    return status;
}

/* ---- which coefficients there are ---- */

typedef enum standing { ESTIMATED, REFERENCE, LEFT_OUT, ZERO, OFFSET } standing; /* zero: by l1 */

static const char *const standing_names[] = {"estimated", "reference", "left_out", "zero", "offset"};

static standing standing_of(const table *c, size_t output, size_t feature)
{
    return (standing)c->how[output * c->width + feature];
}

/* As the program's mask has it (CONTRACT 12.8); feature 0 is the intercept. */
static rp_status take_standings(table *c, rp_error *err)
{
    const rp_schema *schema = c->t->data->schema;
    const bool penalty = penalised(c);

    c->how = rp_calloc(c->unknowns, 1);
    if (!c->how)
        return rp_no_memory(err);
    for (size_t k = 0; k < c->outputs; k++) {
        unsigned char *how = &c->how[k * c->width];
        const bool first = c->outputs > 1 && k == 0;

        how[0] = first ? REFERENCE : ESTIMATED;
        for (size_t i = 0; i < schema->features; i++) {
            bool product;
            rp_feature second;
            const rp_feature f = rp_feature_of(schema, i, &product, &second);

            how[1 + i] = !penalty && (first || f.reference) ? REFERENCE : ESTIMATED;
            if (schema->columns[f.column].offset != RP_OFFSET_NONE)
                how[1 + i] = OFFSET;
        }
    }
    for (size_t i = 0; i < c->unknowns; i++) {
        const double pivot = c->factor ? c->factor[i * c->unknowns + i] : 1;

        if (c->how[i] == ESTIMATED && pivot - pivot != 0)
            c->how[i] = LEFT_OUT;
        if (c->how[i] == ESTIMATED && !c->factor && c->beta[i] == 0)
            c->how[i] = ZERO;
        c->estimated += c->how[i] == ESTIMATED;
    }
    return RP_OK;
}

/* ---- estimates in the table's units ---- */

/* Whether it is its own encoded coefficient in other units, and no other's. */
static bool stands_alone(const table *c, size_t feature)
{
    size_t others = 0;

    for (size_t i = 0; i < c->width; i++)
        others += i != feature && c->by[i] != 0;
    return feature > 0 && others == 0;
}

/* by: the feature's row of units. */
static double estimate_of(const table *c, size_t output, size_t feature)
{
    const double *beta = &c->beta[output * c->width];
    double total = 0;
    bool any = false;

    if (stands_alone(c, feature))
        return beta[feature] / c->units.scale[feature];
    for (size_t i = 0; i < c->width; i++)
        if (c->by[i] != 0) {
            total = any ? total + beta[i] * c->by[i] : beta[i] * c->by[i];
            any = true;
        }
    return total;
}

/* The quadratic form of the feature's row over the covariance, row by row. */
static double variance_of(const table *c, size_t output, size_t feature)
{
    const size_t first = output * c->width;
    double total = 0;

    if (stands_alone(c, feature))
        return c->covariance[(first + feature) * (c->unknowns + 1)] /
               (c->units.scale[feature] * c->units.scale[feature]);
    for (size_t i = 0; i < c->width; i++) {
        double row = 0;

        if (c->by[i] == 0 || standing_of(c, output, i) != ESTIMATED)
            continue;
        for (size_t j = 0; j < c->width; j++)
            if (c->by[j] != 0 && standing_of(c, output, j) == ESTIMATED)
                row = row + c->covariance[(first + i) * c->unknowns + first + j] * c->by[j];
        total = total + c->by[i] * row;
    }
    return total;
}

/* 1 / (1 - R2) of the feature on the others. */
static double inflation_of(const table *c, size_t feature)
{
    const double *gram = c->gram, sum = gram[feature];
    const double spread = gram[feature * (c->width + 1)] - sum * sum / gram[0];

    return c->gram_inverse[feature] * spread;
}

/* ---- writing ---- */

static int put_word(rp_json *object, const char *key, const char *word)
{
    return rp_json_object_set_new(object, key, word ? rp_json_string(word) : rp_json_null());
}

static int put_tests(rp_json *term, const table *c, size_t output, size_t feature, double estimate)
{
    const double error = __builtin_sqrt(c->dispersion * variance_of(c, output, feature)), z = estimate / error;
    const double degrees = c->rows - c->estimated, reach = c->quantile * error;
    int failed = rp_put_figure(term, "error", error);

    failed |= rp_put_figure(term, "statistic", z);
    failed |= rp_put_figure(term, "p", c->gaussian ? rp_student_two_sided(z, degrees) : rp_normal_two_sided(z));
    failed |= rp_put_figure(term, "low", estimate - reach);
    failed |= rp_put_figure(term, "high", estimate + reach);
    if (!c->gaussian && feature > 0) {
        failed |= rp_put_figure(term, has_odds(c) ? "odds_low" : "ratio_low", rp_exp_f64(estimate - reach));
        failed |= rp_put_figure(term, has_odds(c) ? "odds_high" : "ratio_high", rp_exp_f64(estimate + reach));
    }
    if (feature > 0)
        failed |= rp_put_figure(term, "inflation", inflation_of(c, feature));
    return failed;
}

static int put_name(rp_json *term, const table *c, size_t feature)
{
    if (feature == 0)
        return rp_json_object_set_new(term, "intercept", rp_json_boolean(true));
    return rp_feature_put(term, c->t->data->schema, feature - 1);
}

static rp_json *term_json(const table *c, size_t output, size_t feature)
{
    rp_json *term = rp_json_object();
    const standing how = standing_of(c, output, feature);
    double estimate;
    int failed = put_name(term, c, feature);

    rp_units_row(&c->units, feature, c->by);
    estimate = estimate_of(c, output, feature);

    failed |= put_word(term, "standing", standing_names[how]);
    failed |= rp_put_figure(term, "estimate", estimate);
    if (feature > 0)
        failed |= rp_put_figure(term, "encoded", c->beta[output * c->width + feature]);
    if (!c->gaussian && feature > 0 && how == ESTIMATED)
        failed |= rp_put_figure(term, has_odds(c) ? "odds" : "ratio", rp_exp_f64(estimate));
    if (how == ESTIMATED && !penalised(c))
        failed |= put_tests(term, c, output, feature, estimate);
    if (!failed)
        return term;
    rp_json_free(term);
    return NULL;
}

static int put_outputs(rp_json *out, const table *c)
{
    const rp_schema *schema = c->t->data->schema;
    rp_json *outputs = rp_json_array();
    int failed = rp_json_object_set_new(out, "outputs", outputs);

    for (size_t k = 0; k < c->outputs && !failed; k++) {
        rp_json *output = rp_json_object(), *terms = rp_json_array();

        failed |= rp_json_array_append_new(rp_json_object_get(out, "outputs"), output);
        if (failed)
            rp_json_free(terms);
        failed = failed || rp_json_object_set_new(output, "terms", terms);
        if (!failed && schema->classes)
            failed |= put_word(output, "class", schema->class_name[c->outputs == 1 ? 1 : k]);
        for (size_t j = 0; j < c->width && !failed; j++)
            failed |= rp_json_array_append_new(terms, term_json(c, k, j));
    }
    return failed;
}

/* ---- sums over the training rows ---- */

/* Which value of a row is summed. */
typedef enum summed {
    TARGET,
    SQUARE,
    LOG_TARGET,
    TARGET_LOG_TARGET,
    LOG_GAMMA_AFTER,
    OF_CLASS,
    ADDED,        /* the offset o */
    EXPOSED,      /* e^o */
    PER_EXPOSURE, /* y e^-o */
    TARGET_ADDED, /* y o */
    ENTROPY,      /* of a proportion p log p + (1 - p) log(1 - p) */
    WAYS          /* of counts the logarithm of the binomial coefficient, by trial: what is summed weighs by trials */
} summed;

static double times_log(double x)
{
    return x > 0 ? x * rp_log_f64(x) : 0;
}

static double log_ways(double trials, double proportion)
{
    const double successes = __builtin_rint(proportion * trials);

    return rp_log_gamma(trials + 1) - rp_log_gamma(successes + 1) - rp_log_gamma(trials - successes + 1);
}

static double value_of(const table *c, summed what, double parameter, size_t row)
{
    const rp_dataset *d = c->t->data;
    const double y = what == OF_CLASS ? 0 : d->train_target[row], o = c->offset ? c->offset[row] : 0;

    switch (what) {
    case SQUARE:
        return ((y - o) - parameter) * ((y - o) - parameter);
    case LOG_TARGET:
        return rp_log_f64(y);
    case TARGET_LOG_TARGET:
        return y > 0 ? y * rp_log_f64(y) : 0;
    case LOG_GAMMA_AFTER:
        return rp_log_gamma(y + 1);
    case ADDED:
        return o;
    case EXPOSED:
        return rp_exp_f64(o);
    case PER_EXPOSURE:
        return y * rp_exp_f64(-o);
    case TARGET_ADDED:
        return y * o;
    case ENTROPY:
        return times_log(y) + times_log(1 - y);
    case WAYS:
        return log_ways(d->train_trials[row], y) / d->train_trials[row];
    case OF_CLASS:
        return d->train_label[row] == (int64_t)parameter;
    default:
        return y;
    }
}

/* The weighted sum (CONTRACT 4.1) of a value of each row; parameter: the mean of SQUARE, the class of OF_CLASS. */
static rp_status sum_of(const table *c, summed what, double parameter, double *out, rp_error *err)
{
    const size_t n = c->t->data->train_rows;
    double *work = rp_reallocarray(NULL, n, sizeof *work);

    if (!work)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        work[i] = value_of(c, what, parameter, i);
    for (size_t i = 0; i < n && c->weight; i++)
        work[i] = c->weight[i] * work[i];
    *out = rp_sum_f64(work, n, 1);
    rp_free(work);
    return RP_OK;
}

/* b log b - log gamma(b), which becomes log b where b is small; there gamma(b) overflows, and b itself may underflow.
 */
static double log_shape(double weight, double dispersion)
{
    const double b = weight / dispersion;

    return b < 0x1p-1000 ? rp_log_f64(weight) - rp_log_f64(dispersion) : b * rp_log_f64(b) - rp_log_gamma(b);
}

/* Of what depends on the weight itself: its logarithm; of the gamma family what its likelihood has of w / dispersion.
 * Rows that weigh nothing are not there. */
static rp_status sum_of_weights(const table *c, bool gamma, double *out, rp_error *err)
{
    const size_t n = c->t->data->train_rows;
    double *work = rp_reallocarray(NULL, n, sizeof *work);

    if (!work)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const double w = c->weight[i];

        work[i] = !(w > 0) ? 0
                  : gamma  ? log_shape(w, c->dispersion) - rp_log_f64(c->t->data->train_target[i])
                           : rp_log_f64(w);
    }
    *out = rp_sum_f64(work, n, 1);
    rp_free(work);
    return RP_OK;
}

/* ---- the fit as a whole ---- */

/* What is said of it. */
typedef struct goodness {
    double likelihood, null_likelihood, deviance, null_deviance;
} goodness;

/* The log likelihood of the constant model. */
static rp_status null_likelihood(const table *c, double *out, rp_error *err)
{
    rp_status status = RP_OK;

    *out = 0;
    for (size_t k = 0; k < c->t->data->schema->classes && status == RP_OK; k++) {
        double n = 0;

        status = sum_of(c, OF_CLASS, (double)k, &n, err);
        if (status == RP_OK && n > 0)
            *out = *out + n * rp_log_f64(n / c->total);
    }
    return status;
}

/* The intercept b that the constant model of two classes has beside the offset, the root of the slope f(b), which
 * falls: Newton's method, or halves of the interval that holds the root where it would leave it. */
static double constant_beside(const table *c, double share, double *work)
{
    const size_t n = c->t->data->train_rows;
    const double even = rp_log_f64(share / (1 - share));
    double least = c->offset[0], most = c->offset[0], b, low, high;

    for (size_t i = 1; i < n; i++) {
        least = c->offset[i] < least ? c->offset[i] : least;
        most = c->offset[i] > most ? c->offset[i] : most;
    }
    low = even - most;
    high = even - least;
    b = 0.5 * (low + high);
    for (int times = 0; times < 100; times++) {
        double slope, curve, next;

        for (size_t i = 0; i < n; i++)
            work[i] = (c->weight ? c->weight[i] : 1) * (c->t->data->train_target[i] - rp_sigmoid_f64(c->offset[i] + b));
        slope = rp_sum_f64(work, n, 1);
        for (size_t i = 0; i < n; i++) {
            const double z = c->offset[i] + b;

            work[i] = (c->weight ? c->weight[i] : 1) * (rp_sigmoid_f64(z) * rp_sigmoid_f64(-z));
        }
        curve = rp_sum_f64(work, n, 1);
        *(slope > 0 ? &low : &high) = b;
        next = b + slope / curve;
        if (!(next >= low && next <= high))
            next = 0.5 * (low + high);
        if (slope == 0 || next == b || (next - b) * (next - b) * curve <= 1e-20 * c->total)
            return next;
        b = next;
    }
    return b;
}

static double softplus(double z)
{
    return z > 0 ? z + rp_log1p_f64(rp_exp_f64(-z)) : rp_log1p_f64(rp_exp_f64(z));
}

/* As null_likelihood, beside an offset. */
static rp_status null_beside(const table *c, double *out, rp_error *err)
{
    const size_t n = c->t->data->train_rows;
    double *work = rp_reallocarray(NULL, n, sizeof *work), sum = 0, b;
    rp_status status = work ? sum_of(c, TARGET, 0, &sum, err) : rp_no_memory(err);

    if (status == RP_OK) {
        b = constant_beside(c, sum / c->total, work);
        for (size_t i = 0; i < n; i++) {
            const double y = c->t->data->train_target[i], z = c->offset[i] + b;
            const double grown = c->counts ? softplus(z) - y * z : softplus(y > 0.5 ? -z : z);

            work[i] = (c->weight ? c->weight[i] : 1) * grown;
        }
        *out = -rp_sum_f64(work, n, 1);
    }
    rp_free(work);
    return status;
}

static double gaussian_likelihood(const table *c, double squares)
{
    return -(0.5 * c->rows) * (rp_log_f64(0x1.921fb54442d18p+2 * (squares / c->rows)) + 1); /* 2 pi */
}

static rp_status gaussian_goodness(const table *c, goodness *out, rp_error *err)
{
    double sum = 0, added = 0, squares = 0, logs = 0;
    rp_status status = sum_of(c, TARGET, 0, &sum, err);

    if (status == RP_OK && c->offset)
        status = sum_of(c, ADDED, 0, &added, err);
    if (status == RP_OK)
        status = sum_of(c, SQUARE, (sum - added) / c->total, &squares, err);
    if (status == RP_OK && c->weight)
        status = sum_of_weights(c, false, &logs, err);
    if (status != RP_OK)
        return status;
    *out = (goodness){gaussian_likelihood(c, c->deviation), gaussian_likelihood(c, squares), c->deviation, squares};
    if (c->weight) {
        out->likelihood = out->likelihood + 0.5 * logs;
        out->null_likelihood = out->null_likelihood + 0.5 * logs;
    }
    return RP_OK;
}

static rp_status poisson_goodness(const table *c, goodness *out, rp_error *err)
{
    const double d = c->deviation;
    double y = 0, y_log_y = 0, log_gamma = 0, exposed = c->total, added = 0, nothing;
    rp_status status = sum_of(c, TARGET, 0, &y, err);

    if (status == RP_OK)
        status = sum_of(c, TARGET_LOG_TARGET, 0, &y_log_y, err);
    if (status == RP_OK)
        status = sum_of(c, LOG_GAMMA_AFTER, 0, &log_gamma, err);
    if (status != RP_OK)
        return status;
    if (c->offset)
        status = sum_of(c, EXPOSED, 0, &exposed, err);
    if (status == RP_OK && c->offset)
        status = sum_of(c, TARGET_ADDED, 0, &added, err);
    if (status != RP_OK)
        return status;
    nothing = y - (y * rp_log_f64(y / exposed) + added);
    *out = (goodness){-d - log_gamma, -nothing - log_gamma, 2 * (d + (y_log_y - y)), 2 * (nothing + (y_log_y - y))};
    return RP_OK;
}

static rp_status gamma_goodness(const table *c, goodness *out, rp_error *err)
{
    const double d = c->deviation, a = 1 / c->dispersion;
    double y = 0, log_y = 0, shapes = 0, added = 0, likelihood;
    rp_status status = sum_of(c, c->offset ? PER_EXPOSURE : TARGET, 0, &y, err);

    if (status == RP_OK)
        status = sum_of(c, LOG_TARGET, 0, &log_y, err);
    if (status == RP_OK && c->offset)
        status = sum_of(c, ADDED, 0, &added, err);
    if (status == RP_OK && c->weight)
        status = sum_of_weights(c, true, &shapes, err);
    if (status != RP_OK)
        return status;
    likelihood = c->weight ? shapes + a * (log_y - d)
                           : c->rows * (a * rp_log_f64(a) - rp_log_gamma(a)) + (a - 1) * log_y - a * d;
    *out = (goodness){likelihood, __builtin_nan(""), 2 * ((d - log_y) - c->total),
                      2 * ((c->total * rp_log_f64(y / c->total) + added) - log_y)};
    return RP_OK;
}

/* The constants of the binomial distribution are in the likelihoods, as in those of other families. */
static rp_status counts_goodness(const table *c, goodness *out, rp_error *err)
{
    double y = 0, entropy = 0, ways = 0, nothing = 0;
    rp_status status = sum_of(c, TARGET, 0, &y, err);

    if (status == RP_OK)
        status = sum_of(c, ENTROPY, 0, &entropy, err);
    if (status == RP_OK)
        status = sum_of(c, WAYS, 0, &ways, err);
    if (status == RP_OK && c->offset)
        status = null_beside(c, &nothing, err);
    if (status != RP_OK)
        return status;
    if (!c->offset)
        nothing = y * rp_log_f64(y / c->total) + (c->total - y) * rp_log_f64((c->total - y) / c->total);
    *out = (goodness){ways - c->deviation, ways + nothing, 2 * (c->deviation + entropy), 2 * (entropy - nothing)};
    return RP_OK;
}

static rp_status goodness_of(const table *c, goodness *out, rp_error *err)
{
    rp_status status;

    if (c->gaussian)
        return gaussian_goodness(c, out, err);
    if (c->log_link)
        return c->t->model.loss == RP_LOSS_POISSON ? poisson_goodness(c, out, err) : gamma_goodness(c, out, err);
    if (c->counts)
        return counts_goodness(c, out, err);
    *out = (goodness){-c->deviation, 0, 2 * c->deviation, 0};
    status = c->offset ? null_beside(c, &out->null_likelihood, err) : null_likelihood(c, &out->null_likelihood, err);
    out->null_deviance = -2 * out->null_likelihood;
    return status;
}

static int put_criteria(rp_json *out, const table *c, double likelihood, double parameters)
{
    int failed = rp_put_figure(out, "aic", -2 * likelihood + 2 * parameters);

    return failed | rp_put_figure(out, "bic", -2 * likelihood + rp_log_f64(c->rows) * parameters);
}

static rp_status put_fit(rp_json *out, const table *c, rp_error *err)
{
    goodness g = {0};
    rp_status status = goodness_of(c, &g, err);
    int failed;

    if (status != RP_OK)
        return status;
    failed = rp_put_figure(out, "log_likelihood", g.likelihood);
    failed |= rp_put_figure(out, "null_log_likelihood", g.null_likelihood);
    failed |= rp_put_figure(out, "deviance", g.deviance);
    failed |= rp_put_figure(out, "null_deviance", g.null_deviance);
    if (c->gaussian)
        failed |= rp_put_figure(out, "r2", 1 - g.deviance / g.null_deviance);
    else
        failed |= rp_put_figure(out, "mcfadden", 1 - g.likelihood / g.null_likelihood);
    if (penalised(c))
        return failed ? rp_no_memory(err) : RP_OK;
    failed |= rp_put_figure(out, "dispersion", c->dispersion);
    if (c->log_link || c->counts)
        failed |= rp_put_figure(out, "pearson", c->pearson);
    if (c->counts || (c->log_link && c->t->model.loss == RP_LOSS_POISSON))
        failed |= rp_put_figure(out, "pearson_dispersion", c->pearson / (c->rows - c->estimated));
    failed |= put_criteria(out, c, g.likelihood, c->estimated);
    return failed ? rp_no_memory(err) : RP_OK;
}

/* Of the features and the intercept, each scaled to length 1 (Belsley, Kuh and Welsch 1980). */
static rp_status put_condition(rp_json *out, const table *c, rp_error *err)
{
    const size_t w = c->width, last = c->outputs - 1;
    double condition;
    size_t n = 0;
    double *a;
    rp_status status;

    if (penalised(c) || w > RP_EIGENVALUES_MAX)
        return RP_OK;
    a = rp_malloc(w * w * sizeof *a);
    if (!a)
        return rp_no_memory(err);
    for (size_t i = 0; i < w; i++)
        for (size_t j = 0; standing_of(c, last, i) == ESTIMATED && j < w; j++)
            if (standing_of(c, last, j) == ESTIMATED)
                a[n++] =
                    c->gram[i * w + j] / (__builtin_sqrt(c->gram[i * (w + 1)]) * __builtin_sqrt(c->gram[j * (w + 1)]));
    condition = rp_condition(a, (size_t)__builtin_sqrt((double)n));
    status = rp_put_figure(out, "condition", condition) ? rp_no_memory(err) : RP_OK;
    rp_free(a);
    return status;
}

static rp_status put_numbers(rp_json *out, const table *c, rp_error *err)
{
    static const char *const names[] = {"iterations", "sweeps", "decrement", "limit"};
    const rp_recipe *r = c->t->recipe;
    int failed = put_word(out, "family",
                          !c->classes       ? rp_family_names[r->train.family]
                          : c->outputs == 1 ? "binomial"
                                            : "multinomial");

    failed |= put_word(out, "link", c->gaussian ? "identity" : c->log_link ? "log" : "logit");
    failed |= rp_put_figure(out, "l1", r->train.l1) | rp_put_figure(out, "l2", r->train.l2);
    failed |= rp_json_object_set_new(out, "rows", rp_json_integer((int64_t)c->rows));
    if (c->weight)
        failed |= rp_put_figure(out, "weights", c->total);
    if (c->offset)
        failed |= put_word(out, "offset", r->data.exposure ? "exposure" : "offset");
    failed |= rp_json_object_set_new(out, "estimated", rp_json_integer((int64_t)c->estimated));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double x = 0;
        rp_status status = i == 1 && r->train.l1 == 0 ? RP_OK : rp_exact_number(c->t->full, names[i], &x, err);

        if (status != RP_OK)
            return status;
        if (i == 1 && r->train.l1 == 0)
            continue;
        failed |= i < 2 ? rp_json_object_set_new(out, names[i], rp_json_integer((int64_t)x))
                        : rp_put_figure(out, names[i], x);
    }
    return failed ? rp_no_memory(err) : RP_OK;
}

static rp_status write_table(table *c, rp_json *out, rp_error *err)
{
    rp_status status = take_results(c, err);

    if (status == RP_OK)
        status = rp_dataset_offsets(&c->offset, c->t->data, false, err);

    if (status == RP_OK)
        status = take_standings(c, err);
    if (status != RP_OK)
        return status;
    c->dispersion = c->gaussian ? c->deviation / (c->rows - c->estimated) : 1;
    if (c->log_link || c->counts)
        status = rp_exact_number(c->t->full, "pearson", &c->pearson, err);
    if (status != RP_OK)
        return status;
    if (c->t->model.loss == RP_LOSS_GAMMA)
        c->dispersion = c->pearson / (c->rows - c->estimated);
    c->quantile = c->gaussian ? rp_student_quantile(0.975, c->rows - c->estimated) : rp_normal_quantile(0.975);
    status = put_numbers(out, c, err);
    if (status == RP_OK)
        status = put_fit(out, c, err);
    if (status == RP_OK)
        status = put_condition(out, c, err);
    return status == RP_OK && put_outputs(out, c) ? rp_no_memory(err) : status;
}

rp_status rp_trainer_coefficients(const rp_trainer *t, rp_json **out, rp_error *err)
{
    table c = {.t = t,
               .width = 1 + t->model.features,
               .outputs = t->model.outputs,
               .unknowns = t->model.outputs * (1 + t->model.features),
               .weight = t->data->train_wide_weight,
               .total = t->data->train_total,
               .gaussian = t->model.loss == RP_LOSS_MSE,
               .classes = t->data->schema->classes > 0,
               .counts = t->data->train_trials != NULL,
               .log_link = t->model.loss == RP_LOSS_POISSON || t->model.loss == RP_LOSS_GAMMA};
    rp_status status;

    *out = NULL;
    if (!t->recipe->train.exact)
        return RP_OK;
    for (size_t i = 0; i < t->data->train_rows; i++)
        c.rows += !c.weight || c.weight[i] > 0;
    *out = rp_json_object();
    status = *out ? write_table(&c, *out, err) : rp_no_memory(err);
    clear(&c);
    if (status != RP_OK) {
        rp_json_free(*out);
        *out = NULL;
    }
    return status;
}
