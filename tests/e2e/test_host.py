"""The program that is watched is not hurt: its results, output, exit status and neighbours stay what they were.

That output and exit status are the same with and without the library is asserted by `run` in every test of the suite;
here are the programs that are sensitive to it.
"""

import errno
import os
import shutil
import subprocess
import tempfile
import warnings

import pytest

import claims
from conftest import LIBRARY, SIM, command
from fixtures import programs

pytestmark = pytest.mark.sanitized
GOOD, BAD = ["80"], ["90"]
RUNTIMES = [pytest.param(v, s, id=f"{v}-{'static' if s else 'shared'}") for v, s in (
    ("11.8", False), ("12.4", False), ("12.9", True), ("13.5", False), ("13.5", True))]


def plain_app(store, name, libraries=(), shared=False):
    """An app without kernels."""
    return programs.linked(store, name, [programs.compiled(store, f"{name}.c")], ["-ldl", *libraries], shared)


def test_a_program_without_cuda_makes_no_file_and_prints_nothing(run, store):
    out = run(plain_app(store, "no_cuda"))
    assert (out.stdout, out.stderr, out.code, out.recordings) == ("hello\n", "", 3, [])
    assert not out.folder.exists()


def test_nobody_is_told_that_a_driver_is_there_when_none_is(run, store):
    out = run(plain_app(store, "asks_for_driver"))
    assert "found" not in out.stdout.replace("default puts found", "")
    assert "dlerror says why" in out.lines
    assert "errno 77" in out.lines
    assert not out.folder.exists()


@pytest.mark.parametrize("version,static", RUNTIMES)
def test_errno_is_the_programs(run, program, version, static):
    out = run(program("keeps_errno", version, GOOD, BAD, static=static))
    assert out.stdout.count("errno 77") == 9


@pytest.mark.parametrize("order", ["before", "after"])
def test_another_preloaded_library_still_finds_its_next_one(run, program, store, order):
    """Its puts and its cudaLaunchKernel are called, and find libc's and the runtime's by RTLD_NEXT."""
    more = programs.linked(store, "libmore.so", [programs.compiled(store, "says_more.c")], ["-ldl"], shared=True)
    out = run(program("never_reads_error", "12.4", GOOD, BAD), **{order: [more]})
    assert out.lines == ["more: done", "more: 3 launches"]
    claims.missing(out, claims.B, "never_reads_error", count=3)


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("version,static", RUNTIMES)
def test_another_library_that_hooks_dlsym_is_asked_as_ever(run, program, store, version, static, order):
    """Before us it goes past us to libc; what can be seen then is what a shared runtime is called for."""
    hook = programs.linked(store, "libhook.so", [programs.compiled(store, "hooks_dlsym.c")], ["-ldl"], shared=True)
    out = run(program("launches", version, GOOD, BAD, static=static), "a", "b", **{order: [hook]},
              exit_report=order == "after" or not static)
    assert out.lines[-1] == "hook: asked for the driver"
    if order == "after":
        claims.missing(out, claims.B, "launches", knowable=claims.knows_name(version, static))
    elif not static:
        claims.failed(out.report, claims.B, 209, "launches")


@pytest.mark.parametrize("version,static", RUNTIMES)
def test_exceptions_of_cxx_programs_are_caught_where_they_should(run, program, version, static):
    out = run(program("throws", version, GOOD, BAD, static=static, more=["-lpthread"]))
    assert "good returned" in out.lines
    for name in ("launch", "qsort", "thread"):
        assert f"{name} caught CUDA error 209" in out.lines


@pytest.mark.parametrize("version,static", RUNTIMES)
@pytest.mark.parametrize("sync", ["launch", "off"])
def test_threads_that_start_at_once_lose_no_launch(run, program, version, static, sync):
    out = run(program("threads", version, GOOD, BAD, static=static, more=["-lpthread"]), 8, 50,
              env={"NOKERNEL_SYNC": sync})
    assert out.lines == ["good 400", "bad 400"]
    claims.launched(out.report, claims.A, 400)
    claims.missing(out, claims.B, "threads", knowable=claims.knows_name(version, static))


def test_a_program_that_closes_our_file_gets_nothing_of_ours_into_its_own(run, program):
    out = run(program("closes_files", "12.4", GOOD, BAD), exit_report=False)
    assert out.lines[-1] == "ownown"
    assert "closed its file descriptor" in out.stderr


@pytest.mark.parametrize("version,static", RUNTIMES)
def test_a_stream_being_captured_is_left_alone(run, program, version, static):
    out = run(program("captures", version, GOOD, GOOD, static=static), "a", "b")
    assert out.lines == [f"{w} 0" for w in ("begin", "a", "b", "end", "instantiate", "launch", "launch", "sync")]
    claims.nothing_failed(out)


@pytest.mark.parametrize("version,static", RUNTIMES)
def test_a_capture_survives_launches_of_another_thread(run, program, version, static):
    """A device-wide synchronisation would end it; that of another stream does not."""
    out = run(program("captures_beside", version, GOOD, GOOD, static=static, more=["-lpthread"]),
              env={"SIM_CAPTURE": "strict"})
    assert out.lines[-1] == "end 0" and out.lines.count("beside 0") == 3
    claims.nothing_failed(out)


def test_the_library_needs_no_cuda_library_and_no_libunwind():
    needed = subprocess.check_output(["readelf", "-d", LIBRARY], text=True)
    names = [line for line in needed.splitlines() if "NEEDED" in line]
    assert names and not [n for n in names if any(w in n for w in ("cuda", "unwind", "nvidia", "lz4", "zstd"))], names


@pytest.mark.parametrize("setting", ["off", "glibc", "libunwind"])
def test_every_way_of_walking_the_stack_leaves_the_report_whole(run, program, setting):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b", env={"NOKERNEL_STACK": setting})
    failure = claims.missing(out, claims.B, "launches")
    assert bool(failure.get("native_stack")) == (setting != "off")


def test_a_missing_libunwind_costs_only_its_part(run, program, tmp_path):
    """A file that is no library stands where the loader looks first, so opening libunwind fails."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "libunwind.so.8").write_text("")
    out = run(program("throws", "12.4", GOOD, BAD, more=["-lpthread"]),
              env={"LD_LIBRARY_PATH": f"{hidden}:{SIM}"})
    assert "launch caught CUDA error 209" in out.lines
    claims.missing(out, claims.B, "throws")


@pytest.mark.parametrize("folder", ["/proc/nowhere", "/dev/null/below", "/sys/kernel"])
def test_a_folder_that_cannot_be_written_costs_the_recording_and_not_the_report(run, program, folder):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b", env={"NOKERNEL_DIR": folder}, exit_report=False)
    assert out.recordings == []
    assert len([line for line in out.stderr.splitlines() if "nokernel" in line and folder in line]) == 1, out.stderr
    assert "FAILED  k_b" in out.stderr and "recording  none: it could not be written" in out.stderr


def test_children_that_are_forked_where_nothing_can_be_written_report_by_themselves(run, program):
    out = run(program("forks", "12.4", GOOD, BAD), env={"NOKERNEL_DIR": "/proc/nowhere"}, exit_report=False)
    assert out.stderr.count("no recording") == out.stderr.count("FAILED  k_b") > 0, out.stderr


def test_who_wants_no_report_gets_none_where_nothing_can_be_written(run, program):
    env = {"NOKERNEL_DIR": "/proc/nowhere", "NOKERNEL_REPORT": "none"}
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b", env=env, exit_report=False)
    assert out.stderr.startswith("nokernel: no recording: ") and len(out.stderr.splitlines()) == 1


def test_a_limit_on_file_sizes_does_not_kill_the_program(run, program):
    """Writing past RLIMIT_FSIZE raises SIGXFSZ, whose default ends the process."""
    prlimit = shutil.which("prlimit")
    assert prlimit, "prlimit of util-linux is missing"
    for size, lost in ((0, 1), (100, 1), (4096, 1), (20000, 1), (1 << 20, 0)):
        out = run(prlimit, f"--fsize={size}", "--core=0", program("launches", "12.4", GOOD, BAD), *"ab" * 5,
                  exit_report=False)
        assert out.code == 0
        assert out.stderr.count("ulimit -f") == lost, out.stderr


# A command prefix: the program in a mount namespace of its own, with a small file system at NOKERNEL_DIR.
MOUNTED = [*(["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]), "sh", "-c",
           'mkdir -p "$NOKERNEL_DIR"; mount -t tmpfs -o "size=${KILOBYTES}k" none "$NOKERNEL_DIR" && exec "$@"', "sh"]


def may_mount():
    """Not in every container: then a full disk is only tried with a stand-in (tests/apps/full_disk.c)."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "NOKERNEL_DIR": folder, "KILOBYTES": "4"}
        return subprocess.run([*MOUNTED, "true"], env=env, capture_output=True).returncode == 0


# A quota needs a file system that has them; what its end looks like to a program is only another error.
FULL_DISKS = ["mounted", "stand-in", "quota"] if may_mount() else ["stand-in", "quota"]
if len(FULL_DISKS) == 2:
    warnings.warn("no file system may be mounted here: a full disk is tried with a stand-in only")


@pytest.mark.parametrize("kilobytes", [4, 8, 12, 16, 32])
@pytest.mark.parametrize("how", FULL_DISKS)
def test_a_full_disk_costs_the_recording_and_not_the_program(run, program, store, how, kilobytes):
    app, quota = program("threads", "12.4", GOOD, BAD, more=["-lpthread"]), how == "quota"
    if how == "mounted":
        out = run(*MOUNTED, app, 4, 20, env={"KILOBYTES": kilobytes}, exit_report=False)
    else:
        full = programs.linked(store, "libfull.so", [programs.compiled(store, "full_disk.c")], ["-ldl"], shared=True)
        out = run(app, 4, 20, env={"FULL_AFTER": kilobytes * 1024 - 100, "FULL_ERROR": errno.EDQUOT if quota else ""},
                  before=[full], exit_report=False)
    assert out.lines == ["good 80", "bad 80"]
    assert out.stderr.count("Disk quota exceeded" if quota else "No space left on device") == 1, out.stderr
    assert "calls that failed after that and are not in it: 80" in out.stderr or kilobytes == 4 or "FAILED" in out.stderr


# The same with a file system that has quotas, of which as much is left.
WITH_QUOTA = [*MOUNTED[:-2], """
disk=$NOKERNEL_DIR.disk; rm -f "$disk"; truncate -s 128M "$disk"; mkdir -p "$NOKERNEL_DIR"
{ mkfs.btrfs -q "$disk" && mount -o loop "$disk" "$NOKERNEL_DIR" && btrfs quota enable "$NOKERNEL_DIR" &&
  btrfs subvolume create "$NOKERNEL_DIR/of" && btrfs qgroup limit ${KILOBYTES}k "$NOKERNEL_DIR/of"; } >/dev/null 2>&1 || exit 125
export NOKERNEL_DIR=$NOKERNEL_DIR/of; exec "$@" """, "sh"]


def with_quota(run, program, mounted, kilobytes):
    app = program("threads", "12.4", GOOD, BAD, more=["-lpthread"])
    return run(*mounted, app, 4, 20, env={"KILOBYTES": kilobytes}, exit_report=False)


def costs_only_the_recording(out):
    assert out.lines == ["good 80", "bad 80"]
    assert "FAILED  k_b" in out.stderr or out.stderr.count("Disk quota exceeded") == 1, out.stderr


@pytest.mark.parametrize("kilobytes", [64, *range(88, 129, 4), 256])
def test_a_quota_that_is_used_up_costs_the_recording_and_not_the_program(run, program, kilobytes):
    """A page of a mapped file that has no place on the disk any more is a SIGBUS."""
    out = with_quota(run, program, WITH_QUOTA, kilobytes)
    if out.code == 125:
        warnings.warn("no file system with quotas may be mounted here (as root, with btrfs-progs): they are not tried")
        return
    costs_only_the_recording(out)


# The same as a container sees it: the folder is one of overlayfs, and what is written goes to that file system.
IN_CONTAINER = [*MOUNTED[:-2], WITH_QUOTA[-2].replace("limit ${KILOBYTES}k", "limit 64M").replace('exec "$@"', """
mkdir "$NOKERNEL_DIR/upper" "$NOKERNEL_DIR/work" "$NOKERNEL_DIR.lower" "$NOKERNEL_DIR.seen" &&
mount -t overlay -o "lowerdir=$NOKERNEL_DIR.lower,upperdir=$NOKERNEL_DIR/upper,workdir=$NOKERNEL_DIR/work" none "$NOKERNEL_DIR.seen" &&
btrfs qgroup limit "${KILOBYTES}k" "$NOKERNEL_DIR" || exit 125
export NOKERNEL_DIR=$NOKERNEL_DIR.seen; exec "$@" """), "sh"]


@pytest.mark.parametrize("kilobytes", [64, *range(88, 117, 4), 256])
def test_a_quota_below_the_file_system_of_a_container_costs_the_recording_and_not_the_program(run, program, kilobytes):
    out = with_quota(run, program, IN_CONTAINER, kilobytes)
    if out.code == 125:
        warnings.warn("no overlay of a file system with quotas may be mounted here: it is not tried")
        return
    costs_only_the_recording(out)


# ---- file systems whose files are not mapped
OTHERS = {"overlayfs": 0x794c7630, "Btrfs": 0x9123683e, "ZFS": 0x2fc12fc1, "bcachefs": 0xca451a4e, "F2FS": 0xf2f52010, "NFS": 0x6969,
          "CIFS": 0xff534d42, "SMB2": 0xfe534d42, "FUSE": 0x65735546, "Lustre": 0x0bd00bd0, "CephFS": 0x00c36400, "BeeGFS": 0x19830326,
          "GPFS": 0x47504653, "one that is not known": 0x12345678}
MAPPED = {"ext4": 0xef53, "XFS": 0x58465342, "tmpfs": 0x01021994}


@pytest.fixture
def other_disk(store):
    return programs.linked(store, "libother_disk.so", [programs.compiled(store, "other_disk.c")], [], shared=True)


@pytest.mark.plain
@pytest.mark.parametrize("kind", [*OTHERS, *MAPPED])
def test_only_files_that_keep_their_place_on_the_disk_are_mapped(run, program, store, other_disk, kind):
    """A program that is killed has its counts in them; of others the report says that they may be behind."""
    app = program("killed_later", "12.4", GOOD, GOOD)
    out = run(app, "goes-on", 30, env={"DISK_TYPE": hex({**OTHERS, **MAPPED}[kind]), "NOKERNEL_SYNC": "off"}, after=[other_disk],
              exit_report=False)
    launched = {k["name"]: k["launches"] for k in out.report["kernels"]}
    assert out.report["process"]["counts_behind"] == (kind in OTHERS)
    assert (launched[claims.B] == 1) == (kind in MAPPED), launched


@pytest.mark.parametrize("how,sync", [("waits", "off"), ("looks", "off"), ("goes-on", "launch"), ("goes-on", "trail")])
def test_where_files_are_not_mapped_a_killed_program_loses_the_counts_of_its_last_second_at_most(run, program, other_disk, how, sync):
    out = run(program("killed_later", "12.4", GOOD, GOOD), how, 2200, after=[other_disk], exit_report=False,
              env={"DISK_TYPE": hex(OTHERS["overlayfs"]), "NOKERNEL_SYNC": sync})
    assert claims.kernel(out.report, claims.A)["launches"] > 50
    text = " ".join(command("report", out.recordings[0]).stdout.split())
    assert text.endswith("it was killed, or still runs: its last launches may not be counted, and none was looked at for an empty body")


def test_where_files_are_not_mapped_what_failed_is_kept_and_counts_are_those_at_its_first_time(run, program, other_disk):
    out = run("prlimit", "--core=0", program("ends", "12.4", GOOD, BAD, more=["-lpthread"]), "kill", exit_report=False,
              env={"DISK_TYPE": hex(OTHERS["NFS"])}, after=[other_disk])
    claims.failed(out.report, claims.B, 209, "ends", count=1)
    claims.launched(out.report, claims.A, 1)


def test_where_nothing_was_counted_yet_no_report_says_that_nothing_was_launched(run, program, other_disk):
    out = run(program("killed_later", "12.4", GOOD, GOOD), "goes-on", 0, after=[other_disk], exit_report=False,
              env={"DISK_TYPE": hex(OTHERS["FUSE"]), "NOKERNEL_SYNC": "off"})
    text = " ".join(command("report", out.recordings[0]).stdout.split())
    assert text == "nokernel: no launch was counted; it was killed, or still runs: its last launches may not be counted"


@pytest.mark.parametrize("way", ["return", "_exit", "quick_exit"])
def test_where_files_are_not_mapped_all_is_counted_of_a_program_that_ends(run, program, other_disk, way):
    out = run(program("ends", "12.4", GOOD, BAD, more=["-lpthread"]), way, env={"DISK_TYPE": hex(OTHERS["NFS"])}, after=[other_disk])
    claims.launched(out.report, claims.A, 1)
    assert not out.report["process"]["counts_behind"]


@pytest.mark.skipif("mounted" not in FULL_DISKS, reason="no file system may be mounted here")
def test_a_file_system_that_may_only_be_read_costs_the_recording_and_not_the_report(run, program):
    read_only = [*MOUNTED[:-2], MOUNTED[-2].replace("size=", "ro,size="), "sh"]
    out = run(*read_only, program("launches", "12.4", GOOD, BAD), "a", "b", env={"KILOBYTES": 64}, exit_report=False)
    assert "b 209" in out.lines
    assert out.stderr.count("Read-only file system") == 1, out.stderr
    assert "FAILED  k_b" in out.stderr


def test_switched_off_it_does_nothing_at_all(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b", env={"NOKERNEL": "off"})
    assert (out.stderr, out.recordings) == ("", [])


def test_a_quiet_run_records_and_prints_nothing(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a", "b", env={"NOKERNEL_REPORT": "none"})
    assert out.stderr == ""
    claims.failed(out.report, claims.B, 209, "launches")


def test_a_machine_without_a_driver_gets_the_programs_own_error_only(run, program):
    out = run(program("launches", "12.4", GOOD, BAD), "a", env={"LD_LIBRARY_PATH": ""}, exit_report=False)
    assert out.lines[0] == "malloc 35"
