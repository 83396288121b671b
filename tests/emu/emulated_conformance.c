/* SPDX-License-Identifier: Apache-2.0
 * Every kernel and element type on the emulated device against the reference, bit for bit: the specimens of the
 * conformance table, and more shapes and layouts; in each of the three orders. What lies beside an output must stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "determinism/fpenv.h"
#include "kernels/conformance/specimen_data.h"
#include "kernels/device.h"
#include "tests/house/sanitized.h"
#include "tests/kernels/specimen_compare.h"

static rp_error err;
static const char *chosen; /* its index below names the order */

#define OK(call) \
    do { \
        if ((call) != RP_OK) \
            fail_msg("%s: %s", #call, err.text); \
    } while (0)

/* The specimen's blocks in device memory, and its views there. */
typedef struct far_specimen {
    void *block[RP_SPECIMEN_VIEWS];
    rp_view in[8], out[4];
    rp_kernel_args args;
} far_specimen;

static size_t block_bytes(const rp_specimen *s, size_t n)
{
    const rp_view *view = n < s->args.n_in ? &s->in[n] : &s->out[n - s->args.n_in];

    return s->count[n] * rp_dtype_size(view->dtype);
}

static void move_there(rp_device *d, const rp_specimen *s, far_specimen *f)
{
    const size_t n_in = s->args.n_in, n_out = s->args.n_out;

    *f = (far_specimen){.args = {f->in, n_in, f->out, n_out, s->args.attr}};
    memcpy(f->in, s->in, sizeof f->in);
    memcpy(f->out, s->out, sizeof f->out);
    for (size_t n = 0; n < n_in + n_out; n++) {
        rp_view *view = n < n_in ? &f->in[n] : &f->out[n - n_in];
        const size_t bytes = block_bytes(s, n), offset = (size_t)((char *)view->data - (char *)s->block[n]);

        OK(rp_device_allocate(d, &f->block[n], bytes ? bytes : 1, &err));
        OK(rp_device_upload(d, f->block[n], s->block[n], bytes, NULL, &err));
        view->data = (char *)f->block[n] + offset;
    }
}

/* Outputs come back; all is released. */
static void move_back(rp_device *d, rp_specimen *s, far_specimen *f)
{
    const size_t n_in = s->args.n_in;

    for (size_t i = 0; i < s->args.n_out; i++)
        OK(rp_device_download(d, s->block[n_in + i], f->block[n_in + i], block_bytes(s, n_in + i), NULL, &err));
    OK(rp_device_synchronize(d, NULL, &err));
    for (size_t n = 0; n < n_in + s->args.n_out; n++)
        rp_device_release(d, f->block[n]);
}

static void check(rp_device *d, const rp_specimen_plan *plan)
{
    const rp_kernel_table *ref;
    rp_specimen s;
    far_specimen f;
    outcome want;
    char text[512];

    OK(rp_specimen_make(&s, plan, &err));
    OK(rp_kernel_table_get(&ref, "ref", &err));
    run_cut(ref->kernel[plan->kernel], &s.args, 1);
    want = take_outcome(&s);
    rp_specimen_reset(&s);
    move_there(d, &s, &f);
    if (rp_device_launch(d, plan->kernel, &f.args, NULL, &err) != RP_OK ||
        rp_device_synchronize(d, NULL, &err) != RP_OK) {
        describe_plan(text, sizeof text, plan, rp_device_identity(d), "launch");
        fail_msg("%s: %s", text, err.text);
    }
    move_back(d, &s, &f);
    if (!same_outputs(text, sizeof text, &want, &s, plan, rp_device_identity(d), chosen))
        fail_msg("%s", text);
    drop_outcome(&want);
    rp_specimen_free(&s);
}

enum { OPTIONS = 8 };

/* The specimens of the conformance table, of every kind of data; of each the options that `part` of three takes.
 * Sanitizers look at one kind of data of each option, going round: values choose no address. */
static size_t check_table(rp_device *d, rp_kernel_id id, rp_dtype dtype, int part, rp_specimen_cache *cache)
{
    static const size_t shapes[][3] = {{2, 3, 67}, {5, 7, 19}, {1, 2, 1031}};
    size_t checked = 0;

    for (int option = part; option < OPTIONS; option += 3)
        for (int data = 0; data < RP_DATA_COUNT; data++) {
            const size_t *shape = shapes[(option + data) % 3];
            const rp_specimen_plan plan = {.kernel = id,
                                           .dtype = dtype,
                                           .shape = {shape[0], shape[1], shape[2]},
                                           .option = option,
                                           .layout = (rp_specimen_layout)((option + 2 * data) % RP_LAYOUT_COUNT),
                                           .data = (rp_specimen_data)data,
                                           .seed = 20260101 + (uint64_t)option,
                                           .cache = cache};

            if (SANITIZED && data != (option + option / RP_DATA_COUNT + id) % RP_DATA_COUNT)
                continue;
            check(d, &plan);
            checked++;
        }
    return checked;
}

/* Nothing, one element, one more and one less than a warp, a block or a chunk has. */
static size_t check_edges(rp_device *d, rp_kernel_id id, rp_dtype dtype, int part, rp_specimen_cache *cache)
{
    static const size_t shapes[][3] = {{1, 1, 1},  {0, 3, 5},   {3, 0, 5},  {2, 3, 0},   {3, 2, 64},  {2, 1, 63},
                                       {2, 2, 65}, {13, 17, 2}, {4, 1, 33}, {2, 31, 16}, {2, 3, 513}, {1, 1, 257}};
    size_t checked = 0;

    for (size_t i = (size_t)part; i < sizeof shapes / sizeof *shapes; i += 3, checked++) {
        const rp_specimen_plan plan = {.kernel = id,
                                       .dtype = dtype,
                                       .shape = {shapes[i][0], shapes[i][1], shapes[i][2]},
                                       .option = (int)i + id,
                                       .layout = (rp_specimen_layout)((i + (size_t)id) % RP_LAYOUT_COUNT),
                                       .data = (rp_specimen_data)((i / 3 + (size_t)id) % RP_DATA_COUNT),
                                       .seed = 7 * i,
                                       .cache = cache};

        check(d, &plan);
    }
    return checked;
}

/* Each order has a third of the specimens of every kernel and type. */
static void every_kernel_and_type_has_the_bits_of_the_reference(void **state)
{
    static const char *const orders[] = {"0", "1", "2"};
    size_t checked = 0, pairs = 0;

    (void)state;
    for (int order = 0; order < 3; order++) {
        rp_specimen_cache cache = {0};
        rp_device *d;

        chosen = orders[order];
        (void)setenv("RP_EMULATED_ORDER", chosen, 1);
        OK(rp_device_open(&d, "emulated", NULL, 1, &err));
        for (int id = 0; id < RP_K_COUNT; id++)
            for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++)
                if (rp_specimen_fits((rp_kernel_id)id, (rp_dtype)dtype)) {
                    checked += check_table(d, (rp_kernel_id)id, (rp_dtype)dtype, order, &cache);
                    checked += check_edges(d, (rp_kernel_id)id, (rp_dtype)dtype, order, &cache);
                    pairs += order == 0;
                }
        rp_device_free(d);
        rp_specimen_cache_free(&cache);
    }
    print_message("%zu kernels and types, %zu specimens\n", pairs, checked);
    assert_true(pairs > 200);
}

static int enter(void **state)
{
    static rp_fpenv saved;

    (void)state;
    return rp_fpenv_enter(&saved, NULL, &err) == RP_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_and_type_has_the_bits_of_the_reference)};

    return cmocka_run_group_tests(tests, enter, NULL);
}
