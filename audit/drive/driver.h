/* SPDX-License-Identifier: Apache-2.0
 * What drives a run that is to be recorded or replayed: a recipe with its CSV, or the programs, data and feeds of an
 * archive of the API. All kinds are stepped the same way, so run, replay and diff share everything else. */
#ifndef AUDIT_DRIVE_DRIVER_H
#define AUDIT_DRIVE_DRIVER_H

#include "audit/drive/kept_text.h"
#include "audit/drive/start.h"
#include "audit/record/states.h"
#include "core/trials/trials.h"
#include "rp/audit.h"

typedef struct rp_driver rp_driver;

/* recipe is taken, also on failure; the texts are borrowed. test: of data.test_csv; NULL where the recipe has none. */
rp_status rp_driver_from_recipe(rp_driver **out, rp_recipe *recipe, const rp_kept_text *text, const rp_kept_text *test,
                                const rp_run_options *options, rp_error *err);
/* Where tables lay on this host is circumstance: in an archive they are members, whatever their names were. 0, or other
 * than that when memory runs out. */
int rp_recipe_forget_paths(rp_json *recipe);
/* Everything from the archive, which is borrowed. Errors: RP_EFORMAT, RP_EUNSUPPORTED. */
rp_status rp_driver_from_archive(rp_driver **out, const rp_archive *archive, const rp_run_options *options,
                                 rp_error *err);
/* Another driver of the same archive, before its first step, for another thread. A recipe's data are not prepared
 * again: `from` lends them and must outlive it. */
rp_status rp_driver_clone(rp_driver **out, const rp_driver *from, const rp_archive *archive,
                          const rp_run_options *options, rp_error *err);
void rp_driver_free(rp_driver *driver);
rp_run *rp_driver_run(const rp_driver *driver);
rp_run_kind rp_driver_kind(const rp_driver *driver);
const rp_recipe *rp_driver_recipe(const rp_driver *driver);   /* NULL for a run of the API */
const rp_dataset *rp_driver_dataset(const rp_driver *driver); /* NULL for a run that is not on a table */
/* The first step that evaluates; the total for a run of the API. */
uint64_t rp_driver_evaluates_from(const rp_driver *driver);
/* Of a recipe with a parent, before step 0: the states to start from, taken also on failure, are those of the run's
 * names, of the archive with that id; updates: how many they have seen. A run that retrains leaves moments aside.
 * Errors: RP_EDATA names what does not fit the recipe's model. */
rp_status rp_driver_start_from(rp_driver *driver, const char *archive_id, uint64_t updates, rp_start *start,
                               rp_error *err);
/* The same of a recipe with weights: sha256 of the file that they were in. */
rp_status rp_driver_start_with(rp_driver *driver, const char *sha256, rp_start *start, rp_error *err);
/* Of a recipe that tries something: what became of its trials, whose contents are taken. A driver of an archive that
 * is given none has the archive's word for them (outputs/trials.json), and no scores out of fold. */
void rp_driver_take_trials(rp_driver *driver, rp_trials *trials);
/* Of a recipe: its table is left out of the archive (of one that is opened, its manifest says so), so members that stay
 * and what is told of the table quote none of its cells. Before the first step. */
void rp_driver_withhold(rp_driver *driver);
/* Tokens of the smallest block of a text whose evaluation the archive has digests of; SIZE_MAX: there is none. */
size_t rp_driver_least_block(const rp_driver *driver);
uint64_t rp_driver_total(const rp_driver *driver);
rp_status rp_driver_step(rp_driver *driver, rp_error *err);
/* What a step's program costs, known before it runs, and the member that decides it. Errors: RP_EARG, RP_EFORMAT. */
rp_status rp_driver_price(rp_driver *driver, uint64_t step, rp_price *price, char member[RP_MEMBER_NAME],
                          rp_error *err);
/* 1, or the period of rolling state digests: of the recipe, or of the archive's manifest. */
uint64_t rp_driver_state_period(const rp_driver *driver);
/* 0, or the steps between two checkpoints, likewise. */
uint64_t rp_driver_checkpoint_period(const rp_driver *driver);
/* Checkpoints are made after fewer steps than these: the total, but of a text none lies behind the training, since its
 * many evaluations change no state (FORMAT.md 11). */
uint64_t rp_driver_checkpoint_end(const rp_driver *driver);
/* Goes on as after `step` steps, from a set that holds every state of the run (FORMAT.md 11); where names it in errors.
 * At any time between two steps, forwards or backwards; a recorder may be attached, and is not told. A step on the way
 * (a scoring of a recipe) may be computed again, unobserved. Errors: RP_EFORMAT, RP_EHASH; the driver should then be
 * given up. */
rp_status rp_driver_restore(rp_driver *driver, uint64_t step, const rp_tensor_set *set, const char *where,
                            rp_error *err);
/* From the archive's checkpoint after so many steps. */
rp_status rp_driver_restore_checkpoint(rp_driver *driver, uint64_t step, const rp_archive *archive, rp_error *err);
/* Of a recipe: goes on as before its evaluations, with the archive's final weights. The moments are zeros, since no
 * evaluation reads them. Errors: as rp_driver_restore. */
rp_status rp_driver_restore_final(rp_driver *driver, const rp_archive *archive, rp_error *err);
/* Nothing for a recipe's run. Errors: RP_EBITS: the archive holds feeds that no step takes. */
rp_status rp_driver_check_feeds(const rp_driver *driver, rp_error *err);
float rp_driver_loss(const rp_driver *driver);
/* The set of first states, if they are those of now: to be called before step 0 and after it. */
rp_status rp_driver_add_init(const rp_driver *driver, rp_archive_writer *writer, rp_error *err);
/* Of a recipe, once resolved: the members that are known before the first step; data: the table and what was prepared
 * of it too. */
rp_status rp_driver_add_known(const rp_driver *driver, rp_archive_writer *writer, bool data, rp_error *err);
/* When done: the members that neither the recorder nor add_init makes. run gets further keys. */
rp_status rp_driver_add_members(const rp_driver *driver, rp_archive_writer *writer, rp_json *run, rp_error *err);
/* What a recipe's table holds, as text for rp_job; "{}" for a run of the API. */
rp_status rp_driver_table(const rp_driver *driver, char **out, rp_error *err);
/* outputs/coefficients.json of a run that is done as text, for rp_job; NULL where there is none. */
rp_status rp_driver_coefficients(const rp_driver *driver, char **out, rp_error *err);
/* outputs/metrics.json as text, for rp_job; "{}" for a run of the API. */
rp_status rp_driver_metrics(const rp_driver *driver, char **out, rp_error *err);

#endif
