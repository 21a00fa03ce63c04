# tutti_add_library(FOLDER LINKS ...): the static library tutti_FOLDER of every .cc below the
# folder. Sources are globbed (with CONFIGURE_DEPENDS, so a new file is seen at the next build):
# adding a file to a folder is all it takes to build it. A folder library is built when something
# links it; cmake/TuttiInstall.cmake bundles them all into the one that users see.
function(tutti_add_library folder)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY TUTTI_FOLDERS ${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)
    add_library(tutti_${folder} INTERFACE)
    target_link_libraries(tutti_${folder} INTERFACE ${ARG_LINKS})
    return()
  endif()
  add_library(tutti_${folder} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(tutti_${folder} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                    ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(tutti_${folder} PUBLIC ${ARG_LINKS} PRIVATE tutti_warnings)
  tutti_precompile(tutti_${folder} library)
endfunction()

# Reading the headers of others takes longer than compiling most of our files, so they are read
# once: tutti_precompile(TARGET SET) lets a target use the precompiled headers of a set. They belong
# to a target that nobody uses. The lints compile without them, so a file still has to include
# what it uses. ccache keeps such files only with these options, and does not see the list of
# headers behind those of clang: its digest is part of the command.
set(TUTTI_PCH_library <fmt/format.h> <algorithm> <array> <map> <memory> <optional> <span> <string>
                      <string_view> <unordered_map> <utility> <vector>)
if(TUTTI_FUZZ)  # the fuzzers see which ways through the library an input takes
  set(TUTTI_PCH_library_options -fsanitize=fuzzer-no-link)
endif()
set(TUTTI_PCH_test ${TUTTI_PCH_library} <gmock/gmock.h> <gtest/gtest.h>)
set(TUTTI_PCH_test_options -O0)  # compiled far more often than they run
set(TUTTI_PCH_test_links GTest::gmock)
set(TUTTI_PCH_tools ${TUTTI_PCH_library} <CLI/CLI.hpp> <nlohmann/json.hpp>)
set(TUTTI_PCH_tools_options ${TUTTI_PCH_test_options})
set(TUTTI_PCH_tools_links CLI11::CLI11 nlohmann_json::nlohmann_json)
string(MD5 TUTTI_PCH_DIGEST "${TUTTI_PCH_test} ${TUTTI_PCH_tools} ${CMAKE_CXX_COMPILER_ID}")
set(TUTTI_PCH_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
                      "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>"
                      $<$<CXX_COMPILER_ID:Clang>:-DTUTTI_HEADERS=0x${TUTTI_PCH_DIGEST}>)
function(tutti_precompile target set)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()  # built once and not often; and GCC 12 at -O3 takes them for our code, with false alarms
  endif()
  set(owner tutti_${set}_headers)
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers.cc CONTENT "int main() {}\n")
    if(set STREQUAL library)  # compiled with -fPIC; programs with -fPIE
      add_library(${owner} STATIC EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cc)
    else()
      add_executable(${owner} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cc)
    endif()
    target_link_libraries(${owner} PRIVATE fmt::fmt tutti_warnings ${TUTTI_PCH_${set}_links})
    target_precompile_headers(${owner} PRIVATE ${TUTTI_PCH_${set}})
    target_compile_options(${owner} PRIVATE ${TUTTI_PCH_OPTIONS} ${TUTTI_PCH_${set}_options})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  target_compile_options(${target} PRIVATE ${TUTTI_PCH_OPTIONS} ${TUTTI_PCH_${set}_options})
endfunction()

# tutti_add_test(NAME LINKS ... [LABELS ...]): the GoogleTest program of the calling folder's
# *_test.cc files, each test known to ctest by its own name. A program whose tests start threads
# says so with LABELS threads: the preset tsan builds those and no others (TUTTI_TEST_LABELS).
function(tutti_add_test name)
  cmake_parse_arguments(ARG "" "" "LINKS;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  if(TUTTI_TEST_LABELS AND NOT TUTTI_TEST_LABELS IN_LIST ARG_LABELS)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} tutti_warnings GTest::gmock GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  tutti_precompile(${name} test)
  set(labels)
  if(ARG_LABELS)
    set(labels LABELS ${ARG_LABELS})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${TUTTI_TEST_PREFIX}${name}." DISCOVERY_TIMEOUT 60
                       NO_PRETTY_VALUES
                       PROPERTIES TIMEOUT 120 ENVIRONMENT "${TUTTI_TEST_ENVIRONMENT}" ${labels})
endfunction()
