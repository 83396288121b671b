/* SPDX-License-Identifier: Apache-2.0
 * What tells two archives apart before any step is looked at: recipe keys and members. */
#include <stdio.h>
#include <string.h>

#include "audit/replay/diff_private.h"

/* Whether two members of the name exist and have the same bytes. */
static bool same_member(const side *a, const side *b, const char *name)
{
    const rp_member *x = rp_archive_find(a->archive, name), *y = rp_archive_find(b->archive, name);

    return x && y && rp_digest_equal(&x->digest, &y->digest);
}

/* Members that differ or are in one of the two only; the manifest differs whenever another does, the recipe is compared
 * key by key. other_only: just those that `other` does not have. */
static void compare_members(const side *s, const side *other, bool other_only, rp_buffer *out)
{
    for (size_t i = 1; i < rp_archive_member_count(s->archive); i++) {
        const char *name = rp_archive_member(s->archive, i)->name;

        if (strcmp(name, RP_RECIPE_MEMBER) == 0 || (rp_member_rank_of(name) == RP_RANK_SIGNATURE))
            continue;
        if (!rp_archive_find(other->archive, name))
            rp_buffer_printf(out, "member    %s only in %s\n", name, s->label);
        else if (!other_only && !same_member(s, other, name))
            rp_buffer_printf(out, "member    %s differs\n", name);
    }
}

static void put_value(rp_buffer *out, const rp_json *value)
{
    if (value)
        (void)rp_json_write(value, out, NULL);
    else
        rp_buffer_text(out, "(absent)");
}

/* Recipe keys whose values differ, as dotted paths. */
static void compare_json(const char *path, const rp_json *a, const rp_json *b, rp_buffer *out)
{
    const char *key;
    rp_json *item;
    char deeper[200];

    if (rp_json_is_object(a) && rp_json_is_object(b)) {
        rp_json_object_foreach ((rp_json *)a, key, item) {
            (void)snprintf(deeper, sizeof deeper, "%.150s%s%.40s", path, *path ? "." : "", key);
            compare_json(deeper, item, rp_json_object_get(b, key), out);
        }
        rp_json_object_foreach ((rp_json *)b, key, item) {
            if (!rp_json_object_get(a, key)) {
                (void)snprintf(deeper, sizeof deeper, "%.150s%s%.40s", path, *path ? "." : "", key);
                compare_json(deeper, NULL, item, out);
            }
        }
    } else if (!a || !b || !rp_json_equal(a, b)) {
        rp_buffer_printf(out, "recipe    %s: A ", path);
        put_value(out, a);
        rp_buffer_text(out, ", B ");
        put_value(out, b);
        rp_buffer_u8(out, '\n');
    }
}

static rp_status compare_recipes(const side *a, const side *b, rp_buffer *out, rp_error *err)
{
    rp_json *x = NULL, *y = NULL;
    rp_status status = rp_archive_read_json(a->archive, RP_RECIPE_MEMBER, &x, err);

    if (status == RP_OK)
        status = rp_archive_read_json(b->archive, RP_RECIPE_MEMBER, &y, err);
    if (status == RP_OK)
        compare_json("", x, y, out);
    rp_json_free(x);
    rp_json_free(y);
    return status;
}

rp_status rp_diff_members(const side *a, const side *b, rp_buffer *out, rp_error *err)
{
    rp_status status = RP_OK;

    if (rp_archive_manifest(a->archive)->kind != RP_RUN_API && !same_member(a, b, RP_RECIPE_MEMBER))
        status = compare_recipes(a, b, out, err);
    compare_members(a, b, false, out);
    compare_members(b, a, true, out);
    return status;
}
