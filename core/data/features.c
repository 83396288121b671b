/* SPDX-License-Identifier: Apache-2.0
 * The features of both parts (CONTRACT 9.6): blocks of rows are encoded by threads, and the table's memory goes as the
 * features' comes. */
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "core/data/schema.h"
#include "kernels/device.h"

enum { BLOCKS_AT_A_TIME = 256 };

typedef struct encoding {
    const rp_encoder *encoder;
    rp_dataset *out;
    size_t first, end;     /* the rows that are encoded now */
    atomic_size_t *unseen; /* [columns] */
    atomic_size_t failed;  /* the first row that cannot be encoded */
} encoding;

/* The place of the first row of a part that is not before row. */
static size_t place_of(const int64_t *part, size_t rows, size_t row)
{
    size_t low = 0;

    for (size_t high = rows; low < high;) {
        size_t middle = low + (high - low) / 2;

        if ((size_t)part[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the features of a part's rows among first .. first + n - 1 go, which are zeros then. */
static void point_at(rp_features *x, bool *counted, const int64_t *part, size_t rows, rp_features features,
                     size_t width, size_t first, size_t n)
{
    size_t begin = place_of(part, rows, first), end = begin;
    const rp_features at = rp_features_at(features, begin * width);

    for (; end < rows && (size_t)part[end] < first + n; end++) {
        x[(size_t)part[end] - first] = rp_features_at(features, end * width);
        if (counted != NULL)
            counted[(size_t)part[end] - first] = true;
    }
    if (begin < end)
        memset(at.wide != NULL ? (void *)at.wide : at.narrow, 0,
               (end - begin) * width * (at.wide != NULL ? sizeof(double) : sizeof(float)));
}

static void encode_block(encoding *e, size_t first, size_t n)
{
    const rp_dataset *d = e->out;
    const size_t width = d->schema->features;
    rp_features x[RP_ENCODED_ROWS] = {{NULL, NULL}};
    bool counted[RP_ENCODED_ROWS] = {false};
    size_t good, before = atomic_load(&e->failed);

    point_at(x, NULL, d->train_row, d->train_rows, (rp_features){d->train_x, d->train_wide}, width, first, n);
    point_at(x, counted, d->valid_row, d->valid_rows, (rp_features){d->valid_x, d->valid_wide}, width, first, n);
    good = rp_encoder_rows(e->encoder, first, n, x, counted, e->unseen);
    while (good < n && first + good < before && !atomic_compare_exchange_weak(&e->failed, &before, first + good))
        continue;
}

static void encode_blocks(void *arg, size_t begin, size_t end)
{
    encoding *e = arg;

    for (size_t i = begin; i < end; i++) {
        size_t first = e->first + i * RP_ENCODED_ROWS, left = e->end - first;

        encode_block(e, first, left < RP_ENCODED_ROWS ? left : RP_ENCODED_ROWS);
    }
}

static rp_status encode_all(encoding *e, rp_table *table, rp_pool *pool, rp_error *err)
{
    const size_t rows = table->rows, step = (size_t)BLOCKS_AT_A_TIME * RP_ENCODED_ROWS;

    for (e->first = 0; e->first < rows; e->first += step) {
        e->end = rows - e->first < step ? rows : e->first + step;
        rp_pool_run(pool, (e->end - e->first + RP_ENCODED_ROWS - 1) / RP_ENCODED_ROWS, 1, encode_blocks, e);
        if (atomic_load(&e->failed) != SIZE_MAX)
            return rp_encoder_fail(e->encoder, atomic_load(&e->failed), e->out->train_wide != NULL, err);
        rp_table_release(table, e->end);
    }
    return RP_OK;
}

static rp_status record_unseen(const rp_schema *schema, atomic_size_t *unseen, rp_error *err)
{
    rp_json *columns = rp_json_object_get(schema->json, "columns");

    for (size_t i = 0; i < schema->n_columns; i++)
        if (schema->columns[i].kind == RP_COL_CATEGORICAL &&
            rp_json_object_set_new(rp_json_array_get(columns, i), "unseen",
                                   rp_json_integer((int64_t)atomic_load(&unseen[i]))) != 0)
            return rp_no_memory(err);
    if (rp_json_object_set_new(schema->json, "features", rp_json_integer((int64_t)schema->features)) != 0)
        return rp_no_memory(err);
    return RP_OK;
}

static rp_status part_room(rp_dataset *out, void **x, size_t rows, size_t element, rp_error *err)
{
    const size_t width = out->schema->features;

    if (out->device == NULL)
        *x = rp_reallocarray(NULL, rows, width * element);
    else if (width == 0 || rows <= SIZE_MAX / (width * element))
        return rp_device_allocate(out->device, x, rows * width * element, err);
    return *x != NULL ? RP_OK : rp_no_memory(err);
}

/* In binary64 for what is fitted exactly. Nothing is written yet, so that the system gives it as the table's goes.
 * Where the host shares a device's memory, features are made where a run has them. */
static rp_status make_room(rp_dataset *out, bool exact, rp_device *device, rp_error *err)
{
    const size_t element = exact ? sizeof(double) : sizeof(float);
    void *train = NULL, *valid = NULL;
    rp_status status;

    out->device = device != NULL && rp_device_shares_memory(device) ? device : NULL;
    status = part_room(out, &train, out->train_rows, element, err);
    out->train_wide = exact ? train : NULL;
    out->train_x = exact ? NULL : train;
    if (status == RP_OK)
        status = part_room(out, &valid, out->valid_rows, element, err);
    out->valid_wide = exact ? valid : NULL;
    out->valid_x = exact ? NULL : valid;
    return status;
}

rp_status rp_dataset_encode(rp_dataset *out, const rp_cells *cells, rp_table *table, const size_t *source,
                            const rp_table_options *options)
{
    encoding e = {.out = out, .failed = SIZE_MAX};
    rp_encoder *encoder = NULL;
    rp_status status = rp_encoder_new(&encoder, out->schema, cells, source);

    e.encoder = encoder;
    if (status == RP_OK) {
        e.unseen = rp_calloc(out->schema->n_columns, sizeof *e.unseen);
        status = e.unseen != NULL ? make_room(out, cells->recipe->train.exact, options->device, cells->err)
                                  : rp_no_memory(cells->err);
    }
    if (status == RP_OK)
        status = encode_all(&e, table, options->pool, cells->err);
    if (status == RP_OK)
        status = record_unseen(out->schema, e.unseen, cells->err);
    rp_encoder_free(encoder);
    rp_free(e.unseen);
    return status;
}
