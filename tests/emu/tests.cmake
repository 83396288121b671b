# SPDX-License-Identifier: Apache-2.0
# Tests of the emulated device, and of all that runs on it.

# Through the library: kernels against the processor's.
foreach(source emulated_conformance.c emulated_functions.c emulated_errors.c emulated_models.c emulated_tiles.c
               memory/emulated_memory.c capture/emulated_sequences.c ../kernels/gpu/emulated_hashing.c
               chains/emulated_chains.c chains/emulated_plans.c scans/emulated_scans.c attention/emulated_attention.c
               norm/emulated_group_norm.c)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE reprise_static rp_flags PkgConfig::CMOCKA PkgConfig::OPENSSL
                                        PkgConfig::LIBARCHIVE PkgConfig::YAML Threads::Threads ${CMAKE_DL_LIBS} m)
  add_dependencies(${name} reprise_emulated)
endforeach()
set(here "RP_EMULATED_LIBRARY=$<TARGET_FILE:reprise_emulated>")
foreach(name emulated_attention emulated_chains emulated_conformance emulated_errors emulated_group_norm
             emulated_hashing emulated_memory emulated_models emulated_plans emulated_scans emulated_sequences
             emulated_tiles)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT ${here})
endforeach()
# As many multiprocessors as an H100 has: other tiles, chunks apart and cuts of a batch. Sanitizers look at four.
if(NOT RP_SANITIZE)
  foreach(name emulated_attention emulated_models)
    add_test(NAME ${name}_132 COMMAND ${name})
    set_tests_properties(${name}_132 PROPERTIES ENVIRONMENT "${here};RP_EMULATED_MULTIPROCESSORS=132")
  endforeach()
endif()
# Every kind of job, once for each order; sanitizers look at one.
set(orders 0 1 2)
if(RP_SANITIZE)
  set(orders 2)
endif()
foreach(order IN LISTS orders)
  add_test(NAME emulated_jobs_${order} COMMAND test_far_memory)
  add_test(NAME emulated_runs_${order} COMMAND test_far_runs)
  set_tests_properties(emulated_jobs_${order} emulated_runs_${order} PROPERTIES
    ENVIRONMENT "${here};RP_FAR_DEVICE=emulated;RP_EMULATED_ORDER=${order}" SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME emulated_device COMMAND test_device)
set_tests_properties(emulated_device PROPERTIES ENVIRONMENT "${here};RP_FAR_DEVICE=emulated" SKIP_RETURN_CODE 77)
include(${CMAKE_CURRENT_SOURCE_DIR}/holes/holes.cmake)
if(form STREQUAL "source")
  return()
endif()
add_test(NAME emulated_functions COMMAND emulated_functions)
add_test(NAME emulated_archives
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/archives.sh $<TARGET_FILE:reprise_seldom> ${CMAKE_SOURCE_DIR})
add_test(NAME emulated_report
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/report.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
set_tests_properties(emulated_functions emulated_archives emulated_report PROPERTIES ENVIRONMENT ${here})

# The device itself, with small kernels of its own and faults planted in them.
function(emu_ptx OUT source)
  add_custom_command(OUTPUT ${OUT}
    COMMAND ${RP_NVCC} -std=c++20 -ptx -arch=compute_80 -O3 -ftz=false -prec-div=true -prec-sqrt=true ${ARGN} -o ${OUT}
            ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} VERBATIM)
endfunction()

emu_ptx(${CMAKE_CURRENT_BINARY_DIR}/small.ptx planted/kernels.cu -fmad=false)
emu_ptx(${CMAKE_CURRENT_BINARY_DIR}/contracted.ptx planted/kernels.cu -fmad=true)
add_custom_target(emu_contracted ALL DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/contracted.ptx)
add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/planted.ptx
  COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/planted/plant.py ${CMAKE_CURRENT_BINARY_DIR}/small.ptx
          ${CMAKE_CURRENT_BINARY_DIR}/planted.ptx
  DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/small.ptx ${CMAKE_CURRENT_SOURCE_DIR}/planted/plant.py VERBATIM)
emu_translate(emu_small ${CMAKE_CURRENT_BINARY_DIR}/small.ptx 1)
emu_translate(emu_planted ${CMAKE_CURRENT_BINARY_DIR}/planted.ptx 1)
foreach(source planted/emulated_kernels.c emulated_driver.c capture/emulated_capture.c)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
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
