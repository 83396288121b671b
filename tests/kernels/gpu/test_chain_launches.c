/* SPDX-License-Identifier: Apache-2.0
 * Chains over tensors that no host can execute, hashes of many messages and downloads of many pieces: what the driver
 * (recording.h) is told of covers each element once a step, piece after piece, and what lies between the pieces'
 * launches stays where the device has memory for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/gpu/chain/program.h"
#include "kernels/gpu/hash/sha256_args.h"
#include "kernels/gpu/move/move_args.h"
#include "tests/kernels/gpu/recorded_device.h"

enum { SCRATCH_MOST = 20 << 20 /* bytes: what a GPU's second-level cache has room for, and a little */ };

typedef unsigned __int128 wide;

static void fails(const char *what, uint64_t found, uint64_t expected)
{
    if (found != expected)
        fail_msg("%s: %llu, expected %llu", what, (unsigned long long)found, (unsigned long long)expected);
}

/* ---- what the launches of a chain cover ---- */

typedef struct coverage {
    const rp_chain *chain;
    uint64_t first, end;       /* elements of the piece that is computed */
    uint64_t pieces, here;     /* pieces, and launches of this one so far */
    uint64_t a_piece;          /* launches of each before; 0: there was none */
    uintptr_t lowest, highest; /* of the scratch */
} coverage;

/* A launch over elements [first, end): of this piece, or the first of the next. */
static void see_piece(coverage *c, uint64_t first, uint64_t end)
{
    if (c->pieces == 0 || first != c->first || end != c->end) {
        fails("the piece begins at", first, c->end);
        if (c->a_piece != 0)
            fails("launches of a piece", c->here, c->a_piece);
        assert_true(end > first && end <= c->chain->count);
        c->a_piece = c->here;
        c->here = 0;
        c->first = first;
        c->end = end;
        c->pieces++;
    }
    c->here++;
}

static bool is_memory(const rp_chain *chain, const void *at)
{
    for (size_t v = 0; v < chain->n_views; v++)
        if (chain->view[v].data == at)
            return true;
    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].stream == at)
            return true;
    return false;
}

/* Where the elements of the piece lie whose element 0 is, or would be, at `at`. */
static void see_place(coverage *c, const void *at, size_t size)
{
    const uintptr_t begin = (uintptr_t)at + c->first * size, end = (uintptr_t)at + c->end * size;

    if (is_memory(c->chain, at))
        return;
    assert_true(begin < end);
    c->lowest = c->lowest == 0 || begin < c->lowest ? begin : c->lowest;
    c->highest = end > c->highest ? end : c->highest;
}

static void see_program(coverage *c, const rp_recorded *l, const rp_gpu_chain *p)
{
    const bool is_wide = strcmp(l->name, "rp_gpu_chain_run_wide") == 0;
    const bool is_single = strcmp(l->name, "rp_gpu_chain_run_single") == 0;
    const uint64_t a_block = (uint64_t)l->threads * (is_wide ? RP_GPU_WIDE : is_single ? RP_GPU_SINGLE : RP_GPU_NARROW);

    see_piece(c, p->first, p->count);
    fails("shared memory", l->shared, p->n_kept * a_block * (is_wide ? 8 : 4));
    assert_true((l->blocks[0] - 1) * a_block < p->count - p->first); /* none is idle; they go through it in turns */
    for (u32 k = 0; k < p->n_steps; k++) {
        for (int n = 0; n < p->step[k].n_in; n++) {
            const rp_gpu_step_view *v = &p->view[p->step[k].at[n]];
            wide all = 1;

            if (p->step[k].from[n] == RP_GPU_FROM_WHOLE)
                see_place(c, v->at, v->size);
            for (u32 d = v->axis; d < (u32)v->axis + v->axes && p->step[k].from[n] == RP_GPU_FROM_AXES; d++)
                all *= p->axis[d].length;
            assert_true(all == 1 || all == c->chain->count);
        }
        if (p->step[k].store != RP_GPU_NOWHERE)
            see_place(c, p->view[p->step[k].store].at, p->view[p->step[k].store].size);
    }
}

/* A step's own kernel, of the result and two operands. */
static void see_step(coverage *c, const rp_gpu_map *p)
{
    wide all = 1;

    see_piece(c, p->first, p->count);
    for (int d = 0; d < p->rank; d++)
        all *= p->shape[d];
    assert_true(all == c->chain->count);
    for (int i = 0; i < 3; i++)
        if (p->bytes[i][p->rank - 1] == (i64)c->chain->size)
            see_place(c, p->at[i], c->chain->size);
}

static void see_launch(void *context, const rp_recorded *l)
{
    if (strncmp(l->name, "rp_gpu_chain_run_", 17) == 0)
        see_program(context, l, l->parameters);
    else
        see_step(context, l->parameters);
}

/* ---- chains ---- */

/* A tensor, or what is in a slot of the scratch. */
typedef struct value {
    rp_view view;
    int slot; /* -1: none */
    void *stream;
} value;

static value in_memory(rp_view view)
{
    return (value){view, -1, NULL};
}

static value in_slot(rp_view like, int slot, void *stream)
{
    like.data = NULL;
    return (value){like, slot, stream};
}

static void add_view(rp_chain *c, const value *v)
{
    if (v->slot >= 0) {
        c->scratch[c->n_scratch++] = (rp_chain_scratch){c->n_views, (size_t)v->slot, v->stream};
        c->slots = c->slots > (size_t)v->slot ? c->slots : (size_t)v->slot + 1;
    }
    c->view[c->n_views++] = v->view;
}

static void add_step(rp_chain *c, rp_kernel_id kernel, const value *in, size_t n_in, const value *out)
{
    static const rp_attr none[RP_MAX_ATTR];
    rp_chain_step *step = &c->step[c->n_steps++];

    *step = (rp_chain_step){kernel, c->n_views, n_in, c->n_views + n_in, 1, none};
    for (size_t i = 0; i < n_in; i++)
        add_view(c, &in[i]);
    add_view(c, out);
}

/* The launches that the chain took, when all is as it should be. */
static coverage run(const rp_chain *chain)
{
    coverage c = {.chain = chain};

    on_launch(see_launch, &c);
    if (rp_device_launch_chain(device, chain, NULL, &err) != RP_OK)
        fail_msg("%s", err.text);
    on_launch(NULL, NULL);
    fails("elements", c.end, chain->count);
    if (c.a_piece != 0)
        fails("launches of the last piece", c.here, c.a_piece);
    assert_true(c.highest - c.lowest <= SCRATCH_MOST);
    return c;
}

/* (tanh(x + other)) * (x + other): the sum waits in shared memory, and what tanh makes is stored as well. */
static void one_launch(rp_view x, rp_view other, size_t count)
{
    const rp_view y = dense(x.dtype, x.rank, x.shape), stored = dense(x.dtype, x.rank, x.shape);
    const value sum = in_slot(y, 0, NULL), function = in_slot(y, 1, stored.data), result = in_memory(y);
    rp_chain c = {.count = count, .size = rp_dtype_size(x.dtype)};
    coverage found;

    add_step(&c, RP_K_add, (value[]){in_memory(x), in_memory(other)}, 2, &sum);
    add_step(&c, RP_K_tanh, &sum, 1, &function);
    add_step(&c, RP_K_mul, (value[]){in_slot(y, 1, NULL), sum}, 2, &result);
    found = run(&c);
    fails("pieces", found.pieces, 1);
    fails("launches", found.here, 1);
}

/* The same with -(x + other), and a kernel between that no program knows: three launches a piece. */
static void pieces(rp_view x, rp_view other, size_t count)
{
    const rp_view y = dense(x.dtype, x.rank, x.shape);
    const value sum = in_slot(y, 0, NULL), negated = in_slot(y, 1, NULL), angle = in_slot(y, 2, NULL);
    const value product = in_slot(y, 1, NULL), result = in_memory(y);
    rp_chain c = {.count = count, .size = rp_dtype_size(x.dtype)};
    coverage found;

    add_step(&c, RP_K_add, (value[]){in_memory(x), in_memory(other)}, 2, &sum);
    add_step(&c, RP_K_neg, &sum, 1, &negated);
    add_step(&c, RP_K_atan2, (value[]){negated, in_memory(other)}, 2, &angle);
    add_step(&c, RP_K_mul, (value[]){angle, sum}, 2, &product);
    add_step(&c, RP_K_neg, &product, 1, &result);
    found = run(&c);
    assert_true(found.pieces > 1);
    fails("launches of a piece", found.here, 3);
    assert_true(found.highest - found.lowest > SCRATCH_MOST / 2);
}

static void chains(void **state)
{
    static const rp_dtype types[] = {RP_F32, RP_F64};

    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < COUNTS; i++) {
            const size_t n = counts[i], few = n > 128 * G ? n / 16 : n;
            const rp_view x = DENSE(types[t], n), rows = DENSE(types[t], few, 3);

            one_launch(x, spread(x), n);
            one_launch(rows, turned(DENSE(types[t], 3, few)), 3 * few);
            pieces(DENSE(types[t], few), spread(x), few);
            pieces(rows, turned(DENSE(types[t], 3, few)), 3 * few);
        }
}

/* ---- hashes ---- */

static void see_hash(void *context, const rp_recorded *l)
{
    const rp_gpu_sha256_args *p = l->parameters;
    const uint64_t count = *(const size_t *)context;

    assert_string_equal(l->name, "rp_gpu_sha256");
    fails("messages", p->count, count);
    fails("threads", l->threads, RP_GPU_HASH_BLOCK);
    fails("blocks", l->blocks[0], (count + RP_GPU_HASH_BLOCK - 1) / RP_GPU_HASH_BLOCK);
    assert_true((uintptr_t)p->digest % 16 == 0 && (uintptr_t)p->message == (uintptr_t)p->digest + 32 * count);
}

static void hashes(void **state)
{
    static const size_t messages[] = {1, 31, 32, 33, 1000, 87381, (1 << 20) + 1};

    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        size_t n = messages[i];
        rp_device_message *message = calloc(n, sizeof *message);
        unsigned char *digest = malloc(32 * n);

        assert_true(message && digest);
        for (size_t k = 0; k < n; k++)
            message[k] = (rp_device_message){(const void *)(2 * G + k * 16384), 16384, 0, RP_F32};
        on_launch(see_hash, &n);
        if (rp_device_hash(device, digest, message, n, NULL, &err) != RP_OK)
            fail_msg("%s", err.text);
        on_launch(NULL, NULL);
        free(message);
        free(digest);
    }
}

/* ---- what comes to the host together ---- */

/* What the launches of a list had so far, which is in order. */
typedef struct packs {
    const rp_piece *piece;
    size_t seen, launches;
} packs;

static void see_pack(void *context, const rp_recorded *l)
{
    const rp_gpu_packing *p = l->parameters;
    packs *all = context;
    uint64_t longest = 0;

    assert_string_equal(l->name, "rp_gpu_pack");
    assert_true(l->blocks[0] > 0 && l->blocks[0] <= RP_GPU_PACKED && (uintptr_t)p->to % 16 == 0);
    for (size_t i = 0; i < l->blocks[0]; i++) {
        const rp_piece *piece = &all->piece[all->seen++];

        fails("address", p->piece[i].bytes, (uintptr_t)piece->bytes);
        fails("size", p->piece[i].size, piece->size);
        fails("place", p->piece[i].at, piece->at);
        longest = piece->size > longest ? piece->size : longest;
    }
    fails("threads", l->threads, RP_GPU_PACK_BLOCK);
    assert_true(l->blocks[1] > 0 && l->blocks[1] <= 64 && l->blocks[1] <= (longest + 16383) / 16384 + 1);
    all->launches++;
}

static void downloads(void **state)
{
    static const size_t pieces[] = {2, 239, 240, 241, 480, 1000}, sizes[] = {0, 4, 64, 16384, 1 << 20};
    static unsigned char block[1000 << 12];
    static rp_piece piece[1000];

    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            packs all = {piece, 0, 0};

            for (size_t k = 0; k < pieces[i]; k++)
                piece[k] = (rp_piece){(const void *)(2 * G + k * 16384), (uint32_t)(k == 1 ? sizes[s] : 64),
                                      (uint32_t)(k < 2 ? 64 * k : sizes[s] + 64 * k)};
            on_launch(see_pack, &all);
            if (rp_device_download_many(device, block, piece, pieces[i], NULL, &err) != RP_OK)
                fail_msg("%s", err.text);
            on_launch(NULL, NULL);
            fails("pieces", all.seen, pieces[i]);
            fails("launches", all.launches, (pieces[i] + RP_GPU_PACKED - 1) / RP_GPU_PACKED);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),
        cmocka_unit_test(hashes),
        cmocka_unit_test(downloads),
    };

    return cmocka_run_group_tests(tests, open_device, close_device);
}
