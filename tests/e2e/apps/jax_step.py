"""A small step that JAX compiles while the program runs:

    python jax_step.py             compiles it for this GPU and runs it
    python jax_step.py save FILE   compiles it and keeps what came out
    python jax_step.py load FILE   runs what was kept, which may have been made for another GPU"""
import pickle
import sys

import jax._src.hardware_utils

jax._src.hardware_utils.has_visible_nvidia_gpu = lambda: True  # it looks for /dev/nvidia0, which nothing here simulates

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax.experimental import serialize_executable  # noqa: E402

what, file = [*sys.argv[1:], "run", None][:2]
x = jax.device_put(numpy.ones((64, 64), numpy.float32))
print("on", jax.devices()[0].device_kind, flush=True)
if what == "load":
    with open(file, "rb") as kept:
        step = serialize_executable.deserialize_and_load(*pickle.load(kept))
else:
    step = jax.jit(lambda x: jnp.sum(jax.nn.relu(x * 2 + 1))).lower(x).compile()
print("compiled", flush=True)
if what == "save":
    with open(file, "wb") as kept:
        pickle.dump(serialize_executable.serialize(step), kept)
step(x).block_until_ready()
jnp.sort(x, axis=None).block_until_ready()
print("computed", flush=True)
