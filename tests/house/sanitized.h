/* SPDX-License-Identifier: Apache-2.0
 * Whether this is a build with the address sanitizer: there a random case costs three times as much, and what is looked
 * for, memory that is not the program's, shows in fewer of them than a wrong bit does. */
#ifndef TESTS_HOUSE_SANITIZED_H
#define TESTS_HOUSE_SANITIZED_H

#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define THREADS_SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define THREADS_SANITIZED 1
#endif
#ifndef THREADS_SANITIZED
#define THREADS_SANITIZED 0
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Whether a part of the cases is asked for, by turns, since another build of the same check asks for all of them: this
 * is one with the address sanitizer, or has RP_TEST_FEWER. */
#if SANITIZED || defined RP_TEST_FEWER
#define FEWER 1
#else
#define FEWER 0
#endif

/* Nobody may touch these bytes from here on, until their block is freed. */
#if SANITIZED
#include <sanitizer/asan_interface.h>
#define RP_FORBID(memory, bytes) __asan_poison_memory_region(memory, bytes)
#else
#define RP_FORBID(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#endif
