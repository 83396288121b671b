# SPDX-License-Identifier: Apache-2.0
# A .deb of what is installed: cpack -G DEB in the build folder. What it depends on is read from the files.
set(CPACK_PACKAGE_NAME reprise)
set(CPACK_PACKAGE_VENDOR "Reprise")
set(CPACK_PACKAGE_CONTACT "Reprise <maintainers@reprise.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "deterministic, replayable machine learning for audit")
string(CONCAT CPACK_DEBIAN_PACKAGE_DESCRIPTION
       "Trains models so that anyone can replay the run later, on another machine,\n"
       "and get the same bits, or be shown the first operation that differs. With the\n"
       "libraries, their headers, manual pages and completion for three shells.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/triggers) # ldconfig, which finds the libraries
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
include(CPack)
