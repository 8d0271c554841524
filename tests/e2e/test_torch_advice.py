"""What to do about a real PyTorch without an image for the GPU: the wheel that has one, for the interpreter that ran."""

import sets

INDEX = "https://download.pytorch.org/whl/cu128"


def train(run, name, sm, **env):
    return run(sets.python(name), sets.TRAIN, sm=sm, env=sets.environment(name, **env))


def whole(text):
    """The report with its broken commands put together again, as a shell does."""
    return " ".join(text.replace("\\\n", " ").split())


def test_an_old_torch_on_a_new_gpu_gets_the_first_index_that_has_it(run):
    out = train(run, "torch-cuda12", 120)
    best = out.report["advice"][0]
    assert best["for"] == f"torch {sets.torch('torch-cuda12')[0]}" and not best["safe"] and best["evidence"]
    assert best["command"].endswith(f'python -m pip install --upgrade "torch>=2.7.0" --index-url {INDEX}')
    assert best["command"] in whole(out.text)


def test_the_command_is_for_the_interpreter_that_ran(run):
    out = train(run, "torch-cuda12", 120)
    expected = str(sets.python("torch-cuda12"))
    assert all(a["command"].split()[0] in (expected, "~" + expected[expected.find("/.cache") :]) for a in out.report["advice"])


def test_a_new_torch_on_an_old_gpu_changes_the_index_as_torch_itself_advises(run):
    out = train(run, "torch-cuda13", 70)
    assert out.report["advice"][0]["rank"] == 1
    assert '"torch==2.15.0+cu126"' in out.report["advice"][0]["command"]
    assert "driver" not in out.report["advice"][0]["text"]


def test_the_same_command_is_given_in_chinese(run):
    english, chinese = (train(run, "torch-cuda12", 120, **env).report["advice"] for env in ({}, {"LC_ALL": "zh_CN.UTF-8"}))
    assert [a["command"] for a in english] == [a["command"] for a in chinese]
    assert all(a["language"] == "zh" and a["text"] != b["text"] for a, b in zip(chinese, english))
