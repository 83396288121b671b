/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: responses of timestamp authorities, under the root of tests/fuzz/corpus/timestamp/root.pem. What is
 * accepted is strict DER with a signer and a time, and no byte follows it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/sign/der.h"
#include "audit/trust/timestamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rp_trust_store *make_store(void)
{
    static const char root[] = "-----BEGIN CERTIFICATE-----\n"
                               "MIIBqDCCAU+gAwIBAgIUbuvtOKWeMoGFAVQkJtk8jV11uVwwCgYIKoZIzj0EAwIw\n"
                               "IjEOMAwGA1UECgwFVGVzdHMxEDAOBgNVBAMMB3RzYXJvb3QwHhcNMjYxMTIxMTUy\n"
                               "NDAzWhcNMzYxMTE4MTUyNDAzWjAiMQ4wDAYDVQQKDAVUZXN0czEQMA4GA1UEAwwH\n"
                               "dHNhcm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJVIVe2l7mIVa74R3Kxz\n"
                               "gUJz80R6FaCGnLN08fC/fs0IqRC0ZiOQ8Vjzur3PNV20UppKBBF6z2nBIByjxG5W\n"
                               "9uijYzBhMB0GA1UdDgQWBBShGgJzTrcrbT3mUksBDNNKq1kTFTAfBgNVHSMEGDAW\n"
                               "gBShGgJzTrcrbT3mUksBDNNKq1kTFTAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB\n"
                               "/wQEAwIBBjAKBggqhkjOPQQDAgNHADBEAiAUiTsUPI5PuO7WmkPzlABWJojbDyB1\n"
                               "n8wCgVZrGfVE/wIgIPzoA7LEvH5xtVIYWFL9ELD9v9ZNZTAvLZ7NG9aQ2cE=\n"
                               "-----END CERTIFICATE-----\n";
    rp_trust_store *store;

    if (rp_trust_store_new(&store, NULL) != RP_OK ||
        rp_trust_store_add_pem(store, RP_TRUST_TSA, root, sizeof root - 1, "root", NULL) != RP_OK)
        abort();
    return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rp_trust_store *store;
    rp_timestamp timestamp;
    rp_chain_verdict verdict;
    rp_error err;

    if (store == NULL)
        store = make_store();
    if (rp_timestamp_parse(&timestamp, data, size, "input", &err) == RP_OK) {
        if (rp_der_fault(data, size) != NULL || timestamp.signer == NULL || timestamp.time < 0)
            abort();
        (void)rp_timestamp_covers(&timestamp, "", 0, "input", &err);
        if (rp_timestamp_judge(&verdict, &timestamp, store, &err) == RP_OK &&
            strcmp(verdict.anchor, "CN=tsaroot,O=Tests") != 0)
            abort();
    }
    rp_timestamp_clear(&timestamp);
    return 0;
}
