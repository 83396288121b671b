/* SPDX-License-Identifier: Apache-2.0
 * Ranks that share the shards of a map have its bits. A rank has the program's text and inputs: it takes the shards'
 * functions out of it, computes its shards, adds the complete subtrees of CONTRACT 12.3's tree that it owns and sends
 * their roots as bytes; these are added in the tree's order. Nothing else passes between ranks. */
#include "tests/core/train/shard_programs.h"

enum { OUTS = WEIGHTS + 1, SENT_MAX = 64 };

/* A node of the tree over n leaves: number `at` of its level, of leaves at << level up to the next one's. */
typedef struct node {
    size_t level, at;
} node;

static size_t leaves_before(node x, size_t n)
{
    const size_t first = x.at << x.level;

    return first < n ? first : n;
}

static node child(node x, size_t i)
{
    return (node){x.level - 1, 2 * x.at + i};
}

static bool exists(node x, size_t n)
{
    return x.at << x.level < n;
}

/* The largest nodes whose leaves all lie in [from, to), in order. */
static size_t owned(node x, size_t n, size_t from, size_t to, node *out)
{
    const size_t begin = leaves_before(x, n), end = leaves_before((node){x.level, x.at + 1}, n);
    size_t left;

    if (begin >= to || end <= from || begin == end)
        return 0;
    if (begin >= from && end <= to) {
        out[0] = x;
        return 1;
    }
    left = owned(child(x, 0), n, from, to, out);
    return left + owned(child(x, 1), n, from, to, out + left);
}

static node top(size_t n)
{
    node x = {0, 0};

    while ((size_t)1 << x.level < n)
        x.level++;
    return x;
}

/* ---- a rank ---- */

/* A map of the text: its shards that have rows. */
typedef struct map_shards {
    rp_region_info map;
    rp_instruction_info instr;
    size_t number[TABLE], n; /* of the shards */
} map_shards;

static map_shards shards_of(const rp_program *p, size_t k)
{
    map_shards s = {.n = 0};

    assert_true(rp_program_region(p, k, &s.map) && rp_program_instruction(p, k, &s.instr));
    for (size_t i = 0; i + 1 < s.map.n_cuts; i++)
        if (s.map.cuts[i] < s.map.cuts[i + 1])
            s.number[s.n++] = i;
    return s;
}

/* Computed shards from .. to of rank r of `ranks`: shards are dealt in runs, the empty ones among them. */
static size_t first_of(const map_shards *s, size_t r, size_t ranks)
{
    const size_t shard = r * (s->map.n_cuts - 1) / ranks;
    size_t i = 0;

    while (i < s->n && s->number[i] < shard)
        i++;
    return i;
}

static rp_tensor operand(rp_graph *g, const rp_program *p, uint32_t value)
{
    rp_input_info in;

    for (size_t i = 0; rp_program_input(p, i, &in); i++)
        if (in.value == value)
            return rp_graph_declare(g, in.kind, in.name, &in.type);
    fail_msg("value %u is no input", (unsigned)value);
    return rp_no_tensor();
}

/* The frame of computed shard i: its slices, and the function for so many rows. */
static void shard_frame(rp_graph *g, const rp_program *p, const map_shards *s, size_t i, rp_tensor *out)
{
    const uint64_t *cut = &s->map.cuts[s->number[i]];
    const rp_function *f = NULL;
    rp_tensor arg[16] = {index_of(g, (int64_t)(s->map.first + s->number[i]))};

    for (size_t a = 0; a < s->instr.n_in; a++) {
        arg[1 + a] = operand(g, p, s->instr.in[a]);
        if (a < s->map.sliced)
            arg[1 + a] = rp_slice(arg[1 + a], (size_t[]){cut[0]}, (size_t[]){cut[1]});
    }
    for (size_t k = 0; k < s->map.n_functions; k++) {
        rp_input_info rows;

        assert_true(rp_program_input(rp_function_body(s->map.function[k]), 1, &rows));
        if (rows.type.shape[0] == cut[1] - cut[0])
            f = s->map.function[k];
    }
    rp_call(g, f, arg, 1 + s->instr.n_in, out);
}

/* The sum of a node's leaves, by additions of neighbours below it. */
static void subtree(rp_graph *g, const rp_program *p, const map_shards *s, node x, rp_tensor *out)
{
    rp_tensor right[OUTS];

    if (x.level == 0) {
        shard_frame(g, p, s, x.at, out);
        return;
    }
    subtree(g, p, s, child(x, 0), out);
    if (!exists(child(x, 1), s->n))
        return;
    subtree(g, p, s, child(x, 1), right);
    for (size_t i = 0; i < OUTS; i++)
        out[i] = rp_add(out[i], right[i]);
}

/* What a rank sends: the roots of its subtrees, OUTS values each. */
typedef struct sent {
    size_t n;
    node root[SENT_MAX];
    record values;
} sent;

static sent rank_step(const rp_buffer *text, size_t k, size_t r, size_t ranks, rp_device *device)
{
    sent out = {.n = 0};
    rp_program *p, *mine;
    rp_graph *g;
    map_shards s;
    store inputs;
    rp_plan *plan;

    assert_int_equal(rp_program_read(&p, text->data, text->size, "program", NULL), RP_OK);
    s = shards_of(p, k);
    out.n = owned(top(s.n), s.n, first_of(&s, r, ranks), first_of(&s, r + 1, ranks), out.root);
    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    for (size_t i = 0; i < out.n; i++) {
        rp_tensor sum[OUTS];
        char name[48];

        subtree(g, p, &s, out.root[i], sum);
        for (size_t o = 0; o < OUTS; o++) {
            snprintf(name, sizeof name, "root%zu.%zu", i, o);
            rp_graph_result(g, name, sum[o]);
        }
    }
    assert_int_equal(rp_graph_finish(g, &mine, NULL), RP_OK);
    inputs = named_store(mine);
    plan = plan_new(mine, device, &inputs);
    out.values = plan_step(mine, plan, &inputs);
    rp_plan_free(plan);
    store_free(&inputs);
    rp_program_free(mine);
    rp_program_free(p);
    return out;
}

/* ---- what all do with the roots ---- */

enum { RANKS_MAX = 7, MAPS_MAX = 2 };

typedef struct exchange {
    size_t ranks;
    sent of[RANKS_MAX];
    size_t leaves, map;
} exchange;

/* A node that was sent is an input, the others are sums. */
static void received(rp_graph *g, const exchange *e, const rp_type *type, node x, rp_tensor *out)
{
    rp_tensor right[OUTS];
    char name[80];

    for (size_t r = 0; r < e->ranks; r++)
        for (size_t i = 0; i < e->of[r].n; i++)
            if (e->of[r].root[i].level == x.level && e->of[r].root[i].at == x.at) {
                for (size_t o = 0; o < OUTS; o++) {
                    snprintf(name, sizeof name, "map%zu.rank%zu.%zu", e->map, r, i * OUTS + o);
                    out[o] = rp_graph_declare(g, RP_INPUT_FEED, name, &type[o]);
                }
                return;
            }
    assert_true(x.level > 0); /* each leaf is in something that was sent */
    received(g, e, type, child(x, 0), out);
    if (!exists(child(x, 1), e->leaves))
        return;
    received(g, e, type, child(x, 1), right);
    for (size_t o = 0; o < OUTS; o++)
        out[o] = rp_add(out[o], right[o]);
}

/* Raw bytes, into the inputs that were named after them. */
static void receive(const rp_program *p, const exchange *e, size_t maps, store *s)
{
    for (size_t i = 0; i < p->n_inputs; i++) {
        size_t map, r, value;

        if (sscanf(p->input[i].name, "map%zu.rank%zu.%zu", &map, &r, &value) == 3 && map < maps) {
            const rp_buffer *bytes = &e[map].of[r].values.bytes[value];

            assert_int_equal(bytes->size, rp_type_bytes(&p->value[p->input[i].value]));
            memcpy(s->memory[i], bytes->data, bytes->size);
        }
    }
}

/* The rest of the step, as batch_program has it, on totals made of the roots. */
static rp_program *rest_program(const small_model *m, const rp_program *p, const exchange *e, size_t maps, size_t count)
{
    rp_tensor total[OUTS], more[OUTS];
    rp_type type[OUTS];
    step_inputs in;
    rp_graph *g;
    rp_program *rest;
    char name[24];

    assert_int_equal(rp_graph_symbolic(&g, NULL), RP_OK);
    in = declare_step(g, m, count);
    for (size_t i = 0; i < OUTS; i++)
        assert_true(rp_program_value(p, p->instr[0].out[i], &type[i]));
    for (size_t k = 0; k < maps; k++) {
        received(g, &e[k], type, top(e[k].leaves), k ? more : total);
        for (size_t i = 0; i < OUTS && k; i++)
            total[i] = rp_add(total[i], more[i]);
    }
    rp_graph_result(g, "loss", total[WEIGHTS]);
    for (size_t i = 0; i < WEIGHTS; i++) {
        snprintf(name, sizeof name, "gradient%zu", i);
        rp_graph_result(g, name, total[i]);
        snprintf(name, sizeof name, "weight%zu", i);
        rp_graph_result(g, name, rp_sub(in.weight[i], rp_mul(in.lr, total[i])));
    }
    assert_int_equal(rp_graph_finish(g, &rest, NULL), RP_OK);
    return rest;
}

static void assert_ranks(small_model *m, rp_device *device, size_t count, size_t shards, size_t micro, size_t ranks)
{
    rp_program *p = batch_program(m, count, shards, micro, true), *rest;
    rp_buffer text = text_of(p);
    exchange e[MAPS_MAX] = {{0}};
    size_t maps = 0;
    store s = named_store(p);
    record expected = eager_step(p, device, &s), found;
    char what[96];

    for (size_t k = 0; k < p->n_instrs && maps < micro; k++) {
        rp_region_info map;

        if (!rp_program_region(p, k, &map))
            continue;
        e[maps].map = maps;
        e[maps].ranks = ranks;
        e[maps].leaves = shards_of(p, k).n;
        for (size_t r = 0; r < ranks; r++)
            e[maps].of[r] = rank_step(&text, k, r, ranks, device);
        maps++;
    }
    assert_true(maps > 0);
    rest = rest_program(m, p, e, maps, count);
    store_free(&s);
    s = named_store(rest);
    receive(rest, e, maps, &s);
    found = eager_step(rest, device, &s);
    snprintf(what, sizeof what, "%zu rows, %zu shards, %zu micro-batches, %zu ranks", count, shards, micro, ranks);
    expected.n = p->n_outputs;
    assert_same(p, &expected, &found, what);
    expected.n = p->n_outputs + p->n_inputs;
    record_free(&expected);
    for (size_t k = 0; k < maps; k++)
        for (size_t r = 0; r < ranks; r++)
            record_free(&e[k].of[r].values);
    store_free(&s);
    rp_buffer_free(&text);
    rp_program_free(rest);
    rp_program_free(p);
}

static void ranks_have_the_bits_of_the_map(void **state)
{
    static const size_t ranks[] = {1, 2, 3, 5, 7};
    small_model *m = small_model_new();
    rp_device *device;

    (void)state;
    assert_int_equal(rp_device_cpu_new(&device, NULL, 2, NULL), RP_OK);
    for (size_t shards = 1; shards <= 17; shards++)
        for (size_t micro = shards == 1 ? 2 : 1; micro <= 2; micro++)
            for (size_t i = 0; i < COUNT(ranks); i++) {
                assert_ranks(m, device, 3 * shards * micro / 2 + 1, shards, micro, ranks[i]);
                assert_ranks(m, device, shards * micro / 2 + 1, shards, micro, ranks[i]); /* empty shards */
            }
    rp_device_free(device);
    small_model_free(m);
}

/* How many roots a rank sends, at most. */
static size_t most_sent(size_t leaves, size_t ranks)
{
    size_t most = 0;

    for (size_t r = 0; r < ranks; r++) {
        node out[64];
        const size_t n = owned(top(leaves), leaves, r * leaves / ranks, (r + 1) * leaves / ranks, out);

        most = n > most ? n : most;
    }
    return most;
}

static void ranks_send_few_roots(void **state)
{
    (void)state;
    assert_int_equal(most_sent(4096, 16), 1);
    assert_true(most_sent(1000, 7) <= 8);
    for (size_t leaves = 1; leaves < 3000; leaves += 7)
        for (size_t ranks = 1; ranks <= 64; ranks++) {
            const size_t most = most_sent(leaves, ranks);

            assert_true(most <= (top(leaves).level ? 2 * top(leaves).level : 1));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_have_the_bits_of_the_map),
        cmocka_unit_test(ranks_send_few_roots),
    };

    rp_set_allocator(&poisoning);
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
