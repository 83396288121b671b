/* SPDX-License-Identifier: Apache-2.0
 * PKCS#11 by the engine interface, which OpenSSL 3 calls deprecated and Debian 12 has; its successor, a provider, is
 * not packaged there. The module is the one that PKCS11_MODULE_PATH names, else p11-kit's. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "audit/sign/pkcs11.h"

#include <openssl/err.h>
#include <openssl/ui.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef OPENSSL_NO_ENGINE
#include <openssl/engine.h>
#endif

#include "audit/sign/x509.h"
#include "base/memory.h"
#include "base/text.h"

static const char scheme[] = "pkcs11:";

bool rp_pkcs11_is_uri(const char *path)
{
    return strncmp(path, scheme, sizeof scheme - 1) == 0;
}

#ifdef OPENSSL_NO_ENGINE
rp_status rp_pkcs11_load(EVP_PKEY **out, const char *uri, const char *pin, rp_error *err)
{
    (void)pin;
    *out = NULL;
    return rp_fail(err, RP_EUNSUPPORTED, "%.200s: this OpenSSL has no engines, and so no PKCS#11", uri);
}
#else

/* Instead of OpenSSL's own, which would ask at the terminal. */
static int refuse_to_ask(UI *ui)
{
    (void)ui;
    return 0;
}

/* The reason in OpenSSL's and the engine's own words, the first one. */
static const char *reason(char *out, size_t size)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());

    return rp_printable(out, size, text ? text : "no reason given", strlen(text ? text : "no reason given"));
}

static rp_status load(EVP_PKEY **out, ENGINE *engine, const char *uri, const char *pin, rp_error *err)
{
    UI_METHOD *mute = UI_create_method("reprise");
    char why[80];
    rp_status status = RP_OK;

    if (mute == NULL || UI_method_set_opener(mute, refuse_to_ask) != 0) {
        UI_destroy_method(mute);
        return rp_no_memory(err);
    }
    (void)ENGINE_ctrl_cmd_string(engine, "QUIET", NULL, 1); /* it would write to stderr */
    if (ENGINE_ctrl_cmd_string(engine, "PIN", pin, 0) != 1 || ENGINE_init(engine) != 1) {
        status = rp_fail(err, RP_EUNSUPPORTED,
                         "%.200s: the engine pkcs11 does not start: %s; PKCS11_MODULE_PATH names the token's "
                         "module",
                         uri, reason(why, sizeof why));
    } else {
        *out = ENGINE_load_private_key(engine, uri, mute, NULL);
        if (*out == NULL)
            status = rp_openssl_no_memory() ? rp_no_memory(err)
                                            : rp_fail(err, RP_EARG,
                                                      "%.200s: no private key of this name on a token that opens with "
                                                      "this PIN: %s",
                                                      uri, reason(why, sizeof why));
        (void)ENGINE_finish(engine); /* the key keeps what it needs */
    }
    UI_destroy_method(mute);
    return status;
}

rp_status rp_pkcs11_load(EVP_PKEY **out, const char *uri, const char *pin, rp_error *err)
{
    const char *module = getenv("PKCS11_MODULE_PATH");
    ENGINE *engine;
    rp_status status;

    *out = NULL;
    if (strstr(uri, "pin-value") != NULL)
        return rp_fail(err, RP_EARG,
                       "pkcs11: a PIN does not belong into the URI, where everyone on this machine can read it");
    if (module != NULL && access(module, R_OK) != 0) /* the engine would say so on stderr */
        return rp_fail(err, RP_EIO, "%.200s: the token's module, which PKCS11_MODULE_PATH names, cannot be opened",
                       module);
    if (pin == NULL)
        return rp_fail(err, RP_EARG, "%.200s: the token wants a PIN and none was given", uri);
    ERR_set_mark();
    ENGINE_load_dynamic();
    engine = ENGINE_by_id("pkcs11");
    if (engine == NULL)
        status = rp_fail(err, RP_EUNSUPPORTED,
                         "%.200s: OpenSSL's engine pkcs11 is not installed (Debian: libengine-pkcs11-openssl)", uri);
    else
        status = load(out, engine, uri, pin, err);
    ENGINE_free(engine);
    ERR_pop_to_mark();
    return status;
}
#endif
