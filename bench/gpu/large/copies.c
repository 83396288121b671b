/* SPDX-License-Identifier: Apache-2.0
 * Digests of a large tensor where it lies, and its copies to the host, from it and beside it. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "audit/digest/digest.h"
#include "cases.h"
#include "kernels/limits.h"

static rp_status same_digests(size_t leaf, size_t count, rp_device_message *message, unsigned char *digest,
                              double *seconds, bool *same)
{
    unsigned char *bytes = malloc(leaf + 1);
    rp_digest expected;
    rp_status status = bytes != NULL ? RP_OK : rp_fail(&l.err, RP_ENOMEM, "no memory for a leaf");

    for (size_t i = 0; i < count; i++)
        message[i] = (rp_device_message){(char *)a + i * leaf, (uint32_t)leaf, 0, RP_F32};
    *seconds = rp_seconds_now();
    if (status == RP_OK)
        status = rp_device_hash(l.device, digest, message, count, NULL, &l.err);
    if (status == RP_OK)
        status = rp_device_synchronize(l.device, NULL, &l.err);
    *seconds = rp_seconds_now() - *seconds;
    for (size_t i = 0; i < count && status == RP_OK; i += 1 + (i % (count / 16) == 0 ? 0 : count / 16 - 2)) {
        bytes[0] = 0;
        status = rp_device_read(l.device, bytes + 1, (char *)a + i * leaf, leaf, NULL, &l.err);
        if (status == RP_OK)
            status = rp_sha256(&expected, bytes, leaf + 1, &l.err);
        *same = *same && memcmp(&expected, digest + i * 32, 32) == 0;
    }
    free(bytes);
    return status;
}

/* Leaves of all of a, those compared in pairs about each sixteenth. */
void large_digests(void)
{
    const char *const name = "SHA-256 of 16 GiB in leaves";
    const size_t leaf = full * sizeof(float) / 16384 < 1024 ? 1024 : full * sizeof(float) / 16384;
    const size_t count = full * sizeof(float) / leaf;
    rp_device_message *message = calloc(count, sizeof *message);
    unsigned char *digest = calloc(count, 32);
    double seconds = 0;
    bool same = true;
    rp_status status = RP_OK;

    if (!large_begins(&l, name))
        goto end;
    if (message == NULL || digest == NULL)
        status = rp_fail(&l.err, RP_ENOMEM, "no memory for %zu digests", count);
    if (status == RP_OK)
        status = same_digests(leaf, count, message, digest, &seconds, &same);
    if (status == RP_OK)
        large_print(&l, name, seconds, (double)leaf * (double)count, same);
    else
        large_failed(&l, name, status);
end:
    free(message);
    free(digest);
}

typedef rp_status copying(void *there, void *here, size_t bytes);

static rp_status read_all(void *there, void *here, size_t bytes)
{
    return rp_device_read(l.device, here, there, bytes, NULL, &l.err);
}

static rp_status download(void *there, void *here, size_t bytes)
{
    return rp_device_download(l.device, here, there, bytes, NULL, &l.err);
}

static rp_status upload(void *there, void *here, size_t bytes)
{
    return rp_device_upload(l.device, there, here, bytes, NULL, &l.err);
}

static rp_status copy_there(void *there, void *here, size_t bytes)
{
    (void)here;
    return rp_device_copy(l.device, there, a, bytes, NULL, &l.err);
}

static bool transfer(const char *name, copying *copy, void *there, void *here, const void *expected, size_t bytes)
{
    double begin;
    bool same = true;
    rp_status status;

    if (!large_begins(&l, name))
        return false;
    status = copy == read_all || copy == download ? RP_OK : large_poison(&l, there, bytes);
    begin = rp_seconds_now();
    if (status == RP_OK)
        status = copy(there, here, bytes);
    if (status == RP_OK)
        status = rp_device_synchronize(l.device, NULL, &l.err);
    begin = rp_seconds_now() - begin;
    if (status == RP_OK)
        status = large_same_bytes(&l, there, expected, NULL, bytes, &same);
    if (status == RP_OK && copy == download)
        same = same && memcmp(here, expected, bytes) == 0;
    if (status == RP_OK)
        large_print(&l, name, begin, (double)bytes, same);
    else
        large_failed(&l, name, status);
    return status == RP_OK;
}

/* Memory of the host in pages as large as it has, since there are gigabytes of it. */
static void *host_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

void large_copies(void)
{
    const size_t bytes = side * side * sizeof(float), some = 2 * half + 4 * more;
    void *second;

    host = host_memory(bytes);
    second = host_memory(some);
    if (host == NULL || second == NULL) {
        fprintf(stderr, "large: no memory of the host for 20 GiB: copies and sums of all are skipped\n");
        return;
    }
    if (!transfer("read of 16 GiB", read_all, a, host, host, bytes)) {
        (void)munmap(host, bytes);
        host = NULL;
        return;
    }
    (void)transfer("download of 4 GiB", download, a, second, host, some);
    (void)transfer("upload of 8 GiB", upload, o, host, host, 2 * some);
    (void)transfer("copy on the device, 16 GiB", copy_there, o, NULL, host, bytes);
    (void)munmap(second, some);
}
