/* SPDX-License-Identifier: Apache-2.0
 * Putting together what a run left. */
#include "audit/drive/run_archive.h"

#include <stdio.h>

#include "audit/pinned/host.h"
#include "audit/record/recorder.h"
#include "base/memory.h"

rp_status rp_compose_archive(rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer, rp_error *err)
{
    rp_digest root;
    rp_json *run = rp_json_object();
    rp_status status = run ? RP_OK : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_recorder_add_members(recorder, writer, &root, err);
    if (status == RP_OK)
        status = rp_driver_add_members(driver, writer, run, err);
    if (status == RP_OK)
        status = rp_recorder_describe(recorder, &root, run, err);
    if (status == RP_OK)
        status = rp_archive_writer_finish(writer, rp_driver_kind(driver), run, err);
    rp_json_free(run);
    return status;
}

rp_status rp_compose_job(rp_job **out, const rp_driver *driver, rp_error *err)
{
    const rp_run *run = rp_driver_run(driver);
    rp_job *job = rp_calloc(1, sizeof *job);
    rp_status status;

    *out = NULL;
    if (!job)
        return rp_no_memory(err);
    status = rp_driver_metrics(driver, &job->metrics, err);
    if (status == RP_OK)
        status = rp_driver_table(driver, &job->table, err);
    if (status == RP_OK)
        status = rp_driver_coefficients(driver, &job->coefficients, err);
    if (status != RP_OK) {
        rp_free(job->table);
        rp_free(job->metrics);
        rp_free(job);
        return status;
    }
    (void)snprintf(job->level, sizeof job->level, "%s", rp_run_level(run));
    if (!rp_device_shares_memory(rp_run_device(run)))
        (void)snprintf(job->device, sizeof job->device, "%s", rp_device_identity(rp_run_device(run)));
    rp_pinned_device_words(job->pinned_to, sizeof job->pinned_to, rp_run_device(run));
    job->threads = rp_run_threads(run);
    job->memory = rp_run_memory(run);
    *out = job;
    return RP_OK;
}
