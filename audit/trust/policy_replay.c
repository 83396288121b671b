/* SPDX-License-Identifier: Apache-2.0
 * The clause on replays: which verdicts count, and for how much. */
#include <string.h>

#include "audit/statements/statement.h"
#include "audit/trust/policy_check.h"
#include "determinism/pins.h"

/* By segments, which are what a sample draws: one of them may be shorter than the others. */
static bool enough(const rp_replay_scope *scope, uint64_t share)
{
    __extension__ typedef unsigned __int128 wide; /* segments have up to 53 bits, the share 20 */

    return (wide)scope->segments * RP_SHARE_ONE >= (wide)share * scope->segments_total;
}

static bool level_fits(const rp_clause *clause, const char *level)
{
    for (size_t i = 0; i < clause->levels; i++)
        if (strcmp(clause->level[i], level) == 0)
            return true;
    return clause->levels == 0;
}

/* Why a verdict "identical" does not meet the clause, or NULL. A range is not a sample: whoever chose it could choose
 * around what was forged. */
const char *rp_verdict_lacks(rp_check *c, size_t i)
{
    const rp_verdict *v = c->verified->statement[i].verdict;
    const char *made = c->clause->independent ? rp_evidence_made_run(c, i) : NULL;

    if (made)
        return made;
    if (v->contract > RP_CONTRACT_VERSION || v->format > RP_ARCHIVE_FORMAT)
        return "replayed by a contract or a format that is not known here";
    if (!rp_level_known(v->level))
        return "replayed with kernels that are not known here";
    if (rp_evidence_to_come(c, i))
        return "says a time that has not come";
    if (v->scope.mode != RP_REPLAY_FULL && c->clause->full)
        return "replayed only a part";
    if (v->scope.mode == RP_REPLAY_RANGE)
        return "replayed steps of its own choice";
    if (v->scope.mode == RP_REPLAY_SAMPLE && !enough(&v->scope, c->clause->share))
        return "replayed a smaller sample";
    if (v->scope.mode == RP_REPLAY_SAMPLE && *c->clause->seed && strcmp(c->clause->seed, v->scope.seed) != 0)
        return "drew the sample by another seed";
    if (!level_fits(c->clause, v->level))
        return "replayed with other kernels";
    return v->conforms ? rp_evidence_date_lacks(c, i) : "replayed with kernels that do not conform";
}

static void put_share(rp_buffer *text, uint64_t share)
{
    char digits[8];
    size_t length = 6;

    for (size_t i = 6; i-- > 0; share /= 10)
        digits[i] = (char)('0' + share % 10);
    while (length > 1 && digits[length - 1] == '0')
        length--;
    digits[length] = '\0';
    rp_buffer_printf(text, share ? "all" : "at least 0.%s", digits);
}

static void describe_replay(const rp_check *c, rp_buffer *text)
{
    const rp_clause *clause = c->clause;

    if (clause->full)
        rp_buffer_text(text, "replayed in full");
    else {
        rp_buffer_text(text, "replayed in full or by a sample of ");
        put_share(text, clause->share);
        rp_buffer_text(text, " of the segments");
    }
    if (*clause->seed)
        rp_buffer_printf(text, " drawn by seed %s", clause->seed);
    rp_buffer_printf(text, " by %llu of %s", (unsigned long long)clause->count, c->group->name);
    for (size_t i = 0; i < clause->levels; i++)
        rp_buffer_printf(text, "%s%s", i ? " or " : " with kernels ", clause->level[i]);
    if (clause->independent)
        rp_buffer_text(text, ", not by who made the run");
    rp_evidence_describe_dates(c, text);
}

/* A verdict "differs" needs no date: taking its timestamp away must not help. */
void rp_check_replay(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;

    describe_replay(c, text);
    for (size_t i = 0; i < v->statements; i++) {
        const rp_verified_statement *one = &v->statement[i];
        const char *against;

        if (one->kind != RP_STATEMENT_VERDICT || !rp_evidence_in_group(c, i))
            continue;
        against = one->verdict->identical ? rp_verdict_lacks(c, i) : "found that bits differ";
        if (!one->verdict->identical && c->clause->against == RP_AGAINST_FAILS)
            c->refuted = true;
        if (against)
            rp_evidence_note_statement(c, i, against);
        else
            rp_evidence_count(c, i, "found every bit the same");
    }
    rp_evidence_refuse(c);
    rp_evidence_note_outsiders(c);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "no verdict by any of them");
}
