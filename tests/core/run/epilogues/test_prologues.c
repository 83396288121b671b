/* SPDX-License-Identifier: Apache-2.0
 * Products whose right operand a chain makes: bits are those of the eager tape at every level and number of threads, in
 * programs and in functions of regions, they are one call where they should be and none where somebody else needs the
 * operand, and that is stored nowhere. */
#include "core/run/run_private.h"
#include "kernels/chain/prologue.h"
#include "kernels/cpu/matmul/matmul_scratch.h"
#include "tests/core/run/plan_steps.h"
#include "tests/house/sanitized.h"

enum { PROGRAMS = SANITIZED ? 3 : 12, POOL = 40, LEAST = SANITIZED ? 1 : 4 };
static const unsigned cuts[] = {1, 2, 3, 7};
enum { WITHOUT = RP_PASSES & ~RP_PASS_PROLOGUES };

/* What threads borrow starts as NaNs too. */
static void poison_scratch(void)
{
    void *block[8];

    for (size_t i = 0; i < COUNT(block); i++)
        if ((block[i] = rp_scratch_borrow()) != NULL)
            memset(block[i], 0xFF, RP_SCRATCH_BYTES / 2);
    for (size_t i = 0; i < COUNT(block); i++)
        rp_scratch_return(block[i]);
}

static bool joins_at(const char *level)
{
    return strcmp(level, "ref") != 0 && strcmp(level, "sse2") != 0;
}

static bool joins_here(void)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);

    return joins_at(level[levels - 1]);
}

static rp_tensor turned(rp_tensor w)
{
    return rp_transpose(w, (const int[]){1, 0});
}

static rp_program *finished(rp_graph *g, const char *name)
{
    rp_error err = {0};
    rp_program *p;

    if (rp_graph_status(g, &err) != RP_OK)
        fail_msg("%s: %s", name, err.text);
    p = rp_graph_take_program(g, &err);
    assert_non_null(p);
    return p;
}

static void assert_plan(const rp_program *p, const tape *expected, rp_device *device, const char *what)
{
    poison_scratch();
    assert_plan_is(p, expected, device, what);
}

/* ---- random programs: rows by a square that chains make ---- */

typedef struct pool {
    rp_tensor x[POOL], w[POOL], row;
    rp_dtype dtype;
    size_t n_x, n_w, n;
    uint64_t seed;
    uint32_t drawn;
} pool;

static size_t pick(pool *p, size_t n)
{
    return rp_random_u32(p->seed, 79, 3, p->drawn++) % n;
}

static rp_tensor late(pool *p, const rp_tensor *x, size_t n)
{
    const size_t back = pick(p, 3) == 0 ? pick(p, n) : 0;

    return x[n - 1 - back];
}

static rp_tensor weight(pool *p)
{
    const rp_tensor a = late(p, p->w, p->n_w), b = late(p, p->w, p->n_w);

    switch (pick(p, 8)) {
    case 0:
        return rp_mul(a, p->row);
    case 1:
        return rp_mul(a, rp_reshape(p->row, 2, (const size_t[]){p->n, 1}));
    case 2:
        return rp_add(a, b);
    case 3:
        return rp_gelu(a);
    case 4:
        return turned(a);
    case 5:
        return rp_cast(rp_cast(a, RP_F16), p->dtype);
    case 6:
        return rp_mul(a, turned(b));
    default:
        return rp_scale(a, 0.5);
    }
}

static rp_tensor rows(pool *p)
{
    const rp_tensor a = late(p, p->x, p->n_x), w = late(p, p->w, p->n_w);

    switch (pick(p, 8)) {
    case 0:
        return rp_add(a, p->row);
    case 1:
        return rp_relu(a);
    case 2:
        return rp_softmax(a);
    case 3:
        return rp_add(a, late(p, p->x, p->n_x));
    case 4:
        return rp_matmul(rp_scale(a, 1.0 / (double)p->n), turned(w));
    default:
        return rp_matmul(rp_scale(a, 1.0 / (double)p->n), w);
    }
}

static rp_program *random_new(uint64_t seed, size_t m, size_t n)
{
    const rp_dtype dtype = seed % 5 == 4 ? RP_F64 : RP_F32;
    const rp_type square = {dtype, 2, {n, n}}, some = {dtype, 2, {m, n}}, vector = {dtype, 1, {n}};
    rp_graph *g = rp_graph_new(NULL);
    pool p = {.seed = seed, .dtype = dtype, .n = n};

    p.row = rp_graph_input(g, RP_INPUT_DATA, "row", &vector, NULL);
    p.x[p.n_x++] = rp_graph_input(g, RP_INPUT_FEED, "x", &some, NULL);
    p.w[p.n_w++] = rp_graph_input(g, RP_INPUT_STATE, "s0", &square, NULL);
    p.w[p.n_w++] = rp_graph_input(g, RP_INPUT_STATE, "s1", &square, NULL);
    for (size_t steps = 6 + pick(&p, 8); steps > 0; steps--) {
        p.w[p.n_w] = pick(&p, 2) ? weight(&p) : rp_mul(p.w[pick(&p, 2)], p.row);
        p.n_w++;
        p.x[p.n_x] = rows(&p);
        p.n_x++;
    }
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", p.x[p.n_x - 1]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "z", p.x[p.n_x - 2]);
    if (pick(&p, 2))
        rp_graph_set(g, RP_OUTPUT_STATE, "s0", pick(&p, 2) ? rp_scale(p.w[0], 0.5) : late(&p, p.w, p.n_w));
    return finished(g, "random");
}

static void random_programs_give_the_bits_of_the_tape(void **state)
{
    static const size_t shape[][2] = {{1, 520}, {3, 512}, {17, 545}, {64, 530}};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    size_t joined = 0;
    char what[96];

    (void)state;
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        rp_program *p = random_new(seed, shape[seed % 4][0], shape[seed % 4][1]);
        rp_device *device;
        tape expected;

        assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
        expected = tape_new(p, device);
        joined += of_plan(p, device, WITHOUT, rp_plan_launches) - of_plan(p, device, RP_PASSES, rp_plan_launches);
        rp_device_free(device);
        for (size_t l = seed % 3 ? levels - 1 : 0; l < levels; l++) {
            assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[(seed + l) % 4], NULL), RP_OK);
            for (unsigned i = 0; i < 2; i++) {
                plan_passes =
                    i == 0 ? RP_PASSES : (rp_random_u32(seed, 1, 5, i) & RP_PASSES) | RP_PASS_PROLOGUES | RP_PASS_FUSE;
                snprintf(what, sizeof what, "seed %d, %s, %u threads, passes %u", (int)seed, level[l],
                         cuts[(seed + l) % 4], plan_passes);
                assert_plan(p, &expected, device, what);
            }
            plan_passes = RP_PASSES;
            rp_device_free(device);
        }
        tape_free(&expected);
        rp_program_free(p);
    }
    if (joins_here() && joined < LEAST)
        fail_msg("%zu joined", joined);
}

/* ---- one call or not ---- */

typedef struct operands {
    rp_tensor x, w, v, row, column, codes;
    size_t m, k, n;
    rp_dtype dtype;
} operands;

/* A result; *other: a second one. */
typedef rp_tensor made(const operands *o, rp_tensor *other);

#define MADE(name, value) \
    static rp_tensor name(const operands *o, rp_tensor *other) \
    { \
        (void)other; \
        return value; \
    }
MADE(scaled_columns, rp_matmul(o->x, rp_mul(o->w, o->row)))
MADE(scaled_rows, rp_matmul(o->x, rp_mul(o->w, o->column)))
MADE(one_step, rp_matmul(o->x, rp_scale(o->w, 0.5)))
MADE(masked, rp_matmul(o->x, rp_mul(o->w, o->v)))
MADE(read_turned, rp_matmul(o->x, turned(rp_mul(turned(o->w), turned(o->v)))))
MADE(stored_turned, rp_matmul(o->x, turned(rp_mul(rp_reshape(o->w, 2, (const size_t[]){o->n, o->k}),
                                                  rp_reshape(o->v, 2, (const size_t[]){o->n, o->k})))))
MADE(widened, rp_matmul(o->x, rp_mul(rp_cast(o->codes, o->dtype), o->row)))
MADE(widened_turned,
     rp_matmul(o->x, turned(rp_mul(rp_cast(rp_reshape(o->codes, 2, (const size_t[]){o->n, o->k}), o->dtype),
                                   rp_reshape(o->row, 2, (const size_t[]){o->n, 1})))))
MADE(with_bias, rp_relu(rp_add(rp_matmul(o->x, rp_mul(o->w, o->row)), o->row)))
MADE(of_a_batch, rp_matmul(rp_reshape(o->x, 3, (const size_t[]){1, o->m, o->k}), rp_mul(o->w, o->row)))
MADE(of_functions, rp_matmul(o->x, rp_add(rp_gelu(o->w), rp_sin(o->v))))
MADE(through_16_bits, rp_matmul(o->x, rp_mul(rp_cast(rp_cast(o->w, RP_F16), o->dtype), o->row)))
MADE(read_twice, rp_add(rp_matmul(o->x, rp_mul(o->w, o->v)), rp_mean(rp_mul(o->w, o->v), (const int[]){0}, 1, true)))
MADE(a_part, rp_matmul(rp_slice(o->x, (const size_t[]){0, 0}, (const size_t[]){o->m, o->k - 1}),
                       rp_slice(rp_mul(o->w, o->v), (const size_t[]){1, 0}, (const size_t[]){o->k, o->n})))
MADE(rows_for_all, rp_matmul(rp_broadcast_to(o->x, 4, (const size_t[]){2, 1, o->m, o->k}), rp_mul(o->w, o->row)))
MADE(left_operand, rp_matmul(turned(rp_mul(o->w, o->row)), turned(o->x)))

static rp_tensor weight_kept(const operands *o, rp_tensor *other)
{
    return rp_matmul(o->x, *other = rp_mul(o->w, o->row));
}

/* Whose chain makes something else that is wanted. */
static rp_tensor part_kept(const operands *o, rp_tensor *other)
{
    return rp_matmul(o->x, rp_mul(*other = rp_add(o->w, o->v), o->row));
}

/* Two of one shape, whose chains would stand together. */
static rp_tensor two(const operands *o, rp_tensor *other)
{
    *other = rp_matmul(o->x, rp_mul(o->v, o->row));
    return rp_matmul(o->x, rp_mul(o->w, o->row));
}

typedef struct form {
    const char *name;
    made *made;
    size_t fewer; /* calls, where it is worth while */
} form;

static const form forms[] = {
    {"columns scaled", scaled_columns, 1},
    {"rows scaled", scaled_rows, 1},
    {"a chain of one", one_step, 1},
    {"a mask", masked, 1},
    {"read turned", read_turned, 1},
    {"stored turned", stored_turned, 1},
    {"integers widened", widened, 1},
    {"integers widened, stored turned", widened_turned, 1},
    {"a bias and relu behind it", with_bias, 1},
    {"of a batch of one", of_a_batch, 1},
    {"of functions", of_functions, 1},
    {"through 16 bits", through_16_bits, 1},
    {"of two products", two, 2},
    {"an operand that is read twice", read_twice, 0},
    {"a part of what the chain makes", a_part, 0},
    {"rows that are there once for all of a batch", rows_for_all, 0},
    {"a left operand", left_operand, 0},
    {"an operand that is a result", weight_kept, 0},
    {"a part that is a result", part_kept, 0},
};

static rp_program *form_new(const form *f, rp_dtype dtype, const size_t *shape)
{
    const size_t m = shape[0], k = shape[1], n = shape[2];
    rp_graph *g = rp_graph_new(NULL);
    const rp_type some = {dtype, 2, {m, k}}, big = {dtype, 2, {k, n}}, row = {dtype, 1, {n}},
                  column = {dtype, 2, {k, 1}}, codes = {RP_I8, 2, {k, n}};
    const operands o = {rp_graph_input(g, RP_INPUT_FEED, "x", &some, NULL),
                        rp_graph_input(g, RP_INPUT_STATE, "w", &big, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "v", &big, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "row", &row, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "column", &column, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "codes", &codes, NULL),
                        m,
                        k,
                        n,
                        dtype};
    rp_tensor other = o.x, y = f->made(&o, &other);

    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    if (other.value != o.x.value)
        rp_graph_set(g, RP_OUTPUT_RESULT, "other", other);
    return finished(g, f->name);
}

/* Whose chains make 16 bits, which the product widens. */
MADE(narrowed, rp_matmul(o->x, rp_cast(rp_mul(o->w, o->row), RP_BF16)))
MADE(narrowed_turned, rp_matmul(o->x, turned(rp_cast(rp_mul(turned(o->w), turned(o->v)), RP_BF16))))
MADE(both_narrowed, rp_matmul(rp_cast(o->x, RP_BF16), rp_cast(rp_mul(o->w, o->v), RP_BF16)))
static const form narrow_forms[] = {
    {"16 bits", narrowed, 1}, {"16 bits, turned", narrowed_turned, 1}, {"16 bits on both sides", both_narrowed, 1}};

/* Rows, and a weight: what are too many and too small, chunks of k that are not whole, blocks of several widths. */
static const size_t shapes[][3] = {{1, 512, 512},   {2, 1030, 257}, {5, 300, 900},   {13, 2100, 130},
                                   {64, 257, 1025}, {4, 5000, 60},  {129, 512, 512}, {7, 511, 512}};

static bool joins(const size_t *shape, rp_dtype dtype)
{
    return shape[0] <= 128 && shape[1] * shape[2] * rp_dtype_size(dtype) >= 1 << 20;
}

static void check_form(const form *f, const size_t *shape, rp_dtype dtype, size_t turn)
{
    rp_program *p = form_new(f, dtype, shape);
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    char what[128];
    rp_device *device;
    tape expected;

    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    expected = tape_new(p, device);
    assert_true(of_plan(p, device, RP_PASSES, rp_plan_arena_bytes) <= of_plan(p, device, WITHOUT, rp_plan_arena_bytes));
    rp_device_free(device);
    for (size_t l = turn % 16 ? levels - 1 : 0; l < levels; l++)
        for (size_t c = 0; c < 4; c++) {
            const size_t fewer = joins(shape, dtype) && joins_at(level[l]) ? f->fewer : 0;

            if (SANITIZED || l + 1 < levels ? c != (turn + l) % 4 : c % 2 != turn % 2)
                continue; /* numbers of threads by turns, two of them at this host's best level */
            assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[c], NULL), RP_OK);
            snprintf(what, sizeof what, "%s, %zu x %zu x %zu, %s, %u threads", f->name, shape[0], shape[1], shape[2],
                     level[l], cuts[c]);
            assert_plan(p, &expected, device, what);
            if (of_plan(p, device, RP_PASSES, rp_plan_launches) + fewer !=
                of_plan(p, device, WITHOUT, rp_plan_launches))
                fail_msg("%s: %zu calls, %zu without the pass", what, of_plan(p, device, RP_PASSES, rp_plan_launches),
                         of_plan(p, device, WITHOUT, rp_plan_launches));
            rp_device_free(device);
        }
    tape_free(&expected);
    rp_program_free(p);
}

static void every_form_is_one_call_where_nobody_else_needs_the_operand(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            if ((i + s) % 8 == 0) /* shapes by turns */
                check_form(&forms[i], shapes[s], i % 3 == 1 ? RP_F64 : RP_F32, i + s);
}

static void operands_of_16_bits_are_made_so_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(narrow_forms); i++)
        for (size_t m = 1; m < 64; m += 38)
            check_form(&narrow_forms[i], (const size_t[]){m, 1030, 1030}, RP_F32, 16 * i + m);
}

static void the_operand_is_stored_nowhere(void **state)
{
    rp_device *device;
    rp_program *p = form_new(&forms[12], RP_F32, (const size_t[]){8, 1024, 512});

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    if (joins_here()) {
        assert_true(of_plan(p, device, RP_PASSES, rp_plan_arena_bytes) <= 64); /* of a constant */
        assert_true(of_plan(p, device, WITHOUT, rp_plan_arena_bytes) >= (size_t)2 * 1024 * 512 * sizeof(float));
    }
    rp_device_free(device);
    rp_program_free(p);
}

/* Weights that the chain reads are not overwritten, by what is behind the product or stands beside it, before all of
 * them are read. */
static void a_state_is_read_before_it_is_overwritten(void **state)
{
    enum { N = 520 };
    const rp_type square = {RP_F32, 2, {N, N}}, some = {RP_F32, 2, {20, N}}, vector = {RP_F32, 1, {N}};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        rp_graph *g = rp_graph_new(NULL);
        const rp_tensor x = rp_graph_input(g, RP_INPUT_STATE, "x", &some, NULL);
        const rp_tensor w = rp_graph_input(g, RP_INPUT_STATE, "w", &square, NULL);
        const rp_tensor b = rp_graph_input(g, RP_INPUT_STATE, "b", &vector, NULL);
        const rp_tensor y = rp_matmul(x, rp_mul(w, i % 2 ? b : rp_fill(g, RP_F32, 0, NULL, 0.5)));
        rp_device *device;
        rp_program *p;

        if (i < 2) /* whose chain writes to what the product reads, or to what the chain in front does */
            rp_graph_set(g, RP_OUTPUT_STATE, "x", rp_sub(x, rp_relu(y)));
        else
            rp_graph_set(g, RP_OUTPUT_RESULT, "y", rp_relu(rp_add(y, b)));
        if (i < 4)
            rp_graph_set(g, RP_OUTPUT_STATE, "w", rp_sub(w, rp_mul(w, w)));
        rp_graph_set(g, RP_OUTPUT_STATE, "b", rp_scale(b, 0.5));
        p = finished(g, "a state");
        assert_int_equal(rp_device_cpu_new(&device, NULL, 1 + (unsigned)i % 2, NULL), RP_OK);
        poison_scratch();
        assert_plan_is_eager(p, device, device, "a state");
        plan_passes = RP_PASSES & ~(unsigned)RP_PASS_EARLY; /* which says of updates that they are some */
        assert_plan_is_eager(p, device, device, "a state without early updates");
        plan_passes = RP_PASSES;
        rp_device_free(device);
        rp_program_free(p);
    }
}

/* Of a weight whose first column scales all others, and to which what is behind the product would write strip by strip.
 */
static void a_weight_is_no_output_while_others_read_it(void **state)
{
    enum { K = 64, N = 4200 };
    const rp_type left = {RP_F32, 2, {K, K}}, weight = {RP_F32, 2, {K, N}};
    rp_graph *g = rp_graph_new(NULL);
    const rp_tensor x = rp_graph_input(g, RP_INPUT_DATA, "x", &left, NULL);
    const rp_tensor w = rp_graph_input(g, RP_INPUT_STATE, "w", &weight, NULL);
    const rp_tensor first = rp_slice(w, (const size_t[]){0, 0}, (const size_t[]){K, 1});
    rp_device *device;
    rp_program *p;

    (void)state;
    rp_graph_set(g, RP_OUTPUT_STATE, "w", rp_sub(w, rp_matmul(x, rp_mul(w, first))));
    p = finished(g, "a weight");
    for (unsigned threads = 1; threads < 3; threads++) {
        assert_int_equal(rp_device_cpu_new(&device, NULL, threads, NULL), RP_OK);
        poison_scratch();
        assert_plan_is_eager(p, device, device, "a weight");
        plan_passes = RP_PASSES & ~(unsigned)RP_PASS_EARLY; /* as in the test before */
        assert_plan_is_eager(p, device, device, "a weight without early updates");
        plan_passes = RP_PASSES;
        rp_device_free(device);
    }
    rp_program_free(p);
}

/* ---- functions ---- */

/* x -> relu(x (w row)), of so many rows and a weight [n, n]. */
static rp_function *body_new(size_t m, size_t n, bool adds)
{
    const rp_type index = {.dtype = RP_I64}, some = {RP_F32, 2, {m, n}}, square = {RP_F32, 2, {n, n}},
                  vector = {RP_F32, 1, {n}};
    rp_graph *g;
    rp_function *f;
    rp_tensor x, w, row, y;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    x = rp_function_parameter(g, &some);
    w = rp_function_parameter(g, &square);
    row = rp_function_parameter(g, &vector);
    y = rp_matmul(adds ? rp_fill(g, RP_F32, 2, some.shape, 0.125) : rp_scale(x, 1.0 / (double)n), rp_mul(w, row));
    rp_function_return(g, adds ? rp_add(x, y) : rp_relu(y));
    if (rp_function_finish(g, &f, &err) != RP_OK)
        fail_msg("%s", err.text);
    return f;
}

static rp_program *scan_new(size_t m, size_t n, bool adds)
{
    const rp_type some = {RP_F32, 2, {m, n}}, square = {RP_F32, 2, {n, n}}, vector = {RP_F32, 1, {n}};
    rp_function *body = body_new(m, n, adds);
    rp_graph *g = rp_graph_new(NULL);
    const rp_tensor x = rp_graph_input(g, RP_INPUT_FEED, "x", &some, NULL);
    const rp_tensor shared[2] = {rp_graph_input(g, RP_INPUT_STATE, "w", &square, NULL),
                                 rp_graph_input(g, RP_INPUT_DATA, "row", &vector, NULL)};
    rp_tensor y;

    rp_scan(g,
            &(rp_scan_options){
                .function = body, .carried = &x, .shared = shared, .n_carried = 1, .n_shared = 2, .times = 3},
            &y);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    rp_function_free(body);
    return finished(g, "a scan");
}

static void functions_have_them_too(void **state)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        rp_program *p = scan_new(i < 2 ? 1 : 9, i < 2 ? 512 : 530, i % 2);
        rp_device *device;

        for (size_t l = 0; l < levels; l++) {
            assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[(i + l) % 4], NULL), RP_OK);
            if (joins_at(level[l]))
                assert_true(of_plan(p, device, RP_PASSES, rp_plan_arena_bytes) + (1 << 20) <=
                            of_plan(p, device, WITHOUT, rp_plan_arena_bytes));
            poison_scratch();
            assert_plan_is_eager(p, device, device, "a scan");
            rp_device_free(device);
        }
        rp_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_bits_of_the_tape),
        cmocka_unit_test(every_form_is_one_call_where_nobody_else_needs_the_operand),
        cmocka_unit_test(operands_of_16_bits_are_made_so_too),
        cmocka_unit_test(the_operand_is_stored_nowhere),
        cmocka_unit_test(a_state_is_read_before_it_is_overwritten),
        cmocka_unit_test(a_weight_is_no_output_while_others_read_it),
        cmocka_unit_test(functions_have_them_too),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
