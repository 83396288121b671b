/* SPDX-License-Identifier: Apache-2.0
 * What the files that read a policy share. */
#include "audit/trust/policy_read.h"

#include <stdio.h>
#include <string.h>

#include "audit/sign/utc_time.h"
#include "base/text.h"

void rp_policy_check_keys(rp_policy_reader *in, const rp_node *mapping, const char *path, const char *const *keys,
                          size_t count)
{
    for (size_t i = 0; i < mapping->count && in->r.status == RP_OK; i++) {
        const rp_node *child = &mapping->child[i];
        const char *nearest;
        char quoted[64], full[RP_POLICY_PATH + 80];
        size_t k = 0;

        while (k < count && strcmp(keys[k], child->key) != 0)
            k++;
        if (k < count)
            continue;
        (void)snprintf(full, sizeof full, "%s%s%s", path, *path ? "." : "",
                       rp_printable(quoted, sizeof quoted, child->key, strlen(child->key)));
        nearest = rp_nearest(child->key, keys, count);
        rp_node_refuse(&in->r, child, full, "unknown key%s%s%s", nearest ? "; did you mean \"" : "; see docs/policy.md",
                       nearest ? nearest : "", nearest ? "\"?" : "");
    }
}

static const rp_node *find(const rp_policy_reader *in, const rp_node *mapping, const char *key)
{
    return in->r.status == RP_OK ? rp_node_find(mapping, key) : NULL;
}

static void join(char out[RP_POLICY_PATH], const rp_clause *clause, const char *key)
{
    (void)snprintf(out, RP_POLICY_PATH, "%s.%s", clause->name, key);
}

/* The group named at key, and that its kind makes sense there. */
void rp_policy_read_group(rp_policy_reader *in, const rp_node *mapping, const char *key,
                          bool (*fits)(rp_group_kind kind), const char *expected, const rp_clause *clause, size_t *out)
{
    const rp_node *node = find(in, mapping, key);
    char path[RP_POLICY_PATH];

    join(path, clause, key);
    if (in->r.status != RP_OK)
        return;
    for (size_t i = 0; node && node->kind == RP_NODE_SCALAR && i < in->policy->groups; i++) {
        if (strcmp(in->policy->group[i].name, node->text) != 0)
            continue;
        *out = i;
        if (!fits(in->policy->group[i].kind))
            rp_node_refuse(&in->r, node, path, "%s is not a group of %s", node->text, expected);
        return;
    }
    if (node)
        rp_node_wrong(&in->r, node, path, "the name of one of the groups", NULL);
    else
        rp_node_refuse(&in->r, mapping, path, "is missing: the name of one of the groups");
}

static bool signers(rp_group_kind kind)
{
    return kind != RP_GROUP_AUTHORITIES;
}

static bool authorities(rp_group_kind kind)
{
    return kind == RP_GROUP_AUTHORITIES;
}

void rp_policy_read_signers(rp_policy_reader *in, const rp_node *mapping, const char *key, rp_clause *clause)
{
    rp_policy_read_group(in, mapping, key, signers, "signers: it has timestamp authorities", clause, &clause->group);
}

static int64_t read_time(rp_policy_reader *in, const rp_node *mapping, const char *key, int64_t otherwise,
                         const rp_clause *clause)
{
    const rp_node *node = find(in, mapping, key);
    char path[RP_POLICY_PATH];
    int64_t seconds = otherwise;

    join(path, clause, key);
    if (node && !clause->dated)
        rp_node_refuse(&in->r, node, path, "only with timestamp: otherwise a date is the signer's word");
    else if (node && (node->kind != RP_NODE_SCALAR || !rp_moment_parse(&seconds, node->text)))
        rp_node_wrong(&in->r, node, path, "a time in UTC as in 2026-11-21T15:04:05Z", NULL);
    return seconds;
}

/* What the clause asks of the dates of what is to count. */
void rp_policy_read_dates(rp_policy_reader *in, const rp_node *mapping, rp_clause *clause)
{
    char path[RP_POLICY_PATH];

    clause->dated = find(in, mapping, "timestamp") != NULL;
    if (clause->dated)
        rp_policy_read_group(in, mapping, "timestamp", authorities, "timestamp authorities (tsa)", clause,
                             &clause->authorities);
    clause->not_before = read_time(in, mapping, "not_before", 0, clause);
    clause->not_after = read_time(in, mapping, "not_after", INT64_MAX, clause);
    join(path, clause, "not_after");
    if (in->r.status == RP_OK && clause->not_after < clause->not_before)
        rp_node_refuse(&in->r, mapping, path, "is before not_before: that can never be met");
}

/* Where a group is a list of keys, the demand for more than it has is a mistake. */
void rp_policy_read_count(rp_policy_reader *in, const rp_node *mapping, rp_clause *clause)
{
    char path[RP_POLICY_PATH];
    int64_t count = 1;

    join(path, clause, "count");
    rp_node_read_int(&in->r, mapping, path, &count, 1, 1, RP_POLICY_GROUP_KEYS);
    clause->count = (uint64_t)count;
    if (in->r.status == RP_OK && in->policy->group[clause->group].kind == RP_GROUP_KEYS &&
        clause->count > in->policy->group[clause->group].keys)
        rp_node_refuse(&in->r, mapping, path, "%llu of a group that has %zu keys can never be met",
                       (unsigned long long)clause->count, in->policy->group[clause->group].keys);
}

void rp_policy_read_flag(rp_policy_reader *in, const rp_node *mapping, const char *key, const rp_clause *clause,
                         bool *out)
{
    char path[RP_POLICY_PATH];

    join(path, clause, key);
    rp_node_read_bool(&in->r, mapping, path, out, false);
}
