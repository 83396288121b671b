/* SPDX-License-Identifier: Apache-2.0
 * Random chains of the steps that run in registers (kernels/fused.h), and a few that do not, at every level: each
 * output has the bits of the reference kernels, one after the other. Values are zeros of both signs, halves, infinities
 * and NaNs as well; places in the scratch are used again, for elements of another size too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/chain.h"
#include "kernels/chain_plan.h"

enum { COUNT = RP_CHAIN_BLOCK + 700, CHAINS = 8000, FEEDS = 3, VALUES = FEEDS + RP_CHAIN_STEPS };

typedef struct value {
    rp_dtype dtype;
    size_t last, slot; /* its last reader; RP_CHAIN_SLOTS: in memory */
    float kept[COUNT], out[COUNT];
} value;

typedef struct random_chain {
    uint64_t seed;
    rp_chain chain;
    rp_attr attr[RP_CHAIN_STEPS][RP_MAX_ATTR];
    size_t in[RP_CHAIN_STEPS][3]; /* values; VALUES + i: constant i */
    size_t n_values;
    bool selects;  /* of few operations: sides of selections */
    bool in_place; /* a step's output may be where an operand of its type was */
} random_chain;

static value values[VALUES];
static const float constant[] = {0.0f, -0.0f, 0.5f, -1.5f, NAN, INFINITY, 1.0f};
enum { CONSTANTS = sizeof constant / sizeof *constant };

typedef struct operation {
    rp_kernel_id kernel;
    int n_in;
    const char *types; /* of the operands, then the output: r or b */
} operation;

static const operation operations[] = {
    {RP_K_add, 2, "rrr"},        {RP_K_sub, 2, "rrr"},         {RP_K_mul, 2, "rrr"},
    {RP_K_div, 2, "rrr"},        {RP_K_maximum, 2, "rrr"},     {RP_K_minimum, 2, "rrr"},
    {RP_K_relu_grad, 2, "rrr"},  {RP_K_tanh_grad, 2, "rrr"},   {RP_K_sigmoid_grad, 2, "rrr"},
    {RP_K_relu, 1, "rr"},        {RP_K_abs, 1, "rr"},          {RP_K_neg, 1, "rr"},
    {RP_K_sign, 1, "rr"},        {RP_K_floor, 1, "rr"},        {RP_K_ceil, 1, "rr"},
    {RP_K_round, 1, "rr"},       {RP_K_trunc, 1, "rr"},        {RP_K_leaky_relu, 1, "rr"},
    {RP_K_hardtanh, 1, "rr"},    {RP_K_eq, 2, "rrb"},          {RP_K_ne, 2, "rrb"},
    {RP_K_lt, 2, "rrb"},         {RP_K_le, 2, "rrb"},          {RP_K_gt, 2, "rrb"},
    {RP_K_ge, 2, "rrb"},         {RP_K_where, 3, "brrr"},      {RP_K_where, 3, "brrr"},
    {RP_K_where, 3, "brrr"},     {RP_K_logical_not, 1, "bb"},  {RP_K_logical_and, 2, "bbb"},
    {RP_K_logical_or, 2, "bbb"}, {RP_K_logical_xor, 2, "bbb"}, {RP_K_cast, 1, "br"},
    {RP_K_sqrt, 1, "rr"},        {RP_K_eq, 2, "bbb"},          {RP_K_where, 3, "bbbb"},
};

static uint32_t draw(random_chain *r, uint32_t below)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->seed >> 33) % below;
}

static float draw_real(random_chain *r)
{
    const uint32_t kind = draw(r, 16);

    return kind < 2 ? constant[draw(r, CONSTANTS)] : (float)((int)draw(r, 161) - 80) / (kind < 9 ? 8.0f : 7.3f);
}

static rp_view view_of(void *data, rp_dtype dtype, ptrdiff_t stride)
{
    return (rp_view){data, dtype, 1, {COUNT}, {stride}};
}

static rp_view view_of_operand(size_t v, bool kept)
{
    if (v >= VALUES)
        return view_of((void *)(uintptr_t)&constant[v - VALUES], RP_F32, 0);
    return view_of(kept || v < FEEDS                 ? values[v].kept
                   : values[v].slot < RP_CHAIN_SLOTS ? NULL
                                                     : values[v].out,
                   values[v].dtype, 1);
}

/* An operand of the type, with a preference for what was made last. */
static bool draw_operand(random_chain *r, char type, size_t *v)
{
    for (int tries = 0; tries < 20; tries++) {
        *v = draw(r, 3) ? r->n_values - 1 - draw(r, r->n_values < 3 ? 1 : 3) : draw(r, (uint32_t)r->n_values);
        if (type == 'r' && draw(r, 4) == 0)
            *v = VALUES + draw(r, CONSTANTS);
        if (*v >= VALUES || values[*v].dtype == (type == 'b' ? RP_BOOL : RP_F32))
            return true;
    }
    return false;
}

static void take_step(random_chain *r, size_t k, const operation *o)
{
    rp_chain_step *s = &r->chain.step[k];

    *s = (rp_chain_step){.kernel = o->kernel, .n_in = (size_t)o->n_in, .n_out = 1, .attr = r->attr[k]};
    memset(r->attr[k], 0, sizeof r->attr[k]);
    r->attr[k][0].r = o->kernel == RP_K_hardtanh ? -0.75 : 0.3;
    r->attr[k][1].r = 1.25;
    r->attr[k][0].i = RP_F32;
    for (int i = 0; i < o->n_in; i++)
        if (r->in[k][i] < VALUES)
            values[r->in[k][i]].last = k;
    values[r->n_values].dtype = o->types[o->n_in] == 'b' ? RP_BOOL : RP_F32;
    values[r->n_values++].last = k;
}

static bool draw_step(random_chain *r, size_t k)
{
    const operation *o = &operations[draw(r, sizeof operations / sizeof *operations)];

    for (int i = 0; i < o->n_in; i++)
        if (!draw_operand(r, o->types[i], &r->in[k][i]))
            return false;
    take_step(r, k, o);
    return true;
}

/* By turns a value, what is below a constant, what is made of the value or of that, and a choice among them. */
static void draw_selection(random_chain *r, size_t k)
{
    static const operation turns[] = {{RP_K_abs, 1, "rr"},  {RP_K_lt, 2, "rrb"},  {RP_K_mul, 2, "rrr"},
                                      {RP_K_mul, 2, "rrr"}, {RP_K_add, 2, "rrr"}, {RP_K_where, 3, "brrr"}};
    const size_t turn = k % 6, root = FEEDS + k - turn;
    size_t *in = r->in[k];

    in[0] = turn == 0 ? draw(r, (uint32_t)r->n_values) : turn == 5 ? root + 1 : root;
    in[1] = root;
    while (turn == 0 && values[in[0]].dtype == RP_BOOL)
        in[0]--;
    for (int i = 1; i < 3 && turn == 5; i++)
        in[i] = root + (draw(r, 4) ? 2 + draw(r, 3) : 0);
    for (int i = 0; i < 2 && turn > 1 && turn < 5; i++)
        in[i] = draw(r, 3) ? root : root + (turn > 2 ? 2 + draw(r, (uint32_t)turn - 2) : 0);
    if (turn > 0 && turn < 5 && draw(r, 4))
        in[turn == 1 || draw(r, 2)] = draw(r, 2) || turn == 1 ? VALUES + draw(r, CONSTANTS) : draw(r, 2);
    take_step(r, k, &turns[turn]);
}

static void run_kernels(const random_chain *r, const rp_kernel_table *ref)
{
    for (size_t k = 0; k < r->chain.n_steps; k++) {
        const rp_chain_step *s = &r->chain.step[k];
        rp_view in[3];
        const rp_view out = view_of(values[FEEDS + k].kept, values[FEEDS + k].dtype, 1);

        for (size_t i = 0; i < s->n_in; i++)
            in[i] = view_of_operand(r->in[k][i], true);
        ref->kernel[s->kernel]->run(&(rp_kernel_args){in, s->n_in, &out, 1, s->attr}, 0, COUNT);
    }
}

static void add_view(rp_chain *c, rp_view view, size_t slot)
{
    if (slot < RP_CHAIN_SLOTS)
        c->scratch[c->n_scratch++] = (rp_chain_scratch){c->n_views, slot, NULL};
    c->view[c->n_views++] = view;
}

/* A slot that no value in use has: one that was used before, by whatever type, if there is one. */
static size_t free_slot(const random_chain *r, size_t k)
{
    for (size_t slot = 0;; slot++) {
        bool busy = false;

        for (size_t v = FEEDS; v < FEEDS + k; v++) {
            const bool shared = r->in_place && values[v].dtype == values[FEEDS + k].dtype;

            busy = busy || (values[v].slot == slot && values[v].last + !shared > k);
        }
        if (!busy)
            return slot;
        assert_true(slot < RP_CHAIN_SLOTS && r->n_values > 0);
    }
}

static void place(random_chain *r)
{
    rp_chain *c = &r->chain;

    c->size = sizeof(float);
    for (size_t k = 0; k < c->n_steps; k++) {
        rp_chain_step *s = &c->step[k];
        value *made = &values[FEEDS + k];
        const bool inside = made->last > k && draw(r, 5) > 0;

        s->in = c->n_views;
        for (size_t i = 0; i < s->n_in; i++) {
            const size_t v = r->in[k][i];

            add_view(c, view_of_operand(v, false), v < VALUES ? values[v].slot : RP_CHAIN_SLOTS);
        }
        s->out = c->n_views;
        made->slot = inside ? free_slot(r, k) : RP_CHAIN_SLOTS;
        add_view(c, view_of(inside ? NULL : made->out, made->dtype, 1), made->slot);
        if (inside && made->slot >= c->slots)
            c->slots = made->slot + 1;
    }
}

static void fill_feeds(random_chain *r)
{
    r->n_values = FEEDS;
    for (size_t v = 0; v < FEEDS; v++) {
        values[v].dtype = v == 2 ? RP_BOOL : RP_F32;
        values[v].slot = RP_CHAIN_SLOTS;
        for (size_t i = 0; i < COUNT; i++)
            if (v == 2)
                ((uint8_t *)values[v].kept)[i] = draw(r, 2) == 1;
            else
                values[v].kept[i] = draw_real(r);
    }
}

/* How many steps are made where their side of a selection is chosen alone. */
static size_t sides_of(const rp_chain *chain)
{
    rp_chain_plan plan;
    size_t n = 0;

    rp_chain_plan_make(&plan, chain, true);
    for (size_t i = 0; i < plan.begin[chain->n_steps]; i++)
        n += plan.part[i].code / 4 >= RP_FUSED_IF_ADD && plan.part[i].code / 4 <= RP_FUSED_ELSE_SQUARE;
    return n;
}

/* One bit for another, but that all NaNs are one (CONTRACT 2.3). */
static bool same(const value *v, size_t i)
{
    if (v->dtype == RP_BOOL)
        return ((const uint8_t *)v->kept)[i] == ((const uint8_t *)v->out)[i];
    return memcmp(&v->kept[i], &v->out[i], sizeof(float)) == 0 || (isnan(v->kept[i]) && isnan(v->out[i]));
}

static void check(const random_chain *r, const char *level)
{
    for (size_t v = FEEDS; v < r->n_values; v++)
        for (size_t i = 0; values[v].slot == RP_CHAIN_SLOTS && i < COUNT; i++)
            if (!same(&values[v], i)) {
                print_error("%s, step %zu of %zu, %s: element %zu: expected %a, found %a\n", level, v - FEEDS,
                            r->chain.n_steps, rp_kernel_name(r->chain.step[v - FEEDS].kernel), i,
                            (double)values[v].kept[i], (double)values[v].out[i]);
                fail();
            }
}

static void chains_have_the_bits_of_their_kernels(void **state)
{
    const char *const *level;
    const size_t levels = rp_kernel_levels(&level);
    const rp_kernel_table *table[8];
    size_t sides = 0;

    (void)state;
    for (size_t l = 0; l < levels; l++)
        assert_int_equal(rp_kernel_table_get(&table[l], level[l], NULL), RP_OK);
    for (uint64_t seed = 0; seed < CHAINS; seed++) {
        random_chain r = {.seed = seed * 7919 + 1, .selects = seed % 2, .in_place = seed / 2 % 2};
        const size_t wanted = 2 + draw(&r, RP_CHAIN_STEPS - 1);

        fill_feeds(&r);
        for (; r.selects && r.chain.n_steps < wanted; r.chain.n_steps++)
            draw_selection(&r, r.chain.n_steps);
        for (int tries = 0; tries < 200 && r.chain.n_steps < wanted; tries++)
            r.chain.n_steps += draw_step(&r, r.chain.n_steps);
        r.chain.count = COUNT;
        place(&r);
        sides += sides_of(&r.chain);
        run_kernels(&r, table[0]);
        for (size_t l = 0; l < levels; l++) {
            for (size_t v = FEEDS; v < r.n_values; v++)
                memset(values[v].out, 0x7e, sizeof values[v].out);
            rp_chain_run(&r.chain, table[l], NULL, 1);
            check(&r, level[l]);
        }
    }
    assert_true(sides > 200); /* of selections were looked at */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_have_the_bits_of_their_kernels)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
