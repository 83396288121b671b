/* SPDX-License-Identifier: Apache-2.0
 * Reading clauses on figures: a validation or a monitoring that somebody has signed, slices, groups. They are held
 * against the archive in policy_validation.c, policy_drift.c and policy_slices.c. */
#include <stdio.h>
#include <string.h>

#include "audit/trust/figures/figure_text.h"
#include "audit/trust/policy_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { FEW = 30 };

const char *const rp_fall_names[RP_FALLS] = {[RP_FALL_AUC] = "auc",
                                             [RP_FALL_GINI] = "gini",
                                             [RP_FALL_KS] = "ks",
                                             [RP_FALL_ACCURACY] = "accuracy",
                                             [RP_FALL_MACRO_AUC] = "macro_auc",
                                             [RP_FALL_R2] = "r2",
                                             [RP_FALL_BRIER] = "brier",
                                             [RP_FALL_LOG_LOSS] = "log_loss",
                                             [RP_FALL_RMSE] = "rmse",
                                             [RP_FALL_MAE] = "mae"};

static bool has(const rp_policy_reader *in, const rp_node *mapping, const char *key)
{
    return in->r.status == RP_OK && rp_node_find(mapping, key) != NULL;
}

static void read_integer(rp_policy_reader *in, const rp_node *mapping, const char *key, const rp_clause *clause,
                         uint64_t *out, int64_t otherwise)
{
    char path[RP_POLICY_PATH];
    int64_t value = otherwise;

    (void)snprintf(path, sizeof path, "%s.%s", clause->name, key);
    rp_node_read_int(&in->r, mapping, path, &value, otherwise, 0, (int64_t)1 << 31);
    *out = (uint64_t)value;
}

/* 0 or more. */
static bool read_bound(rp_policy_reader *in, const rp_node *mapping, const char *key, const rp_clause *clause,
                       double *out)
{
    const bool given = rp_policy_read_number(in, mapping, key, clause, out);

    if (in->r.status == RP_OK && given && !(*out >= 0))
        rp_node_refuse(&in->r, mapping, clause->name, "%s: expected 0 or more", key);
    return given;
}

static void refuse_nothing(rp_policy_reader *in, const rp_node *node, const rp_clause *clause, bool demands,
                           const char *keys)
{
    if (in->r.status == RP_OK && !demands)
        rp_node_refuse(&in->r, node, clause->name, "demands nothing: give %s", keys);
}

/* Which figure, and its bounds. */
static void read_figure(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    rp_policy_read_name(in, node, "of", "the name of a figure, such as discrimination.auc", clause, clause->bound.path,
                        sizeof clause->bound.path);
    clause->bound.has_low = rp_policy_read_number(in, node, "at_least", clause, &clause->bound.low);
    clause->bound.has_high = rp_policy_read_number(in, node, "at_most", clause, &clause->bound.high);
    refuse_nothing(in, node, clause, clause->bound.has_low || clause->bound.has_high, "at_least or at_most");
}

static void read_signers(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    rp_policy_read_signers(in, node, "by", clause);
    rp_policy_read_count(in, node, clause);
    rp_policy_read_flag(in, node, "independent", clause, &clause->independent);
    rp_policy_read_dates(in, node, clause);
}

static void read_share(rp_policy_reader *in, const rp_node *node, const char *key, rp_clause *clause, double *out)
{
    *out = 0.5;
    if (read_bound(in, node, key, clause, out) && in->r.status == RP_OK && *out > 1)
        rp_node_refuse(&in->r, node, clause->name, "%s: expected a share of the rows, 0 to 1", key);
}

/* Of the judged rows, how many may have trained the model, or be none that it is for. */
static void read_seen(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    read_share(in, node, "seen", clause, &clause->figures.seen);
    read_share(in, node, "left_out", clause, &clause->figures.left_out);
}

void rp_policy_read_validation(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"by",         "count",     "independent", "on",      "rows",
                                       "seen",       "of",        "at_least",    "at_most", "timestamp",
                                       "not_before", "not_after", "days",        "left_out"};
    static const char *const on[] = {"any", "test", "rows"};
    char path[RP_POLICY_PATH];
    int where = 0;

    rp_policy_check_keys(in, node, clause->name, keys, COUNT(keys));
    read_signers(in, node, clause);
    (void)snprintf(path, sizeof path, "%s.on", clause->name);
    rp_node_read_choice(&in->r, node, path, &where, 0, on, 3);
    clause->figures.test = where == 1;
    clause->figures.others = where == 2;
    read_integer(in, node, "rows", clause, &clause->figures.rows, 1);
    read_integer(in, node, "days", clause, &clause->figures.days, 0);
    read_seen(in, node, clause);
    if (has(in, node, "of") || has(in, node, "at_least") || has(in, node, "at_most"))
        read_figure(in, node, clause);
}

void rp_policy_read_drift(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"by",   "count", "independent", "psi",        "csi",       "ks",      "rows",
                                       "days", "seen",  "timestamp",   "not_before", "not_after", "left_out"};

    rp_policy_check_keys(in, node, clause->name, keys, COUNT(keys));
    read_signers(in, node, clause);
    clause->figures.has_psi = read_bound(in, node, "psi", clause, &clause->figures.psi);
    clause->figures.has_csi = read_bound(in, node, "csi", clause, &clause->figures.csi);
    clause->figures.has_ks = read_bound(in, node, "ks", clause, &clause->figures.ks);
    read_integer(in, node, "rows", clause, &clause->figures.rows, 1);
    read_integer(in, node, "days", clause, &clause->figures.days, 0);
    read_seen(in, node, clause);
    refuse_nothing(in, node, clause,
                   clause->figures.has_psi || clause->figures.has_csi || clause->figures.has_ks ||
                       clause->figures.days > 0 || clause->dated,
                   "psi, csi, ks or days");
}

/* Of the run's own figures, unless the clause says whose statement. */
static void read_whose(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const only[] = {"count",     "independent", "seen",     "left_out",
                                       "timestamp", "not_before",  "not_after"};

    rp_policy_read_name(in, node, "column", "the column as the slices name it, such as region or age:4", clause,
                        clause->figures.column, sizeof clause->figures.column);
    clause->figures.stated = has(in, node, "by");
    if (clause->figures.stated) {
        read_signers(in, node, clause);
        read_seen(in, node, clause);
    }
    for (size_t i = 0; i < COUNT(only) && !clause->figures.stated; i++)
        if (has(in, node, only[i]))
            rp_node_refuse(&in->r, node, clause->name, "%s: only with by, the group of those whose statement counts",
                           only[i]);
}

void rp_policy_read_slices(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"column",    "of",    "at_least",    "at_most",   "few",
                                       "by",        "count", "independent", "timestamp", "not_before",
                                       "not_after", "seen",  "left_out"};

    rp_policy_check_keys(in, node, clause->name, keys, COUNT(keys));
    read_whose(in, node, clause);
    read_figure(in, node, clause);
    read_integer(in, node, "few", clause, &clause->figures.few, FEW);
}

void rp_policy_read_selection(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"column",    "favourable", "threshold",   "ratio",     "difference",
                                       "by",        "count",      "independent", "timestamp", "not_before",
                                       "not_after", "seen",       "left_out"};

    rp_policy_check_keys(in, node, clause->name, keys, COUNT(keys));
    read_whose(in, node, clause);
    rp_policy_read_name(in, node, "favourable", "the class that it is good to get", clause, clause->figures.favourable,
                        sizeof clause->figures.favourable);
    clause->figures.threshold = 0.5;
    (void)read_bound(in, node, "threshold", clause, &clause->figures.threshold);
    clause->figures.has_ratio = read_bound(in, node, "ratio", clause, &clause->figures.ratio);
    clause->figures.has_difference = read_bound(in, node, "difference", clause, &clause->figures.difference);
    refuse_nothing(in, node, clause, clause->figures.has_ratio || clause->figures.has_difference,
                   "ratio or difference");
}

static void read_predecessor(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    char *id = clause->figures.predecessor;

    if (!has(in, node, "predecessor"))
        return;
    rp_policy_read_name(in, node, "predecessor", "an archive id", clause, id, sizeof clause->figures.predecessor);
    if (in->r.status == RP_OK &&
        (strlen(id) != RP_DIGEST_HEX - 1 || strspn(id, "0123456789abcdef") != RP_DIGEST_HEX - 1))
        rp_node_refuse(&in->r, node, clause->name, "predecessor: expected an archive id of 64 hex digits");
}

void rp_policy_read_fall(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const on[] = {"any", "test", "validation", "rows"};
    const char *keys[12 + RP_FALLS] = {"by",        "count",      "independent", "on",          "rows",        "days",
                                       "timestamp", "not_before", "not_after",   "predecessor", "same_recipe", "seen"};
    char path[RP_POLICY_PATH];
    size_t n = 12;
    int where = 0;
    bool asks = false;

    for (size_t k = 0; k < RP_FALLS; k++)
        keys[n++] = rp_fall_names[k];
    rp_policy_check_keys(in, node, clause->name, keys, n);
    clause->figures.stated = true;
    read_signers(in, node, clause);
    (void)snprintf(path, sizeof path, "%s.on", clause->name);
    rp_node_read_choice(&in->r, node, path, &where, 0, on, 4);
    clause->figures.test = where == 1;
    clause->figures.validation = where == 2;
    clause->figures.others = where == 3;
    read_integer(in, node, "rows", clause, &clause->figures.rows, 1);
    read_integer(in, node, "days", clause, &clause->figures.days, 0);
    read_share(in, node, "seen", clause, &clause->figures.seen);
    read_predecessor(in, node, clause);
    rp_policy_read_flag(in, node, "same_recipe", clause, &clause->figures.same_recipe);
    for (size_t k = 0; k < RP_FALLS; k++) {
        clause->figures.has_fall[k] = read_bound(in, node, rp_fall_names[k], clause, &clause->figures.fall[k]);
        asks = asks || clause->figures.has_fall[k];
    }
    refuse_nothing(in, node, clause, asks, "a figure and how far it may fall, such as auc: 0.01");
}
