/* SPDX-License-Identifier: Apache-2.0
 * Verification of whole archives: every bit flipped, every truncation, and archives remade by an adversary who can
 * write headers and manifests but cannot sign. */
#include "tests/audit/archive/archive_sample.h"
#include "tests/audit/archive/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/statements/statement.h"
#include "audit/archive/ustar.h"
#include "audit/trust/verify.h"
#include "base/memory.h"

static rp_key *key, *other;

static int make_keys(void **state)
{
    (void)state;
    return rp_key_generate(&key, NULL) != RP_OK || rp_key_generate(&other, NULL) != RP_OK;
}

static int free_keys(void **state)
{
    (void)state;
    rp_key_free(key);
    rp_key_free(other);
    return 0;
}

static rp_status verify(const rp_buffer *bytes, const rp_key *trusted, bool allow_unsigned, rp_error *err)
{
    const rp_verify_options options = {.allow_unsigned = allow_unsigned};

    keep_archive(bytes, trusted);
    return rp_verify_memory(bytes->data, bytes->size, "copy", &trusted, trusted ? 1 : 0, &options, NULL, NULL, err);
}

/* The text after "copy: " must begin with name. */
static void assert_names(const rp_error *err, const char *name)
{
    static const char where[] = "copy: ";

    if (strncmp(err->text, where, strlen(where)) != 0 || strncmp(err->text + strlen(where), name, strlen(name)) != 0 ||
        err->text[strlen(where) + strlen(name)] != ':')
        fail_msg("expected an error about %s, found: %s", name, err->text);
}

static void sample_verifies_and_says_what_was_checked(void **state)
{
    rp_buffer bytes = {0};
    rp_verification *result;
    rp_archive *archive;
    rp_error err;
    const rp_key *trusted[] = {other, key};

    (void)state;
    sample_archive(&bytes, key);
    assert_ok(rp_verify_memory(bytes.data, bytes.size, "copy", trusted, 2, NULL, &result, &archive, &err));
    assert_int_equal(result->members, SAMPLE_MEMBERS + 3);
    assert_int_equal(result->bytes, bytes.size);
    assert_int_equal(result->statements, 2);
    assert_string_equal(result->statement[0].member, RP_RUN_STATEMENT);
    assert_string_equal(result->statement[1].member, RP_OMS_BUNDLE);
    assert_string_equal(result->statement[1].predicate_type, RP_OMS_TYPE);
    assert_string_equal(result->statement[0].key_id, rp_key_id(key));
    assert_string_equal(result->statement[0].key_type, "ECDSA P-256");
    assert_string_equal(result->statement[0].predicate_type, RP_PROVENANCE_TYPE);
    assert_string_equal(result->archive_id, rp_archive_id(archive));
    rp_verification_free(result);
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
}

/* Which member each byte of the archive belongs to. */
static const char *owner(const rp_archive *archive, size_t at)
{
    for (size_t i = rp_archive_member_count(archive); i-- > 0;) {
        const rp_member *member = rp_archive_member(archive, i);
        if (at >= member->offset + rp_ustar_padded(member->size))
            break;
        if (at >= member->offset - RP_BLOCK)
            return member->name;
    }
    return "end of archive";
}

static void every_flipped_bit_is_refused_and_its_member_named(void **state)
{
    rp_buffer bytes = {0};
    rp_archive *archive;
    rp_error err;

    (void)state;
    sample_archive(&bytes, key);
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "sample", &err));
    char(*name)[RP_MEMBER_NAME] = calloc(bytes.size, sizeof *name); /* the archive borrows the bytes being changed */
    assert_non_null(name);
    for (size_t at = 0; at < bytes.size; at++)
        strcpy(name[at], owner(archive, at));
    rp_archive_close(archive);
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        unsigned char mask = (unsigned char)(1u << bit % 8);
        bytes.data[bit / 8] ^= mask;
        rp_status status = verify(&bytes, key, false, &err);
        if (rp_exit_code(status) != 4)
            fail_msg("bit %zu of byte %zu (%s): %s %s", bit % 8, bit / 8, name[bit / 8], rp_status_name(status),
                     status ? err.text : "accepted");
        assert_names(&err, name[bit / 8]);
        bytes.data[bit / 8] ^= mask;
    }
    assert_ok(verify(&bytes, key, false, &err));
    free(name);
    rp_buffer_free(&bytes);
}

static void every_truncation_is_refused(void **state)
{
    rp_buffer bytes = {0};
    rp_error err;

    (void)state;
    sample_archive(&bytes, key);
    for (size_t size = 0; size < bytes.size; size++) {
        unsigned char *exact = malloc(size ? size : 1); /* so that a sanitizer sees any read past the end */
        memcpy(exact, bytes.data, size);
        rp_status status = verify(&(rp_buffer){.data = exact, .size = size}, key, true, &err);
        free(exact);
        if (rp_exit_code(status) != 4)
            fail_msg("the first %zu bytes: %s", size, rp_status_name(status));
    }
    rp_buffer_free(&bytes);
}

static void bytes_after_the_end_are_refused(void **state)
{
    rp_buffer bytes = {0};
    rp_error err;

    (void)state;
    sample_archive(&bytes, key);
    size_t size = bytes.size;
    static const size_t extra[] = {1, 511, 512, 1024, 10240};
    for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) {
        for (int fill = 0; fill < 2; fill++) {
            bytes.size = size;
            for (size_t n = 0; n < extra[i]; n++)
                rp_buffer_u8(&bytes, fill ? 'x' : 0);
            assert_int_equal(verify(&bytes, key, false, &err), RP_EFORMAT);
            assert_names(&err, "end of archive");
        }
    }
    rp_buffer_free(&bytes);
}

/* ---- an adversary's archive: any members, exact headers ---- */

static void put_member(rp_buffer *out, const char *name, const void *body, size_t size)
{
    static const unsigned char zero[RP_BLOCK];
    unsigned char header[RP_BLOCK];

    assert_true(rp_ustar_header(header, name, size));
    rp_buffer_append(out, header, sizeof header);
    rp_buffer_append(out, body, size);
    rp_buffer_append(out, zero, (size_t)(rp_ustar_padded(size) - size));
}

static void put_end(rp_buffer *out)
{
    static const unsigned char zero[2 * RP_BLOCK];

    rp_buffer_append(out, zero, sizeof zero);
    assert_false(out->failed);
}

/* The sample's members [0, count) in the order given, each under its own name. */
static void reassemble(rp_buffer *out, const rp_archive *sample, const size_t *order, size_t count)
{
    rp_error err;

    out->size = 0;
    for (size_t i = 0; i < count; i++) {
        const rp_member *member = rp_archive_member(sample, order[i]);
        rp_buffer body = {0};
        assert_ok(rp_archive_read_member(sample, member->name, 1 << 20, &body, &err));
        put_member(out, member->name, body.data, body.size);
        rp_buffer_free(&body);
    }
    put_end(out);
}

static void reordered_doubled_and_missing_members_are_refused(void **state)
{
    enum { N = SAMPLE_MEMBERS + 3 };
    rp_buffer bytes = {0}, made = {0};
    rp_archive *archive;
    size_t order[N + 1];
    rp_error err;

    (void)state;
    sample_archive(&bytes, key);
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "sample", &err));
    for (size_t i = 0; i < N; i++)
        order[i] = i;
    reassemble(&made, archive, order, N);
    assert_int_equal(made.size, bytes.size);
    assert_memory_equal(made.data, bytes.data, bytes.size); /* the adversary's tools are right */
    for (size_t i = 0; i + 1 < N; i++) {
        order[i] = i + 1;
        order[i + 1] = i;
        reassemble(&made, archive, order, N);
        assert_int_equal(verify(&made, key, false, &err), RP_EFORMAT);
        order[i] = i;
        order[i + 1] = i + 1;
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N + 1; j++)
            order[j] = j <= i ? j : j - 1;
        reassemble(&made, archive, order, N + 1);
        assert_int_equal(verify(&made, key, false, &err), RP_EFORMAT);
        assert_names(&err, rp_archive_member(archive, i)->name);
        for (size_t j = 0; j < N - 1; j++)
            order[j] = j < i ? j : j + 1;
        reassemble(&made, archive, order, N - 1);
        if (strcmp(rp_archive_member(archive, i)->name, RP_OMS_BUNDLE) == 0) { /* the one member it can do without */
            assert_ok(verify(&made, key, false, &err));
            continue;
        }
        assert_int_equal(rp_exit_code(verify(&made, key, false, &err)), 4);
        if (i > 0)
            assert_names(&err, rp_archive_member(archive, i)->name);
    }
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
    rp_buffer_free(&made);
}

static void renamed_swapped_and_added_members_are_refused(void **state)
{
    rp_buffer bytes = {0}, made = {0};
    rp_archive *archive;
    rp_error err;

    (void)state;
    sample_archive(&bytes, key);
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "sample", &err));
    for (int change = 0; change < 3; change++) {
        made.size = 0;
        for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
            const rp_member *member = rp_archive_member(archive, i);
            const char *name = member->name;
            rp_buffer body = {0};
            assert_ok(rp_archive_read_member(archive, name, 1 << 20, &body, &err));
            if (change == 0 && strcmp(name, "data/table.csv") == 0)
                name = "data/tablf.csv";
            if (change == 1 && strcmp(name, "outputs/metrics.json") == 0)
                body.data[body.size - 3]++; /* of equal size, with an exact header */
            put_member(&made, name, body.data, body.size);
            if (change == 2 && strcmp(name, "outputs/metrics.json") == 0)
                put_member(&made, "outputs/more.json", "{}", 2);
            rp_buffer_free(&body);
        }
        put_end(&made);
        rp_status status = verify(&made, key, false, &err);
        assert_int_equal(status, change == 1 ? RP_EHASH : RP_EFORMAT);
        assert_names(&err, change == 0 ? "data/table.csv" : change == 1 ? "outputs/metrics.json" : "outputs/more.json");
    }
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
    rp_buffer_free(&made);
}

/* An unsigned archive of one manifest text and no other members. */
static rp_status open_manifest(const char *text, size_t size, rp_error *err)
{
    rp_buffer made = {0};
    rp_status status;

    put_member(&made, RP_MANIFEST_NAME, text, size);
    put_end(&made);
    status = verify(&made, NULL, true, err);
    rp_buffer_free(&made);
    return status;
}

#define MANIFEST(contract, format, kind, members, profile, more) \
    "{\"contract\":" contract ",\"format\":" format ",\"kind\":" kind ",\"members\":" members ",\"profile\":" profile \
    ",\"run\":{}" more "}"

static void manifests_are_refused_for_every_flaw(void **state)
{
    static const char hash[] = "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"";
    static const struct {
        const char *text;
        rp_status status;
    } flaw[] = {
        {MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", ""), RP_OK},
        {MANIFEST("1", "2", "\"api\"", "[]", "\"portable\"", ""), RP_EUNSUPPORTED},
        {MANIFEST("2", "1", "\"api\"", "[]", "\"portable\"", ""), RP_EUNSUPPORTED},
        {MANIFEST("1", "9007199254740991", "\"api\"", "[]", "\"portable\"", ""), RP_EUNSUPPORTED},
        {"{\"format\":2}", RP_EUNSUPPORTED},
        {MANIFEST("1", "0", "\"api\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("-1", "1", "\"api\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1.0", "\"api\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "\"1\"", "\"api\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "99999999999999999999999999", "\"api\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1e999", "\"api\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1", "\"other\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "{}", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"strict\"", ""), RP_EUNSUPPORTED},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"pinned\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", ",\"run\":{}"), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", ",\"z\":0"), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", "") "\n", RP_EFORMAT},
        {" " MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[3]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "2", "\"api\"", "[3]", "\"portable\"", ""), RP_EUNSUPPORTED}, /* what else is newer too */
        {MANIFEST("2", "1", "\"api\"", "[{\"b\":1}]", "\"portable\"", ",\"withheld\":[1]"), RP_EUNSUPPORTED},
        {MANIFEST("1", "1", "\"api\"", "[3]", "\"strict\"", ""), RP_EUNSUPPORTED},
        {MANIFEST("1", "2", "\"api\"", "[ ]", "\"portable\"", ""), RP_EFORMAT}, /* no manifest of any format */
        {MANIFEST("1", "1", "\"api\"", "[ ]", "\"portable\"", ""), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", ",\"withheld\":[]"), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", ",\"withheld\":{}"), RP_EFORMAT},
        {MANIFEST("1", "1", "\"api\"", "[]", "\"portable\"", ",\"withheld\":[1]"), RP_EFORMAT},
        {"", RP_EFORMAT},
        {"[]", RP_EFORMAT},
        {"{}", RP_EFORMAT},
    };
    static const char *const entry[] = {
        "{\"path\":\"../x\",\"sha256\":%s,\"size\":1}",
        "{\"path\":\"manifest.json\",\"sha256\":%s,\"size\":1}",
        "{\"path\":\"signatures/run.dsse.json\",\"sha256\":%s,\"size\":1}",
        "{\"path\":\"other/x\",\"sha256\":%s,\"size\":1}",
        "{\"path\":\"data/x\",\"sha256\":%s,\"size\":-1}",
        "{\"path\":\"data/x\",\"sha256\":%s,\"size\":1,\"z\":1}",
        "{\"path\":\"data/x\",\"sha256\":%s}",
        "{\"path\":\"data/x\",\"sha256\":\"%.10s\",\"size\":1}",
        "{\"path\":\"data/x\",\"sha256\":%s,\"size\":1},{\"path\":\"data/x\",\"sha256\":%1$s,\"size\":1}",
        "{\"path\":\"data/x\",\"sha256\":%s,\"size\":1}", /* only missing */
    };
    rp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof flaw / sizeof *flaw; i++) {
        rp_status status = open_manifest(flaw[i].text, strlen(flaw[i].text), &err);
        if (status != flaw[i].status)
            fail_msg("%s: %s: %s", flaw[i].text, rp_status_name(status), status ? err.text : "");
        if (status != RP_OK)
            assert_names(&err, RP_MANIFEST_NAME);
        if (status == RP_EUNSUPPORTED && strstr(err.text, "strict") == NULL)
            assert_true(strstr(err.text, "up to") != NULL); /* both versions are named */
    }
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        char member[512], text[1024];
        rp_buffer one = {0};
        const char *at = strstr(entry[i], "%s");
        if (i == 8)
            (void)snprintf(
                member, sizeof member,
                "{\"path\":\"data/x\",\"sha256\":%s,\"size\":1},{\"path\":\"data/x\",\"sha256\":%s,\"size\":1}", hash,
                hash);
        else if (at != NULL)
            (void)snprintf(member, sizeof member, "%.*s%s%s", (int)(at - entry[i]), entry[i], hash, at + 2);
        else
            (void)snprintf(member, sizeof member, "{\"path\":\"data/x\",\"sha256\":\"0123\",\"size\":1}");
        (void)snprintf(
            text, sizeof text,
            "{\"contract\":1,\"format\":1,\"kind\":\"api\",\"members\":[%s],\"profile\":\"portable\",\"run\":{}}",
            member);
        if (open_manifest(text, strlen(text), &err) != RP_EFORMAT)
            fail_msg("accepted: %s", text);
        assert_names(&err, i + 1 < sizeof entry / sizeof *entry ? RP_MANIFEST_NAME : "data/x");
        rp_buffer_free(&one);
    }
}

static void deep_manifests_are_refused(void **state)
{
    rp_buffer text = {0};
    rp_error err;

    (void)state;
    for (size_t i = 0; i < 200000; i++)
        rp_buffer_u8(&text, '[');
    assert_int_equal(open_manifest((const char *)text.data, text.size, &err), RP_EFORMAT);
    assert_names(&err, RP_MANIFEST_NAME);
    rp_buffer_free(&text);
}

static void newer_format_with_unknown_members_is_called_newer(void **state)
{
    static const char text[] = "{\"format\":2}";
    rp_buffer made = {0};
    rp_error err;

    (void)state;
    put_member(&made, RP_MANIFEST_NAME, text, strlen(text));
    put_member(&made, "novel/member.bin", "x", 1);
    put_end(&made);
    assert_int_equal(verify(&made, NULL, true, &err), RP_EUNSUPPORTED);
    assert_names(&err, RP_MANIFEST_NAME);
    rp_buffer_free(&made);
}

static void statements_must_be_trusted_and_about_this_archive(void **state)
{
    rp_buffer bytes = {0}, unsigned_bytes = {0}, statement = {0};
    rp_json *predicate = rp_json_object();
    rp_error err;

    (void)state;
    sample_archive(&bytes, key);
    assert_int_equal(verify(&bytes, other, false, &err), RP_ESIGN);
    assert_names(&err, RP_RUN_STATEMENT);
    assert_int_equal(verify(&bytes, NULL, true, &err), RP_ESIGN); /* unsigned is not the same as not checked */
    assert_names(&err, RP_RUN_STATEMENT);

    sample_archive(&unsigned_bytes, NULL);
    assert_ok(verify(&unsigned_bytes, key, true, &err));
    assert_int_equal(verify(&unsigned_bytes, key, false, &err), RP_ESIGN);
    assert_names(&err, RP_RUN_STATEMENT);

    /* A good statement about something else, put behind these members. */
    assert_ok(rp_statement_write(&statement, key, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                                 RP_PROVENANCE_TYPE, predicate, &err));
    unsigned_bytes.size -= 2 * RP_BLOCK;
    put_member(&unsigned_bytes, RP_RUN_STATEMENT, statement.data, statement.size);
    put_end(&unsigned_bytes);
    assert_int_equal(verify(&unsigned_bytes, key, true, &err), RP_EHASH);
    assert_true(strstr(err.text, RP_RUN_STATEMENT) != NULL);
    rp_json_free(predicate);
    rp_buffer_free(&bytes);
    rp_buffer_free(&unsigned_bytes);
    rp_buffer_free(&statement);
}

static void another_statement_is_not_a_run_statement(void **state)
{
    rp_archive_writer *writer;
    rp_buffer bytes = {0};
    rp_json *predicate = rp_json_object();
    rp_error err;

    (void)state;
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    sample_fill(writer, 0);
    assert_ok(rp_archive_writer_sign(writer, "signatures/approval.dsse.json", key, "urn:approval", predicate, &err));
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_int_equal(verify(&bytes, key, false, &err), RP_ESIGN);
    assert_names(&err, RP_RUN_STATEMENT);
    rp_archive_writer_free(writer);
    rp_json_free(predicate);
    rp_buffer_free(&bytes);
}

/* A validator's rejection under the name of the run's statement must not count as the run's signature. */
static void a_statement_of_another_type_does_not_sign_the_run(void **state)
{
    rp_archive_writer *writer;
    rp_buffer bytes = {0};
    rp_json *predicate = rp_json_object();
    rp_error err;

    (void)state;
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    sample_fill(writer, 0);
    assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, "urn:rejection", predicate, &err));
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_int_equal(verify(&bytes, key, false, &err), RP_ESIGN);
    assert_names(&err, RP_RUN_STATEMENT);
    rp_archive_writer_free(writer);
    rp_json_free(predicate);
    rp_buffer_free(&bytes);
}

/* ---- every allocation fails in turn ---- */

static size_t allowed, live;

static void *limited_allocate(void *self, size_t size)
{
    void *block = allowed > 0 ? malloc(size) : NULL;

    (void)self;
    if (block != NULL) {
        allowed--;
        live++;
    }
    return block;
}

static void *limited_resize(void *self, void *block, size_t size)
{
    if (block == NULL)
        return limited_allocate(self, size);
    if (allowed == 0)
        return NULL;
    allowed--;
    return realloc(block, size);
}

static void limited_release(void *self, void *block)
{
    (void)self;
    live--;
    free(block);
}

static rp_status build(rp_buffer *out, rp_error *err)
{
    rp_archive_writer *writer;
    rp_json *run = rp_json_object();
    rp_status status = rp_archive_writer_new(&writer, NULL, err);

    if (status == RP_OK && run == NULL)
        status = RP_ENOMEM;
    if (status == RP_OK)
        status = rp_archive_writer_add(writer, "data/x", "abc", 3, err);
    if (status == RP_OK)
        status = rp_archive_writer_finish(writer, RP_RUN_API, run, err);
    if (status == RP_OK)
        status = rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, RP_PROVENANCE_TYPE, run, err);
    if (status == RP_OK)
        status = rp_archive_writer_append(writer, out, err);
    rp_archive_writer_free(writer);
    rp_json_free(run);
    return status;
}

static void failed_allocations_leave_no_leak_and_a_clear_error(void **state)
{
    static const rp_allocator limited = {limited_allocate, limited_resize, limited_release, NULL};
    rp_status status = RP_ENOMEM;

    (void)state;
    rp_set_allocator(&limited);
    for (size_t n = 0; status != RP_OK; n++) {
        const rp_key *trusted[] = {key};
        rp_buffer bytes = {0};
        rp_verification *result = NULL;
        rp_archive *archive = NULL;
        rp_error err = {0};

        allowed = n;
        status = build(&bytes, &err);
        if (status == RP_OK)
            status = rp_verify_memory(bytes.data, bytes.size, "copy", trusted, 1, NULL, &result, &archive, &err);
        if (status != RP_OK && (status != RP_ENOMEM || n > 100000)) {
            rp_set_allocator(NULL);
            fail_msg("allocation %zu: %s: %s", n, rp_status_name(status), err.text);
        }
        rp_verification_free(result);
        rp_archive_close(archive);
        rp_buffer_free(&bytes);
        if (live != 0) {
            rp_set_allocator(NULL);
            fail_msg("allocation %zu: %zu blocks leak", n, live);
        }
    }
    rp_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_verifies_and_says_what_was_checked),
        cmocka_unit_test(every_flipped_bit_is_refused_and_its_member_named),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(bytes_after_the_end_are_refused),
        cmocka_unit_test(reordered_doubled_and_missing_members_are_refused),
        cmocka_unit_test(renamed_swapped_and_added_members_are_refused),
        cmocka_unit_test(manifests_are_refused_for_every_flaw),
        cmocka_unit_test(deep_manifests_are_refused),
        cmocka_unit_test(newer_format_with_unknown_members_is_called_newer),
        cmocka_unit_test(statements_must_be_trusted_and_about_this_archive),
        cmocka_unit_test(another_statement_is_not_a_run_statement),
        cmocka_unit_test(a_statement_of_another_type_does_not_sign_the_run),
        cmocka_unit_test(failed_allocations_leave_no_leak_and_a_clear_error),
    };

    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
