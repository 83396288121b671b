/* SPDX-License-Identifier: Apache-2.0
 * REPRISE_KEY and REPRISE_TRUST. */
#include "cli/signing/defaults.h"

#include <stdlib.h>

#include "cli/print.h"

static rp_status take(const char **out, const char *value, const char *name, const char *option, rp_error *err)
{
    if (value && !*value)
        return rp_fail(err, RP_EARG, "%s is set and empty: unset it, name a file, or give --%s FILE", name, option);
    *out = value;
    return RP_OK;
}

rp_status rp_default_key(rp_session *session, const char **key, bool wanted, rp_error *err)
{
    rp_status status = RP_OK;

    if (wanted && !*key && (status = take(key, getenv("REPRISE_KEY"), "REPRISE_KEY", "key", err)) == RP_OK)
        session->environment_key = *key;
    return status;
}

rp_status rp_signer(rp_session *session, const char **key, const char *command, rp_error *err)
{
    rp_status status = rp_default_key(session, key, true, err);

    if (status == RP_OK && !*key)
        status =
            rp_fail(err, RP_EARG, "%s: --key KEY.pem is missing, and REPRISE_KEY is not set; see reprise %s --help",
                    command, command);
    return status;
}

rp_status rp_default_trust(rp_session *session, rp_text_list *trust, bool allowed, rp_error *err)
{
    rp_status status = RP_OK;

    if (allowed && trust->count == 0 &&
        (status = take(&trust->item[0], getenv("REPRISE_TRUST"), "REPRISE_TRUST", "trust", err)) == RP_OK &&
        (session->environment_trust = trust->item[0]) != NULL)
        trust->count = 1;
    return status;
}

void rp_defaults_put_line(rp_buffer *out, const rp_session *session)
{
    const char *key = session->environment_key, *trust = session->environment_trust;

    if (key || trust)
        rp_buffer_printf(out, "from the environment: %s%s%s%s%s", key ? "--key " : "", key ? key : "",
                         key && trust ? ", " : "", trust ? "--trust " : "", trust ? trust : "");
    if (out->size)
        rp_buffer_u8(out, '\0');
}

void rp_defaults_put_json(rp_buffer *out, const rp_session *session)
{
    if (!session->environment_key && !session->environment_trust)
        return;
    rp_put_open(out, "from_environment", '{');
    if (session->environment_key)
        rp_put_text(out, "REPRISE_KEY", session->environment_key);
    if (session->environment_trust)
        rp_put_text(out, "REPRISE_TRUST", session->environment_trust);
    rp_put_close(out, '}');
}
