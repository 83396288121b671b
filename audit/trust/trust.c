/* SPDX-License-Identifier: Apache-2.0
 * The trust store: roots and revocation lists, read strictly when they are added. */
#include "audit/trust/trust.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/handle.h"
#include "base/memory.h"

rp_status rp_trust_store_new(rp_trust_store **out, rp_error *err)
{
    rp_trust_store *store = rp_calloc(1, sizeof *store);

    *out = NULL;
    if (store == NULL)
        return rp_no_memory(err);
    store->ca = sk_X509_new_null();
    store->tsa = sk_X509_new_null();
    store->crls = sk_X509_CRL_new_null();
    if (store->ca == NULL || store->tsa == NULL || store->crls == NULL) {
        rp_trust_store_free(store);
        return rp_no_memory(err);
    }
    *out = store;
    return RP_OK;
}

void rp_trust_store_free(rp_trust_store *store)
{
    if (store == NULL)
        return;
    sk_X509_pop_free(store->ca, X509_free);
    sk_X509_pop_free(store->tsa, X509_free);
    sk_X509_CRL_pop_free(store->crls, X509_CRL_free);
    for (size_t i = 0; i < store->rotations; i++) {
        rp_buffer_free(&store->rotation[i].text);
        rp_free(store->rotation[i].where);
    }
    rp_free(store);
}

void rp_trust_store_set_time(rp_trust_store *store, int64_t seconds)
{
    if (!store)
        return;
    store->time = seconds;
    store->time_given = true;
}

void rp_trust_store_require_crl(rp_trust_store *store)
{
    if (!store)
        return;
    store->require_crl = true;
}

void rp_trust_store_allow_rsa_timestamps(rp_trust_store *store)
{
    if (!store)
        return;
    store->rsa_timestamps = true;
}

int64_t rp_trust_now(const rp_trust_store *store)
{
    return store != NULL && store->time_given ? store->time : (int64_t)time(NULL);
}

rp_status rp_trust_time(int64_t *out, const char *text, rp_error *err)
{
    if (!text)
        return rp_no_value(err, __func__, "text");
    if (rp_moment_parse(out, text))
        return RP_OK;
    return rp_fail(err, RP_EARG, "%.40s: not a time, expected UTC as in 2026-11-21T15:04:05Z", text);
}

/* One file's worth: nothing of it is added unless all of it is good. */
typedef struct addition {
    rp_trust_kind kind;
    STACK_OF(X509) * certificates;
    STACK_OF(X509_CRL) * lists;
} addition;

static rp_status take_list(void *self, const unsigned char *der, size_t size, const char *where, rp_error *err)
{
    addition *to = self;
    const unsigned char *at = der;
    X509_CRL *list = d2i_X509_CRL(NULL, &at, (long)size);
    /* RSA may be wanted for timestamps: asked again when a chain is judged */
    const char *fault = list != NULL ? rp_x509_signature_fault(X509_CRL_get_signature_nid(list), true) : NULL;
    rp_status status = RP_OK;

    if (list == NULL)
        status = rp_openssl_no_memory()
                     ? rp_no_memory(err)
                     : rp_fail(err, RP_EARG, "%s: a revocation list that OpenSSL cannot read", where);
    else if (fault != NULL)
        status = rp_fail(err, RP_EARG, "%s: a revocation list with %s", where, fault);
    else if (sk_X509_CRL_push(to->lists, list) > 0)
        return RP_OK;
    else
        status = rp_no_memory(err);
    X509_CRL_free(list);
    return status;
}

static rp_status take_root(void *self, const unsigned char *der, size_t size, const char *where, rp_error *err)
{
    addition *to = self;
    const unsigned char *at = der;
    X509 *root = d2i_X509(NULL, &at, (long)size);
    bool rsa = to->kind == RP_TRUST_TSA;
    const char *fault = root != NULL ? rp_x509_key_fault(root, rsa, false) : NULL;
    char name[RP_NAME_TEXT];
    rp_status status = RP_OK;

    if (fault == NULL && root != NULL)
        fault = rp_x509_signature_fault(X509_get_signature_nid(root), rsa);
    if (root == NULL)
        status = rp_openssl_no_memory() ? rp_no_memory(err)
                                        : rp_fail(err, RP_EARG, "%s: a certificate that OpenSSL cannot read", where);
    else if (fault != NULL)
        status = rp_fail(err, RP_EARG, "%s: certificate of %s: %s", where,
                         rp_x509_name(name, X509_get_subject_name(root)), fault);
    else if (X509_check_issued(root, root) != X509_V_OK)
        status = rp_fail(err, RP_EARG, "%s: certificate of %s: not a root: trust ends in self-signed certificates",
                         where, rp_x509_name(name, X509_get_subject_name(root)));
    else if (sk_X509_push(to->certificates, root) > 0)
        return RP_OK;
    else
        status = rp_no_memory(err);
    X509_free(root);
    return status;
}

/* Moves what was read; room was made before, so that pushing cannot fail half-way. */
static rp_status merge(rp_trust_store *store, addition *from, rp_error *err)
{
    STACK_OF(X509) *to = from->kind == RP_TRUST_CA ? store->ca : store->tsa;

    if (sk_X509_reserve(to, sk_X509_num(from->certificates)) != 1 ||
        sk_X509_CRL_reserve(store->crls, sk_X509_CRL_num(from->lists)) != 1)
        return rp_no_memory(err);
    while (sk_X509_num(from->certificates) > 0)
        (void)sk_X509_push(to, sk_X509_shift(from->certificates));
    while (sk_X509_CRL_num(from->lists) > 0)
        (void)sk_X509_CRL_push(store->crls, sk_X509_CRL_shift(from->lists));
    return RP_OK;
}

rp_status rp_trust_store_add_pem(rp_trust_store *store, rp_trust_kind kind, const char *pem, size_t size,
                                 const char *where, rp_error *err)
{
    if (!store)
        return rp_no_handle(err, __func__, "store");

    addition to = {kind, sk_X509_new_null(), sk_X509_CRL_new_null()};
    rp_status status = RP_OK;

    ERR_clear_error();
    if (to.certificates == NULL || to.lists == NULL)
        status = rp_no_memory(err);
    else if (kind == RP_TRUST_CRL)
        status = rp_pem_blocks(pem, size, "X509 CRL", where, RP_EARG, take_list, &to, err);
    else
        status = rp_pem_blocks(pem, size, "CERTIFICATE", where, RP_EARG, take_root, &to, err);
    if (status == RP_OK)
        status = merge(store, &to, err);
    ERR_clear_error();
    sk_X509_pop_free(to.certificates, X509_free);
    sk_X509_CRL_pop_free(to.lists, X509_CRL_free);
    return status;
}

rp_status rp_trust_store_add(rp_trust_store *store, rp_trust_kind kind, const char *path, rp_error *err)
{
    if (!store)
        return rp_no_handle(err, __func__, "store");

    rp_buffer pem = {0};
    rp_status status = rp_file_read(path, RP_PEM_LIMIT, &pem, err);

    if (status == RP_EDATA)
        status = rp_fail(err, RP_EARG, "%s: too large for certificates", path);
    if (status == RP_OK)
        status = rp_trust_store_add_pem(store, kind, (const char *)pem.data, pem.size, path, err);
    rp_buffer_free(&pem);
    return status;
}

rp_status rp_trust_store_add_rotation_text(rp_trust_store *store, const char *text, size_t size, const char *where,
                                           rp_error *err)
{
    if (!store)
        return rp_no_handle(err, __func__, "store");

    rp_rotation claimed;
    const rp_key *by;
    rp_buffer copy = {0};
    char *name;
    rp_status status = rp_rotation_read(&claimed, &by, text, size, where, NULL, 0, err);

    rp_rotation_clear(&claimed);
    if (status != RP_OK)
        return status;
    if (store->rotations == RP_ROTATIONS_MAX)
        return rp_fail(err, RP_EARG, "%s: more than %d hand-overs", where, (int)RP_ROTATIONS_MAX);
    name = rp_strdup(where);
    rp_buffer_append(&copy, text, size);
    if (name == NULL || copy.failed) {
        rp_free(name);
        rp_buffer_free(&copy);
        return rp_no_memory(err);
    }
    store->rotation[store->rotations].text = copy;
    store->rotation[store->rotations++].where = name;
    return RP_OK;
}

rp_status rp_trust_store_add_rotation(rp_trust_store *store, const char *path, rp_error *err)
{
    if (!store)
        return rp_no_handle(err, __func__, "store");

    rp_buffer text = {0};
    rp_status status = rp_file_read(path, RP_ROTATION_LIMIT, &text, err);

    if (status == RP_EDATA)
        status = rp_fail(err, RP_ESIGN, "%s: too large for a hand-over", path);
    if (status == RP_OK)
        status = rp_trust_store_add_rotation_text(store, (const char *)text.data, text.size, path, err);
    rp_buffer_free(&text);
    return status;
}
