/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: bundles of OpenSSF Model Signing about the archive of FORMAT.md 8, by a key made for the corpus; then
 * the same input as a payload that a trusted key really signs, since no fuzzer gets behind a signature otherwise. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "audit/statements/oms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char id[] = "91e31f5ee1647d803ed8a9b134cd2436c2d20ff0bafb631c7c99291d1054b7a5";
static rp_member member[2];
static rp_key *trusted[2]; /* of the corpus, and one that signs here */

static void prepare(void)
{
    static const char pem[] = "-----BEGIN PUBLIC KEY-----\n"
                              "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENMlvrwJCtpEJhaJMR7peVFTOsbf2\n"
                              "dJYaR7m07dYNPvAQJCAGAJtlR/UN0TxO3NZb90pxUrICmsbDyqgUK9zmXA==\n"
                              "-----END PUBLIC KEY-----\n";
    rp_error err;

    strcpy(member[0].name, RP_MANIFEST_NAME);
    strcpy(member[1].name, "data/hello.txt");
    if (!rp_unhex(member[0].digest.bytes, RP_DIGEST_SIZE, id) ||
        rp_sha256(&member[1].digest, "hello\n", 6, &err) != RP_OK ||
        rp_key_public_from_pem(&trusted[0], pem, strlen(pem), "pem", &err) != RP_OK ||
        rp_key_generate(&trusted[1], &err) != RP_OK)
        abort();
}

static bool accepted(const void *bundle, size_t size)
{
    const rp_key *key;
    rp_error err;

    return rp_oms_check(&key, &(rp_oms_bundle){bundle, size, "input"}, &(rp_oms_subject){id, member, 2},
                        (const rp_key *const *)trusted, 2, &err) == RP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rp_buffer only; /* the one bundle there is, but for its signature */
    rp_buffer made = {0};
    rp_json *bundle, *envelope;
    rp_error err;

    if (trusted[0] == NULL)
        prepare();
    if (only.size == 0 &&
        (rp_oms_write(&only, trusted[1], id, member, 2, &err) != RP_OK || !accepted(only.data, only.size)))
        abort();
    (void)accepted(data, size);
    if (size > 65536 || rp_json_parse(&bundle, only.data, only.size, true, "only", &err) != RP_OK)
        return 0;
    if (rp_envelope_make(&envelope, trusted[1], data, size, &err) != RP_OK)
        abort();
    rp_json_object_set_new(bundle, "dsseEnvelope", envelope);
    if (rp_json_write(bundle, &made, &err) != RP_OK)
        abort();
    /* what is accepted says what the only one says: the same text up to the signature */
    if (accepted(made.data, made.size) &&
        memcmp(made.data, only.data, (size_t)(strstr((char *)only.data, "\"signatures\"") - (char *)only.data)) != 0)
        abort();
    rp_json_free(bundle);
    rp_buffer_free(&made);
    return 0;
}
