/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: any bytes as a recipe. What is accepted must come back from its resolved JSON as itself. */
#include <stdlib.h>

#include "base/json.h"
#include "core/recipe/recipe.h"
#include "core/trials/vary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first and the last trial of a search: a recipe or an error, and from a recipe the same trial again. */
static void try_search(const rp_recipe *recipe)
{
    for (int64_t i = 0; recipe->search.n_over > 0 && i < 2; i++) {
        rp_json *set = NULL;
        rp_recipe *trial = NULL, *again = NULL;
        rp_error err;

        if (rp_search_draw(&set, recipe, i ? recipe->search.trials - 1 : 0, &err) != RP_OK)
            abort();
        if (rp_recipe_vary(&trial, recipe, set, RP_FOLD_AS_IS, true, &err) == RP_OK &&
            (rp_recipe_vary(&again, trial, set, RP_FOLD_AS_IS, true, &err) != RP_OK ||
             !rp_json_equal(trial->json, again->json)))
            abort();
        rp_recipe_free(trial);
        rp_recipe_free(again);
        rp_json_free(set);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char parent[] = "91e31f5ee1647d803ed8a9b134cd2436c2d20ff0bafb631c7c99291d1054b7a5";
    rp_recipe *recipe = NULL, *again = NULL;
    rp_json *json = NULL;
    rp_buffer text = {0};
    rp_error err;

    if (rp_recipe_from_yaml(&recipe, (const char *)data, size, "fuzz", &err) != RP_OK)
        return 0;
    if (recipe->program.named) { /* whose programs are files: fuzz_model.c */
        rp_recipe_free(recipe);
        return 0;
    }
    /* a parent's path leads to an archive, and the resolved recipe has its id instead */
    if (recipe->parent.archive && rp_recipe_set_parent(recipe, parent, 7, &err) != RP_OK)
        abort();
    if (rp_json_write(recipe->json, &text, &err) != RP_OK ||
        rp_json_parse(&json, text.data, text.size, true, "fuzz", &err) != RP_OK ||
        rp_recipe_from_json(&again, json, "fuzz", &err) != RP_OK)
        abort();
    try_search(again);
    rp_json_free(json);
    rp_buffer_free(&text);
    rp_recipe_free(recipe);
    rp_recipe_free(again);
    return 0;
}
