/* SPDX-License-Identifier: Apache-2.0
 * Reading a policy (docs/policy.md): YAML as strict as a recipe's, groups of keys, then the sections that make clauses.
 */
#include "audit/trust/policy_read.h"

#include <stdio.h>
#include <string.h>

#include "audit/digest/digest.h"
#include "audit/sign/signed_json.h"
#include "audit/sign/key.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/memory.h"
#include "base/text.h"

static rp_status borrow_log_keys(rp_policy *policy, rp_error *err)
{
    policy->log_key = rp_calloc(policy->keys, sizeof(rp_key *));
    if (policy->log_key == NULL)
        return rp_no_memory(err);
    for (size_t k = 0; k < policy->keys; k++) {
        bool logs = false;

        for (size_t c = 0; c < policy->clauses; c++)
            for (size_t i = 0;
                 policy->clause[c].kind == RP_CLAUSE_LOG && i < policy->group[policy->clause[c].group].keys; i++)
                logs = logs || strcmp(policy->group[policy->clause[c].group].id[i], rp_key_id(policy->key[k])) == 0;
        if (logs)
            policy->log_key[policy->log_keys++] = policy->key[k];
    }
    return RP_OK;
}

static rp_status read_policy(rp_policy_reader *in, const rp_node *top)
{
    static const char *const keys[] = {"policy", "name",    "groups",     "builder", "replay", "approvals", "log",
                                       "parent", "kind",    "conformant", "metrics", "recipe", "columns",   "findings",
                                       "card",   "valid",   "validation", "drift",   "slices", "selection", "trials",
                                       "fall",   "profile", "library",    "emulated"};
    const rp_node *version = top->kind == RP_NODE_MAPPING ? rp_node_find(top, "policy") : NULL, *name;
    int64_t number = 0;

    if (version == NULL || !rp_node_int(version, &number) || number != 1)
        return rp_fail(in->r.err, RP_EARG, "%s: is not a policy of version 1: expected a first line \"policy: 1\"",
                       in->r.where);
    rp_policy_check_keys(in, top, "", keys, sizeof keys / sizeof *keys);
    name = in->r.status == RP_OK ? rp_node_find(top, "name") : NULL;
    if (name && (name->kind != RP_NODE_SCALAR || !rp_line_fits(name->text, 201)))
        rp_node_wrong(&in->r, name, "name", "one line of text of at most 200 bytes", NULL);
    if (in->r.status != RP_OK)
        return in->r.status;
    in->policy->name = rp_strdup(name ? name->text : in->r.where);
    if (in->policy->name == NULL)
        return rp_no_memory(in->r.err);
    rp_policy_read_groups(in, top);
    for (int kind = 0; kind < RP_CLAUSE_KINDS; kind++)
        rp_policy_read_section(in, top, (rp_clause_kind)kind);
    rp_policy_imply(in);
    return in->r.status == RP_OK ? borrow_log_keys(in->policy, in->r.err) : in->r.status;
}

rp_status rp_policy_from_text(rp_policy **out, const char *text, size_t size, const char *where, const char *folder,
                              rp_error *err)
{
    rp_policy_reader in = {{.where = where ? where : "policy", .err = err}, rp_calloc(1, sizeof(rp_policy)), folder};
    rp_node top = {.kind = RP_NODE_SCALAR};
    rp_digest digest;
    rp_status status;

    *out = NULL;
    if (in.policy == NULL)
        return rp_no_memory(err);
    status = size > RP_POLICY_LIMIT
                 ? rp_fail(err, RP_EARG, "%s: %zu bytes, a policy has at most %d", in.r.where, size, RP_POLICY_LIMIT)
                 : rp_node_from_yaml(&top, text, size, in.r.where, err);
    if (status == RP_OK)
        status = read_policy(&in, &top);
    if (status == RP_OK)
        status = rp_sha256(&digest, text, size, err);
    rp_node_clear(&top);
    if (status != RP_OK) {
        rp_policy_free(in.policy);
        return status;
    }
    rp_digest_hex(in.policy->digest, &digest);
    *out = in.policy;
    return RP_OK;
}

rp_status rp_policy_load(rp_policy **out, const char *path, rp_error *err)
{
    const char *slash;
    char *folder;
    rp_buffer text = {0};
    rp_status status;

    *out = NULL;
    if (!path)
        return rp_no_value(err, __func__, "path");
    slash = strrchr(path, '/');
    folder = slash ? rp_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : rp_strdup(".");
    status = folder ? rp_file_read(path, RP_POLICY_LIMIT, &text, err) : rp_no_memory(err);
    if (status == RP_EDATA)
        status = rp_fail(err, RP_EARG, "%s: a policy has at most %d bytes", path, RP_POLICY_LIMIT);
    if (status == RP_OK)
        status = rp_policy_from_text(out, (const char *)text.data, text.size, path, folder, err);
    rp_buffer_free(&text);
    rp_free(folder);
    return status;
}

void rp_policy_free(rp_policy *policy)
{
    if (policy == NULL)
        return;
    for (size_t i = 0; i < RP_POLICY_GROUPS; i++)
        rp_policy_clear_group(&policy->group[i]);
    for (size_t i = 0; i <= RP_POLICY_CLAUSES; i++) {
        for (size_t k = 0; k < policy->clause[i].words; k++)
            rp_free(policy->clause[i].word[k]);
        rp_free(policy->clause[i].word);
    }
    for (size_t i = 0; i < policy->keys; i++)
        rp_key_free(policy->key[i]);
    rp_free(policy->key);
    rp_free(policy->log_key);
    rp_free(policy->name);
    rp_free(policy);
}

bool rp_clause_about(const rp_clause *clause, rp_statement_kind kind)
{
    switch (clause->kind) {
    case RP_CLAUSE_BUILDER:
        return kind == RP_STATEMENT_PROVENANCE || (clause->endorsement && kind == RP_STATEMENT_ENDORSEMENT);
    case RP_CLAUSE_REPLAY:
        return kind == RP_STATEMENT_VERDICT;
    case RP_CLAUSE_FINDINGS:
        return kind == RP_STATEMENT_FINDING;
    case RP_CLAUSE_APPROVALS:
        return kind == RP_STATEMENT_APPROVAL;
    case RP_CLAUSE_VALIDATION:
        return kind == RP_STATEMENT_VALIDATION;
    case RP_CLAUSE_DRIFT:
        return kind == RP_STATEMENT_MONITORING;
    case RP_CLAUSE_SLICES:
    case RP_CLAUSE_SELECTION:
        return clause->figures.stated && kind == RP_STATEMENT_VALIDATION;
    case RP_CLAUSE_FALL:
        return kind == RP_STATEMENT_RETRAINING;
    default:
        return false;
    }
}

bool rp_clause_signed(const rp_clause *clause)
{
    return clause->kind < RP_CLAUSE_PARENT || clause->figures.stated;
}

bool rp_policy_asks_facts(const rp_policy *policy)
{
    for (size_t i = 0; i < policy->clauses; i++) {
        const rp_clause *clause = &policy->clause[i];

        if (clause->kind >= RP_CLAUSE_METRICS || clause->kind == RP_CLAUSE_VALIDATION ||
            clause->kind == RP_CLAUSE_RUN_KIND ||
            (clause->kind == RP_CLAUSE_PARENT && clause->parent == RP_PARENT_NONE))
            return true;
    }
    return false;
}

bool rp_policy_asks_parent(const rp_policy *policy)
{
    for (size_t i = 0; policy != NULL && i < policy->clauses; i++)
        if (policy->clause[i].kind == RP_CLAUSE_PARENT && policy->clause[i].parent == RP_PARENT_MET)
            return true;
    return false;
}

bool rp_policy_certifies(const rp_policy *policy)
{
    for (size_t i = 0; i < policy->clauses; i++)
        if (rp_clause_signed(&policy->clause[i]) && policy->group[policy->clause[i].group].kind == RP_GROUP_CERTIFIED)
            return true;
    return false;
}

const char *rp_policy_name(const rp_policy *policy)
{
    if (!policy)
        return NULL;
    return policy->name;
}

const char *rp_policy_digest(const rp_policy *policy)
{
    return policy->digest;
}

const rp_key *const *rp_policy_keys(const rp_policy *policy, size_t *count)
{
    if (!policy) {
        *count = 0;
        return NULL;
    }
    *count = policy->keys;
    return (const rp_key *const *)policy->key;
}
