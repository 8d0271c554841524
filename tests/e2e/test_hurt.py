"""Hosts in narrow places: small stacks, few files, little memory, sandboxes, signals, a million launches."""

import shutil

import pytest

import claims
from fixtures import programs

pytestmark = pytest.mark.sanitized
GOOD, BAD = ["80"], ["90"]
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}") for v, s in (
    ("11.8", False), ("12.4", False), ("12.9", True), ("13.5", False), ("13.5", True))]


@pytest.mark.parametrize("version,static", VARIANTS)
@pytest.mark.parametrize("first", [False, True], ids=["later", "first call"])
def test_a_thread_with_64_kb_of_stack_launches_and_fails_unharmed(run, program, version, static, first):
    out = run(program("small_stack", version, GOOD, BAD, static=static, more=["-lpthread"]), 64, *(["x"] * first))
    assert out.lines[-3:] == ["a 0", "b 209", "last 209"]
    claims.missing(out, claims.B, "small_stack", knowable=claims.knows_name(version, static))


@pytest.mark.parametrize("files", [3, 4, 5, 6, 8, 10])
def test_a_process_that_may_open_few_files_only_is_unharmed(run, program, files):
    """Also when the program itself gets nowhere: then it says the same as without the library."""
    prlimit = shutil.which("prlimit")
    assert prlimit, "prlimit of util-linux is missing"
    # The loader needs a descriptor to open libraries, so the limit is set by the program's own shell after the start.
    out = run(prlimit, f"--nofile={files}", program("launches", "13.5", GOOD, BAD, static=True), "a", "b",
              exit_report=False)
    assert "Traceback" not in out.stderr


@pytest.mark.parametrize("megabytes", [64, 128, 256, 512])
def test_a_limit_on_memory_does_not_hurt(run, program, megabytes):
    out = run("prlimit", f"--as={megabytes << 20}", "--core=0", program("launches", "13.5", GOOD, BAD, static=True),
              "a", "b", exit_report=False)
    assert out.code >= 0


def test_a_sandbox_that_forbids_reading_by_system_call_still_gets_its_report(run, program, store):
    box = programs.linked(store, "sandbox", [programs.compiled(store, "sandbox.c")], [])
    out = run(box, program("launches", "12.4", GOOD, BAD), "a", "b")
    claims.missing(out, claims.B, "launches")
    claims.runs(out.report, claims.B, "none", "no-image")


def test_a_signal_handler_that_launches_is_no_danger(run, program):
    out = run(program("signals", "12.4", GOOD, BAD))
    assert out.lines == ["done 0"]
    claims.missing(out, claims.B, "signals")


@pytest.mark.parametrize("sync", ["off", "launch"])
def test_a_million_launches_of_16_threads_are_counted_exactly_and_cost_no_memory(run, program, sync):
    """Half of them fail: a recording that grew with them would show in its size."""
    times = 31250
    out = run(program("threads", "12.4", GOOD, BAD, more=["-lpthread"]), 16, times, env={"NOKERNEL_SYNC": sync},
              timeout=300)
    assert out.lines == [f"good {16 * times}", f"bad {16 * times}"]
    claims.launched(out.report, claims.A, 16 * times)
    failure = claims.missing(out, claims.B, "threads")
    assert sum(f["count"] for f in out.report["failures"]) == 16 * times, failure
    assert out.recordings[0].stat().st_size < 1 << 20
