/* SPDX-License-Identifier: Apache-2.0
 * The clauses of a policy: its sections, each one clause or a list of them. */
#include "audit/trust/policy_read.h"

#include <stdio.h>
#include <string.h>

#include "audit/sign/signed_json.h"
#include "audit/statements/statement.h"

/* ---- what the sections share ---- */

static const rp_node *find(const rp_policy_reader *in, const rp_node *mapping, const char *key)
{
    return in->r.status == RP_OK ? rp_node_find(mapping, key) : NULL;
}

static void join(char out[RP_POLICY_PATH], const rp_clause *clause, const char *key)
{
    (void)snprintf(out, RP_POLICY_PATH, "%s.%s", clause->name, key);
}

static bool logs(rp_group_kind kind)
{
    return kind == RP_GROUP_KEYS;
}

static void read_text(rp_policy_reader *in, const rp_node *node, const char *key, const rp_clause *clause, char *out,
                      size_t size)
{
    char path[RP_POLICY_PATH], expected[64];

    if (in->r.status != RP_OK || node == NULL)
        return;
    join(path, clause, key);
    (void)snprintf(expected, sizeof expected, "text of 1 to %zu printable ASCII characters", size - 1);
    if (node->kind != RP_NODE_SCALAR || !rp_text_fits(node->text, size))
        rp_node_wrong(&in->r, node, path, expected, NULL);
    else
        strcpy(out, node->text);
}

static void read_against(rp_policy_reader *in, const rp_node *mapping, const char *key, int choices, rp_clause *clause)
{
    static const char *const names[] = {"fail", "superseded", "ignore"}, *const two[] = {"fail", "ignore"};
    char path[RP_POLICY_PATH];
    int value = 0;

    join(path, clause, key);
    rp_node_read_choice(&in->r, mapping, path, &value, 0, choices == 3 ? names : two, choices);
    clause->against = choices == 2 && value == 1 ? RP_AGAINST_IGNORED : (rp_against)value;
}

/* ---- sections ---- */

static void read_builder(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"of", "endorsement", "timestamp", "not_before", "not_after"};

    rp_policy_check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    rp_policy_read_signers(in, node, "of", clause);
    rp_policy_read_flag(in, node, "endorsement", clause, &clause->endorsement);
    rp_policy_read_dates(in, node, clause);
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

static void read_extent(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const full[] = {"full"};
    const rp_node *mode = find(in, node, "mode"), *share = find(in, node, "at_least");
    char path[RP_POLICY_PATH];
    int ignored;

    if (in->r.status != RP_OK)
        return;
    if ((mode != NULL) == (share != NULL)) {
        rp_node_refuse(&in->r, node, clause->name,
                       "expected either mode: full, or at_least: with the share of the segments");
        return;
    }
    join(path, clause, "mode");
    rp_node_read_choice(&in->r, node, path, &ignored, 0, full, 1);
    clause->full = mode != NULL;
    clause->share = RP_SHARE_ONE;
    join(path, clause, "at_least");
    if (share && (share->kind != RP_NODE_SCALAR || !share->plain || !parse_share(&clause->share, share->text)))
        rp_node_wrong(&in->r, share, path,
                      "a share of the segments above 0 and at most 1, such as 0.2, with six decimals at most", NULL);
}

static void read_level(rp_policy_reader *in, const rp_node *node, const rp_clause *clause, char out[16])
{
    char path[RP_POLICY_PATH];

    read_text(in, node, "isa", clause, out, sizeof clause->level[0]);
    join(path, clause, "isa");
    if (in->r.status == RP_OK && !rp_level_known(out))
        rp_node_wrong(&in->r, node, path, "one of ref, sse2, avx2, avx512, neon", NULL);
}

static void read_levels(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    size_t count = node == NULL ? 0 : node->kind == RP_NODE_LIST ? node->count : 1;

    if (count > RP_POLICY_LEVELS || (node && count == 0)) {
        rp_node_refuse(&in->r, node, clause->name, "isa: expected 1 to %d levels", RP_POLICY_LEVELS);
        return;
    }
    for (size_t i = 0; i < count; i++)
        read_level(in, node->kind == RP_NODE_LIST ? &node->child[i] : node, clause, clause->level[i]);
    clause->levels = count;
}

static void read_replay(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"mode",        "at_least",    "by",        "count",      "isa",      "seed",
                                       "independent", "differences", "timestamp", "not_before", "not_after"};

    rp_policy_check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    read_extent(in, node, clause);
    rp_policy_read_signers(in, node, "by", clause);
    rp_policy_read_count(in, node, clause);
    read_levels(in, find(in, node, "isa"), clause);
    read_text(in, find(in, node, "seed"), "seed", clause, clause->seed, sizeof clause->seed);
    rp_policy_read_flag(in, node, "independent", clause, &clause->independent);
    read_against(in, node, "differences", 2, clause);
    rp_policy_read_dates(in, node, clause);
}

static void read_approvals(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"role",       "of",        "count",      "independent",
                                       "rejections", "timestamp", "not_before", "not_after"};

    rp_policy_check_keys(in, node, clause->name, keys, sizeof keys / sizeof *keys);
    read_text(in, find(in, node, "role"), "role", clause, clause->role, sizeof clause->role);
    rp_policy_read_signers(in, node, "of", clause);
    rp_policy_read_count(in, node, clause);
    rp_policy_read_flag(in, node, "independent", clause, &clause->independent);
    read_against(in, node, "rejections", 3, clause);
    rp_policy_read_dates(in, node, clause);
}

static void read_log(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"of", "count"};

    rp_policy_check_keys(in, node, clause->name, keys, 2);
    rp_policy_read_group(in, node, "of", logs, "keys, by which logs are known", clause, &clause->group);
    rp_policy_read_count(in, node, clause);
}

static void read_findings(rp_policy_reader *in, const rp_node *node, rp_clause *clause)
{
    static const char *const keys[] = {"of", "open"}, *const most[] = {"none", "low", "medium", "high", "critical"};
    char path[RP_POLICY_PATH];
    int value = 0;

    rp_policy_check_keys(in, node, clause->name, keys, 2);
    rp_policy_read_signers(in, node, "of", clause);
    join(path, clause, "open");
    rp_node_read_choice(&in->r, node, path, &value, 0, most, 5);
    clause->tolerated = value - 1;
}

static const struct {
    const char *key;
    bool required, several; /* several: one mapping, or a list of them */
    bool any;               /* its node need not be a mapping */
    void (*read)(rp_policy_reader *in, const rp_node *node, rp_clause *clause);
} sections[RP_CLAUSE_KINDS] = {
    [RP_CLAUSE_BUILDER] = {"builder", true, false, false, read_builder},
    [RP_CLAUSE_REPLAY] = {"replay", false, true, false, read_replay},
    [RP_CLAUSE_APPROVALS] = {"approvals", false, true, false, read_approvals},
    [RP_CLAUSE_LOG] = {"log", false, true, false, read_log},
    [RP_CLAUSE_FINDINGS] = {"findings", false, true, false, read_findings},
    [RP_CLAUSE_VALIDATION] = {"validation", false, true, false, rp_policy_read_validation},
    [RP_CLAUSE_DRIFT] = {"drift", false, true, false, rp_policy_read_drift},
    [RP_CLAUSE_SLICES] = {"slices", false, true, false, rp_policy_read_slices},
    [RP_CLAUSE_SELECTION] = {"selection", false, true, false, rp_policy_read_selection},
    [RP_CLAUSE_FALL] = {"fall", false, true, false, rp_policy_read_fall},
    [RP_CLAUSE_PARENT] = {"parent", false, false, true, rp_policy_read_parent},
    [RP_CLAUSE_CONFORMANT] = {"conformant", false, false, true, rp_policy_read_conformant},
    [RP_CLAUSE_PROFILE] = {"profile", false, false, true, rp_policy_read_profile},
    [RP_CLAUSE_LIBRARY] = {"library", false, false, false, rp_policy_read_library},
    [RP_CLAUSE_EMULATED] = {"emulated", false, false, true, rp_policy_read_emulated},
    [RP_CLAUSE_METRICS] = {"metrics", false, true, false, rp_policy_read_metrics},
    [RP_CLAUSE_RECIPE] = {"recipe", false, true, false, rp_policy_read_recipe},
    [RP_CLAUSE_CARD] = {"card", false, false, true, rp_policy_read_card},
    [RP_CLAUSE_VALID] = {"valid", false, false, true, rp_policy_read_conformant},
    [RP_CLAUSE_TRIALS] = {"trials", false, false, true, rp_policy_read_trials},
    [RP_CLAUSE_COLUMNS] = {"columns", false, false, false, rp_policy_read_columns},
    [RP_CLAUSE_RUN_KIND] = {"kind", false, false, true, rp_policy_read_run_kind},
};

static void read_clause(rp_policy_reader *in, const rp_node *node, rp_clause_kind kind, size_t index)
{
    rp_clause *clause = &in->policy->clause[in->policy->clauses];
    char name[sizeof clause->name];

    if (in->r.status != RP_OK)
        return;
    (void)snprintf(name, sizeof name, sections[kind].several ? "%s[%u]" : "%s", sections[kind].key, (unsigned)index);
    if (node->kind != RP_NODE_MAPPING && !sections[kind].any) {
        rp_node_wrong(&in->r, node, name, "a mapping", NULL);
        return;
    }
    if (in->policy->clauses == RP_POLICY_CLAUSES) {
        rp_node_refuse(&in->r, node, name, "more than %d clauses", RP_POLICY_CLAUSES);
        return;
    }
    clause->kind = kind;
    memcpy(clause->name, name, sizeof name);
    in->policy->clauses++; /* what was read of it is freed with the policy */
    sections[kind].read(in, node, clause);
}

void rp_policy_read_section(rp_policy_reader *in, const rp_node *top, rp_clause_kind kind)
{
    const rp_node *node = find(in, top, sections[kind].key);

    if (node == NULL && sections[kind].required)
        rp_node_refuse(&in->r, top, sections[kind].key, "is missing: who may have made the run?");
    if (node == NULL || in->r.status != RP_OK)
        return;
    if (!sections[kind].several || node->kind != RP_NODE_LIST) {
        read_clause(in, node, kind, 0);
        return;
    }
    if (node->count == 0)
        rp_node_refuse(&in->r, node, sections[kind].key, "an empty list demands nothing; remove it");
    for (size_t i = 0; i < node->count; i++)
        read_clause(in, &node->child[i], kind, i);
}

static void imply(rp_policy_reader *in, const rp_clause *clause)
{
    rp_policy *policy = in->policy;

    for (size_t i = 0; i < policy->clauses; i++)
        if (policy->clause[i].kind == clause->kind)
            return;
    if (in->r.status == RP_OK)
        policy->clause[policy->clauses++] = *clause;
}

void rp_policy_imply(rp_policy_reader *in)
{
    imply(in, &(rp_clause){.kind = RP_CLAUSE_PARENT, .name = "parent", .implied = true, .parent = RP_PARENT_CHECKED});
    imply(in, &(rp_clause){.kind = RP_CLAUSE_PROFILE, .name = "profile", .implied = true});
}
