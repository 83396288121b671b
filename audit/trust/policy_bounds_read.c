/* SPDX-License-Identifier: Apache-2.0
 * Reading clauses that bound what a run says of its model: figures of its metrics, keys of its recipe, columns that it
 * takes in. They are held against it in policy_bounds.c. */
#include "audit/trust/policy_read.h"

#include <stdio.h>
#include <string.h>

#include "audit/sign/signed_json.h"
#include "audit/trust/recipe/recipe_paths.h"
#include "base/memory.h"
#include "base/text.h"
#include "determinism/decimal.h"

static void join(char out[RP_POLICY_PATH], const rp_clause *clause, const char *key)
{
    (void)snprintf(out, RP_POLICY_PATH, "%s.%s", clause->name, key);
}

static const rp_node *find(const rp_policy_reader *in, const rp_node *mapping, const char *key)
{
    return in->r.status == RP_OK ? rp_node_find(mapping, key) : NULL;
}

bool rp_policy_read_number(rp_policy_reader *in, const rp_node *mapping, const char *key, const rp_clause *clause,
                           double *out)
{
    const rp_node *node = find(in, mapping, key);
    char path[RP_POLICY_PATH];

    join(path, clause, key);
    if (node && (node->kind != RP_NODE_SCALAR || !node->plain || !rp_parse_f64(out, node->text, strlen(node->text)) ||
                 !(*out - *out == 0)))
        rp_node_wrong(&in->r, node, path, "a number", NULL);
    return node != NULL;
}

void rp_policy_read_name(rp_policy_reader *in, const rp_node *mapping, const char *key, const char *expected,
                         const rp_clause *clause, char *out, size_t size)
{
    const rp_node *node = find(in, mapping, key);
    char path[RP_POLICY_PATH];

    join(path, clause, key);
    if (in->r.status != RP_OK)
        return;
    if (node == NULL)
        rp_node_refuse(&in->r, mapping, path, "is missing: %s", expected);
    else if (node->kind != RP_NODE_SCALAR || !rp_text_fits(node->text, size))
        rp_node_wrong(&in->r, node, path, expected, NULL);
    else
        strcpy(out, node->text);
}

void rp_policy_read_metrics(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"of", "part", "at_least", "at_most", "gap"}, *const parts[] = {"validation",
                                                                                                      "training",
                                                                                                      "folds"};
    rp_model_bound *bound = &clause->bound;
    char path[RP_POLICY_PATH];
    int part = 0;

    rp_policy_check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    rp_policy_read_name(in, node, "of", "the name of a figure in outputs/metrics.json, such as accuracy", clause,
                        bound->path, sizeof bound->path);
    join(path, clause, "part");
    rp_node_read_choice(&in->r, node, path, &part, 0, parts, 3);
    bound->training = part == 1;
    bound->folds = part == 2;
    bound->has_low = rp_policy_read_number(in, node, "at_least", clause, &bound->low);
    bound->has_high = rp_policy_read_number(in, node, "at_most", clause, &bound->high);
    bound->has_gap = rp_policy_read_number(in, node, "gap", clause, &bound->gap);
    if (in->r.status == RP_OK && !bound->has_low && !bound->has_high && !bound->has_gap)
        rp_node_refuse(&in->r, node, clause->name, "demands nothing: give at_least, at_most or gap");
    if (in->r.status == RP_OK && bound->has_gap && bound->folds)
        rp_node_refuse(&in->r, node, clause->name, "gap is that of training and validation; leave out part: folds");
    if (in->r.status == RP_OK && bound->has_gap && !(bound->gap >= 0))
        rp_node_refuse(&in->r, node, clause->name, "gap: a difference is 0 or more");
}

/* A text as rp_fact_text makes it. */
static bool text_of(const rp_node *node, rp_buffer *out)
{
    bool fine = node->kind != RP_NODE_MAPPING;

    if (node->kind == RP_NODE_SCALAR) {
        rp_buffer_text(out, rp_node_is_null(node) ? "null" : node->text);
        return true;
    }
    rp_buffer_text(out, "[");
    for (size_t i = 0; i < node->count && fine; i++) {
        rp_buffer_text(out, i ? ", " : "");
        fine = node->child[i].kind == RP_NODE_SCALAR && text_of(&node->child[i], out);
    }
    rp_buffer_text(out, "]");
    return fine;
}

void rp_policy_add_word(rp_policy_reader *in, const rp_node *node, const char *path, rp_clause *clause)
{
    rp_buffer text = {0};
    const bool fine = text_of(node, &text);

    rp_buffer_u8(&text, 0);
    if (text.failed)
        in->r.status = rp_no_memory(in->r.err);
    else if (!fine || !rp_line_fits((char *)text.data, RP_POLICY_WORD))
        rp_node_wrong(&in->r, node, path, "one line of text of 1 to 200 bytes", NULL);
    else if ((clause->word[clause->words] = rp_strdup((char *)text.data)) == NULL)
        in->r.status = rp_no_memory(in->r.err);
    else
        clause->words++;
    rp_buffer_free(&text);
}

/* A list of texts; one: a value by itself will do, even if it is a list. */
static void read_words(rp_policy_reader *in, const rp_node *node, const char *key, bool one, rp_clause *clause)
{
    const size_t count = one ? 1 : node->kind == RP_NODE_LIST ? node->count : 0;
    char path[RP_POLICY_PATH];

    join(path, clause, key);
    if (count == 0 || count > RP_POLICY_WORDS) {
        rp_node_refuse(&in->r, node, path, "expected a list of 1 to %d texts", RP_POLICY_WORDS);
        return;
    }
    clause->word = rp_calloc(count, sizeof *clause->word);
    if (clause->word == NULL)
        in->r.status = rp_no_memory(in->r.err);
    for (size_t i = 0; i < count && in->r.status == RP_OK; i++)
        rp_policy_add_word(in, one ? node : &node->child[i], path, clause);
}

/* A key that no recipe has is absent from this one too, and equals nothing: neither is what anybody meant to ask. */
static void check_path(rp_policy_reader *in, const rp_node *at, const char *where, const char *key)
{
    const char *nearest = rp_recipe_path_nearest(key);
    char quoted[80];

    if (in->r.status == RP_OK && !rp_recipe_path_known(key))
        rp_node_refuse(&in->r, at, where, "no recipe has a key \"%s\"%s%s%s",
                       rp_printable(quoted, sizeof quoted, key, strlen(key)), nearest ? "; did you mean \"" : "",
                       nearest ? nearest : ": audit/FORMAT.md 9.1 has them all", nearest ? "\"?" : "");
}

void rp_policy_read_recipe(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"key", "equals", "one_of", "at_least", "at_most", "absent"};
    const rp_node *equals = rp_node_find(node, "equals"), *one_of = rp_node_find(node, "one_of");
    rp_model_bound *bound = &clause->bound;
    char path[RP_POLICY_PATH];
    int demands;

    rp_policy_check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    rp_policy_read_name(in, node, "key", "a key of the resolved recipe, such as train.epochs", clause, bound->path,
                        sizeof bound->path);
    join(path, clause, "key");
    check_path(in, rp_node_find(node, "key"), path, bound->path);
    bound->has_low = rp_policy_read_number(in, node, "at_least", clause, &bound->low);
    bound->has_high = rp_policy_read_number(in, node, "at_most", clause, &bound->high);
    join(path, clause, "absent");
    rp_node_read_bool(&in->r, node, path, &bound->absent, false);
    demands = (bound->has_low || bound->has_high) + (equals != NULL) + (one_of != NULL) + bound->absent;
    if (in->r.status == RP_OK && demands != 1)
        rp_node_refuse(&in->r, node, clause->name,
                       "expected one of equals, one_of, absent: true, or at_least and at_most");
    if (in->r.status == RP_OK && (equals || one_of))
        read_words(in, equals ? equals : one_of, equals ? "equals" : "one_of", equals != NULL, clause);
}

void rp_policy_read_columns(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"not_used"};
    const rp_node *list = node->kind == RP_NODE_MAPPING ? rp_node_find(node, "not_used") : NULL;

    rp_policy_check_keys(in, node, clause->name, keys, 1);
    if (in->r.status == RP_OK && list == NULL)
        rp_node_refuse(&in->r, node, clause->name, "expected not_used: with a list of columns");
    if (in->r.status == RP_OK)
        read_words(in, list, "not_used", false, clause);
}

void rp_policy_read_card(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    char key[RP_POLICY_WORD + 5];

    read_words(in, node, "keys", false, clause);
    for (size_t i = 0; i < clause->words && in->r.status == RP_OK; i++) {
        (void)snprintf(key, sizeof key, "card.%s", clause->word[i]);
        check_path(in, &node->child[i], clause->name, key);
    }
}

/* "recorded", or a mapping. */
void rp_policy_read_trials(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"at_least", "at_most", "seeds", "linear"};
    rp_model_bound *bound = &clause->bound;
    int64_t seeds = 0;

    if (node->kind == RP_NODE_SCALAR && strcmp(node->text, "recorded") == 0) {
        bound->has_low = true;
        bound->low = 1;
        return;
    }
    if (node->kind != RP_NODE_MAPPING) {
        rp_node_wrong(&in->r, node, clause->name, "recorded, or a mapping of at_least, at_most, seeds, linear", NULL);
        return;
    }
    rp_policy_check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    bound->has_low = rp_policy_read_number(in, node, "at_least", clause, &bound->low);
    bound->has_high = rp_policy_read_number(in, node, "at_most", clause, &bound->high);
    rp_node_read_int(&in->r, node, "trials.seeds", &seeds, 0, 0, 100);
    rp_node_read_bool(&in->r, node, "trials.linear", &clause->linear, false);
    clause->seeds = (uint64_t)seeds;
    if (in->r.status == RP_OK && !bound->has_low && !bound->has_high && seeds == 0 && !clause->linear)
        rp_node_refuse(&in->r, node, clause->name, "demands nothing: give at_least, at_most, seeds or linear: true");
}
