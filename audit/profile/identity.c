/* SPDX-License-Identifier: Apache-2.0
 * The form of a pinned run's identity, and how two differ: one table says what there is. */
#include "audit/profile/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "determinism/pinned.h"

#define WHERE "manifest.json: run.pinned"
#define LINE "manifest.json: run.parent.pinned"

typedef enum shown { A_NAME, A_DIGEST, A_COMPUTE, A_NUMBER } shown;

/* outer NULL: a key of the object itself */
static const struct field {
    const char *outer, *key;
    shown form;
    int64_t low, high;
} fields[] = {
    {"chip", "capability", A_NAME, 0, 0},
    {"chip", "multiprocessors", A_NUMBER, 1, 1 << 20},
    {"chip", "name", A_NAME, 0, 0},
    {NULL, "compute", A_COMPUTE, 0, 0},
    {"driver", "name", A_NAME, 0, 0},
    {"driver", "sha256", A_DIGEST, 0, 0},
    {"driver", "version", A_NUMBER, 1, INT64_MAX},
    {"library", "name", A_NAME, 0, 0},
    {"library", "sha256", A_DIGEST, 0, 0},
    {"library", "version", A_NUMBER, 1, INT64_MAX},
    {NULL, "workspace", A_NUMBER, 1, RP_PINNED_WORKSPACE_MOST},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static const char variable[] = "CUBLAS_WORKSPACE_CONFIG";
static const char *const shape[] = {"batch", "k", "m", "n"};
enum { SHAPE = sizeof shape / sizeof *shape };

static const rp_json *value_of(const rp_json *pinned, const struct field *f)
{
    return rp_json_object_get(f->outer ? rp_json_object_get(pinned, f->outer) : pinned, f->key);
}

static bool is_name(const rp_json *value)
{
    const char *text = rp_json_string_value(value);

    for (const char *c = text; c && *c; c++)
        if (*c < ' ' || *c > '~')
            return false;
    return text && *text && strlen(text) < RP_PINNED_TEXT;
}

static bool is_bytes(const rp_json *value, size_t size)
{
    const char *text = rp_json_string_value(value);
    unsigned char bytes[RP_PINNED_ALGORITHM];

    return text && rp_unhex(bytes, size, text);
}

static bool fits(const rp_json *value, const struct field *f)
{
    rp_pinned_compute compute;

    switch (f->form) {
    case A_NAME:
        return is_name(value);
    case A_DIGEST:
        return is_bytes(value, RP_DIGEST_HEX / 2);
    case A_COMPUTE:
        return rp_pinned_compute_of(&compute, rp_json_string_value(value));
    default:
        return rp_json_is_integer(value) && rp_json_integer_value(value) >= f->low &&
               rp_json_integer_value(value) <= f->high;
    }
}

static rp_status wrong_keys(const char *where, const char *what, rp_error *err)
{
    return rp_fail(err, RP_EFORMAT, "%s%s%s: has other keys than a pinned run says", where, *what ? "." : "", what);
}

/* size: how many keys there are. nested: those that are objects alone, chip, driver and library. */
static rp_status check_fields(const rp_json *pinned, const char *where, size_t size, bool nested, rp_error *err)
{
    for (size_t i = 0; i < FIELDS; i++)
        if ((fields[i].outer || !nested) && !fits(value_of(pinned, &fields[i]), &fields[i]))
            return rp_fail(err, RP_EFORMAT, "%s%s%s.%s: missing, or not what a pinned run says", where,
                           fields[i].outer ? "." : "", fields[i].outer ? fields[i].outer : "", fields[i].key);
    if (rp_json_object_size(pinned) != size)
        return wrong_keys(where, "", err);
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].outer && rp_json_object_size(rp_json_object_get(pinned, fields[i].outer)) != 3)
            return wrong_keys(where, fields[i].outer, err);
    return RP_OK;
}

static rp_status check_environment(const rp_json *environment, rp_error *err)
{
    const rp_json *set = rp_json_object_get(environment, variable);

    if (!rp_json_is_object(environment) || rp_json_object_size(environment) != (set ? 1u : 0u) ||
        (set && !is_name(set)))
        return rp_fail(err, RP_EFORMAT, WHERE ".environment: expected an object with %s or nothing", variable);
    return RP_OK;
}

static rp_status check_product(const rp_json *product, const rp_json *before, size_t i, rp_error *err)
{
    int order = 0;

    for (size_t k = 0; k < SHAPE; k++) {
        const rp_json *v = rp_json_object_get(product, shape[k]), *last = rp_json_object_get(before, shape[k]);

        if (!rp_json_is_integer(v) || rp_json_integer_value(v) < 1 || rp_json_integer_value(v) > INT32_MAX)
            return rp_fail(err, RP_EFORMAT, WHERE ".products[%zu].%s: not a length", i, shape[k]);
        if (order == 0 && last)
            order = (rp_json_integer_value(v) > rp_json_integer_value(last)) -
                    (rp_json_integer_value(v) < rp_json_integer_value(last));
    }
    if (before && order <= 0)
        return rp_fail(err, RP_EFORMAT, WHERE ".products[%zu]: doubled or out of order", i);
    if (rp_json_object_size(product) != SHAPE + 1 ||
        !is_bytes(rp_json_object_get(product, "algorithm"), RP_PINNED_ALGORITHM))
        return rp_fail(err, RP_EFORMAT, WHERE ".products[%zu].algorithm: expected %d lowercase hex digits", i,
                       2 * RP_PINNED_ALGORITHM);
    return RP_OK;
}

rp_status rp_pinned_check(const rp_json *pinned, rp_error *err)
{
    const rp_json *products = rp_json_object_get(pinned, "products"), *product, *before = NULL;
    rp_status status;
    size_t i;

    if (!rp_json_is_object(pinned))
        return rp_fail(err, RP_EFORMAT, WHERE ": expected an object: the profile is pinned");
    status = check_fields(pinned, WHERE, 7, false, err);
    if (status == RP_OK)
        status = check_environment(rp_json_object_get(pinned, "environment"), err);
    if (status == RP_OK && (!rp_json_is_array(products) || rp_json_array_size(products) > RP_PINNED_PRODUCTS))
        return rp_fail(err, RP_EFORMAT, WHERE ".products: expected a list of at most %d", (int)RP_PINNED_PRODUCTS);
    rp_json_array_foreach (products, i, product) {
        if (status == RP_OK)
            status = check_product(product, before, i, err);
        before = product;
    }
    return status;
}

/* ---- of the runs before ---- */

rp_status rp_pinned_line_check(const rp_json *line, rp_error *err)
{
    if (!rp_json_is_object(line) || !is_bytes(rp_json_object_get(line, "archive_id"), RP_DIGEST_HEX / 2))
        return rp_fail(err, RP_EFORMAT, LINE ": expected an object with archive_id, 64 hex digits");
    return check_fields(line, LINE, 4, true, err);
}

rp_status rp_pinned_line(rp_json **out, const rp_json *run, const char *archive_id, rp_error *err)
{
    const rp_json *pinned = rp_json_object_get(run, "pinned");
    rp_json *before = rp_json_object_get(rp_json_object_get(run, "parent"), "pinned");

    *out = pinned != NULL
               ? rp_json_pack("{s:s, s:O, s:O, s:O}", "archive_id", archive_id, "chip",
                              rp_json_object_get(pinned, "chip"), "driver", rp_json_object_get(pinned, "driver"),
                              "library", rp_json_object_get(pinned, "library"))
               : rp_json_share(before);
    return *out == NULL && (pinned != NULL || before != NULL) ? rp_no_memory(err) : RP_OK;
}

rp_status rp_pinned_line_confirm(const rp_json *recorded, const rp_json *run, const char *archive_id, rp_error *err)
{
    char said[RP_PINNED_WORDS] = "nothing", found[RP_PINNED_WORDS] = "nothing";
    rp_json *line;
    rp_status status = rp_pinned_line(&line, run, archive_id, err);

    if (status == RP_OK && recorded != line && !rp_json_equal(recorded, line)) {
        if (recorded != NULL)
            rp_pinned_words(said, sizeof said, recorded);
        if (line != NULL)
            rp_pinned_words(found, sizeof found, line);
        status = rp_fail(err, RP_EHASH,
                         LINE ": what the states that it started from are pinned to: recorded %s, the parent's archive "
                              "says %s",
                         said, found);
    }
    rp_json_free(line);
    return status;
}

/* ---- differences ---- */

static void put_value(char *out, size_t size, const rp_json *value, shown form)
{
    const char *text = rp_json_string_value(value);

    if (value == NULL)
        (void)snprintf(out, size, "none");
    else if (text == NULL)
        (void)snprintf(out, size, "%" PRId64, rp_json_integer_value(value));
    else
        (void)snprintf(out, size, form == A_DIGEST ? "%.12s..." : "%.64s", text);
}

static rp_host_row *new_row(rp_host_table *table, const char *outer, const char *key)
{
    rp_host_row *row = &table->row[table->count++];

    (void)snprintf(row->what, sizeof row->what, "%s%s%s", outer ? outer : "", outer ? "." : "", key);
    return row;
}

void rp_pinned_table(rp_host_table *out, const rp_json *recorded, const rp_json *here)
{
    const rp_json *set = rp_json_object_get(rp_json_object_get(recorded, "environment"), variable);
    const rp_json *mine = rp_json_object_get(rp_json_object_get(here, "environment"), variable);

    _Static_assert(FIELDS + 1 == RP_HOST_ROWS, "a row for each field, and one for the variable");
    out->count = 0;
    for (size_t i = 0; i < FIELDS; i++) {
        const rp_json *a = value_of(recorded, &fields[i]), *b = value_of(here, &fields[i]);

        if (rp_json_equal(a, b) || (here == NULL && fields[i].outer == NULL)) /* those are the run's own */
            continue;
        rp_host_row *row = new_row(out, fields[i].outer, fields[i].key);

        put_value(row->recorded, sizeof row->recorded, a, fields[i].form);
        put_value(row->here, sizeof row->here, b, fields[i].form);
    }
    if (here != NULL && (set || mine) && !(set && mine && rp_json_equal(set, mine))) {
        rp_host_row *row = new_row(out, "environment", variable);

        (void)snprintf(row->recorded, sizeof row->recorded, "%.64s", set ? rp_json_string_value(set) : "not set");
        (void)snprintf(row->here, sizeof row->here, "%.64s", mine ? rp_json_string_value(mine) : "not set");
    }
}

void rp_pinned_table_words(rp_buffer *out, const rp_host_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        rp_buffer_printf(out, "%s%s: recorded %s, here %s", i ? "; " : "", table->row[i].what, table->row[i].recorded,
                         table->row[i].here);
}

void rp_pinned_say(char *out, size_t size, const char *library, int64_t version, const char *chip,
                   int64_t multiprocessors)
{
    (void)snprintf(out, size, "%.32s %lld on %.64s (%lld multiprocessors)", library, (long long)version, chip,
                   (long long)multiprocessors);
}

void rp_pinned_words(char *out, size_t size, const rp_json *pinned)
{
    const rp_json *chip = rp_json_object_get(pinned, "chip"), *library = rp_json_object_get(pinned, "library");

    rp_pinned_say(out, size, rp_json_string_value(rp_json_object_get(library, "name")),
                  rp_json_integer_value(rp_json_object_get(library, "version")),
                  rp_json_string_value(rp_json_object_get(chip, "name")),
                  rp_json_integer_value(rp_json_object_get(chip, "multiprocessors")));
}
