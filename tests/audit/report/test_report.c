/* SPDX-License-Identifier: Apache-2.0
 * Reports: well formed whatever the archive says, the same bytes each time, every section there, and nothing of an
 * archive reaches the page as markup. */
#include "tests/audit/archive/archive_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/statements/statement.h"
#include "audit/archive/journal.h"
#include "audit/report/report.h"
#include "audit/statements/draw.h"
#include "base/memory.h"
#include "rp/rp.h"

#define HOSTILE "<script>alert(1)</script>\"'&\x01\xE2\x80\xAE"
#define HOSTILE_JSON "<script>alert(1)</script>\\\"'&\\u0001\xE2\x80\xAE"
#define HOSTILE_LINE "<script>alert(1)</script>\"'&" /* a decision's reason holds no control characters */
#define HOSTILE_CSV "<script>alert(1)</script>\"\"'&\x01\xE2\x80\xAE"

static rp_error err;

static bool is_void(const char *name)
{
    return strcmp(name, "meta") == 0 || strcmp(name, "br") == 0;
}

/* Tags balance, attributes are quoted, no raw markup characters: what an XML parser would insist on. Returns NULL, or
 * where it goes wrong. */
static const char *unbalanced(const char *html)
{
    char open[64][16], name[16];
    size_t depth = 0;
    const char *at = html + strlen("<!DOCTYPE html>");

    while ((at = strchr(at, '<')) != NULL) {
        const char *tag = at + 1 + (at[1] == '/'), *end = tag;
        size_t length = strspn(tag, "abcdefghijklmnopqrstuvwxyz0123456789");
        bool closing = at[1] == '/', quoted = false;

        if (length == 0 || length >= sizeof name)
            return at;
        memcpy(name, tag, length);
        name[length] = '\0';
        for (end = tag + length; *end && (quoted || *end != '>'); end++) {
            quoted ^= *end == '"';
            if (*end == '<')
                return at;
        }
        if (*end == '\0')
            return at;
        if (closing) {
            if (depth == 0 || strcmp(open[--depth], name) != 0)
                return at;
        } else if (end[-1] != '/') {
            if (is_void(name) || depth == 64)
                return at;
            memcpy(open[depth++], name, sizeof name);
        }
        at = end;
        if (!closing && strcmp(name, "style") == 0 && (at = strstr(at, "</style>")) == NULL)
            return tag;
    }
    return depth == 0 ? NULL : html;
}

static char *report(const rp_buffer *bytes, const rp_key *key)
{
    rp_archive *archive = NULL;
    rp_verification *verified = NULL;
    char *html = NULL;
    size_t length = 0;

    if (key)
        assert_ok(rp_verify_memory(bytes->data, bytes->size, "test", &key, 1, NULL, &verified, &archive, &err));
    else
        assert_ok(rp_archive_open_memory(&archive, bytes->data, bytes->size, "test", &err));
    assert_ok(rp_report(archive, verified, NULL, &html, &length, &err));
    assert_int_equal(strlen(html), length);
    if (unbalanced(html))
        fail_msg("not well formed at: %.80s", unbalanced(html));
    rp_verification_free(verified);
    rp_archive_close(archive);
    return html;
}

static void assert_has(const char *html, const char *text)
{
    if (!strstr(html, text))
        fail_msg("the report does not have: %s", text);
}

static void assert_has_not(const char *html, const char *text)
{
    if (strstr(html, text))
        fail_msg("the report has: %.120s", strstr(html, text));
}

static void assert_sections(const char *html)
{
    static const char *const id[] = {"verdict",    "metrics",     "data",   "model",  "training",
                                     "statements", "environment", "verify", "digests"};
    const char *at = html;

    for (size_t i = 0; i < sizeof id / sizeof *id; i++) {
        char heading[64];

        (void)snprintf(heading, sizeof heading, "<h2 id=\"%s-h\">", id[i]);
        at = strstr(at, heading);
        if (!at)
            fail_msg("no section %s, or not in its place", id[i]);
    }
}

static void file_bytes(const char *name, rp_buffer *out)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/golden/%s", RP_SOURCE_DIR, name);
    assert_ok(rp_file_read(path, (size_t)1 << 24, out, &err));
}

static void every_kind_of_run_has_every_section_and_the_same_bytes(void **state)
{
    static const char *const golden[] = {"small.reprise", "image.reprise", "branch.reprise"};

    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        rp_buffer bytes = {0};
        char *first, *second;

        file_bytes(golden[i], &bytes);
        first = report(&bytes, NULL);
        second = report(&bytes, NULL);
        assert_string_equal(first, second);
        assert_sections(first);
        assert_has(first, "lang=\"en\"");
        assert_has(first, "Not signed: nobody vouches");
        assert_has(first, "<svg class=\"chart\"");
        assert_has(first, "<desc id=\"loss-d\">");
        assert_has_not(first, "cannot be shown");
        assert_has_not(first, "<script");
        assert_has_not(first, "http:");
        rp_text_free(first);
        rp_text_free(second);
        rp_buffer_free(&bytes);
    }
}

static void a_recipe_s_report_has_its_numbers(void **state)
{
    rp_buffer bytes = {0};
    char *html;

    (void)state;
    file_bytes("small.reprise", &bytes);
    html = report(&bytes, NULL);
    assert_has(html, "<h1><bdi>golden, small</bdi></h1>");
    assert_has(html, "90 rows to train, 30 to validate: fold 2 of 0 to 3");
    assert_has(html, "<td class=\"q4 hit\">23</td>");
    assert_has(html, "<td class=\"n\">0.7667</td>");
    assert_has(html, "<td class=\"n\">0.5409</td>");
    assert_has(html, "mean 52,548; deviation 20,206");
    assert_has(html, "mortgage</bdi>, <bdi>own</bdi>, <bdi>rent</bdi>, <em>missing</em>");
    assert_has(html, "9572bed2a54e86a7cb65527e2a97afd43a174aa994fe61ba0a1a6ac0f6f9e23c");
    rp_text_free(html);
    rp_buffer_free(&bytes);
}

static void numbers_have_four_digits_and_separators(void **state)
{
    static const struct {
        double x;
        const char *text;
    } want[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1.000"},
        {9.99951, "10.00"},
        {0.99996, "1.000"},
        {0.76666, "0.7667"},
        {12.345, "12.35"},
        {52547.77, "52,548"},
        {1234567, "1,234,567"},
        {0.012345, "0.01235"},
        {0.0001, "0.0001000"},
        {0.00001234, "1.234 \xC3\x97 10\xE2\x81\xBB\xE2\x81\xB5"},
        {-2.5, "\xE2\x88\x92"
               "2.500"},
        {1e15, "1.000 \xC3\x97 10\xC2\xB9\xE2\x81\xB5"},
        {1e308 * 10, "infinite"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        rp_buffer out = {0};

        rp_html_number(&out, want[i].x);
        rp_buffer_u8(&out, 0);
        assert_string_equal(out.data, want[i].text);
        rp_buffer_free(&out);
    }
}

static void add(rp_archive_writer *writer, const char *name, const char *text)
{
    assert_ok(rp_archive_writer_add(writer, name, text, strlen(text), &err));
}

static void add_journal(rp_archive_writer *writer, const uint32_t *loss, size_t n)
{
    rp_buffer bytes = {0};

    for (size_t i = 0; i < n; i++) {
        unsigned char raw[RP_RECORD_SIZE];
        rp_record record = {.step = i, .loss = loss[i], .loss_dtype = RP_F32};

        rp_record_write(raw, &record);
        rp_buffer_append(&bytes, raw, sizeof raw);
    }
    assert_ok(rp_archive_writer_add(writer, "run/journal.bin", bytes.data, bytes.size, &err));
    rp_buffer_free(&bytes);
}

/* An archive whose every text is an attack and whose losses are NaN, infinite, huge and tiny; signed by key, with a
 * further statement of another kind. */
static void hostile_archive(rp_buffer *out, const rp_key *key)
{
    static const uint32_t loss[] = {0x7FC00000, 0x7F800000, 0x7F7FFFFF, 1, 0x3F800000, 0xFF7FFFFF};
    rp_archive_writer *writer;
    rp_json *run = rp_json_pack("{s:s, s:i, s:i}", "journal_root", HOSTILE, "steps", 6, "training_steps", 4);
    rp_json *predicate =
        rp_json_pack("{s:{s:{s:s}, s:[{s:s, s:{s:s, s:{s:{s:s, s:s, s:b}}}}]}}", "runDetails", "metadata", "startedOn",
                     HOSTILE, "byproducts", "name", "host", "annotations", "cpu", HOSTILE, "libraries", "<b>", "loaded",
                     HOSTILE, "built", HOSTILE, "match", 0);

    assert_non_null(run);
    assert_non_null(predicate);
    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    add(writer, "run/recipe.json",
        "{\"data\":{\"columns\":[],\"csv\":\"data/raw.csv\",\"delimiter\":\",\",\"fold\":0,\"folds\":2,\"header\":true,"
        "\"missing\":[\"\"],"
        "\"missing_categorical\":\"category\",\"missing_numeric\":\"mean\",\"positive\":null,\"standardize\":true,"
        "\"stratify\":false,"
        "\"target\":\"y\",\"train_on_all\":false},\"model\":{\"activation\":\"relu\",\"dropout\":\"0\",\"hidden\":[3],"
        "\"layer_norm\":false},\"name\":\"" HOSTILE_JSON
        "\",\"reprise\":1,\"seed\":1,\"train\":{\"accumulate\":1,\"batch\":2,"
        "\"clip_norm\":\"0\",\"drop_last\":false,\"epochs\":2,\"loss\":\"auto\",\"optimizer\":{\"beta1\":\"0.9\","
        "\"beta2\":\"0.999\","
        "\"eps\":\"1e-8\",\"kind\":\"adamw\",\"lr\":\"0.01\",\"weight_decay\":\"0.01\"},"
        "\"schedule\":{\"kind\":\"constant\","
        "\"warmup_steps\":0},\"shards\":1,\"shuffle\":true,\"task\":\"classification\"}}");
    add(writer, "data/schema.json",
        "{\"classes\":[\"" HOSTILE_JSON "\",\"b\"],\"columns\":[{\"categories\":[\"" HOSTILE_JSON
        "\"],\"kind\":\"categorical\","
        "\"name\":\"" HOSTILE_JSON "\",\"unseen\":0},{\"kind\":\"target\",\"name\":\"y\"}],\"features\":1}");
    add(writer, "data/raw.csv",
        "\"" HOSTILE_CSV "\",y\n\"" HOSTILE_CSV "\",b\n,\"" HOSTILE_CSV "\"\nq,b\nq,\"" HOSTILE_CSV "\"\n");
    add(writer, "outputs/metrics.json",
        "{\"classes\":[\"" HOSTILE_JSON "\",\"b\"],\"training\":{\"accuracy\":\"" HOSTILE_JSON
        "\",\"confusion\":[[1,0],[0,1]],"
        "\"loss\":\"nan\",\"rows\":-5},\"validation\":{\"accuracy\":7,\"confusion\":[[1,9007199254740991],[0,1]]}}");
    add_journal(writer, loss, sizeof loss / sizeof *loss);
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_RECIPE, run, &err));
    assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, RP_PROVENANCE_TYPE, predicate, &err));
    assert_ok(rp_archive_writer_sign(writer, "signatures/approval.dsse.json", key, "https://example.com/<b>approval",
                                     predicate, &err));
    assert_ok(rp_archive_writer_append(writer, out, &err));
    rp_archive_writer_free(writer);
    rp_json_free(run);
    rp_json_free(predicate);
}

static void hostile_texts_are_escaped_everywhere(void **state)
{
    rp_buffer bytes = {0};
    rp_key *key;
    char *html;

    (void)state;
    assert_ok(rp_key_generate(&key, &err));
    hostile_archive(&bytes, key);
    for (int trusted = 0; trusted < 2; trusted++) {
        size_t seen = 0;

        html = report(&bytes, trusted ? key : NULL);
        assert_sections(html);
        assert_has_not(html, "<script");
        assert_has_not(html, "<b>");
        assert_has_not(html, "\x01");
        assert_has_not(html, "\xE2\x80\xAE");
        for (const char *at = html;
             (at = strstr(at, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\xEF\xBF\xBD\xEF\xBF\xBD")); at++)
            seen++;
        /* title, h1, classes, folds, columns, confusion twice and by class, environment, journal root */
        assert_true(seen >= 15);
        assert_has_not(html, "What the CSV holds cannot be shown");
        assert_has(html, "https://example.com/&lt;b&gt;approval");
        assert_has(html, trusted ? "Verified: signed by a trusted key" : "Signature not checked.");
        assert_has(html, rp_key_id(key));
        rp_text_free(html);
    }
    rp_key_free(key);
    rp_buffer_free(&bytes);
}

static void text_that_is_not_utf8_becomes_replacement_characters(void **state)
{
    rp_buffer out = {0};

    (void)state;
    rp_html_text(&out, "a\xFF\xC0\xAF\xED\xA0\x80z\xF4\x90\x80\x80\xE2\x82");
    rp_buffer_u8(&out, 0);
    assert_null(strpbrk((const char *)out.data, "\xFF\xC0\xED\xF4\xE2"));
    assert_int_equal(out.data[0], 'a');
    out.size = 0;
    rp_html_text(&out, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    rp_buffer_u8(&out, 0);
    assert_string_equal(out.data, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    rp_buffer_free(&out);
}

/* A blank that is a letter, a joiner, selectors, a tag: a name of these looks like another one. */
static void characters_that_nobody_sees_become_replacement_characters(void **state)
{
    static const char *const unseen[] = {"\xE3\x85\xA4", "\xE1\x85\x9F",     "\xEF\xBE\xA0",
                                         "\xCD\x8F",     "\xEF\xB8\x8F",     "\xE1\xA0\x8B",
                                         "\xE2\x80\x8B", "\xF0\x9D\x85\xB3", "\xF3\xA0\x81\x81"};
    rp_buffer out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        out.size = 0;
        rp_html_text(&out, unseen[i]);
        rp_buffer_u8(&out, 0);
        assert_string_equal(out.data, "\xEF\xBF\xBD");
    }
    rp_buffer_free(&out);
}

/* The sample's members have the right hashes and make no sense: each says so in its place. */
static void members_without_sense_are_named_in_the_report(void **state)
{
    rp_buffer bytes = {0};
    rp_key *key;
    char *html;

    (void)state;
    assert_ok(rp_key_generate(&key, &err));
    sample_archive(&bytes, key);
    html = report(&bytes, key);
    assert_sections(html);
    assert_has(html, "The recipe cannot be shown");
    assert_has(html, "The schema cannot be shown");
    assert_has(html, "The journal cannot be shown");
    assert_has(html, "not readable");
    assert_has(html, "layer0.weight");
    rp_text_free(html);
    rp_key_free(key);
    rp_buffer_free(&bytes);
}

/* The sample's archive with a replay's verdict and two decisions, all by one key. */
static void stated_archive(rp_buffer *bytes, const rp_key *key)
{
    rp_replay_outcome outcome = {
        .begun = {
            {.mode = RP_REPLAY_SAMPLE, .steps = 1, .steps_total = 2, .segments = 1, .segments_total = 2, .seed = "<s>"},
            "ref",
            "",
            1,
            "recipe",
            ""}};
    rp_approval approval = {.role = "risk & co", .decision = RP_APPROVE, .reason = HOSTILE_LINE};
    char path[] = "/tmp/reprise-test-XXXXXX";
    int file = mkstemp(path);
    rp_archive *archive;
    size_t drawn;

    assert_true(file >= 0);
    close(file);
    sample_archive(bytes, key);
    assert_ok(rp_archive_open_memory(&archive, bytes->data, bytes->size, "test", &err));
    assert_ok(rp_draw_segments(&drawn, 1, 2, outcome.begun.scope.seed, rp_archive_id(archive), &err));
    outcome.begun.scope.first = outcome.begun.scope.last = drawn;
    assert_ok(rp_file_save(path, bytes->data, bytes->size, true, 0644, &err));
    assert_ok(rp_archive_attest(path, rp_archive_id(archive), &outcome, key, NULL, &err));
    assert_ok(rp_archive_approve(path, rp_archive_id(archive), &approval, key, NULL, &err));
    approval.decision = RP_REJECT;
    assert_ok(rp_archive_approve(path, rp_archive_id(archive), &approval, key, NULL, &err));
    rp_archive_close(archive);
    assert_ok(rp_file_read(path, 1 << 24, bytes, &err));
    unlink(path);
}

static char *report_by_policy(const rp_buffer *bytes, const rp_key *key, const char *clauses)
{
    char text[256], *html;
    rp_verify_options options = {.tell_unmet = true};
    rp_verification *verified;
    rp_archive *archive;
    rp_policy *policy;
    size_t length;

    (void)snprintf(text, sizeof text, "policy: 1\nname: <b>models</b>\ngroups: {a: [%s]}\nbuilder: {of: a}\n%s",
                   rp_key_id(key), clauses);
    assert_ok(rp_policy_from_text(&policy, text, strlen(text), "p", NULL, &err));
    options.policy = policy;
    assert_ok(rp_verify_memory(bytes->data, bytes->size, "test", &key, 1, &options, &verified, &archive, &err));
    assert_ok(rp_report(archive, verified, NULL, &html, &length, &err));
    rp_policy_free(policy);
    if (unbalanced(html))
        fail_msg("not well formed at: %.80s", unbalanced(html));
    assert_has_not(html, "<b>");
    assert_has_not(html, "<s>");
    assert_has_not(html, "<script");
    rp_verification_free(verified);
    rp_archive_close(archive);
    return html;
}

static void replays_decisions_and_policies_are_told_only_when_checked(void **state)
{
    rp_buffer bytes = {0};
    rp_key *key;
    char *html;

    (void)state;
    assert_ok(rp_key_generate(&key, &err));
    stated_archive(&bytes, key);
    html = report(&bytes, key);
    assert_has(
        html,
        "Replay: every bit the same; 1 of 2 steps (50.0\xC2\xA0%), drawn by the seed <bdi>&lt;s&gt;</bdi>, kernels "
        "ref");
    assert_has(html, "Approved as <bdi>risk &amp; co</bdi>: <bdi>&lt;script&gt;");
    assert_has(html, "<strong>Rejected</strong> as ");
    assert_has(html, "Verified: signed by a trusted key");
    assert_has_not(html, "<h3>Policy</h3>");
    rp_text_free(html);
    html = report(&bytes, NULL); /* claims: what kind of statement it says to be, and no more */
    assert_has(html, "A replay&#39;s verdict");
    assert_has(html, "A person&#39;s decision");
    assert_has_not(html, "every bit the same;");
    assert_has_not(html, "Rejected");
    rp_text_free(html);
    html = report_by_policy(&bytes, key, "replay: {at_least: 0.5, by: a}\n");
    assert_has(html, "Verified, and the policy is met: all of 2 clauses.");
    assert_has(html, "<bdi>&lt;b&gt;models&lt;/b&gt;</bdi>, SHA-256");
    rp_text_free(html);
    html = report_by_policy(&bytes, key, "replay: {mode: full, by: a}\napprovals: {of: a}\n");
    assert_has(html, "The policy is not met: 2 of 3 clauses are open.");
    assert_has(html, "builder<br/>met");
    assert_has(html, "replay[0]<br/><strong>not met</strong>");
    assert_has(html, "replayed only a part");
    rp_text_free(html);
    rp_key_free(key);
    rp_buffer_free(&bytes);
}

/* Whoever has the file can add statements: none that counts is pushed off the page by them, least of all a rejection.
 */
static void a_rejection_is_told_among_many_statements(void **state)
{
    rp_approval approval = {.role = "risk", .decision = RP_REJECT, .reason = "leaks the target"};
    char path[] = "/tmp/reprise-test-XXXXXX", *html, *row;
    int file = mkstemp(path);
    rp_buffer bytes = {0};
    rp_archive *archive;
    rp_key *key, *stranger;

    (void)state;
    assert_true(file >= 0);
    close(file);
    assert_ok(rp_key_generate(&key, &err));
    assert_ok(rp_key_generate(&stranger, &err));
    sample_archive(&bytes, key);
    assert_ok(rp_archive_open_memory(&archive, bytes.data, bytes.size, "test", &err));
    assert_ok(rp_file_save(path, bytes.data, bytes.size, true, 0644, &err));
    assert_ok(rp_archive_approve(path, rp_archive_id(archive), &approval, key, NULL, &err));
    approval.decision = RP_APPROVE;
    for (int i = 0; i < 90; i++) {
        (void)snprintf(approval.reason, sizeof approval.reason, "fine %d", i);
        assert_ok(rp_archive_approve(path, rp_archive_id(archive), &approval, i < 20 ? key : stranger, NULL, &err));
    }
    rp_archive_close(archive);
    assert_ok(rp_file_read(path, 1 << 24, &bytes, &err));
    unlink(path);
    html = report(&bytes, key);
    row = strstr(html, "Trusted keys have spoken against this archive");
    assert_non_null(row);
    assert_true(row < strstr(html, "Verified: signed by a trusted key"));
    row =
        strstr(html, "<th scope=\"row\">Decisions</th><td><strong>Rejected</strong> as <bdi>risk</bdi>: <bdi>leaks the "
                     "target</bdi>");
    assert_non_null(row);
    assert_has(html, "The first 16 of 21 decisions; all are listed below.");
    assert_has(html, "Provenance: this run was made");
    assert_non_null(strstr(row + 100, "<strong>Rejected</strong>"));
    assert_has(html, "The first 64 of 70 others.");
    rp_text_free(html);
    rp_key_free(stranger);
    rp_key_free(key);
    rp_buffer_free(&bytes);
}

/* Whoever signs writes what he likes: a bar is never longer than its frame, nor drawn of a number that is none. */
static void bars_of_drift_stay_in_their_frame(void **state)
{
    static const struct {
        const char *psi, *width;
    } cases[] = {
        {"-1", "\"0.0\""}, {"-1e300", "\"0.0\""}, {"0", "\"0.0\""}, {"0.25", "\"50.0\""}, {"1e300", "\"100.0\""}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rp_json *columns = rp_json_pack("[{s:s, s:s, s:s}]", "ks", "0", "name", "x", "psi", cases[i].psi);
        rp_buffer out = {0};
        char bar[64];

        rp_report_column_drift(&(rp_report_view){.out = &out}, columns, "New rows");
        rp_buffer_u8(&out, 0);
        assert_false(out.failed);
        (void)snprintf(bar, sizeof bar, "class=\"part\" height=\"8\" width=%s", cases[i].width);
        assert_has((const char *)out.data, bar);
        rp_buffer_free(&out);
        rp_json_free(columns);
    }
}

/* The checker would notice. */
static void the_checker_sees_broken_markup(void **state)
{
    (void)state;
    assert_null(unbalanced("<!DOCTYPE html><p>a<br/></p>"));
    assert_non_null(unbalanced("<!DOCTYPE html><p>a</b></p>"));
    assert_non_null(unbalanced("<!DOCTYPE html><p>a < b</p>"));
    assert_non_null(unbalanced("<!DOCTYPE html><p>a"));
    assert_non_null(unbalanced("<!DOCTYPE html><p title=\"a>a</p>"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_run_has_every_section_and_the_same_bytes),
        cmocka_unit_test(a_recipe_s_report_has_its_numbers),
        cmocka_unit_test(numbers_have_four_digits_and_separators),
        cmocka_unit_test(hostile_texts_are_escaped_everywhere),
        cmocka_unit_test(text_that_is_not_utf8_becomes_replacement_characters),
        cmocka_unit_test(characters_that_nobody_sees_become_replacement_characters),
        cmocka_unit_test(members_without_sense_are_named_in_the_report),
        cmocka_unit_test(replays_decisions_and_policies_are_told_only_when_checked),
        cmocka_unit_test(a_rejection_is_told_among_many_statements),
        cmocka_unit_test(bars_of_drift_stay_in_their_frame),
        cmocka_unit_test(the_checker_sees_broken_markup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
