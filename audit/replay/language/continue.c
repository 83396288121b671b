/* SPDX-License-Identifier: Apache-2.0
 * Going on with a text by what an archive holds: its recipe's model, its vocabulary, its final weights. */
#include <string.h>

#include "audit/archive/archive_private.h"
#include "audit/drive/budget.h"
#include "audit/record/job_options.h"
#include "audit/record/states.h"
#include "base/handle.h"
#include "base/memory.h"
#include "core/text/vocabulary.h"
#include "core/train/language/forward.h"
#include "core/train/language/next.h"
#include "determinism/decimal.h"
#include "rp/predict.h"

enum { PROMPT_LIMIT = 1 << 20, TOKENS_LIMIT = 1000000 };

typedef struct speaker {
    rp_recipe *recipe;
    rp_vocabulary *vocabulary;
    rp_model model;
    rp_run *run;
    rp_next *next;
    uint16_t *token; /* of the prompt, and what comes behind it */
    size_t n;
} speaker;

static void clear(speaker *s)
{
    rp_next_free(s->next);
    rp_run_free(s->run);
    rp_vocabulary_free(s->vocabulary);
    rp_recipe_free(s->recipe);
    rp_free(s->token);
}

static rp_status load_model(speaker *s, const rp_archive *archive, rp_error *err)
{
    rp_json *recipe = NULL, *vocabulary = NULL;
    rp_status status = rp_archive_read_json(archive, RP_RECIPE_MEMBER, &recipe, err);

    if (status == RP_OK)
        status = rp_recipe_from_json(&s->recipe, recipe, RP_RECIPE_MEMBER, err);
    if (status == RP_OK && !s->recipe->text.path)
        status = rp_fail(err, RP_EFORMAT, RP_RECIPE_MEMBER ": data.text: expected in a run of kind \"text\"");
    if (status == RP_OK)
        status = rp_archive_read_json(archive, RP_VOCABULARY_MEMBER, &vocabulary, err);
    if (status == RP_OK) {
        status = rp_vocabulary_read(&s->vocabulary, vocabulary, err);
        status = status == RP_OK ? RP_OK : rp_fail_at(err, status, RP_VOCABULARY_MEMBER);
    }
    if (status == RP_OK)
        status = rp_language_model_init(&s->model, s->recipe, s->vocabulary->size, err);
    rp_json_free(recipe);
    rp_json_free(vocabulary);
    return status;
}

static rp_status load_weights(speaker *s, const rp_archive *archive, rp_error *err)
{
    rp_set_values values = {.set = NULL};
    const rp_value_source from = rp_values_of(&values);
    rp_tensor_set *weights = NULL;
    rp_status status = rp_tensor_set_open(&weights, archive, RP_FINAL_MEMBER, err);

    for (size_t i = 0; status == RP_OK && i < s->model.n_parameters; i++) {
        const rp_parameter *p = &s->model.parameter[i];
        const rp_safetensor *t = rp_tensor_set_find(weights, p->name);

        if (!t || t->dtype != RP_F32 || t->rank != p->rank ||
            memcmp(t->shape, p->shape, (size_t)p->rank * sizeof *p->shape) != 0)
            status = rp_fail(err, RP_EFORMAT,
                             RP_FINAL_MEMBER ": %s is missing or has another shape than the recipe's model", p->name);
        else
            status = rp_run_add_state(s->run, p->name, RP_F32, p->rank, p->shape, NULL, err);
    }
    values.set = weights;
    if (status == RP_OK)
        status = rp_run_restore(s->run, 0, &from, err);
    rp_tensor_set_free(weights);
    return status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, RP_FINAL_MEMBER) : status;
}

static rp_status check(const rp_archive *archive, const rp_continue_options *o, double *heat, rp_error *err)
{
    *heat = 1;
    if (strcmp(rp_archive_kind(archive), "text") != 0)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "continue: this archive is no run on a text (data.text), so its model goes on with none");
    if (!o->prompt || o->prompt_bytes == 0 || o->prompt_bytes > PROMPT_LIMIT)
        return rp_fail(err, RP_EARG, "continue: expected a text of 1 to %d bytes to go on with, found %zu",
                       (int)PROMPT_LIMIT, o->prompt ? o->prompt_bytes : (size_t)0);
    if (o->tokens == 0 || o->tokens > TOKENS_LIMIT)
        return rp_fail(err, RP_EARG, "continue: expected 1 to %d tokens, found %llu", (int)TOKENS_LIMIT,
                       (unsigned long long)o->tokens);
    if (o->temperature &&
        (!rp_parse_f64(heat, o->temperature, strlen(o->temperature)) || !(*heat >= 1e-6) || *heat > 1e6))
        return rp_fail(err, RP_EARG, "continue: temperature: expected a number from 1e-6 to 1e6, found %.40s",
                       o->temperature);
    return RP_OK;
}

static rp_status prepare(speaker *s, const rp_archive *archive, const rp_continue_options *o, const rp_job_options *job,
                         rp_error *err)
{
    const rp_run_options run = rp_job_run_options(job);
    rp_budget budget = {.work = 0};
    uint16_t *prompt = NULL;
    rp_price price;
    rp_status status = load_model(s, archive, err);

    if (status == RP_OK)
        status = rp_run_new(&s->run, &run, err);
    if (status == RP_OK)
        status = load_weights(s, archive, err);
    if (status == RP_OK)
        status = rp_vocabulary_encode(s->vocabulary, o->prompt, o->prompt_bytes, &prompt, &s->n, err);
    if (status == RP_OK)
        status = rp_next_new(&s->next, &s->model, s->run, err);
    if (status == RP_OK) {
        price = rp_next_price(s->next);
        status = rp_budget_add(&budget, &price, o->tokens, job, "tokens", err);
    }
    if (status == RP_OK) {
        s->token = rp_reallocarray(prompt, s->n + (size_t)o->tokens, sizeof *s->token);
        if (s->token)
            return RP_OK;
        status = rp_no_memory(err);
    }
    rp_free(prompt);
    return status;
}

static rp_status speak(speaker *s, const rp_continue_options *o, double heat, rp_continuation *out, rp_error *err)
{
    rp_choice choice = {.drawn = o->drawn, .seed = o->seed, .temperature = (float)heat};
    rp_buffer text = {0};
    rp_status status = RP_OK;

    out->prompt_tokens = s->n;
    for (uint64_t i = 0; i < o->tokens && status == RP_OK; i++) {
        choice.index = i;
        status = rp_next_token(s->next, s->token, s->n, &choice, &s->token[s->n], err);
        if (status == RP_OK)
            rp_vocabulary_decode(s->vocabulary, s->token[s->n++], &text);
    }
    out->tokens = o->tokens;
    out->length = text.size;
    return rp_buffer_finish(&text, status, &out->text, err);
}

rp_status rp_continue_text(const rp_archive *archive, const rp_continue_options *options, const rp_job_options *job,
                           rp_continuation **out, rp_error *err)
{
    if (!out)
        return rp_no_handle(err, __func__, "out");
    *out = NULL;
    if (!archive || !options)
        return rp_no_handle(err, __func__, archive ? "options" : "archive");

    speaker s = {.n = 0};
    double heat;
    rp_continuation *c = rp_calloc(1, sizeof *c);
    rp_status status = c ? check(archive, options, &heat, err) : rp_no_memory(err);

    if (status == RP_OK)
        status = prepare(&s, archive, options, job, err);
    if (status == RP_OK)
        status = speak(&s, options, heat, c, err);
    clear(&s);
    if (status != RP_OK)
        rp_continuation_free(c);
    else
        *out = c;
    return status;
}

void rp_continuation_free(rp_continuation *c)
{
    if (c)
        rp_free(c->text);
    rp_free(c);
}
