"""What to do: the `fix` of a report and `nokernel explain`, as a user gets them."""

import json
import os
import subprocess
import unicodedata

import pytest

from conftest import COMMAND, SANITIZERS, SIM, command, preload

CHINESE = {"NOKERNEL_LANG": "zh"}


@pytest.fixture(scope="session")
def lacks(program):
    """A program without a package, one of whose kernels is made for sm_90 only."""
    return program("launches", "12.4", ["80"], ["90"])


def explained(*words):
    done = command("explain", "--json", *words)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "nokernel-explain/1"
    assert [e["word"] for e in document["explained"]] == list(words)
    return document["explained"]


def test_code_of_no_package_is_to_be_compiled_for_the_gpu(run, lacks):
    out = run(lacks, "a", "b", sm=80)
    (repair,) = out.report["advice"]
    assert repair["command"] == "nvcc -gencode arch=compute_80,code=sm_80 ..."
    assert repair["gpu"] == "sm_80" and repair["rank"] == 1 and repair["safe"]
    assert "    fix   compile it for sm_80 with the toolkit of CUDA 11.0 or newer" in out.text
    assert repair["command"] in out.text


def test_a_healthy_run_gets_no_advice(run, lacks):
    out = run(lacks, "a", sm=80)
    assert out.report["advice"] == [] and "fix" not in out.text


def test_a_variable_that_hides_the_code_is_the_only_thing_to_change(run, program):
    out = run(program("launches", "12.4", ["80"], ["80"]), "a", sm=80, env={"CUDA_FORCE_PTX_JIT": "1"})
    (repair,) = out.report["advice"]
    assert repair["command"] == "unset CUDA_FORCE_PTX_JIT" and repair["safe"]


def test_advice_comes_in_chinese_at_exit_and_later_alike(run, lacks):
    out = run(lacks, "a", "b", sm=80, env=CHINESE)  # run() compares the two
    assert "    fix   用 CUDA 工具包（11.0 或更新版本）为 sm_80 编译" in out.text
    assert out.report["advice"][0]["language"] == "zh"
    english = run(lacks, "a", "b", sm=80)
    assert out.report["advice"][0]["command"] == english.report["advice"][0]["command"]


def test_only_the_advice_is_in_chinese(run, lacks):
    lines = [run(lacks, "a", "b", sm=80, env=env).text.splitlines() for env in ({}, CHINESE)]
    before = [text[: next(i for i, line in enumerate(text) if line.startswith("    fix "))] for text in lines]
    assert before[0] == before[1]


def test_explain_answers_in_chinese_within_80_columns_and_names_the_language():
    words = ["209", "no-image", "Value 'sm_121a' is not defined for option 'gpu-name'"]
    done = command("explain", *words, env={**os.environ, **CHINESE})
    assert "没有适用于此 GPU 的核函数映像" in done.stdout and "更新驱动没有用" in done.stdout and "ptxas 不支持 sm_121a" in done.stdout
    width = lambda line: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)  # noqa: E731
    assert max(map(width, done.stdout.splitlines())) <= 80
    document = json.loads(command("explain", "--json", "209", env={**os.environ, **CHINESE}).stdout)
    assert document["language"] == "zh" and document["explained"][0]["means"].startswith("没有适用于此 GPU")


@pytest.mark.parametrize("variable", ["LC_ALL", "LC_MESSAGES", "LANG"])
def test_a_chinese_locale_is_enough(run, lacks, variable):
    assert "工具包" in run(lacks, "a", "b", sm=80, env={"LANG": "", variable: "zh_CN.UTF-8"}).text


def test_another_gpu_gets_its_own_advice(run, lacks):
    out = run(lacks, "a", sm=80)
    document = json.loads(command("report", "--json", "--gpu", "sm_120", out.recordings[0]).stdout)
    assert [r["gpu"] for r in document["advice"]] == ["sm_120"]
    assert "code=sm_120" in command("report", "--gpu", "sm_120", out.recordings[0]).stdout


def test_no_line_of_advice_is_wider_than_the_report(run, lacks):
    for env in ({}, CHINESE):
        for line in run(lacks, "a", "b", sm=80, env=env).text.splitlines():
            columns = sum(2 if ord(c) > 0x2000 else 1 for c in line)
            assert columns <= 80 or "recording" in line, line


def test_an_error_is_explained_by_any_of_its_names():
    message = "CUDA error: no kernel image is available for execution on the device"
    found = explained("209", "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU", message)
    assert len({e["title"] for e in found}) == 1 and found[0]["kind"] == "error"


def test_an_architecture_is_explained_with_what_runs_where():
    (gpu, ptx) = explained("sm_120", "compute_90a")
    assert gpu["runs_on"] == ["sm_120", "sm_121"] and "GeForce RTX 5090" in gpu["gpus"]
    assert any(line.startswith("cu128 (x86_64): 2.7.0") for line in gpu["torch"])
    assert ptx["runs_on"] == ["sm_90"]


def test_the_reason_of_a_failure_can_be_explained(run, lacks):
    failure = run(lacks, "b", sm=80).report["failures"][0]
    (reason,) = explained(failure["reason"])
    assert reason["kind"] == "reason" and reason["do"]


def test_an_unknown_word_is_refused_with_the_nearest_one_and_the_others_explained():
    done = command("explain", "209", "sm_125")
    assert done.returncode == 2
    assert done.stdout.startswith("209 cudaErrorNoKernelImageForDevice")
    assert "sm_125" in done.stderr and "did you mean sm_120?" in done.stderr


@pytest.mark.parametrize("words", ["RTX 5090", "no kernel image is available for execution on the device",
                                   "operator torchvision::nms does not exist"])
def test_a_gpu_or_a_message_needs_no_quotes(words):
    quoted, unquoted = command("explain", words), command("explain", *words.split())
    assert unquoted.returncode == 0 and unquoted.stdout == quoted.stdout and not unquoted.stderr


def test_words_that_each_say_something_are_as_many_questions():
    done = command("explain", "--json", "209", "cudaErrorNoKernelImageForDevice", "sm_120")
    assert [e["word"] for e in json.loads(done.stdout)["explained"]] == ["209", "cudaErrorNoKernelImageForDevice", "sm_120"]


def test_of_an_unknown_message_it_is_said_where_else_to_look():
    done = command("explain", "something else is wrong")
    assert done.returncode == 2 and "nokernel doctor" in done.stderr and "nokernel run" in done.stderr


def test_no_word_at_all_is_wrong_usage():
    done = command("explain")
    assert done.returncode == 2 and "a word was expected" in done.stderr and not done.stdout


def test_a_reader_that_goes_away_is_no_error_and_ascii_is_enough():
    line = f'"{COMMAND}" explain sm_120 sm_90 sm_80 | head -n 1; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", line], capture_output=True, env={**os.environ, "LC_ALL": "C"}, timeout=60)
    assert done.stdout.decode("ascii") == "sm_120: compute capability 12.0\n0\n" and not done.stderr


# ---- tables of a user's own
@pytest.fixture
def knowledge(tmp_path):
    """knowledge(**tables) -> an environment whose commands read these tables."""

    def write(**tables):
        folder = tmp_path / "knowledge"
        folder.mkdir()
        for name, text in tables.items():
            (folder / f"{name}.tsv").write_text(text)
        return {**os.environ, "NOKERNEL_KNOWLEDGE": str(folder)}

    return write


def test_rows_of_a_users_own_are_read_by_the_commands(knowledge):
    env = knowledge(gpus="name\tsm\tsource\nMy Prototype\t107\tmy own desk\n")
    assert command("explain", "My Prototype").returncode == 2
    done = command("explain", "My Prototype", env=env)
    assert done.returncode == 0 and done.stdout.startswith("sm_107: "), done.stdout + done.stderr


def test_a_table_without_form_stops_a_command_with_file_and_line(knowledge):
    done = command("explain", "209", env=knowledge(gpus="name\tsm\tsource\nMy Prototype\t17\tx\n"))
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("nokernel: NOKERNEL_KNOWLEDGE: ") and "gpus.tsv:2: sm" in done.stderr


def test_a_watched_program_never_reads_them(run, lacks, tmp_path):
    """Its report at exit is made of the embedded tables, whatever the variable says."""
    path = tmp_path / "rebuild.tsv"
    path.write_text("no table at all\n")
    env = {"NOKERNEL_KNOWLEDGE": str(path), "NOKERNEL_DIR": str(tmp_path / "r"), "LD_PRELOAD": preload(), "SIM_SM": "80",
           "SIM_DRIVER": "12090", "LD_LIBRARY_PATH": str(SIM), "HOME": str(tmp_path), **SANITIZERS}
    done = subprocess.run([lacks, "a", "b"], env=env, capture_output=True, text=True, timeout=60)
    assert "compile it for sm_80" in done.stderr, done.stderr
