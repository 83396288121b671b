/* SPDX-License-Identifier: Apache-2.0
 * The card of a recipe: what the model is for, by the words of whoever answers for it. Nothing is computed from it; it
 * is part of the run's identity, so that nobody says later what it was meant for. */
#include "core/recipe/recipe_card.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "core/recipe/recipe_read.h"

enum { TEXT = 4000, PATH = 48 };

/* The last two are days. */
const char *const rp_card_names[RP_CARD_KEYS] = {
    "purpose",     "owner",  "tier",        "version",   "intended_use", "excluded_use", "data_source",
    "data_period", "limits", "assumptions", "oversight", "monitoring",   "valid_until",  "keep_until"};

/* 2027-12-31, a day that there is. */
static bool is_day(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int part[3] = {0};
    bool leap;

    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-')
        return false;
    for (int i = 0; i < 10; i++) {
        const int at = i < 4 ? 0 : i < 7 ? 1 : 2;

        if (i == 4 || i == 7)
            continue;
        if (text[i] < '0' || text[i] > '9')
            return false;
        part[at] = 10 * part[at] + text[i] - '0';
    }
    if (part[0] < 1970 || part[1] < 1 || part[1] > 12 || part[2] < 1)
        return false;
    leap = part[1] == 2 && part[0] % 4 == 0 && (part[0] % 100 != 0 || part[0] % 400 == 0);
    return part[2] <= days[part[1] - 1] + leap;
}

/* A terminal or a page shows all of it: lines may end, and nothing else that is not seen. */
static bool is_shown(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c != '\n' && rp_unseen((const unsigned char *)c))
            return false;
    return rp_is_utf8(text, strlen(text));
}

void rp_recipe_read_card(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    const rp_node *map;
    size_t given = 0;
    char path[PATH];

    if (reader->status != RP_OK || rp_node_find(top, "card") == NULL)
        return;
    map = rp_node_section(reader, top, "card");
    if (map == NULL)
        return;
    rp_recipe_check_keys(reader, map, "card", rp_card_names, RP_CARD_KEYS);
    for (size_t i = 0; i < RP_CARD_KEYS && reader->status == RP_OK; i++) {
        const rp_node *node = rp_node_find(map, rp_card_names[i]);

        (void)snprintf(path, sizeof path, "card.%s", rp_card_names[i]);
        rp_node_read_text(reader, map, path, &out->card[i], NULL, TEXT);
        if (reader->status != RP_OK || out->card[i] == NULL)
            continue;
        given++;
        if (i >= RP_CARD_DAYS && !is_day(out->card[i]))
            rp_node_wrong(reader, node, path, "a day as 2027-12-31", NULL);
        else if (!is_shown(out->card[i]))
            rp_node_refuse(reader, node, path, "has characters that cannot be seen, or is not UTF-8");
    }
    if (reader->status == RP_OK && given == 0)
        rp_node_refuse(reader, map, "card", "says nothing: give one of its keys, or leave it out");
}

int rp_recipe_write_card(rp_json *top, const rp_recipe *recipe)
{
    rp_json *card = NULL;
    int failed = 0;

    for (size_t i = 0; i < RP_CARD_KEYS; i++) {
        if (recipe->card[i] == NULL)
            continue;
        if (card == NULL && (card = rp_json_object()) == NULL)
            return -1;
        failed |= rp_json_object_set_new(card, rp_card_names[i], rp_json_string(recipe->card[i]));
    }
    return card != NULL ? failed | rp_json_object_set_new(top, "card", card) : 0;
}
