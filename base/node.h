/* SPDX-License-Identifier: Apache-2.0
 * The tree that what people write is read into, whether it came as YAML (with lines) or as resolved JSON (without):
 * recipes and policies are read from it alone (base/node_read.h). Bounds: 1 MiB of text, depth 16, 16,384 nodes, 4,096
 * children, keys distinct, no NUL in text. */
#ifndef BASE_NODE_H
#define BASE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "rp/error.h"

enum { RP_NODE_DEPTH = 16, RP_NODE_COUNT = 16384, RP_NODE_CHILDREN = 4096, RP_NODE_BYTES = 1 << 20 };

typedef enum rp_node_kind { RP_NODE_SCALAR, RP_NODE_LIST, RP_NODE_MAPPING } rp_node_kind;

typedef struct rp_node {
    rp_node_kind kind;
    bool plain;  /* a scalar that was not quoted: may be a number, true, false or null */
    size_t line; /* 1-based; 0 from JSON */
    char *text;  /* scalars only */
    char *key;   /* children of a mapping only */
    bool key_plain;
    struct rp_node *child;
    size_t count, capacity;
} rp_node;

/* Both leave *out zeroed on failure; rp_node_clear frees what is inside, and a zeroed node is fine.
 * Errors: RP_EARG (YAML) with where:line, RP_EFORMAT (JSON), RP_ENOMEM. */
rp_status rp_node_from_yaml(rp_node *out, const char *text, size_t length, const char *where, rp_error *err);
rp_status rp_node_from_json(rp_node *out, const rp_json *json, const char *where, rp_error *err);
void rp_node_clear(rp_node *node);

/* Appends a zeroed child; NULL when out of memory or when RP_NODE_CHILDREN is reached. */
rp_node *rp_node_append(rp_node *parent);
/* The child with that key, or NULL. */
const rp_node *rp_node_find(const rp_node *mapping, const char *key);

bool rp_node_is_null(const rp_node *node);
bool rp_node_int(const rp_node *node, int64_t *out); /* a plain scalar that is an integer */

#endif
