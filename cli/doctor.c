/* SPDX-License-Identifier: Apache-2.0
 * reprise doctor: whether this host can keep the contract, and what it is. */
#include <string.h>

#include "base/json.h"
#include "cli/options.h"
#include "cli/print.h"

static const char *text_of(const rp_json *object, const char *key)
{
    const char *text = rp_json_string_value(rp_json_object_get(object, key));

    return text ? text : "unknown";
}

/* Of one that is not here: why, without "device NAME: " in front of it. */
static void put_device(rp_session *session, const char *name, const char *text)
{
    const size_t length = strlen(name), before = strlen("device ");

    if (strncmp(text, "device ", before) == 0 && strncmp(text + before, name, length) == 0 &&
        strncmp(text + before + length, ": ", 2) == 0)
        text += before + length + 2;
    rp_put_line(session, "device", "%s: %s", name, text);
}

/* What profile: pinned would have here. */
static void put_library(rp_session *session, const rp_json *library)
{
    static const char before[] = "profile pinned: ";
    const char *why = rp_json_string_value(library);

    if (why)
        rp_put_line(session, "pinned", "%s", strncmp(why, before, sizeof before - 1) ? why : why + sizeof before - 1);
    else
        rp_put_line(session, "pinned", "%s %lld for profile: pinned, %s, SHA-256 %s", text_of(library, "name"),
                    (long long)rp_json_integer_value(rp_json_object_get(library, "version")), text_of(library, "file"),
                    text_of(library, "sha256"));
}

static void put_lines(rp_session *session, const rp_json *host, bool healthy)
{
    const char *key;
    rp_json *item;

    rp_put_verdict(session, healthy, healthy ? "healthy" : "unhealthy",
                   healthy ? "this host keeps the contract" : "see the lines marked !");
    rp_put_line(session, "library", "%s, contract %lld, archive format %lld", text_of(host, "library"),
                (long long)rp_json_integer_value(rp_json_object_get(host, "contract")),
                (long long)rp_json_integer_value(rp_json_object_get(host, "format")));
    rp_put_line(session, "cpu", "%s", text_of(host, "cpu"));
    rp_put_line(session, "system", "%s, %s", text_of(host, "system"), text_of(host, "machine"));
    rp_put_line(session, "floats", "%s%s", text_of(host, "floating_point"),
                rp_json_is_true(rp_json_object_get(host, "floating_point_repaired")) ? " (repaired at entry)" : "");
    rp_json_object_foreach (rp_json_object_get(host, "libraries"), key, item) {
        bool match = rp_json_is_true(rp_json_object_get(item, "match"));

        if (match)
            rp_put_line(session, "library", "%s %s", key, text_of(item, "loaded"));
        else
            rp_put_verdict(session, false, "library !", "%s: built against %s, loaded %s", key, text_of(item, "built"),
                           text_of(item, "loaded"));
    }
    rp_json_object_foreach (rp_json_object_get(host, "devices"), key, item)
        put_device(session, key, rp_json_string_value(item) ? rp_json_string_value(item) : "");
    item = rp_json_object_get(host, "device");
    if (item) {
        bool fine = strncmp(text_of(item, "conformance"), "conforms", 8) == 0;

        rp_put_verdict(session, fine, fine ? "kernels" : "kernels !", "%s: %s", text_of(item, "identity"),
                       text_of(item, "conformance"));
        put_library(session, rp_json_object_get(item, "pinned"));
    }
    rp_json_object_foreach (rp_json_object_get(host, "levels"), key, item) {
        const char *text = rp_json_string_value(item) ? rp_json_string_value(item) : "";
        bool fine = strncmp(text, "conforms", 8) == 0;

        rp_put_verdict(session, fine, fine ? "kernels" : "kernels !", "%s: %s%s", key, text,
                       strcmp(key, text_of(host, "level")) == 0 ? ", used" : "");
    }
}

static rp_status examine(rp_session *session, const char *device, rp_error *err)
{
    char *text = NULL;
    bool healthy = false;
    rp_json *host = NULL;
    rp_status status = rp_doctor(device, &text, &healthy, err);

    if (status == RP_OK)
        status = rp_json_parse(&host, text, strlen(text), false, "doctor", err);
    if (status == RP_OK && session->json) {
        rp_put_open(&session->out, NULL, '{');
        rp_put_bool(&session->out, "healthy", healthy);
        rp_put_json(&session->out, "host", host);
        rp_put_close(&session->out, '}');
    } else if (status == RP_OK) {
        put_lines(session, host, healthy);
    }
    if (status == RP_OK && !healthy) {
        rp_buffer_append(&session->remark, "doctor: this host does not keep the contract: see the report on stdout",
                         sizeof "doctor: this host does not keep the contract: see the report on stdout");
        session->exit = rp_exit_code(RP_EUNSUPPORTED);
    }
    rp_json_free(host);
    rp_text_free(text);
    return status;
}

rp_status rp_command_doctor(rp_session *session, int argc, char **argv, rp_error *err)
{
    const char *device = NULL;
    const rp_option options[] = {RP_OPTION_DEVICE(&device)};
    const rp_usage usage = {
        "doctor [options]",
        "Checks the floating-point environment, the versions built against and loaded, and every kernel level of\n"
        "this CPU against the conformance vectors, and lists the devices that --device takes. Given one, runs every\n"
        "kernel there beside this CPU's reference. Exit 5 when this host, or the device, does not keep the contract,\n"
        "or is not here.",
        "  reprise doctor --json",
        NULL,
        0,
        options,
        RP_COUNT(options)};
    rp_status status = rp_options_parse(session, &usage, argc, argv, NULL, err);

    if (status != RP_OK || session->helped)
        return status;
    status = rp_device_option("doctor", device, err);
    return status == RP_OK ? examine(session, device, err) : status;
}
