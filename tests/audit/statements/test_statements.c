/* SPDX-License-Identifier: Apache-2.0
 * Statements that are added later: of every kind one is moved to another archive, renamed, has each of its bits
 * flipped, comes from a stranger; adding at the same time, and to the wrong archive. What a statement says:
 * test_predicates.c. */
#include "tests/audit/archive/archive_sample.h"
#include "tests/audit/archive/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/archive/archive_private.h"
#include "audit/trust/policy.h"
#include "audit/statements/statement.h"
#include "base/memory.h"
#include "audit/archive/ustar.h"
#include "audit/record/provenance.h"
#include "audit/trust/verify.h"
#include "tests/audit/statements/sample_outcome.h"

enum { KINDS = 4, MOST = SAMPLE_MEMBERS + 24 };
static rp_key *builder, *signer[KINDS];
static char folder[] = "/tmp/reprise-test-XXXXXX";
static rp_error err;

/* Members of one archive in memory, in any order. */
typedef struct pack {
    size_t n;
    rp_member member[MOST];
    rp_buffer body[MOST];
} pack;

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++)
        if (rp_key_generate(&signer[i], NULL) != RP_OK)
            return -1;
    return mkdtemp(folder) == NULL || rp_key_generate(&builder, NULL) != RP_OK;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++)
        rp_key_free(signer[i]);
    rp_key_free(builder);
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The sample, or one that differs from it in a member; signed by the builder unless bare. */
static void write_archive(const char *path, bool second, bool bare)
{
    rp_archive_writer *writer;
    rp_buffer bytes = {0};
    rp_json *run = rp_json_pack("{s:i}", "steps", 2), *predicate = rp_json_pack("{s:s}", "host", "sample");

    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    assert_ok(rp_archive_writer_add(writer, "data/x", second ? "b" : "a", 1, &err));
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    if (!bare)
        assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, builder, RP_PROVENANCE_TYPE, predicate, &err));
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_ok(rp_file_save(path, bytes.data, bytes.size, true, 0644, &err));
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
    rp_json_free(run);
    rp_json_free(predicate);
}

static void id_of(char id[RP_DIGEST_HEX], const char *path)
{
    rp_archive *archive;

    assert_ok(rp_archive_open(&archive, path, &err));
    memcpy(id, rp_archive_id(archive), RP_DIGEST_HEX);
    rp_archive_close(archive);
}

/* A statement of a type that is not the library's. */
static rp_status add_foreign(const char *path, const char *id, const rp_key *by, char member[RP_MEMBER_NAME])
{
    rp_buffer text = {0};
    rp_json *predicate = rp_json_pack("{s:s}", "says", "something");
    rp_status status = rp_statement_write(&text, by, id, "https://example.com/review/v1", predicate, &err);

    strcpy(member, "signatures/review.dsse.json");
    if (status == RP_OK)
        status = rp_archive_add_statement(path, member, text.data, text.size, false, &err);
    rp_json_free(predicate);
    rp_buffer_free(&text);
    return status;
}

static void add_kind(int kind, const char *path, char member[RP_MEMBER_NAME])
{
    const rp_replay_outcome found = sample_outcome(NULL);
    const rp_approval approval = {.role = "model-risk", .decision = RP_APPROVE, .reason = "sch\xC3\xB6n"};
    char id[RP_DIGEST_HEX];

    id_of(id, path);
    if (kind == 0)
        assert_ok(rp_archive_attest(path, id, &found, signer[0], member, &err));
    else if (kind == 1)
        assert_ok(rp_archive_approve(path, id, &approval, signer[1], member, &err));
    else if (kind == 2)
        assert_ok(rp_archive_endorse(path, id, signer[2], member, &err));
    else
        assert_ok(add_foreign(path, id, signer[3], member));
}

static void load(rp_buffer *bytes, const char *path)
{
    rp_buffer_free(bytes);
    assert_ok(rp_file_read(path, 1 << 24, bytes, &err));
}

static void unpack(pack *out, const char *path)
{
    rp_archive *archive;

    memset(out, 0, sizeof *out);
    assert_ok(rp_archive_open(&archive, path, &err));
    for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
        out->member[i] = *rp_archive_member(archive, i);
        assert_ok(rp_archive_read_member(archive, out->member[i].name, 1 << 20, &out->body[i], &err));
        out->n++;
    }
    rp_archive_close(archive);
}

static size_t find(const pack *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->member[i].name, name) == 0)
            return i;
    fail_msg("no member %s", name);
    return 0;
}

static void pack_free(pack *p)
{
    for (size_t i = 0; i < p->n; i++)
        rp_buffer_free(&p->body[i]);
}

/* An adversary's archive: exact headers, right order, any names and bodies. skip: a member left out, or SIZE_MAX. */
static void repack(rp_buffer *out, const pack *p, size_t skip)
{
    static const unsigned char zero[2 * RP_BLOCK];
    bool done[MOST] = {false};

    out->size = 0;
    for (size_t n = 0; n < p->n; n++) {
        unsigned char header[RP_BLOCK];
        size_t next = MOST;

        for (size_t i = 0; i < p->n; i++)
            if (!done[i] && (next == MOST || rp_member_compare(&p->member[i], &p->member[next]) < 0))
                next = i;
        done[next] = true;
        if (next == skip)
            continue;
        assert_true(rp_ustar_header(header, p->member[next].name, p->body[next].size));
        rp_buffer_append(out, header, sizeof header);
        rp_buffer_append(out, p->body[next].data, p->body[next].size);
        rp_buffer_append(out, zero, (size_t)(rp_ustar_padded(p->body[next].size) - p->body[next].size));
    }
    rp_buffer_append(out, zero, sizeof zero);
    assert_false(out->failed);
}

static rp_status verify(const rp_buffer *bytes, bool trust_all, rp_verification **result)
{
    const rp_key *trusted[KINDS + 1] = {builder, signer[0], signer[1], signer[2], signer[3]};

    keep_archive(bytes, builder);
    return rp_verify_memory(bytes->data, bytes->size, "copy", trusted, trust_all ? KINDS + 1 : 1, NULL, result, NULL,
                            &err);
}

static void assert_refused(const rp_buffer *bytes, bool trust_all, const char *member)
{
    rp_status status = verify(bytes, trust_all, NULL);
    char start[RP_MEMBER_NAME + 8];

    (void)snprintf(start, sizeof start, "copy: %s:", member);
    if (rp_exit_code(status) != 4 || strncmp(err.text, start, strlen(start)) != 0)
        fail_msg("expected a refusal that names %s, found %s %s", member, rp_status_name(status),
                 status ? err.text : "");
}

static void every_kind_is_added_counted_and_read_back(void **state)
{
    char member[KINDS][RP_MEMBER_NAME];
    const char *path = in_folder("x.reprise");
    rp_buffer bytes = {0};
    rp_verification *v;

    (void)state;
    write_archive(path, false, false);
    for (int k = 0; k < KINDS; k++)
        add_kind(k, path, member[k]);
    load(&bytes, path);
    assert_ok(verify(&bytes, true, &v));
    assert_int_equal(v->statements, KINDS + 2);
    assert_int_equal(v->others, 0);
    assert_int_equal(v->statement[0].kind, RP_STATEMENT_PROVENANCE);
    assert_string_equal(v->statement[1].member, member[1]);
    assert_int_equal(v->statement[1].kind, RP_STATEMENT_APPROVAL);
    assert_string_equal(v->statement[1].approval->role, "model-risk");
    assert_string_equal(v->statement[1].approval->reason, "sch\xC3\xB6n");
    assert_int_equal(v->statement[2].kind, RP_STATEMENT_ENDORSEMENT);
    assert_true(rp_time_valid(v->statement[2].time));
    assert_int_equal(v->statement[3].kind, RP_STATEMENT_OTHER);
    assert_int_equal(v->statement[4].kind, RP_STATEMENT_VERDICT);
    assert_true(v->statement[4].verdict->identical);
    assert_int_equal(v->statement[4].verdict->scope.steps, 2);
    assert_string_equal(v->statement[4].verdict->level, "ref");
    assert_string_equal(v->statement[4].time, "2023-11-14T22:13:29Z");
    rp_verification_free(v);
    assert_ok(verify(&bytes, false, &v)); /* the builder alone: the others count for nothing, and are told */
    assert_int_equal(v->statements, 2);
    assert_int_equal(v->others, KINDS);
    for (int k = 0; k < KINDS; k++)
        assert_null(v->other[k].key_type);
    rp_verification_free(v);
    rp_buffer_free(&bytes);
    unlink(path);
}

static void statements_of_another_archive_are_refused(void **state)
{
    rp_buffer made = {0};
    pack x, y;

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        char first[RP_MEMBER_NAME], second[RP_MEMBER_NAME], path[128];

        strcpy(path, in_folder("x.reprise"));
        write_archive(path, false, false);
        add_kind(k, path, first);
        unpack(&x, path);
        unlink(path);
        strcpy(path, in_folder("y.reprise"));
        write_archive(path, true, false);
        add_kind(k, path, second);
        unpack(&y, path);
        unlink(path);
        for (int all = 0; all < 2; all++) {
            /* one for the other */
            rp_buffer mine = y.body[find(&y, second)];
            size_t at = find(&y, second);

            y.body[at] = x.body[find(&x, first)];
            strcpy(y.member[at].name, first);
            repack(&made, &y, SIZE_MAX);
            assert_refused(&made, all, first);
            y.body[at] = mine;
            strcpy(y.member[at].name, second);
            repack(&made, &y, SIZE_MAX);
            assert_ok(verify(&made, all, NULL));
            /* in addition */
            if (k == 3)
                continue;
            y.member[y.n] = x.member[find(&x, first)];
            y.body[y.n++] = x.body[find(&x, first)];
            repack(&made, &y, SIZE_MAX);
            assert_refused(&made, all, first);
            y.n--;
        }
        pack_free(&x);
        pack_free(&y);
    }
    rp_buffer_free(&made);
}

static void a_statement_under_another_s_name_is_refused(void **state)
{
    static const rp_statement_kind kinds[] = {RP_STATEMENT_VERDICT, RP_STATEMENT_APPROVAL, RP_STATEMENT_ENDORSEMENT};
    rp_buffer made = {0};
    pack x;

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        char name[RP_MEMBER_NAME], path[128];
        size_t at;

        strcpy(path, in_folder("x.reprise"));
        write_archive(path, false, false);
        add_kind(k, path, name);
        unpack(&x, path);
        unlink(path);
        at = find(&x, name);
        for (int all = 0; all < 2; all++) {
            for (int to = 0; to < 3; to++) {
                if (to == k)
                    continue;
                rp_statement_member(x.member[at].name, kinds[to], rp_key_id(signer[k]), &x.member[at].digest);
                repack(&made, &x, SIZE_MAX);
                assert_refused(&made, all, x.member[at].name);
            }
            strcpy(x.member[at].name, "signatures/free.dsse.json");
            repack(&made, &x, SIZE_MAX);
            if (k == 3)
                assert_ok(verify(&made, all, NULL)); /* what is nobody's kind has any name but theirs */
            else
                assert_refused(&made, all, x.member[at].name);
            /* in the place of the run's */
            strcpy(x.member[at].name, RP_RUN_STATEMENT);
            repack(&made, &x, find(&x, RP_RUN_STATEMENT) == at ? SIZE_MAX : find(&x, RP_RUN_STATEMENT));
            assert_refused(&made, all, RP_RUN_STATEMENT);
            strcpy(x.member[at].name, name);
        }
        pack_free(&x);
    }
    /* and the run's under another name */
    write_archive(in_folder("x.reprise"), false, false);
    unpack(&x, in_folder("x.reprise"));
    unlink(in_folder("x.reprise"));
    strcpy(x.member[find(&x, RP_RUN_STATEMENT)].name, "signatures/rum.dsse.json");
    repack(&made, &x, SIZE_MAX);
    assert_refused(&made, true, "signatures/rum.dsse.json");
    pack_free(&x);
    rp_buffer_free(&made);
}

/* Not even a stranger's may be damaged: its name is made of its bytes. */
/* Signed by whom we trust, of a type that is not the library's, or not that of a member. */
static rp_status add_as(const char *path, const char *type, const char *member, size_t size)
{
    char id[RP_DIGEST_HEX], *text = rp_calloc(size + 1, 1);
    rp_buffer made = {0};
    rp_json *predicate;
    rp_status status;

    memset(text, 'x', size);
    predicate = rp_json_pack("{s:s}", "says", text);
    id_of(id, path);
    assert_ok(rp_statement_write(&made, signer[3], id, type, predicate, &err));
    status = rp_archive_add_statement(path, member, made.data, made.size, false, &err);
    rp_json_free(predicate);
    rp_buffer_free(&made);
    rp_free(text);
    return status;
}

static void names_and_types_that_are_taken_are_nobody_else_s(void **state)
{
    static const struct {
        const char *type, *member;
        bool good;
    } as[] = {
        {"https://example.com/review/v1", "signatures/verdicts.dsse.json", true},
        {"https://example.com/review/v1", "signatures/verdict-of-the-board.dsse.json", false},
        {"https://example.com/review/v1", "signatures/approval-0.dsse.json", false},
        {"https://example.com/review/v1", "signatures/endorsement-0123456789abcdeF.dsse.json", false},
        {"https://example.com/review/v1", "signatures/finding-0.dsse.json", false},
        {"https://example.com/review/v1", "signatures/validation-0.dsse.json", false},
        {"https://example.com/review/v1", "signatures/monitoring-0.dsse.json", false},
        {"https://example.com/review/v1", "signatures/explanation-0.dsse.json", false},
        {"https://example.com/review/v1", "signatures/retraining-0.dsse.json", false},
        {"https://reprise.invalid/key-rotation/v1", "signatures/review.dsse.json", false},
        {"https://model_signing/signature/v1.0", "signatures/review.dsse.json", false},
    };
    rp_buffer bytes = {0};

    (void)state;
    for (size_t i = 0; i < sizeof as / sizeof *as; i++) {
        char path[128];

        strcpy(path, in_folder("x.reprise"));
        write_archive(path, false, false);
        assert_ok(add_as(path, as[i].type, as[i].member, 1));
        load(&bytes, path);
        for (int all = 0; all < 2; all++) /* a stranger's too: what it is called, everyone sees */
            if (as[i].good)
                assert_ok(verify(&bytes, all, NULL));
            else
                assert_refused(&bytes, all, as[i].member);
        unlink(path);
    }
    rp_buffer_free(&bytes);
}

/* Anyone can put statements into a file, and each costs whoever verifies it. */
static void statements_are_bounded_together(void **state)
{
    char path[128], member[RP_MEMBER_NAME];
    rp_archive *archive;
    rp_buffer made = {0};
    pack x;
    size_t n = 0;

    (void)state;
    strcpy(path, in_folder("x.reprise"));
    write_archive(path, false, false);
    do {
        (void)snprintf(member, sizeof member, "signatures/s%02zu.dsse.json", n++);
        if (add_as(path, "https://example.com/review/v1", member, 500000) != RP_OK)
            break;
    } while (n < 20);
    assert_in_range(n, 8, 18); /* 888 KiB each */
    assert_non_null(strstr(err.text, "at most 8388608 bytes of statements"));
    assert_ok(rp_archive_open(&archive, path, &err)); /* as it was */
    rp_archive_close(archive);
    unpack(&x, path); /* and by force */
    unlink(path);
    x.member[x.n] = x.member[x.n - 1];
    strcpy(x.member[x.n].name, "signatures/zz.dsse.json");
    x.body[x.n] = (rp_buffer){0};
    rp_buffer_append(&x.body[x.n], x.body[x.n - 1].data, x.body[x.n - 1].size);
    x.n++;
    repack(&made, &x, SIZE_MAX);
    assert_int_equal(verify(&made, false, NULL), RP_EFORMAT);
    assert_non_null(strstr(err.text, "signatures/zz.dsse.json: more than 8388608 bytes of statements"));
    pack_free(&x);
    rp_buffer_free(&made);
}

static void every_flipped_bit_is_refused_whoever_signed(void **state)
{
    const rp_verify_options unsigned_too = {.allow_unsigned = true};
    rp_archive *archive;
    rp_buffer bytes = {0};

    (void)state;
    for (int k = 0; k < 3; k++) {
        char name[RP_MEMBER_NAME], path[128], start[RP_MEMBER_NAME + 8];
        const rp_member *member;
        size_t begin, end;

        strcpy(path, in_folder("x.reprise"));
        write_archive(path, false, true);
        add_kind(k, path, name);
        load(&bytes, path);
        unlink(path);
        assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "copy", &err));
        member = rp_archive_find(archive, name);
        begin = (size_t)member->offset;
        end = begin + (size_t)member->size;
        rp_archive_close(archive);
        (void)snprintf(start, sizeof start, "copy: %s:", name);
        /* of the first kind every bit; of the others every seventh, so that each byte has its turn and each place in
         * one */
        for (size_t bit = 8 * begin; bit < 8 * end; bit += k == 0 ? 1 : 7) {
            bool trusted = bit % 8 == 3; /* by a key that is known, too */
            const rp_key *key = signer[k];

            bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            for (int both = 0; both < 1 + trusted; both++) {
                rp_status status = rp_verify_memory(bytes.data, bytes.size, "copy", &key, (size_t)both, &unsigned_too,
                                                    NULL, NULL, &err);

                if (rp_exit_code(status) != 4 || strncmp(err.text, start, strlen(start)) != 0)
                    fail_msg("bit %zu of %s: %s %s", bit - 8 * begin, name, rp_status_name(status),
                             status ? err.text : "");
            }
            bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
    }
    rp_buffer_free(&bytes);
}

static void removing_a_statement_is_seen_in_what_is_counted(void **state)
{
    char member[KINDS][RP_MEMBER_NAME], path[128];
    rp_buffer made = {0};
    rp_verification *v;
    pack x;

    (void)state;
    strcpy(path, in_folder("x.reprise"));
    write_archive(path, false, false);
    for (int k = 0; k < KINDS; k++)
        add_kind(k, path, member[k]);
    unpack(&x, path);
    unlink(path);
    for (int k = 0; k < KINDS; k++) {
        repack(&made, &x, find(&x, member[k]));
        assert_ok(verify(&made, true, &v));
        assert_int_equal(v->statements, KINDS + 1);
        rp_verification_free(v);
    }
    repack(&made, &x, find(&x, RP_RUN_STATEMENT)); /* the endorser vouches still, the builder's bundle stays */
    assert_ok(verify(&made, true, &v));
    assert_true(v->statement[0].kind != RP_STATEMENT_PROVENANCE);
    rp_verification_free(v);
    assert_int_equal(verify(&made, false, NULL), RP_ESIGN);
    pack_free(&x);
    rp_buffer_free(&made);
}

/* Whoever needs them to be there says so. */
static void a_policy_notices_each_statement_that_was_removed(void **state)
{
    static const char *const clause[] = {"replay[0]", "approvals[0]", "builder"};
    char member[KINDS][RP_MEMBER_NAME], path[128], text[1024];
    const rp_key *trusted[] = {builder, signer[0], signer[1]};
    rp_verify_options options = {.tell_unmet = true};
    rp_buffer made = {0};
    rp_verification *v;
    rp_policy *policy;
    pack x;

    (void)state;
    strcpy(path, in_folder("x.reprise"));
    write_archive(path, false, false);
    for (int k = 0; k < 3; k++)
        add_kind(k, path, member[k]);
    unpack(&x, path);
    unlink(path);
    strcpy(member[2], RP_RUN_STATEMENT);
    (void)snprintf(text, sizeof text,
                   "policy: 1\ngroups: {b: [%s], r: [%s], c: [%s]}\nbuilder: {of: b}\n"
                   "replay: {mode: full, by: r}\napprovals: {of: c}\n",
                   rp_key_id(builder), rp_key_id(signer[0]), rp_key_id(signer[1]));
    assert_ok(rp_policy_from_text(&policy, text, strlen(text), "p", NULL, &err));
    options.policy = policy;
    for (int k = -1; k < 3; k++) {
        repack(&made, &x, k < 0 ? SIZE_MAX : find(&x, member[k]));
        assert_ok(rp_verify_memory(made.data, made.size, "copy", trusted, 3, &options, &v, NULL, &err));
        assert_int_equal(v->policy->unmet, k >= 0);
        for (size_t i = 0; i < v->policy->clauses; i++)
            assert_int_equal(v->policy->clause[i].met, k < 0 || strcmp(v->policy->clause[i].clause, clause[k]) != 0);
        rp_verification_free(v);
    }
    rp_policy_free(policy);
    pack_free(&x);
    rp_buffer_free(&made);
}

/* ---- adding ---- */

static void a_statement_is_not_added_to_another_archive(void **state)
{
    const rp_approval approval = {.role = "x", .decision = RP_APPROVE, .reason = "r"};
    char id[RP_DIGEST_HEX], path[128];
    rp_buffer before = {0}, after = {0};

    (void)state;
    strcpy(path, in_folder("x.reprise"));
    write_archive(path, false, false);
    id_of(id, path);
    write_archive(path, true, false); /* replaced while somebody looked at the first */
    load(&before, path);
    assert_int_equal(rp_archive_approve(path, id, &approval, signer[0], NULL, &err), RP_EHASH);
    assert_int_equal(rp_archive_endorse(path, id, signer[0], NULL, &err), RP_EHASH);
    assert_int_equal(rp_archive_approve(path, "short", &approval, signer[0], NULL, &err), RP_EARG);
    load(&after, path);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    rp_buffer_free(&before);
    rp_buffer_free(&after);
    unlink(path);
}

/* Two steps that are called all of the run, where the run has more. */
static void a_verdict_on_a_run_of_another_length_is_refused(void **state)
{
    rp_replay_outcome found = sample_outcome(NULL);
    char id[RP_DIGEST_HEX], member[RP_MEMBER_NAME], path[128];
    rp_buffer bytes = {0};

    (void)state;
    strcpy(path, in_folder("x.reprise"));
    write_archive(path, false, false);
    id_of(id, path);
    found.begun.scope.steps = found.begun.scope.steps_total = 1;
    found.begun.scope.last = 0;
    assert_ok(rp_archive_attest(path, id, &found, signer[0], member, &err));
    load(&bytes, path);
    assert_refused(&bytes, true, member);
    assert_non_null(strstr(err.text, "about a run of 1 steps, this one has 2"));
    write_archive(path, false, false);
    found = sample_outcome(NULL);
    found.begun.scope.segments = found.begun.scope.segments_total = 2;
    assert_ok(rp_archive_attest(path, id, &found, signer[0], member, &err));
    load(&bytes, path);
    assert_refused(&bytes, true, member);
    assert_non_null(strstr(err.text, "about a run of 2 segments, this one has 1"));
    assert_ok(verify(&bytes, false, NULL)); /* a stranger's counts for nothing anyway */
    rp_buffer_free(&bytes);
    unlink(path);
}

static void those_who_add_at_the_same_time_lose_nothing(void **state)
{
    enum { PROCESSES = KINDS, EACH = 5 };
    char id[RP_DIGEST_HEX], path[128];
    rp_archive *archive;
    size_t found = 0, endorsed = 0;

    (void)state;
    strcpy(path, in_folder("x.reprise"));
    write_archive(path, false, true);
    id_of(id, path);
    for (int p = 0; p < PROCESSES; p++) {
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            /* each would bring the bundle for public verifiers */
            if (rp_archive_endorse(path, id, signer[p], NULL, &err) != RP_OK)
                _exit(2);
            for (int i = 0; i < EACH; i++) {
                rp_approval approval = {.role = "x", .decision = RP_APPROVE};

                (void)snprintf(approval.reason, sizeof approval.reason, "%d of %d", i, p);
                if (rp_archive_approve(path, id, &approval, signer[p % KINDS], NULL, &err) != RP_OK)
                    _exit(1);
            }
            _exit(0);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int result;

        assert_true(wait(&result) > 0);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
    }
    assert_ok(rp_archive_open(&archive, path, &err));
    for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
        found += strncmp(rp_archive_member(archive, i)->name, "signatures/approval-", 20) == 0;
        endorsed += strncmp(rp_archive_member(archive, i)->name, "signatures/endorsement-", 23) == 0;
    }
    assert_int_equal(found, PROCESSES * EACH);
    assert_int_equal(endorsed, PROCESSES); /* each by a key of its own */
    assert_string_equal(rp_archive_id(archive), id);
    rp_archive_close(archive);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_added_counted_and_read_back),
        cmocka_unit_test(statements_of_another_archive_are_refused),
        cmocka_unit_test(a_statement_under_another_s_name_is_refused),
        cmocka_unit_test(names_and_types_that_are_taken_are_nobody_else_s),
        cmocka_unit_test(statements_are_bounded_together),
        cmocka_unit_test(every_flipped_bit_is_refused_whoever_signed),
        cmocka_unit_test(removing_a_statement_is_seen_in_what_is_counted),
        cmocka_unit_test(a_policy_notices_each_statement_that_was_removed),
        cmocka_unit_test(a_statement_is_not_added_to_another_archive),
        cmocka_unit_test(a_verdict_on_a_run_of_another_length_is_refused),
        cmocka_unit_test(those_who_add_at_the_same_time_lose_nothing),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
