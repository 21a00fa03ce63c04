# tutti_embed(SOURCE FILES...): a C++ source with the files' bytes in it, for
# tools/view/page_files.h; written again when one of them changes.
function(tutti_embed source)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} "-DSOURCE=${source}" "-DFILES=${ARGN}" -P
            ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
endfunction()
