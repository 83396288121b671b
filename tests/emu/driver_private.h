/* SPDX-License-Identifier: Apache-2.0
 * The emulated driver's own structures. Work put on a stream waits there until somebody asks for it to be done: each
 * wait does no more than it must, so all else happens as late as it may. One lock is held in every call. */
#ifndef TESTS_EMU_DRIVER_PRIVATE_H
#define TESTS_EMU_DRIVER_PRIVATE_H

#include "kernels/gpu/driver_abi.h"
#include "tests/emu/block.h"
#include "tests/emu/emulated.h"

#define EMU_API __attribute__((visibility("default")))
/* Prototypes of what is exported: a definition that is unlike its line in driver_abi.h does not compile. */
#define CALL(name, parameters) EMU_API int name parameters;
RP_DRIVER_CALLS(CALL)
#undef CALL

/* Results that the library above has no name for. */
enum {
    EMU_CU_DEVICE_UNAVAILABLE = 46,
    EMU_CU_INVALID_CONTEXT = 201,
    EMU_CU_ECC_UNCORRECTABLE = 214,
    EMU_CU_INVALID_HANDLE = 400,
    EMU_CU_OUT_OF_RESOURCES = 701,
    EMU_CU_ILLEGAL_INSTRUCTION = 715,
    EMU_CU_MISALIGNED = 716,
    EMU_CU_CAPTURE_UNSUPPORTED = 900,
    EMU_CU_CAPTURE_INVALIDATED = 901,
    EMU_CU_CAPTURE_MERGE = 902,
    EMU_CU_CAPTURE_UNMATCHED = 903,
    EMU_CU_CAPTURE_UNJOINED = 904,
    EMU_CU_CAPTURE_ISOLATION = 905,
    EMU_CU_CAPTURE_IMPLICIT = 906,
    EMU_CU_CAPTURED_EVENT = 907,
    EMU_CU_CAPTURE_WRONG_THREAD = 908
};

enum { EMU_DEVICES = 8 };

typedef struct emu_memory { /* of a device, or pinned */
    uint64_t at;            /* the device's address, or the host's */
    size_t bytes;
    char *map; /* the host's pages */
    size_t mapped;
    struct emu_memory *next;
} emu_memory;

typedef struct rp_cu_stream_s emu_stream;
typedef struct rp_cu_event_s emu_event;
typedef struct rp_cu_graph_s emu_graph;
typedef struct emu_capture emu_capture;

typedef enum emu_work_kind { EMU_KERNEL, EMU_COPY, EMU_SET, EMU_RECORD, EMU_WAIT, EMU_GRAPH } emu_work_kind;

/* A place in a stream, for as long as anybody asks for it. */
typedef struct emu_mark {
    unsigned users;
    bool done;
    emu_stream *stream; /* while it is not done */
    uint64_t ticket;
    double time; /* when it was done, in milliseconds */
} emu_mark;

typedef struct emu_work {
    emu_work_kind kind;
    const emu_kernel *kernel;
    uint32_t blocks[3], threads[3], shared;
    char *params; /* owned */
    char *to;     /* addresses of the host */
    const char *from;
    char *staged; /* owned: what an upload from pageable memory reads */
    size_t bytes;
    unsigned char value;
    emu_mark *mark;   /* recorded, or waited for */
    emu_graph *graph; /* launched */
    uint64_t ticket;
    struct emu_work *next;
} emu_work;

typedef struct emu_device {
    int index;
    unsigned retained;
    int failed; /* what every call says from now on */
    size_t total, used, top;
    size_t taken; /* allocations so far */
    emu_memory *memory;
    emu_stream *streams;
    emu_stream *legacy; /* of handle NULL */
} emu_device;

struct rp_cu_stream_s {
    emu_device *device;
    bool blocking; /* orders itself with the legacy stream */
    uint64_t given, done;
    emu_work *first, **last;
    emu_capture *capture; /* what is put on it goes there */
    size_t *after;        /* the nodes that the next one follows */
    size_t n_after;
    struct rp_cu_stream_s *next;
};

struct rp_cu_event_s {
    emu_device *device;
    emu_mark *mark;   /* NULL: not recorded but in captures */
    uint64_t capture; /* the one that it was recorded in last, 0: in none; */
    size_t *after;    /* behind these nodes */
    size_t n_after;
};

typedef struct emu_node {
    emu_work work;
    size_t *after;
    size_t n_after;
} emu_node;

struct rp_cu_graph_s { /* an instance too: its own copy */
    unsigned users;
    emu_device *device;
    emu_node *node;
    size_t n, room;
};

/* A capture that is going on, of the stream that began it and those that joined. */
struct emu_capture {
    uint64_t id; /* from 1, never used again: events outlive their capture */
    emu_graph *graph;
    emu_stream *origin;
    const void *thread; /* that began it */
    int mode;
    bool invalid; /* something that is not allowed was asked for */
    emu_capture *next;
};

/* Every call begins and ends with these: the lock; injected errors; but in the second, which are about drivers and
 * contexts, that there is a context and that its device has not failed. */
int emu_enter(const char *call);
int emu_enter_any(const char *call);
int emu_leave(int result);
/* The device of the calling thread's context; NULL: it has none. */
emu_device *emu_current(void);
emu_device *emu_device_at(int index);
emu_order emu_order_chosen(void);
/* Whether the n-th piece of work of the kind shall fail, and how. 0: no. */
int emu_work_fails(const char *kind);
bool emu_is_lasting(int result);
/* 0: there is none of that name. */
int emu_error_of(const char *name);

/* The host's address of so many bytes of device memory; NULL: they are not all in one allocation. */
char *emu_memory_find(const emu_device *device, uint64_t at, size_t bytes);
bool emu_is_pinned(const void *host);
/* Whether something was written beyond the end of an allocation. */
bool emu_memory_overrun(const emu_device *device);
void emu_memory_drop(emu_device *device);
size_t emu_memory_alive(void);

emu_stream *emu_stream_of(emu_device *device, rp_cu_stream handle);
emu_stream *emu_stream_make(emu_device *device, bool blocking);
/* Takes the work. */
int emu_put(emu_stream *s, emu_work work);
int emu_drain(emu_stream *s, uint64_t ticket);
int emu_drain_all(emu_device *device);
int emu_work_do(emu_device *device, emu_work *w);
void emu_work_clear(emu_work *w);
void emu_mark_drop(emu_mark *mark);
void emu_streams_drop(emu_device *device);

/* capture/driver_capture.c. Results are what the call that asks has to give; what is refused gives a capture up. */
int emu_invalidate(emu_capture *c, int result); /* gives it up; the result that was given */
emu_capture *emu_capture_of(uint64_t id);       /* NULL: it has ended, or there was none */
/* Of calls that may be unsafe while this thread captures: all that work at once, or wait. */
int emu_unsafe(void);
int emu_enter_unsafe(const char *call);
int emu_use_of(const emu_stream *s); /* of what is put on a stream */
int emu_wait_for_stream(emu_stream *s);
int emu_ask_event(const emu_event *e);             /* of waiting for an event, or asking it */
int emu_capture_put(emu_stream *s, emu_work work); /* takes the work */
int emu_capture_record(emu_event *e, const emu_stream *s);
int emu_capture_join(emu_stream *s, const emu_event *e);
void emu_capture_desert(emu_stream *s); /* which is about to go */

int emu_graph_do(emu_device *device, emu_graph *g);
void emu_graph_drop(emu_graph *g);
size_t emu_param_bytes(const emu_kernel *k);

/* One more call, or launch of a kernel, of that name. */
void emu_count(const char *call);

#endif
