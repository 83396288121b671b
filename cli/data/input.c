/* SPDX-License-Identifier: Apache-2.0
 * Tables as the command takes them: a file or standard input, plain, or packed by gzip or zstd, which libarchive takes
 * apart as it comes. What is packed is untrusted: it may be as large as a plain file may, and no more than a hundred
 * times what was read for it, so that a small file cannot fill the memory. */
#include "cli/data/input.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { WINDOW = 1 << 16, RATIO = 100, ROOM = 16 << 20 };

typedef enum packing { PLAIN, GZIP, ZSTD } packing;

typedef struct source {
    int fd;
    const char *name;
    packing packing;
    unsigned char window[WINDOW];
    size_t held; /* bytes at the window's beginning that were looked at and not yet given */
    uint64_t taken;
    unsigned char tail[8]; /* the last bytes read: of gzip what the contents are checked by */
    size_t limit, given;   /* bytes that may be handed on, and that were */
    uint32_t crc;          /* of those of gzip */
    rp_file_taker take;
    void *taker;
    bool standard;
} source;

/* ---- bytes ---- */

static void keep_tail(source *s, const unsigned char *bytes, size_t size)
{
    if (size >= sizeof s->tail) {
        memcpy(s->tail, bytes + size - sizeof s->tail, sizeof s->tail);
        return;
    }
    memmove(s->tail, s->tail + size, sizeof s->tail - size);
    memcpy(s->tail + sizeof s->tail - size, bytes, size);
}

/* Fills the window behind what it holds. Returns bytes read, 0 at the end, -1 with errno. */
static ssize_t fill(source *s)
{
    ssize_t got;

    do
        got = read(s->fd, s->window + s->held, sizeof s->window - s->held);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        keep_tail(s, s->window + s->held, (size_t)got);
        s->taken += (uint64_t)got;
        s->held += (size_t)got;
    }
    return got;
}

static rp_status fail_read(const source *s, rp_error *err)
{
    return rp_fail(err, RP_EIO, "%s: cannot read: %s", s->name, strerror(errno));
}

const char *rp_input_name(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0 ? "standard input" : path;
}

static rp_status begin(source *s, const char *path, rp_error *err)
{
    struct stat info;
    const bool standard = strcmp(path, "-") == 0;
    ssize_t got = 1;

    s->name = rp_input_name(path);
    s->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &info) != 0 || (!standard && !S_ISREG(info.st_mode)))
        return RP_OK; /* it is read as a plain file, which says what is wrong */
    if (standard && isatty(s->fd))
        return rp_fail(err, RP_EIO,
                       "standard input is a terminal: expected a table through a pipe, as in "
                       "`zcat rows.csv.gz | reprise data -`");
    s->standard = standard;
    while (s->held < 4 && (got = fill(s)) > 0)
        continue;
    if (got < 0)
        return fail_read(s, err);
    if (s->held >= 2 && memcmp(s->window, "\x1f\x8b", 2) == 0)
        s->packing = GZIP;
    else if (s->held >= 4 && memcmp(s->window, "\x28\xb5\x2f\xfd", 4) == 0)
        s->packing = ZSTD;
    return RP_OK;
}

static rp_status hand_on(source *s, const void *bytes, size_t size, rp_error *err)
{
    if (size > s->limit - s->given)
        return rp_fail(err, RP_EDATA, "%s: larger than the limit of %zu bytes%s", s->name, s->limit,
                       s->packing == PLAIN ? "" : " when unpacked");
    if (s->packing != PLAIN && s->given + size > ROOM + RATIO * s->taken)
        return rp_fail(
            err, RP_EDATA,
            "%s: unpacks to more than %d times its size, which no table does: if it is meant, unpack it first", s->name,
            RATIO);
    s->given += size;
    return s->take(s->taker, bytes, size, err);
}

static rp_status read_plain(source *s, rp_error *err)
{
    rp_status status = RP_OK;
    ssize_t got = 1;

    while (status == RP_OK && got > 0) {
        status = hand_on(s, s->window, s->held, err);
        s->held = 0;
        if (status == RP_OK && (got = fill(s)) < 0)
            status = fail_read(s, err);
    }
    return status;
}

/* ---- packed ---- */

static la_ssize_t give(struct archive *a, void *arg, const void **out)
{
    source *s = arg;
    size_t held = s->held;

    if (held == 0) {
        if (fill(s) < 0) {
            archive_set_error(a, errno, "cannot read: %s", strerror(errno));
            return -1;
        }
        held = s->held;
    }
    s->held = 0;
    *out = s->window;
    return (la_ssize_t)held;
}

static void crc32_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xEDB88320) : 0);
    }
}

/* crc: of what came before; 0 at the beginning. */
static uint32_t crc32_more(const uint32_t table[256], uint32_t crc, const unsigned char *bytes, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ bytes[i]) & 255] ^ crc >> 8;
    return ~crc;
}

static uint32_t little(const unsigned char *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* libarchive leaves RFC 1952's checksum and length unread. They are those of the last member, so that there must be one
 * alone: several would be unpacked without proof that none is damaged. */
static rp_status check_gzip(const source *s, rp_error *err)
{
    if (little(s->tail) == s->crc && little(s->tail + 4) == (uint32_t)s->given)
        return RP_OK;
    return rp_fail(err, RP_EDATA,
                   "%s: gzip's checksum of the contents differs: the file is damaged, or is several ones in one; "
                   "unpack it with gunzip, which tells which",
                   s->name);
}

/* What libarchive says of nothing is that it has no format (EILSEQ where no error is named for that); and it unpacks
 * what was packed twice at once, whose first checksum nobody then holds against anything. */
static rp_status refuse(const source *s, struct archive *a, rp_error *err)
{
    const char *why = archive_error_string(a);

    if (archive_errno(a) == EILSEQ && s->given == 0)
        return rp_fail(err, RP_EDATA, "%s: nothing is packed in it; expected rows of cells", s->name);
    return rp_fail(err, archive_errno(a) == ENOMEM ? RP_ENOMEM : RP_EDATA, "%s: cannot be unpacked: %s", s->name,
                   why != NULL ? why : "it is empty or damaged");
}

static rp_status packed_once(const source *s, struct archive *a, rp_error *err)
{
    if (archive_filter_count(a) <= 2) /* the last one is "none" */
        return RP_OK;
    return rp_fail(err, RP_EDATA, "%s: what is packed in it is packed itself; unpack it once", s->name);
}

static rp_status unpack(source *s, struct archive *a, rp_error *err)
{
    struct archive_entry *entry;
    unsigned char block[16384];
    uint32_t table[256];
    la_ssize_t got = 1;
    rp_status status = RP_OK;
    /* a filter that would start another program is not ARCHIVE_OK */
    const int filter = s->packing == GZIP ? archive_read_support_filter_gzip(a) : archive_read_support_filter_zstd(a);

    if (filter != ARCHIVE_OK)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: this build of libarchive reads no %s; unpack it first", s->name,
                       s->packing == GZIP ? "gzip" : "zstd");
    crc32_table(table);
    if (archive_read_support_format_raw(a) != ARCHIVE_OK || archive_read_open(a, s, NULL, give, NULL) != ARCHIVE_OK ||
        archive_read_next_header(a, &entry) != ARCHIVE_OK)
        got = -1;
    else
        status = packed_once(s, a, err);
    while (status == RP_OK && got > 0) {
        got = archive_read_data(a, block, sizeof block);
        if (got > 0) {
            s->crc = s->packing == GZIP ? crc32_more(table, s->crc, block, (size_t)got) : 0;
            status = hand_on(s, block, (size_t)got, err);
        }
    }
    if (status == RP_OK && got < 0)
        status = refuse(s, a, err);
    return status == RP_OK && s->packing == GZIP ? check_gzip(s, err) : status;
}

static rp_status read_packed(source *s, rp_error *err)
{
    struct archive *a = archive_read_new();
    rp_status status = a != NULL ? unpack(s, a, err) : rp_no_memory(err);

    archive_read_free(a);
    return status;
}

rp_status rp_input_table(const char *path, size_t limit, rp_file_taker take, void *taker, rp_error *err)
{
    source *s = rp_calloc(1, sizeof *s);
    rp_status status;

    if (s == NULL)
        return rp_no_memory(err);
    s->limit = limit;
    s->take = take;
    s->taker = taker;
    s->fd = -1;
    status = begin(s, path, err);
    if (status == RP_OK && s->packing != PLAIN)
        status = read_packed(s, err);
    else if (status == RP_OK)
        status = s->standard ? read_plain(s, err) : rp_file_stream(path, limit, take, taker, err);
    if (s->fd > STDIN_FILENO)
        (void)close(s->fd);
    rp_free(s);
    return status;
}

rp_status rp_input_read(const char *path, size_t limit, rp_buffer *out, rp_error *err)
{
    rp_status status;

    out->size = 0;
    status = rp_input_table(path, limit, rp_buffer_take, out, err);
    if (status == RP_OK)
        status = rp_buffer_status(out, err);
    if (status != RP_OK)
        rp_buffer_free(out);
    return status;
}
