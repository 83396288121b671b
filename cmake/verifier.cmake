# SPDX-License-Identifier: Apache-2.0
# libreprise-verify, shared and static: what an archive is checked with, from the same objects as libreprise. base,
# three files of determinism (stored form, decimals, draws) and the rooms of audit that see neither kernels nor core. It
# needs OpenSSL's libcrypto and libyaml (policies), and nothing else.
set(verify_objects $<TARGET_OBJECTS:rp_base> $<TARGET_OBJECTS:rp_verify>
    "$<FILTER:$<TARGET_OBJECTS:rp_determinism>,INCLUDE,/(bits|decimal|philox)\\.c\\.o$>")
add_library(reprise_verify SHARED ${verify_objects})
add_library(reprise_verify_static STATIC ${verify_objects})
foreach(lib reprise_verify reprise_verify_static)
  set_target_properties(${lib} PROPERTIES OUTPUT_NAME reprise-verify)
  target_link_libraries(${lib} PRIVATE rp_flags PkgConfig::OPENSSL PkgConfig::YAML Threads::Threads m)
  target_include_directories(${lib} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
set_target_properties(reprise_verify PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
install(TARGETS reprise_verify reprise_verify_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
configure_file(${CMAKE_SOURCE_DIR}/cmake/reprise-verify.pc.in ${CMAKE_BINARY_DIR}/reprise-verify.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/reprise-verify.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
