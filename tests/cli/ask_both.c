/* SPDX-License-Identifier: Apache-2.0
 * Stands in for `reprise` in the tests of the command line, and answers as it does; where reprise-verify has the
 * command too, that is asked the same, and its answer must be the same: lines, errors, exit code. What came of it is
 * counted in files of the folder $BOTH_LOG: `same` has a line an answer, `different` all of the two. The commands are
 * $BOTH_REPRISE and $BOTH_VERIFIER. tests/cli/same_verdicts.sh reads the counts. */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT = 99, TRIES = 3 };

typedef struct answer {
    int code, stream[2]; /* stdout and stderr, held in memory */
} answer;

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    perror(what);
    exit(CANNOT);
}

static const char *of_environment(const char *name)
{
    const char *value = getenv(name);

    must(value != NULL, name);
    return value;
}

/* A parent's last states and a step's tensors may take a replay, which only reprise can; a member is written to a file
 * once, and what stdin holds is read once. */
static bool both_can(int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "verify") != 0 && strcmp(argv[1], "inspect") != 0))
        return false;
    for (int i = 2; i < argc; i++) {
        const char *word = argv[i];

        if (strncmp(word, "--parent", 8) == 0 || strcmp(word, "--programs") == 0 || strcmp(word, "--step") == 0 ||
            strncmp(word, "-o", 2) == 0 || strncmp(word, "--out", 5) == 0 || strcmp(word, "--help") == 0 ||
            strcmp(word, "-h") == 0 || strncmp(word, "/dev/", 5) == 0 || strcmp(word, "-") == 0)
            return false;
    }
    return true;
}

static answer ask(const char *program, char **argv)
{
    answer a = {0, {memfd_create("stdout", MFD_CLOEXEC), memfd_create("stderr", MFD_CLOEXEC)}};
    int status = 0;
    pid_t pid;

    must(a.stream[0] >= 0 && a.stream[1] >= 0, "memfd_create");
    pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        if (dup2(a.stream[0], 1) == 1 && dup2(a.stream[1], 2) == 2)
            (void)execv(program, argv);
        _exit(CANNOT);
    }
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    a.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return a;
}

static void forget(const answer *a)
{
    (void)close(a->stream[0]);
    (void)close(a->stream[1]);
}

static size_t length_of(int fd)
{
    struct stat info;

    must(fstat(fd, &info) == 0, "fstat");
    return (size_t)info.st_size;
}

/* NULL when there is nothing. */
static const char *text_of(int fd)
{
    size_t size = length_of(fd);
    void *text = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : NULL;

    must(text != MAP_FAILED, "mmap");
    return text;
}

static bool same(const answer *a, const answer *b)
{
    for (int i = 0; i < 2; i++) {
        size_t size = length_of(a->stream[i]);

        if (size != length_of(b->stream[i]) ||
            (size && memcmp(text_of(a->stream[i]), text_of(b->stream[i]), size) != 0))
            return false;
    }
    return a->code == b->code;
}

static bool copy(int from, int to)
{
    const char *text = text_of(from);

    for (size_t left = length_of(from); left > 0;) {
        ssize_t n = write(to, text, left);

        if (n <= 0)
            return false;
        text += n;
        left -= (size_t)n;
    }
    return true;
}

static int log_file(const char *name)
{
    char path[4096];
    int fd, n = snprintf(path, sizeof path, "%s/%s", of_environment("BOTH_LOG"), name);

    must(n > 0 && (size_t)n < sizeof path, "BOTH_LOG");
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    must(fd >= 0, path);
    return fd;
}

static void note(const answer *reprise, const answer *verifier, char **argv, bool equal)
{
    int fd = log_file(equal ? "same" : "different");

    must(!equal || dprintf(fd, "%d %s\n", reprise->code, argv[1]) > 0, "same");
    if (!equal) {
        for (char **word = argv + 1; *word; word++)
            (void)dprintf(fd, "'%s' ", *word);
        must(dprintf(fd, "exit %d, reprise-verify %d\n", reprise->code, verifier->code) > 0, "different");
        for (int i = 0; i < 2; i++) {
            (void)dprintf(fd, "-- %s of reprise:\n", i ? "stderr" : "stdout");
            must(copy(reprise->stream[i], fd), "different");
            (void)dprintf(fd, "-- %s of reprise-verify:\n", i ? "stderr" : "stdout");
            must(copy(verifier->stream[i], fd), "different");
        }
    }
    (void)close(fd);
}

int main(int argc, char **argv)
{
    const char *reprise = of_environment("BOTH_REPRISE");
    bool equal = false;
    answer a;

    argv[0] = (char *)reprise;
    if (!both_can(argc, argv) || fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0)
        goto only_reprise;
    /* Answers say the second in which they were given, and the next may begin between the two: asked again. */
    for (int i = 0; i < TRIES && !equal; i++) {
        answer b;

        if (i)
            forget(&a);
        a = ask(reprise, argv);
        b = ask(of_environment("BOTH_VERIFIER"), argv);
        equal = same(&a, &b);
        if (equal || i == TRIES - 1)
            note(&a, &b, argv, equal);
        forget(&b);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (copy(a.stream[0], 1) && copy(a.stream[1], 2))
        return a.code;
    (void)signal(SIGPIPE, SIG_DFL); /* a full disk, a closed pipe: as reprise does */
only_reprise:
    (void)execv(reprise, argv);
    perror(reprise);
    return CANNOT;
}
