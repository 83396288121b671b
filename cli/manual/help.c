/* SPDX-License-Identifier: Apache-2.0
 * reprise help: the overview, a command's help, its manual page, completion scripts, and all of it as files. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/manual/manual.h"

enum { PATH_MAX_HERE = 4096 };

typedef struct request {
    const char *command, *completion, *share;
    bool man;
} request;

typedef struct shell {
    const char *name;
    void (*complete)(rp_buffer *out);
    const char *folder, *prefix, *suffix; /* below share/, where the shell looks */
} shell;

static const shell shells[] = {
    {"bash", rp_complete_bash, "bash-completion/completions", "", ""},
    {"zsh", rp_complete_zsh, "zsh/site-functions", "_", ""},
    {"fish", rp_complete_fish, "fish/vendor_completions.d", "", ".fish"},
};

static void overview(rp_buffer *out)
{
    rp_buffer_text(out, rp_program_about);
    for (size_t i = 0; i < rp_commands_count; i++)
        rp_buffer_printf(out, "  %-10s%s\n", rp_commands[i].name, rp_commands[i].summary);
    rp_buffer_text(out, rp_program_examples);
}

/* Each folder of the path that is not there yet. */
static rp_status make_folders(char *path, rp_error *err)
{
    for (char *at = path + 1;; at++) {
        const char kept = *at;

        if (kept != '/' && kept != '\0')
            continue;
        *at = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return rp_fail(err, RP_EIO, "%s: cannot make the folder: %s", path, strerror(errno));
        *at = kept;
        if (!kept)
            return RP_OK;
    }
}

static rp_status save(const char *share, const char *folder, const char *name, const rp_buffer *text, rp_error *err)
{
    char path[PATH_MAX_HERE];
    size_t length = (size_t)snprintf(path, sizeof path, "%s/%s", share, folder);
    rp_status status;

    if (length + strlen(name) + 2 > sizeof path)
        return rp_fail(err, RP_EARG, "help: --share: a shorter path is needed");
    status = make_folders(path, err);
    (void)snprintf(path + length, sizeof path - length, "/%s", name);
    if (status == RP_OK)
        status = rp_buffer_status(text, err);
    return status == RP_OK ? rp_file_save(path, text->data, text->size, true, 0644, err) : status;
}

static rp_status save_page(const char *share, const rp_command *command, rp_error *err)
{
    char name[128];
    rp_buffer page = {0};
    rp_status status;

    (void)snprintf(name, sizeof name, "%s%s%s.1", rp_command_name, command ? "-" : "", command ? command->name : "");
    rp_manual_page(&page, command);
    status = save(share, "man/man1", name, &page, err);
    rp_buffer_free(&page);
    return status;
}

static rp_status save_all(const char *share, rp_error *err)
{
    rp_status status = rp_program_manual ? save_page(share, NULL, err) : RP_OK;

    for (size_t i = 0; i < rp_commands_count && rp_program_manual && status == RP_OK; i++)
        status = save_page(share, &rp_commands[i], err);
    for (size_t i = 0; i < RP_COUNT(shells) && status == RP_OK; i++) {
        char name[128];
        rp_buffer script = {0};

        (void)snprintf(name, sizeof name, "%s%s%s", shells[i].prefix, rp_command_name, shells[i].suffix);
        shells[i].complete(&script);
        status = save(share, shells[i].folder, name, &script, err);
        rp_buffer_free(&script);
    }
    return status;
}

static rp_status complete(rp_session *session, const char *name, rp_error *err)
{
    for (size_t i = 0; i < RP_COUNT(shells); i++)
        if (strcmp(name, shells[i].name) == 0) {
            shells[i].complete(&session->out);
            return RP_OK;
        }
    return rp_fail(err, RP_EARG, "help: --completion: expected bash, zsh or fish, found %.40s", name);
}

static rp_status parse(rp_session *session, int argc, char **argv, request *r, rp_error *err)
{
    const rp_option options[] = {
        {0, "man", RP_OPTION_FLAG, NULL, "the manual page of COMMAND, or of the program, as man(1) reads it", &r->man,
         false},
        {0, "completion", RP_OPTION_TEXT, "SHELL", "the script that completes command lines: bash, zsh or fish",
         &r->completion, false},
        {0, "share", RP_OPTION_TEXT, "DIR",
         "write all manual pages and completion scripts below DIR, where man and shells look, e.g. ~/.local/share",
         &r->share, false},
    };
    const rp_usage usage = {
        "help [COMMAND] [--man | --completion SHELL | --share DIR | --json]",
        "Says which commands there are, or how one of them is called. Manual pages, completion and the tables as\n"
        "JSON are made from what the commands themselves parse by.",
        "  reprise help run\n  reprise help run --man | man -l -\n  source <(reprise help --completion bash)\n"
        "  reprise help --share ~/.local/share",
        NULL,
        0,
        options,
        RP_COUNT(options)};
    const int named = argc > 1 && argv[1][0] != '-';
    rp_status status;

    if (named) {
        r->command = argv[1];
        argv[1] = argv[0];
    }
    if (argc > 1 + named && argv[1 + named][0] != '-')
        return named ? rp_fail(err, RP_EARG,
                               "help: expected one command, found more; what follows it has its own help: "
                               "reprise %.40s %.40s --help",
                               r->command, argv[2])
                     : rp_fail(err, RP_EARG, "help: expected one command, found more; see reprise help");
    status = rp_options_parse(session, &usage, argc - named, argv + named, NULL, err);
    if (status == RP_OK && !session->helped && r->man + (r->completion != NULL) + (r->share != NULL) > 1)
        return rp_fail(err, RP_EARG, "help: --man, --completion and --share exclude each other");
    if (status == RP_OK && !session->helped && r->command && (r->completion || r->share))
        return rp_fail(err, RP_EARG, "help: --completion and --share are of the whole program: leave out %.40s",
                       r->command);
    return status;
}

rp_status rp_command_help(rp_session *session, int argc, char **argv, rp_error *err)
{
    static char wanted[] = "--help";
    char name[64];
    char *help_argv[] = {name, wanted, NULL};
    request r = {0};
    const rp_command *found = NULL;
    rp_status status = parse(session, argc, argv, &r, err);

    if (status != RP_OK || session->helped)
        return status;
    if (r.command)
        status = rp_command_find(&found, r.command, err);
    if (status != RP_OK)
        return status;
    if (r.share)
        return save_all(r.share, err);
    if (session->json && !r.man && !r.completion) {
        rp_usages_put_json(&session->out, found);
        return RP_OK;
    }
    session->helped = true; /* text, whatever else was asked for */
    if (r.completion)
        return complete(session, r.completion, err);
    if (r.man)
        rp_manual_page(&session->out, found);
    else if (!found)
        overview(&session->out);
    else if (snprintf(name, sizeof name, "%s", found->name) > 0)
        return found->main(session, 2, help_argv, err);
    return RP_OK;
}
