/* SPDX-License-Identifier: Apache-2.0
 * What the models of the zoo share: a main that trains, records, saves on the way and goes on after a kill, and made-up
 * data. Usage of each: NAME OUT.reprise [DIE_AFTER], which kills the process behind that training step, for tests. */
#ifndef EXAMPLES_ZOO_ZOO_H
#define EXAMPLES_ZOO_ZOO_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rp/rp.h"

typedef struct zoo {
    rp_nn_options nn;
    rp_status (*prepare)(rp_nn *nn, rp_error *err); /* fields, initial values, groups */
    unsigned steps, save_every;
    double below;                                 /* the mean loss of the last quarter of the steps is less */
    rp_status (*after)(rp_nn *nn, rp_error *err); /* what is done with the trained model; NULL: nothing */
} zoo;

static inline rp_status zoo_train(const zoo *z, rp_nn *nn, const char *path, uint64_t die_after, rp_error *err)
{
    double sum = 0;
    unsigned n = 0;
    float loss, first = 0;
    const uint64_t begun = rp_nn_steps(nn);

    while (rp_nn_steps(nn) < z->steps) {
        if (rp_nn_train_step(nn, &loss, err) != RP_OK)
            return err->status;
        if (rp_nn_steps(nn) == begun + 1)
            first = loss;
        if (rp_nn_steps(nn) > z->steps - z->steps / 4) {
            sum += (double)loss;
            n++;
        }
        if (rp_nn_steps(nn) % z->save_every == 0 && rp_nn_archive(nn, path, NULL, NULL, err) != RP_OK)
            return err->status;
        if (rp_nn_steps(nn) == die_after)
            (void)raise(SIGKILL);
    }
    if (n == 0)
        return RP_OK;
    printf("steps %llu to %u, loss from %.4f to %.4f\n", (unsigned long long)begun + 1, z->steps, (double)first,
           sum / n);
    return sum / n < z->below ? RP_OK
                              : rp_fail(err, RP_EDATA, "the loss is %.4f, expected less than %.4f", sum / n, z->below);
}

static inline rp_status zoo_run(const zoo *z, rp_nn *nn, const char *path, uint64_t die_after, rp_error *err)
{
    char id[RP_DIGEST_HEX];
    uint64_t begun;
    rp_status status = z->prepare(nn, err);

    if (status == RP_OK)
        status =
            rp_nn_record(nn, &(rp_nn_recording){.resume = path}, err); /* goes on behind an archive that is there */
    begun = rp_nn_steps(nn);
    if (status == RP_OK)
        status = zoo_train(z, nn, path, die_after, err);
    if (status == RP_OK && z->after && begun < z->steps)
        status = z->after(nn, err);
    if (status == RP_OK)
        status = rp_nn_archive(nn, path, NULL, id, err);
    if (status == RP_OK)
        printf("archive %s\n", id);
    return status;
}

static inline int zoo_main(const zoo *z, int argc, char **argv)
{
    rp_error err = {0};
    rp_nn *nn = NULL;
    rp_status status = argc == 2 || argc == 3 ? rp_nn_new(&nn, &z->nn, &err)
                                              : rp_fail(&err, RP_EARG, "usage: NAME OUT.reprise [DIE_AFTER]");

    if (status == RP_OK)
        status = zoo_run(z, nn, argv[1], argc == 3 ? strtoull(argv[2], NULL, 10) : 0, &err);
    if (status != RP_OK)
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
    rp_nn_free(nn);
    return rp_exit_code(status);
}

/* Numbers that are the same everywhere: multiples of 2^-8 in [-1, 1). */
static inline float zoo_number(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int)(*seed >> 23) / 256.0f - 1.0f;
}

static inline unsigned zoo_below(uint32_t *seed, unsigned n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

enum { ZOO_LETTERS = 28 }; /* tokens of zoo_text: a space, a full stop, a to z */

/* Sentences of a small grammar, letter by letter. */
static inline void zoo_text(unsigned char *token, size_t n)
{
    static const char *const who[] = {"the auditor", "a model", "the bank", "our validator", "some run"};
    static const char *const does[] = {" reads", " repeats", " signs", " trusts", " compares"};
    static const char *const what[] = {" the archive. ", " every step. ", " a digest. ", " the same bits. "};
    uint32_t seed = 7;
    size_t at = 0;

    while (at < n) {
        const char *const part[] = {who[zoo_below(&seed, 5)], does[zoo_below(&seed, 5)], what[zoo_below(&seed, 4)]};

        for (int i = 0; i < 3; i++)
            for (const char *c = part[i]; *c && at < n; c++)
                token[at++] = (unsigned char)(*c == ' ' ? 0 : *c == '.' ? 1 : *c - 'a' + 2);
    }
}

/* Columns begin .. end - 1 of tokens [n, length]. */
static inline rp_tensor zoo_columns(rp_tensor x, size_t begin, size_t end)
{
    size_t shape[RP_MAX_RANK] = {0};
    rp_dtype dtype;
    int rank;

    (void)rp_shape_of(x, &dtype, &rank, shape);
    return rp_slice(x, (size_t[]){0, begin}, (size_t[]){shape[0], end});
}

static inline size_t zoo_length(rp_tensor x, int axis)
{
    size_t shape[RP_MAX_RANK] = {0};
    rp_dtype dtype;
    int rank;

    return rp_shape_of(x, &dtype, &rank, shape) && axis < rank ? shape[axis] : 0;
}

/* Images of side x side with one bar, lying or standing, which is the label. */
static inline void zoo_bars(float *image, int *label, size_t images, size_t side)
{
    uint32_t seed = 3;

    for (size_t i = 0; i < images; i++) {
        const size_t at = zoo_below(&seed, (unsigned)side);

        label[i] = (int)zoo_below(&seed, 2);
        for (size_t k = 0; k < side * side; k++)
            image[i * side * side + k] = (label[i] ? k % side : k / side) == at ? 1.0f : 0.0f;
    }
}

#endif
