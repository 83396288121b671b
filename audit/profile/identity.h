/* SPDX-License-Identifier: Apache-2.0
 * The identity of a pinned run (FORMAT.md 16): the object `pinned` of the manifest's `run`. Who only verifies checks
 * its form; who replays holds it against what is here. */
#ifndef AUDIT_PROFILE_IDENTITY_H
#define AUDIT_PROFILE_IDENTITY_H

#include "base/buffer.h"
#include "base/json.h"
#include "rp/archive.h"

/* Strict: exactly these keys, each value in its range, products in ascending order. Errors: RP_EFORMAT. */
rp_status rp_pinned_check(const rp_json *pinned, rp_error *err);
/* What of two identities, both checked, is not the same, products apart. here NULL: there is no such thing here,
 * neither chip nor driver nor library. */
void rp_pinned_table(rp_host_table *out, const rp_json *recorded, const rp_json *here);
/* The same as text: "chip.name: recorded A, here B; ..." appended. */
void rp_pinned_table_words(rp_buffer *out, const rp_host_table *table);
/* What a child says of the pinned run nearest to it in the line that it started from (FORMAT.md 12.3): an object of
 * archive_id, chip, driver and library. The parent's run is given, and its id: a new reference; NULL: it is portable,
 * and says nothing of one before it. Errors: RP_ENOMEM. */
rp_status rp_pinned_line(rp_json **out, const rp_json *run, const char *archive_id, rp_error *err);
rp_status rp_pinned_line_check(const rp_json *line, rp_error *err); /* its form. Errors: RP_EFORMAT */
/* That a child recorded of its parent's run what that says; recorded NULL: nothing. Errors: RP_EHASH, RP_ENOMEM. */
rp_status rp_pinned_line_confirm(const rp_json *recorded, const rp_json *run, const char *archive_id, rp_error *err);

enum { RP_PINNED_WORDS = 192 };
/* Of a checked one, or of such a line, for people: "cublasLt 130002 on NVIDIA H100 (132 multiprocessors)". */
void rp_pinned_words(char *out, size_t size, const rp_json *pinned);
/* The same of what they are. */
void rp_pinned_say(char *out, size_t size, const char *library, int64_t version, const char *chip,
                   int64_t multiprocessors);

#endif
