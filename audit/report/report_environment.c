/* SPDX-License-Identifier: Apache-2.0
 * Where and when the run was made, as its statement says; the digests of everything; and how to check all of it without
 * this report. */
#include <string.h>

#include "audit/report/report.h"

enum { MEMBERS_MAX = 1000 };

/* A text of the statement, at a path of keys. */
static const rp_json *at(const rp_json *json, const char *a, const char *b, const char *c)
{
    json = rp_json_object_get(json, a);
    json = b ? rp_json_object_get(json, b) : json;
    return c ? rp_json_object_get(json, c) : json;
}

static void put_value(rp_report_view *r, const char *label, const rp_json *value)
{
    if (rp_json_is_string(value))
        rp_html_row(r->out, label, rp_json_string_value(value));
    else if (rp_json_is_integer(value) && rp_json_integer_value(value) >= 0)
        rp_html_row_count(r->out, label, (uint64_t)rp_json_integer_value(value));
    else if (rp_json_is_boolean(value))
        rp_html_row(r->out, label, rp_json_is_true(value) ? "yes" : "no");
}

static const rp_json *host_of(const rp_json *predicate)
{
    const rp_json *list = at(predicate, "runDetails", "byproducts", NULL), *item;
    size_t i;

    rp_json_array_foreach (list, i, item) {
        const char *name = rp_json_string_value(rp_json_object_get(item, "name"));

        if (name && strcmp(name, "host") == 0)
            return rp_json_object_get(item, "annotations");
    }
    return NULL;
}

static void put_libraries(rp_report_view *r, const rp_json *libraries)
{
    const char *name;
    rp_json *row;
    size_t shown = 0;

    if (!rp_json_is_object(libraries) || rp_json_object_size(libraries) == 0)
        return;
    rp_html_row_open(r->out, "Libraries");
    rp_json_object_foreach ((rp_json *)libraries, name, row) {
        const char *loaded = rp_json_string_value(rp_json_object_get(row, "loaded"));

        if (shown++ == 32)
            break;
        rp_buffer_text(r->out, shown > 1 ? ", " : "");
        if (!loaded || strncmp(loaded, name, strlen(name)) != 0) {
            rp_html_name(r->out, name);
            rp_buffer_u8(r->out, ' ');
        }
        rp_html_name(r->out, loaded ? loaded : "?");
        if (rp_json_is_false(rp_json_object_get(row, "match"))) {
            rp_buffer_text(r->out, " (built against ");
            rp_html_name(r->out, rp_json_string_value(rp_json_object_get(row, "built")));
            rp_buffer_u8(r->out, ')');
        }
    }
    rp_html_row_close(r->out);
}

static void put_host(rp_report_view *r, const rp_json *predicate)
{
    const rp_json *host = host_of(predicate);
    const rp_json *inner = at(predicate, "buildDefinition", "internalParameters", NULL);
    const rp_json *metadata = at(predicate, "runDetails", "metadata", NULL);

    rp_buffer_text(r->out, "<table class=\"facts\">\n<tbody>\n");
    put_value(r, "Started", rp_json_object_get(metadata, "startedOn"));
    put_value(r, "Finished", rp_json_object_get(metadata, "finishedOn"));
    put_value(r, "Reprise",
              at(predicate, "runDetails", "builder", "version")
                  ? rp_json_object_get(at(predicate, "runDetails", "builder", "version"), "reprise")
                  : NULL);
    put_value(r, "Processor", rp_json_object_get(host, "cpu"));
    put_value(r, "Machine", rp_json_object_get(host, "machine"));
    put_value(r, "System", rp_json_object_get(host, "system"));
    put_value(r, "Device", rp_json_object_get(rp_json_object_get(inner, "device"), "identity"));
    put_value(r, "Kernels", rp_json_object_get(inner, "level"));
    put_value(r, "Threads", rp_json_object_get(inner, "threads"));
    put_value(r, "Floating point", rp_json_object_get(host, "floating_point"));
    put_value(r, "Had to be repaired", rp_json_object_get(inner, "floating_point_repaired"));
    put_value(r, "Doctor found it healthy", rp_json_object_get(host, "healthy"));
    put_libraries(r, rp_json_object_get(host, "libraries"));
    rp_buffer_text(r->out, "</tbody>\n</table>\n");
}

rp_status rp_report_environment(rp_report_view *r, rp_error *err)
{
    const rp_member *member = rp_archive_find(r->archive, RP_RUN_STATEMENT);
    rp_report_statement statement = {0};
    rp_status status = RP_OK;

    rp_html_section(r->out, "environment", "Environment");
    if (!member) {
        rp_buffer_text(
            r->out, "<p>Not recorded: host, versions and times are in the signed statement only, and this archive has "
                    "none. They do not influence the bits of the run.</p>\n");
        return RP_OK;
    }
    status = rp_report_statement_read(r, member, &statement, err);
    if (status != RP_OK)
        return status;
    rp_buffer_printf(r->out, "<p>The signer&#39;s word, %s. None of it influences the bits of the run.</p>\n",
                     statement.checked ? "under a signature that was checked" : "and the signature was not checked");
    if (statement.payload)
        put_host(r, rp_json_object_get(statement.payload, "predicate"));
    else
        rp_buffer_text(r->out, "<p class=\"note\">The statement cannot be read.</p>\n");
    rp_json_free(statement.payload);
    return RP_OK;
}

/* ---- digests ---- */

static void put_member(rp_buffer *out, const rp_member *member)
{
    char hex[RP_DIGEST_HEX];

    rp_digest_hex(hex, &member->digest);
    rp_buffer_text(out, "<tr><th scope=\"row\">");
    rp_html_name(out, member->name);
    rp_buffer_text(out, "</th><td class=\"n\">");
    rp_html_count(out, member->size);
    rp_buffer_printf(out, "</td><td class=\"hash\">%s</td></tr>\n", hex);
}

static void put_pinned(rp_report_view *r)
{
    rp_pinned_to to;

    rp_archive_pinned_to(r->archive, &to);
    if (*to.run) {
        rp_html_row_open(r->out, "Replayed alone by");
        rp_html_text(r->out, to.run);
        rp_html_row_close(r->out);
    }
    if (*to.line) {
        rp_html_row_open(r->out, "What it started from is pinned to");
        rp_html_text(r->out, to.line);
        rp_buffer_printf(r->out, "<br/><span class=\"hash\">archive %s</span>", to.line_id);
        rp_html_row_close(r->out);
    }
}

void rp_report_digests(rp_report_view *r)
{
    const rp_json *run = rp_archive_manifest(r->archive)->run;
    rp_buffer *out = r->out;
    size_t n = rp_archive_member_count(r->archive);

    rp_html_section(out, "digests", "Appendix: digests");
    rp_buffer_text(out, "<table class=\"facts\">\n<tbody>\n");
    rp_html_row_open(out, "Archive id");
    rp_buffer_printf(
        out,
        "<span class=\"hash\">%s</span><br/><span class=\"soft\">SHA-256 of manifest.json, which lists all "
        "members but the statements</span>",
        rp_archive_id(r->archive));
    rp_html_row_close(out);
    rp_html_row_open(out, "Journal root");
    rp_buffer_text(out, "<span class=\"hash\">");
    rp_html_text(out, rp_json_string_value(rp_json_object_get(run, "journal_root")));
    rp_buffer_text(out,
                   "</span><br/><span class=\"soft\">one record a step: program, inputs, results, states, loss</span>");
    rp_html_row_close(out);
    put_value(r, "Steps recorded", rp_json_object_get(run, "steps"));
    if (rp_json_object_get(run, "state_period"))
        put_value(r, "State seen once in steps", rp_json_object_get(run, "state_period"));
    if (rp_json_object_get(run, "checkpoint_every"))
        put_value(r, "Steps between checkpoints", rp_json_object_get(run, "checkpoint_every"));
    if (rp_json_object_get(run, "parent"))
        put_value(r, "Started from archive", rp_json_object_get(rp_json_object_get(run, "parent"), "archive_id"));
    rp_html_row_open(out, "Versions");
    rp_buffer_printf(out, "archive format %d, profile %s", (int)RP_ARCHIVE_FORMAT,
                     rp_archive_manifest(r->archive)->pinned ? "pinned" : "portable");
    rp_html_row_close(out);
    put_pinned(r);
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_html_table(out, "members", "Members", "Name|#Bytes|SHA-256");
    for (size_t i = 0; i < n && i < MEMBERS_MAX; i++)
        put_member(out, rp_archive_member(r->archive, i));
    rp_buffer_text(out, "</tbody>\n</table>\n");
    rp_html_note_first(out, MEMBERS_MAX, n, "members");
}

/* ---- how to verify ---- */

/* By who made the run, or later by somebody who vouches for it: verify then wants a key. */
static bool is_signed(const rp_report_view *r)
{
    static const char endorsement[] = RP_SIGNATURES "endorsement-";
    bool found = rp_archive_find(r->archive, RP_RUN_STATEMENT) != NULL;

    for (size_t i = 0; i < rp_archive_member_count(r->archive) && !found; i++)
        found = strncmp(rp_archive_member(r->archive, i)->name, endorsement, sizeof endorsement - 1) == 0;
    return found;
}

/* A member that was left out of the archive and given back for this page. */
static bool was_given(const rp_report_view *r)
{
    bool found = false;

    for (size_t i = 0; i < rp_archive_withheld_count(r->archive) && !found; i++)
        found = rp_archive_find(r->archive, rp_archive_withheld(r->archive, i)) != NULL;
    return found;
}

void rp_report_how_to_verify(rp_report_view *r)
{
    rp_buffer *out = r->out;
    bool with_key = is_signed(r);

    rp_html_section(out, "verify", "How to verify this yourself");
    rp_buffer_text(out, "<p>This page is a description and proves nothing by itself; the archive does. Below, "
                        "<code>run.reprise</code> is the archive");
    if (with_key)
        rp_buffer_text(
            out, " and <code>signer.pub.pem</code> the signer&#39;s public key, which you should have from the signer "
                 "and not from whoever sent the archive");
    rp_buffer_printf(out, ".</p>\n<h3>Is every byte as %s?</h3>\n<pre>reprise verify run.reprise %s",
                     with_key ? "it was signed" : "the manifest lists it",
                     with_key ? "--trust signer.pub.pem" : "--allow-unsigned");
    rp_buffer_printf(out,
                     "</pre>\n<h3>Does the same computation give the same bits on your machine?</h3>\n"
                     "<pre>reprise replay run.reprise%s%s</pre>\n",
                     with_key ? " --trust signer.pub.pem" : "",
                     rp_archive_withheld_count(r->archive) ? " --withheld FOLDER" : "");
    rp_buffer_printf(
        out,
        "<h3>Without Reprise: is it this archive%s?</h3>\n<pre>tar -xOf run.reprise manifest.json | sha256sum\n"
        "%s%s</pre>\n<p class=\"note\">The first line must give the archive id at the top of this page%s. "
        "<code>tar -xf run.reprise</code> and <code>sha256sum</code> show the digests of all members.</p>\n",
        with_key ? ", and this key" : "", with_key ? "sha256sum signer.pub.pem" : "", with_key ? "\n" : "",
        with_key ? ", the second the key id under Verdict" : "");
    rp_buffer_printf(out, "<h3>This page again</h3>\n<pre>reprise report run.reprise%s%s%s -o report.html</pre>\n",
                     r->verified && r->verified->statements ? " --trust signer.pub.pem" : "",
                     r->verified && r->verified->policy ? " --policy policy.yaml" : "",
                     was_given(r) ? " --withheld FOLDER" : "");
}
