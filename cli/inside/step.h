/* SPDX-License-Identifier: Apache-2.0
 * reprise inspect --step: what one step computed. Only what computes has it. */
#ifndef CLI_INSIDE_STEP_H
#define CLI_INSIDE_STEP_H

#include "cli/limits.h"

typedef struct rp_inspect_step {
    const char *step, *op, *input, *output, *npy, *withheld; /* as given */
    const char *level, *device;
    unsigned threads;
    rp_limits limits;
    uint64_t number; /* resolved */
    size_t output_number;
} rp_inspect_step;

/* The last RP_INSPECT_STEP_OPTIONS of the command's options. */
#define RP_OPTION_INSPECT_STEP(s) \
    {0,          "step", RP_OPTION_TEXT, "N", "list the program of step N (the first is 0), or show a tensor", \
     &(s)->step, false}, \
        {0, \
         "op", \
         RP_OPTION_TEXT, \
         "PLACE", \
         "with --step: show what it computed; in regions as diff writes places: 12/37/5", \
         &(s)->op, \
         false}, \
        {0,    "output", RP_OPTION_TEXT, "I", "which of its values, where it has several (default: 0)", &(s)->output, \
         false}, \
        {0,           "input", RP_OPTION_TEXT, "NAME", "with --step: show this state (before the step), data or feed", \
         &(s)->input, false}, \
        {0, "npy", RP_OPTION_TEXT, "FILE.npy", "write the tensor to this file too, for NumPy", &(s)->npy, false}, \
        RP_OPTION_WITHHELD(&(s)->withheld), RP_OPTION_LIMITS(&(s)->limits), RP_OPTION_THREADS(&(s)->threads), \
        RP_OPTION_ISA(&(s)->level), RP_OPTION_DEVICE(&(s)->device)
enum { RP_INSPECT_STEP_OPTIONS = 11 };

/* Whether the program has --step: reprise-verify computes nothing. */
extern const bool rp_program_computes;

/* Errors: RP_EARG. */
rp_status rp_inspect_step_resolve(rp_inspect_step *step, rp_error *err);
/* Exit code 3 where the step differs from its record. Errors: those of rp_look_inside. */
rp_status rp_inspect_step_put(rp_session *session, const rp_inspect_step *step, rp_archive *archive, const char *path,
                              bool force, rp_error *err);

#endif
