/* SPDX-License-Identifier: Apache-2.0
 * The tree and the texts of logs: the published roots, every proof of every tree up to 64 leaves with every bit of each
 * turned, and texts with one thing wrong. */
#include "tests/audit/log/log_sample.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>

enum { TREE = 64 };
static rp_key *key, *other, *edward;

static void ed25519_key(rp_key **out)
{
    EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    rp_error err;

    assert_int_equal(PEM_write_bio_PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL), 1);
    long size = BIO_get_mem_data(bio, &text);
    assert_ok(rp_key_private_from_pem(out, text, (size_t)size, NULL, "ed25519", &err));
    BIO_free(bio);
    EVP_PKEY_free(pkey);
}

static int setup(void **state)
{
    (void)state;
    if (rp_key_generate(&key, NULL) != RP_OK || rp_key_generate(&other, NULL) != RP_OK)
        return -1;
    ed25519_key(&edward);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rp_key_free(key);
    rp_key_free(other);
    rp_key_free(edward);
    return 0;
}

static rp_digest digest_of(const char *hex)
{
    rp_digest out;

    assert_true(rp_unhex(out.bytes, sizeof out.bytes, hex));
    return out;
}

/* ---- trees ---- */

/* The eight leaves, and their roots, of the tests of certificate-transparency's implementations. */
static void published_trees_have_their_roots(void **state)
{
    static const char *const leaves[] = {
        "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
    static const char *const roots[] = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                                        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
    rp_digest leaf[8], root, path[RP_LOG_PATH_MAX], expected;
    size_t length;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        unsigned char bytes[17] = {0};
        size_t size = strlen(leaves[i]) / 2;
        assert_true(rp_unhex(bytes + 1, size, leaves[i]));
        assert_ok(rp_sha256(&leaf[i], bytes, size + 1, &err));
    }
    for (size_t n = 0; n <= 8; n++) {
        assert_ok(rp_log_root(&root, leaf, n, &err));
        expected = digest_of(roots[n]);
        assert_memory_equal(root.bytes, expected.bytes, RP_DIGEST_SIZE);
    }
    /* the published path of the sixth leaf of eight begins with the fifth's hash */
    assert_ok(rp_log_path(path, &length, leaf, 8, 5, &err));
    assert_int_equal(length, 3);
    expected = digest_of("bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b");
    assert_memory_equal(path[0].bytes, expected.bytes, RP_DIGEST_SIZE);
    expected = digest_of("ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0");
    assert_memory_equal(path[1].bytes, expected.bytes, RP_DIGEST_SIZE);
    expected = digest_of(roots[4]);
    assert_memory_equal(path[2].bytes, expected.bytes, RP_DIGEST_SIZE);
}

/* RFC 6962 2.1 word for word, as the measure for the stack. */
static void naive_root(rp_digest *out, const rp_digest *leaf, size_t n)
{
    unsigned char text[1 + 2 * RP_DIGEST_SIZE] = {1};
    size_t k = 1;
    rp_error err;

    if (n == 1) {
        *out = leaf[0];
        return;
    }
    while (2 * k < n)
        k *= 2;
    naive_root((rp_digest *)(void *)(text + 1), leaf, k);
    naive_root((rp_digest *)(void *)(text + 1 + RP_DIGEST_SIZE), leaf + k, n - k);
    assert_ok(rp_sha256(out, text, sizeof text, &err));
}

static void make_leaves(rp_digest leaf[TREE])
{
    rp_digest entry[TREE];
    rp_error err;

    for (size_t i = 0; i < TREE; i++)
        memset(entry[i].bytes, (int)i, RP_DIGEST_SIZE);
    assert_ok(rp_log_leaves(leaf, entry, TREE, &err));
}

static void roots_are_those_of_the_definition(void **state)
{
    rp_digest leaf[TREE], root, expected;
    rp_error err;

    (void)state;
    make_leaves(leaf);
    for (size_t n = 1; n <= TREE; n++) {
        naive_root(&expected, leaf, n);
        assert_ok(rp_log_root(&root, leaf, n, &err));
        assert_memory_equal(root.bytes, expected.bytes, RP_DIGEST_SIZE);
    }
}

/* Trees of more leaves than are hashed at a time, whole and not. */
static void large_trees_have_the_roots_of_the_definition(void **state)
{
    static const size_t counts[] = {127, 128, 129, 255, 256, 257, 384, 500, 512, 640, 777, 1024};
    static rp_digest leaf[1024], entry[1024];
    rp_digest root, expected;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < 1024; i++)
        memcpy(entry[i].bytes, &i, sizeof i);
    assert_ok(rp_log_leaves(leaf, entry, 1024, &err));
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        naive_root(&expected, leaf, counts[k]);
        assert_ok(rp_log_root(&root, leaf, counts[k], &err));
        assert_memory_equal(root.bytes, expected.bytes, RP_DIGEST_SIZE);
    }
}

static bool path_holds(const rp_digest *path, size_t length, size_t index, size_t size, const rp_digest *leaf,
                       const rp_digest *root)
{
    bool right;
    rp_error err;

    assert_ok(rp_log_path_check(&right, path, length, index, size, leaf, root, &err));
    return right;
}

static bool growth_holds(const rp_digest *path, size_t length, size_t old, size_t size, const rp_digest *old_root,
                         const rp_digest *root)
{
    bool right;
    rp_error err;

    assert_ok(rp_log_growth_check(&right, path, length, old, size, old_root, root, &err));
    return right;
}

static void turn(rp_digest *path, size_t bit)
{
    path[bit / 256].bytes[bit / 8 % 32] ^= (unsigned char)(1 << bit % 8);
}

static void every_inclusion_proof_holds_and_every_wrong_one_does_not(void **state)
{
    rp_digest leaf[TREE], root, path[RP_LOG_PATH_MAX] = {0};
    size_t length, proofs = 0, wrong = 0;
    rp_error err;

    (void)state;
    make_leaves(leaf);
    for (size_t n = 1; n <= TREE; n++) {
        assert_ok(rp_log_root(&root, leaf, n, &err));
        for (size_t i = 0; i < n; i++, proofs++) {
            assert_ok(rp_log_path(path, &length, leaf, n, i, &err));
            assert_true(path_holds(path, length, i, n, &leaf[i], &root));
            for (size_t bit = 0; bit < length * 256; bit++, wrong++) {
                turn(path, bit);
                assert_false(path_holds(path, length, i, n, &leaf[i], &root));
                turn(path, bit);
            }
            for (size_t bit = 0; bit < 256; bit++, wrong += 2) {
                rp_digest bad_leaf = leaf[i], bad_root = root;
                turn(&bad_leaf, bit);
                turn(&bad_root, bit);
                assert_false(path_holds(path, length, i, n, &bad_leaf, &root));
                assert_false(path_holds(path, length, i, n, &leaf[i], &bad_root));
            }
            for (size_t j = 0; j < n; j++) {
                assert_int_equal(path_holds(path, length, j, n, &leaf[i], &root), i == j);
                assert_int_equal(path_holds(path, length, i, n, &leaf[j], &root), i == j);
            }
            assert_false(path_holds(path, length, n, n, &leaf[i], &root));
            assert_false(path_holds(path, length + 1, i, n, &leaf[i], &root));
            assert_false(length > 0 && path_holds(path, length - 1, i, n, &leaf[i], &root));
            assert_false(length > 0 && path_holds(path + 1, length - 1, i, n, &leaf[i], &root));
        }
    }
    assert_false(path_holds(path, 0, 0, 0, &leaf[0], &leaf[0]));
    print_message("%zu proofs, %zu turned bits\n", proofs, wrong);
}

static void every_consistency_proof_holds_and_every_wrong_one_does_not(void **state)
{
    rp_digest leaf[TREE], root[TREE + 1], path[RP_LOG_PATH_MAX] = {0};
    size_t length, proofs = 0, wrong = 0;
    rp_error err;

    (void)state;
    make_leaves(leaf);
    for (size_t n = 0; n <= TREE; n++)
        assert_ok(rp_log_root(&root[n], leaf, n, &err));
    for (size_t n = 0; n <= TREE; n++)
        for (size_t m = 0; m <= n; m++, proofs++) {
            assert_ok(rp_log_growth(path, &length, leaf, n, m, &err));
            assert_true(growth_holds(path, length, m, n, &root[m], &root[n]));
            for (size_t bit = 0; bit < length * 256; bit++, wrong++) {
                turn(path, bit);
                assert_false(growth_holds(path, length, m, n, &root[m], &root[n]));
                turn(path, bit);
            }
            for (size_t bit = 0; bit < 256; bit++, wrong++) {
                rp_digest bad = root[m];
                turn(&bad, bit);
                assert_false(growth_holds(path, length, m, n, &bad, &root[n]));
                bad = root[n];
                turn(&bad, bit);
                /* nothing is promised about a tree that grew from the empty one */
                assert_int_equal(growth_holds(path, length, m, n, &root[m], &bad), m == 0 && n != 0);
            }
            for (size_t k = 0; k <= n; k++)
                assert_true(k == m || !growth_holds(path, length, k, n, &root[k], &root[n]) ||
                            (length == 0 && k == n) || (length == 0 && k == 0));
            assert_false(growth_holds(path, length + 1, m, n, &root[m], &root[n]));
            assert_false(length > 0 && growth_holds(path, length - 1, m, n, &root[m], &root[n]));
            assert_false(m < n && growth_holds(path, length, n, m, &root[n], &root[m]));
        }
    print_message("%zu proofs, %zu turned bits\n", proofs, wrong);
}

/* ---- texts ---- */

static void checkpoint_text(rp_buffer *out, const rp_key *by, uint64_t size)
{
    rp_log_head head = {.size = size};
    rp_error err;

    strcpy(head.origin, origin);
    memset(head.root.bytes, 0x5a, RP_DIGEST_SIZE);
    assert_ok(rp_log_note_write(out, &head, by, &err));
}

static void checkpoints_are_read_as_written_by_every_kind_of_key(void **state)
{
    const rp_key *const keys[] = {key, edward};
    rp_error err;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rp_buffer text = {0};
        rp_log_note note;
        const rp_key *by;
        unsigned char id[4];

        checkpoint_text(&text, keys[i], 12345);
        assert_memory_equal(
            text.data,
            "example.com/models\n12345\nWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=\n\n\xe2\x80\x94 "
            "example.com/models ",
            strlen("example.com/models\n12345\nWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=\n\n\xe2\x80\x94 "
                   "example.com/models "));
        assert_ok(rp_log_note_parse(&note, (char *)text.data, text.size, "text", &err));
        assert_int_equal(note.head.size, 12345);
        assert_ok(rp_log_note_check(&note, keys, 2, &by, "text", &err));
        assert_ptr_equal(by, keys[i]);
        assert_int_equal(rp_log_note_check(&note, (const rp_key *const *)&other, 1, &by, "text", &err), RP_ESIGN);
        assert_ok(rp_key_note_id(keys[i], origin, id, &err));
        rp_buffer_free(&text);
    }
}

/* The note of C2SP's signed-note page: its key's id follows from the key and name (golang.org/x/mod/sumdb/note's too).
 */
static void note_ids_follow_the_specification(void **state)
{
    unsigned char id[4];
    rp_buffer text = {0};
    rp_digest digest;
    rp_error err;
    /* RFC 8032 7.1 test 1: the public key d75a9801...511a */
    static const char pem[] = "-----BEGIN PUBLIC KEY-----\n"
                              "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
                              "-----END PUBLIC KEY-----\n";
    rp_digest raw = digest_of("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    rp_key *public_key;

    (void)state;
    assert_ok(rp_key_public_from_pem(&public_key, pem, strlen(pem), "pem", &err));
    assert_ok(rp_key_note_id(public_key, "example.com/x", id, &err));
    rp_buffer_append(&text, "example.com/x\n\x01", 15);
    rp_buffer_append(&text, raw.bytes, sizeof raw.bytes);
    assert_ok(rp_sha256(&digest, text.data, text.size, &err));
    assert_memory_equal(id, digest.bytes, 4);
    rp_buffer_free(&text);
    rp_key_free(public_key);
}

/* The texts of docs/log.md, made by another program (Python, and OpenSSL's command) with the key of RFC 8032 7.1 test
 * 1: Ed25519 has one signature for a text, so the bytes must be the same. */
static void worked_example_of_the_page_is_exact(void **state)
{
    static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                              "-----END PRIVATE KEY-----\n";
    static const char *const names[] = {"good-checkpoint.txt", "good-inclusion.txt", "good-consistency.txt"};
    rp_digest leaf[5], path[RP_LOG_PATH_MAX];
    rp_log_head head = {.size = 5};
    rp_buffer made[3] = {{0}}, found = {0}, page = {0};
    size_t length;
    rp_key *signer;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < 5; i++)
        memset(leaf[i].bytes, (int)i + 1, RP_DIGEST_SIZE);
    assert_ok(rp_log_leaves(leaf, leaf, 5, &err));
    assert_ok(rp_log_root(&head.root, leaf, 5, &err));
    strcpy(head.origin, origin);
    assert_ok(rp_key_private_from_pem(&signer, pem, strlen(pem), NULL, "pem", &err));
    assert_ok(rp_log_note_write(&made[0], &head, signer, &err));
    rp_buffer_u8(&made[0], 0);
    assert_ok(rp_log_path(path, &length, leaf, 5, 3, &err));
    rp_log_inclusion_write(&made[1], NULL, 3, path, length, (char *)made[0].data);
    assert_ok(rp_log_growth(path, &length, leaf, 5, 3, &err));
    rp_log_consistency_write(&made[2], 3, path, length, (char *)made[0].data);
    made[0].size--;
    assert_ok(rp_file_read(RP_SOURCE_DIR "/docs/log.md", 1 << 20, &page, &err));
    rp_buffer_u8(&page, 0);
    assert_false(page.failed);
    for (size_t i = 0; i < 3; i++) {
        char file[200], shown[600];

        (void)snprintf(file, sizeof file, RP_SOURCE_DIR "/tests/fuzz/corpus/log/%s", names[i]);
        assert_ok(rp_file_read(file, 1 << 16, &found, &err));
        assert_int_equal(found.size, made[i].size);
        assert_memory_equal(found.data, made[i].data, found.size);
        /* the page shows each text in a block, the proofs without the checkpoint */
        length = i == 0 ? found.size : found.size - made[0].size;
        (void)snprintf(shown, sizeof shown, "```text\n%.*s```\n", (int)length, (char *)found.data);
        assert_non_null(strstr((char *)page.data, shown));
    }
    for (size_t i = 0; i < 3; i++)
        rp_buffer_free(&made[i]);
    rp_buffer_free(&page);
    rp_buffer_free(&found);
    rp_key_free(signer);
}

static void every_turned_bit_and_cut_of_a_proof_is_refused(void **state)
{
    const rp_key *const keys[] = {key, edward};
    char id[RP_DIGEST_HEX];
    rp_log_inclusion found;
    rp_error err;

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const rp_key *const trusted[] = {keys[k]};
        rp_buffer text = {0};

        inclusion_text(&text, keys[k], id);
        assert_ok(rp_log_check(&found, (char *)text.data, text.size, "proof", id, trusted, 1, &err));
        assert_int_equal(found.index, 2);
        assert_string_equal(found.key_id, rp_key_id(keys[k]));
        for (size_t bit = 0; bit < text.size * 8; bit++) {
            text.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            rp_status status = rp_log_check(&found, (char *)text.data, text.size, "proof", id, trusted, 1, &err);
            if (status != RP_EFORMAT && status != RP_EHASH && status != RP_ESIGN)
                fail_msg("bit %zu: %s", bit, rp_status_name(status));
            text.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
        for (size_t size = 0; size < text.size; size++)
            assert_int_not_equal(rp_log_check(&found, (char *)text.data, size, "proof", id, trusted, 1, &err), RP_OK);
        id[5] ^= 1;
        assert_int_equal(rp_log_check(&found, (char *)text.data, text.size, "proof", id, trusted, 1, &err), RP_EHASH);
        rp_buffer_free(&text);
    }
}

static void signatures_of_others_are_stepped_over_but_wrong_ones_are_not(void **state)
{
    rp_buffer text = {0}, more = {0};
    rp_log_note note;
    const rp_key *by;
    rp_error err;

    (void)state;
    checkpoint_text(&text, key, 3);
    rp_buffer_append(&more, text.data, text.size);
    rp_buffer_text(&more, "\xe2\x80\x94 witness.example QUJDREVGR0g=\n");
    assert_ok(rp_log_note_parse(&note, (char *)more.data, more.size, "text", &err));
    assert_ok(rp_log_note_check(&note, (const rp_key *const *)&key, 1, &by, "text", &err));
    /* our key's line, but of another text: refused although the first line is right */
    rp_buffer_free(&more);
    rp_buffer_append(&more, text.data, text.size);
    rp_buffer_free(&text);
    checkpoint_text(&text, key, 4);
    const char *line = strstr((char *)text.data, "\n\n") + 2;
    rp_buffer_append(&more, line, (size_t)((char *)text.data + text.size - line));
    assert_ok(rp_log_note_parse(&note, (char *)more.data, more.size, "text", &err));
    assert_int_equal(rp_log_note_check(&note, (const rp_key *const *)&key, 1, &by, "text", &err), RP_ESIGN);
    rp_buffer_free(&more);
    rp_buffer_free(&text);
}

static void texts_with_one_thing_wrong_are_refused(void **state)
{
    static const char root[] = "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=\n",
                      sign[] = "\n\xe2\x80\x94 a QUJDREVGR0g=\n";
    static const struct {
        const char *start, *root, *end;
    } bad[] = {
        {"", "", ""},
        {"\n3\n", root, sign},
        {"a b\n3\n", root, sign},
        {"a+b\n3\n", root, sign},
        {"a\n03\n", root, sign},
        {"a\n-3\n", root, sign},
        {"a\n\n", root, sign},
        {"a\n9223372036854775808\n", root, sign},
        {"a\n99999999999999999999\n", root, sign},
        {"a\n3\n", "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlp=\n", sign}, /* bits beyond the end */
        {"a\n3\n", "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWg==\n", sign},
        {"a\n3\n", "WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpa!lo=\n", sign},
        {"a\n3\n", root, "extension\n\n\xe2\x80\x94 a QUJDREVGR0g=\n"},
        {"a\n3\n", root, "\n"},
        {"a\n3\n", root, "\n- a QUJDREVGR0g=\n"},
        {"a\n3\n", root, "\n\xe2\x80\x94 QUJDREVGR0g=\n"},
        {"a\n3\n", root, "\n\xe2\x80\x94  QUJDREVGR0g=\n"},
        {"a\n3\n", root, "\n\xe2\x80\x94 a QUJDRA==\n"}, /* no signature */
        {"a\n3\n", root, "\n\xe2\x80\x94 a QUJDREVGR0g\n"},
        {"a\n3\n", root, "\n\xe2\x80\x94 a QUJDREVGR0g=\r\n"},
        {"a\n3\n", root, "\n\xe2\x80\x94 a QUJDREVGR0g="},
        {"a\n3\n", root, "\n\xe2\x80\x94 a QUJDREVGR0g=\n\n"},
    };
    rp_log_note note;
    rp_buffer text = {0};
    rp_error err;

    (void)state;
    rp_buffer_printf(&text, "a\n3\n%s%s", root, sign);
    assert_ok(rp_log_note_parse(&note, (char *)text.data, text.size, "text", &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        text.size = 0;
        rp_buffer_printf(&text, "%s%s%s", bad[i].start, bad[i].root, bad[i].end);
        if (rp_log_note_parse(&note, (char *)text.data, text.size, "text", &err) != RP_EFORMAT)
            fail_msg("case %zu was not refused", i);
    }
    rp_buffer_free(&text);
}

static void origins_are_checked(void **state)
{
    char name[RP_MEMBER_NAME], longest[RP_LOG_ORIGIN + 1];
    rp_error err;

    (void)state;
    assert_int_equal(rp_log_member(name, "", &err), RP_EARG);
    assert_int_equal(rp_log_member(name, "a b", &err), RP_EARG);
    assert_int_equal(rp_log_member(name, "a+b", &err), RP_EARG);
    assert_int_equal(rp_log_member(name, "a\nb", &err), RP_EARG);
    memset(longest, 'x', sizeof longest);
    longest[RP_LOG_ORIGIN] = '\0';
    assert_int_equal(rp_log_member(name, longest, &err), RP_EARG);
    longest[RP_LOG_ORIGIN - 1] = '\0';
    assert_ok(rp_log_member(name, longest, &err));
    assert_true(rp_log_member_valid(name));
    assert_true(rp_member_name_valid(name));
    name[15] = 'X';
    assert_false(rp_log_member_valid(name));
    assert_false(rp_log_member_valid("signatures/log-.tlog-proof"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_trees_have_their_roots),
        cmocka_unit_test(roots_are_those_of_the_definition),
        cmocka_unit_test(large_trees_have_the_roots_of_the_definition),
        cmocka_unit_test(every_inclusion_proof_holds_and_every_wrong_one_does_not),
        cmocka_unit_test(every_consistency_proof_holds_and_every_wrong_one_does_not),
        cmocka_unit_test(checkpoints_are_read_as_written_by_every_kind_of_key),
        cmocka_unit_test(note_ids_follow_the_specification),
        cmocka_unit_test(worked_example_of_the_page_is_exact),
        cmocka_unit_test(every_turned_bit_and_cut_of_a_proof_is_refused),
        cmocka_unit_test(signatures_of_others_are_stepped_over_but_wrong_ones_are_not),
        cmocka_unit_test(texts_with_one_thing_wrong_are_refused),
        cmocka_unit_test(origins_are_checked),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
