"""The native stack of a failure: functions are named by what a library exports, and by symbol tables that fit it."""

import os
import shutil
import subprocess

import pytest

import claims
from conftest import command, read_report

pytestmark = pytest.mark.sanitized
GOOD, BAD = ["80"], ["90"]


@pytest.fixture
def app(program, tmp_path):
    """A copy of calls_from_static.c's program that a test may change."""
    built = program("calls_from_static", "12.4", GOOD, BAD, more=["-rdynamic"])
    return shutil.copy(built, tmp_path / "calls_from_static")


def tool(*arguments):
    subprocess.run(list(map(str, arguments)), check=True)


def frames(report, path):
    """The frames in that file, innermost first."""
    return [f for f in report["failures"][0]["native_stack"] if f["library"] and claims.base(f["library"]) == path.name]


def names(report, path):
    return {f["symbol"]: f["named_by"] for f in frames(report, path)}


def unnamed(report, path):
    return {f["unnamed_because"] for f in frames(report, path) if not f["symbol"]}


def test_a_function_that_is_not_exported_is_named_by_the_files_symbol_table(run, app):
    out = run(app)
    assert names(out.report, app)["exported"] == "process"
    assert names(out.report, app)["not_exported"] == "file"
    lines = [line.replace("at ", "").strip() for line in out.text.splitlines()]
    assert lines.index("not_exported  calls_from_static") + 1 == lines.index("exported  calls_from_static")


def test_another_place_where_the_same_kernel_fails_is_told(run, program):
    """Without Python it is the native stack that tells the places apart; a loop is one place."""
    out = run(program("ways", "12.4", GOOD, BAD, more=["-lpthread", "-ldl"]), "vfork")
    failure = claims.one_failure(out.report)
    place, = failure["other_places"]
    assert (failure["count"], place["time"], place["python_stack"]) == (2, 2, [])
    first, again = ([f["offset"] for f in stack if not f["folded"]] for stack in (failure["native_stack"], place["native_stack"]))
    assert len(first) == len(again) > 3 and first != again
    assert "    also  " in out.text


@pytest.mark.parametrize("version,static", [("11.8", False), ("12.4", False), ("12.9", True), ("13.5", False), ("13.5", True)])
def test_a_kernel_that_fails_in_a_loop_has_one_place(run, program, version, static):
    """Though a runtime does more the first time, and later may not ask the driver any more."""
    out = run(program("threads", version, GOOD, BAD, static=static, more=["-lpthread"]), 1, 100)
    failures = out.report["failures"]
    seen = 1 if (version, static) == ("12.9", True) else 100  # a static runtime of 12 asks the driver once
    assert sum(f["count"] for f in failures) == seen
    assert [f["other_places"] for f in failures] == [[]] * len(failures), failures


def test_a_stripped_file_still_tells_its_offsets(run, app):
    tool("strip", app)
    out = run(app)
    assert names(out.report, app)["exported"] == "process" and "not_exported" not in names(out.report, app)
    assert unnamed(out.report, app) == {None}
    assert "calls_from_static+0x" in out.text


@pytest.mark.parametrize("below", ["", ".debug"])
def test_a_separate_file_of_symbols_is_read_if_it_has_the_same_build_id(run, app, below):
    debug = app.parent / below / "calls_from_static.debug"
    debug.parent.mkdir(exist_ok=True)
    tool("objcopy", "--only-keep-debug", app, debug)
    tool("strip", app)
    tool("objcopy", f"--add-gnu-debuglink={debug}", app)
    out = run(app)
    assert names(out.report, app)["not_exported"] == "debug_file"
    tool("objcopy", "--remove-section=.note.gnu.build-id", debug)
    again = read_report(out.recordings[0])
    assert "not_exported" not in names(again, app) and names(again, app)["exported"] == "process"


def test_a_file_that_has_changed_names_no_function_and_the_report_says_so(run, app):
    """What was known when it happened is kept."""
    tool("strip", app)
    out = run(app)
    tool("objcopy", "--remove-section=.note.gnu.build-id", app)
    again = read_report(out.recordings[0])
    assert names(again, app)["exported"] == "process"
    assert unnamed(again, app) == {"changed"}
    assert "(the file has changed since)" in command("report", out.recordings[0]).stdout


def test_a_file_that_is_gone_costs_only_the_names_that_it_alone_knew(run, app):
    out = run(app)
    os.remove(app)
    again = read_report(out.recordings[0])
    assert names(again, app)["exported"] == "process" and unnamed(again, app) == {"gone"}
    assert "(the file is gone)" in command("report", out.recordings[0]).stdout


def test_frames_of_the_library_itself_are_not_in_the_stack_and_those_of_cuda_are_marked(run, app):
    stack = run(app).report["failures"][0]["native_stack"]
    assert not [f for f in stack if "libnokernel" in f["library"]]
    assert {f["folded"] for f in stack if "libcudart" in f["library"]} == {True}
    assert {f["folded"] for f in stack if claims.base(f["library"]) == "calls_from_static"} == {False}
