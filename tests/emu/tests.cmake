# SPDX-License-Identifier: Apache-2.0
# Tests of the emulated device, and of all that runs on it.

# Through the library: kernels against the processor's.
foreach(name emulated_conformance emulated_functions)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE reprise_static rp_flags PkgConfig::CMOCKA PkgConfig::OPENSSL
                                        PkgConfig::LIBARCHIVE PkgConfig::YAML Threads::Threads m)
  add_dependencies(${name} reprise_emulated)
endforeach()
add_test(NAME emulated_conformance COMMAND emulated_conformance)
set(on_emulated emulated_conformance)
if(form STREQUAL "ptx")
  add_test(NAME emulated_functions COMMAND emulated_functions)
  list(APPEND on_emulated emulated_functions)
endif()
set_tests_properties(${on_emulated} PROPERTIES
  ENVIRONMENT "RP_EMULATED_LIBRARY=$<TARGET_FILE:reprise_emulated>")
if(form STREQUAL "source")
  return()
endif()

# The device itself, with small kernels of its own and faults planted in them.
function(emu_ptx OUT source)
  add_custom_command(OUTPUT ${OUT}
    COMMAND ${RP_NVCC} -std=c++20 -ptx -arch=compute_80 -O3 -ftz=false -prec-div=true -prec-sqrt=true ${ARGN} -o ${OUT}
            ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} VERBATIM)
endfunction()

emu_ptx(${CMAKE_CURRENT_BINARY_DIR}/small.ptx kernels.cu -fmad=false)
emu_ptx(${CMAKE_CURRENT_BINARY_DIR}/contracted.ptx kernels.cu -fmad=true)
add_custom_target(emu_contracted ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/contracted.ptx)
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/planted.ptx
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/plant.py ${CMAKE_CURRENT_BINARY_DIR}/small.ptx
          ${CMAKE_CURRENT_BINARY_DIR}/planted.ptx
  DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/small.ptx ${CMAKE_CURRENT_SOURCE_DIR}/plant.py VERBATIM)
emu_translate(emu_small ${CMAKE_CURRENT_BINARY_DIR}/small.ptx 1)
emu_translate(emu_planted ${CMAKE_CURRENT_BINARY_DIR}/planted.ptx 1)
foreach(name emulated_kernels emulated_driver)
  add_executable(${name} ${name}.c)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE emu_driver emu_small emu_planted rp_flags PkgConfig::CMOCKA Threads::Threads m)
  add_test(NAME ${name} COMMAND ${name})
endforeach()

# The list of instructions.
add_test(NAME emulated_instructions
         COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/instructions.py ${translator})
add_test(NAME emulated_contraction_is_refused
         COMMAND Python3::Interpreter -B ${translator} ${CMAKE_CURRENT_BINARY_DIR}/contracted.ptx)
set_tests_properties(emulated_contraction_is_refused PROPERTIES
  PASS_REGULAR_EXPRESSION "emu_add: add.f32: not on the list of instructions")
