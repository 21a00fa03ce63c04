# cmake -DBUILD=... -DCXX=... -DCONSUMER=... -DWORK=... -P install_and_use.cmake
# Every step's output is shown; the first that fails ends the test.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# A user may include include/tutti and include/tutti.h and nothing else of ours.
file(GLOB headers RELATIVE ${prefix}/include ${prefix}/include/*)
if(NOT headers STREQUAL "tutti;tutti.h")
  message(FATAL_ERROR "installed under include/: '${headers}', where only 'tutti;tutti.h' belongs")
endif()

step(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
     -DCMAKE_PREFIX_PATH=${prefix})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${WORK}/build/consumer)
step(${CMAKE_COMMAND} -S ${CONSUMER}_c -B ${WORK}/build_c -G Ninja -DCMAKE_PREFIX_PATH=${prefix})
step(${CMAKE_COMMAND} --build ${WORK}/build_c)
step(${WORK}/build_c/consumer_c)
if(EXISTS ${prefix}/bin/tutti)
  step(${prefix}/bin/tutti --help)
endif()
