"""What all tests share: several CPU devices, strict ranks, shapes checked at run time."""

import os

# Before JAX starts: the backend reads it once.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
from jaxtyping import install_import_hook

jax.config.update("jax_numpy_rank_promotion", "raise")
hook = install_import_hook("purefit", "typechecking.check")
hook.__enter__()
