/* SPDX-License-Identifier: Apache-2.0
 * cuBLAS by dlopen, with the few declarations of its public interface that one product needs. */
#include "gpu_peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { PEDANTIC = 2, PLAIN = 0, TURNED = 1 };

struct gpu_peer {
    void *library, *driver, *handle;
    char name[96];
    int (*sgemm)(void *handle, int turn_a, int turn_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                 const float *b, int ldb, const float *beta, float *c, int ldc);
    int (*destroy)(void *handle);
    int (*synchronize)(void);
};

/* A function of a library; ISO C has no conversion from an object's pointer. */
static void find(void *library, const char *name, void *function)
{
    *(void **)function = library ? dlsym(library, name) : NULL;
}

gpu_peer *gpu_peer_open(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    gpu_peer *p = calloc(1, sizeof *p);
    int (*create)(void **), (*mode)(void *, int), (*version)(void *, int *), number = 0;

    if (p == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && p->library == NULL; i++)
        p->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    p->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    find(p->library, "cublasCreate_v2", &create);
    find(p->library, "cublasSetMathMode", &mode);
    find(p->library, "cublasGetVersion_v2", &version);
    find(p->library, "cublasDestroy_v2", &p->destroy);
    find(p->library, "cublasSgemm_v2", &p->sgemm);
    find(p->driver, "cuCtxSynchronize", &p->synchronize);
    if (!create || !mode || !version || !p->destroy || !p->sgemm || !p->synchronize || create(&p->handle) != 0 ||
        mode(p->handle, PEDANTIC) != 0 || version(p->handle, &number) != 0) {
        free(p);
        return NULL;
    }
    (void)snprintf(p->name, sizeof p->name, "cuBLAS %d, pedantic", number);
    return p;
}

void gpu_peer_close(gpu_peer *peer)
{
    if (peer == NULL)
        return;
    (void)peer->destroy(peer->handle);
    (void)dlclose(peer->library);
    (void)dlclose(peer->driver);
    free(peer);
}

const char *gpu_peer_name(const gpu_peer *peer)
{
    return peer->name;
}

/* Its matrices are column-major: y' = b' a'. */
void gpu_peer_multiply(void *product)
{
    const gpu_product *p = product;
    const float one = 1, zero = 0;

    if (p->peer->sgemm(p->peer->handle, p->b_turned ? TURNED : PLAIN, p->a_turned ? TURNED : PLAIN, (int)p->n,
                       (int)p->m, (int)p->k, &one, p->b, (int)(p->b_turned ? p->k : p->n), p->a,
                       (int)(p->a_turned ? p->m : p->k), &zero, p->y, (int)p->n) != 0 ||
        p->peer->synchronize() != 0) {
        fprintf(stderr, "gpu: cublasSgemm failed\n");
        exit(2);
    }
}
