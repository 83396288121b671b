/* SPDX-License-Identifier: Apache-2.0
 * Training steps of networks that people train, for one who asks: bench/peers/models_torch.py, which sets PyTorch's
 * beside them, and bench/gpu/steps.py, which does so on a GPU.
 *
 *   build/release/bench/models [--device DEVICE] [--batch TIMES] NAME THREADS FILE [MODE ...]
 *   build/release/bench/models NAME THREADS FILE answer         forward only, batch 1, as a trained network
 *
 * Writes the first weights and the data to FILE as safetensors, prints a line, then answers each line "MODE STEPS" of
 * its input by the seconds that a step took, the processor's seconds, the last loss (of answers: the sum of their
 * elements), and the bytes of the device that the run holds; "same 1" by "equal" or what differs. Without NAME lists
 * them. Modes are runs of their own, with the same weights, on DEVICE: compiled, eager, recorded, rolling, and cpu,
 * which is compiled for the processor. Modes that took as many steps as the first must have its states: asked by
 * "same", and when the input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/record/recorder.h"
#include "core/run/run.h"
#include "kernels/device.h"
#include "network.h"

typedef struct mode {
    char name[16];
    rp_run *run;
    rp_compiled *compiled; /* NULL: eager */
    rp_recorder *recorder;
    size_t steps;
    float loss;
} mode;

static net symbolic, eager;
static const char *device; /* NULL: the processor */

static double seconds_of(clockid_t id)
{
    struct timespec t;

    (void)clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static rp_program *program_of(const network *of)
{
    rp_program *program;
    rp_error err = {0};

    if (rp_graph_symbolic(&symbolic.graph, &err) != RP_OK)
        net_stop("graph", &err);
    net_step(&symbolic, of);
    if (rp_graph_finish(symbolic.graph, &program, &err) != RP_OK)
        net_stop(of->name, &err);
    return program;
}

static rp_status take_loss(void *self, const rp_step_event *event, rp_error *err)
{
    return rp_device_tensor_read(&event->result[0], &((mode *)self)->loss, err);
}

static void make(mode *m, const char *name, const rp_program *program, unsigned threads)
{
    const bool is_eager = strcmp(name, "eager") == 0, rolling = strcmp(name, "rolling") == 0;
    rp_run_options options = {.threads = threads};
    rp_error err = {0};

    (void)snprintf(m->name, sizeof m->name, "%.15s", name);
    options.device = strcmp(name, "cpu") == 0 ? NULL : device;
    if (rp_run_new(&m->run, &options, &err) != RP_OK)
        net_stop("run", &err);
    net_add(&symbolic, m->run);
    if (rolling || strcmp(name, "recorded") == 0) {
        if (rp_recorder_new(&m->recorder, m->run, &err) != RP_OK ||
            rp_recorder_set_state_period(m->recorder, rolling ? 16 : 1, &err) != RP_OK)
            net_stop("recorder", &err);
    }
    if (is_eager ? rp_run_observe(m->run, (rp_observer){take_loss, m}, &err) != RP_OK
                 : rp_compile(&m->compiled, m->run, program, &err) != RP_OK)
        net_stop(name, &err);
}

static void eager_step(mode *m, const network *of)
{
    rp_error err = {0};

    eager.run = m->run;
    eager.taken = m->steps;
    if (rp_step_begin(m->run, &err) != RP_OK)
        net_stop("step", &err);
    net_step(&eager, of);
    if (rp_step_end(m->run, &err) != RP_OK)
        net_stop("step", &err);
}

/* The sum of all elements, for one who compares. */
static float answer_sum(const mode *m)
{
    rp_device_tensor y;
    float *x, sum = 0;
    rp_error err = {0};

    if (!rp_compiled_result(m->compiled, "answer", &y))
        net_stop("answer", &err);
    x = malloc(rp_type_bytes(&y.type) + 1);
    if (!x || rp_device_tensor_read(&y, x, &err) != RP_OK)
        net_stop("answer", &err);
    for (size_t i = 0; i < rp_type_bytes(&y.type) / sizeof *x; i++)
        sum += x[i];
    free(x);
    return sum;
}

static void forward_step(mode *m)
{
    rp_error err = {0};

    if (rp_compiled_step(m->compiled, &err) != RP_OK)
        net_stop("answer", &err);
}

static void compiled_step(mode *m)
{
    const float rate[3] = {net_rate(0, m->steps), net_rate(1, m->steps), net_rate(2, m->steps)};
    rp_error err = {0};

    if (rp_compiled_write(m->compiled, "lr", &rate[0], sizeof *rate, &err) != RP_OK ||
        rp_compiled_write(m->compiled, "c1", &rate[1], sizeof *rate, &err) != RP_OK ||
        rp_compiled_write(m->compiled, "c2", &rate[2], sizeof *rate, &err) != RP_OK ||
        rp_compiled_step(m->compiled, &err) != RP_OK)
        net_stop("compiled step", &err);
}

/* Whatever the device has been given is done, the last record is complete, and the last loss is here. */
static void finish(mode *m)
{
    rp_error err = {0};

    if (m->compiled && !symbolic.forward &&
        rp_compiled_read(m->compiled, "loss", &m->loss, sizeof m->loss, &err) != RP_OK)
        net_stop("loss", &err);
    if (m->recorder && rp_recorder_settle(m->recorder, &err) != RP_OK)
        net_stop("record", &err);
    if (rp_device_synchronize(rp_run_device(m->run), NULL, &err) != RP_OK)
        net_stop(m->name, &err);
}

/* What "MODE STEPS" asks for: the answer is a line. */
static void answer(mode *m, const network *of, size_t steps)
{
    const double wall = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

    for (size_t i = 0; i < steps; i++, m->steps++) {
        if (symbolic.forward)
            forward_step(m);
        else if (m->compiled)
            compiled_step(m);
        else
            eager_step(m, of);
    }
    finish(m);
    printf("%.9f %.9f %.9g %zu\n", (seconds_of(CLOCK_MONOTONIC) - wall) / (double)steps,
           (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)steps, symbolic.forward ? answer_sum(m) : m->loss,
           rp_run_memory(m->run));
    (void)fflush(stdout);
}

static bool same_bits(const rp_device_tensor *x, const rp_device_tensor *y)
{
    const size_t bytes = rp_type_bytes(&x->type);
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    rp_error err = {0};
    bool same;

    if (!a || !b || rp_device_tensor_read(x, a, &err) != RP_OK || rp_device_tensor_read(y, b, &err) != RP_OK)
        net_stop(x->name, &err);
    same = memcmp(a, b, bytes) == 0;
    free(a);
    free(b);
    return same;
}

/* The first of the modes that took as many steps as m[0] and has another state or loss, with the state's name. */
static const mode *differing(const mode *m, size_t modes, const char **state)
{
    size_t n, of;
    const rp_device_tensor *x = rp_run_states(m->run, &n), *y;

    for (size_t k = 1; k < modes; k++) {
        if (m[k].steps != m->steps)
            continue;
        *state = "loss";
        y = rp_run_states(m[k].run, &of);
        if (n != of || memcmp(&m[k].loss, &m->loss, sizeof m->loss) != 0)
            return &m[k];
        for (size_t i = 0; i < n; i++) {
            *state = x[i].name;
            if (!same_bits(&x[i], &y[i]))
                return &m[k];
        }
    }
    return NULL;
}

/* Answers the input's lines until it ends. */
static void serve(mode *m, size_t n, const network *of)
{
    char name[16];
    const char *state;
    size_t steps;

    while (scanf("%15s %zu", name, &steps) == 2) {
        for (size_t i = 0; i < n; i++)
            if (strcmp(name, m[i].name) == 0 && steps)
                answer(&m[i], of, steps);
        if (strcmp(name, "same") == 0) {
            const mode *other = differing(m, n, &state);

            if (other)
                printf("DIFFERENT %s of %s and %s\n", state, m->name, other->name);
            else
                printf("equal\n");
            (void)fflush(stdout);
        }
    }
}

static void mode_free(mode *m)
{
    rp_compiled_free(m->compiled);
    rp_recorder_free(m->recorder);
    rp_run_free(m->run);
}

/* Leading options, taken from the arguments. */
static void take_options(int *argc, char ***argv)
{
    for (; *argc > 2 && strncmp((*argv)[1], "--", 2) == 0; *argc -= 2, *argv += 2) {
        if (strcmp((*argv)[1], "--device") == 0)
            device = (*argv)[2];
        else if (strcmp((*argv)[1], "--batch") == 0)
            symbolic.times = eager.times = strtoul((*argv)[2], NULL, 10);
        else
            net_stop((*argv)[1], &(rp_error){.text = "no such option: expected --device or --batch"});
    }
}

int main(int argc, char **argv)
{
    enum { MODES = 5 };
    static mode m[MODES];
    const network *of = networks;
    const char *state;
    const mode *other;
    rp_program *program;
    size_t n;

    take_options(&argc, &argv);
    n = argc > 4 ? (size_t)argc - 4 : 0;
    while (of->name && argc > 1 && strcmp(of->name, argv[1]) != 0)
        of++;
    if (argc < 5 || n > MODES || !of->name) {
        for (of = networks; of->name; of++)
            printf("%s|%s\n", of->name, of->what);
        return argc > 1;
    }
    symbolic.forward = strcmp(argv[4], "answer") == 0;
    program = program_of(of);
    net_write(&symbolic, argv[3]);
    for (size_t i = 0; i < n; i++)
        make(&m[i], argv[4 + i], program, (unsigned)strtoul(argv[2], NULL, 10));
    printf("%zu instructions\n", program->n_instrs);
    (void)fflush(stdout);
    serve(m, n, of);
    if ((other = differing(m, n, &state)) != NULL)
        fprintf(stderr, "models: %s: %s and %s differ\n", state, m->name, other->name);
    for (size_t i = 0; i < n; i++)
        mode_free(&m[i]);
    rp_program_free(program);
    return other != NULL;
}
