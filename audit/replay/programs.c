/* SPDX-License-Identifier: Apache-2.0
 * What an archive's programs cost, told without computing anything: for each its price and those of the functions that
 * it executes, which are named by a digest of their text (audit/FORMAT.md 9, "prices"). */
#include <string.h>

#include "audit/archive/archive.h"
#include "audit/replay/function_names.h"
#include "base/handle.h"
#include "base/memory.h"
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

static rp_status list(rp_program_listing *listing, const rp_program *p, rp_error *err)
{
    rp_function_names names;
    rp_status status = rp_function_names_of(&names, p, err);

    if (status != RP_OK)
        return status;
    listing->instructions = p->n_instrs;
    listing->states = count_states(p);
    listing->price = rp_program_price(p);
    listing->function = rp_calloc(names.known.n ? names.known.n : 1, sizeof *listing->function);
    if (listing->function) {
        listing->functions = names.known.n;
        count_uses(listing, &names.known, p);
    } else {
        status = rp_no_memory(err);
    }
    for (size_t i = 0; i < listing->functions; i++) {
        rp_function_listing *row = &listing->function[i];
        const rp_function *f = names.known.function[i];

        memcpy(row->digest, names.digest[i], sizeof row->digest);
        row->instructions = f->body->n_instrs;
        row->price = f->price;
        count_uses(listing, &names.known, f->body);
    }
    rp_function_names_free(&names);
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
