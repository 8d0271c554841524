"""PyTorch: the report names the lines of the script, though all that fails lies deep in libraries."""

import re

import sets


def line(text):
    """The number of the one line of train.py that holds this text."""
    found = [i for i, words in enumerate(sets.TRAIN.read_text().splitlines(), 1) if text in words]
    assert len(found) == 1
    return found[0]


def test_the_report_names_the_lines_of_the_training_script(run):
    out = run(sets.python("torch-cuda12"), "-W", "ignore", sets.TRAIN, env=sets.environment("torch-cuda12"), sm=120)
    forward, main, module = line("return a + b * x"), line("loss = (forward("), line("    main(sys.argv")
    stack = out.report["failures"][0]["python_stack"]
    assert [(s["line"], s["function"]) for s in stack] == [(forward, "forward"), (main, "main"), (module, "<module>")]
    assert f"    at    train.py:{forward} in forward  <-  train.py:{main} in main\n" in out.text
    # Python says the same: the error was raised where it was caused.
    assert re.findall(r"train\.py\", line (\d+)", out.stderr)[::-1] == [str(forward), str(main), str(module)]
