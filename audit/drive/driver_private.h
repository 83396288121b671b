/* SPDX-License-Identifier: Apache-2.0
 * What a kind of run is to a driver: its functions, over whatever it keeps. A further kind is one file with these, and
 * a row in driver_kinds.c. Private to driver.c and driver_*.c. */
#ifndef AUDIT_DRIVE_DRIVER_PRIVATE_H
#define AUDIT_DRIVE_DRIVER_PRIVATE_H

#include "audit/drive/driver.h"

typedef struct rp_source_ops {
    rp_run_kind kind;
    /* From an archive, which is borrowed; options as for rp_run_new. */
    rp_status (*open)(void **source, const rp_archive *archive, const rp_run_options *options, rp_error *err);
    /* Another one before its first step, for another thread; NULL: it is opened again. */
    rp_status (*clone)(void **source, const void *from, const rp_run_options *options, rp_error *err);
    void (*free)(void *source);
    rp_run *(*run)(const void *source);
    /* Of a recipe, as add_known; all three are NULL for a run of the API. */
    rp_trainer *(*trainer)(const void *source);
    const rp_recipe *(*recipe)(const void *source);
    uint64_t (*total)(const void *source); /* steps */
    rp_status (*step)(void *source, rp_error *err);
    /* What a step's program costs, and the member that decides it; nothing is executed. */
    rp_status (*price)(void *source, uint64_t step, rp_price *price, char member[RP_MEMBER_NAME], rp_error *err);
    rp_status (*restore)(void *source, uint64_t step, const rp_value_source *from, rp_error *err);
    float (*loss)(const void *source);
    /* The periods that it asks for by itself; NULL: it asks for none. */
    void (*periods)(const void *source, uint64_t *state, uint64_t *checkpoint);
    /* The set of first states, if this is when they are: called before step 0 and after it. */
    rp_status (*add_init)(const void *source, rp_archive_writer *writer, rp_error *err);
    /* The members that are known before the first step; data: the data and what was prepared of them too. */
    rp_status (*add_known)(const void *source, rp_archive_writer *writer, bool data, rp_error *err);
    rp_status (*add_members)(const void *source, rp_archive_writer *writer, rp_json *run, rp_error *err);
    rp_status (*metrics)(const void *source, rp_json **out, rp_error *err);
    /* That nothing in the archive is there for nobody. */
    rp_status (*check_inputs)(const void *source, rp_error *err);
} rp_source_ops;

extern const rp_source_ops rp_recipe_source, rp_tape_source, rp_text_source;

/* The source of a recipe on a text: recipe is taken, also on failure; text is borrowed. */
rp_status rp_text_source_new(void **out, rp_recipe *recipe, const rp_kept_text *text, const rp_run_options *options,
                             rp_error *err);

struct rp_driver {
    const rp_source_ops *ops;
    void *source;
    uint64_t state_period, checkpoint_period;
};

/* ops and a source, which is taken, also on failure. */
rp_status rp_driver_make(rp_driver **out, const rp_source_ops *ops, void *source, rp_error *err);
/* The source of the driver of a recipe on a table; NULL for another kind. */
void *rp_driver_recipe_source(const rp_driver *driver);

#endif
