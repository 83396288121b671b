/* SPDX-License-Identifier: Apache-2.0
 * A recipe on a text: what data:, model: and train: are when data.text is there. Sections that speak of rows and
 * columns have no meaning then and are refused. */
#include <string.h>

#include "core/recipe/recipe_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PATH_LIMIT = 4095, LENGTH_LIMIT = 65536, WIDTH_LIMIT = 65536 };

static const rp_range dropout_range = {0, 0.99, false, false, "a number from 0 to 0.99"};
static const rp_range share_range = {0, 0.9, false, false, "a share from 0 to 0.9"};
static const rp_range non_negative_range = {0, 1e6, false, false, "a number from 0 to 1e6"};

bool rp_recipe_is_text(const rp_node *top)
{
    const rp_node *data = top->kind == RP_NODE_MAPPING ? rp_node_find(top, "data") : NULL;

    return data != NULL && data->kind == RP_NODE_MAPPING && rp_node_find(data, "text") != NULL;
}

/* "bytes", or {bpe: N}. */
static void read_vocabulary(rp_node_reader *reader, const rp_node *data, rp_recipe *out)
{
    static const char *const keys[] = {"bpe"};
    const rp_node *node = rp_node_at(reader, data, "data.vocabulary");

    out->text.tokens = RP_RECIPE_BYTES;
    if (node == NULL || (node->kind == RP_NODE_SCALAR && strcmp(node->text, "bytes") == 0))
        return;
    if (node->kind != RP_NODE_MAPPING || node->count == 0) {
        rp_node_wrong(reader, node, "data.vocabulary", "bytes, or a number of tokens as {bpe: 512}", NULL);
        return;
    }
    rp_recipe_check_keys(reader, node, "data.vocabulary", keys, COUNT(keys));
    rp_node_read_int(reader, node, "data.vocabulary.bpe", &out->text.tokens, RP_RECIPE_BYTES + 1, RP_RECIPE_BYTES + 1,
                     65536);
}

static void read_data(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"text", "vocabulary", "length", "validation"};
    const rp_node *data = rp_node_section(reader, top, "data");

    if (data == NULL)
        return;
    rp_recipe_check_keys(reader, data, "data", keys, COUNT(keys));
    rp_node_read_text(reader, data, "data.text", &out->text.path, NULL, PATH_LIMIT);
    if (out->text.path == NULL)
        rp_node_refuse(reader, data, "data.text", "expected the path of a text file, relative to the recipe");
    read_vocabulary(reader, data, out);
    rp_node_read_int(reader, data, "data.length", &out->text.length, 64, 1, LENGTH_LIMIT);
    rp_recipe_real(reader, data, "data.validation", &out->text.validation, 0.1, &share_range);
}

static void read_required(rp_node_reader *reader, const rp_node *gpt, const char *path, const char *what, int64_t *out,
                          int64_t limit)
{
    if (rp_node_at(reader, gpt, path) == NULL)
        rp_node_refuse(reader, gpt, path, "required: %s", what);
    rp_node_read_int(reader, gpt, path, out, 1, 1, limit);
}

static void read_model(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const of_model[] = {"gpt"};
    static const char *const keys[] = {"layers", "width", "heads", "context", "dropout"};
    const rp_node *model = rp_node_section(reader, top, "model"), *gpt;

    if (model == NULL)
        return;
    if (rp_recipe_names_program(top)) {
        rp_recipe_read_programs(reader, model, out);
        return;
    }
    rp_recipe_check_keys(reader, model, "model", of_model, COUNT(of_model));
    if (reader->status == RP_OK && rp_node_find(model, "gpt") == NULL)
        rp_node_refuse(reader, model, "model.gpt", "required with data.text: e.g. {layers: 4, width: 128, heads: 4}");
    gpt = rp_node_section(reader, model, "model.gpt");
    if (gpt == NULL)
        return;
    rp_recipe_check_keys(reader, gpt, "model.gpt", keys, COUNT(keys));
    read_required(reader, gpt, "model.gpt.layers", "the number of blocks", &out->gpt.layers, RP_GPT_LAYERS);
    read_required(reader, gpt, "model.gpt.width", "the width of a token's vector", &out->gpt.width, WIDTH_LIMIT);
    rp_node_read_int(reader, gpt, "model.gpt.heads", &out->gpt.heads, 1, 1, WIDTH_LIMIT);
    rp_node_read_int(reader, gpt, "model.gpt.context", &out->gpt.context, out->text.length, out->text.length,
                     LENGTH_LIMIT);
    rp_recipe_real(reader, gpt, "model.gpt.dropout", &out->gpt.dropout, 0, &dropout_range);
    if (reader->status == RP_OK && out->gpt.width % out->gpt.heads != 0)
        rp_node_refuse(reader, gpt, "model.gpt.heads", "%lld heads do not divide the width %lld",
                       (long long)out->gpt.heads, (long long)out->gpt.width);
}

static void read_train(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"epochs",  "steps",     "batch",     "shards",  "accumulate",
                                       "shuffle", "clip_norm", "optimizer", "schedule"};
    const rp_node *train = rp_node_section(reader, top, "train");
    int64_t parts;

    if (train == NULL)
        return;
    rp_recipe_check_keys(reader, train, "train", keys, COUNT(keys));
    out->train.epochs = 1; /* other than a table's it is never left open, which would be another default of lr */
    if (rp_node_at(reader, train, "train.steps") != NULL)
        rp_node_read_int(reader, train, "train.steps", &out->train.steps, 1, 1, 1000000000);
    if (rp_node_applies(reader, train, "train.epochs", out->train.steps == 0, "without steps"))
        rp_node_read_int(reader, train, "train.epochs", &out->train.epochs, 1, 1, 1000000);
    rp_node_read_int(reader, train, "train.batch", &out->train.batch, 32, 1, 1 << 20);
    rp_node_read_int(reader, train, "train.shards", &out->train.shards, 1, 1, 4096);
    rp_node_read_int(reader, train, "train.accumulate", &out->train.accumulate, 1, 1, 4096);
    parts = out->train.shards * out->train.accumulate;
    if (reader->status == RP_OK && out->train.batch % parts != 0)
        rp_node_refuse(reader, rp_node_find(train, "batch"), "train.batch",
                       "expected a multiple of shards * accumulate = %lld, found %lld", (long long)parts,
                       (long long)out->train.batch);
    rp_node_read_bool(reader, train, "train.shuffle", &out->train.shuffle, true);
    rp_recipe_real(reader, train, "train.clip_norm", &out->train.clip_norm, 0, &non_negative_range);
    out->train.loss = RP_LOSS_CROSS_ENTROPY;
    out->train.drop_last = true;
    rp_recipe_read_optimizer(reader, train, out);
    rp_recipe_read_schedule(reader, train, out);
}

void rp_recipe_read_text(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const rows[] = {"parent",      "weights", "predecessor", "search",
                                       "challengers", "profile", "validation",  "pinned"};

    for (size_t i = 0; i < COUNT(rows); i++)
        (void)rp_node_applies(reader, top, rows[i], false, "to a recipe on a table, with data.csv");
    read_data(reader, top, out);
    read_model(reader, top, out);
    read_train(reader, top, out);
}
