/* SPDX-License-Identifier: Apache-2.0
 * The variables of the environment. tests/cli/manual/manual.py holds every getenv of the sources against this list. */
#include "cli/manual/environment.h"

const rp_variable rp_environment[] = {
    {"RP_ISA", "the level of kernels where --isa is not given; never changes a bit"},
    {"REPRISE_KEY",
     "the private key to sign with where --key is not given and something is to be signed (docs/keys.md)"},
    {"REPRISE_TRUST",
     "the public key to trust where none of --trust, --ca, --policy and --allow-unsigned is given (docs/keys.md)"},
    {"PKCS11_MODULE_PATH", "the module through which keys of a token are reached (docs/keys.md)"},
    {"RP_EMULATED_LIBRARY", "the emulated driver of --device emulated, where it does not lie beside the command"},
    {"RP_CUBLASLT_LIBRARY", "the file of cuBLASLt for the pinned profile, where the loader does not find it"},
    {"CUBLAS_WORKSPACE_CONFIG", "not ours: recorded of a run in the pinned profile (docs/pinned.md)"},
    {"TMPDIR", "where members are kept while an archive is written, and scratch files of golden check"},
    {"NO_COLOR", "when it is set and not empty, nothing is coloured"},
    {"TERM", "\"dumb\", or nothing: neither colours nor a progress bar"},
    {"COLUMNS", "how wide the progress bar may be, where the terminal does not say"},
};
const size_t rp_environment_count = sizeof rp_environment / sizeof *rp_environment;
