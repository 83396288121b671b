/* SPDX-License-Identifier: Apache-2.0
 * The clause on findings: what those of the group have found wrong and not settled. The last word on a finding is that
 * of whoever opened it: nobody else closes it. */
#include <string.h>
#include <time.h>

#include "audit/sign/utc_time.h"
#include "audit/trust/policy_check.h"

/* By one person under one id, and later; of one second the open one stands. */
static bool follows(const rp_check *c, size_t later, size_t i)
{
    const rp_verified_statement *a = &c->verified->statement[i], *b = &c->verified->statement[later];
    const int order = strcmp(b->time, a->time);

    return strcmp(a->finding->id, b->finding->id) == 0 && rp_evidence_same_signer(c, i, later) &&
           (order > 0 ? !rp_evidence_to_come(c, later) : order == 0 && !b->finding->closed && a->finding->closed);
}

static bool settled(const rp_check *c, size_t i)
{
    for (size_t k = 0; k < c->verified->statements; k++)
        if (k != i && c->verified->statement[k].finding && rp_evidence_in_group(c, k) && follows(c, k, i))
            return true;
    return c->verified->statement[i].finding->closed;
}

bool rp_finding_settled(const rp_verification *v, size_t i)
{
    const rp_check c = {.verified = v}; /* of every group */

    if (v == NULL || i >= v->statements || v->statement[i].finding == NULL)
        return false;
    for (size_t k = 0; k < v->statements; k++)
        if (k != i && v->statement[k].finding && follows(&c, k, i))
            return true;
    return v->statement[i].finding->closed;
}

static bool overdue(const rp_stated_finding *finding)
{
    int64_t due;

    return rp_moment_parse(&due, finding->due) && due < (int64_t)time(NULL);
}

void rp_check_findings(rp_check *c, rp_buffer *text)
{
    const rp_verification *v = c->verified;
    const int most = c->clause->tolerated;

    rp_buffer_printf(text, "no finding by %s is open", c->group->name);
    if (most >= 0)
        rp_buffer_printf(text, " but of severity %s at most, and not overdue", rp_severity_name((rp_severity)most));
    for (size_t i = 0; i < v->statements; i++) {
        const rp_stated_finding *one = v->statement[i].finding;

        if (one == NULL || !rp_evidence_in_group(c, i) || settled(c, i))
            continue;
        c->refuted = c->refuted || (int)one->severity > most || overdue(one);
        rp_buffer_printf(&c->found, "%s%s %s (%s%s) is open", c->found.size ? ", " : "",
                         rp_severity_name(one->severity), one->id, one->owner, overdue(one) ? ", overdue" : "");
    }
    rp_evidence_refuse(c);
    rp_evidence_note_outsiders(c);
    if (c->found.size == 0)
        rp_buffer_text(&c->found, "none is open here");
}
