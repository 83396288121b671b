/* SPDX-License-Identifier: Apache-2.0
 * How the cells of a date column are written and what they become: keys of data.columns beside kind: date. */
#include <string.h>

#include "base/memory.h"
#include "core/recipe/recipe_read.h"

static const char parts_expected[] =
    "a list of days, year, quarter, month, day, weekday, day_of_year, hour, seconds, each at most once";

static void read_format(rp_node_reader *reader, const rp_node *rule, rp_date_rule *out)
{
    const char *wrong;

    rp_node_read_text(reader, rule, "data.columns.format", &out->format, "iso", RP_DATE_FORMAT);
    if (reader->status == RP_OK && !rp_date_format_check(out->format, &wrong))
        rp_node_refuse(reader, rp_node_find(rule, "format"), "data.columns.format",
                       "expected iso or a pattern as %%d.%%m.%%Y: %s", wrong);
}

static int find_part(const rp_node *node)
{
    for (int i = 0; i < RP_DATE_PARTS && node->kind == RP_NODE_SCALAR; i++)
        if (strcmp(node->text, rp_date_part_names[i]) == 0)
            return i;
    return -1;
}

static void read_parts(rp_node_reader *reader, const rp_node *rule, rp_date_rule *out)
{
    const rp_node *node = rp_node_at(reader, rule, "data.columns.parts");

    if (node == NULL) {
        out->part[0] = RP_DATE_DAYS;
        out->n_parts = 1;
        return;
    }
    if (node->kind != RP_NODE_LIST || node->count > RP_DATE_PARTS) {
        rp_node_wrong(reader, node, "data.columns.parts", parts_expected, NULL);
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        const int part = find_part(&node->child[i]);
        bool again = false;

        for (size_t k = 0; k < i; k++)
            again |= (int)out->part[k] == part;
        if (part < 0 || again) {
            rp_node_wrong(reader, &node->child[i], "data.columns.parts", parts_expected, NULL);
            return;
        }
        out->part[i] = (rp_date_part)part;
        out->n_parts = i + 1;
    }
}

static void read_since(rp_node_reader *reader, const rp_node *rule, rp_date_rule *out)
{
    rp_moment day;
    char *text = NULL;

    rp_node_read_text(reader, rule, "data.columns.since", &text, "1970-01-01", RP_DAY_SIZE - 1);
    if (reader->status == RP_OK && (strlen(text) != RP_DAY_SIZE - 1 || !rp_date_read_iso(text, &day)))
        rp_node_wrong(reader, rp_node_find(rule, "since"), "data.columns.since", "a day as 2024-03-31", NULL);
    else if (reader->status == RP_OK)
        out->since = rp_date_days(day.year, day.month, day.day);
    rp_free(text);
}

void rp_recipe_read_date(rp_node_reader *reader, const rp_node *rule, rp_column_rule *out)
{
    static const char *const paths[] = {"data.columns.format", "data.columns.parts", "data.columns.since"};
    const rp_node none = {.kind = RP_NODE_MAPPING, .line = rule->line};
    const bool date = out->kind == RP_COL_DATE;
    bool two = false;

    rule = rule->kind == RP_NODE_MAPPING ? rule : &none;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        (void)rp_node_applies(reader, rule, paths[i], date, "to kind: date");
    if (date && reader->status == RP_OK) {
        read_format(reader, rule, &out->date);
        read_parts(reader, rule, &out->date);
        read_since(reader, rule, &out->date);
        two = reader->status == RP_OK && rp_date_format_short(out->date.format);
    }
    if (rp_node_applies(reader, rule, "data.columns.pivot", two, "to a format with %y") && two)
        rp_node_read_int(reader, rule, "data.columns.pivot", &out->date.pivot, 69, 0, 100);
}
