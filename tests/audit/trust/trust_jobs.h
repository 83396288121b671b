/* SPDX-License-Identifier: Apache-2.0
 * Small jobs of what makes keys count: certificates with their lists, timestamps, hand-overs. Part of
 * tests/audit/record/small_job.h. */
#ifndef TESTS_AUDIT_TRUST_TRUST_JOBS_H
#define TESTS_AUDIT_TRUST_TRUST_JOBS_H

#include "tests/audit/sign/pki.h"

static char trust_root[96], trust_authority[96], trust_chain[96], trust_lists[96], trust_revoked[96],
    trust_successor[96], trust_dated[96], trust_succeeded[96];
static char trust_request[256];
static unsigned char *trust_response;
static size_t trust_request_size, trust_response_size;
static const long TRUST_TIME = 1893456000; /* 2030 */

/* ---- what they work on ---- */

/* Two lists: one that revokes nothing and one of the certificate's issuer. */
static inline void trust_write_lists(const char *path, const pki_party *top, const pki_party *middle, X509 *leaf,
                                     const char *date)
{
    const pki_revocation none = {NULL, NULL, NULL, 0}, revoked = {leaf, date, date, CRL_REASON_SUPERSEDED};
    X509_CRL *list[] = {pki_list(top, &none, "20290101000000Z", "20400101000000Z"),
                        pki_list(middle, &revoked, "20290101000000Z", "20400101000000Z"), NULL};

    pki_write(path, NULL, list);
    X509_CRL_free(list[0]);
    X509_CRL_free(list[1]);
}

/* top has signed middle, middle the certificate of the key in job_private. It was revoked in 2035, which is after all
 * that is asked here, or in 2029, before it. */
static inline void trust_make_certificates(void)
{
    pki_party top = pki_make("top", NULL, &pki_authority), middle = pki_make("middle", &top, &pki_authority);
    FILE *file = fopen(job_private, "r");
    EVP_PKEY *key;
    X509 *chain[3] = {NULL, middle.certificate, NULL};

    assert_non_null(file);
    key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    assert_int_equal(fclose(file), 0);
    assert_non_null(key);
    chain[0] = pki_certify("signer", key, &middle, &pki_signer);
    pki_write(trust_root, &(X509 *const[]){top.certificate, NULL}[0], NULL);
    pki_write(trust_chain, chain, NULL);
    trust_write_lists(trust_lists, &top, &middle, chain[0], "20350101000000Z");
    trust_write_lists(trust_revoked, &top, &middle, chain[0], "20290601000000Z");
    X509_free(chain[0]);
    EVP_PKEY_free(key);
    pki_free(&middle);
    pki_free(&top);
}

static inline rp_status trust_make_dated(rp_error *err)
{
    pki_party root = pki_make("tsaroot", NULL, &pki_authority), tsa = pki_make("tsa", &root, &pki_stamper);
    rp_archive *archive = NULL;
    char *request = NULL;
    rp_status status;

    pki_write(trust_authority, &(X509 *const[]){root.certificate, NULL}[0], NULL);
    status = job_copy(trust_dated, job_api, err);
    if (status == RP_OK)
        status = rp_archive_open(&archive, trust_dated, err);
    if (status == RP_OK)
        status = rp_timestamp_request(archive, NULL, NULL, &request, &trust_request_size, err);
    rp_archive_close(archive);
    if (status == RP_OK) {
        assert_in_range(trust_request_size, 1, sizeof trust_request);
        memcpy(trust_request, request, trust_request_size);
        trust_response_size = pki_stamp(&trust_response, &tsa, trust_request, trust_request_size, TRUST_TIME);
        status = rp_timestamp_attach(trust_dated, trust_response, trust_response_size, "response", NULL, 0, false, NULL,
                                     err);
    }
    if (status == RP_OK)
        status = rp_archive_add_certificates(trust_dated, trust_chain, false, NULL, err);
    rp_text_free(request);
    pki_free(&tsa);
    pki_free(&root);
    return status;
}

static inline rp_status trust_setup(rp_error *err)
{
    rp_key *key = NULL;
    rp_status status = rp_key_generate(&key, err);

#define TRUST_PATH(to, name) (void)snprintf(to, sizeof to, "%s/%s", job_folder, name)
    TRUST_PATH(trust_root, "root.pem");
    TRUST_PATH(trust_authority, "tsa.pem");
    TRUST_PATH(trust_chain, "chain.pem");
    TRUST_PATH(trust_lists, "lists.pem");
    TRUST_PATH(trust_revoked, "revoked.pem");
    TRUST_PATH(trust_successor, "successor.pem");
    TRUST_PATH(trust_dated, "dated.reprise");
    TRUST_PATH(trust_succeeded, "succeeded.reprise");
#undef TRUST_PATH
    if (status == RP_OK)
        status = rp_key_save_private(key, trust_successor, NULL, false, err);
    rp_key_free(key);
    if (status != RP_OK)
        return status;
    trust_make_certificates();
    status = trust_make_dated(err);
    return status == RP_OK ? job_train_as(trust_succeeded, trust_successor, err) : status;
}

static inline void trust_teardown(void)
{
    OPENSSL_free(trust_response);
    trust_response = NULL;
}

/* ---- the jobs ---- */

static rp_status trust_open(rp_trust_store **store, const char *lists, rp_error *err)
{
    rp_status status = rp_trust_store_new(store, err);

    if (status == RP_OK)
        status = rp_trust_store_add(*store, RP_TRUST_CA, trust_root, err);
    if (status == RP_OK)
        status = rp_trust_store_add(*store, RP_TRUST_TSA, trust_authority, err);
    if (status == RP_OK)
        status = rp_trust_store_add(*store, RP_TRUST_CRL, lists, err);
    return status;
}

/* A signature that counts by its certificate, at the time of its timestamp. */
static rp_status job_certified(rp_error *err)
{
    rp_trust_store *store = NULL;
    rp_verify_options options = {.tell_unmet = false};
    rp_verification *result = NULL;
    rp_status status = trust_open(&store, trust_lists, err);

    options.trust = store;
    if (status == RP_OK)
        status = rp_verify(trust_dated, NULL, 0, &options, &result, NULL, err);
    rp_verification_free(result);
    rp_trust_store_free(store);
    return status;
}

/* The same, revoked. Whatever runs out: never accepted, and refused for nothing else. */
static rp_status job_revoked(rp_error *err)
{
    rp_trust_store *store = NULL;
    rp_verify_options options = {.tell_unmet = false};
    rp_status status = trust_open(&store, trust_revoked, err);

    options.trust = store;
    if (status == RP_OK) {
        status = rp_verify(trust_dated, NULL, 0, &options, NULL, NULL, err);
        if (status == RP_OK)
            status = rp_fail(err, RP_EHASH, "a revoked certificate is accepted");
        else if (status == RP_ESIGN && strstr(err->text, "revoked on 2029-06-01"))
            status = RP_OK;
    }
    rp_trust_store_free(store);
    return status;
}

/* Certificates and a timestamp into a copy, which is a whole archive however far it came. */
static rp_status job_certify(rp_error *err)
{
    rp_key *key = NULL;
    rp_archive *archive = NULL;
    char *request = NULL, id[RP_DIGEST_HEX] = "";
    size_t size;
    rp_status status = rp_key_load_private(&key, job_private, NULL, err);

    if (status == RP_OK)
        status = rp_key_load_certificates(key, trust_chain, err);
    if (status == RP_OK)
        status = rp_archive_open(&archive, job_api, err);
    if (status == RP_OK)
        status = rp_timestamp_request(archive, NULL, "sha512", &request, &size, err);
    if (status == RP_OK)
        memcpy(id, rp_archive_id(archive), sizeof id);
    rp_archive_close(archive);
    archive = NULL;
    if (status == RP_OK)
        status = job_copy(job_out, job_api, err);
    if (status == RP_OK)
        status = rp_timestamp_attach(job_out, trust_response, trust_response_size, "response", trust_request,
                                     trust_request_size, false, NULL, err);
    if (status == RP_OK)
        status = rp_archive_endorse(job_out, id, key, NULL, err);
    if (status == RP_OK)
        status = rp_archive_add_certificates(job_out, trust_chain, true, NULL, err);
    if (status != RP_OK && rp_file_exists(job_out)) {
        assert_int_equal(rp_archive_open(&archive, job_out, NULL), RP_OK);
        rp_archive_close(archive);
        (void)unlink(job_out);
    }
    rp_text_free(request);
    rp_key_free(key);
    return status;
}

/* A key hands over to the one that signed the archive. */
static rp_status job_hand_over(rp_error *err)
{
    rp_key *old = NULL, *successor = NULL;
    rp_trust_store *store = NULL;
    rp_verify_options options = {.tell_unmet = false};
    rp_verification *result = NULL;
    char *text = NULL;
    rp_status status = rp_key_load_private(&old, job_private, NULL, err);

    if (status == RP_OK)
        status = rp_key_load_private(&successor, trust_successor, NULL, err);
    if (status == RP_OK)
        status = rp_key_rotation(old, successor, 1, &text, err);
    if (status == RP_OK)
        status = rp_trust_store_new(&store, err);
    if (status == RP_OK)
        status = rp_trust_store_add_rotation_text(store, text, strlen(text), "hand-over", err);
    options.trust = store;
    if (status == RP_OK)
        status = rp_verify(trust_succeeded, (const rp_key *const[]){old}, 1, &options, &result, NULL, err);
    rp_verification_free(result);
    rp_trust_store_free(store);
    rp_text_free(text);
    rp_key_free(successor);
    rp_key_free(old);
    return status;
}

#endif
