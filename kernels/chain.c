/* SPDX-License-Identifier: Apache-2.0
 * Running chains on the CPU. */
#include "kernels/chain.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "kernels/chain/job.h"
#include "kernels/chain/shared.h"

enum { SCRATCH = 16384, LINE = 64, AHEAD = 1 << 18, SPREAD_ROOM = RP_CHAIN_BLOCK + RP_SPREAD_PERIOD };
enum { SOON = RP_CHAIN_SOON, SOON_RUN = 128 /* elements in order */ };
typedef rp_chain_job job;
enum { ROWS_AHEAD = 4 };
enum { WIDER = 4 /* without scratch a block is only what a thread takes at a time */ };

_Static_assert(RP_CHAIN_SLOTS *LINE * sizeof(double) <= SCRATCH, "the shortest blocks fit");

/* Kernels that ask for operands of others: their loops are long (kernels/cpu/functions/fast_map.inc.h). */
static const bool asks[RP_K_COUNT] = {
#define ASKS_LOOP false
#define ASKS_OWN false
#define ASKS_BLOCK false
#define ASKS_FAST true
#define ASKS_VIA(...) true
#define ASKS_VIA2(...) true
#define MAP1(name, cost, way, ...) [RP_K_##name] = ASKS_##way,
#define MAP1P MAP1
#define MAP1Q MAP1
#include "kernels/operations.def"
};

/* Element 0 of a tensor whose element `first` is at `at`. Only the block's elements are ever touched. */
static void *element_zero(char *at, size_t first, size_t size)
{
    return (void *)((uintptr_t)at - first * size);
}

static rp_kernel_args args_of(const rp_chain_step *step, const rp_view *view)
{
    return (rp_kernel_args){view + step->in, step->n_in, view + step->out, step->n_out, step->attr};
}

/* Copies past the caches what nobody reads soon: an ordinary store would first read the line. A scan's row and what
 * lies inside a concat may begin within a line. */
static void stream(char *to, const char *from, size_t bytes)
{
    size_t i = 0;

#if defined(__SSE2__)
    i = (size_t)(-(uintptr_t)to % LINE);
    i = i < bytes ? i : bytes;
    memcpy(to, from, i);
    for (; i + LINE <= bytes; i += LINE)
        for (size_t k = 0; k < LINE; k += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(void *)(to + i + k),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + i + k)));
#endif
    memcpy(to + i, from + i, bytes - i);
}

/* While a block is computed in the first-level cache the memory would be idle: each share [at, at + n) of `of` fetches
 * as much of what the next block, elements [first, last), reads. All at once would wait for one another. */
static void fetch(const job *j, size_t first, size_t last, size_t at, size_t n, size_t of)
{
    size_t from, to;

    if (j->n_ahead == 0)
        return;
    from = first + (last - first) * at / of;
    to = first + (last - first) * (at + n) / of;
    for (size_t i = 0; i < j->n_ahead; i++)
        for (size_t byte = from * j->ahead[i].size; byte < to * j->ahead[i].size; byte += LINE)
            __builtin_prefetch(j->ahead[i].data + byte, 0, 2);
}

/* Registers alone have no time to spare for a block ahead: there the memory is asked a little ahead, all along. */
static void stream_ahead(const job *j, rp_fused *fused, size_t first)
{
    for (size_t i = 0; i < j->n_ahead && fused->n_streams < RP_FUSED_STREAMS; i++) {
        fused->stream[fused->n_streams].x = j->ahead[i].data + first * j->ahead[i].size;
        fused->stream[fused->n_streams++].size = j->ahead[i].size;
    }
}

/* The operands of step k in `args`, and what it asks for of others. */
static void ask_soon(const job *j, const rp_view *view, size_t k, rp_kernel_args *args, rp_view in[1 + SOON])
{
    if (j->n_soon[k] == 0)
        return;
    in[0] = args->in[0];
    for (size_t i = 0; i < j->n_soon[k]; i++)
        in[1 + i] = view[j->soon[k][i]];
    args->in = in;
    args->n_in = 1 + j->n_soon[k];
}

/* Step k and the later one that it makes with it: silu(x) and sigmoid(x), in some order, as sigmoid(x) and its product
 * with x. Where the sigmoid goes to x's place it waits in `shared` until the product has read x. */
static void run_shared(const job *j, const rp_view *view, size_t k, size_t first, size_t last, void *shared)
{
    const rp_chain_step *one = &j->chain->step[k], *other = &j->chain->step[j->plan.with[k]];
    const bool in_order = one->kernel == RP_K_sigmoid;
    const rp_view *product = &view[(in_order ? other : one)->out], *kept = &view[(in_order ? one : other)->out];
    const size_t size = rp_dtype_size(kept->dtype);
    rp_view soon[1 + SOON], factor[2] = {view[one->in], *kept};
    rp_kernel_args args = {factor, 1, &factor[1], 1, NULL};

    if (kept->data == factor[0].data)
        factor[1].data = element_zero(shared, first, size);
    ask_soon(j, view, k, &args, soon);
    j->table->kernel[RP_K_sigmoid]->run(&args, first, last);
    j->table->kernel[RP_K_mul]->run(&(rp_kernel_args){factor, 2, product, 1, NULL}, first, last);
    if (kept->data != factor[1].data)
        memcpy((char *)kept->data + first * size, shared, (last - first) * size);
}

/* Steps from k that belong together, for elements [first, last): whole parts in registers, the rest by kernels. The
 * next block ends at `next`. */
static void run_group(const job *j, const rp_view *view, size_t k, size_t first, size_t last, size_t next, void *shared)
{
    const size_t end = j->plan.end[k], steps = j->chain->n_steps, begin = last;
    size_t done = first;

    if (end > k + 1) {
        const size_t parts = (last - first) / RP_FUSED_ELEMENTS;
        rp_fused fused;

        rp_chain_fused(&fused, &j->plan, view, k, first);
        if (j->wide) {
            stream_ahead(j, &fused, first);
            j->table->fused(&fused, 0, parts * RP_FUSED_ELEMENTS);
        }
        for (size_t i = 0; i < parts && !j->wide; i++) {
            fetch(j, begin, next, k * parts + (end - k) * i, end - k, steps * parts);
            j->table->fused(&fused, i * RP_FUSED_ELEMENTS, (i + 1) * RP_FUSED_ELEMENTS);
        }
        done += parts * RP_FUSED_ELEMENTS;
    }
    for (; done < last && k < end; k++) {
        rp_kernel_args args = args_of(&j->chain->step[k], view);
        rp_view in[1 + SOON];

        fetch(j, begin, next, k, 1, steps);
        if (j->plan.with[k] != RP_CHAIN_STEPS)
            run_shared(j, view, k, done, last, shared);
        if (j->plan.with[k] != RP_CHAIN_STEPS || j->plan.made_with[k])
            continue;
        ask_soon(j, view, k, &args, in);
        j->table->kernel[j->chain->step[k].kernel]->run(&args, done, last);
    }
}

/* Writes out elements [first, last) of the operands that do not lie in order. */
static void spread_block(const job *j, rp_spread *spread, char *memory, rp_view *view, size_t first, size_t last)
{
    const char *at[RP_CHAIN_SPREADS];

    for (size_t i = 0; i < j->plan.n_spreads; i++)
        at[i] = rp_spread_at(&spread[i], memory + i * SPREAD_ROOM * sizeof(double), SPREAD_ROOM, first, last - first);
    for (size_t v = 0; v < j->chain->n_views && j->plan.n_spreads; v++)
        if (j->plan.spread_of[v] >= 0) {
            const size_t i = (size_t)j->plan.spread_of[v];

            view[v].data = element_zero((char *)(uintptr_t)at[i], first, spread[i].size);
        }
}

/* What a thread runs blocks with: its own views, as the places in its scratch are. */
typedef struct worker {
    const job *j;
    char *scratch, *memory, *shared;
    rp_view view[RP_CHAIN_VIEWS];
    rp_spread spread[RP_CHAIN_SPREADS];
} worker;

static const char *place_scratch(worker *w, size_t i, size_t first, bool wide)
{
    const rp_chain *chain = w->j->chain;
    const size_t slot = chain->scratch[i].slot, place = wide ? w->j->plan.compact[slot] : slot;
    char *at = w->scratch + place * chain->size * (wide ? w->j->wide : w->j->block);
    rp_view *v = &w->view[chain->scratch[i].view];

    v->data = element_zero(at, first, rp_dtype_size(v->dtype));
    return at;
}

static void stream_block(const worker *w, size_t i, const char *at, size_t first, size_t last)
{
    const rp_chain_scratch *s = &w->j->chain->scratch[i];
    const size_t size = rp_dtype_size(w->view[s->view].dtype), count = last - first;
    const size_t done = rp_chain_past(&w->j->plan, s->view) ? count - count % RP_FUSED_ELEMENTS : 0;

    stream((char *)s->stream + (first + done) * size, at + done * size, (count - done) * size);
}

/* Elements [first, last), with those to `next` to come. */
static void run_block(worker *w, size_t first, size_t last, size_t next, bool wide)
{
    const rp_chain *chain = w->j->chain;
    const char *at[RP_CHAIN_VIEWS];

    for (size_t i = 0; i < chain->n_scratch; i++)
        at[i] = place_scratch(w, i, first, wide);
    spread_block(w->j, w->spread, w->memory, w->view, first, last);
    for (size_t k = 0; k < chain->n_steps; k = w->j->plan.end[k])
        run_group(w->j, w->view, k, first, last, next, w->shared);
    for (size_t i = 0; i < chain->n_scratch; i++)
        if (chain->scratch[i].stream != NULL)
            stream_block(w, i, at[i], first, last);
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Elements before the first from which whole lines go past the caches, if some do: they are too few for registers. */
static size_t before_line(const job *j, size_t first, size_t most)
{
    return j->streams ? least_of((size_t)(-first % LINE), most - first) : 0;
}

/* Elements [first, most). Of wide blocks the last one's last elements are no whole part: they run as others do. */
static void run_elements(worker *w, size_t first, size_t most)
{
    const job *j = w->j;
    const size_t block = j->wide ? j->wide : j->block, before = before_line(j, first, most);
    size_t whole, last;

    if (before > 0)
        run_block(w, first, first + before, first + before, false);
    first += before;
    whole = j->wide ? most - (most - first) % RP_FUSED_ELEMENTS : most;

    for (; first < whole; first = last) {
        last = least_of(first + block, whole);
        run_block(w, first, last, least_of(last + block, whole), j->wide != 0);
    }
    for (; first < most; first = last) {
        last = least_of(first + j->block, most);
        run_block(w, first, last, last, false);
    }
}

/* Views of the value that has no memory, whose element `first` is `at` elements behind `loose`. */
static void place_loose(worker *w, size_t first, char *loose, size_t at)
{
    for (size_t v = 0; v < w->j->chain->n_views; v++)
        if (w->j->chain->view[v].data == NULL && w->j->plan.slot[v] == RP_CHAIN_SLOTS) {
            const size_t size = rp_dtype_size(w->view[v].dtype);

            w->view[v].data = element_zero(loose + at * size, first, size);
        }
}

/* A row some rows ahead, which a processor does not fetch by itself where rows lie apart. */
static void fetch_rows(const job *j, size_t first, size_t columns)
{
    const size_t last = least_of(first + columns, j->chain->count);

    for (size_t i = 0; i < j->n_ahead; i++)
        for (size_t byte = first * j->ahead[i].size; byte < last * j->ahead[i].size; byte += LINE)
            __builtin_prefetch(j->ahead[i].data + byte, 0, 2);
}

static void run_rows(const job *j, size_t first, size_t rows, size_t step, size_t columns, char *loose, size_t pitch)
{
    _Alignas(LINE) char scratch[SCRATCH], memory[RP_CHAIN_SPREADS * SPREAD_ROOM * sizeof(double)];
    _Alignas(LINE) char shared[RP_CHAIN_BLOCK * sizeof(double)];
    worker w = {.j = j, .scratch = scratch, .memory = memory, .shared = shared};

    memcpy(w.view, j->plan.view, j->chain->n_views * sizeof *w.view);
    memcpy(w.spread, j->plan.spread, j->plan.n_spreads * sizeof *w.spread);
    if (columns == step && (loose == NULL || pitch == step)) {
        columns *= rows;
        rows = 1;
    }
    for (size_t r = 0; r < rows; r++, first += step) {
        if (loose != NULL)
            place_loose(&w, first, loose, r * pitch);
        if (loose != NULL && rows > 1)
            fetch_rows(j, first + ROWS_AHEAD * step, columns);
        run_elements(&w, first, first + columns);
    }
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

void rp_chain_job_run(const rp_chain_job *j, size_t first, size_t rows, size_t step, size_t columns)
{
    run_rows(j, first, rows, step, columns, NULL, 0);
}

void rp_chain_job_run_loose(const rp_chain_job *j, size_t first, size_t rows, size_t step, size_t columns, void *loose,
                            size_t pitch)
{
    run_rows(j, first, rows, step, columns, loose, pitch);
}

/* Blocks [begin, end). */
static void run_blocks(void *arg, size_t begin, size_t end)
{
    const job *j = arg;
    const size_t block = j->wide ? j->wide : j->block, most = least_of(end * block, j->chain->count);

    rp_chain_job_run(j, begin * block, 1, 0, most - begin * block);
}

/* Blocks are whole cache lines of every type, and their pieces of scratch fit. */
static size_t block_of(const rp_chain *chain, const rp_chain_plan *plan, size_t slots)
{
    const size_t bytes = slots * chain->size + plan->n_spreads * plan->spread_size;
    size_t block = bytes ? SCRATCH / bytes / LINE * LINE : RP_CHAIN_BLOCK;

    if (block > RP_FUSED_ELEMENTS)
        block = block / RP_FUSED_ELEMENTS * RP_FUSED_ELEMENTS;
    return block > RP_CHAIN_BLOCK ? RP_CHAIN_BLOCK : block < LINE ? LINE : block;
}

/* The operands that are worth fetching ahead: large, read element by element, each once. */
static void find_ahead(job *j)
{
    const rp_chain *chain = j->chain;

    for (size_t k = 0; k < chain->n_steps; k++)
        for (size_t v = chain->step[k].in; v < chain->step[k].in + chain->step[k].n_in; v++) {
            const rp_view *view = &chain->view[v];
            bool known = view->data == NULL || !rp_chain_whole(view, chain->count);

            for (size_t i = 0; i < chain->n_scratch; i++)
                known = known || chain->scratch[i].view == v;
            for (size_t i = 0; i < j->n_ahead; i++)
                known = known || j->ahead[i].data == view->data;
            if (!known)
                j->ahead[j->n_ahead++] = (rp_chain_ahead){view->data, rp_dtype_size(view->dtype)};
        }
}

static bool same_rows(const rp_view *a, const rp_view *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0 &&
           a->stride[a->rank - 1] == 1 && b->stride[b->rank - 1] == 1 && a->shape[a->rank - 1] >= SOON_RUN;
}

/* Has step k ask for view v, if that is in memory, runs as the step does, and nobody else asks for it. */
static void find_soon(job *j, size_t k, size_t v)
{
    const rp_chain_step *step = &j->chain->step[k];
    const rp_view *view = &j->plan.view[v], *own = &j->plan.view[step->out];
    bool known = view->data == NULL || view->dtype != RP_F32 || own->dtype != RP_F32 || view->rank == 0 ||
                 j->plan.spread_of[v] >= 0 || view->data == j->plan.view[step->in].data || !same_rows(view, own);

    for (size_t i = 0; i < j->chain->n_scratch; i++)
        known = known || j->chain->scratch[i].view == v;
    for (size_t i = 0; i < j->n_ahead; i++)
        known = known || j->ahead[i].data == view->data;
    for (size_t i = 0; i < j->n_soon[k]; i++)
        known = known || j->plan.view[j->soon[k][i]].data == view->data;
    if (!known && j->n_soon[k] < SOON)
        j->soon[k][j->n_soon[k]++] = v;
}

/* What the steps after step k read and write, up to the next one that asks. */
static void find_all_soon(job *j, size_t k)
{
    const rp_chain *chain = j->chain;

    for (size_t next = k + 1; next < chain->n_steps && (!asks[chain->step[next].kernel] || j->plan.made_with[next]);
         next++) {
        const rp_chain_step *step = &chain->step[next];

        for (size_t v = step->in; v < step->in + step->n_in; v++)
            find_soon(j, k, v);
        for (size_t v = step->out; v < step->out + step->n_out; v++)
            find_soon(j, k, v);
    }
}

void rp_chain_job_make(rp_chain_job *j, const rp_chain *chain, const rp_kernel_table *table)
{
    j->chain = chain;
    j->table = table;
    j->wide = j->n_ahead = 0;
    j->streams = false;
    for (size_t i = 0; i < chain->n_scratch; i++)
        j->streams = j->streams || chain->scratch[i].stream != NULL;
    memset(j->n_soon, 0, sizeof j->n_soon);
    rp_chain_plan_make(&j->plan, chain, table->fused != NULL);
    j->block = block_of(chain, &j->plan, chain->slots);
    if (j->plan.end[0] == chain->n_steps && chain->n_steps > 1) {
        const size_t wide =
            block_of(chain, &j->plan, j->plan.n_compact) * (j->plan.n_compact + j->plan.n_spreads ? 1 : WIDER);

        if (wide % RP_FUSED_ELEMENTS == 0) /* with many pieces of scratch a block is shorter than registers ask for */
            j->wide = wide;
    }
    if (chain->count >= AHEAD)
        find_ahead(j);
    for (size_t k = 0; k < chain->n_steps && chain->count >= AHEAD; k++)
        if (asks[chain->step[k].kernel] && j->plan.end[k] == k + 1 && !j->plan.made_with[k])
            find_all_soon(j, k);
}

void rp_chain_run(const rp_chain *chain, const rp_kernel_table *table, rp_pool *pool, size_t least)
{
    size_t cost = 0, block;
    job j;

    rp_chain_job_make(&j, chain, table);
    block = j.wide ? j.wide : j.block;
    for (size_t k = 0; k < chain->n_steps; k++) {
        const rp_kernel_args args = args_of(&chain->step[k], chain->view);

        cost += table->kernel[chain->step[k].kernel]->cost(&args);
    }
    cost = cost ? cost * block : 1;
    if (pool == NULL)
        run_blocks(&j, 0, (chain->count + block - 1) / block);
    else
        rp_pool_run(pool, (chain->count + block - 1) / block, 1 + least / cost, run_blocks, &j);
}
