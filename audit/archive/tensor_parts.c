/* SPDX-License-Identifier: Apache-2.0
 * Cutting a set of tensors into parts. */
#include "audit/archive/tensor_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rp_safetensor *)a)->name, ((const rp_safetensor *)b)->name);
}

/* How many of the tensors from `first` on make the next part: as many as fit, and at least one. */
static size_t next_part(const rp_safetensor *tensor, size_t first, size_t count)
{
    size_t bytes = tensor[first].size, n = 1;

    while (first + n < count && n < RP_PART_TENSORS && bytes <= RP_PART_BYTES &&
           tensor[first + n].size <= RP_PART_BYTES - bytes)
        bytes += tensor[first + n++].size;
    return n;
}

static rp_status put(void *self, const void *bytes, size_t size, rp_error *err)
{
    return rp_archive_writer_put(self, bytes, size, err);
}

static rp_status add_part(rp_archive_writer *writer, const char *name, const rp_tensor_source *from,
                          const rp_safetensor *tensor, size_t count, rp_error *err)
{
    const rp_byte_sink to = {put, writer};
    rp_status status = rp_archive_writer_begin(writer, name, err);

    if (status == RP_OK)
        status = rp_safetensors_stream(&to, from, tensor, count, NULL, 0, err);
    return status == RP_OK ? rp_archive_writer_end(writer, err) : status;
}

static size_t count_parts(const rp_safetensor *sorted, size_t count)
{
    size_t parts = count == 0;

    for (size_t first = 0; first < count; first += next_part(sorted, first, count))
        parts++;
    return parts;
}

static rp_status add_sorted(rp_archive_writer *writer, const char *set, const rp_tensor_source *from,
                            const rp_safetensor *tensor, size_t count, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    const size_t parts = count_parts(tensor, count);
    size_t part = 0;
    rp_status status = RP_OK;

    for (size_t i = 1; i < count; i++)
        if (strcmp(tensor[i - 1].name, tensor[i].name) == 0)
            return rp_fail(err, RP_EARG, "%s: the name \"%.200s\" is used twice", set, tensor[i].name);
    if (parts > RP_PARTS_MAX)
        return rp_fail(err, RP_EARG, "%s: %zu parts, at most %d are possible", set, parts, (int)RP_PARTS_MAX);
    for (size_t first = 0; part < parts && status == RP_OK; part++) {
        size_t n = count > 0 ? next_part(tensor, first, count) : 0;

        status = add_part(writer, rp_part_name(name, set, part + 1, parts), from, tensor + first, n, err);
        first += n;
    }
    return status;
}

/* By name, with sizes; to be freed. */
static rp_status sort(rp_safetensor **out, const rp_safetensor *tensor, size_t count, rp_error *err)
{
    rp_safetensor *sorted = rp_reallocarray(NULL, count, sizeof *sorted);
    rp_status status = sorted ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; i < count && status == RP_OK; i++) {
        sorted[i] = tensor[i];
        status = rp_safetensor_size(&sorted[i], &sorted[i].size, err);
    }
    if (status == RP_OK && count > 0)
        qsort(sorted, count, sizeof *sorted, by_name);
    *out = sorted;
    return status;
}

rp_status rp_tensor_parts_count(size_t *parts, const rp_safetensor *tensor, size_t count, rp_error *err)
{
    rp_safetensor *sorted;
    rp_status status = sort(&sorted, tensor, count, err);

    *parts = status == RP_OK ? count_parts(sorted, count) : 0;
    rp_free(sorted);
    return status;
}

rp_status rp_tensor_parts_add(rp_archive_writer *writer, const char *set, const rp_tensor_source *from,
                              const rp_safetensor *tensor, size_t count, rp_error *err)
{
    rp_safetensor *sorted;
    rp_status status = sort(&sorted, tensor, count, err);

    if (status == RP_OK)
        status = add_sorted(writer, set, from, sorted, count, err);
    rp_free(sorted);
    return status;
}
