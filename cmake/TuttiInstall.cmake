# What a user of tutti gets: for C++ tutti::tutti (libtutti.a, the objects of every folder) and the
# headers of include/tutti; for C tutti::c (libtutti.so, which shows the functions of tutti.h and
# nothing else); no other headers; and the files that find_package(tutti) reads.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Called tutti_library, so that the program may be called tutti.
add_library(tutti_library STATIC)
add_library(tutti::tutti ALIAS tutti_library)
set_target_properties(tutti_library PROPERTIES OUTPUT_NAME tutti EXPORT_NAME tutti
                                               LINKER_LANGUAGE CXX)
target_compile_features(tutti_library PUBLIC cxx_std_20)
target_include_directories(tutti_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

add_library(tutti_shared SHARED)
add_library(tutti::c ALIAS tutti_shared)
set_target_properties(tutti_shared PROPERTIES OUTPUT_NAME tutti EXPORT_NAME c LINKER_LANGUAGE CXX
                                              VERSION ${PROJECT_VERSION} SOVERSION 0)
target_include_directories(tutti_shared PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(exports ${PROJECT_SOURCE_DIR}/src/capi/exports.map)
target_link_options(tutti_shared PRIVATE -Wl,--version-script=${exports} -Wl,--no-undefined)
set_target_properties(tutti_shared PROPERTIES LINK_DEPENDS ${exports})

get_property(folders GLOBAL PROPERTY TUTTI_FOLDERS)
foreach(folder IN LISTS folders)
  get_target_property(kind tutti_${folder} TYPE)
  if(kind STREQUAL STATIC_LIBRARY)
    target_sources(tutti_library PRIVATE $<TARGET_OBJECTS:tutti_${folder}>)
    target_sources(tutti_shared PRIVATE $<TARGET_OBJECTS:tutti_${folder}>)
  endif()
  # What the folders link besides each other, but for nlohmann_json, which is headers alone: the
  # user's linker needs these, and tuttiConfig.cmake.in finds each of them again.
  get_target_property(links tutti_${folder} INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM links REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
  list(FILTER links EXCLUDE REGEX "^tutti_|^nlohmann_json::")
  target_link_libraries(tutti_library PRIVATE ${links})
  # A program that uses libtutti.so needs none of them by name.
  foreach(link IN LISTS links)
    target_link_libraries(tutti_shared PRIVATE $<BUILD_INTERFACE:${link}>)
  endforeach()
endforeach()

install(TARGETS tutti_library EXPORT tuttiTargets ARCHIVE)
install(TARGETS tutti_shared EXPORT tuttiCTargets LIBRARY)
if(TARGET tutti_program)
  install(TARGETS tutti_program RUNTIME)
  # The program writes its own completion, so it is made once the program is.
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/completion.bash
                     COMMAND tutti_program completion bash > ${PROJECT_BINARY_DIR}/completion.bash)
  add_custom_target(tutti_completion ALL DEPENDS ${PROJECT_BINARY_DIR}/completion.bash)
  install(FILES ${PROJECT_BINARY_DIR}/completion.bash RENAME tutti
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tutti DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/tutti.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
install(EXPORT tuttiTargets NAMESPACE tutti:: DESTINATION ${package_dir})
install(EXPORT tuttiCTargets NAMESPACE tutti:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tuttiConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/tuttiConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tuttiConfig.cmake ${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake
        DESTINATION ${package_dir})
