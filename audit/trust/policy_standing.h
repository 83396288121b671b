/* SPDX-License-Identifier: Apache-2.0
 * During verification: how each statement stands to the clauses of a policy that ask for certificates or timestamps. */
#ifndef AUDIT_TRUST_POLICY_STANDING_H
#define AUDIT_TRUST_POLICY_STANDING_H

#include "audit/trust/policy.h"
#include "audit/trust/trust_view.h"

/* After the signature of a statement of that kind was found to be signer's: judges it for each clause of view->policy,
 * which may be NULL, and adds what was found to result. *taken: a clause takes its signer by certificate. Errors: those
 * of its timestamp, RP_ENOMEM. */
rp_status rp_policy_stand(const rp_trust_view *view, rp_statement_kind kind, const rp_key *signer, const char *member,
                          rp_verification *result, bool *taken, rp_error *err);
void rp_verified_standing_clear(rp_verified_standing *standing);

#endif
