/* SPDX-License-Identifier: Apache-2.0
 * Settings of trials, from the grid or drawn, and the recipe that each makes. A trial's recipe goes through the reader
 * of resolved recipes, so it is one that a user could have written. */
#include "core/trials/vary.h"

#include <string.h>

#include "base/memory.h"
#include "core/recipe/decimal_json.h"
#include "determinism/math.h"
#include "determinism/philox.h"

static const uint32_t search_stream = 0x53524348u; /* "SRCH": far from the streams of layers and of the split */

static double uniform(const rp_recipe *recipe, int64_t trial, size_t axis)
{
    const uint64_t at = 2 * (uint64_t)axis;
    const uint32_t high = rp_random_u32(recipe->seed, (uint64_t)trial, search_stream, at);
    const uint32_t low = rp_random_u32(recipe->seed, (uint64_t)trial, search_stream, at + 1);

    return rp_uniform_f64(high, low);
}

/* u of an interval; an integer interval has both ends, and rounding never leaves it. */
static rp_json *drawn(const rp_search_axis *axis, double u)
{
    const bool integer = axis->key->type == RP_SEARCH_INT;
    const double low = axis->low, high = integer ? axis->high + 1 : axis->high;
    double value =
        axis->log ? rp_exp_f64(rp_log_f64(low) + u * (rp_log_f64(high) - rp_log_f64(low))) : low + u * (high - low);

    value = value < low ? low : value > axis->high ? axis->high : value;
    return integer ? rp_json_integer((int64_t)value) : rp_json_decimal(value);
}

static rp_json *value_of(const rp_recipe *recipe, int64_t trial, size_t i, int64_t *left)
{
    const rp_search_axis *axis = &recipe->search.over[i];
    const size_t n = rp_json_array_size(axis->value);
    size_t at;

    if (axis->value == NULL)
        return drawn(axis, uniform(recipe, trial, i));
    if (recipe->search.random) {
        at = (size_t)(uniform(recipe, trial, i) * (double)n);
    } else {
        at = (size_t)*left % n;
        *left /= (int64_t)n;
    }
    return rp_json_share(rp_json_array_get(axis->value, at < n ? at : n - 1));
}

/* Of a grid the last key, in the order of their names, changes from trial to trial. */
rp_status rp_search_draw(rp_json **out, const rp_recipe *recipe, int64_t trial, rp_error *err)
{
    rp_json *set = rp_json_object();
    int64_t left = trial;
    int failed = set == NULL;

    *out = NULL;
    for (size_t i = recipe->search.n_over; i-- > 0 && !failed;)
        failed |= rp_json_object_set_new(set, recipe->search.over[i].key->name, value_of(recipe, trial, i, &left));
    if (failed) {
        rp_json_free(set);
        return rp_no_memory(err);
    }
    *out = set;
    return RP_OK;
}

/* The object of a resolved recipe that the key stands in. */
static rp_json *section_of(const rp_json *json, const rp_search_key *key)
{
    rp_json *section = rp_json_object_get(json, key->section);

    return key->inner != NULL ? rp_json_object_get(section, key->inner) : section;
}

rp_status rp_search_settings(rp_json **out, const rp_recipe *recipe, rp_error *err)
{
    rp_json *set = rp_json_object();
    int failed = set == NULL;

    *out = NULL;
    for (size_t i = 0; i < recipe->search.n_over && !failed; i++) {
        const rp_search_key *key = recipe->search.over[i].key;
        rp_json *value = rp_json_object_get(section_of(recipe->json, key), key->name);

        if (value == NULL) {
            rp_json_free(set);
            return rp_fail(err, RP_EARG,
                           "key search.over.%s: %s.%s%s%s is no key of this recipe as it is resolved; give it a value "
                           "there, or leave it out of the search",
                           key->name, key->section, key->inner ? key->inner : "", key->inner ? "." : "", key->name);
        }
        failed |= rp_json_object_set_new(set, key->name, rp_json_share(value));
    }
    if (failed) {
        rp_json_free(set);
        return rp_no_memory(err);
    }
    *out = set;
    return RP_OK;
}

/* Without decay there is no key that says what decays. */
static int follow_decay(rp_json *optimizer, const rp_json *value)
{
    const bool none = strcmp(rp_json_string_value(value), "0") == 0;

    if (none) {
        (void)rp_json_object_del(optimizer, "decay");
        return 0;
    }
    return rp_json_object_get(optimizer, "decay")
               ? 0
               : rp_json_object_set_new(optimizer, "decay", rp_json_string("weights"));
}

static int make_linear(rp_json *json)
{
    rp_json *data = rp_json_object_get(json, "data"), *train = rp_json_object_get(json, "train");
    const bool regression = strcmp(rp_json_string_value(rp_json_object_get(train, "task")), "regression") == 0;
    rp_json *exact = rp_json_pack("{s:s, s:s, s:s, s:s}", "l1", "0", "l2", "1", "solver", "exact", "task",
                                  regression ? "regression" : "classification");
    int failed = exact == NULL;

    if (!failed && rp_json_object_get(train, "class_weights"))
        failed |= rp_json_object_set(exact, "class_weights", rp_json_object_get(train, "class_weights"));
    if (!failed && regression)
        failed |= rp_json_object_set_new(exact, "family", rp_json_string("gaussian"));
    if (!failed)
        failed |= rp_json_object_set(json, "train", exact);
    rp_json_free(exact);
    (void)rp_json_object_del(data, "standardize_target");
    return failed | rp_json_object_set_new(json, "model", rp_json_pack("{s:[]}", "hidden"));
}

static int apply(rp_json *json, const char *name, rp_json *value)
{
    const rp_search_key *key;
    rp_json *section;

    if (strcmp(name, "linear") == 0)
        return make_linear(json);
    if (strcmp(name, "seed") == 0)
        return rp_json_object_set(json, "seed", value);
    key = rp_search_key_find(name);
    section = section_of(json, key);
    if (strcmp(name, "weight_decay") == 0 && follow_decay(section, value) != 0)
        return -1;
    return rp_json_object_set(section, name, value);
}

rp_status rp_recipe_vary(rp_recipe **out, const rp_recipe *recipe, const rp_json *set, int64_t fold, bool whole,
                         rp_error *err)
{
    static const char *const others[] = {"search", "challengers", "record", "card"};
    rp_json *json = rp_json_deep_copy(recipe->json), *value;
    const char *name;
    int failed = json == NULL;
    rp_status status;

    *out = NULL;
    for (size_t i = 0; i < sizeof others / sizeof *others && !failed && !whole; i++)
        (void)rp_json_object_del(json, others[i]);
    if (!failed)
        rp_json_object_foreach (set, name, value)
            failed |= apply(json, name, value);
    if (!failed && fold != RP_FOLD_AS_IS)
        failed |= rp_json_object_set_new(rp_json_object_get(json, "data"), "fold", rp_json_integer(fold));
    status = failed ? rp_no_memory(err) : RP_OK;
    if (status == RP_OK)
        status = rp_recipe_from_json(out, json, "the trial's recipe", err);
    rp_json_free(json);
    return status;
}
