/* SPDX-License-Identifier: Apache-2.0
 * The hash of a device that has one: FIPS 180-4's messages, and others of which the digests were computed with Python's
 * hashlib, all in one launch. What is recorded from its memory is known by these digests alone. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/conformance/conformance.h"

enum { PLACE = 16384, DIGEST = 32 };

/* prefix || the text, or that many bytes of the pattern, whose NaNs and bools are of all kinds; as stored. */
static const struct {
    const char *text;
    uint32_t size;
    int16_t prefix;
    rp_dtype dtype;
    const char *digest;
} vectors[] = {
    {"abc", 3, -1, RP_I32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, -1, RP_I32,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {NULL, 0, -1, RP_I32, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {NULL, 0, 0, RP_I32, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"},
    {NULL, 54, 0, RP_I32, "22742e53e8a4cbc09e8283703299f43e735d45bb5c20343e25f4b8bfa3574053"},
    {NULL, 55, -1, RP_I32, "b938d23bc19cd72a4213d7c7cc00e3881601675d585cf821836e5042e91d6c13"},
    {NULL, 63, 0, RP_BOOL, "75ba5a25e7187bad0d3bd828a335f5e5e9550fc5fd491494af28f6868d27c83d"},
    {NULL, 64, 1, RP_I32, "548b5e315c6edd8dfcb200dc5dc2b3a3f8a874bcd81f08a9b604f13173881ab9"},
    {NULL, 4096, 0, RP_BF16, "6582f886397e86cc025c632d04be039856fc09d0e38042bfc51c4c8fa6e89779"},
    {NULL, 8200, 0, RP_F64, "f27655ce12e243092125a2466f9f93b2a2f823e979f72aed8e6c8b4784ab30b9"},
    {NULL, 16384, 0, RP_F32, "0f6be6dcae47faa033e0778d57c3b337ab60a0b58ecdc91743a19abfc5c32a8e"},
    {NULL, 16384, -1, RP_I32, "b8ea82cbf853dee02246c18d209a45693ee1b20a7addb09d4b1e512433eb793d"},
};
enum { VECTORS = sizeof vectors / sizeof *vectors };

static void put_messages(rp_device_message *message, unsigned char *bytes, const unsigned char *there)
{
    for (size_t v = 0; v < VECTORS; v++) {
        unsigned char *at = bytes + v * PLACE;

        for (size_t i = 0; i < vectors[v].size; i++)
            at[i] = vectors[v].text ? (unsigned char)vectors[v].text[i]
                    : i % 3         ? 0xFF
                                    : (unsigned char)(i * 131 + (i >> 8));
        message[v] =
            (rp_device_message){there + v * PLACE, vectors[v].size, vectors[v].prefix, (uint16_t)vectors[v].dtype};
    }
}

static rp_status compare(const rp_device *device, size_t v, const unsigned char *digest, rp_error *err)
{
    char text[2 * DIGEST + 1];

    for (size_t i = 0; i < DIGEST; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return strcmp(text, vectors[v].digest) == 0
               ? RP_OK
               : rp_fail(err, RP_EBITS,
                         "SHA-256, device %s: of %u bytes (%s) expected %s, found %s: this device does "
                         "not keep the numeric contract",
                         rp_device_identity(device), vectors[v].size, rp_dtype_name(vectors[v].dtype),
                         vectors[v].digest, text);
}

static rp_status check(rp_device *device, unsigned char *bytes, void *there, rp_error *err)
{
    rp_device_message message[VECTORS];
    unsigned char digest[VECTORS * DIGEST] = {0};
    rp_status status;

    put_messages(message, bytes, there);
    status = rp_device_upload(device, there, bytes, (size_t)VECTORS * PLACE, NULL, err);
    if (status == RP_OK)
        status = rp_device_hash(device, digest, message, VECTORS, NULL, err);
    if (status == RP_OK)
        status = rp_device_synchronize(device, NULL, err);
    for (size_t v = 0; v < VECTORS && status == RP_OK; v++)
        status = compare(device, v, digest + v * DIGEST, err);
    return status;
}

rp_status rp_conformance_hash(rp_device *device, rp_error *err)
{
    unsigned char *bytes;
    void *there = NULL;
    rp_status status;

    if (!rp_device_hashes(device))
        return RP_OK;
    bytes = rp_calloc(VECTORS, PLACE);
    status = bytes ? rp_device_allocate(device, &there, (size_t)VECTORS * PLACE, err) : rp_no_memory(err);
    if (status == RP_OK)
        status = check(device, bytes, there, err);
    rp_device_release(device, there);
    rp_free(bytes);
    return status;
}
