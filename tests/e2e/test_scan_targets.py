"""What `nokernel scan` can be pointed at, side by side with --diff, and how long work ends early."""

import bz2
import os
import pty
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest

from conftest import COMMAND, command
from fixtures import images
from scanning import diff, libraries, mapped_by_a_process, scan, shared

K = ["_Z3k_aPf", "_Z3k_bPf"]


@pytest.fixture(scope="session")
def old(store):
    return shared(store, nv_fatbin=[images.container(store, ["75", "80"], K)])


@pytest.fixture(scope="session")
def new(store):
    return shared(store, nv_fatbin=[images.container(store, ["80", "90"], [K[0], "_Z3k_cPf"])])


def wheel(folder, library, version, name="made"):
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(library, f"{name}/lib/libmade.so")
        archive.writestr(f"{name}-{version}.dist-info/METADATA", f"Name: {name}\nVersion: {version}\n\n")
    return path


def installed(folder, library, version, name="made"):
    """A folder of installed packages, as pip makes it."""
    site = folder / "lib" / "python3.11" / "site-packages"
    (site / name / "lib").mkdir(parents=True)
    (site / name / "lib" / "libmade.so").write_bytes(library.read_bytes())
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n\n")
    (info / "RECORD").write_text(f"{name}/lib/libmade.so,,\n")
    return site


def test_a_package_says_what_installed_it(tmp_path, old):
    site = installed(tmp_path, old, "1.0")
    (site / "made-1.0.dist-info" / "INSTALLER").write_text("uv\n")
    (item,) = scan(site)["items"]
    assert (item["package"], item["source"], item["installer"]) == ("made", "pip", "uv")
    assert scan(wheel(tmp_path, old, "1.0"))["items"][0]["installer"] is None


# ---- --diff


@pytest.fixture(params=["wheel, wheel", "folder, folder", "wheel, folder", "folder, wheel", "wheel, package folder"])
def sides(request, tmp_path, old, new):
    made = []
    for side, library, version in zip(request.param.split(", "), (old, new), ("1.0", "1.1")):
        folder = tmp_path / version
        folder.mkdir()
        path = wheel(folder, library, version) if side == "wheel" else installed(folder, library, version)
        made.append(path / "made" if side == "package folder" else path)
    return made


def test_diff_matches_packages_wherever_they_lie(sides):
    (library,) = diff("--gpu", "sm_75,sm_90", *sides)["libraries"]
    assert (library["package"], library["old_version"], library["new_version"]) == ("made", "1.0", "1.1")
    assert library["archs"] == {"gained": ["sm_90"], "lost": ["sm_75"]}
    assert library["kernels"] == {"gained": ["_Z3k_cPf"], "lost": ["_Z3k_bPf"]}
    assert library["kernels_by_arch"] == [{"arch": "sm_75", "gained": 0, "lost": 1}, {"arch": "sm_90", "gained": 1, "lost": 0}]
    assert (library["old_runs"], library["new_runs"]) == ({"sm_75": "native", "sm_90": "none"},
                                                         {"sm_75": "none", "sm_90": "native"})


def test_diff_says_the_same_in_words_under_the_name_of_the_package(sides):
    lines = [" ".join(line.split()) for line in command("scan", "--diff", "--gpu", "sm_75", "--kernels", *sides).stdout.splitlines()]
    assert lines[0] == "made 1.0 -> made 1.1"
    assert {"gained sm_90", "lost sm_75", "kernels gained 1, lost 1", "+ k_c(float*)", "- k_b(float*)",
            "sm_75 native -> none"} <= set(lines), lines


def test_diff_names_what_is_new_and_what_is_gone(tmp_path, old, new):
    for side, library, name in (("a", old, "one"), ("b", new, "other")):
        (tmp_path / side).mkdir()
        wheel(tmp_path / side, library, "1.0", name)
        (tmp_path / side / "kept.so").write_bytes(old.read_bytes())
    out = command("scan", "--diff", tmp_path / "a", tmp_path / "b").stdout
    assert "\nother 1.0\n  other/lib/libmade.so   is new\n" in out
    assert "\none 1.0\n  one/lib/libmade.so   is gone\n" in out
    assert "  kept.so\n    the same\n" in out


def test_diff_finds_a_library_of_a_package_again_when_one_side_was_looked_at_from_inside(tmp_path, old, new):
    site = installed(tmp_path, old, "1.0")
    (site / "made" / "other.so").write_bytes(new.read_bytes())
    found = diff(site, site / "made")["libraries"]
    assert sorted((l["old_path"], l["new_path"]) for l in found) == [("made/lib/libmade.so", "lib/libmade.so"),
                                                                     ("made/other.so", "other.so")]


def cpu_of(*arguments):
    """Seconds of processor time that a scan takes."""
    start = os.times()
    assert command("scan", *arguments).returncode == 0
    end = os.times()
    return end.children_user + end.children_system - start.children_user - start.children_system


@pytest.mark.parametrize("how", [["--quick"], ["--diff"]], ids=str)
def test_a_folder_of_thousands_of_files_takes_time_in_proportion(tmp_path, store, how):
    data = images.image(store, "80", K).read_bytes()
    took = []
    for count in (250, 2000):
        (tmp_path / str(count)).mkdir()
        for i in range(count):
            (tmp_path / str(count) / f"k{i}.cubin").write_bytes(data)
        took.append(cpu_of(*how, *[tmp_path / str(count)] * (2 if how == ["--diff"] else 1)))
    assert took[1] < 25 * took[0], took  # 8 times the files; 64 times would be the square


def test_diff_ends_with_0_whatever_changed_and_with_3_when_a_side_cannot_be_read(tmp_path, old, new):
    assert command("scan", "--diff", old, new).returncode == 0
    assert command("scan", "--diff", old, old).returncode == 0
    done = command("scan", "--diff", old, tmp_path / "absent")
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1)


# ---- --python and --pid


def test_a_python_s_packages_are_told_by_name_and_version(tmp_path, old, new):
    sites = [installed(tmp_path / "a", old, "1.2", "first"), installed(tmp_path / "b", new, "3.4", "second")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sites))}
    found = {(i["package"], i["version"], i["source"]): [l["path"] for l in i["libraries"]]
             for i in scan("--gpu", "sm_75", "--python", sys.executable, env=env)["items"]}
    assert found[("first", "1.2", "pip")] == ["first/lib/libmade.so"]
    assert found[("second", "3.4", "pip")] == ["second/lib/libmade.so"]


def test_a_library_that_a_process_still_has_mapped_is_read_though_its_file_is_gone(tmp_path, old):
    copy = tmp_path / "libgone.so"
    copy.write_bytes(old.read_bytes())
    with mapped_by_a_process(copy) as pid:
        copy.unlink()
        done = command("scan", "--json", "--pid", pid)
    if "map_files" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("files that are gone are read through /proc/N/map_files, which needs CAP_CHECKPOINT_RESTORE")
    assert copy.name in done.stdout


# ---- names of one file


def test_hard_links_and_names_given_twice_are_read_once_also_in_archives(tmp_path, old):
    import tarfile

    (tmp_path / "a.so").write_bytes(old.read_bytes())
    os.link(tmp_path / "a.so", tmp_path / "b.so")
    with tarfile.open(tmp_path / "two.tar", "w") as archive:
        archive.add(tmp_path / "a.so", "a.so")
        archive.add(tmp_path / "b.so", "b.so")  # a hard link in the archive, too
    out = scan(tmp_path / "two.tar", tmp_path / "a.so", tmp_path / "a.so", tmp_path / "b.so")
    assert [len(item["libraries"]) for item in out["items"]] == [1, 1]
    assert out["same_files"] == 3


def test_an_executable_is_read(tmp_path, store):
    source = tmp_path / "p.s"
    source.write_text(f'.section .nv_fatbin,"a",@progbits\n.incbin "{images.container(store, ["80"], K)}"\n')
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", tmp_path / "program", tmp_path / "main.c", source], check=True)
    assert list(libraries(scan("--paths", "full", tmp_path / "program"))) == [str(tmp_path / "program")]


# ---- long work


@pytest.fixture
def long_work(tmp_path):
    """An archive whose one library takes seconds: 900 MB of zeros behind bzip2, which is slow."""
    info = tarfile.TarInfo("folder/large.so")
    info.size = 14 * (64 << 20)
    elf = b"\177ELF\2\1\1"
    first, again = info.tobuf() + elf + bytes((64 << 20) - len(elf)), bytes(64 << 20)
    path = tmp_path / "long.tar.bz2"
    path.write_bytes(bz2.compress(first, 1) + bz2.compress(again, 1) * 13 + bz2.compress(bytes(1024)))
    return path


def until_progress(process, terminal):
    seen, end = b"", time.monotonic() + 60
    while b"% of" not in seen and time.monotonic() < end and process.poll() is None:
        seen += os.read(terminal, 4096)
    return seen.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_ends_long_work_with_its_own_status_and_leaves_no_file(long_work, tmp_path, number):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    before = sorted(p.name for p in tmp_path.iterdir())
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "TMPDIR": str(temporary)}
    # Under nohup, or behind a & of a script, the tests themselves ignore some of them, and children inherit that.
    process = subprocess.Popen([COMMAND, "scan", long_work], stdout=subprocess.PIPE, stderr=theirs, env=env, cwd=tmp_path,
                               preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    os.close(theirs)
    seen = until_progress(process, ours)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert "large.so" in seen
    assert (process.returncode, out) == (-number, b"")
    assert list(temporary.iterdir()) == [] and sorted(p.name for p in tmp_path.iterdir()) == before


def test_nothing_is_said_about_progress_where_stderr_is_no_terminal(long_work):
    done = subprocess.run([COMMAND, "scan", long_work], capture_output=True, env={**os.environ, "TERM": "xterm"})
    assert b"\r" not in done.stderr + done.stdout and b"% of" not in done.stderr + done.stdout


def test_a_reader_that_goes_away_is_no_error(old):
    done = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" scan --kernels --json "$1" "$1" | head -c 1; exit ${PIPESTATUS[0]}',
                           COMMAND, old], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
