/* SPDX-License-Identifier: Apache-2.0
 * The identity of a pinned run (FORMAT.md 16): the object `pinned` of the manifest's `run`. Who only verifies checks
 * its form; who replays holds it against what is here. */
#ifndef AUDIT_PROFILE_IDENTITY_H
#define AUDIT_PROFILE_IDENTITY_H

#include "base/buffer.h"
#include "base/json.h"

/* Strict: exactly these keys, each value in its range, products in ascending order. Errors: RP_EFORMAT. */
rp_status rp_pinned_check(const rp_json *pinned, rp_error *err);
/* What of two identities, both checked, is not the same, products apart: "chip: recorded A, here B; ..." appended. The
 * number of differences. */
size_t rp_pinned_differences(rp_buffer *out, const rp_json *recorded, const rp_json *here);
/* Of a checked one, for people: "cublaslt 130002 on NVIDIA H100 (132 multiprocessors)". */
void rp_pinned_words(char *out, size_t size, const rp_json *pinned);

#endif
