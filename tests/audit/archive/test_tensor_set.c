/* SPDX-License-Identifier: Apache-2.0
 * Sets of tensors: where they are cut, that they read back, and what of a hostile set is refused (FORMAT.md 7.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "audit/archive/tensor_parts.h"
#include "audit/archive/tensor_set.h"

enum { MANY = 3 * RP_PART_TENSORS + 7 };
static rp_error err;
#define OK(call) assert_int_equal((call), RP_OK)

static void archive_of(rp_archive **out, rp_archive_writer *writer, rp_buffer *bytes, rp_status expected)
{
    rp_json *run = rp_json_object();

    OK(rp_archive_writer_finish(writer, RP_RUN_API, run, &err));
    OK(rp_archive_writer_append(writer, bytes, &err));
    assert_int_equal(rp_archive_open_memory(out, bytes->data, bytes->size, "set", &err), expected);
    rp_archive_writer_free(writer);
    rp_json_free(run);
}

static rp_status zeros(void *self, const rp_safetensor *tensor, size_t at, void *stored, size_t size, rp_error *e)
{
    (void)self, (void)tensor, (void)at, (void)e;
    memset(stored, 0, size);
    return RP_OK;
}

/* The parts of tensors of these sizes, as "2 1 1", by how many tensors each has. */
static void parts_are(const size_t *size, size_t n, const char *const *member, size_t members)
{
    const rp_tensor_source from = {zeros, NULL};
    rp_safetensor tensor[8];
    char name[8][4];
    rp_archive_writer *writer;

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(name[i], sizeof name[i], "t%zu", i);
        tensor[n - 1 - i] = (rp_safetensor){.name = name[i], .dtype = RP_BOOL, .rank = 1, .shape = {size[i]}};
    }
    OK(rp_archive_writer_digests(&writer, &err));
    OK(rp_tensor_parts_add(writer, RP_FINAL_MEMBER, &from, tensor, n, &err));
    assert_int_equal(rp_archive_writer_member_count(writer), members);
    for (size_t i = 0; i < members; i++)
        assert_string_equal(rp_archive_writer_member(writer, i)->name, member[i]);
    rp_archive_writer_free(writer);
}

static void sets_are_cut_where_the_format_says(void **state)
{
    static const char *const one[] = {RP_FINAL_MEMBER};
    static const char *const two[] = {"weights/final-00001-of-00002.safetensors",
                                      "weights/final-00002-of-00002.safetensors"};
    static const char *const three[] = {"weights/final-00001-of-00003.safetensors",
                                        "weights/final-00002-of-00003.safetensors",
                                        "weights/final-00003-of-00003.safetensors"};
    enum { HALF = RP_PART_BYTES / 2 };

    (void)state;
    parts_are(NULL, 0, one, 1);
    parts_are((size_t[]){0}, 1, one, 1);
    parts_are((size_t[]){HALF, HALF}, 2, one, 1);
    parts_are((size_t[]){HALF, HALF, 0}, 3, one, 1);
    parts_are((size_t[]){HALF, HALF + 1}, 2, two, 2);
    parts_are((size_t[]){1, RP_PART_BYTES + 1, 1}, 3, three, 3);
}

static void add_many(rp_archive_writer *writer, const char *set, char (*name)[8], int32_t *value)
{
    rp_safetensor *tensor = calloc(MANY, sizeof *tensor);

    assert_non_null(tensor);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(name[i], sizeof name[i], "t%06zu", i);
        value[i] = (int32_t)(i * i);
        tensor[MANY - 1 - i] = (rp_safetensor){.name = name[i], .dtype = RP_I32, .rank = 0, .data = &value[i]};
    }
    OK(rp_tensor_parts_add(writer, set, NULL, tensor, MANY, &err));
    free(tensor);
}

typedef struct seen {
    const int32_t *value;
    size_t tensors;
} seen;

static rp_status see(void *self, const rp_safetensor *tensor, size_t first, const void *host, size_t count, rp_error *e)
{
    seen *s = self;

    (void)e;
    assert_int_equal(first, 0);
    assert_int_equal(count, 1);
    assert_memory_equal(host, &s->value[strtoul(tensor->name + 1, NULL, 10)], sizeof(int32_t));
    s->tensors++;
    return RP_OK;
}

static void a_set_in_parts_reads_back_as_one(void **state)
{
    static char name[MANY][8];
    static int32_t value[MANY];
    seen s = {value, 0};
    const rp_element_sink to = {see, &s};
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_tensor_set *set;
    rp_buffer bytes = {0};
    int32_t found;

    (void)state;
    OK(rp_archive_writer_new(&writer, NULL, &err));
    add_many(writer, RP_INIT_MEMBER, name, value);
    assert_int_equal(rp_archive_writer_member_count(writer), 4);
    archive_of(&archive, writer, &bytes, RP_OK);
    assert_true(rp_tensor_set_present(archive, RP_INIT_MEMBER));
    assert_false(rp_tensor_set_present(archive, RP_FINAL_MEMBER));
    assert_int_equal(rp_tensor_set_open(&set, archive, RP_FINAL_MEMBER, &err), RP_EFORMAT);
    OK(rp_tensor_set_open(&set, archive, RP_INIT_MEMBER, &err));
    assert_int_equal(rp_tensor_set_count(set), MANY);
    for (size_t i = 0; i < MANY; i += 97) {
        const rp_safetensor *t = rp_tensor_set_find(set, name[i]);

        assert_ptr_equal(t, rp_tensor_set_at(set, i));
        OK(rp_tensor_set_read_host(set, t, &found, &err));
        assert_int_equal(found, value[i]);
    }
    OK(rp_tensor_set_stream(set, &to, &err));
    assert_int_equal(s.tensors, MANY);
    /* a file that changes while it is open */
    bytes.data[rp_archive_member(archive, 3)->offset + rp_archive_member(archive, 3)->size - 1] ^= 1;
    s.value = calloc(MANY, sizeof *value);
    assert_non_null(s.value);
    memcpy((void *)s.value, value, sizeof value);
    ((unsigned char *)&((int32_t *)s.value)[3 * RP_PART_TENSORS - 1])[3] ^= 1;
    assert_int_equal(rp_tensor_set_stream(set, &to, &err), RP_EHASH);
    free((void *)s.value);
    rp_tensor_set_free(set);
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
}

/* ---- hostile sets ---- */

typedef struct made {
    const char *member;
    const char *tensor[3]; /* names, one value each */
} made;

static void add_member(rp_archive_writer *writer, const made *m)
{
    static const int32_t value = 7;
    rp_safetensor tensor[3];
    rp_buffer file = {0};
    size_t n = 0;

    for (; n < 3 && m->tensor[n]; n++)
        tensor[n] = (rp_safetensor){.name = m->tensor[n], .dtype = RP_I32, .rank = 0, .data = &value};
    OK(rp_safetensors_write(&file, tensor, n, NULL, 0, &err));
    OK(rp_archive_writer_add(writer, m->member, file.data, file.size, &err));
    rp_buffer_free(&file);
}

/* text: of the error of opening the archive, or, when that is fine, the set of final weights. */
static void refused(const made *list, size_t n, bool whole, const char *text)
{
    rp_archive_writer *writer;
    rp_archive *archive;
    rp_tensor_set *set;
    rp_buffer bytes = {0};

    OK(rp_archive_writer_new(&writer, NULL, &err));
    for (size_t i = 0; i < n; i++)
        add_member(writer, &list[i]);
    archive_of(&archive, writer, &bytes, whole ? RP_OK : RP_EFORMAT);
    if (whole)
        assert_int_equal(rp_tensor_set_open(&set, archive, RP_FINAL_MEMBER, &err), RP_EFORMAT);
    if (!strstr(err.text, text))
        fail_msg("expected \"%s\", found \"%s\"", text, err.text);
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
}
#define PART(p, n) "weights/final-0000" #p "-of-0000" #n ".safetensors"
#define REFUSED(whole, text, ...) \
    refused((const made[]){__VA_ARGS__}, sizeof((const made[]){__VA_ARGS__}) / sizeof(made), whole, text)

static void sets_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    REFUSED(false, PART(2, 3) " is missing", {PART(1, 3), {"a"}}, {PART(3, 3), {"c"}});
    REFUSED(false, PART(1, 2) " is missing", {PART(2, 2), {"b"}});
    REFUSED(false, PART(2, 2) " is missing", {PART(1, 2), {"a"}});
    REFUSED(false, PART(2, 2) " is missing", {PART(1, 2), {"a"}}, {PART(1, 3), {"a"}}, {PART(2, 2), {"b"}});
    REFUSED(false, "is there as " PART(2, 2) " too", {PART(1, 2), {"a"}}, {PART(2, 2), {"b"}},
            {RP_FINAL_MEMBER, {"a", "b"}});
    /* other names may lie between a set's parts and its one member */
    REFUSED(false, "is there as " PART(2, 2) " too", {PART(1, 2), {"a"}}, {PART(2, 2), {"b"}},
            {"weights/final-z.safetensors", {"a"}}, {RP_FINAL_MEMBER, {"a", "b"}});
    REFUSED(false, "is missing", {"data/feeds-00001-of-00002.safetensors", {"a"}});
}

static void parts_out_of_order_or_with_a_tensor_twice_are_refused(void **state)
{
    (void)state;
    REFUSED(true, PART(2, 2) ": tensor a is in a part before it too, or belongs there", {PART(1, 2), {"b"}},
            {PART(2, 2), {"a"}});
    REFUSED(true, PART(2, 2) ": tensor b is in a part before it too", {PART(1, 2), {"a", "b"}}, {PART(2, 2), {"b"}});
    REFUSED(true, PART(2, 2) ": tensor b is in a part before it too", {PART(1, 2), {"a", "c"}},
            {PART(2, 2), {"b", "d"}});
    REFUSED(true, PART(1, 2) ": a part has 1 to 4096 tensors, this one 0", {PART(1, 2), {NULL}}, {PART(2, 2), {"b"}});
}

/* What looks like a part and is none is another member: its own rules hold. */
static void names_of_parts_have_one_form(void **state)
{
    static const char *const none[] = {"weights/final-0001-of-0002.safetensors",
                                       "weights/final-00003-of-00002.safetensors",
                                       "weights/final-00000-of-00002.safetensors",
                                       "weights/final-00001-of-00001.safetensors",
                                       "weights/final-00001-of-00002.json",
                                       "weights/final-0000a-of-00002.safetensors",
                                       "-00001-of-00002.safetensors",
                                       ""};
    rp_member_part part;
    char name[RP_MEMBER_NAME];

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_false(rp_member_part_of(&part, none[i]));
        assert_string_equal(part.set, none[i]);
        assert_int_equal(part.part, 1);
    }
    assert_true(rp_member_part_of(&part, "weights/final-00012-of-99999.safetensors"));
    assert_string_equal(part.set, RP_FINAL_MEMBER);
    assert_int_equal(part.part, 12);
    assert_int_equal(part.parts, 99999);
    assert_string_equal(rp_part_name(name, part.set, part.part, part.parts),
                        "weights/final-00012-of-99999.safetensors");
    /* the kind of run, and what may be left out, are those of the set */
    assert_int_equal(rp_member_kind_of("data/feeds-00001-of-00002.safetensors")->in, RP_IN_API);
    assert_int_equal(rp_member_kind_of("weights/start-00001-of-00002.safetensors")->in, RP_IN_RECIPE);
    assert_true(rp_member_is_input("data/tensors-00001-of-00002.safetensors"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_cut_where_the_format_says),
        cmocka_unit_test(a_set_in_parts_reads_back_as_one),
        cmocka_unit_test(sets_that_are_not_whole_are_refused),
        cmocka_unit_test(parts_out_of_order_or_with_a_tensor_twice_are_refused),
        cmocka_unit_test(names_of_parts_have_one_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
