/* SPDX-License-Identifier: Apache-2.0
 * A value that is shown: where it stands, what it is, its elements; in words and for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "audit/replay/look/look.h"
#include "base/memory.h"
#include "core/run/look/summary.h"
#include "determinism/bits.h"
#include "core/recipe/decimal_json.h"

static int set(rp_json *object, const char *key, rp_json *value)
{
    return rp_json_object_set_new(object, key, value);
}

/* ---- where it stands ---- */

static void put_place(rp_buffer *out, const rp_place *place)
{
    for (size_t i = 0; i < place->depth; i++) {
        const rp_place_frame *f = &place->frame[i];

        rp_buffer_printf(out, "%" PRIu64 "/%.*s%" PRIu64 "/", f->instr, f->mark != '\0', &f->mark, f->number);
    }
    rp_buffer_printf(out, "%" PRIu64, place->instr);
}

/* The function that the innermost frame executes; NULL: the program itself. The place is one of the program's. */
static const rp_function *function_of(const rp_place *place, const rp_program *program)
{
    const rp_function *f = NULL;

    for (size_t i = 0; i < place->depth; i++)
        f = rp_place_function(&(f ? f->body : program)->instr[place->frame[i].instr], &place->frame[i], NULL);
    return f;
}

static rp_json *operands(rp_buffer *text, const rp_program *body, const rp_instr *instr)
{
    rp_json *list = rp_json_array();
    char type[192];

    for (size_t i = 0; i < instr->n_in; i++) {
        rp_buffer name = {0};

        rp_buffer_text(text, i ? "          " : "operands  ");
        rp_look_put_name(text, body, instr->in[i]);
        rp_type_text(&body->value[instr->in[i]], type, sizeof type);
        rp_buffer_printf(text, " %s\n", type);
        rp_look_put_name(&name, body, instr->in[i]);
        if (list && rp_json_array_append_new(list, rp_look_words(&name)) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    }
    return list;
}

rp_status rp_look_tell_place(const rp_look_teller *t, const rp_place *place, size_t output, rp_error *err)
{
    const rp_function *f = function_of(place, t->program);
    const rp_program *body = f ? f->body : t->program;
    const rp_instr *instr = &body->instr[place->instr];
    rp_buffer words = {0};
    char type[192];

    rp_type_text(&body->value[instr->out[output]], type, sizeof type);
    rp_buffer_text(t->text, "value     ");
    put_place(t->text, place);
    rp_buffer_printf(t->text, " %s", instr->op->name);
    if (f)
        rp_buffer_printf(t->text, " in f%zu#%.4s", rp_functions_index(&t->names->known, f),
                         rp_function_digest(t->names, f));
    rp_buffer_printf(t->text, ", output %zu, %s\n", output, type);
    put_place(&words, place);
    if (set(t->json, "place", rp_look_words(&words)) != 0 ||
        set(t->json, "operation", rp_json_string(instr->op->name)) != 0 ||
        set(t->json, "output", rp_json_integer((int64_t)output)) != 0 ||
        set(t->json, "function", f ? rp_json_string(rp_function_digest(t->names, f)) : rp_json_null()) != 0 ||
        set(t->json, "operands", operands(t->text, body, instr)) != 0)
        return rp_no_memory(err);
    return rp_buffer_status(t->text, err);
}

/* ---- elements ---- */

/* Texts, as JSON of this house has no reals; null where no element is finite. */
static rp_json *figure(const rp_summary *s, double x)
{
    return s->finite ? rp_json_decimal(x) : rp_json_null();
}

static rp_json *bins_json(const rp_summary *s)
{
    rp_json *list = rp_json_array();

    for (size_t i = 0; i < s->bins && list; i++) {
        rp_json *bin =
            rp_json_pack("{s:o, s:I}", "from", rp_json_decimal(rp_summary_edge(s, i)), "count", (int64_t)s->bin[i]);

        if (rp_json_array_append_new(list, bin) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    }
    return list;
}

static rp_json *first_json(const rp_summary *s)
{
    rp_json *list = rp_json_array();
    const uint64_t n = s->count < RP_SUMMARY_FIRST ? s->count : RP_SUMMARY_FIRST;
    char text[64];

    for (uint64_t i = 0; i < n && list; i++) {
        rp_describe_element(text, sizeof text, (const char *)s->host + i * rp_dtype_size(s->type.dtype), s->type.dtype);
        if (rp_json_array_append_new(list, rp_json_string(text)) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    }
    return list;
}

static rp_json *shape_json(const rp_type *type)
{
    rp_json *list = rp_json_array();

    for (int i = 0; i < type->rank && list; i++)
        if (rp_json_array_append_new(list, rp_json_integer((int64_t)type->shape[i])) != 0) {
            rp_json_free(list);
            list = NULL;
        }
    return list;
}

rp_status rp_look_tell_tensor(const rp_look_teller *t, const rp_type *type, const void *host, rp_error *err)
{
    char hex[RP_DIGEST_HEX];
    rp_digest digest;
    rp_summary s;
    rp_status status = rp_tensor_digest_host(&digest, type->dtype, type->rank, type->shape, host, NULL, err);

    if (status != RP_OK)
        return status;
    rp_digest_hex(hex, &digest);
    rp_summary_of(&s, type, host);
    rp_buffer_printf(t->text, "digest    %s\n", hex);
    rp_summary_put(t->text, &s, "", true);
    if (set(t->json, "dtype", rp_json_string(rp_dtype_name(type->dtype))) != 0 ||
        set(t->json, "shape", shape_json(type)) != 0 || set(t->json, "digest", rp_json_string(hex)) != 0 ||
        set(t->json, "elements", rp_json_integer((int64_t)s.count)) != 0 ||
        set(t->json, "nan", rp_json_integer((int64_t)s.nans)) != 0 ||
        set(t->json, "infinite", rp_json_integer((int64_t)s.infinite)) != 0 ||
        set(t->json, "zero", rp_json_integer((int64_t)s.zeros)) != 0 ||
        set(t->json, "least", figure(&s, s.least)) != 0 || set(t->json, "most", figure(&s, s.most)) != 0 ||
        set(t->json, "mean", figure(&s, s.mean)) != 0 || set(t->json, "deviation", figure(&s, s.deviation)) != 0 ||
        set(t->json, "histogram", bins_json(&s)) != 0 || set(t->json, "first", first_json(&s)) != 0)
        return rp_no_memory(err);
    return rp_buffer_status(t->text, err);
}

/* ---- NumPy ---- */

static const char *descr_of(rp_dtype dtype)
{
    switch ((int)dtype) {
    case RP_F32:
    case RP_BF16:
        return "<f4";
    case RP_F64:
        return "<f8";
    case RP_I32:
        return "<i4";
    case RP_I64:
        return "<i8";
    case RP_BOOL:
        return "|b1";
    case RP_F16:
        return "<f2";
    case RP_I8:
        return "|i1";
    case RP_U8:
        return "|u1";
    case RP_I16:
        return "<i2";
    case RP_U32:
        return "<u4";
    default:
        return NULL;
    }
}

static void put_header(rp_buffer *out, const rp_type *type, const char *descr)
{
    rp_buffer header = {0};

    rp_buffer_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < type->rank; i++)
        rp_buffer_printf(&header, "%zu,%s", type->shape[i], i + 1 < type->rank ? " " : "");
    rp_buffer_text(&header, "), }");
    while (!header.failed && (10 + header.size + 1) % 64 != 0)
        rp_buffer_u8(&header, ' ');
    rp_buffer_u8(&header, '\n');
    rp_buffer_append(out, "\x93NUMPY\x01\x00", 8);
    rp_buffer_u16(out, (uint16_t)header.size);
    rp_buffer_append(out, header.data, header.size);
    out->failed = out->failed || header.failed;
    rp_buffer_free(&header);
}

rp_status rp_look_npy(rp_looked *out, const rp_type *type, const void *host, rp_error *err)
{
    const char *descr = descr_of(type->dtype);
    const size_t count = rp_type_count(type), size = type->dtype == RP_BF16 ? 4 : rp_dtype_size(type->dtype);
    rp_buffer bytes = {0};
    unsigned char *at;

    if (!descr)
        return rp_fail(err, RP_EUNSUPPORTED, "a NumPy file has no type for %s", rp_dtype_name(type->dtype));
    put_header(&bytes, type, descr);
    at = rp_reallocarray(bytes.failed ? NULL : bytes.data, bytes.size + count * size, 1);
    if (bytes.failed || !at) {
        rp_buffer_free(&bytes);
        return rp_no_memory(err);
    }
    out->npy = at;
    out->npy_size = bytes.size + count * size;
    at += bytes.size;
    if (type->dtype != RP_BF16) {
        rp_to_stored(at, host, type->dtype, count);
        return RP_OK;
    }
    for (size_t i = 0; i < count; i++) {
        uint16_t half;

        memcpy(&half, (const char *)host + 2 * i, sizeof half);
        rp_store_u32(at + 4 * i, (uint32_t)rp_canonical_bf16(half) << 16);
    }
    return RP_OK;
}
