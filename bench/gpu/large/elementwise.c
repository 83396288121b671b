/* SPDX-License-Identifier: Apache-2.0
 * Elementwise kernels on large tensors; the first make what the others read. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "kernels/limits.h"
#include "kernels/walk.h"

void large_randoms(void)
{
    const rp_attr unit[RP_MAX_ATTR] = {{.r = -1}, {.r = 1}, {.i = 5}},
                  normal[RP_MAX_ATTR] = {{.r = 0}, {.r = 1}, {.i = 7}};
    const rp_attr rate[RP_MAX_ATTR] = {{.r = 0.25}, {.i = 9}};
    const rp_view state = flat(RP_I64, rng, 2);
    const size_t all = side * side + 2 * more;
    large_case c = {.name = "uniform f32, 2^32",
                    .kernel = RP_K_uniform,
                    .in = {WHOLE(state)},
                    .n_in = 1,
                    .out = {ALONG(flat(RP_F32, a, all))},
                    .n_out = 1,
                    .attr = unit,
                    .by_items = true};

    large_run(&l, &c);
    c.name = "normal f32, 2^32", c.kernel = RP_K_normal, c.attr = normal;
    c.out[0] = ALONG(flat(RP_F32, o, full + more));
    large_run(&l, &c);
    c = (large_case){.name = "dropout f32, 2^32",
                     .kernel = RP_K_dropout,
                     .in = {ALONG(flat(RP_F32, a, full + more)), WHOLE(state)},
                     .n_in = 2,
                     .out = {ALONG(flat(RP_F32, o, full + more))},
                     .n_out = 1,
                     .attr = rate,
                     .by_items = true};
    large_run(&l, &c);
}

void large_elementwise(void)
{
    const rp_attr to_bf16[RP_MAX_ATTR] = {{.i = RP_BF16}}, to_f32[RP_MAX_ATTR] = {{.i = RP_F32}};
    const rp_attr to_i64[RP_MAX_ATTR] = {{.i = RP_I64}};
    const size_t n = full + more, m = half + more;
    const rp_view x = flat(RP_F32, a, n), y = flat(RP_F32, o, n), beside = flat(RP_F32, a + more, n);

    one("cast f32 to bf16, 2^32", RP_K_cast, x, flat(RP_BF16, narrow, n), to_bf16);
    one("cast bf16 to f32, 2^32", RP_K_cast, flat(RP_BF16, narrow, n), y, to_f32);
    one("cast f32 to i64, 2^31 of 8 bytes", RP_K_cast, flat(RP_F32, a, m), flat(RP_I64, o, m), to_i64);
    two("gt f32, 2^32", RP_K_gt, x, beside, flat(RP_BOOL, truth, n));
    one("logical_not bool, 2^32", RP_K_logical_not, flat(RP_BOOL, truth, n), flat(RP_BOOL, o, n), NULL);
    one("abs f32, 2^31", RP_K_abs, flat(RP_F32, a, m), flat(RP_F32, positive, m), NULL);
    two("add f32, 2^31", RP_K_add, flat(RP_F32, a, m), flat(RP_F32, a + more, m), flat(RP_F32, o, m));
    two("add f32, 2^32", RP_K_add, x, beside, y);
    one("exp f32, 2^32", RP_K_exp, x, y, NULL);
    one("copy bf16, 2^32", RP_K_copy, flat(RP_BF16, narrow, n), flat(RP_BF16, o, n), NULL);
    two("add i64, 2^31 of 8 bytes", RP_K_add, flat(RP_I64, a, half), flat(RP_I64, a + 2 * (more / 2), half),
        flat(RP_I64, o, half));
    one("exp f64, 2^31 of 8 bytes", RP_K_exp, flat(RP_F64, a, m), flat(RP_F64, o, m), NULL);
    large_run(&l, &(large_case){.name = "where f32, 2^32",
                                .kernel = RP_K_where,
                                .in = {ALONG(flat(RP_BOOL, truth, n)), ALONG(x), ALONG(beside)},
                                .n_in = 3,
                                .out = {ALONG(y)},
                                .n_out = 1});
}

void large_adamw(void)
{
    const rp_attr attr[RP_MAX_ATTR] = {{.r = 0.9}, {.r = 0.999}, {.r = 1e-8}, {.r = 0.01}};
    const size_t n = half + more;
    const rp_view rates[3] = {
        {a + 3, RP_F32, 0, {0}, {0}}, {positive + 5, RP_F32, 0, {0}, {0}}, {positive + 6, RP_F32, 0, {0}, {0}}};

    large_run(&l,
              &(large_case){
                  .name = "adamw f32, 2^31",
                  .kernel = RP_K_adamw,
                  .in = {ALONG(flat(RP_F32, a, n)), ALONG(flat(RP_F32, a + half, n)), ALONG(flat(RP_F32, positive, n)),
                         ALONG(flat(RP_F32, a + more, n)), WHOLE(rates[0]), WHOLE(rates[1]), WHOLE(rates[2])},
                  .n_in = 7,
                  .out = {ALONG(flat(RP_F32, o, n)), ALONG(flat(RP_F32, o + n, n)), ALONG(flat(RP_F32, third, n))},
                  .n_out = 3,
                  .attr = attr});
}

/* ---- chains ---- */

enum { STEPS = 3 };

/* last = tanh(x y) + x, by two pieces of scratch. */
static rp_chain chain_of(rp_view x, rp_view y, rp_view last)
{
    rp_chain c = {.count = rp_view_count(&x), .slots = 2, .size = sizeof(float), .n_steps = STEPS, .n_views = 8};

    c.step[0] = (rp_chain_step){RP_K_mul, 0, 2, 2, 1, NULL};
    c.step[1] = (rp_chain_step){RP_K_tanh, 3, 1, 4, 1, NULL};
    c.step[2] = (rp_chain_step){RP_K_add, 5, 2, 7, 1, NULL};
    c.view[0] = c.view[6] = x;
    c.view[1] = y;
    c.view[2] = c.view[3] = c.view[4] = c.view[5] = c.view[7] = last;
    c.scratch[0] = (rp_chain_scratch){2, 0, NULL};
    c.scratch[1] = (rp_chain_scratch){3, 0, NULL};
    c.scratch[2] = (rp_chain_scratch){4, 1, NULL};
    c.scratch[3] = (rp_chain_scratch){5, 1, NULL};
    c.n_scratch = 4;
    return c;
}

static rp_status same_chain_window(rp_view x, rp_view y, rp_view last, size_t first, size_t count, bool *same)
{
    const rp_view part[3] = {large_slice(&x, 0, first, count), large_slice(&y, 0, first, count),
                             large_slice(&last, 0, first, count)};
    rp_view here[3] = {{0}}, made;
    rp_status status = RP_OK;
    rp_chain c;

    for (int v = 0; v < 3 && status == RP_OK; v++)
        status = large_fetch(&l, &here[v], &part[v]);
    made = here[2];
    made.data = calloc(count, sizeof(float));
    if (status == RP_OK && made.data == NULL)
        status = rp_fail(&l.err, RP_ENOMEM, "no memory for a window");
    if (status == RP_OK) {
        c = chain_of(here[0], here[1], made);
        status = rp_device_launch_chain(l.cpu, &c, NULL, &l.err);
    }
    if (status == RP_OK)
        *same = *same && memcmp(made.data, here[2].data, count * sizeof(float)) == 0;
    for (int v = 0; v < 3; v++)
        free(here[v].data);
    free(made.data);
    return status;
}

void large_chain(void)
{
    const char *const name = "chain of mul, tanh and add f32, 2^32";
    const size_t n = full + more;
    const rp_view x = flat(RP_F32, a, n), y = flat(RP_F32, a + more, n), last = flat(RP_F32, o, n);
    const large_case windows = {.in = {ALONG(x)}, .n_in = 1, .out = {ALONG(last)}, .n_out = 1};
    size_t place[LARGE_PLACES], places = large_places(&l, place, &windows);
    const rp_chain c = chain_of(x, y, last);
    bool same = true;
    double begin;
    rp_status status;

    if (!large_begins(&l, name))
        return;
    status = large_poison(&l, o, n * sizeof(float));
    begin = rp_seconds_now();
    if (status == RP_OK)
        status = rp_device_launch_chain(l.device, &c, NULL, &l.err);
    if (status == RP_OK)
        status = rp_device_synchronize(l.device, NULL, &l.err);
    begin = rp_seconds_now() - begin;
    for (size_t i = 0; i < places && status == RP_OK; i++) {
        const size_t from = place[i] > 2048 ? place[i] - 2048 : 0, to = place[i] + 2048 < n ? place[i] + 2048 : n;

        status = same_chain_window(x, y, last, from, to - from, &same);
    }
    if (status == RP_OK)
        large_print(&l, name, begin, 3.0 * (double)n * sizeof(float), same);
    else
        large_failed(&l, name, status);
}
