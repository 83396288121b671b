/* SPDX-License-Identifier: Apache-2.0
 * Recording the training of a model, from its beginning or from where an archive of it ends. */
#include "base/file.h"
#include "base/handle.h"
#include "core/nn/nn.h"
#include "rp/nn_files.h"

static rp_status go_on(rp_recorder *recorder, const char *path, rp_error *err)
{
    rp_archive *archive;
    rp_status status = rp_archive_open(&archive, path, err);

    if (status == RP_OK)
        status = rp_recorder_resume(recorder, archive, err);
    rp_archive_close(archive);
    return status;
}

static void release(void *recorder)
{
    rp_recorder_free(recorder);
}

static rp_status tell(rp_recorder *recorder, const rp_nn_recording *how, rp_error *err)
{
    rp_status status = RP_OK;

    if (how->checkpoint_every)
        status = rp_recorder_set_checkpoint_period(recorder, how->checkpoint_every, err);
    if (status == RP_OK && how->state_period)
        status = rp_recorder_set_state_period(recorder, how->state_period, err);
    if (status == RP_OK && how->parent)
        status = rp_recorder_set_parent(recorder, how->parent, how->parent_checkpoint, err);
    if (status == RP_OK && how->withhold)
        status = rp_recorder_withhold(recorder, how->withhold, err);
    if (status == RP_OK && how->resume && rp_file_exists(how->resume))
        status = go_on(recorder, how->resume, err);
    return status;
}

static rp_status record(rp_nn *nn, const rp_nn_recording *how, rp_error *err)
{
    rp_recorder *recorder;
    rp_status status = rp_nn_companion(nn) ? rp_fail(err, RP_EARG, "rp_nn_record: the model is recorded already")
                                           : rp_nn_start(nn, err);

    if (status == RP_OK)
        status = rp_recorder_new(&recorder, rp_nn_run(nn), err);
    if (status != RP_OK)
        return status;
    rp_nn_set_companion(nn, recorder, release);
    return how ? tell(recorder, how, err) : RP_OK;
}

rp_status rp_nn_record(rp_nn *nn, const rp_nn_recording *recording, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (rp_nn_told(nn, err) != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, record(nn, recording, rp_nn_error(nn)), err);
}

rp_recorder *rp_nn_recorder(rp_nn *nn)
{
    return nn ? rp_nn_companion(nn) : NULL;
}

static rp_status archive(rp_nn *nn, const char *path, const rp_key *key, char archive_id[RP_DIGEST_HEX], rp_error *err)
{
    if (!rp_nn_companion(nn))
        return rp_fail(err, RP_EARG, "rp_nn_archive: nothing is recorded: rp_nn_record before the first step");
    return rp_recorder_save(rp_nn_companion(nn), path, key, true, archive_id, err);
}

rp_status rp_nn_archive(rp_nn *nn, const char *path, const rp_key *key, char archive_id[RP_DIGEST_HEX], rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (rp_nn_told(nn, err) != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, archive(nn, path, key, archive_id, rp_nn_error(nn)), err);
}
