/* SPDX-License-Identifier: Apache-2.0
 * SHA-256 (FIPS 180-4) of sixteen messages at a time, word for word side by side in the lanes of AVX-512's registers:
 * messages of one size and prefix, which have their padding in the same place. */
#include "audit/digest/sha256.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && !defined(RP_NO_SHA_NI)
#include <immintrin.h>

enum { ROUNDS = 64, WORDS = 16, STATE = 8 };

#define LANES_TARGET __attribute__((target("avx512f,avx512bw")))
#define LANES_INLINE static inline __attribute__((always_inline, target("avx512f,avx512bw")))

bool rp_sha256_has_lanes(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

/* Words of sixteen messages, as rows of one each, become rows of one word each; what is its own inverse. */
LANES_INLINE void turn(__m512i w[WORDS])
{
    __m512i t[WORDS];

    for (int i = 0; i < WORDS; i += 2) {
        t[i] = _mm512_unpacklo_epi32(w[i], w[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(w[i], w[i + 1]);
    }
    for (int i = 0; i < WORDS; i += 4) {
        w[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        w[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        w[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        w[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
    }
    for (int i = 0; i < 8; i++) {
        w[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        w[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    }
}

LANES_INLINE __m512i bytes_turned(__m512i words)
{
    return _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203)));
}

LANES_INLINE __m512i add(__m512i a, __m512i b)
{
    return _mm512_add_epi32(a, b);
}

/* Keeps the compiler from summing in another order. */
LANES_INLINE __m512i in_turn(__m512i sum)
{
    __asm__("" : "+v"(sum));
    return sum;
}

/* The functions of FIPS 180-4, 4.1.2; three operands, bit by bit, are one instruction by their table. */
enum { XOR = 0x96, CHOOSE = 0xca, MAJORITY = 0xe8 };
#define XOR3(x, y, z) _mm512_ternarylogic_epi32(x, y, z, XOR)
#define TURNED(x, n) _mm512_ror_epi32(x, n)
#define SIGMA_A(x) XOR3(TURNED(x, 2), TURNED(x, 13), TURNED(x, 22))
#define SIGMA_E(x) XOR3(TURNED(x, 6), TURNED(x, 11), TURNED(x, 25))
#define EXPAND_1(x) XOR3(TURNED(x, 7), TURNED(x, 18), _mm512_srli_epi32(x, 3))
#define EXPAND_14(x) XOR3(TURNED(x, 17), TURNED(x, 19), _mm512_srli_epi32(x, 10))

/* One round. A round waits for the e and a of the one before, so these join their sums last, three instructions from e
 * to e; the new a is the new e, less d, with two more terms. kw: a word and its constant. */
LANES_INLINE void round_of(__m512i a, __m512i b, __m512i c, __m512i *d, __m512i e, __m512i f, __m512i g, __m512i *h,
                           __m512i kw)
{
    const __m512i early = in_turn(add(*d, add(*h, kw)));
    const __m512i less = in_turn(_mm512_sub_epi32(_mm512_ternarylogic_epi32(a, b, c, MAJORITY), *d));

    *d = add(in_turn(add(early, _mm512_ternarylogic_epi32(e, f, g, CHOOSE))), SIGMA_E(e));
    *h = add(in_turn(add(*d, less)), SIGMA_A(a));
}

/* The word sixteen rounds ahead is made beside each round, which alone leaves half of the processor idle. */
#define KW(i) add(w[i], _mm512_set1_epi32((int)rp_sha256_constant[i]))
#define EXPAND(i) w[(i) + 16] = add(add(w[i], w[(i) + 9]), add(EXPAND_1(w[(i) + 1]), EXPAND_14(w[(i) + 14])))
#define EIGHT_ROUNDS(i, AHEAD) \
    do { \
        AHEAD((i)); \
        round_of(a, b, c, &d, e, f, g, &h, KW((i))); \
        AHEAD((i) + 1); \
        round_of(h, a, b, &c, d, e, f, &g, KW((i) + 1)); \
        AHEAD((i) + 2); \
        round_of(g, h, a, &b, c, d, e, &f, KW((i) + 2)); \
        AHEAD((i) + 3); \
        round_of(f, g, h, &a, b, c, d, &e, KW((i) + 3)); \
        AHEAD((i) + 4); \
        round_of(e, f, g, &h, a, b, c, &d, KW((i) + 4)); \
        AHEAD((i) + 5); \
        round_of(d, e, f, &g, h, a, b, &c, KW((i) + 5)); \
        AHEAD((i) + 6); \
        round_of(c, d, e, &f, g, h, a, &b, KW((i) + 6)); \
        AHEAD((i) + 7); \
        round_of(b, c, d, &e, f, g, h, &a, KW((i) + 7)); \
    } while (0)
#define NOTHING(i) (void)0

/* What sixteen messages have become so far. Blocks are those of the bytes, without the prefix, which moves each word on
 * by a byte when it is in its register: so no line is read twice, and none before a message. */
typedef struct lanes {
    __m512i state[STATE];
    __m512i last;     /* words that wait for the byte that moves on: the prefix, then a block's last word */
    __m512i down, up; /* 8 and 24 bits; without a prefix 0 and 32 */
    rp_dtype looked;  /* at, for NaNs; of other types than floats nothing is */
    __mmask16 nan;    /* other than 0: one of the elements is */
    __m512i most;     /* of elements of 16 bits, without their signs */
    const unsigned char *message[RP_SHA_LANES];
} lanes;

/* Host elements may not be in stored form where one is a NaN: what is not ordered, two of them at a time, or, where the
 * processor has no such numbers, what is above infinity. */
LANES_INLINE void look(lanes *l, const __m512i w[WORDS])
{
    for (int i = 0; l->looked == RP_F32 && i < WORDS; i += 2)
        l->nan |= _mm512_cmp_round_ps_mask(_mm512_castsi512_ps(w[i]), _mm512_castsi512_ps(w[i + 1]), _CMP_UNORD_Q,
                                           _MM_FROUND_NO_EXC);
    for (int i = 0; l->looked == RP_F64 && i < WORDS; i += 2)
        l->nan |= _mm512_cmp_round_pd_mask(_mm512_castsi512_pd(w[i]), _mm512_castsi512_pd(w[i + 1]), _CMP_UNORD_Q,
                                           _MM_FROUND_NO_EXC);
    for (int i = 0; (l->looked == RP_BF16 || l->looked == RP_F16) && i < WORDS; i++)
        l->most = _mm512_max_epu16(l->most, _mm512_and_si512(w[i], _mm512_set1_epi16(0x7fff)));
}

LANES_INLINE bool are_stored(const lanes *l)
{
    const short infinity = l->looked == RP_BF16 ? 0x7f80 : 0x7c00;

    return l->nan == 0 && _mm512_cmpgt_epu16_mask(l->most, _mm512_set1_epi16(infinity)) == 0;
}

/* w: one block of each message, as it was loaded, with room for the words that follow. */
LANES_INLINE void compress(lanes *l, __m512i w[ROUNDS])
{
    __m512i *s = l->state, a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];

    turn(w);
    for (int i = 0; i < WORDS; i++) {
        const __m512i word = bytes_turned(w[i]);

        w[i] = _mm512_or_si512(_mm512_srlv_epi32(word, l->down), _mm512_sllv_epi32(l->last, l->up));
        l->last = word;
    }
    for (int i = 0; i < ROUNDS - WORDS; i += 8)
        EIGHT_ROUNDS(i, EXPAND);
    for (int i = ROUNDS - WORDS; i < ROUNDS; i += 8)
        EIGHT_ROUNDS(i, NOTHING);
    s[0] = add(s[0], a);
    s[1] = add(s[1], b);
    s[2] = add(s[2], c);
    s[3] = add(s[3], d);
    s[4] = add(s[4], e);
    s[5] = add(s[5], f);
    s[6] = add(s[6], g);
    s[7] = add(s[7], h);
}

LANES_TARGET static void compress_whole(lanes *l, size_t blocks)
{
    for (size_t at = 0; at < blocks * RP_SHA_BLOCK; at += RP_SHA_BLOCK) {
        __m512i w[ROUNDS];

        for (int i = 0; i < RP_SHA_LANES; i++)
            w[i] = _mm512_loadu_si512(l->message[i] + at);
        look(l, w);
        compress(l, w);
    }
}

/* The bytes behind whole blocks, fewer than a block, at `at`, and the padding: of a masked load bytes that are not
 * asked for are not read. */
LANES_TARGET static void compress_end(lanes *l, size_t at, size_t left, bool prefixed)
{
    const uint64_t bits = ((uint64_t)at + left + prefixed) * 8;
    const size_t blocks = left + prefixed + 9 > RP_SHA_BLOCK ? 2 : 1;
    unsigned char padding[2 * RP_SHA_BLOCK] = {0};

    padding[left] = 0x80;
    for (int i = 0; i < 8; i++)
        padding[blocks * RP_SHA_BLOCK - prefixed - 1 - (size_t)i] = (unsigned char)(bits >> (8 * i));
    for (size_t k = 0; k < blocks; k++) {
        const __mmask64 theirs = k == 0 ? ((__mmask64)1 << left) - 1 : 0;
        const __m512i other = _mm512_loadu_si512(padding + k * RP_SHA_BLOCK);
        __m512i w[ROUNDS];

        for (int i = 0; i < RP_SHA_LANES; i++)
            w[i] = _mm512_maskz_loadu_epi8(theirs, l->message[i] + at);
        look(l, w);
        for (int i = 0; i < RP_SHA_LANES; i++)
            w[i] = _mm512_or_si512(w[i], other);
        compress(l, w);
    }
}

LANES_TARGET static void put_digests(const rp_message *const message[], size_t count, const lanes *l)
{
    __m512i w[WORDS];

    for (int i = 0; i < WORDS; i++)
        w[i] = l->state[i % STATE];
    turn(w);
    for (size_t i = 0; i < count; i++)
        _mm256_storeu_si256((__m256i *)(void *)message[i]->digest->bytes, _mm512_castsi512_si256(bytes_turned(w[i])));
}

LANES_TARGET bool rp_sha256_lanes(const rp_message *const message[], size_t count)
{
    const size_t size = message[0]->size, whole = size / RP_SHA_BLOCK;
    const bool prefixed = message[0]->prefix >= 0;
    lanes l = {.looked = message[0]->host ? message[0]->dtype : RP_U8,
               .last = _mm512_set1_epi32(message[0]->prefix),
               .down = _mm512_set1_epi32(prefixed ? 8 : 0),
               .up = _mm512_set1_epi32(prefixed ? 24 : 32)};

    for (size_t i = 0; i < RP_SHA_LANES; i++)
        l.message[i] = message[i < count ? i : count - 1]->bytes;
    for (int i = 0; i < STATE; i++)
        l.state[i] = _mm512_set1_epi32((int)rp_sha256_initial[i]);
    compress_whole(&l, whole);
    compress_end(&l, whole * RP_SHA_BLOCK, size % RP_SHA_BLOCK, prefixed);
    if (!are_stored(&l))
        return false;
    put_digests(message, count, &l);
    return true;
}

#else

bool rp_sha256_has_lanes(void)
{
    return false;
}

bool rp_sha256_lanes(const rp_message *const message[], size_t count)
{
    (void)message, (void)count;
    return false;
}

#endif
