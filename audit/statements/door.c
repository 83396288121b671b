/* SPDX-License-Identifier: Apache-2.0
 * The door of the Python package through which a program came: its state origin.json says so. That text is the run's
 * own word, so nothing but two words of it is taken, and what has another form names no door. */
#include <stdio.h>
#include <string.h>

#include "audit/archive/archive_private.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/memory.h"
#include "determinism/bits.h"

enum { LENGTH = 8, HEADER_MAX = 16 << 20, TEXT_MAX = 1 << 20 };

static const struct {
    const char *framework, *name; /* in the text; for people */
    const char *within, *version; /* the key of the object that has the version's key; NULL: the text's own has it */
} doors[] = {
    {"torch", "PyTorch", NULL, "version"}, {"jax", "JAX", "versions", "jax"}, {"keras", "Keras", "versions", "keras"}};

/* Its first states, whole or in parts (FORMAT.md 7.1). */
static bool holds_states(const rp_member *member)
{
    const size_t stem = strlen(RP_INIT_MEMBER) - strlen(".safetensors");

    return strcmp(member->name, RP_INIT_MEMBER) == 0 ||
           (strncmp(member->name, RP_INIT_MEMBER, stem) == 0 && member->name[stem] == '-');
}

static rp_status read_text(char **out, const rp_archive *archive, uint64_t offset, size_t size, rp_error *err)
{
    char *text = rp_malloc(size + 1);
    rp_status status = text ? rp_archive_source_read(archive, offset, text, size, err) : rp_no_memory(err);

    if (status == RP_OK) {
        text[size] = '\0';
        *out = text;
        return RP_OK;
    }
    rp_free(text);
    return status;
}

/* Where the state's bytes are in the file's data; false: it has none, or none of that size. */
static bool place(const rp_json *header, uint64_t data, uint64_t *begin, size_t *size)
{
    const rp_json *said = rp_json_object_get(header, "origin.json");
    const rp_json *offsets = rp_json_object_get(said, "data_offsets");
    const char *dtype = rp_json_string_value(rp_json_object_get(said, "dtype"));
    const int64_t first = rp_json_integer_value(rp_json_array_get(offsets, 0));
    const int64_t end = rp_json_integer_value(rp_json_array_get(offsets, 1));

    if (!dtype || strcmp(dtype, "U8") != 0 || first < 0 || end <= first || end - first > TEXT_MAX ||
        (uint64_t)end > data)
        return false;
    *begin = (uint64_t)first;
    *size = (size_t)(end - first);
    return true;
}

/* *out stays NULL where the member has no such state. */
static rp_status find_text(char **out, const rp_archive *archive, const rp_member *member, rp_error *err)
{
    unsigned char bytes[LENGTH];
    rp_json *header = NULL;
    char *text = NULL;
    uint64_t length, begin;
    size_t size;
    rp_status status;

    if (member->size < LENGTH)
        return RP_OK;
    status = rp_archive_source_read(archive, member->offset, bytes, LENGTH, err);
    length = status == RP_OK ? rp_load_u64(bytes) : 0;
    if (status != RP_OK || length == 0 || length > HEADER_MAX || length > member->size - LENGTH)
        return status;
    status = read_text(&text, archive, member->offset + LENGTH, (size_t)length, err);
    if (status == RP_OK)
        status = rp_json_parse(&header, text, (size_t)length, false, member->name, err);
    rp_free(text);
    if (status == RP_OK && place(header, member->size - LENGTH - length, &begin, &size))
        status = read_text(out, archive, member->offset + LENGTH + length + begin, size, err);
    rp_json_free(header);
    return status == RP_EFORMAT ? RP_OK : status;
}

/* Where the value of a key of that object begins; NULL: it is no object, or has no such key. Keys of what lies inside
 * of its values, and texts, are passed over. As the doors write: nothing between a key, its colon and its value. */
static const char *value_at(const char *object, const char *key)
{
    const size_t length = strlen(key);
    size_t depth = 0;

    if (!object || *object != '{')
        return NULL;
    for (const char *at = object; *at != '\0'; at++) {
        const char *begin = at + 1;

        if (*at == '{' || *at == '[')
            depth++;
        else if ((*at == '}' || *at == ']') && --depth == 0)
            return NULL;
        if (*at != '"')
            continue;
        for (at++; *at != '"'; at++)
            if (*at == '\0' || (*at == '\\' && *++at == '\0'))
                return NULL;
        if (depth == 1 && at[1] == ':' && (size_t)(at - begin) == length && memcmp(begin, key, length) == 0)
            return at + 2;
    }
    return NULL;
}

/* The text of that key, of letters, digits, '.', '+', '-' and '_'; false: there is none. */
static bool value_of(const char *object, const char *key, char *out, size_t room)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_";
    const char *at = value_at(object, key);
    size_t length;

    if (!at || *at++ != '"')
        return false;
    length = strspn(at, allowed);
    if (length == 0 || length >= room || at[length] != '"')
        return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

static void name_door(rp_door *out, const char *text)
{
    char framework[sizeof out->name];

    if (!value_of(text, "framework", framework, sizeof framework))
        return;
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++)
        if (strcmp(framework, doors[i].framework) == 0) {
            (void)snprintf(out->name, sizeof out->name, "%s", doors[i].name);
            if (!value_of(doors[i].within ? value_at(text, doors[i].within) : text, doors[i].version, out->version,
                          sizeof out->version))
                out->version[0] = '\0';
        }
}

rp_status rp_archive_door(const rp_archive *archive, rp_door *out, rp_error *err)
{
    char *text = NULL;
    rp_status status = RP_OK;

    memset(out, 0, sizeof *out);
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    if (strcmp(rp_archive_kind(archive), "api") != 0)
        return RP_OK;
    for (size_t i = 0; i < archive->members && status == RP_OK && !text; i++)
        if (holds_states(&archive->member[i]))
            status = find_text(&text, archive, &archive->member[i], err);
    if (status != RP_OK)
        return rp_fail_at(err, status, "%s", archive->where);
    if (text)
        name_door(out, text);
    rp_free(text);
    return RP_OK;
}
