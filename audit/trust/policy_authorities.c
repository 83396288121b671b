/* SPDX-License-Identifier: Apache-2.0
 * Groups of a policy that are no lists of keys: whoever a certificate authority has certified under such a subject, and
 * the authorities whose timestamps count. Each has a trust store of its own, so that no root counts for more than its
 * group. */
#include "audit/trust/policy_read.h"

#include <openssl/objects.h>
#include <stdio.h>
#include <string.h>

#include "audit/sign/signed_json.h"
#include "base/file.h"
#include "base/memory.h"
#include "rp/trust.h"

enum { SUBJECT_TEXT = 201 };

static void join(char out[RP_POLICY_PATH], const char *path, const char *key)
{
    (void)snprintf(out, RP_POLICY_PATH, "%.80s.%s", path, key);
}

/* A file, or the PEM text itself, which the policy's digest then covers. */
static void add_pem(rp_policy_reader *in, const rp_node *node, const char *path, rp_trust_store *store,
                    rp_trust_kind kind)
{
    char *file = NULL;

    if (node->kind != RP_NODE_SCALAR || rp_node_is_null(node) || *node->text == '\0') {
        rp_node_wrong(&in->r, node, path, "a PEM file, or PEM text", NULL);
        return;
    }
    if (strncmp(node->text, "-----BEGIN ", 11) == 0) {
        in->r.status = rp_trust_store_add_pem(store, kind, node->text, strlen(node->text), "PEM text", in->r.err);
    } else if (in->folder == NULL) {
        rp_node_wrong(&in->r, node, path, "PEM text", "a text without a folder has no files");
        return;
    } else {
        file = rp_path_in(in->folder, node->text);
        in->r.status = file ? rp_trust_store_add(store, kind, file, in->r.err) : rp_no_memory(in->r.err);
    }
    if (in->r.status == RP_EARG || in->r.status == RP_EIO)
        (void)rp_fail_at(in->r.err, in->r.status, "%s:%zu: key %s", in->r.where, node->line, path);
    rp_free(file);
}

/* One of them or a list. */
static void add_all(rp_policy_reader *in, const rp_node *mapping, const char *group, const char *key,
                    rp_trust_store *store, rp_trust_kind kind)
{
    const rp_node *node = in->r.status == RP_OK ? rp_node_find(mapping, key) : NULL;
    size_t count = node == NULL ? 0 : node->kind == RP_NODE_LIST ? node->count : 1;
    char path[RP_POLICY_PATH];

    join(path, group, key);
    if (node && (count == 0 || count > RP_POLICY_FILES)) {
        rp_node_refuse(&in->r, node, path, "expected 1 to %d PEM files", RP_POLICY_FILES);
        return;
    }
    for (size_t i = 0; i < count && in->r.status == RP_OK; i++)
        add_pem(in, node->kind == RP_NODE_LIST ? &node->child[i] : node, path, store, kind);
}

/* ---- subjects ---- */

static const char *const attributes[] = {"CN", "OU", "O", "C", "ST", "L", "DC", "UID", "serialNumber", "emailAddress"};
static const int nids[] = {NID_commonName,          NID_organizationalUnitName, NID_organizationName, NID_countryName,
                           NID_stateOrProvinceName, NID_localityName,           NID_domainComponent,  NID_userId,
                           NID_serialNumber,        NID_pkcs9_emailAddress};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes };
_Static_assert(sizeof nids / sizeof *nids == ATTRIBUTES, "a number for each name");

static void add_rule(rp_policy_reader *in, const rp_node *node, const char *path, size_t attribute, rp_group *group)
{
    rp_subject_rule *rule = &group->rule[group->rules];

    if (node->kind != RP_NODE_SCALAR || *node->text == '\0' || !rp_line_fits(node->text, SUBJECT_TEXT)) {
        rp_node_wrong(&in->r, node, path, "one line of text of 1 to 200 bytes, or a list of such", NULL);
        return;
    }
    if (group->rules == RP_POLICY_RULES) {
        rp_node_refuse(&in->r, node, path, "more than %d texts", RP_POLICY_RULES);
        return;
    }
    *rule = (rp_subject_rule){attributes[attribute], nids[attribute], rp_strdup(node->text)};
    if (rule->text == NULL)
        in->r.status = rp_no_memory(in->r.err);
    else
        group->rules++;
}

static void read_subject(rp_policy_reader *in, const rp_node *mapping, const char *path, rp_group *group)
{
    const rp_node *subject = in->r.status == RP_OK ? rp_node_find(mapping, "subject") : NULL;
    char at[RP_POLICY_PATH];

    if (subject == NULL)
        return;
    join(at, path, "subject");
    if (subject->kind != RP_NODE_MAPPING || subject->count == 0) {
        rp_node_wrong(&in->r, subject, at, "a mapping such as {OU: Validation}", NULL);
        return;
    }
    rp_policy_check_keys(in, subject, at, attributes, ATTRIBUTES);
    for (size_t a = 0; a < ATTRIBUTES && in->r.status == RP_OK; a++) {
        const rp_node *node = rp_node_find(subject, attributes[a]);
        size_t count = node == NULL ? 0 : node->kind == RP_NODE_LIST ? node->count : 1;

        if (node && count == 0)
            rp_node_refuse(&in->r, node, at, "an empty list can never be met");
        for (size_t i = 0; i < count && in->r.status == RP_OK; i++)
            add_rule(in, node->kind == RP_NODE_LIST ? &node->child[i] : node, at, a, group);
    }
}

/* ---- the mapping ---- */

/* Nothing that is left out makes it more lenient: what nobody knows the revocation of does not count unless the policy
 * says so. */
static void read_revocation(rp_policy_reader *in, const rp_node *mapping, const char *group, rp_trust_store *store)
{
    static const char *const names[] = {"required", "optional"};
    char path[RP_POLICY_PATH];
    int value = 0;

    join(path, group, "revocation");
    if (in->r.status != RP_OK)
        return;
    rp_node_read_choice(&in->r, mapping, path, &value, 0, names, 2);
    if (value == 0)
        rp_trust_store_require_crl(store);
}

void rp_policy_read_authorities(rp_policy_reader *in, const rp_node *node, const char *path, rp_group *group)
{
    static const char *const certified[] = {"ca", "subject", "crl", "revocation"}, *const dates[] = {"tsa", "rsa",
                                                                                                     "crl",
                                                                                                     "revocation"};
    bool tsa = rp_node_find(node, "tsa") != NULL, rsa = false;
    char at[RP_POLICY_PATH];

    if (tsa == (rp_node_find(node, "ca") != NULL)) {
        rp_node_refuse(&in->r, node, path,
                       "expected either ca: with the roots of signers, or tsa: with those of timestamp "
                       "authorities");
        return;
    }
    rp_policy_check_keys(in, node, path, tsa ? dates : certified, 4);
    group->kind = tsa ? RP_GROUP_AUTHORITIES : RP_GROUP_CERTIFIED;
    if (in->r.status == RP_OK)
        in->r.status = rp_trust_store_new(&group->store, in->r.err);
    read_subject(in, node, path, group);
    read_revocation(in, node, path, group->store);
    if (tsa && in->r.status == RP_OK) {
        join(at, path, "rsa");
        rp_node_read_bool(&in->r, node, at, &rsa, false);
    }
    if (rsa)
        rp_trust_store_allow_rsa_timestamps(group->store);
    add_all(in, node, path, tsa ? "tsa" : "ca", group->store, tsa ? RP_TRUST_TSA : RP_TRUST_CA);
    add_all(in, node, path, "crl", group->store, RP_TRUST_CRL);
}
