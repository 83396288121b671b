# SPDX-License-Identifier: Apache-2.0
# RP_TEST_SHARED: what the tests' programs have of the library is one shared file, libreprise-seen.so, and not some
# 20 MB in each of 200: a fraction of the disk, and links that copy nothing. It is made of libreprise.a's own code; all
# that differs is that its internal names are seen (house/all_seen.py). ALL: the benchmarks' too, where nobody measures.
set(RP_TEST_SHARED OFF CACHE STRING "programs that share one library that shows all names: OFF, TESTS or ALL")
if(NOT RP_TEST_SHARED)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(seen ${CMAKE_BINARY_DIR}/tests/seen.a)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/tests/seen.c CONTENT "typedef int rp_seen; /* a library wants a source */\n")
add_custom_command(OUTPUT ${seen}
  COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/house/all_seen.py $<TARGET_FILE:reprise_static> ${seen}
  DEPENDS reprise_static ${CMAKE_CURRENT_LIST_DIR}/house/all_seen.py VERBATIM)
add_library(reprise_seen SHARED ${CMAKE_BINARY_DIR}/tests/seen.c ${seen})
set_target_properties(reprise_seen PROPERTIES
  OUTPUT_NAME reprise-seen LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests LINK_DEPENDS ${seen})
target_include_directories(reprise_seen INTERFACE $<TARGET_PROPERTY:reprise_static,INTERFACE_INCLUDE_DIRECTORIES>)
# -Bsymbolic: a call within the library stays within, as where names are hidden.
target_link_options(reprise_seen PRIVATE LINKER:-Bsymbolic ${RP_TEST_LINKER})
target_link_libraries(reprise_seen PRIVATE -Wl,--whole-archive ${seen} -Wl,--no-whole-archive rp_flags
                      PUBLIC ${layer_libs} Threads::Threads ${CMAKE_DL_LIBS} m)

# All but programs that put functions of their own in the place of the library's or of libc's beneath it, here by their
# images or by the linker's --wrap, and those that look for their own names.
set(apart test_launches test_chain_launches test_device_threads)
set(sharing)
set(folders ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/tests/emu)
if(RP_TEST_SHARED STREQUAL "ALL" AND NOT RP_SANITIZE)
  list(APPEND folders ${CMAKE_SOURCE_DIR}/bench)
endif()
foreach(folder ${folders})
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(options ${target} LINK_OPTIONS)
    get_target_property(exports ${target} ENABLE_EXPORTS)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if(type STREQUAL "EXECUTABLE" AND NOT target IN_LIST apart AND NOT options MATCHES "--wrap" AND NOT exports AND
       libraries)
      list(APPEND sharing $<TARGET_OBJECTS:${target}>)
      list(TRANSFORM libraries REPLACE "^reprise_static$" reprise_seen)
      set_target_properties(${target} PROPERTIES LINK_LIBRARIES "${libraries}")
      # An address of the library's is what the library has, never a copy of its data in the program.
      target_compile_options(${target} PRIVATE -fPIC)
      target_link_options(${target} PRIVATE LINKER:-z,nocopyreloc)
    endif()
  endforeach()
endforeach()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/tests/sharing.txt CONTENT "$<JOIN:${sharing},\n>\n")
add_test(NAME own_names COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/house/own_names.sh $<TARGET_FILE:reprise_seen>
                                ${CMAKE_BINARY_DIR}/tests/sharing.txt)
# Where the sanitizer guards globals it has to know the library's: several thousand, of which a program's own are few.
if(RP_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
  foreach(program test_written reprise_cli)
    add_test(NAME guarded_globals_${program}
             COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/house/guarded_globals.sh $<TARGET_FILE:${program}>)
  endforeach()
endif()
