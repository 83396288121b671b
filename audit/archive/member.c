/* SPDX-License-Identifier: Apache-2.0
 * The table of members, and the names of those that come in numbers. */
#include "audit/archive/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/archive/manifest.h"
#include "audit/digest/digest.h"
#include "audit/log/log_note.h"
#include "base/handle.h"
#include "rp/trust.h"

#define RECIPE RP_IN_RECIPE
#define API RP_IN_API
#define TEXT RP_IN_TEXT
#define EITHER (RP_IN_RECIPE | RP_IN_TEXT)
#define ALL RP_IN_ALL
#define ANY UINT64_MAX
#define MEMORY (SIZE_MAX / 2)
#define MIB(n) ((uint64_t)(n) << 20)

/* The first row that fits counts: a folder's own row, for its other names, stands behind its members'. */
/* clang-format off */
static const rp_member_kind kinds[] = {
    /* name                 rank                in      needed  input  limit               held */
    {RP_MANIFEST_NAME,      RP_RANK_MANIFEST,   ALL,    0,      false, RP_MANIFEST_LIMIT,  RP_MANIFEST_LIMIT},
    {RP_RECIPE_MEMBER,      RP_RANK_RECIPE,     EITHER, 0,      false, MIB(16),            MIB(16)},
    {RP_PROGRAMS,           RP_RANK_PROGRAM,    ALL,    0,      false, ANY,                MIB(64)},
    {RP_JOURNAL_MEMBER,     RP_RANK_JOURNAL,    ALL,    0,      false, ANY,                MEMORY},
    {RP_TABLE_MEMBER,       RP_RANK_DATA,       RECIPE, RECIPE, true,  ANY,                MEMORY},
    {RP_TEST_TABLE_MEMBER,  RP_RANK_DATA,       RECIPE, RECIPE, true,  ANY,                MEMORY},
    {RP_TEXT_MEMBER,        RP_RANK_DATA,       TEXT,   TEXT,   true,  ANY,                MEMORY},
    {RP_VOCABULARY_MEMBER,  RP_RANK_DATA,       TEXT,   0,      true,  ANY,                MIB(64)},
    {RP_QUALITY_MEMBER,     RP_RANK_DATA,       RECIPE, 0,      true,  ANY,                MIB(64)},
    {RP_SCHEMA_MEMBER,      RP_RANK_DATA,       RECIPE, 0,      true,  ANY,                MIB(64)},
    {RP_PREPARED_MEMBER,    RP_RANK_DATA,       EITHER, 0,      true,  ANY,                MEMORY},
    {RP_TENSORS_MEMBER,     RP_RANK_DATA,       API,    API,    true,  ANY,                MEMORY},
    {RP_FEEDS_MEMBER,       RP_RANK_DATA,       API,    API,    true,  ANY,                MEMORY},
    {RP_FEED_ORDER_MEMBER,  RP_RANK_DATA,       API,    API,    true,  ANY,                MEMORY},
    {RP_DATA,               RP_RANK_DATA,       ALL,    API,    true,  ANY,                MEMORY},
    {RP_START_MEMBER,       RP_RANK_WEIGHTS,    RECIPE, 0,      false, ANY,                MEMORY},
    {RP_WEIGHTS,            RP_RANK_WEIGHTS,    ALL,    0,      false, ANY,                MEMORY},
    {RP_CHECKPOINTS,        RP_RANK_CHECKPOINT, ALL,    0,      false, ANY,                MEMORY},
    {RP_COEFFICIENTS_MEMBER, RP_RANK_OUTPUT,    RECIPE, 0,      true,  ANY,                MIB(64)},
    {RP_METRICS_MEMBER,     RP_RANK_OUTPUT,     EITHER, 0,      false, ANY,                MIB(64)},
    {RP_PREDICTIONS_MEMBER, RP_RANK_OUTPUT,     RECIPE, 0,      true,  ANY,                MEMORY},
    {RP_REFERENCE_MEMBER,   RP_RANK_OUTPUT,     RECIPE, 0,      true,  ANY,                MIB(64)},
    {RP_TRIALS_MEMBER,      RP_RANK_OUTPUT,     RECIPE, 0,      false, ANY,                MIB(64)},
    {RP_OUT_OF_FOLD_MEMBER, RP_RANK_OUTPUT,     RECIPE, 0,      true,  ANY,                MEMORY},
    {RP_OUTPUTS,            RP_RANK_OUTPUT,     ALL,    0,      false, ANY,                MEMORY},
    {RP_OMS_BUNDLE,         RP_RANK_SIGNATURE,  ALL,    0,      false, RP_ENVELOPE_LIMIT,  RP_ENVELOPE_LIMIT},
    {RP_SIGNATURES,         RP_RANK_SIGNATURE,  ALL,    0,      false, RP_STATEMENT_LIMIT, RP_STATEMENT_LIMIT},
};
/* clang-format on */

/* ---- parts of a set of tensors ---- */

#define TENSORS_END ".safetensors"
#define PART_FORM "-%05zu-of-%05zu" TENSORS_END
enum { PART_LENGTH = sizeof "-00001-of-00001" TENSORS_END - 1, DIGITS = 5, PARTS_AT = 10 };

const char *rp_part_name(char out[RP_MEMBER_NAME], const char *set, size_t part, size_t parts)
{
    const size_t stem = strlen(set) - (sizeof TENSORS_END - 1);

    memmove(out, set, strlen(set) + 1);
    if (parts > 1)
        (void)snprintf(out + stem, RP_MEMBER_NAME - stem, PART_FORM, part, parts);
    return out;
}

static size_t number(const char *digits)
{
    size_t n = 0;

    for (int i = 0; i < DIGITS; i++)
        n = 10 * n + (size_t)(digits[i] - '0') % 10;
    return n;
}

/* The name is made again from what was read in it, so that a part has one name. */
bool rp_member_part_of(rp_member_part *out, const char *name)
{
    const size_t length = strlen(name), stem = length > PART_LENGTH ? length - PART_LENGTH : 0;
    char again[RP_MEMBER_NAME];

    *out = (rp_member_part){.part = 1, .parts = 1};
    if (length >= RP_MEMBER_NAME)
        return false;
    memcpy(out->set, name, length + 1);
    if (stem == 0)
        return false;
    const size_t part = number(name + stem + 1), parts = number(name + stem + PARTS_AT);
    if (parts < 2 || part < 1 || part > parts)
        return false;
    memcpy(out->set + stem, TENSORS_END, sizeof TENSORS_END);
    if (strcmp(rp_part_name(again, out->set, part, parts), name) != 0) {
        memcpy(out->set, name, length + 1);
        return false;
    }
    out->part = part;
    out->parts = parts;
    return true;
}

static const rp_member_kind *kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].name);

        if (strncmp(name, kinds[i].name, length) == 0 && (kinds[i].name[length - 1] == '/' || name[length] == '\0'))
            return &kinds[i];
    }
    return NULL;
}

const rp_member_kind *rp_member_kind_of(const char *name)
{
    rp_member_part part;

    return kind_of(rp_member_part_of(&part, name) ? part.set : name);
}

rp_member_rank rp_member_rank_of(const char *name)
{
    const rp_member_kind *kind = rp_member_kind_of(name);

    return kind != NULL ? kind->rank : RP_RANK_NONE;
}

int rp_member_compare(const rp_member *a, const rp_member *b)
{
    int x = rp_member_rank_of(a->name), y = rp_member_rank_of(b->name);

    return x != y ? (x > y) - (x < y) : strcmp(a->name, b->name);
}

bool rp_member_is_input(const char *name)
{
    const rp_member_kind *kind = rp_member_kind_of(name);

    return kind != NULL && kind->input;
}

static bool name_byte(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

bool rp_member_name_valid(const char *name)
{
    size_t length = strlen(name), begin = 0;

    if (length == 0 || length >= RP_MEMBER_NAME)
        return false;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && name[i] != '/') {
            if (!name_byte(name[i]))
                return false;
            continue;
        }
        size_t part = i - begin;
        if (part == 0 || (part == 1 && name[begin] == '.') || (part == 2 && !memcmp(name + begin, "..", 2)))
            return false;
        begin = i + 1;
    }
    return true;
}

const char *rp_program_name(char out[RP_MEMBER_NAME], size_t index)
{
    (void)snprintf(out, RP_MEMBER_NAME, RP_PROGRAMS "%04zu.json", index);
    return out;
}

const char *rp_checkpoint_name(char out[RP_MEMBER_NAME], uint64_t steps)
{
    (void)snprintf(out, RP_MEMBER_NAME, RP_CHECKPOINTS "%012" PRIu64 ".safetensors", steps);
    return out;
}

/* ---- signatures/ ---- */

#define STATEMENT_END ".dsse.json"
#define TIMESTAMP_END ".dsse.tsr"
#define CERTIFICATE_END ".x509.pem"
#define LOG_BEGIN RP_SIGNATURES "log-"
#define LOG_END ".tlog-proof"
enum { SHORT_ID = 16 }; /* hex digits of a key's or an origin's digest in a name */

/* begin, 16 hex digits, end. */
static bool is_named_by_digest(const char *member, const char *begin, const char *end)
{
    const char *id = member + strlen(begin);

    return strncmp(member, begin, strlen(begin)) == 0 && strspn(id, "0123456789abcdef") == SHORT_ID &&
           strcmp(id + SHORT_ID, end) == 0;
}

bool rp_statement_name_valid(const char *member)
{
    const size_t begin = strlen(RP_SIGNATURES), end = strlen(STATEMENT_END), length = strlen(member);

    return rp_member_name_valid(member) && length > begin + end && strncmp(member, RP_SIGNATURES, begin) == 0 &&
           strcmp(member + length - end, STATEMENT_END) == 0 && strchr(member + begin, '/') == NULL;
}

bool rp_certificate_member_valid(const char *member)
{
    return is_named_by_digest(member, RP_SIGNATURES, CERTIFICATE_END);
}

void rp_certificate_member(char out[RP_MEMBER_NAME], const char *key_id)
{
    (void)snprintf(out, RP_MEMBER_NAME, RP_SIGNATURES "%.16s" CERTIFICATE_END, key_id);
}

void rp_timestamp_statement(char out[RP_MEMBER_NAME], const char *member)
{
    size_t stem = strlen(member) - strlen(TIMESTAMP_END);

    memcpy(out, member, stem);
    memcpy(out + stem, STATEMENT_END, sizeof STATEMENT_END);
}

bool rp_timestamp_member_valid(const char *member)
{
    const size_t end = strlen(TIMESTAMP_END), length = strlen(member);
    char statement[RP_MEMBER_NAME];

    if (length <= end || length + 1 >= RP_MEMBER_NAME || strcmp(member + length - end, TIMESTAMP_END) != 0)
        return false;
    rp_timestamp_statement(statement, member);
    return rp_statement_name_valid(statement);
}

rp_status rp_timestamp_member(char out[RP_MEMBER_NAME], const char *statement, rp_error *err)
{
    size_t stem;

    if (!statement)
        return rp_no_value(err, __func__, "statement");
    if (!rp_statement_name_valid(statement))
        return rp_fail(err, RP_EARG, "%.100s: not a statement: expected signatures/NAME.dsse.json", statement);
    stem = strlen(statement) - strlen(STATEMENT_END);
    memcpy(out, statement, stem);
    memcpy(out + stem, TIMESTAMP_END, sizeof TIMESTAMP_END);
    return RP_OK;
}

bool rp_log_member_valid(const char *member)
{
    return is_named_by_digest(member, LOG_BEGIN, LOG_END);
}

rp_status rp_log_member(char out[RP_MEMBER_NAME], const char *origin, rp_error *err)
{
    rp_digest digest;
    char hex[RP_DIGEST_HEX];
    rp_status status = origin ? rp_log_origin_check(origin, err) : rp_no_value(err, __func__, "origin");

    if (status == RP_OK)
        status = rp_sha256(&digest, origin, strlen(origin), err);
    if (status != RP_OK)
        return status;
    rp_digest_hex(hex, &digest);
    (void)snprintf(out, RP_MEMBER_NAME, LOG_BEGIN "%.16s" LOG_END, hex);
    return RP_OK;
}

bool rp_signature_kind_known(const char *member)
{
    return rp_statement_name_valid(member) || rp_log_member_valid(member) || rp_timestamp_member_valid(member) ||
           rp_certificate_member_valid(member);
}
