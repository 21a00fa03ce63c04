# How every target of the project is compiled: standard, warnings, sanitizers, ccache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(TUTTI_CCACHE ccache DOC "Compiler cache; used when it is there")
if(TUTTI_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the tree count as relative, so that clones and build folders share what is cached.
  # The sloppiness is what it takes to keep files that use precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${TUTTI_CCACHE})
endif()

# Linked PRIVATE by every library and program of ours, so that a user of tutti gets none of it.
add_library(tutti_warnings INTERFACE)
target_compile_options(tutti_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                                -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
                                                -Wsuggest-override)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees an overlap in std::string's operator+ that is not there (its bug 105651).
  target_compile_options(tutti_warnings INTERFACE -Wno-restrict)
  if(CMAKE_UNITY_BUILD)  # and, where it sees several files as one, a short string's end passed
    target_compile_options(tutti_warnings INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endif()
if(TUTTI_WERROR)
  target_compile_options(tutti_warnings INTERFACE -Werror)
endif()

add_compile_definitions($<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(TUTTI_SANITIZE)
  add_compile_options(-fsanitize=${TUTTI_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TUTTI_SANITIZE} -fuse-ld=lld)  # half the time of linking
endif()
