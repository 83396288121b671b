/* SPDX-License-Identifier: Apache-2.0
 * The folder of resume points: made with the first point, gone with the last step. */
#include "audit/record/resume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

enum { NAME = 64, PREFIX = 6, LOCK_TRIES = 60 };
static const char point_prefix[PREFIX + 1] = "point-";

struct rp_resume {
    char *folder;
    int fd; /* of the folder, locked; -1: there is none yet */
    rp_resume_identity identity;
    rp_resume_point point; /* loaded */
    bool loaded, kept,
        taken; /* kept: the spool of the present writer is the folder's; taken: the folder is another's */
    rp_archive_writer *writer; /* loaded with the point */
    uint64_t last, before;     /* steps of the points that are good; 0: none */
    char passed_over[256];
};

static char *folder_of(const char *path)
{
    size_t length = strlen(path);
    char *folder = rp_malloc(length + sizeof ".resume");

    if (folder) {
        memcpy(folder, path, length);
        memcpy(folder + length, ".resume", sizeof ".resume");
    }
    return folder;
}

/* FOLDER/name, to be freed. */
static char *inside(const rp_resume *r, const char *name)
{
    size_t folder = strlen(r->folder), length = strlen(name);
    char *path = rp_malloc(folder + length + 2);

    if (path) {
        memcpy(path, r->folder, folder);
        path[folder] = '/';
        memcpy(path + folder + 1, name, length + 1);
    }
    return path;
}

static char *point_path(const rp_resume *r, uint64_t step)
{
    char name[NAME];

    (void)snprintf(name, sizeof name, "%s%012" PRIu64, point_prefix, step);
    return inside(r, name);
}

/* The step in a point's name; 0: it is no point. */
static uint64_t step_of(const char *name)
{
    char again[NAME];
    unsigned long long step;

    if (strncmp(name, point_prefix, PREFIX) != 0)
        return 0;
    step = strtoull(name + PREFIX, NULL, 10);
    (void)snprintf(again, sizeof again, "%s%012llu", point_prefix, step);
    return strcmp(again, name) == 0 ? step : 0;
}

/* The largest step below `below` that has a point; 0: none. */
static rp_status newest(const char *folder, uint64_t below, uint64_t *found, rp_error *err)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    int failure = errno;

    *found = 0;
    if (!directory && failure == ENOENT)
        return RP_OK;
    for (errno = 0; directory && (entry = readdir(directory)) != NULL; errno = 0) {
        uint64_t step = step_of(entry->d_name);

        if (step < below && step > *found)
            *found = step;
    }
    if (directory) {
        failure = errno; /* of readdir */
        (void)closedir(directory);
    }
    if (failure == ENOMEM)
        return rp_no_memory(err);
    return failure ? rp_fail(err, RP_EIO, "%s: cannot list the folder: %s", folder, strerror(failure)) : RP_OK;
}

/* Points but these two, and temporaries of points, go: whoever holds the lock made them or inherits them. */
static void sweep(const rp_resume *r, uint64_t keep, uint64_t keep_too)
{
    DIR *directory = opendir(r->folder);
    const struct dirent *entry;

    while (directory && (entry = readdir(directory)) != NULL) {
        uint64_t step = step_of(entry->d_name);

        if (strncmp(entry->d_name, point_prefix, PREFIX) == 0 && (step == 0 || (step != keep && step != keep_too)))
            (void)unlinkat(r->fd, entry->d_name, 0);
    }
    if (directory)
        (void)closedir(directory);
}

bool rp_resume_present(const char *path)
{
    char *folder = folder_of(path);
    uint64_t step = 0;
    bool present = !folder || newest(folder, UINT64_MAX, &step, NULL) != RP_OK || step != 0;

    rp_free(folder);
    return present;
}

/* A process that was just killed may hold its lock until its last write has ended. */
static bool lock(int fd)
{
    const struct timespec pause = {0, 50 * 1000 * 1000};

    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return true; /* a file system without locks must do without */
        if (tries == LOCK_TRIES)
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

/* A point is believed, and what follows from it is signed: nobody else may have been able to put it there. */
static rp_status is_ours(const rp_resume *r, rp_error *err)
{
    struct stat info;

    if (fstat(r->fd, &info) != 0)
        return rp_fail(err, RP_EIO, "%s: cannot open: %s", r->folder, strerror(errno));
    if (info.st_uid != geteuid())
        return rp_fail(err, RP_EIO, "%s: belongs to another user: no resume point in it is taken or made", r->folder);
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return rp_fail(err, RP_EIO, "%s: others may write there: no resume point in it is taken or made", r->folder);
    return RP_OK;
}

/* Opens and locks the folder. No folder is no error: fd stays -1. */
static rp_status hold(rp_resume *r, rp_error *err)
{
    rp_status status;

    r->fd = open(r->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r->fd < 0)
        return errno == ENOENT ? RP_OK : rp_fail(err, RP_EIO, "%s: cannot open: %s", r->folder, strerror(errno));
    status = is_ours(r, err);
    if (status == RP_OK && !lock(r->fd))
        status = rp_fail(err, RP_EIO, "%s: another process is at this run", r->folder);
    if (status == RP_OK)
        return RP_OK;
    close(r->fd);
    r->fd = -1;
    return status;
}

static rp_status found_points(const rp_resume *r, uint64_t step, rp_error *err)
{
    return rp_fail(err, RP_EEXIST,
                   "%s: a run was interrupted after step %" PRIu64 ": add --resume to go on with it, or --force "
                   "to drop it and start again",
                   r->folder, step);
}

static rp_status load_at(rp_resume *r, uint64_t step, rp_error *err)
{
    char *path = point_path(r, step), *spool = inside(r, "spool");
    rp_status status = path && spool ? RP_OK : rp_no_memory(err);

    if (status == RP_OK)
        status = rp_resume_point_read(&r->point, &r->identity, path, err);
    if (status == RP_OK && r->point.step != step)
        status = rp_fail(err, RP_EHASH, "%s: damaged: it is of step %" PRIu64, path, r->point.step);
    if (status == RP_OK)
        status = rp_archive_writer_reopen(&r->writer, spool, r->point.spooled, r->point.member, r->point.members, err);
    if (status != RP_OK)
        rp_resume_point_free(&r->point);
    rp_free(spool);
    rp_free(path);
    return status;
}

/* The newest point that is whole. Cutting the spool for an older point takes nothing from a newer one that is of use.
 */
static rp_status load(rp_resume *r, rp_error *err)
{
    uint64_t step = UINT64_MAX;
    rp_status status = RP_EHASH;
    rp_error why = {0};

    while (status == RP_EHASH) {
        rp_status listed = newest(r->folder, step, &step, err);

        if (listed != RP_OK)
            return listed;
        if (step == 0)
            break;
        status = load_at(r, step, &why);
        if (status == RP_EHASH && !*r->passed_over)
            (void)snprintf(r->passed_over, sizeof r->passed_over, "%.*s", (int)sizeof r->passed_over - 1, why.text);
    }
    if (status == RP_EHASH)
        return rp_fail(err, RP_EHASH, "%s: no resume point is whole: --force instead of --resume starts again",
                       r->passed_over);
    if (status != RP_OK) {
        if (err)
            *err = why;
        return status;
    }
    r->loaded = r->kept = true;
    r->last = step;
    return RP_OK;
}

static rp_status look(rp_resume *r, bool resume, bool force, rp_error *err)
{
    uint64_t step = 0;
    rp_status status = hold(r, err);

    if (status == RP_OK && r->fd >= 0)
        status = newest(r->folder, UINT64_MAX, &step, err);
    if (status != RP_OK || r->fd < 0)
        return status;
    if (step && resume)
        return load(r, err);
    if (step && !force)
        return found_points(r, step, err);
    rp_resume_remove(r);
    return RP_OK;
}

rp_status rp_resume_open(rp_resume **out, const char *path, const rp_resume_identity *identity, bool resume, bool force,
                         rp_error *err)
{
    rp_resume *r = rp_calloc(1, sizeof *r);
    rp_status status = RP_OK;

    *out = NULL;
    if (!r)
        return rp_no_memory(err);
    r->fd = r->point.fd = -1;
    r->identity = *identity;
    r->folder = folder_of(path);
    status = r->folder ? look(r, resume, force, err) : rp_no_memory(err);
    if (status != RP_OK)
        rp_resume_free(r);
    else
        *out = r;
    return status;
}

void rp_resume_tidy(const char *path)
{
    const rp_resume_identity none = {0};
    rp_resume *r;

    /* looking at a folder without points removes it, and points are an error here */
    if (rp_resume_open(&r, path, &none, false, false, NULL) == RP_OK)
        rp_resume_free(r);
}

const rp_resume_point *rp_resume_loaded(const rp_resume *r)
{
    return r->loaded ? &r->point : NULL;
}

rp_archive_writer *rp_resume_take_writer(rp_resume *r)
{
    rp_archive_writer *writer = r->writer;

    r->writer = NULL;
    return writer;
}

const char *rp_resume_passed_over(const rp_resume *r)
{
    return r->passed_over;
}

uint64_t rp_resume_step(const rp_resume *r)
{
    return r->last;
}

/* The folder, and in it the writer's spool. */
static rp_status settle(rp_resume *r, rp_archive_writer *writer, rp_error *err)
{
    char *spool;
    uint64_t step = 0;
    rp_status status = RP_OK;

    if (r->taken)
        return rp_fail(err, RP_EIO, "%s: another process is at this run", r->folder);
    if (r->fd < 0) {
        if (mkdir(r->folder, 0700) != 0 && errno != EEXIST)
            return rp_fail(err, RP_EIO, "%s: cannot make the folder: %s", r->folder, strerror(errno));
        rp_file_sync_folder(r->folder);
        status = hold(r, err);
        if (status == RP_OK && r->fd < 0)
            status = rp_fail(err, RP_EIO, "%s: the folder is gone", r->folder);
        if (status == RP_OK)
            status = newest(r->folder, UINT64_MAX, &step, err);
        if (status == RP_OK && step)
            status = rp_fail(err, RP_EIO, "%s: another run left its points here meanwhile", r->folder);
        r->taken = status != RP_OK;
    }
    if (status != RP_OK || r->kept)
        return status;
    spool = inside(r, "spool");
    status = spool ? rp_archive_writer_keep(writer, spool, err) : rp_no_memory(err);
    rp_free(spool);
    r->kept = status == RP_OK;
    return status;
}

/* What the writer's table of members says, in a list of the point's own. */
static rp_status list_members(rp_resume_point *point, rp_archive_writer *writer, rp_error *err)
{
    point->spooled = rp_archive_writer_spooled(writer);
    point->members = rp_archive_writer_member_count(writer);
    point->member = rp_calloc(point->members ? point->members : 1, sizeof *point->member);
    if (!point->member)
        return rp_no_memory(err);
    for (size_t i = 0; i < point->members; i++)
        point->member[i] = *rp_archive_writer_member(writer, i);
    return RP_OK;
}

rp_status rp_resume_save(rp_resume *r, rp_resume_point *point, rp_archive_writer *writer, rp_error *err)
{
    char *path;
    rp_status status;

    if (point->step == r->last)
        return RP_OK;
    path = point_path(r, point->step);
    status = path ? RP_OK : rp_no_memory(err);
    if (r->loaded) { /* what was read is in the run by now */
        rp_resume_point_free(&r->point);
        r->loaded = false;
    }
    if (status == RP_OK)
        status = settle(r, writer, err);
    if (status == RP_OK)
        status = rp_archive_writer_sync(writer, err);
    if (status == RP_OK)
        status = list_members(point, writer, err);
    if (status == RP_OK)
        status = rp_resume_point_write(point, &r->identity, path, err);
    rp_free(point->member);
    point->member = NULL;
    rp_free(path);
    if (status != RP_OK)
        return status;
    r->before = r->last;
    r->last = point->step;
    sweep(r, r->last, r->before);
    return RP_OK;
}

/* Points go first: one without its spool would be taken for damaged, a spool without a point for nothing. */
void rp_resume_remove(rp_resume *r)
{
    uint64_t step;

    if (r->fd < 0)
        return;
    sweep(r, 0, 0);
    if (newest(r->folder, UINT64_MAX, &step, NULL) == RP_OK && step == 0)
        (void)unlinkat(r->fd, "spool", 0);
    (void)rmdir(r->folder);
    rp_file_sync_folder(r->folder);
    close(r->fd);
    r->fd = -1;
    r->kept = false;
    r->last = r->before = 0;
}

void rp_resume_free(rp_resume *r)
{
    uint64_t step;

    if (!r)
        return;
    if (r->fd >= 0 && newest(r->folder, UINT64_MAX, &step, NULL) == RP_OK && step == 0)
        rp_resume_remove(r); /* a folder in which no point was ever finished */
    if (r->fd >= 0)
        close(r->fd);
    rp_archive_writer_free(r->writer);
    rp_resume_point_free(&r->point);
    rp_free(r->folder);
    rp_free(r);
}
