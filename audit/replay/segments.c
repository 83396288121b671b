/* SPDX-License-Identifier: Apache-2.0
 * Segments follow from the number of steps and the checkpoints' period. */
#include "audit/replay/segments.h"

#include "audit/archive/periods.h"
#include "audit/archive/tensor_set.h"

uint64_t rp_segment_begin(const rp_segments *s, size_t index)
{
    return index * s->period;
}

uint64_t rp_segment_end(const rp_segments *s, size_t index)
{
    return index + 1 < s->count ? (index + 1) * s->period : s->total;
}

rp_status rp_segments_of(rp_segments *out, const rp_archive *archive, uint64_t total, uint64_t end, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    const size_t present = rp_archive_checkpoints(archive);
    uint64_t period;
    rp_status status = rp_archive_checkpoint_period(archive, &period, err);

    if (status != RP_OK)
        return status;
    /* members are at most 65,536, so a run with more segments than that lacks a checkpoint */
    *out = (rp_segments){total, end, period ? period : total, present + 1};
    for (size_t i = 1; i < out->count; i++)
        if (i > (end - 1) / out->period || !rp_tensor_set_present(archive, rp_checkpoint_name(name, i * out->period)))
            return rp_fail(err, RP_EFORMAT,
                           RP_CHECKPOINTS ": %zu members, but they are not those after every %llu of %llu steps",
                           present, (unsigned long long)out->period, (unsigned long long)total);
    if (period && (end - 1) / period != present)
        return rp_fail(err, RP_EFORMAT,
                       RP_CHECKPOINTS ": %zu members, expected %llu, one after every %llu of %llu steps", present,
                       (unsigned long long)((end - 1) / period), (unsigned long long)period, (unsigned long long)total);
    return RP_OK;
}
