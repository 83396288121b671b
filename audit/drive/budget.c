/* SPDX-License-Identifier: Apache-2.0
 * What a replay, a comparison or predictions would cost, added up before anything is computed: an archive of a few
 * kilobytes may hold a loop of centuries. The prices are those of audit/FORMAT.md 9. */
#include "audit/drive/budget.h"

#include <stdio.h>

#include "audit/archive/archive.h"
#include "audit/archive/journal.h"

static const uint64_t usual_work = (uint64_t)1 << 56; /* a day at 10^12 a second */

rp_status rp_budget_add(rp_budget *budget, const rp_price *price, uint64_t times, const rp_job_options *options,
                        const char *what, rp_error *err)
{
    const uint64_t max_work = options && options->max_work ? options->max_work : usual_work;
    const uint64_t max_memory = options && options->max_memory ? options->max_memory : UINT64_MAX;

    if (price->memory > max_memory / (budget->sides ? budget->sides : 1))
        return rp_fail(err, RP_EUNSUPPORTED,
                       "%s: needs %llu bytes of memory (M)%s, expected at most %llu: nothing was executed; allow more "
                       "with --max-memory (max_memory of rp_job_options)",
                       what, (unsigned long long)price->memory,
                       budget->sides > 1 ? ", twice as two runs are compared" : "", (unsigned long long)max_memory);
    if (times && price->work > (max_work - budget->work) / times)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "%s: takes %llu operations on elements (W)%s after %llu of what comes before, expected at most "
                       "%llu in all: nothing was executed; allow more with --max-work (max_work of rp_job_options)",
                       what, (unsigned long long)price->work, times > 1 ? ", many times," : "",
                       (unsigned long long)budget->work, (unsigned long long)max_work);
    budget->work += times * price->work;
    return RP_OK;
}

rp_status rp_replay_afford(rp_budget *budget, rp_driver *driver, uint64_t first, uint64_t end,
                           const rp_job_options *options, rp_error *err)
{
    rp_status status = RP_OK;

    for (uint64_t step = first; step < end && status == RP_OK; step++) {
        char program[RP_MEMBER_NAME], what[RP_MEMBER_NAME + 40];
        rp_price price;

        status = rp_driver_price(driver, step, &price, program, err);
        if (status != RP_OK)
            return status;
        (void)snprintf(what, sizeof what, "step %llu: %s", (unsigned long long)step, program);
        status = rp_budget_add(budget, &price, 1, options, what, err);
    }
    return status;
}

/* A refusal for work says what would do: what all steps take. */
static rp_status tell_all(rp_driver *driver, uint64_t steps, const rp_job_options *options, rp_error *err)
{
    const uint64_t max_work = options && options->max_work ? options->max_work : usual_work;
    const rp_error refusal = err ? *err : (rp_error){0};
    uint64_t all = 0;

    for (uint64_t step = 0; step < steps; step++) {
        char program[RP_MEMBER_NAME];
        rp_price price;

        if (rp_driver_price(driver, step, &price, program, NULL) != RP_OK || price.work > UINT64_MAX - all)
            return RP_EUNSUPPORTED;
        all += price.work;
    }
    return all <= max_work ? RP_EUNSUPPORTED
                           : rp_fail(err, RP_EUNSUPPORTED, "%s; all %llu steps take %llu", refusal.text,
                                     (unsigned long long)steps, (unsigned long long)all);
}

/* A driver with more steps than the journal has records fails at the first one too many. */
rp_status rp_replay_afford_all(rp_driver *driver, const rp_archive *archive, const rp_job_options *options,
                               rp_error *err)
{
    const rp_member *journal = rp_archive_find(archive, RP_JOURNAL_MEMBER);
    const uint64_t records = journal ? journal->size / RP_RECORD_SIZE : 0, total = rp_driver_total(driver);
    const uint64_t steps = total < records + 1 ? total : records + 1;
    const rp_status status = rp_replay_afford(&(rp_budget){0}, driver, 0, steps, options, err);

    return status == RP_EUNSUPPORTED ? tell_all(driver, steps, options, err) : status;
}
