/* SPDX-License-Identifier: Apache-2.0
 * Chains for the emulated device, made step by step: each step is launched by its ordinary kernel as well, into memory
 * of its own, so that what the chain leaves can be held against it byte by byte. Drawn from a seed: any elementwise
 * operation and type, operands of several layouts, outputs in scratch, in memory, streamed and in place. */
#ifndef TESTS_EMU_CHAINS_RANDOM_STEPS_H
#define TESTS_EMU_CHAINS_RANDOM_STEPS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "determinism/philox.h"
#include "kernels/chain.h"
#include "kernels/conformance/specimen_data.h"
#include "kernels/device.h"

enum {
    MOST = 150000, /* elements */
    OUTPUTS = 2 * RP_CHAIN_STEPS,
    INPUT_BYTES = (MOST + 64) * 8,
    OUTPUT_BYTES = MOST * 8 + 64, /* at most, with a gap */
    PATTERN = 0x7e
};

/* A value of the chain: where it reads it, and where the ordinary kernels do. */
typedef struct made_value {
    rp_view chain, alone;
    size_t slot;         /* RP_CHAIN_SLOTS: none */
    bool streamed, gone; /* gone: its slot is for others */
} made_value;

typedef struct world {
    rp_device *device;
    rp_error err;
    rp_status status;
    char *input[RP_DTYPE_COUNT], *state[RP_DTYPE_COUNT]; /* device memory: read alone, and updated in place */
    char *first[RP_DTYPE_COUNT];                         /* host memory: what a state holds before */
    char *out, *alone;      /* device memory of the outputs, `apart` from one to the next */
    char *expected, *found; /* host memory */
    /* The chain in the making. */
    rp_chain chain;
    rp_attr attr[RP_CHAIN_STEPS][RP_MAX_ATTR];
    made_value value[OUTPUTS];
    size_t n_values, n_outputs, rows, cols;
    size_t apart; /* bytes from one output to the next */
    bool updated[RP_DTYPE_COUNT];
    uint64_t seed, draws;
} world;

/* ---- memory ---- */

static inline void keep_status(world *w, rp_status status)
{
    if (w->status == RP_OK)
        w->status = status;
}

static inline void world_new(world *w, const char *device)
{
    memset(w, 0, sizeof *w);
    keep_status(w, rp_device_open(&w->device, device, NULL, 1, &w->err));
    w->expected = malloc(OUTPUTS * (size_t)OUTPUT_BYTES);
    w->found = malloc(OUTPUTS * (size_t)OUTPUT_BYTES);
    for (int t = 0; t < RP_DTYPE_COUNT && w->status == RP_OK; t++) {
        w->first[t] = malloc(INPUT_BYTES);
        keep_status(w, rp_device_allocate(w->device, (void **)&w->input[t], INPUT_BYTES, &w->err));
        keep_status(w, rp_device_allocate(w->device, (void **)&w->state[t], INPUT_BYTES, &w->err));
    }
    keep_status(w, rp_device_allocate(w->device, (void **)&w->out, OUTPUTS * (size_t)OUTPUT_BYTES, &w->err));
    keep_status(w, rp_device_allocate(w->device, (void **)&w->alone, OUTPUTS * (size_t)OUTPUT_BYTES, &w->err));
}

static inline void world_free(world *w)
{
    for (int t = 0; t < RP_DTYPE_COUNT; t++) {
        free(w->first[t]);
        rp_device_release(w->device, w->input[t]);
        rp_device_release(w->device, w->state[t]);
    }
    rp_device_release(w->device, w->out);
    rp_device_release(w->device, w->alone);
    free(w->expected);
    free(w->found);
    rp_device_free(w->device);
}

/* An empty chain over [rows, cols], other data. */
static inline void begin_chain(world *w, uint64_t seed, size_t rows, size_t cols)
{
    const rp_specimen_data data = (rp_specimen_data)(seed % RP_DATA_COUNT);

    w->chain = (rp_chain){.count = rows * cols};
    w->n_values = w->n_outputs = 0;
    w->rows = rows;
    w->cols = cols;
    w->apart = rows * cols * 8 + 64;
    w->seed = seed;
    w->draws = 0;
    memset(w->updated, 0, sizeof w->updated);
    memset(w->expected, PATTERN, OUTPUTS * w->apart);
    for (int t = 0; t < RP_DTYPE_COUNT && w->status == RP_OK; t++) {
        const size_t bytes = (rows * cols + 64) * rp_dtype_size((rp_dtype)t);

        rp_specimen_fill(NULL, w->first[t], (rp_dtype)t, rows * cols + 64, data, seed, 1);
        keep_status(w, rp_device_upload(w->device, w->input[t], w->first[t], bytes, NULL, &w->err));
        rp_specimen_fill(NULL, w->first[t], (rp_dtype)t, rows * cols + 64, data, seed, 2);
        keep_status(w, rp_device_upload(w->device, w->state[t], w->first[t], bytes, NULL, &w->err));
    }
}

/* ---- operands ---- */

enum { WHOLE, ROW, COLUMN, SCALAR, TURNED, SHIFTED, LAYOUTS };

/* A view of [rows, cols] at the memory. */
static inline rp_view laid_out(const world *w, char *memory, rp_dtype dtype, size_t layout)
{
    const ptrdiff_t rows = (ptrdiff_t)w->rows, cols = (ptrdiff_t)w->cols;
    const ptrdiff_t stride[LAYOUTS][2] = {{cols, 1}, {0, 1}, {1, 0}, {0, 0}, {1, rows}, {cols, 1}};

    return (rp_view){.data = memory + (layout == SHIFTED ? 3 * rp_dtype_size(dtype) : 0),
                     .dtype = dtype,
                     .rank = 2,
                     .shape = {w->rows, w->cols},
                     .stride = {stride[layout][0], stride[layout][1]}};
}

static inline made_value given(const world *w, rp_dtype dtype, size_t layout)
{
    const rp_view view = laid_out(w, w->input[dtype], dtype, layout);

    return (made_value){view, view, RP_CHAIN_SLOTS, false, false};
}

/* Seed and step. */
static inline made_value random_state(const world *w)
{
    const rp_view view = {.data = w->input[RP_I64], .dtype = RP_I64, .rank = 1, .shape = {2}, .stride = {1}};

    return (made_value){view, view, RP_CHAIN_SLOTS, false, false};
}

static inline void add_view(rp_chain *c, const rp_view *view, size_t slot, void *stream)
{
    if (slot < RP_CHAIN_SLOTS) {
        c->scratch[c->n_scratch++] = (rp_chain_scratch){c->n_views, slot, stream};
        if (rp_dtype_size(view->dtype) > c->size)
            c->size = rp_dtype_size(view->dtype);
        if (slot >= c->slots)
            c->slots = slot + 1;
    }
    c->view[c->n_views++] = *view;
}

/* ---- steps ---- */

/* How an output is made. IN_PLACE: over operand 0, a state. */
enum { IN_SCRATCH, IN_MEMORY, STREAMED, IN_PLACE };

/* A slot that holds nothing that can still be read or streamed. */
static inline size_t free_slot(const world *w)
{
    size_t slot = 0;

    for (size_t i = 0; i < w->n_values; i++)
        if (w->value[i].slot == slot && !w->value[i].gone) {
            slot++;
            i = SIZE_MAX;
        }
    return slot;
}

/* Appends the step, and launches it alone. Returns its first output's number; the others are in memory. */
static inline size_t add_step(world *w, rp_kernel_id kernel, const made_value *in, size_t n_in, rp_dtype to,
                              size_t n_out, int how)
{
    rp_chain *c = &w->chain;
    rp_chain_step *s = &c->step[c->n_steps];
    rp_view alone_in[RP_CHAIN_VIEWS], alone_out[3];
    const size_t number = w->n_values;

    *s = (rp_chain_step){kernel, c->n_views, n_in, c->n_views + n_in, n_out, w->attr[c->n_steps]};
    for (size_t i = 0; i < n_in; i++) {
        alone_in[i] = in[i].alone;
        add_view(c, &in[i].chain, in[i].slot, NULL);
    }
    for (size_t o = 0; o < n_out; o++, how = IN_MEMORY) {
        const size_t at = w->n_outputs++ * w->apart;
        const size_t slot = how == IN_SCRATCH || how == STREAMED ? free_slot(w) : RP_CHAIN_SLOTS;
        char *const own = w->out + at;
        made_value *v = &w->value[w->n_values++];

        *v = (made_value){laid_out(w, own, to, WHOLE), laid_out(w, w->alone + at, to, WHOLE), slot, how == STREAMED,
                          false};
        alone_out[o] = v->alone;
        if (how == IN_SCRATCH)
            v->chain.data = NULL;
        else if (how == IN_PLACE)
            v->chain.data = in[0].chain.data;
        add_view(c, &v->chain, v->slot, how == STREAMED ? own : NULL);
        if (v->slot < RP_CHAIN_SLOTS) /* for who reads it */
            v->chain.data = NULL;
    }
    c->n_steps++;
    keep_status(w, rp_device_launch(w->device, kernel, &(rp_kernel_args){alone_in, n_in, alone_out, n_out, s->attr},
                                    NULL, &w->err));
    return number;
}

/* ---- drawn ---- */

static inline size_t draw(world *w, size_t below)
{
    return (size_t)rp_random_u32(w->seed, 0, 9, w->draws++) % below;
}

typedef struct drawn_row {
    rp_kernel_id kernel;
    size_t n_in;
    bool to_bool;
} drawn_row;

static const drawn_row drawn_rows[] = {
#define MAP1(name, ...) {RP_K_##name, 1, false},
#define MAP1P MAP1
#define MAP1Q MAP1
#define NUM1 MAP1
#define LOGIC1 MAP1
#define MAP2(name, ...) {RP_K_##name, 2, false},
#define NUM2 MAP2
#define PAIR2 MAP2
#define LOGIC2 MAP2
#define INT2 MAP2
#define COMPARE(name, ...) {RP_K_##name, 2, true},
#include "kernels/operations.def"
    {RP_K_pow_int, 1, false}, {RP_K_cast, 1, false},    {RP_K_where, 3, false},
    {RP_K_cast, 1, false},    {RP_K_where, 3, false},   {RP_K_add, 2, false},
    {RP_K_mul, 2, false},     {RP_K_dropout, 2, false}, {RP_K_sgd, 4, false}};

/* The last value, or another one, or what was given. */
static inline made_value draw_operand(world *w, rp_dtype dtype)
{
    for (int tries = 0; tries < 3; tries++) {
        const size_t back = tries == 0 ? 0 : w->n_values ? draw(w, w->n_values) : 0;

        if (w->n_values > back && draw(w, 4)) {
            const made_value *v = &w->value[w->n_values - 1 - back];

            if (v->chain.dtype == dtype && !v->gone)
                return *v;
        }
    }
    return given(w, dtype, draw(w, 2) ? WHOLE : draw(w, LAYOUTS));
}

static inline made_value state_of_type(const world *w, rp_dtype dtype)
{
    const rp_view view = laid_out(w, w->state[dtype], dtype, WHOLE);

    return (made_value){view, view, RP_CHAIN_SLOTS, false, false};
}

static inline rp_dtype draw_type(world *w, rp_kernel_id kernel)
{
    rp_dtype dtype = w->n_values ? w->value[w->n_values - 1].chain.dtype : RP_F32;

    for (int tries = 0; tries < 20 && (!rp_specimen_fits(kernel, dtype) || draw(w, 8) == 0); tries++)
        dtype = (rp_dtype)draw(w, RP_DTYPE_COUNT);
    return dtype;
}

static inline void draw_attributes(world *w, rp_attr *attr)
{
    memset(attr, 0, RP_MAX_ATTR * sizeof *attr);
    attr[0].r = 0.25 + (double)draw(w, 3) / 8;
    attr[1].r = 0.75;
    attr[0].i = (int64_t)draw(w, 9) - 4;
    attr[1].i = (int64_t)draw(w, 2);
}

/* Now and then the slot of a value is for others, of this step already if it is no operand. */
static inline void forget_one(world *w)
{
    made_value *v;

    if (w->n_values == 0 || draw(w, 3) != 0)
        return;
    v = &w->value[draw(w, w->n_values)];
    v->gone = v->slot < RP_CHAIN_SLOTS && !v->streamed;
}

static inline void draw_step(world *w)
{
    const drawn_row *row = &drawn_rows[draw(w, sizeof drawn_rows / sizeof *drawn_rows)];
    const rp_dtype dtype = draw_type(w, row->kernel);
    const size_t n_out = row->kernel == RP_K_sgd ? 2 : 1;
    rp_attr *attr = w->attr[w->chain.n_steps];
    rp_dtype to = row->to_bool ? RP_BOOL : dtype;
    int how = draw(w, 3) ? IN_SCRATCH : draw(w, 2) ? IN_MEMORY : STREAMED;
    made_value in[4];

    if (!rp_specimen_fits(row->kernel, dtype) || w->chain.n_views + row->n_in + n_out > RP_CHAIN_VIEWS)
        return;
    forget_one(w);
    draw_attributes(w, attr);
    if (row->kernel == RP_K_cast)
        attr[0].i = to = (rp_dtype)draw(w, RP_DTYPE_COUNT);
    for (size_t i = 0; i < row->n_in; i++)
        in[i] = draw_operand(w, row->kernel == RP_K_where && i == 0 ? RP_BOOL : dtype);
    if (row->kernel == RP_K_dropout)
        in[1] = random_state(w);
    if (row->kernel == RP_K_sgd)
        in[3] = given(w, dtype, SCALAR);
    if (to == dtype && dtype != RP_BF16 && row->kernel != RP_K_where && row->kernel != RP_K_cast && !w->updated[to] &&
        draw(w, 5) == 0) {
        in[0] = state_of_type(w, to);
        w->updated[to] = true;
        how = IN_PLACE;
    }
    (void)add_step(w, row->kernel, in, row->n_in, to, n_out, how);
}

/* ---- what is left ---- */

/* Launches the chain over outputs that hold the pattern; what it and its steps left is read. */
static inline void run_chain(world *w, char *alone)
{
    const size_t size = w->n_outputs * w->apart;

    memset(w->found, PATTERN, size);
    keep_status(w, rp_device_upload(w->device, w->out, w->found, size, NULL, &w->err));
    keep_status(w, rp_device_launch_chain(w->device, &w->chain, NULL, &w->err));
    keep_status(w, rp_device_synchronize(w->device, NULL, &w->err));
    if (w->status == RP_OK)
        w->status = rp_device_read(w->device, w->found, w->out, size, NULL, &w->err);
    if (w->status == RP_OK)
        w->status = rp_device_read(w->device, alone, w->alone, size, NULL, &w->err);
}

/* Signs and payloads of NaNs are free inside a computation (CONTRACT 2.3): a compiler may give the one or the other
 * operand's. */
static inline void make_nans_one(rp_dtype dtype, char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        double wide;
        float x;

        if (dtype == RP_F32) {
            memcpy(&x, bytes + i * sizeof x, sizeof x);
            if (x != x)
                memcpy(bytes + i * sizeof x, &(uint32_t){0x7fc00000}, sizeof x);
        } else if (dtype == RP_F64) {
            memcpy(&wide, bytes + i * sizeof wide, sizeof wide);
            if (wide != wide)
                memcpy(bytes + i * sizeof wide, &(uint64_t){0x7ff8000000000000}, sizeof wide);
        } else if (dtype == RP_BF16 || dtype == RP_F16) {
            const uint16_t infinite = dtype == RP_BF16 ? 0x7f80 : 0x7c00;

            memcpy(&half, bytes + i * sizeof half, sizeof half);
            if ((half & 0x7fff) > infinite)
                memcpy(bytes + i * sizeof half, &(uint16_t){dtype == RP_BF16 ? 0x7fc0 : 0x7e00}, sizeof half);
        }
    }
}

/* Output `number`, view o of step k, is what the ordinary kernels made where it is in memory, and all behind it as it
 * was; what was made in place is compared in the same way. */
static inline bool output_is_right(world *w, const char *alone, size_t number, size_t k, size_t o, char *text,
                                   size_t size)
{
    const rp_view *view = &w->chain.view[o];
    const size_t item = rp_dtype_size(view->dtype), bytes = w->chain.count * item;
    char *const made = w->found + number * w->apart, *const want = w->expected + number * w->apart;
    size_t at = 0;

    if ((char *)view->data == w->state[view->dtype])
        keep_status(w, rp_device_read(w->device, made, view->data, bytes, NULL, &w->err));
    if (view->data != NULL) {
        memcpy(want, alone + number * w->apart, bytes);
        make_nans_one(view->dtype, want, w->chain.count);
        make_nans_one(view->dtype, made, w->chain.count);
    }
    while (at < w->apart && made[at] == want[at])
        at++;
    if (at == w->apart)
        return true;
    (void)snprintf(text, size,
                   "seed %llu, [%zu, %zu]: step %zu of %zu, %s to type %d: byte %zu of element %zu: expected %02x, "
                   "found %02x",
                   (unsigned long long)w->seed, w->rows, w->cols, k, w->chain.n_steps,
                   rp_kernel_name(w->chain.step[k].kernel), (int)view->dtype, at % item, at / item,
                   (unsigned char)want[at], (unsigned char)made[at]);
    return false;
}

/* Launches the chain; then its outputs are right. false: text says what is not. */
static inline bool chain_is_its_steps(world *w, char *text, size_t size)
{
    char *const alone = malloc(w->n_outputs * w->apart);
    bool right = alone != NULL;
    size_t number = 0;

    if (right)
        run_chain(w, alone);
    for (size_t k = 0; k < w->chain.n_steps && w->status == RP_OK; k++) {
        const rp_chain_step *step = &w->chain.step[k];

        for (size_t o = step->out; o < step->out + step->n_out && right; o++)
            right = output_is_right(w, alone, number++, k, o, text, size);
    }
    free(alone);
    if (w->status != RP_OK)
        (void)snprintf(text, size, "seed %llu: %s", (unsigned long long)w->seed, w->err.text);
    return right && w->status == RP_OK;
}

#endif
