/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: statements, and PEM texts as keys. The trusted key is that of the example in audit/FORMAT.md. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/dsse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char pem[] = "-----BEGIN PUBLIC KEY-----\n"
                              "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqXEAH7hm57TMFtK8bZuQ/nS9Og7j\n"
                              "UfFTmNvZkYLq3101bNlzfTFbW1iqn5WmnAlB+55BzkmzUl5KYOmZ5rdvlA==\n"
                              "-----END PUBLIC KEY-----\n";
    static rp_key *trusted;
    const rp_key *list[1];
    rp_statement statement;
    rp_key *key;
    rp_error err;

    if (trusted == NULL && rp_key_public_from_pem(&trusted, pem, strlen(pem), "pem", &err) != RP_OK)
        abort();
    list[0] = trusted;
    if (rp_statement_check(&statement, data, size, "input", list, 1, &err) == RP_OK)
        rp_statement_clear(&statement);
    if (rp_key_public_from_pem(&key, (const char *)data, size, "input", &err) == RP_OK)
        rp_key_free(key);
    if (rp_key_private_from_pem(&key, (const char *)data, size, "passphrase", "input", &err) == RP_OK)
        rp_key_free(key);
    return 0;
}
