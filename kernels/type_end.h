/* SPDX-License-Identifier: Apache-2.0
 * The end of the parameters that kernels/type_*.h give to templates: what follows is for no type. */
#undef T
#undef WIDE
#undef FN
#undef SQRT
#undef FABS
