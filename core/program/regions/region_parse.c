/* SPDX-License-Identifier: Apache-2.0
 * Reading functions and regions. A function may only name those before it, so one pass makes them all and there is no
 * recursion; every limit is checked when the instruction or function that breaks it is read. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/program/program_text.h"

static rp_status malformed(const char *where, size_t index, const char *key, rp_error *err)
{
    return rp_fail(err, RP_EFORMAT, "%s: attribute %s of instruction %zu is malformed", where, key, index);
}

static bool get_count(const rp_json *v, uint64_t limit, uint64_t *out)
{
    if (!rp_json_is_integer(v) || rp_json_integer_value(v) < 0 || (uint64_t)rp_json_integer_value(v) > limit)
        return false;
    *out = (uint64_t)rp_json_integer_value(v);
    return true;
}

static bool get_size(const rp_json *v, size_t limit, size_t *out)
{
    uint64_t value = 0;

    if (!get_count(v, limit, &value))
        return false;
    *out = (size_t)value;
    return true;
}

static bool get_bool(const rp_json *v, bool *out)
{
    *out = rp_json_is_true(v);
    return rp_json_is_boolean(v);
}

/* Appends the function of that number, which must come before; held by the region. */
static bool get_function(rp_region *r, const rp_json *v, const rp_parsed_functions *known)
{
    size_t number;

    if (known->n == 0 || !get_size(v, known->n - 1, &number))
        return false;
    r->function[r->n_functions++] = rp_function_hold(known->function[number]);
    return true;
}

static bool get_functions(rp_region *r, const rp_json *list, const rp_parsed_functions *known)
{
    size_t n = rp_json_array_size(list);

    if (!rp_json_is_array(list) || n == 0 || n > RP_FUNCTIONS_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!get_function(r, rp_json_array_get(list, i), known))
            return false;
    return true;
}

static bool get_cuts(rp_region *r, const rp_json *list)
{
    size_t n = rp_json_array_size(list);

    if (!rp_json_is_array(list) || n > RP_REGION_OPERANDS_MAX + 1)
        return false;
    r->cuts = rp_reallocarray(NULL, n, sizeof *r->cuts);
    for (size_t i = 0; r->cuts && i < n; i++)
        if (!get_count(rp_json_array_get(list, i), rp_times_max, &r->cuts[r->n_cuts++]))
            return false;
    return true; /* without memory, no cuts: the caller looks */
}

static bool get_combine(rp_region *r, const rp_json *list)
{
    size_t n = rp_json_array_size(list);

    if (!rp_json_is_array(list) || n == 0 || n > RP_REGION_OPERANDS_MAX)
        return false;
    r->combine = rp_malloc(n);
    for (size_t i = 0; r->combine && i < n; i++) {
        const char *name = rp_json_string_value(rp_json_array_get(list, i));
        int k = 0;

        while (name && k <= RP_COMBINE_CONCAT && strcmp(rp_combine_name((rp_combine)k), name) != 0)
            k++;
        if (!name || k > RP_COMBINE_CONCAT)
            return false;
        r->combine[r->n_combine++] = (unsigned char)k;
    }
    return true;
}

/* The first key whose value is not as its kind wants; NULL when all are. */
static const char *parse_scan(rp_region *r, const rp_json *a, const rp_parsed_functions *known)
{
    if (!get_size(rp_json_object_get(a, "carried"), RP_REGION_OPERANDS_MAX, &r->carried))
        return "carried";
    if (!get_function(r, rp_json_object_get(a, "function"), known))
        return "function";
    if (!get_bool(rp_json_object_get(a, "history"), &r->history))
        return "history";
    if (!get_bool(rp_json_object_get(a, "reverse"), &r->reverse))
        return "reverse";
    if (!get_size(rp_json_object_get(a, "sliced"), RP_REGION_OPERANDS_MAX, &r->sliced))
        return "sliced";
    return get_count(rp_json_object_get(a, "times"), rp_times_max, &r->times) ? NULL : "times";
}

static const char *parse_map(rp_region *r, const rp_json *a, const rp_parsed_functions *known)
{
    if (!get_combine(r, rp_json_object_get(a, "combine")))
        return "combine";
    if (!get_cuts(r, rp_json_object_get(a, "cuts")))
        return "cuts";
    if (!get_count(rp_json_object_get(a, "first"), rp_times_max, &r->first))
        return "first";
    if (!get_functions(r, rp_json_object_get(a, "functions"), known))
        return "functions";
    return get_size(rp_json_object_get(a, "sliced"), RP_REGION_OPERANDS_MAX, &r->sliced) ? NULL : "sliced";
}

static const char *parse_while(rp_region *r, const rp_json *a, const rp_parsed_functions *known)
{
    if (!get_function(r, rp_json_object_get(a, "body"), known))
        return "body";
    if (!get_size(rp_json_object_get(a, "carried"), RP_REGION_OPERANDS_MAX, &r->carried))
        return "carried";
    if (!get_count(rp_json_object_get(a, "limit"), rp_times_max, &r->times))
        return "limit";
    return get_function(r, rp_json_object_get(a, "predicate"), known) ? NULL : "predicate";
}

rp_status rp_parse_region(rp_region **out, rp_region_kind kind, const rp_json *a, const rp_parsed_functions *known,
                          const char *where, size_t index, rp_error *err)
{
    static const size_t keys[] = {[RP_CALL] = 1, [RP_SCAN] = 6, [RP_MAP] = 5, [RP_COND] = 1, [RP_WHILE] = 4};
    const rp_json *list = rp_json_object_get(a, "functions");
    const char *wrong = NULL;
    rp_region *r = rp_calloc(1, sizeof *r);

    *out = r;
    if (!r)
        return rp_no_memory(err);
    r->kind = kind;
    if (rp_json_object_size(a) != keys[kind])
        return rp_fail(err, RP_EFORMAT, "%s: instruction %zu: %s has %zu attributes, found %zu", where, index,
                       rp_region_op(kind)->name, keys[kind], (size_t)rp_json_object_size(a));
    /* by the kind and not by what is there: a list that has no place in a scan must not size its room */
    r->function = rp_calloc(kind == RP_MAP || kind == RP_COND ? rp_json_array_size(list) : 2, sizeof(rp_function *));
    if (!r->function)
        return rp_no_memory(err);
    switch (kind) {
    case RP_CALL:
        wrong = get_function(r, rp_json_object_get(a, "function"), known) ? NULL : "function";
        break;
    case RP_SCAN:
        wrong = parse_scan(r, a, known);
        break;
    case RP_MAP:
        wrong = parse_map(r, a, known);
        break;
    case RP_COND:
        wrong = get_functions(r, list, known) ? NULL : "functions";
        break;
    default:
        wrong = parse_while(r, a, known);
    }
    if (wrong)
        return malformed(where, index, wrong, err);
    return kind == RP_MAP && (!r->cuts || !r->combine) ? rp_no_memory(err) : RP_OK;
}

/* ---- functions ---- */

static rp_status parse_parameters(rp_program *body, const rp_json *list, const char *at, rp_error *err)
{
    rp_status status = RP_OK;

    if (rp_json_array_size(list) > RP_REGION_OPERANDS_MAX)
        return rp_fail(err, RP_EFORMAT, "%s: more than %d parameters", at, RP_REGION_OPERANDS_MAX);
    for (size_t i = 0; i < rp_json_array_size(list) && status == RP_OK; i++) {
        const rp_json *row = rp_json_array_get(list, i);
        rp_type type;
        uint32_t value;

        if (rp_json_array_size(row) != 2 || !rp_parse_type(row, 0, &type))
            return rp_fail(err, RP_EFORMAT, "%s: parameter %zu is malformed", at, i);
        status = rp_program_add_parameter(body, &type, &value, err);
    }
    return status;
}

static rp_status parse_body(rp_program *body, const rp_json *json, const rp_parsed_functions *known, const char *at,
                            rp_error *err)
{
    const rp_json *instrs = rp_json_object_get(json, "instructions"), *outs = rp_json_object_get(json, "outputs");
    const rp_json *params = rp_json_object_get(json, "parameters");
    rp_status status;

    if (rp_json_object_size(json) != 3 || !rp_json_is_array(instrs) || !rp_json_is_array(outs) ||
        !rp_json_is_array(params) || rp_json_array_size(outs) > RP_REGION_OPERANDS_MAX)
        return rp_fail(err, RP_EFORMAT, "%s: not a function", at);
    status = parse_parameters(body, params, at, err);
    for (size_t i = 0; i < rp_json_array_size(instrs) && status == RP_OK; i++)
        status = rp_parse_instruction(body, rp_json_array_get(instrs, i), i, known, at, err);
    for (size_t i = 0; i < rp_json_array_size(outs) && status == RP_OK; i++) {
        size_t value;

        if (!get_size(rp_json_array_get(outs, i), RP_PROGRAM_MAX_VALUES - 1, &value) || value >= body->n_values)
            return rp_fail(err, RP_EFORMAT, "%s: output %zu is malformed", at, i);
        status = rp_program_add_return(body, (uint32_t)value, err);
    }
    return status;
}

static rp_status parse_function(rp_parsed_functions *known, const rp_json *json, const char *where, rp_error *err)
{
    char at[160];
    rp_program *body = rp_program_new();
    rp_status status;

    if (!body)
        return rp_no_memory(err);
    (void)snprintf(at, sizeof at, "%.120s: function %zu", where, known->n);
    body->compared = known->compared;
    status = parse_body(body, json, known, at, err);
    known->values += body->n_values;
    known->compared = body->compared;
    if (status == RP_OK && known->values > RP_PROGRAM_MAX_VALUES)
        status = rp_fail(err, RP_EFORMAT, "%s: more than %d values up to here", at, RP_PROGRAM_MAX_VALUES);
    if (status != RP_OK) {
        rp_program_free(body);
        return status;
    }
    status = rp_function_new(&known->function[known->n], body, err);
    if (status == RP_OK)
        known->n++;
    return status == RP_OK || status == RP_ENOMEM ? status : rp_fail_at(err, RP_EFORMAT, "%s", at);
}

rp_status rp_parse_functions(rp_parsed_functions *known, const rp_json *list, const char *where, rp_error *err)
{
    size_t n = rp_json_array_size(list);
    rp_status status = RP_OK;

    if (!rp_json_is_array(list) || n == 0 || n > RP_FUNCTIONS_MAX)
        return rp_fail(err, RP_EFORMAT, "%s: functions: expected 1 to %d; without functions the key is left out", where,
                       RP_FUNCTIONS_MAX);
    known->function = rp_calloc(n, sizeof(rp_function *));
    if (!known->function)
        return rp_no_memory(err);
    for (size_t i = 0; i < n && status == RP_OK; i++)
        status = parse_function(known, rp_json_array_get(list, i), where, err);
    return status;
}

void rp_parsed_functions_free(rp_parsed_functions *known)
{
    for (size_t i = known->n; i-- > 0;)
        rp_function_release(known->function[i]);
    rp_free(known->function);
}

rp_status rp_parsed_functions_check(const rp_parsed_functions *known, const rp_program *p, const char *where,
                                    rp_error *err)
{
    rp_functions walked;
    rp_status status = rp_functions_of(&walked, p, err);

    if (status != RP_OK)
        return status == RP_ENOMEM ? status : rp_fail_at(err, RP_EFORMAT, "%s", where);
    for (size_t i = 0; i < known->n && status == RP_OK; i++)
        if (i >= walked.n || walked.function[i] != known->function[i])
            status = rp_fail(err, RP_EFORMAT,
                             "%s: function %zu is not where the walk over the instructions completes it: it is not "
                             "used, equal to another, or out of order",
                             where, i);
    rp_functions_free(&walked);
    return status;
}
