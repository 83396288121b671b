/* SPDX-License-Identifier: Apache-2.0
 * YAML text to the tree, through libyaml's events. What recipes and policies have no use for and what could make memory
 * or meaning run away is refused: anchors, aliases, tags, several documents, duplicate keys, deep nesting. libyaml
 * allocates with malloc, bounded by the 1 MiB of text. */
#include <string.h>
#include <yaml.h>

#include "base/memory.h"
#include "base/node.h"
#include "base/text.h"

typedef struct yaml_source {
    yaml_parser_t parser;
    const char *where;
    const char *text;
    size_t length, nodes;
    rp_error *err;
} yaml_source;

static size_t event_line(const yaml_event_t *event)
{
    return event->start_mark.line + 1;
}

/* The reader knows only a byte offset when the encoding is wrong. */
static size_t offset_line(const char *text, size_t length, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset && i < length; i++)
        line += text[i] == '\n';
    return line;
}

static rp_status next_event(yaml_source *source, yaml_event_t *event)
{
    const yaml_parser_t *parser = &source->parser;
    const char *problem;

    if (yaml_parser_parse(&source->parser, event))
        return RP_OK;
    problem = parser->problem != NULL ? parser->problem : "syntax error";
    if (parser->error == YAML_MEMORY_ERROR)
        return rp_no_memory(source->err);
    if (parser->error == YAML_READER_ERROR)
        return rp_fail(source->err, RP_EARG, "%s:%zu: expected UTF-8 text, found a byte that is not: %s", source->where,
                       offset_line(source->text, source->length, parser->problem_offset), problem);
    return rp_fail(source->err, RP_EARG,
                   "%s:%zu: expected YAML, found an error at column %zu: %s; check indentation, "
                   "colons and quotes",
                   source->where, parser->problem_mark.line + 1, parser->problem_mark.column + 1, problem);
}

static rp_status refuse(yaml_source *source, const yaml_event_t *event, const char *what)
{
    return rp_fail(source->err, RP_EARG, "%s:%zu: %s", source->where, event_line(event), what);
}

static rp_status check_decoration(yaml_source *source, const yaml_event_t *event, const yaml_char_t *anchor,
                                  const yaml_char_t *tag)
{
    if (anchor != NULL)
        return refuse(source, event, "anchors (&name) are not allowed; write the value out");
    if (tag != NULL)
        return refuse(source, event, "tags (!name) are not allowed; remove it");
    return RP_OK;
}

static rp_status read_node(yaml_source *source, rp_node *out, const yaml_event_t *event, unsigned depth);

static rp_status read_scalar(yaml_source *source, char **text, bool *plain, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    rp_status status = check_decoration(source, event, event->data.scalar.anchor, event->data.scalar.tag);

    if (status != RP_OK)
        return status;
    if (memchr(value, 0, length) != NULL)
        return refuse(source, event, "a NUL character in text is not allowed");
    *plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    *text = rp_strndup(value, length);
    return *text == NULL ? rp_no_memory(source->err) : RP_OK;
}

static rp_status append_child(yaml_source *source, rp_node *parent, const yaml_event_t *event, rp_node **child)
{
    if (parent->count == RP_NODE_CHILDREN)
        return rp_fail(source->err, RP_EARG, "%s:%zu: more than %d entries in one list or mapping", source->where,
                       event_line(event), RP_NODE_CHILDREN);
    *child = rp_node_append(parent);
    return *child == NULL ? rp_no_memory(source->err) : RP_OK;
}

static rp_status read_list(yaml_source *source, rp_node *out, unsigned depth)
{
    out->kind = RP_NODE_LIST;
    for (;;) {
        yaml_event_t event;
        rp_node *child = NULL;
        rp_status status = next_event(source, &event);

        if (status != RP_OK)
            return status;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return RP_OK;
        }
        status = append_child(source, out, &event, &child);
        if (status == RP_OK)
            status = read_node(source, child, &event, depth + 1);
        yaml_event_delete(&event);
        if (status != RP_OK)
            return status;
    }
}

/* The key goes into a child that is appended only afterwards, so that a duplicate is compared with its elders. */
static rp_status read_key(yaml_source *source, rp_node *out, const yaml_event_t *event, rp_node **child)
{
    char quoted[64], *key = NULL;
    bool plain = false;
    const rp_node *elder;
    rp_status status;

    if (event->type != YAML_SCALAR_EVENT)
        return refuse(source, event, "expected a key (text), found a list, a mapping or an alias");
    status = read_scalar(source, &key, &plain, event);
    if (status != RP_OK)
        return status;
    elder = rp_node_find(out, key);
    if (elder != NULL)
        status = rp_fail(source->err, RP_EARG, "%s:%zu: key \"%s\" is given twice, first in line %zu; keep one",
                         source->where, event_line(event), rp_printable(quoted, sizeof quoted, key, strlen(key)),
                         elder->line);
    else
        status = append_child(source, out, event, child);
    if (status != RP_OK) {
        rp_free(key);
        return status;
    }
    (*child)->key = key;
    (*child)->key_plain = plain;
    return RP_OK;
}

static rp_status read_mapping(yaml_source *source, rp_node *out, unsigned depth)
{
    out->kind = RP_NODE_MAPPING;
    for (;;) {
        yaml_event_t event;
        rp_node *child = NULL;
        rp_status status = next_event(source, &event);

        if (status != RP_OK)
            return status;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return RP_OK;
        }
        status = read_key(source, out, &event, &child);
        yaml_event_delete(&event);
        if (status == RP_OK)
            status = next_event(source, &event);
        if (status != RP_OK)
            return status;
        status = read_node(source, child, &event, depth + 1);
        yaml_event_delete(&event);
        if (status != RP_OK)
            return status;
    }
}

static rp_status read_node(yaml_source *source, rp_node *out, const yaml_event_t *event, unsigned depth)
{
    rp_status status;

    out->line = event_line(event);
    if (depth > RP_NODE_DEPTH)
        return refuse(source, event, "nesting deeper than 16 levels; 4 are enough");
    if (++source->nodes > RP_NODE_COUNT)
        return refuse(source, event, "more than 16384 values");
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        out->kind = RP_NODE_SCALAR;
        return read_scalar(source, &out->text, &out->plain, event);
    case YAML_SEQUENCE_START_EVENT:
        status = check_decoration(source, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        return status != RP_OK ? status : read_list(source, out, depth);
    case YAML_MAPPING_START_EVENT:
        status = check_decoration(source, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        return status != RP_OK ? status : read_mapping(source, out, depth);
    case YAML_ALIAS_EVENT:
        return refuse(source, event, "aliases (*name) are not allowed; write the value out");
    default:
        return refuse(source, event, "expected a value");
    }
}

static rp_status expect_event(yaml_source *source, yaml_event_type_t type, const char *otherwise)
{
    yaml_event_t event;
    rp_status status = next_event(source, &event);

    if (status != RP_OK)
        return status;
    if (event.type != type)
        status = refuse(source, &event, otherwise);
    yaml_event_delete(&event);
    return status;
}

static rp_status read_document(yaml_source *source, rp_node *out)
{
    yaml_event_t event;
    rp_status status = expect_event(source, YAML_STREAM_START_EVENT, "expected a YAML document");

    if (status == RP_OK)
        status = expect_event(source, YAML_DOCUMENT_START_EVENT,
                              "the file is empty; start from an example of the documentation");
    if (status == RP_OK)
        status = next_event(source, &event);
    if (status != RP_OK)
        return status;
    status = read_node(source, out, &event, 1);
    yaml_event_delete(&event);
    if (status == RP_OK)
        status = expect_event(source, YAML_DOCUMENT_END_EVENT, "expected the end of the document");
    if (status == RP_OK)
        status = expect_event(source, YAML_STREAM_END_EVENT,
                              "a second YAML document; only one is allowed, remove the line \"---\"");
    return status;
}

rp_status rp_node_from_yaml(rp_node *out, const char *text, size_t length, const char *where, rp_error *err)
{
    yaml_source source = {.where = where, .err = err};
    rp_status status;

    memset(out, 0, sizeof *out);
    /* libyaml skips a byte order mark only where it guesses the encoding, and then takes UTF-16 too */
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    source.text = text;
    source.length = length;
    if (length > RP_NODE_BYTES)
        return rp_fail(err, RP_EARG, "%s: recipe of %zu bytes, expected at most %d", where, length, RP_NODE_BYTES);
    if (!yaml_parser_initialize(&source.parser))
        return rp_no_memory(err);
    yaml_parser_set_encoding(&source.parser, YAML_UTF8_ENCODING);
    /* libyaml asserts on a null pointer, which an empty buffer has */
    yaml_parser_set_input_string(&source.parser, (const unsigned char *)(length ? text : ""), length);
    status = read_document(&source, out);
    yaml_parser_delete(&source.parser);
    if (status != RP_OK)
        rp_node_clear(out);
    return status;
}
