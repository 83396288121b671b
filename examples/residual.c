/* SPDX-License-Identifier: Apache-2.0
 * A model that no key of a recipe has, saved as programs for `model: {program: ..}` (examples/residual.yaml): a layer
 * whose output is added to its input, and dropout. Usage: residual DIRECTORY; it writes forward.json, evaluate.json and
 * initial.json. */
#include <stdio.h>
#include <stdlib.h>

#include <rp/rp.h>

enum { ROWS = 16, FEATURES = 8, WIDTH = 16, PARAMETERS = 6, NAME = 16 };

static const struct parameter {
    const char *name;
    int rank;
    size_t shape[2];
} parameters[PARAMETERS] = {{"in.weight", 2, {FEATURES, WIDTH}}, {"in.bias", 1, {WIDTH}},
                            {"mid.weight", 2, {WIDTH, WIDTH}},   {"mid.bias", 1, {WIDTH}},
                            {"out.weight", 2, {WIDTH, 1}},       {"out.bias", 1, {1}}};

static rp_type type_of(const struct parameter *p)
{
    return (rp_type){.dtype = RP_F32, .rank = p->rank, .shape = {p->shape[0], p->shape[1]}};
}

/* x [ROWS, FEATURES] -> logits [ROWS, 1] */
static void forward(rp_graph *g, bool training)
{
    const rp_type rows = {.dtype = RP_F32, .rank = 2, .shape = {ROWS, FEATURES}};
    const rp_type three = {.dtype = RP_I64, .rank = 1, .shape = {3}};
    rp_tensor w[PARAMETERS], x = rp_graph_declare(g, RP_INPUT_FEED, "x", &rows), y;

    for (int i = 0; i < PARAMETERS; i++) {
        const rp_type type = type_of(&parameters[i]);

        w[i] = rp_graph_declare(g, RP_INPUT_STATE, parameters[i].name, &type);
    }
    x = rp_gelu(rp_linear(x, w[0], w[1]));
    y = rp_gelu(rp_linear(x, w[2], w[3]));
    if (training)
        y = rp_dropout(y, 0.1, rp_graph_declare(g, RP_INPUT_FEED, "rng", &three), 0);
    x = rp_add(x, y);
    rp_graph_result(g, "logits", rp_linear(x, w[4], w[5]));
}

static void initial(rp_graph *g)
{
    const rp_type two = {.dtype = RP_I64, .rank = 1, .shape = {2}};
    rp_tensor rng = rp_graph_declare(g, RP_INPUT_FEED, "rng", &two);

    for (int i = 0; i < PARAMETERS; i++) {
        const struct parameter *p = &parameters[i];
        rp_tensor first = p->rank == 2 ? rp_normal(rng, i, RP_F32, p->rank, p->shape, 0, 0.25)
                                       : rp_fill(g, RP_F32, p->rank, p->shape, 0);

        rp_graph_update(g, p->name, first);
    }
}

/* The text of the graph, which is freed, into DIRECTORY/name. */
static bool save(rp_graph *g, const char *directory, const char *name)
{
    char path[4096], *text = NULL;
    rp_program *program = NULL;
    rp_error err = {0};
    size_t size = 0;
    FILE *file = NULL;
    bool saved = rp_graph_finish(g, &program, &err) == RP_OK &&
                 rp_program_text(program, NULL, 0, &size, &err) == RP_OK && (text = malloc(size)) != NULL &&
                 rp_program_text(program, text, size, &size, &err) == RP_OK;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    saved = saved && (file = fopen(path, "wb")) != NULL && fwrite(text, 1, size, file) == size;
    saved = (!file || fclose(file) == 0) && saved;
    if (!saved)
        fprintf(stderr, "residual: %s: %s\n", path, err.text[0] ? err.text : "cannot be written");
    rp_program_free(program);
    free(text);
    return saved;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"forward.json", "evaluate.json", "initial.json"};

    if (argc != 2) {
        fprintf(stderr, "usage: residual DIRECTORY\n");
        return 2;
    }
    for (int i = 0; i < 3; i++) {
        rp_graph *g;

        if (rp_graph_symbolic(&g, NULL) != RP_OK)
            return 1;
        if (i == 2)
            initial(g);
        else
            forward(g, i == 0);
        if (!save(g, argv[1], names[i]))
            return 1;
    }
    return 0;
}
