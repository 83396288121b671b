/* SPDX-License-Identifier: Apache-2.0
 * How a table's cells are written: delimiter, words for missing values, the dress of numbers. Keys of data:. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/recipe/recipe_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MISSING_LIMIT = 64, AFFIX_LIMIT = 16, AFFIX_BYTES = 16 };

/* What pandas.read_csv takes for a missing value, and "?". */
static const char *const missing_words[] = {"",     "#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN",
                                            "-nan", "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL",
                                            "NaN",  "None",   "n/a",      "nan",  "null",    "?"};

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

void rp_recipe_read_table(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    rp_reading *reading = &out->data.reading;

    read_delimiter(reader, data, out);
    read_decimal(reader, data, reading);
    read_thousands(reader, data, reading);
    rp_node_read_bool(reader, data, "data.strip", &reading->strip, false);
    read_affixes(reader, data, "data.prefix", &reading->prefix);
    read_affixes(reader, data, "data.suffix", &reading->suffix);
    reading->dressed =
        reading->decimal != '.' || reading->thousands != NULL || reading->prefix.count > 0 || reading->suffix.count > 0;
    read_missing(reader, data, out);
}
