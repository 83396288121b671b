/* SPDX-License-Identifier: Apache-2.0
 * Free pieces in classes of sixteen to a power of two, each class a list, a bit set telling which are not empty: a
 * piece is found in the smallest class whose every member is large enough, or among the first few of the class below it
 * (two levels of segregated lists: Masmano, Ripoll, Crespo, Real, "TLSF", 2004). Neighbours that are both free become
 * one. */
#include "core/run/fit.h"

#include <string.h>

#include "base/memory.h"

enum { LOOK = 16 }; /* how many of a class are looked at for one that is large enough */

void rp_fit_init(rp_fit *fit, size_t limit)
{
    *fit = (rp_fit){.unused = RP_FIT_NONE, .last = RP_FIT_NONE, .limit = limit};
    memset(fit->first, 0xFF, sizeof fit->first);
}

void rp_fit_free(rp_fit *fit)
{
    rp_free(fit->piece);
    fit->piece = NULL;
}

/* Sizes are counted in units of the alignment. */
static unsigned class_of(size_t bytes)
{
    const size_t units = bytes / RP_FIT_ALIGN;
    unsigned log = 0;

    while (units >> log > 1)
        log++;
    return log < 4 ? (unsigned)units : (log - 3) * 16 + (unsigned)(units >> (log - 4) & 15);
}

static void put(rp_fit *fit, uint32_t i)
{
    rp_fit_piece *p = &fit->piece[i];
    const unsigned c = class_of(p->bytes);

    p->free = true;
    p->above = RP_FIT_NONE;
    p->below = fit->first[c];
    if (p->below != RP_FIT_NONE)
        fit->piece[p->below].above = i;
    fit->first[c] = i;
    fit->present[c / 64] |= (uint64_t)1 << c % 64;
}

static void pull(rp_fit *fit, uint32_t i)
{
    rp_fit_piece *p = &fit->piece[i];
    const unsigned c = class_of(p->bytes);

    p->free = false;
    if (p->below != RP_FIT_NONE)
        fit->piece[p->below].above = p->above;
    if (p->above != RP_FIT_NONE)
        fit->piece[p->above].below = p->below;
    else
        fit->first[c] = p->below;
    if (fit->first[c] == RP_FIT_NONE)
        fit->present[c / 64] &= ~((uint64_t)1 << c % 64);
}

/* A free piece that is large enough, the best of a few; RP_FIT_NONE when none is found. */
static uint32_t find(const rp_fit *fit, size_t bytes)
{
    const unsigned c = class_of(bytes);
    uint32_t best = RP_FIT_NONE, i = fit->first[c];

    for (int n = 0; i != RP_FIT_NONE && n < LOOK; n++, i = fit->piece[i].below)
        if (fit->piece[i].bytes >= bytes && (best == RP_FIT_NONE || fit->piece[i].bytes < fit->piece[best].bytes))
            best = i;
    if (best != RP_FIT_NONE)
        return best;
    for (unsigned k = c + 1; k < RP_FIT_CLASSES; k = k / 64 * 64 + 64) {
        const uint64_t rest = fit->present[k / 64] >> k % 64;

        if (rest) {
            unsigned skip = 0;

            while (!(rest >> skip & 1))
                skip++;
            return fit->first[k + skip];
        }
    }
    return RP_FIT_NONE;
}

static bool new_piece(rp_fit *fit, uint32_t *out)
{
    if (fit->unused != RP_FIT_NONE) {
        *out = fit->unused;
        fit->unused = fit->piece[*out].after;
        return true;
    }
    if (fit->n == fit->capacity) {
        const uint32_t wanted = fit->capacity ? 2 * fit->capacity : 32;
        rp_fit_piece *bigger = rp_reallocarray(fit->piece, wanted, sizeof *bigger);

        if (!bigger)
            return false;
        fit->piece = bigger;
        fit->capacity = wanted;
    }
    *out = fit->n++;
    return true;
}

/* Links piece i in behind another (RP_FIT_NONE: the first of all). */
static void link_behind(rp_fit *fit, uint32_t i, uint32_t before)
{
    const uint32_t after = before == RP_FIT_NONE ? RP_FIT_NONE : fit->piece[before].after;

    fit->piece[i].before = before;
    fit->piece[i].after = after;
    if (before != RP_FIT_NONE)
        fit->piece[before].after = i;
    if (after != RP_FIT_NONE)
        fit->piece[after].before = i;
    else
        fit->last = i;
}

static void unlink_piece(rp_fit *fit, uint32_t i)
{
    const uint32_t before = fit->piece[i].before, after = fit->piece[i].after;

    if (before != RP_FIT_NONE)
        fit->piece[before].after = after;
    if (after != RP_FIT_NONE)
        fit->piece[after].before = before;
    else
        fit->last = before;
    fit->piece[i].after = fit->unused;
    fit->unused = i;
}

/* A piece at the end: the free one that is there grows, or a new one comes. */
static bool extend(rp_fit *fit, size_t bytes, uint32_t *piece)
{
    uint32_t i = fit->last;
    const size_t begin = i == RP_FIT_NONE     ? 0
                         : fit->piece[i].free ? fit->piece[i].offset
                                              : fit->piece[i].offset + fit->piece[i].bytes;

    if (begin > fit->limit || bytes > fit->limit - begin)
        return false;
    if (i != RP_FIT_NONE && fit->piece[i].free) {
        pull(fit, i);
        fit->piece[i].bytes = bytes;
    } else {
        const uint32_t before = fit->last;

        if (!new_piece(fit, &i))
            return false;
        fit->piece[i] = (rp_fit_piece){.offset = begin, .bytes = bytes};
        link_behind(fit, i, before);
    }
    if (begin + bytes > fit->end)
        fit->end = begin + bytes;
    *piece = i;
    return true;
}

bool rp_fit_add(size_t *sum, size_t bytes)
{
    const size_t left = (rp_fit_most - *sum) / RP_FIT_ALIGN * RP_FIT_ALIGN;

    if (bytes > left)
        return false;
    *sum += (bytes + RP_FIT_ALIGN - 1) / RP_FIT_ALIGN * RP_FIT_ALIGN;
    return true;
}

bool rp_fit_take(rp_fit *fit, size_t bytes, uint32_t *piece)
{
    uint32_t i, rest;

    if (bytes > SIZE_MAX / 2)
        return false;
    bytes = bytes ? (bytes + RP_FIT_ALIGN - 1) / RP_FIT_ALIGN * RP_FIT_ALIGN : RP_FIT_ALIGN;
    i = find(fit, bytes);
    if (i == RP_FIT_NONE)
        return extend(fit, bytes, piece);
    if (fit->piece[i].bytes > bytes) {
        if (!new_piece(fit, &rest))
            return false;
        pull(fit, i);
        fit->piece[rest] = (rp_fit_piece){.offset = fit->piece[i].offset + bytes, .bytes = fit->piece[i].bytes - bytes};
        fit->piece[i].bytes = bytes;
        link_behind(fit, rest, i);
        put(fit, rest);
    } else {
        pull(fit, i);
    }
    *piece = i;
    return true;
}

void rp_fit_give(rp_fit *fit, uint32_t i)
{
    const uint32_t before = fit->piece[i].before, after = fit->piece[i].after;

    if (after != RP_FIT_NONE && fit->piece[after].free) {
        pull(fit, after);
        fit->piece[i].bytes += fit->piece[after].bytes;
        unlink_piece(fit, after);
    }
    if (before != RP_FIT_NONE && fit->piece[before].free) {
        pull(fit, before);
        fit->piece[before].bytes += fit->piece[i].bytes;
        unlink_piece(fit, i);
        i = before;
    }
    put(fit, i);
}
