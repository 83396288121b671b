/* SPDX-License-Identifier: Apache-2.0
 * Circumstance: what signed statements say of the host, the libraries and the times, and doctor's report. None of it is
 * part of an archive's identity. */
#ifndef AUDIT_RECORD_PROVENANCE_H
#define AUDIT_RECORD_PROVENANCE_H

#include "base/json.h"
#include "core/run/run.h"

/* Host, CPU, floating-point environment, pins, levels. conformance: run the vectors of that level of this host, of
 * every level for "all", of none for NULL (a level takes about a quarter of a second). *healthy (may be NULL): all pins
 * match and all vectors agree. */
rp_status rp_host_describe(rp_json **out, const char *conformance, bool *healthy, rp_error *err);
/* The predicate of signatures/run.dsse.json: SLSA provenance v1. took: seconds since the run began.
 * resumes: how often it went on after an interruption; said only then. */
rp_status rp_provenance_make(rp_json **out, const rp_run *run, double took, uint64_t resumes, rp_error *err);

#endif
