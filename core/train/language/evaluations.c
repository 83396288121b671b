/* SPDX-License-Identifier: Apache-2.0
 * Windows of a text for each step, and what its evaluations come to (CONTRACT 17.3, 17.6). */
#include "base/memory.h"
#include "core/train/figures.h"
#include "core/train/language/language.h"
#include "determinism/math.h"

/* The windows of a part that are evaluated: all, but of the training part no more than the validation part has. */
static size_t windows_of(const rp_trainer *t, bool validation)
{
    const size_t train = t->text->train.windows, valid = t->text->valid.windows;

    return validation ? valid : valid && valid < train ? valid : train;
}

static uint64_t blocks_of(const rp_trainer *t, bool validation)
{
    return (windows_of(t, validation) + (size_t)t->batch - 1) / (size_t)t->batch;
}

uint64_t rp_language_evaluations(const rp_trainer *t)
{
    return blocks_of(t, false) + blocks_of(t, true);
}

static rp_status write_tokens(const rp_compiled *c, const int64_t *token, rp_error *err)
{
    rp_device_tensor feed;

    (void)rp_compiled_feed(c, "tokens", &feed);
    return rp_device_tensor_write(&feed, token, err);
}

rp_status rp_language_feed(rp_trainer *t, int64_t s, rp_error *err)
{
    const int64_t epoch = (s - 1) / t->per_epoch, within = (s - 1) % t->per_epoch;
    const size_t length = t->text->length;
    int64_t *token = rp_reallocarray(NULL, (size_t)t->batch * (length + 1), sizeof *token);
    rp_status status;

    if (!token)
        return rp_no_memory(err);
    if (epoch != t->epoch)
        rp_corpus_order(t->text, (uint64_t)epoch, t->order);
    t->epoch = epoch;
    for (int64_t i = 0; i < t->batch; i++)
        rp_corpus_window(t->text, &t->text->train, (size_t)t->order[within * t->batch + i],
                         token + (size_t)i * (length + 1));
    status = write_tokens(t->full, token, err);
    rp_free(token);
    return status;
}

/* Which part, and its windows from `first` on; a last block is filled up with the part's last window. */
typedef struct block {
    bool validation;
    size_t first, count;
} block;

static block block_of(const rp_trainer *t, uint64_t e)
{
    const bool validation = e >= blocks_of(t, false);
    const size_t first = (size_t)(validation ? e - blocks_of(t, false) : e) * (size_t)t->batch;
    const size_t left = windows_of(t, validation) - first;

    return (block){validation, first, left < (size_t)t->batch ? left : (size_t)t->batch};
}

static const rp_corpus_part *part_of(const rp_trainer *t, bool validation)
{
    return validation ? &t->text->valid : &t->text->train;
}

rp_status rp_language_feed_evaluation(rp_trainer *t, uint64_t e, rp_error *err)
{
    const size_t length = t->text->length;
    const block b = block_of(t, e);
    int64_t *token = rp_reallocarray(NULL, (size_t)t->batch * (length + 1), sizeof *token);
    rp_status status;

    if (!token)
        return rp_no_memory(err);
    for (size_t i = 0; i < (size_t)t->batch; i++)
        rp_corpus_window(t->text, part_of(t, b.validation), (b.first + (i < b.count ? i : b.count - 1)) * length,
                         token + i * (length + 1));
    status = write_tokens(t->eval_train, token, err);
    rp_free(token);
    return status;
}

size_t rp_trainer_least_block(const rp_trainer *t)
{
    size_t least = SIZE_MAX;

    for (int validation = 0; t->text && validation < 2; validation++) {
        const size_t windows = windows_of(t, validation), batch = (size_t)t->batch, left = windows % batch;
        const size_t tokens = (left ? left : batch) * t->text->length;

        if (windows && tokens < least)
            least = tokens;
    }
    return least;
}

rp_status rp_language_judge(rp_trainer *t, uint64_t e, rp_error *err)
{
    const block b = block_of(t, e);
    const rp_corpus_part *part = part_of(t, b.validation);
    const size_t length = t->text->length;
    rp_language_figures *f = &t->figures[b.validation];
    float *value = rp_reallocarray(NULL, 2 * (size_t)t->batch, sizeof *value);
    rp_device_tensor sums, hits;
    rp_status status = value ? RP_OK : rp_no_memory(err);

    (void)rp_compiled_result(t->eval_train, "sums", &sums);
    (void)rp_compiled_result(t->eval_train, "hits", &hits);
    if (b.first == 0)
        *f = (rp_language_figures){0};
    if (status == RP_OK)
        status = rp_device_tensor_read(&sums, value, err);
    if (status == RP_OK)
        status = rp_device_tensor_read(&hits, value + t->batch, err);
    for (size_t i = 0; i < b.count && status == RP_OK; i++) {
        f->loss += (double)value[i];
        f->hits += (double)value[(size_t)t->batch + i];
        f->tokens += length;
        for (size_t k = 1; k <= length; k++)
            f->bytes += t->text->vocabulary->length[part->token[(b.first + i) * length + k]];
    }
    rp_free(value);
    return status;
}

/* ---- outputs/metrics.json ---- */

static rp_json *figures_json(const rp_language_figures *f)
{
    static const double ln2 = 0x1.62e42fefa39efp-1;
    const double tokens = (double)f->tokens, loss = f->loss / tokens;
    rp_json *json = rp_json_pack("{s:I,s:I}", "bytes", (int64_t)f->bytes, "tokens", (int64_t)f->tokens);
    int failed = json == NULL;

    failed = failed || rp_put_figure(json, "loss", loss) != 0 ||
             rp_put_figure(json, "perplexity", rp_exp_f64(loss)) != 0 ||
             rp_put_figure(json, "bits_per_byte", f->loss / ln2 / (double)f->bytes) != 0 ||
             rp_put_figure(json, "accuracy", f->hits / tokens) != 0;
    if (!failed)
        return json;
    rp_json_free(json);
    return NULL;
}

rp_status rp_trainer_language_metrics(const rp_trainer *t, rp_json **out, rp_error *err)
{
    rp_json *json = rp_json_object();
    int failed = json == NULL || rp_json_object_set_new(json, "training", figures_json(&t->figures[0])) != 0;

    if (!failed && t->text->valid.n)
        failed = rp_json_object_set_new(json, "validation", figures_json(&t->figures[1])) != 0;
    *out = failed ? NULL : json;
    if (failed)
        rp_json_free(json);
    return failed ? rp_no_memory(err) : RP_OK;
}
