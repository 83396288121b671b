/* SPDX-License-Identifier: Apache-2.0
 * The library's calls that are written in several operations. */
#include "binding.h"

PyObject *functions_make(PyObject *module, PyObject *ignored)
{
    RP_UNUSED(module);
    RP_UNUSED(ignored);
    return PyDict_New();
}
