/* SPDX-License-Identifier: Apache-2.0
 * What an archive's programs cost, told without computing anything: for each its price and those of the functions that
 * it executes, which are named by a digest of their text (audit/FORMAT.md 9, "prices"). */
#include <string.h>

#include "audit/archive/archive.h"
#include "audit/digest/digest.h"
#include "base/handle.h"
#include "base/memory.h"
#include "core/program/function.h"
#include "rp/audit.h"

static const size_t text_limit = (size_t)64 << 20;

size_t rp_archive_program_count(const rp_archive *archive)
{
    char name[RP_MEMBER_NAME];
    size_t n = 0;

    while (archive && n < 10000 && rp_archive_find(archive, rp_program_name(name, n)))
        n++;
    return n;
}

/* States that the program reads or updates. */
static size_t count_states(const rp_program *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_inputs; i++)
        n += p->input[i].kind == RP_INPUT_STATE;
    for (size_t i = 0; i < p->n_outputs; i++)
        n += p->output[i].kind == RP_OUTPUT_STATE && !rp_program_find_input(p, RP_INPUT_STATE, p->output[i].name);
    return n;
}

/* How often the instructions of a body name each function. */
static void count_uses(rp_program_listing *listing, const rp_functions *known, const rp_program *body)
{
    for (size_t i = 0; i < body->n_instrs; i++) {
        const rp_region *region = body->instr[i].region;

        for (size_t k = 0; region && k < region->n_functions; k++)
            listing->function[rp_functions_index(known, region->function[k])].uses++;
    }
}

typedef struct names {
    const rp_functions *known;
    const rp_program_listing *listing;
} names;

static void put_digest(rp_buffer *out, const void *self, const rp_function *function)
{
    const names *n = self;

    rp_buffer_u8(out, '"');
    rp_buffer_text(out, n->listing->function[rp_functions_index(n->known, function)].digest);
    rp_buffer_u8(out, '"');
}

/* Callees come first, so their digests are known. */
static rp_status list_function(rp_program_listing *listing, const rp_functions *known, size_t i, rp_error *err)
{
    rp_function_listing *row = &listing->function[i];
    const names by_digest = {known, listing};
    rp_buffer text = {0};
    rp_digest digest;
    rp_status status;

    rp_function_text(&text, known->function[i], (rp_function_namer){put_digest, &by_digest});
    status = text.failed ? rp_no_memory(err) : rp_sha256(&digest, text.data, text.size, err);
    rp_buffer_free(&text);
    if (status != RP_OK)
        return status;
    rp_digest_hex(row->digest, &digest);
    row->instructions = known->function[i]->body->n_instrs;
    row->price = known->function[i]->price;
    count_uses(listing, known, known->function[i]->body);
    return RP_OK;
}

static rp_status list(rp_program_listing *listing, const rp_program *p, rp_error *err)
{
    rp_functions known = {0};
    rp_status status = rp_functions_of(&known, p, err);

    listing->instructions = p->n_instrs;
    listing->states = count_states(p);
    listing->price = rp_program_price(p);
    if (status == RP_OK) {
        listing->function = rp_calloc(known.n ? known.n : 1, sizeof *listing->function);
        status = listing->function ? RP_OK : rp_no_memory(err);
    }
    if (status == RP_OK) {
        listing->functions = known.n;
        count_uses(listing, &known, p);
    }
    for (size_t i = 0; i < known.n && status == RP_OK; i++)
        status = list_function(listing, &known, i, err);
    rp_functions_free(&known);
    return status;
}

rp_status rp_program_list(rp_program_listing **out, const rp_archive *archive, size_t number, rp_error *err)
{
    char name[RP_MEMBER_NAME];
    rp_buffer text = {0};
    rp_program *program = NULL;
    rp_status status;

    *out = NULL;
    if (!archive)
        return rp_no_handle(err, __func__, "archive");
    if (number >= rp_archive_program_count(archive))
        return rp_fail(err, RP_EARG, "program %zu: the archive has %zu", number, rp_archive_program_count(archive));
    (void)rp_program_name(name, number);
    status = rp_archive_read_member(archive, name, text_limit, &text, err);
    if (status == RP_OK)
        status = rp_program_parse(&program, text.data, text.size, name, err);
    rp_buffer_free(&text);
    if (status == RP_OK) {
        *out = rp_calloc(1, sizeof **out);
        status = *out ? list(*out, program, err) : rp_no_memory(err);
    }
    rp_program_free(program);
    if (status != RP_OK) {
        rp_program_listing_free(*out);
        *out = NULL;
    }
    return status;
}

void rp_program_listing_free(rp_program_listing *listing)
{
    if (listing)
        rp_free(listing->function);
    rp_free(listing);
}
