/* SPDX-License-Identifier: Apache-2.0
 * The command: finds the subcommand (commands.c; reprise-verify has commands_verify.c), and turns its results or its
 * error into output and an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/signing/defaults.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

static bool stdout_closed;

/* A closed stdout or stderr would lend its number to the next file that is opened, and results would land there. */
static void reserve_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1)
            continue;
        if (fd == STDOUT_FILENO)
            stdout_closed = true;
        if (open("/dev/null", O_RDWR) != fd)
            _exit(1);
    }
}

rp_status rp_command_find(const rp_command **out, const char *name, rp_error *err)
{
    const char *names[RP_COMMANDS_MAX], *near;
    char word[80];

    for (size_t i = 0; i < rp_commands_count; i++) {
        *out = &rp_commands[i];
        names[i] = rp_commands[i].name;
        if (strcmp(names[i], name) == 0)
            return RP_OK;
    }
    *out = NULL;
    rp_printable(word, sizeof word, name, strlen(name));
    near = rp_nearest(word, names, rp_commands_count);
    return rp_fail(err, RP_EARG, "unknown command %s%s%s%s; see reprise help", word, near ? ": did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

static void version(rp_session *session)
{
    if (!session->json) {
        rp_buffer_printf(&session->out, "%s %s (archive format %d)\n", rp_command_name, RP_VERSION, RP_ARCHIVE_FORMAT);
        return;
    }
    rp_put_open(&session->out, NULL, '{');
    rp_put_integer(&session->out, "format", RP_ARCHIVE_FORMAT);
    rp_put_text(&session->out, "version", RP_VERSION);
    rp_put_close(&session->out, '}');
}

static rp_status dispatch(rp_session *session, int argc, char **argv, rp_error *err)
{
    static char help_name[] = "help";
    char *help_argv[] = {help_name, NULL};
    const rp_command *found = NULL;
    rp_status status;

    if (argc < 2)
        return rp_fail(err, RP_EARG, "no command given; see reprise help");
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        version(session);
        return RP_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return rp_command_help(session, 1, help_argv, err);
    status = rp_command_find(&found, argv[1], err);
    return status == RP_OK ? found->main(session, argc - 1, argv + 1, err) : status;
}

/* One line, whatever the text holds. */
static void complain(const char *text)
{
    const char *plain = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool colour = isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0 && !(plain && *plain);
    rp_buffer line = {0};

    rp_buffer_text(&line, colour ? "\033[31mreprise:\033[0m " : "reprise: ");
    rp_put_plain_line(&line, text);
    rp_buffer_u8(&line, '\n');
    if (!line.failed && write(STDERR_FILENO, line.data, line.size) < 0)
        line.size = 0; /* nowhere left to say so */
    rp_buffer_free(&line);
}

static rp_status write_out(const rp_buffer *out, rp_error *err)
{
    rp_status status = rp_buffer_status(out, err);

    if (status == RP_OK && out->size && stdout_closed)
        status = rp_fail(err, RP_EIO, "stdout: cannot write the results: it is closed");
    for (size_t at = 0; at < out->size && status == RP_OK;) {
        ssize_t put = write(STDOUT_FILENO, out->data + at, out->size - at);

        if (put < 0 && errno != EINTR)
            status = rp_fail(err, RP_EIO, "stdout: cannot write the results: %s", strerror(errno));
        else if (put > 0)
            at += (size_t)put;
    }
    return status;
}

/* Under the line of the error. */
static void put_host(const rp_host_table *host)
{
    rp_buffer lines = {0};

    rp_put_host_lines(&lines, host);
    if (!lines.failed && lines.size && write(STDERR_FILENO, lines.data, lines.size) < 0)
        lines.size = 0; /* nowhere left to say so */
    rp_buffer_free(&lines);
}

static void describe_error(rp_buffer *out, const rp_host_table *host, const rp_error *err)
{
    rp_put_open(out, NULL, '{');
    rp_put_open(out, "error", '{');
    rp_put_text(out, "status", rp_status_name(err->status));
    rp_put_text(out, "message", err->text);
    rp_put_integer(out, "exit", (uint64_t)rp_exit_code(err->status));
    rp_put_difference(out, "difference", &err->difference);
    rp_put_host_json(out, "host", host);
    rp_put_close(out, '}');
    rp_put_close(out, '}');
    rp_buffer_u8(out, '\n');
}

/* docs/json.md: the version of what --json gives, and what came from the environment, in front of whatever a command
 * says. Here, so none can forget it. */
static void put_schema(rp_buffer *out, const rp_session *session)
{
    enum { SCHEMA = 1 };
    rp_buffer whole = {0};

    if (out->failed || out->size < 2 || out->data[0] != '{')
        return;
    rp_put_open(&whole, NULL, '{');
    rp_put_integer(&whole, "schema", SCHEMA);
    rp_defaults_put_json(&whole, session);
    rp_buffer_text(&whole, out->data[1] == '}' ? "" : ",");
    rp_buffer_append(&whole, out->data + 1, out->size - 1);
    rp_buffer_free(out);
    *out = whole;
}

/* A line beside the results, or within the one line of an error: a failure may be due to what the call does not show.
 */
static void tell_environment(const rp_session *session, rp_status status, rp_error *err)
{
    rp_buffer line = {0};
    rp_error what = *err;

    rp_defaults_put_line(&line, session);
    if (line.size && !line.failed && status == RP_OK)
        complain((const char *)line.data);
    else if (line.size && !line.failed)
        (void)rp_fail(err, status, "%.800s (%.200s)", what.text, (const char *)line.data);
    err->difference = what.difference;
    rp_buffer_free(&line);
}

static int finish(rp_session *session, rp_status status, rp_error *err)
{
    rp_error late = {0};

    tell_environment(session, status, err);
    if (status != RP_OK) {
        rp_buffer_free(&session->out);
        if (session->json)
            describe_error(&session->out, &session->host, err);
    } else if (session->json && session->out.size && !session->helped) {
        rp_buffer_u8(&session->out, '\n');
    }
    if (session->json && !session->helped)
        put_schema(&session->out, session);
    if (status != RP_OK) {
        complain(err->text);
        put_host(&session->host);
    } else if (session->remark.size) {
        complain((const char *)session->remark.data);
    }
    if (write_out(&session->out, &late) != RP_OK && status == RP_OK) {
        complain(late.text);
        return rp_exit_code(late.status);
    }
    return status == RP_OK ? session->exit : rp_exit_code(status);
}

int main(int argc, char **argv)
{
    rp_session session = {0};
    rp_error err = {0};
    const char *plain = getenv("NO_COLOR"), *terminal = getenv("TERM");
    rp_status status;
    int code;

    rp_memory_return_blocks();
    reserve_descriptors();
    rp_signals_install();
    /* known before parsing, so that a usage error is JSON too */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        session.json = session.json || strcmp(argv[i], "--json") == 0;
    session.colour = isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0 && !(plain && *plain);
    status = dispatch(&session, argc, argv, &err);
    code = finish(&session, status, &err);
    rp_buffer_free(&session.out);
    rp_buffer_free(&session.remark);
    return code;
}
