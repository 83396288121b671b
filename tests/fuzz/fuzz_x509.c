/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: what a verifier is given or finds besides statements: certificates of a signer in an archive and in a
 * file, roots, revocation lists, hand-overs of keys. The trusted root is tests/fuzz/corpus/x509/root.pem. What is
 * accepted as a member is what would be written for it, and a chain leads to that root. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/sign/certificate.h"
#include "audit/trust/trust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rp_trust_store *make_store(void)
{
    static const char root[] = "-----BEGIN CERTIFICATE-----\n"
                               "MIIBojCCAUmgAwIBAgIURTvOoKD81brKC/A2uVAO+nbxTMgwCgYIKoZIzj0EAwIw\n"
                               "HjEOMAwGA1UECgwFVGVzdHMxDDAKBgNVBAMMA3RvcDAgFw0yNjExMjExNTQwNTNa\n"
                               "GA8yMDU0MDQwODE1NDA1M1owHjEOMAwGA1UECgwFVGVzdHMxDDAKBgNVBAMMA3Rv\n"
                               "cDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAq1T6ua7nYrHuoSFYe3QYyn9Xz+\n"
                               "kGig0O9PVx25pYMr8inKxrbMBAJQERNEjdYlpJIq0l404jg8anc84B13pmSjYzBh\n"
                               "MB0GA1UdDgQWBBRwpNEbiJmgPAGuBiVpwpdexiVIhDAfBgNVHSMEGDAWgBRwpNEb\n"
                               "iJmgPAGuBiVpwpdexiVIhDAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIB\n"
                               "BjAKBggqhkjOPQQDAgNHADBEAiA/mPD6i8sDmEuCSle8UPZXgIdHDlUyHQavhe5q\n"
                               "qk07UwIgaovJ5xoSTmnMSn5nt450RrrFNGKdjSJdZkIZJXvMQng=\n"
                               "-----END CERTIFICATE-----\n";
    rp_trust_store *store;

    if (rp_trust_store_new(&store, NULL) != RP_OK ||
        rp_trust_store_add_pem(store, RP_TRUST_CA, root, sizeof root - 1, "root", NULL) != RP_OK)
        abort();
    return store;
}

static void judge(const rp_trust_store *store, const rp_certificate *certificate)
{
    const rp_chain_rules rules = {.anchors = store->ca,
                                  .untrusted = certificate->chain,
                                  .crls = store->crls,
                                  .time = INT64_C(1893456000)}; /* 2030 */
    rp_chain_verdict verdict;
    rp_error err;

    if (rp_chain_judge(&verdict, sk_X509_value(certificate->chain, 0), &rules, &err) == RP_OK &&
        strcmp(verdict.anchor, "CN=top,O=Tests") != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    rp_trust_store *store = make_store();
    rp_certificate certificate;
    rp_buffer again = {0};
    rp_error err;

    if (rp_certificate_parse(&certificate, data, size, true, "input", RP_ESIGN, &err) == RP_OK) {
        if (rp_certificate_write(&again, &certificate, &err) != RP_OK || again.size != size ||
            memcmp(again.data, data, size) != 0)
            abort();
        judge(store, &certificate);
    }
    rp_certificate_clear(&certificate);
    if (rp_certificate_parse(&certificate, data, size, false, "input", RP_EARG, &err) == RP_OK &&
        sk_X509_num(certificate.chain) > RP_CHAIN_LENGTH)
        abort();
    (void)rp_trust_store_add_pem(store, RP_TRUST_TSA, text, size, "input", &err);
    if (rp_trust_store_add_pem(store, RP_TRUST_CRL, text, size, "input", &err) == RP_OK &&
        sk_X509_CRL_num(store->crls) == 0)
        abort();
    if (rp_trust_store_add_rotation_text(store, text, size, "input", &err) == RP_OK && store->rotations != 1)
        abort();
    rp_certificate_clear(&certificate);
    rp_buffer_free(&again);
    rp_trust_store_free(store);
    return 0;
}
