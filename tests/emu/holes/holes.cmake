# SPDX-License-Identifier: Apache-2.0
# A device that lacks kernels: through the library, and the command.
add_executable(emulated_holes holes/emulated_holes.c holes/holed.c)
target_link_libraries(emulated_holes PRIVATE reprise_static rp_flags PkgConfig::CMOCKA PkgConfig::OPENSSL
                                             PkgConfig::LIBARCHIVE PkgConfig::YAML Threads::Threads ${CMAKE_DL_LIBS} m)
target_compile_definitions(emulated_holes PRIVATE RP_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_options(emulated_holes PRIVATE
  LINKER:--wrap=rp_gpu_has,--wrap=rp_conformance_run_many,--wrap=rp_conformance_device)
add_dependencies(emulated_holes reprise_emulated)
add_test(NAME emulated_holes COMMAND emulated_holes)
set_tests_properties(emulated_holes PROPERTIES ENVIRONMENT ${here})
if(form STREQUAL "ptx")
  add_executable(reprise_holed $<TARGET_OBJECTS:reprise_cli> holes/holed.c)
  target_link_libraries(reprise_holed PRIVATE reprise_static rp_flags PkgConfig::OPENSSL PkgConfig::LIBARCHIVE
                                              rp_images Threads::Threads)
  target_link_options(reprise_holed PRIVATE LINKER:--wrap=rp_gpu_has)
  add_test(NAME emulated_holes_command
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/holes/holes.sh ${reprise_command} $<TARGET_FILE:reprise_holed>
                   ${CMAKE_SOURCE_DIR})
  set_tests_properties(emulated_holes_command PROPERTIES ENVIRONMENT ${here})
endif()
