/* SPDX-License-Identifier: Apache-2.0
 * rp_print: a value's figures, in an eager step at once, in a compiled one when its plan has run. The plan is that of a
 * program with a result more for each value; what is recorded, and told to observers, is the program as it is. */
#include "core/run/look/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "core/run/look/summary.h"
#include "determinism/fpenv.h"

static void put_text(const rp_print_to *to, const char *text)
{
    if (to->print)
        to->print(to->self, text);
    else
        (void)fputs(text, stderr);
}

rp_status rp_print_tensor(const rp_print_to *to, const rp_device_tensor *tensor, rp_error *err)
{
    rp_host_tensors host = {.n = 0};
    rp_buffer text = {0};
    rp_summary summary;
    char type[192], *whole;
    rp_status status = rp_host_tensors_map(&host, tensor, 1, err);

    if (status == RP_OK) {
        rp_type_text(&tensor->type, type, sizeof type);
        rp_summary_of(&summary, &tensor->type, host.named[0].data);
        rp_buffer_printf(&text, "%s, step %" PRIu64 ": %s\n", tensor->name, to->step ? *to->step : 0, type);
        rp_summary_put(&text, &summary, "  ", false);
    }
    rp_host_tensors_unmap(&host);
    status = rp_buffer_finish(&text, status, &whole, err);
    if (status == RP_OK)
        put_text(to, whole);
    rp_free(whole);
    return status;
}

/* A view is copied first, as its elements may lie anywhere. */
static rp_status print_now(rp_graph *graph, uint32_t value, const char *name)
{
    const rp_type *type = &graph->program->value[value];
    rp_device_tensor tensor = {name, *type, graph->device, NULL};
    void *copy = NULL;
    rp_view to;
    rp_status status = RP_OK;

    if (rp_graph_is_late(graph, value))
        status = rp_graph_make(graph, value);
    if (status == RP_OK && !rp_view_contiguous(&graph->view[value])) {
        const size_t bytes = rp_type_bytes(type);

        status = rp_device_allocate(graph->device, &copy, bytes ? bytes : 1, &graph->error);
        to.data = copy;
        if (status == RP_OK) {
            rp_bind_copy(&graph->view[value], &to);
            status = rp_execute_copy(graph->device, &graph->view[value], &to, &graph->error);
        }
    }
    if (status == RP_OK)
        status = rp_graph_settle(graph, &graph->error);
    tensor.memory = copy ? copy : graph->view[value].data;
    if (status == RP_OK)
        status = rp_print_tensor(&graph->print_to, &tensor, &graph->error);
    rp_device_release(graph->device, copy);
    return status;
}

void rp_print(rp_tensor x, const char *name)
{
    rp_graph *graph = x.graph;
    rp_fpenv saved;

    rp_graph_at_work(graph);
    if (!graph || !rp_tensor_ok(x) || graph->status != RP_OK)
        return;
    if (!name)
        name = "";
    if (!graph->device) {
        graph->status = rp_program_add_print(graph->program, x.value, name, &graph->error);
        return;
    }
    graph->status = rp_fpenv_enter(&saved, NULL, &graph->error);
    if (graph->status != RP_OK)
        return;
    graph->status = print_now(graph, x.value, name);
    rp_fpenv_leave(&saved);
}

rp_status rp_print_program(rp_program **out, const rp_program *program, rp_error *err)
{
    rp_program *p = *out = rp_program_copy(program);
    rp_status status = p ? RP_OK : rp_no_memory(err);

    for (size_t i = 0, number = 0; i < program->n_prints && status == RP_OK; i++) {
        char name[RP_NAME_MAX];

        do /* a name that no result of the caller's has */
            (void)snprintf(name, sizeof name, "print.%zu", number++);
        while (rp_program_find_output(p, RP_OUTPUT_RESULT, name));
        status = rp_program_add_output(p, RP_OUTPUT_RESULT, name, program->print[i].value, err);
    }
    if (status != RP_OK) {
        rp_program_free(p);
        *out = NULL;
    }
    return status;
}
