/* SPDX-License-Identifier: Apache-2.0
 * Models of layers (rp/nn.h). */
#include "binding.h"

bool model_setup(PyObject *module)
{
    RP_UNUSED(module);
    return true;
}
