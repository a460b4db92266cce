"""Settings for all tests."""

import jax
from hypothesis import settings

jax.config.update("jax_platforms", "cpu")
# Same examples every time: a test that fails on one machine fails on all.
settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.load_profile("fixed")
