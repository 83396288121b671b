/* SPDX-License-Identifier: Apache-2.0
 * What this library makes of programs, as lines for the second implementation (compare.py) to make again: texts of
 * random programs, what they are given and what they give, gradients that are derived; and verdicts over texts. Values
 * are stored bytes in hexadecimal.
 *
 * Usage: second_cases flat|call|scan|map|cond|while FROM TO [ORDER]   (seeds; ORDER 1 or 2: differentiated so often)
 *        second_cases judge < TEXTS     (one a line; says "ok X W M" or "no ERROR")
 *        second_cases derive < TEXTS    (each in front of three lines: of, by, seeds; made again call by call) */
#include "tests/core/run/random_program.h"
#include "tests/core/run/region_examples.h"

/* ---- lines ---- */

static void put_hex(const rp_buffer *bytes)
{
    for (size_t i = 0; i < bytes->size; i++)
        printf("%02x", bytes->data[i]);
    printf("\n");
}

static void put_text(const char *word, const rp_program *p)
{
    rp_buffer text = text_of(p);

    printf("%s %.*s\n", word, (int)text.size, (const char *)text.data);
    rp_buffer_free(&text);
}

static void put_price(const char *word, const rp_program *p)
{
    const rp_price price = rp_program_price(p);

    printf("%s %llu %llu %llu\n", word, (unsigned long long)price.executed, (unsigned long long)price.work,
           (unsigned long long)price.memory);
}

static void put_numbers(const char *word, const rp_tensor *x, size_t n)
{
    printf("%s", word);
    for (size_t i = 0; i < n; i++)
        printf(" %u", (unsigned)x[i].value);
    printf("\n");
}

/* What a step on the tape is given and gives; a compiled step gives the same. */
static void put_step(const rp_program *p, rp_device *device, uint64_t seed)
{
    static const char *const kinds[] = {[RP_INPUT_STATE] = "state", [RP_INPUT_DATA] = "data", [RP_INPUT_FEED] = "feed"};
    store s = store_new(p), again = store_new(p);
    record found, compiled;
    rp_plan *plan;

    strew(p, &s, seed);
    strew(p, &again, seed);
    for (size_t i = 0; i < p->n_inputs; i++) {
        rp_buffer bytes = {0};

        put(&bytes, &p->value[p->input[i].value], s.memory[i]);
        printf("given %s %s ", kinds[p->input[i].kind], p->input[i].name);
        put_hex(&bytes);
        rp_buffer_free(&bytes);
    }
    found = eager_step(p, device, &s);
    for (size_t o = 0; o < p->n_outputs; o++) {
        printf("gives %s %s ", p->output[o].kind == RP_OUTPUT_STATE ? "state" : "result", p->output[o].name);
        put_hex(&found.bytes[o]);
    }
    plan = plan_new(p, device, &again);
    compiled = plan_step(p, plan, &again);
    assert_same(p, &found, &compiled, "compiled");
    rp_plan_free(plan);
    record_free(&found);
    store_free(&s);
    store_free(&again);
}

/* ---- cases ---- */

/* A program without regions, of which every value but views is a result: so each instruction is compared by itself. */
static void flat_case(rp_device *device, uint64_t seed)
{
    rp_program *p = random_program_new(seed, 2 + seed % 3, 1 + seed % 5);
    const rp_instr *maker;
    char name[24];
    int at;

    assert_non_null(p);
    for (uint32_t v = 0; v < p->n_values; v++) {
        snprintf(name, sizeof name, "v%u", (unsigned)v);
        if (made_by_kernel(p, v, &maker, &at))
            assert_int_equal(rp_program_add_output(p, RP_OUTPUT_RESULT, name, v, NULL), RP_OK);
    }
    put_text("text", p);
    put_price("price", p);
    put_step(p, device, seed);
    rp_program_free(p);
}

/* One sweep as rp_vjp_or_zeros makes it: seeds for everything that was given, the gradients of all that was taken. */
static void differentiate(rp_graph *g, const char *name)
{
    const size_t n_out = seen.n_out, n_in = seen.n_in;
    rp_tensor seed[4 * BODY_PARAMS], grad[4 * BODY_PARAMS], y[4 * BODY_PARAMS];
    char text[32];
    size_t n = 0;

    for (size_t i = 0; i < n_out; i++) {
        const rp_type type = *rp_tensor_type(seen.out[i]);

        if (type.dtype != RP_F32)
            continue;
        snprintf(text, sizeof text, "%s.seed", name);
        y[n] = seen.out[i];
        seed[n++] = input(g, text, i, type);
        printf("declare %s %s%zu f32", i % 2 ? "data" : "feed", text, i);
        for (int k = 0; k < type.rank; k++)
            printf(" %zu", type.shape[k]);
        printf("\n");
    }
    seen.n_in = n_in; /* the seeds are no variables */
    put_numbers("of", y, n);
    put_numbers("seeds", seed, n);
    put_numbers("by", seen.in, n_in);
    rp_vjp_or_zeros(y, seed, n, seen.in, n_in, grad);
    put_numbers("makes", grad, n_in);
    seen.n_out = 0;
    for (size_t i = 0; i < n_in; i++) {
        result(g, name, i, grad[i]);
        printf("result %s%zu %zu\n", name, i, i);
    }
}

/* A use of a weight after the region: its gradient exists when the region is visited. */
static void use_again(rp_graph *g, const example *e)
{
    rp_tensor w = seen.in[seen.n_in - 1];

    if (e->b.seed % 2 && e->b.shared)
        result(g, "again", 0, rp_mul(w, rp_tanh(w)));
}

static rp_program *built(build_fn *build, const example *e, int order)
{
    rp_graph *g;
    rp_program *p;
    rp_error err = {0};

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    seen.n_in = seen.n_out = 0;
    build(g, e, false);
    use_again(g, e);
    for (int i = 0; i < order; i++)
        differentiate(g, i ? "gg" : "g");
    if (rp_graph_finish(g, &p, &err) != RP_OK)
        fail_msg("seed %d: %s", (int)e->b.seed, err.text);
    return p;
}

static void region_case(rp_device *device, build_fn *build, uint64_t seed, int order)
{
    example e = example_of(seed);
    rp_program *p;

    e.tied = seed % 3 == 1;
    e.times += order && e.times == 0 && e.carried == 0; /* or nothing would be differentiated */
    p = built(build, &e, 0);
    if (order) {
        put_text("before", p);
        rp_program_free(p);
        p = built(build, &e, order);
    }
    put_text("text", p);
    put_price("price", p);
    put_step(p, device, seed);
    rp_program_free(p);
}

/* ---- verdicts ---- */

static int judge(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while ((length = getline(&line, &room, stdin)) > 0) {
        rp_program *p;
        rp_error err = {0};

        if (rp_program_read(&p, line, (size_t)length - 1, "text", &err) == RP_OK) {
            put_price("ok", p);
            rp_program_free(p);
        } else {
            printf("no %s\n", err.text);
        }
    }
    free(line);
    return 0;
}

/* ---- programs of others, call by call ---- */

enum { VALUES_MAX = 4096 };

static void emit_region(rp_graph *g, const rp_region_info *r, const rp_instruction_info *instr, const rp_tensor *in,
                        rp_tensor *out)
{
    const rp_tensor *sliced = in + r->carried, *shared = sliced + r->sliced;
    const size_t n_shared = instr->n_in - r->carried - r->sliced;
    rp_combine combine[64];

    for (size_t i = 0; i < r->n_combine; i++)
        combine[i] = (rp_combine)r->combine[i];
    if (r->kind == RP_CALL)
        rp_call(g, r->function[0], in, instr->n_in, out);
    else if (r->kind == RP_COND)
        rp_cond(g, in[0], r->function, r->n_functions, in + 1, instr->n_in - 1, out);
    else if (r->kind == RP_SCAN)
        rp_scan(g,
                &(rp_scan_options){.function = r->function[0],
                                   .carried = in,
                                   .n_carried = r->carried,
                                   .sliced = sliced,
                                   .n_sliced = r->sliced,
                                   .shared = shared,
                                   .n_shared = n_shared,
                                   .times = r->times,
                                   .reverse = r->reverse,
                                   .history = r->history},
                out);
    else
        rp_map(g,
               &(rp_map_options){.function = r->function,
                                 .n_function = r->n_functions,
                                 .sliced = sliced,
                                 .n_sliced = r->sliced,
                                 .shared = shared,
                                 .n_shared = n_shared,
                                 .cuts = r->cuts,
                                 .n_cuts = r->n_cuts,
                                 .first = r->first,
                                 .combine = combine,
                                 .n_combine = r->n_combine},
               out);
}

/* Inputs up to value `to`. */
static size_t emit_inputs(rp_graph *g, const rp_program *p, size_t next, uint32_t to, rp_tensor *value)
{
    rp_input_info in;

    for (; rp_program_input(p, next, &in) && in.value < to; next++)
        value[in.value] = rp_graph_declare(g, in.kind, in.name, &in.type);
    return next;
}

static void emit_program(rp_graph *g, const rp_program *p, rp_tensor *value)
{
    rp_instruction_info instr;
    size_t next = 0;

    for (size_t k = 0; rp_program_instruction(p, k, &instr); k++) {
        rp_tensor in[64], out[64];
        rp_region_info region;

        next = emit_inputs(g, p, next, instr.n_out ? instr.out[0] : 0, value);
        for (size_t i = 0; i < instr.n_in; i++)
            in[i] = value[instr.in[i]];
        if (rp_program_region(p, k, &region))
            emit_region(g, &region, &instr, in, out);
        else
            rp_append(g, instr.op, instr.attribute, instr.attributes, in, instr.n_in, out, instr.n_out);
        for (size_t i = 0; i < instr.n_out; i++)
            value[instr.out[i]] = out[i];
    }
    (void)emit_inputs(g, p, next, UINT32_MAX, value);
}

static size_t read_numbers(const char *line, const rp_tensor *value, rp_tensor *out)
{
    size_t n = 0;
    char *end;

    for (unsigned long v = strtoul(line, &end, 10); end != line; v = strtoul(line, &end, 10)) {
        out[n++] = value[v];
        line = end;
    }
    return n;
}

static int derive(rp_device *device)
{
    char *line[4] = {NULL};
    size_t room[4] = {0};

    for (uint64_t seed = 0;; seed++) {
        rp_tensor value[VALUES_MAX], of[64], by[64], seeds[64], grad[64];
        rp_program *p, *derived;
        rp_graph *g;
        rp_error err = {0};
        size_t n_of, n_by;

        for (size_t i = 0; i < 4; i++)
            if (getline(&line[i], &room[i], stdin) <= 0) {
                for (size_t k = 0; k < 4; k++)
                    free(line[k]);
                rp_device_free(device);
                return 0;
            }
        if (rp_program_read(&p, line[0], strlen(line[0]) - 1, "text", &err) != RP_OK)
            fail_msg("%s\n%s", err.text, line[0]);
        printf("case derived, seed %llu\n", (unsigned long long)seed);
        assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
        assert_true(p->n_values < VALUES_MAX);
        emit_program(g, p, value);
        n_of = read_numbers(line[1], value, of);
        n_by = read_numbers(line[2], value, by);
        assert_int_equal(read_numbers(line[3], value, seeds), n_of);
        rp_vjp_or_zeros(of, seeds, n_of, by, n_by, grad);
        for (size_t i = 0; i < n_by; i++) {
            char name[24];

            snprintf(name, sizeof name, "g%zu", i);
            rp_graph_result(g, name, grad[i]);
        }
        rp_program_free(p);
        if (rp_graph_finish(g, &derived, &err) == RP_OK) {
            put_text("text", derived);
            put_price("price", derived);
            put_step(derived, device, seed);
            rp_program_free(derived);
        } else {
            printf("error %s\n", err.text);
        }
        printf("end\n");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        build_fn *build;
    } kinds[] = {
        {"call", build_call}, {"scan", build_scan}, {"map", build_map}, {"cond", build_cond}, {"while", build_while}};
    rp_device *device;

    rp_set_allocator(&poisoning);
    if (argc == 2 && strcmp(argv[1], "judge") == 0)
        return judge();
    if (rp_device_cpu_new(&device, NULL, 2, NULL) != RP_OK)
        return 2;
    if (argc == 2 && strcmp(argv[1], "derive") == 0)
        return derive(device);
    if (argc < 4) {
        fprintf(stderr, "usage: second_cases flat|call|scan|map|cond|while FROM TO [ORDER] | judge | derive\n");
        return 2;
    }
    for (uint64_t seed = strtoull(argv[2], NULL, 10); seed < strtoull(argv[3], NULL, 10); seed++) {
        printf("case %s, seed %llu\n", argv[1], (unsigned long long)seed);
        if (strcmp(argv[1], "flat") == 0)
            flat_case(device, seed);
        for (size_t k = 0; k < COUNT(kinds); k++)
            if (strcmp(argv[1], kinds[k].name) == 0)
                region_case(device, kinds[k].build, seed, argc > 4 ? atoi(argv[4]) : 0);
        printf("end\n");
    }
    rp_device_free(device);
    return 0;
}
