/* SPDX-License-Identifier: Apache-2.0
 * Fields: arrays and tokens in memory, which become data of the run, and mapped files, of which batches are fed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn_private.h"
#include "core/run/slots.h"
#include "determinism/bits.h"

/* Room for one more field of that name. */
static rp_status next_field(rp_nn *nn, nn_field **out, const char *name, const char *call, rp_error *err)
{
    rp_status status = rp_nn_check_open(nn, call, err);
    nn_field *f = &nn->field[nn->fields];

    if (status != RP_OK)
        return status;
    if (nn->fields == NN_FIELDS)
        return rp_fail(err, RP_EARG, "%s: at most %d fields", call, (int)NN_FIELDS);
    memset(f, 0, sizeof *f);
    if (!name || (size_t)snprintf(f->name, sizeof f->name, "%s", name) >= sizeof f->name || !*f->name)
        return rp_fail(err, RP_EARG, "%s: a name has 1 to %d bytes", call, RP_NAME_MAX - 1);
    for (size_t i = 0; i < nn->fields; i++)
        if (strcmp(nn->field[i].name, name) == 0)
            return rp_fail(err, RP_EARG, "%s: there is a field %s already", call, name);
    if (strcmp(name, "rows") == 0 || strcmp(name, "lr") == 0 || strncmp(name, "lr.", 3) == 0 ||
        strcmp(name, "c1") == 0 || strcmp(name, "c2") == 0)
        return rp_fail(err, RP_EARG, "%s: %s is the name of something that steps are fed: choose another", call, name);
    *out = f;
    return RP_OK;
}

/* The field counts from now on. */
static rp_status take_field(rp_nn *nn, const nn_field *f, const char *call, rp_error *err)
{
    if (f->rows == 0)
        return rp_fail(err, RP_EDATA, "%s: %s has no rows", call, f->name);
    if (nn->fields && nn->field[0].rows != f->rows)
        return rp_fail(err, RP_EARG, "%s: %s has %llu rows, and %s %llu", call, f->name, (unsigned long long)f->rows,
                       nn->field[0].name, (unsigned long long)nn->field[0].rows);
    nn->fields++;
    return RP_OK;
}

static rp_status array(rp_nn *nn, const char *name, rp_dtype dtype, int rank, const size_t *shape, const void *bytes,
                       rp_error *err)
{
    nn_field *f;
    rp_type whole;
    rp_status status = next_field(nn, &f, name, "rp_nn_array", err);

    if (status == RP_OK)
        status = rp_type_make(&whole, dtype, rank, shape, err);
    if (status != RP_OK)
        return status;
    if (rank < 1 || !bytes)
        return rp_fail(err, RP_EARG, "rp_nn_array: %s: an array has rows along its first axis, and elements", name);
    f->row = (rp_type){.dtype = dtype, .rank = rank - 1};
    memcpy(f->row.shape, shape + 1, (size_t)(rank - 1) * sizeof *shape);
    f->rows = shape[0];
    f->bound = true;
    status = take_field(nn, f, "rp_nn_array", err);
    return status == RP_OK ? rp_run_add_data(nn->run, name, dtype, rank, shape, bytes, err) : status;
}

rp_status rp_nn_array(rp_nn *nn, const char *name, rp_dtype dtype, int rank, const size_t *shape, const void *bytes,
                      rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, array(nn, name, dtype, rank, shape, bytes, &nn->error), err);
}

static rp_status map_open(nn_field *f, int fd, const char *path, rp_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return rp_fail(err, RP_EIO, "%s: not a regular file", path);
    if (st.st_size <= 0)
        return rp_fail(err, RP_EDATA, "%s: the file is empty", path);
    f->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (f->map == MAP_FAILED) {
        f->map = NULL;
        return rp_fail(err, RP_EIO, "%s: cannot be mapped: %s", path, strerror(errno));
    }
    f->map_size = (size_t)st.st_size;
    return RP_OK;
}

static rp_status map_file(nn_field *f, const char *path, rp_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    rp_status status;

    if (fd < 0)
        return rp_fail(err, RP_EIO, "%s: %s", path, strerror(errno));
    status = map_open(f, fd, path, err);
    (void)close(fd);
    return status;
}

static rp_status rows_of_file(nn_field *f, const char *path, uint64_t offset, rp_error *err)
{
    const size_t row = rp_type_bytes(&f->row);
    rp_status status = map_file(f, path, err);

    if (status != RP_OK)
        return status;
    if (offset > f->map_size || row == 0 || (f->map_size - offset) % row != 0)
        return rp_fail(err, RP_EDATA, "%s: %zu bytes from byte %llu on are no whole number of rows of %zu bytes", path,
                       offset > f->map_size ? (size_t)0 : f->map_size - (size_t)offset, (unsigned long long)offset,
                       row);
    f->bytes = (const unsigned char *)f->map + offset;
    f->rows = (f->map_size - offset) / row;
    return RP_OK;
}

/* What was mapped goes with a field that does not come to be. */
static rp_status or_unmap(nn_field *f, rp_status status)
{
    if (status != RP_OK && f->map) {
        (void)munmap(f->map, f->map_size);
        f->map = NULL;
    }
    return status;
}

static rp_status file(rp_nn *nn, const char *name, rp_dtype dtype, int rank, const size_t *shape, const char *path,
                      uint64_t offset, rp_error *err)
{
    nn_field *f;
    rp_status status = next_field(nn, &f, name, "rp_nn_file", err);

    if (status != RP_OK)
        return status;
    if (rank >= RP_MAX_RANK || !path)
        return rp_fail(err, RP_EARG, "rp_nn_file: %s: a path, and rows of at most %d axes", name, RP_MAX_RANK - 1);
    status = rp_type_make(&f->row, dtype, rank, shape, err);
    if (status == RP_OK)
        status = rows_of_file(f, path, offset, err);
    if (status == RP_OK)
        status = take_field(nn, f, "rp_nn_file", err);
    return or_unmap(f, status);
}

rp_status rp_nn_file(rp_nn *nn, const char *name, rp_dtype dtype, int rank, const size_t *shape, const char *path,
                     uint64_t offset, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, file(nn, name, dtype, rank, shape, path, offset, &nn->error), err);
}

static uint32_t token_at(const unsigned char *at, unsigned width)
{
    return width == 1 ? *at : width == 2 ? (uint32_t)at[0] | (uint32_t)at[1] << 8 : rp_load_u32(at);
}

static rp_status too_large(const char *name, uint64_t position, rp_error *err)
{
    return rp_fail(err, RP_EDATA, "%s: the token at position %llu is beyond 2^31 - 1", name,
                   (unsigned long long)position);
}

/* Tokens as data of the run: i32, one behind another. */
static rp_status bind_tokens(rp_nn *nn, const nn_field *f, const unsigned char *bytes, size_t n, rp_error *err)
{
    int32_t *token = rp_reallocarray(NULL, n, sizeof *token);
    rp_status status = token ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        uint32_t t = token_at(bytes + i * f->width, f->width);

        token[i] = (int32_t)t;
        if (t > INT32_MAX)
            status = too_large(f->name, i, err);
    }
    if (status == RP_OK)
        status = rp_run_add_data(nn->run, f->name, RP_I32, 1, &n, token, err);
    rp_free(token);
    return status;
}

static rp_status check_tokens(const char *name, const rp_nn_tokens *t, rp_error *err)
{
    if (!t || (!t->path && !t->bytes) || (t->path && t->bytes))
        return rp_fail(err, RP_EARG, "rp_nn_text: %s: either a path or bytes", name);
    if (t->width != 0 && t->width != 1 && t->width != 2 && t->width != 4)
        return rp_fail(err, RP_EARG, "rp_nn_text: %s: tokens have 1, 2 or 4 bytes, found %u", name, t->width);
    return t->length ? RP_OK : rp_fail(err, RP_EARG, "rp_nn_text: %s: rows of no tokens", name);
}

static rp_status text(rp_nn *nn, const char *name, const rp_nn_tokens *t, rp_error *err)
{
    nn_field *f;
    size_t n;
    rp_status status = next_field(nn, &f, name, "rp_nn_text", err);

    if (status == RP_OK)
        status = check_tokens(name, t, err);
    if (status == RP_OK)
        status = rp_type_make(&f->row, RP_I32, 1, &t->length, err);
    if (status == RP_OK && t->path)
        status = map_file(f, t->path, err);
    if (status != RP_OK)
        return status;
    f->tokens = true;
    f->bound = !t->path;
    f->width = t->width ? t->width : 1;
    f->stride = t->stride ? t->stride : t->length;
    f->bytes = t->path ? f->map : t->bytes;
    n = (t->path ? f->map_size : t->size) / f->width;
    if (n < t->length || (t->path ? f->map_size : t->size) % f->width)
        status = rp_fail(err, RP_EDATA,
                         "rp_nn_text: %s: expected tokens of %u bytes, at least the %zu of a row; found "
                         "%zu bytes",
                         name, f->width, t->length, t->path ? f->map_size : t->size);
    f->rows = status == RP_OK ? (n - t->length) / f->stride + 1 : 0;
    f->held = n;
    if (status == RP_OK)
        status = take_field(nn, f, "rp_nn_text", err);
    if (status == RP_OK && f->bound)
        status = bind_tokens(nn, f, t->bytes, n, err);
    return or_unmap(f, status);
}

rp_status rp_nn_text(rp_nn *nn, const char *name, const rp_nn_tokens *tokens, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (nn->status != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, text(nn, name, tokens, &nn->error), err);
}

/* One row of a mapped field, in host order. */
static rp_status copy_row(const nn_field *f, unsigned char *to, uint64_t row, rp_error *err)
{
    const size_t bytes = rp_type_bytes(&f->row);

    if (!f->tokens) {
        rp_to_host(to, f->bytes + row * bytes, f->row.dtype, rp_type_count(&f->row));
        return RP_OK;
    }
    for (size_t i = 0; i < f->row.shape[0]; i++) {
        uint32_t t = token_at(f->bytes + (row * f->stride + i) * f->width, f->width);

        if (t > INT32_MAX)
            return too_large(f->name, row * f->stride + i, err);
        memcpy(to + i * sizeof t, &t, sizeof t);
    }
    return RP_OK;
}

rp_status rp_nn_field_feed(rp_nn *nn, nn_field *f, nn_step *step, const int64_t *row, size_t count, rp_error *err)
{
    const size_t bytes = rp_type_bytes(&f->row);
    rp_type type = {.dtype = f->row.dtype, .rank = f->row.rank + 1, .shape = {count}};
    rp_status status = RP_OK;

    if (!f->batch)
        f->batch = rp_reallocarray(NULL, (size_t)nn->batch, bytes ? bytes : 1);
    if (!f->batch)
        return rp_no_memory(err);
    for (size_t i = 0; i < count && status == RP_OK; i++)
        status = copy_row(f, f->batch + i * bytes, (uint64_t)row[i], err);
    memcpy(type.shape + 1, f->row.shape, (size_t)f->row.rank * sizeof *type.shape);
    rp_nn_add_feed(step, f->name, &type, f->batch);
    return status;
}

void rp_nn_field_free(nn_field *f)
{
    if (f->map)
        (void)munmap(f->map, f->map_size);
    rp_free(f->batch);
}
