/* SPDX-License-Identifier: Apache-2.0
 * Bundles of OpenSSF Model Signing. The forgers here hold the trusted key itself: what they sign is refused for what it
 * says. Much of it the public verifier accepts. */
#include "tests/audit/archive/archive_sample.h"
#include "tests/audit/archive/kept.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>

#include "audit/statements/statement.h"
#include "audit/archive/archive_private.h"
#include "audit/statements/oms.h"
#include "audit/archive/ustar.h"

#define SERIALIZATION(paths) \
    "{\"allow_symlinks\":false,\"hash_type\":\"sha256\",\"ignore_paths\":" paths ",\"method\":\"files\"}"
static const char honest[] = SERIALIZATION("[\"signatures\"]");

static rp_key *key, *edwards;
static rp_buffer sample; /* signed by key */
static rp_archive *archive;

/* curve NULL: Ed25519. */
static rp_key *make_key(const char *curve)
{
    EVP_PKEY *pkey = curve ? EVP_EC_gen(curve) : EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    BIO *bio = BIO_new(BIO_s_mem());
    rp_key *made = NULL;
    rp_error err;
    char *text;

    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL), 1);
    size_t size = (size_t)BIO_get_mem_data(bio, &text);
    assert_ok(rp_key_private_from_pem(&made, text, size, NULL, "key", &err));
    BIO_free(bio);
    EVP_PKEY_free(pkey);
    return made;
}

static int setup(void **state)
{
    (void)state;
    key = make_key("P-256");
    edwards = make_key(NULL);
    sample_archive(&sample, key);
    return rp_archive_open_memory(&archive, sample.data, sample.size, "sample", NULL) != RP_OK;
}

static int teardown(void **state)
{
    (void)state;
    rp_archive_close(archive);
    rp_buffer_free(&sample);
    rp_key_free(key);
    rp_key_free(edwards);
    return 0;
}

/* ---- a second writer, which may lie ---- */

enum { MOST = SAMPLE_MEMBERS + 4 };

typedef struct claim {
    const char *name;
    rp_digest digest;
} claim;

typedef struct forgery {
    claim resource[MOST];
    size_t resources;
    const char *serialization, *name, *predicate_type, *type;
} forgery;

/* What an honest signer says: sorted by name, which for these names is the order by component too. */
static forgery truth(void)
{
    forgery f = {.serialization = honest,
                 .name = rp_archive_id(archive),
                 .predicate_type = RP_OMS_TYPE,
                 .type = RP_STATEMENT_TYPE};

    for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
        const rp_member *member = rp_archive_member(archive, i);
        size_t at = f.resources;

        if (strncmp(member->name, "signatures/", 11) == 0)
            continue;
        for (; at > 0 && strcmp(f.resource[at - 1].name, member->name) > 0; at--)
            f.resource[at] = f.resource[at - 1];
        f.resource[at] = (claim){member->name, member->digest};
        f.resources++;
    }
    return f;
}

static void drop(forgery *f, size_t at)
{
    memmove(&f->resource[at], &f->resource[at + 1], (--f->resources - at) * sizeof *f->resource);
}

/* The root digest is that of the resources, whatever they are. */
static void payload_of(rp_buffer *out, const forgery *f)
{
    rp_digest root;
    rp_buffer raw = {0};
    char hex[RP_DIGEST_HEX];

    rp_buffer_printf(out, "{\"_type\":\"%s\",\"predicate\":{\"resources\":[", f->type);
    for (size_t i = 0; i < f->resources; i++) {
        rp_digest_hex(hex, &f->resource[i].digest);
        rp_buffer_printf(out, "%s{\"algorithm\":\"sha256\",\"digest\":\"%s\",\"name\":\"%s\"}", i ? "," : "", hex,
                         f->resource[i].name);
        rp_buffer_append(&raw, f->resource[i].digest.bytes, RP_DIGEST_SIZE);
    }
    assert_int_equal(rp_sha256(&root, raw.data, raw.size, NULL), RP_OK);
    rp_digest_hex(hex, &root);
    rp_buffer_printf(out,
                     "],\"serialization\":%s},\"predicateType\":\"%s\",\"subject\":[{\"digest\":{\"sha256\":\"%s\"},"
                     "\"name\":\"%s\"}]}",
                     f->serialization, f->predicate_type, hex, f->name);
    rp_buffer_free(&raw);
    assert_false(out->failed);
}

static void bundle_of(rp_buffer *out, const rp_buffer *payload, const rp_key *signer)
{
    static unsigned char payload64[1 << 16], signature64[512];
    rp_buffer message = {0}, signature = {0};
    rp_error err;

    rp_buffer_printf(&message, "DSSEv1 28 application/vnd.in-toto+json %zu ", payload->size);
    rp_buffer_append(&message, payload->data, payload->size);
    assert_ok(rp_key_sign(signer, message.data, message.size, &signature, &err));
    EVP_EncodeBlock(payload64, payload->data, (int)payload->size);
    EVP_EncodeBlock(signature64, signature.data, (int)signature.size);
    rp_buffer_printf(out,
                     "{\"dsseEnvelope\":{\"payload\":\"%s\",\"payloadType\":\"application/vnd.in-toto+json\","
                     "\"signatures\":[{\"keyid\":\"%s\",\"sig\":\"%s\"}]},"
                     "\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\","
                     "\"verificationMaterial\":{\"publicKey\":{\"hint\":\"%s\"},\"tlogEntries\":[]}}",
                     (char *)payload64, rp_key_id(signer), (char *)signature64, rp_key_id(signer));
    rp_buffer_free(&message);
    rp_buffer_free(&signature);
}

/* The sample with this bundle instead of its own. */
static rp_status verify(const rp_buffer *bundle, rp_error *err)
{
    static const unsigned char zero[2 * RP_BLOCK];
    const rp_key *const trusted[] = {key, edwards};
    rp_buffer made = {0};

    for (size_t i = 0; i < rp_archive_member_count(archive); i++) {
        const rp_member *member = rp_archive_member(archive, i);
        bool own = strcmp(member->name, RP_OMS_BUNDLE) == 0;
        size_t size = own ? bundle->size : (size_t)member->size;
        unsigned char header[RP_BLOCK];

        assert_true(rp_ustar_header(header, member->name, size));
        rp_buffer_append(&made, header, sizeof header);
        rp_buffer_append(&made, own ? bundle->data : sample.data + member->offset, size);
        rp_buffer_append(&made, zero, (size_t)(rp_ustar_padded(size) - size));
    }
    rp_buffer_append(&made, zero, sizeof zero);
    assert_false(made.failed);
    keep_archive(&made, trusted[0]);
    rp_status status = rp_verify_memory(made.data, made.size, "copy", trusted, 2, NULL, NULL, NULL, err);
    rp_buffer_free(&made);
    return status;
}

/* Exit code 4, the bundle named, and what is wrong with it. */
static void assert_refused(const rp_buffer *bundle, const char *says)
{
    static const char where[] = "copy: " RP_OMS_BUNDLE ": ";
    rp_error err = {0};
    rp_status status = verify(bundle, &err);

    if (rp_exit_code(status) != 4)
        fail_msg("expected \"%s\", found %s %s", says, rp_status_name(status), err.text);
    if (strncmp(err.text, where, sizeof where - 1) != 0 || strstr(err.text, says) == NULL)
        fail_msg("expected \"%s\", found: %s", says, err.text);
}

static void assert_forgery_refused(const forgery *f, const char *says)
{
    rp_buffer payload = {0}, bundle = {0};

    payload_of(&payload, f);
    bundle_of(&bundle, &payload, key);
    assert_refused(&bundle, says);
    rp_buffer_free(&payload);
    rp_buffer_free(&bundle);
}

/* Replaces the first occurrence of a by b. */
static void replace(rp_buffer *text, const char *a, const char *b)
{
    rp_buffer out = {0};

    rp_buffer_u8(text, 0);
    char *at = strstr((char *)text->data, a);
    assert_non_null(at);
    rp_buffer_append(&out, text->data, (size_t)(at - (char *)text->data));
    rp_buffer_text(&out, b);
    rp_buffer_text(&out, at + strlen(a));
    rp_buffer_free(text);
    *text = out;
}

/* An honest bundle with a changed text around the signed bytes. */
static void assert_changed_refused(const char *a, const char *b, const char *says)
{
    const forgery f = truth();
    rp_buffer payload = {0}, bundle = {0};

    payload_of(&payload, &f);
    bundle_of(&bundle, &payload, key);
    replace(&bundle, a, b);
    assert_refused(&bundle, says);
    rp_buffer_free(&payload);
    rp_buffer_free(&bundle);
}

/* An honest payload with a changed text, signed. */
static void assert_signed_change_refused(const char *a, const char *b, const char *says)
{
    const forgery f = truth();
    rp_buffer payload = {0}, bundle = {0};

    payload_of(&payload, &f);
    replace(&payload, a, b);
    bundle_of(&bundle, &payload, key);
    assert_refused(&bundle, says);
    rp_buffer_free(&payload);
    rp_buffer_free(&bundle);
}

/* ---- what is accepted ---- */

static void second_writer_agrees_with_the_first(void **state)
{
    const forgery f = truth();
    const rp_key *const trusted[] = {key};
    const rp_key *signer;
    rp_buffer payload = {0}, bundle = {0}, written = {0};
    rp_json *json;
    rp_error err;

    (void)state;
    payload_of(&payload, &f);
    assert_ok(rp_signed_json_parse(&json, payload.data, payload.size, "payload", &err)); /* so it is canonical */
    rp_json_free(json);
    bundle_of(&bundle, &payload, key);
    assert_ok(verify(&bundle, &err));
    assert_ok(rp_oms_write(&written, key, archive->id, archive->member, archive->members, &err));
    assert_ok(rp_oms_check(&signer, &(rp_oms_bundle){written.data, written.size, "bundle"},
                           &(rp_oms_subject){archive->id, archive->member, archive->members}, trusted, 1, &err));
    assert_ptr_equal(signer, key);
    char *end = strstr((char *)bundle.data, "\"signatures\""); /* ECDSA signatures differ from each other */
    assert_memory_equal(bundle.data, written.data, (size_t)(end - (char *)bundle.data));
    rp_buffer_free(&payload);
    rp_buffer_free(&bundle);
    rp_buffer_free(&written);
}

static void every_curve_signs_a_bundle_and_ed25519_none(void **state)
{
    static const char *const curve[] = {"P-256", "P-384", "P-521", NULL};
    rp_buffer text = {0};
    rp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof curve / sizeof *curve; i++) {
        rp_key *one = make_key(curve[i]);
        const rp_key *const trusted[] = {one};
        rp_buffer bytes = {0};
        rp_verification *result;

        sample_archive(&bytes, one);
        assert_ok(rp_verify_memory(bytes.data, bytes.size, "copy", trusted, 1, NULL, &result, NULL, &err));
        assert_int_equal(result->statements, curve[i] ? 2 : 1);
        assert_string_equal(result->statement[0].member, RP_RUN_STATEMENT);
        if (curve[i])
            assert_string_equal(result->statement[1].member, RP_OMS_BUNDLE);
        assert_int_equal(rp_oms_write(&text, one, archive->id, archive->member, archive->members, &err),
                         curve[i] ? RP_OK : RP_EARG);
        rp_verification_free(result);
        rp_buffer_free(&bytes);
        rp_key_free(one);
    }
    rp_buffer_free(&text);
}

/* By a writer in another language, with another library: the fuzz target's corpus, about the archive of FORMAT.md 8. */
static void bundles_written_elsewhere_get_the_same_verdicts(void **state)
{
    static const char *const name[] = {"good",          "bad-base64", "bad-exclusion",     "bad-hint",
                                       "bad-key-twice", "bad-order",  "bad-two-signatures"};
    static const char id[] = "91e31f5ee1647d803ed8a9b134cd2436c2d20ff0bafb631c7c99291d1054b7a5";
    rp_member member[2] = {{.name = RP_MANIFEST_NAME}, {.name = "data/hello.txt"}};
    rp_key *trusted;
    const rp_key *signer;
    rp_error err;

    (void)state;
    assert_true(rp_unhex(member[0].digest.bytes, RP_DIGEST_SIZE, id));
    assert_ok(rp_sha256(&member[1].digest, "hello\n", 6, &err));
    assert_ok(rp_key_load_public(&trusted, RP_SOURCE_DIR "/tests/fuzz/corpus/bundle/key.pub.txt", &err));
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const rp_key *const list[] = {trusted};
        rp_buffer text = {0};
        char path[300];

        (void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/bundle/%s.sigstore.json", RP_SOURCE_DIR, name[i]);
        assert_ok(rp_file_read(path, 1 << 20, &text, &err));
        if (rp_oms_check(&signer, &(rp_oms_bundle){text.data, text.size, name[i]}, &(rp_oms_subject){id, member, 2},
                         list, 1, &err) != (i == 0 ? RP_OK : RP_ESIGN))
            fail_msg("%s: %s", name[i], i == 0 ? err.text : "not refused");
        rp_buffer_free(&text);
    }
    rp_key_free(trusted);
}

/* A rejection signed by a validator must not look like a signature on the model. */
static void only_the_run_statement_brings_a_bundle(void **state)
{
    rp_archive_writer *writer;
    rp_json *predicate = rp_json_object();
    rp_error err;

    (void)state;
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    sample_fill(writer, 0);
    assert_ok(rp_archive_writer_sign(writer, "signatures/rejection.dsse.json", key, "urn:rejection", predicate, &err));
    assert_null(rp_archive_writer_find(writer, RP_OMS_BUNDLE));
    assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, RP_PROVENANCE_TYPE, predicate, &err));
    assert_non_null(rp_archive_writer_find(writer, RP_OMS_BUNDLE));
    rp_json_free(predicate);
    rp_archive_writer_free(writer);
}

static void resources_are_ordered_by_path_components(void **state)
{
    static const char *const added[] = {"data/a", "data/a-b", "data/a.b", "data/a/z", "data/a0"};
    static const char *const expected[] = {"data/a", "data/a/z", "data/a-b", "data/a.b", "data/a0"};
    rp_member member[5] = {{.name = ""}};
    rp_buffer bundle = {0}, payload = {0};
    const rp_key *const trusted[] = {key};
    const rp_key *signer;
    rp_json *json;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        strcpy(member[i].name, added[i]);
    assert_ok(rp_oms_write(&bundle, key, archive->id, member, 5, &err));
    assert_ok(rp_json_parse(&json, bundle.data, bundle.size, true, "bundle", &err));
    assert_ok(
        rp_envelope_open(rp_json_object_get(json, "dsseEnvelope"), &payload, &signer, "bundle", trusted, 1, &err));
    rp_buffer_u8(&payload, 0);
    const char *at = (const char *)payload.data;
    for (size_t i = 0; i < 5; i++) {
        char quoted[32];
        (void)snprintf(quoted, sizeof quoted, "\"%s\"", expected[i]);
        at = strstr(at, quoted);
        assert_non_null(at);
    }
    rp_json_free(json);
    rp_buffer_free(&bundle);
    rp_buffer_free(&payload);
}

/* ---- what the public verifier accepts and ours does not ---- */

static void doubled_resource_is_refused(void **state)
{
    forgery f = truth();

    (void)state;
    memmove(&f.resource[3], &f.resource[2], (f.resources++ - 2) * sizeof *f.resource);
    assert_forgery_refused(&f, "twice");
    f = truth(); /* with the first member's name in place of the second's: the later of them counts elsewhere */
    f.resource[1].name = f.resource[0].name;
    assert_forgery_refused(&f, "twice");
    f = truth();
    f.resource[f.resources++] = f.resource[0];
    assert_forgery_refused(&f, "where the end belongs");
}

static void doubled_json_key_is_refused(void **state)
{
    (void)state;
    assert_changed_refused("{\"hint\":", "{\"hint\":\"00\",\"hint\":", "stands twice");
    assert_changed_refused("\"mediaType\":", "\"mediaType\":\"x\",\"mediaType\":", "stands twice");
    assert_signed_change_refused("\"predicateType\":", "\"predicateType\":\"x\",\"predicateType\":", "stands twice");
    assert_signed_change_refused("\"resources\":", "\"resources\":[],\"resources\":", "stands twice");
}

static void junk_in_base64_is_refused(void **state)
{
    static const char *const junk[] = {" ", "!", "\\n", "=", "-"};
    char changed[64];

    (void)state;
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++) {
        (void)snprintf(changed, sizeof changed, "\"payload\":\"eyJf%s", junk[i]);
        assert_changed_refused("\"payload\":\"eyJf", changed, "base64");
        (void)snprintf(changed, sizeof changed, "\"sig\":\"M%s", junk[i]);
        assert_changed_refused("\"sig\":\"M", changed, "base64");
    }
    assert_changed_refused("\"payload\":\"eyJf", "\"payload\":\"    eyJf", "base64"); /* whole groups of four */
    assert_changed_refused("\"payload\":\"eyJf", "\"payload\":\"e\\u0079Jf", "canonical");
}

static void second_signature_is_refused(void **state)
{
    (void)state;
    assert_changed_refused("}]},\"mediaType\"", "},{\"keyid\":\"\",\"sig\":\"AAAA\"}]},\"mediaType\"", "exactly one");
    assert_changed_refused("\"signatures\":[", "\"signatures\":[{\"keyid\":\"\",\"sig\":\"AAAA\"},", "exactly one");
}

static void hint_of_another_key_or_none_is_refused(void **state)
{
    char hint[128];

    (void)state;
    (void)snprintf(hint, sizeof hint, "{\"hint\":\"%s\"}", rp_key_id(key));
    assert_changed_refused(hint, "{\"hint\":\"\"}", "hint");
    assert_changed_refused(hint, "{}", "hint");
    assert_changed_refused(hint, "{\"hint\":null}", "hint");
    (void)snprintf(hint, sizeof hint, "{\"hint\":\"%.8s", rp_key_id(key));
    assert_changed_refused(hint, "{\"hint\":\"00000000", "hint"); /* but for 1 in 2^32 */
}

static void signed_exclusions_are_refused(void **state)
{
    static const char *const excluding[] = {
        SERIALIZATION("[\"data\",\"signatures\"]"),
        SERIALIZATION("[\"signatures\",\"data\"]"),
        SERIALIZATION("[\"\"]"),
        SERIALIZATION("[\".\"]"),
        SERIALIZATION("[]"),
        SERIALIZATION("[\"signatures\",\"signatures\"]"),
        "{\"allow_symlinks\":true,\"hash_type\":\"sha256\",\"ignore_paths\":[\"signatures\"],\"method\":\"files\"}",
        "{\"allow_symlinks\":false,\"hash_type\":\"sha256\",\"method\":\"files\"}",
        "{\"allow_symlinks\":false,\"hash_type\":\"blake2b\",\"ignore_paths\":[\"signatures\"],\"method\":\"files\"}",
        ("{\"allow_symlinks\":false,\"hash_type\":\"sha256\",\"ignore_paths\":[\"signatures\"],\"method\":\"shards\","
         "\"shard_size\":1}"),
    };
    forgery f = truth();

    (void)state;
    for (size_t i = 0; i < sizeof excluding / sizeof *excluding; i++) {
        f.serialization = excluding[i];
        assert_forgery_refused(&f, "serialization is not");
    }
    f.serialization = excluding[0]; /* and the files of data/ really left out */
    for (size_t i = f.resources; i-- > 0;)
        if (strncmp(f.resource[i].name, "data/", 5) == 0)
            drop(&f, i);
    assert_forgery_refused(&f, "serialization is not");
}

/* ---- the members are exactly those of the archive ---- */

static void resources_in_another_order_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < truth().resources; i++) {
        forgery f = truth();
        claim first = f.resource[i];

        f.resource[i] = f.resource[i + 1];
        f.resource[i + 1] = first;
        assert_forgery_refused(&f, "out of order");
    }
}

static void missing_resource_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < truth().resources; i++) {
        forgery f = truth();
        const char *name = f.resource[i].name;

        drop(&f, i);
        assert_forgery_refused(&f, name);
    }
}

static void resource_beyond_the_members_is_refused(void **state)
{
    static const char *const more[] = {"aaa", "data/ghost.csv", RP_RUN_STATEMENT, "../outside", "zzz"};
    const forgery f = truth();

    (void)state;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        forgery g = f;
        size_t at = g.resources++;

        for (; at > 0 && strcmp(g.resource[at - 1].name, more[i]) > 0; at--)
            g.resource[at] = g.resource[at - 1];
        g.resource[at] = (claim){more[i], f.resource[0].digest};
        assert_forgery_refused(&g, "not a member it can vouch for");
    }
}

static void wrong_digest_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < truth().resources; i++) {
        forgery f = truth();

        f.resource[i].digest.bytes[i] ^= 1;
        assert_forgery_refused(&f, f.resource[i].name);
    }
    assert_signed_change_refused("\"algorithm\":\"sha256\"", "\"algorithm\":\"blake2b\"", "resource 0");
    assert_signed_change_refused("\"algorithm\":\"sha256\"", "\"algorithm\":\"sha256\",\"annotations\":{}",
                                 "resource 0");
    assert_signed_change_refused("\"sha256\":\"", "\"sha256\":\"0", "subject");
}

static void statements_of_another_form_are_refused(void **state)
{
    forgery f = truth();

    (void)state;
    f.name = "model"; /* the archive's id is its name here */
    assert_forgery_refused(&f, "subject");
    f = truth();
    f.type = "https://in-toto.io/Statement/v0.1";
    assert_forgery_refused(&f, "payload");
    f = truth();
    f.predicate_type = RP_PROVENANCE_TYPE;
    assert_forgery_refused(&f, "not a statement of type");
    assert_signed_change_refused("\"serialization\"", " \"serialization\"", "canonical");
    assert_signed_change_refused("\"}]}", "\"}],\"z\":0}", "payload");
    f = truth();
    f.resources = 0;
    assert_forgery_refused(&f, "does not list");
}

static void bundles_of_another_form_are_refused(void **state)
{
    (void)state;
    assert_changed_refused("bundle.v0.3+json", "bundle.v0.2+json", "mediaType");
    assert_changed_refused("\"tlogEntries\":[]", "\"tlogEntries\":[{}]", "tlogEntries");
    assert_changed_refused("\"tlogEntries\":[]", "\"tlogEntries\":[],\"x\":0", "verificationMaterial");
    assert_changed_refused("\"hint\":", "\"rawBytes\":", "hint");
    assert_changed_refused("{\"dsseEnvelope\"", "{\"a\":0,\"dsseEnvelope\"", "bundle");
    assert_changed_refused("{\"dsseEnvelope\":", " {\"dsseEnvelope\":", "canonical");
    assert_changed_refused("\"payloadType\":\"application/vnd.in-toto+json\"", "\"payloadType\":\"text/plain\"",
                           "payloadType");
    assert_changed_refused("[]}}", "[]}", "invalid JSON");
    assert_changed_refused("[]}}", "[]}}\n", "canonical");
    assert_refused(&(rp_buffer){.data = (unsigned char *)"", .size = 0}, "invalid JSON");
    assert_refused(&(rp_buffer){.data = (unsigned char *)"[]", .size = 2}, "not a bundle");
    assert_refused(&(rp_buffer){.data = (unsigned char *)"{}", .size = 2}, "not a bundle");
}

/* Before it is parsed, which would take several times its size of memory. */
static void bundles_of_another_size_are_refused(void **state)
{
    const rp_key *const list[] = {key}, *signer;
    const size_t size = 1 << 20;
    char *text = malloc(size);
    rp_error err;

    (void)state;
    assert_non_null(text);
    memset(text, '[', size);
    assert_int_equal(rp_oms_check(&signer, &(rp_oms_bundle){text, size, "bundle"},
                                  &(rp_oms_subject){archive->id, archive->member, archive->members}, list, 1, &err),
                     RP_ESIGN);
    assert_non_null(strstr(err.text, "1048576 bytes, but a bundle about these members has at most"));
    free(text);
}

static void bundles_by_other_keys_are_refused(void **state)
{
    const forgery f = truth();
    rp_buffer payload = {0}, bundle = {0};
    rp_key *stranger = make_key("P-256");

    (void)state;
    payload_of(&payload, &f);
    bundle_of(&bundle, &payload, stranger);
    assert_refused(&bundle, "not among the 2 trusted");
    bundle.size = 0;
    bundle_of(&bundle, &payload, edwards); /* trusted, but the public verifier could not read it */
    assert_refused(&bundle, "knows only ECDSA");
    bundle.size = 0;
    bundle_of(&bundle, &payload, stranger);
    for (int i = 0; i < 2; i++)
        replace(&bundle, rp_key_id(stranger), rp_key_id(key)); /* another's signature under this key's name */
    assert_refused(&bundle, "the signature is wrong");
    rp_key_free(stranger);
    rp_buffer_free(&payload);
    rp_buffer_free(&bundle);
}

/* A valid bundle about other members, by the same key. */
static void bundle_of_another_archive_is_refused(void **state)
{
    rp_member member[MOST];
    rp_buffer bundle = {0};
    rp_error err;

    (void)state;
    memcpy(member, archive->member, archive->members * sizeof *member);
    member[4].digest.bytes[0] ^= 1;
    assert_ok(rp_oms_write(&bundle, key, archive->id, member, archive->members, &err));
    assert_refused(&bundle, member[4].name);
    rp_buffer_free(&bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_writer_agrees_with_the_first),
        cmocka_unit_test(every_curve_signs_a_bundle_and_ed25519_none),
        cmocka_unit_test(bundles_written_elsewhere_get_the_same_verdicts),
        cmocka_unit_test(only_the_run_statement_brings_a_bundle),
        cmocka_unit_test(resources_are_ordered_by_path_components),
        cmocka_unit_test(doubled_resource_is_refused),
        cmocka_unit_test(doubled_json_key_is_refused),
        cmocka_unit_test(junk_in_base64_is_refused),
        cmocka_unit_test(second_signature_is_refused),
        cmocka_unit_test(hint_of_another_key_or_none_is_refused),
        cmocka_unit_test(signed_exclusions_are_refused),
        cmocka_unit_test(resources_in_another_order_are_refused),
        cmocka_unit_test(missing_resource_is_refused),
        cmocka_unit_test(resource_beyond_the_members_is_refused),
        cmocka_unit_test(wrong_digest_is_refused),
        cmocka_unit_test(statements_of_another_form_are_refused),
        cmocka_unit_test(bundles_of_another_form_are_refused),
        cmocka_unit_test(bundles_of_another_size_are_refused),
        cmocka_unit_test(bundles_by_other_keys_are_refused),
        cmocka_unit_test(bundle_of_another_archive_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
