/* SPDX-License-Identifier: Apache-2.0
 * What drives a run that is to be recorded or replayed: a recipe with its CSV, or the programs, data and feeds of an
 * archive of the API. Both are stepped the same way, so run, replay and diff share everything else. */
#ifndef AUDIT_RECORD_DRIVER_H
#define AUDIT_RECORD_DRIVER_H

#include "audit/archive/archive.h"
#include "core/train/train.h"
#include "rp/audit.h"

typedef struct rp_driver rp_driver;

/* recipe is taken, also on failure; csv is borrowed. where names the CSV in errors. */
rp_status rp_driver_from_recipe(rp_driver **out, rp_recipe *recipe, const void *csv, size_t size, const char *where,
                                const rp_run_options *options, rp_error *err);
/* Everything from the archive, which is borrowed. Errors: RP_EFORMAT, RP_EUNSUPPORTED. */
rp_status rp_driver_from_archive(rp_driver **out, const rp_archive *archive, const rp_run_options *options,
                                 rp_error *err);
/* What the manifest says: 1 when it says nothing. Errors: RP_EFORMAT. */
rp_status rp_archive_state_period(const rp_archive *archive, uint64_t *out, rp_error *err);
/* The steps between two checkpoints: 0 when the archive has none. Errors: RP_EFORMAT. */
rp_status rp_archive_checkpoint_period(const rp_archive *archive, uint64_t *out, rp_error *err);
/* Another driver of the same archive, before its first step, for another thread. A recipe's data are not prepared
 * again: `from` lends them and must outlive it. */
rp_status rp_driver_clone(rp_driver **out, const rp_driver *from, const rp_archive *archive,
                          const rp_run_options *options, rp_error *err);
void rp_driver_free(rp_driver *driver);
rp_run *rp_driver_run(const rp_driver *driver);
rp_run_kind rp_driver_kind(const rp_driver *driver);
const rp_recipe *rp_driver_recipe(const rp_driver *driver); /* NULL for a run of the API */
/* Of a recipe with a parent, before step 0: the states to start from are those of the run's names in a safetensors file
 * of the archive with that id; updates: how many its states have seen. A run that retrains leaves the file's moments
 * aside. Errors: RP_EDATA names what does not fit the recipe's model. */
rp_status rp_driver_start_from(rp_driver *driver, const char *archive_id, uint64_t updates, const void *file,
                               size_t size, const char *where, rp_error *err);
uint64_t rp_driver_total(const rp_driver *driver);
rp_status rp_driver_step(rp_driver *driver, rp_error *err);
/* 1, or the period of rolling state digests: of the recipe, or of the archive's manifest. */
uint64_t rp_driver_state_period(const rp_driver *driver);
/* 0, or the steps between two checkpoints, likewise. */
uint64_t rp_driver_checkpoint_period(const rp_driver *driver);
/* Goes on as after `step` steps, from a checkpoint's bytes (FORMAT.md 11), which hold every state of the run; where
 * names it in errors. At any time between two steps, forwards or backwards; a recorder may be attached, and is not
 * told. A step on the way (a scoring of a recipe) may be computed again, unobserved. Errors: RP_EFORMAT; the driver
 * should then be given up. */
rp_status rp_driver_restore(rp_driver *driver, uint64_t step, const void *file, size_t size, const char *where,
                            rp_error *err);
/* Of a recipe: goes on as before its evaluations, with the archive's final weights. The moments are zeros, since no
 * evaluation reads them. Errors: as rp_driver_restore. */
rp_status rp_driver_restore_final(rp_driver *driver, const rp_archive *archive, rp_error *err);
/* Nothing for a recipe's run. Errors: RP_EBITS: the archive holds feeds that no step takes. */
rp_status rp_driver_check_feeds(const rp_driver *driver, rp_error *err);
float rp_driver_loss(const rp_driver *driver);
/* weights/init.safetensors of a recipe's run: to be called after step 0. Nothing for a run of the API. */
rp_status rp_driver_add_init(rp_driver *driver, rp_archive_writer *writer, rp_error *err);
/* Of a recipe, once resolved: the members that are known before the first step; data: the table and what was prepared
 * of it too. */
rp_status rp_driver_add_known(const rp_driver *driver, rp_archive_writer *writer, bool data, rp_error *err);
/* When done: the members that neither the recorder nor add_init makes. run gets further keys. */
rp_status rp_driver_add_members(rp_driver *driver, rp_archive_writer *writer, rp_json *run, rp_error *err);
/* outputs/metrics.json as text, for rp_job; "{}" for a run of the API. */
rp_status rp_driver_metrics(const rp_driver *driver, char **out, rp_error *err);

/* A run of the API as an archive holds it: states from weights/init.safetensors, data, programs, feeds. */
typedef struct rp_tape rp_tape;
rp_status rp_tape_open(rp_tape **out, const rp_archive *archive, const rp_run_options *options, rp_error *err);
void rp_tape_free(rp_tape *tape);
rp_run *rp_tape_run(const rp_tape *tape);
uint64_t rp_tape_total(const rp_tape *tape);
rp_status rp_tape_step(rp_tape *tape, rp_error *err);
/* Errors: RP_EBITS: data/feeds.* hold what no step takes. */
rp_status rp_tape_check_feeds(const rp_tape *tape, rp_error *err);
/* As rp_trainer_restore, from the archive's own journal and feeds. */
rp_status rp_tape_restore(rp_tape *tape, uint64_t step, const rp_named *state, size_t n, rp_error *err);

/* data/tensors.safetensors from a run's data, when it has any. */
rp_status rp_add_data_tensors(rp_archive_writer *writer, const rp_run *run, rp_error *err);

#endif
