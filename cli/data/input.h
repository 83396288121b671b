/* SPDX-License-Identifier: Apache-2.0
 * Tables as the command takes them: files, or standard input for "-", plain or packed by gzip or zstd. */
#ifndef CLI_DATA_INPUT_H
#define CLI_DATA_INPUT_H

#include "base/buffer.h"
#include "base/file.h"

/* Hands on the plain bytes, at most limit of them; as rp_job_options' read_table. Errors: RP_EIO; RP_EDATA: more,
 * or packed and damaged, or packed and 100 times larger unpacked; RP_EUNSUPPORTED: this libarchive lacks the format. */
rp_status rp_input_table(const char *path, size_t limit, rp_file_taker take, void *taker, rp_error *err);
/* The same into a buffer; *out is replaced. */
rp_status rp_input_read(const char *path, size_t limit, rp_buffer *out, rp_error *err);
/* What errors call it. */
const char *rp_input_name(const char *path);

#endif
