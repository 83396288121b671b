/* SPDX-License-Identifier: Apache-2.0
 * Reading a policy (docs/policy.md): YAML as strict as a recipe's, groups of keys, then the sections that make clauses. */
#include "audit/policy.h"

#include <stdio.h>
#include <string.h>

#include "audit/digest.h"
#include "audit/fields.h"
#include "audit/key.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/recipe_read.h"

enum { PATH = 96 };

typedef struct reader {
    rp_recipe_reader r;
    rp_policy *policy;
    const char *folder;
} reader;

static void check_keys(reader *in, const rp_node *mapping, const char *path, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < mapping->count && in->r.status == RP_OK; i++) {
        const rp_node *child = &mapping->child[i];
        const char *nearest;
        char quoted[64], full[PATH + 80];
        size_t k = 0;

        while (k < count && strcmp(keys[k], child->key) != 0)
            k++;
        if (k < count)
            continue;
        (void)snprintf(full, sizeof full, "%s%s%s", path, *path ? "." : "",
                       rp_printable(quoted, sizeof quoted, child->key, strlen(child->key)));
        nearest = rp_nearest(child->key, keys, count);
        rp_recipe_refuse(&in->r, child, full, "unknown key%s%s%s", nearest ? "; did you mean \"" : "; see docs/policy.md",
                         nearest ? nearest : "", nearest ? "\"?" : "");
    }
}

/* ---- groups ---- */

static char *beside(const char *folder, const char *path)
{
    rp_buffer out = {0};

    rp_buffer_printf(&out, "%s%s%s", path[0] == '/' ? "" : folder, path[0] == '/' ? "" : "/", path);
    rp_buffer_u8(&out, 0);
    if (out.failed)
        rp_buffer_free(&out);
    return (char *)out.data;
}

/* The key is kept once, whatever the number of groups it is in. Takes it. */
static rp_status keep_key(rp_policy *policy, rp_key *key, rp_error *err)
{
    rp_key **grown;

    for (size_t i = 0; i < policy->keys; i++) {
        if (strcmp(rp_key_id(policy->key[i]), rp_key_id(key)) == 0) {
            rp_key_free(key);
            return RP_OK;
        }
    }
    grown = rp_reallocarray(policy->key, policy->keys + 1, sizeof(rp_key *));
    if (grown == NULL) {
        rp_key_free(key);
        return rp_no_memory(err);
    }
    policy->key = grown;
    grown[policy->keys++] = key;
    return RP_OK;
}

static void read_key(reader *in, const rp_node *node, const char *path, char id[RP_DIGEST_HEX])
{
    unsigned char bytes[RP_DIGEST_SIZE];
    rp_key *key = NULL;
    char *file;

    if (node->kind != RP_NODE_SCALAR || rp_node_is_null(node)) {
        rp_recipe_wrong(&in->r, node, path, "a public key's PEM file or a key id", NULL);
        return;
    }
    if (rp_unhex(bytes, sizeof bytes, node->text)) {
        memcpy(id, node->text, RP_DIGEST_HEX);
        return;
    }
    if (in->folder == NULL) {
        rp_recipe_wrong(&in->r, node, path, "a key id of 64 hex digits", "a text without a folder has no files");
        return;
    }
    file = beside(in->folder, node->text);
    in->r.status = file ? rp_key_load_public(&key, file, in->r.err) : rp_no_memory(in->r.err);
    if (in->r.status == RP_EARG || in->r.status == RP_EIO)
        (void)rp_fail_at(in->r.err, in->r.status, "%s:%zu: key %s", in->r.where, node->line, path);
    rp_free(file);
    if (in->r.status != RP_OK)
        return;
    memcpy(id, rp_key_id(key), RP_DIGEST_HEX);
    in->r.status = keep_key(in->policy, key, in->r.err);
}

static void read_group(reader *in, const rp_node *node)
{
    rp_group *group = &in->policy->group[in->policy->groups];
    char path[PATH];

    if (!rp_text_fits(node->key, sizeof group->name)) {
        rp_recipe_refuse(&in->r, node, "groups", "a group's name is 1 to %d printable ASCII characters", RP_ROLE - 1);
        return;
    }
    (void)snprintf(path, sizeof path, "groups.%s", node->key);
    if (node->kind != RP_NODE_LIST || node->count == 0 || node->count > RP_POLICY_GROUP_KEYS) {
        rp_recipe_wrong(&in->r, node, path, "a list of 1 to 64 public keys: PEM files or key ids", NULL);
        return;
    }
    group->id = rp_calloc(node->count, sizeof *group->id);
    if (group->id == NULL) {
        in->r.status = rp_no_memory(in->r.err);
        return;
    }
    in->policy->groups++;
    strcpy(group->name, node->key);
    for (size_t i = 0; i < node->count && in->r.status == RP_OK; i++) {
        read_key(in, &node->child[i], path, group->id[i]);
        for (size_t j = 0; j < i && in->r.status == RP_OK; j++)
            if (strcmp(group->id[i], group->id[j]) == 0)
                rp_recipe_refuse(&in->r, &node->child[i], path, "the same key twice: a person counts once");
        group->keys += in->r.status == RP_OK;
    }
}

static void read_groups(reader *in, const rp_node *top)
{
    const rp_node *groups = rp_node_find(top, "groups");

    if (groups == NULL || groups->kind != RP_NODE_MAPPING || groups->count == 0 || groups->count > RP_POLICY_GROUPS) {
        rp_recipe_refuse(&in->r, groups, "groups", "expected a mapping of 1 to %d groups, each a list of public keys",
                         RP_POLICY_GROUPS);
        return;
    }
    for (size_t i = 0; i < groups->count && in->r.status == RP_OK; i++)
        read_group(in, &groups->child[i]);
}

/* ---- what the sections share ---- */

static const rp_node *find(const reader *in, const rp_node *mapping, const char *key)
{
    return in->r.status == RP_OK ? rp_node_find(mapping, key) : NULL;
}

static void join(char out[PATH], const rp_clause *clause, const char *key)
{
    (void)snprintf(out, PATH, "%s.%s", clause->name, key);
}

/* The group named at key. Where it is small, the demand for more than it has is a mistake. */
static void read_group_name(reader *in, const rp_node *mapping, const char *key, rp_clause *clause)
{
    const rp_node *node = find(in, mapping, key);
    char path[PATH];

    join(path, clause, key);
    if (in->r.status != RP_OK)
        return;
    for (size_t i = 0; node && node->kind == RP_NODE_SCALAR && i < in->policy->groups; i++) {
        if (strcmp(in->policy->group[i].name, node->text) == 0) {
            clause->group = i;
            return;
        }
    }
    if (node)
        rp_recipe_wrong(&in->r, node, path, "the name of one of the groups", NULL);
    else
        rp_recipe_refuse(&in->r, mapping, path, "is missing: the name of one of the groups");
}

static void read_count(reader *in, const rp_node *mapping, rp_clause *clause)
{
    char path[PATH];
    int64_t count = 1;

    join(path, clause, "count");
    rp_recipe_int(&in->r, mapping, path, &count, 1, 1, RP_POLICY_GROUP_KEYS);
    clause->count = (uint64_t)count;
    if (in->r.status == RP_OK && clause->count > in->policy->group[clause->group].keys)
        rp_recipe_refuse(&in->r, mapping, path, "%llu of a group that has %zu keys can never be met",
                         (unsigned long long)clause->count, in->policy->group[clause->group].keys);
}

static void read_flag(reader *in, const rp_node *mapping, const char *key, const rp_clause *clause, bool *out)
{
    char path[PATH];

    join(path, clause, key);
    rp_recipe_bool(&in->r, mapping, path, out, false);
}

static void read_text(reader *in, const rp_node *node, const char *key, const rp_clause *clause, char *out, size_t size)
{
    char path[PATH], expected[64];

    if (in->r.status != RP_OK || node == NULL)
        return;
    join(path, clause, key);
    (void)snprintf(expected, sizeof expected, "text of 1 to %zu printable ASCII characters", size - 1);
    if (node->kind != RP_NODE_SCALAR || !rp_text_fits(node->text, size))
        rp_recipe_wrong(&in->r, node, path, expected, NULL);
    else
        strcpy(out, node->text);
}

static void read_against(reader *in, const rp_node *mapping, const char *key, int choices, rp_clause *clause)
{
    static const char *const names[] = {"fail", "superseded", "ignore"}, *const two[] = {"fail", "ignore"};
    char path[PATH];
    int value = 0;

    join(path, clause, key);
    rp_recipe_choice(&in->r, mapping, path, &value, 0, choices == 3 ? names : two, choices);
    clause->against = choices == 2 && value == 1 ? RP_AGAINST_IGNORED : (rp_against)value;
}

/* ---- sections ---- */

static void read_builder(reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"of", "endorsement"};

    check_keys(in, node, clause->name, keys, 2);
    read_group_name(in, node, "of", clause);
    read_flag(in, node, "endorsement", clause, &clause->endorsement);
    clause->count = 1;
}

/* Decimal digits with at most six behind the point, exactly: 0.2 of 15 segments is 3 of them. */
static bool parse_share(uint64_t *out, const char *text)
{
    uint64_t value = 0;
    int decimals = -1;

    for (const char *c = text; *c; c++) {
        if (*c == '.' && decimals < 0 && c != text && c[1] != '\0')
            decimals = 0;
        else if (*c < '0' || *c > '9' || value > RP_SHARE_ONE || decimals == 6)
            return false;
        else {
            value = value * 10 + (uint64_t)(*c - '0');
            decimals += decimals >= 0;
        }
    }
    for (int i = decimals < 0 ? 0 : decimals; i < 6; i++)
        value *= 10;
    *out = value;
    return value >= 1 && value <= RP_SHARE_ONE;
}

static void read_extent(reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const full[] = {"full"};
    const rp_node *mode = find(in, node, "mode"), *share = find(in, node, "at_least");
    char path[PATH];
    int ignored;

    if (in->r.status != RP_OK)
        return;
    if ((mode != NULL) == (share != NULL)) {
        rp_recipe_refuse(&in->r, node, clause->name, "expected either mode: full, or at_least: with the share of the segments");
        return;
    }
    join(path, clause, "mode");
    rp_recipe_choice(&in->r, node, path, &ignored, 0, full, 1);
    clause->full = mode != NULL;
    clause->share = RP_SHARE_ONE;
    join(path, clause, "at_least");
    if (share && (share->kind != RP_NODE_SCALAR || !share->plain || !parse_share(&clause->share, share->text)))
        rp_recipe_wrong(&in->r, share, path, "a share of the segments above 0 and at most 1, such as 0.2, with six decimals at most",
                        NULL);
}

static void read_levels(reader *in, const rp_node *node, rp_clause *clause)
{
    size_t count = node == NULL ? 0 : node->kind == RP_NODE_LIST ? node->count : 1;

    if (count > RP_POLICY_LEVELS || (node && count == 0)) {
        rp_recipe_refuse(&in->r, node, clause->name, "isa: expected 1 to %d levels", RP_POLICY_LEVELS);
        return;
    }
    for (size_t i = 0; i < count; i++)
        read_text(in, node->kind == RP_NODE_LIST ? &node->child[i] : node, "isa", clause, clause->level[i],
                  sizeof clause->level[i]);
    clause->levels = count;
}

static void read_replay(reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"mode", "at_least", "by", "count", "isa", "seed", "independent", "differences"};

    check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    read_extent(in, node, clause);
    read_group_name(in, node, "by", clause);
    read_count(in, node, clause);
    read_levels(in, find(in, node, "isa"), clause);
    read_text(in, find(in, node, "seed"), "seed", clause, clause->seed, sizeof clause->seed);
    read_flag(in, node, "independent", clause, &clause->independent);
    read_against(in, node, "differences", 2, clause);
}

static void read_approvals(reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"role", "of", "count", "independent", "rejections"};

    check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    read_text(in, find(in, node, "role"), "role", clause, clause->role, sizeof clause->role);
    read_group_name(in, node, "of", clause);
    read_count(in, node, clause);
    read_flag(in, node, "independent", clause, &clause->independent);
    read_against(in, node, "rejections", 3, clause);
}

static void read_log(reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"of", "count"};

    check_keys(in, node, clause->name, keys, 2);
    read_group_name(in, node, "of", clause);
    read_count(in, node, clause);
}

static const struct {
    const char *key;
    bool required, several; /* several: one mapping, or a list of them */
    void (*read)(reader *in, const rp_node *node, rp_clause *clause);
} sections[RP_CLAUSE_KINDS] = {
    [RP_CLAUSE_BUILDER] = {"builder", true, false, read_builder},
    [RP_CLAUSE_REPLAY] = {"replay", false, true, read_replay},
    [RP_CLAUSE_APPROVALS] = {"approvals", false, true, read_approvals},
    [RP_CLAUSE_LOG] = {"log", false, true, read_log},
};

static void read_clause(reader *in, const rp_node *node, rp_clause_kind kind, size_t index)
{
    rp_clause *clause = &in->policy->clause[in->policy->clauses];
    char name[sizeof clause->name];

    if (in->r.status != RP_OK)
        return;
    (void)snprintf(name, sizeof name, sections[kind].several ? "%s[%u]" : "%s", sections[kind].key, (unsigned)index);
    if (node->kind != RP_NODE_MAPPING) {
        rp_recipe_wrong(&in->r, node, name, "a mapping", NULL);
        return;
    }
    if (in->policy->clauses == RP_POLICY_CLAUSES) {
        rp_recipe_refuse(&in->r, node, name, "more than %d clauses", RP_POLICY_CLAUSES);
        return;
    }
    clause->kind = kind;
    memcpy(clause->name, name, sizeof name);
    sections[kind].read(in, node, clause);
    in->policy->clauses++;
}

static void read_section(reader *in, const rp_node *top, rp_clause_kind kind)
{
    const rp_node *node = find(in, top, sections[kind].key);

    if (node == NULL && sections[kind].required)
        rp_recipe_refuse(&in->r, top, sections[kind].key, "is missing: who may have made the run?");
    if (node == NULL || in->r.status != RP_OK)
        return;
    if (!sections[kind].several || node->kind != RP_NODE_LIST) {
        read_clause(in, node, kind, 0);
        return;
    }
    if (node->count == 0)
        rp_recipe_refuse(&in->r, node, sections[kind].key, "an empty list demands nothing; remove it");
    for (size_t i = 0; i < node->count; i++)
        read_clause(in, &node->child[i], kind, i);
}

static rp_status borrow_log_keys(rp_policy *policy, rp_error *err)
{
    policy->log_key = rp_calloc(policy->keys, sizeof(rp_key *));
    if (policy->log_key == NULL)
        return rp_no_memory(err);
    for (size_t k = 0; k < policy->keys; k++) {
        bool logs = false;

        for (size_t c = 0; c < policy->clauses; c++)
            for (size_t i = 0; policy->clause[c].kind == RP_CLAUSE_LOG && i < policy->group[policy->clause[c].group].keys; i++)
                logs = logs || strcmp(policy->group[policy->clause[c].group].id[i], rp_key_id(policy->key[k])) == 0;
        if (logs)
            policy->log_key[policy->log_keys++] = policy->key[k];
    }
    return RP_OK;
}

static rp_status read_policy(reader *in, const rp_node *top)
{
    static const char *const keys[] = {"policy", "name", "groups", "builder", "replay", "approvals", "log"};
    const rp_node *version = top->kind == RP_NODE_MAPPING ? rp_node_find(top, "policy") : NULL, *name;
    int64_t number = 0;

    if (version == NULL || !rp_node_int(version, &number) || number != 1)
        return rp_fail(in->r.err, RP_EARG, "%s: is not a policy of version 1: expected a first line \"policy: 1\"", in->r.where);
    check_keys(in, top, "", keys, sizeof keys / sizeof *keys);
    name = find(in, top, "name");
    if (name && (name->kind != RP_NODE_SCALAR || !rp_line_fits(name->text, 201)))
        rp_recipe_wrong(&in->r, name, "name", "one line of text of at most 200 bytes", NULL);
    if (in->r.status != RP_OK)
        return in->r.status;
    in->policy->name = rp_strdup(name ? name->text : in->r.where);
    if (in->policy->name == NULL)
        return rp_no_memory(in->r.err);
    read_groups(in, top);
    for (int kind = 0; kind < RP_CLAUSE_KINDS; kind++)
        read_section(in, top, (rp_clause_kind)kind);
    return in->r.status == RP_OK ? borrow_log_keys(in->policy, in->r.err) : in->r.status;
}

rp_status rp_policy_from_text(rp_policy **out, const char *text, size_t size, const char *where, const char *folder,
                              rp_error *err)
{
    reader in = {{.where = where, .err = err}, rp_calloc(1, sizeof(rp_policy)), folder};
    rp_node top = {.kind = RP_NODE_SCALAR};
    rp_digest digest;
    rp_status status;

    *out = NULL;
    if (in.policy == NULL)
        return rp_no_memory(err);
    status = size > RP_POLICY_LIMIT ? rp_fail(err, RP_EARG, "%s: %zu bytes, a policy has at most %d", where, size, RP_POLICY_LIMIT)
                                    : rp_node_from_yaml(&top, text, size, where, err);
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
    const char *slash = strrchr(path, '/');
    char *folder = slash ? rp_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : rp_strdup(".");
    rp_buffer text = {0};
    rp_status status = folder ? rp_file_read(path, RP_POLICY_LIMIT, &text, err) : rp_no_memory(err);

    *out = NULL;
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
        rp_free(policy->group[i].id);
    for (size_t i = 0; i < policy->keys; i++)
        rp_key_free(policy->key[i]);
    rp_free(policy->key);
    rp_free(policy->log_key);
    rp_free(policy->name);
    rp_free(policy);
}

const char *rp_policy_name(const rp_policy *policy)
{
    return policy->name;
}

const char *rp_policy_digest(const rp_policy *policy)
{
    return policy->digest;
}

const rp_key *const *rp_policy_keys(const rp_policy *policy, size_t *count)
{
    *count = policy->keys;
    return (const rp_key *const *)policy->key;
}
