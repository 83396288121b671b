/* SPDX-License-Identifier: Apache-2.0
 * Preparing a text: the split, the tokens, and where windows begin. */
#include "core/text/corpus.h"

#include "base/memory.h"
#include "determinism/philox.h"

enum { STREAM_SHUFFLE = 0x53000000, STREAM_OFFSET = 0x54000000 };

void rp_corpus_free(rp_corpus *t)
{
    if (!t)
        return;
    rp_vocabulary_free(t->vocabulary);
    rp_free(t->train.token);
    rp_free(t->valid.token);
    rp_free(t);
}

static rp_status encode_part(rp_corpus *t, rp_corpus_part *part, const unsigned char *bytes, size_t size,
                             const char *what, const char *where, rp_error *err)
{
    rp_status status = rp_vocabulary_encode(t->vocabulary, bytes, size, &part->token, &part->n, err);

    part->bytes = size;
    if (status != RP_OK)
        return status;
    if (part->n < t->length + 1)
        return rp_fail(err, RP_EDATA,
                       "%s: the %s part has %zu tokens, but a window and the token behind it are %zu: set a smaller "
                       "data.length, or take a longer text%s",
                       where, what, part->n, t->length + 1,
                       part == &t->valid ? ", or data.validation: 0 for none" : "");
    part->windows = (part->n - 1) / t->length;
    return RP_OK;
}

rp_status rp_corpus_prepare(rp_corpus **out, const rp_recipe *recipe, const void *bytes, size_t size, const char *where,
                            rp_error *err)
{
    const size_t valid = (size_t)((double)size * recipe->text.validation), train = size - valid;
    rp_corpus *t;
    rp_status status = RP_OK;

    *out = NULL;
    if (size > RP_CORPUS_BYTES)
        return rp_fail(err, RP_EDATA, "%s: %zu bytes, expected at most 2^30", where, size);
    t = rp_calloc(1, sizeof *t);
    if (!t)
        return rp_no_memory(err);
    t->length = (size_t)recipe->text.length;
    t->shuffle = recipe->train.shuffle;
    t->seed = recipe->seed;
    status = rp_vocabulary_learn(&t->vocabulary, bytes, train, (size_t)recipe->text.tokens, err);
    if (status == RP_OK)
        status = encode_part(t, &t->train, bytes, train, "training", where, err);
    if (status == RP_OK && recipe->text.validation > 0)
        status = encode_part(t, &t->valid, (const unsigned char *)bytes + train, valid, "validation", where, err);
    if (status != RP_OK)
        rp_corpus_free(t);
    else
        *out = t;
    return status;
}

size_t rp_corpus_per_epoch(const rp_corpus *t)
{
    /* the cuts move by up to length - 1 tokens, so a window may be missing at the end */
    const size_t n = t->shuffle ? (t->train.n - t->length) / t->length : t->train.windows;

    return n ? n : 1;
}

void rp_corpus_order(const rp_corpus *t, uint64_t epoch, int64_t *order)
{
    const size_t n = rp_corpus_per_epoch(t), spare = t->train.n - (n * t->length + 1);
    const size_t most = spare < t->length ? spare : t->length - 1;
    int64_t offset = 0;

    if (t->shuffle) {
        rp_permutation(order, n, t->seed, epoch, STREAM_SHUFFLE);
        offset = (int64_t)(rp_random_u32(t->seed, epoch, STREAM_OFFSET, 0) % (most + 1));
    }
    for (size_t i = 0; i < n; i++)
        order[i] = offset + (t->shuffle ? order[i] : (int64_t)i) * (int64_t)t->length;
}

void rp_corpus_window(const rp_corpus *t, const rp_corpus_part *part, size_t first, int64_t *out)
{
    for (size_t i = 0; i <= t->length; i++)
        out[i] = part->token[first + i];
}
