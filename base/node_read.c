/* SPDX-License-Identifier: Apache-2.0
 * Typed reading of keys with one clear error for the first mistake. */
#include "base/node_read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { QUOTE = 80 };

static char *describe(char *out, size_t size, const rp_node *node)
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

void rp_node_refuse(rp_node_reader *reader, const rp_node *at, const char *path, const char *format, ...)
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

void rp_node_wrong(rp_node_reader *reader, const rp_node *at, const char *path, const char *expected,
                   const char *advice)
{
    char found[QUOTE + 8];

    rp_node_refuse(reader, at, path, "expected %s, found %s%s%s", expected, describe(found, sizeof found, at),
                   advice != NULL ? "; " : "", advice != NULL ? advice : "");
}

const rp_node *rp_node_at(const rp_node_reader *reader, const rp_node *mapping, const char *path)
{
    const char *dot = strrchr(path, '.');

    if (reader->status != RP_OK)
        return NULL;
    return rp_node_find(mapping, dot != NULL ? dot + 1 : path);
}

const rp_node *rp_node_section(rp_node_reader *reader, const rp_node *parent, const char *path)
{
    static const rp_node empty = {.kind = RP_NODE_MAPPING};
    const rp_node *node;

    if (parent == NULL || reader->status != RP_OK)
        return NULL;
    node = rp_node_at(reader, parent, path);
    if (node == NULL || rp_node_is_null(node))
        return &empty;
    if (node->kind == RP_NODE_MAPPING)
        return node;
    rp_node_wrong(reader, node, path, "a mapping (indented \"key: value\" lines)", NULL);
    return NULL;
}

bool rp_node_applies(rp_node_reader *reader, const rp_node *mapping, const char *path, bool applies, const char *when)
{
    const rp_node *node = rp_node_at(reader, mapping, path);

    if (node != NULL && !applies)
        rp_node_refuse(reader, node, path, "applies only %s; remove it", when);
    return applies && reader->status == RP_OK;
}

void rp_node_read_int(rp_node_reader *reader, const rp_node *mapping, const char *path, int64_t *out, int64_t otherwise,
                      int64_t low, int64_t high)
{
    const rp_node *node = rp_node_at(reader, mapping, path);
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
    rp_node_wrong(reader, node, path, expected, NULL);
}

void rp_node_read_bool(rp_node_reader *reader, const rp_node *mapping, const char *path, bool *out, bool otherwise)
{
    const rp_node *node = rp_node_at(reader, mapping, path);
    bool scalar = node != NULL && node->kind == RP_NODE_SCALAR && node->plain;

    *out = otherwise;
    if (node == NULL)
        return;
    if (scalar && (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0))
        *out = node->text[0] == 't';
    else
        rp_node_wrong(reader, node, path, "true or false", NULL);
}

void rp_node_read_choice(rp_node_reader *reader, const rp_node *mapping, const char *path, int *out, int otherwise,
                         const char *const *names, int count)
{
    const rp_node *node = rp_node_at(reader, mapping, path);
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
    rp_node_wrong(reader, node, path, expected, nearest != NULL ? advice : NULL);
}

void rp_node_read_text(rp_node_reader *reader, const rp_node *mapping, const char *path, char **out,
                       const char *otherwise, size_t limit)
{
    const rp_node *node = rp_node_at(reader, mapping, path);
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
            rp_node_wrong(reader, node, path, expected, "quote it if it looks like something else");
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
