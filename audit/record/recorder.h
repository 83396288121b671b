/* SPDX-License-Identifier: Apache-2.0
 * The recorder watches a run: it keeps each distinct program once, a journal record a step, and, for a run whose feeds
 * nothing else can derive, the feeds themselves by digest. Given the journal of an archive it compares instead, and
 * stops the run at the first step that differs. */
#ifndef AUDIT_RECORD_RECORDER_H
#define AUDIT_RECORD_RECORDER_H

#include "audit/archive/archive.h"
#include "audit/archive/journal.h"
#include "audit/archive/withheld.h"
#include "core/run/run.h"
#include "rp/audit.h"

/* keep_feeds: for runs of the API, whose first states (RP_INIT_MEMBER) are the caller's to add. The recorder observes
 * run until it is freed. */
rp_status rp_recorder_attach(rp_recorder **out, rp_run *run, bool keep_feeds, rp_error *err);
/* Checkpoints after every period-th step (FORMAT.md 11) go to writer, which is lent and is the archive's; they
 * lie before total steps (rp_driver_checkpoint_end). Before the first step; 0: none. Errors: RP_EARG: more than an
 * archive should hold. */
rp_status rp_recorder_checkpoints_into(rp_recorder *recorder, uint64_t period, uint64_t total,
                                       rp_archive_writer *writer, rp_error *err);
/* The run turns out to have so many steps, fewer than was said: before one of them that is no checkpoint. */
void rp_recorder_ends(rp_recorder *recorder, uint64_t total);
/* Goes on with a run that was restored: the records of the steps so far, and the programs as the archive has them, in
 * their order. For the journal of a part of a run, records may be none. Errors: RP_EARG, RP_ENOMEM. */
rp_status rp_recorder_add_program(rp_recorder *recorder, const void *text, size_t size, rp_error *err);
rp_status rp_recorder_continue(rp_recorder *recorder, const rp_byte_source *records, rp_error *err);
/* What would be given to these two: the records so far, and program i of the programs so far. */
rp_byte_source rp_recorder_journal(rp_recorder *recorder);
const rp_buffer *rp_recorder_program(const rp_recorder *recorder, size_t i, size_t *programs);
/* Compare with an archive's programs and journal (borrowed): the first difference is RP_EBITS. */
rp_status rp_recorder_expect(rp_recorder *recorder, const rp_archive *archive, rp_error *err);
/* Before the first step: salt the digests of feeds. */
rp_status rp_recorder_set_salt(rp_recorder *recorder, const rp_salt *salt, rp_error *err);
/* The salt, or NULL; and the folder of rp_recorder_withhold, or NULL. */
const rp_salt *rp_recorder_salt(const rp_recorder *recorder);
const char *rp_recorder_folder(const rp_recorder *recorder);
/* The states of a step are hashed by so many threads of their own while the next step computes, up to its first write
 * to a state; 0: at once, by the run's threads. It is the processors that the run leaves idle at first. Rolling
 * digests, small states and comparing recorders, which stop at the very step that differs, are always hashed at once.
 * The records are the same. */
void rp_recorder_set_beside(rp_recorder *recorder, unsigned threads);
/* Completes the record of the last step, if it is not yet complete. */
rp_status rp_recorder_settle(rp_recorder *recorder, rp_error *err);
uint64_t rp_recorder_steps(const rp_recorder *recorder);
const rp_run *rp_recorder_run(const rp_recorder *recorder);
/* run/programs/, run/journal.bin, with keep_feeds data/feeds.*, and what the recorder itself stored; *root is the
 * journal's Merkle root. */
rp_status rp_recorder_add_members(rp_recorder *recorder, rp_archive_writer *writer, rp_digest *root, rp_error *err);
/* The keys of the manifest's run object that the recorder knows. */
rp_status rp_recorder_describe(const rp_recorder *recorder, const rp_digest *root, rp_json *run, rp_error *err);
/* From now on, records are compared but for their digests of the states, which are not those of the run. */
void rp_recorder_forget_states(rp_recorder *recorder);
/* The digest of all present states. */
rp_status rp_recorder_final_state(const rp_recorder *recorder, rp_digest *out, rp_error *err);
/* 1 when the run went on from an archive, else 0. */
uint64_t rp_recorder_resumes(const rp_recorder *recorder);
/* Seconds since the recorder was attached. */
double rp_recorder_age(const rp_recorder *recorder);
/* Nanoseconds spent observing. */
uint64_t rp_recorder_nanoseconds(const rp_recorder *recorder);

/* The digest of a named tensor list as the journal has it, in host memory or on a device. */
rp_status rp_named_tensors_digest(rp_digest *out, const rp_named *named, size_t n, rp_pool *pool, rp_error *err);
rp_status rp_device_tensors_digest(rp_digest *out, const rp_device_tensor *tensor, size_t n, rp_pool *pool,
                                   rp_error *err);
/* The digests of each alone: out[n]. */
rp_status rp_device_tensor_digests(rp_digest *out, const rp_device_tensor *tensor, size_t n, rp_pool *pool,
                                   rp_error *err);

#endif
