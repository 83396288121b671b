/* SPDX-License-Identifier: Apache-2.0
 * What a run says of its model, for the clauses of a policy on it: recipe, schema and metrics as recorded. That they
 * are what recipe and data give, a replay shows. */
#ifndef AUDIT_TRUST_FACTS_H
#define AUDIT_TRUST_FACTS_H

#include "audit/archive/archive.h"

typedef struct rp_run_facts {
    rp_json *recipe, *schema, *metrics, *trials; /* NULL: not there, left out, or not canonical JSON */
    char table[RP_DIGEST_HEX];                   /* SHA-256 of data/raw.csv; "": it was left out, or there is none */
    char tested[RP_DIGEST_HEX];                  /* likewise of data/test.csv */
    rp_json *pinned, *line;                      /* run.pinned and run.parent.pinned of the manifest; NULL: none */
} rp_run_facts;

/* Errors: RP_EIO, RP_EHASH, RP_ENOMEM; a member that is not what it should be is none. Free with rp_run_facts_free. */
rp_status rp_run_facts_read(rp_run_facts **out, const rp_archive *archive, rp_error *err);
void rp_run_facts_free(rp_run_facts *facts); /* NULL is fine */
/* That recipe and manifest name the same profile, and of a pinned one the same products and workspace (FORMAT 16), so
 * that no run passes for one that anybody can replay, and that the recipe is one of the run's kind. Nothing where the
 * recipe was left out. Errors: RP_EFORMAT (also of a recipe that is no canonical JSON object, or a larger one than
 * readers take), RP_EIO, RP_EHASH, RP_ENOMEM. */
rp_status rp_recipe_check(const rp_archive *archive, rp_error *err);

/* The value at a dotted path; NULL: there is none. */
const rp_json *rp_fact_at(const rp_json *json, const char *path);
/* As a policy writes it: "8", "0.5", "true", "null", "adamw", "[8, 4]"; "" for what has no such text. */
void rp_fact_text(const rp_json *value, rp_buffer *out);
/* An integer, or a text that is a real number. */
bool rp_fact_number(const rp_json *value, double *out);

#endif
