"""`nokernel scan` in CI: what must not be found, what must be there, what changed; and where else it looks."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

from conftest import command
from fixtures import images
from scanning import cubin, diff, fatbin, libraries, mapped_by_a_process, scan, shared

K = ["_Z3k_aPf", "_Z3k_bPf"]
GATE = 4  # exit status


@pytest.fixture(scope="session")
def native(store):
    return shared(store, nv_fatbin=[images.container(store, ["75", "80"], K)])


@pytest.fixture(scope="session")
def jit(store):
    return shared(store, nv_fatbin=[images.container(store, ["70", "ptx70"], K)])


@pytest.fixture(scope="session")
def partly(store):
    return shared(store, nv_fatbin=[images.container(store, ["80"], K), images.container(store, ["75"], K[:1])])


@pytest.fixture(scope="session")
def hollow(store):
    return shared(store, nv_fatbin=[fatbin(store, ("75", cubin(store, "75", a="long", b="empty")),
                                                  ("80", cubin(store, "80", a="long", b="long")))])


@pytest.mark.parametrize(
    "which,gpu,rules",
    [
        ("native", "sm_80", set()),
        ("native", "sm_90", {"none", "partly"}),
        ("partly", "sm_80", {"partly"}),
        ("jit", "sm_80", {"jit"}),
        ("hollow", "sm_75", {"hollow"}),
        ("hollow", "sm_80", set()),
    ],
)
def test_each_rule_fails_on_what_it_names_and_on_nothing_else(request, which, gpu, rules):
    library = request.getfixturevalue(which)
    for rule in ("none", "partly", "hollow", "jit", "unknown"):
        out = scan("--gpu", gpu, "--fail-on", rule, library, code=GATE if rule in rules else 0)
        assert [f["rule"] for f in out["findings"]] == ([rule] if rule in rules else [])


def test_the_rule_unknown_fails_on_what_could_not_be_read_and_the_others_do_not(store, tmp_path):
    path = tmp_path / "cut.fatbin"
    path.write_bytes(images.container(store, ["80", "90"], K).read_bytes()[:-300])
    (finding,) = scan("--gpu", "sm_90", "--fail-on", "unknown", path, code=GATE)["findings"]
    assert finding["rule"] == "unknown" and finding["text"].startswith("all 2 kernels: ")
    assert scan("--gpu", "sm_90", "--fail-on", "none,partly,hollow,jit", path, code=3)["findings"] == []


def test_a_failed_rule_is_told_below_the_text(partly):
    done = command("scan", "--gpu", "sm_80", "--fail-on", "none,partly", partly)
    assert done.returncode == GATE
    assert "FAILED  --fail-on none,partly" in done.stdout
    assert "sm_80: 1 of 3 kernels do not run: there is no image for this GPU" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "expected,missing",
    [
        ("sm_75,sm_80", []),
        ("7.5", []),
        ("sm_75,sm_90", ["sm_90"]),
        ("sm_80+ptx", ["PTX compute_80"]),
        ("sm_90+ptx", ["sm_90", "PTX compute_90"]),
        ("sm_80a", ["sm_80a"]),
    ],
)
def test_what_a_release_must_have_is_looked_for_image_by_image(native, expected, missing):
    out = scan("--expect", expected, native, code=GATE if missing else 0)
    assert [f["text"].split(" is expected")[0] for f in out["findings"]] == missing


def test_an_image_that_only_some_kernels_have_is_not_enough(partly):
    out = scan("--expect", "sm_75", partly, code=GATE)
    assert out["findings"][0]["text"] == "sm_75 is expected, 2 of 3 kernels have none"


def test_a_release_without_any_kernel_is_not_what_was_expected(native, tmp_path):
    (tmp_path / "x.so").write_bytes(Path("/bin/true").read_bytes())
    done = command("scan", "--expect", "sm_80", tmp_path)
    assert done.returncode == 4
    assert done.stderr == f"nokernel: {tmp_path}: no kernel was found, and --expect says what kernels must have\n"
    (tmp_path / "y.so").write_bytes(native.read_bytes())
    assert command("scan", "--expect", "sm_80", tmp_path).returncode == 0


def test_a_broken_rule_counts_more_than_a_file_that_cannot_be_read(partly, tmp_path):
    assert command("scan", "--gpu", "sm_80", "--fail-on", "partly", partly, tmp_path / "absent").returncode == GATE
    assert command("scan", "--gpu", "sm_80", "--fail-on", "none", partly, tmp_path / "absent").returncode == 3


# ---- formats for services


def test_sarif_names_the_rule_the_file_and_the_reason(partly, tmp_path):
    done = command("scan", "--sarif", "--gpu", "sm_80,sm_90", partly, tmp_path / "not there")
    log = json.loads(done.stdout)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [("partly", "error"), ("none", "error")]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.endswith("libmade.so") and " " not in uri
        assert "not run: there is no image" in result["message"]["text"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "not there" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_junit_has_a_case_for_every_library_and_gpu_and_its_counts_are_right(partly, native, tmp_path):
    done = command("scan", "--junit", "--gpu", "sm_80,sm_75", "--fail-on", "partly", "--expect", "sm_75,sm_90", partly,
                   native, tmp_path / "a<b>&\"c")
    root = xml.etree.ElementTree.fromstring(done.stdout)
    cases = root.findall(".//testcase")
    assert (int(root.get("tests")), int(root.get("failures")), int(root.get("errors"))) == (
        len(cases), len(root.findall(".//failure")), len(root.findall(".//error")))
    failed = [(c.get("classname").split("/")[-2:], c.get("name")) for c in cases if c.find("failure") is not None]
    assert [name for _, name in failed] == ["sm_80", "sm_75", "expected images", "expected images"]
    assert root.findall(".//error")[0].get("message") == "No such file or directory"
    for suite in root.findall("testsuite"):
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        assert int(suite.get("failures")) == len(suite.findall(".//failure"))


@pytest.mark.parametrize("words,names", [(["--gpu", "sm_80,sm_90"], {"sm_80", "sm_90"}), (["--expect", "sm_80"], {"expected images"}),
                                         (["--expect", "sm_80", "--gpu", "sm_90"], {"expected images"}),
                                         (["--expect", "sm_80", "--gpu", "sm_90", "--fail-on", "jit"], {"expected images", "sm_90"})])
def test_junit_has_no_case_for_what_nobody_asked_about(native, words, names):
    root = xml.etree.ElementTree.fromstring(command("scan", "--junit", *words, native).stdout)
    assert {case.get("name") for case in root.iter("testcase")} == names
    assert int(root.get("tests")) == len(names)


# ---- what changed


def changes(old, new, *arguments, code=0):
    return diff(*arguments, old, new, code=code)["libraries"]


def test_architectures_and_kernels_gained_and_lost_are_told(native, jit):
    (library,) = changes(native, jit, "--gpu", "sm_70")
    assert library["archs"] == {"gained": ["sm_70", "compute_70"], "lost": ["sm_75", "sm_80"]}
    assert library["kernels"] == {"gained": [], "lost": []}
    assert (library["old_runs"], library["new_runs"]) == ({"sm_70": "none"}, {"sm_70": "native"})


def test_a_kernel_that_lost_an_image_which_others_kept_is_told(store):
    whole = fatbin(store, ("75", cubin(store, "75", a="long", b="long")), ("80", cubin(store, "80", a="long", b="long")))
    less = fatbin(store, ("75", cubin(store, "75", a="long")), ("80", cubin(store, "80", a="long", b="long", c="long")))
    (library,) = changes(shared(store, nv_fatbin=[whole]), shared(store, nv_fatbin=[less]))
    assert library["archs"] == {"gained": [], "lost": []}
    assert library["kernels"] == {"gained": ["c"], "lost": []}
    assert library["kernels_by_arch"] == [{"arch": "sm_75", "gained": 0, "lost": 1}]


def two_archs(store, **sm_75):
    """A library with kernels a and b for sm_80, and for sm_75 as said."""
    return shared(store, nv_fatbin=[fatbin(store, ("75", cubin(store, "75", **sm_75)), ("80", cubin(store, "80", a="long", b="long")))])


def test_a_kernel_whose_body_was_compiled_away_in_the_new_one_or_is_back_is_told(store):
    real, empty = two_archs(store, a="long", b="long"), two_archs(store, a="long", b="empty")
    moved = [{"name": "b", "archs": ["sm_75"]}]
    ((there,), (back,), (same,)) = (changes(*sides) for sides in ((real, empty), (empty, real), (empty, two_archs(store, a="longer", b="empty"))))
    assert [l["hollow"] for l in (there, back, same)] == [
        {"now": moved, "no_longer": []}, {"now": [], "no_longer": moved}, {"now": [], "no_longer": []}]
    assert there["kernels_by_arch"] == [] and there["kernels"] == {"gained": [], "lost": []}
    text = command("scan", "--diff", "--gpu", "sm_75", "--kernels", real, empty).stdout
    assert text.splitlines()[-3:] == ["    now empty on sm_75 1", "      now empty on sm_75: b", "    sm_75     native -> native (1 empty)"]
    text = command("scan", "--diff", empty, real).stdout
    assert text.splitlines()[-1] == "    no longer empty on sm_75 1"


def test_a_body_that_could_not_be_compared_before_is_not_said_to_be_empty_now(store):
    alone = shared(store, nv_fatbin=[fatbin(store, ("75", cubin(store, "75", a="long", b="empty")))])
    beside = two_archs(store, a="long", b="empty")  # now there is a real one for sm_80
    for sides in ((alone, beside), (beside, alone)):
        (library,) = changes(*sides)
        assert library["hollow"] == {"now": [], "no_longer": []}
        assert len(library["kernels_by_arch"]) == 1


def test_libraries_are_matched_by_path_and_those_without_a_match_are_new_or_gone(native, jit, tmp_path):
    for side, names in (("old", ["libx-0123abcd.so.1.2", "gone.so", "liby.4a0b5c81.so.11"]),
                        ("new", ["libx-fedc9876.so.1.3", "added.so", "liby.9b083ad7.so.13"])):
        (tmp_path / side).mkdir()
        for name, library in zip(names, (native, jit, native)):
            (tmp_path / side / name).write_bytes(library.read_bytes())
    found = [(l["old_path"], l["new_path"]) for l in changes(tmp_path / "old", tmp_path / "new")]
    assert sorted(found, key=str) == sorted(
        [(None, "added.so"), ("libx-0123abcd.so.1.2", "libx-fedc9876.so.1.3"), ("gone.so", None),
         ("liby.4a0b5c81.so.11", "liby.9b083ad7.so.13")], key=str)


def test_the_same_is_called_the_same(native, tmp_path):
    copy = tmp_path / "copy.so"
    copy.write_bytes(native.read_bytes())
    assert "the same" in command("scan", "--diff", native, copy).stdout


# ---- where else it looks


def test_the_packages_of_a_python_are_found_by_asking_it(native, tmp_path):
    site = tmp_path / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "libx.so").write_bytes(native.read_bytes())
    env = {**os.environ, "PYTHONPATH": str(site)}
    out = scan("--quick", "--python", sys.executable, env=env)
    assert "libx.so" in libraries(out)


def test_a_folder_stands_for_the_python_in_it(native, tmp_path):
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "libx.so").write_bytes(native.read_bytes())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f"#!/bin/sh\necho {site}\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    assert "libx.so" in libraries(scan("--quick", "--python", tmp_path))
    assert "cannot be run" in scan("--python", site, code=3)["problems"][0]["text"]


@pytest.mark.parametrize("exe,words", [("/nonexistent/python", "cannot be run"), ("/bin/false", "is it a Python")])
def test_what_is_no_python_is_said_to_be_none(exe, words):
    out = scan("--python", exe, code=3)
    assert words in out["problems"][0]["text"]


def test_the_libraries_that_a_process_has_mapped_are_read(native, tmp_path):
    copy = tmp_path / "libmapped.so"
    copy.write_bytes(native.read_bytes())
    with mapped_by_a_process(copy) as pid:
        out = scan("--paths", "full", "--pid", pid)
    assert str(copy) in libraries(out)
    assert out["items"][0]["path"].startswith(f"process {pid} (python")


@pytest.mark.parametrize("pid", ["999999999", "x", "../1"])
def test_a_process_that_is_not_there_is_named(pid):
    out = scan("--pid", pid, code=3)
    assert len(out["problems"]) == 1


@pytest.mark.parametrize(
    "words", [["--fail-on", "none"], ["--fail-on", "x", "--gpu", "all"], ["--expect", "sm"], ["--diff"], ["--sarif"],
              ["--diff", "--csv", "--markdown"], ["--json", "--junit", "--gpu", "all"]]
)
def test_words_that_do_not_go_together_are_refused(native, words):
    done = command("scan", *words, native)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
