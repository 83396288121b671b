/* SPDX-License-Identifier: Apache-2.0
 * The tree: growing, finding, freeing, and filling it from JSON. The YAML side is node_yaml.c. */
#include "base/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

void rp_node_clear(rp_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        rp_node_clear(&node->child[i]);
    rp_free(node->child);
    rp_free(node->text);
    rp_free(node->key);
    memset(node, 0, sizeof *node);
}

rp_node *rp_node_append(rp_node *parent)
{
    if (parent->count == RP_NODE_CHILDREN)
        return NULL;
    if (parent->count == parent->capacity) {
        size_t capacity = parent->capacity == 0 ? 8 : 2 * parent->capacity;
        rp_node *child = rp_reallocarray(parent->child, capacity, sizeof *child);

        if (child == NULL)
            return NULL;
        parent->child = child;
        parent->capacity = capacity;
    }
    memset(&parent->child[parent->count], 0, sizeof *parent->child);
    return &parent->child[parent->count++];
}

const rp_node *rp_node_find(const rp_node *mapping, const char *key)
{
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->child[i].key, key) == 0)
            return &mapping->child[i];
    return NULL;
}

bool rp_node_is_null(const rp_node *node)
{
    return node->kind == RP_NODE_SCALAR && node->plain &&
           (strcmp(node->text, "") == 0 || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

bool rp_node_int(const rp_node *node, int64_t *out)
{
    return node->kind == RP_NODE_SCALAR && node->plain && rp_parse_i64(out, node->text, strlen(node->text));
}

typedef struct json_source {
    const char *where;
    size_t nodes;
    rp_error *err;
} json_source;

static rp_status fill(json_source *source, rp_node *out, const rp_json *json, unsigned depth);

static rp_status fill_child(json_source *source, rp_node *parent, const char *key, const rp_json *json, unsigned depth)
{
    rp_node *child = NULL;

    if (parent->count == RP_NODE_CHILDREN)
        return rp_fail(source->err, RP_EFORMAT, "%s: more than %d entries in one list or object", source->where,
                       RP_NODE_CHILDREN);
    child = rp_node_append(parent);
    if (child == NULL)
        return rp_no_memory(source->err);
    if (key != NULL && (child->key = rp_strdup(key)) == NULL)
        return rp_no_memory(source->err);
    return fill(source, child, json, depth + 1);
}

static rp_status fill_children(json_source *source, rp_node *out, const rp_json *json, unsigned depth)
{
    rp_status status = RP_OK;
    const char *key;
    rp_json *value;

    if (rp_json_is_array(json)) {
        out->kind = RP_NODE_LIST;
        for (size_t i = 0; i < rp_json_array_size(json) && status == RP_OK; i++)
            status = fill_child(source, out, NULL, rp_json_array_get(json, i), depth);
        return status;
    }
    out->kind = RP_NODE_MAPPING;
    rp_json_object_foreach (json, key, value)
        if ((status = fill_child(source, out, key, value, depth)) != RP_OK)
            return status;
    return status;
}

static rp_status fill(json_source *source, rp_node *out, const rp_json *json, unsigned depth)
{
    char number[32];
    const char *text = rp_json_is_true(json) ? "true" : rp_json_is_false(json) ? "false" : "null";

    if (depth > RP_NODE_DEPTH || ++source->nodes > RP_NODE_COUNT)
        return rp_fail(source->err, RP_EFORMAT, "%s: more than %d levels or %d values", source->where, RP_NODE_DEPTH,
                       RP_NODE_COUNT);
    if (rp_json_is_array(json) || rp_json_is_object(json))
        return fill_children(source, out, json, depth);
    if (json == NULL)
        return rp_fail(source->err, RP_EFORMAT, "%s: a value is missing", source->where);
    out->plain = true;
    if (rp_json_is_string(json)) {
        text = rp_json_string_value(json);
        out->plain = false;
    } else if (rp_json_is_integer(json)) {
        snprintf(number, sizeof number, "%" PRId64, (int64_t)rp_json_integer_value(json));
        text = number;
    }
    out->text = rp_strdup(text);
    return out->text == NULL ? rp_no_memory(source->err) : RP_OK;
}

rp_status rp_node_from_json(rp_node *out, const rp_json *json, const char *where, rp_error *err)
{
    json_source source = {where, 0, err};
    rp_status status;

    memset(out, 0, sizeof *out);
    status = fill(&source, out, json, 1);
    if (status != RP_OK)
        rp_node_clear(out);
    return status;
}
