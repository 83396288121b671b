/* SPDX-License-Identifier: Apache-2.0
 * A signer's certificates from a file, for its key and its archives. */
#include <string.h>

#include "audit/sign/certificate.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/memory.h"
#include "rp/trust.h"

rp_status rp_certificate_load(rp_certificate *out, rp_buffer *text, const char *path, rp_error *err)
{
    rp_buffer file = {0};
    rp_status status = rp_file_read(path, RP_CERTIFICATE_LIMIT, &file, err);

    memset(out, 0, sizeof *out);
    if (status == RP_EDATA)
        status = rp_fail(err, RP_EARG, "%s: too large for a chain of certificates", path);
    if (status == RP_OK)
        status = rp_certificate_parse(out, file.data, file.size, false, path, RP_EARG, err);
    if (status == RP_OK)
        status = rp_certificate_write(text, out, err);
    rp_buffer_free(&file);
    return status;
}

rp_status rp_key_load_certificates(rp_key *key, const char *path, rp_error *err)
{
    if (!key)
        return rp_no_handle(err, __func__, "key");

    rp_certificate certificate;
    rp_buffer text = {0};
    rp_status status = rp_certificate_load(&certificate, &text, path, err);

    if (status == RP_OK && strcmp(rp_key_id(certificate.key), rp_key_id(key)) != 0)
        status = rp_fail(err, RP_EARG, "%s: the first certificate is of key %s, the signing key is %s", path,
                         rp_key_id(certificate.key), rp_key_id(key));
    if (status == RP_OK)
        rp_key_set_certificates(key, &text);
    rp_certificate_clear(&certificate);
    rp_buffer_free(&text);
    return status;
}
