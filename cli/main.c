/* SPDX-License-Identifier: Apache-2.0
 * The command `reprise`: finds the subcommand, and turns its results or its error into output and an exit code. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/options.h"
#include "cli/print.h"
#include "cli/progress.h"

#ifndef RP_VERSION
#define RP_VERSION "unknown"
#endif

typedef struct command {
    const char *name, *summary;
    rp_command_main *main;
} command;

static const command commands[] = {
    {"run", "train by a recipe and write the archive", rp_command_run},
    {"verify", "check an archive's signature and every hash", rp_command_verify},
    {"replay", "compute an archive's run again and compare every bit", rp_command_replay},
    {"diff", "say where two archives part: step, operation, element", rp_command_diff},
    {"inspect", "show what an archive holds, or take a member out", rp_command_inspect},
    {"predict", "score the rows of a CSV with an archive's model", rp_command_predict},
    {"report", "write an archive as one HTML page for people who decide", rp_command_report},
    {"golden", "record archives as goldens, and check that nothing drifts", rp_command_golden},
    {"sign", "vouch for a finished archive with a further key", rp_command_sign},
    {"approve", "add a person's signed decision to an archive", rp_command_approve},
    {"log", "keep a log of runs that cannot forget, and prove what it holds", rp_command_log},
    {"cert", "put a signer's certificates into an archive", rp_command_cert},
    {"timestamp", "have an authority date a signature", rp_command_timestamp},
    {"keygen", "make a signing key pair", rp_command_keygen},
    {"doctor", "check this host: versions, CPU, floating point, kernels", rp_command_doctor},
    {"bench", "time the kernels beside the limits of this host", rp_command_bench},
};

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

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < RP_COUNT(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static rp_status unknown_command(const char *name, rp_error *err)
{
    const char *names[RP_COUNT(commands)], *near;
    char word[80];

    for (size_t i = 0; i < RP_COUNT(commands); i++)
        names[i] = commands[i].name;
    rp_printable(word, sizeof word, name, strlen(name));
    near = rp_nearest(word, names, RP_COUNT(commands));
    return rp_fail(err, RP_EARG, "unknown command %s%s%s%s; see reprise help", word, near ? ": did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

static void overview(rp_buffer *out)
{
    rp_buffer_text(out, "Reprise trains models so that anyone can replay the run and get the same bits.\n\n"
                        "usage: reprise COMMAND [options]     reprise help COMMAND     reprise --version\n\n");
    for (size_t i = 0; i < RP_COUNT(commands); i++)
        rp_buffer_printf(out, "  %-10s%s\n", commands[i].name, commands[i].summary);
    rp_buffer_text(out,
                   "\nResults go to stdout, progress and errors to stderr; every command takes --json and --help.\n"
                   "Exit code: 0 fine, 1 failed to run, 2 usage, 3 bits differ, 4 signature or hash wrong,\n"
                   "5 not supported here, 130 interrupted.\n\n"
                   "example:\n  reprise keygen me\n  reprise run loans.yaml -o loans.reprise --key me.pem\n"
                   "  reprise verify loans.reprise --trust me.pub.pem\n  reprise replay loans.reprise\n");
}

static void version(rp_session *session)
{
    if (!session->json) {
        rp_buffer_printf(&session->out, "reprise %s (archive format %d)\n", RP_VERSION, RP_ARCHIVE_FORMAT);
        return;
    }
    rp_put_open(&session->out, NULL, '{');
    rp_put_integer(&session->out, "format", RP_ARCHIVE_FORMAT);
    rp_put_text(&session->out, "version", RP_VERSION);
    rp_put_close(&session->out, '}');
}

static rp_status help(rp_session *session, int argc, char **argv, rp_error *err)
{
    static char wanted[] = "--help";
    char *help_argv[] = {NULL, wanted, NULL};
    const command *found;

    if (argc < 2) {
        overview(&session->out);
        return RP_OK;
    }
    if (argc > 2)
        return rp_fail(err, RP_EARG, "help: expected one command, found more; see reprise help");
    found = find_command(argv[1]);
    if (!found)
        return unknown_command(argv[1], err);
    help_argv[0] = argv[1];
    return found->main(session, 2, help_argv, err);
}

static rp_status dispatch(rp_session *session, int argc, char **argv, rp_error *err)
{
    const command *found;

    if (argc < 2)
        return rp_fail(err, RP_EARG, "no command given; see reprise help");
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        version(session);
        return RP_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        overview(&session->out);
        return RP_OK;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(session, argc - 1, argv + 1, err);
    found = find_command(argv[1]);
    return found ? found->main(session, argc - 1, argv + 1, err) : unknown_command(argv[1], err);
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

static void describe_error(rp_buffer *out, const rp_error *err)
{
    rp_put_open(out, NULL, '{');
    rp_put_open(out, "error", '{');
    rp_put_text(out, "status", rp_status_name(err->status));
    rp_put_text(out, "message", err->text);
    rp_put_integer(out, "exit", (uint64_t)rp_exit_code(err->status));
    rp_put_close(out, '}');
    rp_put_close(out, '}');
    rp_buffer_u8(out, '\n');
}

static int finish(rp_session *session, rp_status status, rp_error *err)
{
    rp_error late = {0};

    if (status != RP_OK) {
        rp_buffer_free(&session->out);
        if (session->json)
            describe_error(&session->out, err);
    } else if (session->json && session->out.size && !session->helped) {
        rp_buffer_u8(&session->out, '\n');
    }
    if (status != RP_OK)
        complain(err->text);
    else if (session->remark.size)
        complain((const char *)session->remark.data);
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
