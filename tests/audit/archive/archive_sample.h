/* SPDX-License-Identifier: Apache-2.0
 * A small signed archive with the structure of a real one, for the tests of archive, verify and the fuzz seeds. */
#ifndef TESTS_AUDIT_ARCHIVE_ARCHIVE_SAMPLE_H
#define TESTS_AUDIT_ARCHIVE_ARCHIVE_SAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "audit/statements/statement.h"
#include "audit/archive/archive.h"
#include "audit/sign/dsse.h"
#include "audit/archive/safetensors.h"

/* Shows the error's text when a call that must succeed does not. */
#define assert_ok(call) \
    do { \
        rp_status status_ = (call); \
        if (status_ != RP_OK) \
            fail_msg("%s: %s: %s", #call, rp_status_name(status_), err.text); \
    } while (0)

typedef struct sample_member {
    const char *name;
    const char *text; /* NULL: a safetensors file */
} sample_member;

static const sample_member sample_members[] = {
    {"run/recipe.json", "{\"name\":\"sample\",\"seed\":7}"},
    {"run/programs/0000.json", "{\"instructions\":[[\"matmul\",0,1]]}"},
    {"run/programs/0001.json", "{\"instructions\":[[\"matmul\",0,1],[\"tanh\",2]]}"},
    {"run/journal.bin", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
    {"data/schema.json", "{\"columns\":[\"age\",\"income\"]}"},
    {"data/table.csv", "age,income,default\n41,30.5,0\n23,18.25,1\n"},
    {"weights/final.safetensors", NULL},
    {"weights/init.safetensors", NULL},
    {"checkpoints/000002.safetensors", NULL},
    {"outputs/metrics.json", "{\"accuracy\":\"0.5\"}"},
};
enum { SAMPLE_MEMBERS = sizeof sample_members / sizeof *sample_members };

static inline void sample_body(rp_buffer *out, const sample_member *member)
{
    static const float w[2][3] = {{0.5f, -1.25f, 3.0f}, {1e-30f, -0.0f, 7.0f}};
    const rp_safetensor tensor = {.name = "layer0.weight", .dtype = RP_F32, .rank = 2, .shape = {2, 3}, .data = w};
    rp_error err;

    if (member->text != NULL)
        rp_buffer_text(out, member->text);
    else
        assert_ok(rp_safetensors_write(out, &tensor, 1, NULL, 0, &err));
    assert_false(out->failed);
}

/* Adds the members, last first when backwards, and finishes. */
static inline void sample_fill(rp_archive_writer *writer, int backwards)
{
    rp_json *run = rp_json_pack("{s:i, s:s, s:i}", "steps", 2, "journal_root", "00", "checkpoint_every", 1);
    rp_error err;

    for (size_t i = 0; i < SAMPLE_MEMBERS; i++) {
        const sample_member *member = &sample_members[backwards ? SAMPLE_MEMBERS - 1 - i : i];
        rp_buffer body = {0};
        sample_body(&body, member);
        assert_ok(rp_archive_writer_add(writer, member->name, body.data, body.size, &err));
        rp_buffer_free(&body);
    }
    assert_ok(rp_archive_writer_finish(writer, RP_RUN_RECIPE, run, &err));
    rp_json_free(run);
}

/* The archive's bytes; key NULL: unsigned. */
static inline void sample_archive(rp_buffer *out, const rp_key *key)
{
    rp_archive_writer *writer;
    rp_json *predicate = rp_json_pack("{s:s}", "host", "sample");
    rp_error err;

    assert_ok(rp_archive_writer_new(&writer, NULL, &err));
    sample_fill(writer, 0);
    if (key != NULL)
        assert_ok(rp_archive_writer_sign(writer, RP_RUN_STATEMENT, key, RP_PROVENANCE_TYPE, predicate, &err));
    assert_ok(rp_archive_writer_append(writer, out, &err));
    rp_json_free(predicate);
    rp_archive_writer_free(writer);
}

#endif
