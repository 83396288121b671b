/* SPDX-License-Identifier: Apache-2.0
 * A key to sign with and one to trust from the environment, where the call names none: REPRISE_KEY and REPRISE_TRUST.
 * What is taken from there is told with the results, or with the error. */
#ifndef CLI_SIGNING_DEFAULTS_H
#define CLI_SIGNING_DEFAULTS_H

#include "cli/options.h"

/* Sets *key where it is NULL and something is to be signed. Errors: RP_EARG where the variable is empty: a script whose
 * own variable is unset would otherwise sign nothing in silence. */
rp_status rp_default_key(rp_session *session, const char **key, bool wanted, rp_error *err);
/* Of a command that does nothing but sign. Errors: also RP_EARG where there is no key at all. */
rp_status rp_signer(rp_session *session, const char **key, const char *command, rp_error *err);
/* The same of what is trusted, where the list is empty. allowed: the call says in no other way whom to trust (--policy,
 * --ca, --allow-unsigned): a key of the environment beside those would let more count than was asked for. */
rp_status rp_default_trust(rp_session *session, rp_text_list *trust, bool allowed, rp_error *err);

/* One line for stderr: what was taken from the environment, and where it stands. Empty: nothing was. */
void rp_defaults_put_line(rp_buffer *out, const rp_session *session);
/* With --json: "from_environment":{"REPRISE_KEY":"me.pem"}; nothing where nothing was taken. */
void rp_defaults_put_json(rp_buffer *out, const rp_session *session);

#endif
