/* SPDX-License-Identifier: Apache-2.0
 * What the passes of a plan work on. A pass is a function of one file, core/run/plan_*.c, linear in the program's size;
 * core/run/plan.c runs them in the order in which they are declared here. None looks at the elements of a tensor. */
#ifndef CORE_RUN_PLAN_PRIVATE_H
#define CORE_RUN_PLAN_PRIVATE_H

#include "base/index.h"
#include "core/program/function.h"
#include "core/run/plan.h"
#include "core/run/repeat/repeat.h"
#include "kernels/chain.h"

/* A region with everything bound. */
typedef struct region_call {
    rp_plan *plan; /* the one that it stands in */
    const rp_region *region;
    rp_plan **body;  /* of each function */
    rp_view *packed; /* of each operand: itself, or where it is copied to when it is not contiguous */
    void *scratch;   /* rp_region_scratch */
    size_t frame;    /* bytes from there to what the bodies need */
    size_t n_packed; /* operands that are copied */
    uint64_t kept;   /* those of them whose copies outlive a run */
    uint64_t writes; /* when they were made */
    bool begun;      /* a frame has run, and left its constants */
    size_t launches; /* of all frames; 0: the host has to look at or bring something meanwhile */
    uint64_t over;   /* as in rp_frames */
    /* A scan whose frames do no more than add a product to what it carries makes all of them in one launch: the rows of
     * which operand each of the product's two is made of. Elsewhere 0, 0: what is carried. */
    size_t rows[2];
} region_call;

/* One launch with everything bound. */
typedef struct call {
    rp_chain *chain;  /* owned; NULL: one kernel. With an operation: what follows on the product's blocks */
    rp_chain *before; /* owned; NULL: none. What makes the rows that the operation reads */
    bool rows;        /* of a norm, softmax or reduction go through the chains, a few at a time */
    const rp_op *op;  /* NULL: a copy */
    const rp_attr *attr;
    size_t instr; /* the operation's place in the program, behind those of the bodies planned before it */
    rp_view *in, *out;
    size_t n_in, n_out;
    bool looks;                /* at its indices, and no more */
    bool dots;                 /* a sum that makes the products of its operands too */
    bool onto;                 /* a matrix product, in[2] its other summand, which lies where the sum goes */
    const struct call *gather; /* whose rows it makes too; NULL: none */
    region_call *region;       /* owned; functions are executed; NULL: none */
} call;

/* A call that writes to a state, of the program's inputs. */
typedef struct state_write {
    size_t call, input;
} state_write;

/* Where the elements of a value are. */
typedef enum block_place {
    PLACE_ARENA,
    PLACE_OWN,     /* feeds and results: they outlive a run */
    PLACE_FIXED,   /* of an input, or made in a state's memory */
    PLACE_GIVEN,   /* a body's parameters, and outputs made where they go: each frame says where that is */
    PLACE_SCRATCH, /* of a chain */
    PLACE_LOOSE,   /* rows between a chain and what has rows, in one call: a few at a time, with the thread */
    PLACE_SHARED   /* in the block of an operand that is not read again */
} block_place;

/* A piece of memory. */
typedef struct block {
    size_t bytes, offset;
    size_t span;  /* PLACE_ARENA: bytes with those that lie in it too; 0: none do */
    size_t shift; /* joined: how far behind the beginning of `with`'s */
    void *fixed;
    uint32_t first, last; /* positions between which it is alive */
    uint32_t shared;      /* PLACE_SHARED: the value whose block it is; PLACE_GIVEN: which base; PLACE_OWN: the base
                             that it follows, where it may be lent, or NOT_LENT */
    uint32_t with;        /* joined: in whose block */
    block_place place;
    bool made;     /* by an instruction */
    bool joined;   /* lies in another's block in the arena */
    bool overlaps; /* has bytes that are another's too */
    bool paired;   /* its elements are every second one there */
} block;

/* Instructions in the order of their execution: those that only make a view, are equal to another or dead are left out.
 */
typedef struct plan_order {
    uint32_t *instr; /* by position */
    uint32_t *first; /* the first position of the chain that a position is in; the position itself outside chains */
    size_t n;
} plan_order;

/* A pointer that follows a base: what is bound stays bound, wherever arena, parameters and outputs are. */
typedef struct follower {
    void **at;
    size_t offset;
    uint32_t base;
} follower;

/* The memory that a plan does not own, or may be lent: its part of the arena, parameters and outputs, in this order. */
typedef struct bases {
    char **at;       /* of each */
    uint32_t *first; /* of each: its followers; they end where the next one's begin */
    size_t n;
    follower *follower;
    size_t n_followers, cap_followers;
} bases;

/* Plans of all functions that a program executes, each once (core/run/plan_bodies.c). */
typedef struct plan_bodies {
    rp_plan **plan;
    size_t n, cap;
    rp_index by_function;
    size_t numbered; /* instructions of all, the program's first */
    size_t budget;   /* instructions that may still be written out in them */
} plan_bodies;

/* A program of a plan's own. */
typedef struct rp_plan_written {
    rp_program *program;
    uint32_t *number;
    bool *late;
    size_t stored; /* what the program's own scans left of rp_plan_options.stored to those of bodies */
} rp_plan_written;

struct rp_plan {
    const rp_program *program; /* the caller's, or `written` */
    rp_program *written;       /* owned; NULL: nothing was written out */
    uint32_t *number;          /* of each instruction of `written`: what an error calls it */
    bool *late;                /* of each: made again for a reader, in front of which it stays; NULL: none is */
    bool settled;              /* written by a plan of the same program: it is not rewritten again */
    rp_device *device;
    unsigned passes;
    size_t stored;    /* of `top`: what is left of that of rp_plan_options */
    size_t to_bodies; /* of `top`: what was left of it to scans of bodies */
    uint64_t every;
    bool stores;                 /* some scan does; of `top` */
    bool lays;                   /* some scan has a matrix laid out in panels; of `top` */
    rp_plan *top;                /* whose bodies hold this one; of a program itself */
    const rp_function *function; /* NULL: of a program */
    plan_bodies bodies;          /* of `top` */
    size_t numbered;             /* what its first instruction has as its place among all */
    rp_arena *arena, alone;      /* alone: when none was given; of `top` */
    size_t arena_bytes, own_bytes;
    const uint64_t *writes; /* as in rp_plan_options; NULL: no copies are kept */
    size_t kept;            /* where the next region's kept copies begin in what is the plan's own */
    bool admitted;          /* own_bytes count as untouched in the arena until it has had more runs than `runs` */
    uint64_t runs;
    char *own;

    rp_view *view;       /* of each value */
    uint32_t *same;      /* the first value that is equal to it; itself outside equal ones */
    uint32_t *root;      /* the value whose block holds this value's elements */
    unsigned char *kind; /* of each value: an rp_input_kind, or VALUE_MADE */
    bool *executed;      /* of each instruction */
    uint16_t *mark;      /* of each instruction: what the order says of it */
    plan_order order;
    block *block; /* of each root value, then of each region: what it needs while it runs */
    size_t n_blocks;
    uint32_t *region_at; /* of each instruction that is a region: its block */
    bases bases;

    call *call;
    size_t n_calls;
    state_write *write; /* in the order of the calls */
    size_t n_writes;
    size_t constants;           /* calls in front that a function's frames after the first leave out */
    bool start;                 /* rp_plan_options */
    bool regions_around;        /* stand on both sides of the first of them */
    bool mixed;                 /* the last run failed when a state had been written */
    const rp_plan_watch *watch; /* of `top`; NULL: nobody */
    rp_repeat *repeat;          /* of a program's: its calls, between regions and what is settled, as sequences */
    rp_view *operands;          /* all calls' views */
    void **output;              /* contiguous memory of each output */
    uint32_t *twin;             /* of each output of a function: the one that it is a copy of; UINT32_MAX */
    uint64_t over;              /* of a function as a scan's: as in rp_frames */
};

enum { BASE_ARENA, BASE_PARAMETERS };
#define NOT_LENT UINT32_MAX

enum { VALUE_MADE = 255 };
/* Taken before its turn in the program; it ends the life of a gradient, say, so a chain should not wait for more. */
enum { MARK_EARLY = 1, MARK_UPDATE = 2, MARK_GATHERED = 4, MARK_GATHERS = 8 /* rows for one reduction, and that */ };
/* A concat whose operands stay where they lie, and the call that reads them there. */
enum { MARK_LIES = 16, MARK_READS_LYING = 32 };
/* A cross entropy whose call makes the logsumexp of its rows too, and that. */
enum { MARK_BOTH = 128 };
enum { MARK_GIVEN = 64 }; /* makes an output of a function, or what it is a view of */
/* A product for one sum alone, whose call makes it too. */
enum { MARK_PRODUCT = 256, MARK_DOTS = 512 };
enum { MARK_GOES_ON = 1024 }; /* a product whose call runs the chain behind it too */
enum { MARK_LED = 4096 };     /* a product, norm, softmax or reduction whose call runs the chain in front of it too */

/* Before all others: outputs that are inputs or views become copies, where something could spoil them. Errors:
 * RP_EFORMAT (rp_program_check_states), RP_ENOMEM. */
rp_status rp_plan_outputs(rp_plan *plan, rp_error *err);
/* Equal scans become one, and what a gradient would compute again is stored. Errors: RP_ENOMEM. */
rp_status rp_plan_scans(rp_plan *plan, rp_error *err);
/* What the pass over scans makes of a program; NULL: it leaves it as it is. stored: bytes that may be. Errors:
 * RP_ENOMEM. */
rp_status rp_plan_scans_of(rp_program **out, const rp_program *p, size_t stored, rp_error *err);
/* Puts concats in the place of sums of pads (core/run/rewrites/pads.c). Errors: RP_ENOMEM. */
rp_status rp_plan_pads(rp_plan *plan, rp_error *err);
/* Makes products turned that are only read so (core/run/rewrites/turned.c). Errors: RP_ENOMEM. */
rp_status rp_plan_turned(rp_plan *plan, rp_error *err);
/* Attention written in products and softmax becomes the operation. Errors: RP_ENOMEM. */
rp_status rp_plan_attention(rp_plan *plan, rp_error *err);
/* Which values are views, on whose memory, with which strides. Errors: RP_ENOMEM. */
rp_status rp_plan_views(rp_plan *plan, rp_error *err);
/* The view that a value which was found to be one is. */
bool rp_plan_alias(const rp_instr *instr, const rp_view *in, const rp_type *type, rp_view *out);
/* Finds equal instructions. Errors: RP_ENOMEM. */
rp_status rp_plan_common(rp_plan *plan, rp_error *err);
/* Copies (a concat of one operand) are their operands: for a plan whose outputs may lie where its feeds do. */
void rp_plan_join_copies(rp_plan *plan);
/* Says which instructions are executed. Errors: RP_ENOMEM. */
rp_status rp_plan_dead(rp_plan *plan, rp_error *err);
/* Puts them in order. Errors: RP_ENOMEM. */
rp_status rp_plan_order(rp_plan *plan, rp_error *err);
/* Says which instructions make a function's outputs, by whatever passes, and puts its constants in front. */
void rp_plan_constants(rp_plan *plan);
/* Gathers chains, which changes the order. Errors: RP_ENOMEM. */
rp_status rp_plan_fuse(rp_plan *plan, rp_error *err);
/* Which carried values of a scan with this function may be made where they lie, and whether the instruction at position
 * k adds a product that stands in front of it to such a value (core/run/places/over.c): its call makes both. */
uint64_t rp_plan_over(const rp_plan *body);
bool rp_plan_adds_onto(const rp_plan *body, size_t k);
/* Whether frames of the scan do nothing else; rows: as in region_call. The body is bound. */
bool rp_plan_only_adds(const rp_plan *body, const rp_region *r, size_t *rows);
/* The products of all frames of such a scan, whose operands and value lie in order. Errors: the device's. */
rp_status rp_plan_add_all(region_call *c, const rp_view *in, const rp_view *out, rp_error *err);
/* Finds what is gathered for one reduction, and then products that are made for one sum. readers: NULL, or how often
 * values of each root are read, outputs too; who looks first counts, the caller frees. Errors: RP_ENOMEM. */
rp_status rp_plan_gathered(rp_plan *plan, uint32_t **readers, rp_error *err);
rp_status rp_plan_dots(rp_plan *plan, uint32_t **readers, rp_error *err);
/* Finds products whose call goes on with a chain, and puts these behind them (core/run/epilogues). Errors: RP_ENOMEM.
 */
rp_status rp_plan_epilogues(rp_plan *plan, rp_error *err);
/* Finds products whose call runs the chain that makes their right operand, and puts these in front of them. readers: as
 * of rp_plan_gathered. Errors: RP_ENOMEM. */
rp_status rp_plan_prologues(rp_plan *plan, uint32_t **readers, rp_error *err);
/* Finds norms, softmax and reductions whose call runs chains next to them. Errors: RP_ENOMEM. */
rp_status rp_plan_rows(rp_plan *plan, rp_error *err);
/* What one call of a product and its epilogue has in it lives as long as the call. */
void rp_plan_hold_epilogues(rp_plan *plan);
/* The product in front of the chain that the position is in, whose call runs it; NULL: a call of its own does. */
const rp_instr *rp_plan_goes_before(const rp_plan *plan, size_t position);
rp_status rp_plan_count_readers(const rp_plan *plan, uint32_t **readers, rp_error *err);
/* From when to when each value is needed, which are made in a state's memory, which only in a chain's scratch. */
void rp_plan_lifetimes(rp_plan *plan, void *const *input_memory);
/* Which of them lie in one block: before values take over others' blocks, and after. reader: room for a number of each
 * value. */
void rp_plan_overlap_histories(rp_plan *plan);
void rp_plan_put_beside(rp_plan *plan, size_t *reader);
/* Finds cross entropies that make their rows' logsumexp too, and which instruction that is. */
void rp_plan_entropies(rp_plan *plan);
const rp_instr *rp_plan_made_with(const rp_plan *plan, const rp_instr *entropy);
/* Whether an operand of a concat could be made where it goes. */
bool rp_plan_has_inside(rp_plan *plan);
/* Which of them are: all, those of concats that are results, or none. Whether some are. */
typedef enum plan_inside { INSIDE_ALL, INSIDE_RESULTS, INSIDE_NONE } plan_inside;
bool rp_plan_put_inside(rp_plan *plan, plan_inside how);
/* Views of an addition whose operand `at` is a concat, for it to read the concat's operands where they lie. */
void rp_plan_bind_lying(const rp_plan *plan, const rp_instr *concat, size_t at, rp_view *in, rp_view *out);
/* Gives the others their places. Errors: RP_ENOMEM. */
rp_status rp_plan_place(rp_plan *plan, rp_error *err);
/* Views on memory, calls in order, final copies, and who follows which base. Errors: RP_ENOMEM. */
rp_status rp_plan_bind(rp_plan *plan, rp_error *err);
void rp_plan_unbind(rp_plan *plan);

/* ---- the whole ---- */

/* A plan after all passes but the last, which takes no memory of the device yet. written, number, late: as in rp_plan,
 * taken, also on failure; NULL: the program is the caller's. Errors: RP_ENOMEM. */
rp_status rp_plan_lay_out(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                          const rp_plan_options *options, const rp_plan_written *written, rp_error *err);
void rp_plan_written_free(const rp_plan_written *written); /* NULL is fine */
/* A plan that is laid out gets its memory, and what it needs is bound to it. Errors: RP_ENOMEM. */
rp_status rp_plan_settle_in(rp_plan *plan, rp_error *err);
/* The same of the caller's program, within options->memory, where that is given: *out is to be freed on failure too.
 * Errors: RP_ENOMEM, with figures. */
rp_status rp_plan_look(rp_plan **out, const rp_program *program, rp_device *device, void *const *input_memory,
                       const rp_plan_options *options, rp_error *err);
/* The plan that needs no more than options->memory in the place of *plan, which needs more (core/run/recompute).
 * Errors: RP_ENOMEM, with figures. */
rp_status rp_plan_within(rp_plan **plan, const rp_program *program, void *const *input_memory,
                         const rp_plan_options *options, rp_error *err);

/* The plan of a function; NULL: there is none yet. */
rp_plan *rp_plan_body(const rp_plan *plan, const rp_function *function);
/* Takes a body that is planned. Errors: RP_ENOMEM; it is then still the caller's. */
rp_status rp_plan_bodies_add(rp_plan *top, rp_plan *body, rp_error *err);
/* A loop of no iterations executes nothing. */
bool rp_plan_is_executed(const rp_region *region);
/* Memory that a region needs while it runs: its own, copies of operands that are not kept, the largest body's. */
size_t rp_plan_region_bytes(const rp_plan *plan, const rp_instr *instr);
/* Whether operand i of a region is a state's, out of order, and its copy outlives a run. */
bool rp_plan_keeps(const rp_plan *plan, const rp_instr *instr, size_t i);

/* Notes that *at is the memory of a value of this root. Errors: RP_ENOMEM. */
rp_status rp_plan_follow(rp_plan *plan, void **at, uint32_t root, rp_error *err);
rp_status rp_plan_follow_base(rp_plan *plan, void **at, uint32_t base, rp_error *err);
/* Finds what may be lent, before anything is bound. */
void rp_plan_find_lent(rp_plan *plan);
/* Sorts the followers by base. */
rp_status rp_plan_bases_ready(rp_plan *plan, rp_error *err);
/* A base is there now. */
void rp_plan_move(rp_plan *plan, size_t base, void *to);
/* The arena as large as the plan needs it, and where it is: another plan may have moved it. Errors: RP_ENOMEM. */
rp_status rp_plan_follow_arena(rp_plan *plan, rp_error *err);

bool rp_plan_same_attr(rp_attr_kind kind, const rp_attr *a, const rp_attr *b);

/* Bytes that a block takes of the arena: none in another's. */
static inline size_t rp_block_taken(const block *b)
{
    if (!b->made || b->place != PLACE_ARENA || b->joined)
        return 0;
    return b->span ? b->span : b->bytes;
}

/* Whether executing the instruction can be an error of the step: such are never left out, and keep their order. */
static inline bool rp_plan_can_fail(const rp_instr *instr)
{
    return instr->region || instr->op->flags & RP_OP_INDEXED;
}

/* The instruction at a position. */
static inline const rp_instr *rp_plan_at(const rp_plan *plan, size_t position)
{
    return &plan->program->instr[plan->order.instr[position]];
}

/* The position after the chain that begins at `first`. */
size_t rp_plan_chain_end(const rp_plan *plan, size_t first);
/* The positions of the call that position k is in begin and end there: a chain, alone or behind its product. */
size_t rp_plan_call_first(const rp_plan *plan, size_t k);
size_t rp_plan_call_end(const rp_plan *plan, size_t first);
/* Whether a view has its elements in the places of a contiguous tensor of this type. */
bool rp_view_is_whole(const rp_view *view, const rp_type *type);

#endif
