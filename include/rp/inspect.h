/* SPDX-License-Identifier: Apache-2.0
 * Looking inside a recorded run: one step is computed again, and a tensor of it shown (docs/inside.md). */
#ifndef RP_INSPECT_H
#define RP_INSPECT_H

#include "rp/audit.h"
#include "rp/profile.h"

/* What is looked at: the step's program, instruction by instruction; one instruction's value; or an input. */
typedef struct rp_look {
    uint64_t step;     /* from 0 */
    const char *op;    /* an instruction, as rp_compare names places: "12", inside regions "12/37/5"; NULL: none */
    size_t output;     /* which of its values */
    const char *input; /* a state before the step, data or a feed, by name, or state:NAME, data:NAME, feed:NAME; NULL:
                          none. Not with op */
    bool npy;          /* the tensor as a NumPy file too */
    bool json;         /* a listing as JSON too, which takes more memory than its text; a tensor always is */
} rp_look;

typedef struct rp_looked {
    bool same;  /* what was computed is what the journal records. Of a listing, for which nothing is computed: true */
    char *text; /* lines for people */
    char *json; /* an object: docs/json.md, "reprise inspect --step" */
    void *npy;  /* NULL: not asked for */
    size_t npy_size;
    uint64_t steps_recomputed;
} rp_looked;

/* Computes the archive's run from the nearest checkpoint at or before the step up to it, compares every step with its
 * journal record, and the step once more, instruction by instruction, up to what is looked at. A listing computes
 * nothing. Of options threads, level, device, max_work, max_memory and progress count. Errors: RP_EARG: the run has no
 * such step, the program no such place, or a frame that was not executed; RP_EBITS: a step before it differs;
 * RP_EUNSUPPORTED: the run's data were left out of the archive and not disclosed, or it costs more than it may. A
 * difference in the very step is none: *out shows the tensor as it is here, and `same` is false. */
RP_API rp_status rp_look_inside(const rp_archive *archive, const rp_look *look, const rp_job_options *options,
                                rp_looked **out, rp_error *err);
RP_API void rp_looked_free(rp_looked *looked); /* NULL is fine */

/* Where the time of a recipe's run goes, or of an archive's: steps are made and recorded as by rp_train_recipe, without
 * a file, or replayed and compared as by rp_replay. `first` steps come before the clock (the first draws weights, and
 * memory is cold), `steps` are timed, and the rest is not made; 0 steps: all. *out has ended. Of options threads,
 * level, device, max_work, max_memory, progress and read_table count; progress is told the steps that are made. Errors:
 * those of the two; RP_EARG: the run has no step behind the first. */
RP_API rp_status rp_profile_recipe(const char *recipe_path, uint64_t first, uint64_t steps,
                                   const rp_profile_options *profile, const rp_job_options *options, rp_profile **out,
                                   rp_error *err);
RP_API rp_status rp_profile_archive(const rp_archive *archive, uint64_t first, uint64_t steps,
                                    const rp_profile_options *profile, const rp_job_options *options, rp_profile **out,
                                    rp_error *err);

#endif
