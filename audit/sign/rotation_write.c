/* SPDX-License-Identifier: Apache-2.0
 * Making hand-overs. The text is a DSSE envelope like a statement's, but its subject is a key, so none can pass for the
 * other. */
#include "audit/sign/rotation.h"
#include <string.h>
#include "audit/digest/digest.h"
#include "audit/sign/dsse.h"
#include "audit/sign/utc_time.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/trust.h"

rp_status rp_key_rotation(const rp_key *old, const rp_key *successor, int64_t from, char **text, rp_error *err)
{
    if (!old || !successor) {
        *text = NULL;
        return rp_no_handle(err, __func__, old ? "successor" : "old");
    }

    char time[RP_MOMENT_TEXT];
    rp_buffer pem = {0}, payload = {0}, out = {0};
    rp_json *json = NULL, *envelope = NULL;
    rp_status status;

    *text = NULL;
    if (strcmp(rp_key_id(old), rp_key_id(successor)) == 0)
        return rp_fail(err, RP_EARG, "rotation: key %s cannot succeed itself", rp_key_id(old));
    if (*rp_moment_text(time, from) == '?')
        return rp_fail(err, RP_EARG, "rotation: a time before 1970 or after 9999");
    status = rp_key_public_text(successor, &pem, err);
    rp_buffer_u8(&pem, 0);
    if (status == RP_OK && !pem.failed)
        json = rp_json_pack("{s:s, s:{s:s, s:s}, s:s, s:[{s:{s:s}, s:s}]}", "_type", RP_STATEMENT_TYPE, "predicate",
                            "from", time, "key", (char *)pem.data, "predicateType", RP_ROTATION_TYPE, "subject",
                            "digest", "sha256", rp_key_id(successor), "name", "key");
    if (status == RP_OK)
        status = json != NULL ? rp_json_write(json, &payload, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = rp_envelope_make(&envelope, old, payload.data, payload.size, err);
    if (status == RP_OK)
        status = rp_json_write(envelope, &out, err);
    status = rp_buffer_finish(&out, status, text, err);
    rp_json_free(json);
    rp_json_free(envelope);
    rp_buffer_free(&pem);
    rp_buffer_free(&payload);
    rp_buffer_free(&out);
    return status;
}
