/* SPDX-License-Identifier: Apache-2.0
 * Digests of functions: SHA-256 of a function's text in which those that it calls are named by theirs. */
#include "audit/replay/function_names.h"

#include "base/memory.h"

const char *rp_function_digest(const rp_function_names *names, const rp_function *function)
{
    return names->digest[rp_functions_index(&names->known, function)];
}

static void put_digest(rp_buffer *out, const void *self, const rp_function *function)
{
    rp_buffer_u8(out, '"');
    rp_buffer_text(out, rp_function_digest(self, function));
    rp_buffer_u8(out, '"');
}

/* Callees come first, so their digests are known. */
static rp_status name(rp_function_names *names, size_t i, rp_error *err)
{
    rp_buffer text = {0};
    rp_digest digest;
    rp_status status;

    rp_function_text(&text, names->known.function[i], (rp_function_namer){put_digest, names});
    status = text.failed ? rp_no_memory(err) : rp_sha256(&digest, text.data, text.size, err);
    rp_buffer_free(&text);
    if (status == RP_OK)
        rp_digest_hex(names->digest[i], &digest);
    return status;
}

rp_status rp_function_names_of(rp_function_names *out, const rp_program *program, rp_error *err)
{
    rp_status status;

    *out = (rp_function_names){.digest = NULL};
    status = rp_functions_of(&out->known, program, err);
    if (status == RP_OK) {
        out->digest = rp_calloc(out->known.n ? out->known.n : 1, sizeof *out->digest);
        status = out->digest ? RP_OK : rp_no_memory(err);
    }
    for (size_t i = 0; i < out->known.n && status == RP_OK; i++)
        status = name(out, i, err);
    if (status != RP_OK)
        rp_function_names_free(out);
    return status;
}

void rp_function_names_free(rp_function_names *names)
{
    rp_functions_free(&names->known);
    rp_free(names->digest);
    names->digest = NULL;
}
