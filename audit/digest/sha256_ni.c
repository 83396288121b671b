/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 (FIPS 180-4) with the SHA extensions of x86. One round pair takes four cycles but another can start after
 * two, so two messages side by side take hardly longer than one. Instruction sequence: Intel, "Intel SHA Extensions"
 * (2013). */
#include "audit/digest/sha256.h"

#include "determinism/bits.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && !defined(RP_NO_SHA_NI)
#include <cpuid.h>
#include <immintrin.h>

enum { SHA_BLOCK = 64, CHECKED_AT_ONCE = 16384, AHEAD = 512 };

#define SHA_TARGET __attribute__((target("sha,sse4.1")))

const uint32_t rp_sha256_constant[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

const uint32_t rp_sha256_initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

bool rp_sha256_native(void)
{
    unsigned a, b, c, d, sha;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    sha = b >> 29 & 1;
    return sha && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1) && (c & bit_SSSE3);
}

/* The instructions want the state as words a b e f and c d g h, most significant first. */
typedef struct pair {
    __m128i abef, cdgh;
} pair;

SHA_TARGET static inline pair load_state(const uint32_t state[8])
{
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);

    return (pair){_mm_alignr_epi8(low, high, 8), _mm_blend_epi16(high, low, 0xF0)};
}

SHA_TARGET static inline void store_state(uint32_t state[8], pair s)
{
    __m128i low = _mm_shuffle_epi32(s.abef, 0x1B), high = _mm_shuffle_epi32(s.cdgh, 0xB1);

    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xF0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

/* Four rounds, in names of one stream each, so that nothing is an array the compiler could leave in memory: s the
 * state, m0 the four words of these rounds. */
#define LOAD(m, at, i) m = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(at) + (i)), flip)
#define EXPAND(m0, m1, m2, m3) \
    m0 = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(m0, m1), _mm_alignr_epi8(m3, m2, 4)), m3)
#define ROUNDS(s, m0, i) \
    do { \
        __m128i words = _mm_add_epi32(m0, _mm_load_si128((const __m128i *)rp_sha256_constant + (i))); \
        s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, words); \
        s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(words, 0x0E)); \
    } while (0)

SHA_TARGET static void compress_one(uint32_t state[8], const unsigned char *at, size_t blocks)
{
    const __m128i flip = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    pair s = load_state(state);

    for (; blocks > 0; blocks--, at += SHA_BLOCK) {
        const pair before = s;
        __m128i a, b, c, d;

#define FIRST(m, i) \
    LOAD(m, at, i); \
    ROUNDS(s, m, i)
#define NEXT(m0, m1, m2, m3, i) \
    EXPAND(m0, m1, m2, m3); \
    ROUNDS(s, m0, i)
        FIRST(a, 0);
        FIRST(b, 1);
        FIRST(c, 2);
        FIRST(d, 3);
        NEXT(a, b, c, d, 4);
        NEXT(b, c, d, a, 5);
        NEXT(c, d, a, b, 6);
        NEXT(d, a, b, c, 7);
        NEXT(a, b, c, d, 8);
        NEXT(b, c, d, a, 9);
        NEXT(c, d, a, b, 10);
        NEXT(d, a, b, c, 11);
        NEXT(a, b, c, d, 12);
        NEXT(b, c, d, a, 13);
        NEXT(c, d, a, b, 14);
        NEXT(d, a, b, c, 15);
#undef FIRST
#undef NEXT
        s.abef = _mm_add_epi32(s.abef, before.abef);
        s.cdgh = _mm_add_epi32(s.cdgh, before.cdgh);
    }
    store_state(state, s);
}

/* The same for two streams. What comes is fetched ahead: the processor does so only within a page, and two streams of
 * leaves begin new ones often. */
#define BOTH(m, i) \
    ROUNDS(s, s##m, i); \
    ROUNDS(t, t##m, i)
#define FIRST(m, i) \
    LOAD(s##m, at, i); \
    LOAD(t##m, bt, i); \
    BOTH(m, i)
#define NEXT(m0, m1, m2, m3, i) \
    EXPAND(s##m0, s##m1, s##m2, s##m3); \
    EXPAND(t##m0, t##m1, t##m2, t##m3); \
    BOTH(m0, i)
#define REST \
    NEXT(a, b, c, d, 4); \
    NEXT(b, c, d, a, 5); \
    NEXT(c, d, a, b, 6); \
    NEXT(d, a, b, c, 7); \
    NEXT(a, b, c, d, 8); \
    NEXT(b, c, d, a, 9); \
    NEXT(c, d, a, b, 10); \
    NEXT(d, a, b, c, 11); \
    NEXT(a, b, c, d, 12); \
    NEXT(b, c, d, a, 13); \
    NEXT(c, d, a, b, 14); \
    NEXT(d, a, b, c, 15); \
    s.abef = _mm_add_epi32(s.abef, s_before.abef); \
    s.cdgh = _mm_add_epi32(s.cdgh, s_before.cdgh); \
    t.abef = _mm_add_epi32(t.abef, t_before.abef); \
    t.cdgh = _mm_add_epi32(t.cdgh, t_before.cdgh)
#define BLOCKS(count) \
    for (size_t left = (count); left > 0; left--, at += SHA_BLOCK, bt += SHA_BLOCK) { \
        s_before = s, t_before = t; \
        _mm_prefetch((const char *)at + AHEAD, _MM_HINT_T0); \
        _mm_prefetch((const char *)bt + AHEAD, _MM_HINT_T0); \
        FIRST(a, 0); \
        FIRST(b, 1); \
        FIRST(c, 2); \
        FIRST(d, 3); \
        REST; \
    }

SHA_TARGET static void compress_two(uint32_t first[8], const unsigned char *at, uint32_t second[8],
                                    const unsigned char *bt, size_t blocks)
{
    const __m128i flip = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    pair s = load_state(first), t = load_state(second), s_before, t_before;
    __m128i sa, sb, sc, sd, ta, tb, tc, td;

    BLOCKS(blocks);
    store_state(first, s);
    store_state(second, t);
}

/* Two messages of `size` bytes, whole blocks, behind the prefix: the leaves and nodes of trees. The state stays in
 * registers from the first block, which the prefix shifts by a byte, to the last, which holds one byte of the message.
 */
SHA_TARGET static void hash_two(uint32_t first[8], const unsigned char *at, uint32_t second[8], const unsigned char *bt,
                                size_t size, int prefix)
{
    const __m128i flip = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203), shifted = _mm_cvtsi32_si128(prefix);
    const uint64_t bits = ((uint64_t)size + 1) * 8;
    pair s = load_state(rp_sha256_initial), t = s, s_before = s, t_before = t;
    __m128i sa, sb, sc, sd, ta, tb, tc, td;

    sa = _mm_or_si128(_mm_slli_si128(_mm_loadu_si128((const __m128i *)at), 1), shifted);
    ta = _mm_or_si128(_mm_slli_si128(_mm_loadu_si128((const __m128i *)bt), 1), shifted);
    sa = _mm_shuffle_epi8(sa, flip);
    ta = _mm_shuffle_epi8(ta, flip);
    BOTH(a, 0);
    at--, bt--;
    FIRST(b, 1);
    FIRST(c, 2);
    FIRST(d, 3);
    REST;
    at += SHA_BLOCK, bt += SHA_BLOCK;
    BLOCKS(size / SHA_BLOCK - 1);
    s_before = s, t_before = t;
    sa = _mm_cvtsi32_si128((int)((uint32_t)*at << 24 | 0x800000));
    ta = _mm_cvtsi32_si128((int)((uint32_t)*bt << 24 | 0x800000));
    BOTH(a, 0);
    sb = sc = tb = tc = _mm_setzero_si128();
    BOTH(b, 1);
    BOTH(c, 2);
    sd = td = _mm_set_epi32((int)(uint32_t)bits, (int)(uint32_t)(bits >> 32), 0, 0);
    BOTH(d, 3);
    REST;
    store_state(first, s);
    store_state(second, t);
}
#undef BOTH
#undef FIRST
#undef NEXT
#undef REST
#undef BLOCKS

/* A message on its way: a run of whole blocks at `at`, first the block that the prefix shifts, then the message's own
 * memory, then the padded end. */
typedef struct lane {
    uint32_t state[8];
    unsigned char edge[2 * SHA_BLOCK];
    const unsigned char *at;
    size_t blocks;
    const rp_message *message; /* NULL: nothing left to do */
    size_t index;
    size_t taken;   /* bytes of the message that are in this run or an earlier one */
    size_t checked; /* host bytes known to be in stored form */
    bool ending, odd;
    int side; /* of the queue: its own */
} lane;

/* Messages that wait. Each lane takes those of its own half, then what is left of the other's: leaves that follow one
 * another in memory are so read as two streams, which the processor fetches ahead, and not by turns. */
typedef struct queue {
    const rp_message *message;
    size_t next[2], end[2];
} queue;

/* Behind the last n bytes, which are in edge: a one bit, zeros, and the length of the message. Returns the blocks. */
static size_t pad(unsigned char edge[2 * SHA_BLOCK], size_t n, uint64_t bytes)
{
    size_t end = n + 9 <= SHA_BLOCK ? SHA_BLOCK : 2 * SHA_BLOCK;

    memset(edge + n, 0, 2 * SHA_BLOCK - n);
    edge[n] = 0x80;
    for (int i = 0; i < 8; i++)
        edge[end - 1 - (size_t)i] = (unsigned char)(bytes * 8 >> (8 * i));
    return end / SHA_BLOCK;
}

static void make_end(lane *l)
{
    const rp_message *m = l->message;
    size_t n = 0, left = m->size - l->taken;

    if (m->prefix >= 0 && l->taken == 0)
        l->edge[n++] = (unsigned char)m->prefix;
    if (left > 0)
        memcpy(l->edge + n, (const unsigned char *)m->bytes + l->taken, left);
    l->taken = m->size;
    l->at = l->edge;
    l->blocks = pad(l->edge, n + left, (uint64_t)m->size + (m->prefix >= 0));
    l->ending = true;
}

static void next_run(lane *l)
{
    const rp_message *m = l->message;
    size_t whole;

    if (l->taken == 0 && m->prefix >= 0 && m->size >= SHA_BLOCK - 1) {
        l->edge[0] = (unsigned char)m->prefix;
        memcpy(l->edge + 1, m->bytes, SHA_BLOCK - 1);
        l->taken = SHA_BLOCK - 1;
        l->at = l->edge;
        l->blocks = 1;
        return;
    }
    whole = m->prefix >= 0 && l->taken == 0 ? 0 : (m->size - l->taken) / SHA_BLOCK;
    if (whole == 0) {
        make_end(l);
        return;
    }
    l->at = (const unsigned char *)m->bytes + l->taken;
    l->blocks = whole;
    l->taken += whole * SHA_BLOCK;
}

static void start(lane *l, queue *q)
{
    const int side = q->next[l->side] < q->end[l->side] ? l->side : 1 - l->side;

    l->message = NULL;
    if (q->next[side] == q->end[side])
        return;
    l->index = q->next[side]++;
    l->message = &q->message[l->index];
    memcpy(l->state, rp_sha256_initial, sizeof l->state);
    l->taken = l->checked = 0;
    l->ending = l->odd = false;
    next_run(l);
}

/* How many blocks may be hashed now: host bytes are looked at a little ahead, so that they are still in the cache. */
static size_t ready(lane *l, size_t blocks)
{
    const rp_message *m = l->message;

    if (!m->host || l->checked == m->size)
        return blocks;
    if (blocks > CHECKED_AT_ONCE / SHA_BLOCK)
        blocks = CHECKED_AT_ONCE / SHA_BLOCK;
    while (l->checked < m->size && l->checked < l->taken - (l->at == l->edge ? 0 : (l->blocks - blocks) * SHA_BLOCK)) {
        size_t part = m->size - l->checked < CHECKED_AT_ONCE ? m->size - l->checked : CHECKED_AT_ONCE;

        l->odd |= !rp_stored_already((const unsigned char *)m->bytes + l->checked, part, m->dtype);
        l->checked += part;
    }
    return blocks;
}

static void put_digest(rp_digest *out, const uint32_t state[8])
{
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 4; k++)
            out->bytes[4 * i + k] = (unsigned char)(state[i] >> (24 - 8 * k));
}

static void finish(lane *l, bool *odd)
{
    odd[l->index] = l->odd;
    if (!l->odd)
        put_digest(l->message->digest, l->state);
}

static void advance(lane *l, size_t blocks, queue *q, bool *odd)
{
    l->at += blocks * SHA_BLOCK;
    l->blocks -= blocks;
    if (!l->odd && l->blocks > 0)
        return;
    if (!l->odd && !l->ending) {
        next_run(l);
        return;
    }
    finish(l, odd);
    start(l, q);
}

/* What a pair of messages takes that hash_two is for; host bytes are looked at while they are in the cache. */
static bool are_whole(const rp_message *a, const rp_message *b)
{
    return a->size == b->size && a->prefix == b->prefix && a->prefix >= 0 && a->size > 0 && a->size % SHA_BLOCK == 0 &&
           ((!a->host && !b->host) || a->size <= CHECKED_AT_ONCE);
}

static bool is_odd(const rp_message *m)
{
    return m->host && !rp_stored_already(m->bytes, m->size, m->dtype);
}

/* The pairs that both halves begin with; of leaves of one size all of them. */
static void hash_pairs(queue *q, bool *odd)
{
    for (; q->next[0] < q->end[0] && q->next[1] < q->end[1]; q->next[0]++, q->next[1]++) {
        const rp_message *a = &q->message[q->next[0]], *b = &q->message[q->next[1]];
        uint32_t first[8], second[8];

        if (!are_whole(a, b))
            return;
        odd[q->next[0]] = is_odd(a);
        odd[q->next[1]] = is_odd(b);
        hash_two(first, a->bytes, second, b->bytes, a->size, a->prefix);
        if (!odd[q->next[0]])
            put_digest(a->digest, first);
        if (!odd[q->next[1]])
            put_digest(b->digest, second);
    }
}

void rp_sha256_many_native(const rp_message *message, size_t count, bool *odd)
{
    lane a = {.side = 0}, b = {.side = 1};
    queue q = {message, {0, (count + 1) / 2}, {(count + 1) / 2, count}};

    hash_pairs(&q, odd);
    start(&a, &q);
    start(&b, &q);
    while (a.message && b.message) {
        size_t blocks = a.blocks < b.blocks ? a.blocks : b.blocks;

        blocks = ready(&a, blocks);
        blocks = ready(&b, blocks);
        compress_two(a.state, a.at, b.state, b.at, blocks);
        advance(&a, blocks, &q, odd);
        advance(&b, blocks, &q, odd);
    }
    for (lane *l = a.message ? &a : &b; l->message;) {
        size_t blocks = ready(l, l->blocks);

        compress_one(l->state, l->at, blocks);
        advance(l, blocks, &q, odd);
    }
}

void rp_sha256_start_native(uint32_t state[8])
{
    memcpy(state, rp_sha256_initial, sizeof rp_sha256_initial);
}

void rp_sha256_blocks_native(uint32_t a[8], const unsigned char *at, uint32_t b[8], const unsigned char *bt,
                             size_t blocks)
{
    if (b != NULL)
        compress_two(a, at, b, bt, blocks);
    else
        compress_one(a, at, blocks);
}

void rp_sha256_finish_native(uint32_t state[8], const unsigned char *at, size_t size, uint64_t whole, rp_digest *out)
{
    unsigned char edge[2 * SHA_BLOCK];

    if (size > 0)
        memcpy(edge, at, size);
    compress_one(state, edge, pad(edge, size, whole));
    put_digest(out, state);
}

#else

bool rp_sha256_native(void)
{
    return false;
}

void rp_sha256_many_native(const rp_message *message, size_t count, bool *odd)
{
    (void)message;
    for (size_t i = 0; i < count; i++)
        odd[i] = true; /* made by OpenSSL then */
}

void rp_sha256_start_native(uint32_t state[8])
{
    (void)state;
}

void rp_sha256_blocks_native(uint32_t a[8], const unsigned char *at, uint32_t b[8], const unsigned char *bt,
                             size_t blocks)
{
    (void)a, (void)at, (void)b, (void)bt, (void)blocks;
}

void rp_sha256_finish_native(uint32_t state[8], const unsigned char *at, size_t size, uint64_t whole, rp_digest *out)
{
    (void)state, (void)at, (void)size, (void)whole, (void)out;
}

#endif
