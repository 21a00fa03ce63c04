# cmake -DPROGRAM=... -DTUTTI=... -DHOW=... -P leaves_nothing.cmake: three processes that met are all
# right, and of the place where they met nothing is left.
execute_process(COMMAND ${TUTTI} run -n 3 --timeout 100 -- ${PROGRAM} ${HOW} OUTPUT_VARIABLE output
                RESULT_VARIABLE code)
message("${output}")
string(REGEX MATCHALL "all right at [^\n]+" places "${output}")
list(LENGTH places num_right)
if(NOT code EQUAL 0 OR NOT num_right EQUAL 3)
  message(FATAL_ERROR "exit code ${code}, ${num_right} of 3 are all right")
endif()
list(GET places 0 place)
string(REPLACE "all right at " "" place "${place}")
if(NOT IS_ABSOLUTE "${place}" OR EXISTS "${place}")
  message(FATAL_ERROR "${place} is left behind")
endif()
