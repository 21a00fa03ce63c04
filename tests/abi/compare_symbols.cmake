# cmake -DNM=... -DLIBRARY=... -DLIST=... -P compare_symbols.cmake
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY} OUTPUT_VARIABLE table
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${table}")
set(shown)
foreach(line IN LISTS lines)
  # "name@@version T address size"; the version's own name, with type A, is no function.
  if(line MATCHES "^([^ ]+) A ")
    continue()
  endif()
  string(REGEX REPLACE " .*" "" name "${line}")
  list(APPEND shown ${name})
endforeach()
list(SORT shown)
file(STRINGS ${LIST} listed)
if(NOT shown STREQUAL listed)
  string(REPLACE ";" "\n" shown "${shown}")
  message(FATAL_ERROR "${LIBRARY} shows other symbols than ${LIST} lists:\n${shown}")
endif()
