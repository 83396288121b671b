/* SPDX-License-Identifier: Apache-2.0
 * What one call for gradients has found out about functions, so that a function which is executed in many places is
 * looked at once: calls nested n deep, two of each, would else be 2^n. */
#include <string.h>

#include "base/memory.h"
#include "core/program/sweep.h"

/* The key's functions are held: another could take the address of one that is gone. */
struct rp_memo_entry {
    rp_buffer key;
    rp_function **about, **made;
    size_t n_about, n_made;
    bool *bits;
};

static void release_all(rp_function **f, size_t n)
{
    for (size_t i = 0; f && i < n; i++)
        rp_function_release(f[i]);
    rp_free(f);
}

static rp_function **hold_all(rp_function *const *f, size_t n)
{
    rp_function **copy = rp_reallocarray(NULL, n, sizeof *copy);

    for (size_t i = 0; copy && i < n; i++)
        copy[i] = f[i] ? rp_function_hold(f[i]) : NULL;
    return copy;
}

static void entry_free(struct rp_memo_entry *e)
{
    rp_buffer_free(&e->key);
    release_all(e->about, e->n_about);
    release_all(e->made, e->n_made);
    rp_free(e->bits);
}

void rp_memo_free(rp_memo *m)
{
    for (size_t i = 0; i < m->n; i++)
        entry_free(&m->entry[i]);
    rp_free(m->entry);
    rp_index_free(&m->index);
    *m = (rp_memo){0};
}

bool rp_memo_find(const rp_memo *m, const rp_buffer *key, bool *bits, size_t n_bits, rp_function **made, size_t n_made)
{
    const uint64_t hash = rp_index_hash(&m->index, key->data, key->size);

    for (rp_index_walk at = rp_index_find(&m->index, hash); rp_index_next(&at);) {
        const struct rp_memo_entry *e = &m->entry[at.at];

        if (e->key.size != key->size || memcmp(e->key.data, key->data, key->size) != 0)
            continue;
        memcpy(bits, e->bits, n_bits * sizeof *bits);
        for (size_t i = 0; i < n_made; i++)
            made[i] = e->made[i] ? rp_function_hold(e->made[i]) : NULL;
        return true;
    }
    return false;
}

static bool reserve(rp_memo *m)
{
    if (m->n == m->cap) {
        const size_t cap = m->cap ? 2 * m->cap : 16;
        struct rp_memo_entry *bigger = rp_reallocarray(m->entry, cap, sizeof *bigger);

        if (!bigger)
            return false;
        m->entry = bigger;
        m->cap = cap;
    }
    return rp_index_reserve(&m->index);
}

bool rp_memo_add(rp_memo *m, const rp_buffer *key, rp_function *const *about, size_t n_about, const bool *bits,
                 size_t n_bits, rp_function *const *made, size_t n_made)
{
    struct rp_memo_entry e = {.n_about = n_about, .n_made = n_made};

    rp_buffer_append(&e.key, key->data, key->size);
    e.about = hold_all(about, n_about);
    e.made = hold_all(made, n_made);
    e.bits = rp_reallocarray(NULL, n_bits, sizeof *bits);
    if (!e.about || !e.made || !e.bits || rp_buffer_status(&e.key, NULL) != RP_OK || !reserve(m)) {
        e.n_about = e.about ? n_about : 0;
        e.n_made = e.made ? n_made : 0;
        entry_free(&e);
        return false;
    }
    memcpy(e.bits, bits, n_bits * sizeof *bits);
    m->entry[m->n] = e;
    rp_index_add(&m->index, rp_index_hash(&m->index, key->data, key->size), (uint32_t)m->n++);
    return true;
}
