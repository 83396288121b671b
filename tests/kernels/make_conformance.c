/* SPDX-License-Identifier: Apache-2.0
 * Prints kernels/conformance/conformance_table.h from the reference kernels. The table is a golden: it is made anew
 * only with a change of the contract, or when a kernel is added. make_conformance >
 * kernels/conformance/conformance_table.h */
#include <stdio.h>

#include "determinism/fpenv.h"
#include "kernels/conformance/conformance.h"
#include "kernels/device.h"
#include "kernels/conformance/specimen.h"

static int print_row(const rp_kernel_table *table, rp_kernel_id id, rp_dtype dtype)
{
    static const char *const names[RP_DTYPE_COUNT] = {"RP_F32", "RP_F64", "RP_I32", "RP_I64", "RP_BOOL", "RP_BF16",
                                                      "RP_F16", "RP_I8",  "RP_U8",  "RP_I16", "RP_U32"};
    rp_error err;
    uint64_t digest;

    if (rp_conformance_digest(table->kernel[id], id, dtype, &digest, &err) != RP_OK) {
        fprintf(stderr, "make_conformance: %s\n", err.text);
        return 1;
    }
    printf("    {RP_K_%s, %s, 0x%016llXu},\n", rp_kernel_name(id), names[dtype], (unsigned long long)digest);
    return 0;
}

int main(void)
{
    const rp_kernel_table *table;
    static const int first[] = {0, RP_BF16, RP_F16, RP_DTYPE_COUNT};
    rp_fpenv saved;
    rp_error err;

    if (rp_fpenv_enter(&saved, NULL, &err) != RP_OK || rp_kernel_table_get(&table, "ref", &err) != RP_OK) {
        fprintf(stderr, "make_conformance: %s\n", err.text);
        return 1;
    }
    printf("/* SPDX-License-Identifier: Apache-2.0\n"
           " * Golden digests of the reference kernels under contract 1, made by tests/kernels/make_conformance.c. */\n"
           "#ifndef KERNELS_CONFORMANCE_CONFORMANCE_TABLE_H\n"
           "#define KERNELS_CONFORMANCE_CONFORMANCE_TABLE_H\n\n"
           "#include \"kernels/kernel.h\"\n\n"
           "static const struct {\n    rp_kernel_id kernel;\n    rp_dtype dtype;\n    uint64_t digest;\n"
           "} conformance_table[] = {\n");
    for (int pass = 0; pass < 3; pass++) /* bf16 came later, then the rest: their rows stand behind the others */
        for (int id = 0; id < RP_K_COUNT; id++)
            for (int dtype = first[pass]; dtype < first[pass + 1]; dtype++)
                if (rp_specimen_fits((rp_kernel_id)id, (rp_dtype)dtype) &&
                    print_row(table, (rp_kernel_id)id, (rp_dtype)dtype) != 0)
                    return 1;
    printf("};\n\n#endif\n");
    return 0;
}
