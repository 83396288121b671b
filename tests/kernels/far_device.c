/* SPDX-License-Identifier: Apache-2.0
 * Two windows of addresses, one for the host's eyes and one for the device's, at a constant distance; the same memory
 * is mapped into both, into the first without rights. Addresses are never used again, so what was released is seen too.
 */
#define _GNU_SOURCE
#include "tests/kernels/far_device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/memory.h"
#include "determinism/fpenv.h"
#include "kernels/device_ops.h"

enum { PAGE = 4096, PLACES = 64, OPENED = 256 };
static size_t window_size = (size_t)1 << 40; /* at most; emulators have less */

static char *window;              /* what the library gets */
static char *inside;              /* what copies and kernels use */
static atomic_size_t used = PAGE; /* of both */
static atomic_size_t faults, launches, blocks;

/* ---- touches ---- */

static struct {
    const char *at;
    size_t times;
} place[PLACES];
static char *opened[OPENED]; /* pages that a touch was let through to */
static atomic_size_t n_opened;
static atomic_flag noting = ATOMIC_FLAG_INIT;

static void note(const char *at)
{
    size_t i = 0;

    while (atomic_flag_test_and_set(&noting))
        continue;
    while (i < PLACES && place[i].at != NULL && place[i].at != at)
        i++;
    if (i < PLACES) {
        place[i].at = at;
        place[i].times++;
    }
    atomic_flag_clear(&noting);
    atomic_fetch_add(&faults, 1);
}

static const char *program_counter(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (const char *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const char *)context->uc_mcontext.pc;
#else
    (void)context;
    return "";
#endif
}

static void on_touch(int number, siginfo_t *info, void *context)
{
    char *at = info->si_addr;
    size_t n;

    if (at < window || at >= window + window_size) { /* a fault like any other: it comes again */
        signal(number, SIG_DFL);
        return;
    }
    note(program_counter(context));
    at -= (uintptr_t)at % PAGE;
    n = atomic_fetch_add(&n_opened, 1);
    if (n < OPENED)
        opened[n] = at;
    if (mprotect(at, PAGE, PROT_READ | PROT_WRITE) != 0)
        _exit(99);
}

/* Each call of the device begins with it, so that a page is open to no more than what the host does in one go. */
static void close_opened(void)
{
    size_t n = atomic_exchange(&n_opened, 0);

    for (size_t i = 0; i < n && i < OPENED; i++)
        (void)mprotect(opened[i], PAGE, PROT_NONE);
}

size_t far_device_faults(void)
{
    return atomic_exchange(&faults, 0);
}

const char *far_device_name(void)
{
    const char *name = getenv("RP_FAR_DEVICE");

    return name && *name ? name : "far";
}

/* Of the emulated device, what its driver counts; the library that opened it has it loaded. */
static void *ask_driver(const char *function)
{
    const char *path = getenv("RP_EMULATED_LIBRARY");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL, *found = driver ? dlsym(driver, function) : NULL;

    if (driver)
        (void)dlclose(driver); /* it stays loaded */
    return found;
}

size_t far_device_launches(void)
{
    unsigned long (*calls)(const char *) = NULL;

    if (strcmp(far_device_name(), "far") == 0)
        return atomic_load(&launches);
    *(void **)&calls = ask_driver("rp_emulated_calls");
    return calls ? calls("cuLaunchKernel") + calls("cuGraphLaunch") : 0;
}

size_t far_device_hashes(void)
{
    unsigned long (*calls)(const char *) = NULL;

    if (strcmp(far_device_name(), "far") == 0)
        return SIZE_MAX;
    *(void **)&calls = ask_driver("rp_emulated_calls");
    return calls ? calls("rp_gpu_sha256") : 0;
}

size_t far_device_blocks(void)
{
    unsigned long (*alive)(void) = NULL;

    if (strcmp(far_device_name(), "far") == 0)
        return atomic_load(&blocks);
    *(void **)&alive = ask_driver("rp_emulated_alive");
    return alive ? alive() : 0;
}

void far_device_places(FILE *out)
{
    for (size_t i = 0; i < PLACES && place[i].at != NULL; i++) {
        Dl_info found = {0};
        char command[512] = "", name[160] = "?";
        FILE *pipe;

        (void)dladdr(place[i].at, &found);
        if (found.dli_fname)
            (void)snprintf(command, sizeof command, "addr2line -f -e %s 0x%zx 2>/dev/null", found.dli_fname,
                           (size_t)(place[i].at - (const char *)found.dli_fbase));
        pipe = *command ? popen(command, "r") : NULL;
        if (pipe && fgets(name, sizeof name, pipe))
            name[strcspn(name, "\n")] = '\0';
        if (pipe)
            (void)pclose(pipe);
        (void)fprintf(out, "host touch: %s, %s+0x%zx, %zu times\n", found.dli_sname ? found.dli_sname : name,
                      found.dli_fname ? found.dli_fname : "?", (size_t)(place[i].at - (const char *)found.dli_fbase),
                      place[i].times);
    }
}

/* ---- memory ---- */

/* The device's address of its memory. */
static void *in(const void *far)
{
    const char *at = far;

    if (at == NULL)
        return NULL;
    if (at >= window && at < window + window_size)
        return inside + (at - window);
    note(__builtin_return_address(0)); /* host memory: a device could not reach it */
    return (void *)(uintptr_t)far;
}

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* A page with the size, the memory, a page of nothing. */
static rp_status far_allocate(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    const size_t size = pages(bytes ? bytes : 1) + PAGE;
    size_t at;
    int file;
    void *a, *b, *ticket = rp_malloc(1); /* fails where a test lets allocations fail */

    (void)device;
    close_opened();
    *out = NULL;
    if (ticket == NULL || bytes > window_size / 4) {
        rp_free(ticket);
        return rp_no_memory(err);
    }
    at = atomic_fetch_add(&used, size + PAGE);
    file = memfd_create("far", MFD_CLOEXEC);
    if (at + size + PAGE > window_size || file < 0 || ftruncate(file, (off_t)size) != 0) {
        if (file >= 0)
            (void)close(file);
        rp_free(ticket);
        return rp_no_memory(err);
    }
    a = mmap(inside + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    b = mmap(window + at, size, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0);
    (void)close(file);
    if (a == MAP_FAILED || b == MAP_FAILED) {
        rp_free(ticket);
        return rp_no_memory(err);
    }
    memcpy(inside + at, &size, sizeof size);
    memcpy(inside + at + sizeof size, &ticket, sizeof ticket);
    memset(inside + at + PAGE, 0xA5, size - PAGE); /* what was never written is not zero */
    *out = window + at + PAGE;
    atomic_fetch_add(&blocks, 1);
    return RP_OK;
}

static void unmap(char *at, size_t size)
{
    if (mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
}

static rp_status far_synchronize(rp_device *device, rp_stream *stream, rp_error *err);
static void synchronize_all(rp_device *device);

static void far_release(rp_device *device, void *memory)
{
    char *at = (char *)memory - PAGE;
    size_t size;
    void *ticket;

    synchronize_all(device);
    memcpy(&size, in(at), sizeof size);
    memcpy(&ticket, (char *)in(at) + sizeof size, sizeof ticket);
    rp_free(ticket);
    unmap(in(at), size);
    unmap(at, size);
    atomic_fetch_sub(&blocks, 1);
}

static rp_status far_pin(rp_device *device, void **out, size_t bytes, rp_error *err)
{
    char *block = rp_malloc(bytes + 192), *aligned = block;

    (void)device;
    *out = NULL;
    if (block == NULL)
        return rp_no_memory(err);
    aligned += 128 - (uintptr_t)block % 64; /* at least 64 bytes on, with the block's start before it */
    memcpy(aligned - sizeof block, &block, sizeof block);
    *out = aligned;
    return RP_OK;
}

static void far_unpin(rp_device *device, void *host)
{
    char *block;

    (void)device;
    memcpy(&block, (char *)host - sizeof block, sizeof block);
    rp_free(block);
}

/* ---- streams ---- */

struct rp_event {
    rp_stream *stream; /* it was recorded on; NULL: not yet */
    atomic_size_t recorded, done;
};

typedef enum work_kind { COPY, UPLOAD, DOWNLOAD, LAUNCH, CHAIN, CHECK, RECORD, WAIT } work_kind;

typedef struct work {
    work_kind kind;
    struct work *next;
    void *to; /* copies */
    const void *from;
    size_t bytes;
    rp_kernel_id kernel;
    rp_kernel_args args;
    rp_chain chain;
    rp_index_check check;
    rp_event *event;
    size_t ticket;
    rp_view *view; /* owned: of args */
    void *host;    /* owned: what an upload reads */
} work;

struct rp_stream {
    pthread_mutex_t queue, running;
    work *first, **last;
    struct rp_stream *next;
};

typedef struct far_device {
    rp_device base;
    rp_device *cpu;
    pthread_mutex_t kernels; /* the CPU device is one thread's at a time */
    pthread_mutex_t list;
    rp_stream main, *streams; /* streams: but for main */
} far_device;

static void stream_open(rp_stream *s)
{
    pthread_mutex_init(&s->queue, NULL);
    pthread_mutex_init(&s->running, NULL);
    s->first = NULL;
    s->last = &s->first;
}

static void stream_close(rp_stream *s)
{
    pthread_mutex_destroy(&s->queue);
    pthread_mutex_destroy(&s->running);
}

static void put(rp_device *device, rp_stream *stream, work *w)
{
    rp_stream *s = stream ? stream : &((far_device *)device)->main;

    close_opened();
    w->next = NULL;
    pthread_mutex_lock(&s->queue);
    *s->last = w;
    s->last = &w->next;
    pthread_mutex_unlock(&s->queue);
}

static work *take(rp_stream *s)
{
    work *w;

    pthread_mutex_lock(&s->queue);
    w = s->first;
    if (w != NULL && (s->first = w->next) == NULL)
        s->last = &s->first;
    pthread_mutex_unlock(&s->queue);
    return w;
}

static void translate(rp_view *view, size_t n)
{
    for (size_t i = 0; i < n; i++)
        view[i].data = in(view[i].data);
}

static rp_status run_kernel(far_device *d, work *w, rp_error *err)
{
    rp_status status;
    rp_fpenv saved;

    atomic_fetch_add(&launches, 1);
    pthread_mutex_lock(&d->kernels);
    status = rp_fpenv_enter(&saved, NULL, err);
    if (status == RP_OK && w->kind == LAUNCH) {
        translate(w->view, w->args.n_in + w->args.n_out);
        status = rp_device_launch(d->cpu, w->kernel, &w->args, NULL, err);
    } else if (status == RP_OK && w->kind == CHAIN) {
        translate(w->chain.view, w->chain.n_views);
        for (size_t i = 0; i < w->chain.n_scratch; i++)
            w->chain.scratch[i].stream = in(w->chain.scratch[i].stream);
        status = rp_device_launch_chain(d->cpu, &w->chain, NULL, err);
    } else if (status == RP_OK) {
        translate(&w->check.index, 1);
        status = rp_device_check(d->cpu, &w->check, NULL, err);
    }
    rp_fpenv_leave(&saved);
    pthread_mutex_unlock(&d->kernels);
    return status;
}

static rp_status run(far_device *d, work *w, rp_error *err)
{
    switch (w->kind) {
    case COPY:
        memmove(in(w->to), in(w->from), w->bytes);
        return RP_OK;
    case UPLOAD:
        memcpy(in(w->to), w->host, w->bytes);
        return RP_OK;
    case DOWNLOAD:
        memcpy(w->to, in(w->from), w->bytes);
        return RP_OK;
    case RECORD:
        atomic_store(&w->event->done, w->ticket);
        return RP_OK;
    case WAIT:
        return atomic_load(&w->event->done) < w->ticket ? far_synchronize(&d->base, w->event->stream, err) : RP_OK;
    default:
        return run_kernel(d, w, err);
    }
}

static void work_free(work *w)
{
    rp_free(w->view);
    rp_free(w->host);
    rp_free(w);
}

static rp_status far_synchronize(rp_device *device, rp_stream *stream, rp_error *err)
{
    far_device *d = (far_device *)device;
    rp_stream *s = stream ? stream : &d->main;
    rp_status status = RP_OK;
    work *w;

    close_opened();
    pthread_mutex_lock(&s->running);
    while ((w = take(s)) != NULL) {
        rp_status one = run(d, w, status == RP_OK ? err : NULL);

        status = status == RP_OK ? one : status;
        work_free(w);
    }
    pthread_mutex_unlock(&s->running);
    return status;
}

static void synchronize_all(rp_device *device)
{
    far_device *d = (far_device *)device;

    (void)far_synchronize(device, NULL, NULL);
    pthread_mutex_lock(&d->list);
    for (rp_stream *s = d->streams; s != NULL; s = s->next)
        (void)far_synchronize(device, s, NULL);
    pthread_mutex_unlock(&d->list);
}

static rp_status far_stream_new(rp_device *device, rp_stream **out, rp_error *err)
{
    far_device *d = (far_device *)device;
    rp_stream *s = rp_calloc(1, sizeof *s);

    *out = s;
    if (s == NULL)
        return rp_no_memory(err);
    stream_open(s);
    pthread_mutex_lock(&d->list);
    s->next = d->streams;
    d->streams = s;
    pthread_mutex_unlock(&d->list);
    return RP_OK;
}

static void far_stream_free(rp_device *device, rp_stream *stream)
{
    far_device *d = (far_device *)device;
    rp_stream **at = &d->streams;

    (void)far_synchronize(device, stream, NULL);
    pthread_mutex_lock(&d->list);
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&d->list);
    stream_close(stream);
    rp_free(stream);
}

/* ---- what is put on them ---- */

static rp_status put_copy(rp_device *device, work_kind kind, void *to, const void *from, size_t bytes,
                          rp_stream *stream, rp_error *err)
{
    work *w = rp_calloc(1, sizeof *w);

    if (w == NULL)
        return rp_no_memory(err);
    *w = (work){.kind = kind, .to = to, .from = from, .bytes = bytes};
    if (kind == UPLOAD) {
        w->host = rp_malloc(bytes ? bytes : 1);
        if (w->host == NULL) {
            rp_free(w);
            return rp_no_memory(err);
        }
        memcpy(w->host, from, bytes);
    }
    put(device, stream, w);
    return RP_OK;
}

static rp_status far_upload(rp_device *device, void *to, const void *host, size_t bytes, rp_stream *stream,
                            rp_error *err)
{
    return put_copy(device, UPLOAD, to, host, bytes, stream, err);
}

static rp_status far_download(rp_device *device, void *host, const void *from, size_t bytes, rp_stream *stream,
                              rp_error *err)
{
    memset(host, 0x5A, bytes); /* whoever does not wait finds this */
    return put_copy(device, DOWNLOAD, host, from, bytes, stream, err);
}

static rp_status far_copy(rp_device *device, void *to, const void *from, size_t bytes, rp_stream *stream, rp_error *err)
{
    return put_copy(device, COPY, to, from, bytes, stream, err);
}

static rp_status far_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                            rp_error *err)
{
    work *w = rp_calloc(1, sizeof *w);

    if (w != NULL)
        w->view = rp_calloc(args->n_in + args->n_out + 1, sizeof *w->view);
    if (w == NULL || w->view == NULL) {
        rp_free(w);
        return rp_no_memory(err);
    }
    w->kind = LAUNCH;
    w->kernel = kernel;
    if (args->n_in > 0)
        memcpy(w->view, args->in, args->n_in * sizeof *w->view);
    memcpy(w->view + args->n_in, args->out, args->n_out * sizeof *w->view);
    w->args = (rp_kernel_args){w->view, args->n_in, w->view + args->n_in, args->n_out, args->attr};
    put(device, stream, w);
    return RP_OK;
}

static rp_status far_launch_chain(rp_device *device, const rp_chain *chain, rp_stream *stream, rp_error *err)
{
    work *w = rp_calloc(1, sizeof *w);

    if (w == NULL)
        return rp_no_memory(err);
    w->kind = CHAIN;
    memcpy(&w->chain, chain, rp_chain_bytes(chain->n_views));
    put(device, stream, w);
    return RP_OK;
}

static rp_status far_check(rp_device *device, const rp_index_check *check, rp_stream *stream, rp_error *err)
{
    work *w = rp_calloc(1, sizeof *w);

    if (w == NULL)
        return rp_no_memory(err);
    w->kind = CHECK;
    w->check = *check;
    put(device, stream, w);
    return RP_OK;
}

static bool far_fault(rp_device *device, rp_index_fault *out)
{
    return rp_device_fault(((far_device *)device)->cpu, out);
}

static rp_status far_event_new(rp_device *device, rp_event **out, rp_error *err)
{
    (void)device;
    *out = rp_calloc(1, sizeof **out);
    return *out != NULL ? RP_OK : rp_no_memory(err);
}

static void far_event_free(rp_device *device, rp_event *event)
{
    synchronize_all(device);
    rp_free(event);
}

static rp_status put_event(rp_device *device, work_kind kind, rp_event *event, rp_stream *stream, rp_error *err)
{
    work *w = rp_calloc(1, sizeof *w);

    if (w == NULL)
        return rp_no_memory(err);
    w->kind = kind;
    w->event = event;
    w->ticket = atomic_load(&event->recorded);
    put(device, stream, w);
    return RP_OK;
}

static rp_status far_event_record(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err)
{
    event->stream = stream;
    atomic_fetch_add(&event->recorded, 1);
    return put_event(device, RECORD, event, stream, err);
}

static rp_status far_event_wait(rp_device *device, rp_event *event, rp_stream *stream, rp_error *err)
{
    return put_event(device, WAIT, event, stream, err);
}

/* ---- the device ---- */

static void far_free(rp_device *device)
{
    far_device *d = (far_device *)device;

    synchronize_all(device);
    stream_close(&d->main);
    rp_device_free(d->cpu);
    pthread_mutex_destroy(&d->kernels);
    pthread_mutex_destroy(&d->list);
    rp_free(d);
}

static const rp_device_ops far_ops = {
    .free = far_free,
    .allocate = far_allocate,
    .release = far_release,
    .pin = far_pin,
    .unpin = far_unpin,
    .upload = far_upload,
    .download = far_download,
    .copy = far_copy,
    .launch = far_launch,
    .launch_chain = far_launch_chain,
    .check = far_check,
    .fault = far_fault,
    .synchronize = far_synchronize,
    .stream_new = far_stream_new,
    .stream_free = far_stream_free,
    .event_new = far_event_new,
    .event_free = far_event_free,
    .event_record = far_event_record,
    .event_wait = far_event_wait,
};

/* Whenever a device is opened: the test's runner takes the signal for itself before each test. */
static void watch(void)
{
    struct sigaction action = {.sa_sigaction = on_touch, .sa_flags = SA_SIGINFO | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSEGV, &action, NULL) != 0)
        abort();
}

static rp_status far_open(rp_device **out, const char *level, unsigned threads, rp_error *err)
{
    far_device *d = rp_calloc(1, sizeof *d);
    rp_status status = d != NULL ? rp_device_cpu_new(&d->cpu, level, threads, err) : rp_no_memory(err);

    *out = NULL;
    if (status != RP_OK) {
        rp_free(d);
        return status;
    }
    d->base = (rp_device){.ops = &far_ops,
                          .kind = "far",
                          .level = rp_device_level(d->cpu),
                          .threads = threads,
                          .pool = rp_device_pool(d->cpu)};
    (void)snprintf(d->base.identity, sizeof d->base.identity, "far-%s", d->base.level);
    pthread_mutex_init(&d->kernels, NULL);
    pthread_mutex_init(&d->list, NULL);
    stream_open(&d->main);
    watch();
    *out = &d->base;
    return RP_OK;
}

void far_device_register(void)
{
    for (int i = 0; i < 2; i++) {
        char *at = mmap(NULL, window_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        while (at == MAP_FAILED && window_size > (size_t)1 << 31) {
            window_size /= 2;
            at = mmap(NULL, window_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        }
        if (at == MAP_FAILED) {
            perror("far device: addresses");
            exit(77);
        }
        *(i ? &inside : &window) = at;
    }
    if (rp_device_register("far", far_open, NULL) != RP_OK)
        exit(1);
}
