/* SPDX-License-Identifier: Apache-2.0
 * Models of their published size from rp/nn.h: ResNet-50, GPT-2 small, BERT base, ViT-B/16. Some training steps by
 * AdamW on rows that bench/peers/published_torch.py has drawn, each step's loss, time and the process' memory; the
 * initial weights go to a safetensors file, from which PyTorch takes them.
 * Usage: published MODEL ROWS TOKENS FOLDER STEPS, TOKENS 0 for images. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "rp/nn_files.h"
#include "rp/rp.h"

enum { LAYERS = 12, WIDTH = 768, HEADS = 12, SIDE = 224, PATCH = 16, PATCHES = (SIDE / PATCH) * (SIDE / PATCH) };
enum { GPT_WORDS = 50257, GPT_PLACES = 1024, BERT_WORDS = 30522, BERT_PLACES = 512, CLASSES = 1000 };

/* What the models' functions are given. */
typedef struct sizes {
    size_t rows, tokens;
} sizes;

/* ---- ResNet-50 v1.5 ---- */

static rp_tensor conv_norm(rp_nn *nn, const char *conv, const char *norm, rp_tensor x, size_t out, size_t kernel,
                           size_t stride)
{
    const rp_nn_conv how = {.kernel = {kernel, kernel}, .no_bias = true, .place = {.stride = {stride, stride}}};

    return rp_nn_batch_norm(nn, norm, rp_nn_conv2d(nn, conv, x, out, &how));
}

static rp_tensor bottleneck(rp_nn *nn, rp_tensor x, size_t width, size_t stride, bool first)
{
    rp_tensor y = rp_relu(conv_norm(nn, "conv1", "bn1", x, width, 1, 1));

    y = rp_relu(conv_norm(nn, "conv2", "bn2", y, width, 3, stride));
    y = conv_norm(nn, "conv3", "bn3", y, 4 * width, 1, 1);
    if (first)
        x = conv_norm(nn, "downsample.0", "downsample.1", x, 4 * width, 1, stride);
    return rp_relu(rp_add(y, x));
}

static rp_tensor resnet50(rp_nn *nn, const rp_tensor *batch, void *self)
{
    static const size_t blocks[] = {3, 4, 6, 3};
    rp_tensor x = rp_relu(conv_norm(nn, "conv1", "bn1", batch[0], 64, 7, 2));

    (void)self;
    x = rp_max_pool2d(x, 3, 3, &(rp_placement){.stride = {2, 2}, .padding = {1, 1, 1, 1}});
    for (size_t stage = 0; stage < 4; stage++)
        for (size_t i = 0; i < blocks[stage]; i++) {
            rp_nn_scope(nn, "layer%zu.%zu", stage + 1, i);
            x = bottleneck(nn, x, (size_t)64 << stage, stage > 0 && i == 0 ? 2 : 1, i == 0);
            rp_nn_leave(nn);
        }
    x = rp_mean(x, (int[]){1, 2}, 2, false);
    return rp_cross_entropy(rp_nn_linear(nn, "fc", x, CLASSES), batch[1]);
}

/* ---- transformers ---- */

static rp_tensor blocks(rp_nn *nn, rp_tensor x, bool causal)
{
    char name[16];

    for (int i = 0; i < LAYERS; i++) {
        (void)snprintf(name, sizeof name, "h.%d", i);
        x = rp_nn_transformer(nn, name, x, HEADS, &(rp_nn_attention){.causal = causal});
    }
    return rp_nn_layer_norm(nn, "ln_f", x);
}

static rp_tensor embedded(rp_nn *nn, const char *words, const char *places, rp_tensor tokens, size_t n_words,
                          size_t n_places, size_t length)
{
    rp_tensor x = rp_nn_embedding(nn, words, tokens, n_words, WIDTH), number = rp_iota(rp_nn_graph(nn), RP_I32, length);

    return rp_add(x, rp_nn_embedding(nn, places, number, n_places, WIDTH));
}

/* Of n rows of one token more than are seen: each is to be told by those before it. */
static rp_tensor gpt2(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const sizes *s = self;
    const size_t n = s->rows * s->tokens;
    rp_tensor seen = rp_slice(batch[0], (size_t[]){0, 0}, (size_t[]){s->rows, s->tokens});
    rp_tensor told = rp_slice(batch[0], (size_t[]){0, 1}, (size_t[]){s->rows, s->tokens + 1}), x, table;

    x = blocks(nn, embedded(nn, "wte", "wpe", seen, GPT_WORDS, GPT_PLACES, s->tokens), true);
    x = rp_reshape(x, 2, (size_t[]){n, WIDTH});
    table = rp_nn_parameter(nn, "wte.weight", 2, (size_t[]){GPT_WORDS, WIDTH}, (rp_nn_init){0});
    x = rp_matmul(x, rp_transpose(table, NULL));
    return rp_cross_entropy(x, rp_reshape(told, 1, &n));
}

static rp_tensor bert(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const sizes *s = self;
    const size_t n = s->rows * s->tokens;
    rp_tensor x = embedded(nn, "tok", "pos", batch[0], BERT_WORDS, BERT_PLACES, s->tokens);

    x = blocks(nn, rp_nn_layer_norm(nn, "ln", x), false);
    x = rp_nn_linear(nn, "head", rp_reshape(x, 2, (size_t[]){n, WIDTH}), BERT_WORDS);
    return rp_cross_entropy_loss(x, rp_reshape(batch[1], 1, &n),
                                 &(rp_class_options){.ignore = true, .ignore_index = -100});
}

static rp_tensor vit(rp_nn *nn, const rp_tensor *batch, void *self)
{
    const sizes *s = self;
    const rp_nn_conv cut = {.kernel = {PATCH, PATCH}, .valid = true, .place = {.stride = {PATCH, PATCH}}};
    rp_tensor x = rp_nn_conv2d(nn, "patch", batch[0], WIDTH, &cut), first;

    x = rp_reshape(x, 3, (size_t[]){s->rows, PATCHES, WIDTH});
    first = rp_nn_parameter(nn, "cls", 3, (size_t[]){1, 1, WIDTH}, (rp_nn_init){0});
    first = rp_broadcast_to(first, 3, (size_t[]){s->rows, 1, WIDTH});
    x = rp_concat((rp_tensor[]){first, x}, 2, 1);
    x = rp_add(x, rp_nn_parameter(nn, "pos", 3, (size_t[]){1, PATCHES + 1, WIDTH}, rp_nn_normal(0, 0.02)));
    x = rp_slice(blocks(nn, x, false), (size_t[]){0, 0, 0}, (size_t[]){s->rows, 1, WIDTH});
    x = rp_reshape(x, 2, (size_t[]){s->rows, WIDTH});
    return rp_cross_entropy(rp_nn_linear(nn, "head", x, CLASSES), batch[1]);
}

/* ---- rows ---- */

static void *read_rows(const char *folder, const char *model, const char *what, size_t count)
{
    char path[512];
    void *bytes = malloc(count * 4);
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, model, what);
    file = fopen(path, "rb");
    if (!bytes || !file || fread(bytes, 4, count, file) != count) {
        (void)fprintf(stderr, "%s: expected %zu numbers of 4 bytes\n", path, count);
        exit(1);
    }
    (void)fclose(file);
    return bytes;
}

static rp_status add_rows(rp_nn *nn, const char *folder, const char *model, rp_nn_forward *forward, const sizes *s,
                          rp_error *err)
{
    const bool image = s->tokens == 0;
    const size_t length = s->tokens + (forward == gpt2), n = s->rows;
    void *x = read_rows(folder, model, "x", image ? n * SIDE * SIDE * 3 : n * length), *y = NULL;
    rp_status status = image ? rp_nn_array(nn, "x", RP_F32, 4, (size_t[]){n, SIDE, SIDE, 3}, x, err)
                             : rp_nn_array(nn, "x", RP_I32, 2, (size_t[]){n, length}, x, err);

    if (status == RP_OK && forward != gpt2) {
        y = read_rows(folder, model, "y", image ? n : n * length);
        status = rp_nn_array(nn, "y", RP_I32, image ? 1 : 2, (size_t[]){n, length}, y, err);
    }
    free(x);
    free(y);
    return status;
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rp_status train(rp_nn *nn, const char *folder, const char *model, int steps, rp_error *err)
{
    const double start = seconds();
    char path[512];
    rp_status status = rp_nn_build(nn, err);

    printf("built in %.3f s\n", seconds() - start);
    (void)snprintf(path, sizeof path, "%s/%s.safetensors", folder, model);
    if (status == RP_OK)
        status = rp_nn_save(nn, path, &(rp_nn_save_options){.torch = true, .force = true}, err);
    for (int i = 0; i < steps && status == RP_OK; i++) {
        const double before = seconds();
        struct rusage used;
        float loss = 0;

        status = rp_nn_train_step(nn, &loss, err);
        (void)getrusage(RUSAGE_SELF, &used);
        printf("loss %.8g  %.3f s  %ld MiB\n", (double)loss, seconds() - before, used.ru_maxrss / 1024);
        (void)fflush(stdout);
    }
    return status;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        rp_nn_forward *forward;
    } models[] = {{"resnet50", resnet50}, {"gpt2", gpt2}, {"bert", bert}, {"vit", vit}};
    rp_error err = {0};
    rp_status status;
    rp_nn *nn;
    sizes s;
    size_t m = 0;

    while (argc == 6 && m < 4 && strcmp(argv[1], models[m].name) != 0)
        m++;
    if (argc != 6 || m == 4)
        return fprintf(stderr, "usage: published resnet50|gpt2|bert|vit ROWS TOKENS FOLDER STEPS\n"), 2;
    s = (sizes){strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10)};
    status = rp_nn_new(&nn,
                       &(rp_nn_options){.model = models[m].forward,
                                        .self = &s,
                                        .optimizer = rp_nn_adamw(1e-4),
                                        .seed = 1,
                                        .batches = {.batch = s.rows, .in_order = true},
                                        .run = {.threads = 1}},
                       &err);
    if (status == RP_OK)
        status = add_rows(nn, argv[4], argv[1], models[m].forward, &s, &err);
    if (status == RP_OK && models[m].forward == gpt2) {
        status = rp_nn_initialise(nn, "wte.weight", rp_nn_normal(0, 0.02), &err);
        if (status == RP_OK)
            status = rp_nn_initialise(nn, "wpe.weight", rp_nn_normal(0, 0.02), &err);
    }
    if (status == RP_OK)
        status = train(nn, argv[4], argv[1], (int)strtol(argv[5], NULL, 10), &err);
    if (status != RP_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    rp_nn_free(nn);
    return rp_exit_code(err.status);
}
