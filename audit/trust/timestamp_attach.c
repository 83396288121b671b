/* SPDX-License-Identifier: Apache-2.0
 * Requests for timestamps and putting responses into archives. Nothing here touches
 * the network: requests and responses are files for any tool to carry. */
#include <openssl/err.h>
#include <openssl/rand.h>
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/sign/der.h"
#include "audit/sign/dsse.h"
#include "audit/trust/timestamp.h"
#include "base/handle.h"
#include "base/memory.h"

/* ---- request ---- */

static const EVP_MD *hash_named(const char *name)
{
    if (name == NULL || strcmp(name, "sha256") == 0)
        return EVP_sha256();
    return strcmp(name, "sha384") == 0 ? EVP_sha384() : strcmp(name, "sha512") == 0 ? EVP_sha512() : NULL;
}

static bool set_imprint(TS_REQ *request, const void *bytes, size_t size, const EVP_MD *digest)
{
    TS_MSG_IMPRINT *imprint = TS_MSG_IMPRINT_new();
    X509_ALGOR *algorithm = X509_ALGOR_new();
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned length;
    bool done = imprint != NULL && algorithm != NULL && EVP_Digest(bytes, size, hash, &length, digest, NULL) == 1 &&
                X509_ALGOR_set0(algorithm, OBJ_nid2obj(EVP_MD_get_type(digest)), V_ASN1_NULL, NULL) == 1 &&
                TS_MSG_IMPRINT_set_algo(imprint, algorithm) == 1 &&
                TS_MSG_IMPRINT_set_msg(imprint, hash, (int)length) == 1 &&
                TS_REQ_set_msg_imprint(request, imprint) == 1;

    TS_MSG_IMPRINT_free(imprint); /* the setters copied */
    X509_ALGOR_free(algorithm);
    return done;
}

/* 63 bits, none of them predictable: an old response cannot answer a new request. */
static bool set_nonce(TS_REQ *request)
{
    uint64_t number = 0;
    ASN1_INTEGER *nonce = ASN1_INTEGER_new();
    bool done = nonce != NULL && RAND_bytes((unsigned char *)&number, sizeof number) == 1 &&
                ASN1_INTEGER_set_uint64(nonce, number >> 1 | 1) == 1 && TS_REQ_set_nonce(request, nonce) == 1;

    ASN1_INTEGER_free(nonce);
    return done;
}

static rp_status write_request(const void *bytes, size_t length, const EVP_MD *digest, char **out, size_t *size,
                               rp_error *err)
{
    TS_REQ *request;
    unsigned char *der = NULL;
    int written = -1;

    ERR_set_mark();
    request = TS_REQ_new();
    if (request != NULL && TS_REQ_set_version(request, 1) == 1 && set_imprint(request, bytes, length, digest) &&
        set_nonce(request) && TS_REQ_set_cert_req(request, 1) == 1)
        written = i2d_TS_REQ(request, &der);
    ERR_pop_to_mark();
    TS_REQ_free(request);
    if (written > 0) {
        *out = rp_malloc((size_t)written);
        if (*out != NULL)
            memcpy(*out, der, *size = (size_t)written);
    }
    OPENSSL_free(der);
    return *out != NULL ? RP_OK : rp_no_memory(err);
}

rp_status rp_timestamp_request(const rp_archive *archive, const char *statement, const char *hash, char **out,
                               size_t *size, rp_error *err)
{
    if (!archive) {
        *out = NULL;
        return rp_no_handle(err, __func__, "archive");
    }

    const char *name = statement != NULL ? statement : RP_RUN_STATEMENT;
    const rp_member *member = rp_archive_find(archive, name);
    const EVP_MD *digest = hash_named(hash);
    rp_buffer body = {0};
    rp_status status;

    *out = NULL;
    *size = 0;
    if (digest == NULL)
        return rp_fail(err, RP_EARG, "%.40s: not a hash for timestamps, expected sha256, sha384 or sha512", hash);
    if (member == NULL || !rp_statement_name_valid(name))
        return rp_fail(err, RP_EARG, "%s: no statement %.100s: what is not signed is not dated", archive->where, name);
    status = rp_archive_member_body(archive, member, &body, err);
    if (status == RP_OK)
        status = write_request(body.data, body.size, digest, out, size, err);
    rp_buffer_free(&body);
    return status;
}

/* ---- attach ---- */

/* A response is taken for one request alone when that is at hand. */
static rp_status check_answer(const rp_timestamp *timestamp, const void *request, size_t size, const char *where,
                              rp_error *err)
{
    const unsigned char *at = request;
    const char *fault = size <= RP_TIMESTAMP_LIMIT ? rp_der_fault(request, size) : "too large";
    TS_REQ *asked = NULL;
    const ASN1_INTEGER *nonce = TS_TST_INFO_get_nonce(timestamp->info);
    rp_status status = RP_OK;

    ERR_set_mark();
    if (fault == NULL && (asked = d2i_TS_REQ(NULL, &at, (long)size)) == NULL)
        fault = "not a timestamp request (RFC 3161)";
    if (fault != NULL)
        status = rp_fail(err, RP_EARG, "the request: %s", fault);
    else if (TS_REQ_get_nonce(asked) == NULL || nonce == NULL || ASN1_INTEGER_cmp(TS_REQ_get_nonce(asked), nonce) != 0)
        status =
            rp_fail(err, RP_ESIGN, "%s: timestamp: its nonce is not the request's: an answer to something else", where);
    ERR_pop_to_mark();
    TS_REQ_free(asked);
    return status;
}

/* The statement whose bytes are dated. */
static rp_status find_statement(char member[RP_MEMBER_NAME], const char *path, const rp_timestamp *timestamp,
                                const char *where, rp_error *err)
{
    rp_archive *archive;
    bool found = false;
    rp_status status = rp_archive_open(&archive, path, err);

    for (size_t i = 0; status == RP_OK && !found && i < archive->members; i++) {
        rp_buffer body = {0};

        if (!rp_statement_name_valid(archive->member[i].name))
            continue;
        status = rp_archive_member_body(archive, &archive->member[i], &body, err);
        if (status == RP_OK)
            found = rp_timestamp_covers(timestamp, body.data, body.size, where, NULL) == RP_OK;
        if (found)
            status = rp_timestamp_member(member, archive->member[i].name, err);
        rp_buffer_free(&body);
    }
    rp_archive_close(archive);
    if (status == RP_OK && !found)
        status = rp_fail(err, RP_ESIGN, "%s: timestamp: it dates no statement of %s", where, path);
    return status;
}

rp_status rp_timestamp_attach(const char *path, const void *response, size_t size, const char *where,
                              const void *request, size_t request_size, bool force, char member[RP_MEMBER_NAME],
                              rp_error *err)
{
    rp_timestamp timestamp;
    char name[RP_MEMBER_NAME];
    rp_status status = rp_timestamp_parse(&timestamp, response, size, where, err);

    if (status == RP_OK && request != NULL)
        status = check_answer(&timestamp, request, request_size, where, err);
    if (status == RP_OK)
        status = find_statement(name, path, &timestamp, where, err);
    if (status == RP_OK)
        status = rp_archive_add_statement(path, name, response, size, force, err);
    if (status == RP_OK && member != NULL)
        memcpy(member, name, sizeof name);
    rp_timestamp_clear(&timestamp);
    return status;
}
