"""What the harness itself promises: Python's own race while it shuts down fails no test, any other abort does."""

import sys

import pytest

RACE = "terminate called without an active exception"
ABORTS = """
import os, pathlib, sys
tries = pathlib.Path("tries")
count = int(tries.read_text()) if tries.exists() else 0
tries.write_text(str(count + 1))
if count < int(sys.argv[1]):
    print(sys.argv[2], file=sys.stderr, flush=True)
    os.abort()
"""


def test_a_python_that_is_aborted_while_it_shuts_down_runs_again_and_that_is_said(run):
    with pytest.warns(UserWarning, match="aborted while Python shut down"):
        out = run(sys.executable, "-c", ABORTS, 1, RACE)
    assert out.code == 0


def test_a_python_that_is_always_aborted_fails_the_test(run):
    with pytest.warns(UserWarning), pytest.raises(AssertionError, match="ended by signal 6"):
        run(sys.executable, "-c", ABORTS, 3, RACE)


def test_an_abort_of_another_kind_fails_the_test_at_once(run):
    with pytest.raises(AssertionError, match="ended by signal 6"):
        run(sys.executable, "-c", ABORTS, 1, "terminate called after throwing an instance of 'int'")
