/* SPDX-License-Identifier: Apache-2.0
 * Gives every hostile archive to every command that takes one: it must be refused with the right exit code and the
 * member's name, in the memory that an honest archive takes and a stated amount more, and leave no file anywhere.
 * Usage: hostile REPRISE [long | table | NAME]: long adds the archives of gigabytes, table prints one row an archive.
 */
#define _DEFAULT_SOURCE   /* wait4 */
#define _XOPEN_SOURCE 700 /* nftw */
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/hostile.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { ARGUMENTS = 12, SECONDS = 120, EXTRA_KIB = 64 << 10 };

typedef struct command {
    const char *text; /* %A: the archive */
    bool structure;   /* only given archives that are refused: it would take others */
    bool accepts;     /* takes archives whose content alone is wrong: exit 0 */
    bool replays;     /* ends in an error that names the member, whatever is wrong */
} command;

static const command commands[] = {
    {"verify %A --allow-unsigned --trust me.pub.pem", false, true, false},
    {"verify %A --trust me.pub.pem", false, false, false},
    {"verify %A --trust me.pub.pem --json", false, false, false},
    {"inspect %A", false, false, false},
    {"inspect %A --member run/journal.bin -o out/member", false, false, false},
    {"inspect %A --step 1", false, false, false},
    {"inspect %A --step 1 --op 3 --threads 1", false, false, false},
    {"profile %A --skip 0 --steps 2 --threads 1", false, false, false},
    {"export %A --tensorboard out", false, false, false},
    {"replay %A --threads 1", false, false, true},
    {"predict %A --csv data.csv -o out/predictions.csv --threads 1", false, false, false},
    {"report %A -o out/report.html", false, false, false},
    {"diff %A honest.reprise --threads 1", false, false, false},
    {"diff honest.reprise %A --threads 1", false, false, false},
    {"log attach %A --proof honest.proof", true, false, false},
    {"log add models.log %A --key me.pem", true, false, false},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static char scratch[] = "/tmp/rp-hostile-XXXXXX", reprise[4096];
static long honest_kib[COMMANDS];
static size_t failures, runs;

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    perror(what);
    exit(1);
}

typedef struct outcome {
    int code; /* -1: killed by a signal */
    long kib;
    char text[4096]; /* what it wrote to both */
} outcome;

static void child(char **argv)
{
    int fd = creat("../output", 0600);

    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
        _exit(126);
    (void)close(fd);
    (void)alarm(SECONDS);
    (void)execv(reprise, argv);
    _exit(127);
}

/* Splits at spaces. */
static outcome run(const char *text, const char *archive)
{
    char words[400], *argv[ARGUMENTS] = {reprise};
    outcome o = {.code = -1};
    struct rusage usage;
    int status = 0, n = 1;
    size_t length;
    FILE *file;
    pid_t pid;

    (void)snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok(words, " "); word != NULL && n < ARGUMENTS - 1; word = strtok(NULL, " "))
        argv[n++] = strcmp(word, "%A") == 0 ? (char *)archive : word;
    pid = fork();
    if (pid == 0)
        child(argv);
    must(pid > 0 && wait4(pid, &status, 0, &usage) == pid, "fork");
    o.kib = usage.ru_maxrss;
    if (WIFEXITED(status))
        o.code = WEXITSTATUS(status);
    file = fopen("../output", "r");
    must(file != NULL, "output");
    length = fread(o.text, 1, sizeof o.text - 1, file);
    o.text[length] = '\0';
    (void)fclose(file);
    runs++;
    return o;
}

static void honest_run(const char *text)
{
    outcome o = run(text, "honest.reprise");

    if (o.code != 0) {
        (void)fprintf(stderr, "hostile: %s: exit %d: %s", text, o.code, o.text);
        exit(1);
    }
}

/* ---- what is in the file system ---- */

static uint64_t seen;

static int note(const char *path, const struct stat *info, int type, struct FTW *at)
{
    uint64_t hash = 1469598103934665603u;

    (void)type, (void)at;
    if (strstr(path, "/output") != NULL || S_ISDIR(info->st_mode))
        return 0;
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * 1099511628211u;
    hash = (hash ^ (uint64_t)info->st_size) * 1099511628211u;
    hash = (hash ^ (uint64_t)info->st_mtim.tv_nsec ^ (uint64_t)info->st_mtim.tv_sec << 30) * 1099511628211u;
    seen += hash ^ hash >> 29; /* a sum: in any order */
    return 0;
}

static uint64_t file_system(void)
{
    seen = access("/tmp/rp-hostile-escaped", F_OK) == 0;
    (void)nftw(scratch, note, 16, FTW_PHYS);
    return seen;
}

static int forget(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

/* ---- one archive ---- */

static void complain(const hostile_case *c, const command *what, const outcome *o, const char *why)
{
    failures++;
    (void)fprintf(stderr, "FAIL: %s: %s: %s (exit %d, %ld KiB): %.300s\n", c->name, what->text, why, o->code, o->kib,
                  o->text);
}

/* What is wrong with the outcome, or NULL. */
static const char *judge(const hostile_case *c, const command *what, const outcome *o, long limit)
{
    bool named = strstr(o->text, c->member) != NULL;

    if (o->code < 0 || o->code > 5)
        return "it was killed";
    if (strstr(o->text, "anitizer"))
        return "a sanitizer's report";
    if (!SANITIZED && o->kib > limit)
        return "it took too much memory";
    if (c->kind == HOSTILE_REFUSED && o->code != 4)
        return "it was not refused with 4";
    if (c->kind == HOSTILE_REFUSED && !named)
        return "its member is not named";
    if (c->kind == HOSTILE_CONTENT && what->accepts && o->code != 0)
        return "its hashes are right";
    if (c->kind == HOSTILE_RECIPE && what->accepts && (o->code != 4 || !named))
        return "it was not refused with 4, or its member is not named";
    if (c->kind != HOSTILE_REFUSED && what->replays && (o->code == 0 || !named))
        return "it was replayed, or its member is not named";
    return NULL;
}

static void make(const hostile_case *c)
{
    pid_t pid = fork(); /* its memory is not counted as ours */
    int status;

    if (pid == 0) {
        FILE *file = fopen("case.reprise", "w");

        must(file != NULL, "case.reprise");
        hostile_begin("honest.reprise");
        c->make(file);
        must(fclose(file) == 0, "case.reprise");
        _exit(0);
    }
    must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "making an archive");
}

static void drop_outputs(void)
{
    glob_t events = {0};

    (void)unlink("out/report.html"), (void)unlink("out/member"), (void)unlink("out/predictions.csv");
    if (glob("out/events.out.tfevents.*", 0, NULL, &events) == 0)
        for (size_t i = 0; i < events.gl_pathc; i++)
            (void)unlink(events.gl_pathv[i]);
    globfree(&events);
}

/* All commands, or, since they share the reader that refuses, one that verifies and one other by turns. */
static void try_all(const hostile_case *c, bool thorough, bool table)
{
    static size_t turn;
    long most = 0;
    int least_code = 9, most_code = 0;

    make(c);
    for (size_t i = 0; i < COMMANDS; i++) {
        uint64_t before = file_system();
        const char *why;
        outcome o;

        if (commands[i].structure && c->kind != HOSTILE_REFUSED)
            continue;
        if (!thorough && c->kind == HOSTILE_REFUSED && i > 0 && i != 1 + turn % (COMMANDS - 1))
            continue;
        o = run(commands[i].text, "case.reprise");
        why = judge(c, &commands[i], &o, honest_kib[i] + EXTRA_KIB);
        if (o.code == 0) /* the outputs it was asked for */
            drop_outputs();
        if (!why && file_system() != before)
            why = "it changed files";
        if (why)
            complain(c, &commands[i], &o, why);
        most = o.kib - honest_kib[i] > most ? o.kib - honest_kib[i] : most;
        least_code = o.code < least_code ? o.code : least_code;
        most_code = o.code > most_code ? o.code : most_code;
    }
    turn++;
    if (table)
        printf("%-24s %d to %d  %6ld KiB more  %s\n", c->name, least_code, most_code, most, c->member);
    (void)unlink("case.reprise");
}

/* ---- the honest archive ---- */

static void text_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    must(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, path);
}

static void prepare(void)
{
    char rows[4096] = "id,x,kind,y\n", folder[128];

    must(mkdtemp(scratch) != NULL && chdir(scratch) == 0, scratch);
    must(mkdir("tmp", 0700) == 0 && mkdir("a", 0700) == 0 && mkdir("a/work", 0700) == 0 && chdir("a/work") == 0 &&
             mkdir("out", 0700) == 0,
         "folders");
    (void)snprintf(folder, sizeof folder, "%s/tmp", scratch);
    must(setenv("TMPDIR", folder, 1) == 0, "TMPDIR");
    for (int i = 0; i < 60; i++)
        (void)snprintf(rows + strlen(rows), 40, "%d,%d.%d,%c,%s\n", i, i * 7 % 30, i % 10, 'a' + i % 3,
                       i * 7 % 30 > 14 ? "yes" : "no");
    text_file("data.csv", rows);
    text_file("recipe.yaml",
              "reprise: 1\nseed: 3\ndata: {csv: data.csv, target: y, positive: \"yes\", columns: {id: ignore}}\n"
              "model: {hidden: [4]}\ntrain: {epochs: 1, batch: 16}\n");
    honest_run("keygen me");
    honest_run("run recipe.yaml -o %A --key me.pem --threads 1");
    honest_run("log init models.log --origin example.com/models --key me.pem");
    honest_run("log add models.log %A --key me.pem");
    honest_run("log prove models.log %A -o honest.proof");
}

/* Each command's memory for the honest archive; what it writes goes again. */
static void measure_honest(void)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        outcome o = run(commands[i].text, "honest.reprise");

        honest_kib[i] = o.kib;
        if (o.code != 0) {
            (void)fprintf(stderr, "hostile: %s: exit %d: %s", commands[i].text, o.code, o.text);
            exit(1);
        }
    }
    drop_outputs();
}

int main(int argc, char **argv)
{
    static const hostile_group *const groups[] = {&hostile_headers, &hostile_members, &hostile_manifests,
                                                  &hostile_contents};
    const char *mode = argc > 2 ? argv[2] : "";
    bool slow = strcmp(mode, "long") == 0 || strcmp(mode, "table") == 0, one = *mode && !slow;
    size_t archives = 0;

    if (argc < 2 || realpath(argv[1], reprise) == NULL) {
        (void)fprintf(stderr, "usage: hostile REPRISE [long | table | NAME]\n");
        return 2;
    }
    prepare();
    measure_honest();
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < groups[g]->count; i++) {
            const hostile_case *c = &groups[g]->cases[i];

            if (one ? strcmp(c->name, mode) != 0 : c->slow && !slow)
                continue;
            try_all(c, *mode, strcmp(mode, "long") != 0 && *mode);
            archives++;
        }
    must(chdir("/") == 0, "/");
    (void)nftw(scratch, forget, 16, FTW_DEPTH | FTW_PHYS);
    printf("%zu archives, %zu commands run, %zu failures\n", archives, runs, failures);
    return failures != 0;
}
