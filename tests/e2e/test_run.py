"""nokernel run -- CMD: the program under the library, its exit status passed on, the report when it has ended."""

import json
import signal
import subprocess

import pytest

import claims
from conftest import COMMAND, command, environment, execute

GOOD, BAD = ["80"], ["90"]
SENTENCE = "has no image for this GPU"


@pytest.fixture
def watched(tmp_path):
    """watched(program, *args, options=[]) -> what `nokernel run` did."""
    env = environment(tmp_path, 80, 13000, None, False, None)

    def start(*arguments, options=(), **more):
        return execute([COMMAND, "run", *options, "--", *arguments], {**env, **more}, tmp_path)

    start.env = env
    start.folder = tmp_path
    return start


@pytest.fixture(scope="session")
def ends(program):
    return program("ends", "12.4", GOOD, BAD, more=["-lpthread"])


@pytest.mark.parametrize("way", ["return", "exit", "_exit", "quick_exit"])
def test_the_exit_status_is_passed_on_and_the_report_printed_once(watched, ends, way):
    done = watched(ends, way)
    assert done.returncode == 5
    assert done.stdout == "a 0\nb 209\n"
    assert done.stderr.count(SENTENCE) == 1, done.stderr


@pytest.mark.parametrize("way,number", [("kill", signal.SIGKILL), ("term", signal.SIGTERM), ("abort", signal.SIGABRT)])
def test_a_killed_program_is_reported_too(watched, ends, way, number):
    done = watched("prlimit", "--core=0", ends, way)
    assert done.returncode == 128 + number
    assert done.stderr.count(SENTENCE) == 1, done.stderr


def test_json_and_markdown_go_to_files(watched, ends):
    done = watched(ends, "exit", options=["--json", "report.json", "--markdown", "report.md"])
    report = json.loads((watched.folder / "report.json").read_text())
    claims.failed(report, claims.B, 209, "ends")
    assert "k_b" in (watched.folder / "report.md").read_text()
    assert done.stderr.count(SENTENCE) == 1


def test_a_program_that_does_not_exist_is_said_so(watched):
    done = watched("./no-such-program")
    assert done.returncode == 127
    assert "no-such-program" in done.stderr


def test_a_file_that_cannot_be_run_is_said_so(watched):
    (watched.folder / "text").write_text("no program")
    done = watched("./text")
    assert done.returncode == 126
    assert "text" in done.stderr


def test_every_process_that_the_program_starts_is_reported(watched, ends, program):
    """A shell that runs two programs, one of them healthy."""
    good = program("launches", "13.5", GOOD, GOOD, static=True)
    done = watched("sh", "-c", f"'{good}' a; '{ends}' exit")
    assert done.returncode == 5
    assert "k_b" in done.stderr
    assert len(list(watched.folder.glob("recordings/run-*/*.nkr"))) == 2


def test_a_program_without_cuda_is_left_alone(watched):
    done = watched("sh", "-c", "echo hello; exit 4")
    assert (done.stdout, done.returncode) == ("hello\n", 4)


def test_a_signal_sent_to_run_reaches_the_program(watched, ends):
    script = "trap 'echo told; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen([COMMAND, "run", "--", "sh", "-c", script], env=watched.env, cwd=watched.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    assert (out, process.returncode) == ("told\n", 9)


def test_the_last_run_is_told_again_by_last(watched, ends):
    done = watched(ends, "exit")
    again = subprocess.run([COMMAND, "report", "--last"], env=watched.env, capture_output=True, text=True)
    assert again.stdout and again.stdout in done.stderr


def test_before_the_first_run_last_says_what_makes_a_recording(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        again = command("report", "--last", env={"NOKERNEL_DIR": str(folder)})
        assert again.returncode == 3 and "nokernel run -- PROGRAM" in again.stderr


def test_where_nothing_can_be_written_each_process_reports_by_itself(watched, ends):
    done = watched(ends, "return", NOKERNEL_DIR="/proc/nowhere")
    assert done.returncode == 5
    assert done.stderr.count(SENTENCE) == 1, done.stderr
    assert "recording  none" in done.stderr
