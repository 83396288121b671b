/* SPDX-License-Identifier: Apache-2.0
 * Logs in folders, grown, cut, killed, forged and on a full disk; and their proofs inside archives. */
#include "tests/audit/log/log_sample.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit/trust/verify.h"
#include "rp/audit.h"

static rp_key *key, *other;
static char folder[] = "/tmp/reprise-log-XXXXXX", log_folder[64], copy_folder[64];
static rp_buffer sample;

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL || rp_key_generate(&key, NULL) != RP_OK || rp_key_generate(&other, NULL) != RP_OK)
        return -1;
    (void)snprintf(log_folder, sizeof log_folder, "%s/log", folder);
    (void)snprintf(copy_folder, sizeof copy_folder, "%s/copy", folder);
    sample_archive(&sample, key);
    return 0;
}

static int teardown(void **state)
{
    char command[96];

    (void)state;
    rp_key_free(key);
    rp_key_free(other);
    rp_buffer_free(&sample);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* In the folder of all. */
static void shell(const char *what)
{
    char command[400];

    (void)snprintf(command, sizeof command, "cd %s && { %s; }", folder, what);
    assert_int_equal(system(command), 0);
}

/* ---- folders ---- */

/* An archive whose id depends on i. */
static rp_archive *archive_of(unsigned i, rp_buffer *bytes)
{
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_json *run = rp_json_pack("{s:i}", "steps", (int)i);
    rp_error err;

    rp_buffer_free(bytes);
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    assert_ok(rp_archive_writer_append(writer, bytes, &err));
    rp_archive_writer_free(writer);
    rp_json_free(run);
    assert_ok(rp_archive_open_memory(&archive, bytes->data, bytes->size, "archive", &err));
    return archive;
}

static rp_status add_nth(unsigned i, uint64_t *index, bool *added, rp_error *err)
{
    rp_buffer bytes = {0};
    rp_archive *archive = archive_of(i, &bytes);
    rp_status status = rp_log_add(log_folder, archive, key, index, added, err);

    rp_archive_close(archive);
    rp_buffer_free(&bytes);
    return status;
}

static void fresh_log(unsigned entries)
{
    rp_error err;

    shell("rm -rf log copy");
    assert_ok(rp_log_init(log_folder, origin, key, &err));
    for (unsigned i = 0; i < entries; i++)
        assert_ok(add_nth(i, NULL, NULL, &err));
}

static rp_status open_status(const rp_key *trusted, uint64_t *size, uint64_t *unfinished, rp_error *err)
{
    rp_run_log *log;
    rp_status status = rp_log_open(&log, log_folder, &trusted, 1, err);

    *size = *unfinished = 0;
    if (status == RP_OK) {
        *size = rp_log_state(log)->size;
        *unfinished = rp_log_unfinished(log);
    }
    rp_log_close(log);
    return status;
}

static rp_buffer checkpoint_now(void)
{
    char path[80];
    rp_buffer text = {0};
    rp_error err;

    (void)snprintf(path, sizeof path, "%s/checkpoint", log_folder);
    assert_ok(rp_file_read(path, 1 << 20, &text, &err));
    return text;
}

static void a_log_grows_and_proves_what_it_holds(void **state)
{
    enum { N = 11 };
    rp_buffer old[N + 1], bytes = {0};
    rp_run_log *log;
    uint64_t index = 99;
    bool added = false;
    rp_error err;

    (void)state;
    fresh_log(0);
    assert_int_equal(rp_log_init(log_folder, origin, key, &err), RP_EEXIST);
    for (unsigned i = 0; i <= N; i++) {
        old[i] = checkpoint_now();
        if (i < N)
            assert_ok(add_nth(i, &index, &added, &err));
        assert_true(i == N || (index == i && added));
    }
    assert_ok(add_nth(4, &index, &added, &err));
    assert_true(index == 4 && !added);
    assert_ok(rp_log_open(&log, log_folder, (const rp_key *const *)&key, 1, &err));
    assert_string_equal(rp_log_signer(log), rp_key_id(key));
    assert_int_equal(rp_log_state(log)->size, N);
    assert_null(rp_log_entry(log, N));
    for (unsigned i = 0; i < N; i++) {
        rp_archive *archive = archive_of(i, &bytes);
        rp_log_inclusion found;
        char *proof;

        assert_true(rp_log_find(log, rp_archive_id(archive), &index) && index == i);
        assert_ok(rp_log_prove(log, i, &proof, &err));
        assert_ok(rp_log_check(&found, proof, strlen(proof), "proof", rp_archive_id(archive),
                               (const rp_key *const *)&key, 1, &err));
        assert_int_equal(found.index, i);
        assert_int_equal(rp_log_check(&found, proof, strlen(proof), "proof", rp_archive_id(archive),
                                      (const rp_key *const *)&other, 1, &err),
                         RP_ESIGN);
        rp_text_free(proof);
        rp_archive_close(archive);
    }
    for (unsigned i = 0; i <= N; i++) {
        rp_log_head was, is;
        char *proof;

        assert_ok(rp_log_prove_consistency(log, (char *)old[i].data, old[i].size, "old", (const rp_key *const *)&key, 1,
                                           &proof, &err));
        assert_ok(rp_log_check_consistency(&was, &is, &(rp_log_text){proof, strlen(proof), "proof"},
                                           &(rp_log_text){(char *)old[i].data, old[i].size, "old"},
                                           (const rp_key *const *)&key, 1, &err));
        assert_true(was.size == i && is.size == N);
        assert_int_equal(
            rp_log_check_consistency(NULL, NULL, &(rp_log_text){proof, strlen(proof), "proof"},
                                     &(rp_log_text){(char *)old[(i + 1) % N].data, old[(i + 1) % N].size, "old"},
                                     (const rp_key *const *)&key, 1, &err),
            RP_EHASH);
        assert_int_equal(rp_log_check_consistency(NULL, NULL, &(rp_log_text){proof, strlen(proof), "proof"},
                                                  &(rp_log_text){(char *)old[i].data, old[i].size, "old"},
                                                  (const rp_key *const *)&other, 1, &err),
                         RP_ESIGN);
        rp_text_free(proof);
    }
    for (unsigned i = 0; i <= N; i++)
        rp_buffer_free(&old[i]);
    rp_buffer_free(&bytes);
    rp_log_close(log);
}

static void what_an_unfinished_add_left_is_no_entry_and_is_cut_off(void **state)
{
    uint64_t size, unfinished, index;
    rp_error err;

    (void)state;
    /* a killed add leaves any part of its line; also a whole one, and what a crash may leave of a block */
    static const char *const tails[] = {"printf a >>log/entries", "printf '%064d' 7 >>log/entries",
                                        "printf '%064d\\n' 7 >>log/entries", "head -c 4096 /dev/zero >>log/entries"};
    for (size_t i = 0; i < 4; i++) {
        fresh_log(3);
        shell(tails[i]);
        assert_ok(open_status(key, &size, &unfinished, &err));
        assert_int_equal(size, 3);
        assert_true(unfinished > 0);
        assert_ok(add_nth(7, &index, NULL, &err));
        assert_int_equal(index, 3);
        assert_ok(open_status(key, &size, &unfinished, &err));
        assert_true(size == 4 && unfinished == 0);
    }
}

static void a_log_that_was_changed_is_refused(void **state)
{
    static const struct {
        const char *what;
        rp_status status;
    } changes[] = {
        {"truncate -s -65 log/entries", RP_EHASH},
        {"truncate -s -1 log/entries", RP_EHASH},
        {": >log/entries", RP_EHASH},
        {"rm log/entries", RP_EIO},
        {"rm log/checkpoint", RP_EIO},
        {"sed -i 2s/./x/ log/entries", RP_EFORMAT},
        {"sed -i 2s/./A/ log/entries", RP_EFORMAT},
        {"sed -i '2{h;d};3{G}' log/entries", RP_EHASH},                         /* two entries swapped */
        {"sed -i 2d log/entries; printf '%064d\\n' 0 >>log/entries", RP_EHASH}, /* one dropped, another put in */
        {"sed -i 2s/5/4/ log/checkpoint", RP_ESIGN},
        {"sed -i 1s/e/f/ log/checkpoint", RP_ESIGN},
        {"sed -i 3s/^./_/ log/checkpoint", RP_EFORMAT},
        {"head -c 70000 /dev/zero >log/checkpoint", RP_EFORMAT},
    };
    uint64_t size, unfinished;
    rp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        rp_buffer before = {0}, after = {0};
        fresh_log(5);
        shell(changes[i].what);
        rp_status status = open_status(key, &size, &unfinished, &err);
        if (status != changes[i].status)
            fail_msg("%s: %s", changes[i].what, rp_status_name(status));
        if (rp_file_exists(log_folder) && status != RP_EIO) {
            before = checkpoint_now();
            assert_int_equal(add_nth(9, NULL, NULL, &err), changes[i].status);
            after = checkpoint_now();
            assert_int_equal(before.size, after.size);
            assert_memory_equal(before.data, after.data, before.size);
        }
        rp_buffer_free(&before);
        rp_buffer_free(&after);
    }
}

/* Someone with the key writes a log again without its second run: only an older checkpoint tells. */
static void a_log_written_again_without_a_run_does_not_fit_its_older_checkpoints(void **state)
{
    rp_buffer old;
    rp_run_log *log;
    char *proof = NULL;
    rp_error err;

    (void)state;
    fresh_log(4);
    old = checkpoint_now();
    fresh_log(0);
    for (unsigned i = 0; i < 8; i++)
        if (i != 1)
            assert_ok(add_nth(i, NULL, NULL, &err));
    assert_ok(rp_log_open(&log, log_folder, (const rp_key *const *)&key, 1, &err));
    assert_int_equal(
        rp_log_prove_consistency(log, (char *)old.data, old.size, "old", (const rp_key *const *)&key, 1, &proof, &err),
        RP_EHASH);
    assert_null(proof);
    rp_log_close(log);
    fresh_log(2);
    assert_ok(rp_log_open(&log, log_folder, (const rp_key *const *)&key, 1, &err));
    assert_int_equal(
        rp_log_prove_consistency(log, (char *)old.data, old.size, "old", (const rp_key *const *)&key, 1, &proof, &err),
        RP_EHASH);
    rp_log_close(log);
    rp_buffer_free(&old);
}

static void another_key_cannot_add_and_a_public_key_cannot_begin(void **state)
{
    rp_buffer bytes = {0};
    rp_archive *archive = archive_of(1, &bytes);
    uint64_t size, unfinished;
    char path[80];
    rp_key *public_key;
    rp_error err;

    (void)state;
    fresh_log(2);
    assert_int_equal(rp_log_add(log_folder, archive, other, NULL, NULL, &err), RP_ESIGN);
    assert_int_equal(open_status(other, &size, &unfinished, &err), RP_ESIGN);
    (void)snprintf(path, sizeof path, "%s/public.pem", folder);
    assert_ok(rp_key_save_public(key, path, true, &err));
    assert_ok(rp_key_load_public(&public_key, path, &err));
    assert_int_equal(rp_log_init(copy_folder, origin, public_key, &err), RP_EARG);
    assert_int_equal(rp_log_init(copy_folder, "a b", key, &err), RP_EARG);
    assert_false(rp_file_exists(copy_folder));
    rp_key_free(public_key);
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
}

/* Children add without end and are killed at any moment; after each the log opens, has lost nothing, and grows. */
static void a_killed_add_loses_nothing_and_corrupts_nothing(void **state)
{
    uint64_t size = 0, last = 0, unfinished;
    rp_buffer old;
    rp_run_log *log;
    char *proof;
    rp_error err;

    (void)state;
    fresh_log(1);
    for (unsigned round = 0; round < 40; round++) {
        old = checkpoint_now();
        pid_t child = fork();
        if (child == 0) {
            for (unsigned i = 0;; i++)
                if (add_nth(1000 * (round + 1) + i, NULL, NULL, &err) != RP_OK)
                    _exit(1);
        }
        assert_true(child > 0);
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000 + round * 4570001 % 40000000}, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_ok(open_status(key, &size, &unfinished, &err));
        assert_true(size >= last);
        last = size;
        assert_ok(rp_log_open(&log, log_folder, (const rp_key *const *)&key, 1, &err));
        assert_ok(rp_log_prove_consistency(log, (char *)old.data, old.size, "old", (const rp_key *const *)&key, 1,
                                           &proof, &err));
        rp_text_free(proof);
        rp_log_close(log);
        rp_buffer_free(&old);
    }
    assert_ok(add_nth(3, NULL, NULL, &err));
    print_message("40 kills, %llu entries\n", (unsigned long long)last);
    assert_true(last > 1);
}

static void processes_that_add_at_once_lose_nothing(void **state)
{
    enum { CHILDREN = 4, EACH = 10 };
    pid_t child[CHILDREN];
    uint64_t size, unfinished;
    rp_error err;

    (void)state;
    fresh_log(0);
    for (unsigned c = 0; c < CHILDREN; c++) {
        child[c] = fork();
        if (child[c] == 0) {
            for (unsigned i = 0; i < EACH; i++)
                if (add_nth(100 * c + i, NULL, NULL, &err) != RP_OK)
                    _exit(1);
            _exit(0);
        }
    }
    for (unsigned c = 0; c < CHILDREN; c++) {
        int code;
        assert_int_equal(waitpid(child[c], &code, 0), child[c]);
        assert_int_equal(code, 0);
    }
    assert_ok(open_status(key, &size, &unfinished, &err));
    assert_true(size == (uint64_t)CHILDREN * EACH && unfinished == 0);
}

/* Disks of 4 KiB pages, each really full at another place. */
static void a_full_disk_leaves_the_log_as_it_was(void **state)
{
    char command[200];
    uint64_t size = 0, last = 0, unfinished;
    rp_status status = RP_OK;
    rp_error err;

    (void)state;
    shell("rm -rf log && mkdir log");
    (void)snprintf(command, sizeof command, "mount -t tmpfs -o size=16k none %s 2>/dev/null", log_folder);
    if (geteuid() != 0 || system(command) != 0) {
        print_message("skipped: only root can mount a small disk here\n");
        skip();
    }
    assert_ok(rp_log_init(log_folder, origin, key, &err));
    for (unsigned i = 0; i < 1000 && status == RP_OK; i++) {
        status = add_nth(i, NULL, NULL, &err);
        assert_ok(open_status(key, &size, &unfinished, &err));
        assert_true(unfinished == 0 && size == last + (status == RP_OK));
        last = size;
    }
    assert_int_equal(status, RP_EIO);
    (void)snprintf(command, sizeof command, "test $(ls %s | wc -l) = 2 && umount %s", log_folder, log_folder);
    assert_int_equal(system(command), 0);
    assert_true(size > 10);
}

/* ---- in archives ---- */

static void saved_sample(char path[80])
{
    rp_error err;

    (void)snprintf(path, 80, "%s/a.reprise", folder);
    assert_ok(rp_file_save(path, sample.data, sample.size, true, 0640, &err));
}

static rp_status verify_with(const char *path, const rp_key *log_key, rp_verification **result, rp_error *err)
{
    const rp_verify_options options = {.log_key = &log_key, .log_keys = log_key != NULL};

    return rp_verify(path, (const rp_key *const *)&key, 1, &options, result, NULL, err);
}

/* The sample logged between others; its proof. */
static char *logged_sample(const char *path)
{
    rp_archive *archive;
    rp_run_log *log;
    uint64_t index;
    char *proof;
    rp_error err;

    fresh_log(2);
    assert_ok(rp_archive_open(&archive, path, &err));
    assert_ok(rp_log_add(log_folder, archive, key, &index, NULL, &err));
    assert_ok(add_nth(5, NULL, NULL, &err));
    assert_ok(rp_log_open(&log, log_folder, (const rp_key *const *)&key, 1, &err));
    assert_ok(rp_log_prove(log, index, &proof, &err));
    rp_log_close(log);
    rp_archive_close(archive);
    return proof;
}

static void an_archive_carries_its_proof_and_stays_the_same_otherwise(void **state)
{
    char path[80], member[RP_MEMBER_NAME];
    rp_buffer text = {0};
    rp_verification *result = NULL;
    struct stat info;
    rp_error err;

    (void)state;
    saved_sample(path);
    char *proof = logged_sample(path);
    assert_int_equal(verify_with(path, key, &result, &err), RP_ESIGN); /* not there yet */
    assert_ok(rp_log_member(member, origin, &err));
    assert_ok(rp_archive_add_statement(path, member, proof, strlen(proof), false, &err));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_ok(rp_file_read(path, 1 << 24, &text, &err));
    size_t more = 512 + (strlen(proof) + 511) / 512 * 512;
    assert_int_equal(text.size, sample.size + more);

    /* the new member stands before run.dsse.json, everything else where it was or behind it, byte for byte */
    size_t at = 0;
    while (at < sample.size && text.data[at] == sample.data[at])
        at++;
    at -= at % 512;
    assert_string_equal((char *)text.data + at, member);
    assert_memory_equal(text.data + at + more, sample.data + at, sample.size - at);

    assert_ok(verify_with(path, key, &result, &err));
    assert_int_equal(result->proofs, 1);
    assert_int_equal(result->statements, 2); /* the run's and the bundle */
    assert_string_equal(result->proof[0].origin, origin);
    assert_string_equal(result->proof[0].key_id, rp_key_id(key));
    assert_true(result->proof[0].index == 2 && result->proof[0].log_size == 4);
    rp_verification_free(result);
    assert_ok(verify_with(path, NULL, &result, &err));
    assert_string_equal(result->proof[0].key_id, "");
    rp_verification_free(result);
    assert_int_equal(verify_with(path, other, &result, &err), RP_ESIGN);

    assert_int_equal(rp_archive_add_statement(path, member, proof, strlen(proof), false, &err), RP_EEXIST);
    rp_buffer again = {0};
    assert_ok(rp_archive_add_statement(path, member, proof, strlen(proof), true, &err));
    assert_ok(rp_file_read(path, 1 << 24, &again, &err));
    assert_int_equal(again.size, text.size);
    assert_memory_equal(again.data, text.data, text.size);
    rp_buffer_free(&again);
    rp_buffer_free(&text);
    rp_text_free(proof);
}

static void a_wrong_proof_in_an_archive_is_refused(void **state)
{
    char path[80], member[RP_MEMBER_NAME], elsewhere[RP_MEMBER_NAME], id[RP_DIGEST_HEX];
    rp_verification *result = NULL;
    rp_buffer foreign = {0};
    rp_error err;

    (void)state;
    saved_sample(path);
    char *proof = logged_sample(path);
    assert_ok(rp_log_member(member, origin, &err));
    assert_ok(rp_log_member(elsewhere, "example.com/elsewhere", &err));
    assert_ok(rp_archive_add_statement(path, elsewhere, proof, strlen(proof), false, &err));
    assert_int_equal(verify_with(path, NULL, &result, &err), RP_EFORMAT); /* under another log's name */
    saved_sample(path);
    inclusion_text(&foreign, key, id);
    assert_ok(rp_archive_add_statement(path, member, foreign.data, foreign.size, false, &err));
    assert_int_equal(verify_with(path, key, &result, &err), RP_EHASH); /* another archive's proof */
    saved_sample(path);
    assert_ok(rp_archive_add_statement(path, member, "nothing\n", 8, false, &err));
    assert_int_equal(verify_with(path, key, &result, &err), RP_EFORMAT);
    rp_buffer_free(&foreign);

    saved_sample(path);
    rp_buffer bytes = {0};
    size_t size = strlen(proof);
    for (size_t bit = 0; bit < size * 8; bit += 7) { /* every bit of a byte in turn, and the whole text */
        rp_log_inclusion found;
        proof[bit / 8] ^= (char)(1 << bit % 8);
        rp_status status = rp_log_check(&found, proof, size, "proof", id, (const rp_key *const *)&key, 1, &err);
        assert_int_not_equal(status, RP_OK);
        proof[bit / 8] ^= (char)(1 << bit % 8);
    }
    rp_buffer_free(&bytes);
    rp_text_free(proof);
}

static void only_known_kinds_are_added_and_a_failure_changes_nothing(void **state)
{
    static const char *const names[] = {"run/recipe.json",
                                        "manifest.json",
                                        "signatures/x",
                                        "signatures/a/b.dsse.json",
                                        "",
                                        "signatures/log-0123456789abcdeF.tlog-proof",
                                        "/signatures/run.dsse.json"};
    char path[80], link_path[80];
    rp_buffer text = {0};
    rp_error err;

    (void)state;
    saved_sample(path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(rp_archive_add_statement(path, names[i], "x", 1, true, &err), RP_EARG);
    assert_int_equal(rp_archive_add_statement(path, "signatures/x.dsse.json", "", 0, true, &err), RP_EARG);
    (void)snprintf(link_path, sizeof link_path, "%s/link", folder);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(rp_archive_add_statement(link_path, "signatures/x.dsse.json", "x", 1, true, &err), RP_EARG);
    assert_int_equal(unlink(link_path), 0);
    assert_ok(rp_file_read(path, 1 << 24, &text, &err));
    assert_int_equal(text.size, sample.size);
    assert_memory_equal(text.data, sample.data, text.size);
    size_t at = 0; /* an archive with a damaged member is not written again */
    while (strcmp((char *)text.data + at, "run/journal.bin") != 0)
        at += 512;
    text.data[at + 512] ^= 1;
    assert_ok(rp_file_save(path, text.data, text.size, true, 0644, &err));
    assert_int_not_equal(rp_archive_add_statement(path, "signatures/x.dsse.json", "x", 1, true, &err), RP_OK);
    rp_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_grows_and_proves_what_it_holds),
        cmocka_unit_test(what_an_unfinished_add_left_is_no_entry_and_is_cut_off),
        cmocka_unit_test(a_log_that_was_changed_is_refused),
        cmocka_unit_test(a_log_written_again_without_a_run_does_not_fit_its_older_checkpoints),
        cmocka_unit_test(another_key_cannot_add_and_a_public_key_cannot_begin),
        cmocka_unit_test(a_killed_add_loses_nothing_and_corrupts_nothing),
        cmocka_unit_test(processes_that_add_at_once_lose_nothing),
        cmocka_unit_test(a_full_disk_leaves_the_log_as_it_was),
        cmocka_unit_test(an_archive_carries_its_proof_and_stays_the_same_otherwise),
        cmocka_unit_test(a_wrong_proof_in_an_archive_is_refused),
        cmocka_unit_test(only_known_kinds_are_added_and_a_failure_changes_nothing),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
