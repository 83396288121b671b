/* SPDX-License-Identifier: Apache-2.0
 * Reading RFC 3161 responses. Everything is checked here before OpenSSL's verification is believed: the one encoding,
 * the algorithms by name, and that the signed attributes bind the signer's certificate (RFC 5816) and the kind of
 * content. */
#include "audit/trust/timestamp.h"

#include <openssl/err.h>
#include <string.h>

#include "audit/archive/archive.h"
#include "audit/sign/der.h"
#include "audit/sign/dsse.h"
#include "base/memory.h"

/* ---- algorithms ---- */

/* The digest of a SHA-2 algorithm without parameters; NULL for all else. */
static const EVP_MD *digest_of(const X509_ALGOR *algorithm)
{
    const ASN1_OBJECT *object;
    int parameters;

    if (algorithm == NULL)
        return NULL;
    X509_ALGOR_get0(&object, &parameters, NULL, algorithm);
    if (parameters != V_ASN1_UNDEF && parameters != V_ASN1_NULL)
        return NULL;
    switch (OBJ_obj2nid(object)) {
    case NID_sha256:
        return EVP_sha256();
    case NID_sha384:
        return EVP_sha384();
    case NID_sha512:
        return EVP_sha512();
    default:
        return NULL;
    }
}

/* OpenSSL takes the kind of signature from the key and the hash from another field, whatever this one says. */
static bool signature_fits(const X509_ALGOR *algorithm, const EVP_MD *digest, const EVP_PKEY *key)
{
    const ASN1_OBJECT *object;
    int nid, hash, kind;

    X509_ALGOR_get0(&object, NULL, NULL, algorithm);
    nid = OBJ_obj2nid(object);
    if (nid == NID_rsaEncryption)
        return EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
    if (OBJ_find_sigid_algs(nid, &hash, &kind) != 1 || hash != EVP_MD_get_type(digest))
        return false;
    return kind == (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA ? NID_rsaEncryption : NID_X9_62_id_ecPublicKey) &&
           rp_x509_signature_fault(nid, true) == NULL;
}

/* ---- the signed attributes ---- */

static ASN1_TYPE *attribute(PKCS7_SIGNER_INFO *signer, int nid, int type)
{
    ASN1_TYPE *value = PKCS7_get_signed_attribute(signer, nid);

    return value != NULL && value->type == type ? value : NULL;
}

/* An element of a DER sequence; NULL when there is none. *rest is the caller's to free. */
static const ASN1_TYPE *element(const ASN1_STRING *sequence, int index, ASN1_SEQUENCE_ANY **rest)
{
    const unsigned char *at = ASN1_STRING_get0_data(sequence);

    *rest = d2i_ASN1_SEQUENCE_ANY(NULL, &at, ASN1_STRING_length(sequence));
    return index < sk_ASN1_TYPE_num(*rest) ? sk_ASN1_TYPE_value(*rest, index) : NULL;
}

/* ESSCertIDv2: SEQUENCE { hashAlgorithm DEFAULT sha256, certHash, issuerSerial OPTIONAL }. */
static bool names_certificate(const ASN1_STRING *id, X509 *certificate)
{
    ASN1_SEQUENCE_ANY *parts = NULL;
    const ASN1_TYPE *one = element(id, 0, &parts);
    const EVP_MD *digest = EVP_sha256();
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    bool same = false;

    if (one != NULL && one->type == V_ASN1_SEQUENCE) {
        const unsigned char *at = ASN1_STRING_get0_data(one->value.sequence);
        X509_ALGOR *named = d2i_X509_ALGOR(NULL, &at, ASN1_STRING_length(one->value.sequence));

        digest = digest_of(named);
        X509_ALGOR_free(named);
        one = sk_ASN1_TYPE_num(parts) > 1 ? sk_ASN1_TYPE_value(parts, 1) : NULL;
    }
    if (one != NULL && one->type == V_ASN1_OCTET_STRING && digest != NULL &&
        X509_digest(certificate, digest, hash, &size) == 1)
        same = (int)size == ASN1_STRING_length(one->value.octet_string) &&
               memcmp(hash, ASN1_STRING_get0_data(one->value.octet_string), size) == 0;
    sk_ASN1_TYPE_pop_free(parts, ASN1_TYPE_free);
    return same;
}

/* SigningCertificateV2: SEQUENCE { certs SEQUENCE OF ESSCertIDv2, ... }: the first is the signer's. The older attribute
 * names it by SHA-1, which does not count. */
static bool binds_signer(PKCS7_SIGNER_INFO *signer, X509 *certificate)
{
    ASN1_TYPE *value = attribute(signer, NID_id_smime_aa_signingCertificateV2, V_ASN1_SEQUENCE);
    ASN1_SEQUENCE_ANY *outer = NULL, *inner = NULL;
    const ASN1_TYPE *ids, *id = NULL;
    bool same;

    if (value == NULL)
        return false;
    ids = element(value->value.sequence, 0, &outer);
    if (ids != NULL && ids->type == V_ASN1_SEQUENCE)
        id = element(ids->value.sequence, 0, &inner);
    same = id != NULL && id->type == V_ASN1_SEQUENCE && names_certificate(id->value.sequence, certificate);
    sk_ASN1_TYPE_pop_free(outer, ASN1_TYPE_free);
    sk_ASN1_TYPE_pop_free(inner, ASN1_TYPE_free);
    return same;
}

/* ---- the token ---- */

static const char *signature_fault(PKCS7_SIGNER_INFO *signer, X509 *certificate)
{
    const EVP_PKEY *key = X509_get0_pubkey(certificate);
    const EVP_MD *digest = digest_of(signer->digest_alg);
    const ASN1_TYPE *content = attribute(signer, NID_pkcs9_contentType, V_ASN1_OBJECT);

    if (digest == NULL)
        return "its signature is not over SHA-256, SHA-384 or SHA-512";
    if (key == NULL || rp_x509_key_fault(certificate, true, false) != NULL)
        return "its signer's key is neither ECDSA on P-256, P-384 or P-521, nor RSA of at least 3072 bits";
    if (!signature_fits(signer->digest_enc_alg, digest, key))
        return "its signature algorithm does not fit its key and hash";
    if (content == NULL || OBJ_obj2nid(content->value.object) != NID_id_smime_ct_TSTInfo)
        return "the signature is not said to be over a timestamp";
    if (!binds_signer(signer, certificate))
        return "it does not name its signer's certificate by a SHA-2 digest (RFC 5816)";
    return NULL;
}

static const char *find_signer(rp_timestamp *out, PKCS7 *token)
{
    STACK_OF(PKCS7_SIGNER_INFO) *infos = PKCS7_get_signer_info(token);
    STACK_OF(X509) * signers;
    const char *fault;

    if (infos == NULL || sk_PKCS7_SIGNER_INFO_num(infos) != 1)
        return "expected exactly one signature";
    out->certificates = token->d.sign->cert;
    signers = out->certificates != NULL ? PKCS7_get0_signers(token, NULL, 0) : NULL;
    out->signer = signers != NULL && sk_X509_num(signers) == 1 ? sk_X509_value(signers, 0) : NULL;
    sk_X509_free(signers);
    if (out->signer == NULL)
        return "the authority's certificate is not in it: the request must ask for it";
    fault = signature_fault(sk_PKCS7_SIGNER_INFO_value(infos, 0), out->signer);
    if (fault == NULL && PKCS7_verify(token, NULL, NULL, NULL, NULL, PKCS7_NOVERIFY) != 1)
        fault = "the signature is wrong";
    return fault;
}

/* OpenSSL has parsed the content already, and would have stepped over what followed it. */
static const char *content_fault(const PKCS7 *token)
{
    const PKCS7 *inside = token->d.sign->contents;
    const ASN1_OCTET_STRING *text;

    if (inside == NULL || OBJ_obj2nid(inside->type) != NID_id_smime_ct_TSTInfo || inside->d.other == NULL ||
        inside->d.other->type != V_ASN1_OCTET_STRING)
        return "not a timestamp";
    text = inside->d.other->value.octet_string;
    return rp_der_fault(ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
}

static const char *info_fault(rp_timestamp *out)
{
    TS_MSG_IMPRINT *imprint = TS_TST_INFO_get_msg_imprint((TS_TST_INFO *)out->info);
    const EVP_MD *digest = digest_of(TS_MSG_IMPRINT_get_algo(imprint));

    if (TS_TST_INFO_get_version(out->info) != 1)
        return "not of version 1";
    if (digest == NULL)
        return "it dates a digest other than SHA-256, SHA-384 or SHA-512";
    if (ASN1_STRING_length(TS_MSG_IMPRINT_get_msg(imprint)) != EVP_MD_get_size(digest))
        return "its digest has another length than its hash";
    if (TS_TST_INFO_get_ext_by_critical((TS_TST_INFO *)out->info, 1, -1) >= 0)
        return "a critical extension that is not known here";
    if (!rp_moment_of_asn1(&out->time, TS_TST_INFO_get_time(out->info)) || out->time < 0)
        return "a time that makes no sense";
    return NULL;
}

static const char *parse(rp_timestamp *out, const unsigned char *bytes, size_t size)
{
    const unsigned char *at = bytes;
    const char *fault = rp_der_fault(bytes, size);
    long status;

    if (fault != NULL)
        return fault;
    out->response = d2i_TS_RESP(NULL, &at, (long)size);
    if (out->response == NULL || at != bytes + size)
        return "not a timestamp response (RFC 3161)";
    status = ASN1_INTEGER_get(TS_STATUS_INFO_get0_status(TS_RESP_get_status_info(out->response)));
    if (status != TS_STATUS_GRANTED && status != TS_STATUS_GRANTED_WITH_MODS)
        return "the authority refused the request";
    out->info = TS_RESP_get_tst_info(out->response);
    if (out->info == NULL || !PKCS7_type_is_signed(TS_RESP_get_token(out->response)))
        return "no timestamp in the response";
    if ((fault = content_fault(TS_RESP_get_token(out->response))) != NULL || (fault = info_fault(out)) != NULL)
        return fault;
    return find_signer(out, TS_RESP_get_token(out->response));
}

rp_status rp_timestamp_parse(rp_timestamp *out, const void *bytes, size_t size, const char *where, rp_error *err)
{
    const char *fault;
    bool no_memory;

    memset(out, 0, sizeof *out);
    if (size > RP_TIMESTAMP_LIMIT)
        return rp_fail(err, RP_ESIGN, "%s: %zu bytes, at most %d are allowed", where, size, (int)RP_TIMESTAMP_LIMIT);
    ERR_clear_error();
    fault = parse(out, bytes, size);
    no_memory = fault != NULL && rp_openssl_no_memory();
    ERR_clear_error();
    if (no_memory)
        return rp_no_memory(err);
    return fault == NULL ? RP_OK : rp_fail(err, RP_ESIGN, "%s: timestamp: %s", where, fault);
}

void rp_timestamp_clear(rp_timestamp *timestamp)
{
    TS_RESP_free(timestamp->response);
    memset(timestamp, 0, sizeof *timestamp);
}

rp_status rp_timestamp_covers(const rp_timestamp *timestamp, const void *bytes, size_t size, const char *where,
                              rp_error *err)
{
    TS_MSG_IMPRINT *imprint = TS_TST_INFO_get_msg_imprint((TS_TST_INFO *)timestamp->info);
    const EVP_MD *digest = digest_of(TS_MSG_IMPRINT_get_algo(imprint));
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned length;

    if (EVP_Digest(bytes, size, hash, &length, digest, NULL) != 1)
        return rp_no_memory(err);
    if ((int)length == ASN1_STRING_length(TS_MSG_IMPRINT_get_msg(imprint)) &&
        memcmp(hash, ASN1_STRING_get0_data(TS_MSG_IMPRINT_get_msg(imprint)), length) == 0)
        return RP_OK;
    return rp_fail(err, RP_ESIGN, "%s: timestamp: it dates other bytes than the statement beside it", where);
}

rp_status rp_timestamp_judge(rp_chain_verdict *out, const rp_timestamp *timestamp, const rp_trust_store *store,
                             rp_error *err)
{
    const rp_chain_rules rules = {
        .anchors = store->tsa,
        .untrusted = timestamp->certificates,
        .crls = store->crls,
        .time = timestamp->time,
        .timestamps = true,
        .rsa = store->rsa_timestamps,
        .require_crl = store->require_crl,
    };

    return rp_chain_judge(out, timestamp->signer, &rules, err);
}
