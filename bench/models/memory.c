#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/run/run.h"
#include "network.h"

static net symbolic;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const network of = {"unet512", "", build_unet_512};
    const network *use = &of;
    rp_program *p;
    rp_device *device;
    rp_error err = {0};
    static char stands_in[64];
    void **memory;
    rp_plan *plan;
    size_t most = 0;

    for (size_t i = 0; networks[i].name && argc > 1; i++)
        if (strcmp(networks[i].name, argv[1]) == 0)
            use = &networks[i];
    rp_graph_symbolic(&symbolic.graph, &err);
    net_step(&symbolic, use);
    if (rp_graph_finish(symbolic.graph, &p, &err) != RP_OK)
        net_stop("p", &err);
    rp_device_cpu_new(&device, NULL, 1, NULL);
    memory = calloc(p->n_inputs, sizeof *memory);
    for (size_t i = 0; i < p->n_inputs; i++)
        memory[i] = p->input[i].kind == RP_INPUT_FEED ? NULL : stands_in;
    for (int percent = 100; percent > 10; percent -= 3) {
        rp_plan_options o = {.passes = RP_PASSES, .stored = RP_PLAN_STORED_MAX, .memory = most * (size_t)percent / 100};
        double t = seconds();
        err = (rp_error){0};
        if (rp_plan_new_with(&plan, p, device, memory, &o, &err) != RP_OK) {
            printf("%d %.3f s: %s\n", percent, seconds() - t, err.text);
            break;
        }
        if (!most)
            most = rp_plan_arena_bytes(plan) + rp_plan_own_bytes(plan);
        printf("%d%%: arena %.1f MiB own %.1f launches %zu plan %.1f ms instrs %zu\n", percent, rp_plan_arena_bytes(plan) / 1048576.0,
               rp_plan_own_bytes(plan) / 1048576.0, rp_plan_launches(plan), 1e3 * (seconds() - t), p->n_instrs);
        rp_plan_free(plan);
    }
    return 0;
}
