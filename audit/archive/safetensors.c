/* SPDX-License-Identifier: Apache-2.0
 * safetensors: u64 length of the header, the header (JSON, padded with spaces to a multiple of 8), the data. Every byte
 * of data belongs to exactly one tensor. */
#include "audit/archive/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "determinism/bits.h"

static const char metadata_key[] = "__metadata__";
static const char *const dtype_name[RP_DTYPE_COUNT] = {"F32", "F64", "I32", "I64", "BOOL", "BF16",
                                                       "F16", "I8",  "U8",  "I16", "U32"};

/* What the specification has besides ours. */
static const char *const other_dtype[] = {"F8_E5M2", "F8_E4M3", "U16", "U64"};

enum { COPY = 65536 }; /* a multiple of every element size */

/* ---- writing ---- */

rp_status rp_safetensor_size(const rp_safetensor *tensor, size_t *out, rp_error *err)
{
    size_t size = rp_dtype_size(tensor->dtype);

    if (size == 0 || tensor->rank < 0 || tensor->rank > RP_MAX_RANK)
        return rp_fail(err, RP_ESHAPE, "%s: dtype %d and rank %d cannot be saved", tensor->name, (int)tensor->dtype,
                       tensor->rank);
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] != 0 && size > ((uint64_t)1 << 53) / tensor->shape[i])
            return rp_fail(err, RP_ESHAPE, "%s: the tensor is too large", tensor->name);
        size *= tensor->shape[i];
    }
    *out = size;
    return RP_OK;
}

static int by_place(const void *a, const void *b)
{
    const rp_safetensor *x = *(const rp_safetensor *const *)a, *y = *(const rp_safetensor *const *)b;
    size_t m = rp_dtype_size(x->dtype), n = rp_dtype_size(y->dtype);

    return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

static rp_json *tensor_json(const rp_safetensor *tensor, size_t begin, size_t end)
{
    rp_json *shape = rp_json_array();

    for (int i = 0; shape != NULL && i < tensor->rank; i++) {
        if (rp_json_array_append_new(shape, rp_json_integer((int64_t)tensor->shape[i])) != 0) {
            rp_json_free(shape);
            return NULL;
        }
    }
    if (shape == NULL)
        return NULL;
    return rp_json_pack("{s:[I,I], s:s, s:o}", "data_offsets", (int64_t)begin, (int64_t)end, "dtype",
                        dtype_name[tensor->dtype], "shape", shape);
}

static rp_status add_entry(rp_json *header, const char *name, rp_json *value, rp_error *err)
{
    if (value == NULL)
        return rp_no_memory(err);
    if (*name == '\0' || strcmp(name, metadata_key) == 0 || rp_json_object_get(header, name) != NULL) {
        rp_json_free(value);
        return rp_fail(err, RP_EARG, "safetensors: the name \"%.200s\" is empty, reserved or used twice", name);
    }
    if (!rp_is_utf8(name, strlen(name))) {
        rp_json_free(value);
        return rp_fail(err, RP_EARG, "safetensors: the name \"%.200s\" is not UTF-8", name);
    }
    return rp_json_object_set_new(header, name, value) == 0 ? RP_OK : rp_no_memory(err);
}

static rp_status add_metadata(rp_json *header, const rp_safetensors_pair *metadata, size_t pairs, rp_error *err)
{
    rp_json *object = rp_json_object();
    rp_status status = object ? RP_OK : rp_no_memory(err);

    for (size_t i = 0; status == RP_OK && i < pairs; i++) {
        if (!rp_is_utf8(metadata[i].value, strlen(metadata[i].value)))
            status = rp_fail(err, RP_EARG, "safetensors: metadata \"%.200s\" is not UTF-8", metadata[i].key);
        else
            status = add_entry(object, metadata[i].key, rp_json_string(metadata[i].value), err);
    }
    if (status == RP_OK && rp_json_object_set(header, metadata_key, object) != 0)
        status = rp_no_memory(err);
    rp_json_free(object);
    return status;
}

static rp_status build_header(rp_json *header, uint64_t *data, const rp_safetensor *const *placed, size_t count,
                              const rp_safetensors_pair *metadata, size_t pairs, rp_error *err)
{
    size_t begin = 0;
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK && i < count; i++) {
        size_t size;
        status = rp_safetensor_size(placed[i], &size, err);
        if (status == RP_OK)
            status = add_entry(header, placed[i]->name, tensor_json(placed[i], begin, begin + size), err);
        if (status == RP_OK)
            begin += size;
    }
    *data = begin;
    return status == RP_OK && pairs > 0 ? add_metadata(header, metadata, pairs, err) : status;
}

static rp_status write_header(rp_buffer *out, const rp_json *header, rp_error *err)
{
    size_t start = out->size;
    rp_status status;

    rp_buffer_u64(out, 0);
    status = rp_json_write(header, out, err);
    if (status != RP_OK)
        return status;
    while ((out->size - start) % 8 != 0 && !out->failed)
        rp_buffer_u8(out, ' ');
    if ((status = rp_buffer_status(out, err)) != RP_OK)
        return status;
    if (out->size - start - 8 > RP_SAFETENSORS_HEADER_LIMIT)
        return rp_fail(err, RP_EARG, "safetensors: a header of %zu bytes, at most %d are allowed",
                       out->size - start - 8, (int)RP_SAFETENSORS_HEADER_LIMIT);
    rp_store_u64(out->data + start, out->size - start - 8);
    return RP_OK;
}

static rp_status write_data(const rp_byte_sink *to, const rp_tensor_source *from, const rp_safetensor *tensor,
                            rp_error *err)
{
    unsigned char block[COPY];
    size_t element = rp_dtype_size(tensor->dtype), size = 0;
    rp_status status = rp_safetensor_size(tensor, &size, err);

    for (size_t at = 0; at < size && status == RP_OK; at += COPY) {
        size_t part = size - at < COPY ? size - at : COPY;

        if (from)
            status = from->read(from->self, tensor, at, block, part, err);
        else
            rp_to_stored(block, (const char *)tensor->data + at, tensor->dtype, part / element);
        if (status == RP_OK)
            status = to->put(to->self, block, part, err);
    }
    return status;
}

/* The header, and the tensors in the order of their data: to be freed. *data: their bytes. */
static rp_status place(rp_buffer *text, const rp_safetensor ***out, uint64_t *data, const rp_safetensor *tensors,
                       size_t count, const rp_safetensors_pair *metadata, size_t pairs, rp_error *err)
{
    const rp_safetensor **placed = *out = rp_reallocarray(NULL, count, sizeof *placed);
    rp_json *header = rp_json_object();
    rp_status status = placed && header ? RP_OK : rp_no_memory(err);

    if (status == RP_OK) {
        for (size_t i = 0; i < count; i++)
            placed[i] = &tensors[i];
        if (count > 0)
            qsort(placed, count, sizeof *placed, by_place);
        status = build_header(header, data, placed, count, metadata, pairs, err);
    }
    if (status == RP_OK)
        status = write_header(text, header, err);
    rp_json_free(header);
    return status;
}

rp_status rp_safetensors_measure(uint64_t *bytes, const rp_safetensor *tensors, size_t count,
                                 const rp_safetensors_pair *metadata, size_t pairs, rp_error *err)
{
    const rp_safetensor **placed;
    rp_buffer text = {0};
    rp_status status = place(&text, &placed, bytes, tensors, count, metadata, pairs, err);

    *bytes += text.size;
    rp_buffer_free(&text);
    rp_free(placed);
    return status;
}

rp_status rp_safetensors_stream(const rp_byte_sink *to, const rp_tensor_source *from, const rp_safetensor *tensors,
                                size_t count, const rp_safetensors_pair *metadata, size_t pairs, rp_error *err)
{
    const rp_safetensor **placed;
    rp_buffer text = {0};
    uint64_t data;
    rp_status status = place(&text, &placed, &data, tensors, count, metadata, pairs, err);

    if (status == RP_OK)
        status = to->put(to->self, text.data, text.size, err);
    rp_buffer_free(&text);
    for (size_t i = 0; status == RP_OK && i < count; i++)
        status = write_data(to, from, placed[i], err);
    rp_free(placed);
    return status;
}

static rp_status put_in_buffer(void *self, const void *bytes, size_t size, rp_error *err)
{
    rp_buffer_append(self, bytes, size);
    return rp_buffer_status(self, err);
}

rp_status rp_safetensors_write(rp_buffer *out, const rp_safetensor *tensors, size_t count,
                               const rp_safetensors_pair *metadata, size_t pairs, rp_error *err)
{
    const rp_byte_sink to = {put_in_buffer, out};

    return rp_safetensors_stream(&to, NULL, tensors, count, metadata, pairs, err);
}

/* ---- reading ---- */

/* An offset, dimension or the like: an integer from 0. */
static bool get_size(const rp_json *value, size_t *out)
{
    int64_t v = rp_json_integer_value(value);

    *out = (size_t)v;
    return rp_json_is_integer(value) && v >= 0 && (uint64_t)v <= SIZE_MAX;
}

static rp_status parse_dtype(const rp_json *value, rp_safetensor *tensor, const char *where, const char *shown,
                             rp_error *err)
{
    const char *name = rp_json_string_value(value);

    for (int i = 0; name != NULL && i < RP_DTYPE_COUNT; i++) {
        if (strcmp(name, dtype_name[i]) == 0) {
            tensor->dtype = (rp_dtype)i;
            return RP_OK;
        }
    }
    for (size_t i = 0; name != NULL && i < sizeof other_dtype / sizeof *other_dtype; i++)
        if (strcmp(name, other_dtype[i]) == 0)
            return rp_fail(err, RP_EUNSUPPORTED,
                           "%s: tensor %s has dtype %s, supported are F32, F64, F16, BF16, I8, I16, I32, "
                           "I64, U8, U32, BOOL",
                           where, shown, name);
    return rp_fail(err, RP_EDATA, "%s: tensor %s has no dtype of safetensors", where, shown);
}

static rp_status parse_shape(const rp_json *list, rp_safetensor *tensor, const char *where, const char *shown,
                             rp_error *err)
{
    size_t size = rp_dtype_size(tensor->dtype);

    if (!rp_json_is_array(list))
        return rp_fail(err, RP_EDATA, "%s: tensor %s has no shape", where, shown);
    if (rp_json_array_size(list) > RP_MAX_RANK)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: tensor %s has rank %zu, at most %d is supported", where, shown,
                       rp_json_array_size(list), (int)RP_MAX_RANK);
    tensor->rank = (int)rp_json_array_size(list);
    for (int i = 0; i < tensor->rank; i++) {
        size_t *dim = &tensor->shape[i];
        if (!get_size(rp_json_array_get(list, (size_t)i), dim) || (*dim != 0 && size > SIZE_MAX / *dim))
            return rp_fail(err, RP_EDATA, "%s: tensor %s has a dimension that is not a size, or overflows", where,
                           shown);
        size *= *dim;
    }
    tensor->size = size;
    return RP_OK;
}

/* Where a file's data lies: behind the header, up to its end. */
typedef struct extent {
    uint64_t begin;
    size_t size;
} extent;

static rp_status parse_tensor(const char *name, const rp_json *json, rp_safetensor *tensor, extent data,
                              const char *where, rp_error *err)
{
    const rp_json *offsets = rp_json_object_get(json, "data_offsets");
    char shown[128];
    size_t begin, end;
    rp_status status;

    rp_printable(shown, sizeof shown, name, strlen(name));
    tensor->name = name;
    if (rp_json_object_size(json) != 3)
        return rp_fail(err, RP_EDATA, "%s: tensor %s is not described by dtype, shape and data_offsets", where, shown);
    if ((status = parse_dtype(rp_json_object_get(json, "dtype"), tensor, where, shown, err)) != RP_OK ||
        (status = parse_shape(rp_json_object_get(json, "shape"), tensor, where, shown, err)) != RP_OK)
        return status;
    if (rp_json_array_size(offsets) != 2 || !get_size(rp_json_array_get(offsets, 0), &begin) ||
        !get_size(rp_json_array_get(offsets, 1), &end) || begin > end || end > data.size)
        return rp_fail(err, RP_EDATA, "%s: tensor %s has data_offsets outside the %zu bytes of data", where, shown,
                       data.size);
    if (end - begin != tensor->size)
        return rp_fail(err, RP_EDATA, "%s: tensor %s needs %zu bytes, its data_offsets span %zu", where, shown,
                       tensor->size, end - begin);
    tensor->offset = data.begin + begin;
    return RP_OK;
}

static int by_offset(const void *a, const void *b)
{
    const rp_safetensor *x = a, *y = b;

    if (x->offset != y->offset)
        return (x->offset > y->offset) - (x->offset < y->offset);
    return x->size != y->size ? (x->size > y->size) - (x->size < y->size) : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rp_safetensor *)a)->name, ((const rp_safetensor *)b)->name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const rp_safetensors_pair *)a)->key, ((const rp_safetensors_pair *)b)->key);
}

/* In order of offsets, each tensor must begin where the one before ends: no overlap, no gap, nothing left over. */
static rp_status check_tiling(rp_safetensors *file, extent data, const char *where, rp_error *err)
{
    size_t at = 0;
    char shown[128];

    if (file->count > 0)
        qsort(file->tensor, file->count, sizeof *file->tensor, by_offset);
    for (size_t i = 0; i < file->count; i++) {
        const rp_safetensor *tensor = &file->tensor[i];
        size_t begin = (size_t)(tensor->offset - data.begin);
        if (begin != at)
            return rp_fail(err, RP_EDATA, "%s: tensor %s begins at byte %zu of the data, expected %zu: %s", where,
                           rp_printable(shown, sizeof shown, tensor->name, strlen(tensor->name)), begin, at,
                           begin < at ? "tensors overlap" : "a gap");
        at += tensor->size;
    }
    if (at != data.size)
        return rp_fail(err, RP_EDATA, "%s: %zu bytes follow the last tensor", where, data.size - at);
    return RP_OK;
}

static rp_status parse_metadata(const rp_json *object, rp_safetensors *file, const char *where, rp_error *err)
{
    const char *key;
    rp_json *value;

    if (!rp_json_is_object(object))
        return rp_fail(err, RP_EDATA, "%s: __metadata__ is not an object", where);
    file->metadata = rp_calloc(rp_json_object_size(object), sizeof *file->metadata);
    if (file->metadata == NULL)
        return rp_no_memory(err);
    rp_json_object_foreach ((rp_json *)object, key, value) {
        if (!rp_json_is_string(value))
            return rp_fail(err, RP_EDATA, "%s: __metadata__ may hold only strings", where);
        file->metadata[file->pairs++] = (rp_safetensors_pair){key, rp_json_string_value(value)};
    }
    if (file->pairs > 0)
        qsort(file->metadata, file->pairs, sizeof *file->metadata, by_key);
    return RP_OK;
}

/* A header while it is read, entry by entry, since as one JSON value it would take many times its bytes. What is not
 * JSON is told before what is no header of ours: the first flaw of an entry is kept until then. */
typedef struct entries {
    rp_safetensors *file;
    size_t capacity;
    extent data;
    const char *where;
    rp_error flaw;
} entries;

/* A key's text, behind the names there are. */
static const char *keep_name(rp_safetensors *file, const char *key)
{
    const size_t size = strlen(key) + 1; /* fewer than its text with the quotes */
    char *name = memcpy(file->names + file->names_size, key, size);

    file->names_size += size;
    return name;
}

static rp_status grow(entries *e, rp_error *err)
{
    rp_safetensors *file = e->file;
    const size_t capacity = e->capacity != 0 ? 2 * e->capacity : 16;
    rp_safetensor *grown;

    if (file->count < e->capacity)
        return RP_OK;
    if ((grown = rp_reallocarray(file->tensor, capacity, sizeof *grown)) == NULL)
        return rp_no_memory(err);
    file->tensor = grown;
    e->capacity = capacity;
    return RP_OK;
}

/* One tensor of the header, or its metadata. */
static rp_status parse_entry(entries *e, const char *key, rp_json *json, rp_error *err)
{
    rp_safetensors *file = e->file;
    rp_status status;

    if (strcmp(key, metadata_key) != 0) {
        if ((status = grow(e, err)) != RP_OK)
            return status;
        file->tensor[file->count] = (rp_safetensor){.size = 0};
        return parse_tensor(keep_name(file, key), json, &file->tensor[file->count++], e->data, e->where, err);
    }
    if (file->header != NULL)
        return rp_fail(err, RP_EDATA, "%s: __metadata__ twice", e->where);
    file->header = rp_json_share(json);
    return parse_metadata(json, file, e->where, err);
}

static rp_status take_entry(void *self, const char *key, rp_json *json, rp_error *err)
{
    entries *e = self;

    if (e->flaw.status == RP_OK && parse_entry(e, key, json, &e->flaw) == RP_ENOMEM)
        return rp_no_memory(err);
    return RP_OK;
}

static rp_status check_names(const rp_safetensors *file, const char *where, rp_error *err)
{
    char shown[128];

    for (size_t i = 1; i < file->count; i++)
        if (strcmp(file->tensor[i - 1].name, file->tensor[i].name) == 0)
            return rp_fail(err, RP_EDATA, "%s: tensor %s twice", where,
                           rp_printable(shown, sizeof shown, file->tensor[i].name, strlen(file->tensor[i].name)));
    return RP_OK;
}

static rp_status parse_entries(rp_safetensors *file, const char *header, size_t length, extent data, const char *where,
                               rp_error *err)
{
    entries e = {.file = file, .data = data, .where = where};
    const rp_json_taker to = {.take = take_entry, .self = &e};
    rp_json *rest = NULL;
    rp_status status;

    if ((file->names = rp_malloc(length)) == NULL)
        return rp_no_memory(err);
    status = rp_json_parse_parts(&rest, header, length, RP_JSON_MEMORY, false, &to, where, err);
    rp_json_free(rest);
    if (status == RP_OK && e.flaw.status != RP_OK) {
        status = e.flaw.status;
        if (err != NULL)
            *err = e.flaw;
    }
    if (status == RP_OK)
        status = check_tiling(file, data, where, err);
    if (status == RP_OK && file->count > 0)
        qsort(file->tensor, file->count, sizeof *file->tensor, by_name);
    return status == RP_OK ? check_names(file, where, err) : status;
}

rp_status rp_safetensors_check_begin(const unsigned char *bytes, uint64_t size, const char *where, rp_error *err)
{
    uint64_t n = size >= 8 ? rp_load_u64(bytes) : 0;

    if (size < 8 || n > size - 8)
        return rp_fail(err, RP_EDATA, "%s: %llu bytes, too short for a safetensors header", where,
                       (unsigned long long)size);
    if (n > RP_SAFETENSORS_HEADER_LIMIT)
        return rp_fail(err, RP_EDATA, "%s: a header of %llu bytes, at most %d are allowed", where,
                       (unsigned long long)n, (int)RP_SAFETENSORS_HEADER_LIMIT);
    if (n == 0 || bytes[8] != '{')
        return rp_fail(err, RP_EDATA, "%s: the header does not begin with '{'", where);
    return RP_OK;
}

rp_status rp_safetensors_parse_header(rp_safetensors **out, const void *bytes, uint64_t size, const char *where,
                                      rp_error *err)
{
    rp_safetensors *file;
    const char *header = (const char *)bytes + 8;
    size_t length;
    rp_status status = rp_safetensors_check_begin(bytes, size, where, err);

    *out = NULL;
    if (status != RP_OK)
        return status;
    length = (size_t)rp_load_u64(bytes);
    file = rp_calloc(1, sizeof *file);
    if (file == NULL)
        return rp_no_memory(err);
    status = parse_entries(file, header, length, (extent){8 + length, (size_t)size - 8 - length}, where, err);
    if (status == RP_EFORMAT) { /* of its JSON */
        status = RP_EDATA;
        if (err != NULL)
            err->status = status;
    }
    if (status != RP_OK) {
        rp_safetensors_free(file);
        return status;
    }
    *out = file;
    return RP_OK;
}

rp_status rp_safetensors_parse(rp_safetensors **out, const void *bytes, size_t size, const char *where, rp_error *err)
{
    rp_status status = rp_safetensors_parse_header(out, bytes, size, where, err);

    for (size_t i = 0; status == RP_OK && i < (*out)->count; i++)
        (*out)->tensor[i].data = (const unsigned char *)bytes + (*out)->tensor[i].offset;
    return status;
}

const rp_safetensor *rp_safetensors_find(const rp_safetensors *file, const char *name)
{
    rp_safetensor key = {.name = name};

    return file->count ? bsearch(&key, file->tensor, file->count, sizeof key, by_name) : NULL;
}

void rp_safetensors_free(rp_safetensors *file)
{
    if (file == NULL)
        return;
    rp_free(file->tensor);
    rp_free(file->metadata);
    rp_free(file->names);
    rp_json_free(file->header);
    rp_free(file);
}
