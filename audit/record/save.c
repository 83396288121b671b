/* SPDX-License-Identifier: Apache-2.0
 * Saving what was recorded, and all of saving a run of the API. */
#include "audit/record/save.h"

#include <string.h>

#include "audit/archive/withheld.h"
#include "audit/record/provenance.h"
#include "audit/statements/statement.h"
#include "audit/record/recorder.h"
#include "audit/record/data_use.h"
#include "audit/record/states.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/audit.h"

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? rp_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : rp_strdup(".");
}

rp_status rp_save_writer(rp_archive_writer **out, const char *path, rp_error *err)
{
    char *directory = path ? directory_of(path) : NULL;
    rp_status status = path && !directory ? rp_no_memory(err) : rp_archive_writer_new(out, directory, err);

    rp_free(directory);
    return status;
}

/* What is left out comes first, so that no archive is there without its other part. */
rp_status rp_save_withheld(rp_archive_writer *writer, const char *folder, rp_error *err)
{
    rp_status status = rp_withheld_save(writer, folder, err);

    for (size_t i = 0; i < rp_archive_writer_member_count(writer) && status == RP_OK; i++)
        if (strcmp(rp_archive_writer_member(writer, i)->name, RP_RECIPE_MEMBER) == 0)
            status = rp_withheld_claim(folder, &rp_archive_writer_member(writer, i)->digest, err);
    return status;
}

static rp_status sign(rp_archive_writer *writer, const rp_save_target *to, rp_error *err)
{
    rp_json *predicate = NULL;
    rp_status status = rp_provenance_make(&predicate, to->run, to->took, to->resumes, err);

    if (status == RP_OK)
        status = rp_archive_writer_sign(writer, RP_RUN_STATEMENT, to->key, RP_PROVENANCE_TYPE, predicate, err);
    rp_json_free(predicate);
    return status;
}

rp_status rp_save_archive(rp_archive_writer *writer, const rp_save_target *to, rp_error *err)
{
    rp_file_writer *file;
    rp_status status = to->key ? sign(writer, to, err) : RP_OK;

    if (status == RP_OK && to->folder)
        status = rp_save_withheld(writer, to->folder, err);
    if (status == RP_OK)
        status = rp_file_create(&file, to->path, to->force, 0644, err);
    if (status != RP_OK)
        return status;
    status = rp_archive_writer_save(writer, file, err);
    if (status != RP_OK) {
        rp_file_abort(file);
        return status;
    }
    return rp_file_commit(file, err);
}

static rp_status add_data(rp_archive_writer *writer, const rp_recorder *recorder, rp_error *err)
{
    rp_data_use use;
    size_t programs = 0;
    rp_status status = rp_data_use_begin(&use, rp_recorder_run(recorder), err);

    (void)rp_recorder_program(recorder, 0, &programs);
    for (size_t i = 0; i < programs && status == RP_OK; i++)
        status = rp_data_use_text(&use, rp_recorder_program(recorder, i, &programs), "program", err);
    if (status == RP_OK)
        status = rp_data_add(writer, &use, err);
    rp_data_use_free(&use);
    return status;
}

rp_status rp_recorder_save(rp_recorder *recorder, const char *path, const rp_key *key, bool force,
                           char archive_id[RP_DIGEST_HEX], rp_error *err)
{
    if (!recorder)
        return rp_no_handle(err, __func__, "recorder");

    rp_archive_writer *writer = NULL;
    const rp_run *run = rp_recorder_run(recorder);
    rp_digest root;
    rp_json *json = rp_json_object();
    rp_status status = json ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && rp_recorder_steps(recorder) == 0)
        status = rp_fail(err, RP_EARG, "%s: no step has been recorded", path);
    if (status == RP_OK && !force && rp_file_exists(path))
        status = rp_fail(err, RP_EEXIST, "%s: already exists: choose another name, or set force to replace it", path);
    if (status == RP_OK)
        status = rp_save_writer(&writer, path, err);
    if (status == RP_OK && rp_recorder_salt(recorder))
        status = rp_archive_writer_withhold(writer, rp_recorder_salt(recorder), err);
    if (status == RP_OK)
        status = rp_recorder_add_members(recorder, writer, &root, err);
    if (status == RP_OK)
        status = add_data(writer, recorder, err);
    if (status == RP_OK)
        status = rp_states_add(writer, RP_FINAL_MEMBER, run, true, err);
    if (status == RP_OK)
        status = rp_recorder_describe(recorder, &root, json, err);
    if (status == RP_OK)
        status = rp_archive_writer_finish(writer, RP_RUN_API, json, err);
    if (status == RP_OK)
        status = rp_save_archive(writer,
                                 &(rp_save_target){.path = path,
                                                   .folder = rp_recorder_folder(recorder),
                                                   .key = key,
                                                   .run = run,
                                                   .took = rp_recorder_age(recorder),
                                                   .resumes = rp_recorder_resumes(recorder),
                                                   .force = force},
                                 err);
    if (status == RP_OK && archive_id)
        memcpy(archive_id, rp_archive_writer_id(writer), RP_DIGEST_HEX);
    rp_json_free(json);
    rp_archive_writer_free(writer);
    return status;
}
