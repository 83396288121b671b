/* SPDX-License-Identifier: Apache-2.0
 * Matrices that frames of a scan multiply a row by are laid out in panels first (core/run/scans/panels.c): which are,
 * seen from the arena, and that no bit shows it, at every level and number of threads. */
#include "tests/core/run/plan_steps.h"
#include "tests/house/sanitized.h"

#include "core/run/plan_private.h" /* behind: its names are as short as theirs */

enum { K = 128, WIDE = 512, TIMES = 40 };

/* How a program differs from one whose matrix is laid out: 256 KiB by which each of 40 frames multiplies a row. */
typedef struct variant {
    const char *what;
    rp_dtype dtype;
    size_t rows, wide, times; /* 0: 1, WIDE, TIMES */
    uint64_t every;           /* of rows that are carried only so many are kept for the gradient; 0: all */
    bool turned;              /* the matrix comes as a view of its transpose */
    bool frames_turn;         /* frames have the transpose, and turn it themselves */
    bool twice;               /* both products of a frame are with it */
    bool also_read;           /* its sum is added */
    bool also_turned;         /* its transpose is multiplied by */
    bool bare;                /* the row that a frame gives is the product itself */
    bool learns;              /* the gradients are results */
    bool laid;                /* what is expected */
    bool strips;              /* in strips that several rows meet */
} variant;

static const variant variants[] = {
    {.what = "plain", .laid = true},
    {.what = "f64", .dtype = RP_F64, .laid = true},
    {.what = "turned", .turned = true, .laid = true},
    {.what = "turned in frames", .frames_turn = true, .laid = true},
    {.what = "f64, turned in frames", .dtype = RP_F64, .frames_turn = true, .laid = true},
    {.what = "turned in frames, twice", .frames_turn = true, .twice = true, .laid = true},
    {.what = "turned in frames, learns", .frames_turn = true, .learns = true, .laid = true},
    {.what = "turned in frames, read otherwise", .frames_turn = true, .also_read = true},
    {.what = "turned back", .frames_turn = true, .also_turned = true},
    {.what = "turned in frames, two rows", .frames_turn = true, .rows = 2, .laid = true},
    {.what = "turned in frames, twice, 6 rows", .frames_turn = true, .twice = true, .rows = 6, .laid = true},
    {.what = "turned in frames, f64, rows, learns",
     .dtype = RP_F64,
     .frames_turn = true,
     .rows = 3,
     .learns = true,
     .laid = true},
    {.what = "turned in frames, rows, few frames", .frames_turn = true, .rows = 3, .times = 31},
    {.what = "turned in frames, rows, read otherwise", .frames_turn = true, .rows = 3, .also_read = true},
    {.what = "turned in frames, no whole panels", .frames_turn = true, .wide = 600},
    {.what = "twice", .twice = true, .laid = true},
    {.what = "wider", .wide = 1280, .laid = true},
    {.what = "two rows", .rows = 2},
    {.what = "no whole panels", .wide = 600},
    {.what = "one panel", .wide = 256},
    {.what = "few frames", .times = 31},
    {.what = "read otherwise", .also_read = true},
    {.what = "multiplied by otherwise", .also_turned = true},
    {.what = "bare", .bare = true, .laid = true},
    {.what = "learns", .learns = true, .laid = true},
    {.what = "strips", .rows = 2, .wide = 4096, .times = 32, .laid = true, .strips = true},
    {.what = "strips, the last one not whole, turned",
     .rows = 2,
     .wide = 4601,
     .times = 32,
     .turned = true,
     .laid = true,
     .strips = true},
    {.what = "strips of f64, the last one not whole, turned in frames",
     .dtype = RP_F64,
     .rows = 2,
     .wide = 2057,
     .times = 32,
     .frames_turn = true,
     .laid = true,
     .strips = true},
    {.what = "strips, learns", .rows = 2, .wide = 4100, .times = 32, .learns = true, .laid = true, .strips = true},
    {.what = "rows past less than strips are for", .rows = 2, .wide = 4000, .times = 32},
    {.what = "learns by segments", .times = 80, .every = 36, .learns = true, .laid = true},
};

static rp_type matrix(const variant *v, size_t rows, size_t cols)
{
    return (rp_type){.dtype = v->dtype ? v->dtype : RP_F32, .rank = 2, .shape = {rows, cols}};
}

static size_t or_else(size_t given, size_t otherwise)
{
    return given ? given : otherwise;
}

/* h <- tanh of parts of h u + x; the row of y is h. */
static rp_function *cell(const variant *v)
{
    const size_t rows = or_else(v->rows, 1), wide = or_else(v->wide, WIDE);
    const rp_type index = {.dtype = RP_I64}, row = matrix(v, rows, K), x_type = matrix(v, rows, wide);
    const rp_type weight = v->frames_turn ? matrix(v, wide, K) : matrix(v, K, wide);
    rp_tensor h, x, u, z;
    rp_function *f;
    rp_graph *g;

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    (void)rp_function_parameter(g, &index);
    h = rp_function_parameter(g, &row);
    x = rp_function_parameter(g, &x_type);
    u = rp_function_parameter(g, &weight);
    if (v->frames_turn)
        u = rp_transpose(u, NULL);
    z = rp_matmul(h, u);
    if (!v->bare)
        z = rp_add(z, x);
    if (v->also_read)
        z = rp_add(z, rp_sum(u, NULL, 0, false));
    if (v->also_turned)
        z = rp_matmul(rp_matmul(z, rp_transpose(u, NULL)), u);
    h = rp_mul(rp_slice(z, (size_t[]){0, 0}, (size_t[]){rows, K}),
               rp_slice(z, (size_t[]){0, K}, (size_t[]){rows, 2 * K}));
    if (v->twice)
        h = rp_slice(rp_matmul(h, u), (size_t[]){0, wide - K}, (size_t[]){rows, wide});
    h = rp_tanh(h);
    rp_function_return(g, h);
    rp_function_return(g, v->bare ? z : rp_neg(z));
    assert_int_equal(rp_function_finish(g, &f, NULL), RP_OK);
    return f;
}

static rp_program *program(const variant *v)
{
    const size_t rows = or_else(v->rows, 1), wide = or_else(v->wide, WIDE), times = or_else(v->times, TIMES);
    const rp_type row = matrix(v, rows, K);
    const rp_type weight = v->turned || v->frames_turn ? matrix(v, wide, K) : matrix(v, K, wide);
    const rp_type x = {.dtype = row.dtype, .rank = 3, .shape = {times, rows, wide}};
    rp_function *f = cell(v);
    rp_tensor in[3], out[2], grad[3];
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in[0] = rp_graph_declare(g, RP_INPUT_FEED, "h", &row);
    in[1] = rp_graph_declare(g, RP_INPUT_FEED, "x", &x);
    in[2] = rp_graph_declare(g, RP_INPUT_DATA, "u", &weight);
    if (v->turned)
        in[2] = rp_transpose(in[2], NULL);
    rp_scan(g,
            &(rp_scan_options){.function = f,
                               .carried = in,
                               .n_carried = 1,
                               .sliced = in + 1,
                               .n_sliced = 1,
                               .shared = in + 2,
                               .n_shared = 1,
                               .times = times},
            out);
    rp_function_free(f);
    rp_graph_result(g, "h", out[0]);
    rp_graph_result(g, "y", out[1]);
    if (v->learns) {
        rp_gradients(rp_sum(rp_mul(out[1], out[1]), NULL, 0, false), in, 3, grad);
        rp_graph_result(g, "gx", grad[1]);
        rp_graph_result(g, "gu", grad[2]);
    }
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("%s: %s", v->what, err.text);
    return p;
}

/* What has no panels is computed once a level, by one thread; other tests ask the rest of it. */
static void assert_bits(const variant *v, const rp_program *p, store *s, rp_device *device, record *expected)
{
    const bool alone = rp_device_threads(device) == 1;
    const size_t bytes = rp_type_bytes(&p->value[p->input[2].value]);
    size_t arena[2];

    for (size_t with = 0; with < 2; with++) {
        rp_plan *plan;
        char what[96];

        plan_passes = with ? RP_PASSES : RP_PASSES & ~(unsigned)RP_PASS_PANELS;
        plan_every = v->every;
        plan = plan_new(p, device, s);
        plan_every = 0;
        arena[with] = rp_plan_arena_bytes(plan);
        if (plan->lays != (with && v->laid))
            fail_msg("%s: a matrix is %slaid out", v->what, plan->lays ? "" : "not ");
        /* with panels twice by one thread and once by several; without them, which is all of it where no matrix is laid
         * out, once by one */
        for (int turn = 0; turn < (!with ? alone : alone ? 2 : 1); turn++) {
            record found = plan_step(p, plan, s);

            (void)snprintf(what, sizeof what, "%s, %s, %u threads, %s", v->what, rp_device_level(device),
                           rp_device_threads(device), with ? "panels" : "none");
            if (!expected->bytes)
                *expected = found;
            else
                assert_same(p, expected, &found, what);
        }
        rp_plan_free(plan);
    }
    plan_passes = RP_PASSES;
    /* a matrix that comes turned is copied in both; strips are made of what may be padded, and their product is put
     * together */
    if (v->turned || v->learns || v->strips ? arena[1] < arena[0] : arena[1] - arena[0] != (v->laid ? bytes : 0))
        fail_msg("%s: %zu bytes with panels, %zu without", v->what, arena[1], arena[0]);
}

/* One thread always, and of the numbers of several one by turns where sanitizers watch: bits are what other builds are
 * for. */
static bool takes_its_turn(size_t at, size_t level, size_t t)
{
    return t == 0 || !SANITIZED || t == 1 + (at + level) % 3;
}

static void matrices_in_panels_show_in_no_bit(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 7};
    const char *const *levels;
    const size_t n_levels = rp_kernel_levels(&levels);

    (void)state;
    rp_set_allocator(&poisoning);
    for (size_t i = 0; i < COUNT(variants); i++) {
        rp_program *p = program(&variants[i]);
        store s = store_new(p);
        record expected = {0}, eager;

        for (size_t l = 0; l < n_levels; l++)
            for (size_t t = 0; t < COUNT(threads); t++) {
                rp_device *device;

                if (!takes_its_turn(i, l, t))
                    continue;
                assert_int_equal(rp_device_cpu_new(&device, levels[l], threads[t], NULL), RP_OK);
                assert_bits(&variants[i], p, &s, device, &expected);
                if (threads[t] == 1) {
                    eager = eager_step(p, device, &s);
                    assert_same(p, &expected, &eager, variants[i].what);
                }
                rp_device_free(device);
            }
        record_free(&expected);
        store_free(&s);
        rp_program_free(p);
    }
}

/* ---- memory that is bounded ---- */

static void a_budget_has_the_matrix_as_it_lies_before_anything_is_computed_again(void **state)
{
    rp_program *p = program(&variants[0]);
    store s = store_new(p);
    void *memory[3] = {NULL, NULL, s.memory[2]};
    rp_device *device;
    rp_plan *plan;
    rp_error err = {0};
    size_t least[2];

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    for (size_t with = 0; with < 2; with++) {
        plan_passes = with ? RP_PASSES : RP_PASSES & ~(unsigned)RP_PASS_PANELS;
        plan = plan_new(p, device, &s);
        least[with] = rp_plan_own_bytes(plan) + rp_plan_arena_bytes(plan);
        rp_plan_free(plan);
    }
    assert_true(least[0] < least[1]);
    for (size_t budget = least[0]; budget <= least[1]; budget += (least[1] - least[0]) / 2) {
        if (rp_plan_new_with(&plan, p, device, memory, &(rp_plan_options){.passes = RP_PASSES, .memory = budget},
                             &err) != RP_OK)
            fail_msg("%zu bytes: %s", budget, err.text);
        assert_int_equal(rp_plan_again(plan), 0);
        assert_int_equal(rp_plan_own_bytes(plan) + rp_plan_arena_bytes(plan), least[budget == least[1]]);
        rp_plan_free(plan);
    }
    store_free(&s);
    rp_program_free(p);
    rp_device_free(device);
}

/* ---- memory that fails ---- */

static size_t held, allowed = SIZE_MAX;

static void *counted(void *self, size_t bytes)
{
    void *memory = allowed == SIZE_MAX || allowed-- > 0 ? malloc(bytes) : NULL;

    (void)self;
    held += memory != NULL;
    return memory;
}

static void *recounted(void *self, void *memory, size_t bytes)
{
    if (!memory)
        return counted(self, bytes);
    return allowed == SIZE_MAX || allowed-- > 0 ? realloc(memory, bytes) : NULL;
}

static void uncounted(void *self, void *memory)
{
    (void)self;
    held -= memory != NULL;
    free(memory);
}

static void every_allocation_may_fail(void **state)
{
    static const rp_allocator counting = {counted, recounted, uncounted, NULL};
    rp_program *p;
    rp_device *device;
    store s;
    void *memory[3] = {NULL};
    size_t failures = 0;
    bool whole = false;

    (void)state;
    rp_set_allocator(&counting);
    assert_int_equal(rp_device_cpu_new(&device, NULL, 1, NULL), RP_OK);
    p = program(&variants[0]);
    s = store_new(p);
    memory[2] = s.memory[2];
    for (size_t n = 0; !whole; n++) {
        const size_t before = held;
        rp_plan *plan;
        rp_status status;

        allowed = n;
        status = rp_plan_new_with(&plan, p, device, memory, &(rp_plan_options){.passes = RP_PASSES}, NULL);
        whole = allowed != SIZE_MAX && allowed > 0 && status == RP_OK;
        allowed = SIZE_MAX;
        assert_true(status == RP_OK || status == RP_ENOMEM);
        failures += !whole;
        rp_plan_free(plan);
        assert_int_equal(held, before);
    }
    assert_true(failures > 50);
    store_free(&s);
    rp_program_free(p);
    rp_device_free(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_in_panels_show_in_no_bit),
        cmocka_unit_test(a_budget_has_the_matrix_as_it_lies_before_anything_is_computed_again),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests_name("panels of scans", tests, NULL, NULL);
}
