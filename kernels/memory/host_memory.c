/* SPDX-License-Identifier: Apache-2.0
 * Linux: MemAvailable of proc(5), and version 2 of control groups (the kernel's Documentation/admin-guide/cgroup-v2),
 * whose limits also bind containers. What cannot be read limits nothing. */
#define _DEFAULT_SOURCE /* madvise */
#include "kernels/memory/host_memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The number behind a word at the beginning of a line, in units; SIZE_MAX: there is none. word "": the first line's. */
static size_t number_in(const char *path, const char *word, size_t unit)
{
    FILE *file = fopen(path, "re");
    const size_t length = strlen(word);
    char line[256];
    unsigned long long value;
    size_t found = SIZE_MAX;

    while (file && found == SIZE_MAX && fgets(line, sizeof line, file))
        if (strncmp(line, word, length) == 0 && sscanf(line + length, "%llu", &value) == 1)
            found = value > SIZE_MAX / unit ? SIZE_MAX : (size_t)value * unit;
    if (file)
        (void)fclose(file);
    return found;
}

/* What one group leaves; pages of files in its use can be had back. */
static size_t group_leaves(const char *group)
{
    char path[512];
    size_t most, used, files;

    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
    most = number_in(path, "", 1); /* "max": no number */
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.current", group);
    used = number_in(path, "", 1);
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", group);
    files = number_in(path, "file ", 1);
    if (most == SIZE_MAX || used == SIZE_MAX)
        return SIZE_MAX;
    used -= files < used ? files : 0;
    return used < most ? most - used : 0;
}

/* The process's group and all above it. */
static size_t groups_leave(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[400], *group = NULL;
    size_t least = SIZE_MAX;

    while (file && !group && fgets(line, sizeof line, file))
        if (strncmp(line, "0::/", 4) == 0)
            group = line + 3;
    if (file)
        (void)fclose(file);
    if (!group)
        return SIZE_MAX;
    for (group[strcspn(group, "\n")] = '\0';; *strrchr(group, '/') = '\0') {
        const size_t leaves = group_leaves(strcmp(group, "/") == 0 ? "" : group);

        least = leaves < least ? leaves : least;
        if (!strrchr(group, '/'))
            return least;
    }
}

size_t rp_host_memory_available(void)
{
    const size_t available = number_in("/proc/meminfo", "MemAvailable:", 1024);
    const size_t swap = number_in("/proc/meminfo", "SwapFree:", 1024);
    const size_t host = available == SIZE_MAX || swap == SIZE_MAX ? available : available + swap;
    const size_t groups = groups_leave();

    return host < groups ? host : groups;
}

void rp_host_memory_prefer_large(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t before = -(uintptr_t)memory % RP_LARGE_PAGE,
                 pages = bytes > before ? (bytes - before) / RP_LARGE_PAGE : 0;

    if (pages > 0)
        (void)madvise((char *)memory + before, pages * RP_LARGE_PAGE, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}
