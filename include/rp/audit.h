/* SPDX-License-Identifier: Apache-2.0
 * Recording runs into archives, and replaying, comparing and using archives. audit/FORMAT.md gives the bytes. */
#ifndef RP_AUDIT_H
#define RP_AUDIT_H

#include "rp/archive.h"
#include "rp/program.h"
#include "rp/run.h"
#include "rp/statement.h"

/* ---- recording a run of the C API ---- */

typedef struct rp_recorder rp_recorder;

/* Starts watching a run: after its state and data were added, before its first step. Borrows the run until freed. */
RP_API rp_status rp_recorder_new(rp_recorder **out, rp_run *run, rp_error *err);
/* Before the first step. 1 (the default): each step commits to the whole state. 2 to 65536: rolling state digests, each
 * step commits to every period-th leaf of 4096 bytes and to all small states, so that a change is seen within period
 * steps, not at once (audit/FORMAT.md 10 says what a verifier can conclude). Errors: RP_EARG, RP_ENOMEM. */
RP_API rp_status rp_recorder_set_state_period(rp_recorder *recorder, uint64_t period, rp_error *err);
/* Before the first step, of a run whose first states are another run's: names the archive at path as the run's parent.
 * Those first states that are a state of the parent's under the same name, byte for byte, count as taken over; there
 * must be one. The parent's id and their names and digest go into the manifest, which a replay makes again and
 * rp_check_parent compares with the parent. checkpoint  0: the parent's weights/final.safetensors; else its checkpoint
 * after so many steps Errors: RP_EARG: no such checkpoint, or nothing of the parent's is here; those of opening. */
RP_API rp_status rp_recorder_set_parent(rp_recorder *recorder, const char *path, uint64_t checkpoint, rp_error *err);
/* Before the first step. Leaves the inputs (data/...) out of the archive: its manifest binds them, and the journal the
 * feeds, by digests under a salt. rp_recorder_save puts the files into folder, made if need be with mode 0700; the salt
 * is its file `salt`, read when there is one and else made. Errors: RP_EARG, RP_EDATA (the salt), RP_EIO. */
RP_API rp_status rp_recorder_withhold(rp_recorder *recorder, const char *folder, rp_error *err);
/* Before the first step. 0 (the default): none; else after every period-th step all states are kept for the archive,
 * where later replays can begin (audit/FORMAT.md 11). They wait in an unnamed file in $TMPDIR or /tmp. Errors: RP_EARG,
 * RP_EIO, RP_ENOMEM. */
RP_API rp_status rp_recorder_set_checkpoint_period(rp_recorder *recorder, uint64_t period, rp_error *err);
/* Writes the archive of the steps so far, signed when key is not NULL; by an ECDSA key with a bundle for the verifier
 * of OpenSSF Model Signing too, which knows no Ed25519. archive_id may be NULL. Errors: RP_EEXIST without force;
 * RP_EARG for no steps; RP_EIO; RP_ENOMEM. Nothing is left under path on failure. */
RP_API rp_status rp_recorder_save(rp_recorder *recorder, const char *path, const rp_key *key, bool force,
                                  char archive_id[RP_DIGEST_HEX], rp_error *err);
/* In a program that has made the same run again, with its first states, its data and a new recorder with the same
 * periods, and no step: run and recorder go on behind the archive's last step, which rp_recorder_save wrote then.
 * rp_run_steps says how many were made; what the program itself must know to go on from there is its own affair. The
 * archive in the end is that of a run that was never stopped. Errors: RP_EARG: an archive of another run, or too late;
 * RP_EUNSUPPORTED: the run withholds its data, or one of the two is pinned; RP_EFORMAT, RP_EHASH, RP_EIO, RP_ENOMEM.
 * After these run and recorder should be given up. */
RP_API rp_status rp_recorder_resume(rp_recorder *recorder, const rp_archive *archive, rp_error *err);
RP_API void rp_recorder_free(rp_recorder *recorder); /* before the run is freed; NULL is fine */

/* ---- whole jobs ---- */

typedef struct rp_progress {
    uint64_t step, steps; /* done, in all */
    float loss;           /* of the last training step */
    /* Of what is tried before the run: step and steps are this trial's, from 1. 0: it is the run itself. */
    uint64_t trial, trials;
} rp_progress;

/* What a replay is to repeat. */
typedef struct rp_replay_choice {
    rp_replay_mode mode;
    uint64_t first, last; /* range: steps; it begins at the nearest checkpoint at or before first */
    uint32_t share;       /* sample: millionths of the run's segments, 1 to 1000000, rounded up to whole segments */
    const char *seed;     /* sample: the auditor's words, as rp_sample_draw takes them */
    unsigned parallel; /* segments at a time, each on `threads` of its own; 0 and 1: one. With a full replay it makes a
                              range of all steps of it, in which the manifest is not made again */
} rp_replay_choice;

typedef struct rp_job_options {
    unsigned threads; /* these three as in rp_run_options */
    const char *level;
    const char *device;
    bool no_record; /* rp_train_recipe: only compute (to measure what recording costs) */
    /* Called after each step, may be NULL; returning false stops the job with RP_ECANCELED. */
    bool (*progress)(void *self, const rp_progress *progress);
    /* rp_train_recipe: called before the first step with what is ahead: steps in all, and bytes of the device that
     * weights, table and all steps' programs hold. May be NULL. */
    void (*outlook)(void *self, uint64_t steps, uint64_t memory);
    /* rp_train_recipe, rp_retrain: called while the table is read, with its bytes so far: first as they come (all 0:
     * how many there will be is not known), then as they become columns, maybe more than once. May be NULL. */
    void (*reading)(void *self, uint64_t bytes, uint64_t all);
    void *self;
    const char *withhold; /* rp_train_recipe: leave data, what quotes it and single rows' scores out, in this folder */
    const rp_replay_choice *choice; /* rp_replay: NULL: all of the run */
    rp_replay_begun *begun;         /* rp_replay: filled before its first step, for whoever attests it; may be NULL */
    /* rp_train_recipe with a path: seconds between two resume points, and one when progress stops the job; they lie in
     * PATH.resume until the archive has its name, and no byte of the archive depends on them. 0: none. A run in the
     * pinned profile keeps none: RP_EUNSUPPORTED, but with save_if_can, when it goes on without. */
    double save_every;
    bool save_if_can;
    bool resume; /* go on from the last resume point, if there is one */
    /* rp_replay, rp_compare, rp_diff, rp_predict: what it may cost, by the prices of rp/program.h, added up over the
     * steps to be computed before any is executed. Beyond it: RP_EUNSUPPORTED. 0: operations on elements (W) 2^56,
     * memory of a step's program (M; of a comparison twice) any. */
    uint64_t max_work, max_memory;
    const char *other_level, *other_device; /* rp_compare, rp_diff: how B is computed; NULL: as A */
    /* rp_train_recipe: called before the first step with what the table holds, as table of rp_job. May be NULL. */
    void (*table)(void *self, const char *json);
    /* rp_train_recipe, rp_describe_data: reads a table in the place of a plain file: hands its bytes, at most limit of
     * them, piece by piece to take with taker, and stops at an error of take, which it returns. data.csv and path "-"
     * reach it as they are. May be NULL. */
    rp_status (*read_table)(const char *path, size_t limit,
                            rp_status (*take)(void *taker, const void *bytes, size_t size, rp_error *err), void *taker,
                            rp_error *err);
    /* rp_train_recipe, rp_replay: called before the first step with the run that makes the steps, for whoever watches
     * it (rp_run_profile); of segments side by side the first one's. It ends before the call returns. May be NULL. */
    void (*opened)(void *self, rp_run *run);
    /* rp_validate, rp_validation_check: the archive that the run started from, that one's own parent and so on, in any
     * order: rows that trained one of them count as seen. rp_retraining_compare, rp_retraining_check: those behind the
     * parent. Without one of them `seen` of a run that has a parent is
     * null, as it is of explanations in any case. Borrowed. */
    const rp_archive *const *parents;
    size_t n_parents;
    /* rp_describe_parts, rp_describe_data: the file that the parts are to be written to, which may be none that the
     * recipe names, nor the recipe, and the table may not be standard input, which is read once: RP_EARG. May be NULL.
     */
    const char *parts;
    /* rp_train_recipe, rp_retrain, rp_replay: as in rp_run_options; of a recipe that is trained 0 is what it says
     * itself (docs/recipe.md). */
    uint64_t memory;
    /* rp_train_recipe, rp_describe_data: decodes a file of a recipe on images (docs/arrays.md): hands its pixels, row
     * by row, the channels of each side by side, to take with taker, once, and returns what that returns. where names
     * the file in errors. NULL: such recipes are refused. */
    rp_status (*decode_image)(const void *bytes, size_t size, const char *where,
                              rp_status (*take)(void *taker, size_t height, size_t width, size_t channels,
                                                const unsigned char *pixels, rp_error *err),
                              void *taker, rp_error *err);
} rp_job_options;

typedef struct rp_job {
    char archive_id[RP_DIGEST_HEX];
    uint64_t steps;     /* journal records */
    char *metrics;      /* outputs/metrics.json; "{}" for a run of the API */
    char *coefficients; /* outputs/coefficients.json of an exact fit; else NULL */
    char *table;        /* what the table holds (rp_describe_data); "{}" for a run of the API */
    double seconds, recording_seconds;
    char level[16];
    unsigned threads;
    char device[96];       /* what computed where that is not the processor: "cuda-sm90 ..."; "": the processor */
    char pinned_to[192];   /* library and chip that computed its products, as of rp_pinned_to; "": it is portable */
    uint64_t memory;       /* bytes of the device that states, data and compiled programs held */
    size_t members;        /* replay: members reproduced and compared */
    uint64_t trials;       /* run: what was tried before it, and is in the archive with its result */
    rp_replay_scope scope; /* replay: what was repeated */
    uint64_t resumed_at;   /* run: the step it went on after; 0: from the start */
    uint64_t resumes;      /* run: how often it was resumed, in all */
    uint64_t saved_points; /* run: resume points made, and the seconds that took */
    double saving_seconds;
    char save_note[256]; /* run: what went wrong with resume points and was overcome; "" if nothing */
} rp_job;

/* Trains by the YAML recipe at recipe_path and writes the archive, signed when key is not NULL. path NULL: writes
 * nothing. Errors: those of the recipe (RP_EARG), the data (RP_EDATA) and the file; nothing is left under path. Resume
 * points in PATH.resume: RP_EEXIST without resume and force, which drops them; RP_EARG when they are of another recipe,
 * data or version; RP_EHASH when none is whole. They outlive all errors but RP_EDATA. */
RP_API rp_status rp_train_recipe(const char *recipe_path, const char *path, const rp_key *key, bool force,
                                 const rp_job_options *options, rp_job **out, rp_error *err);
/* What a table holds, before anything is learnt from it: JSON text of columns (name, kind, why it is of that kind,
 * missing and distinct cells, minimum, quantiles and maximum, examples), findings (code, level, words, and where:
 * column, line, count) and rows; docs/data.md says what each means. path is a recipe (.yaml, .yml or .json), or any
 * other file: a CSV with a header line. Of a recipe "error" says why a run would be refused, else null. Freed with
 * rp_text_free. Of options, which may be NULL, only read_table and parts count. Errors: RP_EIO; RP_EARG for a recipe,
 * RP_EDATA for a file that is no table at all; RP_ENOMEM. */
RP_API rp_status rp_describe_data(const char *path, const rp_job_options *options, char **json, rp_error *err);
/* Which part of a recipe's table each row is in, as CSV text: `row` (from 0, as in predictions), `line` of the file,
 * `part`: train, validation, test or left_out. Freed with rp_text_free. Options as above. Errors: those of preparing
 * the table; RP_EARG for what is no recipe. */
RP_API rp_status rp_describe_parts(const char *path, const rp_job_options *options, char **csv, rp_error *err);
/* Computes the run again from the open archive alone, all of it or the part of options->choice. All of it: every
 * journal record and every member of the manifest is compared. A part: from each checkpoint that begins a chosen
 * segment, whose states must be those of the journal's record before it, every record of the segment and the states
 * where it ends; besides, whatever was chosen, the data preparation, and metrics and predictions from the final
 * weights. Errors: RP_EBITS at the first difference, naming step or member, expected and found; RP_EARG for a range or
 * sample that the run does not have; RP_EUNSUPPORTED for a run that costs more than the options allow. */
RP_API rp_status rp_replay(const rp_archive *archive, const rp_job_options *options, rp_job **out, rp_error *err);
RP_API void rp_job_free(rp_job *job);
/* What of a pinned run's host is not what is here: a table beside the error of a replay that is refused for it. device:
 * as of rp_job_options. Of a CPU every row's here is "none"; of a device that cannot be had in the profile the
 * one row is "profile", and says why. Errors: RP_EIO, RP_ENOMEM. */
RP_API rp_status rp_replay_host(const rp_archive *archive, const char *device, rp_host_table *out, rp_error *err);
/* The segments that a sample replays (FORMAT.md 12): out[0 .. count - 1], ascending, of 0 .. segments - 1, as the
 * auditor's seed and the archive's id draw them. Errors: RP_EARG for a seed that is not 1 to 128 printable ASCII
 * characters without a space at either end, or a count above segments; RP_ENOMEM. */
RP_API rp_status rp_sample_draw(size_t *out, size_t count, size_t segments, const char *seed, const char *archive_id,
                                rp_error *err);
/* The probability that a sample of `drawn` of `segments` holds at least one of `forged` that whoever forged chose
 * without knowing the seed: 1 - C(segments - forged, drawn) / C(segments, drawn). */
RP_API double rp_sample_catches(uint64_t segments, uint64_t drawn, uint64_t forged);

/* That parent is the child's parent: its id is the one that the child's manifest and recipe record, and the states that
 * the child holds (weights/start.safetensors; of a run of the C API those that it says it has taken over) are the
 * parent's, byte for byte; moments after its last step, which are in no member, by the digest in its journal or
 * manifest; and what the child says of a pinned run before it (rp_archive_pinned_to) is what the parent says. Both
 * archives are open, so each is in itself consistent; who signed them is not looked at: the child's
 * signature binds the parent's id, and the id all of the parent. Errors: RP_EHASH. */
RP_API rp_status rp_check_parent(const rp_archive *child, const rp_archive *parent, rp_error *err);

/* What tells two archives apart. */
typedef struct rp_comparison {
    bool same;  /* the ids are equal, and nothing that was computed differs */
    char *text; /* lines for people */
    char *json; /* null when same; else {"program","record","step","value"}, each null or what docs/diff.md says */
    uint64_t
        digests_compared; /* pairs of digests of the journals' Merkle trees: one for the roots, at most one a level */
    uint64_t steps_recomputed; /* steps computed again, of both runs together */
} rp_comparison;

/* Recipe keys and members; by bisection of the journals through their Merkle trees the first record that differs. If
 * the programs of that step do not compute the same thing, how they differ, and nothing is computed. Else both runs are
 * recomputed up to it from the nearest checkpoint at or before it, and the first value and element is named whose bits
 * differ, inside an iteration, shard or branch of a function where it is there, both values, and their distance.
 * Archives of one id are computed and compared step by step when other_level or other_device is given, else not.
 * Errors: RP_EUNSUPPORTED beyond max_work and max_memory, before anything is executed. */
RP_API rp_status rp_compare(const rp_archive *a, const rp_archive *b, const rp_job_options *options,
                            rp_comparison **out, rp_error *err);
RP_API void rp_comparison_free(rp_comparison *comparison); /* NULL is fine */
/* Its text alone, freed with rp_text_free. */
RP_API rp_status rp_diff(const rp_archive *a, const rp_archive *b, const rp_job_options *options, bool *same,
                         char **text, rp_error *err);

/* Scores the rows of a CSV with the archive's final weights and recorded preparation; the result is CSV text, freed
 * with rp_text_free. */
RP_API rp_status rp_predict(const rp_archive *archive, const void *csv, size_t size, const char *where,
                            const rp_job_options *options, char **out, size_t *length, rp_error *err);
RP_API void rp_text_free(char *text);

/* ---- what programs cost ---- */

/* A function that a program executes, directly or not. */
typedef struct rp_function_listing {
    char digest[RP_DIGEST_HEX]; /* SHA-256 of its text, in which callees are named by theirs (audit/FORMAT.md 9) */
    size_t uses;                /* how often the program's and its functions' instructions name it */
    size_t instructions;        /* of its text */
    rp_price price;             /* of one execution */
} rp_function_listing;

typedef struct rp_program_listing {
    size_t instructions, states; /* of the text; read or updated */
    rp_price price;              /* of one step */
    size_t functions;
    rp_function_listing *function; /* in the order of the text: callees first */
} rp_program_listing;

/* The archive's distinct programs, run/programs/0000.json and on; 0 when archive is NULL. */
RP_API size_t rp_archive_program_count(const rp_archive *archive);
/* One of them. Nothing is computed. Errors: RP_EARG for no such number; RP_EFORMAT and RP_EUNSUPPORTED for a text that
 * is no program of this build's; RP_EHASH, RP_EIO, RP_ENOMEM. */
RP_API rp_status rp_program_list(rp_program_listing **out, const rp_archive *archive, size_t number, rp_error *err);
RP_API void rp_program_listing_free(rp_program_listing *listing); /* NULL is fine */

/* A text in whose order a report tells the evidence (docs/report.md). */
typedef enum rp_dossier { RP_DOSSIER_NONE, RP_DOSSIER_ANNEX_IV, RP_DOSSIER_ART31, RP_DOSSIER_SR26_2 } rp_dossier;

typedef struct rp_report_options {
    rp_dossier dossier;       /* behind the first page; the other sections follow */
    const rp_archive *parent; /* the run that this one started from, held against it by rp_check_parent; or NULL */
} rp_report_options;

/* A report on an archive for people: one HTML file without scripts, which loads nothing. It tells what was recorded and
 * what of it was checked, and repeats nothing of the run. verified   of this archive by rp_verify; NULL: the report
 * says that signatures were not checked. options may be NULL. out: NUL-terminated, *length bytes before that, a
 * function of archive, verified, options and the library's version; freed with rp_text_free. A member that makes no
 * sense is named in its place in the report. Errors: RP_ENOMEM, RP_EIO, RP_EHASH. */
RP_API rp_status rp_report(const rp_archive *archive, const rp_verification *verified, const rp_report_options *options,
                           char **out, size_t *length, rp_error *err);

/* ---- this host ---- */

/* Versions built against and loaded, CPU, levels, floating-point environment, conformance vectors: JSON text for doctor
 * and for the provenance statement; *healthy is false when a pin does not match or a vector fails. device: NULL, or one
 * whose kernels are to be looked at too, all of them. Errors: RP_EUNSUPPORTED when it is not here. */
RP_API rp_status rp_doctor(const char *device, char **json, bool *healthy, rp_error *err);
/* Whether the kernels of a level conform here (NULL: the level that is used unless another is named), by their vectors,
 * in a fraction of a second: what others compute with is not bound by what these compute. Errors: RP_EUNSUPPORTED names
 * the first that does not, or the level that there is not; RP_ENOMEM. */
RP_API rp_status rp_host_conforms(const char *level, rp_error *err);
/* Whether a device's kernels give the bits of the reference here: of the vectors' specimens all, or some, which takes a
 * fraction of a second. NULL and "cpu" are rp_host_conforms' matter. identity: NULL, or where to say what computes.
 * A device that has passed is kept until the process ends, and vouches for the runs after it there; one that broke is
 * opened and tested anew.
 * Errors: RP_EUNSUPPORTED when they do not, or there is no such device; what the device tells; RP_ENOMEM. */
enum { RP_DEVICE_TEXT = 96 };
RP_API rp_status rp_device_conforms(const char *device, bool all, char identity[RP_DEVICE_TEXT], size_t *vectors,
                                    rp_error *err);

#endif
