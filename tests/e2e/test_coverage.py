"""What a program tried, by kind of kernel, and where the same workload would run."""

import json
import os
import unicodedata

import pytest

import sets
from claims import A, B
from conftest import command, read_report, schema


def told(*arguments, **env):
    done = command("report", *arguments, env={**os.environ, "NOKERNEL_LANG": "en", **env})
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_json(*arguments):
    out = json.loads(told("--json", *arguments))
    errors = list(schema().iter_errors(out))
    assert not errors, errors[:3]
    return out


def train(run, name, sm=80):
    return run(sets.python(name), sets.TRAIN, sm=sm, env=sets.environment(name)).recordings[0]


# ---- kinds of kernels


@pytest.mark.sanitized
def test_of_a_fixture_all_kernels_are_of_no_known_kind_and_that_is_said(run, program):
    recording = run(program("launches", "12.4", a=["80"], b=["90"]), "a", "a", "b", sm=80).recordings[0]
    out = as_json("--coverage", recording)["exercised"]
    counts = {name: out["total"][name] for name in ("native", "failed", "held", "launches")}
    assert counts == {"native": 1, "failed": 1, "held": 2, "launches": 3} and out["classified"] == 0
    assert out["kinds"]["other"] == out["total"]
    assert "that of 0 of 2 launched ones is known" in " ".join(told("--coverage", recording).split())


@pytest.mark.parametrize("name", ["torch-cuda12", "torch-cuda13"])
def test_of_a_training_run_on_pytorch_nearly_every_kernel_is_of_a_known_kind(run, name):
    out = as_json("--coverage", train(run, name))["exercised"]
    launched = sum(out["total"][state] for state in ("native", "jit", "failed", "empty", "unknown"))
    assert launched >= 10 and out["classified"] / launched >= 0.95, out["total"]
    (torch,) = [library for library in out["libraries"] if library["path"].endswith("/libtorch_cuda.so")]
    held = sum(torch["held"].values())
    assert torch["read"] and held > 10_000 and torch["held"].get("other", 0) / held < 0.02
    assert out["kinds"]["elementwise"]["native"] >= 1 and out["kinds"]["attention"]["native"] == 0


def test_what_was_not_tried_is_named_with_the_package_that_holds_it(run):
    text = told("--coverage", train(run, "torch-cuda12"))
    assert max(map(len, text.splitlines())) <= 80
    (line,) = [line for line in text.splitlines() if line.startswith("    attention: ")]
    assert line.endswith(f"in torch {sets.torch('torch-cuda12')[0]}")
    assert not any(line.startswith("    elementwise: ") for line in text.splitlines())


def test_a_library_that_has_changed_since_is_not_looked_into_and_named(run, program, tmp_path):
    app = tmp_path / "launches"
    app.write_bytes(program("launches", "12.4", a=["80"], b=["90"]).read_bytes())
    app.chmod(0o755)
    recording = run(app, "a", sm=80).recordings[0]
    app.write_bytes(b"another file")
    assert as_json("--coverage", recording)["exercised"]["total"]["held"] == 0
    assert "gone or changed since: launches" in " ".join(told("--coverage", recording).split())


def test_two_runs_are_summed_up_and_the_markdown_is_a_table(run, program):
    app = program("launches", "12.4", a=["80"], b=["80"])
    paths = [run(app, letter, sm=80).recordings[0] for letter in "ab"]
    assert as_json("--coverage", *paths)["exercised"]["total"]["native"] == 2
    assert "| other | 2 | 0 |" in told("--coverage", "--markdown", *paths)


# ---- every GPU


@pytest.mark.sanitized
def test_every_architecture_is_listed_with_how_each_kernel_would_run(run, program):
    recording = run(program("launches", "12.4", a=["80", "ptx80"], b=["90"]), "a", "b", sm=90).recordings[0]
    out = as_json("--gpu", "all", recording)["everywhere"]
    gpus = {g["sm"]: g for g in out["gpus"]}
    assert out["kernels"] == 2 and {"sm_50", "sm_80", "sm_90", "sm_120"} <= set(gpus)
    assert (gpus["sm_90"]["runs"], gpus["sm_90"]["native"], gpus["sm_90"]["jit"]) == ("jit", 1, 1)
    assert (gpus["sm_80"]["runs"], gpus["sm_80"]["kernels"]) == ("missing", [B])
    assert (gpus["sm_120"]["runs"], gpus["sm_120"]["jit"], gpus["sm_120"]["kernels"]) == ("missing", 1, [B])
    assert sorted(gpus["sm_50"]["kernels"]) == [A, B]
    text = told("--gpu", "all", recording)
    assert "missing on sm_80 sm_86" in text and "\n    k_b\n" in text and "k_a" not in text
    assert "k_a" in told("--gpu", "all", "--kernels", recording)
    assert "| sm\\_90 | jit | 1 | 1 |" in told("--gpu", "all", "--markdown", recording)


def test_it_agrees_with_the_question_about_one_gpu(run):
    recording = train(run, "torch-cuda12")
    for gpu in as_json("--gpu", "all", recording)["everywhere"]["gpus"]:
        one = as_json("--gpu", gpu["sm"], recording)["summary"]
        assert (gpu["missing"] + gpu["memory"], gpu["jit"], gpu["hollow"]) == (
            one["would_be_missing"], one["jit"], one["hollow"]), gpu


def test_the_driver_that_is_asked_about_decides(run, program):
    recording = run(program("launches", "13.0", a=["ptx80:9.0"], b=["80"]), "a", sm=80).recordings[0]
    old, new = (as_json("--gpu", gpus, recording)["everywhere"] for gpus in ("all@12.4", "all@13.0"))
    assert old["cuda"] == "12.4"
    pick = lambda out: next(g["runs"] for g in out["gpus"] if g["sm"] == "sm_90")  # noqa: E731
    assert (pick(old), pick(new)) == ("missing", "jit")


@pytest.mark.parametrize("driver, cuda", [("550", "12.4"), ("550.54.14", "12.4"), ("12.4", "12.4"), ("580", "13.0")])
def test_a_driver_is_told_by_its_number_or_by_its_cuda(run, program, driver, cuda):
    recording = run(program("launches", "13.0", a=["ptx80:9.0"], b=["80"]), "a", sm=80).recordings[0]
    assert as_json("--gpu", f"all@{driver}", recording)["everywhere"]["cuda"] == cuda
    (kernel,) = as_json("--gpu", f"sm_90@{driver}", recording)["kernels"]
    assert kernel["runs"] == ("jit" if cuda == "13.0" else "none")


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.sanitized
def test_the_notes_are_in_the_language_of_the_reader(run, program, tmp_path):
    app = tmp_path / "launches"
    app.write_bytes(program("launches", "12.4", a=["80"], b=["90"]).read_bytes())
    app.chmod(0o755)
    recording = run(app, "a", "b", sm=80).recordings[0]
    app.write_bytes(b"another file")
    kinds = told("--coverage", recording, NOKERNEL_LANG="zh")
    joined = kinds.replace("\n  ", "")
    assert "启动过的 2 个中，已知种类的有 0 个。" in joined and "未检查（之后被删除或更改）：launches。" in joined
    assert "is known" not in kinds and "Not looked into" not in kinds
    gpus = told("--gpu", "all", recording, NOKERNEL_LANG="zh")
    assert "按 GPU 选择核函数的库" in gpus and "may use others" not in gpus
    assert max(columns(line) for line in (kinds + gpus).splitlines()) <= 80


@pytest.mark.parametrize("words", [["--coverage", "--gpu", "all"], ["--kernels"], ["--gpu", "all@x"],
                                   ["--gpu", "sm_80,sm_90"]])
def test_what_does_not_go_together_is_told(words):
    done = command("report", *words)
    assert done.returncode == 2 and done.stderr.startswith("nokernel: report: ")


def test_the_plain_report_is_what_it_was(run, program):
    out = run(program("launches", "12.4", a=["80"], b=["90"]), "a", sm=80)
    assert "exercised" not in read_report(out.recordings[0]) and "everywhere" not in read_report(out.recordings[0])
