/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: any bytes as a program. What is accepted must be written back as itself; if it is small, the eager
 * tape and the plan must both run it and agree, or both refuse. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/program/graph.h"
#include "core/run/plan.h"
#include "determinism/bits.h"

enum { VALUES_MAX = 128, BYTES_MAX = 1 << 14, INPUTS_MAX = 32, WORK_MAX = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fine)
{
    if (!fine)
        abort();
}

static bool is_small_body(const rp_program *p)
{
    for (size_t v = 0; v < p->n_values; v++)
        if (rp_type_count(&p->value[v]) > BYTES_MAX / 8)
            return false;
    return p->n_values <= VALUES_MAX && p->n_inputs <= INPUTS_MAX;
}

static bool is_small(const rp_program *p)
{
    rp_functions functions;
    bool small = is_small_body(p) && rp_program_price(p).work <= WORK_MAX;

    expect(rp_functions_of(&functions, p, NULL) == RP_OK);
    for (size_t i = 0; i < functions.n; i++)
        small = small && is_small_body(functions.function[i]->body);
    rp_functions_free(&functions);
    return small;
}

/* A value's elements in order. */
static const void *in_order(const rp_type *type, const rp_view *view, rp_device *device)
{
    static unsigned char bytes[BYTES_MAX];
    const rp_view to = rp_view_of(type, bytes);

    expect(rp_execute_copy(device, view, &to, NULL) == RP_OK);
    return bytes;
}

/* Stored, so that a NaN is one NaN. */
static void expect_same(const rp_type *type, const void *a, const void *b)
{
    static unsigned char sa[BYTES_MAX], sb[BYTES_MAX];

    rp_to_stored(sa, a, type->dtype, rp_type_count(type));
    rp_to_stored(sb, b, type->dtype, rp_type_count(type));
    expect(memcmp(sa, sb, rp_type_bytes(type)) == 0);
}

static void run(const rp_program *p, rp_device *device)
{
    static unsigned char memory[2][INPUTS_MAX][BYTES_MAX];
    void *eager[INPUTS_MAX], *fixed[INPUTS_MAX];
    rp_graph *graph;
    rp_plan *plan;
    rp_status traced, planned;

    for (size_t i = 0; i < p->n_inputs; i++) {
        memset(memory[0][i], i % 3 ? 0 : 1, BYTES_MAX);
        memcpy(memory[1][i], memory[0][i], BYTES_MAX);
        eager[i] = memory[0][i];
        fixed[i] = p->input[i].kind == RP_INPUT_FEED ? NULL : memory[1][i];
    }
    expect(rp_plan_new(&plan, p, device, fixed, NULL) == RP_OK); /* states may exchange values, outputs be views */
    for (size_t i = 0; i < p->n_inputs; i++)
        if (!fixed[i])
            memcpy(rp_plan_feed(plan, i), eager[i], rp_type_bytes(&p->value[p->input[i].value]));
    traced = rp_graph_trace(&graph, p, device, eager, NULL);
    planned = rp_plan_run(plan, NULL);
    expect(traced == planned);
    for (size_t o = 0; o < p->n_outputs && traced == RP_OK; o++)
        expect_same(&p->value[p->output[o].value],
                    in_order(&p->value[p->output[o].value], &graph->view[p->output[o].value], device),
                    rp_plan_output(plan, o));
    rp_graph_free(graph);
    rp_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rp_device *device;
    rp_program *p, *copy;
    rp_buffer text = {0};

    if (!device)
        expect(rp_device_cpu_new(&device, NULL, 1, NULL) == RP_OK);
    if (rp_program_parse(&p, data, size, "fuzz", NULL) != RP_OK)
        return 0;
    expect(rp_program_write(p, &text, NULL) == RP_OK);
    expect(text.size == size && memcmp(text.data, data, size) == 0);
    copy = rp_program_copy(p);
    expect(copy != NULL && copy->n_values == p->n_values);
    if (is_small(p))
        run(p, device);
    rp_program_free(copy);
    rp_program_free(p);
    rp_buffer_free(&text);
    return 0;
}
