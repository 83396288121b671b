/* SPDX-License-Identifier: Apache-2.0
 * The true cuBLASLt, where it is installed: that it loads by our declarations, and which version and file it is.
 * Without a GPU it computes nothing. Exit 77 where there is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/archive/withheld.h"
#include "kernels/gpu/pinned/cublaslt.h"

int main(void)
{
    rp_cublaslt *library;
    rp_pinned_library identity;
    rp_digest digest;
    uint64_t size;
    char hex[RP_DIGEST_HEX];
    rp_error err;
    rp_status status = rp_cublaslt_load(&library, &identity, "cuda", "", &err);

    if (status != RP_OK) {
        printf("skipped: %s\n", err.text);
        return 77;
    }
    status = rp_file_digest(identity.path, &digest, &size, &err);
    if (status != RP_OK || identity.version / 10000 != 13 || strcmp(identity.name, "cublasLt") != 0) {
        printf("FAIL: %s version %llu: %s\n", identity.name, (unsigned long long)identity.version,
               status != RP_OK ? err.text : "expected 130000 to 139999");
        return 1;
    }
    rp_digest_hex(hex, &digest);
    printf("cublasLt %llu, %llu bytes, SHA-256 %s\n", (unsigned long long)identity.version, (unsigned long long)size,
           hex);
    /* a status has words, and what the library answers becomes one of our errors */
    status = rp_cublaslt_result(library, 15, "cublasLtMatmul", &err);
    if (status != RP_EUNSUPPORTED || strstr(err.text, "not supported (15)") == NULL) {
        printf("FAIL: %s\n", err.text);
        return 1;
    }
    /* without a device it says so, and is closed all the same */
    status = rp_cublaslt_result(library, library->cublasLtCreate(&library->handle), "cublasLtCreate", &err);
    printf("cublasLtCreate: %s\n", status == RP_OK ? "there is a device" : err.text);
    if (status != RP_OK)
        library->handle = NULL;
    rp_cublaslt_close(library);
    return 0;
}
