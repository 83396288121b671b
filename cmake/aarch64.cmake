# SPDX-License-Identifier: Apache-2.0
# Cross build for 64-bit Arm with Debian's compiler, against libraries unpacked into RP_SYSROOT
# (tests/house/cross_aarch64.sh makes it).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(RP_SYSROOT "" CACHE PATH "folder with usr/include and usr/lib/aarch64-linux-gnu")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RP_SYSROOT)
set(ENV{PKG_CONFIG_LIBDIR} ${RP_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${RP_SYSROOT})
set(CMAKE_C_FLAGS_INIT "-isystem ${RP_SYSROOT}/usr/include/aarch64-linux-gnu")
set(libraries "${RP_SYSROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-L${libraries} -Wl,-rpath-link,${libraries} -Wl,-rpath-link,${RP_SYSROOT}/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
