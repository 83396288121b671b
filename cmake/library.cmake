# SPDX-License-Identifier: Apache-2.0
# libreprise.so (hidden visibility, SONAME) and libreprise.a from the same objects; install rules,
# pkg-config and CMake package files.
get_property(layers GLOBAL PROPERTY RP_LAYERS)
get_property(layer_libs GLOBAL PROPERTY RP_LAYER_LIBS)
get_property(public_headers GLOBAL PROPERTY RP_PUBLIC_HEADERS)
list(REMOVE_DUPLICATES layer_libs)
set(objects)
foreach(layer ${layers})
  list(APPEND objects $<TARGET_OBJECTS:rp_${layer}>)
endforeach()

add_library(reprise SHARED ${objects})
add_library(reprise_static STATIC ${objects})
set_target_properties(reprise_static PROPERTIES OUTPUT_NAME reprise)
set_target_properties(reprise PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
foreach(lib reprise reprise_static)
  # The static library also serves the tests, which reach every layer's internal headers.
  target_link_libraries(${lib} PRIVATE rp_flags ${layer_libs} Threads::Threads m)
  target_include_directories(${lib} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
foreach(layer ${layers})
  target_include_directories(reprise_static PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/view/${layer}>)
endforeach()

install(TARGETS reprise EXPORT reprise LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES $<TARGET_FILE:reprise_static> DESTINATION ${CMAKE_INSTALL_LIBDIR}) # in no export: repriseConfig.cmake
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/cmake/copyright ${CMAKE_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${public_headers} ${CMAKE_SOURCE_DIR}/include/rp/rp.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rp)
install(EXPORT reprise NAMESPACE reprise:: FILE repriseTargets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/repriseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/repriseConfig.cmake.in ${CMAKE_BINARY_DIR}/repriseConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
install(FILES ${CMAKE_BINARY_DIR}/repriseConfig.cmake ${CMAKE_BINARY_DIR}/repriseConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/reprise)
# from libdir back to the prefix: one ".." for each of its components, and one for pkgconfig/
string(REGEX REPLACE "[^/]+" ".." RP_PC_PREFIX "${CMAKE_INSTALL_LIBDIR}")
set(RP_PC_PREFIX "\${pcfiledir}/../${RP_PC_PREFIX}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/reprise.pc.in ${CMAKE_BINARY_DIR}/reprise.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/reprise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
