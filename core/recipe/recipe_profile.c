/* SPDX-License-Identifier: Apache-2.0
 * profile and the pinned: section of a recipe. */
#include "core/recipe/recipe_read.h"
#include "determinism/pinned.h"

static const char *const profile_names[] = {"portable", "pinned"};

void rp_recipe_read_profile(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"compute", "workspace"};
    const rp_node *section;
    int profile = 0;

    if (reader->status != RP_OK)
        return;
    rp_node_read_choice(reader, top, "profile", &profile, 0, profile_names, 2);
    out->pinned = profile == 1;
    if (!rp_node_applies(reader, top, "pinned", out->pinned, "with profile: pinned"))
        return;
    if (rp_recipe_tries(out)) {
        rp_node_refuse(reader, rp_node_find(top, "profile"), "profile",
                       "pinned is for one run: without data.fold: all, search and challengers");
        return;
    }
    section = rp_node_section(reader, top, "pinned");
    if (reader->status != RP_OK)
        return;
    if (section == NULL || rp_node_find(section, "compute") == NULL) {
        rp_node_refuse(reader, rp_node_find(top, "profile"), "pinned.compute",
                       "required: which products the library computes, f32, f64, tf32 or bf16 (docs/pinned.md)");
        return;
    }
    rp_recipe_check_keys(reader, section, "pinned", keys, sizeof keys / sizeof *keys);
    rp_node_read_choice(reader, section, "pinned.compute", &out->library.compute, 0, rp_pinned_compute_names(),
                        RP_PINNED_COMPUTES);
    rp_node_read_int(reader, section, "pinned.workspace", &out->library.workspace, RP_PINNED_WORKSPACE, 1,
                     RP_PINNED_WORKSPACE_MOST);
}
