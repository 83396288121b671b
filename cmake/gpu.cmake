# SPDX-License-Identifier: Apache-2.0
# GPU kernels: kernels/gpu/*.cu as fat binaries in the library (scripts/gpu-compile.sh), where the pinned compiler is
# found: in build/cuda (scripts/cuda-toolchain.sh), in CUDA_HOME or on the path. RP_CUDA=OFF leaves them out; the code
# that launches them is there all the same, and says that this build has none.
set(nvcc_pinned "V13.0.88")
macro(rp_look_at_nvcc)
  set(nvcc_version "")
  set(nvcc_found OFF)
  if(RP_NVCC AND NOT CMAKE_CROSSCOMPILING)
    execute_process(COMMAND ${RP_NVCC} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
    if(nvcc_version MATCHES "${nvcc_pinned}")
      set(nvcc_found ON)
    endif()
  endif()
endmacro()
rp_look_at_nvcc()
if(NOT nvcc_found) # one that an earlier configuration found does not hide the pinned one, installed since
  unset(RP_NVCC CACHE)
endif()
find_program(RP_NVCC nvcc HINTS ${CMAKE_SOURCE_DIR}/build/cuda/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
rp_look_at_nvcc()
if(RP_NVCC AND NOT nvcc_found AND NOT CMAKE_CROSSCOMPILING)
  message(STATUS "GPU kernels: ${RP_NVCC} is not ${nvcc_pinned}, the pinned one (scripts/cuda-toolchain.sh)")
endif()
set(RP_CUDA AUTO CACHE STRING "build the GPU kernels in: ON, OFF, or AUTO, where the compiler is found")
if(RP_CUDA STREQUAL "AUTO")
  set(RP_CUDA ${nvcc_found}) # what was configured before it was installed has them from then on
endif()
if(RP_CUDA AND NOT nvcc_found)
  message(FATAL_ERROR "RP_CUDA: nvcc ${nvcc_pinned} is not here: scripts/cuda-toolchain.sh installs it")
endif()

set(RP_GPU_CHIPS ALL CACHE STRING "machine code of kernels without a budget: for ALL chips, or the FIRST alone")

# The images' source, for a list of kernels/gpu/FILE.cu, whose last names are unique. In OUT: the path of a C file that
# holds them by name.
function(rp_gpu_images OUT)
  set(code "/* SPDX-License-Identifier: Apache-2.0 */\n#include \"kernels/gpu/images.h\"\n\n")
  set(rows "")
  set(fatbins)
  set(names)
  if(RP_CUDA)
    foreach(file IN LISTS ARGN)
      get_filename_component(name ${file} NAME)
      set(made ${CMAKE_CURRENT_BINARY_DIR}/gpu/${name})
      file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/gpu)
      add_custom_command(OUTPUT ${made}.fatbin ${made}.ptx ${made}.kernels
        COMMAND ${CMAKE_SOURCE_DIR}/scripts/gpu-compile.sh ${RP_NVCC} ${CMAKE_SOURCE_DIR}
                ${CMAKE_CURRENT_SOURCE_DIR}/gpu/${file}.cu ${made} ${CMAKE_SOURCE_DIR}/build/gpu-cache
                ${RP_GPU_CHIPS}
        COMMAND sed -n "s/^.visible .entry \\([a-z0-9_]*\\)(.*/\\1/p" ${made}.ptx > ${made}.kernels
        DEPENDS ${CMAKE_SOURCE_DIR}/scripts/gpu-compile.sh ${CMAKE_CURRENT_SOURCE_DIR}/gpu/${file}.cu
        DEPFILE ${made}.d VERBATIM COMMENT "GPU kernels: ${name}")
      string(APPEND code "__asm__(\".section .rodata\\n.balign 64\\n.hidden rp_gpu_image_${name}\\n\"\n"
        "        \".global rp_gpu_image_${name}\\nrp_gpu_image_${name}:\\n\"\n"
        "        \".incbin \\\"${made}.fatbin\\\"\\n.byte 0\\n\"\n"
        "        \".hidden rp_gpu_kernels_${name}\\n.global rp_gpu_kernels_${name}\\nrp_gpu_kernels_${name}:\\n\"\n"
        "        \".incbin \\\"${made}.kernels\\\"\\n.byte 0\\n.previous\\n\");\n"
        "extern const unsigned char rp_gpu_image_${name}[];\nextern const char rp_gpu_kernels_${name}[];\n")
      string(APPEND rows "    {\"${name}\", rp_gpu_image_${name}, rp_gpu_kernels_${name}},\n")
      list(APPEND fatbins ${made}.fatbin)
      list(APPEND names ${made}.kernels)
      set_property(GLOBAL APPEND PROPERTY RP_GPU_PTX ${made}.ptx) # the emulated driver runs these
    endforeach()
  endif()
  string(APPEND code "\nconst rp_gpu_image rp_gpu_images[] = {\n${rows}    {0, 0, 0},\n};\n")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/gpu_images.c CONTENT "${code}" @ONLY)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/gpu_images.c PROPERTIES OBJECT_DEPENDS "${fatbins};${names}")
  list(TRANSFORM fatbins REPLACE "fatbin$" "ptx" OUTPUT_VARIABLE ptx)
  add_custom_target(gpu_ptx DEPENDS ${ptx})
  set(${OUT} ${CMAKE_CURRENT_BINARY_DIR}/gpu_images.c PARENT_SCOPE)
endfunction()
