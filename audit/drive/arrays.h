/* SPDX-License-Identifier: Apache-2.0
 * The table of a recipe on arrays: their files are read, and what becomes data/raw.csv is written from them
 * (CONTRACT 9.1a). */
#ifndef AUDIT_DRIVE_ARRAYS_H
#define AUDIT_DRIVE_ARRAYS_H

#include "audit/drive/kept_text.h"

/* The bytes of a recipe's table, for whoever takes them: those of the file at path, or, of a recipe on arrays, what
 * these are written as; the resolved recipe then says what they were. recipe_path: where the recipe lies. Errors: those
 * of rp_table_stream; RP_EDATA: a file is no array that a table can hold. */
rp_status rp_recipe_stream(rp_recipe *recipe, const char *recipe_path, const char *path, const rp_job_options *options,
                           rp_file_taker take, void *self, rp_error *err);
/* The path of the target's own file; NULL: there is none, or no memory. The caller frees it. */
char *rp_arrays_target_path(const rp_recipe *recipe, const char *recipe_path);

/* The same of a recipe on images (audit/drive/images.c). Errors further: RP_EUNSUPPORTED: the options decode none. */
rp_status rp_images_stream(rp_recipe *recipe, const char *recipe_path, const char *labels,
                           const rp_job_options *options, rp_file_taker take, void *self, rp_error *err);

/* New rows of a run on arrays may be arrays too, of the features or, by the run's names, of features and target: *out,
 * which the caller frees, is then their table, else left empty. Errors: RP_EDATA, RP_ENOMEM. */
rp_status rp_arrays_rows(rp_buffer *out, const rp_recipe *recipe, const void *bytes, size_t size, const char *where,
                         rp_error *err);

#endif
