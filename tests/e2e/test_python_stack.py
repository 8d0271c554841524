"""The Python lines that made a failing call are those that Python itself would show, whatever its version.

Interpreters: the one of the tests, the distribution's, those of pyenv and of scripts/get-pythons, and what
NOKERNEL_PYTHONS names (paths with ":" between them). Versions that are not there are told in the warnings at the end of the run.
"""

import functools
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import claims
from conftest import ROOT
from fixtures import images, programs, toolkit

APP = ROOT / "tests" / "e2e" / "apps" / "python_stack.py"
WANTED = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t"]
ASK = "import ctypes, sys; print('.'.join(map(str, sys.version_info[:3])), hasattr(sys, '_is_gil_enabled') and not sys._is_gil_enabled())"
MOST_FRAMES = 128
pytestmark = pytest.mark.sanitized


@functools.cache
def interpreters():
    """{"3.11.2": path}: one of each release."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    places = [sys.executable, *sorted(Path("/usr/bin").glob("python3.*[0-9t]")), *sorted(pyenv.glob("versions/*/bin/python")),
              *sorted(toolkit.CACHE.glob("pythons/*/bin/python"))]
    found = {}
    for path in [*places, *os.environ.get("NOKERNEL_PYTHONS", "").split(":")]:
        done = subprocess.run([path, "-c", ASK], capture_output=True, text=True) if path else None
        if done and done.returncode == 0 and re.match(r"3\.(8|9|1[0-4])\.", done.stdout):
            version, threaded = done.stdout.split()
            found.setdefault(version + "t" * (threaded == "True"), str(path))
    return found


def series(release):
    """"3.13t" of "3.13.0t"."""
    return re.sub(r"(\d+\.\d+)\.\d+", r"\1", release)


def shared_library(path):
    """(the shared library of an interpreter, its prefix); (None, prefix) when it has none."""
    text = "import sys, sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('INSTSONAME'), sys.base_prefix)"
    library, prefix = subprocess.run([path, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    return library if ".so" in library and os.path.exists(library) else None, prefix


@pytest.fixture
def misfit(store):
    """A cubin that the GPU of these tests cannot run."""
    return images.image(store, "90", ["k000000"])


def as_reported(frames, home):
    """A stack of Python's as the report shows it: as long as it may be, home directories hidden, surrogates escaped."""

    def plain(text):
        return re.sub("[\ud800-\udfff]", lambda c: f"\\u{ord(c[0]):04x}", text)

    def shown(file):
        file = re.sub(r"^/home/[^/]+(?=/)", "~", plain(file))
        return "~" + file[len(home) :] if file.startswith(home + "/") else file

    return [(shown(file), line, plain(name)) for file, line, name in frames[:MOST_FRAMES]]


def reported(report):
    """{kernel: stack} of the failures; each is of an image with one kernel."""
    return {f["candidates"][0]: [(s["file"], s["line"], s["function"]) for s in f["python_stack"]] for f in report["failures"]}


def same_stacks(report, stacks, home):
    found = reported(report)
    assert len(stacks) > 20
    assert set(found) == set(stacks)
    for kernel, frames in stacks.items():
        assert found[kernel] == as_reported(frames, home), kernel


@pytest.mark.parametrize("release", interpreters())
def test_every_kind_of_frame_is_shown_as_python_shows_it(run, misfit, release):
    out = run(interpreters()[release], APP, misfit, "ways")
    same_stacks(out.report, json.loads(out.stdout), str(out.folder.parent))


@pytest.mark.parametrize("release", interpreters())
def test_stacks_of_four_failing_threads_beside_a_busy_one_are_right(run, misfit, release):
    out = run(interpreters()[release], APP, misfit, "threads", 40)
    stacks = json.loads((out.folder.parent / "stacks.json").read_text())
    assert out.stdout == "160\n"
    same_stacks(out.report, stacks, str(out.folder.parent))


def test_versions_that_are_not_on_this_machine_are_named():
    missing = set(WANTED) - {series(release) for release in interpreters()}
    if missing:
        names = ", ".join(v for v in WANTED if v in missing)
        warnings.warn(f"Python stacks were tested on {', '.join(interpreters())}; not here: {names} (scripts/get-pythons)")
    assert interpreters()


SCRIPT = """
import ctypes, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
def inner():
    return cuda.cuModuleLoadData(ctypes.byref(ctypes.c_void_p()), open(sys.argv[1], "rb").read())
def outer():
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    return inner()
"""


@pytest.fixture
def script(tmp_path):
    """script("print(outer())") -> path of a program whose outer() fails in inner()."""

    def write(body):
        path = tmp_path / "program.py"
        path.write_text(SCRIPT + body + "\n")
        return path

    return write


@pytest.mark.plain  # a sanitizer puts frames of its own below ours
def test_the_report_shows_the_lines_above_the_native_stack(run, misfit, script):
    out = run(sys.executable, script("print(outer())"), misfit)
    lines = out.text.splitlines()
    at = lines.index("    at    program.py:5 in inner  <-  program.py:11 in outer")
    assert lines[at + 1] == "          <-  program.py:12 in <module>"
    assert re.match(r" {10}libffi", lines[at + 2]), lines[at + 2]


AGAIN = """
def other():
    return inner()
for i in range(20):
    outer()
for i in range(5):
    other()
exec("\\n" * 99 + "for i in range(100): inner()")
"""


def test_other_lines_on_which_the_same_fails_are_told_each_once(run, misfit, script):
    """Each of the first eight times is looked at, and then the 16th, the 32nd, ..."""
    out = run(sys.executable, script(AGAIN), misfit)
    failure = claims.one_failure(out.report)
    assert failure["count"] == 125
    places = [(p["time"], [s["line"] for s in p["python_stack"]]) for p in failure["other_places"]]
    assert places == [(32, [5, 100, 19])], places
    assert "    also  program.py:5 in inner  <-  <string>:100 in <module>" in out.text, out.text
    fewer = run(sys.executable, script(AGAIN.replace("range(20)", "range(1)")), misfit)
    assert [(p["time"], p["python_stack"][1]["function"]) for p in claims.one_failure(fewer.report)["other_places"]] == [
        (2, "other"), (7, "<module>")]


def test_frames_of_the_program_come_before_those_of_the_standard_library(run, misfit, script):
    out = run(sys.executable, script("t = threading.Thread(target=outer)\nt.start()\nt.join()"), misfit)
    assert "    at    program.py:5 in inner  <-  program.py:11 in outer\n" in out.text
    assert [s["function"] for s in claims.one_failure(out.report)["python_stack"]][2:4] == ["run", "_bootstrap_inner"]


def test_a_forked_child_has_its_own_stack(run, misfit, script):
    out = run(sys.executable, script("import os\nif not os.fork():\n    outer()\n    os._exit(0)\nos.wait()"), misfit)
    assert [s["line"] for s in claims.one_failure(out.report)["python_stack"]] == [5, 11, 14]


def test_a_thread_that_runs_no_python_has_no_python_stack(run, program):
    plugin = program("plugin", "12.4", ["80"], ["90"], shared=True)
    text = "import ctypes, threading\np = ctypes.CDLL({!r})\np.plugin_run()".format(str(plugin))
    out = run(sys.executable, "-c", text)
    assert [s["line"] for s in claims.one_failure(out.report)["python_stack"]] == [3]
    out = run(program("launches", "12.4", ["80"], ["90"]), "b")
    assert claims.one_failure(out.report)["python_stack"] == []


def test_stacks_that_are_switched_off_are_off_for_python_too(run, misfit, script):
    out = run(sys.executable, script("print(outer())"), misfit, env={"NOKERNEL_STACK": "off"})
    assert claims.one_failure(out.report)["python_stack"] == []


def test_a_sandbox_that_forbids_reading_memory_by_call_takes_no_line_away(run, misfit, script, store):
    """As container engines with old seccomp profiles do: process_vm_readv is refused."""
    forbids = programs.linked(store, "libforbids.so", [programs.compiled(store, "forbids_reads.c")], [], shared=True)
    out = run(sys.executable, script("print(outer())"), misfit, before=[forbids])
    assert [s["line"] for s in claims.one_failure(out.report)["python_stack"]] == [5, 11, 12]


@pytest.mark.parametrize("release", interpreters())
def test_a_failure_in_an_inner_interpreter_never_shows_the_outer_ones_stack(run, misfit, release):
    """Before 3.12 nobody can say which stack is in use when the lock is released: then there is none."""
    out = run(interpreters()[release], APP.with_name("python_inside.py"), misfit)
    found = {kernel: [(line, name) for _, line, name in stack] for kernel, stack in reported(out.report).items()}
    inner = [(6, "inside"), (7, "<module>")]
    assert found == {"k000001": inner if tuple(map(int, series(release).rstrip("t").split("."))) >= (3, 12) else [], "k000002": inner}


def test_an_embedded_interpreter_that_comes_late_and_goes_is_found_and_forgotten(run, misfit, store):
    program = programs.linked(store, "embeds_python", [programs.compiled(store, "embeds_python.c")], ["-ldl"])
    found = [pair for pair in map(shared_library, interpreters().values()) if pair[0]]
    for library, prefix in found:
        out = run(program, misfit, library, env={"PYTHONHOME": prefix})
        assert out.lines == ["1: 209", "2: 209", "3: 209", "4: 209"]
        frames = {kernel: [(line, name) for _, line, name in stack] for kernel, stack in reported(out.report).items()}
        assert frames == {"k000001": [], "k000002": [(2, "f"), (4, "<module>")], "k000003": [], "k000004": []}, library
    if not found:
        warnings.warn("no interpreter on this machine has a shared library: embedding was not tested")
