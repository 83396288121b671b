/* SPDX-License-Identifier: Apache-2.0
 * Products with a chain behind them: bits are those of the eager tape at every level and number of threads, whatever
 * reads the product's operands, and it is one call where it should be. */
#include "core/run/run_private.h"
#include "kernels/chain/epilogue.h"
#include "tests/core/run/epilogues/frames.h"
#include "tests/house/sanitized.h"

enum { PROGRAMS = SANITIZED ? 8 : 32, POOL = 24, ONE_LEAST = SANITIZED ? 8 : 45 };
enum { FRAMES = SANITIZED ? 6 : 16, FRAMES_LEAST = SANITIZED ? 4 : 40 };
static const unsigned cuts[] = {1, 2, 3, 7};

/* Rows of what is not a product take chains too, where a product does not. */
enum { PRODUCTS = RP_PASSES & ~RP_PASS_ROWS };

static size_t launches(const rp_program *p, rp_device *device, unsigned passes)
{
    return of_plan(p, device, passes, rp_plan_launches);
}

static size_t arena(const rp_program *p, rp_device *device, unsigned passes)
{
    return of_plan(p, device, passes, rp_plan_arena_bytes);
}

/* ---- random programs of products and chains over one square ---- */

typedef struct pool {
    rp_tensor x[POOL];
    size_t n;
    uint64_t seed;
    uint32_t drawn;
} pool;

static size_t pick(pool *p, size_t n)
{
    return rp_random_u32(p->seed, 77, 3, p->drawn++) % n;
}

static rp_tensor any(pool *p)
{
    return p->x[pick(p, p->n)];
}

/* Late values more often: so what a product made is read. */
static rp_tensor late(pool *p)
{
    const size_t back = pick(p, 3);

    return p->x[p->n > back ? p->n - 1 - back : 0];
}

static rp_tensor step(pool *p, rp_tensor row, size_t n)
{
    const rp_tensor a = late(p), b = any(p);

    switch (pick(p, 12)) {
    case 0:
    case 1:
    case 2: /* of a power of two, so that values stay of one size */
        return rp_matmul(rp_scale(a, 1.0 / (double)n), b);
    case 3:
        return rp_matmul(a, rp_transpose(b, NULL));
    case 4:
        return rp_add(a, row);
    case 5:
        return rp_gelu(a);
    case 6:
        return rp_mul(a, b);
    case 7:
        return rp_sub(b, a);
    case 8:
        return rp_relu(a);
    case 9:
        return rp_add(a, rp_transpose(b, NULL));
    case 10:
        return rp_maximum(a, rp_sum(b, (int[]){1}, 1, true));
    default:
        return rp_add(a, b);
    }
}

static void make_more(pool *p, rp_tensor row, size_t n)
{
    const size_t wanted = 8 + pick(p, POOL - 8);

    while (p->n < wanted) {
        p->x[p->n] = step(p, row, n);
        p->n++;
    }
}

static rp_program *scan_new(uint64_t seed, size_t n)
{
    const rp_type type = {RP_F32, 2, {n, n}};
    pool p = {.n = FRAME_MATRICES, .seed = seed};
    rp_tensor vector[FRAME_VECTORS], given[FRAME_MATRICES];
    rp_graph *g = frame_begin(&type, p.x, vector);

    make_more(&p, vector[0], n);
    given[0] = late(&p);
    given[1] = pick(&p, 2) ? rp_add(p.x[1], late(&p)) : any(&p);
    given[2] = late(&p);
    return frames_new(g, given, &type, seed);
}

static rp_program *square_new(uint64_t seed, size_t n)
{
    const rp_type type = {RP_F32, 2, {n, n}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor row = rp_graph_input(g, RP_INPUT_DATA, "row", &(rp_type){RP_F32, 1, {n}}, NULL);
    pool p = {.seed = seed};

    p.x[p.n++] = rp_graph_input(g, RP_INPUT_DATA, "d", &type, NULL);
    p.x[p.n++] = rp_graph_input(g, RP_INPUT_STATE, "s0", &type, NULL);
    p.x[p.n++] = rp_graph_input(g, RP_INPUT_STATE, "s1", &type, NULL);
    make_more(&p, row, n);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", p.x[p.n - 1]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "z", late(&p));
    rp_graph_set(g, RP_OUTPUT_STATE, "s0", late(&p));
    rp_graph_set(g, RP_OUTPUT_STATE, "s1", any(&p));
    return finished(g, "squares");
}

/* How many calls fewer there are. blocks: of which the chain writes the first before the product reads the last. */
static size_t check(rp_program *p, const char *name, uint64_t seed, bool blocks)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    size_t joined;
    rp_device *device;
    tape expected;
    char what[96];

    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    expected = tape_new(p, device);
    joined = calls_made(p, device, PRODUCTS & ~(unsigned)RP_PASS_EPILOGUES) - calls_made(p, device, PRODUCTS);
    rp_device_free(device);
    for (size_t l = blocks ? levels - 1 : 0; l < levels; l++) {
        const unsigned threads = blocks ? 1 + seed / 4 % 2 : cuts[(seed + l) % 4];

        assert_int_equal(rp_device_cpu_new(&device, level[l], threads, NULL), RP_OK);
        for (unsigned i = 0; i < 3; i++) {
            plan_passes = i == 0   ? RP_PASSES
                          : i == 1 ? RP_PASS_EPILOGUES | RP_PASS_FUSE | RP_PASS_REUSE
                                   : (rp_random_u32(seed, 1, 5, i) & RP_PASSES) | RP_PASS_EPILOGUES | RP_PASS_FUSE;
            snprintf(what, sizeof what, "%s %d, %s, %u threads, passes %u", name, (int)seed, level[l], threads,
                     plan_passes);
            assert_plan_is(p, &expected, device, what);
        }
        plan_passes = RP_PASSES;
        rp_device_free(device);
    }
    tape_free(&expected);
    rp_program_free(p);
    return joined;
}

static bool joins_here(void)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);

    return strcmp(level[levels - 1], "ref") != 0 && strcmp(level[levels - 1], "sse2") != 0;
}

static void products_and_chains_give_the_bits_of_the_tape(void **state)
{
    size_t joined = 0;

    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++)
        joined += check(square_new(seed, seed % 4 == 3 ? 600 : 48 + seed % 3), "squares", seed, seed % 4 == 3);
    if (joins_here())
        assert_true(joined > ONE_LEAST);
}

static void so_do_those_of_frames(void **state)
{
    size_t joined = 0;

    (void)state;
    for (uint64_t seed = 0; seed < FRAMES; seed++)
        joined += check(scan_new(seed, seed % 8 == 5 ? 600 : 48 + seed % 3), "frames", seed, seed % 8 == 5);
    if (joins_here() && joined < FRAMES_LEAST)
        fail_msg("%zu joined", joined);
}

/* ---- shapes ---- */

typedef struct shape {
    const char *name;
    size_t batch, m, k, n; /* batch 0: matrices */
    rp_dtype dtype;
    bool turned_a, turned_b, half, whole_batch, flat; /* whole_batch: each has a matrix of its own; flat: reshaped */
    bool apart;                                       /* not one call */
} shape;

static rp_tensor input(rp_graph *g, const char *name, const rp_type *type, bool turned)
{
    rp_type as = *type;
    rp_tensor x;

    if (!turned)
        return rp_graph_input(g, RP_INPUT_DATA, name, type, NULL);
    as.shape[as.rank - 2] = type->shape[type->rank - 1];
    as.shape[as.rank - 1] = type->shape[type->rank - 2];
    x = rp_graph_input(g, RP_INPUT_DATA, name, &as, NULL);
    return rp_transpose(x, as.rank == 3 ? (int[]){0, 2, 1} : NULL);
}

/* gelu(a b + row) + other, which is two results. */
static rp_program *shape_new(const shape *s)
{
    const int rank = s->batch ? 3 : 2;
    const rp_type a = s->batch ? (rp_type){s->dtype, 3, {s->batch, s->m, s->k}} : (rp_type){s->dtype, 2, {s->m, s->k}};
    const rp_type b =
        s->whole_batch ? (rp_type){s->dtype, 3, {s->batch, s->k, s->n}} : (rp_type){s->dtype, 2, {s->k, s->n}};
    const rp_type y = rank == 3 ? (rp_type){s->dtype, 3, {s->batch, s->m, s->n}} : (rp_type){s->dtype, 2, {s->m, s->n}};
    const rp_type flat = {s->dtype, 2, {(s->batch ? s->batch : 1) * s->m, s->n}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor left = input(g, "a", &a, s->turned_a), right = input(g, "b", &b, s->turned_b), z, h;
    rp_tensor row = rp_graph_input(g, RP_INPUT_DATA, "row", &(rp_type){s->dtype, 1, {s->n}}, NULL);
    rp_tensor other = rp_graph_input(g, RP_INPUT_DATA, "other", s->flat ? &flat : &y, NULL);
    rp_error err = {0};
    rp_program *p;

    if (s->half) {
        left = rp_cast(left, RP_BF16);
        right = rp_cast(right, RP_BF16);
    }
    h = rp_matmul(left, right);
    if (s->flat)
        h = rp_reshape(h, 2, flat.shape);
    z = rp_add(h, row);
    rp_graph_set(g, RP_OUTPUT_RESULT, "z", z);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_add(rp_gelu(z), other));
    if (rp_graph_status(g, &err) != RP_OK)
        fail_msg("%s: %s", s->name, err.text);
    p = rp_graph_take_program(g, &err);
    assert_non_null(p);
    return p;
}

static const shape shapes[] = {
    {.name = "rows in blocks", .m = 301, .k = 70, .n = 520},
    {.name = "several chunks of k", .m = 131, .k = 1100, .n = 97},
    {.name = "columns in blocks", .m = 37, .k = 40, .n = 4133},
    {.name = "both in blocks, which go past the caches", .m = 1030, .k = 9, .n = 4133},
    {.name = "one row", .m = 1, .k = 33, .n = 3001},
    {.name = "few rows", .m = 3, .k = 600, .n = 1001},
    {.name = "rows of a tile", .m = 12, .k = 65, .n = 512},
    {.name = "read in place", .m = 65, .k = 192, .n = 768},
    {.name = "few columns, so made turned", .m = 1500, .k = 30, .n = 3},
    {.name = "turned matrix, few rows", .m = 17, .k = 64, .n = 300, .turned_b = true},
    {.name = "turned both", .m = 90, .k = 64, .n = 100, .turned_a = true, .turned_b = true},
    {.name = "an empty sum", .m = 60, .k = 0, .n = 60},
    {.name = "batch of one matrix", .batch = 5, .m = 33, .k = 40, .n = 100},
    {.name = "batch of one matrix, reshaped", .batch = 5, .m = 33, .k = 40, .n = 100, .flat = true},
    {.name = "batch of matrices", .batch = 5, .m = 33, .k = 40, .n = 100, .whole_batch = true},
    {.name = "batch of matrices, turned", .batch = 3, .m = 700, .k = 20, .n = 2, .whole_batch = true},
    {.name = "f64", .m = 77, .k = 530, .n = 90, .dtype = RP_F64},
    {.name = "operands of bf16", .m = 77, .k = 90, .n = 90, .half = true},
    {.name = "too small", .m = 30, .k = 90, .n = 30, .apart = true}};

static void every_shape_is_one_call_with_the_same_bits(void **state)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    char what[128];

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        shape s = shapes[i];
        rp_program *p;
        rp_device *device;
        tape expected;

        p = shape_new(&s);
        assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
        expected = tape_new(p, device);
        rp_device_free(device);
        for (size_t l = 0; l < levels; l++)
            for (size_t c = 0; c < 4; c++) {
                if ((s.m * s.n > 1000000 || s.k > 500) && (l + 1 < levels ? c > 0 : c > 1))
                    continue;
                if (SANITIZED ? c != (i + l) % 4 : l + 1 < levels && c % 2 != (i + l) % 2)
                    continue; /* two numbers of threads by turns at the levels below this host's best */
                assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[c], NULL), RP_OK);
                snprintf(what, sizeof what, "%s, %s, %u threads", s.name, level[l], cuts[c]);
                assert_plan_is(p, &expected, device, what);
                if (rp_device_has_epilogues(device) &&
                    launches(p, device, RP_PASSES) + (s.apart ? 0 : 1) !=
                        launches(p, device, RP_PASSES & ~(unsigned)RP_PASS_EPILOGUES))
                    fail_msg("%s: %zu calls, %zu without the pass", what, launches(p, device, RP_PASSES),
                             launches(p, device, RP_PASSES & ~(unsigned)RP_PASS_EPILOGUES));
                rp_device_free(device);
            }
        tape_free(&expected);
        rp_program_free(p);
    }
}

/* What the product made is in nobody's way: the chain writes where it was. */
static void a_chain_takes_the_place_of_its_product(void **state)
{
    enum { N = 128 };
    const rp_type type = {RP_F32, 2, {N, N}};
    rp_graph *g = rp_graph_new(NULL);
    rp_tensor x = rp_graph_input(g, RP_INPUT_DATA, "x", &type, NULL), y = x;
    rp_device *device;
    rp_program *p;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (size_t i = 0; i < 4; i++)
        y = rp_gelu(rp_add(rp_matmul(y, x), x));
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_sum(y, (int[]){0}, 1, true));
    p = rp_graph_take_program(g, NULL);
    assert_plan_is_eager(p, device, device, "layers");
    if (rp_device_has_epilogues(device)) {
        assert_int_equal(launches(p, device, RP_PASSES), 5);
        assert_true(arena(p, device, RP_PASSES) < (2 * N + 4) * N * sizeof(float));
        assert_true(arena(p, device, RP_PASSES) <= arena(p, device, RP_PASSES & ~(unsigned)RP_PASS_EPILOGUES));
    }
    rp_program_free(p);
    rp_device_free(device);
}

/* A product of several blocks, whose first ones the chain has written before the last are multiplied: neither what the
 * product reads in the arena nor a state that it reads is the chain's to write to. */
static void what_a_product_reads_is_not_overwritten_by_its_chain(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const size_t m = i % 2 ? 64 : 600, n = i % 2 ? 2100 : 600;
        rp_graph *g = rp_graph_new(NULL);
        rp_tensor d = rp_graph_input(g, RP_INPUT_DATA, "d", &(rp_type){RP_F32, 2, {n, n}}, NULL), y;
        rp_tensor s0 = rp_graph_input(g, RP_INPUT_STATE, "s0", &(rp_type){RP_F32, 2, {m, n}}, NULL);
        rp_tensor x = i % 2 ? s0 : rp_matmul(rp_scale(d, 1.0 / (double)n), d);
        rp_device *device;
        rp_program *p;
        size_t with, without;

        y = i % 2 == 0 && i & 2 ? rp_matmul(d, x) : rp_matmul(x, d);
        y = i & 4 ? rp_add(x, rp_tanh(y)) : rp_add(x, y);
        rp_graph_set(g, RP_OUTPUT_STATE, "s0", i % 2 ? y : rp_softmax(y));
        p = rp_graph_take_program(g, NULL);
        assert_int_equal(rp_device_cpu_new(&device, NULL, 1 + (unsigned)i / 4, NULL), RP_OK);
        with = launches(p, device, PRODUCTS);
        without = launches(p, device, PRODUCTS & ~(unsigned)RP_PASS_EPILOGUES);
        assert_int_equal(with + (rp_device_has_epilogues(device) && i % 2 == 0), without);
        assert_plan_is_eager(p, device, device, "a product's operand");
        plan_passes = RP_PASSES & ~(unsigned)RP_PASS_EARLY; /* which says of updates that they are some */
        assert_plan_is_eager(p, device, device, "a product's operand, not early");
        plan_passes = RP_PASSES;
        rp_program_free(p);
        rp_device_free(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_chains_give_the_bits_of_the_tape),
        cmocka_unit_test(so_do_those_of_frames),
        cmocka_unit_test(every_shape_is_one_call_with_the_same_bits),
        cmocka_unit_test(what_a_product_reads_is_not_overwritten_by_its_chain),
        cmocka_unit_test(a_chain_takes_the_place_of_its_product),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
