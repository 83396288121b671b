/* SPDX-License-Identifier: Apache-2.0
 * What a replay or a comparison would cost, added up before anything is computed: an archive of a few kilobytes may
 * hold a loop of centuries. The prices are those of audit/FORMAT.md 9. */
#include "audit/archive/archive.h"
#include "audit/archive/journal.h"
#include "audit/replay/replay.h"

static const uint64_t usual_work = (uint64_t)1 << 56; /* a day at 10^12 a second */

rp_status rp_replay_afford(rp_budget *budget, rp_driver *driver, uint64_t first, uint64_t end,
                           const rp_job_options *options, rp_error *err)
{
    const uint64_t max_work = options && options->max_work ? options->max_work : usual_work;
    const uint64_t max_memory = options && options->max_memory ? options->max_memory : UINT64_MAX;
    const uint64_t sides = budget->sides ? budget->sides : 1;

    for (uint64_t step = first; step < end; step++) {
        char program[RP_MEMBER_NAME];
        rp_price price;
        rp_status status = rp_driver_price(driver, step, &price, program, err);

        if (status != RP_OK)
            return status;
        if (price.memory > max_memory / sides)
            return rp_fail(err, RP_EUNSUPPORTED,
                           "step %llu: %s: needs %llu bytes of memory (M)%s, expected at most %llu: nothing was "
                           "executed; allow more with --max-memory (max_memory of rp_job_options)",
                           (unsigned long long)step, program, (unsigned long long)price.memory,
                           sides > 1 ? ", twice as two runs are compared" : "", (unsigned long long)max_memory);
        if (price.work > max_work - budget->work)
            return rp_fail(err, RP_EUNSUPPORTED,
                           "step %llu: %s: takes %llu operations on elements (W) after %llu of the steps before it, "
                           "expected at most %llu in all: nothing was executed; allow more with --max-work (max_work "
                           "of rp_job_options)",
                           (unsigned long long)step, program, (unsigned long long)price.work,
                           (unsigned long long)budget->work, (unsigned long long)max_work);
        budget->work += price.work;
    }
    return RP_OK;
}

/* A driver with more steps than the journal has records fails at the first one too many. */
rp_status rp_replay_afford_all(rp_driver *driver, const rp_archive *archive, const rp_job_options *options,
                               rp_error *err)
{
    const rp_member *journal = rp_archive_find(archive, RP_JOURNAL_MEMBER);
    const uint64_t records = journal ? journal->size / RP_RECORD_SIZE : 0, total = rp_driver_total(driver);

    return rp_replay_afford(&(rp_budget){0}, driver, 0, total < records + 1 ? total : records + 1, options, err);
}
