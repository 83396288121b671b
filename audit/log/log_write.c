/* SPDX-License-Identifier: Apache-2.0
 * Writing checkpoints and proofs (docs/log.md). */
#include <openssl/evp.h>
#include <string.h>

#include "audit/log/log_note.h"
#include "base/memory.h"

static void put64(rp_buffer *out, const unsigned char *bytes, size_t size)
{
    unsigned char four[5];

    for (size_t i = 0; i < size; i += 3) {
        int n = EVP_EncodeBlock(four, bytes + i, (int)(size - i < 3 ? size - i : 3));
        rp_buffer_append(out, four, (size_t)n);
    }
}

static void put_digest(rp_buffer *out, const rp_digest *digest)
{
    put64(out, digest->bytes, RP_DIGEST_SIZE);
    rp_buffer_u8(out, '\n');
}

rp_status rp_log_note_write(rp_buffer *out, const rp_log_head *head, const rp_key *key, rp_error *err)
{
    rp_buffer text = {0}, signature = {0};
    unsigned char id[4];
    rp_status status;

    rp_buffer_printf(&text, "%s\n%llu\n", head->origin, (unsigned long long)head->size);
    put_digest(&text, &head->root);
    rp_buffer_text(&text, head->predictions ? RP_LOG_OF_PREDICTIONS "\n" : "");
    status = rp_buffer_status(&text, err);
    if (status == RP_OK)
        status = rp_key_note_id(key, head->origin, id, err);
    rp_buffer_append(&signature, id, sizeof id);
    if (status == RP_OK)
        status = rp_key_sign(key, text.data, text.size, &signature, err);
    if (status == RP_OK) {
        rp_buffer_append(out, text.data, text.size);
        rp_buffer_printf(out, "\n%s%s ", RP_LOG_DASH, head->origin);
        put64(out, signature.data, signature.size);
        rp_buffer_u8(out, '\n');
        status = rp_buffer_status(out, err);
    }
    rp_buffer_free(&text);
    rp_buffer_free(&signature);
    return status;
}

static void put_path(rp_buffer *out, const rp_digest *path, size_t length, const char *checkpoint)
{
    for (size_t i = 0; i < length; i++)
        put_digest(out, &path[i]);
    rp_buffer_u8(out, '\n');
    rp_buffer_text(out, checkpoint);
}

void rp_log_inclusion_write(rp_buffer *out, const char *extra, uint64_t index, const rp_digest *path, size_t length,
                            const char *checkpoint)
{
    rp_buffer_printf(out, "%s\n", RP_LOG_PROOF_LINE);
    if (extra) {
        rp_buffer_text(out, "extra ");
        put64(out, (const unsigned char *)extra, strlen(extra));
        rp_buffer_u8(out, '\n');
    }
    rp_buffer_printf(out, "index %llu\n", (unsigned long long)index);
    put_path(out, path, length, checkpoint);
}

void rp_log_consistency_write(rp_buffer *out, uint64_t old, const rp_digest *path, size_t length,
                              const char *checkpoint)
{
    rp_buffer_printf(out, "old %llu\n", (unsigned long long)old);
    put_path(out, path, length, checkpoint);
}
