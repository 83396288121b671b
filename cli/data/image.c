/* SPDX-License-Identifier: Apache-2.0
 * PNG and JPEG to bytes. Both libraries tell of what is damaged by a jump out of their calls: a decoder's own variables
 * lie in a structure, so that none is lost by it. What a file says of its size is believed up to 2^20 bytes of pixels.
 */
#include "cli/data/image.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

#ifdef RP_HAVE_PNG
#include <png.h>
#endif
#ifdef RP_HAVE_JPEG
#include <jpeglib.h>
#endif

enum { PIXELS = 1 << 20, SCANS = 500, WORDS = 160 };

typedef struct image {
    const unsigned char *bytes;
    size_t size, at;
    const char *where;
    rp_error *err;
    size_t height, width, channels;
    unsigned char *pixels;
    char words[WORDS]; /* of the library, of what is damaged */
    jmp_buf out;
} image;

static rp_status check_size(const image *m)
{
    if (m->height == 0 || m->width == 0 || m->width > PIXELS || m->height > PIXELS / m->width / m->channels)
        return rp_fail(m->err, RP_EDATA, "%s: %zu x %zu with %zu channels, expected at most %d bytes of pixels",
                       m->where, m->height, m->width, m->channels, (int)PIXELS);
    return RP_OK;
}

static rp_status allocate(image *m)
{
    rp_status status = check_size(m);

    if (status != RP_OK)
        return status;
    m->pixels = rp_malloc(m->height * m->width * m->channels);
    return m->pixels ? RP_OK : rp_no_memory(m->err);
}

static rp_status damaged(const image *m, const char *format)
{
    return rp_fail(m->err, RP_EDATA, "%s: no whole %s image: %s", m->where, format, m->words);
}

#ifdef RP_HAVE_PNG

static void png_stop(png_structp png, png_const_charp words)
{
    image *m = png_get_error_ptr(png);

    (void)snprintf(m->words, sizeof m->words, "%s", words);
    longjmp(m->out, 1);
}

static void png_go_on(png_structp png, png_const_charp words)
{
    (void)png;
    (void)words;
}

static void png_bytes(png_structp png, png_bytep to, size_t n)
{
    image *m = png_get_io_ptr(png);

    if (n > m->size - m->at)
        png_error(png, "it is cut off");
    memcpy(to, m->bytes + m->at, n);
    m->at += n;
}

/* Samples as bytes. What would have to be mixed or rounded is refused. */
static rp_status png_layout(image *m, png_structp png, png_infop info)
{
    const int colours = png_get_color_type(png, info);

    if ((colours & PNG_COLOR_MASK_ALPHA) || png_get_valid(png, info, PNG_INFO_tRNS))
        return rp_fail(m->err, RP_EDATA, "%s: has transparency: lay it on a background first", m->where);
    if (png_get_bit_depth(png, info) == 16)
        return rp_fail(m->err, RP_EDATA, "%s: has 16 bits a sample, expected at most 8", m->where);
    if (colours == PNG_COLOR_TYPE_PALETTE)
        png_set_packing(png); /* see take_colours */
    else if (png_get_bit_depth(png, info) < 8)
        png_set_expand_gray_1_2_4_to_8(png);
    m->height = png_get_image_height(png, info);
    m->width = png_get_image_width(png, info);
    m->channels = colours == PNG_COLOR_TYPE_GRAY ? 1 : 3;
    return allocate(m);
}

/* Indices, at the beginning of each row, as the colours that they are; the library would take one beyond the palette
 * for black. */
static void take_colours(image *m, png_structp png, png_infop info)
{
    png_colorp colour = NULL;
    int n = 0;

    if (png_get_color_type(png, info) != PNG_COLOR_TYPE_PALETTE)
        return;
    (void)png_get_PLTE(png, info, &colour, &n);
    for (size_t row = 0; row < m->height; row++) {
        unsigned char *at = m->pixels + row * m->width * m->channels;

        for (size_t x = m->width; x-- > 0;) {
            const int index = at[x];

            if (index >= n)
                png_error(png, "an index beyond the palette");
            at[3 * x + 2] = colour[index].blue;
            at[3 * x + 1] = colour[index].green;
            at[3 * x] = colour[index].red;
        }
    }
}

/* What says nothing of the pixels, and may be damaged as it likes. */
enum { PASSED_OVER = 7 };
static const char passed_over[] = "iCCP\0tEXt\0zTXt\0iTXt\0pHYs\0tIME\0eXIf";

static rp_status read_png(image *m)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, m, png_stop, png_go_on);
    png_infop volatile info = png ? png_create_info_struct(png) : NULL;
    volatile rp_status status = info ? RP_OK : rp_no_memory(m->err);
    png_infop drop;

    if (status == RP_OK && setjmp(m->out) == 0) {
        png_set_user_limits(png, PIXELS, PIXELS);
        png_set_chunk_malloc_max(png, PIXELS);
        png_set_chunk_cache_max(png, 64);
        png_set_benign_errors(png, 0); /* damage that the library would paint over */
        png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep)passed_over, PASSED_OVER);
        png_set_read_fn(png, m, png_bytes);
        png_read_info(png, info);
        status = png_layout(m, png, info);
        for (int passes = status == RP_OK ? png_set_interlace_handling(png) : 0, pass = 0; pass < passes; pass++) {
            if (pass == 0)
                png_read_update_info(png, info);
            for (size_t row = 0; row < m->height; row++)
                png_read_row(png, m->pixels + row * m->width * m->channels, NULL);
        }
        if (status == RP_OK) {
            png_read_end(png, NULL);
            take_colours(m, png, info);
        }
    } else if (status == RP_OK) {
        status = damaged(m, "PNG");
    }
    drop = info;
    png_destroy_read_struct(&png, drop ? &drop : NULL, NULL);
    return status;
}

#endif
#ifdef RP_HAVE_JPEG

static void jpeg_stop(j_common_ptr jpeg)
{
    image *m = jpeg->client_data;
    char words[JMSG_LENGTH_MAX];

    jpeg->err->format_message(jpeg, words);
    (void)snprintf(m->words, sizeof m->words, "%.*s", (int)sizeof m->words - 1, words);
    longjmp(m->out, 1);
}

/* A warning is damage that the library would paint over. */
static void jpeg_warn(j_common_ptr jpeg, int level)
{
    if (level < 0)
        jpeg_stop(jpeg);
}

static void jpeg_say_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

/* A few bytes are a scan of a progressive image, and each goes over all of it. */
static void jpeg_count_scans(j_common_ptr jpeg)
{
    image *m = jpeg->client_data;

    if (((j_decompress_ptr)jpeg)->input_scan_number <= SCANS)
        return;
    (void)snprintf(m->words, sizeof m->words, "more than %d scans", (int)SCANS);
    longjmp(m->out, 1);
}

static rp_status jpeg_layout(image *m, j_decompress_ptr jpeg)
{
    if (jpeg->num_components != 1 && jpeg->num_components != 3)
        return rp_fail(m->err, RP_EDATA, "%s: has %d components, expected grey or colours of three: CMYK is refused",
                       m->where, jpeg->num_components);
    jpeg->out_color_space = jpeg->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    jpeg->do_fancy_upsampling = TRUE;
    jpeg->do_block_smoothing = FALSE; /* guesses what scans that did not come would say, by version */
    m->height = jpeg->image_height;
    m->width = jpeg->image_width;
    m->channels = (size_t)jpeg->num_components;
    return allocate(m);
}

static rp_status read_jpeg(image *m)
{
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress = {.progress_monitor = jpeg_count_scans};
    volatile rp_status status = RP_OK;

    memset(&jpeg, 0, sizeof jpeg);
    jpeg.err = jpeg_std_error(&errors);
    errors.error_exit = jpeg_stop;
    errors.emit_message = jpeg_warn;
    errors.output_message = jpeg_say_nothing;
    jpeg.client_data = m;
    if (setjmp(m->out) == 0) {
        jpeg_create_decompress(&jpeg);
        jpeg.progress = &progress;
        jpeg_mem_src(&jpeg, m->bytes, m->size);
        (void)jpeg_read_header(&jpeg, TRUE);
        status = jpeg_layout(m, &jpeg);
        if (status == RP_OK)
            (void)jpeg_start_decompress(&jpeg);
        while (status == RP_OK && jpeg.output_scanline < m->height) {
            JSAMPROW row = m->pixels + jpeg.output_scanline * m->width * m->channels;

            (void)jpeg_read_scanlines(&jpeg, &row, 1);
        }
        if (status == RP_OK)
            (void)jpeg_finish_decompress(&jpeg);
    } else {
        status = damaged(m, "JPEG");
    }
    jpeg_destroy_decompress(&jpeg);
    return status;
}

#endif

#if !defined(RP_HAVE_PNG) || !defined(RP_HAVE_JPEG)

static rp_status missing(const image *m, const char *format, const char *library)
{
    return rp_fail(m->err, RP_EUNSUPPORTED, "%s: this build decodes no %s: it was made without %s", m->where, format,
                   library);
}

#endif

static rp_status read_any(image *m)
{
    if (m->size >= 8 && memcmp(m->bytes, "\x89PNG\r\n\x1a\n", 8) == 0) {
#ifdef RP_HAVE_PNG
        return read_png(m);
#else
        return missing(m, "PNG", "libpng");
#endif
    }
    if (m->size >= 3 && memcmp(m->bytes, "\xff\xd8\xff", 3) == 0) {
#ifdef RP_HAVE_JPEG
        return read_jpeg(m);
#else
        return missing(m, "JPEG", "libjpeg-turbo");
#endif
    }
    return rp_fail(m->err, RP_EDATA, "%s: expected a PNG or a JPEG image", m->where);
}

rp_status rp_image_decode(const void *bytes, size_t size, const char *where,
                          rp_status (*take)(void *taker, size_t height, size_t width, size_t channels,
                                            const unsigned char *pixels, rp_error *err),
                          void *taker, rp_error *err)
{
    image *m = rp_calloc(1, sizeof *m);
    rp_status status;

    if (!m)
        return rp_no_memory(err);
    m->bytes = bytes;
    m->size = size;
    m->where = where;
    m->err = err;
    status = read_any(m);
    if (status == RP_OK)
        status = take(taker, m->height, m->width, m->channels, m->pixels, err);
    rp_free(m->pixels);
    rp_free(m);
    return status;
}
