/* SPDX-License-Identifier: Apache-2.0
 * The tables of audit/FORMAT.md 9.4 and CONTRACT 7.9 say of every operation what the library's table says: its place,
 * its operands and results by name, and its attributes as a program writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/file.h"
#include "rp/program.h"

static const char *const kinds[] = {[RP_ATTR_INT] = "integer",
                                    [RP_ATTR_BOOL] = "bool",
                                    [RP_ATTR_REAL] = "real",
                                    [RP_ATTR_LIST] = "list",
                                    [RP_ATTR_DTYPE] = "dtype"};

/* The text between the bars behind *at, which then stands at the second one; "" between two spaces. */
static size_t cell(const char **at, const char **text)
{
    size_t length = strcspn(*at + 1, "|\n");

    *text = *at + 2;
    *at += 1 + length;
    return length > 1 ? length - 2 : 0;
}

static int names_in(const char *text)
{
    int n = text[0] != '\0';

    for (; *text; text++)
        n += *text == ',';
    return n;
}

/* Attributes stand in the order of their names. */
static void put_attributes(rp_buffer *out, const rp_op_info *op)
{
    const char *last = "";

    for (int k = 0; k < op->attributes; k++) {
        int next = -1;

        for (int i = 0; i < op->attributes; i++)
            if (strcmp(op->attribute[i].name, last) > 0 &&
                (next < 0 || strcmp(op->attribute[i].name, op->attribute[next].name) < 0))
                next = i;
        last = op->attribute[next].name;
        rp_buffer_printf(out, "%s`%s` %s", k ? ", " : "", last, kinds[op->attribute[next].kind]);
    }
    rp_buffer_u8(out, 0);
}

static void check_row(const char *row, const rp_op_info *op)
{
    const char *text;
    rp_buffer attributes = {0};
    size_t length = cell(&row, &text);

    if (length != strlen(op->name) + 2 || memcmp(text + 1, op->name, length - 2) != 0)
        fail_msg("expected the row of %s, found %.40s", op->name, text);
    length = cell(&row, &text);
    if (length != strlen(op->operands) || memcmp(text, op->operands, length) != 0 ||
        (op->inputs == RP_OP_MANY ? strcmp(op->operands + length - 4, ", ..") != 0
                                  : names_in(op->operands) != op->inputs))
        fail_msg("%s: expected the operands %s, found %.*s", op->name, op->operands, (int)length, text);
    length = cell(&row, &text);
    if (length != strlen(op->results) || memcmp(text, op->results, length) != 0 || names_in(op->results) != op->outputs)
        fail_msg("%s: expected the results %s, found %.*s", op->name, op->results, (int)length, text);
    put_attributes(&attributes, op);
    length = cell(&row, &text);
    if (length != strlen((const char *)attributes.data) || memcmp(text, attributes.data, length) != 0)
        fail_msg("%s: expected the attributes %s, found %.*s", op->name, (const char *)attributes.data, (int)length,
                 text);
    rp_buffer_free(&attributes);
}

/* A text's first row of the table behind a heading. */
static const char *table(rp_buffer *text, const char *path, const char *heading, const char *rule)
{
    rp_error err;
    const char *at;

    assert_int_equal(rp_file_read(path, 1 << 22, text, &err), RP_OK);
    rp_buffer_u8(text, 0);
    at = strstr((const char *)text->data, heading);
    assert_non_null(at);
    at = strstr(at, rule);
    assert_non_null(at);
    return strchr(at + 1, '\n') + 1;
}

/* "| hardtanh(x; min_val, max_val) |": the clause has the operation, in the order of its own attributes. */
static bool is_activation(const char *row, const rp_op_info *op)
{
    rp_buffer expected = {0};
    bool is;

    rp_buffer_printf(&expected, "| %s(%s", op->name, op->operands);
    for (int i = 0; i < op->attributes; i++)
        rp_buffer_printf(&expected, "%s%s", i ? ", " : "; ", op->attribute[i].name);
    rp_buffer_printf(&expected, ") |");
    is = strncmp(row, (const char *)expected.data, expected.size) == 0;
    rp_buffer_free(&expected);
    if (!is)
        return false;
    for (int i = 0; i < op->attributes; i++)
        assert_int_equal(op->attribute[i].kind, RP_ATTR_REAL);
    assert_string_equal(op->results, "y");
    assert_int_equal(op->inputs, names_in(op->operands));
    assert_int_equal(op->outputs, 1);
    return true;
}

static void the_texts_tables_are_the_librarys(void **state)
{
    rp_buffer format = {0}, contract = {0};
    const char *at = table(&format, RP_SOURCE_DIR "/audit/FORMAT.md", "\n### 9.4 ", "\n|---|---|---|---|\n");
    const char *activation =
        table(&contract, RP_SOURCE_DIR "/determinism/CONTRACT.md", "\n### 7.9 ", "\n|---|---|---|\n");
    rp_op_info op;

    (void)state;
    for (size_t n = 0; rp_op_at(n, &op); n++) {
        if (*activation == '|' && is_activation(activation, &op)) {
            activation = strchr(activation, '\n') + 1;
            continue;
        }
        if (*at != '|')
            fail_msg("no text has a row for %s", op.name);
        check_row(at, &op);
        at = strchr(at, '\n') + 1;
    }
    if (*at == '|' || *activation == '|')
        fail_msg("the library has no operation for the row %.40s", *at == '|' ? at : activation);
    rp_buffer_free(&format);
    rp_buffer_free(&contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_texts_tables_are_the_librarys)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
