/* SPDX-License-Identifier: Apache-2.0
 * Progress on stderr while it is a terminal, and interruption: SIGINT, SIGTERM and SIGHUP stop a job between two steps,
 * so that it ends as any failing job does and leaves nothing behind; a second one, or one while no steps run (data
 * being prepared, an archive being written), removes temporary files and ends the process at once. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/cli.h"

typedef struct rp_meter {
    const char *label;
    bool shown; /* stderr is a terminal that can rewrite a line */
    bool colour;
    bool drawn;   /* something stands on the line */
    bool trying;  /* what was told last was a trial */
    bool reading; /* what was told last was a table being read */
    double start, last;
} rp_meter;

/* Installs the handlers. SIGPIPE is ignored: a closed stdout is an error like any other. */
void rp_signals_install(void);
/* A file the handler shall remove and its folder; NULL: none. Both must stay valid until replaced. */
void rp_signals_scratch(const char *file, const char *folder);
/* Holds signals back, for a change that must be whole, until called with false. */
void rp_signals_hold(bool hold);

/* From the first update to that of the last step, signals stop the job through the callback. */
void rp_meter_begin(rp_meter *meter, const char *label);
bool rp_meter_update(void *meter, const rp_progress *progress);      /* for rp_job_options */
void rp_meter_outlook(void *meter, uint64_t steps, uint64_t memory); /* likewise: a line above the bar */
void rp_meter_reading(void *meter, uint64_t bytes, uint64_t all);    /* likewise */
void rp_meter_clear(rp_meter *meter); /* the line is empty, for what shall stand above the bar */
void rp_meter_end(rp_meter *meter);

#endif
