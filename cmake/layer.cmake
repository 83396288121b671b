# SPDX-License-Identifier: Apache-2.0
# rp_layer(NAME BELOW <layer> FOLDER <its name in includes, NAME by default> HEADERS <public headers> LIBS <imported
# targets> SOURCES <files>) makes object library rp_NAME. A layer's include path is a generated directory holding a link
# to its own folder and to its own public headers, followed by those of the layers below: including upwards fails to
# compile.
function(rp_layer NAME)
  cmake_parse_arguments(L "" "BELOW;FOLDER" "HEADERS;LIBS;SOURCES" ${ARGN})
  set(view ${CMAKE_BINARY_DIR}/view/${NAME})
  file(MAKE_DIRECTORY ${view}/rp)
  if(NOT L_FOLDER)
    set(L_FOLDER ${NAME})
  endif()
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view}/${L_FOLDER} SYMBOLIC)
  foreach(header ${L_HEADERS})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/rp/${header} ${view}/rp/${header} SYMBOLIC)
    set_property(GLOBAL APPEND PROPERTY RP_PUBLIC_HEADERS ${CMAKE_SOURCE_DIR}/include/rp/${header})
  endforeach()
  add_library(rp_${NAME} OBJECT ${L_SOURCES})
  target_include_directories(rp_${NAME} PUBLIC ${view})
  target_compile_definitions(rp_${NAME} PRIVATE RP_BUILDING)
  target_link_libraries(rp_${NAME} PRIVATE rp_flags ${L_LIBS})
  if(NAME MATCHES "^(base|verify|audit)$")
    target_compile_options(rp_${NAME} PRIVATE ${RP_PLAIN_FLAGS})
  endif()
  # Sanitized programs stay in few of these layers' many files: for the others -O1 is three times of -O0 to compile, and
  # more than their tests win by it. rp_sanitized_level says which have it all the same.
  if(RP_SANITIZE MATCHES "address|thread" AND NOT RP_FUZZ AND NAME MATCHES "^(core|verify|audit)$")
    target_compile_options(rp_${NAME} PRIVATE -O0)
  endif()
  if(L_BELOW)
    target_link_libraries(rp_${NAME} PUBLIC rp_${L_BELOW})
  endif()
  set_property(GLOBAL APPEND PROPERTY RP_LAYERS ${NAME})
  set_property(GLOBAL APPEND PROPERTY RP_LAYER_LIBS ${L_LIBS})
endfunction()

# rp_sanitized_level(LEVEL SANITIZER <files>): these files' own level in builds with that sanitizer.
function(rp_sanitized_level LEVEL SANITIZER)
  if(RP_SANITIZE MATCHES "${SANITIZER}" AND NOT RP_FUZZ)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${LEVEL})
  endif()
endfunction()
