/* SPDX-License-Identifier: Apache-2.0
 * Values of JSON: looking at them, comparing, and building them. */
#include <stddef.h>
#include <string.h>

#include "base/json_private.h"
#include "base/memory.h"
#include "base/text.h"

/* A built array or object, and what it has room for. */
typedef struct container {
    rp_json value;
    uint32_t capacity;
    uint32_t sorted; /* members of the first run */
} container;

/* A built string and its text. */
typedef struct string {
    rp_json value;
    char text[];
} string;

/* ---- looking ---- */

static bool is(const rp_json *value, rp_json_kind kind)
{
    return value != NULL && value->kind == kind;
}

bool rp_json_is_object(const rp_json *value)
{
    return is(value, JSON_OBJECT);
}
bool rp_json_is_array(const rp_json *value)
{
    return is(value, JSON_ARRAY);
}
bool rp_json_is_string(const rp_json *value)
{
    return is(value, JSON_STRING);
}
bool rp_json_is_integer(const rp_json *value)
{
    return is(value, JSON_INTEGER);
}
bool rp_json_is_true(const rp_json *value)
{
    return is(value, JSON_TRUE);
}
bool rp_json_is_false(const rp_json *value)
{
    return is(value, JSON_FALSE);
}
bool rp_json_is_null(const rp_json *value)
{
    return is(value, JSON_NULL);
}

bool rp_json_is_boolean(const rp_json *value)
{
    return is(value, JSON_TRUE) || is(value, JSON_FALSE);
}

const char *rp_json_string_value(const rp_json *value)
{
    return is(value, JSON_STRING) ? value->text : NULL;
}

size_t rp_json_string_length(const rp_json *value)
{
    return is(value, JSON_STRING) ? value->count : 0;
}

int64_t rp_json_integer_value(const rp_json *value)
{
    return is(value, JSON_INTEGER) ? value->integer : 0;
}

size_t rp_json_array_size(const rp_json *value)
{
    return is(value, JSON_ARRAY) ? value->count : 0;
}

size_t rp_json_object_size(const rp_json *value)
{
    return is(value, JSON_OBJECT) ? value->count : 0;
}

rp_json *rp_json_array_get(const rp_json *array, size_t index)
{
    return index < rp_json_array_size(array) ? array->element[index] : NULL;
}

uint32_t rp_json_sorted(const rp_json *object)
{
    return object->arena != NULL ? object->count : ((const container *)object)->sorted;
}

/* Where in the sorted run [from, to) the key is, or would be put. */
static uint32_t search(const rp_json *object, uint32_t from, uint32_t to, const char *key, bool *found)
{
    *found = false;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        const int order = rp_json_key_compare(object->member[middle].key, key);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The member of that key; where there is none NULL, and *place is where in the second run it would be put. */
static rp_json_member *find(const rp_json *object, const char *key, uint32_t *place)
{
    const uint32_t sorted = rp_json_sorted(object);
    bool found;
    uint32_t at = search(object, 0, sorted, key, &found);

    if (!found)
        at = search(object, sorted, object->count, key, &found);
    *place = at;
    return found ? &object->member[at] : NULL;
}

rp_json *rp_json_object_get(const rp_json *object, const char *key)
{
    uint32_t place;
    const rp_json_member *member = is(object, JSON_OBJECT) && key != NULL ? find(object, key, &place) : NULL;

    return member != NULL ? member->value : NULL;
}

bool rp_json_walk_next(rp_json_walk *walk, const char **key, rp_json **value)
{
    const rp_json *object = walk->object;
    const rp_json_member *first, *second;

    if (!is(object, JSON_OBJECT))
        return false;

    const uint32_t sorted = rp_json_sorted(object);

    first = walk->first < sorted ? &object->member[walk->first] : NULL;
    second = walk->second < object->count - sorted ? &object->member[sorted + walk->second] : NULL;
    if (first == NULL && second == NULL)
        return false;
    if (second == NULL || (first != NULL && rp_json_key_compare(first->key, second->key) < 0))
        walk->first++;
    else {
        walk->second++;
        first = second;
    }
    *key = first->key;
    *value = first->value;
    return true;
}

static bool objects_equal(const rp_json *a, const rp_json *b)
{
    rp_json_walk at = {a, 0, 0}, other = {b, 0, 0};
    const char *key, *other_key;
    rp_json *value, *other_value;

    while (rp_json_walk_next(&at, &key, &value) && rp_json_walk_next(&other, &other_key, &other_value))
        if (strcmp(key, other_key) != 0 || !rp_json_equal(value, other_value))
            return false;
    return true;
}

bool rp_json_equal(const rp_json *a, const rp_json *b)
{
    if (a == NULL || b == NULL || a->kind != b->kind || a->count != b->count)
        return false;
    if (a == b)
        return true;
    switch (a->kind) {
    case JSON_OBJECT:
        return objects_equal(a, b);
    case JSON_ARRAY:
        for (uint32_t i = 0; i < a->count; i++)
            if (!rp_json_equal(a->element[i], b->element[i]))
                return false;
        return true;
    case JSON_STRING:
        return memcmp(a->text, b->text, a->count) == 0;
    case JSON_INTEGER:
        return a->integer == b->integer;
    default:
        return true;
    }
}

/* ---- building ---- */

static rp_json *new_value(rp_json_kind kind, size_t size)
{
    rp_json *value = rp_calloc(1, size);

    if (value == NULL)
        return NULL;
    value->kind = kind;
    atomic_init(&value->owners, 1);
    return value;
}

rp_json *rp_json_object(void)
{
    return new_value(JSON_OBJECT, sizeof(container));
}

rp_json *rp_json_array(void)
{
    return new_value(JSON_ARRAY, sizeof(container));
}

rp_json *rp_json_integer(int64_t integer)
{
    rp_json *value = new_value(JSON_INTEGER, sizeof *value);

    if (value != NULL)
        value->integer = integer;
    return value;
}

/* The only built values of their kinds: never freed, never counted. */
rp_json *rp_json_boolean(bool truth)
{
    static rp_json no = {.kind = JSON_FALSE}, yes = {.kind = JSON_TRUE};

    return truth ? &yes : &no;
}

rp_json *rp_json_null(void)
{
    static rp_json null = {.kind = JSON_NULL};

    return &null;
}

static bool is_constant(const rp_json *value)
{
    return value->arena == NULL && value->kind >= JSON_TRUE;
}

rp_json *rp_json_stringn(const char *text, size_t length)
{
    string *made;

    if (text == NULL || length > UINT32_MAX - 1 || !rp_is_utf8(text, length) ||
        (made = (string *)new_value(JSON_STRING, sizeof *made + length + 1)) == NULL)
        return NULL;
    memcpy(made->text, text, length);
    made->value.text = made->text;
    made->value.count = (uint32_t)length;
    return &made->value;
}

rp_json *rp_json_string(const char *text)
{
    return text != NULL ? rp_json_stringn(text, strlen(text)) : NULL;
}

/* ---- owners ---- */

rp_json *rp_json_share(rp_json *value)
{
    if (value == NULL || is_constant(value))
        return value;
    if (value->arena != NULL)
        rp_json_arena_share(value->arena);
    else
        atomic_fetch_add_explicit(&value->owners, 1, memory_order_relaxed);
    return value;
}

static void free_parts(rp_json *value)
{
    for (uint32_t i = 0; value->kind == JSON_OBJECT && i < value->count; i++) {
        rp_json_free(value->member[i].value);
        rp_free((char *)value->member[i].key);
    }
    for (uint32_t i = 0; value->kind == JSON_ARRAY && i < value->count; i++)
        rp_json_free(value->element[i]);
    if (value->kind == JSON_OBJECT)
        rp_free(value->member);
    if (value->kind == JSON_ARRAY)
        rp_free(value->element);
}

void rp_json_free(rp_json *value)
{
    if (value == NULL || is_constant(value))
        return;
    if (value->arena != NULL) {
        rp_json_arena_free(value->arena);
        return;
    }
    if (atomic_fetch_sub_explicit(&value->owners, 1, memory_order_acq_rel) != 1)
        return;
    free_parts(value);
    rp_free(value);
}

/* ---- setting ---- */

/* Room for more members or elements of `size` bytes each at *parts. */
static bool reserve(container *c, void **parts, size_t size, uint32_t more)
{
    if (more <= c->capacity - c->value.count)
        return true;
    if (c->capacity > UINT32_MAX / 4)
        return false;

    uint32_t capacity = c->capacity == 0 ? 8 : 2 * c->capacity;

    while (capacity - c->value.count < more)
        capacity *= 2;

    void *grown = rp_reallocarray(*parts, capacity, size);

    if (grown == NULL)
        return false;
    *parts = grown;
    c->capacity = capacity;
    return true;
}

/* How long the second run grows before it is merged: about the root of the number of members, so that n keys in any
 * order move n to the power of 1.5 members in all, and a few keys simply stay sorted by insertion. */
static uint32_t run_limit(uint32_t count)
{
    uint32_t limit = 64;

    while ((uint64_t)limit * limit < count)
        limit *= 2;
    return limit;
}

/* The second run into the first, from the back, with a copy of the second beyond the end. What of the first lies
 * between two of the second moves at once. */
static bool merge_runs(container *c)
{
    const uint32_t count = c->value.count;
    uint32_t tail = count - c->sorted, rest = c->sorted; /* what is not in its place yet */
    void *parts = c->value.member;

    if (!reserve(c, &parts, sizeof *c->value.member, tail))
        return false;

    rp_json_member *const member = c->value.member = parts, *const copy = member + count;

    memcpy(copy, member + rest, tail * sizeof *member);
    for (; tail > 0; tail--) {
        bool found;
        const uint32_t place = search(&c->value, 0, rest, copy[tail - 1].key, &found);

        memmove(&member[place + tail], &member[place], (rest - place) * sizeof *member);
        member[place + tail - 1] = copy[tail - 1];
        rest = place;
    }
    c->sorted = count;
    return true;
}

static int insert(container *c, const char *key, uint32_t place, rp_json *value)
{
    const uint32_t count = c->value.count;
    void *parts;
    char *copy;
    bool last;

    if (count - c->sorted >= run_limit(count)) {
        if (!merge_runs(c))
            return -1;
        place = count;
    }
    parts = c->value.member;
    if (!reserve(c, &parts, sizeof *c->value.member, 1))
        return -1;
    c->value.member = parts;
    if ((copy = rp_strdup(key)) == NULL)
        return -1;
    last = c->sorted == count && (count == 0 || rp_json_key_compare(c->value.member[count - 1].key, key) < 0);
    memmove(&c->value.member[place + 1], &c->value.member[place], (count - place) * sizeof *c->value.member);
    c->value.member[place] = (rp_json_member){copy, value};
    c->value.count++;
    c->sorted += last;
    return 0;
}

int rp_json_object_set_new(rp_json *object, const char *key, rp_json *value)
{
    rp_json_member *member;
    uint32_t place;

    if (!is(object, JSON_OBJECT) || object->arena != NULL || object == value || value == NULL || key == NULL ||
        !rp_is_utf8(key, strlen(key))) {
        rp_json_free(value);
        return -1;
    }
    if ((member = find(object, key, &place)) != NULL) {
        rp_json *old = member->value;

        member->value = value;
        rp_json_free(old);
        return 0;
    }
    if (insert((container *)object, key, place, value) != 0) {
        rp_json_free(value);
        return -1;
    }
    return 0;
}

int rp_json_object_set(rp_json *object, const char *key, rp_json *value)
{
    return rp_json_object_set_new(object, key, rp_json_share(value));
}

int rp_json_object_del(rp_json *object, const char *key)
{
    rp_json_member *member;
    uint32_t place;

    if (!is(object, JSON_OBJECT) || object->arena != NULL || key == NULL ||
        (member = find(object, key, &place)) == NULL)
        return -1;
    rp_free((char *)member->key);
    rp_json_free(member->value);
    memmove(member, member + 1, (object->count - place - 1) * sizeof *member);
    ((container *)object)->sorted -= place < rp_json_sorted(object);
    object->count--;
    return 0;
}

int rp_json_array_append_new(rp_json *array, rp_json *value)
{
    container *c = (container *)array;
    void *parts = is(array, JSON_ARRAY) ? array->element : NULL;

    if (!is(array, JSON_ARRAY) || array->arena != NULL || array == value || value == NULL ||
        !reserve(c, &parts, sizeof *array->element, 1)) {
        rp_json_free(value);
        return -1;
    }
    array->element = parts;
    array->element[array->count++] = value;
    return 0;
}

int rp_json_array_append(rp_json *array, rp_json *value)
{
    return rp_json_array_append_new(array, rp_json_share(value));
}

static rp_json *copy_array(const rp_json *value)
{
    rp_json *copy = rp_json_array();

    for (uint32_t i = 0; copy != NULL && i < value->count; i++)
        if (rp_json_array_append_new(copy, rp_json_deep_copy(value->element[i])) != 0) {
            rp_json_free(copy);
            copy = NULL;
        }
    return copy;
}

static rp_json *copy_object(const rp_json *value)
{
    rp_json *copy = rp_json_object(), *item;
    const char *key;

    if (copy == NULL)
        return NULL;
    rp_json_object_foreach (value, key, item)
        if (rp_json_object_set_new(copy, key, rp_json_deep_copy(item)) != 0) {
            rp_json_free(copy);
            return NULL;
        }
    return copy;
}

rp_json *rp_json_deep_copy(const rp_json *value)
{
    if (value == NULL)
        return NULL;
    switch (value->kind) {
    case JSON_OBJECT:
        return copy_object(value);
    case JSON_ARRAY:
        return copy_array(value);
    case JSON_STRING:
        return rp_json_stringn(value->text, value->count);
    case JSON_INTEGER:
        return rp_json_integer(value->integer);
    case JSON_NULL:
        return rp_json_null();
    default:
        return rp_json_boolean(value->kind == JSON_TRUE);
    }
}
