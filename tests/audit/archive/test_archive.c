/* SPDX-License-Identifier: Apache-2.0
 * Writing and reading archives: one content gives one file, names are strict, and the worked example of FORMAT.md is
 * what the writer makes and the verifier accepts. */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/statements/statement.h"
#include "audit/archive/ustar.h"

static void same_members_give_the_same_bytes_in_any_order(void **state)
{
    rp_archive_writer *writer;
    rp_buffer bytes[2] = {{0}, {0}}, twice = {0};
    rp_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(rp_archive_writer_new(&writer, i ? "." : NULL, &err));
        sample_fill(writer, i);
        assert_ok(rp_archive_writer_append(writer, &bytes[i], &err));
        assert_ok(rp_archive_writer_append(writer, &twice, &err));
        rp_archive_writer_free(writer);
    }
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
    assert_int_equal(twice.size, 2 * bytes[0].size);
    rp_buffer_free(&bytes[0]);
    rp_buffer_free(&bytes[1]);
    rp_buffer_free(&twice);
}

static void members_read_back_from_writer_and_archive(void **state)
{
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_buffer bytes = {0};
    rp_error err;

    (void)state;
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    sample_fill(writer, 0);
    assert_ok(rp_archive_writer_append(writer, &bytes, &err));
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "x", &err));
    assert_string_equal(rp_archive_id(archive), rp_archive_writer_id(writer));
    assert_int_equal(rp_archive_member_count(archive), SAMPLE_MEMBERS + 1);
    assert_int_equal(rp_archive_writer_member_count(writer), SAMPLE_MEMBERS + 1);
    assert_null(rp_archive_member(archive, SAMPLE_MEMBERS + 1));
    assert_null(rp_archive_find(archive, "data/absent"));
    for (size_t i = 0; i < SAMPLE_MEMBERS; i++) {
        const char *name = sample_members[i].name;
        const rp_member *spooled = rp_archive_writer_find(writer, name);
        rp_buffer expected = {0}, found = {0}, kept = {0};
        sample_body(&expected, &sample_members[i]);
        assert_ok(rp_archive_read_member(archive, name, 1 << 20, &found, &err));
        assert_ok(rp_archive_writer_read(writer, spooled, &kept, &err));
        assert_int_equal(found.size, expected.size);
        assert_int_equal(kept.size, expected.size);
        assert_memory_equal(found.data, expected.data, expected.size);
        assert_memory_equal(kept.data, expected.data, expected.size);
        assert_true(rp_digest_equal(&spooled->digest, &rp_archive_find(archive, name)->digest));
        rp_buffer_free(&expected);
        rp_buffer_free(&found);
        rp_buffer_free(&kept);
    }
    assert_int_equal(rp_archive_read_member(archive, "data/absent", 10, &bytes, &err), RP_EFORMAT);
    rp_archive_close(archive);
    rp_archive_writer_free(writer);
    rp_buffer_free(&bytes);
}

static void large_members_pass_through_bounded_windows(void **state)
{
    static const size_t sizes[] = {0, 1, 511, 512, 513, 65535, 65536, 65537, 300000};
    unsigned char *body = malloc(300000);
    rp_json *run = rp_json_object();
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_buffer bytes = {0};
    rp_error err;

    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < 300000; i++)
        body[i] = (unsigned char)(i * 2654435761u >> 13);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        rp_buffer found = {0};
        bytes.size = 0;
        assert_ok(rp_archive_writer_new(&writer, NULL, &err));
        assert_ok(rp_archive_writer_add(writer, "data/body", body, sizes[s], &err));
        assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
        assert_ok(rp_archive_writer_append(writer, &bytes, &err));
        assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "x", &err));
        assert_ok(rp_archive_read_member(archive, "data/body", sizes[s], &found, &err));
        assert_int_equal(found.size, sizes[s]);
        if (sizes[s] > 0) {
            unsigned char last;
            assert_memory_equal(found.data, body, sizes[s]);
            assert_int_equal(rp_archive_read_member(archive, "data/body", sizes[s] - 1, &found, &err), RP_EFORMAT);
            assert_ok(rp_archive_read_at(archive, rp_archive_find(archive, "data/body"), sizes[s] - 1, &last, 1, &err));
            assert_int_equal(last, body[sizes[s] - 1]);
        }
        assert_int_equal(rp_archive_read_at(archive, rp_archive_find(archive, "data/body"), sizes[s], body, 1, &err),
                         RP_EFORMAT);
        rp_buffer_free(&found);
        rp_archive_close(archive);
        rp_archive_writer_free(writer);
    }
    rp_json_free(run);
    rp_buffer_free(&bytes);
    free(body);
}

#define BYTES_10 "0123456789"
#define BYTES_100 BYTES_10 BYTES_10 BYTES_10 BYTES_10 BYTES_10 BYTES_10 BYTES_10 BYTES_10 BYTES_10 BYTES_10

static double seconds_since(clock_t from)
{
    return (double)(clock() - from) / CLOCKS_PER_SEC;
}

/* Replay looks each member of an archive up: all of many take much less than looking through the list each time. */
static void twenty_thousand_members_are_found_without_looking_at_all(void **state)
{
    enum { MANY = 20000, LOOKED_THROUGH = 200 };
    rp_archive_writer *writer;
    char name[RP_MEMBER_NAME];
    size_t seen = 0;
    double all, through;
    clock_t from;
    rp_error err;

    (void)state;
    assert_ok(rp_archive_writer_digests(&writer, &err));
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "run/programs/%04d.json", i);
        assert_ok(rp_archive_writer_add(writer, name, &i, sizeof i, &err));
    }
    from = clock();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "run/programs/%04d.json", i);

        const rp_member *found = rp_archive_writer_find(writer, name);

        assert_non_null(found);
        assert_string_equal(found->name, name);
    }
    all = seconds_since(from);
    from = clock();
    for (int i = 0; i < MANY; i += MANY / LOOKED_THROUGH) {
        (void)snprintf(name, sizeof name, "run/programs/%04d.json", i);
        for (size_t k = 0; k < rp_archive_writer_member_count(writer); k++)
            seen += strcmp(rp_archive_writer_member(writer, k)->name, name) == 0;
    }
    through = seconds_since(from) * (MANY / LOOKED_THROUGH);
    assert_int_equal(seen, LOOKED_THROUGH);
    if (all > through / 20)
        fail_msg("all of %d members found in %.3f s, looking through them takes %.3f s", MANY, all, through);
    (void)snprintf(name, sizeof name, "run/programs/%04d.json", MANY);
    assert_null(rp_archive_writer_find(writer, name));
    assert_null(rp_archive_writer_find(writer, "run/programs/0000"));
    assert_null(rp_archive_writer_find(writer, "no member of any archive"));
    assert_int_equal(rp_archive_writer_add(writer, "run/programs/0007.json", "x", 1, &err), RP_EARG);
    rp_archive_writer_free(writer);
}

static void names_are_strict(void **state)
{
    static const char *const good[] = {"a", "a/b", "A-Z._/0", "...", ".a", "a..b", (BYTES_100)};
    static const char *const bad[] = {"",     "/",     "a/",  "/a",   "a//b", ".",        "..",  "a/..",
                                      "../a", "a/./b", "a b", "a\\b", "a:b",  "\xc3\xa4", "a\n", (BYTES_100 "0")};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!rp_member_name_valid(good[i]))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rp_member_name_valid(bad[i]))
            fail_msg("accepted: %s", bad[i]);
}

static void writer_refuses_what_no_archive_may_hold(void **state)
{
    static const char *const bad[] = {
        "data/../x", "manifest.json", "signatures/run.dsse.json", "other/x", "run/recipe.json/x", "run/journal.bin2",
        "data",      "data/"};
    rp_json *run = rp_json_object();
    rp_archive_writer *writer;
    rp_buffer bytes = {0};
    rp_key *key;
    rp_error err;

    (void)state;
    assert_ok(rp_key_generate(&key, &err));
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rp_archive_writer_add(writer, bad[i], "x", 1, &err) != RP_EARG)
            fail_msg("accepted: %s", bad[i]);
    assert_ok(rp_archive_writer_add(writer, "data/x", "x", 1, &err));
    assert_int_equal(rp_archive_writer_add(writer, "data/x", "x", 1, &err), RP_EARG);
    assert_null(rp_archive_writer_id(writer));
    assert_int_equal(rp_archive_writer_append(writer, &bytes, &err), RP_EARG);
    assert_int_equal(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, "t", run, &err), RP_EARG);
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    assert_int_equal(rp_archive_writer_finish(writer, RP_RUN_API, run, &err), RP_EARG);
    assert_int_equal(rp_archive_writer_add(writer, "data/y", "x", 1, &err), RP_EARG);
    assert_int_equal(rp_archive_writer_sign(writer, "signatures/x.json", key, "t", run, &err), RP_EARG);
    assert_int_equal(rp_archive_writer_sign(writer, "signatures/a/b.dsse.json", key, "t", run, &err), RP_EARG);
    assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, "t", run, &err));
    assert_int_equal(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, "t", run, &err), RP_EARG);
    rp_archive_writer_free(writer);
    assert_int_equal(rp_archive_writer_new(&writer, "/nonexistent", &err), RP_EIO);
    assert_null(writer);
    rp_json_free(run);
    rp_key_free(key);
}

static void files_open_and_other_things_do_not(void **state)
{
    char folder[] = "/tmp/reprise-test-XXXXXX", path[64];
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_file_writer *file;
    rp_error err;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/a.reprise", folder);
    assert_ok(rp_archive_writer_new(&writer, folder, &err));
    sample_fill(writer, 0);
    assert_ok(rp_file_create(&file, path, false, 0644, &err));
    assert_ok(rp_archive_writer_save(writer, file, &err));
    assert_ok(rp_file_commit(file, &err));
    assert_ok(rp_archive_open(&archive, path, &err));

    /* A file changed behind an open archive's back is caught when a member is read. */
    const rp_member *member = rp_archive_find(archive, "data/table.csv");
    rp_buffer body = {0};
    FILE *other = fopen(path, "r+b");
    assert_int_equal(fseek(other, (long)member->offset, SEEK_SET), 0);
    assert_int_equal(fputc('A', other), 'A');
    fclose(other);
    assert_int_equal(rp_archive_read_member(archive, "data/table.csv", 1000, &body, &err), RP_EHASH);
    assert_non_null(strstr(err.text, "data/table.csv"));
    assert_int_equal(truncate(path, 1024), 0);
    assert_int_equal(rp_archive_read_member(archive, "data/table.csv", 1000, &body, &err), RP_EIO);
    rp_archive_close(archive);
    rp_archive_writer_free(writer);

    unlink(path);
    assert_int_equal(rp_archive_open(&archive, path, &err), RP_EIO);
    assert_int_equal(rp_archive_open(&archive, folder, &err), RP_EIO);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(rp_archive_open(&archive, path, &err), RP_EIO); /* and does not hang */
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- the worked example of FORMAT.md ---- */

/* The text between the fence "```kind" and the next fence. */
static char *fenced(const char *document, const char *kind)
{
    char fence[32];
    const char *begin, *end;

    (void)snprintf(fence, sizeof fence, "\n```%s\n", kind);
    begin = strstr(document, fence);
    assert_non_null(begin);
    begin += strlen(fence);
    end = strstr(begin, "\n```");
    assert_non_null(end);
    char *text = calloc(1, (size_t)(end - begin) + 2);
    assert_non_null(text);
    memcpy(text, begin, (size_t)(end - begin) + 1);
    return text;
}

/* The bytes of a hexdump whose "*" stands for zeros. */
static void undump(rp_buffer *out, char *dump)
{
    for (char *line = strtok(dump, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t offset = strtoul(line, NULL, 16);
        if (line[0] == '*')
            continue;
        while (out->size < offset)
            rp_buffer_u8(out, 0);
        for (size_t i = 0, at = 10; i < 16 && strlen(line) > at; i++, at += i == 8 ? 4 : 3)
            rp_buffer_u8(out, (uint8_t)strtoul(line + at, NULL, 16));
    }
    assert_false(out->failed);
}

static void worked_example_of_the_format_is_exact(void **state)
{
    rp_buffer document = {0}, expected = {0}, found = {0};
    rp_json *run = rp_json_object();
    rp_archive_writer *writer;
    rp_verification *result;
    rp_key *key;
    rp_error err;

    (void)state;
    assert_ok(rp_file_read(RP_SOURCE_DIR "/audit/FORMAT.md", 1 << 20, &document, &err));
    rp_buffer_u8(&document, 0);
    char *dump = fenced((char *)document.data, "hexdump"), *pem = fenced((char *)document.data, "pem");
    char *statement = fenced((char *)document.data, "json");
    undump(&expected, dump);
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    assert_ok(rp_archive_writer_add(writer, "data/hello.txt", "hello\n", 6, &err));
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    assert_ok(rp_archive_writer_append(writer, &found, &err));
    assert_int_equal(found.size, expected.size);
    assert_memory_equal(found.data, expected.data, expected.size);
    assert_non_null(strstr((char *)document.data, rp_archive_writer_id(writer)));

    /* The statement, put in front of the end blocks, makes it a signed archive. */
    unsigned char header[RP_BLOCK];
    size_t size = strlen(statement) - 1; /* the fence's newline is not in it */
    assert_true(rp_ustar_header(header, RP_RUN_STATEMENT, size));
    found.size -= 2 * RP_BLOCK;
    rp_buffer_append(&found, header, sizeof header);
    rp_buffer_append(&found, statement, size);
    while (found.size % RP_BLOCK != 0)
        rp_buffer_u8(&found, 0);
    for (size_t i = 0; i < 2 * RP_BLOCK; i++)
        rp_buffer_u8(&found, 0);
    assert_ok(rp_key_public_from_pem(&key, pem, strlen(pem), "FORMAT.md", &err));
    const rp_key *trusted[] = {key};
    assert_ok(rp_verify_memory(found.data, found.size, "FORMAT.md", trusted, 1, NULL, &result, NULL, &err));
    assert_int_equal(result->statements, 1);
    assert_non_null(strstr((char *)document.data, result->statement[0].key_id));

    const float two[] = {1.0f, -2.0f};
    const size_t shape[] = {2};
    char hex[RP_DIGEST_HEX];
    rp_digest digest;
    assert_ok(rp_tensor_digest_host(&digest, RP_F32, 1, shape, two, NULL, &err));
    rp_digest_hex(hex, &digest);
    assert_non_null(strstr((char *)document.data, hex));

    rp_verification_free(result);
    rp_key_free(key);
    rp_archive_writer_free(writer);
    rp_json_free(run);
    free(dump);
    free(pem);
    free(statement);
    rp_buffer_free(&document);
    rp_buffer_free(&expected);
    rp_buffer_free(&found);
}

static void sizes_of_8_gib_and_more_have_one_form(void **state)
{
    static const uint64_t size[] = {0,
                                    ((uint64_t)1 << 33) - 1,
                                    (uint64_t)1 << 33,
                                    ((uint64_t)1 << 33) + 511,
                                    (uint64_t)3 << 40,
                                    RP_MEMBER_SIZE_MAX};
    static const unsigned char eight_gib[12] = {0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0};
    unsigned char header[RP_BLOCK];
    char name[RP_MEMBER_NAME];
    uint64_t found;
    size_t at;

    (void)state;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        assert_true(rp_ustar_header(header, "data/x", size[i]));
        assert_int_equal(header[124] == 0x80, size[i] >> 33 != 0);
        assert_true(rp_ustar_parse(header, name, &found, &at));
        assert_true(found == size[i]);
    }
    assert_true(rp_ustar_header(header, "data/x", size[2]));
    assert_memory_equal(header + 124, eight_gib, sizeof eight_gib);
    assert_false(rp_ustar_header(header, "data/x", RP_MEMBER_SIZE_MAX + 1));
    for (size_t byte = 1; byte < 12; byte++) { /* too large, or what eleven digits can say */
        memset(header + 124, 0, 12);
        header[124] = 0x80;
        header[124 + byte] = 0xff;
        assert_int_equal(rp_ustar_size(header, &found), byte == 6 || byte == 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_members_give_the_same_bytes_in_any_order),
        cmocka_unit_test(members_read_back_from_writer_and_archive),
        cmocka_unit_test(large_members_pass_through_bounded_windows),
        cmocka_unit_test(twenty_thousand_members_are_found_without_looking_at_all),
        cmocka_unit_test(names_are_strict),
        cmocka_unit_test(sizes_of_8_gib_and_more_have_one_form),
        cmocka_unit_test(writer_refuses_what_no_archive_may_hold),
        cmocka_unit_test(files_open_and_other_things_do_not),
        cmocka_unit_test(worked_example_of_the_format_is_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
