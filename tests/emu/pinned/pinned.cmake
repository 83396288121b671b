# SPDX-License-Identifier: Apache-2.0
# What the pinned profile finds instead of cuBLASLt on the emulated device, other versions of it, and tests of both.
foreach(version 120800 130000 130001)
  set(standin reprise_standin_${version})
  add_library(${standin} SHARED pinned/standin_cublaslt.c)
  target_include_directories(${standin} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_compile_definitions(${standin} PRIVATE STANDIN_VERSION=${version})
  target_link_libraries(${standin} PRIVATE rp_flags reprise_emulated m)
endforeach()
set_target_properties(reprise_standin_130000 PROPERTIES OUTPUT_NAME reprise-standin-cublaslt)
set_target_properties(reprise_standin_130001 PROPERTIES OUTPUT_NAME reprise-standin-cublaslt-other)
set_target_properties(reprise_standin_120800 PROPERTIES OUTPUT_NAME reprise-standin-cublaslt-old)

set(pinned_device "RP_EMULATED_LIBRARY=$<TARGET_FILE:reprise_emulated>")
foreach(name emulated_pinned pinned_allocations pinned_library)
  add_executable(${name} pinned/${name}.c)
  target_link_libraries(${name} PRIVATE reprise_static rp_flags PkgConfig::CMOCKA PkgConfig::OPENSSL
                                        PkgConfig::LIBARCHIVE PkgConfig::YAML Threads::Threads ${CMAKE_DL_LIBS} m)
endforeach()
add_dependencies(emulated_pinned reprise_standin_120800 reprise_standin_130000 reprise_standin_130001)
add_test(NAME emulated_pinned COMMAND emulated_pinned)
set_tests_properties(emulated_pinned PROPERTIES ENVIRONMENT ${pinned_device})
add_dependencies(pinned_allocations reprise_standin_130000)
target_compile_definitions(pinned_allocations PRIVATE RP_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_options(pinned_allocations PRIVATE LINKER:--wrap=rp_conformance_run_many,--wrap=rp_conformance_device)
add_test(NAME pinned_allocations COMMAND pinned_allocations)
set_tests_properties(pinned_allocations PROPERTIES ENVIRONMENT ${pinned_device})
if(form STREQUAL "source")
  return()
endif()
add_test(NAME emulated_pinned_command
         COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/pinned/pinned.sh $<TARGET_FILE:reprise_seldom>
                 $<TARGET_FILE:reprise_verify_cli> ${CMAKE_SOURCE_DIR} $<TARGET_FILE:reprise_standin_130001>
                 $<TARGET_FILE:reprise_standin_120800>)
set_tests_properties(emulated_pinned_command PROPERTIES ENVIRONMENT ${pinned_device})
# The true library lies beside the compiler, or where the loader looks.
get_filename_component(cuda_bin ${RP_NVCC} REALPATH)
get_filename_component(cuda_bin ${cuda_bin} DIRECTORY)
find_file(RP_CUBLASLT libcublasLt.so.13 HINTS ${cuda_bin}/../lib64 ${cuda_bin}/../lib)
add_test(NAME pinned_library COMMAND pinned_library)
set_tests_properties(pinned_library PROPERTIES SKIP_RETURN_CODE 77)
if(RP_CUBLASLT)
  set_tests_properties(pinned_library PROPERTIES ENVIRONMENT "RP_CUBLASLT_LIBRARY=${RP_CUBLASLT}")
endif()
