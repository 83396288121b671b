/* SPDX-License-Identifier: Apache-2.0
 * Operands that do not lie side by side, at every level against the reference: broadcast along any axes, transposed and
 * cut out, in single kernels and in chains; sums over two axes with a kept one between them; and gradients that lie in
 * another order than the weights that they are for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/chain.h"
#include "determinism/fpenv.h"
#include "kernels/walk.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { AXES = 4, MOST = 40000, ROUNDS = 300 };

static double memory[3][3][MOST * 4]; /* of each type */
static double expected[MOST], found[MOST + 1];
static uint64_t state = 88172645463325252u;

static size_t draw(size_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 20) % below;
}

static rp_view dense(void *data, rp_dtype dtype, const size_t *shape)
{
    rp_view v = {data, dtype, AXES, {0}, {0}};
    ptrdiff_t stride = 1;

    for (int d = AXES - 1; d >= 0; d--) {
        v.shape[d] = shape[d];
        v.stride[d] = stride;
        stride *= (ptrdiff_t)shape[d];
    }
    return v;
}

/* The last of its elements first, along an axis. */
static void turn_back(rp_view *v, int axis)
{
    v->data = rp_view_at(v, (ptrdiff_t)(v->shape[axis] - 1) * v->stride[axis]);
    v->stride[axis] = -v->stride[axis];
}

/* As dense, with two axes exchanged, gaps, or broadcast axes; in any of these some axes backwards. */
static rp_view strange(void *data, rp_dtype dtype, const size_t *shape)
{
    const size_t a = draw(AXES), b = draw(AXES), kinds = draw(3);
    size_t turned[AXES];
    rp_view v;

    memcpy(turned, shape, sizeof turned);
    turned[a] = shape[b];
    turned[b] = shape[a];
    v = dense(data, dtype, turned);
    if (kinds == 1) { /* the axes exchanged back: strides out of order */
        const ptrdiff_t stride = v.stride[a];

        v.stride[a] = v.stride[b];
        v.stride[b] = stride;
    } else {
        v = dense(data, dtype, shape);
    }
    for (int d = 0; d < AXES; d++) {
        v.shape[d] = shape[d];
        if (kinds == 0 && draw(2))
            v.stride[d] = 0;
        else if (kinds == 2)
            v.stride[d] *= 2;
        if (draw(4) == 0)
            turn_back(&v, d);
    }
    return v;
}

static void draw_shape(size_t *shape)
{
    static const size_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 33, 40, 64, 100, 130};
    size_t count;

    do {
        count = 1;
        for (int d = 0; d < AXES; d++)
            count *= shape[d] = lengths[draw(sizeof lengths / sizeof *lengths)];
    } while (count > MOST / 2);
}

static const rp_dtype types[3] = {RP_F32, RP_F64, RP_I64};

static int fill(void **unused)
{
    static rp_fpenv saved;

    (void)unused;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < (size_t)MOST * 4; i++) {
            const double x = (double)draw(4001) / 1000 - 2;

            ((float *)memory[0][k])[i] = (float)x;
            memory[1][k][i] = x;
            ((int64_t *)memory[2][k])[i] = (int64_t)(x * 1000);
        }
    return rp_fpenv_enter(&saved, NULL, NULL) != RP_OK;
}

static const rp_kernel_table *level(const char *name)
{
    const rp_kernel_table *table;
    rp_error err;

    assert_int_equal(rp_kernel_table_get(&table, name, &err), RP_OK);
    return table;
}

/* A kernel at every level, in two cuts, beside the reference. */
static void check(rp_kernel_id id, rp_kernel_args *args, rp_view *out, const char *what)
{
    const char *const *names;
    const size_t levels = rp_kernel_levels(&names), bytes = rp_view_count(out) * rp_dtype_size(out->dtype);

    for (size_t l = 0; l < levels; l++) {
        const rp_kernel *kernel = level(names[l])->kernel[id];
        const size_t items = kernel->items(args), cut = draw(items + 1);

        out->data = l == 0 ? expected : found;
        memset(out->data, 0x5a, bytes);
        kernel->run(args, 0, cut);
        kernel->run(args, cut, items);
        if (l > 0 && memcmp(expected, found, bytes) != 0)
            fail_msg("%s, %s at %s: shape %zu %zu %zu %zu, cut %zu", what, rp_kernel_name(id), names[l],
                     args->in[0].shape[0], args->in[0].shape[1], args->in[0].shape[2], args->in[0].shape[3], cut);
    }
}

/* ---- gradients that do not lie as the weights do ---- */

enum { STATES = 3 };
static double weights[2][STATES][MOST];

/* As dense, with the axes in any order; some of them drawn out by gaps. */
static rp_view permuted(void *data, rp_dtype dtype, const size_t *shape)
{
    size_t order[AXES] = {0, 1, 2, 3};
    ptrdiff_t stride = 1;
    rp_view v = {data, dtype, AXES, {0}, {0}};

    for (size_t d = AXES - 1; d > 0; d--) {
        const size_t other = draw(d + 1), kept = order[d];

        order[d] = order[other];
        order[other] = kept;
    }
    for (size_t d = AXES; d-- > 0;) {
        v.shape[order[d]] = shape[order[d]];
        v.stride[order[d]] = stride;
        stride *= (ptrdiff_t)(shape[order[d]] + (draw(8) == 0));
    }
    return v;
}

static void gradients_in_any_order_give_the_same_updates(void **unused)
{
    static const struct {
        rp_kernel_id id;
        size_t states;
    } optimizers[] = {{RP_K_sgd, 2},     {RP_K_adam, 3}, {RP_K_adamw, 3},
                      {RP_K_rmsprop, 3}, {RP_K_lion, 2}, {RP_K_adagrad, 2}};
    static const double rate[2] = {0.01, 0.01};
    static const float rate_f32[2] = {0.01f, 0.01f};
    const char *const *names;
    const size_t levels = rp_kernel_levels(&names);
    rp_attr attr[RP_MAX_ATTR] = {{.i = 0}};

    (void)unused;
    for (int k = 0; k < RP_MAX_ATTR; k++)
        attr[k] = (rp_attr){.r = 0.0625 * (k + 1), .i = k % 2};
    for (size_t round = 0; round < ROUNDS; round++) {
        const size_t which = draw(COUNT(optimizers)), states = optimizers[which].states, type = draw(2);
        const rp_dtype dtype = types[type];
        rp_view in[STATES + 4], out[STATES];
        const rp_kernel_args args = {in, states + 4, out, states, attr};
        size_t shape[AXES], bytes, n;

        draw_shape(shape);
        in[states] = permuted(memory[type][0], dtype, shape);
        for (size_t i = 0; i < 3; i++) /* rates and corrections, as many as it reads */
            in[states + 1 + i] =
                (rp_view){.data = (void *)(type ? (const char *)rate : (const char *)rate_f32), .dtype = dtype};
        n = rp_view_count(&in[states]);
        bytes = n * rp_dtype_size(dtype);
        for (size_t l = 0; l < levels; l++) {
            const rp_kernel *kernel = level(names[l])->kernel[optimizers[which].id];
            const size_t first = draw(n + 1), second = first + draw(n - first + 1);

            for (size_t i = 0; i < states; i++) {
                memcpy(weights[l > 0][i], memory[type][1] + i, bytes);
                in[i] = out[i] = dense(weights[l > 0][i], dtype, shape);
            }
            kernel->run(&args, 0, first);
            kernel->run(&args, first, second);
            kernel->run(&args, second, n);
            for (size_t i = 0; i < states && l > 0; i++)
                if (memcmp(weights[0][i], weights[1][i], bytes) != 0)
                    fail_msg("%s at %s: state %zu of shape %zu %zu %zu %zu, cuts %zu %zu",
                             rp_kernel_name(optimizers[which].id), names[l], i, shape[0], shape[1], shape[2], shape[3],
                             first, second);
        }
    }
}

static void any_layout_of_operands_gives_the_same_bits(void **unused)
{
    static const rp_kernel_id ids[] = {RP_K_add, RP_K_sub, RP_K_mul, RP_K_maximum, RP_K_lt};
    static const rp_kernel_id real[] = {RP_K_div, RP_K_gelu, RP_K_silu, RP_K_exp};

    (void)unused;
    for (size_t round = 0; round < ROUNDS; round++) {
        const rp_dtype dtype = types[round % 3];
        const bool is_real = dtype != RP_I64 && draw(2);
        const rp_kernel_id id = is_real ? real[draw(4)] : ids[draw(5)];
        size_t shape[AXES];
        rp_view in[2], out;
        rp_kernel_args args = {in, is_real && id != RP_K_div ? 1 : 2, &out, 1, NULL};

        draw_shape(shape);
        for (size_t i = 0; i < 2; i++)
            in[i] = draw(3) ? strange(memory[round % 3][i], dtype, shape) : dense(memory[round % 3][i], dtype, shape);
        out = dense(NULL, id == RP_K_lt ? RP_BOOL : dtype, shape);
        check(id, &args, &out, "layout");
    }
}

/* ((a + b) * c) - b with b and c of any layout, the first two results in scratch, against the kernels one by one. */
static void chains_take_any_layout(void **unused)
{
    static const rp_kernel_id step[] = {RP_K_add, RP_K_mul, RP_K_sub};
    const char *const *names;
    const size_t levels = rp_kernel_levels(&names);

    (void)unused;
    for (size_t round = 0; round < ROUNDS; round++) {
        const rp_kernel_table *table = level(names[round % levels]);
        static float kept[2][MOST];
        size_t shape[AXES];
        rp_view a, other[3], out, one[2];
        rp_chain chain = {.slots = 1, .size = 4};

        draw_shape(shape);
        a = dense(memory[0][0], RP_F32, shape);
        other[0] = other[2] = strange(memory[0][1], RP_F32, shape);
        other[1] = strange(memory[0][2], RP_F32, shape);
        out = dense(found, RP_F32, shape);
        chain.count = rp_view_count(&a);
        for (size_t k = 0; k < 3; k++) {
            one[0] = k ? dense(kept[(k - 1) % 2], RP_F32, shape) : a;
            one[1] = other[k];
            out.data = k == 2 ? (void *)expected : kept[k];
            level("ref")->kernel[step[k]]->run(&(rp_kernel_args){one, 2, &out, 1, NULL}, 0, chain.count);
            chain.step[chain.n_steps++] = (rp_chain_step){step[k], chain.n_views, 2, chain.n_views + 2, 1, NULL};
            chain.view[chain.n_views++] = one[0];
            chain.view[chain.n_views++] = one[1];
            out.data = found;
            chain.view[chain.n_views++] = out;
            if (k > 0)
                chain.scratch[chain.n_scratch++] = (rp_chain_scratch){chain.n_views - 3, 0, NULL};
            if (k < 2)
                chain.scratch[chain.n_scratch++] = (rp_chain_scratch){chain.n_views - 1, 0, NULL};
        }
        memset(found, 0x5a, sizeof found);
        rp_chain_run(&chain, table, NULL, 0);
        if (memcmp(expected, found, chain.count * sizeof(float)) != 0)
            fail_msg("chain at %s: shape %zu %zu %zu %zu", table->level, shape[0], shape[1], shape[2], shape[3]);
    }
}

/* Over axes 1 and 3: of few rows and of more than two chunks, of pieces of every length. */
static void sums_around_a_kept_axis_keep_their_order(void **unused)
{
    static const size_t pieces[] = {1, 2, 3, 4, 8, 16, 32, 64};

    (void)unused;
    for (size_t round = 0; round < ROUNDS; round++) {
        const rp_dtype dtype = round % 2 ? RP_F64 : RP_F32;
        const size_t c = pieces[draw(8)], g = 1 + draw(9), n = 1 + draw(2);
        const size_t shape[AXES] = {n, 1 + draw(draw(2) ? 80 : (size_t)MOST * 2 / (n * g * c)), g, c},
                     kept[AXES] = {n, 1, g, 1};
        rp_attr attr[RP_MAX_ATTR] = {{.n = 2, .list = {1, 3}}, {.i = 1}};
        rp_view in, out = dense(NULL, dtype, kept);
        rp_kernel_args args = {&in, 1, &out, 1, attr};

        in = draw(4) ? dense(memory[round % 2][0], dtype, shape) : strange(memory[round % 2][0], dtype, shape);
        check(draw(2) ? RP_K_sum : RP_K_mean, &args, &out, "sum");
    }
}

/* Of elements that are all of their memory, which an address check watches: in order, backwards, and each second one.
 */
static void nothing_beside_the_elements_is_read(void **unused)
{
    static const ptrdiff_t steps[] = {1, -1, 2, -2, 3, -3};

    (void)unused;
    for (size_t type = 0; type < 3; type++)
        for (size_t k = 0; k < COUNT(steps); k++)
            for (size_t cols = 1; cols <= 70; cols++) {
                const size_t size = rp_dtype_size(types[type]), step = (size_t)(steps[k] < 0 ? -steps[k] : steps[k]);
                const size_t bytes = ((cols - 1) * step + 1) * size, shape[AXES] = {1, 1, 1, cols};
                char *const all = malloc(bytes);
                rp_view in[2], out = dense(NULL, types[type], shape);
                rp_kernel_args args = {in, 2, &out, 1, NULL};

                assert_non_null(all);
                memcpy(all, memory[type][0], bytes);
                in[0] = dense(all, types[type], shape);
                in[0].stride[AXES - 1] = (ptrdiff_t)step;
                if (steps[k] < 0)
                    turn_back(&in[0], AXES - 1);
                in[1] = dense(memory[type][1], types[type], shape);
                check(RP_K_add, &args, &out, "step");
                args.n_in = 1;
                check(RP_K_neg, &args, &out, "step");
                check(RP_K_copy, &args, &out, "step");
                free(all);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_in_any_order_give_the_same_updates),
        cmocka_unit_test(any_layout_of_operands_gives_the_same_bits),
        cmocka_unit_test(chains_take_any_layout),
        cmocka_unit_test(nothing_beside_the_elements_is_read),
        cmocka_unit_test(sums_around_a_kept_axis_keep_their_order),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
