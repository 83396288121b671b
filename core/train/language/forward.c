/* SPDX-License-Identifier: Apache-2.0
 * Which of the two models a recipe on a text has. */
#include "core/train/language/forward.h"

#include "core/train/language/gpt.h"
#include "core/train/programs/saved.h"

rp_status rp_language_model_init(rp_model *m, const rp_recipe *recipe, size_t tokens, rp_error *err)
{
    rp_status status;

    if (!recipe->program.named)
        return rp_gpt_init(m, recipe, tokens, err);
    *m = (rp_model){.recipe = recipe,
                    .features = (size_t)recipe->text.length,
                    .outputs = tokens,
                    .loss = RP_LOSS_CROSS_ENTROPY,
                    .dtype = RP_F32};
    status = rp_saved_init(m, err);
    return status == RP_OK ? rp_model_check_size(m, err) : status;
}

rp_tensor rp_language_forward(const rp_model *m, const rp_tensor *weight, rp_tensor token, rp_tensor rng)
{
    size_t shape[RP_MAX_RANK];
    rp_dtype dtype;
    int rank;

    if (!m->recipe->program.named)
        return rp_gpt_forward(m, weight, token, rng);
    if (!rp_shape_of(token, &dtype, &rank, shape))
        return rp_no_tensor();
    return rp_reshape(rp_saved_forward(m, weight, token, rng), 2, (size_t[]){shape[0] * shape[1], m->outputs});
}

int64_t rp_language_streams(const rp_model *m, size_t windows)
{
    return m->recipe->program.named ? rp_saved_streams(m, windows) : rp_gpt_streams(m->recipe);
}

bool rp_language_random(const rp_recipe *recipe)
{
    return recipe->program.named ? recipe->program.of->random : recipe->gpt.dropout > 0;
}

size_t rp_language_context(const rp_recipe *recipe)
{
    return (size_t)(recipe->program.named ? recipe->text.length : recipe->gpt.context);
}
