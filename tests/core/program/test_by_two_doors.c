/* SPDX-License-Identifier: Apache-2.0
 * The same model by two doors, C and PyTorch: the training program of bench/doors/torch_versions.py's perceptron,
 * written here in C, has the bytes that the captured module has. python/tests/test_torch_fixtures.py holds the door to
 * the digest in the fixture; this holds C to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/sha.h>

#include "rp/program.h"
#include "rp/rp.h"

enum { ROWS = 8, IN = 6, WIDTH = 16, CLASSES = 4, PARAMETERS = 6, TEXT_MAX = 1 << 14 };

static const struct parameter {
    const char *name;
    rp_type type;
} parameters[PARAMETERS] = {
    {"0.weight", {RP_F32, 2, {WIDTH, IN}}},      {"0.bias", {RP_F32, 1, {WIDTH}}},
    {"3.weight", {RP_F32, 2, {WIDTH, WIDTH}}},   {"3.bias", {RP_F32, 1, {WIDTH}}},
    {"5.weight", {RP_F32, 2, {CLASSES, WIDTH}}}, {"5.bias", {RP_F32, 1, {CLASSES}}},
};

/* x of rows, w [out, in] as PyTorch keeps it */
static rp_tensor layer(rp_tensor x, rp_tensor w, rp_tensor b)
{
    return rp_add(rp_matmul(x, rp_transpose(w, NULL)), b);
}

/* The mean over the rows whose class is not -100 (`ignore_index`). */
static rp_tensor loss_of(rp_graph *g, rp_tensor logits, rp_tensor classes)
{
    const int first = 0;
    rp_tensor counts = rp_ne(classes, rp_fill(g, RP_I64, 0, NULL, -100)), each[2], loss;

    each[0] = logits;
    each[1] = rp_where(counts, classes, rp_fill(g, RP_I64, 0, NULL, 0));
    rp_append(g, "cross_entropy", NULL, 0, each, 2, &loss, 1);
    loss = rp_where(counts, loss, rp_fill(g, RP_F32, 0, NULL, 0));
    counts = rp_cast(counts, RP_F32);
    loss = rp_sum(loss, &first, 1, false);
    return rp_div(loss, rp_sum(counts, &first, 1, false));
}

static rp_program *by_c(double rate)
{
    static const rp_type rows = {RP_F32, 2, {ROWS, IN}}, labels = {RP_I64, 1, {ROWS}}, two = {RP_I64, 1, {2}};
    rp_tensor p[PARAMETERS], gradient[PARAMETERS], x, classes, rng, loss;
    rp_program *program;
    rp_error err = {0};
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, &err), RP_OK);
    for (int i = 0; i < PARAMETERS; i++)
        p[i] = rp_graph_declare(g, RP_INPUT_STATE, parameters[i].name, &parameters[i].type);
    x = rp_graph_declare(g, RP_INPUT_FEED, "input", &rows);
    classes = rp_graph_declare(g, RP_INPUT_FEED, "x1", &labels);
    x = rp_relu(layer(x, p[0], p[1]));
    rng = rp_graph_declare(g, RP_INPUT_STATE, "rng", &two);
    x = rp_gelu(layer(rp_dropout(x, rate, rng, 0), p[2], p[3]));
    loss = loss_of(g, layer(x, p[4], p[5]), classes);
    rp_gradients(loss, p, PARAMETERS, gradient);
    rp_graph_result(g, "loss", loss);
    for (int i = 0; i < PARAMETERS; i++) {
        char name[32];

        (void)snprintf(name, sizeof name, "grad.%s", parameters[i].name);
        rp_graph_result(g, name, gradient[i]);
    }
    rp_graph_update(g, "rng", rp_add(rng, rp_iota(g, RP_I64, 2)));
    if (rp_graph_finish(g, &program, &err) != RP_OK)
        fail_msg("%s", err.text);
    return program;
}

/* The text, whose size is given; the program is freed. */
static size_t text_of(rp_program *program, char text[TEXT_MAX])
{
    rp_error err = {0};
    size_t size = 0;

    assert_int_equal(rp_program_text(program, text, TEXT_MAX - 1, &size, &err), RP_OK);
    rp_program_free(program);
    assert_in_range(size, 1, TEXT_MAX - 1);
    text[size] = '\0';
    return size;
}

static void digest_of(rp_program *program, char hex[2 * SHA256_DIGEST_LENGTH + 1])
{
    static char text[TEXT_MAX];
    unsigned char digest[SHA256_DIGEST_LENGTH];
    const size_t size = text_of(program, text);

    (void)SHA256((const unsigned char *)text, size, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

/* What the fixture says of the captured module's program, with dropout. */
static void digest_by_torch(char hex[2 * SHA256_DIGEST_LENGTH + 1])
{
    static const char mark[] = "\"programs\":[\"";
    static char text[TEXT_MAX];
    FILE *file = fopen(RP_SOURCE_DIR "/python/tests/fixtures/torch/mlp.json", "rb");
    const char *at;
    size_t size;

    assert_non_null(file);
    size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    at = strstr(text, mark);
    assert_non_null(at);
    (void)snprintf(hex, 2 * SHA256_DIGEST_LENGTH + 1, "%s", at + sizeof mark - 1);
}

static void a_perceptron_in_c_has_the_bytes_of_the_captured_module(void **state)
{
    char c[2 * SHA256_DIGEST_LENGTH + 1], torch[2 * SHA256_DIGEST_LENGTH + 1];

    (void)state;
    digest_of(by_c(0.1), c);
    digest_by_torch(torch);
    assert_string_equal(c, torch);
}

static void another_rate_is_another_program(void **state)
{
    char c[2 * SHA256_DIGEST_LENGTH + 1], torch[2 * SHA256_DIGEST_LENGTH + 1];

    (void)state;
    digest_of(by_c(0.2), c);
    digest_by_torch(torch);
    assert_string_not_equal(c, torch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_perceptron_in_c_has_the_bytes_of_the_captured_module),
        cmocka_unit_test(another_rate_is_another_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
