/* SPDX-License-Identifier: Apache-2.0
 * Convolutions with a chain behind them, forward and transposed: bits are those of the eager tape at every level and
 * number of threads, whatever the shape and whoever else reads what they make, and it is one call where it should be.
 */
#include "core/run/run_private.h"
#include "kernels/chain/epilogue.h"
#include "rp/image.h"
#include "tests/core/run/plan_steps.h"
#include "tests/house/sanitized.h"

enum { PROGRAMS = SANITIZED ? 10 : 60 };
static const unsigned cuts[] = {1, 2, 3, 7};

static size_t launches(const rp_program *p, rp_device *device, unsigned passes)
{
    return of_plan(p, device, passes, rp_plan_launches);
}

static rp_program *taken(rp_graph *g)
{
    rp_error err = {0};
    rp_program *p;

    if (rp_graph_status(g, &err) != RP_OK)
        fail_msg("%s", err.text);
    p = rp_graph_take_program(g, &err);
    assert_non_null(p);
    return p;
}

/* ---- random ones ---- */

typedef struct drawing {
    uint64_t seed;
    uint32_t drawn;
} drawing;

static size_t pick(drawing *d, size_t n)
{
    return rp_random_u32(d->seed, 91, 4, d->drawn++) % n;
}

typedef struct conv {
    size_t r, s, groups, stride;
    bool back; /* transposed: the way of the gradient */
} conv;

/* Of c channels to k, which may become another number. */
static conv draw(drawing *d, size_t c, size_t *k)
{
    static const size_t sides[] = {1, 1, 3, 3, 2, 5};
    conv v = {.r = sides[pick(d, 6)], .s = sides[pick(d, 6)], .groups = 1, .stride = 1 + (pick(d, 3) == 0)};
    const size_t kind = pick(d, 6);

    if (kind == 0 || (kind == 1 && c % 4 == 0)) {
        *k = c;
        v.groups = kind == 0 ? c : c / 4;
    } else if (kind == 2 && c % 4 == 0 && *k % 4 == 0) {
        v.groups = 4;
    }
    v.back = pick(d, 3) == 0;
    return v;
}

static rp_tensor put_conv(const conv *v, rp_tensor x, size_t k, const char *name)
{
    const rp_type type = *rp_tensor_type(x);
    const rp_placement place = {.stride = {v->stride, v->stride},
                                .padding = {v->r / 2, v->s / 2, (v->r - 1) / 2, (v->s - 1) / 2}};
    const size_t c = type.shape[3];
    const rp_type weight = {type.dtype, 4, {v->r, v->s, (v->back ? k : c) / v->groups, v->back ? c : k}};
    rp_tensor w = rp_graph_input(x.graph, RP_INPUT_DATA, name, &weight, NULL);

    return v->back ? rp_conv2d_transpose(x, w, (rp_tensor){0}, v->groups, &place, NULL)
                   : rp_conv2d(x, w, (rp_tensor){0}, v->groups, &place);
}

/* A few steps over y; some read what is the same for all pixels, or for all channels, or another image. */
static rp_tensor some_steps(drawing *d, rp_tensor y, size_t number)
{
    const rp_type type = *rp_tensor_type(y);
    const rp_dtype dtype = type.dtype;
    rp_graph *g = y.graph;
    const size_t k = type.shape[3];
    rp_tensor z = y;
    char name[48];

    for (size_t i = 0, n = 1 + pick(d, 5); i < n; i++) {
        snprintf(name, sizeof name, "v%zu.%zu", number, i);
        switch (pick(d, 9)) {
        case 0:
        case 1:
            z = rp_add(z, rp_graph_input(g, RP_INPUT_DATA, name, &(rp_type){dtype, 1, {k}}, NULL));
            break;
        case 2:
            z = rp_mul(z, rp_graph_input(g, RP_INPUT_DATA, name, &(rp_type){dtype, 1, {k}}, NULL));
            break;
        case 3:
            z = rp_add(z, rp_graph_input(g, RP_INPUT_DATA, name, &type, NULL));
            break;
        case 4:
            z = rp_mul(z, rp_graph_input(g, RP_INPUT_DATA, name,
                                         &(rp_type){dtype, 4, {type.shape[0], type.shape[1], type.shape[2], 1}}, NULL));
            break;
        case 5:
            z = rp_silu(z);
            break;
        case 6:
            z = rp_sub(z, y);
            break;
        default:
            z = rp_relu(z);
        }
    }
    return z;
}

static rp_program *random_new(uint64_t seed)
{
    static const size_t channels[] = {1, 3, 8, 16, 20, 33, 64, 96};
    drawing d = {.seed = seed};
    const rp_dtype dtype = pick(&d, 5) == 0 ? RP_F64 : RP_F32;
    size_t c = channels[pick(&d, 8)], h = 5 + pick(&d, 26);
    const rp_type image = {dtype, 4, {1 + pick(&d, 2), h, 6 + pick(&d, 30), c}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_STATE, "x", &image, NULL), y;

    for (size_t i = 0, n = 1 + pick(&d, 3); i < n; i++) {
        size_t k = pick(&d, 4) == 0 ? c : channels[pick(&d, 8)];
        const conv v = draw(&d, c, &k);
        char name[48];

        snprintf(name, sizeof name, "w%zu", i);
        y = put_conv(&v, x, k, name);
        x = some_steps(&d, y, i);
        c = k;
        if (pick(&d, 3) == 0) { /* which others read too */
            snprintf(name, sizeof name, "r%zu", i);
            rp_graph_set(g, RP_OUTPUT_RESULT, name, pick(&d, 2) ? y : rp_sum(y, (int[]){1, 2}, 2, false));
        }
    }
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", x);
    return taken(g);
}

static void convolutions_and_chains_give_the_bits_of_the_tape(void **state)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    size_t joined = 0;
    char what[96];

    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        rp_program *p = random_new(seed);
        rp_device *device;
        tape expected;

        assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
        expected = tape_new(p, device);
        joined += launches(p, device, RP_PASSES & ~(unsigned)RP_PASS_EPILOGUES) - launches(p, device, RP_PASSES);
        rp_device_free(device);
        for (size_t l = 0; l < levels; l++) {
            if (l + 2 < levels && (seed + l) % 4 != 0)
                continue; /* the lower ones, which make all calls apart, by turns */
            assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[(seed + l) % 4], NULL), RP_OK);
            for (unsigned i = 0; i < 3; i++) {
                plan_passes = i == 0   ? RP_PASSES
                              : i == 1 ? RP_PASS_EPILOGUES | RP_PASS_FUSE | RP_PASS_REUSE
                                       : (rp_random_u32(seed, 1, 5, i) & RP_PASSES) | RP_PASS_EPILOGUES | RP_PASS_FUSE;
                snprintf(what, sizeof what, "seed %d, %s, %u threads, passes %u", (int)seed, level[l],
                         cuts[(seed + l) % 4], plan_passes);
                assert_plan_is(p, &expected, device, what);
            }
            plan_passes = RP_PASSES;
            rp_device_free(device);
        }
        tape_free(&expected);
        rp_program_free(p);
    }
    if (strcmp(level[levels - 1], "ref") != 0 && strcmp(level[levels - 1], "sse2") != 0)
        assert_true(joined > PROGRAMS);
}

/* ---- each way of computing one ---- */

typedef struct way {
    const char *name;
    size_t n, h, w, c, k;
    conv conv;
    rp_dtype dtype;
} way;

static const way ways[] = {{"tiles", 1, 30, 31, 32, 64, {3, 3, 1, 1, false}, RP_F32},
                           {"more pixels than at a time", 1, 90, 91, 6, 64, {3, 3, 1, 1, false}, RP_F32},
                           {"several chunks of taps", 2, 14, 15, 70, 96, {3, 3, 1, 1, false}, RP_F32},
                           {"few pixels, strips of columns", 1, 7, 6, 64, 520, {3, 3, 1, 1, false}, RP_F32},
                           {"a matrix product", 2, 13, 15, 40, 72, {1, 1, 1, 1, false}, RP_F32},
                           {"steps", 1, 40, 41, 20, 40, {3, 3, 1, 2, false}, RP_F32},
                           {"channels that do not mix", 1, 50, 51, 70, 70, {3, 3, 70, 1, false}, RP_F32},
                           {"groups of four", 1, 30, 31, 32, 32, {3, 3, 8, 1, false}, RP_F32},
                           {"groups of many", 1, 30, 31, 40, 60, {3, 3, 2, 1, false}, RP_F32},
                           {"the input's gradient", 1, 30, 31, 32, 64, {3, 3, 1, 1, true}, RP_F32},
                           {"... with steps", 1, 20, 21, 32, 64, {3, 3, 1, 2, true}, RP_F32},
                           {"... to few channels", 1, 60, 61, 32, 3, {3, 3, 1, 1, true}, RP_F32},
                           {"... of channels that do not mix", 1, 50, 51, 70, 70, {3, 3, 70, 1, true}, RP_F32},
                           {"... as a matrix product", 2, 13, 15, 40, 72, {1, 1, 1, 1, true}, RP_F32},
                           {"f64", 1, 20, 21, 16, 24, {3, 3, 1, 1, false}, RP_F64}};

/* relu(conv(x) a + b + other), whose sum before relu is a result too. */
static rp_program *way_new(const way *v)
{
    rp_graph *g = rp_graph_new(NULL);
    const rp_type row = {v->dtype, 1, {v->k}}, image = {v->dtype, 4, {v->n, v->h, v->w, v->c}};
    rp_tensor x = rp_graph_input(g, RP_INPUT_DATA, "x", &image, NULL), y = put_conv(&v->conv, x, v->k, "w");
    const rp_type made = *rp_tensor_type(y);

    y = rp_mul(y, rp_graph_input(g, RP_INPUT_DATA, "a", &row, NULL));
    y = rp_add(y, rp_graph_input(g, RP_INPUT_DATA, "b", &row, NULL));
    y = rp_add(y, rp_graph_input(g, RP_INPUT_DATA, "other", &made, NULL));
    rp_graph_set(g, RP_OUTPUT_RESULT, "z", y);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_relu(y));
    return taken(g);
}

static void every_way_is_one_call_with_the_same_bits(void **state)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    char what[128];

    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        rp_program *p = way_new(&ways[i]);
        rp_device *device;
        tape expected;

        assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
        expected = tape_new(p, device);
        rp_device_free(device);
        for (size_t l = 0; l < levels; l++)
            for (size_t c = 0; c < 4; c++) {
                if (SANITIZED || l + 2 < levels ? c != (i + l) % 4 : l + 1 < levels && c % 2 != i % 2)
                    continue;
                assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[c], NULL), RP_OK);
                snprintf(what, sizeof what, "%s, %s, %u threads", ways[i].name, level[l], cuts[c]);
                assert_plan_is(p, &expected, device, what);
                if (rp_device_has_epilogue(device, ways[i].conv.back ? RP_K_conv2d_grad_input : RP_K_conv2d)) {
                    if (launches(p, device, RP_PASSES) != 1)
                        fail_msg("%s: %zu calls", what, launches(p, device, RP_PASSES));
                    assert_int_equal(launches(p, device, RP_PASSES & ~(unsigned)RP_PASS_EPILOGUES), 2);
                }
                rp_device_free(device);
            }
        tape_free(&expected);
        rp_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_and_chains_give_the_bits_of_the_tape),
        cmocka_unit_test(every_way_is_one_call_with_the_same_bits),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
