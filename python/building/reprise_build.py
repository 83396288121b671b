# SPDX-License-Identifier: Apache-2.0
"""The backend of `pip install .` (pyproject.toml): scikit-build-core's, after a look at what the machine has.

The library is built with a C compiler, Python's headers, pkg-config, OpenSSL, libarchive and libyaml, of which the index
of Python has only the first steps. Where the compiler is there and others are not, Debian and its kin have them: apt-get
fetches those packages, by its own sources and its own keys, into a folder of this build. Nothing is installed and no
rights are asked for; libarchive and libyaml are then linked from there as static libraries, and libcrypto too where the
machine's is of another version. Where that cannot be done, one line says what to install. REPRISE_FETCH=0 never fetches.
"""
from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from scikit_build_core import build as _build
from scikit_build_core.build import (  # noqa: F401
    build_sdist, get_requires_for_build_sdist, prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel)

Settings = dict[str, Any] | None

# What pkg-config is asked for, and the packages of Debian that have it with all that its static form takes.
LIBRARIES = {"libcrypto >= 3.0": ["libssl-dev"],
             "libarchive >= 3.6": ["libarchive-dev", "zlib1g-dev", "libzstd-dev"],
             "yaml-0.1 >= 0.2.5": ["libyaml-dev"]}
PKG_CONFIG = ["pkgconf-bin", "libpkgconf3"]


def _say(line: str) -> None:
    print(f"reprise: {line}", file=sys.stderr, flush=True)


def _runs(*command: str, text: str | None = None) -> bool:
    try:
        return subprocess.run(command, input=text, text=True, capture_output=True).returncode == 0
    except OSError:
        return False


def _command(text: str) -> list[str]:
    """As CMake takes a variable that names a program: a path, which may have spaces, or a program and its arguments."""
    return [text] if shutil.which(text) else shlex.split(text)


def _told(settings: Settings, *names: str) -> bool:
    """Whether CMake is told a variable by settings or by CMAKE_ARGS."""
    told = [str(value) for key, value in (settings or {}).items() if key.endswith("cmake.args")] + [os.environ.get("CMAKE_ARGS", "")]
    return any(key.endswith(f"cmake.define.{name}") for key in settings or {} for name in names) or any(
        re.search(rf"-D\s*{name}[:=]", text) for text in told for name in names)


def _compiles(settings: Settings) -> bool:
    if os.environ.get("CMAKE_TOOLCHAIN_FILE") or _told(settings, "CMAKE_C_COMPILER", "CMAKE_TOOLCHAIN_FILE"):
        return True  # a compiler that CMake knows of
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), "cc")
    return _runs(*_command(compiler), "-x", "c", "-fsyntax-only", "-", text="#include <stdio.h>\n")


def _python_package() -> str:
    return f"libpython3.{sys.version_info.minor}-dev"


def _lacking(settings: Settings = None) -> dict[str, list[str]]:
    """What is not here: its name, and the packages of Debian that have it."""
    lacking = {}
    if not _compiles(settings):
        lacking["a C compiler"] = ["gcc", "libc6-dev"]
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")) and not _told(settings, "Python_INCLUDE_DIR"):
        lacking["Python's headers"] = [_python_package()]
    tool = _command(os.environ.get("PKG_CONFIG") or "pkg-config")
    if not _runs(*tool, "--version"):
        lacking["pkg-config"] = PKG_CONFIG
    for name, packages in LIBRARIES.items():
        if "pkg-config" in lacking or not _runs(*tool, "--exists", name):
            lacking[name] = packages
    return lacking


def _refuse(lacking: dict[str, list[str]], why: str) -> None:
    packages = " ".join({"pkgconf-bin": "pkg-config", _python_package(): "python3-dev"}.get(p, p)
                        for found in lacking.values() for p in found if p not in ("libpkgconf3", "zlib1g-dev", "libzstd-dev"))
    _say(f"not here, and {why}: {', '.join(lacking)}. On Debian: apt-get install {packages}")
    raise SystemExit(1)


def _looked(lacking: dict[str, list[str]]) -> None:
    """Refuses where the build could not get what is lacking."""
    if "a C compiler" in lacking:
        _refuse(lacking, "a compiler is not fetched")
    if lacking and os.environ.get("REPRISE_FETCH") == "0":
        _refuse(lacking, "REPRISE_FETCH is 0")
    if lacking and not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        _refuse(lacking, "there is no apt-get to fetch it by")


def _download(folder: str, packages: list[str]) -> bool:
    """By what the machine's apt knows; where that is nothing or old, by lists that are fetched for this build alone."""
    own = ["-o", f"Dir::State={folder}/state", "-o", f"Dir::Cache={folder}/cache",
           "-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"]
    os.makedirs(f"{folder}/state/lists/partial")
    os.makedirs(f"{folder}/cache/archives/partial")
    files = f"{folder}/files"
    os.makedirs(files)

    def get(*options: str) -> bool:
        done = subprocess.run(["apt-get", "-qq", *options, "download", *packages], cwd=files, capture_output=True, text=True)
        return done.returncode == 0

    if get("-o", "APT::Sandbox::User="):
        return True
    _runs("apt-get", "-qq", *own, "update")  # a source of others that fails is no reason: what is asked for decides
    return get(*own)


def _system_libcrypto() -> tuple[str, str] | None:
    """The machine's own libcrypto, which every program here loads, and its version."""
    import ctypes
    try:
        library = ctypes.CDLL("libcrypto.so.3")
        library.OpenSSL_version.restype = ctypes.c_char_p
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            found = re.search(r" (/(?:usr/)?lib/\S*libcrypto\.so\.3)\n", maps.read())
        return (found[1], library.OpenSSL_version(0).decode()) if found else None
    except (OSError, AttributeError):
        return None


def _version_of_headers(root: str) -> str | None:
    for path in glob.glob(f"{glob.escape(root)}/usr/include/**/openssl/opensslv.h", recursive=True):
        with open(path, encoding="utf-8") as file:
            found = re.search(r'define\s+OPENSSL_VERSION_TEXT\s+"([^"]*)"', file.read())
        if found:
            return found[1]
    return None


def _make_ready(root: str) -> None:
    """Texts for pkg-config say where the folder is. Each library is there in its static form alone, which takes what is
    named here; libcrypto is the machine's own where that is of the same version as the headers, so that its mends arrive:
    with another one `reprise doctor` would say that the host does not keep the contract."""
    takes = {"libarchive": "-larchive -lz -lzstd", "libcrypto": "-lcrypto -ldl -pthread"}
    libcrypto = _system_libcrypto()
    libraries = f"{glob.escape(root)}/usr/lib/*"
    for link in glob.glob(f"{libraries}/lib*.so"):
        os.remove(link)
        if libcrypto and os.path.basename(link) == "libcrypto.so" and libcrypto[1] == _version_of_headers(root):
            os.symlink(libcrypto[0], link)
    prefix = re.sub(r"([^\w/.,:+-])", r"\\\1", f"{root}/usr")  # spaces and their like are the path's
    for path in glob.glob(f"{libraries}/pkgconfig/*.pc"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r"(?m)^(\w+)=/usr", lambda found: f"{found[1]}={prefix}", text)
        text = re.sub(r"(?m)^(Libs|Requires)\.private:.*\n?", "", text)
        for name, links in takes.items():
            if os.path.basename(path) == f"{name}.pc":
                text = re.sub(r"(?m)^Libs:.*$", "Libs: -L${libdir} " + links, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _fetch(folder: str, lacking: dict[str, list[str]]) -> dict[str, str]:
    """Fetches what is lacking; the variables that the build takes it by."""
    packages = [package for found in lacking.values() for package in found]
    _say(f"not here: {', '.join(lacking)}; fetched for this build alone: {' '.join(packages)}")
    folder = os.path.realpath(folder)
    root = f"{folder}/root"
    if not _download(folder, packages):
        _refuse(lacking, "apt-get could not fetch it")
    for package in glob.glob(f"{glob.escape(folder)}/files/*.deb"):
        if not _runs("dpkg-deb", "-x", package, root):
            _refuse(lacking, f"{os.path.basename(package)} could not be unpacked")
    _make_ready(root)
    libraries = glob.glob(f"{glob.escape(root)}/usr/lib/*-linux-gnu*")
    texts = [f"{path}/pkgconfig" for path in libraries] + os.environ.get("PKG_CONFIG_PATH", "").split(":")
    includes = [f"{root}/usr/include", *glob.glob(f"{glob.escape(root)}/usr/include/*-linux-gnu*")]
    variables = {"PKG_CONFIG_PATH": ":".join(filter(None, texts))}
    if "Python's headers" in lacking:
        includes.insert(0, f"{root}/usr/include/python3.{sys.version_info.minor}")
        variables["REPRISE_PYTHON_HEADERS"] = includes[0]
    variables["C_INCLUDE_PATH"] = ":".join(filter(None, includes + os.environ.get("C_INCLUDE_PATH", "").split(":")))
    if "pkg-config" in lacking:
        tool = f"{folder}/pkg-config"
        with open(tool, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nLD_LIBRARY_PATH={shlex.quote(":".join(libraries))} exec {shlex.quote(f"{root}/usr/bin/pkgconf")} "$@"\n')
        os.chmod(tool, 0o755)
        variables["PKG_CONFIG"] = tool
    return variables


def _built(make: Any, where: str, settings: Settings, metadata: str | None) -> str:
    lacking = _lacking(settings)
    _looked(lacking)
    if not lacking:
        return str(make(where, settings, metadata))
    with tempfile.TemporaryDirectory(prefix="reprise-build-") as folder:
        given = settings or {}
        kept = str(given.get("build-dir") or given.get("skbuild.build-dir") or os.environ.get("SKBUILD_BUILD_DIR", ""))
        if kept and "{" not in kept:  # a build folder that stays remembers where its libraries are
            folder = os.path.join(kept, "fetched")
            shutil.rmtree(folder, ignore_errors=True)
        os.environ.update(_fetch(folder, lacking))
        headers = os.environ.pop("REPRISE_PYTHON_HEADERS", None)
        if headers:
            settings = {**(settings or {}), "cmake.define.Python_INCLUDE_DIR": headers}
        return str(make(where, settings, metadata))


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    _looked(_lacking(config_settings))
    return list(_build.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    _looked(_lacking(config_settings))
    return list(_build.get_requires_for_build_editable(config_settings))


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    return _built(_build.build_wheel, wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    return _built(_build.build_editable, wheel_directory, config_settings, metadata_directory)
