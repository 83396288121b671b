/* SPDX-License-Identifier: Apache-2.0
 * Threads of the application around the library's own: pools used nested and by several threads at once, runs side by
 * side, a process that forks after using the library, and a program that uses OpenMP. Bits are those of one thread
 * alone. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "audit/digest/digest.h"
#include "base/pool.h"
#include "determinism/fpenv.h"
#include "rp/rp.h"

#if defined(__SANITIZE_THREAD__)
#define RP_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RP_TSAN 1
#endif
#endif

/* ---- a run whose steps are large enough for the workers ---- */

enum { IN = 96, HIDDEN = 160, OUT = 40, BATCH = 48, STEPS = 4, STATE = IN * HIDDEN + HIDDEN * OUT };

/* cmocka's asserts belong to the main thread, so these say what failed. */
static const char *make_run(rp_run **run, unsigned threads)
{
    static const size_t w1[] = {IN, HIDDEN}, w2[] = {HIDDEN, OUT};
    const rp_run_options options = {.threads = threads};
    float *initial = malloc(IN * HIDDEN * sizeof *initial);
    bool made = false;

    for (int i = 0; initial && i < IN * HIDDEN; i++)
        initial[i] = (float)(i * 29 % 61 - 30) / 300.0f;
    made = initial && rp_run_new(run, &options, NULL) == RP_OK;
    if (made && (rp_run_add_state(*run, "w1", RP_F32, 2, w1, initial, NULL) != RP_OK ||
                 rp_run_add_state(*run, "w2", RP_F32, 2, w2, initial, NULL) != RP_OK))
        made = false;
    free(initial);
    return made ? NULL : "no run";
}

static const char *step_run(rp_run *run, int step)
{
    static const size_t shape[] = {BATCH, IN};
    float x[BATCH * IN];
    rp_tensor w[2], grad[2], loss;

    for (int i = 0; i < BATCH * IN; i++)
        x[i] = (float)((i + step) * 37 % 101 - 50) / 50.0f;
    if (rp_step_begin(run, NULL) != RP_OK)
        return "no step";
    w[0] = rp_state(run, "w1");
    w[1] = rp_state(run, "w2");
    loss = rp_matmul(rp_tanh(rp_matmul(rp_feed(run, "x", RP_F32, 2, shape, x), w[0])), w[1]);
    loss = rp_mean(rp_mul(loss, loss), NULL, 0, false);
    rp_gradients(loss, w, 2, grad);
    rp_set_state(run, "w1", rp_sub(w[0], grad[0]));
    rp_set_state(run, "w2", rp_sub(w[1], grad[1]));
    rp_result(run, "loss", loss);
    return rp_step_end(run, NULL) == RP_OK ? NULL : "the step failed";
}

static const char *read_run(rp_run *run, float *state)
{
    return rp_run_get_state(run, "w1", state, IN * HIDDEN * sizeof *state, NULL) == RP_OK &&
                   rp_run_get_state(run, "w2", state + IN * HIDDEN, HIDDEN * OUT * sizeof *state, NULL) == RP_OK
               ? NULL
               : "no state";
}

/* The states after all steps, in memory of STATE floats. */
static const char *whole_run(unsigned threads, float *state)
{
    rp_run *run = NULL;
    const char *wrong = make_run(&run, threads);

    for (int i = 0; i < STEPS && !wrong; i++)
        wrong = step_run(run, i);
    if (!wrong)
        wrong = read_run(run, state);
    rp_run_free(run);
    return wrong;
}

static float alone[STATE];

static int run_alone(void **state)
{
    (void)state;
    return whole_run(1, alone) ? -1 : 0;
}

static const char *compare_run(unsigned threads)
{
    float *state = malloc(STATE * sizeof *state);
    const char *wrong = state ? whole_run(threads, state) : "no memory";

    if (!wrong && memcmp(state, alone, sizeof alone) != 0)
        wrong = "other bits";
    free(state);
    return wrong;
}

static void expect_none(const char *wrong)
{
    if (wrong)
        fail_msg("%s", wrong);
}

static void bits_do_not_depend_on_the_number_of_threads(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 7};

    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        expect_none(compare_run(threads[i]));
}

/* ---- pools ---- */

enum { ITEMS = 301, INNER = 53 };

typedef struct nest {
    rp_pool *pool;
    atomic_uint done[ITEMS];
} nest;

static void count_inner(void *arg, size_t begin, size_t end)
{
    atomic_fetch_add((atomic_uint *)arg, (unsigned)(end - begin));
}

static void count_outer(void *arg, size_t begin, size_t end)
{
    nest *n = arg;

    for (size_t i = begin; i < end; i++)
        rp_pool_run(n->pool, INNER, 1, count_inner, &n->done[i]);
}

/* Every item of every nested run is worked on exactly once. */
static const char *nested_runs_in(nest *n, rp_pool *pool, int rounds)
{
    const char *wrong = NULL;

    for (int round = 0; round < rounds && !wrong; round++) {
        memset(n->done, 0, sizeof n->done);
        n->pool = pool;
        rp_pool_run(pool, ITEMS, 1, count_outer, n);
        for (size_t i = 0; i < ITEMS; i++)
            if (atomic_load(&n->done[i]) != INNER)
                wrong = "an item was worked on more or less than once";
    }
    return wrong;
}

static const char *nested_runs(rp_pool *pool, int rounds)
{
    nest *n = calloc(1, sizeof *n);
    const char *wrong = n ? nested_runs_in(n, pool, rounds) : "no memory";

    free(n);
    return wrong;
}

typedef struct guest {
    pthread_t thread;
    rp_pool *pool;
    unsigned threads;
    const char *wrong;
    atomic_bool *stop;
    atomic_bool settled; /* has been through a round */
    nest room;
} guest;

static void *use_pool(void *arg)
{
    guest *g = arg;

    g->wrong = nested_runs(g->pool, 20);
    return NULL;
}

static void *use_run(void *arg)
{
    guest *g = arg;

    g->wrong = compare_run(g->threads);
    return NULL;
}

/* Without a call of the allocator: a sanitizer's, unlike the C library's, leaves its locks to a child as they are. */
static void *keep_using_pool(void *arg)
{
    guest *g = arg;

    while (!atomic_load(g->stop) && !g->wrong) {
        g->wrong = nested_runs_in(&g->room, g->pool, 1);
        atomic_store(&g->settled, true);
    }
    return NULL;
}

static void invite(guest *g, size_t n, void *(*work)(void *))
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&g[i].thread, NULL, work, &g[i]), 0);
}

static void see_off(guest *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(g[i].thread, NULL), 0);
    for (size_t i = 0; i < n; i++)
        expect_none(g[i].wrong);
}

static rp_pool *new_pool(unsigned threads)
{
    rp_pool *pool;
    rp_error err;

    assert_int_equal(rp_pool_new(&pool, threads, rp_fpenv_worker, &err), RP_OK);
    return pool;
}

static void pool_serves_nested_runs_of_several_threads(void **state)
{
    enum { GUESTS = 4 };
    guest g[GUESTS] = {0};
    rp_pool *pool = new_pool(3);

    (void)state;
    for (int i = 0; i < GUESTS; i++)
        g[i].pool = pool;
    invite(g, GUESTS, use_pool);
    expect_none(nested_runs(pool, 20));
    see_off(g, GUESTS);
    rp_pool_free(pool);
}

/* ---- a worker that does not come ---- */

static pthread_t held;
static atomic_int held_known, is_held, let_go;

static void short_sleep(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* In the worker: as if its processor were taken from it. */
static void hold(int signal)
{
    (void)signal;
    atomic_store(&is_held, 1);
    while (!atomic_load(&let_go))
        short_sleep();
}

/* Takes long enough for each range to get a thread of its own. */
static void find_worker(void *arg, size_t begin, size_t end)
{
    (void)begin, (void)end;
    if (!pthread_equal(pthread_self(), *(pthread_t *)arg)) {
        held = pthread_self();
        atomic_store(&held_known, 1);
    }
    for (int i = 0; i < 20; i++)
        short_sleep();
}

static void count_range(void *arg, size_t begin, size_t end)
{
    atomic_fetch_add((atomic_size_t *)arg, end - begin);
}

static void ranges_of_a_worker_that_does_not_come_are_done_by_others(void **state)
{
    const struct sigaction action = {.sa_handler = hold};
    pthread_t self = pthread_self();
    atomic_size_t done = 0;
    rp_pool *pool;

    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(rp_pool_new(&pool, 2, NULL, NULL), RP_OK);
    while (!atomic_load(&held_known))
        rp_pool_run(pool, 2, 1, find_worker, &self);
    for (int i = 0; i < 10; i++) /* it sleeps by then, and holds no lock */
        short_sleep();
    assert_int_equal(pthread_kill(held, SIGUSR1), 0);
    while (!atomic_load(&is_held))
        short_sleep();
    (void)alarm(60); /* it would wait for ever */
    for (size_t round = 1; round <= 100; round++) {
        rp_pool_run(pool, 2000, 1, count_range, &done);
        assert_int_equal(atomic_load(&done), round * 2000);
    }
    (void)alarm(0);
    atomic_store(&let_go, 1);
    rp_pool_run(pool, 2000, 1, count_range, &done);
    rp_pool_free(pool);
    assert_int_equal(atomic_load(&done), 101 * 2000);
}

static void runs_of_several_threads_have_the_bits_of_one_alone(void **state)
{
    enum { GUESTS = 5 };
    guest g[GUESTS] = {0};

    (void)state;
    for (unsigned i = 0; i < GUESTS; i++)
        g[i].threads = i % 3 + 1;
    invite(g, GUESTS, use_run);
    see_off(g, GUESTS);
}

/* ---- fork ---- */

/* Threads of this process. */
static size_t tasks(void)
{
    DIR *directory = opendir("/proc/self/task");
    size_t n = 0;

    while (directory && readdir(directory))
        n++;
    if (directory)
        (void)closedir(directory);
    return n - 2; /* itself and the folder above */
}

/* A fork whose child cannot hang for ever. */
static pid_t fork_for_a_while(void)
{
    pid_t child = fork();

    if (child == 0)
        (void)alarm(60);
    return child;
}

/* In the child: leaves with 0 when nothing was wrong. */
static void leave(const char *wrong)
{
    if (wrong) {
        (void)!write(STDERR_FILENO, wrong, strlen(wrong));
        (void)!write(STDERR_FILENO, "\n", 1);
    }
    _exit(wrong != NULL);
}

static void expect_well(pid_t child)
{
    int status;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static const char *go_on(rp_run *run, int from)
{
    float *state = malloc(STATE * sizeof *state);
    const char *wrong = state ? NULL : "no memory";

    for (int i = from; i < STEPS && !wrong; i++)
        wrong = step_run(run, i);
    if (!wrong)
        wrong = read_run(run, state);
    if (!wrong && memcmp(state, alone, sizeof alone) != 0)
        wrong = "other bits after a fork";
    free(state);
    return wrong;
}

/* The same run goes on in parent, child and grandchild; a new one in the child too. */
static void run_goes_on_after_a_fork_on_both_sides(void **state)
{
    rp_run *run = NULL;
    pid_t child;

    (void)state;
#ifdef RP_TSAN /* its run time starts no threads in a child */
    skip();
#endif
    expect_none(make_run(&run, 3));
    expect_none(step_run(run, 0));
    child = fork_for_a_while();
    if (child == 0) {
        const char *wrong = step_run(run, 1);
        pid_t grandchild = fork_for_a_while();
        int status = 0;

        if (grandchild == 0)
            leave(wrong ? wrong : go_on(run, 2));
        if (!wrong)
            wrong = go_on(run, 2);
        if (!wrong)
            wrong = compare_run(3);
        if (waitpid(grandchild, &status, 0) != grandchild || status != 0)
            wrong = "the grandchild failed";
        rp_run_free(run);
        leave(wrong);
    }
    expect_none(go_on(run, 1));
    expect_well(child);
    rp_run_free(run);
}

/* At the moment of the fork other threads have the workers, hold the pool's locks and wait on its conditions. */
static void child_of_a_fork_amid_other_threads_has_workers_of_its_own(void **state)
{
    enum { GUESTS = 2, FORKS = 25 };
    guest g[GUESTS] = {0};
    atomic_bool stop = false;
    rp_pool *pool = new_pool(3);

    (void)state;
#ifdef RP_TSAN
    skip();
#endif
    for (int i = 0; i < GUESTS; i++) {
        g[i].pool = pool;
        g[i].stop = &stop;
    }
    invite(g, GUESTS, keep_using_pool);
    for (int i = 0; i < GUESTS; i++) /* a thread that starts allocates */
        while (!atomic_load(&g[i].settled))
            short_sleep();
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork_for_a_while();

        if (child == 0) {
            const char *wrong = tasks() == 1 ? nested_runs(pool, 3) : "a thread survived the fork";

            if (!wrong && tasks() != 3)
                wrong = "the pool has no workers of its own";
            rp_pool_free(pool);
            leave(wrong);
        }
        expect_well(child);
    }
    atomic_store(&stop, true);
    see_off(g, GUESTS);
    rp_pool_free(pool);
}

/* A child that never uses the pool frees it as well. */
static void unused_pool_is_freed_in_a_child(void **state)
{
    rp_pool *pool = new_pool(4);
    pid_t child = fork_for_a_while();

    (void)state;
    if (child == 0) {
        rp_pool_free(pool);
        leave(NULL);
    }
    expect_well(child);
    expect_none(nested_runs(pool, 1));
    rp_pool_free(pool);
}

/* ---- OpenMP ---- */

static void openmp_program_gets_the_same_bits_before_inside_and_after(void **state)
{
#if defined(_OPENMP) && !defined(RP_TSAN) /* the OpenMP run time itself is not built for the sanitizer */
    enum { TEAM = 4 };
    const char *wrong[TEAM] = {0};
    double sum = 0;

    (void)state;
    expect_none(compare_run(3));
#pragma omp parallel for num_threads(TEAM) schedule(static, 1)
    for (int i = 0; i < TEAM; i++)
        wrong[i] = compare_run((unsigned)i % 3 + 1);
    for (int i = 0; i < TEAM; i++)
        expect_none(wrong[i]);
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
    assert_true(sum == 499500);
    expect_none(compare_run(3));
#else
    (void)state;
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(pool_serves_nested_runs_of_several_threads),
        cmocka_unit_test(ranges_of_a_worker_that_does_not_come_are_done_by_others),
        cmocka_unit_test(runs_of_several_threads_have_the_bits_of_one_alone),
        cmocka_unit_test(run_goes_on_after_a_fork_on_both_sides),
        cmocka_unit_test(child_of_a_fork_amid_other_threads_has_workers_of_its_own),
        cmocka_unit_test(unused_pool_is_freed_in_a_child),
        cmocka_unit_test(openmp_program_gets_the_same_bits_before_inside_and_after),
    };

    return cmocka_run_group_tests(tests, run_alone, NULL);
}
