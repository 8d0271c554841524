"""doctoring.py - what the tests of `nokernel doctor` share: staged environments, and the JSON checked against its schema.

    env = Environment(tmp_path / "venv")
    env.install("torch", "2.4.1+cu121", {"torch/lib/libtorch_cuda.so": made})
    out = doctor("--gpu", "sm_120", python=env)
    assert finding(out, "D602")["package"] == "torch"

Nothing in a staged environment can be run: its python is an empty file. Doctor only reads.
"""

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import jsonschema
from conftest import COMMAND, ROOT, SIM, TIMEOUT

SCHEMAS = ROOT / "include" / "report" / "schema"


@functools.cache
def schema(name):
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / name).read_text()))


def checked(text, name):
    """A JSON document that fits the schema of that name."""
    out = json.loads(text)
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in schema(name).iter_errors(out)]
    assert not errors, "the JSON does not fit its schema:\n" + "\n".join(errors[:10])
    return out


class Environment:
    """A virtual environment of Python 3.11, or with base=None an installed Python, at `place` below the folder `root`.

    `root` stands for "/" (--root), so that nothing of this machine is found; root=None takes the machine as it is.
    """

    def __init__(self, root, place="/venv", base="/usr", system_site=False, whole=True):
        self.root = Path(root) if whole else None
        self.folder = Path(str(root) + place)
        self.site = self.folder / "lib" / "python3.11" / "site-packages"
        self.site.mkdir(parents=True)
        self.python = self.folder / "bin" / "python"
        self.python.parent.mkdir()
        self.python.touch()
        self.python.chmod(0o755)
        if whole:
            (self.root / "usr").mkdir(exist_ok=True)
        if base:
            (self.folder / "pyvenv.cfg").write_text(
                f"home = {base}/bin\nversion = 3.11.7\ninclude-system-site-packages = {str(system_site).lower()}\n"
            )
        else:
            (self.folder / "lib" / "python3.11" / "os.py").touch()

    def inside(self, path):
        """The path as it is seen inside the root."""
        return "/" + str(Path(path).relative_to(self.root)) if self.root else str(path)

    def file(self, path, content=""):
        """A file of the root."""
        path = Path(str(self.root) + path)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(content, path) if isinstance(content, Path) else path.write_text(content)
        return path

    def install(self, name, version, files=None, requires=(), site=None, installer="pip", metadata=""):
        """A distribution: files by their name below site-packages, each a path to copy or a text."""
        site = Path(site or self.site)
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        lines = [f"{info.name}/METADATA,,"]
        for relative, content in (files or {}).items():
            path = site / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(content, path) if isinstance(content, Path) else path.write_text(content)
            lines.append(f"{relative},,")
        text = "".join(f"Requires-Dist: {r}\n" for r in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{text}{metadata}\n")
        (info / "RECORD").write_text("\n".join(lines) + "\n")
        (info / "INSTALLER").write_text(installer + "\n")
        return info

    @property
    def words(self):
        """The options that name it."""
        return [*(["--root", str(self.root)] if self.root else []), "--python", self.inside(self.python)]


def run(*arguments, python=None, env=None, sm=None, driver=13000, home="/nonexistent", **process):
    """build/nokernel doctor about an Environment or an interpreter; with sm on the simulated driver."""
    words = [*arguments, *(python.words if isinstance(python, Environment) else ["--python", python] if python else [])]
    base = {"PATH": "/usr/bin:/bin", "HOME": str(home), "NOKERNEL_LANG": "en"}
    base |= {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
    if sm is not None:
        base |= {"LD_LIBRARY_PATH": str(SIM), "SIM_SM": str(sm), "SIM_DRIVER": str(driver)}
    full = {k: str(v) for k, v in (base | (env or {})).items() if v is not None}
    return subprocess.run([COMMAND, "doctor", *map(str, words)], env=full, capture_output=True, text=True, timeout=TIMEOUT, **process)


def can_be_run(command):
    """A build of torch's own indexes is asked of the index that has it, and a shell understands the command."""
    shlex.split(command)
    assert "{" not in command and "==\"" not in command, command
    for build in re.findall(r'"(?:torch|torchvision|torchaudio)==[^"+]*\+([^"]+)"', command):
        assert f"--index-url https://download.pytorch.org/whl/{build}" in command, command


def doctor(*arguments, code=0, **how):
    """The JSON of a doctor that ends with that code, checked."""
    done = run("--json", *arguments, **how)
    assert done.returncode == code, f"ended with {done.returncode}, not {code}:\n{done.stdout[-2000:]}\n{done.stderr}"
    assert not done.stderr, done.stderr
    out = checked(done.stdout, "nokernel-doctor-1.json")
    assert sum(f["primary"] for f in out["findings"]) <= 1
    for finding in out["findings"]:
        for command in (finding["verify"], *(r["command"] or "" for r in finding["repairs"])):
            can_be_run(command)
    return out


def codes(out):
    return [f["code"] for f in out["findings"]]


def finding(out, code, package=None):
    """The one finding of that code (and package)."""
    found = [f for f in out["findings"] if f["code"] == code and package in (None, f["package"])]
    assert len(found) == 1, f"{len(found)} findings {code}, not one: {codes(out)}"
    return found[0]


def area(out, name):
    return next(a for a in out["areas"] if a["area"] == name)
