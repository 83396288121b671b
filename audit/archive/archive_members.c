/* SPDX-License-Identifier: Apache-2.0
 * Members of an open archive for those who go on with them: of bounded size, as JSON, or in parts. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/archive/manifest.h"
#include "audit/archive/safetensors.h"
#include "base/json.h"

/* A tensor file with an impossible header is not worth the memory to read it whole. */
static rp_status check_tensors(const rp_archive *archive, const rp_member *member, rp_error *err)
{
    static const char suffix[] = ".safetensors";
    unsigned char begin[RP_SAFETENSORS_BEGIN];
    size_t length = strlen(member->name), size = member->size < sizeof begin ? (size_t)member->size : sizeof begin;
    rp_status status = RP_OK;

    if (length < sizeof suffix || strcmp(member->name + length - (sizeof suffix - 1), suffix) != 0)
        return RP_OK;
    status = rp_archive_source_read(archive, member->offset, begin, size, err);
    return status == RP_OK ? rp_safetensors_check_begin(begin, member->size, member->name, err) : status;
}

rp_status rp_archive_need(const rp_member **out, const rp_archive *archive, const char *name, rp_error *err)
{
    *out = rp_archive_find(archive, name);
    if (*out != NULL)
        return RP_OK;

    rp_status status = rp_withheld_missing(archive, name, err);

    return status == RP_OK ? rp_fail(err, RP_EFORMAT, "%.100s: missing from the archive", name) : status;
}

static rp_status read_member(const rp_archive *archive, const char *name, size_t limit, rp_buffer *out, rp_error *err)
{
    const rp_member *member;
    rp_status status = rp_archive_need(&member, archive, name, err);

    rp_buffer_free(out);
    if (status != RP_OK)
        return status;
    if (member->size > limit)
        return rp_fail(err, RP_EFORMAT, "%s: %llu bytes, at most %zu are expected", name,
                       (unsigned long long)member->size, limit);
    status = check_tensors(archive, member, err);
    return status == RP_OK ? rp_archive_member_body(archive, member, out, err) : status;
}

rp_status rp_archive_read_member(const rp_archive *archive, const char *name, size_t limit, rp_buffer *out,
                                 rp_error *err)
{
    rp_status status = read_member(archive, name, limit, out, err);

    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s", archive->where);
}

rp_status rp_archive_read_json(const rp_archive *archive, const char *name, rp_json **out, rp_error *err)
{
    const rp_member_kind *kind = rp_member_kind_of(name);
    rp_buffer text = {0};
    rp_status status = read_member(archive, name, kind != NULL ? (size_t)kind->held : 0, &text, err);

    *out = NULL;
    if (status == RP_OK)
        status = rp_json_parse_within(out, text.data, text.size,
                                      strcmp(name, RP_METRICS_MEMBER) ? RP_JSON_MEMORY : RP_JSON_METRICS_MEMORY, true,
                                      name, err);
    rp_buffer_free(&text);
    if (status == RP_OK && strcmp(name, RP_RECIPE_MEMBER) == 0)
        status = rp_run_kind_check(archive->manifest->kind, *out, err);
    if (status == RP_OK)
        return RP_OK;
    rp_json_free(*out);
    *out = NULL;
    return rp_fail_at(err, status, "%s", archive->where);
}

rp_status rp_archive_read_at(const rp_archive *archive, const rp_member *member, uint64_t offset, void *out,
                             size_t size, rp_error *err)
{
    if (offset > member->size || size > member->size - offset)
        return rp_fail(err, RP_EFORMAT, "%s: %s: bytes %llu to %llu wanted, it has %llu", archive->where, member->name,
                       (unsigned long long)offset, (unsigned long long)offset + size, (unsigned long long)member->size);
    rp_status status = rp_archive_source_read(archive, member->offset + offset, out, size, err);
    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s: %s", archive->where, member->name);
}
