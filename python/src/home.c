/* SPDX-License-Identifier: Apache-2.0
 * Homes of tensors. An eager home is a run whose one step goes on and on: nothing is recorded, a tensor that goes gives
 * its memory back at once, and when the step's list of instructions has become long, the tensors that are alive are
 * read out and a new step begins. */
#include "binding.h"

enum { LONG_STEP = 8192, KEPT_BYTES = 1 << 26 };

unsigned home_threads = 0;
static atomic_uint forks;
static pthread_key_t mine;
static _Thread_local home *stack[16];
static _Thread_local unsigned depth;

static void after_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void thread_ends(void *h)
{
    home_drop(h);
}

void home_setup(void)
{
    (void)pthread_key_create(&mine, thread_ends);
    (void)pthread_atfork(NULL, NULL, after_fork);
}

home *home_new(home_kind kind, rp_run *run, rp_graph *graph)
{
    home *h = calloc(1, sizeof *h);

    if (!h)
        return (home *)PyErr_NoMemory();
    atomic_init(&h->users, 1);
    h->kind = kind;
    h->run = run;
    h->graph = graph;
    h->born = atomic_load(&forks);
    h->limit = KEPT_BYTES;
    (void)pthread_mutex_init(&h->lock, NULL);
    return h;
}

void home_hold(home *h)
{
    (void)atomic_fetch_add(&h->users, 1);
}

void home_drop(home *h)
{
    if (!h || atomic_fetch_sub(&h->users, 1) != 1)
        return;
    if (h->kind == HOME_GRAPH)
        rp_graph_discard(h->graph);
    rp_run_free(h->run);
    (void)pthread_mutex_destroy(&h->lock);
    free(h->gone);
    free(h);
}

void home_mend(home *h, size_t before)
{
    h->broken = rp_graph_retract(h->graph, before, NULL) != RP_OK;
}

static bool restart(home *h);

bool home_ready(home *h)
{
    const unsigned now = atomic_load(&forks);

    if (h->born != now) { /* a lock that another thread held stays locked in the child */
        if (h->busy) {
            PyErr_SetString(PyExc_RuntimeError, "another thread was computing here when the process forked");
            return false;
        }
        h->born = now;
        (void)pthread_mutex_init(&h->lock, NULL);
    }
    if (h->kind == HOME_EAGER && (h->broken || !h->graph))
        return restart(h);
    if (h->graph)
        return true;
    PyErr_SetString(PyExc_RuntimeError, h->kind == HOME_RUN     ? "no step is open: use `with run.step():`"
                                        : h->kind == HOME_GRAPH ? "the program is finished: nothing can be appended"
                                                                : "the model's function has returned");
    return false;
}

void home_enter(home *h, home_visit *visit)
{
    visit->n_gone = 0;
    while (!h->traces && h->n_gone > 0 && visit->n_gone < sizeof visit->gone / sizeof *visit->gone)
        visit->gone[visit->n_gone++] = h->gone[--h->n_gone];
    visit->thread = PyEval_SaveThread();
    (void)pthread_mutex_lock(&h->lock);
    h->busy = true;
    for (unsigned i = 0; i < visit->n_gone; i++)
        rp_tensor_release(visit->gone[i]);
}

void home_leave(home *h, home_visit *visit)
{
    h->length = rp_graph_length(h->graph);
    h->busy = false;
    (void)pthread_mutex_unlock(&h->lock);
    PyEval_RestoreThread(visit->thread);
}

/* ---- steps of eager homes ---- */

/* From its first gradients on a step keeps nothing for gradients, which compute again what has gone: what a trace needs
 * it holds itself. So a step begins with the gradient of nothing. */
static rp_status begin(home *h, rp_error *err)
{
    rp_status status = rp_step_begin(h->run, err);
    rp_tensor one, two, slope;

    h->graph = NULL;
    if (status != RP_OK)
        return status;
    one = rp_feed(h->run, "one", RP_F32, 0, NULL, &(float){1});
    two = rp_scale(one, 2);
    rp_gradients(two, &one, 1, &slope);
    h->graph = rp_step_graph(h->run);
    h->epoch = one.epoch;
    h->fed = 0;
    h->kept = 0;
    return rp_graph_status(h->graph, err);
}

/* The step is lost, with the tensors of it that nobody has read. */
static bool restart(home *h)
{
    home_visit visit;
    rp_error err;
    rp_status status;

    home_forget(h);
    home_enter(h, &visit);
    (void)rp_step_end(h->run, NULL);
    status = begin(h, &err);
    h->broken = status != RP_OK;
    home_leave(h, &visit);
    if (status != RP_OK)
        raise_error(&err, status, NULL, -1);
    return status == RP_OK;
}

home *home_eager(void)
{
    home *h = pthread_getspecific(mine);
    rp_run *run = NULL;
    rp_error err;
    rp_status status;

    if (h)
        return h;
    status = rp_run_new(&run, &(rp_run_options){.threads = home_threads}, &err);
    if (status != RP_OK)
        return (home *)raise_error(&err, status, NULL, -1);
    h = home_new(HOME_EAGER, run, NULL);
    if (!h) {
        rp_run_free(run);
        return NULL;
    }
    status = begin(h, &err);
    if (status != RP_OK || pthread_setspecific(mine, h) != 0) {
        home_drop(h);
        return (home *)raise_error(&err, status == RP_OK ? RP_ENOMEM : status, NULL, -1);
    }
    return h;
}

home *home_current(void)
{
    return depth > 0 ? stack[depth - 1] : home_eager();
}

bool home_push(home *h)
{
    if (depth == sizeof stack / sizeof *stack) {
        PyErr_SetString(PyExc_RuntimeError, "more than 16 `with` one inside the other");
        return false;
    }
    home_hold(h);
    stack[depth++] = h;
    return true;
}

void home_pop(home *h)
{
    for (unsigned i = depth; i > 0; i--)
        if (stack[i - 1] == h) {
            memmove(&stack[i - 1], &stack[i], (depth - i) * sizeof *stack);
            depth--;
            home_drop(h);
            return;
        }
}

void home_forget(home *h)
{
    while (h->first)
        tensor_detach(h->first);
    h->n_gone = 0;
}

/* Those whose values nobody has read, each held. What is alive may come into the next step, so that much, twice, does
 * not end it. */
static tensor_object **living(home *h, size_t *n)
{
    size_t count = 0, bytes = 0;
    tensor_object **list;

    for (tensor_object *t = h->first; t; t = t->next, count++)
        bytes += type_bytes(&t->type);
    h->limit = KEPT_BYTES + 2 * bytes;
    list = malloc((count + 1) * sizeof *list);
    *n = 0;
    if (!list)
        return NULL;
    for (tensor_object *t = h->first; t; t = t->next)
        if (!t->bytes)
            list[(*n)++] = (tensor_object *)Py_NewRef((PyObject *)t);
    return list;
}

static rp_status read_all(home *h, tensor_object *const *list, size_t n, void **bytes, rp_error *err)
{
    rp_status status = RP_OK;

    for (size_t i = 0; i < n && status == RP_OK; i++) {
        const size_t size = type_bytes(&list[i]->type);

        bytes[i] = malloc(size ? size : 1);
        status =
            bytes[i] ? rp_read(h->run, list[i]->handle, bytes[i], size, err) : rp_fail(err, RP_ENOMEM, "no memory");
    }
    if (status == RP_OK)
        status = rp_step_end(h->run, err);
    return status == RP_OK ? begin(h, err) : status;
}

bool home_renew(home *h)
{
    home_visit visit;
    rp_error err;
    rp_status status;
    size_t n;
    tensor_object **list;
    void **bytes;

    if (h->kind != HOME_EAGER || h->traces || (h->length < LONG_STEP && h->kept <= h->limit))
        return true;
    list = living(h, &n);
    bytes = list ? calloc(n + 1, sizeof *bytes) : NULL;
    if (!bytes) {
        free(list);
        PyErr_NoMemory();
        return false;
    }
    home_enter(h, &visit);
    status = read_all(h, list, n, bytes, &err);
    home_leave(h, &visit);
    for (size_t i = 0; i < n; i++) {
        if (status == RP_OK && !list[i]->bytes)
            list[i]->bytes = bytes[i];
        else
            free(bytes[i]);
    }
    if (status == RP_OK)
        home_forget(h);
    for (size_t i = 0; i < n; i++)
        Py_DECREF((PyObject *)list[i]);
    free(bytes);
    free(list);
    if (status != RP_OK)
        raise_error(&err, status, NULL, -1);
    return status == RP_OK;
}
