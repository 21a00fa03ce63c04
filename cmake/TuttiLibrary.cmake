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
endfunction()

# GoogleTest takes longer to read than most tests take to compile, so it is read once: every test
# program reuses the precompiled headers of this one, which is never run. ccache keeps such
# files only with this option.
set(TUTTI_PCH_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
function(tutti_precompile_test_headers)
  if(NOT TARGET tutti_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cc CONTENT "int main() {}\n")
    add_executable(tutti_test_headers EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cc)
    target_link_libraries(tutti_test_headers PRIVATE GTest::gmock tutti_warnings)
    target_precompile_headers(tutti_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    target_compile_options(tutti_test_headers PRIVATE ${TUTTI_PCH_OPTIONS})
  endif()
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
  tutti_precompile_test_headers()
  target_precompile_headers(${name} REUSE_FROM tutti_test_headers)
  target_compile_options(${name} PRIVATE ${TUTTI_PCH_OPTIONS})
  set(labels)
  if(ARG_LABELS)
    set(labels LABELS ${ARG_LABELS})
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${TUTTI_TEST_PREFIX}${name}." DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 120 ${labels})
endfunction()
