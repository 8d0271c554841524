"""nokernel probe: moving memory and launching are told apart, on every GPU, whatever the driver does."""

import csv
import functools
import json
import os
import subprocess
import time

import jsonschema
import pytest

from conftest import ROOT, SIM, command
from fixtures import programs, toolkit

SCHEMA = ROOT / "include" / "report" / "schema" / "nokernel-probe-1.json"
pytestmark = pytest.mark.plain


@functools.cache
def schema():
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


@pytest.fixture
def probe(tmp_path):
    """probe(*arguments, code=0, sm="86", **env) -> the JSON of a probe on the simulated driver."""

    def run(*arguments, code=0, sm="86", library=SIM, text=False, **env):
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", "LD_LIBRARY_PATH": str(library),
               "SIM_SM": sm, **env}
        done = command("probe", *([] if text else ["--json"]), *arguments, env=env)
        assert done.returncode == code, f"ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}"
        if text:
            return done.stdout
        out = json.loads(done.stdout)
        errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in schema().iter_errors(out)]
        assert not errors, "the JSON does not fit its schema:\n" + "\n".join(errors[:10])
        return out

    return run


@pytest.fixture
def odd(store, tmp_path):
    """A folder with a driver that does odd things (tests/apps/odd_driver.c)."""
    built = programs.linked(store, "libcuda.so.1", [programs.compiled(store, "odd_driver.c")], [], shared=True)
    return built.parent


def halves(out):
    return [(gpu["memory"], gpu["launch"]) for gpu in out["gpus"]]


def codes(out):
    return [finding["code"] for finding in out["findings"]]


def test_a_gpu_that_works_passes_and_both_halves_are_said(probe):
    out = probe()
    assert out["passed"] and halves(out) == [("works", "works")] and codes(out) == []
    assert [s["step"] for s in out["gpus"][0]["steps"]][-1] == "check"
    said = probe(text=True)
    assert said.startswith("nokernel probe: memory moves and kernels launch on GPU 0\n")
    assert "moving memory works" in said and "launching works" in said


def test_every_gpu_is_probed_and_only_the_wanted_ones_if_named(probe):
    assert [gpu["ordinal"] for gpu in probe(sm="86,61,120")["gpus"]] == [0, 1, 2]
    out = probe("--gpu", "2,0", sm="86,61,120")
    assert [(gpu["ordinal"], gpu["sm"]) for gpu in out["gpus"]] == [(2, "sm_120"), (0, "sm_86")]


@pytest.mark.parametrize("word", ["3", "-1", "x", "", "0,,1", "99999999999"])
def test_a_gpu_that_is_not_there_is_wrong_usage(probe, word):
    done = command("probe", "--gpu", word, env={**os.environ, "LD_LIBRARY_PATH": str(SIM), "SIM_SM": "86"})
    assert done.returncode == 2 and "--gpu" in done.stderr and not done.stdout


@pytest.mark.parametrize("word", ["0", "x", "", "3601", "1.5"])
def test_a_time_that_is_none_is_wrong_usage(word):
    done = command("probe", "--timeout", word)
    assert done.returncode == 2 and "seconds from 1 to 3600" in done.stderr


def test_a_wrong_result_is_caught(probe):
    out = probe(code=4, SIM_PROBE="wrong")
    assert halves(out) == [("works", "fails")] and codes(out) == ["D128"]
    assert out["gpus"][0]["wrong_numbers"] == 1
    assert "number 7 is" in out["findings"][0]["evidence"][0]


@pytest.mark.parametrize("fail,step,memory,launch,code", [
    ("cuDevicePrimaryCtxRetain=2", "context", "fails", "not tried", "D121"),
    ("cuMemAlloc=2", "allocate", "fails", "not tried", "D122"),
    ("cuMemcpyHtoD=1", "copy-there", "fails", "not tried", "D122"),
    ("cuMemcpyDtoH=719", "copy-back", "fails", "not tried", "D122"),
    ("cuModuleLoadDataEx=218", "load", "works", "fails", "D124"),
    ("cuModuleLoadDataEx=221", "load", "works", "fails", "D125"),
    ("cuModuleLoadDataEx=223", "load", "works", "not tried", "D126"),
    ("cuModuleGetFunction=500", "find", "works", "fails", "D124"),
    ("cuLaunchKernel=719", "launch", "works", "fails", "D127"),
    ("cuLaunchKernel~719", "wait", "works", "fails", "D127"),
    ("cuMemcpyDtoH@2=700", "copy-result", "works", "fails", "D127"),
])
def test_the_step_that_fails_is_named_with_what_it_means(probe, fail, step, memory, launch, code):
    out = probe(code=4, SIM_FAIL=fail)
    assert halves(out) == [(memory, launch)] and codes(out) == [code]
    last = out["gpus"][0]["steps"][-1]
    assert (last["step"], last["end"]) == (step, "refused") and last["result"] == int(fail.replace("~", "=").split("=")[1])
    assert str(last["result"]) in out["findings"][0]["text"]


def test_a_variable_that_forbids_compiling_is_to_be_unset(probe):
    out = probe(code=4, CUDA_DISABLE_PTX_JIT="1")
    assert codes(out) == ["D126"] and out["findings"][0]["repairs"][0]["command"] == "unset CUDA_DISABLE_PTX_JIT"


def test_one_gpu_of_two_that_fails_does_not_hide_the_other(probe):
    # The second call of all processes together: the children count for themselves, so GPU numbers decide.
    said = probe("--gpu", "1", sm="86,61", text=True)
    assert "GPU 1   NVIDIA GeForce GTX 1080 Ti, sm_61" in said and "GPU 0" not in said
    said = probe(code=4, sm="86,61", text=True, SIM_PROBE="wrong")
    assert said.startswith("nokernel probe: 2 of 2 GPUs did not pass\n")


# ---- drivers that hang, crash, lie
def test_a_driver_that_hangs_is_left_alone_when_its_time_is_over(probe):
    start = time.monotonic()
    out = probe("--timeout", "1", code=4, sm="86,61", SIM_KERNEL_MS="60000")
    assert time.monotonic() - start < 10
    assert halves(out) == [("works", "fails")] * 2 and codes(out) == ["D129"] * 2
    assert out["gpus"][0]["steps"][-1] == {"step": "wait", "call": "cuCtxSynchronize", "end": "hangs", "result": 0}


@pytest.mark.parametrize("call,step", [("cuDevicePrimaryCtxRetain", "context"), ("cuMemAlloc", "allocate"),
                                       ("cuModuleLoadDataEx", "load"), ("cuLaunchKernel", "launch")])
@pytest.mark.parametrize("how,words", [("die", "signal 6"), ("exit", "without a signal")])
def test_a_driver_that_ends_the_process_is_told_with_the_step(probe, odd, call, step, how, words):
    out = probe(code=4, library=odd, ODD=f"{how} {call}")
    assert codes(out) == ["D130"] and out["gpus"][0]["steps"][-1]["step"] == step
    assert call in out["findings"][0]["text"] and words in out["findings"][0]["text"]


def test_memory_that_comes_back_changed_is_caught(probe, odd):
    out = probe(code=4, library=odd, ODD="flip")
    assert codes(out) == ["D123"] and halves(out) == [("fails", "not tried")]
    assert "number 1024 is" in out["findings"][0]["evidence"][0]


def test_what_the_drivers_compiler_says_is_passed_on(probe, odd):
    assert "ptxas fatal : out of order" in probe(code=4, library=odd, ODD="refuse")["findings"][0]["evidence"][0]


def test_the_same_driver_passes_when_it_is_not_odd(probe, odd):
    assert probe(library=odd)["passed"]


# ---- no driver, no GPU
def test_no_driver_is_said_with_what_was_looked_for(probe, tmp_path):
    out = probe(code=3, library=tmp_path)
    assert not out["passed"] and out["gpus"] == [] and out["driver"]["state"] == "absent"
    assert codes(out)[0] in ("D101", "D102", "D105") and "libcuda.so.1" in json.dumps(out["findings"])


def test_no_gpu_is_nothing_to_probe(probe):
    out = probe(code=3, sm="")
    assert out["gpus"] == [] and "D109" in codes(out)


def test_the_toolkits_stub_is_recognised(probe, store, tmp_path):
    source = tmp_path / "stub.c"
    source.write_text("int cuInit(unsigned f) { return 34; } int cuDriverGetVersion(int *v) { return 34; }\n")
    stubs = tmp_path / "lib64" / "stubs"
    stubs.mkdir(parents=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", stubs / "libcuda.so.1", source], check=True)
    out = probe(code=3, library=stubs)
    assert codes(out) == ["D103"] and "stub" in out["findings"][0]["text"]


# ---- how it is said
def test_findings_come_in_chinese(probe):
    out = probe(code=4, SIM_PROBE="wrong", NOKERNEL_LANG="zh")
    assert out["language"] == "zh" and "核函数能运行" in out["findings"][0]["text"]


def test_what_to_do_next_is_said_in_chinese_too(probe):
    assert "若某个程序在此失败" in probe(text=True, NOKERNEL_LANG="zh")


def test_nothing_is_left_in_the_home_directory(probe, tmp_path):
    probe()
    assert list(tmp_path.iterdir()) == []


def test_a_finding_of_the_probe_can_be_explained():
    done = command("explain", "D128")
    assert done.returncode == 0 and "wrong numbers" in " ".join(done.stdout.split())


# ---- the kernel: assembled by real compilers for every architecture that they know
def known(version):
    """Architectures that a toolkit makes code for, by the table."""
    with open(ROOT / "knowledge" / "sm_toolkit.tsv", newline="") as file:
        number = [int(n) for n in version.split(".")]
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            first, last = ([int(n) for n in row[c].split(".")] if row[c] else None for c in ("first", "last"))
            if (not first or first <= number) and (not last or number <= last):
                yield row["sm"]


@pytest.mark.parametrize("version", toolkit.PTXAS)
def test_the_kernel_is_compiled_for_every_gpu_by_every_compiler(version, tmp_path):
    source = tmp_path / "probe.ptx"
    source.write_text(command("probe", "--ptx").stdout)
    targets = list(known(version))
    assert len(targets) > 10
    for sm in targets:
        toolkit.tool([toolkit.PTXAS[version], f"-arch=sm_{sm}", source, "-o", tmp_path / "probe.cubin"])
