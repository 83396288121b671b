/* SPDX-License-Identifier: Apache-2.0
 * inspect --programs: what each program of an archive costs, and each function of it. */
#include <stdio.h>

#include "cli/archive_files.h"
#include "cli/print.h"

static void put_price(rp_buffer *out, const rp_price *price)
{
    rp_put_integer(out, "executed", price->executed);
    rp_put_integer(out, "memory", price->memory);
    rp_put_integer(out, "work", price->work);
}

static void put_json(rp_buffer *out, size_t number, const rp_program_listing *p)
{
    char member[40];

    (void)snprintf(member, sizeof member, "run/programs/%04zu.json", number);
    rp_put_open(out, NULL, '{');
    rp_put_integer(out, "executed", p->price.executed);
    rp_put_open(out, "functions", '[');
    for (size_t i = 0; i < p->functions; i++) {
        rp_put_open(out, NULL, '{');
        rp_put_text(out, "digest", p->function[i].digest);
        rp_put_integer(out, "instructions", p->function[i].instructions);
        put_price(out, &p->function[i].price);
        rp_put_integer(out, "uses", p->function[i].uses);
        rp_put_close(out, '}');
    }
    rp_put_close(out, ']');
    rp_put_integer(out, "instructions", p->instructions);
    rp_put_text(out, "member", member);
    rp_put_integer(out, "memory", p->price.memory);
    rp_put_integer(out, "states", p->states);
    rp_put_integer(out, "work", p->price.work);
    rp_put_close(out, '}');
}

static void put_lines(rp_session *session, size_t number, const rp_program_listing *p)
{
    rp_put_line(session, "program", "run/programs/%04zu.json: %zu instructions, %zu states, X %llu, W %llu, M %llu",
                number, p->instructions, p->states, (unsigned long long)p->price.executed,
                (unsigned long long)p->price.work, (unsigned long long)p->price.memory);
    for (size_t i = 0; i < p->functions; i++) {
        const rp_function_listing *f = &p->function[i];

        rp_put_line(session, "function", "%s: %zu instructions, %zu %s, X %llu, W %llu, M %llu", f->digest,
                    f->instructions, f->uses, f->uses == 1 ? "use" : "uses", (unsigned long long)f->price.executed,
                    (unsigned long long)f->price.work, (unsigned long long)f->price.memory);
    }
}

rp_status rp_programs_put(rp_session *session, const rp_archive *archive, rp_error *err)
{
    rp_status status = RP_OK;

    if (session->json)
        rp_put_open(&session->out, "programs", '[');
    for (size_t i = 0; i < rp_archive_program_count(archive) && status == RP_OK; i++) {
        rp_program_listing *listing;

        status = rp_program_list(&listing, archive, i, err);
        if (status == RP_OK && session->json)
            put_json(&session->out, i, listing);
        else if (status == RP_OK)
            put_lines(session, i, listing);
        rp_program_listing_free(listing);
    }
    if (session->json)
        rp_put_close(&session->out, ']');
    return status;
}
