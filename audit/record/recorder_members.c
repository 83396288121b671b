/* SPDX-License-Identifier: Apache-2.0
 * What was recorded, as members of an archive and keys of its manifest. */
#include <stdio.h>
#include <string.h>

#include "audit/record/recorder_private.h"
#include "audit/pinned/host.h"
#include "base/memory.h"

rp_status rp_recorder_add_members(rp_recorder *r, rp_archive_writer *writer, rp_digest *root, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_byte_source journal;
    rp_status status = rp_recorder_settle(r, err);

    if (status != RP_OK)
        return status;
    journal = rp_recorder_journal(r);
    if (r->failed)
        return rp_fail(err, RP_EARG, "recording failed at an earlier step: the archive would not be whole");
    for (size_t i = 0; i < r->n_programs && status == RP_OK; i++) {
        (void)rp_program_name(name, i);
        status = rp_archive_writer_add(writer, name, r->program[i].text.data, r->program[i].text.size, err);
    }
    if (status == RP_OK)
        status = rp_archive_writer_stream(writer, RP_JOURNAL_MEMBER, &journal, err);
    if (status == RP_OK && r->feeds)
        status = rp_feeds_add_members(r->feeds, writer, err);
    if (status == RP_OK)
        status = rp_recorder_add_stored(r, writer, err);
    if (status == RP_OK)
        status = rp_journal_root(root, &journal, err);
    return status;
}

rp_status rp_recorder_final_state(const rp_recorder *r, rp_digest *out, rp_error *err)
{
    size_t n;
    const rp_device_tensor *state = rp_run_states(r->run, &n);

    return rp_device_tensors_digest(out, state, n, rp_device_pool(rp_run_device(r->run)), err);
}

static int set_digest(rp_json *run, const char *key, const rp_digest *digest)
{
    char hex[RP_DIGEST_HEX];

    rp_digest_hex(hex, digest);
    return rp_json_object_set_new(run, key, rp_json_string(hex));
}

rp_status rp_recorder_describe(const rp_recorder *r, const rp_digest *root, rp_json *run, rp_error *err)
{
    int failed = set_digest(run, "journal_root", root);
    rp_digest final;
    rp_status status = r->pinned ? rp_pinned_say_products(r->pinned, rp_run_device(r->run), err) : RP_OK;

    if (status != RP_OK)
        return status;
    if (r->pinned)
        failed |= rp_json_object_set(run, "pinned", r->pinned);
    failed |= rp_json_object_set_new(run, "steps", rp_json_integer((int64_t)rp_recorder_steps(r)));
    if (r->checkpoint_period && r->checkpoint_period < rp_recorder_steps(r) && r->checkpoint_period < r->total)
        failed |= rp_json_object_set_new(run, "checkpoint_every", rp_json_integer((int64_t)r->checkpoint_period));
    if (r->parent)
        failed |= rp_json_object_set(run, "parent", r->parent);
    if (r->rolling) {
        status = rp_recorder_final_state(r, &final, err);
        if (status != RP_OK)
            return status;
        failed |= set_digest(run, "final_state", &final);
        failed |= rp_json_object_set_new(run, "state_period", rp_json_integer((int64_t)rp_rolling_period(r->rolling)));
    }
    return failed ? rp_no_memory(err) : RP_OK;
}
