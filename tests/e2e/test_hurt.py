"""Hosts in narrow places: small stacks, few files, little memory, sandboxes, signals, a million launches."""

import errno
import os
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

import claims
from conftest import environment, preload
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


def told(out):
    """The failure was reported, or a line says what was lost: never neither."""
    lines = out.stderr.splitlines()
    lost = ("nokernel: no recording: ", "nokernel: the recording ", "nokernel: no report: ")
    assert any("has no image" in line or line.startswith(lost) for line in lines), out.stderr
    return [line for line in lines if line.startswith(lost)]


@pytest.mark.parametrize("files", [3, 4, 5, 6, 8, 10])
def test_a_process_that_may_open_few_files_only_is_unharmed(run, program, files):
    """Also when the program itself gets nowhere: then it says the same as without the library."""
    prlimit = shutil.which("prlimit")
    assert prlimit, "prlimit of util-linux is missing"
    out = run(prlimit, f"--nofile={files}", program("launches", "13.5", GOOD, BAD, static=True), "a", "b",
              exit_report=False)
    assert "b 209" not in out.lines or not told(out)
    assert files == 3 or "b 209" in out.lines


def test_a_process_that_has_no_file_descriptor_left_is_told_that_nothing_is_recorded(run, program):
    out = run(program("no_files_left", "12.4", GOOD, BAD, more=["-ldl"]), exit_report=False)
    assert out.lines == ["a 0", "b 209"]
    assert len(told(out)) == 1 and "Too many open files" in out.stderr


@pytest.mark.plain
@pytest.mark.parametrize("kilobytes", [0, 16, 64, 256, 1024, 4096, 65536])
def test_a_limit_on_memory_does_not_hurt(run, program, kilobytes):
    out = run("prlimit", "--core=0", program("tight_memory", "13.5", GOOD, BAD, static=True), kilobytes,
              exit_report=False)
    assert out.lines[0] == "a 0" and len(out.lines) == 3
    told(out)


def test_a_sandbox_that_forbids_reading_by_system_call_still_gets_its_report(run, program, store):
    box = programs.linked(store, "sandbox", [programs.compiled(store, "sandbox.c")], [])
    out = run(box, "process_vm_readv", errno.EPERM, program("launches", "12.4", GOOD, BAD), "a", "b")
    claims.missing(out, claims.B, "launches")
    claims.runs(out.report, claims.B, "none", "no-image")


@pytest.mark.plain
@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS], ids=["EPERM", "ENOSYS"])
@pytest.mark.parametrize("call", ["pwrite64", "fcntl", "fstatfs", "readlink", "readlinkat", "mkdir", "mkdirat", "getcwd",
                                  "uname", "prlimit64", "gettid", "pipe2", "madvise"])
def test_a_sandbox_that_forbids_what_we_use_costs_at_most_the_recording(run, program, store, call, error):
    box = programs.linked(store, "sandbox", [programs.compiled(store, "sandbox.c")], [])
    out = run(box, call, error, program("launches", "12.4", GOOD, BAD), "a", "b", exit_report=False)
    assert "b 209" in out.lines
    assert not told(out) or call in ("pwrite64", "fcntl", "mkdir", "mkdirat"), out.stderr


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


def peak(program, *arguments, env, folder):
    """The most memory that a program ever had resident, in KB."""
    folder.mkdir()
    child = subprocess.Popen([str(program), *map(str, arguments)], env=env, cwd=folder, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return usage.ru_maxrss


@pytest.mark.plain
def test_a_hundred_times_as_many_launches_of_16_threads_take_no_more_memory(program, tmp_path):
    app = program("threads", "12.4", GOOD, BAD, more=["-lpthread"])
    env = environment(tmp_path, 80, 13000, None, False, {"LD_PRELOAD": preload(), "NOKERNEL_SYNC": "off"})
    few, many = (peak(app, 16, times, env=env, folder=tmp_path / str(times)) for times in (100, 10000))
    assert many - few < 1024, f"{few} KB for 100 launches each, {many} KB for 10000"


# ---- beside others
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_program_with_a_malloc_of_its_own_is_unharmed(run, program, version, static):
    out = run(program("own_malloc", version, GOOD, BAD, static=static, more=["-lpthread"], flags=["-fno-builtin"]))
    assert out.lines == ["done 0"] and "malloc within malloc" not in out.stderr
    claims.launched(out.report, claims.A, 80)
    claims.missing(out, claims.B, "own_malloc", knowable=claims.knows_name(version, static))


@pytest.mark.plain
@pytest.mark.parametrize("version,static", VARIANTS)
def test_a_plugin_opened_with_deepbind_works_and_what_its_runtime_asks_for_is_seen(run, program, store, version, static):
    app = programs.linked(store, "deepbind", [programs.compiled(store, "deepbind.c")], ["-ldl"])
    out = run(app, program("plugin", version, GOOD, BAD, static=static, shared=True), exit_report=False)
    assert out.lines == ["plug-in a 0", "plug-in b 209"]


# libjemalloc2 and libtcmalloc-minimal4 come with scripts/setup; others are tried where they are.
ALLOCATORS = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libmimalloc.so.2"]
FOLDERS = [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib/aarch64-linux-gnu"), Path("/usr/lib64")]


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("name", ALLOCATORS)
def test_an_allocator_that_is_preloaded_before_or_after_us_is_no_trouble(run, program, name, order):
    found = [folder / name for folder in FOLDERS if (folder / name).exists()]
    if not found:
        assert name not in ALLOCATORS[:2], f"{name} is not there: run scripts/setup check"
        return
    out = run(program("threads", "12.4", GOOD, BAD, more=["-lpthread"]), 4, 20, **{order: found[:1]})
    assert out.lines == ["good 80", "bad 80"]
    claims.launched(out.report, claims.A, 80)
    claims.missing(out, claims.B, "threads")


def library_of(sanitizer):
    return Path(subprocess.check_output(["gcc", f"-print-file-name=lib{sanitizer}.so"], text=True).strip()).resolve()


@pytest.mark.plain
@pytest.mark.parametrize("app", ["threads", "launches"])
@pytest.mark.parametrize("static", [True, False], ids=["in the program", "shared"])
@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
def test_a_program_that_was_built_with_a_sanitizer_is_unharmed_and_clean(run, program, sanitizer, static, app):
    """A shared sanitizer wants to be the first of all libraries, so whoever preloads one names it first."""
    short = {"address": "asan", "thread": "tsan", "undefined": "ubsan"}[sanitizer]
    flags = [f"-fsanitize={sanitizer}"]
    built = program(app, "12.4", GOOD, BAD, flags=flags,
                    more=["-lpthread", *flags, *([f"-static-lib{short}"] if static else [])])
    env = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "halt_on_error=1"}
    out = run(built, *((4, 20) if app == "threads" else "ab"), env=env, before=[] if static else [library_of(short)])
    assert out.code == 0 and "Sanitizer" not in out.stderr
    claims.missing(out, claims.B, app)


def jail(folder, *paths):
    """Copies programs and all their libraries into a folder that can be a root; returns it."""
    for path in map(str, paths):
        done = subprocess.run(["ldd", path], capture_output=True, text=True)
        needed = [word for line in done.stdout.splitlines() for word in line.split() if word.startswith("/")]
        for file in [path, *needed]:
            target = folder / file.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy(file, target)
    return folder


@pytest.mark.plain
def test_a_root_without_proc_costs_only_what_is_read_there(program, tmp_path):
    from conftest import LIBRARY, SIM, command, read_report

    app = program("launches", "13.5", GOOD, BAD, static=True)
    root = jail(tmp_path / "root", app, LIBRARY, SIM / "libcuda.so.1", shutil.which("env"))
    prefix = ["chroot", root] if os.geteuid() == 0 else ["unshare", "-r", "chroot", root]
    if subprocess.run([*prefix, "/usr/bin/env"], capture_output=True).returncode:
        warnings.warn("a root cannot be changed here: a program without /proc is not tried")
        return
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(SIM), "SIM_SM": "80", "NOKERNEL_DIR": "/recordings"}
    plain = subprocess.run([*prefix, app, "a", "b"], env=env, capture_output=True, text=True, timeout=60)
    done = subprocess.run([*prefix, "env", f"LD_PRELOAD={LIBRARY}", app, "a", "b"], env=env, capture_output=True,
                          text=True, timeout=60)
    assert (done.stdout, done.returncode) == (plain.stdout, plain.returncode) == (plain.stdout, 0)
    recording, = (root / "recordings").glob("*.nkr")
    report = read_report(recording)
    failure = claims.one_failure(report)
    assert (failure["kernel"], failure["code"]) == (claims.B, 209), failure
    assert command("report", recording).stdout
