/* SPDX-License-Identifier: Apache-2.0
 * Norms, softmax and reductions with chains next to them: bits are those of the eager tape at every level and number of
 * threads, they are one call where they should be and none where somebody else needs what lies between, and they hold
 * no more memory. */
#include "core/run/run_private.h"
#include "kernels/chain/rows.h"
#include "tests/core/run/epilogues/frames.h"
#include "tests/house/sanitized.h"

enum { PROGRAMS = SANITIZED ? 8 : 40, POOL = 20, LEAST = SANITIZED ? 8 : 60 };
static const unsigned cuts[] = {1, 2, 3, 7};
enum { WITHOUT = RP_PASSES & ~RP_PASS_ROWS };

/* ---- random programs over one matrix ---- */

typedef struct pool {
    rp_tensor x[POOL], row, beta;
    size_t n;
    uint64_t seed;
    uint32_t drawn;
} pool;

static size_t pick(pool *p, size_t n)
{
    return rp_random_u32(p->seed, 78, 3, p->drawn++) % n;
}

static rp_tensor any(pool *p)
{
    return p->x[pick(p, p->n)];
}

/* Late values more often: so what was just made is read. */
static rp_tensor late(pool *p)
{
    const size_t back = pick(p, 4) == 0 ? pick(p, 3) : 0;

    return p->x[p->n > back ? p->n - 1 - back : 0];
}

static rp_tensor along(rp_tensor (*reduce)(rp_tensor, const int *, int, bool), rp_tensor x)
{
    return reduce(x, (const int[]){-1}, 1, true);
}

/* Each makes a matrix; reductions come back by an addition. */
static rp_tensor step(pool *p)
{
    const rp_tensor a = late(p), b = any(p);

    switch (pick(p, 18)) {
    case 0:
    case 1:
        return rp_layer_norm(a, p->row, p->beta, 1e-5);
    case 2:
        return rp_rms_norm(a, p->row, 1e-5);
    case 3:
        return rp_softmax(a);
    case 4:
        return rp_log_softmax(a);
    case 5:
        return rp_add(b, along(rp_sum, a));
    case 6:
        return rp_add(b, along(rp_mean, a));
    case 7:
        return rp_sub(b, along(rp_max, a));
    case 8:
        return rp_add(b, along(rp_logsumexp, a));
    case 9:
        return rp_add(b, rp_sum(a, (const int[]){0}, 1, true));
    case 10:
        return rp_add(a, p->row);
    case 11:
        return rp_gelu(a);
    case 12:
        return rp_mul(a, b);
    case 13:
        return rp_sub(b, a);
    case 14:
        return rp_relu(a);
    case 15:
        return rp_add(a, rp_mul(a, along(rp_max, b)));
    default:
        return rp_add(a, b);
    }
}

static void make_more(pool *p)
{
    const size_t wanted = 8 + pick(p, POOL - 8);

    while (p->n < wanted) {
        p->x[p->n] = step(p);
        p->n++;
    }
}

static rp_program *random_new(uint64_t seed, size_t rows, size_t n)
{
    const rp_dtype dtype = seed % 5 == 4 ? RP_F64 : RP_F32;
    const rp_type type = {dtype, 2, {rows, n}}, vector = {dtype, 1, {n}};
    rp_graph *g = rp_graph_new(NULL);
    pool p = {.seed = seed};

    p.row = rp_graph_input(g, RP_INPUT_DATA, "row", &vector, NULL);
    p.beta = rp_graph_input(g, RP_INPUT_STATE, "beta", &vector, NULL);
    p.x[p.n++] = rp_graph_input(g, RP_INPUT_DATA, "d", &type, NULL);
    p.x[p.n++] = rp_graph_input(g, RP_INPUT_STATE, "s0", &type, NULL);
    p.x[p.n++] = rp_graph_input(g, RP_INPUT_STATE, "s1", &type, NULL);
    make_more(&p);
    rp_graph_set(g, RP_OUTPUT_RESULT, "y", p.x[p.n - 1]);
    rp_graph_set(g, RP_OUTPUT_RESULT, "z", along(rp_mean, late(&p)));
    rp_graph_set(g, RP_OUTPUT_STATE, "s0", late(&p));
    rp_graph_set(g, RP_OUTPUT_STATE, "s1", any(&p));
    rp_graph_set(g, RP_OUTPUT_STATE, "beta", rp_scale(p.beta, 0.5));
    return finished(g, "a matrix");
}

static rp_program *scan_new(uint64_t seed, size_t rows, size_t n)
{
    const rp_type type = {seed % 5 == 4 ? RP_F64 : RP_F32, 2, {rows, n}};
    pool p = {.n = FRAME_MATRICES, .seed = seed};
    rp_tensor vector[FRAME_VECTORS], given[FRAME_MATRICES];
    rp_graph *g = frame_begin(&type, p.x, vector);

    p.row = vector[0];
    p.beta = vector[1];
    make_more(&p);
    given[0] = late(&p);
    given[1] = pick(&p, 2) ? rp_add(p.x[1], late(&p)) : any(&p);
    given[2] = late(&p);
    return frames_new(g, given, &type, seed);
}

typedef rp_program *made_at_random(uint64_t seed, size_t rows, size_t n);

/* How many calls fewer there are. */
static size_t check_programs(made_at_random *make, const char *name)
{
    static const size_t shape[][2] = {{64, 48}, {33, 257}, {130, 64}, {29, 1100}};
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    size_t joined = 0;
    char what[96];

    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        rp_program *p = make(seed, shape[seed % 4][0], shape[seed % 4][1]);
        rp_device *device;
        tape expected;

        assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
        expected = tape_new(p, device);
        joined += calls_made(p, device, WITHOUT) - calls_made(p, device, RP_PASSES);
        rp_device_free(device);
        for (size_t l = 0; l < levels; l++) {
            assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[(seed + l) % 4], NULL), RP_OK);
            for (unsigned i = 0; i < 3; i++) {
                plan_passes = i == 0   ? RP_PASSES
                              : i == 1 ? RP_PASS_ROWS | RP_PASS_FUSE | RP_PASS_REUSE
                                       : (rp_random_u32(seed, 1, 5, i) & RP_PASSES) | RP_PASS_ROWS | RP_PASS_FUSE;
                snprintf(what, sizeof what, "%s %d, %s, %u threads, passes %u", name, (int)seed, level[l],
                         cuts[(seed + l) % 4], plan_passes);
                assert_plan_is(p, &expected, device, what);
            }
            plan_passes = RP_PASSES;
            rp_device_free(device);
        }
        tape_free(&expected);
        rp_program_free(p);
    }
    return joined;
}

static void random_programs_give_the_bits_of_the_tape(void **state)
{
    (void)state;
    assert_true(check_programs(random_new, "a matrix") > LEAST);
}

static void so_do_frames(void **state)
{
    const size_t joined = check_programs(scan_new, "frames");

    (void)state;
    if (joined <= LEAST)
        fail_msg("%zu joined", joined);
}

/* ---- one call or not ---- */

typedef struct operands {
    rp_tensor x, y, row, beta;
    size_t rows, n;
} operands;

/* A result; *other: a second one. */
typedef rp_tensor made(const operands *o, rp_tensor *other);

static rp_tensor sum_of(const operands *o)
{
    return rp_add(rp_scale(o->x, 0.5), o->y);
}

static rp_tensor norm_of(const operands *o, rp_tensor x)
{
    return rp_layer_norm(x, o->row, o->beta, 1e-5);
}

#define MADE(name, value) \
    static rp_tensor name(const operands *o, rp_tensor *other) \
    { \
        (void)other; \
        return value; \
    }
MADE(norm_behind_chain, norm_of(o, sum_of(o)))
MADE(norm_before_chain, rp_gelu(rp_add(norm_of(o, o->x), o->row)))
MADE(norm_between, rp_relu(norm_of(o, sum_of(o))))
MADE(rms_between, rp_add(rp_rms_norm(sum_of(o), o->row, 1e-5), o->y))
MADE(softmax_between, rp_mul(rp_softmax(sum_of(o)), o->y))
MADE(log_softmax_between, rp_neg(rp_log_softmax(sum_of(o))))
MADE(bf16_of_norm, rp_cast(norm_of(o, o->x), RP_BF16))
MADE(sum_behind, along(rp_sum, sum_of(o)))
MADE(mean_behind, along(rp_mean, rp_mul(sum_of(o), sum_of(o))))
MADE(max_behind, along(rp_max, rp_gelu(o->x)))
MADE(min_behind, along(rp_min, rp_gelu(o->x)))
MADE(prod_behind, along(rp_prod, sum_of(o)))
MADE(logsumexp_behind, along(rp_logsumexp, sum_of(o)))
MADE(var_behind, rp_var(sum_of(o), (const int[]){-1}, 1, 1, false))
MADE(argmax_behind, rp_argmax(sum_of(o), -1, false))
MADE(two_axes_behind,
     rp_sum(rp_reshape(sum_of(o), 3, (const size_t[]){o->rows, 1, o->n}), (const int[]){1, 2}, 2, false))
MADE(columns, rp_sum(sum_of(o), (const int[]){0}, 1, false))
MADE(all, rp_sum(sum_of(o), (const int[]){0, 1}, 2, false))
MADE(small_mask_of_rows, rp_softmax(rp_where(rp_gt(o->x, along(rp_mean, o->y)), o->x, o->y)))

static rp_tensor chain_kept(const operands *o, rp_tensor *other)
{
    return norm_of(o, *other = sum_of(o));
}

static rp_tensor norm_kept(const operands *o, rp_tensor *other)
{
    return rp_relu(*other = norm_of(o, o->x));
}

/* Whose chain reads other rows of it. */
static rp_tensor norm_across(const operands *o, rp_tensor *other)
{
    const rp_tensor y = norm_of(o, o->x);

    (void)other;
    return rp_add(y, rp_slice(y, (const size_t[]){1, 0}, (const size_t[]){2, o->n}));
}

/* What is behind reads what is in front too. */
static rp_tensor around(const operands *o, rp_tensor *other)
{
    const rp_tensor x = sum_of(o);

    (void)other;
    return rp_add(x, rp_softmax(x));
}

typedef struct form {
    const char *name;
    made *made;
    size_t fewer; /* calls, where rows are neither long nor few */
} form;

static const form forms[] = {
    {"a layer norm behind a chain", norm_behind_chain, 1},
    {"a layer norm before a chain", norm_before_chain, 1},
    {"a layer norm between two", norm_between, 2},
    {"an RMS norm between two", rms_between, 2},
    {"softmax between two", softmax_between, 2},
    {"log softmax between two", log_softmax_between, 2},
    {"bf16 of a layer norm", bf16_of_norm, 1},
    {"sums", sum_behind, 1},
    {"means of squares", mean_behind, 1},
    {"maxima", max_behind, 1},
    {"minima", min_behind, 1},
    {"products", prod_behind, 1},
    {"logsumexp", logsumexp_behind, 1},
    {"variances", var_behind, 1},
    {"places of maxima", argmax_behind, 1},
    {"sums along two axes", two_axes_behind, 1},
    {"softmax of chosen", small_mask_of_rows, 1},
    {"sums of columns", columns, 0},
    {"a sum of all", all, 0},
    {"a chain that is a result too", chain_kept, 0},
    {"a norm that is a result too", norm_kept, 0},
    {"a chain that reads another row", norm_across, 0},
    {"a chain behind that reads the one in front", around, 1}, /* without that */
};

static rp_program *form_new(const form *f, rp_dtype dtype, size_t rows, size_t n)
{
    const rp_type big = {dtype, 2, {rows, n}}, vector = {dtype, 1, {n}};
    rp_graph *g = rp_graph_new(NULL);
    const operands o = {rp_graph_input(g, RP_INPUT_DATA, "x", &big, NULL),
                        rp_graph_input(g, RP_INPUT_FEED, "y", &big, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "row", &vector, NULL),
                        rp_graph_input(g, RP_INPUT_DATA, "beta", &vector, NULL),
                        rows,
                        n};
    rp_tensor other = o.x, y = f->made(&o, &other);
    rp_error err = {0};
    rp_program *p;

    rp_graph_set(g, RP_OUTPUT_RESULT, "y", y);
    if (other.value != o.x.value)
        rp_graph_set(g, RP_OUTPUT_RESULT, "other", other);
    if (rp_graph_status(g, &err) != RP_OK)
        fail_msg("%s: %s", f->name, err.text);
    p = rp_graph_take_program(g, &err);
    assert_non_null(p);
    return p;
}

/* Rows and their length; whether they are joined with so many threads. */
static const size_t shapes[][2] = {{30, 75}, {61, 64}, {5, 1000}, {150, 257}, {14, 4097}, {12, 8192}, {12, 8193}};

static bool joins(const size_t *shape, rp_dtype dtype, unsigned threads)
{
    return shape[1] * rp_dtype_size(dtype) <= RP_ROWS_LOOSE && shape[0] >= 4 * (size_t)threads;
}

static void check_form(const form *f, const size_t *shape, rp_dtype dtype, size_t turn)
{
    rp_program *p = form_new(f, dtype, shape[0], shape[1]);
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    char what[128];
    rp_device *device;
    tape expected;

    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    expected = tape_new(p, device);
    assert_true(of_plan(p, device, RP_PASSES, rp_plan_arena_bytes) <= of_plan(p, device, WITHOUT, rp_plan_arena_bytes));
    rp_device_free(device);
    for (size_t l = 0; l < levels; l++)
        for (size_t c = 0; c < 4; c++) {
            const size_t fewer = joins(shape, dtype, cuts[c]) ? f->fewer : 0;

            if (SANITIZED || l + 1 < levels ? c != (turn + l) % 4 : c % 2 != turn % 2)
                continue; /* numbers of threads by turns, two of them at this host's best level */
            assert_int_equal(rp_device_cpu_new(&device, level[l], cuts[c], NULL), RP_OK);
            snprintf(what, sizeof what, "%s, %zu x %zu, %s, %u threads", f->name, shape[0], shape[1], level[l],
                     cuts[c]);
            assert_plan_is(p, &expected, device, what);
            if (of_plan(p, device, RP_PASSES, rp_plan_launches) + fewer !=
                of_plan(p, device, WITHOUT, rp_plan_launches))
                fail_msg("%s: %zu calls, %zu without the pass", what, of_plan(p, device, RP_PASSES, rp_plan_launches),
                         of_plan(p, device, WITHOUT, rp_plan_launches));
            rp_device_free(device);
        }
    tape_free(&expected);
    rp_program_free(p);
}

static void every_form_is_one_call_where_nobody_else_needs_what_lies_between(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(forms); i++)
        for (size_t s = 0; s < COUNT(shapes); s++)
            check_form(&forms[i], shapes[s], (i + s) % 4 == 3 ? RP_F64 : RP_F32, i + s);
}

/* An output of 32 MiB goes past the caches, unless a chain reads it first. */
static void what_is_large_is_streamed(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rp_program *p = form_new(&forms[i], RP_F32, 4100, 2049);
        rp_device *device;

        assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
        assert_plan_is_eager(p, device, device, forms[i].name);
        rp_device_free(device);
        rp_program_free(p);
    }
}

/* The arena holds neither what is in front nor what is behind. */
static void what_lies_between_is_stored_nowhere(void **state)
{
    rp_device *device;
    rp_program *p = form_new(&forms[2], RP_F32, 512, 128);

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    assert_true(of_plan(p, device, RP_PASSES, rp_plan_arena_bytes) <= 64); /* of a constant */
    assert_true(of_plan(p, device, WITHOUT, rp_plan_arena_bytes) >= (size_t)512 * 128 * sizeof(float));
    rp_device_free(device);
    rp_program_free(p);
}

/* A state that rows in front read is not overwritten by the chain behind them before all of them are done. */
static void a_state_is_read_before_it_is_overwritten(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const rp_type type = {RP_F32, 2, {200, 64}};
        rp_graph *g = rp_graph_new(NULL);
        rp_tensor s0 = rp_graph_input(g, RP_INPUT_STATE, "s0", &type, NULL);
        rp_tensor d = rp_graph_input(g, RP_INPUT_DATA, "d", &type, NULL);
        rp_tensor last = rp_slice(s0, (const size_t[]){0, 0}, (const size_t[]){1, 64});
        rp_tensor x = i & 1 ? rp_add(d, last) : rp_add(d, s0), y = i & 2 ? rp_softmax(x) : rp_softmax(s0);
        rp_device *device;
        rp_program *p;

        rp_graph_set(g, RP_OUTPUT_STATE, "s0", rp_add(s0, rp_mul(y, d)));
        p = rp_graph_take_program(g, NULL);
        assert_int_equal(rp_device_cpu_new(&device, NULL, 1 + (unsigned)i % 2, NULL), RP_OK);
        assert_plan_is_eager(p, device, device, "a state");
        plan_passes = RP_PASSES & ~(unsigned)RP_PASS_EARLY; /* which says of updates that they are some */
        assert_plan_is_eager(p, device, device, "a state without early updates");
        plan_passes = RP_PASSES;
        rp_device_free(device);
        rp_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_bits_of_the_tape),
        cmocka_unit_test(so_do_frames),
        cmocka_unit_test(every_form_is_one_call_where_nobody_else_needs_what_lies_between),
        cmocka_unit_test(what_is_large_is_streamed),
        cmocka_unit_test(what_lies_between_is_stored_nowhere),
        cmocka_unit_test(a_state_is_read_before_it_is_overwritten),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
