/* SPDX-License-Identifier: Apache-2.0
 * The signatures of an archive that has one of each kind (the run's statement, the bundle, a log's proof): every bit of
 * them and of the manifest flipped, each stripped, swapped with that of another archive, replayed there, renamed, cut.
 * And every member cut, and renamed to every name that its place allows. test_verify.c does the same to the members of
 * the run. */
#include <stdio.h>
#include <stdlib.h>

#include "audit/statements/statement.h"
#include "audit/log/log_note.h"
#include "audit/log/log_tree.h"
#include "audit/statements/oms.h"
#include "audit/archive/ustar.h"
#include "tests/audit/archive/archive_sample.h"
#include "tests/audit/archive/kept.h"

static const char origin[] = "example.com/models";
static rp_key *key, *log_key;

typedef struct piece {
    char name[RP_MEMBER_NAME];
    rp_buffer body;
} piece;

enum { PIECES_MAX = 12 };

/* An archive as its members. */
typedef struct parts {
    piece at[PIECES_MAX];
    size_t count;
} parts;

static parts one, two; /* of the same shape, other content */

static void put_parts(rp_buffer *out, const parts *p)
{
    static const unsigned char zeros[2 * RP_BLOCK];
    unsigned char header[RP_BLOCK];

    out->size = 0;
    for (size_t i = 0; i < p->count; i++) {
        const rp_buffer *body = &p->at[i].body;

        assert_true(rp_ustar_header(header, p->at[i].name, body->size));
        rp_buffer_append(out, header, sizeof header);
        rp_buffer_append(out, body->data, body->size);
        rp_buffer_append(out, zeros, (size_t)(rp_ustar_padded(body->size) - body->size));
    }
    rp_buffer_append(out, zeros, sizeof zeros);
    assert_false(out->failed);
}

/* The proof that the archive's id is entry 1 of a log of 3. */
static void put_proof(rp_buffer *out, const char *id)
{
    rp_digest entry[3], leaf[3], path[RP_LOG_PATH_MAX];
    rp_log_head head = {.size = 3};
    rp_buffer note = {0};
    size_t length;
    rp_error err;

    memset(entry, 7, sizeof entry);
    assert_true(rp_unhex(entry[1].bytes, RP_DIGEST_SIZE, id));
    assert_ok(rp_log_leaves(leaf, entry, 3, &err));
    strcpy(head.origin, origin);
    assert_ok(rp_log_root(&head.root, leaf, 3, &err));
    assert_ok(rp_log_path(path, &length, leaf, 3, 1, &err));
    assert_ok(rp_log_note_write(&note, &head, log_key, &err));
    rp_buffer_u8(&note, 0);
    rp_log_inclusion_write(out, NULL, 1, path, length, (char *)note.data);
    rp_buffer_free(&note);
}

static void make_parts(parts *p, const char *text)
{
    rp_archive_writer *writer;
    rp_json *run = rp_json_object(), *predicate = rp_json_pack("{s:s}", "host", text);
    rp_buffer proof = {0};
    rp_error err;

    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    assert_ok(rp_archive_writer_add(writer, "run/journal.bin", text, strlen(text), &err));
    assert_ok(rp_archive_writer_add(writer, "data/rows.csv", text, strlen(text), &err));
    assert_ok(rp_archive_writer_add(writer, "outputs/numbers.json", text, strlen(text), &err));
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, RP_PROVENANCE_TYPE, predicate, &err));
    for (size_t i = 0; i < rp_archive_writer_member_count(writer); i++) {
        const rp_member *member = rp_archive_writer_member(writer, i);

        if (strncmp(member->name, "signatures/", 11) == 0 && proof.size == 0) { /* its name is the first of them */
            put_proof(&proof, rp_archive_writer_id(writer));
            assert_ok(rp_log_member(p->at[p->count].name, origin, &err));
            rp_buffer_append(&p->at[p->count++].body, proof.data, proof.size);
        }
        strcpy(p->at[p->count].name, member->name);
        assert_ok(rp_archive_writer_read(writer, member, &p->at[p->count++].body, &err));
    }
    assert_int_equal(p->count, 7);
    rp_archive_writer_free(writer);
    rp_buffer_free(&proof);
    rp_json_free(run);
    rp_json_free(predicate);
}

static int prepare(void **state)
{
    (void)state;
    if (rp_key_generate(&key, NULL) != RP_OK || rp_key_generate(&log_key, NULL) != RP_OK)
        return -1;
    make_parts(&one, "the first archive");
    make_parts(&two, "the other archive");
    return 0;
}

static int finish(void **state)
{
    (void)state;
    for (size_t i = 0; i < PIECES_MAX; i++) {
        rp_buffer_free(&one.at[i].body);
        rp_buffer_free(&two.at[i].body);
    }
    rp_key_free(key);
    rp_key_free(log_key);
    return 0;
}

/* Whoever verifies trusts the signer and asks for the log. */
static rp_status verify(const rp_buffer *bytes, bool ask_log, rp_error *err)
{
    const rp_key *signer[] = {key}, *log[] = {log_key};
    const rp_verify_options options = {.log_key = log, .log_keys = ask_log ? 1 : 0};

    keep_archive(bytes, key);
    return rp_verify_memory(bytes->data, bytes->size, "copy", signer, 1, &options, NULL, NULL, err);
}

static rp_status verify_parts(const parts *p, bool ask_log, rp_error *err)
{
    rp_buffer bytes = {0};
    rp_status status;

    put_parts(&bytes, p);
    status = verify(&bytes, ask_log, err);
    rp_buffer_free(&bytes);
    return status;
}

static bool names(const rp_error *err, const char *name)
{
    return strncmp(err->text, "copy: ", 6) == 0 && strncmp(err->text + 6, name, strlen(name)) == 0 &&
           err->text[6 + strlen(name)] == ':';
}

static void assert_refused(rp_status status, const rp_error *err, const char *name)
{
    if (rp_exit_code(status) != 4 || !names(err, name))
        fail_msg("expected a refusal that names %s, found %s: %s", name, rp_status_name(status),
                 status ? err->text : "accepted");
}

/* ---- bits ---- */

static void every_bit_of_manifest_and_signatures_counts(void **state)
{
    rp_buffer bytes = {0};
    rp_error err;
    size_t at = 0, bits = 0;

    (void)state;
    put_parts(&bytes, &one);
    assert_ok(verify(&bytes, true, &err));
    for (size_t i = 0; i < one.count; i++) {
        size_t end = at + RP_BLOCK + (size_t)rp_ustar_padded(one.at[i].body.size);

        if (i > 0 && strncmp(one.at[i].name, "signatures/", 11) != 0)
            at = end;
        for (; at < end; at++)
            for (int bit = 0; bit < 8; bit++, bits++) {
                rp_status status;

                bytes.data[at] ^= (unsigned char)(1 << bit);
                status = verify(&bytes, true, &err);
                if (rp_exit_code(status) != 4 || !names(&err, one.at[i].name))
                    fail_msg("bit %d of byte %zu, of %s: %s: %s", bit, at, one.at[i].name, rp_status_name(status),
                             status ? err.text : "accepted");
                bytes.data[at] ^= (unsigned char)(1 << bit);
            }
    }
    print_message("%zu bits\n", bits);
    assert_ok(verify(&bytes, true, &err));
    rp_buffer_free(&bytes);
}

/* ---- whole signatures ---- */

static void without(parts *out, const parts *from, size_t index)
{
    *out = *from;
    memmove(&out->at[index], &out->at[index + 1], (out->count - index - 1) * sizeof *out->at);
    out->count--;
}

static void a_stripped_signature_is_missed_where_it_is_asked_for(void **state)
{
    parts p;
    rp_error err;

    (void)state;
    for (size_t i = one.count - 3; i < one.count; i++) {
        const char *name = one.at[i].name;

        without(&p, &one, i);
        if (strcmp(name, RP_RUN_STATEMENT) == 0) {
            assert_refused(verify_parts(&p, true, &err), &err, RP_RUN_STATEMENT);
        } else if (strcmp(name, RP_OMS_BUNDLE) == 0) {
            assert_ok(verify_parts(&p, true, &err)); /* for other verifiers; FORMAT.md 6 says so */
        } else {
            assert_refused(verify_parts(&p, true, &err), &err, "signatures/");
            assert_ok(verify_parts(&p, false, &err)); /* nobody asked for a log */
        }
    }
}

static void signatures_of_another_archive_are_refused(void **state)
{
    rp_error err;

    (void)state;
    assert_ok(verify_parts(&two, true, &err));
    for (size_t i = one.count - 3; i < one.count; i++) {
        parts p = one;

        p.at[i] = two.at[i];
        /* a statement about another manifest: it is the manifest that is not the one that was signed */
        assert_refused(verify_parts(&p, true, &err), &err,
                       strcmp(p.at[i].name, RP_RUN_STATEMENT) == 0 ? RP_MANIFEST_NAME : p.at[i].name);
        if (strcmp(p.at[i].name, RP_RUN_STATEMENT) == 0)
            assert_non_null(strstr(err.text, RP_RUN_STATEMENT));
    }
}

/* Under a name of its own, beside the archive's own. */
static void a_replayed_statement_is_refused_under_any_name(void **state)
{
    static const char *const name[] = {"signatures/a.dsse.json", "signatures/s.dsse.json",
                                       "signatures/approval.dsse.json"};
    rp_error err;

    (void)state;
    for (size_t k = 0; k < sizeof name / sizeof *name; k++)
        for (size_t i = one.count - 3; i < one.count; i++) {
            parts p = one;
            size_t at = strcmp(name[k], one.at[one.count - 1].name) > 0 ? one.count : one.count - 3;

            memmove(&p.at[at + 1], &p.at[at], (p.count - at) * sizeof *p.at);
            p.at[at] = two.at[i];
            strcpy(p.at[at].name, name[k]);
            p.count++;
            assert_refused(verify_parts(&p, true, &err), &err, name[k]);
        }
}

/* ---- every member ---- */

static void every_cut_member_is_named(void **state)
{
    rp_error err;

    (void)state;
    for (size_t i = 0; i < one.count; i++) {
        size_t size = one.at[i].body.size, cut[] = {size - 1, size / 2, 0};

        for (size_t k = 0; k < 3; k++) {
            parts p = one;

            p.at[i].body.size = cut[k];
            assert_refused(verify_parts(&p, true, &err), &err, p.at[i].name);
        }
    }
}

/* Names that sort into the same place, so that only what the name means can tell. */
static void every_renamed_member_is_refused(void **state)
{
    static const char *const name[][2] = {
        {"run/journal.bin", "run/programs/x"},          {"data/rows.csv", "data/roxs.csv"},
        {"data/rows.csv", "weights/rows.csv"},          {"outputs/numbers.json", "outputs/numbers.jsoo"},
        {"outputs/numbers.json", "checkpoints/x"},      {RP_OMS_BUNDLE, "signatures/model.sigstore.jsoo"},
        {RP_OMS_BUNDLE, "signatures/model.dsse.json"},  {RP_RUN_STATEMENT, "signatures/ruo.dsse.json"},
        {RP_RUN_STATEMENT, "signatures/run.dsse.jsoo"},
    };
    rp_error err;

    (void)state;
    for (size_t k = 0; k < sizeof name / sizeof *name; k++)
        for (size_t i = 0; i < one.count; i++) {
            parts p = one;
            rp_status status;

            if (strcmp(p.at[i].name, name[k][0]) != 0)
                continue;
            strcpy(p.at[i].name, name[k][1]);
            status = verify_parts(&p, true, &err);
            if ((rp_exit_code(status) != 4 && status != RP_EUNSUPPORTED) ||
                (!names(&err, name[k][0]) && !names(&err, name[k][1])))
                fail_msg("%s as %s: %s: %s", name[k][0], name[k][1], rp_status_name(status),
                         status ? err.text : "accepted");
        }
    for (size_t i = 0; i < one.count; i++) /* a proof under the name of another log's */
        if (rp_log_member_valid(one.at[i].name)) {
            parts p = one;

            p.at[i].name[15] ^= 1;
            assert_true(rp_log_member_valid(p.at[i].name));
            assert_refused(verify_parts(&p, true, &err), &err, p.at[i].name);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit_of_manifest_and_signatures_counts),
        cmocka_unit_test(a_stripped_signature_is_missed_where_it_is_asked_for),
        cmocka_unit_test(signatures_of_another_archive_are_refused),
        cmocka_unit_test(a_replayed_statement_is_refused_under_any_name),
        cmocka_unit_test(every_cut_member_is_named),
        cmocka_unit_test(every_renamed_member_is_refused),
    };

    return cmocka_run_group_tests(tests, prepare, finish);
}
