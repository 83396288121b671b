/* SPDX-License-Identifier: Apache-2.0
 * Making bundles of OpenSSF Model Signing (FORMAT.md 5.1). */
#include "audit/statements/oms.h"
#include "base/memory.h"

rp_status rp_oms_write(rp_buffer *out, const rp_key *key, const char *archive_id, const rp_member *member,
                       size_t members, rp_error *err)
{
    rp_buffer payload = {0};
    rp_json *envelope = NULL, *bundle = NULL;
    rp_status status;

    if (!rp_key_is_ecdsa(key))
        return rp_fail(err, RP_EARG, "%s: Model Signing has no bundles by %s keys", RP_OMS_BUNDLE, rp_key_type(key));
    if ((status = rp_oms_payload(&payload, archive_id, member, members, err)) == RP_OK &&
        (status = rp_envelope_make(&envelope, key, payload.data, payload.size, err)) == RP_OK) {
        bundle = rp_json_pack("{s:O, s:s, s:{s:{s:s}, s:[]}}", "dsseEnvelope", envelope, "mediaType", RP_OMS_MEDIA_TYPE,
                              "verificationMaterial", "publicKey", "hint", rp_key_id(key), "tlogEntries");
        status = bundle != NULL ? rp_json_write(bundle, out, err) : rp_no_memory(err);
    }
    rp_json_free(bundle);
    rp_json_free(envelope);
    rp_buffer_free(&payload);
    return status;
}
