/* SPDX-License-Identifier: Apache-2.0
 * One tensor of a safetensors file: the length of a header, the header (JSON), the elements of all tensors. What the
 * header says of other tensors is not looked at. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/data/arrays/arrays.h"

enum { HEADER_LIMIT = 16 << 20, LENGTH = 8, SHOWN = 5 };

bool rp_array_is_tensors(const void *bytes, size_t size)
{
    const unsigned char *in = bytes;

    return size > LENGTH && in[LENGTH] == '{' && in[LENGTH - 1] == 0 && rp_load_u64(in) <= size - LENGTH;
}

static rp_status read_header(rp_json **out, const unsigned char *in, size_t size, const char *where, rp_error *err)
{
    rp_error why = {0};
    rp_status status;

    *out = NULL;
    if (!rp_array_is_tensors(in, size))
        return rp_fail(err, RP_EDATA, "%s: expected an .npy or a .safetensors file", where);
    if (rp_load_u64(in) > HEADER_LIMIT)
        return rp_fail(err, RP_EDATA, "%s: its header takes more than %d bytes", where, (int)HEADER_LIMIT);
    status = rp_json_parse(out, in + LENGTH, (size_t)rp_load_u64(in), false, where, &why);
    if (status == RP_EFORMAT)
        return rp_fail(err, RP_EDATA, "%s", why.text);
    return status == RP_OK ? RP_OK : rp_no_memory(err);
}

bool rp_array_in_tensors(const void *bytes, size_t size, const char *name)
{
    rp_json *header = NULL;
    const bool found =
        read_header(&header, bytes, size, "", NULL) == RP_OK && rp_json_is_object(rp_json_object_get(header, name));

    rp_json_free(header);
    return found;
}

/* With some of the names that there are. */
static rp_status no_such(const rp_array *out, const rp_json *header, const char *name, rp_error *err)
{
    char list[400] = "", shown[64], wanted[64];
    size_t used = 0, count = 0;
    const char *key;
    rp_json *value;

    rp_json_object_foreach (header, key, value) {
        if (strcmp(key, "__metadata__") != 0 && count++ < SHOWN)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", count > 1 ? ", " : "",
                                     rp_printable(shown, sizeof shown, key, strlen(key)));
    }
    return rp_fail(err, RP_EDATA, "%s: has no tensor \"%s\"; it has %zu: %s%s", out->where,
                   rp_printable(wanted, sizeof wanted, name, strlen(name)), count, list, count > SHOWN ? ", .." : "");
}

static rp_status read_type(rp_array *out, const char *text, rp_error *err)
{
    static const char *const names[RP_ARRAY_TYPES] = {"BOOL", "U8",  "I8",  "U16", "I16", "U32", "I32",
                                                      "U64",  "I64", "F32", "F64", "F16", "BF16"};
    char shown[40];

    for (int i = 0; text && i < RP_ARRAY_TYPES; i++)
        if (strcmp(text, names[i]) == 0) {
            out->type = (rp_array_type)i;
            return RP_OK;
        }
    return rp_fail(
        err, RP_EDATA,
        "%s: expected elements of BOOL, U8 to U64, I8 to I64, F16, BF16, F32 or F64, found \"%s\": save it as one of "
        "these",
        out->where, text ? rp_printable(shown, sizeof shown, text, strlen(text)) : "nothing");
}

static rp_status read_shape(rp_array *out, const rp_json *shape, rp_error *err)
{
    rp_json *axis;
    size_t i;

    if (!rp_json_is_array(shape) || rp_json_array_size(shape) > RP_ARRAY_RANK)
        return rp_fail(err, RP_EDATA, "%s: expected a shape of at most %d axes", out->where, (int)RP_ARRAY_RANK);
    rp_json_array_foreach (shape, i, axis) {
        if (!rp_json_is_integer(axis) || rp_json_integer_value(axis) < 0)
            return rp_fail(err, RP_EDATA, "%s: axis %zu of its shape is no size", out->where, i);
        out->shape[out->rank++] = (size_t)rp_json_integer_value(axis);
    }
    return RP_OK;
}

/* Where its elements lie among the data_size bytes at data. */
static rp_status read_place(rp_array *out, const rp_json *offsets, const unsigned char *data, size_t data_size,
                            rp_error *err)
{
    const int64_t begin = rp_json_integer_value(rp_json_array_get(offsets, 0)),
                  end = rp_json_integer_value(rp_json_array_get(offsets, 1));

    if (rp_json_array_size(offsets) != 2 || begin < 0 || end < begin || (uint64_t)end > data_size)
        return rp_fail(err, RP_EDATA, "%s: its data_offsets are outside the %zu bytes of data", out->where, data_size);
    out->data = data + begin;
    out->size = (size_t)(end - begin);
    return rp_array_check(out, out->size, err);
}

rp_status rp_array_from_tensors(rp_array *out, const void *bytes, size_t size, const char *name, const char *where,
                                rp_error *err)
{
    const unsigned char *in = bytes;
    char shown[48];
    rp_json *header, *tensor;
    rp_status status = read_header(&header, in, size, where, err);

    *out = (rp_array){.rank = 0};
    (void)snprintf(out->where, sizeof out->where, "%.100s", where);
    if (status != RP_OK)
        return status;
    tensor = rp_json_object_get(header, name);
    if (!rp_json_is_object(tensor))
        status = no_such(out, header, name, err);
    (void)snprintf(out->where, sizeof out->where, "%.100s, tensor %s", where,
                   rp_printable(shown, sizeof shown, name, strlen(name)));
    if (status == RP_OK)
        status = read_type(out, rp_json_string_value(rp_json_object_get(tensor, "dtype")), err);
    if (status == RP_OK)
        status = read_shape(out, rp_json_object_get(tensor, "shape"), err);
    if (status == RP_OK) {
        const size_t begin = LENGTH + (size_t)rp_load_u64(in);

        status = read_place(out, rp_json_object_get(tensor, "data_offsets"), in + begin, size - begin, err);
    }
    rp_json_free(header);
    return status;
}
