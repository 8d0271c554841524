"""Loads an image that does not fit this GPU, from every kind of Python frame, and prints the stack that Python sees.

    python python_stack.py IMAGE ways            one JSON line: {name of the kernel in that image: [[file, line, function]]}
    python python_stack.py IMAGE threads ROUNDS  four threads at it at once, while this one works

IMAGE is a cubin with the kernel k000000; each load gets it under another name, so that each failure is a new one.
Runs with Python 3.8 and newer, without packages."""
import asyncio
import ctypes
import functools
import gc
import itertools
import json
import sys
import threading
import traceback

IMAGE = open(sys.argv[1], "rb").read()
RELEASED, HELD = ctypes.CDLL("libcuda.so.1"), ctypes.PyDLL("libcuda.so.1")  # Python's lock during the call
numbers, stacks = itertools.count(1), {}


def start():
    context = ctypes.c_void_p()
    RELEASED.cuInit(0)
    RELEASED.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    RELEASED.cuCtxSetCurrent(context)


def load(driver=RELEASED):
    name = "k%06d" % next(numbers)
    image, module = IMAGE.replace(b"k000000", name.encode()), ctypes.c_void_p()
    seen, result = traceback.extract_stack(), driver.cuModuleLoadData(ctypes.byref(module), image)
    assert result == 209, result
    stacks[name] = [[frame.filename, frame.lineno, frame.name] for frame in reversed(seen)]


def nested(depth):
    return nested(depth - 1) if depth else load()


def generated():
    yield 1
    load()
    yield 2


def delegated():
    yield from generated()


async def waited():
    await asyncio.sleep(0)
    async with Manager() as manager:
        await manager.work()


class Manager:
    def __init__(self, again=0):
        self.made = Manager(again - 1) if again else load()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *what):
        load()

    async def work(self):
        [load() for _ in range(1)]

    @property
    def value(self):
        return load()


@functools.lru_cache(None)
def cached(key):
    try:
        raise KeyError(key)
    except KeyError:
        load()
    finally:
        load(HELD)


def a_specialised_constructor():
    """From 3.11 on a call that was made often is made in another way, from 3.13 on with a helper frame."""
    for i in range(100):
        Later(i == 99)


class Later:
    def __init__(self, now):
        if now:
            load()


def compiled(source, file):
    exec(compile(source, file, "exec"), {"load": load, "HELD": HELD})


def ways():
    load()
    load(HELD)
    nested(3)
    nested(140)
    (lambda: load())()
    list(generated())
    list(delegated())
    asyncio.run(waited())
    Manager(2)
    a_specialised_constructor()
    Manager(1).value
    sorted([1, 2], key=lambda each: load() or each)
    list(map(lambda each: load(HELD), [1]))
    cached("key")
    compiled("class Body:\n    load()\n", "<string>")
    compiled("def größe():\n    load()\ngröße()\n", "Straße.py")
    compiled("def 関数():\n    load(HELD)\n関数()\n", "/tmp/日本.py")
    compiled("def 𠀀():\n    load()\n𠀀()\n", "😀.py")
    compiled("def f():\n    load()\nf()\n", "not-utf8-\udcff.py")
    compiled("load()", "f" * 300 + ".py")
    compiled("\n" * 70000 + "def far():\n" + "    a = 1\n" * 2000 + "    load()\n" + "    b = 2\n" * 3000 + "far()\n", "long.py")
    compiled("load(\n)\nx = [load\n(\n) for _ in '1']\n", "lines.py") if sys.version_info >= (3, 11) else None
    sys.settrace(lambda *event: None)
    nested(1)
    sys.settrace(None)
    thread = threading.Thread(target=lambda: (start(), nested(2)))
    thread.start()
    thread.join()


def work_until(done):
    """Python at work, with garbage to collect, and calls that come and go."""
    while not done():
        rings = [[] for _ in range(100)]
        for ring in rings:
            ring.append(ring)
        sum(nothing(i) for i in range(1000))
        gc.collect()


def nothing(i):
    return i


def threads(rounds):
    def body():
        start()
        for i in range(rounds):
            nested(i % 7) if i % 2 else list(delegated())

    sys.setswitchinterval(1e-5)
    all_threads = [threading.Thread(target=body) for _ in range(4)]
    for thread in all_threads:
        thread.start()
    work_until(lambda: not any(thread.is_alive() for thread in all_threads))


start()
ways() if sys.argv[2] == "ways" else threads(int(sys.argv[3]))
if sys.argv[2] == "ways":
    print(json.dumps(stacks))
else:  # which thread came when is not told: it is never the same again
    print(len(stacks))
    json.dump(stacks, open("stacks.json", "w"))
