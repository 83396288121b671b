/* SPDX-License-Identifier: Apache-2.0
 * The model: section of a recipe: an optional image with its convolution layers, then the hidden layers. */
#include <stdio.h>
#include <string.h>

#include "core/recipe/recipe_names.h"
#include "core/recipe/recipe_read.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { WIDTH_LIMIT = 65536, WINDOW_LIMIT = 1024 };

/* Near 1 the scale 1 / (1 - p) would leave nothing to learn from. */
static const rp_range dropout_range = {0, 0.99, false, false, "a number from 0 to 0.99"};

static const rp_node *find(const rp_node_reader *reader, const rp_node *mapping, const char *key)
{
    return reader->status == RP_OK ? rp_node_find(mapping, key) : NULL;
}

/* {height, width}: a list of two, or one integer for both. */
static void read_pair(rp_node_reader *reader, const rp_node *map, const char *path, int64_t out[2], int64_t otherwise)
{
    static const char expected[] = "an integer from 1 to 1024, or a list [height, width] of two";
    const rp_node *node = find(reader, map, strrchr(path, '.') + 1);
    bool list = node != NULL && node->kind == RP_NODE_LIST;

    out[0] = out[1] = otherwise;
    if (node == NULL)
        return;
    if (list && node->count != 2) {
        rp_node_wrong(reader, node, path, expected, NULL);
        return;
    }
    for (size_t i = 0; i < 2; i++)
        if (!rp_node_int(list ? &node->child[i] : node, &out[i]) || out[i] < 1 || out[i] > WINDOW_LIMIT)
            rp_node_wrong(reader, list ? &node->child[i] : node, path, expected, NULL);
}

static void read_image(rp_node_reader *reader, const rp_node *node, int64_t image[3])
{
    if (node->kind != RP_NODE_LIST || node->count != 3) {
        rp_node_wrong(reader, node, "model.image", "a list [height, width, channels], e.g. [28, 28, 1]", NULL);
        return;
    }
    for (size_t i = 0; i < 3; i++)
        if (!rp_node_int(&node->child[i], &image[i]) || image[i] < 1 || image[i] > WIDTH_LIMIT)
            rp_node_wrong(reader, &node->child[i], "model.image", "an integer from 1 to 65536", NULL);
}

/* conv2d_winograd is written for one kind of layer. */
static void read_algorithm(rp_node_reader *reader, const rp_node *map, rp_conv_layer *out)
{
    bool fits = out->groups == 1;
    int choice;

    for (size_t d = 0; d < 2; d++)
        fits = fits && out->kernel[d] == 3 && out->stride[d] == 1 && out->dilation[d] == 1;
    rp_node_read_choice(reader, map, "model.conv.algorithm", &choice, 0, rp_algorithm_names, 2);
    out->winograd = choice == 1;
    if (reader->status == RP_OK && out->winograd && !fits)
        rp_node_refuse(reader, rp_node_find(map, "algorithm"), "model.conv.algorithm",
                       "winograd needs kernel 3, stride 1, dilation 1 and groups 1");
}

static void read_layer(rp_node_reader *reader, const rp_node *map, rp_conv_layer *out)
{
    static const char *const keys[] = {"filters", "kernel", "stride",    "dilation", "groups",
                                       "padding", "pool",   "pool_size", "algorithm"};
    int choice;

    if (map->kind != RP_NODE_MAPPING) {
        rp_node_wrong(reader, map, "model.conv", "a mapping, e.g. {filters: 16, kernel: 3}", NULL);
        return;
    }
    rp_recipe_check_keys(reader, map, "model.conv", keys, COUNT(keys));
    if (rp_node_find(map, "filters") == NULL)
        rp_node_refuse(reader, map, "model.conv.filters", "required: the number of output channels");
    rp_node_read_int(reader, map, "model.conv.filters", &out->filters, 1, 1, WIDTH_LIMIT);
    read_pair(reader, map, "model.conv.kernel", out->kernel, 3);
    read_pair(reader, map, "model.conv.stride", out->stride, 1);
    read_pair(reader, map, "model.conv.dilation", out->dilation, 1);
    rp_node_read_int(reader, map, "model.conv.groups", &out->groups, 1, 1, WIDTH_LIMIT);
    rp_node_read_choice(reader, map, "model.conv.padding", &choice, RP_PADDING_SAME, rp_padding_names, 2);
    out->padding = (rp_padding)choice;
    rp_node_read_choice(reader, map, "model.conv.pool", &choice, RP_POOL_NONE, rp_pool_names, 3);
    out->pool = (rp_pooling)choice;
    if (rp_node_applies(reader, map, "model.conv.pool_size", out->pool != RP_POOL_NONE, "with pool: max or avg"))
        read_pair(reader, map, "model.conv.pool_size", out->pool_size, 2);
    read_algorithm(reader, map, out);
}

static void read_conv(rp_node_reader *reader, const rp_node *model, rp_recipe *out)
{
    const rp_node *image = find(reader, model, "image"), *conv = find(reader, model, "conv");

    if (conv == NULL && image == NULL)
        return;
    if (conv == NULL || conv->kind != RP_NODE_LIST || conv->count == 0 || conv->count > RP_MAX_CONV) {
        rp_node_refuse(reader, conv != NULL ? conv : image, "model.conv",
                       "expected a list of 1 to %d convolution layers, e.g. [{filters: 16, kernel: 3}]", RP_MAX_CONV);
        return;
    }
    if (image == NULL) {
        rp_node_refuse(reader, conv, "model.image", "required with model.conv: [height, width, channels]");
        return;
    }
    read_image(reader, image, out->model.image);
    for (size_t i = 0; i < conv->count && reader->status == RP_OK; i++) {
        read_layer(reader, &conv->child[i], &out->model.conv[i]);
        out->model.n_conv = i + 1;
    }
}

static void read_hidden(rp_node_reader *reader, const rp_node *model, rp_recipe *out)
{
    const rp_node *hidden = find(reader, model, "hidden");

    if (hidden == NULL)
        return;
    if (hidden->kind != RP_NODE_LIST || hidden->count > RP_MAX_HIDDEN) {
        rp_node_wrong(reader, hidden, "model.hidden", "a list of at most 16 layer widths, e.g. [64, 32]", NULL);
        return;
    }
    for (size_t i = 0; i < hidden->count; i++) {
        int64_t width = 0;

        if (!rp_node_int(&hidden->child[i], &width) || width < 1 || width > WIDTH_LIMIT)
            rp_node_wrong(reader, &hidden->child[i], "model.hidden", "a layer width from 1 to 65536", NULL);
        out->model.hidden[i] = width;
        out->model.n_hidden = i + 1;
    }
}

bool rp_recipe_names_program(const rp_node *top)
{
    const rp_node *model = rp_node_find(top, "model");

    return model != NULL && model->kind == RP_NODE_MAPPING && rp_node_find(model, rp_role_names[0]) != NULL;
}

/* Paths; in the resolved form programs, which are read from its JSON. */
void rp_recipe_read_programs(rp_node_reader *reader, const rp_node *model, rp_recipe *out)
{
    char path[32];

    out->program.named = true;
    rp_recipe_check_keys(reader, model, "model", rp_role_names, RP_ROLES);
    if (reader->status == RP_OK && rp_node_find(model, rp_role_names[RP_ROLE_INITIAL]) == NULL)
        rp_node_refuse(reader, model, "model.initial",
                       "required with model.program: the path of a program that makes the first states");
    for (size_t i = 0; i < RP_ROLES && reader->status == RP_OK; i++) {
        const rp_node *node = rp_node_find(model, rp_role_names[i]);

        (void)snprintf(path, sizeof path, "model.%s", rp_role_names[i]);
        if (node != NULL && reader->json && node->kind != RP_NODE_MAPPING)
            rp_node_wrong(reader, node, path, "a program", NULL);
        else if (node != NULL && !reader->json)
            rp_node_read_text(reader, model, path, &out->program.path[i], NULL, 4095);
        if (node != NULL && !reader->json && reader->status == RP_OK && out->program.path[i] == NULL)
            rp_node_refuse(reader, node, path, "expected the path of a program");
    }
}

void rp_recipe_read_model(rp_node_reader *reader, const rp_node *top, rp_recipe *out)
{
    static const char *const keys[] = {"image", "conv", "hidden", "activation", "dropout", "layer_norm"};
    const rp_node *model = rp_node_section(reader, top, "model");
    bool layers;
    int choice;

    if (model == NULL)
        return;
    if (rp_recipe_names_program(top)) {
        rp_recipe_read_programs(reader, model, out);
        return;
    }
    rp_recipe_check_keys(reader, model, "model", keys, COUNT(keys));
    read_conv(reader, model, out);
    read_hidden(reader, model, out);
    layers = out->model.n_hidden + out->model.n_conv > 0;
    if (rp_node_applies(reader, model, "model.activation", layers, "with convolution or hidden layers")) {
        rp_node_read_choice(reader, model, "model.activation", &choice, RP_ACT_RELU, rp_activation_names, 4);
        out->model.activation = (rp_activation)choice;
    }
    if (rp_node_applies(reader, model, "model.dropout", out->model.n_hidden > 0, "with hidden layers"))
        rp_recipe_real(reader, model, "model.dropout", &out->model.dropout, 0, &dropout_range);
    if (rp_node_applies(reader, model, "model.layer_norm", layers, "with convolution or hidden layers"))
        rp_node_read_bool(reader, model, "model.layer_norm", &out->model.layer_norm, false);
}
