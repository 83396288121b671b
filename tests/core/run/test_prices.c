/* SPDX-License-Identifier: Apache-2.0
 * W bounds time (audit/FORMAT.md 9): a search for instructions that cost much and are priced little, through every
 * operation with the shapes, attributes and numbers of somebody who wants that. Reference kernels, one thread. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/program/graph.h"
#include "core/program/infer.h"
#include "determinism/philox.h"
#include "tests/house/sanitized.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { SLOWER = 30 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SLOWER = 30 };
#else
enum { SLOWER = 1 };
#endif
#else
enum { SLOWER = 1 };
#endif

/* Nanoseconds for a unit of W, how often in a unit's time arithmetic may meet subnormal numbers on top of it, and what
 * is tried of each operation. */
enum {
    BOUND = 100,
    ASSISTS = 10,
    TRIES = SANITIZED ? 100 : 400,
    WORK_MAX = 200000,
    BYTES_MAX = 1 << 20,
    OPERANDS = 9,
    PATIENCE = 240
};

typedef struct search {
    uint64_t seed, draws;
    rp_device *device;
    double bound; /* ns a unit of W, on this processor, where numbers are subnormal */
    double worst; /* ns a unit of W, of the operation */
    size_t ran;
    bool show; /* measure each well: what stands near the bound is seen only then */
} search;

static size_t draw(search *s, size_t below)
{
    return (size_t)rp_random_u32(s->seed, 7, 8, s->draws++) % below;
}

static size_t one_of(search *s, const size_t *list, size_t n)
{
    return list[draw(s, n)];
}
#define ONE_OF(s, ...) one_of(s, (const size_t[]){__VA_ARGS__}, sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

static size_t length(search *s)
{
    return ONE_OF(s, 0, 1, 1, 2, 3, 7, 64, 100, 1000, (size_t)1 << 14, (size_t)1 << 20, (size_t)1 << 39);
}

static void draw_list(search *s, rp_attr *attr, int n, size_t a, size_t b, size_t c, size_t d)
{
    attr->n = n;
    for (int i = 0; i < n; i++)
        attr->list[i] = (int64_t)ONE_OF(s, a, b, c, d, a, a);
}

/* ---- images ---- */

/* An image, a weight or window, and what windows give on it; false when they do not fit. */
static bool draw_windows(search *s, bool pool, rp_attr *attr, rp_type *x, rp_type *w, rp_type *y)
{
    const rp_dtype dtype = draw(s, 2) ? RP_F32 : RP_F64;
    const size_t c = ONE_OF(s, 1, 1, 2, 8, 33), groups = draw(s, 3) ? 1 : c, big = draw(s, 3) ? 5 : 1000;

    *x = (rp_type){dtype, 4, {ONE_OF(s, 0, 1, 1, 2, 5), ONE_OF(s, 1, 1, 2, 9, 90), ONE_OF(s, 1, 2, 17, 200), c}};
    *w = (rp_type){
        dtype, 4, {ONE_OF(s, 1, 2, 3, 40, big), ONE_OF(s, 1, 2, 3, 40, big), c / groups, groups * (1 + draw(s, 3))}};
    draw_list(s, &RP_AT(attr, conv2d, stride), 2, 1, 2, 50, 1 << 20);
    draw_list(s, &RP_AT(attr, conv2d, padding), 4, 0, 1, 3, big);
    draw_list(s, &RP_AT(attr, conv2d, dilation), 2, 1, 2, 100, 1 << 20);
    if (pool) {
        const size_t window[] = {1, 3, 1000, (size_t)1 << 19};

        draw_list(s, &RP_AT(attr, max_pool, window), 2, window[0], window[1], window[2], window[3]);
        if (draw(s, 2)) /* as much padding as is allowed: windows that lie outside but for a corner */
            for (int d = 0; d < 4; d++) {
                const int64_t span =
                    (RP_AT(attr, max_pool, window).list[d % 2] - 1) * RP_AT(attr, conv2d, dilation).list[d % 2] + 1;

                RP_AT(attr, conv2d, padding).list[d] = span - 1 < 1 << 20 ? span - 1 : 1 << 20;
            }
        return infer_pool(rp_op_get(RP_OP_max_pool), attr, x, 1, y, NULL) == RP_OK;
    }
    attr[RP_AT_conv2d_groups].i = (int64_t)groups;
    return infer_conv2d(rp_op_get(RP_OP_conv2d), attr, (rp_type[]){*x, *w}, 2, y, NULL) == RP_OK;
}

static void set_size(rp_attr *attr, const size_t *size)
{
    attr->n = 2;
    for (int d = 0; d < 2; d++)
        attr->list[d] = (int64_t)size[d];
}

/* False for operations that are not on images; *fits as draw_windows. */
static bool draw_image(search *s, rp_op_id op, rp_attr *attr, rp_type *in, bool *fits)
{
    const bool pool =
        op == RP_OP_max_pool || op == RP_OP_max_pool_grad || op == RP_OP_avg_pool || op == RP_OP_avg_pool_grad;
    rp_type x, w, y;

    if (!pool && op != RP_OP_conv2d && op != RP_OP_conv2d_winograd && op != RP_OP_conv2d_grad_input &&
        op != RP_OP_conv2d_grad_weight)
        return false;
    *fits = draw_windows(s, pool, attr, &x, &w, &y);
    in[0] = x;
    in[1] = w;
    switch (op) {
    case RP_OP_conv2d_grad_input:
        in[0] = y;
        set_size(&RP_AT(attr, conv2d_grad_input, size), &x.shape[1]);
        break;
    case RP_OP_conv2d_grad_weight:
        in[1] = y;
        set_size(&RP_AT(attr, conv2d_grad_weight, size), &w.shape[0]);
        break;
    case RP_OP_max_pool_grad:
        in[0] = y;
        in[1] = x;
        break;
    case RP_OP_avg_pool_grad:
        in[0] = y;
        set_size(&RP_AT(attr, avg_pool_grad, size), &x.shape[1]);
        break;
    case RP_OP_conv2d_winograd:
        for (int i = 0; i < 2; i++) {
            in[1].shape[i] = 3;
            RP_AT(attr, conv2d, stride).list[i] = RP_AT(attr, conv2d, dilation).list[i] = 1;
        }
        for (int i = 0; i < 4; i++)
            RP_AT(attr, conv2d, padding).list[i] = (int64_t)draw(s, 3);
        *fits = true; /* the rule says */
        break;
    default:
        break;
    }
    return true;
}

/* ---- everything else ---- */

static rp_type draw_type(search *s, unsigned dtypes)
{
    rp_type type = {.rank = (int)draw(s, 5)};

    do
        type.dtype = (rp_dtype)draw(s, RP_DTYPE_COUNT);
    while (!(dtypes & 1u << type.dtype));
    for (int i = 0; i < type.rank; i++)
        type.shape[i] = length(s);
    return type;
}

/* Operands that go together often: alike, of one row, scalars, indices. */
static void draw_operands(search *s, const rp_op *op, rp_type *in, size_t n)
{
    const unsigned dtypes = op->dtypes;

    in[0] = draw_type(s, dtypes);
    for (size_t i = 1; i < n; i++) {
        in[i] = in[0];
        if (draw(s, 3) == 0 && in[i].rank)
            in[i].shape[draw(s, (size_t)in[i].rank)] = 1;
        if (op->infer == infer_optimizer && i >= (size_t)op->n_out + 1)
            in[i] = (rp_type){.dtype = in[0].dtype};
        if ((op->infer == infer_layer_norm || op->infer == infer_batch_norm || op->infer == infer_batch_norm_train ||
             op->infer == infer_rms_norm || op->infer == infer_group_norm) &&
            in[0].rank)
            in[i] = (rp_type){in[0].dtype, 1, {in[0].shape[in[0].rank - 1]}};
        if (in[0].rank &&
            (((op->infer == infer_layer_norm_grad || op->infer == infer_norm_lanes) && i == 2) ||
             (op->infer == infer_batch_norm_grad && i > 1) || (op->infer == infer_group_norm_grad && i == 2)))
            in[i] = (rp_type){in[0].dtype, 1, {in[0].shape[in[0].rank - 1]}};
        if (op->infer == infer_group_norm_grad && in[0].rank && i > 2) /* one group is drawn often enough */
            in[i] = (rp_type){in[0].dtype, 2, {in[0].shape[0], 1}};
    }
    if (op->infer == infer_where)
        in[0].dtype = RP_BOOL, in[1].dtype = in[2].dtype = draw(s, 2) ? RP_F32 : RP_F64;
    if (op->infer == infer_matmul && in[0].rank > 1) {
        in[1].shape[in[0].rank - 2] = in[0].shape[in[0].rank - 1];
        in[1].shape[in[0].rank - 1] = length(s);
    }
    if (op->infer == infer_dropout)
        in[1] = (rp_type){RP_I64, 1, {2}};
    if (op->infer == infer_random)
        in[0] = (rp_type){RP_I64, 1, {2}};
    if (op->infer == infer_cross_entropy) {
        in[0].rank = 2;
        in[1] = (rp_type){RP_I64, 1, {in[0].shape[0]}};
    }
    if (op->infer == infer_cross_entropy_grad) {
        in[1].rank = 2;
        in[0] = (rp_type){in[1].dtype, 1, {in[1].shape[0]}};
        in[2] = (rp_type){RP_I64, 1, {in[1].shape[0]}};
    }
    if (op->infer == infer_gather)
        in[1] = (rp_type){RP_I64, (int)draw(s, 3), {length(s), length(s)}};
    if (op->infer == infer_fft && in[0].rank) {
        in[0].shape[in[0].rank - 1] = draw(s, 2) ? (size_t)1 << draw(s, 12) : 251 * (1 + draw(s, 13));
        in[1] = in[0];
    }
    if (op->infer == infer_non_max) {
        const size_t images = length(s), boxes = length(s), classes = length(s);

        in[0] = (rp_type){in[0].dtype, 3, {images, boxes, 4}};
        in[1] = (rp_type){in[0].dtype, 3, {images, classes, boxes}};
        in[2] = (rp_type){RP_I64, 3, {images, classes, boxes}};
    }
    if (op->infer == infer_scatter_add && in[0].rank)
        in[1] = (rp_type){RP_I64, 1, {in[0].shape[draw(s, (size_t)in[0].rank)]}};
}

static void draw_attributes(search *s, const rp_op *op, const rp_type *in, rp_attr *attr)
{
    const int rank = op->n_in ? in[0].rank : (int)draw(s, 4);

    for (int i = 0; i < RP_MAX_ATTR && op->attr[i].kind != RP_ATTR_NONE; i++)
        switch (op->attr[i].kind) {
        case RP_ATTR_INT:
            attr[i].i = op->infer == infer_map || op->kernel == RP_K_pow_int
                            ? (int64_t)(draw(s, 2) ? INT64_MAX : INT64_MIN + 2)
                            : (int64_t)(draw(s, 3) ? draw(s, 4) : length(s));
            break;
        case RP_ATTR_REAL:
            attr[i].r = draw(s, 3) ? 0.25 : 0;
            break;
        case RP_ATTR_DTYPE:
            attr[i].i = (int64_t)draw(s, RP_DTYPE_COUNT);
            break;
        case RP_ATTR_LIST:
            attr[i].n = rank;
            for (int d = 0; d < rank; d++)
                attr[i].list[d] = (int64_t)(draw(s, 2) ? 0 : length(s));
            break;
        default:
            attr[i].i = (int64_t)draw(s, 2);
        }
    if (op->infer == infer_transpose)
        for (int d = 0; d < rank; d++)
            attr[0].list[d] = rank - 1 - d;
    if (op->infer == infer_slice)
        for (int d = 0; d < rank; d++) {
            attr[0].list[d] = 0;
            attr[1].list[d] = (int64_t)in[0].shape[d];
        }
    if (op->infer == infer_reduce || op->infer == infer_reduce_some || op->infer == infer_var) {
        attr[0].n = 0;
        for (int d = 0; d < rank; d++)
            if (draw(s, 2))
                attr[0].list[attr[0].n++] = d;
    }
    if (op->infer == infer_broadcast_to || op->infer == infer_reshape)
        for (int d = 0; d < rank; d++)
            attr[0].list[d] = (int64_t)in[0].shape[d];
    if (op->infer == infer_broadcast_to && rank < 8) {
        memmove(attr[0].list + 1, attr[0].list, 7 * sizeof attr[0].list[0]);
        attr[0].list[0] = (int64_t)length(s);
        attr[0].n = rank + 1;
    }
}

/* ---- running ---- */

/* Numbers that functions find hard: large, subnormal, near 1, exact; indices are 0. */
static void *numbers(search *s, const rp_type *type)
{
    static const double hard[] = {1e30, 1e-40, 1.0000001, -0.75, 3.7e5, 0, 709.5, 88.1, -1e-310, 0.4999999};
    const size_t n = rp_type_count(type), from = draw(s, 10), step = draw(s, 2);
    void *memory = calloc(rp_type_bytes(type) + 1, 1);

    assert_non_null(memory);
    for (size_t i = 0; i < n && type->dtype == RP_F32; i++)
        ((float *)memory)[i] = (float)hard[(from + i * step) % 10];
    for (size_t i = 0; i < n && type->dtype == RP_F64; i++)
        ((double *)memory)[i] = hard[(from + i * step) % 10];
    return memory;
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What a subnormal product costs more than another, in ns: nothing on some processors, 150 cycles where microcode makes
 * it (Intel's), many times a formula's whole time. */
static double assist(void)
{
    enum { PRODUCTS = 2000 };
    static const double factor[] = {1.0, 0x1p-1030};
    double best[] = {1e300, 1e300};

    for (int again = 0; again < 20; again++)
        for (int kind = 0; kind < 2; kind++) {
            volatile double x = 1.25, y;
            const double begin = now();

            for (int i = 0; i < PRODUCTS; i++)
                y = x * factor[kind];
            (void)y;
            if (now() - begin < best[kind])
                best[kind] = now() - begin;
        }
    return best[1] > best[0] ? (best[1] - best[0]) / PRODUCTS : 0;
}

static double time_of(search *s, const rp_program *p, void *const *memory)
{
    const double begin = now();
    rp_graph *graph;
    rp_error err;
    const rp_status status = rp_graph_trace(&graph, p, s->device, memory, &err);

    if (status != RP_OK && status != RP_EDATA) /* no index is right on an axis without elements */
        fail_msg("%s", err.text);
    rp_graph_free(graph);
    return now() - begin;
}

/* Subnormal numbers of the inputs become others that are as hard. */
static void make_normal(const rp_program *p, void *const *memory)
{
    for (size_t i = 0; i < p->n_inputs; i++) {
        const rp_type *type = &p->value[p->input[i].value];
        const size_t n = rp_type_count(type);

        for (size_t k = 0; k < n && type->dtype == RP_F32; k++)
            if (fpclassify(((float *)memory[i])[k]) == FP_SUBNORMAL)
                ((float *)memory[i])[k] = 1.0000001F;
        for (size_t k = 0; k < n && type->dtype == RP_F64; k++)
            if (fpclassify(((double *)memory[i])[k]) == FP_SUBNORMAL)
                ((double *)memory[i])[k] = -0.75;
    }
}

/* The least ns a unit of W, repeated where it is above the bound: a processor shared with others takes longer by
 * chance, and a few times in a row. More turns, the same bound. */
static double least(search *s, const rp_program *p, void *const *memory, double bound)
{
    const double work = (double)rp_program_price(p).work;
    double best = 1e300;

    for (int again = 0; again < 30 && (again == 0 || s->show || best > bound * work); again++) {
        const double found = time_of(s, p, memory);

        best = found < best ? found : best;
    }
    return best / work;
}

static void hold(const rp_program *p, const char *name, double found, double bound)
{
    rp_buffer text = {0};

    if (found <= SLOWER * bound)
        return;
    (void)rp_program_write(p, &text, NULL);
    fail_msg("%s: %.0f ns a unit of W, bound %.0f\n%.*s", name, found, bound, (int)text.size, (const char *)text.data);
}

/* A program of the instruction alone: what it costs and what its price is, with subnormal numbers and without. */
static void try_program(search *s, const rp_program *p, const char *name)
{
    const rp_price price = rp_program_price(p);
    void *memory[OPERANDS] = {NULL};
    double found;

    if (price.work > WORK_MAX || price.memory > BYTES_MAX)
        return;
    for (size_t i = 0; i < p->n_inputs; i++)
        memory[i] = numbers(s, &p->value[p->input[i].value]);
    found = least(s, p, memory, BOUND);
    hold(p, name, found, s->bound);
    if (found > BOUND) {
        make_normal(p, memory);
        hold(p, name, least(s, p, memory, BOUND), BOUND);
    }
    for (size_t i = 0; i < p->n_inputs; i++)
        free(memory[i]);
    s->ran++;
    if (found > s->worst)
        s->worst = found;
}

static void try_once(search *s, rp_op_id id)
{
    const rp_op *op = rp_op_get(id);
    const size_t n = op->n_in == RP_MANY ? 1 + draw(s, OPERANDS - 1) : (size_t)op->n_in;
    rp_attr attr[RP_MAX_ATTR] = {{0}};
    rp_type in[OPERANDS] = {{0}};
    uint32_t value[OPERANDS], out[RP_MAX_OUT];
    bool fits = true, fine = true;
    rp_program *p = rp_program_new();
    char name[8];

    if (!draw_image(s, id, attr, in, &fits)) {
        draw_operands(s, op, in, n);
        draw_attributes(s, op, in, attr);
    }
    for (size_t i = 0; i < n && fits && fine; i++) {
        name[0] = (char)('a' + i);
        name[1] = '\0';
        fine = rp_type_valid(&in[i]) && rp_program_add_input(p, RP_INPUT_FEED, name, &in[i], &value[i], NULL) == RP_OK;
    }
    if (fits && fine && rp_program_add_instr(p, op, attr, value, n, out, NULL) == RP_OK)
        try_program(s, p, op->name);
    rp_program_free(p);
}

static void no_operation_costs_more_than_its_price(void **state)
{
    search s = {.seed = 1, .bound = BOUND + ASSISTS * assist(), .show = getenv("RP_PRICES") != NULL};

    (void)state;
    if (s.show)
        print_message("at most %.1f ns a unit here\n", s.bound);
    alarm(s.show ? 10 * PATIENCE : PATIENCE); /* what never ends is found too */
    assert_int_equal(rp_device_cpu_new(&s.device, "ref", 1, NULL), RP_OK);
    for (rp_op_id id = 0; id < RP_OP_COUNT; id++) {
        s.worst = 0;
        s.ran = 0;
        for (int i = 0; i < TRIES * 40 && s.ran < TRIES; i++)
            try_once(&s, id);
        if (s.show)
            print_message("%-20s %5zu tried, at most %.1f ns a unit\n", rp_op_get(id)->name, s.ran, s.worst);
        if (s.ran < TRIES / 20)
            fail_msg("%s: only %zu programs fit", rp_op_get(id)->name, s.ran);
    }
    rp_device_free(s.device);
    alarm(0);
}

/* ---- frames ---- */

/* scan 200 times over a function that is handed so many operands and executes one instruction, or 20 branches. */
static void frames_cost_what_they_are_handed(void **state)
{
    search s = {.seed = 2};

    (void)state;
    assert_int_equal(rp_device_cpu_new(&s.device, "ref", 1, NULL), RP_OK);
    for (size_t shared = 0; shared < 3000; shared = 4 * shared + 1) {
        rp_buffer text = {0};
        rp_program *p;
        rp_price price;
        float x = 1;
        void *memory = &x;
        double best = 1e300;
        rp_error err;

        rp_buffer_text(&text, "{\"contract\":1,\"functions\":[{\"instructions\":[[\"neg\",{},[1],[");
        rp_buffer_printf(&text, "%zu]]],\"outputs\":[%zu],\"parameters\":[[\"i64\",[]]", shared + 2, shared + 2);
        for (size_t i = 0; i <= shared; i++)
            rp_buffer_text(&text, ",[\"f32\",[]]");
        rp_buffer_text(&text,
                       "]}],\"inputs\":[[0,\"feed\",\"x\",\"f32\",[]]],\"instructions\":[[\"scan\",{\"carried\":1,"
                       "\"function\":0,\"history\":false,\"reverse\":false,\"sliced\":0,\"times\":200},[0");
        for (size_t i = 0; i < shared; i++)
            rp_buffer_text(&text, ",0");
        rp_buffer_text(&text, "],[1]]],\"outputs\":[[\"result\",\"y\",1]]}");
        if (rp_program_parse(&p, text.data, text.size, "text", &err) != RP_OK)
            fail_msg("%s", err.text);
        price = rp_program_price(p);
        assert_true(price.work >= 200 * 16 * shared); /* each frame is handed all */
        for (int again = 0; again < 3; again++) {
            const double found = time_of(&s, p, &memory);

            best = found < best ? found : best;
        }
        if (s.show)
            print_message("scan of %zu shared: %.1f ns a unit\n", shared, best / (double)price.work);
        if (best > SLOWER * (double)BOUND * (double)price.work)
            fail_msg("%zu shared: %.0f ns for W = %llu", shared, best, (unsigned long long)price.work);
        rp_program_free(p);
        rp_buffer_free(&text);
    }
    rp_device_free(s.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_operation_costs_more_than_its_price),
        cmocka_unit_test(frames_cost_what_they_are_handed),
    };

    return cmocka_run_group_tests_name("prices", tests, NULL, NULL);
}
