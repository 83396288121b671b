/* SPDX-License-Identifier: Apache-2.0
 * How a table's cells are written: delimiter, words for missing values, the dress of numbers. Keys of data:. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/recipe/recipe_names.h"
#include "core/recipe/recipe_read.h"
#include "determinism/decimal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MISSING_LIMIT = 64, AFFIX_LIMIT = 16, AFFIX_BYTES = 16, CONDITIONS_LIMIT = 64 };

/* What pandas.read_csv takes for a missing value, and "?". */
static const char *const missing_words[] = {"",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
                                            "-nan", "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
                                            "NaN",  "None",   "n/a",      "nan",  "null",    "?"};

bool rp_recipe_usual_missing(const char *word)
{
    for (size_t i = 0; i < COUNT(missing_words); i++)
        if (strcmp(missing_words[i], word) == 0)
            return true;
    return false;
}

static void read_missing(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    const rp_node *node = reader->status == RP_OK ? rp_node_find(data, "missing") : NULL;
    size_t count = node != NULL ? node->count : COUNT(missing_words);

    if (reader->status != RP_OK)
        return;
    if (node != NULL && (node->kind != RP_NODE_LIST || count > MISSING_LIMIT)) {
        rp_node_wrong(reader, node, "data.missing", "a list of at most 64 cell texts, e.g. [\"\", \"NA\"]", NULL);
        return;
    }
    out->data.missing = rp_calloc(count, sizeof *out->data.missing);
    for (size_t i = 0; i < count && out->data.missing != NULL; i++) {
        const rp_node *item = node != NULL ? &node->child[i] : NULL;

        if (item != NULL &&
            (item->kind != RP_NODE_SCALAR || rp_node_is_null(item) || strlen(item->text) > RP_RECIPE_TEXT)) {
            rp_node_wrong(reader, item, "data.missing", "a cell text", "quote it");
            return;
        }
        out->data.missing[i] = rp_strdup(item != NULL ? item->text : missing_words[i]);
        if (out->data.missing[i] == NULL)
            break;
        out->data.missing_first[(unsigned char)out->data.missing[i][0]] = true;
        out->data.n_missing = i + 1;
    }
    if (out->data.missing == NULL || out->data.n_missing != count)
        reader->status = rp_no_memory(reader->err);
}

static void read_delimiter(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    static const char allowed[] = " !#$%&'()*,/:;<=>@[\\]^`{|}~\t";
    const rp_node *node = reader->status == RP_OK ? rp_node_find(data, "delimiter") : NULL;

    out->data.delimiter = ',';
    if (node == NULL)
        return;
    if (node->kind == RP_NODE_SCALAR && strlen(node->text) == 1 && strchr(allowed, node->text[0]) != NULL)
        out->data.delimiter = node->text[0];
    else
        rp_node_wrong(reader, node, "data.delimiter",
                      "one printable character that is no letter, digit, quote, dot, sign or underscore, or \"\\t\"",
                      "quote it");
}

static void read_decimal(rp_node_reader *reader, const rp_node *data, rp_reading *out)
{
    static const char *const names[] = {".", ","};
    int choice = 0;

    rp_node_read_choice(reader, data, "data.decimal", &choice, 0, names, 2);
    out->decimal = names[choice][0];
}

static void read_thousands(rp_node_reader *reader, const rp_node *data, rp_reading *out)
{
    /* the last three: no-break space, narrow no-break space, right single quotation mark */
    static const char *const allowed[] = {",", ".", " ", "'", "_", "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x99"};
    const rp_node *node = rp_node_at(reader, data, "data.thousands");
    size_t i = 0;

    if (node == NULL || rp_node_is_null(node))
        return;
    while (i < COUNT(allowed) && (node->kind != RP_NODE_SCALAR || strcmp(node->text, allowed[i]) != 0))
        i++;
    if (i == COUNT(allowed) || allowed[i][0] == out->decimal) {
        rp_node_wrong(reader, node, "data.thousands",
                      "what divides groups of three digits, and no decimal sign: one of , . ' _ or a space",
                      "quote it");
        return;
    }
    out->thousands = rp_strdup(node->text);
    if (out->thousands == NULL)
        reader->status = rp_no_memory(reader->err);
}

/* A digit, a sign or a space at the edge would make two readings of one cell. */
static bool affix_text(const rp_node *node)
{
    size_t length = node->kind == RP_NODE_SCALAR && !rp_node_is_null(node) ? strlen(node->text) : 0;

    return length > 0 && length <= AFFIX_BYTES && strpbrk(node->text, "0123456789+-\"\r\n") == NULL &&
           node->text[0] != ' ' && node->text[length - 1] != ' ';
}

/* A list, or one text alone. */
static void read_affixes(rp_node_reader *reader, const rp_node *data, const char *path, rp_texts *out)
{
    const rp_node *node = rp_node_at(reader, data, path);
    bool one = node != NULL && node->kind == RP_NODE_SCALAR && !reader->json;
    size_t count = node == NULL ? 0 : one ? 1 : node->count;

    if (count == 0 && (node == NULL || node->kind == RP_NODE_LIST))
        return;
    if ((!one && node->kind != RP_NODE_LIST) || count > AFFIX_LIMIT) {
        rp_node_wrong(reader, node, path, "a list of at most 16 texts, e.g. [\"$\"]", NULL);
        return;
    }
    out->text = rp_calloc(count, sizeof *out->text);
    for (size_t i = 0; i < count && out->text != NULL; i++) {
        const rp_node *item = one ? node : &node->child[i];

        if (!affix_text(item)) {
            rp_node_wrong(reader, item, path, "1 to 16 bytes without digits, signs and spaces around them", "quote it");
            return;
        }
        for (size_t k = 0; k < i; k++)
            if (strcmp(out->text[k], item->text) == 0) {
                rp_node_refuse(reader, item, path, "a text is listed twice; keep one");
                return;
            }
        out->text[i] = rp_strdup(item->text);
        if (out->text[i] == NULL)
            break;
        out->count = i + 1;
    }
    if (out->count != count)
        reader->status = rp_no_memory(reader->err);
}

static void read_comment(rp_node_reader *reader, const rp_node *data, const rp_recipe *recipe, rp_reading *out)
{
    const rp_node *node = rp_node_at(reader, data, "data.comment");

    if (node == NULL || rp_node_is_null(node))
        return;
    if (node->kind == RP_NODE_SCALAR && strlen(node->text) == 1 && strchr("#%;!*/", node->text[0]) != NULL &&
        node->text[0] != recipe->data.delimiter)
        out->comment = node->text[0];
    else
        rp_node_wrong(reader, node, "data.comment", "one of # % ; ! * / that is not the delimiter", "quote it");
}

/* {column, is, value}; present has no value, and order is that of numbers. */
static void read_condition(rp_node_reader *reader, const rp_node *node, rp_row_rule *out)
{
    static const char *const keys[] = {"column", "is", "value"};
    const rp_node *column = node->kind == RP_NODE_MAPPING ? rp_node_find(node, "column") : NULL;
    rp_moment moment;
    int is = RP_IS_EQUAL;

    if (column == NULL) {
        rp_node_refuse(reader, node, "data.where", "expected a list of {column, is, value}");
        return;
    }
    rp_recipe_check_keys(reader, node, "data.where", keys, COUNT(keys));
    rp_recipe_read_column(reader, column, "data.where.column", &out->column);
    rp_node_read_choice(reader, node, "data.where.is", &is, RP_IS_EQUAL, rp_relation_names, 7);
    out->is = (rp_relation)is;
    if (!rp_node_applies(reader, node, "data.where.value", is != RP_IS_PRESENT, "to a comparison"))
        return;
    rp_node_read_text(reader, node, "data.where.value", &out->value, NULL, RP_RECIPE_TEXT);
    if (reader->status == RP_OK && out->value == NULL) {
        rp_node_refuse(reader, node, "data.where.value", "required: what the cell is compared with");
        return;
    }
    out->numeric = out->value != NULL && rp_parse_f64(&out->number, out->value, strlen(out->value)) &&
                   out->number - out->number == 0;
    if (out->value != NULL && rp_date_read_iso(out->value, &moment)) {
        out->dated = true;
        out->seconds = rp_date_seconds(&moment);
    }
    if (reader->status == RP_OK && is >= RP_IS_LESS && !out->numeric && !out->dated)
        rp_node_refuse(reader, node, "data.where.value",
                       "expected a number, or a date as 2024-03-31, as \"%s\" compares those, found \"%.*s\"",
                       rp_relation_names[is], rp_fits(out->value, 60), out->value);
}

static void read_where(rp_node_reader *reader, const rp_node *data, rp_reading *out)
{
    const rp_node *node = rp_node_at(reader, data, "data.where");

    if (node == NULL || (node->kind == RP_NODE_LIST && node->count == 0))
        return;
    if (node->kind != RP_NODE_LIST || node->count > CONDITIONS_LIMIT) {
        rp_node_wrong(reader, node, "data.where", "a list of at most 64 {column, is, value}", NULL);
        return;
    }
    out->where = rp_calloc(node->count, sizeof *out->where);
    if (out->where == NULL) {
        reader->status = rp_no_memory(reader->err);
        return;
    }
    for (size_t i = 0; i < node->count && reader->status == RP_OK; i++) {
        out->n_where = i + 1;
        read_condition(reader, &node->child[i], &out->where[i]);
    }
}

void rp_recipe_read_table(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    static const char *const targets[] = {"error", "drop"};
    rp_reading *reading = &out->data.reading;
    int choice = 0;

    read_delimiter(reader, data, out);
    read_decimal(reader, data, reading);
    read_thousands(reader, data, reading);
    rp_node_read_bool(reader, data, "data.strip", &reading->strip, false);
    read_affixes(reader, data, "data.prefix", &reading->prefix);
    read_affixes(reader, data, "data.suffix", &reading->suffix);
    reading->dressed =
        reading->decimal != '.' || reading->thousands != NULL || reading->prefix.count > 0 || reading->suffix.count > 0;
    read_missing(reader, data, out);
    rp_node_read_choice(reader, data, "data.encoding", &choice, 0, rp_encoding_names, 4);
    reading->encoding = (rp_encoding)choice;
    read_comment(reader, data, out, reading);
    rp_node_read_int(reader, data, "data.skip_lines", &reading->skip_lines, 0, 0, 1000000);
    rp_node_read_choice(reader, data, "data.missing_target", &choice, 0, targets, 2);
    reading->drop_missing_target = choice == 1;
    read_where(reader, data, reading);
}
