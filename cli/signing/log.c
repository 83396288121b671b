/* SPDX-License-Identifier: Apache-2.0
 * reprise log: the command lines of its actions. Each is a small command of its own, with options and help. */
#include "cli/signing/log.h"

#include <string.h>

#include "base/text.h"

typedef struct action {
    char name[20]; /* as errors call it */
    const char *synopsis, *about, *example;
    const char *operand[2];
    const char *options; /* letters of the options it takes; a capital one is required */
    rp_log_action *run;
} action;

/* k --key, p --passphrase-file, o --origin, t --trust, f --proof, w --output and --force, r --force alone */
static const action actions[] = {
    {"log init",
     "log init DIR --origin NAME --key KEY.pem",
     "Begins a log: a folder that holds the ids of archives and a signed checkpoint. NAME is the log's name in the "
     "world,\n"
     "such as example.com/credit-models; it cannot be changed later, and neither can the key.",
     "  reprise log init models.log --origin example.com/models --key log.pem",
     {"DIR"},
     "OKp",
     rp_log_command_init},
    {"log add",
     "log add DIR ARCHIVE --key KEY.pem [--trust PUB.pem]",
     "Checks the archive, appends its id to the log and signs a new checkpoint. With --trust the archive's signature "
     "is\n"
     "checked too. An archive that is in the log already is not added again.",
     "  reprise log add models.log loans.reprise --key log.pem --trust me.pub.pem",
     {"DIR", "ARCHIVE"},
     "Kpt",
     rp_log_command_add},
    {"log prove",
     "log prove DIR ARCHIVE|ID|PREDICTIONS [-o PROOF]",
     "Writes the proof that an archive, or a CSV of predictions, is in the log, as the log is now. Who has the\n"
     "proof, the file and the log's public key can check it without the log: reprise log check.",
     "  reprise log prove models.log loans.reprise -o loans.tlog-proof",
     {"DIR", "ARCHIVE, ID or PREDICTIONS"},
     "tw",
     rp_log_command_prove},
    {"log consistency",
     "log consistency DIR OLD_CHECKPOINT --trust PUB.pem [-o PROOF]",
     "Writes the proof that the log still begins with all that it held when OLD_CHECKPOINT was signed: nothing was "
     "dropped,\n"
     "changed or put in between since. Exit 4 where that is not so.",
     "  cp models.log/checkpoint january\n  reprise log consistency models.log january --trust log.pub.pem -o "
     "since-january",
     {"DIR", "OLD_CHECKPOINT"},
     "Tw",
     rp_log_command_consistency},
    {"log check",
     "log check ARCHIVE|ID|PREDICTIONS|OLD_CHECKPOINT --proof PROOF --trust PUB.pem",
     "Checks a proof without the log: that an archive, an id or a CSV of predictions is in it, or that\n"
     "it still begins with what "
     "OLD_CHECKPOINT\n"
     "covers, and that the log's key signed. What it is of, the proof says.",
     "  reprise log check loans.reprise --proof loans.tlog-proof --trust log.pub.pem",
     {"ARCHIVE, ID, PREDICTIONS or OLD_CHECKPOINT"},
     "FT",
     rp_log_command_check},
    {"log attach",
     "log attach ARCHIVE --proof PROOF [--force]",
     "Puts a proof into the archive it is about, in signatures/, so that reprise verify finds it. Nothing else of the\n"
     "archive changes, its id included. --force replaces an older proof by the same log.",
     "  reprise log attach loans.reprise --proof loans.tlog-proof",
     {"ARCHIVE"},
     "Fr",
     rp_log_command_attach},
    {"log verify",
     "log verify DIR --trust PUB.pem",
     "Computes the whole log again and compares it with its signed checkpoint. Whether entries were dropped before "
     "that was\n"
     "signed only an older checkpoint can tell: reprise log consistency.",
     "  reprise log verify models.log --trust log.pub.pem",
     {"DIR"},
     "T",
     rp_log_command_verify},
    {"log list",
     "log list DIR [--trust PUB.pem]",
     "Lists the ids in the log, the first one first; of a log of predictions its records.",
     "  reprise log list models.log",
     {"DIR"},
     "t",
     rp_log_command_list},
};
enum { LOG = 4 }; /* "log " */

static size_t find_options(const action *a, rp_log_request *r, rp_option out[8])
{
    const struct {
        char letter;
        rp_option option;
    } all[] = {
        {'o', {0, "origin", RP_OPTION_TEXT, "NAME", "the log's name, e.g. example.com/models", &r->origin, false}},
        {'k', {0, "key", RP_OPTION_TEXT, "KEY.pem", "the log's private key", &r->key, false}},
        {'p',
         {0, "passphrase-file", RP_OPTION_TEXT, "FILE", "first line: the passphrase of KEY.pem", &r->passphrase,
          false}},
        {'f',
         {0, "proof", RP_OPTION_TEXT, "PROOF", "the proof, from reprise log prove or consistency", &r->proof, false}},
        {'t',
         {0, "trust", RP_OPTION_LIST, "PUB.pem",
          a->run == rp_log_command_add ? "a public key whose signature on the archive counts" : "the log's public key",
          &r->trust, false}},
        {'w', {'o', "output", RP_OPTION_TEXT, "FILE", "write the proof to FILE", &r->out, false}},
        {'w', {0, "force", RP_OPTION_FLAG, NULL, "replace FILE", &r->force, false}},
        {'r', {0, "force", RP_OPTION_FLAG, NULL, "replace what is there", &r->force, false}},
    };
    size_t n = 0;

    for (size_t i = 0; i < RP_COUNT(all); i++) {
        bool required = strchr(a->options, all[i].letter - 'a' + 'A') != NULL;

        if (!required && strchr(a->options, all[i].letter) == NULL)
            continue;
        out[n] = all[i].option;
        out[n++].required = required;
    }
    return n;
}

static rp_status overview(rp_session *session, int argc, char **argv, rp_error *err)
{
    static const char *const names[] = {"ACTION"};
    const rp_usage usage = {
        "log ACTION [operands] [options]        reprise log ACTION --help",
        "Keeps a log of runs that cannot forget: an append-only Merkle tree of archive ids whose head is signed. Who "
        "keeps an\n"
        "old checkpoint can have it shown that no run has been dropped since. docs/log.md gives every byte.\n\n"
        "  init         begin a log\n  add          append an archive\n  prove        prove that an archive is in the "
        "log\n"
        "  consistency  prove that nothing was dropped since a checkpoint\n  check        check a proof without the "
        "log\n"
        "  attach       put a proof into its archive\n  verify       compute the log again\n  list         list the "
        "ids",
        "  reprise log init models.log --origin example.com/models --key log.pem\n"
        "  reprise log add models.log loans.reprise --key log.pem\n"
        "  reprise log prove models.log loans.reprise -o loans.tlog-proof\n"
        "  reprise log check loans.reprise --proof loans.tlog-proof --trust log.pub.pem",
        names,
        1,
        NULL,
        0};
    const char *operand = NULL, *actions_there[RP_COUNT(actions)];

    for (size_t i = 0; i < RP_COUNT(actions); i++)
        actions_there[i] = actions[i].name + LOG;
    rp_options_actions(session, actions_there, RP_COUNT(actions));
    return rp_options_parse(session, &usage, argc, argv, &operand, err);
}

static rp_status unknown(const char *name, rp_error *err)
{
    const char *names[RP_COUNT(actions)], *near;
    char word[40];

    for (size_t i = 0; i < RP_COUNT(actions); i++)
        names[i] = actions[i].name + LOG;
    rp_printable(word, sizeof word, name, strlen(name));
    near = rp_nearest(word, names, RP_COUNT(actions));
    return rp_fail(err, RP_EARG, "log: unknown action %s%s%s%s; see reprise log --help", word,
                   near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
}

static rp_status run(rp_session *session, const action *a, int argc, char **argv, rp_error *err)
{
    rp_log_request r = {.out = NULL};
    rp_option options[8];
    size_t n = find_options(a, &r, options);
    const rp_usage usage = {a->synopsis, a->about, a->example, a->operand, a->operand[1] ? 2 : 1, options, n};
    char name[sizeof a->name];
    rp_status status;

    memcpy(name, a->name, sizeof name);
    argv[0] = name;
    status = rp_options_parse(session, &usage, argc, argv, r.operand, err);
    return status == RP_OK && !session->helped ? a->run(session, &r, err) : status;
}

rp_status rp_command_log(rp_session *session, int argc, char **argv, rp_error *err)
{
    rp_status status;

    if (argc < 2 || argv[1][0] == '-') {
        status = overview(session, argc, argv, err);
        return status == RP_OK && !session->helped ? unknown("", err) : status;
    }
    for (size_t i = 0; i < RP_COUNT(actions); i++)
        if (strcmp(argv[1], actions[i].name + LOG) == 0)
            return run(session, &actions[i], argc - 1, argv + 1, err);
    return unknown(argv[1], err);
}
