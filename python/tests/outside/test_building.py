# SPDX-License-Identifier: Apache-2.0
"""What `pip install .` does on a machine that lacks something of the build: one line says it, or the build fetches it."""
import contextlib
import importlib.util
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = os.environ.get("REPRISE_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3)
sys.path.insert(0, os.path.join(SOURCE, "python", "building"))
HERE = importlib.util.find_spec("scikit_build_core") is not None
if HERE:
    import reprise_build as building
TOOLS = ("pkg-config", "sh", "env")
COMPILER = {"cc": "exit 0"}


@unittest.skipUnless(HERE, "no scikit-build-core")
class Lacking(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.dict(os.environ, {"PKG_CONFIG_LIBDIR": self.folder}))
        for name in ("CC", "PKG_CONFIG", "PKG_CONFIG_PATH", "REPRISE_FETCH", "C_INCLUDE_PATH"):
            os.environ.pop(name, None)

    def tools(self, **made):
        """A machine of these tools alone, and of scripts that are made."""
        for name in TOOLS:
            found = shutil.which(name)
            if found:
                os.symlink(found, os.path.join(self.folder, name))
        for name, text in made.items():
            path = os.path.join(self.folder, name.replace("_", "-"))
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + text + "\n")
            os.chmod(path, 0o755)
        self.enterContext(mock.patch.dict(os.environ, {"PATH": self.folder}))

    def refused(self, call=None):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit):
            (call or building.get_requires_for_build_wheel)()
        lines = [line for line in said.getvalue().splitlines() if "apt-get install" in line]
        self.assertEqual(len(lines), 1, said.getvalue())
        return lines[0]

    def test_without_apt_one_line_says_what_to_install(self):
        self.tools(**COMPILER)
        line = self.refused()
        self.assertIn("libarchive", line)
        self.assertTrue(line.endswith("apt-get install libssl-dev libarchive-dev libyaml-dev"), line)
        self.assertIn("there is no apt-get", line)

    def test_a_compiler_is_asked_for_and_not_fetched(self):
        self.tools(apt_get="exit 0", dpkg_deb="exit 0")
        line = self.refused()
        self.assertIn("a C compiler", line)
        self.assertIn("apt-get install gcc libc6-dev", line)

    def test_programs_are_named_as_cmake_takes_them(self):
        """By a path with spaces, or with arguments; a compiler that CMake alone is told of is one, too."""
        self.tools(**COMPILER)
        os.makedirs(os.path.join(self.folder, "of my own"))
        own = shutil.copy(os.path.join(self.folder, "cc"), os.path.join(self.folder, "of my own"))
        os.remove(os.path.join(self.folder, "cc"))
        with mock.patch.dict(os.environ, {"PKG_CONFIG": f"{own} --static"}):
            self.assertIn("pkg-config", building._lacking())
        tool = shutil.copy(own, os.path.join(self.folder, "tool"))
        with mock.patch.dict(os.environ, {"PKG_CONFIG": f"{tool} --static", "CC": own}):
            self.assertFalse({"a C compiler", "pkg-config", *building.LIBRARIES} & set(building._lacking()))
        with mock.patch.dict(os.environ, {"PKG_CONFIG": own, "CC": f"{tool} -m64"}):
            self.assertFalse({"a C compiler", "pkg-config"} & set(building._lacking()))
        self.assertIn("a C compiler", building._lacking({"cmake.define.CMAKE_C_COMPILER_AR": "x"}))
        self.assertNotIn("a C compiler", building._lacking({"cmake.define.CMAKE_C_COMPILER": "x"}))
        for variable, value in (("CMAKE_ARGS", "-DCMAKE_C_COMPILER=x"), ("CMAKE_TOOLCHAIN_FILE", "x")):
            with mock.patch.dict(os.environ, {variable: value}):
                self.assertNotIn("a C compiler", building._lacking())

    def test_a_build_folder_that_stays_has_what_was_fetched(self):
        self.tools(**COMPILER, apt_get="exit 100", dpkg_deb="exit 0")
        for settings, more in (({"build-dir": "kept"}, {}), ({"skbuild.build-dir": "kept"}, {}), ({}, {"SKBUILD_BUILD_DIR": "kept"})):
            with mock.patch.dict(os.environ, more), mock.patch.object(building, "_fetch", return_value={}) as fetch:
                building._built(mock.Mock(return_value="wheel"), "", settings, None)
            self.assertEqual(fetch.call_args[0][0], os.path.join("kept", "fetched"))

    def test_nothing_is_fetched_where_that_is_said(self):
        self.tools(**COMPILER, apt_get="exit 0", dpkg_deb="exit 0")
        os.environ["REPRISE_FETCH"] = "0"
        self.assertIn("REPRISE_FETCH", self.refused())

    def test_a_fetch_that_fails_says_so(self):
        self.tools(**COMPILER, apt_get="exit 100", dpkg_deb="exit 0")
        made = mock.Mock()
        self.assertIn("could not fetch", self.refused(lambda: building._built(made, "", None, None)))
        made.assert_not_called()

    def test_what_is_here_is_taken_as_it_is(self):
        made = mock.Mock(return_value="wheel")
        with mock.patch.object(building, "_lacking", lambda settings: {}), mock.patch.object(building, "_fetch") as fetch:
            self.assertEqual(building._built(made, "here", {"a": "b"}, None), "wheel")
        made.assert_called_once_with("here", {"a": "b"}, None)
        fetch.assert_not_called()

    def test_the_machines_libcrypto_is_linked_where_it_is_of_the_headers_version(self):
        known = building._system_libcrypto()
        if known is None:
            self.skipTest("no libcrypto.so.3")
        for version, taken in ((known[1], True), ("OpenSSL 3.9.99 1 Jan 2040", False)):
            root = os.path.join(self.folder, str(taken))
            os.makedirs(os.path.join(root, "usr/lib/some"))
            os.makedirs(os.path.join(root, "usr/include/openssl"))
            with open(os.path.join(root, "usr/include/openssl/opensslv.h"), "w", encoding="utf-8") as file:
                file.write(f'# define OPENSSL_VERSION_TEXT "{version}"\n')
            link = os.path.join(root, "usr/lib/some/libcrypto.so")
            os.symlink("libcrypto.so.3", link)
            building._make_ready(root)
            self.assertEqual(os.readlink(link) if os.path.lexists(link) else None, known[0] if taken else None)

    @unittest.skipUnless(shutil.which("apt-get") and shutil.which("dpkg-deb"), "no apt-get")
    def test_what_is_fetched_compiles_links_and_runs_without_being_installed(self):
        lacking = {name: packages for name, packages in building._lacking().items() if name in building.LIBRARIES}
        self.assertEqual(list(lacking), list(building.LIBRARIES))
        folder = os.path.join(self.folder, "a folder [of one's own]")
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                os.environ.update(building._fetch(folder, lacking))
        except SystemExit:
            self.skipTest(said.getvalue())
        self.assertIn("fetched for this build alone", said.getvalue())
        asked = [name.split()[0] for name in lacking]
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", *asked], check=True, capture_output=True, text=True)
        program = os.path.join(self.folder, "program")
        text = ("#include <archive.h>\n#include <openssl/crypto.h>\n#include <yaml.h>\n"
                "int main(void) { struct archive *a = archive_read_new();\n"
                "return archive_read_support_filter_gzip(a) != ARCHIVE_OK || archive_read_support_filter_zstd(a) != ARCHIVE_OK ||\n"
                "archive_read_support_format_tar(a) != ARCHIVE_OK || archive_read_free(a) != ARCHIVE_OK ||\n"
                "yaml_get_version_string() == 0 || OpenSSL_version_num() < 0x30000000L; }\n")
        subprocess.run(["gcc", "-x", "c", "-", "-o", program, "-x", "none", *shlex.split(flags.stdout)], input=text, text=True, check=True)
        shutil.rmtree(folder)
        self.assertEqual(subprocess.run([program]).returncode, 0)
        self.assertFalse({"libarchive", "libyaml"} & {line.split()[0].split("-")[0].split(".so")[0] for line in
                         subprocess.run(["ldd", program], capture_output=True, text=True).stdout.splitlines()})


if __name__ == "__main__":
    unittest.main()
