"""Processes that fork, become others, hide in the background, or end while others are at work; code that is unloaded."""

import json
import shutil
import signal
import sys

import pytest

import claims
from conftest import COMMAND, command, environment, execute
from fixtures import programs

pytestmark = pytest.mark.sanitized
GOOD, BAD = ["80"], ["90"]
VARIANTS = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}") for v, s in (
    ("11.8", False), ("12.4", False), ("12.9", True), ("13.5", False), ("13.5", True))]


@pytest.fixture(scope="session")
def ways(program):
    """ways(version, static): the program ways.c."""
    return lambda version="12.4", static=False: program("ways", version, GOOD, BAD, static=static,
                                                        more=["-lpthread", "-ldl"])


def told(report, launches=1):
    """That process launched a and failed with b."""
    claims.failed(report, claims.B, 209, "ways")
    claims.launched(report, claims.A, launches)


def pids(out):
    return {r["process"]["pid"] for r in out.reports}


@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_grandchild_of_a_fork_is_recorded_and_its_forebears_are_not(run, ways, version, static):
    out = run(ways(version, static), "double-fork")
    assert out.lines[-1] == "grandchild 6"
    assert len(out.reports) == 1
    claims.missing(out, claims.B, "ways", knowable=claims.knows_name(version, static))


def test_a_daemon_without_terminal_and_folder_is_recorded(run, ways):
    out = run(ways(), "daemon", exit_report=False)
    assert out.lines == ["daemon 0"]
    assert out.stderr == ""
    told(out.report)
    assert out.report["process"]["exit"]["status"] == 0


@pytest.mark.parametrize("way,name", [("vfork", "vfork"), ("raw-fork", "fork")])
def test_a_child_that_shares_our_memory_or_was_made_behind_our_back_ends_nothing(run, ways, way, name):
    """vfork: the child's _exit is not the end of the parent, and its report is not printed there."""
    out = run(ways(), way)
    assert f"{name} 3" in out.lines and "after a 0" in out.lines and "after b 209" in out.lines
    assert len(out.reports) == 1
    told(out.report, launches=2)
    assert out.report["process"]["exit"]["status"] == 0


def test_a_program_that_becomes_another_cuda_program_leaves_two_recordings(run, ways):
    out = run(ways(), "exec", exit_report=False)
    assert len(out.reports) == 2 and len(pids(out)) == 1
    for report in out.reports:
        told(report)


def test_a_spawned_program_has_a_recording_of_its_own(run, ways):
    out = run(ways(), "spawn")
    assert "child 0" in out.lines
    assert len(out.reports) == 2 and len(pids(out)) == 2
    for report in out.reports:
        told(report)


@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_fork_among_launches_of_other_threads_hangs_nobody(run, ways, version, static):
    out = run(ways(version, static), "fork-among-launches", exit_report=False, timeout=60)
    assert out.lines[-1] == "wrong 0"


@pytest.mark.parametrize("version,static", VARIANTS)
@pytest.mark.parametrize("sync", ["launch", "off"])
def test_an_end_among_launches_of_other_threads_is_orderly(run, ways, version, static, sync):
    """Several times: what a race breaks it breaks seldom."""
    for _ in range(3):
        out = run(ways(version, static), "_exit-among-launches", env={"NOKERNEL_SYNC": sync})
        assert out.code == 5
        claims.missing(out, claims.B, "ways", knowable=claims.knows_name(version, static))
        assert out.report["process"]["exit"]["status"] == 5


@pytest.mark.parametrize("version,static", VARIANTS)
def test_an_exit_that_takes_the_runtime_from_under_other_threads_loses_nothing(run, ways, version, static):
    """Without the library such a program crashes now and then too, inside the runtime, while that takes itself apart."""
    for _ in range(3):
        out = run("prlimit", "--core=0", ways(version, static), "exit-among-launches", same=False, exit_report=False)
        assert out.code in (5, -signal.SIGSEGV), out.stderr
        failure = claims.one_failure(out.report)  # the refusals of a runtime that is ending are not the driver's
        assert failure["code"] == 209 and failure["count"] >= 1, failure
        assert out.stderr.count("nokernel: ") == 1, out.stderr


# ---- after the report
AGAIN = "\nnokernel: more failed while the program ended, after this report: here it is again\n"


@pytest.mark.parametrize("version,static", VARIANTS)
def test_what_fails_in_a_handler_of_exit_is_recorded_and_told(run, ways, version, static):
    """As in a destructor of a global object: it comes when the report has been made, and before the runtime's own end."""
    out = run(ways(version, static), "late", exit_report=False)
    assert out.lines == ["a 0", "late a 0", "late b 209"]
    claims.failed(out.report, claims.B, 209, "ways", knowable=claims.knows_name(version, static))
    claims.launched(out.report, claims.A, 2)
    first, again = out.stderr.split(AGAIN)
    assert "it had an image" in first and len(first.splitlines()) == 1, first
    env = environment(out.folder.parent, 80, 13000, None, False, None)
    assert again == command("report", out.recordings[0], env=env).stdout
    assert "FAILED  k_b" in again
    assert (out.report["process"]["exit"]["how"], out.report["process"]["exit"]["status"]) == ("exit", 0)


def test_what_fails_late_is_told_also_where_no_file_can_be_written(run, ways):
    out = run(ways(), "late", env={"NOKERNEL_DIR": "/proc/nowhere"}, exit_report=False)
    first, again = out.stderr.split(AGAIN)
    assert "FAILED" not in first and "FAILED  k_b" in again


def test_what_works_late_is_counted_and_no_word_is_lost_on_it(run, program):
    out = run(program("ways", "12.4", GOOD, GOOD, more=["-lpthread", "-ldl"]), "late", exit_report=False)
    claims.launched(out.report, claims.A, 2)
    claims.launched(out.report, claims.B, 1)
    assert len(out.stderr.splitlines()) == 1, out.stderr


@pytest.mark.parametrize("version,static", VARIANTS)
@pytest.mark.parametrize("sync", ["launch", "trail"])
def test_an_exit_out_of_a_signal_handler_while_a_launch_is_waited_for_is_an_end_like_others(run, program, version, static, sync):
    out = run(program("exits_in_handler", version, GOOD, BAD, static=static), env={"SIM_KERNEL_MS": "20000", "NOKERNEL_SYNC": sync}, timeout=20)
    assert (out.code, out.lines) == (5, ["b 209"])
    claims.failed(out.report, claims.B, 209, "exits_in_handler", knowable=claims.knows_name(version, static))
    assert (out.report["process"]["exit"]["how"], out.report["process"]["exit"]["status"]) == ("exit", 5)


# ---- unloading
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_plugin_that_is_closed_is_gone_and_its_failure_is_kept(run, program, store, tmp_path, version, static):
    """The same file name and, as it happens, the same addresses, with other images each time."""
    paths = []
    for i, (a, b) in enumerate([(GOOD, BAD), (BAD, GOOD), (GOOD, GOOD)]):
        paths.append(tmp_path / f"libplugin{i}.so")
        shutil.copy(program("plugin", version, a, b, static=static, shared=True), paths[-1])
    app = programs.linked(store, "closes_plugin", [programs.compiled(store, "closes_plugin.c")], ["-ldl"])
    out = run(app, *paths)
    failures = [(f["kernel"] or f["candidates"][0], claims.base(f["library"])) for f in out.report["failures"]]
    assert failures == [(claims.B, "libplugin0.so"), (claims.A, "libplugin1.so")], failures
    assert out.text.count("FAILED") == 2


# ---- nokernel run
@pytest.mark.plain
def test_run_tells_of_all_processes_together(tmp_path, ways):
    env = environment(tmp_path, 80, 13000, None, False, None)
    for way, count in (("spawn", 2), ("double-fork", 1), ("daemon", 1), ("exec", 2)):
        json_file = tmp_path / f"{way}.json"
        done = execute([COMMAND, "run", "--json", json_file, "--", ways(), way], env, tmp_path)
        assert done.returncode == 0, done.stderr
        report = json.loads(json_file.read_text())
        assert len(report["recordings"]) == count, (way, report["recordings"])
        assert done.stderr.count("nokernel: ") == count, done.stderr
        assert {f["kernel"] for f in report["failures"]} == {claims.B}


WORKERS = """
import ctypes, multiprocessing, sys

def work(path):
    ctypes.CDLL(path).plugin_run()

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    workers = [context.Process(target=work, args=(sys.argv[1],)) for _ in range(3)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    print([worker.exitcode for worker in workers])
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing_are_recorded_each_for_itself(run, program, tmp_path, method):
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    plugin = program("plugin", "12.4", GOOD, BAD, shared=True)
    out = run(sys.executable, script, plugin, method, same=False, exit_report=False)
    assert out.lines[-1] == "[0, 0, 0]", out.stderr
    assert len(out.reports) == 3 and len(pids(out)) == 3
    for report in out.reports:
        claims.failed(report, claims.B, 209, "libplugin.so")
        assert report["process"]["exit"], report["process"]


def test_a_forked_child_names_the_recording_of_its_parent(run, program):
    out = run(program("forks", "12.4", GOOD, BAD), "both")
    assert [r["process"]["parent_recording"] for r in out.reports] == [None, None]  # both began after the fork
    out = run(program("forks", "12.4", GOOD, BAD), "again")
    parent, = [r["process"] for r in out.reports if not r["process"]["parent_recording"]]
    child, = [r["process"] for r in out.reports if r["process"]["parent_recording"]]
    assert child["parent_pid"] == parent["pid"]
    assert child["parent_recording"] == f"~/recordings/forks-{parent['pid']}.nkr"


@pytest.mark.parametrize("own,other", [("12.4", "12.9"), ("13.5", "12.9"), ("11.8", "13.5")])
def test_the_report_is_made_before_a_runtime_ends_that_came_later(run, program, own, other):
    """Other threads may still launch when it does: the less there is to do after that, the better."""
    plugin = program("plugin", other, GOOD, BAD, static=True, shared=True, flags=["-DSAYS_WHEN_IT_ENDS"], more=["-Wl,-Bsymbolic"])
    host = program("opens_plugin", own, GOOD, BAD, flags=["-DOWN_KERNELS"], more=["-ldl"])
    out = run(host, plugin, exit_report=False)
    assert out.lines == ["own a 0", "plug-in a 0", "plug-in b 209"]
    assert out.stderr.startswith("nokernel: ") and out.stderr.endswith("\nplug-in gone\n"), out.stderr
