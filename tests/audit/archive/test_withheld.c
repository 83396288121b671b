/* SPDX-License-Identifier: Apache-2.0
 * Runs whose data stays at home: nothing of it is in the archive, not even a digest that could be guessed; the archive
 * is verified without it, and replayed with it once every file given has been compared with its salted digest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "audit/archive/withheld.h"
#include "base/memory.h"
#include "rp/rp.h"

static char folder[32];
static char path_room[8][160];
static const rp_job_options job_options = {.threads = 1};

static const char *in_folder(const char *name)
{
    static unsigned turn;
    char *path = path_room[turn++ % 8];

    (void)snprintf(path, sizeof path_room[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    rp_error err;

    if (rp_file_save(in_folder(name), text, strlen(text), true, 0600, &err) != RP_OK)
        fail_msg("%s", err.text);
}

static void make_folder(const char *name)
{
    char command[200];

    (void)snprintf(command, sizeof command, "mkdir -p %s", in_folder(name));
    assert_int_equal(system(command), 0);
}

static rp_status train(const char *out, const char *withhold, bool force, rp_error *err)
{
    char path[160], hidden[160];
    rp_job_options options = job_options;
    rp_job *job = NULL;
    rp_status status;

    (void)snprintf(path, sizeof path, "%s", in_folder(out));
    (void)snprintf(hidden, sizeof hidden, "%s", in_folder(withhold));
    options.withhold = hidden;
    status = rp_train_recipe(in_folder("recipe.yaml"), path, NULL, force, &options, &job, err);
    rp_job_free(job);
    return status;
}

static rp_archive *opened(const char *name)
{
    rp_archive *archive;
    rp_error err;

    if (rp_archive_open(&archive, in_folder(name), &err) != RP_OK)
        fail_msg("%s", err.text);
    return archive;
}

static rp_buffer bytes_of(const char *name)
{
    rp_buffer bytes = {0};
    rp_error err;

    if (rp_file_read(in_folder(name), SIZE_MAX / 2, &bytes, &err) != RP_OK)
        fail_msg("%s", err.text);
    return bytes;
}

static rp_status replay(const rp_archive *archive, rp_error *err)
{
    rp_job *job = NULL;
    rp_status status = rp_replay(archive, &job_options, &job, err);

    rp_job_free(job);
    return status;
}

static int setup(void **state)
{
    rp_buffer table = {0};
    rp_error err;

    (void)state;
    strcpy(folder, "/tmp/rp-withheld-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    rp_buffer_text(&table, "income,city,default\n");
    for (int i = 0; i < 40; i++)
        rp_buffer_printf(&table, "%d.%d,%s,%s\n", 17 * i % 23, i % 7, i % 3 ? "Smallville" : "Gotham",
                         i * 5 % 11 > 4 ? "yes" : "no");
    rp_buffer_u8(&table, 0);
    write_text("table.csv", (const char *)table.data);
    rp_buffer_free(&table);
    write_text("recipe.yaml", "reprise: 1\nseed: 7\ndata: {csv: table.csv, target: default, folds: 2, fold: 1}\n"
                              "model: {hidden: [3]}\ntrain: {epochs: 2, batch: 8}\n");
    return train("a.reprise", "home", false, &err) == RP_OK && train("b.reprise", "home", false, &err) == RP_OK &&
                   train("c.reprise", "elsewhere", false, &err) == RP_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void the_same_salt_gives_the_same_archive(void **state)
{
    rp_buffer a = bytes_of("a.reprise"), b = bytes_of("b.reprise");

    (void)state;
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    rp_buffer_free(&a);
    rp_buffer_free(&b);
}

static void another_salt_changes_all_digests_of_inputs(void **state)
{
    rp_archive *a = opened("a.reprise"), *c = opened("c.reprise");
    const rp_member *ja = rp_archive_find(a, "run/journal.bin"), *jc = rp_archive_find(c, "run/journal.bin");
    unsigned char *x = rp_malloc(ja->size), *y = rp_malloc(jc->size);
    rp_error err;

    (void)state;
    assert_string_not_equal(rp_archive_id(a), rp_archive_id(c));
    assert_int_equal(ja->size, jc->size);
    assert_int_equal(rp_archive_read(a, ja, x, &err), RP_OK);
    assert_int_equal(rp_archive_read(c, jc, y, &err), RP_OK);
    for (size_t at = 0; at < ja->size; at += 128) { /* FORMAT.md 9: feeds at 16, then results and states */
        assert_memory_not_equal(x + at + 16, y + at + 16, 32);
        assert_memory_equal(x + at + 48, y + at + 48, 80);
    }
    rp_free(x);
    rp_free(y);
    rp_archive_close(a);
    rp_archive_close(c);
}

static char *difference(const rp_archive *a, const rp_archive *b)
{
    char *text;
    bool same;
    rp_error err;

    if (rp_diff(a, b, &job_options, &same, &text, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_false(same);
    return text;
}

static void another_salt_is_not_taken_for_other_inputs(void **state)
{
    rp_archive *a = opened("a.reprise"), *c = opened("c.reprise");
    rp_error err;
    char *text;

    (void)state;
    assert_int_equal(rp_archive_disclose(a, in_folder("home"), &err), RP_OK);
    assert_int_equal(rp_archive_disclose(c, in_folder("elsewhere"), &err), RP_OK);
    text = difference(a, c);
    assert_non_null(
        strstr(text, "inputs    of A and B are bound with different salts: their digests are not compared\n"));
    assert_non_null(strstr(text, "records are equal, digests of inputs aside\n"));
    assert_null(strstr(text, "first that differs"));
    rp_text_free(text);
    rp_archive_close(c);
    /* a true difference is found beside it */
    write_text("recipe.yaml", "reprise: 1\nseed: 8\ndata: {csv: table.csv, target: default, folds: 2, fold: 1}\n"
                              "model: {hidden: [3]}\ntrain: {epochs: 2, batch: 8}\n");
    assert_int_equal(train("salted.reprise", "third", false, &err), RP_OK);
    write_text("recipe.yaml", "reprise: 1\nseed: 7\ndata: {csv: table.csv, target: default, folds: 2, fold: 1}\n"
                              "model: {hidden: [3]}\ntrain: {epochs: 2, batch: 8}\n");
    c = opened("salted.reprise");
    assert_int_equal(rp_archive_disclose(c, in_folder("third"), &err), RP_OK);
    text = difference(a, c);
    assert_non_null(strstr(text, "bound with different salts"));
    assert_non_null(strstr(text, "step      0 is the first that differs (its "));
    assert_null(strstr(text, "(its feeds)"));
    assert_null(strstr(text, "the same bits here"));
    rp_text_free(text);
    rp_archive_close(c);
    rp_archive_close(a);
}

static bool holds(const rp_buffer *bytes, const void *part, size_t size)
{
    for (size_t at = 0; at + size <= bytes->size; at++)
        if (memcmp(bytes->data + at, part, size) == 0)
            return true;
    return false;
}

static void nothing_of_the_data_is_in_the_archive(void **state)
{
    static const char *const left_out[] = {"data/prepared.json", "data/quality.json",       "data/raw.csv",
                                           "data/schema.json",   "outputs/predictions.csv", "outputs/reference.json"};
    rp_buffer archive = bytes_of("a.reprise");
    rp_archive *a = opened("a.reprise");

    (void)state;
    assert_int_equal(rp_archive_withheld_count(a), 6);
    assert_false(holds(&archive, "Smallville", 10));
    assert_false(holds(&archive, "17.1,", 5));
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        char name[64], hex[RP_DIGEST_HEX];
        rp_buffer body;
        rp_digest digest;

        assert_string_equal(rp_archive_withheld(a, i), left_out[i]);
        assert_null(rp_archive_find(a, left_out[i]));
        (void)snprintf(name, sizeof name, "home/%s", left_out[i]);
        body = bytes_of(name);
        assert_int_equal(rp_sha256(&digest, body.data, body.size, NULL), RP_OK);
        rp_digest_hex(hex, &digest);
        assert_false(holds(&archive, hex, 64));
        assert_false(holds(&archive, digest.bytes, 32));
        rp_buffer_free(&body);
    }
    assert_null(rp_archive_withheld(a, 6));
    rp_archive_close(a);
    rp_buffer_free(&archive);
}

/* ---- words of the table ---- */

enum { SECRET_ROWS = 60 };
/* Of each column a word that only its cells have; near-unique ones have a number behind it. */
static const char *const secrets[] = {"Quillfeather", "Nettlecombe", "Wharfdale", "Tintagel", "Larkspur", "Dunmore"};

/* A name a row, rare towns that are pooled, a clinic that follows from the region, which makes columns and products be
 * left out, spellings, words that look like numbers; and the classes and regions, which the format names as told. */
static void write_secret_table(void)
{
    rp_buffer table = {0};

    rp_buffer_text(&table, "name,town,region,clinic,code,age,income,y\n");
    for (int i = 0; i < SECRET_ROWS; i++)
        rp_buffer_printf(&table, "%s %d,%s%d,%s,%s,%s,%d,987%d.5,%s\n", secrets[0], i, secrets[1], i % 20 ? i % 2 : i,
                         i % 3 ? "toldnorth" : "toldsouth", i % 3 ? secrets[2] : secrets[3],
                         i % 7 == 0   ? "Larkspur 1"
                         : i % 7 == 3 ? "LARKSPUR 1"
                                      : "Dunmore",
                         20 + i * 11 % 40, 100 + i * 37 % 91, i * 7 % 5 > 1 ? "toldyes" : "toldno");
    rp_buffer_u8(&table, 0);
    write_text("secret.csv", (const char *)table.data);
    rp_buffer_free(&table);
}

static void has_no_secret(const char *where, const void *bytes, size_t size)
{
    const rp_buffer all = {.data = (unsigned char *)bytes, .size = size};

    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (holds(&all, secrets[i], strlen(secrets[i])))
            fail_msg("%s: \"%s\" is a cell of the table", where, secrets[i]);
    if (holds(&all, "LARKSPUR", 8) || holds(&all, "987100", 6))
        fail_msg("%s: a cell of the table", where);
}

static void keep_table(void *self, const char *json)
{
    rp_buffer_text(self, json);
}

/* A run of secret.yaml that leaves its data in folder; its archive is replayed with that. Returns the archive. */
static rp_buffer run_in_secret(const char *folder_name)
{
    rp_buffer told = {0}, archive;
    rp_job_options options = {.threads = 1, .table = keep_table, .self = &told, .withhold = in_folder(folder_name)};
    rp_job *job = NULL;
    rp_archive *a;
    rp_error err = {0};

    if (rp_train_recipe(in_folder("secret.yaml"), in_folder("secret.reprise"), NULL, true, &options, &job, &err) !=
        RP_OK)
        fail_msg("%s", err.text);
    archive = bytes_of("secret.reprise");
    has_no_secret("archive", archive.data, archive.size);
    has_no_secret("table before the run", told.data, told.size);
    has_no_secret("table", job->table, strlen(job->table));
    has_no_secret("metrics", job->metrics, strlen(job->metrics));
    /* it is not for want of words: the findings are there */
    assert_non_null(strstr(job->table, "category_spelling"));
    assert_non_null(strstr(job->table, "rare and pooled: "));
    assert_true(holds(&archive, "toldnorth", 9));
    rp_job_free(job);
    rp_buffer_free(&told);
    a = opened("secret.reprise");
    assert_int_equal(rp_archive_disclose(a, in_folder(folder_name), &err), RP_OK);
    if (replay(a, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_archive_close(a);
    return archive;
}

#define SECRET_DATA \
    "reprise: 1\nseed: 7\ndata:\n  csv: secret.csv\n  folds: 4\n  interactions: [[clinic, income]]\n  columns:\n" \
    "    town: {rare: 0.1}\n    income: {bins: [987130, 987160]}\n    region: categorical\n"

static void no_cell_is_told_but_those_that_the_format_names(void **state)
{
    rp_buffer archive, coefficients;

    (void)state;
    write_secret_table();
    write_text("secret.yaml", SECRET_DATA "    age: {bins: 3}\n  target: y\n"
                                          "train: {solver: exact, task: classification, l2: 0.1}\n"
                                          "validation: {by: [region]}\n");
    archive = run_in_secret("secrets");
    assert_true(holds(&archive, "toldyes", 7));
    coefficients = bytes_of("secrets/outputs/coefficients.json");
    assert_true(holds(&coefficients, secrets[0], strlen(secrets[0])));
    rp_buffer_free(&archive);
    rp_buffer_free(&coefficients);
    /* the clinic follows from the region, so it and its products are left out, which metrics.json says by column */
    write_text("secret.yaml", SECRET_DATA "    name: ignore\n  target: age\n"
                                          "train: {solver: exact, task: regression, l2: 0}\n"
                                          "validation: {by: [region]}\n");
    archive = run_in_secret("more-secrets");
    assert_true(holds(&archive, "\"left_out\":[{\"column\":\"clinic\"}", 31));
    assert_true(holds(&archive, "\"times\":{\"column\":\"income\"}", 27));
    rp_buffer_free(&archive);
}

/* Worked by hand from FORMAT.md 13, with OpenSSL's command:
 * printf '05 0c00 <name> <SHA-256 of "hello\n">' as bytes | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102...1f
 */
static void the_salted_digest_is_that_of_the_format(void **state)
{
    rp_salt salt;
    rp_digest plain, salted;
    char hex[RP_DIGEST_HEX];

    (void)state;
    for (int i = 0; i < RP_SALT_SIZE; i++)
        salt.bytes[i] = (unsigned char)i;
    assert_int_equal(rp_sha256(&plain, "hello\n", 6, NULL), RP_OK);
    assert_int_equal(rp_salted_member(&salted, &salt, "data/raw.csv", &plain, NULL), RP_OK);
    rp_digest_hex(hex, &salted);
    assert_string_equal(hex, "728674a314be90d9699cce06606d83bb713aed72265992ce118e2606e6f3f2d8");
    assert_int_equal(rp_salted_feeds(&plain, &salt, NULL), RP_OK);
    rp_digest_hex(hex, &plain);
    assert_string_equal(hex, "88f885d026f9af3974215c01e1aac8006e1da01116e414bd0e89f984396d9bb6");
}

static void without_the_data_it_is_verified_but_not_replayed(void **state)
{
    rp_verification *result = NULL;
    rp_error err;
    rp_archive *a = opened("a.reprise");

    (void)state;
    assert_int_equal(
        rp_verify(in_folder("a.reprise"), NULL, 0, &(rp_verify_options){.allow_unsigned = true}, &result, NULL, &err),
        RP_OK);
    rp_verification_free(result);
    assert_int_equal(replay(a, &err), RP_EARG);
    assert_non_null(strstr(err.text, "data/raw.csv"));
    rp_archive_close(a);
}

static void with_its_folder_it_is_replayed(void **state)
{
    rp_archive *a = opened("a.reprise");
    rp_error err;
    char *text = NULL;
    size_t length;

    (void)state;
    assert_int_equal(rp_archive_disclose(a, in_folder("home"), &err), RP_OK);
    if (replay(a, &err) != RP_OK)
        fail_msg("%s", err.text);
    assert_int_equal(rp_predict(a, "income,city\n3,Gotham\n", 21, "rows", &job_options, &text, &length, &err), RP_OK);
    rp_text_free(text);
    rp_archive_close(a);
}

static void the_table_and_the_salt_are_enough_to_replay(void **state)
{
    rp_archive *a = opened("a.reprise");
    rp_buffer table = bytes_of("home/data/raw.csv"), salt = bytes_of("home/salt");
    rp_error err;

    (void)state;
    make_folder("auditor/data");
    assert_int_equal(rp_file_save(in_folder("auditor/data/raw.csv"), table.data, table.size, true, 0600, &err), RP_OK);
    assert_int_equal(rp_file_save(in_folder("auditor/salt"), salt.data, salt.size, true, 0600, &err), RP_OK);
    assert_int_equal(rp_archive_disclose(a, in_folder("auditor"), &err), RP_OK);
    assert_int_equal(replay(a, &err), RP_OK);
    rp_buffer_free(&table);
    rp_buffer_free(&salt);
    rp_archive_close(a);
}

static void refused(const char *folder_name, rp_status expected, const char *word)
{
    rp_archive *a = opened("a.reprise");
    rp_error err = {0};

    assert_int_equal(rp_archive_disclose(a, in_folder(folder_name), &err), expected);
    if (!strstr(err.text, word))
        fail_msg("%s: \"%s\" is not in the message: %s", folder_name, word, err.text);
    assert_null(rp_archive_find(a, "data/raw.csv"));
    assert_int_equal(replay(a, &err), RP_EARG);
    rp_archive_close(a);
}

static void other_data_and_other_salts_are_refused_first(void **state)
{
    rp_buffer table = bytes_of("home/data/raw.csv"), salt = bytes_of("home/salt");
    rp_error err;

    (void)state;
    make_folder("wrong/data");
    assert_int_equal(rp_file_save(in_folder("wrong/salt"), salt.data, salt.size, true, 0600, &err), RP_OK);
    for (size_t bit = 0; bit < 8 * table.size; bit += 509) {
        table.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_int_equal(rp_file_save(in_folder("wrong/data/raw.csv"), table.data, table.size, true, 0600, &err),
                         RP_OK);
        refused("wrong", RP_EHASH, "data/raw.csv");
        table.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    refused("elsewhere", RP_EHASH, "salted digest");
    make_folder("bare");
    refused("bare", RP_EIO, "salt");
    write_text("bare/salt", "not hex\n");
    refused("bare", RP_EDATA, "64 lowercase hex digits");
    assert_int_equal(rp_file_save(in_folder("bare/salt"), salt.data, salt.size, true, 0600, &err), RP_OK);
    refused("bare", RP_EARG, "none of what was left out");
    rp_buffer_free(&table);
    rp_buffer_free(&salt);
}

/* A name taken by another member, by the same one: no two runs of other data share a folder by accident, nor by force.
 */
static void a_folder_of_another_run_is_not_written_over(void **state)
{
    rp_error err = {0};
    rp_buffer before = bytes_of("home/data/raw.csv"), after;

    (void)state;
    write_text("table2.csv", "income,city,default\n1,a,yes\n2,b,no\n3,a,yes\n4,b,no\n5,a,no\n6,a,yes\n");
    write_text(
        "recipe.yaml",
        "reprise: 1\nseed: 7\ndata: {csv: table2.csv, target: default, folds: 2}\nmodel: {hidden: []}\ntrain: {epochs: "
        "1, batch: 2}\n");
    for (int force = 0; force <= 1; force++) {
        if (train("d.reprise", "home", force, &err) != RP_EEXIST)
            fail_msg("%s", err.text);
        assert_non_null(strstr(err.text, "home/data/"));
        assert_false(rp_file_exists(in_folder("d.reprise")));
        after = bytes_of("home/data/raw.csv");
        assert_int_equal(before.size, after.size);
        assert_memory_equal(before.data, after.data, after.size);
        rp_buffer_free(&after);
    }
    rp_buffer_free(&before);
}

static bool no_step(void *self, const rp_progress *progress)
{
    (void)progress;
    *(bool *)self = true;
    return true;
}

/* The table is the same; split or scores are not: found before the training, not after it. */
static void a_folder_of_another_recipe_is_refused_before_the_first_step(void **state)
{
    static const char *const change[] = {"seed: 7\nname: other", "seed: 8"}, *const word[] = {"another recipe",
                                                                                              "prepared.json"};
    char text[300];
    bool stepped = false;
    rp_error err = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rp_job_options options = {.threads = 1, .withhold = in_folder("home"), .progress = no_step, .self = &stepped};
        rp_job *job = NULL;

        (void)snprintf(text, sizeof text,
                       "reprise: 1\n%s\ndata: {csv: table.csv, target: default, folds: 2, fold: 1}\n"
                       "model: {hidden: [3]}\ntrain: {epochs: 2, batch: 8}\n",
                       change[i]);
        write_text("again.yaml", text);
        assert_int_equal(
            rp_train_recipe(in_folder("again.yaml"), in_folder("e.reprise"), NULL, i, &options, &job, &err), RP_EEXIST);
        if (!strstr(err.text, word[i]))
            fail_msg("%s", err.text);
        assert_false(stepped);
        (void)unlink(in_folder("home/recipe"));
    }
}

static rp_status api_run(const char *out, const char *withhold, rp_error *err)
{
    static const size_t shape[] = {2, 2};
    static const float values[] = {1, 2, 3, -1}, batch[] = {0.5f, -1, 4, 2};
    rp_run *run = NULL;
    rp_recorder *recorder = NULL;
    rp_status status;

    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 2, shape, values, err), RP_OK);
    assert_int_equal(rp_run_add_data(run, "table", RP_F32, 2, shape, batch, err), RP_OK);
    assert_int_equal(rp_recorder_new(&recorder, run, err), RP_OK);
    assert_int_equal(rp_recorder_withhold(recorder, in_folder(withhold), err), RP_OK);
    assert_int_equal(rp_step_begin(run, err), RP_OK);
    rp_set_state(
        run, "w",
        rp_matmul(rp_feed(run, "x", RP_F32, 2, shape, batch), rp_add(rp_state(run, "w"), rp_data(run, "table"))));
    assert_int_equal(rp_step_end(run, err), RP_OK);
    assert_int_equal(rp_recorder_withhold(recorder, in_folder(withhold), err), RP_EARG);
    status = rp_recorder_save(recorder, in_folder(out), NULL, false, NULL, err);
    rp_recorder_free(recorder);
    rp_run_free(run);
    return status;
}

static void runs_of_the_api_withhold_tensors_and_feeds(void **state)
{
    rp_error err;
    rp_archive *a;

    (void)state;
    assert_int_equal(api_run("api.reprise", "api-home", &err), RP_OK);
    a = opened("api.reprise");
    assert_int_equal(rp_archive_withheld_count(a), 3);
    assert_int_equal(replay(a, &err), RP_EARG);
    assert_int_equal(rp_archive_disclose(a, in_folder("api-home"), &err), RP_OK);
    if (replay(a, &err) != RP_OK)
        fail_msg("%s", err.text);
    rp_archive_close(a);
}

static void a_manifest_may_leave_out_inputs_only(void **state)
{
#define HEAD \
    "{\"contract\":1,\"format\":1,\"kind\":\"recipe\",\"members\":[" IN("run/recipe.json") "," IN( \
        "data/b") "]," \
                  "\"profile\":\"portable\",\"run\":{}"
#define HEX "00000000000000000000000000000000000000000000000000000000000000ff"
#define KIND(kind, members) \
    "{\"contract\":1,\"format\":1,\"kind\":\"" kind "\",\"members\":[" members "],\"profile\":\"portable\",\"run\":{}}"
#define IN(path) "{\"path\":\"" path "\",\"sha256\":\"" HEX "\",\"size\":1}"
#define OUT(path) "{\"path\":\"" path "\",\"salted\":\"" HEX "\"}"
    static const struct {
        const char *text;
        bool good;
    } manifests[] = {
        {HEAD "}", true},
        {HEAD ",\"withheld\":[" OUT("data/a") "]}", true},
        {HEAD ",\"withheld\":[" OUT("data/a") "," OUT("outputs/predictions.csv") "]}", true},
        {HEAD ",\"withheld\":[" OUT("data/a") "," OUT("outputs/coefficients.json") "]}", true},
        {HEAD ",\"withheld\":[]}", false},
        {HEAD ",\"withheld\":{}}", false},
        {HEAD ",\"withheld\":[1]}", false},
        {HEAD ",\"withheld\":[" OUT("data/b") "]}", false},
        {HEAD ",\"withheld\":[" OUT("data/c") "," OUT("data/a") "]}", false},
        {HEAD ",\"withheld\":[" OUT("data/a") "," OUT("data/a") "]}", false},
        {HEAD ",\"withheld\":[" OUT("run/journal.bin") "]}", false},
        {HEAD ",\"withheld\":[" OUT("weights/final.safetensors") "]}", false},
        {HEAD ",\"withheld\":[" OUT("outputs/metrics.json") "]}", false},
        {HEAD ",\"withheld\":[" OUT("data/../../x") "]}", false},
        {HEAD ",\"withheld\":[{\"path\":\"data/a\"}]}", false},
        {HEAD ",\"withheld\":[{\"path\":\"data/a\",\"salted\":\"" HEX "\",\"size\":1}]}", false},
        {HEAD ",\"withheld\":[{\"path\":\"data/a\",\"salted\":\"FF\"}]}", false},
        /* a run of one kind has none of the other's members, whether there or left out */
        {HEAD ",\"withheld\":[" OUT("data/feeds.bin") "]}", false},
        {KIND("recipe", IN("run/recipe.json") "," IN("data/feeds.bin")), false},
        {KIND("recipe", IN("data/raw.csv")), false},
        {KIND("recipe", IN("run/recipe.json") "," IN("data/raw.csv")), true},
        {KIND("api", IN("data/feeds.bin")), true},
        {KIND("api", IN("run/recipe.json")), false},
        {KIND("api", IN("data/raw.csv")), false},
        {KIND("api", IN("outputs/metrics.json")), false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof manifests / sizeof *manifests; i++) {
        rp_manifest *manifest = NULL;
        rp_error err = {0};
        rp_status status = rp_manifest_parse(&manifest, manifests[i].text, strlen(manifests[i].text), &err);

        if (status != (manifests[i].good ? RP_OK : RP_EFORMAT))
            fail_msg("%s: %s %s", manifests[i].text, rp_status_name(status), err.text);
        rp_manifest_free(manifest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_salt_gives_the_same_archive),
        cmocka_unit_test(another_salt_changes_all_digests_of_inputs),
        cmocka_unit_test(another_salt_is_not_taken_for_other_inputs),
        cmocka_unit_test(nothing_of_the_data_is_in_the_archive),
        cmocka_unit_test(no_cell_is_told_but_those_that_the_format_names),
        cmocka_unit_test(the_salted_digest_is_that_of_the_format),
        cmocka_unit_test(without_the_data_it_is_verified_but_not_replayed),
        cmocka_unit_test(with_its_folder_it_is_replayed),
        cmocka_unit_test(the_table_and_the_salt_are_enough_to_replay),
        cmocka_unit_test(other_data_and_other_salts_are_refused_first),
        cmocka_unit_test(a_folder_of_another_run_is_not_written_over),
        cmocka_unit_test(a_folder_of_another_recipe_is_refused_before_the_first_step),
        cmocka_unit_test(runs_of_the_api_withhold_tensors_and_feeds),
        cmocka_unit_test(a_manifest_may_leave_out_inputs_only),
    };

    return cmocka_run_group_tests_name("inputs left out", tests, setup, teardown);
}
