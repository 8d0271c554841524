"""Many recordings and reports become one list, of the right counts, whatever the order, and without personal details."""

import csv
import getpass
import gzip
import io
import itertools
import json
import os
import socket
import subprocess
import tarfile
import zipfile

import jsonschema
import pytest

import sets
from claims import A, B
from conftest import COMMAND, ROOT, command
from test_hollow import EMPTY, LARGE, hollow_program

SCHEMA = ROOT / "include" / "report" / "schema" / "nokernel-merge-1.json"


def merge(*arguments, code=0, stdin=None, cwd=None):
    """(stdout, stderr) of `nokernel merge`."""
    line = [COMMAND, "merge", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, input=stdin, timeout=60, cwd=cwd)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, f"ended with {done.returncode}, not {code}:\n{out}\n{err}"
    assert code in (3, 4) or not err, err
    return out, err


def merged(*arguments, **keywords):
    """The JSON of a merge, which fits its schema."""
    out = json.loads(merge("--json", *arguments, **keywords)[0])
    errors = list(jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(out))
    assert not errors, errors[:5]
    return out


def seen(out):
    """{(kernel, sm): (seen, reports, launches)}"""
    return {(k["kernel"], k["sm"]): (k["seen"], k["reports"], k["launches"]) for k in out["kernels"]}


@pytest.fixture
def recordings(run, program):
    """Of a program with kernels a (sm_80 and its PTX) and b (sm_90), on three GPUs."""
    app = program("launches", "12.4", a=["80", "ptx80"], b=["90"])
    return [run(app, "a", "a", "b", "b", "b", sm=sm).recordings[0] for sm in (80, 90, 120)]


@pytest.fixture
def reports(recordings, tmp_path):
    """Their JSON reports."""
    paths = [tmp_path / f"report{i}.json" for i in range(len(recordings))]
    for recording, path in zip(recordings, paths):
        path.write_text(command("report", "--json", recording).stdout)
    return paths


# ---- what is listed


def test_kernels_are_listed_by_architecture_with_what_became_of_them(recordings):
    out = merged(*recordings)
    assert out["summary"]["reports"] == 3
    assert seen(out) == {
        (A, "sm_80"): ("native", 1, 2), (A, "sm_90"): ("jit", 1, 2), (A, "sm_120"): ("jit", 1, 2),
        (B, "sm_80"): ("missing", 1, 3), (B, "sm_90"): ("native", 1, 3), (B, "sm_120"): ("missing", 1, 3),
    }
    assert {k["library"] for k in out["kernels"]} == {"launches"}
    assert {(g["sm"], g["reports"]) for g in out["gpus"]} == {("sm_80", 1), ("sm_90", 1), ("sm_120", 1)}
    assert out["summary"]["missing"] == {"kernels": 2, "reports": 2, "launches": 6}
    missing = [k for k in out["kernels"] if k["seen"] == "missing"]
    assert [(k["has"], k["rules"], k["reason"]) for k in missing] == [("sm_90", "none", "no-image")] * 2


def test_kernels_with_an_empty_body_are_listed_as_hollow(run, store):
    app = hollow_program(store, "12.4", False, {"80": LARGE, "90": EMPTY}, {"80": LARGE, "90": LARGE})
    out = merged(*run(app, "a", "b", sm=90).recordings)
    assert seen(out) == {(A, "sm_90"): ("hollow", 1, 1), (B, "sm_90"): ("native", 1, 1)}
    assert "EMPTY" in merge(*run(app, "a", "b", sm=90).recordings)[0]


def test_where_the_kernel_is_not_known_those_that_it_may_have_been_are_listed(run, program):
    app = program("launches", "12.9", a=["80"], b=["90"], static=True)
    out = merged(*run(app, "b", sm=80, no_image_at="load").recordings)
    missing = [k for k in out["kernels"] if k["seen"] == "missing"]
    assert len(missing) == 1 and B in (missing[0]["kernel"] or missing[0]["one_of"])


def test_a_driver_that_contradicts_the_rules_is_named(run, program, tmp_path):
    app = program("launches", "12.4", a=["80"], b=["90"])
    paths = run(app, "a", "b", sm=80, no_image_at="global").recordings  # asked nowhere: b is launched
    out = merged(*paths)
    assert out["summary"]["contradictions"] == 1
    assert [(k["kernel"], k["seen"], k["rules"]) for k in out["kernels"] if k["contradiction"]] == [(B, "ran", "none")]
    text = merge("--fail-on", "contradiction", *paths, code=4)[0]
    assert "please report this" in " ".join(text.split())
    assert "请向 nokernel 的开发者报告" in command("merge", *paths, env={**os.environ, "NOKERNEL_LANG": "zh"}).stdout


def test_a_real_pytorch_is_listed_with_package_version_and_library(run):
    python, env = sets.python("torch-cuda12"), sets.environment("torch-cuda12")
    paths = [run(python, sets.TRAIN, sm=sm, env=env).recordings[0] for sm in (80, 120)]
    out = merged(*paths)
    torch = {p["sm"]: p for p in out["packages"] if p["package"] == "torch"}
    assert torch["sm_120"]["missing"]["kernels"] == 1 and torch["sm_120"]["native"]["kernels"] == 0
    assert torch["sm_80"]["missing"]["kernels"] == 0 and torch["sm_80"]["native"]["kernels"] >= 10
    (missing,) = [k for k in out["kernels"] if k["seen"] == "missing"]
    assert missing["version"] == sets.torch("torch-cuda12")[0] and missing["library"] == "torch/lib/libtorch_cuda.so"
    text = merge(*paths)[0]
    assert "MulFunctor" in text and missing["kernel"] not in text  # shortened
    assert max(map(len, text.splitlines())) <= 80
    for name in ("torch", "Torch==" + missing["version"]):
        assert merged("--package", name, *paths)["kernels"] == [k for k in out["kernels"] if k["package"] == "torch"]
    assert merged("--package", "torch==1.0", *paths)["kernels"] == []


# ---- the same in any order and form


def test_any_order_and_grouping_gives_the_same_bytes(recordings, tmp_path):
    whole = merge("--json", *recordings)[0]
    for i, order in enumerate(itertools.permutations(recordings)):
        first, second = tmp_path / f"{i}a.json", tmp_path / f"{i}b.json"
        assert merge("--json", *order)[0] == whole
        first.write_text(merge("--json", *order[:2])[0])
        second.write_text(merge("--json", *order[1:])[0])
        assert merge("--json", first, order[2])[0] == whole
        assert merge("--json", order[0], second)[0] == whole
        assert merge("--json", second, first)[0] == whole
    for form in ([], ["--markdown"], ["--csv"]):
        assert merge(*form, *recordings)[0] == merge(*form, second, first)[0]


def test_a_recording_and_the_report_of_it_are_the_same_and_count_once(recordings, reports, tmp_path):
    whole = merge("--json", *recordings)[0]
    assert merge("--json", *reports)[0] == whole
    assert merge("--json", *reports, *recordings, *recordings)[0] == whole
    one = tmp_path / "one.json"
    one.write_text(command("report", "--json", *recordings).stdout)
    assert merge("--json", one)[0] == whole


def test_a_copy_under_another_name_counts_once_and_another_run_of_the_program_twice(run, program, tmp_path):
    app = program("launches", "12.4", a=["80"], b=["90"])
    first, second = run(app, "a").recordings[0], run(app, "a").recordings[0]
    copy = tmp_path / "copy.nkr"
    copy.write_bytes(first.read_bytes())
    assert seen(merged(first, copy)) == {(A, "sm_80"): ("native", 1, 1)}
    assert seen(merged(first, second)) == {(A, "sm_80"): ("native", 2, 2)}


def test_every_run_of_a_program_has_an_identity_of_its_own(run, program):
    app = program("launches", "12.4", a=["80"], b=["90"])
    outs = [run(app, "a") for _ in range(4)]
    ids = {json.loads(command("report", "--json", o.recordings[0]).stdout)["recordings"][0]["id"] for o in outs}
    assert len(ids) == 4


@pytest.mark.parametrize("place", ["load", "module"])
def test_nothing_depends_on_the_files_of_the_machine_that_merges(run, program, tmp_path, place):
    """Names of functions in a native stack may come from the program's own file, as long as it is there."""
    app = tmp_path / "launches"
    app.write_bytes(program("launches", "12.9", a=["80"], b=["90"], static=True).read_bytes())
    app.chmod(0o755)
    recording = run(app, "b", sm=80, no_image_at=place).recordings[0]
    report = tmp_path / "report.json"
    report.write_text(command("report", "--json", recording).stdout)
    there = merge("--json", recording)[0]
    app.unlink()
    assert merge("--json", recording)[0] == there == merge("--json", report)[0]


# ---- where they come from


@pytest.mark.sanitized
def test_folders_archives_lines_and_pipes_are_read(recordings, reports, tmp_path):
    whole = merge("--json", *recordings)[0]
    deep = tmp_path / "in" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "in" / "README.txt").write_text("not ours")
    (tmp_path / "in" / "package.json").write_text('{"name": "not ours"}')
    (tmp_path / "in" / "broken.json").write_text('{"not": ours')
    (deep / "0.nkr").write_bytes(recordings[0].read_bytes())
    with zipfile.ZipFile(deep / "1.zip", "w") as z:
        z.write(recordings[1], "x/a.nkr")
        z.writestr("notes.txt", "not ours")
    with tarfile.open(deep / "2.tar.gz", "w:gz") as t:
        t.add(reports[2], "report.json")
    assert merge("--json", tmp_path / "in")[0] == whole
    with tarfile.open(tmp_path / "all.tar.xz", "w:xz") as t:
        t.add(tmp_path / "in", "in")
    assert merge("--json", tmp_path / "all.tar.xz")[0] == whole
    lines = "\n".join(json.dumps(json.loads(p.read_text())) for p in reports).encode()
    assert merge("--json", "-", stdin=lines)[0] == whole
    (tmp_path / "lines.jsonl.gz").write_bytes(gzip.compress(lines))
    assert merge("--json", tmp_path / "lines.jsonl.gz")[0] == whole
    assert merge("--json", "-", stdin=(tmp_path / "all.tar.xz").read_bytes())[0] == whole
    names = b"\0".join(bytes(p) for p in recordings)
    assert merge("--json", "--files-from", "-", stdin=names)[0] == whole
    (tmp_path / "names").write_bytes(b"\n".join(bytes(p) for p in recordings) + b"\n")
    assert merge("--json", "--files-from", tmp_path / "names")[0] == whole


@pytest.mark.sanitized
@pytest.mark.parametrize("name, data, says", [
    ("cut.json", b'{"schema": "nokernel-report/1", "recordings": [', "JSON was expected"),
    ("cut.nkr", b"NKREC", "a recording of at least"),
    ("newer.json", b'{"schema": "nokernel-report/2"}', "nokernel-report/1 or nokernel-merge/1 was expected"),
    ("empty.json", b'{"schema": "nokernel-report/1"}', "were expected"),
    ("merge.json", b'{"schema": "nokernel-merge/1", "kernels": [], "gpus": [], "reports": [{"id": "x"}]}', "an id was expected"),
    ("merge.json", b'{"schema": "nokernel-merge/1", "kernels": [], "gpus": [], "reports": [{"id": "0123456789abcdef", "kernels": "0:1"}]}', "a fact of a report"),
    ("other.json", b'{"name": "x"}', "this is other JSON"),
    ("other.txt", b"hello", "an archive of them was expected"),
    ("lines.txt", b"hello\nworld\n", "an archive of them was expected"),
    ("nothing", b"", "an archive of them was expected"),
    ("cut.zip", b"PK\3\4 cut", ""),
])
def test_a_broken_file_is_named_in_one_line_and_the_rest_is_merged(recordings, tmp_path, name, data, says):
    whole = merge("--json", *recordings)[0]
    (tmp_path / name).write_bytes(data)
    out, err = merge("--json", recordings[0], tmp_path / name, *recordings[1:], code=3)
    assert out == whole
    assert err.count("\n") == 1 and name in err and says in err, err


def test_a_folder_without_reports_is_said_to_have_none(tmp_path):
    (tmp_path / "notes.txt").write_text("hello\n")
    done = command("merge", tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "neither a recording nor a report was found" in done.stdout


def test_broken_files_of_folders_and_archives_are_named_in_the_order_of_their_names(recordings, tmp_path):
    broken = b'{"schema": "nokernel-report/1", "recordings": ['
    for name in ("d.json", "b.json", "c.json"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(broken)
    with zipfile.ZipFile(tmp_path / "in" / "a.zip", "w") as z:
        z.writestr("x.json", broken)
        z.write(recordings[0], "y.nkr")
    out, err = merge("--json", tmp_path / "in", tmp_path / "nowhere", code=3)
    assert json.loads(out)["summary"]["reports"] == 1
    names = ["a.zip: x.json: ", "b.json: ", "c.json: ", "d.json: ", "nowhere: "]
    assert len(err.splitlines()) == 5 and all(n in line for n, line in zip(names, err.splitlines())), err


def test_what_is_told_about_a_file_is_one_line_whatever_is_in_it_and_in_its_name(tmp_path):
    (tmp_path / "a\nb.json").write_bytes(b'{"schema": "nokernel-report/1", \x1b[31m')
    out, err = merge(tmp_path / "a\nb.json", tmp_path / "no\nwhere", code=3)
    assert err.count("\n") == 2 and "a?b.json: " in err and "no?where: " in err and "\x1b" not in err


def test_a_report_about_a_gpu_that_nothing_ran_on_is_refused(recordings, tmp_path):
    (tmp_path / "asked.json").write_text(command("report", "--json", "--gpu", "sm_70", recordings[0]).stdout)
    out, err = merge(tmp_path / "asked.json", code=3)
    assert "--gpu" in err


# ---- what is told, and what is not


def test_no_user_host_home_or_argument_is_in_any_format(run, program, tmp_path):
    home = tmp_path / "home" / "annabel"
    home.mkdir(parents=True)
    app = program("launches", "12.4", a=["80"], b=["90"])
    own = home / "prog"
    own.write_bytes(app.read_bytes())
    own.chmod(0o755)
    out = run(own, "a", "b", "secretargument", sm=80, env={"HOME": str(home), "CUDA_SECRET": "secretvalue"}, same=False)
    full = tmp_path / "full.json"
    full.write_text(command("report", "--json", "--paths", "full", out.recordings[0]).stdout)
    assert "annabel" in full.read_text() and "secretargument" in full.read_text()
    bad = ["annabel", "secret", str(tmp_path), os.path.expanduser("~") + "/", socket.gethostname()]
    if getpass.getuser() not in ("root", "user"):
        bad.append(getpass.getuser())
    for form in ([], ["--kernels"], ["--json"], ["--markdown"], ["--csv"]):
        for source in (out.recordings[0], full):
            text = merge(*form, source)[0]
            assert "k_b" in text.replace("\\", "")
            assert not [word for word in bad if word in text], text


def test_the_markdown_is_an_issue_with_a_table_of_what_does_not_run(recordings):
    text = merge("--markdown", *recordings)[0]
    assert text.startswith("### Kernels that do not run on some GPUs: ")
    (row,) = [line for line in text.splitlines() if "k\\_b" in line and "sm\\_120" in line]
    assert row.split("|")[-3:-1] == [" 1 ", " 3 "]
    assert "Only PTX" in text and len(text) < 65536


def test_the_csv_has_a_row_for_each_kernel_and_architecture(recordings):
    rows = list(csv.DictReader(io.StringIO(merge("--csv", *recordings)[0])))
    assert {(r["kernel"], r["sm"]): (r["seen"], int(r["reports"]), int(r["launches"])) for r in rows} == seen(merged(*recordings))


def test_filters_leave_out_other_architectures_and_rules_end_with_status_4(recordings):
    assert {k["sm"] for k in merged("--gpu", "sm_90,12.0", *recordings)["kernels"]} == {"sm_90", "sm_120"}
    assert "MISSING" in merge("--fail-on", "missing", *recordings, code=4)[0]
    merge("--gpu", "sm_90", "--fail-on", "missing,hollow", *recordings)
    merge("--gpu", "sm_90", "--fail-on", "jit", *recordings, code=4)


@pytest.mark.parametrize("words", [[], ["--fail-on", "x", "f"], ["--gpu", "nvidia", "f"], ["--json", "--csv", "f"], ["--what"]])
def test_wrong_usage_is_told_and_ends_with_2(words):
    done = command("merge", *words)
    assert done.returncode == 2 and done.stderr.startswith("nokernel: merge: ") and not done.stdout


def test_counts_beyond_any_number_stay_the_largest_one(reports, tmp_path):
    for i in range(3):
        report = json.loads(reports[0].read_text())
        report["recordings"][0]["id"] = f"{i:016x}"
        next(k for k in report["kernels"] if k["name"] == A)["launches"] = 2**63 - 1
        (tmp_path / f"huge{i}.json").write_text(json.dumps(report))
    out = merged(*[tmp_path / f"huge{i}.json" for i in range(3)])
    assert seen(out)[(A, "sm_80")] == ("native", 3, 2**63 - 1)
