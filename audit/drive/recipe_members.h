/* SPDX-License-Identifier: Apache-2.0
 * A recipe's run on a table as a driver's source: what it keeps, and the members that only a recipe has. Private to
 * driver_recipe.c and recipe_members.c. */
#ifndef AUDIT_DRIVE_RECIPE_MEMBERS_H
#define AUDIT_DRIVE_RECIPE_MEMBERS_H

#include "audit/drive/driver.h"

/* What was made of the last evaluations, once asked for. */
typedef struct judged {
    rp_json *reference, *metrics, *coefficients;
} judged;

typedef struct recipe_source {
    bool lent;     /* recipe, table and start are another source's */
    bool withheld; /* the table is left out of the archive: nothing that goes in or is told quotes its cells */
    rp_recipe *recipe;
    rp_buffer csv;            /* bytes from an archive; empty when they are kept by others */
    const rp_kept_text *kept; /* NULL: csv */
    rp_buffer test;           /* these two likewise of data.test_csv, where the recipe has it */
    const rp_kept_text *kept_test;
    rp_trainer *trainer;
    rp_start *start; /* with a parent: the states to start from */
    rp_trials tried; /* json NULL: nothing was */
    struct {
        const rp_program *program;
        rp_price price;
    } priced[6]; /* the trainer's programs, once asked for */
    size_t n_priced;
    judged *judged;
} recipe_source;

static inline rp_source_text rp_recipe_source_text(const recipe_source *s)
{
    return s->kept ? s->kept->text : (rp_source_text){s->csv.data, s->csv.size, RP_TABLE_MEMBER, NULL, NULL};
}

/* Of rp_source_ops: source is a recipe_source. */
rp_status rp_recipe_add_init(const void *source, rp_archive_writer *writer, rp_error *err);
rp_status rp_recipe_add_known(const void *source, rp_archive_writer *writer, bool data, rp_error *err);
rp_status rp_recipe_add_members(const void *source, rp_archive_writer *writer, rp_json *run, rp_error *err);
rp_status rp_recipe_metrics(const void *source, rp_json **out, rp_error *err);

/* What the table is like. */
rp_status rp_recipe_tell_table(const recipe_source *s, rp_buffer *out, rp_error *err);
/* What is made of the last evaluations in the contract's environment, the caller's being what it may: the metrics and
 * the reference, kept until the run goes on, and, where all is asked for, the coefficients. */
rp_status rp_recipe_judge(const recipe_source *s, bool all, rp_error *err);

#endif
