"""The undisturbed sweep and the compiled programs that tests of sweeps use too."""

from tests.sweeps.conftest import cache as cache
from tests.sweeps.conftest import quiet as quiet
