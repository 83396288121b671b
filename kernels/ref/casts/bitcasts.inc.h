/* SPDX-License-Identifier: Apache-2.0
 * The bits of elements as they are stored (CONTRACT 3.1, bitcast), by the includer's RP_CONVERSION(from, FROM, bits,
 * TO, value of x): every NaN is the one of 2.3, a bool 0 or 1. */
RP_CONVERSION(f32, uint32_t, bits, uint32_t, (x & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC00000u : x)
RP_CONVERSION(f64, uint64_t, bits, uint64_t, (x & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u ? 0x7FF8000000000000u : x)
RP_CONVERSION(bf16, uint16_t, bits, uint16_t, (x & 0x7FFFu) > 0x7F80u ? 0x7FC0u : x)
RP_CONVERSION(f16, uint16_t, bits, uint16_t, (x & 0x7FFFu) > 0x7C00u ? 0x7E00u : x)
RP_CONVERSION(bool, uint8_t, bits, uint8_t, x != 0)
RP_CONVERSION(i8, uint8_t, bits, uint8_t, x)
RP_CONVERSION(i16, uint16_t, bits, uint16_t, x)
RP_CONVERSION(i32, uint32_t, bits, uint32_t, x)
RP_CONVERSION(i64, uint64_t, bits, uint64_t, x)
