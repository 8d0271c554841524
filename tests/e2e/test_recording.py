"""What had failed is kept, however the process ends; each process that uses CUDA has a recording of its own."""

import json
import stat
import sys

import pytest

import claims
from conftest import command, killed_by

pytestmark = pytest.mark.sanitized
GOOD, BAD = ["80"], ["90"]
SPEAKS = ["return", "exit", "thread"]  # ways after which the report is printed
SILENT = ["_exit", "_Exit", "quick_exit"]
KILLED = {"abort": "SIGABRT", "kill": "SIGKILL", "term": "SIGTERM", "segv": "SIGSEGV"}


@pytest.mark.parametrize("version,static", [("11.8", False), ("12.4", False), ("13.5", True)])
@pytest.mark.parametrize("way", [*SPEAKS, *SILENT])
def test_no_way_out_loses_the_failure_nor_the_exit_status(run, program, way, version, static):
    out = run(program("ends", version, GOOD, BAD, static=static, more=["-lpthread"]), way)
    assert out.code == 5
    claims.missing(out, claims.B, "ends", knowable=True)
    claims.launched(out.report, claims.A, 1)
    assert out.report["process"]["exit"]["status"] == 5, out.report["process"]


@pytest.mark.parametrize("way", KILLED)
def test_no_signal_loses_the_failure_nor_the_counts(run, program, way):
    out = run("prlimit", "--core=0", program("ends", "12.4", GOOD, BAD, more=["-lpthread"]), way, exit_report=False)
    assert killed_by(out, KILLED[way])
    claims.failed(out.report, claims.B, 209, "ends")
    claims.launched(out.report, claims.A, 1)


def test_a_program_that_becomes_another_keeps_its_recording(run, program):
    out = run(program("ends", "12.4", GOOD, BAD, more=["-lpthread"]), "exec", exit_report=False)
    assert out.lines[-1] == "another program"
    claims.failed(out.report, claims.B, 209, "ends")


def test_a_child_that_uses_cuda_has_a_recording_of_its_own(run, program):
    out = run(program("forks", "12.4", GOOD, BAD), "both")
    assert len(out.reports) == 2
    assert len({r["process"]["pid"] for r in out.reports}) == 2
    for report in out.reports:
        claims.failed(report, claims.B, 209, "forks")


def test_a_child_that_only_exits_adds_nothing(run, program):
    out = run(program("forks", "12.4", GOOD, BAD), "parent")
    assert len(out.reports) == 1
    claims.missing(out, claims.B, "forks", count=1)


def test_a_parent_that_never_uses_cuda_has_no_recording(run, program):
    out = run(program("forks", "12.4", GOOD, BAD), "child")
    assert len(out.reports) == 1
    claims.missing(out, claims.B, "forks")


def test_a_program_that_never_calls_the_runtime_that_it_is_linked_with_leaves_nothing(run, program):
    out = run(program("forks", "12.4", GOOD, BAD), "neither")
    assert (out.recordings, out.stderr) == ([], "")


PYTHON = """
import ctypes, os, sys
plugin = ctypes.CDLL(sys.argv[1])
if sys.argv[2] == "forked":
    if os.fork() == 0:
        plugin.plugin_run()
        os._exit(4)
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
plugin.plugin_run()
os._exit(4) if sys.argv[2] == "_exit" else sys.exit(4)
"""


@pytest.mark.parametrize("way", ["exit", "_exit", "forked"])
def test_python_programs_are_recorded_however_they_end(run, program, way):
    """ctypes opens the library locally; os._exit and multiprocessing's children run no exit handler of C."""
    plugin = program("plugin", "12.4", GOOD, BAD, shared=True)
    out = run(sys.executable, "-c", PYTHON, plugin, way)
    assert out.code == 4
    claims.missing(out, claims.B, "libplugin.so")


def test_a_recording_is_its_owners_alone(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a")
    assert stat.S_IMODE(out.recordings[0].stat().st_mode) == 0o600


def test_only_the_part_of_the_environment_that_explains_is_recorded(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a", env={"SECRET_TOKEN": "hunter2", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    data = out.recordings[0].read_bytes()
    assert b"PCI_BUS_ID" in data
    assert b"hunter2" not in data


def test_a_recording_cut_off_anywhere_is_read_as_far_as_it_goes(run, program, tmp_path):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b")
    data = out.recordings[0].read_bytes()
    for length in [*range(0, min(len(data), 4096), 97), *range(4096, len(data), max(1, len(data) // 50))]:
        part = tmp_path / "part.nkr"
        part.write_bytes(data[:length])
        done = command("report", "--json", part)
        assert done.returncode >= 0, f"cut at {length}: ended by signal {-done.returncode}"
        if done.stdout:
            json.loads(done.stdout)
        else:
            assert "part.nkr" in done.stderr, f"cut at {length}: no sentence"


def test_the_last_recording_is_found_by_last(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b")
    env = {"NOKERNEL_DIR": str(out.folder), "HOME": str(out.folder.parent)}
    assert command("report", "--last", env=env).stdout == out.text
