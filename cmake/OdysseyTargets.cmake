include(GoogleTest)

# odyssey_library(NAME [SMALL] SOURCES… DEPS… [PRIVATE_DEPS…])
# SMALL: linked into root or a cell, so built without exceptions and RTTI.
function(odyssey_library name)
  cmake_parse_arguments(ARG "SMALL" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(odyssey_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(odyssey_${name} PUBLIC ${ARG_DEPS}
    PRIVATE ${ARG_PRIVATE_DEPS} $<BUILD_INTERFACE:odyssey_flags>)
  target_include_directories(odyssey_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  if(ARG_SMALL)
    target_link_libraries(odyssey_${name} PRIVATE odyssey_small)
  endif()
endfunction()

# After how many seconds a test hangs. No measure of speed: what works takes a small part of it on a slow machine that
# has other work.
set(ODYSSEY_HANG_S 900)

# odyssey_test(NAME LABEL SOURCES… DEPS…): one gtest binary; each TEST becomes a ctest case.
function(odyssey_test name label)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} odyssey_flags GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # Tests of real cells count the host's processes, mounts and control groups: one at a time.
  set(serial FALSE)
  if(label MATCHES "kernel|e2e")
    set(serial TRUE)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${label}" TIMEOUT ${ODYSSEY_HANG_S} RUN_SERIAL ${serial})
endfunction()
