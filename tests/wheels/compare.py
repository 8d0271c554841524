"""compare.py - one wheel as `nokernel scan` sees it, against the rows of libraries.tsv."""

import csv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CCS = (37, 50, 60, 61, 70, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
# Images of LTO-IR, which the census counted apart; of their codecs it says nothing.
LTO = {"warp/bin/warp.so": ("zstd", 1), "nvidia/cu13/lib/libcufft.so.12": ("lz4", 6573)}
GPUS = ",".join(f"sm_{cc}" for cc in CCS)


def rows(name):
    lines = [line for line in (HERE / name).read_text().splitlines() if line and not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def targets(entries):
    """"75:2 80:2" of a list of images, as in libraries.tsv; PTX as "90@8.0:1"."""
    counts = {}
    for entry in entries:
        name = entry["arch"].removeprefix("sm_").removeprefix("compute_")
        name += "@" + entry["isa"] if "isa" in entry else ""
        counts[name] = counts.get(name, 0) + entry["images"]
    return counts


def parse(text):
    """The same of a cell."""
    return {} if text == "-" else {word.rsplit(":", 1)[0]: int(word.rsplit(":", 1)[1]) for word in text.split()}


def minus(all_of_it, part):
    left = {name: count - part.get(name, 0) for name, count in all_of_it.items()}
    return {name: count for name, count in left.items() if count}


def codecs(text):
    """Images by codec, of "PTX:lz4=34,SASS:lz4=238"."""
    counts = {}
    for word in [] if text == "-" else text.split():
        name, count = word.split(":", 1)[1].split("=")
        name = {"none": "stored"}.get(name, name)
        counts[name] = counts.get(name, 0) + int(count)
    return counts


def seen(library):
    """What a library of the JSON says, in the words of libraries.tsv."""
    outside, relocatable = library["outside"], library["relocatable"]
    bare = library["bare"]
    out = {
        "containers": library["containers"] - (outside["containers"] - bare) - relocatable["containers"],
        "sass": minus(targets(library["sass"]), targets(outside["sass"])),
        "ptx": minus(targets(library["ptx"]), targets(outside["ptx"])),
        "rel_containers": relocatable["containers"],
        "rel_sass": targets(relocatable["sass"]),
        "rel_ptx": targets(relocatable["ptx"]),
        "outside_containers": outside["containers"] - bare,
        "outside_sass": targets(outside["sass"]),
        "outside_ptx": targets(outside["ptx"]),
        "empty": library["empty"],
        "pairs": library["kernels"],
        "names": library["names"],
        "codecs": library["codecs"],
        "lto": sum(entry["images"] for entry in library["lto"]),
    }
    for cc in CCS:
        said = library["verdicts"][f"sm_{cc}"]
        out[f"coverage {cc}"] = f"{said['native'] + said['hollow']}/{said['jit']}/{said['none'] + said['unknown']}"
    return out


def expected(row):
    out = {key: int(row[key]) for key in ("containers", "rel_containers", "outside_containers", "empty")}
    out |= {key: parse(row[key]) for key in ("sass", "ptx", "rel_sass", "rel_ptx", "outside_sass", "outside_ptx")}
    out["codecs"] = codecs(row["codecs"])
    out["names"] = int(row["names"])
    codec, out["lto"] = LTO.get(row["library"], ("lz4", 0))
    if out["lto"]:
        out["codecs"][codec] = out["codecs"].get(codec, 0) + out["lto"]
    if row["pairs"] != "-":
        out["pairs"] = int(row["pairs"])
        out |= {f"coverage {cc}": said for cc, said in (word.split(":") for word in row["coverage"].split())}
    return out


def differences(library, row):
    ours, theirs = seen(library), expected(row)
    return [f"{key}: {ours[key]}, the census says {theirs[key]}" for key in theirs if ours[key] != theirs[key]]
