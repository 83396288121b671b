/* SPDX-License-Identifier: Apache-2.0
 * Data bound to a run of the C API that its programs take in. What none takes is not in its archive: it would look like
 * what the run was trained on. */
#ifndef AUDIT_RECORD_DATA_USE_H
#define AUDIT_RECORD_DATA_USE_H

#include "audit/archive/archive.h"
#include "core/program/program.h"
#include "core/run/run.h"

typedef struct rp_data_use {
    const rp_run *run;
    const rp_device_tensor *data; /* of the run */
    bool *used;
    size_t n;
} rp_data_use;

/* None is used yet. Free in any case. Errors: RP_ENOMEM. */
rp_status rp_data_use_begin(rp_data_use *out, const rp_run *run, rp_error *err);
void rp_data_use_free(rp_data_use *use);
/* A program that a step executed. Errors: those of reading its text. */
void rp_data_use_program(rp_data_use *use, const rp_program *program);
rp_status rp_data_use_text(rp_data_use *use, const rp_buffer *text, const char *where, rp_error *err);
/* The set of those that were used, when there are any. */
rp_status rp_data_add(rp_archive_writer *writer, const rp_data_use *use, rp_error *err);

#endif
