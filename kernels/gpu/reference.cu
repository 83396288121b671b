/* SPDX-License-Identifier: Apache-2.0
 * The reference kernels as device code, each by the text of kernels/ref: a thread takes an item. So every kernel has a
 * form with the right bits whatever its arguments; those with a faster one come here for what that does not take. */
#include "kernels/gpu/reference.h"

#include "kernels/gpu/device_begin.h"

#include "kernels/walk.c"
#include "kernels/ref/rows.c"

namespace rows
{
#include "kernels/ref/softmax.c"
}
namespace layer
{
#include "kernels/ref/norm.c"
}
namespace reduce
{
#include "kernels/ref/reduce.c"
}
namespace matmul
{
#include "kernels/ref/matmul.c"
namespace attention
{
#include "kernels/ref/attention/attention.c"
}
}
namespace triangular
{
#include "kernels/ref/triangular/triangular.c"
}
#include "kernels/ref/conv/conv.c"
namespace winograd
{
#include "kernels/ref/conv/winograd.c"
}
namespace pooling
{
#include "kernels/ref/conv/pool.c"
}
namespace resizing
{
#include "kernels/ref/conv/resize.c"
}
namespace batch
{
#include "kernels/ref/conv/batch_norm.c"
}
namespace group
{
#include "kernels/ref/conv/group_norm.c"
}

#include "kernels/gpu/device_end.h"
