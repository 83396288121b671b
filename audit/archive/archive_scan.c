/* SPDX-License-Identifier: Apache-2.0
 * The strict reader's first half, in fixed memory: one pass that re-derives every header and checks every byte of
 * padding and of the end, then the hashes of the manifest and of what is signed about it (archive_hash.c). Nothing is
 * parsed but names and sizes. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/sign/certificate.h"
#include "audit/log/log_note.h"
#include "audit/archive/ustar.h"
#include "base/memory.h"
#include "base/text.h"

enum { END = 2 * RP_BLOCK };

static bool all_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static rp_status append_member(rp_archive *archive, const rp_member *member, rp_error *err)
{
    if (archive->members >= RP_MEMBER_LIMIT)
        return rp_fail(err, RP_EFORMAT, "%s: more than %d members", member->name, (int)RP_MEMBER_LIMIT);
    if (archive->members == archive->capacity) {
        size_t capacity = archive->capacity ? 2 * archive->capacity : 16;
        rp_member *grown = rp_reallocarray(archive->member, capacity, sizeof *grown);
        if (grown == NULL)
            return rp_no_memory(err);
        archive->member = grown;
        archive->capacity = capacity;
    }
    archive->member[archive->members++] = *member;
    return RP_OK;
}

/* A member without a place in format 1: if the manifest is of a newer format, that is the better answer. */
static rp_status unknown_member(const rp_archive *archive, const char *name, rp_error *err)
{
    rp_buffer text = {0};
    rp_manifest *manifest = NULL;
    rp_status status = RP_EFORMAT;

    if (archive->members > 0)
        status = rp_archive_member_body(archive, &archive->member[0], &text, err);
    if (status == RP_OK)
        status = rp_manifest_parse(&manifest, text.data, text.size, err);
    rp_manifest_free(manifest);
    rp_buffer_free(&text);
    if (status == RP_EUNSUPPORTED || status == RP_ENOMEM)
        return status;
    return rp_fail(err, RP_EFORMAT, "%s: not a member that format %d has", name, (int)RP_ARCHIVE_FORMAT);
}

/* A file and a folder of one name cannot both be extracted. */
static const rp_member *member_in_the_way(const rp_archive *archive, const char *name)
{
    const rp_member *found = NULL;

    for (const char *slash = strchr(name, '/'); slash != NULL && found == NULL; slash = strchr(slash + 1, '/')) {
        char folder[RP_MEMBER_NAME];

        memcpy(folder, name, (size_t)(slash - name));
        folder[slash - name] = '\0';
        found = rp_archive_find(archive, folder);
    }
    return found;
}

/* Name, place in the order, and size of a member whose header is exact. */
static rp_status check_member(const rp_archive *archive, const rp_member *member, uint64_t left, rp_error *err)
{
    const rp_member_kind *kind = rp_member_kind_of(member->name);

    if (kind == NULL)
        return unknown_member(archive, member->name, err);
    if (archive->members == 0 && kind->rank != RP_RANK_MANIFEST)
        return rp_fail(err, RP_EFORMAT, "%s: is the first member, expected " RP_MANIFEST_NAME, member->name);
    if (archive->members > 0 && rp_member_compare(&archive->member[archive->members - 1], member) >= 0)
        return rp_fail(err, RP_EFORMAT, "%s: comes after %s: members are doubled or out of order", member->name,
                       archive->member[archive->members - 1].name);
    if (member_in_the_way(archive, member->name) != NULL)
        return rp_fail(err, RP_EFORMAT, "%s: lies in a folder whose name the member %s has", member->name,
                       member_in_the_way(archive, member->name)->name);
    if (member->size > kind->limit)
        return rp_fail(err, RP_EFORMAT, "%s: %llu bytes, at most %llu are allowed", member->name,
                       (unsigned long long)member->size, (unsigned long long)kind->limit);
    if (kind->rank == RP_RANK_SIGNATURE && archive->signatures == RP_SIGNATURE_LIMIT)
        return rp_fail(err, RP_EFORMAT, "%s: more than %d members in signatures/", member->name,
                       (int)RP_SIGNATURE_LIMIT);
    if (rp_certificate_member_valid(member->name) && member->size > RP_CERTIFICATES_LIMIT - archive->certificates)
        return rp_fail(err, RP_EFORMAT, "%s: more than %d bytes of certificates in signatures/", member->name,
                       (int)RP_CERTIFICATES_LIMIT);
    if (rp_statement_bytes(member->name, member->size) > RP_STATEMENTS_LIMIT - archive->statements)
        return rp_fail(err, RP_EFORMAT, "%s: more than %d bytes of statements in signatures/", member->name,
                       (int)RP_STATEMENTS_LIMIT);
    if (rp_ustar_padded(member->size) > left)
        return rp_fail(err, RP_EFORMAT,
                       "%s: truncated: its body takes %llu bytes, the archive has %llu after it begins", member->name,
                       (unsigned long long)rp_ustar_padded(member->size), (unsigned long long)left);
    return RP_OK;
}

uint64_t rp_statement_bytes(const char *name, uint64_t size)
{
    return rp_member_rank_of(name) == RP_RANK_SIGNATURE && !rp_certificate_member_valid(name) &&
                   strcmp(name, RP_OMS_BUNDLE) != 0
               ? size
               : 0;
}

static rp_status check_padding(const rp_archive *archive, const rp_member *member, rp_error *err)
{
    unsigned char padding[RP_BLOCK];
    size_t size = (size_t)(rp_ustar_padded(member->size) - member->size);
    rp_status status = rp_archive_source_read(archive, member->offset + member->size, padding, size, err);

    if (status != RP_OK)
        return rp_fail_at(err, status, "%s", member->name);
    if (!all_zero(padding, size))
        return rp_fail(err, RP_EFORMAT, "%s: the padding after its %llu bytes is not zero", member->name,
                       (unsigned long long)member->size);
    return RP_OK;
}

/* found differs from name in at most one byte. */
static bool nearly(const char found[RP_MEMBER_NAME], const char *name)
{
    size_t different = 0;

    for (size_t i = 0; name[i] != '\0'; i++)
        different += found[i] != name[i];
    return different < 2;
}

/* A log's proof says itself what its member is called. offset: of the damaged header's body. */
static void name_of_proof(const rp_archive *archive, uint64_t offset, const unsigned char *block,
                          char name[RP_MEMBER_NAME])
{
    unsigned char text[RP_LOG_PROOF_LIMIT];
    char found[RP_MEMBER_NAME];
    rp_log_proof proof;
    uint64_t size;

    if (!rp_ustar_size(block, &size) || size > sizeof text || offset > archive->size || size > archive->size - offset)
        return;
    if (rp_archive_source_read(archive, offset, text, (size_t)size, NULL) == RP_OK &&
        rp_log_inclusion_parse(&proof, (const char *)text, (size_t)size, RP_ARCHIVE_END, NULL) == RP_OK &&
        rp_log_member(found, proof.note.head.origin, NULL) == RP_OK && nearly(name, found))
        strcpy(name, found);
}

/* Which member a damaged header was: its name field may be what is damaged, so the manifest's list is asked first, and
 * after that list what signing a run writes. *before: the member before it, when the manifest gives it another size, so
 * that this may be no header at all. Only for the error: the archive is refused. */
static void name_damaged(const rp_archive *archive, char name[RP_MEMBER_NAME], const rp_member **before)
{
    rp_buffer text = {0};
    rp_manifest *manifest = NULL;
    size_t at = archive->members;
    bool known = at > 0 && rp_archive_member_body(archive, &archive->member[0], &text, NULL) == RP_OK &&
                 rp_manifest_parse(&manifest, text.data, text.size, NULL) == RP_OK;

    *before = NULL;
    if (at == 0)
        strcpy(name, RP_MANIFEST_NAME);
    else if (known && at <= manifest->members)
        strcpy(name, manifest->member[at - 1].name);
    else if (nearly(name, RP_RUN_STATEMENT))
        strcpy(name, RP_RUN_STATEMENT);
    else if (nearly(name, RP_OMS_BUNDLE))
        strcpy(name, RP_OMS_BUNDLE);
    if (known && at > 1 && at <= manifest->members + 1 &&
        rp_member_compare(&manifest->member[at - 2], &archive->member[at - 1]) == 0 &&
        manifest->member[at - 2].size != archive->member[at - 1].size)
        *before = &archive->member[at - 1];
    rp_manifest_free(manifest);
    rp_buffer_free(&text);
}

static rp_status bad_header(const rp_archive *archive, rp_member *member, const unsigned char *block, size_t at,
                            rp_error *err)
{
    const rp_member *before;
    char *name = member->name, shown[128];

    name_damaged(archive, name, &before);
    name_of_proof(archive, member->offset, block, name);
    if (before != NULL)
        return rp_fail(err, RP_EFORMAT,
                       "%s: its header says %llu bytes, which is not what " RP_MANIFEST_NAME " lists, and no "
                       "member begins behind them",
                       before->name, (unsigned long long)before->size);
    return rp_fail(err, RP_EFORMAT,
                   "%s: header byte %zu (0x%02x) is not what format %d writes: not a Reprise archive, or damaged",
                   rp_printable(shown, sizeof shown, name, strlen(name)), at, block[at], (int)RP_ARCHIVE_FORMAT);
}

/* Fewer bytes are left than the end takes: cut off, maybe in a member that has just begun. */
static rp_status cut_off(const rp_archive *archive, uint64_t at, uint64_t left, rp_error *err)
{
    unsigned char block[RP_BLOCK];
    rp_member member;
    size_t wrong;

    if (left >= RP_BLOCK) {
        rp_status status = rp_archive_source_read(archive, at, block, RP_BLOCK, err);

        if (status != RP_OK)
            return status;
        if (rp_ustar_parse(block, member.name, &member.size, &wrong))
            return rp_fail(
                err, RP_EFORMAT, "%s: truncated: its body takes %llu bytes, the archive has %llu after it begins",
                member.name, (unsigned long long)rp_ustar_padded(member.size), (unsigned long long)(left - RP_BLOCK));
    }
    return rp_fail(err, RP_EFORMAT, "%s: %llu bytes are left, expected two zero blocks of %d: truncated",
                   RP_ARCHIVE_END, (unsigned long long)left, (int)RP_BLOCK);
}

/* Reads the member at *at and moves behind it; *end is set at the end blocks. */
static rp_status scan_member(rp_archive *archive, uint64_t *at, bool *end, rp_error *err)
{
    unsigned char block[END];
    rp_member member = {.offset = *at + RP_BLOCK};
    uint64_t left = archive->size - *at;
    size_t wrong;
    rp_status status;

    if (left < END)
        return cut_off(archive, *at, left, err);
    if ((status = rp_archive_source_read(archive, *at, block, END, err)) != RP_OK)
        return status;
    *end = left == END && all_zero(block, END);
    if (*end)
        return RP_OK;
    if (left > END && all_zero(block, END))
        return rp_fail(err, RP_EFORMAT, "%s: %llu bytes follow it, expected none", RP_ARCHIVE_END,
                       (unsigned long long)(left - END));
    if (!rp_ustar_parse(block, member.name, &member.size, &wrong))
        return left == END ? rp_fail(err, RP_EFORMAT, "%s: its two blocks are not zero", RP_ARCHIVE_END)
                           : bad_header(archive, &member, block, wrong, err);
    if ((status = check_member(archive, &member, left - RP_BLOCK, err)) != RP_OK ||
        (status = check_padding(archive, &member, err)) != RP_OK ||
        (status = append_member(archive, &member, err)) != RP_OK)
        return status;
    archive->signatures += rp_member_rank_of(member.name) == RP_RANK_SIGNATURE;
    archive->statements += rp_statement_bytes(member.name, member.size);
    archive->certificates += rp_certificate_member_valid(member.name) ? member.size : 0;
    /* the manifest's digest at once: errors of later members may have to ask it for names */
    if (archive->members == 1 && (status = rp_archive_hash(archive, 0, 1, err)) != RP_OK)
        return status;
    *at = member.offset + rp_ustar_padded(member.size);
    return RP_OK;
}

static rp_status scan(rp_archive *archive, rp_error *err)
{
    uint64_t at = 0;
    bool end = false;
    rp_status status = RP_OK;

    while (status == RP_OK && !end)
        status = scan_member(archive, &at, &end, err);
    if (status == RP_OK && archive->members == 0)
        return rp_fail(err, RP_EFORMAT, RP_MANIFEST_NAME ": missing: the archive has no members");
    if (status == RP_OK)
        status = rp_archive_hash(archive, archive->members - archive->signatures, archive->members, err);
    if (status == RP_OK)
        rp_digest_hex(archive->id, &archive->member[0].digest);
    return status;
}

rp_status rp_archive_scan(rp_archive **out, rp_reader *reader, const char *where, rp_error *err)
{
    rp_archive *archive = rp_calloc(1, sizeof *archive);
    rp_status status;

    *out = NULL;
    if (archive == NULL) {
        rp_reader_close(reader);
        return rp_no_memory(err);
    }
    archive->reader = *reader;
    archive->size = reader->size;
    archive->where = rp_strdup(where);
    status = archive->where != NULL ? scan(archive, err) : rp_no_memory(err);
    if (status != RP_OK) {
        rp_archive_close(archive);
        return rp_fail_at(err, status, "%s", where);
    }
    *out = archive;
    return RP_OK;
}
