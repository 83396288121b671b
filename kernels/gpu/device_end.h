/* SPDX-License-Identifier: Apache-2.0
 * The end of what device_begin.h opened. */
#undef static
