/* SPDX-License-Identifier: Apache-2.0
 * Typed reading of recipe keys with one clear error for the first mistake. */
#include "core/recipe/recipe_read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "determinism/decimal.h"

enum { QUOTE = 80 };

bool rp_node_is_null(const rp_node *node)
{
    return node->kind == RP_NODE_SCALAR && node->plain &&
           (strcmp(node->text, "") == 0 || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

bool rp_node_int(const rp_node *node, int64_t *out)
{
    return node->kind == RP_NODE_SCALAR && node->plain && rp_parse_i64(out, node->text, strlen(node->text));
}

char *rp_node_describe(char *out, size_t size, const rp_node *node)
{
    char text[QUOTE];

    if (node->kind != RP_NODE_SCALAR)
        snprintf(out, size, "%s", node->kind == RP_NODE_LIST ? "a list" : "a mapping");
    else if (rp_node_is_null(node))
        snprintf(out, size, "nothing");
    else
        snprintf(out, size, "\"%s\"", rp_printable(text, sizeof text, node->text, strlen(node->text)));
    return out;
}

void rp_recipe_refuse(rp_recipe_reader *reader, const rp_node *at, const char *path, const char *format, ...)
{
    char text[RP_ERROR_TEXT / 2];
    rp_status status = reader->json ? RP_EFORMAT : RP_EARG;
    va_list args;

    if (reader->status != RP_OK)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (at != NULL && at->line != 0)
        reader->status = rp_fail(reader->err, status, "%s:%zu: key %s: %s", reader->where, at->line, path, text);
    else
        reader->status = rp_fail(reader->err, status, "%s: key %s: %s", reader->where, path, text);
}

void rp_recipe_wrong(rp_recipe_reader *reader, const rp_node *at, const char *path, const char *expected,
                     const char *advice)
{
    char found[QUOTE + 8];

    rp_recipe_refuse(reader, at, path, "expected %s, found %s%s%s", expected, rp_node_describe(found, sizeof found, at),
                     advice != NULL ? "; " : "", advice != NULL ? advice : "");
}

void rp_recipe_check_keys(rp_recipe_reader *reader, const rp_node *mapping, const char *section,
                          const char *const *keys, size_t count)
{
    for (size_t i = 0; i < mapping->count && reader->status == RP_OK; i++) {
        const rp_node *child = &mapping->child[i];
        char quoted[QUOTE], path[QUOTE + 32];
        const char *nearest;
        size_t k = 0;

        while (k < count && strcmp(keys[k], child->key) != 0)
            k++;
        if (k < count)
            continue;
        rp_printable(quoted, sizeof quoted, child->key, strlen(child->key));
        snprintf(path, sizeof path, "%s%s%s", section, section[0] != '\0' ? "." : "", quoted);
        nearest = rp_nearest(child->key, keys, count);
        if (nearest != NULL)
            rp_recipe_refuse(reader, child, path, "unknown key; did you mean \"%s\"?", nearest);
        else
            rp_recipe_refuse(reader, child, path, "unknown key; remove it or see docs/recipe.md for the keys of %s",
                             section[0] != '\0' ? section : "a recipe");
    }
}

static const rp_node *find(const rp_recipe_reader *reader, const rp_node *mapping, const char *path)
{
    const char *dot = strrchr(path, '.');

    if (reader->status != RP_OK)
        return NULL;
    return rp_node_find(mapping, dot != NULL ? dot + 1 : path);
}

const rp_node *rp_recipe_section(rp_recipe_reader *reader, const rp_node *parent, const char *path)
{
    static const rp_node empty = {.kind = RP_NODE_MAPPING};
    const rp_node *node;

    if (parent == NULL || reader->status != RP_OK)
        return NULL;
    node = find(reader, parent, path);
    if (node == NULL || rp_node_is_null(node))
        return &empty;
    if (node->kind == RP_NODE_MAPPING)
        return node;
    rp_recipe_wrong(reader, node, path, "a mapping (indented \"key: value\" lines)", NULL);
    return NULL;
}

bool rp_recipe_applies(rp_recipe_reader *reader, const rp_node *mapping, const char *path, bool applies,
                       const char *when)
{
    const rp_node *node = find(reader, mapping, path);

    if (node != NULL && !applies)
        rp_recipe_refuse(reader, node, path, "applies only %s; remove it", when);
    return applies && reader->status == RP_OK;
}

void rp_recipe_int(rp_recipe_reader *reader, const rp_node *mapping, const char *path, int64_t *out, int64_t otherwise,
                   int64_t low, int64_t high)
{
    const rp_node *node = find(reader, mapping, path);
    char expected[96];
    int64_t value;

    *out = otherwise;
    if (node == NULL)
        return;
    if (rp_node_int(node, &value) && value >= low && value <= high) {
        *out = value;
        return;
    }
    snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, low, high);
    rp_recipe_wrong(reader, node, path, expected, NULL);
}

void rp_recipe_bool(rp_recipe_reader *reader, const rp_node *mapping, const char *path, bool *out, bool otherwise)
{
    const rp_node *node = find(reader, mapping, path);
    bool scalar = node != NULL && node->kind == RP_NODE_SCALAR && node->plain;

    *out = otherwise;
    if (node == NULL)
        return;
    if (scalar && (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0))
        *out = node->text[0] == 't';
    else
        rp_recipe_wrong(reader, node, path, "true or false", NULL);
}

static bool in_range(double x, const rp_range *range)
{
    return (range->low_open ? x > range->low : x >= range->low) &&
           (range->high_open ? x < range->high : x <= range->high);
}

void rp_recipe_real(rp_recipe_reader *reader, const rp_node *mapping, const char *path, double *out, double otherwise,
                    const rp_range *range)
{
    const rp_node *node = find(reader, mapping, path);
    double value;

    *out = otherwise;
    if (node == NULL)
        return;
    /* A quoted number is text in YAML; in the resolved form every real is. */
    if (node->kind == RP_NODE_SCALAR && node->plain != reader->json &&
        rp_parse_f64(&value, node->text, strlen(node->text)) && in_range(value, range))
        *out = value == 0 ? 0 : value; /* -0 is written as 0 */
    else
        rp_recipe_wrong(reader, node, path, range->text, NULL);
}

void rp_recipe_choice(rp_recipe_reader *reader, const rp_node *mapping, const char *path, int *out, int otherwise,
                      const char *const *names, int count)
{
    const rp_node *node = find(reader, mapping, path);
    const char *nearest;
    char expected[128] = "one of ", advice[64];

    *out = otherwise;
    if (node == NULL)
        return;
    for (int i = 0; i < count; i++) {
        if (node->kind == RP_NODE_SCALAR && strcmp(node->text, names[i]) == 0) {
            *out = i;
            return;
        }
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%s", i > 0 ? ", " : "", names[i]);
    }
    nearest = node->kind == RP_NODE_SCALAR ? rp_nearest(node->text, names, (size_t)count) : NULL;
    snprintf(advice, sizeof advice, "did you mean \"%s\"?", nearest != NULL ? nearest : "");
    rp_recipe_wrong(reader, node, path, expected, nearest != NULL ? advice : NULL);
}

void rp_recipe_text(rp_recipe_reader *reader, const rp_node *mapping, const char *path, char **out,
                    const char *otherwise, size_t limit)
{
    const rp_node *node = find(reader, mapping, path);
    const char *text = otherwise;
    char expected[96];

    *out = NULL;
    if (reader->status != RP_OK)
        return;
    if (node != NULL && !(rp_node_is_null(node) && otherwise == NULL)) {
        bool empty_fits = otherwise != NULL && otherwise[0] == '\0';

        snprintf(expected, sizeof expected, "text of %d to %zu bytes", empty_fits ? 0 : 1, limit);
        if (node->kind != RP_NODE_SCALAR || rp_node_is_null(node) || strlen(node->text) > limit ||
            (node->text[0] == '\0' && !empty_fits)) {
            rp_recipe_wrong(reader, node, path, expected, "quote it if it looks like something else");
            return;
        }
        text = node->text;
    }
    if (text == NULL)
        return;
    *out = rp_strdup(text);
    if (*out == NULL)
        reader->status = rp_no_memory(reader->err);
}
