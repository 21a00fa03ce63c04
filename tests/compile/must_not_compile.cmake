# cmake -DCOMPILE=... -DSOURCE=... -P must_not_compile.cmake: see CMakeLists.txt beside this file.
# The program must compile without the macro, or its refusal would prove nothing.
execute_process(COMMAND ${COMPILE} ${SOURCE} RESULT_VARIABLE plain ERROR_VARIABLE errors)
if(NOT plain EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must compile without TUTTI_MUST_NOT_COMPILE:\n${errors}")
endif()

file(STRINGS ${SOURCE} wanted REGEX "^// Refused: ")
list(LENGTH wanted num_wanted)
if(NOT num_wanted EQUAL 1)
  message(FATAL_ERROR "${SOURCE} needs exactly one line '// Refused: REGEX'")
endif()
string(REPLACE "// Refused: " "" wanted "${wanted}")

set(ENV{LC_ALL} C)  # plain quotes in the compiler's messages
execute_process(COMMAND ${COMPILE} -DTUTTI_MUST_NOT_COMPILE ${SOURCE} RESULT_VARIABLE refused
                ERROR_VARIABLE errors)
if(refused EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles with TUTTI_MUST_NOT_COMPILE, and must not")
endif()
if(NOT errors MATCHES "error: [^\n]*(${wanted})")
  message(FATAL_ERROR "${SOURCE} is refused, but not with an error like '${wanted}':\n${errors}")
endif()
