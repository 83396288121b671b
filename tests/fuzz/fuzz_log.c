/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: the texts of logs, as checkpoint, as inclusion proof and as consistency proof. The trusted key is that
 * of the example in docs/log.md. What is read must be bounded and is never believed without the key; what is a
 * checkpoint of ours alone is what would be written for it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/archive/member.h"
#include "audit/log/log_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_head(const rp_log_note *note, const char *text, size_t size)
{
    if (strlen(note->head.origin) >= RP_LOG_ORIGIN || note->signed_size >= size || note->text != text ||
        note->head.size > INT64_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char pem[] = "-----BEGIN PUBLIC KEY-----\n"
                              "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
                              "-----END PUBLIC KEY-----\n";
    static const char id[] = "0404040404040404040404040404040404040404040404040404040404040404";
    static rp_key *trusted;
    const char *text = (const char *)data;
    const rp_key *list[1], *by;
    rp_log_note note;
    rp_log_proof proof;
    rp_log_inclusion found;
    rp_logged_prediction record;
    char member[RP_MEMBER_NAME];
    const rp_log_text input = {text, size, "input"};
    rp_error err;

    if (trusted == NULL && rp_key_public_from_pem(&trusted, pem, strlen(pem), "pem", &err) != RP_OK)
        abort();
    list[0] = trusted;
    if (rp_log_note_parse(&note, text, size, "input", &err) == RP_OK) {
        check_head(&note, text, size);
        if (rp_log_member(member, note.head.origin, &err) != RP_OK || !rp_log_member_valid(member))
            abort();
        (void)rp_log_note_check(&note, list, 1, &by, "input", &err);
    }
    if (rp_log_inclusion_parse(&proof, text, size, "input", &err) == RP_OK && proof.length > RP_LOG_PATH_MAX)
        abort();
    if (rp_log_consistency_parse(&proof, text, size, "input", &err) == RP_OK && proof.length > RP_LOG_PATH_MAX)
        abort();
    (void)rp_log_check(&found, text, size, "input", id, NULL, 0, &err);
    if (rp_log_check(&found, text, size, "input", id, list, 1, &err) == RP_OK && found.key_id[0] == '\0')
        abort();
    if (rp_log_check_prediction(&found, &record, &input, "scores\n", 7, list, 1, &err) == RP_OK &&
        (found.key_id[0] == '\0' || record.index != found.index))
        abort();
    (void)rp_log_check_prediction(&found, &record, &input, "scores\n", 7, NULL, 0, &err);
    (void)rp_log_check_consistency(NULL, NULL, &input, &input, list, 1, &err);
    return 0;
}
