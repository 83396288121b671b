/* SPDX-License-Identifier: Apache-2.0
 * Reading a signed JSON object whose keys are fixed and whose every value has bounds. The first mistake is remembered
 * and makes later calls no-ops; rp_fields_end also refuses keys nobody has read. All errors are RP_ESIGN and name the
 * member. */
#ifndef AUDIT_SIGN_SIGNED_JSON_H
#define AUDIT_SIGN_SIGNED_JSON_H

#include "base/json.h"
#include "rp/archive.h"

typedef struct rp_fields {
    const rp_json *object;
    const char *where, *name; /* the member, and the object in it */
    size_t read;
    rp_status status;
    rp_error *err;
} rp_fields;

rp_fields rp_fields_begin(const rp_json *object, const char *name, const char *where, rp_error *err);
/* A part of the same member; parent stops where it is not an object. */
rp_fields rp_fields_object(rp_fields *parent, const char *key);
/* 1 to size - 1 bytes of printable ASCII without a space at either end. */
void rp_fields_text(rp_fields *f, const char *key, char *out, size_t size);
/* The same, or null: "". */
void rp_fields_text_or_null(rp_fields *f, const char *key, char *out, size_t size);
/* Whether the key's value is null; then it counts as read. */
bool rp_fields_null(rp_fields *f, const char *key);
/* 1 to size - 1 bytes of UTF-8 without control characters and those that turn the direction of text. */
void rp_fields_line(rp_fields *f, const char *key, char *out, size_t size);
/* 2026-11-21T15:04:05Z, a moment that exists. */
void rp_fields_time(rp_fields *f, const char *key, char out[RP_TIME_TEXT]);
void rp_fields_count(rp_fields *f, const char *key, uint64_t *out, uint64_t low, uint64_t high);
void rp_fields_bool(rp_fields *f, const char *key, bool *out);
/* The index of the text among names[0..count). */
void rp_fields_choice(rp_fields *f, const char *key, int *out, const char *const *names, size_t count);
/* Takes a child's mistake over. */
void rp_fields_join(rp_fields *f, const rp_fields *child);
void rp_fields_refuse(rp_fields *f, const char *key, const char *expected);
rp_status rp_fields_end(rp_fields *f);

/* Bounds as above, for those who write. */
bool rp_text_fits(const char *text, size_t size);
bool rp_line_fits(const char *text, size_t size);
bool rp_time_valid(const char *text);
/* Seconds since 1970 as such a time. */
void rp_time_write(char out[RP_TIME_TEXT], int64_t at);

#endif
